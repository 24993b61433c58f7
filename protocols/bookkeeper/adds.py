"""Adds and their acks, and what follows from them: the last add confirmed (LAC). A recoverer's write-backs are adds too."""

from __future__ import annotations

from fencepost.encoding.language.messages import Broadcast, Message, message, to_each
from fencepost.encoding.language.quantifiers import at_least, exists, forall, maximum
from fencepost.encoding.language.sorts import BOOL, Sort, integers
from fencepost.encoding.language.state import choice, definition, family
from fencepost.encoding.language.system import Action
from fencepost.encoding.language.terms import (
    FALSE,
    TRUE,
    Parameter,
    Read,
    Term,
    TermLike,
    Update,
    any_of,
    if_,
    implies,
    lift,
)
from fencepost.protocols.bookkeeper.fencing import Fencing
from fencepost.protocols.bookkeeper.metadata import WRITER, Phase
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters

NO_BOOKIE = "none"


class Adds(Fencing):
    """What each client sent, what was answered, and the bookie that it is replacing."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        super().__init__(parameters)
        client, entry, bookie, fragment = self.client, self.entry, self.bookie, self.fragment
        self.pushed_in = family(integers(0, parameters.possible_fragments), client, entry)
        """The fragment to whose ensemble the entry was first sent; 0: it was not."""
        self.pushed_lac = family(self.carried_value, client, entry)
        self.found = family(self.lac_value, client, self.read_entry)
        """What a recoverer read, and writes back."""
        self.resent = family(BOOL, client, fragment, entry)
        self.add_handled = family(BOOL, client, fragment, entry, bookie)
        self.add_admitted = family(BOOL, client, fragment, entry, bookie)
        """The bookie has looked whether the ledger is fenced, and not yet stored the entry (layers/old_rules)."""
        self.add_refused = family(BOOL, client, fragment, entry, bookie)
        self.add_answered = family(BOOL, client, fragment, entry, bookie)
        self.add_dropped = family(BOOL, client, fragment, entry, bookie)
        """The request went down with the bookie (layers/crashes)."""
        self.acked = family(BOOL, client, entry, bookie)
        self.failed = family(Sort("bookie or none", (NO_BOOKIE, *bookie.values), part_of="bookie"), client)
        self.frozen_lac = family(self.lac_value, client)

        # What the network never delivers: one choice for each sending.
        self.add_lost = choice(client, entry, bookie, fault="lost")
        self.resend_lost = choice(client, fragment, entry, fault="lost")
        self.add_answer_lost = choice(client, fragment, entry, bookie, fault="lost")

    # On the way.

    def pushed(self, client: TermLike, entry: TermLike) -> Term:
        """The client has sent the entry, as a new entry or as a write-back."""
        return self.pushed_in[client, entry] != 0

    def content_sent(self, client: TermLike, entry: TermLike) -> Term:
        """What the client sends as the entry: the writer its own, a recoverer what it read."""
        return if_(lift(WRITER) == client, entry, self.found[client, entry])

    @definition
    def add_sent(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """The entry was sent to the bookie because of that fragment: pushed to it, or resent to its newcomer."""
        return any_of(
            (self.pushed_in[client, entry] == fragment)
            & self.in_write_set_of(client, fragment, entry, bookie),
            self.resent[client, fragment, entry]
            & self.in_write_set_of(client, fragment, entry, bookie)
            & self.is_newcomer(client, fragment, bookie),
        )

    def lost_on_the_way(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike
    ) -> Term:
        """That sending is never delivered: the first one to each bookie and each resending have a loss of their own."""
        first = self.pushed_in[client, entry] == fragment
        return any_of(
            first & self.add_lost[client, entry, bookie],
            ~first & self.resend_lost[client, fragment, entry],
        )

    def add_in_flight(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """The add will reach the bookie and has not yet."""
        index = (client, fragment, entry, bookie)
        under_way = self.add_sent(*index) & ~self.lost_on_the_way(*index) & ~self.add_handled[index]
        return under_way & ~self.add_dropped[index]

    def next_add(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """The add may reach the bookie now: of one client's adds that will, the lowest entry goes first."""
        lower = exists(
            self.entry,
            lambda e: (e < entry) & exists(self.fragment, lambda f: self.add_in_flight(client, f, e, bookie)),
        )
        return self.add_in_flight(client, fragment, entry, bookie) & ~lower

    def answer_in_flight(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike
    ) -> Term:
        """The answer to an add will reach the client and has not yet."""
        index = (client, fragment, entry, bookie)
        return self.add_handled[index] & ~self.add_answer_lost[index] & ~self.add_answered[index]

    def next_answer(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike, refused: Term
    ) -> Term:
        """That answer may be received now: of those of one bookie that will arrive, the lowest entry goes first."""
        lower = exists(
            self.entry,
            lambda e: (
                (e < entry) & exists(self.fragment, lambda f: self.answer_in_flight(client, f, e, bookie))
            ),
        )
        return self.answer_in_flight(client, fragment, entry, bookie) & refused & ~lower

    def may_time_out(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """The client may give up waiting for the bookie's ack of the entry."""

        def late(f: Term) -> Term:
            index = (client, f, entry, bookie)
            return self.add_sent(*index) & ~self.add_answered[index] & self.is_given_up(*index)

        return exists(self.fragment, late)

    def has_failed(self, client: Parameter, entry: TermLike, bookie: TermLike) -> Term:
        """The write may be taken as failed: it times out, or was refused and the writer went on (notifyWriteFailed)."""

        def refused(f: Term) -> Term:
            index = (client, f, entry, bookie)
            heard = self.add_answered[index] & self.add_refused[index]
            return heard & self.still_there(client, f, bookie)

        late = self.may_time_out(client, entry, bookie)
        return late | exists(self.fragment, refused) if client.sort is self.writer else late

    def is_given_up(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """An outstanding ack may be given up any time, lost or late."""
        return TRUE

    def takes_copy(self, bookie: TermLike, entry: TermLike) -> Term:
        """An add of an entry that the bookie has already takes the place of its copy, with the LAC that it carries.

        InterleavedLedgerStorage.processEntry moves the index on, and so does SingleDirectoryDbLedgerStorage.addEntry.
        """
        return TRUE

    # The last add confirmed. It never falls: acks are withdrawn above it only.

    @definition
    def complete(self, client: TermLike, entry: TermLike) -> Term:
        """The entry has AQ acks."""
        return at_least(self.parameters.ack_quorum, self.bookie, lambda b: self.acked[client, entry, b])

    def changing(self, client: TermLike) -> Term:
        """An ensemble change has begun and is not committed: the LAC stands still, acks still count."""
        return self.failed[client] != NO_BOOKIE

    @definition
    def lac(self, client: TermLike) -> Term:
        """The client's last add confirmed; the writer has acknowledged this and everything below it."""

        def reached(n: Term) -> Term:
            return forall(
                self.entry,
                lambda e: implies((self.start(client) < e) & (e <= n), self.complete(client, e)),
            )

        highest = maximum(self.lac_value, lambda n: if_(reached(n), n, 0))
        return if_(self.changing(client), self.frozen_lac[client], highest)

    def carried_lac(self, client: TermLike) -> Term:
        """The LAC that the client's adds carry: its own, as it moves."""
        return self.lac(client)

    @definition
    def pending(self, client: TermLike, entry: TermLike) -> Term:
        """The entry is pushed or written back, and not at or below the client's LAC."""
        return self.pushed(client, entry) & (self.lac(client) < entry)

    def is_fenced_out(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """A refusal stops the writer, unless the entry has AQ acks or the bookie was replaced (PendingAddOp.writeComplete)."""
        return ~self.complete(client, entry) & self.still_there(client, fragment, bookie)

    def when_fenced_out(self) -> Phase:
        """What a writer does once a fenced bookie has stopped it: it closes the ledger (LedgerHandle.handleUnrecoverableErrorDuringAdd)."""
        return Phase.CLOSING


def add(
    s: Adds,
    client: TermLike,
    fragment: TermLike,
    entry: TermLike,
    bookie: TermLike,
    lac: Term | None = None,
    lost: Read | None = None,
    when: TermLike = True,
) -> Message:
    """An add. Its LAC is the one it was first sent with, unless it is being sent first (`lac`).

    `lost` is the loss of this sending, where it is sent.
    """
    return message(
        "add",
        client,
        bookie,
        about={"entry": entry, "fragment": fragment},
        says={
            "content": s.content_sent(client, entry),
            "lac": s.pushed_lac[client, entry] if lac is None else lac,
        },
        lost=lost,
        when=when,
    )


def add_answer(
    s: Adds, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike, refused: TermLike
) -> Message:
    """The answer to an add: stored, or refused because the ledger is fenced."""
    return message(
        "add answer",
        bookie,
        client,
        about={"entry": entry, "fragment": fragment},
        says={"fenced": refused},
        lost=s.add_answer_lost[client, fragment, entry, bookie],
    )


def sends(s: Adds, client: Parameter | str, fragment: Parameter, entry: Parameter) -> list[Update]:
    """The entry goes to its write set in that fragment's ensemble, with the client's LAC."""
    return [
        s.pushed_in[client, entry].set(fragment),
        s.pushed_lac[client, entry].set(s.carried_lac(client)),
    ]


def adds(s: Adds, client: Parameter | str, fragment: Parameter, entry: Parameter) -> Broadcast:
    """The messages that `sends` stands for."""

    def sent(b: Parameter) -> Message:
        lac, lost = s.carried_lac(client), s.add_lost[client, entry, b]
        there = s.in_write_set_of(client, fragment, entry, b)
        return add(s, client, fragment, entry, b, lac=lac, lost=lost, when=there)

    return to_each(s.bookie, sent)


def push(s: Adds, fragment: Parameter, entry: Parameter) -> Action:
    """The writer sends the next entry to its write set, with its LAC (LedgerHandle.doAsyncAddEntry)."""
    in_order = forall(s.entry, lambda e: implies(e < entry, s.pushed(WRITER, e)))
    limit = s.parameters.inflight
    within_limit = ~exists(s.entry, lambda e: (e + limit == entry) & (s.lac(WRITER) < e))
    return Action(
        when=(s.phase[WRITER] == Phase.ACTIVE)
        & (s.own_last_fragment[WRITER] == fragment)
        & ~s.pushed(WRITER, entry)
        & in_order
        & within_limit,
        then=sends(s, WRITER, fragment, entry),
        actor=WRITER,
        sent=[adds(s, WRITER, fragment, entry)],
    )


def handle_add(
    s: Adds, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """A bookie stores an entry unless the ledger is fenced there, and answers either way (BookieImpl.addEntry).

    A recovery add is stored even if the ledger is fenced (recoveryAddEntry).
    """
    index = client, fragment, entry, bookie
    fenced_out = (s.fenced[bookie] & ~s.add_admitted[index]) | s.says_unknown(bookie)
    refused = fenced_out if client.sort is s.writer else FALSE
    stores = ~refused & s.takes_copy(bookie, entry)
    return Action(
        when=s.serves(bookie) & s.next_add(*index),
        then=[
            s.add_handled[index].set(True),
            s.add_refused[index].set(refused),
            s.stored[bookie, entry].set(s.content_sent(client, entry), when=stores),
            s.stored_lac[bookie, entry].set(s.pushed_lac[client, entry], when=stores),
            *s.noted_when_added(bookie, ~refused),
        ],
        actor=bookie,
        received=add(s, client, fragment, entry, bookie),
        sent=[add_answer(s, client, fragment, entry, bookie, refused)],
    )


def receive_ack(
    s: Adds, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """A bookie has stored the entry: counted if the bookie still stands where it was sent (PendingAddOp.writeComplete)."""
    index = client, fragment, entry, bookie
    return Action(
        when=(s.phase[client] == Phase.ACTIVE) & s.next_answer(*index, ~s.add_refused[index]),
        then=[
            s.add_answered[index].set(True),
            s.acked[client, entry, bookie].set(True, when=s.still_there(client, fragment, bookie)),
        ],
        actor=client,
        received=add_answer(s, *index, False),
    )


def receive_fenced(
    s: Adds, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """A bookie refused the entry: a writer that needs its ack drops its pending adds, and closes the ledger."""
    index = client, fragment, entry, bookie
    return Action(
        when=(s.phase[client] == Phase.ACTIVE) & s.next_answer(*index, s.add_refused[index]),
        then=[
            s.add_answered[index].set(True),
            s.phase[client].set(s.when_fenced_out(), when=s.is_fenced_out(*index)),
        ],
        actor=client,
        received=add_answer(s, *index, True),
        note="is fenced out: drops its pending entries, unless entry {entry} is stored without {bookie}",
    )
