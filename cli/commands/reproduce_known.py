"""`fencepost reproduce [BUG]...`: the known bugs on the real code of releases, as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fencepost.cli.exits import ExitCode
from fencepost.cli.process.handover import elapsed
from fencepost.cli.rendering.reproduction import SETTING, setting_object, spoken
from fencepost.encoding import keys as k
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.errors import BadInput, time_out
from fencepost.encoding.language.traces import Trace
from fencepost.properties.expectations import Expectation
from fencepost.realcode.harness_session import running
from fencepost.realcode.library import Library
from fencepost.realcode.matrix import Cell, Mark, bugs, cell, trace_of, without_running
from fencepost.realcode.reproduction import reproduce, setting_of

if TYPE_CHECKING:
    from fencepost.cli.commands.reproduce import ReproduceOptions

SECONDS = 600
"""The seconds that finding one counterexample may take."""


def matrix(libraries: Sequence[Library], asked: ReproduceOptions) -> ExitCode:
    """Drive each bug on each release and storage, as far as time allows, and print the matrix."""
    runs = [
        (known, lib, storage)
        for known in bugs(asked.names)
        for lib in libraries
        for storage in asked.storages
    ]
    cells: list[Cell] = []
    for known, lib, storage in runs:
        if elapsed() < asked.timeout:
            click.echo(f"{known.name} on {setting_of(lib, storage).code}, {storage}", err=True)
            cells.append(_cell(known, lib, storage, asked.log))
        else:
            why = time_out(asked.timeout)
            cells.append(Cell(known.name, setting_of(lib, storage), Mark.NOT_REACHED, why))
    asked.show(cells, _text, _json)
    return _exit_code(cells)


_TRACES: dict[str, Trace | None] = {}
"""The counterexample of each bug, found once for all releases."""


def _cell(known: Expectation, lib: Library, storage: str, log: Path | None) -> Cell:
    setting = setting_of(lib, storage)
    found = without_running(known, setting)
    if found is not None:
        return found
    if known.name not in _TRACES:
        _TRACES[known.name] = trace_of(known, Limits(timeout=SECONDS))
    trace = _TRACES[known.name]
    if trace is None:
        return Cell(known.name, setting, Mark.NO_TRACE, f"not found within {SECONDS} s")
    try:
        with running(lib, log) as harness:
            return cell(known, reproduce(trace, setting, harness))
    except BadInput as error:
        return Cell(known.name, setting, Mark.NO_TRACE, str(error))


DRIVEN = (Mark.HAS, Mark.REFUSES, Mark.PARTED)
"""The results that only a run on the code gives."""


def _text(cells: Sequence[Cell]) -> str:
    width, wide = max(len(c.bug) for c in cells), max(len(c.setting.code) for c in cells)
    lines = []
    for c in cells:
        step = f" (seen before: step {c.refused_at})" if c.refused_at not in (None, c.step) else ""
        wrong = {True: "", False: f"  DIFFERS{step}", None: "  NOT RUN"}[c.as_expected]
        lines.append(f"{c.bug:{width}}  {c.setting.code:{wide}}  {c.setting.storage:11} {c}{wrong}")
    good = sum(c.as_expected is True for c in cells)
    driven = sum(c.mark in DRIVEN for c in cells)
    on = {spoken(c.setting) for c in cells if c.setting.jdk}
    return "\n".join(
        [
            *lines,
            "",
            f"{good} of {len(cells)} as expected; the code was driven in {driven}",
            *sorted(on),
        ]
    )


CELL = k.keys(
    bug=k.text("the name of the bug"),
    **SETTING,
    cell=k.among((mark.value for mark in Mark), "what became of the bug on this release"),
    why=k.text("where, or why not"),
    has_it=k.flag("the release has the bug, by the table of releases"),
    as_expected=k.null(k.flag("the cell is as it was seen before"), "if it could not be run"),
)
MATRIX = k.document("fencepost.releases/1", cells=k.many(CELL, "a cell for each bug and release"))


def _json(cells: Sequence[Cell]) -> dict[str, Any]:
    rows = [
        k.from_record(CELL, c, **setting_object(c.setting), cell=c.mark.value, has_it=c.expected)
        for c in cells
    ]
    return k.from_record(MATRIX, None, cells=rows)


def _exit_code(cells: Sequence[Cell]) -> ExitCode:
    if any(c.as_expected is False for c in cells):
        return ExitCode.VIOLATED
    return ExitCode.UNDECIDED if any(c.as_expected is None for c in cells) else ExitCode.SUCCESS
