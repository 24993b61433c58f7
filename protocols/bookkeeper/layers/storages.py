"""Rules that depend on the storage of a bookie; `state` selects them."""

from __future__ import annotations

from fencepost.encoding.language.terms import Term, TermLike
from fencepost.protocols.bookkeeper.today import Today


def has_no_copy(s: Today, bookie: TermLike, entry: TermLike) -> Term:
    """Return whether the bookie has no copy of the entry, since it drops a second one.

    SortedLedgerStorage keeps the first copy until it flushes its memory table (EntryMemTable.internalAdd
    puts an entry if absent). After the flush it takes another copy, with another LAC. A fencing read is
    then answered with that LAC (SortedLedgerStorage.getLastEntryId asks the memory table first).
    """
    return ~s.has(bookie, entry)
