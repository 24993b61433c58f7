"""Measure sweeps: the cost of Spark over a plain loop, the gain of a second core, and idle cores.

    python benchmarks/sweeps.py run --runs 3     200 small cases: a plain loop, local[1] and local[2] in turn
    python benchmarks/sweeps.py run --grid FILE  the same for another grid
    python benchmarks/sweeps.py order DIR        the idle time of several orders of the tasks in DIR
    python benchmarks/sweeps.py sample GRID      the time of some tasks of GRID, and an estimate for all
    python benchmarks/sweeps.py many 10000       rows per second and memory for cases that are not solved
    python benchmarks/sweeps.py many 100000 --already 90000    the same for a sweep that is resumed

`run` measures whole processes, with the start of Java. `order` measures nothing. It distributes the seconds
of a finished sweep's rows over cores, in the order in which each scheme would begin them. `many` answers each
case with a row that was computed before, after `--sleep` seconds. Every second row has a counterexample.
"""

from __future__ import annotations

import argparse
import heapq
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq

from fencepost.cli.rendering.sweep_matrices import named
from fencepost.sweeps import pipeline
from fencepost.sweeps.engine_version import engine
from fencepost.sweeps.grid import Plan, read_grid
from fencepost.sweeps.pipeline import AT_ONCE, TASKS_PER_CORE, Answer, lasting
from fencepost.sweeps.rows import FOUND, TASK, Row, asked, case_of, cases_of, from_arrow, parts_of, to_arrow
from fencepost.sweeps.solve import Allowance, solve_all
from fencepost.sweeps.store import Store, opened
from fencepost.sweeps.summary import counts, verdict_counts
from fencepost.sweeps.sweep_cases import SweepCase, together

GRID = """
[[grid]]
protocols = "bookkeeper-4.13"
properties = ["no-divergence", "entries-in-order"]
bounds = "2..11"

[grid.set]
ensemble = "1..2"
write_quorum = "1..2"
ack_quorum = "1..2"
bookies = "1..2"
recovery_reads_fence = ["no", "yes"]
"""
"""A grid of 200 cases, each well below a second, which shows the cost of Spark for each."""

LOOP = """
import sys
from pathlib import Path
from fencepost.sweeps.grid import read_grid
from fencepost.sweeps.sweep_cases import together
from fencepost.sweeps.solve import Allowance, solve_all
for task in together(read_grid(Path(sys.argv[1])).cases):
    list(solve_all(task, "any", Allowance()))
"""
"""A program that runs the same tasks one after another, as in a sweep but without Spark."""

WAYS = ("loop", "local[1]", "local[2]")


def command(way: str, grid: Path, out: Path) -> list[str]:
    """Return the command that is measured."""
    if way == "loop":
        return [sys.executable, "-c", LOOP, str(grid)]
    options = [str(out), "--master", way]
    return [sys.executable, "-m", "fencepost.cli", "sweep", str(grid), *options]


def measure(text: str, runs: int) -> dict[str, list[float]]:
    """Return the seconds of each run of each way.

    The ways run in turn, so that load from other programs affects all of them.
    """
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        grid = Path(folder, "grid.toml")
        grid.write_text(text)
        for number in range(runs):
            for way in WAYS[:: 1 if number % 2 == 0 else -1]:
                begun = time.perf_counter()
                out = Path(folder, f"{way}-{number}")
                subprocess.run(command(way, grid, out), check=True, stdout=subprocess.DEVNULL)
                seconds[way].append(time.perf_counter() - begun)
                print(f"{way} {seconds[way][-1]:.1f} s, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    return seconds


def ratios(seconds: dict[str, list[float]], way: str, other: str) -> str:
    """Return the ratio of two ways, run by run: median, least and most."""
    found = sorted(a / b for a, b in zip(seconds[way], seconds[other], strict=True))
    return f"{way} / {other}: {statistics.median(found):.2f} ({found[0]:.2f} to {found[-1]:.2f})"


# Orders.

Task = tuple[int, float]
"""The weight and the seconds of a task."""


def tasks_of(rows: Sequence[Row]) -> list[Task]:
    """Return the tasks of these rows; cases that may share a proof are one task."""
    seconds = {case_of(row): row["seconds"] for row in rows}
    return [(task[0].weight, sum(seconds[one] for one in task)) for task in together(seconds)]


def laid(waves: Sequence[Sequence[Task]], cores: int, at_once: int) -> tuple[float, float]:
    """Return the end of the last task, and the idle share of core time until then.

    `at_once` waves run at a time. The next one begins when all tasks of one are done, and cores take tasks
    of the oldest wave first.
    """
    clock, begun = 0.0, 0
    ends: list[tuple[float, int]] = []
    waiting, left = [list(wave) for wave in waves], [len(wave) for wave in waves]
    while any(left):
        begun = max(begun, min(len(waves), left[:begun].count(0) + at_once))
        for number in range(begun):
            while waiting[number] and len(ends) < cores:
                heapq.heappush(ends, (clock + waiting[number].pop(0)[1], number))
        clock, number = heapq.heappop(ends)
        left[number] -= 1
    busy = sum(seconds for wave in waves for _, seconds in wave)
    return clock, 1 - busy / (cores * clock)


def cut(tasks: Sequence[Task], size: int) -> list[list[Task]]:
    """Return the tasks in waves of that size."""
    return [list(tasks[start : start + size]) for start in range(0, len(tasks), size)]


def cut_as_done(tasks: Sequence[Task], cores: int) -> list[list[Task]]:
    """Return the tasks in waves as a sweep makes them.

    The first is small. The size of each later one follows from the duration of the one before.
    """
    waves: list[list[Task]] = []
    size = least = TASKS_PER_CORE * cores
    while (start := sum(map(len, waves))) < len(tasks):
        if len(waves) >= AT_ONCE:
            before = waves[-AT_ONCE]
            size = max(least, lasting(len(before), sum(seconds for _, seconds in before), cores))
        waves.append(list(tasks[start : start + size]))
    return waves


def schemes(tasks: Sequence[Task], cores: int) -> dict[str, tuple[float, float]]:
    """Return the end and the idle share of each scheme."""
    size = TASKS_PER_CORE * cores
    estimated, known = sorted(tasks, key=lambda t: -t[0]), sorted(tasks, key=lambda t: -t[1])
    shuffled = [random.Random(seed).sample(list(tasks), len(tasks)) for seed in range(101)]

    def middle(lay: Callable[[Sequence[Task]], tuple[float, float]]) -> tuple[float, float]:
        return statistics.median(map(lay, shuffled))  # type: ignore[type-var]

    return {
        f"by weight, growing waves, {AT_ONCE} at once (what is done)": laid(
            cut_as_done(estimated, cores), cores, AT_ONCE
        ),
        f"by weight, waves of {size}, one at once": laid(cut(estimated, size), cores, 1),
        "by weight, all in one wave": laid([estimated], cores, 1),
        f"in any order, growing waves, {AT_ONCE} at once": middle(
            lambda t: laid(cut_as_done(t, cores), cores, AT_ONCE)
        ),
        f"in any order, waves of {size}, one at once": middle(lambda t: laid(cut(t, size), cores, 1)),
        "in any order, all in one wave": middle(lambda t: laid([t], cores, 1)),
        "by seconds, if they were known, all in one wave": laid([known], cores, 1),
    }


def agreement(tasks: Sequence[Task]) -> float:
    """Return the share of pairs with different weights in which the heavier one took longer."""
    pairs = [(a, b) for a in tasks for b in tasks if a[0] > b[0]]
    return sum(a[1] > b[1] for a, b in pairs) / len(pairs) if pairs else 1.0


# A sample of a grid that takes hours.


def sample(grid: Path, number: int) -> None:
    """Run a sample of tasks, and estimate the seconds of all tasks from it.

    The sample has tasks at equal distances from the fewest state variables to the most. They run one after
    another, and the processor seconds of each are printed.
    """
    tasks = together(read_grid(grid).cases)[::-1]
    number, spent = min(number, len(tasks)), 0.0
    for place in range(number):
        task = tasks[(2 * place + 1) * len(tasks) // (2 * number)]
        before = processor_seconds()
        rows = list(solve_all(task, "any", Allowance(timeout=3600)))
        seconds = processor_seconds() - before
        spent += seconds
        print(
            f"{named(rows[0])}: {task[0].weight} variables, {seconds:.1f} s, {verdict_counts(counts(rows))}"
        )
    print(f"{len(tasks)} tasks: {spent / number * len(tasks) / 3600:.1f} h of one core")


def processor_seconds() -> float:
    """Return the processor seconds of all processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# Many cases, which are not solved.

FENCES = """
[[grid]]
protocols = "bookkeeper-4.13"
properties = "no-divergence"

[grid.set]
recovery_reads_fence = ["no", "yes"]
"""
"""A grid of two cases, one violated and one proved, whose rows answer all others."""


COMMITTED = 2000
"""The rows of a wave that is committed before the sweep."""


def of_case(case: SweepCase, found: Sequence[Row]) -> Row:
    """Return the columns of the answer to a case: one of the rows that were found."""
    return found[(case.rounds or 0) % len(found)]


def repeating(found: Sequence[Row], sleep: float) -> Callable[[Allowance, Any], Answer]:
    """Return what stands for `pipeline.answering`: it answers each task with one of the rows."""

    def answering(allowance: Allowance, verdicts: Any) -> Answer:
        def answer(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                for task in from_arrow(batch, TASK):
                    (case,) = cases_of(task)
                    time.sleep(sleep)
                    row = asked(case, task["engine"]) | of_case(case, found)
                    verdicts.add({row["id"]: row["verdict"]})
                    yield to_arrow([row])

        return answer

    return answering


def commit(plan: Plan, folder: Path, found: Sequence[Row], number: int) -> None:
    """Begin the sweep of a plan, and commit rows of its first cases in waves, without Spark."""
    with opened(folder, plan, engine(), resume=False) as store:
        for start in range(0, number, COMMITTED):
            cases = plan.cases[start : min(start + COMMITTED, number)]
            rows = [asked(case, engine()) | of_case(case, found) for case in cases]
            staged = store.stage()
            place = staged / f"protocol={cases[0].protocol}"
            place.mkdir(parents=True)
            table = pa.Table.from_batches([to_arrow(rows)]).drop_columns(["protocol"])
            pq.write_table(table, place / "rows.parquet")
            store.commit(staged)


def many(number: int, already: int, master: str, sleep: float) -> None:
    """Run a sweep of so many cases that are not solved, and print the rows per second and the memory.

    The first `already` rows are there before: the sweep is resumed.
    """
    with tempfile.TemporaryDirectory() as folder:
        grid = Path(folder, "grid.toml")
        grid.write_text(FENCES)
        cases = read_grid(grid).cases
        solved = [row for case in cases for row in solve_all([case], "any", Allowance())]
        found = [row | {"seconds": 1.0} for row in parts_of(solved, FOUND)]
        plan = Plan(tuple(replace(cases[0], rounds=n + 1) for n in range(number)), 0, 0, 0)
        if already:
            commit(plan, Path(folder, "found"), found, already)
        begun, spent = time.perf_counter(), time.process_time()
        told: list[float] = []
        sweep = pipeline.Sweep(plan, Path(folder, "found"), master, resume=bool(already))
        with patch.object(pipeline, "answering", repeating(found, sleep)):
            rows = pipeline.run(sweep, lambda rows: told.append(time.perf_counter()))
        ended, spent = time.perf_counter(), time.process_time() - spent
        rate = (number - already) / (told[-1] - told[0])
        waves = len(told) - 1
        print(f"{len(rows)} rows, {waves} waves, {master}, {sleep:g} s each: {rate:.1f} rows per second")
        print(f"{told[0] - begun:.0f} s to read the {already} rows that were there")
        print(f"{ended - begun:.0f} s in all, {ended - told[-1]:.0f} s of it for the tables at the end")
        print(f"driver: {spent:.0f} processor seconds, {memory('self'):.0f} MiB")
        print(f"Java: {memory(java()):.0f} MiB")
        print(f"load {os.getloadavg()[0]:.1f}")


def memory(process: int | str) -> float:
    """Return the most memory that a process has had, in MiB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def java() -> int:
    """Return the process of Java that this process has started."""
    for place in Path("/proc").glob("[0-9]*"):
        parent = place.joinpath("stat").read_text().rpartition(")")[2].split()[1]
        if int(parent) == os.getpid() and place.joinpath("comm").read_text() == "java\n":
            return int(place.name)
    raise ProcessLookupError("java")


def main() -> None:
    """Run the chosen measurement and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands: Any = parser.add_subparsers(dest="what", required=True)
    run = commands.add_parser("run")
    run.add_argument("--runs", type=int, default=3, metavar="N", help="runs of each way (default: 3)")
    run.add_argument("--grid", type=Path, metavar="FILE", help="a grid (default: 200 small cases)")
    order = commands.add_parser("order")
    order.add_argument("folder", type=Path, metavar="DIR", help="the folder of a finished sweep")
    order.add_argument("--cores", type=int, default=2, metavar="N", help="cores to lay it on (default: 2)")
    some = commands.add_parser("sample")
    some.add_argument("grid", type=Path, metavar="GRID", help="a grid")
    some.add_argument("--tasks", type=int, default=20, metavar="N", help="how many to ask (default: 20)")
    unsolved = commands.add_parser("many")
    unsolved.add_argument("cases", type=int, metavar="N", help="how many cases")
    unsolved.add_argument("--already", type=int, default=0, metavar="N", help="rows that are there before")
    unsolved.add_argument("--master", default="local[2]", help="the master of Spark (default: local[2])")
    unsolved.add_argument("--sleep", type=float, default=0.0, metavar="S", help="seconds of a case")
    arguments = parser.parse_args()
    if arguments.what == "many":
        many(arguments.cases, arguments.already, arguments.master, arguments.sleep)
        return
    if arguments.what == "sample":
        sample(arguments.grid, arguments.tasks)
        return
    if arguments.what == "run":
        seconds = measure(arguments.grid.read_text() if arguments.grid else GRID, arguments.runs)
        for way in WAYS:
            print(f"{way}: " + ", ".join(f"{s:.1f}" for s in seconds[way]) + " s")
        print(ratios(seconds, "local[1]", "loop"), ratios(seconds, "local[1]", "local[2]"), sep="\n")
        return
    tasks = tasks_of(Store(arguments.folder).rows())
    print(
        f"{len(tasks)} tasks, {sum(s for _, s in tasks):.0f} s in all, "
        f"the longest {max(s for _, s in tasks):.0f} s"
    )
    print(f"the heavier of two took longer: {agreement(tasks):.0%} of pairs")
    for name, (end, idle) in schemes(tasks, arguments.cores).items():
        print(f"{name}: {end:.0f} s, {idle:.0%} idle")


if __name__ == "__main__":
    main()
