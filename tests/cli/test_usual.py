"""Answers to usual setups: the rows that ship, when one is used, and what is said of it."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import usual as make_usual

import fencepost
from fencepost.answers import usual
from fencepost.answers.advice import ANYTHING_ELSE, Advice
from fencepost.answers.advice_search import advice_on, limits_of
from fencepost.answers.asked_setup import asked_setup
from fencepost.answers.setups import Setup
from fencepost.answers.usual import ROW, answered_earlier, model_of, questions, rows, setup_of
from fencepost.cli.exits import ExitCode
from fencepost.cli.main import run
from fencepost.encoding.documents import has_keys
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.versions import version
from fencepost.quorums.stripes import Configuration
from fencepost.sweeps.advice_cases import case_of, unadvised, usual_row
from fencepost.sweeps.rows import Row, unanswered
from support.advising import smallest

SIZES = ["-e", "1", "-w", "1", "-a", "1", "-n", "1", "--release", "4.17.3", "--storage", "sorted"]
USED = f"Computed with version {version()}, not checked again here; --fresh computes it."

Document = dict[str, Any]
Ship = Callable[..., Advice]
"""A function that writes these lines where the rows ship, and returns the advice on the smallest setup."""


def asked() -> Advice:
    return asked_setup(1, 1, 1, 1, release="4.17.3", storage="sorted")


@cache
def made() -> str:
    """Return the row of the smallest setup, made as the sweep makes it."""
    advice, about = smallest(), unadvised(Setup(Configuration(1, 1, 1), 1, "4.17.3"))
    findings = {risk.bug.name: found for risk, found in advice.losing} | {ANYTHING_ELSE: advice.rest}
    answered: dict[str, Row] = {}
    for name, question in questions(about).items():
        found = findings[name]
        trace = found.counterexample and json.dumps(found.counterexample.trace.to_json())
        row = unanswered(found.verdict.value, found.reason, 0.0) | {"trace": trace}
        answered[case_of(question).identify("an engine")] = row
    return json.dumps(usual_row(about, answered, "an engine"))


@pytest.fixture
def ship(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ship:
    def shipped(*lines: str) -> Advice:
        place = tmp_path / "usual.jsonl"
        place.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        monkeypatch.setattr(usual, "PLACE", place)
        return answered_earlier(asked())

    return shipped


def nothing_is_asked(*_: object) -> None:
    raise AssertionError("a question was asked")


@pytest.mark.slow
def test_an_answer_that_ships_is_told_as_computed_earlier(
    ship: Ship, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Planted: "found now" and "proved now" for a row; no remark; a question is asked."""
    fresh = smallest()
    found = ship(made())
    monkeypatch.setattr("fencepost.answers.risk_search.searched", nothing_is_asked)
    assert found.remark == USED
    for (risk, earlier), (_, now) in zip(found.losing, fresh.losing, strict=True):
        assert earlier.computed_with == version() and not now.computed_with, risk.bug.name
        assert (earlier.verdict, earlier.shown_on, earlier.command) == (
            now.verdict,
            now.shown_on,
            now.command,
        )
    assert run(["advise", *SIZES]) == ExitCode.VIOLATED
    text = " ".join(capsys.readouterr().out.split())
    assert USED in text
    assert " now, at" not in text.replace("and replayed now, at", "") and "proved now" not in text
    assert f"found with version {version()}, and replayed now" in text.lower()
    assert run(["advise", *SIZES, "--format", "json"]) == ExitCode.VIOLATED
    document = json.loads(capsys.readouterr().out)
    assert document["remark"] == USED
    assert {loss["finding"]["computed_with"] for loss in document["losses"] if loss["finding"]} == {version()}
    assert document["else"]["computed_with"] == version()
    assert USED in fencepost.advise(1, 1, 1, 1, release="4.17.3", storage="sorted").html()


@pytest.mark.slow
def test_a_fresh_answer_is_computed(ship: Ship, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the option is not handed on, by the command or in Python."""
    ship(made())
    seen: list[str] = []

    def asking(*_: object) -> None:
        seen.append("asked")
        raise KeyboardInterrupt

    monkeypatch.setattr("fencepost.answers.risk_search.searched", asking)
    with pytest.raises(KeyboardInterrupt):
        fencepost.advise(1, 1, 1, 1, release="4.17.3", storage="sorted", fresh=True)
    assert run(["advise", *SIZES, "--fresh"]) == ExitCode.INTERRUPTED
    assert len(seen) == 2


def broken(row: Document) -> Document:
    """Return the answer of some loss that the row has as violated."""
    found: Document = next(one for one in row["answers"].values() if one["verdict"] == "violated")
    return found


def with_another_model(row: Document) -> None:
    row["model"] = "0" * 64


def with_a_step_less(row: Document) -> None:
    del broken(row)["execution"]["steps"][-1]


def with_a_step_of_no_action(row: Document) -> None:
    broken(row)["execution"]["steps"][0] = ["explode", "b1"]


def with_a_property_not_asked(row: Document) -> None:
    broken(row)["execution"]["property"] = "valid-fragments"


def with_a_violation_called_proved(row: Document) -> None:
    broken(row)["verdict"] = "proved"


def with_a_proof_called_violated(row: Document) -> None:
    row["answers"][ANYTHING_ELSE]["verdict"] = "violated"


def with_an_unknown_key(row: Document) -> None:
    row["certainty"] = 1


def with_an_unknown_key_in_an_answer(row: Document) -> None:
    broken(row)["certainty"] = 1


def with_an_unknown_key_in_an_execution(row: Document) -> None:
    broken(row)["execution"]["certainty"] = 1


def with_a_step_that_is_none(row: Document) -> None:
    broken(row)["execution"]["steps"][0] = "crash b1"


def with_a_loss_less(row: Document) -> None:
    del row["answers"][next(iter(row["answers"]))]


def with_a_proof_on_a_small_instance(row: Document) -> None:
    row["answers"][ANYTHING_ELSE]["small"] = True


def of_another_setup(row: Document) -> None:
    """Give the row of 1/1/1 on 4.17.3 the answers and the digest of another release."""
    other = questions(unadvised(Setup(Configuration(1, 1, 1), 1, "4.14.5")))
    row["model"] = model_of(other)
    row["answers"] = {name: row["answers"].get(name, row["answers"][ANYTHING_ELSE]) for name in other}


REFUSED: dict[Callable[[Document], None], str] = {
    with_another_model: "it is of another model",
    of_another_setup: "it is of another model",
    with_a_loss_less: "it is of another model",
    with_a_step_less: "is not reached",
    with_a_step_of_no_action: "step 1: explode(0=b1) is not an action of",
    with_a_property_not_asked: "valid-fragments was not asked",
    with_a_violation_called_proved: "proved does not fit the rest of its answer",
    with_a_proof_called_violated: "violated does not fit the rest of its answer",
    with_a_proof_on_a_small_instance: "proved does not fit the rest of its answer",
    with_an_unknown_key: "certainty: unknown key",
    with_an_unknown_key_in_an_answer: "certainty: unknown key",
    with_an_unknown_key_in_an_execution: "certainty: unknown key",
    with_a_step_that_is_none: "must be a list of steps",
}
"""Changes of a row, and the words that refuse it."""


@pytest.mark.slow
@pytest.mark.parametrize("plant", REFUSED, ids=lambda plant: plant.__name__)
def test_a_row_that_does_not_fit_is_not_used(plant: Callable[[Document], None], ship: Ship) -> None:
    row = json.loads(made())
    plant(row)
    found = ship(json.dumps(row))
    assert found.remark.startswith("The answer that ships for this setup is not used: ")
    assert REFUSED[plant] in found.remark and "\n" not in found.remark
    assert {one.verdict for _, one in found.losing} | {found.rest.verdict} == {Verdict.UNDECIDED}


def test_without_a_row_there_is_no_remark(ship: Ship) -> None:
    """Planted: an empty file is refused; the row of the first setup is taken."""
    assert ship().remark == ""
    assert ship(json.dumps({"setup": setup_of(asked().setup) | {"bookies": 2}})).remark == ""


def test_a_line_that_is_no_json_is_one_line(ship: Ship, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(fencepost.BadInput, match=r"^usual\.jsonl: line 1: is not JSON"):
        ship("{")
    assert run(["advise", *SIZES]) == ExitCode.BAD_INPUT
    assert capsys.readouterr().err.startswith("fencepost: usual.jsonl: line 1: is not JSON")


@pytest.mark.slow
def test_words_change_no_model_and_terms_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the digest of the modules' text; a digest without the properties."""
    about = unadvised(Setup(Configuration(1, 1, 1), 1, "4.17.3"))
    before = model_of(questions(about))
    later = unadvised(Setup(Configuration(1, 1, 1), 1, "4.18.0"))
    assert model_of(questions(later)) != before
    fewer = {name: question for name, question in questions(about).items() if name != ANYTHING_ELSE}
    assert model_of(fewer) != before
    monkeypatch.setattr("fencepost.protocols.bookkeeper.today.__doc__", "other words")
    assert model_of(questions(about)) == before


# The rows that ship.


def test_the_rows_that_ship_are_whole_sorted_and_of_the_grid() -> None:
    found = rows()
    for row in found:
        has_keys(row, ROW, "a row")
    setups = [make_usual.as_text(row["setup"]) for row in found]
    assert setups == sorted(set(setups))
    assert set(setups) <= {make_usual.as_text(setup_of(one)) for one in make_usual.usual_setups()}


def chosen(part: float, least: int) -> list[Document]:
    """Return a part of the rows, by a seed that changes with the version."""
    found = rows()
    number = min(len(found), max(least, int(part * len(found))))
    return random.Random(version()).sample(found, number)


def about(row: Document) -> Advice:
    """Return the advice before any question on the setup of a row."""
    setups = {make_usual.as_text(setup_of(one)): one for one in make_usual.usual_setups()}
    return unadvised(setups[make_usual.as_text(row["setup"])])


def differences(row: Document, advice: Advice) -> Iterator[str]:
    """Yield a line for each answer of a row that is another one when its question is asked anew."""
    found = {risk.bug.name: one for risk, one in advice.losing} | {ANYTHING_ELSE: advice.rest}
    for name, answer in row["answers"].items():
        if found[name].verdict.value != answer["verdict"]:
            yield f"{name}: {answer['verdict']}, and asked anew {found[name].verdict.value}"


@pytest.mark.slow
def test_a_flipped_verdict_differs_from_the_answer_asked_anew() -> None:
    """Planted: only violations are compared."""
    row = json.loads(made())
    assert list(differences(row, smallest())) == []
    flipped = copy.deepcopy(row)
    broken(flipped).update(verdict="proved", execution=None)
    assert len(list(differences(flipped, smallest()))) == 1


@pytest.mark.slow
@pytest.mark.parametrize("row", chosen(0, 2), ids=lambda row: make_usual.as_text(row["setup"]))
def test_a_question_of_some_rows_asked_anew_has_the_same_answer(row: Document) -> None:
    """One question of each row, by the same seed, because a whole row takes a minute."""
    asked = questions(about(row))
    if row["model"] != model_of(asked):
        pytest.skip("computed for another model, so it is not used; make usual")
    here = sorted(name for name, answer in row["answers"].items() if not answer["small"])
    name = random.Random(version()).choice(here)
    assert asked[name].ask(limits_of(600.0)).verdict.value == row["answers"][name]["verdict"]


@pytest.mark.long
@pytest.mark.parametrize("row", chosen(0.1, 3), ids=lambda row: make_usual.as_text(row["setup"]))
def test_a_tenth_of_the_rows_asked_anew_has_the_same_answers(row: Document) -> None:
    *_, advice = advice_on(about(row), lambda: 1800.0, fresh=True)
    assert list(differences(row, advice)) == []


@pytest.mark.long
def test_every_row_that_ships_is_used() -> None:
    """A row of another model, or one that does not replay, is of no use to anybody: make usual."""
    unused = [
        found.remark for row in rows() if not (found := answered_earlier(about(row))).rest.computed_with
    ]
    assert unused == []
