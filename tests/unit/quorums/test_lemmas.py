"""The catalogue of lemmas has the expected results, and nothing unproved is called proved."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable
from itertools import combinations

import pytest
import z3

from fencepost.encoding.errors import BadInput, InternalError
from fencepost.encoding.solving.answers import Deadline, GaveUp, No, Yes
from fencepost.encoding.solving.scripts import cvc5_version
from fencepost.properties import lemmas as catalogue
from fencepost.quorums import coverage, lemmas, losses, striping
from fencepost.quorums.arithmetic import BP46
from fencepost.quorums.lemmas import CONFIRMED, Lemma, LemmaJob, LemmaResult, LemmaVerdict, settle
from fencepost.quorums.smt import Reply, ask_cvc5, ask_z3, obligation
from fencepost.quorums.stripes import Configuration, configurations
from support.plain_sets import (
    can_be_fenced,
    can_lose,
    covered_by_first_ack_quorum,
    covered_by_windows,
    is_stranded,
)

UP_TO, LESS = 6, 4
"""The largest E that is enumerated, of all lemmas and of those on quorums alone."""


OF_QUORUMS = [*coverage.lemmas(), *striping.lemmas(), *losses.lemmas()]
"""The lemmas on quorums alone. The others are on a protocol, and take longer."""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((OF_QUORUMS, LESS), id="of quorums", marks=pytest.mark.slow),
        pytest.param((catalogue.all_lemmas(), UP_TO), id="all", marks=pytest.mark.long),
    ],
)
def results(request: pytest.FixtureRequest) -> dict[str, LemmaResult]:
    asked, up_to = request.param
    return {r.name: r for r in catalogue.decide(asked, LemmaJob(BP46, up_to, Deadline(600)))}


@pytest.mark.xdist_group("lemmas")
def test_all_lemmas_come_out_as_expected(results: dict[str, LemmaResult]) -> None:
    assert [r.name for r in results.values() if not r.as_expected] == []
    assert {r.verdict for r in results.values()} == {
        LemmaVerdict.PROVED,
        LemmaVerdict.HOLDS,
        LemmaVerdict.REFUTED,
    }


@pytest.mark.xdist_group("lemmas")
def test_every_proof_obligation_is_confirmed_by_cvc5(results: dict[str, LemmaResult]) -> None:
    """cvc5 is required here; users may lack it."""
    settled = [s for r in results.values() for s in r.obligations]
    assert len(settled) > (300 if len(results) > len(OF_QUORUMS) else 20)
    assert [s.name for s in settled if s.confirmed != CONFIRMED and ".refinement " not in s.name] == []


@pytest.mark.xdist_group("lemmas")
def test_a_proved_lemma_has_all_its_proof_obligations_proved(results: dict[str, LemmaResult]) -> None:
    for result in results.values():
        if result.verdict is LemmaVerdict.PROVED:
            assert result.obligations
            assert {s.answer for s in result.obligations} == {LemmaVerdict.PROVED}


@pytest.mark.xdist_group("lemmas")
def test_enumeration_says_holds_up_to_its_size_and_not_proved(results: dict[str, LemmaResult]) -> None:
    up_to = LESS if len(results) == len(OF_QUORUMS) else UP_TO
    for name in ("coverage-fencing-enumerated", "coverage-reads-enumerated", "stripes-enumerated"):
        assert results[name].verdict is LemmaVerdict.HOLDS
        assert f"E <= {up_to}" in results[name].basis


def heard_sets(c: Configuration) -> Iterable[tuple[int, ...]]:
    return (h for size in range(c.ensemble + 1) for h in combinations(range(c.ensemble), size))


def broken(lemma: str, c: Configuration, heard: Collection[int]) -> bool:
    """Return whether these answers are a counterexample to a lemma, by the definitions."""
    e, w, a = c.sizes
    lost = frozenset(c.positions) - set(heard)
    match lemma:
        case "windows-need-the-count":
            return covered_by_windows(c, heard) and len(heard) < e - a + 1
        case "first-ack-quorum-rule":
            return covered_by_first_ack_quorum(c, heard) and is_stranded(c, heard)
        case "pr-2281-rule":
            return len(heard) >= w - a + 1 and is_stranded(c, heard)
        case "loss-is-fencing-few-entries":
            return any(can_be_fenced(c, lost) == can_lose(c, entries, lost) for entries in range(1, e))
    raise AssertionError(lemma)


FALSE_LEMMAS = [
    "windows-need-the-count",
    "first-ack-quorum-rule",
    "pr-2281-rule",
    "loss-is-fencing-few-entries",
]


@pytest.mark.parametrize("name", FALSE_LEMMAS)
def test_a_counterexample_is_one_by_the_definitions_and_the_smallest(name: str) -> None:
    """Planted: a question that lacks a constraint has other answers."""
    (lemma,) = catalogue.chosen([name])
    example = lemma.decide(LemmaJob(BP46, UP_TO, Deadline(600))).example
    assert example is not None
    found = Configuration(*map(int, example.configuration.split("/")))
    heard = example.sets["heard" if "heard" in example.sets else "up"]
    assert broken(name, found, [int(bookie[1:]) - 1 for bookie in heard])
    tried = (c for c in configurations(UP_TO) if any(broken(name, c, heard) for heard in heard_sets(c)))
    assert found == next(tried)


@pytest.mark.xdist_group("lemmas")
def test_the_examples_of_the_issue_are_found(results: dict[str, LemmaResult]) -> None:
    found = {name: r.example.configuration for name, r in results.items() if r.example is not None}
    assert found["windows-need-the-count"] == "4/2/2"
    assert found["first-ack-quorum-rule"] == "4/3/2"
    example = results["first-ack-quorum-rule"].example
    assert example is not None and example.sets["heard"] in {("b1", "b3"), ("b2", "b4")}


def test_pr_2281_is_unsafe_exactly_when_striped_by_trying_all_sets() -> None:
    for c in configurations(6):
        e, w, a = c.sizes
        unsafe = any(len(heard) >= w - a + 1 and is_stranded(c, heard) for heard in heard_sets(c))
        assert unsafe == (e > w)


def test_every_exported_file_is_self_contained_and_solved_by_both(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """z3 and cvc5 read each file from its text alone, and give the same answer."""
    folder = tmp_path_factory.mktemp("smt2")
    wanted = catalogue.chosen(["coverage-fencing", "coverage-reads", "fewest-answers", "loss-is-fencing"])
    count = catalogue.write_files(folder, catalogue.files(wanted, BP46))
    files = sorted(folder.glob("*.smt2"))
    assert len(files) == count > 20
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert text.count("(check-sat)") == 1 and "(set-logic ALL)" in text
        assert "(let " not in text
        assert {ask(text, Deadline(600)).answer for ask in (ask_z3, ask_cvc5)} == {No()}
    shutil.rmtree(folder)


X = z3.Int("x")
TRUE_CLAIM = obligation("true", "a square is not negative", [X >= 2], X * X >= 4)
FALSE_CLAIM = obligation("false", "x is at least 2", [X >= 1], X >= 2)


def test_writing_a_proof_obligation_leaves_the_printer_as_it_was() -> None:
    """Other code prints terms that share much: without `let` the text doubles with every level."""
    shared = X
    for _ in range(12):
        shared = shared * shared
    before = shared.sexpr()
    assert "(let " in before and len(before) < 1000
    obligation("doubled", "what is written without let", [shared > 1], shared > 0)
    assert shared.sexpr() == before


def test_contradictory_premises_are_vacuous() -> None:
    empty = obligation("empty", "nothing", [X >= 2, X <= 1], X == 5)
    assert settle(empty, Deadline(600)).answer is LemmaVerdict.VACUOUS


def test_no_time_is_undecided_never_proved() -> None:
    settled = settle(obligation("late", "too late", [X >= 3], X * X >= 9), Deadline(0))
    assert settled.answer is LemmaVerdict.UNDECIDED
    assert settled.reason == "time-out"
    for lemma in catalogue.chosen(["coverage-fencing-enumerated", "windows-need-the-count"]):
        assert lemma.decide(LemmaJob(BP46, 4, Deadline(0))).verdict is LemmaVerdict.UNDECIDED


def test_an_unknown_of_z3_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lemmas, "ask_z3", lambda s, d: Reply(GaveUp("incomplete"), 0.0))
    lemma = catalogue.chosen(["quorums-meet"])[0]
    result = lemma.decide(LemmaJob(BP46, 4, Deadline(600)))
    assert result.verdict is LemmaVerdict.UNDECIDED and "incomplete" in result.reason
    assert catalogue.overall([result]) is LemmaVerdict.UNDECIDED


def test_solvers_that_contradict_each_other_are_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lemmas, "ask_z3", lambda s, d: Reply(Yes({}), 0.0))
    with pytest.raises(InternalError, match="z3 says sat, cvc5 unsat"):
        settle(TRUE_CLAIM, Deadline(600))


def test_without_cvc5_nothing_is_confirmed_and_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lemmas, "cvc5_version", lambda: None)
    result = catalogue.chosen(["coverage-reads"])[0].decide(LemmaJob(BP46, 4, Deadline(600)))
    assert result.verdict is LemmaVerdict.PROVED
    assert result.confirmed == "not confirmed (cvc5 not installed)"
    assert {s.confirmed for s in result.obligations} == {"not confirmed (cvc5 not installed)"}


def test_cvc5_is_installed_for_the_tests() -> None:
    assert cvc5_version() is not None


def test_a_false_claim_is_refuted_with_a_model() -> None:
    assert settle(FALSE_CLAIM, Deadline(600)).answer is LemmaVerdict.REFUTED
    assert ask_z3(FALSE_CLAIM.script, Deadline(600)).answer == Yes({"x": "1"})


def test_a_refutation_shows_the_sizes_at_which_the_claim_is_false() -> None:
    """A user never gets `refuted` without something to look at."""
    wrong = Lemma(
        "wrong", "never shown", "x", LemmaVerdict.PROVED, obligations=lambda formulas: [FALSE_CLAIM]
    )
    result = wrong.decide(LemmaJob(BP46, 3, Deadline(600)))
    assert result.verdict is LemmaVerdict.REFUTED
    assert result.example and result.example.sentence == "x is at least 2: false with x = 1"


def test_an_unknown_lemma_is_bad_input_and_says_what_lists_the_known() -> None:
    with pytest.raises(BadInput, match="nonsense: no such lemma; fencepost prove --list lists them"):
        catalogue.chosen(["nonsense"])
