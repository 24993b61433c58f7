"""docs/house.md: the way of a question and of a case of a sweep is the way of a recorded run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from fencepost.cli.main import run
from fencepost.encoding import check as order
from fencepost.encoding.check import in_lanes
from fencepost.encoding.engine.work import Engine
from fencepost.encoding.language.protocol import Protocol
from fencepost.encoding.language.system import System
from fencepost.sweeps import solve
from fencepost.sweeps.grid import plan
from fencepost.sweeps.solve import Allowance, solve_all
from fencepost.sweeps.sweep_cases import together
from support.recording import recorded

PAGE = Path(__file__).resolve().parents[2] / "docs" / "house.md"
SIZES = {"ensemble": 2, "write_quorum": 2}

Way = Mapping[str, Sequence[str]]
"""The modules of each process, in order."""


def check() -> None:
    sets = [word for name, value in SIZES.items() for word in ("--set", f"{name}={value}")]
    run(["check", "bookkeeper-4.13", "--property", "no-divergence", *sets, "--jobs", "1"])


def sweep() -> None:
    solve._instance.cache_clear()
    proved = {"bookies": 2, **SIZES, "recovery_reads_fence": "yes"}
    names = ["no-divergence", "acked-entries-readable"]
    grid = {"grid": [{"protocols": "bookkeeper-4.13", "properties": names, "set": proved}]}
    for task in together(plan(grid).cases):
        assert {row["basis"] for row in solve_all(task, "0.0+test", Allowance(timeout=600))} == {"induction"}


QUESTIONS: dict[str, Callable[[], None]] = {
    "One question through the code": check,
    "A case of a sweep": sweep,
}


def way_of(section: str) -> Way:
    """Return the table of a section of the page."""
    text = re.split(rf"^##+ {section}$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1]
    text = re.split(r"^##", text, flags=re.MULTILINE)[0]
    rows = re.findall(r"^\| `([\w+]+)` \| (`.*`) \|$", text, flags=re.MULTILINE)
    return {process: re.findall(r"`([^`]+)`", modules) for process, modules in rows}


def one_after_the_other(lanes: Sequence[Sequence[Engine]]) -> Callable[[Engine], bool]:
    """Return the order of one lane of all engines, so that a run does not depend on the machine."""
    (induction, *finding), (enumeration, rounds, *others) = lanes
    return in_lanes([[enumeration, induction, rounds, *finding, *others]])


def differences(stated: Way, found: Way) -> list[str]:
    """Return the differences between a run and its table: other processes, another order, a missing room."""
    if stated.keys() != found.keys():
        return [f"processes: {sorted(stated.keys() ^ found.keys())}"]
    wrong = []
    for process, modules in stated.items():
        if [module for module in found[process] if module in modules] != list(modules):
            wrong.append(f"{process}: {modules} is not the order of the run")
        missing = rooms(found[process]) - rooms(modules)
        wrong += [f"{process}: does not name {room}" for room in sorted(missing)]
    return wrong


def rooms(modules: Sequence[str]) -> set[str]:
    """Return the rooms of the engines to which these modules belong."""
    found = {module.rsplit("/", 1)[0] for module in modules if module.count("/") == 2}
    worked_in = ("engine", "formulas", "rounds", "induction", "ic3", "enumeration", "all_sizes", "evidence")
    return {room for room in found if room in {f"encoding/{name}" for name in worked_in}}


@pytest.mark.slow
@pytest.mark.parametrize("section", QUESTIONS)
def test_the_way_of_a_question_is_that_of_a_run(
    section: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Planted: a process left out, two modules exchanged, a room that is not named.
    built: list[object] = []
    whole = Protocol.fold

    def counted(protocol: Protocol, written: System) -> System:
        built.append(written)
        return whole(protocol, written)

    monkeypatch.setattr(Protocol, "fold", counted)
    monkeypatch.setattr(order, "in_lanes", one_after_the_other)
    stated, found = way_of(section), recorded(QUESTIONS[section], tmp_path / "calls")
    assert differences(stated, found) == []
    assert len(built) == 1, "the system is built once"
    assert differences({p: m for p, m in stated.items() if p != "induction"}, found)
    assert differences({**stated, "questions": stated["questions"][::-1]}, found)
    assert differences({**stated, "questions": ["encoding/induction/houdini.py"]}, found)
