"""Certificates: what a verdict `proved` rests on, in files that can be checked without trusting the search.

A certificate is a folder: for each query of a proof (`queries.py`) its clauses, and the solver's clausal proof that
they cannot all hold; for each property a trace to its witness; and a manifest. `filling` makes what is in it, `rechecking`
checks it. docs/certificates.md says what follows from a certificate that stands, and what is still trusted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import z3

from fencepost.encoding.checking.verdicts import Basis
from fencepost.encoding.concrete.rereading import SUBJECT, saved_subject
from fencepost.encoding.errors import BadInput
from fencepost.encoding.evidence.queries import Kind, Query
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.reading import Key, has_keys, one_of, read_json, shown, text_key, whole_key
from fencepost.encoding.versions import version

SCHEMA = "fencepost.certificate/1"


MANIFEST = "manifest.json"


PROVER = "cadical195"
"""Who writes the proofs, whoever answered the search: not every solver can."""


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


def clauses_file(folder: Path, query: Query) -> Path:
    """Where the clauses of a query are."""
    return folder / f"{query.name}.cnf"


def proof_file(folder: Path, query: Query) -> Path:
    """Where the proof is that they cannot all hold."""
    return folder / f"{query.name}.drup"


def trace_file(folder: Path, prop: Property) -> Path:
    """Where the trace to the witness of a property is."""
    return folder / f"{witness_part(prop.name)}.json"


def never_reached(prop: Property) -> Property:
    """The claim that the property's witness is never true: a trace that violates it reaches the witness."""
    return replace(prop, holds=~prop.witness)


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
