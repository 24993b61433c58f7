"""Unknown names: each entrance to Fencepost refuses each of them in one line that has the name.

A name that is dropped in silence makes the verdict one about another question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

import fencepost
from fencepost.cli.cases import Checker, check_run
from fencepost.cli.mcp_server import Door, mcp_server
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.errors import BadInput, unknown_name
from fencepost.properties.expectations import read
from fencepost.sweeps.grid import read_grid
from support.counterexamples import EXAMPLE
from support.refusing import refused

PRESET = "bookkeeper-4.13"
WRONG = "wrongly"
CASE = f'[[case]]\nprotocol = "{EXAMPLE}"\nproperty = "nothing-lost"\nexpect = "proved"\n'
GRID = f"[[grid]]\nprotocols = '{PRESET}'\n"


@pytest.mark.parametrize(
    "words",
    [
        ("check", f"--{WRONG}=1"),
        ("check", f"--set={WRONG}=1"),
        ("check", f"--budget={WRONG}=1"),
        ("check", f"--property={WRONG}"),
        ("check", f"--release={WRONG}"),
        ("check", f"--engine={WRONG}"),
        ("check", f"--solver={WRONG}"),
        ("check", "--engine=states", f"--set={WRONG}=1"),
        ("export", "--format=smt2", "--rounds=1", f"--budget={WRONG}=1"),
        ("weaken", f"--set={WRONG}=1"),
        ("invariants", f"--property={WRONG}"),
    ],
)
def test_the_command_line(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert WRONG in refused(capsys, words[0], PRESET, *words[1:])


def no_result(*given: object) -> None:
    """Take what a fixture records of a result: there must be none."""
    raise AssertionError(given)


@pytest.mark.parametrize(
    "asked",
    [
        lambda: fencepost.check(PRESET, **{WRONG: 1}),  # type: ignore[arg-type]
        lambda: fencepost.check(PRESET, settings={WRONG: 1}),
        lambda: fencepost.check(PRESET, budgets={WRONG: 1}),
        lambda: fencepost.check(PRESET, properties=WRONG),
        lambda: fencepost.check(PRESET, release=WRONG),
        lambda: fencepost.check(PRESET, engines=WRONG),
        lambda: fencepost.check(PRESET, solver=WRONG),
        lambda: fencepost.count(PRESET, settings={WRONG: 1}),
        lambda: fencepost.count(PRESET, **{WRONG: 1}),  # type: ignore[arg-type]
        lambda: fencepost.advise(3, 3, 2, 3, **{WRONG: 1}),  # type: ignore[arg-type]
        lambda: fencepost.advise(3, 3, 2, 3, storage=WRONG),
        lambda: fencepost.quorum(3, 3, 2, **{WRONG: 1}),  # type: ignore[arg-type]
        lambda: Checker(no_result).check(EXAMPLE, "nothing-lost", **{WRONG: 1}),  # type: ignore[arg-type]
        lambda: Checker(no_result).check(EXAMPLE, WRONG),
        lambda: Checker(no_result).check(EXAMPLE, "nothing-lost", limits=Limits(budgets={WRONG: 1})),
    ],
)
def test_the_module_and_the_fixture_of_pytest(asked: Callable[[], object]) -> None:
    with pytest.raises((BadInput, TypeError), match=WRONG) as error:
        asked()
    assert "\n" not in str(error.value)


def test_the_options_and_settings_of_pytest(pytester: pytest.Pytester) -> None:
    """The plugin has neither, so pytest itself refuses them."""
    told = pytester.runpytest_subprocess(f"--fencepost-{WRONG}=1")
    assert told.ret == pytest.ExitCode.USAGE_ERROR
    pytester.makeini(f"[pytest]\nfencepost_{WRONG} = 1\n")
    pytester.runpytest_subprocess().stdout.fnmatch_lines([f"*Unknown config option: fencepost_{WRONG}*"])


CHECKED = {"protocol": PRESET}
SIZES = {"ensemble": 3, "write_quorum": 3, "ack_quorum": 2}
NEEDED: Mapping[str, dict[str, Any]] = {
    "protocols": {},
    "describe": CHECKED,
    "check": CHECKED,
    "replay": {"trace": "trace.json"},
    "count": CHECKED,
    "find_invariants": CHECKED,
    "quorum": SIZES,
    "advise": {**SIZES, "bookies": 3},
}
"""The arguments without which a tool refuses a call."""


def told_by_the_door(tool: str, arguments: Mapping[str, object]) -> str:
    """Return the line in which a tool refuses a call. The door starts no process for it."""

    async def called() -> str:
        async with Client(mcp_server(Door(None, False, 1.0))) as client:
            result = await client.call_tool(tool, dict(arguments))
            assert result.is_error, result
            return "\n".join(getattr(part, "text", "") for part in result.content)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Door, "_run", no_result)
        line = asyncio.run(called())
    assert "\n" not in line
    return line


@pytest.mark.parametrize("tool", NEEDED)
def test_the_door_for_programs(tool: str) -> None:
    """Planted: the arguments of the SDK's own tools, which drop what they do not know."""
    line = told_by_the_door(tool, {**NEEDED[tool], WRONG: 1})
    assert f"{WRONG}: no such argument of {tool}" in line


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"setting": {"entries": 2}}, "setting: no such argument of check (did you mean settings?)"),
        ({"budgets": {"lost": 0}}, "budgets: no such argument of check"),
        ({"bound": True}, "bound = True: "),
        ({"bound": "3"}, "bound = '3': "),
        ({"settings": {"entries": 1.5}}, "settings.entries"),
        ({"properties": "no-divergence"}, "properties = 'no-divergence': "),
        ({"protocol": None}, "protocol = None: "),
    ],
)
def test_the_door_names_what_it_refuses(wrong: dict[str, object], said: str) -> None:
    assert said in told_by_the_door("check", {**CHECKED, **wrong})


def test_the_door_names_an_argument_that_is_missing() -> None:
    assert "protocol: check needs this argument" in told_by_the_door("check", {})


@pytest.mark.parametrize(
    "text",
    [
        f"[{WRONG}]\n{CASE}",
        f"[defaults]\n{WRONG} = 1\n{CASE}",
        f"{CASE}{WRONG} = 1\n",
        f"{CASE}set = {{ {WRONG} = 1 }}\n",
        f"{CASE}budget = {{ {WRONG} = 1 }}\n",
        f"{CASE}release = '{WRONG}'\n",
        CASE.replace("nothing-lost", WRONG),
        CASE.replace('property = "nothing-lost"\nexpect = "proved"', f'expect = {{ {WRONG} = "proved" }}'),
    ],
)
def test_files_of_cases(text: str, tmp_path: Path) -> None:
    file = tmp_path / "x.cases.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=WRONG) as error:
        check_run(read(file)[0].runs()[0])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", [f"[{WRONG}]\n{{}}", f"[bare-fence]\n{WRONG} = 1\n{{}}"])
def test_files_of_ignored_losses(text: str, tmp_path: Path) -> None:
    file = tmp_path / "ignored.toml"
    file.write_text(text.format("reason = 'known'\nuntil = 2027-01-31\n"), encoding="utf-8")
    with pytest.raises(BadInput, match=WRONG) as error:
        fencepost.advise(3, 3, 2, 3, ignore=str(file))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        f"[{WRONG}]\n{GRID}",
        f"{GRID}{WRONG} = 1\n",
        f"{GRID}set.{WRONG} = 1\n",
        f"{GRID}properties = '{WRONG}'\n",
        f"{GRID}solvers = '{WRONG}'\n",
        f"{GRID}minimize = '{WRONG}'\n",
        f"[[grid]]\nknown = ['{WRONG}']\n",
        f"[[grid]]\nknown = 'all'\n{WRONG} = 1\n",
    ],
)
def test_grids(text: str, tmp_path: Path) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=WRONG) as error:
        read_grid(file)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("count", "listed"), [(3, "valid: name0, name1, name2"), (30, "a command lists them")]
)
def test_few_names_are_listed_and_of_many_the_command(count: int, listed: str) -> None:
    """Planted: all names of a large protocol in one line, which has then a thousand characters."""
    line = str(unknown_name("nam1", "thing", [f"name{n}" for n in range(count)], "a command"))
    assert line.endswith(f"; {listed}")
    assert line.startswith("nam1: no such thing (did you mean name1")
    assert len(line) < 120
