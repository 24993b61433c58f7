"""Which actions may move left past which: the facts behind the normal form of rounds.

Action b may move left past action a if, from every state in which a and then b can run, b and then a can
run too, with the same result. This is not symmetric. Pairs that touch different variables are settled by
what they read and write; each other pair is put to the solver once, and only `unsat` counts.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import z3

from fencepost.encoding.formulas import Effect, Symbolic
from fencepost.encoding.logic import FALSE, Formula, conj, disj, iff, neg


class Cache:
    """Answers of the solver, kept between runs in one file for each version of z3.

    A key is a hash of everything an answer depends on, so an entry never has to be thrown away. A file
    that cannot be read or written costs time, never a verdict.
    """

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / f"commutation-z3-{z3.get_version_string()}.json" if folder else None
        self.answers: dict[str, bool] = self._load()
        self._known = len(self.answers)

    def _load(self) -> dict[str, bool]:
        try:
            loaded = json.loads(self._path.read_text()) if self._path else {}
        except (OSError, ValueError):
            return {}
        return loaded if isinstance(loaded, dict) else {}

    def save(self) -> None:
        """Write new answers beside those that other runs have added meanwhile."""
        if self._path is None or len(self.answers) == self._known:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._path.parent)
            with os.fdopen(handle, "w") as file:
                json.dump(self._load() | self.answers, file)
            os.replace(temporary, self._path)
            self._known = len(self.answers)
        except OSError:
            pass


def cache_folder() -> Path | None:
    """Where answers are kept: $FENCEPOST_CACHE (empty: nowhere), else the user's cache folder."""
    if "FENCEPOST_CACHE" in os.environ:
        return Path(os.environ["FENCEPOST_CACHE"]) if os.environ["FENCEPOST_CACHE"] else None
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fencepost"


@dataclass
class Commutation:
    """Answers "may b move left past a?" for the ground actions of one system.

    `solver_checked=False` leaves it at read and write sets: more pairs block, nothing is asked.
    """

    symbolic: Symbolic
    cache: Cache = field(default_factory=lambda: Cache(cache_folder()))
    solver_checked: bool = True
    asked: int = 0
    """How many pairs were put to the solver, rather than answered by the cache."""

    def blockers(self) -> list[list[int]]:
        """For each slot b, the slots a that b may not move left past. Every action blocks itself."""
        count = len(self.symbolic.effects)
        table = [[a for a in range(count) if a == b or not self.may_move_left(b, a)] for b in range(count)]
        self.cache.save()
        return table

    def may_move_left(self, b: int, a: int) -> bool:
        """Slot b may move left past slot a."""
        first, second = self.symbolic.effects[a], self.symbolic.effects[b]
        if not _touch(first, second):
            return True
        if not self.solver_checked:
            return False
        key = self._key(a, b)
        if key not in self.cache.answers:
            self.cache.answers[key] = self._ask(a, b)
            self.asked += 1
        return self.cache.answers[key]

    def _ask(self, a: int, b: int) -> bool:
        question = self._counterexample(a, b)
        if question is FALSE:
            return True
        self._solver.push()
        self._solver.add(question)
        answer = self._solver.check()
        self._solver.pop()
        return bool(answer == z3.unsat)

    @cached_property
    def _solver(self) -> z3.Solver:
        return self.symbolic.solver()

    def _counterexample(self, a: int, b: int) -> Formula:
        """A state in which a and then b can run, but not the other way round with the same result."""
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
        """What the later slot's formulas become when the earlier one has fired before it."""
        written, effect = self.symbolic.effects[earlier].after, self.symbolic.effects[later]
        concerned = not written.keys().isdisjoint(effect.reads | effect.after.keys())
        return self.symbolic.past[earlier] if concerned else _unchanged

    def _key(self, a: int, b: int) -> str:
        """A hash of the question, equal for questions that differ only in the names of variables."""
        first, second = self._texts[a], self._texts[b]
        numbers: dict[int, int] = {}
        renamed = [numbers.setdefault(place, len(numbers)) for place in (*first.places, *second.places)]
        sizes = [len(self.symbolic.bits[place]) for place in numbers]
        return hashlib.sha256(repr((first.skeleton, second.skeleton, renamed, sizes)).encode()).hexdigest()

    @cached_property
    def _texts(self) -> list[_Text]:
        return [_text(effect) for effect in self.symbolic.effects]


def _touch(first: Effect, second: Effect) -> bool:
    """One of the two writes what the other reads or writes."""
    return not (
        first.after.keys().isdisjoint(second.reads | second.after.keys())
        and second.after.keys().isdisjoint(first.reads)
    )


def _unchanged(formula: Formula) -> Formula:
    return formula


@dataclass(frozen=True)
class _Text:
    """An effect written out, with the places of the variables that occur in it taken out in order."""

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
