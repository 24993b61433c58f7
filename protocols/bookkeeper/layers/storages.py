"""Where bookies differ by the storage that they are set up with; `state` names the rules."""

from __future__ import annotations

from fencepost.encoding.language.terms import Term, TermLike
from fencepost.protocols.bookkeeper.bookies import Bookies


def has_no_copy(s: Bookies, bookie: TermLike, entry: TermLike) -> Term:
    """Only the first copy of an entry is kept: EntryMemTable.internalAdd puts it if absent (SortedLedgerStorage).

    That is so until the memory table is flushed: after that another copy is taken, and what it carries is what the
    bookie tells whoever fences it (SortedLedgerStorage.getLastEntryId asks the memory table first).
    """
    return ~s.has(bookie, entry)
