"""Parameters and switches of a protocol: frozen dataclasses that validate themselves."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from fencepost.encoding.documents import whole
from fencepost.encoding.errors import BadInput, ModelError, did_you_mean
from fencepost.encoding.safe_text import is_name

P = TypeVar("P")


MOST = 500
"""Largest value of a parameter: far above any instance that can be built."""


def parameter(default: int, meaning: str, least: int = 1, most: int = MOST) -> Any:
    """Return the field of a dataclass for a number from `least` to `most`."""
    return dataclasses.field(default=default, metadata={"meaning": meaning, "least": least, "most": most})


def switch(values: Sequence[str], meaning: str, source: str) -> Any:
    """Return the field of a dataclass for a choice between named variants of the protocol.

    The first of `values` is the default.
    """
    if isinstance(values, str) or not values or not all(map(is_name, values)):
        raise ModelError(f"switch({values!r:.80}, …): is not a list of words; write switch(('no', 'yes'), …)")
    return dataclasses.field(
        default=values[0], metadata={"meaning": meaning, "values": tuple(values), "source": source}
    )


@dataclass(frozen=True)
class Option:
    """A parameter (`values` empty) or a switch, as `--set NAME=VALUE` sets it."""

    name: str
    meaning: str
    default: object
    values: tuple[str, ...] = ()
    source: str = ""
    least: int = 1
    most: int = MOST

    def parse(self, text: str) -> object:
        """Return the value that `text` stands for. Raises BadInput for text without one."""
        if self.values:
            if text not in self.values:
                raise BadInput(
                    f"{self.name}={text}: not a value of this switch{did_you_mean(text, self.values)}; "
                    f"valid: {', '.join(self.values)}"
                )
            return text
        number = whole(text)
        if number is None:
            raise BadInput(f"{self.name}={text}: a whole number is needed, such as {self.default or 1}")
        if number < self.least:
            raise BadInput(f"{self.name}={number}: must be {self.least} or more")
        if number > self.most:
            raise BadInput(f"{self.name}={number}: must be {self.most:,} or less")
        return number


def options(parameters: type[Any] | object) -> list[Option]:
    """Return the parameters and switches of a dataclass, in order of declaration.

    The defaults come from the instance if one is given.
    """
    instance = None if isinstance(parameters, type) else parameters
    found = []
    for field in dataclasses.fields(parameters):  # type: ignore[arg-type]
        if "meaning" not in field.metadata:
            raise ModelError(
                f"{field.name}: is not a parameter; "
                f"write {field.name}: int = parameter(1, 'what it counts'), "
                "or switch((…), 'what it chooses', 'source')"
            )
        default = field.default if instance is None else getattr(instance, field.name)
        meta = field.metadata
        found.append(
            Option(
                field.name,
                meta["meaning"],
                default,
                meta.get("values", ()),
                meta.get("source", ""),
                meta.get("least", 1),
                meta.get("most", MOST),
            )
        )
    return found


def assign(base: P, settings: Iterable[tuple[str, str]]) -> P:
    """Return `base` with these settings. Raises BadInput for a setting that is unknown or invalid."""
    known = {option.name: option for option in options(base)}
    changes: dict[str, object] = {}
    for name, text in settings:
        if name not in known:
            raise BadInput(
                f"{name}: no such parameter or switch{did_you_mean(name, known)}; valid: {', '.join(known)}"
            )
        if name in changes:
            raise BadInput(f"{name}={text}: set twice; set it once")
        changes[name] = known[name].parse(text)
    return dataclasses.replace(base, **changes)  # type: ignore[type-var]


def require(rule: str, holds: bool, values: Mapping[str, object], valid: str) -> None:
    """Raise BadInput, with the values, the rule and what would be valid, unless the rule holds."""
    if not holds:
        given = ", ".join(f"{name}={value}" for name, value in values.items())
        raise BadInput(f"{given}: breaks {rule}; {valid}")
