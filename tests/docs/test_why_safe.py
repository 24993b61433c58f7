"""docs/why-safe.md has the invariant word for word."""

from __future__ import annotations

from pathlib import Path

from fencepost.properties.bookkeeper.core import with_properties
from fencepost.protocols.bookkeeper.core import core_of_any_size

PAGE = Path(__file__).resolve().parents[2] / "docs" / "why-safe.md"


def test_the_page_has_every_sentence_of_the_invariant() -> None:
    page = PAGE.read_text().split("## The theorem and")[0]
    rows = {line for line in page.splitlines() if line.startswith("| ")}
    system = with_properties(core_of_any_size())
    assert {f"| {i.name} | {i.meaning} |" for i in system.invariants} == rows - {"| name | sentence |"}
