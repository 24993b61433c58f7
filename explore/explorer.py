"""One instance under exploration: where a walk leads, and what can be said of the state there. Nothing here asks a solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from fencepost.encoding.concrete.compiler import State
from fencepost.encoding.concrete.receipts import check_receipts
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.errors import BadInput, ModelError
from fencepost.encoding.forms.counterexample import WALKED, Counterexample, Travel
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.system import GroundAction, Invariant, Property, System
from fencepost.encoding.language.traces import Trace, TraceStep
from fencepost.explore.guards import Guard
from fencepost.explore.paths import ExplorerPath, Lose, Move, Names, Take

KEPT = 500
"""Ends of walks that are kept, so that the next move begins where the last one ended."""


@dataclass(frozen=True)
class OfferedAction:
    """An action that is possible here: the step it would be and the state after it, or why it is badly defined."""

    action: GroundAction
    step: TraceStep | None
    after: State | None
    error: str | None = None


class Explorer:
    """What is compiled once for all walks of an instance, and where the last ones led."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.system: System = instance.system
        self.replayer = Replayer(self.system, instance.subject)
        self.names = Names(self.system)
        concrete = self.replayer.concrete
        self.guards = {action: Guard(concrete, action) for action in self.system.ground_actions}
        self.facts: tuple[Property | Invariant, ...] = (*self.system.properties, *self.system.invariants)
        self._kept: dict[tuple[Move, ...], Here] = {}

    @cached_property
    def _holds(self) -> Sequence[tuple[str, Callable[[State], bool]]]:
        """Each property and fact as a function of the state."""
        return [(fact.name, self.replayer.concrete.predicate(fact.holds)) for fact in self.facts]

    def warm_up(self) -> None:
        """Compile what every state is asked, so that the first answer comes as fast as the others."""
        here = self.at(ExplorerPath())
        _ = here.enabled, here.refused

    def false(self, state: State) -> list[str]:
        """The names of the properties and facts that are false in a state."""
        return [name for name, holds in self._holds if not holds(state)]

    def at(self, walk: ExplorerPath) -> Here:
        """Where the moves that are made lead; raises BadInput for one that cannot be made, ModelError for a bad update."""
        made = walk.made
        begun = next(n for n in range(len(made), -1, -1) if n == 0 or made[:n] in self._kept)
        here = self._kept.get(made[:begun]) or self._first()
        for number in range(begun, len(made)):
            here = self._after(here, made[number])
            self._kept[here.moves] = here
        while len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        return here

    def _first(self) -> Here:
        (state,) = self.replayer.follow([], ())
        return Here(self, (), (state,), (), None, dict.fromkeys(self.false(state), 0))

    def _after(self, here: Here, move: Move) -> Here:
        if isinstance(move, Lose):
            states = self._losing(here, move)
            steps = self.replayer.steps(here.actions, states)
            return Here(self, (*here.moves, move), tuple(states), steps, here, here.false_since)
        after = self._taking(here, move)
        step = self.replayer.step(len(here.states), move.action, here.state, after)
        steps = (*here.steps, step)
        check_receipts(steps)
        new = {name: step.index for name in self.false(after) if name not in here.false_since}
        return Here(
            self, (*here.moves, move), (*here.states, after), steps, here, {**here.false_since, **new}
        )

    def _taking(self, here: Here, move: Take) -> State:
        try:
            return self.replayer.after(move.action, here.states)
        except NotAnExecution:
            reasons = self.guards[move.action].reasons(here.state)
            why = "; ".join(reason.text for reason in reasons[:3])
            at = len(here.moves) + 1
            raise BadInput(f"move {at}, {move.name}: not possible here; not true: {why}") from None

    def _losing(self, here: Here, move: Lose) -> list[State]:
        """The states with one more choice true, which may change nothing of what has happened."""
        at = f"move {len(here.moves) + 1}, {move.name}"
        if move in here.moves:
            raise BadInput(f"{at}: it is lost already; undo that, or lose another")
        place = move.choice.place
        made = self.replayer.concrete.state
        found = [made((*state[:place], 1, *state[place + 1 :])) for state in here.states]
        for index, action in enumerate(here.actions):
            step = self.replayer.concrete.step(action)
            if next(step.successors(found[index]), None) != found[index + 1]:
                raise BadInput(
                    f"{at}: step {index + 1}, {action.name}, would not have happened so; lose it before that step"
                )
        return found


@dataclass(frozen=True, eq=False)
class Here:
    """Where some moves lead. `states` has the first state and the one after each action, `steps` what happened between.

    `false_since` has each property and fact that was false on the way, and the step after which it first was.
    """

    explorer: Explorer
    moves: tuple[Move, ...]
    states: tuple[State, ...]
    steps: tuple[TraceStep, ...]
    previous: Here | None
    false_since: dict[str, int]

    @property
    def state(self) -> State:
        """The state here."""
        return self.states[-1]

    @property
    def actions(self) -> list[GroundAction]:
        """The actions taken."""
        return [move.action for move in self.moves if isinstance(move, Take)]

    @property
    def lost(self) -> list[str]:
        """The names of the choices that are true."""
        return [move.choice.name for move in self.moves if isinstance(move, Lose)]

    @cached_property
    def enabled(self) -> tuple[GroundAction, ...]:
        """The actions that are possible here, in the order of the protocol."""
        steps, state = self.explorer.replayer.concrete.steps, self.state
        return tuple(step.action for step in steps if step.possible(state) and step.enabled(state))

    @cached_property
    def possible(self) -> tuple[OfferedAction, ...]:
        """The same, each with what it would do."""
        return tuple(map(self._option, self.enabled))

    def _option(self, action: GroundAction) -> OfferedAction:
        replayer = self.explorer.replayer
        try:
            after = replayer.after(action, self.states)
            return OfferedAction(action, replayer.step(len(self.states), action, self.state, after), after)
        except ModelError as error:
            return OfferedAction(action, None, None, str(error))

    @cached_property
    def refused(self) -> dict[GroundAction, tuple[int, bool]]:
        """The other actions, each with how many conjuncts of its guard are false, and whether a loss has ended it."""
        found = ((action, guard.lacking(self.state)) for action, guard in self.explorer.guards.items())
        return {action: lacking for action, lacking in found if lacking[0]}

    @property
    def no_longer(self) -> list[GroundAction]:
        """What the last move has made impossible, by itself or because what it waits for is lost."""
        if self.previous is None:
            return []
        taken = self.moves[-1]
        gone = [a for a in self.previous.enabled if a not in self.enabled and Take(a) != taken]
        before = self.previous.refused
        over = [a for a, (_, is_over) in self.refused.items() if is_over and not before.get(a, (0, False))[1]]
        return list(dict.fromkeys([*gone, *over]))

    @cached_property
    def false(self) -> list[str]:
        """The properties and facts that are false here."""
        return self.explorer.false(self.state)

    @property
    def violated(self) -> Property | None:
        """A property that is violated here, and was not before."""
        now = [name for name, since in self.false_since.items() if since == len(self.steps)]
        return next((p for p in self.explorer.system.properties if p.name in now), None)

    @cached_property
    def trace(self) -> Trace:
        """The walk as a trace: of the property that is violated here and was not before, if there is one."""
        prop = self.violated or WALKED
        return self.explorer.replayer.trace(prop.name, self.actions, self.lost, self.states[0], self.steps)

    @cached_property
    def story(self) -> Counterexample:
        """The walk as it is told."""
        prop = self.violated or WALKED
        said = f"{prop.name}: violated here" if self.violated else "a walk that violates nothing new here"
        changed = self.explorer.instance.changed_switches
        return Counterexample(self.trace, self.explorer.system, prop, said, changed)

    @property
    def under_way(self) -> tuple[Travel, ...]:
        """The messages that were sent, are not lost and not received yet."""
        return self.story.in_flight
