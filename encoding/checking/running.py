"""Checking properties of a system: deepening, side by side with completeness, up to a verdict.

`check` prepares the rounds in one process, then lets one worker hunt for violations and another look for
longer executions, and for a proof by induction where there may be no longest one. It only passes on what they say: to
`confirming`, which replays it, and to `knowledge`, which says what it comes to.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fencepost.encoding.checking.confirming import Confirming
from fencepost.encoding.checking.knowledge import (
    ByActions,
    Knowledge,
    Never,
    NotByActions,
    Replayed,
    Seen,
    Untrue,
    failure,
)
from fencepost.encoding.checking.limits import Limits, validate
from fencepost.encoding.checking.preparing import Phase, Prepared, prepare
from fencepost.encoding.checking.proving import SHARES, Posed, Proving, ask, pose
from fencepost.encoding.checking.searching import Job, Search, jobs, search, shared, task
from fencepost.encoding.checking.verdicts import Outcome, Result
from fencepost.encoding.concrete.replaying import Replayer
from fencepost.encoding.errors import InternalError, ModelError
from fencepost.encoding.formulas.answers import cache_folder, usable
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.induction.asking import Kept, Left, Withdrawn
from fencepost.encoding.induction.over_rounds import Inductive, NotInductive
from fencepost.encoding.induction.walks import Walked, walk
from fencepost.encoding.language.state import amount
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.language.traces import Subject, Trace
from fencepost.encoding.rounds.cubes import Cube, Part, described, split
from fencepost.encoding.rounds.search import Broken, Story, Task, Violated, Wrong
from fencepost.encoding.solving.answers import SolverGaveUpError
from fencepost.encoding.solving.crew import Crew, OutOfTime
from fencepost.encoding.solving.solvers import Progress, SpentError, load
from fencepost.encoding.solving.workers import Ended, Worker

PATIENCE = 5.0
"""Seconds after which completeness is asked of short executions only, if that is enough for the verdict.
Most small instances are complete before that."""


@dataclass(frozen=True)
class Remark:
    """What an author may want to know: why a property is not inductive, with which invariants one is."""

    text: str


@dataclass(frozen=True)
class Open:
    """These properties are not decided yet: the search is about them."""

    properties: tuple[str, ...]


@dataclass(frozen=True)
class Silence:
    """For a while nobody has said anything."""


Event = Progress | Phase | Remark | Replayed | Open | Silence
"""What is heard of a check under way; a violation that was replayed may become smaller yet."""

Listener = Callable[[Event], None]


def check(
    system: System,
    subject: Subject,
    properties: Sequence[Property],
    limits: Limits,
    listener: Listener = lambda event: None,
    part: Part | None = None,
) -> Outcome:
    """Look for violations of the properties of a system, and for proofs that there are none, within the limits.

    `listener` hears how it goes. With a part, only the executions of one cube are looked at, so no result is a verdict by
    itself: `joining.join` makes one of them all. There are no results if there are not so many cubes. Ctrl-C ends it
    with what is known by then. Raises BadInput for limits that mean nothing for this system, ModelError if an action is
    not well defined, InternalError if a solver's execution does not replay.
    """
    validate(limits, system)
    sent_at_most_once(system)
    _settle_cache()
    run = _Run(system, subject, properties, limits, listener, part)
    try:
        run.run()
    except KeyboardInterrupt:
        run.interrupted = True
    finally:
        run.stop()
    return run.outcome()


def _settle_cache() -> None:
    """Say here that answers cannot be kept, if so, and not in each of the processes that look for some."""
    folder = cache_folder()
    if folder is not None:
        usable(folder)


class _Run:
    """One check under way: the workers, and what is known from them."""

    def __init__(
        self,
        system: System,
        subject: Subject,
        properties: Sequence[Property],
        limits: Limits,
        listener: Listener,
        part: Part | None,
    ) -> None:
        self._system, self._properties, self._limits, self._listen = system, properties, limits, listener
        self._part = part
        self._cube: Cube | None = Cube() if part is None else None
        self._by_actions = limits.induction == "actions" and limits.bound is None and bool(system.invariants)
        over_rounds = system.default_rounds or (limits.induction == "rounds" and system.invariants)
        inducing = limits.induction != "none" and limits.bound is None and bool(over_rounds)
        self._invariants = system.invariants if inducing else ()
        self._knowledge = Knowledge(properties, limits, inducing, tuple(i.name for i in self._invariants))
        self._replayer = Replayer(system, subject)
        self._begun = time.perf_counter()
        until = self._begun + limits.timeout - limits.gone
        self._crew = Crew(until, self._replayer.warm_up(), tick=lambda: listener(Silence()))
        self._open: tuple[str, ...] = ()
        self._doing: dict[Worker, Sequence[Job]] = {}
        self._prepared: Prepared | None = None
        self._proving: Proving | None = None
        self._gave_up: str | None = None
        self._cap: int | None = None
        self._settled_at: dict[str, float] = {}
        self._more: dict[str, list[Trace]] = {}
        self._no_more: dict[str, str] = {}
        self._searching = self._solving = 0.0
        self.interrupted = False

    # The course of a check.

    def run(self) -> None:
        """Prove, or else prepare, search, and look for further counterexamples, until done or out of time."""
        self._all_settled()
        if self._by_actions and self._part is None and self._properties:
            self._prove()
            if self._gave_up is not None or self._all_settled():
                return
        asked = self._system, self._properties, self._invariants
        self._crew.start(Worker("prepare", prepare, *asked, gib=self._limits.memory))
        load(self._limits.solver)
        self._gave_up = self._hear(self._knowledge, lambda: self._prepared is not None)
        if self._prepared is None:
            return
        if self._part is not None:
            self._choose_cube(self._prepared, self._part)
        if not self._properties:
            return
        self._searching = time.perf_counter()
        self._search()
        for prop in self._properties:
            if self._knowledge.violation(prop.name) is not None:
                self._search_more(prop)
        self._solving = time.perf_counter() - self._searching

    def _prove(self) -> None:
        """Induction over one action, beside walks to the witnesses of the properties.

        If walks do not reach one, it is asked in the same way whether it is never true.
        """
        facts, gib = self._system.invariants, self._limits.memory
        walks = Worker("walks", walk, self._system, self._properties, facts, gib=gib)
        self._crew.start(walks)
        load(self._limits.solver)
        proving = self._induct(facts)
        if proving is None:
            return
        self._conclude(proving)

        def open_ones() -> list[Property]:
            inductive = [p for p in self._properties if p.name in proving.claims]
            return [p for p in inductive if not self._knowledge.settled(p.name)]

        walked = lambda: not open_ones() or walks not in self._crew.workers
        self._gave_up = self._hear(self._knowledge, walked)
        self._dismiss()
        if open_ones() and self._gave_up is None:
            never = [Invariant(f"never:{p.name}", p.witness_meaning, ~p.witness) for p in open_ones()]
            again = self._induct((*facts, *never))
            for prop in open_ones():
                if again is not None and f"never:{prop.name}" in again.claims:
                    self._knowledge.hear(Never(prop.name))

    def _induct(self, facts: Sequence[Invariant]) -> Proving | None:
        """What is inductive of the properties and these facts; None if something kept the answers from coming."""
        gib, self._proving = self._limits.memory, None
        self._crew.start(Worker("questions", pose, self._system, self._properties, facts, gib=gib))
        self._gave_up = self._hear(self._knowledge, lambda: self._proving is not None)
        proving: Proving | None = self._proving
        if proving is None:
            return None
        others = self._crew.workers
        while self._gave_up is None and not proving.settled:
            proving.again()
            for shares in shared(range(SHARES), self._limits.jobs):
                asked_now = proving.posed, proving.claims, dict(proving.kept), shares, self._limits
                self._crew.start(Worker("induction", ask, *asked_now, gib=gib))
            self._gave_up = self._hear(self._knowledge, lambda: proving.answered)
            asking = [worker for worker in self._crew.workers if worker not in others]
            if asking:
                self._crew.dismiss(*asking)
        return proving if self._gave_up is None else None

    def _conclude(self, proving: Proving) -> None:
        """Tell of each property whether it is inductive."""
        for prop in self._properties:
            why_not = proving.why_not(prop.name, self._system)
            if why_not is None:
                facts = proving.used(prop.name)
                self._knowledge.hear(ByActions(prop.name, facts))
                self._listen(Remark(f"{prop.name} is inductive over one action, with {', '.join(facts)}"))
            else:
                self._knowledge.hear(NotByActions(prop.name, why_not))
        for fact in self._system.invariants:
            why_not = proving.why_not(fact.name, self._system)
            if why_not is not None:
                self._listen(Remark(f"the fact {fact.name} is {why_not}"))

    def stop(self) -> None:
        """Stop every worker."""
        self._dismiss()

    def _choose_cube(self, prepared: Prepared, part: Part) -> None:
        """The cube of that number; where induction is tried too, which is not about first rounds, the only one is all."""
        most = 1 if self._knowledge.inducing else part.most
        cubes = split(prepared.template, most, self._limits.rounds)
        if part.number < len(cubes):
            self._cube = cubes[part.number]
        else:
            self._properties = ()

    def _search(self) -> None:
        for some in shared(jobs(self._limits, self._knowledge.inducing), self._limits.jobs):
            self._start(self._task(self._properties), some)
        self._gave_up = self._hear(self._knowledge, self._all_settled)
        self._dismiss()

    def _all_settled(self) -> bool:
        settled = [prop.name for prop in self._properties if self._knowledge.settled(prop.name)]
        for name in settled:
            self._settled_at.setdefault(name, time.perf_counter())
        still = tuple(prop.name for prop in self._properties if prop.name not in settled)
        if still != self._open:
            self._open = still
            self._listen(Open(still))
        return not still

    def _search_more(self, prop: Property) -> None:
        """Counterexamples that fire other sets of actions, or need other losses, than those known."""
        found = self._knowledge.violation(prop.name)
        assert found is not None
        more = self._more[prop.name] = []
        told = [self._confirming.story(found.trace)]
        while len(more) + 1 < self._limits.count:
            another = self._another(prop, found.rounds, told)
            if another is None:
                break
            more.append(another)
            told.append(self._confirming.story(another))

    def _another(self, prop: Property, rounds: int, told: Sequence[Story]) -> Trace | None:
        """A counterexample that tells another story, as cheap as can be within as many rounds as the first.

        One that was still being made smaller when time was up may come to a story told; that is none.
        """
        knowledge = Knowledge([prop], self._limits)
        asked = replace(self._task([prop]), rounds=rounds, avoid=tuple(told), invariants=())
        self._start(asked, [Job(Search.HUNT)])
        gave_up = self._hear(knowledge, lambda: knowledge.searched(prop.name) >= rounds)
        self._dismiss()
        found = knowledge.violation(prop.name)
        if found is None or self._confirming.story(found.trace) in told:
            self._no_more[prop.name] = gave_up or f"there is no other within {amount(rounds, 'round')}"
            return None
        return found.trace

    # The workers.

    def _task(self, properties: Sequence[Property]) -> Task:
        names, carried = [p.name for p in properties], tuple(i.name for i in self._invariants)
        slots = self._confirming.actions
        return replace(task(self._system, slots, names, self._limits, self._cube or ()), invariants=carried)

    def _start(self, task: Task, some: Sequence[Job]) -> None:
        assert self._prepared is not None
        name, asked = "+".join(job.search.value for job in some), (self._prepared.template, task)
        worker = Worker(name, search, *asked, self._limits, some, gib=self._limits.memory)
        self._doing[self._crew.start(worker)] = some

    def _dismiss(self, *workers: Worker) -> None:
        for worker in workers or tuple(self._doing):
            self._doing.pop(worker, None)
        self._crew.dismiss(*workers)

    def _hear(self, knowledge: Knowledge, done: Callable[[], bool]) -> str | None:
        """Handle what workers say until `done`; if something kept them from that, what it was."""
        gave_up = None
        try:
            if not done():
                for worker, message in self._crew.heard():
                    if isinstance(message, Ended):
                        self._doing.pop(worker, None)
                        gave_up = self._why_ended(worker, message) or gave_up
                    else:
                        self._handle(knowledge, message)
                    if done():
                        break
        except OutOfTime:
            gave_up = f"time-out after {self._limits.timeout:g} s"
        return gave_up

    def _why_ended(self, worker: Worker, ended: Ended) -> str | None:
        """Why a worker has no more to say, if it gave up."""
        if ended.memory:
            return f"out of memory ({worker.name})"
        if ended.error is None:
            return None
        if ended.kind == ModelError.__name__:
            raise ModelError(ended.says)
        if ended.kind == SpentError.__name__:
            return ended.says
        if self._limits.memory is not None:
            return f"failed within {self._limits.memory:g} GiB of memory ({worker.name}: {ended.says})"
        if ended.kind == SolverGaveUpError.__name__:
            return ended.says
        raise InternalError(f"{worker.name} failed: {ended.error}")

    def _handle(self, knowledge: Knowledge, message: Any) -> None:
        match message:
            case Prepared():
                self._prepared = message
            case Posed():
                self._proving = Proving(message)
            case Kept() | Withdrawn() | Left():
                assert self._proving is not None
                self._proving.hear(message)
            case Walked():
                self._see(knowledge, message)
            case Progress() | Phase():
                self._listen(message)
            case Violated(property=name, execution=execution, costs=costs):
                trace = self._confirming.violation(self._property(name), execution)
                replayed = Replayed(name, trace, execution.rounds, costs)
                self._listen(replayed)
                knowledge.hear(replayed)
            case Broken(execution=execution):
                untrue = Untrue(self._confirming.broken(self._invariants, execution))
                steps = "; ".join(step.name for step in untrue.trace.steps)
                self._listen(Remark(f"{untrue}: {steps or 'it is at first'}"))
                knowledge.hear(untrue)
            case Wrong(execution=execution):
                self._confirming.wrong(execution)
            case _:
                self._remark(message)
                knowledge.hear(message)
                self._cap_completeness()

    def _see(self, knowledge: Knowledge, walked: Walked) -> None:
        """Replay a walk, to the witness of a property or to a state in which a fact is false."""
        actions = [self._system.ground_actions[number] for number in walked.actions]
        choices = [self._system.choices[position].name for position in walked.choices]
        for fact in self._system.invariants:
            if fact.name == walked.name:
                trace = self._replayer.spare_faults(fact, actions, choices)
                self._listen(Remark(str(Untrue(trace))))
                return
        prop = self._property(walked.name)
        trace = self._replayer.spare_faults(replace(prop, holds=~prop.witness), actions, choices)
        if all(trace.faults.get(fault, 0) <= most for fault, most in self._limits.budgets.items()):
            knowledge.hear(Seen(prop.name))

    def _remark(self, message: Any) -> None:
        """Tell an author what came of induction."""
        match message:
            case Inductive(property=name, rounds=rounds):
                carried = ", ".join(i.name for i in self._invariants) or "none"
                self._listen(
                    Remark(f"{name} is inductive over {amount(rounds, 'round')}; invariants: {carried}")
                )
            case NotInductive(property=name):
                self._listen(Remark(f"{name} is {failure(message)}, {self._confirming.way(message)}"))

    @property
    def _confirming(self) -> Confirming:
        assert self._prepared is not None
        return Confirming(self._replayer, self._prepared)

    def _property(self, name: str) -> Property:
        return next(prop for prop in self._properties if prop.name == name)

    def _cap_completeness(self) -> None:
        """Once everything is violated, only executions shorter than the longest trace matter."""
        limits = self._limits
        if limits.minimize == "none" or limits.jobs == 1 or limits.bound is not None:
            return
        if time.perf_counter() - self._searching < PATIENCE:
            return
        cap = self._knowledge.longest_of_use()
        exhausting = [w for w, some in self._doing.items() if any(j.search is Search.EXHAUST for j in some)]
        if cap is None or cap == self._cap or not exhausting:
            return
        self._cap = cap
        for worker in exhausting:
            self._dismiss(worker)
        self._start(self._task(self._properties), [Job(Search.EXHAUST, cap)])

    # The results.

    def outcome(self) -> Outcome:
        """A result for each property from what is known now."""
        seconds = time.perf_counter() - self._begun
        spent = dict(self._prepared.seconds if self._prepared else {})
        spent["solving"] = self._solving
        names = [action.name for action in self._confirming.actions] if self._cube else []
        cube = None if self._cube is None else described(self._cube, names)
        results = tuple(map(self._result, self._properties))
        return Outcome(results, seconds, self.interrupted, spent, cube, self._knowledge.surpassed)

    def _result(self, prop: Property) -> Result:
        name = prop.name
        violation, witness = self._knowledge.violation(name), self._knowledge.witness(name)
        if violation is None and witness is not None:
            self._confirming.witness(prop, witness)
        gave_up = "interrupted" if self.interrupted else self._gave_up
        until = self._settled_at.get(name, time.perf_counter())
        stopped = gave_up or "the search stopped early"
        result = self._knowledge.result(name, until - self._begun, stopped)
        if violation is None:
            return result
        more = tuple(self._more.get(name, ()))
        lacking = None if 1 + len(more) >= self._limits.count else self._no_more.get(name, gave_up)
        return replace(result, more_traces=more, reason=lacking)
