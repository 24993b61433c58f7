"""The repairs of the known bugs: single stronger guards, beside the mends of the table.

    python benchmarks/repairs.py FOLDER --output docs/generated/repairs.md

`fencepost known NAME --repairs` is run for each bug, those with the shortest counterexamples first, and its
JSON is kept in FOLDER. A file that is already there is not made again. A bug without a file is not tried.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fencepost.advice.known import KNOWN
from fencepost.encoding.mutation.repairs import Tried

HEAD = """\
# Repairs

This page is for committers of BookKeeper, and for those who change Fencepost. After it you know for which
known bugs a single stronger guard rules the bug out.

Written by `python benchmarks/repairs.py`. [known.md](../known.md#repairs) says which changes are tried, and
how a repair is to be read. *Lines* are those that the mend of [mends.md](mends.md) changes in the rules; a
repair has one. *All* means that each change was decided, or agrees in all states seen with one that was. *In
part* means that the time ended before. The smallest repair is shown; `fencepost known NAME --repairs` lists
the others.

"""
COLUMNS = ("bug", "changes", "decided", "repairs", "the smallest repair", "lines of the mend", "a repair is")

Result = Mapping[str, Any]


def file_of(bug: str, folder: Path) -> Path:
    """Return the file with the document about a bug."""
    return folder / f"{bug.replace('/', '-')}.json"


def document(bug: str, folder: Path) -> Mapping[str, Any] | None:
    """Return the document about a bug, None if there is none or its run was interrupted."""
    file = file_of(bug, folder)
    found: Mapping[str, Any] | None = json.loads(file.read_text("utf-8")) if file.exists() else None
    return None if found is None or found["interrupted"] else found


def run(folder: Path, seconds: float, most: float) -> None:
    """Try repairs for those seconds each, until the processes have used the most processor seconds."""
    for known in sorted(KNOWN, key=lambda one: one.steps or math.inf):
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        if document(known.name, folder) or used.ru_utime + used.ru_stime > most:
            continue
        asked = [known.name, "--repairs", "--jobs=1", f"--timeout={seconds:g}", "--format=json"]
        command = [
            str(Path(sys.executable).with_name("fencepost")),
            "known",
            *asked,
            f"--output={file_of(known.name, folder)}",
        ]
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL)


def kind(result: Result) -> str:
    """Return how the repairs compare with the mend of the table."""
    if not result["repairs"]:
        return "not found" if result["tried"] else "not tried, no counterexample in time"
    if any(one["is_mend"] for one in result["repairs"]):
        return "the mend"
    return "smaller" if result["mend_lines"] > 1 else "as small"


def row(bug: str, result: Result | None) -> tuple[str, ...]:
    """Return the cells about a bug."""
    if result is None:
        return (bug, "-", "-", "-", "-", "-", "not tried")
    tried, found = result["tried"], result["repairs"]
    is_whole = tried and not {Tried.LEFT.value, Tried.UNDECIDED.value} & tried.keys()
    first = "-"
    if found:
        conjunct = found[0]["conjunct"].replace("|", "\\|")
        first = f"`{found[0]['action'].partition('(')[0]}`: `{conjunct}`, {found[0]['verdict']}"
    decided = "all" if is_whole else "in part"
    lines = str(result["mend_lines"]) if result["mend"] else "-"
    return (bug, f"{sum(tried.values()):,}", decided, str(len(found)), first, lines, kind(result))


def summary(documents: Iterable[Mapping[str, Any] | None]) -> str:
    """Return the sentences that count the bugs."""
    every = list(documents)
    tried = [one for one in every if one and one["results"][0]["tried"]]
    kinds = Counter(kind(one["results"][0]) for one in tried)
    seconds = [one["seconds"] for one in tried]
    found = len(tried) - kinds["not found"]
    return f"""\
{len(tried)} of {len(every)} bugs were tried, and {len(every) - len(tried)} were not. The runs took
{sum(seconds):,.0f} s together and at most {max(seconds):.0f} s each, beside other work of the machine.
{found} of the bugs tried have a repair. For {kinds["the mend"]} it is the mend line for line, for
{kinds["smaller"]} it is smaller, for {kinds["as small"]} as small.

"""


def page(folder: Path) -> Iterator[str]:
    """Yield the parts of the page."""
    documents = {known.name: document(known.name, folder) for known in KNOWN}
    yield HEAD + summary(documents.values())
    yield "| " + " | ".join(COLUMNS) + " |\n"
    yield "|---" * len(COLUMNS) + "|\n"
    for bug, found in documents.items():
        cells = row(bug, found["results"][0] if found else None)
        yield "| " + " | ".join(cells) + " |\n"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description="List single stronger guards that rule known bugs out.")
    parser.add_argument("folder", type=Path, help="the folder of the JSON documents")
    parser.add_argument("--seconds", type=float, default=120.0, help="for each bug")
    parser.add_argument("--most", type=float, default=math.inf, help="processor seconds; 0: run nothing")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="write the page")
    given = parser.parse_args()
    if given.most:
        run(given.folder, given.seconds, given.most)
    given.output.write_text("".join(page(given.folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
