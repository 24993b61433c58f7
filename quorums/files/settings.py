"""The settings of a deployment that a file has, made of its facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from fencepost.encoding.documents import is_a, shown, whole
from fencepost.encoding.errors import BadInput
from fencepost.quorums.files.config_keys import AUTORECOVERY, BOOKIE, BROKER, CONFIG_KEYS, ConfigKey
from fencepost.quorums.files.facts import Fact
from fencepost.quorums.files.members import COMPARED, weakest
from fencepost.quorums.files.persistence import disks_of
from fencepost.quorums.files.places import STANDALONE, component_of, is_false
from fencepost.quorums.files.setters import REMOVED, Removed
from fencepost.quorums.storages import OF_CLASS

T = TypeVar("T")
Number: TypeAlias = int | Removed | None
Flag: TypeAlias = bool | Removed | None
Text: TypeAlias = str | Removed | None

QUORUMS = {
    "ensemble": "managedLedgerDefaultEnsembleSize",
    "write_quorum": "managedLedgerDefaultWriteQuorum",
    "ack_quorum": "managedLedgerDefaultAckQuorum",
}
"""The keys of the broker for E, WQ and AQ, by their field."""
REPLICAS = ("replicaCount", "replicas")
"""The keys for the number of pods."""


@dataclass(frozen=True)
class Settings:
    """The settings of a file: None for one that it does not have, REMOVED for one that it sets to null."""

    ensemble: Number = None
    write_quorum: Number = None
    ack_quorum: Number = None
    bookies: Number = None
    rack_aware: Flag = None
    region_aware: Flag = None
    min_racks: Number = None
    enforce_min_racks: Flag = None
    delay_ensemble_change: Flag = None
    opportunistic_striping: Flag = None
    recovery_min_racks: Number = None
    recovery_enforces: Flag = None
    bookie_daemon: Flag = None
    """Whether bookies run auto-recovery."""
    autorecovery: Flag = None
    """Whether the chart or operator runs auto-recovery."""
    extra_autorecovery: Flag = None
    """The same by another key of the chart, which joins both with *or*."""
    autorecovery_pods: Number = None
    chart_persistence: Flag = None
    """Whether disks outlive their pods, for the whole chart or operator."""
    volumes_persistence: Flag = None
    """The same for the whole chart, with a bookie that is formatted at each start if it is off."""
    bookie_persistence: Flag = None
    """The same for the bookies alone."""
    journal: Flag = None
    sync: Flag = None
    checks: Flag = None
    storage: Text = None
    sorted_storage: Flag = None
    """Whether sorted storage is on. If it is off, the default storage is interleaved."""
    standalone: Flag = None
    """Whether one process of Pulsar is all, with one bookie in it."""


def settings_of(
    path: Path, facts: Sequence[Fact], members: Sequence[str] = ()
) -> tuple[Settings, list[Fact], list[str]]:
    """Return the settings in the facts of a file, the facts that set them, and notes. Raises BadInput.

    `members` are the bookies or sets of bookies that may each have values of their own.
    """
    values: dict[str, Any] = {}
    used: list[Fact] = []
    notes: list[str] = []

    def take(field: str, facts: Iterable[Fact], read: Callable[[Path, Fact], object]) -> None:
        given = list(facts)
        used.extend(given)
        if field in COMPARED:
            by_member = of_members(given, members, DEFAULTS.get(field))
            said = {member: read(path, fact) for member, fact in by_member.items()}
            if len(set(said.values())) > 1:
                values[field], note = weakest(field, given[0].key, said)
                notes.extend([note] if note else [])
                return
            given = list(by_member.values()) if said else given
        fact = _one(path, given)
        if fact is not None:
            values[field] = REMOVED if fact.value is None else read(path, fact)

    named = by_key(facts)
    for key in CONFIG_KEYS.values():
        if key.sets:
            take(key.sets, facts_of(key, named), READERS[key.form])
    without_bookies = any(_denies_bookies(fact) for fact in facts)
    disks = disks_of(facts)
    for field, own in (SECTION_FACTS | DISKS).items():
        if not (without_bookies and "autorecovery" in field):
            given = [fact for fact in (disks if field in DISKS else facts) if own(fact)]
            take(field, given, _number if field.endswith("pods") else _flag)
    whole, parts = _counts(facts)
    take("bookies", whole, _number)
    if parts:
        values["bookies"] = sum(_number(path, part) for part in parts)
        used += parts
    return Settings(**_removed(facts) | values), used, notes


DEFAULTS = {
    key.sets: Fact(key.component, (key.name,), key.default)
    for key in CONFIG_KEYS.values()
    if key.sets and key.default and key.sets != "storage"
}
"""The value of a member without the key, by field. The default storage depends on the system."""


def members_of(facts: Sequence[Fact]) -> list[str]:
    """Return the sets, services and files of which each says all that it sets for its bookies."""
    return list(dict.fromkeys(fact.member for fact in facts if fact.component == BOOKIE and fact.is_whole))


def of_members(facts: Sequence[Fact], members: Sequence[str], default: Fact | None) -> dict[str, Fact]:
    """Return the fact that counts for each member: its own, else the one for all, else the default.

    The result is empty if no fact belongs to a member, or if one member has two values.
    """
    own: dict[str, Fact] = {}
    for fact in facts:
        if own.setdefault(fact.member, fact).value != fact.value:
            return {}
    if not own.keys() - {""}:
        return {}
    for_all = own.pop("", default)
    found = {member: own.get(member, for_all) for member in (*members, *own)}
    found = {m: default if fact is not None and fact.value is None else fact for m, fact in found.items()}
    return {member: fact for member, fact in found.items() if fact is not None}


def by_key(facts: Iterable[Fact]) -> dict[str, list[Fact]]:
    """Return the facts by their key."""
    found: dict[str, list[Fact]] = {}
    for fact in facts:
        found.setdefault(fact.key, []).append(fact)
    return found


def facts_of(key: ConfigKey, facts: Mapping[str, Sequence[Fact]]) -> list[Fact]:
    """Return the facts that set a key: those of its component, else those that stand below no component.

    A key with the prefix of an image comes last and wins, as the images set it.
    """
    named = facts.get(key.name, ())
    readers = [key.component, BOOKIE] if key.component == AUTORECOVERY else [key.component]
    for component in [*readers, None]:
        own = [fact for fact in named if fact.component == component]
        if own:
            return [fact for fact in own if fact.has_prefix] or own
    return []


def _one(path: Path, facts: Sequence[Fact]) -> Fact | None:
    """Return one of the facts that set a value. Raises BadInput if they differ."""
    for fact in facts:
        if fact.value != facts[0].value and str(fact.value).lower() != str(facts[0].value).lower():
            raise BadInput(
                f"{path}: {facts[0].where} is {shown(facts[0].value)}, and {fact.where} is "
                f"{shown(fact.value)}; give a file with the values of one cluster"
            )
    return facts[-1] if facts else None


def _removed(facts: Sequence[Fact]) -> dict[str, Any]:
    """Return the fields of components whose section the file sets to null."""
    sections = [(fact.component, fact.path[-1].lower()) for fact in facts if fact.value is None]
    whole = {component for component, name in sections if component and component_of(name) == component}
    gone = whole | {component for component, name in sections if name in ("config", "configdata")}
    found: dict[str, Any] = {
        key.sets: REMOVED for key in CONFIG_KEYS.values() if key.sets and key.component in gone
    }
    return found | ({"bookies": REMOVED} if BOOKIE in whole else {})


# What a section says besides its keys.


def _counts(facts: Sequence[Fact]) -> tuple[list[Fact], list[Fact]]:
    """Return the facts that give the number of bookies, and those that give parts of it: sets, services."""
    given = [fact for fact in facts if fact.component == BOOKIE and fact.key in REPLICAS]
    parts = [fact for fact in given if fact.is_whole and fact.section == fact.member.lower()]
    workloads = [fact for fact in given if fact.path[0] == "spec" and fact.member and not fact.is_whole]
    parts = parts or (workloads if len(workloads) > 1 else [])
    own = [fact for fact in given if fact.section == "spec" or component_of(fact.section) == BOOKIE]
    return ([], parts) if parts else (own, [])


def _denies_bookies(fact: Fact) -> bool:
    """Return whether a chart deploys no bookies, so that it says nothing of those of another release."""
    return fact.section == "components" and component_of(fact.key) == BOOKIE and is_false(fact.value)


SECTION_FACTS: dict[str, Callable[[Fact], bool]] = {
    "autorecovery": lambda f: (
        (f.section == "components" and f.key.lower() == "autorecovery")
        or (f.component == BOOKIE and f.key == "autoRecovery")
        or (f.component == AUTORECOVERY and f.section == "autorecovery" and f.key == "enabled")
    ),
    "extra_autorecovery": lambda f: f.section == "extra" and f.key.lower() == "autorecovery",
    "autorecovery_pods": lambda f: (
        f.component == AUTORECOVERY and f.section in ("autorecovery", "spec") and f.key in REPLICAS
    ),
    "standalone": lambda f: (
        f.component == STANDALONE
        and ((f.key == "enabled" and component_of(f.section) == STANDALONE) or f.key == "standalone")
    ),
}
"""The facts of sections that set a field of `Settings`."""
DISKS: dict[str, Callable[[Fact], bool]] = {
    "chart_persistence": lambda f: f.component is None and f.section != "volumes",
    "volumes_persistence": lambda f: f.component is None and f.section == "volumes",
    "bookie_persistence": lambda f: f.component == BOOKIE,
}
"""The same of the facts that say whether disks outlive their pods."""


# Values.


def _number(path: Path, fact: Fact) -> int:
    """Return a number, also from a text. Java trims the text and accepts no other form. Raises BadInput."""
    value = fact.value
    number = value if is_a(value, int) else whole(value.strip()) if isinstance(value, str) else None
    if not isinstance(number, int) or abs(number) >= 2**31:
        raise BadInput(f"{path}: {fact.where} is {shown(value)}; it must be a whole number")
    return number


def _flag(path: Path, fact: Fact) -> bool:
    value = fact.value
    said = value.strip().lower() if isinstance(value, str) else value
    true, false = TRUTHS if fact.key in CONFIG_KEYS and CONFIG_KEYS[fact.key].component != BROKER else PLAIN
    if said not in (True, False, *true, *false) or is_a(said, int):
        raise BadInput(f"{path}: {fact.where} is {shown(value)}; it must be true or false")
    return said in (True, *true)


PLAIN = (("true",), ("false",))
TRUTHS = (("true", "yes", "on", "t", "y", "1"), ("false", "no", "off", "f", "n", "0"))
"""The words for true and false that a bookie takes (BooleanUtils.toBooleanObject of commons-lang3)."""


def _storage(path: Path, fact: Fact) -> str:
    name = str(fact.value).strip().rpartition(".")[2]
    if name not in OF_CLASS:
        raise BadInput(f"{path}: {fact.where} is {shown(fact.value)}; known are {', '.join(OF_CLASS)}")
    return OF_CLASS[name]


READERS: dict[str, Callable[[Path, Fact], object]] = {"number": _number, "flag": _flag, "storage": _storage}
"""The reader of a value by the form of its key."""
