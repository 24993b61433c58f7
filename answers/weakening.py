"""Mutation of a protocol: which property notices that a conjunct is left out, or that an update is skipped.

Each mutant is enumerated first, state by state. If it has too many states, the engines of `check` are asked.
A mutant is noticed if a property is violated that holds without the change, if a witness is out of reach, or
if the changed system is badly defined. It is equivalent if it reaches the same states. Nothing is noticed
then, because properties are about states.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum

from fencepost.answers.weakened_systems import Conjunct, Mutant, changed, is_idle, mutants, named_actions
from fencepost.encoding.check import check
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.steps import UNDECIDED, State, Step, decided
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.verdicts import Result, Verdict
from fencepost.encoding.enumeration.visits import Visits
from fencepost.encoding.errors import InternalError, ModelError, time_out
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.state import amount
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.solving.crew import Crew, OutOfTime
from fencepost.encoding.solving.workers import Ended, Worker, reason_of

MOST_STATES = 40_000
"""The states after which an enumeration of a mutant ends. They take about two seconds."""


class MutantOutcome(StrEnum):
    """The result for a mutant."""

    NOTICED = "noticed"
    EQUIVALENT = "equivalent"
    UNNOTICED = "not noticed"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Notice:
    """A property that notices a mutant: it is violated, or it becomes vacuous.

    `steps` are those of the replayed counterexample.
    """

    property: str
    verdict: Verdict
    steps: int | None = None


@dataclass(frozen=True)
class MutantFinding:
    """The finding about a mutant.

    `noticed_by` has the properties. It is empty if the engine refuses the changed system; `reason` then says
    why. Other outcomes have a reason too.
    """

    mutant: Mutant
    text: str
    outcome: MutantOutcome
    noticed_by: tuple[Notice, ...] = ()
    reason: str | None = None


@dataclass(frozen=True)
class Unchanged:
    """The instance without a change: the result of each property, and all reachable states if known."""

    instance: Instance
    results: tuple[Result, ...]
    states: frozenset[State] | None

    @property
    def clean(self) -> list[Property]:
        """The properties that no execution violates within the limits. Only these can notice a mutant."""
        found = {p.name: p for p in self.instance.system.properties}
        return [found[r.property] for r in self.results if _is_clean(r)]

    @property
    def exercised(self) -> list[str]:
        """The names of the clean properties whose witness is reached."""
        clean = {prop.name for prop in self.clean}
        return [r.property for r in self.results if r.property in clean and r.witness]


def _is_clean(result: Result) -> bool:
    if result.verdict in (Verdict.PROVED, Verdict.HOLDS):
        return True
    return result.verdict is Verdict.VACUOUS and result.complete


def unchanged(instance: Instance, properties: Sequence[Property], limits: Limits) -> Unchanged:
    """Check the instance without a change, and enumerate its states. Raises KeyboardInterrupt."""
    outcome = check(instance, properties, limits)
    if outcome.interrupted:
        raise KeyboardInterrupt
    gone = replace(limits, gone=limits.gone + outcome.seconds)
    found: frozenset[State] | None = None
    for message in _messages(Worker("states", _states, instance.system, gib=limits.memory), gone, "states"):
        found = message if isinstance(message, frozenset) else None
    return Unchanged(instance, outcome.results, found)


def weaken(known: Unchanged, limits: Callable[[int], Limits]) -> Iterator[MutantFinding]:
    """Yield the finding about each mutant. Raises KeyboardInterrupt.

    `limits` returns the limits of the next mutant, given how many are left.
    """
    made = mutants(known.instance.written)
    for left, (mutant, text) in zip(range(len(made), 0, -1), made.items(), strict=True):
        yield replace(finding(known, mutant, limits(left)), text=text)


def finding(known: Unchanged, mutant: Mutant, limits: Limits) -> MutantFinding:
    """Return the finding about one mutant, without its text. Raises KeyboardInterrupt."""
    written = known.instance.written
    if is_idle(written, mutant):
        why = "never applies" if not isinstance(mutant, Conjunct) else "is always true"
        return MutantFinding(mutant, "", MutantOutcome.EQUIVALENT, reason=f"it {why} on this instance")
    if not known.clean:
        return _undecided(mutant, "no property is known to hold without the change")
    begun = time.perf_counter()
    try:
        system = known.instance.protocol.fold(changed(written, mutant))
        sent_at_most_once(system)
        seen = _enumerated(known, mutant, system, limits)
        if isinstance(seen, MutantFinding):
            return seen
        spent = replace(limits, gone=limits.gone + time.perf_counter() - begun)
        return _checked(known, mutant, system, spent)
    except ModelError as error:
        return _refused(mutant, error)


def _undecided(mutant: Mutant, reason: str) -> MutantFinding:
    return MutantFinding(mutant, "", MutantOutcome.UNDECIDED, reason=reason)


def _refused(mutant: Mutant, error: Exception | str) -> MutantFinding:
    brief = re.split(r"[:;] ", str(error))[0]
    return MutantFinding(mutant, "", MutantOutcome.NOTICED, reason=f"badly defined: {brief}")


# Enumeration.


@dataclass(frozen=True)
class Enumerated:
    """The message that all states of a mutant were visited, or that each property is violated.

    `violated` has the steps of a counterexample by property, `unreached` the properties whose witness is out
    of reach. `same` says whether the states are those without the change, None if that is not known.
    """

    violated: Mapping[str, int]
    unreached: tuple[str, ...]
    states: int
    same: bool | None


def _enumerated(known: Unchanged, mutant: Mutant, system: System, limits: Limits) -> MutantFinding | None:
    """Return the finding of an enumeration, or None if there are too many states."""
    worker = Worker("enumeration", _enumerate, known, mutant, system, gib=limits.memory)
    for message in _messages(worker, limits, "enumeration"):
        if isinstance(message, str):
            return _undecided(mutant, message)
        if isinstance(message, Enumerated):
            return _judged(mutant, message)
    return None


def _judged(mutant: Mutant, seen: Enumerated) -> MutantFinding:
    notices = [Notice(name, Verdict.VIOLATED, steps) for name, steps in seen.violated.items()]
    notices += [Notice(name, Verdict.VACUOUS) for name in seen.unreached]
    if notices:
        return MutantFinding(mutant, "", MutantOutcome.NOTICED, tuple(notices))
    states = amount(seen.states, "state")
    if seen.same:
        return MutantFinding(mutant, "", MutantOutcome.EQUIVALENT, reason=f"it reaches the same {states}")
    return MutantFinding(
        mutant, "", MutantOutcome.UNNOTICED, reason=f"no property is violated in its {states}"
    )


def _messages(worker: Worker, limits: Limits, doing: str) -> Iterator[object]:
    """Yield the messages of a worker, and as the last one the reason if it was cut short.

    Raises ModelError and InternalError of the worker.
    """
    with Crew(time.perf_counter() + limits.timeout - limits.gone) as crew:
        crew.start(worker)
        try:
            for _, message in crew.heard():
                if not isinstance(message, Ended):
                    yield message
                elif (reason := reason_of(message, doing, limits.memory)) is not None:
                    yield reason
        except OutOfTime:
            yield time_out(limits.timeout)


def _states(system: System) -> Iterator[frozenset[State]]:
    """Yield all reachable states, unless they are too many."""
    found = {node for node, _ in itertools.islice(Visits(Concrete(system)).nodes(), MOST_STATES)}
    if len(found) < MOST_STATES:
        yield frozenset(found)


def _enumerate(known: Unchanged, mutant: Mutant, system: System) -> Iterator[Enumerated]:
    """Visit the states of a mutant, and yield what they show unless they are too many."""
    concrete, subject = Concrete(system), known.instance.subject
    replayer, visits = Replayer(system, subject), Visits(concrete)
    clean = {prop.name for prop in known.clean}
    claims = {prop.name: prop for prop in system.properties if prop.name in clean}
    holds = {name: concrete.predicate(prop.holds) for name, prop in claims.items()}
    witnesses = {name: concrete.predicate(claims[name].witness) for name in known.exercised}
    violated: dict[str, int] = {}
    receipts = _Receipts(known.instance.system, system, mutant, subject)
    found: set[State] = set()
    for node, _ in visits.nodes():
        found.add(node)
        for name in [name for name in holds if not holds[name](node)]:
            actions, reached, beginning = visits.path(node)
            names = [system.choices[number].name for number in visits.losses(reached)]
            violated[name] = len(replayer.replay(claims[name], actions, names, beginning).steps)
            del holds[name]
        for name in [name for name in witnesses if witnesses[name](node)]:
            del witnesses[name]
        receipts.look(visits, node)
        if not holds:
            yield Enumerated(violated, (), len(found), False)
            return
        if len(found) == MOST_STATES:
            if violated:
                yield Enumerated(violated, (), len(found), False)
            return
    vacuous = tuple(name for name in witnesses if name not in violated)
    same = None if known.states is None else found == known.states
    yield Enumerated(violated, vacuous, len(found), same)


class _Receipts:
    """The steps that only the change allows, and that receive a message: is that message under way?"""

    def __init__(self, before: System, after: System, mutant: Mutant, subject: Subject) -> None:
        self._replayer, one = Replayer(after, subject), Concrete(before)
        old = {action.name: one.step(action) for action in before.ground_actions}
        self._open: dict[str, tuple[Step | None, Step]] = {}
        if isinstance(mutant, Conjunct):
            schema = named_actions(after)[mutant.action]
            for action in after.ground_actions:
                if action.schema is schema and schema.action.received is not None:
                    self._open[action.name] = old.get(action.name), self._replayer.concrete.step(action)

    def look(self, visits: Visits, node: State) -> None:
        """Take each new step from a node, once for each action; raises ModelError for a wrong receipt."""
        for name, (before, after) in list(self._open.items()):
            for state in decided(node, _read_open(node, before, after)):
                if next(after.successors(state), None) is None:
                    continue
                if before is not None and next(before.successors(state), None) is not None:
                    continue
                del self._open[name]
                actions, _, beginning = visits.path(node)
                system = self._replayer.system
                names = [system.choices[number].name for number in visits.losses(state)]
                with suppress(NotAnExecution):
                    self._replayer.record("receipts", [*actions, after.action], names, beginning)
                break


def _read_open(node: State, *steps: Step | None) -> list[int]:
    """Return the places of the open choices that the steps read."""
    return sorted({p for step in steps if step is not None for p in step.choices if node[p] == UNDECIDED})


# The engines of `check`.


@dataclass(frozen=True)
class _Changed:
    """A changed system under the names of the instance that it comes from."""

    system: System
    subject: Subject


def _checked(known: Unchanged, mutant: Mutant, system: System, limits: Limits) -> MutantFinding:
    """Return the finding of a check of the changed system."""
    one = replace(limits, minimize=Minimize.NONE, one_is_enough=True, enumeration_first=True)
    names = [prop.name for prop in known.clean]
    properties = [prop for prop in system.properties if prop.name in names]
    outcome = check(_Changed(system, known.instance.subject), properties, one)
    if outcome.interrupted:
        raise KeyboardInterrupt
    notices = [
        Notice(r.property, r.verdict, r.steps)
        for r in outcome.results
        if r.verdict is Verdict.VIOLATED
        or (r.verdict is Verdict.VACUOUS and r.complete and r.property in known.exercised)
    ]
    if notices:
        return MutantFinding(mutant, "", MutantOutcome.NOTICED, tuple(notices))
    for result in outcome.results:
        if not _is_clean(result):
            return _undecided(mutant, f"{result.property}: {result.reason or result.verdict.value}")
    if any(result.verdict is Verdict.HOLDS for result in outcome.results):
        rounds = amount(max(result.rounds for result in outcome.results), "round")
        return MutantFinding(
            mutant, "", MutantOutcome.UNNOTICED, reason=f"no property is violated in {rounds}"
        )
    if len(outcome.results) != len(names):
        raise InternalError(f"{mutant}: {len(names)} properties asked, {len(outcome.results)} answered")
    return MutantFinding(mutant, "", MutantOutcome.UNNOTICED, reason="no property is violated")
