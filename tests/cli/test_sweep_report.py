"""`fencepost export`: each row appears once, in its own cell."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fencepost.cli.main import run
from fencepost.cli.rendering.sweep_matrices import SweepReport, matrices
from fencepost.cli.rendering.sweep_text import text
from fencepost.sweeps.rows import VERDICTS, Row
from fencepost.sweeps.summary import in_order_of_sizes
from support.reports import LISTED, fabricated, stored_as

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("sweep report")]  # one worker makes the rows


@pytest.fixture
def rows(rows_of_this_run: list[Row]) -> list[Row]:
    return rows_of_this_run


def reported(rows: list[Row]) -> SweepReport:
    """Return the report of a finished sweep with those rows."""
    manifest = {"engine": "0.0+test", "cases": len(rows), "invalid": 7}
    return SweepReport(manifest, in_order_of_sizes(rows))


def test_the_heading_names_each_size_that_was_asked(rows: list[Row]) -> None:
    """A proof of one entry says nothing about a bug that takes two.

    Planted: the sizes that vary are left out; the sizes that do not vary are left out.
    """
    sizes = (
        "bookies 1 to 4, ensemble 1 to 3, write_quorum 1 to 3, ack_quorum 1 to 3, entries 1, recoverers 1, "
        "fragments 2, inflight 2, silent 0, crashes 0, restarts 0, forces 0, power_losses 0, readers 0, "
        "given_ids 0, lengths 0, deletions 0, journals 0, other_dirs 0, failed_flushes 0, full_disks 0, "
        "racks 0, disks 0, reimages 0"
    )
    assert f"\nbookkeeper-4.13, asked with {sizes}\n" in text(reported(rows))


def test_a_cell_is_where_its_sizes_and_switches_say(rows: list[Row]) -> None:
    found = matrices([row for row in rows if row["protocol"] == "bookkeeper-4.13"])
    assert len({matrix.title for matrix in found}) == 4
    cells = [
        (matrix.title, label, column, row)
        for matrix in found
        for (label,), line in matrix.lines
        for column, row in zip(matrix.columns, line, strict=True)
        if row is not None
    ]
    assert len({row["id"] for *_, row in cells}) == len(cells) == 40
    for title, label, column, row in cells:
        settings = row["settings"]
        assert label == f"{settings['ensemble']}/{settings['write_quorum']}"
        assert column == f"AQ {settings['ack_quorum']}"
        assert f"recovery_reads_fence={settings['recovery_reads_fence']}," in title
        spare = int(settings["bookies"]) - int(settings["ensemble"])
        assert title.endswith("N = E + 1 (1 spare bookie)" if spare else "N = E (no spare bookie)")


def test_rows_without_sizes_are_listed_with_a_column_for_each_solver(rows: list[Row]) -> None:
    chains = [row for row in rows if row["protocol"] == "ledger-chain"]
    (matrix,) = matrices(chains)
    assert matrix.columns == ("cadical", "minisat")
    seen = []
    for label, line in matrix.lines:
        for solver, row in zip(matrix.columns, line, strict=True):
            assert row is not None
            usual = row["settings"]["append_compares"] != "no"
            instance = "as by default" if usual else "append_compares=no"
            assert (row["solver"], label) == (solver, (row["property"], instance))
            seen.append(row["id"])
    assert sorted(seen) == sorted(row["id"] for row in chains)


def test_a_grid_of_scattered_instances_is_listed_and_not_drawn(rows: list[Row]) -> None:
    sized = [row for row in rows if row["protocol"] == "bookkeeper-4.13"]
    assert [matrix.sized for matrix in matrices(sized)] == [True] * 4
    few = [row for row in sized if row["settings"]["ensemble"] == "1"]
    assert [matrix.sized for matrix in matrices(few)] == [False]


# Reports written into a folder.


@pytest.fixture(scope="session")
def folder(rows_of_this_run: list[Row], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stored_as(tmp_path_factory.mktemp("sweep"), rows_of_this_run)


def told(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(["export", *arguments]) == code
    return capsys.readouterr().out


def test_text_has_sums_and_a_compact_matrix(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    out = told(capsys, str(folder))
    assert re.search(r"^solver +cases +decided +fastest", out, flags=re.MULTILINE)
    assert re.search(r"^no-divergence +\d+ error, 1 violated, ", out, flags=re.MULTILINE)
    block = out.partition("no-divergence, recovery_reads_fence=no, N = E (no spare bookie)\n")[2].split(
        "\n\n"
    )[0]
    assert re.match(r"E/WQ +AQ 1 +AQ 2 +AQ 3\n1/1 +\S", block)
    assert re.search(r"^2/2 .*✗ violated \(13 steps, \d fault", block, flags=re.MULTILINE)
    assert len(block.splitlines()) == 7


def test_markdown_has_each_row_in_one_cell(
    capsys: pytest.CaptureFixture[str], folder: Path, rows: list[Row]
) -> None:
    out = told(capsys, str(folder), "--format", "markdown")
    cells = [
        cell.strip(" *") for line in out.splitlines() if line.startswith("|") for cell in line.split("|")
    ]
    for verdict in VERDICTS:
        found = [cell for cell in cells if re.match(rf"{verdict}\b.*: ", cell)]
        assert len(found) == sum(row["verdict"] == verdict for row in rows), verdict
    assert "| 2/2 |" in out


def test_an_unfinished_sweep_says_so_in_every_form_and_has_no_sums(
    capsys: pytest.CaptureFixture[str], rows: list[Row], tmp_path: Path
) -> None:
    folder = stored_as(tmp_path, rows[:30])
    for form in ("text", "markdown"):
        out = told(capsys, str(folder), "--format", form, code=3)
        assert "Not finished: 30 of 52 cases have their row; go on with --resume." in out
        assert "fastest" not in out and "1 violated, " not in out


def test_the_trace_of_a_row_is_given_as_trace_reads_it(
    capsys: pytest.CaptureFixture[str], folder: Path, rows: list[Row], tmp_path: Path
) -> None:
    file = tmp_path / "trace.json"
    (row, *_) = (row for row in rows if row["verdict"] == "violated")
    told(capsys, str(folder), "--row", row["id"], "-o", str(file))
    assert run(["export", str(file)]) == 0
    (proved, *_) = (row for row in rows if row["verdict"] == "proved")
    for name, why in ((proved["id"], "its row has no counterexample"), ("nobody", "no such row")):
        assert run(["export", str(folder), "--row", name]) == 2
        assert f"{name}: {why} in" in capsys.readouterr().err


def test_a_sweep_of_todays_code_says_what_its_release_has_besides(tmp_path: Path) -> None:
    """The report names #4651 if the grid asks only about the code with this bug fixed.

    Planted: a protocol without releases gets the sentence; a grid that asks about the race gets it too.
    """
    today = '[[grid]]\nprotocols = "bookkeeper"\nproperties = "no-divergence"\n'
    said = (
        "odelled: 4.18.0 with #4651, stale-ensemble, refused-change, #4459, blocked-acks fixed "
        "(add_ensemble=when-queued refused_change=gives-up chained_changes=each-alone "
        "acks_after_change=with-change lac_read_in_change=blocked); "
        "for the release as shipped: --release 4.18.0"
    )
    both = today + 'set = { lac_read_in_change = ["blocked", "racing"] }\n'
    for name, grid, there in (("one", today, True), ("both", both, False), ("chain", LISTED, False)):
        (tmp_path / name).mkdir()
        report = reported(fabricated(tmp_path / name, grid))
        assert (said in text(report)) == there, name
