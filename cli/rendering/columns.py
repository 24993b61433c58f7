"""Cells in columns as wide as their contents: the tables of reports in text."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Return a line for each row. The columns whose numbers, from 0, are in `right` are aligned there."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    forms = [f"{'>' if number in right else '<'}{width}" for number, width in enumerate(widths)]
    return ["  ".join(map(format, row, forms)).rstrip() for row in rows]
