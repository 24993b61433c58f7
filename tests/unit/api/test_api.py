"""`import fencepost`: results, counterexamples, refusals, and what the import costs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost.cli.main import run

FILE = Path(__file__).parents[3] / "examples" / "two_copies.py"
PRESET = "bookkeeper-4.13"
MANY = [(name, getattr(fencepost, name)) for name in vars(fencepost)["__all__"]]


@pytest.fixture(scope="module")
def lost() -> fencepost.Checked:
    return fencepost.check(FILE, jobs=1)


def test_every_public_name_is_there_and_no_other() -> None:
    assert all(value is not None for _, value in MANY)
    with pytest.raises(AttributeError, match="no attribute 'chek'"):
        getattr(fencepost, "chek")  # noqa: B009 - mypy refuses it as a name


def test_the_import_loads_no_other_module() -> None:
    """Planted: an import of `checks` at the top of the module."""
    code = "import sys, fencepost; print([n for n in sys.modules if n.startswith(('fencepost.', 'z3'))])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"


def test_a_result_has_what_the_command_prints(
    lost: fencepost.Checked, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", str(FILE), "--jobs", "1"]) == 1
    printed = capsys.readouterr().out
    found = next(result for result in lost if result.trace is not None)
    assert found.trace is not None
    assert (lost.verdict, found.verdict, found.steps) == ("violated", "violated", len(found.trace))
    assert found.trace.text() in printed
    assert found.sentence in printed
    assert lost[found.property] is found


def test_a_notebook_shows_a_result_without_markup_from_names(lost: fencepost.Checked) -> None:
    found = next(result for result in lost if result.trace is not None)
    assert found.trace is not None
    assert found._repr_html_().count("<tr>") == len(found.trace) + 1
    assert "<script" not in found._repr_html_()
    assert found.trace.html().startswith("<!")


def test_the_steps_as_a_dataframe(lost: fencepost.Checked, monkeypatch: pytest.MonkeyPatch) -> None:
    found = next(result for result in lost if result.trace is not None)
    assert found.trace is not None
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"^to_dataframe needs pandas: pip install pandas$"):
        found.trace.to_dataframe()


@pytest.mark.parametrize(
    "settings",
    [{"entrys": 2}, {"entries": "many"}, {"recovery_reads_fence": "maybe"}, {"ack_quorum": 9}],
)
def test_bad_settings_raise_the_line_of_the_command(
    settings: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(fencepost.BadInput) as refused:
        fencepost.check(PRESET, settings=settings)
    assert run(["check", PRESET, *(f"--set={name}={value}" for name, value in settings.items())]) == 2
    assert capsys.readouterr().err == f"fencepost: {refused.value}\n"


def test_a_boolean_is_yes_or_no() -> None:
    with pytest.raises(fencepost.BadInput, match=r"^recovery_floor=yes: not a value of this switch"):
        fencepost.check(PRESET, settings={"recovery_floor": True})


@pytest.mark.parametrize(
    "limits",
    [{"bound": -1}, {"rounds": 0}, {"rounds": 1001}, {"timeout": 0}, {"jobs": True}, {"minimize": "x"}],
)
def test_limits_that_mean_nothing_are_refused(limits: dict[str, object]) -> None:
    (name,) = limits
    with pytest.raises(fencepost.BadInput, match=f"^{name}="):
        fencepost.check(PRESET, **limits)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ({"rounds": 1001}, ["--bound=rounds=1001"]),
        ({"bound": 1.5}, ["--bound=1.5"]),
        ({"timeout": "soon"}, ["--timeout=soon"]),
        ({"budgets": {"lost": -1}}, ["--budget=lost=-1"]),
    ],
)
def test_numbers_have_the_bounds_of_the_command(
    arguments: dict[str, Any], options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Python once took 100,000 rounds, and the command 1,000. Planted: another bound in Python."""
    with pytest.raises(fencepost.BadInput) as refused:
        fencepost.check(PRESET, **arguments)
    assert run(["check", PRESET, *options]) == 2
    assert str(refused.value).partition("=")[2] in capsys.readouterr().err


SETUP: dict[str, Any] = {"release": "4.17.3", "storage": "sorted"}


def test_advice_has_what_the_command_says(tmp_path: Path) -> None:
    """Planted: another release."""
    advised = fencepost.advise(1, 1, 1, 1, **SETUP)
    options = [f"--{name}={value}" for name, value in SETUP.items()]
    for form, said in (
        ("text", advised.text() + "\n"),
        ("json", json.dumps(advised.to_json(), indent=2) + "\n"),
    ):
        file = tmp_path / form
        given = ["-e", "1", "-w", "1", "-a", "1", "-n", "1", *options, "--format", form]
        assert run(["advise", *given, "--output", str(file)]) == 1
        assert file.read_text(encoding="utf-8") == said
    assert (advised.level, advised.losses[0]["level"]) == ("operation", "operation")
    assert advised.impossible["#4651"] == "needs N > E"
    assert advised.steps[0]["number"] == 1 and advised.change is not None
    assert advised._repr_html_().count("<tr>") == len(advised.losses) + 1


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ({}, []),
        ({"release": "4.1"}, ["--release=4.1"]),
        ({"release": "4.17.3", "pulsar": "3.0.0"}, ["--release=4.17.3", "--pulsar=3.0.0"]),
        ({"files": "missing.conf"}, ["--from=missing.conf"]),
        ({"ensemble": 2, "write_quorum": 3, "ack_quorum": 1}, ["-e2", "-w3", "-a1"]),
    ],
)
def test_a_bad_setup_raises_the_line_of_the_command(
    arguments: dict[str, Any], options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Planted: a message of another form in Python."""
    with pytest.raises(fencepost.BadInput) as refused:
        fencepost.advise(**arguments)
    assert run(["advise", *options]) == 2
    assert capsys.readouterr().err == f"fencepost: {refused.value}\n"


def test_a_storage_or_a_size_that_is_none_is_refused() -> None:
    """Planted: the storage is not looked at; a size is not read."""
    with pytest.raises(
        fencepost.BadInput, match=r"^--storage dbs: no such storage \(did you mean db\?\); valid: "
    ):
        fencepost.advise(3, 3, 2, 4, storage="dbs")
    with pytest.raises(fencepost.BadInput, match=r"^ensemble=2\.5: must be a whole number"):
        fencepost.advise(2.5, 2, 2, 4)  # type: ignore[arg-type]
    with pytest.raises(fencepost.BadInput, match=r"^ensemble=2\.5: must be a whole number"):
        fencepost.quorum(2.5, 2, 2)  # type: ignore[arg-type]


def test_the_calculator_says_what_the_command_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["quorum", "-e", "3", "-w", "3", "-a", "2", "-n", "4"]) == 0
    assert fencepost.quorum(3, 3, 2, 4).text() + "\n" == capsys.readouterr().out
    with pytest.raises(fencepost.BadInput):
        fencepost.quorum(3, 2, 3)


def test_states_are_counted_as_the_command_counts_them(capsys: pytest.CaptureFixture[str]) -> None:
    counted = fencepost.count(FILE)
    assert run(["check", str(FILE), "--engine", "states", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (counted.states, counted.steps) == (document["states"], document["steps"])
    assert (counted.fired, counted.witnesses) == (document["fired"], document["witnesses"])
    assert not fencepost.count(FILE, states=3).is_complete
    with pytest.raises(fencepost.BadInput, match="states=0: must be"):
        fencepost.count(FILE, states=0)
