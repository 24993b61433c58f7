"""Is every conjunct of every guard there for a reason? Each is left out, one at a time.

A conjunct is *implied* if, in all reachable states of all instances given, the rest of its guard implies it:
leaving it out changes nothing. It is *caught* if the system without it violates a property that the system
with it is known not to violate, or is refused as ill-defined. It is *open* if it is neither: something
happens without it that nobody minds, or nobody found out in time.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from multiprocessing.connection import wait

from fencepost.encoding.checking import Limits, Send, check
from fencepost.encoding.errors import InternalError, ModelError
from fencepost.encoding.solvers import Progress, Session
from fencepost.encoding.state import show
from fencepost.encoding.system import Property, System
from fencepost.encoding.terms import TRUE, all_of
from fencepost.encoding.traces import NotAnExecution, Replayer, Subject, Trace
from fencepost.encoding.verdicts import Result, Verdict
from fencepost.encoding.weakening import Conjunct, conjuncts, described, needed, without
from fencepost.encoding.workers import Ended, Worker


@dataclass(frozen=True)
class Instance:
    """A system to try conjuncts on, and the name it has in what is found."""

    name: str
    system: System
    subject: Subject


@dataclass(frozen=True)
class Effort:
    """Seconds and rounds to spend.

    `whole` seconds go to each question about an instance as it is: which properties hold, which conjuncts
    are implied. A system with a conjunct left out is searched for `glance_rounds` rounds on every instance
    first, then for `rounds` rounds or `seconds` seconds.
    """

    whole: float = 600.0
    glance_rounds: int = 3
    rounds: int = 10
    seconds: float = 30.0


class Outcome(Enum):
    """What became of a conjunct."""

    IMPLIED = "implied"
    CAUGHT = "caught by a property"
    REFUSED = "caught by the engine"
    OPEN = "open"


@dataclass(frozen=True)
class Finding:
    """What is known of a conjunct, with the reason in words."""

    conjunct: Conjunct
    text: str
    outcome: Outcome
    reason: str


@dataclass(frozen=True)
class Known:
    """What is known of an instance as it is."""

    instance: Instance
    clean: tuple[Property, ...]
    """The properties that no execution violates: the only ones that can catch anything here."""
    implied: Mapping[Conjunct, bool]
    """For each conjunct whether the rest of its guard implies it; those not decided in time are left out."""
    texts: Mapping[Conjunct, str]
    rounds: int | None
    """Rounds that cover every execution; None if not found in time."""
    seconds: float
    """What it took to find out: the order in which instances are tried."""


def classify(
    instances: Sequence[Instance],
    effort: Effort,
    wanted: Callable[[Conjunct], bool] = lambda conjunct: True,
    listener: Callable[[Known | Finding], None] = lambda news: None,
) -> list[Finding]:
    """What becomes of each conjunct that is wanted, on these instances."""
    known = []
    for instance in instances:
        known.append(know(instance, effort, wanted))
        listener(known[-1])
    texts = {conjunct: text for facts in known for conjunct, text in facts.texts.items()}
    findings = []
    for conjunct, text in texts.items():
        findings.append(find(conjunct, text, known, effort))
        listener(findings[-1])
    return findings


# An instance as it is.


def know(instance: Instance, effort: Effort, wanted: Callable[[Conjunct], bool]) -> Known:
    """Check the properties of an instance, and ask which of its conjuncts are implied."""
    begun = time.perf_counter()
    limits = Limits(minimize="none", timeout=effort.whole)
    results = check(instance.system, instance.subject, instance.system.properties, limits).results
    chosen = [conjunct for conjunct in conjuncts(instance.system) if wanted(conjunct)]
    implied, rounds = decide(instance.system, chosen, effort.whole)
    texts = described(instance.system)
    return Known(
        instance,
        tuple(p for p, r in zip(instance.system.properties, results, strict=True) if _is_clean(r)),
        implied,
        {conjunct: texts[conjunct] for conjunct in chosen},
        rounds,
        time.perf_counter() - begun,
    )


def _is_clean(result: Result) -> bool:
    """Every execution was covered, and none violates the property (though none may exercise it)."""
    return result.complete and result.verdict in (Verdict.PROVED, Verdict.VACUOUS)


@dataclass(frozen=True)
class Covered:
    """No execution needs more rounds than that."""

    rounds: int


@dataclass(frozen=True)
class Decided:
    """Whether the rest of its guard implies a conjunct, by its number."""

    number: int
    implied: bool


def decide(
    system: System, chosen: Sequence[Conjunct], seconds: float
) -> tuple[dict[Conjunct, bool], int | None]:
    """Which conjuncts are implied by the rest of their guards in all reachable states, as far as time allows.

    Also the rounds that cover every execution.
    """
    worker = Worker("guards", deciding, system, chosen, gib=None)
    implied: dict[Conjunct, bool] = {}
    rounds = None
    try:
        for message in _until(worker, time.perf_counter() + seconds):
            if isinstance(message, Covered):
                rounds = message.rounds
            elif isinstance(message, Decided):
                implied[chosen[message.number]] = message.implied
    finally:
        worker.kill()
    return implied, rounds


def _until(worker: Worker, end: float) -> Iterator[object]:
    """What a worker says until it has no more to say, or it is too late."""
    while (left := end - time.perf_counter()) > 0 and wait([worker.connection], timeout=left):
        message = worker.receive()
        if not isinstance(message, Ended):
            yield message
            continue
        if message.kind == ModelError.__name__:
            raise ModelError(message.says)
        if message.error is not None and not message.memory:
            raise InternalError(f"{worker.name} failed: {message.error}")
        return


def deciding(
    send: Send, system: System, chosen: Sequence[Conjunct]
) -> list[Iterator[Progress | Covered | Decided]]:
    """What the deciding process runs."""
    return [_deciding(system, chosen)]


def _deciding(system: System, chosen: Sequence[Conjunct]) -> Iterator[Progress | Covered | Decided]:
    """Rounds until they cover every execution, then one question for each conjunct not yet seen to be needed."""
    from fencepost.encoding.commutation import Commutation
    from fencepost.encoding.formulas import Symbolic
    from fencepost.encoding.templates import template

    symbolic = Symbolic(system)
    outputs = {str(number): needed(system, conjunct) for number, conjunct in enumerate(chosen)}
    made = template(symbolic, Commutation(symbolic).blockers(), outputs, over_choices=True)
    session = Session(made, "cadical")
    longer = True
    while longer:
        session.deepen()
        yield session.progress()
        guard = session.unrolling.fresh()
        session.add([[-guard, *session.unrolling.fires(session.rounds)]])
        longer = session.solve([guard])
    yield Covered(session.rounds - 1)
    session.add([[-fire] for fire in session.unrolling.fires(session.rounds)])
    waiting = {number: session.unrolling.output(str(number), session.rounds) for number in range(len(chosen))}
    while waiting:
        number, asked = next(iter(waiting.items()))
        if not session.solve([asked]):
            del waiting[number]
            yield Decided(number, True)
            continue
        model = session.model()
        for seen in [n for n, output in waiting.items() if model[output - 1] > 0]:
            del waiting[seen]
            yield Decided(seen, False)


# A conjunct left out.


@dataclass(frozen=True)
class Trial:
    """What the search of one weakened system came to."""

    outcome: Outcome
    says: str
    final: bool = True
    """A longer search would say the same."""


def find(conjunct: Conjunct, text: str, known: Sequence[Known], effort: Effort) -> Finding:
    """What becomes of one conjunct: implied on all instances that have it, or caught on one, or open."""
    having = [facts for facts in known if conjunct in facts.texts]
    doubtful = [facts for facts in having if not facts.implied.get(conjunct, False)]
    if not doubtful:
        return Finding(conjunct, text, Outcome.IMPLIED, f"on {_names(having)}")
    trials: dict[str, Trial] = {}
    for rounds in (effort.glance_rounds, effort.rounds):
        limits = Limits(minimize="none", rounds=rounds, timeout=effort.seconds)
        for facts in sorted(doubtful, key=lambda facts: facts.seconds):
            name = facts.instance.name
            if name in trials and trials[name].final:
                continue
            trial = trials[name] = attempt(facts, conjunct, limits)
            if trial.outcome is not Outcome.OPEN:
                return Finding(conjunct, text, trial.outcome, trial.says)
    reasons = [f"{name}: {trial.says}" for name, trial in sorted(trials.items())]
    undecided = [facts for facts in doubtful if conjunct not in facts.implied]
    if undecided:
        reasons.append(f"may be implied on {_names(undecided)}")
    if len(doubtful) < len(having):
        reasons.append(f"implied on {_names([facts for facts in having if facts not in doubtful])}")
    return Finding(conjunct, text, Outcome.OPEN, "; ".join(reasons))


def _names(known: Sequence[Known]) -> str:
    return ", ".join(facts.instance.name for facts in known)


def attempt(facts: Known, conjunct: Conjunct, limits: Limits) -> Trial:
    """Leave the conjunct out, and look for an execution that violates a property which was clean before."""
    instance = facts.instance
    weakened = without(instance.system, conjunct)
    together = Property("clean", "", all_of(*(p.holds for p in facts.clean)), TRUE, "")
    try:
        result = check(weakened, instance.subject, [together], limits).results[0]
    except ModelError as error:
        return Trial(Outcome.REFUSED, f"on {instance.name}: {error}")
    if result.trace is not None:
        name = violated_property(weakened, facts.clean, result.trace)
        return Trial(Outcome.CAUGHT, f"{name} on {instance.name}, {len(result.trace.steps)} steps")
    if result.verdict is Verdict.PROVED:
        return Trial(Outcome.OPEN, "no property is violated")
    if result.verdict is Verdict.HOLDS:
        return Trial(Outcome.OPEN, f"no property is violated in {result.rounds} rounds", final=False)
    return Trial(Outcome.OPEN, f"undecided after {result.rounds} rounds, {limits.timeout:g} s", final=False)


def violated_property(system: System, properties: Sequence[Property], trace: Trace) -> str:
    """The first of the properties that is violated at the end of the trace."""
    actions = [system.find(step.action, [show(a) for a in step.arguments.values()]) for step in trace.steps]
    choices = [v.name for v in system.variables if v.is_choice and trace.initial.get(v.name)]
    replayer = Replayer(system, Subject(trace.protocol, trace.parameters, trace.switches))
    for prop in properties:
        with contextlib.suppress(NotAnExecution):
            replayer.reach(prop.name, ~prop.holds, [a for a in actions if a], choices)
            return prop.name
    raise InternalError(f"{trace.property}: the trace violates none of {[p.name for p in properties]}")
