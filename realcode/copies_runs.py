"""Random executions of `ledger-copies` that the code can take, and their drive."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from fencepost.encoding.concrete.replay import NotAnExecution
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.traces import TraceStep
from fencepost.properties.catalogue import find
from fencepost.protocols.ledger_copies.parameters import CopiesParameters
from fencepost.protocols.ledger_copies.releases import RULES, as_in
from fencepost.protocols.ledger_copies.state import Copies
from fencepost.realcode.copies_reproduction import copies_observations, course_of
from fencepost.realcode.course import Course
from fencepost.realcode.drive.copies import COPIES_DRIVEN, CopiesCode
from fencepost.realcode.harness_session import HarnessSession
from fencepost.realcode.observations import Observations
from fencepost.realcode.run_instances import Settings
from fencepost.realcode.runs import LONGEST, SHORTEST, ConformanceRun, Ground

ONE_COPY: Settings = {"bookies": 2, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1, "entries": 2}
STRIPED: Settings = {"bookies": 4, "ensemble": 3, "entries": 3}
INSTANCES: tuple[Settings, ...] = ({}, ONE_COPY, {"entries": 2}, STRIPED)
"""The settings of the instances. Each has one spare bookie, so the code chooses the model's target."""
ONE_OPERATOR: Settings = {"workers": 0, "operators": 1, "session": "kept"}
"""The harness runs no replication worker."""

FAULTS = 4
"""The largest number of stops and of lost disks in a run."""

CONFLICTS = {"read again", "find replaced"}
"""The actions that no run takes: a single operator meets no conflict. Scripts drive them."""

BUSY_ENDS = {
    "stop": "left out while the bookie collects, because its collector would keep the lock",
    "lose disks": "left out while the bookie collects, for the same reason",
}
"""The actions that are not taken in every state in which the model may take them, and the reasons."""


class CopiesGround(Ground):
    """An instance of `ledger-copies` for conformance runs."""

    @property
    def names(self) -> set[str]:
        """The names of the actions that a run may take."""
        found = {a.schema.name for a in self.instance.system.ground_actions}
        return found & set(COPIES_DRIVEN) - CONFLICTS

    @property
    def copies(self) -> Copies:
        """The state space."""
        copies = self.instance.system.state
        assert isinstance(copies, Copies)
        return copies

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
        evaluate = self.replayer.concrete.evaluate
        return {
            step.action: after
            for step in self.replayer.concrete.steps
            if step.action.schema.name in self.names
            and (after := next(step.successors(state), None)) is not None
            and not (
                step.action.schema.name in BUSY_ENDS
                and evaluate(self.copies.collecting[step.action.arguments[0]], {}, state)
            )
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
    """Return the instances to run, with the rules of that release and storage."""
    found = find("ledger-copies")
    stores = "write-cache" if storage == "db" else "at-once"

    def ground(asked: Settings) -> CopiesGround:
        parameters = found.instance(asked.items()).parameters
        assert isinstance(parameters, CopiesParameters)
        as_released = replace(as_in(release, parameters), session="kept")
        own = {"storage": stores, **{name: getattr(as_released, name) for name in RULES}}
        return CopiesGround(found.instance({**own, **asked}.items()))

    return [
        ground({**ONE_OPERATOR, **instance, **settings})
        for instance in (({},) if "bookies" in settings else INSTANCES)
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
    for bookie in list(code.look()["bookies"])[parameters.bookies :]:
        code.ask("crash", bookie=bookie)
    return course_of(code, observations)


def tidied(code: CopiesCode) -> None:
    """End what a run has begun: collectors that wait, and bookies that are down."""
    for bookie in sorted(code.collecting):
        code.ask("collect", bookie=bookie)
    for bookie, inside in code.look()["bookies"].items():
        if not inside["up"]:
            code.ask("boot", bookie=bookie)
