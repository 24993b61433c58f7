"""The value of each switch in each release of BookKeeper, as read in the tags of its public source.

The table is `releases.toml` in this folder. Seven switches have no row, because no release decides them:
`lose` and `boot` choose a fault and its level of detail, users choose `storage`, which decides `second_copy`,
`load` is the work that a bookie has besides this ledger, `entries_journaled` is a setting of users, and
`way_to_read` is the call that a reader makes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cache
from importlib.resources import files
from typing import Any

from fencepost.encoding.documents import parse_toml
from fencepost.encoding.errors import BadInput, did_you_mean
from fencepost.protocols.bookkeeper import switches
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters


def ordered(release: str) -> tuple[int, ...]:
    """Return a release as numbers that can be compared: 4.17.3 as (4, 17, 3)."""
    return tuple(int(part) for part in release.split("."))


@dataclass(frozen=True)
class Change:
    """A change of a switch in the code: the new value, and the first release of each line that has it."""

    to: str
    commits: Mapping[str, str]
    """The commit that brought the change, by release."""

    def __contains__(self, release: str) -> bool:
        """Return whether the release has the change.

        A release of a named line has it from the line's first one on. A release of another line has it if
        the line is later than all named ones.
        """
        asked = ordered(release)
        firsts = [ordered(first) for first in self.commits]
        later = asked[:2] > max(firsts)[:2]
        return later or any(asked[:2] == first[:2] and asked >= first for first in firsts)


@dataclass(frozen=True)
class Rule:
    """A switch in the code: the place where it was read, and its value in each release."""

    switch: str
    read: str
    first: str | None
    """The value in the oldest release of the table; None if the code had no such rule yet."""
    changes: tuple[Change, ...]
    set_up: str = ""
    """The settings that a user needs for the last value. Without them the value before applies."""

    def value(self, release: str) -> str | None:
        """Return the value in that release with all settings made; None if the code has no such rule yet."""
        return next((change.to for change in reversed(self.changes) if release in change), self.first)

    def settings(self, release: str) -> frozenset[str]:
        """Return the values that a user of that release may have: several if they depend on settings."""
        value = self.value(release)
        return frozenset(v for v in (value, self.first if self.set_up else None) if v is not None)


@cache
def _document() -> Mapping[str, Mapping[str, object]]:
    name = "releases.toml"
    text = files("fencepost.protocols.bookkeeper").joinpath(name).read_text(encoding="utf-8")
    return parse_toml(text, name, "it is part of this package")


def rules_of(document: Mapping[str, Mapping[str, object]]) -> dict[str, Rule]:
    """Return the rules of a table by switch."""
    return {name: _rule(name, row) for name, row in document["switch"].items()}


def _rule(switch: str, row: object) -> Rule:
    assert isinstance(row, dict)
    changes = tuple(Change(change["to"], change["in"]) for change in row.get("changes", ()))
    return Rule(switch, row["read"], row.get("first"), changes, row.get("set_up", ""))


TAGS: Mapping[str, str] = {release: str(commit) for release, commit in _document()["tags"].items()}
"""The releases that were read, oldest first, each with the commit of its tag."""

STORAGES_READ: Mapping[str, str] = {name: str(place) for name, place in _document()["storages"].items()}
"""The storages with which the releases were read, each with the place of its code."""

RULES: Mapping[str, Rule] = rules_of(_document())
"""The rules by switch.

A switch without a rule belongs to specifications, or describes a fault and not the code.
"""

NEWEST = list(TAGS)[-1]
"""The newest release that was read."""


def listed(release: str) -> str:
    """Return the release, or raise BadInput if it was not read."""
    if release not in TAGS:
        raise BadInput(
            f"{release}: not one of the {len(TAGS)} releases that were read, {next(iter(TAGS))} to {NEWEST}"
            f"{_did_you_mean(release)}; fencepost known --list lists them"
        )
    return release


def newest_read(release: str) -> str:
    """Return the release that stands for this one: itself if it was read, else the newest one before it.

    A release that was not read must be after the newest of its line, or of a line after all that were read.
    Raises BadInput for any other.
    """
    if release not in TAGS and re.fullmatch(r"4\.[0-9]{1,4}\.[0-9]{1,4}", release):
        asked = ordered(release)
        line = [tag for tag in TAGS if ordered(tag)[:2] == asked[:2]]
        if asked > ordered(NEWEST) or (line and asked > ordered(line[-1])):
            return line[-1] if line else NEWEST
    return listed(release)


def _did_you_mean(release: str) -> str:
    """Return the release that is meant, in the words of `did_you_mean`.

    Of the same line the most similar is taken, or else the newest of them. For a line that was not read it
    is the release before it.
    """
    said = re.match(r"([0-9]{1,4})(?:\.([0-9]{1,4}))?(?![0-9])", release)
    if said is None:
        return did_you_mean(release, TAGS)
    line = (int(said[1]), int(said[2] or 0))
    same = [tag for tag in TAGS if ordered(tag)[:2] == line]
    if same:
        meant = max(same, key=lambda tag: (SequenceMatcher(None, tag, release[:20]).ratio(), ordered(tag)))
    else:
        meant = max((tag for tag in TAGS if ordered(tag)[:2] < line), key=ordered, default=next(iter(TAGS)))
    return f" (did you mean {meant}?)"


def as_in(release: str, parameters: BookKeeperParameters) -> BookKeeperParameters:
    """Return the same instance with the switches of that release.

    Settings of users stay as they are if the release has them. Before 4.15.0 a bookie boots without BP-46's
    check. Nothing tells it of an unclean shutdown, so it never begins phase one. Without any cookie it
    boots as a new bookie (Bookie.checkEnvironmentWithStorageExpansion).

    Raises BadInput for a release that was not read. Raises BadInput also for lost disks before 4.15.0,
    because the model would repair cookies as later releases do.
    """
    listed(release)
    has_check = RULES["check_note"].value(release) is not None
    if parameters.boots_in_steps and parameters.disks and not has_check:
        raise BadInput(
            f"boot=whole, disks={parameters.disks}: release {release} mends no bookie that lost a disk; "
            "set disks=0, or give a release from 4.15.0 on"
        )
    without = (() if parameters.deletions else switches.DELETION) + (
        () if parameters.full_disks else switches.FULL_DISKS
    )
    without += () if parameters.journals else switches.JOURNAL_MARK
    without += () if parameters.restarts_with_caches else switches.CACHE_ASIDE
    of_code = [
        name
        for name in RULES
        if name not in (*switches.DURABILITY, *switches.CRASHES, *switches.BOOT, *without)
    ]
    found = _with(release, parameters, of_code)
    if parameters.loses_fences:
        return _with(release, found, switches.DURABILITY)
    if not parameters.crashes or parameters.journals or parameters.full_disks:
        return found
    found = _with(release, found, AFTER_CRASHES)
    if parameters.boots_in_steps and not has_check:
        return _with(release, found, switches.BOOT)
    if all(getattr(found, name) == "no" for name in AFTER_CRASHES):
        return found
    return _with(
        release, found, (*switches.CRASHES, *switches.BOOT) if parameters.boots_in_steps else switches.CRASHES
    )


AFTER_CRASHES = ("fence_on_unclean_shutdown", "limbo_on_unclean_shutdown")
"""The switches that say whether a bookie does anything after a crash.

If both are "no", the other rules of crashes have no effect.
"""


def _with(release: str, parameters: BookKeeperParameters, names: Sequence[str]) -> BookKeeperParameters:
    """Return the instance with the release's values of those switches that have a rule."""
    rules = (RULES[name] for name in names if name in RULES)
    changes: dict[str, Any] = {rule.switch: _value(rule, release, parameters) for rule in rules}
    return replace(parameters, **changes)


def _value(rule: Rule, release: str, parameters: BookKeeperParameters) -> str:
    """Return the switch's value in that release.

    The instance's own value stays if users of that release can set it.
    """
    own = str(getattr(parameters, rule.switch))
    if own in rule.settings(release):
        return own
    return rule.value(release) or own


def differing(release: str, parameters: BookKeeperParameters) -> dict[str, str]:
    """Return the switches in which that release differs from the instance, with the release's values."""
    own = as_in(release, parameters)
    return {
        name: str(getattr(own, name)) for name in RULES if getattr(own, name) != getattr(parameters, name)
    }
