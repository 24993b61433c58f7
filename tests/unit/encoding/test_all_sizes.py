"""The reading over sorts of any size: it agrees with the concrete reading, or refuses a term."""

from __future__ import annotations

import enum
import itertools
import random
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
import z3

from fencepost.encoding.all_sizes.quantified_claims import claims
from fencepost.encoding.all_sizes.unbounded import Unbounded
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.random_executions import random_execution
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.actions import Action, GroundAction, each
from fencepost.encoding.language.quantifiers import at_least, everywhere, forall
from fencepost.encoding.language.sorts import BOOL, Sort, Value, integers, members, of_any_size
from fencepost.encoding.language.state import StateSpace, family, variable
from fencepost.encoding.language.system import Invariant, System
from fencepost.encoding.language.terms import TRUE, Family, Parameter, Term, Update
from fencepost.properties.bookkeeper.core import with_properties
from fencepost.protocols.bookkeeper.core import CoreParameters, core, core_of_any_size

SMALL = CoreParameters(2, 2, 1, 1, entries=1, forgets="entries-then-limbo")


class Finite:
    """The reading over sorts of any size, pinned to the things of a finite instance."""

    def __init__(self) -> None:
        self.open, self.small = core_of_any_size(SMALL), with_properties(core(SMALL))
        self.reading = Unbounded(self.open.state)
        self.sorts = {
            name: getattr(self.small.state, name)
            for name in ("bookie", "client", "entry", "write_set", "ack_quorum", "absent_quorum")
        }
        self.things: dict[tuple[str, Value], Any] = {}
        self.pinned = z3.Solver()
        for name, sort in self.sorts.items():
            free = getattr(self.open.state, name)
            own = [z3.Const(f"{name}!{value}", self.reading.sort(free)) for value in sort]
            self.things |= {(free.name, value): thing for value, thing in zip(sort, own, strict=True)}
            self.pinned.add(z3.Distinct(*own))
            anything = z3.Const(f"any!{name}", self.reading.sort(free))
            self.pinned.add(z3.ForAll([anything], z3.Or(*(anything == thing for thing in own))))

    def fixed_to(self, variables: Any, state: State) -> list[Any]:
        """Return formulas that give the state variables their values in a state, one for each place."""
        by_name: Mapping[str, Family] = {f.name: f for f in self.open.state.families}
        concrete = Concrete(self.small)
        found = []
        for place in self.small.variables:
            free = by_name[place.family.name]
            index = [self.things[sort.name, v] for sort, v in zip(free.over, place.index, strict=True)]
            value = concrete.value(state, place)
            read = variables[free](*index)
            found.append(
                read == self.things[free.domain.name, value] if not free.domain.counted else read[value]
            )
        return found


def test_each_step_of_the_core_is_the_same_in_both_readings() -> None:
    """Random steps of a finite instance, possible or not, are read over sorts whose members are listed."""
    both, chance = Finite(), random.Random(7)
    concrete = Concrete(both.small)
    schemas = {s.name: s for s in both.open.schemas}
    fired = set()
    for _ in range(4):
        states = [
            state for _, state in itertools.islice(random_execution(concrete, chance, losing=False), 25)
        ]
        for state in chance.sample(states, min(5, len(states))):
            both.pinned.push()
            both.pinned.add(*both.fixed_to(both.reading.before, state))
            assert both.pinned.check() == z3.sat
            for step in chance.sample(concrete.steps, 12):
                schema = schemas[step.action.schema.name]
                pairs = zip(schema.parameters, step.action.arguments, strict=True)
                things = tuple(both.things[p.sort.name, v] for p, v in pairs)
                environment = GroundAction(schema, things).environment
                guard = both.reading.holds(schema.action.when, both.reading.before, environment)
                after = next(step.successors(state), None)
                agrees = guard
                if after is not None:
                    fired.add(schema.name)
                    agrees = z3.And(guard, *both.fixed_to(both.reading.after(schema, environment), after))
                both.pinned.push()
                both.pinned.add(z3.Not(agrees) if after is not None else guard)
                assert both.pinned.check() == z3.unsat, step.action.name
                both.pinned.pop()
            both.pinned.pop()
    assert len(fired) > 5


class Lamps(StateSpace):
    """Any number of lamps, and the one that was lit last."""

    def __init__(self) -> None:
        self.lamp = of_any_size("lamp")
        self.lit = family(BOOL, self.lamp)
        self.last = variable(self.lamp)


def light(s: Lamps, lamp: Parameter) -> Action:
    """Light one lamp, and no other."""
    return Action(
        when=TRUE,
        then=[*everywhere(s.lamp, lambda k: s.lit[k].set(k == lamp)), s.last.set(lamp)],
        actor="a",
    )


def lamps(*invariants: Invariant) -> tuple[Lamps, System]:
    s = Lamps()
    return s, System(s, (each(light, s, s.lamp),), invariants=invariants)


def proved(system: System) -> list[str]:
    """Return the names of the claims that z3 proves."""

    def holds(assume: tuple[Any, ...], claim: Any) -> bool:
        solver = z3.Solver()
        solver.add(*assume, z3.Not(claim))
        return bool(solver.check() == z3.unsat)

    return [c.name for c in claims(system) if holds(c.assume, c.claim)]


def test_an_update_over_a_sort_of_any_size_sets_every_value_of_it() -> None:
    s, system = lamps()
    only_last = Invariant(
        "only-last", "Only the last is lit.", forall(s.lamp, lambda k: (s.last == k) | ~s.lit[k])
    )
    none = Invariant("none", "None is lit.", forall(s.lamp, lambda k: ~s.lit[k]))
    assert proved(System(s, system.actions, invariants=(only_last,))) == [
        "only-last.at-first",
        "only-last.light",
    ]
    assert proved(System(s, system.actions, invariants=(none,))) == ["none.at-first"]


def test_two_updates_that_may_meet_are_a_claim_of_their_own() -> None:
    s = Lamps()

    def twice(s: Lamps, one: Parameter, other: Parameter) -> Action:
        """Change two lamps, which may be the same."""
        return Action(when=TRUE, then=[s.lit[one].set(True), s.lit[other].set(False)], actor="a")

    def apart(s: Lamps, one: Parameter, other: Parameter) -> Action:
        """Change two lamps."""
        then: list[Update] = [s.lit[one].set(True), s.lit[other].set(False)]
        return Action(when=one != other, then=then, actor="a")

    system = System(s, (each(twice, s, s.lamp, s.lamp), each(apart, s, s.lamp, s.lamp)))
    assert [c.name for c in claims(system)] == ["twice.once", "apart.once"]
    assert proved(system) == ["apart.once"]


def test_what_counts_cannot_be_read() -> None:
    s, _ = lamps()
    counting = Invariant("two", "Two are lit.", at_least(2, s.lamp, lambda k: s.lit[k]))
    with pytest.raises(ModelError, match="cannot count, add or compare"):
        claims(lamps_with(s, counting))


def lamps_with(s: Lamps, invariant: Invariant) -> System:
    return System(s, (each(light, s, s.lamp),), invariants=(invariant,))


def test_a_counted_index_is_refused() -> None:
    class Mixed(StateSpace):
        def __init__(self) -> None:
            self.numbered = family(BOOL, integers(1, 3))

    with pytest.raises(ModelError, match="an index must be a sort of any size"):
        Unbounded(Mixed())


def test_nothing_goes_through_a_sort_of_any_size() -> None:
    _, system = lamps()
    with pytest.raises(TypeError, match="lamp is a sort of any size"):
        print(system.ground_actions)
    with pytest.raises(TypeError, match="lamp is a sort of any size"):
        Concrete(system).initial()


class Colour(enum.Enum):
    """A counted domain of more than two values."""

    OFF = "off"
    RED = "red"
    GREEN = "green"


class Signals(StateSpace):
    """Any number of signals, and which of them was seen red."""

    def __init__(self) -> None:
        self.signal = of_any_size("signal")
        self.shows = family(members(Colour), self.signal)
        self.seen = family(BOOL, self.signal)


def forget(s: Signals, signal: Parameter) -> Action:
    """Forget what was seen of a green signal."""
    return Action(when=s.shows[signal] == Colour.GREEN, then=[s.seen[signal].set(False)], actor="a")


def test_a_variable_has_one_of_three_values() -> None:
    # Planted: a signal that is red and green at once, which would break every claim about red ones.
    s = Signals()
    red = Invariant("red", "", forall(s.signal, lambda k: (s.shows[k] != Colour.RED) | s.seen[k]))
    green = Invariant("green", "", forall(s.signal, lambda k: (s.shows[k] != Colour.GREEN) | s.seen[k]))
    system = System(s, (each(forget, s, s.signal),), invariants=(red, green))
    steps = [name for name in proved(system) if name.endswith("forget")]
    assert steps == ["red.forget"]


def test_equal_terms_are_read_as_equal_formulas() -> None:
    """The names of bound variables do not depend on what was read before."""
    s, system = lamps()
    reading = Unbounded(system.state)
    none = forall(s.lamp, lambda k: ~s.lit[k])
    assert reading.holds(none, reading.before).eq(reading.holds(none, reading.before))


def shows_none(levels: Family, level: Value, lamp: Parameter) -> Term:
    """Return the term that the lamp is not at that level."""
    return levels[lamp] != level


@pytest.mark.parametrize(
    "domain", [integers(0, 2), integers(1, 3), integers(0, 1)], ids=["0-2", "1-3", "0-1"]
)
def test_a_number_is_no_truth_value(domain: Sort) -> None:
    # A family of numbers was once read as truth values. 1 == True in Python, so after an update 2 was never
    # reached.

    class Levels(StateSpace):
        def __init__(self) -> None:
            self.lamp = of_any_size("lamp")
            self.level = family(domain, self.lamp)

    def turn(s: Levels, lamp: Parameter) -> Action:
        """Go to the highest level."""
        return Action(when=TRUE, then=[s.level[lamp].set(domain.values[-1])], actor="a")

    s = Levels()
    kept = []
    for level in domain:
        never = Invariant("never", "", forall(s.lamp, partial(shows_none, s.level, level)))
        kept.append("never.turn" in proved(System(s, (each(turn, s, s.lamp),), invariants=(never,))))
    assert kept == [level != domain.values[-1] for level in domain]
