"""BookKeeper's core: its proof for all sizes, that the proof needs each part, and its finite instances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from fencepost.encoding.all_sizes.quantified_claims import claims
from fencepost.encoding.all_sizes.refinement import unmet_axioms
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.language.system import System
from fencepost.encoding.solving.answers import Deadline, Yes, answered
from fencepost.properties.bookkeeper.core import core_invariant, with_properties
from fencepost.properties.bookkeeper.lemmas import core_lemmas
from fencepost.protocols.bookkeeper.core import Core, CoreParameters, core, core_of_any_size
from fencepost.quorums import arithmetic
from fencepost.quorums.lemmas import LemmaJob, LemmaVerdict
from fencepost.quorums.smt import ask_z3, obligation
from support.exploration import explore
from support.tiers import each_third

OPEN = with_properties(core_of_any_size())
CONJUNCTS = [i.name for i in OPEN.invariants]


def refuted(system: System) -> Iterator[str]:
    """Yield the claims of a system that z3 refutes, one after another; none may be left undecided."""
    for c in claims(system):
        reply = ask_z3(obligation(c.name, c.sentence, c.assume, c.claim).script, Deadline(600))
        if isinstance(answered(reply.answer, c.name), Yes):
            yield c.name


def test_the_core_is_proved_for_all_sizes() -> None:
    assert list(refuted(OPEN)) == []


@pytest.mark.parametrize("left_out", each_third(CONJUNCTS))
def test_no_conjunct_can_be_left_out(left_out: str) -> None:
    """Without any one conjunct another claim fails, so each conjunct is needed."""
    kept = tuple(i for i in OPEN.invariants if i.name != left_out)
    assert any(refuted(replace(OPEN, invariants=kept)))


def test_no_axiom_of_quorums_can_be_left_out() -> None:
    for left_out in ("quorums-meet", "ack-quorum-not-empty"):
        kept = tuple(a for a in OPEN.axioms if a.name != left_out)
        assert any(refuted(replace(OPEN, axioms=kept))), left_out


@pytest.mark.parametrize(
    ("parameters", "caught"),
    each_third(
        [
            (CoreParameters(recovery_reads_fence="no"), "no-means-fenced.answer-read"),
            (CoreParameters(absent_quorum="one-fewer"), "no-divergence"),
            (CoreParameters(unset_acks="kept"), "acked-is-placed.change-ensemble"),
            (CoreParameters(change_in_recovery="committed"), "asked-where-writer-wrote.change-ensemble"),
            (CoreParameters(forgets="entries"), "taken-is-stored.restart"),
            (CoreParameters(forgets="fences"), "no-means-fenced.restart"),
        ]
    ),
)
def test_what_is_taken_away_is_missed_where_it_should_be(parameters: CoreParameters, caught: str) -> None:
    assert caught in refuted(with_properties(core_of_any_size(parameters)))


SMALL = [
    CoreParameters(n, e, wq, aq, entries)
    for n, e, wq, aq, entries in [(1, 1, 1, 1, 2), (2, 1, 1, 1, 1), (2, 2, 2, 1, 1), (2, 2, 1, 1, 1)]
]


@pytest.mark.parametrize("parameters", SMALL, ids=str)
def test_all_that_is_proved_holds_in_every_state_of_a_small_instance(parameters: CoreParameters) -> None:
    system = with_properties(core(parameters))
    concrete = Concrete(system)
    claims = {f.name: concrete.predicate(f.holds) for f in system.invariants}
    claims |= {p.name: concrete.predicate(p.holds) for p in system.properties}
    for visit in explore(system):
        assert [name for name, holds in claims.items() if not holds(visit.state)] == [], visit


@pytest.mark.parametrize(
    "sizes", [(n, e, wq, aq) for n in range(1, 6) for e in range(1, n + 1) for wq in range(1, e + 1)
              for aq in range(1, wq + 1)]
)  # fmt: skip
def test_every_axiom_holds_of_the_actual_subsets(sizes: tuple[int, int, int, int]) -> None:
    assert unmet_axioms(core(CoreParameters(*sizes, entries=2))) == []


def test_an_axiom_that_a_finite_instance_does_not_meet_is_named() -> None:
    right = core(CoreParameters())
    meet = next(a for a in right.axioms if a.name == "quorums-meet")
    assert unmet_axioms(replace(right, axioms=(replace(meet, holds=~meet.holds),))) == ["quorums-meet"]


def test_each_axiom_that_is_a_lemma_names_one() -> None:
    from fencepost.properties.lemmas import all_lemmas

    names = {lemma.name for lemma in all_lemmas()}
    assert {a.because for a in OPEN.axioms} - {""} == {"quorums-meet"} <= names


SHORTEST = {
    "absent-without-fencing-reads": 8,
    "absent-with-forgotten-fences": 9,
    "absent-with-forgotten-entries": 9,
    "absent-on-too-few-answers": 6,
    "change-without-unset-acks": 5,
    "change-during-recovery": 9,
    "no-means-never-stored": 8,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHORTEST)
def test_what_is_taken_away_shows_in_a_shortest_execution(name: str) -> None:
    lemma = next(one for one in core_lemmas() if one.name == name)
    result = lemma.decide(LemmaJob(arithmetic.BP46, 3, Deadline(600)))
    assert result.verdict is LemmaVerdict.REFUTED and result.as_expected
    assert result.example is not None and len(result.example.steps) == SHORTEST[name]


def test_a_proof_about_nothing_is_vacuous(monkeypatch: pytest.MonkeyPatch) -> None:
    """If no bookie is ever small enough to look at, no state shows what the properties are about."""
    monkeypatch.setattr("fencepost.properties.bookkeeper.lemmas.MOST_BOOKIES", 0)
    lemma = next(one for one in core_lemmas() if one.name == "limbo-suffices")
    assert lemma.decide(LemmaJob(arithmetic.BP46, 3, Deadline(600))).verdict is LemmaVerdict.VACUOUS


def test_the_invariant_reads_as_sentences() -> None:
    state = core(CoreParameters()).state
    assert isinstance(state, Core)
    for invariant in core_invariant(state):
        assert invariant.meaning[0].isupper() and invariant.meaning.endswith(".")
