"""The searches of a bounded check, and the process that runs some of them in turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.formulas.templates import RoundTemplate
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.system import System
from fencepost.encoding.rounds.preparation import tally
from fencepost.encoding.rounds.round_solver import RoundSolver
from fencepost.encoding.rounds.search import SearchMessage, Tally, Task, exhaust, hunt, surpass
from fencepost.encoding.solving.solvers import Purse
from fencepost.encoding.solving.workers import in_turn, tell


class SearchKind(Enum):
    """The kinds of search. Progress is reported under the value."""

    HUNT = "hunt"
    """Search for violations and witnesses."""
    EXHAUST = "exhaust"
    """Search for executions that need more rounds."""
    SURPASS = "surpass"
    """Search for executions with more steps."""


@dataclass(frozen=True)
class Job:
    """A search with its number of steps.

    `EXHAUST` considers executions of at most so many steps, `SURPASS` looks for one with more.
    """

    search: SearchKind
    steps: int | None = None


Some = TypeVar("Some")


def jobs(limits: Limits) -> list[Job]:
    """Return the searches that a check needs."""
    found = [Job(SearchKind.HUNT), Job(SearchKind.EXHAUST, limits.bound)]
    if limits.bound is not None:
        found.append(Job(SearchKind.SURPASS, limits.bound))
    return found


def shared(jobs: Sequence[Some], processes: int) -> list[Sequence[Some]]:
    """Return the jobs of each process: one for each, and the rest for the last."""
    most = min(processes, len(jobs))
    return [*([job] for job in jobs[: most - 1]), jobs[most - 1 :]]


def task(system: System, slots: Sequence[GroundAction], properties: Sequence[str], limits: Limits) -> Task:
    """Return the task of the searches: the limits in terms of slots and choices."""
    budgets = tuple((tally(system, slots, [name]), most) for name, most in limits.budgets.items())
    return Task(tuple(properties), limits.bound, limits.rounds, budgets, _objectives(system, slots, limits))


def _objectives(system: System, slots: Sequence[GroundAction], limits: Limits) -> tuple[Tally, ...]:
    steps = Tally(tuple(range(len(slots))))
    kinds = (tally(system, slots, kind) for kind in limits.fault_kinds(system))
    return (*kinds, steps) if limits.minimizes else ()


def search(
    template: RoundTemplate, task: Task, limits: Limits, jobs: Sequence[Job]
) -> Iterator[SearchMessage]:
    """Run these searches in turn, each with a solver of its own. Progress of a question is told at once."""
    purse = Purse(limits.conflicts) if limits.conflicts is not None else None
    yield from in_turn(_search_task(template, task, limits, purse, job) for job in jobs)


def _search_task(
    template: RoundTemplate, task: Task, limits: Limits, purse: Purse | None, job: Job
) -> Iterator[SearchMessage]:
    session = RoundSolver(template, limits.solver, limits.seed, tell, job.search.value, purse)
    match job.search:
        case SearchKind.HUNT:
            yield from hunt(session, task)
        case SearchKind.EXHAUST:
            yield from exhaust(session, task, job.steps)
        case SearchKind.SURPASS:
            assert job.steps is not None
            yield from surpass(session, task, job.steps)
