"""The forms in which a sweep can be told, each a function from a report to text."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fencepost.cli.reports.matrices import Report
from fencepost.cli.reports.page import page
from fencepost.cli.reports.tables import csv_table, markdown
from fencepost.cli.reports.text import text

FORMS: Mapping[str, Callable[[Report], str]] = {
    "text": text,
    "csv": csv_table,
    "markdown": markdown,
    "html": page,
}
"""By the name that `--format` takes."""
