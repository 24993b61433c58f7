"""Reachability from a given state: can a goal become true from here, and how?

The state is the end of an execution that ran on plain values. Choices that its steps have read are fixed. All
other choices are open.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.events import PreparationPhase, Replayed, Seen
from fencepost.encoding.engine.knowledge import Knowledge
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.messages import Execution, Violated, Wrong
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.errors import InternalError
from fencepost.encoding.formulas.templates import RoundTemplate
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.state import amount
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.terms import TRUE, Term
from fencepost.encoding.language.traces import Trace
from fencepost.encoding.rounds.preparation import Prepared, prepare
from fencepost.encoding.rounds.searches import Job, SearchKind, search, task
from fencepost.encoding.solving.crew import Crew
from fencepost.encoding.solving.solvers import Progress
from fencepost.encoding.solving.workers import Ended, Worker, reason_of

GOAL = "goal"
"""The name of the property whose violation is the goal."""


@dataclass(frozen=True)
class PathEnd:
    """The end of an execution: its actions, the names of the choices that are true, its last state.

    `beginning` has its initial values.
    """

    actions: tuple[GroundAction, ...]
    lost: tuple[str, ...]
    state: State
    beginning: tuple[int, ...] = ()


@dataclass(frozen=True)
class Way:
    """A way to the goal: the actions to take, and the messages to lose."""

    actions: tuple[GroundAction, ...]
    lost: tuple[str, ...]


@dataclass(frozen=True)
class ReachabilityAnswer:
    """The answer to a question, as far as it is known.

    `over` says that the answer is final. With a `way`, `fewest` says that no other way takes fewer steps.
    Without a way, `never` says that none exists from that state. Otherwise `rounds` rounds were searched
    without finding one.
    """

    over: bool = False
    way: Way | None = None
    fewest: bool = False
    never: bool = False
    rounds: int = 0
    doing: str = "starting"
    gave_up: str | None = None

    def __str__(self) -> str:
        """Return the answer as a sentence."""
        if self.way is not None:
            found = f"in {amount(len(self.way.actions), 'step')}"
            return (
                f"{found} (fewest: no shorter way exists)"
                if self.fewest
                else f"{found} (a shorter way may exist)"
            )
        if self.never and not self.rounds:
            return "never: in this instance nothing makes its guard true"
        if self.never:
            covered = (
                f"every execution from here fits in {amount(self.rounds, 'round')}, and none leads there"
            )
            return f"never from here: {covered}"
        searched = f"no way within {amount(self.rounds, 'round')}" if self.rounds else "no round finished"
        return f"undecided: {self.gave_up}; {searched}" if self.over else f"{searched} so far"


class Reachability:
    """One question, answered in processes of its own. `hear` waits for them, `stop` ends them.

    The goal is a term that should become true, or an action that should become possible. `prepared` is the
    preparation of an earlier question about the same goal. `hear` raises ModelError and InternalError as
    `check` does.
    """

    def __init__(
        self,
        replayer: Replayer,
        start: PathEnd,
        goal: Term | GroundAction,
        limits: Limits,
        prepared: Prepared | None = None,
    ) -> None:
        """Start the first process, unless the goal is reached already."""
        self._replayer, self._start, self._goal, self._limits = replayer, start, goal, limits
        self._begun = time.perf_counter()
        self._crew = Crew(self._begun + limits.timeout)
        holds = TRUE if isinstance(goal, GroundAction) else ~goal
        self._prop = Property(GOAL, "the goal is not reached", holds, TRUE, "anything")
        self._knowledge = Knowledge([self._prop], limits)
        self._knowledge.hear(Seen(GOAL))
        self._reached = self._predicate()
        self._exhausting: Worker | None = None
        self._best: Way | None = None
        self._doing: dict[str, str] = {}
        self._gave_up: str | None = None
        self._is_dead = False
        """Whether the goal is an action whose guard nothing can make true."""
        self.prepared = prepared
        if self._reached(start.state):
            self._best = Way((), ())
        elif prepared is None:
            asked = [] if isinstance(goal, GroundAction) else [self._prop]
            self._crew.start(Worker("prepare", prepare, replayer.system, asked, (), gib=limits.memory))
        else:
            self._search()

    def _predicate(self) -> Callable[[State], bool]:
        concrete, goal = self._replayer.concrete, self._goal
        if isinstance(goal, GroundAction):
            step = concrete.step(goal)
            return lambda state: bool(step.possible(state) and step.enabled(state))
        return concrete.predicate(goal)

    # The course of a question.

    def hear(self, seconds: float) -> ReachabilityAnswer:
        """Return the answer after that many seconds, or as soon as it is final."""
        until = time.perf_counter() + seconds
        while not self._is_over():
            left = min(until, self._begun + self._limits.timeout) - time.perf_counter()
            heard = self._crew.listen(max(0.0, left))
            for worker, message in heard:
                self._take(worker, message)
            if not heard and time.perf_counter() >= self._begun + self._limits.timeout:
                self._gave_up = f"time-out after {self._limits.timeout:g} s"
            if not heard and time.perf_counter() >= until:
                break
        if self._is_over():
            self.stop()
        return self.answer()

    def stop(self, why: str | None = None) -> None:
        """Stop every process."""
        self._gave_up = self._gave_up or why
        self._crew.dismiss()

    def answer(self) -> ReachabilityAnswer:
        """Return the answer as far as it is known."""
        decision = self._knowledge.decision(GOAL)
        doing = "; ".join(self._doing.values())
        rounds = self._knowledge.searched(GOAL)
        if self._best is not None:
            fewest = not self._best.actions or (decision is not None and decision.final)
            return ReachabilityAnswer(
                self._is_over(), self._best, fewest, rounds=rounds, doing=doing, gave_up=self._gave_up
            )
        never = self._is_dead or (decision is not None and decision.verdict is Verdict.PROVED)
        covering = self._knowledge.covering(None)
        rounds = 0 if self._is_dead else covering or rounds
        return ReachabilityAnswer(self._is_over(), None, False, never, rounds, doing, self._gave_up)

    def _is_over(self) -> bool:
        return (
            self._gave_up is not None
            or self._is_dead
            or (self._best is not None and not self._best.actions)
            or self._knowledge.settled(GOAL)
        )

    def _take(self, worker: Worker, message: Any) -> None:
        match message:
            case Ended():
                self._end(worker, message)
            case PreparationPhase(name=name):
                self._doing = {"prepare": name}
            case Prepared():
                self.prepared, self._doing = message, {}
                self._search()
            case Progress():
                self._doing[message.task] = f"round {message.rounds}, {message.clauses:,} clauses"
            case Violated(execution=execution, costs=costs):
                self._found(execution, costs)
            case Wrong(execution=execution):
                self._replay(execution, self._lost(execution))
                raise InternalError("a badly defined update replays as a good one")
            case _:
                self._knowledge.hear(message)

    def _end(self, worker: Worker, ended: Ended) -> None:
        reason = reason_of(ended, worker.name, self._limits.memory)
        if reason is not None:
            self._gave_up = reason
        elif not self._crew.workers and not self._knowledge.settled(GOAL):
            self._gave_up = "the search stopped early"

    # The searches.

    def _search(self) -> None:
        assert self.prepared is not None
        if isinstance(self._goal, GroundAction) and self._goal not in self._actions:
            self._is_dead = True
            return
        self._ask("hunt", Job(SearchKind.HUNT))
        self._exhausting = self._ask("exhaust", Job(SearchKind.EXHAUST))

    def _ask(self, name: str, job: Job) -> Worker:
        asked = task(self._replayer.system, self._actions, [GOAL], self._limits)
        worker = Worker(name, search, self._template, asked, self._limits, [job], gib=self._limits.memory)
        return self._crew.start(worker)

    @property
    def _actions(self) -> list[GroundAction]:
        """The action of each slot."""
        assert self.prepared is not None
        return self.prepared.actions(self._replayer.system)

    @property
    def _template(self) -> RoundTemplate:
        """The clauses of one round that begins in the given state."""
        assert self.prepared is not None
        template = self.prepared.template
        if isinstance(self._goal, GroundAction):
            template = _fired_by(template, self._actions.index(self._goal))
        return replace(
            template, initial=self._initial(), given=self._given(), beginning=[], auxiliary=0, varied=()
        )

    def _initial(self) -> list[bool | None]:
        """Return the Booleans of the state."""
        assert self.prepared is not None
        system, state = self._replayer.system, self._start.state
        return [
            state[place] == position
            for place in self.prepared.places
            for position in range(1, len(system.variables[place].domain))
        ]

    def _given(self) -> dict[int, bool]:
        """Return the choices that are fixed: those that are true, and those that a step has read."""
        concrete = self._replayer.concrete
        looked = {place for action in self._start.actions for place in concrete.step(action).choices}
        return {
            position: variable.name in self._start.lost
            for position, variable in enumerate(self._replayer.system.choices)
            if variable.place in looked or variable.name in self._start.lost
        }

    # What a solver found.

    def _lost(self, execution: Execution) -> list[str]:
        names = [self._replayer.system.choices[position].name for position in execution.choices]
        return [name for name in names if name not in self._start.lost]

    def _replay(self, execution: Execution, lost: Sequence[str]) -> Way:
        """Return the way to the first state that reaches the goal. Raises NotAnExecution if none does."""
        actions = [self._actions[slot] for slot in execution.slots]
        begun = len(self._start.actions)
        lost_in_all = [*self._start.lost, *lost]
        states = self._replayer.follow([*self._start.actions, *actions], lost_in_all, self._start.beginning)
        for index, state in enumerate(states[begun:]):
            if self._reached(state):
                return Way(tuple(actions[:index]), tuple(lost))
        raise NotAnExecution("the goal is not reached")

    def _found(self, execution: Execution, costs: tuple[int, ...]) -> None:
        lost = self._lost(execution)
        try:
            way = self._replay(execution, lost)
        except NotAnExecution as error:
            names = "; ".join(self._actions[slot].name for slot in execution.slots)
            raise InternalError(
                f"the solver found a way that does not replay.\nsolver: {names}\nreplay: {error}"
            ) from error
        for name in lost:
            fewer = [other for other in way.lost if other != name]
            try:
                way = self._replay(execution, fewer)
            except NotAnExecution:
                continue
        if self._best is None or len(way.actions) < len(self._best.actions):
            self._best = way
        self._knowledge.hear(Replayed(GOAL, self._trace(way), execution.rounds, costs))
        if not self._knowledge.settled(GOAL) and self._exhausting in self._crew.workers:
            self._crew.dismiss(self._exhausting)
            self._exhausting = self._ask("exhaust", Job(SearchKind.EXHAUST, costs[-1] - 1))

    def _trace(self, way: Way) -> Trace:
        actions, lost = [*self._start.actions, *way.actions], [*self._start.lost, *way.lost]
        return self._replayer.record(GOAL, actions, lost, self._start.beginning)


def _fired_by(template: RoundTemplate, slot: int) -> RoundTemplate:
    """Return the round with one more output: a property that is false if the slot fires."""
    output, fire = template.size + 1, template.fires[slot]
    return replace(
        template,
        clauses=[*template.clauses, [output, fire], [-output, -fire]],
        size=output,
        outputs={**template.outputs, f"holds:{GOAL}": output, f"witness:{GOAL}": fire},
    )
