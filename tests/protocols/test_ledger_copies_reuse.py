"""A new ledger with the id of a deleted one: each rule of the code, and the mend with planted mistakes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.language.system import System, choose
from fencepost.encoding.mutation.mutants import Mutant, changed, mutants
from fencepost.properties.catalogue import find
from fencepost.protocols.ledger_copies.state import Copies
from support.exploration import explore
from support.instances import actions, built, happens

Settings = Mapping[str, object]

COPIES = "ledger-copies"
ONE: Settings = {"bookies": 1, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1, "workers": 0}
BY_ID: Settings = {**ONE, "lives": "by-id"}
COLLECTED: Settings = {**BY_ID, "reuse": "collected"}
DB: Settings = {**COLLECTED, "storage": "write-cache"}
SORTED: Settings = {**COLLECTED, "storage": "memtable"}
READABLE, OWN, WRITABLE = "acked-copies-readable", "entries-are-of-the-ledger", "new-ledger-writable"

DELETED = ["delete ledger: ", "find deleted: b1", "delete copies: b1"]
CREATED = ["create again: b1"]
ADDED = [*CREATED, "add again: b1 1"]
RESTARTED = ["stop: b1", "come back: b1"]


def fails(settings: Settings, prop: str, *steps: str) -> bool:
    """Return whether the steps are possible and violate the property at the end."""
    return happens(COPIES, settings, prop, steps)


def stays(settings: Settings, prop: str, *steps: str) -> bool:
    """Return whether the property holds at the end of the steps, all of which are possible."""
    system, parameters = built(COPIES, settings)
    replayer = Replayer(system, find(COPIES).subject(parameters))
    (asked,) = choose(system, (prop,))
    return replayer.concrete.predicate(asked.holds)(replayer.follow(actions(system, steps), [])[-1])


@pytest.mark.parametrize("storage", ["at-once", "write-cache", "memtable"])
def test_a_ledger_whose_id_is_not_used_again_has_nothing_of_the_layer(storage: str) -> None:
    plain, _ = built(COPIES, {"lives": "by-id", "closed_by": "recovery", "read_cache": "kept"})
    same, _ = built(COPIES, {})
    names = [str(variable) for variable in plain.variables]
    assert names == [str(variable) for variable in same.variables]
    assert [p.name for p in plain.properties] == [p.name for p in same.properties]
    assert not {"life", "took"} & set(names)
    assert "read old entry" not in {a.name for a in built(COPIES, {"storage": storage})[0].schemas}


def test_the_collector_deletes_the_new_ledger_unless_it_was_collected_before() -> None:
    steps = ["delete ledger: ", "find deleted: b1", *ADDED, "delete copies: b1"]
    assert fails({**BY_ID, "reuse": "at-once"}, READABLE, *steps)
    assert stays({**ONE, "reuse": "at-once"}, READABLE, *steps)
    assert not fails(COLLECTED, READABLE, *steps)


def test_a_collector_that_stops_forgets_what_it_found() -> None:
    steps = ["delete ledger: ", "find deleted: b1", *RESTARTED, *ADDED, "delete copies: b1"]
    assert not fails({**BY_ID, "reuse": "at-once"}, READABLE, *steps)


def test_a_fence_that_was_collected_is_back_after_a_restart_before_the_next_checkpoint() -> None:
    fenced = {**DB, "closed_by": "recovery"}
    assert fails(fenced, WRITABLE, *DELETED, *CREATED, *RESTARTED)
    assert stays(fenced, WRITABLE, *DELETED, "flush: b1", *CREATED, *RESTARTED)
    assert stays({**COLLECTED, "closed_by": "recovery"}, WRITABLE, *DELETED, *CREATED, *RESTARTED)


def test_the_fence_in_an_index_file_goes_with_the_deletion_and_that_in_the_journal_does_not() -> None:
    """With SortedLedgerStorage; a bookie that comes back has flushed. Planted: as with DbLedgerStorage."""
    fenced = {**SORTED, "closed_by": "recovery"}
    assert fails(fenced, WRITABLE, *DELETED, *CREATED, *RESTARTED)
    assert stays(fenced, WRITABLE, "flush: b1", *DELETED, *CREATED, *RESTARTED)
    assert stays(fenced, WRITABLE, *RESTARTED, *DELETED, *CREATED, *RESTARTED)


def test_the_memtable_drops_the_entry_unless_it_was_flushed_before() -> None:
    assert fails(SORTED, READABLE, *DELETED, *ADDED)
    assert stays(SORTED, READABLE, "flush: b1", *DELETED, *ADDED)
    assert stays(SORTED, READABLE, *DELETED, "flush: b1", *ADDED)


@pytest.mark.parametrize("remembers", ["no", "yes"])
def test_the_memory_of_deleted_ledgers_keeps_the_memtable_from_dropping_entries_of_an_owner_that_waits(
    remembers: str,
) -> None:
    """Seen in all states, with restarts: b1 has taken the entry, and its memtable has the old one."""
    system, _ = built(COPIES, {**SORTED, "remembers_deleted": remembers})
    s = system.state
    assert isinstance(s, Copies)
    is_dropped = Concrete(system).predicate(s.took["b1", 1] & s.cached["b1", 1] & ~s.cached_new["b1", 1])
    assert any(is_dropped(visit.state) for visit in explore(system)) == (remembers == "no")


@pytest.mark.parametrize("flushed", [["flush: b1"], RESTARTED], ids=["flush", "restart"])
def test_the_index_is_read_before_the_memtable_until_the_memtable_is_flushed(flushed: list[str]) -> None:
    """Without a collection between, SortedLedgerStorage serves the old entry from its index.

    Planted: a bookie that comes back has replayed its journal and flushes nothing.
    """
    at_once = {**SORTED, "reuse": "at-once"}
    steps = [*flushed, "delete ledger: ", *ADDED]
    assert fails(at_once, READABLE, *steps)
    assert stays(at_once, READABLE, *steps, "flush: b1")


def test_the_read_cache_serves_the_old_entry_until_a_restart() -> None:
    steps = ["read old entry: b1 1", *DELETED, *ADDED, "flush: b1"]
    assert fails({**DB, "read_cache": "kept"}, READABLE, *steps)
    assert stays({**DB, "read_cache": "kept"}, READABLE, *steps, *RESTARTED)
    assert stays(DB, READABLE, *steps)


def test_the_read_cache_serves_the_old_entry_in_place_of_one_that_the_flush_has_dropped() -> None:
    """Seen on 4.13.0. Planted: a dropped entry cannot be read."""
    dropped = {**DB, "read_cache": "kept", "deletion_mark": "until-checkpoint"}
    steps = ["read old entry: b1 1", *DELETED, *ADDED]
    assert stays(dropped, OWN, *steps)
    assert fails(dropped, OWN, *steps, "flush: b1")


def test_old_entries_can_be_read_again_with_the_first_new_one_until_the_clean_up() -> None:
    two = {**DB, "entries": 2, "deletion_mark": "until-swap"}
    assert fails(two, OWN, *DELETED, *ADDED)
    assert stays(two, OWN, *DELETED, "pass over: b1", *ADDED)


@pytest.mark.parametrize("change", [[], ["flush: b1"], RESTARTED], ids=str)
def test_the_write_cache_drops_the_new_entry_unless_something_ended_the_mark(change: list[str]) -> None:
    swap = {**DB, "deletion_mark": "until-swap"}
    assert fails(swap, READABLE, *DELETED, *change, *ADDED, "flush: b1") == (not change)


def test_the_write_of_a_re_replication_needs_the_version_that_it_has_read() -> None:
    """The metadata of the old ledger was written once before the second re-replication read it."""
    two = {**BY_ID, "bookies": 2, "reuse": "at-once"}
    again = ["delete ledger: ", "create again: b2", "add again: b2 1", "close again: "]
    copied = ["recover bookie: o1 1 1 b2", "copy entry: o1 1"]
    assert fails(two, READABLE, *copied, "delete ledger: ", *ADDED, "close again: ", "update ensemble: o1 1")
    moved = [*copied, "update ensemble: o1 1", "recover bookie: o1 1 1 b1", "copy entry: o1 1"]
    assert not fails(two, READABLE, *moved, *again, "update ensemble: o1 1")


@pytest.mark.parametrize("settings", [DB, SORTED], ids=["db", "sorted"])
def test_a_replay_passes_over_the_entries_of_a_ledger_whose_key_was_not_journaled_again(
    settings: Settings,
) -> None:
    """Seen on 4.13.0. A restart before the first new entry, or a flush after it, is enough for the entry.

    A restart before the deletion is enough if the journal no longer has the old key.
    """
    once = {**settings, "key_record": "once"}
    collected = [*DELETED, "flush: b1"]
    assert fails(once, READABLE, *collected, *ADDED, "stop: b1")
    assert stays(settings, READABLE, *collected, *ADDED, *RESTARTED)
    assert stays(once, READABLE, *collected, *ADDED, "flush: b1", *RESTARTED)
    assert stays(once, READABLE, *collected, *RESTARTED, *ADDED, *RESTARTED)
    before = [*RESTARTED, *DELETED, *ADDED]
    assert fails(once, READABLE, *before, "stop: b1") == (settings is SORTED)


# Planted mistakes in the mend `told-apart`: an update or a condition of it is left out.


def violates(system: System) -> set[str]:
    """Return the names of the properties that a reachable state violates."""
    known, concrete = [], Concrete(system)
    for prop in choose(system, (READABLE, OWN, WRITABLE)):
        holds = concrete.predicate(prop.holds)
        known.append((prop.name, holds))
    found: set[str] = set()
    for visit in explore(system):
        found |= {name for name, holds in known if not holds(visit.state)}
    return found


def updates_of(system: System, action: str, target: str) -> list[Mutant]:
    """Return the changes that leave out an update of that variable."""
    return [
        mutant
        for mutant in mutants(system)
        if mutant.part == "update" and mutant.action == action and mutant.text.startswith(target)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("storage", "target", "broken"),
    [
        ("at-once", "returned[bookie]", (READABLE,)),
        ("write-cache", "dropping[bookie]", (READABLE,)),
        ("write-cache", "cleaning[bookie]", (READABLE,)),
        ("memtable", "cached_new[bookie, 1]", (OWN, READABLE)),
    ],
    ids=str,  # tuples: every process of a run must see the same names
)
def test_the_mend_needs_each_of_its_updates(storage: str, target: str, broken: tuple[str, ...]) -> None:
    settings = {**ONE, "reuse": "at-once", "storage": storage, "deletion_mark": "until-swap"}
    system, _ = built(COPIES, settings)
    assert not violates(system)
    (mutant,) = updates_of(system, "add again", target)
    assert violates(changed(system, mutant)) == set(broken)
