"""Spark itself: is it there, does its master answer, a session of it, and how it fails in one line."""

from __future__ import annotations

import atexit
import importlib.util
import logging
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from fencepost.encoding.errors import BadInput, InternalError

ATTEMPTS = 4
"""How often Spark tries a task whose process died."""

ANSWERED = 5.0
"""Seconds in which a standalone master must take a connection."""

EXTRA = "fencepost[spark]"

_LOG = logging.getLogger(__name__)
_LOG.addHandler(logging.NullHandler())  # where no log is open, nowhere

_JAVA: list[Any] = []
"""The way to the Java of this process, if it has been started: PySpark keeps to one."""


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
    """A Spark session whose messages go to a file, if it is the first of this process: all share one Java."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    require_answer(master)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf().setAppName("fencepost sweep").setMaster(retrying(master))
    conf.set("spark.task.maxFailures", str(ATTEMPTS))
    conf.set("spark.ui.enabled", "false").set("spark.ui.showConsoleProgress", "false")
    conf.set("spark.sql.leafNodeDefaultParallelism", "1000000")  # a partition for each obligation
    if master.startswith("local"):
        conf.set("spark.driver.host", "127.0.0.1")
    with log.open("ab") as messages, _logging_to(log):
        before = messages.tell()
        with ExitStack() as end:
            try:
                context = SparkContext(conf=conf, gateway=_java(conf, messages))
                end.callback(_stop, context)
                _log_what_fails_in(context)
                spark = SparkSession(context)
            except spark_errors() as error:
                said = _first_line(error)
                end.close()
                aside = _set_aside(log, before)
                said = _reason(aside.read_text(errors="replace")) or said
                raise BadInput(f"--master {master}: Spark does not start ({said}); see {aside}") from error
            yield spark


@contextmanager
def _logging_to(log: Path) -> Iterator[None]:
    """Python's side of Spark has things to say too, such as the traceback of an interrupt: not to the terminal."""
    handler = logging.FileHandler(log)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()


def _log_what_fails_in(context: Any) -> None:
    """Where accumulators are heard of, an end of Java is an error that a thread prints: to the log with it too."""
    context._accumulatorServer.handle_error = lambda *request: _LOG.exception("accumulators")


def _java(conf: Any, messages: Any) -> Any:
    """What leads to the Java of this process, which lives as long as the process;
    started if there is none."""
    from pyspark.java_gateway import launch_gateway

    if not _JAVA:
        _JAVA.append(launch_gateway(conf, {"stdout": messages, "stderr": messages}))
        atexit.register(_end, _JAVA[0])
    return _JAVA[0]


def require_answer(master: str) -> None:
    """Raise BadInput for a standalone master that nobody can connect to,
    rather than let Spark try for a minute."""
    addresses = re.findall(r"(?:spark://|,)([^:,/]+):(\d+)", master) if master.startswith("spark://") else []
    failed: Exception | None = None
    for host, port in addresses:
        try:
            socket.create_connection((host, int(port)), ANSWERED).close()
            return
        except (OSError, OverflowError) as error:
            failed = error
    if failed is not None:
        raise BadInput(f"--master {master}: nobody answers there ({failed}); start one, or give another")


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


def _reason(log: str) -> str | None:
    """Why Spark gave up, as its log has it, if it has: PySpark only says that Java has ended."""
    for pattern in (r"Application has been killed\. Reason: (.+)", r"(?:Exception|Error): (.+)"):
        if found := re.search(pattern, log):
            return found[1].strip()
    return None


def _set_aside(log: Path, size: int) -> Path:
    """Take what a start that failed has added to the log out of it again,
    into a file that is left for a look."""
    with log.open("r+b") as file:
        file.seek(size)
        said = file.read()
        file.truncate(size)
    if not size:
        log.unlink()
    handle, aside = tempfile.mkstemp(prefix="fencepost-spark-", suffix=".log")
    with os.fdopen(handle, "wb") as copy:
        copy.write(said)
    return Path(aside)


def retrying(master: str) -> str:
    """`local[2]` as `local[2,4]`: without the second number, a local Spark tries no task again."""
    return re.sub(r"^local\[(\d+|\*)\]$", rf"local[\1,{ATTEMPTS}]", master)


def spark_errors() -> tuple[type[Exception], ...]:
    """What PySpark raises when Spark fails, or its Java is no more."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return (PySparkException, Py4JError, ConnectionError)


@contextmanager
def halfway(log: Path) -> Iterator[None]:
    """While a sweep is under way: a Spark that fails is an internal error in one line."""
    try:
        yield
    except spark_errors() as error:
        if "No space left on device" in str(error):
            raise BadInput(
                f"{log.parent}: cannot be written (No space left on device); make room. "
                "What is committed stays; --resume goes on"
            ) from error
        raise InternalError(
            f"Spark gave up ({_first_line(error)}); see {log}. What is committed stays; --resume goes on."
        ) from error


def _stop(context: Any) -> None:
    """Stop Spark, unless its Java is no more."""
    if _JAVA[0].proc.poll() is None:
        with suppress(*spark_errors()):
            context.stop()


def _end(gateway: Any) -> None:
    """End the Java process and wait for it: it removes its temporary files."""
    if gateway.proc.poll() is None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()


def abandon() -> None:
    """End Spark at once, with all that is under way: nobody waits for it."""
    for gateway in _JAVA:
        gateway.proc.kill()
        gateway.proc.wait()


def cancel(spark: Any, under_way: Iterable[Future[Any]], pulse: float) -> None:
    """Stop the jobs under way, and look again every `pulse` seconds: one may not have come to Spark yet."""
    while left := [wave for wave in under_way if not wave.done()]:
        with suppress(*spark_errors()):
            spark.sparkContext.cancelAllJobs()
        wait(left, pulse)
