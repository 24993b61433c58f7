"""Which known bugs are in which releases of BookKeeper: read from the switches that bring them (`protocols/bookkeeper/releases.toml`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.answers.known import KNOWN
from fencepost.properties.expectations import Expectation
from fencepost.protocols.bookkeeper.releases import NEWEST, RULES, TAGS

Bug = tuple[Expectation, ...]
"""The rows of the table that show one bug, by its name in the first."""

OF_BOOKKEEPER = ("bookkeeper", "bookkeeper-4.13", "bookkeeper-4.13-tla", "bookkeeper-no-journal")
"""The protocols whose bugs are, or were, in some release of BookKeeper's code, or nearly so."""


def bugs_of_releases() -> list[Bug]:
    """The rows of those protocols by bug: several instances may show one."""
    found: dict[tuple[str, str], list[Expectation]] = {}
    for known in KNOWN:
        if known.protocol in OF_BOOKKEEPER:
            found.setdefault((known.wrong, known.source), []).append(known)
    return [tuple(rows) for rows in found.values()]


def family(name: str) -> Bug:
    """The rows of the bug of that name; none if it is no bug of BookKeeper's code."""
    return next((bug for bug in bugs_of_releases() if bug[0].name == name), ())


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


def affected(bug: Bug) -> list[str]:
    """The releases that have it, or may have it, oldest first."""
    return [release for release in TAGS if any(has(known, release) for known in bug)]


def mended(bug: Bug) -> list[str]:
    """The first release of each line without it, of bugs that the releases read had; none if it is in the newest."""
    if not affected(bug):
        return []
    (known, *_) = bug
    if known.switch is None or has(known, NEWEST):
        return []
    return next(list(c.commits) for c in reversed(RULES[known.switch].changes) if c.to == known.mended)


def set_up_since(bug: Bug) -> tuple[str, str] | None:
    """From which release on it depends on a setting, and what has to be set for the bug to be gone."""
    (known, *_) = bug
    return next(((release, said) for release in TAGS if (said := unless(known, release))), None)


def span(releases: Sequence[str]) -> str:
    """Releases that follow one another, in words."""
    if not releases:
        return "none read"
    return releases[0] if len(releases) == 1 else f"{releases[0]} to {releases[-1]}"


def spared(switches: Mapping[str, str], release: str) -> list[str]:
    """The bugs of a release that an instance does without, which differs from it in these switches."""
    return [
        bug[0].name
        for bug in bugs_of_releases()
        if switches.get(bug[0].switch or "") == bug[0].mended and has(bug[0], release)
    ]
