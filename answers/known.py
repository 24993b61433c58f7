"""Known bugs, and mutants that stand for likely ones: the table in `expected/known.toml`, and how it is asked."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.encoding.engine.check import check
from fencepost.encoding.engine.events import Listener
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Outcome
from fencepost.encoding.errors import BadInput
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import TABLES, Expectation, Run, read

KNOWN: tuple[Expectation, ...] = tuple(read(TABLES / "known.toml"))


def full_names(table: Sequence[Expectation], names: Sequence[str], option: str = "") -> frozenset[str]:
    """Those names as the table has them; raises BadInput, in which `option` stands before the name, for others.

    The `#` of an issue may be left out: a shell takes it for a comment.
    """
    valid = [known.name for known in table]
    wanted = set()
    for name in names:
        full = f"#{name}" if f"#{name}" in valid else name
        if full not in valid:
            raise BadInput(
                f"{option}{name}: no such known bug; valid: {', '.join(valid)} (# may be left out)"
            )
        wanted.add(full)
    return frozenset(wanted)


def chosen(table: Sequence[Expectation], names: Sequence[str]) -> list[Expectation]:
    """The bugs of those names in the order of the table, all if none is named; raises BadInput."""
    wanted = full_names(table, names)
    return [known for known in table if known.name in wanted or not names]


def decide(run: Run, limits: Limits, listener: Listener = lambda event: None) -> Outcome:
    """Check the one property on the one instance; a protocol that never completes keeps its number of rounds."""
    instance = find(run.known.protocol).instance(run.settings.items())
    properties = instance.properties(run.known.property)
    asked = run.limits(limits).of(instance.system)
    return check(instance, properties, asked, listener)
