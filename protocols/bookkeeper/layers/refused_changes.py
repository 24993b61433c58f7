"""A writer that continues after its ensemble change found the ledger in recovery.

The change fails its pending adds and leaves the handle open, because
`LedgerHandle.handleUnrecoverableErrorDuringAdd` returns early if the metadata is in recovery.
`changingEnsemble` stays true, so the handle accepts further adds and never acknowledges them. Only the
refusal of a fenced bookie fails them. The rules apply under `refused_change=continues`.
"""

from __future__ import annotations

from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.quantifiers import maximum
from fencepost.encoding.language.state import family
from fencepost.encoding.language.terms import Term, TermLike, Update, lift
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.rules import rule
from fencepost.protocols.bookkeeper.today import Today
from fencepost.protocols.bookkeeper.values import WRITER, Phase, Status


class RefusedChanges(Today):
    """The adds that the writer has failed."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variable of failed adds."""
        super().__init__(parameters)
        self.dropped = family(self.lac_value, self.client)
        """The last entry pushed when the writer failed its pending adds in recovery; 0 if it has not."""


@rule("refused_change", "continues")
class WriterContinues(RefusedChanges):
    """A writer whose ensemble change is refused keeps its handle open."""

    def may_abandon(self, client: TermLike) -> Term:
        """Return whether the change is still under way: the writer has not dropped its pending adds."""
        return self.dropped[client] == 0

    def when_refused(self, client: TermLike, failed: TermLike) -> list[Update]:
        """Return the updates of a refused change.

        In recovery the handle stays open, and the LAC stands still.
        """
        in_recovery = (self.status == Status.IN_RECOVERY) & (lift(WRITER) == client)
        return [
            self.phase[client].set(Phase.GONE, when=~in_recovery),
            self.dropped[client].set(self.last_pushed(client), when=in_recovery),
            self.failed[client].set(failed, when=in_recovery),
            self.frozen_lac[client].set(self.lac(client), when=in_recovery),
        ]

    def said_when_refused(self) -> str:
        """Return the note on a client whose change is refused."""
        return "gives up, or in recovery only fails its pending adds"

    def leaves(self, client: TermLike, when: Term) -> list[Update]:
        """Return the updates of a writer that a fenced bookie has refused.

        Once more it only drops its adds.
        """
        continues = self.dropped[client] != 0
        return [
            self.phase[client].set(self.when_fenced_out(), when=when & ~continues),
            self.dropped[client].set(self.last_pushed(client), when=when & continues),
        ]

    def last_pushed(self, client: TermLike) -> Term:
        """Return the last entry that the client has pushed."""
        return maximum(self.entry, lambda e: if_(self.pushed(client, e), e, 0))
