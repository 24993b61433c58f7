"""Commutation of actions: left movers (Lipton 1975), on which the Foata normal form of rounds rests.

Action b is a left mover past action a if, from every state in which a and then b can run, b and then a can
run too, with the same result. The relation is not symmetric. Two actions commute if neither writes a variable
that the other reads or writes. For each other pair the solver is asked once, and only `unsat` counts. This is
a partial-order reduction: of executions that differ only in the order of commuting actions, searching one is
enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from fencepost.encoding.formulas.symbolic import Effect, Symbolic
from fencepost.encoding.solving.answers import Answer, GaveUp, No
from fencepost.encoding.solving.logic import FALSE, Formula, conj, disj, iff, neg
from fencepost.encoding.solving.terms import Terms


@dataclass
class Commutation:
    """The left-mover relation of the ground actions of one system."""

    symbolic: Symbolic
    asked: int = 0
    """The number of pairs that the solver was asked about."""
    undecided: int = 0
    """The number of these on which it gave up. They count as not commuting."""

    def blockers(self) -> list[list[int]]:
        """Return for each slot b the slots a that b may not move left past. Every slot is among its own."""
        count = len(self.symbolic.effects)
        return [[a for a in range(count) if a == b or not self.may_move_left(b, a)] for b in range(count)]

    def may_move_left(self, b: int, a: int) -> bool:
        """Return whether slot b may move left past slot a."""
        if not _touch(self.symbolic.effects[a], self.symbolic.effects[b]):
            return True
        self.asked += 1
        answer = self._ask(a, b)
        self.undecided += isinstance(answer, GaveUp)
        return isinstance(answer, No)

    def _ask(self, a: int, b: int) -> Answer[object]:
        """Return whether some state is a counterexample to moving b left past a."""
        question = self._counterexample(a, b)
        return No() if question is FALSE else self._states.ask(question)

    @cached_property
    def _states(self) -> Terms:
        return self.symbolic.states()

    def _counterexample(self, a: int, b: int) -> Formula:
        """Return the formula of a state in which a then b can run, but not b then a with the same result."""
        first, second = self.symbolic.effects[a], self.symbolic.effects[b]
        past_first, past_second = self._past_of(a, b), self._past_of(b, a)
        same_wrong = iff(
            disj((first.wrong, past_first(second.wrong))), disj((second.wrong, past_second(first.wrong)))
        )
        swapped = [second.guard, past_second(first.guard), same_wrong]
        for place in first.after.keys() | second.after.keys():
            one = map(past_first, second.after[place]) if place in second.after else first.after[place]
            other = map(past_second, first.after[place]) if place in first.after else second.after[place]
            swapped.extend(map(iff, one, other))
        return conj((first.guard, past_first(second.guard), neg(conj(swapped))))

    def _past_of(self, earlier: int, later: int) -> Callable[[Formula], Formula]:
        """Return the substitution that evaluates the later slot's formulas after the earlier slot fired."""
        written, effect = self.symbolic.effects[earlier].after, self.symbolic.effects[later]
        concerned = not written.keys().isdisjoint(effect.reads | effect.after.keys())
        return self.symbolic.past[earlier] if concerned else _unchanged


def _touch(first: Effect, second: Effect) -> bool:
    """Return whether one of the two writes a variable that the other reads or writes."""
    return not (
        first.after.keys().isdisjoint(second.reads | second.after.keys())
        and second.after.keys().isdisjoint(first.reads)
    )


def _unchanged(formula: Formula) -> Formula:
    return formula
