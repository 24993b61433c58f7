"""One ledger, as the client and the bookies of today's code keep it: the state, its definitions, the actions.

The actions are in the order in which messages flow. Rules of other releases and specifications, and faults
beyond lost messages, are in layers/.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.messages import Broadcast, Message, message, to_each
from fencepost.encoding.language.quantifiers import at_least, exists, forall, maximum
from fencepost.encoding.language.sorts import BOOL, Sort, Value, integers, labels, members, optional
from fencepost.encoding.language.state import StateSpace, choice, definition, family, variable
from fencepost.encoding.language.terms import (
    FALSE,
    TRUE,
    Parameter,
    Read,
    Term,
    TermLike,
    Update,
    any_of,
    lift,
)
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.values import NO_BOOKIE, NOTHING, WRITER, Phase, Stage, Status
from fencepost.quorums.stripes import Configuration


def in_fragment_of(
    entry: TermLike, fragments: Sort, last: Term, first: Callable[[Term], Term], body: Callable[[Term], Term]
) -> Term:
    """Return whether `body` is true of the entry's fragment.

    The fragment of an entry is the last one, up to `last`, that starts at or below the entry. `first` gives
    the first entry of a fragment.
    """

    def starts_below(f: Term) -> Term:
        return (f <= last) & (first(f) <= entry)

    return exists(
        fragments,
        lambda f: starts_below(f) & ~exists(fragments, lambda h: (f < h) & starts_below(h)) & body(f),
    )


def _at_first(*index: object) -> str:
    """Return the bookie at that position of the first ensemble: the first E bookies in order."""
    return f"b{index[-1]}"


class Today(StateSpace):
    """The state of one ledger, and what is defined from it.

    State variables record events: stored, fenced, sent, answered. Everything else is defined from them:
    messages on their way, coverage, the LAC. One value has to be kept: a client's LAC is frozen while an
    ensemble change is in progress.
    """

    stores: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "zk": ("status", "last_entry", "last_fragment", "first", "ensemble")
    }

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the sorts and the state variables."""
        # The metadata.
        p = self.parameters = parameters
        recoverers = tuple(f"r{i}" for i in range(1, p.recoverers + 1))
        self.bookie = labels("bookie", "b", p.bookies)
        self.client = Sort("client", (WRITER, *recoverers))
        self.writer = Sort("writer", (WRITER,), part_of="client")
        self.recoverer = Sort("recoverer", recoverers, part_of="client")
        self.entry = integers(1, p.entries)
        self.read_entry = integers(1, p.entries + 1)
        """Entries that recovery reads. It reads one past the last, and ends at an entry that is absent."""
        self.position = integers(1, p.ensemble)
        self.fragment = integers(1, p.possible_fragments)
        self.later_fragments = tuple(range(2, p.possible_fragments + 1))
        self.lac_value = integers(0, p.entries)
        """LACs and last entries. 0 means no entry."""

        # The metadata store.
        self.status = variable(members(Status))
        self.last_entry = variable(self.lac_value)
        self.last_fragment = variable(self.fragment)
        self.first = family(self.read_entry, self.fragment)
        self.ensemble = family(self.bookie, self.fragment, self.position, initial=_at_first)

        # Each client: what it is doing, and its copy of the fragments.
        self.phase = family(members(Phase), self.client)
        self.closed_at = family(self.lac_value, self.client)
        self.own_last_fragment = family(self.fragment, self.client)
        self.own_first = family(self.read_entry, self.client, self.fragment)
        self.own_ensemble = family(self.bookie, self.client, self.fragment, self.position, initial=_at_first)

        # Striping: the bookies of an ensemble that an entry goes to (RoundRobinDistributionSchedule).
        stripes = Configuration(parameters.ensemble, parameters.write_quorum, parameters.ack_quorum)

        # Constants: the positions of each entry, of each window of WQ bookies, and of the window's first AQ.
        self.in_write_set = family(
            BOOL, self.read_entry, self.position, initial=lambda e, i: i - 1 in stripes.write_set(e)
        )
        self.in_window = family(
            BOOL, self.position, self.position, initial=lambda start, i: i - 1 in stripes.window(start - 1)
        )
        self.in_window_head = family(
            BOOL,
            self.position,
            self.position,
            initial=lambda start, i: i - 1 in stripes.window(start - 1, parameters.ack_quorum),
        )

        # Each bookie: its entries, its fence, and whether it answers.
        self.carried_value = integers(0, parameters.entries - 1)
        """LACs in messages. The LAC that comes with an entry is below the entry."""
        self.stored = family(self.lac_value, self.bookie, self.entry)
        self.stored_lac = family(self.carried_value, self.bookie, self.entry)
        self.fenced = family(BOOL, self.bookie)
        self.limbo = family(BOOL, self.bookie)
        """Whether a crash keeps the bookie from saying that an entry is absent (layers/crashes)."""
        self.stage = family(members(Stage), self.bookie)
        self.silent = family(BOOL, self.bookie)

        # The fencing reads of each recoverer. The writer's row is unused.
        index = self.client, self.bookie
        self.base = family(self.fragment, self.client)
        """The last fragment when recovery began. Recovery reads use the metadata up to this fragment."""
        self.overtaken = family(BOOL, self.client)
        """Whether a later recoverer bumped the version: this one can commit nothing (layers/published)."""
        self.fence_handled = family(BOOL, *index)
        self.fence_lac = family(self.carried_value, *index)
        self.fence_unknown = family(BOOL, *index)
        self.fence_answered = family(BOOL, *index)
        self.fence_dropped = family(BOOL, *index)
        """Whether the request was lost because the bookie crashed (layers/crashes)."""
        self.fence_lost = choice(*index, fault="lost")
        self.fence_answer_lost = choice(*index, fault="lost")

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

        # Losses: one for each sending.
        self.add_lost = choice(client, entry, bookie, fault="lost")
        self.resend_lost = choice(client, fragment, entry, fault="lost")
        self.add_answer_lost = choice(client, fragment, entry, bookie, fault="lost")

        # Ensemble changes.

        self.tried_invalid_fragment = family(BOOL, self.client)

        # The recovery reads of each recoverer. The writer's row is unused.
        asked = self.client, self.read_entry, self.bookie
        self.read_sent = family(BOOL, self.client, self.read_entry)
        self.read_handled = family(BOOL, *asked)
        self.read_content = family(self.lac_value, *asked)
        self.read_unknown = family(BOOL, *asked)
        self.read_answered = family(BOOL, *asked)
        self.read_dropped = family(BOOL, *asked)
        """Whether the request was lost because the bookie crashed (layers/crashes)."""
        self.read_lost = choice(*asked, fault="lost")
        self.read_answer_lost = choice(*asked, fault="lost")

    # The metadata.

    def is_at(self, client: TermLike, fragment: TermLike, position: TermLike, bookie: TermLike) -> Term:
        """Return whether the bookie has that position in the fragment's ensemble, in the client's copy."""
        return self.own_ensemble[client, fragment, position] == bookie

    def first_of(self, client: TermLike, fragment: TermLike) -> Term:
        """Return the first entry of the fragment, in the client's copy."""
        return self.own_first[client, fragment]

    def takes_metadata(self, client: TermLike) -> list[Update]:
        """Return the updates that copy the metadata store into the client's copy."""
        return [
            self.own_last_fragment[client].set(self.last_fragment),
            *(
                update
                for f in self.later_fragments
                for update in (
                    self.own_first[client, f].set(self.first[f]),
                    *(self.own_ensemble[client, f, i].set(self.ensemble[f, i]) for i in self.position),
                )
            ),
        ]

    def publishes_metadata(self, client: TermLike, when: TermLike = True) -> list[Update]:
        """Return the updates that copy the client's copy into the metadata store."""
        return [
            self.last_fragment.set(self.own_last_fragment[client], when=when),
            *(
                update
                for f in self.later_fragments
                for update in (
                    self.first[f].set(self.own_first[client, f], when=when),
                    *(
                        self.ensemble[f, i].set(self.own_ensemble[client, f, i], when=when)
                        for i in self.position
                    ),
                )
            ),
        ]

    def is_deleted(self) -> Term:
        """Return whether the ledger is deleted: never, unless a layer says otherwise."""
        return FALSE

    def in_last_ensemble(self, bookie: TermLike) -> Term:
        """Return whether the bookie is in the last ensemble, by the metadata store."""
        return exists(
            self.fragment,
            lambda f: (
                (f == self.last_fragment) & exists(self.position, lambda i: self.ensemble[f, i] == bookie)
            ),
        )

    # Write sets.

    @definition
    def in_ensemble(self, client: TermLike, fragment: TermLike, bookie: TermLike) -> Term:
        """Return whether the bookie is in the fragment's ensemble, by the client's copy."""
        return exists(self.position, lambda i: self.is_at(client, fragment, i, bookie))

    @definition
    def in_write_set_of(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike
    ) -> Term:
        """Return whether the bookie gets the entry when it is sent to the fragment's ensemble."""
        return exists(
            self.position, lambda i: self.in_write_set[entry, i] & self.is_at(client, fragment, i, bookie)
        )

    @definition
    def still_there(self, client: TermLike, fragment: TermLike, bookie: TermLike) -> Term:
        """Return whether the bookie has the same position in the fragment's and the current ensemble."""
        current = self.own_last_fragment[client]
        return exists(
            self.position,
            lambda i: self.is_at(client, fragment, i, bookie) & self.is_at(client, current, i, bookie),
        )

    def is_newcomer(self, client: TermLike, fragment: TermLike, bookie: TermLike) -> Term:
        """Return whether the bookie is in the fragment's ensemble and not in the one before."""
        return self.in_ensemble(client, fragment, bookie) & ~exists(
            self.fragment, lambda f: (f + 1 == fragment) & self.in_ensemble(client, f, bookie)
        )

    @definition
    def in_metadata_write_set(self, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the entry belongs on the bookie, by the metadata store."""

        def in_write_set(f: Term) -> Term:
            return exists(
                self.position, lambda i: self.in_write_set[entry, i] & (self.ensemble[f, i] == bookie)
            )

        return in_fragment_of(
            entry, self.fragment, self.last_fragment, first=lambda f: self.first[f], body=in_write_set
        )

    # Bookies.

    def serves(self, bookie: TermLike) -> Term:
        """Return whether the bookie handles requests."""
        return (self.stage[bookie] == Stage.SERVING) & ~self.silent[bookie]

    def says_unknown(self, bookie: TermLike) -> Term:
        """Return whether the bookie refuses adds and does not know its LAC.

        Only a bookie in limbo does, under `limbo=as-coded`.
        """
        return FALSE

    def refuses_adds(self, bookie: TermLike) -> Term:
        """Return whether the bookie refuses a writer's adds although it has no fence."""
        return self.says_unknown(bookie)

    def told_lac(self, bookie: TermLike) -> Term:
        """Return the LAC that came with the highest stored entry; 0 if no entry is stored."""

        def is_highest(e: Term) -> Term:
            higher = exists(self.entry, lambda other: (e < other) & self.has(bookie, other))
            return self.has(bookie, e) & ~higher

        return maximum(self.entry, lambda e: if_(is_highest(e), self.stored_lac[bookie, e], 0))

    def has(self, bookie: TermLike, entry: TermLike) -> Term:
        """Return whether the bookie stores something as that entry."""
        return self.stored[bookie, entry] != NOTHING

    def noted_when_fenced(self, client: TermLike, bookie: TermLike) -> list[Update]:
        """Return more updates for a fencing read."""
        return []

    def noted_when_read(
        self, client: TermLike, entry: TermLike, bookie: TermLike, content: Term
    ) -> list[Update]:
        """Return more updates for a recovery read; `content` is the content it finds."""
        return []

    def noted_when_added(self, bookie: TermLike, stores: TermLike) -> list[Update]:
        """Return more updates for an add; `stores` says whether the bookie stores the entry."""
        return []

    # Fencing.

    def fence_sent(self, client: TermLike, bookie: TermLike) -> Term:
        """Return whether the recoverer sent the bookie a fencing read.

        It sends them to the last ensemble when it begins.
        """
        return (self.phase[client] != Phase.IDLE) & self.in_ensemble(client, self.base[client], bookie)

    def fence_in_flight(self, client: TermLike, bookie: TermLike) -> Term:
        """Return whether the fencing read is on its way: it will reach the bookie and has not yet."""
        index = client, bookie
        under_way = self.fence_sent(*index) & ~self.fence_lost[index] & ~self.fence_handled[index]
        return under_way & ~self.fence_dropped[index]

    def fenced_by(self, client: TermLike, bookie: TermLike) -> Term:
        """Return whether the bookie told the recoverer that it is fenced. The answer "unknown" does not."""
        return self.fence_answered[client, bookie] & ~self.fence_unknown[client, bookie]

    def fenced_at(self, client: TermLike, position: TermLike) -> Term:
        """Return whether the bookie at that position of the ensemble told the recoverer that it is fenced."""
        return exists(
            self.bookie,
            lambda b: self.fenced_by(client, b) & self.is_at(client, self.base[client], position, b),
        )

    @definition
    def covered(self, client: TermLike) -> Term:
        """Return whether enough bookies are fenced (RRQuorumCoverageSet).

        Enough means: no window of WQ bookies contains AQ that have not answered.
        """
        return forall(
            self.position,
            lambda start: (
                ~at_least(
                    self.parameters.ack_quorum,
                    self.position,
                    lambda i: self.in_window[start, i] & ~self.fenced_at(client, i),
                )
            ),
        )

    def hears_fencing(self, client: TermLike) -> Term:
        """Return whether answers to fencing reads still count: until coverage (ReadLastConfirmedOp)."""
        return ~self.covered(client)

    @definition
    def start(self, client: TermLike) -> Term:
        """Return the LAC that the client starts from: 0 for the writer, the fencing LAC for a recoverer.

        A recoverer starts no lower than below the first entry of the last fragment (ISSUE-2615, 4.14).
        """
        floor, heard = self.first_of(client, self.base[client]) - 1, self.heard_lac(client)
        return if_(lift(WRITER) == client, 0, if_(floor < heard, heard, floor))

    def heard_lac(self, client: TermLike) -> Term:
        """Return the highest LAC that fencing answers told the recoverer; 0 for the writer."""
        return maximum(
            self.bookie, lambda b: if_(self.fence_answered[client, b], self.fence_lac[client, b], 0)
        )

    def fence_answer_says(self, lac: TermLike, unknown: TermLike) -> dict[str, TermLike]:
        """Return the content of an answer to a fencing read."""
        return {"lac": lac}

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

    def lost_on_the_way(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike
    ) -> Term:
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
        under_way = self.add_sent(*index) & ~self.lost_on_the_way(*index) & ~self.add_handled[index]
        return under_way & ~self.add_dropped[index]

    def next_add(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the add may reach the bookie now.

        One client's adds reach a bookie in the order of their entries, apart from lost ones.
        """
        lower = exists(
            self.entry,
            lambda e: (e < entry) & exists(self.fragment, lambda f: self.add_in_flight(client, f, e, bookie)),
        )
        return self.add_in_flight(client, fragment, entry, bookie) & ~lower

    def answer_in_flight(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike
    ) -> Term:
        """Return whether the answer to an add is on its way: it will reach the client and has not yet."""
        index = (client, fragment, entry, bookie)
        return self.add_handled[index] & ~self.add_answer_lost[index] & ~self.add_answered[index]

    def next_answer(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike, refused: Term
    ) -> Term:
        """Return whether the client may receive that answer now.

        Answers of one bookie arrive in the order of their entries, apart from lost ones.
        """
        lower = exists(
            self.entry,
            lambda e: (
                (e < entry) & exists(self.fragment, lambda f: self.answer_in_flight(client, f, e, bookie))
            ),
        )
        return self.answer_in_flight(client, fragment, entry, bookie) & refused & ~lower

    def may_time_out(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the client may stop waiting for the bookie's ack of the entry."""

        def late(f: Term) -> Term:
            index = (client, f, entry, bookie)
            return self.add_sent(*index) & ~self.add_answered[index] & self.is_given_up(*index)

        return exists(self.fragment, late)

    def has_failed(self, client: Parameter, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the client may treat the write as failed (notifyWriteFailed).

        The write timed out, or a fenced bookie refused it and the writer went on.
        """

        def refused(f: Term) -> Term:
            index = (client, f, entry, bookie)
            heard = self.add_answered[index] & self.add_refused[index]
            return heard & self.still_there(client, f, bookie)

        late = self.may_time_out(client, entry, bookie)
        return late | exists(self.fragment, refused) if client.sort is self.writer else late

    def is_given_up(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the client may time out while this ack is outstanding: always, lost or late."""
        return lift(True)

    def counts(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether an answer from there counts: the bookie still stands in the current ensemble."""
        return self.still_there(client, fragment, bookie)

    def may_queue_in(self, client: TermLike, fragment: TermLike) -> Term:
        """Return whether the writer may queue an entry for that fragment's ensemble: the current one's."""
        return self.own_last_fragment[client] == fragment

    def noted_when_queued(self, client: TermLike, entry: TermLike) -> list[Update]:
        """Return more updates for an entry that is queued."""
        return []

    def noted_when_acked(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike
    ) -> list[Update]:
        """Return more updates for an ack that is received."""
        return []

    def noted_when_refused(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike
    ) -> list[Update]:
        """Return more updates for a refusal that is received."""
        return []

    def takes_copy(self, bookie: TermLike, entry: TermLike) -> Term:
        """Return whether an add replaces the copy that the bookie already has, and its LAC.

        InterleavedLedgerStorage.processEntry and SingleDirectoryDbLedgerStorage.addEntry both replace it.
        """
        return lift(True)

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

        def reached(n: Term) -> Term:
            return forall(
                self.entry, lambda e: implies((self.start(client) < e) & (e <= n), self.complete(client, e))
            )

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

    # Ensemble changes.

    def may_change(self, client: TermLike, fragment: TermLike, failed: TermLike, has_failed: Term) -> Term:
        """Return whether a write to a member of the current ensemble failed and a spare bookie exists."""
        spare = exists(self.bookie, lambda b: self.may_stand_in(client, fragment, failed, b))
        return (
            (self.phase[client] == Phase.ACTIVE)
            & (self.own_last_fragment[client] == fragment)
            & self.in_ensemble(client, fragment, failed)
            & has_failed
            & spare
            & self.has_resent(client, fragment)
        )

    def may_stand_in(self, client: TermLike, fragment: TermLike, failed: TermLike, spare: TermLike) -> Term:
        """Return whether the placement policy may choose the bookie: it is not in the ensemble."""
        return ~self.in_ensemble(client, fragment, spare)

    def has_resent(self, client: TermLike, fragment: TermLike) -> Term:
        """Return whether the last change is over: it is, since the commit also resends pending entries."""
        return TRUE

    def resends_with_change(self) -> Term:
        """Return whether the commit of a change also resends pending entries."""
        return TRUE

    def about_to_change(self, client: TermLike, fragment: TermLike, failed: TermLike) -> Term:
        """Return whether the client has begun to replace that bookie and may commit now."""
        return (
            (self.phase[client] == Phase.ACTIVE)
            & (self.own_last_fragment[client] == fragment)
            & (self.failed[client] == failed)
        )

    def publishes_changes(self, client: Parameter) -> bool:
        """Return whether the client's change goes to the metadata store at once.

        The writer's does. A recoverer publishes its changes when it closes the ledger.
        """
        return client.sort is self.writer

    def may_commit(self, client: Parameter) -> Term:
        """Return whether the compare-and-set on the metadata would succeed, if there is one."""
        return self.status == Status.OPEN if self.publishes_changes(client) else TRUE

    def may_abandon(self, client: TermLike) -> Term:
        """Return whether the client may give up a change that cannot be committed."""
        return TRUE

    def when_refused(self, client: TermLike, failed: TermLike) -> list[Update]:
        """Return the updates of a client whose change is refused: it does nothing any more."""
        return [self.phase[client].set(Phase.GONE)]

    def said_when_refused(self) -> str:
        """Return the note on a client whose change is refused."""
        return "gives up"

    def lac_at_failure(self, client: TermLike, entry: TermLike) -> Term:
        """Return the LAC at which a change begins once a write of the entry has failed."""
        return self.lac(client)

    def noted_when_changed(self, client: Parameter, called: Term) -> list[Update]:
        """Return more updates for a change that ends.

        `called` is whether its end acknowledges the complete entries at the head of the queue.
        """
        return []

    def calls_at_commit(self, client: TermLike, fragment: TermLike, failed: TermLike) -> Term:
        """Return whether a pending entry has its write set elsewhere, so that the commit acknowledges."""
        return exists(
            self.entry,
            lambda e: self.pending(client, e) & ~self.in_write_set_of(client, fragment, e, failed),
        )

    def first_of_new(self, client: TermLike) -> Term:
        """Return the first entry of the new fragment: the one above the LAC."""
        return self.lac(client) + 1

    def goes_below(self, client: TermLike, fragment: TermLike) -> Term:
        """Return whether the new fragment would start below the client's last one."""
        return self.first_of_new(client) < self.own_first[client, fragment]

    def is_new_ensemble(
        self, client: TermLike, fragment: TermLike, failed: TermLike, spare: TermLike
    ) -> Term:
        """Return whether the ensemble with the spare bookie may be used: always.

        An earlier ensemble may have had the same members.
        """
        return TRUE

    def is_withdrawn(
        self, client: TermLike, fragment: TermLike, entry: TermLike, failed: TermLike, bookie: TermLike
    ) -> Term:
        """Return whether a change withdraws the bookie's ack of the entry: the failed one's."""
        return lift(bookie) == failed

    def withdrawn_acks(
        self, client: TermLike, fragment: TermLike, entry: TermLike, failed: TermLike
    ) -> list[tuple[Read, Term]]:
        """Return the acks of the entry that a change withdraws, each with its condition."""
        return [(self.acked[client, entry, failed], TRUE)]

    def acknowledged_in_passing(
        self, client: TermLike, fragment: TermLike, failed: TermLike, entry: TermLike
    ) -> Term:
        """Return whether the change acknowledges the entry with the replaced bookie's ack (issue 3005).

        The change goes through pending entries in order. An entry whose write set contains the failed
        bookie loses that ack and is sent again. At an entry whose write set does not contain it, all
        complete entries at the head of the queue are acknowledged at once
        (PendingAddOp.unsetSuccessAndSendWriteRequest calls sendAddSuccessCallbacks).
        """
        p = self.parameters
        if p.ensemble == p.write_quorum:
            return FALSE

        def passed_by(e: Term | int) -> Term:
            return self.pending(client, e) & ~self.in_write_set_of(client, fragment, e, failed)

        def complete_by_then(e: Term) -> Term:
            def stays(b: Term) -> Term:
                return ~self.is_withdrawn(client, fragment, e, failed, b) & self.acked[client, e, b]

            without = self.are_enough(client, e, stays)
            looked_at = ~exists(self.entry, lambda other: (other <= e) & passed_by(other))
            return if_(looked_at, without, self.complete(client, e))

        head = forall(
            self.entry, lambda e: implies((self.lac(client) < e) & (e <= entry), complete_by_then(e))
        )
        return head & exists(self.entry, lambda other: (other < entry) & passed_by(other))

    # Recovery reads.

    @definition
    def read_to(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the recoverer asks the bookie for the entry.

        It uses the metadata from the beginning of recovery throughout.
        """
        return in_fragment_of(
            entry,
            self.fragment,
            last=self.base[client],
            first=lambda f: self.first_of(client, f),
            body=lambda f: self.in_write_set_of(client, f, entry, bookie),
        )

    def read_in_flight(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the recovery read is on its way: it will reach the bookie and has not yet."""
        index = client, entry, bookie
        sent = self.read_sent[client, entry] & self.read_to(*index)
        return sent & ~self.read_lost[index] & ~self.read_handled[index] & ~self.read_dropped[index]

    def has_entry(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the bookie answered the recovery read with the entry."""
        index = client, entry, bookie
        return self.read_answered[index] & (self.read_content[index] != NOTHING)

    def no_such_entry(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the bookie answered NoSuchEntry. A bookie in limbo cannot."""
        index = client, entry, bookie
        return self.read_answered[index] & (self.read_content[index] == NOTHING) & ~self.read_unknown[index]

    @definition
    def positive(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether the recovery read found the entry: one bookie has it (PendingReadOp)."""
        found = at_least(self.copies_wanted(), self.bookie, lambda b: self.has_entry(client, entry, b))
        return found & self.may_decide(client, entry)

    @definition
    def negative(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether the recovery read found the entry absent: QC bookies answered NoSuchEntry."""
        absent = at_least(
            self.parameters.absent_quorum, self.bookie, lambda b: self.no_such_entry(client, entry, b)
        )
        return absent & self.may_decide(client, entry)

    def copies_wanted(self) -> int:
        """Return how many copies make a recovery read positive."""
        return 1

    def may_decide(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether a recovery read may be decided now: always, once enough answers agree."""
        return TRUE

    def fenced_by_reading(self) -> Term:
        """Return whether a recovery read also fences the bookie (issue 2614, since 4.14)."""
        return TRUE

    def may_write_back(self, client: TermLike) -> Term:
        """Return whether the recoverer may write entries back while it reads (LedgerRecoveryOp)."""
        return TRUE

    @definition
    def reading_ended(self, client: TermLike) -> Term:
        """Return whether some recovery read was negative."""
        return exists(self.read_entry, lambda e: self.negative(client, e))

    # Closing.

    def writer_may_close(self) -> Term:
        """Return whether the writer's compare-and-set would succeed (doAsyncCloseInternal).

        It succeeds even if the ledger is in recovery.
        """
        return any_of(self.status == Status.OPEN, self.status == Status.IN_RECOVERY)

    def too_late_to_close(self) -> Term:
        """Return whether another client closed the ledger at another last entry."""
        return (self.status == Status.CLOSED) & (self.last_entry != self.closes_at())

    def closes_at(self) -> Term:
        """Return the entry at which the writer closes the ledger: its LAC."""
        return self.lac(WRITER)

    def publishes_at_close(self) -> bool:
        """Return whether the close also publishes the ensembles that recovery changed.

        handleBookieFailure, since 4.9.
        """
        return True

    def has_recovered(self, client: Parameter, entry: Parameter) -> Term:
        """Return whether the read of the entry was negative and all entries below it have AQ acks again."""
        return (
            (self.phase[client] == Phase.ACTIVE)
            & self.negative(client, entry)
            & forall(
                self.entry,
                lambda e: implies((self.start(client) < e) & (e < entry), self.complete(client, e)),
            )
            & ~self.changing(client)
        )


# The beginning.


def create_ledger(s: Today) -> Action:
    """Create the ledger, open, over the first E bookies.

    Any E bookies would do, since bookies are alike.

    Code: LedgerCreateOp.initiate, LedgerCreateOp.metadataCallback.
    """
    return Action(
        when=s.status == Status.NONE,
        then=[s.status.set(Status.OPEN), s.phase[WRITER].set(Phase.ACTIVE)],
        actor=WRITER,
        note="creates the ledger, open",
    )


# Bookies that fall silent.


def fall_silent(s: Today, bookie: Parameter) -> Action:
    """Let a bookie stop answering for good."""
    others = at_least(s.parameters.silent, s.bookie, lambda b: s.silent[b])
    return Action(
        when=~s.silent[bookie] & ~others,
        then=[s.silent[bookie].set(True)],
        actor=bookie,
        note="stops answering",
        fault="silent",
    )


# The beginning of recovery: a recoverer fences bookies of the last ensemble until enough are fenced.


def fence(s: Today, recoverer: TermLike, bookie: TermLike, when: TermLike = True) -> Message:
    """Return a fencing read, which also asks for the LAC."""
    return message("fence", recoverer, bookie, lost=s.fence_lost[recoverer, bookie], when=when)


def fence_answer(
    s: Today, recoverer: TermLike, bookie: TermLike, lac: TermLike, unknown: TermLike
) -> Message:
    """Return the answer to a fencing read, with the bookie's LAC if it knows it."""
    lost = s.fence_answer_lost[recoverer, bookie]
    return message("fence answer", bookie, recoverer, says=s.fence_answer_says(lac, unknown), lost=lost)


def begin_recovery(s: Today, client: Parameter) -> Action:
    """Put the ledger in recovery, and send fencing reads to the last ensemble.

    A recoverer that finds the ledger in recovery joins it (ReadOnlyLedgerHandle.recover).

    Code: ReadOnlyLedgerHandle.recover, LedgerRecoveryOp.initiate, ReadLastConfirmedOp.initiateWithFencing.
    """
    return Action(
        when=(s.phase[client] == Phase.IDLE)
        & any_of(s.status == Status.OPEN, s.status == Status.IN_RECOVERY),
        then=[
            s.status.set(Status.IN_RECOVERY),
            s.phase[client].set(Phase.ACTIVE),
            s.base[client].set(s.last_fragment),
            *s.takes_metadata(client),
        ],
        actor=client,
        sent=[to_each(s.bookie, lambda b: fence(s, client, b, when=s.in_last_ensemble(b)))],
        note="puts the ledger in recovery",
    )


def handle_fence(s: Today, client: Parameter, bookie: Parameter) -> Action:
    """Fence the ledger on a bookie, which need not know it yet, and answer with the highest entry's LAC.

    Code: ReadEntryProcessor.processPacket, BookieImpl.fenceLedger, ReadEntryProcessorV3.readEntry.
    """
    lac, unknown = s.told_lac(bookie), s.says_unknown(bookie)
    return Action(
        when=s.serves(bookie) & s.fence_in_flight(client, bookie),
        then=[
            s.fenced[bookie].set(True),
            s.fence_handled[client, bookie].set(True),
            s.fence_lac[client, bookie].set(lac),
            s.fence_unknown[client, bookie].set(unknown),
            *s.noted_when_fenced(client, bookie),
        ],
        actor=bookie,
        received=fence(s, client, bookie),
        sent=[fence_answer(s, client, bookie, lac, unknown)],
    )


def receive_fence_answer(s: Today, client: Parameter, bookie: Parameter) -> Action:
    """Receive the LAC of a bookie that is now fenced.

    Once enough bookies are fenced, further answers are ignored.

    Code: ReadLastConfirmedOp.readEntryComplete.
    """
    index = client, bookie
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & s.fence_handled[index]
        & ~s.fence_answer_lost[index]
        & ~s.fence_answered[index]
        & s.hears_fencing(client),
        then=[s.fence_answered[index].set(True)],
        actor=client,
        received=fence_answer(s, client, bookie, s.fence_lac[index], s.fence_unknown[index]),
    )


# Adds and their answers.


def add(
    s: Today,
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
        says={
            "content": s.content_sent(client, entry),
            "lac": s.pushed_lac[client, entry] if lac is None else lac,
        },
        lost=lost,
        when=when,
    )


def add_answer(
    s: Today, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike, refused: TermLike
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


def sends(s: Today, client: Parameter | str, fragment: Parameter, entry: Parameter) -> list[Update]:
    """Return the updates that send the entry to its write set in that fragment's ensemble."""
    return [
        s.pushed_in[client, entry].set(fragment),
        s.pushed_lac[client, entry].set(s.carried_lac(client)),
        *s.noted_when_queued(client, entry),
    ]


def adds(s: Today, client: Parameter | str, fragment: Parameter, entry: Parameter) -> Broadcast:
    """Return the messages that belong to the updates of `sends`."""

    def sent(b: Parameter) -> Message:
        lac, lost = s.carried_lac(client), s.add_lost[client, entry, b]
        there = s.in_write_set_of(client, fragment, entry, b)
        return add(s, client, fragment, entry, b, lac=lac, lost=lost, when=there)

    return to_each(s.bookie, sent)


def push(s: Today, fragment: Parameter, entry: Parameter) -> Action:
    """Send the writer's next entry to its write set, with the LAC (LedgerHandle.doAsyncAddEntry).

    Code: LedgerHandle.asyncAddEntry, LedgerHandle.doAsyncAddEntry, PendingAddOp.initiate.
    """
    in_order = forall(s.entry, lambda e: implies(e < entry, s.pushed(WRITER, e)))
    limit = s.parameters.inflight
    within_limit = ~exists(s.entry, lambda e: (e + limit == entry) & (s.acknowledged(WRITER) < e))
    return Action(
        when=(s.phase[WRITER] == Phase.ACTIVE)
        & s.may_queue_in(WRITER, fragment)
        & ~s.pushed(WRITER, entry)
        & in_order
        & within_limit,
        then=sends(s, WRITER, fragment, entry),
        actor=WRITER,
        sent=[adds(s, WRITER, fragment, entry)],
    )


def is_refused(s: Today, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter) -> Term:
    """Return whether the bookie refuses the add. It never refuses one of a recoverer."""
    fenced_out = (s.fenced[bookie] & ~s.add_admitted[client, fragment, entry, bookie]) | s.refuses_adds(
        bookie
    )
    return fenced_out if client.sort is s.writer else lift(False)


def handle_add(
    s: Today, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
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
            s.stored[bookie, entry].set(s.content_sent(client, entry), when=stores),
            s.stored_lac[bookie, entry].set(s.pushed_lac[client, entry], when=stores),
            *s.noted_when_added(bookie, ~refused),
        ],
        actor=bookie,
        received=add(s, client, fragment, entry, bookie),
        sent=[add_answer(s, client, fragment, entry, bookie, refused)],
    )


def receive_ack(
    s: Today, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
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
            *s.noted_when_acked(*index),
        ],
        actor=client,
        received=add_answer(s, *index, False),
    )


def receive_fenced(
    s: Today, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
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
            *s.noted_when_refused(*index),
        ],
        actor=client,
        received=add_answer(s, *index, True),
        note="is fenced out: drops its pending entries, unless entry {entry} is stored without {bookie}",
    )


# Ensemble changes: a client replaces a failed bookie in the metadata, then resends pending entries.


def begin_change(
    s: Today, client: Parameter, fragment: Parameter, entry: Parameter, failed: Parameter
) -> Action:
    """Begin to replace a bookie that failed the client: the client's LAC stands still from now on.

    Code: PendingAddOp.writeComplete, LedgerHandle.handleBookieFailure, LedgerHandle.ensembleChangeLoop,
    ReadOnlyLedgerHandle.handleBookieFailure.
    """
    return Action(
        when=s.may_change(client, fragment, failed, s.has_failed(client, entry, failed))
        & ~s.changing(client),
        then=[
            s.failed[client].set(failed),
            s.frozen_lac[client].set(s.lac_at_failure(client, entry)),
            *forgets(s, client, entry, failed),
        ],
        actor=client,
        note="gives up waiting for {failed} to store entry {entry}, and begins to replace it",
    )


def forgets(s: Today, client: Parameter, entry: Parameter, failed: Parameter) -> list[Update]:
    """Return the updates by which the client ignores the late answer to a timed-out write.

    PerChannelBookieClient has forgotten the request.
    """
    return [
        s.add_answered[client, f, entry, failed].set(True, when=s.add_sent(client, f, entry, failed))
        for f in s.fragment
    ]


def commit_change(
    s: Today, client: Parameter, fragment: Parameter, failed: Parameter, spare: Parameter
) -> Action:
    """Commit the new ensemble from LAC+1 on, and resend pending entries to the new bookie.

    Pending entries lose the ack of the old bookie.

    Code: LedgerHandle.ensembleChangeLoop, LedgerHandle.unsetSuccessAndSendWriteRequest,
    PendingAddOp.unsetSuccessAndSendWriteRequest, ReadOnlyLedgerHandle.handleBookieFailure.
    """
    withdrawn, sent = withdraws_and_resends(s, client, fragment, failed, spare)
    return Action(
        when=s.about_to_change(client, fragment, failed)
        & s.may_stand_in(client, fragment, failed, spare)
        & ~s.goes_below(client, fragment)
        & s.may_commit(client)
        & s.is_new_ensemble(client, fragment, failed, spare),
        then=[
            *installs(s, client, fragment, failed, spare),
            s.failed[client].set(NO_BOOKIE),
            *publishes(s, client, fragment, failed, spare),
            *withdrawn,
            *s.noted_when_changed(client, s.calls_at_commit(client, fragment, failed)),
        ],
        actor=client,
        sent=sent,
        note="replaces {failed} by {spare}, from its LAC + 1 on",
    )


def with_spare(
    s: Today, client: Parameter, fragment: Parameter, failed: Parameter, spare: Parameter
) -> dict[Value, Term]:
    """Return the client's ensemble with the spare bookie in the failed one's position."""
    current = s.own_ensemble
    return {
        i: if_(current[client, fragment, i] == failed, spare, current[client, fragment, i])
        for i in s.position
    }


def installs(
    s: Today, client: Parameter, fragment: Parameter, failed: Parameter, spare: Parameter
) -> list[Update]:
    """Return the updates that put the new fragment into the client's copy of the metadata."""
    ensemble = with_spare(s, client, fragment, failed, spare)
    return [
        s.own_last_fragment[client].set(fragment + 1),
        s.own_first[client, fragment + 1].set(s.first_of_new(client)),
        *(s.own_ensemble[client, fragment + 1, i].set(bookie) for i, bookie in ensemble.items()),
    ]


def publishes(
    s: Today, client: Parameter, fragment: Parameter, failed: Parameter, spare: Parameter
) -> list[Update]:
    """Return the updates that put the new fragment into the metadata store, if it goes there now."""
    ensemble = with_spare(s, client, fragment, failed, spare)
    when = s.publishes_changes(client)
    return [
        s.last_fragment.set(fragment + 1, when=when),
        s.first[fragment + 1].set(s.first_of_new(client), when=when),
        *(s.ensemble[fragment + 1, i].set(bookie, when=when) for i, bookie in ensemble.items()),
    ]


def withdraws_and_resends(
    s: Today, client: Parameter, fragment: Parameter, failed: Parameter, spare: Parameter
) -> tuple[list[Update], list[Message | Broadcast]]:
    """Return the updates and messages that move pending entries to the new bookie.

    Each pending entry loses the replaced bookie's ack and is sent to the new one
    (unsetSuccessAndSendWriteRequest).
    """
    following = fragment + 1
    loses_ack = {
        e: (s.lac(client) < e) & ~s.acknowledged_in_passing(client, fragment, failed, e) for e in s.entry
    }
    due = {
        e: s.pending(client, e)
        & ~s.resent[client, following, e]
        & s.in_write_set_of(client, fragment, e, failed)
        & when
        & s.resends_with_change()
        for e, when in loses_ack.items()
    }
    return (
        [
            *(
                ack.set(False, when=when & at)
                for e, when in loses_ack.items()
                for ack, at in s.withdrawn_acks(client, fragment, e, failed)
            ),
            *(s.resent[client, following, e].set(True, when=when) for e, when in due.items()),
        ],
        [
            add(s, client, following, e, spare, lost=s.resend_lost[client, following, e], when=when)
            for e, when in due.items()
        ],
    )


def abandon_change(s: Today, client: Parameter, fragment: Parameter, failed: Parameter) -> Action:
    """Give up an ensemble change that cannot be committed because the ledger is no longer open.

    Code: LedgerHandle.ensembleChangeLoop, LedgerHandle.handleUnrecoverableErrorDuringAdd.
    """
    return Action(
        when=s.about_to_change(client, fragment, failed) & ~s.may_commit(client) & s.may_abandon(client),
        then=s.when_refused(client, failed),
        actor=client,
        note=f"cannot commit the replacement of {{failed}}, and {s.said_when_refused()}",
    )


def try_invalid_fragment(s: Today, client: Parameter, fragment: Parameter, failed: Parameter) -> Action:
    """Fail because the new fragment would start below the last one (Defect 2, ISSUE-2615).

    Code: LedgerHandle.ensembleChangeLoop, ReadOnlyLedgerHandle.closeRecovered.
    """
    return Action(
        when=s.about_to_change(client, fragment, failed)
        & s.goes_below(client, fragment)
        & s.may_commit(client),
        then=[s.tried_invalid_fragment[client].set(True), s.phase[client].set(Phase.GONE)],
        actor=client,
        note="would start a fragment at its LAC + 1, below the last one, and fails",
    )


# The rest of recovery: the recoverer reads forward from the fencing LAC and writes entries back.


def read(s: Today, recoverer: TermLike, entry: TermLike, bookie: TermLike, when: TermLike = True) -> Message:
    """Return a recovery read of an entry."""
    lost = s.read_lost[recoverer, entry, bookie]
    return message("read", recoverer, bookie, about={"entry": entry}, lost=lost, when=when)


def read_answer(
    s: Today, recoverer: TermLike, entry: TermLike, bookie: TermLike, content: Term, unknown: Term
) -> Message:
    """Return the answer to a recovery read: the entry, NoSuchEntry, or from limbo "unknown"."""
    answer = if_(unknown, "unknown", if_(content == NOTHING, "NoSuchEntry", "entry"))
    return message(
        "read answer",
        bookie,
        recoverer,
        about={"entry": entry},
        says={"answer": answer, "content": content},
        lost=s.read_answer_lost[recoverer, entry, bookie],
    )


def send_reads(s: Today, client: Parameter, entry: Parameter) -> Action:
    """Read the entries above the recoverer's start one after another, once fencing is covered.

    Code: LedgerRecoveryOp.doRecoveryRead, PendingReadOp.initiate.
    """
    reached = forall(
        s.read_entry, lambda e: implies((s.start(client) < e) & (e < entry), s.positive(client, e))
    )
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & s.covered(client)
        & (s.start(client) < entry)
        & ~s.read_sent[client, entry]
        & reached,
        then=[s.read_sent[client, entry].set(True)],
        actor=client,
        sent=[to_each(s.bookie, lambda b: read(s, client, entry, b, when=s.read_to(client, entry, b)))],
    )


def handle_read(s: Today, client: Parameter, entry: Parameter, bookie: Parameter) -> Action:
    """Answer a recovery read with the entry or NoSuchEntry; since 4.14 fence the ledger first.

    In limbo a bookie answers "unknown" instead of NoSuchEntry (BP-46).

    Code: ReadEntryProcessor.processPacket, BookieImpl.readEntry, ReadEntryProcessorV3.readEntry.
    """
    index = client, entry, bookie
    content = maximum(s.entry, lambda e: if_(e == entry, s.stored[bookie, e], NOTHING))
    unknown = s.limbo[bookie] & (content == NOTHING)
    return Action(
        when=s.serves(bookie) & s.read_in_flight(*index),
        then=[
            s.fenced[bookie].set(True, when=s.fenced_by_reading()),
            s.read_handled[index].set(True),
            s.read_content[index].set(content),
            s.read_unknown[index].set(unknown),
            *s.noted_when_read(client, entry, bookie, content),
        ],
        actor=bookie,
        received=read(s, *index),
        sent=[read_answer(s, *index, content, unknown)],
    )


def receive_read_answer(s: Today, client: Parameter, entry: Parameter, bookie: Parameter) -> Action:
    """Receive the answer to a recovery read.

    Answers that arrive after the read is decided are ignored.

    Code: PendingReadOp.readEntryComplete.
    """
    index = client, entry, bookie
    content = s.read_content[index]
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & s.read_handled[index]
        & ~s.read_answer_lost[index]
        & ~s.read_answered[index]
        & ~s.positive(client, entry)
        & ~s.negative(client, entry),
        then=[s.read_answered[index].set(True), s.found[client, entry].set(content, when=content != NOTHING)],
        actor=client,
        received=read_answer(s, *index, content, s.read_unknown[index]),
    )


def write_back(s: Today, client: Parameter, fragment: Parameter, entry: Parameter) -> Action:
    """Write an entry that was read back to the recoverer's current ensemble.

    This may differ from the ensemble that the entry was read from.

    Code: LedgerRecoveryOp.onEntryComplete, LedgerHandle.asyncRecoveryAddEntry.
    """
    in_order = forall(s.entry, lambda e: implies((s.start(client) < e) & (e < entry), s.pushed(client, e)))
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & (s.own_last_fragment[client] == fragment)
        & s.positive(client, entry)
        & ~s.pushed(client, entry)
        & in_order
        & s.may_write_back(client),
        then=sends(s, client, fragment, entry),
        actor=client,
        sent=[adds(s, client, fragment, entry)],
    )


def abandon_recovery(s: Today, client: Parameter) -> Action:
    """Give up recovery while a recovery read is undecided.

    Code: LedgerRecoveryOp.onEntryComplete, LedgerRecoveryOp.submitCallback.
    """
    undecided = exists(
        s.read_entry, lambda e: s.read_sent[client, e] & ~s.positive(client, e) & ~s.negative(client, e)
    )
    return Action(
        when=(s.phase[client] == Phase.ACTIVE) & undecided,
        then=[s.phase[client].set(Phase.GONE)],
        actor=client,
        note="cannot tell whether the entry is there, and gives up",
    )


# Closing the ledger: the writer closes it at its LAC, a recoverer before the first absent entry.


def _may_act(s: Today) -> Term:
    return any_of(s.phase[WRITER] == Phase.ACTIVE, s.phase[WRITER] == Phase.CLOSING)


def close_ledger(s: Today) -> Action:
    """Close the ledger at the writer's LAC, at any time (LedgerHandle.doAsyncCloseInternal).

    Code: LedgerHandle.doAsyncCloseInternal.
    """
    lac = s.closes_at()
    return Action(
        when=_may_act(s) & s.writer_may_close(),
        then=[
            s.status.set(Status.CLOSED),
            s.last_entry.set(lac),
            s.phase[WRITER].set(Phase.CLOSED),
            s.closed_at[WRITER].set(lac),
        ],
        actor=WRITER,
        note="closes the ledger at its LAC",
    )


def withdraw(s: Today) -> Action:
    """Let the writer give up because it can no longer close the ledger.

    Code: LedgerHandle.doAsyncCloseInternal.
    """
    return Action(
        when=_may_act(s) & s.too_late_to_close(),
        then=[s.phase[WRITER].set(Phase.GONE)],
        actor=WRITER,
        note="cannot close the ledger, and gives up",
    )


def finish_recovery(s: Today, client: Parameter, entry: Parameter) -> Action:
    """Close the ledger just below `entry`, at which reading ended (closeRecovered).

    All entries below it are written back.

    Code: LedgerRecoveryOp.onEntryComplete, ReadOnlyLedgerHandle.closeRecovered.
    """
    return Action(
        when=s.has_recovered(client, entry) & (s.status == Status.IN_RECOVERY) & ~s.overtaken[client],
        then=[
            s.status.set(Status.CLOSED),
            s.last_entry.set(entry - 1),
            s.phase[client].set(Phase.CLOSED),
            s.closed_at[client].set(entry - 1),
            *s.publishes_metadata(client, when=s.publishes_at_close()),
        ],
        actor=client,
        note="closes the ledger before entry {entry}, which is not there",
    )


def adopt_close(s: Today, client: Parameter, entry: Parameter) -> Action:
    """Adopt the close of another client that was faster, and report success.

    Code: ReadOnlyLedgerHandle.closeRecovered.
    """
    return Action(
        when=s.has_recovered(client, entry) & (s.status == Status.CLOSED),
        then=[s.phase[client].set(Phase.CLOSED), s.closed_at[client].set(s.last_entry)],
        actor=client,
        note="finds the ledger closed, and adopts that",
    )
