"""Durability (layers/durability): the losses of each storage, and the mends that prevent them."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.terms import TRUE, Term
from fencepost.properties.catalogue import find
from fencepost.protocols.bookkeeper.layers import durability
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.quorums.storages import STORAGES
from support.instances import checked_all

ONE = {"bookies": 1, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1}
AWAITED = {"negative_answers": "after-fence"}
MENDED = {**AWAITED, "fence_record": "with-key", "flush_headers": "always", "db_checkpoint": "always"}
"""The journal keeps all that it must, and the mark never passes anything that is missing in the index."""


STORE = (("push", 1, 1), ("handle add", "w", 1, 1, "b1"))
FENCE = (("begin recovery", "r1"), ("handle fence", "r1", "b1"))
CHECKPOINT, CATCH_UP = ("checkpoint", "b1"), ("catch up", "b1")
CRASH, RESTART = ("crash and replay", "b1"), ("stop and start", "b1")
TORN = (("push", 1, 1), ("crash in first add", "w", 1, 1, "b1"))
SECOND = (("push", 1, 2), ("handle add", "w", 1, 2, "b1"))

Step = tuple[object, ...]
EVERY = ("interleaved", "sorted", "db", "db, always")

CELLS: list[tuple[str, tuple[Step, ...], tuple[str, ...]]] = [
    ("a fence that is queued", (*FENCE, CRASH), ()),
    ("a bare fence", (*FENCE, CATCH_UP, CRASH), ()),
    ("a bare fence, restarted", (*FENCE, CATCH_UP, RESTART), ("db, always",)),
    ("a bare fence, flushed", (*FENCE, CATCH_UP, CHECKPOINT, CRASH), ("interleaved", "sorted", "db, always")),
    ("a fence beside an entry", (*STORE, *FENCE, CRASH), EVERY),
    ("a fence beside an entry, restarted", (*STORE, *FENCE, RESTART), EVERY),
    ("a fence after a checkpoint", (*STORE, CHECKPOINT, *FENCE, CRASH), EVERY),
    (
        "a fence after a checkpoint, restarted",
        (*STORE, CHECKPOINT, *FENCE, RESTART),
        ("interleaved", "sorted", "db, always"),
    ),
    ("a fence after a restart, restarted", (*STORE, RESTART, *FENCE, RESTART), ("db, always",)),
    ("a fence after a restart, crashed", (*STORE, RESTART, *FENCE, CRASH), EVERY),
    (
        "a fence between checkpoints",
        (*STORE, CHECKPOINT, *FENCE, CHECKPOINT, CRASH),
        ("interleaved", "sorted", "db, always"),
    ),
    ("a fence that was replayed", (*STORE, CHECKPOINT, *FENCE, CRASH, CRASH), ("db, always",)),
    (
        "a fence that was replayed, and a checkpoint",
        (*STORE, CHECKPOINT, *FENCE, CRASH, CHECKPOINT, CRASH),
        ("db, always",),
    ),
    ("a fence that was replayed with an entry", (*STORE, *FENCE, CRASH, CRASH), EVERY),
]
"""Steps, and the storages in which the fence survives them."""


@cache
def replayer_of(storage: str) -> tuple[Replayer, Ledger]:
    """Return a replayer of 1/1/1, two entries, idle; `db, always` is DbLedgerStorage up to 4.15.0."""
    name, _, always = storage.partition(", ")
    settings = {**ONE, "entries": 2, "storage": name, "crashes": 2, "restarts": 2}
    instance = find("bookkeeper").instance(
        {**settings, **({"db_checkpoint": always} if always else {})}.items()
    )
    assert isinstance(instance.system.state, Ledger)
    return Replayer(instance.system, instance.subject), instance.system.state


def state_after(storage: str, steps: tuple[Step, ...]) -> tuple[Replayer, Ledger, State]:
    """Return the model after these steps; a checkpoint that would change nothing is left out."""
    replayer, ledger = replayer_of(storage)
    states = replayer.follow([], [])
    for step in (("create ledger",), *steps):
        action = replayer.system.find(str(step[0]), [str(argument) for argument in step[1:]])
        assert action is not None, step
        try:
            states.append(replayer.after(action, states))
        except NotAnExecution:
            assert step == CHECKPOINT
    return replayer, ledger, states[-1]


@pytest.mark.parametrize("storage", EVERY)
@pytest.mark.parametrize(("steps", "kept"), [cell[1:] for cell in CELLS], ids=[cell[0] for cell in CELLS])
def test_a_fence_outlives_what_the_page_says(
    steps: tuple[Step, ...], kept: tuple[str, ...], storage: str
) -> None:
    replayer, ledger, state = state_after(storage, steps)
    assert replayer.concrete.evaluate(ledger.fenced["b1"], {}, state) == (storage in kept)


@pytest.mark.parametrize("storage", EVERY)
@pytest.mark.parametrize(
    ("steps", "kept"),
    [
        ((*STORE, CRASH, CRASH), EVERY),
        ((*TORN, *SECOND, CRASH), ("db, always",)),
        ((*TORN, *SECOND, CHECKPOINT, CRASH), EVERY),
        ((*TORN, *SECOND, RESTART), EVERY),
        ((*TORN, RESTART, *SECOND, CRASH), EVERY),
    ],
)
def test_an_entry_outlives_what_the_page_says(
    steps: tuple[Step, ...], kept: tuple[str, ...], storage: str
) -> None:
    """Torn: the bookie crashed between the records of the ledger's key and of its first entry."""
    replayer, ledger, state = state_after(storage, steps)
    stored = [replayer.concrete.evaluate(ledger.stored["b1", e], {}, state) for e in (1, 2)]
    assert any(stored) == (storage in kept)


def found(settings: dict[str, Any], *names: str) -> dict[str, object]:
    """Return for each property the fewest steps of a violation, or the verdict."""
    results = checked_all("bookkeeper", {**ONE, **settings}, names)
    return {r.property: r.steps if r.verdict is Verdict.VIOLATED else r.verdict.value for r in results}


@pytest.mark.long
@pytest.mark.parametrize("storage", ["interleaved", "sorted", "db"])
def test_a_fence_that_no_entry_precedes_is_lost_in_a_crash(storage: str) -> None:
    settings = {**MENDED, "storage": storage, "crashes": 1}
    assert found({**settings, "fence_record": "bare"}, "fences-stay") == {"fences-stay": 4}
    assert found(settings, "fences-stay") == {"fences-stay": "proved"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({"storage": "db"}, 4),
        ({"storage": "db", "db_checkpoint": "always"}, "proved"),
        ({"storage": "db", "load": "busy"}, "proved"),
        ({"storage": "interleaved"}, 4),
        ({"storage": "interleaved", "load": "busy"}, "proved"),
        ({"storage": "interleaved", "flush_headers": "always"}, "proved"),
    ],
)
def test_a_clean_restart_of_an_idle_bookie_loses_its_fence(settings: dict[str, Any], steps: object) -> None:
    assert found({**AWAITED, **settings, "restarts": 1}, "fences-stay") == {"fences-stay": steps}


@pytest.mark.long
@pytest.mark.parametrize("storage", ["interleaved", "db"])
def test_a_negative_answer_that_does_not_wait_is_forgotten_in_a_crash(storage: str) -> None:
    settings = {**MENDED, "storage": storage, "crashes": 1}
    assert found({**settings, "negative_answers": "at-once"}, "fences-stay") == {"fences-stay": 4}
    assert found(settings, "fences-stay") == {"fences-stay": "proved"}


@pytest.mark.slow
def test_without_journaled_entries_a_fence_is_lost_as_with_them() -> None:
    """A crash comes only after a flush, so it takes no entry (`key-without-entry` needs a journaled one).

    Planted: such a bookie crashes at any time.
    """
    settings = {**MENDED, "storage": "db", "crashes": 1, "entries_journaled": "no"}
    assert found({**settings, "negative_answers": "at-once"}, "fences-stay") == {"fences-stay": 4}
    twice = {**AWAITED, "storage": "db", "crashes": 2, "entries": 2, "entries_journaled": "no"}
    assert found(twice, "entries-stay") == {"entries-stay": "proved"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({"storage": "interleaved"}, 7),
        ({"storage": "interleaved", "load": "busy"}, 7),
        ({"storage": "interleaved", "flush_headers": "always"}, "proved"),
        ({"storage": "db"}, 7),
        ({"storage": "db", "load": "busy"}, "proved"),
        ({"storage": "db", "db_checkpoint": "always"}, "proved"),
    ],
)
def test_a_key_without_its_entry_takes_acknowledged_entries_away(
    settings: dict[str, Any], steps: object
) -> None:
    """The first crash comes between two records of the journal, the second when nothing was flushed."""
    assert found({**AWAITED, **settings, "crashes": 2, "entries": 2}, "entries-stay") == {
        "entries-stay": steps
    }


@pytest.mark.long
@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({"storage": "db", "restarts": 1}, 10),
        ({"storage": "interleaved", "restarts": 1}, "proved"),
        ({"storage": "interleaved", "restarts": 2}, 10),
        ({"storage": "interleaved", "crashes": 2, "load": "busy"}, 11),
        ({"storage": "interleaved", "crashes": 2, "flush_headers": "always"}, "proved"),
    ],
)
def test_a_fence_beside_an_entry_is_lost_once_a_flush_has_left_it_out(
    settings: dict[str, Any], steps: object
) -> None:
    name = "fences-beside-entries-stay"
    assert found({**AWAITED, **settings, "entries": 2}, name) == {name: steps}


@pytest.mark.long
@pytest.mark.parametrize("storage", ["interleaved", "db"])
def test_with_all_mends_nothing_is_lost(storage: str) -> None:
    settings = {**MENDED, "storage": storage, "crashes": 2, "restarts": 1}
    names = ("fences-stay", "entries-stay", "no-divergence", "acked-entries-readable")
    assert found(settings, *names) == dict.fromkeys(names, "proved")


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"storage": "db"}, "storage without crashes, restarts or full_disks changes nothing"),
        ({"restarts": 1}, "restarts without a storage or deletions changes nothing"),
        ({"crashes": 1, "fence_record": "with-key"}, "fence_record without a storage changes nothing"),
        ({"crashes": 1, "storage": "db", "lose": "entries"}, "lose and a storage exclude each other"),
    ],
)
def test_what_would_change_nothing_is_refused(settings: dict[str, Any], error: str) -> None:
    with pytest.raises(BadInput, match=error):
        find("bookkeeper").instance(settings.items())


def test_releases_decide_what_a_checkpoint_of_db_writes() -> None:
    settings = {"storage": "db", "crashes": 1}
    values = {
        r: find("bookkeeper").instance(settings.items(), r).parameters for r in ("4.15.0", "4.15.1", "4.17.4")
    }
    found = {release: p.db_checkpoint for release, p in values.items()}
    assert found == {"4.15.0": "always", "4.15.1": "if-written", "4.17.4": "if-written"}


@pytest.mark.slow
def test_behind_an_entry_is_nothing_if_there_is_one_entry() -> None:
    """With one entry the property was once called proved, because the ledger was closed with an entry."""
    name = "no-divergence-behind-entries"
    settings = {**ONE, **AWAITED, "storage": "sorted", "restarts": 1}
    (of_one,) = checked_all("bookkeeper", {**settings, "entries": 1}, (name,))
    (of_two,) = checked_all("bookkeeper", {**settings, "entries": 2}, (name,))
    assert (of_one.verdict, of_two.verdict) == (Verdict.VACUOUS, Verdict.PROVED)


@pytest.mark.long
@pytest.mark.parametrize("storage", ["interleaved", "sorted", "db"])
def test_one_clean_restart_loses_an_entry_of_a_ledger_that_is_not_empty(storage: str) -> None:
    """On 3/3/2, recovery closes the ledger with one entry, and the next entry is acknowledged after it."""
    name = "no-divergence-behind-entries"
    settings = {**AWAITED, "bookies": 3, "entries": 2, "storage": storage, "restarts": 1}
    limits = Limits(jobs=1, minimize=Minimize.NONE)
    (result,) = checked_all("bookkeeper", settings, (name,), limits)
    assert result.verdict is Verdict.VIOLATED


@pytest.mark.long
@pytest.mark.parametrize("storage", ["interleaved", "db"])
def test_with_all_mends_two_bookies_lose_nothing_either(storage: str) -> None:
    two = {"bookies": 2, "ensemble": 2, "write_quorum": 2, "crashes": 1, "restarts": 1}
    names = ("no-divergence", "acked-entries-readable", "fences-stay", "entries-stay")
    results = checked_all("bookkeeper", {**MENDED, **two, "storage": storage}, names)
    assert [r.verdict for r in results] == [Verdict.PROVED] * len(names)


def always(s: object, bookie: object) -> Term:
    """Return the condition of a planted flush that writes everything."""
    return TRUE


@pytest.mark.parametrize("storage", ["interleaved", "db"])
@pytest.mark.parametrize("flushes", ["AT_CHECKPOINT", "BEFORE_STOP", "AFTER_REPLAY"])
def test_a_mistake_in_what_a_flush_writes_is_seen(
    storage: str, flushes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At least one cell of the page's table is then different."""
    monkeypatch.setitem(getattr(durability, flushes), STORAGES[storage].index, always)
    replayer_of.cache_clear()
    wrong = []
    for _, steps, kept in CELLS:
        replayer, ledger, state = state_after(storage, steps)
        if replayer.concrete.evaluate(ledger.fenced["b1"], {}, state) != (storage in kept):
            wrong.append(steps)
    replayer_of.cache_clear()
    assert wrong
