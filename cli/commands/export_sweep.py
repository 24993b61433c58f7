"""`fencepost export DIR`: the results of a sweep, and the counterexample of one of its rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fencepost.cli.exits import ExitCode
from fencepost.cli.rendering.output import emit
from fencepost.encoding.errors import BadInput

if TYPE_CHECKING:
    from fencepost.sweeps.object_store import ObjectStore
    from fencepost.sweeps.store import Store

SWEEP_FORMS = ("text", "csv", "markdown")
"""The forms of the results of a sweep."""


def write_sweep(folder: str, form: str, output: str | None) -> ExitCode:
    """Write the rows of a sweep in a form; undecided if some cases have no row."""
    from fencepost.cli.rendering.sweep_matrices import SweepReport
    from fencepost.cli.rendering.sweep_text import csv_table, markdown, text
    from fencepost.sweeps.summary import ordered

    store = _store(folder)
    rows = store.rows()
    missing = store.missing(rows)
    report = SweepReport(store.manifest(), ordered(rows))
    emit({"text": text, "csv": csv_table, "markdown": markdown}[form](report), output)
    if missing:
        click.echo(report.unfinished, err=True)
    return ExitCode.UNDECIDED if missing else ExitCode.SUCCESS


def write_row(folder: str, name: str, output: str | None) -> ExitCode:
    """Write the counterexample of the row of that name as it was saved; raises BadInput."""
    found = {row["id"]: row["trace"] for row in _store(folder).rows()}
    if found.get(name) is None:
        why = "its row has no counterexample" if name in found else "no such row"
        raise BadInput(f"{name}: {why} in {folder}; fencepost export {folder} names them")
    emit(found[name], output)
    return ExitCode.SUCCESS


def _store(folder: str) -> Store | ObjectStore:
    from fencepost.sweeps.object_store import ObjectStore, is_address
    from fencepost.sweeps.spark import require_arrow
    from fencepost.sweeps.store import Store

    require_arrow()
    store = ObjectStore(folder.rstrip("/")) if is_address(folder) else Store(Path(folder))
    store.manifest()
    return store
