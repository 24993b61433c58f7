"""Readers without recovery (layers/readers): old metadata, and a ledger that is closed while it is opened."""

from __future__ import annotations

from functools import cache

import pytest
from preset_instances import ALL_ONE

from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.errors import BadInput
from fencepost.properties.catalogue import find
from fencepost.protocols.bookkeeper.state import Ledger
from support.instances import built

Step = tuple[object, ...]

STRIPES = {
    "bookies": 3,
    "ensemble": 2,
    "write_quorum": 1,
    "ack_quorum": 1,
    "entries": 2,
    "unset_acks": "before-acking",
    "readers": 1,
}
"""The instance of the known bug old-reader."""

CREATE, OPEN, LEARN, END = (
    ("create ledger",),
    ("open for reading", "rd1"),
    ("learn metadata", "rd1"),
    ("end opening", "rd1"),
)
REPORT = ("report absent", "rd1", 1)
CHANGE: tuple[Step, ...] = (
    ("push", 1, 1),
    ("begin change", "w", 1, 1, "b1"),
    ("commit change", "w", 1, "b1", "b3"),
    ("handle add", "w", 2, 1, "b3"),
    ("receive ack", "w", 2, 1, "b3"),
    ("push", 2, 2),
    ("handle add", "w", 2, 2, "b2"),
)
"""Entry 1 goes to b3 instead of b1, and entry 2 brings its LAC to b2."""

CLOSED: tuple[Step, ...] = (
    ("push", 1, 1),
    ("handle add", "w", 1, 1, "b1"),
    ("receive ack", "w", 1, 1, "b1"),
    ("close ledger",),
)


def hear(*bookies: str) -> tuple[Step, ...]:
    """Return the steps in which the reader hears the LACs of these bookies."""
    return tuple(("hear lac", "rd1", b) for b in bookies)


@cache
def replayer_of(**settings: object) -> tuple[Replayer, Ledger]:
    """Return a replayer of an instance with one reader."""
    instance = find("bookkeeper").instance(settings.items())
    assert isinstance(instance.system.state, Ledger)
    return Replayer(instance.system, instance.subject), instance.system.state


def after(steps: tuple[Step, ...], **settings: object) -> tuple[Replayer, Ledger, State]:
    """Return the state after these steps."""
    replayer, state = replayer_of(**settings)
    actions = [replayer.system.find(str(action), [str(a) for a in arguments]) for action, *arguments in steps]
    assert None not in actions
    return replayer, state, replayer.follow([a for a in actions if a is not None], ())[-1]


def lac_after(steps: tuple[Step, ...], **settings: object) -> object:
    """Return the reader's LAC after these steps."""
    replayer, s, state = after(steps, **settings)
    return replayer.concrete.evaluate(s.reader_lac["rd1"], {}, state)


OLD = (CREATE, OPEN, *CHANGE, *hear("b1", "b2"), END)


def test_a_reader_with_old_metadata_reports_an_acknowledged_entry_as_absent() -> None:
    """Planted: a reader whose copy is always that of the store; a LAC that only new bookies tell."""
    after((*OLD, REPORT), **STRIPES)


@pytest.mark.parametrize(
    "steps",
    [
        (CREATE, *CHANGE, OPEN, *hear("b3", "b2"), END, REPORT),
        (*OLD, LEARN, REPORT),
        (CREATE, OPEN, *CHANGE, *hear("b1"), END),
        (CREATE, OPEN, *CHANGE, *hear("b1", "b3")),
        (CREATE, OPEN, *hear("b1", "b2"), END, *CHANGE, REPORT),
        (CREATE, OPEN, *CHANGE[:-2], *hear("b1", "b2"), END, REPORT),
    ],
)
def test_without_old_metadata_and_a_lac_no_entry_is_reported_absent(steps: tuple[Step, ...]) -> None:
    """The LAC needs answers of all windows, from the ensemble of the opening.

    Planted: an opening that ends with one answer; a bookie of the newest ensemble that answers; a read above
    the LAC.
    """
    with pytest.raises(NotAnExecution):
        after(steps, **STRIPES)


def test_with_the_mend_the_reader_reads_the_metadata_again() -> None:
    """Planted: the mend that compares the fragment of the opening."""
    with pytest.raises(NotAnExecution):
        after((*OLD, REPORT), **STRIPES, absent_to_reader="reads-again")


LATE = (CREATE, OPEN, *hear("b1"), *CLOSED, LEARN, END)


@pytest.mark.parametrize(
    ("steps", "reader_open", "lac"),
    [
        (LATE, "overwrites", 0),
        (LATE, "keeps", 1),
        ((CREATE, OPEN, *hear("b1"), *CLOSED, END, LEARN), "overwrites", 1),
        ((CREATE, *CLOSED, OPEN), "overwrites", 1),
        ((CREATE, OPEN, *hear("b1"), *CLOSED, END), "keeps", 0),
    ],
)
def test_the_end_of_opening_may_take_back_the_end_of_the_ledger(
    steps: tuple[Step, ...], reader_open: str, lac: int
) -> None:
    """Planted: metadata of a closed ledger that leave the LAC as it was."""
    assert lac_after(steps, **ALL_ONE, readers=1, reader_open=reader_open) == lac


def test_without_readers_there_is_no_state_variable_of_the_layer() -> None:
    """Planted: a state variable that is declared always."""
    off, _ = built("bookkeeper", ALL_ONE)
    on, _ = built("bookkeeper", {**ALL_ONE, "readers": 1})
    names = [{v.name.split("[")[0] for v in (*s.variables, *s.choices)} for s in (off, on)]
    assert names[1] - names[0] == {
        *("handle", "known_fragment", "asked_fragment", "knows_end"),
        *("reader_lac", "told", "told_by", "reported_absent"),
    }
    new = {schema.name for schema in on.schemas} - {schema.name for schema in off.schemas}
    assert new == {"open for reading", "hear lac", "learn metadata", "end opening", "report absent"}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"reader_open": "keeps"}, "reader_open without readers changes nothing"),
        ({"readers": 1, "crashes": 1}, "exclude each other"),
        ({"readers": 1, "forces": 1}, "exclude each other"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        find("bookkeeper").instance({**ALL_ONE, **settings}.items())
