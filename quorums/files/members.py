"""Bookies of one cluster with settings of their own: each setting counts as its weakest value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

WEAKEST: Mapping[str, Callable[[Iterable[Any]], Any]] = {
    "journal": min,
    "sync": min,
    "checks": min,
    "recovery_enforces": min,
    "recovery_min_racks": min,
    "bookie_persistence": min,
    "bookie_daemon": max,  # one bookie that runs auto-recovery restores the copies of all
}
"""The weakest of several values, by the field of `Settings`."""

COMPARED = frozenset((*WEAKEST, "storage"))
"""The fields that members may have values of their own for. Of two storages none is the weaker."""


@dataclass(frozen=True)
class Differing:
    """Values of which none is the weakest, such as two storages. Nobody may take one of them."""

    message: str


def weakest(field: str, name: str, values: Mapping[str, Any]) -> tuple[Any, str]:
    """Return the value that counts for all members, and a sentence if theirs differ.

    `values` has each member's value. Of two storages none is weaker, so these give a `Differing`.
    """
    by_value: dict[Any, list[str]] = {}
    for member, value in values.items():
        by_value.setdefault(value, []).append(member)
    if len(by_value) == 1:
        return next(iter(by_value)), ""
    said = ", and ".join(f"{_word(value)} for {_few(members)}" for value, members in by_value.items())
    if field not in WEAKEST:
        return Differing(f"{name} is {said}; none of them is the weaker, so ask for each with --storage"), ""
    value = WEAKEST[field](by_value)
    return value, f"{name} is {said}. {_word(value)} {WEAKER}"


WEAKER = "counts for all, because it is the weaker."
"""The end of a sentence about values that differ."""


def _few(members: list[str]) -> str:
    return ", ".join(members[:3]) + (f" and {len(members) - 3} more" if len(members) > 3 else "")


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
