"""The system that a function of the author's builds: of guarded code, and the same each time."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any

from fencepost.encoding.errors import ModelError, refusals_are_kept
from fencepost.encoding.language.actions import Schema
from fencepost.encoding.language.author_errors import must_be
from fencepost.encoding.language.canonical import digest
from fencepost.encoding.language.guarded_modules import guarded
from fencepost.encoding.language.messages import Message
from fencepost.encoding.language.origins import Authored, Making, makings_noted
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import Update


def built_once(build: Callable[[Any], Any], parameters: Any) -> System:
    """Return the system that the function builds. Raises ModelError, and what the function raises."""
    with chdir("."), refusals_are_kept(), makings_noted() as makings:
        built: System = build(parameters)
        must_be("the result of build", built, System, "return System(state, actions, properties)")
        _nothing_is_dropped(built, makings)
        built.must_compare_values()
        _ = built.firsts, built.ground_actions
    return built


def built_guarded(build: Callable[[Any], Any], parameters: Any) -> System:
    """Return the system that the function builds, once all code that it runs is guarded.

    It is built again and compared. Raises ModelError, and what the function raises.
    """
    built, random_numbers = guarded(lambda: (built_once(build, parameters), random.getstate()))
    if not built.state.is_guarded:
        raise ModelError(
            "its state was made before build was called, where nothing guards the text; "
            "write s = State(…) in build"
        )
    if digest(built_once(build, parameters)) != digest(built) or random.getstate() != random_numbers:
        raise ModelError(
            "two systems built with the same parameters differ; let build read nothing that changes, "
            "such as a counter, the clock or random numbers"
        )
    return built


def _nothing_is_dropped(system: System, makings: Mapping[int, Making]) -> None:
    """Raise ModelError if the author made an action, a message or an update that the system has not."""
    kept = {making for schema in system.schemas for making in schema.makings()}
    dropped = [(_called(one.made), one) for number, one in makings.items() if number not in kept]
    if dropped:
        what, first = min(dropped, key=lambda pair: pair[0])  # an action before its messages and updates
        raise ModelError(
            f"{Path(first.file).name}, line {first.line}: {what} is made here, and no action of the system "
            "has it: give it to an action, in actions=, then=, sent= or received=, or make it only where one "
            "takes it, as in then=[s.x.set(1)] if wanted else []"
        )


def _called(made: Authored) -> str:
    """Return an action, a message or an update in words."""
    if isinstance(made, Update):
        family = made.target.family
        return f"the update of {family.name if family.composite is None else family.composite.name}"
    assert isinstance(made, Schema | Message)
    return f"the action {made.name}" if isinstance(made, Schema) else f"the message {made.kind}"
