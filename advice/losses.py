"""Losses of acknowledged entries: the condition of each, the events that it needs, and what to do against it.

The rows stand in four tables of `properties/expected/`: `risks.toml` (known bugs and settings of bookies),
`public_losses.toml` (losses that no model has), `copies.toml` (consequences of the quorum arithmetic) and
`causes.toml`. A condition is decided by the release and by words of the setup, without a search. The tables
are read as they are: `tests/unit/test_loss_tables.py` checks each row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from fencepost.advice.affected import Bug, affected, bugs_of_releases, has
from fencepost.advice.setups import TRAITS, Setup
from fencepost.encoding.documents import parse_toml, whole
from fencepost.properties.expectations import TABLES, Expectation, read
from fencepost.protocols.bookkeeper.releases import TAGS, Change

LEVELS: Mapping[str, str] = {
    "operation": "normal operation",
    "slow-bookie": "a slow bookie or a late message",
    "crash": "one crash or restart",
    "two-crashes": "two crashes or more, or a crash and a disk",
    "operator": "an operator's mistake",
}
"""The events that a loss needs, in words, the easiest first."""

WHEN = ("change", "stop", "start", "ensemble-change", "crash", "use")
"""The times of a step: once, before a bookie stops or starts, after an event, each time it is used."""

WHO = ("bookies", "clients")
"""The systems whose operators do a step. Pulsar's brokers are clients."""

OF_SETTINGS: tuple[Expectation, ...] = tuple(read(TABLES / "settings.toml"))
"""Losses that a setting of the bookies brings, in every release. Each is named by the setting."""


@dataclass(frozen=True)
class Feature:
    """A setting that decides about a loss and that no model has."""

    name: str
    words: str
    holds: str
    """The rule by which a value of the key has the feature."""
    known: str
    """The public facts about the setting, in a clause."""

    def is_in(self, value: object) -> bool:
        """Return whether the key's value in a file, a text or what YAML makes of it, has the feature."""
        text = ",".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
        return HOLDS[self.holds](text.strip().lower())


def _several(text: str) -> bool:
    return sum(bool(part.strip()) for part in text.split(",")) > 1


HOLDS: Mapping[str, Callable[[str], bool]] = {
    "several": _several,
    "true": "true".__eq__,
    "false": "false".__eq__,
    "positive": lambda text: (whole(text) or 0) > 0,
    "zero": lambda text: whole(text) == 0,
    "100": lambda text: whole(text) == 100,
    "daily": lambda text: 0 < (whole(text) or 0) <= 86_400,
    "set": bool,
}
"""The rules by which a value has a feature, by name."""


@dataclass(frozen=True)
class Loss:
    """A way to lose an acknowledged entry, or to be without service, under one condition."""

    name: str
    kind: str
    """`bug`, `setting`, `public` (no model has it) or `quorum` (the arithmetic of copies)."""
    short: str
    """The loss in a few words."""
    loses: str
    """One sentence or two: what is lost, and when."""
    level: str
    """The events that it needs, one of LEVELS."""
    needs: frozenset[str] = frozenset()
    """The conditions that the setup must meet."""
    unless: frozenset[str] = frozenset()
    """The settings that rule it out."""
    limited_by: frozenset[str] = frozenset()
    """The settings that make it rarer and do not rule it out."""
    easier: Mapping[str, str] = field(default_factory=dict)
    """The level in a setup that meets a condition."""
    events: str = ""
    """The events in words: how many, and within what time."""
    cause: str = ""
    """The cause that it shares with other losses, a row of `causes.toml`."""
    steps: tuple[str, ...] = ()
    """The steps against it, rows of `steps.toml`."""
    action: str = ""
    """A step against this loss alone that can be done and checked in production."""
    when: str = "change"
    who: str = "bookies"
    seen: str = ""
    """The public facts about how often the loss was seen; empty if there are none."""
    everything: bool = False
    """Whether it takes all entries of a bookie, and not only those of one moment."""
    source: str = ""
    """The report or fix, with its number or public address."""
    read: str = ""
    """The origin of a public range of releases: "code" from the history and tags, "notes" from a report."""
    bug: Expectation | None = None
    """The row of the known bug or setting that the models have."""
    asks: tuple[str, ...] = ()
    """The properties of the model of which it violates at least one."""
    entries: int | None = None
    """The entries that the model needs, if the bug's own instance has more for another property."""
    same_bookie: bool = False
    """Whether two entries must go to one bookie in the model."""
    at_once: bool = False
    """Whether AQ bookies crash at once in the model."""
    settings: Mapping[str, str] | None = None
    """The settings of the model that this setup needs besides those of the bug's own row."""
    since: Change | None = None
    """The change that brought a public fault; None if the oldest release that was read has it."""
    fixed: Change | None = None
    """The change that fixed it; None if the newest release that was read has the fault."""

    def is_in(self, release: str) -> bool:
        """Return whether the release has the fault."""
        if self.kind == "bug" and self.bug is not None:
            return has(self.bug, release)
        return (self.since is None or release in self.since) and not (self.fixed and release in self.fixed)

    def unmet(self, setup: Setup) -> list[str]:
        """Return the reasons why the loss cannot happen in a setup; none if it can."""
        traits = setup.traits
        lacking = [words for word, words in CONDITIONS.items() if word in self.needs - traits]
        avoided = [f"not with {words}" for word, words in CONDITIONS.items() if word in self.unless & traits]
        release = [] if self.is_in(setup.release) else [f"not in {setup.release}"]
        return release + [f"needs {words}" for words in lacking] + avoided

    def level_in(self, setup: Setup) -> str:
        """Return the events that it needs in a setup, the easiest that applies."""
        return next((level for word, level in self.easier.items() if word in setup.traits), self.level)

    def is_limited(self, setup: Setup) -> bool:
        """Return whether a setting makes it rarer."""
        return bool(self.limited_by & setup.traits)

    @property
    def releases(self) -> list[str]:
        """The releases that were read and have the fault, oldest first."""
        return [release for release in TAGS if self.is_in(release)]

    @property
    def conditions(self) -> list[str]:
        """The conditions that the setup must meet, in words."""
        needed = [words for trait, words in CONDITIONS.items() if trait in self.needs]
        return needed + [f"not {words}" for trait, words in CONDITIONS.items() if trait in self.unless]


# The tables.


def document(name: str) -> Mapping[str, Any]:
    """Return a table of `properties/expected/`. Raises BadInput."""
    return parse_toml((TABLES / name).read_text(encoding="utf-8"), name, "it is part of this package")


PUBLIC = "public_losses.toml"
FEATURES: Mapping[str, Feature] = {
    key: Feature(row["feature"], row["words"], row["holds"], row["known"])
    for key, row in document(PUBLIC)["features"].items()
}
"""The features by the key of a configuration file that tells them."""

CONDITIONS: Mapping[str, str] = {**TRAITS, **{one.name: one.words for one in FEATURES.values()}}
"""All conditions that a loss may put to a setup, in words."""

VARIANTS = ("unsynced", "no-journal")
"""The setups for which a row of `risks.toml` may have a table of its own."""


def loss_of(name: str, row: Mapping[str, Any], **own: Any) -> Loss:
    """Return the loss of a row. A key that the row lacks has its value in `own`, or its default."""
    given = {**row, **own}
    for key in ("needs", "unless", "limited_by"):
        given[key] = frozenset(row.get(key, ()))
    for key in ("since", "fixed"):
        given[key] = Change(key, row[key]) if key in row else None
    given["steps"], given["asks"] = tuple(row.get("steps", ())), tuple(row.get("asks", own.get("asks", ())))
    given["settings"] = row.get("set")
    known = {one.name for one in fields(Loss)}
    return Loss(name, **{key: value for key, value in given.items() if key in known})


LOST = ("no-divergence", "acked-entries-readable")
"""The properties whose violation is the loss of an acknowledged entry."""


def _of_models() -> Iterator[Loss]:
    """Yield the losses of known bugs and settings. One may have several rows; the first that fits counts."""
    rows = document("risks.toml")
    for known in (*(bug[0] for bug in bugs_of_releases() if affected(bug)), *OF_SETTINGS):
        row = rows[known.name]
        if not row["loses"]:
            continue
        kind = "setting" if known in OF_SETTINGS else "bug"
        asks = (known.property,) if known.protocol == "bookkeeper-no-journal" else LOST
        own = {"kind": kind, "loses": known.wrong, "source": known.source, "bug": known, "asks": asks}
        for variant in VARIANTS:
            if variant in row:
                yield loss_of(known.name, row[variant], **own)
        yield loss_of(known.name, row, **own)


PUBLIC_LOSSES: tuple[Loss, ...] = tuple(
    loss_of(name, row, kind="public") for name, row in document(PUBLIC)["losses"].items()
)
"""The public losses that no model has, in the order of the table."""

LOSSES: tuple[Loss, ...] = (
    *_of_models(),
    *PUBLIC_LOSSES,
    *(loss_of(name, row, kind="quorum") for name, row in document("copies.toml").items()),
)
"""All losses. Several rows of one name are variants, of which the first counts whose condition is met."""

CAUSES: Mapping[str, str] = {name: row["words"] for name, row in document("causes.toml").items()}
"""The causes that losses share: the events that must come together, in words."""


def possible(setup: Setup) -> list[Loss]:
    """Return the losses that can happen in a setup, the easiest first.

    Of those of one level the first take everything, and the last are made rarer by a setting.
    """
    found: dict[str, Loss] = {}
    for loss in LOSSES:
        if loss.name not in found and not loss.unmet(setup):
            found[loss.name] = loss
    order = list(LEVELS)

    def place(one: Loss) -> tuple[int, bool, bool]:
        return order.index(one.level_in(setup)), not one.everything, one.is_limited(setup)

    return sorted(found.values(), key=place)


def impossible(setup: Setup) -> dict[str, str]:
    """Return the losses that cannot happen in a setup, each with the reasons."""
    able = {loss.name for loss in possible(setup)}
    return {one.name: ", ".join(one.unmet(setup)) for one in LOSSES if one.name not in able}


def harmless(setup: Setup) -> list[Bug]:
    """Return the known bugs whose conditions a setup meets and that lose no acknowledged entry."""
    rows = document("risks.toml")
    found = [bug for bug in bugs_of_releases() if has(bug[0], setup.release)]
    return [
        bug for bug in found if not (row := rows[bug[0].name])["loses"] and {*row["needs"]} <= setup.traits
    ]


def needed_setup(bug: str) -> list[str]:
    """Return the conditions of a setup that the known bug needs, in words; none if no release has the bug."""
    needed = document("risks.toml").get(bug, {}).get("needs", ())
    return [words for trait, words in TRAITS.items() if trait in needed]
