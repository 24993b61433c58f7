"""Lower bounds on the steps of a violation: found by frames of IC3, reported once another solver agrees."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fencepost.encoding.check import check
from fencepost.encoding.engine.clauses import Clause, Literal, Relation
from fencepost.encoding.engine.events import StepsAtLeast
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.messages import FoundPath
from fencepost.encoding.engine.verdicts import Fewest, Verdict
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.ic3 import shortest_violation, step_bounds
from fencepost.encoding.ic3.step_bounds import is_kept, shorten
from fencepost.encoding.language import (
    Action,
    Invariant,
    Property,
    StateSpace,
    System,
    each,
    integers,
    variable,
)
from support.bare import Bare


class Counter(StateSpace):
    """A number that is counted up to five."""

    def __init__(self) -> None:
        self.number = variable(integers(0, 5))


def count(s: Counter) -> Action:
    """Add one."""
    return Action(s.number < 5, [s.number.set(s.number + 1)], "me")


def jump(s: Counter) -> Action:
    """Add two, at first only."""
    return Action(s.number == 0, [s.number.set(2)], "me")


def counter() -> System:
    """Return the counter. It violates its property in three steps, and not in fewer."""
    s = Counter()
    wanted = Property("few", "", s.number < 4, s.number == 1, "counted")
    return System(s, (each(count, s), each(jump, s)), (wanted,))


SYSTEM = counter()
(FEW,) = SYSTEM.properties


def said(steps: int, proved: Sequence[Invariant] = ()) -> list[tuple[str, int]]:
    """Return the bounds and the lengths of paths that are found, given a violation of so many steps."""
    messages = shorten(SYSTEM, FEW, proved, steps, Limits())
    found = (message for message in messages if isinstance(message, StepsAtLeast | FoundPath))
    return [("at least", m.steps) if isinstance(m, StepsAtLeast) else ("path", len(m.actions)) for m in found]


def below(position: int) -> Clause:
    """Return the clause that the number is below that one."""
    return (Literal(0, Relation.BELOW, position),)


def kept(levels: Sequence[tuple[Clause, int]], last: int) -> bool:
    """Return whether these clauses, each up to a frame, prove that the first `last` steps violate nothing."""
    return is_kept(Symbolic(SYSTEM), FEW, (), levels, last, "cadical")


def test_a_shorter_path_is_found_and_its_length_is_proved_to_be_the_least() -> None:
    assert said(4) == [("path", 3), ("at least", 3)]


def test_a_violation_of_fewest_steps_is_proved_to_be_one() -> None:
    assert said(3) == [("at least", 3)]


def test_frames_that_are_right_are_kept() -> None:
    assert kept([(below(3), 1)], 2)


def test_a_frame_that_drops_a_reachable_state_is_refused() -> None:
    """Two is reached in one step."""
    assert not kept([(below(2), 1)], 2)


def test_a_frame_that_is_numbered_one_too_high_is_refused() -> None:
    """Three is reached in two steps, so the clause is about the first frame only."""
    assert not kept([(below(3), 2)], 2)
    assert not kept([(below(3), 1)], 3)


def test_a_clause_that_is_false_at_first_is_refused() -> None:
    assert not kept([((Literal(0, Relation.AT_LEAST, 1),), 1)], 2)


def test_no_bound_is_reported_if_the_frames_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: every clause that rests on others is dropped."""
    monkeypatch.setattr(step_bounds, "frame_core", lambda *asked: [])
    assert said(3) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_check_says_that_no_shorter_violation_exists(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """IC3 alone: no rounds are searched, so nothing has to be waited for."""
    monkeypatch.setattr(shortest_violation, "DELAY", float("inf"))
    (result,) = check(Bare(SYSTEM), [FEW], Limits(jobs=jobs, engines=("ic3",))).results
    assert (result.verdict, result.steps, result.fewest) == (Verdict.VIOLATED, 3, Fewest.OF_ALL)
    assert result.shortest_at_least == 3
