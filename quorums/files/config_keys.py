"""Keys of configuration files that change what is durable. The table is `config_keys.toml` in this folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

from fencepost.encoding.documents import parse_toml

BOOKIE, BROKER, AUTORECOVERY, METADATA = "bookie", "broker", "autorecovery", "metadata"
"""The parts of a system that read these keys."""


@dataclass(frozen=True)
class ConfigKey:
    """A key of a file: the component that reads it, its meaning, and whether a model has it."""

    name: str
    component: str
    meaning: str
    sets: str | None = None
    """The field of `Settings` that it sets; None if no model has the key."""
    form: Literal["number", "flag", "storage", "paths", "text"] = "text"
    default: str = ""
    """Its value if no file has it."""
    since: str = ""
    """The first release of BookKeeper that knows it; empty if the oldest that was read knows it."""
    known: str = ""
    """One sentence about a key that no model has."""
    usual: tuple[str, ...] = ()
    """The values in the files that BookKeeper and Pulsar ship."""
    also: tuple[str, ...] = ()
    """Other names of the key: of an older release, of a chart, and of other systems on BookKeeper."""
    protects: bool = False
    """Whether an unusual value avoids a loss, so that it counts only if all bookies have it."""

    def is_unusual(self, value: object) -> bool:
        """Return whether the user must hear of a key with this value that no model has."""
        return len(paths(value)) > 1 if self.form == "paths" else plain(value) not in self.usual


def plain(value: object) -> str:
    """Return a value of a file as text, a flag or a number as in a file of Java properties."""
    return str(value).strip().lower() if isinstance(value, bool) else str(value).strip()


def paths(value: object) -> list[str]:
    """Return the paths in a list, or in a text with commas."""
    found = map(str, value) if isinstance(value, list) else str(value).split(",")
    return [path.strip() for path in found if path.strip()]


def _table() -> Iterator[ConfigKey]:
    name = "config_keys.toml"
    content = files("fencepost.quorums.files").joinpath(name).read_text(encoding="utf-8")
    for key, row in parse_toml(content, name, "it is part of this package").items():
        yield ConfigKey(key, **row | {name: tuple(row.get(name, ())) for name in ("usual", "also")})


CONFIG_KEYS: Mapping[str, ConfigKey] = {key.name: key for key in _table()}
"""The keys by name."""

WRITTEN = {name: key.name for key in CONFIG_KEYS.values() for name in (key.name, *key.also)}
"""The key that each name means."""
