"""Keys of a configuration in places or forms of a file that are not read, each named with its place."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from fencepost.quorums.files.config_keys import AUTORECOVERY, BOOKIE, CONFIG_KEYS, plain
from fencepost.quorums.files.facts import Fact
from fencepost.quorums.files.places import FOREIGN
from fencepost.quorums.files.settings import by_key, facts_of
from fencepost.quorums.files.texts import keys_named

ELSEWHERE = {
    "env_file": "give {} with --from too",
    "envFrom": "give the ConfigMap {} with --from too",
    "volumes": "it mounts {}; give that with --from too",
    "extends": "give what `docker compose config` prints, which has all variables of the service",
    "valueFiles": "give {} with --from too, before this file",
    "valuesFrom": "give {} as files with --from too, before this file",
}
"""What to do about a key that names settings elsewhere."""


def misplaced(facts: Sequence[Fact]) -> Iterator[tuple[str, bool]]:
    """Yield a sentence for each modelled key that stands elsewhere, and whether below no component.

    The section of another component may have the key for itself. An unknown one may be meant for bookies.
    """
    named = by_key(facts)
    for key in CONFIG_KEYS.values():
        read = facts_of(key, named) if key.sets else []
        fitting = {key.component, BOOKIE if key.component == AUTORECOVERY else key.component}
        apart = [
            fact
            for fact in (named.get(key.name, ()) if key.sets else ())
            if fact not in read
            and fact.component not in fitting
            and (fact.component or plain(fact.value) != plain(read[-1].value))
        ]
        if apart:
            more = f" (and at {len(apart) - 1} other places)" if len(apart) > 1 else ""
            stands = f"it does not stand in the section of a {key.component}"
            unknown = any(fact.component is None for fact in apart)
            yield f"{apart[0].where}{more} is not read: {stands}.", unknown


def of_other_forms(facts: Sequence[Fact]) -> Iterator[str]:
    """Yield a sentence for each place with a modelled key in a form that is not read, such as a text."""
    for fact in facts:
        names = [] if fact.component == FOREIGN else sorted(keys_named(fact.key, fact.value))
        if names:
            yield f"{fact.where} has {', '.join(names)} in a form that is not read."


def elsewhere(facts: Sequence[Fact], given: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each key that names settings elsewhere, unless these are `given` too."""
    for fact in facts:
        if fact.key in ELSEWHERE and fact.value and not isinstance(fact.value, bool):
            names = _names(fact.value, "configMapRef" if fact.key == "envFrom" else "")
            if names and not all(name.rpartition(" ")[2].rpartition("/")[2] in given for name in names):
                yield f"{fact.where} is not read; {ELSEWHERE[fact.key].format(', '.join(names))}."


def _names(value: Any, below: str) -> list[str]:
    """Return the names of files or resources in a value; below this key alone, if one is given."""
    if isinstance(value, list):
        return [name for item in value for name in _names(item, below)]
    if not isinstance(value, dict):
        return [] if below else [plain(value)]
    if below:
        return _names(value[below].get("name"), "") if isinstance(value.get(below), dict) else []
    return [" ".join(plain(value[key]) for key in ("kind", "name", "path", "file") if key in value)]
