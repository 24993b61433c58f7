"""ABC as an engine: its clauses are judged, its paths are replayed, its text is data, its process ends."""

from __future__ import annotations

import os
import re
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fencepost.cli.main import run
from fencepost.encoding.abc import finder, process
from fencepost.encoding.abc.finder import find
from fencepost.encoding.abc.process import MOST_SECONDS, Proof, pdr
from fencepost.encoding.check import check
from fencepost.encoding.engine import limits as engine_limits
from fencepost.encoding.engine.clauses import Clause, Relation
from fencepost.encoding.engine.limits import Limits, abc_program
from fencepost.encoding.engine.verdicts import Basis, Result, Verdict
from fencepost.encoding.errors import BadInput, ModelError
from fencepost.encoding.formulas.aiger import Circuit, CircuitBuilder
from fencepost.encoding.language import BOOL, Action, Property, StateSpace, System, each, integers, variable
from fencepost.encoding.language.declarations import anything
from fencepost.encoding.language.protocol import load
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.solving.workers import Worker
from support import lost_mail
from support.against_exploring import accepted, ic3_differs, seeds_of_each_tier
from support.bare import Bare
from support.beginning import nodes, third_never_acts
from support.processes import gone, stat

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

with_abc = pytest.mark.skipif(abc_program() is None, reason="pyosys is not installed; it has no wheel here")


def checked(system: System, engines: Sequence[str] = ("abc",), **limits: Any) -> tuple[Result, ...]:
    return check(
        Bare(system, Subject("t", {}, {})), system.properties, Limits(engines=tuple(engines), **limits)
    ).results


def by_abc(name: str, **settings: object) -> tuple[Result, ...]:
    return checked(load(EXAMPLES / f"{name}.py").instance(settings.items(), drop_declared=True).system)


# The program itself.


@with_abc
@seeds_of_each_tier(2, 20, 1_000)
def test_abc_finds_what_exploring_finds_and_proves_the_rest(seeds: range) -> None:
    search = partial(find, MOST_SECONDS)
    assert [seed for seed, system, truth in accepted(seeds) if ic3_differs(system, truth, search)] == []


def words_are_exchanged(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: each clause says *is* for *is not*."""
    plant.setattr(finder, "IS", Relation.IS_NOT)
    plant.setattr(finder, "IS_NOT", Relation.IS)


def no_latch_is_inverted(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: a latch that starts as one is taken for one that starts as zero."""
    clauses = finder.clauses

    def planted(builder: CircuitBuilder, circuit: Circuit, rows: Sequence[str]) -> tuple[Clause, ...]:
        latches = [replace(latch, reset=False) for latch in circuit.latches]
        return clauses(builder, replace(circuit, latches=latches), rows)

    plant.setattr(finder, "clauses", planted)


@with_abc
@pytest.mark.parametrize("plant", [words_are_exchanged, no_latch_is_inverted])
def test_the_judge_refuses_clauses_of_a_planted_mistake(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    (result,) = by_abc("lock_server")
    assert result.verdict is Verdict.UNDECIDED


@with_abc
@pytest.mark.parametrize(
    ("name", "settings", "verdict"),
    [
        ("lock_server", {}, Verdict.PROVED),
        ("two_copies", {"fence": "yes"}, Verdict.PROVED),
        ("two_copies", {}, Verdict.VIOLATED),
        ("two_copies", {"fence": "yes", "acknowledge": "reachable"}, Verdict.VIOLATED),
    ],
)
def test_a_check_by_abc_alone_has_a_verdict(name: str, settings: dict[str, str], verdict: Verdict) -> None:
    (result,) = by_abc(name, **settings)
    assert result.verdict is verdict
    assert (result.basis is Basis.INDUCTION, bool(result.found)) == (verdict is Verdict.PROVED,) * 2


class Two(StateSpace):
    """A number that grows to two, and a flag that is never set."""

    def __init__(self, first: Any = 0) -> None:
        self.number = variable(integers(0, 2), initial=first)
        self.flag = variable(BOOL)
        self.other = variable(BOOL)


def grow(s: Two) -> Action:
    """Let the number grow."""
    return Action(s.number < 2, [s.number.set(s.number + 1)], "a")


def grow_too_far(s: Two) -> Action:
    """Let the number grow beyond its domain."""
    return Action(~s.flag, [s.number.set(s.number + 1)], "a")


def spread(s: Two) -> Action:
    """Copy the flag."""
    return Action(s.flag, [s.other.set(True), s.flag.set(False)], "a")


def two(*actions: Callable[[Two], Action], **initial: Any) -> System:
    """Return the system. One property is violated, one holds, and the last one's witness is never true."""
    s = Two(**initial)
    properties = (
        Property("small", "", s.number < 2, s.number == 1, "one"),
        Property("never-set", "", ~s.other, s.number == 2, "two"),
        Property("empty", "", ~(s.flag & (s.number == 1)), s.flag, "set"),
    )
    return System(s, tuple(each(action, s) for action in (*actions, spread)), properties)


@with_abc
def test_a_violated_property_leaves_and_the_others_are_proved() -> None:
    small, never_set, empty = checked(two(grow))
    assert (small.verdict, small.steps) == (Verdict.VIOLATED, 2)
    assert (never_set.verdict, never_set.witness) == (Verdict.PROVED, True)
    assert empty.verdict is Verdict.VACUOUS, (
        "clauses say that the witness is never true, and the judge agrees"
    )


@with_abc
def test_a_badly_defined_action_is_shown_with_the_steps_before() -> None:
    with pytest.raises(ModelError, match=r"number.* 3|outside"):
        checked(two(grow_too_far))


@with_abc
def test_systems_with_several_initial_states() -> None:
    (result,) = checked(nodes(third_never_acts))
    assert result.verdict is Verdict.VIOLATED and result.trace is not None
    assert result.trace.initial["leader"] == "n3"
    (result,) = checked(nodes(third_never_acts, beginning=lambda s: s.leader != "n3"))
    assert result.verdict is Verdict.PROVED
    small, *_ = checked(two(grow, first=anything))
    assert (small.verdict, small.steps) == (Verdict.VIOLATED, 0)


@with_abc
def test_no_configuration_file_of_abc_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands in such a file would run: ABC has one that calls a shell."""
    read = tmp_path / "read"
    for name in ("abc.rc", ".abc.rc"):
        (tmp_path / name).write_text(f"! touch {read}\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    system = lost_mail.instance(drop_declared=True).system
    assert isinstance(pdr(CircuitBuilder(system, system.properties).circuit()), Proof)
    assert not read.exists()


# Its text is data.

PROVED = "Status = 1  Frames = 3   Cex is not defined.\n"
VIOLATED = (
    "Status = 0  Frames = 1   CEX: Po =   0  Frame =   2  FF = 11  PI = 10  Bit = 41  1s = 1 (1.00 %)\n"
)
TABLE = """# Inductive invariant for "/dev/fd/3"
.i 11
.o 1
.p 16
.ilb lo00 lo01 lo02 lo03 lo04 lo05 lo06 lo07 lo08 lo09 lo10
.ob inv
-------1--0 1
-------1-0- 1
------1---0 1
------1-0-- 1
-----1----0 1
-----1---1- 1
-----1-1--- 1
----1-----0 1
----1---1-- 1
----1-1---- 1
---1------0 1
---1-----1- 1
---1---1--- 1
--1-------0 1
--1-----1-- 1
--1---1---- 1
.e
"""
"""The invariant that ABC writes about lost mail; the last latch is true after the first step."""

IDLE = "0" * 11 + "\n" + ("0" * 10 + "\n") * 3 + "# DONE\n"
"""A path of two steps in which nothing happens. The last two inputs are the choices."""


def said(plant: pytest.MonkeyPatch, output: str, table: str = "", path: str = "", code: int = 0) -> Result:
    """Return the result of lost mail if ABC wrote these texts, and ended with this code.

    Asked about the witness, which is that a letter is read, it finds a path.
    """
    system = lost_mail.instance(drop_declared=True).system
    circuit = CircuitBuilder(system, system.properties).circuit()
    happens = [
        next(n for n, name in enumerate(circuit.inputs) if name.startswith(a)) for a in ("arrive", "read")
    ]
    frames = [*("".join("01"[n == slot] for n in range(10)) for slot in happens), "0" * 10]
    reading = "\n".join(["0" * 11, *frames, "# DONE\n"])

    def run_abc(asked: bytes, solver: str, seconds: float) -> tuple[int, str, str, str]:
        if asked == circuit.aiger([]):
            return code, output, table, path
        return 0, VIOLATED, "", reading

    plant.setattr(engine_limits, "abc_program", lambda: Path("abc"))
    plant.setattr(process, "_run_abc", run_abc)
    (result,) = checked(system, jobs=1)
    return result


def wrong_polarity(table: str) -> str:
    """Plant a mistake: a letter that has *not* arrived is neither lost nor given up."""
    return table.replace("---1---1--- 1", "---0---1--- 1").replace("---1-----1- 1", "---1-----0- 1")


def a_latch_left_out(table: str) -> str:
    """Plant a mistake: the first latch has no column, so each column is taken for the latch before it."""
    return re.sub(r"^.([01-]{9})([01-]) 1$", r"\1-\2 1", table, flags=re.MULTILINE)


def clauses_left_out(table: str) -> str:
    """Plant a mistake: what is left is not inductive."""
    kept = [line for line in table.splitlines() if not line.startswith("---1")]
    return "\n".join(kept).replace(".p 16", ".p 13") + "\n"


def none(table: str) -> str:
    return table


@pytest.mark.parametrize(
    ("plant", "verdict"),
    [
        (none, Verdict.PROVED),
        (wrong_polarity, Verdict.UNDECIDED),
        (a_latch_left_out, Verdict.UNDECIDED),
        (clauses_left_out, Verdict.UNDECIDED),
    ],
)
def test_the_judge_refuses(
    plant: Callable[[str], str], verdict: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = plant(TABLE)
    assert plant is none or planted != TABLE
    assert said(monkeypatch, PROVED, planted).verdict is verdict


def test_a_clause_that_is_not_inductive_is_no_part_of_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    more = TABLE.replace(".p 16", ".p 17").replace(".e", "--1-------- 1\n.e")
    result = said(monkeypatch, PROVED, more)
    assert result.verdict is Verdict.PROVED
    assert result.found and all(len(clause) > 1 for clause in result.found)


@pytest.mark.parametrize(
    ("output", "table", "path", "why"),
    [
        ("", "", "", "the output has no answer"),
        ("Segmentation fault", TABLE, "", "the output has no answer"),
        (PROVED + PROVED, TABLE, "", "the output has no answer"),
        (PROVED.replace("1", "2"), TABLE, "", "the output has no answer"),
        (PROVED.replace("1", "-1"), TABLE, "", "undecided"),
        (PROVED, "", "", "no table"),
        (PROVED, TABLE.replace("\n-", "\n", 1), "", "no table"),
        (PROVED, TABLE.replace("\n-", "\n"), "", "no table"),
        (PROVED, TABLE.replace(".p 16", ".p 15"), "", "no table"),
        (PROVED, TABLE.replace(".i 11", ".i 12"), "", "no table"),
        (PROVED, TABLE.replace("1-1---- 1", "1-2---- 1"), "", "no table"),
        (PROVED, TABLE.replace("1-1---- 1", "1-1---- 0"), "", "no table"),
        (PROVED, TABLE.replace(".e\n", ""), "", "no table"),
        (PROVED, TABLE + TABLE, "", "no table"),
        (VIOLATED, "", "", "no path"),
        (VIOLATED, "", IDLE.replace("# DONE\n", ""), "no path"),
        (VIOLATED, "", "1" + IDLE[1:], "no path"),
        (VIOLATED, "", IDLE.replace("0000000000\n#", "000000000\n#"), "no path"),
        (VIOLATED.replace("=   2", "=   3"), "", IDLE, "no path"),
        (VIOLATED.replace("Po =   0", "Po =   7"), "", IDLE, "the output has no answer"),
        (VIOLATED.replace("Po =   0", "Po = 1"), "", IDLE, "the path that it found does not replay"),
        (VIOLATED, "", IDLE, "the path that it found does not replay"),
    ],
)
def test_text_of_another_form_is_no_answer(
    output: str, table: str, path: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path in which nothing happens is planted: the property holds in its last state."""
    result = said(monkeypatch, output, table, path)
    assert result.verdict is Verdict.UNDECIDED
    assert f"abc: {why}" in str(result.reason) or why in str(result.reason)


def test_a_program_that_fails_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    result = said(monkeypatch, PROVED, TABLE, code=-11)
    assert (result.verdict, "abc: the program ended with code -11" in str(result.reason)) == (
        Verdict.UNDECIDED,
        True,
    )


# Its process.


def stand_in(plant: pytest.MonkeyPatch, folder: Path, *lines: str) -> Path:
    """Let a shell script stand for ABC, and return the file to which it writes its process id."""
    script, started = folder / "abc", folder / "started"
    script.write_text(
        "\n".join(["#!/bin/sh", f"echo $$ > {started}.new; mv {started}.new {started}", *lines])
    )
    script.chmod(0o755)
    for module in (engine_limits, process):
        plant.setattr(module, "abc_program", lambda: script)
    return started


def pid_in(file: Path) -> int:
    """Return the process id in a file, as soon as it is there."""
    while not file.exists():
        time.sleep(0.01)
    return int(file.read_text())


def asking() -> Iterator[object]:
    """Ask ABC, in a worker."""
    system = lost_mail.instance(drop_declared=True).system
    yield pdr(CircuitBuilder(system, system.properties).circuit())


def test_abc_ends_with_the_check_and_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: ABC goes on after the worker that asks it was killed."""
    (tmp_path / "files").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "files"))
    started = stand_in(monkeypatch, tmp_path, "exec sleep 600")
    worker = Worker("abc", asking, gib=None)
    pid = pid_in(started)
    assert list((tmp_path / "files").iterdir()) == []
    worker.kill()
    assert gone([pid])
    assert list((tmp_path / "files").iterdir()) == []


def test_the_first_of_two_engines_that_ends_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = stand_in(monkeypatch, tmp_path, "exec sleep 600")
    (result,) = checked(lost_mail.instance(drop_declared=True).system, ("ic3", "abc"), timeout=600)
    assert result.verdict is Verdict.PROVED
    assert not started.exists() or gone([pid_in(started)])


def test_abc_waits_while_its_worker_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: only the worker is stopped, so more processes run than jobs."""
    started = stand_in(monkeypatch, tmp_path, "while true; do :; done")
    worker = Worker("abc", asking, gib=None)
    pid = pid_in(started)
    worker.pause()
    assert any(stat(pid)[0] == "T" or time.sleep(0.01) for _ in range(1000))  # type: ignore[func-returns-value]
    worker.go_on()
    before = worker.spent
    assert any(worker.spent > before or time.sleep(0.01) for _ in range(6000)), "its seconds count"  # type: ignore[func-returns-value]
    worker.kill()
    assert gone([pid])


def test_ctrl_c_does_not_reach_abc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command hears it, and ends the check with what is known."""
    started = stand_in(monkeypatch, tmp_path, "while true; do :; done")
    worker = Worker("abc", asking, gib=None)
    pid = pid_in(started)
    ignored = next(
        line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigIgn")
    )
    assert int(ignored.split()[1], 16) >> (signal.SIGINT - 1) & 1
    os.kill(pid, signal.SIGINT)
    worker.kill()
    assert gone([pid])


def test_abc_has_the_memory_of_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, tmp_path, f"ulimit -v > {tmp_path}/memory", "exit 1")
    (result,) = checked(lost_mail.instance(drop_declared=True).system, memory=2.0, jobs=1)
    assert int((tmp_path / "memory").read_text()) == 2 * 2**20, "in KiB"
    assert result.verdict is Verdict.UNDECIDED


# Where it is not installed, and what it cannot do.


def test_without_the_wheel_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(engine_limits, "find_spec", lambda name: None)
    assert run(["check", str(EXAMPLES / "two_copies.py"), "--engine", "abc"]) == 2
    assert capsys.readouterr().err.endswith(
        "abc: the program ABC is not installed; pip install 'fencepost[abc]'\n"
    )


def test_conflicts_are_not_counted() -> None:
    with pytest.raises(BadInput, match="abc: cannot count conflicts"):
        checked(lost_mail.instance().system, conflicts=100)
