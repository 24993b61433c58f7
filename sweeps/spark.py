"""Spark: its presence, its master, a session, and its failures in one line."""

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
"""The number of attempts that Spark makes at a task whose process died."""

ANSWERED = 5.0
"""The seconds in which a standalone master must accept a connection."""

EXTRA = "fencepost[spark]"

_LOG = logging.getLogger(__name__)
_LOG.addHandler(logging.NullHandler())  # without an open log, messages are dropped

_JAVA: list[Any] = []
"""The connection to the Java of this process, once it is started. PySpark uses only one."""


def require_spark() -> None:
    """Raise BadInput unless Java and the packages of the extra are installed."""
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
    """Yield a Spark session whose messages go to a file.

    All sessions of a process share one Java, so only the first decides the file.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    require_answer(master)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["PYTHONSAFEPATH"] = "1"  # Spark starts `python -m` here, and a file here is no module of it
    conf = SparkConf().setAppName("fencepost sweep").setMaster(retrying(master))
    conf.set("spark.task.maxFailures", str(ATTEMPTS))
    conf.set("spark.ui.enabled", "false").set("spark.ui.showConsoleProgress", "false")
    conf.set("spark.sql.leafNodeDefaultParallelism", "1000000")  # a partition for each case
    if master.startswith("local"):
        conf.set("spark.driver.host", "127.0.0.1")
    with log.open("ab") as messages, _logging_to(log):
        before = messages.tell()
        with ExitStack() as end:
            try:
                end.callback(_stop)
                context = SparkContext(conf=conf, gateway=_java(conf, messages))
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
    """Send log messages of Spark's Python side, such as the traceback of an interrupt, to the file."""
    handler = logging.FileHandler(log)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()


def _log_what_fails_in(context: Any) -> None:
    """Send errors of the accumulator server, which come when Java ends, to the log and not to stderr."""
    context._accumulatorServer.handle_error = lambda *request: _LOG.exception("accumulators")


def _java(conf: Any, messages: Any) -> Any:
    """Return the connection to the Java of this process; start Java if it does not run."""
    from pyspark.java_gateway import launch_gateway

    if not _JAVA:
        _JAVA.append(launch_gateway(conf, {"stdout": messages, "stderr": messages}))
        atexit.register(_end, _JAVA[0])
    return _JAVA[0]


def require_answer(master: str) -> None:
    """Raise BadInput for a standalone master that does not answer.

    Spark alone would try for a minute.
    """
    addresses = re.findall(r"(?:spark://|,)([^:,/]+):(\d+)", master) if master.startswith("spark://") else []
    failed: Exception | None = None
    for host, port in addresses:
        try:
            socket.create_connection((host, int(port)), ANSWERED).close()
            return
        except (OSError, OverflowError) as error:
            failed = error
    if failed is not None:
        raise BadInput(f"--master {master}: does not answer ({failed}); start one, or give another")


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


def _reason(log: str) -> str | None:
    """Return the reason why Spark gave up, from its log, if the log has one.

    PySpark says only that Java has ended.
    """
    for pattern in (r"Application has been killed\. Reason: (.+)", r"(?:Exception|Error): (.+)"):
        if found := re.search(pattern, log):
            return found[1].strip()
    return None


def _set_aside(log: Path, size: int) -> Path:
    """Move the messages of a failed start from the log into a file that is kept."""
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
    """Return `local[2]` as `local[2,4]`: without the second number, a local Spark repeats no task."""
    return re.sub(r"^local\[(\d+|\*)\]$", rf"local[\1,{ATTEMPTS}]", master)


def spark_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that PySpark raises when Spark fails or its Java has ended."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return (PySparkException, Py4JError, ConnectionError)


@contextmanager
def halfway(log: Path) -> Iterator[None]:
    """Raise InternalError, in one line, for a failure of Spark during a sweep."""
    try:
        yield
    except spark_errors() as error:
        if "No space left on device" in str(error):
            raise BadInput(
                f"{log.parent}: cannot be written (No space left on device); make room. "
                "Committed rows are kept; --resume goes on"
            ) from error
        raise InternalError(
            f"Spark gave up ({_first_line(error)}); see {log}. Committed rows are kept; --resume goes on."
        ) from error


def _stop() -> None:
    """Stop Spark, also a context whose making was interrupted, unless its Java has ended."""
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is not None and _JAVA[0].proc.poll() is None:
        with suppress(*spark_errors()):
            context.stop()


def _end(gateway: Any) -> None:
    """End the Java process and wait, because it removes its temporary files."""
    if gateway.proc.poll() is None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()


def abandon() -> None:
    """End Spark at once, with all running work."""
    for gateway in _JAVA:
        gateway.proc.kill()
        gateway.proc.wait()


def cancel(spark: Any, under_way: Iterable[Future[Any]], pulse: float) -> None:
    """Stop the running jobs.

    A job may not have reached Spark yet, so it is looked for again every `pulse` seconds.
    """
    while left := [wave for wave in under_way if not wave.done()]:
        with suppress(*spark_errors()):
            spark.sparkContext.cancelAllJobs()
        wait(left, pulse)
