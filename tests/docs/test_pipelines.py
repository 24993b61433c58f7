"""The workflow and the hook of docs/pipelines.md: their commands do what the page says."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.counterexamples import EXAMPLE

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CASE = """[[case]]
protocol = "protocol.py"
property = "nothing-lost"
expect = "violated"
"""
LEFT_OUT = "pip install"
"""The command of the workflow that installs; `make dist` has the same installation."""


def workflow() -> list[str]:
    """Return the commands of the workflow, in order."""
    text = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")
    content: dict[str, Any] = yaml.safe_load(BLOCK.findall(text)[0])
    return [step["run"] for step in content["jobs"]["check"]["steps"] if "run" in step]


def ended(words: str | list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, with the programs of this environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shell = isinstance(words, str)
    return subprocess.run(
        words,
        shell=shell,
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fence", "codes", "kept"),
    [
        ("no", [0, 1, 0], {"two-copies.nothing-lost.json", "two-copies.nothing-lost.html", "page.html"}),
        ("yes", [0, 0, 1], set()),
    ],
)
def test_the_workflow_fails_on_a_violation_and_keeps_what_the_page_lists(
    fence: str, codes: list[int], kept: set[str], tmp_path: Path
) -> None:
    """Planted: no `mkdir`; `|| true` behind the check."""
    text = EXAMPLE.read_text(encoding="utf-8")
    text = text if fence == "no" else text.replace('("no", "yes")', '("yes", "no")')
    (tmp_path / "protocol.py").write_text(text, encoding="utf-8")
    (tmp_path / "small.cases.toml").write_text(CASE, encoding="utf-8")
    commands = [command for command in workflow() if not command.startswith(LEFT_OUT)]
    assert [ended(command, tmp_path).returncode for command in commands] == codes
    assert {file.name for file in (tmp_path / "found").iterdir()} == kept | {"cases.xml", "problems.sarif"}


def hook() -> list[str]:
    """Return the words of the hook's entry."""
    (only,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    return shlex.split(only["entry"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--set=fence=yes", "safe.py"], 0),
        (["safe.py", "other/safe copy.py"], 1),
        (["--property=no-loss", "safe.py"], 2),
        ([], 0),
    ],
)
def test_the_hook_checks_one_file_after_the_other(arguments: list[str], code: int, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    for name in ("safe.py", "other/safe copy.py"):
        shutil.copy(EXAMPLE, tmp_path / name)
    found = ended([*hook(), *arguments], tmp_path)
    assert found.returncode == code
    checks = sum(word.endswith(".py") for word in arguments)
    assert found.stdout.count("nothing-lost: ") + found.stderr.count("fencepost: ") >= checks


def test_the_hook_takes_only_files_of_the_name_of_a_protocol() -> None:
    """A file that the hook checks is run, so a changed file of another name is left alone."""
    (only,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    taken = [
        f
        for f in ("protocol.py", "a/protocol.py", "setup.py", "my_protocol.py")
        if re.search(only["files"], f)
    ]
    assert taken == ["protocol.py", "a/protocol.py"]
