"""The pipeline on Spark: obligations in, those that may share a proof to a task, rows out, committed in waves.

Hardest first, and the next wave begins when cores fall idle in the one before, so that no core waits for the
last obligation of a wave. A task that dies, with its worker or its executor, is tried again by Spark; a
driver that dies leaves the committed waves, and `resume` asks for the others.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from fencepost.encoding.errors import InternalError
from fencepost.encoding.solving.solvers import countable
from fencepost.sweeps.engine_version import engine
from fencepost.sweeps.grid import Plan
from fencepost.sweeps.rows import (
    ERROR,
    TASK,
    Row,
    asked,
    from_arrow,
    obligations_of,
    spark_schema,
    task_of,
    to_arrow,
    unanswered,
)
from fencepost.sweeps.solve import Allowance, solve_all
from fencepost.sweeps.spark import abandon, cancel, halfway, require_spark, session
from fencepost.sweeps.store import Manner, Store, opened, repeated, written
from fencepost.sweeps.sweep_cases import SweepCase, together
from fencepost.sweeps.tables import summarize

AT_ONCE = 2
"""Waves under way side by side: the second takes the cores that the first has no work for any more."""

TASKS_PER_CORE = 4
"""Tasks in a wave, for each core, at least."""

WAVE = 60.0
"""Seconds that a wave of more is meant to take: what a driver that dies may lose.
Each wave costs Spark a second."""

PULSE = 0.5
"""Seconds between two looks at what the waves under way have come to."""

Listener = Callable[[list[Row]], None]
"""Hears of rows as they are committed, those of earlier runs first."""

Watcher = Callable[[Mapping[str, str]], None]
"""Hears, several times a second, which obligations have which verdict so far in this run: by id,
committed or not."""

Answer = Callable[[Iterator[Any]], Iterator[Any]]
"""Arrow batches of what is asked in, of rows out."""

Task = tuple[SweepCase, ...]
"""Obligations that are answered one after another, as they share a proof."""


@dataclass(frozen=True)
class Sweep:
    """A sweep to be run: what, where, on what, and with how much for each obligation."""

    plan: Plan
    folder: Path
    master: str = "local[*]"
    allowance: Allowance = field(default_factory=Allowance)
    resume: bool = False


def run(
    sweep: Sweep,
    listener: Listener = lambda rows: None,
    watcher: Watcher = lambda verdicts: None,
    leaving: Callable[[], None] = lambda: None,
) -> list[Row]:
    """Answer every obligation that is not answered yet, and return all rows.

    An interrupted one is `leaving` when nothing more is committed, before Spark has come to its end.
    Raises BadInput if there is no Java, no PySpark, no usable folder or no Spark, and leaves the folder as it
    was; InternalError if rows are lost or doubled.
    """
    require_spark()
    conflicts = sweep.allowance.conflicts
    if conflicts is not None:
        for solver in {obligation.solver: None for obligation in sweep.plan.obligations}:
            countable(solver)
    manner = Manner(conflicts)
    with opened(sweep.folder, sweep.plan, engine(), sweep.resume, manner) as store:
        before = store.rows()
        listener(before)
        known = {row["id"] for row in before}
        waiting = [o for o in sweep.plan.obligations if o.identify(engine()) not in known]
        if waiting or not store.summary.exists():
            with session(sweep.master, store.log) as spark, halfway(store.log):
                _answer_all(spark, sweep, store, together(waiting), listener, watcher, leaving)
                _complete(sweep.plan, store.rows())
                summarize(spark, store)
        return _complete(sweep.plan, store.rows())


def _answer_all(
    spark: Any,
    sweep: Sweep,
    store: Store,
    waiting: Sequence[Task],
    listener: Listener,
    watcher: Watcher,
    leaving: Callable[[], None],
) -> None:
    cores = spark.sparkContext.defaultParallelism
    size = least = TASKS_PER_CORE * cores
    committing, verdicts = Lock(), _verdicts(spark)

    def answer(wave: Sequence[Task]) -> int:
        """Answer and commit a wave; how many tasks last as long as one should, going by these."""
        staged = store.stage()
        _write(spark, wave, sweep, verdicts, staged)
        with committing:
            rows = store.commit(staged)
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
                watcher(verdicts.value)
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
    """How many tasks keep the cores busy for the time of a wave, if so many took so many seconds together."""
    return int(WAVE * cores * tasks / (seconds or 1.0))


def _verdicts(spark: Any) -> Any:
    """An accumulator that tells the driver of each verdict when its task ends, by the obligation's id.

    A task that is tried again says the same once more, which changes nothing.
    """
    from pyspark.accumulators import AccumulatorParam

    class Verdicts(AccumulatorParam):  # type: ignore[misc]
        def zero(self, value: dict[str, str]) -> dict[str, str]:
            return {}

        def addInPlace(self, value: dict[str, str], more: dict[str, str]) -> dict[str, str]:  # noqa: N802
            return {**value, **more}

    return spark.sparkContext.accumulator({}, Verdicts())


def _write(spark: Any, wave: Sequence[Task], sweep: Sweep, verdicts: Any, folder: Path) -> None:
    """Answer the obligations of a wave and write their rows, by protocol."""
    import pyarrow as pa

    tasks = pa.Table.from_batches([to_arrow([task_of(task, engine()) for task in wave], TASK)])
    answer = answering(sweep.allowance, verdicts)
    rows = spark.createDataFrame(tasks).mapInArrow(answer, spark_schema()).repartition(1)
    rows.sortWithinPartitions("protocol", "id").write.partitionBy("protocol").parquet(written(folder))


def answering(allowance: Allowance, verdicts: Any) -> Answer:
    """What a Spark task does: Arrow batches of tasks in, of rows out, and its verdicts to the accumulator."""

    def answer(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for task in from_arrow(batch, TASK):
                for answered in _answered(task, allowance):
                    verdicts.add({answered["id"]: answered["verdict"]})
                    yield to_arrow([answered])

    return answer


def _answered(task: Row, allowance: Allowance) -> Iterator[Row]:
    """The rows of a task; each an `error` if this machine has another engine than the driver."""
    obligations, other = obligations_of(task), _other_engine(task)
    if other is None:
        yield from solve_all(obligations, task["engine"], allowance)
        return
    failed = {**unanswered(ERROR, other, 0.0), "host": platform.node()}
    yield from ({**asked(one, task["engine"]), **failed} for one in obligations)


def _other_engine(row: Row) -> str | None:
    """Why this machine cannot answer for the driver, if it cannot."""
    if engine() == row["engine"]:
        return None
    return f"this machine has engine {engine()}, the driver {row['engine']}"


def _complete(plan: Plan, rows: list[Row]) -> list[Row]:
    """The rows, if there is one for each obligation; raises InternalError if not."""
    wanted = {obligation.identify(engine()) for obligation in plan.obligations}
    ids = [row["id"] for row in rows]
    lost, twice, foreign = wanted - set(ids), repeated(ids), set(ids) - wanted
    if lost or twice or foreign:
        raise InternalError(
            f"{len(rows)} rows for {len(wanted)} obligations: {len(lost)} lost, {len(twice)} there twice, "
            f"{len(foreign)} that nobody asked for"
        )
    return rows
