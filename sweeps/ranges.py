"""The values of a grid's keys: one value, a list of values, or a range such as "1..5".

All functions raise BadInput.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fencepost.encoding.documents import shown, whole
from fencepost.encoding.errors import BadInput, unknown_name

RANGE = re.compile(r"([0-9]{1,18})\.\.([0-9]{1,18})")

LISTED = (str, int, list)
"""The types of such a value."""

MOST_VALUES = 1000
"""The largest number of values of one setting. No instance that can be built has a larger size."""


def listed(name: str, value: object) -> list[object]:
    """Return one value or a list as a list; raise BadInput for an empty or invalid one."""
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
    """Return the names; each must be valid, and there may be at most so many."""
    found = tuple(map(str, listed(name, value)))
    for item in found:
        if item not in valid:
            raise unknown_name(repr(item), "value", valid, place=f"{name} = ")
    if most is not None and len(found) > most:
        raise BadInput(f"{name} = {list(found)}: only one is possible; take one")
    return found


def values(name: str, value: object) -> tuple[str, ...]:
    """Return the values of a setting as text, with ranges written out."""
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
    """Return bounds or rounds: whole numbers and ranges of them."""
    found = values(name, value)
    for item in found:
        if (number := whole(item)) is None or number < (1 if name == "rounds" else 0):
            raise BadInput(
                f"{name} = {item!r}: a whole number is needed, such as 4, or a range such as '1..4'"
            )
    return tuple(map(int, found))
