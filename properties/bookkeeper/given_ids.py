"""The properties of a writer whose application gives the ids, and of the length that a close writes."""

from __future__ import annotations

from functools import partial

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.traces import Trace
from fencepost.properties.bookkeeper.safety import recovered
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import WRITER, Status


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
