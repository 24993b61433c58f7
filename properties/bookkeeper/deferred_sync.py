"""The property of a writer with DEFERRED_SYNC: a forced entry is on disk."""

from __future__ import annotations

from functools import partial

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import at_least, forall
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.terms import Term, all_of
from fencepost.properties.bookkeeper.explanations import explain_few_copies
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import WRITER


def forced_entries_stay(s: Ledger) -> Property:
    """Return the property that ForceLedgerOp.forceLedgerComplete states in its comment.

    "Every bookie sync'd its own journal for every acknowledged entry before issuing the force() call": AQ
    bookies have acked such an entry, so AQ bookies have it on disk. No later loss of power takes it.
    """

    def on_disk(e: Term) -> Term:
        return at_least(
            s.parameters.ack_quorum,
            s.bookie,
            lambda b: all_of(s.in_metadata_write_set(e, b), s.has(b, e), s.synced[b, e]),
        )

    return Property(
        name="forced-entries-stay",
        meaning="every entry that was acknowledged before a force that has succeeded is on the disks of AQ "
        "bookies of its write set in the metadata",
        holds=forall(s.entry, lambda e: implies(e <= s.lac(WRITER), on_disk(e))),
        witness=s.lac(WRITER) > 0,
        witness_meaning="a force has succeeded",
        explain=partial(explain_few_copies, s),
    )
