"""The tree: layers import downwards only, every folder ships, and nothing is imported under two names."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("encoding", "quorums", "protocols", "properties", "sweeps", "cli")
"""From the ground floor up: a module imports from its own layer and those before it."""


def modules() -> list[Path]:
    return [p for layer in LAYERS for p in sorted((ROOT / layer).rglob("*.py"))]


def imported(path: Path) -> set[str]:
    """The full names that a module imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_down(path: Path) -> None:
    own = LAYERS.index(path.relative_to(ROOT).parts[0])
    for name in imported(path):
        parts = name.split(".")
        assert parts[0] not in LAYERS, f"{name}: import fencepost.{name}"
        if parts[0] == "fencepost":
            assert LAYERS.index(parts[1]) <= own, f"{path.name} imports {name}, which is above it"


def test_the_command_line_imports_no_solver() -> None:
    for path in (ROOT / "cli").rglob("*.py"):
        assert not {n.split(".")[0] for n in imported(path)} & {"z3", "pysat", "cvc5"}, path


def test_every_folder_with_an_init_is_a_package_of_the_distribution() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {p.parent.relative_to(ROOT) for layer in LAYERS for p in (ROOT / layer).rglob("__init__.py")}
    assert {Path(p) for p in tools["package-dir"].values()} == folders
    assert set(tools["packages"]) == set(tools["package-dir"])


def test_nothing_is_imported_without_the_namespace() -> None:
    code = "import sys, fencepost.cli.check, fencepost.sweeps.grid; print(*sys.modules)"
    names = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not set(LAYERS) & set(names)


@pytest.mark.slow
def test_the_wheel_holds_exactly_the_tracked_files(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    for name in tracked:
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
    pip = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(tmp_path),
        str(copy),
    ]
    subprocess.run(pip, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = [n for n in zipfile.ZipFile(wheel).namelist() if n.startswith("fencepost/")]
    assert {n.removeprefix("fencepost/") for n in names} == {n for n in tracked if n.split("/")[0] in LAYERS}
