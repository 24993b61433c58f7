"""Badly defined steps: the line that refuses them names the steps before them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.safe_text import one_line

WIDTH = 400
"""The most characters of the steps before. A longer path loses its middle."""


class BadlyDefined(ModelError):
    """A step that sets a variable twice or outside its domain, or evaluates a term that is not defined."""


@contextmanager
def with_the_steps_before(path: Iterable[GroundAction]) -> Iterator[None]:
    """Raise ModelError with the steps that lead there, in place of BadlyDefined; only then is `path` read."""
    try:
        yield
    except BadlyDefined as error:
        steps = one_line(", ".join(action.name for action in path), WIDTH)
        raise ModelError(f"{error} ({f'after {steps}' if steps else 'as the first step'})") from error
