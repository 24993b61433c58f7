"""Saved traces: an unchanged one replays, and an edited one is refused at the edited place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fencepost.cli.main import run
from support.instances import TWO_BOOKIES

pytestmark = pytest.mark.xdist_group("saved trace")  # one worker makes the trace


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a saved trace; `result.json` beside it is the whole result of the check."""
    folder = tmp_path_factory.mktemp("traces")
    small = [f"--set={name}={value}" for name, value in TWO_BOOKIES.items()]
    written = ["--traces", str(folder), "--format", "json", "--output", str(folder / "result.json")]
    assert run(["check", "bookkeeper-4.13", *small, "--property", "no-divergence", *written]) == 1
    return folder / "bookkeeper-4.13.no-divergence.json"


def test_a_saved_trace_replays(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", str(saved)]) == 0
    assert "no-divergence: violated in 13 steps of bookkeeper-4.13, replayed" in capsys.readouterr().out


def test_the_json_of_a_trace_is_what_was_saved(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", str(saved), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["traces"][0]["trace"] == json.loads(saved.read_text())


def test_the_result_of_a_check_is_read_too(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", str(saved.with_name("result.json"))]) == 0
    assert capsys.readouterr().out.count("replayed") == 1


def drop(trace: dict[str, Any]) -> None:
    del trace["steps"][4]


def swap(trace: dict[str, Any]) -> None:
    trace["steps"][2], trace["steps"][1] = trace["steps"][1], trace["steps"][2]


def other_bookie(trace: dict[str, Any]) -> None:
    trace["steps"][2]["arguments"]["bookie"] = "b9"


def other_change(trace: dict[str, Any]) -> None:
    trace["steps"][-1]["changes"] = {}


def other_receiver(trace: dict[str, Any]) -> None:
    trace["steps"][1]["sent"][0]["to"] = "b2"


def stop_early(trace: dict[str, Any]) -> None:
    trace["steps"].pop()


def other_switch(trace: dict[str, Any]) -> None:
    trace["switches"]["recovery_reads_fence"] = "yes"


def claim_a_fault(trace: dict[str, Any]) -> None:
    trace["faults"] = {"lost": 1}


def lose_a_message(trace: dict[str, Any]) -> None:
    stored = next(s for s in trace["steps"] if s["action"] == "handle add")
    trace["initial"][f"add_lost[w, 1, {stored['actor']}]"] = True


@pytest.mark.parametrize(
    ("edit", "where"),
    [
        (drop, "step 5"),
        (swap, "step 2"),
        (other_bookie, "step 3: handle add(client=w, fragment=1, entry=1, bookie=b9) is not an action"),
        (other_change, "step 13, changes: the file says {}, replaying gives"),
        (other_receiver, "step 2, sent"),
        (stop_early, "no-divergence) is not reached"),
        (other_switch, "step 1"),
        (claim_a_fault, 'faults: the file says {"lost": 1}'),
        (lose_a_message, "not enabled"),
    ],
    ids=lambda x: x.__name__ if callable(x) else "",
)
def test_an_edited_trace_is_caught(
    saved: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    edit: Callable[[dict[str, Any]], None],
    where: str,
) -> None:
    trace = json.loads(saved.read_text())
    edit(trace)
    edited = tmp_path / "edited.json"
    edited.write_text(json.dumps(trace))
    assert run(["export", str(edited)]) == 1
    out = capsys.readouterr().out
    assert "does not replay" in out
    assert where in out


@pytest.mark.parametrize(("key", "value"), [("arguments", ["w"]), ("arguments", None)])
def test_a_step_without_the_form_of_one_is_bad_input(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, value: object
) -> None:
    trace = json.loads(saved.read_text())
    trace["steps"][0][key] = value
    edited = tmp_path / "edited.json"
    edited.write_text(json.dumps(trace))
    assert run(["export", str(edited)]) == 2
    assert f"step 1 of the trace: {key}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not json", "not JSON"),
        ("[]", "schema is None; valid: fencepost.trace/2"),
        ('{"schema": "fencepost.trace/3"}', "schema is 'fencepost.trace/3'"),
        ('{"schema": "fencepost.trace/2", "colour": 1}', "colour: unknown key"),
        ('{"schema": "fencepost.trace/2"}', "version is missing"),
        ('{"schema": "fencepost.check/3", "results": []}', "has no trace in it"),
    ],
)
def test_a_file_that_is_no_trace_is_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    file = tmp_path / "file.json"
    file.write_text(text)
    assert run(["export", str(file)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1
