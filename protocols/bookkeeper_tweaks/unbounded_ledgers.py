"""Unbounded ledgers over guaranteed write quorum: clients take over a ledger in turn and write on.

A number, the term, replaces the fenced flag. Recovery ends with an empty entry, a NoOp, which truncates old
entries beyond it. The ledger is then open again.

The rules are numbered in docs/tweaks.md. Everything else is as in guaranteed_write_quorum.py. The common
part is in replication.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fencepost.encoding.language.actions import Action, each, in_turn
from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.messages import Broadcast, Message, message, to_each
from fencepost.encoding.language.parameters import parameter, switch
from fencepost.encoding.language.quantifiers import exists, exists_over, forall
from fencepost.encoding.language.sorts import BOOL, Sort, integers, labels, members
from fencepost.encoding.language.state import family, variable
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import FALSE, Parameter, Term, TermLike, any_of, lift
from fencepost.protocols.bookkeeper.values import Status
from fencepost.protocols.bookkeeper_tweaks.replication import ReplicatedLedger, TweakSizes

CREATOR = "c1"
NOTHING = "nothing"
NO_OP = "no-op"

# Parameters and switches. The first value of each switch is the proposal, the second a mutant of it.

_MODULE = "Vanlightly/bookkeeper-tlaplus, tweaks/ProtocolUnboundedLedgersAndGWQ.tla"


@dataclass(frozen=True)
class UnboundedParameters(TweakSizes):
    """One instance: bookies and quorums, then the sizes and switches of this variant."""

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
    def entries(self) -> int:
        """The number of possible entry ids: one for each value and each takeover's NoOp (rule 3)."""
        return self.values + self.clients - 1


# State of the metadata store, the clients and the bookies.


class UnboundedPhase(Enum):
    """The phase of a client's work on the ledger."""

    IDLE = "idle"
    RECOVERING = "recovering"
    WRITING = "writing"
    CLOSED = "closed"
    """The client closed the ledger."""
    WITHDRAWN = "withdrawn"
    """The client received InvalidTerm, and does nothing any more."""


class UnboundedLedger(ReplicatedLedger):
    """The state of one ledger."""

    parameters: UnboundedParameters
    nothing = NOTHING

    def __init__(self, p: UnboundedParameters) -> None:
        """Declare the state variables."""
        super().__init__(p, labels("client", "c", p.clients), p.entries, p.fragments)
        bookie, client, entry = self.bookie, self.client, self.entry
        self.successor = Sort("successor", client.values[1:], part_of="client")
        values = tuple(f"v{i}" for i in range(1, p.values + 1))
        self.value = Sort("value", values, part_of="content")
        content = Sort("content", (NOTHING, *values, NO_OP))

        # A client takes the ledger over at most once, and clients without history are alike. So the client of
        # term k is the k-th, and the client named in a message also gives its term (rules 1, 2 and 4).
        self.term = family(integers(1, p.clients), client, initial=lambda c: client.values.index(c) + 1)

        # Metadata store.
        self.status = variable(members(Status))
        self.ledger_term = variable(integers(0, p.clients))
        self.last_entry = variable(self.prefix)
        self.declare_fragments()

        # Bookies: one content for each entry id, and the highest term seen (rule 2).
        self.stored = family(content, bookie, entry)
        self.bookie_term = family(integers(0, p.clients), bookie)

        # Every client: its copy of the metadata, its adds with their LAC and LAFR, and the answers.
        self.declare_clients(UnboundedPhase)
        self.content = family(content, client, entry)
        """The content that the client read or pushed as that entry."""
        self.declare_adds()
        self.declare_acks()
        self.rejected = family(BOOL, client, bookie)
        """Whether the bookie answered the client with InvalidTerm: the bookie has a higher term for good."""
        self.used = family(BOOL, self.value)
        """Whether some client has pushed the value. No client pushes it again (rule 3)."""
        self.before = family(
            BOOL, self.value, self.value, initial=lambda v, w: values.index(v) < values.index(w)
        )

        # Takeovers: the fencing reads and the recovery reads. (The creator's row stays as it is.)
        self.base = family(self.fragment, client)
        self.fence_handled = family(BOOL, client, bookie)
        self.fence_lac = family(self.prefix, client, bookie)
        self.fence_lafr = family(self.prefix, client, bookie)
        self.fence_answered = family(BOOL, client, bookie)
        self.declare_reads(entry, content)

        self.declare_losses()

    # Adds.

    def is_no_op(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether the client's reading ended at the entry: it writes the NoOp there (rule 11)."""
        return self.negative(client, entry)

    def content_sent(self, client: TermLike, entry: TermLike) -> Term:
        """Return the content that the client sends as the entry."""
        return if_(self.is_no_op(client, entry), NO_OP, self.content[client, entry])

    def truncates(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether adds of the entry carry the truncate flag, at every sending (rules 4 and 11)."""
        return self.is_no_op(client, entry) if self.parameters.truncation == "yes" else FALSE

    # Terms, where a client starts, and how far it has come.

    def accepts(self, bookie: TermLike, client: TermLike) -> Term:
        """Return whether the client's term is not below the bookie's (rule 5)."""
        return self.bookie_term[bookie] <= self.term[client]

    def overtaken(self, client: TermLike) -> Term:
        """Return whether a later client has taken over (rules 12 and 13).

        The metadata's version and term are then no longer the client's.
        """
        return self.ledger_term != self.term[client]

    def start_lac(self, client: TermLike) -> Term:
        """Return the LAC that a takeover starts with (rule 9).

        Fencing answers after coverage do not move it.
        """
        return self.highest_told(client, self.fence_lac)

    def start(self, client: TermLike) -> Term:
        """Return the LAFR that a takeover starts with, above which it reads (rules 9 and 10)."""
        return self.highest_told(client, self.fence_lafr)

    def confirmed(self, client: TermLike) -> Term:
        """Return the end of the run of entries above the start LAFR that have AQ acks."""
        return self.run(client, self.parameters.ack_quorum)

    def lac(self, client: TermLike) -> Term:
        """Return the last add confirmed: the one it started with, or a later one with AQ acks."""
        confirmed, start = self.confirmed(client), self.start_lac(client)
        return if_(confirmed < start, start, confirmed)

    def carried_lac(self, client: TermLike) -> Term:
        """Return the LAC that an add carries if it is sent now; in a takeover the frozen one (rule 9)."""
        return if_(self._frozen(client), self.start_lac(client), self.lac(client))

    def carried_lafr(self, client: TermLike) -> Term:
        """Return the LAFR that an add carries if it is sent now; in a takeover the frozen one (rule 9)."""
        return if_(self._frozen(client), self.start(client), self.lafr(client))

    def _frozen(self, client: TermLike) -> Term:
        frozen = self.parameters.recovery_adds == "frozen"
        return (self.phase[client] == UnboundedPhase.RECOVERING) if frozen else FALSE

    def acknowledged(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether the client told its caller that its value at that entry is safe (rule 14)."""
        above_no_op = exists(self.entry, lambda n: (n < entry) & self.is_no_op(client, n))
        own = any_of(lift(CREATOR) == client, above_no_op)
        return own & self.pushed(client, entry) & (entry <= self.confirmed(client))

    # Takeovers.

    def fence_sent(self, client: TermLike, bookie: TermLike) -> Term:
        """Return whether the client sent the bookie a fencing read.

        It sends them to the last ensemble when it takes over.
        """
        takes_over = (self.phase[client] != UnboundedPhase.IDLE) & (lift(CREATOR) != client)
        return takes_over & self.own_member[client, self.base[client], bookie]

    def closed_by_another(self) -> Term:
        """Return whether a client that took the ledger over has closed it."""
        return exists(self.successor, lambda c: self.phase[c] == UnboundedPhase.CLOSED)


# Messages, as a trace shows them. Requests and answers carry the requester's term (rule 4).


def add(
    s: UnboundedLedger,
    client: TermLike,
    fragment: TermLike,
    entry: TermLike,
    bookie: TermLike,
    when: TermLike = True,
    content: TermLike | None = None,
    now: bool = False,
) -> Message:
    """Return the message of an add: new, of a takeover, or sent again.

    With `now` the add is being sent. `content` is given if it is new.
    """
    return message(
        "add",
        client,
        bookie,
        about={"entry": entry, "fragment": fragment},
        says={
            "term": s.term[client],
            "content": s.content_sent(client, entry) if content is None else content,
            **s.prefixes(client, fragment, entry, now),
            "truncate": s.truncates(client, entry),
        },
        lost=s.add_lost[client, fragment, entry, bookie],
        when=when,
    )


def add_answer(
    s: UnboundedLedger, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike
) -> Message:
    """Return the answer to an add that was stored."""
    return message(
        "add answer",
        bookie,
        client,
        about={"entry": entry, "fragment": fragment},
        says={"term": s.term[client]},
        lost=s.add_answer_lost[client, fragment, entry, bookie],
    )


def fence(s: UnboundedLedger, client: TermLike, bookie: TermLike, when: TermLike = True) -> Message:
    """Return a fencing read."""
    return message("fence", client, bookie, says={"term": s.term[client]}, when=when)


def fence_answer(
    s: UnboundedLedger, client: TermLike, bookie: TermLike, lac: TermLike, lafr: TermLike
) -> Message:
    """Return the answer to a fencing read, with the bookie's LAC and LAFR (rule 9)."""
    return message("fence answer", bookie, client, says={"term": s.term[client], "lac": lac, "lafr": lafr})


def read(
    s: UnboundedLedger, client: TermLike, entry: TermLike, bookie: TermLike, when: TermLike = True
) -> Message:
    """Return a recovery read of an entry."""
    says: dict[str, TermLike] = {"term": s.term[client]} if s.parameters.read_term == "yes" else {}
    return message("read", client, bookie, about={"entry": entry}, says=says, when=when)


def read_answer(client: TermLike, entry: TermLike, bookie: TermLike, content: Term) -> Message:
    """Return the answer to a recovery read; the content `nothing` means NoSuchEntry."""
    return message("read answer", bookie, client, about={"entry": entry}, says={"content": content})


def invalid_term(client: TermLike, bookie: TermLike) -> Message:
    """Return the answer to any request of a term below the bookie's (rule 5)."""
    return message("InvalidTerm", bookie, client)


# Writing.


def create_ledger(s: UnboundedLedger) -> Action:
    """Create the ledger, open, in term 1 (rule 2, ClientCreatesLedger)."""
    return Action(
        when=s.status == Status.NONE,
        then=[
            s.status.set(Status.OPEN),
            s.ledger_term.set(s.term[CREATOR]),
            s.phase[CREATOR].set(UnboundedPhase.WRITING),
        ],
        actor=CREATOR,
        note="creates the ledger, open",
    )


def push(
    s: UnboundedLedger, client: Parameter, fragment: Parameter, entry: Parameter, value: Parameter
) -> Action:
    """Send the next value as the next entry (rules 3 and 12, ClientSendsAddEntryRequests).

    Values that were not pushed are alike, so the next one is the lowest of them.
    """
    next_value = forall(s.value, lambda v: implies(s.before[v, value], s.used[v]))
    return Action(
        when=(s.phase[client] == UnboundedPhase.WRITING)
        & s.may_send(client, fragment, entry)
        & (s.start(client) < entry)
        & s.in_order(client, entry)
        & ~s.used[value]
        & next_value,
        then=[
            s.used[value].set(True),
            s.content[client, entry].set(value),
            *s.sends(client, fragment, entry),
        ],
        actor=client,
        sent=[_adds(s, client, fragment, entry, value)],
    )


def close_ledger(s: UnboundedLedger, client: Parameter) -> Action:
    """Close the open ledger when nothing is pending and no client has taken over (rule 13).

    A client that cannot close it withdraws and does nothing any more (ClientClosesLedgerSuccess,
    ClientClosesLedgerFail).
    """
    return Action(
        when=(s.phase[client] == UnboundedPhase.WRITING)
        & (s.status == Status.OPEN)
        & ~s.overtaken(client)
        & ~exists(s.entry, lambda e: s.pending(client, e)),
        then=[
            s.status.set(Status.CLOSED),
            s.last_entry.set(s.lac(client)),
            s.phase[client].set(UnboundedPhase.CLOSED),
        ],
        actor=client,
        note="closes the ledger at its LAC",
    )


# Adds and their answers, in a takeover and afterwards.


def _adds(
    s: UnboundedLedger,
    client: Parameter,
    fragment: Parameter,
    entry: Parameter,
    content: TermLike | None = None,
) -> Broadcast:
    """Return the messages that bring the entry to its ensemble; `content` is given if it is new."""
    return s.to_ensemble(
        client,
        fragment,
        lambda b, when: add(s, client, fragment, entry, b, when=when, content=content, now=True),
    )


def handle_add(
    s: UnboundedLedger, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """Adopt the term on a bookie and overwrite the entry, in a takeover or not (rules 5 and 6).

    With the truncate flag, all higher entries are deleted (BookieSendsAddConfirmedResponse).
    """
    index = (client, fragment, entry, bookie)
    truncates = s.truncates(client, entry)
    return Action(
        when=s.next_add(*index) & s.accepts(bookie, client),
        then=[
            s.add_handled[index].set(True),
            s.bookie_term[bookie].set(s.term[client]),
            s.stored[bookie, entry].set(s.content_sent(client, entry)),
            *(s.stored[bookie, e].set(NOTHING, when=truncates & (entry < e)) for e in s.entry),
        ],
        actor=bookie,
        received=add(s, *index),
        sent=[add_answer(s, *index)],
    )


def receive_ack(
    s: UnboundedLedger, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """Receive an ack of a member of the ensemble (ReceiveAddConfirmedResponse).

    LAC and LAFR may move.
    """
    index = (client, fragment, entry, bookie)
    return Action(
        when=any_of(s.phase[client] == UnboundedPhase.RECOVERING, s.phase[client] == UnboundedPhase.WRITING)
        & s.next_answer(*index),
        then=[s.add_answered[index].set(True), s.acked[client, entry, bookie].set(True)],
        actor=client,
        received=add_answer(s, *index),
    )


def reject(s: UnboundedLedger, client: Parameter, bookie: Parameter) -> Action:
    """Answer InvalidTerm to a request of a term below the bookie's; change nothing else (rule 5).

    One such answer stands for all, because the bookie will never accept a request of that client
    (BookieRejectsRequest).
    """

    def add_waits(g: Term, e: Term) -> Term:
        return s.add_in_flight(client, g, e, bookie)

    reads_count = lift(s.parameters.read_term == "yes")
    requested = any_of(
        exists_over((s.fragment, s.entry), add_waits),
        s.fence_sent(client, bookie) & ~s.fence_handled[client, bookie],
        reads_count
        & exists(s.entry, lambda e: s.read_to(client, e, bookie) & ~s.read_handled[client, e, bookie]),
    )
    return Action(
        when=requested & ~s.accepts(bookie, client) & ~s.rejected[client, bookie],
        then=[s.rejected[client, bookie].set(True)],
        actor=bookie,
        sent=[invalid_term(client, bookie)],
        note="rejects a request of {client}, whose term is below its own",
    )


def withdraw(s: UnboundedLedger, client: Parameter, bookie: Parameter) -> Action:
    """Receive InvalidTerm and withdraw for good (rule 7, ClientWithdraws)."""
    return Action(
        when=any_of(s.phase[client] == UnboundedPhase.RECOVERING, s.phase[client] == UnboundedPhase.WRITING)
        & s.rejected[client, bookie],
        then=[s.phase[client].set(UnboundedPhase.WITHDRAWN)],
        actor=client,
        received=invalid_term(client, bookie),
        note="has been overtaken, and withdraws",
    )


# Ensemble changes.


def change_ensemble(
    s: UnboundedLedger, client: Parameter, fragment: Parameter, failed: Parameter, spare: Parameter
) -> Action:
    """Replace a bookie that failed the client from LAFR+1 on, and resend pending entries.

    ChangeEnsemble; as with guaranteed write quorum, rules 6 to 9. A client that writes commits the change,
    and only while the ledger is open and in its term. A client that takes over keeps the change to itself.
    Entries that are sent again keep their truncate flag (rule 11).
    """
    following, lafr = fragment + 1, s.lafr(client)
    writes = s.phase[client] == UnboundedPhase.WRITING
    ensemble = s.members_then(client, fragment, failed, spare)
    resent = s.due(client, fragment, following, lafr)
    return Action(
        when=any_of(
            writes & (s.status == Status.OPEN) & ~s.overtaken(client),
            (s.phase[client] == UnboundedPhase.RECOVERING) & (s.status == Status.IN_RECOVERY),
        )
        & s.replaceable(client, fragment, failed, spare)
        & ~s.pinned(client, failed),
        then=[
            *s.installs(client, following, lafr + 1, ensemble),
            *s.withdraws_acks(client, failed, lafr),
            *s.commits(following, lafr + 1, ensemble, when=writes),
            *s.sends_again(client, following, resent),
        ],
        actor=client,
        sent=[add(s, client, following, e, spare, when=when, now=True) for e, when in resent.items()],
        note="replaces {failed} by {spare}, from its LAFR + 1 on",
    )


# Takeovers.


def take_over(s: UnboundedLedger, client: Parameter) -> Action:
    """Put the ledger in recovery in the next term, and fence its last ensemble (rule 8)."""
    return Action(
        when=(s.phase[client] == UnboundedPhase.IDLE)
        & (s.ledger_term + 1 == s.term[client])
        & any_of(s.status == Status.OPEN, s.status == Status.IN_RECOVERY),
        then=[
            s.status.set(Status.IN_RECOVERY),
            s.ledger_term.set(s.term[client]),
            s.phase[client].set(UnboundedPhase.RECOVERING),
            *s.takes_metadata(client),
        ],
        actor=client,
        sent=[to_each(s.bookie, lambda b: fence(s, client, b, when=s.member[s.last_fragment, b]))],
        note="puts the ledger in recovery, in its own term",
    )


def handle_fence(s: UnboundedLedger, client: Parameter, bookie: Parameter) -> Action:
    """Adopt the term on a bookie and answer with its LAC and LAFR (rules 5 and 9).

    BookieSendsFencingReadLafrResponse.
    """
    lac, lafr = s.heard(bookie, s.sent_lac), s.heard(bookie, s.sent_lafr)
    return Action(
        when=s.fence_sent(client, bookie) & ~s.fence_handled[client, bookie] & s.accepts(bookie, client),
        then=[
            s.bookie_term[bookie].set(s.term[client]),
            s.fence_handled[client, bookie].set(True),
            s.fence_lac[client, bookie].set(lac),
            s.fence_lafr[client, bookie].set(lafr),
        ],
        actor=bookie,
        received=fence(s, client, bookie),
        sent=[fence_answer(s, client, bookie, lac, lafr)],
    )


def receive_fence_answer(s: UnboundedLedger, client: Parameter, bookie: Parameter) -> Action:
    """Receive the LAC and LAFR of a bookie (rule 9).

    Once enough bookies have the term, further answers are ignored.
    """
    index = (client, bookie)
    return Action(
        when=(s.phase[client] == UnboundedPhase.RECOVERING) & s.fence_answer_counts(*index),
        then=[s.fence_answered[index].set(True)],
        actor=client,
        received=fence_answer(s, client, bookie, s.fence_lac[index], s.fence_lafr[index]),
    )


def send_reads(s: UnboundedLedger, client: Parameter, entry: Parameter) -> Action:
    """Read the entries above the client's start LAFR one after another (rule 10)."""
    return Action(
        when=(s.phase[client] == UnboundedPhase.RECOVERING) & s.may_read(client, entry),
        then=[s.read_sent[client, entry].set(True)],
        actor=client,
        sent=[s.to_ensemble(client, s.base[client], lambda b, when: read(s, client, entry, b, when=when))],
    )


def handle_read(s: UnboundedLedger, client: Parameter, entry: Parameter, bookie: Parameter) -> Action:
    """Adopt the term on a bookie and answer with the stored entry (rule 5, BookieSendsReadResponse)."""
    content = s.stored[bookie, entry]
    by_term = s.parameters.read_term == "yes"
    return Action(
        when=s.read_to(client, entry, bookie)
        & ~s.read_handled[client, entry, bookie]
        & (s.accepts(bookie, client) if by_term else lift(True)),
        then=[
            *([s.bookie_term[bookie].set(s.term[client])] if by_term else []),
            s.read_handled[client, entry, bookie].set(True),
            s.read_content[client, entry, bookie].set(content),
        ],
        actor=bookie,
        received=read(s, client, entry, bookie),
        sent=[read_answer(client, entry, bookie, content)],
    )


def receive_read_answer(s: UnboundedLedger, client: Parameter, entry: Parameter, bookie: Parameter) -> Action:
    """Receive the answer to a recovery read (rule 10).

    Answers that arrive after the read is decided are ignored.
    """
    content = s.read_content[client, entry, bookie]
    return Action(
        when=(s.phase[client] == UnboundedPhase.RECOVERING) & s.read_answer_counts(client, entry, bookie),
        then=[
            s.read_answered[client, entry, bookie].set(True),
            s.content[client, entry].set(content, when=content != NOTHING),
        ],
        actor=client,
        received=read_answer(client, entry, bookie, content),
    )


def write_back(s: UnboundedLedger, client: Parameter, fragment: Parameter, entry: Parameter) -> Action:
    """Write an entry that was read to the client's ensemble, or the NoOp where reading ended.

    Rules 10 and 11.
    """
    return Action(
        when=(s.phase[client] == UnboundedPhase.RECOVERING)
        & s.may_send(client, fragment, entry)
        & any_of(s.positive(client, entry), s.is_no_op(client, entry))
        & s.in_order(client, entry),
        then=s.sends(client, fragment, entry),
        actor=client,
        sent=[_adds(s, client, fragment, entry)],
    )


def open_again(s: UnboundedLedger, client: Parameter, entry: Parameter) -> Action:
    """Open the ledger again when nothing is pending, the NoOp at `entry` included (rule 12).

    The client writes on. Its own fragments become the ledger's (ClientChangesTermToOpen).
    """
    written = s.lafr(client) if s.parameters.recovery_done == "at-wq" else s.confirmed(client)
    return Action(
        when=(s.phase[client] == UnboundedPhase.RECOVERING)
        & s.is_no_op(client, entry)
        & (written == entry)
        & (s.status == Status.IN_RECOVERY)
        & ~s.overtaken(client),
        then=[
            s.status.set(Status.OPEN),
            s.phase[client].set(UnboundedPhase.WRITING),
            *s.publishes_metadata(client),
        ],
        actor=client,
        note="opens the ledger again, to write above entry {entry}",
    )


# The system: every action in the order in which messages flow, one client after another.


def ledger(parameters: UnboundedParameters) -> System:
    """Return the transition system of one instance, without properties."""
    s = UnboundedLedger(parameters)
    return System(
        state=s,
        actions=(
            each(create_ledger, s),
            in_turn(
                "client",
                each(take_over, s, s.successor),
                each(handle_fence, s, s.successor, s.bookie),
                each(receive_fence_answer, s, s.successor, s.bookie),
                in_turn(
                    "entry",
                    each(send_reads, s, s.successor, s.entry),
                    each(handle_read, s, s.successor, s.entry, s.bookie),
                    each(receive_read_answer, s, s.successor, s.entry, s.bookie),
                ),
                in_turn(
                    "fragment",
                    each(write_back, s, s.successor, s.fragment, s.entry),
                    each(push, s, s.client, s.fragment, s.entry, s.value),
                    *s.adds_and_changes(s.client, handle_add, receive_ack, change_ensemble),
                ),
                each(open_again, s, s.successor, s.entry),
                each(close_ledger, s, s.client),
            ),
            each(reject, s, s.client, s.bookie),
            each(withdraw, s, s.client, s.bookie),
        ),
        caps={"values": parameters.values, "clients": parameters.clients, "fragments": len(s.fragment)},
    )
