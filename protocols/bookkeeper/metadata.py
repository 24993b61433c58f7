"""The first chapter of today's protocol: the ledger's metadata, its clients, the striping of entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.sorts import BOOL, Sort, integers, labels, members
from fencepost.encoding.language.state import StateSpace, definition, family, variable
from fencepost.encoding.language.terms import FALSE, Read, Term, TermLike, Update
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.values import WRITER, Phase, Status
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


class Metadata(StateSpace):
    """The metadata store, each client's copy of it, and the write sets."""

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

    # The metadata.

    def is_at(self, client: TermLike, fragment: TermLike, position: TermLike, bookie: TermLike) -> Term:
        """Return whether the bookie has that position in the fragment's ensemble, in the client's copy."""
        return self.own_ensemble[client, fragment, position] == bookie

    def copied(self, client: TermLike) -> list[tuple[Read, Read]]:
        """Return each state variable of the client's copy with that of the metadata store."""
        return [
            (self.own_last_fragment[client], self.last_fragment),
            *(
                pair
                for f in self.later_fragments
                for pair in (
                    (self.own_first[client, f], self.first[f]),
                    *((self.own_ensemble[client, f, i], self.ensemble[f, i]) for i in self.position),
                )
            ),
        ]

    def takes_metadata(self, client: TermLike) -> list[Update]:
        """Return the updates that copy the metadata store into the client's copy."""
        return [own.set(stored) for own, stored in self.copied(client)]

    def publishes_metadata(self, client: TermLike) -> list[Update]:
        """Return the updates that copy the client's copy into the metadata store."""
        return [stored.set(own) for own, stored in self.copied(client)]

    def signature(self, client: TermLike) -> dict[str, TermLike]:
        """Return what each request of a client, and each answer to it, says besides."""
        return {}

    def is_deleted(self) -> Term:
        """Return whether the ledger is deleted: never, unless a layer says otherwise."""
        return FALSE

    def is_in_some(self, bookie: TermLike, within: Callable[[Term], Term]) -> Term:
        """Return whether the bookie is in the ensemble of such a fragment, by the metadata store."""

        def names(f: Term) -> Term:
            return within(f) & exists(self.position, lambda i: self.ensemble[f, i] == bookie)

        return exists(self.fragment, names)

    def in_last_ensemble(self, bookie: TermLike) -> Term:
        """Return whether the bookie is in the last ensemble, by the metadata store."""
        return self.is_in_some(bookie, lambda f: f == self.last_fragment)

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

    def placed_on(self, bookie: TermLike, entry: TermLike, last: Term) -> Term:
        """Return whether the entry belongs on the bookie, by the stored fragments up to `last`."""

        def in_write_set(f: Term) -> Term:
            return exists(
                self.position, lambda i: self.in_write_set[entry, i] & (self.ensemble[f, i] == bookie)
            )

        return in_fragment_of(entry, self.fragment, last, first=lambda f: self.first[f], body=in_write_set)

    @definition
    def in_metadata_write_set(self, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the entry belongs on the bookie, by the metadata store."""
        return self.placed_on(bookie, entry, self.last_fragment)


# The beginning.


def create_ledger(s: Metadata) -> Action:
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
