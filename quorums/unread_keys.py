"""Keys of a configuration in places or forms of a file that are not read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fencepost.quorums.config_forms import ConfigFile
from fencepost.quorums.config_keys import BOOKIE, CONFIG_KEYS
from fencepost.quorums.facts import Fact
from fencepost.quorums.settings import by_key, is_plain

MODELLED = {key.name.lower(): key.name for key in CONFIG_KEYS.values() if key.sets}
"""The keys that set a value, by their names in lower case."""

WITHIN = re.compile(rf"(?<![A-Za-z])(?:{'|'.join(MODELLED)})(?![A-Za-z])", re.IGNORECASE)


def misplaced(file: ConfigFile) -> Iterator[tuple[str, bool]]:
    """Yield a sentence for each modelled key in the wrong section, and whether that section is unknown.

    The section of another component may have the key for itself. An unknown one may be meant for bookies.
    """
    named = by_key(file.facts)
    for key in CONFIG_KEYS.values():
        facts = named.get(key.name, ()) if key.sets else ()
        elsewhere = [fact for fact in facts if fact.component or not is_plain(fact)]
        apart = [fact for fact in elsewhere if fact.component not in (key.component, BOOKIE)]
        if apart:
            more = f" (and at {len(apart) - 1} other places)" if len(apart) > 1 else ""
            stands = f"it does not stand in the section of a {key.component}"
            unknown = any(fact.component is None for fact in apart)
            yield f"{apart[0].where}{more} is not read: {stands}.", unknown


def of_other_forms(file: ConfigFile) -> Iterator[str]:
    """Yield a sentence for each place with a modelled key in a form that is not read, such as a text."""
    for fact in file.facts:
        names = sorted(_named_by(fact))
        if names:
            yield f"{fact.where} has {', '.join(names)} in a form that is not read."


def _named_by(fact: Fact) -> set[str]:
    """Return the modelled keys that a fact names by a key spelled otherwise, or in its value."""
    value = ",".join(map(str, fact.value)) if isinstance(fact.value, list) else fact.value
    found = {MODELLED[name.lower()] for name in WITHIN.findall(value)} if isinstance(value, str) else set()
    squeezed = re.sub("[^a-z]", "", fact.key.lower())
    if fact.key not in CONFIG_KEYS:
        found |= {name for lower, name in MODELLED.items() if squeezed.endswith(lower)}
    return found
