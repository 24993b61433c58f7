"""States as plain values, and compiled actions, which lead from one to the next."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fencepost.encoding.language.actions import GroundAction

State = bytes | tuple[int, ...]
"""A state as `bytes`, small and quick to hash, or as a tuple if a domain has more than `BYTE` values."""

Beginning = Sequence[int]
"""The position of the initial value of each variable that has several (`System.varied`)."""

UNDECIDED = 2
"""The number of a choice that no action has depended on yet."""


@dataclass(frozen=True)
class Step:
    """A compiled action: its guard, and the state after it."""

    action: GroundAction
    possible: Callable[[State], object]
    """The part of the guard that does not read choices."""
    enabled: Callable[[State], object]
    after: Callable[[State], State]
    choices: tuple[int, ...]
    """The places of the choices that the action depends on."""

    def successors(self, state: State) -> Iterator[State]:
        """Yield the state after the action for each value of its undecided choices; none if disabled."""
        if not self.possible(state):
            return
        open_choices = [place for place in self.choices if state[place] == UNDECIDED]
        if not open_choices:
            if self.enabled(state):
                yield self.after(state)
            return
        for chosen in decided(state, open_choices):
            if self.enabled(chosen):
                yield self.after(chosen)


def decided(state: State, open_choices: Sequence[int]) -> Iterator[State]:
    """Yield the state with each combination of values of the choices at these places."""
    for values in itertools.product((0, 1), repeat=len(open_choices)):
        codes = list(state)
        for place, value in zip(open_choices, values, strict=True):
            codes[place] = value
        yield type(state)(codes)
