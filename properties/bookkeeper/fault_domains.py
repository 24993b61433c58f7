"""The property of a client that enforces fault domains: an acknowledged entry is on several racks."""

from __future__ import annotations

from functools import partial

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import forall
from fencepost.encoding.language.system import Property
from fencepost.properties.bookkeeper.explanations import explain_few_copies
from fencepost.protocols.bookkeeper.layers.fault_domains import spans
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import WRITER, Status


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
