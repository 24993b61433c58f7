"""Compare ABC's `pdr`, behind the door of the engine ic3, with `check`: whole processes, with witnesses.

    python benchmarks/abc_search.py             measure every row, print the table
    python benchmarks/abc_search.py 3/3/2 L=2   only rows whose names contain all of these words
    python benchmarks/abc_search.py --file raft.py servers=5   a protocol of one's own, with its properties

ABC gets the properties as a circuit. Its clauses are judged, and witnesses are asked for, as those of the
product's own search. Its paths are not read: a property that it does not prove goes to that search. Declared
invariants are hidden. The program is `yosys-abc` of the wheel `pyosys`. The seconds are processor seconds of
all processes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from found import CLEAN, EXAMPLES, ROWS, TIMEOUT, TWO_OF_THREE, Row, processor_seconds

from abc_pdr import PROGRAM, WITH_INVARIANT, pdr, read_invariant
from fencepost.cli.main import run
from fencepost.encoding.engine.messages import IC3, FoundPath
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.formulas.aiger import CircuitBuilder
from fencepost.encoding.ic3 import found_proof
from fencepost.encoding.ic3.finder import FoundClauses, find
from fencepost.encoding.induction.proof_obligations import Statement
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.solving.solvers import Progress

WAYS: Mapping[str, Sequence[str]] = {
    "abc": ("--engine", "ic3"),
    "ic3": ("--engine", "ic3"),
    "default": (),
}
"""The options of each way; `abc` is ic3 with ABC as its search."""

OTHERS = (
    "bookkeeper 3/3/2 N=3 L=2",
    "bookkeeper 3/3/2 N=4 L=2",
    "bookkeeper 3/3/2 N=4 L=3",
    "guaranteed-write-quorum",
    "ledger-chain 4x3",
    "verified-log-02",
    "verified-log-04",
)
"""The rows of found.py that are taken as they are."""

HOLDING = (*CLEAN, "adds-answered")
"""The properties of today's protocol that hold with one entry; `no-dirty-read` needs another instance."""

ROWS_THAT_HOLD = (
    Row("bookkeeper 2/2/2 N=3 L=1", "bookkeeper", TWO_OF_THREE, HOLDING),
    Row("bookkeeper 3/3/2 N=4 L=1", "bookkeeper", {}, HOLDING),
    *(row for row in ROWS if row.name in OTHERS),
)

FIRST = "--child"
"""The first argument of a process that this program starts to measure it."""


def find_by_abc(
    system: System,
    claims: Sequence[Statement],
    proved: Sequence[Invariant] = (),
    judge: str = "cadical",
    conflicts: int | None = None,
) -> Iterator[Progress | FoundPath | FoundClauses]:
    """Search for clauses that prove the claims, as `find` does. All others go to `find` itself."""
    yield Progress(IC3, 0, 0, 0)
    properties = [claim for claim in claims if isinstance(claim, Property)]
    if len(properties) < len(claims):
        yield from find(system, claims, proved, judge, conflicts)
        return
    answer = pdr(CircuitBuilder(system, properties).circuit(), TIMEOUT, WITH_INVARIANT)
    holding = [claim.name for claim in claims if answer.verdicts[claim.name] is Verdict.PROVED]
    if holding:
        yield FoundClauses(tuple(holding), read_invariant(system, answer.invariant))
    others = [claim for claim in claims if claim.name not in holding]
    if others:
        yield from find(system, others, proved, judge, conflicts)


@dataclass(frozen=True)
class Run:
    """The worst verdict of one run, and its processor seconds."""

    verdict: str
    seconds: float


def measured(row: Row, way: str) -> Run:
    """Run a check in a process of its own."""
    options = ["check", *row.arguments, "--drop-declared", *WAYS[way], "--timeout", str(TIMEOUT)]
    command = [sys.executable, __file__, FIRST, way, *options, "--format", "json"]
    used = processor_seconds()
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=EXAMPLES.parent)
    found = [Verdict(result["verdict"]) for result in json.loads(ended.stdout)["results"]]
    return Run(min(found, key=list(Verdict).index).value, processor_seconds() - used)


def child(way: str, arguments: Sequence[str]) -> int:
    """Run a command in this process, with ABC as the search if the way asks for it."""
    if way == "abc":
        vars(found_proof)["find"] = find_by_abc
    return run(list(arguments))


def line(row: Row, runs: Mapping[str, Sequence[Run]]) -> str:
    """Return the line of a row in the table: the median of each way, and its verdict unless proved."""
    cells = [row.name]
    for found in runs.values():
        verdicts = sorted({one.verdict for one in found} - {"proved"})
        cells.append(" ".join((f"{median(one.seconds for one in found):.1f}", *verdicts)))
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure the rows asked for, the ways in turn, and print the table."""
    parser = argparse.ArgumentParser(description="ABC as the search of IC3, in whole processes.")
    parser.add_argument("words", nargs="*", metavar="WORD", help="only rows whose names contain every WORD")
    parser.add_argument("--file", nargs="+", metavar="FILE", help="a file and its settings, as the only row")
    parser.add_argument("--way", action="append", choices=WAYS, help="only this way (repeatable)")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="runs of each row (default: 3)")
    arguments = parser.parse_args()
    if PROGRAM is None:
        parser.error("ABC is not installed; the wheel pyosys has it as yosys-abc")
    rows = [row for row in ROWS_THAT_HOLD if all(word in row.name for word in arguments.words)]
    if arguments.file:
        file, *settings = arguments.file
        rows = [Row(" ".join(arguments.file), file, dict(text.split("=", 1) for text in settings))]
    ways = arguments.way or list(WAYS)
    print(f"| instance | {' | '.join(ways)} |\n|{'---|' * (len(ways) + 1)}")
    for row in rows:
        runs: dict[str, list[Run]] = {way: [] for way in ways}
        for _ in range(arguments.runs):
            for way, found in runs.items():
                found.append(measured(row, way))
        print(line(row, runs), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == [FIRST]:
        sys.exit(child(sys.argv[2], sys.argv[3:]))
    main()
