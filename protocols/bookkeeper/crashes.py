"""Crashes that lose data, and what a bookie does about them before it serves again (BP-46)."""

from __future__ import annotations

from fencepost.encoding.language.system import Action
from fencepost.encoding.language.terms import FALSE, TRUE, Parameter, Term, Update, exists, if_
from fencepost.protocols.bookkeeper.state import NOTHING, Ledger, Status


def crash_and_restart(s: Ledger, bookie: Parameter) -> Action:
    """A bookie crashes, loses data and the requests under way to it, and is back: fenced and in limbo if BP-46 is followed."""
    p = s.parameters
    scope = in_boot_scope(s, bookie)
    fences = scope if p.fence_on_unclean_shutdown == "yes" else FALSE
    limbo = scope if p.limbo_on_unclean_shutdown == "yes" else FALSE
    return Action(
        when=(s.status != Status.NONE) & (s.crashed < p.crashes),
        then=[
            s.crashed.set(s.crashed + 1),
            *(forgets_entries(s, bookie) if p.crashes_lose_entries else []),
            s.fenced[bookie].set(if_(fences, True, keeps_fence(s, bookie))),
            s.limbo[bookie].set(True, when=limbo),
            *drops_requests(s, bookie),
        ],
        actor=bookie,
        note="crashes, and comes back without what it had not made durable",
        fault="crashes",
    )


def in_boot_scope(s: Ledger, bookie: Parameter) -> Term:
    """By the metadata store, the ledger is one that a crashed bookie fences and puts in limbo."""
    scope = s.parameters.boot_fence_scope
    if scope == "all":
        return TRUE
    open_or_in_recovery = s.status != Status.CLOSED
    if scope == "non-closed":
        return open_or_in_recovery
    in_last = exists(
        s.fragment,
        lambda g: (g == s.last_fragment) & exists(s.position, lambda i: s.ensemble[g, i] == bookie),
    )
    return open_or_in_recovery & in_last


def forgets_entries(s: Ledger, bookie: Parameter) -> list[Update]:
    """Nothing that the bookie stored is there any more."""
    return [
        update
        for e in s.entry
        for update in (s.stored[bookie, e].set(NOTHING), s.stored_lac[bookie, e].set(0))
    ]


def keeps_fence(s: Ledger, bookie: Parameter) -> Term:
    """Whether the fence is there after a crash."""
    if not s.parameters.crashes_lose_fences:
        return s.fenced[bookie]
    if s.parameters.lose == "bare-fences":
        return s.fenced[bookie] & ~s.bare_fence[bookie]
    return FALSE


def drops_requests(s: Ledger, bookie: Parameter) -> list[Update]:
    """What was on its way to the bookie dies with the connection; answers already sent arrive."""
    adds = [
        s.add_dropped[c, g, e, bookie].set(True, when=s.add_in_flight(c, g, e, bookie))
        for c in s.client
        for g in s.fragment
        for e in s.entry
    ]
    fences = [s.fence_dropped[r, bookie].set(True, when=s.fence_in_flight(r, bookie)) for r in s.recoverer]
    reads = [
        s.read_dropped[r, e, bookie].set(True, when=s.read_in_flight(r, e, bookie))
        for r in s.recoverer
        for e in s.read_entry
    ]
    return [*adds, *fences, *reads]
