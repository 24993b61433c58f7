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
from fencepost.protocols.bookkeeper.today import Today
from fencepost.protocols.bookkeeper.values import WRITER, Phase, Status


class RefusedChanges(Today):
    """The adds that the writer has failed."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variable of failed adds."""
        super().__init__(parameters)
        self.dropped = family(self.lac_value, self.client)
        """The last entry pushed when the writer failed its pending adds in recovery; 0 if it has not."""


def has_not_dropped(s: RefusedChanges, client: TermLike) -> Term:
    """Return whether the change is still under way: the writer has not dropped its pending adds."""
    return s.dropped[client] == 0


def drops_in_recovery(s: RefusedChanges, client: TermLike, failed: TermLike) -> list[Update]:
    """Return the updates of a refused change: in recovery the handle stays open, and the LAC stands still."""
    in_recovery = (s.status == Status.IN_RECOVERY) & (lift(WRITER) == client)
    return [
        s.phase[client].set(Phase.GONE, when=~in_recovery),
        s.dropped[client].set(_last_pushed(s, client), when=in_recovery),
        s.failed[client].set(failed, when=in_recovery),
        s.frozen_lac[client].set(s.lac(client), when=in_recovery),
    ]


def fails_adds(s: RefusedChanges, client: TermLike, when: Term) -> list[Update]:
    """Return the updates of a writer that a fenced bookie has refused: once more it only drops its adds."""
    continues = s.dropped[client] != 0
    return [
        s.phase[client].set(s.when_fenced_out(), when=when & ~continues),
        s.dropped[client].set(_last_pushed(s, client), when=when & continues),
    ]


def _last_pushed(s: RefusedChanges, client: TermLike) -> Term:
    return maximum(s.entry, lambda e: if_(s.pushed(client, e), e, 0))
