"""The reachable states of mutants, on plain values. Successors are computed once and shared by all mutants.

A mutant changes one action, so in each state only the steps of this action are computed for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.simulation import true_choices
from fencepost.encoding.concrete.steps import UNDECIDED, Beginning, State, Step, decided
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.patterns import key
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import lift
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.mutation.mutants import named_actions

Successors = tuple[tuple[int, State], ...]


class Graph:
    """States of the unchanged system with their successors, by the number of the ground action."""

    def __init__(
        self, system: System, known: dict[State, Successors], states: frozenset[State] | None
    ) -> None:
        """Take the successors that are known, and all reachable states, if these are known."""
        self.system, self.known, self.states = system, known, states

    @cached_property
    def concrete(self) -> Concrete:
        """The concrete reading of the unchanged system."""
        return Concrete(self.system)

    @cached_property
    def symbolic(self) -> Symbolic:
        """The symbolic reading of the unchanged system. Raises ModelError."""
        return Symbolic(self.system)

    def after(self, state: State) -> Successors:
        """Return the successors of a state, reachable or not. Raises ModelError."""
        found = self.known.get(state)
        if found is None:
            steps = enumerate(self.concrete.steps)
            found = tuple((n, s) for n, one in steps if one.possible(state) for s in one.successors(state))
            self.known[state] = found
        return found

    def slots(self, action: str) -> dict[int, GroundAction]:
        """Return the ground actions of that name by their number."""
        schema = named_actions(self.system)[action]
        return {n: a for n, a in enumerate(self.system.ground_actions) if a.schema is schema}


def states_within(system: System, most: int) -> Iterator[tuple[dict[State, Successors], bool]]:
    """Yield the states with their successors, and whether these are all: fewer than `most`."""
    graph = Graph(system, {}, None)
    one = {state: state for state in Beginnings(graph.concrete).states()}
    waiting = list(one)
    for state in waiting:
        found = graph.after(state)
        waiting.extend(dict.fromkeys(after for _, after in found if after not in one))
        graph.known[state] = tuple((n, one.setdefault(after, after)) for n, after in found)
        if len(one) >= most:
            break
    yield graph.known, len(one) < most


@dataclass(frozen=True)
class Difference:
    """A step that only one of two systems takes in a state that both reach, and an execution to it."""

    path: Sequence[GroundAction]
    action: GroundAction
    before: State | None
    """The state after it without the change; None if it cannot happen there."""
    after: State | None

    def lines(self, system: System) -> tuple[str, ...]:
        """Return the execution, and the two states side by side."""
        steps = [f"{n}  {action.name}" for n, action in enumerate((*self.path, self.action), 1)]
        before, after = self.before, self.after
        if before is None or after is None:
            when = "without" if before is None else "with"
            return (*steps, f"the last step cannot happen {when} the change")
        for v in system.variables:
            if before[v.place] != after[v.place]:
                old, new = (
                    "open" if s[v.place] == UNDECIDED and v.is_choice else show(v.domain.values[s[v.place]])
                    for s in (before, after)
                )
                steps.append(f"{v.name}: {old} without the change, {new} with it")
        return tuple(steps)


Way = tuple[Sequence[GroundAction], Beginning]
"""The actions that lead to a state, and the beginning of the execution."""


class ChangedSteps:
    """The steps of the changed action without and with the change, compared in states that a mutant reaches.

    `other` is the first step that differs. A step that only the mutant takes must receive what was sent. So
    must the same step once more: an update that is skipped may be the one that marks a message as received.
    """

    def __init__(self, graph: Graph, system: System, action: str, subject: Subject) -> None:
        """Compare nothing yet. `action` is the changed one."""
        self.replayer, self._actions = Replayer(system, subject), system.ground_actions
        self.old = {n: graph.concrete.steps[n] for n in graph.slots(action)}
        self.new = {n: self.replayer.concrete.step(self._actions[n]) for n in self.old}
        actions = (step.action.schema.action for own in (self.old, self.new) for step in own.values())
        guards = {key(lift(action.when)) for action in actions}
        self._has_same_guard = len(guards) <= 1
        receipts = (n for n in self.old if self._actions[n].schema.action.received is not None)
        self._unjudged = {(n, times) for n in receipts for times in (1, 2)}
        self.other: Difference | None = None

    def visit(self, path: Sequence[GroundAction], first: State, state: State) -> None:
        """Compare the steps in a state of a simulation from `first`. Raises ModelError.

        A step that only the mutant takes is noted in place of one that it does not take.
        """
        earlier = self.other
        if earlier is not None and earlier.after is None:
            self.other = None
        before = {n for n, step in self.old.items() if step.possible(state)}
        self.compare(state, before, lambda: (tuple(path), Beginnings(self.replayer.concrete).of(first)))
        self.other = self.other or earlier

    def compare(self, state: State, before: Collection[int], way: Callable[[], Way]) -> Collection[int]:
        """Compare the steps in a state and return the possible ones; `before` has those without the change.

        Raises ModelError for a message that is not under way.
        """
        now = before
        if not self._has_same_guard:
            now = [n for n, step in self.new.items() if step.possible(state)]
        compared = {*before, *now}
        for number in sorted(compared if self.other is None else compared & {n for n, _ in self._unjudged}):
            old, new = self.old[number], self.new[number]
            places = {place for place in (*old.choices, *new.choices) if state[place] == UNDECIDED}
            for chosen in decided(state, sorted(places)):
                one, two = _after(old, chosen), _after(new, chosen)
                if one != two:
                    path, beginning = way()
                    other = Difference(path, self._actions[number], one, two)
                    self.other = self.other or other
                    self._judge(number, chosen, other, beginning)
        return now

    def _judge(self, number: int, state: State, other: Difference, beginning: Beginning) -> None:
        """Replay a step that only the mutant takes. Raises ModelError for a message that is not under way."""
        before, after = other.before, other.after
        if after is None:
            return
        again = _after(self.new[number], after) is not None
        was_again = before is not None and _after(self.old[number], before) is not None
        judged = number, 2 if again else 1
        if judged in self._unjudged and (before is None or (again and not was_again)):
            self._unjudged.discard(judged)
            actions = [*other.path, *judged[1] * [other.action]]
            choices = true_choices(self.replayer.system, state)
            with suppress(NotAnExecution):
                self.replayer.record("receipts", actions, choices, beginning)


def _after(step: Step, state: State) -> State | None:
    return next(step.successors(state), None)


class MutantStates:
    """The reachable states of a mutant, breadth first.

    `violated` has the steps of a replayed counterexample by property, `unreached` the exercised properties
    whose witness is not reached. `new` is the first step to a state that the unchanged system does not reach.
    """

    def __init__(self, graph: Graph, system: System, action: str, subject: Subject) -> None:
        """Visit nothing yet. `action` is the changed one."""
        self._graph, self.changed = graph, ChangedSteps(graph, system, action, subject)
        self.parents: dict[State, tuple[State, int] | None] = {}
        self.violated: dict[str, int] = {}
        self.unreached: dict[str, Callable[[State], bool]] = {}
        self.new: Difference | None = None
        self.is_over = False

    def visit(self, clean: Sequence[str], exercised: Sequence[str], most: int) -> None:
        """Visit states until each property is violated, or `most` are entered. Raises ModelError."""
        concrete, replayer = self._graph.concrete, self.changed.replayer
        actions = replayer.system.ground_actions
        claims = {prop.name: prop for prop in replayer.system.properties}
        holds = {name: concrete.predicate(claims[name].holds) for name in clean}
        self.unreached = {name: concrete.predicate(claims[name].witness) for name in exercised}
        self.parents = dict.fromkeys(Beginnings(concrete).states())
        waiting = list(self.parents)
        for state in waiting:
            for name in [name for name in holds if not holds[name](state)]:
                path, beginning = self._way(state)
                choices = true_choices(replayer.system, state)
                self.violated[name] = len(replayer.replay(claims[name], path, choices, beginning).steps)
                del holds[name]
            for name in [name for name, reached in self.unreached.items() if reached(state)]:
                del self.unreached[name]
            if len(self.parents) >= most or (clean and not holds):
                return
            for number, after in self._after(state):
                if after not in self.parents:
                    self.parents[after] = state, number
                    waiting.append(after)
                    known = self._graph.states
                    if self.new is None and known is not None and after not in known:
                        old = dict(self._graph.after(state)).get(number)
                        self.new = Difference(self._way(state)[0], actions[number], old, after)
        self.is_over = True

    def _after(self, state: State) -> Iterator[tuple[int, State]]:
        own, new = self._graph.after(state), self.changed.new
        before = [n for n in dict(own) if n in new]
        now = self.changed.compare(state, before, lambda: self._way(state))
        yield from (pair for pair in own if pair[0] not in new)
        yield from ((n, after) for n in now for after in new[n].successors(state))

    def _way(self, state: State) -> Way:
        """Return the actions to a state, and its beginning."""
        actions, found = self.changed.replayer.system.ground_actions, list[GroundAction]()
        while (parent := self.parents[state]) is not None:
            found.append(actions[parent[1]])
            state = parent[0]
        return found[::-1], Beginnings(self._graph.concrete).of(state)
