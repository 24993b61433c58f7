"""A system without a protocol, which `check` takes like an instance, and a trace in which nothing changes."""

from __future__ import annotations

from typing import NamedTuple

from fencepost.encoding.language.system import System
from fencepost.encoding.language.traces import Subject, Trace, TraceStep


class Bare(NamedTuple):
    """A system and the names under which it is reported."""

    system: System
    subject: Subject = Subject("", {}, {})


def idle_trace(steps: int) -> Trace:
    """Return a trace of so many steps that change nothing."""
    nothing = [TraceStep(n, "wait", {}, "w", None, (), "", {}) for n in range(1, steps + 1)]
    return Trace("test", {}, {}, "safe", {}, {}, tuple(nothing))
