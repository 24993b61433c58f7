"""Random walks of the model that the code can take: which steps follow at once, and which actions are wanted most."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from fencepost.encoding.concrete.compiler import State, Step
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.system import GroundAction
from fencepost.encoding.language.terms import lift
from fencepost.encoding.language.traces import TraceStep
from fencepost.protocols.bookkeeper.metadata import WRITER, Phase
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.realcode.drive.actions import DRIVEN
from fencepost.realcode.observations import Facts, model_facts

Settings = Mapping[str, object]

LOSS = 0.06
"""The chance of each message to be lost."""
SHORTEST, LONGEST = 20, 60
"""Steps of a walk, unless it comes to an end before."""
CANDIDATES = 6
"""Of so many walks the one that is wanted most is taken."""

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
"""What ends a walk, or much of it: each walk makes for one of them, and seldom takes another, or any in its first steps."""
SELDOM = 0.02

AT_ONCE = {
    "send reads": "the recoverer reads when enough are fenced, or when the entry below has been found",
    "write back": "the recoverer writes an entry back when it has found it",
}
"""Actions that the code takes with the step before; in the model others may come between: *more than the code does*."""

ELSEWHERE = {
    "begin change": "a recoverer replaces a bookie in one call: its commit follows at once. And who has AQ acks of the "
    "entry already replaces the bookie with the next add (PendingAddOp.writeComplete, delayedWriteFailedBookies), so only "
    "writes of other entries time out; and a bookie that refused such an entry is replaced with the push that comes next",
    "commit change": "an entry that got its AQ acks during the writer's change is acknowledged with the next answer "
    "(PendingAddOp.unsetSuccessAndSendWriteRequest, writeComplete), in the model with the change: left out where no entry "
    "outside the change is looked at, which acknowledges in passing",
    "push": "with two bookies that have refused entries with AQ acks: the code replaces both in one change",
    "try invalid fragment": "a recoverer notices that only when it closes, which reproduce judges",
}
"""Actions that are not taken in every state in which the model may take them, and why."""
NEVER = {"try invalid fragment"}
"""Of these, those that no walk takes."""


@dataclass(frozen=True)
class ConformanceRun:
    """An execution of the model: what is lost, and the actions in order."""

    lost: tuple[str, ...]
    actions: tuple[GroundAction, ...]

    @property
    def names(self) -> set[str]:
        """The names of its actions."""
        return {action.schema.name for action in self.actions}


@dataclass
class Ground:
    """An instance to walk on."""

    instance: Instance

    @cached_property
    def replayer(self) -> Replayer:
        """The instance on plain values."""
        return Replayer(self.instance.system, self.instance.subject)

    @property
    def names(self) -> set[str]:
        """The actions that a walk may take."""
        return {step.action.schema.name for step in self.replayer.concrete.steps} & set(DRIVEN) - NEVER

    @property
    def ledger(self) -> Ledger:
        """The state space."""
        ledger = self.instance.system.state
        assert isinstance(ledger, Ledger)
        return ledger

    def walk(self, chance: random.Random, fired: Counter[str] | None = None) -> ConformanceRun:
        """A random walk that the code can take: actions that have `fired` in few walks are preferred."""
        concrete = self.replayer.concrete
        lost = tuple(v.name for v in self.instance.system.choices if chance.random() < LOSS)
        (state,) = self.replayer.follow([], lost)
        longest = chance.randint(SHORTEST, LONGEST)
        fired = Counter() if fired is None else fired
        (ending,) = chance.choices(ENDINGS, [1 / (1 + fired[name]) for name in ENDINGS])
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
            seldom = [name for name in ENDINGS if name != ending or len(actions) < SHORTEST]
            action = _chosen(allowed, chance, fired, seldom)
            actions.append(action)
            state = following[action]
        return ConformanceRun(lost, tuple(actions))

    def allowed(
        self, before: Sequence[GroundAction], state: State, following: Mapping[GroundAction, State]
    ) -> Iterator[GroundAction]:
        """Of the actions that the model can take, those that the code can take now."""
        begun, noted = _begun_by_recoverer(before), self._noted(state)
        at_once = [a for a in following if a.schema.name in AT_ONCE]
        for action in following:
            name, client = action.schema.name, action.arguments[0] if action.arguments else None
            if begun is not None:
                if name == "commit change" and client == begun:
                    yield action
            elif noted and before[-1].schema.name == "push":
                if name == "begin change" and _replaces(action, noted):
                    yield action
            elif at_once:
                if action in at_once:
                    yield action
            elif not self._is_out_of_reach(action, state, following[action], noted):
                yield action

    def _is_out_of_reach(
        self, action: GroundAction, state: State, after: State, noted: Collection[tuple[Value, Value]]
    ) -> bool:
        """The code cannot take the action there: by ELSEWHERE."""
        name, evaluate = action.schema.name, self.replayer.concrete.evaluate
        if name == "begin change":
            client, _, entry, _ = action.arguments
            if evaluate(self.ledger.complete(client, entry), {}, state):
                return True
            if client == WRITER:
                return bool(noted)
            return not any(a.arguments[0] == client for a in self._possible("commit change", after))
        if name == "commit change" and action.arguments[0] == WRITER:
            return self._acknowledges_later(action, state, after)
        if name == "push" and noted:
            changes = self._possible("begin change", after)
            return len({b for _, b in noted}) > 1 or not any(_replaces(a, noted) for a in changes)
        return name in NEVER

    def _acknowledges_later(self, change: GroundAction, state: State, after: State) -> bool:
        """The LAC goes up with the change, and the code moves it with the next answer only."""
        ledger, evaluate = self.ledger, self.replayer.concrete.evaluate
        _, fragment, failed, _ = change.arguments
        lac = evaluate(ledger.lac(WRITER), {}, after)
        looked_at_later = exists(
            ledger.entry,
            lambda e: (
                (lift(lac) <= e)
                & ledger.pending(WRITER, e)
                & ~ledger.in_write_set_of(WRITER, fragment, e, failed)
            ),
        )
        in_passing = ledger.acknowledged_in_passing(WRITER, fragment, failed, lac) | looked_at_later
        return lac != evaluate(ledger.lac(WRITER), {}, state) and not evaluate(in_passing, {}, state)

    def _noted(self, state: State) -> set[tuple[Value, Value]]:
        """Entries that the writer went on without a bookie's ack of, which refused it, each with that bookie."""
        ledger, evaluate = self.ledger, self.replayer.concrete.evaluate
        if evaluate(ledger.phase[WRITER], {}, state) != Phase.ACTIVE:
            return set()
        return {
            (e, b)
            for f in ledger.fragment
            for e in ledger.entry
            for b in ledger.bookie
            if evaluate(ledger.add_refused[WRITER, f, e, b], {}, state)
            and evaluate(ledger.add_answered[WRITER, f, e, b], {}, state)
            and evaluate(ledger.still_there(WRITER, f, b), {}, state)
        }

    def _possible(self, name: str, state: State) -> list[GroundAction]:
        return [
            step.action for step in self._steps_of[name] if next(step.successors(state), None) is not None
        ]

    @cached_property
    def _steps_of(self) -> Mapping[str, Sequence[Step]]:
        found: dict[str, list[Step]] = {}
        for step in self.replayer.concrete.steps:
            found.setdefault(step.action.schema.name, []).append(step)
        return found

    def followed(self, walk: ConformanceRun) -> tuple[tuple[TraceStep, ...], list[Facts]]:
        """The steps for people, and what the model says can be seen before the first and after each.

        Raises NotAnExecution if the model cannot take them, or the code not in that order.
        """
        states = self.replayer.follow([], walk.lost)
        concrete = self.replayer.concrete
        for at, action in enumerate(walk.actions):
            possible = {
                step.action: after
                for step in concrete.steps
                if step.action == action or step.action.schema.name in AT_ONCE
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


def _replaces(change: GroundAction, noted: Collection[tuple[Value, Value]]) -> bool:
    """The writer's change is of a bookie that refused that entry."""
    client, _, entry, failed = change.arguments
    return client == WRITER and (entry, failed) in noted


def _chosen(
    allowed: Sequence[GroundAction], chance: random.Random, fired: Counter[str], seldom: Collection[str]
) -> GroundAction:
    """Of the actions that have fired in few walks rather than in many; then any of its arguments."""
    names = sorted({action.schema.name for action in allowed})
    weights = [(SELDOM if name in seldom else 1) / (1 + fired[name]) ** 0.5 for name in names]
    (name,) = chance.choices(names, weights)
    return chance.choice([action for action in allowed if action.schema.name == name])


def walks(grounds: Sequence[Ground], seed: int) -> Iterator[tuple[Ground, ConformanceRun]]:
    """Walks without end, on one instance after another: the same ones for the same seed.

    Each is the one of several that has most of what fired in few walks before; short ones are left out.
    """
    chance, fired = random.Random(seed), Counter[str]()
    for ground in itertools.cycle(grounds):
        several = [ground.walk(chance, fired) for _ in range(CANDIDATES)]
        walk = max(several, key=partial(_worth, fired))
        fired.update(walk.names)
        yield ground, walk


def _worth(fired: Counter[str], walk: ConformanceRun) -> tuple[bool, float]:
    return len(walk.actions) >= SHORTEST, sum(1 / (1 + fired[name]) for name in sorted(walk.names))


def met(walk: Iterable[GroundAction]) -> bool:
    """The walk has a step with which the model does more than the code does."""
    return any(
        a.schema.name in AT_ONCE or (a.schema.name == "begin change" and a.arguments[0] != WRITER)
        for a in walk
    )
