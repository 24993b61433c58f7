"""Exploring by text: an author's questions as scripts, whose answers are compared word for word.

`pytest tests/unit/explore/test_shell.py --refresh-goldens` writes them anew.
"""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from fencepost.cli.main import cli, run
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.errors import BadInput
from fencepost.explore.explorer import Explorer
from fencepost.explore.paths import ExplorerPath
from fencepost.explore.saved_paths import document
from fencepost.explore.shell import Shell, World, talk
from fencepost.explore.solver_questions import SolverDesk
from fencepost.properties.catalogue import find

GOLDEN = Path(__file__).parent / "golden"
TRACE = Path(__file__).parents[3] / "docs" / "traces" / "bookkeeper-4.13.no-divergence.json"

OPEN = f"open {TRACE} 11"
SCRIPTS = {
    "what-can-happen": ["look", "1", "look", "state", "near"],
    "an-entry-acknowledged-and-the-ledger-closed": [
        "reach acked[w, 1, b1] and acked[w, 1, b2] and status == closed",
        "way",
        "state",
    ],
    "why-recovery-cannot-finish": ["1", "why finish recovery(r1, 1)", "reach finish recovery(r1, 1)"],
    "a-message-is-lost": [
        "1",
        "take push(1, 1)",
        "look",
        "lose 1",
        "lose add_lost[w, 1, b2]",
        "why handle add(w, 1, 1, b1)",
        "reach acked[w, 1, b1]",
    ],
    "the-counterexample-mended-by-a-fence": [
        OPEN,
        "take handle fence(r1, b1)",
        "take handle add(w, 1, 1, b1)",
        "look",
        "reach no-divergence",
    ],
    "back-to-step-3-and-another-way": [OPEN, "go 3", "look", "take handle add(w, 1, 1, b1)", "moves"],
    "how-it-can-be-violated-from-here": [OPEN, "reach no-divergence", "way", "invariants"],
    "what-would-be-false": [OPEN, "undo", "look"],
    "undo-and-redo": ["1", "take push(1, 1)", "undo 2", "redo", "redo", "undo", "moves"],
    "values": ["1", "eval status", "eval status == open and phase[w] == active", "eval pushed_in[w, 1] + 1"],
}


@cache
def explorer() -> Explorer:
    return Explorer(find("bookkeeper-4.13").instance())


def output_of(
    *lines: str,
    path: ExplorerPath = ExplorerPath(),  # noqa: B008
    saved: dict[str, str] | None = None,
) -> list[str]:
    """Return the lines that the shell prints for these lines of input."""
    files = saved if saved is not None else {}
    world = World(lambda path, text: files.update({path.name: text}), lambda answer: None)
    shell = Shell(explorer(), SolverDesk(explorer(), Limits()), world, path)
    found: list[str] = []
    talk(shell, lines, found.append, is_script=True)
    return found


SLOW = tuple(name for name, script in SCRIPTS.items() if any(line.startswith("reach") for line in script))
"""The scripts that ask the solver."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in SCRIPTS]
)
def test_answers_are_word_for_word(name: str, request: pytest.FixtureRequest) -> None:
    lines = [line for script in SCRIPTS[name] for line in [f"> {script}", *said_after(name, script)]]
    out = "\n".join(lines).replace(str(TRACE), TRACE.name) + "\n"
    file = GOLDEN / f"{name}.txt"
    if request.config.getoption("--refresh-goldens"):
        file.write_text(out, encoding="utf-8")
    assert out == file.read_text(encoding="utf-8")


@cache
def answers(name: str) -> dict[str, list[str]]:
    world = World(lambda path, text: None, lambda answer: None)
    shell = Shell(explorer(), SolverDesk(explorer(), Limits()), world, ExplorerPath())
    return {line: list(shell.do(line)) for line in SCRIPTS[name]}


def said_after(name: str, line: str) -> list[str]:
    return answers(name)[line]


def test_a_path_is_saved_and_shown_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved: dict[str, str] = {}
    output_of(OPEN, "save path.json", saved=saved)
    file = tmp_path / "path.json"
    file.write_text(saved["path.json"])
    assert json.loads(saved["path.json"])["schema"] == "fencepost.path/2"
    assert run(["trace", str(file)]) == 0
    assert "path of 11 steps of bookkeeper-4.13, replayed" in capsys.readouterr().out
    assert output_of(f"open {file}")[0].startswith("after 11 moves (step 11)")
    forged = saved["path.json"].replace('"stored[b3, 1]": 1', '"stored[b3, 1]": 0')
    assert forged != saved["path.json"]
    file.write_text(forged)
    assert run(["trace", str(file)]) == 1


def test_what_violates_a_property_is_saved_as_a_trace(tmp_path: Path) -> None:
    saved: dict[str, str] = {}
    assert output_of(f"open {TRACE}", "save trace.json", saved=saved)[1] == (
        "trace.json: a trace that violates no-divergence, 17 steps"
    )
    ours, theirs = json.loads(saved["trace.json"]), json.loads(TRACE.read_text())
    assert all(ours[key] == theirs[key] for key in ("schema", "property", "faults", "initial", "steps"))
    file = tmp_path / "trace.json"
    file.write_text(saved["trace.json"])
    assert run(["trace", str(file)]) == 0


def test_losses_come_after_what_sent_them() -> None:
    explore = explorer()
    path = explore.names.path(
        ["create ledger", "push(1, 1)", "lose add_lost[w, 1, b2]", "handle add(w, 1, 1, b1)"]
    )
    here = explore.at(path)
    kept = document(here)
    assert kept["faults"] == {"lost": 1}
    from fencepost.explore.saved_paths import opened

    again = opened(explore, kept, "it", 2)
    assert again.moves == path.moves and again.at == 3, "step 2, with the loss of what it sent"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("dance", "dance: no such command; valid: look, take"),
        ("take", "take: take needs N|ACTION"),
        ("look around", "look around: look takes nothing after it"),
        ("2", "2: no such action is possible; valid: 1 to 1"),
        ("take push(1,2)", "push(1,2): no such action; valid: push(1, 1)"),
        ("take push(1, 1)", "move 1, push(1, 1): not possible here; not true: phase[w] == active"),
        ("lose 1", "1: no such message is under way; valid: none here"),
        ("lose nothing", "nothing: no such message to lose; valid:"),
        ("go 3", "3: the path has no such position; valid: 0 to 0"),
        ("undo x", "x: is no number; give one"),
        ("reach status", "status: is neither true nor false; compare it"),
        ("reach add_lost[w, 1, b1]", "add_lost[w, 1, b1] is a choice; a property"),
        ("eval nothing", "nothing: no such variable; fencepost explore PROTOCOL lists them"),
        ("way", "way: no moves were found; ask with `reach` first"),
        ("open /nowhere", "/nowhere: cannot be read"),
    ],
)
def test_what_cannot_be_done_is_one_line(line: str, says: str) -> None:
    with pytest.raises(BadInput) as error:
        output_of("# a remark, and an empty line", "", line)
    assert str(error.value).startswith(f"line 3: {says}"), error.value
    assert "\n" not in str(error.value)


def test_a_message_that_arrived_cannot_be_lost_afterwards() -> None:
    with pytest.raises(BadInput, match=r"step 3, handle add\(w, 1, 1, b1\), would differ with this loss"):
        output_of("1", "take push(1, 1)", "take handle add(w, 1, 1, b1)", "lose add_lost[w, 1, b1]")


def test_on_a_terminal_a_wrong_line_ends_nothing() -> None:
    world = World(lambda path, text: None, lambda answer: None)
    shell = Shell(explorer(), SolverDesk(explorer(), Limits()), world, ExplorerPath())
    found: list[str] = []
    talk(shell, ["dance", "1", "quit", "dance"], found.append, is_script=False)
    assert found[0].startswith("! dance: no such command") and found[1].startswith("1. w create ledger")
    assert not any("dance" in line for line in found[1:])


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["nothing", "--text"], 2, "nothing: no such protocol"),
        (["bookkeeper-4.13", "--text", "--step", "3"], 2, "--step 3: only with --trace"),
        (["bookkeeper", "--text", "--trace", str(TRACE)], 2, "is of bookkeeper-4.13, not of bookkeeper"),
        (["bookkeeper-4.13", "--text", "--trace", str(TRACE), "--step", "18"], 2, "valid: 0 to 17"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explore", *arguments]) == code
    error = capsys.readouterr().err
    assert says in error and error.count("\n") == 1


def test_the_settings_are_those_of_the_trace_unless_given() -> None:
    changed = ["explore", "bookkeeper-4.13", "--text", "--trace", str(TRACE), "--step", "11"]
    result = CliRunner().invoke(cli, changed, input="take handle add(w, 1, 1, b1)\n")
    assert "stored[b1, 1]: 0 → 1" in result.output, result
    mended = CliRunner().invoke(
        cli, [*changed, "--set", "recovery_reads_fence=yes"], input="take handle add(w, 1, 1, b1)\n"
    )
    assert "stored[b1, 1]" not in mended.output and "add_refused[w, 1, 1, b1]: no → yes" in mended.output


@pytest.mark.slow
def test_on_a_terminal_ctrl_c_ends_a_question_and_then_the_command(tmp_path: Path) -> None:
    """The command is two processes, and the one that reads stands in the foreground."""
    process, terminal = pty.fork()
    if process == 0:
        os.environ["FENCEPOST_CACHE"] = str(tmp_path)
        os.execv(sys.executable, [sys.executable, "-m", "fencepost.cli", "explore", "bookkeeper", "--text"])
    try:
        assert "ends it" in read_until(terminal, "> ")
        os.write(terminal, b"1\n")
        assert "1. w create ledger" in read_until(terminal, "\n> ")
        os.write(terminal, b"reach no-divergence\n")
        read_until(terminal, "building", "commutation", "round")
        os.write(terminal, b"\x03")
        assert "no-divergence becomes false: undecided: interrupted" in read_until(terminal, "\n> ")
        assert exit_code_after_ctrl_c(process, terminal) == 130
    finally:
        os.close(terminal)
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(process, signal.SIGKILL)


def exit_code_after_ctrl_c(process: int, terminal: int) -> int:
    """Return the exit code of a process after Ctrl-C, pressed again each second until it has ended."""
    for _ in range(60):
        os.write(terminal, b"\x03")
        for _ in range(10):
            time.sleep(0.1)
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
    raise AssertionError("the command goes on after Ctrl-C")


def read_until(terminal: int, *ends: str) -> str:
    """Return the output of a terminal up to the first of these ends."""
    found = ""
    while not any(end in found for end in ends):
        assert select.select([terminal], [], [], 60)[0], found
        found += os.read(terminal, 4096).decode(errors="replace").replace("\r", "")
    return found
