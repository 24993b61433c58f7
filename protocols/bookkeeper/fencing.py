"""How recovery begins: the ledger goes in recovery, and the bookies of its last ensemble are fenced, until enough are."""

from __future__ import annotations

from fencepost.encoding.language.messages import Message, message, to_each
from fencepost.encoding.language.quantifiers import at_least, exists, forall, maximum
from fencepost.encoding.language.sorts import BOOL
from fencepost.encoding.language.state import choice, definition, family
from fencepost.encoding.language.system import Action
from fencepost.encoding.language.terms import Parameter, Term, TermLike, any_of, if_, lift
from fencepost.protocols.bookkeeper.bookies import Bookies
from fencepost.protocols.bookkeeper.metadata import WRITER, Phase, Status
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters


class Fencing(Bookies):
    """The fencing reads of each recoverer. (The writer's row stays as it is.)"""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        super().__init__(parameters)
        index = self.client, self.bookie
        self.base = family(self.fragment, self.client)
        """The last ensemble when recovery began: recovery reads go by the metadata up to here."""
        self.overtaken = family(BOOL, self.client)
        """A later recoverer has bumped the version, so this one can commit nothing any more (layers/published)."""
        self.fence_handled = family(BOOL, *index)
        self.fence_lac = family(self.carried_value, *index)
        self.fence_unknown = family(BOOL, *index)
        self.fence_answered = family(BOOL, *index)
        self.fence_dropped = family(BOOL, *index)
        """The request went down with the bookie (layers/crashes)."""
        self.fence_lost = choice(*index, fault="lost")
        self.fence_answer_lost = choice(*index, fault="lost")

    def fence_sent(self, client: TermLike, bookie: TermLike) -> Term:
        """The recoverer sent the bookie a fencing read: to the last ensemble, when it began."""
        return (self.phase[client] != Phase.IDLE) & self.in_ensemble(client, self.base[client], bookie)

    def fence_in_flight(self, client: TermLike, bookie: TermLike) -> Term:
        """The fencing read will reach the bookie and has not yet."""
        index = client, bookie
        under_way = self.fence_sent(*index) & ~self.fence_lost[index] & ~self.fence_handled[index]
        return under_way & ~self.fence_dropped[index]

    def fenced_by(self, client: TermLike, bookie: TermLike) -> Term:
        """The bookie has told the recoverer that it is fenced; "unknown" tells nothing."""
        return self.fence_answered[client, bookie] & ~self.fence_unknown[client, bookie]

    def fenced_at(self, client: TermLike, position: TermLike) -> Term:
        """The bookie at that position of the ensemble being fenced has told that it is."""
        return exists(
            self.bookie,
            lambda b: self.fenced_by(client, b) & self.is_at(client, self.base[client], position, b),
        )

    @definition
    def covered(self, client: TermLike) -> Term:
        """Enough bookies are fenced: no window of WQ bookies hides AQ that are unheard of (RRQuorumCoverageSet)."""
        return forall(
            self.position,
            lambda start: (
                ~at_least(
                    self.parameters.ack_quorum,
                    self.position,
                    lambda i: self.in_window[start, i] & ~self.fenced_at(client, i),
                )
            ),
        )

    def hears_fencing(self, client: TermLike) -> Term:
        """Answers to fencing reads still count: until coverage is reached (ReadLastConfirmedOp)."""
        return ~self.covered(client)

    @definition
    def start(self, client: TermLike) -> Term:
        """Where the client's LAC starts: the writer's at 0, a recoverer's where fencing told.

        No lower than the first entry of the last fragment (ISSUE-2615, 4.14).
        """
        floor, heard = self.first_of(client, self.base[client]) - 1, self.heard_lac(client)
        return if_(lift(WRITER) == client, 0, if_(floor < heard, heard, floor))

    def heard_lac(self, client: TermLike) -> Term:
        """The highest LAC that fencing told the recoverer; 0 for the writer."""
        return maximum(
            self.bookie, lambda b: if_(self.fence_answered[client, b], self.fence_lac[client, b], 0)
        )

    def fence_answer_says(self, lac: TermLike, unknown: TermLike) -> dict[str, TermLike]:
        """What an answer to a fencing read carries."""
        return {"lac": lac}


def fence(s: Fencing, recoverer: TermLike, bookie: TermLike, when: TermLike = True) -> Message:
    """A fencing read of the LAC."""
    return message("fence", recoverer, bookie, lost=s.fence_lost[recoverer, bookie], when=when)


def fence_answer(
    s: Fencing, recoverer: TermLike, bookie: TermLike, lac: TermLike, unknown: TermLike
) -> Message:
    """The bookie is fenced, and tells its LAC if it knows."""
    lost = s.fence_answer_lost[recoverer, bookie]
    return message("fence answer", bookie, recoverer, says=s.fence_answer_says(lac, unknown), lost=lost)


def begin_recovery(s: Fencing, client: Parameter) -> Action:
    """A recoverer puts the ledger in recovery and sends fencing reads to the last ensemble.

    One that finds the ledger in recovery joins it (ReadOnlyLedgerHandle.recover).
    """
    return Action(
        when=(s.phase[client] == Phase.IDLE)
        & any_of(s.status == Status.OPEN, s.status == Status.IN_RECOVERY),
        then=[
            s.status.set(Status.IN_RECOVERY),
            s.phase[client].set(Phase.ACTIVE),
            s.base[client].set(s.last_fragment),
            *s.takes_metadata(client),
        ],
        actor=client,
        sent=[to_each(s.bookie, lambda b: fence(s, client, b, when=s.in_last_ensemble(b)))],
        note="puts the ledger in recovery",
    )


def handle_fence(s: Fencing, client: Parameter, bookie: Parameter) -> Action:
    """A bookie fences the ledger, which it need not know yet, and tells the LAC of its highest entry."""
    lac, unknown = s.told_lac(bookie), s.says_unknown(bookie)
    return Action(
        when=s.serves(bookie) & s.fence_in_flight(client, bookie),
        then=[
            s.fenced[bookie].set(True),
            s.fence_handled[client, bookie].set(True),
            s.fence_lac[client, bookie].set(lac),
            s.fence_unknown[client, bookie].set(unknown),
            *s.noted_when_fenced(client, bookie),
        ],
        actor=bookie,
        received=fence(s, client, bookie),
        sent=[fence_answer(s, client, bookie, lac, unknown)],
    )


def receive_fence_answer(s: Fencing, client: Parameter, bookie: Parameter) -> Action:
    """A bookie is fenced and tells its LAC; once enough are, further answers are ignored."""
    index = client, bookie
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & s.fence_handled[index]
        & ~s.fence_answer_lost[index]
        & ~s.fence_answered[index]
        & s.hears_fencing(client),
        then=[s.fence_answered[index].set(True)],
        actor=client,
        received=fence_answer(s, client, bookie, s.fence_lac[index], s.fence_unknown[index]),
    )
