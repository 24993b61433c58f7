"""A trap is accepted only if every action keeps it, in every state in which it holds, reachable or not."""

from __future__ import annotations

import pytest

from fencepost.encoding.check import check
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.errors import ModelError
from fencepost.encoding.formulas.traps import check_traps_of
from fencepost.encoding.language.actions import Action, Schema, each
from fencepost.encoding.language.sorts import BOOL, integers
from fencepost.encoding.language.state import StateSpace, family, variable
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import Parameter, Term
from fencepost.encoding.language.traces import Subject
from support.bare import Bare


class Lamps(StateSpace):
    """Two lamps that break for good, and a spare bulb that is ordered and never arrives."""

    def __init__(self) -> None:
        self.lamp = integers(1, 2)
        self.lit = family(BOOL, self.lamp)
        self.broken = family(BOOL, self.lamp)
        self.spare = variable(integers(0, 2))
        """The spare bulb: none, ordered, here."""


def turn_on(s: Lamps, lamp: Parameter) -> Action:
    """Turn on a lamp that is not broken."""
    return Action(when=~s.lit[lamp] & ~s.broken[lamp], then=[s.lit[lamp].set(True)], actor="me")


def turn_on_anyway(s: Lamps, lamp: Parameter) -> Action:
    """Turn on a lamp, even a broken one."""
    return Action(when=~s.lit[lamp], then=[s.lit[lamp].set(True)], actor="me")


def break_down(s: Lamps, lamp: Parameter) -> Action:
    """Break a lamp, which goes out."""
    then = [s.lit[lamp].set(False), s.broken[lamp].set(True)]
    return Action(when=~s.broken[lamp], then=then, actor=lamp)


def order_spare(s: Lamps) -> Action:
    """Order a bulb."""
    return Action(when=s.spare == 0, then=[s.spare.set(1)], actor="me")


def fit_spare(s: Lamps, lamp: Parameter) -> Action:
    """Fit the bulb once it is here."""
    return Action(when=s.spare == 2, then=[s.broken[lamp].set(False), s.spare.set(0)], actor="me")


def verdict(s: Lamps, trap: Term, *actions: Schema) -> str:
    """Return the verdict on a property that says that this trap is not reached."""
    prop = Property("light", "", ~trap, s.lit[1], "lamp 1 is lit", traps={"dark": trap})
    system = System(s, actions, (prop,), default_rounds=4)
    return (
        check(Bare(system, Subject("lamps", {}, {})), system.properties, Limits(jobs=1))
        .results[0]
        .verdict.value
    )


def dark(s: Lamps) -> Term:
    """Return the term that lamp 2 is broken and gives no light."""
    return s.broken[2] & ~s.lit[2]


def test_a_trap_that_lasts_is_looked_for() -> None:
    s = Lamps()
    assert verdict(s, dark(s), each(turn_on, s, s.lamp), each(break_down, s, s.lamp)) == "violated"


def test_a_trap_that_lasts_and_is_not_reached_is_proved_away() -> None:
    s = Lamps()
    actions = each(turn_on, s, s.lamp), each(break_down, s, s.lamp), each(order_spare, s)
    assert verdict(s, dark(s) & (s.spare == 2), *actions) == "proved"


def test_an_action_that_ends_a_trap_is_named() -> None:
    s = Lamps()
    says = r'^light: turn on anyway\(2\) may end the trap "dark"; a trap must last for ever, so add to it why'
    with pytest.raises(ModelError, match=says):
        verdict(s, dark(s), each(turn_on_anyway, s, s.lamp), each(break_down, s, s.lamp))


def test_a_trap_that_ends_only_where_nothing_leads_is_refused() -> None:
    """No spare ever arrives. A trap that says so explicitly is accepted."""
    s = Lamps()
    actions = each(break_down, s, s.lamp), each(order_spare, s), each(fit_spare, s, s.lamp)
    lit = each(turn_on, s, s.lamp)
    with pytest.raises(ModelError, match=r'fit spare\(2\) may end the trap "dark"'):
        verdict(s, dark(s), lit, *actions)
    assert verdict(s, dark(s) & (s.spare != 2), lit, *actions) == "violated"


def test_a_variable_has_one_value_in_every_state_asked_about() -> None:
    """If a spare were ordered and here at once, fitting it would end the trap."""
    s = Lamps()
    actions = each(turn_on, s, s.lamp), each(order_spare, s), each(fit_spare, s, s.lamp)
    assert verdict(s, s.spare == 1, *actions) == "violated"


def test_a_simulation_without_a_solver_can_ask_too() -> None:
    s = Lamps()
    prop = Property("light", "", ~dark(s), s.lit[1], "lamp 1 is lit", traps={"dark": dark(s)})
    system = System(s, (each(turn_on_anyway, s, s.lamp), each(break_down, s, s.lamp)), (prop,))
    with pytest.raises(ModelError, match=r'turn on anyway\(2\) may end the trap "dark"'):
        check_traps_of(system, system.properties)
