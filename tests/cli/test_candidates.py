"""`fencepost invariants --candidates`: what is read off the actions, for an author who pastes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fencepost.cli.main import run
from support.refusing import refused

EXAMPLES = Path(__file__).parents[2] / "examples"
COPIES = EXAMPLES / "two_copies.py"
FENCE = "--set=fence=yes"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    """Return the exit code and the output of `invariants --candidates`."""
    code = run(["invariants", *map(str, arguments), "--candidates"])
    told = capsys.readouterr()
    assert told.err == ""
    return code, told.out


def test_the_candidates_are_printed_with_what_they_prove(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = printed(capsys, COPIES, FENCE)
    assert code == 0
    assert "read off the actions: 13 candidates, 13 true in all simulated states, 13 inductive\n" in out
    assert "nothing-lost: kept by every action, with handled-needs-stored, " in out
    head = 'Invariant(\n    "answered-needs-handled",\n    "answered[n, c] needs handled[n, c]",\n'
    assert head + "    forall_over((s.entry, s.copy), lambda n, c: " in out


def test_what_is_printed_can_be_pasted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file with the printed invariants is proved by induction at another size."""
    _, out = printed(capsys, COPIES, FENCE)
    pasted = out[out.index("Invariant(") :]
    text = COPIES.read_text(encoding="utf-8")
    text = text.replace("    Action,\n", "    Action,\n    Invariant,\n    forall_over,\n", 1)
    text = text.replace("(nothing_lost(s),), caps)", f"(nothing_lost(s),), caps, invariants=(\n{pasted}))")
    path = tmp_path / "two_copies.py"
    path.write_text(text, encoding="utf-8")
    assert run(["check", str(path), FENCE, "--set=entries=6", "--engine=induction"]) == 0
    assert "proved: by induction over one action" in capsys.readouterr().out


def test_a_property_that_they_do_not_prove_is_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = printed(capsys, EXAMPLES / "one_owner.py", "--drop-declared")
    assert code == 3
    assert "one-server: not inductive: open topic(b1) breaks it\n" in out
    assert '"servers-own"' not in out
    assert '"serves-needs-owns"' in out


def test_declared_invariants_are_kept_and_used(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = printed(capsys, EXAMPLES / "one_owner.py")
    assert code == 0
    assert "one-server: kept by every action, with " in out
    assert "one-owner" in out


def test_an_action_that_may_be_badly_defined_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """What is read off does not say that the list of ledgers has room."""
    code, out = printed(capsys, "ledger-chain", "--set=clients=2", "--set=ledgers=1", "--drop-declared")
    assert code == 3
    wrong = "not inductive: append ledger(c1, 1) may set a variable twice or outside its domain"
    assert f"well-defined: {wrong}, so nothing is proved\n" in out


def test_rounds_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(capsys, "invariants", COPIES, "--candidates", "--rounds", "3")
    assert "--rounds 3: --candidates searches no rounds; leave one of them out" in line
