"""Measure the protocols of other people in examples/corpus, and write docs/corpus.md.

    python benchmarks/corpus.py                 measure every row, write the table
    python benchmarks/corpus.py voting          only protocols whose names contain the word; the rest stays
    python benchmarks/corpus.py --table         write the table again, measure nothing

Each row is one process with two workers and a time limit. The results stand in
docs/generated/corpus.json, and the table is made from them.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import resource
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language.protocol import Protocol, load
from fencepost.encoding.language.system import System

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "examples" / "corpus"
PAGE = ROOT / "docs" / "corpus.md"
RESULTS = ROOT / "docs" / "generated" / "corpus.json"
BEGIN, END = "<!-- the table: make corpus -->", "<!-- the end of the table -->"
TIMEOUT = 120
"""The seconds after which a row is undecided."""


@dataclass(frozen=True)
class Row:
    """One instance of a protocol: the expected verdict, and what another tool says of it.

    - `expect`: the verdict, or `open` if none has been seen.
    - `states`: the number of all reachable states; None if they are not counted.
    - `orbits`: their number up to symmetry; None if the states are counted one by one.
    - `engine`: the engine asked for; None if Fencepost chooses.
    - `elsewhere`: the figure of another tool, with its machine and source.
    - `long`: whether the row is too long for `make test`.
    """

    file: Path
    original: str
    original_lines: int
    prop: str
    expect: str
    set: Mapping[str, object] = field(default_factory=dict)
    steps: int | None = None
    states: int | None = None
    orbits: int | None = None
    engine: str | None = None
    elsewhere: str = ""
    long: bool = False

    @cached_property
    def name(self) -> str:
        """The protocol and its settings, as a key of the results."""
        settings = [f"{name}={value}" for name, value in self.set.items()]
        return " ".join([self.file.stem, *settings, *([self.engine] if self.engine else [])])

    @cached_property
    def settings(self) -> list[str]:
        """The settings as options of the command line."""
        return [f"--set={name}={value}" for name, value in self.set.items()]

    def protocol(self) -> Protocol:
        """Return the protocol."""
        return load(self.file)

    def system(self) -> System:
        """Return the transition system of the instance."""
        protocol = self.protocol()
        return protocol.system(protocol.parameters([(n, str(v)) for n, v in self.set.items()]))


def rows() -> list[Row]:
    """Return the rows of examples/corpus/corpus.toml. Raises TypeError for an unknown key."""
    found = []
    for protocol in tomllib.loads((FOLDER / "corpus.toml").read_text())["protocol"]:
        shared = {name: value for name, value in protocol.items() if name != "rows"}
        shared["file"] = (FOLDER / protocol["file"]).resolve()
        found += [Row(**shared, **own) for own in protocol["rows"]]
    return found


def code_lines(path: Path) -> int:
    """Return the number of lines with code: no blanks, comments or docstrings."""
    text = path.read_text()
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            docstrings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(n not in docstrings and bool(s.strip()) and not s.strip().startswith("#") for n, s in lines)


def bits(system: System) -> int:
    """Return the bits of a state: those of each variable that an action or the beginning varies."""
    varying = Symbolic(system).varying
    return sum(math.ceil(math.log2(len(v.domain))) for v in system.variables if v.place in varying)


def command(row: Row, *words: str) -> dict[str, Any]:
    """Run a command of Fencepost on a row; return its JSON, with `wall` and `cpu` seconds."""
    line = [sys.executable, "-m", "fencepost.cli", words[0], str(row.file), *row.settings, *words[1:]]
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [*line, f"--property={row.prop}", "--format=json", f"--timeout={TIMEOUT}"],
        capture_output=True,
        text=True,
        check=False,
    )
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - begun
    if not done.stdout:
        raise RuntimeError(f"{row.name}: no result; {done.stderr.strip().splitlines()[-1:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found: dict[str, Any] = json.loads(done.stdout)
    if "results" not in found:
        raise RuntimeError(f"{row.name}: no verdict; {done.stdout.strip():.200}")
    return found | {"wall": wall, "cpu": cpu}


def measure(row: Row) -> dict[str, object]:
    """Return what one row gives, as data for the table."""
    document = command(row, "check", *([f"--engine={row.engine}"] if row.engine else []))
    (result,) = document["results"]
    return {
        "verdict": result["verdict"],
        "steps": result["steps"],
        "fewest": result["fewest"],
        "basis": result["basis"],
        "clauses": len(result["found"] or ()),
        "wall": round(document["wall"], 1),
        "cpu": round(document["cpu"], 1),
    }


def verdict(found: Mapping[str, Any]) -> str:
    """Return the verdict in words."""
    said = str(found["verdict"])
    if said == "violated":
        fewest = "fewest" if found["fewest"] == "of-all" else "fewer may be possible"
        said += f" in {found['steps']} step{'s' * (found['steps'] != 1)} ({fewest})"
    return said


def engine(found: Mapping[str, Any]) -> str:
    """Return the engine that decided, with the number of clauses that it found."""
    clauses = f", {found['clauses']} clauses" if found["clauses"] else ""
    return f"{found['basis'] or '-'}{clauses}"


def table(asked: Sequence[Row], results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table in Markdown; a row that was not measured says so."""
    heads = (
        "protocol",
        "lines",
        "theirs",
        "instance",
        "bits",
        "states",
        "verdict",
        "by",
        "CPU s",
        "wall s",
        "elsewhere",
    )
    lines = [heads, ["---"] * len(heads)]
    for row in asked:
        found = results.get(row.name)
        parameters = " ".join(f"{name}={value}" for name, value in row.set.items()) or "defaults"
        lines.append(
            [
                row.file.stem,
                str(code_lines(row.file)),
                str(row.original_lines),
                parameters,
                str(bits(row.system())),
                (f"{row.states:,}" if row.states else "-")
                + (f" ({row.orbits:,} up to symmetry)" if row.orbits else ""),
                *(
                    (verdict(found), engine(found), str(found["cpu"]), str(found["wall"]))
                    if found
                    else ("not measured", "-", "-", "-")
                ),
                row.elsewhere or "-",
            ]
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Measure the rows asked for, and write the page."""
    parser = argparse.ArgumentParser(description="Measure the corpus of other people's protocols.")
    parser.add_argument("words", nargs="*", metavar="WORD", help="only rows whose names contain a WORD")
    parser.add_argument("--table", action="store_true", help="measure nothing, write the table")
    asked = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for row in rows():
        if asked.table or (asked.words and not any(word in row.name for word in asked.words)):
            continue
        results[row.name] = measure(row)
        print(f"{row.name}: {verdict(results[row.name])}, {results[row.name]['wall']} s", file=sys.stderr)
        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table(rows(), results)}\n\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
