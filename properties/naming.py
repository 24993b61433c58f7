"""Which known bugs a counterexample shows: without the bug, the same steps do not violate its property."""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.encoding.concrete.replaying import NotAnExecution, Replayer
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.protocol import Protocol
from fencepost.encoding.language.state import show
from fencepost.encoding.language.traces import Trace
from fencepost.properties.catalogue import PROTOCOLS
from fencepost.properties.expectations import Expectation
from fencepost.properties.known import KNOWN


def known_bugs(trace: Trace) -> list[Expectation]:
    """The known bugs whose mend takes the violation away, one row for each, in the order of the table.

    The steps are taken again with the bug's switch mended, those that can still be taken. Of protocols that ship only.
    """
    found: dict[str, Expectation] = {}
    protocol = PROTOCOLS.get(trace.protocol)
    if protocol is None or not _violates(protocol, trace, {}):
        return []
    tried: dict[tuple[str, str], bool] = {}
    for known in KNOWN:
        if known.wrong in found or known.switch is None or not _is_about(known, protocol, trace):
            continue
        mend = known.switch, known.mended
        if mend not in tried:
            tried[mend] = _is_mended(protocol, trace, dict([mend]))
        if tried[mend]:
            found[known.wrong] = known
    return list(found.values())


def _is_about(known: Expectation, protocol: Protocol, trace: Trace) -> bool:
    """Whether the instance has the bug's switch as it is with the bug."""
    same = type(PROTOCOLS[known.protocol].defaults) is type(protocol.defaults)
    return same and trace.switches.get(known.switch or "") == known.broken


def _is_mended(protocol: Protocol, trace: Trace, mended: dict[str, str]) -> bool:
    try:
        return not _violates(protocol, trace, mended)
    except BadInput:  # the instance has no such rule
        return False


def _violates(protocol: Protocol, trace: Trace, mended: dict[str, str]) -> bool:
    """Whether these steps, as far as they can be taken, violate the property on the mended instance."""
    instance = protocol.instance({**trace.parameters, **trace.switches, **mended}.items())
    system, (prop,) = instance.system, instance.properties(trace.property)
    replayer = Replayer(system, instance.subject)
    violated = replayer.concrete.predicate(~prop.holds)
    true = {name for name, value in trace.initial.items() if value is True}
    states = replayer.follow([], [v.name for v in system.choices if v.name in true])
    for action in _steps(trace):
        ground = system.find(*action)
        try:
            if ground is not None:
                states.append(replayer.after(ground, states))
        except NotAnExecution:
            continue
    return any(violated(state) for state in states)


def _steps(trace: Trace) -> Iterator[tuple[str, list[str]]]:
    for step in trace.steps:
        yield step.action, [show(argument) for argument in step.arguments.values()]
