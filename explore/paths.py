"""Walks: what somebody did with an instance, move by move, and where in it they stand."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.state import Variable
from fencepost.encoding.language.system import GroundAction, System

LOSE = "lose "
"""How the name of a loss begins."""

LONGEST = 1000
"""Moves of a walk, at most."""


@dataclass(frozen=True)
class Take:
    """An action is taken."""

    action: GroundAction

    @property
    def name(self) -> str:
        """As people read it: `handle add(w, 1, b3)`."""
        return self.action.name


@dataclass(frozen=True)
class Lose:
    """A message is lost: the choice says so from the beginning, though it is made only now."""

    choice: Variable

    @property
    def name(self) -> str:
        """As people read it: `lose add_lost[w, 1, b3]`."""
        return LOSE + self.choice.name


Move = Take | Lose


@dataclass(frozen=True)
class ExplorerPath:
    """Moves in order, of which the first `at` are made and the others are those that were undone."""

    moves: tuple[Move, ...] = ()
    at: int = 0

    @property
    def made(self) -> tuple[Move, ...]:
        """The moves up to here."""
        return self.moves[: self.at]

    def then(self, *moves: Move) -> ExplorerPath:
        """The walk with these moves made next; what was undone is forgotten."""
        if self.at + len(moves) > LONGEST:
            raise BadInput(f"{self.at + len(moves)} moves: a walk has at most {LONGEST}; undo some first")
        return ExplorerPath((*self.made, *moves), self.at + len(moves))

    def to(self, at: int) -> ExplorerPath:
        """The same walk, standing after so many of its moves; raises BadInput if it has not as many."""
        if not 0 <= at <= len(self.moves):
            raise BadInput(f"{at}: the walk has no such place; valid: 0 to {len(self.moves)}")
        return replace(self, at=at)


@dataclass(frozen=True)
class Names:
    """The moves of a system by their names."""

    system: System

    @cached_property
    def actions(self) -> dict[str, GroundAction]:
        """Every action by its name."""
        return {action.name: action for action in self.system.ground_actions}

    @cached_property
    def choices(self) -> dict[str, Variable]:
        """Every choice by its name."""
        return {variable.name: variable for variable in self.system.choices}

    def action(self, name: str) -> GroundAction:
        """The action of that name; raises BadInput."""
        return self.actions[_known(name, self.actions, "action")]

    def move(self, name: str) -> Move:
        """The move of that name; raises BadInput."""
        if name.startswith(LOSE) and name not in self.actions:
            return Lose(self.choices[_known(name.removeprefix(LOSE), self.choices, "message to lose")])
        return Take(self.action(name))

    def walk(self, names: Sequence[str], at: int | None = None) -> ExplorerPath:
        """The walk of moves of those names, standing at its end unless told; raises BadInput."""
        moves = tuple(map(self.move, names))
        return ExplorerPath().then(*moves).to(len(moves) if at is None else at)


def _known(name: str, names: Mapping[str, object], what: str) -> str:
    """The name, however many blanks it has; raises BadInput, with what comes near, if nothing is called so."""
    if name in names:
        return name
    wanted = "".join(name.split())
    for known in names:
        if "".join(known.split()) == wanted:
            return known
    near = difflib.get_close_matches(name, list(names), 3, 0.5) or list(names)[:3]
    raise BadInput(
        f"{name}: no such {what}; valid: {', '.join(near)}{' …' if len(names) > len(near) else ''}"
    )
