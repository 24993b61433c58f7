"""The known bugs that explain a counterexample: without the bug its steps do not violate the property.

A bug explains a counterexample only if the counterexample has the faults that the bug needs. Two bugs may
have the same fix, and one of them may need two crashes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from fencepost.advice.known import KNOWN
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.engine.verdicts import Result
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.parameters import options
from fencepost.encoding.language.protocol import Protocol
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.system import choose
from fencepost.encoding.language.traces import Trace
from fencepost.properties.catalogue import FAMILIES, find
from fencepost.properties.expectations import Expectation


def known_bugs(trace: Trace) -> list[Expectation]:
    """Return the known bugs whose fix removes the violation, one row for each, in the order of the table.

    The steps that are still possible are taken again with the bug's switch at its fixed value. The faults
    that the row needs must be among those of the trace. If several bugs have the same fix, those whose row is
    about this property explain it, if there are any. A trace of a user's protocol has no known bugs.
    """
    if trace.protocol not in FAMILIES:
        return []
    protocol = find(trace.protocol)
    if not _violates(protocol, trace, {}):
        return []
    by_fix: dict[tuple[str, str], list[Expectation]] = {}
    for known in KNOWN:
        if known.switch is not None and _is_about(known, protocol, trace) and _has_faults_of(known, trace):
            by_fix.setdefault((known.switch, str(known.mended)), []).append(known)
    found: dict[str, Expectation] = {}
    for fix, bugs in by_fix.items():
        if _is_fixed(protocol, trace, dict([fix])):
            for known in [bug for bug in bugs if bug.property == trace.property] or bugs:
                found.setdefault(known.wrong, known)
    return sorted(found.values(), key=KNOWN.index)


def names_of(result: Result) -> list[str]:
    """Return the known bugs that explain all counterexamples of a result; none if one is unexplained."""
    if result.trace is None:
        return []
    found = [[known.name for known in known_bugs(trace)] for trace in (result.trace, *result.more_traces)]
    return list(dict.fromkeys(name for one in found for name in one)) if all(found) else []


def others(trace: Trace, named: Collection[str]) -> list[str]:
    """Return the known bugs beside those `named` that this violation may hide, in the order of the table.

    The instance of the trace has their rules, and they violate the same property, maybe with other settings.
    """
    protocol = find(trace.protocol)
    alike = [
        known for known in KNOWN if known.property == trace.property and _has_rule(known, protocol, trace)
    ]
    said = {known.wrong for known in KNOWN if known.name in named}
    first = {known.wrong: known.name for known in reversed(alike) if known.wrong not in said}
    return [known.name for known in alike if first.get(known.wrong) == known.name]


def _has_faults_of(known: Expectation, trace: Trace) -> bool:
    """Return whether the trace has each kind of fault that the bug's row allows, and enough crashes.

    A crash does everything that a clean restart does, so a crash counts as a restart. The number of restarts
    that a bug needs depends on the property, so one is enough.
    """
    needed = faults_of(known)
    crashes, restarts = trace.faults.get("crashes", 0), trace.faults.get("restarts", 0)
    if crashes < needed.get("crashes", 0) or ("restarts" in needed and not crashes + restarts):
        return False
    return all(name in trace.faults for name in needed.keys() - {"crashes", "restarts"})


def faults_of(known: Expectation) -> dict[str, int]:
    """Return the faults that the row allows, by kind. A row allows only faults that its bug needs."""
    parameters = find(known.protocol).parameters(known.settings.items())
    allowed = {option.name: option.default for option in options(parameters) if option.limits_faults}
    return {fault: most for fault, most in allowed.items() if isinstance(most, int) and most}


def _is_about(known: Expectation, protocol: Protocol, trace: Trace) -> bool:
    """Return whether the trace's instance has the bug's rule.

    It must also have the storage of the bug's row, if that names one, and the layers that the row turns on:
    parameters that are 0 unless given.
    """
    layers = [o.name for o in options(protocol.defaults) if o.default == 0 and not o.limits_faults]
    has_layers = all(trace.parameters.get(name) for name in layers if known.settings.get(name))
    storage = trace.switches.get("storage")
    return (
        has_layers and known.settings.get("storage", storage) == storage and _has_rule(known, protocol, trace)
    )


def _has_rule(known: Expectation, protocol: Protocol, trace: Trace) -> bool:
    """Return whether the trace's instance has the bug's switch at the value that brings the bug."""
    same = type(find(known.protocol).defaults) is type(protocol.defaults)
    return same and trace.switches.get(known.switch or "") == known.broken


def _is_fixed(protocol: Protocol, trace: Trace, fix: dict[str, str]) -> bool:
    try:
        return not _violates(protocol, trace, fix)
    except BadInput:  # the switch cannot have that value in this instance
        return False


def _violates(protocol: Protocol, trace: Trace, fix: dict[str, str]) -> bool:
    """Return whether the steps that are possible violate the property in the instance with the fix."""
    parameters = protocol.parameters({**trace.parameters, **trace.switches, **fix}.items())
    system = protocol.as_written(parameters)
    (prop,) = choose(system, (trace.property,), with_liveness=True)
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
