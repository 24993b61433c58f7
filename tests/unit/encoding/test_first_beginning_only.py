"""Planted: a place that takes one initial state for granted, where there are several. Each is noticed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import pytest
import z3

from fencepost.encoding.all_sizes.quantified_claims import claims
from fencepost.encoding.all_sizes.unbounded import Unbounded
from fencepost.encoding.concrete import simulation
from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.saved_traces import check_saved
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.enumeration import orbits, visits
from fencepost.encoding.enumeration.count import count_states
from fencepost.encoding.errors import InternalError
from fencepost.encoding.evidence.one_action import ActionStep, SingleActions
from fencepost.encoding.evidence.queries import Encoded, Kind, Query
from fencepost.encoding.evidence.smtlib import smtlib
from fencepost.encoding.formulas.aiger import CircuitBuilder
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.ic3 import finder, symmetry
from fencepost.encoding.ic3.frames import Frames
from fencepost.encoding.ic3.transitions import Transitions, transitions
from fencepost.encoding.induction import directed_simulation
from fencepost.encoding.induction.invariants_examined import Breaks, Examination, FalseClaim, examine
from fencepost.encoding.language import fold
from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.declarations import anything, one_of
from fencepost.encoding.language.quantifiers import forall
from fencepost.encoding.language.sorts import BOOL, integers, of_any_size
from fencepost.encoding.language.state import StateSpace, Variable, family, variable
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.language.terms import TRUE
from fencepost.encoding.language.traces import Trace
from fencepost.encoding.lifting import samples
from fencepost.encoding.rounds.reachability import PathEnd, Reachability
from fencepost.encoding.solving import logic as truth
from fencepost.encoding.solving.logic import Formula, neg
from support.aiger import Beside
from support.beginning import SUBJECT, nodes, result, third_never_acts, two_are_up
from support.exploration import explore

Plant = Callable[[pytest.MonkeyPatch], None]


def violated() -> System:
    """Return a system whose property is violated, but not from its first initial state."""
    return nodes(third_never_acts, two_are_up)


class First(Beginnings):
    """Planted: the first initial state is the only one."""

    def states(self, *given: Any) -> Iterator[State]:
        yield next(super().states(*given))

    def draw(self, chance: random.Random, choices: Mapping[int, bool] | None = None) -> State:
        return next(self.states(choices))


# Formulas.


def formulas_of_the_first(plant: pytest.MonkeyPatch) -> None:
    def initially(self: Symbolic, variable: Variable) -> Iterator[Formula]:
        if variable.place in self.varying and not variable.is_choice:
            first = self.system.firsts[variable.place][0]
            for bit, value in zip(self.bits[variable.place], variable.domain.values[1:], strict=True):
                yield bit if value == first else neg(bit)

    plant.setattr(Symbolic, "_initially", initially)


def unwritten_variables_are_constants(plant: pytest.MonkeyPatch) -> None:
    bits = Symbolic._bits

    def constant(self: Symbolic, variable: Variable) -> list[Formula]:
        if variable.family.name != "leader":
            return bits(self, variable)
        first = self.system.firsts[variable.place][0]
        return [truth.TRUE if value == first else truth.FALSE for value in variable.domain.values[1:]]

    plant.setattr(Symbolic, "_bits", constant)


def frame_0_has_all_states(plant: pytest.MonkeyPatch) -> None:
    def every_state(*asked: Any) -> Transitions:
        return replace(transitions(*asked), begins=None, initial=frozenset())

    plant.setattr(
        finder, "transitions", lambda *a: replace(transitions(*a), begins=None, initial=frozenset())
    )


def a_cube_meets_no_initial_state_but_the_first(plant: pytest.MonkeyPatch) -> None:
    def first(self: Frames, cube: Any) -> None:
        return None

    plant.setattr(Frames, "initial_in", first)


def outcome(engine: str) -> object:
    """Return the verdict and the steps, or the error, for a system that its first state does not violate."""
    try:
        found = result(nodes(third_never_acts), engine)
    except InternalError as error:
        return str(error)
    return found.verdict, found.steps


@pytest.mark.parametrize(
    ("plant", "engine", "says"),
    [
        (formulas_of_the_first, "rounds", Verdict.VACUOUS),
        (formulas_of_the_first, "ic3", Verdict.UNDECIDED),
        (formulas_of_the_first, "enumeration", "the formulas do not have"),
        (unwritten_variables_are_constants, "rounds", Verdict.VACUOUS),
        (unwritten_variables_are_constants, "ic3", Verdict.PROVED),
        (frame_0_has_all_states, "ic3", "does not replay"),
        (a_cube_meets_no_initial_state_but_the_first, "ic3", Verdict.UNDECIDED),
    ],
)
def test_a_violation_from_another_initial_state_is_found(
    plant: Plant, engine: str, says: Verdict | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert outcome(engine) == (Verdict.VIOLATED, 1)
    plant(monkeypatch)
    found = outcome(engine)
    assert found != (Verdict.VIOLATED, 1)
    assert says in found if isinstance(found, str) else says is found[0]  # type: ignore[index,operator]


# The concrete reading.


def test_the_enumeration_begins_in_each(monkeypatch: pytest.MonkeyPatch) -> None:
    assert result(violated(), "enumeration").verdict is Verdict.VIOLATED
    monkeypatch.setattr(visits, "Beginnings", First)
    assert result(violated(), "enumeration").verdict is not Verdict.VIOLATED


def counted(system: System, with_symmetry: bool) -> int:
    *_, count = count_states(system, system.properties, with_symmetry, None)
    return count.states


def test_counts_are_of_all_initial_states(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = sum(1 for _ in explore(violated()))
    assert counted(violated(), False) == counted(violated(), True) == wanted
    monkeypatch.setattr(visits, "Beginnings", First)
    assert counted(violated(), False) < wanted


def test_symmetries_keep_the_set_of_initial_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """The condition names one node, so renaming it leads to states that are not reachable."""
    named = nodes(lambda s: TRUE, lambda s: (s.leader == "n1") & s.up["n2"])
    values = nodes(lambda s: TRUE, leader=one_of("n1", "n2"))
    for system in (named, values):
        assert counted(system, True) == sum(1 for _ in explore(system))
    keeps = symmetry.keeps_steps

    def of_actions(symbolic: Symbolic, renamed: symmetry.Renamed, own: Any) -> bool:
        other = copy(symbolic)
        other.system = replace(symbolic.system, beginning=None)
        return keeps(other, renamed, own)

    with monkeypatch.context() as planted:
        planted.setattr(orbits, "keeps_steps", of_actions)
        assert counted(named, True) != sum(1 for _ in explore(named))
    monkeypatch.setattr(symmetry, "_keeps_initial_values", lambda symbolic, renamed: True)
    assert counted(values, True) != sum(1 for _ in explore(values))


def test_simulations_begin_in_each(monkeypatch: pytest.MonkeyPatch) -> None:
    system = violated()

    def found() -> list[bool]:
        simulated = simulation.simulate(system, SUBJECT, system.properties, 60, seed=1)
        directed = directed_simulation.falsified(system, [Invariant("p", "", system.properties[0].holds)])
        drawn = samples.simulated(system)
        leaders = {next(drawn)[0] for _ in range(200)}
        return [bool(simulated.traces), bool(list(directed)), leaders == {0, 1, 2}]

    assert found() == [True] * 3
    for module in (simulation, directed_simulation, samples):
        monkeypatch.setattr(module, "Beginnings", First)
    assert found() == [False] * 3


# Traces.


def traced() -> Trace:
    trace = result(violated(), "enumeration").trace
    assert trace is not None
    return trace


def test_a_trace_carries_the_whole_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that no action changes is left out of traces only if it has one initial value."""
    system = violated()
    leader = system.variables[0].family

    def told() -> object:
        trace = Replayer(system, SUBJECT).record("p", [system.ground_actions[2]], (), (2, 1, 0, 1, 1))
        assert set(trace.beginning) == {"leader", "up[n1]", "up[n2]", "up[n3]", "number"}
        return trace.value(leader), trace.value(leader, after=0)

    assert told() == ("n3", "n3")
    changing = {v.place for v in system.variables if v.family.name in ("up", "acted", "number")}
    monkeypatch.setattr(Replayer, "_changing", changing)
    with pytest.raises((ValueError, KeyError)):
        told()


def test_a_beginning_that_is_none_does_not_replay() -> None:
    replayer = Replayer(violated(), SUBJECT)
    for beginning, why in (
        ((2, 0, 0, 1, 1), "the condition on initial states"),
        ((2, 1, 0, 1, 0), "number is 0; its initial values are 2, 1"),
    ):
        with pytest.raises(NotAnExecution, match=why):
            replayer.follow([], (), beginning)
    with pytest.raises(InternalError, match="a beginning of 0 values; 5 variables have several"):
        replayer.follow([], ())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"leader": "n1"}, "not enabled"),
        ({"leader": "n4"}, "not in its domain"),
        ({"leader": None}, "is missing"),
        ({"up[n1]": False, "up[n2]": False}, "the condition on initial states .* is false there"),
        ({"number": 0}, "number is 0; its initial values are 2, 1"),
    ],
)
def test_a_saved_trace_is_read_with_its_beginning(
    change: Mapping[str, object], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = violated()
    saved: Any = json.loads(json.dumps(traced().to_json()))
    assert check_saved(saved, system, SUBJECT, system.properties[0]).to_json()["initial"] == saved["initial"]
    saved["initial"] |= change
    saved["initial"] = {name: value for name, value in saved["initial"].items() if value is not None}
    with pytest.raises(NotAnExecution, match=why):
        check_saved(saved, system, SUBJECT, system.properties[0])
    monkeypatch.setattr(Beginnings, "refusal", lambda self, beginning: None)
    if "false there" in why:
        check_saved(saved, system, SUBJECT, system.properties[0])


# From a state on, folding, claims, files.


class Counter(StateSpace):
    """A counter that begins low."""

    def __init__(self) -> None:
        self.count = variable(integers(0, 4), initial=one_of(0, 1))
        self.even = variable(BOOL, initial=anything)


def counter(even: bool = True) -> System:
    s = Counter()

    def add(s: Counter) -> Action:
        return Action(s.count < 4, [s.count.set(s.count + 1), s.even.set(~s.even)], "me")

    below = Property("below", "", s.count < 4, s.count == 1, "counted")
    right = s.even == ((s.count == 0) | (s.count == 2) | (s.count == 4))
    told = Invariant("told", "", right)
    return System(s, (each(add, s),), (below,), invariants=(told,), beginning=right if even else None)


@pytest.mark.parametrize("planted", [False, True])
def test_a_question_about_a_state_begins_in_that_state(
    planted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = counter()
    replayer, actions = Replayer(system, SUBJECT), [system.ground_actions[0]] * 2
    state = replayer.follow(actions, (), (1, 0))[-1]
    origin, goal = PathEnd(tuple(actions), (), state, (1, 0)), system.state.families[0][()] == 4
    if planted:
        template = Reachability._template
        beginning = lambda self: replace(
            template.fget(self),  # type: ignore[attr-defined]
            beginning=self.prepared.template.beginning,
            auxiliary=self.prepared.template.auxiliary,
        )
        monkeypatch.setattr(Reachability, "_template", property(beginning))
    asked = Reachability(replayer, origin, goal, Limits(timeout=600))
    while not (answer := asked.hear(1)).over:
        pass
    assert (answer.way is not None and len(answer.way.actions) == 1) is not planted


def test_folding_replaces_no_variable_with_several_initial_values(monkeypatch: pytest.MonkeyPatch) -> None:
    written = violated()

    assert not {f.name for f in fold.constants(written)} & {"leader", "up", "number"}
    monkeypatch.setattr(
        System, "firsts", property(lambda self: tuple(v.family.firsts(v.index)[:1] for v in self.variables))
    )
    assert "leader" in {f.name for f in fold.constants(written)}


def test_a_claim_is_examined_at_every_beginning() -> None:
    system = counter(even=False)
    told = {type(f).__name__: f for f in examine(system, SUBJECT, system.properties, 2)}
    assert isinstance(told["FalseClaim"], FalseClaim)
    examination = Examination(Replayer(system, SUBJECT))
    first = next(f for f in examination.breaks(system.invariants) if isinstance(f, Breaks))
    assert first.action is None and set(first.before) in (
        {"count = 0", "even = no"},
        {"count = 1", "even = yes"},
    )


def test_a_proof_for_all_sizes_begins_in_each(monkeypatch: pytest.MonkeyPatch) -> None:
    class Open(StateSpace):
        def __init__(self) -> None:
            self.thing = of_any_size("thing")
            self.up = family(BOOL, self.thing, initial=anything)
            self.mark = family(BOOL, self.thing, initial=anything)

    s = Open()
    marked = Invariant("marked", "", forall(s.thing, lambda t: ~s.mark[t] | s.up[t]))

    def at_first(beginning: Any) -> bool:
        (claim,) = claims(System(s, (), invariants=(marked,), beginning=beginning))
        solver = z3.Solver()
        solver.add(*claim.assume, z3.Not(claim.claim))
        return bool(solver.check() == z3.unsat)

    assert not at_first(None)
    assert at_first(forall(s.thing, lambda t: ~s.mark[t]))
    monkeypatch.setattr(Unbounded, "initial", lambda self: [z3.BoolVal(False)])
    assert at_first(None)


class Everywhere(CircuitBuilder):
    """Planted: the first state of the circuit may be any state."""

    def _among_executions(self, bad: int) -> int:
        return bad


def test_a_circuit_begins_in_each_initial_state_and_in_no_other() -> None:
    for system in (violated(), nodes(third_never_acts), counter(), counter(even=False)):
        beside = Beside(system)
        assert beside.reached() == beside.explored()
    few = counter()
    machines = [Beside(few, builder).machine for builder in (CircuitBuilder, Everywhere)]
    astray = (False, False, False, True, True, False, False)
    assert [machine.steps(astray, [frozenset()])[0][1] for machine in machines] == [set(), {"below"}]


@pytest.mark.parametrize("system", [violated, counter, lambda: nodes(third_never_acts, leader="n1")])
def test_queries_for_other_solvers_have_the_same_answers(system: Callable[[], System]) -> None:
    made = system()
    encoded = Encoded(made, made.properties, {})
    name = made.properties[0].name
    for query in (Query(Kind.PROPERTY, 4, name), Query(Kind.WITNESS, 1, name), Query(Kind.COMPLETENESS, 1)):
        clauses, script, dimacs = encoded.clauses(query), z3.Solver(), z3.Solver()
        script.from_string(smtlib(encoded, query, []))
        literals = z3.Bools([f"v{n}" for n in range(clauses.top + 1)])
        for clause in clauses.clauses:
            dimacs.add(z3.Or(*(literals[n] if n > 0 else z3.Not(literals[-n]) for n in clause)))
        assert script.check() == dimacs.check()
    if made.invariants:
        own, step, solver = SingleActions(made), ActionStep(None, ("told", "below")), z3.Solver()
        solver.from_string(own.smtlib(step, []))
        assert solver.check() == z3.unsat


def test_a_violation_of_the_counter_takes_three_steps() -> None:
    for engine in ("rounds", "ic3", "enumeration"):
        found = result(counter(), engine)
        assert (found.verdict, found.steps) == (Verdict.VIOLATED, 3), engine
