"""Values and names of a log, compared with those of the protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.sorts import Sort, Value, show
from fencepost.encoding.language.traces import Json, plain
from fencepost.encoding.logs.events import Event

Names = tuple[tuple[str, str], ...]
"""The values found for names of the log, as pairs of texts."""


def is_name(value: Json, sort: Sort) -> bool:
    """Return whether the value is a name of the log, such as an address, whose label is to be found."""
    labelled = not any(isinstance(v, int) for v in sort)
    return labelled and isinstance(value, str) and not valued(value, sort)


def same(told: Json, value: Value) -> bool:
    """Return whether a value of a log is that of the protocol."""
    own = plain(value)
    return told == show(value) or (told == own and isinstance(told, bool) is isinstance(own, bool))


def valued(value: Json, sort: Sort) -> bool:
    """Return whether the value is one of the sort."""
    return any(same(value, own) for own in sort)


def means(event: Event, action: GroundAction, sorts: Mapping[str, Sequence[Sort]]) -> Names | None:
    """Return the values of names if the event is that action, or None if it is not.

    A value of one action is no name in another action that is called the same.
    """
    found: dict[str, str] = {}
    for parameter, own in zip(action.schema.parameters, action.arguments, strict=True):
        told = event.arguments.get(parameter.symbol)
        if told is None or same(told, own):
            continue
        if not all(is_name(told, sort) for sort in sorts[parameter.symbol]):
            return None
        if found.setdefault(str(told), show(own)) != show(own):
            return None
    return tuple(sorted(found.items()))


def united(names: Names, further: Names) -> Names | None:
    """Return the pairs of both, or None if a name would have two values or a value two names."""
    if not further:
        return names
    found = dict(names)
    for name, value in further:
        if found.get(name, value) != value or any(v == value and n != name for n, v in found.items()):
            return None
        found[name] = value
    return tuple(sorted(found.items()))
