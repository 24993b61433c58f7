"""Public losses of BookKeeper that no model has: release, condition, action and source of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.answers.risks import COINCIDENCES, WHEN
from fencepost.answers.setups import TRAITS
from fencepost.encoding import keys as k
from fencepost.encoding.documents import Key, has_keys, parse_toml, whole
from fencepost.encoding.errors import BadInput
from fencepost.properties.expectations import TABLES
from fencepost.protocols.bookkeeper.releases import TAGS, Change


@dataclass(frozen=True)
class Feature:
    """A setting that some public loss needs and that no model has."""

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


def _positive(text: str) -> bool:
    return (whole(text) or 0) > 0


HOLDS: Mapping[str, Callable[[str], bool]] = {
    "several": _several,
    "true": "true".__eq__,
    "false": "false".__eq__,
    "positive": _positive,
    "set": bool,
}
"""The rules by which a value has a feature, by name."""


@dataclass(frozen=True)
class PublicLoss:
    """A loss that a public source names and that no model has."""

    name: str
    short: str
    """The loss in a few words."""
    loses: str
    """One sentence or two: what is lost, and when."""
    needs: frozenset[str]
    """The conditions that the setup must meet, words of `risks.toml` and features."""
    action: str
    """One action that can be done and checked in production."""
    source: str
    """The public address of the report or the fix."""
    coincidence: str
    """The independent events that must come together, one of COINCIDENCES."""
    read: str
    """The origin of its range of releases: "code" from the history and tags, "notes" from a report."""
    when: str = "change"
    """The time of the action, one of WHEN."""
    seen: str = ""
    """The public facts about how often the loss was seen; empty if there are none."""
    unless: frozenset[str] = frozenset()
    """The features that avoid it."""
    since: Change | None = None
    """The change that brought the fault; None if the oldest release that was read has it."""
    fixed: Change | None = None
    """The change that fixed it; None if the newest release that was read has the fault."""

    def is_in(self, release: str) -> bool:
        """Return whether the release has the fault."""
        return (self.since is None or release in self.since) and not (self.fixed and release in self.fixed)

    def concerns(self, release: str, traits: frozenset[str]) -> bool:
        """Return whether the release has the fault and a setup with these traits and features can meet it."""
        return self.is_in(release) and self.needs <= traits and not self.unless & traits

    @property
    def releases(self) -> list[str]:
        """The releases that were read and have the fault, oldest first."""
        return [release for release in TAGS if self.is_in(release)]

    @property
    def conditions(self) -> list[str]:
        """The conditions that the setup must meet, in words."""
        needed = [words for trait, words in CONDITIONS.items() if trait in self.needs]
        return needed + [f"not {words}" for trait, words in CONDITIONS.items() if trait in self.unless]


FEATURE = k.keys(feature=k.text(), words=k.text(), holds=k.among(HOLDS), known=k.text())
COMMITS = Key(dict, "a table of releases that were read, each with a commit", lambda v: set(v) <= set(TAGS))


def _row_keys(conditions: Mapping[str, str]) -> Mapping[str, Key]:
    of_setup = Key(list, f"a list of {', '.join(conditions)}", lambda v: set(v) <= set(conditions))
    needed = k.keys(
        short=k.text("the loss in a few words"),
        loses=k.text("what is lost, and when"),
        needs=of_setup,
        coincidence=k.among(COINCIDENCES),
        action=k.text("what can be done and checked"),
        source=Key(str, "an address that begins with https://", lambda v: v.startswith("https://")),
        read=k.among(("code", "notes")),
    )
    optional = {"when": k.among(WHEN), "seen": k.text("how often the loss was seen")}
    return {**needed, **optional, "unless": of_setup, "since": COMMITS, "fixed": COMMITS}


def features_of(document: Mapping[str, Any], where: str) -> dict[str, Feature]:
    """Return the features by the key of a file that tells them. Raises BadInput."""
    found = {}
    for key, row in document["features"].items():
        row = has_keys(row, FEATURE, f"{where}, {key}")
        found[key] = Feature(row["feature"], row["words"], row["holds"], row["known"])
    return found


def losses_of(document: Mapping[str, Any], where: str) -> tuple[PublicLoss, ...]:
    """Return the losses of a table in its order. Raises BadInput for a row that is not as it must be."""
    keys = _row_keys(TRAITS | {one.name: one.words for one in features_of(document, where).values()})
    found = []
    for name, row in document["losses"].items():
        place = f"{where}, {name}"
        row = has_keys(row, keys, place)
        since, fixed = (Change(end, row[end]) if end in row else None for end in ("since", "fixed"))
        texts = ("short", "loses", "action", "source", "coincidence", "read", "when", "seen")
        plain = {key: row[key] for key in texts if key in row}
        needs, unless = (frozenset(row.get(key, ())) for key in ("needs", "unless"))
        loss = PublicLoss(name, needs=needs, unless=unless, since=since, fixed=fixed, **plain)
        if not loss.releases:
            raise BadInput(f"{place}: no release that was read has it; since must be before fixed")
        found.append(loss)
    return tuple(found)


TABLE = "public_losses.toml"
PARTS = k.keys(features=Key(dict, "a table of keys"), losses=Key(dict, "a table of losses"))


def _document() -> Mapping[str, Any]:
    text = (TABLES / TABLE).read_text(encoding="utf-8")
    return has_keys(parse_toml(text, TABLE, "it is part of this package"), PARTS, TABLE)


FEATURES: Mapping[str, Feature] = features_of(_document(), TABLE)
"""The features by the key of a configuration file that tells them."""

CONDITIONS: Mapping[str, str] = TRAITS | {one.name: one.words for one in FEATURES.values()}
"""All conditions that a public loss may need, in words."""

PUBLIC_LOSSES: tuple[PublicLoss, ...] = losses_of(_document(), TABLE)
"""The public losses that no model has, in the order of the table."""


def public_losses(release: str, traits: frozenset[str]) -> list[PublicLoss]:
    """Return the public losses that concern this release and setup, those that need the least first."""
    found = [loss for loss in PUBLIC_LOSSES if loss.concerns(release, traits)]
    return sorted(found, key=lambda loss: COINCIDENCES.index(loss.coincidence))
