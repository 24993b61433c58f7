"""Clauses that an engine found: their names, their judge, and what they may read."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

import pytest

from fencepost.cli.main import run
from fencepost.cli.rendering.verdict_text import verdict_line
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.engine.clauses import (
    Clause,
    Literal,
    Relation,
    clause_text,
    invariants_of,
    with_found,
)
from fencepost.encoding.engine.events import ByActions, NotByActions
from fencepost.encoding.engine.named_clauses import (
    CLAUSE,
    NamedClause,
    NamedLiteral,
    NotAClauseError,
    clause_json,
    clauses_of,
    named_clause,
    read_clause,
    text_of,
)
from fencepost.encoding.engine.verdicts import Basis, Result, Verdict
from fencepost.encoding.errors import ModelError
from fencepost.encoding.evidence.one_action import SingleActions, steps
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.induction.orbits import representatives
from fencepost.encoding.induction.proof_obligations import INITIALLY, obligations
from fencepost.encoding.induction.withdrawal import Left, ObligationSolver, induct
from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.messages import message
from fencepost.encoding.language.sorts import BOOL, Value, integers, labels, members
from fencepost.encoding.language.state import StateSpace, choice, family, variable
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import TRUE, Parameter
from fencepost.encoding.solving.answers import Deadline, No
from fencepost.encoding.solving.scripts import ask_cvc5
from fencepost.encoding.solving.solvers import SLICE, SOLVERS, backend
from support.lost_mail import ARRIVED, FILE, FOUND, READ, clause, instance, judged, proved
from support.one_action import broken
from support.results import object_of


class Colour(Enum):
    """A domain whose values are members of an Enum."""

    RED = "red"
    GREEN = "green"


class Everything(StateSpace):
    """A variable of each kind of domain, and a choice."""

    def __init__(self) -> None:
        self.node = labels("node", "n", 2)
        self.flag = variable(BOOL)
        self.number = family(integers(2, 4), self.node, initial=2)
        self.owner = variable(self.node)
        self.colour = family(members(Colour), integers(0, 1))
        self.asked = family(BOOL, self.node)
        self.lost = choice(self.node, fault="lost")


def ask(s: Everything, node: Parameter) -> Action:
    """Ask for paint; the request may be lost."""
    sent = [message("request", node, "painter", lost=s.lost[node])]
    return Action(when=~s.asked[node], then=[s.asked[node].set(True)], actor=node, sent=sent)


def paint(s: Everything, node: Parameter) -> Action:
    """Change every variable."""
    return Action(
        when=~s.lost[node],
        then=[s.flag.set(True), s.number[node].set(4), s.owner.set(node), s.colour[0].set(Colour.GREEN)],
        actor=node,
    )


def everything() -> System:
    s = Everything()
    return System(
        s, (each(ask, s, s.node), each(paint, s, s.node)), (Property("p", "p", TRUE, s.flag, "painted"),)
    )


def literals(system: System) -> list[Literal]:
    """Return every statement about every variable."""
    return [
        Literal(v.place, relation, position)
        for v in system.variables
        for position in range(len(v.domain))
        for relation in Relation
        if v.domain.type == "int" or relation in (Relation.IS, Relation.IS_NOT)
    ]


COMPARED = {
    Relation.IS: lambda a, b: a == b,
    Relation.IS_NOT: lambda a, b: a != b,
    Relation.AT_LEAST: lambda a, b: a >= b,
    Relation.BELOW: lambda a, b: a < b,
}


def test_a_statement_is_true_where_its_value_compares_so() -> None:
    """Planted: `≥` read as `>`, or a value of the wrong position, differs in some state."""
    system = everything()
    concrete = Concrete(system)
    first = [
        v.domain.values.index(value) for v, (value,) in zip(system.variables, system.firsts, strict=True)
    ]
    for literal in literals(system):
        for position, value in enumerate(literal.variable(system).domain.values):
            codes = [*first[: literal.place], position, *first[literal.place + 1 :]]
            holds = concrete.evaluate(literal.holds(system), {}, concrete.state(codes))
            assert holds == COMPARED[literal.relation](value, literal.value(system)), literal.text(system)


def test_a_clause_has_the_same_names_and_numbers_again() -> None:
    """Through the names, and through JSON, each clause comes back as it was, with the same text."""
    system = everything()
    clauses: list[Clause] = list(itertools.combinations(literals(system), 2))
    names = [named_clause(system, one) for one in clauses]
    assert clauses_of(system, names) == tuple(tuple(one.positive(system) for one in c) for c in clauses)
    assert [read_clause(clause_json(one), "a clause") for one in names] == names
    assert list(map(text_of, names)) == [clause_text(system, one) for one in clauses]
    assert CLAUSE.keys() == clause_json(names[0]).keys()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (("number[n3]", Relation.IS, 2), "number[n3] = 2: no such state variable or choice (did you mean"),
        (("number[n1]", Relation.IS, 5), "number[n1] = 5: no such value; valid: 2, 3, 4"),
        (("number[n1]", Relation.IS, "2"), "no such value"),
        (("number[n1]", Relation.IS, True), "no such value"),
        (("flag", Relation.IS, 1), "flag = 1: no such value; valid: no, yes"),
        (("owner", Relation.IS, "n3"), "owner = n3: no such value; valid: n1, n2"),
        (("owner", Relation.AT_LEAST, "n1"), "values of node have no order; valid here: =, ≠"),
        (("flag", Relation.BELOW, True), "values of bool have no order"),
        (("colour[0]", Relation.BELOW, "red"), "values of Colour have no order"),
        (("colour[0]", Relation.IS, "RED"), "no such value; valid: red, green"),
    ],
)
def test_what_is_no_clause_of_the_system_is_refused(wrong: tuple[str, Relation, Value], says: str) -> None:
    with pytest.raises(NotAClauseError) as refusal:
        clauses_of(everything(), [(NamedLiteral(*wrong),)])  # type: ignore[arg-type]
    assert says in str(refusal.value)


def test_a_clause_says_something() -> None:
    with pytest.raises(NotAClauseError, match="no statement"):
        clauses_of(everything(), [()])


def test_no_written_claim_has_the_name_of_a_found_one() -> None:
    """Planted: a clause named like the property would be proved in its place."""
    system = instance().system
    (found,) = invariants_of(system, clauses_of(system, FOUND[:1]))
    with pytest.raises(ModelError):
        replace(system.properties[0], name=found.name)
    with pytest.raises(ValueError, match="has a slash"):
        replace(found, name="one-end")


# The judge.


def test_the_judge_names_the_clauses_and_invariants_that_the_proof_uses() -> None:
    assert judged(instance(), FOUND) == ByActions("one-end", ("read-has-arrived",), FOUND)
    assert judged(instance(drop_declared=True), (*FOUND, *READ)) == ByActions("one-end", (), (*FOUND, *READ))


def test_a_clause_that_the_proof_does_not_use_is_left_out() -> None:
    always = clause(read_l1=False, gave_up_l1=False, arrived_l1=True)
    assert judged(instance(), (always, *FOUND)) == ByActions("one-end", ("read-has-arrived",), FOUND)


@pytest.mark.parametrize("left_out", FOUND, ids=text_of)
def test_without_a_needed_clause_nothing_is_proved(left_out: NamedClause) -> None:
    rest = tuple(one for one in FOUND if one != left_out)
    assert isinstance(judged(instance(), rest), NotByActions)


@pytest.mark.parametrize(
    "wrong",
    [clause(arrived_l1=False), clause(lost_l1=False), clause(gave_up_l2=True), clause(read_l1=True)],
    ids=text_of,
)
def test_a_clause_that_is_not_inductive_is_withdrawn(wrong: NamedClause) -> None:
    """It is false after an action, or false at first; the proof goes through without it."""
    assert judged(instance(), (wrong, *FOUND)) == ByActions("one-end", ("read-has-arrived",), FOUND)


def test_a_false_clause_proves_nothing() -> None:
    """Planted: with this clause assumed the property would follow, and the clause is false at first."""
    never = (clause(lost_l1=False), clause(lost_l2=False), clause(gave_up_l1=False), clause(gave_up_l2=False))
    assert isinstance(judged(instance(), never), NotByActions)


@pytest.mark.parametrize("number", range(len(FOUND)))
def test_a_clause_about_another_letter_does_not_stand_for_it(number: int) -> None:
    """Planted: each clause about one letter is said of the other one instead."""
    swapped = [
        tuple(replace(one, variable=one.variable.translate(str.maketrans("12", "21"))) for one in found)
        for found in FOUND[number : number + 1]
    ]
    clauses = tuple(dict.fromkeys((*FOUND[:number], *swapped, *FOUND[number + 1 :])))
    assert len(clauses) == len(FOUND) - 1, "the clause of the other letter stands there twice"
    assert isinstance(judged(instance(), clauses), NotByActions)


def test_hidden_invariants_are_not_used() -> None:
    """Planted: the declared invariant, which this proof needs, is assumed although it is hidden."""
    hidden = instance(drop_declared=True)
    assert hidden.system.invariants == ()
    assert isinstance(judged(hidden, FOUND), NotByActions)
    assert hidden.subject == instance().subject, "the same protocol, whatever is hidden"


# Choices.


def test_a_written_claim_may_not_read_a_choice_and_a_found_one_may() -> None:
    system = instance().system
    (found, *_) = invariants_of(system, clauses_of(system, ARRIVED))
    symbolic = Symbolic(system)
    with pytest.raises(ModelError, match=r"lost\[l1\] is a choice"):
        list(symbolic.conjuncts(found.holds))
    with pytest.raises(ModelError, match=r"lost\[l1\] is a choice"):
        obligations(symbolic, [replace(system.invariants[0], holds=found.holds)])
    assert obligations(symbolic, [found]).questions


def test_the_proof_needs_the_choice_to_stay_the_same() -> None:
    """If a letter can be lost after it has arrived, the property is violated and the judge says no.

    The same clauses are then about a state variable. Planted: an encoding in which a choice may have another
    value after the action than before it is this system.
    """
    late = instance(settings={"late_loss": "yes"})
    assert isinstance(judged(late, FOUND), NotByActions)
    assert run(["check", str(FILE), "--set=late_loss=yes", "--engine=rounds"]) == 1
    assert isinstance(judged(instance(), FOUND), ByActions)


@pytest.mark.parametrize("lost", [False, True])
def test_at_first_a_choice_has_any_value(lost: bool) -> None:
    """Planted: a choice set to one value at first would make one of these claims inductive."""
    said = judged(instance(), (*FOUND, clause(lost_l1=lost)))
    assert said == ByActions("one-end", ("read-has-arrived",), FOUND)


# Symmetry.


def test_an_action_stands_for_no_other_if_a_clause_names_its_label() -> None:
    """Only `arrive(l2)` makes the clause false.

    Planted: representatives that look at the properties alone ask about `arrive(l1)` in its place.
    """
    system = instance().system
    (found,) = invariants_of(system, clauses_of(system, [clause(arrived_l2=False)]))
    symbolic = Symbolic(system)
    every = list(range(len(symbolic.actions)))
    assert representatives(symbolic, [found, *system.properties]) == every
    few = representatives(symbolic, system.properties)
    assert len(few) < len(every)
    assert broken(system, [found]) == {found.name: "arrive"}
    asked = obligations(symbolic, [found], [INITIALLY, *few])
    (*_, left) = induct(ObligationSolver(asked, backend("cadical")), 0, asked.questions, [found.name], {})
    assert left == Left(0, frozenset({found.name})), "the shortcut misses it"


# Results.


def test_the_verdict_line_counts_the_clauses_and_json_lists_them() -> None:
    result = proved(instance(), FOUND)
    assert (result.verdict, result.basis, result.found) == (Verdict.PROVED, Basis.INDUCTION, FOUND)
    assert verdict_line(result) == (
        "one-end: proved: inductive, with 4 clauses that were found and 1 invariant; "
        "no execution of any length violates it  [0.1 s]"
    )
    first = object_of(result)["found"][0]
    assert first == {"text": "arrived[l1] = no or lost[l1] = no", **clause_json(FOUND[0])}
    alone = replace(result, found=FOUND[:1], invariants=())
    assert "inductive, with 1 clause that was found; no execution" in verdict_line(alone)


def test_only_induction_over_one_action_uses_clauses() -> None:
    by_rounds = Result("p", Verdict.PROVED, 0.1, "cadical", covering=1, witness=True, basis=Basis.ROUNDS)
    with pytest.raises(ValueError, match="only a proof by induction over one action"):
        replace(by_rounds, found=FOUND)


# The questions for other solvers.


def carried(clauses: Sequence[NamedClause]) -> System:
    system = instance(drop_declared=True).system
    return with_found(system, clauses_of(system, clauses))


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_agrees_with_the_judge(solver: str) -> None:
    """Each question has no answer with all clauses, and some question has one without the last."""
    for clauses, inductive in (((*FOUND, *READ), True), ((*FOUND, *READ[:1]), False)):
        system = carried(clauses)
        answers = []
        for step in steps(system, ["one-end"]):
            asked = backend(solver)
            asked.add(SingleActions(system).clauses(step).clauses)
            answers.append(asked.ask([], SLICE))
        assert all(isinstance(answer, No) for answer in answers) == inductive


def test_cvc5_agrees_on_the_formulas() -> None:
    for clauses, inductive in (((*FOUND, *READ), True), ((*FOUND, *READ[:1]), False)):
        system = carried(clauses)
        scripts = [SingleActions(system).smtlib(step, []) for step in steps(system, ["one-end"])]
        answers = [ask_cvc5(script, Deadline(600)) for script in scripts]
        assert all(isinstance(answer, No) for answer in answers) == inductive
