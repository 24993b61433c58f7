"""The reachable states of mutants, on plain values. Successors are computed once and shared by all mutants.

A mutant changes one action, so in each state only the steps of this action are computed for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.simulation import true_choices
from fencepost.encoding.concrete.steps import UNDECIDED, State, Step, decided
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.system import System
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.mutation.mutants import named_actions

Successors = tuple[tuple[int, State], ...]
Way = tuple[Sequence[GroundAction], State]
"""The actions that lead to a state, and the first state."""


@dataclass
class Graph:
    """States of the unchanged system with their successors, by the number of the ground action."""

    system: System
    known: dict[State, Successors] = field(default_factory=dict)
    states: frozenset[State] | None = None
    """All reachable states; None if these are not known."""

    @cached_property
    def concrete(self) -> Concrete:
        """The concrete reading of the unchanged system."""
        return Concrete(self.system)

    def after(self, state: State) -> Successors:
        """Return the successors of a state, reachable or not. Raises ModelError."""
        if state not in self.known:
            steps = enumerate(self.concrete.steps)
            found = ((n, s) for n, one in steps if one.possible(state) for s in one.successors(state))
            self.known[state] = tuple(found)
        return self.known[state]

    def slots(self, action: str) -> dict[int, GroundAction]:
        """Return the ground actions of that name by their number."""
        schema = named_actions(self.system)[action]
        return {n: a for n, a in enumerate(self.system.ground_actions) if a.schema is schema}


def graph_within(system: System, most: int) -> Iterator[dict[State, Successors]]:
    """Yield all reachable states with their successors, if there are fewer than `most`."""
    graph, one = Graph(system), dict[State, State]()
    one |= {state: state for state in Beginnings(graph.concrete).states()}
    waiting = list(one)
    for state in waiting:
        found = graph.after(state)
        waiting.extend(dict.fromkeys(after for _, after in found if after not in one))
        graph.known[state] = tuple((n, one.setdefault(after, after)) for n, after in found)
        if len(one) >= most:
            return
    yield graph.known


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
        if self.before is None or self.after is None:
            when = "without" if self.before is None else "with"
            return (*steps, f"the last step cannot happen {when} the change")
        for v in system.variables:
            one, two = (
                "open" if s[v.place] == UNDECIDED and v.is_choice else show(v.domain.values[s[v.place]])
                for s in (self.before, self.after)
            )
            if one != two:
                steps.append(f"{v.name}: {one} without the change, {two} with it")
        return tuple(steps)


class ChangedSteps:
    """The steps of the changed action without and with the change, compared in states that a mutant reaches.

    `other` is the first step that differs; one that the mutant takes comes before one that it does not take.
    """

    def __init__(self, graph: Graph, system: System, action: str, subject: Subject) -> None:
        """Compare nothing yet. `action` is the changed one."""
        self.graph, self.system, self._actions = graph, system, system.ground_actions
        self.replayer = Replayer(system, subject)
        self.old = {n: graph.concrete.steps[n] for n in graph.slots(action)}
        self.new = {n: self.replayer.concrete.step(self._actions[n]) for n in self.old}
        receipts = [n for n in self.old if self._actions[n].schema.action.received is not None]
        self._unjudged = {(n, times) for n in receipts for times in (1, 2)}
        self.other: Difference | None = None

    def visit(self, path: Sequence[GroundAction], first: State, state: State) -> None:
        """Compare the steps in a state of a simulation from `first`. Raises ModelError."""
        self.compare(state, lambda: (tuple(path), first))

    def compare(self, state: State, way: Callable[[], Way]) -> set[int]:
        """Compare the steps in a state and return those that are possible with the change.

        Raises ModelError if the mutant receives a message that is not under way.
        """
        before, now = ({n for n, s in steps.items() if s.possible(state)} for steps in (self.old, self.new))
        is_settled = self.other is not None and self.other.after is not None
        unsettled = {n for n, _ in self._unjudged} if is_settled else self.old.keys()
        for number in sorted((before | now) & unsettled):
            old, new = self.old[number], self.new[number]
            places = {place for place in (*old.choices, *new.choices) if state[place] == UNDECIDED}
            for chosen in decided(state, sorted(places)):
                one, two = _after(old, chosen), _after(new, chosen)
                if one != two:
                    if self.other is None or (self.other.after is None and two is not None):
                        self.other = Difference(way()[0], self._actions[number], one, two)
                    is_again = _after(new, two) is not None and _after(old, one) is None
                    self._judge(number, 2 if is_again else int(one is None), chosen, way)
        return now

    def _judge(self, number: int, times: int, state: State, way: Callable[[], Way]) -> None:
        """Replay a step that only the mutant takes, once more too: it must receive what is under way.

        An update that is skipped may be the one that marks a message as received. Raises ModelError.
        """
        if (number, times) in self._unjudged:
            self._unjudged.discard((number, times))
            path, first = way()
            actions, choices = [*path, *times * [self._actions[number]]], true_choices(self.system, state)
            with suppress(NotAnExecution):
                self.replayer.record("receipts", actions, choices, Beginnings(self.graph.concrete).of(first))


def _after(step: Step, state: State | None) -> State | None:
    return None if state is None else next(step.successors(state), None)


class MutantStates:
    """The reachable states of a mutant, breadth first.

    `violated` has the steps of a replayed counterexample by property, `unreached` the exercised properties
    whose witness is not reached. `new` is the first step to a state that the unchanged system does not reach.
    """

    def __init__(self, changed: ChangedSteps) -> None:
        """Visit nothing yet."""
        self._graph, self.changed = changed.graph, changed
        self._system = changed.system
        self.parents: dict[State, tuple[State, int] | None] = {}
        self.violated: dict[str, int] = {}
        self.unreached: list[str] = []
        self.new: Difference | None = None
        self.is_over = False

    def visit(self, clean: Collection[str], exercised: Sequence[str], most: int) -> None:
        """Visit states until each property is violated, or `most` are entered. Raises ModelError."""
        concrete, claims = self._graph.concrete, {prop.name: prop for prop in self._system.properties}
        holds = {name: concrete.predicate(claims[name].holds) for name in clean}
        reached = {name: concrete.predicate(claims[name].witness) for name in exercised}
        self.unreached = [*exercised]
        self.parents = dict.fromkeys(Beginnings(concrete).states())
        waiting = list(self.parents)
        for state in waiting:
            for name in [name for name in holds if name not in self.violated and not holds[name](state)]:
                path, first = self._way(state)
                choices, beginning = true_choices(self._system, state), Beginnings(concrete).of(first)
                trace = self.changed.replayer.replay(claims[name], path, choices, beginning)
                self.violated[name] = len(trace.steps)
            self.unreached = [name for name in self.unreached if not reached[name](state)]
            if len(self.parents) >= most or (clean and len(self.violated) == len(holds)):
                return
            for number, after in self._after(state):
                if after not in self.parents:
                    self.parents[after] = state, number
                    waiting.append(after)
                    if self.new is None and self._graph.states and after not in self._graph.states:
                        action = self._system.ground_actions[number]
                        old = dict(self._graph.after(state)).get(number)
                        self.new = Difference(self._way(state)[0], action, old, after)
        self.is_over = True

    def _after(self, state: State) -> Iterator[tuple[int, State]]:
        own, new = self._graph.after(state), self.changed.new
        now = self.changed.compare(state, lambda: self._way(state))
        yield from (pair for pair in own if pair[0] not in new)
        yield from ((n, after) for n in sorted(now) for after in new[n].successors(state))

    def _way(self, state: State) -> Way:
        """Return the actions to a state, and the first state."""
        found = list[GroundAction]()
        while (parent := self.parents[state]) is not None:
            found.append(self._system.ground_actions[parent[1]])
            state = parent[0]
        return found[::-1], state
