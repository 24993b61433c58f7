"""Keys of configuration files that change what is durable. The table is `config_keys.toml` in this folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

from fencepost.encoding import keys as k
from fencepost.encoding.documents import has_keys, parse_toml

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


ROW = {
    **k.keys(component=k.among((BOOKIE, BROKER, AUTORECOVERY, METADATA)), meaning=k.text()),
    "sets": k.text(),
    "form": k.among(("number", "flag", "storage", "paths")),
    "default": k.text(),
    "since": k.text(),
    "known": k.text(),
    "usual": k.texts("a list of values"),
    "also": k.texts("a list of names"),
    "protects": k.flag(),
}
"""The keys of a row of the table."""


def _table() -> dict[str, ConfigKey]:
    name = "config_keys.toml"
    content = files("fencepost.quorums.files").joinpath(name).read_text(encoding="utf-8")
    rows = parse_toml(content, name, "it is part of this package")
    found = {}
    for key, row in rows.items():
        fitting = has_keys(row, ROW, f"{name}, {key}")
        lists = {name: tuple(fitting.get(name, ())) for name in ("usual", "also")}
        found[key] = ConfigKey(key, **fitting | lists)
    return found


CONFIG_KEYS: Mapping[str, ConfigKey] = _table()
"""The keys by name."""

WRITTEN = {name: key.name for key in CONFIG_KEYS.values() for name in (key.name, *key.also)}
"""The key that each name means."""
