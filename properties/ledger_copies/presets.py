"""The preset of the copies of a closed ledger."""

from __future__ import annotations

from dataclasses import replace

from fencepost.encoding.language.parameters import off_here
from fencepost.encoding.language.protocol import Protocol
from fencepost.encoding.language.system import System
from fencepost.properties.catalogue import IN_NO_INSTANCE
from fencepost.properties.ledger_copies.invariants import copies_invariants
from fencepost.properties.ledger_copies.safety import copies_properties, re_replication_can_finish
from fencepost.protocols.bookkeeper.releases import NEWEST
from fencepost.protocols.ledger_copies.parameters import CopiesParameters
from fencepost.protocols.ledger_copies.releases import as_in
from fencepost.protocols.ledger_copies.state import Copies
from fencepost.protocols.ledger_copies.system import copies


def ledger_copies(parameters: CopiesParameters) -> System:
    """Build the copies of a closed ledger with their properties and invariants."""
    system = copies(parameters)
    assert isinstance(system.state, Copies)
    properties = (*copies_properties(system.state), re_replication_can_finish(system))
    return replace(system, properties=properties, invariants=copies_invariants(system.state))


def _unmodelled(parameters: CopiesParameters) -> str:
    """Return the line of the parts that an instance leaves out."""
    part = "BookKeeper's re-replication"
    said = f"not modelled of {part} in any instance: {IN_NO_INSTANCE[part]}"
    return f"{said}{off_here(parameters, {'reuse=at-once': 'reuse of ids'})}"


_NOT_MODELLED = (
    "open ledgers and their recovery: every fragment is closed",
    "adds of a re-replication that arrive after it has given up",
    "deletion of the ledger by its owner and the reuse of its id, without `reuse`",
    (
        "with `reuse`: a new ledger of another size or password, changes of its ensemble, and its recovery; "
        "its metadata is written twice at most"
    ),
    "storages other than DbLedgerStorage, or SortedLedgerStorage with `reuse`: they store at once",
    "flushes that fail, and crashes between the flush and the clean-up",
    "placement policies and racks; a check that reads while somebody copies",
)

PRESETS = (
    Protocol(
        name="ledger-copies",
        summary="the copies of a closed BookKeeper ledger: re-replication, `recover`, and the "
        "collector of over-replicated ledgers, with mends (as released: --release 4.18.0)",
        defaults=CopiesParameters(),
        build=ledger_copies,
        sources=(
            (
                "Apache BookKeeper: LedgerFragmentReplicator, BookKeeperAdmin, MetadataUpdateLoop, "
                "ReplicationWorker, ScanAndCompareGarbageCollector"
            ),
        ),
        not_modelled=_NOT_MODELLED,
        unmodelled=_unmodelled,
        in_release=as_in,
        newest=NEWEST,
        ships=True,
    ),
)
