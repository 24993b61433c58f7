"""Induction over one action: the claims withdrawn, the claims kept, and actions that may stand for others."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.engine.messages import FoundPath
from fencepost.encoding.errors import ModelError
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.induction import directed_simulation
from fencepost.encoding.induction.directed_simulation import falsified, simulate, witnesses
from fencepost.encoding.induction.orbits import interchangeable, representatives
from fencepost.encoding.induction.proof_obligations import (
    INITIALLY,
    WELL_DEFINED,
    ObligationQuestion,
    Obligations,
    obligations,
)
from fencepost.encoding.induction.smallest_cti import smallest
from fencepost.encoding.induction.withdrawal import (
    Left,
    ObligationSolver,
    StillInductive,
    induct,
    share_out,
    split_by_question,
)
from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import forall
from fencepost.encoding.language.sorts import BOOL, Sort, integers, labels
from fencepost.encoding.language.state import StateSpace, choice, family, variable
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.language.terms import FALSE, TRUE, Parameter, Term
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.solving.solvers import backend
from support.one_action import broken

SUBJECT = Subject("tokens", {}, {})


class Tokens(StateSpace):
    """The nodes that have a token, those that once had one, and the first node to be asked."""

    def __init__(self, constant: bool = False) -> None:
        self.node = labels("node", "n", 3)
        self.has = family(BOOL, self.node)
        self.had = family(BOOL, self.node)
        self.count = variable(integers(0, 3))
        self.chosen = family(BOOL, self.node, initial=lambda n: constant and n == "n2")
        self.lost = choice(self.node, fault="lost")


def take(s: Tokens, node: Parameter) -> Action:
    """Take a token."""
    return Action(
        when=~s.had[node] & (s.count < 3),
        then=[s.has[node].set(True), s.had[node].set(True), s.count.set(s.count + 1)],
        actor=node,
    )


def give_back(s: Tokens, node: Parameter) -> Action:
    """Give the token back."""
    return Action(when=s.has[node], then=[s.has[node].set(False)], actor=node)


def tokens(s: Tokens | None = None) -> System:
    s = s or Tokens()
    return System(s, (each(take, s, s.node), each(give_back, s, s.node)))


def claim(name: str, holds: Term) -> Invariant:
    return Invariant(name, name, holds)


def who_has_it_had_it(s: Tokens) -> Invariant:
    return claim("had", forall(s.node, lambda n: implies(s.has[n], s.had[n])))


def state(system: System) -> Tokens:
    assert isinstance(system.state, Tokens)
    return system.state


def test_what_each_action_keeps_is_inductive() -> None:
    system = tokens()
    assert broken(system, [who_has_it_had_it(state(system))]) == {}


def test_what_an_action_makes_false_is_withdrawn_with_what_was_proved_from_it() -> None:
    """The second claim is kept only while the first one is assumed, and the first one is false."""
    system = tokens()
    s = state(system)
    never, follows = claim("never", ~s.has["n1"]), claim("follows", ~s.has["n1"] | s.had["n2"])
    assert broken(system, [never, follows, who_has_it_had_it(s)]) == {"never": "take", "follows": "take"}


def test_what_is_false_at_first_is_withdrawn() -> None:
    system = tokens()
    assert broken(system, [claim("some", state(system).has["n1"])]) == {"some": "initially"}


def test_a_step_that_leaves_its_domain_is_noticed() -> None:
    s = Tokens()

    def count(s: Tokens) -> Action:
        """Count without end."""
        return Action(when=TRUE, then=[s.count.set(s.count + 1)], actor="n1")

    assert broken(System(s, (each(count, s),)), []) == {WELL_DEFINED: "count"}


def test_an_action_left_out_of_the_questions_is_missed() -> None:
    """Every slot needs a question, its own or that of a slot that stands for it.

    Planted: no question about `take`, without which any claim is proved.
    """
    system = tokens()
    s = state(system)
    symbolic = Symbolic(system)
    never = claim("never", ~s.has["n1"])
    kept = [slot for slot, a in enumerate(symbolic.actions) if a.schema.name != "take"]
    asked = obligations(symbolic, [never], [INITIALLY, *kept])
    (*_, left) = induct(ObligationSolver(asked, backend("cadical")), 0, asked.questions, ["never"], {})
    assert left == Left(0, frozenset({"never"}))
    assert broken(system, [never]) == {"never": "take"}


def test_every_slot_has_a_question() -> None:
    symbolic = Symbolic(tokens())
    asked = obligations(symbolic, [])
    assert [q.slot for q in asked.questions] == [INITIALLY, *range(len(symbolic.actions))]
    dealt = share_out(asked.questions, 2)
    assert sorted(q.slot for share in dealt for q in share) == [q.slot for q in asked.questions]


def test_the_clauses_of_one_question_are_true_without_it() -> None:
    """A literal of a question occurs negated only, so its clauses cannot contradict another question."""
    system = tokens()
    asked = obligations(Symbolic(system), [who_has_it_had_it(state(system))])
    literals = {literal for q in asked.questions for literal in (q.happens, *q.fails.values())}
    common, own = split_by_question(asked, asked.clauses)
    assert literals.isdisjoint(abs(literal) for clause in common for literal in clause)
    assert own.keys() <= {q.slot for q in asked.questions}
    for question in asked.questions:
        mine = {-question.happens, *(-literal for literal in question.fails.values())}
        for clause in own[question.slot]:
            assert not mine.isdisjoint(clause)
            assert literals.isdisjoint(clause)
            assert literals.isdisjoint({-literal for literal in clause} - {-literal for literal in mine})
    assert len(common) + sum(map(len, own.values())) == len(asked.clauses)


@pytest.mark.parametrize("solver", ["cadical", "glucose", "minisat", "z3"])
def test_an_answer_names_the_claims_it_used(solver: str) -> None:
    system = tokens()
    s = state(system)
    symbolic = Symbolic(system)
    claims = [who_has_it_had_it(s), claim("idle", ~s.chosen["n1"] | s.chosen["n1"])]
    asked = obligations(symbolic, claims)
    answers = list(
        induct(ObligationSolver(asked, backend(solver)), 0, asked.questions, [c.name for c in claims], {})
    )
    used = {m.slot: m.used for m in answers if isinstance(m, StillInductive)}
    assert all("idle" not in names for names in used.values())
    assert used[INITIALLY] == frozenset()


def test_an_answer_that_used_what_is_withdrawn_is_asked_again() -> None:
    system = tokens()
    s = state(system)
    symbolic = Symbolic(system)
    claims = [who_has_it_had_it(s)]
    asked = obligations(symbolic, claims)
    known = {q.slot: frozenset({"gone"}) for q in asked.questions}
    answers = list(induct(ObligationSolver(asked, backend("cadical")), 0, asked.questions, ["had"], known))
    assert len([m for m in answers if isinstance(m, StillInductive)]) == len(asked.questions)
    known = {q.slot: frozenset({"had"}) for q in asked.questions}
    answers = list(induct(ObligationSolver(asked, backend("cadical")), 0, asked.questions, ["had"], known))
    assert answers == [Left(0, frozenset({"had"}))]


def orbits_of(system: System, *claims: Invariant) -> list[str]:
    symbolic = Symbolic(system)
    return [symbolic.actions[slot].name for slot in representatives(symbolic, claims)]


def test_one_action_stands_for_those_that_a_renaming_makes_of_it() -> None:
    system = tokens()
    assert orbits_of(system, who_has_it_had_it(state(system))) == ["take(n1)", "give back(n1)"]


def test_a_label_that_a_claim_names_stands_for_no_other() -> None:
    """Asking about n1 alone would prove that n2 never has a token."""
    system = tokens()
    never = claim("never", ~state(system).has["n2"])
    assert len(orbits_of(system, never)) == 6
    assert broken(system, [never]) == {"never": "take"}


def take_after_n1(s: Tokens, node: Parameter) -> Action:
    """Take a token after n1 has had one."""
    return replace(take(s, node), when=~s.had[node] & s.had["n1"])


def test_a_label_that_a_guard_names_stands_for_no_other() -> None:
    """Asking about n1 alone would prove that only nodes with an earlier token have one.

    The reason is that n1 cannot take another.
    """
    s = Tokens()
    system = System(s, (each(take_after_n1, s, s.node),))
    assert len(orbits_of(system, who_has_it_had_it(s))) == 3


def test_a_constant_that_tells_labels_apart_is_noticed() -> None:
    s = Tokens(constant=True)
    system = tokens(s)
    never = claim("never", forall(s.node, lambda n: implies(s.chosen[n], ~s.has[n])))
    assert not interchangeable(Symbolic(system), [never])
    assert broken(system, [never]) == {"never": "take"}


def test_a_part_of_an_index_set_is_noticed() -> None:
    s = Tokens()
    some = Sort("some", ("n1",), part_of="node")
    never = claim("never", forall(some, lambda n: ~s.has[n]))
    assert not interchangeable(Symbolic(tokens(s)), [never])


def test_a_claim_may_not_read_a_choice() -> None:
    s = Tokens()
    with pytest.raises(ModelError, match="is a choice"):
        obligations(Symbolic(tokens(s)), [claim("lost", s.lost["n1"])])


@pytest.mark.parametrize("seed", range(60))
def test_a_counterexample_is_as_small_as_its_clauses_allow(seed: int) -> None:
    """No choice is true and no variable has a new value, unless the clauses and those before it ask for it.

    The clauses are made at random over three Booleans of state, two choices and one claim; all assignments
    are tried.
    """
    dice = random.Random(seed)
    clauses = [[dice.choice((-1, 1)) * v for v in dice.sample(range(1, 7), 3)] for _ in range(14)]
    models = [
        model
        for bits in itertools.product((-1, 1), repeat=6)
        if all(set(clause) & set(model := [bit * v for v, bit in enumerate(bits, 1)]) for clause in clauses)
    ]
    question = ObligationQuestion(0, 7, {"claim": 8})
    asked = Obligations([*clauses, [7], [8]], 8, [1, 2], 2, {"held": 6}, (question,))
    asking = smallest(
        ObligationSolver(asked, backend("cadical")), asked, question, [], "claim", [[False], [True, False]]
    )
    if not models:
        with pytest.raises(AssertionError):
            list(asking)
        return
    for usual in ({-4}, {-5}, {-1}, {2, -3}):
        models = [model for model in models if usual <= set(model)] or models
    with pytest.raises(StopIteration) as ended:
        while True:
            next(asking)
    start = ended.value.value
    found = [bit for values in start.values for bit in values] + [n in start.choices for n in range(2)]
    assert found in [[literal > 0 for literal in model[:5]] for model in models]


def test_a_simulation_reports_each_witness_and_each_false_invariant_once() -> None:
    """A target that is never reached keeps the simulation running.

    A target that was reported is not reported again.
    """
    system = tokens()
    s = state(system)
    never, had = claim("never", ~s.had["n1"]), who_has_it_had_it(s)
    reached = Property("reached", "", TRUE, s.count == 3, "all have been asked")
    unreached = Property("unreached", "", TRUE, FALSE, "nothing")
    found = [*simulate(system, [reached, unreached]), *falsified(system, [never, had])]
    assert [path.property for path in found] == ["reached", "never"]


def with_a_crash() -> System:
    """Return a system whose one witness takes a crash."""
    s = Tokens()

    def crash(s: Tokens) -> Action:
        """Lose the token of the first node."""
        return Action(when=s.has["n1"], then=[s.has["n1"].set(False)], actor="n1", fault="crashes")

    witness = s.had["n1"] & ~s.has["n1"]
    prop = Property("lost", "", TRUE, witness, "the token is lost")
    return System(s, (each(take, s, s.node), each(crash, s)), (prop,))


@pytest.mark.parametrize(("most", "seen"), [(0, []), (1, ["lost"])])
def test_a_witness_counts_if_its_execution_is_within_the_budgets(most: int, seen: list[str]) -> None:
    """Planted by the first case: the budgets are not asked."""
    system = with_a_crash()
    found = witnesses(Replayer(system, SUBJECT), system.properties, {"crashes": most})
    assert [message.property for message in found] == seen


def test_a_simulation_that_does_not_replay_reports_no_witness(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the simulation forgets its last step. Without the replay the witness would count."""
    whole = directed_simulation._simulate_once

    def shorter(*asked: Any) -> Iterator[FoundPath]:
        for path in whole(*asked):
            yield replace(path, actions=path.actions[:-1])

    monkeypatch.setattr(directed_simulation, "_simulate_once", shorter)
    system = with_a_crash()
    with pytest.raises(NotAnExecution, match="is not reached"):
        next(witnesses(Replayer(system, SUBJECT), system.properties, {}))
