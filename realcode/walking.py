"""Random walks of the model that the code can take: which steps follow at once, and which actions are wanted most."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from fencepost.encoding.concrete.compiling import State, Step
from fencepost.encoding.concrete.replaying import NotAnExecution, Replayer
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.system import GroundAction
from fencepost.encoding.language.traces import TraceStep
from fencepost.protocols.bookkeeper.adds import NO_BOOKIE
from fencepost.protocols.bookkeeper.metadata import WRITER
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.realcode.driving import DRIVEN
from fencepost.realcode.facts import Facts, model_facts

Settings = Mapping[str, object]

LOSS = 0.06
"""The chance of each message to be lost."""
SHORTEST, LONGEST = 20, 60
"""Steps of a walk, unless it comes to an end before."""

BROAD: Settings = {"bookies": 4, "entries": 2, "recoverers": 2}
PAIRS: Settings = {
    "bookies": 3,
    "ensemble": 2,
    "write_quorum": 2,
    "entries": 3,
    "inflight": 3,
    "recoverers": 2,
}
STRIPED: Settings = {"bookies": 4, "write_quorum": 2, "entries": 3, "inflight": 3}
SILENT: Settings = {
    "bookies": 3,
    "ensemble": 2,
    "write_quorum": 2,
    "ack_quorum": 1,
    "entries": 2,
    "silent": 1,
}
CRASHING: Settings = {
    "bookies": 3,
    "ensemble": 2,
    "write_quorum": 2,
    "entries": 2,
    "crashes": 2,
    "lose": "bare-fences",
    "fence_on_unclean_shutdown": "no",
    "limbo_on_unclean_shutdown": "no",
}
INSTANCES: tuple[Settings, ...] = (BROAD, PAIRS, STRIPED, SILENT, CRASHING)
"""What is walked on in turn: between them every action that can be driven fires."""

ENDINGS = ("close ledger", "abandon recovery", "withdraw", "abandon change", "fall silent")
"""What ends a walk, or much of it: seldom chosen in its first steps."""
SELDOM = 0.02

AT_ONCE = {
    "send reads": "the recoverer reads when enough are fenced, or when the entry below has been found",
    "write back": "the recoverer writes an entry back when it has found it",
}
"""Actions that the code takes with the step before; in the model others may come between: *more than the code does*."""

ELSEWHERE = {
    "begin change": "a recoverer replaces a bookie in one call: its commit follows at once. And who has AQ acks of the "
    "entry already replaces the bookie with a later add (PendingAddOp.writeComplete, delayedWriteFailedBookies), so only "
    "writes of other entries time out",
    "close ledger": "the writer's close during its own ensemble change: the harness keeps its metadata calls in order",
    "withdraw": "as close ledger",
    "try invalid fragment": "a recoverer notices that only when it closes, which reproduce judges",
}
"""Actions that are not taken in every state in which the model may take them, and why."""


@dataclass(frozen=True)
class Walk:
    """An execution of the model: what is lost, and the actions in order."""

    lost: tuple[str, ...]
    actions: tuple[GroundAction, ...]


@dataclass
class Ground:
    """An instance to walk on."""

    instance: Instance
    fired: Counter[str] = field(default_factory=Counter)
    """By action, in how many walks it fired: rare ones are preferred."""

    @cached_property
    def replayer(self) -> Replayer:
        """The instance on plain values."""
        return Replayer(self.instance.system, self.instance.subject)

    @property
    def ledger(self) -> Ledger:
        """The state space."""
        ledger = self.instance.system.state
        assert isinstance(ledger, Ledger)
        return ledger

    def walk(self, chance: random.Random) -> Walk:
        """A random walk that the code can take: rare actions are preferred, messages are lost now and then."""
        concrete = self.replayer.concrete
        lost = tuple(v.name for v in self.instance.system.choices if chance.random() < LOSS)
        (state,) = self.replayer.follow([], lost)
        longest = chance.randint(SHORTEST, LONGEST)
        actions: list[GroundAction] = []
        while len(actions) < longest:
            following = {
                step.action: after
                for step in concrete.steps
                if step.action.schema.name in DRIVEN
                and (after := next(step.successors(state), None)) is not None
            }
            allowed = list(self.allowed(actions, state, following))
            if not allowed:
                break
            action = self._chosen(allowed, chance, early=len(actions) < SHORTEST)
            actions.append(action)
            state = following[action]
        self.fired.update({action.schema.name for action in actions})
        return Walk(lost, tuple(actions))

    def _chosen(self, allowed: Sequence[GroundAction], chance: random.Random, early: bool) -> GroundAction:
        """Of the actions that have fired in few walks rather than in many; then any of its arguments."""
        names = sorted({action.schema.name for action in allowed})
        weights = [
            (SELDOM if early and name in ENDINGS else 1) / (1 + self.fired[name]) ** 0.5 for name in names
        ]
        (name,) = chance.choices(names, weights)
        return chance.choice([action for action in allowed if action.schema.name == name])

    def allowed(
        self, before: Sequence[GroundAction], state: State, following: Mapping[GroundAction, State]
    ) -> Iterator[GroundAction]:
        """Of the actions that the model can take, those that the code can take now."""
        begun = _begun_by_recoverer(before)
        at_once = [a for a in following if a.schema.name in AT_ONCE]
        for action in following:
            name, client = action.schema.name, action.arguments[0] if action.arguments else None
            if begun is not None:
                if name == "commit change" and client == begun:
                    yield action
            elif at_once:
                if action in at_once:
                    yield action
            elif not self._is_out_of_reach(action, state, following[action]):
                yield action

    def _is_out_of_reach(self, action: GroundAction, state: State, after: State) -> bool:
        """The code cannot take the action there: by ELSEWHERE."""
        name, evaluate = action.schema.name, self.replayer.concrete.evaluate
        if name == "begin change":
            client, _, entry, _ = action.arguments
            if evaluate(self.ledger.complete(client, entry), {}, state):
                return True
            return client != WRITER and not any(
                step.action.arguments[0] == client and next(step.successors(after), None) is not None
                for step in self._commits
            )
        if name in ("close ledger", "withdraw"):
            return evaluate(self.ledger.failed[WRITER], {}, state) != NO_BOOKIE
        return name == "try invalid fragment"

    @cached_property
    def _commits(self) -> list[Step]:
        concrete = self.replayer.concrete
        return [step for step in concrete.steps if step.action.schema.name == "commit change"]

    def followed(self, walk: Walk) -> tuple[tuple[TraceStep, ...], list[Facts]]:
        """The steps for people, and what the model says can be seen before the first and after each.

        Raises NotAnExecution if the model cannot take them, or the code not in that order.
        """
        states = self.replayer.follow([], walk.lost)
        concrete = self.replayer.concrete
        for at, action in enumerate(walk.actions):
            possible = {
                step.action: after
                for step in concrete.steps
                if step.action == action or step.action.schema.name in (*AT_ONCE, "commit change")
                if (after := next(step.successors(states[-1]), None)) is not None
            }
            if action not in set(self.allowed(walk.actions[:at], states[-1], possible)):
                raise NotAnExecution(f"step {at + 1}: {action.schema.name} cannot be taken there")
            states.append(possible[action])
        facts = [model_facts(self.ledger, concrete, state) for state in states]
        return self.replayer.steps(walk.actions, states), facts


def _begun_by_recoverer(before: Sequence[GroundAction]) -> object:
    """The recoverer that has begun a change in the step before, if one has."""
    if before and before[-1].schema.name == "begin change" and before[-1].arguments[0] != WRITER:
        return before[-1].arguments[0]
    return None


def walks(grounds: Sequence[Ground], seed: int) -> Iterator[tuple[Ground, Walk]]:
    """Walks without end, on one instance after another: the same ones for the same seed."""
    chance = random.Random(seed)
    while True:
        for ground in grounds:
            yield ground, ground.walk(chance)


def met(walk: Iterable[GroundAction]) -> bool:
    """The walk has a step with which the model does more than the code does."""
    return any(
        a.schema.name in AT_ONCE or (a.schema.name == "begin change" and a.arguments[0] != WRITER)
        for a in walk
    )
