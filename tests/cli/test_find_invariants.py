"""`fencepost invariants --find`: the text that an author pastes, how far a search came, and refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from fencepost.cli.commands.invariants import discovered_text
from fencepost.cli.main import run
from fencepost.encoding.lifting.report import Discovered
from support import lost_mail
from support.refusing import refused

EXAMPLES = Path(__file__).parents[2] / "examples"
COPIES = EXAMPLES / "two_copies.py"
COMMIT = EXAMPLES / "two_phase_commit.py"


def said(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    """Return the exit code and the output."""
    code = run(["invariants", "--find", *map(str, arguments)])
    return code, capsys.readouterr().out


def test_invariants_are_found_and_ready_to_paste(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = said(capsys, COPIES, "--set", "fence=yes", "--grow", "entries=1..3")
    assert code == 0
    assert "prove the properties at entries=1..3" in text
    assert "if taken_over then exists c: fenced[c]" in text
    assert "implies(s.taken_over, exists(s.copy, lambda c: s.fenced[c]))" in text


def test_declared_invariants_are_kept_unless_they_are_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    """With them nothing is missing. Without them, the output says which of them follow."""
    grow = "--grow", "participants=2..3"
    assert "No further invariant is needed" in said(capsys, COMMIT, *grow)[1]
    code, text = said(capsys, COMMIT, *grow, "--drop-declared")
    assert code == 0
    assert "Of 3 declared invariants," in text


def test_an_invariant_about_a_lost_letter_is_proved_and_is_not_to_be_pasted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The proof needs to know that a loss never changes. An invariant in a file may not say so."""
    code, text = said(capsys, lost_mail.FILE)
    assert code == 0
    assert "found-2: for all l: if arrived[l] then not lost[l]\n" in text
    assert "Not to be pasted: found-1, found-2. " in text
    assert "s.lost" not in text
    assert "prove the properties at the size that is set\n" in text


def test_a_property_that_is_violated_has_no_invariants(capsys: pytest.CaptureFixture[str]) -> None:
    """The execution is shown, and the exit code says that a property is violated."""
    code, text = said(capsys, COPIES, "--grow", "entries=1..2")
    assert code == 1
    assert "nothing-lost: violated after 7 steps at entries=1" in text
    assert "kept[1]" not in text.splitlines()[-1]


def test_how_far_a_search_came(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """If nothing is found, the output names what is not proved, where, and a counterexample to induction."""
    from fencepost.encoding.lifting import report

    monkeypatch.setattr(report, "search", lambda at, properties, proved: iter(()))
    code, text = said(capsys, COMMIT, "--drop-declared")
    assert code == 3
    assert "Not proved at participants=3: consistent\n" in text
    assert "consistent: commit(p1) breaks it, from a state in which all else holds and" in text


@pytest.mark.parametrize(
    ("grow", "line"),
    [
        (("fence=1..2",), "--grow fence: is a switch, and has no size; set it with --set fence=VALUE"),
        (("entries=3..2",), "--grow entries=3..2: the range is empty; write entries=2..3"),
        (("entries=3",), "--grow entries=3: must have the form NAME=A..B, such as entries=2..4"),
        (("entry=1..2",), "--grow entry: no such parameter (did you mean entries?); valid: entries"),
        (("entries=1..2", "entries=2..3"), "--grow entries: given twice; give one range"),
        (("entries=0..2",), "entries=0: must be 1 or more"),
    ],
)
def test_what_cannot_grow_is_refused(
    capsys: pytest.CaptureFixture[str], grow: tuple[str, ...], line: str
) -> None:
    arguments = [part for text in grow for part in ("--grow", text)]
    assert refused(capsys, "invariants", COPIES, "--find", *arguments) == f"fencepost: {line}"


def test_sizes_cannot_be_set_twice(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = "--find", "--set", "entries=2", "--grow", "entries=1..2"
    assert "is also set with --set" in refused(capsys, "invariants", COPIES, *arguments)


def test_sizes_need_the_search(capsys: pytest.CaptureFixture[str]) -> None:
    assert "goes with --find" in refused(capsys, "invariants", COPIES, "--grow", "entries=1..2")


def test_rounds_do_not_go_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--rounds: not with --find" in refused(capsys, "invariants", COPIES, "--find", "--rounds", "2")


def test_what_is_proved_with_all_parameters_raised_is_said() -> None:
    proved, lacking = (
        discovered_text(Discovered(together=("a=2 b=2", names)), None) for names in ((), ("p",))
    )
    assert "All that grows, raised together: a=2 b=2; the properties are proved there too" in proved
    assert "All that grows, raised together: a=2 b=2; not proved: p" in lacking
