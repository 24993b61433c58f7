"""Violations found without a spare bookie, carried over to an instance that has spare bookies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.saved_traces import saved_actions
from fencepost.encoding.engine.check import check
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Result
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.traces import Trace


def violations_without_spare(
    instance: Instance, properties: Sequence[Property], limits: Limits
) -> tuple[Result, ...]:
    """Search a ledger at N = E, and return the violations that are violations on the N bookies of the instance too.

    An execution at N = E is an execution at every larger N if all other settings are the same. A bookie acts only on a
    message that was sent to it, or if it goes down. Clients send to the bookies of an ensemble. A ledger begins with E of the
    N bookies, and its ensemble need not change. So the bookies of the execution can do the same beside bookies that do
    nothing. The argument is not relied on: the steps are replayed on plain values in `instance`, and the trace in the result is
    the one of `instance`. A violation that does not replay there does not count.

    Only violations carry over. A proof at N = E says nothing of ensemble changes, and a proof at a larger N is not needed for
    fewer bookies. A property with traps asks what can still happen, which more bookies change: it is left out here.
    """
    protocol, parameters = instance.protocol, instance.parameters
    small = Instance(protocol, replace(parameters, bookies=parameters.ensemble), instance.release)
    asked = [prop for prop in small.properties(*(p.name for p in properties)) if not prop.traps]
    if small.parameters == parameters or not asked:
        return ()
    found = check(small, asked, limits.of(small.system)).results
    return tuple(_carried(found, instance))


def _carried(found: Sequence[Result], instance: Instance) -> Iterator[Result]:
    for result in found:
        if result.trace is not None:
            with suppress(NotAnExecution):
                trace = replayed_in(instance, result.trace)
                yield replace(result, trace=trace, steps=len(trace.steps), faults=dict(trace.faults))


def replayed_in(instance: Instance, trace: Trace) -> Trace:
    """Replay the steps and losses of a trace in another instance; raises NotAnExecution if they do not violate its property."""
    (prop,) = instance.properties(trace.property)
    actions, choices = saved_actions(trace.to_json(), instance.system)
    return Replayer(instance.system, instance.subject).replay(prop, actions, choices)
