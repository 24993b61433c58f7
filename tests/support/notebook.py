"""The notebook of docs/python.md: its cells, run one after another.

python -m support.notebook      runs it and writes its outputs
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[2] / "docs" / "python.ipynb"


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the cells with code."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def outputs(notebook: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Run each cell, and yield what a notebook shows of its last expression, by kind."""
    names: dict[str, Any] = {}
    for cell in code_cells(notebook):
        *before, last = ast.parse("".join(cell["source"])).body
        exec(compile(ast.Module(before, []), FILE.name, "exec"), names)  # noqa: S102 - a notebook of this project
        assert isinstance(last, ast.Expr), "a cell ends with what it shows"
        value = eval(compile(ast.Expression(last.value), FILE.name, "eval"), names)
        html = {"text/html": value._repr_html_()} if hasattr(value, "_repr_html_") else {}
        yield {"text/plain": repr(value), **html}


def main() -> None:
    """Write the outputs of all cells."""
    notebook = json.loads(FILE.read_text(encoding="utf-8"))
    for number, (cell, found) in enumerate(zip(code_cells(notebook), outputs(notebook), strict=True), 1):
        data = {kind: text.splitlines(keepends=True) for kind, text in found.items()}
        shown = {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data}
        cell |= {"execution_count": number, "outputs": [shown]}
    FILE.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
