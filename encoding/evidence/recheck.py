"""The check of a certificate: its questions are built again, and its proofs are checked line by line."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import z3

from fencepost.encoding import keys as k
from fencepost.encoding.concrete.replay import NotAnExecution
from fencepost.encoding.concrete.saved_traces import check_saved, saved_trace
from fencepost.encoding.documents import read_json, read_text
from fencepost.encoding.engine.clauses import with_found
from fencepost.encoding.engine.events import PreparationPhase
from fencepost.encoding.engine.limits import known_faults
from fencepost.encoding.engine.named_clauses import NotAClauseError, clauses_of
from fencepost.encoding.engine.verdicts import LiveBasis
from fencepost.encoding.errors import BadInput
from fencepost.encoding.evidence.manifests import (
    HINT,
    MANIFEST,
    PROOF,
    Manifest,
    RejectedError,
    clauses_file,
    live_folder,
    never_reached,
    proof_file,
    trace_file,
    witness_part,
)
from fencepost.encoding.evidence.queries import Clauses
from fencepost.encoding.evidence.question_files import (
    Asking,
    Question,
    monitored_system,
    questions,
    questions_of,
    remarks,
)
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.language.state import amount
from fencepost.encoding.language.system import Property, System, choose
from fencepost.encoding.liveness.ending import every_execution_ends
from fencepost.encoding.safe_text import one_line
from fencepost.encoding.solving.clauses import Clause
from fencepost.encoding.solving.solvers import Propagation

CHECKER = "minisat22"
"""The solver whose unit propagation checks the proofs; it shares no code with the prover."""

COMMUTATION = "commutation"
"""The part that every proof about rounds rests on: which actions commute, computed again."""


@dataclass(frozen=True)
class RecheckedProof:
    """A part that was confirmed: its size, and the seconds to build its question and to check its proof."""

    part: str
    clauses: int
    learnt_clauses: int
    """Those of the proof; of a witness, the steps of its trace."""
    building: float
    checking: float


CHECKED = k.keys(
    part=k.text("the name of a part as in the manifest, or commutation"),
    clauses=k.whole("its clauses; of commutation the pairs asked; of a witness 0"),
    learnt_clauses=k.whole("the clauses of its proof; of a witness its steps; of commutation 0"),
    building=k.seconds("seconds to build it again and compare it"),
    checking=k.seconds("seconds to check its proof, or to replay it"),
)
"""The keys of a part that stands."""


WITNESS_HEAD = ("protocol", "parameters", "switches", "system", "property")
"""The keys of a witness that say what it is about, and that must be as the manifest has them."""


@dataclass(frozen=True)
class Rejected:
    """The message that the certificate is wrong, after which nothing more is checked."""

    why: str


def certify_or_reject(
    folder: Path, found: Manifest, system: System, digest: str | None
) -> Iterator[PreparationPhase | RecheckedProof | Rejected]:
    """Yield each part of a certificate that is confirmed; a rejection is the last message."""
    try:
        yield from certify(folder, found, system, digest)
    except RejectedError as error:
        yield Rejected(str(error))


def certify(
    folder: Path, found: Manifest, system: System, digest: str | None
) -> Iterator[PreparationPhase | RecheckedProof]:
    """Yield each part of a certificate that is confirmed against the system that the manifest names.

    If the protocol does not ship, `digest` is that of its source, which must be the one in the manifest.
    Raises RejectedError for a certificate that is wrong, BadInput for a file that cannot be read, and
    ModelError if a message may be sent twice with one loss.
    """
    if found.subject.system != digest:
        raise RejectedError(
            f"it was made from a different source of {found.subject.protocol}, or of a file that it imports "
            f"(system {_brief(found.subject.system)}, here {_brief(digest)})"
        )
    known_faults(system, found.budgets)
    sent_at_most_once(system)
    proofs = list(_proofs(folder, found, system))
    for proof in proofs:
        _check_parts(*proof)
        _check_readable(*proof)
    for where, own, about in proofs:
        if where == folder:
            yield from _certify_claims(where, own, about)
        else:
            yield from _in_folder(where, _certify_claims(where, own, about))


def _in_folder(
    folder: Path, parts: Iterator[PreparationPhase | RecheckedProof]
) -> Iterator[PreparationPhase | RecheckedProof]:
    """Yield the parts in a folder of the certificate, and reject a part, by names with that folder."""
    try:
        for one in parts:
            if isinstance(one, RecheckedProof):
                one = replace(one, part=f"{folder.name}/{one.part}")
            yield one
    except RejectedError as error:
        raise RejectedError(f"{folder.name}/{error}") from None


def _proofs(folder: Path, found: Manifest, system: System) -> Iterator[tuple[Path, Manifest, System]]:
    """Yield the proof about the protocol, and those about monitored systems, each with its folder.

    Raises RejectedError for clauses that are none, and for a proof by the end of executions that need not
    end.
    """
    if found.claims:
        yield folder, found, _with_clauses(system, found)
    for live in found.liveness:
        watched = monitored_system(live, system, found.subject, found.budgets)
        if live.by is LiveBasis.ENDS and not every_execution_ends(system):
            raise RejectedError(f"{live.claim.property}: an execution of this system may go on for ever")
        own = replace(found, claims=(live.claim,), found=live.found, parts=live.parts, liveness=())
        yield folder / live_folder(live.claim.property), own, _with_clauses(watched, own)


def _with_clauses(system: System, found: Manifest) -> System:
    try:
        return with_found(system, clauses_of(system, found.found))
    except NotAClauseError as error:
        raise RejectedError(f"a clause that was found: {error}") from error


def _claimed(found: Manifest, system: System) -> list[Property]:
    """Return the properties of the claims. Raises BadInput for one that the system does not have."""
    return choose(system, tuple(claim.property for claim in found.claims))


def _certify_claims(
    folder: Path, found: Manifest, system: System
) -> Iterator[PreparationPhase | RecheckedProof]:
    """Yield each confirmed part of the claims about the states of one system."""
    properties = _claimed(found, system)
    yield PreparationPhase("certificate: building")
    begun = time.perf_counter()
    asking = Asking(system, properties, found.budgets)
    if any(claim.rounds is not None for claim in found.claims):
        yield RecheckedProof(COMMUTATION, asking.rounds.asked, 0, time.perf_counter() - begun, 0.0)
    for question in questions(found.claims, system):
        yield PreparationPhase(f"certificate: {question.name}")
        yield _certify(folder, found, asking, question)
    for prop in properties:
        yield _certify_witness(folder, found, system, prop)


def _check_parts(folder: Path, found: Manifest, system: System) -> None:
    """Raise RejectedError for a missing part that a claim needs, BadInput for a part that no claim needs.

    A property that the system does not have is bad input too.
    """
    _claimed(found, system)
    all_needed = []
    for claim in found.claims:
        names = [question.name for question in questions_of(claim, found.claims, system)]
        for part in (*names, witness_part(claim.property)):
            if part not in found.parts:
                raise RejectedError(f"{claim.property}: its part {part} is missing from the certificate")
            all_needed.append(part)
    for part in found.parts:
        if part not in all_needed:
            valid = ", ".join(dict.fromkeys(all_needed))
            raise BadInput(f"{folder / MANIFEST}: {part}: these claims have no such part; valid: {valid}")


def _check_readable(folder: Path, found: Manifest, system: System) -> None:
    """Raise BadInput for a malformed file, before anything is built and progress is reported."""
    for question in questions(found.claims, system):
        read_text(clauses_file(folder, question.name), HINT, PROOF)
        file = proof_file(folder, question.name)
        all(read_proof(read_text(file, HINT, PROOF), file))  # up to the empty clause, as the check reads it
    for prop in _claimed(found, system):
        _saved_witness(folder, prop)


def _saved_witness(folder: Path, prop: Property) -> Mapping[str, Any]:
    file = trace_file(folder, prop)
    return saved_trace(read_json(file, HINT), str(file))


def _certify(folder: Path, found: Manifest, asking: Asking, question: Question) -> RecheckedProof:
    begun, name = time.perf_counter(), question.name
    saved, proof = (read_text(path(folder, name), HINT, PROOF) for path in (clauses_file, proof_file))
    clauses = asking.clauses(question)
    try:
        same_text(saved, clauses.dimacs(remarks(question, found.subject, found.budgets)))
        built = time.perf_counter()
        learnt = check_proof(clauses, read_proof(proof, proof_file(folder, name)))
    except RejectedError as error:
        raise RejectedError(f"{name}: {error}{_other_z3(found)}") from None
    return RecheckedProof(name, len(clauses.clauses), learnt, built - begun, time.perf_counter() - built)


def _other_z3(found: Manifest) -> str:
    here = z3.get_version_string()
    return "" if found.z3 == here else f" (made with z3 {found.z3}, checked with {here}: try the same)"


def same_text(saved: str, built: str) -> None:
    """Raise RejectedError at the first line in which the saved clauses differ from those built again."""
    for number, (theirs, ours) in enumerate(zip_longest(saved.splitlines(), built.splitlines()), 1):
        if theirs != ours:
            raise RejectedError(
                f"line {number} of the clauses differs from those built from the manifest: "
                f"{_short(theirs)} instead of {_short(ours)}"
            )


def _brief(digest: str | None) -> str:
    return "of a protocol that ships" if digest is None else digest[:12]


def _short(line: str | None) -> str:
    if line is None:
        return "nothing"
    return f'"{line}"' if len(line) <= 60 else f'"{line[:57]}..."'


def read_proof(text: str, path: Path) -> Iterator[Clause]:
    """Yield the learnt clauses of a proof in the DRUP format. Raises BadInput for a malformed line.

    Deletions are left out: a clause that follows from fewer clauses follows from more.
    """
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        deletes = bool(words) and words[0] == "d"
        try:
            *literals, end = map(int, words[1:] if deletes else words)
        except ValueError:
            literals, end = [], 1
        if end != 0 or 0 in literals:
            raise BadInput(
                f"{path}: line {number} is no learnt clause; a learnt clause is literals and then a 0"
            )
        if not deletes:
            yield literals


def check_proof(clauses: Clauses, learnt: Iterator[Clause]) -> int:
    """Return the number of learnt clauses up to the empty one. Raises RejectedError unless each follows.

    A learnt clause follows if its negation, with the clauses and the learnt clauses before it, leads to a
    contradiction by unit propagation alone.
    """
    with Propagation(CHECKER, clauses.clauses) as checker:
        for number, clause in enumerate(learnt, 1):
            if any(abs(literal) > clauses.top for literal in clause):
                raise RejectedError(
                    f"learnt clause {number} of the proof names a variable that no clause has"
                )
            consistent, _ = checker.follow([-literal for literal in clause])
            if consistent:
                text = " ".join(map(str, clause)) or "the empty clause"
                raise RejectedError(f"learnt clause {number} of the proof does not follow: {_short(text)}")
            if not clause:
                return number
            checker.add([clause])
    raise RejectedError("the proof does not end in the empty clause")


def _certify_witness(folder: Path, found: Manifest, system: System, prop: Property) -> RecheckedProof:
    begun, name = time.perf_counter(), witness_part(prop.name)
    saved = _saved_witness(folder, prop)
    try:
        trace = check_saved(saved, system, found.subject, never_reached(prop))
    except NotAnExecution as error:
        raise RejectedError(f"{name}: {error}") from None
    replayed = trace.to_json()
    for key in WITNESS_HEAD:
        theirs, ours = (json.dumps(head.get(key), sort_keys=True) for head in (saved, replayed))
        if theirs != ours:
            raise RejectedError(one_line(f"{name}: {key}: the file says {theirs}, the manifest {ours}"))
    for fault, most in found.budgets.items():
        if trace.faults.get(fault, 0) > most:
            raise RejectedError(f"{name}: has more than {amount(most, 'fault')} of the kind {fault}")
    return RecheckedProof(name, 0, len(trace.steps), 0.0, time.perf_counter() - begun)
