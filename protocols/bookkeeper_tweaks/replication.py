"""The common part of both variants: ledgers whose entries are to reach all WQ bookies.

Ensembles are sets of E = WQ bookies, so the write set of an entry is the ensemble of its fragment. Each
client counts two prefixes of the log: entries up to the last add confirmed (LAC) have AQ acks, entries up
to the last add fully replicated (LAFR) have WQ acks. The rules are those of guaranteed write quorum in
docs/tweaks.md. Differences between the variants are in their own files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

from fencepost.encoding.language.actions import Action, Group, Schema, each
from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.messages import Broadcast, Message, to_each
from fencepost.encoding.language.parameters import parameter, require
from fencepost.encoding.language.quantifiers import at_least, exists, exists_over, forall, maximum
from fencepost.encoding.language.sorts import BOOL, Sort, Value, integers, labels, members
from fencepost.encoding.language.state import StateSpace, choice, family, variable
from fencepost.encoding.language.terms import Family, Parameter, Read, Term, TermLike, Update
from fencepost.protocols.bookkeeper.metadata import in_fragment_of
from fencepost.quorums.arithmetic import negative_answers


@dataclass(frozen=True)
class TweakSizes:
    """The numbers of bookies.

    Raises BadInput unless 1 <= AQ <= WQ <= N.
    """

    bookies: int = parameter(3, "N: bookies there are")
    write_quorum: int = parameter(2, "WQ: bookies that each entry is sent to, and the size of an ensemble")
    ack_quorum: int = parameter(1, "AQ: acks that make an entry acknowledged")

    def __post_init__(self) -> None:
        """Check the sizes."""
        require(
            "1 <= ack_quorum <= write_quorum <= bookies",
            1 <= self.ack_quorum <= self.write_quorum <= self.bookies,
            {"ack_quorum": self.ack_quorum, "write_quorum": self.write_quorum, "bookies": self.bookies},
            "for example ack_quorum=2, write_quorum=3, bookies=4",
        )

    @property
    def coverage(self) -> int:
        """QC: the number of negative answers that show an entry to be absent.

        As E = WQ, this is also EC: the number of fencing answers that suffice.
        """
        return int(negative_answers(self.write_quorum, self.write_quorum, self.ack_quorum))


# State: index sets, state variables that both variants have, and definitions over them.


class ReplicatedLedger(StateSpace, ABC):
    """The state of one ledger, as far as both variants share it.

    A variant declares its state variables in its own order, the ones below by the `declare` methods.
    """

    nothing: ClassVar[Value]
    """The content of an entry that is not stored."""

    status: Read
    last_entry: Read
    stored: Family
    base: Family
    """The last fragment when the client's recovery began. Its ensemble is fenced and read throughout."""
    fence_handled: Family
    fence_answered: Family

    stores: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "zk": ("status", "ledger_term", "last_entry", "last_fragment", "first", "member")
    }

    def __init__(self, parameters: TweakSizes, client: Sort, entries: int, fragments: int) -> None:
        """Declare the sorts."""
        self.parameters = parameters
        self.bookie = labels("bookie", "b", parameters.bookies)
        self.client = client
        self.entry = integers(1, entries)
        self.next_entry = integers(1, entries + 1)
        """Entries at which a fragment may start, including one past the last entry."""
        self.prefix = integers(0, entries)
        """LACs, LAFRs and last entries. 0 means no entry."""
        possible = fragments if parameters.bookies > parameters.write_quorum else 1
        self.fragment = integers(1, possible)
        """The fragments in order. Each has an ensemble and starts at its `first` entry.

        From its first entry on, a fragment replaces the one before. Without a spare bookie there is one
        fragment only.
        """
        self.later_fragments = tuple(range(2, possible + 1))

    def declare_fragments(self) -> None:
        """Declare the metadata store's fragments: their ensembles and their first entries."""
        self.last_fragment = variable(self.fragment)
        self.first = family(self.next_entry, self.fragment)
        self.member = family(BOOL, self.fragment, self.bookie, initial=self._at_first)

    def declare_clients(self, phases: type[Enum]) -> None:
        """Declare each client's phase, and its copy of the metadata."""
        self.phase = family(members(phases), self.client)
        self.own_last_fragment = family(self.fragment, self.client)
        self.own_first = family(self.next_entry, self.client, self.fragment)
        self.own_member = family(BOOL, self.client, self.fragment, self.bookie, initial=self._at_first)

    def declare_adds(self) -> None:
        """Declare the adds of each client, with the LAC and LAFR they carry."""
        index = (self.client, self.fragment, self.entry)
        self.sent = family(BOOL, *index)
        self.sent_lac = family(self.prefix, *index)
        self.sent_lafr = family(self.prefix, *index)
        self.add_handled = family(BOOL, *index, self.bookie)

    def declare_acks(self) -> None:
        """Declare the answers to adds that each client received, and the acks that count."""
        self.add_answered = family(BOOL, self.client, self.fragment, self.entry, self.bookie)
        self.acked = family(BOOL, self.client, self.entry, self.bookie)

    def declare_reads(self, entry: Sort, content: Sort) -> None:
        """Declare the recovery reads of each client: of `entry`, answered with `content`."""
        self.read_entry = entry
        self.read_sent = family(BOOL, self.client, entry)
        self.read_handled = family(BOOL, self.client, entry, self.bookie)
        self.read_content = family(content, self.client, entry, self.bookie)
        self.read_answered = family(BOOL, self.client, entry, self.bookie)

    def declare_losses(self) -> None:
        """Declare the losses of adds and of their answers.

        Other messages need no losses of their own. They overtake nothing, so a lost one is the same as one
        that is late for ever.
        """
        index = (self.client, self.fragment, self.entry, self.bookie)
        self.add_lost = choice(*index, fault="lost")
        self.add_answer_lost = choice(*index, fault="lost")

    def _at_first(self, *index: object) -> bool:
        """Return whether the bookie is in the first ensemble: the first WQ bookies."""
        return index[-1] in self.bookie.values[: self.parameters.write_quorum]

    # Adds. An add is sent because of a fragment: to all of its ensemble at first, later to its newcomer only.

    def pushed(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether the client has sent something as the entry: a new entry or a write-back."""
        return exists(self.fragment, lambda g: self.sent[client, g, entry])

    def may_send(self, client: TermLike, fragment: TermLike, entry: TermLike) -> Term:
        """Return whether the entry is not sent yet and would go to the ensemble of that fragment."""
        current = self.own_last_fragment[client] == fragment
        return current & ~self.sent[client, fragment, entry] & ~self.pushed(client, entry)

    def in_order(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether the client has sent all entries above its start and below this one."""
        return forall(
            self.entry, lambda e: implies((self.start(client) < e) & (e < entry), self.pushed(client, e))
        )

    def add_sent(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the entry was sent to the bookie because of that fragment."""

        def had_it(g: Term) -> Term:
            return (g + 1 == fragment) & self.sent[client, g, entry] & self.own_member[client, g, bookie]

        return (
            self.sent[client, fragment, entry]
            & self.own_member[client, fragment, bookie]
            & ~exists(self.fragment, had_it)
        )

    def add_in_flight(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the add is on its way: it will reach the bookie and has not yet."""
        index = (client, fragment, entry, bookie)
        return self.add_sent(*index) & ~self.add_lost[index] & ~self.add_handled[index]

    def next_add(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the add may reach the bookie now.

        One client's adds reach a bookie in the order of their entries, apart from lost ones.
        """
        index = (client, fragment, entry, bookie)
        return self.add_in_flight(*index) & ~self._lower(self.add_in_flight, client, entry, bookie)

    def answer_in_flight(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike
    ) -> Term:
        """Return whether the answer to an add is on its way: it will reach the client and has not yet."""
        index = (client, fragment, entry, bookie)
        return self.add_handled[index] & ~self.add_answer_lost[index] & ~self.add_answered[index]

    def next_answer(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the client may receive the answer now.

        Answers of one bookie arrive in the order of their entries, apart from lost ones. Answers of a
        bookie that has left the ensemble are not received (ReceiveAddConfirmedResponse).
        """
        return (
            self.own_member[client, self.own_last_fragment[client], bookie]
            & self.answer_in_flight(client, fragment, entry, bookie)
            & ~self._lower(self.answer_in_flight, client, entry, bookie)
        )

    def _lower(
        self, in_flight: Callable[..., Term], client: TermLike, entry: TermLike, bookie: TermLike
    ) -> Term:
        """Return whether a message of the same kind is on its way for a lower entry."""
        return exists(
            self.entry,
            lambda e: (e < entry) & exists(self.fragment, lambda g: in_flight(client, g, e, bookie)),
        )

    def add_stored(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the bookie stored the content of that add."""
        return self.add_handled[client, fragment, entry, bookie]

    def heard(self, bookie: TermLike, carried: Family) -> Term:
        """Return the highest LAC or LAFR that came with an add the bookie stored (rule 2).

        `carried` is `sent_lac` or `sent_lafr`.
        """

        def came(c: Term, g: Term, e: Term) -> Term:
            return if_(self.add_stored(c, g, e, bookie), carried[c, g, e], 0)

        return maximum(
            self.client,
            lambda c: maximum(self.fragment, lambda g: maximum(self.entry, lambda e: came(c, g, e))),
        )

    # The two prefixes of a client.

    @abstractmethod
    def start(self, client: TermLike) -> Term:
        """Return where the client's LAFR starts; a recoverer also starts reading there."""

    def highest_told(self, client: TermLike, told: Family) -> Term:
        """Return the highest prefix that fencing told the client (rule 11).

        It is no lower than the last entry of the fragments before the last.
        """
        floor = self.own_first[client, self.base[client]] - 1
        heard = maximum(self.bookie, lambda b: if_(self.fence_answered[client, b], told[client, b], 0))
        return if_(floor < heard, heard, floor)

    def run(self, client: TermLike, acks: int) -> Term:
        """Return the end of the longest run of entries above the start with so many acks each (rule 5)."""

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
        """Return the last add confirmed: AQ acks. It never falls."""

    def lafr(self, client: TermLike) -> Term:
        """Return the last add fully replicated: WQ acks (rule 2)."""
        return self.run(client, self.parameters.write_quorum)

    @abstractmethod
    def carried_lac(self, client: TermLike) -> Term:
        """Return the LAC that an add carries if it is sent now."""

    @abstractmethod
    def carried_lafr(self, client: TermLike) -> Term:
        """Return the LAFR that an add carries if it is sent now."""

    def pending(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether the entry was pushed or written back and is above the LAFR (rule 4)."""
        return self.pushed(client, entry) & (self.lafr(client) < entry)

    # Ensemble changes.

    def timed_out(self, client: TermLike, bookie: TermLike) -> Term:
        """Return whether the client may give up a write to the bookie that has no answer yet."""
        return exists_over(
            (self.fragment, self.entry),
            lambda g, e: self.add_sent(client, g, e, bookie) & ~self.add_answered[client, g, e, bookie],
        )

    def pinned(self, client: TermLike, bookie: TermLike) -> Term:
        """Return whether the bookie has acked an entry above the LAFR and up to the LAC (rule 8)."""
        return exists(
            self.entry,
            lambda e: (self.lafr(client) < e) & (e <= self.lac(client)) & self.acked[client, e, bookie],
        )

    def replaceable(self, client: TermLike, fragment: TermLike, failed: TermLike, spare: TermLike) -> Term:
        """Return whether the spare bookie may replace one that failed the client, in that fragment."""
        return (
            (self.own_last_fragment[client] == fragment)
            & self.own_member[client, fragment, failed]
            & ~self.own_member[client, fragment, spare]
            & self.timed_out(client, failed)
        )

    # Recovery.

    @abstractmethod
    def fence_sent(self, client: TermLike, bookie: TermLike) -> Term:
        """Return whether the client sent the bookie a fencing read."""

    def fence_answer_counts(self, client: TermLike, bookie: TermLike) -> Term:
        """Return whether an answer to a fencing read is on its way and counts: until coverage."""
        index = (client, bookie)
        return self.fence_handled[index] & ~self.fence_answered[index] & ~self.covered(client)

    def covered(self, client: TermLike) -> Term:
        """Return whether enough bookies of the ensemble are fenced (rule 13)."""
        return at_least(self.parameters.coverage, self.bookie, lambda b: self.fence_answered[client, b])

    def may_read(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether fencing is covered and the entry is the next one to read."""
        found_below = forall(
            self.read_entry,
            lambda e: implies((self.start(client) < e) & (e < entry), self.positive(client, e)),
        )
        above = self.start(client) < entry
        return self.covered(client) & above & ~self.read_sent[client, entry] & found_below

    def read_to(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the bookie was asked for the entry, as a member of the last ensemble."""
        return self.read_sent[client, entry] & self.own_member[client, self.base[client], bookie]

    def read_answer_counts(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether an answer to a recovery read is on its way and the read is undecided."""
        index = (client, entry, bookie)
        undecided = ~self.positive(client, entry) & ~self.negative(client, entry)
        return self.read_handled[index] & ~self.read_answered[index] & undecided

    def has_entry(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the bookie answered the recovery read with the entry."""
        index = (client, entry, bookie)
        return self.read_answered[index] & (self.read_content[index] != self.nothing)

    def positive(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether the recovery read found the entry: one bookie has it (rule 12)."""
        return exists(self.bookie, lambda b: self.has_entry(client, entry, b))

    def negative(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether the recovery read found the entry absent: QC bookies said so (rule 12).

        A read that is neither positive nor negative stays unknown, and recovery stops there (rule 13).
        """
        absent = at_least(
            self.parameters.coverage,
            self.bookie,
            lambda b: (
                self.read_answered[client, entry, b] & (self.read_content[client, entry, b] == self.nothing)
            ),
        )
        return absent & ~self.positive(client, entry)

    # Definitions for properties.

    def has(self, bookie: TermLike, entry: TermLike) -> Term:
        """Return whether the bookie stores something as the entry."""
        return self.stored[bookie, entry] != self.nothing

    @abstractmethod
    def closed_by_another(self) -> Term:
        """Return whether a client that did not create the ledger has closed it."""

    def in_write_set(self, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the entry belongs on the bookie, by the metadata store."""
        return in_fragment_of(
            entry,
            self.fragment,
            self.last_fragment,
            first=lambda g: self.first[g],
            body=lambda g: self.member[g, bookie],
        )

    # Sending.

    def prefixes(self, client: TermLike, fragment: TermLike, entry: TermLike, now: bool) -> dict[str, Term]:
        """Return the LAC and LAFR of an add: the current ones if sent `now`, else older ones (rule 3)."""
        index = (client, fragment, entry)
        return {
            "lac": self.carried_lac(client) if now else self.sent_lac[index],
            "lafr": self.carried_lafr(client) if now else self.sent_lafr[index],
        }

    def to_ensemble(
        self, client: TermLike, fragment: TermLike, body: Callable[[Any, Term], Message]
    ) -> Broadcast:
        """Return a message to each bookie of the client's ensemble of that fragment.

        `body` gets the bookie and the condition that it is a member.
        """
        return to_each(self.bookie, lambda b: body(b, self.own_member[client, fragment, b]))

    def sends(
        self, client: TermLike, fragment: TermLike, entry: TermLike, when: TermLike = True
    ) -> list[Update]:
        """Return the updates that send the entry to its ensemble with the current LAC and LAFR (rule 3)."""
        index = (client, fragment, entry)
        return [
            self.sent[index].set(True, when=when),
            self.sent_lac[index].set(self.carried_lac(client), when=when),
            self.sent_lafr[index].set(self.carried_lafr(client), when=when),
        ]

    # Ensemble changes.

    def members_then(
        self, client: TermLike, fragment: TermLike, failed: Parameter, spare: Parameter
    ) -> dict[Value, Term]:
        """Return the members of the client's ensemble once the spare bookie has replaced the failed one."""
        return {b: (spare == b) | self.own_member[client, fragment, b] & (failed != b) for b in self.bookie}

    def installs(
        self, client: TermLike, following: Term, first: Term, members: Mapping[Value, Term]
    ) -> list[Update]:
        """Return the updates by which the client goes on with a new fragment (rule 6).

        The new fragment replaces the last one if both start at the same entry.
        """
        return [
            self.own_last_fragment[client].set(following),
            self.own_first[client, following].set(first),
            *(self.own_member[client, following, b].set(member) for b, member in members.items()),
        ]

    def commits(
        self, following: Term, first: Term, members: Mapping[Value, Term], when: TermLike = True
    ) -> list[Update]:
        """Return the updates that put the new fragment into the metadata store."""
        return [
            self.last_fragment.set(following, when=when),
            self.first[following].set(first, when=when),
            *(self.member[following, b].set(member, when=when) for b, member in members.items()),
        ]

    def withdraws_acks(self, client: TermLike, failed: TermLike, above: Term) -> list[Update]:
        """Return the updates that withdraw the replaced bookie's acks of higher entries (rule 7)."""
        return [self.acked[client, e, failed].set(False, when=above < e) for e in self.entry]

    def due(
        self, client: TermLike, fragment: TermLike, following: TermLike, above: Term
    ) -> dict[Value, Term]:
        """Return the condition under which each higher entry goes to the new bookie (rule 7).

        Acknowledged entries go too.
        """
        return {
            e: (above < e) & self.sent[client, fragment, e] & ~self.sent[client, following, e]
            for e in self.entry
        }

    def sends_again(self, client: TermLike, following: Term, due: Mapping[Value, Term]) -> list[Update]:
        """Return the updates that send the due entries to the new bookie with the current LAC and LAFR."""
        return [update for e, when in due.items() for update in self.sends(client, following, e, when)]

    # Recovery.

    def takes_metadata(self, client: TermLike) -> list[Update]:
        """Return the updates that copy the metadata store's fragments when a client begins recovery."""
        return [
            self.base[client].set(self.last_fragment),
            self.own_last_fragment[client].set(self.last_fragment),
            *(
                update
                for g in self.later_fragments
                for update in (
                    self.own_first[client, g].set(self.first[g]),
                    *(self.own_member[client, g, b].set(self.member[g, b]) for b in self.bookie),
                )
            ),
        ]

    def publishes_metadata(self, client: TermLike) -> list[Update]:
        """Return the updates that make the client's fragments the ledger's when it ends recovery."""
        return [
            self.last_fragment.set(self.own_last_fragment[client]),
            *(
                update
                for g in self.later_fragments
                for update in (
                    self.first[g].set(self.own_first[client, g]),
                    *(self.member[g, b].set(self.own_member[client, g, b]) for b in self.bookie),
                )
            ),
        ]

    # The system.

    def adds_and_changes(
        self,
        client: Sort,
        handle_add: Callable[..., Action],
        receive_ack: Callable[..., Action],
        change_ensemble: Callable[..., Action],
    ) -> list[Schema | Group]:
        """Return that client's actions for adds, acks and ensemble changes."""
        adds: list[Schema | Group] = [
            each(handle_add, self, client, self.fragment, self.entry, self.bookie),
            each(receive_ack, self, client, self.fragment, self.entry, self.bookie),
        ]
        if not self.later_fragments:
            return adds
        earlier = integers(1, len(self.later_fragments))
        return [*adds, each(change_ensemble, self, client, earlier, self.bookie, self.bookie)]
