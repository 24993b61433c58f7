"""Commutation of badly defined steps."""

from __future__ import annotations

from fencepost.encoding.formulas.commutation import Commutation
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.sorts import BOOL, integers
from fencepost.encoding.language.state import StateSpace, family, variable
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import TRUE


class Marks(StateSpace):
    """A switch, and marks that an action may make twice."""

    def __init__(self) -> None:
        self.switch = variable(BOOL)
        self.mark = family(BOOL, integers(1, 2))


def turn(s: Marks) -> Action:
    """Turn the switch on."""
    return Action(when=TRUE, then=[s.switch.set(True)], actor="me")


def mark(s: Marks) -> Action:
    """Make the first mark, and again if the switch is on, which sets a variable twice."""
    again = s.mark[1].set(True, when=s.switch)
    return Action(when=s.switch | ~s.switch, then=[s.mark[1].set(True), again], actor="me")


def mark_once(s: Marks) -> Action:
    """Make the second mark, whether the switch is on or not."""
    return Action(when=s.switch | ~s.switch, then=[s.mark[2].set(True)], actor="me")


def may_move(system: System) -> dict[str, bool]:
    """Return for each action but the first whether it may move left past the first."""
    commutation = Commutation(Symbolic(system))
    blockers = commutation.blockers()
    return {action.name: 0 not in blockers[slot] for slot, action in enumerate(commutation.symbolic.actions)}


def test_a_step_that_is_badly_defined_in_one_order_only_does_not_move() -> None:
    """The state is the same in both orders. Planted: only the state is compared."""
    s = Marks()
    moving = may_move(System(s, (each(turn, s), each(mark, s))))
    assert not moving["mark"]


def test_questions_that_differ_in_badly_defined_steps_alone_have_two_answers() -> None:
    """Both actions make one mark, in the same formulas.

    Planted: a key without the formula of a badly defined step.
    """
    s = Marks()
    for handlers in ((turn, mark_once, mark), (turn, mark, mark_once)):
        moving = may_move(System(s, tuple(each(handler, s) for handler in handlers)))
        assert (moving["mark"], moving["mark once"]) == (False, True)
