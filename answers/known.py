"""The table of known bugs in `expected/known.toml`, and how a row is checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fencepost.encoding.engine.check import check
from fencepost.encoding.engine.events import Listener
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Outcome
from fencepost.encoding.errors import BadInput, did_you_mean
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import TABLES, Expectation, Run, read

KNOWN: tuple[Expectation, ...] = tuple(read(TABLES / "known.toml"))


class Named(Protocol):
    """A known bug, or another loss that a user can name."""

    @property
    def name(self) -> str:
        """The name, such as `#2614`, `PR 4607` or `bare-fence`."""


def full_names(table: Sequence[Named], names: Sequence[str], option: str = "") -> frozenset[str]:
    """Return the names as the table has them. Raises BadInput for a name that it does not have.

    The `#` of an issue may be left out, because a shell takes it for a comment, and the `PR ` of a pull
    request. The message begins with `option`.
    """
    valid = [known.name for known in table]
    wanted = set()
    for name in names:
        full = next((full for full in (name, f"#{name}", f"PR {name}") if full in valid), name)
        if full not in valid:
            raise BadInput(
                f"{option}{name}: no such known bug{did_you_mean(name, valid)}; "
                f"valid: {', '.join(valid)} (# may be left out)"
            )
        wanted.add(full)
    return frozenset(wanted)


def chosen(table: Sequence[Expectation], names: Sequence[str]) -> list[Expectation]:
    """Return the bugs of those names in the order of the table, or all if there are none. Raises BadInput."""
    wanted = full_names(table, names)
    return [known for known in table if known.name in wanted or not names]


def decide(run: Run, limits: Limits, listener: Listener = lambda event: None) -> Outcome:
    """Check the property of a run on its instance.

    A protocol whose executions are unbounded keeps its limit on rounds.
    """
    instance = find(run.known.protocol).instance(run.settings.items(), run.known.release)
    properties = instance.properties(run.known.property)
    asked = run.limits(limits).of(instance.system)
    return check(instance, properties, asked, listener)
