"""The commands of README exist, print what it shows, and are all run before a release."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fencepost.cli.exits import ExitCode
from fencepost.cli.main import run
from support.shown import SHOWN, shows

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NEEDS = {"reproduce": "a BookKeeper", "conform": "a BookKeeper", "explore": "somebody who explores"} | (
    {} if shutil.which("java") else {"sweep": "a Java"}
)
"""Commands that need something that is missing here."""


def commands() -> Iterator[str]:
    """Yield every line of README that calls fencepost, with its continuation lines, without its remark."""
    joined = README.replace("\\\n", "")
    for line in re.findall(r"^    (?:\$ )?(fencepost .*)$", joined, flags=re.MULTILINE):
        yield " ".join(re.split(r" +# ", line)[0].split())


COMMANDS = list(commands())


@pytest.mark.slow
@pytest.mark.parametrize(("command", "shown"), SHOWN.findall(README), ids=lambda text: text[:50])
def test_a_command_shows_what_stands_below_it(
    command: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shlex.split(command)[1:])
    output = capsys.readouterr().out
    assert shown.strip()
    assert shows(shown, output)
    *before, last = shown.strip().split("\n")
    assert not shows("\n".join([last, *before]), output) or not before, "in another order it would do as well"
    assert not shows(f"{shown}\nnothing like it", output)


def test_every_command_is_one() -> None:
    assert len(COMMANDS) == len(re.findall(r"^ {4}(?:\$ )?fencepost ", README, re.MULTILINE)) > 0
    known = (ROOT / "tests/cli/golden/help.txt").read_text(encoding="utf-8").split()
    assert {shlex.split(command)[1] for command in COMMANDS} <= set(known)


@pytest.mark.long
@pytest.mark.xdist_group("readme")
def test_all_of_them_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands run in the order of the page: some read files that others have written."""
    for folder in ("grids", "examples"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    wrong = []
    for command in COMMANDS:
        arguments = shlex.split(command)[1:]
        if any(word in NEEDS for word in arguments):
            continue
        code = run(arguments)
        if code not in (ExitCode.SUCCESS, ExitCode.VIOLATED, ExitCode.UNDECIDED):
            wrong.append(f"{command}: {code}, {capsys.readouterr().err}")
    assert wrong == []
    assert Path("counterexample.html").exists()
