"""Monitored systems: a property of liveness as a property about states, which every engine can check.

A monitored system has the states and steps of the protocol, and a few variables that watch them. It has each
action once for each of its arguments, under the same name, and only where it changes something. A variable of
the monitor reads the state before a step. So `owed` says whether the property was owed before the last step,
and `Monitor.owed` adds the present state.

There are three of them:

- `rests`: no state owes the property without a fair action enabled. Where every execution ends, this is all.
- `within`: while the property is owed, at most so many rounds of fairness are completed. A fair set has a
  mark, set when it is taken, or when it is weakly fair and not enabled. A strongly fair set may instead swear
  that it is never enabled again, and then no step happens that breaks the oath. When all marks are set, a
  round is complete, and they are cleared. Each fair execution that owes the property for ever completes
  round after round. So a largest number of rounds excludes it.
- `loops`: the monitor saves a state that owes the property, and looks for the same state again. On the way
  each fair set must be taken; or be disabled once, if it is weakly fair; or never be enabled, if strongly.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from fencepost.encoding.engine.verdicts import LiveBasis
from fencepost.encoding.language.actions import Action, GroundAction, Schema
from fencepost.encoding.language.fairness import Fair, changes
from fencepost.encoding.language.fold import Folding
from fencepost.encoding.language.patterns import replaced
from fencepost.encoding.language.sorts import BOOL, Sort, integers
from fencepost.encoding.language.state import StateSpace
from fencepost.encoding.language.system import Liveness, Property, System
from fencepost.encoding.language.terms import (
    TRUE,
    Constant,
    Family,
    Read,
    Term,
    Update,
    all_of,
    any_of,
    lift,
)
from fencepost.encoding.language.traces import Subject

SAVE = "the loop begins here"
"""The action that saves the state."""

STANDS = "nothing happens"
"""The step that changes nothing but the variables of the monitor."""

HELD = Fair("false", (), is_strong=False)
"""The set of no actions that stands for a condition that must be true for ever: enabled while it is true.

A loop is fair to this set only if the condition is false in it.
"""

END = "this goes on for ever"
"""The step that says that the property is refuted."""

MONITOR = "monitor"
"""The actor of these steps, and the first part of the names of the monitor's variables."""


@dataclass(frozen=True)
class Monitored:
    """A monitored system with its one property about states."""

    system: System
    subject: Subject

    @property
    def claim(self) -> Property:
        """The property about states that stands for the property of liveness."""
        return self.system.properties[0]


class MonitoredState(StateSpace):
    """The state of a protocol, to which the variables of a monitor are added one by one."""

    def __init__(self, of: StateSpace) -> None:
        """Declare the variables of the protocol."""
        for declared in of.families:
            self._declare(declared.name, declared)

    def add(self, name: str, domain: Sort = BOOL, is_true: bool = False) -> Read:
        """Declare a variable of the monitor, and return the term that reads it."""
        added = Family(domain, (), True if is_true else None, None)
        self._declare(f"{MONITOR}/{name}", added)
        return added[()]


class Monitor:
    """What all monitors of a property share: its state, and the terms over it."""

    def __init__(self, of: System, prop: Liveness) -> None:
        """Declare the variable that remembers what is owed."""
        self.of, self.prop, self.state = of, prop, MonitoredState(of.state)
        self._fold = Folding({}).term
        self._was_owed = self.state.add("owed", is_true=prop.at_first)
        since = self._was_owed if prop.at_first else any_of(self._was_owed, prop.witness)
        self.owed = all_of(since, ~prop.met)
        """The condition that the property is owed in this state."""
        self.enabled = {fair: any_of([self._guard(a) for a in fair.actions]) for fair in of.fairness}
        """For each fair set the condition that one of its actions would change something, with `HELD`."""
        if prop.for_ever:
            self.enabled[HELD] = prop.holds

    def _guard(self, action: GroundAction) -> Term:
        """Return the condition under which the action happens and changes something."""
        return self._own(action, all_of(action.schema.action.when, changes(action.schema)))

    def _own(self, action: GroundAction, term: Term) -> Term:
        """Return a term of the action with its arguments in place of its parameters."""
        pairs = zip(action.schema.parameters, action.arguments, strict=True)
        return self._fold(replaced(term, {p: Constant(p.type, value) for p, value in pairs}))

    def step(self, action: GroundAction, guard: Term, updates: Sequence[Update]) -> Schema:
        """Return the action of the protocol with a further guard, and with updates of the monitor."""
        own = [
            Update(target, self._own(action, update.value), self._own(action, update.when))
            for update in action.schema.action.then
            if isinstance(target := self._own(action, update.target), Read)
        ]
        return _schema(
            action.name,
            all_of(self._guard(action), guard),
            [*own, self._was_owed.set(self.owed), *updates],
            action.schema.action.fault,
        )

    def own_step(self, name: str, guard: Term, updates: Sequence[Update]) -> Schema:
        """Return a step of the monitor, in which the protocol stands still."""
        return _schema(name, guard, [self._was_owed.set(self.owed), *updates], None)

    def monitored(self, subject: Subject, refuted: Term, steps: Iterator[Schema]) -> Monitored:
        """Return the system with these actions, and with the property that `refuted` never holds.

        A last step says that it holds. The condition may read choices, and a property about states may not.
        """
        known = self.state.add("refuted")
        prop = Property(
            self.prop.name, self.prop.meaning, ~known, self.prop.witness, self.prop.witness_meaning
        )
        actions = (*steps, self.own_step(END, all_of(refuted, ~known), [known.set(True)]))
        own = replace(self.of, state=self.state, actions=actions, properties=(prop,), liveness=())
        return Monitored(own, subject)


def _schema(name: str, guard: Term, updates: Sequence[Update], fault: str | None) -> Schema:
    return Schema(name, "", (), Action(guard, updates, MONITOR, fault=fault))


def monitored(
    system: System,
    subject: Subject,
    prop: Liveness,
    by: LiveBasis,
    rounds: int | None,
    budgets: Collection[str],
) -> Monitored:
    """Return the monitored system that a proof of the property by `by` is about.

    `rounds` is the largest number of rounds of fairness, and None for the other kinds.
    """
    if rounds is not None:
        return within(system, subject, prop, rounds)
    return loops(system, subject, prop, budgets) if by is LiveBasis.LOOPS else rests(system, subject, prop)


def rests(system: System, subject: Subject, prop: Liveness) -> Monitored:
    """Return the system in which no state may owe the property without a fair action enabled."""
    monitor = Monitor(system, prop)
    stuck = all_of([monitor.owed, *(~enabled for enabled in monitor.enabled.values())])
    steps = (monitor.step(action, TRUE, []) for action in system.ground_actions)
    return monitor.monitored(subject, stuck, steps)


def within(system: System, subject: Subject, prop: Liveness, most: int) -> Monitored:
    """Return the system in which at most so many rounds of fairness may be completed."""
    monitor = Monitor(system, prop)
    state, owed, enabled = monitor.state, monitor.owed, monitor.enabled
    marks = {fair: state.add(f"mark {fair.name}") for fair in enabled}
    sworn = {fair: state.add(f"sworn {fair.name}") for fair in system.fairness if fair.is_strong}
    rounds = state.add("rounds", integers(0, most + 1))
    kept = all_of([TRUE, *(~oath | ~enabled[fair] for fair, oath in sworn.items())])

    def updates(taken: Collection[Fair]) -> list[Update]:
        """Return the updates of the monitor in a step that these fair sets take."""
        new = {
            fair: TRUE if fair in taken else any_of(mark, sworn[fair] if fair.is_strong else ~enabled[fair])
            for fair, mark in marks.items()
        }
        complete = all_of([TRUE, *(one for one in new.values() if one is not TRUE)])
        more = all_of(owed, complete)
        return [
            *(mark.set(all_of(owed, ~complete, new[fair])) for fair, mark in marks.items()),
            *(oath.set(False, when=~owed) for oath in sworn.values()),
            rounds.set(0, when=~owed),
            rounds.set(rounds + 1, when=all_of(more, rounds < most + 1)),
        ]

    def actions() -> Iterator[Schema]:
        for action in system.ground_actions:
            taken = [fair for fair in system.fairness if action in fair.actions]
            yield monitor.step(action, kept, updates(taken))
        yield monitor.own_step(STANDS, kept, updates(()))
        for fair, oath in sworn.items():
            yield monitor.own_step(f"swear {fair.name}", all_of(owed, ~oath), [oath.set(True)])

    return monitor.monitored(subject, rounds > most, actions())


def loops(system: System, subject: Subject, prop: Liveness, budgets: Collection[str]) -> Monitored:
    """Return the system in which no fair loop may be closed. Faults with a budget are before the loop."""
    monitor = Monitor(system, prop)
    state, owed, enabled = monitor.state, monitor.owed, monitor.enabled
    saved = state.add("saved")
    written = {update.target.family for schema in system.schemas for update in schema.action.then}
    copies = {
        v: state.add(f"saved {v.name}", v.domain)
        for v in system.variables
        if v.family in written and not v.is_choice
    }
    reads = {v: Read(v.domain.type, v.family, tuple(map(lift, v.index))) for v in copies}
    marks = {fair: state.add(f"mark {fair.name}") for fair in enabled}
    met = {fair: state.add(f"met {fair.name}") for fair in system.fairness if fair.is_strong}

    def updates(taken: Collection[Fair]) -> list[Update]:
        """Return the updates of the monitor in a step that these fair sets take."""
        marked = (
            mark.set(True, when=saved if fair in taken or fair.is_strong else all_of(saved, ~enabled[fair]))
            for fair, mark in marks.items()
            if fair in taken or not fair.is_strong
        )
        return [*marked, *(own.set(True, when=all_of(saved, enabled[fair])) for fair, own in met.items())]

    def is_fair(fair: Fair) -> Term:
        """Return the condition that the loop up to this state is fair to the set."""
        if fair.is_strong:
            return any_of(marks[fair], all_of(~met[fair], ~enabled[fair]))
        return any_of(marks[fair], ~enabled[fair])

    def actions() -> Iterator[Schema]:
        goes_on = any_of(~saved, owed)
        for action in system.ground_actions:
            taken = [fair for fair in system.fairness if action in fair.actions]
            once = ~saved if action.schema.action.fault in budgets else TRUE
            yield monitor.step(action, all_of(goes_on, once), updates(taken))
        copied = [copy.set(reads[v]) for v, copy in copies.items()]
        yield monitor.own_step(SAVE, all_of(owed, ~saved), [saved.set(True), *copied])

    same = [reads[v] == copy for v, copy in copies.items()]
    closed = all_of([saved, owed, *same, *map(is_fair, enabled)])
    return monitor.monitored(subject, closed, actions())
