"""A verdict in words: the reason for each, a counterexample on one line, and what may decide an open one."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.messages import Visited, Visiting
from fencepost.encoding.engine.named_clauses import found_text
from fencepost.encoding.engine.verdicts import Basis, Fewest, Live, LiveBasis, Result, Verdict
from fencepost.encoding.errors import TIME_OUT
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.state import amount, show_all
from fencepost.encoding.language.traces import Loop, Trace, TraceStep

SIMULATION = "simulation"
"""The solver that the result of a simulation names."""

NAMED = 3
"""The number of late messages that are named; the others are counted."""

USEFUL = 2
"""The smallest number of steps worth naming as one that every trace takes."""


def verdict_line(result: Result, known: Sequence[str] = (), where: str = "", faults: str = "") -> str:
    """Return the property, the verdict, its reason and its seconds, on one line.

    It has the instance if the result is of another one (`where`), and the `known` bugs that explain it.
    An inductive proof names the `faults` that its executions may have.
    """
    on = f"; on {where}" if where else ""
    said = f"; known: {', '.join(map(_with_releases, known))}; see {_command(known)}" if known else ""
    return f"{verdict_sentence(result, faults)}{on}{said}  [{result.seconds:.1f} s]"


def verdict_sentence(result: Result, faults: str = "") -> str:
    """Return the property, the verdict and its reason; an inductive proof names the allowed `faults`."""
    return f"{result.property}: {result.verdict.value}{_because(result, faults)}"


def _because(result: Result, faults: str) -> str:
    match result.verdict:
        case Verdict.VIOLATED:
            return violated(result)
        case Verdict.PROVED if result.live is not None:
            return f"{except_at_caps(result.live)}: {_in_the_end(result, result.live)}"
        case Verdict.PROVED if result.basis is Basis.INDUCTION:
            covered = f", {faults}" if faults else ""
            return f": {_over_one_action(result)}; no execution of any length violates it{covered}"
        case Verdict.PROVED if result.visited is not None:
            return f": all {visited_text(result.visited)}, and none violates it"
        case Verdict.PROVED:
            return f": every execution fits in {amount(result.rounds, 'round')}, and none violates it"
        case Verdict.HOLDS if result.bound is not None:
            return f" up to {amount(result.bound, 'step')} (not a proof: longer executions exist)"
        case Verdict.HOLDS:
            return f" up to {amount(result.rounds, 'round')} (not a proof: longer executions exist)"
        case Verdict.VACUOUS:
            return f": nothing was tested; {result.reason}"
        case Verdict.UNDECIDED:
            if result.solver == SIMULATION or result.live is not None:
                return f": {result.reason}"
            return f": {result.reason}; {reached_text(result)}"


def except_at_caps(live: Live) -> str:
    """Return the words about the caps of the model that the property excuses; empty if there are none."""
    caps = " and ".join(f"the cap on {cap}" for cap in live.excused)
    return caps and f", except where {caps} stops an action"


def _in_the_end(result: Result, live: Live) -> str:
    """Return why something comes about in the end, and how this was proved."""
    if live.by is LiveBasis.STATES and result.visited is not None:
        return f"all {visited_text(result.visited)}, and no fair loop of them owes it"
    by = live_text(live)
    if result.basis is Basis.INDUCTION:
        return f"{by}; {_over_one_action(result)}"
    if result.visited is not None:
        return f"{by}; all {visited_text(result.visited).replace('states', 'states with a monitor', 1)}"
    return f"{by}; every execution with a monitor fits in {amount(result.rounds, 'round')}"


def live_text(live: Live) -> str:
    """Return why something comes about in the end, as a monitored system says it."""
    fair = f" of {listed(live.fair)}" if live.fair else ""
    return {
        LiveBasis.ENDS: "every execution ends, and no fair one in a state that owes it",
        LiveBasis.ROUNDS: f"within {amount(live.rounds or 0, 'round')} of fairness{fair}",
        LiveBasis.LOOPS: f"no loop that owes it is fair{fair and f' to{fair[3:]}'}",
    }[live.by]


def visited_text(visited: Visited) -> str:
    """Return how many states were visited, and by which reading."""
    by = "were visited by the concrete reading"
    if visited.orbits is None:
        return f"{visited.states:,} reachable states {by}"
    return f"reachable states {by} ({visited.orbits:,} states up to symmetry, {visited.states:,} in all)"


def _over_one_action(result: Result) -> str:
    """Return how a proof by induction over one action was made, and from what."""
    declared = [amount(len(result.invariants), "invariant")] if result.invariants else []
    if result.found:
        return f"inductive, with {listed([found_text(len(result.found)), *declared])}"
    return " with ".join(["by induction over one action", *declared])


def listed(names: Sequence[str], word: str = "and") -> str:
    """Return the names with commas, and the word before the last."""
    return f" {word} ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def hidden_line(others: Sequence[str]) -> str | None:
    """Return the line on known bugs that a known one may hide; None if there are no others."""
    if not others:
        return None
    return f"it may hide others of these rules: {', '.join(others)}; see {_command(others)}"


def _with_releases(name: str) -> str:
    """Return a bug with the releases of BookKeeper that have it, if any."""
    from fencepost.advice.affected import affected, family, span

    releases = affected(family(name))
    return f"{name} ({span(releases)})" if releases else name


def _command(known: Sequence[str]) -> str:
    """Return the command that describes the bugs. A shell would take a # at the beginning for a remark."""
    return shlex.join(["fencepost", "known", *(name.removeprefix("#") for name in known)])


# A counterexample.


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
    steps, faults = (result.steps or 0) - loop.begins, f"with faults {_fault_counts(result)}"
    after = f" after {loop.begins}" if loop.begins else ""
    what = f"a loop of {amount(steps, 'step')}{after}"
    if not steps:
        what = f"it stands still after {amount(loop.begins, 'step')}" if after else "it never moves"
    fewest = " (fewest in all)" if result.fewest is Fewest.OF_ALL else " (shorter ones may exist)"
    return f": {what}{fewest}, {faults if result.faults else 'without any fault'}"


def _steps_first(result: Result) -> list[str]:
    faults = f"with faults {_fault_counts(result)}" if result.faults else "without any fault"
    return [f" in {_step_count(result)}{_shortest(result)}, {faults}"]


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
        known = _by_fewest(
            result,
            ", the shortest trace without faults",
            " (fewest without faults",
            " (shorter ones without faults may exist)",
        )
        closed = ")" if result.fewest is Fewest.WITHIN_ROUNDS else ""
        return [": needs no fault", f"{_step_count(result)}{known}{closed}"]
    known = _by_fewest(result, "no trace has fewer", "fewest", "fewer may do")
    return [
        f" with faults {_fault_counts(result)} ({known})",
        f"{_step_count(result)}{' (fewest with these)' if result.fewest else ''}",
    ]


def _by_fewest(result: Result, proved: str, within: str, unknown: str) -> str:
    match result.fewest:
        case Fewest.OF_ALL:
            return proved
        case None:
            return unknown
        case _:
            return f"{within} within {amount(result.searched, 'round')}"


def _step_count(result: Result) -> str:
    return amount(result.steps or 0, "step")


def _fault_counts(result: Result) -> str:
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


# An undecided property.


def reached_text(result: Result) -> str:
    """Return how far the engines came, on one line."""
    rounds = f"no violation within {amount(result.rounds, 'round')}" if result.rounds else "no round finished"
    reached = result.reached
    if reached is None:
        return rounds
    parts = [rounds]
    if reached.longer:
        parts.append(f"some execution needs more than {amount(reached.longer, 'round')}")
    if reached.frames:
        parts.append(f"ic3: {amount(reached.frames, 'frame')} with {amount(reached.clauses or 0, 'clause')}")
    if reached.states:
        parts.append(f"enumeration: {Visiting(reached.states, reached.steps or 0)}")
    if reached.memory:
        parts.append(f"{reached.memory / 2**30:.1f} GiB of memory in one process")
    return "; ".join(parts)


def try_next(result: Result, limits: Limits) -> str | None:
    """Return what may decide a property that is undecided; None for any other one, or if nothing is known."""
    reason = result.reason or ""
    if result.verdict is not Verdict.UNDECIDED or result.solver == SIMULATION or result.reached is None:
        return None
    if "memory" in reason:
        return (
            "Try next: more --memory, or --jobs 1, so that fewer processes share it; or a smaller instance."
        )
    if "more than are allowed" in reason:
        return "Try next: a larger --budget, or leave out --engine, so that rounds are searched too."
    if "no other engine was asked" in reason:
        return "Try next: leave out --engine, so that the other engines are asked too."
    if "its witness was not reached" in reason:
        return "Try next: another instance, on which the witness is reached sooner."
    if "not inductive" in reason:
        return (
            f"Try next: `fencepost invariants` shows what breaks the induction; {_longer(limits)}, "
            "or a smaller instance."
        )
    if TIME_OUT in reason:
        return (
            f"Try next: {_longer(limits)}, a smaller instance (--set), or --bound K for a part of the "
            "executions; `fencepost invariants --find` looks for invariants that hold at several sizes."
        )
    return None


def _longer(limits: Limits) -> str:
    """Return a longer time limit as it is asked for."""
    return f"--timeout {max(1, round(4 * limits.timeout))}"
