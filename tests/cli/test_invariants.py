"""`fencepost invariants`: its output for an author who looks for the invariants that a proof needs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fencepost.cli.main import run
from support.refusing import refused

OWNER = Path(__file__).parents[2] / "examples/one_owner.py"


def without(folder: Path, name: str) -> Path:
    """Return the path of the example without that invariant."""
    text = OWNER.read_text(encoding="utf-8")
    (found,) = re.findall(
        rf'        Invariant\(\n            name="{name}",.*?\n        \),\n', text, re.DOTALL
    )
    path = folder / "one_owner.py"
    path.write_text(text.replace(found, ""), encoding="utf-8")
    return path


def said(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, list[str]]:
    """Return the exit code, and the lines of output after the heading."""
    code = run(["invariants", *map(str, arguments)])
    told = capsys.readouterr()
    assert told.err == ""
    return code, told.out.splitlines()[1:]


def test_what_is_inductive_is_kept_by_every_action(capsys: pytest.CaptureFixture[str]) -> None:
    names = ("servers-own", "one-owner", "one-server")
    assert said(capsys, OWNER) == (0, [f"{name}: kept by every action" for name in names])


def test_an_invariant_that_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The output shows the smallest state from which an action breaks the property.

    The state is unreachable, and the missing invariant must exclude it.
    """
    assert said(capsys, without(tmp_path, "servers-own")) == (
        3,
        [
            "one-owner: kept by every action",
            "one-server: open topic(b1) breaks it, from a state in which all else holds and",
            "  owns[b1] = yes, serves[b2] = yes",
            "  then serves[b1]: no → yes",
            "  not false within 4 rounds: an invariant is missing, or more rounds are needed",
        ],
    )


def test_the_rounds_that_are_asked_can_be_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = without(tmp_path, "servers-own")
    assert said(capsys, path, "--rounds", "2")[1][-1].startswith("  not false within 2 rounds")


def test_a_candidate_that_is_false_is_refuted_by_a_simulation(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = said(capsys, OWNER, "--set", "release=at-once")
    assert code == 1
    first = next(n for n, line in enumerate(lines) if line.startswith("servers-own: "))
    assert lines[first] == "servers-own: false after 3 steps:"
    assert lines[first + 1] == "  1  b1 acquire"


def test_rounds_refute_what_no_simulation_refutes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from fencepost.encoding.induction import directed_simulation

    monkeypatch.setattr(directed_simulation, "SIMULATIONS", 0)
    code, lines = said(capsys, OWNER, "--set", "release=at-once")
    assert code == 1
    first = lines.index("servers-own: release(b1) breaks it, from a state in which all else holds and")
    assert lines[first + 1] == "  owns[b1] = yes, serves[b1] = yes"
    assert lines[first + 2] == "  then owns[b1]: yes → no"
    assert lines[first + 3] == "servers-own: false after 3 steps:"


def test_a_known_bug_breaks_the_invariant_that_stands_for_its_rule(
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings = [f"--set={name}=2" for name in ("bookies", "ensemble", "write_quorum")]
    bug = "--set=recovery_reads_fence=no"
    code, lines = said(capsys, "bookkeeper", *settings, bug, "--property=no-divergence", "--rounds=1")
    assert code == 1
    assert any(line.startswith("reading-fences: false after ") for line in lines)


def test_without_invariants_a_property_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    copies = OWNER.with_name("two_copies.py")
    assert "declares no invariants; say which property to start from" in refused(capsys, "invariants", copies)
    code, lines = said(capsys, copies, "--property", "nothing-lost")
    assert code == 1
    assert any(line.startswith("nothing-lost: false after ") for line in lines)
