"""The forms of a report of a sweep, each a function from the report to text."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fencepost.cli.rendering.sweep_matrices import SweepReport
from fencepost.cli.rendering.sweep_page import page
from fencepost.cli.rendering.sweep_text import csv_table, markdown, text

FORMS: Mapping[str, Callable[[SweepReport], str]] = {
    "text": text,
    "csv": csv_table,
    "markdown": markdown,
    "html": page,
}
"""The forms, by the names that `--format` takes."""
