"""Cases that take too long for their tier: `tests/slow.txt` and `tests/long.txt` name each in a line.

They are what was measured; a test that is slow or long by its nature is marked where it stands.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

import pytest

LISTS = {mark: Path(__file__).parents[1] / f"{mark}.txt" for mark in ("slow", "long")}
"""By the mark that they put on a case."""

STALE: pytest.StashKey[dict[str, list[str]]] = pytest.StashKey()
"""Where a run of all tests keeps the lines of each list that name no case, or one twice."""


def cases(text: str) -> list[str]:
    """The cases that a list names, as pytest names them; what begins with `#` is a remark."""
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


def name(nodeid: str) -> str:
    """What pytest calls a case, without the group that pytest-xdist writes behind it."""
    group = nodeid.rfind("@")
    return nodeid[:group] if group > nodeid.rfind("]") else nodeid


def stale(listed: Iterable[str], collected: Collection[str]) -> list[str]:
    """What a list names that there is not, or names twice."""
    seen: set[str] = set()
    wrong = []
    for case in listed:
        if case not in collected or case in seen:
            wrong.append(case)
        seen.add(case)
    return wrong
