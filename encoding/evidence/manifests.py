"""Certificates: files with the basis of a verdict `proved`, to be checked without trusting the search.

A certificate is a folder with three kinds of files. For each question of a proof (`question_files.py`) it has
the clauses, and the solver's proof that these are unsatisfiable. For each property it has a trace to the
witness. The manifest names the protocol, the claims and the parts; their contents are built from the
protocol. It also has the clauses that an engine found and that induction over one action carries along. They
are claims like any other, so the questions are about them too. `contents.py` makes a certificate,
`recheck.py` checks it. docs/certificates.md says what follows from a valid certificate, and what is still
trusted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import z3

from fencepost.encoding import keys as k
from fencepost.encoding.concrete.saved_traces import SUBJECT, saved_subject
from fencepost.encoding.documents import has_keys, other_schema, read_json
from fencepost.encoding.engine.named_clauses import CLAUSE, NamedClause, clause_json, read_clause
from fencepost.encoding.engine.verdicts import Basis, LiveBasis
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.versions import version

SCHEMA = "fencepost.certificate/3"

MANIFEST = "manifest.json"

PROVER = "cadical195"
"""The solver that writes the proofs, whichever solver ran the search: not every solver can write them."""


class RejectedError(Exception):
    """The error that a certificate is wrong; the message says in which part, and where."""


@dataclass(frozen=True)
class Claim:
    """The claim that a property is proved: in rounds, or by induction over one action.

    `rounds` is None for induction over one action. `invariants` then names the invariants and other
    properties that are proved together with the property.
    """

    property: str
    basis: Basis
    rounds: int | None
    invariants: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check that rounds, basis and invariants agree. Raises ValueError."""
        if (self.rounds is None) != (self.basis is Basis.INDUCTION):
            raise ValueError("rounds is null if and only if the basis is induction")
        if self.rounds is not None and self.invariants:
            raise ValueError("only an induction over one action names invariants")


@dataclass(frozen=True)
class LiveClaim:
    """The claim that a property of liveness is proved, by a claim about the states of a monitored system.

    `by` is the kind of the monitor, and `rounds` the largest number of rounds of fairness that it allows.
    `found` and `parts` are those of `claim`. The monitored system itself is no part of a certificate: it is
    built from the protocol.
    """

    by: LiveBasis
    rounds: int | None
    claim: Claim
    found: tuple[NamedClause, ...]
    parts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check that there are rounds of fairness if and only if these are the basis. Raises ValueError."""
        if (self.rounds is None) != (self.by is not LiveBasis.ROUNDS):
            raise ValueError("rounds of fairness are null if and only if by is not rounds")

    def to_json(self) -> dict[str, object]:
        """Return the claim as an object with the keys `LIVE_CLAIM`."""
        return k.from_record(LIVE_CLAIM, self, found=[clause_json(clause) for clause in self.found])


def claimed(name: str, basis: Basis, rounds: int, invariants: Sequence[str]) -> Claim:
    """Return the claim of a proof: by induction over one action, or with so many rounds."""
    if basis is Basis.INDUCTION:
        return Claim(name, basis, None, tuple(invariants))
    return Claim(name, basis, rounds)


def witness_part(name: str) -> str:
    """Return the name of the part that has the trace to the witness of a property."""
    return f"witness-{name}"


@dataclass(frozen=True)
class Contents:
    """What a certificate is to prove.

    `found` has the clauses that an engine found. They are proved together with all claims by induction over
    one action. `drop_declared` says that the system of the certificate has no declared invariants.
    """

    budgets: Mapping[str, int]
    claims: tuple[Claim, ...]
    found: tuple[NamedClause, ...]
    drop_declared: bool
    liveness: tuple[LiveClaim, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True)
class Manifest(Contents):
    """The contents, subject and parts of a certificate, and the versions that made it."""

    subject: Subject
    parts: tuple[str, ...]
    version: str
    solver: str
    z3: str

    def to_json(self) -> dict[str, object]:
        """Return the manifest as `fencepost.certificate/3`."""
        found = [clause_json(clause) for clause in self.found]
        return k.from_record(MANIFEST_KEYS, self, version=self.version, **self.subject.to_json(), found=found)


def manifest(subject: Subject, proves: Contents, parts: Iterable[str]) -> Manifest:
    """Return the manifest of a certificate made by this version."""
    made = {"version": version(), "solver": PROVER, "z3": z3.get_version_string()}
    return Manifest(**vars(proves), subject=subject, parts=tuple(parts), **made)


def live_folder(name: str) -> str:
    """Return the name of the folder with the parts of a claim of liveness about that property."""
    return f"live-{name}"


def clauses_file(folder: Path, part: str) -> Path:
    """Return the path of the clauses of a question."""
    return folder / f"{part}.cnf"


def proof_file(folder: Path, part: str) -> Path:
    """Return the path of the proof that the clauses of a question are unsatisfiable."""
    return folder / f"{part}.drup"


def trace_file(folder: Path, prop: Property) -> Path:
    """Return the path of the trace to the witness of a property."""
    return folder / f"{witness_part(prop.name)}.json"


def never_reached(prop: Property) -> Property:
    """Return the property that the witness is never true: a trace that violates it reaches the witness."""
    return replace(prop, holds=~prop.witness)


HINT = "give a folder that `check --certificates` wrote"


MOST_ROUNDS = 1000
"""The most rounds that a claim may have: forty times what any proof in the documentation needs."""


PROOF = 2**32
"""The most bytes that a file of clauses or a proof may have."""

CLAIM = k.keys(
    property=k.text("the name of a property"),
    basis=k.among((Basis.ROUNDS.value, Basis.INDUCTION.value), "why the proof covers everything"),
    rounds=k.null(k.whole("rounds of the proof", 1, MOST_ROUNDS), "for an induction over one action"),
    invariants=k.texts("a list of names: what an induction over one action carries along"),
)
"""The keys of a claim."""

LIVE_CLAIM = k.keys(
    by=k.among(
        (LiveBasis.ENDS.value, LiveBasis.ROUNDS.value, LiveBasis.LOOPS.value), "the kind of the monitor"
    ),
    rounds=k.null(k.whole("the largest number of rounds of fairness", 0, MOST_ROUNDS), "unless by is rounds"),
    claim=k.one(CLAIM, "an object: the claim about the monitored system"),
    found=k.many(CLAUSE, "a list of clauses that were found, over the variables of the monitored system"),
    parts=k.texts("a list of names: the parts that the claim needs, in the folder live-NAME"),
)
"""The keys of a claim of liveness."""

BUDGET = {"type": "integer", "minimum": 0}
MANIFEST_KEYS = k.document(
    SCHEMA,
    **SUBJECT,
    budgets=k.ruled(dict, "an object of faults: at most how many of each kind", additionalProperties=BUDGET),
    claims=k.many(CLAIM, "a list of claims: what was proved about states"),
    found=k.many(CLAUSE, "a list of clauses that were found and that an induction over one action carries"),
    drop_declared=k.flag("the declared invariants are hidden: no claim may name one of them"),
    parts=k.texts("a list of names: the parts that the claims need, and no others"),
    solver=k.text("the solver that wrote the proofs"),
    z3=k.text("the version of z3 that made the clauses"),
) | {"liveness": k.many(LIVE_CLAIM, "a list of claims: which properties of liveness were proved")}
"""The keys of a manifest."""


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a certificate. Raises BadInput, in one line, for anything else."""
    path = folder / MANIFEST
    document = read_json(path, HINT)
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise other_schema(path, schema, SCHEMA)
    has_keys(document, MANIFEST_KEYS, f"{path}: a manifest")
    claims = tuple(_claim(path, claim) for claim in document["claims"])
    found = _found(path, document["found"], claims)
    liveness = tuple(_live_claim(path, claim) for claim in document.get("liveness", ()))
    if not (claims or liveness):
        raise BadInput(f"{path}: claims: there must be at least one claim; {HINT}")
    for fault, most in document["budgets"].items():
        if type(most) is not int or most < 0:
            raise BadInput(f"{path}: {fault}: a budget is a whole number, 0 or more")
    return Manifest(
        document["budgets"],
        claims,
        found,
        document["drop_declared"],
        saved_subject(document),
        tuple(document["parts"]),
        document["version"],
        document["solver"],
        document["z3"],
        liveness=liveness,
    )


def _found(path: Path, document: Sequence[object], claims: Sequence[Claim]) -> tuple[NamedClause, ...]:
    """Return the clauses that were found, on which these claims rest. Raises BadInput."""
    found = tuple(read_clause(clause, f"{path}: a clause") for clause in document)
    if len(set(found)) < len(found):
        raise BadInput(f"{path}: found: a clause stands there twice; {HINT}")
    if found and all(claim.rounds is not None for claim in claims):
        raise BadInput(f"{path}: found: no claim is by induction over one action, which alone uses clauses")
    return found


def _live_claim(path: Path, document: object) -> LiveClaim:
    live = has_keys(document, LIVE_CLAIM, f"{path}: a claim of liveness")
    claim = _claim(path, live["claim"])
    found = _found(path, live["found"], [claim])
    try:
        return LiveClaim(LiveBasis(live["by"]), live["rounds"], claim, found, tuple(live["parts"]))
    except ValueError as error:
        raise BadInput(f"{path}: a claim of liveness: {error}; {HINT}") from error


def _claim(path: Path, document: object) -> Claim:
    claim = has_keys(document, CLAIM, f"{path}: a claim")
    try:
        return Claim(claim["property"], Basis(claim["basis"]), claim["rounds"], tuple(claim["invariants"]))
    except ValueError as error:
        raise BadInput(f"{path}: a claim: {error}; {HINT}") from error
