"""The settings of a deployment that a file has, made of its facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from fencepost.encoding.documents import is_a, shown, whole
from fencepost.encoding.errors import BadInput
from fencepost.quorums.config_forms import PLAIN_SECTIONS
from fencepost.quorums.config_keys import AUTORECOVERY, BOOKIE, BROKER, CONFIG_KEYS, ConfigKey
from fencepost.quorums.facts import BOOKIES, Fact
from fencepost.quorums.members import COMPARED, weakest
from fencepost.quorums.setters import REMOVED, Removed
from fencepost.quorums.storages import OF_CLASS

T = TypeVar("T")
Number: TypeAlias = int | Removed | None
Flag: TypeAlias = bool | Removed | None
Text: TypeAlias = str | Removed | None

QUORUMS = (
    "managedLedgerDefaultEnsembleSize",
    "managedLedgerDefaultWriteQuorum",
    "managedLedgerDefaultAckQuorum",
)
"""The keys of the broker for E, WQ and AQ."""
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
    for field, own in SECTION_FACTS.items():
        if without_bookies and field.startswith("autorecovery"):
            continue
        take(field, [fact for fact in facts if own(fact)], _number if field.endswith("pods") else _flag)
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


def default_of(field: str) -> Any:
    """Return the value of a bookie whose file does not have the key of this field; None if not known."""
    default = DEFAULTS.get(field)
    return None if default is None else READERS[CONFIG_KEYS[default.key].form](Path(), default)


def members_of(facts: Sequence[Fact]) -> list[str]:
    """Return the sets, services and files of which each says all that it sets for its bookies."""
    whole = [f for f in facts if f.component == BOOKIE and f.member and _says_all(f)]
    return list(dict.fromkeys(fact.member for fact in whole))


def _says_all(fact: Fact) -> bool:
    return (
        "sets" in fact.path or fact.path[0] == "services" or (fact.path[0] == "data" and len(fact.path) > 2)
    )


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
    """Return the facts that set a key: those of its component, else those that stand in no component.

    A key with the prefix of an image comes last and wins, as the images set it.
    """
    named = facts.get(key.name, ())
    readers = [key.component, BOOKIE] if key.component == AUTORECOVERY else [key.component]
    for component in [*readers, None]:
        own = [fact for fact in named if fact.component == component and (component or is_plain(fact))]
        if own:
            return [fact for fact in own if fact.has_prefix] or own
    return []


def is_plain(fact: Fact) -> bool:
    """Return whether the key stands in the file itself, or in sections that name nothing."""
    return {name.lower() for name in fact.path[:-1]} <= PLAIN_SECTIONS


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
    sections = [fact for fact in facts if fact.value is None and fact.component]
    gone = {
        f.component for f in sections if f.path[-1].lower() in (*BOOKIES, "broker", "config", "configdata")
    }
    found: dict[str, Any] = {
        key.sets: REMOVED for key in CONFIG_KEYS.values() if key.sets and key.component in gone
    }
    return found | ({"bookies": REMOVED} if any(f.path[-1].lower() in BOOKIES for f in sections) else {})


# What a section says besides its keys.


def _counts(facts: Sequence[Fact]) -> tuple[list[Fact], list[Fact]]:
    """Return the facts that give the number of bookies, and those that give parts of it: sets, services."""
    given = [fact for fact in facts if fact.component == BOOKIE and fact.key in REPLICAS]
    sets = [fact for fact in given if len(fact.path) > 2 and fact.path[-3] == "sets"]
    services = [fact for fact in given if fact.path[0] == "services"]
    workloads = [fact for fact in given if fact.path[0] == "spec" and fact.member and fact not in sets]
    services = services or (workloads if len(workloads) > 1 else [])
    own = [fact for fact in given if fact.section in (*BOOKIES, "spec", "")]
    return ([], sets or services) if sets or services else (own, [])


def _denies_bookies(fact: Fact) -> bool:
    """Return whether a chart deploys no bookies, so that it says nothing of those of another release."""
    of_bookies = fact.section == "components" and fact.key.lower() in BOOKIES
    return of_bookies and str(fact.value).lower() == "false"


def _says_autorecovery(fact: Fact) -> bool:
    """Return whether the fact says whether a chart or an operator runs auto-recovery."""
    return (
        (fact.section in ("components", "extra") and fact.key.lower() == "autorecovery")
        or (fact.component == BOOKIE and fact.key == "autoRecovery")
        or (fact.component == AUTORECOVERY and fact.section == "autorecovery" and fact.key == "enabled")
    )


SECTION_FACTS: dict[str, Callable[[Fact], bool]] = {
    "autorecovery": _says_autorecovery,
    "autorecovery_pods": lambda f: (
        f.component == AUTORECOVERY and f.section in ("autorecovery", "spec") and f.key in REPLICAS
    ),
    "chart_persistence": lambda f: f.is_persistence and f.component is None and f.section != "volumes",
    "volumes_persistence": lambda f: f.is_persistence and f.component is None and f.section == "volumes",
    "bookie_persistence": lambda f: f.is_persistence and f.component == BOOKIE,
}
"""The facts of sections that set a field of `Settings`."""


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
