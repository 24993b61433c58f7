"""Rules that depend on the storage of a bookie."""

from __future__ import annotations

from fencepost.encoding.language.terms import Term, TermLike
from fencepost.protocols.bookkeeper.rules import rule
from fencepost.protocols.bookkeeper.today import Today


@rule("second_copy", "dropped")
class SecondCopiesDropped(Today):
    """A bookie keeps the first copy of an entry."""

    def takes_copy(self, bookie: TermLike, entry: TermLike) -> Term:
        """Return whether the bookie has no copy of the entry, since it drops a second one.

        SortedLedgerStorage keeps the first copy until it flushes its memory table (EntryMemTable.internalAdd
        puts an entry if absent). After the flush it takes another copy, with another LAC. A fencing read is
        then answered with that LAC (SortedLedgerStorage.getLastEntryId asks the memory table first).
        """
        return ~self.has(bookie, entry)
