"""Properties of a bookie with its journal on: an answer stays true after a crash or a clean restart."""

from __future__ import annotations

from functools import partial

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import exists, exists_over, forall, forall_over
from fencepost.encoding.language.system import Invariant, Property, invariant
from fencepost.encoding.language.terms import Term, all_of, any_of, lift
from fencepost.properties.bookkeeper import explanations
from fencepost.properties.bookkeeper.safety import recovered
from fencepost.protocols.bookkeeper.layers.durability import KeptOnDisk
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import NOTHING, WRITER, Status


def fences_stay(s: Ledger) -> Property:
    """Return the property that a fence lasts.

    BookieImpl.fenceLedger says: "once a ledger is fenced, it can never be unfenced".
    """
    return Property(
        name="fences-stay",
        meaning="a bookie that has answered a fencing read refuses the writer's adds from then on",
        holds=forall_over(
            (s.recoverer, s.bookie), lambda r, b: implies(answered_fencing(s, r, b), s.fenced[b])
        ),
        witness=went_down(s) & exists_over((s.recoverer, s.bookie), lambda r, b: s.fence_handled[r, b]),
        witness_meaning="a bookie has answered a fencing read, and a bookie has gone down and come back",
        explain=partial(explanations.explain_lost_fence, s),
    )


def entries_stay(s: Ledger) -> Property:
    """Return the property that an acked entry stays stored (BookieImpl.addEntry acks after the journal)."""
    return Property(
        name="entries-stay",
        meaning="a bookie whose ack of an entry the writer has received stores the entry",
        holds=forall_over((s.entry, s.bookie), lambda e, b: implies(s.acked[WRITER, e, b], s.has(b, e))),
        witness=went_down(s) & exists_over((s.entry, s.bookie), lambda e, b: s.acked[WRITER, e, b]),
        witness_meaning="the writer has received an ack, and a bookie has gone down and come back",
        explain=partial(explanations.explain_few_copies, s),
    )


def fences_beside_entries_stay(s: Ledger) -> Property:
    """Return the property that a fence lasts at a bookie that stores an entry of the ledger.

    A bookie without any entry may not know that the ledger exists.
    """

    def stores(b: Term) -> Term:
        return exists(s.entry, lambda e: s.has(b, e))

    return Property(
        name="fences-beside-entries-stay",
        meaning="a bookie refuses the writer's adds if it has answered a fencing read and stores an entry "
        "that it had before the fence or that recovery has written back",
        holds=forall_over(
            (s.recoverer, s.bookie),
            lambda r, b: implies(
                answered_fencing(s, r, b) & exists(s.entry, lambda e: _before_fence(s, r, e, b)), s.fenced[b]
            ),
        ),
        witness=went_down(s)
        & exists_over((s.recoverer, s.bookie), lambda r, b: s.fence_handled[r, b] & stores(b)),
        witness_meaning="a bookie that stores an entry has answered a fencing read, and a bookie "
        "has gone down and come back",
        explain=partial(explanations.explain_lost_fence, s),
    )


def _before_fence(s: Ledger, recoverer: Term, entry: Term, bookie: Term) -> Term:
    """Return whether the entry is at the bookie for a reason other than a lost fence.

    Recovery has found it there, or has written it back.
    """
    written_back = exists(s.fragment, lambda f: s.add_handled[recoverer, f, entry, bookie])
    found = s.read_handled[recoverer, entry, bookie] & (s.read_content[recoverer, entry, bookie] != NOTHING)
    return (s.fence_lac[recoverer, bookie] >= entry) | found | written_back


def answered_fencing(s: Ledger, recoverer: Term, bookie: Term) -> Term:
    """Return whether the bookie has answered a read of the recoverer that fences.

    The read of the bookie's LAC fences, and since 4.14 the read of an entry does too.
    """
    read = exists(s.read_entry, lambda e: s.read_handled[recoverer, e, bookie])
    return s.fence_handled[recoverer, bookie] | s.fenced_by_reading() & read


def closed_entries_end(s: Ledger) -> Property:
    """Return the property no-divergence for ledgers with entries: recovery has written back the last one."""
    return Property(
        name="no-divergence-behind-entries",
        meaning="once the ledger is closed with an entry in it, the writer has acknowledged "
        "no entry beyond the last one",
        holds=implies((s.status == Status.CLOSED) & (s.last_entry > 0), s.lac(WRITER) <= s.last_entry),
        witness=went_down(s)
        & recovered(s)
        & (s.last_entry > 0)
        & exists(s.entry, lambda e: (s.last_entry < e) & s.pushed(WRITER, e)),
        witness_meaning="a bookie has gone down and come back, and a recoverer has closed the ledger with an "
        "entry in it and without a later entry that the writer has pushed",
        explain=partial(explanations.explain_divergence, s),
    )


def went_down(s: Ledger) -> Term:
    """Return whether some bookie has crashed or was restarted."""
    return (s.crashed > 0) | (s.restarted > 0)


def durability_properties(s: Ledger) -> tuple[Property, ...]:
    """Return the properties of an instance with a storage, which models what is durable at each moment."""
    return (fences_stay(s), fences_beside_entries_stay(s), entries_stay(s), closed_entries_end(s))


# Invariants: a crash of the process loses nothing if a bookie answers only after it has journaled.
# docs/durability.md says where releases differ, and what fixes them.


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
