"""The questions of `advise` as cases of a sweep, and the rows that ship made of their answers."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import usual as make_usual

from fencepost.answers.advice import ANYTHING_ELSE
from fencepost.answers.asked_setup import asked_setup
from fencepost.answers.risk_search import RiskQuestion
from fencepost.answers.setups import Setup
from fencepost.answers.usual import questions, small_questions
from fencepost.cli.exits import ExitCode
from fencepost.cli.main import run
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.errors import BadInput, time_out
from fencepost.properties.catalogue import find
from fencepost.quorums.stripes import Configuration
from fencepost.sweeps.advice_cases import FIRST, case_of, cases_of, setups, unadvised, usual_row
from fencepost.sweeps.grid import plan
from fencepost.sweeps.rows import ERROR, Row, unanswered
from fencepost.sweeps.solve import Allowance, solve, solve_all
from fencepost.sweeps.sweep_cases import together

GRID = """
[[grid]]
advice = ["1/1/1", "2/2/2"]
bookies = "ensemble"
releases = ["4.17.2", "4.17.3"]
storages = "sorted"
"""

SMALLEST = unadvised(Setup(Configuration(1, 1, 1), 1, "4.17.3"))


def test_a_question_of_several_setups_is_one_case() -> None:
    """Planted: the release is part of a case."""
    found = plan(tomllib.loads(GRID))
    each = set(cases_of(SMALLEST))
    assert each <= set(found.cases)
    assert len({case.identify("an engine") for case in found.cases}) == len(found.cases)
    assert found.repeated > len(found.cases), "4.17.2 and 4.17.3 have the same rules"
    assert {case.solver for case in found.cases} == {"advice"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('advice = "3/2"', "advice = '3/2': is no E/WQ/AQ; write one as '3/2/2'"),
        ('advice = "2/3/2"', "write quorum 3 exceeds ensemble 2"),
        ('releases = "4.17.33"', "4.17.33: not one of the"),
        ('bookies = "7"', "bookies = '7': no such value; valid: ensemble, ensemble+1"),
        ('storages = "tape"', "storages = 'tape': no such value; valid: "),
        ('journal = "maybe"', "journal = 'maybe': no such value; valid: on, unsynced, off"),
        ("seeds = 3", "seeds: unknown key"),
    ],
)
def test_a_grid_of_impossible_setups_is_refused(line: str, message: str) -> None:
    key = line.split()[0]
    others = [one for one in ('advice = "2/2/2"', 'releases = "4.17.4"') if not one.startswith(f"{key} ")]
    with pytest.raises(BadInput) as refused:
        plan(tomllib.loads("\n".join(["[[grid]]", *others, line])))
    assert message in str(refused.value)


@pytest.mark.parametrize("option", ["--memory=2", "--conflicts-per-case=9", "--certify", "--drop-declared"])
def test_options_of_solvers_are_refused(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Planted: the limit in conflicts is taken, and the question has that of `advise`."""
    (tmp_path / "grid.toml").write_text(GRID)
    assert (
        run(["sweep", "run", str(tmp_path / "grid.toml"), str(tmp_path / "found"), option])
        == ExitCode.BAD_INPUT
    )
    told = capsys.readouterr().err
    assert told.startswith(f"fencepost: {option.partition('=')[0]}: is about solvers, and the grid asks for ")
    assert told.count("\n") == 1


@pytest.mark.slow
def test_a_case_is_the_instance_of_its_question() -> None:
    """A case has all settings and no release. Planted: a switch is left out; another search comes first."""
    seen: dict[object, RiskQuestion] = {}
    for setup in make_usual.usual_setups():
        about = unadvised(setup)
        for question in (*questions(about).values(), *small_questions(about).values()):
            seen.setdefault(case_of(question), question)
    for case, question in seen.items():
        settings = dict(case.settings)  # type: ignore[attr-defined]
        assert FIRST[settings.pop("first")] is question.first
        assert find(question.preset).instance(settings.items()).parameters == question.instance.parameters


def test_the_setups_are_those_that_options_name() -> None:
    """Planted: unsynced is the journal off; the default storage is sorted."""
    (table,) = tomllib.loads('[[grid]]\nadvice="2/2/2"\nreleases="4.17.4"\njournal="unsynced"')["grid"]
    assert list(setups(table)) == [asked_setup(2, 2, 2, 3, release="4.17.4", storage="db", sync=False).setup]


@pytest.mark.slow
def test_a_case_has_the_answer_of_advise() -> None:
    """Planted: the properties are taken as one name; a proof is shared among cases of advice."""
    question = small_questions(SMALLEST)["#4812"]
    case = case_of(question)
    row = solve(case, "an engine", Allowance(timeout=600.0))
    assert (row["verdict"], row["reason"]) == ("violated", "")
    assert json.loads(row["trace"])["property"] in question.properties
    (task,) = together([case])
    (again,) = solve_all(task, "an engine", Allowance(timeout=600.0))
    assert {**again, "seconds": 0} == {**row, "seconds": 0}


def answered(**others: Any) -> dict[str, Row]:
    """Return rows for the smallest setup: all proved, but for these columns of the question on #4812."""
    asked, small = questions(SMALLEST), small_questions(SMALLEST)
    rows = {
        case_of(q).identify("e"): unanswered("proved", "", 0.0) for q in (*asked.values(), *small.values())
    }
    rows[case_of(asked["#4812"]).identify("e")] = unanswered("proved", "", 0.0) | others
    return rows


def test_a_setup_without_every_answer_has_no_row() -> None:
    """Planted: an error, or a time-out, counts as not decided."""
    assert usual_row(SMALLEST, answered(), "e") is not None
    assert usual_row(SMALLEST, answered(verdict=ERROR, reason="killed"), "e") is None
    assert usual_row(SMALLEST, answered(verdict="undecided", reason=time_out(9.0)), "e") is None
    whole = usual_row(SMALLEST, answered(verdict="undecided", reason="100,000 conflicts"), "e")
    assert whole is not None and whole["answers"]["#4812"]["verdict"] == "undecided"


def test_a_bug_on_its_small_instance_is_kept_if_the_question_here_is_open() -> None:
    """Planted: the small instance wins over a proof here; the reason here is lost."""
    rows = answered(verdict="undecided", reason="100,000 conflicts")
    trace = json.dumps({"property": "no-divergence", "initial": {}, "steps": []})
    name = case_of(small_questions(SMALLEST)["#4812"]).identify("e")
    rows[name] = unanswered(Verdict.VIOLATED.value, "", 0.0) | {"trace": trace}
    whole = usual_row(SMALLEST, rows, "e")
    assert whole is not None
    found = whole["answers"]["#4812"]
    assert (found["verdict"], found["small"], found["reason"]) == ("violated", True, "100,000 conflicts")
    assert found["execution"] == {"property": "no-divergence", "initial": {}, "steps": []}
    decided = usual_row(SMALLEST, rows | answered(), "e")
    assert decided is not None and not any(one["small"] for one in decided["answers"].values())
    assert whole["answers"][ANYTHING_ELSE]["execution"] is None
