"""Known bugs, and mutants that stand for likely ones: the table in `expected/known.toml`, and how it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fencepost.encoding.checking.hearing import Listener
from fencepost.encoding.checking.limits import Limits
from fencepost.encoding.checking.running import check
from fencepost.encoding.checking.verdicts import Outcome
from fencepost.encoding.errors import BadInput
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import Expectation, Run, read
from fencepost.protocols.bookkeeper.releases import RULES

KNOWN: tuple[Expectation, ...] = tuple(read(Path(__file__).parent / "expected" / "known.toml"))


def chosen(table: Sequence[Expectation], names: Sequence[str]) -> list[Expectation]:
    """The bugs of those names in the order of the table, all if none is named; raises BadInput.

    The `#` of an issue may be left out: a shell takes it for a comment.
    """
    valid = [known.name for known in table]
    wanted = set()
    for name in names:
        full = f"#{name}" if f"#{name}" in valid else name
        if full not in valid:
            raise BadInput(f"{name}: no such known bug; valid: {', '.join(valid)} (# may be left out)")
        wanted.add(full)
    return [known for known in table if known.name in wanted or not names]


def decide(run: Run, limits: Limits, listener: Listener = lambda event: None) -> Outcome:
    """Check the one property on the one instance; a protocol that never completes keeps its number of rounds."""
    instance = find(run.known.protocol).instance(run.settings.items())
    properties = instance.properties(run.known.property)
    asked = run.limits(limits).of(instance.system)
    return check(instance.system, instance.subject, properties, asked, listener)


def families(protocols: Sequence[str] = ()) -> list[tuple[Expectation, ...]]:
    """The rows of the table by bug: several instances may show one. Only of those protocols, if any are named."""
    found: dict[tuple[str, str], list[Expectation]] = {}
    for known in KNOWN:
        if not protocols or known.protocol in protocols:
            found.setdefault((known.wrong, known.source), []).append(known)
    return [tuple(rows) for rows in found.values()]


OF_BOOKKEEPER = ("bookkeeper", "bookkeeper-4.13", "bookkeeper-4.13-tla", "bookkeeper-no-journal")
"""The protocols whose bugs are, or were, in some release of BookKeeper's code, or nearly so."""


def has(known: Expectation, release: str) -> bool:
    """Whether the code of that release has the bug, or may have it, depending on how it is set up.

    That is read from its switch. What nothing in the model mends is in every release.
    """
    return known.switch is None or known.broken in RULES[known.switch].settings(release)


def unless(known: Expectation, release: str) -> str:
    """What has to be set up in that release for the bug to be gone, if that is what it takes."""
    if known.switch is None:
        return ""
    rule = RULES[known.switch]
    return rule.set_up if {known.broken, known.mended} <= rule.settings(release) else ""
