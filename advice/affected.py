"""The releases of BookKeeper that have each known bug, from the tables `releases.toml` of the protocols.

A table has the value of each switch in each release. A release has a bug if it has the value of its switch
that brings the bug.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.advice.known import KNOWN
from fencepost.properties.expectations import Expectation
from fencepost.protocols.bookkeeper.releases import NEWEST, RULES, TAGS, Rule
from fencepost.protocols.ledger_copies import releases as of_copies

Bug = tuple[Expectation, ...]
"""The rows of the table of known bugs that show one bug. The name of the bug is that of the first row."""

OF_BOOKKEEPER = ("bookkeeper", "bookkeeper-4.13", "bookkeeper-4.13-tla", "bookkeeper-no-journal")
"""The presets whose known bugs were in BookKeeper's code, in a release or before one."""

OF_COPIES = "ledger-copies"
"""The preset whose known bugs are in auto-recovery, `recover` and the collector of the releases."""


def bugs_of_releases() -> list[Bug]:
    """Return the rows of all these presets by bug. Several instances may show one bug."""
    found: dict[tuple[str, str], list[Expectation]] = {}
    for known in KNOWN:
        if known.protocol in (*OF_BOOKKEEPER, OF_COPIES):
            found.setdefault((known.wrong, known.source), []).append(known)
    return [tuple(rows) for rows in found.values()]


def family(name: str) -> Bug:
    """Return the rows of the bug of that name; none if it is no bug of BookKeeper's code."""
    return next((bug for bug in bugs_of_releases() if bug[0].name == name), ())


def _rules(known: Expectation) -> Mapping[str, Rule]:
    return of_copies.RULES if known.protocol == OF_COPIES else RULES


def rule(known: Expectation) -> Rule | None:
    """Return the rule of the bug's switch; None if no switch fixes it, or if it is no switch of releases."""
    return None if known.switch is None else _rules(known).get(known.switch)


def has(known: Expectation, release: str) -> bool:
    """Return whether the release has the bug, at least with some of its settings.

    It has the bug if it has the value of the bug's switch. It must also have the code of the other switches
    that the bug's row names, with any value. A bug that no switch fixes needs only these.
    """
    found, rules = rule(known), _rules(known)
    has_code = all(rules[name].settings(release) for name in known.settings if name in rules)
    return has_code and (found is None or known.broken in found.settings(release))


def unless(known: Expectation, release: str) -> str:
    """Return the settings of that release that avoid the bug; an empty text if none does."""
    found = rule(known)
    if found is None:
        return ""
    return found.set_up if {known.broken, known.mended} <= found.settings(release) else ""


def affected(bug: Bug) -> list[str]:
    """Return the releases that have the bug, at least with some of their settings, oldest first."""
    return [release for release in TAGS if any(has(known, release) for known in bug)]


def mended(bug: Bug) -> list[str]:
    """Return the first release of each line that no longer has the bug.

    The list is empty if no release that was read had the bug, if the newest release still has it, or if
    another bug has taken its place.
    """
    if not affected(bug):
        return []
    (known, *_) = bug
    found = rule(known)
    if found is None or has(known, NEWEST):
        return []
    return next((list(c.commits) for c in reversed(found.changes) if c.to == known.mended), [])


def set_up_since(bug: Bug) -> tuple[str, str] | None:
    """Return the first release in which settings can avoid the bug, and these settings, or None."""
    (known, *_) = bug
    return next(((release, said) for release in TAGS if (said := unless(known, release))), None)


def span(releases: Sequence[str]) -> str:
    """Return releases in words, those that follow each other as a range."""
    order, ranges = list(TAGS), list[list[str]]()
    for release in releases:
        if ranges and order.index(ranges[-1][-1]) + 1 == order.index(release):
            ranges[-1].append(release)
        else:
            ranges.append([release])
    said = [one[0] if len(one) == 1 else f"{one[0]} to {one[-1]}" for one in ranges]
    return ", ".join(said) or "none read"


def spared(switches: Mapping[str, str], release: str) -> list[str]:
    """Return the bugs of a release that an instance does not have because of these switches."""
    return [
        bug[0].name
        for bug in bugs_of_releases()
        if switches.get(bug[0].switch or "") == bug[0].mended and has(bug[0], release)
    ]
