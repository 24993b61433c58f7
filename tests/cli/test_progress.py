"""Progress of a long check on stderr.

The messages name the violations found and the properties still open, and show that the check is alive.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fencepost.cli.rendering.progress import HELD, PAUSE, CheckProgress
from fencepost.encoding.engine.events import (
    Event,
    Open,
    PreparationPhase,
    Remark,
    Replayed,
    Silence,
    TasksOver,
)
from fencepost.encoding.language.traces import Trace
from fencepost.encoding.solving.solvers import Progress as SolverProgress
from support.counterexamples import counterexample_of

TRACE = counterexample_of("lost").trace


def found(trace: Trace) -> Event:
    return Replayed("nothing-lost", trace, 1, (len(trace.steps),))


class Heard:
    """Progress messages of a check whose events come at chosen times of a test clock.

    `at` returns the lines on stderr since the last call.
    """

    def __init__(
        self, patch: pytest.MonkeyPatch, captured: pytest.CaptureFixture[str], verbose: bool
    ) -> None:
        self.now = 100.0
        patch.setattr("fencepost.cli.rendering.progress.time.perf_counter", lambda: self.now)
        patch.setattr("fencepost.cli.rendering.progress.HELD", HELD)
        patch.setattr("fencepost.cli.rendering.progress.PAUSE", PAUSE)
        self._progress, self._captured = CheckProgress(verbose), captured

    def at(self, seconds: float, event: Event) -> list[str]:
        self.now = 100.0 + seconds
        self._progress.hear(event)
        said = self._captured.readouterr()
        assert not said.out, "stdout is for results"
        return said.err.splitlines()


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Heard:
    return Heard(monkeypatch, capsys, verbose=False)


@pytest.fixture
def verbose(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Heard:
    return Heard(monkeypatch, capsys, verbose=True)


def test_a_violation_is_told_of_while_the_search_goes_on(quiet: Heard) -> None:
    assert quiet.at(3, found(TRACE)) == [], "it may be over at once"
    head, *steps = quiet.at(3 + HELD, Silence())
    assert head == "nothing-lost: violated in 5 steps so far, found after 3 s; the search goes on"
    assert [line.split()[0] for line in steps] == ["1", "2", "3", "4", "5"]
    assert steps[-1] == "  5  new primary take over (copy c1): takes the log as it is on c1"
    assert quiet.at(6, Silence()) == [], "it is told of once"


def test_a_shorter_one_is_told_of_in_a_line(quiet: Heard) -> None:
    quiet.at(0, found(TRACE))
    quiet.at(3, Silence())
    shorter = replace(TRACE, steps=TRACE.steps[:4])
    quiet.at(4, found(shorter))
    assert quiet.at(7, Silence()) == [
        "nothing-lost: violated in 4 steps so far, found after 4 s; the search goes on"
    ]


def test_without_a_terminal_there_is_a_line_every_ten_seconds(quiet: Heard) -> None:
    assert quiet.at(1, Open(("nothing-lost", "order"))) == []
    assert quiet.at(2, SolverProgress("hunt", 3, 1200, 7)) == []
    assert quiet.at(PAUSE - 0.1, Silence()) == []
    expected = "violations: round 3, 1,200 clauses, 7 conflicts · to decide: nothing-lost, order"
    assert quiet.at(PAUSE, Silence()) == [f"{expected} · {PAUSE:.1f} s"]
    assert quiet.at(PAUSE + 1, Silence()) == []
    assert quiet.at(2 * PAUSE, Silence()) == [f"{expected} · {2 * PAUSE:.1f} s"]


def test_verbose_says_which_properties_are_being_decided(verbose: Heard) -> None:
    assert verbose.at(1, Open(("nothing-lost", "order"))) == ["to decide: nothing-lost, order (1.0 s)"]
    assert verbose.at(2, Open(("order",))) == ["to decide: order (2.0 s)"]
    assert verbose.at(3, Remark("as it is")) == ["as it is"]
    assert verbose.at(4, Open(())) == ["all decided (4.0 s)"]
    assert verbose.at(40, Silence()) == [], "each thing heard has its line"


def test_work_side_by_side_stands_in_one_line_until_it_is_over(quiet: Heard) -> None:
    """Planted: a line that stays, and one engine's building that replaces the other's."""
    quiet.at(1, PreparationPhase("induction: building"))
    quiet.at(2, PreparationPhase("commutation"))
    both = quiet.at(PAUSE, Silence())
    assert both == ["induction: building · commutation · 10.0 s"]
    quiet.at(11, TasksOver(("questions",)))
    quiet.at(11, SolverProgress("induction", 1, 300, 2))
    quiet.at(12, TasksOver(("prepare",)))
    quiet.at(12, SolverProgress("hunt", 3, 1200, 7))
    induction, hunt = "induction: 300 clauses, 2 conflicts", "violations: round 3, 1,200 clauses"
    assert quiet.at(2 * PAUSE, Silence()) == [f"{induction} · {hunt}, 7 conflicts · 20.0 s"]
    quiet.at(21, TasksOver(("induction",)))
    assert quiet.at(3 * PAUSE, Silence()) == [f"{hunt}, 7 conflicts · 30.0 s"]
    quiet.at(31, TasksOver(("hunt", "exhaust")))
    assert quiet.at(4 * PAUSE, Silence()) == ["building · 40.0 s"]
