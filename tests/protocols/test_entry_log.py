"""A full ledger disk (layers/entry_log): the entries that a bookie can read after a partial flush."""

from __future__ import annotations

from functools import cache

import pytest
from preset_instances import ALL_ONE

from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.errors import BadInput
from fencepost.properties.catalogue import find
from fencepost.protocols.bookkeeper.releases import as_in
from fencepost.protocols.bookkeeper.state import Ledger
from support.instances import built, checked

FULL = {**ALL_ONE, "crashes": 1, "restarts": 1, "full_disks": 2}
BEGIN = (("create ledger",), ("push", 1, 1), ("handle add", "w", 1, 1, "b1"))
TABLE, FILL, FLUSH = ("write memory table", "b1"), ("fill disk", "b1"), ("flush log", "b1")
NEW, RESTART, CRASH = ("begin log", "b1"), ("restart", "b1"), ("crash", "b1")


@cache
def replayer_of(storage: str, **rules: object) -> tuple[Replayer, Ledger]:
    settings = {**FULL, "storage": storage, **rules}
    instance = find("bookkeeper").instance(settings.items())
    assert isinstance(instance.system.state, Ledger)
    return Replayer(instance.system, instance.subject), instance.system.state


def keeps(storage: str, *steps: tuple[object, ...], **rules: object) -> bool:
    """Return whether the bookie can read the first entry after these steps."""
    replayer, s = replayer_of(storage, **rules)
    found = [replayer.system.find(str(a), [str(x) for x in given]) for a, *given in (*BEGIN, *steps)]
    assert None not in found
    state = replayer.follow([a for a in found if a is not None], ())[-1]
    return replayer.concrete.evaluate(s.stored["b1", 1], {}, state) == 1


@pytest.mark.parametrize(
    ("storage", "steps", "kept"),
    [
        ("interleaved", (FLUSH, CRASH), True),
        ("interleaved", (FILL,), True),
        ("interleaved", (FILL, CRASH), True),
        ("interleaved", (FILL, FLUSH), False),
        ("interleaved", (FILL, FLUSH, CRASH), True),
        ("interleaved", (FILL, FLUSH, NEW, CRASH), False),
        ("interleaved", (FILL, NEW), False),
        ("interleaved", (FILL, RESTART), False),
        ("interleaved", (FILL, CRASH, RESTART), True),
        ("sorted", (FILL, NEW), True),
        ("sorted", (FILL, RESTART), True),
        ("sorted", (TABLE, FILL, NEW), False),
        ("sorted", (TABLE, NEW, CRASH), True),
        ("db", (FLUSH, CRASH), True),
        ("db", (FILL, FLUSH), True),
        ("db", (FILL, FLUSH, FLUSH), False),
        ("db", (FILL, FLUSH, CRASH), False),
        ("db", (FILL, CRASH), True),
        ("db", (FILL, NEW, FLUSH, FLUSH, CRASH), True),
        ("db", (FILL, RESTART), False),
    ],
)
def test_an_entry_whose_location_is_wrong_cannot_be_read(
    storage: str, steps: tuple[tuple[str, ...], ...], kept: bool
) -> None:
    """Planted: a new log leaves the file ahead; a boot replays records behind the mark."""
    assert keeps(storage, *steps) is kept


def test_a_shutdown_with_an_empty_cache_loses_a_cache_that_was_set_aside() -> None:
    """As since 4.15.1. Planted: the shutdown writes it; the release before does not; a failure swaps none."""
    assert not keeps("db", FILL, NEW, RESTART)
    assert keeps("db", FILL, NEW, RESTART, empty_flush="swaps")
    assert keeps("db", FILL, NEW, FLUSH, RESTART)  # another ledger had an entry in the cache
    later = (("push", 1, 2), ("handle add", "w", 1, 2, "b1"), FILL, NEW)
    assert keeps("db", FILL, NEW, *later, RESTART, entries=2, inflight=2)
    given = find("bookkeeper").instance({**FULL, "storage": "db"}.items()).parameters
    assert [as_in(r, given).empty_flush for r in ("4.15.0", "4.15.1", "4.18.0")] == [
        "swaps",
        *["swaps-none"] * 2,
    ]


@pytest.mark.parametrize("rule", ["kept-in-step", "given-up"])
@pytest.mark.parametrize("storage", ["interleaved", "sorted"])
def test_with_a_mend_the_flush_after_it_loses_nothing(storage: str, rule: str) -> None:
    """Planted: the buffer is written again under the mend."""
    for end in ((NEW,), (RESTART,), (CRASH,)):
        if rule == "given-up" and end == (NEW,):
            with pytest.raises(NotAnExecution):  # the bookie has booted, and its log has nothing to write
                keeps(storage, FILL, NEW, partial_flush=rule)
        else:
            assert keeps(storage, FILL, *end, partial_flush=rule)


def test_a_buffer_in_step_is_no_mend_for_a_cache_that_was_set_aside() -> None:
    """With DbLedgerStorage the failed flush alone loses an entry in a crash; a bookie that stops does not."""
    given = {**ALL_ONE, "crashes": 1, "full_disks": 1, "storage": "db"}
    for rule, verdict in (("kept-in-step", "violated"), ("given-up", "proved")):
        found = checked("bookkeeper", {**given, "partial_flush": rule}, "ack-quorum-reached")
        assert found.verdict.value == verdict
    both = {**given, "partial_flush": "kept-in-step", "failed_flush": "flushed-first"}
    assert checked("bookkeeper", both, "ack-quorum-reached").verdict.value == "proved"


def test_without_full_disks_there_is_no_state_variable_of_the_layer() -> None:
    off, _ = built("bookkeeper", {**ALL_ONE, "crashes": 1})
    on, _ = built("bookkeeper", {**ALL_ONE, "crashes": 1, "storage": "db", "full_disks": 1})
    names = [{v.name.split("[")[0] for v in s.variables} for s in (off, on)]
    assert names[1] - names[0] == {"place", "behind_mark", "log_file", "filled"}


def test_a_release_has_its_rule_only_with_full_disks() -> None:
    for given, rule in (
        ({**ALL_ONE, "storage": "db", "full_disks": 1, "partial_flush": "given-up"}, "written-again"),
        ({**ALL_ONE, "storage": "db", "crashes": 1}, "written-again"),
    ):
        assert as_in("4.13.0", find("bookkeeper").instance(given.items()).parameters).partial_flush == rule


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"full_disks": 1}, "full_disks without a storage changes nothing"),
        ({"crashes": 1, "partial_flush": "given-up"}, "partial_flush without full_disks changes nothing"),
        (
            {"full_disks": 1, "storage": "db", "load": "busy"},
            "load without a storage whose disks are not full",
        ),
        ({"full_disks": 1, "storage": "sorted", "failed_flush": "flushed-first"}, "failed_flush without"),
        ({"full_disks": 1, "storage": "db", "empty_flush": "swaps"}, "empty_flush without .* restarts"),
        ({"full_disks": 1, "storage": "db", "journals": 1}, "journals and .* exclude each other"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        find("bookkeeper").instance({**ALL_ONE, **settings}.items())
