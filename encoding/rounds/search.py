"""The questions asked of ever more rounds: is a property violated, are there longer executions?

All are generators of plain messages, so that they can run in processes of their own, side by side, or in
turn in one. They know clauses and slots only; what a slot means is the business of whoever reads the
messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fencepost.encoding.rounds.round_solver import Counter, RoundSolver
from fencepost.encoding.rounds.unrolling import fired, true_choices
from fencepost.encoding.solving.solvers import Progress


@dataclass(frozen=True)
class Tally:
    """What is counted: the slots that fire and the choices (by position) that are true."""

    slots: tuple[int, ...]
    choices: tuple[int, ...] = ()


@dataclass(frozen=True)
class Footprint:
    """What tells one counterexample from another: the slots that fire, and the faults chosen that it cannot do without."""

    slots: frozenset[int]
    choices: frozenset[int]
    """By position among the choices."""


@dataclass(frozen=True)
class Task:
    """What to search for, and how far.

    `properties` name outputs `holds:NAME` and `witness:NAME` of the template. `bound` is the largest number
    of steps, `rounds` the largest number of rounds (None: no limit), `budgets` the largest number of faults
    of each kind. `objectives` are made as small as possible one after another once a violation is found;
    empty leaves the first one found.
    """

    properties: tuple[str, ...]
    bound: int | None = None
    rounds: int | None = None
    budgets: tuple[tuple[Tally, int], ...] = ()
    objectives: tuple[Tally, ...] = ()
    avoid: tuple[Footprint, ...] = ()
    """Stories told: no execution that fires just the slots of one, with all of its choices true, is looked for.

    With more choices true it would be the same story, with losses that it can do without.
    """
    invariants: tuple[str, ...] = ()
    """What induction carries along with each property: they name outputs `invariant:NAME`."""
    assumed: tuple[str, ...] = ()
    """Facts that were proved of every reachable state: a hunt may take them for granted after each round. They name outputs
    `invariant:NAME`."""


@dataclass(frozen=True)
class Execution:
    """An execution found by a solver: the slots that fire, in order, and the choices that are true."""

    rounds: int
    slots: tuple[int, ...]
    choices: tuple[int, ...]
    """By position among the choices."""


@dataclass(frozen=True)
class Violated:
    """The property is violated at the end of this execution."""

    property: str
    execution: Execution
    costs: tuple[int, ...]
    """The value of each objective."""


@dataclass(frozen=True)
class Clean:
    """No violation within that many rounds that costs less than `below` (None: none at all)."""

    property: str
    rounds: int
    below: tuple[int, ...] | None


@dataclass(frozen=True)
class Witnessed:
    """The property's witness is reached at the end of this execution."""

    property: str
    execution: Execution


@dataclass(frozen=True)
class Wrong:
    """Some action of this execution sets a variable twice or outside its domain."""

    execution: Execution


@dataclass(frozen=True)
class Upheld:
    """Every invariant holds within that many rounds."""

    rounds: int


@dataclass(frozen=True)
class Broken:
    """Some invariant does not hold at the end of this execution."""

    execution: Execution


@dataclass(frozen=True)
class Complete:
    """No execution (of at most `steps` steps, if given) needs more rounds than that."""

    rounds: int
    steps: int | None


@dataclass(frozen=True)
class Longer:
    """Some execution (of at most `steps` steps, if given) needs more rounds than that."""

    rounds: int
    steps: int | None


@dataclass(frozen=True)
class Surpassed:
    """Whether some execution takes more steps than the bound."""

    longer: bool


Finding = Violated | Clean | Witnessed | Wrong | Upheld | Broken | Complete | Longer | Surpassed | Progress


def hunt(session: RoundSolver, task: Task) -> Iterator[Finding]:
    """Search for violations and witnesses in 1, 2, 3 … rounds."""
    hunter = _Hunter(session, task)
    missing = list(task.properties)
    upholding = bool(task.invariants)
    while task.rounds is None or session.rounds < task.rounds:
        session.deepen()
        session.add([[hunter.output(f"invariant:{name}")] for name in task.assumed])
        hunter.avoid()
        yield session.progress()
        if session.solve([*hunter.limits(), hunter.output("wrong")]):
            yield Wrong(hunter.execution())
            return
        if upholding:
            upholding = not session.solve([*hunter.limits(), hunter.some_invariant_fails()])
            yield Upheld(session.rounds) if upholding else Broken(hunter.execution())
        for name in list(missing):
            if session.solve([*hunter.limits(), hunter.output(f"witness:{name}")]):
                yield Witnessed(name, hunter.execution())
                missing.remove(name)
        for name in task.properties:
            yield from hunter.search(name)


def executed(session: RoundSolver) -> Execution:
    """The execution of the last model."""
    unrolling, rounds, model = session.unrolling, session.rounds, session.model()
    return Execution(rounds, tuple(fired(unrolling, rounds, model)), tuple(true_choices(unrolling, model)))


def counters(
    session: RoundSolver, budgets: Sequence[tuple[Tally, int]], steps: int | None = None
) -> list[Counter]:
    """A counter for each budget, and one of all steps if they are bounded; see `within`."""
    found = [session.counter(tally.slots, tally.choices, most) for tally, most in budgets]
    if steps is not None:
        found.append(session.counter(range(len(session.unrolling.template.fires)), (), steps))
    return found


def within(limits: Sequence[Counter]) -> list[int]:
    """Assumptions under which none of these counts more than it may."""
    return [literal for counter in limits for literal in counter.at_most(counter.most)]


class _Hunter:
    """The state of a hunt: the counters in use, and the least cost found for each property."""

    def __init__(self, session: RoundSolver, task: Task) -> None:
        self._session, self._task = session, task
        self._limits = counters(session, task.budgets, task.bound)
        self._least: dict[str, tuple[int, ...]] = {}
        self._counters: dict[int, Counter] = {}
        self._known: set[str] = set()
        self._avoiding: list[int] = []

    def output(self, name: str) -> int:
        """The variable of an output after the last round."""
        return self._session.unrolling.output(name, self._session.rounds)

    def some_invariant_fails(self) -> int:
        """A literal under which an invariant is false after the last round."""
        guard = self._session.unrolling.fresh()
        fails = [-self.output(f"invariant:{name}") for name in self._task.invariants]
        self._session.add([[-guard, *fails]])
        return guard

    def limits(self) -> list[int]:
        """Assumptions: the bound on steps and the budgets."""
        return within(self._limits)

    def avoid(self) -> None:
        """From now on leave out executions that tell a story to avoid, in whatever rounds."""
        self._avoiding = [self._other_than(story) for story in self._task.avoid]

    def _other_than(self, story: Footprint) -> int:
        """A literal under which other slots fire so far, or a choice of the story is false."""
        unrolling, rounds = self._session.unrolling, self._session.rounds
        others = [s for s in range(len(unrolling.template.fires)) if s not in story.slots]
        guard = unrolling.fresh()
        never = []
        for slot in sorted(story.slots):
            absent = unrolling.fresh()
            never.append(absent)
            self._session.add([[-absent, -unrolling.fire(slot, r)] for r in range(1, rounds + 1)])
        some = [unrolling.fire(s, r) for s in others for r in range(1, rounds + 1)]
        spared = [-unrolling.choice(c) for c in sorted(story.choices)]
        self._session.add([[-guard, *never, *some, *spared]])
        return guard

    def execution(self) -> Execution:
        """The execution of the last model."""
        return executed(self._session)

    def search(self, name: str) -> Iterator[Finding]:
        """Look for a violation after the last round, or for one that costs less than what was found."""
        while True:
            violation = self._cheaper(name)
            if violation is None:
                yield Clean(name, self._session.rounds, self._least.get(name))
                return
            yield violation
            self._known.add(name)
            if not self._task.objectives:
                return
            self._least[name] = violation.costs

    def _cheaper(self, name: str) -> Violated | None:
        if name in self._known and not self._task.objectives:
            return None
        for assumptions in self._improvements(name):
            if self._session.solve(
                [*self.limits(), *self._avoiding, -self.output(f"holds:{name}"), *assumptions]
            ):
                execution = self.execution()
                return Violated(name, execution, self._costs(execution))
        return None

    def _improvements(self, name: str) -> Iterator[list[int]]:
        """Assumptions that together say "costs less", objective by objective."""
        least = self._least.get(name)
        if least is None:
            yield []
            return
        equal: list[int] = []
        for objective, cost in enumerate(least):
            counter = self._counter(objective, cost)
            if cost > 0:
                yield [*equal, *counter.at_most(cost - 1)]
            equal += counter.at_most(cost)

    def _counter(self, objective: int, cost: int) -> Counter:
        """A counter of that objective that can tell costs up to `cost` apart."""
        counter = self._counters.get(objective)
        if counter is None or counter.most < cost:
            tally = self._task.objectives[objective]
            counter = self._counters[objective] = self._session.counter(tally.slots, tally.choices, cost)
        return counter

    def _costs(self, execution: Execution) -> tuple[int, ...]:
        true = set(execution.choices)
        return tuple(
            sum(slot in t.slots for slot in execution.slots) + len(true & set(t.choices))
            for t in self._task.objectives
        )


def exhaust(session: RoundSolver, task: Task, steps: int | None) -> Iterator[Finding]:
    """Search for executions that need more than 0, 1, 2 … rounds, until there are none.

    `steps` bounds the steps of the executions looked at.
    """
    limits = counters(session, task.budgets, steps)
    while task.rounds is None or session.rounds <= task.rounds:
        session.deepen()
        yield session.progress()
        if not session.solve([*within(limits), session.fires_last()]):
            yield Complete(session.rounds - 1, steps)
            return
        yield Longer(session.rounds - 1, steps)


def surpass(session: RoundSolver, task: Task, bound: int) -> Iterator[Finding]:
    """Whether some execution takes more than `bound` steps."""
    from pysat.card import CardEnc, EncType

    limits = counters(session, task.budgets)
    while True:
        session.deepen()
        unrolling = session.unrolling
        fires = [f for r in range(1, session.rounds + 1) for f in unrolling.fires(r)]
        if len(fires) > bound:
            guard = unrolling.fresh()
            enough = CardEnc.atleast(fires, bound + 1, top_id=unrolling.top, encoding=EncType.seqcounter)
            unrolling.reserve(max(enough.nv, unrolling.top))
            session.add([[-guard, *clause] for clause in enough.clauses])
            if session.solve([*within(limits), guard]):
                yield Surpassed(True)
                return
        if not session.solve([*within(limits), session.fires_last()]):
            yield Surpassed(False)
            return
