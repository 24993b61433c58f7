"""BookKeeper with a guaranteed write quorum: an entry stays pending until all WQ bookies of its write set have it.

Besides the last add confirmed (LAC) each client counts a last add fully replicated (LAFR). Ensemble changes,
recovery and closing go by the LAFR, so that every entry of a fragment that is over, and of a ledger that is
closed, is on all of its write set. The rules are numbered in docs/tweaks.md; what is not said there is as in
the current protocol. What this tweak shares with unbounded ledgers, which build on it, stands in replication.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fencepost.encoding.language.messages import Broadcast, Message, message, to_each
from fencepost.encoding.language.parameters import parameter, switch
from fencepost.encoding.language.quantifiers import exists, forall, maximum
from fencepost.encoding.language.sorts import BOOL, Sort, members
from fencepost.encoding.language.state import family, variable
from fencepost.encoding.language.system import Action, System, each, in_turn
from fencepost.encoding.language.terms import (
    FALSE,
    TRUE,
    Parameter,
    Term,
    TermLike,
    any_of,
    if_,
    implies,
    lift,
)
from fencepost.protocols.bookkeeper.bookies import NOTHING
from fencepost.protocols.bookkeeper.metadata import WRITER, Status
from fencepost.protocols.bookkeeper_tweaks.replication import (
    ReplicatedLedger,
    TweakSizes,
    adds_and_changes,
    commits,
    due,
    installs,
    members_then,
    prefixes,
    publishes_metadata,
    sends,
    sends_again,
    takes_metadata,
    to_ensemble,
    withdraws_acks,
)

# Parameters and switches. The first value of each switch is the proposal; the second is a mutant of it, but for the
# last switch, where it is a mend.

_MODULE = "Vanlightly/bookkeeper-tlaplus, tweaks/ProtocolWithGuaranteedWriteQuorum.tla"


@dataclass(frozen=True)
class GuaranteedParameters(TweakSizes):
    """One instance: after the bookies and quorums, sizes and switches of this tweak."""

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


# State: facts on the metadata store, the clients and the bookies, and what follows from them.


class GuaranteedPhase(Enum):
    """What a client is doing."""

    IDLE = "idle"
    ACTIVE = "active"
    CLOSED = "closed"
    """It closed the ledger."""
    WITHDRAWN = "withdrawn"
    """A fenced bookie refused it, and it does nothing any more."""


class GuaranteedLedger(ReplicatedLedger):
    """The state of one ledger."""

    parameters: GuaranteedParameters
    nothing = NOTHING

    def __init__(self, p: GuaranteedParameters) -> None:
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

        # Every client: its copy of the metadata, its adds with the LAC and LAFR they carry, and their answers.
        self.declare_clients(GuaranteedPhase)
        self.declare_adds()
        self.add_refused = family(BOOL, client, self.fragment, self.entry, bookie)
        self.declare_acks()
        self.kept_lac = family(self.prefix, client)
        """The LAC when acks were last withdrawn: what was acknowledged remains so."""

        # Recoverers: the fencing reads and the recovery reads. (The writer's row stays as it is.)
        self.base = family(self.fragment, client)
        self.overtaken = family(BOOL, client)
        """A later recoverer has bumped the version, so this one can commit nothing any more."""
        self.fence_handled = family(BOOL, client, bookie)
        self.fence_told = family(self.prefix, client, bookie)
        self.fence_answered = family(BOOL, client, bookie)
        # Reading goes one past the last entry: it ends at the entry that is not there.
        self.declare_reads(self.next_entry, content=self.prefix)
        self.found = family(self.prefix, client, self.read_entry)

        self.declare_losses()

    # What a client sends, and its two prefixes (rules 2, 4 and 5). Neither falls.

    def content_sent(self, client: TermLike, entry: TermLike) -> Term:
        """What the client sends as the entry: the writer its own, a recoverer what it read."""
        return if_(lift(WRITER) == client, entry, self.found[client, entry])

    def start(self, client: TermLike) -> Term:
        """Where both prefixes start (rule 11): 0 for the writer, a recoverer goes by what fencing told it."""
        return self.highest_told(client, self.fence_told)

    def lac(self, client: TermLike) -> Term:
        """Last add confirmed: AQ acks. The writer has acknowledged this and everything below it (rule 4)."""
        run, kept = self.run(client, self.parameters.ack_quorum), self.kept_lac[client]
        return if_(run < kept, kept, run)

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

    # Answers of bookies, and recovery.

    def add_stored(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """The bookie stored what that add brought: it did not refuse it."""
        index = (client, fragment, entry, bookie)
        return self.add_handled[index] & ~self.add_refused[index]

    def fence_sent(self, client: TermLike, bookie: TermLike) -> Term:
        """The recoverer sent the bookie a fencing read: to the last ensemble, when it began."""
        return (self.phase[client] != GuaranteedPhase.IDLE) & self.own_member[
            client, self.base[client], bookie
        ]

    def closed_by_another(self) -> Term:
        """A recoverer has closed the ledger."""
        return exists(self.recoverer, lambda c: self.phase[c] == GuaranteedPhase.CLOSED)


# Messages: what a person sees travel.


def add(
    s: GuaranteedLedger,
    client: TermLike,
    fragment: TermLike,
    entry: TermLike,
    bookie: TermLike,
    when: TermLike = True,
    now: bool = False,
) -> Message:
    """An add: new, of recovery, or sent again. It carries the sender's LAC and LAFR (rule 3).

    `now` says that it is being sent, and so carries what they are now.
    """
    return message(
        "add",
        client,
        bookie,
        about={"entry": entry, "fragment": fragment},
        says={
            "content": s.content_sent(client, entry),
            **prefixes(s, client, fragment, entry, now),
        },
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
    """The answer to an add: stored, or refused because the ledger is fenced."""
    return message(
        "add answer",
        bookie,
        client,
        about={"entry": entry, "fragment": fragment},
        says={"fenced": refused},
        lost=s.add_answer_lost[client, fragment, entry, bookie],
    )


def fence(recoverer: TermLike, bookie: TermLike, when: TermLike = True) -> Message:
    """A fencing read."""
    return message("fence", recoverer, bookie, when=when)


def fence_answer(s: GuaranteedLedger, recoverer: TermLike, bookie: TermLike, told: TermLike) -> Message:
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


def create_ledger(s: GuaranteedLedger) -> Action:
    """The writer creates the ledger, open, over the first WQ bookies (ClientCreatesLedger; bookies are alike)."""
    return Action(
        when=s.status == Status.NONE,
        then=[s.status.set(Status.OPEN), s.phase[WRITER].set(GuaranteedPhase.ACTIVE)],
        actor=WRITER,
        note="creates the ledger, open",
    )


def push(s: GuaranteedLedger, fragment: Parameter, entry: Parameter) -> Action:
    """The writer sends the next entry to its ensemble (ClientSendsAddEntryRequests)."""
    return Action(
        when=(s.phase[WRITER] == GuaranteedPhase.ACTIVE)
        & s.may_send(WRITER, fragment, entry)
        & forall(s.entry, lambda e: implies(e < entry, s.pushed(WRITER, e))),
        then=sends(s, WRITER, fragment, entry),
        actor=WRITER,
        sent=[_adds(s, WRITER, fragment, entry)],
    )


def close_ledger(s: GuaranteedLedger) -> Action:
    """The writer closes the ledger, still open, with nothing pending (rule 10, ClientClosesLedgerSuccess)."""
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
    """The entry to the ensemble of that fragment."""
    return to_ensemble(
        s, client, fragment, lambda b, when: add(s, client, fragment, entry, b, when=when, now=True)
    )


def handle_add(
    s: GuaranteedLedger, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """A bookie stores an entry unless the ledger is fenced there, and answers (BookieSendsAdd…Response).

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
    """A member of the client's ensemble has stored the entry: LAC and LAFR may move (ReceiveAddConfirmedResponse)."""
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
    """A bookie refused the entry: the writer withdraws (rule 13, ClientReceivesAddFencedResponse)."""
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
    """A bookie that failed the client is replaced from LAFR+1 on, and pending entries move along (ChangeEnsemble).

    The new fragment starts at LAFR+1 and hides the last one if that is its start (rule 6). The bookie loses its
    acks above the LAFR; every pending entry, acknowledged or not, goes to the newcomer (rule 7). A pinned bookie
    stays until the LAFR has passed (rule 8). The writer commits the change at once, and may only while the
    ledger is open; a recoverer keeps it to itself (rule 9).
    """
    following = fragment + 1
    below = s.lafr(client) if s.parameters.fragment_start == "lafr" else s.lac(client)
    ensemble = members_then(s, client, fragment, failed, spare)
    resent = due(s, client, fragment, following, below)
    is_writer = client.sort is s.writer
    return Action(
        when=(s.phase[client] == GuaranteedPhase.ACTIVE)
        & s.replaceable(client, fragment, failed, spare)
        & (~s.pinned(client, failed) if s.parameters.pinning == "yes" else TRUE)
        & (s.status == (Status.OPEN if is_writer else Status.IN_RECOVERY)),
        then=[
            *installs(s, client, following, below + 1, ensemble),
            *withdraws_acks(s, client, failed, below),
            s.kept_lac[client].set(s.lac(client)),
            *sends_again(s, client, following, resent),
            *(commits(s, following, below + 1, ensemble) if is_writer else []),
        ],
        actor=client,
        sent=[add(s, client, following, e, spare, when=when, now=True) for e, when in resent.items()],
        note="replaces {failed} by {spare}, from its LAFR + 1 on",
    )


# Recovery.


def begin_recovery(s: GuaranteedLedger, client: Parameter) -> Action:
    """A recoverer puts the ledger in recovery, anew, and fences the last ensemble (rule 13, ClientStartsRecovery)."""
    return Action(
        when=(s.phase[client] == GuaranteedPhase.IDLE)
        & any_of(s.status == Status.OPEN, s.status == Status.IN_RECOVERY),
        then=[
            s.status.set(Status.IN_RECOVERY),
            s.phase[client].set(GuaranteedPhase.ACTIVE),
            *takes_metadata(s, client),
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


def receive_fence_answer(s: GuaranteedLedger, client: Parameter, bookie: Parameter) -> Action:
    """A bookie is fenced and tells its LAFR; once enough are, further answers are ignored (rules 11 and 13)."""
    return Action(
        when=(s.phase[client] == GuaranteedPhase.ACTIVE) & s.fence_answer_counts(client, bookie),
        then=[s.fence_answered[client, bookie].set(True)],
        actor=client,
        received=fence_answer(s, client, bookie, s.fence_told[client, bookie]),
    )


def send_reads(s: GuaranteedLedger, client: Parameter, entry: Parameter) -> Action:
    """The recoverer reads the entries above its start one after another (rule 12, ClientSendsRecoveryReadRequests)."""
    return Action(
        when=(s.phase[client] == GuaranteedPhase.ACTIVE) & s.may_read(client, entry),
        then=[s.read_sent[client, entry].set(True)],
        actor=client,
        sent=[to_ensemble(s, client, s.base[client], lambda b, when: read(client, entry, b, when=when))],
    )


def handle_read(s: GuaranteedLedger, client: Parameter, entry: Parameter, bookie: Parameter) -> Action:
    """A bookie fences the ledger and answers with the entry or NoSuchEntry (rule 12, BookieSendsReadResponse)."""
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
    """A bookie has the entry or not; answers after the read is decided are ignored (rule 12)."""
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
    """An entry that was read goes to the recoverer's own current ensemble (rule 12, ClientWritesBackEntry)."""
    return Action(
        when=(s.phase[client] == GuaranteedPhase.ACTIVE)
        & s.may_send(client, fragment, entry)
        & s.positive(client, entry)
        & s.in_order(client, entry),
        then=sends(s, client, fragment, entry),
        actor=client,
        sent=[_adds(s, client, fragment, entry)],
    )


def finish_recovery(s: GuaranteedLedger, client: Parameter, entry: Parameter) -> Action:
    """Reading ended at `entry` and nothing is pending: the ledger is closed just below it (rule 12).

    The recoverer's own fragments become the ledger's (RecoveryClientClosesLedger).
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
            *publishes_metadata(s, client),
        ],
        actor=client,
        note="closes the ledger before entry {entry}, which is not there",
    )


# The system: every action in the order in which messages flow.


def ledger(parameters: GuaranteedParameters) -> System:
    """The transition system of one instance, without properties."""
    s = GuaranteedLedger(parameters)
    return System(
        state=s,
        actions=(
            each(create_ledger, s),
            in_turn(
                "fragment",
                each(push, s, s.fragment, s.entry),
                *adds_and_changes(s, s.writer, handle_add, receive_ack, change_ensemble),
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
                *adds_and_changes(s, s.recoverer, handle_add, receive_ack, change_ensemble),
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
