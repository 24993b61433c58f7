"""Commutation of actions: left movers (Lipton 1975), on which the Foata normal form of rounds rests.

Action b is a left mover past action a if, from every state in which a and then b can run, b and then a can
run too, with the same result. The relation is not symmetric. Two actions commute if neither writes a variable
that the other reads or writes. For each other pair the solver is asked once, and only `unsat` counts. This is
a partial-order reduction: of executions that differ only in the order of commuting actions, searching one is
enough.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from fencepost.encoding.formulas.commutation_cache import Cache, cache_folder
from fencepost.encoding.formulas.symbolic import Effect, Symbolic
from fencepost.encoding.solving.answers import Answer, GaveUp, No, Yes
from fencepost.encoding.solving.logic import FALSE, Formula, conj, disj, iff, neg
from fencepost.encoding.solving.terms import Terms


@dataclass
class Commutation:
    """The left-mover relation of the ground actions of one system."""

    symbolic: Symbolic
    cache: Cache = field(default_factory=lambda: Cache(cache_folder()))
    asked: int = 0
    """The number of pairs for which the solver was asked, because the cache had no answer."""
    undecided: int = 0
    """The number of these on which it gave up. They count as not commuting, in this run only."""

    def blockers(self) -> list[list[int]]:
        """Return for each slot b the slots a that b may not move left past. Every slot is among its own."""
        count = len(self.symbolic.effects)
        self.cache.recall(self._keys.values())
        table = [[a for a in range(count) if a == b or not self.may_move_left(b, a)] for b in range(count)]
        self.cache.save()
        return table

    def may_move_left(self, b: int, a: int) -> bool:
        """Return whether slot b may move left past slot a."""
        key = self._keys.get((b, a))
        if key is None:
            return True
        if key not in self.cache.answers:
            self.asked += 1
            match self._ask(a, b):
                case Yes():
                    self.cache.answers[key] = False
                case No():
                    self.cache.answers[key] = True
                case GaveUp():
                    self.undecided += 1
                    return False
        return self.cache.answers[key]

    @cached_property
    def _keys(self) -> dict[tuple[int, int], str]:
        """The keys of the questions for the solver: slots b and a that touch the same variables."""
        effects = list(enumerate(self.symbolic.effects))
        return {
            (b, a): self._key(a, b) for b, second in effects for a, first in effects if _touch(first, second)
        }

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

    def _key(self, a: int, b: int) -> str:
        """Return a hash of the question, equal for questions that differ only in the names of variables.

        Values of a variable that the question does not mention make no difference: all their Booleans may be
        false.
        """
        first, second = self._texts[a], self._texts[b]
        numbers: dict[int, int] = {}
        renamed = [numbers.setdefault(place, len(numbers)) for place in (*first.places, *second.places)]
        return hashlib.sha256(repr((first.skeleton, second.skeleton, renamed)).encode()).hexdigest()

    @cached_property
    def _texts(self) -> list[_Text]:
        return [_text(effect) for effect in self.symbolic.effects]


def _touch(first: Effect, second: Effect) -> bool:
    """Return whether one of the two writes a variable that the other reads or writes."""
    return not (
        first.after.keys().isdisjoint(second.reads | second.after.keys())
        and second.after.keys().isdisjoint(first.reads)
    )


def _unchanged(formula: Formula) -> Formula:
    return formula


@dataclass(frozen=True)
class _Text:
    """An effect as text, with the places of its variables taken out in order."""

    skeleton: str
    places: tuple[int, ...]


def _text(effect: Effect) -> _Text:
    parts = [effect.guard.sexpr(), effect.wrong.sexpr()]
    for place, after in effect.after.items():
        parts.append(f"p{place}.:")
        parts.extend(formula.sexpr() for formula in after)
    text = "\n".join(parts)
    places = tuple(int(place) for place in re.findall(r"p(\d+)\.", text))
    return _Text(re.sub(r"p\d+\.", "@", text), places)
