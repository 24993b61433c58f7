"""Entries that readers are given (layers/readers): single, long-poll and batch reads."""

from __future__ import annotations

from functools import cache

import pytest
from preset_instances import ALL_ONE

from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.system import choose
from fencepost.properties.catalogue import find
from fencepost.protocols.bookkeeper.state import Ledger
from support.instances import built

Step = tuple[object, ...]

PUSHED: tuple[Step, ...] = (
    ("create ledger",),
    ("push", 1, 1),
    ("handle add", "w", 1, 1, "b1"),
    ("receive ack", "w", 1, 1, "b1"),
    ("push", 1, 2),
    ("handle add", "w", 1, 2, "b1"),
)
"""Entry 1 is acknowledged, and the bookie has entry 2 with LAC 1."""

CLOSE: Step = ("close ledger",)
OPEN: Step = ("open for reading", "rd1")
OPENED: tuple[Step, ...] = (OPEN, ("hear lac", "rd1", "b1"), ("end opening", "rd1"))


def reads(entry: int, bookie: str = "b1") -> Step:
    return ("read entries", "rd1", entry, bookie)


@cache
def replayer_of(**settings: object) -> tuple[Replayer, Ledger]:
    instance = find("bookkeeper").instance({**ALL_ONE, "entries": 2, "readers": 1, **settings}.items())
    assert isinstance(instance.system.state, Ledger)
    return Replayer(instance.system, instance.subject), instance.system.state


def given(*steps: Step, **settings: object) -> set[int]:
    """Return the entries that the reader was given by these steps, and check the properties beside it."""
    replayer, s = replayer_of(**settings)
    actions = [replayer.system.find(str(name), [str(a) for a in rest]) for name, *rest in steps]
    assert None not in actions
    state = replayer.follow([a for a in actions if a is not None], ())[-1]
    entries = [int(str(e)) for e in s.entry]
    found = {e for e in entries if replayer.concrete.evaluate(s.given["rd1", e], {}, state)}
    last = replayer.concrete.evaluate(s.last_entry, {}, state)
    closed = CLOSE in steps
    for name, ghost in (("read-entries-stay", s.given), ("open-reads-stay", s.given_open)):
        (prop,) = choose(replayer.system, (name,))
        seen = {e for e in entries if replayer.concrete.evaluate(ghost["rd1", e], {}, state)}
        lost = closed and any(e > int(str(last)) for e in seen)
        assert replayer.concrete.evaluate(prop.holds, {}, state) is not lost
    return found


@pytest.mark.parametrize(
    ("batch_read", "closed", "opened"),
    [("unclipped", {1, 2}, {1, 2}), ("clipped-at-end", {1}, {1, 2}), ("clipped", {1}, {1})],
)
def test_a_batch_read_gives_what_the_bookie_has(batch_read: str, closed: set[int], opened: set[int]) -> None:
    """On a closed ledger, and on an open one that is closed afterwards.

    Planted: `clipped` that compares with the last entry of the metadata; a batch that is given one entry.
    """
    settings = {"way_to_read": "batch", "batch_read": batch_read}
    assert given(*PUSHED, CLOSE, OPEN, reads(1), **settings) == closed
    assert given(*PUSHED, *OPENED, reads(1), CLOSE, **settings) == opened


def test_a_batch_read_stops_at_the_first_entry_that_the_bookie_lacks() -> None:
    """Entry 3 is pushed without entry 2, by an application that gives the ids. Planted: a batch over gaps."""
    third: tuple[Step, ...] = (*PUSHED[:4], ("push", 1, 3), ("handle add", "w", 1, 3, "b1"))
    settings = {"way_to_read": "batch", "entries": 3, "inflight": 3, "given_ids": 1}
    assert given(*third, *OPENED, reads(1), **settings) == {1}
    second: tuple[Step, ...] = (("push", 1, 2), ("handle add", "w", 1, 2, "b1"))
    assert given(*third, *second, *OPENED, reads(1), **settings) == {1, 2, 3}


@pytest.mark.parametrize("way", ["single", "long-poll"])
def test_other_reads_give_no_entry_above_the_lac(way: str) -> None:
    """Planted: a single read that is not compared with the LAC; a long poll that looks at no LAC."""
    assert given(*PUSHED, *OPENED, reads(1), way_to_read=way) == {1}
    with pytest.raises(NotAnExecution):
        given(*PUSHED, *OPENED, reads(2), way_to_read=way)
    if way == "long-poll":
        with pytest.raises(NotAnExecution):
            given(*PUSHED, *OPENED, ("poll entry", "rd1", 2, "b1"), way_to_read=way)


def test_a_long_poll_gives_the_next_entry_with_the_lac() -> None:
    """Planted: a long poll that leaves the LAC of the handle as it was."""
    early = (*PUSHED[:1], *OPENED, *PUSHED[1:])
    poll = ("poll entry", "rd1", 1, "b1")
    assert given(*early, poll, way_to_read="long-poll") == {1}
    with pytest.raises(NotAnExecution):
        given(*early, poll, ("hear lac", "rd1", "b1"), way_to_read="long-poll")
    with pytest.raises(NotAnExecution):
        given(*early, reads(1), way_to_read="single")


def test_readers_that_are_given_nothing_have_no_state_variable_of_it() -> None:
    """Planted: a state variable that is declared always."""
    off, _ = built("bookkeeper", {**ALL_ONE, "readers": 1})
    on, _ = built("bookkeeper", {**ALL_ONE, "readers": 1, "way_to_read": "long-poll"})
    names = [{v.name.split("[")[0] for v in (*s.variables, *s.choices)} for s in (off, on)]
    assert names[1] - names[0] == {"given", "given_open"}
    new = {schema.name for schema in on.schemas} - {schema.name for schema in off.schemas}
    assert new == {"read entries", "poll entry"}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"way_to_read": "batch"}, "way_to_read without readers changes nothing"),
        ({"readers": 1, "batch_read": "clipped"}, "batch_read without batch reads changes nothing"),
        (
            {"readers": 1, "way_to_read": "batch", "bookies": 2, "ensemble": 2},
            "way_to_read=batch needs E = WQ",
        ),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        find("bookkeeper").instance({**ALL_ONE, **settings}.items())
