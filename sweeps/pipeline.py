"""The pipeline on Spark: tasks of cases go in, rows come out, and waves of rows are committed.

Cases that may share a proof are one task. Hard cases come first. The next wave begins when cores become
idle in the one before, so that no core waits for the last case of a wave. Spark repeats a task that died
with its worker or executor. If the driver dies, the committed waves remain, and `resume` runs the rest.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from fencepost.encoding.errors import InternalError
from fencepost.encoding.solving.solvers import countable
from fencepost.sweeps.engine_version import engine
from fencepost.sweeps.grid import Plan
from fencepost.sweeps.object_store import ObjectStore, opened_at
from fencepost.sweeps.rows import (
    BRIEF,
    ERROR,
    TASK,
    Row,
    asked,
    cases_of,
    from_arrow,
    spark_schema,
    task_of,
    to_arrow,
    unanswered,
)
from fencepost.sweeps.solve import Allowance, solve_all
from fencepost.sweeps.spark import abandon, cancel, halfway, require_spark, session
from fencepost.sweeps.store import Store, opened
from fencepost.sweeps.sweep_cases import SweepCase, together
from fencepost.sweeps.sweep_manifest import Manner, repeated

AT_ONCE = 2
"""The number of waves that run side by side: the second uses the cores that the first leaves idle."""

TASKS_PER_CORE = 4
"""The smallest number of tasks in a wave, for each core."""

WAVE = 60.0
"""The seconds that a wave should take, which is also the work that a dying driver may lose.

Each wave costs Spark a second.
"""

PULSE = 0.5
"""The seconds between two looks at the waves that run."""

Listener = Callable[[list[Row]], None]
"""A function that gets rows as they are committed, those of earlier runs first."""

Watcher = Callable[[Mapping[str, str]], None]
"""A function that gets the verdicts of this run by id, several times a second, committed or not."""

Answer = Callable[[Iterator[Any]], Iterator[Any]]
"""A function from Arrow batches of tasks to batches of rows."""

SweepTask = tuple[SweepCase, ...]
"""Cases that are answered one after another because they share a proof."""


@dataclass(frozen=True)
class Sweep:
    """A sweep to be run: the plan, the place of its rows, Spark's master and the allowance of each case."""

    plan: Plan
    folder: Path | str
    """The folder, or an address such as `s3://bucket/found`."""
    master: str = "local[*]"
    allowance: Allowance = field(default_factory=Allowance)
    resume: bool = False


def run(
    sweep: Sweep,
    listener: Listener = lambda rows: None,
    watcher: Watcher = lambda verdicts: None,
    leaving: Callable[[], None] = lambda: None,
) -> list[Row]:
    """Answer every case that has no row yet, and return all rows: their columns `BRIEF`.

    After an interrupt `leaving` is called once nothing more is committed, before Spark has ended. Raises
    BadInput if Java, PySpark, a usable folder or Spark is missing, and leaves the folder as it was. Raises
    InternalError if rows are lost or doubled.
    """
    require_spark()
    conflicts = sweep.allowance.conflicts
    if conflicts is not None:
        for solver in {case.solver: None for case in sweep.plan.cases}:
            countable(solver)
    manner = Manner(conflicts)
    with _opened(sweep, manner) as store:
        rows = store.rows(BRIEF)
        listener(rows)
        known = {row["id"] for row in rows}
        waiting = [o for o in sweep.plan.cases if o.identify(engine()) not in known]
        if waiting:
            with session(sweep.master, store.log) as spark, halfway(store.log):
                _answer_all(spark, sweep, store, together(waiting), listener, watcher, leaving)
            rows = store.rows(BRIEF)
        return _complete(sweep.plan, rows)


def _opened(sweep: Sweep, manner: Manner) -> AbstractContextManager[Store | ObjectStore]:
    """Return the context of the place of a sweep."""
    if isinstance(sweep.folder, Path):
        return opened(sweep.folder, sweep.plan, engine(), sweep.resume, manner)
    return opened_at(sweep.folder, sweep.plan, engine(), sweep.resume, manner)


def _answer_all(
    spark: Any,
    sweep: Sweep,
    store: Store | ObjectStore,
    waiting: Sequence[SweepTask],
    listener: Listener,
    watcher: Watcher,
    leaving: Callable[[], None],
) -> None:
    cores = spark.sparkContext.defaultParallelism
    size = least = TASKS_PER_CORE * cores
    committing, verdicts = Lock(), spark.sparkContext.accumulator({}, gathering())  # by id

    def answer(wave: Sequence[SweepTask]) -> int:
        """Answer and commit a wave; return the number of tasks for the next one."""
        staged = store.keep(_answers(spark, wave, sweep, verdicts))
        with committing:
            rows = store.commit(staged)  # type: ignore[arg-type]  # each store commits what it keeps
            listener(rows)
        return lasting(len(wave), sum(row["seconds"] for row in rows), cores)

    begun, under_way = 0, set[Future[int]]()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            while begun < len(waiting) or under_way:
                while begun < len(waiting) and len(under_way) < AT_ONCE:
                    under_way.add(pool.submit(answer, waiting[begun : begun + size]))
                    begun += size
                done, under_way = wait(under_way, PULSE, return_when=FIRST_COMPLETED)
                watcher(dict(verdicts.value))  # a copy, because the verdicts of tasks keep coming
                for wave in done:
                    size = max(least, wave.result())
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            abandon()
            with committing:
                leaving()
            store.clear()
            raise
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            cancel(spark, under_way, PULSE)
            raise


def lasting(tasks: int, seconds: float, cores: int) -> int:
    """Return how many tasks keep the cores busy for one wave, if so many took so many seconds."""
    return int(WAVE * cores * tasks / (seconds or 1.0))


def gathering() -> Any:
    """Return the way in which verdicts by id are gathered: into one dictionary, which is not copied.

    A repeated task adds the same verdict again, which changes nothing.
    """
    from pyspark.accumulators import AccumulatorParam

    class Verdicts(AccumulatorParam):  # type: ignore[misc]
        def zero(self, value: dict[str, str]) -> dict[str, str]:
            return {}

        def addInPlace(self, value: dict[str, str], more: dict[str, str]) -> dict[str, str]:  # noqa: N802
            value.update(more)
            return value

    return Verdicts()


def _answers(spark: Any, wave: Sequence[SweepTask], sweep: Sweep, verdicts: Any) -> Any:
    """Return the rows of a wave as a Spark data frame, which answers the cases when it is computed."""
    import pyarrow as pa

    tasks = pa.Table.from_batches([to_arrow([task_of(task, engine()) for task in wave], TASK)])
    answer = answering(sweep.allowance, verdicts)
    return spark.createDataFrame(tasks).mapInArrow(answer, spark_schema())


def answering(allowance: Allowance, verdicts: Any) -> Answer:
    """Return the function of a Spark task, which also adds its verdicts to the accumulator."""

    def answer(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for task in from_arrow(batch, TASK):
                for answered in _answered(task, allowance):
                    verdicts.add({answered["id"]: answered["verdict"]})
                    yield to_arrow([answered])

    return answer


def _answered(task: Row, allowance: Allowance) -> Iterator[Row]:
    """Yield the rows of a task; each is an `error` if this machine has another engine than the driver."""
    cases, other = cases_of(task), _other_engine(task)
    if other is None:
        yield from solve_all(cases, task["engine"], allowance)
        return
    failed = {**unanswered(ERROR, other, 0.0), "host": platform.node()}
    yield from ({**asked(one, task["engine"]), **failed} for one in cases)


def _other_engine(row: Row) -> str | None:
    """Return why this machine cannot answer for the driver, or None."""
    if engine() == row["engine"]:
        return None
    return f"this machine has engine {engine()}, the driver {row['engine']}"


def _complete(plan: Plan, rows: list[Row]) -> list[Row]:
    """Return the rows if each case has one; raise InternalError otherwise."""
    wanted = {case.identify(engine()) for case in plan.cases}
    ids = [row["id"] for row in rows]
    lost, twice, foreign = wanted - set(ids), repeated(ids), set(ids) - wanted
    if lost or twice or foreign:
        raise InternalError(
            f"{len(rows)} rows for {len(wanted)} cases: {len(lost)} lost, {len(twice)} there twice, "
            f"{len(foreign)} not asked for"
        )
    return rows
