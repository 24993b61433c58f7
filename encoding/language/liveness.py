"""Liveness: what must come about in the end, in every fair execution (`fairness`)."""

from __future__ import annotations

from collections.abc import Callable

from fencepost.encoding.language.system import Liveness
from fencepost.encoding.language.terms import TRUE, Term
from fencepost.encoding.language.traces import Trace

Explain = Callable[[Trace], str] | None

MET = "a state from which it is owed"
"""The meaning of the witness of a property of liveness."""


def leads_to(name: str, meaning: str, trigger: Term, goal: Term, explain: Explain = None) -> Liveness:
    """Return the property: after a state with `trigger`, or in it, there is one with `goal`."""
    return Liveness(name, meaning, goal, trigger, MET, explain)


def always_eventually(name: str, meaning: str, goal: Term, explain: Explain = None) -> Liveness:
    """Return the property: `goal` holds again and again. After each state there is one with `goal`."""
    return Liveness(name, meaning, goal, TRUE, MET, explain)


def eventually(name: str, meaning: str, goal: Term, explain: Explain = None) -> Liveness:
    """Return the property: `goal` holds in some state. It may hold in no state after that."""
    return Liveness(name, meaning, goal, TRUE, MET, explain, at_first=True)


def eventually_always(name: str, meaning: str, goal: Term, explain: Explain = None) -> Liveness:
    """Return the property: `goal` holds in all states from some state on."""
    return Liveness(name, meaning, goal, TRUE, MET, explain, for_ever=True)
