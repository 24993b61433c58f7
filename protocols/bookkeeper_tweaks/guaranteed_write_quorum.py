"""BookKeeper with a guaranteed write quorum: entries stay pending until all WQ bookies have them.

Besides the last add confirmed (LAC) each client counts a last add fully replicated (LAFR). Ensemble
changes, recovery and closing use the LAFR. Thus every entry of a completed fragment, and of a closed
ledger, is on all bookies of its write set.

The rules are numbered in docs/tweaks.md. Everything else is as in the current protocol. The parts that
unbounded ledgers use too are in replication.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fencepost.encoding.language.actions import Action, each, in_turn
from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.messages import Broadcast, Message, message, to_each
from fencepost.encoding.language.parameters import parameter, switch
from fencepost.encoding.language.quantifiers import exists, forall, maximum
from fencepost.encoding.language.sorts import BOOL, Sort, members
from fencepost.encoding.language.state import family, variable
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import FALSE, TRUE, Parameter, Term, TermLike, lift
from fencepost.protocols.bookkeeper.values import NOTHING, WRITER, Status
from fencepost.protocols.bookkeeper_tweaks.replication import ReplicatedLedger, TweakSizes

# Parameters and switches. The first value of each switch is the proposal. The second is a mutant of it.
# The second value of the last switch is a repair.

_MODULE = "Vanlightly/bookkeeper-tlaplus, tweaks/ProtocolWithGuaranteedWriteQuorum.tla"


@dataclass(frozen=True)
class GuaranteedParameters(TweakSizes):
    """One instance: bookies and quorums, then the sizes and switches of this variant."""

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


# State of the metadata store, the clients and the bookies.


class GuaranteedPhase(Enum):
    """The phase of a client's work on the ledger."""

    IDLE = "idle"
    ACTIVE = "active"
    CLOSED = "closed"
    """The client closed the ledger."""
    WITHDRAWN = "withdrawn"
    """A fenced bookie refused the client, which does nothing any more."""


class GuaranteedLedger(ReplicatedLedger):
    """The state of one ledger."""

    parameters: GuaranteedParameters
    nothing = NOTHING

    def __init__(self, p: GuaranteedParameters) -> None:
        """Declare the state variables."""
        recoverers = tuple(f"r{i}" for i in range(1, p.recoverers + 1))
        super().__init__(p, Sort("client", (WRITER, *recoverers)), p.entries, p.fragments)
        self.writer = Sort("writer", (WRITER,), part_of="client")
        self.recoverer = Sort("recoverer", recoverers, part_of="client")
        bookie, client = self.bookie, self.client

        # Metadata store.
        self.status = variable(members(Status))
        self.last_entry = variable(self.prefix)
        self.declare_fragments()

        # Bookies: the content of each entry stored, and whether the ledger is fenced.
        self.stored = family(self.prefix, bookie, self.entry)
        self.fenced = family(BOOL, bookie)

        # Every client: its copy of the metadata, its adds with their LAC and LAFR, and the answers.
        self.declare_clients(GuaranteedPhase)
        self.declare_adds()
        self.add_refused = family(BOOL, client, self.fragment, self.entry, bookie)
        self.declare_acks()
        self.kept_lac = family(self.prefix, client)
        """The LAC when acks were last withdrawn. Acknowledged entries stay acknowledged."""

        # Recoverers: the fencing reads and the recovery reads. (The writer's row stays as it is.)
        self.base = family(self.fragment, client)
        self.overtaken = family(BOOL, client)
        """Whether a later recoverer has bumped the version, so that this one can commit nothing."""
        self.fence_handled = family(BOOL, client, bookie)
        self.fence_told = family(self.prefix, client, bookie)
        self.fence_answered = family(BOOL, client, bookie)
        # Reading goes one past the last entry: it ends at the entry that is not there.
        self.declare_reads(self.next_entry, content=self.prefix)
        self.found = family(self.prefix, client, self.read_entry)

        self.declare_losses()

    # The adds of a client, and its two prefixes (rules 2, 4 and 5). Neither prefix falls.

    def content_sent(self, client: TermLike, entry: TermLike) -> Term:
        """Return the content that the client sends: the writer its own, a recoverer what it read."""
        return if_(lift(WRITER) == client, entry, self.found[client, entry])

    def start(self, client: TermLike) -> Term:
        """Return where both prefixes start: 0 for the writer, for a recoverer by fencing (rule 11)."""
        return self.highest_told(client, self.fence_told)

    def lac(self, client: TermLike) -> Term:
        """Return the last add confirmed: AQ acks (rule 4).

        The writer has acknowledged this entry and all entries below it.
        """
        run, kept = self.run(client, self.parameters.ack_quorum), self.kept_lac[client]
        return if_(run < kept, kept, run)

    def carried_lac(self, client: TermLike) -> Term:
        """Return the LAC that an add carries if it is sent now (rule 3)."""
        return self._carried(client, self.lac(client))

    def carried_lafr(self, client: TermLike) -> Term:
        """Return the LAFR that an add carries if it is sent now (rule 3)."""
        return self._carried(client, self.lafr(client))

    def _carried(self, client: TermLike, moving: Term) -> Term:
        if self.parameters.recovery_adds == "moving":
            return moving
        return if_(lift(WRITER) == client, moving, self.start(client))

    # Answers of bookies, and recovery.

    def add_stored(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the bookie handled the add and did not refuse it."""
        index = (client, fragment, entry, bookie)
        return self.add_handled[index] & ~self.add_refused[index]

    def fence_sent(self, client: TermLike, bookie: TermLike) -> Term:
        """Return whether the recoverer sent the bookie a fencing read.

        It sends them to the last ensemble when it begins.
        """
        return (self.phase[client] != GuaranteedPhase.IDLE) & self.own_member[
            client, self.base[client], bookie
        ]

    def closed_by_another(self) -> Term:
        """Return whether a recoverer has closed the ledger."""
        return exists(self.recoverer, lambda c: self.phase[c] == GuaranteedPhase.CLOSED)


# Messages, as a trace shows them.


def add(
    s: GuaranteedLedger,
    client: TermLike,
    fragment: TermLike,
    entry: TermLike,
    bookie: TermLike,
    when: TermLike = True,
    now: bool = False,
) -> Message:
    """Return the message of an add: new, of recovery, or sent again (rule 3).

    The message carries the LAC and LAFR of its first sending. With `now` it is being sent and carries the
    current ones.
    """
    return message(
        "add",
        client,
        bookie,
        about={"entry": entry, "fragment": fragment},
        says={"content": s.content_sent(client, entry), **s.prefixes(client, fragment, entry, now)},
        lost=s.add_lost[client, fragment, entry, bookie],
        when=when,
    )


def add_answer(
    s: GuaranteedLedger,
    client: TermLike,
    fragment: TermLike,
    entry: TermLike,
    bookie: TermLike,
    refused: TermLike,
) -> Message:
    """Return the answer to an add: stored, or refused because the ledger is fenced."""
    return message(
        "add answer",
        bookie,
        client,
        about={"entry": entry, "fragment": fragment},
        says={"fenced": refused},
        lost=s.add_answer_lost[client, fragment, entry, bookie],
    )


def fence(recoverer: TermLike, bookie: TermLike, when: TermLike = True) -> Message:
    """Return a fencing read."""
    return message("fence", recoverer, bookie, when=when)


def fence_answer(s: GuaranteedLedger, recoverer: TermLike, bookie: TermLike, told: TermLike) -> Message:
    """Return the answer to a fencing read, which has the LAFR instead of the LAC (rule 3)."""
    return message("fence answer", bookie, recoverer, says={s.parameters.recovery_start: told})


def read(recoverer: TermLike, entry: TermLike, bookie: TermLike, when: TermLike = True) -> Message:
    """Return a recovery read of an entry."""
    return message("read", recoverer, bookie, about={"entry": entry}, when=when)


def read_answer(recoverer: TermLike, entry: TermLike, bookie: TermLike, content: Term) -> Message:
    """Return the answer to a recovery read: the entry, or NoSuchEntry."""
    return message(
        "read answer",
        bookie,
        recoverer,
        about={"entry": entry},
        says={"answer": if_(content == NOTHING, "NoSuchEntry", "entry"), "content": content},
    )


# The writer.


def create_ledger(s: GuaranteedLedger) -> Action:
    """Create the ledger, open, over the first WQ bookies (ClientCreatesLedger).

    Any WQ bookies would do, since bookies are alike.
    """
    return Action(
        when=s.status == Status.NONE,
        then=[s.status.set(Status.OPEN), s.phase[WRITER].set(GuaranteedPhase.ACTIVE)],
        actor=WRITER,
        note="creates the ledger, open",
    )


def push(s: GuaranteedLedger, fragment: Parameter, entry: Parameter) -> Action:
    """Send the writer's next entry to its ensemble (ClientSendsAddEntryRequests)."""
    return Action(
        when=(s.phase[WRITER] == GuaranteedPhase.ACTIVE)
        & s.may_send(WRITER, fragment, entry)
        & forall(s.entry, lambda e: implies(e < entry, s.pushed(WRITER, e))),
        then=s.sends(WRITER, fragment, entry),
        actor=WRITER,
        sent=[_adds(s, WRITER, fragment, entry)],
    )


def close_ledger(s: GuaranteedLedger) -> Action:
    """Close an open ledger when no entry is pending (rule 10, ClientClosesLedgerSuccess)."""
    nothing_pending = ~exists(s.entry, lambda e: s.pending(WRITER, e))
    return Action(
        when=(s.phase[WRITER] == GuaranteedPhase.ACTIVE)
        & (s.status == Status.OPEN)
        & (nothing_pending if s.parameters.writer_close == "at-wq" else TRUE),
        then=[
            s.status.set(Status.CLOSED),
            s.last_entry.set(s.lac(WRITER)),
            s.phase[WRITER].set(GuaranteedPhase.CLOSED),
        ],
        actor=WRITER,
        note="closes the ledger at its LAC",
    )


# Adds and their answers: the writer's entries, a recoverer's write-backs.


def _adds(s: GuaranteedLedger, client: Parameter | str, fragment: Parameter, entry: Parameter) -> Broadcast:
    """Return the messages that bring the entry to the ensemble of that fragment."""
    return s.to_ensemble(
        client, fragment, lambda b, when: add(s, client, fragment, entry, b, when=when, now=True)
    )


def handle_add(
    s: GuaranteedLedger, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """Store an entry on a bookie unless the ledger is fenced, and answer (BookieSendsAdd…Response).

    A recovery add is stored even if the ledger is fenced.
    """
    index = (client, fragment, entry, bookie)
    refused = s.fenced[bookie] if client.sort is s.writer else FALSE
    return Action(
        when=s.next_add(*index),
        then=[
            s.add_handled[index].set(True),
            s.add_refused[index].set(refused),
            s.stored[bookie, entry].set(s.content_sent(client, entry), when=~refused),
        ],
        actor=bookie,
        received=add(s, *index),
        sent=[add_answer(s, *index, refused)],
    )


def receive_ack(
    s: GuaranteedLedger, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """Receive an ack of a member of the ensemble (ReceiveAddConfirmedResponse).

    LAC and LAFR may move.
    """
    index = (client, fragment, entry, bookie)
    return Action(
        when=(s.phase[client] == GuaranteedPhase.ACTIVE) & s.next_answer(*index) & ~s.add_refused[index],
        then=[s.add_answered[index].set(True), s.acked[client, entry, bookie].set(True)],
        actor=client,
        received=add_answer(s, *index, False),
    )


def receive_fenced(
    s: GuaranteedLedger, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """Receive a refusal: the writer withdraws (rule 13, ClientReceivesAddFencedResponse)."""
    index = (client, fragment, entry, bookie)
    return Action(
        when=(s.phase[client] == GuaranteedPhase.ACTIVE) & s.next_answer(*index) & s.add_refused[index],
        then=[s.add_answered[index].set(True), s.phase[client].set(GuaranteedPhase.WITHDRAWN)],
        actor=client,
        received=add_answer(s, *index, True),
        note="is fenced out, and withdraws",
    )


# Ensemble changes.


def change_ensemble(
    s: GuaranteedLedger, client: Parameter, fragment: Parameter, failed: Parameter, spare: Parameter
) -> Action:
    """Replace a bookie that failed the client from LAFR+1 on, and resend pending entries.

    ChangeEnsemble. The new fragment starts at LAFR+1, and replaces the last one if both start there (rule
    6). The old bookie loses its acks above the LAFR. Every pending entry, acknowledged or not, goes to the
    new bookie (rule 7). A pinned bookie stays until the LAFR has passed (rule 8). The writer commits the
    change at once, and only while the ledger is open. A recoverer keeps the change to itself (rule 9).
    """
    following = fragment + 1
    below = s.lafr(client) if s.parameters.fragment_start == "lafr" else s.lac(client)
    ensemble = s.members_then(client, fragment, failed, spare)
    resent = s.due(client, fragment, following, below)
    is_writer = client.sort is s.writer
    return Action(
        when=(s.phase[client] == GuaranteedPhase.ACTIVE)
        & s.replaceable(client, fragment, failed, spare)
        & (~s.pinned(client, failed) if s.parameters.pinning == "yes" else TRUE)
        & (s.status == (Status.OPEN if is_writer else Status.IN_RECOVERY)),
        then=[
            *s.installs(client, following, below + 1, ensemble),
            *s.withdraws_acks(client, failed, below),
            s.kept_lac[client].set(s.lac(client)),
            *s.sends_again(client, following, resent),
            *(s.commits(following, below + 1, ensemble) if is_writer else []),
        ],
        actor=client,
        sent=[add(s, client, following, e, spare, when=when, now=True) for e, when in resent.items()],
        note="replaces {failed} by {spare}, from its LAFR + 1 on",
    )


# Recovery.


def begin_recovery(s: GuaranteedLedger, client: Parameter) -> Action:
    """Put the ledger in recovery, and fence the last ensemble (rule 13, ClientStartsRecovery)."""
    return Action(
        when=(s.phase[client] == GuaranteedPhase.IDLE)
        & ((s.status == Status.OPEN) | (s.status == Status.IN_RECOVERY)),
        then=[
            s.status.set(Status.IN_RECOVERY),
            s.phase[client].set(GuaranteedPhase.ACTIVE),
            *s.takes_metadata(client),
            *(
                s.overtaken[r].set(True, when=(client != r) & (s.phase[r] != GuaranteedPhase.IDLE))
                for r in s.recoverer
            ),
        ],
        actor=client,
        sent=[to_each(s.bookie, lambda b: fence(client, b, when=s.member[s.last_fragment, b]))],
        note="puts the ledger in recovery, anew",
    )


def handle_fence(s: GuaranteedLedger, client: Parameter, bookie: Parameter) -> Action:
    """Fence the ledger on a bookie, and answer with the highest LAFR it received (rule 3).

    BookieSendsFencingReadLafrResponse.
    """
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


def receive_fence_answer(s: GuaranteedLedger, client: Parameter, bookie: Parameter) -> Action:
    """Receive the LAFR of a fenced bookie (rules 11 and 13).

    Once enough bookies are fenced, further answers are ignored.
    """
    return Action(
        when=(s.phase[client] == GuaranteedPhase.ACTIVE) & s.fence_answer_counts(client, bookie),
        then=[s.fence_answered[client, bookie].set(True)],
        actor=client,
        received=fence_answer(s, client, bookie, s.fence_told[client, bookie]),
    )


def send_reads(s: GuaranteedLedger, client: Parameter, entry: Parameter) -> Action:
    """Read the entries above the recoverer's start in order (rule 12, ClientSendsRecoveryReadRequests)."""
    return Action(
        when=(s.phase[client] == GuaranteedPhase.ACTIVE) & s.may_read(client, entry),
        then=[s.read_sent[client, entry].set(True)],
        actor=client,
        sent=[s.to_ensemble(client, s.base[client], lambda b, when: read(client, entry, b, when=when))],
    )


def handle_read(s: GuaranteedLedger, client: Parameter, entry: Parameter, bookie: Parameter) -> Action:
    """Fence the ledger and answer with the entry or NoSuchEntry (rule 12, BookieSendsReadResponse)."""
    content = maximum(s.entry, lambda e: if_(e == entry, s.stored[bookie, e], NOTHING))
    return Action(
        when=s.read_to(client, entry, bookie) & ~s.read_handled[client, entry, bookie],
        then=[
            s.fenced[bookie].set(True),
            s.read_handled[client, entry, bookie].set(True),
            s.read_content[client, entry, bookie].set(content),
        ],
        actor=bookie,
        received=read(client, entry, bookie),
        sent=[read_answer(client, entry, bookie, content)],
    )


def receive_read_answer(
    s: GuaranteedLedger, client: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """Receive the answer to a recovery read (rule 12).

    Answers that arrive after the read is decided are ignored.
    """
    content = s.read_content[client, entry, bookie]
    return Action(
        when=(s.phase[client] == GuaranteedPhase.ACTIVE) & s.read_answer_counts(client, entry, bookie),
        then=[
            s.read_answered[client, entry, bookie].set(True),
            s.found[client, entry].set(content, when=content != NOTHING),
        ],
        actor=client,
        received=read_answer(client, entry, bookie, content),
    )


def write_back(s: GuaranteedLedger, client: Parameter, fragment: Parameter, entry: Parameter) -> Action:
    """Write an entry that was read back to the recoverer's ensemble (rule 12, ClientWritesBackEntry)."""
    return Action(
        when=(s.phase[client] == GuaranteedPhase.ACTIVE)
        & s.may_send(client, fragment, entry)
        & s.positive(client, entry)
        & s.in_order(client, entry),
        then=s.sends(client, fragment, entry),
        actor=client,
        sent=[_adds(s, client, fragment, entry)],
    )


def finish_recovery(s: GuaranteedLedger, client: Parameter, entry: Parameter) -> Action:
    """Close the ledger just below `entry`, at which reading ended (rule 12).

    Nothing is pending. The recoverer's own fragments become the ledger's (RecoveryClientClosesLedger).
    """
    written = s.lafr(client) if s.parameters.recovery_done == "at-wq" else s.lac(client)
    return Action(
        when=(s.phase[client] == GuaranteedPhase.ACTIVE)
        & s.negative(client, entry)
        & (written + 1 == entry)
        & (s.status == Status.IN_RECOVERY)
        & ~s.overtaken[client],
        then=[
            s.status.set(Status.CLOSED),
            s.last_entry.set(entry - 1),
            s.phase[client].set(GuaranteedPhase.CLOSED),
            *s.publishes_metadata(client),
        ],
        actor=client,
        note="closes the ledger before entry {entry}, which is not there",
    )


# The system: every action in the order in which messages flow.


def ledger(parameters: GuaranteedParameters) -> System:
    """Return the transition system of one instance, without properties."""
    s = GuaranteedLedger(parameters)
    return System(
        state=s,
        actions=(
            each(create_ledger, s),
            in_turn(
                "fragment",
                each(push, s, s.fragment, s.entry),
                *s.adds_and_changes(s.writer, handle_add, receive_ack, change_ensemble),
                each(receive_fenced, s, s.writer, s.fragment, s.entry, s.bookie),
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
                "fragment",
                each(write_back, s, s.recoverer, s.fragment, s.entry),
                *s.adds_and_changes(s.recoverer, handle_add, receive_ack, change_ensemble),
            ),
            each(finish_recovery, s, s.recoverer, s.read_entry),
            each(close_ledger, s),
        ),
        caps={
            "entries": parameters.entries,
            "recoverers": parameters.recoverers,
            "fragments": len(s.fragment),
        },
    )
