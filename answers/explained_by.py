"""Which known bugs a counterexample shows: without the bug, the same steps do not violate its property.

A bug needs its own faults too: one mend may be that of several bugs, and a bug that takes two crashes explains no counterexample
without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from fencepost.answers.known import KNOWN
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.protocol import Protocol, choose
from fencepost.encoding.language.state import show
from fencepost.encoding.language.traces import Trace
from fencepost.properties.catalogue import PROTOCOLS
from fencepost.properties.expectations import Expectation


def known_bugs(trace: Trace) -> list[Expectation]:
    """The known bugs whose mend takes the violation away, one row for each, in the order of the table.

    The steps are taken again with the bug's switch mended, those that can still be taken. The faults that the row needs
    must be among those of the trace. Of bugs with the same mend, those whose row is of this property explain it, if
    there are any. Of protocols that ship only.
    """
    protocol = PROTOCOLS.get(trace.protocol)
    if protocol is None or not _violates(protocol, trace, {}):
        return []
    by_mend: dict[tuple[str, str], list[Expectation]] = {}
    for known in KNOWN:
        if known.switch is not None and _is_about(known, protocol, trace) and _has_faults_of(known, trace):
            by_mend.setdefault((known.switch, str(known.mended)), []).append(known)
    found: dict[str, Expectation] = {}
    for mend, bugs in by_mend.items():
        if _is_mended(protocol, trace, dict([mend])):
            for known in [bug for bug in bugs if bug.property == trace.property] or bugs:
                found.setdefault(known.wrong, known)
    return sorted(found.values(), key=KNOWN.index)


def _has_faults_of(known: Expectation, trace: Trace) -> bool:
    """Whether the trace has each kind of fault that the bug's row allows, and no fewer crashes.

    A crash does what a clean restart does, and more. How many restarts a bug takes depends on the property.
    """
    needed = _faults_of(known.name)
    crashes, restarts = trace.faults.get("crashes", 0), trace.faults.get("restarts", 0)
    if crashes < needed.get("crashes", 0) or ("restarts" in needed and not crashes + restarts):
        return False
    return all(name in trace.faults for name in needed.keys() - {"crashes", "restarts"})


@cache
def _faults_of(name: str) -> Mapping[str, int]:
    """The faults that the row of that name allows, by kind; no row allows a fault that its bug does not need."""
    (known,) = (row for row in KNOWN if row.name == name)
    protocol = PROTOCOLS[known.protocol]
    parameters = protocol.parameters(known.settings.items())
    allowed = {fault: getattr(parameters, fault, 0) for fault in protocol.as_written(parameters).faults}
    return {fault: most for fault, most in allowed.items() if most}


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
    parameters = protocol.parameters({**trace.parameters, **trace.switches, **mended}.items())
    system = protocol.as_written(parameters)
    (prop,) = choose(system, (trace.property,))
    replayer = Replayer(system, protocol.subject(parameters))
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
