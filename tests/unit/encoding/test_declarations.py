"""Declarations: the initial values, losses and names that a file writes are those that are checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, NamedTuple

import pytest

from fencepost.encoding.errors import ModelError
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.language.actions import Action, each, in_turn
from fencepost.encoding.language.bounded_sequences import sequences
from fencepost.encoding.language.messages import message, to_each
from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.sorts import BOOL, Sort, integers, labels, members, subsets
from fencepost.encoding.language.state import StateSpace, choice, definition, family, variable
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import Parameter, Term, any_of

DIGIT, NODE = integers(1, 3), labels("node", "n", 3)


class Declared(StateSpace):
    """A state space of the families that a test declares."""

    def __init__(self, **declared: Any) -> None:
        for name, value in declared.items():
            setattr(self, name, value)


def firsts(s: StateSpace) -> list[tuple[Any, ...]]:
    """Return the initial values in the order of the places."""
    return list(System(s, ()).firsts)


# Initial values are those at the declaration.


@pytest.mark.parametrize("domain", [sequences(DIGIT, most=3), subsets(DIGIT)], ids=["sequence", "set"])
@pytest.mark.parametrize("given", [lambda: map(int, "12"), lambda: (n for n in (1, 2)), lambda: iter([1, 2])])
def test_an_iterator_as_initial_value_is_read_once(domain: Any, given: Callable[[], Iterable[int]]) -> None:
    assert firsts(Declared(x=variable(domain, initial=given()))) == firsts(
        Declared(x=variable(domain, initial=[1, 2]))
    )


@pytest.mark.parametrize("domain", [sequences(DIGIT, most=3), subsets(DIGIT)], ids=["sequence", "set"])
def test_a_list_that_changes_after_the_declaration_changes_no_initial_value(domain: Any) -> None:
    given = [1]
    declared = variable(domain, initial=given)
    given.append(2)
    assert firsts(Declared(x=declared)) == firsts(Declared(x=variable(domain, initial=[1])))


@pytest.mark.parametrize(
    ("domain", "value"),
    [
        (BOOL, lambda n, k: n == k),
        (subsets(NODE), lambda n, k: {k}),
        (sequences(NODE, most=2), lambda n, k: (k,)),
    ],
    ids=["plain", "set", "sequence"],
)
def test_a_function_gives_the_initial_values_of_the_moment_of_the_declaration(
    domain: Any, value: Any
) -> None:
    made = {}
    for k in NODE:
        made[f"on_{k}"] = family(domain, NODE, initial=lambda n: value(n, k))  # noqa: B023
    assert firsts(Declared(**made)) == firsts(
        Declared(**{f"on_{k}": family(domain, NODE, initial=lambda n, k=k: value(n, k)) for k in NODE})
    )


def test_a_function_of_the_index_is_called_once_for_each_index() -> None:
    seen: list[object] = []

    def called(n: str) -> bool:
        seen.append(n)
        return len(seen) % 2 == 0

    s = Declared(x=family(BOOL, NODE, initial=called))
    assert firsts(s) == firsts(s) == [(False,), (True,), (False,)]
    assert seen == ["n1", "n2", "n3"]


@pytest.mark.parametrize("domain", [BOOL, subsets(DIGIT), sequences(DIGIT, most=2)])
def test_an_initial_function_that_returns_none_is_refused(domain: Any) -> None:
    with pytest.raises(ModelError, match="returns None for n2; return an initial value"):
        given: Any = {"n1": (1,) if domain is not BOOL else True}.get
        family(domain, NODE, initial=given)


@pytest.mark.parametrize("given", [{1, 2}, frozenset({1}), {1: 2}, {1: 2}.keys()])
def test_a_sequence_does_not_begin_with_values_without_order(given: Any) -> None:
    with pytest.raises(ModelError, match="has no order; write a tuple"):
        variable(sequences(DIGIT, most=3), initial=given)
    with pytest.raises(ModelError, match="has no order; write a tuple"):
        family(sequences(DIGIT, most=3), NODE, initial=lambda _: given)


def test_a_set_does_not_begin_with_a_table() -> None:
    with pytest.raises(ModelError, match="is a table; write the set of the members alone"):
        variable(subsets(NODE), initial={"n1": True, "n2": False})


# Values that Python calls equal.


class Level(IntEnum):
    """Members that Python calls equal to integers."""

    LOW = 1
    HIGH = 2


@pytest.mark.parametrize(
    ("one", "other"), [(BOOL, integers(0, 1)), (members(Level), integers(1, 2))], ids=["bool", "IntEnum"]
)
def test_actions_in_turn_keep_values_that_python_calls_equal(one: Sort, other: Sort) -> None:
    s = Declared(a=family(BOOL, one), b=family(BOOL, other))

    def first(s: Any, k: Parameter) -> Action:
        """Set a."""
        return Action(then=[s.a[k].set(True)], actor="p")

    def second(s: Any, k: Parameter) -> Action:
        """Set b."""
        return Action(then=[s.b[k].set(True)], actor="p")

    names = {
        a.name for a in System(s, (in_turn("k", each(first, s, one), each(second, s, other)),)).ground_actions
    }
    assert len(names) == len(one) + len(other)


@dataclass(frozen=True)
class Pair:
    """A value with a field."""

    wanted: Any


class Named(NamedTuple):
    """A tuple with a name."""

    wanted: Any


class Renamed(NamedTuple):
    """A tuple with another name."""

    wanted: Any


class Asking(StateSpace):
    """A definition whose term depends on the type of what it is asked."""

    def __init__(self) -> None:
        self.n, self.b = variable(integers(0, 3)), variable(BOOL)

    @definition
    def has(self, given: Any) -> Term:
        wanted = given.wanted if isinstance(given, Pair | Named | Renamed) else given
        return any_of([self.b == v if isinstance(v, bool) else self.n == v for v in wanted])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (frozenset({True}), frozenset({1})),
        (Pair((True,)), Pair((1,))),
        (Pair(frozenset({True})), Pair(frozenset({1}))),
        (Named((1,)), Renamed((1,))),
    ],
    ids=["frozenset", "dataclass", "nested", "namedtuple"],
)
def test_a_definition_has_a_term_for_each_argument_that_differs_in_a_type(one: Any, other: Any) -> None:
    s = Asking()
    assert s.has(one) is s.has(one)
    assert s.has(one) is not s.has(other)


# A state space is fixed once it is built.


class Limited(StateSpace):
    """A list, a table and a set that definitions read, and a list of the class."""

    shared: ClassVar[Any] = [1]

    def __init__(self, given: list[int]) -> None:
        self.n = variable(integers(0, 3))
        self.limits, self.table, self.some, self._own = given, {"a": [1]}, {1}, [1]


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.limits.__setitem__(0, 3),
        lambda s: s.limits.append(3),
        lambda s: s.table.__setitem__("a", 3),
        lambda s: s.table["a"].append(3),
        lambda s: s.some.add(3),
        lambda s: s._own.append(3),
        lambda s: s.shared.append(3),
    ],
)
def test_what_a_definition_reads_of_the_state_space_does_not_change(change: Callable[[Any], None]) -> None:
    given = [1]
    s: Any = Limited(given)
    with pytest.raises((AttributeError, TypeError)):
        change(s)
    given[0] = 3
    assert (s.limits, s.table["a"], s.some, s._own, s.shared) == ((1,), (1,), {1}, (1,), (1,))


def test_a_part_of_a_whole_replaces_no_attribute() -> None:
    with pytest.raises(ModelError, match="log_length: log makes a state variable of that name"):
        Declared(log_length=2, log=variable(sequences(DIGIT, most=3)))

    class Defined(Declared):
        @definition
        def log_length(self) -> Term:
            raise AssertionError

    with pytest.raises(ModelError, match="log_length: log makes a state variable of that name"):
        Defined(log=variable(sequences(DIGIT, most=3)))


# A receiver reads the loss of the message that it receives.


class Copies(StateSpace):
    """A write to each of two copies, with a loss each, and a loss of another message."""

    def __init__(self) -> None:
        self.copy = labels("copy", "c", 2)
        self.sent = variable(BOOL)
        self.stored = family(BOOL, self.copy)
        self.lost = choice(self.copy, fault="lost")
        self.note_lost = choice(self.copy, fault="lost")


def send(s: Copies) -> Action:
    """Send a write and a note to each copy."""
    writes = to_each(s.copy, lambda c: message("write", "a", c, lost=s.lost[c]))
    notes = to_each(s.copy, lambda c: message("note", "a", c, lost=s.note_lost[c]))
    return Action(when=~s.sent, then=[s.sent.set(True)], actor="a", sent=[writes, notes])


def received(guard: Callable[[Copies, Any], Term]) -> System:
    """Return the system in which a copy receives a write under this guard."""

    def receive(s: Copies, copy: Parameter) -> Action:
        """Store the write."""
        got = message("write", "a", copy)
        return Action(guard(s, copy), [s.stored[copy].set(True)], copy, received=got)

    s = Copies()
    return System(s, (each(send, s), each(receive, s, s.copy)))


@pytest.mark.parametrize(
    "guard",
    [
        lambda s, c: s.sent & ~s.lost["c1"],
        lambda s, c: s.sent & ~s.note_lost[c],
        lambda s, c: s.sent & s.lost[c],
        lambda s, c: s.sent & (~s.lost[c] | ~s.note_lost[c]),
        lambda s, c: exists(s.copy, lambda other: ~s.lost[other]),
    ],
    ids=["another index", "another kind", "not negated", "one of two", "some copy"],
)
def test_a_receiver_that_reads_another_loss_is_refused(guard: Callable[[Copies, Any], Term]) -> None:
    with pytest.raises(
        ModelError, match=r"receive\(c\d\) reads .* may receive write when its loss lost\[c\d\]"
    ):
        sent_at_most_once(received(guard))


@pytest.mark.parametrize(
    "guard",
    [
        lambda s, c: s.sent & ~s.lost[c],
        lambda s, c: s.sent & ~(s.lost[c] | s.note_lost[c]),
        lambda s, c: ~((s.sent & s.lost[c]) | (~s.sent & s.note_lost[c])),
        lambda s, c: ((c == "c1") & ~s.lost["c1"]) | ((c == "c2") & ~s.lost["c2"]),
        lambda s, c: exists(s.copy, lambda other: (c == other) & ~s.lost[other]),
    ],
    ids=["its own", "both", "one of two by the state", "by cases", "by a quantifier"],
)
def test_a_receiver_may_read_its_own_loss_in_any_way(guard: Callable[[Copies, Any], Term]) -> None:
    sent_at_most_once(received(guard))
