"""The third chapter of today's protocol: adds, write-backs too, their answers, and the LAC."""

from __future__ import annotations

from collections.abc import Callable

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.messages import Broadcast, Message, message, to_each
from fencepost.encoding.language.quantifiers import at_least, exists, forall, maximum
from fencepost.encoding.language.sorts import BOOL, integers, optional
from fencepost.encoding.language.state import choice, definition, family
from fencepost.encoding.language.terms import FALSE, TRUE, Parameter, Read, Term, TermLike, Update, lift
from fencepost.protocols.bookkeeper.fencing import Fencing
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.values import NO_BOOKIE, WRITER, Phase


class Adds(Fencing):
    """The adds of each client, their answers, and what each client has acknowledged."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variables."""
        super().__init__(parameters)
        # Adds of each client, write-backs too, their answers, and the bookie that the client is replacing.
        client, entry, bookie, fragment = self.client, self.entry, self.bookie, self.fragment
        self.pushed_in = family(integers(0, parameters.possible_fragments), client, entry)
        """The fragment to whose ensemble the entry was first sent; 0 if it was not sent."""
        self.pushed_lac = family(self.carried_value, client, entry)
        self.found = family(self.lac_value, client, self.read_entry)
        """The content that a recoverer read and writes back."""
        self.resent = family(BOOL, client, fragment, entry)
        self.add_handled = family(BOOL, client, fragment, entry, bookie)
        self.add_admitted = family(BOOL, client, fragment, entry, bookie)
        """Whether the bookie found the ledger unfenced and has yet to store the entry (layers/old_rules)."""
        self.add_refused = family(BOOL, client, fragment, entry, bookie)
        self.add_answered = family(BOOL, client, fragment, entry, bookie)
        self.add_dropped = family(BOOL, client, fragment, entry, bookie)
        """Whether the request was lost because the bookie crashed (layers/crashes)."""
        self.acked = family(BOOL, client, entry, bookie)
        self.failed = family(optional(bookie, NO_BOOKIE), client)
        self.frozen_lac = family(self.lac_value, client)

        self.declare_losses()
        self.add_answer_lost = choice(client, fragment, entry, bookie, fault="lost")

    def declare_losses(self) -> None:
        """Declare the losses of adds, one for each sending."""
        self.add_lost = choice(self.client, self.entry, self.bookie, fault="lost")
        self.resend_lost = choice(self.client, self.fragment, self.entry, fault="lost")

    def loss_of(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike, again: bool
    ) -> Read:
        """Return the loss of a sending: the first one, or one that sends the entry again."""
        return self.resend_lost[client, fragment, entry] if again else self.add_lost[client, entry, bookie]

    # Adds: messages on their way.

    def pushed(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether the client has sent the entry, as a new entry or as a write-back."""
        return self.pushed_in[client, entry] != 0

    def content_sent(self, client: TermLike, entry: TermLike) -> Term:
        """Return the content that the client sends: the writer its own, a recoverer what it read."""
        return if_(lift(WRITER) == client, entry, self.found[client, entry])

    @definition
    def add_sent(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the entry was sent to the bookie because of that fragment.

        It was either pushed to the fragment's ensemble, or resent to the bookie that is new in it.
        """
        pushed, resent = self.pushed_in[client, entry] == fragment, self.resent[client, fragment, entry]
        belongs = self.in_write_set_of(client, fragment, entry, bookie)
        return pushed & belongs | resent & belongs & self.is_newcomer(client, fragment, bookie)

    def is_lost(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether this sending is lost.

        The first sending to each bookie and each resending have a loss of their own. Nothing is resent within
        the first fragment.
        """
        if not self.later_fragments:
            return self.add_lost[client, entry, bookie]
        first = self.pushed_in[client, entry] == fragment
        resend_lost = self.resend_lost[client, fragment, entry]
        return first & self.add_lost[client, entry, bookie] | ~first & resend_lost

    def add_in_flight(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the add is on its way: it will reach the bookie and has not yet."""
        index = (client, fragment, entry, bookie)
        under_way = self.add_sent(*index) & ~self.is_lost(*index) & ~self.add_handled[index]
        return under_way & ~self.add_dropped[index]

    def is_behind(
        self, client: TermLike, entry: TermLike, is_under_way: Callable[[Term, Term], Term]
    ) -> Term:
        """Return whether a lower entry is under way, in any fragment, so that this one has to wait.

        Adds and answers between one client and one bookie arrive in the order of entries, apart from lost
        ones.
        """
        lower = exists(
            self.entry, lambda e: (e < entry) & exists(self.fragment, lambda f: is_under_way(f, e))
        )
        return lower & self.keeps_order(client)

    def next_add(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the add may reach the bookie now: it is under way, and the next one."""
        behind = self.is_behind(client, entry, lambda f, e: self.add_in_flight(client, f, e, bookie))
        return self.add_in_flight(client, fragment, entry, bookie) & ~behind

    def keeps_order(self, client: TermLike) -> Term:
        """Return whether the client's adds, and answers to them, arrive in the order of their entries."""
        return TRUE

    def answer_in_flight(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike
    ) -> Term:
        """Return whether the answer to an add is on its way: it will reach the client and has not yet."""
        index = (client, fragment, entry, bookie)
        return self.add_handled[index] & ~self.add_answer_lost[index] & ~self.add_answered[index]

    def next_answer(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike, refused: Term
    ) -> Term:
        """Return whether the client may receive that answer now: it is under way, and the next one."""
        behind = self.is_behind(client, entry, lambda f, e: self.answer_in_flight(client, f, e, bookie))
        return self.answer_in_flight(client, fragment, entry, bookie) & refused & ~behind

    def counts(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether an answer from there counts: the bookie still stands in the current ensemble."""
        return self.still_there(client, fragment, bookie)

    def may_queue_in(self, client: TermLike, fragment: TermLike) -> Term:
        """Return whether the writer may queue an entry for that fragment's ensemble: the current one's."""
        return self.own_last_fragment[client] == fragment

    def may_send(self, client: TermLike, fragment: TermLike, entry: TermLike) -> Term:
        """Return whether the client has not sent the entry yet, to that fragment's ensemble or another."""
        return ~self.pushed(client, entry)

    def may_push_next(self, entry: TermLike) -> Term:
        """Return whether the order of the ids lets the writer push the entry: it counts them itself."""
        return self.writer_pushed_below(entry)

    def writer_pushed_below(self, entry: TermLike) -> Term:
        """Return whether the writer has pushed all entries below this one."""
        return forall(self.entry, lambda e: implies(e < entry, self.pushed(WRITER, e)))

    def on_queue(self, client: TermLike, fragment: TermLike, entry: TermLike) -> list[Update]:
        """Return more updates for an entry that is queued."""
        return []

    def on_ack(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> list[Update]:
        """Return more updates for an ack that is received."""
        return []

    def on_refusal(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike
    ) -> list[Update]:
        """Return more updates for a refusal that is received."""
        return []

    def takes_copy(self, bookie: TermLike, entry: TermLike) -> Term:
        """Return whether an add replaces the copy that the bookie already has, and its LAC.

        InterleavedLedgerStorage.processEntry and SingleDirectoryDbLedgerStorage.addEntry both replace it.
        """
        return lift(True)

    def stores_add(self, client: TermLike, entry: TermLike, bookie: TermLike, when: Term) -> list[Update]:
        """Return the updates of a bookie that stores the entry, with the LAC that came with it."""
        return [
            self.stored[bookie, entry].set(self.content_sent(client, entry), when=when),
            self.stored_lac[bookie, entry].set(self.pushed_lac[client, entry], when=when),
        ]

    def add_says(
        self, client: TermLike, fragment: TermLike, entry: TermLike, lac: Term
    ) -> dict[str, TermLike]:
        """Return the content of an add, with the LAC that it carries."""
        return {"content": self.content_sent(client, entry), "lac": lac}

    @definition
    def complete(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether the entry has AQ acks."""
        return self.are_enough(client, entry, lambda b: self.acked[client, entry, b])

    def are_enough(self, client: TermLike, entry: TermLike, acked: Callable[[Term], Term]) -> Term:
        """Return whether acks of these bookies complete the entry: AQ of them."""
        return at_least(self.parameters.ack_quorum, self.bookie, acked)

    def changing(self, client: TermLike) -> Term:
        """Return whether an ensemble change has begun and is not committed.

        The LAC stands still meanwhile, and acks still count.
        """
        return self.failed[client] != NO_BOOKIE

    @definition
    def lac(self, client: TermLike) -> Term:
        """Return the client's last add confirmed.

        The writer has acknowledged this entry and all entries below it.
        """
        return if_(self.stands_still(client), self.frozen_lac[client], self.highest_acked(client))

    def acknowledged(self, client: TermLike) -> Term:
        """Return the last entry that the client has acknowledged: its LAC."""
        return self.lac(client)

    def highest_acked(self, client: TermLike) -> Term:
        """Return the end of the longest run of entries with AQ acks each, from the client's start."""
        return self.end_of_run(client, lambda e: self.complete(client, e))

    def end_of_run(self, client: TermLike, holds: Callable[[Term], Term]) -> Term:
        """Return the end of the longest run of entries of which `holds` is true, from the client's start."""

        def reached(n: Term) -> Term:
            return forall(self.entry, lambda e: implies((self.start(client) < e) & (e <= n), holds(e)))

        return maximum(self.lac_value, lambda n: if_(reached(n), n, 0))

    def stands_still(self, client: TermLike) -> Term:
        """Return whether the client's LAC stands still: while an ensemble change is under way."""
        return self.changing(client)

    def carried_lac(self, client: TermLike) -> Term:
        """Return the LAC that the client's adds carry: its current LAC."""
        return self.lac(client)

    @definition
    def pending(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether the entry was pushed or written back and is not acknowledged."""
        return self.pushed(client, entry) & (self.acknowledged(client) < entry)

    def is_stuck(self, entry: TermLike) -> Term:
        """Return whether the queue of pending adds can never let the writer acknowledge the entry: no."""
        return FALSE

    def is_fenced_out(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether a refusal stops the writer (PendingAddOp.writeComplete).

        It does not if the entry has AQ acks already, or if the bookie was replaced.
        """
        return ~self.complete(client, entry) & self.counts(client, fragment, entry, bookie)

    def leaves(self, client: TermLike, when: Term) -> list[Update]:
        """Return the updates of a writer that a refusal stops."""
        return [self.phase[client].set(self.when_fenced_out(), when=when)]

    def when_fenced_out(self) -> Phase:
        """Return the phase of a writer that a fenced bookie has stopped: it closes the ledger.

        LedgerHandle.handleUnrecoverableErrorDuringAdd.
        """
        return Phase.CLOSING


# Adds and their answers.


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
    """Return the message of an add.

    The message carries the LAC that the entry was first sent with. The first sending passes its own LAC in
    `lac`. `lost` is the loss of this sending; it is given only in the action that sends.
    """
    return message(
        "add",
        client,
        bookie,
        about={"entry": entry, "fragment": fragment},
        says=s.add_says(client, fragment, entry, s.pushed_lac[client, entry] if lac is None else lac),
        lost=lost,
        when=when,
    )


def add_answer(
    s: Adds, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike, refused: TermLike
) -> Message:
    """Return the answer to an add: stored, or refused because the ledger is fenced."""
    return message(
        "add answer",
        bookie,
        client,
        about={"entry": entry, "fragment": fragment},
        says={"fenced": refused, **s.signature(client)},
        lost=s.add_answer_lost[client, fragment, entry, bookie],
    )


def sends(s: Adds, client: Parameter | str, fragment: Parameter, entry: Parameter) -> list[Update]:
    """Return the updates that send the entry to its write set in that fragment's ensemble."""
    return [
        s.pushed_in[client, entry].set(fragment),
        s.pushed_lac[client, entry].set(s.carried_lac(client)),
        *s.on_queue(client, fragment, entry),
    ]


def adds(s: Adds, client: Parameter | str, fragment: Parameter, entry: Parameter) -> Broadcast:
    """Return the messages that belong to the updates of `sends`."""

    def sent(b: Parameter) -> Message:
        lac, lost = s.carried_lac(client), s.loss_of(client, fragment, entry, b, again=False)
        there = s.in_write_set_of(client, fragment, entry, b)
        return add(s, client, fragment, entry, b, lac=lac, lost=lost, when=there)

    return to_each(s.bookie, sent)


def push(s: Adds, fragment: Parameter, entry: Parameter) -> Action:
    """Send the writer's next entry to its write set, with the LAC (LedgerHandle.doAsyncAddEntry).

    Code: LedgerHandle.asyncAddEntry, LedgerHandle.doAsyncAddEntry, PendingAddOp.initiate.
    """
    limit = s.parameters.inflight
    within_limit = ~exists(s.entry, lambda e: (e + limit == entry) & (s.acknowledged(WRITER) < e))
    return Action(
        when=(s.phase[WRITER] == Phase.ACTIVE)
        & s.may_queue_in(WRITER, fragment)
        & s.may_send(WRITER, fragment, entry)
        & s.may_push_next(entry)
        & within_limit,
        then=sends(s, WRITER, fragment, entry),
        actor=WRITER,
        sent=[adds(s, WRITER, fragment, entry)],
    )


def is_refused(s: Adds, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter) -> Term:
    """Return whether the bookie refuses the add. It never refuses one of a recoverer."""
    fenced_out = (s.fenced[bookie] & ~s.add_admitted[client, fragment, entry, bookie]) | s.refuses_adds(
        bookie
    )
    return fenced_out if client.sort is s.writer else lift(False)


def handle_add(
    s: Adds, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """Store an entry on a bookie unless the ledger is fenced, and answer (BookieImpl.addEntry).

    A recovery add is stored even if the ledger is fenced (recoveryAddEntry).

    Code: BookieImpl.addEntry, BookieImpl.recoveryAddEntry.
    """
    index = client, fragment, entry, bookie
    refused = is_refused(s, *index)
    stores = ~refused & s.takes_copy(bookie, entry)
    return Action(
        when=s.serves(bookie) & s.next_add(*index),
        then=[
            s.add_handled[index].set(True),
            s.add_refused[index].set(refused),
            *s.stores_add(client, entry, bookie, stores),
            *s.on_add(bookie, ~refused),
        ],
        actor=bookie,
        received=add(s, client, fragment, entry, bookie),
        sent=[add_answer(s, client, fragment, entry, bookie, refused)],
    )


def receive_ack(
    s: Adds, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """Receive the ack of a bookie that stored the entry (PendingAddOp.writeComplete).

    The ack counts if the bookie still stands in the ensemble where the entry was sent.

    Code: PendingAddOp.writeComplete, LedgerHandle.sendAddSuccessCallbacks.
    """
    index = client, fragment, entry, bookie
    return Action(
        when=(s.phase[client] == Phase.ACTIVE) & s.next_answer(*index, ~s.add_refused[index]),
        then=[
            s.add_answered[index].set(True),
            s.acked[client, entry, bookie].set(True, when=s.counts(*index)),
            *s.on_ack(*index),
        ],
        actor=client,
        received=add_answer(s, *index, False),
    )


def receive_fenced(
    s: Adds, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """Receive a refusal: a writer that needs this ack drops its pending adds and closes the ledger.

    Code: PendingAddOp.writeComplete, LedgerHandle.handleUnrecoverableErrorDuringAdd.
    """
    index = client, fragment, entry, bookie
    return Action(
        when=(s.phase[client] == Phase.ACTIVE) & s.next_answer(*index, s.add_refused[index]),
        then=[
            s.add_answered[index].set(True),
            *s.leaves(client, s.is_fenced_out(*index)),
            *s.on_refusal(*index),
        ],
        actor=client,
        received=add_answer(s, *index, True),
        note="is fenced out: drops its pending entries, unless entry {entry} is stored without {bookie}",
    )
