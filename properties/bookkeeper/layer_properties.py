"""The properties of the layers: deletion, fault domains, DEFERRED_SYNC, the boot sequence, ids, lengths."""

from __future__ import annotations

from functools import partial

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import at_least, exists, forall
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.terms import Term, all_of
from fencepost.encoding.language.traces import Trace
from fencepost.properties.bookkeeper.explanations import explain_few_copies
from fencepost.properties.bookkeeper.safety import recovered
from fencepost.protocols.bookkeeper.layers.fault_domains import spans
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import NOTHING, WRITER, Status


def none_acked_after_deletion(s: Ledger) -> Property:
    """Return the property that no ack is for a ledger that is gone."""
    return Property(
        name="none-acked-after-deletion",
        meaning="after the deletion no entry beyond the end of the closed ledger is acknowledged",
        holds=implies(
            s.is_deleted(), forall(s.entry, lambda e: implies(e <= s.lac(WRITER), e <= s.last_entry))
        ),
        witness=s.is_deleted(),
        witness_meaning="the ledger is deleted",
    )


def acked_on_enough_racks(s: Ledger) -> Property:
    """Return the property for which `enforceMinNumFaultDomainsForWrite` is set, until the close.

    Recovery may write an entry back to other bookies, whose acks have to be on as many racks.
    """
    return Property(
        name="acked-on-enough-racks",
        meaning="before the close every acknowledged entry is stored on bookies of its write set in the "
        "metadata that are on as many racks as each write needs",
        holds=forall(
            s.entry,
            lambda e: implies(
                (e <= s.lac(WRITER)) & (s.status != Status.CLOSED),
                spans(s, lambda b: s.in_metadata_write_set(e, b) & s.has(b, e)),
            ),
        ),
        witness=s.lac(WRITER) > 0,
        witness_meaning="an entry is acknowledged",
        explain=partial(explain_few_copies, s),
    )


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


def repair_is_complete(s: Ledger) -> Property:
    """Return the property that phase two of the boot sequence promises (BP-46)."""
    checked = exists(s.bookie, lambda b: s.serves(b) & s.checked[b])
    return Property(
        name="repair-is-complete",
        meaning="once a crashed bookie has been checked and the ledger is closed, the "
        "bookie stores every entry that the metadata places on it",
        holds=forall(
            s.bookie,
            lambda b: implies(
                s.checked[b] & (s.status == Status.CLOSED),
                forall(
                    s.entry,
                    lambda e: implies(
                        (e <= s.last_entry) & s.in_metadata_write_set(e, b), s.stored[b, e] != NOTHING
                    ),
                ),
            ),
        ),
        witness=checked & (s.status == Status.CLOSED) & (s.last_entry > 0),
        witness_meaning="a crashed bookie has been checked, and the ledger is closed with an entry in it",
        explain=partial(explain_few_copies, s),
    )


def acknowledged_adds_stay(s: Ledger) -> Property:
    """Return the property that the closed ledger has what the application was told, whatever the LAC is."""
    closed = s.status == Status.CLOSED
    return Property(
        name="acknowledged-adds-stay",
        meaning="the closed ledger has every entry whose add was answered with success, also if the LAC of "
        "the writer has fallen since",
        holds=implies(closed, s.acknowledged(WRITER) <= s.last_entry),
        witness=closed & exists(s.entry, lambda e: (e > 1) & (e <= s.acknowledged(WRITER))),
        witness_meaning="two entries are acknowledged, and the ledger is closed",
        explain=partial(_explain_fallen, s),
    )


def length_is_the_sum(s: Ledger) -> Property:
    """Return the property that the length in the metadata is the sum over the entries of the ledger."""
    return Property(
        name="length-is-the-sum",
        meaning="the length of the closed ledger is the sum of the lengths of its entries",
        holds=implies(s.status == Status.CLOSED, s.length == s.last_entry),
        witness=recovered(s) & (s.last_entry > 0),
        witness_meaning="a recoverer has closed the ledger with an entry in it",
        explain=partial(_explain_length, s),
    )


def _explain_fallen(s: Ledger, trace: Trace) -> str:
    """Say by which second add the LAC fell, and where the ledger ends."""
    if not s.parameters.has_second_adds or not trace.value(s.second_done):
        return "The ledger ends before an entry that the writer has acknowledged."
    step = trace.last_change(s.second_done, to=True).index
    return (
        f"The writer has acknowledged entry {trace.value(s.lac_at_second)}. In step {step} the second add of "
        f"id {trace.value(s.second)} was taken, and the LAC fell to it."
    )


def _explain_length(s: Ledger, trace: Trace) -> str:
    """Say where the ledger ends, and the length that the metadata have."""
    end, length = trace.value(s.last_entry), trace.value(s.length)
    return f"The ledger is closed at entry {end} with a length of {length}, and each entry has one byte."
