"""Count how often an ordinary program loses entries or hangs when a bookie stops, without any harness.

    python benchmarks/plain_client.py --bookkeeper LIB --fault stop --quorums 2/2/2 --trials 20

ZooKeeper, the bookies and the program are processes of their own on this machine, with BookKeeper's defaults
but for the options below. The program (`plain/PlainClient.java`) adds entries from several threads. In each
trial it has a new ledger. After a second a bookie of the ensemble stops (`stop`: SIGTERM, `kill`: SIGKILL)
and is started again three seconds later, or it is paused (`pause`: SIGSTOP) and goes on after PAUSE seconds.
Once all bookies are up the program adds no more, and waits for its adds.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fencepost.encoding.errors import BadInput
from fencepost.realcode.harness_session import Harness, answering
from fencepost.realcode.library import OPENED, Library, jdk, library

SOURCE = Path(__file__).parent / "plain" / "PlainClient.java"
LOG = """appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d %p %c{1} %m%ex{0}%n
rootLogger.level=WARN
rootLogger.appenderRef.console.ref=console
"""
"""The processes log no stack traces. A client writes one for each request that fails."""
BEFORE, DOWN, AFTER, STARTED = 1, 3, 1, 60
"""The seconds before the fault, of a stop, after all bookies are up, and within which a process starts."""


@dataclass(frozen=True)
class Workload:
    """The program and the fault."""

    quorums: str
    """E/WQ/AQ."""
    throttle: int
    """`throttleValue` of the client: adds in a second; 0 for none."""
    threads: int
    most: int
    """The most adds under way at a time; 0 for no limit."""
    fault: str
    quorum_timeout: int
    """`addEntryQuorumTimeoutSec` of the client; -1 for none."""
    pause: float
    """The seconds for which a paused bookie is paused."""


@dataclass(frozen=True)
class Found:
    """The result of one trial."""

    acked: int
    waiting: int
    """Adds that are not answered, 15 seconds after the last answer."""
    errors: str
    changed: int
    """1 if the ensemble has changed."""
    below_wq: int
    """Acknowledged entries with fewer than WQ copies on the bookies that the metadata names."""
    below_aq: int
    nowhere: int
    head: str
    """Whether the oldest add that waits has the last ensemble (`new`) or an `old` one; `-` if none waits."""

    @classmethod
    def read(cls, line: str) -> Found:
        """Return the result that a line of the program has."""
        words = dict(word.split("=", 1) for word in line.split())
        return cls(**{k: v if k in ("errors", "head") else int(v) for k, v in words.items()})  # type: ignore[arg-type]


def summary(workload: Workload, release: str, found: Sequence[Found]) -> str:
    """Return the trials as a row of a table."""
    changed = [one for one in found if one.changed]
    most = "no limit" if workload.most == 0 else str(workload.most)
    throttle = "off" if workload.throttle == 0 else str(workload.throttle)
    fault = f"pause of {workload.pause:g} s" if workload.fault == "pause" else workload.fault
    cells = [
        release,
        fault,
        workload.quorums,
        throttle,
        str(workload.threads),
        most,
        f"{len(changed)} of {len(found)}",
        str(sum(one.waiting > 0 for one in found)),
        str(sum(one.head == "old" for one in found)),
        str(sum(one.errors != "{}" for one in found)),
        str(sum(one.below_wq > 0 for one in found)),
        str(sum(one.below_aq > 0 for one in found)),
        str(sum(one.nowhere > 0 for one in found)),
    ]
    return f"| {' | '.join(cells)} |"


HEADINGS = (
    "release",
    "fault",
    "E/WQ/AQ",
    "throttle",
    "threads",
    "adds under way",
    "ensemble changed",
    "adds wait for ever",
    "of these, behind an old ensemble",
    "an add failed",
    "an acked entry has fewer than WQ copies",
    "fewer than AQ",
    "none",
)


@dataclass
class Cluster:
    """ZooKeeper and bookies, each in a process of its own."""

    lib: Library
    folder: Path
    bookies: dict[str, Path] = field(default_factory=dict)
    """The configuration file of each bookie, by its address."""
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    zookeeper: int = 0

    def java(self, *arguments: str) -> list[str]:
        """Return the command of a Java process."""
        opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in OPENED]
        options = [
            "-Xmx512m",
            "-Djava.net.preferIPv4Stack=true",
            "-Dio.netty.tryReflectionSetAccessible=true",
        ]
        return [jdk("java"), *options, *opened, "-cp", f"{self.folder}:{self.lib.class_path}", *arguments]

    def begun(self, log: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Begin a Java process."""
        with open(self.folder / log, "a") as output:
            return subprocess.Popen(
                self.java(*arguments), stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=self.folder
            )

    @property
    def metadata(self) -> str:
        """Return the URI of the metadata."""
        return f"zk+hierarchical://127.0.0.1:{self.zookeeper}/ledgers"

    def start(self, bookies: int) -> None:
        """Start ZooKeeper and the bookies; raise BadInput if one does not start."""
        self.zookeeper = free_port()
        arguments = [str(self.zookeeper), str(self.folder / "zk")]
        self.running["zk"] = self.begun(
            "zk.log", "org.apache.zookeeper.server.ZooKeeperServerMain", *arguments
        )
        listening(self.zookeeper)
        if self.begun("init.log", "PlainClient", "init", self.metadata).wait(STARTED):
            raise BadInput(f"{self.folder / 'init.log'}: the metadata cannot be set up")
        for number in range(bookies):
            port = free_port()
            conf = self.folder / f"bookie{number}.conf"
            settings = {
                "metadataServiceUri": self.metadata,
                "bookiePort": port,
                "listeningInterface": "lo",
                "allowLoopback": "true",
                "advertisedAddress": "127.0.0.1",
                "journalDirectory": self.folder / f"journal{number}",
                "ledgerDirectories": self.folder / f"ledgers{number}",
                "httpServerEnabled": "false",
                "diskUsageThreshold": "0.99",
                "diskUsageWarnThreshold": "0.98",
                "diskUsageLwmThreshold": "0.97",
            }
            conf.write_text(
                "".join(f"{name}={value}\n" for name, value in settings.items()), encoding="utf-8"
            )
            self.bookies[f"127.0.0.1:{port}"] = conf
            self.boot(f"127.0.0.1:{port}")

    def boot(self, bookie: str) -> None:
        """Start a bookie as `bookkeeper bookie` does, and wait until it listens."""
        conf = self.bookies[bookie]
        self.running[bookie] = self.begun(
            f"{conf.stem}.log", "org.apache.bookkeeper.server.Main", "-c", str(conf)
        )
        listening(int(bookie.rpartition(":")[2]))

    def fault(self, bookie: str, workload: Workload) -> None:
        """Stop or pause a bookie, and let it come back."""
        process = self.running[bookie]
        if workload.fault == "pause":
            process.send_signal(signal.SIGSTOP)
            time.sleep(workload.pause)
            process.send_signal(signal.SIGCONT)
            return
        process.send_signal(signal.SIGTERM if workload.fault == "stop" else signal.SIGKILL)
        time.sleep(DOWN)
        process.wait(STARTED)
        self.boot(bookie)

    def end(self) -> None:
        """End all processes."""
        for process in self.running.values():
            process.kill()
        for process in self.running.values():
            process.wait()


def free_port() -> int:
    """Return a port of this machine that is free."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def listening(port: int) -> None:
    """Wait until somebody listens on that port; raise BadInput if nobody does in time."""
    ends = time.monotonic() + STARTED
    while time.monotonic() < ends:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise BadInput(f"port {port}: nobody listens after {STARTED} s")


def trials(lib: Library, workload: Workload, number: int, bookies: int) -> Iterator[Found]:
    """Yield the result of each trial, on bookies that all trials share."""
    with tempfile.TemporaryDirectory(prefix="plain-client-") as folder:
        cluster = Cluster(lib, Path(folder))
        (cluster.folder / "log4j2.properties").write_text(LOG, encoding="utf-8")
        command = [jdk("javac"), "-nowarn", "-d", folder, "-cp", lib.class_path, str(SOURCE)]
        subprocess.run(command, check=True)
        try:
            cluster.start(bookies)
            arguments = [cluster.metadata, *workload.quorums.split("/")]
            arguments += [str(workload.throttle), str(workload.threads), str(workload.most)]
            arguments += [str(workload.quorum_timeout)]
            with answering(cluster.java("PlainClient", *arguments), cluster.folder) as program:
                for _ in range(number):
                    all_up(program, bookies)
                    ensemble = program.ask("begin")["ensemble"].split()
                    time.sleep(BEFORE)
                    cluster.fault(ensemble[0], workload)
                    all_up(program, bookies)
                    time.sleep(AFTER)
                    yield Found.read(program.ask("end")["found"])
        finally:
            cluster.end()


def all_up(program: Harness, bookies: int) -> None:
    """Wait until the program's client knows all bookies."""
    while int(program.ask("bookies")["bookies"]) < bookies:
        time.sleep(0.2)


def main(given: Sequence[str] | None = None) -> int:
    """Run the trials; print each on stderr, and the row of the table on stdout."""
    parser = argparse.ArgumentParser(description="Does an ordinary program lose entries, or hang?")
    parser.add_argument(
        "--bookkeeper", type=Path, required=True, metavar="LIB", help="lib folder of a release"
    )
    parser.add_argument("--trials", type=int, default=20, metavar="N")
    parser.add_argument("--bookies", type=int, default=4, metavar="N")
    parser.add_argument("--quorums", default="2/2/2", metavar="E/WQ/AQ")
    parser.add_argument(
        "--throttle", type=int, default=5000, help="adds in a second (BookKeeper's default: 5000)"
    )
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--most", type=int, default=1000, help="adds under way at a time; 0: no limit")
    parser.add_argument("--quorum-timeout", type=int, default=-1, metavar="SECONDS", help="-1: none")
    parser.add_argument("--fault", choices=("stop", "kill", "pause"), default="stop")
    parser.add_argument("--pause", type=float, default=8, metavar="SECONDS")
    parser.add_argument("--headings", action="store_true", help="print the head of the table first")
    o = parser.parse_args(given)
    workload = Workload(o.quorums, o.throttle, o.threads, o.most, o.fault, o.quorum_timeout, o.pause)
    found = []
    try:
        lib = library(o.bookkeeper)
        for one in trials(lib, workload, o.trials, o.bookies):
            found.append(one)
            print(json.dumps(one.__dict__), file=sys.stderr, flush=True)
    except BadInput as why:
        print(f"{parser.prog}: {why}", file=sys.stderr)
        return 2
    finally:
        if o.headings:
            print(f"| {' | '.join(HEADINGS)} |\n{'| --- ' * len(HEADINGS)}|")
        if found:
            print(summary(workload, lib.version, found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
