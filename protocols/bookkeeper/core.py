"""Why BookKeeper is safe, on one page: one ledger without messages, numbers, positions and fragments.

A step is a commitment of a bookie or a client. Messages are left out: a request, once sent, is handled at
any later time or never, and an answer counts from the moment it is given. Numbers of bookies are replaced
by quorums: any ack quorum and any absent quorum of one write set meet.

Left out because they only allow fewer executions: the order of pushes, reads and write-backs, coverage,
LACs in messages, senders and receivers, time-outs. The rest is the protocol's skeleton: ensemble changes,
any number of bookies, entries and recoverers, and any E >= WQ >= AQ. E appears only as one write set for
each entry. A separate check shows that the whole protocol does nothing that these steps do not
(`refinement`).

The core has two readings. On a finite instance (`core`) write sets and quorums are the actual subsets. Over
sorts of any size (`core_of_any_size`) only the axioms about them are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.parameters import parameter, require, switch
from fencepost.encoding.language.quantifiers import everywhere, exists, forall, forall_over
from fencepost.encoding.language.sorts import (
    BOOL,
    Sort,
    SubsetSort,
    Value,
    integers,
    labels,
    members,
    of_any_size,
    subsets_of_size,
)
from fencepost.encoding.language.state import StateSpace, family, variable
from fencepost.encoding.language.system import Axiom, System
from fencepost.encoding.language.terms import TRUE, Family, Parameter, Term, TermLike, Update, any_of
from fencepost.quorums import arithmetic


@dataclass(frozen=True)
class CoreParameters:
    """A finite instance of the core, with switches that remove parts of the protocol.

    Raises BadInput unless 1 <= AQ <= WQ <= E <= N.
    """

    bookies: int = parameter(3, "N: bookies there are")
    ensemble: int = parameter(3, "E: bookies that the entries are striped over at first")
    write_quorum: int = parameter(3, "WQ: bookies of a write set")
    ack_quorum: int = parameter(2, "AQ: bookies of an ack quorum")
    entries: int = parameter(1, "L: entries there are")
    recoverers: int = parameter(1, "recovery attempts, each by a client of its own")

    recovery_reads_fence: str = switch(
        ("yes", "no"), "a recovery read fences the bookie", "Defect 1, issue 2614, PR 2616 (4.14)"
    )
    absent_quorum: str = switch(
        ("meets-ack-quorums", "one-fewer"),
        "the NoSuchEntry answers that end recovery: QC of them, or one fewer, which some ack quorum misses",
        "BP-46, lemma quorums-meet",
    )
    unset_acks: str = switch(
        ("withdrawn", "kept"),
        "an ensemble change withdraws the acks of bookies that leave an entry's write set",
        "PendingAddOp.unsetSuccessAndSendWriteRequest; issues 3005 and 4097 for the kind of mistake",
    )
    change_in_recovery: str = switch(
        ("refused", "committed"),
        "an ensemble change of the writer is refused or committed while the ledger is in recovery",
        "LedgerHandle.ensembleChangeLoop: the metadata must be open",
    )
    forgets: str = switch(
        ("nothing", "entries-then-limbo", "entries", "fences"),
        "the data that a bookie loses in a restart; in limbo it is fenced, and never answers NoSuchEntry",
        "BP-46: scenario 1 is the loss of fences, scenario 2 that of entries",
    )

    def __post_init__(self) -> None:
        """Check the sizes."""
        e, wq, aq = self.ensemble, self.write_quorum, self.ack_quorum
        sizes = {"bookies": self.bookies, "ensemble": e, "write_quorum": wq, "ack_quorum": aq}
        require(
            "ack_quorum <= write_quorum <= ensemble <= bookies",
            aq <= wq <= e <= self.bookies,
            sizes,
            "an example: bookies=3, ensemble=3, write_quorum=3, ack_quorum=2",
        )

    @property
    def absent(self) -> int:
        """The number of NoSuchEntry answers that end recovery."""
        enough: int = arithmetic.BP46.negative_answers(self.ensemble, self.write_quorum, self.ack_quorum)
        return enough - 1 if self.absent_quorum == "one-fewer" else enough


class CoreStatus(Enum):
    """The ledger's status in the metadata store."""

    OPEN = "open"
    IN_RECOVERY = "in-recovery"
    CLOSED = "closed"


class Content(Enum):
    """The content of an entry, as it is stored or read."""

    NOTHING = "nothing"
    PUSHED = "what the writer pushed"
    OTHER = "something else"


class Core(StateSpace):
    """The state variables of the metadata store, the bookies and the clients.

    Entry 0 stands for "no entry".
    """

    def __init__(self, p: CoreParameters, counted: bool) -> None:
        """Declare the state variables, over finite sorts if `counted`, otherwise over sorts of any size."""
        self.parameters = p
        self._sorts(p) if counted else self._open_sorts()
        bookie, client, entry, write_set = self.bookie, self.client, self.entry, self.write_set

        # Constants.
        self.writer = variable(client, initial="w")
        self.no_entry = variable(entry, initial=0)
        self.before = family(BOOL, entry, entry, initial=lambda e, f: e < f)
        self.in_write_set = self._membership(write_set)
        self.in_ack_quorum = self._membership(self.ack_quorum)
        self.in_absent_quorum = self._membership(self.absent_quorum)

        # Metadata store: the status, the last entry of a closed ledger, and the write set of each entry.
        self.status = variable(members(CoreStatus))
        self.last = variable(entry)
        self.home = family(write_set, entry, initial=lambda e: self._striped(e))

        # Bookies: what is stored as each entry, and whether the ledger is fenced.
        self.stored = family(members(Content), bookie, entry)
        self.fenced = family(BOOL, bookie)
        self.limbo = family(BOOL, bookie)

        # Every client: its copy of the metadata's placement of entries, its adds and their acks, its LAC.
        self.placed = family(write_set, client, entry, initial=lambda c, e: self._striped(e))
        self.pushed = family(BOOL, client, entry)
        self.took = family(BOOL, client, entry, bookie)
        self.acked = family(BOOL, client, entry, bookie)
        self.lac = family(entry, client)
        self.reported = family(BOOL, client)
        self.reported_last = family(entry, client)

        # Recoverers: the placement of entries when they began, the answers of bookies, the entries found.
        self.began = family(BOOL, client)
        self.reading = family(BOOL, client)
        self.asked = family(write_set, client, entry, initial=lambda c, e: self._striped(e))
        self.answered = family(BOOL, client, entry, bookie)
        self.answer = family(members(Content), client, entry, bookie)
        self.found = family(members(Content), client, entry)

    def _sorts(self, p: CoreParameters) -> None:
        self.bookie = labels("bookie", "b", p.bookies)
        self.client = Sort("client", ("w", *(f"r{i}" for i in range(1, p.recoverers + 1))))
        self.entry = integers(0, p.entries)
        self.write_set = subsets_of_size("write set", self.bookie, p.write_quorum)
        self.ack_quorum = subsets_of_size("ack quorum", self.bookie, p.ack_quorum)
        self.absent_quorum = subsets_of_size("absent quorum", self.bookie, p.absent)

    def _open_sorts(self) -> None:
        self.bookie, self.client, self.entry = map(of_any_size, ("bookie", "client", "entry"))
        self.write_set, self.ack_quorum, self.absent_quorum = (
            SubsetSort(name, None, of=self.bookie) for name in ("write set", "ack quorum", "absent quorum")
        )

    def _membership(self, quorum: SubsetSort) -> Family:
        """Return the constant that says which bookies each quorum has."""
        return family(BOOL, self.bookie, quorum, initial=lambda b, q: b in quorum.parts[q])

    def _striped(self, entry: int) -> Value:
        """Return the write set of an entry in the first ensemble: WQ bookies round robin."""
        p = self.parameters
        positions = ((entry - 1 + i) % p.ensemble for i in range(p.write_quorum))
        return self.write_set.named(frozenset(self.bookie.values[position] for position in positions))

    # Definitions over the state.

    def is_writer(self, client: TermLike) -> Term:
        """Return whether the client created the ledger; all other clients are recoverers."""
        return self.writer == client

    def is_entry(self, entry: TermLike) -> Term:
        """Return whether this is an entry, and not "no entry"."""
        return self.before[self.no_entry, entry]

    def next_above(self, low: TermLike, entry: TermLike) -> Term:
        """Return whether the entry is the one after `low`."""
        between = exists(self.entry, lambda f: self.before[low, f] & self.before[f, entry])
        return self.before[low, entry] & ~between

    def within(self, quorum: TermLike, write_set: TermLike, ack: bool) -> Term:
        """Return whether the ack quorum, or absent quorum, consists of bookies of the write set."""
        member = self.in_ack_quorum if ack else self.in_absent_quorum
        return forall(self.bookie, lambda b: implies(member[b, quorum], self.in_write_set[b, write_set]))

    def said_no(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the bookie answered NoSuchEntry."""
        return self.answered[client, entry, bookie] & (self.answer[client, entry, bookie] == Content.NOTHING)


# The writer.


def push(s: Core, entry: Parameter) -> Action:
    """Send an entry from the writer to its write set."""
    return Action(
        when=s.is_entry(entry),
        then=[s.pushed[s.writer, entry].set(True)],
        actor="w",
        note="pushes entry {entry}",
    )


def change_ensemble(s: Core, entry: Parameter, write_set: Parameter) -> Action:
    """Commit that an entry above the writer's LAC belongs elsewhere, while the ledger is open."""
    may_commit = s.status == CoreStatus.OPEN
    if s.parameters.change_in_recovery == "committed":
        may_commit = s.status != CoreStatus.CLOSED
    return Action(
        when=may_commit & s.before[s.lac[s.writer], entry],
        then=[s.home[entry].set(write_set), *_moves(s, s.writer, entry, write_set)],
        actor="w",
        note="commits that entry {entry} belongs on {write_set}",
    )


def close_ledger(s: Core) -> Action:
    """Close the ledger at the writer's LAC, in recovery or not, and report it to the caller.

    A ledger that is closed there already is reported too.
    """
    closes = (s.status != CoreStatus.CLOSED) | (s.last == s.lac[s.writer])
    return Action(
        when=closes & ~s.reported[s.writer],
        then=[
            s.status.set(CoreStatus.CLOSED),
            s.last.set(s.lac[s.writer]),
            s.reported[s.writer].set(True),
            s.reported_last[s.writer].set(s.lac[s.writer]),
        ],
        actor="w",
        note="closes the ledger at its LAC",
    )


# Every client.


def store(s: Core, client: Parameter, entry: Parameter, bookie: Parameter) -> Action:
    """Store an entry on a bookie and ack it. A fence stops the writer, not a recoverer's write-back."""
    refused = s.is_writer(client) & s.fenced[bookie]
    content = if_(s.is_writer(client), Content.PUSHED, s.found[client, entry])
    return Action(
        when=s.pushed[client, entry] & ~refused,
        then=[s.stored[bookie, entry].set(content), s.took[client, entry, bookie].set(True)],
        actor=bookie,
        note="stores entry {entry} from {client}",
    )


def receive_ack(s: Core, client: Parameter, entry: Parameter, bookie: Parameter) -> Action:
    """Receive a bookie's ack while the entry is pending and the bookie is in its write set."""
    return Action(
        when=s.took[client, entry, bookie]
        & s.in_write_set[bookie, s.placed[client, entry]]
        & s.before[s.lac[client], entry]
        & ~s.reported[client],
        then=[s.acked[client, entry, bookie].set(True)],
        actor=client,
        note="has the ack of {bookie} for entry {entry}",
    )


def confirm(s: Core, client: Parameter, entry: Parameter, quorum: Parameter) -> Action:
    """Confirm the next entry once an ack quorum has it: the LAC moves to it.

    The writer acknowledges the entry to its caller.
    """
    acks = forall(s.bookie, lambda b: implies(s.in_ack_quorum[b, quorum], s.acked[client, entry, b]))
    return Action(
        when=s.next_above(s.lac[client], entry) & acks & ~s.reported[client],
        then=[
            s.lac[client].set(entry),
            *everywhere(s.bookie, lambda b: s.acked[client, entry, b].set(False)),
        ],
        actor=client,
        note="has acks of {quorum} for entry {entry}, which is confirmed",
    )


def _moves(s: Core, client: TermLike, entry: Parameter, write_set: Parameter) -> list[Update]:
    """Return the updates that place the entry elsewhere and withdraw the acks of bookies it leaves."""
    moved = s.placed[client, entry].set(write_set)
    if s.parameters.unset_acks == "kept":
        return [moved]
    return [
        moved,
        *everywhere(
            s.bookie, lambda b: s.acked[client, entry, b].set(False, when=~s.in_write_set[b, write_set])
        ),
    ]


# Bookies.


def fence(s: Core, bookie: Parameter) -> Action:
    """Fence a bookie: it handles a fencing read."""
    return Action(when=TRUE, then=[s.fenced[bookie].set(True)], actor=bookie, note="is fenced")


def answer_read(s: Core, client: Parameter, entry: Parameter, bookie: Parameter) -> Action:
    """Answer a recovery read with the stored content or NoSuchEntry. The read also fences the bookie."""
    knows = ~s.limbo[bookie] | (s.stored[bookie, entry] != Content.NOTHING)
    fences = s.parameters.recovery_reads_fence == "yes"
    return Action(
        when=s.reading[client]
        & s.is_entry(entry)
        & s.in_write_set[bookie, s.asked[client, entry]]
        & ~s.answered[client, entry, bookie]
        & knows,
        then=[
            s.answered[client, entry, bookie].set(True),
            s.answer[client, entry, bookie].set(s.stored[bookie, entry]),
            *([s.fenced[bookie].set(True)] if fences else []),
        ],
        actor=bookie,
        note="answers the read of entry {entry} by {client}",
    )


def restart(s: Core, bookie: Parameter) -> Action:
    """Restart a bookie that has lost something."""
    forgets = s.parameters.forgets
    if forgets == "fences":
        note = "restarts, and has lost its fence"
        return Action(when=TRUE, then=[s.fenced[bookie].set(False)], actor=bookie, note=note)
    then = everywhere(s.entry, lambda e: s.stored[bookie, e].set(Content.NOTHING))
    if forgets == "entries-then-limbo":
        then += [s.limbo[bookie].set(True), s.fenced[bookie].set(True)]
    return Action(when=TRUE, then=then, actor=bookie, note="restarts, and has lost its entries")


# Recoverers.


def begin_recovery(s: Core, client: Parameter) -> Action:
    """Put the ledger in recovery, and copy the metadata."""
    return Action(
        when=~s.is_writer(client) & ~s.began[client] & (s.status != CoreStatus.CLOSED),
        then=[
            s.began[client].set(True),
            s.status.set(CoreStatus.IN_RECOVERY),
            *everywhere(s.entry, lambda e: s.asked[client, e].set(s.home[e])),
            *everywhere(s.entry, lambda e: s.placed[client, e].set(s.home[e])),
        ],
        actor=client,
        note="puts the ledger in recovery",
    )


def choose_start(s: Core, client: Parameter, entry: Parameter) -> Action:
    """Choose the entries that a recoverer takes as confirmed before it reads. Any choice is safe."""
    return Action(
        when=s.began[client] & ~s.reading[client],
        then=[s.lac[client].set(entry)],
        actor=client,
        note="takes entries up to {entry} as confirmed",
    )


def begin_reading(s: Core, client: Parameter) -> Action:
    """Begin to read entries, whether or not enough bookies have answered that they are fenced."""
    return Action(
        when=s.began[client], then=[s.reading[client].set(True)], actor=client, note="begins to read entries"
    )


def write_back(s: Core, client: Parameter, entry: Parameter, bookie: Parameter) -> Action:
    """Send an entry that some bookie answered with to the entry's write set."""
    answer = s.answer[client, entry, bookie]
    return Action(
        when=s.answered[client, entry, bookie] & (answer != Content.NOTHING) & ~s.pushed[client, entry],
        then=[s.pushed[client, entry].set(True), s.found[client, entry].set(answer)],
        actor=client,
        note="writes entry {entry} back, as {bookie} has it",
    )


def change_own_ensemble(s: Core, client: Parameter, entry: Parameter, write_set: Parameter) -> Action:
    """Decide as a recoverer that an entry above its LAC belongs elsewhere.

    The decision stays with the recoverer until it closes the ledger.
    """
    return Action(
        when=s.reading[client] & s.before[s.lac[client], entry],
        then=_moves(s, client, entry, write_set),
        actor=client,
        note="decides that entry {entry} belongs on {write_set}",
    )


def finish_recovery(s: Core, client: Parameter, entry: Parameter, quorum: Parameter) -> Action:
    """Close the ledger below an entry that an absent quorum does not have.

    Everything below that entry is confirmed.
    """
    absent = forall(s.bookie, lambda b: implies(s.in_absent_quorum[b, quorum], s.said_no(client, entry, b)))
    return Action(
        when=s.began[client]
        & (s.status == CoreStatus.IN_RECOVERY)
        & s.next_above(s.lac[client], entry)
        & absent,
        then=[
            s.status.set(CoreStatus.CLOSED),
            s.last.set(s.lac[client]),
            *everywhere(s.entry, lambda e: s.home[e].set(s.placed[client, e])),
            s.reported[client].set(True),
            s.reported_last[client].set(s.lac[client]),
        ],
        actor=client,
        note="closes the ledger below entry {entry}: NoSuchEntry from {quorum}",
    )


def adopt_close(s: Core, client: Parameter) -> Action:
    """Report the ledger as closed because another client closed it."""
    return Action(
        when=s.began[client] & (s.status == CoreStatus.CLOSED) & ~s.reported[client],
        then=[s.reported[client].set(True), s.reported_last[client].set(s.last)],
        actor=client,
        note="finds the ledger closed, and adopts that",
    )


# The whole.


def core(p: CoreParameters) -> System:
    """Return the core on a finite instance, without properties."""
    return _system(Core(p, counted=True))


def core_of_any_size(p: CoreParameters | None = None) -> System:
    """Return the core over sorts of any size, without properties; only the switches of `p` count."""
    return _system(Core(p or CoreParameters(), counted=False))


def _system(s: Core) -> System:
    everyone = s.client, s.entry, s.bookie
    return System(
        state=s,
        actions=(
            each(push, s, s.entry),
            each(begin_recovery, s, s.client),
            each(choose_start, s, s.client, s.entry),
            each(fence, s, s.bookie),
            each(begin_reading, s, s.client),
            each(answer_read, s, *everyone),
            each(write_back, s, *everyone),
            each(store, s, *everyone),
            each(receive_ack, s, *everyone),
            each(confirm, s, s.client, s.entry, s.ack_quorum),
            each(change_ensemble, s, s.entry, s.write_set),
            each(change_own_ensemble, s, s.client, s.entry, s.write_set),
            each(close_ledger, s),
            each(finish_recovery, s, s.client, s.entry, s.absent_quorum),
            each(adopt_close, s, s.client),
            *([each(restart, s, s.bookie)] if s.parameters.forgets != "nothing" else []),
        ),
        default_rounds=3,
        axioms=(*_order(s), *_quorums(s)),
        at_first=_beginning(s),
    )


def _order(s: Core) -> tuple[Axiom, ...]:
    """Return the axioms that order entries one after the other, with "no entry" first."""
    before, entry = s.before, s.entry
    return (
        Axiom("before-not-itself", "no entry is before itself", forall(entry, lambda e: ~before[e, e])),
        Axiom(
            "before-and-before",
            "the order of entries is transitive",
            forall_over((entry,) * 3, lambda e, f, g: implies(before[e, f] & before[f, g], before[e, g])),
        ),
        Axiom(
            "one-before-the-other",
            "of two different entries, one is before the other",
            forall_over((entry,) * 2, lambda e, f: any_of(e == f, before[e, f], before[f, e])),
        ),
        Axiom(
            "no-entry-first",
            '"no entry" is before every entry',
            forall(entry, lambda e: (s.no_entry == e) | before[s.no_entry, e]),
        ),
    )


def _quorums(s: Core) -> tuple[Axiom, ...]:
    """Return the axioms about quorums."""

    def meet(write_set: Term, ack: Term, absent: Term) -> Term:
        both = exists(s.bookie, lambda b: s.in_ack_quorum[b, ack] & s.in_absent_quorum[b, absent])
        return implies(s.within(ack, write_set, True) & s.within(absent, write_set, False), both)

    nonempty = Axiom(
        "ack-quorum-not-empty",
        "an ack quorum has a bookie: AQ is at least 1",
        forall(s.ack_quorum, lambda q: exists(s.bookie, lambda b: s.in_ack_quorum[b, q])),
    )
    if s.parameters.absent_quorum == "one-fewer":
        return (nonempty,)
    sorts = s.write_set, s.ack_quorum, s.absent_quorum
    meaning = "an ack quorum and an absent quorum of one write set meet: AQ + QC > WQ"
    return nonempty, Axiom("quorums-meet", meaning, forall_over(sorts, meet), because="quorums-meet")


def _beginning(s: Core) -> tuple[Axiom, ...]:
    return (
        Axiom(
            "placed-by-metadata",
            "the writer's copy of the metadata is the metadata's",
            forall(s.entry, lambda e: s.placed[s.writer, e] == s.home[e]),
        ),
        Axiom("nothing-confirmed", "no LAC is above 0", forall(s.client, lambda c: s.lac[c] == s.no_entry)),
    )
