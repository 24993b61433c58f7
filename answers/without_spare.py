"""Violations found without a spare bookie, replayed in an instance that has spare bookies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from fencepost.encoding.check import check
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.saved_traces import saved_execution
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Result
from fencepost.encoding.language.protocol import Checkable, Instance
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.traces import Trace


def violations_without_spare(
    instance: Instance, properties: Sequence[Property], limits: Limits
) -> tuple[Result, ...]:
    """Search a ledger at N = E, and return the violations that replay in the instance with N bookies.

    An execution at N = E is an execution at every larger N with the same other settings. A bookie acts only
    on a message that was sent to it, or by going down. Clients send only to bookies of an ensemble. A ledger
    begins with E of the N bookies, and its ensemble need not change. The additional bookies can therefore do
    nothing. The result does not rely on this argument: the steps are replayed on plain values in `instance`,
    and the returned trace is one of `instance`. A violation that does not replay there is dropped.

    Only violations carry over. A proof at N = E says nothing about ensemble changes, so it proves nothing at
    a larger N. A property with traps is left out, because additional bookies change which actions are still
    possible.
    """
    protocol, parameters = instance.protocol, instance.parameters
    small = Instance(protocol, replace(parameters, bookies=parameters.ensemble), instance.release)
    asked = [prop for prop in small.properties(*(p.name for p in properties)) if not prop.traps]
    if small.parameters == parameters or not asked:
        return ()
    return carried_over(results_of(small, asked, by_rounds(limits)), instance)


def results_of(instance: Checkable, properties: Sequence[Property], limits: Limits) -> tuple[Result, ...]:
    """Return the results of a check. Raises KeyboardInterrupt if Ctrl-C ended it."""
    outcome = check(instance, properties, limits.of(instance.system))
    if outcome.interrupted:
        raise KeyboardInterrupt
    return outcome.results


CONFLICTS = 10_000
"""The limit of conflicts of a search that only looks for a violation. One took 2,600 at most."""


def by_rounds(limits: Limits) -> Limits:
    """Return limits for a search for violations alone, by rounds, which begins without any proof."""
    return replace(limits, engines=("rounds",), conflicts=min(limits.conflicts or CONFLICTS, CONFLICTS))


def violations_by_rounds(
    instance: Instance, properties: Sequence[Property], limits: Limits
) -> tuple[Result, ...]:
    """Search the instance by rounds, before anybody tries to prove something, and return the violations."""
    found = results_of(instance, properties, by_rounds(limits))
    return found if any(result.trace is not None for result in found) else ()


def carried_over(found: Sequence[Result], instance: Instance) -> tuple[Result, ...]:
    """Return those violations whose steps are a violation in the instance too, as traces of it."""
    return tuple(_carried(found, instance))


def _carried(found: Sequence[Result], instance: Instance) -> Iterator[Result]:
    for result in found:
        if result.trace is not None:
            with suppress(NotAnExecution):
                trace = replayed_in(instance, result.trace)
                yield replace(result, trace=trace, steps=len(trace.steps), faults=dict(trace.faults))


def replayed_in(instance: Instance, trace: Trace) -> Trace:
    """Replay the steps and losses of a trace in another instance.

    Raises NotAnExecution if they are no execution of it that violates the property.
    """
    (prop,) = instance.properties(trace.property)
    execution = saved_execution(trace.to_json(), instance.system)
    return Replayer(instance.system, instance.subject).replay(prop, *execution)
