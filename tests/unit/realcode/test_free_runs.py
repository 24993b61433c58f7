"""Free runs: the model has the executions of the code, and a wrong model or a changed line is refused.

The logs are of runs on BookKeeper 4.17.4 with sorted storage. In the folder `crashes` bookies crash and
restart, and the logs are named after the storage. `exchanges.json` has what one run asked of the code,
and the answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fencepost.encoding.errors import BadInput
from fencepost.encoding.logs.following import Fit
from fencepost.realcode import free_runs
from fencepost.realcode.free_runs import FreeRuns, free_ground, take
from fencepost.realcode.harness_session import OutOfStep, Playback, dumped
from fencepost.realcode.runs import Ground
from support.realcode import run_kept as run

KEPT = Path(__file__).parents[2] / "realcode" / "free"
LOGS = ("recovered", "refused-change", "waiting-add", "closed-by-another")


CRASHES = {"crashes": "2", "restarts": "1"}


@cache
def ground(storage: str = "sorted", **settings: str) -> Ground:
    return free_ground("bookkeeper", settings, storage, "4.17.4")


def judged(log: Path, **settings: str) -> Fit:
    found = FreeRuns(ground(**settings))
    found.judge(log)
    return found.answers[log.name].fit


def lines_of(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (KEPT / f"{name}.jsonl").read_text().splitlines()]


@pytest.fixture
def no_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the search for the lines that contradict each other."""
    monkeypatch.setattr(free_runs, "EXPLAINED", 0)


@pytest.mark.parametrize("name", LOGS)
def test_the_model_has_the_execution_of_a_free_run(name: str) -> None:
    assert judged(KEPT / f"{name}.jsonl") is Fit.EXECUTION


@pytest.mark.parametrize(
    ("name", "switch", "value"),
    [
        ("recovered", "recovery_floor", "zero"),
        ("refused-change", "refused_change", "gives-up"),
        ("waiting-add", "add_ensemble", "when-queued"),
        ("closed-by-another", "writer_close", "any-not-closed"),
    ],
)
@pytest.mark.usefixtures("no_reasons")
def test_a_wrong_model_refuses_a_log_of_the_code(name: str, switch: str, value: str) -> None:
    """Each of these switches, set wrong, agrees in conformance runs: the model does less then."""
    assert judged(KEPT / f"{name}.jsonl", **{switch: value}) is Fit.NONE


@pytest.mark.parametrize("storage", ["sorted", "db"])
def test_the_model_has_the_execution_of_a_free_run_with_crashes(storage: str) -> None:
    log = KEPT / "crashes" / f"{storage}.jsonl"
    assert any(line.get("action") == "stop and start" for line in lines_of(f"crashes/{storage}"))
    assert judged(log, storage=storage, **CRASHES) is Fit.EXECUTION


@pytest.mark.parametrize(
    ("storage", "switch", "value"),
    [
        ("sorted", "fence_record", "with-key"),
        ("sorted", "flush_headers", "always"),
        ("db", "db_checkpoint", "always"),
        ("db", "load", "busy"),
    ],
)
@pytest.mark.usefixtures("no_reasons")
def test_a_wrong_model_of_what_a_crash_loses_refuses_a_log(storage: str, switch: str, value: str) -> None:
    log = KEPT / "crashes" / f"{storage}.jsonl"
    assert judged(log, storage=storage, **CRASHES, **{switch: value}) is Fit.NONE


def test_a_line_of_which_the_model_has_no_action_is_not_passed_over() -> None:
    """Without it a model that has no such step would be an execution of the other lines."""
    with pytest.raises(BadInput, match=r"db\.jsonl:\d+: names no action of the model with these settings"):
        judged(KEPT / "crashes" / "db.jsonl", storage="db", **CRASHES, negative_answers="after-fence")


def other_bookie(line: dict[str, Any]) -> bool:
    """Let another bookie handle the first add."""
    if line.get("action") == "handle add":
        line["arguments"]["bookie"] = "b3"
        return True
    return False


def acknowledged_early(line: dict[str, Any]) -> bool:
    """Tell that an entry is acknowledged when it is not."""
    values = line.get("after", {})
    if values.get("unanswered[1]"):
        values["acknowledged[1]"] = True
        return True
    return False


def stored_lac(line: dict[str, Any]) -> bool:
    """Tell another LAC of a stored entry."""
    found = next((name for name in line.get("after", {}) if name.startswith("stored lac")), None)
    if found is not None:
        line["after"][found] += 1
    return found is not None


@pytest.mark.parametrize("change", [other_bookie, acknowledged_early, stored_lac])
@pytest.mark.usefixtures("no_reasons")
def test_one_changed_line_is_refused(change: Callable[[dict[str, Any]], bool], tmp_path: Path) -> None:
    lines = lines_of("recovered")
    assert any(change(line) for line in lines)
    (tmp_path / "changed.jsonl").write_text(free_runs.written(lines))
    assert judged(tmp_path / "changed.jsonl") is Fit.NONE


@pytest.mark.parametrize(
    ("name", "action", "settings"),
    [("recovered", "begin recovery", {}), ("crashes/db", "stop and start", {"storage": "db", **CRASHES})],
)
@pytest.mark.usefixtures("no_reasons")
def test_a_missing_line_is_refused(name: str, action: str, settings: dict[str, str], tmp_path: Path) -> None:
    lines = [line for line in lines_of(name) if line.get("action") != action]
    (tmp_path / "fewer.jsonl").write_text(free_runs.written(lines))
    assert judged(tmp_path / "fewer.jsonl", **settings) is Fit.NONE


@pytest.mark.parametrize(("told", "fit"), [(0, Fit.NONE), (None, Fit.EXECUTION)])
@pytest.mark.usefixtures("no_reasons")
def test_a_value_that_the_model_does_not_know_is_refused(told: int | None, fit: Fit, tmp_path: Path) -> None:
    """The writer is told the end 0 and has not closed. The model's variable is 0 then, and means nothing."""
    lines = lines_of("waiting-add")[:2]
    lines[1]["after"] |= {} if told is None else {"closed at[w]": told}
    (tmp_path / "told.jsonl").write_text(free_runs.written(lines))
    assert judged(tmp_path / "told.jsonl") is fit


# The scheduler, on kept exchanges with the code.


def played(folder: str) -> tuple[Playback, int, int]:
    kept = json.loads((KEPT / folder / "exchanges.json").read_text())
    return Playback([(ask, dumped(answer)) for ask, answer in kept["lines"]]), kept["seed"], kept["number"]


KINDS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("", "begin change", {}),
    ("", "receive read answer", {}),
    ("crashes", "crash in first add", CRASHES),
    ("crashes", "crash and replay", CRASHES),
)
"""The folders of kept exchanges, the kinds of lines that their logs have, and the settings."""


@pytest.mark.parametrize("folder", ["", "crashes"])
def test_a_seed_makes_the_same_choices_and_the_model_has_their_execution(folder: str, tmp_path: Path) -> None:
    session, seed, number = played(folder)
    settings = CRASHES if folder else {}
    log = take(session, ground(**settings), seed, number)
    assert session.at == len(session.lines)
    actions = {json.loads(line).get("action") for line in log.splitlines()}
    assert {action for own, action, _ in KINDS if own == folder} <= actions
    (tmp_path / "played.jsonl").write_text(log)
    assert judged(tmp_path / "played.jsonl", **settings) is Fit.EXECUTION
    with pytest.raises(OutOfStep):
        take(played(folder)[0], ground(**settings), seed + 1, number)


@pytest.mark.parametrize(("folder", "action", "settings"), KINDS)
@pytest.mark.usefixtures("no_reasons")
def test_a_step_that_the_scheduler_does_not_log_is_noticed(
    folder: str, action: str, settings: dict[str, str], tmp_path: Path
) -> None:
    """Planted: the step leaves no line."""
    session, seed, number = played(folder)
    lines = take(session, ground(**settings), seed, number).splitlines(keepends=True)
    kept = [line for line in lines if json.loads(line).get("action") != action]
    (tmp_path / "played.jsonl").write_text("".join(kept))
    assert judged(tmp_path / "played.jsonl", **settings) is Fit.NONE


# The command.


def test_the_command_judges_kept_logs(capsys: pytest.CaptureFixture[str]) -> None:
    free = ["conform", "bookkeeper", "--free", "--release", "4.17.4", "--logs"]
    assert run([*free, str(KEPT)]) == 0
    assert "4 free runs: 4 are executions of the model, 0 depart, 0 undecided." in capsys.readouterr().out
    assert run([*free, str(KEPT), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["fit"] == 4


@pytest.mark.usefixtures("no_reasons")
def test_the_command_shows_a_departure(capsys: pytest.CaptureFixture[str]) -> None:
    """Planted: a writer that finds the ledger closed at its LAC is not told that it is closed."""
    free = ["conform", "bookkeeper", "--free", "--release", "4.17.4", "--logs", str(KEPT)]
    assert run([*free, "--set", "writer_close=any-not-closed"]) == 1
    out = capsys.readouterr().out
    assert "4 free runs: 3 are executions of the model, 1 depart, 0 undecided." in out
    assert "closed-by-another.jsonl: no execution of the model has these lines" in out


def test_settings_that_free_runs_do_not_have_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BadInput, match="forces: free runs have none; leave it out"):
        ground(forces="1")
    assert run(["conform", "bookkeeper", "--logs", str(KEPT)]) == 2
    assert "--logs: is for --free; leave it out" in capsys.readouterr().err
    assert run(["conform", "bookkeeper", "--free"]) == 2
    assert "--logs: missing; give --bookkeeper LIB" in capsys.readouterr().err
    assert run(["conform", "ledger-copies", "--free", "--logs", str(KEPT)]) == 2
