"""Questions about sets of positions, for one configuration at a time, answered in three ways.

A question asks whether sets exist that satisfy all its constraints. It is plain data. z3 on bit-vectors and a
SAT solver on CNF, with PySAT's cardinality encodings, answer it. Every set that they find is checked on plain
sets (`holds`). In every lemma a `yes` is a counterexample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
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
    """At least `count` of the positions `among` are in the set `of`, or in one of `a|b`, which are apart."""

    count: int
    of: str
    among: Positions


@dataclass(frozen=True)
class AtMost:
    """At most `count` of the positions `among` are in the set `of`, or in one of `a|b`, which are apart."""

    count: int
    of: str
    among: Positions


@dataclass(frozen=True)
class Apart:
    """No position is in both sets."""

    left: str
    right: str
    among: Positions

    @property
    def of(self) -> str:
        """Both sets."""
        return f"{self.left}|{self.right}"


Constraint: TypeAlias = AtLeastOf | AtMost | Apart
Member: TypeAlias = tuple[str, int]
"""A set and a position that may be in it."""


def _members(constraint: Constraint) -> list[Member]:
    """Return the members that a constraint is about."""
    return [(name, p) for name in constraint.of.split("|") for p in sorted(set(constraint.among))]


@dataclass(frozen=True)
class SetQuestion:
    """The question whether sets over the positions of the configuration satisfy all constraints."""

    configuration: Configuration
    sentence: str
    constraints: tuple[Constraint, ...]

    def names(self) -> list[str]:
        """Return the names of the sets, in order of first mention."""
        return list(dict.fromkeys(name for c in self.constraints for name in c.of.split("|")))

    def members(self) -> list[Member]:
        """Return the members that the constraints are about."""
        return list(dict.fromkeys(member for c in self.constraints for member in _members(c)))

    def sets(self, is_in: Callable[[Member], bool]) -> Sets:
        """Return the sets of those members that are in."""
        found = list(filter(is_in, self.members()))
        return {name: frozenset(p for of, p in found if of == name) for name in self.names()}


def partition(positions: Positions, parts: Sequence[str]) -> tuple[Constraint, ...]:
    """Return the constraints that each of `positions` is in exactly one of the `parts`."""
    apart = (Apart(a, b, positions) for i, a in enumerate(parts) for b in parts[i + 1 :])
    return (*apart, AtLeastOf(len(positions), "|".join(parts), positions))


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


def every_window_covered(configuration: Configuration) -> tuple[Constraint, ...]:
    """Return the constraints that every window has fewer than AQ silent positions."""
    aq = configuration.ack_quorum
    return tuple(AtMost(aq - 1, "silent", window) for window in configuration.windows())


def first_window_has(configuration: Configuration, of: str) -> Constraint:
    """Return the constraint that the first window has an ack quorum of the set.

    The first window stands for all windows if the other constraints treat positions alike.
    """
    return AtLeastOf(configuration.ack_quorum, of, configuration.window(0))


# Plain sets


def holds(question: SetQuestion, sets: Sets) -> bool:
    """Return whether the sets satisfy every constraint, evaluated on plain sets."""
    return all(_met(constraint, sets) for constraint in question.constraints)


def _met(constraint: Constraint, sets: Sets) -> bool:
    places = set(constraint.among)
    number = len(frozenset().union(*(sets[name] & places for name in constraint.of.split("|"))))
    match constraint:
        case AtLeastOf(count):
            return number >= count
        case AtMost(count):
            return number <= count
        case Apart(left, right):
            return not sets[left] & sets[right] & places


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
            return question.sets(lambda member: bool(values[member[0]] >> member[1] & 1))


def _bits(constraint: Constraint, vectors: Mapping[str, Any], width: int) -> Any:
    mask = sum(1 << position for position in set(constraint.among))
    if isinstance(constraint, Apart):
        return vectors[constraint.left] & vectors[constraint.right] & mask == 0
    count, places, is_least = constraint.count, mask.bit_count(), isinstance(constraint, AtLeastOf)
    if not 0 <= count <= places:
        return z3.BoolVal((count <= 0) if is_least else (count >= 0))
    chosen = reduce(or_, (vectors[name] for name in constraint.of.split("|"))) & mask
    if count in (1, places) and is_least:
        return chosen != 0 if count == 1 else chosen == mask
    if count in (0, places - 1) and not is_least:
        return chosen == 0 if count == 0 else chosen != mask
    number = _ones(chosen, width)
    return z3.UGE(number, count) if is_least else z3.ULE(number, count)


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
    pool = IDPool()
    variables = {member: pool.id(member) for member in question.members()}
    clauses = [c for constraint in question.constraints for c in _clauses(constraint, variables, pool)]
    match answered(ask_within("glucose4", clauses, deadline), "PySAT"):
        case No():
            return None
        case Yes(model):
            true = {literal for literal in model if literal > 0}
            return question.sets(lambda member: variables[member] in true)


def _clauses(constraint: Constraint, variables: Mapping[Member, int], pool: IDPool) -> list[list[int]]:
    """Return the clauses of a constraint. PySAT's encodings accept only bounds from 0 to n."""
    literals = [variables[member] for member in _members(constraint)]
    if isinstance(constraint, Apart):
        half = len(literals) // 2
        return [[-left, -right] for left, right in zip(literals[:half], literals[half:], strict=True)]
    count, is_least = constraint.count, isinstance(constraint, AtLeastOf)
    if not 0 <= count <= len(literals):
        return [] if (count <= 0 if is_least else count >= 0) else [[]]
    encode = CardEnc.atleast if is_least else CardEnc.atmost
    encoded: CNF = encode(lits=literals, bound=count, vpool=pool, encoding=EncType.seqcounter)
    clauses: list[list[int]] = encoded.clauses
    return clauses


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
