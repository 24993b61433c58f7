"""Parameters and switches of a protocol: frozen dataclasses that validate themselves."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from fencepost.encoding.documents import whole
from fencepost.encoding.errors import BadInput, ModelError, did_you_mean, unknown_name
from fencepost.encoding.safe_text import is_name

P = TypeVar("P")


MOST = 500
"""Largest value of a parameter: far above any instance that can be built."""


def parameter(default: int, meaning: str, least: int = 1, most: int = MOST) -> Any:
    """Return the field of a dataclass for a number from `least` to `most`."""
    return dataclasses.field(default=default, metadata={"meaning": meaning, "least": least, "most": most})


def faults(default: int, meaning: str) -> Any:
    """Return the field of a dataclass for the most faults of the kind that has the field's name, from 0."""
    field = parameter(default, meaning, least=0)
    return dataclasses.field(default=default, metadata={**field.metadata, "limits_faults": True})


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
    limits_faults: bool = False

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
            example = self.default if type(self.default) is int and self.default > 0 else 1
            raise BadInput(f"{self.name}={text}: a whole number is needed, such as {example}")
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
        found.append(Option(field.name, default=default, **field.metadata))
    return found


def check_defaults(defaults: object) -> None:
    """Raise ModelError unless the dataclass is frozen, and each of its values is one that may be set."""
    if not type(defaults).__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise ModelError("defaults= is not frozen; write @dataclass(frozen=True) class Parameters: …")
    for option in options(defaults):
        try:
            if option.parse(str(option.default)) != option.default or isinstance(option.default, bool):
                raise BadInput(
                    f"{option.name}={option.default!r:.80}: is no text of a switch or whole number"
                )
        except BadInput as error:
            raise ModelError(f"defaults=: {error}") from error
    written = {field.name: field.default for field in dataclasses.fields(defaults)}  # type: ignore[arg-type]
    try:
        made = dataclasses.replace(defaults, **written)  # type: ignore[type-var]
    except BadInput:
        return
    _must_keep(made, written)


def _must_keep(made: object, given: Mapping[str, object]) -> None:
    """Raise ModelError if the parameters changed one of the values that they were given."""
    for name, value in given.items():
        if (kept := getattr(made, name)) != value:
            raise ModelError(
                f"{name}={value}: the parameters change it to {kept!r:.80}; refuse a value by require(), "
                "and compute another one in build"
            )


def assign(base: P, settings: Iterable[tuple[str, str]], listing: str = "") -> P:
    """Return `base` with these settings. Raises BadInput for a setting that is unknown or invalid.

    `listing` is the command that lists all of them.
    """
    known = {option.name: option for option in options(base)}
    changes: dict[str, object] = {}
    for name, text in settings:
        if name not in known:
            raise unknown_name(name, "parameter or switch", known, listing)
        if name in changes:
            raise BadInput(f"{name}={text}: set twice; set it once")
        changes[name] = known[name].parse(text)
    made = dataclasses.replace(base, **changes)  # type: ignore[type-var]
    _must_keep(made, changes)
    return made


def off_here(parameters: object, layers: Mapping[str, str]) -> str:
    """Return the layers of a model that are off, each with the setting that turns it on.

    `layers` has them by that setting. A layer is off as long as its parameter has its first value, or is 0.
    """
    values = {o.name: (o.default, o.values[0] if o.values else 0) for o in options(parameters)}
    off = []
    for setting, layer in layers.items():
        now, without = values[setting.partition("=")[0]]
        off += [f"{layer} ({setting})"] if now == without else []
    return f"; off here: {', '.join(off)}" if off else ""


def require(rule: str, holds: bool, values: Mapping[str, object], valid: str) -> None:
    """Raise BadInput, with the values, the rule and what would be valid, unless the rule holds."""
    if not holds:
        given = ", ".join(f"{name}={value}" for name, value in values.items())
        raise BadInput(f"{given}: breaks {rule}; {valid}")
