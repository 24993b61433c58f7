"""The setter of a value of a configuration: an option, the last file that has it, or a default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Setter:
    """The setter of a value; `name` is the option's flag or the file's name, and empty for a default."""

    kind: Literal["option", "file", "default"]
    name: str = ""


DEFAULT = Setter("default")


class Removed(Enum):
    """The value of a key that a file sets to null: as with Helm, the values of earlier files are gone."""

    REMOVED = "null"


REMOVED = Removed.REMOVED


def latest(files: Iterable[str]) -> list[str]:
    """Return the names once each, in the order of their last mention: as with Helm, a later file wins."""
    return list(dict.fromkeys(reversed(list(files))))[::-1]


def chosen(
    flag: str, option: T | None, files: Mapping[str, T | Removed | None], default: T
) -> tuple[T, Setter]:
    """Return a value and its setter: the option, else the last file that has the key, else the default."""
    if option is not None:
        return option, Setter("option", flag)
    value, setter = default, DEFAULT
    for name, said in files.items():
        if said is REMOVED:
            value, setter = default, DEFAULT
        elif said is not None:
            value, setter = said, Setter("file", name)
    return value, setter


def setter_lines(values: Mapping[str, str], set_by: Mapping[str, Setter]) -> list[str]:
    """Return one line for each file, for the options and for the defaults: the values that it sets."""
    found: dict[str, list[str]] = {}
    for name, setter in set_by.items():
        subject = f"{setter.name} sets" if setter.kind == "file" else f"{setter.kind}s set"
        found.setdefault(subject, []).append(values[name])
    return [f"{subject} {', '.join(said)}" for subject, said in found.items()]
