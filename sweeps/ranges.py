"""What stands behind a key of a grid: one value, a list of values, or a range such as "1..5". All raise BadInput."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fencepost.encoding.documents import shown, whole
from fencepost.encoding.errors import BadInput

RANGE = re.compile(r"([0-9]{1,18})\.\.([0-9]{1,18})")

LISTED = (str, int, list)
"""The types of what may stand behind such a key."""

MOST_VALUES = 1000
"""Values of one setting, at most: no size of an instance that can be built has more."""


def listed(name: str, value: object) -> list[object]:
    """One value or a list of them, as a list; raises BadInput for an empty one,
    and for what stands there twice."""
    found: list[object] = value if isinstance(value, list) else [value]
    if not found:
        raise BadInput(f"{name} = []: is empty; name a value, or leave it out")
    for item in found:
        if isinstance(item, bool) or not isinstance(item, int | str):
            raise BadInput(f"{name} = {shown(item)}: must be a whole number or a string")
        if isinstance(item, int) and abs(item) >= 10**18:
            raise BadInput(f"{name} = {shown(item)}: is too large")
    return found


def names(name: str, value: object, valid: Sequence[str], most: int | None = None) -> tuple[str, ...]:
    """Names of which each must be valid, and of which there may be at most so many."""
    found = tuple(map(str, listed(name, value)))
    for item in found:
        if item not in valid:
            raise BadInput(f"{name} = {item!r}: no such value; valid: {', '.join(valid)}")
    if most is not None and len(found) > most:
        raise BadInput(f"{name} = {list(found)}: only one is possible; take one")
    return found


def values(name: str, value: object) -> tuple[str, ...]:
    """The values that a setting takes, as text: a range is written "1..5"."""
    found: list[str] = []
    for item in listed(name, value):
        bounds = RANGE.fullmatch(str(item))
        if bounds is None:
            found.append(str(item))
            continue
        least, most = map(int, bounds.groups())
        if least > most:
            raise BadInput(f"{name} = {item!r}: an empty range; write the smaller number first")
        if most - least >= MOST_VALUES:
            raise BadInput(f"{name} = {item!r}: more than {MOST_VALUES:,} values; take a narrower range")
        found += map(str, range(least, most + 1))
    return tuple(dict.fromkeys(found))


def numbers(name: str, value: object) -> tuple[int, ...]:
    """Bounds or rounds: whole numbers and ranges of them."""
    found = values(name, value)
    for item in found:
        if (number := whole(item)) is None or number < (1 if name == "rounds" else 0):
            raise BadInput(
                f"{name} = {item!r}: a whole number is needed, such as 4, or a range such as '1..4'"
            )
    return tuple(map(int, found))
