"""Searches of bounded model checking for violations, for executions of more rounds and of more steps.

Each search is a generator of plain messages. Searches run side by side in several processes, or in turn in
one. They know clauses and slots only; the reader of the messages knows the action of each slot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fencepost.encoding.engine.messages import (
    Clean,
    Complete,
    Execution,
    Longer,
    Surpassed,
    Violated,
    Witnessed,
    Wrong,
)
from fencepost.encoding.rounds.round_solver import Counter, RoundSolver
from fencepost.encoding.rounds.unrolling import beginning, fired, true_choices
from fencepost.encoding.solving.solvers import Progress


@dataclass(frozen=True)
class Tally:
    """Slots and choices (by position) to count: the slots that fire, and the choices that are true."""

    slots: tuple[int, ...]
    choices: tuple[int, ...] = ()


@dataclass(frozen=True)
class Footprint:
    """The slots that a counterexample fires, and the choices that it needs to be true.

    Two counterexamples with the same footprint count as one.
    """

    slots: frozenset[int]
    choices: frozenset[int]
    """By position among the choices."""


@dataclass(frozen=True)
class Task:
    """The properties to search for violations of, and the limits of the search.

    `properties` name outputs `holds:NAME` and `witness:NAME` of the template. `bound` is the largest number
    of steps, `rounds` the largest number of rounds (None: no limit), `budgets` the largest number of faults
    of each kind. Once a violation is found, the `objectives` are minimized one after another. Without
    objectives the first violation found stays.
    """

    properties: tuple[str, ...]
    bound: int | None = None
    rounds: int | None = None
    budgets: tuple[tuple[Tally, int], ...] = ()
    objectives: tuple[Tally, ...] = ()
    avoid: tuple[Footprint, ...] = ()
    """Footprints of counterexamples already found.

    An execution is left out if it fires exactly the slots of one of them and all of its choices are true.
    Further true choices would only add losses that the counterexample does not need.
    """
    upheld_before: bool = False
    """Whether `hunt` looks only for violations before which the property holds in every state.

    It needs the outputs `early:NAME`.
    """
    assumed: tuple[str, ...] = ()
    """Names of proved invariants, which `hunt` assumes after each round: outputs `invariant:NAME`."""
    glance: int = 0
    """The most conflicts that `hunt` spends after each round on the question whether any execution is longer.

    0: it does not ask, as with assumed invariants.
    """
    searched: int = 0
    """The number of rounds that another search has covered: `hunt` asks about longer executions."""
    known: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """The costs of violations that were found already, by property. `hunt` looks for cheaper ones."""


SearchMessage = Violated | Clean | Witnessed | Wrong | Complete | Longer | Surpassed | Progress


def hunt(solver: RoundSolver, task: Task) -> Iterator[SearchMessage]:
    """Yield violations and witnesses found in 1, 2, 3 … rounds."""
    hunter = _Hunter(solver, task)
    missing = list(task.properties)
    while task.rounds is None or solver.rounds < task.rounds:
        solver.deepen()
        solver.add([[hunter.output(f"invariant:{name}")] for name in task.assumed])
        hunter.avoid()
        yield solver.progress()
        if solver.rounds <= task.searched:
            continue
        if solver.solve([*hunter.limits(), hunter.output("wrong")]):
            yield Wrong(hunter.execution())
            return
        for name in list(missing):
            if solver.solve([*hunter.limits(), hunter.output(f"witness:{name}")]):
                yield Witnessed(name, hunter.execution())
                missing.remove(name)
        for name in task.properties:
            yield from hunter.search(name)
        if task.glance and not task.assumed and hunter.is_covered(task.glance):
            yield Complete(solver.rounds - 1, task.bound)
            return


def executed(solver: RoundSolver) -> Execution:
    """Return the execution of the last model."""
    unrolling, rounds, model = solver.unrolling, solver.rounds, solver.model()
    return Execution(
        rounds,
        tuple(fired(unrolling, rounds, model)),
        tuple(true_choices(unrolling, model)),
        tuple(beginning(unrolling, model)),
    )


def counters(
    solver: RoundSolver, budgets: Sequence[tuple[Tally, int]], steps: int | None = None
) -> list[Counter]:
    """Return a counter for each budget, and one of all steps if these are bounded; see `within`."""
    found = [solver.counter(tally.slots, tally.choices, most) for tally, most in budgets]
    if steps is not None:
        found.append(solver.counter(range(len(solver.unrolling.template.fires)), (), steps))
    return found


def within(limits: Sequence[Counter]) -> list[int]:
    """Return assumptions that keep each counter within its limit."""
    return [literal for counter in limits for literal in counter.at_most(counter.most)]


class _Hunter:
    """The state of a hunt: the counters in use, and the least cost found for each property."""

    def __init__(self, solver: RoundSolver, task: Task) -> None:
        self._solver, self._task = solver, task
        self._limits = counters(solver, task.budgets, task.bound)
        self._least: dict[str, tuple[int, ...]] = dict(task.known) if task.objectives else {}
        self._counters: dict[int, Counter] = {}
        self._known = {name for name, _ in task.known}
        self._avoiding: list[int] = []

    def output(self, name: str) -> int:
        """Return the variable of an output after the last round."""
        return self._solver.unrolling.output(name, self._solver.rounds)

    def limits(self) -> list[int]:
        """Return the assumptions for the bound on steps and the budgets."""
        return within(self._limits)

    def is_covered(self, conflicts: int) -> bool:
        """Return whether so many conflicts show that no execution fires something in the last round."""
        return self._solver.refuted([*self.limits(), self._solver.fires_last()], conflicts)

    def avoid(self) -> None:
        """Leave out the footprints to avoid, in the rounds so far."""
        self._avoiding = [self._differs_from(footprint) for footprint in self._task.avoid]

    def _differs_from(self, footprint: Footprint) -> int:
        """Return a literal that implies: other slots fire so far, or a choice of the footprint is false."""
        unrolling, rounds = self._solver.unrolling, self._solver.rounds
        others = [s for s in range(len(unrolling.template.fires)) if s not in footprint.slots]
        guard = unrolling.fresh()
        never = []
        for slot in sorted(footprint.slots):
            absent = unrolling.fresh()
            never.append(absent)
            self._solver.add([[-absent, -unrolling.fire(slot, r)] for r in range(1, rounds + 1)])
        some = [unrolling.fire(s, r) for s in others for r in range(1, rounds + 1)]
        false_choices = [-unrolling.choice(c) for c in sorted(footprint.choices)]
        self._solver.add([[-guard, *never, *some, *false_choices]])
        return guard

    def execution(self) -> Execution:
        """Return the execution of the last model."""
        return executed(self._solver)

    def search(self, name: str) -> Iterator[SearchMessage]:
        """Yield violations after the last round, each cheaper than the one before, then `Clean`.

        Without objectives nothing is said of a property once a violation of it is found.
        """
        while name not in self._known or self._task.objectives:
            violation = self._cheaper(name)
            if violation is None:
                yield Clean(name, self._solver.rounds, self._least.get(name))
                return
            yield violation
            self._known.add(name)
            self._least[name] = violation.costs

    def _cheaper(self, name: str) -> Violated | None:
        for assumptions in self._improvements(name):
            fails = -self.output(f"holds:{name}")
            if self._solver.solve(
                [*self.limits(), *self._avoiding, *self._upheld_before(name), fails, *assumptions]
            ):
                execution = self.execution()
                return Violated(name, execution, self._costs(execution))
        return None

    def _upheld_before(self, name: str) -> list[int]:
        """Return the assumptions that the property holds in every state before the last one, if asked for."""
        if not self._task.upheld_before:
            return []
        unrolling, rounds = self._solver.unrolling, self._solver.rounds
        holds = [unrolling.output(f"holds:{name}", r) for r in range(1, rounds)]
        return [*holds, -self.output(f"early:{name}")]

    def _improvements(self, name: str) -> Iterator[list[int]]:
        """Yield, objective by objective, assumptions under which a violation has a smaller cost."""
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
        """Return a counter of that objective that distinguishes costs up to `cost`."""
        counter = self._counters.get(objective)
        if counter is None or counter.most < cost:
            tally = self._task.objectives[objective]
            counter = self._counters[objective] = self._solver.counter(tally.slots, tally.choices, cost)
        return counter

    def _costs(self, execution: Execution) -> tuple[int, ...]:
        true = set(execution.choices)
        return tuple(
            sum(slot in t.slots for slot in execution.slots) + len(true & set(t.choices))
            for t in self._task.objectives
        )


def exhaust(solver: RoundSolver, task: Task, steps: int | None) -> Iterator[SearchMessage]:
    """Yield whether executions need more than 0, 1, 2 … rounds, until none does.

    `steps` bounds the steps of these executions (None: no bound).
    """
    limits = counters(solver, task.budgets, steps)
    while task.rounds is None or solver.rounds <= task.rounds:
        solver.deepen()
        yield solver.progress()
        if not solver.solve([*within(limits), solver.fires_last()]):
            yield Complete(solver.rounds - 1, steps)
            return
        yield Longer(solver.rounds - 1, steps)


def surpass(solver: RoundSolver, task: Task, bound: int) -> Iterator[SearchMessage]:
    """Yield whether some execution takes more than `bound` steps."""
    from pysat.card import CardEnc, EncType

    limits = counters(solver, task.budgets)
    while True:
        solver.deepen()
        unrolling = solver.unrolling
        fires = [f for r in range(1, solver.rounds + 1) for f in unrolling.fires(r)]
        if len(fires) > bound:
            guard = unrolling.fresh()
            enough = CardEnc.atleast(fires, bound + 1, top_id=unrolling.top, encoding=EncType.seqcounter)
            unrolling.reserve(max(enough.nv, unrolling.top))
            solver.add([[-guard, *clause] for clause in enough.clauses])
            if solver.solve([*within(limits), guard]):
                yield Surpassed(True)
                return
        if not solver.solve([*within(limits), solver.fires_last()]):
            yield Surpassed(False)
            return
