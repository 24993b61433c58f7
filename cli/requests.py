"""Requests of a user: the instance asked for, and those that exercise the properties that it does not.

The command line and the public module turn words into an instance here, and nowhere else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Outcome, Result, Verdict
from fencepost.encoding.errors import BadInput, ModelError
from fencepost.encoding.induction.directed_simulation import simulate
from fencepost.encoding.language.protocol import Instance, Protocol, load
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.traces import Subject
from fencepost.properties.catalogue import find

RESERVE = 0.1
"""The share of the time that is kept for other instances, if properties may need them."""


def find_protocol(name: str, load: Callable[[Path], Protocol] = load) -> Protocol:
    """Return the preset of that name, or the protocol that `load` finds in a file. Raises BadInput.

    A name that ends in .py or has a slash is the path of a Python file.
    """
    return load(Path(name)) if name.endswith(".py") or "/" in name else find(name)


@dataclass(frozen=True)
class Request:
    """Properties to be checked on an instance, and the limits.

    `instead_of` is the instance that was asked for, if it does not exercise these properties.
    """

    instance: Instance
    properties: list[Property]
    limits: Limits
    instead_of: Instance | None = None

    @property
    def system(self) -> System:
        """The system of the instance."""
        return self.instance.system

    @property
    def subject(self) -> Subject:
        """The names and values under which the instance is reported."""
        return self.instance.subject


def not_begun(request: Request, interrupted: bool = True) -> Outcome:
    """Return the outcome of a request that was interrupted before it began, or was not reached yet."""
    reason = "interrupted" if interrupted else "not reached"
    results = [
        Result(prop.name, Verdict.UNDECIDED, seconds=0.0, solver=request.limits.solver, reason=reason)
        for prop in request.properties
    ]
    return Outcome(tuple(results), 0.0, interrupted, {})


@dataclass(frozen=True)
class CheckedRequest:
    """A request and its outcome."""

    request: Request
    outcome: Outcome
    uncertified: Mapping[str, str] | None = None
    """The reason why a result has no certificate, by property; None if no certificate was asked for."""

    @cached_property
    def known(self) -> list[list[str]]:
        """The known bugs that explain each result; only a violation has any."""
        results = self.outcome.results
        if all(result.trace is None for result in results):
            return [[] for _ in results]
        from fencepost.advice.explained_by import names_of

        return [names_of(result) for result in results]

    @property
    def limits(self) -> Limits:
        """The limits that bound the verdicts: a proof covers executions of any number of rounds."""
        if all(result.verdict is Verdict.PROVED for result in self.outcome.results):
            return replace(self.request.limits, rounds=None)
        return self.request.limits


def request_of(
    protocol: Protocol,
    settings: Sequence[tuple[str, object]],
    names: Iterable[str],
    release: str | None,
    limits: Limits,
    drop_declared: bool = False,
) -> Request:
    """Return the request about the instance with these settings. Raises BadInput and ModelError."""
    instance = protocol.instance(settings, release, drop_declared)
    properties = instance.claims(*names)
    return Request(instance, properties, limits.of(instance.system))


def small_instances(
    protocol: Protocol, settings: Sequence[tuple[str, str]], request: Request
) -> dict[str, list[Instance]]:
    """Return the instances that may exercise a property if the one asked for does not, by property.

    Without settings, a user's list of sizes is checked first. Raises BadInput and ModelError.
    """
    if not protocol.ships and not settings and request.instance.release is None:
        protocol.check_exercised()
    made = settings, request.instance.release, request.instance.drop_declared
    found = {p.name: protocol.small_instances(p.name, *made) for p in request.properties}
    return {name: instances for name, instances in found.items() if instances}


def seconds_from_now() -> Callable[[], float]:
    """Return a clock that counts the seconds from this call on."""
    begun = time.perf_counter()
    return lambda: time.perf_counter() - begun


@dataclass
class AskedRequests:
    """The request of the user, and those that take over properties of it, with their outcomes so far.

    An outcome is None before the request is over.
    """

    request: Request
    outcome: Outcome | None = None
    elsewhere: list[CheckedRequest] = field(default_factory=list)
    """The requests that are over, about properties on other instances."""
    now: Request | None = None
    """The request that is under way."""
    elapsed: Callable[[], float] = field(default_factory=seconds_from_now)
    """The seconds that are gone of the time for all requests."""

    def checked(self, under_way: Outcome | None = None) -> list[CheckedRequest]:
        """Return each request with its outcome; `under_way` is that of the request under way."""
        elsewhere = list(self.elsewhere)
        if self.now is not None and self.now.instead_of is not None:
            elsewhere.append(CheckedRequest(self.now, under_way or not_begun(self.now, interrupted=False)))
            under_way = None
        outcome = self.outcome or under_way or not_begun(self.request, interrupted=False)
        moved = [prop.name for one in elsewhere for prop in one.request.properties]
        return [_only(CheckedRequest(self.request, outcome), lambda name: name not in moved), *elsewhere]

    def interrupt(self) -> None:
        """Note that the command was interrupted between two requests."""
        self.outcome = replace(self.outcome or not_begun(self.request), interrupted=True)


def _only(one: CheckedRequest, wanted: Callable[[str], bool]) -> CheckedRequest:
    """Return the request and its outcome for those properties whose names are wanted."""
    properties = [prop for prop in one.request.properties if wanted(prop.name)]
    results = tuple(result for result in one.outcome.results if wanted(result.property))
    request = replace(one.request, properties=properties)
    return replace(one, request=request, outcome=replace(one.outcome, results=results))


def ask_all(
    asked: AskedRequests,
    small: Mapping[str, Sequence[Instance]],
    limits: Limits,
    ask: Callable[[Request, Limits], Outcome],
    says_nothing: Callable[[Result], bool],
) -> None:
    """Ask the request of the user; then ask elsewhere about properties of which the answer says nothing.

    Such a property goes from one of its `small` instances to the next, until an answer says something.
    """
    asked.now = first = asked.request
    until = first.limits.timeout * (1 - RESERVE if small else 1)
    asked.outcome = outcome = ask(first, replace(first.limits, timeout=until, gone=asked.elapsed()))
    empty = [result.property for result in outcome.results if says_nothing(result)]
    waiting = {name: _likely(name, small[name]) for name in empty if name in small}
    while waiting and not outcome.interrupted:
        instance = next(iter(waiting.values()))[0]
        names = [name for name, known in waiting.items() if known[0].parameters == instance.parameters]
        request = Request(instance, instance.claims(*names), limits.of(instance.system), first.instance)
        asked.now = request
        outcome = ask(request, _share_of(request, 1 / len(waiting), asked.elapsed()))
        said = [result.property for result in outcome.results if not says_nothing(result)]
        if said:
            asked.elsewhere.append(_only(CheckedRequest(request, outcome), said.__contains__))
        further = {name: waiting[name][1:] for name in names if name not in said}
        waiting = {name: known for name, known in (waiting | further).items() if known and name not in said}
    asked.now = None


def says_nothing(result: Result) -> bool:
    """Return whether the witness of a property is proved to be out of reach."""
    return result.verdict is Verdict.VACUOUS and result.unreachable


def _likely(name: str, instances: Sequence[Instance]) -> Sequence[Instance]:
    """Return the first of these instances on which a simulation reaches the witness.

    If there is none, return the first one and the last one.
    """
    if len(instances) > 1:
        for instance in instances:
            if reaches(instance, name):
                return [instance]
    return [instances[0], instances[-1]][: len(instances)]


def reaches(instance: Instance, name: str) -> bool:
    """Return whether simulations reach the witness of a property; no if the protocol refuses the instance."""
    try:
        return any(simulate(instance.system, instance.claims(name)))
    except (BadInput, ModelError):
        return False


def _share_of(request: Request, part: float, gone: float) -> Limits:
    """Return the limits of a request that may take this part of the time left after `gone` seconds."""
    share = max(0.0, request.limits.timeout - gone) * part
    return replace(request.limits, timeout=min(round(gone + share, 1), request.limits.timeout), gone=gone)


SECONDS = 10.0
"""The time in which larger instances are tried."""


def with_hints(asked: AskedRequests) -> Outcome:
    """Return the outcome of the user's request; a vacuous result names the parameter that has to grow."""
    assert asked.outcome is not None
    until = time.perf_counter() + min(SECONDS, asked.request.limits.timeout - asked.elapsed())
    moved = [prop.name for one in asked.elsewhere for prop in one.request.properties]
    results = [
        _with_hint(asked.request.instance, result, until) if result.property not in moved else result
        for result in asked.outcome.results
    ]
    return replace(asked.outcome, results=tuple(results))


def _with_hint(instance: Instance, result: Result, until: float) -> Result:
    if result.verdict is not Verdict.VACUOUS or not result.unreachable:
        return result
    for larger, setting in _grown(instance):
        if time.perf_counter() > until:
            break
        if reaches(larger, result.property):
            return replace(result, reason=f"{result.reason}; reached with {setting}")
    return result


def _grown(instance: Instance) -> Iterator[tuple[Instance, str]]:
    """Yield the instances in which one parameter is larger by one, each with the setting that makes it so."""
    for option in instance.protocol.options():
        if option.values:
            continue
        number = getattr(instance.parameters, option.name) + 1
        try:
            parameters = replace(instance.parameters, **{option.name: number})
        except (BadInput, ModelError):
            continue
        yield replace(instance, parameters=parameters), f"{option.name}={number}"
