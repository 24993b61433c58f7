"""Engines side by side: who hears what, how many processes run, what the end of one means to the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from fencepost.encoding.check import check
from fencepost.encoding.engine.events import Event, Replayed
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.messages import Complete, Violated
from fencepost.encoding.engine.verdicts import Basis, Fewest, Outcome, Verdict
from fencepost.encoding.engine.work import Work
from fencepost.encoding.formulas.templates import RoundTemplate
from fencepost.encoding.induction import houdini
from fencepost.encoding.induction.houdini import pose
from fencepost.encoding.language.protocol import load
from fencepost.encoding.rounds import bounded_search, searches
from fencepost.encoding.rounds.bounded_search import BoundedSearch
from fencepost.encoding.rounds.search import Task
from fencepost.encoding.rounds.searches import Job, SearchKind
from fencepost.encoding.solving import crew
from fencepost.encoding.solving.crew import Crew
from fencepost.encoding.solving.workers import Ended, Worker, in_turn, tell
from support.processes import stat

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "two_phase_commit.py"


LIMITS = Limits(timeout=600)


def checked(
    votes: str = "all", limits: Limits = LIMITS, listener: Callable[[Event], None] = lambda event: None
) -> Outcome:
    """Return the outcome for the first property, which a majority of votes violates in 7 steps."""
    instance = load(EXAMPLE).instance([("votes", votes)])
    return check(instance, instance.properties()[:1], limits, listener)


def found(outcome: Outcome) -> tuple[Verdict, Basis | None, int | None]:
    (result,) = outcome.results
    return result.verdict, result.basis, result.steps


BY_INDUCTION = (Verdict.PROVED, Basis.INDUCTION, None)
BROKEN = (Verdict.VIOLATED, None, 7)


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the workers that the checks of a test start; no more may run than jobs."""
    started: list[str] = []
    start = Work.start

    def recorded(self: Work, engine: Any, name: str, *arguments: Any, **options: Any) -> Worker:
        worker = start(self, engine, name, *arguments, **options)
        started.append(name)
        assert len(self.crew.running) <= self.limits.jobs, started
        return worker

    monkeypatch.setattr(Work, "start", recorded)
    return started


# A crew that lets some workers run and others wait.


def counting(name: str) -> Iterator[str]:
    while True:
        time.sleep(0.01)
        yield name


def one_message(size: int) -> Iterator[bytes]:
    return iter([bytes(size)])


def is_stopped(worker: Worker) -> bool:
    pid = worker._process.pid
    assert pid is not None
    return stat(pid)[0] == "T"


def stopped(workers: Sequence[Worker]) -> bool:
    """Return whether the workers are stopped soon. The kernel stops a process when it would next run."""
    return any(all(map(is_stopped, workers)) or time.sleep(0.01) for _ in range(1000))  # type: ignore[func-returns-value]


@pytest.mark.parametrize("most", [1, 2])
def test_workers_take_turns_and_no_more_run_than_may(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Planted: nobody waits, nobody goes on, a steady worker waits.
    monkeypatch.setattr(crew, "TURN", 0.02)
    heard: dict[str, int] = {}
    with Crew(time.perf_counter() + 60, most=most) as some:
        for name in ("a", "b", "c"):
            some.make_room()
            some.start(Worker(name, counting, name, gib=None), steady=name == "a" and most > 1)
        for worker, message in some.heard():
            assert worker.name == message
            heard[message] = heard.get(message, 0) + 1
            waiting = [w for w in some.workers if w not in some.running]
            assert len(some.running) == most
            assert most == 1 or "a" not in [w.name for w in waiting]
            if min(heard.values()) >= 3 and len(heard) == 3:
                assert stopped(waiting)
                break


def test_a_worker_for_which_nobody_makes_room_waits_for_a_place_or_its_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Planted: it runs at once, or never; once it runs, a steady worker is stopped for another one.
    monkeypatch.setattr(crew, "TURN", 0.02)
    with Crew(time.perf_counter() + 60, most=2) as some:
        for name in ("a", "b", "c"):
            some.start(Worker(name, counting, name, gib=None), steady=name == "c")
        last = some.workers[-1]
        assert last not in some.running and stopped([last])
        heard: list[str] = []
        for worker, _ in some.heard():
            heard.append(worker.name)
            assert len(some.running) == 2
            assert "c" not in heard or last in some.running
            if heard.count("c") >= 3 and {"a", "b"} <= set(heard[heard.index("c") :]):
                break
            assert len(heard) < 100_000, "it never goes on"


@pytest.mark.parametrize("most", [1, 3])
def test_a_worker_that_is_held_takes_no_turns_and_goes_on_afterwards(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Planted: a held worker is not stopped, gets a turn, or never goes on.
    monkeypatch.setattr(crew, "TURN", 0.02)
    with Crew(time.perf_counter() + 60, most=most) as some:
        for name in ("a", "b", "c"):
            some.make_room()
            some.start(Worker(name, counting, name, gib=None))
        held = some.workers[-1]
        assert held in some.running
        some.hold([held])
        heard: list[str] = []
        for worker, _ in some.heard():
            heard.append(worker.name)
            if len(heard) == 20:
                assert stopped([held]) and "c" not in heard and {"a", "b"} <= set(heard)
                some.hold([])
            if len(heard) > 20 and not is_stopped(held):
                break
            assert len(heard) < 1000, "it never goes on"


def test_a_long_message_of_a_worker_that_waits_is_read_when_it_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pipe holds less than the message, and the first worker is stopped in the middle of it."""
    # Planted: workers that wait are read too. That lasts until the timer lets the first one go on.
    monkeypatch.setattr(crew, "TURN", 60.0)
    with Crew(time.perf_counter() + 60, most=1) as some:
        first = some.start(Worker("first", one_message, 10_000_000, gib=None))
        assert first.connection.poll(60)
        some.make_room()
        some.start(Worker("second", one_message, 20_000_000, gib=None))
        timer = Timer(5.0, first.go_on)
        timer.start()
        sizes = [len(message) for _, message in some.heard() if not isinstance(message, Ended)]
        timer.cancel()
    assert sizes == [20_000_000, 10_000_000]


# The loop.


class Listed:
    """An engine of some workers, each of which sends the engine's name so many times, or fails."""

    suits = True
    proves = False

    def __init__(self, at: Work, name: str, times: int, fails: bool = False) -> None:
        self._work, self._name, self._times, self._fails = at, name, times, fails
        self.heard = 0
        self._left = 2

    def begin(self) -> None:
        """Start two workers."""
        for _ in range(self._left):
            self._work.start(self, self._name, repeating, self._name, self._times, self._fails)

    def go_on(self) -> None:
        """Start nothing more."""

    def take(self, worker: Worker, message: Any) -> None:
        """Count a message, which must be this engine's."""
        assert (worker.name, message) == (self._name, self._name)
        self.heard += 1

    def end(self, worker: Worker) -> None:
        """Count an end."""
        assert worker.name == self._name
        self._left -= 1

    @property
    def is_over(self) -> bool:
        """Whether both workers have ended."""
        return self._left == 0


def repeating(name: str, times: int, fails: bool) -> Iterator[str]:
    for _ in range(times):
        yield name
    if fails:
        raise MemoryError


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_each_engine_hears_its_own_workers_and_one_that_gives_up_ends_no_other(jobs: int) -> None:
    # Planted: messages handed to the engine that began last; the loop ends when one gives up.
    instance = load(EXAMPLE).instance([])
    at = Work(instance, instance.properties()[:1], Limits(jobs=jobs, timeout=600), lambda event: None)
    engines = [Listed(at, "failing", 3, fails=True), Listed(at, "first", 20), Listed(at, "second", 30)]
    assert at.run(engines, lambda: False) == "out of memory (failing)"
    assert [engine.heard for engine in engines] == [6, 40, 60]


def telling() -> Iterator[object]:
    """Yield two messages of one generator, one of another, and tell something before the last."""

    def first() -> Iterator[str]:
        yield "a"
        tell("told")
        yield "b"

    yield from in_turn([first(), iter(["c"])])


def test_generators_take_turns_and_what_is_told_comes_at_once() -> None:
    # Planted: one generator after the other; `tell` sends nothing.
    worker = Worker("telling", telling, gib=None)
    try:
        assert [worker.receive() for _ in range(4)] == ["a", "c", "told", "b"]
    finally:
        worker.kill()


class Late(Listed):
    """An engine whose end the others see one turn later: it is over once it has gone on after its end."""

    _seen = False

    def go_on(self) -> None:
        """Note that the workers have ended."""
        self._seen = self._left == 0

    @property
    def is_over(self) -> bool:
        """Whether both workers have ended, and the engine has gone on since."""
        return self._seen


class Concluding(Listed):
    """An engine that concludes only once another one is over, as rounds do after IC3."""

    def __init__(self, at: Work, other: Listed, starts: bool) -> None:
        super().__init__(at, "concluding", 1)
        self._other, self._starts, self.concluded = other, starts, False

    def begin(self) -> None:
        """Start nothing yet."""

    def go_on(self) -> None:
        """Conclude, or start the workers, once the other engine is over."""
        if self._other.is_over and not self.concluded:
            self.concluded = True
            if self._starts:
                super().begin()


@pytest.mark.parametrize("starts", [False, True])
def test_the_end_of_the_engine_that_ends_last_lets_the_others_conclude(starts: bool) -> None:
    """The other engine begins first, so it has its turn before the last message is counted.

    `check` was once undecided if IC3 ended in the last message and the rounds had no further turn.
    """
    # Planted: no turn after the last message; none for workers that are started then.
    instance = load(EXAMPLE).instance([])
    at = Work(instance, instance.properties()[:1], Limits(jobs=2, timeout=600), lambda event: None)
    last = Late(at, "last", 3)
    waiting = Concluding(at, last, starts)
    assert at.run([waiting, last], lambda: False) is None
    assert waiting.concluded
    assert waiting.heard == (2 if starts else 0)


# The engines of a check.


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_the_engines_have_one_verdict_with_any_number_of_jobs(jobs: int, starts: list[str]) -> None:
    assert found(checked(limits=Limits(jobs=jobs, timeout=600))) == BY_INDUCTION
    assert found(checked("majority", Limits(jobs=jobs, timeout=600))) == BROKEN


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a file without which the worker that makes the questions of the induction waits."""
    file = tmp_path / "open"

    def late(*arguments: Any) -> Iterator[Any]:
        while not file.exists():
            time.sleep(0.01)
        return pose(*arguments)

    monkeypatch.setattr(houdini, "pose", late)
    return file


def test_a_proof_counts_that_comes_after_the_rounds_have_ended(
    monkeypatch: pytest.MonkeyPatch, gate: Path
) -> None:
    """The search for violations has covered everything by then, and others have not begun."""
    # Planted: the loop ends with the first engine; longer executions are searched for beside the induction.
    end = BoundedSearch.end

    def opening(self: BoundedSearch, worker: Worker) -> None:
        end(self, worker)
        if worker.name == "hunt":
            gate.touch()

    monkeypatch.setattr(BoundedSearch, "end", opening)
    assert found(checked(limits=Limits(rounds=2, timeout=600))) == BY_INDUCTION
    assert gate.exists()


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_violation_is_found_while_a_proof_is_tried(jobs: int, gate: Path) -> None:
    # Planted: the bounded search begins after the induction.
    assert found(checked("majority", Limits(jobs=jobs, timeout=600))) == BROKEN
    assert not gate.exists(), "the induction never began"


def test_a_search_begins_again_with_invariants_that_were_proved(
    monkeypatch: pytest.MonkeyPatch, gate: Path, starts: list[str]
) -> None:
    """The first search stalls after a violation. Another one takes over and finds the fewest steps."""

    def stalling(template: RoundTemplate, task: Task, limits: Limits, some: Sequence[Job]) -> Iterator[Any]:
        made = searches.search(template, task, limits, some)
        if task.assumed:
            assert not any(job.search is SearchKind.HUNT for job in some) or task.known
            return made
        return stalled(made) if some == [Job(SearchKind.HUNT)] else made

    def stalled(messages: Iterator[Any]) -> Iterator[Any]:
        for message in messages:
            yield message
            if isinstance(message, Violated):
                time.sleep(60)

    monkeypatch.setattr(bounded_search, "search", stalling)
    monkeypatch.setattr(bounded_search, "RENEWAL", 0.0)
    opening = lambda event: gate.touch() if isinstance(event, Replayed) else None
    outcome = checked("majority", listener=opening)
    assert found(outcome) == BROKEN
    assert outcome.results[0].fewest is Fewest.OF_ALL
    assert starts.count("prepare") == starts.count("hunt") == 2


def never_ending(*arguments: Any) -> Iterator[Any]:
    """Stand for a search of IC3 that takes for ever."""
    time.sleep(3600)
    return iter(())


def test_rounds_that_cover_everything_do_not_wait_for_a_proof(
    monkeypatch: pytest.MonkeyPatch, starts: list[str]
) -> None:
    """Planted: the end of the search for violations counts only once IC3 is over."""
    monkeypatch.setattr("fencepost.encoding.check.find_by_ic3", never_ending)
    monkeypatch.setattr(bounded_search, "LEAD", 0.0)
    limits = replace(LIMITS, engines=("rounds", "ic3"))
    assert found(checked(limits=limits)) == (Verdict.PROVED, Basis.ROUNDS, None)
    assert "exhaust" not in starts


def test_an_induction_that_is_slow_is_waited_for(gate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rounds cover everything before the induction has begun; it is the basis all the same."""
    monkeypatch.setattr(bounded_search, "LEAD", 0.0)
    taken = BoundedSearch.take

    def opening(self: BoundedSearch, worker: Worker, message: Any) -> None:
        taken(self, worker, message)
        if isinstance(message, Complete):
            gate.touch()

    monkeypatch.setattr(BoundedSearch, "take", opening)
    assert found(checked()) == (Verdict.PROVED, Basis.INDUCTION, None)


def failing(*arguments: Any) -> Iterator[Any]:
    """Fail as a worker without memory does."""
    raise MemoryError


def test_an_engine_without_memory_leaves_the_others_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    both = replace(LIMITS, engines=("rounds", "induction"))
    with monkeypatch.context() as patch:
        patch.setattr(houdini, "pose", failing)
        assert found(checked("majority")) == BROKEN
        assert found(checked(limits=both)) == (Verdict.PROVED, Basis.ROUNDS, None)
    monkeypatch.setattr(bounded_search, "prepare", failing)
    assert found(checked()) == BY_INDUCTION
    (result,) = checked("majority", both).results
    assert result.reason is not None
    assert result.reason.startswith("out of memory (prepare); not inductive: ")


def test_ctrl_c_keeps_a_violation_that_was_replayed() -> None:
    """The listener is where a signal arrives most often: right after a violation."""

    def interrupt(event: Event) -> None:
        if isinstance(event, Replayed):
            raise KeyboardInterrupt

    outcome = checked("majority", listener=interrupt)
    assert outcome.interrupted
    assert outcome.results[0].verdict is Verdict.VIOLATED


@pytest.mark.parametrize(("conflicts", "in_turn"), [(None, False), (1_000_000, True)])
def test_with_one_job_a_limit_on_conflicts_keeps_the_engines_in_turn(
    conflicts: int | None, in_turn: bool, gate: Path, starts: list[str]
) -> None:
    """Else both lanes take turns.

    Then the rounds find the violation while the induction still waits for its questions.
    """
    # Planted: a limit on conflicts gives no order; without one the second engine waits for the first.
    if in_turn:
        gate.touch()
    assert found(checked("majority", Limits(jobs=1, conflicts=conflicts, timeout=600))) == BROKEN
    begun = starts.index("prepare")
    assert ("induction" in starts[:begun]) == in_turn
    assert "induction" not in starts[begun:]
