"""The presets of one BookKeeper ledger and of its core."""

from __future__ import annotations

from dataclasses import replace

from fencepost.encoding.language.parameters import off_here
from fencepost.encoding.language.protocol import Protocol
from fencepost.encoding.language.system import System
from fencepost.properties.bookkeeper.core import with_properties
from fencepost.properties.bookkeeper.in_the_end import SMALL, bookkeeper_in_the_end
from fencepost.properties.bookkeeper.invariants import ledger_invariants
from fencepost.properties.bookkeeper.ledger import ledger_properties
from fencepost.properties.catalogue import IN_NO_INSTANCE
from fencepost.protocols.bookkeeper.core import CoreParameters, core
from fencepost.protocols.bookkeeper.ledger import ledger
from fencepost.protocols.bookkeeper.observed import observed
from fencepost.protocols.bookkeeper.parameters import (
    NO_JOURNAL,
    TODAY,
    V4_13,
    V4_13_TLA,
    BookKeeperParameters,
)
from fencepost.protocols.bookkeeper.releases import NEWEST, as_in


def bookkeeper(parameters: BookKeeperParameters) -> System:
    """Build one ledger with its properties and invariants."""
    system = ledger(parameters)
    return replace(system, properties=ledger_properties(system), invariants=ledger_invariants(system))


def bookkeeper_core(parameters: CoreParameters) -> System:
    """Build the core of one ledger with its properties and invariants."""
    return with_properties(core(parameters))


_SOURCES = (
    "Apache BookKeeper: LedgerHandle, PendingAddOp, ReadLastConfirmedOp, LedgerRecoveryOp, BookieImpl",
    "BP-46 (running without the journal), for QC and EC",
    "Vanlightly/bookkeeper-tlaplus, BookKeeperProtocol_v4_13.tla",
)


_LAYERS_LEAVE_OUT = {
    "deletions": (
        "deletion: the deletion of an open ledger, the seven days, a late write-back that a bookie refuses, "
        "deletion together with crashes, forces or readers"
    ),
    "forces": (
        "DEFERRED_SYNC: a fence that a loss of power takes, the order of two writes on one bookie's disk "
        "beyond the journal's, several journals, LedgerHandleAdv"
    ),
    "readers": (
        "readers: the writer's own handle as a reader, readUnconfirmed above the LAC, explicit LAC, batch "
        "reads of recovery"
    ),
    "given_ids": (
        "given ids: two contents for one id, an id given three times, a second add of an old ensemble, "
        "DEFERRED_SYNC"
    ),
    "lengths": "lengths: entries of different lengths, and the length of a second add",
    "journals": (
        "the journal's mark: fences and keys behind the mark, two flushes of the storage with the SyncThread "
        "in between, clean stops, journalReuseFiles"
    ),
    "full_disks": (
        "full disks: a fence that goes down with the bookie, a part that was written whole, an entry that is "
        "torn in a write to the buffer, disks of the index and of the journal, compaction"
    ),
    "racks": ("racks: regions and zones, bookies whose rack changes, chains of changes together with racks"),
}
"""By parameter, a layer and what it leaves out. docs/bookkeeper.md has the same words."""


def _unmodelled(parameters: BookKeeperParameters) -> str:
    """Return the line of one ledger: what no instance has, the layers that are off, gaps of the others."""
    layers = "".join(f"; of {said}" for name, said in _LAYERS_LEAVE_OUT.items() if getattr(parameters, name))
    never = f"not modelled of {_CLIENT} in any instance: {IN_NO_INSTANCE[_CLIENT]}"
    return f"{never}{off_here(parameters, _LAYERS)}{layers}"


_CLIENT = "BookKeeper's client"
_LAYERS = {
    "deletions=1": "deletion",
    "forces=1": "DEFERRED_SYNC",
    "readers=1": "readers without recovery",
    "way_to_read=batch": "entries that readers are given",
    "given_ids=1": "ids that the application gives",
    "lengths=1": "the length of the ledger",
    "journals=1": "the journal's mark",
    "full_disks=1": "full disks",
    "racks=2": "racks",
}
"""By the setting that turns it on, a layer of the model."""


ADDS_UNMODELLED = (
    "not modelled of BookKeeper's client in any instance: the time between making and queueing an add, "
    "chained ensemble changes, deletion, re-replication, DEFERRED_SYNC, two replacements in one change"
)
"""The line of the models whose adds are one step."""

ADDS_NOT_MODELLED = (
    "chained ensemble changes: bookies that fail during a change, and one comparison over several changes",
    "the time between making an add and queueing it: the client chooses the ensemble when it makes the add",
    "a writer that continues after its ensemble change has failed",
    "entries that are acknowledged later than the ensemble change in which they got their acks",
)

_NOT_MODELLED = (
    (
        "plain reads, tailing reads and long-poll reads (the property no-dirty-read covers the LAC that they "
        "return)"
    ),
    "a client that restarts: every recovery attempt is a new client",
    "auto-recovery, garbage collection and deletion (issues 4462 and 4668), with or without a restart",
    "racks, DEFERRED_SYNC, delayed ensemble changes",
    "two or more bookies replaced in one change (the same as one after the other if E = WQ)",
)

_CORE_NOT_MODELLED = (
    *ADDS_NOT_MODELLED,
    "deletion",
    "messages, numbers, positions, fragments (`fencepost prove bookkeeper` ties them to the core)",
)

_SPARE = {"bookies": 2, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1, "entries": 2}
"""The smallest instance with a spare bookie and a second entry."""

_LEDGER = Protocol(
    name="bookkeeper-4.13",
    summary="one BookKeeper ledger with its writer and recoverers, as in release 4.13 with its two "
    "known defects",
    defaults=V4_13,
    build=bookkeeper,
    sources=_SOURCES,
    not_modelled=_NOT_MODELLED,
    unmodelled=_unmodelled,
    exercised={"valid-fragments": _SPARE, "no-dirty-read": _SPARE},
    observed=observed,
    ships=True,
)

PRESETS = (
    replace(
        _LEDGER,
        name="bookkeeper",
        summary="one BookKeeper ledger with its writer and recoverers, as in release 4.18.0 with "
        "#4651, stale-ensemble, refused-change, #4459 and blocked-acks fixed, bugs of the client "
        "(as released: --release 4.18.0)",
        defaults=TODAY,
        in_release=as_in,
        newest=NEWEST,
    ),
    replace(
        _LEDGER,
        name="bookkeeper-no-journal",
        summary="today's code without the journal (BP-46): a crash loses entries and fences. The crashed "
        "bookie then fences its ledgers and puts them in limbo",
        defaults=NO_JOURNAL,
        sources=(*_SOURCES, "BP-46 and LIMBO_README.md of bookkeeper-tlaplus for the two scenarios"),
        in_release=as_in,
        newest=NEWEST,
    ),
    _LEDGER,
    replace(
        _LEDGER,
        name="bookkeeper-4.13-tla",
        summary="the same ledger as the published TLA+ module of 4.13 models it, to compare with TLC "
        "step by step",
        defaults=V4_13_TLA,
    ),
    Protocol(
        name="bookkeeper-core",
        summary="the core of one BookKeeper ledger, without messages and numbers. It shows on one page "
        "why BookKeeper is safe, and is proved for all sizes (fencepost prove bookkeeper)",
        defaults=CoreParameters(),
        build=bookkeeper_core,
        sources=_SOURCES,
        not_modelled=_CORE_NOT_MODELLED,
        unmodelled=ADDS_UNMODELLED,
        ships=True,
    ),
    replace(
        _LEDGER,
        name="bookkeeper-liveness",
        summary="the ledger of `bookkeeper`, in which deliveries, steps of clients and time-outs are fair: "
        "recoveries, adds and ensemble changes end",
        defaults=SMALL,
        build=bookkeeper_in_the_end,
        in_release=as_in,
        newest=NEWEST,
        exercised={},
    ),
)
