"""The instances of `check` and `simulate`: the one asked for, and those that exercise what it does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fencepost.cli.process.handover import elapsed
from fencepost.cli.rendering.check_report import CheckedRequest, Request, not_begun
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Outcome, Result
from fencepost.encoding.errors import BadInput, ModelError
from fencepost.encoding.induction.directed_simulation import simulate
from fencepost.encoding.language.protocol import Instance, Protocol

RESERVE = 0.1
"""The share of the time that is kept for other instances, if properties may need them."""


def request_of(
    protocol: Protocol,
    settings: Sequence[tuple[str, str]],
    names: tuple[str, ...],
    release: str | None,
    limits: Limits,
    drop_declared: bool = False,
) -> Request:
    """Return the request about the instance with these settings. Raises BadInput and ModelError."""
    instance = protocol.instance(settings, release, drop_declared)
    properties = instance.properties(*names)
    return Request(instance, properties, limits.of(instance.system))


def small_instances(
    protocol: Protocol, settings: Sequence[tuple[str, str]], request: Request
) -> dict[str, list[Instance]]:
    """Return the instances that may exercise a property if the one asked for does not, by property.

    Without settings, the protocol's list of sizes is checked first. Raises BadInput and ModelError.
    """
    if not settings and request.instance.release is None:
        protocol.check_exercised()
    made = settings, request.instance.release, request.instance.drop_declared
    found = {p.name: protocol.small_instances(p.name, *made) for p in request.properties}
    return {name: instances for name, instances in found.items() if instances}


@dataclass
class Asked:
    """The request of the user, and those that take over properties of it, with their outcomes so far.

    An outcome is None before the request is over.
    """

    request: Request
    outcome: Outcome | None = None
    elsewhere: list[CheckedRequest] = field(default_factory=list)
    """The requests that are over, about properties on other instances."""
    now: Request | None = None
    """The request that is under way."""

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
    asked: Asked,
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
    asked.outcome = outcome = ask(first, replace(first.limits, timeout=until, gone=elapsed()))
    empty = [result.property for result in outcome.results if says_nothing(result)]
    waiting = {name: _likely(name, small[name]) for name in empty if name in small}
    while waiting and not outcome.interrupted:
        instance = next(iter(waiting.values()))[0]
        names = [name for name, known in waiting.items() if known[0].parameters == instance.parameters]
        request = Request(instance, instance.properties(*names), limits.of(instance.system), first.instance)
        asked.now = request
        outcome = ask(request, share_of(request, 1 / len(waiting)))
        said = [result.property for result in outcome.results if not says_nothing(result)]
        if said:
            asked.elsewhere.append(_only(CheckedRequest(request, outcome), said.__contains__))
        further = {name: waiting[name][1:] for name in names if name not in said}
        waiting = {name: known for name, known in (waiting | further).items() if known and name not in said}
    asked.now = None


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
        return any(simulate(instance.system, instance.properties(name), ()))
    except (BadInput, ModelError):
        return False


def share_of(request: Request, part: float) -> Limits:
    """Return the limits of a request that may take this part of the time left."""
    gone = elapsed()
    share = max(0.0, request.limits.timeout - gone) * part
    return replace(request.limits, timeout=min(round(gone + share, 1), request.limits.timeout), gone=gone)
