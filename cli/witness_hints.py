"""The parameters that would have to grow for a witness that no execution of an instance reaches."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from fencepost.cli.requests import AskedRequests, reaches
from fencepost.encoding.engine.verdicts import Outcome, Result, Verdict
from fencepost.encoding.errors import BadInput, ModelError
from fencepost.encoding.language.protocol import Instance

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
