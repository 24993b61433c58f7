"""Properties of BookKeeper's core, and the inductive invariant that proves them, one sentence each.

The invariants are inductive together: each holds at first, and every step keeps each of them if all hold
before the step.
"""

from __future__ import annotations

from dataclasses import replace

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import exists, exists_over, forall, forall_over
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.language.terms import FALSE, Term, TermLike
from fencepost.protocols.bookkeeper.core import Content, Core, CoreStatus


def with_properties(system: System) -> System:
    """Return the core with its properties and invariants."""
    s = system.state
    assert isinstance(s, Core)
    return replace(system, properties=core_properties(s), invariants=core_invariant(s))


def core_properties(s: Core) -> tuple[Property, ...]:
    """Return the properties of one ledger that the core has, the main one first."""
    copies = () if _copies_vanish(s) else (acked_entries_on_ack_quorum(s), acked_entries_readable(s))
    return (no_divergence(s), *copies, entries_in_order(s))


def no_divergence(s: Core) -> Property:
    """Return the property that no acknowledged entry is beyond the end of a closed ledger."""
    agreed = forall(s.client, lambda c: implies(s.reported[c], s.reported_last[c] == s.last))
    return Property(
        name="no-divergence",
        meaning="once the ledger is closed, the writer has acknowledged no entry beyond the last one, and "
        "every client that reports a successful close reports the same last entry",
        holds=implies(_closed(s), ~s.before[s.last, s.lac[s.writer]] & agreed),
        witness=_recovered(s) & s.is_entry(s.lac[s.writer]),
        witness_meaning="an entry is acknowledged, and a recoverer has closed the ledger",
    )


def acked_entries_on_ack_quorum(s: Core) -> Property:
    """Return the property that acknowledged entries have enough copies, before the close and after."""
    return Property(
        name="acked-entries-on-ack-quorum",
        meaning="every acknowledged entry is stored, with the content that the writer "
        "pushed, on an ack quorum of its write set in the metadata",
        holds=forall(
            s.entry, lambda e: implies(_confirmed(s, s.writer, e), _stored_on_ack_quorum(s, e, s.home[e]))
        ),
        witness=_recovered(s) & s.is_entry(s.lac[s.writer]),
        witness_meaning="an entry is acknowledged, and a recoverer has closed the ledger",
    )


def acked_entries_readable(s: Core) -> Property:
    """Return the property that acknowledged entries can be read while a bookie with a copy is up."""

    def readable(e: Term) -> Term:
        return exists(s.bookie, lambda b: s.in_write_set[b, s.home[e]] & (s.stored[b, e] == Content.PUSHED))

    return Property(
        name="acked-entries-readable",
        meaning="every acknowledged entry is stored, with the content that the writer pushed, on "
        "at least one bookie of its write set in the metadata, also if the ledger is closed without it",
        holds=forall(s.entry, lambda e: implies(_confirmed(s, s.writer, e), readable(e))),
        witness=s.is_entry(s.lac[s.writer]),
        witness_meaning="an entry is acknowledged",
    )


def entries_in_order(s: Core) -> Property:
    """Return the property that bookies store entries as the writer pushed them."""
    return Property(
        name="entries-in-order",
        meaning="a bookie stores as an entry only the content that the writer pushed as that entry",
        holds=forall_over((s.bookie, s.entry), lambda b, e: s.stored[b, e] != Content.OTHER),
        witness=exists_over((s.client, s.entry, s.bookie), lambda c, e, b: ~s.is_writer(c) & s.took[c, e, b]),
        witness_meaning="a recoverer has written an entry back",
    )


def core_invariant(s: Core) -> tuple[Invariant, ...]:
    """Return the invariants of the core, in the order in which docs/why-safe.md explains them."""
    copies = () if _copies_vanish(s) else _copies(s)
    return (*_bookies(s), *_acks(s), *_places(s), *_reading(s), *_closing(s), *copies)


def _bookies(s: Core) -> tuple[Invariant, ...]:
    everyone = s.client, s.entry, s.bookie

    def in_limbo(b: Term) -> Term:
        return s.limbo[b] if _copies_vanish(s) else FALSE

    return (
        Invariant(
            "taken-is-stored",
            "A bookie that took an entry stores what the writer pushed, unless it is in limbo.",
            forall_over(
                everyone,
                lambda c, e, b: implies(s.took[c, e, b] & ~in_limbo(b), s.stored[b, e] == Content.PUSHED),
            ),
        ),
        Invariant(
            "stored-is-pushed",
            "Only the content that the writer pushed is stored, answered or found as an entry.",
            forall_over(
                everyone,
                lambda c, e, b: (
                    (s.stored[b, e] != Content.OTHER)
                    & (s.answer[c, e, b] != Content.OTHER)
                    & (s.found[c, e] != Content.OTHER)
                ),
            ),
        ),
        Invariant(
            "found-before-written-back",
            "A recoverer writes back only what it found.",
            forall_over(
                (s.client, s.entry),
                lambda c, e: implies(~s.is_writer(c) & s.pushed[c, e], s.found[c, e] == Content.PUSHED),
            ),
        ),
    )


def _acks(s: Core) -> tuple[Invariant, ...]:
    everyone = s.client, s.entry, s.bookie
    return (
        Invariant(
            "acked-is-taken",
            "A bookie whose ack counts took the entry.",
            forall_over(everyone, lambda c, e, b: implies(s.acked[c, e, b], s.took[c, e, b])),
        ),
        Invariant(
            "acked-is-placed",
            "A bookie whose ack counts is in the entry's write set.",
            forall_over(
                everyone, lambda c, e, b: implies(s.acked[c, e, b], s.in_write_set[b, s.placed[c, e]])
            ),
        ),
        Invariant(
            "acknowledged-by-quorum",
            "Every entry that the writer acknowledged was taken by an ack quorum of its write set.",
            forall(
                s.entry,
                lambda e: implies(
                    _confirmed(s, s.writer, e),
                    exists(
                        s.ack_quorum,
                        lambda q: (
                            s.within(q, s.placed[s.writer, e], True)
                            & forall(
                                s.bookie, lambda b: implies(s.in_ack_quorum[b, q], s.took[s.writer, e, b])
                            )
                        ),
                    ),
                ),
            ),
        ),
    )


def _places(s: Core) -> tuple[Invariant, ...]:
    return (
        Invariant(
            "metadata-is-writers",
            "Until the ledger is closed, the metadata places each entry where the writer placed it.",
            implies(~_closed(s), forall(s.entry, lambda e: s.home[e] == s.placed[s.writer, e])),
        ),
        Invariant(
            "begun-is-in-recovery",
            "Once a recoverer has begun, the ledger is no longer open.",
            implies(exists(s.client, lambda c: s.began[c]), s.status != CoreStatus.OPEN),
        ),
        Invariant(
            "asked-where-writer-wrote",
            "A recoverer asks the bookies to which the writer wrote.",
            forall_over(
                (s.client, s.entry), lambda c, e: implies(s.began[c], s.asked[c, e] == s.placed[s.writer, e])
            ),
        ),
        Invariant(
            "moved-after-start",
            "A recoverer that has not begun to read has moved no entry.",
            forall_over(
                (s.client, s.entry),
                lambda c, e: implies(s.began[c] & ~s.reading[c], s.placed[c, e] == s.placed[s.writer, e]),
            ),
        ),
    )


def _reading(s: Core) -> tuple[Invariant, ...]:
    everyone = s.client, s.entry, s.bookie
    return (
        Invariant(
            "idle-did-nothing",
            "A recoverer that has not begun reads nothing and writes nothing back, "
            "and the writer never begins to recover.",
            forall_over(
                everyone,
                lambda c, e, b: (
                    implies(s.reading[c] | s.answered[c, e, b], s.began[c])
                    & implies(s.pushed[c, e] | s.took[c, e, b], s.began[c] | s.is_writer(c))
                    & implies(s.began[c], ~s.is_writer(c))
                ),
            ),
        ),
        Invariant(
            "answers-from-asked",
            "Only a bookie that the recoverer asks for an entry answers that recovery read.",
            forall_over(
                everyone, lambda c, e, b: implies(s.answered[c, e, b], s.in_write_set[b, s.asked[c, e]])
            ),
        ),
        Invariant(
            "no-means-fenced",
            "A bookie that answered NoSuchEntry is fenced.",
            forall_over(everyone, lambda c, e, b: implies(s.said_no(c, e, b), s.fenced[b])),
        ),
        Invariant(
            "no-means-never-taken",
            "A bookie that answered NoSuchEntry has not taken the entry from the writer.",
            forall_over(everyone, lambda c, e, b: implies(s.said_no(c, e, b), ~s.took[s.writer, e, b])),
        ),
    )


def _closing(s: Core) -> tuple[Invariant, ...]:
    def ended(c: Term, e: Term, q: Term) -> Term:
        """Return whether that absent quorum ended the recovery at the entry after the last."""
        return (
            s.began[c]
            & s.next_above(s.last, e)
            & forall(s.bookie, lambda b: implies(s.in_absent_quorum[b, q], s.said_no(c, e, b)))
        )

    return (
        Invariant(
            "closed-for-a-reason",
            "The writer closed the ledger at its LAC, or a recoverer closed it just "
            "below an entry that an absent quorum does not have.",
            implies(
                _closed(s),
                (s.reported[s.writer] & (s.last == s.lac[s.writer]))
                | exists_over((s.client, s.entry, s.absent_quorum), ended),
            ),
        ),
        Invariant(
            "reported-is-closed",
            "A client that reports a close reports the last entry of the ledger.",
            forall(s.client, lambda c: implies(s.reported[c], _closed(s) & (s.reported_last[c] == s.last))),
        ),
    )


def _copies(s: Core) -> tuple[Invariant, ...]:
    """Return the invariants about copies. They hold as long as no bookie loses an entry."""
    return (
        Invariant(
            "recovered-or-untouched",
            "An entry that a recoverer counts as confirmed is where the writer placed it, or is stored on an "
            "ack quorum of the write set where the recoverer placed it.",
            forall_over(
                (s.client, s.entry),
                lambda c, e: implies(
                    s.began[c] & _confirmed(s, c, e),
                    (s.placed[c, e] == s.placed[s.writer, e]) | _stored_on_ack_quorum(s, e, s.placed[c, e]),
                ),
            ),
        ),
        Invariant(
            "closed-with-its-entries",
            "Every entry of a closed ledger is where the writer placed it, or is "
            "stored on an ack quorum of its write set.",
            implies(
                _closed(s),
                forall(
                    s.entry,
                    lambda e: implies(
                        s.is_entry(e) & ~s.before[s.last, e],
                        (s.home[e] == s.placed[s.writer, e]) | _stored_on_ack_quorum(s, e, s.home[e]),
                    ),
                ),
            ),
        ),
    )


def _copies_vanish(s: Core) -> bool:
    return s.parameters.forgets in ("entries", "entries-then-limbo")


def _closed(s: Core) -> Term:
    return s.status == CoreStatus.CLOSED


def _recovered(s: Core) -> Term:
    """Return whether a recoverer has closed the ledger, or found it closed."""
    return _closed(s) & exists(s.client, lambda c: s.began[c] & s.reported[c])


def _confirmed(s: Core, client: TermLike, entry: Term) -> Term:
    """Return whether the entry is at or below the client's LAC."""
    return s.is_entry(entry) & ~s.before[s.lac[client], entry]


def _stored_on_ack_quorum(s: Core, entry: Term, write_set: Term) -> Term:
    """Return whether an ack quorum of that write set stores the entry as the writer pushed it."""
    return exists(
        s.ack_quorum,
        lambda q: (
            s.within(q, write_set, True)
            & forall(s.bookie, lambda b: implies(s.in_ack_quorum[b, q], s.stored[b, entry] == Content.PUSHED))
        ),
    )
