"""A process that a signal ends: the reason names the signal, and a CPU limit is not a lack of memory."""

from __future__ import annotations

import faulthandler
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fencepost.encoding.solving.answers import SolverGaveUpError
from fencepost.encoding.solving.workers import Ended, Worker, failure
from support.processes import supervised

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


def burn() -> None:
    while True:
        pass


def at_the_soft_limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (1, resource.RLIM_INFINITY))
    burn()


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def aborted() -> None:
    faulthandler.disable()
    os.kill(os.getpid(), signal.SIGABRT)


def crashed() -> None:
    faulthandler.disable()
    os.kill(os.getpid(), signal.SIGSEGV)


def ended(doing: Callable[[], None]) -> Ended:
    """Return the last message of a process that does this."""

    def make() -> Iterator[Any]:
        doing()
        return iter(())

    worker = Worker("planted", make, gib=None)
    try:
        message = worker.receive()
    finally:
        worker.kill()
    assert isinstance(message, Ended)
    return message


def burning() -> Iterator[float]:
    while time.process_time() < 0.1:
        pass
    yield time.process_time()


@pytest.mark.parametrize("tells", [True, False])
def test_the_seconds_of_a_worker_count_after_its_end(tells: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: an ended worker has used nothing; one whose system tells nothing has used nothing."""
    if not tells:
        monkeypatch.setattr("fencepost.encoding.solving.workers.cpu_seconds", lambda process: None)
    worker = Worker("planted", burning, gib=None)
    worker.receive()
    worker.receive()
    worker.kill()
    assert worker.spent > 0.05, "clock ticks are hundredths"


@pytest.mark.parametrize(
    "doing, gave_up",
    [
        (at_the_soft_limit, "CPU limit reached (SIGXCPU)"),
        (killed, "killed, or out of memory (SIGKILL)"),
        (aborted, "out of memory (SIGABRT)"),
    ],
)
def test_the_signal_is_named_and_decides_nothing(doing: Callable[[], None], gave_up: str) -> None:
    """A process at its CPU limit was reported as an internal error, or as out of memory."""
    message = ended(doing)
    assert message.gave_up == gave_up
    assert isinstance(failure(message, "planted"), SolverGaveUpError)


def test_another_signal_is_a_mistake_of_ours() -> None:
    assert ended(crashed).gave_up == ""


AT_THE_HARD_LIMIT = """
import sys
sys.path[:0] = sys.argv[1:]
from test_process_end import burn, ended
print(ended(burn).gave_up)
"""


@pytest.mark.slow
def test_a_kill_at_the_hard_limit_is_distinguished_from_another() -> None:
    """`ulimit -t` sets both limits.

    At the hard limit the kernel sends SIGKILL, which gives no reason.
    """
    folders = [str(folder) for folder in Path(__file__).parents[:3]]
    process = subprocess.run(
        ["prlimit", "--cpu=3:3", sys.executable, "-c", AT_THE_HARD_LIMIT, *folders],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.stdout == "CPU limit of 3 s reached (SIGKILL)\n", process.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "cpu, message",
    [("3:3", "CPU limit of 3 s reached (SIGKILL)"), ("3:unlimited", "CPU limit reached (SIGXCPU)")],
)
def test_a_command_at_its_cpu_limit_is_undecided(cpu: str, message: str, tmp_path: Path) -> None:
    """The end was blamed on the code of the protocol file, or was an internal error."""
    example = Path(__file__).parents[3] / "examples" / "lease_lock.py"
    (tmp_path / "own.py").write_text(f"{example.read_text()}\nwhile True: pass\n")
    process = supervised("check", "own.py", folder=tmp_path, cpu=cpu)
    out, err = process.communicate(timeout=600)
    assert (process.returncode, out, err) == (3, "", f"fencepost: undecided: {message}\n")
