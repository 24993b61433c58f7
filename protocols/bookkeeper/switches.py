"""The rules that differ between releases, published specifications and proposals.

Each switch has its meaning and its source. The first value of each is the rule of today's code. For the open
bugs of the client it is the mend, and for crashes and the boot sequence the rule that BP-46 proposes. The
other values have their rules in layers/.
"""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.encoding.language.parameters import switch
from fencepost.quorums.storages import STORAGES


@dataclass(frozen=True)
class Switches:
    """The switches. Each selects one of several rules."""

    recovery_reads_fence: str = switch(
        ("yes", "no"), "a recovery read fences the bookie too", "Defect 1, issue 2614, PR 2616 (4.14)"
    )
    recovery_floor: str = switch(
        ("fragment", "zero"),
        "recovery starts no lower than the first entry of the last fragment",
        "Defect 2, ISSUE-2615, PR 2654 (4.14)",
    )
    positive_read: str = switch(
        ("one", "ack-quorum"),
        "copies that a recovery read needs to find an entry",
        "PendingReadOp; BP-46 says AQ",
    )
    read_decision: str = switch(
        ("at-quorum", "all-answers"),
        "a recovery read is decided by the first quorum of answers, or once all WQ have answered or timed "
        "out",
        "PendingReadOp; BookKeeperProtocol_v4_13.tla waits for all",
    )
    recovery_metadata: str = switch(
        ("at-close", "at-once"),
        "recovery commits changed ensembles when it closes the ledger, or with each change",
        "ReadOnlyLedgerHandle.handleBookieFailure (4.9); BookKeeperProtocol_v4_13.tla",
    )
    recovery_start: str = switch(
        ("join", "bump"),
        "a recoverer that finds the ledger in recovery joins it, or bumps the version so that earlier "
        "recoverers fail",
        "ReadOnlyLedgerHandle.recover; the TLA+ modules",
    )
    writer_close: str = switch(
        ("any-or-same-end", "any-not-closed", "open-only"),
        "the writer may close a ledger that is in recovery, and its close succeeds if the ledger is closed "
        "at its LAC already",
        "LedgerHandle.doAsyncCloseInternal; the TLA+ modules",
    )
    timeouts: str = switch(
        ("any", "lost-only"),
        "a client may time out while any answer is outstanding, or only if the request or answer is lost",
        "the code; the TLA+ modules",
    )
    reuse_ensembles: str = switch(
        ("yes", "no"),
        "a new ensemble may have the members of an earlier one",
        "the code; ValidEnsemble in the TLA+",
    )
    coverage: str = switch(
        ("window", "count", "first-ack-quorum", "ok-in-window", "pr-2281"),
        "the answers at which fencing is complete. window: no window of WQ bookies contains AQ that have not "
        "answered. count: EC = (E - AQ) + 1 bookies answered. first-ack-quorum: in each window, one of the "
        "first AQ bookies answered. ok-in-window: as window, and a window with an unanswered bookie needs "
        "one that has entries. pr-2281: as window, or QC bookies have entries",
        "RRQuorumCoverageSet; BP-46; up to 4.3 (BOOKKEEPER-799); 4.8.2 to 4.10 (Pulsar 6505); PR 2281, in no "
        "release",
    )
    unset_acks: str = switch(
        ("while-acking", "before-acking"),
        "an ensemble change acknowledges complete entries while it withdraws the replaced bookie's acks, or "
        "only after it has withdrawn all of them",
        "PendingAddOp.unsetSuccessAndSendWriteRequest, issues 3005 and 4097, open; PR 3041",
    )
    ensemble_change: str = switch(
        ("two-step", "one-step"),
        "an ensemble change stops the LAC first and commits later, or does both in one step",
        "LedgerHandle.ensembleChangeLoop; BookKeeperProtocol_v4_13.tla",
    )
    resends: str = switch(
        ("with-change", "one-by-one"),
        "pending entries are sent to the new bookie in the step that commits the change, or in later steps",
        "PendingAddOp.unsetSuccessAndSendWriteRequest; BookKeeperProtocol_v4_13.tla",
    )
    recovery_writes: str = switch(
        ("while-reading", "after-reading"),
        "entries are written back as soon as they are read, or after reading has ended",
        "LedgerRecoveryOp; BookKeeperProtocol_v4_13.tla",
    )
    fence_answers: str = switch(
        ("until-covered", "until-first-read"),
        "answers to fencing reads count until coverage is reached, or until the first recovery read is sent",
        "ReadLastConfirmedOp; BookKeeperProtocol_v4_13.tla",
    )

    recovery_lac: str = switch(
        ("moving", "frozen"),
        "write-backs carry the recoverer's current LAC, or the LAC that recovery started from",
        "LedgerHandle.sendAddSuccessCallbacks; frozen in the unbounded-ledgers module of bookkeeper-tlaplus",
    )
    fence_atomic: str = switch(
        ("yes", "no"),
        "a bookie checks the fence and stores the entry in one step",
        "BookieImpl.addEntry; issue 4701, two ledger handles at once, up to 4.17.3",
    )
    second_copy: str = switch(
        ("replaces", "dropped"),
        "a second add of the same entry replaces the bookie's copy and its LAC, or is acknowledged and "
        "dropped",
        "InterleavedLedgerStorage and DbLedgerStorage; SortedLedgerStorage, as long as the first copy is in "
        "memory (EntryMemTable.internalAdd)",
    )
    add_ensemble: str = switch(
        ("when-queued", "when-made"),
        "an add goes to the ensemble of the moment in which it is queued, or in which it was made. Until it "
        "is queued it waits for the throttler, and an ensemble change may be committed",
        "LedgerHandle.asyncAddEntry, doAsyncAddEntry; PendingAddOp.ensemble, since 4.9; not reported",
    )
    refused_change: str = switch(
        ("gives-up", "continues"),
        "a writer whose ensemble change finds the ledger in recovery does nothing any more, or fails its "
        "pending adds, accepts further ones and never acknowledges them",
        "LedgerHandle.handleUnrecoverableErrorDuringAdd: the handle stays open, and changingEnsemble stays "
        "true, since 4.9; not reported",
    )
    chained_changes: str = switch(
        ("each-alone", "one-difference"),
        "each ensemble change withdraws acks and sends again by comparing with the ensemble before it, or "
        "changes that follow one another are compared once, with the ensemble before the first of them",
        "LedgerHandle.ensembleChangeLoop: diffEnsemble(origEnsemble, …), delayedWriteFailedBookies; since "
        "4.9; issue 4459",
    )
    acks_after_change: str = switch(
        ("with-change", "next-answer"),
        "entries that got their AQ acks during an ensemble change are acknowledged when it ends, or at the "
        "next answer to an add that has AQ acks then",
        "LedgerHandle.ensembleChangeLoop does not call sendAddSuccessCallbacks; with effect since 4.9; "
        "not reported",
    )
    ensemble_change_commit: str = switch(
        ("metadata-first", "local-first"),
        "the writer uses a new ensemble after the metadata store has it, or before",
        "LedgerHandle.ensembleChangeLoop; issue 1591, PR 1592 (4.8.0)",
    )
    lac_read_in_change: str = switch(
        ("blocked", "racing"),
        "an ensemble change blocks acknowledging before it reads the LAC for the new fragment, or after",
        "LedgerHandle.ensembleChangeLoop; issue 4651, a race between threads, since 4.16",
    )

    # Deletion (layers/deletion).

    deletion_memory: str = switch(
        ("until-restart", "none", "for-good"),
        "a bookie that has deleted the ledger refuses adds of it until it restarts, if it had a handle of "
        "it; takes them; or refuses them for good",
        "HandleFactoryImpl.recentlyFencedAndDeletedLedgers, PR 4462 (4.16.7, 4.17.2); the last value is a "
        "mend",
    )

    # The journal's mark (layers/journal_mark).

    mark_order: str = switch(
        ("forward", "as-completed"),
        "of two checkpoints the one that ends last writes the mark only if it is later, or always",
        "Journal.checkpointComplete; issue 4105, PR 4740 (4.18.0)",
    )
    mark_scope: str = switch(
        ("all-directories", "one-directory"),
        "db: the mark moves after a flush of all ledger directories, or of any one",
        "SingleDirectoryDbLedgerStorage.flush; PR 3329 (4.14.8, 4.15.5, 4.16.2, 4.17.0)",
    )
    checkpoint_skip: str = switch(
        ("by-first-journal", "by-every-journal"),
        "db: a checkpoint flushes nothing if a flush was later in the first journal in which they differ, or "
        "only if one was not earlier in any journal",
        "CheckpointSourceList.CheckpointList.compareTo, SingleDirectoryDbLedgerStorage.checkpoint; PR 4844, "
        "open",
    )
    failed_flush: str = switch(
        ("set-aside", "flushed-first"),
        "db: after a flush that failed the next one leaves its entries out and moves the mark past them, or "
        "writes them",
        "SingleDirectoryDbLedgerStorage.swapWriteCache, checkpoint; every release; not reported",
    )

    # Full disks (layers/entry_log).

    partial_flush: str = switch(
        ("written-again", "kept-in-step", "given-up"),
        "after a flush of the entry log that wrote a part and failed, the next one writes the whole buffer, "
        "or the rest of it; or the bookie stops and writes no more to this log",
        "BufferedChannel.flush; issue 4855, open, in every release; PR 4854; PR 4863, open: the last value",
    )
    empty_flush: str = switch(
        ("swaps-none", "swaps"),
        "db: a shutdown with an empty write cache moves the mark without the cache that was set aside, or "
        "writes that cache",
        "SingleDirectoryDbLedgerStorage.checkpoint; PR 3341 (4.15.1, 4.16.0): the first value",
    )

    # Fault domains (layers/fault_domains).

    replaced_racks: str = switch(
        ("kept", "withdrawn"),
        "an ensemble change leaves the replaced bookie among those whose racks count for a pending entry, or "
        "withdraws it",
        "PendingAddOp.addEntrySuccessBookies, unsetSuccessAndSendWriteRequest; since 4.10; not reported",
    )

    # DEFERRED_SYNC (layers/deferred_sync).

    force_counts: str = switch(
        ("any", "same-boot"),
        "a force counts the answer of each bookie, or only of one that has not restarted since it acked "
        "entries above the LAC",
        "ForceLedgerOp.forceLedgerComplete, ForceLedgerProcessorV3; since 4.8; not reported",
    )
    force_after_close: str = switch(
        ("succeeds", "fails"),
        "a force whose last answer arrives after the writer has begun to close the ledger succeeds, or fails",
        "ForceLedgerOp.forceLedgerComplete, LedgerHandle.doAsyncCloseInternal; since 4.8; not reported",
    )

    # Readers without recovery (layers/readers).

    absent_to_reader: str = switch(
        ("reported", "reads-again"),
        "a reader that finds an entry on no bookie that should have it reports NoSuchEntry, or reads the "
        "metadata first, and the entry again if they have changed",
        "PendingReadOp, ReadOpBase.submitCallback; every release; not reported",
    )
    reader_open: str = switch(
        ("overwrites", "keeps"),
        "a reader that has opened a ledger takes the LAC that bookies told it, or keeps the last entry of a "
        "ledger that was closed meanwhile",
        "LedgerOpenOp.openWithMetadata, LedgerHandle.setLedgerMetadata; every release; not reported",
    )

    way_to_read: str = switch(
        ("none", "single", "long-poll", "batch"),
        "readers are given no entries; one that they ask for; one with the LAC that it waits for; or, from "
        "one bookie, each entry that it has from one on",
        "LedgerHandle.asyncReadEntries, asyncReadLastConfirmedAndEntry, batchReadAsync; BatchedReadOp",
    )
    batch_read: str = switch(
        ("unclipped", "clipped-at-end", "clipped"),
        "a batch read compares its first entry with the LAC; also leaves out what is behind the end of a "
        "ledger that the reader knows to be closed; or leaves out each entry above the LAC",
        "LedgerHandle.batchReadAsync, BatchedReadEntryProcessor.readData; since 4.17.0; not reported",
    )

    # Ids that the application gives (layers/given_ids), and lengths (layers/lengths).

    id_check: str = switch(
        ("before-queue", "with-queue"),
        "an id that the application gives is compared with the queue before the add waits for the throttle, "
        "or in one step with its place in the queue",
        "LedgerHandleAdv.asyncAddEntry, doAsyncAddEntry; every release; not reported",
    )
    recovered_length: str = switch(
        ("of-answers", "of-last-entry", "summed"),
        "recovery takes the length that came with the last entry it read, else with the answer that had the "
        "highest LAC; the length that came with the ledger's last entry; or the sum over all entries",
        "LedgerRecoveryOp.initiate, onEntryComplete, ReadLastConfirmedOp.readEntryComplete; every release; "
        "not reported",
    )

    # Durability (layers/durability).

    storage: str = switch(
        ("any", *STORAGES),
        "a crash loses the data that `lose` names, or the data that this storage and the journal have not "
        "made durable",
        "BookieImpl.readJournal, SyncThread; InterleavedLedgerStorage, SortedLedgerStorage, DbLedgerStorage",
    )
    load: str = switch(
        ("idle", "busy"),
        "between two flushes no entries of other ledgers are written, or some are",
        "InterleavedLedgerStorage.somethingWritten; the write cache of DbLedgerStorage",
    )
    fence_record: str = switch(
        ("bare", "with-key"),
        "the journal's record of a fence has no ledger key, and a replay that lacks the key skips it; or the "
        "record has the key",
        "LedgerDescriptorImpl.logFenceEntryInJournal, BookieImpl.readJournal",
    )
    negative_answers: str = switch(
        ("at-once", "after-fence"),
        "a fencing read that finds no entry is answered at once, or after its fence is in the journal",
        "ReadEntryProcessor.processPacket, ReadEntryProcessorV3.readEntry",
    )
    flush_headers: str = switch(
        ("if-written", "always"),
        "interleaved and sorted: a flush writes index headers only if entries were written, and only of "
        "ledgers with a page in memory; or it writes all changed headers",
        "InterleavedLedgerStorage.flush, IndexInMemPageMgr.flushOneOrMoreLedgers",
    )
    db_checkpoint: str = switch(
        ("if-written", "always"),
        "db: a checkpoint writes keys and fences if there are entries to write, or always",
        "SingleDirectoryDbLedgerStorage.checkpoint; PR 3341 (4.15.1), PR 4843",
    )

    entries_journaled: str = switch(
        ("yes", "no"),
        "bookies journal entries, keys and fences, or only keys and fences. With no, a bookie crashes only "
        "after it has flushed all its entries, because a crash that takes entries is lose=entries",
        "journalWriteData; BookieImpl.addEntryInternal, LedgerDescriptorImpl.fenceAndLogInJournal",
    )

    # Crashes that lose data (layers/crashes).

    lose: str = switch(
        ("both", "entries", "fences", "bare-fences", "entries-and-bare-fences", "nothing"),
        "the data that a crash loses. A bare fence is one set before the bookie stored an entry. With "
        "nothing, only a lost disk loses data",
        "BP-46; the code journals fences, with journalWriteData=false too (PR 2706), but replay skips a "
        "fence that no entry precedes (BookieImpl.readJournal)",
    )
    fence_on_unclean_shutdown: str = switch(
        ("yes", "no"), "after a crash a bookie fences its ledgers before it serves", "BP-46, scenario 1"
    )
    limbo_on_unclean_shutdown: str = switch(
        ("yes", "no"),
        "after a crash a bookie puts its ledgers in limbo: it cannot say that an entry is absent",
        "BP-46, scenario 2",
    )
    boot_fence_scope: str = switch(
        ("all", "non-closed", "non-closed-in-last-ensemble"),
        "the ledgers that a crashed bookie fences and puts in limbo",
        "BP-46 says all and non-closed; DataIntegrityCheckImpl.processPreBoot",
    )
    limbo: str = switch(
        ("as-tla", "as-coded"),
        "for a ledger in limbo, a fencing read answers LAC 0 and adds are stored; or the answer is unknown "
        "and the writer's adds are refused even without a fence",
        "BookKeeperProtocolWithLimbo.tla; SingleDirectoryDbLedgerStorage.throwIfLimbo",
    )

    # The boot sequence (layers/boot).

    boot: str = switch(
        ("at-once", "whole"),
        "a crashed bookie comes back in the same step, or goes through the boot sequence step by step",
        "BookKeeperProtocolWithLimbo.tla; BP-46, on boot",
    )
    unclean_check: str = switch(
        ("yes", "no"),
        "a bookie that finds its dirty marker goes through phase one",
        "BP-46; EmbeddedServer, only with journalWriteData=false",
    )
    dirty_marker: str = switch(
        ("before-serving", "after-serving"),
        "the marker that shows a crash at the next boot is set before the bookie first serves, or later",
        "BP-46; UncleanShutdownDetection.registerStartUp",
    )
    phase_one_awaited: str = switch(
        ("yes", "no"),
        "after an unclean shutdown a bookie serves after phase one is over, or while phase one runs",
        "BP-46; EmbeddedServer starts it and goes on",
    )
    phase_one_order: str = switch(
        ("limbo-first", "fence-first"),
        "phase one puts ledgers in limbo and then fences them, or the other way round",
        "DataIntegrityCheckImpl.processPreBoot",
    )
    phase_one_flush: str = switch(
        ("yes", "no"),
        "phase one ends by making limbo and fence durable",
        "DataIntegrityCheckImpl.runPreBootSequence; SingleDirectoryDbLedgerStorage.checkpoint, PR 3341 "
        "(4.15.1)",
    )
    check_note: str = switch(
        ("yes", "no"),
        "phase one begins by noting on disk that phase two is due",
        "DataIntegrityCheckImpl.runPreBootCheck",
    )
    cookie_mismatch: str = switch(
        ("fix", "refuse"),
        "a bookie with a cookie missing on a disk goes through phase one and stamps it, or does not boot",
        "DataIntegrityCookieValidation; dataIntegrityStampMissingCookies",
    )
    cookie_stamp: str = switch(
        ("after-phase-one", "before-phase-one"),
        "missing cookies are stamped after phase one, or before it",
        "DataIntegrityCookieValidation.checkCookies",
    )
    new_bookie: str = switch(
        ("serves", "checks-first"),
        "a bookie that has no cookie at all serves as a new one, or goes through phase one first",
        "LegacyCookieValidation, DataIntegrityCookieValidation.checkCookies; issues 544 and 4812, open; the "
        "last value is a mend",
    )
    clear_limbo: str = switch(
        ("after-copying", "before-copying", "unrecovered"),
        "phase two clears limbo after recovering the ledger and copying its entries, after recovering the "
        "ledger, or without recovering it",
        "BP-46; DataIntegrityCheckImpl.runFullCheck",
    )


DEFERRED_SYNC = ("power_losses", "force_counts", "force_after_close")
"""The parameters that need a writer with DEFERRED_SYNC."""

DELETION = ("deletion_memory",)
"""The parameters that need a deletion."""

JOURNAL_MARK = ("other_dirs", "failed_flushes", "mark_order", "mark_scope", "checkpoint_skip", "failed_flush")
"""The parameters that need journals. `failed_flush` also matters with full disks and storage=db."""

FULL_DISKS = ("partial_flush",)
"""The parameters that need full disks."""

CACHE_ASIDE = ("empty_flush",)
"""The parameters that need full disks and restarts of a storage with two write caches."""

FAULT_DOMAINS = ("replaced_racks",)
"""The parameters that need racks."""

READERS = ("absent_to_reader", "reader_open", "way_to_read")
"""The parameters that need readers."""

CRASHES = (
    "lose",
    "fence_on_unclean_shutdown",
    "limbo_on_unclean_shutdown",
    "boot_fence_scope",
    "limbo",
    "boot",
)
"""The switches that need crashes."""

DURABILITY = (
    "load",
    "fence_record",
    "negative_answers",
    "flush_headers",
    "db_checkpoint",
    "entries_journaled",
)
"""The switches that need a storage."""

BOOT = (
    "disks",
    "reimages",
    "unclean_check",
    "dirty_marker",
    "phase_one_awaited",
    "phase_one_order",
    "phase_one_flush",
    "check_note",
    "cookie_mismatch",
    "cookie_stamp",
    "new_bookie",
    "clear_limbo",
)
"""The switches that need the whole boot sequence."""
