"""Texts whose reading is smaller than their meaning, and was proved: `check` must refuse them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import IntEnum
from typing import Any

import pytest

from fencepost.encoding.check import check
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.errors import ModelError
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.language.actions import Action, Schema, each, in_turn
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.messages import Broadcast, Message, message, to_each
from fencepost.encoding.language.quantifiers import exists, forall
from fencepost.encoding.language.sorts import BOOL, Sort, integers, labels, members
from fencepost.encoding.language.state import StateSpace, choice, definition, family, variable
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.language.terms import TRUE, Parameter, Read, Term, TermLike, children, lift
from fencepost.encoding.language.traces import Subject
from support.bare import Bare

Handler = Callable[["Row", Parameter], Action]


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
    """Pass a cell and mark the next one; the last cell has none."""
    then = [s.passed[cell].set(True), s.marked[cell + 1].set(True)]
    return Action(when=~s.passed[cell], then=then, actor="me")


def mark_within(s: Row, cell: Parameter) -> Action:
    """Pass a cell and mark the next one if there is one."""
    some_next = exists(s.cell, lambda c: c == cell + 1)
    then = [s.passed[cell].set(True), s.marked[cell + 1].set(True, when=some_next)]
    return Action(when=~s.passed[cell], then=then, actor="me")


def verdict(s: Row, holds: Term, *actions: Schema) -> str:
    """Return the verdict on a property whose witness is easy to reach."""
    system = System(s, actions, (Property("p", "", holds, s.passed[1], "the first cell is passed"),))
    return (
        check(Bare(system, Subject("row", {}, {})), system.properties, Limits(jobs=1))
        .results[0]
        .verdict.value
    )


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
    with pytest.raises(ModelError, match="is a choice"):
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


# Names that stand for two things.


def test_two_sorts_of_one_name_are_refused() -> None:
    # Labels of both sorts were once numbered together, and half of the actions were never asked about.

    def claim(kind: Sort) -> Invariant:
        return Invariant("all", "", exists(kind, lambda c: c == kind.values[0]))

    s = Row()
    racks = [Sort("rack", values, part_of="bookie") for values in (("b1",), ("b2",))]
    apart = [labels("client", "w", 2), labels("client", "r", 2)]
    for one, other in (racks, apart):
        both = (claim(one), replace(claim(other), name="others"))
        with pytest.raises(ModelError, match=f"sort {one.name}: two different sorts have that name"):
            System(s, (each(step, s, s.cell),), invariants=both)
        System(s, (each(step, s, s.cell),), invariants=(claim(one), replace(claim(one), name="again")))


def test_two_variables_that_are_shown_alike_are_refused() -> None:
    """Choices are looked up by the names that traces show."""

    class Twins(StateSpace):
        def __init__(self) -> None:
            self.left = Sort("left", ("a, b", "a"))
            self.right = Sort("right", ("c", "b, c"))
            self.lost = choice(self.left, self.right, fault="lost")

    with pytest.raises(ModelError, match=r"lost\[a, b, c\]: two state variables have that name"):
        _ = System(Twins(), ()).variables


def test_two_actions_that_are_shown_alike_are_refused() -> None:
    s = Row()
    with pytest.raises(ModelError, match=r"step\(1\): two actions have that name"):
        _ = System(s, (each(step, s, s.cell), each(step, s, s.cell))).ground_actions


# Indices outside their sorts.


def read_next(s: Row, cell: Parameter) -> Action:
    """Pass a cell if the next one is not marked; the last cell has none."""
    return Action(when=~s.marked[cell + 1], then=[s.passed[cell].set(True)], actor="me")


def test_an_index_outside_its_sort_is_refused_with_the_action_and_the_term() -> None:
    s = Row()
    outside = r"read next reads marked\[cell \+ 1\], and cell \+ 1 may be 3: not in 1..2, which is \(1, 2\)"
    with pytest.raises(ModelError, match=outside):
        System(s, (each(read_next, s, s.cell),))
    beyond = Invariant("beyond", "", forall(s.cell, lambda c: ~s.marked[c - 1]))
    with pytest.raises(ModelError, match=r"beyond reads marked.* may be 0: not in 1\.\.2"):
        System(s, (each(step, s, s.cell),), invariants=(beyond,))


# One loss stands for one sending: a refusal names the way out that fits, of three.


def sends(s: Row, cell: Parameter, variable: Read, value: TermLike, lost: Read) -> Action:
    """Send a token while a variable is not true, and set that variable."""
    return Action(
        when=~variable, then=[variable.set(value)], actor="me", sent=[message("token", "me", cell, lost=lost)]
    )


def first_sender(s: Row, cell: Parameter) -> Action:
    """Send a cell's token, and mark it passed."""
    return sends(s, cell, s.passed[cell], True, s.lost[cell])


def second_sender(s: Row, cell: Parameter) -> Action:
    """Send the same token, and mark something else."""
    return sends(s, cell, s.marked[cell], True, s.lost[cell])


def sharing_sender(s: Row, cell: Parameter) -> Action:
    """Send the same token under the same variable, with a value that is true in both cases."""
    return sends(s, cell, s.passed[cell], if_(s.marked[cell], True, True), s.lost[cell])


def wavering_sender(s: Row, cell: Parameter) -> Action:
    """Send a token, and sometimes leave the variable as it was."""
    return sends(s, cell, s.passed[cell], if_(s.marked[cell], True, False), s.lost[cell])


def sender_of_one_loss(s: Row, cell: Parameter) -> Action:
    """Send the token of each cell with the loss of the first."""
    return sends(s, cell, s.passed[cell], True, s.lost[1])


def sender_to_each(s: Row, cell: Parameter) -> Action:
    """Send one token to each cell, all with the loss of the sender."""
    return all_sent(s, cell, to_each(s.cell, lambda c: message("token", cell, c, lost=s.lost[cell])))


def sender_of_two(s: Row, cell: Parameter) -> Action:
    """Send a token and a copy of it, both with one loss."""
    return all_sent(s, cell, *(message(kind, "me", cell, lost=s.lost[cell]) for kind in ("token", "copy")))


def sender_without_a_loss(s: Row, cell: Parameter) -> Action:
    """Send a token again and again, without a loss."""
    return Action(when=s.passed[cell], then=[], actor="me", sent=[message("token", "me", cell)])


def receiver(s: Row, cell: Parameter) -> Action:
    """Receive a token that is not lost."""
    got = message("token", "me", cell)
    return Action(when=~s.lost[cell], then=[s.marked[cell].set(True)], actor="you", received=got)


def all_sent(s: Row, cell: Parameter, *sent: Message | Broadcast) -> Action:
    """Send all these messages once."""
    return Action(when=~s.passed[cell], then=[s.passed[cell].set(True)], actor="me", sent=sent)


def forget(s: Row, cell: Parameter) -> Action:
    """Forget that a cell has been passed."""
    return Action(when=s.passed[cell], then=[s.passed[cell].set(False)], actor="me")


@pytest.mark.parametrize(
    ("handlers", "refusal"),
    [
        (
            [first_sender, second_sender],
            "first sender and second sender send token with one loss, lost, and no state variable",
        ),
        (
            [first_sender, forget],
            "token more than once with one loss, lost: forget may set passed back to no",
        ),
        (
            [wavering_sender],
            "token more than once with one loss, lost: wavering sender may set passed back to no",
        ),
        ([sender_of_one_loss], r"one loss, lost: passed\[cell\] allows it once for each of its indices"),
        ([sender_to_each], r"sends token to each 1..2 with one loss, lost\[cell\]: give the loss an index"),
        ([sender_of_two], "sender of two may send token and copy with one loss, lost"),
        (
            [sender_without_a_loss, receiver],
            "without a loss, and messages of that kind can be lost .lost, which recei",
        ),
        (
            [sender_without_a_loss, first_sender],
            "without a loss, and messages of that kind can be lost .lost, which first",
        ),
    ],
    ids=[
        "two variables",
        "undone",
        "perhaps not set",
        "one loss for all",
        "one loss for each receiver",
        "one loss for two messages",
        "not named, and read by the receiver",
        "not named, and named by another sender",
    ],
)
def test_a_loss_that_stands_for_two_sendings_is_refused(handlers: list[Handler], refusal: str) -> None:
    s = Row()
    with pytest.raises(ModelError, match=refusal):
        sent_at_most_once(System(s, tuple(each(handler, s, s.cell) for handler in handlers)))


def sender_to_either(s: Row, cell: Parameter) -> Action:
    """Send a token with the loss of its cell, or another one with the same loss."""
    other = s.marked[cell]
    sent = [message("token", "me", cell, lost=s.lost[cell], when=way) for way in (other, ~other)]
    return all_sent(s, cell, *sent)


def test_messages_of_one_action_may_share_a_loss_if_only_one_of_them_is_sent() -> None:
    s = Row()
    sent_at_most_once(System(s, (each(sender_to_either, s, s.cell),)))


def test_two_senders_may_share_a_loss_with_the_variable_that_says_one_has_sent() -> None:
    s = Row()
    sent_at_most_once(System(s, (each(first_sender, s, s.cell), each(sharing_sender, s, s.cell))))


# Whatever an action reads of a loss counts, and no sending may forget the loss.


def hear(s: Row, cell: Parameter) -> Action:
    """Pass a cell unless its token is lost, which the guard reads."""
    return Action(when=~s.lost[cell], then=[s.passed[cell].set(True)], actor="me")


def note_loss(s: Row, cell: Parameter) -> Action:
    """Read the loss in the condition of an update."""
    return Action(when=TRUE, then=[s.marked[cell].set(True, when=~s.lost[cell])], actor="me")


def keep_loss(s: Row, cell: Parameter) -> Action:
    """Read the loss as the value of an update."""
    return Action(when=TRUE, then=[s.marked[cell].set(s.lost[cell])], actor="me")


def tell_loss(s: Row, cell: Parameter) -> Action:
    """Read the loss in the content of a message."""
    sent = [message("report", "me", "you", says={"lost": s.lost[cell]})]
    return Action(when=TRUE, then=[s.marked[cell].set(True)], actor="me", sent=sent)


def answer_unless_lost(s: Row, cell: Parameter) -> Action:
    """Read the loss in the condition of a sending."""
    sent = [message("report", "me", "you", when=~s.lost[cell])]
    return Action(when=TRUE, then=[s.marked[cell].set(True)], actor="me", sent=sent)


def forgetful(s: Row, cell: Parameter) -> Action:
    """Send the token as often as one likes, without its loss."""
    return Action(when=TRUE, then=[], actor="me", sent=[message("token", "me", cell)])


READERS = [hear, note_loss, keep_loss, tell_loss, answer_unless_lost]


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_a_loss_that_no_sending_names_is_refused(reader: Callable[[Row, Parameter], Action]) -> None:
    s = Row()
    with pytest.raises(ModelError, match=r"reads lost\[cell\], and no sending names this loss"):
        sent_at_most_once(System(s, (each(forgetful, s, s.cell), each(reader, s, s.cell))))
    sent_at_most_once(System(s, (each(first_sender, s, s.cell), each(reader, s, s.cell))))


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_a_receiver_that_reads_a_loss_anywhere_makes_its_kind_one_that_can_be_lost(
    reader: Callable[[Row, Parameter], Action],
) -> None:
    s = Row()

    def receive(s: Row, cell: Parameter) -> Action:
        return replace(reader(s, cell), received=message("token", "me", cell))

    with pytest.raises(ModelError, match="forgetful sends token without a loss"):
        sent_at_most_once(System(s, (each(forgetful, s, s.cell), each(receive, s, s.cell))))


# Definitions, and values that Python calls equal.


class Lamps(StateSpace):
    """Definitions without names of their own, and one with an argument."""

    def __init__(self) -> None:
        self.lamp = integers(0, 1)
        self.on = family(BOOL, self.lamp)
        self.flag = variable(BOOL)

    some: Any = definition(lambda self: exists(self.lamp, lambda n: self.on[n]))
    every: Any = definition(lambda self: forall(self.lamp, lambda n: self.on[n]))

    @definition
    def says(self, value: TermLike) -> Term:
        return lift(value) == value


def test_each_definition_has_terms_of_its_own() -> None:
    s = Lamps()
    assert s.every() is s.every()
    assert s.some() is not s.every()
    assert [children(s.says(value))[0].type for value in (1, True)] == ["int", "bool"]


class Level(IntEnum):
    """Members that Python calls equal to integers."""

    LOW = 1
    HIGH = 2


def test_a_member_of_an_int_enum_is_no_integer() -> None:
    class Dial(StateSpace):
        def __init__(self) -> None:
            self.level = variable(members(Level))

    s = Dial()
    assert (s.level == Level.LOW).type == "bool"
    for wrong in (lambda: s.level == 1, lambda: s.level < 2, lambda: s.level.set(1)):
        with pytest.raises(TypeError, match="is of type"):
            wrong()
    assert 1 not in members(Level)
    assert Sort("m", (0, 1)) != Sort("m", (False, True))
