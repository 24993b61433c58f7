"""Measure `follow` on generated logs: `python benchmarks/logs.py`.

The logs are those of random executions, so an execution exists. The first table has logs in known order, the
second has logs of several processes without clocks. Seconds are processor time; memory is what the search
allocates at most, measured in a second search.
"""

from __future__ import annotations

import itertools
import random
import time
import tracemalloc
from collections.abc import Collection
from pathlib import Path

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.random_executions import random_execution
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.protocol import Instance, load
from fencepost.encoding.language.sorts import show
from fencepost.encoding.logs.events import Event, Logs
from fencepost.encoding.logs.search import Bounds, LogSearch, LogSearchEnd

EXAMPLES = Path(__file__).parents[1] / "examples"
KNOWN_ORDER = ("two_phase", "corpus/sharded_kv", "paxos", "corpus/raft")
LENGTHS = (100, 1_000, 10_000)
PROCESSES = (("corpus/sharded_kv", {"nodes": 5}), ("corpus/client_server", {"clients": 5}))
LIMIT = 60.0
"""The seconds after which a search ends."""


def steps_of(instance: Instance, length: int, seed: int = 1) -> list[GroundAction]:
    """Return the actions of a random execution of that length, or of the longest one it comes to."""
    found = random_execution(Concrete(instance.system), random.Random(seed), True)
    *_, (path, _) = itertools.islice(found, length + 1)
    return list(path)


def log_of(
    steps: list[GroundAction], by_process: bool, unnamed: float = 0.0, hidden: Collection[str] = ()
) -> Logs:
    """Return the log of these steps: of one order, or of each process, with some arguments left out."""
    chance, found = random.Random(1), dict[str, list[Event]]()
    for number, action in enumerate(steps, 1):
        if action.schema.name in hidden:
            continue
        process = show(action.arguments[0]) if by_process and action.arguments else ""
        told = {
            parameter.symbol: show(value)
            for parameter, value in zip(action.schema.parameters, action.arguments, strict=True)
            if chance.random() >= unnamed
        }
        found.setdefault(process, []).append(Event(f"{number}", process, action.schema.name, told))
    return Logs(tuple(map(tuple, found.values())))


def searched(instance: Instance, logs: Logs) -> tuple[LogSearchEnd, float, float]:
    """Return the end of a search, its processor seconds, and its memory in MB."""

    def find() -> LogSearchEnd:
        search = LogSearch(concrete, logs.events, ())
        return search.find(logs.by_process, Bounds(until=time.monotonic() + LIMIT))

    concrete = Concrete(instance.system)
    assert concrete.steps
    begun = time.process_time()
    end = find()
    seconds = time.process_time() - begun
    tracemalloc.start()
    find()
    memory = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return end, seconds, memory
