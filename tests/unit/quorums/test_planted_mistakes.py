"""Planted mistakes: `fencepost prove` refutes an off-by-one in any formula, with an example."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from typing import Any

import pytest

from fencepost.cli.main import run
from fencepost.properties import lemmas
from fencepost.quorums import arithmetic
from fencepost.quorums.arithmetic import BP46, Formulas

QUICK = [
    "coverage-fencing",
    "coverage-reads",
    "coverage-fencing-enumerated",
    "quorums-meet",
    "count-covers-windows",
    "fewest-answers",
    "sure-losses",
    "slack",
    "racks",
    "forgetting",
    "absent-never-acknowledged",
]
"""The lemmas that a mistake may refute. The other lemmas are slower, or refuted in any case."""

PLANTED: dict[str, tuple[Formulas, str]] = {
    "QC without the +1": (
        replace(BP46, negative_answers=lambda e, wq, aq: wq - aq),
        "coverage-reads",
    ),
    "QC with one too many": (
        replace(BP46, negative_answers=lambda e, wq, aq: wq - aq + 2),
        "coverage-reads",
    ),
    "QC with E for WQ": (replace(BP46, negative_answers=lambda e, wq, aq: e - aq + 1), "coverage-reads"),
    "EC without the +1": (replace(BP46, fencing_answers=lambda e, wq, aq: e - aq), "coverage-fencing"),
    "EC with one too many": (replace(BP46, fencing_answers=lambda e, wq, aq: e - aq + 2), "coverage-fencing"),
    "EC with WQ for E": (replace(BP46, fencing_answers=lambda e, wq, aq: wq - aq + 1), "coverage-fencing"),
    "AQ for AQ - 1 in the fewest answers": (
        replace(BP46, fewest_answers=lambda e, wq, aq: e - arithmetic.floor_div(e * aq, wq)),
        "fewest-answers",
    ),
    "WQ - 1 for WQ in the fewest answers": (
        replace(BP46, fewest_answers=lambda e, wq, aq: e - arithmetic.floor_div(e * (aq - 1), wq + 1)),
        "fewest-answers",
    ),
}


def off_by_one(name: str, by: int) -> Formulas:
    """Return BP46 with one formula too large or too small by one."""
    right = getattr(BP46, name)
    changed: dict[str, Any] = {name: lambda *sizes: right(*sizes) + by}
    return replace(BP46, **changed)


CAUGHT_BY = {
    "negative_answers": "coverage-reads",
    "fencing_answers": "coverage-fencing",
    "fewest_answers": "fewest-answers",
    "sure_losses": "sure-losses",
    "slack": "slack",
    "sufficient_racks": "racks",
    "forgetful_holders": "forgetting",
    "forgetful_fences": "forgetting",
}
"""The lemma about each formula."""


@pytest.fixture(autouse=True)
def sizes_up_to_six(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lemmas, "UP_TO", 6)


def prove(capsys: pytest.CaptureFixture[str], names: list[str]) -> tuple[int, dict[str, Any]]:
    code = run(["prove", *names, "--format", "json"])
    output = json.loads(capsys.readouterr().out)
    return code, {result["lemma"]: result for result in output["results"]}


def test_every_formula_has_a_lemma() -> None:
    assert set(CAUGHT_BY) == {field.name for field in fields(Formulas)}


def test_with_nothing_planted_all_is_as_expected(capsys: pytest.CaptureFixture[str]) -> None:
    code, results = prove(capsys, QUICK)
    assert code == 0
    assert {r["verdict"] for r in results.values()} == {"proved", "holds"}


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_planted_mistake_fails_with_a_configuration_and_bookies(
    mistake: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    formulas, caught_by = PLANTED[mistake]
    monkeypatch.setattr(arithmetic, "BP46", formulas)
    code, results = prove(capsys, [caught_by])
    assert code == 1
    shown(results[caught_by])


@pytest.mark.parametrize("by", [-1, 1])
@pytest.mark.parametrize("formula", CAUGHT_BY)
def test_every_formula_is_pinned_from_both_sides(
    formula: str, by: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(arithmetic, "BP46", off_by_one(formula, by))
    code, results = prove(capsys, [CAUGHT_BY[formula]])
    assert code == 1
    shown(results[CAUGHT_BY[formula]])


def shown(result: dict[str, Any]) -> None:
    """Check that a refutation names a configuration, and the bookies or the sizes of the sets there."""
    assert result["verdict"] == "refuted" and result["expected"] == "proved"
    example = result["counterexample"]
    assert re.fullmatch(r"\d+/\d+/\d+", example["configuration"])
    assert re.search(r": false with \w+ = \d", example["sentence"]) or example["sets"]


def test_a_planted_qc_breaks_recovery_too_and_the_trace_loses_an_entry(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(arithmetic, "BP46", PLANTED["QC without the +1"][0])
    code, results = prove(capsys, ["limbo-suffices", "quorums-meet"])
    assert code == 1
    steps = results["limbo-suffices"]["counterexample"]["steps"]
    assert any("closes the ledger below entry 1" in step for step in steps)
    assert any("for entry 1, which is confirmed" in step for step in steps)
    shown(results["quorums-meet"])


def test_the_enumerations_catch_the_same_mistakes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(arithmetic, "BP46", off_by_one("fencing_answers", -1))
    code, results = prove(capsys, ["coverage-fencing-enumerated", "stripes-enumerated"])
    assert code == 1
    for result in results.values():
        assert result["verdict"] == "refuted"
        assert any(result["counterexample"]["sets"].values())


@pytest.mark.parametrize("where", [(4, 3, 2), (5, 5, 1), (4, 2, 2)])
def test_a_mistake_at_one_configuration_only_is_found_there(
    where: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each configuration is tried by itself."""

    def nearly(*sizes: int) -> int:
        exact: int = arithmetic.fencing_answers(*sizes)
        return exact - (sizes == where)

    monkeypatch.setattr(arithmetic, "BP46", replace(BP46, fencing_answers=nearly))
    code, results = prove(capsys, ["coverage-fencing-enumerated", "stripes-enumerated"])
    assert code == 1
    found = {
        name: r["counterexample"] and r["counterexample"]["configuration"] for name, r in results.items()
    }
    assert found["coverage-fencing-enumerated"] == "/".join(map(str, where))


def test_the_text_names_what_was_expected(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(arithmetic, "BP46", PLANTED["EC with WQ for E"][0])
    assert run(["prove", "coverage-fencing"]) == 1
    output = capsys.readouterr().out
    assert "refuted    coverage-fencing  (EXPECTED PROVED" in output
    assert re.search(r"counterexample at \d+/\d+/\d+: If .*: false with .*answered = \d", output)
    assert "0 of 1 lemmas as expected" in output
