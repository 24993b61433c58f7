"""The enumeration of reachable states against exploring, against formulas, and with planted mistakes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from preset_instances import INSTANCES

from fencepost.encoding.check import check
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.steps import State, Step
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.messages import FoundPath, Visited
from fencepost.encoding.engine.verdicts import Basis, Fewest, Result, Verdict
from fencepost.encoding.enumeration import process
from fencepost.encoding.enumeration.in_formulas import confirm
from fencepost.encoding.enumeration.orbits import Orbits, symmetries_of
from fencepost.encoding.enumeration.process import enumerate_states
from fencepost.encoding.enumeration.visits import Visits
from fencepost.encoding.errors import BadInput, InternalError, ModelError
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.ic3 import symmetry
from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.messages import message
from fencepost.encoding.language.quantifiers import forall
from fencepost.encoding.language.sorts import BOOL, integers, labels
from fencepost.encoding.language.state import StateSpace, choice, family, variable
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import FALSE, TRUE, Parameter, Term
from fencepost.encoding.language.traces import Subject
from support.bare import Bare
from support.exploration import explore
from support.generated import by_seeds, compare, fewest_steps, generate
from support.instances import built
from support.varied import by_rounds, explored
from support.varied import generate as varied


@dataclass
class Enumerated:
    """The result of an enumeration: the steps to each violation and witness, and the states visited."""

    steps: dict[str, int] = field(default_factory=dict)
    visited: Visited | None = None


def enumerated(system: System, budgets: Mapping[str, int] | None = None) -> Enumerated:
    """Return what the enumeration says of a system, in this process; each path is replayed."""
    found, replayer = Enumerated(), Replayer(system, Subject("", {}, {}))
    properties = {prop.name: prop for prop in system.properties}
    for said in enumerate_states(system, system.properties, budgets or {}):
        match said:
            case FoundPath(property=str(name), actions=numbers, choices=choices):
                actions = [system.ground_actions[number] for number in numbers]
                lost = [system.choices[position].name for position in choices]
                prop = properties[name.removeprefix("never/")]
                target = prop.witness if name.startswith("never/") else ~prop.holds
                replayer.reach(name, target, actions, lost)
                found.steps[name] = len(actions)
            case Visited():
                found.visited = said
    return found


@pytest.fixture
def symmetric(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use symmetry from the second state on."""
    monkeypatch.setattr(process, "PLAIN", 1)


def result(system: System, **limits: Any) -> Result:
    """Return the result of `check --engine enumeration` for the first property."""
    asked = Limits(engines=("enumeration",), jobs=1, timeout=600, **limits)
    return check(Bare(system), system.properties[:1], asked).results[0]


# Against exploring and against formulas.


def states_differ(system: System) -> bool:
    """Return whether the visited states are not those of exploring, or those not the ones of the formulas."""
    states = {node for node, _ in Visits(Concrete(system)).nodes()}
    return states != {visit.state for visit in explore(system)} or not compare(system).agree


def verdicts_differ(system: System) -> bool:
    """Return whether verdicts, steps or the number of states are not those of formulas and exploring."""
    by_formulas, truth = by_rounds(system), explored(system)
    assert truth is not None
    try:
        found = enumerated(system)
    except ModelError:
        return not by_formulas.badly_defined
    if by_formulas.false or truth.false:
        return found.steps.get("p") != truth.false.get("p") or "p" not in by_formulas.false
    if by_formulas.badly_defined or found.visited is None:
        return True
    witnessed = "never/p" in found.steps
    return (witnessed, found.visited.states) != (by_formulas.witnessed, sum(1 for _ in explore(system)))


def accepted(seeds: range) -> Iterator[tuple[int, System]]:
    """Yield the varied systems of these seeds that are accepted and can be explored, without invariants."""
    for seed in seeds:
        try:
            system = replace(varied(seed), invariants=())
            sent_at_most_once(system)
        except ModelError:
            continue
        if explored(system) is not None:
            yield seed, system


@by_seeds(10, 120)
def test_the_states_are_those_of_exploring_and_those_of_the_formulas(seeds: range) -> None:
    for seed in seeds:
        assert not states_differ(generate(seed, posts=seed % 2 == 0)), f"seed {seed}"


@by_seeds(20, 300)
@pytest.mark.parametrize("plain", [process.PLAIN, 1], ids=["plain", "with symmetry"])
def test_verdicts_are_those_of_the_formulas(
    seeds: range, plain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "PLAIN", plain)
    for seed, system in accepted(seeds):
        assert not verdicts_differ(system), f"seed {seed}"


def test_some_varied_systems_have_symmetries() -> None:
    groups = [
        symmetries_of(Concrete(system), Symbolic(system), system.properties)
        for _, system in accepted(range(16))
    ]
    assert sum(map(bool, groups)) > 1


@by_seeds(4, 30)
def test_check_says_what_exploring_says(seeds: range) -> None:
    for seed in seeds:
        system = generate(seed, posts=True)
        found = result(system)
        fewest = fewest_steps(system)
        if fewest is None:
            assert (found.verdict, found.basis) == (Verdict.PROVED, Basis.ENUMERATION)
            assert found.visited is not None
        else:
            assert (found.verdict, found.steps, found.fewest) == (Verdict.VIOLATED, fewest, Fewest.OF_ALL)
            assert found.shortest_at_least == fewest


PRESETS = [
    pytest.param(
        name,
        settings,
        marks=pytest.mark.long if number > 0 else [pytest.mark.slow] if "bookkeeper" in name else [],
    )
    for name, some in INSTANCES.items()
    for number, settings in enumerate(some)
]
"""The first instance of a preset in `make test`, all in `make test-long`."""


@pytest.mark.parametrize(("preset", "settings"), PRESETS)
def test_the_formulas_of_a_preset_have_the_visited_paths(preset: str, settings: Mapping[str, object]) -> None:
    """Each of the first states, some of them, is what the formulas say after the same actions."""
    system, _ = built(preset, settings)
    symbolic, reached = Symbolic(system), Visits(Concrete(system))
    nodes = [node for node, _ in itertools.islice(reached.nodes(), 2000)]
    for node in nodes[:: max(1, len(nodes) // 5)]:
        actions, state, _ = reached.path(node)
        assert state == node
        confirm(symbolic, TRUE, actions, reached.losses(node))
        with pytest.raises(InternalError, match="the formulas do not have"):
            confirm(symbolic, FALSE, actions, reached.losses(node))


# Faults.


class Cell(StateSpace):
    """A place that a message or a crash opens; another crash behind it is bad."""

    def __init__(self) -> None:
        self.step = variable(integers(0, 2))
        self.open = variable(BOOL)
        self.bad = variable(BOOL)


def advance(s: Cell) -> Action:
    """Go on, and in the second step open the door."""
    return Action(s.step < 2, [s.step.set(s.step + 1), s.open.set(s.step == 1)], "a")


def leap(s: Cell) -> Action:
    """Do the same at once, by a crash."""
    return Action(s.step == 0, [s.step.set(2), s.open.set(True)], "a", fault="crashes")


def fall(s: Cell) -> Action:
    """Crash behind the door."""
    return Action(s.open & ~s.bad, [s.bad.set(True)], "a", fault="crashes")


def cell() -> System:
    s = Cell()
    good = Property("good", "nothing is bad", ~s.bad, s.open, "the door is open")
    return System(s, (each(advance, s), each(leap, s), each(fall, s)), (good,))


@pytest.mark.parametrize(("most", "steps"), [(2, 2), (1, 3), (0, None)])
def test_budgets_of_faults_hold(most: int, steps: int | None) -> None:
    system = cell()
    found = result(system, budgets={"crashes": most})
    assert (found.steps, found.verdict) == (steps, Verdict.VIOLATED if steps else Verdict.PROVED)
    limits = Limits(engines=("rounds",), jobs=1, budgets={"crashes": most})
    (again,) = check(Bare(system), system.properties, limits).results
    assert (again.steps, again.verdict) == (steps, found.verdict)
    if found.visited is not None:
        assert found.visited.states == 3


def test_a_budget_that_a_node_cannot_count_is_refused() -> None:
    with pytest.raises(BadInput, match="counts at most 255 faults crashes"):
        result(cell(), budgets={"crashes": 256})


class Post(StateSpace):
    """Two letters. Each is read or given up, as it is lost or not."""

    def __init__(self) -> None:
        self.letter = labels("letter", "l", 2)
        self.posted = family(BOOL, self.letter)
        self.read = family(BOOL, self.letter)
        self.gave_up = family(BOOL, self.letter)
        self.apart = variable(BOOL)
        self.lost = choice(self.letter, fault="lost")


def post(s: Post, letter: Parameter) -> Action:
    """Post a letter, which may be lost."""
    sent = [message("letter", "sender", letter, lost=s.lost[letter])]
    return Action(~s.posted[letter], [s.posted[letter].set(True)], "sender", sent=sent)


def read(s: Post, letter: Parameter) -> Action:
    """Read a letter that is not lost."""
    return Action(s.posted[letter] & ~s.lost[letter], [s.read[letter].set(True)], letter)


def give_up(s: Post, letter: Parameter) -> Action:
    """Stop waiting for a letter that is lost."""
    return Action(s.posted[letter] & s.lost[letter], [s.gave_up[letter].set(True)], letter)


def compare_letters(s: Post) -> Action:
    """Note that one letter is lost and the other is not."""
    differ = (s.lost["l1"] & ~s.lost["l2"]) | (~s.lost["l1"] & s.lost["l2"])
    return Action(~s.apart & forall(s.letter, lambda n: s.posted[n]) & differ, [s.apart.set(True)], "sender")


def letters(holds: str) -> System:
    s = Post()
    claims: dict[str, Term] = {
        "one-end": forall(s.letter, lambda n: ~(s.read[n] & s.gave_up[n])),
        "alike": ~s.apart,
        "all": TRUE,
    }
    prop = Property(holds, holds, claims[holds], s.posted["l1"], "a letter is posted")
    ends = (each(read, s, s.letter), each(give_up, s, s.letter)) if holds == "one-end" else ()
    return System(s, (each(post, s, s.letter), *ends, each(compare_letters, s)), (prop,))


def test_a_loss_is_decided_once_and_each_by_itself() -> None:
    assert enumerated(letters("one-end")).visited is not None
    assert enumerated(letters("alike")).steps["alike"] == 3
    assert result(letters("alike"), budgets={"lost": 0}).verdict is Verdict.PROVED
    assert result(letters("alike"), budgets={"lost": 1}).verdict is Verdict.VIOLATED


def test_two_losses_that_are_decided_as_one_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the choices that an action reads get one value. Formulas have the violation."""
    true = Step.successors

    def as_one(self: Step, state: State) -> Iterator[State]:
        for after in true(self, state):
            if len({after[place] for place in self.choices if state[place] == 2}) < 2:
                yield after

    system = letters("alike")
    monkeypatch.setattr(Step, "successors", as_one)
    assert enumerated(system).visited is not None and "alike" in by_rounds(system).false


def test_a_loss_that_is_decided_both_ways_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a choice is open again after the step. The formulas do not have the path."""
    true = Step.successors

    def again(self: Step, state: State) -> Iterator[State]:
        for after in true(self, state):
            yield bytes(2 if place in self.choices else code for place, code in enumerate(after))

    monkeypatch.setattr(Step, "successors", again)
    with pytest.raises(InternalError, match="the formulas do not have"):
        enumerated(letters("one-end"))


# Other planted mistakes.


def test_a_state_entered_again_with_fewer_faults_is_entered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: it is not. Then the violation with one crash is missed."""
    true = Visits.after

    def forgetful(self: Visits, node: State) -> Iterator[tuple[int, State]]:
        for number, after in true(self, node):
            if not any(after != seen and after[:3] == seen[:3] for seen in self._seen):
                yield number, after

    assert enumerated(cell(), {"crashes": 1}).steps["good"] == 3
    monkeypatch.setattr(Visits, "after", forgetful)
    assert "good" not in enumerated(cell(), {"crashes": 1}).steps


def test_a_state_that_is_dropped_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the last state after each node. The verdicts then differ from those of the formulas."""
    true = Visits.after

    def dropping(self: Visits, node: State) -> Iterator[tuple[int, State]]:
        yield from list(true(self, node))[:-1]

    assert not any(states_differ(generate(seed)) for seed in range(3))
    monkeypatch.setattr(Visits, "after", dropping)
    assert all(states_differ(generate(seed)) for seed in range(3))
    assert any(verdicts_differ(system) for _, system in accepted(range(20)))


class Token(StateSpace):
    """Three nodes. The first has the token, and only a node with the token works."""

    def __init__(self) -> None:
        self.node = labels("node", "n", 3)
        self.holds = family(BOOL, self.node, initial=lambda n: n == "n1")
        self.worked = family(BOOL, self.node)


def work(s: Token, node: Parameter) -> Action:
    """Work with the token, and put it down."""
    return Action(s.holds[node], [s.worked[node].set(True), s.holds[node].set(False)], node)


def help_out(s: Token, node: Parameter, other: Parameter) -> Action:
    """Work after another one."""
    return Action(s.worked[node] & (node != other), [s.worked[other].set(True)], other)


def token() -> System:
    s = Token()
    prop = Property(
        "all",
        "all",
        forall(s.node, lambda n: implies(s.holds[n], ~s.worked[n])),
        forall(s.node, lambda n: s.worked[n]),
        "",
    )
    return System(s, (each(work, s, s.node), each(help_out, s, s.node, s.node)), (prop,))


def states_up_to_symmetry(system: System) -> tuple[int, int]:
    """Return the number of states visited up to symmetry, and the number that they stand for."""
    visited = enumerated(system).visited
    assert visited is not None and visited.orbits is not None
    return visited.orbits, visited.states


def test_symmetry_changes_no_count(symmetric: None) -> None:
    orbits, states = states_up_to_symmetry(token())
    assert orbits < states == sum(1 for _ in explore(token()))


def test_a_permutation_that_moves_the_initial_state_is_noticed(
    symmetric: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: states are visited that no execution reaches, so a path to one does not replay."""
    monkeypatch.setattr(symmetry, "_keeps_initial_values", lambda symbolic, renamed: True)
    with pytest.raises(NotAnExecution):
        states_up_to_symmetry(token())


def test_a_way_to_a_state_up_to_symmetry_is_an_execution(symmetric: None) -> None:
    system = token()
    group = symmetries_of(Concrete(system), Symbolic(system), ())
    concrete = Concrete(system)
    reached = Visits(concrete, {}, Orbits(concrete, group, len(system.variables)))
    for node, _ in list(reached.nodes()):
        actions, state, _ = reached.path(node)
        assert Replayer(system, Subject("", {}, {})).follow(actions, ())[-1] == state


def test_a_violation_that_the_formulas_do_not_have_is_an_internal_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted: the concrete reading forgets the guard."""
    monkeypatch.setattr(Step, "successors", lambda self, state: iter([self.after(state)]))
    with pytest.raises(InternalError, match="the formulas do not have"):
        enumerated(cell())


# Limits.


def test_the_bound_in_steps_is_kept() -> None:
    system = cell()
    assert [result(system, bound=bound).verdict for bound in (0, 1, 2)] == [
        Verdict.VACUOUS,
        Verdict.HOLDS,
        Verdict.VIOLATED,
    ]
    found = result(letters("all"), bound=40)
    assert (found.verdict, found.visited is not None) == (Verdict.PROVED, True)


def test_a_witness_that_no_visited_state_reaches_is_out_of_reach() -> None:
    s = Cell()
    prop = Property("p", "p", TRUE, s.bad, "something is bad")
    system = System(s, (each(advance, s),), (prop,))
    found = result(system)
    assert (found.verdict, found.unreachable) == (Verdict.VACUOUS, True)
    assert found.reason == "never reached: something is bad"
    found = result(system, bound=1)
    assert (found.verdict, found.unreachable) == (Verdict.VACUOUS, False)
    assert found.reason is not None and found.reason.endswith("a larger bound may reach it")


def test_other_engines_go_on_after_a_number_of_states(monkeypatch: pytest.MonkeyPatch) -> None:
    from fencepost.encoding.enumeration import state_enumeration

    systems = (generate(seed, posts=True) for seed in range(20))
    system = next(system for system in systems if fewest_steps(system) is None)
    first = Limits(jobs=1, enumeration_first=True)
    assert check(Bare(system), system.properties, first).results[0].basis is Basis.ENUMERATION
    monkeypatch.setattr(state_enumeration, "STATES", 3)
    found = check(Bare(system), system.properties, first).results[0]
    assert found.verdict is Verdict.PROVED and found.basis is not Basis.ENUMERATION


def test_a_sending_that_repeats_is_refused() -> None:
    s = Post()
    again = Action(TRUE, [], "sender", sent=[message("letter", "sender", "l1", lost=s.lost["l1"])])
    from fencepost.encoding.language.actions import Schema

    prop = Property("p", "p", TRUE, TRUE, "")
    system = System(s, (Schema("again", "", (), again), each(read, s, s.letter)), (prop,))
    with pytest.raises(ModelError, match="more than once"):
        result(system)


def test_a_trap_that_ends_is_refused() -> None:
    s = Cell()
    prop = Property("p", "p", TRUE, TRUE, "", traps={"shut": ~s.open})
    with pytest.raises(ModelError, match="may end the trap"):
        result(System(s, (each(advance, s),), (prop,)))
