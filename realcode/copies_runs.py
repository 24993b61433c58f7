"""Random executions of `ledger-copies` that the code can take, and their drive."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from fencepost.encoding.concrete.replay import NotAnExecution
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.quantifiers import exists, forall, forall_over
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.terms import FALSE, TRUE, Term, all_of
from fencepost.encoding.language.traces import TraceStep
from fencepost.properties.catalogue import find
from fencepost.protocols.ledger_copies.parameters import CopiesParameters
from fencepost.protocols.ledger_copies.releases import RULES, as_in
from fencepost.protocols.ledger_copies.state import Copies
from fencepost.quorums.storages import STORAGES
from fencepost.realcode.copies_reproduction import copies_observations, course_of
from fencepost.realcode.course import Course
from fencepost.realcode.drive.copies import COPIES_DRIVEN, CopiesCode
from fencepost.realcode.harness_session import HarnessSession
from fencepost.realcode.observations import Observations
from fencepost.realcode.run_instances import Settings
from fencepost.realcode.runs import LONGEST, SHORTEST, ConformanceRun, Ground

ONE_COPY: Settings = {"bookies": 2, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1, "entries": 2}
STRIPED: Settings = {"bookies": 4, "ensemble": 3, "entries": 3}
WITH_WORKER: Settings = {"workers": 1, "entries": 2}
INSTANCES: tuple[Settings, ...] = ({}, ONE_COPY, {"entries": 2}, STRIPED, WITH_WORKER)
"""The settings of the instances. Each has one spare bookie, so the code chooses the model's target."""
ONE_BOOKIE: Settings = {"bookies": 1, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1}
REUSED: tuple[Settings, ...] = (
    ONE_BOOKIE,
    {**ONE_BOOKIE, "entries": 2, "closed_by": "recovery"},
    {**ONE_BOOKIE, "bookies": 2},
    {**ONE_BOOKIE, "bookies": 2, "entries": 2, "closed_by": "recovery"},
)
"""The same for a used id. With one copy of each entry there is no choice of the bookie that is read."""
ONE_OPERATOR: Settings = {"workers": 0, "operators": 1, "session": "kept"}
"""The settings of an instance that does not change them."""

FAULTS = 4
"""The largest number of stops and of lost disks in a run."""

CONFLICTS = {"read again", "find replaced"}
"""The actions that no run of a single operator or worker takes, because it meets no conflict."""


def _not_collecting(s: Copies, bookie: Value) -> Term:
    """Return whether the collector of the bookie does not run. It would keep the lock."""
    return ~s.collecting[bookie] & (~s.condemned[bookie] if s.reuses else TRUE)


def _reads_all(s: Copies, bookie: Value, entry: Value) -> Term:
    """Return whether the ledger has no other entry. The harness reads all entries each time it looks."""
    return TRUE if s.parameters.entries == 1 else FALSE


def _takes(s: Copies, worker: Value, fragment: Value, position: Value, target: Value) -> Term:
    """Return whether no other position fails the check, so that the worker replaces this one alone.

    LedgerChecker does not check an only entry of which its live bookies say that they have none.
    """
    passes = forall(
        s.bookie,
        lambda b: all_of(
            *(
                (s.ensemble[fragment, i] != b) | s.passes_check(b, fragment, i)
                for i in s.position
                if i != position
            )
        ),
    )
    may_exist = exists(s.bookie, lambda b: s.is_named(fragment, b) & (~s.live[b] | s.copy[b, 1]))
    return passes & _has_one_spare(s, fragment, target) & (TRUE if s.parameters.entries > 1 else may_exist)


def _recovers(s: Copies, operator: Value, fragment: Value, position: Value, target: Value) -> Term:
    """Return whether the bookie is at one position only, and the target is the only choice."""
    replaced = s.ensemble[fragment, position]
    once = all_of(*(s.ensemble[fragment, i] != replaced for i in s.position if i != position))
    return once & _has_one_spare(s, fragment, target)


def _has_one_spare(s: Copies, fragment: Value, target: Value) -> Term:
    """Return whether no other live bookie can be the target."""
    return forall(s.bookie, lambda b: (b == target) | ~s.live[b] | s.is_named(fragment, b))


def _brings_none_back(s: Copies, replicator: Value, fragment: Value) -> Term:
    """Return whether no other replicator is to replace the target, which the metadata name no longer.

    The handle of the other may have been told in between, and it then ends at once.
    """
    return forall_over(
        (s.replicator, s.bookie),
        lambda r, b: (
            (r == replicator)
            | ~s.busy[r]
            | (s.failed[r] != b)
            | (s.target[replicator] != b)
            | s.is_named(fragment, b)
        ),
    )


def _shows_no_other(s: Copies, replicator: Value, entry: Value) -> Term:
    """Return whether no other entry comes back with the copy.

    Up to the clean-up after a deletion the target has the ledger's old entries on disk or in the write cache,
    and shows them once it knows the ledger again. The model has this with `reuse` only.
    """
    if s.parameters.storage != "write-cache" or s.reuses:
        return TRUE

    def is_there(b: Term, e: Term) -> Term:
        return (s.cleaning[b] & s.flushed[b, e]) | (s.dropping[b] & s.cached[b, e])

    return forall_over(
        (s.bookie, s.entry),
        lambda b, e: (b != s.target[replicator]) | (e == entry) | s.copy[b, e] | ~is_there(b, e),
    )


CERTAIN: Mapping[str, Callable[..., Term]] = {
    "stop": _not_collecting,
    "lose disks": _not_collecting,
    "take ledger": _takes,
    "recover bookie": _recovers,
    "update ensemble": _brings_none_back,
    "copy entry": _shows_no_other,
    "read old entry": _reads_all,
}
"""Conditions beside the model's guard, by action. Where one holds, the code takes the same step."""


class CopiesGround(Ground):
    """An instance of `ledger-copies` for conformance runs."""

    @property
    def names(self) -> set[str]:
        """The names of the actions that a run may take."""
        found = {a.schema.name for a in self.instance.system.ground_actions} & set(COPIES_DRIVEN)
        return found if len(self.copies.replicator) > 1 else found - CONFLICTS

    @property
    def copies(self) -> Copies:
        """The state space."""
        copies = self.instance.system.state
        assert isinstance(copies, Copies)
        return copies

    @cached_property
    def certain(self) -> Mapping[GroundAction, Callable[[State], Value]]:
        """Whether the code takes the model's step in a state, for each action that a run may take."""
        guards = {
            action: CERTAIN[action.schema.name](self.copies, *action.arguments)
            if action.schema.name in CERTAIN
            else TRUE
            for action in self.instance.system.ground_actions
            if action.schema.name in self.names
        }
        return {action: self.replayer.concrete.function(guard, {}) for action, guard in guards.items()}

    @cached_property
    def situations(self) -> tuple[ConformanceRun, ...]:
        """None: the situations are those of a ledger."""
        return ()

    def random_run(
        self,
        chance: random.Random,
        fired: Counter[str] | None = None,
        beginning: ConformanceRun | None = None,
    ) -> ConformanceRun:
        """Return a random run that the code can take; actions that `fired` in few runs are preferred."""
        before = Counter() if fired is None else fired
        longest = chance.randint(SHORTEST, LONGEST)
        (state,) = self.replayer.follow([], ())
        actions: list[GroundAction] = []
        while len(actions) < longest and (following := self._following(state)):
            if sum(a.schema.action.fault is not None for a in actions) >= FAULTS:
                following = {a: after for a, after in following.items() if a.schema.action.fault is None}
            if not following:
                break
            names = sorted({action.schema.name for action in following})
            taken = Counter(action.schema.name for action in actions)
            rarely = [1 / (1 + before[name]) / (1 + taken[name]) ** 2 for name in names]
            (name,) = chance.choices(names, rarely)
            action = chance.choice([a for a in following if a.schema.name == name])
            actions.append(action)
            state = following[action]
        return ConformanceRun((), tuple(actions))

    def _following(self, state: State) -> Mapping[GroundAction, State]:
        """Return the actions that the code can take now, each with the state after it."""
        return {
            step.action: after
            for step in self.replayer.concrete.steps
            if step.action in self.certain
            and (after := next(step.successors(state), None)) is not None
            and self.certain[step.action](state)
        }

    def followed(self, run: ConformanceRun) -> tuple[tuple[TraceStep, ...], list[Observations]]:
        """Return the steps of a run, and the model's observations before the first and after each.

        Raises NotAnExecution if the model cannot take the steps, or the code cannot.
        """
        states = self.replayer.follow([], run.lost)
        for at, action in enumerate(run.actions, 1):
            following = self._following(states[-1])
            if action not in following:
                raise NotAnExecution(f"step {at}: {action.schema.name} cannot be taken there")
            states.append(following[action])
        concrete = self.replayer.concrete
        observations = [copies_observations(self.copies, concrete, state) for state in states]
        return self.replayer.steps(run.actions, states), observations


def copies_grounds(settings: Settings, storage: str, release: str) -> list[CopiesGround]:
    """Return the instances to run, with the rules of that release and storage.

    With `reuse` they are those of a used id, with the memtable on sorted storage.
    """
    found = find("ledger-copies")
    reuses = settings.get("reuse", "never") != "never"
    stores = STORAGES[storage].copies
    if stores == "memtable" and not reuses:
        stores = "at-once"
    several = REUSED if reuses else INSTANCES

    def ground(asked: Settings) -> CopiesGround:
        parameters = found.instance(asked.items()).parameters
        assert isinstance(parameters, CopiesParameters)
        as_released = replace(as_in(release, parameters), session="kept")
        own = {"storage": stores, **{name: getattr(as_released, name) for name in RULES}}
        return CopiesGround(found.instance({**own, **asked}.items()))

    return [
        ground({**ONE_OPERATOR, **instance, **settings})
        for instance in (({},) if "bookies" in settings else several)
    ]


def begun(
    session: HarnessSession,
    parameters: CopiesParameters,
    steps: Sequence[TraceStep],
    observations: Sequence[Observations],
) -> Course[CopiesCode]:
    """Write and close a new ledger, and return the code on its way through the steps.

    Bookies that only larger instances have are down meanwhile.
    """
    code = CopiesCode(session, parameters, steps)
    code.write_ledger()
    bookies = list(code.look()["bookies"])
    if parameters.storage == "write-cache":
        for bookie in bookies:
            code.ask("flush", bookie=bookie)  # entries of earlier ledgers are no work for a checkpoint
    for bookie in bookies[parameters.bookies :]:
        code.ask("crash", bookie=bookie)
    return course_of(code, observations)


def tidied(code: CopiesCode) -> None:
    """End what a run has begun: collectors that wait, and bookies that are down."""
    for bookie in sorted(code.collecting):
        code.ask("collect", bookie=bookie)
    for bookie, inside in code.look()["bookies"].items():
        if not inside["up"]:
            code.ask("boot", bookie=bookie)
