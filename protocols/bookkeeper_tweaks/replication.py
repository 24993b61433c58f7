"""What the two tweaks share: ledgers whose entries are to reach all WQ bookies of their write set.

Ensembles are sets of E = WQ bookies, so the write set of an entry is the ensemble of its fragment. Each client counts
two prefixes of the log: the last add confirmed (LAC) has AQ acks, the last add fully replicated (LAFR) all WQ. Rules
are those of guaranteed write quorum in docs/tweaks.md. What the tweaks do differently stands in their own files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

from fencepost.encoding.language.messages import Broadcast, Message, to_each
from fencepost.encoding.language.parameters import parameter, require
from fencepost.encoding.language.quantifiers import at_least, exists, exists_over, forall, maximum
from fencepost.encoding.language.sorts import BOOL, Sort, Value, integers, labels, members
from fencepost.encoding.language.state import StateSpace, choice, family, variable
from fencepost.encoding.language.system import Action, Group, Schema, each
from fencepost.encoding.language.terms import (
    TRUE,
    Family,
    Parameter,
    Read,
    Term,
    TermLike,
    Update,
    any_of,
    if_,
    implies,
)
from fencepost.protocols.bookkeeper.metadata import in_fragment_of
from fencepost.quorums.arithmetic import negative_answers


@dataclass(frozen=True)
class TweakSizes:
    """Bookies and quorums. Raises BadInput unless 1 <= AQ <= WQ <= N."""

    bookies: int = parameter(3, "N: bookies there are")
    write_quorum: int = parameter(2, "WQ: bookies that each entry is sent to, and the size of an ensemble")
    ack_quorum: int = parameter(1, "AQ: acks that make an entry acknowledged")

    def __post_init__(self) -> None:
        require(
            "1 <= ack_quorum <= write_quorum <= bookies",
            1 <= self.ack_quorum <= self.write_quorum <= self.bookies,
            {"ack_quorum": self.ack_quorum, "write_quorum": self.write_quorum, "bookies": self.bookies},
            "for example ack_quorum=2, write_quorum=3, bookies=4",
        )

    @property
    def coverage(self) -> int:
        """QC: negative answers that make an entry absent; as E = WQ, also EC: fencing answers that suffice."""
        return int(negative_answers(self.write_quorum, self.write_quorum, self.ack_quorum))


# State: index sets, families that both tweaks have, and what follows from them.


class ReplicatedLedger(StateSpace, ABC):
    """The state of one ledger, as far as the tweaks share it.

    A tweak declares its families in its own order, those below by the `declare` methods.
    """

    nothing: ClassVar[Value]
    """The content of an entry that is not there."""

    status: Read
    last_entry: Read
    stored: Family
    base: Family
    """The last ensemble when the client's recovery began: it is fenced and read from, to the end."""
    fence_handled: Family
    fence_answered: Family

    stores: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "zk": ("status", "ledger_term", "last_entry", "last_fragment", "first", "member")
    }

    def __init__(self, parameters: TweakSizes, client: Sort, entries: int, fragments: int) -> None:
        self.parameters = parameters
        self.bookie = labels("bookie", "b", parameters.bookies)
        self.client = client
        self.entry = integers(1, entries)
        self.next_entry = integers(1, entries + 1)
        """Where a fragment may start: one past the last entry, too."""
        self.prefix = integers(0, entries)
        """LAC, LAFR, last entry: everything up to here. 0 is none."""
        possible = fragments if parameters.bookies > parameters.write_quorum else 1
        self.fragment = integers(1, possible)
        """Fragments in order; each has an ensemble, starts at its `first` entry and hides what it replaces.

        There is only one if no bookie is spare.
        """
        self.later_fragments = tuple(range(2, possible + 1))

    def declare_fragments(self) -> None:
        """The metadata store's ensembles, and where each starts."""
        self.last_fragment = variable(self.fragment)
        self.first = family(self.next_entry, self.fragment)
        self.member = family(BOOL, self.fragment, self.bookie, initial=self._at_first)

    def declare_clients(self, phases: type[Enum]) -> None:
        """What each client is doing, and its copy of the metadata."""
        self.phase = family(members(phases), self.client)
        self.own_last_fragment = family(self.fragment, self.client)
        self.own_first = family(self.next_entry, self.client, self.fragment)
        self.own_member = family(BOOL, self.client, self.fragment, self.bookie, initial=self._at_first)

    def declare_adds(self) -> None:
        """The adds of each client, with the LAC and LAFR they carry."""
        index = (self.client, self.fragment, self.entry)
        self.sent = family(BOOL, *index)
        self.sent_lac = family(self.prefix, *index)
        self.sent_lafr = family(self.prefix, *index)
        self.add_handled = family(BOOL, *index, self.bookie)

    def declare_acks(self) -> None:
        """The answers to adds that each client has heard, and the acks that count."""
        self.add_answered = family(BOOL, self.client, self.fragment, self.entry, self.bookie)
        self.acked = family(BOOL, self.client, self.entry, self.bookie)

    def declare_reads(self, entry: Sort, content: Sort) -> None:
        """The recovery reads of each client: of `entry`, answered with `content`."""
        self.read_entry = entry
        self.read_sent = family(BOOL, self.client, entry)
        self.read_handled = family(BOOL, self.client, entry, self.bookie)
        self.read_content = family(content, self.client, entry, self.bookie)
        self.read_answered = family(BOOL, self.client, entry, self.bookie)

    def declare_losses(self) -> None:
        """What the network never delivers.

        Only adds and their answers overtake what is lost; any other message that never arrives is simply late
        for ever.
        """
        index = (self.client, self.fragment, self.entry, self.bookie)
        self.add_lost = choice(*index, fault="lost")
        self.add_answer_lost = choice(*index, fault="lost")

    def _at_first(self, *index: object) -> bool:
        """The first ensemble is the first WQ bookies."""
        return index[-1] in self.bookie.values[: self.parameters.write_quorum]

    # Adds. An add is sent because of a fragment: to all of its ensemble at first, later to its newcomer only.

    def pushed(self, client: TermLike, entry: TermLike) -> Term:
        """The client has sent something as the entry: a new one, or a write-back."""
        return exists(self.fragment, lambda g: self.sent[client, g, entry])

    def may_send(self, client: TermLike, fragment: TermLike, entry: TermLike) -> Term:
        """The client has not sent the entry, and would send it to its ensemble of that fragment."""
        current = self.own_last_fragment[client] == fragment
        return current & ~self.sent[client, fragment, entry] & ~self.pushed(client, entry)

    def in_order(self, client: TermLike, entry: TermLike) -> Term:
        """The client has sent all entries above its start and below this one."""
        return forall(
            self.entry, lambda e: implies((self.start(client) < e) & (e < entry), self.pushed(client, e))
        )

    def add_sent(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """The entry was sent to the bookie because of that fragment."""

        def had_it(g: Term) -> Term:
            return (g + 1 == fragment) & self.sent[client, g, entry] & self.own_member[client, g, bookie]

        return (
            self.sent[client, fragment, entry]
            & self.own_member[client, fragment, bookie]
            & ~exists(self.fragment, had_it)
        )

    def add_in_flight(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """The add will reach the bookie and has not yet."""
        index = (client, fragment, entry, bookie)
        return self.add_sent(*index) & ~self.add_lost[index] & ~self.add_handled[index]

    def next_add(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """The add may reach the bookie now: of the client's adds that will, the lowest entry goes first."""
        index = (client, fragment, entry, bookie)
        return self.add_in_flight(*index) & ~self._lower(self.add_in_flight, client, entry, bookie)

    def answer_in_flight(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike
    ) -> Term:
        """The answer to an add will reach the client and has not yet."""
        index = (client, fragment, entry, bookie)
        return self.add_handled[index] & ~self.add_answer_lost[index] & ~self.add_answered[index]

    def next_answer(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """The answer may be received now: of those of this bookie that will arrive, the lowest entry goes first.

        Answers of a bookie that is no member of the ensemble any more are not received (ReceiveAddConfirmedResponse).
        """
        return (
            self.own_member[client, self.own_last_fragment[client], bookie]
            & self.answer_in_flight(client, fragment, entry, bookie)
            & ~self._lower(self.answer_in_flight, client, entry, bookie)
        )

    def _lower(
        self, in_flight: Callable[..., Term], client: TermLike, entry: TermLike, bookie: TermLike
    ) -> Term:
        """The same is in flight for a lower entry."""
        return exists(
            self.entry,
            lambda e: (e < entry) & exists(self.fragment, lambda g: in_flight(client, g, e, bookie)),
        )

    def add_stored(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """The bookie stored what that add brought."""
        return self.add_handled[client, fragment, entry, bookie]

    def heard(self, bookie: TermLike, carried: Family) -> Term:
        """The highest LAC (`sent_lac`) or LAFR (`sent_lafr`) that came with an add the bookie stored (rule 2)."""

        def came(c: Term, g: Term, e: Term) -> Term:
            return if_(self.add_stored(c, g, e, bookie), carried[c, g, e], 0)

        return maximum(
            self.client,
            lambda c: maximum(self.fragment, lambda g: maximum(self.entry, lambda e: came(c, g, e))),
        )

    # The two prefixes of a client.

    @abstractmethod
    def start(self, client: TermLike) -> Term:
        """Where the LAFR of the client starts, and the reading of a recoverer."""

    def highest_told(self, client: TermLike, told: Family) -> Term:
        """The highest that fencing told, but no lower than what the fragments before the last hold (rule 11)."""
        floor = self.own_first[client, self.base[client]] - 1
        heard = maximum(self.bookie, lambda b: if_(self.fence_answered[client, b], told[client, b], 0))
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

    @abstractmethod
    def lac(self, client: TermLike) -> Term:
        """Last add confirmed: AQ acks, and never falls."""

    def lafr(self, client: TermLike) -> Term:
        """Last add fully replicated: WQ acks (rule 2)."""
        return self.run(client, self.parameters.write_quorum)

    @abstractmethod
    def carried_lac(self, client: TermLike) -> Term:
        """The LAC that an add carries if it is sent now."""

    @abstractmethod
    def carried_lafr(self, client: TermLike) -> Term:
        """The LAFR that an add carries if it is sent now."""

    def pending(self, client: TermLike, entry: TermLike) -> Term:
        """The entry is pushed or written back, and above the LAFR (rule 4)."""
        return self.pushed(client, entry) & (self.lafr(client) < entry)

    # Ensemble changes.

    def timed_out(self, client: TermLike, bookie: TermLike) -> Term:
        """A write of the client to the bookie may be given up: it has not been answered."""
        return exists_over(
            (self.fragment, self.entry),
            lambda g, e: self.add_sent(client, g, e, bookie) & ~self.add_answered[client, g, e, bookie],
        )

    def pinned(self, client: TermLike, bookie: TermLike) -> Term:
        """The bookie has acked an entry above the LAFR and up to the LAC (rule 8)."""
        return exists(
            self.entry,
            lambda e: (self.lafr(client) < e) & (e <= self.lac(client)) & self.acked[client, e, bookie],
        )

    def replaceable(self, client: TermLike, fragment: TermLike, failed: TermLike, spare: TermLike) -> Term:
        """In the client's ensemble, which is of that fragment, a bookie failed it that the spare one may replace."""
        return (
            (self.own_last_fragment[client] == fragment)
            & self.own_member[client, fragment, failed]
            & ~self.own_member[client, fragment, spare]
            & self.timed_out(client, failed)
        )

    # Recovery.

    def fence_answer_counts(self, client: TermLike, bookie: TermLike) -> Term:
        """The answer to a fencing read is on its way; once enough have come, further answers are ignored."""
        index = (client, bookie)
        return self.fence_handled[index] & ~self.fence_answered[index] & ~self.covered(client)

    def covered(self, client: TermLike) -> Term:
        """Enough bookies of the ensemble are fenced (rule 13)."""
        return at_least(self.parameters.coverage, self.bookie, lambda b: self.fence_answered[client, b])

    def may_read(self, client: TermLike, entry: TermLike) -> Term:
        """Fencing is covered, and the entry is the next to be read: all between the start and it were found."""
        found_below = forall(
            self.read_entry,
            lambda e: implies((self.start(client) < e) & (e < entry), self.positive(client, e)),
        )
        above = self.start(client) < entry
        return self.covered(client) & above & ~self.read_sent[client, entry] & found_below

    def read_to(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """The bookie is asked for the entry: as a member of the ensemble that was the last."""
        return self.read_sent[client, entry] & self.own_member[client, self.base[client], bookie]

    def read_answer_counts(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """The answer to a recovery read is on its way; after the read is decided it is ignored."""
        index = (client, entry, bookie)
        undecided = ~self.positive(client, entry) & ~self.negative(client, entry)
        return self.read_handled[index] & ~self.read_answered[index] & undecided

    def has_entry(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """The bookie answered the recovery read with the entry."""
        index = (client, entry, bookie)
        return self.read_answered[index] & (self.read_content[index] != self.nothing)

    def positive(self, client: TermLike, entry: TermLike) -> Term:
        """The recovery read has found the entry: one bookie has something (rule 12)."""
        return exists(self.bookie, lambda b: self.has_entry(client, entry, b))

    def negative(self, client: TermLike, entry: TermLike) -> Term:
        """The recovery read has found that the entry is not there: QC bookies answered NoSuchEntry (rule 12).

        A read that is neither positive nor negative stays unknown, and recovery goes no further (rule 13).
        """
        absent = at_least(
            self.parameters.coverage,
            self.bookie,
            lambda b: (
                self.read_answered[client, entry, b] & (self.read_content[client, entry, b] == self.nothing)
            ),
        )
        return absent & ~self.positive(client, entry)

    # What properties ask.

    def has(self, bookie: TermLike, entry: TermLike) -> Term:
        """Something is stored as the entry on the bookie."""
        return self.stored[bookie, entry] != self.nothing

    @abstractmethod
    def closed_by_another(self) -> Term:
        """A client that did not create the ledger has closed it."""

    def in_write_set(self, entry: TermLike, bookie: TermLike) -> Term:
        """By the metadata store, the entry belongs on the bookie."""
        return in_fragment_of(
            entry,
            self.fragment,
            self.last_fragment,
            first=lambda g: self.first[g],
            body=lambda g: self.member[g, bookie],
        )


# Sending.


def prefixes(
    s: ReplicatedLedger, client: TermLike, fragment: TermLike, entry: TermLike, now: bool
) -> dict[str, Term]:
    """The LAC and LAFR that an add carries (rule 3): those of now if it is being sent, else those it was sent with."""
    index = (client, fragment, entry)
    return {
        "lac": s.carried_lac(client) if now else s.sent_lac[index],
        "lafr": s.carried_lafr(client) if now else s.sent_lafr[index],
    }


def to_ensemble(
    s: ReplicatedLedger, client: TermLike, fragment: TermLike, body: Callable[[Any, Term], Message]
) -> Broadcast:
    """A message to each bookie of the client's ensemble of that fragment; `body` gets the bookie and that condition."""
    return to_each(s.bookie, lambda b: body(b, s.own_member[client, fragment, b]))


def sends(
    s: ReplicatedLedger, client: TermLike, fragment: TermLike, entry: TermLike, when: Term = TRUE
) -> list[Update]:
    """The entry goes to the ensemble of that fragment, with the LAC and LAFR of now (rule 3)."""
    index = (client, fragment, entry)
    return [
        s.sent[index].set(True, when=when),
        s.sent_lac[index].set(s.carried_lac(client), when=when),
        s.sent_lafr[index].set(s.carried_lafr(client), when=when),
    ]


# Ensemble changes.


def members_then(
    s: ReplicatedLedger, client: TermLike, fragment: TermLike, failed: Parameter, spare: Parameter
) -> dict[Value, Term]:
    """Who belongs to the client's ensemble of that fragment once the spare bookie has replaced the failed one."""
    return {b: any_of(spare == b, s.own_member[client, fragment, b] & (failed != b)) for b in s.bookie}


def installs(
    s: ReplicatedLedger, client: TermLike, following: Term, first: Term, members: Mapping[Value, Term]
) -> list[Update]:
    """The client goes on with a new fragment, which hides the last one if that starts at the same entry (rule 6)."""
    return [
        s.own_last_fragment[client].set(following),
        s.own_first[client, following].set(first),
        *(s.own_member[client, following, b].set(member) for b, member in members.items()),
    ]


def commits(
    s: ReplicatedLedger, following: Term, first: Term, members: Mapping[Value, Term], when: Term = TRUE
) -> list[Update]:
    """The metadata store gets the new fragment."""
    return [
        s.last_fragment.set(following, when=when),
        s.first[following].set(first, when=when),
        *(s.member[following, b].set(member, when=when) for b, member in members.items()),
    ]


def withdraws_acks(s: ReplicatedLedger, client: TermLike, failed: TermLike, above: Term) -> list[Update]:
    """The bookie that is replaced loses its acks for higher entries (rule 7)."""
    return [s.acked[client, e, failed].set(False, when=above < e) for e in s.entry]


def due(
    s: ReplicatedLedger, client: TermLike, fragment: TermLike, following: TermLike, above: Term
) -> dict[Value, Term]:
    """Which higher entries of that fragment go to the newcomer of the following, acknowledged or not (rule 7)."""
    return {e: (above < e) & s.sent[client, fragment, e] & ~s.sent[client, following, e] for e in s.entry}


def sends_again(
    s: ReplicatedLedger, client: TermLike, following: Term, due: Mapping[Value, Term]
) -> list[Update]:
    """What is due goes to the newcomer, with the LAC and LAFR of now."""
    return [update for e, when in due.items() for update in sends(s, client, following, e, when)]


# Recovery.


def takes_metadata(s: ReplicatedLedger, client: TermLike) -> list[Update]:
    """The client that begins recovery takes the metadata store's fragments for its own."""
    return [
        s.base[client].set(s.last_fragment),
        s.own_last_fragment[client].set(s.last_fragment),
        *(
            update
            for g in s.later_fragments
            for update in (
                s.own_first[client, g].set(s.first[g]),
                *(s.own_member[client, g, b].set(s.member[g, b]) for b in s.bookie),
            )
        ),
    ]


def publishes_metadata(s: ReplicatedLedger, client: TermLike) -> list[Update]:
    """The client that ends recovery makes its own fragments the ledger's."""
    return [
        s.last_fragment.set(s.own_last_fragment[client]),
        *(
            update
            for g in s.later_fragments
            for update in (
                s.first[g].set(s.own_first[client, g]),
                *(s.member[g, b].set(s.own_member[client, g, b]) for b in s.bookie),
            )
        ),
    ]


# The system.


def adds_and_changes(
    s: ReplicatedLedger,
    client: Sort,
    handle_add: Callable[..., Action],
    receive_ack: Callable[..., Action],
    change_ensemble: Callable[..., Action],
) -> list[Schema | Group]:
    """Adds of that client reach bookies, their acks come back, and bookies that fail are replaced."""
    adds: list[Schema | Group] = [
        each(handle_add, s, client, s.fragment, s.entry, s.bookie),
        each(receive_ack, s, client, s.fragment, s.entry, s.bookie),
    ]
    if not s.later_fragments:
        return adds
    earlier = integers(1, len(s.later_fragments))
    return [*adds, each(change_ensemble, s, client, earlier, s.bookie, s.bookie)]
