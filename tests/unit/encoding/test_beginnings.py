"""Several initial states: every engine against exploring, and each place that took one for granted.

A mistake is planted in each of these places: only the first initial state is looked at.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from fencepost.encoding.check import check
from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.compiler import Concrete, State
from fencepost.encoding.concrete.exploration import explore
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.saved_traces import check_saved
from fencepost.encoding.concrete.simulation import simulate
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.enumeration import process, visits
from fencepost.encoding.enumeration.count import count_states
from fencepost.encoding.errors import ModelError
from fencepost.encoding.evidence.aiger import CircuitBuilder
from fencepost.encoding.evidence.queries import Encoded, Kind, Query
from fencepost.encoding.evidence.smtlib import smtlib
from fencepost.encoding.formulas.commutation import Commutation
from fencepost.encoding.formulas.commutation_cache import Cache
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.ic3 import symmetry
from fencepost.encoding.ic3.frames import Frames
from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.canonical import digest
from fencepost.encoding.language.fold import folded
from fencepost.encoding.language.initial_values import Initial, InitialAt, anything, one_of
from fencepost.encoding.language.patterns import families_read
from fencepost.encoding.language.quantifiers import at_least, exists, forall
from fencepost.encoding.language.sorts import BOOL, Value, integers, labels
from fencepost.encoding.language.state import StateSpace, Variable, choice, family, variable
from fencepost.encoding.language.system import NO_INITIAL_STATE, Property, System
from fencepost.encoding.language.terms import TRUE, Family, Parameter, Term, all_of
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.rounds.reachability import Origin, Reachability
from fencepost.encoding.solving.logic import FALSE, Formula
from support.aiger import Beside
from support.bare import Bare
from support.varied import Truth, by_ic3, by_rounds, explored, generate, inductive

SUBJECT = Subject("begins", {}, {})


class Nodes(StateSpace):
    """Nodes of which some are up and one leads; no action changes the leader."""

    def __init__(self, up: InitialAt = anything, leader: Initial = anything) -> None:
        self.node = labels("node", "n", 3)
        self.leader = variable(self.node, initial=leader)
        self.up = family(BOOL, self.node, initial=up)
        self.acted = family(BOOL, self.node)
        self.number = variable(integers(0, 2), initial=one_of(2, 1))
        self.lost = choice(fault="lost")


def act(s: Nodes, node: Parameter) -> Action:
    """Act once, as a leader that is up; then be down."""
    leads = s.leader == node
    then = [s.acted[node].set(True), s.up[node].set(False)]
    return Action(s.up[node] & leads & ~s.acted[node], then, node)


def nodes(
    holds: Callable[[Nodes], Term], beginning: Callable[[Nodes], Term] | None = None, **initial: Any
) -> System:
    """Return the system of the nodes with one property."""
    s = Nodes(**initial)
    acted = exists(s.node, lambda n: s.acted[n])
    prop = Property("p", "", holds(s), acted, "a node has acted")
    return System(s, (each(act, s, s.node),), (prop,), beginning=None if beginning is None else beginning(s))


def third_never_acts(s: Nodes) -> Term:
    return ~s.acted["n3"]


def two_are_up(s: Nodes) -> Term:
    return at_least(2, s.node, lambda n: s.up[n])


def verdict(system: System, *engines: str) -> Verdict:
    limits = Limits(jobs=1, engines=engines)
    (result,) = check(Bare(system, SUBJECT), system.properties, limits).results
    return result.verdict


ENGINES = ("enumeration", "rounds", "ic3")


# The initial states.


def all_beginnings(system: System) -> set[State]:
    """Return the initial states, by trying every combination of values."""
    concrete = Concrete(system)
    holds = concrete.predicate(TRUE if system.beginning is None else system.beginning)
    positions = [tuple(map(v.domain.values.index, system.firsts[v.place])) for v in system.varied]
    states = (concrete.initial(None, codes) for codes in itertools.product(*positions))
    return {state for state in states if holds(state)}


@pytest.mark.parametrize("seeds", [range(60), pytest.param(range(60, 400), marks=pytest.mark.slow)])
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
        verdict(nodes(third_never_acts, lambda s: s.up["n1"] & ~s.up["n1"]), *engines)


def test_simulations_refuse_it() -> None:
    system = nodes(third_never_acts, lambda s: s.up["n1"] & ~s.up["n1"])
    with pytest.raises(ModelError, match="holds in no state"):
        simulate(system, SUBJECT, system.properties, 1, seed=1)


def test_a_condition_that_reads_a_choice_is_refused() -> None:
    with pytest.raises(ModelError, match="beginning= reads lost, a choice; a beginning may read only state"):
        nodes(third_never_acts, lambda s: s.up["n1"] & ~s.lost)


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
    rounds = by_rounds(system)
    if rounds.badly_defined is not truth.badly_defined or (
        not truth.badly_defined
        and (rounds.false.keys(), rounds.witnessed) != (truth.false.keys(), truth.witnessed)
    ):
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
        *_, last = process.enumerate_states(system, system.properties, {})
    except ModelError:
        return not truth.badly_defined
    except NotAnExecution:
        return True
    if truth.badly_defined:
        return "p" not in truth.false
    if "p" in truth.false:
        return getattr(last, "property", None) != "p" and not hasattr(last, "states")
    return getattr(last, "states", 0) != sum(1 for _ in explore(system))


SEEDS = [
    pytest.param(range(25), id="25 seeds"),
    pytest.param(range(25, 300), id="300 seeds", marks=pytest.mark.slow),
    pytest.param(range(300, 4000), id="4000 seeds", marks=pytest.mark.long),
]


@pytest.mark.parametrize("seeds", SEEDS)
def test_every_engine_finds_what_exploring_finds(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "PLAIN", 1)
    found = {seed: engines_differ(system, truth) for seed, system, truth in accepted(seeds)}
    assert {seed: engines for seed, engines in found.items() if engines} == {}
    assert len(found) > len(seeds) // 3


@pytest.mark.parametrize(
    "seeds",
    [pytest.param(range(12), id="12"), pytest.param(range(12, 120), id="120", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_verdicts_are_those_of_exploring(seeds: range, engine: str) -> None:
    for seed, system, truth in accepted(seeds):
        if not truth.badly_defined:
            wanted = Verdict.VIOLATED if "p" in truth.false else Verdict.PROVED
            wanted = wanted if truth.witnessed or "p" in truth.false else Verdict.VACUOUS
            assert verdict(system, engine) is wanted, seed
