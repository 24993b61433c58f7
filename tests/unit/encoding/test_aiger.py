"""Instances as AIGER files have the states and violations of the concrete reading, and ABC agrees.

Each planted mistake below must be noticed.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.cli.main import run
from fencepost.encoding.abc.finder import clauses
from fencepost.encoding.abc.process import BadPath, pdr
from fencepost.encoding.concrete.random_executions import random_execution
from fencepost.encoding.engine.clauses import clause_text
from fencepost.encoding.engine.limits import abc_program
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.formulas.aiger import WRONG, CircuitBuilder
from fencepost.encoding.formulas.and_inverter import FALSE, AndInverterGraph, Literal, Translation, leaf
from fencepost.encoding.language.actions import Action, Schema
from fencepost.encoding.language.messages import message
from fencepost.encoding.language.protocol import load
from fencepost.encoding.language.sorts import BOOL, Value, integers
from fencepost.encoding.language.state import StateSpace, Variable, choice, variable
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import TRUE, Term
from fencepost.encoding.solving.logic import FALSE as FALSEHOOD
from fencepost.encoding.solving.logic import TRUE as TRUTH
from fencepost.encoding.solving.logic import Formula, conj, disj, iff, ite, named, neg
from fencepost.properties.catalogue import find
from support.aiger import Beside, Machine, read
from support.generated import by_seeds, generate
from support.instances import TWO_BOOKIES

EXAMPLES = Path(__file__).parents[3] / "examples"

Case = tuple[str, Mapping[str, object]]
"""A protocol and its settings."""

TINY: list[Case] = [
    ("two_phase_commit.py", {"participants": 2}),
    ("two_phase_commit.py", {"participants": 2, "votes": "majority"}),
    ("two_copies.py", {}),
    ("two_copies.py", {"fence": "yes"}),
    ("two_copies.py", {"fence": "yes", "acknowledge": "reachable"}),
    ("lease_lock.py", {}),
    ("lease_lock.py", {"storage": "checks"}),
    ("one_owner.py", {}),
    ("one_owner.py", {"release": "at-once"}),
    ("two_voices.py", {}),
]
"""Instances that are explored to the end."""

LARGER: list[Case] = [
    ("two_phase_commit.py", {"participants": 5}),
    ("two_copies.py", {"entries": 3, "acknowledge": "reachable"}),
    ("bookkeeper-4.13", {**TWO_BOOKIES, "recovery_reads_fence": "yes"}),
    ("bookkeeper", {**TWO_BOOKIES, "ack_quorum": 1, "fence_atomic": "no"}),
    ("ledger-chain", {"clients": 2, "elections": 2}),
    ("verified-log-04", {"nodes": 1, "replicas": 1}),
]
"""Instances that are compared on random executions."""


def system_of(name: str, settings: Mapping[str, object]) -> System:
    protocol = load(EXAMPLES / name) if name.endswith(".py") else find(name)
    return protocol.instance(settings.items()).system


def titled(case: Case) -> str:
    return "-".join([Path(case[0]).stem, *map(str, case[1].values())])


def agree(system: System, builder: type[CircuitBuilder] = CircuitBuilder) -> bool:
    """Return whether file and exploring have the same states with the same violations."""
    beside = Beside(system, builder)
    return beside.reached() == beside.explored()


@pytest.mark.parametrize("case", TINY, ids=titled)
def test_a_file_reaches_the_states_and_violations_that_exploring_reaches(case: Case) -> None:
    assert agree(system_of(*case))


@by_seeds(10, 120)
def test_files_of_generated_systems_reach_the_states_that_exploring_reaches(seeds: range) -> None:
    for seed in seeds:
        assert agree(generate(seed, posts=True)), f"seed {seed}"


@pytest.mark.parametrize("case", LARGER, ids=titled)
def test_random_executions_are_the_same_in_the_file(case: Case) -> None:
    """Before each step, nothing is selected, and an action that is not enabled: neither changes anything."""
    beside, chance, losses, steps = Beside(system_of(*case)), random.Random(1), 0, 0
    number = {name: i for i, name in enumerate(beside.machine.inputs)}
    for _ in range(4):
        path = random_execution(beside.concrete, chance, losing=True)
        _, before = next(path)
        losses += sum(before[v.place] for v in beside.system.choices)
        bits = beside.beginning(before)
        for actions, state in path:
            disabled = [n for n in number if not beside.enabled(n, before)]
            idle = [frozenset[int](), frozenset({number[chance.choice(disabled)]})] if disabled else []
            assert beside.state(bits) == before
            assert all(s == (bits, beside.violated(before)) for s in beside.machine.steps(bits, idle))
            bits = beside.machine.steps(bits, [frozenset({number[actions[-1].name]})])[0][0]
            before, steps = state, steps + 1
        assert beside.state(bits) == before
    assert steps > 10
    assert losses or not beside.system.choices


class Fixed(StateSpace):
    """A message that is lost or arrives, and what a participant has seen of both."""

    def __init__(self) -> None:
        self.arrived = variable(BOOL)
        self.missed = variable(BOOL)
        self.sent = variable(BOOL)
        self.lost = choice(integers(1, 1), fault="lost")


def decided_once() -> System:
    """Return a system whose property holds only because a choice never changes."""
    s = Fixed()
    sent = (message("note", "a", "b", lost=s.lost[1]),)
    actions = (
        Schema("send", "", (), Action(~s.sent, [s.sent.set(True)], actor="a", sent=sent)),
        Schema("receive", "", (), Action(~s.lost[1], [s.arrived.set(True)], actor="b")),
        Schema("miss", "", (), Action(s.lost[1], [s.missed.set(True)], actor="b")),
    )
    return System(s, actions, (Property("not-both", "", ~(s.arrived & s.missed), s.missed, ""),))


class Number(StateSpace):
    """A number that grows."""

    def __init__(self) -> None:
        self.number = variable(integers(0, 2))


def growing(guarded: bool) -> System:
    """Return a system that counts to 2, and beyond its domain unless it is guarded."""
    s = Number()
    when: Term = s.number < 2 if guarded else TRUE
    actions = (Schema("grow", "", (), Action(when, [s.number.set(s.number + 1)], actor="a")),)
    return System(s, actions, (Property("small", "", s.number < 3, s.number == 2, ""),))


def test_a_badly_defined_action_is_a_bad_output_and_does_not_fire() -> None:
    beside, last = Beside(growing(guarded=False)), (False, True)
    expected = {bytes([0]): frozenset(), bytes([1]): frozenset(), bytes([2]): frozenset({WRONG})}
    assert beside.reached() == expected
    assert beside.machine.steps(last, [frozenset({0})]) == [(last, frozenset({WRONG}))]
    assert agree(growing(guarded=True))


def test_an_input_decides_which_action_fires_and_the_first_wins() -> None:
    beside = Beside(decided_once())
    assert beside.machine.inputs == ["send", "receive", "miss"]
    assert beside.machine.latches == ["arrived = yes", "missed = yes", "sent = yes", "lost[1]"]
    both = [frozenset({1, 2})]
    assert beside.machine.steps((False, False, False, False), both)[0][0] == (True, False, False, False)
    assert beside.machine.steps((False, False, False, True), both)[0][0] == (False, False, False, True)


def test_every_connective_is_translated() -> None:
    a, b, c = variables = [named(name) for name in "abc"]
    meant: list[tuple[Formula, Callable[[bool, bool, bool], bool]]] = [
        (TRUTH, lambda a, b, c: True),
        (FALSEHOOD, lambda a, b, c: False),
        (neg(a), lambda a, b, c: not a),
        (conj((a, neg(b), c)), lambda a, b, c: a and not b and c),
        (disj((a, neg(b), c)), lambda a, b, c: a or not b or c),
        (ite(a, b, neg(c)), lambda a, b, c: b if a else not c),
        (iff(a, disj((b, c))), lambda a, b, c: a == (b or c)),
    ]
    for formula, holds in meant:
        graph = AndInverterGraph(3)
        literal = Translation(graph, [(v, leaf(n)) for n, v in enumerate(variables)])(formula)
        machine = Machine(["a", "b", "c"], [], [], [], {"it": literal}, graph.gates, [])
        for inputs in itertools.product((False, True), repeat=3):
            true = frozenset(n for n, value in enumerate(inputs) if value)
            assert bool(machine.steps((), [true])[0][1]) == holds(*inputs), (formula, inputs)


def test_equal_gates_are_one() -> None:
    graph = AndInverterGraph(2)
    assert graph.both(leaf(0), leaf(1)) == graph.both(leaf(1), leaf(0))
    assert len(graph.gates) == 1


# Planted mistakes.


class NothingIsLost(CircuitBuilder):
    """A planted mistake: a choice has the initial value 0."""

    def reset(self, variable: Variable, value: Value) -> bool | None:
        return bool(super().reset(variable, value))


class ChoiceAtEachStep(CircuitBuilder):
    """A planted mistake: a choice is free at each step; it takes the value of an input."""

    def following(self, place: int, position: int, bit: Literal) -> Literal:
        is_choice = self.system.variables[place].is_choice
        return leaf(0) if is_choice else super().following(place, position, bit)


class WrongLeftOut(CircuitBuilder):
    """A planted mistake: badly defined actions are no bad output."""

    def bad(self) -> Iterator[tuple[str, Literal]]:
        yield from ((name, FALSE if name == WRONG else literal) for name, literal in super().bad())


class SeveralAtOnce(CircuitBuilder):
    """A planted mistake: every action whose input is true fires."""

    def selected(self) -> list[Literal]:
        return [leaf(number) for number in range(len(self.inputs))]


class AnotherBeginning(CircuitBuilder):
    """A planted mistake: the first state variable begins with another value."""

    def reset(self, variable: Variable, value: Value) -> bool | None:
        return value == variable.domain.values[-1] if variable.place == 0 else super().reset(variable, value)


class ValueForgotten(CircuitBuilder):
    """A planted mistake: a state variable that the action does not set gets its first value."""

    def following(self, place: int, position: int, bit: Literal) -> Literal:
        written = self.graph.both(super().following(place, position, bit), bit ^ 1)
        return bit if self.system.variables[place].is_choice else written


@pytest.mark.parametrize(
    ("mistake", "case"),
    [
        (NothingIsLost, ("two_copies.py", {})),
        (ChoiceAtEachStep, ("two_copies.py", {"acknowledge": "reachable"})),
        (SeveralAtOnce, ("two_copies.py", {"fence": "yes"})),
        (AnotherBeginning, ("lease_lock.py", {})),
        (ValueForgotten, ("one_owner.py", {})),
    ],
)
def test_a_mistake_in_the_circuit_is_noticed(mistake: type[CircuitBuilder], case: Case) -> None:
    assert not agree(system_of(*case), mistake)


def test_a_badly_defined_action_left_out_is_noticed() -> None:
    reached = Beside(growing(guarded=False), WrongLeftOut).reached()
    assert reached[bytes([2])] == frozenset()  # the test above expects WRONG there


# The command.


def exported(file: Path, *arguments: str) -> int:
    return run(["export", *arguments, "--format", "aiger", "--output", str(file)])


def test_the_command_writes_the_instance_with_the_properties_that_are_named(tmp_path: Path) -> None:
    file, example = tmp_path / "copies.aig", str(EXAMPLES / "two_phase_commit.py")
    assert exported(file, example, "--set", "participants=2", "--property", "consistent") == 0
    machine = read(file.read_bytes())
    assert list(machine.bad) == ["consistent", WRONG]
    assert machine.inputs[:2] == ["prepare(p1)", "prepare(p2)"]
    assert machine.latches[:2] == ["phase[p1] = prepared", "phase[p1] = committed"]
    assert machine.comment[1] == "two-phase-commit: participants=2 votes=all"
    assert exported(file, example) == 0
    assert list(read(file.read_bytes()).bad) == ["consistent", "abort-is-final", WRONG]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--rounds=2"], "--rounds: not with --format aiger"),
        (["--budget=lost=1"], "--budget: not with --format aiger"),
        (["--what=witness"], "--what witness: --format aiger has no queries"),
        (["--what=store"], "--what store: --format aiger has no queries"),
        (["--property=nothing"], "nothing: no such property"),
    ],
)
def test_an_option_about_queries_is_refused(
    arguments: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exported(tmp_path / "no.aig", str(EXAMPLES / "two_copies.py"), *arguments) == 2
    assert line in capsys.readouterr().err
    assert not (tmp_path / "no.aig").exists()


def test_a_binary_file_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", str(EXAMPLES / "two_copies.py"), "--format", "aiger"]) == 2
    assert "--output FILE.aig" in capsys.readouterr().err


# ABC, where it is installed.

with_abc = pytest.mark.skipif(abc_program() is None, reason="pyosys is not installed; it has no wheel here")


def asked(system: System, builder: type[CircuitBuilder] = CircuitBuilder) -> dict[str, Verdict]:
    """Return ABC's verdict on each bad output. One that becomes true is left out, and ABC is asked again."""
    circuit, found = builder(system, system.properties).circuit(), dict[str, Verdict]()
    while isinstance(answer := pdr(circuit), BadPath):
        name = circuit.bad[answer.output][0]
        found[name] = Verdict.VIOLATED
        circuit = replace(circuit, bad=[one for one in circuit.bad if one[0] != name])
    return found | {name: Verdict.PROVED for name, _ in circuit.bad}


def expected(system: System) -> dict[str, Verdict]:
    """Return the verdict on each bad output, as exploring finds it."""
    beside = Beside(system)
    violated = frozenset[str]().union(*beside.explored().values())
    names = [*(p.name for p in system.properties), WRONG]
    return {name: Verdict.VIOLATED if name in violated else Verdict.PROVED for name in names}


@with_abc
@pytest.mark.parametrize("case", TINY, ids=titled)
def test_abc_gives_the_verdicts_of_exploring(case: Case) -> None:
    system = system_of(*case)
    assert asked(system) == expected(system)


@with_abc
@by_seeds(5, 60)
def test_abc_gives_the_verdicts_of_exploring_on_generated_systems(seeds: range) -> None:
    found = set[Verdict]()
    for seed in seeds:
        system = generate(seed, posts=True)
        answer = asked(system)
        assert answer == expected(system), f"seed {seed}"
        found |= set(answer.values())
    assert found == {Verdict.PROVED, Verdict.VIOLATED}


@with_abc
def test_abc_proves_what_holds_because_a_choice_stays_fixed() -> None:
    assert asked(decided_once()) == {"not-both": Verdict.PROVED, WRONG: Verdict.PROVED}
    assert asked(decided_once(), ChoiceAtEachStep)["not-both"] is Verdict.VIOLATED


@with_abc
def test_abc_finds_a_violation_that_takes_a_loss() -> None:
    """Tools that take a latch without initial value as 0 would prove it."""
    system = system_of("two_copies.py", {"fence": "yes", "acknowledge": "reachable"})
    assert asked(system)["nothing-lost"] is Verdict.VIOLATED
    assert asked(system, NothingIsLost)["nothing-lost"] is Verdict.PROVED


@with_abc
def test_abc_finds_a_badly_defined_action() -> None:
    verdicts = {"small": Verdict.PROVED, WRONG: Verdict.VIOLATED}
    assert asked(growing(guarded=False)) == verdicts
    assert asked(growing(guarded=False), WrongLeftOut)[WRONG] is Verdict.PROVED


def test_a_latch_that_starts_as_one_is_read_inverted() -> None:
    system = system_of("verified-log-04", {"nodes": 1, "replicas": 1})
    builder = CircuitBuilder(system, system.properties)
    circuit = builder.circuit()
    one = next(number for number, latch in enumerate(circuit.latches) if latch.reset is True)
    flag = "-" if any(latch.reset is None for latch in circuit.latches) else ""
    row = "".join("0" if number == one else "-" for number in range(len(circuit.latches))) + flag
    (clause,) = clauses(builder, circuit, [row])
    assert clause_text(system, clause) == circuit.latches[one].name.replace("=", "≠")
    (other,) = clauses(builder, circuit, [row.replace("0", "1")])
    assert clause_text(system, other) == circuit.latches[one].name
