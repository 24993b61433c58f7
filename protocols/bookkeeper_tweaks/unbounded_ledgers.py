"""Unbounded ledgers, on top of guaranteed write quorum: one client after another takes a ledger over and writes on.

A number, the term, replaces the fenced flag. Recovery ends with an empty entry, a NoOp, that truncates whatever
old entries lie beyond it, and the ledger is open again. The rules are numbered in docs/tweaks.md; what is not
said there is as in guaranteed_write_quorum.py. Ensembles are sets of E = WQ bookies.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fencepost.encoding.parameters import parameter, require, switch
from fencepost.encoding.state import Family, StateSpace, choice, family, variable
from fencepost.encoding.system import (
    Action,
    Broadcast,
    Group,
    Message,
    Schema,
    System,
    each,
    in_turn,
    message,
    to_each,
)
from fencepost.encoding.terms import (
    BOOL,
    FALSE,
    TRUE,
    Parameter,
    Sort,
    Term,
    TermLike,
    Update,
    any_of,
    at_least,
    exists,
    forall,
    if_,
    implies,
    integers,
    labels,
    lift,
    maximum,
    members,
)
from fencepost.protocols.bookkeeper.state import Status

CREATOR = "c1"
NOTHING = "nothing"
NO_OP = "no-op"

# Parameters and switches. The first value of each switch is the proposal, the second a mutant of it.

_MODULE = "Vanlightly/bookkeeper-tlaplus, tweaks/ProtocolUnboundedLedgersAndGWQ.tla"


@dataclass(frozen=True)
class Parameters:
    """One instance. Raises BadInput unless 1 <= AQ <= WQ <= N."""

    bookies: int = parameter(2, "N: bookies there are")
    write_quorum: int = parameter(2, "WQ: bookies that each entry is sent to, and the size of an ensemble")
    ack_quorum: int = parameter(1, "AQ: acks that make an entry acknowledged")
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

    def __post_init__(self) -> None:
        require(
            "1 <= ack_quorum <= write_quorum <= bookies",
            1 <= self.ack_quorum <= self.write_quorum <= self.bookies,
            {"ack_quorum": self.ack_quorum, "write_quorum": self.write_quorum, "bookies": self.bookies},
            "for example ack_quorum=2, write_quorum=3, bookies=4",
        )

    @property
    def coverage(self) -> int:
        """(WQ - AQ) + 1: fencing answers that suffice, and negative answers that make an entry absent."""
        return (self.write_quorum - self.ack_quorum) + 1

    @property
    def generations(self) -> int:
        """Ensembles that the ledger can go through: one if no bookie is spare."""
        return self.fragments if self.bookies > self.write_quorum else 1

    @property
    def entries(self) -> int:
        """Entry ids there can be: a value or the NoOp of a takeover each (rule 3)."""
        return self.values + self.clients - 1


# State: facts on the metadata store, the clients and the bookies, and what follows from them.


class Phase(Enum):
    """What a client is doing."""

    IDLE = "idle"
    RECOVERING = "recovering"
    WRITING = "writing"
    CLOSED = "closed"
    """It closed the ledger."""
    WITHDRAWN = "withdrawn"
    """It heard InvalidTerm, and does nothing any more."""


class Ledger(StateSpace):
    """The state of one ledger."""

    def __init__(self, parameters: Parameters) -> None:
        p = self.parameters = parameters
        bookie = self.bookie = labels("bookie", "b", p.bookies)
        client = self.client = labels("client", "c", p.clients)
        self.successor = Sort("successor", client.values[1:], part_of="client")
        entry = self.entry = integers(1, p.entries)
        generation = self.generation_ = integers(1, p.generations)
        """Ensembles of the ledger in order; each starts at its `first` entry and hides what it replaces."""
        self.later_generations = tuple(range(2, p.generations + 1))
        self.prefix = integers(0, p.entries)
        """LAC, LAFR, last entry: everything up to here. 0 is none."""
        first = integers(1, p.entries + 1)
        values = tuple(f"v{i}" for i in range(1, p.values + 1))
        self.value = Sort("value", values, part_of="content")
        content = Sort("content", (NOTHING, *values, NO_OP))
        first_ensemble = bookie.values[: p.write_quorum]

        def at_first(*index: object) -> bool:
            return index[-1] in first_ensemble

        # A client takes the ledger over once at most, and clients without history are alike: so the k-th is
        # the client of term k, and what names a client in a message names its term (rules 1, 2 and 4).
        self.term = family(integers(1, p.clients), client, initial=lambda c: client.values.index(c) + 1)

        # Metadata store.
        self.status = variable(members(Status))
        self.ledger_term = variable(integers(0, p.clients))
        self.last_entry = variable(self.prefix)
        self.generation = variable(generation)
        self.first = family(first, generation)
        self.member = family(BOOL, generation, bookie, initial=at_first)

        # Bookies: one content for each entry id, and the highest term seen (rule 2).
        self.stored = family(content, bookie, entry)
        self.bookie_term = family(integers(0, p.clients), bookie)

        # Every client: its copy of the metadata, its adds with the LAC and LAFR they carry, and their answers.
        self.phase = family(members(Phase), client)
        self.own_generation = family(generation, client)
        self.own_first = family(first, client, generation)
        self.own_member = family(BOOL, client, generation, bookie, initial=at_first)
        self.content = family(content, client, entry)
        """What the client read, or pushed, as that entry."""
        self.sent = family(BOOL, client, generation, entry)
        self.sent_lac = family(self.prefix, client, generation, entry)
        self.sent_lafr = family(self.prefix, client, generation, entry)
        self.add_handled = family(BOOL, client, generation, entry, bookie)
        self.add_answered = family(BOOL, client, generation, entry, bookie)
        self.acked = family(BOOL, client, entry, bookie)
        self.rejected = family(BOOL, client, bookie)
        """The bookie answered a request of the client with InvalidTerm: it has a higher term for good."""
        self.used = family(BOOL, self.value)
        """Some client has pushed the value; none pushes it again (rule 3)."""
        self.before = family(
            BOOL, self.value, self.value, initial=lambda v, w: values.index(v) < values.index(w)
        )

        # Takeovers: the fencing reads and the recovery reads. (The creator's row stays as it is.)
        self.base = family(generation, client)
        """The last ensemble when the takeover began: it is fenced and read from, to the end."""
        self.fence_handled = family(BOOL, client, bookie)
        self.fence_lac = family(self.prefix, client, bookie)
        self.fence_lafr = family(self.prefix, client, bookie)
        self.fence_answered = family(BOOL, client, bookie)
        self.read_sent = family(BOOL, client, entry)
        self.read_handled = family(BOOL, client, entry, bookie)
        self.read_content = family(content, client, entry, bookie)
        self.read_answered = family(BOOL, client, entry, bookie)

        # What the network never delivers. Only adds and their answers overtake what is lost; any other
        # message that never arrives is simply late for ever.
        self.add_lost = choice(client, generation, entry, bookie, fault="lost")
        self.add_answer_lost = choice(client, generation, entry, bookie, fault="lost")

    # Adds. An add is sent because of a generation: to all of its ensemble at first, later to its newcomer only.

    def pushed(self, client: TermLike, entry: TermLike) -> Term:
        """The client has sent something as the entry."""
        return exists(self.generation_, lambda g: self.sent[client, g, entry])

    def add_sent(self, client: TermLike, generation: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """The entry was sent to the bookie because of that generation."""

        def had_it(g: Term) -> Term:
            return (g + 1 == generation) & self.sent[client, g, entry] & self.own_member[client, g, bookie]

        return (
            self.sent[client, generation, entry]
            & self.own_member[client, generation, bookie]
            & ~exists(self.generation_, had_it)
        )

    def add_in_flight(
        self, client: TermLike, generation: TermLike, entry: TermLike, bookie: TermLike
    ) -> Term:
        """The add will reach the bookie and has not yet."""
        index = (client, generation, entry, bookie)
        return self.add_sent(*index) & ~self.add_lost[index] & ~self.add_handled[index]

    def answer_in_flight(
        self, client: TermLike, generation: TermLike, entry: TermLike, bookie: TermLike
    ) -> Term:
        """The answer to an add will reach the client and has not yet."""
        index = (client, generation, entry, bookie)
        return self.add_handled[index] & ~self.add_answer_lost[index] & ~self.add_answered[index]

    def timed_out(self, client: TermLike, bookie: TermLike) -> Term:
        """A write of the client to the bookie may be given up: it has not been answered."""
        return exists(
            self.generation_,
            lambda g: exists(
                self.entry,
                lambda e: self.add_sent(client, g, e, bookie) & ~self.add_answered[client, g, e, bookie],
            ),
        )

    def is_no_op(self, client: TermLike, entry: TermLike) -> Term:
        """The entry is where the client's reading ended: it writes the NoOp there (rule 11)."""
        return self.negative(client, entry)

    def content_sent(self, client: TermLike, entry: TermLike) -> Term:
        """What the client sends as the entry."""
        return if_(self.is_no_op(client, entry), NO_OP, self.content[client, entry])

    def truncates(self, client: TermLike, entry: TermLike) -> Term:
        """The add of that entry carries the truncate flag, whenever it is sent (rules 4 and 11)."""
        return self.is_no_op(client, entry) if self.parameters.truncation == "yes" else FALSE

    # Where a client starts, and how far it has come.

    def accepts(self, bookie: TermLike, client: TermLike) -> Term:
        """The client's term is not below the bookie's (rule 5)."""
        return self.bookie_term[bookie] <= self.term[client]

    def overtaken(self, client: TermLike) -> Term:
        """A later client has taken over: neither version nor term are the client's any more (rules 12 and 13)."""
        return self.ledger_term != self.term[client]

    def _start(self, client: TermLike, told: Family) -> Term:
        """The highest that fencing told, but no lower than what the fragments before the last hold (rule 9)."""
        floor = self.own_first[client, self.base[client]] - 1
        heard = maximum(self.bookie, lambda b: if_(self.fence_answered[client, b], told[client, b], 0))
        return if_(floor < heard, heard, floor)

    def start_lac(self, client: TermLike) -> Term:
        """The LAC that a takeover starts with; answers that come after coverage do not move it (rule 9)."""
        return self._start(client, self.fence_lac)

    def start_lafr(self, client: TermLike) -> Term:
        """The LAFR that a takeover starts with (rule 9); its reading starts above it (rule 10)."""
        return self._start(client, self.fence_lafr)

    def run(self, client: TermLike, acks: int) -> Term:
        """The longest run of entries above the start LAFR that have so many acks each (rule 14)."""

        def reached(n: Term) -> Term:
            return forall(
                self.entry,
                lambda e: implies(
                    (self.start_lafr(client) < e) & (e <= n),
                    at_least(acks, self.bookie, lambda b: self.acked[client, e, b]),
                ),
            )

        return maximum(self.prefix, lambda n: if_(reached(n), n, 0))

    def confirmed(self, client: TermLike) -> Term:
        """Everything up to here, above the start LAFR, has AQ acks."""
        return self.run(client, self.parameters.ack_quorum)

    def lac(self, client: TermLike) -> Term:
        """Last add confirmed: what it started with, or what has AQ acks since."""
        confirmed, start = self.confirmed(client), self.start_lac(client)
        return if_(confirmed < start, start, confirmed)

    def lafr(self, client: TermLike) -> Term:
        """Last add fully replicated: WQ acks, never AQ ones (rule 14)."""
        return self.run(client, self.parameters.write_quorum)

    def carried_lac(self, client: TermLike) -> Term:
        """The LAC that an add carries if it is sent now: in a takeover, the frozen one (rule 9)."""
        return if_(self._frozen(client), self.start_lac(client), self.lac(client))

    def carried_lafr(self, client: TermLike) -> Term:
        """The LAFR that an add carries if it is sent now: in a takeover, the frozen one (rule 9)."""
        return if_(self._frozen(client), self.start_lafr(client), self.lafr(client))

    def _frozen(self, client: TermLike) -> Term:
        frozen = self.parameters.recovery_adds == "frozen"
        return (self.phase[client] == Phase.RECOVERING) if frozen else FALSE

    def pinned(self, client: TermLike, bookie: TermLike) -> Term:
        """The bookie has acked an entry above the LAFR and up to the LAC (guaranteed write quorum, rule 8)."""
        return exists(
            self.entry,
            lambda e: (self.lafr(client) < e) & (e <= self.lac(client)) & self.acked[client, e, bookie],
        )

    def acknowledged(self, client: TermLike, entry: TermLike) -> Term:
        """The client has told its caller that the value it pushed as that entry is safe (rule 14: each of them)."""
        above_no_op = exists(self.entry, lambda n: (n < entry) & self.is_no_op(client, n))
        own = any_of(lift(CREATOR) == client, above_no_op)
        return own & self.pushed(client, entry) & (entry <= self.confirmed(client))

    def heard(self, bookie: TermLike, carried: Family) -> Term:
        """The highest LAC (`sent_lac`) or LAFR (`sent_lafr`) that came with an add the bookie stored (rule 6)."""

        def came(c: Term, g: Term, e: Term) -> Term:
            return if_(self.add_handled[c, g, e, bookie], carried[c, g, e], 0)

        return maximum(
            self.client,
            lambda c: maximum(self.generation_, lambda g: maximum(self.entry, lambda e: came(c, g, e))),
        )

    # Takeovers.

    def fence_sent(self, client: TermLike, bookie: TermLike) -> Term:
        """The client sent the bookie a fencing read: to the last ensemble, when it took over."""
        takes_over = (self.phase[client] != Phase.IDLE) & (lift(CREATOR) != client)
        return takes_over & self.own_member[client, self.base[client], bookie]

    def read_to(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """The bookie is asked for the entry: as a member of the ensemble that was the last."""
        return self.read_sent[client, entry] & self.own_member[client, self.base[client], bookie]

    def covered(self, client: TermLike) -> Term:
        """Enough bookies of the ensemble have the client's term."""
        return at_least(self.parameters.coverage, self.bookie, lambda b: self.fence_answered[client, b])

    def positive(self, client: TermLike, entry: TermLike) -> Term:
        """The recovery read has found the entry: one bookie has something (rule 10)."""
        return exists(
            self.bookie,
            lambda b: self.read_answered[client, entry, b] & (self.read_content[client, entry, b] != NOTHING),
        )

    def negative(self, client: TermLike, entry: TermLike) -> Term:
        """The recovery read has found that the entry is not there: WQ - AQ + 1 NoSuchEntry.

        A read that is neither positive nor negative stays unknown, and the takeover goes no further (rule 10).
        """
        absent = at_least(
            self.parameters.coverage,
            self.bookie,
            lambda b: self.read_answered[client, entry, b] & (self.read_content[client, entry, b] == NOTHING),
        )
        return absent & ~self.positive(client, entry)

    # What properties ask.

    def has(self, bookie: TermLike, entry: TermLike) -> Term:
        """Something is stored as the entry on the bookie."""
        return self.stored[bookie, entry] != NOTHING

    def closed_by_another(self) -> Term:
        """A client that took the ledger over has closed it."""
        return exists(self.successor, lambda c: self.phase[c] == Phase.CLOSED)

    def in_write_set(self, entry: TermLike, bookie: TermLike) -> Term:
        """By the metadata store, the entry belongs on the bookie."""

        def hides(g: Term, h: Term) -> Term:
            return (g < h) & (h <= self.generation) & (self.first[h] <= entry)

        def holds_entry(g: Term) -> Term:
            hidden = exists(self.generation_, lambda h: hides(g, h))
            return (g <= self.generation) & (self.first[g] <= entry) & ~hidden

        return exists(self.generation_, lambda g: holds_entry(g) & self.member[g, bookie])


# Messages: what a person sees travel. Requests and answers carry the requester's term (rule 4).


def add(
    s: Ledger,
    client: TermLike,
    generation: TermLike,
    entry: TermLike,
    bookie: TermLike,
    when: TermLike = True,
    content: TermLike | None = None,
    now: bool = False,
) -> Message:
    """An add: new, of a takeover, or sent again. `now` says that it is being sent, `content` what, if that is new."""
    index = (client, generation, entry)
    return message(
        "add",
        client,
        bookie,
        about={"entry": entry, "fragment": generation},
        says={
            "term": s.term[client],
            "content": s.content_sent(client, entry) if content is None else content,
            "lac": s.carried_lac(client) if now else s.sent_lac[index],
            "lafr": s.carried_lafr(client) if now else s.sent_lafr[index],
            "truncate": s.truncates(client, entry),
        },
        lost=s.add_lost[client, generation, entry, bookie],
        when=when,
    )


def add_answer(
    s: Ledger, client: TermLike, generation: TermLike, entry: TermLike, bookie: TermLike
) -> Message:
    """The answer to an add that was stored."""
    return message(
        "add answer",
        bookie,
        client,
        about={"entry": entry, "fragment": generation},
        says={"term": s.term[client]},
        lost=s.add_answer_lost[client, generation, entry, bookie],
    )


def fence(s: Ledger, client: TermLike, bookie: TermLike, when: TermLike = True) -> Message:
    """A fencing read."""
    return message("fence", client, bookie, says={"term": s.term[client]}, when=when)


def fence_answer(s: Ledger, client: TermLike, bookie: TermLike, lac: TermLike, lafr: TermLike) -> Message:
    """The bookie has the client's term, and tells its LAC and LAFR (rule 9)."""
    return message("fence answer", bookie, client, says={"term": s.term[client], "lac": lac, "lafr": lafr})


def read(s: Ledger, client: TermLike, entry: TermLike, bookie: TermLike, when: TermLike = True) -> Message:
    """A recovery read of an entry."""
    says: dict[str, TermLike] = {"term": s.term[client]} if s.parameters.read_term == "yes" else {}
    return message("read", client, bookie, about={"entry": entry}, says=says, when=when)


def read_answer(client: TermLike, entry: TermLike, bookie: TermLike, content: Term) -> Message:
    """What is stored as the entry; `nothing` is NoSuchEntry."""
    return message("read answer", bookie, client, about={"entry": entry}, says={"content": content})


def invalid_term(client: TermLike, bookie: TermLike) -> Message:
    """The answer to any request of a term below the bookie's (rule 5)."""
    return message("InvalidTerm", bookie, client)


# Writing.


def create_ledger(s: Ledger) -> Action:
    """The first client creates the ledger, open, in term 1 (rule 2, ClientCreatesLedger)."""
    return Action(
        when=s.status == Status.NONE,
        then=[
            s.status.set(Status.OPEN),
            s.ledger_term.set(s.term[CREATOR]),
            s.phase[CREATOR].set(Phase.WRITING),
        ],
        actor=CREATOR,
        note="creates the ledger, open",
    )


def push(s: Ledger, client: Parameter, generation: Parameter, entry: Parameter, value: Parameter) -> Action:
    """A client that writes sends the next value as its next entry (rules 3 and 12, ClientSendsAddEntryRequests).

    Values are alike before they are pushed, so the next is the lowest that no client has pushed.
    """
    start = s.start_lafr(client)
    in_order = forall(s.entry, lambda e: implies((start < e) & (e < entry), s.pushed(client, e)))
    next_value = forall(s.value, lambda v: implies(s.before[v, value], s.used[v]))
    return Action(
        when=(s.phase[client] == Phase.WRITING)
        & (s.own_generation[client] == generation)
        & ~s.sent[client, generation, entry]
        & ~s.pushed(client, entry)
        & (start < entry)
        & in_order
        & ~s.used[value]
        & next_value,
        then=[
            s.used[value].set(True),
            s.content[client, entry].set(value),
            *_sends(s, client, generation, entry),
        ],
        actor=client,
        sent=[_adds(s, client, generation, entry, value)],
    )


def close_ledger(s: Ledger, client: Parameter) -> Action:
    """A client that writes, not overtaken, closes the open ledger with nothing pending (rule 13).

    One that cannot withdraws: it does nothing any more (ClientClosesLedgerSuccess, ClientClosesLedgerFail).
    """
    lafr = s.lafr(client)
    return Action(
        when=(s.phase[client] == Phase.WRITING)
        & (s.status == Status.OPEN)
        & ~s.overtaken(client)
        & ~exists(s.entry, lambda e: s.pushed(client, e) & (lafr < e)),
        then=[
            s.status.set(Status.CLOSED),
            s.last_entry.set(s.lac(client)),
            s.phase[client].set(Phase.CLOSED),
        ],
        actor=client,
        note="closes the ledger at its LAC",
    )


# Adds and their answers, in a takeover and afterwards.


def _sends(s: Ledger, client: Parameter, generation: Parameter, entry: Parameter) -> list[Update]:
    """The entry goes to the ensemble of that generation, with the LAC and LAFR of now."""
    index = (client, generation, entry)
    return [
        s.sent[index].set(True),
        s.sent_lac[index].set(s.carried_lac(client)),
        s.sent_lafr[index].set(s.carried_lafr(client)),
    ]


def _adds(
    s: Ledger, client: Parameter, generation: Parameter, entry: Parameter, content: TermLike | None = None
) -> Broadcast:
    return to_each(
        s.bookie,
        lambda b: add(
            s,
            client,
            generation,
            entry,
            b,
            when=s.own_member[client, generation, b],
            content=content,
            now=True,
        ),
    )


def _lower_adds(s: Ledger, client: Parameter, entry: Parameter, bookie: Parameter) -> Term:
    """A lower add of the client will reach the bookie too: it goes first."""
    return exists(
        s.entry,
        lambda e: (e < entry) & exists(s.generation_, lambda g: s.add_in_flight(client, g, e, bookie)),
    )


def handle_add(
    s: Ledger, client: Parameter, generation: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """A bookie adopts the term and overwrites the entry, in a takeover or not (rules 5 and 6).

    With the truncate flag it deletes all higher entries (BookieSendsAddConfirmedResponse).
    """
    index = (client, generation, entry, bookie)
    truncates = s.truncates(client, entry)
    return Action(
        when=s.add_in_flight(*index) & ~_lower_adds(s, client, entry, bookie) & s.accepts(bookie, client),
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
    s: Ledger, client: Parameter, generation: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """A member of the client's ensemble has stored the entry: LAC and LAFR may move (ReceiveAddConfirmedResponse)."""
    index = (client, generation, entry, bookie)
    lower = exists(
        s.entry,
        lambda e: (e < entry) & exists(s.generation_, lambda g: s.answer_in_flight(client, g, e, bookie)),
    )
    return Action(
        when=any_of(s.phase[client] == Phase.RECOVERING, s.phase[client] == Phase.WRITING)
        & s.own_member[client, s.own_generation[client], bookie]
        & s.answer_in_flight(*index)
        & ~lower,
        then=[s.add_answered[index].set(True), s.acked[client, entry, bookie].set(True)],
        actor=client,
        received=add_answer(s, *index),
    )


def reject(s: Ledger, client: Parameter, bookie: Parameter) -> Action:
    """A bookie has a request of a term below its own: it answers InvalidTerm, and nothing changes (rule 5).

    One such answer stands for all: the bookie will never accept a request of that client (BookieRejectsRequest).
    """

    def add_waits(g: Term, e: Term) -> Term:
        return s.add_in_flight(client, g, e, bookie)

    reads_count = TRUE if s.parameters.read_term == "yes" else FALSE
    requested = any_of(
        exists(s.generation_, lambda g: exists(s.entry, lambda e: add_waits(g, e))),
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


def withdraw(s: Ledger, client: Parameter, bookie: Parameter) -> Action:
    """A client hears InvalidTerm, and withdraws for good (rule 7, ClientWithdraws)."""
    return Action(
        when=any_of(s.phase[client] == Phase.RECOVERING, s.phase[client] == Phase.WRITING)
        & s.rejected[client, bookie],
        then=[s.phase[client].set(Phase.WITHDRAWN)],
        actor=client,
        received=invalid_term(client, bookie),
        note="has been overtaken, and withdraws",
    )


# Ensemble changes.


def change_ensemble(
    s: Ledger, client: Parameter, generation: Parameter, failed: Parameter, spare: Parameter
) -> Action:
    """A bookie that failed the client is replaced from LAFR+1 on, and pending entries move along (ChangeEnsemble).

    As with guaranteed write quorum (its rules 6 to 9). A client that writes commits the change, and may only
    while the ledger is open and in its term; one that takes over keeps it to itself. What is sent again keeps
    its truncate flag (rule 11).
    """
    following, lafr = generation + 1, s.lafr(client)
    writes = s.phase[client] == Phase.WRITING
    members_then = {
        b: any_of(spare == b, s.own_member[client, generation, b] & (failed != b)) for b in s.bookie
    }
    due = {e: (lafr < e) & s.sent[client, generation, e] & ~s.sent[client, following, e] for e in s.entry}
    then = [
        s.own_generation[client].set(following),
        s.own_first[client, following].set(lafr + 1),
        *(s.own_member[client, following, b].set(member) for b, member in members_then.items()),
        *(s.acked[client, e, failed].set(False, when=lafr < e) for e in s.entry),
        s.generation.set(following, when=writes),
        s.first[following].set(lafr + 1, when=writes),
        *(s.member[following, b].set(member, when=writes) for b, member in members_then.items()),
    ]
    for e, when in due.items():
        index = (client, following, e)
        then += [
            s.sent[index].set(True, when=when),
            s.sent_lac[index].set(s.carried_lac(client), when=when),
            s.sent_lafr[index].set(s.carried_lafr(client), when=when),
        ]
    return Action(
        when=any_of(
            writes & (s.status == Status.OPEN) & ~s.overtaken(client),
            (s.phase[client] == Phase.RECOVERING) & (s.status == Status.IN_RECOVERY),
        )
        & (s.own_generation[client] == generation)
        & s.own_member[client, generation, failed]
        & ~s.own_member[client, generation, spare]
        & s.timed_out(client, failed)
        & ~s.pinned(client, failed),
        then=then,
        actor=client,
        sent=[add(s, client, following, e, spare, when=when, now=True) for e, when in due.items()],
        note="replaces {failed} by {spare}, from its LAFR + 1 on",
    )


# Takeovers.


def take_over(s: Ledger, client: Parameter) -> Action:
    """The next client puts the ledger in recovery, in the next term, and fences its last ensemble (rule 8)."""
    copies = [
        update
        for g in s.later_generations
        for update in (
            s.own_first[client, g].set(s.first[g]),
            *(s.own_member[client, g, b].set(s.member[g, b]) for b in s.bookie),
        )
    ]
    return Action(
        when=(s.phase[client] == Phase.IDLE)
        & (s.ledger_term + 1 == s.term[client])
        & any_of(s.status == Status.OPEN, s.status == Status.IN_RECOVERY),
        then=[
            s.status.set(Status.IN_RECOVERY),
            s.ledger_term.set(s.term[client]),
            s.phase[client].set(Phase.RECOVERING),
            s.base[client].set(s.generation),
            s.own_generation[client].set(s.generation),
            *copies,
        ],
        actor=client,
        sent=[to_each(s.bookie, lambda b: fence(s, client, b, when=s.member[s.generation, b]))],
        note="puts the ledger in recovery, in its own term",
    )


def handle_fence(s: Ledger, client: Parameter, bookie: Parameter) -> Action:
    """A bookie adopts the term, and tells its LAC and LAFR (rules 5 and 9, BookieSendsFencingReadLafrResponse)."""
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


def receive_fence_answer(s: Ledger, client: Parameter, bookie: Parameter) -> Action:
    """A bookie tells its LAC and LAFR; once enough have the term, further answers are ignored (rule 9)."""
    index = (client, bookie)
    return Action(
        when=(s.phase[client] == Phase.RECOVERING)
        & s.fence_handled[index]
        & ~s.fence_answered[index]
        & ~s.covered(client),
        then=[s.fence_answered[index].set(True)],
        actor=client,
        received=fence_answer(s, client, bookie, s.fence_lac[index], s.fence_lafr[index]),
    )


def send_reads(s: Ledger, client: Parameter, entry: Parameter) -> Action:
    """The client reads the entries above its start LAFR one after another (rule 10)."""
    start = s.start_lafr(client)
    found_below = forall(s.entry, lambda e: implies((start < e) & (e < entry), s.positive(client, e)))
    return Action(
        when=(s.phase[client] == Phase.RECOVERING)
        & s.covered(client)
        & (start < entry)
        & ~s.read_sent[client, entry]
        & found_below,
        then=[s.read_sent[client, entry].set(True)],
        actor=client,
        sent=[
            to_each(
                s.bookie, lambda b: read(s, client, entry, b, when=s.own_member[client, s.base[client], b])
            )
        ],
    )


def handle_read(s: Ledger, client: Parameter, entry: Parameter, bookie: Parameter) -> Action:
    """A bookie adopts the term and tells what it has stored as the entry (rule 5, BookieSendsReadResponse)."""
    content = s.stored[bookie, entry]
    by_term = s.parameters.read_term == "yes"
    return Action(
        when=s.read_to(client, entry, bookie)
        & ~s.read_handled[client, entry, bookie]
        & (s.accepts(bookie, client) if by_term else TRUE),
        then=[
            *([s.bookie_term[bookie].set(s.term[client])] if by_term else []),
            s.read_handled[client, entry, bookie].set(True),
            s.read_content[client, entry, bookie].set(content),
        ],
        actor=bookie,
        received=read(s, client, entry, bookie),
        sent=[read_answer(client, entry, bookie, content)],
    )


def receive_read_answer(s: Ledger, client: Parameter, entry: Parameter, bookie: Parameter) -> Action:
    """A bookie has something as the entry or not; answers after the read is decided are ignored (rule 10)."""
    content = s.read_content[client, entry, bookie]
    return Action(
        when=(s.phase[client] == Phase.RECOVERING)
        & s.read_handled[client, entry, bookie]
        & ~s.read_answered[client, entry, bookie]
        & ~s.positive(client, entry)
        & ~s.negative(client, entry),
        then=[
            s.read_answered[client, entry, bookie].set(True),
            s.content[client, entry].set(content, when=content != NOTHING),
        ],
        actor=client,
        received=read_answer(client, entry, bookie, content),
    )


def write_back(s: Ledger, client: Parameter, generation: Parameter, entry: Parameter) -> Action:
    """What was read goes to the client's own ensemble; where reading ended, the NoOp (rules 10 and 11)."""
    start = s.start_lafr(client)
    in_order = forall(s.entry, lambda e: implies((start < e) & (e < entry), s.pushed(client, e)))
    return Action(
        when=(s.phase[client] == Phase.RECOVERING)
        & (s.own_generation[client] == generation)
        & ~s.sent[client, generation, entry]
        & ~s.pushed(client, entry)
        & any_of(s.positive(client, entry), s.is_no_op(client, entry))
        & in_order,
        then=_sends(s, client, generation, entry),
        actor=client,
        sent=[_adds(s, client, generation, entry)],
    )


def open_again(s: Ledger, client: Parameter, entry: Parameter) -> Action:
    """Nothing is pending, the NoOp at `entry` included: the ledger is open again, and the client writes on (rule 12).

    Its own fragments become the ledger's (ClientChangesTermToOpen).
    """
    written = s.lafr(client) if s.parameters.recovery_done == "at-wq" else s.confirmed(client)
    fragments = [
        update
        for g in s.later_generations
        for update in (
            s.first[g].set(s.own_first[client, g]),
            *(s.member[g, b].set(s.own_member[client, g, b]) for b in s.bookie),
        )
    ]
    return Action(
        when=(s.phase[client] == Phase.RECOVERING)
        & s.is_no_op(client, entry)
        & (written == entry)
        & (s.status == Status.IN_RECOVERY)
        & ~s.overtaken(client),
        then=[
            s.status.set(Status.OPEN),
            s.phase[client].set(Phase.WRITING),
            s.generation.set(s.own_generation[client]),
            *fragments,
        ],
        actor=client,
        note="opens the ledger again, to write above entry {entry}",
    )


# The system: every action in the order in which messages flow, one client after another.


def ledger(parameters: Parameters) -> System:
    """The transition system of one instance, without properties."""
    s = Ledger(parameters)
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
                    "generation",
                    each(write_back, s, s.successor, s.generation_, s.entry),
                    each(push, s, s.client, s.generation_, s.entry, s.value),
                    *_adds_and_changes(s),
                ),
                each(open_again, s, s.successor, s.entry),
                each(close_ledger, s, s.client),
            ),
            each(reject, s, s.client, s.bookie),
            each(withdraw, s, s.client, s.bookie),
        ),
        caps={
            "values": parameters.values,
            "clients": parameters.clients,
            "fragments": parameters.generations,
        },
    )


def _adds_and_changes(s: Ledger) -> list[Schema | Group]:
    """Adds of a client reach bookies, their acks come back, and bookies that fail are replaced."""
    adds: list[Schema | Group] = [
        each(handle_add, s, s.client, s.generation_, s.entry, s.bookie),
        each(receive_ack, s, s.client, s.generation_, s.entry, s.bookie),
    ]
    if s.parameters.generations == 1:
        return adds
    earlier = integers(1, s.parameters.generations - 1)
    return [*adds, each(change_ensemble, s, s.client, earlier, s.bookie, s.bookie)]
