"""Processes that tests start, kill and look for in the kernel's list."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

Found = TypeVar("Found")


def children(pid: int) -> list[int]:
    """Return the processes that a process has started, directly or through others."""
    started: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        started.setdefault(parent(int(entry.name)), []).append(int(entry.name))
    found = list(started.get(pid, []))
    for child in found:
        found += started.get(child, [])
    return found


def gone(pids: Sequence[int]) -> bool:
    """Return whether all of the processes end soon; a process that only waits to be reaped has ended.

    It counts looks, not seconds: on a machine that stood still for a while, the seconds are over at once.
    """
    for _ in range(600):
        if not any(map(_runs, pids)):
            return True
        time.sleep(0.05)
    return False


def _runs(pid: int) -> bool:
    fields = stat(pid)
    return bool(fields) and fields[0] != "Z"


def stat(pid: int) -> list[str]:
    """Return the kernel's fields of a process, from its state on; none if it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


def hears(pid: int, number: signal.Signals) -> bool:
    """Return whether a process blocks or handles a signal.

    Before that, while Python starts, the signal ends the process.
    """
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    masks = [int(line.split()[1], 16) for line in lines if line.startswith(("SigBlk", "SigCgt"))]
    return any(mask >> number - 1 & 1 for mask in masks)


def command(pid: int) -> bytes:
    """Return the command line of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def awaited(look: Callable[[], list[Found]], process: subprocess.Popen[str]) -> list[Found]:
    """Return the first result of `look` that is not empty; it must come before the process ends."""
    while not (found := look()):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)
    return found


def begun(process: subprocess.Popen[str], seconds: float = 2.5) -> None:
    """Wait until a command and its children, ended ones too, have used so many CPU seconds on any machine."""

    def used() -> list[float]:
        times = [stat(pid)[11:15] for pid in (process.pid, *children(process.pid))]
        ticks = sum(int(ticks) for pair in times for ticks in pair)
        return [ticks] if ticks >= seconds * os.sysconf("SC_CLK_TCK") else []

    awaited(used, process)


def kill_one(look: Callable[[], list[int]], process: subprocess.Popen[str]) -> list[int]:
    """Kill the first process that `look` finds, and return the processes that it had started."""
    while True:
        victim = awaited(look, process)[0]
        below = children(victim)
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:  # it ended by itself
            continue
        return below


def busy_workers(driver: int) -> list[int]:
    """Return Spark's Python workers that answer a case: executor, daemon, worker, case."""
    return [
        pid
        for pid in children(driver)
        if _is_python(pid)
        and _is_python(parent(pid))
        and not _is_python(parent(parent(pid)))
        and children(pid)
    ]


def _is_python(pid: int) -> bool:
    """Return whether the process is Spark's daemon or was forked from it.

    The command line of an executor's Java has `pyspark` in it too, but not the daemon's name.
    """
    return b"pyspark.daemon" in command(pid)


def busy_executors(driver: int) -> list[int]:
    """Return the executors, each a Java process of its own, that answer a case."""
    return [
        pid
        for pid in children(driver)
        if b"CoarseGrainedExecutorBackend" in command(pid) and busy_workers(pid)
    ]


def parent(pid: int) -> int:
    """Return the parent of a process; 0, which is no process, if it has ended."""
    return int((stat(pid) or ["", "0"])[1])


def printed(code: str, *arguments: str) -> set[str]:
    """Return the outputs of a Python program that runs three times, each time with another order of sets."""
    tests = str(Path(__file__).parents[1])
    path = os.pathsep.join(filter(None, [tests, os.environ.get("PYTHONPATH")]))
    return {
        subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }


def time_is_up(process: subprocess.Popen[str]) -> None:
    """Make a supervisor look at its clock: it wakes as if a child had changed."""
    os.kill(process.pid, signal.SIGCHLD)


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE)
"""The signals that end a command. The parent of pytest may have made it ignore some of them."""


def signal_prefix(ignored: Sequence[signal.Signals] = ()) -> list[str]:
    """Return the start of a command line: its process ignores these signals and no others.

    The signals that pytest itself ignores make no difference.
    """

    def names(signals: Sequence[signal.Signals]) -> str:
        return ",".join(number.name.removeprefix("SIG") for number in signals)

    heard = names([number for number in ENDING if number not in ignored])
    return ["env", f"--default-signal={heard}", *([f"--ignore-signal={names(ignored)}"] if ignored else [])]


def supervised(
    *arguments: str,
    folder: Path | None = None,
    ignored: Sequence[signal.Signals] = (),
    environment: Mapping[str, str] | None = None,
    program: str | None = None,
    cpu: str | None = None,
) -> subprocess.Popen[str]:
    """Start `fencepost` as a shell does, in a folder, with these signals ignored and these variables set.

    With a `program`, this Python text starts the command. `cpu` has the soft and the hard limit in seconds,
    as `prlimit` takes them.
    """
    bounded = [] if cpu is None else ["prlimit", f"--cpu={cpu}"]
    started = ("-m", "fencepost.cli") if program is None else ("-c", program)
    return subprocess.Popen(
        [*signal_prefix(ignored), *bounded, sys.executable, *started, *arguments],
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
