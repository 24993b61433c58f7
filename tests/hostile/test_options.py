"""Refused options: values that are no numbers, values of two lines, contradictory options."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from fencepost.cli.main import COMMANDS, run
from fencepost.cli.options import old_names
from support.page_commands import unknown_options
from support.refusing import refused

COMMIT = Path(__file__).parents[2] / "examples" / "two_phase_commit.py"

NO_SECONDS = (
    "nan",
    "inf",
    "-inf",
    "1e400",
    "1e3",
    "0",
    "-1",
    "",
    " 3",
    "1_0",
    "\u0663",
    "0x10",
    "99999999",
    "3\n",
    "9" * 5000,
)
NO_WHOLE = (
    "nan",
    "1.5",
    "1e3",
    "-1",
    "",
    " 3",
    "1_0",
    "\u0663",
    "0x10",
    "10000000000",
    "3\n",
    "+3",
    "9" * 5000,
)


@pytest.mark.parametrize("value", NO_SECONDS)
@pytest.mark.parametrize(
    "command",
    [
        ("check", "bookkeeper", "--timeout={}"),
        ("check", "bookkeeper", "--memory={}"),
        ("prove", "--timeout={}"),
        ("sweep", "grid.toml", "out", "--timeout-per-case={}"),
        ("sweep", "grid.toml", "out", "--memory={}"),
    ],
    ids=lambda command: f"{command[0]} {command[-1]}",
)
def test_seconds_and_memory_are_plain_numbers(
    command: tuple[str, ...], value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "must be a number above 0" in refused(capsys, *command[:-1], command[-1].format(value))


@pytest.mark.parametrize("value", NO_WHOLE)
@pytest.mark.parametrize(
    "command",
    [
        ("check", "bookkeeper", "--bound={}"),
        ("check", "bookkeeper", "--bound=rounds={}"),
        ("check", "bookkeeper", "--count={}"),
        ("check", "bookkeeper", "--jobs={}"),
        ("check", "bookkeeper", "--budget=lost={}"),
        ("check", "bookkeeper", "--set=bookies={}"),
        ("export", "bookkeeper", "--format=smt2", "--rounds={}"),
        ("sweep", "grid.toml", "out", "--conflicts-per-case={}"),
        ("quorum", "-w3", "-a2", "--ensemble={}"),
    ],
    ids=lambda command: f"{command[0]} {command[-1]}",
)
def test_sizes_and_limits_are_plain_numbers(
    command: tuple[str, ...], value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, *command[:-1], command[-1].format(value))
    assert any(word in said for word in ("whole number", "must be", "must have")), said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("quorum", "-e", "100000", "-w", "3", "-a", "2"),
            "ensemble (E) is 100000: it must be at most 1,000",
        ),
        (("quorum", "-e3", "-w3", "-a2", "--racks", "0,1"), "a rack of 0"),
        (("check", "bookkeeper", "--set", "bookies=100000"), "bookies=100000: must be 500 or less"),
        (("check", "bookkeeper", "--set", "bookies"), "bookies: must have the form NAME=VALUE"),
        (("check", "bookkeeper", "--set", "gravity=off"), "gravity: no such parameter or switch"),
        (("check", "bookkeeper", "--set", "a\nb=1"), "a\\nb: no such parameter or switch"),
        (("check", "bookkeeper", "--set", f"{'x' * 20_000}=1"), "no such parameter or switch"),
        (("check", "bookkeeper", "--property", "\x1b[2J"), "\\x1b[2J: no such property"),
        (("check", "bookkeeper", "--bound", "rounds=1000000000"), "must be a whole number from 1 to 1,000"),
        (("check", "bookkeeper", "--solver", "\x1b"), "'\\x1b' is not one of"),
        (("check", "bookkeeper", "--fast\n"), "No such option"),
        (("invariants", "bookkeeper", "--candidates"), "No such option '--candidates'"),
        (("export", "bookkeeper", "--format", "dimacs"), "'dimacs' is not one of 'text', 'json'"),
        (
            ("export", "bookkeeper", "--format=smt2", "--what=completeness"),
            "--what completeness: no such query, and no action of that name",
        ),
        (("chekc",), "No such command"),
        (("export", "x" * 300), "cannot be read"),
        (("export", "\udc80"), "\\udc80: cannot be read"),
        (("certify", "x" * 300), "cannot be read"),
        (("sweep", "x" * 300, "out"), "cannot be read"),
        (("quorum", "--from", "x" * 300), "cannot be read"),
        (
            ("quorum", "-e3", "-w3", "-a2", "--output", "/dev/full"),
            "/dev/full: cannot be written (No space left",
        ),
        (
            ("quorum", "-e3", "-w3", "-a2", "--output", f"/tmp/{'x' * 300}"),
            "cannot be written (File name too",
        ),
        (("quorum", "-e3", "-w3", "-a2", "--output", "a\0b"), "cannot be written"),
        (("quorum", "-e3", "-w3", "-a2", "--output", "/nowhere/at/all"), "cannot be written"),
    ],
)
def test_what_means_nothing_is_refused(
    arguments: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert says in refused(capsys, *arguments)


COMMAND = [
    sys.executable,
    "-c",
    "import sys; from fencepost.cli.main import run; sys.exit(run(sys.argv[1:]))",
]


def test_a_full_stdout_is_no_success() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [*COMMAND, "quorum", "-e3", "-w3", "-a2"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (
        "fencepost: stdout: cannot be written (No space left on device); give --output FILE\n" in done.stderr
    )
    assert "Traceback" not in done.stderr
    assert done.returncode != 0


def test_a_full_stderr_changes_no_exit_code() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [*COMMAND, "quorum", "-e", "0"], stderr=full, stdout=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stdout) == (2, "")


def test_a_link_stays_and_leads_to_the_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    link.symlink_to(target)
    for _ in range(2):
        assert run(["quorum", "-e3", "-w3", "-a2", "--output", str(link)]) == 0
        assert link.is_symlink()
        assert "3/3/2" in target.read_text(encoding="utf-8")
    assert sorted(os.listdir(tmp_path)) == ["link.txt", "target.txt"]


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("chekc",), "check"),
        (("check", "bookeeper"), "bookkeeper"),
        (("check", "bookkeeper", "--property", "no-divergance"), "no-divergence"),
        (("check", "bookkeeper", "--set", "entrys=3"), "entries"),
        (("check", "bookkeeper", "--set", "recovery_floor=fragmen"), "fragment"),
        (("check", "bookkeeper", "--release", "4.16.66"), "4.16.6"),
        (("known", "--release", "4.16.66"), "4.16.6"),
        (("known", "--release", "4.18.1"), "4.18.0"),
        (("known", "--release", "4.17.5"), "4.17.4"),
        (("known", "--release", "4.19.0"), "4.18.0"),
        (("known", "--release", "5"), "4.18.0"),
        (("known", "--release", "4.5.1"), "4.6.0"),
        (("known", "--release", "4.14"), "4.14.8"),
        (("known", "--release", "4.16.x"), "4.16.7"),
        (("known", "--release", "v4.16.6"), "4.16.6"),
        (("known", "26144"), "#2614"),
        (("check", "bookkeeper", "--format", "jsn"), "json"),
        (("check", "bookkeeper", "--engine", "inducton"), "induction"),
    ],
)
def test_a_name_that_is_nearly_one_is_answered_with_it(
    arguments: tuple[str, ...], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert f" (did you mean {meant}" in refused(capsys, *arguments)


def test_a_name_that_is_like_no_other_gets_no_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean" not in refused(capsys, "check", "bookkeeper", "--property", "xyzzy")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--engine=ic3", "--bound=5"), "ic3: proves for any number of steps; leave out the bound"),
        (("--engine=abc", "--bound=5"), "abc: proves for any number of steps; leave out the bound"),
        (("--engine=ic3", "--engine=rounds", "--bound=5"), "ic3: proves for any number of steps"),
        (("--engine=induction", "--bound=5"), "induction: proves for any number of steps"),
        (
            ("--engine=induction", "--drop-declared"),
            "induction: no invariants are declared, or they are hidden",
        ),
        (("--engine=k-induction",), "'k-induction' is not one of 'enumeration', 'rounds'"),
    ],
)
def test_an_engine_that_cannot_do_what_is_asked(
    options: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert says in refused(capsys, "check", COMMIT, *options)


@pytest.mark.parametrize("old", [*old_names.COMMANDS, *old_names.OPTIONS])
def test_an_old_name_is_answered_with_the_new_one(
    old: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: a new name that no command has."""
    monkeypatch.chdir(tmp_path)
    Path("DIR").mkdir()
    line = refused(capsys, *old.split())
    assert ": is now " in line
    assert list(unknown_options(f"`{line.partition(': is now ')[2].strip('`')}`", ())) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_an_argument_too_many_is_refused_with_the_rule(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: the argument is dropped in silence."""
    command = importlib.import_module(f"fencepost.cli.commands.{name}").command
    monkeypatch.setattr(command, "callback", lambda **values: pytest.fail("the command ran"))
    taken = [one for one in command.params if isinstance(one, click.Argument)]
    if any(one.nargs == -1 for one in taken):
        return
    line = refused(capsys, name, *["bookkeeper-4.13" for _ in taken], "one\ntoo many")
    assert "too many" in line and f"{name} takes no argument" in line and f"valid: fencepost {name}" in line


@pytest.mark.parametrize("written", ["3/3/2", "3,3,2", "3:3:2"])
@pytest.mark.parametrize("name", ["advise", "quorum"])
def test_sizes_as_an_argument_name_their_options(
    name: str, written: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refused(capsys, name, written)
    assert f"{written}: {name} takes no argument; give the sizes as -e 3 -w 3 -a 2" in line


def test_a_file_as_an_argument_names_its_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "broker.conf"
    file.write_text("")
    assert f"give the file as --from {file}" in refused(capsys, "advise", str(file))
