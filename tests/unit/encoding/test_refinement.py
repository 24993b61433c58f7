"""Refinement on toys: both readings accept the right refinement, and both find each planted mistake."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from fencepost.encoding.all_sizes.follower import Follower, Strays
from fencepost.encoding.all_sizes.refinement import ByValue, CoreStep, Refinement, Some
from fencepost.encoding.all_sizes.refinement_check import Tied, Untied, check_refinement
from fencepost.encoding.all_sizes.refinement_formulas import RefinementFormulas
from fencepost.encoding.check import check
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.quantifiers import exists, forall
from fencepost.encoding.language.sorts import BOOL, integers, labels, subsets_of_size
from fencepost.encoding.language.state import StateSpace, family, variable
from fencepost.encoding.language.step_properties import refines
from fencepost.encoding.language.system import Axiom, Invariant, Property, System
from fencepost.encoding.language.terms import FALSE, TRUE, Parameter, Term, all_of, any_of, lift
from fencepost.encoding.solving.answers import Deadline, No, SolverGaveUpError, Yes, answered
from fencepost.encoding.solving.logic import conj, disj
from support.bare import Bare
from support.exploration import explore

MOST = 2


class Tank(StateSpace):
    """The whole: the pumps that have run, of three, and their number."""

    def __init__(self) -> None:
        self.pump = labels("pump", "p", 3)
        self.ran = family(BOOL, self.pump)
        self.full = variable(BOOL)


def run_pump(s: Tank, pump: Parameter) -> Action:
    """Run a pump, once; when two have run the tank is full."""
    other = exists(s.pump, lambda p: (p != pump) & s.ran[p])
    then = [s.ran[pump].set(True), s.full.set(True, when=other)]
    return Action(when=~s.ran[pump], then=then, actor=pump)


class Count(StateSpace):
    """The core: whether pumps ran, and the pair that filled the tank."""

    def __init__(self) -> None:
        self.pump = labels("pump", "p", 3)
        self.pair = pair = subsets_of_size("pair", self.pump, 2)
        self.member = family(BOOL, self.pump, self.pair, initial=lambda p, q: p in pair.parts[q])
        self.ran = family(BOOL, self.pump)
        self.amount = variable(integers(0, MOST))


def turn_on(s: Count, pump: Parameter) -> Action:
    """Run a pump."""
    return Action(when=TRUE, then=[s.ran[pump].set(True)], actor=pump)


def fill(s: Count, pair: Parameter) -> Action:
    """Fill the tank after two pumps have run."""
    both = all_of(*(~s.member[p, pair] | s.ran[p] for p in s.pump))
    return Action(when=both & (s.amount == 0), then=[s.amount.set(MOST)], actor="tank")


def claim(name: str, holds: Term) -> Property:
    return Property(name, "the tank is never full", holds, witness=TRUE, witness_meaning="always")


def pieces() -> tuple[Tank, dict[str, Any]]:
    """Return the parts of a correct refinement, for tests that change one of them."""
    s = Tank()
    return s, pieces_of(s)


def pieces_of(s: Tank) -> dict[str, Any]:
    """Return the parts of the refinement of that tank."""
    c = Count()

    def fills(pump: str) -> list[CoreStep]:
        pair = Some(lambda pair: all_of(*(s.ran[p] for p in s.pump if p in c.pair.parts[pair])))
        return [
            CoreStep("turn on", (lift(pump),)),
            CoreStep("fill", (pair,), when=~s.full, leaving=lift(s.full == TRUE)),
        ]

    return {
        "whole": System(s, (each(run_pump, s, s.pump),), properties=(claim("never-full", ~s.full),)),
        "core": System(
            c, (each(turn_on, c, c.pump), each(fill, c, c.pair)), properties=(claim("empty", c.amount == 0),)
        ),
        "mapping": {
            "ran": lambda p: s.ran[p],
            "amount": ByValue(lambda v: s.full if v == MOST else ~s.full if v == 0 else FALSE),
        },
        "scripts": {"run pump": fills},
        "invariants": (),
        "implied": {"never-full": "empty"},
    }


def strays(refinement: Refinement) -> list[str]:
    """Return the solver's list of ways in which the core may fail to follow, the mapping's own first."""
    refining = RefinementFormulas(refinement)
    states = refining.whole.states()

    def can(formula: Any) -> bool:
        return isinstance(answered(states.ask(formula), "z3"), Yes)

    found = [name for name, formula in refining.not_a_function().items() if can(formula)]
    for straying in refining.strayings():
        for name, formula in straying.ways.items():
            if can(conj((straying.happens, formula))):
                found.append(name)
    return found


def strays_on_executions(refinement: Refinement) -> str | None:
    """Follow every step from every reachable state; return the first mistake."""
    follower = Follower(refinement)
    try:
        for visit in explore(refinement.whole):
            if visit.parent is None:
                follower.begin(visit.state)
            for step in follower.whole.steps:
                for after in step.successors(visit.state):
                    follower.follow(visit.state, step.action, after)
    except Strays as why:
        return str(why)
    return None


def test_what_follows_is_accepted_by_both_readings() -> None:
    _, right = pieces()
    assert strays(Refinement(**right)) == []
    assert strays_on_executions(Refinement(**right)) is None
    assert check_refinement(Refinement(**right), Deadline(600)) == Tied(actions=3, invariants=0)


def test_refines_does_not_allow_two_steps_of_the_core_for_one_action() -> None:
    """The second pump both turns on and fills the tank. With a script that is a refinement."""
    s, right = pieces()
    core = replace(right["core"], properties=())
    claim = refines("is-a-count", "", core, {**pieces_mapping(s), **everywhere_mapped(s, core)})
    whole = replace(right["whole"], properties=(claim,))
    (found,) = check(Bare(whole), whole.properties, Limits(jobs=1, minimize=Minimize.STEPS)).results
    assert (found.verdict, found.steps) == (Verdict.VIOLATED, 2)
    assert check_refinement(Refinement(**right), Deadline(600)) == Tied(actions=3, invariants=0)


def everywhere_mapped(s: Tank, core: System) -> dict[str, Any]:
    """Return the mapping for `refines`, which wants terms, and one for a variable that never changes."""
    c = core.state
    assert isinstance(c, Count)

    def member(pump: Parameter, pair: Parameter) -> Term:
        return any_of(*((pump == p) & (pair == q) for q, of in c.pair.parts.items() for p in of))

    return {"amount": if_(s.full, MOST, 0), "member": member}


def nothing(pump: str) -> list[CoreStep]:
    return []


def too_early(s: Tank) -> Callable[..., list[CoreStep]]:
    def script(pump: str) -> list[CoreStep]:
        return [
            CoreStep("fill", ("{p1, p2}",), when=~s.full, leaving=lift(s.full == TRUE)),
            CoreStep("turn on", (lift(pump),)),
        ]

    return script


def some_pair_that_is_none(s: Tank) -> Callable[..., list[CoreStep]]:
    def script(pump: str) -> list[CoreStep]:
        none = Some(lambda pair: FALSE)
        return [
            CoreStep("turn on", (lift(pump),)),
            CoreStep("fill", (none,), when=~s.full, leaving=lift(s.full == TRUE)),
        ]

    return script


SPOILED: Mapping[str, tuple[Callable[[Tank], dict[str, Any]], str, str]] = {
    "no steps": (lambda s: {"scripts": {"run pump": nothing}}, "ran[p1] ends as mapped", "by the mapping"),
    "steps in the wrong order": (
        lambda s: {"scripts": {"run pump": too_early(s)}},
        "step 1, fill",
        "cannot take fill({p1, p2})",
    ),
    "no such argument": (
        lambda s: {"scripts": {"run pump": some_pair_that_is_none(s)}},
        "step 2, fill",
        "no argument of fill",
    ),
    "a mapping that forgets": (
        lambda s: {"mapping": {**pieces_mapping(s), "ran": lambda p: False}},
        "ran[p1] ends as mapped",
        "by the mapping",
    ),
    "a step that the core lacks": (
        lambda s: {"scripts": {"run pump": a_pump_that_the_core_lacks(s)}},
        "step 1, turn on",
        "the core has no turn on(p4)",
    ),
    "the last action is not followed": (
        lambda s: {"scripts": {"run pump": only_the_last_does_nothing(s)}},
        "ran[p3] ends as mapped",
        "ran[p3] is no in the core and yes by the mapping",
    ),
    "a mapping that gives several values": (
        lambda s: {"mapping": {**pieces_mapping(s), "amount": ByValue(several)}},
        "amount has one value",
        "amount is mapped to 0, 2, not to one value",
    ),
    "a mapping that gives no value": (
        lambda s: {"mapping": {**pieces_mapping(s), "amount": ByValue(lambda v: s.full if v else FALSE)}},
        "amount has one value",
        "amount is mapped to none",
    ),
}


def a_pump_that_the_core_lacks(s: Tank) -> Callable[..., list[CoreStep]]:
    def script(pump: str) -> list[CoreStep]:
        return [CoreStep("turn on", ("p4",)), *pieces_of(s)["scripts"]["run pump"](pump)]

    return script


def only_the_last_does_nothing(s: Tank) -> Callable[..., list[CoreStep]]:
    def script(pump: str) -> list[CoreStep]:
        fills: list[CoreStep] = pieces_of(s)["scripts"]["run pump"](pump)
        return [] if pump == "p3" else fills

    return script


def several(value: object) -> Term:
    """Return a mapping that gives 0 and the largest value at once."""
    return lift(value in (0, MOST))


def pieces_mapping(s: Tank) -> dict[str, Any]:
    return {
        "ran": lambda p: s.ran[p],
        "amount": ByValue(lambda v: s.full if v == MOST else ~s.full if v == 0 else FALSE),
    }


@pytest.mark.parametrize("mistake", SPOILED)
def test_each_planted_mistake_is_found_by_both_readings(mistake: str) -> None:
    s, right = pieces()
    spoil, by_solver, by_following = SPOILED[mistake]
    wrong = Refinement(**{**right, **spoil(s)})
    assert by_solver in strays(wrong)
    found = strays_on_executions(wrong)
    assert found is not None and by_following in found
    settled = check_refinement(wrong, Deadline(600))
    assert isinstance(settled, Untied) and by_following in settled.why


BEGINNINGS: Mapping[str, tuple[Callable[[Tank], dict[str, Any]], str]] = {
    "the core begins elsewhere": (
        lambda s: {"mapping": {**pieces_mapping(s), "ran": lambda p: ~s.ran[p]}},
        "initial state: ran[p1] is yes in the core and no by the mapping",
    ),
    "an invariant is false in the initial state": (
        lambda s: {"invariants": (Invariant("runs", "a pump has run", exists(s.pump, lambda p: s.ran[p])),)},
        "initial state: violates runs, which the refinement assumes",
    ),
}


@pytest.mark.parametrize("mistake", BEGINNINGS)
def test_the_beginning_is_asked_about(mistake: str) -> None:
    # Planted: the core's first state is not compared, or the invariants are asked of actions alone.
    s, right = pieces()
    spoil, why = BEGINNINGS[mistake]
    assert check_refinement(Refinement(**{**right, **spoil(s)}), Deadline(600)) == Untied(why)


def test_axioms_of_the_core_must_be_true_of_its_instance() -> None:
    # Planted: a theorem about cores in which each pair has all pumps, for a core in which it has two.
    _, right = pieces()
    c = right["core"].state
    axiom = Axiom("all-in-each", "", forall(c.pump, lambda p: forall(c.pair, lambda pair: c.member[p, pair])))
    core = replace(right["core"], axioms=(axiom,))
    settled = check_refinement(Refinement(**{**right, "core": core}), Deadline(600))
    assert settled == Untied("the core's instance does not meet all-in-each")


def fill_beyond(s: Count, pair: Parameter) -> Action:
    """Fill the tank with more than the core's instance can express."""
    return Action(when=s.amount == 0, then=[s.amount.set(s.amount + MOST + 1)], actor="tank")


def test_a_step_of_the_core_that_is_badly_defined_is_none() -> None:
    # Planted: a core whose instance is too small, and reads the missing value as the first one.
    s, right = pieces()
    c = right["core"].state
    core = System(c, (each(turn_on, c, c.pump), replace(each(fill_beyond, c, c.pair), name="fill")))
    stays = {**pieces_mapping(s), "amount": ByValue(lambda v: TRUE if v == 0 else FALSE)}
    found = strays(Refinement(**{**right, "core": core, "mapping": stays, "implied": {}}))
    assert "step 2, fill" in found


def test_a_mapping_of_everything_to_the_start_implies_nothing() -> None:
    """No step strays if nothing ever happens in the core.

    But then a property of the core implies nothing about the whole.
    """
    _, right = pieces()
    still = {
        "ran": lambda p: False,
        "amount": ByValue(lambda v: TRUE if v == 0 else FALSE),
    }
    lazy = Refinement(**{**right, "mapping": still, "scripts": {"run pump": nothing}})
    assert strays(lazy) == []
    assert check_refinement(lazy, Deadline(600)) == Untied(
        "never-full: false in a state of the whole in which the core's property holds by the mapping"
    )


def test_what_is_left_out_is_an_error_of_the_model() -> None:
    _, right = pieces()
    with pytest.raises(ModelError, match="no script gives the steps"):
        strays(Refinement(**{**right, "scripts": {}}))
    with pytest.raises(ModelError, match="is not mapped; add amount"):
        strays(Refinement(**{**right, "mapping": {"ran": right["mapping"]["ran"]}}))
    with pytest.raises(ModelError, match="the core has no such action"):
        strays(Refinement(**{**right, "scripts": {"run pump": lambda p: [CoreStep("dance")]}}))


def test_an_invariant_that_no_step_may_break_is_broken() -> None:
    s, right = pieces()
    invariant = Invariant("first-never-runs", "the first pump never runs", ~s.ran["p1"])
    settled = check_refinement(Refinement(**{**right, "invariants": (invariant,)}), Deadline(600))
    assert settled == Untied("run pump(p1): violates first-never-runs, which the refinement assumes")


def test_out_of_time_is_no_answer() -> None:
    with pytest.raises(SolverGaveUpError):
        check_refinement(Refinement(**pieces()[1]), Deadline(0))


def test_a_disjunction_of_all_ways_is_what_is_asked() -> None:
    _, right = pieces()
    refining = RefinementFormulas(Refinement(**right))
    for straying in refining.strayings():
        question = conj((straying.happens, disj(straying.ways.values())))
        assert refining.whole.states().ask(question) == No()


def test_only_the_property_that_does_not_follow_is_named() -> None:
    """One of two properties of the whole follows from the core's. It is not named."""
    s, right = pieces()
    never_early = replace(claim("never-early", ~s.full), holds=TRUE)
    whole = replace(right["whole"], properties=(*right["whole"].properties, never_early))
    still = {"ran": lambda p: False, "amount": ByValue(lambda v: TRUE if v == 0 else FALSE)}
    lazy = {"mapping": still, "scripts": {"run pump": nothing}, "whole": whole}
    both = Refinement(**{**right, **lazy, "implied": {"never-early": "empty", "never-full": "empty"}})
    settled = check_refinement(both, Deadline(600))
    assert isinstance(settled, Untied) and settled.why.startswith("never-full: false in a state")


def test_a_property_that_this_core_lacks_is_not_asked_about() -> None:
    """A core in which copies may vanish has no property about copies.

    The other properties are compared all the same.
    """
    _, right = pieces()
    refinement = Refinement(**{**right, "implied": {"never-full": "readable"}})
    assert RefinementFormulas(refinement).unimplied() == {}
