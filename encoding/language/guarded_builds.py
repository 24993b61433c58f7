"""The system that a function of the author's builds: of guarded code, and the same each time."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import chdir
from typing import Any

from fencepost.encoding.errors import ModelError, refusals_are_kept
from fencepost.encoding.language.author_errors import must_be
from fencepost.encoding.language.canonical import digest
from fencepost.encoding.language.guarded_modules import guarded
from fencepost.encoding.language.system import System


def built_once(build: Callable[[Any], Any], parameters: Any) -> System:
    """Return the system that the function builds. Raises ModelError, and what the function raises."""
    with chdir("."), refusals_are_kept():
        built: System = build(parameters)
        must_be("the result of build", built, System, "return System(state, actions, properties)")
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
