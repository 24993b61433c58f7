"""Measurements: a command is run in a process of its own, and its output is read."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TIMEOUT = 120
"""The seconds after which a run gives up, as its row then says."""

SUFFIX = ("--format", "json")
"""The last arguments of every measured command, after its time limit."""


@dataclass(frozen=True)
class Run:
    """The result of one process."""

    seconds: float
    processor: float
    """The processor seconds of all processes together, which other programs change least."""
    verdict: str
    memory: int = 0
    """The most bytes of its largest process."""


def run_once(
    arguments: Sequence[str],
    timeout: int = TIMEOUT,
    processor: float | None = None,
    python: str = sys.executable,
) -> Run:
    """Run `fencepost check` in a process of its own; raise RuntimeError if it gives no result.

    With `processor` the process is interrupted, which gives no result, once it and its children have used
    so many seconds of processor time. `python` is the interpreter of an environment with Fencepost.
    """
    command = [python, "-m", "fencepost.cli", "check", *arguments, "--timeout", str(timeout), *SUFFIX]
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        begun = time.perf_counter()
        with subprocess.Popen(command, stdout=output, stderr=errors) as process:
            if processor is not None:
                threading.Thread(target=_interrupt, args=(process, processor), daemon=True).start()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        seconds, processor = time.perf_counter() - begun, usage.ru_utime + usage.ru_stime
        output.seek(0)
        errors.seek(0)
        text, said = output.read(), errors.read().strip()
    if not text or "results" not in json.loads(text):
        raise RuntimeError(f"{' '.join(command)}: no result; {said or 'nothing on stderr'}")
    return Run(seconds, processor, worst(text), usage.ru_maxrss * 1024)


def _interrupt(process: subprocess.Popen[bytes], most: float) -> None:
    """Interrupt a process once it and its children have used so many processor seconds (Linux)."""
    while process.poll() is None:
        if _used(process.pid) > most:
            process.send_signal(signal.SIGINT)
            return
        time.sleep(0.5)


def _used(pid: int) -> float:
    """Return the processor seconds of a running process and all its descendants."""
    ticks, children = dict[int, int](), dict[int, list[int]]()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            number = int(path.parent.name)
            ticks[number] = sum(map(int, fields[11:15]))
            children.setdefault(int(fields[1]), []).append(number)
    waiting, total = [pid], 0
    while waiting:
        number = waiting.pop()
        total += ticks.get(number, 0)
        waiting += children.get(number, [])
    return total / os.sysconf("SC_CLK_TCK")


def worst(text: str) -> str:
    """Return the verdict of a run from its JSON; of several properties, the worst."""
    order = ("violated", "undecided", "vacuous", "holds", "proved")
    verdicts: list[str] = [result["verdict"] for result in json.loads(text)["results"]]
    return min(verdicts, key=order.index)
