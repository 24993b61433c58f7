"""Messages of the processes of engines: what a search by rounds or an enumeration has found so far.

They are plain data. Slots and choices are numbers; whoever reads a message knows the action of each slot.
"""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.state import amount
from fencepost.encoding.language.system import System

IC3, ABC = "ic3", "abc"
"""The names under which these engines report their progress."""


@dataclass(frozen=True)
class Execution:
    """An execution found by a solver: the slots that fire, in order, the true choices, and its beginning."""

    rounds: int
    slots: tuple[int, ...]
    choices: tuple[int, ...]
    """By position among the choices."""
    beginning: tuple[int, ...] = ()
    """The positions of the initial values of the variables that have several."""


@dataclass(frozen=True)
class Violated:
    """An execution that violates the property at its end."""

    property: str
    execution: Execution
    costs: tuple[int, ...]
    """The value of each objective."""


@dataclass(frozen=True)
class Clean:
    """The result that no violation within that many rounds costs less than `below` (None: no violation)."""

    property: str
    rounds: int
    below: tuple[int, ...] | None


@dataclass(frozen=True)
class Witnessed:
    """An execution that ends at the property's witness."""

    property: str
    execution: Execution


@dataclass(frozen=True)
class Wrong:
    """An execution in which some action sets a variable twice or outside its domain."""

    execution: Execution


@dataclass(frozen=True)
class Complete:
    """The result that no execution (of at most `steps` steps, if given) needs more rounds than that."""

    rounds: int
    steps: int | None


@dataclass(frozen=True)
class Longer:
    """The result that some execution (of at most `steps` steps, if given) needs more rounds than that."""

    rounds: int
    steps: int | None


@dataclass(frozen=True)
class Surpassed:
    """The result whether some execution takes more steps than the bound."""

    longer: bool


@dataclass(frozen=True)
class Visiting:
    """The progress of an enumeration: the nodes visited, and the steps to those that are farthest away."""

    nodes: int
    steps: int

    def __str__(self) -> str:
        """Return the progress in words."""
        return f"{self.nodes:,} states within {amount(self.steps, 'step')}"


@dataclass(frozen=True)
class FoundPath:
    """A path to a violation of a property, or to a badly defined action, to be replayed.

    `actions` are the numbers of ground actions, `choices` the positions of the choices that are true,
    `beginning` those of the initial values of the variables that have several. `property`
    is None if some action is badly defined in the last state.
    """

    property: str | None
    actions: tuple[int, ...]
    choices: tuple[int, ...]
    beginning: tuple[int, ...] = ()

    def execution(self, system: System) -> tuple[list[GroundAction], list[str], tuple[int, ...]]:
        """Return the actions, the names of the choices and the beginning, as a replay takes them."""
        actions = [system.ground_actions[number] for number in self.actions]
        return actions, [system.choices[position].name for position in self.choices], self.beginning


@dataclass(frozen=True)
class FirstVisited:
    """The message that the first states of an enumeration were visited, and that there are more."""


@dataclass(frozen=True)
class Visited:
    """The end of an enumeration that visited every state reachable within the limits.

    - `states`: their number.
    - `orbits`: the number of those visited, if each stands for all that symmetries make of it; else None.
    - `steps`: no state is farther away than that.
    - `goes_on`: whether some execution is longer than the bound.
    """

    states: int
    orbits: int | None
    steps: int
    goes_on: bool = False
