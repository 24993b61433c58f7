"""The property of a ledger that is deleted: nobody adds to it."""

from __future__ import annotations

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import forall
from fencepost.encoding.language.system import Property
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import WRITER


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
