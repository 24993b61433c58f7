"""The words for a property that is undecided: how far the engines came, and what to try next."""

from __future__ import annotations

from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.messages import Visiting
from fencepost.encoding.engine.verdicts import Result, Verdict
from fencepost.encoding.errors import TIME_OUT
from fencepost.encoding.language.state import amount

SIMULATION = "simulation"
"""The solver that the result of a simulation names."""


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
