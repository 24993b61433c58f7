"""Repairs of a violated property: strengthenings that rule the violation out and keep every witness.

The cheap questions come first. A conjunct that is true whenever its action happens in a known counterexample
does not rule this one out. Of conjuncts that agree in all states seen only the smallest is asked about. Each
counterexample of a strengthened system is one of the unchanged system too, so it rules out other conjuncts.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum

from fencepost.encoding.check import check
from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.concrete.saved_traces import saved_execution
from fencepost.encoding.concrete.simulation import simulate
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Result, Verdict
from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import TRUE
from fencepost.encoding.language.traces import Subject, Trace
from fencepost.encoding.mutation.strengthenings import Strengthening, Strengthenings
from fencepost.encoding.mutation.weakening import SIMULATIONS, ChangedInstance

EACH = 15.0
"""The most seconds of one question about one change."""
MORE = 2
"""If there is no proof, executions of so many steps more than the counterexample are searched."""
HAPPENS = "the-changed-action-happens"
"""The name of the property whose witness is the changed action."""
FEW = 20
"""The executions that are kept for each witness."""
MOST_STEPS = 400
"""The steps of simulations in which the changes of one action are compared."""


class Tried(StrEnum):
    """The result for a change."""

    REPAIR = "rule the bug out"
    TRACE = "leave the counterexample possible"
    LIKE = "agree with one that was asked about, in all states seen"
    VIOLATED = "leave another violation"
    WITNESS = "lose a witness, or the action never happens"
    OTHER = "violate another property"
    UNDECIDED = "undecided"
    LEFT = "not reached in time"


@dataclass(frozen=True)
class Repair:
    """A change that survived. With `bound` there is no proof, only no violation in so many steps."""

    change: Strengthening
    bound: int | None


Steps = Sequence[tuple[GroundAction, State]]
"""An execution: each action with the state before it."""


@dataclass
class RepairSearch:
    """The search for the repairs of a counterexample. `tried` counts all changes by their results."""

    system: System
    subject: Subject
    trace: Trace
    limits: Limits
    tried: Counter[Tried] = field(default_factory=Counter)
    found: list[Repair] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Take the counterexample."""
        self._until = time.perf_counter() + self.limits.timeout - self.limits.gone
        self._replayer = Replayer(self.system, self.subject)
        self._bad: list[Steps] = [[], self._steps(self.trace)]
        self._base: dict[str, Result] = {}
        self._seen: dict[Strengthening, list[tuple[bool, ...]]] = {}
        self._witnessing: dict[str, list[Steps]] = {prop.name: [] for prop in self.system.properties}

    def run(self, tell: Callable[[str], None] = lambda text: None) -> None:
        """Try the changes of the actions in the counterexample, while there is time."""
        left, asked = self._changes(), list[Strengthening]()
        while True:
            known = set(map(self._told_apart, asked))
            one = next((one for one in left if self._told_apart(one) not in known), None)
            if one is None or time.perf_counter() > self._until:
                break
            self.tried[Tried.LEFT] = len(left)
            tell(f"{len(asked)} changes asked about, {len(self.found)} found")
            left.remove(one)
            asked.append(one)
            tried = Tried.UNDECIDED
            with suppress(ModelError):  # the conjunct is badly defined in some state
                tried = self._asked(one)
            self.tried[tried] += 1
        del self.tried[Tried.LEFT]
        for one in left:
            self.tried[Tried.LIKE if self._told_apart(one) in known else Tried.LEFT] += 1

    def _told_apart(self, one: Strengthening) -> Hashable:
        """Return where a conjunct is true in the states seen, those of new counterexamples included."""
        row = self._seen[one]
        row += [self._truths(one, steps) for steps in self._bad[len(row) :]]
        return one.schema, *row

    def _steps(self, trace: Trace) -> Steps:
        actions, choices, beginning = saved_execution(trace.to_json(), self.system)
        return list(zip(actions, self._replayer.follow(actions, choices, beginning), strict=False))

    def _truths(self, one: Strengthening, steps: Steps) -> tuple[bool, ...]:
        """Return whether the conjunct is true at each step of its action; false if it is badly defined."""
        evaluate, found = self._replayer.concrete.evaluate, list[bool]()
        for action, state in steps:
            if action.schema is one.schema:
                found.append(False)
                with suppress(ModelError):
                    found[-1] = bool(evaluate(one.added, action.environment, state))
        return tuple(found)

    def _keeps(self, one: Strengthening, steps: Steps) -> bool:
        """Return whether an execution remains possible."""
        return all(self._truths(one, steps))

    def _changes(self) -> list[Strengthening]:
        """Return the changes that may help: first those that keep a known witness, the smallest first."""
        made, seen, steps = Strengthenings(self.system), list[tuple[GroundAction, State]](), list[State]()
        run: list[object] = []
        reached = {p.name: self._replayer.concrete.predicate(p.witness) for p in self.system.properties}

        def visit(path: Sequence[GroundAction], first: State, state: State) -> None:
            if run and run[0] is path:
                seen.append((path[-1], steps[-1]))
                steps.append(state)
            else:
                run[:], steps[:] = [path], [state]
            if len(steps) == len(path) + 1:  # the execution from its beginning
                for name, own in self._witnessing.items():
                    if len(own) < FEW and reached[name](state):
                        own.append(list(zip(path, steps, strict=False)))

        asked = [prop for prop in self.system.properties if prop.name == self.trace.property]
        simulate(self.system, self.subject, asked, SIMULATIONS, seed=1, visit=visit)
        found: list[tuple[bool, int, Strengthening]] = []
        for schema in dict.fromkeys(a.schema for a, _ in self._bad[1] if a.schema.action.fault is None):
            self._bad[0] = [(action, state) for action, state in seen if action.schema is schema][:MOST_STEPS]
            for one in made.of(schema):
                self._seen[one] = [self._truths(one, steps) for steps in self._bad]
                if all(self._seen[one][1]):
                    self.tried[Tried.TRACE] += 1
                else:
                    lost = not any(self._keeps(one, s) for s in self._witnessing[self.trace.property])
                    found.append((lost, one.size, one))
        return [one for _, _, one in sorted(found, key=lambda row: row[:2])]

    def _asked(self, one: Strengthening) -> Tried:
        """Return what the engines say of a change. A repair is also noted."""
        if any(self._keeps(one, steps) for steps in self._bad[1:]):
            return Tried.VIOLATED
        system, bound, name = one.of(self.system), None, self.trace.property
        target = [prop for prop in system.properties if prop.name == name]
        result = self._check(system, target)[0]
        if result.verdict is Verdict.UNDECIDED:
            bound = len(self.trace.steps) + MORE
            result = self._check(system, target, bound)[0]
        if result.trace is not None:
            self._bad.append(self._steps(result.trace))
            return Tried.VIOLATED
        if result.verdict not in (Verdict.PROVED, Verdict.HOLDS):
            return Tried.WITNESS if result.verdict is Verdict.VACUOUS else Tried.UNDECIDED
        tried = self._others(one, system)
        if tried is Tried.REPAIR:
            self.found.append(Repair(one, bound))
        return tried

    def _others(self, one: Strengthening, system: System) -> Tried:
        """Return whether the change keeps all other witnesses and properties, and the action itself.

        It makes executions fewer. So it can only violate properties that speak of its guard.
        """
        happens = Property(HAPPENS, "nothing", TRUE, one.changed.could_happen(), "the action happens")
        asked = [happens]
        for old, new in zip(self.system.properties, system.properties, strict=True):
            is_kept = any(self._keeps(one, steps) for steps in self._witnessing[new.name])
            if new.name != self.trace.property and not (is_kept and new.holds is old.holds):
                asked.append(new if new.holds is not old.holds else replace(new, holds=TRUE))
        for result in self._check(replace(system, properties=tuple(asked)), asked):
            if result.verdict in (Verdict.PROVED, Verdict.HOLDS):
                continue
            base = None if result.property == happens.name else self._before(result.property).verdict
            if base is result.verdict is not Verdict.UNDECIDED:
                continue
            said = {Verdict.VIOLATED: Tried.OTHER, Verdict.VACUOUS: Tried.WITNESS}
            return said.get(result.verdict, Tried.UNDECIDED)
        return Tried.REPAIR

    def _before(self, name: str) -> Result:
        """Return the result for a property without a change."""
        if name not in self._base:
            own = [prop for prop in self.system.properties if prop.name == name]
            self._base[name] = self._check(self.system, own)[0]
        return self._base[name]

    def _check(
        self, system: System, properties: Sequence[Property], bound: int | None = None
    ) -> tuple[Result, ...]:
        seconds = min(EACH, max(self._until - time.perf_counter(), 1.0))
        limits = replace(self.limits, timeout=seconds, gone=0.0, bound=bound)
        outcome = check(ChangedInstance(system, self.subject), properties, limits)
        if outcome.interrupted:
            raise KeyboardInterrupt
        return outcome.results
