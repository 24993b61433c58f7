"""The pipeline on Spark: obligations in, one to a task, rows out, committed in waves.

Hardest first, and the next wave begins when cores fall idle in the one before, so that no core waits for the last
obligation of a wave. A task that dies, with its worker or its executor, is tried again by Spark; a driver that dies
leaves the committed waves, and `resume` asks for the others.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from fencepost.encoding.errors import BadInput, InternalError
from fencepost.sweeps.cubes import (
    CUBE_COLUMNS,
    CUBES_ASKED,
    Stops,
    failed_cube,
    joined,
    parts,
    solve_cube,
)
from fencepost.sweeps.grid import Plan
from fencepost.sweeps.rows import (
    ASKED,
    ERROR,
    Column,
    Row,
    asked,
    from_arrow,
    obligation_of,
    spark_schema,
    to_arrow,
    unanswered,
)
from fencepost.sweeps.solve import Allowance, solve
from fencepost.sweeps.store import Store, opened, repeated
from fencepost.sweeps.versions import engine

AT_ONCE = 2
"""Waves under way side by side: the second takes the cores that the first has no work for any more."""

TASKS_PER_CORE = 4
"""Obligations in a wave, for each core: what a driver that dies may lose."""

ATTEMPTS = 4
"""How often Spark tries a task whose process died."""

EXTRA = "fencepost[spark]"

Listener = Callable[[list[Row]], None]
"""Hears of rows as they are committed, those of earlier runs first."""


@dataclass(frozen=True)
class Sweep:
    """A sweep to be run: what, where, on what, and with how much for each obligation."""

    plan: Plan
    folder: Path
    master: str = "local[*]"
    allowance: Allowance = field(default_factory=Allowance)
    resume: bool = False
    wave: int | None = None
    """Obligations in a wave; by default as many as the cores make sensible."""
    cubes: int = 1
    """Into how many cubes each obligation is split, at most."""


def run(sweep: Sweep, listener: Listener = lambda rows: None) -> list[Row]:
    """Answer every obligation that is not answered yet, and return all rows.

    Raises BadInput if there is no Java, no PySpark or no usable folder, InternalError if rows are lost or doubled.
    """
    require_spark()
    with opened(sweep.folder, sweep.plan, engine(), sweep.resume) as store:
        before = store.rows()
        listener(before)
        known = {row["id"] for row in before}
        waiting = [
            row for row in (asked(o, engine()) for o in sweep.plan.obligations) if row["id"] not in known
        ]
        if waiting:
            with session(sweep.master, store.log) as spark:
                _answer_all(spark, sweep, store, waiting, listener)
        return _complete(sweep.plan, store.rows())


def require_spark() -> None:
    """Raise BadInput unless Java and the packages of the extra are there."""
    _require_packages("pyspark", "pyarrow", "pandas")
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=os.path.join(home, "bin") if home else None) is None:
        where = f"JAVA_HOME={home} has none" if home else "not found"
        raise BadInput(f"java: {where}, and sweeps run on Spark; install Java 17 or later")


def require_arrow() -> None:
    """Raise BadInput unless rows can be read."""
    _require_packages("pyarrow")


def _require_packages(*names: str) -> None:
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        raise BadInput(f"{', '.join(missing)}: not installed, and sweeps need it; pip install '{EXTRA}'")


@contextmanager
def session(master: str, log: Path) -> Iterator[Any]:
    """A Spark session whose messages go to a file."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf().setAppName("fencepost sweep").setMaster(retrying(master))
    conf.set("spark.task.maxFailures", str(ATTEMPTS))
    conf.set("spark.ui.enabled", "false").set("spark.ui.showConsoleProgress", "false")
    conf.set("spark.sql.leafNodeDefaultParallelism", "1000000")  # a partition for each obligation
    if master.startswith("local"):
        conf.set("spark.driver.host", "127.0.0.1")
    with log.open("ab") as messages:
        try:
            gateway = launch_gateway(conf, {"stdout": messages, "stderr": messages})
            context = SparkContext(conf=conf, gateway=gateway)
        except _spark_errors() as error:
            said = str(error).strip().splitlines()[0]
            raise BadInput(f"--master {master}: Spark does not start ({said}); see {log}") from error
    try:
        yield SparkSession(context)
    finally:
        context.stop()
        _forget(gateway)


def retrying(master: str) -> str:
    """`local[2]` as `local[2,4]`: without the second number, a local Spark tries no task again."""
    return re.sub(r"^local\[(\d+|\*)\]$", rf"local[\1,{ATTEMPTS}]", master)


def _spark_errors() -> tuple[type[Exception], ...]:
    """What PySpark raises when Spark fails."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return (PySparkException, Py4JError)


def _forget(gateway: Any) -> None:
    """End the Java process, so that another session of this process gets one of its own."""
    from pyspark import SparkContext

    gateway.shutdown()
    SparkContext._gateway = None
    SparkContext._jvm = None
    gateway.proc.stdin.close()
    gateway.proc.wait()


def _answer_all(spark: Any, sweep: Sweep, store: Store, waiting: Sequence[Row], listener: Listener) -> None:
    size = sweep.wave or max(1, TASKS_PER_CORE * spark.sparkContext.defaultParallelism // sweep.cubes)
    waves = [waiting[start : start + size] for start in range(0, len(waiting), size)]
    committing = Lock()

    def answer(wave: Sequence[Row]) -> None:
        staged = store.stage()
        _write(spark, wave, sweep, staged)
        with committing:
            listener(store.commit(staged))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            for done in as_completed([pool.submit(answer, wave) for wave in waves]):
                done.result()
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            spark.sparkContext.cancelAllJobs()
            if isinstance(error, _spark_errors()):
                said = str(error).strip().splitlines()[0]
                raise InternalError(
                    f"Spark gave up ({said}); see {store.log}. What is committed stays; --resume goes on."
                ) from error
            raise


def _write(spark: Any, wave: Sequence[Row], sweep: Sweep, folder: Path) -> None:
    """Answer the obligations of a wave and write their rows, by protocol."""
    if sweep.cubes == 1:
        rows = _framed(spark, wave, ASKED).mapInArrow(answering(sweep.allowance), spark_schema())
        rows = rows.repartition(1)
    else:
        asks = [cube for row in wave for cube in parts(row, sweep.cubes)]
        answer = answering_cubes(sweep.allowance, Stops(folder.with_suffix(".stops").absolute()))
        cubes = _framed(spark, asks, CUBES_ASKED).mapInArrow(answer, spark_schema(CUBE_COLUMNS))
        rows = cubes.repartition(1).mapInArrow(joining, spark_schema())
    rows.sortWithinPartitions("protocol", "id").write.partitionBy("protocol").parquet(
        folder.absolute().as_uri()
    )


def _framed(spark: Any, rows: Sequence[Row], columns: Sequence[Column]) -> Any:
    """Rows as a DataFrame, each a partition."""
    import pyarrow as pa

    return spark.createDataFrame(pa.Table.from_batches([to_arrow(rows, columns)]))


def answering(allowance: Allowance) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What a task does: Arrow batches of obligations in, of rows out."""

    def answer(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for row in from_arrow(batch, ASKED):
                yield to_arrow([_answer(row, allowance)])

    return answer


def answering_cubes(allowance: Allowance, stops: Stops) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What the task of a cube does; nothing comes of one that there is not, or that is wanted no more."""

    def answer(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for row in from_arrow(batch, CUBES_ASKED):
                answered = _answer_cube(row, allowance, stops)
                if answered is not None:
                    yield to_arrow([answered], CUBE_COLUMNS)

    return answer


def joining(batches: Iterator[Any]) -> Iterator[Any]:
    """The rows of all cubes in, of their obligations out."""
    rows = joined(row for batch in batches for row in from_arrow(batch, CUBE_COLUMNS))
    if rows:
        yield to_arrow(rows)


def _answer_cube(row: Row, allowance: Allowance, stops: Stops) -> Row | None:
    other = _other_engine(row)
    return failed_cube(row, other) if other else solve_cube(row, allowance, stops)


def _answer(row: Row, allowance: Allowance) -> Row:
    """The row of an obligation; an `error` if this machine has another engine than the driver."""
    other = _other_engine(row)
    if other is None:
        return solve(obligation_of(row), row["engine"], allowance)
    return {**row, **unanswered(ERROR, other, 0.0), "host": platform.node()}


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
