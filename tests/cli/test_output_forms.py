"""The forms of `check` and `export` that show one counterexample."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from fencepost.cli.main import run
from fencepost.encoding.forms import FORMS
from support.commands import Command
from support.counterexamples import EXAMPLE

SAVED = Path(__file__).parents[2] / "docs" / "traces" / "bookkeeper-4.13.no-divergence.json"
OWN = ["--protocol", str(EXAMPLE)]
BEGIN = {
    "itf": '{"#meta": ',
    "mermaid": "---\ntitle: ",
    "html": "<!DOCTYPE html>",
}


@pytest.fixture(scope="session")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a result with two counterexamples."""
    file = tmp_path_factory.mktemp("both") / "both.json"
    lossy = ["--set", "fence=yes", "--set", "acknowledge=reachable", "--count", "2"]
    assert run(["check", str(EXAMPLE), *lossy, "--format", "json", "--output", str(file)]) == 1
    return file


@pytest.mark.parametrize("form", FORMS)
def test_a_check_tells_its_counterexample(fencepost: Command, tmp_path: Path, form: str) -> None:
    folder = tmp_path / "found"
    code, out, err = fencepost("check", str(EXAMPLE), "--format", form, "--traces", str(folder))
    assert (code, err.count("\n")) == (1, 1)
    assert err.startswith("nothing-lost: violated in 7 steps (fewest: no shorter trace exists)")
    assert out.startswith(BEGIN[form])
    name = f"two-copies.nothing-lost{FORMS[form]}"
    assert {file.name for file in folder.iterdir()} == {"two-copies.nothing-lost.json", name}
    assert (folder / name).read_text(encoding="utf-8") == out


def test_of_several_the_first_is_told_and_the_others_named(fencepost: Command, tmp_path: Path) -> None:
    lossy = ["check", str(EXAMPLE), "--set", "fence=yes", "--set", "acknowledge=reachable", "--count", "2"]
    code, out, err = fencepost(*lossy, "--format", "mermaid", "--traces", str(tmp_path))
    assert code == 1
    assert "one of 2 counterexamples; also: nothing-lost. Choose with --property, or say --traces DIR" in err
    names = [f"two-copies.nothing-lost.{number}" for number in (1, 2)]
    endings = (".json", ".mmd")
    assert {f.name for f in tmp_path.iterdir()} == {f"{name}{ending}" for name in names for ending in endings}
    first, second = ((tmp_path / f"{name}.mmd").read_text() for name in names)
    assert out == first != second


def test_without_a_counterexample_nothing_is_written(fencepost: Command, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    proved = ["check", str(EXAMPLE), "--set", "fence=yes", "--format", "html"]
    code, out, err = fencepost(*proved, "--output", str(file), "--traces", str(tmp_path / "none"))
    assert (code, out) == (0, "")
    assert "nothing-lost: proved" in err
    assert f"nothing to show as html; {file} is not written" in err
    assert not file.exists()
    assert list((tmp_path / "none").iterdir()) == []


def test_a_trace_that_does_not_replay_is_not_told(fencepost: Command, tmp_path: Path) -> None:
    edited, page = tmp_path / "edited.json", tmp_path / "page.html"
    trace = json.loads(SAVED.read_text(encoding="utf-8"))
    del trace["steps"][4]
    edited.write_text(json.dumps(trace))
    code, out, err = fencepost("export", str(edited), "--format", "html", "--output", str(page))
    assert (code, out, page.exists()) == (1, "", False)
    assert "no-divergence: does not replay. step 5" in err


def test_of_a_result_with_several_the_first_is_told(fencepost: Command, both: Path) -> None:
    code, out, err = fencepost("export", str(both), *OWN, "--format", "mermaid")
    assert (code, out.startswith("---\n")) == (0, True)
    assert "one of 2 counterexamples" in err


def test_only_the_traces_of_a_property_are_shown(fencepost: Command, both: Path) -> None:
    assert fencepost("export", str(both), *OWN, "--property", "nothing-lost")[1].count("replayed") == 2
    code, _, err = fencepost("export", str(both), *OWN, "--property", "something-lost")
    assert code == 2
    assert "has no trace of it; valid: nothing-lost" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("known", "--format", "itf"), "'itf' is not one of 'text', 'json'"),
        (("prove", "--format", "html"), "'html' is not one of 'text', 'json'"),
        (("quorum", "-e", "3", "-w", "3", "-a", "2", "--format", "itf"), "'itf' is not one of"),
        (("export", str(SAVED), "--format", "itf", "--output", "no/where"), "no/where: cannot be written"),
    ],
)
def test_what_does_not_go_together_is_one_line(
    fencepost: Command, arguments: Sequence[str], message: str
) -> None:
    code, out, err = fencepost(*arguments)
    assert (code, err.count("\n")) == (2, 1)
    assert out == "" or json.loads(out)["schema"] == "fencepost.error/1"
    assert message in err
