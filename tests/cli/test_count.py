"""`fencepost check --engine states`: states, actions and witnesses, with symmetry and without."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fencepost.cli.main import run
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.language.protocol import load
from support.exploration import explore
from support.processes import begun, supervised
from support.refusing import refused

EXAMPLES = Path(__file__).parents[2] / "examples"
COMMIT = str(EXAMPLES / "two_phase_commit.py")
STATES = ("--engine", "states")


def counted(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    """Return the document that the count prints."""
    assert run(["check", *arguments, *STATES, "--format", "json"]) == code
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_the_numbers_are_those_of_exploring(capsys: pytest.CaptureFixture[str]) -> None:
    protocol = load(Path(COMMIT))
    system = protocol.instance().system
    concrete, visits = Concrete(system), list(explore(system))
    fired = {schema.name: 0 for schema in system.schemas}
    for visit in visits:
        for step in concrete.steps:
            fired[step.action.schema.name] += sum(1 for _ in step.successors(visit.state))
    holds = {prop.name: concrete.predicate(prop.witness) for prop in system.properties}
    found = counted(capsys, COMMIT)
    assert (found["states"], found["complete"], found["orbits"]) == (len(visits), True, None)
    assert found["steps"] == visits[-1].steps
    assert found["fired"] == fired
    assert found["witnesses"] == {n: sum(h(v.state) for v in visits) for n, h in holds.items()}


@pytest.mark.slow
def test_paxos_has_as_many_states_as_its_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    """The number is that of the sets of messages of the specification, written in TLA+."""
    assert counted(capsys, str(EXAMPLES / "paxos.py"))["states"] == 3921
    page = (EXAMPLES.parent / "docs" / "from-tla.md").read_text(encoding="utf-8")
    assert "it counts 3,921 states" in page


def up_to_participants(protocol: Path, participants: int) -> int:
    """Return the number of states if the participants have no names: each only has a row of values."""
    chosen = load(protocol)
    system = chosen.system(chosen.parameters([("participants", str(participants))]))
    own = [[v.place for v in system.variables if v.index == (f"p{n}",)] for n in range(1, participants + 1)]
    assert all(own)
    other = [v.place for v in system.variables if not v.index]
    return len(
        {
            (tuple(s[p] for p in other), tuple(sorted(tuple(s[p] for p in places) for places in own)))
            for s in (visit.state for visit in explore(system))
        }
    )


@pytest.mark.parametrize(
    ("protocol", "setting"),
    [
        (COMMIT, "participants=4"),
        (str(EXAMPLES / "lock_server.py"), "nodes=5"),
        ("ledger-chain", "ledgers=1"),
    ],
)
def test_symmetry_changes_no_number(protocol: str, setting: str, capsys: pytest.CaptureFixture[str]) -> None:
    plain = counted(capsys, protocol, "--set", setting)
    symmetric = counted(capsys, protocol, "--set", setting, "--symmetry")
    assert all(plain[key] == symmetric[key] for key in ("states", "steps", "fired", "witnesses"))
    assert symmetric["orbits"] < symmetric["states"] <= symmetric["orbits"] * symmetric["symmetries"]


def test_the_states_up_to_symmetry_are_those_without_names(capsys: pytest.CaptureFixture[str]) -> None:
    found = counted(capsys, COMMIT, "--set", "participants=4", "--symmetry")
    assert found["orbits"] == up_to_participants(Path(COMMIT), 4)


def test_the_text_has_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", COMMIT, *STATES, "--symmetry"]) == 0
    out = capsys.readouterr().out
    assert "80 states up to symmetry (6 renamings), 288 states in all within 10 steps; all that" in out
    assert "decide commit    1\n" in out and "abort-is-final  27\n" in out


def test_what_is_cut_short_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    found = counted(capsys, COMMIT, "--timeout", "1", "--set", "participants=9", code=3)
    assert not found["complete"]
    assert "time-out after 1 s" in found["reason"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--engine", "rounds"), "--engine states: is asked alone; leave the other engines out"),
        (("--expect", "proved"), "--expect: not with --engine states; leave it out"),
        (("--certificates", "made"), "--certificates: not with --engine states; leave it out"),
        (("--format", "html"), "--format html: --engine states finds none; valid: text, json"),
    ],
)
def test_a_count_gives_no_verdict_so_what_asks_for_one_is_refused(
    options: Sequence[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Planted: a count takes `--expect proved`, and exits with 0."""
    assert says in refused(capsys, "check", COMMIT, *STATES, *options)


def test_an_interrupt_keeps_what_is_known(tmp_path: Path) -> None:
    process = supervised(
        "check", COMMIT, *STATES, "--set", "participants=9", "--format=json", folder=tmp_path
    )
    begun(process)
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=600)
    document = json.loads(out)
    assert process.returncode == 130
    assert (document["interrupted"], document["reason"], document["complete"]) == (True, "interrupted", False)
