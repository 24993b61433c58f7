"""A check of one property carries the others: its proof may rest on them, though nobody asks about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from fencepost.encoding.check import check
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.messages import FoundPath
from fencepost.encoding.engine.verdicts import Basis, Result, Verdict
from fencepost.encoding.engine.work import Work
from fencepost.encoding.ic3 import finder
from fencepost.encoding.ic3.finder import FoundClauses, find
from fencepost.encoding.language import (
    Action,
    Invariant,
    Property,
    StateSpace,
    System,
    Term,
    each,
    integers,
    variable,
)
from fencepost.encoding.solving.solvers import Progress
from support.bare import Bare


class Clocks(StateSpace):
    """Two clocks: the second one follows the first."""

    def __init__(self, most: int) -> None:
        self.hours = integers(0, most)
        self.one, self.other = variable(self.hours), variable(self.hours)


def tick(s: Clocks) -> Action:
    """Move the first clock on, if the second one has followed."""
    return Action((s.one == s.other) & (s.one < s.hours.values[-1]), [s.one.set(s.one + 1)], "one")


def follow(s: Clocks) -> Action:
    """Move the second clock on."""
    return Action(s.one != s.other, [s.other.set(s.other + 1)], "other")


def begin_again(s: Clocks) -> Action:
    """Set both clocks back."""
    most = s.hours.values[-1]
    return Action((s.one == most) & (s.other == most), [s.one.set(0), s.other.set(0)], "one")


def never_far(s: Clocks) -> Term:
    """Return a claim that needs a lemma: induction over one action alone does not prove it."""
    return ~((s.other == s.hours.values[-1]) & (s.one == 1))


def close(s: Clocks) -> Term:
    """Return the lemma."""
    return (s.one == s.other) | (s.one == s.other + 1)


def never_late(s: Clocks) -> Term:
    """Return a claim that is false: the first clock moves on."""
    return s.one != 2


def clocks(lemma: Callable[[Clocks], Term] = close, most: int = 12, declared: bool = False) -> System:
    s = Clocks(most)
    moved = s.other == 1
    properties = (
        Property("never-far", "", never_far(s), moved, "moved"),
        Property("lemma", "", lemma(s), moved, "moved"),
    )
    invariants = (Invariant("in-range", "", s.one <= most),) if declared else ()
    actions = (each(tick, s), each(follow, s), each(begin_again, s))
    return System(s, actions, properties, invariants=invariants)


def alone(system: System, *engines: str, conflicts: int | None = None) -> Result:
    """Check the first property only."""
    limits = Limits(jobs=1, engines=engines, conflicts=conflicts)
    (result,) = check(Bare(system), system.properties[:1], limits).results
    return result


@pytest.mark.parametrize("declared", [False, True])
def test_a_property_is_proved_with_another_one_that_is_not_asked_about(declared: bool) -> None:
    engines = ("induction",) if declared else ("induction", "ic3")
    result = alone(clocks(declared=declared), *engines)
    assert (result.verdict, result.basis, result.found) == (Verdict.PROVED, Basis.INDUCTION, ())
    assert "lemma" in result.invariants


def test_without_the_lemma_the_same_check_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = Work.__init__

    def forgets(self: Work, *given: object) -> None:
        begin(self, *given)  # type: ignore[arg-type]
        self.lemmas = ()

    monkeypatch.setattr(Work, "__init__", forgets)
    assert alone(clocks(declared=True), "induction").verdict is Verdict.UNDECIDED


def test_a_lemma_that_is_false_proves_nothing_and_is_not_reported() -> None:
    result = alone(clocks(never_late), "induction", "ic3")
    assert (result.property, result.verdict, result.invariants) == ("never-far", Verdict.PROVED, ())
    assert result.found


def test_lemmas_are_not_carried_where_declared_invariants_do() -> None:
    system = clocks(declared=True)
    needed = Invariant("near", "", system.properties[1].holds)
    result = alone(replace(system, invariants=(needed,)), "induction")
    assert (result.verdict, result.invariants) == (Verdict.PROVED, ("near",))


def said(system: System) -> list[FoundPath | FoundClauses]:
    """Return what IC3 says of the first property, with the second one as a lemma."""
    first, lemma = system.properties
    return [m for m in find(system, [first], lemmas=[lemma]) if not isinstance(m, Progress)]


def test_a_hard_claim_is_searched_for_together_with_the_lemmas(monkeypatch: pytest.MonkeyPatch) -> None:
    (easy,) = said(clocks())
    assert isinstance(easy, FoundClauses) and easy.properties == ("never-far",)
    monkeypatch.setattr(finder, "LEAD", 0)
    asked: list[list[str]] = []
    search_for = finder.search_for

    def noted(symbolic: object, claims: list[Property], *rest: object) -> object:
        asked.append([claim.name for claim in claims])
        return search_for(symbolic, claims, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(finder, "search_for", noted)
    (found,) = said(clocks())
    assert isinstance(found, FoundClauses) and "never-far" in found.properties
    assert asked == [["never-far"], ["never-far", "lemma"]]


def test_a_path_to_a_state_without_the_lemma_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finder, "LEAD", 0)
    (found,) = said(clocks(never_late))
    assert isinstance(found, FoundClauses) and found.properties == ("never-far",)


def test_the_judge_takes_clauses_for_the_lemmas_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finder, "LEAD", 0)
    result = alone(clocks(), "ic3")
    assert (result.property, result.verdict) == ("never-far", Verdict.PROVED)
