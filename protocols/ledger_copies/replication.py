"""Re-replication of a fragment: read the metadata, copy the entries, write the metadata.

Auto-recovery and `bookkeeper shell recover` do the same work in the same class. Auto-recovery holds the lock
of the under-replicated ledger meanwhile.
"""

from __future__ import annotations

from dataclasses import replace

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.quantifiers import exists, forall_over
from fencepost.encoding.language.terms import FALSE, TRUE, Parameter, Term, TermLike, Update
from fencepost.protocols.ledger_copies.deletion import ends_collecting, takes, takes_content
from fencepost.protocols.ledger_copies.state import MOST_WRITES, NOBODY, Copies, Life


def _may_replace(s: Copies, replicator: Parameter, fragment: Parameter, target: Parameter) -> Term:
    """Return whether the bookie is live and not in the ensemble (BookKeeperAdmin.getReplacementBookies)."""
    return ~s.busy[replicator] & s.live[target] & ~s.is_named(fragment, target) & s.exists()


def take_ledger(
    s: Copies, worker: Parameter, fragment: Parameter, position: Parameter, target: Parameter
) -> Action:
    """Take the lock of a ledger, find a bookie that fails the check, and choose another bookie.

    ZkLedgerUnderreplicationManager.getLedgerToRereplicate, LedgerChecker.checkLedger,
    BookKeeperAdmin.replicateLedgerFragment.
    """
    fails = exists(
        s.bookie,
        lambda b: (s.ensemble[fragment, position] == b) & ~s.passes_check(b, fragment, position),
    )
    return Action(
        when=_may_replace(s, worker, fragment, target) & (s.lock == NOBODY) & fails,
        then=[*s.begins(worker, fragment, position, target), *s.locks(worker)],
        actor=worker,
        note="takes the lock, reads the metadata, and will copy fragment {fragment} to {target}",
    )


def recover_bookie(
    s: Copies, operator: Parameter, fragment: Parameter, position: Parameter, target: Parameter
) -> Action:
    """Begin to copy a bookie's entries to another, for an operator (BookKeeperAdmin.recoverLedger)."""
    locks = s.parameters.recover_lock == "yes"
    return Action(
        when=_may_replace(s, operator, fragment, target) & ((s.lock == NOBODY) if locks else True),
        then=[*s.begins(operator, fragment, position, target), *(s.locks(operator) if locks else [])],
        actor=operator,
        note="reads the metadata, and will copy fragment {fragment} to {target}"
        + (", under the lock" if locks else ", without a lock"),
    )


def copy_entry(s: Copies, replicator: Parameter, entry: Parameter) -> Action:
    """Read an entry from a bookie of the ensemble that was read, and add it to the target.

    LedgerFragmentReplicator.recoverLedgerFragmentEntry.
    """
    return Action(
        when=s.busy[replicator]
        & s.moves(replicator, entry)
        & ~s.copied[replicator, entry]
        & can_be_read(s, replicator, entry)
        & takes_copies(s, replicator),
        then=[
            s.copied[replicator, entry].set(True),
            *(
                replace(update, when=update.when & (s.target[replicator] == b))
                for b in s.bookie
                for update in _taken(s, replicator, b, entry)
            ),
        ],
        actor=replicator,
        note="copies entry {entry} to its target",
    )


def _taken(s: Copies, replicator: TermLike, bookie: TermLike, entry: TermLike) -> list[Update]:
    """Return the updates by which the target takes a copy.

    If bookies have entries of both ledgers, one with the old ledger's answers first. That is the worst case.
    """
    ended = ends_collecting(s, bookie) if s.notices_loss else []
    if not s.reuses:
        return [*takes(s, bookie, entry), *ended]
    if s.tells_apart:
        return [*takes_content(s, bookie, entry, s.own_new[replicator]), *ended]
    finds_old = exists(s.bookie, lambda b: _answers(s, replicator, b, entry) & ~s.is_new[b, entry])
    return [*takes_content(s, bookie, entry, ~finds_old), *ended]


def _answers(s: Copies, replicator: TermLike, bookie: TermLike, entry: TermLike) -> Term:
    """Return whether the bookie gives the entry to the replicator; with the mend, only one of its ledger."""
    has = s.is_read_from(replicator, bookie, entry) & s.live[bookie] & s.copy[bookie, entry]
    if s.tells_apart:
        return has & (s.is_new[bookie, entry] == s.own_new[replicator])
    return has


def can_be_read(s: Copies, replicator: TermLike, entry: TermLike) -> Term:
    """Return whether a live bookie of the ensemble that the replicator has read has the entry."""
    return exists(s.bookie, lambda b: _answers(s, replicator, b, entry))


def takes_copies(s: Copies, replicator: TermLike) -> Term:
    """Return whether the target is live and does not refuse the ledger."""
    return exists(s.bookie, lambda b: (s.target[replicator] == b) & s.live[b] & ~s.refuses[b])


def _still_named(s: Copies, replicator: TermLike) -> Term:
    return exists(s.bookie, lambda b: (s.failed[replicator] == b) & s.in_own_ensemble(replicator, b))


def _finished(s: Copies, replicator: TermLike) -> Term:
    return s.busy[replicator] & s.has_copied_all(replicator)


def read_again(s: Copies, replicator: Parameter) -> Action:
    """Read the metadata again after a conflict (MetadataUpdateLoop.updateLocalValueFromStore)."""
    own = s.own_fragment[replicator]
    return Action(
        when=_finished(s, replicator)
        & ~s.is_latest[replicator]
        & _still_named(s, replicator)
        & _finds_its_ledger(s, replicator),
        then=[
            s.is_latest[replicator].set(True),
            *s.reads_version(replicator),
            *(s.own_ensemble[replicator, i].set(s.ensemble[own, i]) for i in s.position),
        ],
        actor=replicator,
        note="cannot write the metadata (bad version), and reads it again",
    )


def _finds_its_ledger(s: Copies, replicator: TermLike) -> Term:
    """Return whether the metadata has a closed ledger, with the mend the one that is copied."""
    if not s.tells_apart:
        return s.exists()
    return s.exists() & (s.own_new[replicator] == (s.life == Life.CLOSED))


def _writes_version(s: Copies, replicator: TermLike) -> list[Update]:
    """Return the updates of a write of the metadata: who has read the version that it has now.

    A version of the new ledger is also one of the old ledger, because the node of each begins at 0.
    """
    if not s.reuses:
        return [s.is_latest[r].set(False, when=replicator != r) for r in s.replicator]

    def matches(r: TermLike) -> Term:
        if s.tells_apart:
            return FALSE
        is_old = s.busy[r] & ~s.own_new[r] & (s.life == Life.CLOSED)
        return is_old & (s.own_writes[r] == s.writes + 1)

    return [
        *(s.is_latest[r].set(matches(r), when=replicator != r) for r in s.replicator),
        s.writes.set(s.writes + 1),
    ]


def start_over(s: Copies, replicator: Parameter) -> Action:
    """End the re-replication because the metadata has changed since it began (a mend)."""
    return Action(
        when=_finished(s, replicator) & ~s.is_latest[replicator],
        then=s.ends(replicator),
        actor=replicator,
        note="cannot write the metadata (bad version), and will begin again",
    )


def update_ensemble(s: Copies, replicator: Parameter, fragment: Parameter) -> Action:
    """Replace the bookie by the target, by compare-and-set (LedgerFragmentReplicator.updateEnsembleInfo)."""
    own, failed = s.own_ensemble, s.failed[replicator]
    replaced = {i: own[replicator, i] == failed for i in s.position}
    target = s.target[replicator]
    return Action(
        when=_finished(s, replicator)
        & (s.own_fragment[replicator] == fragment)
        & s.is_latest[replicator]
        & _still_named(s, replicator)
        & s.exists()
        & s.may_write(replicator)
        & (s.writes < MOST_WRITES if s.reuses else TRUE),
        then=[
            *(s.ensemble[fragment, i].set(if_(replaced[i], target, own[replicator, i])) for i in s.position),
            *(s.vouched[fragment, i].set(~s.spoilt[replicator], when=replaced[i]) for i in s.position),
            *_writes_version(s, replicator),
            *s.ends(replicator),
        ],
        actor=replicator,
        note="writes its target into the metadata of fragment {fragment} (compare-and-set)",
    )


def find_replaced(s: Copies, replicator: Parameter) -> Action:
    """End because the metadata no longer names the bookie (the loop's `needsTransformation`)."""
    return Action(
        when=_finished(s, replicator) & ~_still_named(s, replicator),
        then=s.ends(replicator),
        actor=replicator,
        note="finds that the metadata names the bookie no longer, and writes nothing",
    )


def find_unlocked(s: Copies, replicator: Parameter) -> Action:
    """End because the lock is gone, which the write of the metadata has checked (a mend)."""
    return Action(
        when=_finished(s, replicator) & ~s.may_write(replicator),
        then=s.ends(replicator),
        actor=replicator,
        note="cannot write the metadata, because its lock is gone, and will begin again",
    )


def give_up(s: Copies, replicator: Parameter) -> Action:
    """End after an error, or because the process stops (BKException.Code.LedgerRecoveryException)."""
    return Action(
        when=s.busy[replicator],
        then=s.ends(replicator),
        actor=replicator,
        note="gives up; the copies made stay where they are",
    )


def find_replicated(s: Copies) -> Action:
    """Find nothing missing while nobody copies (ReplicationWorker.rereplicate, markLedgerReplicated)."""
    named_pass = forall_over(
        (s.fragment, s.position, s.bookie),
        lambda f, i, b: (s.ensemble[f, i] != b) | s.passes_check(b, f, i),
    )
    idle = ~exists(s.replicator, lambda r: s.busy[r]) & exists(s.bookie, lambda b: s.lost[b])
    return Action(
        when=named_pass & idle & s.exists(),
        then=[s.lost[b].set(False) for b in s.bookie],
        actor="auditor",
        note="finds every fragment fully replicated",
    )


def end_session(s: Copies, holder: Parameter) -> Action:
    """End the ZooKeeper session of a holder, and with it the lock; the holder goes on."""
    return Action(
        when=(s.lock == holder) & (holder != NOBODY),
        then=[s.lock.set(NOBODY)],
        actor="zk",
        note="ends the session of {holder}, and removes its lock",
        fault="sessions",
    )


def shut_down(s: Copies, worker: Parameter) -> Action:
    """Shut a worker down whose session has ended. Its copying goes on until its client is closed.

    AutoRecoveryMain.shutdown, ReplicationWorker.rereplicate: the interrupted worker releases the lock.
    ZkLedgerUnderreplicationManager.releaseUnderreplicatedLedger removes it by its path, whoever has it.
    """
    return Action(
        when=s.keeps[worker] & (s.lock != worker),
        then=[s.lock.set(NOBODY), s.keeps[worker].set(False)],
        actor=worker,
        note="learns that its session has ended, is shut down, and removes the lock, whoever has it",
    )
