"""The clauses of one size that can be read off the actions, before any search.

What has happened implies what its causes required (`induction/read_off.py`). Such a statement is lifted like
a clause that a search found. It is often shorter.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from fencepost.encoding.engine.clauses import Clause, Literal, Relation
from fencepost.encoding.induction.read_off import candidates
from fencepost.encoding.language.patterns import plain_index
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import (
    AllOf,
    AnyOf,
    AtLeast,
    Constant,
    Equal,
    If,
    In,
    Leaf,
    Less,
    Not,
    Parameter,
    Plus,
    Quantified,
    Read,
    Term,
    node,
)

LONGEST = 6
"""The most statements in one clause."""

MOST = 200
"""The most clauses of one statement that was read off."""

Environment = Mapping[Parameter, Value]
_Clauses = list[frozenset[Literal]]


class _NoClausesError(Exception):
    """The error that a term is no short list of clauses about single variables."""


def read_off(system: System) -> list[Clause]:
    """Return the clauses, without those that are always true and those that are too long."""
    every = [clauses_of_term(system, candidate.holds) for candidate in candidates(system)]
    return list(dict.fromkeys(clause for clauses in every for clause in clauses or () if clause))


def clauses_of_term(system: System, term: Term) -> list[Clause] | None:
    """Return clauses that are true together exactly where a term is, or None if there are no short ones."""
    try:
        return [tuple(sorted(clause)) for clause in _Reader(system).clauses(term, {}, True)]
    except _NoClausesError:
        return None


class _Reader:
    """The reading of terms as clauses."""

    def __init__(self, system: System) -> None:
        """Look up the variables."""
        self._variables = {(v.family.name, v.index): v for v in system.variables}

    def clauses(self, term: Term, environment: Environment, holds: bool) -> _Clauses:
        """Return the clauses that say that a term has the value `holds`. Raises _NoClausesError."""
        match node(term):
            case Not(operand=operand):
                return self.clauses(operand, environment, not holds)
            case AllOf(operands=operands) | AnyOf(operands=operands):
                parts = [self.clauses(part, environment, holds) for part in operands]
                return _all(parts) if isinstance(term, AllOf) is holds else _any_clauses(parts)
            case Quantified(quantifier="forall" | "exists" as quantifier, bound=bound, body=body):
                parts = self._instances(bound, body, environment, holds)
                return _all(parts) if (quantifier == "forall") is holds else _any_clauses(parts)
            case AtLeast(count=count, bound=bound, body=body):
                parts = self._instances(bound, body, environment, holds)
                several = len(parts) - count + 1 if holds else count
                return _all(_any_clauses(some) for some in itertools.combinations(parts, several))
            case Constant(value=bool() as value):
                return [] if value is holds else [frozenset()]
            case (Read() | Equal() | Less()) as statement:
                return self._statement(statement, environment, holds)
            case Leaf() | Plus() | If() | Quantified() | In():
                raise _NoClausesError

    def _instances(
        self, bound: Parameter, body: Term, environment: Environment, holds: bool
    ) -> list[_Clauses]:
        return [self.clauses(body, {**environment, bound: value}, holds) for value in bound.sort]

    def _statement(self, term: Read | Equal | Less, environment: Environment, holds: bool) -> _Clauses:
        """Return the clause with one statement about one variable, or what two plain values say."""
        if isinstance(term, Read):
            return self._compared(term, Relation.IS if holds else Relation.IS_NOT, True, environment)
        left, right = (_constant_value(side, environment) for side in (term.left, term.right))
        if left is not None and right is not None:
            true = left == right if isinstance(term, Equal) else left < right  # type: ignore[operator]
            return [] if true is holds else [frozenset()]
        if isinstance(term, Equal):
            read, value = (term.left, right) if left is None else (term.right, left)
            return self._compared(read, Relation.IS if holds else Relation.IS_NOT, value, environment)
        if left is None:
            return self._compared(
                term.left, Relation.BELOW if holds else Relation.AT_LEAST, right, environment
            )
        above = left + 1 if isinstance(left, int) else None
        return self._compared(term.right, Relation.AT_LEAST if holds else Relation.BELOW, above, environment)

    def _compared(
        self, read: Term, relation: Relation, value: Value | None, environment: Environment
    ) -> _Clauses:
        if not isinstance(read, Read) or value is None:
            raise _NoClausesError
        index = tuple(_constant_value(part, environment) for part in read.index)
        variable = self._variables.get((read.family.name, index))  # type: ignore[arg-type]
        if variable is None or variable.is_choice or value not in variable.domain.values:
            raise _NoClausesError
        return [frozenset([Literal(variable.place, relation, variable.domain.values.index(value))])]


def _constant_value(term: Term, environment: Environment) -> Value | None:
    """Return the value of a term that does not depend on the state, or None."""
    found = plain_index(term, environment)
    return found[0] if found else None


def _all(parts: Iterable[_Clauses]) -> _Clauses:
    found = list(dict.fromkeys(itertools.chain.from_iterable(parts)))
    if len(found) > MOST:
        raise _NoClausesError
    return found


def _any_clauses(parts: Iterable[_Clauses]) -> _Clauses:
    """Return the clauses that say that one of the parts is true."""
    found: _Clauses = [frozenset()]
    for part in parts:
        found = list(dict.fromkeys(one | other for one in found for other in part))
        if len(found) > MOST or any(len(clause) > LONGEST for clause in found):
            raise _NoClausesError
    return found
