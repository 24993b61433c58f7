"""The conditions of losses: which setup has which loss, and by what it can happen there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product

import pytest

from fencepost.advice.affected import bugs_of_releases, has
from fencepost.advice.losses import (
    LEVELS,
    LOSSES,
    OF_SETTINGS,
    VARIANTS,
    Loss,
    document,
    impossible,
    possible,
)
from fencepost.advice.setups import SIZES, Setup, holds
from fencepost.protocols.bookkeeper.releases import TAGS
from fencepost.quorums.stripes import Configuration, configurations


def setup(
    sizes: tuple[int, int, int],
    bookies: int,
    release: str,
    journal: bool = True,
    checks: bool = False,
    storage: str = "sorted",
    sync: bool = True,
    features: Iterable[str] = (),
) -> Setup:
    return Setup(Configuration(*sizes), bookies, release, journal, checks, storage, sync, frozenset(features))


SORTED = ["flushed-fence", "unawaited-fence", "key-without-entry"]
OFF = ["bare-fence", "#4812", "flushed-fence", "unawaited-fence"]
"""The losses of a journaled fence, which are the same without the journal, and #4812."""
OFF_AT_ONCE = "journalWriteData=false"
COPIES = ["recover-twice", "collector-beside-recover", "lost-session"]
STRIPED = ["recover-twice", "recover-other-position", "collector-beside-recover", "lost-session"]
"""The losses of closed ledgers, which need a bookie to copy to."""
RETURNED = "returned-copy"
FAILED = "failed-flush"
"""The loss of DbLedgerStorage with a journal that every release has."""
DB = ["flushed-fence-db", "unawaited-fence", "key-without-entry-db"]
CHANGES = ["#4651", "stale-ensemble"]
BARE = ["bare-fence", "#4812"]
DELETED = ["deleted-ledger", "deleted-ledger-restart"]
"""The losses of deleted ledgers, before and after bookies remembered deletions. Each setup has one."""
FULL_DISK = "#4855"
"""The loss of a disk that was full, which each setup has."""
REUSED_DB = ["reused-collector", "reused-dropped"]

TABLE: list[tuple[Setup, list[str]]] = [
    (setup((2, 2, 2), 2, "4.17.4"), [*BARE, *SORTED]),
    (setup((2, 2, 2), 2, "4.17.3"), ["#4701", *BARE, *SORTED]),
    (setup((2, 2, 2), 2, "4.17.4", storage="db"), [FAILED, *BARE, *DB]),
    (setup((2, 2, 2), 2, "4.15.0", storage="db"), [FAILED, "#4701", *BARE, "unawaited-fence"]),
    (setup((3, 3, 2), 4, "4.18.0"), [*CHANGES, *BARE, *SORTED, *COPIES]),
    (setup((1, 1, 1), 2, "4.18.0"), [*CHANGES, *BARE, *SORTED, *COPIES[1:]]),
    (setup((5, 3, 2), 6, "4.15.5"), ["#3005", "stale-ensemble", "#4701", *BARE, *SORTED, *STRIPED]),
    (setup((3, 2, 2), 3, "4.15.5"), ["#4701", *BARE, *SORTED]),
    (
        setup((2, 2, 2), 3, "4.15.0", storage="db"),
        [
            "stale-ensemble",
            FAILED,
            "#4701",
            *BARE,
            "unawaited-fence",
            *COPIES,
            f"{RETURNED}-checkpoint",
            "deleted-key",
        ],
    ),
    (setup((2, 2, 2), 3, "4.15.0"), ["stale-ensemble", "#4701", *BARE, *SORTED, *COPIES]),
    (setup((2, 2, 2), 3, "4.17.4", storage="db"), [*CHANGES, FAILED, *BARE, *DB, *COPIES, RETURNED]),
    (
        setup((2, 2, 2), 3, "4.17.4", storage="db", features=["no-collection"]),
        [*CHANGES, FAILED, *BARE, *DB, "recover-twice"],
    ),
    (setup((3, 3, 2), 3, "4.13.0"), ["#2614", "#4701", *BARE, *SORTED]),
    (setup((2, 2, 1), 2, "4.13.0"), ["#4701", *BARE, *SORTED]),
    (setup((2, 2, 2), 2, "4.8.2"), ["#2614", "#4701", *BARE, *SORTED]),
    (setup((2, 2, 2), 3, "4.8.2"), ["early-commit", "#2614", "#4701", *BARE, *SORTED, *COPIES]),
    (setup((3, 3, 2), 3, "4.17.4", journal=False), ["BP-46-2", *OFF, OFF_AT_ONCE]),
    (
        setup((3, 3, 2), 3, "4.17.4", journal=False, storage="db"),
        ["BP-46-2", *BARE, "flushed-fence-db", "unawaited-fence", OFF_AT_ONCE],
    ),
    (
        setup((3, 3, 2), 3, "4.17.4", journal=False, checks=True),
        ["BP-46-closed", "BP-46-served", *OFF, OFF_AT_ONCE],
    ),
    (
        setup((3, 3, 2), 3, "4.17.4", checks=True, sync=False),
        ["BP-46-2", *BARE, *SORTED, "journalSyncData=false"],
    ),
    (
        setup((3, 3, 2), 3, "4.17.4", journal=False, sync=False),
        ["BP-46-2", *OFF, OFF_AT_ONCE, "journalSyncData=false"],
    ),
    (
        setup((3, 3, 2), 3, "4.17.4", journal=False, checks=True, sync=False),
        ["BP-46-closed", "BP-46-served", *OFF, OFF_AT_ONCE],
    ),
]
"""Setups with the losses that the models find there. Deleted ledgers and full disks are left out."""

TWO_DISKS, TWO_JOURNALS = ["several-ledger-directories"], ["several-journal-directories"]
ALONE: list[tuple[str, Setup, bool]] = [
    ("PR-3329", setup((2, 2, 2), 2, "4.14.7", storage="db", features=TWO_DISKS), True),
    ("PR-3329", setup((2, 2, 2), 2, "4.14.7", storage="db"), False),
    ("PR-3329", setup((2, 2, 2), 2, "4.14.7", features=TWO_DISKS), False),
    ("PR-3329", setup((2, 2, 2), 2, "4.14.7", journal=False, storage="db", features=TWO_DISKS), False),
    ("PR-4844", setup((2, 2, 2), 2, "4.18.0", storage="db", features=TWO_JOURNALS), True),
    ("PR-4844", setup((2, 2, 2), 2, "4.18.0", storage="db"), False),
    ("PR-4844", setup((2, 2, 2), 2, "4.18.0", features=TWO_JOURNALS), False),
    ("PR-4844", setup((2, 2, 2), 2, "4.18.0", journal=False, storage="db", features=TWO_JOURNALS), False),
    ("force-after-power-loss", setup((2, 2, 2), 2, "4.18.0"), False),
    ("force-after-close", setup((2, 2, 2), 2, "4.18.0"), False),
    ("BP-46-closed", setup((2, 2, 2), 2, "4.18.0", journal=True, checks=True), False),
    ("BP-46-closed", setup((2, 2, 2), 2, "4.18.0", journal=False), False),
    ("BP-46-served", setup((2, 2, 2), 2, "4.18.0", journal=True, checks=True), False),
    ("BP-46-served", setup((2, 2, 2), 2, "4.18.0", journal=False), False),
    ("reused-collector", setup((2, 2, 2), 2, "4.17.4"), False),
    ("reused-memtable", setup((2, 2, 2), 2, "4.17.4"), False),
    ("reused-memtable", setup((2, 2, 2), 2, "4.17.4", features=["reused-ids"]), True),
    ("reused-memtable", setup((2, 2, 2), 2, "4.17.4", storage="interleaved", features=["reused-ids"]), False),
    ("reused-dropped", setup((2, 2, 2), 2, "4.17.4", storage="db"), False),
    ("reused-dropped", setup((2, 2, 2), 2, "4.17.4", features=["reused-ids"]), False),
    (
        "returned-copy-checkpoint",
        setup((2, 2, 2), 3, "4.15.0", storage="db", features=["no-collection"]),
        False,
    ),
    ("deleted-key", setup((2, 2, 2), 2, "4.15.5", storage="db"), False),
    ("deleted-key", setup((2, 2, 2), 3, "4.15.5"), False),
    ("deleted-key", setup((2, 2, 2), 3, "4.15.5", storage="db", features=["no-collection"]), False),
    ("reused-dropped-checkpoint", setup((2, 2, 2), 2, "4.15.0", storage="db"), False),
    ("reused-dropped-checkpoint", setup((2, 2, 2), 2, "4.15.0", features=["reused-ids"]), False),
    ("reused-late-copy", setup((2, 2, 2), 3, "4.17.4"), False),
    ("reused-late-copy", setup((2, 2, 2), 2, "4.17.4", features=["reused-ids"]), False),
    ("reused-version", setup((2, 2, 2), 3, "4.17.4"), False),
    ("reused-version", setup((2, 2, 2), 2, "4.17.4", features=["reused-ids"]), False),
    ("recover-other-position", setup((3, 2, 2), 3, "4.17.4"), False),
    ("recover-other-position", setup((2, 2, 2), 3, "4.17.4"), False),
]
"""Losses that need a setting or a size, each in a setup with or without it."""


def losing(asked: Setup) -> list[str]:
    """Return the losses of the models in a setup, in the order of the tables."""
    able = {loss.name for loss in possible(asked)}
    names = dict.fromkeys(loss.name for loss in LOSSES if loss.kind in ("bug", "setting"))
    return [name for name in names if name in able and name not in (*DELETED, FULL_DISK)]


@pytest.mark.parametrize(("asked", "found"), TABLE)
def test_the_losses_of_a_setup_are_those_whose_condition_it_meets(asked: Setup, found: list[str]) -> None:
    assert losing(asked) == found
    remembers = asked.release in ("4.16.7", "4.17.2", "4.17.3", "4.17.4", "4.18.0")
    able = {loss.name for loss in possible(asked)}
    assert FULL_DISK in able
    assert [name for name in DELETED if name in able] == [DELETED[remembers]]


@pytest.mark.parametrize(("name", "asked", "can_happen"), ALONE)
def test_a_loss_that_needs_a_setting_has_it(name: str, asked: Setup, can_happen: bool) -> None:
    assert (name in {loss.name for loss in possible(asked)}) is can_happen


def wrong_by_one_word() -> Iterator[tuple[Loss, Loss]]:
    """Yield each loss of the models with one word of its condition left out, and as it is.

    The row of bare-fence without the journal is left out: its word decides which instance the model asks.
    """
    for loss in LOSSES:
        if loss.kind in ("bug", "setting") and (loss.name, loss.settings is None) != ("bare-fence", False):
            yield from ((replace(loss, needs=loss.needs - {word}), loss) for word in sorted(loss.needs))
            yield from ((replace(loss, unless=loss.unless - {word}), loss) for word in sorted(loss.unless))


@pytest.mark.parametrize(("planted", "loss"), list(wrong_by_one_word()), ids=lambda loss: loss.name)
def test_a_condition_that_is_wrong_by_one_word_is_noticed(planted: Loss, loss: Loss) -> None:
    """Planted: each word of each condition is left out in turn."""
    settled = [(name, asked) for name, asked, can_happen in ALONE if not can_happen]
    settled += [(loss.name, asked) for asked, found in TABLE if loss.name not in found]
    of_it = [asked for name, asked in settled if name == loss.name]
    assert any(planted.unmet(asked) == [] for asked in of_it)
    assert all(loss.unmet(asked) for asked in of_it)


def test_every_bug_of_a_release_has_a_row_and_no_other_has() -> None:
    """Planted: a row is missing in risks.toml."""
    of_releases = {b[0].name for b in bugs_of_releases() if any(has(b[0], release) for release in TAGS)}
    assert set(document("risks.toml")) == of_releases | {setting.name for setting in OF_SETTINGS}


def test_each_loss_says_what_it_needs_and_what_to_do() -> None:
    """Planted: a row without `events`; one without steps and action."""
    for name, row in document("risks.toml").items():
        for one in (row, *(row[variant] for variant in VARIANTS if variant in row)):
            assert one["loses"] is bool(one.get("level")) is bool(one.get("events")), name
    for loss in LOSSES:
        assert bool(loss.steps) is not bool(loss.action), loss.name
        assert loss.short and loss.level in LEVELS, loss.name


@pytest.mark.parametrize(
    ("name", "asked", "level"),
    [
        ("returned-copy", setup((3, 3, 2), 4, "4.17.4", storage="db"), "two-crashes"),
        ("volumes.persistence=false", setup((2, 2, 2), 3, "4.17.4", features=["ephemeral-disks"]), "crash"),
        ("#4812", setup((2, 2, 2), 3, "4.17.4", features=["ephemeral-disks"]), "crash"),
        ("#4812", setup((2, 2, 2), 3, "4.17.4"), "operator"),
        ("flushed-fence-db", setup((2, 2, 2), 3, "4.17.4", storage="db"), "crash"),
        ("disks", setup((1, 1, 1), 1, "4.17.4"), "crash"),
        ("disks", setup((2, 2, 2), 3, "4.17.4"), "two-crashes"),
        ("no-failover", setup((2, 2, 2), 2, "4.17.4"), "crash"),
        ("no-failover", setup((3, 3, 2), 4, "4.17.4"), "two-crashes"),
        ("no-replacement", setup((3, 3, 2), 3, "4.17.4"), "slow-bookie"),
        ("#3604", setup((1, 1, 1), 1, "4.17.4"), "operation"),
        ("#3604", setup((2, 2, 2), 3, "4.17.4"), "two-crashes"),
    ],
)
def test_a_loss_has_the_level_of_the_events_that_it_needs(name: str, asked: Setup, level: str) -> None:
    (found,) = (loss for loss in possible(asked) if loss.name == name)
    assert found.level_in(asked) == level


ORDER = list(LEVELS)


@pytest.mark.parametrize("release", ["4.13.0", "4.16.5", "4.18.0"])
@pytest.mark.parametrize("storage", ["db", "sorted"])
def test_a_setup_with_fewer_copies_never_ranks_above_one_with_more(release: str, storage: str) -> None:
    """Planted: no row for a lost disk or for a stop."""
    asked = [
        setup(one.sizes, one.ensemble + spare, release, storage=storage)
        for one, spare in product(configurations(3), (0, 1))
    ]
    levels = {one: {loss.name: ORDER.index(loss.level_in(one)) for loss in possible(one)} for one in asked}
    for fewer, more in product(asked, asked):
        if fewer.configuration.ack_quorum < more.configuration.ack_quorum:
            assert min(levels[fewer].values()) <= min(levels[more].values()), (fewer, more)
            both = levels[fewer].keys() & levels[more].keys() - {"no-failover"}  # it depends on N, too
            assert all(levels[fewer][name] <= levels[more][name] for name in both), (fewer, more)


def test_a_loss_that_cannot_happen_has_its_reasons() -> None:
    reasons = impossible(setup((3, 3, 2), 3, "4.17.4", storage="db"))
    assert reasons["#4651"] == "needs N > E"
    assert reasons["#4701"] == "not in 4.17.4"
    assert reasons["#3005"] == "needs N > E, needs E > WQ"
    off = impossible(setup((3, 3, 2), 4, "4.17.4", storage="db", features=["no-collection"]))
    assert off["returned-copy"] == "not with gcOverreplicatedLedgerWaitTime=0"
    able = {loss.name for loss in possible(setup((3, 3, 2), 3, "4.17.4", storage="db"))}
    assert able.isdisjoint(reasons) and able | set(reasons) == {loss.name for loss in LOSSES}


@pytest.mark.parametrize(
    ("word", "sizes", "is_met"),
    [
        ("spare", (3, 3, 2, 4), True),
        ("spare", (3, 3, 2, 3), False),
        ("one-spare", (3, 3, 2, 4), True),
        ("one-spare", (3, 3, 2, 5), False),
        ("striped", (3, 2, 2, 3), True),
        ("striped", (3, 3, 2, 3), False),
        ("two-acks", (2, 2, 2, 2), True),
        ("two-acks", (2, 2, 1, 2), False),
        ("striped-or-two-acks", (2, 2, 1, 3), False),
        ("striped-or-two-acks", (2, 2, 2, 3), True),
        ("striped-or-two-acks", (2, 1, 1, 3), True),
    ],
)
def test_an_expression_over_sizes_is_the_one_that_is_printed(
    word: str, sizes: tuple[int, ...], is_met: bool
) -> None:
    letters = dict(zip(("E", "WQ", "AQ", "N"), sizes, strict=True))
    assert holds(SIZES[word], letters) is is_met
