"""Liveness on the command line: the loop as text and in each form, exit codes, files, what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import fencepost
from support.commands import said

ROOT = Path(__file__).parents[2]
BIT = ROOT / "examples" / "alternating_bit.py"
WEAK = ("check", BIT, "--set", "receipts=weak", "--property", "value-arrives")

LASSO = """\
  1  sender   send (datum d1)
                sent_bit: 0 → 1
  2  sender   resend
                is_under_way: no → yes; message_bit: 0 → 1
     the loop begins here
  3  network  lose
                is_under_way: yes → no
  4  sender   resend
                is_under_way: no → yes
  5  receiver acknowledge
                ack_is_under_way: no → yes
  6  network  lose ack
                ack_is_under_way: yes → no
Violated: a value that is sent arrives.
value-arrives is owed since step 1. From then on steps 3 to 6 are repeated for ever. Fairness: resend is taken
in step 4; receive is disabled after step 3; acknowledge is taken in step 5; receive ack is taken in step 6,
which has its effect.
False: sent_bit is 1 since step 1; received_bit is 0 from the beginning.

value-arrives: violated: a loop of 4 steps after 2 (fewest in all), with faults lost=2"""


def test_a_loop_is_shown_with_its_fairness(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, *WEAK)
    assert code == 1
    assert LASSO in out


def test_strong_fairness_proves_it(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "check", BIT)
    assert code == 0
    assert "sender-learns: proved: all 112 reachable states were visited" in out
    assert "and no fair loop of them owes it" in out


def test_a_proof_by_solvers_says_what_it_rests_on(capsys: pytest.CaptureFixture[str]) -> None:
    peterson = ROOT / "examples" / "peterson.py"
    code, out, _ = said(capsys, "check", peterson, "--property", "nobody-starves", "--engine", "ic3")
    assert code == 0
    rounds = "nobody-starves: proved: within 6 rounds of fairness of steps; inductive, with "
    loops = "nobody-starves: proved: no loop that owes it is fair to steps; inductive, with "
    assert rounds in out or loops in out


STILL = "violated: it stands still after {} steps (fewest in all)"
VERDICTS = (
    ("corpus/failing_two_phase_commit", "all-decide", "", "proved: every execution ends"),
    ("corpus/failing_two_phase_commit", "all-decide", "coordinator=may_stay_away", STILL.format(4)),
    ("ricart_agrawala", "enters", "nodes=2", "proved: all 20 reachable states"),
    ("ricart_agrawala", "enters", "", STILL.format(5)),
    ("paxos", "value-chosen", "ballots=1", "proved: all 73 reachable states"),
    ("paxos", "value-chosen", "", "proved: all 3,921 reachable states"),
    ("corpus/raft", "stable-leader-commits", "entries=1", "proved: all 17,541 reachable states"),
    ("lock_server", "asker-served", "", "proved: all 80 reachable states"),
    ("corpus/semaphores", "client-served", "", "proved: all 16 reachable states"),
    ("corpus/ticket", "enters", "", "proved: all 179 reachable states"),
    ("corpus/simple_decentralized_lock", "lock-arrives", "", "proved: all 20 reachable states"),
    ("corpus/ewd998", "is-detected", "bounds=stop", "proved: all 19,474 reachable states"),
    ("key_value_store", "all-end", "", "proved: all 5,310 reachable states"),
)
"""Verdicts of the table in docs/liveness.md: file, property, setting, and how the verdict begins."""


@pytest.mark.parametrize(
    ("file", "prop", "setting", "verdict"),
    VERDICTS,
    ids=[f"{prop} {setting}" for _, prop, setting, _ in VERDICTS],
)
def test_the_verdicts_on_the_examples(
    file: str, prop: str, setting: str, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    own = ("--set", setting) if setting else ()
    code, out, _ = said(capsys, "check", ROOT / "examples" / f"{file}.py", "--property", prop, *own)
    assert f"{prop}: {verdict}" in out
    assert code == (0 if verdict.startswith("proved") else 1)


PLANTED = (
    ("ricart_agrawala", "enters", ("nodes=2",), 'fair="strong"', 'fair="weak"'),
    (
        "ricart_agrawala",
        "enters",
        ("nodes=2",),
        'fair="weak") for handler',
        'fair="weak" if handler is enter else None) for handler',
    ),
    ("paxos", "value-chosen", ("ballots=1",), 's.acceptor, s.ballot, fair="weak")', "s.acceptor, s.ballot)"),
    (
        "corpus/raft",
        "stable-leader-commits",
        ("servers=2", "entries=1"),
        'each(store, s, *of_server, s.index, fair="weak")',
        "each(store, s, *of_server, s.index)",
    ),
    (
        "corpus/raft",
        "stable-leader-commits",
        ("servers=2", "entries=1"),
        'each(commit, s, *of_server, s.index, fair="weak")',
        "each(commit, s, *of_server, s.index)",
    ),
    ("lock_server", "asker-served", (), 'grant, s, s.node, fair="strong"', 'grant, s, s.node, fair="weak"'),
    ("corpus/semaphores", "client-served", (), "strong, any by client", "weak, any by client"),
    ("corpus/ticket", "enters", (), 'each(leave, s, s.thread, fair="weak")', "each(leave, s, s.thread)"),
    ("corpus/simple_decentralized_lock", "lock-arrives", (), 'fair="strong"', 'fair="weak"'),
    ("corpus/ewd998", "is-detected", ("bounds=stop",), "s.other, fair=SYSTEM)", "s.other)"),
    (
        "key_value_store",
        "all-end",
        (),
        "close_transaction, s, s.tx, fair=STEPS)",
        "close_transaction, s, s.tx)",
    ),
)
"""Fairness that a property of an example needs: the text of the file, and the text without it."""


@pytest.mark.parametrize(
    ("file", "prop", "settings", "text", "without"),
    PLANTED,
    ids=[
        "replies",
        "leaving",
        "promises",
        "storing",
        "committing",
        "grant",
        "connect",
        "leave",
        "send",
        "token",
        "close",
    ],
)
def test_each_fairness_of_an_example_is_needed(
    file: str,
    prop: str,
    settings: tuple[str, ...],
    text: str,
    without: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    written = (ROOT / "examples" / f"{file}.py").read_text()
    assert written.count(text) == 1
    own = tmp_path / "own.py"
    for beside in ("snapshot_isolation", "corpus/async_termination"):
        shutil.copy(ROOT / "examples" / f"{beside}.py", tmp_path)
    asked = ("check", own, "--property", prop, *(word for one in settings for word in ("--set", one)))
    own.write_text(written)
    assert said(capsys, *asked)[0] == 0
    own.write_text(written.replace(text, without))
    assert said(capsys, *asked)[0] == 1


def test_standing_still_is_a_loop(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "check", ROOT / "examples" / "dekker.py", "--set", "both=insist")
    assert code == 1
    assert "nothing more happens" in out
    assert "nobody-starves: violated: it stands still after 2 steps (fewest in all), without any fault" in out
    assert "After that nothing more happens. Fairness: steps(1) is disabled in the\nwhole loop" in out


def test_the_trace_in_a_file_replays_with_its_loop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, *WEAK, "--traces", tmp_path)
    (file,) = tmp_path.glob("*.json")
    code, out, _ = said(capsys, "export", file, "--protocol", BIT)
    assert code == 0
    assert "the loop begins here" in out
    saved = json.loads(file.read_text())
    assert (saved["loop"]["begins"], saved["loop"]["owed"]) == (2, 1)
    assert saved["loop"]["fair"][0] == {"name": "resend", "how": "taken in step 4"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"begins": 1}, "the loop that begins after step 1 does not end where it begins"),
        ({"owed": 0}, "loop: the file says"),
        ({"fair": []}, "loop: the file says"),
    ],
)
def test_a_forged_loop_does_not_replay(
    change: dict[str, object], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, *WEAK, "--traces", tmp_path)
    (file,) = tmp_path.glob("*.json")
    saved = json.loads(file.read_text())
    file.write_text(json.dumps({**saved, "loop": {**saved["loop"], **change}}))
    code, out, _ = said(capsys, "export", file, "--protocol", BIT)
    assert code == 1
    assert reason in out
    del saved["loop"]
    file.write_text(json.dumps(saved))
    code, out, _ = said(capsys, "export", file, "--protocol", BIT)
    assert (code, "loop: is missing" in out) == (1, True)


def test_each_form_shows_where_the_loop_begins(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = said(capsys, *WEAK, "--format", "itf")
    assert json.loads(out)["loop"] == 2
    _, out, _ = said(capsys, *WEAK, "--format", "mermaid")
    assert "The loop begins here." in out
    _, out, _ = said(capsys, *WEAK, "--format", "html")
    assert "steps 3 to 6 are repeated for ever" in out


def test_json_has_the_loop_and_the_basis(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = said(capsys, *WEAK, "--format", "json")
    (result,) = json.loads(out)["results"]
    assert result["trace"]["loop"]["begins"] == 2
    assert result["live"] == {
        "by": "loops",
        "rounds": None,
        "fair": ["resend", "receive", "acknowledge", "receive ack"],
        "excused": [],
    }
    assert (result["steps"], result["fewest"]) == (6, "of-all")


def test_python_has_the_same() -> None:
    checked = fencepost.check(BIT, settings={"receipts": "weak"}, properties="value-arrives")
    found = checked["value-arrives"]
    assert (found.verdict, found.steps) == ("violated", 6)
    assert "the loop begins here" in found.trace.text()


FILE = """\
from fencepost.encoding.language import *

class State(StateSpace):
    def __init__(self):
        self.x = variable(integers(0, 2))

def up(s):
    return Action(when=s.x == 0, then=[s.x.set(1)], actor="a")

def build(p):
    s = State()
    return System(s, (each(up, s{fair}),), (
        leads_to("rises", "it rises", s.x == {start}, s.x == 1),
    ))

from dataclasses import dataclass
@dataclass(frozen=True)
class Parameters:
    pass

PROTOCOL = Protocol("own", "a file of a test", Parameters(), build)
"""


def own(folder: Path, fair: str, start: int = 0) -> Path:
    file = folder / "own.py"
    file.write_text(FILE.format(fair=fair, start=start))
    return file


def test_a_system_without_fairness_has_a_remark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "check", own(tmp_path, ""))
    assert code == 1
    assert "remark: rises: no action is fair, so an execution may stand still wherever this is owed" in out
    assert "rises: violated: it never moves (fewest in all), without any fault" in out
    code, out, _ = said(capsys, "check", own(tmp_path, ', fair="weak"'))
    assert (code, "remark" in out) == (0, False)


def test_what_is_never_owed_is_vacuous(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "check", own(tmp_path, ', fair="weak"', start=2))
    assert code == 3
    assert "rises: vacuous: nothing was tested; never reached: a state from which it is owed" in out


def test_a_wrong_fairness_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, "check", own(tmp_path, ', fair="often"'))
    assert code == 2
    assert 'up: fair=\'often\'; valid: "weak", "strong"' in err
    assert err.count("\n") == 1


def test_a_bound_decides_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "check", own(tmp_path, ', fair="weak"'), "--bound", "5")
    assert code == 3
    assert "rises: undecided: a bound on steps says nothing about what comes about in the end" in out


@pytest.mark.parametrize("command", (("check", "--engine=simulation"), ("invariants",)))
def test_other_commands_refuse_it(command: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, *command, BIT, "--property", "value-arrives")
    assert code == 2
    assert "value-arrives: is about liveness, and this command takes none; valid: right-value" in err


LAMP = '''
from dataclasses import dataclass

from fencepost.encoding.language import (
    BOOL, Action, Protocol, StateSpace, System, each, eventually_always, integers, parameter, variable,
)


@dataclass(frozen=True)
class Parameters:
    uses: int = parameter(2, "uses")


class Lamp(StateSpace):
    def __init__(self, p):
        self.is_on = variable(BOOL)
        self.is_blown = variable(BOOL)


def flip(s):
    """Switch the lamp."""
    return Action(when=~s.is_blown, then=[s.is_on.set(~s.is_on)], actor="user")


def blow(s):
    """Blow the fuse."""
    return Action(when=s.is_on & ~s.is_blown, then=[s.is_on.set(False), s.is_blown.set(True)], actor="fuse")


def build(p):
    s = Lamp(p)
    return System(s, (each(flip, s, fair="weak"), each(blow, s, fair="weak")), (
        eventually_always("dark", "the lamp stays dark from some time on", ~s.is_on),
    ))


PROTOCOL = Protocol("lamp", "A lamp.", Parameters(), build)
'''

LIT = """\
     the loop begins here
  1  user flip
            is_on: no → yes
  2  user flip
            is_on: yes → no
Violated: the lamp stays dark from some time on.
dark is false after step 1. In a loop steps 1 to 2 are repeated for ever. Fairness: flip is taken in step 1;
blow is disabled at first.
False: is_on is yes since step 1.
"""


def test_a_condition_that_must_stay_true_is_false_in_the_loop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Planted: the values are those of the last state, in which the condition is true."""
    file = tmp_path / "lamp.py"
    file.write_text(LAMP)
    for engines in ((), ("--engine", "ic3", "--engine", "rounds")):
        code, out, _ = said(capsys, "check", file, *engines, "--traces", tmp_path / "found")
        assert (code, LIT in out) == (1, True), out
    assert said(capsys, "export", tmp_path / "found" / "lamp.dark.json", "--protocol", file)[0] == 0
    file.write_text(LAMP.replace('blow, s, fair="weak"', 'blow, s, fair="strong"'))
    folder = tmp_path / "certificate"
    code, out, _ = said(capsys, "check", file, "--engine", "ic3", "--certificates", folder)
    assert (code, "dark: proved: within " in out or "dark: proved: no loop" in out) == (0, True), out
    assert said(capsys, "certify", folder, "--protocol", file)[0] == 0
    forged = file.read_text().replace('fair="strong"', 'fair="weak"')
    file.write_text(forged)
    assert said(capsys, "certify", folder, "--protocol", file)[0] != 0


def test_it_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = said(capsys, "protocols", BIT)
    assert "value-arrives: a value that is sent arrives" in out


def test_a_proof_has_a_certificate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, file = tmp_path / "certificate", own(tmp_path, ', fair="weak"')
    code, out, _ = said(capsys, "check", file, "--certificates", folder)
    assert code == 0
    assert f"certificate: {folder}" in out
    code, out, _ = said(capsys, "certify", folder, "--protocol", file)
    assert code == 0
    assert "rises: certified: every execution ends, and no fair one in a state that owes it; proved by" in out
    _, out, _ = said(capsys, "certify", folder, "--protocol", file, "--format", "json")
    (claim,) = json.loads(out)["liveness"]
    assert (claim["by"], claim["rounds"], claim["claim"]["property"]) == ("ends", None, "rises")
    assert [part["part"] for part in json.loads(out)["parts"]] == [
        f"live-rises/{part}" for part in claim["parts"]
    ]


def test_a_proof_by_the_states_is_followed_by_one_with_a_certificate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The states of Peterson's algorithm are few, so without the option they are the proof."""
    peterson = ROOT / "examples" / "peterson.py"
    asked = ("check", peterson, "--property", "nobody-starves", "--certificates")
    code, out, _ = said(capsys, *asked, tmp_path / "made")
    assert (code, "clauses that were found" in out) == (0, True)
    code, out, _ = said(capsys, "certify", tmp_path / "made", "--protocol", peterson)
    assert (code, "nobody-starves: certified: " in out) == (0, True)
    code, _, err = said(capsys, *asked, tmp_path / "none", "--engine", "enumeration")
    gives_none = "the engine enumeration gives none; --engine ic3 looks for a proof that has one"
    assert (code, gives_none in err) == (3, True)


def test_a_violation_has_no_certificate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, *WEAK, "--certificates", tmp_path / "made")
    assert code == 1
    assert "no certificate for value-arrives: violated" in err
    assert not (tmp_path / "made").exists()


def test_an_expectation_of_a_loop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from fencepost.cli.cases import Unmet, check_run
    from fencepost.properties.expectations import read

    cases = tmp_path / "own.cases.toml"
    row = f'[[case]]\nprotocol = "{BIT}"\nset = {{receipts = "weak"}}\n'
    cases.write_text(row + "expect = {value-arrives = 6, sender-learns = 6, right-value = 'proved'}\n")
    for expectation in read(cases):
        (run,) = expectation.runs()
        check_run(run).must_be(run.verdict.value, run.steps)
    cases.write_text(row + "expect = {value-arrives = 5}\n")
    (expectation,) = read(cases)
    (run,) = expectation.runs()
    with pytest.raises(Unmet, match="expected 5 steps, found 6"):
        check_run(run).must_be(run.verdict.value, run.steps)
