"""The values that make a property false: they are read by it, they are so at the end, and they suffice."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from enum import Enum

import pytest

from fencepost.cli.rendering.check_text import counterexample_text
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.forms import falsified as module
from fencepost.encoding.forms import in_form
from fencepost.encoding.forms.falsified import Bound, Falsified, Held, _Found, _from, falsified
from fencepost.encoding.language.actions import Action, Schema, each
from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.quantifiers import at_least, exists, forall, maximum
from fencepost.encoding.language.sorts import BOOL, Value, integers, labels, members
from fencepost.encoding.language.state import StateSpace, definition, family, variable
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import TRUE, Family, Parameter, Term, TermLike, lift
from fencepost.encoding.language.traces import Subject, Trace, plain
from support.counterexamples import EXECUTIONS, counterexample_of
from support.generated import by_seeds
from support.instances import actions


class Colour(Enum):
    """The colours that a cell may have."""

    GREEN = "green"
    RED = "red"


class Board(StateSpace):
    """Cells with a mark, a colour, a height and another cell that each points to; and one number."""

    def __init__(self) -> None:
        self.cell = labels("cell", "c", 3)
        self.level = integers(0, 2)
        self.marked = family(BOOL, self.cell, self.level)
        self.colour = family(members(Colour), self.cell)
        self.height = family(self.level, self.cell, initial=lambda c: int(str(c)[1]) - 1)
        self.next = family(self.cell, self.cell)
        self.count = variable(self.level)

    @definition
    def is_high(self, cell: TermLike) -> Term:
        """Return whether the cell is higher than the count."""
        return self.count < self.height[cell]


def mark(s: Board, cell: Parameter, level: Parameter) -> Action:
    """Turn a mark."""
    return Action(lift(True), [s.marked[cell, level].set(~s.marked[cell, level])], actor=cell)


def paint(s: Board, cell: Parameter) -> Action:
    """Paint a cell."""
    is_red = s.colour[cell] == Colour.RED
    return Action(lift(True), [s.colour[cell].set(if_(is_red, Colour.GREEN, Colour.RED))], actor=cell)


def raise_to(s: Board, cell: Parameter, level: Parameter) -> Action:
    """Give a cell a height, and the count too."""
    return Action(lift(True), [s.height[cell].set(level), s.count.set(level)], actor=cell)


def point(s: Board, cell: Parameter, other: Parameter) -> Action:
    """Let a cell point to another."""
    return Action(lift(True), [s.next[cell].set(other)], actor=cell)


def boarded(s: Board, holds: Term) -> System:
    """Return the system of a board with that property."""
    schemas: tuple[Schema, ...] = (
        each(mark, s, s.cell, s.level),
        each(paint, s, s.cell),
        each(raise_to, s, s.cell, s.level),
        each(point, s, s.cell, s.cell),
    )
    return System(s, schemas, (Property("so", "it is so", holds, TRUE, "always"),))


class Terms:
    """Random terms with all kinds of nodes: connectives, quantifiers, counts, maxima, sums."""

    def __init__(self, chance: random.Random, s: Board) -> None:
        self.chance, self.s = chance, s

    def truth(self, depth: int, cells: Sequence[TermLike], levels: Sequence[TermLike]) -> Term:
        """Return a Boolean term. `cells` and `levels` are the names in scope."""
        s, pick = self.s, self.chance.choice

        def inner(*more: TermLike, level: bool = False) -> Term:
            return self.truth(depth - 1, *(cells, [*levels, *more]) if level else ([*cells, *more], levels))

        if depth <= 0:
            return pick((self._marked, self._coloured, self._high, self._pointed, self._compared))(
                cells, levels
            )
        kinds: list[Callable[[], Term]] = [
            lambda: inner() & inner() & inner(),
            lambda: inner() | inner(),
            lambda: implies(inner(), inner()),
            lambda: ~inner(),
            lambda: inner() == inner(),
            lambda: if_(inner(), inner(), inner()),
            lambda: forall(s.cell, lambda c: inner(c)),
            lambda: exists(s.cell, lambda c: inner(c)),
            lambda: forall(s.level, lambda n: inner(n, level=True)),
            lambda: at_least(pick((0, 1, 2, 3, 4)), s.cell, lambda c: inner(c)),
            lambda: maximum(s.cell, lambda c: if_(inner(c), s.height[c], 0)) < self._level(levels),
        ]
        return pick(kinds)()

    def _cell(self, cells: Sequence[TermLike]) -> TermLike:
        one = self.chance.choice((*cells, "c1"))
        return self.s.next[one] if self.chance.random() < 0.3 else one

    def _level(self, levels: Sequence[TermLike]) -> TermLike:
        s = self.s
        return self.chance.choice((*levels, 1, s.count, s.height[self._cell(())], s.count + 1))

    def _marked(self, cells: Sequence[TermLike], levels: Sequence[TermLike]) -> Term:
        return self.s.marked[self._cell(cells), self.chance.choice((*levels, 1, self.s.count))]

    def _coloured(self, cells: Sequence[TermLike], levels: Sequence[TermLike]) -> Term:
        return self.s.colour[self._cell(cells)] == self.chance.choice((Colour.RED, self.s.colour["c2"]))

    def _high(self, cells: Sequence[TermLike], levels: Sequence[TermLike]) -> Term:
        return self.s.is_high(self._cell(cells))

    def _pointed(self, cells: Sequence[TermLike], levels: Sequence[TermLike]) -> Term:
        return (
            lift(self._cell(cells)) == self.chance.choice((*cells, "c2"))
            if cells
            else self.s.next["c1"] == "c2"
        )

    def _compared(self, cells: Sequence[TermLike], levels: Sequence[TermLike]) -> Term:
        return lift(self._level(levels)) < self._level(levels)


def violation(seed: int) -> tuple[System, Trace]:
    """Return a system with a property that is false after a few random steps, and these steps."""
    chance, s = random.Random(seed), Board()
    holds = Terms(chance, s).truth(3, [], [])
    system = boarded(s, holds)
    replayer = Replayer(system, Subject("board", {}, {}))
    trace = replayer.record("so", chance.choices(system.ground_actions, k=chance.randrange(8)), ())
    if replayer.concrete.predicate(holds)(at_end(system, trace)):
        system = boarded(s, ~holds)
    return system, trace


def at_end(system: System, trace: Trace) -> State:
    """Return the last state of a trace."""
    concrete = Concrete(system)
    ends = [trace.value(v.family, *v.index) for v in system.variables]
    return concrete.state(v.domain.values.index(e) for v, e in zip(system.variables, ends, strict=True))


def mistakes(system: System, trace: Trace, found: Falsified, chance: random.Random) -> list[str]:
    """Return the statements that are not so: a value, a step, or that no other value matters."""
    by_name, wrong = {v.name: v for v in system.variables}, []
    for held in found.values:
        changed = [step.index for step in trace.steps if held.variable in step.changes]
        if trace.value(by_name[held.variable].family, *by_name[held.variable].index) not in (
            value for value in by_name[held.variable].domain if plain(value) == held.value
        ):
            wrong.append(f"value of {held.variable}")
        if held.step != (changed[-1] if changed else None):
            wrong.append(f"step of {held.variable}")
    holds = Concrete(system).predicate(system.properties[0].holds)
    kept = {by_name[held.variable].place: held.value for held in found.values}
    for _ in range(10):
        codes = [
            [plain(value) for value in v.domain].index(kept[v.place])
            if v.place in kept
            else chance.randrange(len(v.domain))
            for v in system.variables
        ]
        if holds(Concrete(system).state(codes)):
            wrong.append("the values do not suffice")
    return wrong


@by_seeds(60, 2000)
def test_the_values_named_make_the_property_false_no_matter_what_the_others_are(seeds: range) -> None:
    empty = 0
    for seed in seeds:
        system, trace = violation(seed)
        found = falsified(system.properties[0], trace, system.state)
        assert mistakes(system, trace, found, random.Random(seed)) == [], seed
        empty += not found.values
    assert empty < len(seeds) / 4


def test_a_wrong_step_an_old_value_and_a_missing_part_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def a_step_later(of: Family, index: tuple[Value, ...], trace: Trace) -> Held:
        right = held(of, index, trace)
        return replace(right, step=None if right.step is None else right.step + 1)

    def the_state_before(of: Family, index: tuple[Value, ...], trace: Trace) -> Held:
        return held(of, index, replace(trace, steps=trace.steps[:-1]))

    def only_the_last_part(parts: Iterable[_Found], decisive: bool, *others: object) -> _Found:
        seen = list(parts)
        return next((part for part in seen if part.value is decisive), _from(not decisive, seen[-1:]))

    held = module.held
    plants = (("held", a_step_later), ("held", the_state_before), ("_first", only_the_last_part))
    for name, planted in plants:
        with monkeypatch.context() as planting:
            planting.setattr(module, name, planted)
            found = [(violation(seed), random.Random(seed)) for seed in range(40)]
            assert any(
                mistakes(system, trace, falsified(system.properties[0], trace, system.state), chance)
                for (system, trace), chance in found
            ), planted


# The sentence.


def test_the_sentence_names_participants_values_and_steps() -> None:
    found = counterexample_of("lost")
    assert found.false_because.sentence == (
        "False for entry 1: taken_over is yes since step 5; acknowledged[1] is yes since step 4; "
        "kept[1] is no from the beginning."
    )


def test_a_participant_is_named_by_its_sort() -> None:
    s = Board()
    red = exists(s.cell, lambda c: s.colour[c] == Colour.RED)
    high = exists(s.cell, lambda c: s.height[c] == 2)
    system = boarded(s, ~(red & high))
    trace = Replayer(system, Subject("board", {}, {})).record("so", actions(system, ["paint: c2"]), ())
    found = falsified(system.properties[0], trace, s)
    assert found == Falsified(
        (Bound("cell", "c2"), Bound("cell", "c3")),
        (Held("colour[c2]", "red", 1), Held("height[c3]", 2, None)),
    )
    assert found.sentence == (
        "False for cell c2 and cell c3: colour[c2] is red since step 1; height[c3] is 2 from the beginning."
    )


def test_variables_with_one_value_since_one_step_are_named_together_and_at_most_twelve() -> None:
    s = Board()
    marked = exists(s.cell, lambda c: exists(s.level, lambda n: s.marked[c, n]))
    system = boarded(s, marked | (s.count == 1) | exists(s.cell, lambda c: s.height[c] < 0))
    trace = Replayer(system, Subject("board", {}, {})).record("so", actions(system, ["raise to: c1 2"]), ())
    found = falsified(system.properties[0], trace, s)
    marks = ", ".join(f"marked[c{c}, {n}]" for c in (1, 2, 3) for n in (0, 1, 2))
    assert found.sentence == (
        f"False: {marks} are no from the beginning; count, height[c1] are 2 since step 1; "
        "height[c2] is 1 from the beginning; and 1 more, which --format json has."
    )
    assert [held.variable for held in found.values][-1] == "height[c3]"


def test_a_property_that_reads_nothing_is_false_whatever_the_state_is() -> None:
    s = Board()
    system = boarded(s, forall(s.level, lambda n: n < 2))
    trace = Replayer(system, Subject("board", {}, {})).record("so", (), ())
    found = falsified(system.properties[0], trace, s)
    assert found.sentence == "False for level 2, whatever the state is."


@pytest.mark.parametrize("name", EXECUTIONS)
def test_the_values_of_shipped_protocols_suffice_too(name: str) -> None:
    counterexample = counterexample_of(name)
    system, trace = counterexample.system, counterexample.trace
    asked = replace(system, properties=(counterexample.prop,))
    assert mistakes(asked, trace, counterexample.false_because, random.Random(1)) == []


def test_the_explanation_of_the_author_comes_first_then_the_values() -> None:
    found = counterexample_of("lost")
    text = " ".join(counterexample_text(found).split())
    assert text.endswith(f"{found.explanation} {found.false_because.sentence}")
    page = in_form(found, "html")
    assert page.index("was acknowledged, but was not on") < page.index(
        "False for entry 1: taken_over is yes since"
    )
    assert '<a href="#step=4">step 4</a>' in page
