"""A forward search for an execution with given events, on plain values.

A node is the position in the log of each process, the state, the values found for names of the log, and
whether the property was false on the way. The search visits first the nodes that are nearest to the end of
the log, and of these the one that it found last. It decides a loss when an action reads it. If no node is
left, no execution has these events.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from fencepost.encoding.concrete.badly_defined import BadlyDefined
from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.concrete.steps import UNDECIDED, Beginning, State, Step
from fencepost.encoding.errors import BadInput, did_you_mean, unknown_name
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.patterns import plain_index
from fencepost.encoding.language.sorts import Sort, Value, show
from fencepost.encoding.language.state import Variable
from fencepost.encoding.language.system import Observed
from fencepost.encoding.language.terms import lift
from fencepost.encoding.language.traces import Json, plain, shown_name
from fencepost.encoding.logs.events import Event, Log
from fencepost.encoding.logs.matching import Names, is_name, means, same, united, valued

Node = tuple[tuple[int, ...], State, Names, bool]


class _Undecided(Exception):
    """A loss that an action reads, and that is not decided. Its argument is the place."""


OFTEN = 256
"""The number of nodes after which the search looks at the clock."""


@dataclass(frozen=True)
class Move:
    """A step of an execution, with the event that it is; None for a silent step."""

    action: GroundAction
    event: Event | None


@dataclass(frozen=True)
class LogSearchEnd:
    """The end of a search: an execution, or none, or a limit that was reached."""

    moves: tuple[Move, ...] | None
    """The execution; None if there is none, or if a limit was reached."""
    nodes: int
    is_complete: bool
    """Whether an execution was found, or all nodes were visited and each step of them was taken."""
    positions: tuple[int, ...]
    """The positions of the node that was nearest to the end."""
    lost: tuple[str, ...] = ()
    """The choices that are true in the execution."""
    beginning: Beginning = ()
    names: Names = ()
    left_out: str | None = None
    """A step that was not taken because it leaves a domain of the instance, in words."""


class LogSearch:
    """Searches of one system for executions with the events of a log, or of a changed log."""

    def __init__(
        self,
        replayer: Replayer,
        events: Sequence[Event],
        silent: Collection[str] = (),
        logged: Collection[str] = (),
        observed: Mapping[str, Observed] = MappingProxyType({}),
        until: float = float("inf"),
    ) -> None:
        """Prepare the search. Actions that no event names leave no line, and those `silent` may leave none.

        Those that are `logged` leave a line each time. `observed` has terms that lines may name like state
        variables. Searches end at the time `until` of `time.monotonic`. Raises BadInput for an action, a
        state variable or a value that does not exist.
        """
        concrete = replayer.concrete
        valid = [schema.name for schema in concrete.system.schemas]
        for name in (*silent, *logged):
            if name not in valid:
                raise unknown_name(name, "action", valid)
        self.concrete, self.observed = concrete, observed
        self._replayer, self._until = replayer, until
        loud = {*logged, *(event.action for event in events)} - set(silent)
        processes = {event.process for event in events} - {""}
        actors = {show(actor) for step in concrete.steps if (actor := _actor(step)) is not None}
        self._only = frozenset(processes) if processes and processes <= actors else None
        """The processes that have a log, if all of them are actors of the protocol."""
        self.sorts: dict[str, dict[str, list[Sort]]] = {name: {} for name in valid}
        """The sorts of each argument: several actions may have one name."""
        for schema in concrete.system.schemas:
            for parameter in schema.parameters:
                self.sorts[schema.name].setdefault(parameter.symbol, []).append(parameter.sort)
        for event in events:
            self._validate(event)
        self._candidates: dict[Event, list[tuple[Step, Names]]] = {}
        self._left_out: str | None = None
        self._hidden = [step for step in concrete.steps if self._is_silent(step, loud)]

    def find(
        self,
        logs: Sequence[Log],
        freed: Collection[Event] = (),
        most: int = 10**9,
        violated: Callable[[State], bool] | None = None,
        wanted: bool = False,
    ) -> LogSearchEnd:
        """Search for an execution with these events among at most so many nodes; it ends with the last event.

        The actions of events that are `freed` may happen anywhere, or never. With `violated` the execution
        must make the property false on its way, if that is `wanted`, or never.
        """
        free = [step for event in freed for step, _ in self._of(event)]
        hidden = list(dict.fromkeys([*self._hidden, *free]))
        end = tuple(map(len, logs))
        times = [_latest_before(log) for log in logs]
        counter = itertools.count()
        parents: dict[Node, tuple[Node | None, Move | None]] = {}
        heap: list[tuple[int, int, int, Node]] = []
        best = (0,) * len(logs)
        self._left_out = None

        def enter(node: Node, parent: Node | None, move: Move | None, depth: int) -> None:
            if node in parents:
                return
            if violated is not None and not node[3] and violated(node[1]):
                if not wanted:
                    return
                node = (*node[:3], True)
            if node not in parents:
                parents[node] = parent, move
                heapq.heappush(heap, (sum(end) - sum(node[0]), depth, -next(counter), node))

        for first in Beginnings(self.concrete).states():
            enter(((0,) * len(logs), first, (), False), None, None, 0)
        while heap:
            _, depth, _, node = heapq.heappop(heap)
            if sum(node[0]) > sum(best):
                best = node[0]
            if node[0] == end and node[3] == wanted:
                return self._found(node, parents, best)
            if len(parents) >= most or (not len(parents) % OFTEN and time.monotonic() > self._until):
                return LogSearchEnd(None, len(parents), False, best)
            for move, after in self._steps(logs, times, hidden, node) if node[0] != end else ():
                enter(after, node, move, depth + 1)
        left_out = self._left_out
        return LogSearchEnd(None, len(parents), left_out is None, best, left_out=left_out)

    def _after(self, step: Step, state: State) -> Iterator[State]:
        """Yield the states after the action. A step that leaves a domain of the instance is noted."""
        try:
            yield from self.successors(step, state)
        except BadlyDefined as error:
            self._left_out = str(error)

    def successors(self, step: Step, state: State) -> Iterator[State]:
        """Yield the states after the action. Only losses that it reads there are decided.

        `Step.successors` decides all losses that the action names, and the counts of enumeration are made
        with it. A search with silent steps would not end so: a log of 67 lines of a ledger takes 76 nodes,
        and more than 390,000 if all losses that an action names are decided.
        """
        if not step.choices or not step.possible(state):
            yield from step.successors(state)
            return
        waiting = [state]
        while waiting:
            chosen = self._watched(waiting.pop())
            try:
                if step.enabled(chosen):
                    yield step.after(chosen)
            except _Undecided as read:
                place = read.args[0]
                waiting += (type(state)((*chosen[:place], value, *chosen[place + 1 :])) for value in (1, 0))

    @cached_property
    def _watched(self) -> Callable[[State], State]:
        """A function that returns a state in which nobody can read a loss that is not decided."""
        choices = frozenset(variable.place for variable in self.concrete.system.choices)
        kind: Any = bytes if self.concrete.is_small else tuple

        class Watched(kind):  # type: ignore[misc]
            def __getitem__(self, place: Any) -> Any:
                value = kind.__getitem__(self, place)
                if value == UNDECIDED and place in choices:
                    raise _Undecided(place)
                return value

        return Watched

    def _steps(
        self, logs: Sequence[Log], times: Sequence[Sequence[float]], hidden: Sequence[Step], node: Node
    ) -> Iterator[tuple[Move | None, Node]]:
        """Yield each step from a node: the next event of a process, or a silent action."""
        positions, state, names, violates = node
        for number, log in enumerate(logs):
            if positions[number] == len(log):
                continue
            event = log[positions[number]]
            others = (
                own[at] for i, (own, at) in enumerate(zip(times, positions, strict=True)) if i != number
            )
            if any(latest < event.earliest for latest in others):
                continue
            further = (*positions[:number], positions[number] + 1, *positions[number + 1 :])
            for move, after, known in self._ways(event, state, names):
                yield move, (further, after, known, violates)
        for step in hidden:
            for after in self._after(step, state):
                if after != state:
                    yield Move(step.action, None), (positions, after, names, violates)

    def _ways(self, event: Event, state: State, names: Names) -> Iterator[tuple[Move | None, State, Names]]:
        """Yield each way in which the event may happen, or may not have happened."""
        if event.maybe or (not event.action and self._has(event.after, state)):
            yield None, state, names
        if not event.action or not self._has(event.before, state):
            return
        for step, own in self._of(event):
            known = united(names, own)
            if known is None or not self._is_actor(step.action, event.process, state):
                continue
            for after in self._after(step, state):
                if self._has(event.after, after):
                    yield Move(step.action, event), after, known

    def _found(
        self, node: Node, parents: Mapping[Node, tuple[Node | None, Move | None]], best: tuple[int, ...]
    ) -> LogSearchEnd:
        moves, here = list[Move](), node
        while (parent := parents[here][0]) is not None:
            move = parents[here][1]
            if move is not None:
                moves.append(move)
            here = parent
        system = self.concrete.system
        lost = tuple(v.name for v in system.choices if node[1][v.place] == 1)
        beginning = [here[1][v.place] for v in system.varied]
        return LogSearchEnd(tuple(reversed(moves)), len(parents), True, best, lost, beginning, node[2])

    def _is_silent(self, step: Step, loud: Collection[str]) -> bool:
        """Return whether the action may happen without a line."""
        name, actor = step.action.schema.name, _actor(step)
        has_no_log = self._only is not None and actor is not None and show(actor) not in self._only
        return name not in loud or has_no_log

    def _validate(self, event: Event) -> None:
        """Raise BadInput for a variable that does not exist, and for a value that no argument can have."""
        for name in (*event.before, *event.after):
            if name not in self.variables and name not in self.observed:
                raise BadInput(
                    f"{event.where}: {name}: no such state variable{did_you_mean(name, self.variables)}"
                )
        for symbol, value in event.arguments.items():
            sorts = self.sorts[event.action].get(symbol, ())
            if sorts and not any(is_name(value, sort) or valued(value, sort) for sort in sorts):
                listed = [show(v) for sort in sorts for v in sort]
                raise BadInput(
                    f"{event.where}: {symbol} = {value!r}: not a value of {event.action}; "
                    f"valid: {listed[0]} to {listed[-1]}"
                )

    def _of(self, event: Event) -> list[tuple[Step, Names]]:
        """Return the actions that the event may be, each with the values of names that it then means."""
        if event not in self._candidates:
            found = []
            for step in self.concrete.steps_of.get(event.action, ()):
                named = means(event, step.action, self.sorts[event.action])
                if named is not None:
                    found.append((step, named))
            self._candidates[event] = found
        return self._candidates[event]

    def _is_actor(self, action: GroundAction, process: str, state: State) -> bool:
        """Return whether the process acts. A process that is no actor of the protocol may be any."""
        if self._only is None or not process:
            return True
        actor = lift(action.schema.action.actor)
        return show(self.concrete.evaluate(actor, action.environment, state)) == process

    def fits(self, event: Event, before: State, after: State) -> bool:
        """Return whether the state variables have the values that the event tells."""
        return self._has(event.before, before) and self._has(event.after, after)

    def _has(self, told: Mapping[str, Json], state: State) -> bool:
        """Return whether the state variables have these values, as traces show them."""
        own = ((value, self.shown(name, state)) for name, value in told.items())
        return all(shown is not None and same(value, shown) for value, shown in own)

    def shown(self, name: str, state: State) -> Json | None:
        """Return the value of a state variable as a trace shows it; None if it is not known."""
        if name in self.observed:
            value, known = self.observed[name]
            is_known = self.concrete.evaluate(known, {}, state)
            return plain(self.concrete.evaluate(value, {}, state)) if is_known else None
        return self._replayer.values(state, self.variables[name])[name]

    @cached_property
    def variables(self) -> Mapping[str, list[Variable]]:
        """The state variables by the names that traces show; a set or a sequence is one."""
        found: dict[str, list[Variable]] = {}
        for variable in self.concrete.system.variables:
            if not variable.is_choice:
                found.setdefault(shown_name(variable.family, variable.index), []).append(variable)
        return found


def _actor(step: Step) -> Value | None:
    """Return the actor of an action, or None if it depends on the state."""
    found = plain_index(lift(step.action.schema.action.actor), step.action.environment)
    return found[0] if found else None


def _latest_before(log: Log) -> list[float]:
    """Return for each position the earliest `latest` of the events from there on."""
    times = (event.latest for event in reversed(log))
    return list(itertools.accumulate(times, min, initial=float("inf")))[::-1]
