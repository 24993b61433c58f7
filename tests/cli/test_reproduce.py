"""`fencepost reproduce`: output, refusals and exit codes on transcripts of real runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.realcode.course import Ending
from fencepost.realcode.harness_session import Harness, Playback
from fencepost.realcode.library import Library
from fencepost.realcode.matrix import Cell, Mark
from fencepost.realcode.reproduction import Setting
from fencepost.realcode.transcripts import json_lines, read_transcript
from support.realcode import OF_SCRIPTS, SCRIPTS, TRANSCRIPTS, crashing_code, kept_trace, not_driven
from support.realcode import run_kept as run
from support.refusing import refused
from support.shown import shows

OLD, NEW = (str(TRANSCRIPTS / f"2614.{release}.sorted.jsonl") for release in ("4.13.0", "4.17.4"))


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(kept_trace("#2614").to_json()), encoding="utf-8")
    return str(path)


def test_a_reproduced_violation_exits_with_1(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", trace, "--playback", OLD]) == 1
    out = capsys.readouterr().out
    assert "17 steps, on BookKeeper 4.13.0 (sorted storage, ZooKeeper " in out
    assert "Reproduced on 4.13.0: no-divergence is violated; model and code agree after each step." in out
    assert "told w: add 1: OK" in out


def test_a_refused_one_exits_with_0(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", trace, "--playback", NEW]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Refused by 4.17.4 at step 16: LedgerFencedException." in out
    assert "≠ fenced[b1]: yes in the code, no in the model" in out


def test_what_has_no_seam_exits_with_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Limbo needs DbLedgerStorage. The command starts no code and asks nothing."""
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(kept_trace("#4812").to_json()), encoding="utf-8")
    ended = not_driven("#4812", tmp_path / "ended.jsonl")
    assert run(["reproduce", str(path), "--playback", str(ended)]) == 3
    assert "It cannot be driven: limbo is there in DbLedgerStorage only" in capsys.readouterr().out


def test_as_json(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", trace, "--playback", NEW, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["ending"], document["step"], document["as_release"]) == ("refused", 16, True)
    assert document["steps"][10]["differs"] == {"fenced[b1]": {"model": False, "code": True}}


def test_as_a_page_with_the_code_beside_the_model(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", trace, "--playback", NEW, "--format", "html"]) == 0
    page = capsys.readouterr().out
    shown = json.loads(page.split('id="counterexample">')[1].split("</script>")[0])
    assert shown["steps"][15]["observations"][0] == "code: b1 answers LedgerFencedException"
    assert "Refused by 4.17.4 at step 16" in page


LATE_ADD = str(SCRIPTS / "late-add.txt")
LATE_ADD_RUN = str(OF_SCRIPTS / "late-add.4.17.4.sorted.jsonl")


def test_a_script_is_driven_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", LATE_ADD, "--playback", LATE_ADD_RUN]) == 0
    out = capsys.readouterr().out
    assert "  7  b2 handle add (client w, fragment 1, entry 1)\n       code: b2 answers LedgerFenced" in out
    assert "Followed by 4.17.4: nothing is violated; model and code agree after each step." in out


def test_a_script_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", LATE_ADD, "--playback", LATE_ADD_RUN, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["ending"], document["trace"]["schema"]) == ("followed", "fencepost.path/2")


def test_a_script_that_the_code_does_not_follow_exits_with_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The bookie of this run forgets its fence."""
    path, kept = tmp_path / "changed.jsonl", read_transcript(Path(LATE_ADD_RUN))
    lines = tuple((ask, answer.replace('"fenced": true', '"fenced": false')) for ask, answer in kept.lines)
    other = replace(kept, lines=lines, ending=Ending.PARTED, step=5)
    path.write_text(other.to_json_lines(), encoding="utf-8")
    assert run(["reproduce", LATE_ADD, "--playback", str(path)]) == 3
    assert "Model and code differ at step 5: fenced[b1] is no in the code" in capsys.readouterr().out


def test_a_script_is_run_on_the_model_before_a_library_is_looked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "steps.txt"
    path.write_text("protocol bookkeeper\nset entries=1\npush 1 1\n", encoding="utf-8")
    assert run(["reproduce", str(path), "--bookkeeper", "no-such-folder"]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"fencepost: {path}: line 3: push(1, 1): is not possible after step 0; ")
    assert captured.err.count("\n") == 1


def test_a_script_without_a_violation_has_no_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", LATE_ADD, "--playback", LATE_ADD_RUN, "--format", "html"]) == 2
    assert "violates nothing; valid: text, json" in capsys.readouterr().err


HOSTILE = {
    "--bookkeeper: missing": [],
    "--bookkeeper: give one lib folder": ["TRACE"],
    "--bookkeeper: not with FENCEPOST_PLAYBACK": ["TRACE", "--playback", OLD, "--bookkeeper", "lib"],
    "--release: not with FENCEPOST_PLAYBACK": ["TRACE", "--playback", OLD, "--release", "4.17.4"],
    "lib: no such folder": ["TRACE", "--bookkeeper", "lib"],
    "is no transcript of this trace": ["TRACE", "--playback", str(TRANSCRIPTS / "2615.4.13.0.sorted.jsonl")],
    "schema is 'fencepost.trace/2'; valid: fencepost.transcript/3": ["TRACE", "--playback", "TRACE"],
    "schema is 'fencepost.transcript/1'; valid: fencepost.transcript/3": ["TRACE", "--playback", "OLD"],
}


@pytest.mark.parametrize(("says", "arguments"), HOSTILE.items(), ids=list(HOSTILE))
def test_what_cannot_be_meant_is_one_line(
    says: str, arguments: list[str], trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bookkeeper-server-4.17.4.jar").write_bytes(b"")
    old = tmp_path / "old.json"
    old.write_text(json.dumps({"schema": "fencepost.transcript/1", "lines": []}, indent=1), encoding="utf-8")
    named = {"TRACE": trace, "LIB": str(tmp_path), "OLD": str(old)}
    assert run(["reproduce", *(named.get(a, a) for a in arguments)]) == 2
    captured = capsys.readouterr()
    assert not captured.out
    assert says in captured.err
    assert captured.err.count("\n") == 1


OF_RELEASES = {
    (): "version 4.19.0-SNAPSHOT is none of the releases that were read, up to 4.18.0; give the release",
    ("--release", "4.12.0"): "4.12.0: is not one that can be driven; give 4.13.0 or later",
    ("--release", "4.99.0"): "4.99.0: not one of the ",
    ("--release", "newest"): "newest: not one of the ",
}


@pytest.mark.parametrize(
    "command", [["reproduce", LATE_ADD], ["conform", "bookkeeper"], ["reproduce", "4701"]], ids=lambda c: c[1]
)
@pytest.mark.parametrize(("given", "says"), OF_RELEASES.items(), ids=lambda g: " ".join(g)[:20])
def test_a_library_whose_rules_nobody_gives_is_one_line(
    command: list[str],
    given: tuple[str, ...],
    says: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`known` once took a release that was not read, and found every cell as expected.

    Planted: a release that was not read is run with the rules of the newest.
    """
    (tmp_path / "bookkeeper-server-4.19.0-SNAPSHOT.jar").write_bytes(b"")
    assert run([*command, "--bookkeeper", str(tmp_path), *given]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert says in captured.err


BROKEN: dict[str, Callable[[list[str]], list[str]]] = {
    "is not JSON": lambda lines: [lines[0][:-1], *lines[1:]],
    "ends after its first line": lambda lines: lines[:1],
    "line 34, the last: has no sha256, so the file is cut off": lambda lines: lines[:-1],
    "line 35: is not JSON": lambda lines: [*lines[:-1], lines[-1][:-1]],
    "line 1: property is missing": lambda lines: [
        lines[0].replace(', "property": "no-divergence"', ""),
        *lines[1:],
    ],
    "line 35, the last: sha256 is that of another file": lambda lines: [
        *lines[:2],
        '{"answer": {"ok": {}}}',
        *lines[3:],
    ],
    "line 4: is not JSON ('ask' is given twice in one object)": lambda lines: [
        *lines[:3],
        '{"ask": "look", "ask": "look"}',
        *lines[4:],
    ],
    "line 5: is not JSON": lambda lines: [*lines[:4], "", *lines[5:]],
    "ending = 'by chance'": lambda lines: [
        *lines[:-1],
        json_lines([*map(json.loads, lines[:-1]), {"ending": "by chance", "step": None}]).splitlines()[-1],
    ],
}
"""Changes that break a transcript of 35 lines, by the error message for each."""


@pytest.mark.parametrize(("says", "broken"), BROKEN.items(), ids=list(BROKEN))
def test_a_transcript_that_is_not_whole_is_one_line(
    says: str,
    broken: Callable[[list[str]], list[str]],
    trace: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = Path(NEW).read_text(encoding="utf-8").splitlines()
    path = tmp_path / "broken.jsonl"
    path.write_text("\n".join(broken(lines)) + "\n", encoding="utf-8")
    assert run(["reproduce", trace, "--playback", str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


def test_a_transcript_is_written_as_it_was_read() -> None:
    assert read_transcript(Path(NEW)).to_json_lines() == Path(NEW).read_text(encoding="utf-8")


def test_a_run_on_the_code_writes_its_transcript(
    trace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transcript is played back in place of the code.

    The written transcript is equal to the played one, except for its date.
    """

    @contextmanager
    def running(library: Library, log: Path | None) -> Iterator[Playback]:
        yield read_transcript(Path(NEW)).playback()

    monkeypatch.setattr("fencepost.cli.commands.reproduce.running", running)
    (tmp_path / "bookkeeper-server-4.17.4.jar").touch()
    written = tmp_path / "written.jsonl"
    assert run(["reproduce", trace, "--bookkeeper", str(tmp_path), "--transcript", str(written)]) == 0
    made, kept = read_transcript(written), read_transcript(Path(NEW))
    assert replace(made, recorded=kept.recorded) == kept


def test_a_process_that_crashes_keeps_its_transcript_and_is_one_line(
    trace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = read_transcript(Path(NEW)).lines[:10]

    def running(library: Library, log: Path | None) -> AbstractContextManager[Harness]:
        return crashing_code([answer for _, answer in lines])

    monkeypatch.setattr("fencepost.cli.commands.reproduce.running", running)
    (tmp_path / "bookkeeper-server-4.17.4.jar").touch()
    written = tmp_path / "written.jsonl"
    assert run(["reproduce", trace, "--bookkeeper", str(tmp_path), "--transcript", str(written)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "SIGSEGV" in line
    assert "--log FILE" in line
    assert read_transcript(written).lines[:10] == lines
    assert run(["reproduce", trace, "--playback", str(written)]) == 2
    assert "SIGSEGV" in capsys.readouterr().err


def test_the_end_in_the_page_is_the_one_that_is_printed(
    trace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "real-code.md").read_text(encoding="utf-8")
    shown = next(
        text for text in re.findall(r"(?:^(?: {4}.*)?\n)+", page, re.MULTILINE) if "Refused by" in text
    )
    run(["reproduce", trace, "--playback", NEW])
    assert shows(shown, capsys.readouterr().out)


def test_a_trace_of_something_else_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(
            [
                "check",
                "verified-log-01",
                "--property",
                "durability",
                "--set",
                "last_entry=always",
                "--traces",
                str(tmp_path),
                "-o",
                str(tmp_path / "o"),
            ]
        )
        == 1
    )
    (saved,) = tmp_path.glob("*.json")
    assert run(["reproduce", str(saved), "--playback", OLD]) == 2
    assert "verified-log-01: is not modelled after BookKeeper's code" in capsys.readouterr().err


# The matrix of bugs and releases.


@pytest.mark.parametrize(
    ("bug", "release", "mark", "expected"),
    [
        ("#2614", "4.13.0", Mark.HAS, True),
        ("#2614", "4.17.4", Mark.HAS, False),
        ("#2614", "4.17.4", Mark.REFUSES, True),
        ("#2614", "4.13.0", Mark.REFUSES, False),
        ("#4701", "4.17.3", Mark.UNDRIVABLE, True),
        ("#1591", "4.13.0", Mark.NOT_OF, True),
        ("#3005", "4.17.4", Mark.PARTED, None),
        ("#3005", "4.17.4", Mark.NO_TRACE, None),
    ],
)
def test_a_cell_is_held_against_the_table_of_releases(
    bug: str, release: str, mark: Mark, expected: bool | None
) -> None:
    step = 16 if mark is Mark.REFUSES else None
    assert Cell(bug, Setting(release, "sorted"), mark, step=step).as_expected is expected


def test_what_cannot_be_driven_needs_no_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bookkeeper-server-4.17.3.jar").write_bytes(b"")
    bugs = ["4701", "1591", "4651", "BP-46-1"]
    assert run(["reproduce", *bugs, "--bookkeeper", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "4 of 4 as expected; the code was driven in 0" in out
    assert "cannot be driven: one method of the bookie checks the fence and stores the entry" in out
    assert "not this release's" in out


@pytest.mark.parametrize(
    ("release", "mark"), [("4.17.3", "cannot be driven"), ("4.18.0", "not this release's")]
)
def test_a_library_of_another_version_has_the_cells_of_the_release_that_is_given(
    release: str, mark: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Planted: the release of the option is ignored, or the cell names it without the version of the code."""
    (tmp_path / "bookkeeper-server-4.18.0-SNAPSHOT.jar").write_bytes(b"")
    arguments = ["reproduce", "4701", "--bookkeeper", str(tmp_path), "--release", release]
    assert run(arguments) == 0
    assert f"#4701  4.18.0-SNAPSHOT as {release}  sorted      {mark}" in capsys.readouterr().out
    assert run([*arguments, "--format", "json"]) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert (cell["bookkeeper"], cell["has_it"]) == (f"4.18.0-SNAPSHOT as {release}", release == "4.17.3")


def test_the_summary_counts_the_cells_in_which_the_code_was_driven(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cell that cannot be driven is as expected, and no evidence. Planted: it counts as driven."""

    @contextmanager
    def running(library: Library, log: Path | None) -> Iterator[Playback]:
        yield read_transcript(Path(NEW)).playback()

    monkeypatch.setattr("fencepost.cli.commands.reproduce.running", running)
    (tmp_path / "bookkeeper-server-4.17.4.jar").touch()
    assert run(["reproduce", "#2614", "4701", "4651", "--bookkeeper", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "refuses it: at step 16" in out
    assert "3 of 3 as expected; the code was driven in 1" in out


@pytest.mark.parametrize(
    ("libraries", "says"),
    [(0, "--bookkeeper: missing"), (2, "--release: not with 2 LIBs; give one --bookkeeper with it")],
)
def test_a_release_is_given_for_one_library(
    libraries: int, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bookkeeper-server-4.17.3.jar").touch()
    given = ["--bookkeeper", tmp_path] * libraries
    assert says in refused(capsys, "reproduce", "4701", *given, "--release", "4.17.3")


def test_a_cell_that_time_does_not_reach_is_undecided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bookkeeper-server-4.17.3.jar").write_bytes(b"")
    monkeypatch.setattr("fencepost.cli.commands.reproduce.elapsed", lambda: 2.0)
    assert run(["reproduce", "4701", "--bookkeeper", str(tmp_path), "--timeout", "1"]) == 3
    assert "not reached: time-out after 1 s  NOT RUN" in capsys.readouterr().out


def test_a_bug_that_is_none_is_refused_on_the_code_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bookkeeper-server-4.17.3.jar").write_bytes(b"")
    assert "7: no such known bug" in refused(capsys, "reproduce", "7", "--bookkeeper", tmp_path)
