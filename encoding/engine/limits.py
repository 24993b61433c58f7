"""Limits of a check: how far it searches, and with which engines and solver."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

from fencepost.encoding.concrete.compiler import BYTE
from fencepost.encoding.errors import BadInput, unknown_name
from fencepost.encoding.language.system import Invariant, System
from fencepost.encoding.language.traces import Trace
from fencepost.encoding.solving.solvers import SOLVERS, countable

MOST_FAULTS = BYTE - 1
"""The largest limit on faults of a kind that actions make: a node counts them in a byte."""


def counted_by_nodes(system: System, budgets: Mapping[str, int]) -> list[str]:
    """Return the kinds of faults that are limited and that actions make."""
    made = {schema.action.fault for schema in system.schemas}
    return [kind for kind in budgets if kind in made]


class Minimize(StrEnum):
    """What is made small in a counterexample."""

    STEPS = "steps"
    FAULTS = "faults"
    """Faults in all, then crashes among them, then steps."""
    NONE = "none"


@dataclass(frozen=True)
class Patience:
    """How long the search for shorter counterexamples of a property goes on after its first one.

    For `factor` times the seconds that the first one took, and at least for `seconds`.
    """

    seconds: float = 10.0
    factor: float = 1.0

    def after(self, took: float) -> float:
        """Return the seconds of that search if the first counterexample took so many seconds."""
        return max(self.seconds, self.factor * took)


ENGINES = ("enumeration", "rounds", "induction", "ic3", "abc")
"""Visits of all reachable states, bounded search by rounds, induction over one action with declared
invariants, the same with invariants that IC3 finds, and with those that the program ABC finds."""


@dataclass(frozen=True)
class Limits:
    """How far to search, and with which engines and solver.

    - `bound`: the largest number of protocol steps of an execution.
    - `rounds`: the largest number of rounds.
    - `budgets`: the largest number of faults, by name.
    - `minimize`, `count`: what is made small in a counterexample, and how many there should be.
    - `patience`: how long a counterexample is made smaller. None: until it is the smallest, or time is up.
    - `timeout`: seconds for the whole check. `gone` of them had passed before it began.
    - `memory`: GiB for each process.
    - `conflicts`: solver conflicts that the searches of one process may spend together. With `jobs=1` the
      outcome then does not depend on the speed of the machine.
    - `jobs`: the number of worker processes that run at the same time.
    - `engines`: some of `ENGINES`. If none is named, `check` takes those that suit the system.
    - `enumeration_first`: if no engine is named, some states are enumerated before rounds begin.
    - `one_is_enough`: the search ends with the first violated property and leaves the others undecided.
    """

    bound: int | None = None
    rounds: int | None = None
    budgets: Mapping[str, int] = field(default_factory=dict)
    minimize: Minimize = Minimize.STEPS
    count: int = 1
    patience: Patience | None = None
    timeout: float = 300.0
    gone: float = 0.0
    memory: float | None = None
    conflicts: int | None = None
    solver: str = "cadical"
    jobs: int = 2
    seed: int | None = None
    engines: tuple[str, ...] = ()
    enumeration_first: bool = False
    one_is_enough: bool = False

    def of(self, system: System) -> Limits:
        """Return these limits with the system's default number of rounds, unless they have their own."""
        return self if self.rounds is not None else replace(self, rounds=system.default_rounds)

    @property
    def induction_solver(self) -> str:
        """The solver of induction over one action: glucose in place of the default.

        On seven instances glucose needed 0.5 to 0.9 of the CPU time of cadical.
        """
        return "glucose" if self.solver == Limits.solver else self.solver

    @property
    def searches(self) -> bool:
        """Whether rounds are searched."""
        return not self.engines or "rounds" in self.engines

    def enumerates(self, system: System) -> bool:
        """Return whether reachable states are enumerated: each property then has one counterexample at most.

        Unless the engine is named, no states are enumerated if invariants are declared.
        """
        if self.engines:
            return "enumeration" in self.engines
        return self.enumeration_first and self.count == 1 and not system.invariants

    def inducts(self, system: System, lemmas: Sequence[Invariant] = ()) -> bool:
        """Return whether induction over one action is tried.

        It needs declared invariants or lemmas, and it cannot take a bound in steps into account.
        """
        asked = not self.engines or "induction" in self.engines
        return asked and self.bound is None and bool(system.invariants or lemmas)

    @property
    def _may_find_one(self) -> bool:
        """Whether an engine that finds one counterexample at most is asked without being named."""
        return not self.engines and self.count == 1

    @property
    def finds(self) -> bool:
        """Whether IC3 looks for invariants. It cannot take a bound in steps into account."""
        return ("ic3" in self.engines or self._may_find_one) and self.bound is None

    @property
    def asks_abc(self) -> bool:
        """Whether ABC looks for invariants: if it is named, or installed and beside other processes.

        It counts neither steps nor conflicts.
        """
        by_default = self._may_find_one and self.jobs > 1 and abc_program() is not None
        return ("abc" in self.engines or by_default) and self.bound is None and self.conflicts is None

    def fault_kinds(self, system: System) -> list[Collection[str]]:
        """Return the kinds of faults that are made few before steps are: all, and crashes among them."""
        if self.minimize is not Minimize.FAULTS:
            return []
        crashes = [fault for fault in system.faults if "crash" in fault]
        return [system.faults, crashes] if crashes else [system.faults]

    @property
    def minimizes(self) -> bool:
        """Whether something is made small in a counterexample."""
        return self.minimize is not Minimize.NONE or self.count > 1

    def costs(self, system: System, trace: Trace) -> tuple[int, ...]:
        """Return the value of each number that is made small, for a trace."""
        faults = (sum(trace.faults.get(f, 0) for f in kind) for kind in self.fault_kinds(system))
        return (*faults, len(trace.steps)) if self.minimizes else ()


def validate(limits: Limits, system: System) -> None:
    """Raise BadInput for limits that mean nothing for this system."""
    if limits.solver not in SOLVERS:
        raise unknown_name(limits.solver, "solver", SOLVERS)
    for name in limits.engines:
        if name not in ENGINES:
            raise unknown_name(name, "engine", ENGINES)
    if limits.engines == ("induction",) and not system.invariants:
        raise BadInput("induction: no invariants are declared, or they are hidden; name the engine rounds")
    without_bound = [name for name in ("ic3", "abc") if name in limits.engines]
    if limits.bound is not None and (without_bound or limits.engines == ("induction",)):
        name = next(iter(without_bound), "induction")
        raise BadInput(f"{name}: proves for any number of steps; leave out the bound, or name other engines")
    if "abc" in limits.engines and limits.conflicts is not None:
        raise BadInput(
            "abc: cannot count conflicts; leave out the limit on conflicts, or name the engine ic3"
        )
    if "abc" in limits.engines and abc_program() is None:
        raise BadInput("abc: the program ABC is not installed; pip install 'fencepost[abc]'")
    if "enumeration" in limits.engines:
        for kind in counted_by_nodes(system, limits.budgets):
            if limits.budgets[kind] > MOST_FAULTS:
                raise BadInput(f"enumeration: counts at most {MOST_FAULTS} faults {kind}; lower the budget")
    if limits.conflicts is not None:
        countable(limits.solver)
    known_faults(system, limits.budgets)


def abc_program() -> Path | None:
    """Return the path of the program ABC in the wheel pyosys, or None if that is not installed."""
    wheel = find_spec("pyosys")
    program = Path(wheel.origin).with_name("yosys-abc") if wheel is not None and wheel.origin else None
    return program if program is not None and program.is_file() else None


def known_faults(system: System, names: Iterable[str]) -> None:
    """Raise BadInput for a name that is no fault of the system."""
    for name in names:
        if name not in system.faults:
            raise unknown_name(name, "fault here", system.faults)


class Waiting:
    """For each violated property, the time at which the search for shorter counterexamples may end.

    It reads no clock: times are values that the caller read, in seconds. `begun` is the start of the check.
    """

    def __init__(self, patience: Patience | None, begun: float) -> None:
        """Start without violations. Without `patience` no search ends."""
        self._patience, self._begun = patience, begun
        self._until: dict[str, float] = {}

    def over(self, violated: Iterable[str], now: float) -> list[str]:
        """Return those of the violated properties whose time has passed.

        The time of a property counts from the first call that names it. A shorter counterexample does not
        start it again.
        """
        if self._patience is None:
            return []
        names = list(violated)
        for name in names:
            self._until.setdefault(name, now + self._patience.after(now - self._begun))
        return [name for name in names if now >= self._until[name]]
