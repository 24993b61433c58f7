"""Measure `follow` on generated logs: `python benchmarks/logs.py`.

Each log is that of a random execution, so an execution has its lines. In the first table the order of all
lines is known. In the second each process has a log of its own, without clocks. Seconds are processor time;
memory is the most that the search holds, measured in a second search.
"""

from __future__ import annotations

import itertools
import random
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

from fencepost.encoding.concrete.random_executions import random_execution
from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.language.protocol import load
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.traces import Trace
from fencepost.encoding.logs.events import Event, Logs
from fencepost.encoding.logs.search import LogSearch, LogSearchEnd

EXAMPLES = Path(__file__).parents[1] / "examples"
LENGTHS = (100, 1_000, 10_000)
KNOWN: tuple[tuple[str, dict[str, int]], ...] = (
    ("corpus/sharded_kv", {}),
    ("corpus/semaphores", {}),
    ("corpus/simple_decentralized_lock", {}),
)
"""The examples whose random executions do not end, each with its settings."""
PROCESSES = (
    ("corpus/sharded_kv", {"nodes": 5}),
    ("corpus/semaphores", {"clients": 5}),
    ("corpus/simple_decentralized_lock", {"nodes": 5}),
)
LINES = 200
LIMIT = 120.0
"""The seconds after which a search ends."""


def recorded(name: str, settings: dict[str, int], steps: int) -> tuple[Replayer, Trace]:
    """Return a random execution of an example with that many steps."""
    of = load(EXAMPLES / f"{name}.py").instance([(k, str(v)) for k, v in settings.items()])
    replayer = Replayer(of.system, of.subject)
    found = random_execution(replayer.concrete, random.Random(1), True)
    *_, (path, state) = itertools.islice(found, steps + 1)
    lost = [v.name for v in of.system.choices if state[v.place] == 1]
    return replayer, replayer.record("path", list(path), lost, [0 for _ in of.system.varied])


def log_of(trace: Trace, by_process: bool, unnamed: float) -> Logs:
    """Return the log of an execution with a share of its arguments left out."""
    chance, found = random.Random(1), dict[str, list[Event]]()
    for step in trace.steps:
        process = show(step.actor) if by_process else ""
        told = {name: value for name, value in step.arguments.items() if chance.random() >= unnamed}
        found.setdefault(process, []).append(Event(str(step.index), process, step.action, told))
    return Logs(tuple(map(tuple, found.values())))


def searched(replayer: Replayer, logs: Logs) -> tuple[LogSearchEnd, float, float]:
    """Return the end of a search, its processor seconds, and its memory in MB."""

    def find() -> LogSearchEnd:
        search = LogSearch(replayer, logs.events, until=time.monotonic() + LIMIT)
        return search.find(logs.by_process)

    begun = time.process_time()
    end = find()
    seconds = time.process_time() - begun
    tracemalloc.start()
    find()
    memory = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return end, seconds, memory


def rows() -> Iterator[str]:
    """Yield the rows of both tables."""
    yield "| log | lines | processes | arguments | answer | nodes | seconds | lines a minute | MB |"
    yield "|---|---|---|---|---|---|---|---|---|"
    known = [(name, settings, length, False) for name, settings in KNOWN for length in LENGTHS]
    for name, settings, length, by_process in [*known, *((*one, LINES, True) for one in PROCESSES)]:
        replayer, trace = recorded(name, settings, length)
        for unnamed, words in ((0.0, "known"), (1.0, "hidden")):
            logs = log_of(trace, by_process, unnamed)
            end, seconds, memory = searched(replayer, logs)
            answer = "an execution" if end.moves is not None else "none" if end.is_complete else "undecided"
            yield (
                f"| {name} | {len(logs.events):,} | {len(logs.by_process) if by_process else 'one order'} | "
                f"{words} | {answer} | {end.nodes:,} | {seconds:.1f} | "
                f"{len(logs.events) / max(seconds, 0.01) * 60:,.0f} | {memory:.0f} |"
            )


if __name__ == "__main__":
    for row in rows():
        print(row, flush=True)
