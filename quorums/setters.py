"""The setter of a value of a configuration: an option, the last file that has it, or a default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Setter:
    """The setter of a value; `name` is the option's flag or the file's name, and empty for a default."""

    kind: Literal["option", "file", "default"]
    name: str = ""


DEFAULT = Setter("default")


def latest(files: Iterable[str]) -> list[str]:
    """Return the names once each, in the order of their last mention: as with Helm, a later file wins."""
    return list(dict.fromkeys(reversed(list(files))))[::-1]


def chosen(flag: str, option: T | None, files: Mapping[str, T | None], default: T) -> tuple[T, Setter]:
    """Return a value and its setter: the option, else the last file that has a value, else the default."""
    if option is not None:
        return option, Setter("option", flag)
    said = [(value, Setter("file", name)) for name, value in files.items() if value is not None]
    return said[-1] if said else (default, DEFAULT)


def setter_lines(values: Mapping[str, str], set_by: Mapping[str, Setter]) -> list[str]:
    """Return one line for each file, for the options and for the defaults: the values that it sets."""
    found: dict[str, list[str]] = {}
    for name, setter in set_by.items():
        subject = f"{setter.name} sets" if setter.kind == "file" else f"{setter.kind}s set"
        found.setdefault(subject, []).append(values[name])
    return [f"{subject} {', '.join(said)}" for subject, said in found.items()]
