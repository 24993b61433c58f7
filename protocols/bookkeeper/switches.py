"""The rules that differ between releases, published specifications and proposals: each with its meaning and source.

The first value of each is the rule of today's code; for crashes and the boot sequence, what BP-46 proposes. `state` says
which text each value stands for.
"""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.encoding.language.parameters import switch


@dataclass(frozen=True)
class Switches:
    """One rule of each."""

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
        "a recovery read is decided by the first quorum of answers, or when all WQ have answered or timed out",
        "PendingReadOp; BookKeeperProtocol_v4_13.tla waits for all",
    )
    recovery_metadata: str = switch(
        ("at-close", "at-once"),
        "ensembles that recovery changed are committed at the close, or with each change",
        "ReadOnlyLedgerHandle.handleBookieFailure (4.9); BookKeeperProtocol_v4_13.tla",
    )
    recovery_start: str = switch(
        ("join", "bump"),
        "a recoverer that finds the ledger in recovery joins it, or bumps the version so that older ones fail",
        "ReadOnlyLedgerHandle.recover; the TLA+ modules",
    )
    writer_close: str = switch(
        ("any-not-closed", "open-only"),
        "the writer may close a ledger that is in recovery",
        "LedgerHandle.doAsyncCloseInternal; the TLA+ modules",
    )
    timeouts: str = switch(
        ("any", "lost-only"),
        "a time-out may happen while an answer is outstanding, or only if the request or answer is lost",
        "the code; the TLA+ modules",
    )
    reuse_ensembles: str = switch(
        ("yes", "no"),
        "a new ensemble may have the members of an earlier one",
        "the code; ValidEnsemble in the TLA+",
    )
    coverage: str = switch(
        ("window", "count", "first-ack-quorum", "ok-in-window", "pr-2281"),
        "fencing is enough when no window of WQ bookies hides AQ unheard ones; at EC = (E - AQ) + 1 answers; when of "
        "the first AQ bookies of each window one was heard; or as with window, but one that hides any needs one with "
        "entries; or as with window, but QC bookies with entries always do",
        "RRQuorumCoverageSet; BP-46; up to 4.3 (BOOKKEEPER-799); 4.8.2 to 4.10 (Pulsar 6505); PR 2281, in no release",
    )
    unset_acks: str = switch(
        ("while-acking", "before-acking"),
        "an ensemble change acknowledges complete entries while it withdraws the acks of the replaced bookie, or "
        "withdraws all of them first",
        "PendingAddOp.unsetSuccessAndSendWriteRequest, issues 3005 and 4097, open; PR 3041",
    )
    ensemble_change: str = switch(
        ("two-step", "one-step"),
        "an ensemble change stops the LAC first and commits later, or does both at once",
        "LedgerHandle.ensembleChangeLoop; BookKeeperProtocol_v4_13.tla",
    )
    resends: str = switch(
        ("with-change", "one-by-one"),
        "pending entries are sent to the new bookie in the step that commits the change, or in steps of their own",
        "PendingAddOp.unsetSuccessAndSendWriteRequest; BookKeeperProtocol_v4_13.tla",
    )
    recovery_writes: str = switch(
        ("while-reading", "after-reading"),
        "entries are written back as soon as they are read, or once reading has ended",
        "LedgerRecoveryOp; BookKeeperProtocol_v4_13.tla",
    )
    fence_answers: str = switch(
        ("until-covered", "until-first-read"),
        "answers to fencing reads count until coverage is reached, or until the first recovery read is sent",
        "ReadLastConfirmedOp; BookKeeperProtocol_v4_13.tla",
    )

    recovery_lac: str = switch(
        ("moving", "frozen"),
        "write-backs carry the recoverer's LAC of the moment, or the one that recovery started from",
        "LedgerHandle.sendAddSuccessCallbacks; frozen in the unbounded-ledgers module of bookkeeper-tlaplus",
    )
    fence_atomic: str = switch(
        ("yes", "no"),
        "a bookie looks whether the ledger is fenced and stores the entry in one go",
        "BookieImpl.addEntry; issue 4701, two ledger handles at once, up to 4.17.3",
    )
    second_copy: str = switch(
        ("replaces", "dropped"),
        "an add of an entry that a bookie has already replaces its copy, with the LAC that came with it, or is "
        "acknowledged and dropped",
        "InterleavedLedgerStorage and DbLedgerStorage; SortedLedgerStorage, as long as the first copy is in memory "
        "(EntryMemTable.internalAdd)",
    )
    ensemble_change_commit: str = switch(
        ("metadata-first", "local-first"),
        "the writer uses a new ensemble once the metadata store has it, or before that",
        "LedgerHandle.ensembleChangeLoop; issue 1591, PR 1592 (4.8.0)",
    )
    lac_read_in_change: str = switch(
        ("blocked", "racing"),
        "acknowledging is blocked before the LAC at which a new fragment starts is read, or after",
        "LedgerHandle.ensembleChangeLoop; issue 4651, a race between threads, since 4.16",
    )

    # What is durable when (layers/durability).

    storage: str = switch(
        ("any", "interleaved", "sorted", "db"),
        "a bookie loses in a crash what `lose` says, or what that storage and the journal have not made durable",
        "BookieImpl.readJournal, SyncThread; InterleavedLedgerStorage, SortedLedgerStorage, DbLedgerStorage",
    )
    load: str = switch(
        ("idle", "busy"),
        "between two flushes entries of no other ledger are written, or some are",
        "InterleavedLedgerStorage.somethingWritten; the write cache of DbLedgerStorage",
    )
    fence_record: str = switch(
        ("bare", "with-key"),
        "a fence is journaled without the ledger's key, and a replay that does not know the key skips it, or with it",
        "LedgerDescriptorImpl.logFenceEntryInJournal, BookieImpl.readJournal",
    )
    negative_answers: str = switch(
        ("at-once", "after-fence"),
        "a fencing read that finds no entry is answered at once, or when its fence is in the journal",
        "ReadEntryProcessor.processPacket, ReadEntryProcessorV3.readEntry",
    )
    flush_headers: str = switch(
        ("if-written", "always"),
        "interleaved and sorted: a flush writes headers of index files if entries were written, and of ledgers with a "
        "page in memory, or all that changed",
        "InterleavedLedgerStorage.flush, IndexInMemPageMgr.flushOneOrMoreLedgers",
    )
    db_checkpoint: str = switch(
        ("if-written", "always"),
        "db: a checkpoint writes keys and fences if there are entries to write, or always",
        "SingleDirectoryDbLedgerStorage.checkpoint; PR 3341 (4.15.1), PR 4843",
    )

    # Crashes that lose data (layers/crashes).

    lose: str = switch(
        ("both", "entries", "fences", "bare-fences", "entries-and-bare-fences", "nothing"),
        "what a crash loses: entries and fence, one of them, only a fence set where no entry was stored yet, that and "
        "entries, or nothing as long as no disk is lost",
        "BP-46; the code journals fences, with journalWriteData=false too (PR 2706), but replay skips one that no entry "
        "precedes (BookieImpl.readJournal)",
    )
    fence_on_unclean_shutdown: str = switch(
        ("yes", "no"), "after a crash a bookie fences its ledgers before it serves", "BP-46, scenario 1"
    )
    limbo_on_unclean_shutdown: str = switch(
        ("yes", "no"),
        "after a crash a bookie puts its ledgers in limbo: it cannot say that an entry is not there",
        "BP-46, scenario 2",
    )
    boot_fence_scope: str = switch(
        ("all", "non-closed", "non-closed-in-last-ensemble"),
        "which ledgers a crashed bookie fences and puts in limbo",
        "BP-46 says all and non-closed; DataIntegrityCheckImpl.processPreBoot",
    )
    limbo: str = switch(
        ("as-tla", "as-coded"),
        "a fencing read of a ledger in limbo answers LAC 0 and adds are stored, or the answer is unknown and adds that "
        "no fence refuses are refused too",
        "BookKeeperProtocolWithLimbo.tla; SingleDirectoryDbLedgerStorage.throwIfLimbo",
    )

    # The boot sequence (layers/boot).

    boot: str = switch(
        ("at-once", "whole"),
        "a crashed bookie is back in the same step, or goes through the boot sequence step by step",
        "BookKeeperProtocolWithLimbo.tla; BP-46, on boot",
    )
    unclean_check: str = switch(
        ("yes", "no"),
        "a bookie that finds its dirty marker goes through phase one",
        "BP-46; EmbeddedServer, only with journalWriteData=false",
    )
    dirty_marker: str = switch(
        ("before-serving", "after-serving"),
        "the marker that makes a crash known at the next boot is set before the bookie first serves, or later",
        "BP-46; UncleanShutdownDetection.registerStartUp",
    )
    phase_one_awaited: str = switch(
        ("yes", "no"),
        "after an unclean shutdown a bookie serves once phase one is over, or while it runs",
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
        "DataIntegrityCheckImpl.runPreBootSequence; SingleDirectoryDbLedgerStorage.checkpoint, PR 3341 (4.15.1)",
    )
    check_note: str = switch(
        ("yes", "no"),
        "phase one begins with a note on disk that phase two is due",
        "DataIntegrityCheckImpl.runPreBootCheck",
    )
    cookie_mismatch: str = switch(
        ("fix", "refuse"),
        "a bookie with a disk without cookie goes through phase one and stamps new cookies, or does not boot",
        "DataIntegrityCookieValidation; dataIntegrityStampMissingCookies",
    )
    cookie_stamp: str = switch(
        ("after-phase-one", "before-phase-one"),
        "missing cookies are stamped when phase one is over, or first of all",
        "DataIntegrityCookieValidation.checkCookies",
    )
    clear_limbo: str = switch(
        ("after-copying", "before-copying", "unrecovered"),
        "phase two clears limbo when the ledger is recovered and its entries are copied, when it is recovered, or "
        "without recovering it",
        "BP-46; DataIntegrityCheckImpl.runFullCheck",
    )


CRASHES = (
    "lose",
    "fence_on_unclean_shutdown",
    "limbo_on_unclean_shutdown",
    "boot_fence_scope",
    "limbo",
    "boot",
)
"""What means nothing without crashes."""

DURABILITY = ("load", "fence_record", "negative_answers", "flush_headers", "db_checkpoint")
"""What means nothing without a storage."""

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
    "clear_limbo",
)
"""What means nothing without the whole boot sequence."""
