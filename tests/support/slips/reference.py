"""The reference: it reads a protocol's text on plain values, state by state, breadth first."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from support.slips import plain
from support.slips.plain import Family
from support.slips.plain_values import NOW, OUTSIDE, BadlyDefined, Place, known, truth

MOST_STATES = 1500
"""The largest number of states of a file: a reading of one takes some 100 µs."""

PARAMETERS = ("n", "c", "phase")
"""The names of the arguments of actions."""

State = tuple[object, ...]


class TooLarge(Exception):
    """A file with more states than the reference visits."""


@dataclass
class Reading:
    """What the reference says of a file.

    `verdicts` has `violated`, `proved` or `vacuous` by property, with the fewest steps. `bad` says why some
    reachable step, or a property in some reachable state, is not defined; `meaningless` why the text says
    nothing at all.
    """

    verdicts: dict[str, tuple[str, int | None]] = field(default_factory=dict)
    bad: str = ""
    meaningless: str = ""
    states: int = 0


def read(text: str) -> Reading:
    """Return what the text says by Python and by the documented language. Raises TooLarge."""
    scope: dict[str, Any] = {"__name__": "a_file_with_a_slip"}
    try:
        swapped = text.replace("fencepost.encoding.language", plain.__name__)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(swapped, "file.py", "exec", dont_inherit=True), scope)  # noqa: S102 - our own text
        return _Search(scope["PROTOCOL"]).run()
    except (TooLarge, RecursionError, ImportError):
        raise
    except NameError as error:
        if error.name not in PARAMETERS:
            raise  # a name that this module lacks would pass for a text without a meaning
        return Reading(meaningless=f"{error.name} is a parameter of another action")
    except BadlyDefined as error:
        return Reading(bad=str(error))
    except Exception as error:  # noqa: BLE001 - whatever Python raises on a slip
        return Reading(meaningless=f"{type(error).__name__}: {error}")
    finally:
        NOW.values = None


class _Search:
    """A breadth-first search of one protocol."""

    def __init__(self, protocol: plain.Protocol) -> None:
        NOW.values = None
        self.protocol = protocol
        families: list[Family] = self._built().state.families_
        self.places: list[Place] = [place for family in families for place in family.places]
        self.family = {place: family for family in families for place in family.places}
        self.reading = Reading()
        self.met: set[str] = set()

    def _built(self) -> plain.System:
        return self.protocol.build(self.protocol.defaults)

    def run(self) -> Reading:
        level = dict.fromkeys(self._initial())
        seen, steps = set(level), 0
        while level:
            following: dict[State, None] = {}
            for state in level:
                following.update(dict.fromkeys(after for after in self._visit(state, steps)))
            level = {state: None for state in following if state not in seen}
            seen.update(level)
            steps += 1
            if len(seen) > MOST_STATES:
                raise TooLarge
        self.reading.states = len(seen)
        return self.reading

    def _initial(self) -> Iterator[State]:
        """Yield the initial states: one for each combination of the choices."""
        options = [
            (False, True) if (family := self.family[place]).fault else (family.first(place),)
            for place in self.places
        ]
        yield from itertools.product(*options)

    def _visit(self, state: State, steps: int) -> list[State]:
        """Judge a state, and return those that follow it."""
        NOW.values = dict(zip(self.places, state, strict=True))
        try:
            system = self._built()
        except BadlyDefined as error:
            self.reading.bad = self.reading.bad or str(error)
            return []
        for claim in system.properties:
            self._judge(claim, steps)
        return [after for item in system.actions for action in item for after in self._after(action, state)]

    def _judge(self, claim: plain.Property, steps: int) -> None:
        holds, witness = truth(claim.holds), truth(claim.witness)
        if OUTSIDE in (holds, witness):
            self.reading.bad = self.reading.bad or f"{claim.name} reads a variable that does not exist"
        before = self.reading.verdicts.get(claim.name, ("vacuous", None))
        if before[0] == "violated":
            return
        if holds is False:
            before = "violated", steps
        elif witness is True:
            before = "proved", None
        self.reading.verdicts[claim.name] = before

    def _after(self, action: plain.Action, state: State) -> list[State]:
        """Return the state after an action; none if it is not enabled, or not defined."""
        truth(action.when)
        try:
            return [self._set(action, state)] if action.enabled else []
        except BadlyDefined as error:
            self.reading.bad = self.reading.bad or str(error)
            return []

    def _set(self, action: plain.Action, state: State) -> State:
        new: dict[Place, object] = {}
        for update in action.then:
            if not known(update.when):
                continue
            if update.place not in self.family:
                raise BadlyDefined(f"sets {update.place}, which does not exist")
            if update.place in new:
                raise BadlyDefined(f"sets {update.place} twice")
            if self.family[update.place].fault:
                raise BadlyDefined(f"sets {update.place}, a choice")
            new[update.place] = self.family[update.place].domain.held(known(update.value))
        return tuple(new.get(place, value) for place, value in zip(self.places, state, strict=True))
