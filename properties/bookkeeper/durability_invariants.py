"""Facts about what a replay finds: why nothing is lost with a bookie's process where all that is answered is journaled first.

The layer is protocols/bookkeeper/layers/durability.py; docs/durability.md says where releases depart, and what mends them.
"""

from __future__ import annotations

from fencepost.encoding.language.quantifiers import exists, forall
from fencepost.encoding.language.system import Invariant
from fencepost.encoding.language.terms import Term, all_of, any_of, implies, lift
from fencepost.protocols.bookkeeper.layers.durability import KeptOnDisk
from fencepost.protocols.bookkeeper.state import Ledger


def durability_invariants(s: Ledger) -> tuple[Invariant, ...]:
    """The facts about where key and fence are kept."""
    return (keys_are_replayed(s), fences_are_replayed(s))


def keys_are_replayed(s: Ledger) -> Invariant:
    """Without the key a replay skips every record of the ledger."""
    fence_has_key = lift(s.parameters.fence_record == "with-key")

    def sound(b: Term) -> Term:
        stores = exists(s.entry, lambda e: s.has(b, e))
        return all_of(
            s.key_is_replayed(b) | (s.key_kept[b] == KeptOnDisk.MEMORY),
            implies(stores | (fence_has_key & s.fenced[b]), s.key_is_replayed(b)),
        )

    return Invariant(
        name="keys-are-replayed",
        meaning="the ledger's key is where a replay finds it as soon as a bookie stores an entry"
        + (" or is fenced" if s.parameters.fence_record == "with-key" else "")
        + ", and the journal's mark never passes it",
        holds=forall(s.bookie, sound),
    )


def fences_are_replayed(s: Ledger) -> Invariant:
    def sound(b: Term) -> Term:
        kept = s.fence_kept[b]
        replayed = any_of(kept == KeptOnDisk.JOURNAL, kept == KeptOnDisk.INDEX)
        return all_of(implies(s.fenced[b], replayed), implies(~s.fenced[b], kept == KeptOnDisk.MEMORY))

    return Invariant(
        name="fences-are-replayed",
        meaning="the fence of a bookie is where a replay finds it, and of one that is not fenced there is none",
        holds=forall(s.bookie, sound),
    )
