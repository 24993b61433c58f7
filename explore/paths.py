"""Paths of the explorer: the moves that a person made, and the current position among them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.state import Variable
from fencepost.encoding.language.system import System

LOSE = "lose "
"""The beginning of the name of a loss."""

BEGIN = "begin "
"""The beginning of the name of a move that chooses an initial value."""

LONGEST = 1000
"""The largest number of moves of a path."""


@dataclass(frozen=True)
class Take:
    """The move that takes an action."""

    action: GroundAction

    @property
    def name(self) -> str:
        """The name as people read it: `handle add(w, 1, b3)`."""
        return self.action.name


@dataclass(frozen=True)
class Lose:
    """The move that loses a message.

    The model fixes losses at the beginning, but a person may decide them later.
    """

    choice: Variable

    @property
    def name(self) -> str:
        """The name as people read it: `lose add_lost[w, 1, b3]`."""
        return LOSE + self.choice.name


@dataclass(frozen=True)
class Begin:
    """The move that chooses the initial value of a variable that has several.

    The state is then the first initial state that has all values chosen so far.
    """

    variable: Variable
    code: int
    """The position of the value in its domain."""

    @property
    def words(self) -> str:
        """The variable and its value: `leader = n2`."""
        return f"{self.variable.name} = {show(self.variable.domain.values[self.code])}"

    @property
    def name(self) -> str:
        """The name as people read it: `begin leader = n2`."""
        return BEGIN + self.words


Move = Take | Lose | Begin


@dataclass(frozen=True)
class ExplorerPath:
    """Moves in order. The first `at` moves are made; the others were undone."""

    moves: tuple[Move, ...] = ()
    at: int = 0

    @property
    def made(self) -> tuple[Move, ...]:
        """The moves up to the current position."""
        return self.moves[: self.at]

    def then(self, *moves: Move) -> ExplorerPath:
        """Return the path with these moves made next. Undone moves are dropped."""
        if self.at + len(moves) > LONGEST:
            raise BadInput(f"{self.at + len(moves)} moves: a path has at most {LONGEST}; undo some first")
        return ExplorerPath((*self.made, *moves), self.at + len(moves))

    def to(self, at: int) -> ExplorerPath:
        """Return the same path at another position; raise BadInput if it has too few moves."""
        if not 0 <= at <= len(self.moves):
            raise BadInput(f"{at}: the path has no such position; valid: 0 to {len(self.moves)}")
        return replace(self, at=at)


@dataclass(frozen=True)
class Names:
    """The moves of a system by name."""

    system: System

    @cached_property
    def actions(self) -> dict[str, GroundAction]:
        """All actions by name."""
        return {action.name: action for action in self.system.ground_actions}

    @cached_property
    def choices(self) -> dict[str, Variable]:
        """All losses by name."""
        return {variable.name: variable for variable in self.system.choices}

    @cached_property
    def beginnings(self) -> dict[str, Begin]:
        """All initial values of the variables that have several, by the variable and the value."""
        found = (
            Begin(v, v.domain.values.index(value))
            for v in self.system.varied
            for value in self.system.firsts[v.place]
        )
        return {begin.words: begin for begin in found}

    def action(self, name: str) -> GroundAction:
        """Return the action of that name, written `push(1, 2)` or `push 1 2`; raise BadInput if none."""
        return self._by_words.get(_words(name)) or self.actions[_known_name(name, self.actions, "action")]

    @cached_property
    def _by_words(self) -> dict[tuple[str, ...], GroundAction]:
        """All actions by the words of their names."""
        return {_words(name): action for name, action in self.actions.items()}

    def move(self, name: str) -> Move:
        """Return the move of that name; raise BadInput if there is none."""
        if (action := self._by_words.get(_words(name))) is not None:
            return Take(action)
        if name.startswith(LOSE):
            return Lose(self.choices[_known_name(name.removeprefix(LOSE), self.choices, "message to lose")])
        if name.startswith(BEGIN) and (known := self.beginnings):
            return known[_known_name(name.removeprefix(BEGIN), known, "initial value to choose from")]
        return Take(self.action(name))

    def path(self, names: Sequence[str], at: int | None = None) -> ExplorerPath:
        """Return the path of moves with those names, at its end unless given; raise BadInput."""
        moves = tuple(map(self.move, names))
        return ExplorerPath().then(*moves).to(len(moves) if at is None else at)


def _words(name: str) -> tuple[str, ...]:
    """Return the words of the name of an action, without brackets and commas."""
    return tuple(re.split(r"[\s(),]+", name.strip(" )")))


def _known_name(name: str, names: Mapping[str, object], what: str) -> str:
    """Return the known name, ignoring blanks; raise BadInput with near names if there is none."""
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
