"""Closing the ledger: the writer closes it at its LAC, a recoverer before the first absent entry."""

from __future__ import annotations

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import forall
from fencepost.encoding.language.terms import Parameter, Term, any_of
from fencepost.protocols.bookkeeper.metadata import WRITER, Phase, Status
from fencepost.protocols.bookkeeper.recovery import Recovery


class Closing(Recovery):
    """The conditions under which the ledger may be closed."""

    def writer_may_close(self) -> Term:
        """Return whether the writer's compare-and-set would succeed (doAsyncCloseInternal).

        It succeeds even if the ledger is in recovery.
        """
        return any_of(self.status == Status.OPEN, self.status == Status.IN_RECOVERY)

    def too_late_to_close(self) -> Term:
        """Return whether another client closed the ledger at another last entry."""
        return (self.status == Status.CLOSED) & (self.last_entry != self.closes_at())

    def closes_at(self) -> Term:
        """Return the entry at which the writer closes the ledger: its LAC."""
        return self.lac(WRITER)

    def publishes_at_close(self) -> bool:
        """Return whether the close also publishes the ensembles that recovery changed.

        handleBookieFailure, since 4.9.
        """
        return True

    def has_recovered(self, client: Parameter, entry: Parameter) -> Term:
        """Return whether the read of the entry was negative and all entries below it have AQ acks again."""
        return (
            (self.phase[client] == Phase.ACTIVE)
            & self.negative(client, entry)
            & forall(
                self.entry,
                lambda e: implies((self.start(client) < e) & (e < entry), self.complete(client, e)),
            )
            & ~self.changing(client)
        )


def _may_act(s: Closing) -> Term:
    return any_of(s.phase[WRITER] == Phase.ACTIVE, s.phase[WRITER] == Phase.CLOSING)


def close_ledger(s: Closing) -> Action:
    """Close the ledger at the writer's LAC, at any time (LedgerHandle.doAsyncCloseInternal).

    Code: LedgerHandle.doAsyncCloseInternal.
    """
    lac = s.closes_at()
    return Action(
        when=_may_act(s) & s.writer_may_close(),
        then=[
            s.status.set(Status.CLOSED),
            s.last_entry.set(lac),
            s.phase[WRITER].set(Phase.CLOSED),
            s.closed_at[WRITER].set(lac),
        ],
        actor=WRITER,
        note="closes the ledger at its LAC",
    )


def withdraw(s: Closing) -> Action:
    """Let the writer give up because it can no longer close the ledger.

    Code: LedgerHandle.doAsyncCloseInternal.
    """
    return Action(
        when=_may_act(s) & s.too_late_to_close(),
        then=[s.phase[WRITER].set(Phase.GONE)],
        actor=WRITER,
        note="cannot close the ledger, and gives up",
    )


def finish_recovery(s: Closing, client: Parameter, entry: Parameter) -> Action:
    """Close the ledger just below `entry`, at which reading ended (closeRecovered).

    All entries below it are written back.

    Code: LedgerRecoveryOp.onEntryComplete, ReadOnlyLedgerHandle.closeRecovered.
    """
    return Action(
        when=s.has_recovered(client, entry) & (s.status == Status.IN_RECOVERY) & ~s.overtaken[client],
        then=[
            s.status.set(Status.CLOSED),
            s.last_entry.set(entry - 1),
            s.phase[client].set(Phase.CLOSED),
            s.closed_at[client].set(entry - 1),
            *s.publishes_metadata(client, when=s.publishes_at_close()),
        ],
        actor=client,
        note="closes the ledger before entry {entry}, which is not there",
    )


def adopt_close(s: Closing, client: Parameter, entry: Parameter) -> Action:
    """Adopt the close of another client that was faster, and report success.

    Code: ReadOnlyLedgerHandle.closeRecovered.
    """
    return Action(
        when=s.has_recovered(client, entry) & (s.status == Status.CLOSED),
        then=[s.phase[client].set(Phase.CLOSED), s.closed_at[client].set(s.last_entry)],
        actor=client,
        note="finds the ledger closed, and adopts that",
    )
