"""One value of a configuration file, with its place there and the component that it is for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fencepost.quorums.files.config_keys import BOOKIE, WRITTEN
from fencepost.quorums.files.places import FOREIGN, component_of

PREFIXES = ("PULSAR_PREFIX_", "BK_")
"""Images of Pulsar and BookKeeper set a variable of this prefix as the key without it."""


def bare(name: str) -> str:
    """Return a key without the prefix of an image."""
    return next((name.removeprefix(prefix) for prefix in PREFIXES if name.startswith(prefix)), name)


@dataclass(frozen=True)
class Fact:
    """One value of a file, with its path there and the component that the nearest name above it says."""

    component: str | None = None
    """None if no name above says it."""
    path: tuple[str, ...] = ()
    value: Any = None
    member: str = ""
    """The set, service, resource or file to which the value belongs; empty if it is for all bookies."""
    is_whole: bool = False
    """Whether the member says all that it sets, so that a missing key has its default there."""

    def below(self, name: str) -> Fact:
        """Return the place of this name below this one. Below a place that is not ours all is foreign."""
        component = self.component if self.component == FOREIGN else component_of(name) or self.component
        return replace(self, path=(*self.path, name), component=component)

    def leaf(self, name: str, value: Any) -> Fact:
        """Return the value of a key at this place."""
        return replace(self, path=(*self.path, name), value=value)

    @property
    def key(self) -> str:
        """The last part of the path, without the prefix of an image; one name for each key of the table."""
        name = bare(self.path[-1])
        return WRITTEN.get(name, name)

    @property
    def has_prefix(self) -> bool:
        """Whether the key has the prefix of an image. Such a key wins over the key without it."""
        return self.path[-1].startswith(PREFIXES)

    @property
    def is_persistence(self) -> bool:
        """Whether the key says whether disks outlive their pods, of whatever component."""
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
