"""Messages name commands: who installed the package has no folder docs/."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHIPS = (
    "api",
    "cli",
    "explore",
    "sweeps",
    "realcode",
    "advice",
    "properties",
    "protocols",
    "quorums",
    "encoding",
)
PAGE = re.compile(r"\bdocs/[\w./-]+\.md")


def pages_named(source: str) -> Iterator[str]:
    """Yield the pages that strings of a module name, apart from docstrings, which nobody is shown."""
    tree = ast.parse(source)
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield from PAGE.findall(node.value)


def test_no_message_points_to_a_page_that_does_not_ship() -> None:
    named = {
        f"{path.relative_to(ROOT)}: {page}"
        for folder in SHIPS
        for path in (ROOT / folder).rglob("*.py")
        for page in pages_named(path.read_text(encoding="utf-8"))
    }
    assert named == set()
    pages = [path for folder in SHIPS for path in (ROOT / folder).rglob("*.html")]
    assert not [path for path in pages if PAGE.search(path.read_text(encoding="utf-8"))]


def test_commands_are_described_without_pages() -> None:
    """The help of a command is its docstring."""
    for path in (ROOT / "cli" / "commands").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name == "command":
                assert not PAGE.search(ast.get_docstring(node) or ""), path


@pytest.mark.parametrize(
    "text", ['x = "see docs/known.md"', 'def f(n):\n    return f"{n}; see docs/known.md"']
)
def test_a_page_in_a_message_is_noticed(text: str) -> None:
    """Planted: a verdict line that ends with `see docs/known.md`."""
    assert list(pages_named(text)) == ["docs/known.md"]
    assert not list(pages_named('"""As docs/known.md says."""'))
