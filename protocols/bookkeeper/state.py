"""The state of one ledger with its layers, and the rules in the order in which they replace one another."""

from __future__ import annotations

from functools import cache
from types import new_class

from fencepost.protocols.bookkeeper.layers import (
    chained_changes,
    journal_mark,
    late_acks,
    old_rules,
    published,
)
from fencepost.protocols.bookkeeper.layers.boot import Boot
from fencepost.protocols.bookkeeper.layers.chained_changes import ChainedChanges
from fencepost.protocols.bookkeeper.layers.crashes import Crashes
from fencepost.protocols.bookkeeper.layers.deferred_sync import DeferredSync, WriterWithForces
from fencepost.protocols.bookkeeper.layers.deletion import Deletion, LedgerWithOwner
from fencepost.protocols.bookkeeper.layers.durability import Durability
from fencepost.protocols.bookkeeper.layers.entry_log import EntryLogs, ReadsOfEntryLogs
from fencepost.protocols.bookkeeper.layers.fault_domains import AcksOfEnoughRacks, FaultDomains
from fencepost.protocols.bookkeeper.layers.given_ids import AddsOfGivenIds, GivenIds, IdsGivenTwice
from fencepost.protocols.bookkeeper.layers.journal_mark import JournalMark
from fencepost.protocols.bookkeeper.layers.late_acks import LateAcks
from fencepost.protocols.bookkeeper.layers.lengths import Lengths, LengthsWritten
from fencepost.protocols.bookkeeper.layers.old_rules import OldRules
from fencepost.protocols.bookkeeper.layers.published import Published
from fencepost.protocols.bookkeeper.layers.readers import Readers
from fencepost.protocols.bookkeeper.layers.refused_changes import RefusedChanges, WriterContinues
from fencepost.protocols.bookkeeper.layers.stale_adds import AddsKeepTheirEnsembles, StaleAdds
from fencepost.protocols.bookkeeper.layers.storages import SecondCopiesDropped
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.rules import in_order, rule_of
from fencepost.protocols.bookkeeper.today import Today

RULES = in_order(
    old_rules.HeadsFenced,
    old_rules.WindowsWithEntries,
    old_rules.WindowsOrEntries,
    old_rules.NoFloor,
    old_rules.ReadsDoNotFence,
    old_rules.UnsetBeforeAcking,
    old_rules.LacReadFirst,
    old_rules.ChangesLocally,
    published.CountedFences,
    published.FencesUntilFirstRead,
    published.ReadsOfAllAnswers,
    published.ReadsOfAckQuorums,
    published.WritesAfterReading,
    published.TimeoutsOfLost,
    published.FrozenRecoveryLac,
    published.ChangesInOneStep,
    published.RecoveryCommitsAtOnce,
    published.NewMembers,
    published.ResendsOneByOne,
    published.ClosesOpenLedgersOnly,
    SecondCopiesDropped,
    AddsKeepTheirEnsembles,
    WriterContinues,
    AcksOfEnoughRacks,
    WriterWithForces,
    LedgerWithOwner,
    ReadsOfEntryLogs,
    chained_changes.Chains,
    late_acks.AcksAtNextAnswer,
    late_acks.IdleChanges,
    journal_mark.MarkMovesBack,
    journal_mark.OneDirectoryMovesMark,
    journal_mark.SkipsByEveryJournal,
    journal_mark.FailedFlushFirst,
    AddsOfGivenIds,
    IdsGivenTwice,
    LengthsWritten,
)
"""All rules. A later one replaces what an earlier one says."""


class Ledger(
    Published,
    Lengths,
    GivenIds,
    JournalMark,
    Deletion,
    EntryLogs,
    Readers,
    DeferredSync,
    FaultDomains,
    ChainedChanges,
    LateAcks,
    RefusedChanges,
    StaleAdds,
    OldRules,
    Durability,
    Boot,
    Crashes,
):
    """The state of one ledger with all layers, the last layer first."""


def ledger_state(parameters: BookKeeperParameters) -> Ledger:
    """Return the state of an instance, with the rules that apply to its parameters."""
    chosen = tuple(rule for rule in RULES if rule_of(rule).applies(parameters))
    return _with_rules(chosen)(parameters)


@cache
def _with_rules(chosen: tuple[type[Today], ...]) -> type[Ledger]:
    return new_class("Ledger", (*reversed(chosen), Ledger))
