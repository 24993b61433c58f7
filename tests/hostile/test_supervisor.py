"""Signals, time limits and code in protocol files, with real processes: commands end in good order."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.processes import awaited, children, gone, supervised

EXAMPLE = Path(__file__).parents[2] / "examples" / "lease_lock.py"
LARGE = (
    "check",
    "bookkeeper",
    "--set=entries=3",
    "--set=bookies=4",
    "--property=no-divergence",
    "--engine=rounds",
)
"""A question that takes hours by rounds."""
HANG = 600
"""Seconds that only a command takes that does not end, whatever else runs on the machine."""

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")]


def with_code(folder: Path, code: str) -> str:
    """Write a protocol file that runs some code when it is imported."""
    text = EXAMPLE.read_text()
    (folder / "own.py").write_text(f"{text}\n{code}\n")
    return "own.py"


def in_build(folder: Path, code: str) -> str:
    """Write a protocol file that runs some code when its system is built."""
    wrapped = "\n".join(f"    {line}" for line in code.splitlines())
    return with_code(
        folder,
        "import dataclasses\n_build = PROTOCOL.build\n"
        f"def _code(parameters):\n{wrapped}\n    return _build(parameters)\n"
        "PROTOCOL = dataclasses.replace(PROTOCOL, build=_code)",
    )


WHEN = pytest.mark.parametrize("written", [with_code, in_build], ids=["import", "build"])
Written = Callable[[Path, str], str]


# Protocol files.


@WHEN
@pytest.mark.parametrize(
    "code",
    [
        "import sys; sys.exit(0)",
        "raise SystemExit",
        "import os; os._exit(0)",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "import os, signal; os.killpg(0, signal.SIGKILL)",
        "import os; os.abort()",
    ],
)
def test_a_protocol_that_ends_the_process_is_bad_input(written: Written, code: str, tmp_path: Path) -> None:
    process = supervised("check", written(tmp_path, code), folder=tmp_path)
    out, err = process.communicate(timeout=600)
    assert (process.returncode, out) == (2, ""), err
    assert err.splitlines()[-1].endswith("a protocol only describes")
    assert "Traceback" not in err


@WHEN
def test_what_a_protocol_prints_is_no_result(written: Written, tmp_path: Path) -> None:
    code = 'import os; print("proved"); os.write(1, b"proved, too\\n"); os.system("echo and three")'
    process = supervised("check", written(tmp_path, code), "--format", "json", folder=tmp_path)
    out, err = process.communicate(timeout=600)
    assert json.loads(out)["results"][0]["verdict"] == "violated"
    assert process.returncode == 1
    assert {"proved", "proved, too", "and three"} <= set(err.splitlines())


@WHEN
def test_a_protocol_that_changes_folder_moves_no_file(written: Written, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    name = written(tmp_path, "import os; os.chdir('other')")
    files = ("-o", "found.txt", "--traces", "traces", "--certificates", "certificates")
    process = supervised("check", name, *files, folder=tmp_path)
    stderr = process.communicate(timeout=600)[1]
    assert process.returncode == 1, stderr
    assert (tmp_path / "found.txt").exists()
    assert list((tmp_path / "traces").iterdir())
    assert not list((tmp_path / "other").iterdir())


@pytest.mark.parametrize(
    "written, code",
    [
        (in_build, "while True: pass"),
        (
            with_code,
            "while True:\n    try:\n        import time; time.sleep(9)\n    except BaseException: pass",
        ),
        (
            with_code,
            "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.alarm(0)\nwhile True: pass",
        ),
        (
            with_code,
            "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))\nwhile True: pass",
        ),
        (with_code, "import os, time\nif not os.fork(): time.sleep(999)\nwhile True: pass"),
    ],
)
def test_a_protocol_that_never_ends_is_ended(written: Written, code: str, tmp_path: Path) -> None:
    name = written(tmp_path, code)
    process = supervised("check", name, "--timeout", "1", folder=tmp_path)
    below = awaited(lambda: children(process.pid), process)
    out, err = process.communicate(timeout=HANG)
    assert (process.returncode, out) == (3, "")
    assert err == "fencepost: undecided: time-out after 1 s\n"
    assert gone(below)
    interrupted(supervised("check", name, folder=tmp_path), signal.SIGINT)


# Signals.


def interrupted(
    process: subprocess.Popen[str], number: signal.Signals, after: float = 1.0
) -> tuple[str, str]:
    """Send a signal to a running command; return its output, after a check that no process is left."""
    awaited(lambda: children(process.pid), process)
    time.sleep(after)
    below = children(process.pid)
    assert process.poll() is None, process.communicate()
    os.kill(process.pid, number)
    out, err = process.communicate(timeout=HANG)
    assert process.returncode == 128 + number
    assert "Traceback" not in err
    assert gone(below)
    return out, err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_check_says_what_it_knows(number: signal.Signals) -> None:
    out, _ = interrupted(supervised(*LARGE), number, after=4.0)
    assert "undecided: interrupted" in out
    assert "Interrupted: this is what was known by then." in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_is_ignored_at_first_stays_ignored(number: signal.Signals) -> None:
    process = supervised(*LARGE, "--timeout", "4", ignored=[number])
    awaited(lambda: children(process.pid), process)
    time.sleep(1.0)
    os.kill(process.pid, number)
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 3
    assert "time-out after 4 s" in out


def test_sigquit_ends_it() -> None:
    process = supervised(*LARGE)
    below = awaited(lambda: children(process.pid), process)
    time.sleep(1.0)
    below = children(process.pid)
    os.kill(process.pid, signal.SIGQUIT)
    process.communicate(timeout=HANG)
    assert process.returncode == -signal.SIGQUIT
    assert gone(below)


def test_a_command_that_is_killed_leaves_nobody() -> None:
    process = supervised(*LARGE)
    awaited(lambda: children(process.pid), process)
    time.sleep(1.0)
    below = children(process.pid)
    process.kill()
    process.communicate(timeout=HANG)
    assert gone(below)


def test_a_reader_who_goes_away_is_no_error() -> None:
    process = supervised("protocols", "bookkeeper")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    stderr = process.communicate(timeout=600)[1]
    assert (process.returncode, stderr) == (0, "")


def test_a_full_disk_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [sys.executable, "-m", "fencepost.cli", "protocols"],
            check=False,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert process.returncode == 2
    assert (
        process.stderr
        == "fencepost: stdout: cannot be written (No space left on device); give --output FILE\n"
    )


def test_a_result_that_is_long_and_read_slowly_is_whole() -> None:
    process = supervised(
        "export", "bookkeeper-4.13", "--rounds", "50", "--format", "smt2", "--property", "no-divergence"
    )
    time.sleep(5.0)  # more than the time in which the worker must be gone
    text = process.communicate(timeout=600)[0]
    assert process.returncode == 0
    assert len(text) > 1_000_000
    assert text.endswith("\n(check-sat)\n")


IN_A_FINALIZER = """
import os, signal, sys, time
from fencepost.cli.process.worker import interruptible

class Unlucky:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.1)

class HalfMade:
    def __del__(self):
        self.owner

interruptible()
try:
    Unlucky()
    time.sleep(60)
except KeyboardInterrupt:
    HalfMade()
    sys.exit(130)
"""


def test_an_interrupt_in_a_finalizer_says_nothing_and_is_not_lost() -> None:
    """Python prints the exception of a finalizer and continues.

    Code that cleans up behind Spark's objects may do the same.
    """
    process = subprocess.run(
        [sys.executable, "-c", IN_A_FINALIZER], capture_output=True, text=True, timeout=600, check=False
    )
    assert (process.returncode, process.stderr) == (130, "")


IN_A_CONVERSION = """
import ctypes, os, signal, sys, time
from fencepost.cli.process.worker import interruptible

class Unlucky:
    @classmethod
    def from_param(cls, value):
        if value:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.001)
        return ctypes.c_int(value)

interruptible()
absolute = ctypes.CDLL(None).abs
absolute.argtypes = [Unlucky]
try:
    assert absolute(1) == 1
    time.sleep(60)
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_an_interrupt_while_an_argument_is_converted_is_no_error_of_its_own() -> None:
    """ctypes, and therefore z3, turns every exception raised there into an ArgumentError."""
    process = subprocess.run(
        [sys.executable, "-c", IN_A_CONVERSION], capture_output=True, text=True, timeout=600, check=False
    )
    assert (process.returncode, process.stderr) == (130, "")
