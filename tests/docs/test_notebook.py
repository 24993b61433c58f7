"""docs/python.ipynb: its outputs are those of its cells."""

from __future__ import annotations

import json

import pytest

from support.notebook import FILE, code_cells, outputs


@pytest.mark.slow
def test_the_cells_give_the_outputs_that_stand_in_the_file() -> None:
    """`python -m support.notebook` writes them anew. Planted: another number of steps in an output."""
    notebook = json.loads(FILE.read_text(encoding="utf-8"))
    kept = [cell["outputs"][0]["data"] for cell in code_cells(notebook)]
    assert [{kind: "".join(text) for kind, text in data.items()} for data in kept] == list(outputs(notebook))
