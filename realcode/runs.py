"""Random executions of the model that the code can take, with rarely fired actions preferred."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.terms import any_of, lift
from fencepost.encoding.language.traces import TraceStep
from fencepost.protocols.bookkeeper.layers.entry_log import Place
from fencepost.protocols.bookkeeper.layers.readers import Opening
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import NO_BOOKIE, WRITER, Phase
from fencepost.realcode.aims import aims
from fencepost.realcode.drive.actions import DRIVEN
from fencepost.realcode.drive.taking import OF_WORKER
from fencepost.realcode.left_out import AT_ONCE
from fencepost.realcode.observations import Observations, model_observations
from fencepost.realcode.situations import SITUATIONS

SHORTEST, LONGEST = 20, 60
"""The limits on the steps of a run, unless it ends before."""
CANDIDATES = 6
"""The number of random runs from which the most useful one is taken."""

ENDINGS = ("close ledger", "abandon recovery", "withdraw", "abandon change", "fall silent")
"""The actions that end a run or most of it.

Each run aims at one of them and seldom takes another, or any of them among its first steps.
"""

BY_WORKER = {"push", *OF_WORKER}
"""The writer's actions that wait for its worker thread in some release."""
NEVER = {"try invalid fragment"}
"""The ones of these that no run takes."""


@dataclass(frozen=True)
class ConformanceRun:
    """An execution of the model for a conformance run: its losses, and its actions in order."""

    lost: tuple[str, ...]
    actions: tuple[GroundAction, ...]

    @property
    def names(self) -> set[str]:
        """The names of its actions."""
        return {action.schema.name for action in self.actions}


@dataclass
class Ground:
    """An instance for conformance runs."""

    instance: Instance

    @cached_property
    def replayer(self) -> Replayer:
        """The instance on plain values."""
        return Replayer(self.instance.system, self.instance.subject)

    @property
    def names(self) -> set[str]:
        """The names of the actions that a run may take."""
        return {a.schema.name for a in self.instance.system.ground_actions} & set(DRIVEN) - NEVER

    @property
    def ledger(self) -> Ledger:
        """The state space."""
        ledger = self.instance.system.state
        assert isinstance(ledger, Ledger)
        return ledger

    @cached_property
    def situations(self) -> tuple[ConformanceRun, ...]:
        """The beginnings of runs by `situations.toml` that the code can take on this instance."""
        found = []
        for situation in SITUATIONS:
            actions = situation.actions(self.instance.system.ground_actions)
            if actions is None or {a.schema.name for a in actions} - self.names:
                continue
            beginning = ConformanceRun(tuple(situation.lost), actions)
            with contextlib.suppress(NotAnExecution):
                self.followed(beginning)
                found.append(beginning)
        return tuple(found)

    def random_run(
        self,
        chance: random.Random,
        fired: Counter[str] | None = None,
        beginning: ConformanceRun | None = None,
    ) -> ConformanceRun:
        """Return a random run that the code can take; actions that `fired` in few runs are preferred.

        With a beginning the run goes on from there, and loses no other messages.
        """
        concrete = self.replayer.concrete
        longest = chance.randint(SHORTEST, LONGEST)
        fired = Counter() if fired is None else fired
        ledger = self.ledger
        aim = aims(chance, self.endings, fired, len(ledger.entry.values), ledger.bookie.values)
        lost = aim.lost(chance, [choice.name for choice in self.instance.system.choices])
        if beginning is not None:
            lost = beginning.lost
        actions = list(beginning.actions) if beginning is not None else []
        state = self.replayer.follow(actions, lost)[-1]
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
            lac = concrete.evaluate(ledger.lac(WRITER), {}, state)
            assert isinstance(lac, int)
            seldom = aim.put_off(actions, lac, self.endings, len(actions) < SHORTEST)
            action = aim.chosen(actions, allowed, chance, fired, seldom)
            actions.append(action)
            state = following[action]
        return ConformanceRun(lost, tuple(actions))

    @property
    def endings(self) -> Sequence[str]:
        """The actions that end a run. A refused change ends none if the writer continues after it."""
        continues = self.ledger.parameters.refused_change == "continues"
        return [name for name in ENDINGS if not (continues and name == "abandon change")]

    def allowed(
        self, before: Sequence[GroundAction], state: State, following: Mapping[GroundAction, State]
    ) -> Iterator[GroundAction]:
        """Yield those of the model's possible actions that the code can take now."""
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
        """Return whether the code cannot take the action there, by ELSEWHERE."""
        name, evaluate = action.schema.name, self.replayer.concrete.evaluate
        dropped = self.ledger.dropped[WRITER]
        if name == "push" and evaluate(lift(action.arguments[1]) <= dropped, {}, state):
            return True
        if name == "queue second add":
            return not self._is_second_in_order(action.arguments[0], state)
        times_out = name in ("begin change", "ignore failure", "note failure") and _is_of_writer(action)
        if times_out and self.ledger.parameters.has_second_adds and evaluate(self.ledger.second, {}, state):
            return True
        if name == "ignore failure":
            client, _, entry, _ = action.arguments
            later = self.ledger.complete(client, entry) | self.ledger.changing(client)
            return bool(noted) or bool(evaluate(later, {}, state))
        if name == "begin change":
            client, _, entry, _ = action.arguments
            if evaluate(self.ledger.complete(client, entry), {}, state):
                return True
            if client == WRITER:
                return bool(noted)
            return not any(a.arguments[0] == client for a in self._possible("commit change", after))
        if name == "note failure":
            return not self._is_noted_alone(action, state)
        if name == "hear lac":
            reader, bookie = action.arguments
            return not self._asks_for_lac(reader, bookie, state)
        if self.ledger.parameters.full_disks and name in ("crash", "restart", "fill disk"):
            return self._is_other_disk(name, action.arguments[0], state)
        if name == "lose power":
            return self._may_lose_fence(action.arguments[0], state)
        if name in BY_WORKER and _is_of_writer(action) and evaluate(self.ledger.idle[WRITER], {}, state):
            return True  # the worker is held, until the idle change of a chain ends
        if name == "commit change" and _is_of_writer(action):
            return self._acknowledges_later(action, state, after)
        if name == "handle add" and self.ledger.parameters.deletions and not _is_of_writer(action):
            return bool(evaluate(self.ledger.remembers[action.arguments[3]], {}, state))
        if name == "push" and noted:
            changes = self._possible("begin change", after)
            return len({b for _, b in noted}) > 1 or not any(_replaces(a, noted) for a in changes)
        return name in NEVER

    def _is_other_disk(self, name: str, bookie: Value, state: State) -> bool:
        """Return whether a full disk or an end of a bookie has another effect in the code."""
        ledger, evaluate = self.ledger, self.replayer.concrete.evaluate
        if name != "fill disk":
            return bool(evaluate(ledger.fenced[bookie], {}, state))
        buffered = any_of(*(ledger.is_in(bookie, e, Place.BUFFER) for e in ledger.entry))
        return ledger.parameters.adds_to == "memtable" and not evaluate(buffered, {}, state)

    def _is_noted_alone(self, failure: GroundAction, state: State) -> bool:
        """Return whether a write times out during a change, with no other failure noted.

        The next change must not be idle if this one is: the harness cannot hold the worker between them.
        """
        ledger, evaluate = self.ledger, self.replayer.concrete.evaluate
        client, fragment, entry, failed = failure.arguments
        if any(evaluate(ledger.noted[client, i], {}, state) != NO_BOOKIE for i in ledger.position):
            return False
        late = ~ledger.add_answered[client, fragment, entry, failed]
        stays = ledger.still_there(client, fragment, failed) | ~ledger.idle[client]
        return bool(evaluate(late & stays, {}, state))

    def _is_second_in_order(self, entry: Value, state: State) -> bool:
        """Return whether the ensemble is that of the first add, and no lower id waits in the queue."""
        ledger, evaluate = self.ledger, self.replayer.concrete.evaluate
        same = ledger.pushed_in[WRITER, entry] == ledger.own_last_fragment[WRITER]
        stands = ~ledger.changing(WRITER) & ~ledger.idle[WRITER]
        return bool(evaluate(same & stands & (lift(entry) <= ledger.lac(WRITER) + 1), {}, state))

    def _asks_for_lac(self, reader: Value, bookie: Value, state: State) -> bool:
        """Return whether the reader is opening the ledger, or asks the bookie for the LAC when it is open."""
        ledger, evaluate = self.ledger, self.replayer.concrete.evaluate
        if evaluate(ledger.handle[reader], {}, state) != Opening.OPEN:
            return True
        last = evaluate(ledger.known_fragment[reader], {}, state)
        ensemble = [evaluate(ledger.ensemble[last, i], {}, state) for i in ledger.position]
        return bookie in ensemble and not evaluate(ledger.knows_end[reader], {}, state)

    def _may_lose_fence(self, bookie: Value, state: State) -> bool:
        """Return whether the bookie is fenced and has no entry, or one that is not synced."""
        ledger, evaluate = self.ledger, self.replayer.concrete.evaluate
        if not evaluate(ledger.fenced[bookie], {}, state):
            return False
        stored = [e for e in ledger.entry if evaluate(ledger.has(bookie, e), {}, state)]
        return not stored or not all(evaluate(ledger.synced[bookie, e], {}, state) for e in stored)

    def _acknowledges_later(self, change: GroundAction, state: State, after: State) -> bool:
        """Return whether the change moves the LAC in the model but not yet in the code."""
        ledger, evaluate = self.ledger, self.replayer.concrete.evaluate
        if ledger.parameters.has_late_acks:
            return False
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
        """Return refused entries that the writer went on without, each with the bookie that refused it."""
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
        steps = self.replayer.concrete.steps_of[name]
        return [step.action for step in steps if next(step.successors(state), None) is not None]

    def followed(self, run: ConformanceRun) -> tuple[tuple[TraceStep, ...], list[Observations]]:
        """Return the steps of a run, and the model's observations before the first and after each.

        Raises NotAnExecution if the model cannot take the steps, or the code cannot take them in that
        order.
        """
        states = self.replayer.follow([], run.lost)
        concrete = self.replayer.concrete
        for at, action in enumerate(run.actions):
            possible = {
                step.action: after
                for step in concrete.steps
                if step.action == action or step.action.schema.name in AT_ONCE
                if (after := next(step.successors(states[-1]), None)) is not None
            }
            if action not in set(self.allowed(run.actions[:at], states[-1], possible)):
                raise NotAnExecution(f"step {at + 1}: {action.schema.name} cannot be taken there")
            states.append(possible[action])
        return self.replayer.steps(run.actions, states), model_observations(concrete, states)


def _begun_by_recoverer(before: Sequence[GroundAction]) -> object:
    """Return the recoverer that began a change in the step before, or None."""
    if before and before[-1].schema.name == "begin change" and before[-1].arguments[0] != WRITER:
        return before[-1].arguments[0]
    return None


def _is_of_writer(action: GroundAction) -> bool:
    """Return whether the writer takes the action, or its application does."""
    return action.schema.name in ("push", "close ledger", "withdraw") or action.arguments[0] == WRITER


def _replaces(change: GroundAction, noted: Collection[tuple[Value, Value]]) -> bool:
    """Return whether the writer's change replaces a bookie that refused that entry."""
    client, _, entry, failed = change.arguments
    return client == WRITER and (entry, failed) in noted


def random_runs(grounds: Sequence[Ground], seed: int) -> Iterator[tuple[Ground, ConformanceRun]]:
    """Yield random runs without end, on one instance after another; the same for the same seed.

    Each is the most useful of several random runs: it has the most actions that fired in few runs before.
    Short runs are left out. The runs on an instance begin with its situations in turn, and every second one
    with none.
    """
    chance, fired = random.Random(seed), Counter[str]()
    beginnings = [itertools.cycle([None, *_beginnings(ground, chance)]) for ground in grounds]
    for ground, following in itertools.cycle(zip(grounds, beginnings, strict=True)):
        beginning = next(following)
        several = [ground.random_run(chance, fired, beginning) for _ in range(CANDIDATES)]
        run = max(several, key=partial(_worth, fired))
        fired.update(run.names)
        yield ground, run


def _beginnings(ground: Ground, chance: random.Random) -> Iterator[ConformanceRun | None]:
    """Yield the beginnings by situations in a random order, with None between two of them."""
    for number, beginning in enumerate(chance.sample(ground.situations, len(ground.situations))):
        yield from (beginning,) if number == 0 else (None, beginning)


def _worth(fired: Counter[str], run: ConformanceRun) -> tuple[bool, float]:
    return len(run.actions) >= SHORTEST, sum(1 / (1 + fired[name]) for name in sorted(run.names))


def met(run: Iterable[GroundAction]) -> bool:
    """Return whether the run has a step that the model may delay and the code takes at once."""
    return any(
        a.schema.name in AT_ONCE or (a.schema.name == "begin change" and a.arguments[0] != WRITER)
        for a in run
    )
