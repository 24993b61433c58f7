"""Every engine and solver has the same answers on tiny systems that are right, and on those with a mistake.

An engine that finds everything right, or everything wrong, fails here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fencepost.encoding.check import check
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.simulation import simulate
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.verdicts import Basis, Fewest, Result, Verdict
from fencepost.encoding.evidence.queries import Encoded, Kind, Query
from fencepost.encoding.language.protocol import load
from fencepost.encoding.language.system import System
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.solving.answers import Yes, answered
from fencepost.encoding.solving.solvers import SOLVERS, backend
from support.bare import Bare
from support.exploration import explore
from support.generated import compare

EXAMPLES = Path(__file__).parents[3] / "examples"


class Case(NamedTuple):
    """An instance of an example, whose first property holds or is violated in so many steps."""

    example: str
    settings: Mapping[str, str]
    steps: int | None
    rounds: int
    """The rounds in which it is violated, or in which every execution fits.

    If there are always longer executions, the property holds in so many rounds.
    """

    most: int | None = None
    """The most rounds to search, if executions do not end and the example has no number."""

    @property
    def name(self) -> str:
        return f"{self.example}-{'holds' if self.steps is None else 'violated'}"

    def system(self) -> System:
        protocol = load(EXAMPLES / f"{self.example}.py")
        return protocol.system(protocol.parameters(self.settings.items()))

    def limits(self, solver: str, jobs: int) -> Limits:
        return Limits(jobs=jobs, solver=solver, rounds=self.most or self.system().default_rounds)


CASES = [
    Case("lease_lock", {"storage": "checks"}, None, 2),
    Case("lease_lock", {"storage": "trusts"}, 7, 3),
    Case("lock_server", {"nodes": "2", "server": "forgets"}, 6, 2, most=4),
    Case("one_owner", {"release": "closed"}, None, 4),
    Case("one_owner", {"release": "at-once"}, 5, 2),
    Case("ricart_agrawala", {"nodes": "2", "consent": "mutual"}, 6, 2, most=4),
    Case("two_copies", {"fence": "yes"}, None, 1),
    Case("two_copies", {"fence": "no"}, 7, 2),
    Case("two_phase_commit", {"votes": "all"}, None, 1),
    Case("two_phase_commit", {"votes": "majority"}, 7, 1),
    Case("two_voices", {"standby": "asks"}, None, 1),
    Case("two_voices", {"standby": "aborts"}, 4, 1),
]

SUBJECT = Subject("tiny", {}, {})

Engine = Callable[[Case, str], int | None]
"""A function from a case and a solver's name to the fewest steps of a violation; None if there is none."""


def checking(case: Case, limits: Limits) -> int | None:
    system = case.system()
    (result,) = check(Bare(system, SUBJECT), system.properties[:1], limits).results
    assert result.verdict in (Verdict.VIOLATED, Verdict.PROVED)
    if result.verdict is Verdict.VIOLATED:
        least = case.steps if limits.rounds is None else min(case.steps or 0, limits.rounds + 1)
        assert result.shortest_at_least == least
        assert result.fewest == (Fewest.OF_ALL if least == case.steps else Fewest.WITHIN_ROUNDS)
    return result.steps


def rounds(case: Case, solver: str) -> int | None:
    """Run one search after the other."""
    return checking(case, case.limits(solver, jobs=1))


def two_jobs(case: Case, solver: str) -> int | None:
    """Search for violations and for longer executions side by side."""
    return checking(case, case.limits(solver, jobs=2))


def query(case: Case, solver: str) -> int | None:
    """Ask the clauses that `fencepost export` writes, of all rounds at once."""
    system = case.system()
    asked = Query(Kind.PROPERTY, case.rounds, system.properties[0].name)
    found = backend(solver)
    found.add(Encoded(system, [], {}).clauses(asked).clauses)
    answer = answered(found.ask([], 1_000_000), solver)
    return case.steps if isinstance(answer, Yes) else None


def explored(case: Case, solver: str) -> int | None:
    """Explore every state, breadth first, on plain values."""
    system = case.system()
    holds = Concrete(system).predicate(system.properties[0].holds)
    return next((visit.steps for visit in explore(system) if not holds(visit.state)), None)


def simulated(case: Case, solver: str) -> int | None:
    """Run random simulations: their violations are real, but need not be the shortest."""
    system = case.system()
    traces = simulate(system, SUBJECT, system.properties[:1], count=100, seed=1, longest=100).traces
    lengths = [len(trace.steps) for trace in traces.values()]
    assert all(case.steps is not None and length >= case.steps for length in lengths)
    return case.steps if lengths else None


BY_SOLVER: tuple[Engine, ...] = (rounds, query)
ALONE: tuple[Engine, ...] = (explored, simulated, two_jobs)
"""Engines that ask no solver, or whose test is about the processes around it."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize(
    ("engine", "solver"),
    [
        *(pytest.param(e, s, id=f"{e.__name__}-{s}") for e in BY_SOLVER for s in SOLVERS),
        *(pytest.param(e, "cadical", id=e.__name__) for e in ALONE),
    ],
)
def test_every_engine_says_the_same(engine: Engine, solver: str, case: Case) -> None:
    assert engine(case, solver) == case.steps


# examples/lock_server.py and examples/ricart_agrawala.py have executions that do not end: no number of rounds
# proves them.


@pytest.mark.parametrize("example", ["lock_server", "ricart_agrawala"])
@pytest.mark.parametrize("nodes", ["2", "3"])
def test_the_public_benchmarks_hold(example: str, nodes: str) -> None:
    """Rounds say so up to a bound; every state that is reachable says so at these sizes."""
    case = Case(example, {"nodes": nodes}, None, 4)
    system = case.system()
    assert not system.invariants, "they are the measure of what is found without invariants"
    limits = Limits(jobs=1, rounds=4, engines=("rounds",))
    (result,) = check(Bare(system, SUBJECT), system.properties, limits).results
    assert (result.verdict, result.witness) == (Verdict.HOLDS, True)
    assert explored(case, "none") is None


@pytest.mark.parametrize("example", ["lock_server", "ricart_agrawala"])
@pytest.mark.parametrize("nodes", ["3", pytest.param("5", marks=pytest.mark.slow), "7"])
def test_the_public_benchmarks_are_proved_with_clauses_that_are_found(example: str, nodes: str) -> None:
    system = Case(example, {"nodes": nodes}, None, 4).system()
    (result,) = check(Bare(system, SUBJECT), system.properties, Limits(engines=("ic3",))).results
    assert (result.verdict, result.basis, bool(result.found)) == (Verdict.PROVED, Basis.INDUCTION, True)


# examples/two_phase_commit.py has as many states as in Stateright, which pins these numbers in
# examples/2pc.rs.


@pytest.mark.parametrize(("participants", "states"), [(3, 288), (5, 8_832)])
def test_two_phase_commit_has_as_many_states_as_in_stateright(participants: int, states: int) -> None:
    protocol = load(EXAMPLES / "two_phase_commit.py")
    system = protocol.system(protocol.parameters([("participants", str(participants))]))
    assert sum(1 for _ in explore(system)) == states
    if participants == 3:
        assert compare(system).agree, "what the rounds reach is what exploring reaches"


def test_both_of_its_properties_are_proved_and_their_witnesses_are_reached() -> None:
    """These are Stateright's `sometimes`: all commit, all abort."""
    system = load(EXAMPLES / "two_phase_commit.py").system(
        load(EXAMPLES / "two_phase_commit.py").parameters([])
    )
    results = check(Bare(system, SUBJECT), system.properties, Limits(jobs=1)).results
    assert [(r.property, r.verdict, r.witness) for r in results] == [
        ("consistent", Verdict.PROVED, True),
        ("abort-is-final", Verdict.PROVED, True),
    ]


def said_by_ic3(**limits: Any) -> Result:
    """Return the result of two_copies, where an entry is lost, from IC3 alone."""
    protocol = load(EXAMPLES / "two_copies.py")
    instance = protocol.instance([("acknowledge", "reachable")])
    asked = Limits(jobs=1, engines=("ic3",), minimize=Minimize.NONE, **limits)
    return check(instance, instance.properties(), asked).results[0]


def test_a_path_with_too_many_faults_is_the_reason() -> None:
    """Planted: the reason is `not inductive`, which nobody asked."""
    result = said_by_ic3(budgets={"lost": 0})
    assert result.verdict is Verdict.UNDECIDED
    assert result.reason == (
        "no other engine was asked; the path that ic3 found has faults lost=1, more than are allowed"
    )


def test_one_counterexample_of_many_says_which_engine_finds_others() -> None:
    result = said_by_ic3(count=3)
    assert result.verdict is Verdict.VIOLATED
    assert result.reason == "others are found by the engine rounds, which was not asked"
    assert said_by_ic3().reason is None
