"""How a ledger is closed: by the writer at its LAC, by a recoverer before the first entry that is not there."""

from __future__ import annotations

from fencepost.encoding.language.quantifiers import forall
from fencepost.encoding.language.system import Action
from fencepost.encoding.language.terms import Parameter, Term, any_of, implies
from fencepost.protocols.bookkeeper.metadata import WRITER, Phase, Status
from fencepost.protocols.bookkeeper.recovery import Recovery


class Closing(Recovery):
    """Who may close the ledger, and when."""

    def writer_may_close(self) -> Term:
        """The writer's compare-and-set would succeed: so even if the ledger is in recovery (doAsyncCloseInternal)."""
        return any_of(self.status == Status.OPEN, self.status == Status.IN_RECOVERY)

    def too_late_to_close(self) -> Term:
        """Someone else closed the ledger, and elsewhere than the writer would."""
        return (self.status == Status.CLOSED) & (self.last_entry != self.lac(WRITER))

    def publishes_at_close(self) -> bool:
        """The ensembles that recovery changed go to the metadata store with the close (handleBookieFailure, 4.9)."""
        return True

    def has_recovered(self, client: Parameter, entry: Parameter) -> Term:
        """The read of that entry was negative, and every entry below it has AQ acks again."""
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
    """The writer closes the ledger at its LAC, any time it likes (LedgerHandle.doAsyncCloseInternal)."""
    lac = s.lac(WRITER)
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
    """The writer finds that it cannot close the ledger any more, and gives up."""
    return Action(
        when=_may_act(s) & s.too_late_to_close(),
        then=[s.phase[WRITER].set(Phase.GONE)],
        actor=WRITER,
        note="cannot close the ledger, and gives up",
    )


def finish_recovery(s: Closing, client: Parameter, entry: Parameter) -> Action:
    """Reading ended at `entry` and everything below is written back: the ledger is closed just below it (closeRecovered)."""
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
    """Someone else closed the ledger first: the recoverer adopts that and reports success."""
    return Action(
        when=s.has_recovered(client, entry) & (s.status == Status.CLOSED),
        then=[s.phase[client].set(Phase.CLOSED), s.closed_at[client].set(s.last_entry)],
        actor=client,
        note="finds the ledger closed, and adopts that",
    )
