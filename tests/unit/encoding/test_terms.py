"""The language: the terms that it refuses, and that both readings give a term the same value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from enum import Enum
from typing import get_args

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.errors import ModelError
from fencepost.encoding.formulas.guarded import bits
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.fold import Folding
from fencepost.encoding.language.patterns import key, sorts_of
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.quantifiers import (
    at_least,
    count,
    exists,
    exists_over,
    forall,
    forall_over,
    maximum,
)
from fencepost.encoding.language.sorts import BOOL, Sort, integers, labels, members
from fencepost.encoding.language.source import source
from fencepost.encoding.language.state import StateSpace, choice, decode, family, variable
from fencepost.encoding.language.system import System, invariant
from fencepost.encoding.language.terms import Constant, Node, Term, all_of, any_of, lift
from fencepost.encoding.solving.logic import conj
from support.bare import Bare


class Colour(Enum):
    RED = "red"
    GREEN = "green"
    BLUE = "blue"


class Box(StateSpace):
    """One variable of each kind of domain."""

    def __init__(self) -> None:
        self.bookie = labels("bookie", "b", 3)
        self.entry = integers(1, 2)
        self.flag = family(BOOL, self.bookie)
        self.number = family(integers(0, 3), self.entry)
        self.offset = variable(integers(2, 5), 3)
        self.colour = variable(members(Colour))
        self.chosen = variable(self.bookie)
        self.one = variable(Sort("one", ("only",)))


def shuffle(s: Box, bookie: Term) -> Action:
    """Give every variable any value, so that no variable is a constant."""
    then = [s.flag[bookie].set(~s.flag[bookie]), s.chosen.set(bookie), s.colour.set(Colour.BLUE)]
    return Action(
        when=lift(True), then=[*then, s.number[1].set(1), s.number[2].set(1), s.offset.set(2)], actor=bookie
    )


BOX = Box()
SYSTEM = System(BOX, (each(shuffle, BOX, BOX.bookie),))
CONCRETE, SYMBOLIC = Concrete(SYSTEM), Symbolic(SYSTEM)


def numbers(depth: int) -> st.SearchStrategy[Term]:
    """Return a strategy for terms of type int, nested so deep."""
    plain = st.one_of(
        st.integers(0, 4).map(lift),
        st.sampled_from([0, 1, 2]).map(lambda i: (BOX.number[1], BOX.number[2], BOX.offset)[i]),
    )
    if not depth:
        return plain
    inner, truth = numbers(depth - 1), truths(depth - 1)
    return st.one_of(
        plain,
        st.tuples(inner, inner).map(lambda p: p[0] + p[1]),
        st.tuples(inner, inner).map(lambda p: p[0] - p[1]),
        st.tuples(truth, inner, inner).map(lambda p: if_(*p)),
        truth.map(lambda t: count(BOX.bookie, lambda b: BOX.flag[b] | (t & (b == BOX.chosen)))),
        st.tuples(inner, st.integers(-2, 3)).map(lambda p: p[0] * p[1]),
        inner.map(lambda n: maximum(BOX.entry, lambda e: if_(BOX.number[e] < n, BOX.number[e], e))),
    )


def truths(depth: int) -> st.SearchStrategy[Term]:
    """Return a strategy for terms of type bool, nested so deep."""
    flags = (BOX.flag["b1"], BOX.flag["b3"], BOX.flag[BOX.chosen])
    plain = st.one_of(
        st.booleans().map(lift),
        st.integers(0, 2).map(lambda i: flags[i]),
        st.sampled_from(list(Colour)).map(lambda c: BOX.colour == c),
        st.sampled_from(BOX.bookie.values).map(lambda b: BOX.chosen == b),
    )
    if not depth:
        return plain
    inner, number = truths(depth - 1), numbers(depth - 1)
    return st.one_of(
        plain,
        st.tuples(number, number).map(lambda p: p[0] == p[1]),
        st.tuples(number, number).map(lambda p: p[0] < p[1]),
        st.tuples(number, number).map(lambda p: p[0] >= p[1]),
        inner.map(lambda t: ~t),
        st.lists(inner, max_size=3).map(lambda ts: all_of(*ts)),
        st.lists(inner, max_size=3).map(lambda ts: any_of(*ts)),
        st.tuples(inner, inner).map(lambda p: implies(*p)),
        st.tuples(st.integers(0, 4), inner).map(
            lambda p: at_least(p[0], BOX.bookie, lambda b: BOX.flag[b] | (p[1] & (b == BOX.chosen)))
        ),
        inner.map(lambda t: forall(BOX.bookie, lambda b: BOX.flag[b] | t)),
        inner.map(lambda t: exists(BOX.entry, lambda e: (BOX.number[e] == e) & t)),
    )


def states() -> st.SearchStrategy[bytes]:
    return st.tuples(*(st.integers(0, len(v.domain) - 1) for v in SYSTEM.variables)).map(bytes)


@settings(max_examples=200, deadline=None)
@given(truths(3), states())
def test_both_readings_give_a_term_the_same_value(term: Term, state: bytes) -> None:
    solver = z3.Solver()
    for v in SYSTEM.variables:
        for position, bit in enumerate(SYMBOLIC.bits[v.place], 1):
            solver.add(bit == (state[v.place] == position))
    solver.add(SYMBOLIC.predicate(term))
    assert (solver.check() == z3.sat) == CONCRETE.predicate(term)(state)


@pytest.mark.parametrize("variable", SYSTEM.variables, ids=lambda v: v.name)
def test_every_value_of_every_domain_round_trips(variable: object) -> None:
    from fencepost.encoding.language.state import Variable

    assert isinstance(variable, Variable)
    own = bits(variable)
    assert len(own) == len(variable.domain) - 1
    seen = set()
    for position, value in enumerate(variable.domain.values):
        chosen = [i == position for i in range(1, len(variable.domain))]
        assert decode(variable, chosen) == value
        fixed = conj(b if c else z3.Not(b) for b, c in zip(own, chosen, strict=True))
        from fencepost.encoding.formulas.guarded import guarded

        holding = [
            v
            for v, f in guarded(variable, own).items()
            if z3.is_true(z3.simplify(z3.substitute(f, *_pairs(own, chosen))))
        ]
        assert holding == [value], fixed
        seen.add(value)
    assert seen == set(variable.domain.values)


def _pairs(own: list[z3.BoolRef], chosen: list[bool]) -> list[tuple[z3.BoolRef, z3.BoolRef]]:
    return [(b, z3.BoolVal(c)) for b, c in zip(own, chosen, strict=True)]


@pytest.mark.parametrize(("over", "written"), [(forall_over, "forall"), (exists_over, "exists")])
def test_a_quantifier_over_several_sorts_gives_the_values_in_the_order_of_the_sorts(
    over: Callable[..., Term], written: str
) -> None:
    term = over((BOX.bookie, BOX.entry, BOX.entry), lambda b, e, f: BOX.flag[b] | (BOX.number[e] < f))
    assert line(term) == f"{written} b: {written} n: {written} n2: flag[b] or number[n] < n2"


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (lambda s: (s.offset <= 1) | ~s.flag["b1"], "offset <= 1 or not flag[b1]"),
        (lambda s: ~(s.flag["b1"] & (s.offset != 2)), "not (flag[b1] and offset != 2)"),
        (lambda s: s.offset + 1 < if_(s.flag["b1"], 1, 2), "offset + 1 < (1 if flag[b1] else 2)"),
        (
            lambda s: forall(s.bookie, lambda b: exists(s.bookie, lambda c: b == c)),
            "forall b: exists b2: b == b2",
        ),
        (
            lambda s: at_least(2, s.bookie, lambda b: s.flag[b]) & (maximum(s.entry, lambda e: e) == 2),
            "(at least 2 b: flag[b]) and (maximum n: n) == 2",
        ),
    ],
)
def test_terms_in_print(term: Callable[[Box], Term], text: str) -> None:
    assert line(term(BOX)) == text


def test_long_terms_are_cut_where_they_are_deep() -> None:
    entry = BOX.entry
    term = BOX.flag["b1"] & exists(entry, lambda p: exists(entry, lambda q: (p < q) & (BOX.number[p] < q)))
    assert line(term, 40) == "flag[b1] and (exists n: exists n2: …)"
    assert line(term, 14) == "flag[b1] and …"


@pytest.mark.parametrize("kind", get_args(Node))
def test_the_parts_of_a_term_are_its_fields_that_have_terms(kind: type[Term]) -> None:
    """Without one of them folding, printing and the readings would not look into it."""
    held = [field.name for field in fields(kind) if field.type in ("Term", "tuple[Term, ...]")]
    assert list(kind.parts) == held


def test_a_count_is_folded_printed_and_written_like_other_terms() -> None:
    flags = count(BOX.bookie, lambda b: BOX.flag[b])
    assert line(flags * 2 > 3) == "3 < (count b: flag[b]) * 2"
    assert source(flags * 2 > 3, BOX) == "3 < (count(s.bookie, lambda b: s.flag[b]) * 2)"
    all_, none = (Folding({}).term(count(BOX.bookie, body) * 2) for body in (lambda _: True, lambda _: False))
    assert isinstance(all_, Constant) and isinstance(none, Constant) and (all_.value, none.value) == (6, 0)
    (values,) = sorts_of(flags)
    assert values is not None and values.values == (0, 1, 2, 3)


def test_a_term_is_multiplied_by_a_plain_integer_only() -> None:
    for factor in (BOX.offset, 0.5, True):
        with pytest.raises(TypeError, match="by a plain integer only"):
            _ = BOX.offset * factor  # type: ignore[operator]


def test_a_plain_integer_may_stand_on_the_left_of_a_sum() -> None:
    # Planted: the difference the other way round.
    assert line(2 + BOX.offset) == line(BOX.offset + 2) == "offset + 2"
    assert line(2 - BOX.offset) == "2 - offset"
    for wrong in (True, "b1", 0.5):
        with pytest.raises(TypeError):
            _ = wrong - BOX.offset  # type: ignore[operator]


def test_a_term_cannot_be_decided_by_python() -> None:
    with pytest.raises(TypeError, match="has no truth value"):
        bool(BOX.flag["b1"])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: BOX.flag["b1"] & 1,
        lambda: BOX.flag["b1"] & (BOX.flag["b2"], True),  # type: ignore[operator]
        lambda: [BOX.flag["b1"]] | BOX.flag["b2"],  # type: ignore[operator]
        lambda: implies(BOX.flag["b1"], [BOX.flag["b2"], False]),  # type: ignore[arg-type]
        lambda: BOX.offset == Colour.RED,
        lambda: BOX.colour + 1,
        lambda: BOX.flag[1],
        lambda: BOX.flag["b1", "b2"],
        lambda: BOX.number[7],
        lambda: BOX.flag["b1"].set(3),
        lambda: if_(True, 1, "b1"),
    ],
)
def test_what_does_not_fit_together_is_refused(wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(TypeError):
        wrong()


class Counter(StateSpace):
    def __init__(self) -> None:
        self.n = variable(integers(0, 2))
        self.lost = choice(integers(1, 1), fault="lost")


def counting(*then: object, when: object = True) -> System:
    from fencepost.encoding.language.actions import Schema
    from fencepost.encoding.language.terms import Update

    updates = [u for u in then if isinstance(u, Update)]
    return System(COUNTER, (Schema("count", "", (), Action(lift(when), updates, actor="me")),))  # type: ignore[arg-type]


COUNTER = Counter()


@pytest.mark.parametrize(
    ("system", "message"),
    [
        (counting(COUNTER.n.set(COUNTER.n + 1), when=COUNTER.n < 3), "outside 0..2"),
        (counting(COUNTER.n.set(1), COUNTER.n.set(1)), "twice"),
        (counting(COUNTER.lost[1].set(True)), "which is a choice; choices never change"),
    ],
    ids=["outside its domain", "set twice", "a choice"],
)
def test_a_text_that_is_no_transition_system_is_refused_by_both_readings(
    system: System, message: str
) -> None:
    from fencepost.encoding.check import check
    from fencepost.encoding.engine.limits import Limits
    from fencepost.encoding.language.system import Property
    from fencepost.encoding.language.traces import Subject

    never = Property("never", "", lift(True), lift(True), "")
    with pytest.raises(ModelError, match=message):
        check(Bare(system, Subject("counter", {}, {})), [never], Limits(jobs=1))
    concrete = Concrete(system)
    with pytest.raises(ModelError, match=message):
        state = concrete.initial()
        for _ in range(4):
            state = next(concrete.steps[0].successors(state))


def test_a_guard_that_keeps_a_value_inside_its_domain_is_enough() -> None:
    from fencepost.encoding.check import check
    from fencepost.encoding.engine.limits import Limits
    from fencepost.encoding.engine.verdicts import Verdict
    from fencepost.encoding.language.system import Property
    from fencepost.encoding.language.traces import Subject

    system = counting(COUNTER.n.set(COUNTER.n + 1), when=COUNTER.n < 2)
    goal = Property("below three", "", COUNTER.n < 3, COUNTER.n == 2, "two is reached")
    result = check(
        Bare(system, Subject("counter", {}, {})), [goal], Limits(jobs=1, engines=("rounds",))
    ).results[0]
    assert result.verdict is Verdict.PROVED
    assert result.rounds == 2


def test_a_property_may_not_read_a_choice() -> None:
    with pytest.raises(ModelError, match="may read only state variables"):
        Concrete(counting()).predicate(COUNTER.lost[1])


def test_a_decorated_invariant_has_the_name_of_its_function() -> None:
    """Planted: the underscores stay; the meaning is left out."""

    @invariant("the counter is small")
    def small_counter(most: int) -> Term:
        return Counter().n <= most

    made = small_counter(1)
    assert (made.name, made.meaning) == ("small-counter", "the counter is small")
    assert made.holds.type == "bool"


def test_a_list_of_terms_is_taken_for_the_terms() -> None:
    one, other = lift(True), lift(False)
    for join in (all_of, any_of):
        for several in ([one, other], (one, other), (term for term in (one, other))):
            assert key(join(several)) == key(join(one, other))
        assert key(join([])) == key(join())
        for mixed in (([[one]],), ([one], other), (one, [other])):
            with pytest.raises(TypeError, match="is a list"):
                join(*mixed)
        with pytest.raises(TypeError, match="one side is of type label"):
            join("ab")
