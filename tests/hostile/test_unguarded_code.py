"""Code of the author's that Python runs in another way than `load` does, and modules that are a file's own.

All code that a protocol is made with comes from a text that is guarded. No text, no verdict.
"""

from __future__ import annotations

import importlib
import linecache
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language import guarded_modules
from fencepost.encoding.language.protocol import Protocol, load

FILE = """
from dataclasses import dataclass
from fencepost.encoding.language import *
# imports


@dataclass(frozen=True)
class Parameters:
    nodes: int = parameter(1, "nodes")


class State(StateSpace):
    def __init__(self, p):
        self.x = variable(integers(0, 5))
        self.done = variable(BOOL)


def go(s):
    return Action(when=s.x < LIMIT, then=[s.x.set(s.x + 1), s.done.set(True)], actor="w")


def small(s):
    return BODY


def build(p):
    s = State(p)
    return System(s, (each(go, s),), (Property("small", "m", small(s), s.done, "w"),))


PROTOCOL = Protocol("made", "a protocol", Parameters(), build)
"""
"""A file whose property says that x is 2 at most."""
RIGHT, WRONG = "s.x <= 2", "(s.x <= 2) if s.done is True else (s.x <= 5)"
IS = "TypeError: `is` and `match` compare Python objects"


def text(body: str = RIGHT, limit: str = "LIMIT = 2") -> str:
    """Return the file with this property, and this line in place of imports."""
    return FILE.replace("BODY", body).replace("# imports", limit)


def verdict(protocol: Any) -> str:
    """Return the verdict, or the line that refuses the protocol."""
    try:
        return str(fencepost.check(protocol, jobs=1).verdict)
    except BadInput as error:
        assert str(error).isprintable()
        return str(error)


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    modules, path = set(sys.modules), list(sys.path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield
    assert sys.path == path
    for name in set(sys.modules) - modules:
        if not name.startswith("fencepost."):
            del sys.modules[name]


def folders(folder: Path, imports: str = "from rules import LIMIT") -> tuple[Path, Path]:
    """Write two files of one text, each with a module beside it: the limits are 2 and 3."""
    for name, limit in (("one", 2), ("two", 3)):
        (folder / name).mkdir()
        (folder / name / "rules.py").write_text(f"LIMIT = {limit}\n")
        (folder / name / "m.py").write_text(text(limit=imports))
    return folder / "one" / "m.py", folder / "two" / "m.py"


# modules beside the file -----------------------------------------------------------------------------

IMPORTS = [
    "from rules import LIMIT",
    (
        "import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parent))\n"
        "from rules import LIMIT"
    ),
    "import rules; LIMIT = rules.LIMIT",
    "import importlib; LIMIT = importlib.import_module('rules').LIMIT",
]


@pytest.mark.parametrize("imports", IMPORTS)
def test_a_module_beside_the_file_is_the_files_own(imports: str, tmp_path: Path) -> None:
    one, two = folders(tmp_path, imports)
    assert [verdict(one), verdict(two), verdict(one)] == ["proved", "violated", "proved"]
    assert "rules" not in sys.modules


def test_a_module_beside_the_file_is_loaded_anew_with_it(tmp_path: Path) -> None:
    one, _ = folders(tmp_path)
    assert verdict(one) == "proved"
    (tmp_path / "one" / "rules.py").write_text("LIMIT = 4\n")
    assert verdict(one) == "violated"


def test_a_module_that_is_imported_late_is_the_files_own_too(tmp_path: Path) -> None:
    one, two = folders(tmp_path, "def limit():\n    from rules import LIMIT\n    return LIMIT")
    for path in (one, two):
        path.write_text(path.read_text().replace("s.x < LIMIT", "s.x < limit()"))
    first, second = load(one), load(two)
    assert [verdict(first), verdict(second), verdict(first)] == ["proved", "violated", "proved"]


def test_a_folder_without_init_beside_the_file_is_the_files_own_too(tmp_path: Path) -> None:
    one, two = folders(tmp_path, "from parts import rules; LIMIT = rules.LIMIT")
    for path in (one, two):
        (path.parent / "parts").mkdir()
        (path.parent / "rules.py").rename(path.parent / "parts" / "rules.py")
    assert [verdict(one), verdict(two)] == ["proved", "violated"]


def test_a_module_of_the_caller_is_neither_used_nor_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = folders(tmp_path)
    monkeypatch.syspath_prepend(str(one.parent))
    rules = importlib.import_module("rules")
    assert verdict(two) == "violated"
    assert sys.modules["rules"] is rules
    assert rules.LIMIT == 2
    monkeypatch.undo()


def test_the_command_finds_a_module_beside_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from fencepost.cli.main import run

    for path, code in zip(folders(tmp_path), (0, 1), strict=True):
        assert run(["check", str(path)]) == code, capsys.readouterr()


def test_an_enum_of_a_module_beside_the_file_reaches_other_processes(tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_text("from enum import Enum\nclass Kind(Enum):\n    A = 'a'\n    B = 'b'\n")
    changed = text(limit="from rules import Kind\nLIMIT = 3").replace(
        "variable(BOOL)", "variable(BOOL); self.kind = variable(members(Kind))"
    )
    path = tmp_path / "m.py"
    path.write_text(changed.replace("s.done.set(True)", "s.done.set(True), s.kind.set(Kind.B)"))
    found = fencepost.check(path, engines="rounds", minimize="steps")
    assert found.verdict == "violated"
    assert "Kind.B" in found["small"].trace.text() or "→ b" in found["small"].trace.text()


# protocols without a file ----------------------------------------------------------------------------


def cell(source: str, name: str, names: dict[str, Any] | None = None) -> Protocol:
    """Run a cell as IPython does: its text is kept under a name that is no file."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names = {"__name__": "__main__"} if names is None else names
    exec(compile(source, name, "exec"), names)  # noqa: S102 - the text of this test
    found = names["PROTOCOL"]
    assert isinstance(found, Protocol)
    return found


@pytest.mark.parametrize("name", ["/tmp/ipykernel_7/12345.py", "<ipython-input-1-0123456789ab>"])
def test_a_protocol_in_a_cell_of_a_notebook_is_guarded(name: str) -> None:
    assert verdict(cell(text(), name)) == "proved"
    line = verdict(cell(text(WRONG), name + "2"))
    assert IS in line
    assert ", line 23: " in line


def test_cells_that_use_each_other_are_guarded() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    source = "def ask(x: int) -> bool: return not isinstance(x, int)\n"
    linecache.cache["<cell a>"] = (len(source), None, [source], "<cell a>")
    exec(compile(source, "<cell a>", "exec"), names)  # noqa: S102 - the text of this test
    line = verdict(cell(text("(s.x <= 5) if ask(s.x) else (s.x <= 2)"), "<cell b>", names))
    assert "isinstance() asks about Python objects" in line


def test_a_text_that_is_not_kept_gives_no_verdict() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text(), "<stdin>", "exec"), names)  # noqa: S102 - the text of this test
    assert "made: <stdin>: its text is not kept, so nothing guards it" in verdict(names["PROTOCOL"])


def python(folder: Path, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run Python in a folder."""
    command = [sys.executable, *words]
    return subprocess.run(command, check=False, input=given, capture_output=True, text=True, cwd=folder)


@pytest.mark.slow
@pytest.mark.parametrize(("body", "says"), [(RIGHT, "<stdin>: its text is not kept"), (WRONG, "<stdin>: ")])
def test_a_protocol_on_stdin_gives_no_verdict(body: str, says: str, tmp_path: Path) -> None:
    program = f"{text(body)}\nimport fencepost\nprint(fencepost.check(PROTOCOL, jobs=1).verdict)\n"
    ran = python(tmp_path, given=program)
    assert ran.stdout == ""
    assert says in ran.stderr.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize(("body", "says"), [(RIGHT, "proved\n"), (WRONG, IS)])
def test_a_script_that_checks_itself_is_guarded(body: str, says: str, tmp_path: Path) -> None:
    main = "if __name__ == '__main__':\n    import fencepost\n    print(fencepost.check(PROTOCOL).verdict)\n"
    (tmp_path / "mine.py").write_text(text(body) + main)
    ran = python(tmp_path, "mine.py")
    assert says in ran.stdout + ran.stderr


def test_a_state_that_was_made_outside_build_is_refused() -> None:
    outside = (
        text(WRONG)
        .replace("def build(p):\n    s = State(p)\n    return ", "s = State(None)\nSYSTEM = ")
        .replace("build)", "lambda p: SYSTEM)")
    )
    line = verdict(cell(outside, "<outside>"))
    assert "its state was made before build was called" in line
    assert "write s = State(…) in build" in line


def test_a_state_of_a_file_may_be_made_outside_build(tmp_path: Path) -> None:
    outside = (
        text()
        .replace("def build(p):\n    s = State(p)\n    return ", "s = State(None)\nSYSTEM = ")
        .replace("build)", "lambda p: SYSTEM)")
    )
    (tmp_path / "m.py").write_text(outside)
    assert verdict(tmp_path / "m.py") == "proved"


# modules that were imported or loaded in another way ---------------------------------------------------


def imported(folder: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the module of this text, imported in the common way."""
    monkeypatch.syspath_prepend(str(folder))
    (folder / "mine.py").write_text(source)
    importlib.invalidate_caches()
    return importlib.import_module("mine")


@pytest.mark.parametrize(
    ("later", "says"),
    [
        (text("s.x <= 1"), "mine.py: was written after it was imported"),
        (text(limit="LIMIT = 3"), "mine.py: was written after it was imported"),
    ],
)
def test_an_imported_module_whose_file_was_edited_gives_no_verdict(
    later: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol = imported(tmp_path, text(), monkeypatch).PROTOCOL
    assert verdict(protocol) == "proved"
    time.sleep(0.02)
    (tmp_path / "mine.py").write_text(later)
    assert says in verdict(protocol)
    assert verdict(importlib.reload(sys.modules["mine"]).PROTOCOL) == "violated"
    monkeypatch.undo()


def test_a_text_that_is_not_the_one_that_runs_gives_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol = imported(tmp_path, text(WRONG), monkeypatch).PROTOCOL
    file = tmp_path / "mine.py"
    file.write_text(text())
    os.utime(file, (1, 1))
    assert "mine.py: its text is not the one that runs" in verdict(protocol)
    file.unlink()
    assert "mine.py: its text is not kept" in verdict(protocol)
    monkeypatch.undo()


def test_a_module_of_a_notebook_that_was_edited_gives_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cell is run again, and Python gives it the module that it had."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "rules.py").write_text("LIMIT = 2\n")
    importlib.invalidate_caches()
    source = text(limit="from rules import LIMIT")
    assert verdict(cell(source, "<first run>")) == "proved"
    time.sleep(0.02)
    (tmp_path / "rules.py").write_text("LIMIT = 3\n")
    assert "rules.py: was written after it was imported" in verdict(cell(source, "<second run>"))
    importlib.reload(sys.modules["rules"])
    assert verdict(cell(source, "<third run>")) == "violated"
    monkeypatch.undo()


HELPER = "LIMIT = 2\ndef ask(x): return x is True\n"
LOADED = {
    "spec_from_file_location": (
        (
            "import importlib.util as u\nspec = u.spec_from_file_location('rules', FILE)\n"
            "made = u.module_from_spec(spec); spec.loader.exec_module(made)\n"
            "LIMIT, ask = made.LIMIT, made.ask"
        ),
        IS,
    ),
    "SourceFileLoader": (
        (
            "from importlib.machinery import SourceFileLoader\n"
            "from types import ModuleType\nmade = ModuleType('rules')\n"
            "SourceFileLoader('rules', FILE).exec_module(made)\n"
            "LIMIT, ask = made.LIMIT, made.ask"
        ),
        IS,
    ),
    "runpy": (
        "import runpy\nmade = runpy.run_path(FILE); LIMIT, ask = made['LIMIT'], made['ask']",
        "rules.py: is run in a way that nothing guards; load it by import",
    ),
    "exec": (
        (
            "from pathlib import Path\nmade = {}\nexec(Path(FILE).read_text(), made)\n"
            "LIMIT, ask = made['LIMIT'], made['ask']"
        ),
        IS,
    ),
    "code": (
        (
            "from pathlib import Path\nmade = {}\nexec(compile(Path(FILE).read_text(), FILE, 'exec'), made)\n"
            "LIMIT, ask = made['LIMIT'], made['ask']"
        ),
        IS,
    ),
    "the code of a loader": (
        (
            "from importlib.machinery import SourceFileLoader\nmade = {}\n"
            "exec(SourceFileLoader('rules', FILE).get_code('rules'), made)\n"
            "LIMIT, ask = made['LIMIT'], made['ask']"
        ),
        "rules.py: is run in a way that nothing guards; load it by import",
    ),
}


@pytest.mark.parametrize("kind", LOADED)
def test_a_helper_is_guarded_or_refused_however_it_is_loaded(kind: str, tmp_path: Path) -> None:
    loading, says = LOADED[kind]
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "rules.py").write_text(HELPER)
    path = tmp_path / "m.py"
    path.write_text(
        text(
            "(s.x <= 2) if ask(s.done) else (s.x <= 5)",
            loading.replace("FILE", repr(str(folder / "rules.py"))),
        )
    )
    assert says in verdict(path)
    if says == IS:
        assert ("m.py, line 2" if kind == "exec" else "rules.py, line 2") in verdict(path)
        (folder / "rules.py").write_text("LIMIT = 2\ndef ask(x): return True\n")
        assert verdict(path) == "proved"


def test_a_handler_that_a_thread_runs_is_guarded_or_refused(tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_text(HELPER)
    threads = (
        "import sys, threading\nLIMIT = 2\n"
        "def ask(x):\n    found = []\n"
        "    one = threading.Thread(target=lambda: found.append(OTHER(x)))\n    one.start(); one.join()\n"
        "    return found[0]\n"
    )
    names: dict[str, Any] = {}
    exec(compile("def other(x): return x is True", "<typed in>", "exec"), names)  # noqa: S102
    path = tmp_path / "m.py"
    path.write_text(text("(s.x <= 2) if ask(s.done) else (s.x <= 5)", f"{threads}OTHER = sys.stdin_of_test"))
    sys.stdin_of_test = names["other"]  # type: ignore[attr-defined]
    try:
        assert "<typed in>: its text is not kept" in verdict(path)
    finally:
        del sys.stdin_of_test  # type: ignore[attr-defined]


def test_protocols_are_loaded_in_several_threads(tmp_path: Path) -> None:
    """Each has its own modules, and none is left behind."""
    one, two = folders(tmp_path)
    found: list[tuple[Path, int]] = []

    def build(path: Path) -> None:
        for _ in range(5):
            (schema,) = load(path).instance().written.schemas
            found.append((path, int("3" in repr(schema.action.when.right.value))))  # type: ignore[attr-defined]

    threads = [threading.Thread(target=build, args=(path,)) for path in (one, two) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted([(one, 0)] * 10 + [(two, 1)] * 10)
    assert "rules" not in sys.modules


def test_a_profile_function_is_as_before(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(text())

    def profile(*_: object) -> None:
        """Note nothing."""

    sys.setprofile(profile)
    try:
        load(path).instance().system  # noqa: B018 - it is built here
        assert sys.getprofile() is profile
    finally:
        sys.setprofile(None)


PLANTED = {
    "nothing is noted": ("_is_guarded", lambda *_: True),
    "no code is put in its place": ("_guard_in_place", lambda *_: None),
    "the code is guarded, and its names are not": ("_give_names", lambda *_: None),
}


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_mistake_in_the_guard_is_noticed(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded_modules, *PLANTED[mistake])
    assert IS not in verdict(cell(text(WRONG), f"<{mistake}>"))
