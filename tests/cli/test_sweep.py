"""`fencepost sweep` without Spark: refusals, reading of a folder, and output."""

from __future__ import annotations

import csv
import io
import json
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fencepost.cli.commands.sweep import SweepProgress
from fencepost.cli.main import run
from fencepost.encoding.errors import BadInput, InternalError
from fencepost.sweeps import pipeline
from fencepost.sweeps.engine_version import engine
from fencepost.sweeps.grid import Plan
from fencepost.sweeps.rows import BRIEF, COLUMNS, ERROR, Row, asked, parts_of, task_of, unanswered
from fencepost.sweeps.solve import Allowance
from fencepost.sweeps.spark import require_answer
from fencepost.sweeps.store import Store, opened
from fencepost.sweeps.sweep_cases import SweepCase, together
from fencepost.sweeps.sweep_manifest import Manner
from support.reports import stage
from support.sweeps import planned

ENGINE = "0.0+test"


def answered(obligation: SweepCase, verdict: str, **others: object) -> Row:
    """Return the row of a case with that verdict, without a check."""
    row = {**asked(obligation, ENGINE), **unanswered(verdict, "as planted", 1.5), "host": "here"}
    return {**row, **others}


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return planned(tmp_path)[1]


@pytest.fixture
def folder(plan: Plan, tmp_path: Path) -> Path:
    """Return the folder of a sweep: two waves of rows are committed, and a third is only staged."""
    first, second, third, fourth, fifth, *others = plan.cases
    rows = [
        answered(first, "violated", steps=17, fewest="of-all", faults={"lost": 2, "crashes": 0}),
        answered(second, "proved", basis="rounds", rounds=7, complete=True, witness=True),
        answered(third, "proved", basis="induction", invariants=["a", "b"]),
        answered(fourth, "holds", searched=6),
        answered(fifth, ERROR),
    ]
    with opened(tmp_path / "out", plan, ENGINE, resume=False) as store:
        in_order = sorted(rows[:3], key=lambda r: (r["protocol"], r["id"]))
        assert store.commit(stage(store, rows[:3])) == parts_of(in_order, BRIEF)
        assert store.rows() == in_order
        store.commit(stage(store, rows[3:]))
        stage(store, [answered(others[0], "undecided")])
    return tmp_path / "out"


def test_what_is_staged_is_not_there_until_it_is_committed_and_gone_when_resumed(
    folder: Path, plan: Plan
) -> None:
    assert len(Store(folder).rows()) == 5
    assert list((folder / "staging").iterdir())
    with opened(folder, plan, ENGINE, resume=True) as store:
        assert not (folder / "staging").exists()
        assert len(store.rows()) == 5
        assert store.commit(stage(store, [answered(plan.cases[5], "undecided")]))
        assert len(store.rows()) == 6


def test_certificates_that_were_under_way_are_gone_when_resumed(folder: Path, plan: Plan) -> None:
    (folder / "certificates" / "done").mkdir(parents=True)
    (folder / "certificates" / ".done.under-way").mkdir()
    with opened(folder, plan, ENGINE, resume=True) as store:
        assert [path.name for path in store.certificates.iterdir()] == ["done"]


def test_a_folder_that_is_not_empty_or_not_this_sweep_is_refused(folder: Path, plan: Plan) -> None:
    other = Plan(plan.cases[1:], 0, 0, 0)
    same, limited = Manner(), Manner(conflicts=500)
    for asks, by, resume, manner, message in (
        (plan, ENGINE, False, same, "is not empty; give --resume"),
        (plan, "0.0+other", True, same, "was begun by engine 0.0\\+test, this is 0.0\\+other"),
        (other, ENGINE, True, same, "holds the sweep of another grid"),
        (plan, ENGINE, True, limited, "begun with no --conflicts.*, this is --conflicts.* 500; give the"),
    ):
        with pytest.raises(BadInput, match=message), opened(folder, asks, by, resume, manner):
            pass
    (folder / "sweep.json").unlink()
    with pytest.raises(BadInput, match="cannot be read"), opened(folder, plan, ENGINE, True):
        pass


def test_two_sweeps_do_not_write_to_one_folder(plan: Plan, tmp_path: Path) -> None:
    with (
        opened(tmp_path / "out", plan, ENGINE, False),
        pytest.raises(BadInput, match="another sweep is writing there"),
        opened(tmp_path / "out", plan, ENGINE, True),
    ):
        pass


def test_lost_doubled_and_foreign_rows_are_internal_errors(plan: Plan) -> None:
    rows = [asked(o, engine()) for o in plan.cases]
    assert pipeline._complete(plan, rows) == rows
    for wrong, message in (
        (rows[1:], "1 lost, 0 there twice, 0 not"),
        ([*rows, rows[0]], "0 lost, 1 there twice, 0 not"),
        ([*rows, {**rows[0], "id": "x"}], "0 lost, 0 there twice, 1 not"),
    ):
        with pytest.raises(InternalError, match=message):
            pipeline._complete(plan, wrong)


def test_another_engine_on_a_worker_is_an_error(plan: Plan) -> None:
    task = together(plan.cases)[0]
    rows = list(pipeline._answered(task_of(task, ENGINE), Allowance()))
    assert [(row["property"], row["verdict"]) for row in rows] == [(one.property, ERROR) for one in task]
    for row in rows:
        assert "the driver 0.0+test" in row["reason"]
        assert row.keys() == {c.name for c in COLUMNS}


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the single error line of a command that must end with exit code 2."""
    code = run(list(arguments))
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    return err


def test_bad_input_gets_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "require_spark", lambda: None)
    grid, out = str(tmp_path / "grid.toml"), str(folder)
    assert "is not empty; give --resume" in refused(capsys, "sweep", grid, out)
    assert "was begun by engine 0.0+test" in refused(capsys, "sweep", grid, out, "--resume")
    assert "cannot be read" in refused(capsys, "sweep", "nowhere.toml", out)
    assert "sweep.json: cannot be read" in refused(capsys, "export", str(tmp_path))
    (tmp_path / "grid.toml").write_text("[[grid]]\nprotocol = 'bookkeeper'\n")
    assert "protocol: unknown key (did you mean protocols?); valid: protocols, " in refused(
        capsys, "sweep", grid, out
    )
    (tmp_path / "grid.toml").write_text("[[grid]]\nprotocols = 'bookkeeper'\nset.bookies = '4..3'\n")
    assert "bookies = '4..3': an empty range" in refused(capsys, "sweep", grid, out)


def test_a_missing_java_or_package_is_one_line_that_says_what_to_install(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("sweep", str(planned(tmp_path)[0]), str(tmp_path / "new"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "pyspark, pyarrow, pandas: not installed" in refused(capsys, *arguments)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert "java: not found, and sweeps run on Spark; install Java 17" in refused(capsys, *arguments)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert f"java: JAVA_HOME={tmp_path} has none" in refused(capsys, *arguments)
    assert not (tmp_path / "new").exists()


def test_an_internal_error_among_the_rows_is_exit_code_4(
    capsys: pytest.CaptureFixture[str], plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(verdict: str) -> tuple[int, str]:
        rows = [answered(o, "violated") for o in plan.cases[1:]]
        monkeypatch.setattr(pipeline, "run", lambda *_: [*rows, answered(plan.cases[0], verdict)])
        code = run(["sweep", str(tmp_path / "grid.toml"), "out"])
        return code, capsys.readouterr().out

    assert told("undecided") == (0, _summary("10 violated, 1 undecided"))
    assert told(ERROR) == (4, _summary("1 error, 10 violated"))


def test_an_interrupted_sweep_says_what_is_committed_whatever_else_is_answered(
    capsys: pytest.CaptureFixture[str], plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(
        sweep: pipeline.Sweep,
        listener: pipeline.Listener,
        watcher: pipeline.Watcher,
        leaving: Callable[[], None],
    ) -> list[Row]:
        listener([answered(plan.cases[0], "violated")])
        watcher({"another": "violated"})
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "run", interrupted)
    assert run(["sweep", str(tmp_path / "grid.toml"), "out"]) == 130
    assert capsys.readouterr().out.startswith("Interrupted: 1 of 11 done, 1 violated, 0 undecided. Answered")


def listed(folder: Path) -> dict[str, bytes | None]:
    """Return the paths in a folder, each with the content of its file, or None for a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def test_what_cannot_be_run_leaves_the_folder_as_it_was(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def does_not_start(master: str, log: Path) -> Iterator[None]:
        raise BadInput("Spark does not start")
        yield

    monkeypatch.setattr(pipeline, "require_spark", lambda: None)
    monkeypatch.setattr(pipeline, "session", does_not_start)
    monkeypatch.setattr(pipeline, "engine", lambda: ENGINE)
    shutil.rmtree(folder / "staging")  # every run deletes this folder
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("mine")
    before = listed(tmp_path)
    grid = str(tmp_path / "grid.toml")
    for out, message in (
        (tmp_path / "new" / "below", "Spark does not start"),
        (tmp_path / "empty", "Spark does not start"),
        (tmp_path / "other", "is not empty"),
        (tmp_path / "grid.toml" / "below", "cannot be written to"),
    ):
        assert message in refused(capsys, "sweep", grid, str(out))
        assert listed(tmp_path) == before, out
    assert "Spark does not start" in refused(capsys, "sweep", grid, str(folder), "--resume")
    assert listed(tmp_path) == before


def test_a_master_that_nobody_answers_for_is_refused_before_spark_tries(
    capsys: pytest.CaptureFixture[str], plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "require_spark", lambda: None)
    with socket.socket() as taken:  # bound but not listening: no other process can take the port
        taken.bind(("127.0.0.1", 0))
        master = f"spark://127.0.0.1:{taken.getsockname()[1]}"
        out = str(tmp_path / "new")
        grid = str(tmp_path / "grid.toml")
        said = refused(capsys, "sweep", grid, out, "--master", master)
        assert f"--master {master}: does not answer" in said
        with socket.create_server(("127.0.0.1", 0)) as listening:
            require_answer(f"{master},127.0.0.1:{listening.getsockname()[1]}")
    assert not (tmp_path / "new").exists()
    require_answer("local[2]")


def test_a_limit_in_conflicts_that_a_solver_cannot_keep_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "require_spark", lambda: None)
    grid = tmp_path / "grid.toml"
    grid.write_text("[[grid]]\nprotocols = 'ledger-chain'\nsolvers = ['cadical', 'z3']\n")
    arguments = ("sweep", str(grid), str(tmp_path / "new"), "--conflicts-per-case", "10")
    assert "z3: this solver accepts no limit on conflicts; valid: cadical, " in refused(capsys, *arguments)
    assert not (tmp_path / "new").exists()


def _summary(counted: str) -> str:
    return (
        f"11 cases: {counted}\n"
        "left out: 1 combinations that break a rule of their protocol\n"
        "not modelled of BookKeeper's client in any instance: re-replication, "
        "two replacements in one change; off here: deletion (deletions=1), DEFERRED_SYNC (forces=1), "
        "readers without recovery (readers=1), entries that readers are given (way_to_read=batch), "
        "ids that the application gives (given_ids=1), the length of the ledger (lengths=1), "
        "the journal's mark (journals=1), full disks (full_disks=1), racks (racks=2)\n"
        "not modelled of BookKeeper's client in any instance: the time between making and queueing an add, "
        "chained ensemble changes, deletion, re-replication, DEFERRED_SYNC, two replacements in one change\n"
        "fencepost export out\n"
    )


# Reading the result.


def test_the_report_says_what_each_row_found(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert run(["export", str(folder)]) == 3, "half of the rows lack"
    out = capsys.readouterr().out
    assert "Not finished: 5 of 11 cases have their row; go on with --resume." in out
    for phrase in (
        "violated in 17 steps (fewest), lost 2  ",
        "proved: every execution fits in 7 rounds  ",
        "proved by induction over one action",
        "holds up to 24 steps  ",
        "error: as planted  ",
        "1 invalid combinations left out",
    ):
        assert phrase in out, out


def test_the_csv_has_a_line_for_each_row_with_what_varies_first(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert run(["export", str(folder), "--format", "csv"]) == 3
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    rows = {row["id"]: row for row in Store(folder).rows()}
    assert {line["id"] for line in lines} == set(rows)
    for line in lines:
        row: dict[str, Any] = rows[line["id"]]
        bound = "" if row["bound"] is None else str(row["bound"])
        assert (line["verdict"], line["seconds"], line["bound"]) == (row["verdict"], "1.5", bound)
        assert line["settings"] == " ".join(f"{name}={value}" for name, value in row["settings"].items())
    assert {line["faults"] for line in lines} == {"lost=2 crashes=0", ""}
    assert {line["bound"] for line in lines} == {"24", ""}


def test_progress_says_what_is_done_and_how_long_the_rest_takes(plan: Plan) -> None:
    progress = SweepProgress(10, verbose=False)
    ids = [o.identify(ENGINE) for o in plan.cases]
    progress.hear([answered(o, "proved") for o in plan.cases[:4]])
    progress.hear([answered(plan.cases[4], "violated")])
    progress.see({ids[4]: "violated", ids[5]: "undecided"})
    assert progress.line(60.0) == ("6 of 10 done, 1 violated, 1 undecided, 2.0 a minute, about 2 min left"), (
        "the four of an earlier run do not count for the rate, and none counts twice"
    )
    progress.hear([answered(plan.cases[5], "undecided")])
    progress.see({ids[4]: "violated", ids[5]: "undecided", ids[6]: ERROR})
    assert progress.line(60.0).startswith("7 of 10 done, 1 violated, 1 undecided, 1 error, 3.0 a minute")


def test_progress_is_told_while_waves_are_under_way_but_not_all_the_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fencepost.cli.rendering.progress.PAUSE", 10.0)
    moments = (
        (103.0, {"a": "proved"}),
        (104.0, {"a": "proved", "b": "proved"}),
        (120.0, {"a": "proved", "b": "proved"}),
        (121.0, {"a": "proved", "b": "proved", "c": "violated"}),
    )
    told = []
    with SweepProgress(10, verbose=True) as progress:
        progress.hear([])
        for moment, verdicts in moments:
            monkeypatch.setattr("fencepost.cli.commands.sweep.time.perf_counter", lambda now=moment: now)
            progress.see(verdicts)
            told.append(capsys.readouterr().err)
        monkeypatch.undo()
    assert [line.partition(",")[0] for line in told] == ["1 of 10 done", "", "", "3 of 10 done"]


def test_the_manifest_says_what_the_sweep_is(folder: Path) -> None:
    document = json.loads((folder / "sweep.json").read_text())
    assert (document["schema"], document["engine"], document["cases"]) == (
        "fencepost.sweep/4",
        ENGINE,
        11,
    )
    assert sorted(wave.name for wave in (folder / "rows").iterdir()) == ["wave=0001", "wave=0002"]
