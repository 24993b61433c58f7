"""Conformance runs as cases of a sweep.

The code is played back: the transcript is of a real run of 4.17.4.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fencepost.cli.main import run
from fencepost.cli.rendering.words import brief
from fencepost.encoding.errors import BadInput
from fencepost.realcode import conformance
from fencepost.realcode.drive.code import NoSeam
from fencepost.realcode.harness_session import Playback
from fencepost.realcode.run_files import RecordedRun, read_run_file
from fencepost.sweeps import conformance_cases
from fencepost.sweeps.grid import plan
from fencepost.sweeps.rows import Row
from fencepost.sweeps.solve import Allowance, solve
from fencepost.sweeps.summary import finding
from fencepost.sweeps.sweep_cases import SweepCase

KEPT = Path(__file__).parents[2] / "realcode" / "runs" / "4.17.4.interleaved.jsonl"

GRID = """
[[grid]]
protocols = "bookkeeper"
releases = ["4.17.3", "4.17.4"]
storages = ["interleaved", "db"]
seeds = "3..5"
runs = 7
"""


def cases_of(text: str) -> Sequence[SweepCase]:
    return plan(tomllib.loads(text)).cases


def test_each_release_storage_and_seed_is_a_case() -> None:
    found = cases_of(GRID)
    on = {tuple(dict(o.settings)[name] for name in ("release", "storage", "seed")) for o in found}
    assert len(found) == len(on) == 2 * 2 * 3
    assert {(o.property, o.solver, dict(o.settings)["runs"]) for o in found} == {("conforms", "code", "7")}
    assert conformance_cases.releases(found) == ["4.17.3", "4.17.4"]
    assert len({o.identify("an engine") for o in found}) == len(found)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('releases = "4.17"', "releases = '4.17': is no release"),
        ('storages = "tape"', "storages = 'tape': no such value; valid: "),
        ("runs = 0", "runs = 0: must be the number of runs from each seed"),
        ('seeds = "-1"', "seeds = '-1': a whole number is needed"),
        ('protocols = "ledger-chain"', "ledger-chain: is not modelled after BookKeeper's code"),
        ('properties = "no-divergence"', "properties: unknown key"),
        ('set = { bookies = "many" }', "bookies=many: a whole number is needed"),
    ],
)
def test_a_grid_of_impossible_runs_is_refused(line: str, message: str) -> None:
    key = line.split()[0]
    others = [
        kept for kept in ('protocols = "bookkeeper"', 'releases = "4.17.4"') if not kept.startswith(f"{key} ")
    ]
    with pytest.raises(BadInput) as refused:
        cases_of("\n".join(["[[grid]]", *others, line]))
    assert message in str(refused.value)


@pytest.fixture
def lib(tmp_path: Path) -> Path:
    """Return a folder that looks like the jars of 4.17.4."""
    folder = tmp_path / "lib"
    folder.mkdir()
    (folder / "bookkeeper-server-4.17.4.jar").touch()
    return folder


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--bookkeeper: missing for 4.17.4"),
        (["--bookkeeper", "LIB", "--memory", "2"], "--memory: is about solvers"),
        (["--bookkeeper", "LIB", "--certify"], "--certify: is about solvers"),
        (["--bookkeeper", "LIB", "--drop-declared"], "--drop-declared: is about solvers"),
        (["--bookkeeper", "LIB", "--bookkeeper", "LIB"], "is 4.17.4, as another one is"),
    ],
)
def test_options_that_do_not_fit_runs_are_one_line(
    options: list[str], message: str, lib: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grid = tmp_path / "grid.toml"
    grid.write_text('[[grid]]\nprotocols = "bookkeeper"\nreleases = "4.17.4"\nset = { bookies = 3 }\n')
    given = [str(lib) if option == "LIB" else option for option in options]
    assert run(["sweep", str(grid), str(tmp_path / "out"), *given]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not (tmp_path / "out").exists()


def test_jars_that_no_run_needs_are_refused(lib: Path) -> None:
    with pytest.raises(BadInput, match="for a grid that does not run on the real code"):
        conformance_cases.libraries([lib], [])
    with pytest.raises(BadInput, match=r"for a grid that runs on 4\.13\.0"):
        conformance_cases.libraries([lib], ["4.13.0"])
    assert conformance_cases.libraries([lib], ["4.17.4"]) == {"4.17.4": lib}


@pytest.fixture
def played_back(monkeypatch: pytest.MonkeyPatch, lib: Path) -> list[RecordedRun]:
    """Take some runs of the transcript, with the answers of the code, in place of random runs."""
    taken = list(read_run_file(KEPT).runs)[:2]

    @contextmanager
    def running(library: Any, log: Path | None) -> Iterator[Playback]:
        yield Playback(tuple(line for one in taken for line in one.lines))

    monkeypatch.setattr(conformance, "running", running)
    monkeypatch.setattr(conformance, "start", lambda grounds, setting, session: setting)
    monkeypatch.setattr(
        conformance, "random_runs", lambda grounds, seed: iter((one.ground, one.run) for one in taken)
    )
    monkeypatch.setattr(conformance, "shorter", lambda departure, departs: departure)
    return taken


def answered(number: int, lib: Path, timeout: float = 60.0) -> Row:
    of_release = 'protocols = "bookkeeper"\nreleases = "4.17.4"\nstorages = "interleaved"'
    text = f"[[grid]]\n{of_release}\nruns = {number}\n"
    (case,) = cases_of(text)
    return solve(case, "an engine", Allowance(timeout, libraries={"4.17.4": lib}))


@pytest.mark.slow
def test_runs_that_agree_hold(played_back: list[RecordedRun], lib: Path) -> None:
    row = answered(len(played_back), lib)
    assert (row["verdict"], row["steps"], row["witness"]) == ("holds", None, True)
    assert row["reason"].startswith(f"{len(played_back)} runs, ")
    assert row["reason"].endswith(" steps, none departs")
    assert finding(row) == f"holds: {row['reason']}"
    assert brief(row) == f"in {len(played_back)} runs"


@pytest.mark.slow
def test_a_run_that_departs_is_violated(played_back: list[RecordedRun], lib: Path) -> None:
    """The last observation misses a fence of a bookie that has one."""
    first = played_back[0]
    *before, (asked, answer) = first.lines
    assert asked == "look"
    state = json.loads(answer)
    fenced = next(b for b in state["ok"]["bookies"].values() if b["fenced"])
    fenced["fenced"] = False
    played_back[0] = RecordedRun(first.ground, first.run, (*before, (asked, json.dumps(state))))
    row = answered(1, lib)
    assert (row["verdict"], row["trace"]) == ("violated", None)
    assert row["steps"] == len(first.run.actions)
    assert f"1 depart; after {row['steps']} steps: fenced[" in row["reason"]
    assert brief(row) == f"after {row['steps']} steps"


def test_runs_for_which_time_was_up_are_undecided(played_back: list[RecordedRun], lib: Path) -> None:
    row = answered(len(played_back) + 1, lib, timeout=0.0)
    assert (row["verdict"], row["witness"]) == ("undecided", False)
    assert finding(row) == f"undecided: 0 runs, 0 steps, of {len(played_back) + 1} asked for, none departs"


def test_code_that_cannot_be_driven_is_an_error(
    played_back: list[RecordedRun], lib: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise NoSeam("these instances need bookies that are set up differently")

    monkeypatch.setattr(conformance, "start", refuse)
    row = answered(1, lib)
    assert (row["verdict"], row["reason"].splitlines()[-1]) == (
        "error",
        (
            "bookkeeper: these instances need bookies that are set up differently; "
            "set what the release and the storage have"
        ),
    )
