"""Systems that were once proved although an execution violates them, or that have a badly defined step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from fencepost.encoding.check import check
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.simulation import simulate
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Basis, Result, Verdict
from fencepost.encoding.errors import ModelError
from fencepost.encoding.evidence.one_action import steps
from fencepost.encoding.evidence.queries import Kind, Query
from fencepost.encoding.evidence.question_files import Asking
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.induction.invariants_examined import examine
from fencepost.encoding.induction.proof_obligations import WELL_DEFINED, Never
from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.sorts import BOOL, MOST_VALUES, integers
from fencepost.encoding.language.state import StateSpace, family, variable
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.language.terms import TRUE, Term
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.solving.answers import No, Yes
from fencepost.encoding.solving.solvers import backend
from fencepost.encoding.solving.terms import Terms
from support.bare import Bare
from support.exploration import explore

SUBJECT = Subject("counter", {}, {})


class Counter(StateSpace):
    """A number that is counted up and may jump, and a flag that nothing sets."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.number = variable(integers(0, most))
        self.flag = variable(BOOL)
        self.step = integers(1, 2)
        self.passed = family(BOOL, self.step)


def count(s: Counter) -> Action:
    """Count up from any number."""
    return Action(when=TRUE, then=[s.number.set(s.number + 1)], actor="me")


def count_to(most: int) -> Callable[[Counter], Action]:
    """Return an action that counts up to that number."""

    def count(s: Counter) -> Action:
        """Count up."""
        return Action(when=s.number < most, then=[s.number.set(s.number + 1)], actor="me")

    return count


def stop_short(s: Counter) -> Action:
    """Count up from any number but 1; the numbers beyond 1 are never reached, and count past the end."""
    return Action(when=s.number != 1, then=[s.number.set(s.number + 1)], actor="me")


def system(
    s: Counter, *handlers: Callable[[Counter], Action], name: str = "p", holds: Term | None = None
) -> System:
    """Return a system with the invariant that the flag is down, and by default with that as its property."""
    prop = Property(name, "", ~s.flag if holds is None else holds, s.number == 1, "one is counted")
    invariants = (Invariant("flag-down", "", ~s.flag),)
    return System(s, tuple(each(h, s) for h in handlers), (prop,), default_rounds=4, invariants=invariants)


CHOICES = ((), ("rounds",))
"""The engines asked: those that suit the system, or these."""


def result(made: System, *engines: str) -> Result:
    (found,) = check(Bare(made, SUBJECT), made.properties, Limits(jobs=1, rounds=4, engines=engines)).results
    return found


# Badly defined steps.


def pass_first(s: Counter) -> Action:
    """Pass while one more can be counted."""
    return Action(when=~s.passed[1] & (s.number < s.most), then=[s.passed[1].set(True)], actor="me")


def count_once(s: Counter) -> Action:
    """Count up, once for each time that it was passed."""
    then = [s.number.set(s.number + 1), s.passed[1].set(False)]
    return Action(when=s.passed[1], then=then, actor="me")


def test_a_proof_names_the_invariant_that_keeps_each_step_well_defined() -> None:
    """A certificate asks about steps from the named invariants.

    Planted: only those from which the property was proved.
    """
    s = Counter(2)
    room = Invariant("room-left", "", ~s.passed[1] | (s.number < s.most))
    made = replace(system(s, pass_first, count_once), invariants=(room,))
    found = result(made)
    assert (found.basis, found.invariants) == (Basis.INDUCTION, ("room-left",))


@pytest.mark.parametrize("engines", CHOICES)
def test_nothing_is_proved_where_a_badly_defined_step_is_reached(engines: tuple[str, ...]) -> None:
    # Planted: the proof stands although the claim of well-definedness was withdrawn.
    with pytest.raises(ModelError, match=r"count sets number to 3, outside 0\.\.2"):
        result(system(Counter(2), count), *engines)


def test_invariants_name_a_badly_defined_step_that_is_reached() -> None:
    # Planted: the invariants that every action keeps are reported, and the step is not.
    made = system(Counter(2), count)
    with pytest.raises(ModelError, match=r"count sets number to 3, outside 0\.\.2"):
        list(examine(made, SUBJECT, made.properties, 4))


def test_a_badly_defined_step_that_is_not_reached_leaves_the_proof_to_rounds() -> None:
    """The number leaves its domain from 2, and no execution reaches 2.

    Induction over one action does not see that.
    """
    found = result(system(Counter(2), stop_short), "induction", "rounds")
    assert (found.verdict, found.basis) == (Verdict.PROVED, Basis.ROUNDS)


def test_a_witness_is_not_called_unreachable_where_a_step_may_be_badly_defined() -> None:
    # Planted: `vacuous` from an induction that withdrew the claim of well-definedness.
    s = Counter(2)
    prop = Property("p", "", TRUE, s.flag, "the flag is up")
    made = System(s, (each(count, s),), (prop,), default_rounds=4, invariants=(Invariant("i", "", ~s.flag),))
    with pytest.raises(ModelError, match="count sets number to 3"):
        result(made)


# Budgets.


def fall(s: Counter) -> Action:
    """Crash."""
    return Action(when=~s.flag, then=[s.flag.set(True)], actor="me", fault="crashes")


def after_a_fall(s: Counter) -> Action:
    """Count once more after a crash."""
    return Action(when=s.flag & (s.number == 1), then=[s.number.set(2)], actor="me")


def test_executions_with_faults_within_the_budget_count_for_completeness() -> None:
    """With a crash there is one more round. Planted: only executions without faults are asked about."""
    s = Counter(2)
    made = system(s, after_a_fall, fall, count_to(1), holds=s.number < 2)
    limits = Limits(jobs=1, engines=("rounds",), budgets={"crashes": 1})
    (found,) = check(Bare(made, SUBJECT), made.properties, limits).results
    assert (found.verdict, found.steps) == (Verdict.VIOLATED, 3)
    (found,) = check(Bare(made, SUBJECT), made.properties, replace(limits, budgets={"crashes": 0})).results
    assert found.verdict is Verdict.PROVED


@pytest.mark.parametrize(("most", "answer"), [(0, No), (1, Yes)])
def test_a_script_for_other_solvers_counts_the_faults_of_every_round(most: int, answer: type) -> None:
    """The crash is in the first of two rounds. Planted: rounds that the budget of a script leaves out."""
    s = Counter(2)
    made = system(s, after_a_fall, fall, count_to(1), holds=s.number < 2)
    asking = Asking(made, made.properties, {"crashes": most})
    query = Query(Kind.PROPERTY, 2, "p")
    script, solver = Terms(), backend("cadical")
    script.read(asking.smtlib(query, []))
    solver.add(asking.clauses(query).clauses)
    assert isinstance(script.ask(), answer)
    assert isinstance(solver.ask([], 10_000), answer)


# Names that the engine uses itself.


def test_no_property_has_the_name_of_a_claim_of_the_engine() -> None:
    """Each name is the key of a question.

    A property of that name was once certified and never asked about.
    """
    s = Counter(2)
    mine = system(s, count_to(2)).properties[0]
    for name in (WELL_DEFINED, Never(mine).name):
        with pytest.raises(ModelError, match="is named"):
            system(s, count_to(2), name=name)


@pytest.mark.parametrize(
    "name", ["no action sets a variable twice or outside its domain", "never:p", "well-defined"]
)
def test_a_property_whose_name_sounds_like_one_is_asked_about(name: str) -> None:
    s = Counter(2)
    found = result(system(s, count_to(2), name=name, holds=s.number < 2))
    assert (found.verdict, found.steps) == (Verdict.VIOLATED, 2)


# Large domains.


@pytest.mark.parametrize("most", [300, pytest.param(MOST_VALUES - 1, marks=pytest.mark.slow)])
def test_a_large_domain_works_in_every_engine(most: int) -> None:
    """More values than fit in a byte, and the largest number that is allowed."""
    s = Counter(most)

    def jump(s: Counter) -> Action:
        """Go to the largest number but one."""
        return Action(when=s.number == 1, then=[s.number.set(most - 1)], actor="me")

    right, wrong = (system(s, count_to(most), jump, holds=h) for h in (s.number <= most, s.number < most))
    assert len({visit.state for visit in explore(right)}) == most + 1
    assert len(set(Concrete(right).state(range(len(right.variables))))) == len(right.variables)
    assert result(right).basis is Basis.INDUCTION
    for engines in CHOICES:
        found = result(wrong, *engines)
        assert (found.verdict, found.steps) == (Verdict.VIOLATED, 3)
    assert simulate(wrong, SUBJECT, wrong.properties, 20, seed=1).traces


def test_clauses_and_formulas_of_a_large_domain_have_the_same_answer() -> None:
    """Further Booleans say that a variable of a large domain has one value.

    A script must declare them.
    """
    s = Counter(12)
    asked = steps(system(s, count_to(12), holds=s.number <= 12), ["p"])
    for holds, answers in ((s.number <= 12, {"unsat"}), (s.number < 12, {"unsat", "sat"})):
        asking = Asking(made := system(s, count_to(12), holds=holds), made.properties, {})
        found = set()
        for step in asked:
            script, solver = Terms(), backend("cadical")
            script.read(asking.smtlib(step, []))
            solver.add(asking.clauses(step).clauses)
            assert type(script.ask()) is type(solver.ask([], 10_000))
            found.add({"Yes": "sat", "No": "unsat"}[type(script.ask()).__name__])
        assert found == answers


def test_one_value_too_many_is_refused_in_one_line() -> None:
    with pytest.raises(
        ModelError, match=r"sort 0\.\.1000: 1,001 values, and at most 1,000 are allowed; make it smaller"
    ):
        Counter(MOST_VALUES)


def test_two_values_at_once_are_no_state_of_a_large_domain() -> None:
    # Planted: a ladder without one rung, so that a variable of many values may have two of them.
    s = Counter(20)
    symbolic = Symbolic(system(s, count_to(20)))
    bits = symbolic.bits[0]
    states = symbolic.states()
    for position, one in enumerate(bits):
        for other in bits[position + 1 :]:
            assert type(states.ask(one, other)).__name__ == "No"
        assert type(states.ask(one)).__name__ == "Yes"


# An index that depends on the state.


def pass_at(s: Counter) -> Action:
    """Pass the step of the number; there is none for 0."""
    return Action(when=~s.passed[s.number], then=[s.number.set(1)], actor="me")


def test_a_step_that_reads_a_missing_variable_is_reported_by_both_readings() -> None:
    made = system(Counter(2), pass_at)
    says = r"pass at reads passed\[number\], which does not exist; bound it in the guard"
    with pytest.raises(ModelError, match=says):
        list(explore(made))
    with pytest.raises(ModelError, match=says):
        result(made)
