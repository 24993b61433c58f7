"""The state of one ledger: facts on the metadata store, the bookies and the clients, and what follows from them.

Facts are what happened: stored, fenced, sent, answered. Everything else is a definition over them: what is
in flight, what is covered, the last add confirmed. The exception is what a fact must outlive: a client's LAC
is frozen while an ensemble change is in progress.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import ClassVar

from fencepost.encoding.language.state import StateSpace, choice, definition, family, variable
from fencepost.encoding.language.terms import (
    BOOL,
    TRUE,
    Sort,
    Term,
    TermLike,
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
from fencepost.protocols.bookkeeper.parameters import Parameters

WRITER = "w"
NO_BOOKIE = "none"
NOTHING = 0
"""The content of an entry that is not there. The writer pushes content e as entry e."""


class Status(Enum):
    """The ledger's status in the metadata store."""

    NONE = "none"
    OPEN = "open"
    IN_RECOVERY = "in-recovery"
    CLOSED = "closed"


class Phase(Enum):
    """What a client is doing."""

    IDLE = "idle"
    ACTIVE = "active"
    CLOSING = "closing"
    """A writer that was refused by a fenced bookie: pending adds are dropped, it may still close."""
    CLOSED = "closed"
    """It reported that the ledger is closed, at `closed_at`."""
    GONE = "gone"
    """It failed or withdrew, and does nothing any more."""


class Stage(Enum):
    """Where a bookie is in its boot sequence (with boot=whole)."""

    SERVING = "serving"
    DOWN = "down"
    COOKIES = "checking cookies"
    FIXING = "fixing cookies"
    STAMPING = "stamping disks"
    READY = "ready"
    REFUSED = "refused to boot"


class PhaseOne(Enum):
    """How far phase one of the data integrity check is."""

    OVER = "over"
    DUE = "due"
    NOTED = "noted"
    HALFWAY = "halfway"
    MARKED = "marked"


class Ledger(StateSpace):
    """The state of one ledger. `parameters` fixes the sizes and the switches."""

    stores: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "zk": ("status", "last_entry", "last_fragment", "first", "ensemble")
    }

    def __init__(self, parameters: Parameters) -> None:
        p = self.parameters = parameters
        recoverers = tuple(f"r{i}" for i in range(1, p.recoverers + 1))
        bookie = self.bookie = labels("bookie", "b", p.bookies)
        client = self.client = Sort("client", (WRITER, *recoverers))
        self.writer = Sort("writer", (WRITER,), part_of="client")
        self.recoverer = Sort("recoverer", recoverers, part_of="client")
        entry = self.entry = integers(1, p.entries)
        self.read_entry = integers(1, p.entries + 1)
        """Recovery reads one entry past the last: it ends at the entry that is not there."""
        position = self.position = integers(1, p.ensemble)
        fragment = self.fragment = integers(1, p.possible_fragments)
        """Fragments in order; each has an ensemble, starts at its `first` entry and hides what it replaces."""
        self.later_fragments = tuple(range(2, p.possible_fragments + 1))
        content = lac = integers(0, p.entries)

        def at_first(*index: object) -> str:
            return f"b{index[-1]}"

        # Who each entry and each window is striped over: constants.
        self.in_write_set = family(BOOL, self.read_entry, position, initial=self._striped)
        self.in_window = family(BOOL, position, position, initial=self._striped)
        if p.coverage == "first-ack-quorum":
            self.in_window_head = family(BOOL, position, position, initial=self._heads_window)

        # Metadata store: status, last entry, and the list of ensembles.
        self.status = variable(members(Status))
        self.last_entry = variable(lac)
        self.last_fragment = variable(fragment)
        self.first = family(integers(1, p.entries + 1), fragment)
        self.ensemble = family(bookie, fragment, position, initial=at_first)

        # Bookies: what is stored as each entry, the LAC that came with it, and whether the ledger is fenced.
        self.stored = family(content, bookie, entry)
        self.stored_lac = family(integers(0, p.entries - 1), bookie, entry)
        self.fenced = family(BOOL, bookie)

        # Every client: its copy of the metadata, its adds and their answers, its ensemble change.
        self.phase = family(members(Phase), client)
        self.closed_at = family(lac, client)
        self.own_last_fragment = family(fragment, client)
        self.own_first = family(integers(1, p.entries + 1), client, fragment)
        self.own_ensemble = family(bookie, client, fragment, position, initial=at_first)
        self.pushed_in = family(integers(0, p.possible_fragments), client, entry)
        self.pushed_lac = family(integers(0, p.entries - 1), client, entry)
        self.resent = family(BOOL, client, fragment, entry)
        self.add_handled = family(BOOL, client, fragment, entry, bookie)
        if p.fence_atomic == "no":
            self.add_admitted = family(BOOL, client, fragment, entry, bookie)
        self.add_refused = family(BOOL, client, fragment, entry, bookie)
        self.add_answered = family(BOOL, client, fragment, entry, bookie)
        self.acked = family(BOOL, client, entry, bookie)
        self.failed = family(Sort("bookie or none", (NO_BOOKIE, *bookie.values), part_of="bookie"), client)
        self.frozen_lac = family(lac, client)
        if p.lac_read_in_change == "racing":
            self.about_to_replace = family(self.failed.domain, client)
            self.lac_read = family(lac, client)
        self.tried_invalid_fragment = family(BOOL, client)

        # Recoverers: the fencing reads and the recovery reads. (The writer's row stays as it is.)
        self.base = family(fragment, client)
        """The last ensemble when recovery began: recovery reads go by the metadata up to here."""
        self.overtaken = family(BOOL, client)
        """Under `bump`: a later recoverer has bumped the version, so this one can commit nothing any more."""
        self.fence_handled = family(BOOL, client, bookie)
        self.fence_lac = family(integers(0, p.entries - 1), client, bookie)
        self.fence_answered = family(BOOL, client, bookie)
        if p.coverage_asks_for_entries:
            self.fence_found_entries = family(BOOL, client, bookie)
        self.read_sent = family(BOOL, client, self.read_entry)
        self.read_handled = family(BOOL, client, self.read_entry, bookie)
        self.read_content = family(content, client, self.read_entry, bookie)
        self.read_answered = family(BOOL, client, self.read_entry, bookie)
        self.found = family(content, client, self.read_entry)
        self.read_over = family(BOOL, client, self.read_entry)

        if p.silent:
            self.silent = family(BOOL, bookie)
        if p.crashes:
            # Crashes: how many there were, the requests that went with them, and what is unknown since.
            self.crashed = variable(integers(0, p.crashes))
            self.limbo = family(BOOL, bookie)
            self.add_dropped = family(BOOL, client, fragment, entry, bookie)
            self.fence_dropped = family(BOOL, client, bookie)
            self.read_dropped = family(BOOL, client, self.read_entry, bookie)
            self.fence_unknown = family(BOOL, client, bookie)
            self.read_unknown = family(BOOL, client, self.read_entry, bookie)
            if p.lose == "bare-fences":
                self.bare_fence = family(BOOL, bookie)
        if p.boots_in_steps:
            # The boot sequence: where it is, what is on disk and survives a crash, and the cookies.
            self.disk = Sort("disk", ("journal", "ledger", "index"))
            self.stage = family(members(Stage), bookie, initial=Stage.SERVING)
            self.phase_one = family(members(PhaseOne), bookie)
            self.in_scope = family(BOOL, bookie)
            self.dirty = family(BOOL, bookie, initial=p.dirty_marker == "before-serving")
            self.check_due = family(BOOL, bookie)
            self.checked = family(BOOL, bookie)
            self.durable_fence = family(BOOL, bookie)
            self.durable_limbo = family(BOOL, bookie)
            self.store_cookie = family(BOOL, bookie, initial=True)
            self.disk_cookie = family(BOOL, bookie, self.disk, initial=True)
            self.disks_lost = variable(integers(0, p.disks))
            self.reimaged = variable(integers(0, p.reimages))

        # What the network never delivers: one choice for each sending.
        self.add_lost = choice(client, entry, bookie, fault="lost")
        self.resend_lost = choice(client, fragment, entry, fault="lost")
        self.add_answer_lost = choice(client, fragment, entry, bookie, fault="lost")
        self.fence_lost = choice(client, bookie, fault="lost")
        self.fence_answer_lost = choice(client, bookie, fault="lost")
        self.read_lost = choice(client, self.read_entry, bookie, fault="lost")
        self.read_answer_lost = choice(client, self.read_entry, bookie, fault="lost")

    def _striped(self, start: int, position: int) -> bool:
        """Round robin: WQ consecutive positions from `start` on (RoundRobinDistributionSchedule)."""
        return (position - start) % self.parameters.ensemble < self.parameters.write_quorum

    def _heads_window(self, start: int, position: int) -> bool:
        """The AQ positions from `start` on."""
        return (position - start) % self.parameters.ensemble < self.parameters.ack_quorum

    def serves(self, bookie: TermLike) -> Term:
        """The bookie handles requests."""
        up = self.stage[bookie] == Stage.SERVING if self.parameters.boots_in_steps else TRUE
        return up & ~self.silent[bookie] if self.parameters.silent else up

    # Ensembles, by a client's copy of the metadata.

    def is_at(self, client: TermLike, fragment: TermLike, position: TermLike, bookie: TermLike) -> Term:
        """The bookie stands at that position of the client's ensemble of that fragment."""
        return self.own_ensemble[client, fragment, position] == bookie

    @definition
    def in_ensemble(self, client: TermLike, fragment: TermLike, bookie: TermLike) -> Term:
        """The bookie is a member of the client's ensemble of that fragment."""
        return exists(self.position, lambda i: self.is_at(client, fragment, i, bookie))

    @definition
    def in_write_set_of(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike
    ) -> Term:
        """The entry is sent to the bookie when it is sent to that ensemble."""
        return exists(
            self.position, lambda i: self.in_write_set[entry, i] & self.is_at(client, fragment, i, bookie)
        )

    @definition
    def still_there(self, client: TermLike, fragment: TermLike, bookie: TermLike) -> Term:
        """The bookie stands in the client's current ensemble where it stood in that one."""
        current = self.own_last_fragment[client]
        return exists(
            self.position,
            lambda i: self.is_at(client, fragment, i, bookie) & self.is_at(client, current, i, bookie),
        )

    # Adds.

    def pushed(self, client: TermLike, entry: TermLike) -> Term:
        """The client has sent the entry, as a new entry or as a write-back."""
        return self.pushed_in[client, entry] != 0

    @definition
    def add_sent(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """The entry was sent to the bookie because of that ensemble: pushed to it, or resent to its newcomer."""
        return any_of(
            (self.pushed_in[client, entry] == fragment)
            & self.in_write_set_of(client, fragment, entry, bookie),
            self.resent[client, fragment, entry]
            & self.in_write_set_of(client, fragment, entry, bookie)
            & self.is_newcomer(client, fragment, bookie),
        )

    def is_newcomer(self, client: TermLike, fragment: TermLike, bookie: TermLike) -> Term:
        """The bookie is in that ensemble and not in the one before."""
        return self.in_ensemble(client, fragment, bookie) & ~exists(
            self.fragment,
            lambda g: (g + 1 == fragment) & self.in_ensemble(client, g, bookie),
        )

    def content_sent(self, client: TermLike, entry: TermLike) -> Term:
        """What the client sends as the entry: the writer its own, a recoverer what it read."""
        return if_(lift(WRITER) == client, entry, self.found[client, entry])

    def add_in_flight(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """The add will reach the bookie and has not yet."""
        index = (client, fragment, entry, bookie)
        under_way = self.add_sent(*index) & ~self.lost_on_the_way(*index) & ~self.add_handled[index]
        return under_way & ~self.add_dropped[index] if self.parameters.crashes else under_way

    def lost_on_the_way(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike
    ) -> Term:
        """That sending is never delivered: the first one to each bookie and each resending have a loss of their own."""
        first = self.pushed_in[client, entry] == fragment
        return any_of(
            first & self.add_lost[client, entry, bookie],
            ~first & self.resend_lost[client, fragment, entry],
        )

    def answer_in_flight(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike
    ) -> Term:
        """The answer to an add will reach the client and has not yet."""
        index = (client, fragment, entry, bookie)
        return self.add_handled[index] & ~self.add_answer_lost[index] & ~self.add_answered[index]

    def may_time_out(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """The client may give up waiting for the bookie's ack of the entry."""

        def late(g: Term) -> Term:
            index = (client, g, entry, bookie)
            lost = self.lost_on_the_way(*index) | (self.add_handled[index] & self.add_answer_lost[index])
            outstanding = self.add_sent(*index) & ~self.add_answered[index]
            return outstanding & (lost if self.parameters.timeouts == "lost-only" else TRUE)

        return exists(self.fragment, late)

    # The last add confirmed. It never falls: acks are withdrawn above it only.

    @definition
    def complete(self, client: TermLike, entry: TermLike) -> Term:
        """The entry has AQ acks."""
        return at_least(self.parameters.ack_quorum, self.bookie, lambda b: self.acked[client, entry, b])

    def changing(self, client: TermLike) -> Term:
        """An ensemble change has begun and is not committed: the LAC stands still, acks still count."""
        begun = self.failed[client] != NO_BOOKIE
        if self.parameters.ensemble_change_commit == "local-first":
            return begun & (lift(WRITER) != client)
        return begun

    @definition
    def start(self, client: TermLike) -> Term:
        """Where the client's LAC starts: 0 for the writer, what fencing told a recoverer."""
        heard = maximum(
            self.bookie, lambda b: if_(self.fence_answered[client, b], self.fence_lac[client, b], 0)
        )
        if self.parameters.recovery_floor == "zero":
            return heard
        floor = self.first_of(client, self.base[client]) - 1
        return if_(lift(WRITER) == client, 0, if_(floor < heard, heard, floor))

    @definition
    def lac(self, client: TermLike) -> Term:
        """The client's last add confirmed; the writer has acknowledged this and everything below it."""

        def reached(n: Term) -> Term:
            return forall(
                self.entry,
                lambda e: implies((self.start(client) < e) & (e <= n), self.complete(client, e)),
            )

        highest = maximum(integers(0, self.parameters.entries), lambda n: if_(reached(n), n, 0))
        return if_(self.changing(client), self.frozen_lac[client], highest)

    def carried_lac(self, client: TermLike) -> Term:
        """The LAC that the client's adds carry: its own, or where recovery started if that is what they carry."""
        if self.parameters.recovery_lac == "frozen":
            return if_(lift(WRITER) == client, self.lac(client), self.start(client))
        return self.lac(client)

    @definition
    def pending(self, client: TermLike, entry: TermLike) -> Term:
        """The entry is pushed or written back, and not at or below the client's LAC."""
        return self.pushed(client, entry) & (self.lac(client) < entry)

    def first_of(self, client: TermLike, fragment: TermLike) -> Term:
        """The first entry of that ensemble's fragment, by the client's copy of the metadata."""
        return self.own_first[client, fragment]

    # Recovery.

    def fence_sent(self, client: TermLike, bookie: TermLike) -> Term:
        """The recoverer sent the bookie a fencing read: to the last ensemble, when it began."""
        return (self.phase[client] != Phase.IDLE) & self.in_ensemble(client, self.base[client], bookie)

    def fence_in_flight(self, client: TermLike, bookie: TermLike) -> Term:
        """The fencing read will reach the bookie and has not yet."""
        index = client, bookie
        under_way = self.fence_sent(*index) & ~self.fence_lost[index] & ~self.fence_handled[index]
        return under_way & ~self.fence_dropped[index] if self.parameters.crashes else under_way

    def fenced_by(self, client: TermLike, bookie: TermLike) -> Term:
        """The bookie has told the recoverer that it is fenced; "unknown" tells nothing."""
        answered = self.fence_answered[client, bookie]
        return answered & ~self.fence_unknown[client, bookie] if self.parameters.crashes else answered

    def read_in_flight(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """The recovery read will reach the bookie and has not yet."""
        index = client, entry, bookie
        sent = self.read_sent[client, entry] & self.read_to(*index)
        under_way = sent & ~self.read_lost[index] & ~self.read_handled[index]
        return under_way & ~self.read_dropped[index] if self.parameters.crashes else under_way

    @definition
    def covered(self, client: TermLike) -> Term:
        """Enough bookies are fenced: no AQ of a window are unheard of (or EC have answered)."""
        p = self.parameters

        def heard(position: Term) -> Term:
            return self._fenced_at(client, position)

        if p.coverage == "count":
            return at_least(p.fencing_quorum, self.position, heard)
        if p.coverage == "first-ack-quorum":
            return forall(
                self.position,
                lambda start: exists(self.position, lambda i: self.in_window_head[start, i] & heard(i)),
            )
        every_window = forall(
            self.position,
            lambda start: (
                ~at_least(p.ack_quorum, self.position, lambda i: self.in_window[start, i] & ~heard(i))
            ),
        )
        if p.coverage == "ok-in-window":
            return every_window & forall(self.position, lambda start: self._vouched_for(client, start))
        if p.coverage == "pr-2281":
            return every_window | at_least(
                p.absent_quorum, self.position, lambda i: self._found_entries_at(client, i)
            )
        return every_window

    def _fenced_at(self, client: TermLike, position: TermLike) -> Term:
        """The bookie at that position of the ensemble being fenced has told that it is."""
        return exists(
            self.bookie,
            lambda b: self.fenced_by(client, b) & self.is_at(client, self.base[client], position, b),
        )

    def _found_entries_at(self, client: TermLike, position: TermLike) -> Term:
        """The bookie at that position answered with its last entry, not with NoSuchEntry."""
        return exists(
            self.bookie,
            lambda b: (
                self.fenced_by(client, b)
                & self.fence_found_entries[client, b]
                & self.is_at(client, self.base[client], position, b)
            ),
        )

    def _vouched_for(self, client: TermLike, start: TermLike) -> Term:
        """Of the window one bookie has entries, or all have answered (4.9 and 4.10)."""
        found = exists(self.position, lambda i: self.in_window[start, i] & self._found_entries_at(client, i))
        silent = exists(self.position, lambda i: self.in_window[start, i] & ~self._fenced_at(client, i))
        return found | ~silent

    @definition
    def read_to(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """The bookie is asked for the entry: the metadata as of the beginning of recovery counts, to the end."""

        def holds_entry(g: Term) -> Term:
            later = exists(
                self.fragment,
                lambda h: (g < h) & (h <= self.base[client]) & (self.first_of(client, h) <= entry),
            )
            return (g <= self.base[client]) & (self.first_of(client, g) <= entry) & ~later

        return exists(
            self.fragment,
            lambda g: holds_entry(g) & self.in_write_set_of(client, g, entry, bookie),
        )

    def has_entry(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """The bookie answered the recovery read with the entry."""
        return self.read_answered[client, entry, bookie] & (
            self.read_content[client, entry, bookie] != NOTHING
        )

    def no_such_entry(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """The bookie answered NoSuchEntry, which in limbo it cannot."""
        answered = self.read_answered[client, entry, bookie]
        nothing = answered & (self.read_content[client, entry, bookie] == NOTHING)
        return nothing & ~self.read_unknown[client, entry, bookie] if self.parameters.crashes else nothing

    @definition
    def positive(self, client: TermLike, entry: TermLike) -> Term:
        """The recovery read has found the entry."""
        p = self.parameters
        copies = p.ack_quorum if p.positive_read == "ack-quorum" else 1
        found = at_least(copies, self.bookie, lambda b: self.has_entry(client, entry, b))
        return found & (self.read_over[client, entry] if p.read_decision == "all-answers" else TRUE)

    @definition
    def negative(self, client: TermLike, entry: TermLike) -> Term:
        """The recovery read has found that the entry is not there: QC bookies answered NoSuchEntry."""
        p = self.parameters
        absent = at_least(p.absent_quorum, self.bookie, lambda b: self.no_such_entry(client, entry, b))
        return absent & (self.read_over[client, entry] if p.read_decision == "all-answers" else TRUE)

    @definition
    def reading_ended(self, client: TermLike) -> Term:
        """Some recovery read was negative."""
        return exists(self.read_entry, lambda e: self.negative(client, e))

    # Metadata.

    @definition
    def in_metadata_write_set(self, entry: TermLike, bookie: TermLike) -> Term:
        """By the metadata store, the entry belongs on the bookie."""

        def holds_entry(g: Term) -> Term:
            later = exists(
                self.fragment, lambda h: (g < h) & (h <= self.last_fragment) & (self.first[h] <= entry)
            )
            return (g <= self.last_fragment) & (self.first[g] <= entry) & ~later

        return exists(
            self.fragment,
            lambda g: (
                holds_entry(g)
                & exists(
                    self.position, lambda i: self.in_write_set[entry, i] & (self.ensemble[g, i] == bookie)
                )
            ),
        )
