"""One instance under exploration: the end of a path, and what is known of its state.

No solver is used here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.receipts import check_receipts
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.errors import BadInput, ModelError
from fencepost.encoding.forms.counterexample import OF_PATH, Counterexample, Travel, call_line
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.language.traces import Trace, TraceStep
from fencepost.explore.guards import ShownGuard
from fencepost.explore.paths import Begin, ExplorerPath, Lose, Move, Names, Take

KEPT = 500
"""The number of states kept, so that the next move begins at the end of the last path."""


@dataclass(frozen=True)
class OfferedAction:
    """A possible action: its step and the state after it, or the error in its definition."""

    action: GroundAction
    step: TraceStep | None
    after: State | None
    error: str | None = None


@dataclass(frozen=True)
class ActionCall:
    """An action as a path shows it: its name as a command, its actor, and the action with its arguments."""

    name: str
    actor: str
    words: str

    @property
    def line(self) -> str:
        """The actor and the action: `r1 finish recovery (entry 1)`."""
        return f"{self.actor} {self.words}"


class Explorer:
    """The compiled instance, shared by all paths, and the ends of the last ones."""

    def __init__(self, instance: Instance) -> None:
        """Compile the instance."""
        self.instance = instance
        self.system: System = instance.system
        self.replayer = Replayer(self.system, instance.subject)
        self.names = Names(self.system)
        concrete = self.replayer.concrete
        self.guards = {action: ShownGuard(concrete, action) for action in self.system.ground_actions}
        self.claims: tuple[Property | Invariant, ...] = (*self.system.properties, *self.system.invariants)
        self._kept: dict[tuple[Move, ...], Here] = {}

    @cached_property
    def _holds(self) -> Sequence[tuple[str, Callable[[State], bool]]]:
        """The properties and invariants as functions of the state, with their names."""
        return [(claim.name, self.replayer.concrete.predicate(claim.holds)) for claim in self.claims]

    @cached_property
    def calls(self) -> dict[GroundAction, ActionCall]:
        """Each action as a path shows it, with its actor in the first state."""
        state = self.at(ExplorerPath()).state
        return {action: self._call(action, state) for action in self.guards}

    @cached_property
    def beginnings(self) -> Beginnings:
        """The initial states."""
        return Beginnings(self.replayer.concrete)

    def _call(self, action: GroundAction, state: State) -> ActionCall:
        arguments, actor = self.replayer.call(action, state)
        return ActionCall(action.name, show(actor), call_line(action.schema.name, arguments, actor))

    @cached_property
    def lanes(self) -> tuple[str, ...]:
        """The actors, and the stores."""
        return tuple(
            dict.fromkeys([*(call.actor for call in self.calls.values()), *self.system.state.stores])
        )

    def warm_up(self) -> None:
        """Compile everything that a state is asked, so that the first answer is as fast as the others."""
        here = self.at(ExplorerPath())
        _ = here.enabled, here.refused, self.lanes

    def false(self, state: State) -> list[str]:
        """Return the names of the properties and invariants that are false in a state."""
        return [name for name, holds in self._holds if not holds(state)]

    def at(self, path: ExplorerPath) -> Here:
        """Return the end of the path's made moves.

        Raises BadInput for a move that cannot be made, ModelError for a bad update.
        """
        made = path.made
        begun = next(n for n in range(len(made), -1, -1) if n == 0 or made[:n] in self._kept)
        here = self._kept.get(made[:begun]) or self._first()
        for number in range(begun, len(made)):
            here = self._after(here, made[number])
            self._kept[here.moves] = here
        while len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        return here

    def _first(self) -> Here:
        return self._beginning(next(self.beginnings.states({})), (), None)

    def _beginning(self, state: State, moves: tuple[Move, ...], previous: Here | None) -> Here:
        """Return a path without steps that ends in this initial state."""
        return Here(self, moves, (state,), (), previous, dict.fromkeys(self.false(state), 0))

    def _begun(self, here: Here, move: Begin) -> Here:
        """Return the path with one more initial value chosen; the last one counts for each variable."""
        at = f"move {len(here.moves) + 1}, {move.name}"
        if here.steps:
            raise BadInput(f"{at}: a step was taken already; undo the steps, or choose before the first one")
        moves = (*here.moves, move)
        chosen = {one.variable.place: one.code for one in moves if isinstance(one, Begin)}
        lost = {v.place: here.state[v.place] == 1 for v in self.system.choices}
        try:
            state = next(self.beginnings.states(lost, chosen))
        except ModelError:
            raise BadInput(f"{at}: no initial state has the values chosen so far; undo one of them") from None
        return self._beginning(state, moves, here)

    def _after(self, here: Here, move: Move) -> Here:
        if isinstance(move, Begin):
            return self._begun(here, move)
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
        """Return the states with one more loss, which must not change the steps so far."""
        at = f"move {len(here.moves) + 1}, {move.name}"
        if move in here.moves:
            raise BadInput(f"{at}: it is lost already; undo the loss, or lose another message")
        place = move.choice.place
        made = self.replayer.concrete.state
        found = [made((*state[:place], 1, *state[place + 1 :])) for state in here.states]
        for index, action in enumerate(here.actions):
            step = self.replayer.concrete.step(action)
            if next(step.successors(found[index]), None) != found[index + 1]:
                raise BadInput(
                    f"{at}: step {index + 1}, {action.name}, would differ with this loss; lose it before"
                )
        return found


@dataclass(frozen=True, eq=False)
class Here:
    """The end of some moves.

    `states` has the first state and the one after each action, `steps` the steps between. `false_since` has
    each property and invariant that was false on the path, and the first step after which it was.
    """

    explorer: Explorer
    moves: tuple[Move, ...]
    states: tuple[State, ...]
    steps: tuple[TraceStep, ...]
    previous: Here | None
    false_since: dict[str, int]

    @property
    def state(self) -> State:
        """The state at the end."""
        return self.states[-1]

    @property
    def actions(self) -> list[GroundAction]:
        """The actions taken."""
        return [move.action for move in self.moves if isinstance(move, Take)]

    @property
    def lost(self) -> list[str]:
        """The names of the losses."""
        return [move.choice.name for move in self.moves if isinstance(move, Lose)]

    @property
    def beginning(self) -> tuple[int, ...]:
        """The initial values of the variables that have several."""
        return self.explorer.beginnings.of(self.states[0])

    @property
    def other_beginnings(self) -> list[Begin]:
        """The moves that choose another initial value; none once a step was taken."""
        return (
            []
            if self.steps
            else [
                move
                for move in self.explorer.names.beginnings.values()
                if self.state[move.variable.place] != move.code
            ]
        )

    @cached_property
    def enabled(self) -> tuple[GroundAction, ...]:
        """The actions that are possible here, in the order of the protocol."""
        steps, state = self.explorer.replayer.concrete.steps, self.state
        return tuple(step.action for step in steps if step.possible(state) and step.enabled(state))

    @cached_property
    def possible(self) -> tuple[OfferedAction, ...]:
        """The possible actions, each with its effect."""
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
        """The other actions: the number of false conjuncts, and whether a loss ended the action."""
        found = ((action, guard.lacking(self.state)) for action, guard in self.explorer.guards.items())
        return {action: lacking for action, lacking in found if lacking[0]}

    @property
    def no_longer(self) -> list[GroundAction]:
        """The actions that the last move made impossible, directly or by a loss that they depend on."""
        if self.previous is None:
            return []
        taken = self.moves[-1]
        gone = [a for a in self.previous.enabled if a not in self.enabled and Take(a) != taken]
        before = self.previous.refused
        over = [a for a, (_, is_over) in self.refused.items() if is_over and not before.get(a, (0, False))[1]]
        return list(dict.fromkeys([*gone, *over]))

    @cached_property
    def false(self) -> list[str]:
        """The properties and invariants that are false here."""
        return self.explorer.false(self.state)

    @property
    def violated(self) -> Property | None:
        """A property that is violated here and was not before."""
        now = [name for name, since in self.false_since.items() if since == len(self.steps)]
        return next((p for p in self.explorer.system.properties if p.name in now), None)

    @cached_property
    def trace(self) -> Trace:
        """The path as a trace of the newly violated property, if there is one."""
        prop = self.violated or OF_PATH
        return self.explorer.replayer.trace(prop.name, self.actions, self.lost, self.states[0], self.steps)

    @cached_property
    def counterexample(self) -> Counterexample:
        """The path in the form of a counterexample, for views."""
        prop = self.violated or OF_PATH
        said = f"{prop.name}: violated here" if self.violated else "a path that violates nothing new here"
        changed = self.explorer.instance.changed_switches
        return Counterexample(
            self.trace, self.explorer.system, prop, said, changed, lanes=self.explorer.lanes
        )

    @property
    def under_way(self) -> tuple[Travel, ...]:
        """The messages that were sent and neither lost nor received."""
        return self.counterexample.in_flight
