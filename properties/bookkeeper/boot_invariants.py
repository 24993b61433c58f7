"""Invariants of the boot sequence (BP-46): why a bookie that boots after a crash does no harm.

The invariants of the ledger speak of bookies that are fenced or in limbo. A bookie in the boot sequence
counts as fenced, or as in limbo, while phase one has still to make it so. It answers nobody before that.
"""

from __future__ import annotations

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import forall
from fencepost.encoding.language.system import Invariant, invariant
from fencepost.encoding.language.terms import FALSE, TRUE, Term, TermLike, all_of, any_of
from fencepost.protocols.bookkeeper.layers.boot import PhaseOne
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import Stage, Status


def boot_invariants(s: Ledger) -> tuple[Invariant, ...]:
    """Return the invariants about bookies that go through the whole boot sequence."""
    return phase_one_comes_first(s), cookies_are_stored(s), checked_and_serving(s)


def is_fenced(s: Ledger, bookie: TermLike) -> Term:
    """Return whether the ledger is fenced at the bookie, or will be before the bookie answers anybody."""
    return any_of(s.fenced[bookie], _is_before_half(s, bookie, "limbo-first"))


def in_limbo(s: Ledger, bookie: TermLike) -> Term:
    """Return whether the ledger is in limbo at the bookie, or will be before the bookie answers anybody."""
    return any_of(s.limbo[bookie], _is_before_half(s, bookie, "fence-first"))


def has_crashed(s: Ledger, bookie: TermLike) -> Term:
    """Return whether the bookie still shows a crash: it is in limbo or in the boot sequence."""
    boots = s.stage[bookie] != Stage.SERVING if s.parameters.boots_in_steps else FALSE
    return in_limbo(s, bookie) | boots


def need_not_store(s: Ledger, bookie: TermLike, entry: TermLike) -> Term:
    """Return whether the ledger is closed and does not place the entry on the bookie.

    Phase two copies only the entries that the closed ledger places on the bookie.
    """
    if not s.parameters.boots_in_steps:
        return FALSE
    belongs = (entry <= s.last_entry) & s.in_metadata_write_set(entry, bookie)
    return (s.status == Status.CLOSED) & ~belongs


def may_leave_limbo(s: Ledger) -> Term:
    """Return whether bookies may leave limbo: the ledger is closed, so recovery reads decide nothing."""
    return (s.status == Status.CLOSED) if s.parameters.boots_in_steps else FALSE


def _is_before_half(s: Ledger, bookie: TermLike, second_in: str) -> Term:
    """Return whether the bookie is down, or phase one has not reached one of its two halves.

    The halves are limbo and fence. The one asked about is the second half in the order `second_in`.
    """
    if not s.parameters.boots_in_steps:
        return FALSE
    waits = [PhaseOne.DUE, PhaseOne.NOTED]
    waits += [PhaseOne.HALFWAY] if s.parameters.phase_one_order == second_in else []
    return any_of(s.stage[bookie] == Stage.DOWN, *(s.phase_one[bookie] == step for step in waits))


@invariant("a bookie stamps cookies and serves only after phase one, and phase one covers the ledger")
def phase_one_comes_first(s: Ledger) -> Term:
    """Return the invariant about the order of boot steps: nothing else runs before phase one."""
    under_way = (PhaseOne.NOTED, PhaseOne.HALFWAY, PhaseOne.MARKED)

    def in_order(b: Term) -> Term:
        return all_of(
            any_of(s.phase_one[b] == PhaseOne.OVER, s.stage[b] == Stage.COOKIES, s.stage[b] == Stage.FIXING),
            *(implies(s.phase_one[b] == step, s.in_scope[b]) for step in under_way),
        )

    return forall(s.bookie, in_order)


@invariant("the metadata store has the cookie of each bookie, so no bookie refuses to boot for lack of it")
def cookies_are_stored(s: Ledger) -> Term:
    """Return the invariant by which every bookie can boot."""

    def boots(b: Term) -> Term:
        return s.stage[b] != Stage.REFUSED if s.parameters.cookie_mismatch == "fix" else TRUE

    return forall(s.bookie, lambda b: s.store_cookie[b] & boots(b))


@invariant("a bookie whose check is over serves, and the ledger is closed")
def checked_and_serving(s: Ledger) -> Term:
    """Return the invariant about the end of phase two."""
    return forall(
        s.bookie, lambda b: implies(s.checked[b], (s.stage[b] == Stage.SERVING) & (s.status == Status.CLOSED))
    )
