"""The property of BP-46's boot sequence: its repair is complete."""

from __future__ import annotations

from functools import partial

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import exists, forall
from fencepost.encoding.language.system import Property
from fencepost.properties.bookkeeper.explanations import explain_few_copies
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import NOTHING, Status


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
