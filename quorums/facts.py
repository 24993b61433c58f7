"""One value of a configuration file, with its place there and the component that it is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.quorums.config_keys import AUTORECOVERY, BOOKIE, BROKER, METADATA

PREFIXES = ("PULSAR_PREFIX_", "BK_")
"""Images of Pulsar and BookKeeper set a variable of this prefix as the key without it."""

BOOKIES = ("bookkeeper", "bookkeepers", "bookie", "bookies")
"""The names of a section for bookies."""

SECTIONS = {
    **dict.fromkeys(BOOKIES, BOOKIE),
    **dict.fromkeys(("broker", "brokers"), BROKER),
    **dict.fromkeys(("autorecovery", "auto_recovery", "recovery"), AUTORECOVERY),
    **dict.fromkeys(("zookeeper", "zookeepers", "oxia"), METADATA),
}
"""The component of a section by its name, in lower case."""


@dataclass(frozen=True)
class Fact:
    """One value of a file, with its path there and the component whose section it stands in."""

    component: str | None
    """None if the file does not say it."""
    path: tuple[str, ...]
    value: Any
    member: str = ""
    """The set, service, resource or file to which the value belongs; empty if it is for all bookies."""

    @property
    def key(self) -> str:
        """The last part of the path, without the prefix of an image."""
        for prefix in PREFIXES:
            if self.path[-1].startswith(prefix):
                return self.path[-1].removeprefix(prefix)
        return self.path[-1]

    @property
    def has_prefix(self) -> bool:
        """Whether the key has the prefix of an image. Such a key wins over the key without it."""
        return self.path[-1].startswith(PREFIXES)

    @property
    def is_persistence(self) -> bool:
        """Whether the key says, for the bookies or for all components, whether disks outlive their pods."""
        named = self.key == "persistence" or (self.section == "persistence" and self.key == "enabled")
        return named and self.component in (None, BOOKIE)

    @property
    def where(self) -> str:
        """The path in one word."""
        return ".".join(self.path)

    @property
    def section(self) -> str:
        """The name of the section in which the key stands, in lower case; empty for the file itself."""
        return self.path[-2].lower() if len(self.path) > 1 else ""


def mapping(value: object) -> Mapping[Any, Any]:
    """Return a mapping of a document as it is, and an empty one for another value."""
    return value if isinstance(value, dict) else {}


def mappings(value: object) -> list[Mapping[Any, Any]]:
    """Return the mappings in a list; none of another value."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
