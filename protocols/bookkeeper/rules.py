"""Rules that a switch selects, and parts of layers that only some instances have.

A rule is a class that stands on today's protocol, or on the state of a layer, and replaces definitions of it.
It calls a replaced definition by `super()`. An instance has the rules that apply to its parameters (`state`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TypeVar

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.parameters import options
from fencepost.encoding.language.terms import Update
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.today import Today

Condition = Callable[[BookKeeperParameters], bool]
Class = TypeVar("Class", bound=type[Today])


@dataclass(frozen=True)
class Selection:
    """The reason for which a class is part of an instance: a value of a switch, or a condition, or both."""

    switch: str | None
    value: str | None
    condition: Condition

    def applies(self, parameters: BookKeeperParameters) -> bool:
        """Return whether the class is part of the instance."""
        chosen = self.switch is None or getattr(parameters, self.switch) == self.value
        return chosen and self.condition(parameters)


_RULES: dict[type[Today], Selection] = {}


def rule(switch: str, value: str, condition: Condition = lambda p: True) -> Callable[[Class], Class]:
    """Return a decorator for the rule of one value of a switch. The first value has today's rule, and none.

    With a `condition` the rule changes something only on instances for which it holds.
    Raises ModelError for a switch or a value that does not exist.
    """
    values = {option.name: option.values for option in options(BookKeeperParameters) if option.values}
    if switch not in values:
        raise ModelError(f"rule({switch!r}, …): no such switch; valid: {', '.join(values)}")
    others = values[switch][1:]
    if value not in others:
        raise ModelError(f"rule({switch!r}, {value!r}): no value besides today's; valid: {', '.join(others)}")
    return _noted(Selection(switch, value, condition))


def only_if(condition: Condition) -> Callable[[Class], Class]:
    """Return a decorator for a part of a layer that only these instances have."""
    return _noted(Selection(None, None, condition))


def _noted(found: Selection) -> Callable[[Class], Class]:
    def note(part: Class) -> Class:
        _RULES[part] = found
        return part

    return note


def also(action: Action, *updates: Update) -> Action:
    """Return the action with more updates."""
    return replace(action, then=[*action.then, *updates])


def rule_of(part: type[Today]) -> Selection:
    """Return the rule of a class."""
    return _RULES[part]


def rules_in(*modules: ModuleType) -> list[type[Today]]:
    """Return the rules of the modules, those of one module in the order of its text."""
    return [part for module in modules for part in _RULES if part.__module__ == module.__name__]


def in_order(*parts: type[Today]) -> tuple[type[Today], ...]:
    """Return the classes, of which a later one replaces what an earlier one says.

    Raises ModelError for two rules of one value, and for a class that is no rule.
    """
    taken: dict[tuple[str, str], str] = {}
    for part in parts:
        if part not in _RULES:
            raise ModelError(f"{part.__name__}: is no rule; decorate it by @rule(…) or @only_if(…)")
        found = _RULES[part]
        if found.switch is None or found.value is None:
            continue
        key = found.switch, found.value
        if key in taken:
            raise ModelError(f"{found.switch}={found.value}: two rules, {taken[key]} and {part.__name__}")
        taken[key] = part.__name__
    return parts
