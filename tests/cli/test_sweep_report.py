"""`fencepost export`: each row appears once, in its own cell, with its evidence."""

from __future__ import annotations

import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from fencepost.cli.main import run
from fencepost.cli.rendering.check_text import counterexample_text
from fencepost.cli.rendering.sweep_forms import FORMS
from fencepost.cli.rendering.sweep_matrices import SweepReport, matrices, named
from fencepost.cli.rendering.words import MEANINGS, SIGNS, brief, check_command
from fencepost.encoding.engine.verdicts import Basis
from fencepost.encoding.errors import InternalError
from fencepost.encoding.evidence.manifests import Contents, claimed, manifest
from fencepost.sweeps.rows import VERDICTS, Row, case_of
from fencepost.sweeps.solve import instance
from fencepost.sweeps.store import Store
from fencepost.sweeps.summary import ordered
from fencepost.sweeps.tables import TABLES, read_summary
from support.counterexamples import counterexample_of
from support.reports import LISTED, fabricated, recounted, stored_as

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("sweep report")]  # one worker makes the rows


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    return fabricated(tmp_path_factory.mktemp("rows"))


def reported(rows: list[Row], folder: Path = Path("found/it")) -> SweepReport:
    """Return the report of a finished sweep with those rows."""
    manifest = {"engine": "0.0+test", "cases": len(rows), "invalid": 7}
    return SweepReport(folder, manifest, ordered(rows), recounted(rows))


@pytest.fixture(scope="module")
def page(rows: list[Row]) -> str:
    return FORMS["html"](reported(rows))


class Reader(HTMLParser):
    """The visible content of a page: the cells of its matrices and the text of each dialog."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.cells: list[dict[str, str]] = []
        self.details: dict[str, str] = {}
        self.addresses: list[str] = []
        self._title = self._verdict = self._part = self._id = ""
        self._heads: list[str] = []
        self._line: list[str] = []
        self._column = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.addresses += [given[name] for name in ("href", "src") if name in given]
        if tag == "table":
            self._title, self._heads = "", []
        elif tag == "tr":
            self._line = []
        elif tag in ("caption", "th"):
            self._part = tag
            if tag == "th":
                (self._heads if given["scope"] == "col" else self._line).append("")
        elif tag == "td":
            self._column = self._column + 1 if self._verdict else 0
            self._verdict, self._part = given.get("class", "-"), "td"
        elif tag == "a" and self._part == "td":
            at = len(self._line) + self._column
            place = {"title": self._title, "line": " ".join(self._line), "column": self._heads[at]}
            self.cells.append(place | {"id": given["href"][1:], "verdict": self._verdict, "words": ""})
        elif tag == "dialog":
            self._id = given["id"]
            assert self._id not in self.details
            self.details[self._id] = ""

    def handle_endtag(self, tag: str) -> None:
        if tag in ("caption", "th", "td"):
            self._part = ""
        elif tag == "tr":
            self._verdict = ""
        elif tag == "dialog":
            self._id = ""

    def handle_data(self, data: str) -> None:
        if self._part == "caption":
            self._title += data
        elif self._part == "th":
            (self._line if self._line else self._heads)[-1] += data
        elif self._part == "td" and self.cells and self._verdict != "-":
            self.cells[-1]["words"] += data
        if self._id:
            self.details[self._id] += data


def test_every_row_is_in_one_cell_with_the_colour_and_the_words_of_its_verdict(
    page: str, rows: list[Row]
) -> None:
    cells = Reader(page).cells
    assert sorted(cell["id"] for cell in cells) == sorted(row["id"] for row in rows)
    known = {row["id"]: row for row in rows}
    assert {row["verdict"] for row in rows} == set(VERDICTS), "one of each at least"
    for cell in cells:
        row = known[cell["id"]]
        assert cell["verdict"] == row["verdict"]
        assert cell["words"].startswith(f"{SIGNS[row['verdict']]} {row['verdict']} {brief(row)}")


def said_of(page: str) -> str:
    """Return the text of a page in one line."""
    body = re.sub(r"<(style|script|svg).*?</\1>", " ", page[page.index("<body") :], flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", body)))


def test_the_heading_names_each_size_that_was_asked(rows: list[Row], page: str) -> None:
    """A page of one protocol has the sizes in its heading. Otherwise each protocol's heading has them.

    Planted: the sizes that vary are left out; the sizes that do not vary are left out.
    """
    sizes = (
        "bookies 1 to 4, ensemble 1 to 3, write_quorum 1 to 3, ack_quorum 1 to 3, entries 1, recoverers 1, "
        "fragments 2, inflight 2, silent 0, crashes 0, restarts 0, forces 0, power_losses 0, readers 0, "
        "given_ids 0, lengths 0, deletions 0, journals 0, other_dirs 0, failed_flushes 0, full_disks 0, "
        "racks 0, disks 0, reimages 0"
    )
    assert f"bookkeeper-4.13 asked with {sizes} " in said_of(page)
    assert "<title>Sweep of bookkeeper-4.13, ledger-chain</title>" in page
    one = FORMS["html"](reported([row for row in rows if row["protocol"] == "bookkeeper-4.13"]))
    assert f"Which configuration may I use? bookkeeper-4.13, asked with {sizes} Each cell" in said_of(one)
    (row, *_) = rows
    sizes = f"asked with bookies {row['settings']['bookies']}, ensemble {row['settings']['ensemble']}, "
    assert f"{row['property']} of {row['protocol']}, {sizes}" in Reader(page).details[row["id"]]


def test_the_title_is_short_and_promises_nothing(rows: list[Row]) -> None:
    """The tab of the browser shows the title; the sizes stand in the heading.

    Planted: the title asks which configuration may be used, as if the sizes did not matter.
    """
    one = FORMS["html"](reported([row for row in rows if row["protocol"] == "bookkeeper-4.13"]))
    assert "<title>Sweep of bookkeeper-4.13</title>" in one
    many = [{**row, "protocol": name} for name in ("a", "b", "c") for row in rows[:1]]
    assert "<title>Sweep of 3 protocols</title>" in FORMS["html"](reported(many))


def test_no_sentence_says_more_than_the_instance_of_its_cell(page: str) -> None:
    """A proof of E > WQ with one entry once stood under "It cannot happen".

    The bug #3005 takes more entries. Planted: the old words.
    """
    said = said_of(page)
    for more in (
        "cannot happen",
        "can happen",
        "of this configuration",
        "about the configuration",
        "all switches",
    ):
        assert more not in said
    assert "about this instance and its sizes, not about larger ones" in MEANINGS["proved"]
    assert "A verdict is about the instance of its cell" in said
    assert "fencepost advise" in said


def test_a_cell_is_where_its_sizes_and_switches_say(page: str, rows: list[Row]) -> None:
    known = {row["id"]: row for row in rows}
    sized = [cell for cell in Reader(page).cells if cell["title"]]
    assert len(sized) == 40
    assert len({cell["title"] for cell in sized}) == 4
    for cell in sized:
        settings = known[cell["id"]]["settings"]
        assert cell["line"] == f"{settings['ensemble']}/{settings['write_quorum']}"
        assert cell["column"] == f"AQ {settings['ack_quorum']}"
        assert f"recovery_reads_fence={settings['recovery_reads_fence']}," in cell["title"]
        spare = int(settings["bookies"]) - int(settings["ensemble"])
        assert cell["title"].endswith("N = E + 1 (1 spare bookie)" if spare else "N = E (no spare bookie)")


def test_what_has_no_sizes_is_listed_with_a_column_for_each_solver(page: str, rows: list[Row]) -> None:
    known = {row["id"]: row for row in rows}
    listed = [cell for cell in Reader(page).cells if not cell["title"]]
    assert len(listed) == 12
    for cell in listed:
        row = known[cell["id"]]
        instance = "append_compares=no" if row["settings"]["append_compares"] == "no" else "as by default"
        assert (cell["column"], cell["line"]) == (row["solver"], f"{row['property']} {instance}")


def test_each_row_has_its_own_evidence(page: str, rows: list[Row]) -> None:
    details = Reader(page).details
    assert details.keys() == {row["id"] for row in rows}
    violated = [row for row in rows if row["verdict"] == "violated"]
    assert sorted(row["protocol"] for row in violated) == ["bookkeeper-4.13", *["ledger-chain"] * 2]
    for row in rows:
        said = details[row["id"]]
        assert f"{SIGNS[row['verdict']]} {row['verdict']} {named(row)}\n" in said
        assert MEANINGS[row["verdict"]] in said
        assert check_command(row) in said
        told = counterexample_of("late" if row["protocol"] == "bookkeeper-4.13" else "chained")
        assert (counterexample_text(told) in said) == (row["verdict"] == "violated")
        command = f"fencepost export found/it --row={row['id']} | fencepost export /dev/stdin"
        assert (command in said) == (row["verdict"] == "violated")
        if row["verdict"] in ("proved", "error"):
            assert (row["reason"] or "no certificate was kept").lower() in said.lower()


def test_the_trace_of_another_row_or_one_that_does_not_replay_is_an_internal_error(rows: list[Row]) -> None:
    (late,) = (row for row in rows if row["verdict"] == "violated" and row["protocol"] == "bookkeeper-4.13")
    settings = late["settings"] | {"recovery_reads_fence": "yes"}
    with pytest.raises(InternalError, match="its trace is of another case"):
        FORMS["html"](reported([{**late, "settings": settings}]))
    trace = json.loads(late["trace"])
    del trace["steps"][4]
    with pytest.raises(InternalError, match="its trace does not replay: step 5"):
        FORMS["html"](reported([{**late, "trace": json.dumps(trace)}]))


def certified(folder: Path, row: Row, about: Row) -> Row:
    """Write a certificate into the folder, and return the row with the certificate's name.

    The certificate is about the case of `about`: the same row, or another one.
    """
    name = f"certificates/{row['id']}"
    (folder / name).mkdir(parents=True)
    subject = instance(case_of(about)).subject
    basis, carried = Basis(about["basis"]), about["invariants"]
    claim = claimed(about["property"], basis, about["rounds"], carried)
    document = manifest(subject, Contents({}, (claim,), (), False), []).to_json()
    (folder / name / "manifest.json").write_text(json.dumps(document), encoding="utf-8")
    return {**row, "certificate": name}


def test_a_proof_leads_to_its_own_certificate(rows: list[Row], tmp_path: Path) -> None:
    first, second, *_ = (row for row in rows if row["basis"] == "rounds")
    made = [certified(tmp_path, row, row) for row in (first, second)]
    details = Reader(FORMS["html"](reported(made, tmp_path))).details
    for row in made:
        assert f"fencepost certify {tmp_path}/certificates/{row['id']}" in details[row["id"]]
    assert first["id"] not in details[second["id"]]
    swapped = {**first, "certificate": made[1]["certificate"]}
    with pytest.raises(InternalError, match=f"certificates/{second['id']} is of another case"):
        FORMS["html"](reported([swapped], tmp_path))
    carried = {"basis": "induction", "invariants": ["taken-is-stored"]}
    over_one_action = certified(tmp_path / "more", {**first, **carried}, {**first, **carried})
    assert "Proved by induction over one action." in FORMS["html"](
        reported([over_one_action], tmp_path / "more")
    )
    without = {**over_one_action, "invariants": []}
    with pytest.raises(InternalError, match="is of another case"):
        FORMS["html"](reported([without], tmp_path / "more"))
    gone = {**first, "certificate": "certificates/gone"}
    assert "which is not there any more" in FORMS["html"](reported([gone], tmp_path))


def test_nothing_in_a_row_ends_an_element_and_nothing_is_loaded(page: str, rows: list[Row]) -> None:
    assert page.count("<script>") == page.count("</script>") == 1
    assert "alert('&')" not in page
    assert page.count("<dialog") == page.count("</dialog>") == len(rows)
    odd = FORMS["html"](reported([{**row, "host": "<u>"} for row in rows], Path('found/"><em>')))
    assert not re.search("<(u|em)>", odd)
    addresses = Reader(page).addresses
    assert {a for a in addresses if not a.startswith("#")} == {"data:,"}
    assert not re.search(r"https?:|url\(|@import|<img|<iframe", page)


def test_a_picture_shows_how_time_grows_with_each_row_as_a_point(page: str, rows: list[Row]) -> None:
    (picture,) = re.findall(r'<svg viewBox="0 0 600.*?</svg>', page, flags=re.DOTALL)
    points = re.findall(
        r'<a href="#(\w+)" tabindex="-1" class="(\w+)" transform="translate\((\S+) (\S+)\)">', picture
    )
    sized = {row["id"]: row for row in rows if row["protocol"] == "bookkeeper-4.13"}
    assert {id_: verdict for id_, verdict, *_ in points} == {i: row["verdict"] for i, row in sized.items()}
    by_size = sorted((float(x), sized[id_]["weight"]) for id_, _, x, _ in points)
    assert [weight for _, weight in by_size] == sorted(row["weight"] for row in sized.values())
    by_time = sorted((-float(y), sized[id_]["seconds"]) for id_, _, _, y in points)
    assert [seconds for _, seconds in by_time] == sorted(row["seconds"] for row in sized.values())


def test_a_grid_of_scattered_instances_is_listed_and_not_drawn(rows: list[Row]) -> None:
    sized = [row for row in rows if row["protocol"] == "bookkeeper-4.13"]
    assert [matrix.sized for matrix in matrices(sized)] == [True] * 4
    few = [row for row in sized if row["settings"]["ensemble"] == "1"]
    assert [matrix.sized for matrix in matrices(few)] == [False]


# Reports written into a folder.


@pytest.fixture(scope="module")
def folder(rows: list[Row], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stored_as(tmp_path_factory.mktemp("sweep"), rows)


def told(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(["export", *arguments]) == code
    return capsys.readouterr().out


def test_the_tables_come_back_as_they_went_in(folder: Path, rows: list[Row]) -> None:
    assert read_summary(Store(folder)) == recounted(rows)
    assert recounted(rows).keys() == TABLES.keys()


def test_text_has_sums_and_a_compact_matrix(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    out = told(capsys, str(folder))
    assert re.search(r"^solver +cases +decided +fastest", out, flags=re.MULTILINE)
    assert re.search(r"^no-divergence +2/2/2 +2 +1 violated, ", out, flags=re.MULTILINE)
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
    folder = stored_as(tmp_path, rows[:30], finished=False)
    for form in ("text", "markdown", "html"):
        out = told(capsys, str(folder), "--format", form, code=3)
        assert "Not finished: 30 of 52 cases have their row; go on with --resume." in out
        assert "fewest faults" not in out
    assert len(Reader(unescape(out)).cells) == 30


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
        assert [said in FORMS[form](report) for form in ("text", "html")] == [there, there], name
