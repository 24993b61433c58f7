"""`fencepost serve`: its tools, through the client of the SDK, and what a client cannot reach."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from fencepost.cli.main import run
from fencepost.cli.mcp_server import MOST_CHARACTERS, Door, bounded, mcp_server
from support.counterexamples import EXAMPLE

Asked = Callable[..., tuple[bool, str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a protocol, beside a file that no client may read."""
    own = tmp_path / "own"
    own.mkdir()
    shutil.copy(EXAMPLE, own / "two_copies.py")
    shutil.copy(EXAMPLE, tmp_path / "outside.py")
    (own / "link.py").symlink_to(tmp_path / "outside.py")
    return own


async def _asked(server: Any, tool: str, arguments: dict[str, object]) -> tuple[bool, str]:
    async with Client(server) as client:
        result = await client.call_tool(tool, arguments)
        return bool(result.is_error), "\n".join(getattr(part, "text", "") for part in result.content)


@pytest.fixture
def asked(folder: Path) -> Asked:
    """Return a function that calls a tool, and returns whether that is an error, and the text."""

    def call(tool: str, allow_run: bool = True, seconds: float = 60.0, **given: object) -> tuple[bool, str]:
        return asyncio.run(_asked(mcp_server(Door(folder, allow_run, seconds)), tool, given))

    return call


def test_every_tool_says_what_it_does() -> None:
    async def listed() -> list[Any]:
        async with Client(mcp_server(Door(None, False, 1.0))) as client:
            return list((await client.list_tools()).tools)

    tools = {tool.name: tool for tool in asyncio.run(listed())}
    assert list(tools) == [
        *("protocols", "describe", "check", "replay", "count", "find_invariants"),
        *("quorum", "advise"),
    ]
    assert all(tool.description for tool in tools.values())
    assert "self" not in str([tool.input_schema for tool in tools.values()])


@pytest.mark.slow
def test_a_file_is_checked_and_its_counterexample_shown(asked: Asked) -> None:
    error, text = asked("check", protocol="two_copies.py")
    assert not error
    assert "nothing-lost: violated in 7 steps" in text
    assert "Entry 1 was acknowledged, but was not on c2" in text
    assert text.endswith("exit code 1: violated or refuted")
    error, text = asked("check", protocol="two_copies.py", settings={"fence": True})
    assert (error, "nothing-lost: proved" in text) == (False, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("protocols", {}, "bookkeeper-4.13"),
        ("describe", {"protocol": "two_copies.py"}, "nothing-lost"),
        ("count", {"protocol": "two_copies.py", "symmetry": True}, "states"),
        ("find_invariants", {"protocol": "two_copies.py", "settings": {"fence": "yes"}}, "Invariant("),
        ("quorum", {"ensemble": 3, "write_quorum": 3, "ack_quorum": 2}, "QC"),
    ],
)
def test_each_tool_answers(asked: Asked, tool: str, given: dict[str, object], said: str) -> None:
    error, text = asked(tool, **given)
    assert (error, said in text) == (False, True), text


@pytest.mark.slow
def test_a_saved_trace_of_the_folder_is_replayed(asked: Asked, folder: Path) -> None:
    assert run(["check", str(EXAMPLE), "--traces", str(folder), "--jobs", "1"]) == 1
    name = "two-copies.nothing-lost.json"
    error, text = asked("replay", trace=name, protocol="two_copies.py")
    assert (error, "Entry 1 was acknowledged" in text) == (False, True), text


@pytest.mark.parametrize("name", ["../outside.py", "link.py", "/etc/passwd.py", "gone.py", "\0.py", "."])
@pytest.mark.parametrize("tool", ["check", "describe", "replay"])
def test_no_file_outside_the_folder_is_reached(asked: Asked, tool: str, name: str) -> None:
    """Planted: names are joined and not resolved; links are not followed before the comparison."""
    named = {"trace": name} if tool == "replay" else {"protocol": name}
    error, text = asked(tool, **named)
    assert error
    assert "no file in the folder" in text or "no such protocol" in text


def test_configuration_files_come_from_the_folder_too(asked: Asked) -> None:
    error, text = asked("advise", files=["../../broker.conf"])
    assert (error, "no file in the folder" in text) == (True, True)


@pytest.mark.parametrize("tool", ["check", "describe", "count", "find_invariants"])
def test_no_file_is_run_unless_the_user_allows_it(asked: Asked, folder: Path, tool: str) -> None:
    """Planted: only `check` asks whether files may be run."""
    mark = folder / "ran"
    (folder / "evil.py").write_text(f"open({str(mark)!r}, 'w')\n", encoding="utf-8")
    error, text = asked(tool, allow_run=False, protocol="evil.py")
    assert (error, "--allow-run" in text, mark.exists()) == (True, True, False)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["click.py", "z3.py", "dataclasses.py", "fencepost/cli/__main__.py"])
def test_nothing_in_the_folder_is_imported_for_a_question(
    asked: Asked, folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is started in its folder, as users do. Planted: `python -m` without -P."""
    monkeypatch.chdir(folder)
    mark = folder / "ran"
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"open({str(mark)!r}, 'w')\nprint('proved')\n", encoding="utf-8")
    for part in list(Path(name).parents)[:-1]:
        (folder / part / "__init__.py").touch()
    error, text = asked("count", allow_run=False, protocol="verified-log-01", settings={"entries": 1})
    assert (error, mark.exists(), text.endswith("exit code 0: success")) == (False, False, True), text


@pytest.mark.slow
@pytest.mark.parametrize("value", ["--output=/tmp/x", "-h", "--traces=."])
def test_no_value_is_read_as_an_option(asked: Asked, folder: Path, value: str) -> None:
    before = sorted(folder.iterdir())
    for given in ({"properties": [value]}, {"release": value}, {"settings": {value: "1"}}):
        error, text = asked("check", protocol="bookkeeper-4.13", **given)
        assert error, text
    assert asked("check", protocol=value)[0]
    assert sorted(folder.iterdir()) == before


def test_a_preset_that_does_not_exist_is_one_line(asked: Asked) -> None:
    error, text = asked("check", protocol="bookkeper")
    assert error
    assert "bookkeper: no such protocol (did you mean bookkeeper, " in text


@pytest.mark.slow
def test_a_check_without_an_answer_in_time_is_undecided(asked: Asked) -> None:
    settings = {"bookies": 5, "entries": 3, "recovery_reads_fence": "yes"}
    error, text = asked("check", seconds=2.0, protocol="bookkeeper-4.13", settings=settings)
    assert not error
    assert "undecided" in text
    assert text.endswith("exit code 3: undecided or vacuous")


@pytest.mark.slow
def test_a_command_that_does_not_end_is_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.cli.mcp_server.GRACE", 0.5)
    (folder / "sleeper.py").write_text("import time\ntime.sleep(600)\n", encoding="utf-8")
    server = mcp_server(Door(folder, True, 0.5))
    error, text = asyncio.run(_asked(server, "describe", {"protocol": "sleeper.py"}))
    assert (error, "undecided: time-out after 0.5 s" in text) == (True, True)


def test_an_answer_is_bounded_and_keeps_its_end() -> None:
    text = "a" * MOST_CHARACTERS + "proved"
    assert bounded("short") == "short"
    assert len(bounded(text)) < MOST_CHARACTERS + 100
    assert bounded(text).endswith("proved")


@pytest.mark.slow
def test_the_command_speaks_on_standard_streams(folder: Path) -> None:
    words = ["-m", "fencepost.cli", "serve", "--folder", str(folder)]
    server = StdioServerParameters(command=sys.executable, args=words)
    sizes: dict[str, object] = {"ensemble": 2, "write_quorum": 2, "ack_quorum": 2}
    error, text = asyncio.run(_asked(server, "quorum", sizes))
    assert (error, text.endswith("exit code 0: success")) == (False, True)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--mcp"], "--mcp: is now `fencepost serve`"),
        (["--allow-run"], "--allow-run: no folder is named; add --folder DIR, or leave it out"),
        (["--folder", "gone"], "--folder gone: is no folder; give the one that has the files"),
    ],
)
def test_what_is_refused(words: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", *words]) == 2
    assert capsys.readouterr().err == f"fencepost: {line}\n"
