"""`--drop-declared`: no verdict, certificate or row uses a declared invariant, and all of them say so."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fencepost.cli.main import run
from fencepost.cli.rendering.sweep_matrices import USUAL
from fencepost.encoding.engine.verdicts import Basis
from fencepost.encoding.language.protocol import load
from fencepost.sweeps.grid import Plan
from fencepost.sweeps.rows import asked, case_of, found
from fencepost.sweeps.solve import Allowance, decide, instance
from fencepost.sweeps.sweep_cases import SweepCase, together
from support.refusing import refused

COMMIT = Path(__file__).parents[2] / "examples" / "two_phase_commit.py"


PROVING = "--engine=induction", "--engine=ic3"


def checked(capsys: pytest.CaptureFixture[str], *options: str) -> Any:
    """Return the document of a check."""
    assert run(["check", str(COMMIT), "--property=consistent", "--format=json", *PROVING, *options]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_check_uses_the_declared_invariants_or_none(capsys: pytest.CaptureFixture[str]) -> None:
    """Planted: a worker that takes the invariants of the protocol and not those of the instance."""
    document = checked(capsys)
    (result,) = document["results"]
    assert (document["drop_declared"], result["basis"]) == (False, "induction")
    assert result["invariants"]
    document = checked(capsys, "--drop-declared")
    (result,) = document["results"]
    assert (document["drop_declared"], result["basis"], result["invariants"]) == (True, "induction", [])
    run(["check", str(COMMIT), "--property=consistent", "--drop-declared"])
    assert (
        "\nwithout the invariants that the protocol declares (--drop-declared)\n" in capsys.readouterr().out
    )


def test_its_certificate_says_so_and_stands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "made"
    checked(capsys, "--drop-declared", f"--certificates={folder}")
    assert json.loads((folder / "manifest.json").read_text())["drop_declared"] is True
    assert run(["certify", str(folder), "--protocol", str(COMMIT)]) == 0
    assert "without the invariants that the protocol declares" in capsys.readouterr().out


def test_invariants_are_examined_without_the_declared_ones(capsys: pytest.CaptureFixture[str]) -> None:
    asked_for = ("invariants", COMMIT, "--drop-declared")
    assert "its invariants are hidden; say which property to start from" in refused(capsys, *asked_for)
    assert run([*map(str, asked_for), "--property=consistent", "--rounds=1"]) == 3
    out = capsys.readouterr().out
    assert "breaks it" in out
    assert not [i.name for i in load(COMMIT).instance().system.invariants if i.name in out]


# Sweeps.


@pytest.fixture(name="case")
def fixture_case() -> SweepCase:
    subject = load(COMMIT).instance().subject
    settings = {**subject.parameters, **subject.switches}
    texts = tuple((name, str(value)) for name, value in settings.items())
    return SweepCase(subject.protocol, texts, "consistent", system=subject.system)


def test_rows_with_and_without_are_rows_of_two_cases(case: SweepCase) -> None:
    """Planted: an id without the flag. A sweep with it would then go on from rows without it."""
    (hidden,) = Plan((case,), 0, 0, 0).without_declared().cases
    assert hidden == replace(case, drop_declared=True)
    assert hidden.identify("1") != case.identify("1")
    assert together([case, hidden]) == [(case,), (hidden,)], "they share no proof"
    for one in (case, hidden):
        assert case_of(asked(one, "1")) == one
    assert USUAL["drop_declared"] is False


def test_a_case_uses_the_declared_invariants_or_none(case: SweepCase) -> None:
    allowance = Allowance(timeout=600, source=COMMIT)
    result = decide(case, allowance)
    assert (result.basis, bool(result.invariants)) == (Basis.INDUCTION, True)
    hidden = replace(case, drop_declared=True)
    assert instance(hidden, COMMIT).system.invariants == ()
    row = found(decide(hidden, allowance))
    assert (row["verdict"], row["invariants"]) == ("proved", [])
