"""`fencepost follow`: its answers, exit codes and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import Command

EXAMPLES = Path(__file__).parents[2] / "examples"
LOGS = EXAMPLES / "logs"
TWO = ("follow", str(EXAMPLES / "two_phase_commit.py"), "--set", "participants=2")
GOOD = tuple(str(LOGS / name) for name in ("p1.log", "p2.log", "coordinator.log"))
BAD = (str(LOGS / "exchanged" / "p1.log"), *GOOD[1:])


def test_an_execution_is_shown_with_its_lines(fencepost: Command) -> None:
    code, out, _ = fencepost(*TWO, *GOOD, "--property", "consistent")
    assert code == 0
    assert "an execution: 6 steps, of which 0 left no line; replayed on plain values" in out
    assert "6  p1           commit(p1)     p1.log:2" in out
    assert "consistent: impossible: no execution that fits violates it" in out


def test_a_contradiction_is_shown_with_what_mends_it(fencepost: Command) -> None:
    code, out, _ = fencepost(*TWO, *BAD)
    assert code == 1
    assert "These lines contradict each other:\n  p1.log:1 commit" in out
    assert out.endswith("p1.log:1: exchanged with the next line there is an execution\n")


def test_json_has_a_path_that_replays(fencepost: Command, tmp_path: Path) -> None:
    code, out, _ = fencepost(*TWO, *GOOD, "--format", "json")
    document = json.loads(out)
    assert (code, document["fit"], document["contradiction"]) == (0, "execution", [])
    assert document["execution"]["lines"][-1] == "p1.log:2"
    (tmp_path / "path.json").write_text(json.dumps(document["execution"]["path"]))
    assert fencepost("export", str(tmp_path / "path.json"), "--protocol", TWO[1])[0] == 0


def test_a_violation_that_is_possible_has_exit_code_1(fencepost: Command, tmp_path: Path) -> None:
    (tmp_path / "all.log").write_text('{"action": "commit", "arguments": {"participant": "p1"}}\n')
    asked = ("--set", "votes=majority", "--set", "participants=3", "--property", "consistent")
    code, out, _ = fencepost("follow", TWO[1], *asked, str(tmp_path / "all.log"))
    assert code == 1
    assert "consistent: possible: some executions that fit violate it, and others do not" in out


OWN = tuple(str(LOGS / "bookkeeper" / f"{name}.log") for name in ("broker-0", "broker-4", "bookie-1"))


@pytest.mark.slow
def test_logs_of_brokers_and_bookies_are_answered_by_ledger(fencepost: Command, tmp_path: Path) -> None:
    code, out, _ = fencepost("follow", "bookkeeper", *OWN, "--release", "4.17.4")
    assert code == 1
    assert "ledger 21347 (6 lines)\n  a recovery by broker-0 ended the ledger at entry 0" in out
    assert "entry 1 lost if acknowledged, which is unknown" in out and "fits #2614" not in out
    assert "two owners wrote: with 1/1/1 on 2 bookies no execution has a writer that changes" in out
    (tmp_path / "acked").write_text("[21347, 0]\n")
    code, out, _ = fencepost("follow", "bookkeeper", *OWN[:1], "--acked", str(tmp_path / "acked"))
    assert code == 0 and out.startswith("ledger 21347 (1 line)\n  nothing contradicts the protocol\n")


@pytest.mark.parametrize(("option", "given"), [("--property", "no-divergence"), ("--silent", "push")])
def test_options_of_events_are_refused_for_bookkeepers_own_log(
    fencepost: Command, option: str, given: str
) -> None:
    code, _, err = fencepost("follow", "bookkeeper", *OWN, option, given)
    assert code == 2 and f"{option}: not with a log whose lines are no events; leave it out" in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nowhere.log",), "nowhere.log: cannot be read"),
        ((*GOOD, "--silent", "dance"), "dance: no such action"),
        ((*GOOD, "--names", "nowhere.toml"), "nowhere.toml: cannot be read"),
        ((*GOOD, "--acked", "nowhere"), "--acked: is for logs of BookKeeper's clients and bookies"),
        ((*GOOD, "--reader", "nowhere.py"), "nowhere.py: cannot be read"),
        ((*GOOD, "--property", "nothing"), "nothing"),
    ],
    ids=str,
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], says: str, fencepost: Command) -> None:
    code, out, err = fencepost(*TWO, *arguments)
    assert (code, out) == (2, "") and says in err and err.count("\n") == 1


def test_lines_that_name_no_action_are_counted_and_listed(fencepost: Command, tmp_path: Path) -> None:
    (tmp_path / "p1.log").write_text('{"action": "noise"}\n' + (LOGS / "p1.log").read_text())
    asked = (*TWO, str(tmp_path / "p1.log"), *GOOD[1:])
    assert "1 line named no action; --format json lists them" in fencepost(*asked)[1]
    assert json.loads(fencepost(*asked, "--format", "json")[1])["unread"] == ["p1.log:1"]
