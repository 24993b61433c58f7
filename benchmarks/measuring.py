"""Measurements: a command is run in a process of its own, and its output is read."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from instances import Row

TIMEOUT = 120
"""The seconds after which a run gives up, as its row then says."""

LONG = 60
"""The seconds after which a run is not repeated."""

SUFFIX = ("--format", "json", "-v")
"""The last arguments of every measured command, after its time limit."""


@dataclass(frozen=True)
class Mark:
    """The time at which one of the two questions reached a round, and the clauses of its solver then."""

    question: str
    round: int
    clauses: int
    at: float


@dataclass(frozen=True)
class Run:
    """The result of one process."""

    seconds: float
    processor: float
    """The processor seconds of all processes together, which other programs change least."""
    verdict: str
    rounds: int
    steps: int | None
    fewest: str | None
    spent: Mapping[str, float]
    """The seconds of each part of the work, from `-v`."""
    marks: tuple[Mark, ...]
    memory: int = 0
    """The most bytes of its largest process."""


_QUESTION = re.compile(r"(violations|longer executions): round (\d+), ([\d,]+) clauses")
_PART = re.compile(r"(\w+) (\d+\.\d+) s")


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
    heard: list[tuple[float, str]] = []
    with tempfile.TemporaryFile("w+") as output:
        begun = time.perf_counter()
        with subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            if processor is not None:
                threading.Thread(target=_interrupt, args=(process, processor), daemon=True).start()
            for line in process.stderr:
                heard.append((time.perf_counter() - begun, line.rstrip()))
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        seconds, processor = time.perf_counter() - begun, usage.ru_utime + usage.ru_stime
        output.seek(0)
        text = output.read()
    if not text or "results" not in json.loads(text):
        raise RuntimeError(
            f"{' '.join(command)}: no result; {heard[-1][1] if heard else 'nothing on stderr'}"
        )
    return replace(read_run(seconds, processor, text, heard), memory=usage.ru_maxrss * 1024)


def _interrupt(process: subprocess.Popen[str], most: float) -> None:
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


def read_run(seconds: float, processor: float, text: str, heard: Sequence[tuple[float, str]]) -> Run:
    """Return a run from its stdout (JSON) and stderr; of several properties, the worst."""
    results = json.loads(text)["results"]
    order = ("violated", "undecided", "vacuous", "holds", "proved")
    result = min(results, key=lambda r: order.index(r["verdict"]))
    marks = []
    for at, line in heard:
        if found := _QUESTION.match(line):
            marks.append(Mark(found[1], int(found[2]), int(found[3].replace(",", "")), at))
    spent = {name: float(part) for name, part in _PART.findall(heard[-1][1])}
    deepest = max(r["rounds"] for r in results)
    return Run(
        seconds, processor, result["verdict"], deepest, result["steps"], result["fewest"], spent, tuple(marks)
    )


def measure(row: Row, runs: int) -> list[Run]:
    """Run a row several times, or until a run is long."""
    found: list[Run] = []
    while len(found) < runs and not (found and found[-1].seconds > LONG):
        found.append(run_once(row.arguments))
    return found


def measure_all(rows: Sequence[Row], runs: int) -> dict[str, list[Run]]:
    """Return the runs of each row by name; rows with the same command share theirs."""
    known: dict[tuple[str, ...], list[Run]] = {}
    for number, row in enumerate(rows, 1):
        print(f"[{number}/{len(rows)}] {row.name}", end="", file=sys.stderr, flush=True)
        if row.arguments not in known:
            known[row.arguments] = measure(row, runs)
        last = known[row.arguments][-1]
        print(f": {last.verdict}, {last.seconds:.2f} s", file=sys.stderr)
    return {row.name: known[row.arguments] for row in rows}
