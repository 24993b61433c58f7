"""IC3: clauses that are found on tiny systems, and the symmetries that it may use."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from inspect import signature

import pytest

from fencepost.encoding.check import check
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.clauses import clause_text, with_found
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.messages import FoundPath
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.ic3 import symmetry
from fencepost.encoding.ic3.finder import FoundClauses, find
from fencepost.encoding.ic3.symmetry import symmetries
from fencepost.encoding.ic3.transitions import Transitions, transitions
from fencepost.encoding.language import (
    BOOL,
    Action,
    Parameter,
    Property,
    StateSpace,
    System,
    Term,
    at_least,
    choice,
    each,
    family,
    forall,
    integers,
    labels,
    variable,
)
from fencepost.encoding.language.sorts import subsets_of_size
from fencepost.encoding.language.system import Invariant
from fencepost.encoding.language.terms import lift
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.solving.answers import SpentError
from support.bare import Bare
from support.varied import inductive


class Nodes(StateSpace):
    """Nodes that pass a token on; the first one has it at first."""

    def __init__(self) -> None:
        self.node = labels("node", "n", 3)
        self.holds = family(BOOL, self.node, initial=lambda n: n == "n1")
        self.lost = choice(self.node, fault="lost")
        self.passed = variable(integers(0, 4))
        self.told = family(BOOL, self.node)
        self.missed = family(BOOL, self.node)


def pass_on(s: Nodes, giver: Parameter, taker: Parameter) -> Action:
    """Give the token to another node."""
    then = [s.holds[giver].set(False), s.holds[taker].set(True), s.passed.set(s.passed + 1)]
    return Action(s.holds[giver] & ~s.holds[taker] & (s.passed < 4), then, giver)


def tell(s: Nodes, node: Parameter) -> Action:
    """Tell a node something; the message may be lost."""
    return Action(~s.lost[node], [s.told[node].set(True)], node)


def miss(s: Nodes, node: Parameter) -> Action:
    """Notice that the message to a node was lost."""
    return Action(s.lost[node], [s.missed[node].set(True)], node)


def favour(s: Nodes) -> Action:
    """Tell the second node something in any case."""
    return Action(s.told["n1"], [s.told["n2"].set(True)], "n1")


def copy(s: Nodes, giver: Parameter, taker: Parameter) -> Action:
    """Make a second token."""
    then = [s.holds[taker].set(True), s.passed.set(s.passed + 1)]
    return Action(s.holds[giver] & (s.passed < 4), then, giver)


def pass_too_often(s: Nodes, giver: Parameter) -> Action:
    """Count without an end."""
    return Action(s.holds[giver], [s.passed.set(s.passed + 1)], giver)


CLAIMS: dict[str, Callable[[Nodes], Term]] = {
    "one-token": lambda s: ~at_least(2, s.node, lambda n: s.holds[n]),
    "few": lambda s: s.passed < 3,
    "told-or-missed": lambda s: forall(s.node, lambda n: ~(s.told[n] & s.missed[n])),
}


def nodes(*claims: str, more: Sequence[Callable[..., Action]] = ()) -> System:
    """Return the nodes with these claims as properties, and further actions."""
    s = Nodes()
    actions = [each(pass_on, s, s.node, s.node), each(tell, s, s.node), each(miss, s, s.node)]
    actions += [each(one, s, *(len(signature(one).parameters) - 1) * [s.node]) for one in more]
    properties = [Property(name, "", CLAIMS[name](s), s.passed == 1, "passed on") for name in claims]
    return System(s, tuple(actions), tuple(properties))


def found_by(system: System) -> list[FoundPath | FoundClauses]:
    """Return what IC3 says of all properties of a system."""
    messages = find(system, system.properties, system.invariants)
    return [message for message in messages if isinstance(message, FoundPath | FoundClauses)]


def refused(system: System) -> bool:
    """Return whether the judge withdraws a property that IC3 proves, or a clause that it found."""
    (found,) = found_by(system)
    assert isinstance(found, FoundClauses)
    return bool(inductive(with_found(system, found.clauses)).withdrawn)


def permutations(system: System) -> int:
    """Return the number of exchanges of neighbouring nodes that are symmetries."""
    symbolic = Symbolic(system)
    return len(list(symmetries(symbolic, transitions(symbolic, system.properties), system.properties)))


def test_clauses_are_found_that_the_judge_accepts() -> None:
    assert not refused(nodes("one-token"))


def test_a_clause_is_written_as_people_read_it() -> None:
    system = nodes("one-token")
    (found,) = found_by(system)
    assert isinstance(found, FoundClauses)
    texts = sorted(clause_text(system, clause) for clause in found.clauses)
    assert texts[0] == "holds[n1] = no or holds[n2] = no"


def test_a_violated_property_has_a_path_that_replays_and_the_others_are_proved() -> None:
    system = nodes("few", "one-token")
    path, clauses = found_by(system)
    assert isinstance(path, FoundPath) and isinstance(clauses, FoundClauses)
    assert (path.property, clauses.properties) == ("few", ("one-token",))
    actions = [system.ground_actions[number] for number in path.actions]
    assert len(Replayer(system, Subject("", {}, {})).replay(system.properties[0], actions, []).steps) == 3


def test_a_badly_defined_action_is_reached() -> None:
    """`passed` is counted beyond its domain."""
    (found, *_) = found_by(nodes("one-token", more=[pass_too_often]))
    assert isinstance(found, FoundPath) and found.property is None


def test_an_invariant_that_is_proved_already_is_taken_for_granted() -> None:
    """With the property itself as an invariant, no clause is left to find."""
    system = nodes("one-token")
    (alone,) = found_by(system)
    helped = replace(system, invariants=(Invariant("one", "", system.properties[0].holds),))
    (given,) = found_by(helped)
    assert isinstance(alone, FoundClauses) and isinstance(given, FoundClauses)
    assert (len(alone.clauses) > 0, given.clauses) == (True, ())


def of_one_mind(*names: str) -> Callable[..., Action]:
    """Return an action by which the second variable becomes equal to the first."""

    def follow(s: Copies) -> Action:
        return Action(s.tick | ~s.tick, [getattr(s, names[1]).set(getattr(s, names[0]))], names[1])

    follow.__name__ = f"{names[1]}_follows_{names[0]}"
    return follow


class Copies(StateSpace):
    """Variables that are all equal to a tick, in every reachable state."""

    def __init__(self) -> None:
        self.a, self.b, self.c, self.d, self.tick = (variable(BOOL) for _ in range(5))


def turn(s: Copies) -> Action:
    """Change all of them."""
    return Action(s.tick | ~s.tick, [v.set(~v) for v in (s.a, s.b, s.c, s.d, s.tick)], "a")


def test_invariants_are_taken_for_granted_with_the_properties_that_they_rest_on() -> None:
    """The invariant about `b` is inductive only with the property about `a`.

    Planted: the judge is given the invariant without that property. Then it withdraws the invariant.
    """
    s = Copies()
    follow = [of_one_mind(*pair) for pair in ("ab", "ba", "bd", "dc")]
    properties = [Property(name, "", getattr(s, name) == s.tick, s.tick, "turned") for name in ("a", "c")]
    actions = tuple(each(one, s) for one in (*follow, turn))
    system = System(s, actions, tuple(properties), invariants=(Invariant("of-b", "", s.b == s.tick),))
    limits = Limits(engines=("induction", "ic3"), jobs=1)
    results = check(Bare(system), properties, limits).results
    assert [(result.invariants, len(result.found)) for result in results] == [
        (("of-b",), 0),
        (("of-b", "a"), 2),
    ]


def test_a_message_is_lost_for_good_or_not_at_all() -> None:
    """The proof needs that a choice never changes, so its clauses read choices."""
    (found,) = found_by(nodes("told-or-missed"))
    assert isinstance(found, FoundClauses) and found.clauses


def test_no_more_conflicts_are_spent_than_allowed() -> None:
    system = nodes("one-token", "told-or-missed")
    messages = find(system, system.properties, conflicts=-1)
    with pytest.raises(SpentError):
        list(messages)


# Symmetries.


def test_a_permutation_has_to_keep_the_initial_state() -> None:
    """The first node has the token, so only the other two are exchanged."""
    assert permutations(nodes("one-token")) == 1


def test_a_permutation_has_to_keep_every_action() -> None:
    """One action tells the second node."""
    assert permutations(nodes("one-token", more=[favour])) == 0


def test_a_permutation_has_to_keep_every_property(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CLAIMS, "few", lambda s: ~s.holds["n3"] | (s.passed < 3))
    assert permutations(nodes("few")) == 0


def test_a_permutation_that_moves_the_initial_state_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the clauses that are found with it are false at first, and the judge refuses them."""
    monkeypatch.setattr(symmetry, "_keeps_initial_values", lambda symbolic, renamed: True)
    monkeypatch.setitem(CLAIMS, "few", lambda s: ~at_least(2, s.node, lambda n: s.holds[n] & (s.passed == 0)))
    assert permutations(nodes("few", more=[copy])) == 2
    assert refused(nodes("few", more=[copy]))


def test_an_orbit_that_is_too_large_ends_the_use_of_symmetry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames would no longer be mapped to themselves if only some images were blocked."""
    monkeypatch.setattr(symmetry, "MOST_IMAGES", 1)
    assert not refused(nodes("one-token"))


class Shelves(StateSpace):
    """Three nodes and four shelves. A node starts at the shelf of its number and moves once to any other."""

    def __init__(self) -> None:
        self.node = labels("node", "n", 3)
        self.shelf = integers(1, 4)
        self.at = family(self.shelf, self.node, initial=lambda n: int(str(n)[1:]))
        self.used = family(BOOL, self.shelf)


def move(s: Shelves, node: Parameter, shelf: Parameter) -> Action:
    """Move a node to a shelf that was not moved to before."""
    return Action(~s.used[shelf], [s.at[node].set(shelf), s.used[shelf].set(True)], node)


def shelves() -> System:
    """Return the nodes that move."""
    s = Shelves()
    somewhere = forall(s.node, lambda n: s.at[n] >= 1)
    return System(
        s, (each(move, s, s.node, s.shelf),), (Property("somewhere", "", somewhere, somewhere, ""),)
    )


def cube(relation: Transitions, state: State) -> frozenset[int]:
    """Return the literals that are true in a state."""
    return frozenset(
        number
        if (state[atom.place] >= atom.position if atom.at_least else state[atom.place] == atom.position)
        else -number
        for number, atom in enumerate(relation.atoms, 1)
    )


def test_an_exchange_of_numbers_that_moves_a_threshold_is_not_used() -> None:
    """`at[n1] ≥ 3` stays what it is if 1 and 2 change places. If 2 and 3 do, no atom says the same.

    What is used maps literals one to one, steps to steps, and the initial state to itself.
    """
    system = shelves()
    symbolic, concrete = Symbolic(system), Concrete(system)
    relation = transitions(symbolic, system.properties)
    (only,) = symmetries(symbolic, relation, system.properties)
    states = [bytes(s) for s in itertools.product(*(range(len(v.domain)) for v in system.variables))]
    pairs = [(s, after) for s in states for step in concrete.steps for after in step.successors(s)]
    steps = {(cube(relation, before), cube(relation, after)) for before, after in pairs}
    assert sorted(map(abs, only)) == list(range(len(relation.atoms) + 1))
    assert {(symmetry.image(one, only), symmetry.image(other, only)) for one, other in steps} == steps
    assert symmetry.image(relation.initial, only) == relation.initial


class Shared(StateSpace):
    """Two sorts that share a label, and sets of the smaller one."""

    def __init__(self) -> None:
        self.many = labels("many", "p", 2)
        self.up = family(BOOL, self.many)
        self.chosen = subsets_of_size("chosen", labels("few", "p", 1), 1)


def rise(s: Shared, chosen: Parameter, one: Parameter) -> Action:
    """Go up."""
    return Action(when=~s.up[one], then=[s.up[one].set(True)], actor=one, note="with {chosen}")


def test_an_exchange_that_makes_a_set_without_a_name_is_no_symmetry() -> None:
    """The sets of p1 have no set {p2}. IC3 once ended with a KeyError.

    Planted: the empty set stands for a set without a name.
    """
    s = Shared()
    claim = Property("some", "x", holds=lift(True), witness=s.up["p1"], witness_meaning="w")
    system = System(s, (each(rise, s, s.chosen, s.many),), (claim,))
    assert list(symmetry.candidates(Symbolic(system))) == []
