"""A constant that its sort lacks is refused where it stands, with the value, the place and the valid ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language import (
    BOOL,
    Action,
    Property,
    Sort,
    StateSpace,
    System,
    at,
    channel,
    consistency,
    each,
    exists,
    family,
    if_,
    integers,
    is_in,
    is_one_of,
    is_prefix,
    labels,
    length,
    one_of,
    optional,
    overlap,
    records,
    sequence_of,
    sequences,
    set_of,
    sets,
    size,
    subsets,
    terms,
    those,
    variable,
)
from fencepost.encoding.language.terms import lift


class Net(StateSpace):
    """A variable of each composite, over labels and numbers."""

    def __init__(self) -> None:
        self.node = labels("node", "n", 3)
        self.number = integers(1, 3)
        self.writer = Sort("writer", ("n1", "n2"), part_of="node")
        self.on = family(BOOL, self.node)
        self.leader = variable(optional(self.node))
        self.owner = variable(self.writer)
        self.count = variable(self.number)
        self.asked = variable(subsets(self.node))
        self.numbers = variable(subsets(self.number))
        self.log = variable(sequences(self.node, most=2))
        self.entry = records(of=self.node, number=self.number)
        self.seen = variable(self.entry)
        self.entries = variable(sequences(self.entry, most=2))
        self.tell = channel("tell", "a", self.node, about={"number": self.number}, says={"of": self.node})
        self.loose = channel("loose", "a", self.node, sent=lambda n: is_one_of(n, ("n1", "n2")))


S = Net()
EXISTS = "n4 is not in node here (it exists when there are 4 of node); valid: n1, n2, n3"
SEVEN = "7 is not in 1..3; valid: 1, 2, 3"
WRONG: dict[str, tuple[Callable[[Net], object], str]] = {
    "set_of": (lambda s: s.asked.set(set_of(s.node, "n1", "n4")), f"set_of(node, …): {EXISTS}"),
    "set_of, a number": (lambda s: s.numbers.set(set_of(s.number, 1, 7)), f"set_of(1..3, …): {SEVEN}"),
    "set_of, a branch": (lambda s: s.asked.set(set_of(s.node, if_(s.on["n1"], "n4", s.owner))), EXISTS),
    "set_of, only counted": (lambda s: s.count.set(size(set_of(s.node, "n4"))), EXISTS),
    "set_of, nobody": (lambda s: s.asked.set(set_of(s.node, "none")), "none is not in node; valid"),
    "set_of, an overlap": (lambda s: s.count.set(1, when=overlap(set_of(s.node, "n4"), s.asked)), EXISTS),
    "those": (
        lambda s: s.asked.set(those(s.node, lambda n: is_one_of(n, ("n1", "n4")))),
        "n4 is not a value of node here (it exists when there are 4 of node); valid: n1, n2, n3",
    ),
    "those, a number": (
        lambda s: s.numbers.set(those(s.number, lambda i: i == 7)),
        "7 is not a value of 1..3; valid: 1, 2, 3",
    ),
    "those, nobody": (
        lambda s: s.asked.set(those(s.node, lambda n: n != "none")),
        "none is not a value of node",
    ),
    "is_in": (lambda s: s.count.set(1, when=is_in("n4", s.asked)), EXISTS),
    "is_one_of, two labels": (
        lambda s: s.on["n1"].set(True, when=is_one_of("n1", ("n1", "m4"))),
        "compares n1 == m4, and m4 is not a value of",
    ),
    "add": (lambda s: s.asked.add("n4"), EXISTS),
    "sequence_of": (lambda s: s.log.set(sequence_of(s.node, "n4")), f"sequence_of(node, …): {EXISTS}"),
    "sequence_of, its length": (lambda s: s.count.set(length(sequence_of(s.node, "n4"))), EXISTS),
    "sequence_of, a prefix": (
        lambda s: s.count.set(1, when=is_prefix(sequence_of(s.node, "n4"), s.log)),
        EXISTS,
    ),
    "append": (lambda s: s.log.append("n4"), f"log.set(…): {EXISTS}"),
    "an item": (lambda s: s.log[1].set("n4"), EXISTS),
    "an item that is compared": (
        lambda s: s.count.set(1, when=(length(s.log) > 0) & (at(s.log, 1) == "n4")),
        "n4 is not a value of",
    ),
    "a record": (lambda s: s.seen.set(s.entry(of="n4", number=1)), f"of: {EXISTS}"),
    "a record in a sequence": (lambda s: s.entries.append(s.entry(of="n1", number=7)), f"number: {SEVEN}"),
    "a field": (lambda s: s.seen.of.set("n4"), f"seen_of.set(…): {EXISTS}"),
    "an update": (lambda s: s.leader.set("n4"), "leader.set(…): n4 is not in node or none"),
    "an update, a number": (lambda s: s.count.set(7), f"count.set(…): {SEVEN}"),
    "an update, a branch": (lambda s: s.count.set(if_(s.on["n1"], 7, 1)), SEVEN),
    "an update of a part of a sort": (lambda s: s.owner.set("n3"), "owner.set(…): n3 is not in writer"),
    "an index": (lambda s: s.on["n4"].set(True), f"on: {EXISTS}"),
    "an index, a branch": (lambda s: s.on[if_(s.on["n1"], "n4", s.owner)].set(True), EXISTS),
    "a receiver": (lambda s: s.tell.send("n4", 1, of="n1"), f"tell: {EXISTS}"),
    "a number of a message": (lambda s: s.tell.send("n1", 7, of="n1"), f"tell: {SEVEN}"),
    "a field of a message": (lambda s: s.tell.send("n1", 1, of="n4"), f"tell_of.set(…): {EXISTS}"),
    "a message that nothing keeps": (lambda s: s.loose.send("n4"), f"loose: {EXISTS}"),
    "a quantifier": (
        lambda s: s.count.set(1, when=exists(s.node, lambda n: n == "n4")),
        "n4 is not a value of node",
    ),
    "initial=": (
        lambda s: _state(variable(s.node, initial="n4")),
        "given: initial value n4 is not in its domain node here (it exists when there are 4 of node); valid:",
    ),
    "initial=, one of several": (
        lambda s: _state(variable(s.number, initial=one_of(1, 7))),
        "given: initial value 7 is not in its domain 1..3; valid: 1, 2, 3",
    ),
    "initial= of a set": (lambda s: variable(subsets(s.node), initial={"n4"}), "'n4' is not in node here"),
    "initial= of a sequence": (
        lambda s: variable(sequences(s.node, most=2), initial=("n4",)),
        "'n4' is not in node here",
    ),
    "initial= of a record": (lambda s: variable(s.entry, initial={"number": 7}), f"number={SEVEN}"),
    "initial= of records": (
        lambda s: variable(sequences(s.entry, most=2), initial=({"of": "n1", "number": 7},)),
        f"number={SEVEN}",
    ),
}
RIGHT: dict[str, Callable[[Net], object]] = {
    "a label of another part of the sort": lambda s: s.count.set(1, when=s.owner == "n3"),
    "those with such a label": lambda s: s.count.set(size(those(s.writer, lambda w: w == "n3")) + 1),
    "nobody": lambda s: s.leader.set("none", when=s.leader == "n1"),
    "nobody in a branch": lambda s: s.leader.set(if_(s.on["n1"], "none", s.owner)),
    "two labels": lambda s: s.on["n1"].set(True, when=is_one_of("n1", ("n1", "n2"))),
}


def _state(given: Any) -> tuple[Any, ...]:
    class One(StateSpace):
        def __init__(self) -> None:
            self.given = given

    return System(One(), ()).firsts


def refused(made: Callable[[Net], object]) -> str:
    """Return the line that refuses an action with this update or message; empty if nothing does."""

    def act(s: Net) -> Action:
        item: Any = made(s)
        return Action(sent=[item], actor="a") if hasattr(item, "kind") else Action(then=[item], actor="a")

    try:
        claim = Property("p", "", lift(True), lift(True), "w")
        System(S, (each(act, S),), (claim,)).must_compare_values()
    except (TypeError, ModelError) as error:
        return str(error)
    return ""


@pytest.mark.parametrize("case", WRONG)
def test_a_constant_that_its_sort_lacks_is_refused(case: str) -> None:
    made, said = WRONG[case]
    assert said in (line := refused(made)) and "\n" not in line


@pytest.mark.parametrize("case", RIGHT)
def test_a_constant_that_may_stand_there_is_not(case: str) -> None:
    assert refused(RIGHT[case]) == ""


# Planted mistakes.


def constants_are_not_looked_up(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: only the type of a constant counts."""
    plant.setattr(terms, "branches", lambda term: iter(()))


def two_constants_are_not_compared(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: a constant has no sort of its own, so a set compares it with anything."""
    plant.setattr(consistency, "_sorts", lambda term, _: [None])


def a_set_takes_any_label(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: the members of a set are only compared."""
    plant.setattr(sets, "as_value", lambda value, sort, _: terms.as_type(value, sort.type))


@pytest.mark.parametrize(
    ("mistake", "case"),
    [
        (constants_are_not_looked_up, "an update"),
        (constants_are_not_looked_up, "a message that nothing keeps"),
        (two_constants_are_not_compared, "those"),
        (two_constants_are_not_compared, "is_one_of, two labels"),
        (a_set_takes_any_label, "those, a number"),
        (a_set_takes_any_label, "set_of, a number"),
    ],
)
def test_a_mistake_in_the_look_up_is_noticed(
    mistake: Callable[[pytest.MonkeyPatch], None], case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    made, said = WRONG[case]
    assert said not in refused(made)
