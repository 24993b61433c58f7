"""Templates: one round as clauses. This module needs no z3, so the processes that unroll rounds load none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fencepost.encoding.solving.clauses import Clause


@dataclass(frozen=True)
class RoundTemplate:
    """One round as clauses, in plain data.

    Local variables are numbered from 1. First come the `width` Booleans of the state before the round, then
    those after it, then the choices, then all others. `fires` has one variable for each slot, `outputs` one
    for each property and witness over the state after the round, by name. `widths` has the number of Booleans
    of each state variable in turn. `given` has the values of choices that are fixed already, by position.

    `initial` has the initial value of each Boolean of the state; None if it may be either. `beginning` has
    the clauses that say which states are initial: over the Booleans of the state, and over `auxiliary`
    variables after them. `varied` has for each variable with several initial values the position of its first
    Boolean and the number of its Booleans.
    """

    clauses: list[Clause]
    size: int
    width: int
    widths: list[int]
    choices: int
    fires: list[int]
    outputs: Mapping[str, int]
    initial: list[bool | None]
    blockers: list[list[int]]
    given: Mapping[int, bool] = field(default_factory=dict)
    beginning: list[Clause] = field(default_factory=list)
    auxiliary: int = 0
    varied: tuple[tuple[int, int], ...] = ()
