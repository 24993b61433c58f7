"""What is not defined: each operator skips what the table of docs/language.md says, in each reading."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from inspect import isfunction
from pathlib import Path
from typing import Any

import pytest

from fencepost.encoding import language
from fencepost.encoding.concrete.badly_defined import BadlyDefined
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language import (
    BOOL,
    Action,
    Property,
    StateSpace,
    System,
    actions,
    all_of,
    any_of,
    at,
    at_least,
    bounded_sequences,
    channel,
    choice,
    count,
    definedness,
    each,
    exists,
    exists_over,
    family,
    forall,
    forall_over,
    if_,
    implies,
    insert,
    integers,
    is_in,
    is_one_of,
    is_prefix,
    labels,
    last,
    length,
    majority,
    maximum,
    message,
    overlap,
    queues,
    record_values,
    records,
    rest,
    sequence_of,
    sequences,
    set_of,
    sets,
    size,
    subsets,
    those,
    to_each,
    variable,
    without,
)
from fencepost.encoding.language.terms import TRUE, Term, lift
from support.readings import holds, truths


class Mail(StateSpace):
    """A condition, and logs that stay empty: their first item is not defined."""

    def __init__(self) -> None:
        self.value = labels("value", "v", 2)
        self.number = integers(1, 2)
        self.entry = records(value=self.value, number=self.number)
        self.a = variable(BOOL)
        self.other = variable(BOOL)
        self.log = variable(sequences(self.value, most=2))
        self.two = variable(sequences(self.value, most=2), initial=("v1", "v2"))
        self.numbers = variable(sequences(self.number, most=2))
        self.full = variable(sequences(self.value, most=1), initial=("v1",))
        self.on = family(BOOL, self.value)
        self.lost = choice(self.value, fault="lost")
        self.chosen = variable(subsets(self.value))
        self.seen = variable(self.entry)
        self.kept = variable(self.value)
        self.tell = channel("tell", "w", self.value, says={"item": self.value})
        self.ask = channel("ask", self.value, self.value, if_sent="skip")
        self.queue = queues(self.value, [self.ask], room=2)


S = Mail()
V, N = at(S.log, 1), at(S.numbers, 1)
U = V == "v1"
"""A value, a number and a condition that are not defined while the logs are empty."""


def claims(kind: str, operator: str) -> list[Term]:
    """Return conditions in which a part is not defined, for an operator on operands of this kind."""
    some = those(S.value, lambda v: (v == "v1") | S.other)
    bad = those(S.value, lambda v: v == V)
    table: dict[tuple[str, str], list[Term]] = {
        ("", "a & b"): [S.a & U],
        ("", "all_of(a, b)"): [all_of(S.a, True, U)],
        ("", "a | b"): [S.a | U],
        ("", "any_of(a, b)"): [any_of(S.a, False, U)],
        ("", "implies(a, b)"): [implies(S.a, U)],
        ("b", "if_(a, b, c)"): [if_(S.a, U, S.other), if_(S.a, V, "v1") == "v1"],
        ("c", "if_(a, b, c)"): [if_(S.a, S.other, U), if_(S.a, "v1", V) == "v1"],
        ("", "~a"): [~U],
        ("", "a == b"): [S.other == U, S.a == U, V == "v1"],
        ("", "a != b"): [S.a != U, S.kept != V],
        ("", "a < b"): [N < 2, lift(1) < N],
        ("", "a <= b"): [N <= 2],
        ("", "a > b"): [N > 2],
        ("", "a >= b"): [N >= 2],
        ("", "a + b"): [N + 1 == 2, lift(1) + N == 2],
        ("", "a - b"): [N - 1 == 2, 1 - N == 2],
        ("", "a * 2"): [N * 2 == 2],
        ("", "forall"): [forall(S.value, lambda v: v == V)],
        ("", "exists"): [exists(S.value, lambda v: (v == V) | S.a)],
        ("", "forall_over"): [forall_over((S.value, S.value), lambda v, w: v == V)],
        ("", "exists_over"): [exists_over((S.value, S.value), lambda v, w: w == V)],
        ("", "count"): [count(S.value, lambda v: v == V) > 0],
        ("", "at_least"): [at_least(0, S.value, lambda v: v == V)],
        ("", "maximum"): [maximum(S.value, lambda v: if_(v == V, 1, 2)) == 1],
        ("", "is_one_of"): [is_one_of(S.kept, ("v1", "v2", V)), is_one_of(V, ("v1",)), is_one_of(V, ())],
        ("", "s.on[a]"): [S.on[V], S.tell.is_sent(V)],
        ("sets", "set_of"): [
            set_of(S.value, "v1", "v2", V) == S.chosen,
            is_in("v1", set_of(S.value, "v1", V)),
        ],
        ("sets", "those"): [is_in("v1", those(S.value, lambda v: (v == "v1") | U))],
        ("sets", "is_in"): [is_in(V, S.chosen), is_in("v1", bad)],
        ("sets", "size"): [size(bad) >= 0],
        ("sets", "majority"): [majority(some, bad), majority(bad, S.value), majority(bad, S.chosen)],
        ("sets", "overlap"): [overlap(some, bad), overlap(S.chosen, bad)],
        ("sets", "a | b"): [is_in("v1", some | bad), is_in("v2", bad | some)],
        ("sets", "a & b"): [is_in("v2", some & bad)],
        ("sets", "a - b"): [is_in("v2", some - bad), is_in("v2", S.chosen - bad)],
        ("sets", "a <= b"): [S.chosen <= bad, bad <= some],
        ("sets", "a == b"): [some == bad, S.chosen != bad],
        ("sequences", "sequence_of"): [length(sequence_of(S.value, V)) == 1],
        ("sequences", "length"): [length(sequence_of(S.value, "v1", V)) == 1],
        ("sequences", "at"): [at(sequence_of(S.value, "v1", V), 1) == "v1", at(S.two, N) == "v1"],
        ("sequences", "last"): [last(sequence_of(S.value, V, "v1")) == "v1"],
        ("sequences", "rest"): [length(rest(sequence_of(S.value, "v1", V))) == 1],
        ("sequences", "without"): [
            length(without(sequence_of(S.value, "v1", V), 1)) == 1,
            length(without(S.two, N)) == 1,
        ],
        ("sequences", "insert"): [
            length(insert(sequence_of(S.value, "v1", V), 1, "v2")) == 1,
            length(insert(S.two, N, "v1")) == 1,
            length(insert(S.two, 1, V)) == 1,
        ],
        ("sequences", "is_prefix"): [
            is_prefix(sequence_of(S.value, "v2", V), S.two),
            is_prefix(S.log, sequence_of(S.value, V)),
            is_prefix(S.two, sequence_of(S.value, V)),
        ],
        ("sequences", "a == b"): [
            S.log != sequence_of(S.value, V),
            sequence_of(S.value, "v1", V) == S.full,
            S.two == sequence_of(S.value, "v2", V),
        ],
        ("records", "s.entry(…)"): [S.entry(value=V, number=1).number == 1],
        ("records", "a == b"): [
            S.entry(value="v1", number=1) == S.entry(value="v2", number=N),
            S.seen != S.entry(value="v2", number=N),
        ],
    }
    return table[kind, operator]


UPDATES: dict[str, list[Callable[[Mail], object]]] = {
    "set": [
        lambda s: s.kept.set(V, when=s.a),
        lambda s: s.on[V].set(True, when=s.a),
        lambda s: s.seen.set(s.entry(value=V, number=1), when=s.a),
        lambda s: s.log.set(sequence_of(s.value, V), when=s.a),
        lambda s: s.log[1].set("v2", when=s.a),
        lambda s: s.chosen.set(those(s.value, lambda v: v == V), when=s.a),
    ],
    "add": [lambda s: s.chosen.add(V, when=s.a)],
    "remove": [lambda s: s.chosen.remove(V, when=s.a)],
    "append": [lambda s: s.log.append(V, when=s.a), lambda s: s.full.append("v1", when=s.a)],
    "truncate": [lambda s: s.numbers.truncate(N, when=s.a), lambda s: s.log.truncate(1, when=s.a)],
}
MESSAGES: dict[str, list[Callable[[Mail], Any]]] = {
    "send": [
        lambda s: s.tell.send("v1", item=V, when=s.a),
        lambda s: s.tell.send(V, item="v1", when=s.a),
        lambda s: s.ask.send(V, "v1", when=s.a),
        lambda s: s.ask.send("v1", V, when=s.a),
    ],
    "message": [
        lambda s: message("m", "w", V, when=s.a),
        lambda s: message("m", "w", "r", says={"x": V}, when=s.a),
        lambda s: message("m", "w", "r", about={"x": V}, when=s.a),
        lambda s: message("m", "w", "r", lost=s.lost[V], when=s.a),
    ],
    "to_each": [lambda s: to_each(s.value, lambda v: message("m", "w", v, says={"x": V}, when=s.a))],
}

OR = "\0"
"""Stands for an operator that a table of Markdown has to escape."""


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield the kind of operands, the operator, what it skips and where, of each operator in the table."""
    page = Path("docs/language.md").read_text(encoding="utf-8").replace(r"\|", OR)
    table = page.partition("| operator | skips | where |\n|---|---|---|\n")[2].partition("\n\n")[0]
    for row in table.splitlines():
        operators, skips, where = (cell.replace(OR, "|").strip() for cell in row.strip("|").split(" |"))
        kind = operators.rpartition("`")[2].removeprefix(" of ").strip()
        if "if_(" in operators:
            kind = skips.strip("`")
        for operator in re.findall(r"`([^`]+)`", operators):
            yield kind, operator, skips, where


TABLE = list(rows())


def states() -> dict[bool, bytes]:
    """Return the code of a state with each value of `a`."""
    concrete = Concrete(System(S, ()))
    place = S.places[S.a.family, ()].place
    first = concrete.initial({})
    return {
        value: bytes(int(value) if at == place else c for at, c in enumerate(first))
        for value in (False, True)
    }


def skipped(where: str) -> set[bool]:
    """Return the values of `a` for which the table says that the part is skipped."""
    return {
        "a is false": {False},
        "a is true": {True},
        "`when=` is false": {False},
        "its guard is false": {False},
    }.get(where.replace("`a`", "a"), set())


@pytest.mark.parametrize(("kind", "operator", "skips", "where"), TABLE)
def test_an_operator_skips_what_the_table_says(kind: str, operator: str, skips: str, where: str) -> None:
    _compare(kind, operator, skips, where)


def test_the_table_has_each_operator_of_the_language() -> None:
    named = {operator.partition("(")[0] for _, operator, _, _ in TABLE}
    functions = {name for name in language.__all__ if isfunction(getattr(language, name))}
    assert functions - named == NO_OPERATORS


NO_OPERATORS = {
    *("choice", "definition", "each", "everywhere", "family", "full", "in_turn", "integers", "labels"),
    *("members", "one_of", "optional", "parameter", "records", "require"),
    *("always_eventually", "always_step", "eventually", "eventually_always", "leads_to", "log", "refines"),
    *("switch", "variable"),
}
"""Functions that declare or take no term."""


def _compare(kind: str, operator: str, skips: str, where: str) -> None:
    assert skips.startswith("nothing") is not bool(skipped(where))
    if operator in UPDATES or operator in MESSAGES or operator == "Action":
        for system in acting(operator):
            assert _defined_after(system) == skipped(where), system.actions
        return
    for term in claims(kind, operator):
        assert defined_in(term) == skipped(where), (kind, operator)


def defined_in(term: Term) -> set[bool]:
    """Return the values of `a` for which the condition is defined, if all readings agree."""
    claim, nothing = Property("p", "", term, lift(True), "w"), Property("p", "", ~term, lift(True), "w")
    system = System(S, (each(_anything, S),))
    concrete, symbolic = Concrete(system), Symbolic(system)
    found = set()
    for value, state in states().items():
        said = [truths(prop.holds, state, concrete, symbolic) for prop in (claim, nothing)]
        assert all(len(one) == 1 for one in said), "the readings differ"
        found |= {value} if {True} in said else set()
    return found


def _anything(s: Mail) -> Action:
    """Change all that a condition reads, so that nothing is a constant of the formulas."""
    return Action(then=[s.a.set(~s.a), s.other.set(~s.other)], actor="w")


def acting(operator: str) -> Iterator[System]:
    """Yield systems of one action with an update, a message, or a guard that is not defined."""
    handlers: list[Callable[[Mail], Action]] = []
    if operator == "Action":
        handlers = [
            lambda s: Action(when=s.a, then=[s.kept.set(V)], actor="w"),
            lambda s: Action(when=s.a, sent=[s.tell.send("v1", item=V)], actor="w"),
            lambda s: Action(when=s.a, sent=[message("m", "w", V)], actor="w"),
        ]
    handlers += [partial(_updating, update) for update in UPDATES.get(operator, [])]
    handlers += [partial(_sending, sending) for sending in MESSAGES.get(operator, [])]
    yield from (System(S, (each(handler, S),)) for handler in handlers)


def _updating(update: Callable[[Mail], Any], s: Mail) -> Action:
    return Action(then=[update(s)], actor="w")


def _sending(sending: Callable[[Mail], Any], s: Mail) -> Action:
    return Action(sent=[sending(s)], actor="w")


def _defined_after(system: System) -> set[bool]:
    """Return the values of `a` for which no step is badly defined, if the readings agree."""
    toggles = System(system.state, (*system.actions, each(_anything, S)))
    (step, _), symbolic, found = Concrete(toggles).steps, Symbolic(toggles), set()
    (wrong,) = [
        effect.wrong
        for action, effect in zip(symbolic.actions, symbolic.effects, strict=True)
        if action is step.action
    ]
    for value, state in states().items():
        try:
            if step.enabled(state):
                step.after(state)
            is_defined = True
        except BadlyDefined:
            is_defined = False
        assert is_defined is not holds(wrong, state, symbolic), "the readings differ"
        found |= {value} if is_defined else set()
    return found


# Planted mistakes.


def nothing_is_strict(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: a part of a set, a sequence or a record is skipped because of another part."""
    for module in (bounded_sequences, record_values, sets):
        plant.setattr(module, "strict", lambda term, *_: term)


def a_quantifier_stops_early(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: a part of a quantifier is never evaluated."""
    plant.setattr(definedness, "_for_all", lambda bound, body: TRUE)


def a_message_is_evaluated_though_it_is_not_sent(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: the rule for messages is another one than that for updates."""
    plant.setattr(actions, "Part", lambda bound, when, terms: definedness.Part(bound, TRUE, terms))


def an_update_is_evaluated_though_it_is_not_made(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: the condition of an update does not count."""
    part = definedness.Part
    plant.setattr(definedness, "Part", lambda bound, when, terms: part(bound, TRUE, terms))


def a_condition_is_no_condition(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: parts are evaluated whatever stands to the left of them."""
    plant.setattr(definedness, "_if", lambda condition, conclusion: conclusion)


@pytest.mark.parametrize(
    "mistake",
    [
        nothing_is_strict,
        a_quantifier_stops_early,
        a_message_is_evaluated_though_it_is_not_sent,
        an_update_is_evaluated_though_it_is_not_made,
        a_condition_is_no_condition,
    ],
)
def test_a_mistake_in_definedness_is_noticed(
    mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    with pytest.raises(AssertionError):
        for row in TABLE:
            _compare(*row)
