"""A session with the harness: one line is sent, one line is answered.

The answers come from the real code or from a transcript.
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
from typing import Any, Protocol

from fencepost.encoding.errors import BadInput
from fencepost.realcode.library import OPENED, Library, compiled, jdk

BOOTING = 120
"""The seconds that one command may take in all, for example to boot or shut down bookies."""

Answer = dict[str, Any]


class CodeFailed(Exception):
    """An exception of the code under test in a call of the harness. The message names it."""


class HarnessSession(Protocol):
    """A session that answers lines."""

    def ask(self, command: str, **arguments: object) -> Answer:
        """Return the code's answer to one line; raise CodeFailed if the code throws."""


def written(command: str, arguments: dict[str, object]) -> str:
    """Return the command as the line that is sent."""
    return " ".join([command, *(f"{name}={value}" for name, value in arguments.items())])


def dumped(answer: Answer) -> str:
    """Return the answer as the line that is kept."""
    return json.dumps(answer, sort_keys=True)


def opened(answer: str) -> Answer:
    """Return the content of an answer; raise CodeFailed if it is an error."""
    found = json.loads(answer)
    if "error" in found:
        raise CodeFailed(str(found["error"]))
    ok = found["ok"]
    assert isinstance(ok, dict)
    return ok


@dataclass
class Recording:
    """A session that records its lines, so that they can be played back without the code."""

    session: HarnessSession
    lines: list[tuple[str, str]] = field(default_factory=list)

    def ask(self, command: str, **arguments: object) -> Answer:
        """Ask the session, and record the line and its answer or error."""
        line = written(command, arguments)
        try:
            answer = self.session.ask(command, **arguments)
        except CodeFailed as failure:
            self.lines.append((line, dumped({"error": str(failure)})))
            raise
        self.lines.append((line, dumped({"ok": answer})))
        return answer


class OutOfStep(Exception):
    """A line that differs from the next line of the transcript."""


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

    def __init__(self, process: subprocess.Popen[str]) -> None:
        """Start to read the answers of the process."""
        self.process = process
        self._answers: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._answers.put(line)
        self._answers.put("")

    def ask(self, command: str, **arguments: object) -> Answer:
        """Return the answer; raise CodeFailed if the code throws, BadInput if it does not answer."""
        assert self.process.stdin is not None
        line = written(command, arguments)
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self._answers.get(timeout=BOOTING)
        except queue.Empty:
            raise BadInput(
                f"{line}: the code has not answered for {BOOTING} s; it hangs, and is ended"
            ) from None
        except OSError:
            answer = ""
        if not answer:
            raise BadInput(f"{line}: the code's process has ended; look at its log with -v")
        return opened(answer)

    def end(self) -> None:
        """End the process and all processes that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


@contextlib.contextmanager
def running(lib: Library, log: Path | None = None) -> Iterator[Harness]:
    """Run the harness on that release in a temporary folder, which is removed at the end.

    `log` is the file for BookKeeper's own log; by default it is in the temporary folder. Raises BadInput
    without a JDK.
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
            "-cp",
            f"{classes}:{lib.class_path}",
            "fencepost.Harness",
            folder,
        ]
        with open(log or Path(folder) / "log", "w", encoding="utf-8") as errors:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=folder,
                start_new_session=True,
            )
            harness = Harness(process)
            try:
                yield harness
            finally:
                harness.end()
