"""One round as clauses: plain data, so that whoever unrolls it needs no z3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fencepost.encoding.solving.clauses import Clause


@dataclass(frozen=True)
class Template:
    """One round as plain data: everything a solver process needs, without z3.

    Local variables are numbered from 1: first the `width` Booleans of the state before the round, then
    those after it, then the choices, then the rest. `fires` has one variable for each slot, `outputs` one
    for each property and witness over the state after the round, named as given. `widths` says how many of the
    Booleans of a state belong to each variable in turn. Of the choices, by position, those `given` are made already.
    """

    clauses: list[Clause]
    size: int
    width: int
    widths: list[int]
    choices: int
    fires: list[int]
    outputs: Mapping[str, int]
    initial: list[bool]
    blockers: list[list[int]]
    given: Mapping[int, bool] = field(default_factory=dict)
