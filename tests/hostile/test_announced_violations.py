"""A violation that a command has announced on stderr is never lost, however its process ends."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fencepost.cli.main import run
from fencepost.cli.process.conclusion import Conclusion, conclude
from fencepost.encoding.check import check
from fencepost.encoding.engine.verdicts import Outcome
from fencepost.encoding.errors import BadInput, InternalError
from support.instances import TWO_BOOKIES
from support.processes import awaited, children, gone, supervised, time_is_up

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")]

EXAMPLE = Path(__file__).parents[2] / "examples" / "lease_lock.py"
SMALL = tuple(f"--set={name}={value}" for name, value in TWO_BOOKIES.items())
LONG = ("check", "bookkeeper-4.13", *SMALL, "--set=entries=3", "--property=no-divergence", "--engine=rounds")
"""A violation within seconds, and then hours until no longer execution is left."""

PROGRAM = """
import os, signal, sys, time
from types import SimpleNamespace

signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
from fencepost.cli.rendering import progress
from fencepost.cli.process import supervisor

progress.HELD = 0.0
late, clock = os.environ["LATE"], time.perf_counter
supervisor.time = SimpleNamespace(perf_counter=lambda: clock() + (1e9 if os.path.exists(late) else 0.0))
supervisor.main()
"""
"""A command that announces at once, and a supervisor whose time is over as soon as the file `LATE` exists."""

WAITING = PROGRAM.replace(
    "supervisor.main()",
    """
announce = progress.CheckProgress._tell_found

def announce_and_wait(shown):
    announce(shown)
    while shown._told:
        time.sleep(60)

progress.CheckProgress._tell_found = announce_and_wait
supervisor.main()
""",
)
"""The same command, with a search that does not go on after it has announced a violation."""


class Stopped:
    """A command whose working process has been stopped since it announced a violation."""

    def __init__(self, folder: Path, *arguments: str, program: str = PROGRAM) -> None:
        self.folder = folder
        environment = {"LATE": str(folder / "late")}
        self.process = supervised(*arguments, folder=folder, environment=environment, program=program)
        assert self.process.stderr is not None
        while " so far, found after " not in (line := self.process.stderr.readline()):
            assert line, self.process.communicate()
        self.worker, *_ = self._below = children(self.process.pid)
        os.kill(self.worker, signal.SIGSTOP)

    def end(self, how: Callable[[Stopped], None]) -> tuple[int, str, str]:
        """End the command like this; return its exit code, stdout and stderr."""
        how(self)
        out, err = self.process.communicate(timeout=600)
        assert gone(self._below)
        return self.process.returncode, out, err


def by_time(stopped: Stopped) -> None:
    (stopped.folder / "late").touch()
    time_is_up(stopped.process)


def by_a_kill(stopped: Stopped) -> None:
    os.kill(stopped.worker, signal.SIGKILL)


def by_a_crash(stopped: Stopped) -> None:
    os.kill(stopped.worker, signal.SIGSEGV)
    os.kill(stopped.worker, signal.SIGCONT)


def by_ctrl_c(stopped: Stopped) -> None:
    os.kill(stopped.process.pid, signal.SIGINT)


def by_two(stopped: Stopped) -> None:
    """Send a second signal while the first is handled."""
    by_ctrl_c(stopped)
    by_ctrl_c(stopped)


End = tuple[Callable[[Stopped], None], int, str]
"""How the process ends, the exit code, and a part of the message on stderr."""

ENDS: list[End] = [
    (by_time, 1, "time-out after 300 s"),
    (by_a_kill, 1, "killed, or out of memory (SIGKILL)"),
    (by_a_crash, 1, "the process ended without a result"),
    (by_ctrl_c, 130, ""),
    (by_two, 130, ""),
]


IN_LONG_TESTS = (by_a_kill, by_a_crash, by_two)


def is_reported(stopped: Stopped, end: End, name: str, *source: str) -> bool:
    """Return whether stdout and the file of the trace have the violation that was announced."""
    how, expected, why = end
    code, out, err = stopped.end(how)
    assert code == expected, err
    assert why in err
    assert f"{name}, counterexample:" in out
    assert f"\n{name}: violated in " in out
    assert out.endswith("Interrupted: this is what was known by then.\n")
    (trace,) = (stopped.folder / "found").iterdir()
    assert trace.name.endswith(f".{name}.json")
    return run(["export", str(trace), *source]) == 0


OWN: dict[Callable[[Stopped], None], str] = {
    by_a_kill: "its code ended the process (signal 9)",
    by_a_crash: "its code ended the process (signal 11)",
}
"""The messages that differ if the protocol is the user's own file."""


@pytest.mark.parametrize(
    "end", [(how, code, OWN.get(how, why)) for how, code, why in ENDS], ids=[end[0].__name__ for end in ENDS]
)
def test_a_violation_of_a_small_protocol_is_reported_however_its_process_ends(
    end: End, tmp_path: Path
) -> None:
    stopped = Stopped(tmp_path, "check", str(EXAMPLE), "--traces=found", program=WAITING)
    assert is_reported(stopped, end, "last-holder-wins", "--protocol", str(EXAMPLE))


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(end, id=end[0].__name__, marks=[pytest.mark.long] if end[0] in IN_LONG_TESTS else [])
        for end in ENDS
    ],
)
def test_an_announced_violation_is_reported_however_its_process_ends(end: End, tmp_path: Path) -> None:
    """The violation was lost once: `undecided`, exit code 3, no stdout, after the trace on stderr."""
    assert is_reported(Stopped(tmp_path, *LONG, "--traces=found"), end, "no-divergence")


def test_one_process_for_all_searches_is_no_exception(tmp_path: Path) -> None:
    found, out, _ = Stopped(tmp_path, *LONG, "--jobs=1").end(by_time)
    assert found == 1
    assert "\nno-divergence: violated in " in out


def test_json_has_it_too_and_a_file_if_one_is_asked_for(tmp_path: Path) -> None:
    found, out, _ = Stopped(tmp_path, *LONG, "--format=json", "--output=found.json").end(by_time)
    assert (found, out) == (1, "")
    document = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    (result,) = document["results"]
    assert (document["interrupted"], result["verdict"]) == (True, "violated")
    assert len(result["trace"]["steps"]) == result["steps"]


def test_a_page_is_written_and_its_verdict_printed(tmp_path: Path) -> None:
    found, out, err = Stopped(tmp_path, *LONG, "--format=html", "--output=found.html").end(by_a_kill)
    assert (found, out) == (1, "")
    assert "no-divergence: violated in " in err.splitlines()[-2]
    assert (tmp_path / "found.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.long
def test_a_file_that_cannot_be_renamed_into_place_is_not_waited_for(tmp_path: Path) -> None:
    """Nobody reads this pipe, and the supervisor, which receives the signals, must not wait for a reader."""
    os.mkfifo(tmp_path / "pipe")
    found, out, _ = Stopped(tmp_path, *LONG, "--output=pipe").end(by_time)
    assert found == 1
    assert "\nno-divergence: violated in " in out


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    stopped = Stopped(tmp_path, *LONG, "--output=there/found")
    (tmp_path / "there").rmdir()
    found, _, err = stopped.end(by_time)
    assert found == 2
    assert "there/found: cannot be written (No such file or directory)" in err


def test_the_options_decide_the_exit_code_as_ever(tmp_path: Path) -> None:
    assert Stopped(tmp_path, *LONG, "--expect=violated").end(by_time)[0] == 0


def test_the_small_instances_of_a_check_are_reported_too(tmp_path: Path) -> None:
    """One instance was decided and one is under way: those not begun are undecided."""
    stopped = Stopped(
        tmp_path, "check", "bookkeeper-4.13", "--engine=rounds", "--minimize=steps", "--format=json"
    )
    code, out, _ = stopped.end(by_a_kill)
    verdicts = {result["property"]: result["verdict"] for result in json.loads(out)["results"]}
    assert code == 1
    assert set(verdicts.values()) == {"violated", "undecided"}


def test_the_table_of_known_bugs_is_printed_as_far_as_it_is(tmp_path: Path) -> None:
    stopped = Stopped(tmp_path, "known", "2614", "2615")
    code, out, err = stopped.end(by_a_kill)
    assert code in (1, 3), err
    assert " violated " in out
    assert "Interrupted: this is what was known by then." in out


def test_a_mistake_of_ours_after_it_loses_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code stays that of an internal error."""

    def failing(*asked: Any) -> Outcome:
        check(*asked)
        raise InternalError("planted")

    monkeypatch.setattr("fencepost.cli.rendering.progress.HELD", 0.0)
    monkeypatch.setattr("fencepost.cli.commands.check.check_all", failing)
    assert run(["check", "bookkeeper-4.13", "--property=no-divergence", "--format=json"]) == 4
    output = capsys.readouterr()
    (found,) = json.loads(output.out)["results"]
    assert found["verdict"] == "violated"
    assert "internal error: planted" in output.err


class Unread:
    """A command whose working process waits for somebody to read the page that it prints."""

    def __init__(self, folder: Path) -> None:
        self.late = folder / "late"
        page = ("check", str(EXAMPLE), "--format=html")
        self.process = supervised(*page, environment={"LATE": str(self.late)}, program=PROGRAM)
        assert self.process.stdout is not None
        size = fcntl.fcntl(self.process.stdout, fcntl.F_SETPIPE_SZ, 4096)
        awaited(lambda: [1] if self.unread() == size else [], self.process)
        self.below = children(self.process.pid)

    def unread(self) -> int:
        """How many bytes are in the pipe."""
        assert self.process.stdout is not None
        count = fcntl.ioctl(self.process.stdout, termios.FIONREAD, bytes(4))
        return int.from_bytes(count, sys.byteorder)


def test_a_slow_reader_takes_no_time_of_the_command(tmp_path: Path) -> None:
    unread = Unread(tmp_path)
    unread.late.touch()
    time_is_up(unread.process)
    time.sleep(0.5)  # in which a supervisor that bounds this too would have killed it
    out, err = unread.process.communicate(timeout=600)
    assert unread.process.returncode == 1, err
    assert out.startswith("<!DOCTYPE html>") and out.rstrip().endswith("</html>")


def test_ctrl_c_ends_a_command_that_nobody_reads(tmp_path: Path) -> None:
    unread = Unread(tmp_path)
    os.kill(unread.process.pid, signal.SIGINT)
    assert unread.process.wait(timeout=600) == 130
    assert gone(unread.below)
    unread.process.communicate()


def test_a_command_that_is_killed_while_it_prints_prints_nothing_twice(tmp_path: Path) -> None:
    unread = Unread(tmp_path)
    os.kill(unread.below[0], signal.SIGKILL)
    out, err = unread.process.communicate(timeout=600)
    assert unread.process.returncode == 1
    assert out.count("<!DOCTYPE html>") == 1
    assert err.endswith("a protocol only describes; what was known by then is reported\n")


def test_a_file_that_cannot_be_written_keeps_nothing_from_being_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conclusion = Conclusion(1, "found\n", files={str(tmp_path / "none" / "a"): "a", str(tmp_path / "b"): "b"})
    with pytest.raises(BadInput, match="none/a: cannot be written"):
        conclude(conclusion)
    assert capsys.readouterr().out == "found\n"
    assert (tmp_path / "b").read_text() == "b"


KILLS = """
import os, signal, threading, time
def _end():
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGKILL)
threading.Thread(target=_end, daemon=True).start()
"""


def test_a_protocol_that_kills_its_process_has_no_verdict_without_evidence(tmp_path: Path) -> None:
    """No violation was found or announced: the verdict is bad input, with any claim of the process."""
    (tmp_path / "own.py").write_text(f"{EXAMPLE.read_text()}\n{KILLS}\ntime.sleep(60)\n")
    process = supervised("check", "own.py", folder=tmp_path)
    out, err = process.communicate(timeout=600)
    assert (process.returncode, out) == (2, ""), err
