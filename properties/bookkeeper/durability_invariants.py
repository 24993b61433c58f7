"""Invariants about what the replay of a journal finds.

They show that a crash of the process loses nothing if a bookie answers only after it has journaled. The layer
is protocols/bookkeeper/layers/durability.py. docs/durability.md says where releases differ, and what fixes
them.
"""

from __future__ import annotations

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import exists, forall
from fencepost.encoding.language.system import Invariant, invariant
from fencepost.encoding.language.terms import Term, all_of, any_of, lift
from fencepost.protocols.bookkeeper.layers.durability import KeptOnDisk
from fencepost.protocols.bookkeeper.state import Ledger


def durability_invariants(s: Ledger) -> tuple[Invariant, ...]:
    """Return the invariants about where a bookie keeps the ledger's key and the fence."""
    return (keys_are_replayed(s), fences_are_replayed(s))


def keys_are_replayed(s: Ledger) -> Invariant:
    """Return the invariant about the ledger's key. Without the key a replay skips the ledger's records."""
    fence_has_key = lift(s.parameters.fence_record == "with-key")

    def sound(b: Term) -> Term:
        stores = exists(s.entry, lambda e: s.has(b, e))
        return all_of(
            s.key_is_replayed(b) | (s.key_kept[b] == KeptOnDisk.MEMORY),
            implies(stores | (fence_has_key & s.fenced[b]), s.key_is_replayed(b)),
        )

    return Invariant(
        name="keys-are-replayed",
        meaning="a replay finds the ledger's key as soon as the bookie stores an entry"
        + (" or is fenced" if s.parameters.fence_record == "with-key" else "")
        + ", and the journal's mark never passes the key",
        holds=forall(s.bookie, sound),
    )


@invariant("if a bookie is fenced, a replay finds the fence; if it is not fenced, there is no fence to find")
def fences_are_replayed(s: Ledger) -> Term:
    """Return the invariant about fences: a replay restores each fence, and restores no other."""

    def sound(b: Term) -> Term:
        kept = s.fence_kept[b]
        replayed = any_of(kept == KeptOnDisk.JOURNAL, kept == KeptOnDisk.INDEX)
        return all_of(implies(s.fenced[b], replayed), implies(~s.fenced[b], kept == KeptOnDisk.MEMORY))

    return forall(s.bookie, sound)
