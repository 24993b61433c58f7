"""Striping: the bookies of an ensemble that an entry goes to (RoundRobinDistributionSchedule)."""

from __future__ import annotations

from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.sorts import BOOL
from fencepost.encoding.language.state import definition, family
from fencepost.encoding.language.terms import Term, TermLike
from fencepost.protocols.bookkeeper.metadata import Metadata, in_fragment_of
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.quorums.stripes import Configuration


class WriteSets(Metadata):
    """Write sets. An entry goes to WQ positions of its fragment's ensemble, round robin."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Compute the constants of striping."""
        super().__init__(parameters)
        stripes = Configuration(parameters.ensemble, parameters.write_quorum, parameters.ack_quorum)
        head = parameters.ack_quorum

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
            initial=lambda start, i: i - 1 in stripes.window(start - 1, head),
        )

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
