"""The second chapter of today's protocol: bookies, and the beginning of recovery, which fences them."""

from __future__ import annotations

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.messages import Message, message, to_each
from fencepost.encoding.language.quantifiers import at_least, exists, forall, maximum
from fencepost.encoding.language.sorts import BOOL, Sort, integers, members
from fencepost.encoding.language.state import choice, definition, family
from fencepost.encoding.language.terms import (
    FALSE,
    TRUE,
    Family,
    Parameter,
    Read,
    Term,
    TermLike,
    Update,
    any_of,
    lift,
)
from fencepost.protocols.bookkeeper.metadata import Metadata
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.values import NOTHING, WRITER, Phase, Stage, Status


class Fencing(Metadata):
    """The bookies, and the fencing reads of each recoverer."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variables."""
        super().__init__(parameters)
        # Each bookie: its entries, its fence, and whether it answers.
        self.carried_value = self.carried_values()
        """LACs in messages."""
        self.stored = family(self.lac_value, self.bookie, self.entry)
        self.stored_lac = family(self.carried_value, self.bookie, self.entry)
        self.fenced = family(BOOL, self.bookie)
        self.limbo = family(BOOL, self.bookie)
        """Whether a crash keeps the bookie from saying that an entry is absent (layers/crashes)."""
        self.stage = family(members(Stage), self.bookie)
        self.silent = family(BOOL, self.bookie)

        # The fencing reads of each recoverer. The writer's row is unused.
        index = self.client, self.bookie
        self.base = family(self.fragment, self.client)
        """The last fragment when recovery began. Recovery reads use the metadata up to this fragment."""
        self.overtaken = family(BOOL, self.client)
        """Whether a later recoverer bumped the version: this one can commit nothing (layers/published)."""
        self.fence_handled = family(BOOL, *index)
        self.fence_lac = family(self.carried_value, *index)
        self.fence_unknown = family(BOOL, *index)
        self.fence_answered = family(BOOL, *index)
        self.fence_dropped = family(BOOL, *index)
        """Whether the request was lost because the bookie crashed (layers/crashes)."""
        self.fence_lost = choice(*index, fault="lost")
        self.fence_answer_lost = choice(*index, fault="lost")

    def carried_values(self) -> Sort:
        """Return the LACs in messages. The LAC that comes with an entry is below the entry."""
        return integers(0, self.parameters.entries - 1)

    def loss(self, losses: Family, *index: TermLike) -> Read | None:
        """Return the loss of a fencing or recovery read, or of its answer, if these can be lost."""
        return losses[index]

    def arrives(self, losses: Family, *index: TermLike) -> Term:
        """Return whether that fencing or recovery read, or its answer, is not lost."""
        lost = self.loss(losses, *index)
        return TRUE if lost is None else ~lost

    # Bookies.

    def serves(self, bookie: TermLike) -> Term:
        """Return whether the bookie handles requests."""
        return (self.stage[bookie] == Stage.SERVING) & ~self.silent[bookie]

    def says_unknown(self, bookie: TermLike) -> Term:
        """Return whether the bookie refuses adds and does not know its LAC.

        Only a bookie in limbo does, under `limbo=as-coded`.
        """
        return FALSE

    def refuses_adds(self, bookie: TermLike) -> Term:
        """Return whether the bookie refuses a writer's adds although it has no fence."""
        return self.says_unknown(bookie)

    def told_lac(self, bookie: TermLike) -> Term:
        """Return the LAC that came with the highest stored entry; 0 if no entry is stored."""

        def is_highest(e: Term) -> Term:
            higher = exists(self.entry, lambda other: (e < other) & self.has(bookie, other))
            return self.has(bookie, e) & ~higher

        return maximum(self.entry, lambda e: if_(is_highest(e), self.stored_lac[bookie, e], 0))

    def has(self, bookie: TermLike, entry: TermLike) -> Term:
        """Return whether the bookie stores something as that entry."""
        return self.stored[bookie, entry] != NOTHING

    def takes_fence(self, bookie: TermLike) -> Term:
        """Return whether a fencing read fences the bookie: always."""
        return TRUE

    def on_fence(self, client: TermLike, bookie: TermLike) -> list[Update]:
        """Return more updates for a fencing read."""
        return []

    def on_fence_answer(self, client: TermLike, bookie: TermLike) -> list[Update]:
        """Return more updates for an answer to a fencing read that is received."""
        return []

    def on_read(self, client: TermLike, entry: TermLike, bookie: TermLike, content: Term) -> list[Update]:
        """Return more updates for a recovery read; `content` is the content it finds."""
        return []

    def on_add(self, bookie: TermLike, stores: TermLike) -> list[Update]:
        """Return more updates for an add; `stores` says whether the bookie stores the entry."""
        return []

    # Fencing.

    def fence_sent(self, client: TermLike, bookie: TermLike) -> Term:
        """Return whether the recoverer sent the bookie a fencing read.

        It sends them to the last ensemble when it begins.
        """
        return (self.phase[client] != Phase.IDLE) & self.in_ensemble(client, self.base[client], bookie)

    def fence_in_flight(self, client: TermLike, bookie: TermLike) -> Term:
        """Return whether the fencing read is on its way: it will reach the bookie and has not yet."""
        index = client, bookie
        under_way = (
            self.fence_sent(*index) & self.arrives(self.fence_lost, *index) & ~self.fence_handled[index]
        )
        return under_way & ~self.fence_dropped[index]

    def fenced_by(self, client: TermLike, bookie: TermLike) -> Term:
        """Return whether the bookie told the recoverer that it is fenced. The answer "unknown" does not."""
        return self.fence_answered[client, bookie] & ~self.fence_unknown[client, bookie]

    def fenced_at(self, client: TermLike, position: TermLike) -> Term:
        """Return whether the bookie at that position of the ensemble told the recoverer that it is fenced."""
        return exists(
            self.bookie,
            lambda b: self.fenced_by(client, b) & self.is_at(client, self.base[client], position, b),
        )

    @definition
    def covered(self, client: TermLike) -> Term:
        """Return whether enough bookies are fenced (RRQuorumCoverageSet).

        Enough means: no window of WQ bookies contains AQ that have not answered.
        """
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
        """Return whether answers to fencing reads still count: until coverage (ReadLastConfirmedOp)."""
        return ~self.covered(client)

    @definition
    def start(self, client: TermLike) -> Term:
        """Return the LAC that the client starts from: 0 for the writer, the fencing LAC for a recoverer.

        A recoverer starts no lower than below the first entry of the last fragment (ISSUE-2615, 4.14).
        """
        return if_(lift(WRITER) == client, 0, self.no_lower_than_floor(client, self.heard_lac(client)))

    def no_lower_than_floor(self, client: TermLike, heard: Term) -> Term:
        """Return what fencing told, or the end of the fragments before the last one if that is higher."""
        floor = self.own_first[client, self.base[client]] - 1
        return if_(floor < heard, heard, floor)

    def heard_lac(self, client: TermLike) -> Term:
        """Return the highest LAC that fencing answers told the recoverer; 0 for the writer."""
        return self.highest_answered(client, self.fence_lac)

    def highest_answered(self, client: TermLike, told: Family) -> Term:
        """Return the highest of what the answers to the client's fencing reads told; 0 without one."""
        return maximum(self.bookie, lambda b: if_(self.fence_answered[client, b], told[client, b], 0))

    def fence_answer_says(
        self, client: TermLike, bookie: TermLike, lac: TermLike, unknown: TermLike
    ) -> dict[str, TermLike]:
        """Return the content of an answer to a fencing read."""
        return {"lac": lac}


# Bookies that fall silent.


def fall_silent(s: Fencing, bookie: Parameter) -> Action:
    """Let a bookie stop answering for good."""
    others = at_least(s.parameters.silent, s.bookie, lambda b: s.silent[b])
    return Action(
        when=~s.silent[bookie] & ~others,
        then=[s.silent[bookie].set(True)],
        actor=bookie,
        note="stops answering",
        fault="silent",
    )


# The beginning of recovery: a recoverer fences bookies of the last ensemble until enough are fenced.


def fence(s: Fencing, recoverer: TermLike, bookie: TermLike, when: TermLike = True) -> Message:
    """Return a fencing read, which also asks for the LAC."""
    lost, says = s.loss(s.fence_lost, recoverer, bookie), s.signature(recoverer)
    return message("fence", recoverer, bookie, says=says, lost=lost, when=when)


def fence_answer(
    s: Fencing, recoverer: TermLike, bookie: TermLike, lac: TermLike, unknown: TermLike
) -> Message:
    """Return the answer to a fencing read, with the bookie's LAC if it knows it."""
    lost = s.loss(s.fence_answer_lost, recoverer, bookie)
    return message(
        "fence answer",
        bookie,
        recoverer,
        says=s.fence_answer_says(recoverer, bookie, lac, unknown),
        lost=lost,
    )


def begin_recovery(s: Fencing, client: Parameter) -> Action:
    """Put the ledger in recovery, and send fencing reads to the last ensemble.

    A recoverer that finds the ledger in recovery joins it (ReadOnlyLedgerHandle.recover).

    Code: ReadOnlyLedgerHandle.recover, LedgerRecoveryOp.initiate, ReadLastConfirmedOp.initiateWithFencing.
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
    """Fence the ledger on a bookie, which need not know it yet, and answer with the highest entry's LAC.

    Code: ReadEntryProcessor.processPacket, BookieImpl.fenceLedger, ReadEntryProcessorV3.readEntry.
    """
    lac, unknown = s.told_lac(bookie), s.says_unknown(bookie)
    return Action(
        when=s.serves(bookie) & s.fence_in_flight(client, bookie),
        then=[
            s.fenced[bookie].set(True, when=s.takes_fence(bookie)),
            s.fence_handled[client, bookie].set(True),
            s.fence_lac[client, bookie].set(lac),
            s.fence_unknown[client, bookie].set(unknown),
            *s.on_fence(client, bookie),
        ],
        actor=bookie,
        received=fence(s, client, bookie),
        sent=[fence_answer(s, client, bookie, lac, unknown)],
    )


def receive_fence_answer(s: Fencing, client: Parameter, bookie: Parameter) -> Action:
    """Receive the LAC of a bookie that is now fenced.

    Once enough bookies are fenced, further answers are ignored.

    Code: ReadLastConfirmedOp.readEntryComplete.
    """
    index = client, bookie
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & s.fence_handled[index]
        & s.arrives(s.fence_answer_lost, *index)
        & ~s.fence_answered[index]
        & s.hears_fencing(client),
        then=[s.fence_answered[index].set(True), *s.on_fence_answer(client, bookie)],
        actor=client,
        received=fence_answer(s, client, bookie, s.fence_lac[index], s.fence_unknown[index]),
    )
