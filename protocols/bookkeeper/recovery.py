"""The last chapter of today's protocol: recovery reads forward and writes back; the ledger is closed."""

from __future__ import annotations

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.messages import Message, message, to_each
from fencepost.encoding.language.quantifiers import at_least, exists, forall, maximum
from fencepost.encoding.language.sorts import BOOL
from fencepost.encoding.language.state import choice, definition, family
from fencepost.encoding.language.terms import TRUE, Parameter, Term, TermLike, Update, any_of
from fencepost.protocols.bookkeeper.adds import adds, sends
from fencepost.protocols.bookkeeper.ensemble_change import EnsembleChanges
from fencepost.protocols.bookkeeper.metadata import in_fragment_of
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.values import NOTHING, WRITER, Phase, Status


class Recovery(EnsembleChanges):
    """The recovery reads of each recoverer, and how the ledger is closed."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variables."""
        super().__init__(parameters)
        # The recovery reads of each recoverer. The writer's row is unused.
        asked = self.client, self.read_entry, self.bookie
        self.read_sent = family(BOOL, self.client, self.read_entry)
        self.read_handled = family(BOOL, *asked)
        self.read_content = family(self.lac_value, *asked)
        self.read_unknown = family(BOOL, *asked)
        self.read_answered = family(BOOL, *asked)
        self.read_dropped = family(BOOL, *asked)
        """Whether the request was lost because the bookie crashed (layers/crashes)."""
        self.read_lost = choice(*asked, fault="lost")
        self.read_answer_lost = choice(*asked, fault="lost")

    # Recovery reads.

    @definition
    def read_to(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the recoverer asks the bookie for the entry.

        It uses the metadata from the beginning of recovery throughout.
        """
        return in_fragment_of(
            entry,
            self.fragment,
            last=self.base[client],
            first=lambda f: self.own_first[client, f],
            body=lambda f: self.in_write_set_of(client, f, entry, bookie),
        )

    def read_in_flight(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the recovery read is on its way: it will reach the bookie and has not yet."""
        index = client, entry, bookie
        sent = self.read_sent[client, entry] & self.read_to(*index)
        arrives = self.arrives(self.read_lost, *index)
        return sent & arrives & ~self.read_handled[index] & ~self.read_dropped[index]

    def has_entry(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the bookie answered the recovery read with the entry."""
        index = client, entry, bookie
        return self.read_answered[index] & (self.read_content[index] != NOTHING)

    def cannot_say(self, bookie: TermLike, entry: TermLike, content: Term) -> Term:
        """Return whether the bookie answers a read with an error: in limbo, instead of NoSuchEntry."""
        return self.limbo[bookie] & (content == NOTHING)

    def no_such_entry(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the bookie answered NoSuchEntry. A bookie in limbo cannot."""
        index = client, entry, bookie
        return self.read_answered[index] & (self.read_content[index] == NOTHING) & ~self.read_unknown[index]

    @definition
    def positive(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether the recovery read found the entry: one bookie has it (PendingReadOp)."""
        found = at_least(self.copies_wanted(), self.bookie, lambda b: self.has_entry(client, entry, b))
        return found & self.may_decide(client, entry)

    @definition
    def negative(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether the recovery read found the entry absent: QC bookies answered NoSuchEntry."""
        absent = at_least(
            self.parameters.absent_quorum, self.bookie, lambda b: self.no_such_entry(client, entry, b)
        )
        return absent & self.may_decide(client, entry)

    def copies_wanted(self) -> int:
        """Return how many copies make a recovery read positive."""
        return 1

    def may_decide(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether a recovery read may be decided now: always, once enough answers agree."""
        return TRUE

    def fenced_by_reading(self) -> Term:
        """Return whether a recovery read also fences the bookie (issue 2614, since 4.14)."""
        return TRUE

    def may_write_back(self, client: TermLike) -> Term:
        """Return whether the recoverer may write entries back while it reads (LedgerRecoveryOp)."""
        return TRUE

    def pushed_below(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether the client has sent all entries above its start and below this one."""
        return forall(
            self.entry, lambda e: implies((self.start(client) < e) & (e < entry), self.pushed(client, e))
        )

    def is_written_back(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether the recoverer writes the entry: one that its read found."""
        return self.positive(client, entry)

    @definition
    def reading_ended(self, client: TermLike) -> Term:
        """Return whether some recovery read was negative."""
        return exists(self.read_entry, lambda e: self.negative(client, e))

    # Closing.

    def writer_may_close(self) -> Term:
        """Return whether the writer is told that the ledger is closed (doAsyncCloseInternal).

        Its compare-and-set succeeds even if the ledger is in recovery. If another client has closed the
        ledger at the same last entry and length, there is nothing to do.
        """
        return any_of(self.status == Status.OPEN, self.status == Status.IN_RECOVERY, self.is_closed_alike())

    def is_closed_alike(self) -> Term:
        """Return whether the ledger is closed at the entry at which the writer would close it."""
        return (self.status == Status.CLOSED) & (self.last_entry == self.closes_at())

    def too_late_to_close(self) -> Term:
        """Return whether another client closed the ledger at another last entry."""
        return (self.status == Status.CLOSED) & (self.last_entry != self.closes_at())

    def may_adopt_close(self) -> Term:
        """Return whether a recoverer that comes too late to close the ledger finds it closed."""
        return self.status == Status.CLOSED

    def closes_at(self) -> Term:
        """Return the entry at which the writer closes the ledger: its LAC."""
        return self.lac(WRITER)

    def on_close(self, client: TermLike, last: Term) -> list[Update]:
        """Return more updates for a close at that last entry."""
        return []

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


# The rest of recovery: the recoverer reads forward from the fencing LAC and writes entries back.


def read(
    s: Recovery, recoverer: TermLike, entry: TermLike, bookie: TermLike, when: TermLike = True
) -> Message:
    """Return a recovery read of an entry."""
    lost = s.loss(s.read_lost, recoverer, entry, bookie)
    says = s.signature(recoverer)
    return message("read", recoverer, bookie, about={"entry": entry}, says=says, lost=lost, when=when)


def read_answer(
    s: Recovery, recoverer: TermLike, entry: TermLike, bookie: TermLike, content: Term, unknown: Term
) -> Message:
    """Return the answer to a recovery read: the entry, NoSuchEntry, or from limbo "unknown"."""
    answer = if_(unknown, "unknown", if_(content == NOTHING, "NoSuchEntry", "entry"))
    return message(
        "read answer",
        bookie,
        recoverer,
        about={"entry": entry},
        says={"answer": answer, "content": content},
        lost=s.loss(s.read_answer_lost, recoverer, entry, bookie),
    )


def send_reads(s: Recovery, client: Parameter, entry: Parameter) -> Action:
    """Read the entries above the recoverer's start one after another, once fencing is covered.

    Code: LedgerRecoveryOp.doRecoveryRead, PendingReadOp.initiate.
    """
    reached = forall(
        s.read_entry, lambda e: implies((s.start(client) < e) & (e < entry), s.positive(client, e))
    )
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & s.covered(client)
        & (s.start(client) < entry)
        & ~s.read_sent[client, entry]
        & reached,
        then=[s.read_sent[client, entry].set(True)],
        actor=client,
        sent=[to_each(s.bookie, lambda b: read(s, client, entry, b, when=s.read_to(client, entry, b)))],
    )


def handle_read(s: Recovery, client: Parameter, entry: Parameter, bookie: Parameter) -> Action:
    """Answer a recovery read with the entry or NoSuchEntry; since 4.14 fence the ledger first.

    In limbo a bookie answers "unknown" instead of NoSuchEntry (BP-46).

    Code: ReadEntryProcessor.processPacket, BookieImpl.readEntry, ReadEntryProcessorV3.readEntry.
    """
    index = client, entry, bookie
    content = maximum(s.entry, lambda e: if_(e == entry, s.stored[bookie, e], NOTHING))
    unknown = s.cannot_say(bookie, entry, content)
    return Action(
        when=s.serves(bookie) & s.read_in_flight(*index),
        then=[
            s.fenced[bookie].set(True, when=s.fenced_by_reading() & s.takes_fence(bookie)),
            s.read_handled[index].set(True),
            s.read_content[index].set(content),
            s.read_unknown[index].set(unknown),
            *s.on_read(client, entry, bookie, content),
        ],
        actor=bookie,
        received=read(s, *index),
        sent=[read_answer(s, *index, content, unknown)],
    )


def receive_read_answer(s: Recovery, client: Parameter, entry: Parameter, bookie: Parameter) -> Action:
    """Receive the answer to a recovery read.

    Answers that arrive after the read is decided are ignored.

    Code: PendingReadOp.readEntryComplete.
    """
    index = client, entry, bookie
    content = s.read_content[index]
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & s.read_handled[index]
        & s.arrives(s.read_answer_lost, *index)
        & ~s.read_answered[index]
        & ~s.positive(client, entry)
        & ~s.negative(client, entry),
        then=[s.read_answered[index].set(True), s.found[client, entry].set(content, when=content != NOTHING)],
        actor=client,
        received=read_answer(s, *index, content, s.read_unknown[index]),
    )


def write_back(s: Recovery, client: Parameter, fragment: Parameter, entry: Parameter) -> Action:
    """Write an entry that was read back to the recoverer's current ensemble.

    This may differ from the ensemble that the entry was read from.

    Code: LedgerRecoveryOp.onEntryComplete, LedgerHandle.asyncRecoveryAddEntry.
    """
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & (s.own_last_fragment[client] == fragment)
        & s.is_written_back(client, entry)
        & s.may_send(client, fragment, entry)
        & s.pushed_below(client, entry)
        & s.may_write_back(client),
        then=sends(s, client, fragment, entry),
        actor=client,
        sent=[adds(s, client, fragment, entry)],
    )


def abandon_recovery(s: Recovery, client: Parameter) -> Action:
    """Give up recovery while a recovery read is undecided.

    Code: LedgerRecoveryOp.onEntryComplete, LedgerRecoveryOp.submitCallback.
    """
    undecided = exists(
        s.read_entry, lambda e: s.read_sent[client, e] & ~s.positive(client, e) & ~s.negative(client, e)
    )
    return Action(
        when=(s.phase[client] == Phase.ACTIVE) & undecided,
        then=[s.phase[client].set(Phase.GONE)],
        actor=client,
        note="cannot tell whether the entry is there, and gives up",
    )


# Closing the ledger: the writer closes it at its LAC, a recoverer before the first absent entry.


def _may_act(s: Recovery) -> Term:
    return any_of(s.phase[WRITER] == Phase.ACTIVE, s.phase[WRITER] == Phase.CLOSING)


def close_ledger(s: Recovery) -> Action:
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
            *s.on_close(WRITER, lac),
        ],
        actor=WRITER,
        note="closes the ledger at its LAC",
    )


def withdraw(s: Recovery) -> Action:
    """Let the writer give up because it can no longer close the ledger.

    Code: LedgerHandle.doAsyncCloseInternal.
    """
    return Action(
        when=_may_act(s) & s.too_late_to_close(),
        then=[s.phase[WRITER].set(Phase.GONE)],
        actor=WRITER,
        note="cannot close the ledger, and gives up",
    )


def finish_recovery(s: Recovery, client: Parameter, entry: Parameter) -> Action:
    """Close the ledger just below `entry`, at which reading ended (closeRecovered).

    All entries below it are written back. The close also publishes the ensembles that recovery changed
    (handleBookieFailure, since 4.9).

    Code: LedgerRecoveryOp.onEntryComplete, ReadOnlyLedgerHandle.closeRecovered.
    """
    return Action(
        when=s.has_recovered(client, entry) & (s.status == Status.IN_RECOVERY) & ~s.overtaken[client],
        then=[
            s.status.set(Status.CLOSED),
            s.last_entry.set(entry - 1),
            s.phase[client].set(Phase.CLOSED),
            s.closed_at[client].set(entry - 1),
            *s.publishes_metadata(client),
            *s.on_close(client, entry - 1),
        ],
        actor=client,
        note="closes the ledger before entry {entry}, which is not there",
    )


def adopt_close(s: Recovery, client: Parameter, entry: Parameter) -> Action:
    """Adopt the close of another client that was faster, and report success.

    Code: ReadOnlyLedgerHandle.closeRecovered.
    """
    return Action(
        when=s.has_recovered(client, entry) & s.may_adopt_close(),
        then=[s.phase[client].set(Phase.CLOSED), s.closed_at[client].set(s.last_entry)],
        actor=client,
        note="finds the ledger closed, and adopts that",
    )
