"""The commands of README and docs/: each runs, ends as the page says, and has only options that exist.

A command in a new line of a page is found by its form, so no list names it. What cannot run here is listed
with its reason. Commands with their output below them are also compared with it, here and in test_docs.py.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from fencepost.cli.exits import ExitCode
from fencepost.cli.main import run
from support.page_commands import PAGES, ROOT, PageCommand, click_commands, commands, needed, unknown_options
from support.shown import SHOWN, shows
from support.tiers import FILE, LIMITS, each_third, read

ALL = [command for page in PAGES for command in commands(page)]

NOT_HERE = {
    "explore ": "somebody explores; test_docs.py has the page's script, tests/pages the browser",
    "serve ": "a program connects; tests/cli/test_serve.py does",
    "conform ": "needs a LIB of BookKeeper",
    "reproduce ": "needs a LIB of BookKeeper",
    "export lost.json": "the file is the reader's",
    "certify evidence --protocol": "the certificate is the reader's",
    "sweep grid.toml": "the grid is the reader's",
    "export s3:": "the bucket is the reader's",
}
"""Beginnings of commands that cannot run here, each with the reason."""

ELSEWHERE = {
    "known": "half an hour; tests/protocols/test_known_bugs.py checks each of its lines",
    "known --format json": "the same",
    "sweep grids/advice.toml found/advice": "hours; test_checked.py asks a sample of its cells again",
}
"""Commands that other tests run in parts."""

OTHER_PROGRAMS = {
    "--refresh-goldens": "pytest here",
    "--junitxml": "pytest",
    "--schemafile": "check-jsonschema",
    "--finite-model-find": "cvc5",
    "--seeds": "benchmarks/simulations.py",
    "--py-files": "spark-submit",
    "--archives": "spark-submit",
    "--conf": "spark-submit",
}
"""Options in the pages that are not Fencepost's, with the program that takes them."""


def can_run(command: PageCommand) -> bool:
    """Return whether the command can run here by itself."""
    text = command.text.removeprefix("fencepost ")
    return not (command.is_form or text in ELSEWHERE or text.startswith(tuple(NOT_HERE)))


def to_run() -> list[PageCommand]:
    """Return the commands whose output no page shows, each once."""
    return list({c.text: c for c in reversed(ALL) if not c.is_prompted and can_run(c)}.values())[::-1]


def as_page_says(command: PageCommand, code: int, printed: str) -> Iterator[str]:
    """Yield the differences of an end from the remark behind the command, and from its own verdicts."""
    if code not in (ExitCode.SUCCESS, ExitCode.VIOLATED, ExitCode.UNDECIDED):
        yield f"exit code {code}"
    for steps in re.findall(r"\b(\d+) steps", command.remark):
        if f"in {steps} steps" not in printed:
            yield f"not in {steps} steps"
    for verdict in re.findall(r"\b(?:proved|violated|vacuous|undecided)\b", command.remark):
        if verdict not in printed:
            yield f"nothing is {verdict}"
    counted = re.sub(r".*; known: .*", "", printed) if "--expect known" in command.text else printed
    expected = code_of(counted)
    if command.arguments[0] == "check" and "--format" not in command.text and code != expected:
        yield f"exit code {code}, and the verdicts mean {expected}"


def code_of(printed: str) -> int:
    """Return the exit code that the verdict lines of a check mean."""
    found = set(re.findall(r"^[\w-]+: (violated|undecided|vacuous|proved|holds)\b", printed, re.MULTILINE))
    if "violated" in found:
        return ExitCode.VIOLATED
    return ExitCode.UNDECIDED if found & {"undecided", "vacuous"} else ExitCode.SUCCESS


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with what a reader of the pages has: the examples, the grids and the kept traces."""
    for folder in ("grids", "examples", "docs/traces"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for file in (ROOT / "examples").iterdir():
        if file.suffix != ".py" and file.is_file():
            shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lay_out(command: PageCommand, folder: Path) -> None:
    """Write the file that the page shows under the name that the command gives it; a sweep reads a grid."""
    shown = re.findall(r"^```toml\n(.*?)^```$", command.page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for word in command.arguments:
        if word.endswith(".toml") and not (folder / word).exists():
            table = "[[grid]]" if command.arguments[0] == "sweep" else ""
            (folder / word).write_text(next(text for text in shown if table in text), encoding="utf-8")


ASKS = ("check", "known", "invariants", "weaken")
"""Commands that never take so little that they need no record. One without a record is taken for long."""


def is_long(command: PageCommand) -> bool:
    """Return whether only `make test-long` runs the command to its end."""
    case = f"tests/docs/test_commands.py::test_a_command_ends_as_its_page_says[{command}]"
    return read(FILE).get(case, LIMITS["long"] + 1 if command.arguments[0] in ASKS else 0) > LIMITS["long"]


BY_TIER = [pytest.param(c, marks=pytest.mark.long if is_long(c) else pytest.mark.slow) for c in to_run()]


class Asked(BaseException):
    """A command has put its question, and nobody answers it."""


def puts_its_question(command: PageCommand, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether the options, sizes, switches and properties of a check or a known bug are valid."""
    import_module("fencepost.encoding.mutation.repairs")  # else it would keep the functions below

    def asked(*given: object, **named: object) -> None:
        raise Asked

    for name in (
        "cli.commands.check.check_all",
        "encoding.concrete.simulation.simulate",
        "encoding.check.check",
    ):
        monkeypatch.setattr(f"fencepost.{name}", asked)
    try:
        run(command.arguments)
    except Asked:
        return True
    return False


@pytest.mark.parametrize(
    "command",
    each_third(c for c in to_run() if is_long(c) and c.arguments[0] in ("check", "known")),
    ids=str,
)
def test_a_command_that_takes_long_puts_its_question(
    command: PageCommand, reader: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert puts_its_question(command, monkeypatch)


def test_a_question_that_cannot_be_put_is_noticed(reader: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = "fencepost check bookkeeper-4.13 --set bookies=2 --set ensemble=2 --set write_quorum=2"
    for more, expected in (("", True), (" --set fences=1", False), (" --property no-loss", False)):
        command = PageCommand(ROOT / "README.md", small + more, "", False)
        assert puts_its_question(command, monkeypatch) is expected


@pytest.mark.each
@pytest.mark.parametrize("command", BY_TIER, ids=str)
def test_a_command_ends_as_its_page_says(
    command: PageCommand, reader: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for earlier in needed(command):
        lay_out(earlier, reader)
        run(earlier.arguments)
    lay_out(command, reader)
    capsys.readouterr()
    code = run(command.arguments)
    printed = capsys.readouterr()
    assert list(as_page_says(command, code, printed.out)) == [], f"{printed.out}\n{printed.err}"


# Output below a command.

PROMPTED = [
    (command, shown)
    for page in PAGES
    if SHOWN.search(page.read_text(encoding="utf-8"))
    for command, (_, shown) in zip(
        [command for command in commands(page) if command.is_prompted],
        SHOWN.findall(page.read_text(encoding="utf-8")),
        strict=True,
    )
]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "shown"), PROMPTED, ids=[str(command) for command, _ in PROMPTED])
def test_a_command_after_a_prompt_shows_what_stands_below_it(
    command: PageCommand, shown: str, reader: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The earlier commands of the page that write what this one reads run first."""
    for earlier in needed(command):
        run(earlier.arguments)
    capsys.readouterr()
    code = run(command.arguments)
    output = capsys.readouterr().out
    assert list(as_page_says(command, code, output)) == []
    assert shown.strip()
    assert shows(shown, output), output
    assert code_of(shown) in (code, ExitCode.SUCCESS), "the verdicts shown mean another exit code"
    *before, last = shown.strip().split("\n")
    assert not shows("\n".join([last, *before]), output) or not before, "in another order it would do as well"
    assert not shows(f"{shown}\nnothing like it", output)


# What is found.


def test_every_command_of_a_page_is_one_and_no_line_is_passed_over() -> None:
    assert len(ALL) > 100
    for command in ALL:
        assert (command.arguments[0],) in click_commands(), command
    lines = sum(
        len(re.findall(r"^(?: +|\$ | +\$ )fencepost \w", page.read_text("utf-8"), re.MULTILINE))
        for page in PAGES
    )
    assert lines == len(ALL)


def test_what_cannot_run_here_is_in_a_page() -> None:
    texts = [command.text.removeprefix("fencepost ") for command in ALL]
    assert [start for start in NOT_HERE if not any(text.startswith(start) for text in texts)] == []
    assert [text for text in ELSEWHERE if text not in texts] == []


def test_every_option_in_a_page_is_one_of_its_command() -> None:
    wrong = {p.name: list(unknown_options(p.read_text("utf-8"), list(OTHER_PROGRAMS))) for p in PAGES}
    assert {page: names for page, names in wrong.items() if names} == {}


def test_an_option_that_a_command_does_not_take_is_noticed() -> None:
    planted = "    fencepost known 2614      # one (--bug is repeatable)\n"
    assert list(unknown_options(planted, ())) == ["--bug"]
    assert list(unknown_options("    fencepost conform bookkeeper --rounds 3\n", ())) == ["conform --rounds"]
    assert list(unknown_options("say `known --property NAME`", ())) == ["known --property"]
    assert list(unknown_options("    fencepost check a.py --bound rounds=3 --refresh-goldens # b\n", ())) == [
        "--refresh-goldens",
        "check --refresh-goldens",
    ]


def test_options_of_other_programs_are_listed_only_if_a_page_names_them() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in OTHER_PROGRAMS if name not in text] == []


def test_an_end_that_is_not_as_the_page_says_is_noticed() -> None:
    def differences(remark: str, code: int, printed: str, text: str = "fencepost check a.py") -> list[str]:
        return list(as_page_says(PageCommand(ROOT / "README.md", text, remark, False), code, printed))

    seen = "no-loss: violated in 18 steps (fewest: no shorter trace exists)"
    assert differences("scenario 1, 18 steps: violated", 1, seen) == []
    assert differences("scenario 1, 17 steps", 1, seen) == ["not in 17 steps"]
    assert differences("proved", 1, seen) == ["nothing is proved"]
    assert differences("", 0, seen) == ["exit code 0, and the verdicts mean 1"]
    assert differences("", 2, "", "fencepost quorum") == ["exit code 2"]
    known = f"{seen}; known: #2614"
    assert differences("", 0, known, "fencepost check a.py --expect known") == []
    assert differences("", 0, seen, "fencepost check a.py --expect known") != []
