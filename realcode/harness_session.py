"""A session with the harness: one line is sent, one line is answered.

The answers come from the real code or from a transcript. The process writes them to a pipe of their own. What
it prints elsewhere, such as the report of a JVM that crashes, is no answer: it goes into the error message.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TextIO

from fencepost.encoding.errors import BadInput
from fencepost.encoding.safe_text import one_line
from fencepost.realcode.library import OPENED, Library, compiled, jdk

BOOTING = 120
"""The seconds that one command may take in all, for example to boot or shut down bookies."""

SAID, LAST_LINES = 600, 20
"""The most characters and lines that a message quotes of what the process has printed."""

WITH_LOG = "run again with --log FILE to keep BookKeeper's log"

Answer = dict[str, Any]


class CodeFailed(Exception):
    """An exception of the code under test in a call of the harness. The message names it."""


class HarnessFailed(BadInput):
    """A failure of the harness or of the code's process, in one line. It says nothing about the code."""


class HarnessSession(Protocol):
    """A session that answers lines."""

    def ask(self, command: str, **arguments: object) -> Answer:
        """Return the code's answer to one line.

        Raises CodeFailed if the code throws, HarnessFailed if there is no answer.
        """


def written(command: str, arguments: dict[str, object]) -> str:
    """Return the command as the line that is sent."""
    return " ".join([command, *(f"{name}={value}" for name, value in arguments.items())])


def dumped(answer: Answer) -> str:
    """Return the answer as the line that is kept."""
    return json.dumps(answer, sort_keys=True)


def opened(answer: str) -> Answer:
    """Return the content of an answer.

    Raises CodeFailed if it is an error of the code, HarnessFailed if it is a failure or no answer at all.
    """
    try:
        found = json.loads(answer)
    except ValueError:
        found = None
    if isinstance(found, dict):
        if "error" in found:
            raise CodeFailed(str(found["error"]))
        if "failed" in found:
            raise HarnessFailed(str(found["failed"]))
        if isinstance(found.get("ok"), dict):
            return dict(found["ok"])
    raise HarnessFailed(f"{one_line(answer)!r:.200} is no answer of the harness")


@dataclass
class Recording:
    """A session that records its lines, so that they can be played back without the code."""

    session: HarnessSession
    lines: list[tuple[str, str]] = field(default_factory=list)

    def ask(self, command: str, **arguments: object) -> Answer:
        """Ask the session, and record the line and its answer, error or failure."""
        line = written(command, arguments)
        try:
            answer = self.session.ask(command, **arguments)
        except CodeFailed as failure:
            self.lines.append((line, dumped({"error": str(failure)})))
            raise
        except HarnessFailed as failure:
            self.lines.append((line, dumped({"failed": str(failure)})))
            raise
        self.lines.append((line, dumped({"ok": answer})))
        return answer


class OutOfStep(Exception):
    """A line that differs from the next line of the transcript."""


NOT_THIS_RUN = (OutOfStep, LookupError, TypeError, ValueError, AttributeError)
"""The errors of a playback whose questions or answers are those of another run.

The model reads the answers that it asked for, and here they have another form.
"""


@dataclass
class Playback:
    """A session from a transcript: it answers as recorded while the same lines are asked."""

    lines: Sequence[tuple[str, str]]
    at: int = 0

    def ask(self, command: str, **arguments: object) -> Answer:
        """Return the recorded answer; raise OutOfStep if another line was recorded."""
        line = written(command, arguments)
        recorded = self.lines[self.at][0] if self.at < len(self.lines) else "nothing"
        if line != recorded:
            raise OutOfStep(f"line {self.at + 1}: asked: {line}; recorded: {recorded}")
        self.at += 1
        return opened(self.lines[self.at - 1][1])


class Harness:
    """The Java process with real bookies, real clients and a real ZooKeeper. Use `running`."""

    def __init__(self, process: subprocess.Popen[str], answers: TextIO, printed: Path) -> None:
        """Start to read the answers of the process. `printed` is the file with its standard output."""
        self.process = process
        self.printed = printed
        self._pipe = answers
        self._answers: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._pipe:
            self._answers.put(line)
        self._answers.put("")

    def ask(self, command: str, **arguments: object) -> Answer:
        """Return the answer; raise CodeFailed if the code throws, HarnessFailed if it does not answer."""
        assert self.process.stdin is not None
        line = written(command, arguments)
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self._answers.get(timeout=BOOTING)
        except queue.Empty:
            raise HarnessFailed(
                f"{line}: the code has not answered for {BOOTING} s; it hangs, and is ended{self._said()}"
            ) from None
        except OSError:
            answer = ""
        if not answer:
            raise HarnessFailed(f"{line}: the code's process has ended{self._said()}; {WITH_LOG}")
        return opened(answer)

    def _said(self) -> str:
        """Return the last lines that the process printed beside its answers, as a part of a message."""
        with contextlib.suppress(OSError):
            lines = self.printed.read_text(encoding="utf-8", errors="replace").splitlines()[-LAST_LINES:]
            said = " ".join(filter(None, (line.strip("# \t") for line in lines)))
            return f", and has printed: {one_line(said, SAID)}" if said else ""
        return ""

    def end(self) -> None:
        """End the process and all processes that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self._pipe):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


@contextlib.contextmanager
def answering(command: Sequence[str], folder: Path, errors: TextIO | None = None) -> Iterator[Harness]:
    """Run a command that answers lines on the pipe whose path is its last argument, and end it afterwards.

    What it prints goes to the file `printed` in the folder, and its log to `errors`.
    """
    reading, writing = os.pipe()
    printed = folder / "printed"
    with open(reading, encoding="utf-8", errors="replace") as answers, open(printed, "wb") as output:
        try:
            process = subprocess.Popen(
                [*command, f"/dev/fd/{writing}"],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=errors,
                text=True,
                cwd=folder,
                start_new_session=True,
                pass_fds=(writing,),
            )
        finally:
            os.close(writing)
        harness = Harness(process, answers, printed)
        try:
            yield harness
        finally:
            harness.end()


@contextlib.contextmanager
def running(lib: Library, log: Path | None = None, options: Sequence[str] = ()) -> Iterator[Harness]:
    """Run the harness on that release in a temporary folder, which is removed at the end.

    `log` is the file for BookKeeper's own log; by default it is in the temporary folder. `options` are more
    options of the JVM. Raises BadInput without a JDK.
    """
    java, classes = jdk("java"), compiled(lib)
    with tempfile.TemporaryDirectory(prefix="fencepost-", ignore_cleanup_errors=True) as folder:
        command = [
            java,
            "-Xmx1g",
            "-XX:TieredStopAtLevel=1",
            "-Djava.net.preferIPv4Stack=true",
            "-Dio.netty.tryReflectionSetAccessible=true",
            *(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in OPENED),
            *options,
            "-cp",
            f"{classes}:{lib.class_path}",
            "fencepost.Harness",
            folder,
        ]
        with (
            open(log or Path(folder) / "log", "w", encoding="utf-8") as errors,
            answering(command, Path(folder), errors) as harness,
        ):
            yield harness
