"""And-inverter graphs: formulas as gates with two operands, as hardware model checkers take them.

A literal is a number: 0 is false, 1 is true, 2n is node n, and 2n + 1 is the negation of node n. The first
nodes are the leaves, such as inputs and latches. Every other node is a gate, the conjunction of two literals
of earlier nodes. Equal gates are one node (structural hashing).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from fencepost.encoding.solving.logic import Connective, Formula, connective, key, operands

Literal = int
"""A node of the graph, or its negation."""

TRUE: Literal = 1
FALSE: Literal = 0


def leaf(number: int) -> Literal:
    """Return the literal of a leaf; leaves count from 0."""
    return 2 * (number + 1)


class AndInverterGraph:
    """An and-inverter graph that grows by gates."""

    def __init__(self, leaves: int) -> None:
        """Start with the leaves alone."""
        self.gates: list[tuple[Literal, Literal]] = []
        """The operands of each gate, the larger literal first."""
        self._first = leaves + 1
        self._known: dict[tuple[Literal, Literal], Literal] = {}

    def both(self, left: Literal, right: Literal) -> Literal:
        """Return the conjunction of two literals."""
        high, low = (left, right) if left >= right else (right, left)
        if low == FALSE or high == low ^ 1:
            return FALSE
        if low == TRUE or high == low:
            return high
        if (high, low) not in self._known:
            self._known[high, low] = 2 * (self._first + len(self.gates))
            self.gates.append((high, low))
        return self._known[high, low]

    def conj(self, literals: Iterable[Literal]) -> Literal:
        """Return the conjunction; true if there are no operands. The tree of gates is balanced."""
        level = sorted(set(literals)) or [TRUE]
        while len(level) > 1:
            pairs = zip(level[::2], level[1::2], strict=False)
            level = [self.both(*pair) for pair in pairs] + (level[-1:] if len(level) % 2 else [])
        return level[0]

    def disj(self, literals: Iterable[Literal]) -> Literal:
        """Return the disjunction; false if there are no operands."""
        return self.conj(literal ^ 1 for literal in literals) ^ 1

    def ite(self, condition: Literal, then: Literal, otherwise: Literal) -> Literal:
        """Return the literal for `then` if `condition` holds, else `otherwise`."""
        if then == otherwise:
            return then
        return self.disj((self.both(condition, then), self.both(condition ^ 1, otherwise)))


class Translation:
    """The translation of formulas to literals of a graph. Equal formulas are translated once."""

    def __init__(self, graph: AndInverterGraph, variables: Iterable[tuple[Formula, Literal]]) -> None:
        """Take the literals of the variables that the formulas may have."""
        self._graph = graph
        self._kept: list[Formula] = []  # keys are valid while a term lives
        self._known: dict[int, Literal] = {}
        for variable, literal in variables:
            self._keep(variable, literal)

    def __call__(self, formula: Formula) -> Literal:
        """Return the literal of a formula. Raises KeyError if it has a variable without a literal."""
        waiting = [formula]
        while waiting:
            newest = waiting[-1]
            below = [] if key(newest) in self._known else operands(newest)
            missing = [operand for operand in below if key(operand) not in self._known]
            if missing:
                waiting += missing
            else:
                if key(newest) not in self._known:
                    self._keep(newest, self._gate(newest, [self._known[key(o)] for o in below]))
                waiting.pop()
        return self._known[key(formula)]

    def _keep(self, formula: Formula, literal: Literal) -> None:
        self._kept.append(formula)
        self._known[key(formula)] = literal

    def _gate(self, formula: Formula, below: list[Literal]) -> Literal:
        match connective(formula):
            case Connective.VARIABLE:
                raise KeyError(f"{formula}: a variable without a literal")
            case Connective.TRUE:
                return TRUE
            case Connective.FALSE:
                return FALSE
            case Connective.NOT:
                return below[0] ^ 1
            case Connective.AND:
                return self._graph.conj(below)
            case Connective.OR:
                return self._graph.disj(below)
            case Connective.ITE:
                return self._graph.ite(*below)
            case Connective.IFF:
                return self._graph.ite(below[0], below[1], below[1] ^ 1)
            case other:
                assert_never(other)
