"""A state constraint: a state outside is reached and checked, and not left, by every reading."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fencepost.encoding.check import check
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.errors import ModelError
from fencepost.encoding.language import (
    Action,
    Invariant,
    Parameter,
    Property,
    StateSpace,
    System,
    Term,
    at,
    choice,
    each,
    family,
    in_turn,
    integers,
    leads_to,
    sequences,
    variable,
)
from fencepost.encoding.language.canonical import digest
from fencepost.encoding.language.fold import folded
from fencepost.encoding.language.printer import line
from support.against_exploring import ic3_differs, proves_what_is_false, rounds_differ
from support.bare import Bare
from support.commands import said
from support.exploration import explore
from support.generated import by_seeds, compare, generate
from support.varied import explored

MOST = 3


class Counters(StateSpace):
    """Two counters, and a log that stays empty."""

    def __init__(self) -> None:
        self.node = integers(1, 2)
        self.count = family(integers(0, MOST), self.node)
        self.log = variable(sequences(self.node, most=1))
        self.lost = choice(self.node, fault="lost")


def grow(s: Counters, node: Parameter) -> Action:
    """Count, without a bound of its own."""
    return Action(then=[s.count[node].set(s.count[node] + 1)])


def counting(
    constraint: Callable[[Counters], Term] | None = lambda s: s.count[1] + s.count[2] < MOST,
    least: int = MOST,
) -> System:
    """Return the system of the counters; the property is that they stay below a sum."""
    s = Counters()
    total = s.count[1] + s.count[2]
    claim = Property("small", "the sum is small", total <= least, s.count[1] == 1, "it counts")
    limit = None if constraint is None else constraint(s)
    bound = Invariant("bounded", "the sum is bounded", total <= MOST)
    return System(s, (each(grow, s, s.node),), (claim,), invariants=(bound,), constraint=limit)


def states(system: System) -> set[tuple[int, ...]]:
    """Return the values of the counters in the reachable states."""
    return {tuple(visit.state[:2]) for visit in explore(system)}


def test_a_state_outside_is_reached_and_not_left() -> None:
    inside = [(a, b) for a in range(MOST) for b in range(MOST) if a + b < MOST]
    beyond = [pair for a, b in inside for pair in ((a + 1, b), (a, b + 1))]
    assert states(counting()) == {*inside, *beyond}
    assert compare(counting()).agree
    with pytest.raises(ModelError, match=r"sets count\[1\] to 4"):
        states(counting(None))


@pytest.mark.parametrize("engine", ["enumeration", "rounds", "induction", "ic3"])
@pytest.mark.parametrize("least", [MOST, MOST - 1])
def test_each_engine_checks_a_state_outside_and_does_not_leave_it(engine: str, least: int) -> None:
    if engine == "induction" and least < MOST:
        pytest.skip("induction finds no counterexample")
    engines = ("rounds", "induction") if engine == "induction" else (engine,)
    asked = Bare(counting(least=least))
    (result,) = check(asked, asked.system.properties, Limits(jobs=1, engines=engines)).results
    expected = (Verdict.PROVED, None) if least == MOST else (Verdict.VIOLATED, MOST)
    assert (result.verdict, result.steps) == expected


@by_seeds(6, 40)
def test_readings_agree_on_generated_systems_under_a_constraint(seeds: range) -> None:
    cut = 0
    for seed in seeds:
        plain = generate(seed)
        s: Any = plain.state
        limit = ~(s.flag[1] & s.flag[2]) & (s.number[1] < 2)
        bounded = System(s, plain.actions, plain.properties, constraint=limit)
        assert compare(bounded).agree, seed
        assert by_definition(plain, limit) == {visit.state for visit in explore(bounded)}, seed
        truth = explored(bounded)
        assert truth is not None
        assert not rounds_differ(bounded, truth), seed
        assert not ic3_differs(bounded, truth), seed
        assert not proves_what_is_false(bounded, truth), seed
        cut += len(list(explore(plain))) > len(list(explore(bounded)))
    assert cut >= len(seeds) // 3, "too few systems have a state that only a state outside leads to"


def by_definition(system: System, limit: Term) -> set[State]:
    """Return the states that TLC checks: the successors of those inside, and the first ones."""
    concrete = Concrete(system)
    inside = concrete.predicate(limit)
    ahead = [visit.state for visit in explore(system) if visit.steps == 0]
    seen = set(ahead)
    while ahead:
        state = ahead.pop()
        after = (a for step in concrete.steps for a in step.successors(state)) if inside(state) else ()
        for one in after:
            if one not in seen:
                seen.add(one)
                ahead.append(one)
    return seen


def test_the_constraint_is_kept_by_folding_and_stands_once_in_each_guard() -> None:
    system = counting()
    assert folded(system).within == system.within == "count[1] + count[2] < 3"
    assert states(folded(system)) == states(system)
    (once,), (again,) = folded(system).schemas, folded(folded(system)).schemas
    assert line(once.action.when) == line(again.action.when) == system.within


def test_an_action_of_a_group_stays_within_too() -> None:
    s = Counters()
    limit = (s.count[1] < 1) & (s.count[2] < 2)
    claim = Property("p", "", s.count[1] < MOST, s.count[1] == 1, "it counts")
    system = System(s, (in_turn("node", each(grow, s, s.node)),), (claim,), constraint=limit)
    assert states(system) == {(0, 0), (0, 1), (1, 0), (1, 1), (0, 2)}


def test_a_system_without_a_constraint_keeps_its_digest_and_one_with_it_has_another() -> None:
    assert digest(counting(None)) != digest(counting())
    assert digest(counting(lambda s: s.count[1] < MOST)) != digest(counting())


def test_a_constraint_that_is_not_defined_in_a_state_is_false_there() -> None:
    assert states(counting(lambda s: at(s.log, 1) == 1)) == {(0, 0)}


@pytest.mark.parametrize(
    ("constraint", "says"),
    [
        (lambda s: s.count[1] + 1, "constraint= is a term of type int; compare it with something"),
        (lambda s: True, "constraint= is True; write a term over the state"),
        (lambda s: ~s.lost[1], "constraint= reads lost, which is a choice; it may read only state variables"),
    ],
)
def test_a_constraint_that_is_no_condition_on_states_is_refused(
    constraint: Callable[[Counters], Any], says: str
) -> None:
    with pytest.raises(ModelError) as refused:
        counting(constraint)
    assert says in str(refused.value)


def test_liveness_under_a_constraint_is_refused() -> None:
    s = Counters()
    goal = leads_to("grows", "it grows", s.count[1] == 0, s.count[1] == MOST)
    with pytest.raises(ModelError, match="constraint= ends executions, so nothing needs to come about"):
        System(s, (each(grow, s, s.node),), (goal,), constraint=s.count[1] < MOST)


FILE = """
from dataclasses import dataclass
from fencepost.encoding.language import *

@dataclass(frozen=True)
class Parameters:
    most: int = parameter(2, "the number that is left last")

class State(StateSpace):
    def __init__(self, p):
        self.count = variable(integers(0, p.most + 1))

def grow(s):
    "Count."
    return Action(then=[s.count.set(s.count + 1)])

def build(p):
    s = State(p)
    small = Property("small", "it is small", s.count <= p.most, s.count == 1, "it counts")
    return System(s, (each(grow, s),), (small,), {"counts": 3}, constraint=s.count <= p.most)

PROTOCOL = Protocol("counter", "a counter", Parameters(), build)
"""


def test_every_output_names_the_constraint_and_the_nameless_actor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "counter.py"
    file.write_text(FILE)
    code, text, _ = said(capsys, "check", file)
    assert code == 1
    assert "every verdict is for this instance; at most: counts 3; constraint: count <= 2\n" in text
    assert "small: violated in 3 steps" in text and "  3  system grow" in text
    _, text, _ = said(capsys, "check", file, "--format", "json")
    assert json.loads(text)["caps"] == {"counts": 3, "constraint": "count <= 2"}
    _, text, _ = said(capsys, "check", file, "--format", "html")
    assert "constraint" in text and "count &lt;= 2" in text
    _, text, _ = said(capsys, "check", file, "--engine", "states")
    assert "constraint: count <= 2" in text and "4 states" in text


def test_a_constraint_that_guards_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(System, "_stay_within", lambda self, constraint: None)  # planted
    with pytest.raises(ModelError, match=r"sets count\[1\] to 4"):
        states(counting())
