"""BookKeeper with a guaranteed write quorum: an entry stays pending until all WQ bookies of its write set have it.

Besides the last add confirmed (LAC) each client counts a last add fully replicated (LAFR). Ensemble changes,
recovery and closing go by the LAFR, so that every entry of a fragment that is over, and of a ledger that is
closed, is on all of its write set. The rules are numbered in docs/tweaks.md; what is not said there is as in
the current protocol. Ensembles are sets of E = WQ bookies, so the write set of an entry is its ensemble.
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
from fencepost.protocols.bookkeeper.state import NOTHING, WRITER, Status

# Parameters and switches. The first value of each switch is the proposal; the second is a mutant of it, but for the
# last switch, where it is a mend.

_MODULE = "Vanlightly/bookkeeper-tlaplus, tweaks/ProtocolWithGuaranteedWriteQuorum.tla"


@dataclass(frozen=True)
class Parameters:
    """One instance. Raises BadInput unless 1 <= AQ <= WQ <= N."""

    bookies: int = parameter(3, "N: bookies there are")
    write_quorum: int = parameter(2, "WQ: bookies that each entry is sent to, and the size of an ensemble")
    ack_quorum: int = parameter(1, "AQ: acks that make an entry acknowledged")
    entries: int = parameter(2, "L: entries that the writer may push")
    recoverers: int = parameter(1, "recovery attempts, each by a client of its own")
    fragments: int = parameter(2, "most ensembles the ledger goes through (only 1 is possible when N = WQ)")

    pinning: str = switch(
        ("yes", "no"),
        "a bookie that has acked an entry above the LAFR and up to the LAC is not replaced",
        f"{_MODULE}, change 3 and BookiePinned",
    )
    fragment_start: str = switch(
        ("lafr", "lac"),
        "a new fragment starts above the LAFR, or above the LAC as in the current protocol",
        f"{_MODULE}, change 2",
    )
    recovery_start: str = switch(
        ("lafr", "lac"),
        "fencing tells the LAFR or the LAC, and recovery starts above it",
        f"{_MODULE}, change 6",
    )
    writer_close: str = switch(
        ("at-wq", "any-time"),
        "the writer closes the ledger once all it pushed is at WQ, or whenever it likes",
        f"{_MODULE}, change 4",
    )
    recovery_done: str = switch(
        ("at-wq", "at-aq"), "recovery ends once all it read is at WQ again, or at AQ", f"{_MODULE}, change 5"
    )
    recovery_adds: str = switch(
        ("moving", "frozen"),
        "adds of a recoverer carry its LAC and LAFR as they are, or as they were when it started",
        f"{_MODULE}; tweaks/ProtocolUnboundedLedgersAndGWQ.tla freezes them",
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


# State: facts on the metadata store, the clients and the bookies, and what follows from them.


class Phase(Enum):
    """What a client is doing."""

    IDLE = "idle"
    ACTIVE = "active"
    CLOSED = "closed"
    """It closed the ledger."""
    WITHDRAWN = "withdrawn"
    """A fenced bookie refused it, and it does nothing any more."""


class Ledger(StateSpace):
    """The state of one ledger."""

    def __init__(self, parameters: Parameters) -> None:
        p = self.parameters = parameters
        recoverers = tuple(f"r{i}" for i in range(1, p.recoverers + 1))
        bookie = self.bookie = labels("bookie", "b", p.bookies)
        client = self.client = Sort("client", (WRITER, *recoverers))
        self.writer = Sort("writer", (WRITER,), part_of="client")
        self.recoverer = Sort("recoverer", recoverers, part_of="client")
        entry = self.entry = integers(1, p.entries)
        read_entry = self.read_entry = integers(1, p.entries + 1)
        """Recovery reads one entry past the last: it ends at the entry that is not there."""
        generation = self.generation_ = integers(1, p.generations)
        """Ensembles of the ledger in order; each starts at its `first` entry and hides what it replaces."""
        self.later_generations = tuple(range(2, p.generations + 1))
        self.prefix = integers(0, p.entries)
        """LAC, LAFR, last entry: everything up to here. 0 is none."""
        first_ensemble = bookie.values[: p.write_quorum]

        def at_first(*index: object) -> bool:
            return index[-1] in first_ensemble

        # Metadata store.
        self.status = variable(members(Status))
        self.last_entry = variable(self.prefix)
        self.generation = variable(generation)
        self.first = family(read_entry, generation)
        self.member = family(BOOL, generation, bookie, initial=at_first)

        # Bookies: the content of each entry stored, and whether the ledger is fenced.
        self.stored = family(self.prefix, bookie, entry)
        self.fenced = family(BOOL, bookie)

        # Every client: its copy of the metadata, its adds with the LAC and LAFR they carry, and their answers.
        self.phase = family(members(Phase), client)
        self.own_generation = family(generation, client)
        self.own_first = family(read_entry, client, generation)
        self.own_member = family(BOOL, client, generation, bookie, initial=at_first)
        self.sent = family(BOOL, client, generation, entry)
        self.sent_lac = family(self.prefix, client, generation, entry)
        self.sent_lafr = family(self.prefix, client, generation, entry)
        self.add_handled = family(BOOL, client, generation, entry, bookie)
        self.add_refused = family(BOOL, client, generation, entry, bookie)
        self.add_answered = family(BOOL, client, generation, entry, bookie)
        self.acked = family(BOOL, client, entry, bookie)
        self.kept_lac = family(self.prefix, client)
        """The LAC when acks were last withdrawn: what was acknowledged remains so."""

        # Recoverers: the fencing reads and the recovery reads. (The writer's row stays as it is.)
        self.base = family(generation, client)
        """The last ensemble when recovery began: it is fenced and read from, to the end."""
        self.overtaken = family(BOOL, client)
        """A later recoverer has bumped the version, so this one can commit nothing any more."""
        self.fence_handled = family(BOOL, client, bookie)
        self.fence_told = family(self.prefix, client, bookie)
        self.fence_answered = family(BOOL, client, bookie)
        self.read_sent = family(BOOL, client, read_entry)
        self.read_handled = family(BOOL, client, read_entry, bookie)
        self.read_content = family(self.prefix, client, read_entry, bookie)
        self.read_answered = family(BOOL, client, read_entry, bookie)
        self.found = family(self.prefix, client, read_entry)

        # What the network never delivers. Only adds and their answers overtake what is lost; any other
        # message that never arrives is simply late for ever.
        self.add_lost = choice(client, generation, entry, bookie, fault="lost")
        self.add_answer_lost = choice(client, generation, entry, bookie, fault="lost")

    # Adds. An add is sent because of a generation: to all of its ensemble at first, later to its newcomer only.

    def pushed(self, client: TermLike, entry: TermLike) -> Term:
        """The client has sent the entry, as a new entry or as a write-back."""
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

    def content_sent(self, client: TermLike, entry: TermLike) -> Term:
        """What the client sends as the entry: the writer its own, a recoverer what it read."""
        return if_(lift(WRITER) == client, entry, self.found[client, entry])

    # The two prefixes of a client (rules 2, 4 and 5). Neither falls.

    def start(self, client: TermLike) -> Term:
        """Where both prefixes start (rule 11): 0 for the writer, a recoverer goes by what fencing told it."""
        floor = self.own_first[client, self.base[client]] - 1
        heard = maximum(
            self.bookie, lambda b: if_(self.fence_answered[client, b], self.fence_told[client, b], 0)
        )
        return if_(floor < heard, heard, floor)

    def run(self, client: TermLike, acks: int) -> Term:
        """The longest run of entries above the client's own start that have so many acks each (rule 5)."""

        def reached(n: Term) -> Term:
            return forall(
                self.entry,
                lambda e: implies(
                    (self.start(client) < e) & (e <= n),
                    at_least(acks, self.bookie, lambda b: self.acked[client, e, b]),
                ),
            )

        return maximum(self.prefix, lambda n: if_(reached(n), n, 0))

    def lac(self, client: TermLike) -> Term:
        """Last add confirmed: AQ acks. The writer has acknowledged this and everything below it (rule 4)."""
        run, kept = self.run(client, self.parameters.ack_quorum), self.kept_lac[client]
        return if_(run < kept, kept, run)

    def lafr(self, client: TermLike) -> Term:
        """Last add fully replicated: WQ acks (rule 2)."""
        return self.run(client, self.parameters.write_quorum)

    def carried_lac(self, client: TermLike) -> Term:
        """The LAC that an add carries if it is sent now (rule 3)."""
        return self._carried(client, self.lac(client))

    def carried_lafr(self, client: TermLike) -> Term:
        """The LAFR that an add carries if it is sent now (rule 3)."""
        return self._carried(client, self.lafr(client))

    def _carried(self, client: TermLike, moving: Term) -> Term:
        if self.parameters.recovery_adds == "moving":
            return moving
        return if_(lift(WRITER) == client, moving, self.start(client))

    def pending(self, client: TermLike, entry: TermLike) -> Term:
        """The entry is pushed or written back, and above the LAFR (rule 4)."""
        return self.pushed(client, entry) & (self.lafr(client) < entry)

    def pinned(self, client: TermLike, bookie: TermLike) -> Term:
        """The bookie has acked an entry above the LAFR and up to the LAC (rule 8)."""
        return exists(
            self.entry,
            lambda e: (self.lafr(client) < e) & (e <= self.lac(client)) & self.acked[client, e, bookie],
        )

    def heard(self, bookie: TermLike, carried: Family) -> Term:
        """The highest LAC (`sent_lac`) or LAFR (`sent_lafr`) that came with an add the bookie stored (rule 2)."""

        def came(c: Term, g: Term, e: Term) -> Term:
            index = (c, g, e, bookie)
            return if_(self.add_handled[index] & ~self.add_refused[index], carried[c, g, e], 0)

        return maximum(
            self.client,
            lambda c: maximum(self.generation_, lambda g: maximum(self.entry, lambda e: came(c, g, e))),
        )

    # Recovery.

    def fence_sent(self, client: TermLike, bookie: TermLike) -> Term:
        """The recoverer sent the bookie a fencing read: to the last ensemble, when it began."""
        return (self.phase[client] != Phase.IDLE) & self.own_member[client, self.base[client], bookie]

    def covered(self, client: TermLike) -> Term:
        """Enough bookies of the ensemble are fenced (rule 13)."""
        return at_least(self.parameters.coverage, self.bookie, lambda b: self.fence_answered[client, b])

    def positive(self, client: TermLike, entry: TermLike) -> Term:
        """The recovery read has found the entry: one bookie has it (rule 12)."""
        return exists(
            self.bookie,
            lambda b: self.read_answered[client, entry, b] & (self.read_content[client, entry, b] != NOTHING),
        )

    def negative(self, client: TermLike, entry: TermLike) -> Term:
        """The recovery read has found that the entry is not there: WQ - AQ + 1 NoSuchEntry (rule 12).

        A read that is neither positive nor negative stays unknown, and recovery goes no further (rule 13).
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
        """A recoverer has closed the ledger."""
        return exists(self.recoverer, lambda c: self.phase[c] == Phase.CLOSED)

    def in_write_set(self, entry: TermLike, bookie: TermLike) -> Term:
        """By the metadata store, the entry belongs on the bookie."""

        def hides(g: Term, h: Term) -> Term:
            return (g < h) & (h <= self.generation) & (self.first[h] <= entry)

        def holds_entry(g: Term) -> Term:
            hidden = exists(self.generation_, lambda h: hides(g, h))
            return (g <= self.generation) & (self.first[g] <= entry) & ~hidden

        return exists(self.generation_, lambda g: holds_entry(g) & self.member[g, bookie])


# Messages: what a person sees travel.


def add(
    s: Ledger,
    client: TermLike,
    generation: TermLike,
    entry: TermLike,
    bookie: TermLike,
    when: TermLike = True,
    now: bool = False,
) -> Message:
    """An add: new, of recovery, or sent again. It carries the sender's LAC and LAFR (rule 3).

    `now` says that it is being sent, and so carries what they are now.
    """
    index = (client, generation, entry)
    return message(
        "add",
        client,
        bookie,
        about={"entry": entry, "fragment": generation},
        says={
            "content": s.content_sent(client, entry),
            "lac": s.carried_lac(client) if now else s.sent_lac[index],
            "lafr": s.carried_lafr(client) if now else s.sent_lafr[index],
        },
        lost=s.add_lost[client, generation, entry, bookie],
        when=when,
    )


def add_answer(
    s: Ledger, client: TermLike, generation: TermLike, entry: TermLike, bookie: TermLike, refused: TermLike
) -> Message:
    """The answer to an add: stored, or refused because the ledger is fenced."""
    return message(
        "add answer",
        bookie,
        client,
        about={"entry": entry, "fragment": generation},
        says={"fenced": refused},
        lost=s.add_answer_lost[client, generation, entry, bookie],
    )


def fence(recoverer: TermLike, bookie: TermLike, when: TermLike = True) -> Message:
    """A fencing read."""
    return message("fence", recoverer, bookie, when=when)


def fence_answer(s: Ledger, recoverer: TermLike, bookie: TermLike, told: TermLike) -> Message:
    """The bookie is fenced, and tells its LAFR instead of its LAC (rule 3)."""
    return message("fence answer", bookie, recoverer, says={s.parameters.recovery_start: told})


def read(recoverer: TermLike, entry: TermLike, bookie: TermLike, when: TermLike = True) -> Message:
    """A recovery read of an entry."""
    return message("read", recoverer, bookie, about={"entry": entry}, when=when)


def read_answer(recoverer: TermLike, entry: TermLike, bookie: TermLike, content: Term) -> Message:
    """The entry, or NoSuchEntry."""
    return message(
        "read answer",
        bookie,
        recoverer,
        about={"entry": entry},
        says={"answer": if_(content == NOTHING, "NoSuchEntry", "entry"), "content": content},
    )


# The writer.


def create_ledger(s: Ledger) -> Action:
    """The writer creates the ledger, open, over the first WQ bookies (ClientCreatesLedger; bookies are alike)."""
    return Action(
        when=s.status == Status.NONE,
        then=[s.status.set(Status.OPEN), s.phase[WRITER].set(Phase.ACTIVE)],
        actor=WRITER,
        note="creates the ledger, open",
    )


def push(s: Ledger, generation: Parameter, entry: Parameter) -> Action:
    """The writer sends the next entry to its ensemble (ClientSendsAddEntryRequests)."""
    return Action(
        when=(s.phase[WRITER] == Phase.ACTIVE)
        & (s.own_generation[WRITER] == generation)
        & ~s.sent[WRITER, generation, entry]
        & ~s.pushed(WRITER, entry)
        & forall(s.entry, lambda e: implies(e < entry, s.pushed(WRITER, e))),
        then=_sends(s, WRITER, generation, entry),
        actor=WRITER,
        sent=[_adds(s, WRITER, generation, entry)],
    )


def close_ledger(s: Ledger) -> Action:
    """The writer closes the ledger, still open, with nothing pending (rule 10, ClientClosesLedgerSuccess)."""
    nothing_pending = ~exists(s.entry, lambda e: s.pending(WRITER, e))
    return Action(
        when=(s.phase[WRITER] == Phase.ACTIVE)
        & (s.status == Status.OPEN)
        & (nothing_pending if s.parameters.writer_close == "at-wq" else TRUE),
        then=[
            s.status.set(Status.CLOSED),
            s.last_entry.set(s.lac(WRITER)),
            s.phase[WRITER].set(Phase.CLOSED),
        ],
        actor=WRITER,
        note="closes the ledger at its LAC",
    )


# Adds and their answers: the writer's entries, a recoverer's write-backs.


def _sends(s: Ledger, client: Parameter | str, generation: Parameter, entry: Parameter) -> list[Update]:
    """The entry goes to the ensemble of that generation, with the LAC and LAFR of now (rule 3)."""
    index = (client, generation, entry)
    return [
        s.sent[index].set(True),
        s.sent_lac[index].set(s.carried_lac(client)),
        s.sent_lafr[index].set(s.carried_lafr(client)),
    ]


def _adds(s: Ledger, client: Parameter | str, generation: Parameter, entry: Parameter) -> Broadcast:
    return to_each(
        s.bookie,
        lambda b: add(s, client, generation, entry, b, when=s.own_member[client, generation, b], now=True),
    )


def handle_add(
    s: Ledger, client: Parameter, generation: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """A bookie stores an entry unless the ledger is fenced there, and answers (BookieSendsAdd…Response).

    A recovery add is stored even if the ledger is fenced. Of one client's adds that will arrive, the lowest
    entry goes first.
    """
    index = (client, generation, entry, bookie)
    lower = exists(
        s.entry,
        lambda e: (e < entry) & exists(s.generation_, lambda g: s.add_in_flight(client, g, e, bookie)),
    )
    refused = s.fenced[bookie] if client.sort is s.writer else FALSE
    return Action(
        when=s.add_in_flight(*index) & ~lower,
        then=[
            s.add_handled[index].set(True),
            s.add_refused[index].set(refused),
            s.stored[bookie, entry].set(s.content_sent(client, entry), when=~refused),
        ],
        actor=bookie,
        received=add(s, *index),
        sent=[add_answer(s, *index, refused)],
    )


def _next_answer(
    s: Ledger, client: Parameter, generation: Parameter, entry: Parameter, bookie: Parameter
) -> Term:
    """That answer is the next one from this member: of those that will arrive, the lowest entry goes first.

    Answers of a bookie that is no member of the ensemble any more are not received (ReceiveAddConfirmedResponse).
    """
    lower = exists(
        s.entry,
        lambda e: (e < entry) & exists(s.generation_, lambda g: s.answer_in_flight(client, g, e, bookie)),
    )
    return (
        (s.phase[client] == Phase.ACTIVE)
        & s.own_member[client, s.own_generation[client], bookie]
        & s.answer_in_flight(client, generation, entry, bookie)
        & ~lower
    )


def receive_ack(
    s: Ledger, client: Parameter, generation: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """A member of the client's ensemble has stored the entry: LAC and LAFR may move (ReceiveAddConfirmedResponse)."""
    index = (client, generation, entry, bookie)
    return Action(
        when=_next_answer(s, *index) & ~s.add_refused[index],
        then=[s.add_answered[index].set(True), s.acked[client, entry, bookie].set(True)],
        actor=client,
        received=add_answer(s, *index, False),
    )


def receive_fenced(
    s: Ledger, client: Parameter, generation: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """A bookie refused the entry: the writer withdraws (rule 13, ClientReceivesAddFencedResponse)."""
    index = (client, generation, entry, bookie)
    return Action(
        when=_next_answer(s, *index) & s.add_refused[index],
        then=[s.add_answered[index].set(True), s.phase[client].set(Phase.WITHDRAWN)],
        actor=client,
        received=add_answer(s, *index, True),
        note="is fenced out, and withdraws",
    )


# Ensemble changes.


def change_ensemble(
    s: Ledger, client: Parameter, generation: Parameter, failed: Parameter, spare: Parameter
) -> Action:
    """A bookie that failed the client is replaced from LAFR+1 on, and pending entries move along (ChangeEnsemble).

    The new fragment starts at LAFR+1 and hides the last one if that is its start (rule 6). The bookie loses its
    acks above the LAFR; every pending entry, acknowledged or not, goes to the newcomer (rule 7). A pinned bookie
    stays until the LAFR has passed (rule 8). The writer commits the change at once, and may only while the
    ledger is open; a recoverer keeps it to itself (rule 9).
    """
    following = generation + 1
    below = s.lafr(client) if s.parameters.fragment_start == "lafr" else s.lac(client)
    members_then = {
        b: any_of(spare == b, s.own_member[client, generation, b] & (failed != b)) for b in s.bookie
    }
    due = {e: (below < e) & s.sent[client, generation, e] & ~s.sent[client, following, e] for e in s.entry}
    then = [
        s.own_generation[client].set(following),
        s.own_first[client, following].set(below + 1),
        *(s.own_member[client, following, b].set(member) for b, member in members_then.items()),
        *(s.acked[client, e, failed].set(False, when=below < e) for e in s.entry),
        s.kept_lac[client].set(s.lac(client)),
    ]
    for e, when in due.items():
        index = (client, following, e)
        then += [
            s.sent[index].set(True, when=when),
            s.sent_lac[index].set(s.carried_lac(client), when=when),
            s.sent_lafr[index].set(s.carried_lafr(client), when=when),
        ]
    if client.sort is s.writer:
        then += [
            s.generation.set(following),
            s.first[following].set(below + 1),
            *(s.member[following, b].set(member) for b, member in members_then.items()),
        ]
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & (s.own_generation[client] == generation)
        & s.own_member[client, generation, failed]
        & ~s.own_member[client, generation, spare]
        & s.timed_out(client, failed)
        & (~s.pinned(client, failed) if s.parameters.pinning == "yes" else TRUE)
        & (s.status == (Status.OPEN if client.sort is s.writer else Status.IN_RECOVERY)),
        then=then,
        actor=client,
        sent=[add(s, client, following, e, spare, when=when, now=True) for e, when in due.items()],
        note="replaces {failed} by {spare}, from its LAFR + 1 on",
    )


# Recovery.


def begin_recovery(s: Ledger, client: Parameter) -> Action:
    """A recoverer puts the ledger in recovery, anew, and fences the last ensemble (rule 13, ClientStartsRecovery)."""
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
        & any_of(s.status == Status.OPEN, s.status == Status.IN_RECOVERY),
        then=[
            s.status.set(Status.IN_RECOVERY),
            s.phase[client].set(Phase.ACTIVE),
            s.base[client].set(s.generation),
            s.own_generation[client].set(s.generation),
            *copies,
            *(s.overtaken[r].set(True, when=(client != r) & (s.phase[r] != Phase.IDLE)) for r in s.recoverer),
        ],
        actor=client,
        sent=[to_each(s.bookie, lambda b: fence(client, b, when=s.member[s.generation, b]))],
        note="puts the ledger in recovery, anew",
    )


def handle_fence(s: Ledger, client: Parameter, bookie: Parameter) -> Action:
    """A bookie fences the ledger, and tells the highest LAFR it received (rule 3, BookieSendsFencingReadLafrResponse)."""
    carried = s.sent_lafr if s.parameters.recovery_start == "lafr" else s.sent_lac
    told = s.heard(bookie, carried)
    return Action(
        when=s.fence_sent(client, bookie) & ~s.fence_handled[client, bookie],
        then=[
            s.fenced[bookie].set(True),
            s.fence_handled[client, bookie].set(True),
            s.fence_told[client, bookie].set(told),
        ],
        actor=bookie,
        received=fence(client, bookie),
        sent=[fence_answer(s, client, bookie, told)],
    )


def receive_fence_answer(s: Ledger, client: Parameter, bookie: Parameter) -> Action:
    """A bookie is fenced and tells its LAFR; once enough are, further answers are ignored (rules 11 and 13)."""
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & s.fence_handled[client, bookie]
        & ~s.fence_answered[client, bookie]
        & ~s.covered(client),
        then=[s.fence_answered[client, bookie].set(True)],
        actor=client,
        received=fence_answer(s, client, bookie, s.fence_told[client, bookie]),
    )


def send_reads(s: Ledger, client: Parameter, entry: Parameter) -> Action:
    """The recoverer reads the entries above its start one after another (rule 12, ClientSendsRecoveryReadRequests)."""
    found_below = forall(
        s.read_entry, lambda e: implies((s.start(client) < e) & (e < entry), s.positive(client, e))
    )
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & s.covered(client)
        & (s.start(client) < entry)
        & ~s.read_sent[client, entry]
        & found_below,
        then=[s.read_sent[client, entry].set(True)],
        actor=client,
        sent=[
            to_each(s.bookie, lambda b: read(client, entry, b, when=s.own_member[client, s.base[client], b]))
        ],
    )


def handle_read(s: Ledger, client: Parameter, entry: Parameter, bookie: Parameter) -> Action:
    """A bookie fences the ledger and answers with the entry or NoSuchEntry (rule 12, BookieSendsReadResponse)."""
    content = maximum(s.entry, lambda e: if_(e == entry, s.stored[bookie, e], NOTHING))
    return Action(
        when=s.read_sent[client, entry]
        & s.own_member[client, s.base[client], bookie]
        & ~s.read_handled[client, entry, bookie],
        then=[
            s.fenced[bookie].set(True),
            s.read_handled[client, entry, bookie].set(True),
            s.read_content[client, entry, bookie].set(content),
        ],
        actor=bookie,
        received=read(client, entry, bookie),
        sent=[read_answer(client, entry, bookie, content)],
    )


def receive_read_answer(s: Ledger, client: Parameter, entry: Parameter, bookie: Parameter) -> Action:
    """A bookie has the entry or not; answers after the read is decided are ignored (rule 12)."""
    content = s.read_content[client, entry, bookie]
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & s.read_handled[client, entry, bookie]
        & ~s.read_answered[client, entry, bookie]
        & ~s.positive(client, entry)
        & ~s.negative(client, entry),
        then=[
            s.read_answered[client, entry, bookie].set(True),
            s.found[client, entry].set(content, when=content != NOTHING),
        ],
        actor=client,
        received=read_answer(client, entry, bookie, content),
    )


def write_back(s: Ledger, client: Parameter, generation: Parameter, entry: Parameter) -> Action:
    """An entry that was read goes to the recoverer's own current ensemble (rule 12, ClientWritesBackEntry)."""
    in_order = forall(s.entry, lambda e: implies((s.start(client) < e) & (e < entry), s.pushed(client, e)))
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & (s.own_generation[client] == generation)
        & ~s.sent[client, generation, entry]
        & ~s.pushed(client, entry)
        & s.positive(client, entry)
        & in_order,
        then=_sends(s, client, generation, entry),
        actor=client,
        sent=[_adds(s, client, generation, entry)],
    )


def finish_recovery(s: Ledger, client: Parameter, entry: Parameter) -> Action:
    """Reading ended at `entry` and nothing is pending: the ledger is closed just below it (rule 12).

    The recoverer's own fragments become the ledger's (RecoveryClientClosesLedger).
    """
    written = s.lafr(client) if s.parameters.recovery_done == "at-wq" else s.lac(client)
    fragments = [
        update
        for g in s.later_generations
        for update in (
            s.first[g].set(s.own_first[client, g]),
            *(s.member[g, b].set(s.own_member[client, g, b]) for b in s.bookie),
        )
    ]
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & s.negative(client, entry)
        & (written + 1 == entry)
        & (s.status == Status.IN_RECOVERY)
        & ~s.overtaken[client],
        then=[
            s.status.set(Status.CLOSED),
            s.last_entry.set(entry - 1),
            s.phase[client].set(Phase.CLOSED),
            s.generation.set(s.own_generation[client]),
            *fragments,
        ],
        actor=client,
        note="closes the ledger before entry {entry}, which is not there",
    )


# The system: every action in the order in which messages flow.


def ledger(parameters: Parameters) -> System:
    """The transition system of one instance, without properties."""
    s = Ledger(parameters)
    return System(
        state=s,
        actions=(
            each(create_ledger, s),
            in_turn(
                "generation",
                each(push, s, s.generation_, s.entry),
                *_adds_and_changes(s, s.writer),
                each(receive_fenced, s, s.writer, s.generation_, s.entry, s.bookie),
            ),
            each(begin_recovery, s, s.recoverer),
            each(handle_fence, s, s.recoverer, s.bookie),
            each(receive_fence_answer, s, s.recoverer, s.bookie),
            in_turn(
                "entry",
                each(send_reads, s, s.recoverer, s.read_entry),
                each(handle_read, s, s.recoverer, s.read_entry, s.bookie),
                each(receive_read_answer, s, s.recoverer, s.read_entry, s.bookie),
            ),
            in_turn(
                "generation",
                each(write_back, s, s.recoverer, s.generation_, s.entry),
                *_adds_and_changes(s, s.recoverer),
            ),
            each(finish_recovery, s, s.recoverer, s.read_entry),
            each(close_ledger, s),
        ),
        caps={
            "entries": parameters.entries,
            "recoverers": parameters.recoverers,
            "fragments": parameters.generations,
        },
    )


def _adds_and_changes(s: Ledger, client: Sort) -> list[Schema | Group]:
    """Adds of that client reach bookies, their acks come back, and bookies that fail are replaced."""
    adds: list[Schema | Group] = [
        each(handle_add, s, client, s.generation_, s.entry, s.bookie),
        each(receive_ack, s, client, s.generation_, s.entry, s.bookie),
    ]
    if s.parameters.generations == 1:
        return adds
    earlier = integers(1, s.parameters.generations - 1)
    return [*adds, each(change_ensemble, s, client, earlier, s.bookie, s.bookie)]
