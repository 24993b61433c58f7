"""The length of the ledger in bytes, which a close writes to the metadata.

Each add carries the length of all entries that the writer has queued so far, with its own
(`LedgerHandle.addToLength`). A writer that closes takes off its pending adds, so its length is the sum.
Recovery sums nothing. It takes the length that came with the answer that had the highest LAC
(`LedgerRecoveryOp.initiate`), which is the length at the last entry of that bookie. Then it takes the length
that came with each entry that it reads (`LedgerRecoveryOp.onEntryComplete`). A write-back carries the same.

The rules apply with `lengths` above 0. Each entry has one byte, so the length must be the last entry.
"""

from __future__ import annotations

from collections.abc import Callable

from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.quantifiers import count, exists, maximum
from fencepost.encoding.language.state import family, variable
from fencepost.encoding.language.terms import Term, TermLike, Update, lift
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.rules import only_if
from fencepost.protocols.bookkeeper.today import Today
from fencepost.protocols.bookkeeper.values import WRITER


class Lengths(Today):
    """The length in the metadata, with each entry, and in the answers to fencing reads."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variables of lengths. There are none unless `lengths` is above 0."""
        super().__init__(parameters)
        if not parameters.lengths:
            return
        self.length = variable(self.lac_value)
        """The length that the close has written to the metadata."""
        self.carried_length = family(self.lac_value, self.entry)
        self.told_length = family(self.lac_value, self.client, self.bookie)
        """The length in the bookie's answer to the fencing read."""
        self.heard_length = family(self.lac_value, self.client)
        """The length that came with the first answer of those with the highest LAC."""


@only_if(lambda p: p.lengths > 0)
class LengthsWritten(Lengths):
    """Adds carry the length, and a close writes it."""

    def on_queue(self, client: TermLike, fragment: TermLike, entry: TermLike) -> list[Update]:
        """Return the update of the length that the writer's add carries."""
        before = count(self.entry, lambda e: self.pushed(WRITER, e))
        own = self.carried_length[entry].set(before + 1, when=lift(WRITER) == client)
        return [*super().on_queue(client, fragment, entry), own]

    def on_fence(self, client: TermLike, bookie: TermLike) -> list[Update]:
        """Return the update of the length in the answer: that of the bookie's last entry."""

        def is_last(e: Term) -> Term:
            return self.has(bookie, e) & ~exists(self.entry, lambda o: (e < o) & self.has(bookie, o))

        last = self.length_at(is_last)
        return [*super().on_fence(client, bookie), self.told_length[client, bookie].set(last)]

    def length_at(self, is_it: Callable[[Term], Term]) -> Term:
        """Return the length that the add of the entry carried of which this is true; 0 if there is none."""
        return maximum(self.entry, lambda e: if_(is_it(e), self.carried_length[e], 0))

    def on_fence_answer(self, client: TermLike, bookie: TermLike) -> list[Update]:
        """Return the update for an answer with a higher LAC than those before (maxRecoveredData)."""
        higher = self.heard_lac(client) < self.fence_lac[client, bookie]
        heard = self.heard_length[client].set(self.told_length[client, bookie], when=higher)
        return [*super().on_fence_answer(client, bookie), heard]

    def is_closed_alike(self) -> Term:
        """Return whether the ledger is also closed with the length with which the writer would close it."""
        return super().is_closed_alike() & (self.length == self.closes_at())

    def on_close(self, client: TermLike, last: Term) -> list[Update]:
        """Return the update of the length in the metadata. The writer's length is the sum."""
        of_last = self.length_at(lambda e: e == last)
        has_read = self.start(client) < last
        recovered = {
            "of-answers": if_(has_read, of_last, self.heard_length[client]),
            "of-last-entry": of_last,
            "summed": last,
        }[self.parameters.recovered_length]
        written = last if isinstance(client, str) else recovered
        return [*super().on_close(client, last), self.length.set(written)]
