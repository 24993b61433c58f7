"""Situations: executions of the model with which conformance runs begin, because chance seldom meets them.

`situations.toml` has their steps, as a script has them, and the rule in the code that each exercises.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files

from fencepost.encoding.documents import parse_toml
from fencepost.encoding.errors import InternalError
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.sorts import show


@dataclass(frozen=True)
class Situation:
    """A situation, as text."""

    name: str
    rule: str
    """The method of the code, and what it does."""
    steps: Sequence[str]
    """The actions of the model, such as `handle add w 1 1 b2`."""
    lost: Sequence[str] = ()
    """The messages that are lost."""

    def actions(self, possible: Iterable[GroundAction]) -> tuple[GroundAction, ...] | None:
        """Return the actions among those of an instance; None if it lacks one."""
        by_text = {" ".join([a.schema.name, *map(show, a.arguments)]): a for a in possible}
        found = [by_text[step] for step in self.steps if step in by_text]
        return tuple(found) if len(found) == len(self.steps) else None


def _situations() -> tuple[Situation, ...]:
    file = files("fencepost.realcode").joinpath("situations.toml")
    table = parse_toml(file.read_text(encoding="utf-8"), file.name, "it is part of this package")
    found = tuple(Situation(**one) for one in table["situation"])
    if len({one.name for one in found}) < len(found):
        raise InternalError("situations.toml: two situations have one name")
    return found


SITUATIONS = _situations()
