"""Unbounded ledgers over guaranteed write quorum: clients take over a ledger in turn and write on.

A number, the term, replaces the fenced flag. Recovery ends with an empty entry, a NoOp, which truncates old
entries beyond it. The ledger is then open again.

The proposal is guaranteed_write_quorum.py with the rules below, numbered as in docs/tweaks.md. The writer has
term 1, and each recoverer takes the ledger over once, in its own term. Contents are numbers: the values that
clients push, and above them the NoOp.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from fencepost.encoding.language.actions import Action, each, in_turn
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.messages import message
from fencepost.encoding.language.parameters import parameter, switch
from fencepost.encoding.language.quantifiers import exists, exists_over
from fencepost.encoding.language.sorts import BOOL, integers
from fencepost.encoding.language.state import definition, family, variable
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import Parameter, Term, TermLike, Update, any_of, lift
from fencepost.protocols.bookkeeper import adds, fencing, metadata, recovery
from fencepost.protocols.bookkeeper.rules import also
from fencepost.protocols.bookkeeper.values import NOTHING, WRITER, Phase, Status
from fencepost.protocols.bookkeeper_tweaks.guaranteed_write_quorum import MEANINGS as GUARANTEED
from fencepost.protocols.bookkeeper_tweaks.guaranteed_write_quorum import (
    GuaranteedLedger,
    GuaranteedParameters,
    TweakSizes,
    adds_and_changes,
    with_meanings,
)

_MODULE = "Vanlightly/bookkeeper-tlaplus, tweaks/ProtocolUnboundedLedgersAndGWQ.tla"


@dataclass(frozen=True)
class UnboundedParameters(TweakSizes):
    """One instance: the sizes, then a switch for each rule. The second value of a switch is a mutant."""

    bookies: int = parameter(2, "N: bookies there are")
    values: int = parameter(2, "values that clients may push, each once")
    clients: int = parameter(2, "the creator and those that take over after it, each once", least=2)
    fragments: int = parameter(2, "most ensembles the ledger goes through (only 1 is possible when N = WQ)")

    recovery_done: str = switch(
        ("at-wq", "at-aq"),
        "a takeover is over once all it wrote is at WQ, or at AQ",
        f"{_MODULE}, ClientChangesTermToOpen",
    )
    truncation: str = switch(
        ("yes", "no"), "the NoOp that ends a takeover deletes higher entries", f"{_MODULE}, change 5"
    )
    recovery_adds: str = switch(
        ("frozen", "moving"),
        "adds of a takeover carry the LAC and LAFR it started with, or those it has",
        f"{_MODULE}, GetAddEntryRequests",
    )
    read_term: str = switch(
        ("yes", "no"), "recovery reads carry the term, or are answered by any bookie", f"{_MODULE}, change 3"
    )

    @property
    def guaranteed(self) -> GuaranteedParameters:
        """The instance of guaranteed write quorum that the proposal changes.

        It has one entry for each value and for the NoOp of each takeover (rule 3).
        """
        return GuaranteedParameters(
            bookies=self.bookies,
            write_quorum=self.write_quorum,
            ack_quorum=self.ack_quorum,
            entries=self.values + self.clients - 1,
            recoverers=self.clients - 1,
            fragments=self.fragments,
            recovery_done=self.recovery_done,
            recovery_adds=self.recovery_adds,
        )


class UnboundedLedger(GuaranteedLedger):
    """The state of one ledger, and the definitions that terms replace."""

    stores: ClassVar[Mapping[str, tuple[str, ...]]] = {"zk": (*GuaranteedLedger.stores["zk"], "ledger_term")}

    def __init__(self, unbounded: UnboundedParameters) -> None:
        """Declare the terms, and what clients have pushed."""
        super().__init__(unbounded.guaranteed)
        self.unbounded = unbounded
        self.no_op = unbounded.values + 1
        client, terms = self.client, integers(0, unbounded.clients)
        # A client takes the ledger over at most once, and clients without history are alike. So the client of
        # term k is the k-th, and the client named in a message also gives its term (rules 1, 2 and 4).
        self.term = family(terms, client, initial=lambda c: client.values.index(c) + 1)
        self.ledger_term = variable(terms)
        self.bookie_term = family(terms, self.bookie)
        self.is_writing = family(BOOL, client)
        """Whether the client has opened the ledger and writes. Until then it is in its takeover."""
        self.rejected = family(BOOL, client, self.bookie)
        """Whether the bookie answered the client with InvalidTerm: the bookie has a higher term for good."""
        self.values_pushed = variable(integers(0, unbounded.values))
        """The number of values that clients have pushed. Values are alike, so each push takes the next."""
        self.fence_told_lac = family(self.lac_value, client, self.bookie)

    # Terms.

    def accepts(self, bookie: TermLike, client: TermLike) -> Term:
        """Return whether the client's term is not below the bookie's (rule 5)."""
        return self.bookie_term[bookie] <= self.term[client]

    def adopts(self, bookie: TermLike, client: TermLike) -> Update:
        """Return the update of a bookie that handles a request: it has the client's term (rule 5)."""
        return self.bookie_term[bookie].set(self.term[client])

    def is_overtaken(self, client: TermLike) -> Term:
        """Return whether a later client has taken over (rules 12 and 13)."""
        return self.ledger_term != self.term[client]

    def signature(self, client: TermLike) -> dict[str, TermLike]:
        """Return the requester's term, which requests and answers carry (rule 4)."""
        return {"term": self.term[client]}

    # Adds.

    def content_sent(self, client: TermLike, entry: TermLike) -> Term:
        """Return the content that the client sends: the NoOp where its reading ended (rule 11)."""
        return if_(self.negative(client, entry), self.no_op, self.found[client, entry])

    def is_written_back(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether a takeover writes the entry: it was found, or it is the NoOp (rules 10 and 11)."""
        return any_of(self.positive(client, entry), self.negative(client, entry))

    def truncates(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether adds of the entry carry the truncate flag, at every sending (rules 4 and 11)."""
        return self.negative(client, entry) & (self.unbounded.truncation == "yes")

    def add_says(
        self, client: TermLike, fragment: TermLike, entry: TermLike, lac: Term
    ) -> dict[str, TermLike]:
        """Return the content of an add with term and truncate flag. A push takes the next value."""
        is_new = (self.found[client, entry] == NOTHING) & ~self.negative(client, entry)
        return {
            **super().add_says(client, fragment, entry, lac),
            "content": if_(is_new, self.values_pushed + 1, self.content_sent(client, entry)),
            "truncate": self.truncates(client, entry),
            **self.signature(client),
        }

    def next_add(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the add may reach the bookie now, and is accepted."""
        return super().next_add(client, fragment, entry, bookie) & self.accepts(bookie, client)

    def stores_add(self, client: TermLike, entry: TermLike, bookie: TermLike, when: Term) -> list[Update]:
        """Return the updates of a bookie that overwrites an entry; the flag deletes higher ones (rule 6)."""
        truncates = self.truncates(client, entry)
        return [
            self.adopts(bookie, client),
            *super().stores_add(client, entry, bookie, when),
            *(self.stored[bookie, e].set(NOTHING, when=truncates & (lift(entry) < e)) for e in self.entry),
        ]

    # The two prefixes of a client.

    def start_lac(self, client: TermLike) -> Term:
        """Return the LAC that a takeover starts with (rule 9); `start` is the LAFR."""
        return self.no_lower_than_floor(client, self.highest_answered(client, self.fence_told_lac))

    @definition
    def lac(self, client: TermLike) -> Term:
        """Return the last add confirmed: the one it started with, or a later one with AQ acks."""
        confirmed, start = self.highest_acked(client), self.start_lac(client)
        return if_(confirmed < start, start, confirmed)

    def is_frozen(self, client: TermLike) -> Term:
        """Return whether the client's adds carry the prefixes that its takeover started with (rule 9)."""
        return ~self.is_writing[client] & (self.unbounded.recovery_adds == "frozen")

    def is_acknowledged(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether the client told its caller that its value at that entry is safe (rule 14)."""
        above_no_op = exists(self.entry, lambda n: (n < entry) & self.negative(client, n))
        own = any_of(lift(WRITER) == client, above_no_op)
        return own & self.pushed(client, entry) & (entry <= self.highest_acked(client))

    # Ensemble changes: a client that writes commits them, a takeover keeps them to itself.

    def publishes_changes(self, client: Parameter) -> TermLike:
        """Return whether the client's change goes to the metadata store at once."""
        return self.is_writing[client]

    def may_commit(self, client: Parameter) -> Term:
        """Return whether the ledger is open in the client's term, or in recovery for a takeover."""
        writes = self.is_writing[client]
        may_publish = writes & (self.status == Status.OPEN) & ~self.is_overtaken(client)
        return any_of(may_publish, ~writes & (self.status == Status.IN_RECOVERY))

    def on_change(self, client: Parameter, called: Term) -> list[Update]:
        """Return no update: pinned bookies keep their acks, so the LAC does not fall."""
        return []

    # Takeovers.

    def fence_sent(self, client: TermLike, bookie: TermLike) -> Term:
        """Return whether the client sent the bookie a fencing read in its takeover."""
        return (lift(WRITER) != client) & super().fence_sent(client, bookie)

    def fence_in_flight(self, client: TermLike, bookie: TermLike) -> Term:
        """Return whether the fencing read is on its way, and will be accepted."""
        return super().fence_in_flight(client, bookie) & self.accepts(bookie, client)

    def on_fence(self, client: TermLike, bookie: TermLike) -> list[Update]:
        """Return the updates for a fencing read: the term, and the LAC that the answer tells (rule 9)."""
        told = self.fence_told_lac[client, bookie].set(self.heard(bookie, self.sent_lac))
        return [self.adopts(bookie, client), told]

    def fence_answer_says(
        self, client: TermLike, bookie: TermLike, lac: TermLike, unknown: TermLike
    ) -> dict[str, TermLike]:
        """Return the content of an answer to a fencing read: the bookie's LAC and LAFR (rule 9)."""
        told, now = self.fence_told_lac[client, bookie], self.heard(bookie, self.sent_lac)
        handled = self.fence_handled[client, bookie]
        return {"lac": if_(handled, told, now), "lafr": lac, **self.signature(client)}

    def read_in_flight(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the recovery read is on its way, and will be accepted."""
        accepts = any_of(self.unbounded.read_term == "no", self.accepts(bookie, client))
        return super().read_in_flight(client, entry, bookie) & accepts

    @definition
    def negative(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether reading ended at the entry: it is absent, and was not found."""
        return super().negative(client, entry) & ~self.positive(client, entry)

    def on_read(self, client: TermLike, entry: TermLike, bookie: TermLike, content: Term) -> list[Update]:
        """Return the update for a recovery read: the term, if it carries one."""
        return [self.adopts(bookie, client)] if self.unbounded.read_term == "yes" else []


# Writing.


def create_ledger(s: UnboundedLedger) -> Action:
    """Create the ledger, open, in term 1 (rule 2, ClientCreatesLedger)."""
    opens = s.ledger_term.set(s.term[WRITER]), s.is_writing[WRITER].set(True)
    return also(metadata.create_ledger(s), *opens)


def push(s: UnboundedLedger, client: Parameter, fragment: Parameter, entry: Parameter) -> Action:
    """Send the next value as the next entry (rules 3 and 12, ClientSendsAddEntryRequests)."""
    value = s.values_pushed + 1
    return Action(
        when=s.is_writing[client]
        & s.may_queue_in(client, fragment)
        & s.may_send(client, fragment, entry)
        & (s.start(client) < entry)
        & s.pushed_below(client, entry)
        & (s.values_pushed < s.unbounded.values),
        then=[
            s.values_pushed.set(value),
            s.found[client, entry].set(value),
            *adds.sends(s, client, fragment, entry),
        ],
        actor=client,
        sent=[adds.adds(s, client, fragment, entry)],
    )


def close_ledger(s: UnboundedLedger, client: Parameter) -> Action:
    """Close the open ledger when nothing is pending and no client has taken over (rule 13).

    A client that cannot close it does nothing any more (ClientClosesLedgerSuccess, ClientClosesLedgerFail).
    """
    return Action(
        when=s.is_writing[client]
        & (s.status == Status.OPEN)
        & ~s.is_overtaken(client)
        & ~exists(s.entry, lambda e: s.pending(client, e)),
        then=[
            s.status.set(Status.CLOSED),
            s.last_entry.set(s.lac(client)),
            s.phase[client].set(Phase.CLOSED),
            s.is_writing[client].set(False),
        ],
        actor=client,
        note="closes the ledger at its LAC",
    )


# Terms.


def reject(s: UnboundedLedger, client: Parameter, bookie: Parameter) -> Action:
    """Answer InvalidTerm to a request of a term below the bookie's; change nothing else (rule 5).

    One such answer stands for all, because the bookie will never accept a request of that client
    (BookieRejectsRequest).
    """

    def read_waits(e: Term) -> Term:
        return s.read_sent[client, e] & s.read_to(client, e, bookie) & ~s.read_handled[client, e, bookie]

    requested = any_of(
        exists_over((s.fragment, s.entry), lambda g, e: s.add_in_flight(client, g, e, bookie)),
        s.fence_sent(client, bookie) & ~s.fence_handled[client, bookie],
        exists(s.entry, read_waits) & (s.unbounded.read_term == "yes"),
    )
    return Action(
        when=requested & ~s.accepts(bookie, client) & ~s.rejected[client, bookie],
        then=[s.rejected[client, bookie].set(True)],
        actor=bookie,
        sent=[message("InvalidTerm", bookie, client)],
        note="rejects a request of {client}, whose term is below its own",
    )


def withdraw(s: UnboundedLedger, client: Parameter, bookie: Parameter) -> Action:
    """Receive InvalidTerm and withdraw for good (rule 7, ClientWithdraws)."""
    return Action(
        when=(s.phase[client] == Phase.ACTIVE) & s.rejected[client, bookie],
        then=[s.phase[client].set(Phase.GONE), s.is_writing[client].set(False)],
        actor=client,
        received=message("InvalidTerm", bookie, client),
        note="has been overtaken, and withdraws",
    )


# Takeovers.


def take_over(s: UnboundedLedger, client: Parameter) -> Action:
    """Put the ledger in recovery in the next term, and fence its last ensemble (rule 8)."""
    action = also(fencing.begin_recovery(s, client), s.ledger_term.set(s.term[client]))
    is_next = s.ledger_term + 1 == s.term[client]
    return replace(action, when=action.when & is_next, note="puts the ledger in recovery, in its own term")


def open_again(s: UnboundedLedger, client: Parameter, entry: Parameter) -> Action:
    """Open the ledger again when nothing is pending, the NoOp at `entry` included (rule 12).

    The client writes on. Its own fragments become the ledger's (ClientChangesTermToOpen).
    """
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & ~s.is_writing[client]
        & s.negative(client, entry)
        & (s.written_up_to(client) == entry)
        & (s.status == Status.IN_RECOVERY)
        & ~s.is_overtaken(client),
        then=[s.status.set(Status.OPEN), s.is_writing[client].set(True), *s.publishes_metadata(client)],
        actor=client,
        note="opens the ledger again, to write above entry {entry}",
    )


# The system: every action in the order in which messages flow, one client after another.


MEANINGS = {
    "handle fence": "Adopt the term on a bookie and answer with its LAC and LAFR (rules 5 and 9).",
    "receive fence answer": "Receive the LAC and LAFR of a bookie (rule 9).",
    "handle read": "Adopt the term on a bookie and answer with the stored entry (rule 5).",
    "write back": "Write an entry that was read back, or the NoOp where reading ended (rules 10 and 11).",
    "handle add": "Adopt the term on a bookie and overwrite the entry, in a takeover or not (rules 5 and 6).",
    "receive ack": GUARANTEED["receive ack"],
}
"""The meanings of actions whose definitions the proposal replaces."""


def ledger(parameters: UnboundedParameters) -> System:
    """Return the transition system of one instance, without properties."""
    s = UnboundedLedger(parameters)
    return System(
        state=s,
        actions=with_meanings(
            MEANINGS,
            each(create_ledger, s),
            in_turn(
                "client",
                each(take_over, s, s.recoverer),
                each(fencing.handle_fence, s, s.recoverer, s.bookie),
                each(fencing.receive_fence_answer, s, s.recoverer, s.bookie),
                in_turn(
                    "entry",
                    each(recovery.send_reads, s, s.recoverer, s.entry),
                    each(recovery.handle_read, s, s.recoverer, s.entry, s.bookie),
                    each(recovery.receive_read_answer, s, s.recoverer, s.entry, s.bookie),
                ),
                in_turn(
                    "fragment",
                    each(recovery.write_back, s, s.recoverer, s.fragment, s.entry),
                    each(push, s, s.client, s.fragment, s.entry),
                    *adds_and_changes(s, s.client),
                ),
                each(open_again, s, s.recoverer, s.entry),
                each(close_ledger, s, s.client),
            ),
            each(reject, s, s.client, s.bookie),
            each(withdraw, s, s.client, s.bookie),
        ),
        caps={"values": parameters.values, "clients": parameters.clients, "fragments": len(s.fragment)},
    )
