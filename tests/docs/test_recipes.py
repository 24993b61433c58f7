"""Three recipes of docs/house.md, each followed in a copy of the package that then has the new thing.

`recipes/` has the changes as `git diff -U1` prints them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import fencepost

ROOT = Path(__file__).resolve().parents[2]
RECIPES = Path(__file__).with_name("recipes")


@dataclass(frozen=True)
class Copy:
    """A copy of the package in a folder of its own."""

    folder: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run Python in the folder, with the copy in the place of the package.

        No bytecode is kept: a planted mistake may have the length and the second of the text before it.
        """
        paths = os.pathsep.join((str(self.folder), str(ROOT / "tests")))
        return subprocess.run(
            [sys.executable, *command],
            check=False,
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
        )

    def plant(self, module: str, old: str, new: str) -> None:
        """Make a mistake in a module of the copy."""
        path = self.folder / "fencepost" / module
        text = path.read_text()
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))

    def fencepost(self, *arguments: str) -> tuple[int, str, str]:
        """Run a command, and return exit code, stdout and stderr."""
        done = self.run("-m", "fencepost.cli", *arguments)
        return done.returncode, done.stdout, done.stderr


def followed(recipe: str, folder: Path, *options: str) -> Copy:
    """Return a copy of the package with the change of a recipe."""
    package = shutil.copytree(Path(fencepost.__file__).parent, folder / "fencepost")
    subprocess.run(
        ["git", "apply", "-C1", *options, RECIPES / f"{recipe}.diff"],
        cwd=package,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(folder)},
        check=True,
    )
    return Copy(folder)


@pytest.mark.parametrize("recipe", ["storage", "engine"])
def test_a_recipe_names_each_file_that_is_changed(recipe: str) -> None:
    changed = re.findall(r"^--- a/(.+)$", (RECIPES / f"{recipe}.diff").read_text(), re.MULTILINE)
    page = (ROOT / "docs" / "house.md").read_text()
    (text,) = (part for part in page.split("\n\n") if re.match(rf"An? \*{recipe}\*", part))
    assert len(changed) == 2
    assert [name for name in changed if Path(name).name not in text] == []


SIZES = [
    word for name in ("bookies", "ensemble", "write_quorum", "ack_quorum") for word in ("--set", f"{name}=1")
]
ADVICE = ("advise", "-e", "3", "-w", "3", "-a", "2", "-n", "4", "--from", "bk_server.conf")


@pytest.mark.slow
def test_check_and_advise_take_a_storage(tmp_path: Path) -> None:
    copy = followed("storage", tmp_path)
    (tmp_path / "bk_server.conf").write_text("ledgerStorageClass=org.example.DirectStorage\n")
    code, out, err = copy.fencepost(*ADVICE)
    assert (code, err) == (0, "")
    assert "bk_server.conf sets direct storage." in out
    asked = [*SIZES, "--set", "crashes=1", "--set", "storage=direct", "--engine", "enumeration"]
    code, out, _ = copy.fencepost("check", "bookkeeper", "--property", "no-divergence", *asked)
    assert code == 1 and "switches: storage=direct" in out
    assert "no-divergence: violated in 12 steps" in out


@pytest.mark.slow
def test_advise_refuses_a_storage_without_its_place_in_the_releases(tmp_path: Path) -> None:
    copy = followed("storage", tmp_path, "--exclude=*/releases.toml")
    (tmp_path / "bk_server.conf").write_text("ledgerStorageClass=org.example.DirectStorage\n")
    code, _, err = copy.fencepost(*ADVICE)
    assert code == 2 and "direct: no release was read with this storage" in err


TERMS = """
from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.sorts import integers
from fencepost.encoding.language.source import source
from fencepost.encoding.language.state import StateSpace, family
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import TRUE, smaller
from support.exploration import explore
from support.generated import compare

class Cells(StateSpace):
    def __init__(self):
        self.cell = integers(1, 2)
        self.number = family(integers(0, 3), self.cell)

def fill(s, cell):
    least = smaller(s.number[1], s.number[2])
    return Action((s.number[cell] == least) & (least < 3), [s.number[cell].set(least + 1)], actor=cell)

s = Cells()
holds = smaller(s.number[1], s.number[2]) < 3
system = System(s, (each(fill, s, s.cell),), (Property("low", "a cell is low", holds, TRUE, "at first"),))
print(len(list(explore(system))), compare(system).agree)
print(line(~holds))
print(source(~holds, s))
"""


@pytest.mark.slow
def test_a_kind_of_term_has_one_meaning_in_both_readings(tmp_path: Path) -> None:
    copy = followed("term", tmp_path)
    done = copy.run("-c", TERMS)
    assert done.stdout.splitlines() == [
        "10 True",
        "3 <= smaller(number[1], number[2])",
        "3 <= smaller(s.number[1], s.number[2])",
    ], done.stderr
    copy.plant("encoding/concrete/compiler.py", 'f"min({self', 'f"max({self')
    assert copy.run("-c", TERMS).stdout.splitlines()[0].endswith(" False")


@pytest.mark.slow
def test_an_engine_is_asked_and_its_word_is_judged(tmp_path: Path) -> None:
    copy = followed("engine", tmp_path)
    asked = ("check", str(ROOT / "examples" / "ring_leader.py"), "--engine", "sampling", "--jobs", "1")
    code, out, _ = copy.fencepost(*asked)
    assert code == 1 and "one-leader: violated in 4 steps" in out
    engine = "encoding/induction/sampling.py"
    copy.plant(engine, "from collections", "from dataclasses import replace\nfrom collections")
    copy.plant(engine, "report(message", "report(replace(message, actions=message.actions[:-1])")
    code, out, err = copy.fencepost(*asked)
    assert code not in (0, 1) and "violated" not in out
    assert "a path was found that does not replay" in err
