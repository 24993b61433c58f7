"""Every case has one row, however it ends; rows come back from Arrow unchanged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from fencepost.cli.main import run
from fencepost.encoding.engine.verdicts import Result
from fencepost.encoding.errors import BadInput
from fencepost.encoding.evidence.manifests import read_manifest
from fencepost.encoding.language.protocol import load
from fencepost.sweeps import solve as solving
from fencepost.sweeps.engine_version import engine
from fencepost.sweeps.grid import Plan
from fencepost.sweeps.pipeline import WAVE, gathering, lasting
from fencepost.sweeps.rows import (
    COLUMNS,
    ERROR,
    FOUND,
    Row,
    arrow_schema,
    case_of,
    from_arrow,
    to_arrow,
    unanswered,
)
from fencepost.sweeps.solve import Allowance, decide, solve, solve_all
from fencepost.sweeps.summary import how_decided
from fencepost.sweeps.sweep_cases import SweepCase
from support.instances import TWO_BOOKIES
from support.processes import gone
from support.reports import arrow
from support.sweeps import SHORT, cases_of, comparable, looped, planned

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("rows of a plain loop")]

FIRST = SweepCase("verified-log-01", (("nodes", "2"),), "durability")
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return planned(tmp_path_factory.mktemp("grid"))[1]


SMALL = cases_of(SHORT)


@pytest.fixture(scope="session")
def rows() -> dict[str, Row]:
    return looped(SMALL)


def test_a_loop_is_a_row_and_a_proof_by_states_has_no_certificate(tmp_path: Path) -> None:
    """Planted: a proof of liveness by the graph of the states is written as one by 0 rounds."""
    file = Path(__file__).parents[3] / "examples" / "alternating_bit.py"
    digest = {s: load(file).instance((("receipts", s),)).subject.system for s in ("weak", "strong")}

    def row(receipts: str, certificates: Path | None) -> Row:
        settings = (("receipts", receipts),)
        case = SweepCase("alternating-bit", settings, "value-arrives", system=digest[receipts])
        return solve(case, engine(), Allowance(certificates=certificates, source=file))

    violated, proved, certified = row("weak", None), row("strong", None), row("strong", tmp_path)
    assert (violated["verdict"], violated["steps"], violated["faults"]) == ("violated", 6, {"lost": 2})
    assert "loop" in json.loads(violated["trace"])
    assert how_decided(proved) == "proved: all reachable states were visited"
    assert certified["basis"] == "induction" and (tmp_path / certified["id"]).exists()


def test_the_small_grid_has_every_kind_of_verdict(rows: dict[str, Row]) -> None:
    assert len(rows) == len(SMALL.cases) == 8
    assert Counter((row["verdict"], row["basis"]) for row in rows.values()) == {
        ("proved", "induction"): 5,
        ("vacuous", None): 1,
        ("violated", None): 1,
        ("holds", None): 1,
    }


def test_a_violation_brings_a_trace_that_replays_and_a_proof_none(
    rows: dict[str, Row], tmp_path: Path
) -> None:
    for row in rows.values():
        assert (row["trace"] is not None) == (row["verdict"] == "violated")
    (violated,) = (row for row in rows.values() if row["verdict"] == "violated")
    assert len(json.loads(violated["trace"])["steps"]) == violated["steps"] == 13
    (tmp_path / "trace.json").write_text(violated["trace"])
    assert run(["export", str(tmp_path / "trace.json")]) == 0


def test_a_row_says_which_case_it_answers(rows: dict[str, Row]) -> None:
    assert [case_of(row) for row in rows.values()] == list(SMALL.cases)


def test_a_proof_brings_a_certificate_that_stands_and_what_is_violated_none(
    tiny: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "certificates"
    allowance = Allowance(certificates=folder)
    some = [o for o in tiny.cases if o.property in ("no-divergence", "same-value")]
    rows = [solve(case, engine(), allowance) for case in some]
    assert {row["basis"] for row in rows} == {"induction", "rounds", None}
    for case, row in zip(some, rows, strict=True):
        certificate = f"certificates/{row['id']}" if row["verdict"] == "proved" else None
        assert row["certificate"] == certificate, row
        if certificate:
            assert run(["certify", str(tmp_path / certificate)]) == 0, capsys.readouterr()
            assert case.property in capsys.readouterr().out
            assert case_of(row) == case
            manifest = read_manifest(tmp_path / certificate)
            assert manifest.subject.protocol == case.protocol
            assert manifest.claims[0].property == case.property
    assert not list(folder.glob(".*")), "what was under way is there under its name, or not at all"
    assert {path.name for path in folder.iterdir()} == {
        o.identify(engine()) for o in some if (folder / o.identify(engine())).exists()
    }
    again = solve(FIRST, engine(), allowance)
    assert solve(FIRST, engine(), allowance)["certificate"] == again["certificate"], "a task tried again"


def proves_slowly(case: SweepCase, allowance: Allowance) -> Result:
    """Return a proof that leaves no time for its certificate."""
    result = decide(case, Allowance())
    time.sleep(max(0.0, allowance.timeout - result.seconds))
    return result


def test_a_proof_stays_one_if_its_certificate_has_no_time(tmp_path: Path) -> None:
    row = solve(FIRST, engine(), Allowance(timeout=4, certificates=tmp_path), proves_slowly)
    assert (row["verdict"], row["certificate"]) == ("proved", None)
    assert row["reason"].startswith("no certificate: time-out after 4 s")
    assert not list(tmp_path.iterdir())


def raises_bad_input(case: SweepCase, allowance: Allowance) -> Result:
    raise BadInput("nodes=2: too many")


def contradicts_itself(case: SweepCase, allowance: Allowance) -> Result:
    raise AssertionError("cannot be")


def needs_too_much(case: SweepCase, allowance: Allowance) -> Result:
    raise MemoryError


def is_killed(case: SweepCase, allowance: Allowance) -> Result:
    os.kill(os.getpid(), 9)
    raise AssertionError


def leaves(case: SweepCase, allowance: Allowance) -> Result:
    os._exit(3)


@pytest.mark.parametrize(
    ("decided", "verdict", "reason"),
    [
        (raises_bad_input, ERROR, "nodes=2: too many"),
        (contradicts_itself, ERROR, "AssertionError: cannot be"),
        (leaves, ERROR, "ended with code 3"),
        (needs_too_much, "undecided", "out of memory"),
        (is_killed, "undecided", "out of memory"),
    ],
    ids=lambda x: x.__name__ if callable(x) else "",
)
def test_whatever_goes_wrong_is_a_row(decided: object, verdict: str, reason: str) -> None:
    row = solve(FIRST, "engine", Allowance(), decided)  # type: ignore[arg-type]
    assert (row["verdict"], reason in row["reason"]) == (verdict, True), row["reason"]
    assert row.keys() == {c.name for c in COLUMNS}


@linux
@pytest.mark.parametrize("slower", ["nobody", "the parent"])
def test_what_never_ends_is_killed_with_its_children_and_undecided(
    slower: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its children are killed too if they started before the parent saw that it leads a process group."""
    lead = os.setpgid
    if slower == "the parent":
        monkeypatch.setattr(os, "setpgid", lambda pid, group: None if pid else lead(pid, group))

    def hangs_with_a_child(case: SweepCase, allowance: Allowance) -> Result:
        child = subprocess.Popen(["sleep", "600"])
        (tmp_path / "pids").write_text(f"{os.getpid()} {child.pid}")
        child.wait()
        raise AssertionError

    monkeypatch.setattr("fencepost.sweeps.solve.GRACE", 1.0)
    begun = time.monotonic()
    row = solve(FIRST, "engine", Allowance(timeout=0.5), hangs_with_a_child)
    assert (row["verdict"], row["reason"]) == ("undecided", "time-out after 0.5 s, killed 1 s later")
    assert time.monotonic() - begun < 30
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2
    assert gone(pids)


def test_a_check_that_runs_out_of_time_says_how_deep_it_came() -> None:
    large = SweepCase("bookkeeper-4.13", (("bookies", "5"), ("entries", "3")), "no-divergence")
    row = solve(large, "engine", Allowance(timeout=1))
    assert (row["verdict"], row["reason"]) == ("undecided", "time-out after 1 s")


# Cases that share a proof.


def one_bookie(*properties: str) -> list[SweepCase]:
    """Return cases of the smallest instance, which take a moment: the first proved, the second vacuous."""
    sizes = tuple((name, "1") for name in ("bookies", "ensemble", "write_quorum", "ack_quorum"))
    return [SweepCase("bookkeeper-4.13", sizes, name) for name in properties]


def never_asked(case: SweepCase, allowance: Allowance) -> Result:
    raise AssertionError(f"{case.property} is asked by itself")


def test_the_properties_of_an_instance_share_one_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solving, "decide", never_asked)
    asked = one_bookie("no-divergence", "valid-fragments")
    rows = list(solve_all(asked, "engine", Allowance()))
    assert [(row["property"], row["verdict"]) for row in rows] == [
        ("no-divergence", "proved"),
        ("valid-fragments", "vacuous"),
    ], [row["reason"] for row in rows]
    assert [case_of(row) for row in rows] == asked
    assert rows[0]["id"] == asked[0].identify("engine"), "whatever else is asked"
    assert rows[0]["seconds"] == pytest.approx(rows[1]["seconds"], abs=0.002), "in equal parts"


def test_a_proof_that_is_shared_by_nobody_is_asked_for_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solving, "_settled", never_asked)
    (row,) = solve_all(one_bookie("no-divergence"), "engine", Allowance())
    assert row["verdict"] == "proved"


@pytest.mark.parametrize("fails", ["raises", "is killed", "leaves one open"])
def test_what_a_shared_proof_leaves_open_is_asked_by_itself(
    fails: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each property has all its time. Its row is the one that it has where nothing else is asked."""
    asked, settled = one_bookie("no-divergence", "valid-fragments"), solving._settled

    def broken(cases: Sequence[SweepCase], allowance: Allowance) -> tuple[Result, ...]:
        if fails == "is killed":
            os.kill(os.getpid(), 9)
        if fails == "raises":
            raise BadInput("too many")
        return settled(cases, allowance)[1:]

    monkeypatch.setattr(solving, "_settled", broken)
    rows = [comparable(row) for row in solve_all(asked, "engine", Allowance())]
    if fails == "leaves one open":
        asked = asked[:1]
    for case, row in zip(asked, rows, strict=False):
        assert row == comparable(solve(case, "engine", Allowance()))


def test_a_violated_property_takes_no_part_in_the_proof_of_the_others() -> None:
    """The violated property has the row that it has alone, and its neighbour is proved without it."""
    settings = tuple((name, str(value)) for name, value in TWO_BOOKIES.items())
    asked = [SweepCase("bookkeeper-4.13", settings, name) for name in ("no-divergence", "entries-in-order")]
    violated, proved = solve_all(asked, "engine", Allowance())
    assert comparable(violated) == comparable(solve(asked[0], "engine", Allowance()))
    assert (violated["verdict"], proved["verdict"]) == ("violated", "proved")
    assert "no-divergence" not in proved["invariants"]


# Rows in Arrow.


def test_rows_come_back_from_arrow_as_they_went_in(rows: dict[str, Row]) -> None:
    arrow()
    full: list[Row] = [{**row, "seconds": 1.25, "host": "here"} for row in rows.values()]
    full.append({**full[0], **unanswered(ERROR, "two\nlines", 0.5), "faults": {"lost": 1, "crashes": 0}})
    batch = to_arrow(full)
    assert from_arrow(batch) == full
    assert batch.schema.equals(arrow_schema())


def test_a_row_with_other_columns_or_an_empty_one_is_refused(rows: dict[str, Row]) -> None:
    arrow()
    row = {**next(iter(rows.values())), "seconds": 1.0, "host": "here"}
    with pytest.raises(ValueError, match="columns"):
        to_arrow([{**row, "blob": b""}])
    with pytest.raises(ValueError, match="columns"):
        to_arrow([{name: value for name, value in row.items() if name != "host"}])
    with pytest.raises(ValueError, match="nothing in the column verdict"):
        to_arrow([{**row, "verdict": None}])


def test_an_unanswered_row_fills_every_column_that_an_answer_does() -> None:
    assert unanswered("undecided", "", 0).keys() == {c.name for c in FOUND} - {"host"}


def test_verdicts_are_gathered_without_a_copy_for_each_task() -> None:
    """Planted: a new dictionary for each task, which takes time with the square of the cases."""
    pytest.importorskip("pyspark")
    gathered = gathering()
    known = gathered.zero({"a": "proved"})
    grown = gathered.addInPlace(known, {"b": "holds"})
    assert grown is known == {"b": "holds"}


def test_a_wave_takes_its_time_whatever_its_tasks_take() -> None:
    for tasks, seconds, cores in ((8, 4.0, 2), (2, 40.0, 1), (1, 7.0, 16)):
        each = seconds / tasks
        assert lasting(tasks, seconds, cores) * each / cores == pytest.approx(WAVE, abs=each / cores)
    assert lasting(4, 2400.0, 1) == 0, "the least is for the caller to know"
