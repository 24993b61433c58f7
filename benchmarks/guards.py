"""Leave out each conjunct of each guard, one at a time, and find out whether it is needed.

A conjunct is *implied* if, in all reachable states of all given instances, the rest of its guard implies
it. Leaving it out changes nothing. It is *caught* if the system without it violates a property that the
original system is known to satisfy. It is also caught if the system without it is refused: it is
ill-defined, or it receives a message that is not under way. All other conjuncts are *open*: no property
forbids what they prevent, or time ran out.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

from guard_conjuncts import Conjunct, conjuncts, described, needed, oversteps, relaxed, without

from fencepost.encoding.check import check
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.verdicts import Result, Verdict
from fencepost.encoding.errors import InternalError, ModelError
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import all_of
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.rounds.round_solver import RoundSolver
from fencepost.encoding.rounds.search import executed
from fencepost.encoding.solving.solvers import Progress
from fencepost.encoding.solving.workers import Ended, Worker

if TYPE_CHECKING:
    from fencepost.encoding.formulas.symbolic import Symbolic


@dataclass(frozen=True)
class Instance:
    """A system to try conjuncts on, and its name in the findings."""

    name: str
    system: System
    subject: Subject


@dataclass(frozen=True)
class Effort:
    """The seconds and rounds to spend.

    `whole` seconds go to each question about an unchanged instance: the properties that hold, and the
    conjuncts that are implied. With conjuncts left out, an instance is searched for `rounds` rounds or
    `seconds` seconds, for all conjuncts together.
    """

    whole: float = 600.0
    rounds: int = 8
    seconds: float = 30.0


class Outcome(Enum):
    """The result for a conjunct."""

    IMPLIED = "implied"
    CAUGHT = "caught by a property"
    REFUSED = "caught by the engine"
    OPEN = "open"


@dataclass(frozen=True)
class Finding:
    """The finding about a conjunct, with the reason in words."""

    conjunct: Conjunct
    text: str
    outcome: Outcome
    reason: str


@dataclass(frozen=True)
class Known:
    """The knowledge about an unchanged instance."""

    instance: Instance
    clean: tuple[Property, ...]
    """The properties that no execution violates. Only these can catch a conjunct here."""
    asked: Answers
    """The conjuncts that are implied, and paths to states in which the others are needed."""
    chosen: tuple[Conjunct, ...]
    """The conjuncts that were asked about."""
    seconds: float
    """The seconds of these questions, by which instances are ordered."""

    @property
    def implied(self) -> Mapping[Conjunct, bool]:
        """Whether each conjunct is implied. Those not decided in time are left out."""
        return self.asked.implied

    @property
    def rounds(self) -> int | None:
        """The rounds that cover every execution; None if not found in time."""
        return self.asked.rounds


def classify(
    instances: Sequence[Instance],
    effort: Effort,
    wanted: Callable[[Conjunct], bool] = lambda conjunct: True,
    listener: Callable[[Known | Finding], None] = lambda news: None,
) -> list[Finding]:
    """Return the finding about each wanted conjunct on these instances."""
    known = []
    for instance in instances:
        known.append(know(instance, effort, wanted))
        listener(known[-1])
    described_all = described(instance.system for instance in instances)
    texts = {conjunct: text for conjunct, text in described_all.items() if wanted(conjunct)}
    trials: dict[Conjunct, dict[str, Trial]] = {conjunct: {} for conjunct in texts}
    settled: dict[Conjunct, Finding] = {}

    def settle(conjunct: Conjunct, outcome: Outcome, reason: str) -> None:
        settled[conjunct] = Finding(conjunct, texts[conjunct], outcome, reason)
        listener(settled[conjunct])

    for conjunct in texts:
        having = [known_here for known_here in known if conjunct in known_here.chosen]
        if all(known_here.implied.get(conjunct, False) for known_here in having):
            settle(conjunct, Outcome.IMPLIED, _names(having))
    for known_here in sorted(known, key=lambda known_here: known_here.seconds):
        doubtful = [c for c in known_here.chosen if c not in settled and not known_here.implied.get(c, False)]
        for conjunct, trial in attempt(known_here, doubtful, effort).items():
            trials[conjunct][known_here.instance.name] = trial
            if trial.outcome is not Outcome.OPEN:
                settle(conjunct, trial.outcome, trial.says)
    for conjunct in texts:
        if conjunct not in settled:
            settle(conjunct, Outcome.OPEN, _why_open(conjunct, known, trials[conjunct]))
    return [settled[conjunct] for conjunct in texts]


def _why_open(conjunct: Conjunct, known: Sequence[Known], trials: Mapping[str, Trial]) -> str:
    """Return the results on each instance, with instances of the same result together."""
    says: dict[str, list[str]] = {}
    for known_here in known:
        name = known_here.instance.name
        if name in trials:
            doubt = "" if conjunct in known_here.implied else " (may be implied)"
            says.setdefault(trials[name].says + doubt, []).append(name)
        elif conjunct in known_here.chosen:
            says.setdefault("implied", []).append(name)
    return "; ".join(f"{', '.join(names)}: {what}" for what, names in says.items())


def _names(known: Sequence[Known]) -> str:
    return ", ".join(known_here.instance.name for known_here in known)


# An instance as it is.


def know(instance: Instance, effort: Effort, wanted: Callable[[Conjunct], bool]) -> Known:
    """Check the properties of an instance, and ask which of its conjuncts are implied."""
    begun = time.perf_counter()
    limits = Limits(minimize=Minimize.NONE, timeout=effort.whole)
    results = check(instance, instance.system.properties, limits).results
    chosen = tuple(conjunct for conjunct in conjuncts(instance.system) if wanted(conjunct))
    asked = decide(instance.system, chosen, effort.whole)
    return Known(
        instance,
        tuple(p for p, r in zip(instance.system.properties, results, strict=True) if _is_clean(r)),
        asked,
        chosen,
        time.perf_counter() - begun,
    )


def _is_clean(result: Result) -> bool:
    """Return whether every execution was covered and none violates the property.

    The property may be vacuous.
    """
    return result.verdict is Verdict.PROVED or (result.complete and result.verdict is Verdict.VACUOUS)


@dataclass(frozen=True)
class Covered:
    """The message that no execution needs more rounds."""

    rounds: int


@dataclass(frozen=True)
class Path:
    """An execution as positions in the system's lists of ground actions and choices."""

    actions: tuple[int, ...]
    choices: tuple[int, ...]


@dataclass(frozen=True)
class Decided:
    """The message whether the conjunct of that number is implied."""

    number: int
    needed: Path | None
    """A path to a state in which it is not implied; None if it is implied."""


@dataclass(frozen=True)
class Answers:
    """The answers about the conjuncts of a system, as far as time allowed."""

    rounds: int | None
    """The rounds that cover every execution."""
    needed: Mapping[Conjunct, Path | None]
    """A path to a state in which only that conjunct prevents its action; None if it is implied."""

    @property
    def implied(self) -> dict[Conjunct, bool]:
        """Whether the rest of its guard implies each conjunct in all reachable states."""
        return {conjunct: path is None for conjunct, path in self.needed.items()}


def decide(system: System, chosen: Sequence[Conjunct], seconds: float) -> Answers:
    """Return which conjuncts the rest of their guards implies, as far as time allows."""
    worker = Worker("guards", deciding, system, chosen, gib=None)
    needed_at: dict[Conjunct, Path | None] = {}
    rounds = None
    try:
        for message in _until(worker, time.perf_counter() + seconds):
            if isinstance(message, Covered):
                rounds = message.rounds
            elif isinstance(message, Decided):
                needed_at[chosen[message.number]] = message.needed
    finally:
        worker.kill()
    return Answers(rounds, needed_at)


def _until(worker: Worker, end: float) -> Iterator[object]:
    """Yield the messages of a worker until it ends or time is up."""
    while (left := end - time.perf_counter()) > 0 and wait([worker.connection], timeout=left):
        message = worker.receive()
        if not isinstance(message, Ended):
            yield message
            continue
        if message.kind == ModelError.__name__:
            raise ModelError(message.says)
        if message.error is not None and not message.gave_up:
            raise InternalError(f"{worker.name} failed: {message.error}")
        return


def deciding(system: System, chosen: Sequence[Conjunct]) -> Iterator[Progress | Covered | Decided]:
    """Yield rounds until they cover every execution, then an answer for each remaining conjunct."""
    from fencepost.encoding.formulas.commutation import Commutation
    from fencepost.encoding.formulas.one_round import template
    from fencepost.encoding.formulas.symbolic import Symbolic

    class OverChoices(Symbolic):
        """A translation in which terms may read choices, as conjuncts of guards do."""

        def _refuse_choices(self) -> None:
            pass

    symbolic = OverChoices(system)
    outputs = {str(number): needed(system, conjunct) for number, conjunct in enumerate(chosen)}
    made = template(symbolic, Commutation(symbolic).blockers(), outputs)
    session = RoundSolver(made, "cadical")
    actions = _places(symbolic)
    longer = True
    while longer:
        session.deepen()
        yield session.progress()
        longer = session.solve([session.fires_last()])
    yield Covered(session.rounds - 1)
    session.add([[-fire] for fire in session.unrolling.fires(session.rounds)])
    waiting = {number: session.unrolling.output(str(number), session.rounds) for number in range(len(chosen))}
    while waiting:
        number, asked = next(iter(waiting.items()))
        if not session.solve([asked]):
            del waiting[number]
            yield Decided(number, None)
            continue
        model, path = session.model(), _path(session, actions)
        for seen in [n for n, output in waiting.items() if model[output - 1] > 0]:
            del waiting[seen]
            yield Decided(seen, path)


def _places(symbolic: Symbolic) -> list[int]:
    """Return the number of the ground action of each slot."""
    order = {action: number for number, action in enumerate(symbolic.system.ground_actions)}
    return [order[action] for action in symbolic.actions]


def _path(session: RoundSolver, actions: Sequence[int]) -> Path:
    """Return the execution that was just found."""
    execution = executed(session)
    return Path(tuple(actions[slot] for slot in execution.slots), execution.choices)


# A conjunct left out.


@dataclass(frozen=True)
class Trial:
    """The result of leaving a conjunct out of one instance."""

    outcome: Outcome
    says: str


@dataclass(frozen=True)
class Broken:
    """The message that this execution goes wrong without the conjunct of that number."""

    number: int
    path: Path


@dataclass(frozen=True)
class Searched:
    """The message that nothing goes wrong within so many rounds; `whole`: nor in longer executions."""

    number: int
    rounds: int
    whole: bool


def attempt(known_here: Known, chosen: Sequence[Conjunct], effort: Effort) -> dict[Conjunct, Trial]:
    """Leave each conjunct out, one at a time, and look for an execution that should not be."""
    instance = known_here.instance
    trials = {}
    for conjunct in chosen:
        try:
            sent_at_most_once(without(instance.system, conjunct))
        except ModelError as error:
            trials[conjunct] = Trial(Outcome.REFUSED, f"on {instance.name}: {_brief(error)}")
    trials |= overstep(known_here, [conjunct for conjunct in chosen if conjunct not in trials])
    left = [conjunct for conjunct in chosen if conjunct not in trials]
    if not left:
        return trials
    trials |= {c: Trial(Outcome.OPEN, f"not searched within {effort.seconds:g} s") for c in left}
    worker = Worker("breaking", breaking, instance.system, left, known_here.clean, effort.rounds, gib=None)
    try:
        for message in _until(worker, time.perf_counter() + effort.seconds):
            if isinstance(message, Broken):
                trials[left[message.number]] = replay(known_here, left[message.number], message)
            elif isinstance(message, Searched):
                trials[left[message.number]] = Trial(Outcome.OPEN, _says(message))
    finally:
        worker.kill()
    return trials


def overstep(known_here: Known, chosen: Sequence[Conjunct]) -> dict[Conjunct, Trial]:
    """Yield the conjuncts that the engine catches one step after a state in which they are needed.

    Only the weaker guard allows that step. It may receive a message that is not under way.
    """
    system = known_here.instance.system
    replayer = Replayer(system, known_here.instance.subject)
    trials = {}
    for conjunct in chosen:
        path = known_here.asked.needed.get(conjunct)
        if path is None:
            continue
        actions, choices = [system.ground_actions[number] for number in path.actions], _names_of(system, path)
        states = replayer.follow(actions, choices)
        try:
            for action in oversteps(system, conjunct, replayer.concrete, states[-1]):
                replayer.steps([*actions, action], [*states, replayer.after(action, states)])
        except ModelError as error:
            trials[conjunct] = Trial(Outcome.REFUSED, f"on {known_here.instance.name}: {_brief(error)}")
    return trials


def _brief(error: ModelError) -> str:
    """Return the error without its advice."""
    return re.split(r"[:;] ", str(error))[0]


def _says(message: Searched) -> str:
    return "no property is violated" if message.whole else f"none violated in {message.rounds} rounds"


def breaking(
    system: System, chosen: Sequence[Conjunct], clean: Sequence[Property], rounds: int
) -> Iterator[Progress | Broken | Searched]:
    """Search all weakened systems in one solver, in 1, 2, 3 … rounds, each by its assumptions."""
    session, left_out, actions = _relaxed_session(system, chosen, clean)
    waiting, searched = dict(enumerate(left_out)), [0] * len(chosen)
    for round_ in range(1, rounds + 1):
        session.deepen()
        yield session.progress()
        for number, literal in list(waiting.items()):
            answer = _goes_wrong(session, literal)
            if answer:
                yield Broken(number, _path(session, actions))
                del waiting[number]
            elif answer is False and searched[number] == round_ - 1:
                searched[number] = round_
                yield Searched(number, round_, False)
        if not waiting:
            return
    session.deepen()
    longer = session.fires_last()
    for number, literal in waiting.items():
        if searched[number] == rounds and session.attempt([literal, longer]) is False:
            yield Searched(number, rounds, True)


def _relaxed_session(
    system: System, chosen: Sequence[Conjunct], clean: Sequence[Property]
) -> tuple[RoundSolver, list[int], list[int]]:
    """Return a solver without rounds, the variables that leave out conjuncts, and the slots' actions."""
    from fencepost.encoding.formulas.commutation import Commutation
    from fencepost.encoding.formulas.one_round import template
    from fencepost.encoding.formulas.symbolic import Symbolic

    symbolic = Symbolic(relaxed(system, chosen))
    outputs = {"bad": ~all_of(*(p.holds for p in clean))}
    session = RoundSolver(template(symbolic, Commutation(symbolic).blockers(), outputs), "cadical")
    first = session.unrolling.template.choices - len(chosen)
    left_out = [session.unrolling.choice(first + number) for number in range(len(chosen))]
    session.add([[-a, -b] for a, b in itertools.combinations(left_out, 2)])
    return session, left_out, _places(symbolic)


def _goes_wrong(session: RoundSolver, left_out: int) -> bool | None:
    """Return whether the last round goes wrong: ill-defined or violating; None if not decided in time."""
    answers = []
    for name in ("wrong", "bad"):
        answers.append(session.attempt([left_out, session.unrolling.output(name, session.rounds)]))
        if answers[-1]:
            return True
    return None if None in answers else False


def replay(known_here: Known, conjunct: Conjunct, broken: Broken) -> Trial:
    """Run the execution on plain values, in the system without the conjunct, and say what it breaks."""
    instance = known_here.instance
    weakened = without(instance.system, conjunct)
    replayer = Replayer(weakened, instance.subject)
    actions = [weakened.ground_actions[number] for number in broken.path.actions]
    choices = _names_of(weakened, broken.path)
    try:
        replayer.steps(actions, replayer.follow(actions, choices))
    except ModelError as error:
        return Trial(Outcome.REFUSED, f"on {instance.name}: {_brief(error)}")
    for prop in known_here.clean:
        with contextlib.suppress(NotAnExecution):
            trace = replayer.replay(prop, actions, choices)
            return Trial(Outcome.CAUGHT, f"{prop.name} on {instance.name}, {len(trace.steps)} steps")
    raise InternalError(
        f"{conjunct} left out: the solver found an execution that breaks nothing when replayed: "
        + "; ".join(action.name for action in actions)
    )


def _names_of(system: System, path: Path) -> list[str]:
    """Return the names of the choices that the path takes as true, without those of left-out conjuncts."""
    names = [v.name for v in system.choices]
    return [names[position] for position in path.choices if position < len(names)]
