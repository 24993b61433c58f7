"""The table of known bugs in `expected/known.toml`, and how a row is checked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from fencepost.encoding.errors import unknown_name
from fencepost.properties.expectations import TABLES, Expectation, Run, read

if TYPE_CHECKING:
    from fencepost.encoding.engine.events import Listener
    from fencepost.encoding.engine.limits import Limits
    from fencepost.encoding.engine.verdicts import Outcome

KNOWN: tuple[Expectation, ...] = tuple(read(TABLES / "known.toml"))


class Named(Protocol):
    """A known bug, or another loss that a user can name."""

    @property
    def name(self) -> str:
        """The name, such as `#2614`, `PR 4607` or `bare-fence`."""

    @property
    def source(self) -> str:
        """The report or fix, with its number."""


def full_names(
    table: Sequence[Named],
    names: Sequence[str],
    option: str = "",
    what: str = "known bug",
    listing: str = "fencepost known --list",
) -> frozenset[str]:
    """Return the names as the table has them. Raises BadInput for a name that it does not have.

    Capitals do not matter. A number stands for the issue or pull request: `#4607`, `4607`, `PR 4607` and
    `pr4607` are the same, also for a bug whose source has the number. The message begins with `option`, and
    `listing` is the command that lists the table.
    """
    wanted: set[str] = set()
    for name in names:
        found = named(table, name)
        if not found:
            raise unknown_name(name, what, (known.name for known in table), listing, option, alike=0.8)
        wanted |= found
    return frozenset(wanted)


def named(table: Sequence[Named], name: str) -> set[str]:
    """Return those that have this name in the table, or else those whose name or source has its number."""
    lower = name.strip().lower()
    full = {known.name for known in table if known.name.lower() in (lower, f"#{lower}")}
    said = re.fullmatch(r"(?:pr|pull|issue)?[ /#-]*([0-9]{3,6})", lower)
    if full or said is None:
        return full
    own = {known.name for known in table if re.fullmatch(rf"(?:#|PR[ -]){said[1]}", known.name)}
    number = re.compile(rf"(?<![\w.]){said[1]}(?!\w|\.[0-9])")
    return own or {known.name for known in table if number.search(known.source)}


def chosen(table: Sequence[Expectation], names: Sequence[str]) -> list[Expectation]:
    """Return the bugs of those names in the order of the table, or all if there are none. Raises BadInput."""
    wanted = full_names(table, names)
    return [known for known in table if known.name in wanted or not names]


def decide(run: Run, limits: Limits, listener: Listener = lambda event: None) -> Outcome:
    """Check the property of a run on its instance.

    Of properties joined by "+" the violation of one is enough. A protocol whose executions are unbounded
    keeps its limit on rounds.
    """
    from fencepost.encoding.check import check
    from fencepost.properties.catalogue import find

    instance = find(run.known.protocol).instance(run.settings.items(), run.known.release)
    names = run.known.property.split("+")
    asked = replace(run.limits(limits).of(instance.system), one_is_enough=len(names) > 1)
    return check(instance, instance.properties(*names), asked, listener)
