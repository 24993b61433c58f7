"""The answer to a log: an execution with its events, or none with the reason, and what the log leaves open.

If a line is freed, its action may happen anywhere or never, so no execution goes. The lines that contradict
each other are found by freeing one line after the other. Each question is a search of its own.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from fencepost.encoding.concrete.replay import NotAnExecution, Replayer, needed
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.errors import InternalError, time_out
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.traces import Json, Trace, plain
from fencepost.encoding.logs.events import Event, Log, Logs
from fencepost.encoding.logs.matching import Names, same
from fencepost.encoding.logs.search import LogSearch, LogSearchEnd, Move

CONTROLLED = 200
"""The number of lines up to which each line is changed in turn, to see whether the change is refused."""

SPARE = 1_000
"""The nodes that a search for a changed log may visit beside four times those of the log itself."""


class Fit(StrEnum):
    """Whether an execution has the events of a log."""

    EXECUTION = "execution"
    NONE = "none"
    UNDECIDED = "undecided"


class Share(StrEnum):
    """How many of the executions that fit a log violate a property."""

    NONE = "impossible"
    SOME = "possible"
    ALL = "certain"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class FittingExecution:
    """An execution that fits a log, replayed step by step."""

    trace: Trace
    events: tuple[Event | None, ...]
    """For each step the event that it is, or None for a silent step."""
    names: Names
    """The values found for names of the log."""

    @property
    def lines(self) -> list[str]:
        """For each step the line that it is; an empty text for a silent step."""
        return ["" if event is None else event.where for event in self.events]


@dataclass(frozen=True)
class Refusal:
    """The reason why no execution has the events of a log."""

    ends: tuple[Event, ...] = ()
    """The last event of the shortest prefix of each process that has no execution."""
    core: tuple[Event, ...] = ()
    """Events of these prefixes that contradict each other."""
    is_smallest: bool = False
    """Whether each event of the core is needed for the contradiction, by a search for each."""
    needed: str | None = None
    """The change of one line with which there is an execution; None if none was found."""


@dataclass(frozen=True)
class Violations:
    """How many of the executions that fit violate a property, with an example of each kind."""

    prop: Property
    share: Share
    violating: FittingExecution | None = None
    keeping: FittingExecution | None = None


@dataclass(frozen=True)
class LogAnswer:
    """The answer to a log."""

    fit: Fit
    instance: Instance
    logs: Logs
    execution: FittingExecution | None = None
    refusal: Refusal | None = None
    violations: tuple[Violations, ...] = ()
    silent_lines: tuple[Event, ...] = ()
    """Events of which no change is refused: they carry no information."""
    controlled: int = 0
    """The number of lines that were changed, to see whether a change is refused."""
    nodes: int = 0
    reason: str | None = None
    """Why the search ended early; None if it did not."""
    reached: tuple[Event, ...] = field(default=())
    """The next event of each process where the search came farthest."""


def follow(
    instance: Instance,
    logs: Logs,
    silent: Sequence[str] = (),
    properties: Sequence[Property] = (),
    timeout: float = 300.0,
    logged: Sequence[str] = (),
    explains: Collection[Fit] = tuple(Fit),
    replayer: Replayer | None = None,
) -> LogAnswer:
    """Return whether an execution of the instance has these events, each process's in its own order.

    An action that no line names may happen anywhere, and so may those that are `silent` and those of a
    process without a log. Those that are `logged` have a line each time. The answers that `explains` names
    have the lines that contradict each other, or carry no information. `timeout` counts seconds. A `replayer`
    of the instance serves many logs. Raises BadInput for lines that cannot mean anything.
    """
    replayer = replayer or Replayer(instance.system, instance.subject)
    until = time.monotonic() + timeout
    search = LogSearch(replayer, logs.events, silent, logged, instance.observed, until)
    question = _Question(replayer, search, logs.by_process)
    found = search.find(logs.by_process)
    known = LogAnswer(Fit.UNDECIDED, instance, logs, nodes=found.nodes)
    if not found.is_complete:
        ahead = zip(logs.by_process, found.positions, strict=True)
        reached = tuple(log[at] for log, at in ahead if at < len(log))
        return replace(known, reason=found.left_out or time_out(timeout), reached=reached)
    if found.moves is None:
        refusal = question.refusal(found.nodes) if Fit.NONE in explains else None
        return replace(known, fit=Fit.NONE, refusal=refusal)
    execution = question.execution(found)
    lines = question.uninformative(found.nodes) if Fit.EXECUTION in explains else None
    return replace(
        known,
        fit=Fit.EXECUTION,
        execution=execution,
        violations=tuple(map(question.violations, properties)),
        silent_lines=() if lines is None else lines,
        controlled=0 if lines is None else len(logs.events),
    )


class _Question:
    """One log, and the searches about it and about changes of it."""

    def __init__(self, replayer: Replayer, search: LogSearch, logs: Sequence[Log]) -> None:
        self._replayer, self._concrete, self._search = replayer, replayer.concrete, search
        self._logs = logs

    # An execution.

    def execution(
        self, found: LogSearchEnd, violated: Callable[[State], bool] | None = None
    ) -> FittingExecution:
        """Return the execution that a search found, without silent steps that it does not need, replayed.

        With `violated`, steps stay that keep the property false or true on the way, as the search found it.
        """
        moves = self._shortened(found, violated)
        actions = [move.action for move in moves]
        try:
            trace = self._replayer.record("path", actions, found.lost, found.beginning)
        except NotAnExecution as error:
            raise InternalError(f"the execution of a log does not replay: {error}") from error
        return FittingExecution(trace, tuple(move.event for move in moves), found.names)

    def _shortened(self, found: LogSearchEnd, violated: Callable[[State], bool] | None) -> Sequence[Move]:
        """Return the moves without those silent ones that can be left out one by one."""
        assert found.moves is not None
        outcome = self._outcome(found, found.moves, violated)
        return needed(
            found.moves,
            lambda fewer: self._outcome(found, fewer, violated) is outcome,
            lambda move: move.event is None,
        )

    def _outcome(
        self, found: LogSearchEnd, moves: Sequence[Move], violated: Callable[[State], bool] | None
    ) -> bool | None:
        """Return whether the moves make the property false on their way, or None if they do not fit."""
        try:
            states = self._replayer.follow([move.action for move in moves], found.lost, found.beginning)
        except NotAnExecution:
            return None
        steps = zip(moves, itertools.pairwise(states), strict=True)
        if not all(move.event is None or self._search.fits(move.event, *step) for move, step in steps):
            return None
        return violated is not None and any(map(violated, states))

    def violations(self, prop: Property) -> Violations:
        """Return how many of the executions that fit violate the property, with an example of each kind."""
        violated = self._concrete.predicate(~prop.holds)
        bad = self._search.find(self._logs, violated=violated, wanted=True)
        good = self._search.find(self._logs, violated=violated)
        if not (bad.is_complete and good.is_complete):
            return Violations(prop, Share.UNDECIDED)
        examples = [self.execution(one, violated) if one.moves is not None else None for one in (bad, good)]
        share = Share.NONE if examples[0] is None else Share.ALL if examples[1] is None else Share.SOME
        return Violations(prop, share, *examples)

    # The reason of a refusal.

    def refusal(self, nodes: int) -> Refusal:
        """Return why no execution has the events: short prefixes, and lines that contradict each other."""
        most, required, open_ends = 4 * nodes + SPARE, list(self._logs), set[Event]()
        for number in range(len(required)):
            while log := required[number]:
                shorter = [*required[:number], log[:-1], *required[number + 1 :]]
                if not self._is_refused(shorter, most):
                    break
                required = shorter
        ends = tuple(log[-1] for log in required if log)
        for event in itertools.chain(*required):
            fewer = [tuple(one for one in log if one is not event) for log in required]
            refused = self._is_refused(fewer, most)
            if refused is None:
                open_ends.add(event)
            elif refused:
                required = fewer
        core = tuple(itertools.chain(*required))
        return Refusal(ends, core, not open_ends, next(self._changes(core, most), None))

    def _is_refused(self, required: Sequence[Log], nodes: int) -> bool | None:
        """Return whether no execution has these events, all others freed; None if that is not found out."""
        kept = set(itertools.chain(*required))
        found = self._search.find(required, [e for e in itertools.chain(*self._logs) if e not in kept], nodes)
        return found.moves is None if found.is_complete else None

    def _changes(self, core: Sequence[Event], most: int) -> Iterator[str]:
        """Yield each change of one line of the core with which there is an execution, in words."""
        for event in core:
            for exchanged in self._exchanged(event):
                if self._search.find(exchanged, most=most).moves is not None:
                    yield f"{event.where}: exchanged with the next line there is an execution"
        for event in reversed(core):
            for part, name, value in event.values:
                other = event.changed(part, name, None)
                found = self._search.find(self._with({event: (other,)}), most=most)
                if found.moves is not None and (name in self._search.observed or not event.action):
                    yield f"{event.where}: without {name}={value} there is an execution"
                elif found.moves is not None:
                    told = self._value_in(found, other, part, name)
                    yield f"{event.where}: with {name}={told} instead of {value} there is an execution"
        for event in reversed(core):
            if self._search.find(self._with({event: ()}), most=most).moves is not None:
                yield f"{event.where}: without this line there is an execution"

    def _value_in(self, found: LogSearchEnd, event: Event, part: str, name: str) -> Json:
        """Return the value that an execution has where the event leaves it open."""
        execution = self.execution(found)
        number = next(i for i, own in enumerate(execution.events) if own == event)
        if part == "arguments":
            return execution.trace.steps[number].arguments[name]
        return execution.trace.states[number + (part == "after")][name]

    def _with(self, changed: Mapping[Event, tuple[Event, ...]]) -> list[Log]:
        """Return the logs with other events, or none, in the place of some."""
        return [tuple(one for own in log for one in changed.get(own, (own,))) for log in self._logs]

    # Lines without information.

    def uninformative(self, nodes: int) -> tuple[Event, ...] | None:
        """Return the events of which no change is refused; None for a log that is too long.

        A change is another value, an exchange with the next line, or the line left out. A search that needs
        many more nodes than that of the log itself counts as a refusal.
        """
        events = [event for log in self._logs for event in log]
        if len(events) > CONTROLLED:
            return None
        most = 4 * nodes + SPARE
        return tuple(
            event
            for event in events
            if all(self._search.find(logs, most=most).moves is not None for logs in self._variants(event))
        )

    def _variants(self, event: Event) -> Iterator[list[Log]]:
        """Yield the logs with one change of the event."""
        yield self._with({event: ()})
        for part, name, value in event.values:
            other = next((own for own in self._other_values(event, part, name) if not same(value, own)), None)
            if other is not None:
                yield self._with({event: (event.changed(part, name, plain(other)),)})
        yield from self._exchanged(event)

    def _exchanged(self, event: Event) -> Iterator[list[Log]]:
        """Yield the logs with the event behind the next one of its process, if that tells something else."""
        for one, following in itertools.chain(*map(itertools.pairwise, self._logs)):
            if one is event and not following.says_the_same(event):
                yield self._with({event: (following,), following: (event,)})

    def _other_values(self, event: Event, part: str, name: str) -> Sequence[Json]:
        """Return the values that an argument, or a single state variable, may have."""
        if part == "arguments":
            return [plain(v) for sort in self._search.sorts[event.action][name] for v in sort]
        if name in self._search.observed:
            return []
        (variable, *parts) = self._search.variables[name]
        return [] if parts or variable.family.whole is not None else [plain(v) for v in variable.domain]
