"""Several initial states: every engine against exploring, and each place that took one for granted.

A mistake is planted in each of these places: only the first initial state is looked at.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.replay import NotAnExecution
from fencepost.encoding.concrete.simulation import simulate
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.messages import FoundPath, Visited
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.enumeration import process
from fencepost.encoding.errors import ModelError
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language.canonical import digest
from fencepost.encoding.language.declarations import anything, one_of
from fencepost.encoding.language.fold import folded
from fencepost.encoding.language.patterns import families_read
from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.sorts import BOOL, labels
from fencepost.encoding.language.state import StateSpace, family
from fencepost.encoding.language.system import NO_INITIAL_STATE, Property, System
from fencepost.encoding.language.terms import TRUE, all_of
from support.against_exploring import rounds_differ
from support.beginning import SUBJECT, nodes, result, third_never_acts, two_are_up
from support.exploration import explore
from support.generated import by_seeds
from support.varied import Truth, by_ic3, explored, generate, inductive

ENGINES = ("enumeration", "rounds", "ic3")


# The initial states.


def all_beginnings(system: System) -> set[State]:
    """Return the initial states, by trying every combination of values."""
    concrete = Concrete(system)
    holds = concrete.predicate(TRUE if system.beginning is None else system.beginning)
    positions = [tuple(map(v.domain.values.index, system.firsts[v.place])) for v in system.varied]
    states = (concrete.initial(None, codes) for codes in itertools.product(*positions))
    return {state for state in states if holds(state)}


@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(20, 400), marks=pytest.mark.slow)])
def test_the_initial_states_are_those_that_the_condition_allows(seeds: range) -> None:
    several = 0
    for seed in seeds:
        try:
            system = generate(seed, varied=True)
        except ModelError:
            continue
        wanted, chance = all_beginnings(system), random.Random(seed)
        beginnings = Beginnings(Concrete(system))
        if not wanted:
            for reading in (lambda: next(beginnings.states()), lambda: Symbolic(system)):  # noqa: B023
                with pytest.raises(ModelError, match="holds in no state"):
                    reading()
            continue
        found = list(beginnings.states())
        assert len(found) == len(set(found)) and set(found) == wanted
        assert {beginnings.draw(chance) for _ in range(9)} <= wanted
        several += len(wanted) > 1
    assert several > len(seeds) // 3


def test_each_initial_state_may_be_drawn() -> None:
    system, chance = nodes(third_never_acts, two_are_up), random.Random(1)
    beginnings = Beginnings(Concrete(system))
    assert {beginnings.draw(chance) for _ in range(500)} == set(beginnings.states())


def test_a_conjunct_is_evaluated_before_all_variables_have_a_value() -> None:
    """Twenty nodes have a million initial states, and the first conjuncts leave few of them."""

    class Many(StateSpace):
        def __init__(self) -> None:
            self.node = labels("node", "n", 20)
            self.up = family(BOOL, self.node, initial=anything)

    s = Many()
    one = exists(s.node, lambda n: s.up[n])
    alike = all_of(*(s.up["n1"] == s.up[n] for n in s.node.values))
    system = System(s, (), (Property("p", "", one, one, ""),), beginning=alike & one)
    (first,) = Beginnings(Concrete(system)).states()
    assert first == b"\1" * 20


# The language.


@pytest.mark.parametrize("engine", [Concrete, Symbolic])
def test_a_condition_that_no_state_satisfies_is_refused(engine: Callable[[System], Any]) -> None:
    """Otherwise everything would be proved."""
    system = nodes(third_never_acts, lambda s: s.acted["n1"] & two_are_up(s))
    with pytest.raises(ModelError) as refused:
        made = engine(system)
        next(Beginnings(made).states())
    assert str(refused.value) == NO_INITIAL_STATE


@pytest.mark.parametrize("engines", [(), *((engine,) for engine in ENGINES)])
def test_every_engine_refuses_it(engines: tuple[str, ...]) -> None:
    with pytest.raises(ModelError, match="holds in no state"):
        result(nodes(third_never_acts, lambda s: s.up["n1"] & ~s.up["n1"]), *engines)


def test_simulations_refuse_it() -> None:
    system = nodes(third_never_acts, lambda s: s.up["n1"] & ~s.up["n1"])
    with pytest.raises(ModelError, match="holds in no state"):
        simulate(system, SUBJECT, system.properties, 1, seed=1)


def test_a_condition_that_reads_a_choice_is_refused() -> None:
    with pytest.raises(ModelError, match="beginning= reads lost, which is a choice; it may read only state"):
        nodes(third_never_acts, lambda s: s.up["n1"] & ~s.lost)  # type: ignore[operator]


def test_an_initial_value_outside_the_domain_is_refused() -> None:
    with pytest.raises(ModelError, match="leader: initial value n4 is not in its domain node"):
        _ = nodes(third_never_acts, leader=one_of("n1", "n4")).firsts
    with pytest.raises(ModelError, match="one_of\\(\\) names no value"):
        one_of()


def test_one_initial_value_is_that_value() -> None:
    system = nodes(third_never_acts, leader=one_of("n2"), up=lambda n: one_of(n != "n2", True))
    assert [v.name for v in system.varied] == ["up[n2]", "number"]
    assert digest(nodes(third_never_acts, leader=one_of("n2"))) == digest(
        nodes(third_never_acts, leader="n2")
    )


def test_the_digest_tells_initial_states_apart() -> None:
    systems = [
        nodes(third_never_acts),
        nodes(third_never_acts, leader="n1"),
        nodes(third_never_acts, leader=one_of("n1", "n2")),
        nodes(third_never_acts, two_are_up),
    ]
    assert len(set(map(digest, systems))) == len(systems)


def test_a_variable_that_no_action_changes_is_a_constant_only_with_one_initial_value() -> None:
    free, fixed = nodes(third_never_acts), nodes(third_never_acts, leader="n2")
    assert "leader" in read_by(folded(free)) and "leader" not in read_by(folded(fixed))
    assert 0 in Symbolic(free).varying and 0 not in Symbolic(fixed).varying


def read_by(system: System) -> set[str]:
    """Return the names of the families that an action reads."""
    terms = [term for schema in system.schemas for term in schema.terms]
    return {family.name for family in families_read(*terms)}


# Engines, on generated systems.


def accepted(seeds: Iterable[int]) -> Iterator[tuple[int, System, Truth]]:
    """Yield the systems of these seeds that are accepted and can be explored, with the truth about them."""
    for seed in seeds:
        try:
            system = generate(seed, varied=True)
            sent_at_most_once(system)
            next(Beginnings(Concrete(system)).states())
        except ModelError:
            continue
        truth = explored(system)
        if truth is not None:
            yield seed, system, truth


def engines_differ(system: System, truth: Truth) -> set[str]:
    """Return the engines that contradict the truth."""
    found = set()
    by_actions = inductive(system).proved
    if (by_actions and truth.badly_defined) or by_actions & truth.false.keys():
        found.add("induction")
    if rounds_differ(system, truth):
        found.add("rounds")
    names = {p.name for p in system.properties} | {i.name for i in system.invariants}
    try:
        violated, proved, wrong = by_ic3(system)
        if truth.badly_defined or wrong:
            if not (truth.badly_defined and (wrong or violated == names)):
                found.add("ic3")
        elif (violated, proved) != (set(truth.false), names - truth.false.keys()):
            found.add("ic3")
    except NotAnExecution:
        found.add("ic3")
    return found | ({"enumeration"} if enumeration_differs(system, truth) else set())


def enumeration_differs(system: System, truth: Truth) -> bool:
    """Return whether the enumeration, with symmetry from the second state on, differs."""
    try:
        found = list(process.enumerate_states(system, system.properties, {}))
    except ModelError:
        return not truth.badly_defined
    violated = "p" in {message.property for message in found if isinstance(message, FoundPath)}
    states = [message.states for message in found if isinstance(message, Visited)]
    if truth.badly_defined:
        return not violated
    return violated is not ("p" in truth.false) or states not in ([], [sum(1 for _ in explore(system))])


SEEDS = [
    pytest.param((58, 62), id="few"),
    *(
        pytest.param(range(n, n + 15), id=f"{n} to {n + 14}", marks=pytest.mark.slow)
        for n in range(0, 150, 15)
    ),
    *(
        pytest.param(range(n, n + 190), id=f"{n} to {n + 189}", marks=pytest.mark.long)
        for n in range(150, 3000, 190)
    ),
]
"""Seeds of each tier; about half of their systems are accepted."""


@pytest.mark.parametrize("seeds", SEEDS)
def test_every_engine_finds_what_exploring_finds(
    seeds: Iterable[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "PLAIN", 1)
    found = {seed: engines_differ(system, truth) for seed, system, truth in accepted(seeds)}
    assert {seed: engines for seed, engines in found.items() if engines} == {}
    assert found


@by_seeds(1, 40)
@pytest.mark.parametrize("engine", ENGINES)
def test_verdicts_are_those_of_exploring(seeds: range, engine: str) -> None:
    for seed, system, truth in accepted(seeds):
        if not truth.badly_defined:
            reached = Verdict.PROVED if truth.witnessed else Verdict.VACUOUS
            wanted = Verdict.VIOLATED if "p" in truth.false else reached
            assert result(system, engine).verdict is wanted, seed
