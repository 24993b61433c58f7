"""Answer the questions of grids/usual-setups.toml on Spark, and write answers/usual.jsonl.

    python benchmarks/usual.py                  every setup
    python benchmarks/usual.py "3/2/2 on 4"     only setups whose line contains the text; the other rows stay
    python benchmarks/usual.py --list           the setups and the number of their questions, and ask nothing

A sweep that was stopped goes on. A row is written only if all its questions were answered in time.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fencepost.answers.setups import Setup
from fencepost.answers.usual import PLACE, setup_of
from fencepost.encoding.documents import SETTINGS, parse_json, parse_toml, read_text
from fencepost.encoding.errors import BadInput
from fencepost.sweeps.advice_cases import cases_of, setups, unadvised, usual_row
from fencepost.sweeps.engine_version import engine
from fencepost.sweeps.grid import Plan
from fencepost.sweeps.pipeline import Sweep, run
from fencepost.sweeps.rows import Row
from fencepost.sweeps.solve import Allowance
from fencepost.sweeps.store import Store
from fencepost.sweeps.sweep_manifest import hash_of

ROOT = Path(__file__).resolve().parents[1]
GRID = ROOT / "grids" / "usual-setups.toml"
ROWS = ROOT / "answers" / PLACE.name
FOLDER = ROOT / ".venv" / "usual"
"""The folder of the sweeps, one for each engine and choice of setups."""

TIMEOUT = 1800.0
"""The seconds of a question. Its limit of conflicts ends it long before that."""


def usual_setups() -> list[Setup]:
    """Return the setups of the grid, each once."""
    tables = parse_toml(read_text(GRID, "", SETTINGS), str(GRID), "")["grid"]
    found = {as_text(setup_of(setup)): setup for table in tables for setup in setups(table)}
    return [found[name] for name in sorted(found)]


def line(setup: Setup) -> str:
    """Return a setup in words, for people and for the filter."""
    journal = "" if setup.journal else ", journal off"
    unsynced = "" if setup.sync else ", unsynced"
    return f"{setup.configuration} on {setup.bookies}, {setup.release}, {setup.storage}{journal}{unsynced}"


def answered(asked: Sequence[Setup], master: str) -> dict[str, Row]:
    """Answer the questions about these setups on Spark, and return the rows by id."""
    cases = dict.fromkeys(case for setup in asked for case in cases_of(unadvised(setup)))
    plan = Plan(tuple(sorted(cases, key=lambda case: (-case.weight, repr(case)))), 0, 0, 0)
    folder = FOLDER / hash_of(case.identify(engine()) for case in cases)[:16]
    folder.parent.mkdir(parents=True, exist_ok=True)
    begun = time.perf_counter()

    def tell(rows: Iterable[Row]) -> None:
        done.update(row["id"] for row in rows)
        print(f"{len(done)} of {len(cases)} questions, {time.perf_counter() - begun:.0f} s", flush=True)

    done: set[str] = set()
    run(Sweep(plan, folder, master, Allowance(TIMEOUT), resume=True), tell)
    return {row["id"]: row for row in Store(folder).rows()}


def as_text(document: Any) -> str:
    """Return a document as one line."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def write(rows: Iterable[dict[str, Any]]) -> None:
    """Write the rows at once, sorted by their setups."""
    lines = sorted(as_text(row) for row in rows)
    lines.sort(key=lambda text: as_text(json.loads(text)["setup"]))
    temporary = ROWS.with_suffix(".part")
    temporary.write_text("".join(f"{text}\n" for text in lines), encoding="utf-8")
    os.replace(temporary, ROWS)


def main() -> int:
    """Write the rows. Exits with 1 if some setup has none."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="?", default="", help="a part of the lines of the setups")
    parser.add_argument("--list", action="store_true", help="list the setups")
    parser.add_argument("--master", default="local[*]", help="the master of Spark")
    given = parser.parse_args()
    everything = usual_setups()
    asked = [setup for setup in everything if given.only in line(setup)]
    if given.list:
        cases = {case for setup in asked for case in cases_of(unadvised(setup))}
        print(*map(line, asked), f"{len(asked)} setups, {len(cases)} questions", sep="\n")
        return 0
    rows = answered(asked, given.master)
    new = {line(setup): usual_row(unadvised(setup), rows, engine()) for setup in asked}
    again = [setup_of(setup) for setup in asked]
    listed = [setup_of(setup) for setup in everything]
    before = [parse_json(text, str(ROWS), "") for text in read_text(ROWS, "").splitlines()]
    kept = [row for row in before if row["setup"] in listed and row["setup"] not in again]
    write([*kept, *filter(None, new.values())])
    missing = [name for name, row in new.items() if row is None]
    for name in missing:
        print(f"no row: {name}: an error, or out of time", file=sys.stderr)
    print(f"{len(new) - len(missing)} rows computed, {len(kept)} kept")
    return 1 if missing else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BadInput as error:
        sys.exit(f"usual: {error}")
