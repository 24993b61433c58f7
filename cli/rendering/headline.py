"""A counterexample in one line: faults, late messages, steps, and whether they are the fewest."""

from __future__ import annotations

from fencepost.encoding.engine.limits import Minimize
from fencepost.encoding.engine.verdicts import Fewest, Result
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.state import amount, show_all
from fencepost.encoding.language.traces import Loop, Trace, TraceStep

NAMED = 3
"""The number of late messages that are named; the others are counted."""

USEFUL = 2
"""The smallest number of steps worth naming as one that every trace takes."""


def violated(result: Result) -> str:
    """Return the text after the verdict; the measure that was made small comes first."""
    if result.trace is None:
        return ""
    if result.trace.loop is not None:
        return _forever(result, result.trace.loop)
    parts = _faults_first(result) if result.minimized is Minimize.FAULTS else _steps_first(result)
    late = _late(result.trace)
    return "; ".join(filter(None, [parts[0], late, *parts[1:], *_no_more(result)]))


def _forever(result: Result, loop: Loop) -> str:
    """Return how long a loop is and when it begins."""
    steps, faults = (result.steps or 0) - loop.begins, f"with faults {_counted(result)}"
    after = f" after {loop.begins}" if loop.begins else ""
    what = f"a loop of {amount(steps, 'step')}{after}"
    if not steps:
        what = f"it stands still after {amount(loop.begins, 'step')}" if after else "it never moves"
    fewest = " (fewest in all)" if result.fewest is Fewest.OF_ALL else " (shorter ones may exist)"
    return f": {what}{fewest}, {faults if result.faults else 'without any fault'}"


def _steps_first(result: Result) -> list[str]:
    faults = f"with faults {_counted(result)}" if result.faults else "without any fault"
    return [f" in {_steps(result)}{_shortest(result)}, {faults}"]


def _shortest(result: Result) -> str:
    """Return how short a trace may be, and how to have the search go on if it ended before that was known."""
    if result.fewest is Fewest.OF_ALL:
        return " (fewest: no shorter trace exists)"
    go_on = "--minimize steps searches to the end" if result.patience_is_over else ""
    if (result.shortest_at_least or 0) < USEFUL:
        return f" ({'; '.join(filter(None, ['shorter ones may exist', go_on]))})"
    least = f"; none shorter than {result.shortest_at_least} exists"
    return f"{least} ({go_on})" if go_on else least


def _faults_first(result: Result) -> list[str]:
    """Return the parts of a counterexample with fewest faults; without any fault only steps can be fewer."""
    if not result.faults:
        known = _known(
            result,
            ", the shortest trace without faults",
            " (fewest without faults",
            " (shorter ones without faults may exist)",
        )
        closed = ")" if result.fewest is Fewest.WITHIN_ROUNDS else ""
        return [": needs no fault", f"{_steps(result)}{known}{closed}"]
    known = _known(result, "no trace has fewer", "fewest", "fewer may do")
    return [
        f" with faults {_counted(result)} ({known})",
        f"{_steps(result)}{' (fewest with these)' if result.fewest else ''}",
    ]


def _known(result: Result, proved: str, within: str, unknown: str) -> str:
    match result.fewest:
        case Fewest.OF_ALL:
            return proved
        case None:
            return unknown
        case _:
            return f"{within} within {amount(result.searched, 'round')}"


def _steps(result: Result) -> str:
    return amount(result.steps or 0, "step")


def _counted(result: Result) -> str:
    return show_all(result.faults or {})


def _late(trace: Trace) -> str:
    """Return which messages are late: they arrive after a message that was sent later."""
    late = [_arrival(step) for step in trace.steps if trace.is_late(step)]
    if not late:
        return ""
    count = "one message is late" if len(late) == 1 else f"{len(late)} messages are late"
    rest = [f"{len(late) - NAMED} more"] if len(late) > NAMED else []
    return f"{count}: {', '.join([*late[:NAMED], *rest])}"


def _arrival(step: TraceStep) -> str:
    assert step.received is not None
    message = step.received
    return f"{message.kind} {show(message.sender)}→{show(message.receiver)} in step {step.index}"


def _no_more(result: Result) -> list[str]:
    """Return why there are fewer counterexamples than asked for."""
    return (
        [f"{amount(1 + len(result.more_traces), 'counterexample')}: {result.reason}"] if result.reason else []
    )
