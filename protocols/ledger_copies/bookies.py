"""The bookies: they stop, come back, lose their disks, and collect over-replicated ledgers."""

from __future__ import annotations

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.terms import TRUE, Parameter
from fencepost.protocols.ledger_copies.deletion import deletes_if, flushes, forgets, restarts
from fencepost.protocols.ledger_copies.state import NOBODY, Copies, Life


def stop(s: Copies, bookie: Parameter) -> Action:
    """Stop a bookie, which keeps its copies and forgets what is only in memory."""
    return Action(
        when=s.live[bookie],
        then=[s.live[bookie].set(False), *restarts(s, bookie)],
        actor=bookie,
        note="stops",
        fault="stops",
    )


def come_back(s: Copies, bookie: Parameter) -> Action:
    """Start a bookie again, with the copies that it had.

    BookieImpl.start replays the journal, and flushes the entries that were in it.
    """
    return Action(
        when=~s.live[bookie],
        then=[s.live[bookie].set(True), *flushes(s, bookie)],
        actor=bookie,
        note="is back",
    )


def lose_disks(s: Copies, bookie: Parameter) -> Action:
    """Lose every copy of a bookie. It may serve again as an empty bookie of the same name."""
    has_something = exists(s.entry, lambda e: s.copy[bookie, e])
    return Action(
        when=has_something,
        then=[
            *(s.copy[bookie, e].set(False) for e in s.entry),
            s.lost[bookie].set(True),
            *forgets(s, bookie),
            *(s.spoilt[r].set(True, when=s.busy[r] & (s.target[r] == bookie)) for r in s.replicator),
            *(
                s.vouched[f, i].set(False, when=s.ensemble[f, i] == bookie)
                for f in s.fragment
                for i in s.position
            ),
        ],
        actor=bookie,
        note="loses its disks",
        fault="disks",
    )


def begin_collecting(s: Copies, bookie: Parameter) -> Action:
    """Take the lock, and read that the metadata names the bookie in no fragment.

    ScanAndCompareGarbageCollector.removeOverReplicatedledgers.
    """
    has_something = exists(s.entry, lambda e: s.copy[bookie, e])
    return Action(
        when=s.live[bookie]
        & ~s.collecting[bookie]
        & has_something
        & (s.lock == NOBODY)
        & ~s.is_named_at_all(bookie)
        & s.exists()
        & (~s.condemned[bookie] if s.reuses else TRUE),
        then=[
            s.collecting[bookie].set(True),
            s.lock.set(bookie),
            *([s.collects_new[bookie].set(s.life == Life.CLOSED)] if s.reuses else []),
        ],
        actor=bookie,
        note="takes the lock, and reads that the metadata does not name it",
    )


def collect(s: Copies, bookie: Parameter) -> Action:
    """Delete the ledger, and remove the lock, whoever has it (GarbageCleaner.clean)."""
    return Action(
        when=s.collecting[bookie],
        then=[
            s.collecting[bookie].set(False),
            *deletes_if(s, bookie, s.collects_new[bookie] if s.reuses else False),
            s.lock.set(NOBODY, when=TRUE if s.may_end else s.lock == bookie),
        ],
        actor=bookie,
        note="deletes the over-replicated ledger",
    )
