"""Questions about sets of positions, for one configuration at a time, answered in three ways.

A question asks whether sets exist that satisfy all its constraints. It is plain data. z3 on bit-vectors and a
SAT solver on CNF, with PySAT's cardinality encodings, answer it. Every set that they find is checked on plain
sets (`holds`). In every lemma a `yes` is a counterexample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import z3
from pysat.card import CardEnc, EncType
from pysat.formula import CNF, IDPool

from fencepost.encoding.errors import InternalError
from fencepost.encoding.solving.answers import Deadline, No, Yes, answered
from fencepost.encoding.solving.solvers import ask_within
from fencepost.encoding.solving.terms import Terms
from fencepost.quorums.stripes import Configuration, Positions

Sets: TypeAlias = Mapping[str, frozenset[int]]


@dataclass(frozen=True)
class AtLeastOf:
    """At least `count` of the positions `among` are in the set `of`."""

    count: int
    of: str
    among: Positions


@dataclass(frozen=True)
class AtMost:
    """At most `count` of the positions `among` are in the set `of`."""

    count: int
    of: str
    among: Positions


@dataclass(frozen=True)
class Apart:
    """No position is in both sets."""

    left: str
    right: str


@dataclass(frozen=True)
class Within:
    """Every position of the set `of` is one of `among`."""

    of: str
    among: Positions


@dataclass(frozen=True)
class Union:
    """The set `whole` is the union of the `parts`."""

    whole: str
    parts: tuple[str, ...]


Constraint: TypeAlias = AtLeastOf | AtMost | Apart | Within | Union


@dataclass(frozen=True)
class SetQuestion:
    """The question whether sets over the positions of the configuration satisfy all constraints."""

    configuration: Configuration
    sentence: str
    constraints: tuple[Constraint, ...]

    @property
    def key(self) -> tuple[Constraint, ...]:
        """The constraints: equal for questions with the same answer. Other positions may be in any set."""
        return self.constraints

    def names(self) -> list[str]:
        """Return the names of the sets, in order of first mention."""
        return list(dict.fromkeys(name for c in self.constraints for name in _names(c)))


def _names(constraint: Constraint) -> tuple[str, ...]:
    match constraint:
        case AtLeastOf(of=of) | AtMost(of=of) | Within(of=of):
            return (of,)
        case Apart(left, right):
            return (left, right)
        case Union(whole, parts):
            return (*parts, whole)


def partition(positions: Positions, parts: Sequence[str]) -> tuple[Constraint, ...]:
    """Return the constraints that each of `positions`, and no other, is in exactly one of the `parts`."""
    pairs = [(a, b) for i, a in enumerate(parts) for b in parts[i + 1 :]]
    everyone = f"{'|'.join(parts)}"
    return (
        *(Apart(a, b) for a, b in pairs),
        Union(everyone, tuple(parts)),
        Within(everyone, positions),
        AtLeastOf(len(positions), everyone, positions),
    )


def exactly(count: int, of: str, among: Positions) -> tuple[Constraint, ...]:
    """Return the constraints that exactly `count` of the positions `among` are in the set `of`."""
    return AtLeastOf(count, of, among), AtMost(count, of, among)


HEARD, LOST = ("heard", "silent"), ("up", "lost")
"""Two ways to split an ensemble: by answers, and by losses."""


def about_ensemble(
    configuration: Configuration, sentence: str, *constraints: Constraint, parts: tuple[str, ...] = HEARD
) -> SetQuestion:
    """Return a question about the ensemble split into `parts`, with each bookie in one part."""
    return SetQuestion(configuration, sentence, (*partition(configuration.positions, parts), *constraints))


# Plain sets


def holds(question: SetQuestion, sets: Sets) -> bool:
    """Return whether the sets satisfy every constraint, evaluated on plain sets."""
    return all(_met(constraint, sets) for constraint in question.constraints)


def _met(constraint: Constraint, sets: Sets) -> bool:
    match constraint:
        case AtLeastOf(count, of, among):
            return len(sets[of] & set(among)) >= count
        case AtMost(count, of, among):
            return len(sets[of] & set(among)) <= count
        case Apart(left, right):
            return not sets[left] & sets[right]
        case Within(of, among):
            return sets[of] <= set(among)
        case Union(whole, parts):
            return sets[whole] == frozenset().union(*(sets[part] for part in parts))


# Bit-vectors


def ask_bitvectors(question: SetQuestion, deadline: Deadline) -> Sets | None:
    """Return sets that answer the question, or None if there are none, by z3 on bit-vectors.

    Raises SolverGaveUpError.
    """
    width = question.configuration.ensemble
    vectors = {name: z3.BitVec(name, width) for name in question.names()}
    terms = Terms("QF_BV", [_bits(constraint, vectors, width) for constraint in question.constraints])
    match answered(terms.ask(by=deadline), "z3"):
        case No():
            return None
        case Yes(model):
            values = {name: model.eval(v, model_completion=True).as_long() for name, v in vectors.items()}
            return {
                name: frozenset(p for p in range(width) if value >> p & 1) for name, value in values.items()
            }


def _bits(constraint: Constraint, vectors: dict[str, Any], width: int) -> Any:
    def mask(positions: Positions) -> int:
        return sum(1 << position for position in set(positions))

    def members(of: str, among: Positions) -> Any:
        return _ones(vectors[of] & mask(among), width)

    match constraint:
        case AtLeastOf(count, of, among):
            chosen = mask(among)
            if not 0 < count <= len(among):
                return z3.BoolVal(count <= 0)
            if count == 1:
                return vectors[of] & chosen != 0
            if count == len(among):
                return vectors[of] & chosen == chosen
            return z3.UGE(members(of, among), count)
        case AtMost(count, of, among):
            chosen = mask(among)
            if not 0 <= count < len(among):
                return z3.BoolVal(count >= 0)
            if count == 0:
                return vectors[of] & chosen == 0
            if count == len(among) - 1:
                return vectors[of] & chosen != chosen
            return z3.ULE(members(of, among), count)
        case Apart(left, right):
            return vectors[left] & vectors[right] == 0
        case Within(of, among):
            return vectors[of] & ~z3.BitVecVal(mask(among), width) == 0
        case Union(whole, parts):
            combined = vectors[parts[0]]
            for part in parts[1:]:
                combined = combined | vectors[part]
            return vectors[whole] == combined


def _ones(vector: Any, width: int) -> Any:
    """Return the number of bits that are set, added up in fields of 2, 4, 8, … bits."""
    field = 1
    while field < width:
        lower = sum(((1 << field) - 1) << start for start in range(0, width, 2 * field)) & ((1 << width) - 1)
        vector = (vector & lower) + (z3.LShR(vector, field) & lower)
        field *= 2
    return vector


# CNF


def ask_cnf(question: SetQuestion, deadline: Deadline) -> Sets | None:
    """Return sets that answer the question, or None if there are none, by a SAT solver on CNF.

    Raises SolverGaveUpError.
    """
    positions = question.configuration.positions
    pool = IDPool()
    variables = {(name, p): pool.id((name, p)) for name in question.names() for p in positions}
    clauses = [
        c for constraint in question.constraints for c in _clauses(constraint, variables, positions, pool)
    ]
    match answered(ask_within("glucose4", clauses, deadline), "PySAT"):
        case No():
            return None
        case Yes(model):
            true = {literal for literal in model if literal > 0}
            names = question.names()
            return {name: frozenset(p for p in positions if variables[name, p] in true) for name in names}


def _clauses(
    constraint: Constraint, variables: dict[tuple[str, int], int], positions: Positions, pool: IDPool
) -> Iterator[list[int]]:
    match constraint:
        case AtLeastOf(count, of, among):
            yield from _count_clauses("atleast", [variables[of, p] for p in sorted(set(among))], count, pool)
        case AtMost(count, of, among):
            yield from _count_clauses("atmost", [variables[of, p] for p in sorted(set(among))], count, pool)
        case Apart(left, right):
            yield from ([-variables[left, p], -variables[right, p]] for p in positions)
        case Within(of, among):
            yield from ([-variables[of, p]] for p in positions if p not in among)
        case Union(whole, parts):
            for p in positions:
                yield [-variables[whole, p], *(variables[part, p] for part in parts)]
                yield from ([-variables[part, p], variables[whole, p]] for part in parts)


def _count_clauses(kind: str, literals: list[int], count: int, pool: IDPool) -> Iterator[list[int]]:
    """Yield the clauses of a cardinality constraint.

    PySAT's encodings accept only bounds from 0 to n, so other bounds are handled here.
    """
    if (kind == "atleast" and count <= 0) or (kind == "atmost" and count >= len(literals)):
        return
    if (kind == "atleast" and count > len(literals)) or (kind == "atmost" and count < 0):
        yield []
        return
    if kind == "atleast" and count == 1:
        yield literals
        return
    encode = CardEnc.atleast if kind == "atleast" else CardEnc.atmost
    encoded: CNF = encode(lits=literals, bound=count, vpool=pool, encoding=EncType.seqcounter)
    yield from encoded.clauses


# Both solvers


def ask(question: SetQuestion, deadline: Deadline) -> Sets | None:
    """Return the answer of both solvers.

    Raises InternalError if they differ, or if their sets do not satisfy the constraints.
    """
    by_vectors = ask_bitvectors(question, deadline)
    by_cnf = ask_cnf(question, deadline)
    if (by_vectors is None) != (by_cnf is None):
        raise InternalError(
            f"{question.sentence} ({question.configuration}): "
            f"z3 on bit-vectors says {_say(by_vectors)}, PySAT on CNF says {_say(by_cnf)}"
        )
    for engine, sets in (("z3", by_vectors), ("PySAT", by_cnf)):
        if sets is not None and not holds(question, sets):
            raise InternalError(
                f"{question.sentence} ({question.configuration}): {engine} answers {_say(sets)}"
            )
    return by_vectors


def _say(sets: Sets | None) -> str:
    return "no" if sets is None else f"yes: { {name: sorted(members) for name, members in sets.items()} }"
