"""The reduction of sets to sizes: lemmas that sizes prove hold over finite sets too, for all sizes.

cvc5 has a theory of finite sets with cardinality, so nothing is reduced here. An ack quorum is any set of at
least AQ members of its cohort (docs/lemmas.md, section "Sets and sizes").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from fencepost.encoding.solving.answers import Answer, Deadline, No, Yes
from fencepost.properties.lemmas import chosen
from fencepost.quorums.arithmetic import BP46, Formulas
from fencepost.quorums.coverage import AQ, FENCING, READS, REDUCED, WQ, Cohort, E
from fencepost.quorums.lemmas import Lemma
from fencepost.quorums.smt import ask_cvc5

NONE = "(as set.empty (Set Bookie))"


def answer(sets: str, assertions: Sequence[str]) -> Answer[object]:
    """Return whether there are such sets of bookies, of any sizes."""
    lines = [
        "(set-logic ALL)",
        "(declare-sort Bookie 0)",
        *(f"(declare-const {one} (Set Bookie))" for one in sets.split()),
        *(f"(declare-const {size} Int)" for size in ("E", "WQ", "AQ")),
        "(assert (<= 1 AQ WQ E))",
        *(f"(assert {assertion})" for assertion in assertions),
        "(check-sat)",
    ]
    return ask_cvc5("\n".join(lines) + "\n", Deadline(600)).answer


def coverage(cohort: Cohort, formulas: Formulas) -> dict[str, tuple[str, list[str]]]:
    """Return the counterexamples to the four definitions that must not exist: the sets, and what they do."""
    needed = cohort.enough(formulas, E, WQ, AQ).sexpr()
    given = [f"(= (set.card cohort) {cohort.size('E', 'WQ')})", "(set.subset answers cohort)"]
    enough, silent = f"(>= (set.card answers) {needed})", "(set.minus cohort answers)"
    quorum = "(and (set.subset quorum cohort) (>= (set.card quorum) AQ))"
    missed = f"(and {quorum} (= (set.inter quorum answers) {NONE}))"
    is_silent = f"(and {quorum} (set.subset quorum {silent}))"
    few, three = f"(< (set.card {silent}) AQ)", "cohort answers quorum"
    return {
        "enough, and a quorum missed": (three, [*given, enough, missed]),
        "too few, and the silent are no quorum that is missed": (
            three,
            [*given, f"(not {enough})", f"(= quorum {silent})", f"(not {missed})"],
        ),
        "enough and few silent differ": ("cohort answers", [*given, f"(distinct {enough} {few})"]),
        "few silent, and a quorum silent": (three, [*given, few, is_silent]),
        "many silent, and they are no quorum": (
            three,
            [*given, f"(not {few})", f"(= quorum {silent})", f"(not {is_silent})"],
        ),
    }


def others(formulas: Formulas) -> dict[str, tuple[str, list[str]]]:
    """Return the counterexamples to the other lemmas that must not exist."""
    ec, qc = formulas.fencing_answers(E, WQ, AQ).sexpr(), formulas.negative_answers(E, WQ, AQ).sexpr()
    window = ["(= (set.card window) WQ)", "(= here (set.inter window lost))"]
    lost = "(and (set.subset acks window) (>= (set.card acks) AQ) (set.subset acks lost))"
    return {
        "count-covers-windows": (
            "ensemble window heard",
            [
                "(= (set.card ensemble) E)",
                "(and (set.subset window ensemble) (= (set.card window) WQ))",
                f"(and (set.subset heard ensemble) (>= (set.card heard) {ec}))",
                "(>= (set.card (set.minus window heard)) AQ)",
            ],
        ),
        "quorums-meet": (
            "write_set quorum answered",
            [
                "(= (set.card write_set) WQ)",
                "(and (set.subset quorum write_set) (set.subset answered write_set))",
                f"(and (>= (set.card quorum) AQ) (>= (set.card answered) {qc}))",
                f"(= (set.inter quorum answered) {NONE})",
            ],
        ),
        "loss-is-fencing, lost and not blocked": (
            "window lost here acks",
            [*window, lost, "(< (set.card here) AQ)"],
        ),
        "loss-is-fencing, blocked and not lost": (
            "window lost here acks",
            [*window, "(>= (set.card here) AQ)", "(= acks here)", f"(not {lost})"],
        ),
    }


def claims(formulas: Formulas) -> dict[str, tuple[str, list[str]]]:
    """Return all counterexamples that must not exist, each by its lemma."""
    found = {f"coverage-fencing, {name}": one for name, one in coverage(FENCING, formulas).items()}
    found |= {f"coverage-reads, {name}": one for name, one in coverage(READS, formulas).items()}
    return found | others(formulas)


@pytest.mark.parametrize("name", claims(BP46))
def test_a_lemma_about_sizes_holds_over_finite_sets(name: str) -> None:
    assert answer(*claims(BP46)[name]) == No()
    (lemma,) = chosen([name.partition(",")[0]])
    assert isinstance(lemma, Lemma) and lemma.argument == REDUCED


@pytest.mark.parametrize(
    ("name", "formula", "by"),
    [
        ("coverage-fencing, enough, and a quorum missed", "fencing_answers", -1),
        ("coverage-fencing, too few, and the silent are no quorum that is missed", "fencing_answers", 1),
        ("coverage-reads, enough and few silent differ", "negative_answers", 1),
        ("count-covers-windows", "fencing_answers", -1),
        ("quorums-meet", "negative_answers", -1),
    ],
)
def test_a_formula_that_is_off_by_one_has_a_counterexample(name: str, formula: str, by: int) -> None:
    """Planted: one formula too large or too small by one."""
    right = getattr(BP46, formula)
    wrong = replace(BP46, **{formula: lambda *sizes: right(*sizes) + by})
    assert isinstance(answer(*claims(wrong)[name]), Yes)


@pytest.mark.parametrize("without", [0, 1, 2, 3])
def test_no_premise_can_be_left_out(without: int) -> None:
    """Planted: a premise left out. A contradiction among the premises would prove anything."""
    sets, assertions = claims(BP46)["quorums-meet"]
    assert isinstance(answer(sets, [*assertions[:without], *assertions[without + 1 :]]), Yes)
