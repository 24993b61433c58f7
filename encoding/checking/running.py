"""Checking properties of a system: deepening, side by side with completeness, up to a verdict.

`check` prepares the rounds in one process, then lets one worker hunt for violations and another look for
longer executions, and for a proof by induction where there may be no longest one. It only combines what they say; every
violation is replayed before it counts.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import wait

from fencepost.encoding.checking.verdicts import Basis, Result, Verdict
from fencepost.encoding.concrete.replaying import NotAnExecution, Replayer
from fencepost.encoding.errors import BadInput, InternalError, ModelError
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.formulas.templates import Template
from fencepost.encoding.induction.over_rounds import Inductive, NotInductive, Window, base, induct
from fencepost.encoding.language.state import Variable, amount, decode, show
from fencepost.encoding.language.system import GroundAction, Invariant, Property, System
from fencepost.encoding.language.terms import FALSE, Value
from fencepost.encoding.language.traces import Subject, Trace, plain
from fencepost.encoding.rounds.cubes import Cube, Part, described, split
from fencepost.encoding.rounds.search import (
    Broken,
    Clean,
    Complete,
    Execution,
    Longer,
    Message,
    Story,
    Surpassed,
    Tally,
    Task,
    Upheld,
    Violated,
    Witnessed,
    Wrong,
    exhaust,
    hunt,
    surpass,
)
from fencepost.encoding.rounds.session import Session
from fencepost.encoding.rounds.unrolling import Unrolling
from fencepost.encoding.solving.solvers import (
    SOLVERS,
    Progress,
    Purse,
    SolverGaveUpError,
    SpentError,
    countable,
    load,
)
from fencepost.encoding.solving.workers import Ended, Worker

PATIENCE = 5.0
"""Seconds after which completeness is asked of short executions only, if that is enough for the verdict.
Most small instances are complete before that."""

HUNT = ("hunt", None)
"""The job that looks for violations."""

MINIMIZE = ("steps", "faults", "none")


@dataclass(frozen=True)
class Limits:
    """How far to search, and with what.

    `bound` is in protocol steps, `timeout` in seconds for the whole check, `memory` in GiB for each process.
    `conflicts` is what the searches of a process may spend together: with `jobs=1` no machine's speed changes what comes of it.
    `budgets` caps faults by name. `count` asks for that many counterexamples of each property.
    """

    bound: int | None = None
    rounds: int | None = None
    budgets: Mapping[str, int] = field(default_factory=dict)
    minimize: str = "steps"
    count: int = 1
    timeout: float = 300.0
    memory: float | None = None
    conflicts: int | None = None
    solver: str = "cadical"
    jobs: int = 2
    seed: int | None = None


@dataclass(frozen=True)
class Phase:
    """A part of the preparation has begun."""

    name: str


@dataclass(frozen=True)
class Prepared:
    """One round of the system, ready to be unrolled, and the slots behind it."""

    template: Template
    actions: tuple[int, ...]
    """For each slot, which of the system's ground actions it is."""
    places: tuple[int, ...]
    """The places of the variables that the Booleans of a state belong to."""
    seconds: Mapping[str, float]


@dataclass(frozen=True)
class Outcome:
    """The results of a check, worst property first in `Verdict` order is up to the caller."""

    results: tuple[Result, ...]
    seconds: float
    interrupted: bool
    spent: Mapping[str, float]
    """Seconds by part of the work: building, commutation, CNF, solving."""
    cube: tuple[str, ...] | None = None
    """What the cube says that the check was about; None if it was to be about one, and did not come to know it."""
    surpassed: bool | None = None
    """With a bound in steps: whether some execution takes more."""


@dataclass(frozen=True)
class Remark:
    """What an author may want to know: why a property is not inductive, with which invariants one is."""

    text: str


Listener = Callable[[Progress | Phase | Remark], None]
Send = Callable[[object], None]
"""How a worker says something in the middle of a question."""


def check(
    system: System,
    subject: Subject,
    properties: Sequence[Property],
    limits: Limits,
    listener: Listener = lambda event: None,
    part: Part | None = None,
) -> Outcome:
    """Check the properties and return a result for each, in the order given.

    With a part, only the executions of one cube are looked at, so no result is a verdict by itself: `join` makes one
    of them all. There are no results if there are not so many cubes. Raises BadInput for limits that mean nothing for this system, ModelError if an action is not well
    defined, InternalError if a solver's execution does not replay.
    """
    _validate(system, limits)
    sent_at_most_once(system)
    run = _Run(system, subject, properties, limits, listener, part)
    try:
        run.run()
    except KeyboardInterrupt:
        run.interrupted = True
    finally:
        run.kill()
    return run.outcome()


def _validate(system: System, limits: Limits) -> None:
    if limits.solver not in SOLVERS:
        raise BadInput(f"{limits.solver}: no such solver; valid: {', '.join(SOLVERS)}")
    if limits.conflicts is not None:
        countable(limits.solver)
    known_faults(system, limits.budgets)


def known_faults(system: System, names: Iterable[str]) -> None:
    """Raise BadInput for a name that is no fault of the system."""
    faults = fault_names(system)
    for name in names:
        if name not in faults:
            raise BadInput(
                f"{name}: no such fault here; valid: {', '.join(faults) or 'none, it has no faults'}"
            )


def fault_names(system: System) -> list[str]:
    """The kinds of faults that a system has, in order of declaration."""
    choices = [v.family.fault for v in system.variables if v.family.fault]
    actions = [schema.action.fault for schema in system.schemas if schema.action.fault]
    return list(dict.fromkeys([*choices, *actions]))


def tally(system: System, slots: Sequence[GroundAction], wanted: Collection[str]) -> Tally:
    """The slots and choices that cost a fault of one of these names."""
    costly = tuple(i for i, action in enumerate(slots) if action.schema.action.fault in wanted)
    return Tally(costly, tuple(i for i, v in enumerate(system.choices) if v.family.fault in wanted))


def prepare(
    send: Send, system: System, properties: Sequence[Property], invariants: Sequence[Invariant]
) -> list[Iterator[Phase | Prepared]]:
    """What the preparing process runs: the formulas, the commutation of actions, the clauses of one round."""
    return [_prepare(system, properties, invariants)]


def _prepare(
    system: System, properties: Sequence[Property], invariants: Sequence[Invariant]
) -> Iterator[Phase | Prepared]:
    from fencepost.encoding.formulas.commutation import Commutation
    from fencepost.encoding.formulas.one_round import template
    from fencepost.encoding.formulas.symbolic import Symbolic
    from fencepost.encoding.formulas.traps import check_traps

    clock = time.perf_counter
    begun = clock()
    yield Phase("building")
    symbolic = Symbolic(system)
    check_traps(symbolic, properties)
    built = clock()
    yield Phase("commutation")
    blockers = Commutation(symbolic).blockers()
    commuted = clock()
    yield Phase("CNF")
    outputs = {f"holds:{p.name}": p.holds for p in properties}
    outputs |= {f"witness:{p.name}": p.witness for p in properties}
    outputs |= {f"invariant:{i.name}": i.holds for i in invariants}
    made = template(symbolic, blockers, outputs)
    order = {action: number for number, action in enumerate(system.ground_actions)}
    seconds = {"building": built - begun, "commutation": commuted - built, "CNF": clock() - commuted}
    yield Prepared(
        made,
        tuple(order[action] for action in symbolic.actions),
        tuple(sorted(symbolic.written)),
        seconds,
    )


def search_jobs(
    send: Send, template: Template, task: Task, limits: Limits, jobs: Sequence[tuple[str, int | None]]
) -> list[Iterator[Message | Inductive | NotInductive]]:
    """What a searching process runs: `hunt`, `exhaust`, `surpass` or `induct`, each in a session of its own.

    A job is a name and a number of steps: the bound of the executions that `exhaust` looks at, or the bound
    that `surpass` tries to exceed.
    """
    purse = Purse(limits.conflicts) if limits.conflicts is not None else None
    return [_job(send, template, task, limits, purse, name, steps) for name, steps in jobs]


def _job(
    send: Send,
    template: Template,
    task: Task,
    limits: Limits,
    purse: Purse | None,
    name: str,
    steps: int | None,
) -> Iterator[Message | Inductive | NotInductive]:
    unrolling = Window if name == "induct" else Unrolling
    session = Session(template, limits.solver, limits.seed, send, name, unrolling, purse, task.cube)
    if name == "hunt":
        yield from hunt(session, task)
    elif name == "induct":
        yield from induct(session, task)
    elif name == "exhaust":
        yield from exhaust(session, task, steps)
    else:
        assert steps is not None
        yield from surpass(session, task, steps)


def _failure(tried: NotInductive) -> str:
    """Why that property is not inductive."""
    return f"not inductive over {amount(tried.rounds, 'round')}: fails for {', '.join(tried.fails)}"


def _falsity(trace: Trace) -> str:
    """Which invariant is none."""
    return f"the invariant {trace.property} is false after {amount(len(trace.steps), 'step')}"


class _Run:
    """One check under way: what is known so far, and the workers that find out more."""

    def __init__(
        self,
        system: System,
        subject: Subject,
        properties: Sequence[Property],
        limits: Limits,
        listener: Listener,
        part: Part | None = None,
    ) -> None:
        self._system, self._limits, self._listen = system, limits, listener
        self._part = part
        self._cube: Cube | None = Cube() if part is None else None
        self._properties = {p.name: p for p in properties}
        self._inducing = limits.bound is None and bool(system.default_rounds or system.invariants)
        self._invariants = system.invariants if self._inducing else ()
        self._replayer = Replayer(system, subject)
        self._warming = self._replayer.warm_up()
        self._begun = time.perf_counter()
        self._settled_at: dict[str, float] = {}
        self._workers: list[Worker] = []
        self._prepared: Prepared | None = None
        self._reason: str | None = None
        self._traces: dict[str, Trace] = {}
        self._more: dict[str, list[Trace]] = {}
        self._no_more: dict[str, str] = {}
        self._found_in: dict[str, int] = {}
        self._costs: dict[str, tuple[int, ...]] = {}
        self._clean: dict[str, Clean] = {}
        self._witnessed: dict[str, Execution] = {}
        self._inductive: dict[str, int] = {}
        self._not_inductive: dict[str, NotInductive] = {}
        self._upheld = 0
        self._broken: Trace | None = None
        self._complete: dict[int | None, int] = {}
        self._longer = -1
        self._surpassed: bool | None = None
        self._cap: int | None = None
        self._searching = self._solving = 0.0
        self.interrupted = False

    # The course of a check.

    def run(self) -> None:
        """Prepare, search, and look for further counterexamples, until done or out of time."""
        asked = list(self._properties.values()), self._invariants
        self._start(Worker("prepare", prepare, self._system, *asked, gib=self._limits.memory))
        load(self._limits.solver)
        self._receive_until(lambda: self._prepared is not None)
        if self._prepared is None:
            return
        if self._part is not None:
            self._choose_cube(self._prepared.template, self._part)
        if not self._properties:
            return
        self._searching = time.perf_counter()
        self._search()
        for name in list(self._traces):
            self._search_more(name)
        self._solving = time.perf_counter() - self._searching

    def _choose_cube(self, template: Template, part: Part) -> None:
        """The cube of that number; where induction is tried too, which is not about first rounds, the only one is all."""
        cubes = split(template, 1 if self._inducing else part.most, self._limits.rounds)
        if part.number < len(cubes):
            self._cube = cubes[part.number]
        else:
            self._properties.clear()

    def _search(self) -> None:
        task, bound = self._task(tuple(self._properties)), self._limits.bound
        jobs: list[tuple[str, int | None]] = [HUNT, ("exhaust", bound)]
        if bound is not None:
            jobs.append(("surpass", bound))
        if self._inducing:
            jobs.append(("induct", None))
        cuts = [0, *range(1, min(self._limits.jobs, len(jobs))), len(jobs)]
        for start, end in itertools.pairwise(cuts):
            self._spawn(task, jobs[start:end])
        self._receive_until(self._all_settled)
        self.kill()

    def _search_more(self, name: str) -> None:
        """Counterexamples of one property that fire other sets of actions, or need other losses, than those known."""
        more = self._more[name] = []
        told = [self._story(self._traces[name])]
        while len(more) + 1 < self._limits.count:
            another = self._another(name, told)
            if another is None:
                break
            more.append(another)
            told.append(self._story(another))

    def _another(self, name: str, told: Sequence[Story]) -> Trace | None:
        """A counterexample that tells another story, as cheap as can be within as many rounds as the first.

        One that was still being made smaller when time was up may come to a story told; that is none.
        """
        side = _Run(
            self._system, self._replayer.subject, [self._properties[name]], self._limits, self._listen
        )
        side._prepared, side._begun = self._prepared, self._begun
        rounds = self._found_in[name]
        side._spawn(replace(self._task((name,)), rounds=rounds, avoid=tuple(told), invariants=()), [HUNT])
        try:
            side._receive_until(lambda: side._searched(name) >= rounds)
        finally:
            side.kill()
        trace = side._traces.get(name)
        if trace is None or self._story(trace) in told:
            self._no_more[name] = side._reason or f"there is no other within {amount(rounds, 'round')}"
            return None
        return trace

    def _story(self, trace: Trace) -> Story:
        """What the trace needs; whatever it shows as lost it cannot do without."""
        names = {(s.action, tuple(s.arguments.values())) for s in trace.steps}
        choices = [v.name for v in self._system.choices]
        return Story(
            frozenset(
                slot
                for slot, action in enumerate(self._actions())
                if (action.schema.name, tuple(map(plain, action.arguments))) in names
            ),
            frozenset(position for position, name in enumerate(choices) if trace.initial.get(name)),
        )

    def _spawn(self, task: Task, jobs: Sequence[tuple[str, int | None]]) -> None:
        assert self._prepared is not None
        name = "+".join(job for job, _ in jobs)
        self._start(
            Worker(
                name, search_jobs, self._prepared.template, task, self._limits, jobs, gib=self._limits.memory
            )
        )

    def _start(self, worker: Worker) -> None:
        self._workers.append(worker)

    def kill(self) -> None:
        """Stop every worker."""
        for worker in self._workers:
            worker.kill()
        self._workers.clear()

    def _receive_until(self, done: Callable[[], bool]) -> None:
        """Handle messages until `done`, or no worker is left, or time is up (which becomes the reason)."""
        while not done():
            left = self._limits.timeout - (time.perf_counter() - self._begun)
            if left <= 0:
                self._reason = f"time-out after {self._limits.timeout:g} s"
                return
            if not self._workers:
                return
            ready = wait([w.connection for w in self._workers], timeout=0)
            if not ready and next(self._warming, None) is None:
                ready = wait([w.connection for w in self._workers], timeout=left)
            for worker in [w for w in self._workers if w.connection in ready]:
                if worker not in self._workers:
                    continue  # replaced because of what another one said
                message = worker.receive()
                if isinstance(message, Ended):
                    self._ended(worker, message)
                else:
                    self._handle(message)

    def _ended(self, worker: Worker, message: Ended) -> None:
        worker.kill()
        self._workers.remove(worker)
        if message.memory:
            self._reason = f"out of memory ({worker.name})"
        elif message.error is None:
            return
        elif message.kind == ModelError.__name__:
            raise ModelError(message.says)
        elif message.kind == SpentError.__name__:
            self._reason = message.says
        elif self._limits.memory is not None:
            self._reason = (
                f"failed within {self._limits.memory:g} GiB of memory ({worker.name}: {message.says})"
            )
        elif message.kind == SolverGaveUpError.__name__:
            self._reason = message.says
        else:
            raise InternalError(f"{worker.name} failed: {message.error}")

    # What the workers say.

    def _handle(self, message: Message | Inductive | NotInductive | Phase | Prepared) -> None:
        match message:
            case Prepared():
                self._prepared = message
            case Progress() | Phase():
                self._listen(message)
            case Violated(property=name, execution=execution, costs=costs):
                self._traces[name] = self._replay(name, execution)
                self._found_in[name], self._costs[name] = execution.rounds, costs
                self._clean.pop(name, None)
            case Witnessed(property=name, execution=execution):
                self._witnessed[name] = execution
            case Clean(property=name):
                self._clean[name] = message
                self._cap_completeness()
            case Upheld(rounds=rounds):
                self._upheld = rounds
            case Broken(execution=execution):
                self._broken = self._replay_broken(execution)
            case Inductive(property=name, rounds=rounds):
                self._inductive[name] = rounds
                carried = ", ".join(i.name for i in self._invariants) or "none"
                self._listen(
                    Remark(f"{name} is inductive over {amount(rounds, 'round')}; invariants: {carried}")
                )
            case NotInductive(property=name):
                self._not_inductive[name] = message
                self._listen(Remark(f"{name} is {_failure(message)}, {self._way(message)}"))
            case Complete(rounds=rounds, steps=steps):
                self._complete[steps] = rounds
            case Longer(rounds=rounds, steps=steps) if steps == self._limits.bound:
                self._longer = max(self._longer, rounds)
            case Surpassed(longer=longer):
                self._surpassed = longer
            case Wrong(execution=execution):
                self._raise_wrong(execution)
        for name in self._properties:
            if name not in self._settled_at and self._settled(name):
                self._settled_at[name] = time.perf_counter()

    def _actions(self) -> list[GroundAction]:
        assert self._prepared is not None
        return [self._system.ground_actions[number] for number in self._prepared.actions]

    def _choice_names(self, execution: Execution) -> list[str]:
        return [self._system.choices[position].name for position in execution.choices]

    def _fired(self, execution: Execution) -> list[GroundAction]:
        actions = self._actions()
        return [actions[slot] for slot in execution.slots]

    def _replay(self, name: str, execution: Execution) -> Trace:
        try:
            return self._replayer.spare_faults(
                self._properties[name], self._fired(execution), self._choice_names(execution)
            )
        except NotAnExecution as error:
            raise self._does_not_replay(name, execution, error) from error

    def _replay_broken(self, execution: Execution) -> Trace:
        """The trace to a state in which an invariant is false."""
        actions, choices = self._fired(execution), self._choice_names(execution)
        for invariant in self._invariants:
            try:
                trace = self._replayer.spare_faults(invariant, actions, choices)
            except NotAnExecution as error:
                failed = error
                continue
            steps = "; ".join(action.name for action in actions[: len(trace.steps)])
            self._listen(Remark(f"{_falsity(trace)}: {steps or 'it is at first'}"))
            return trace
        raise self._does_not_replay("a broken invariant", execution, failed)

    def _way(self, tried: NotInductive) -> str:
        """How what is not inductive comes about, for an author who looks for an invariant against it."""
        assert self._prepared is not None
        left, start = iter(tried.state), {}
        for place, width in zip(self._prepared.places, self._prepared.template.widths, strict=True):
            variable = self._system.variables[place]
            start[variable] = decode(variable, list(itertools.islice(left, width)))
        actions, lost = self._fired(tried.execution), self._choice_names(tried.execution)
        unusual = [f"{v.name} = {show(value)}" for v, value in start.items() if value != self._at_first(v)]
        state = ", ".join([*unusual, *(f"{name} = yes" for name in lost)]) or "all is as at first"
        way = f"by {'; '.join(action.name for action in actions)} from a state in which {state}"
        try:
            self._replayer.follow(actions, lost, start)
        except ModelError as error:
            return f"{way}: {error}"
        except NotAnExecution as error:
            raise self._does_not_replay(f"induction for {tried.property}", tried.execution, error) from error
        return way

    def _at_first(self, variable: Variable) -> Value:
        return self._system.initial[variable.place]

    def _reach(self, name: str, execution: Execution) -> None:
        try:
            witness = self._properties[name].witness
            self._replayer.reach(name, witness, self._fired(execution), self._choice_names(execution))
        except NotAnExecution as error:
            raise self._does_not_replay(f"witness of {name}", execution, error) from error

    def _does_not_replay(self, name: str, execution: Execution, error: Exception) -> InternalError:
        actions = "; ".join(action.name for action in self._fired(execution))
        return InternalError(
            f"{name}: the solver found an execution that does not replay.\n"
            f"solver: {actions}; choices: {', '.join(self._choice_names(execution)) or 'none'}\nreplay: {error}"
        )

    def _raise_wrong(self, execution: Execution) -> None:
        try:
            self._replayer.reach("well-defined", FALSE, self._fired(execution), self._choice_names(execution))
        except NotAnExecution as error:
            raise self._does_not_replay("a badly defined update", execution, error) from error

    # How far the search is.

    def _task(self, names: tuple[str, ...]) -> Task:
        limits = self._limits
        invariants = tuple(i.name for i in self._invariants)
        return Task(
            names,
            limits.bound,
            limits.rounds,
            self._budgets(),
            self._objectives(),
            invariants=invariants,
            cube=self._cube or (),
        )

    def _objectives(self) -> tuple[Tally, ...]:
        steps = Tally(tuple(range(len(self._actions()))))
        if self._limits.minimize == "faults":
            kinds = fault_names(self._system)
            crashes = [self._tally(kinds, "crash")] if any("crash" in k for k in kinds) else []
            return (self._tally(kinds), *crashes, steps)
        return (steps,) if self._limits.minimize == "steps" or self._limits.count > 1 else ()

    def _budgets(self) -> tuple[tuple[Tally, int], ...]:
        return tuple((self._tally([name]), most) for name, most in self._limits.budgets.items())

    def _tally(self, faults: Sequence[str], containing: str = "") -> Tally:
        return tally(self._system, self._actions(), {name for name in faults if containing in name})

    def _rounds_needed(self, steps: int | None) -> int | None:
        """Rounds that cover every execution (of at most `steps` steps); None if not known."""
        known = [
            r for cap, r in self._complete.items() if cap is None or (steps is not None and cap >= steps)
        ]
        return max(min(known), 1) if known else None

    def _searched(self, name: str) -> int:
        """The deepest round without anything (cheaper) left to find."""
        clean = self._clean.get(name)
        return clean.rounds if clean and clean.below == self._costs.get(name) else 0

    def _by_induction(self, name: str) -> int | None:
        """Over how many rounds induction proves the property; None if it does not, or not yet."""
        rounds = self._inductive.get(name)
        if rounds is None or name in self._traces or self._broken is not None:
            return None
        clean = min([self._searched(name), *([self._upheld] if self._invariants else [])])
        return rounds if clean >= base(rounds) else None

    def _induction_is_over(self, name: str) -> bool:
        """Nothing more can come of induction within the limit on rounds."""
        if not self._inducing or self._broken is not None or name in self._inductive:
            return True
        tried = self._not_inductive.get(name)
        return tried is not None and self._limits.rounds is not None and tried.rounds >= self._limits.rounds

    def _why_not_inductive(self, name: str) -> str | None:
        """Why induction did not prove the property, as far as is known."""
        if self._broken is not None:
            return _falsity(self._broken)
        tried = self._not_inductive.get(name)
        return _failure(tried) if tried is not None and name not in self._inductive else None

    def _is_fewest(self, name: str) -> bool:
        """No execution within the limits violates the property at a lower cost."""
        if self._limits.minimize == "none":
            return False
        steps = self._limits.bound
        if self._only_shorter_is_cheaper(name):
            steps = self._costs[name][-1] - 1
            if steps < 0:
                return True
        needed = self._rounds_needed(steps)
        return needed is not None and self._searched(name) >= needed

    def _only_shorter_is_cheaper(self, name: str) -> bool:
        """Steps are all that is counted, or nothing else is left to save: no trace has fewer faults than none."""
        return not any(self._costs[name][:-1])

    def _settled(self, name: str) -> bool:
        limit = self._limits.rounds
        if name in self._traces:
            at_limit = limit is not None and self._searched(name) >= limit
            return self._limits.minimize == "none" or self._is_fewest(name) or at_limit
        needed = self._rounds_needed(self._limits.bound)
        if needed is not None and self._searched(name) >= needed:
            return self._limits.bound is None or self._surpassed is not None
        if self._by_induction(name) is not None and name in self._witnessed:
            return True
        return self._is_clean_to_the_limit(name) and self._induction_is_over(name)

    def _is_clean_to_the_limit(self, name: str) -> bool:
        """All rounds asked for are searched without a violation, and there are longer executions."""
        limit = self._limits.rounds
        return limit is not None and self._searched(name) >= limit and self._longer >= limit

    def _all_settled(self) -> bool:
        return all(map(self._settled, self._properties))

    def _cap_completeness(self) -> None:
        """Once everything is violated, only executions shorter than the longest trace matter."""
        limits = self._limits
        if limits.minimize == "none" or limits.jobs == 1 or limits.bound is not None or self._complete:
            return
        if set(self._costs) != set(self._properties) or any(not self._searched(n) for n in self._properties):
            return
        if not all(map(self._only_shorter_is_cheaper, self._properties)):
            return
        if time.perf_counter() - self._searching < PATIENCE:
            return
        cap = max(costs[-1] for costs in self._costs.values()) - 1
        exhausting = [w for w in self._workers if "exhaust" in w.name.split("+")]
        if not exhausting or cap == self._cap:
            return
        for worker in exhausting:
            worker.kill()
            self._workers.remove(worker)
        self._cap = cap
        self._spawn(self._task(tuple(self._properties)), [("exhaust", cap)])

    # The results.

    def outcome(self) -> Outcome:
        """A result for each property from what is known now."""
        seconds = time.perf_counter() - self._begun
        spent = dict(self._prepared.seconds if self._prepared else {})
        spent["solving"] = self._solving
        results = tuple(self._result(name) for name in self._properties)
        names = [action.name for action in self._actions()] if self._cube else []
        cube = None if self._cube is None else described(self._cube, names)
        return Outcome(results, seconds, self.interrupted, spent, cube, self._surpassed)

    def _result(self, name: str) -> Result:
        needed = self._rounds_needed(self._limits.bound)
        rounds = self._searched(name)
        until = self._settled_at.get(name, time.perf_counter())
        undecided = Result(
            property=name,
            verdict=Verdict.UNDECIDED,
            rounds=rounds,
            searched=rounds,
            seconds=until - self._begun,
            solver=self._limits.solver,
            complete=needed is not None and rounds >= needed,
            witness=name in self._witnessed,
            bound=self._limits.bound,
        )
        if name in self._traces:
            return self._violated(undecided)
        if name in self._witnessed:
            self._reach(name, self._witnessed[name])
        not_inductive = self._why_not_inductive(name)
        if not (self._settled(name) or self._is_clean_to_the_limit(name)):
            reason = "interrupted" if self.interrupted else self._reason or "the search stopped early"
            return replace(undecided, reason="; ".join(filter(None, [reason, not_inductive])))
        if undecided.complete and needed is not None:
            undecided = replace(undecided, rounds=needed)
        if name not in self._witnessed:
            reason = f"never reached within the bound: {self._properties[name].witness_meaning}"
            if not undecided.complete or self._limits.bound is not None:
                reason += "; a larger bound may reach it"
            return replace(undecided, verdict=Verdict.VACUOUS, reason=reason)
        if undecided.complete and self._surpassed is not True:
            return replace(undecided, verdict=Verdict.PROVED, basis=Basis.ROUNDS)
        induction = self._by_induction(name)
        if induction is not None:
            return replace(
                undecided,
                verdict=Verdict.PROVED,
                basis=Basis.INDUCTION,
                induction=induction,
                invariants=tuple(i.name for i in self._invariants),
            )
        return replace(undecided, verdict=Verdict.HOLDS, reason=not_inductive)

    def _why_no_more(self, name: str) -> str | None:
        """Why there are fewer counterexamples than asked for, if there are."""
        if 1 + len(self._more.get(name, ())) >= self._limits.count:
            return None
        return self._no_more.get(name, "interrupted" if self.interrupted else self._reason)

    def _violated(self, undecided: Result) -> Result:
        name = undecided.property
        trace = self._traces[name]
        fewest = None
        if self._is_fewest(name):
            fewest = "proved"
        elif self._limits.minimize != "none" and self._searched(name) >= self._found_in[name]:
            fewest = "within-rounds"
        return replace(
            undecided,
            searched=max(self._searched(name), self._found_in[name]),
            minimized=self._limits.minimize,
            reason=self._why_no_more(name),
            verdict=Verdict.VIOLATED,
            rounds=self._found_in[name],
            steps=len(trace.steps),
            fewest=fewest,
            faults=dict(trace.faults),
            trace=trace,
            more_traces=tuple(self._more.get(name, ())),
        )
