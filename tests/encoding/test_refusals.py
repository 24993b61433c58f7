"""Texts that would be read as something smaller than they say, and proved: `check` must refuse them."""

from __future__ import annotations

import pytest

from fencepost.encoding.checking.limits import Limits
from fencepost.encoding.checking.running import check
from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.sorts import BOOL, integers
from fencepost.encoding.language.state import StateSpace, choice, family
from fencepost.encoding.language.system import Action, Invariant, Property, Schema, System, each, in_turn
from fencepost.encoding.language.terms import Parameter, Term
from fencepost.encoding.language.traces import Subject


class Row(StateSpace):
    """Two cells, each passed once, and a mark that is set beside the one passed."""

    def __init__(self) -> None:
        self.cell = integers(1, 2)
        self.passed = family(BOOL, self.cell)
        self.marked = family(BOOL, self.cell)
        self.lost = choice(self.cell, fault="lost")


def step(s: Row, cell: Parameter) -> Action:
    """Pass a cell."""
    return Action(when=~s.passed[cell], then=[s.passed[cell].set(True)], actor="me")


def mark_next(s: Row, cell: Parameter) -> Action:
    """Pass a cell and mark the next one: there is none after the last."""
    then = [s.passed[cell].set(True), s.marked[cell + 1].set(True)]
    return Action(when=~s.passed[cell], then=then, actor="me")


def mark_within(s: Row, cell: Parameter) -> Action:
    """The same, but only where there is a next one."""
    some_next = exists(s.cell, lambda c: c == cell + 1)
    then = [s.passed[cell].set(True), s.marked[cell + 1].set(True, when=some_next)]
    return Action(when=~s.passed[cell], then=then, actor="me")


def verdict(s: Row, holds: Term, *actions: Schema) -> str:
    """The verdict on a property with a witness that is easy to reach."""
    system = System(s, actions, (Property("p", "", holds, s.passed[1], "the first cell is passed"),))
    return check(system, Subject("row", {}, {}), system.properties, Limits(jobs=1)).results[0].verdict.value


def test_setting_a_variable_that_does_not_exist_is_refused() -> None:
    s = Row()
    with pytest.raises(ModelError, match="does not exist"):
        verdict(s, ~s.marked[1], each(mark_next, s, s.cell))


def test_a_condition_that_keeps_the_index_inside_is_enough() -> None:
    s = Row()
    assert verdict(s, ~s.marked[1], each(mark_within, s, s.cell)) == "proved"
    assert verdict(s, ~s.marked[2], each(mark_within, s, s.cell)) == "violated"


def test_a_property_that_reads_a_choice_is_refused_though_it_holds() -> None:
    s = Row()
    with pytest.raises(ModelError, match="a choice made up front"):
        verdict(s, s.lost[1] | ~s.lost[1], each(step, s, s.cell))


def test_actions_in_turn_by_a_name_that_none_has_are_not_dropped() -> None:
    s = Row()
    with pytest.raises(ModelError, match="in_turn cel: every action in it needs"):
        _ = System(s, (in_turn("cel", each(step, s, s.cell)),)).ground_actions


def test_a_property_and_an_invariant_of_one_name_are_not_taken_for_each_other() -> None:
    s = Row()
    prop = Property("p", "", s.passed[1], s.passed[1], "the first cell is passed")
    with pytest.raises(ModelError, match="p: two properties or invariants have that name"):
        System(s, (each(step, s, s.cell),), (prop,), invariants=(Invariant("p", "", ~s.passed[2]),))
