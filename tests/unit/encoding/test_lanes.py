"""The two lanes of a check: each engine gets its turn, proved properties leave, and the time limit holds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fencepost.encoding import check as order
from fencepost.encoding.check import check, in_lanes
from fencepost.encoding.engine.events import Event, Open, Remark, Silence
from fencepost.encoding.engine.knowledge import Knowledge
from fencepost.encoding.engine.limits import ENGINES, Limits
from fencepost.encoding.engine.verdicts import Basis, Verdict
from fencepost.encoding.engine.work import Engine, Work
from fencepost.encoding.enumeration import state_enumeration
from fencepost.encoding.enumeration.process import enumerate_states
from fencepost.encoding.induction import houdini
from fencepost.encoding.language import (
    BOOL,
    Action,
    Invariant,
    Property,
    StateSpace,
    System,
    each,
    integers,
    variable,
)
from fencepost.encoding.language.protocol import load
from fencepost.encoding.language.terms import TRUE
from fencepost.encoding.rounds import bounded_search
from fencepost.encoding.solving.solvers import Progress
from fencepost.encoding.solving.workers import Worker
from support.bare import Bare

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "two_phase_commit.py"
FIRST = Limits(timeout=600, enumeration_first=True)


def stalling(*asked: Any) -> Iterator[Any]:
    """Stand for a search that takes a minute and finds nothing."""
    until = time.perf_counter() + 60
    while time.perf_counter() < until:
        time.sleep(0.01)
    yield from ()


def nothing(*asked: Any) -> Iterator[Any]:
    """Stand for a search that is over at once and finds nothing."""
    yield from ()


class Stand:
    """An engine with one worker that is over at once; it notes its name when it begins."""

    proves = True

    def __init__(self, work: Work, begun: list[str], name: str, suits: bool = True) -> None:
        self._work, self._begun, self._name, self.suits = work, begun, name, suits
        self.is_over = False

    def begin(self) -> None:
        """Start the worker."""
        self._begun.append(self._name)
        self._work.start(self, self._name, nothing)

    def go_on(self) -> None:
        """Start nothing more."""

    def take(self, worker: Worker, message: Any) -> None:
        """Handle no message."""

    def end(self, worker: Worker) -> None:
        """Note the end of the worker."""
        self.is_over = True


def begun(jobs: int, lanes_of: Callable[[Sequence[Sequence[Engine]]], Callable[[Engine], bool]]) -> list[str]:
    """Return the names of the engines of two lanes in the order in which they began."""
    instance = load(EXAMPLE).instance([])
    work = Work(instance, instance.properties(), Limits(jobs=jobs, timeout=600), lambda event: None)
    names: list[str] = []
    proving: list[Engine] = [Stand(work, names, "induction", suits=False), Stand(work, names, "ic3")]
    refuting: list[Engine] = [Stand(work, names, "enumeration"), Stand(work, names, "rounds")]
    work.run([*refuting, *proving], lambda: False, lanes_of([proving, refuting]))
    return names


@pytest.mark.parametrize("jobs", [1, 2])
def test_each_engine_that_suits_gets_its_turn(jobs: int) -> None:
    assert begun(jobs, in_lanes) == ["enumeration", "ic3", "rounds"]


def test_an_engine_that_never_gets_its_turn_is_noticed() -> None:
    """Planted: an engine that does not suit is waited for; the second engine of a lane never works."""

    def all_before(lanes: Sequence[Sequence[Engine]]) -> Callable[[Engine], bool]:
        before = {engine: lane[:place] for lane in lanes for place, engine in enumerate(lane)}
        return lambda engine: all(other.is_over for other in before[engine])

    def only_first(lanes: Sequence[Sequence[Engine]]) -> Callable[[Engine], bool]:
        return lambda engine: any(engine is lane[0] for lane in lanes)

    assert begun(2, all_before) == ["enumeration", "rounds"]
    assert begun(2, only_first) == ["enumeration"]


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the workers that the checks of a test start."""
    started: list[str] = []
    start = Work.start

    def recorded(self: Work, engine: Any, name: str, *arguments: Any, **options: Any) -> Worker:
        started.append(name)
        return start(self, engine, name, *arguments, **options)

    monkeypatch.setattr(Work, "start", recorded)
    return started


def undeclared() -> Any:
    return load(EXAMPLE).instance([], drop_declared=True)


def interrupted_by(kind: type[Event]) -> Callable[[Event], None]:
    """Return a listener that interrupts the check at the first event of a kind."""

    def listen(event: Event) -> None:
        if isinstance(event, kind):
            raise KeyboardInterrupt

    return listen


@pytest.mark.parametrize("jobs", [1, 2])
def test_both_lanes_work_from_the_start(
    jobs: int, starts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: IC3 waits for the enumeration, which takes a minute here; rounds do not."""
    monkeypatch.setattr(state_enumeration, "enumerate_states", stalling)
    instance = undeclared()
    check(instance, instance.properties()[:1], replace(FIRST, jobs=jobs), interrupted_by(Progress))
    assert "ic3" in starts and "prepare" not in starts


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_proof_waits_for_the_first_states(
    jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: the first engine that ends is the basis. The enumeration begins after IC3 has its proof."""
    gate, hear = tmp_path / "open", Knowledge.hear

    def late(*asked: Any) -> Iterator[Any]:
        while not gate.exists():
            time.sleep(0.01)
        yield from enumerate_states(*asked)

    def opening(self: Knowledge, message: Any) -> None:
        hear(self, message)
        if self.is_proved("consistent"):
            gate.touch()

    monkeypatch.setattr(state_enumeration, "enumerate_states", late)
    monkeypatch.setattr(Knowledge, "hear", opening)
    instance = undeclared()
    (result,) = check(instance, instance.properties()[:1], replace(FIRST, jobs=jobs)).results
    assert (result.verdict, result.basis) == (Verdict.PROVED, Basis.ENUMERATION)


class Count(StateSpace):
    """A counter, and a mark at its end."""

    def __init__(self) -> None:
        self.counter = variable(integers(0, 3))
        self.marked = variable(BOOL)


def count_on(s: Count) -> Action:
    """Count on."""
    return Action(s.counter < 2, [s.counter.set(s.counter + 1)], "a")


def mark(s: Count) -> Action:
    """Set the mark."""
    return Action(s.counter == 2, [s.marked.set(TRUE)], "a")


def marking() -> System:
    """Return a system with a property that is inductive and one that is violated."""
    s = Count()
    low = Property("low", "low", s.counter <= 2, s.counter == 1, "one")
    unmarked = Property("unmarked", "unmarked", ~s.marked, s.counter == 1, "one")
    declared = Invariant("declared", "declared", TRUE)
    return System(s, (each(count_on, s), each(mark, s)), (low, unmarked), invariants=(declared,))


def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Return the open properties, each time that they change. No engine decides the one that is violated."""
    monkeypatch.setattr(order, "find_by_ic3", stalling)
    monkeypatch.setattr(bounded_search, "prepare", stalling)
    system = marking()
    seen: list[tuple[str, ...]] = []
    events: list[Event] = []

    def listen(event: Event) -> None:
        events.append(event)
        if isinstance(event, Open):
            seen.append(event.properties)
        concluded = any(isinstance(other, Remark) and "is inductive" in str(other) for other in events)
        if concluded and isinstance(event, Silence):
            raise KeyboardInterrupt

    assert check(Bare(system), system.properties, Limits(timeout=600), listen).interrupted
    return seen


def test_a_property_that_is_proved_leaves_the_check_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert opened(monkeypatch) == [("low", "unmarked"), ("unmarked",)]


def test_a_proved_property_that_waits_for_the_others_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a property is settled once all are."""
    settled = Knowledge.settled

    def with_the_others(self: Knowledge, name: str) -> bool:
        return all(settled(self, prop.name) for prop in self.properties)

    monkeypatch.setattr(Knowledge, "settled", with_the_others)
    assert len(opened(monkeypatch)) == 1


STALLED = {
    "enumeration": (state_enumeration, "enumerate_states"),
    "rounds": (bounded_search, "prepare"),
    "induction": (houdini, "pose"),
    "ic3": (order, "find_by_ic3"),
    "abc": (order, "find_by_abc"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("jobs", [1, 2])
def test_the_time_limit_ends_an_engine_that_works_alone(
    engine: str, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: the limit counts only while both lanes work. The stalled engine then ends by itself."""
    monkeypatch.setattr(*STALLED[engine], stalling)
    instance = load(EXAMPLE).instance([])
    (result,) = check(
        instance, instance.properties()[:1], Limits(engines=(engine,), jobs=jobs, timeout=1)
    ).results
    assert result.verdict is Verdict.UNDECIDED
    assert result.reason is not None and "1 s" in result.reason


def test_the_policy_is_the_same_in_the_code_and_on_the_page() -> None:
    """Planted: another word on one of them."""
    policy = " ".join((order.__doc__ or "").split("\n\n", 1)[1].split())
    page = " ".join((ROOT / "docs" / "encoding.md").read_text(encoding="utf-8").split())
    assert policy.count(".") == 3 and f"*{policy}*" in page
