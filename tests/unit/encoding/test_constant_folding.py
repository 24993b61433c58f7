"""Folding: a variable that never changes is replaced by its value, and no other is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.fold import constants, folded
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.sorts import BOOL, integers
from fencepost.encoding.language.state import StateSpace, choice, family, variable
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import FALSE, TRUE, Parameter, Term, Update
from support.exploration import explore

NODE = integers(1, 2)


class Room(StateSpace):
    """Lamps with a switch, a fuse that only a layer blows, and a variable that follows from the fuse."""

    def __init__(self) -> None:
        self.node = NODE
        self.fuse_blown = family(BOOL, NODE)
        self.dark = family(BOOL, NODE)
        self.on = family(BOOL, NODE)
        self.turns = variable(integers(0, 2))
        self.stuck = choice(NODE, fault="stuck")


def turn_on(s: Room, node: Parameter) -> Action:
    return Action(
        when=~s.fuse_blown[node] & ~s.on[node] & ~s.stuck[node] & (s.turns < 2),
        then=[
            s.on[node].set(True),
            s.dark[node].set(s.fuse_blown[node]),
            s.turns.set(if_(s.dark[node], s.turns, s.turns + 1)),
        ],
        actor="someone",
    )


def blow(s: Room, node: Parameter) -> Action:
    return Action(when=s.on[node], then=[s.fuse_blown[node].set(True)], actor="someone")


def room(*handlers: object, holds: Term | None = None) -> System:
    s = Room()
    prop = Property("p", "", holds or ~exists(NODE, lambda n: s.dark[n]), TRUE, "")
    return System(s, tuple(each(h, s, NODE) for h in handlers), (prop,))  # type: ignore[arg-type]


def names(system: System) -> set[str]:
    return {f.name for f in constants(system)}


def test_what_no_action_writes_is_constant_and_so_is_what_only_gets_what_it_has() -> None:
    system = room(turn_on)
    assert names(system) == {"fuse_blown", "dark"}
    (schema,) = folded(system).schemas
    assert line(schema.action.when) == "not on[node] and not stuck[node] and turns < 2"
    assert [u.target.family.name for u in schema.action.then] == ["on", "turns"]
    assert line(schema.action.then[1].value) == "turns + 1"
    assert folded(system).properties[0].holds is TRUE


def test_a_layer_that_writes_a_variable_keeps_it_and_what_follows_from_it() -> None:
    assert names(room(turn_on, blow)) == set()


def test_an_action_that_cannot_happen_writes_nothing() -> None:
    def blow_never(s: Room, node: Parameter) -> Action:
        """Blow the fuse only in a dark room."""
        return Action(when=s.dark[node], then=[s.fuse_blown[node].set(True)], actor="someone")

    assert names(room(turn_on, blow_never)) == {"fuse_blown", "dark"}


@pytest.mark.parametrize("handlers", [(turn_on,), (turn_on, blow)])
def test_the_executions_are_the_same(handlers: tuple[object, ...]) -> None:
    system = room(*handlers)
    visits = [(v.state, v.steps) for v in explore(system)]
    assert [(v.state, v.steps) for v in explore(folded(system))] == visits


def test_choices_are_never_constant() -> None:
    assert not any(f.fault for f in constants(room(turn_on)))
    assert folded(room(turn_on)).properties[0].witness is not FALSE


@pytest.mark.parametrize(
    "then",
    [
        lambda s, node: [s.dark[node].set(False), s.dark[node].set(False)],
        lambda s, node: [s.dark[s.turns].set(False)],
        lambda s, node: [s.turns.set(if_(s.dark[s.turns], 0, 0))],
    ],
    ids=["set twice", "set outside", "read outside"],
)
def test_folding_keeps_what_is_badly_defined(then: Callable[[Room, Parameter], list[Update]]) -> None:
    """Nothing else writes the variable, so folding would drop the update or the read with the mistake."""

    def act(s: Room, node: Parameter) -> Action:
        return Action(when=~s.on[node], then=[s.on[node].set(True), *then(s, node)], actor="someone")

    concrete = Concrete(folded(room(act)))
    step, state = concrete.steps[0], concrete.initial()
    with pytest.raises(ModelError, match=r"sets dark.* twice|does not exist"):
        list(step.successors(state))
