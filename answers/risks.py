"""Risks of a setup: known bugs that affect its configuration and release, and losses of its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

from fencepost.answers.affected import bugs_of_releases, has
from fencepost.answers.setups import TRAITS, Setup
from fencepost.encoding import keys as k
from fencepost.encoding.documents import Key, has_keys, parse_toml
from fencepost.properties.expectations import TABLES, Expectation, read
from fencepost.protocols.bookkeeper.parameters import TODAY
from fencepost.protocols.bookkeeper.releases import differing

LOSSES = ("no-divergence", "acked-entries-readable")
"""The properties whose violation is the loss of an acknowledged entry."""

COINCIDENCES = ("nothing", "slow-bookie", "crash", "two-crashes", "operator")
"""Events that must come together for a loss, most likely first: none, a slow bookie, a crash, two crashes
within milliseconds, a step of an operator.
"""

WHEN = ("stop", "start", "change", "ensemble-change", "crash")
"""The times of an action: before a bookie stops or starts, once, after an ensemble change, after a crash."""

OF_SETTINGS: tuple[Expectation, ...] = tuple(read(TABLES / "settings.toml"))
"""Losses that a setting of the bookies brings, in every release. Each is named by the setting."""

VARIANTS = ("unsynced", "no-journal")
"""The setups for which a row of `risks.toml` may have a table of its own."""


@dataclass(frozen=True)
class Risk:
    """A known bug with its consequences for a setup."""

    bug: Expectation
    loses: bool
    needs: frozenset[str]
    action: str
    """One action against the loss that can be done and checked in production."""
    coincidence: str = ""
    """The events that must come together for a loss, one of COINCIDENCES; empty without a loss."""
    events: str = ""
    """The same in words: how many, and within what time."""
    asks: tuple[str, ...] = LOSSES
    """The properties of which the bug violates at least one."""
    entries: int | None = None
    """The number of entries that the bug needs, if its own instance has more because of another property."""
    settings: Mapping[str, str] | None = None
    """The settings of the model that this setup needs besides those of the bug's own row."""
    by_writer: bool = False
    """Whether the writer alone, without recovery, violates one of the properties."""
    short: str = ""
    """The loss in a few words; empty without a loss."""
    when: str = "change"
    """The time of the action, one of WHEN."""
    seen: str = ""
    """The public facts about how often the loss was seen; empty if there are none."""
    at_once: bool = False
    """Whether AQ bookies crash at once."""

    @property
    def is_large(self) -> bool:
        """Whether the search needs more than two entries. At E = 3 that instance takes minutes to build."""
        return int(self.bug.settings.get("entries", 1)) > 2


KEYS = {
    **k.keys(
        loses=k.flag(),
        needs=Key(list, f"a list of {', '.join(TRAITS)}", lambda v: set(v) <= set(TRAITS)),
        action=k.text("what can be done and checked"),
    ),
    "coincidence": k.among(COINCIDENCES),
    "events": k.text("how many events must come together, and within what time"),
    "short": k.text("the loss in a few words"),
    "when": k.among(WHEN),
    "seen": k.text("how often the loss was seen"),
    "asks": Key(list, "names of properties"),
    "entries": Key(int, "a number of entries"),
    "set": k.table(str, "settings of the model that win over those of the bug's row"),
    "by_writer": k.flag(),
    "at_once": k.flag(),
    **{trait: Key(dict, "the same keys, for such a setup") for trait in VARIANTS},
}


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    path = TABLES / "risks.toml"
    return parse_toml(path.read_text(encoding="utf-8"), path.name, "it is part of this package")


def needed_setup(bug: str) -> list[str]:
    """Return the conditions of a setup that the known bug needs, in words; none if no release has the bug."""
    needed = _table().get(bug, {}).get("needs", ())
    return [words for trait, words in TRAITS.items() if trait in needed]


def risks(setup: Setup) -> list[Risk]:
    """Return the known bugs of its release whose conditions a setup meets, and the losses of its settings."""
    known = [bug[0] for bug in bugs_of_releases() if has(bug[0], setup.release)]
    found = [_risk(bug, setup) for bug in (*known, *OF_SETTINGS)]
    return [risk for risk in found if risk.needs <= setup.traits]


def _risk(known: Expectation, setup: Setup) -> Risk:
    row, place = _table()[known.name], f"risks.toml, {known.name}"
    row = has_keys(row, KEYS, place)
    for trait in VARIANTS:
        if trait in row and set(row[trait]["needs"]) <= setup.traits:
            row = has_keys(row[trait], KEYS, f"{place}, {trait}")
            break
    of_disks = known.protocol == "bookkeeper-no-journal"
    asks = row.get("asks", (known.property,) if of_disks else LOSSES)
    given = {field.name: row[field.name] for field in fields(Risk) if field.name in row}
    given |= {"needs": frozenset(row["needs"]), "asks": tuple(asks), "settings": row.get("set")}
    if given.get("at_once") and setup.configuration.ack_quorum == 1:  # one bookie is all copies that count
        given["coincidence"] = "crash"
    return Risk(known, **given)


def unmet(setup: Setup) -> dict[str, str]:
    """Return the switches, and striping, because of which the all-sizes theorem does not cover the setup."""
    sizes: dict[str, Any] = dict(setup.sizes)
    apart = differing(setup.release, replace(TODAY, **sizes))
    return apart | ({"E > WQ": "with unset_acks=while-acking"} if "striped" in setup.traits else {})
