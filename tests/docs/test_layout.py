"""The tree: layers import downwards only, every folder ships, and nothing is imported under two names."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import get_args

import pytest

from fencepost.encoding.language.terms import Node

ROOT = Path(__file__).resolve().parents[2]
LAYERS = (
    "encoding",
    "quorums",
    "protocols",
    "properties",
    "advice",
    "realcode",
    "sweeps",
    "explore",
    "cli",
    "api",
)
"""From the ground floor up: a module imports from its own layer and those before it."""


ROOMS = (
    "errors",
    "versions",
    "safe_text",
    "documents",
    "keys",
    "language",
    "concrete",
    "logs",
    "solving",
    "formulas",
    "engine",
    "rounds",
    "induction",
    "ic3",
    "abc",
    "enumeration",
    "check",
    "liveness",
    "mutation",
    "all_sizes",
    "lifting",
    "evidence",
    "forms",
)
"""The rooms of encoding/, in the same order: a module imports from its own room and those before it."""


def modules() -> list[Path]:
    return [p for layer in LAYERS for p in sorted((ROOT / layer).rglob("*.py"))]


@cache
def parsed(path: Path) -> ast.Module:
    """Return the text of a module as a tree."""
    return ast.parse(path.read_text())


def full_name(path: Path) -> str:
    """Return the name under which a module is imported."""
    name = ".".join(("fencepost", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    return name.replace("fencepost.api", "fencepost", 1)


def imported(path: Path) -> set[str]:
    """Return the full names that a module imports anywhere, also under TYPE_CHECKING."""
    found: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def graph() -> dict[str, set[str]]:
    """Each module with the modules that it imports."""
    names = {full_name(path): path for path in modules()}
    return {
        name: {i if i in names else i.rpartition(".")[0] for i in imported(path)} & names.keys()
        for name, path in names.items()
    }


def circle(arrows: Mapping[str, Collection[str]]) -> list[str] | None:
    """Return names with an arrow from each to the next and from the last to the first, or None."""
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return list(error.args[1])
    return None


def upward(arrows: Mapping[str, Collection[str]], order: Sequence[str], level: int) -> list[str]:
    """Return the arrows from one part of the tree to a later part.

    `level` says how many parts of a module's name make a part of the tree.
    """

    def part(name: str) -> str:
        found = (name.split(".") + [""] * level)[level]
        return "api" if level == 1 and found not in LAYERS else found

    found = []
    for name, others in arrows.items():
        if part(name):
            assert part(name) in order, f"{name}: its room has no place in the order of rooms"
            found += [f"{name} -> {o}" for o in others if order.index(part(o)) > order.index(part(name))]
    return found


def test_arrows_go_down_between_folders() -> None:
    assert not upward(graph(), LAYERS, 1)


def test_arrows_go_down_between_the_rooms_of_encoding() -> None:
    inside = {
        name: {o for o in others if o.startswith("fencepost.encoding.")}
        for name, others in graph().items()
        if name.startswith("fencepost.encoding")
    }
    assert len(inside) > 30
    assert not upward(inside, ROOMS, 2)


def knows_the_files(arrows: Mapping[str, Collection[str]]) -> list[str]:
    """Return the modules of quorums/ outside quorums/files/ that import something of it."""
    room = "fencepost.quorums.files"
    arithmetic = {n: o for n, o in arrows.items() if n.startswith("fencepost.quorums") and room not in n}
    return [name for name, others in arithmetic.items() if any(other.startswith(room) for other in others)]


def test_the_arithmetic_does_not_know_the_files() -> None:
    arrows = graph()
    assert "fencepost.quorums.deployment" in arrows["fencepost.quorums.files.joined_files"]
    assert knows_the_files(arrows) == []
    arrows["fencepost.quorums.deployment"].add("fencepost.quorums.files.settings")
    assert knows_the_files(arrows) == ["fencepost.quorums.deployment"]


def test_there_is_no_circle() -> None:
    assert circle(graph()) is None


@pytest.mark.parametrize(
    "planted",
    [
        ("encoding.language.terms", "encoding.rounds.search"),
        ("encoding.solving.solvers", "encoding.formulas.symbolic"),
        ("encoding.engine.verdicts", "encoding.rounds.round_solver"),
    ],
)
def test_a_planted_arrow_up_is_noticed(planted: tuple[str, str]) -> None:
    source, target = (f"fencepost.{name}" for name in planted)
    assert {source, target} <= graph().keys()
    assert upward({source: [target]}, ROOMS, 2)
    assert not upward({target: [source]}, ROOMS, 2)


def test_a_planted_circle_is_noticed() -> None:
    arrows = graph()
    assert "fencepost.encoding.language.terms" in arrows["fencepost.encoding.language.state"]
    arrows["fencepost.encoding.language.terms"].add("fencepost.encoding.language.state")
    assert circle(arrows) is not None


def test_imports_that_only_types_need_count(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text("if TYPE_CHECKING:\n    from fencepost.encoding.language import terms\n")
    assert imported(path) == {"fencepost.encoding.language.terms"}


def unknown(text: str) -> set[str]:
    """Return the modules that a page names, as `name.py`, and that do not exist."""
    others = (path for folder in ("tests", "benchmarks") for path in (ROOT / folder).rglob("*.py"))
    there = {path.name for path in (*modules(), *others)}
    return {name.rpartition("/")[2] for name in re.findall(r"`([\w/]+\.py)`", text)} - there


def test_the_map_names_what_is_there() -> None:
    text = (ROOT / "docs" / "house.md").read_text()
    rooms = re.findall(r"^\| `(\w+)/` \|", text, re.MULTILINE)
    assert rooms == [room for room in ROOMS if (ROOT / "encoding" / room).is_dir()]
    assert not unknown(text) | unknown((ROOT / "CONTRIBUTING.md").read_text())
    assert unknown("see `checking/planted.py`") == {"planted.py"}


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_the_namespace_is_named_in_imports(path: Path) -> None:
    for name in imported(path):
        assert name.split(".")[0] not in LAYERS, f"{name}: import fencepost.{name}"


def named_twice(paths: Sequence[Path]) -> set[str]:
    """Return the public names that two modules give to a class."""
    classes = [
        node.name
        for path in paths
        for node in parsed(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    return {name for name in classes if classes.count(name) > 1}


def test_a_class_has_a_name_of_its_own(tmp_path: Path) -> None:
    assert named_twice(modules()) == set()
    for name, text in {"a": "class Found: ...", "b": "class Found: ...", "c": "class Lost: ..."}.items():
        (tmp_path / f"{name}.py").write_text(text)
    assert named_twice(sorted(tmp_path.glob("*.py"))) == {"Found"}


LONGEST = 375
"""The largest number of lines of a shipped file that is not of a protocol or its properties."""


def too_long(lines: Mapping[str, int]) -> list[str]:
    read_as_one = ("protocols/", "properties/")
    return [name for name, count in lines.items() if count >= LONGEST and not name.startswith(read_as_one)]


def test_no_file_is_too_long_to_be_read_at_once() -> None:
    lines = {str(p.relative_to(ROOT)): len(p.read_text().splitlines()) for p in modules()}
    assert too_long(lines) == []


def test_a_file_that_is_too_long_is_noticed() -> None:
    assert too_long({"cli/long.py": 375, "cli/short.py": 374, "protocols/long.py": 900}) == ["cli/long.py"]


def test_the_command_line_imports_no_solver() -> None:
    for path in (ROOT / "cli").rglob("*.py"):
        assert not {n.split(".")[0] for n in imported(path)} & {"z3", "pysat", "cvc5"}, path


def test_every_folder_with_an_init_is_a_package_of_the_distribution() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {p.parent.relative_to(ROOT) for layer in LAYERS for p in (ROOT / layer).rglob("__init__.py")}
    assert {Path(p) for p in tools["package-dir"].values()} == folders
    assert set(tools["packages"]) == set(tools["package-dir"])
    assert {f for f in folders if not (ROOT / f / "py.typed").is_file()} == set()


def test_the_version_is_the_same_wherever_a_release_has_it() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0] == declared
    assert re.findall(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE) == [declared]


def imports_of(code: str) -> set[str]:
    """Return the names of all modules that a new process has after this code."""
    told = [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"]
    return set(subprocess.run(told, capture_output=True, text=True, check=True).stdout.split())


def test_nothing_is_imported_without_the_namespace() -> None:
    assert not set(LAYERS) & imports_of("import fencepost.cli.commands.check, fencepost.sweeps.grid")


CHECK = "import fencepost.cli.commands.check, fencepost.properties.catalogue as c; c.find('ledger-chain')"

UNUSED = {
    "the commands of --help": (
        "import fencepost.cli.main",
        ("fencepost.encoding.language", "fencepost.encoding.engine", "fencepost.properties"),
    ),
    "another protocol": (CHECK, ("fencepost.protocols.bookkeeper", "fencepost.protocols.verified_log")),
    "known bugs": (CHECK, ("fencepost.advice.known", "fencepost.properties.expectations")),
    "forms of a counterexample": (CHECK, ("fencepost.encoding.forms.html", "fencepost.encoding.forms.itf")),
}


@pytest.mark.parametrize("what", UNUSED)
def test_what_a_command_does_not_use_is_not_imported(what: str) -> None:
    # Planted: one of these modules is imported at the top of a module of the command.
    code, unused = UNUSED[what]
    assert not {name for name in imports_of(code) if name.startswith(unused)}


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
    shipped = {n.removeprefix("api/") for n in tracked if n.split("/")[0] in LAYERS}
    assert {n.removeprefix("fencepost/") for n in names} == shipped


GROUPS = ("Leaf", "Joined", "Pair", "Binder")
KINDS = {*(kind.__name__ for kind in get_args(Node)), *GROUPS, "Partial"}


def careless_matches(text: str) -> list[int]:
    """Return the lines with a `match` over terms for which mypy cannot name a kind that it lacks."""
    found = []
    tree = ast.parse(text)
    known = {
        target.id
        for assigned in ast.walk(tree)
        if isinstance(assigned, ast.Assign) and ast.unparse(assigned.value).startswith("node(")
        for target in assigned.targets
        if isinstance(target, ast.Name)
    }
    for match in ast.walk(tree):
        if isinstance(match, ast.Match):
            patterns = [part for case in match.cases for part in ast.walk(case.pattern)]
            classes = {ast.unparse(part.cls) for part in patterns if isinstance(part, ast.MatchClass)}
            subject = ast.unparse(match.subject)
            named = subject.startswith("node(") or subject in known
            for_all = any(
                isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.guard is None
                for case in match.cases
            )
            if classes & KINDS - {"Parameter"} and (for_all or not named):
                found.append(match.lineno)
    return found


def test_mypy_names_each_match_that_lacks_a_kind_of_term() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    (checked,) = [row["module"] for row in settings["overrides"] if "enable_error_code" in row]
    over_terms = set()
    for path in modules():
        text = path.read_text(encoding="utf-8")
        assert careless_matches(text) == [], path
        if "match node(" in text or "match kind:" in text:
            over_terms.add(".".join(("fencepost", *path.relative_to(ROOT).with_suffix("").parts)))
    assert over_terms == set(checked)


@pytest.mark.parametrize(
    "planted",
    [
        "match term:\n    case Not():\n        pass",
        "match node(term):\n    case Not():\n        pass\n    case _:\n        pass",
        "match node(term):\n    case Not():\n        pass\n    case other:\n        pass",
        "match term:\n    case Read():\n        pass\n    case Leaf():\n        pass",
    ],
)
def test_a_match_that_falls_through_in_silence_is_noticed(planted: str) -> None:
    assert careless_matches(planted) == [1]
