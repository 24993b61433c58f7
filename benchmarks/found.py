"""Measure proofs whose invariants a program finds: `check` and ABC's `pdr` on fixed instances.

    python benchmarks/found.py                measure everything, print the table
    python benchmarks/found.py ledger 4x3     only rows whose names contain all of these words
    python benchmarks/found.py --list         names and commands
    python benchmarks/found.py --output FILE  write the table to a file

A row is an instance with the properties that hold on it. They are asked about together, and badly defined
actions with them. Declared invariants are hidden. Every run of a program is a process of its own, timed from
its start to its end; making the circuit is not part of it. ABC is the program of the wheel `pyosys`. With
`--engine abc`, `check` judges its clauses and asks for witnesses: that is the third column.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from statistics import median

from fencepost.encoding.abc.process import Proof, pdr
from fencepost.encoding.engine.limits import abc_program
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.formulas.aiger import Circuit, CircuitBuilder
from fencepost.encoding.language.protocol import load
from fencepost.encoding.solving.answers import SolverGaveUpError
from fencepost.properties.catalogue import find

EXAMPLES = Path(__file__).parents[1] / "examples"

TIMEOUT = 300
"""The seconds after which a run gives up."""

LONG = 30
"""The seconds after which a run is not repeated."""


@dataclass(frozen=True)
class Row:
    """An instance, with the properties that hold on it; all of its properties if none is named."""

    name: str
    protocol: str
    settings: Mapping[str, object] = field(default_factory=dict)
    properties: tuple[str, ...] = ()

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments after `fencepost check`."""
        sets = [word for name, value in self.settings.items() for word in ("--set", f"{name}={value}")]
        return (self.protocol, *sets, *(word for name in self.properties for word in ("--property", name)))

    @cached_property
    def circuit(self) -> Circuit:
        """The instance as a circuit."""
        file = EXAMPLES.parent / self.protocol
        protocol = load(file) if self.protocol.endswith(".py") else find(self.protocol)
        instance = protocol.instance(self.settings.items())
        return CircuitBuilder(instance.system, instance.properties(*self.properties)).circuit()


TWO_OF_THREE = {"bookies": 3, "ensemble": 2, "write_quorum": 2, "ack_quorum": 2}
MENDED = {"recovery_reads_fence": "yes", "recovery_floor": "fragment"}
CLEAN = (
    "no-divergence",
    "acked-entries-readable",
    "ack-quorum-reached",
    "valid-fragments",
    "entries-in-order",
    "fencing-is-enough",
    "recovery-can-finish",
)
"""The properties of today's protocol that hold with two entries and one recoverer."""

LOG = ("commit-durability", "servable-entries-committed", "assertions")
LOG_02 = (
    *LOG,
    "closed-agreement",
    "closed-stability",
    "committed-not-truncated",
    "commit-on-all",
    "committed-kept",
)
LOG_04 = (*LOG, "progress", "single-active-producer", "commit-on-all", "committed-kept")

TWO_PHASE, COPIES, LOCK = (f"examples/{n}.py" for n in ("two_phase_commit", "two_copies", "lease_lock"))
PUBLIC = {"lock-server": "examples/lock_server.py", "ricart-agrawala": "examples/ricart_agrawala.py"}
"""Public benchmarks, written without invariants."""

ROWS = (
    *(Row(f"{name} {n}", file, {"nodes": n}) for name, file in PUBLIC.items() for n in (3, 5, 7)),
    *(Row(f"two-phase-commit {n}", TWO_PHASE, {"participants": n}) for n in (3, 5, 8)),
    Row("two-copies 3 entries", COPIES, {"entries": 3, "fence": "yes"}),
    Row("lease-lock 4", LOCK, {"holders": 4, "storage": "checks"}),
    Row("ledger-chain 3x2", "ledger-chain", {"clients": 3, "ledgers": 2}),
    Row("ledger-chain 4x3", "ledger-chain", {"clients": 4, "ledgers": 3}),
    Row("bookkeeper-4.13 mended 3/3/2 N=3 L=1", "bookkeeper-4.13", MENDED),
    Row("bookkeeper 2/2/2 N=3 L=1", "bookkeeper", TWO_OF_THREE),
    Row("bookkeeper 3/3/2 N=4 L=1", "bookkeeper"),
    Row("bookkeeper 3/3/2 N=3 L=2", "bookkeeper", {"bookies": 3, "entries": 2}, CLEAN),
    Row("bookkeeper 3/3/2 N=4 L=2", "bookkeeper", {"entries": 2}, ("no-divergence",)),
    Row("bookkeeper 3/3/2 N=4 L=3", "bookkeeper", {"entries": 3}, ("no-divergence",)),
    Row("guaranteed-write-quorum", "bookkeeper-guaranteed-write-quorum"),
    Row("verified-log-01", "verified-log-01"),
    Row("verified-log-02", "verified-log-02", properties=LOG_02),
    Row("verified-log-04", "verified-log-04", properties=LOG_04),
)
"""The rows, from small to large within a protocol."""


@dataclass(frozen=True)
class Run:
    """The result of one run: the worst verdict, its time, and the size of the invariant that was found."""

    verdict: Verdict
    seconds: float
    processor: float
    """The processor seconds of the process."""
    clauses: int | None


def by_abc(row: Row) -> Run:
    """Ask ABC about a row."""
    circuit, used, begun = row.circuit, processor_seconds(), time.perf_counter()
    clauses = None
    try:
        answer = pdr(circuit, TIMEOUT)
    except SolverGaveUpError:
        verdict = Verdict.UNDECIDED
    else:
        verdict = Verdict.PROVED if isinstance(answer, Proof) else Verdict.VIOLATED
        clauses = len(answer.rows) if isinstance(answer, Proof) else None
    return Run(verdict, time.perf_counter() - begun, processor_seconds() - used, clauses)


def by_check(engine: str, row: Row) -> Run:
    """Ask `fencepost check` about a row: start, search, judge and witnesses, with invariants hidden."""
    command = [sys.executable, "-m", "fencepost.cli", "check", *row.arguments, "--drop-declared"]
    command += ["--engine", engine, "--format", "json", "--timeout", str(TIMEOUT)]
    used, begun = processor_seconds(), time.perf_counter()
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=EXAMPLES.parent)
    seconds, processor = time.perf_counter() - begun, processor_seconds() - used
    results = json.loads(ended.stdout)["results"]
    worst = min((Verdict(result["verdict"]) for result in results), key=list(Verdict).index)
    clauses = {clause["text"] for result in results for clause in result["found"]}
    return Run(worst, seconds, processor, len(clauses))


WAYS: Mapping[str, Callable[[Row], Run]] = {
    "fencepost": partial(by_check, "ic3"),
    "ABC pdr": by_abc,
    "fencepost with ABC": partial(by_check, "abc"),
}
"""The programs that are compared, by the name of their columns."""


def processor_seconds() -> float:
    """Return the processor seconds of all ended child processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(row: Row, runs: int) -> dict[str, list[Run]]:
    """Return the runs of a row by each program, in turn; a program with a long run has no further one."""
    found: dict[str, list[Run]] = {way: [] for way in WAYS}
    for _ in range(runs):
        for way, ask in WAYS.items():
            if not (found[way] and found[way][-1].seconds > LONG):
                found[way].append(ask(row))
    return found


def table(measured: Sequence[tuple[Row, Mapping[str, Sequence[Run]]]]) -> str:
    """Return the table: medians of the seconds, and the clauses of the last run."""
    heads = ["instance", "properties", "state bits", "choices", "gates"]
    heads += [f"{way}: {what}" for way in WAYS for what in ("verdict", "wall s", "processor s", "clauses")]
    lines = [heads, ["---"] * len(heads)]
    lines += [[row.name, *_sizes(row.circuit), *_cells(runs)] for row, runs in measured]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _sizes(circuit: Circuit) -> list[str]:
    choices = sum(latch.reset is None for latch in circuit.latches)
    numbers = (len(circuit.bad) - 1, len(circuit.latches) - choices, choices, len(circuit.gates))
    return list(map(str, numbers))


def _cells(measured: Mapping[str, Sequence[Run]]) -> Iterator[str]:
    for runs in measured.values():
        yield runs[-1].verdict.value
        yield f"{median(run.seconds for run in runs):.2f}"
        yield f"{median(run.processor for run in runs):.2f}"
        yield "-" if runs[-1].clauses is None else str(runs[-1].clauses)


def main() -> None:
    """Measure the rows asked for and print or write what was found."""
    parser = argparse.ArgumentParser(description="Proofs whose invariants a program finds.")
    parser.add_argument("words", nargs="*", metavar="WORD", help="only rows whose names contain every WORD")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="runs of each row (default: 3)")
    parser.add_argument("--list", action="store_true", help="show the rows and measure nothing")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the table to a file")
    arguments = parser.parse_args()
    rows = [row for row in ROWS if all(word in row.name for word in arguments.words)]
    if arguments.runs < 1:
        parser.error(f"--runs {arguments.runs}: must be 1 or more")
    if not rows:
        parser.error(f"{' '.join(arguments.words)}: no such row; --list shows them")
    if arguments.list:
        for row in rows:
            print(f"{row.name:38} fencepost check {' '.join(row.arguments)}")
        return
    if abc_program() is None:
        parser.error("ABC is not installed; pip install '.[abc]'")
    measured = []
    for number, row in enumerate(rows, 1):
        runs = measure(row, arguments.runs)
        measured.append((row, runs))
        print(f"[{number}/{len(rows)}] {row.name}: {' '.join(_cells(runs))}", file=sys.stderr, flush=True)
    if arguments.output is None:
        print(table(measured))
    else:
        arguments.output.write_text(table(measured) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
