"""Certificates: what a verdict `proved` rests on, in files that can be checked without trusting the search.

A certificate is a folder: for each query of a proof (`queries.py`) its clauses, and the solver's clausal proof that
they cannot all hold; for each property a trace to its witness; and a manifest. docs/certificates.md says
what follows from a certificate that stands, and what is still trusted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

import z3

from fencepost.encoding.checking.limits import known_faults
from fencepost.encoding.checking.preparing import Phase
from fencepost.encoding.checking.verdicts import Basis
from fencepost.encoding.concrete.replaying import NotAnExecution, Replayer
from fencepost.encoding.concrete.traces import SUBJECT, check_saved, saved_subject, saved_trace
from fencepost.encoding.errors import BadInput, InternalError
from fencepost.encoding.evidence.queries import Clauses, Encoded, Kind, Query, remarks
from fencepost.encoding.language.protocol import choose
from fencepost.encoding.language.state import amount
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.traces import Subject, Trace
from fencepost.encoding.reading import Key, has_keys, one_of, read_json, read_text, shown, text_key, whole_key
from fencepost.encoding.rounds.search import counters, executed, within
from fencepost.encoding.rounds.session import Session
from fencepost.encoding.solving.clauses import Clause
from fencepost.encoding.versions import version

SCHEMA = "fencepost.certificate/1"
MANIFEST = "manifest.json"

PROVER = "cadical195"
"""Who writes the proofs, whoever answered the search: not every solver can."""
CHECKER = "minisat22"
"""Whose unit propagation checks them: no code of the prover's."""


class RejectedError(Exception):
    """A certificate was read and refuted; the message says which part, and where."""


@dataclass(frozen=True)
class Claim:
    """A property is proved: in so many rounds, or by induction over so many."""

    property: str
    basis: Basis
    rounds: int

    def queries(self) -> list[Query]:
        """What must have no answer."""
        if self.basis is Basis.INDUCTION:
            return [Query(kind, self.rounds, self.property) for kind in (Kind.BASE, Kind.STEP)]
        return [
            Query(Kind.WELL_DEFINED, self.rounds),
            Query(Kind.COMPLETENESS, self.rounds),
            Query(Kind.PROPERTY, self.rounds, self.property),
        ]

    def parts(self) -> list[str]:
        """The parts of a certificate that it needs: the queries, and that the property is about something that happens."""
        return [*(query.name for query in self.queries()), witness_part(self.property)]

    def to_json(self) -> dict[str, object]:
        """As the manifest has it."""
        return {"property": self.property, "basis": self.basis.value, "rounds": self.rounds}


def witness_part(name: str) -> str:
    """The part that holds a trace to the witness of the property of that name."""
    return f"witness-{name}"


def queries(claims: Sequence[Claim]) -> list[Query]:
    """The queries of all claims: those about no property are shared."""
    return list(dict.fromkeys(query for claim in claims for query in claim.queries()))


def parts(claims: Sequence[Claim]) -> list[str]:
    """The parts that a certificate of these claims has."""
    return list(dict.fromkeys(part for claim in claims for part in claim.parts()))


@dataclass(frozen=True)
class Manifest:
    """What a certificate is about, and what it was made with."""

    subject: Subject
    budgets: Mapping[str, int]
    claims: tuple[Claim, ...]
    parts: tuple[str, ...]
    version: str
    solver: str
    z3: str

    def to_json(self) -> dict[str, object]:
        """The form of `fencepost.certificate/1`."""
        return {
            "schema": SCHEMA,
            "version": self.version,
            **self.subject.to_json(),
            "budgets": dict(self.budgets),
            "claims": [claim.to_json() for claim in self.claims],
            "parts": list(self.parts),
            "solver": self.solver,
            "z3": self.z3,
        }


def manifest(subject: Subject, budgets: Mapping[str, int], claims: Sequence[Claim]) -> Manifest:
    """The manifest of a certificate made here and now."""
    z3_version = z3.get_version_string()
    return Manifest(subject, budgets, tuple(claims), tuple(parts(claims)), version(), PROVER, z3_version)


# Making.


def make(
    send: Callable[[object], None],
    system: System,
    subject: Subject,
    budgets: Mapping[str, int],
    claims: Sequence[Claim],
    folder: Path,
) -> list[Iterator[Phase]]:
    """What the process that makes a certificate runs: it fills a folder that nobody else looks at yet."""
    return [_make(system, subject, budgets, claims, folder)]


def _make(
    system: System, subject: Subject, budgets: Mapping[str, int], claims: Sequence[Claim], folder: Path
) -> Iterator[Phase]:
    yield Phase("certificate: building")
    properties = choose(system, tuple(claim.property for claim in claims))
    encoded = Encoded(system, properties, budgets)
    for query in queries(claims):
        yield Phase(f"certificate: {query.name}")
        clauses = encoded.clauses(query)
        _write(_cnf(folder, query), clauses.dimacs(remarks(query, subject, budgets)))
        _write(_proof(folder, query), "".join(f"{line}\n" for line in refutation(clauses, query.name)))
    for prop in properties:
        yield Phase(f"certificate: witness of {prop.name}")
        trace = find_witness(encoded, subject, prop)
        _write(_trace(folder, prop), json.dumps(trace.to_json(), indent=2) + "\n")
    _write(folder / MANIFEST, json.dumps(manifest(subject, budgets, claims).to_json(), indent=2) + "\n")


def _cnf(folder: Path, query: Query) -> Path:
    return folder / f"{query.name}.cnf"


def _proof(folder: Path, query: Query) -> Path:
    return folder / f"{query.name}.drup"


def _trace(folder: Path, prop: Property) -> Path:
    return folder / f"{witness_part(prop.name)}.json"


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def refutation(clauses: Clauses, name: str) -> list[str]:
    """The proof, line by line, that the clauses cannot all hold. Raises InternalError if they can."""
    from pysat.solvers import Solver

    with Solver(name=PROVER, with_proof=True, bootstrap_with=clauses.clauses) as solver:
        if solver.solve():
            raise InternalError(f"{name}: the search found no answer, and {PROVER} has one")
        lines: list[str] = solver.get_proof()
    return lines


def find_witness(encoded: Encoded, subject: Subject, prop: Property) -> Trace:
    """A replayed trace to a state in which the property's witness is true; there must be one."""
    query = Query(Kind.WITNESS, 1, prop.name)
    session = Session(encoded.template(query), "cadical")
    limits, found = counters(session, encoded.limits(query)), False
    while not found:
        session.deepen()
        witness = session.unrolling.output(f"witness:{prop.name}", session.rounds)
        found = session.solve([*within(limits), witness])
    execution = executed(session)
    actions = [encoded.symbolic.actions[slot] for slot in execution.slots]
    lost = [encoded.system.choices[position].name for position in execution.choices]
    return Replayer(encoded.system, subject).spare_faults(never_reached(prop), actions, lost)


def never_reached(prop: Property) -> Property:
    """The claim that the property's witness is never true: a trace that violates it reaches the witness."""
    return replace(prop, holds=~prop.witness)


# Checking.


@dataclass(frozen=True)
class Checked:
    """A part that stands: how large it is, and how long it took to build it again and to check its proof."""

    part: str
    clauses: int
    lemmas: int
    building: float
    checking: float

    def to_json(self) -> dict[str, object]:
        """As `fencepost certify --format json` has it."""
        return {
            "part": self.part,
            "clauses": self.clauses,
            "lemmas": self.lemmas,
            "building": round(self.building, 3),
            "checking": round(self.checking, 3),
        }


def certify(folder: Path, found: Manifest, system: System, digest: str | None) -> Iterator[Phase | Checked]:
    """Check every part of a certificate against the system that its manifest names.

    `digest` is that of the system if its protocol does not ship: the certificate must have been made from the same.
    Raises RejectedError for what is refuted, BadInput for what cannot be read.
    """
    if found.subject.system != digest:
        raise RejectedError(
            f"it was made from another text of {found.subject.protocol}, or of what that imports "
            f"(system {_brief(found.subject.system)}, here {_brief(digest)})"
        )
    for claim in found.claims:
        for part in claim.parts():
            if part not in found.parts:
                raise RejectedError(f"{claim.property}: its part {part} is missing from the certificate")
    properties = choose(system, tuple(claim.property for claim in found.claims))
    known_faults(system, found.budgets)
    yield Phase("certificate: building")
    begun = time.perf_counter()
    encoded = Encoded(system, properties, found.budgets, cached=False)
    yield Checked("commutation", encoded.asked, 0, time.perf_counter() - begun, 0.0)
    for query in queries(found.claims):
        yield Phase(f"certificate: {query.name}")
        yield _certify(folder, found, encoded, query)
    for prop in properties:
        yield _certify_witness(folder, found, system, prop)


def _certify(folder: Path, found: Manifest, encoded: Encoded, query: Query) -> Checked:
    begun = time.perf_counter()
    saved, proof = (read_text(path(folder, query), HINT, PROOF) for path in (_cnf, _proof))
    clauses = encoded.clauses(query)
    try:
        same_text(saved, clauses.dimacs(remarks(query, found.subject, found.budgets)))
        built = time.perf_counter()
        lemmas = check_proof(clauses, read_proof(proof, _proof(folder, query)))
    except RejectedError as error:
        raise RejectedError(f"{query.name}: {error}{_other_z3(found)}") from None
    return Checked(query.name, len(clauses.clauses), lemmas, built - begun, time.perf_counter() - built)


def _other_z3(found: Manifest) -> str:
    here = z3.get_version_string()
    return "" if found.z3 == here else f" (made with z3 {found.z3}, checked with {here}: try the same)"


def same_text(saved: str, built: str) -> None:
    """Raise RejectedError at the first line in which the saved clauses differ from those built again."""
    for number, (theirs, ours) in enumerate(zip_longest(saved.splitlines(), built.splitlines()), 1):
        if theirs != ours:
            raise RejectedError(
                f"line {number} of the clauses is not what the manifest gives: {_short(theirs)} instead of {_short(ours)}"
            )


def _brief(digest: str | None) -> str:
    return "of a protocol that ships" if digest is None else digest[:12]


def _short(line: str | None) -> str:
    if line is None:
        return "nothing"
    return f'"{line}"' if len(line) <= 60 else f'"{line[:57]}..."'


def read_proof(text: str, path: Path) -> Iterator[Clause]:
    """The lemmas of a proof in the DRUP format; raises BadInput for a line that is none.

    Deletions are left out: what follows from fewer clauses follows from more.
    """
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        deletes = bool(words) and words[0] == "d"
        try:
            *literals, end = map(int, words[1:] if deletes else words)
        except ValueError:
            literals, end = [], 1
        if end != 0 or 0 in literals:
            raise BadInput(f"{path}: line {number} is no lemma; a lemma is literals and then a 0")
        if not deletes:
            yield literals


def check_proof(clauses: Clauses, lemmas: Iterator[Clause]) -> int:
    """The number of lemmas up to the empty clause; raises RejectedError unless each follows by unit propagation.

    A lemma follows if its negation, together with the clauses and the lemmas before it, leads to a contradiction by
    unit propagation alone.
    """
    from pysat.solvers import Solver

    with Solver(name=CHECKER, bootstrap_with=clauses.clauses) as checker:
        for number, lemma in enumerate(lemmas, 1):
            if any(abs(literal) > clauses.top for literal in lemma):
                raise RejectedError(f"lemma {number} of the proof names a variable that no clause has")
            consistent, _ = checker.propagate([-literal for literal in lemma])
            if consistent:
                text = " ".join(map(str, lemma)) or "the empty clause"
                raise RejectedError(f"lemma {number} of the proof does not follow: {_short(text)}")
            if not lemma:
                return number
            checker.add_clause(lemma)
    raise RejectedError("the proof does not end in the empty clause")


def _certify_witness(folder: Path, found: Manifest, system: System, prop: Property) -> Checked:
    begun, name, file = time.perf_counter(), witness_part(prop.name), _trace(folder, prop)
    saved = saved_trace(read_json(file, HINT), str(file))
    try:
        trace = check_saved(saved, system, found.subject, never_reached(prop))
    except NotAnExecution as error:
        raise RejectedError(f"{name}: {error}") from None
    for fault, most in found.budgets.items():
        if trace.faults.get(fault, 0) > most:
            raise RejectedError(f"{name}: has more than {amount(most, 'fault')} of the kind {fault}")
    return Checked(name, 0, len(trace.steps), 0.0, time.perf_counter() - begun)


# Reading.

HINT = "give a folder that `check --certificates` wrote"

MOST_ROUNDS = 1000
"""Rounds that a claim may be about: forty times what any proof in the documentation needs."""

PROOF = 2**32
"""Bytes of clauses or of a proof, at most."""

_MANIFEST = {
    "schema": one_of((SCHEMA,), needed=True),
    "version": text_key(needed=True),
    **SUBJECT,
    "budgets": Key(dict, "an object of faults", needed=True),
    "claims": Key(list, "a list of one property at least", bool, needed=True),
    "parts": Key(list, "a list of names", lambda names: all(isinstance(n, str) for n in names), needed=True),
    "solver": text_key(needed=True),
    "z3": text_key(needed=True),
}
_CLAIM = {
    "property": text_key("the name of a property", needed=True),
    "basis": one_of((Basis.ROUNDS.value, Basis.INDUCTION.value), needed=True),
    "rounds": whole_key(1, MOST_ROUNDS, needed=True),
}


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a certificate; raises BadInput, in one line, for anything else."""
    path = folder / MANIFEST
    document = read_json(path, HINT)
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise BadInput(f"{path}: schema is {shown(schema)}; valid: {SCHEMA}")
    has_keys(document, _MANIFEST, f"{path}: a manifest")
    claims = tuple(_claim(path, claim) for claim in document["claims"])
    for part in document["parts"]:
        if part not in parts(claims):
            raise BadInput(f"{path}: {part}: no part of these claims; valid: {', '.join(parts(claims))}")
    for fault, most in document["budgets"].items():
        if type(most) is not int or most < 0:
            raise BadInput(f"{path}: {fault}: a budget is a whole number, 0 or more")
    return Manifest(
        saved_subject(document),
        document["budgets"],
        claims,
        tuple(document["parts"]),
        document["version"],
        document["solver"],
        document["z3"],
    )


def _claim(path: Path, document: object) -> Claim:
    claim = has_keys(document, _CLAIM, f"{path}: a claim")
    return Claim(claim["property"], Basis(claim["basis"]), claim["rounds"])
