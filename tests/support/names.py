"""Names in the pages for which the code has nothing.

The name is that of a file that does not exist, or an attribute that its module or class lacks.

python -m support.names [PAGE ...]        all pages but the changelog, if none is named

The check covers everything in backticks within a sentence that has the form of a file or of a Python name.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from support.links import READER

ROOT = Path(__file__).resolve().parents[2]
HERE = "tests/support/names.py"

DOTTED = re.compile(r"(\w+(?:\.\w+)*)(?:\(\))?")
FILE = re.compile(r"(?:[\w.-]+/)*[\w.-]+\.(?:py|toml|md|txt)|(?:[\w.-]+/)+[\w.-]*")
PLACED = re.compile(r"`(\w+)` in `([\w/]+\.py)`")
"""A name and the file that a sentence says it is in."""

FOREIGN = re.compile(r"[a-z]+\d*[A-Z]\w*")
"""Names in `camelCase` are Java's, P's and those of settings; a Python name has no such form."""

DIGEST = re.compile(r"[0-9a-f]{12,64}")
"""Digests, as pages show them."""

OF_OTHERS = {
    *("KeyValueStorageRocksDB",),
    *("ComponentConfiguration", "ConcurrentConfiguration", "METAENTRY_ID_FENCE_KEY"),
    *(
        "HADOOP_CONF_DIR",
        "PYSPARK_SUBMIT_ARGS",
        "nohup",
        "Tail",
        "updr",
        "SequenceReadRequest",
        "ClientClosedException",
    ),
    *("CONSTANTS", "ASSUME", "TypeOK", "Head", "Len", "Nat", "CONSTRAINT", "CHOOSE"),
}
"""Names of BookKeeper and of other tools that stand in pages only."""


@dataclass
class Code:
    """The names that the project's files define, and every word in them."""

    files: Collection[str]
    modules: dict[str, set[str]] = field(default_factory=dict)
    """The names at the top of each module, by its path; files of tests are left out."""
    classes: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The attributes of the classes of a name, with the names of their base classes."""
    text: str = ""
    words: set[str] = field(default_factory=set)

    def ends(self, path: str) -> list[str]:
        """Return the files whose path ends with these folders and this name."""
        return [name for name in self.files if f"/{name}".endswith(f"/{path}")]

    def inherited(self, owner: str) -> set[str]:
        """Return the attributes of the classes of that name and of all their base classes."""
        found, seen, waiting = set[str](), set[str](), {owner}
        while waiting:
            seen |= waiting
            found = found.union(*(self.classes[name] for name in waiting))
            waiting = found & self.classes.keys() - seen
        return found


@cache
def code() -> Code:
    """Return the names in the files that git tracks or would add, without the pages."""
    tracked = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(tracked, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = Code([name for name in listed.split("\n") if name and (ROOT / name).is_file()])
    texts = {name: (ROOT / name).read_text(encoding="utf-8", errors="ignore") for name in found.files}
    for name, text in texts.items():
        if name.endswith(".py") and not Path(name).name.startswith("test_"):
            _define(found, name, text)
    aside = [name for name in texts if name.startswith("docs/") or name.endswith(".md") or name == HERE]
    found.text = "\n".join(text for name, text in texts.items() if name not in aside)
    found.words = set(re.findall(r"\w+", found.text))
    return found


def _define(found: Code, name: str, text: str) -> None:
    """Add the top-level names of a module and the attributes of each of its classes."""
    tree, lines = ast.parse(text), text.split("\n")
    found.modules[name] = set(_names(tree.body))
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            own = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            found.classes[node.name] |= {*_names(node.body), *re.findall(r"self\.(\w+)", own)}
            found.classes[node.name] |= set(map(ast.unparse, node.bases))


def _names(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the names that these statements define or import."""
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name))


def dead_names(text: str) -> Iterator[str]:
    """Yield the code spans of a page that have the form of a file or a name and refer to nothing.

    Files that the page's own commands read or write are known.
    """
    blocks = READER.parse(text)
    commands = "".join(block.content for block in blocks if block.type in ("fence", "code_block"))
    for block in blocks:
        for token in block.children or ():
            if token.type == "code_inline" and not stands(token.content) and token.content not in commands:
                yield token.content
    for name, file in PLACED.findall(text):
        if not any(name in code().modules.get(found, set()) for found in code().ends(file)):
            yield f"{name} in {file}"


def stands(span: str) -> bool:
    """Return whether the text names an existing file or name, or has the form of neither."""
    if FILE.fullmatch(span):
        return _is_there(span)
    dotted = DOTTED.fullmatch(span)
    return dotted is None or _is_known(dotted[1])


def _is_there(path: str) -> bool:
    """Return whether a path leads to a file or folder of the project, or belongs to another project."""
    known = code()
    if path.endswith(".py"):
        return bool(known.ends(path)) or Path(path).stem.isupper()
    if "/" not in path:
        return bool(known.ends(path)) or path in known.text
    ours = path.split("/")[0] in {name.split("/")[0] for name in known.files if "/" in name}
    return not ours or any(f"{name}/".startswith(f"{path.rstrip('/')}/") for name in known.files)


def _is_known(name: str) -> bool:
    """Return whether a name is defined in the given place, or belongs to another project.

    A single word needs to occur in the code.
    """
    known, parts = code(), name.split(".")
    if DIGEST.fullmatch(name) or any(FOREIGN.fullmatch(part) for part in parts):
        return True
    if len(parts) > 1 and (parts[0].isupper() or name in known.text):
        return True
    *before, owner, last = ("", *parts)
    places = _places("/".join(before[1:]), owner) if owner else []
    if places or before[1:2] == ["fencepost"]:
        return any(last in place for place in places)
    return all(part in known.words or part in OF_OTHERS for part in parts)


def _places(before: str, owner: str) -> list[set[str]]:
    """Return the names in each module, package and class that may be meant; `trace` may be a `Trace` too."""
    known = code()
    classes = [known.inherited(name) for name in (owner, owner.title()) if name in known.classes]
    path = f"{before}/{owner}".removeprefix("/").removeprefix("fencepost/")
    modules = [known.modules.get(name, set()) for name in known.ends(f"{path}.py")]
    packages = [
        {Path(name).stem for name in known.files if name.startswith(f"{home.rpartition('/')[0]}/")}
        | known.modules[home]
        for home in known.ends(f"{path}/__init__.py")
    ]
    return [*classes, *modules, *packages]


def pages() -> list[Path]:
    """Return the pages without the changelog, which mentions names that are gone."""
    return [ROOT / name for name in code().files if name.endswith(".md") and name != "CHANGELOG.md"]


def main(arguments: Sequence[str]) -> int:
    """Print the names that refer to nothing, page by page."""
    found = [
        f"{page}: {name}"
        for page in map(Path, arguments or pages())
        for name in dead_names(page.read_text(encoding="utf-8"))
    ]
    print("\n".join(found) or "all names stand for something", file=sys.stderr if found else sys.stdout)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
