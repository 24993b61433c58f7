"""The boot sequence of a bookie after a crash, step by step (BP-46, "on boot"), each step open to the next crash.

Down: what was not durable is gone, and disks may be. Then: unclean shutdown? cookies? phase one (note that a check is
due, limbo, fence, flush) · stamp the cookies · serve · phase two (copy what is missing, clear limbo).
"""

from __future__ import annotations

from fencepost.encoding.language.system import Action
from fencepost.encoding.language.terms import (
    FALSE,
    TRUE,
    Family,
    Parameter,
    Term,
    Update,
    exists,
    forall,
    if_,
    implies,
)
from fencepost.protocols.bookkeeper.crashes import drops_requests, forgets_entries, in_boot_scope
from fencepost.protocols.bookkeeper.state import NOTHING, Ledger, PhaseOne, Stage, Status

# Going down.


def crash(s: Ledger, bookie: Parameter) -> Action:
    """A bookie goes down uncleanly, serving or booting: what was not durable is lost."""
    p = s.parameters
    up = (s.stage[bookie] != Stage.DOWN) & (s.stage[bookie] != Stage.REFUSED)
    return Action(
        when=(s.status != Status.NONE) & (s.crashed < p.crashes) & up,
        then=[
            s.crashed.set(s.crashed + 1),
            s.stage[bookie].set(Stage.DOWN),
            s.phase_one[bookie].set(PhaseOne.OVER),
            s.checked[bookie].set(False),
            *(forgets_entries(s, bookie) if p.crashes_lose_entries else []),
            *([s.fenced[bookie].set(s.durable_fence[bookie])] if p.crashes_lose_fences else []),
            s.limbo[bookie].set(s.durable_limbo[bookie]),
        ],
        actor=bookie,
        note="crashes, and loses what it had not made durable",
        fault="crashes",
    )


def lose_disk(s: Ledger, bookie: Parameter, disk: Parameter) -> Action:
    """A disk of a bookie that is down is replaced by an empty one: its cookie goes, and what it held.

    The worst of it: entries were on that disk alone, and so was a fence, unless only the index had it (ledger disk) or
    phase one had made it durable (journal disk).
    """
    return Action(
        when=(s.stage[bookie] == Stage.DOWN)
        & s.disk_cookie[bookie, disk]
        & (s.disks_lost < s.parameters.disks),
        then=[
            s.disks_lost.set(s.disks_lost + 1),
            s.disk_cookie[bookie, disk].set(False),
            *forgets_entries(s, bookie),
            s.fenced[bookie].set(s.durable_fence[bookie] & (disk == "journal"), when=disk != "ledger"),
            s.durable_fence[bookie].set(False, when=disk == "index"),
            s.limbo[bookie].set(False, when=disk == "index"),
            s.durable_limbo[bookie].set(False, when=disk == "index"),
        ],
        actor=bookie,
        note="comes back with an empty {disk} disk",
        fault="disks",
    )


def reimage(s: Ledger, bookie: Parameter) -> Action:
    """A bookie that is down is set up anew under its old address: disks, notes and cookies are gone (issues 544, 4812)."""
    return Action(
        when=(s.stage[bookie] == Stage.DOWN) & (s.reimaged < s.parameters.reimages),
        then=[
            s.reimaged.set(s.reimaged + 1),
            s.store_cookie[bookie].set(False),
            *(s.disk_cookie[bookie, d].set(False) for d in s.disk),
            *forgets_entries(s, bookie),
            *(
                fact[bookie].set(False)
                for fact in (s.fenced, s.durable_fence, s.limbo, s.durable_limbo, s.dirty, s.check_due)
            ),
        ],
        actor=bookie,
        note="is set up anew, wiped, with its cookie deleted",
        fault="reimages",
    )


# Coming up.


def look_for_marker(s: Ledger, bookie: Parameter) -> Action:
    """A booting bookie that finds its dirty marker was not shut down cleanly: phase one is due."""
    unclean = s.dirty[bookie] if s.parameters.unclean_check == "yes" else FALSE
    return Action(
        when=s.stage[bookie] == Stage.DOWN,
        then=[
            s.stage[bookie].set(Stage.COOKIES),
            s.phase_one[bookie].set(PhaseOne.DUE, when=unclean),
        ],
        actor=bookie,
        note="boots, and looks whether it was shut down cleanly",
    )


def accept_cookies(s: Ledger, bookie: Parameter) -> Action:
    """All cookies are there, or none at all is, which makes a new bookie: no check because of them."""
    new = ~s.store_cookie[bookie] & forall(s.disk, lambda d: ~s.disk_cookie[bookie, d])
    return Action(
        when=_at_cookies(s, bookie) & (_cookies_match(s, bookie) | new),
        then=[s.stage[bookie].set(Stage.READY), *_stamps_all(s, bookie)],
        actor=bookie,
        note="finds no fault with its cookies",
    )


def refuse_cookies(s: Ledger, bookie: Parameter) -> Action:
    """Cookies on disk and none in the store, or a disk without one that is not to be mended: the bookie does not boot."""
    some = exists(s.disk, lambda d: s.disk_cookie[bookie, d])
    stray = ~s.store_cookie[bookie] & some
    missing = s.store_cookie[bookie] & ~_cookies_match(s, bookie)
    return Action(
        when=_at_cookies(s, bookie)
        & (stray | (missing if s.parameters.cookie_mismatch == "refuse" else FALSE)),
        then=[s.stage[bookie].set(Stage.REFUSED)],
        actor=bookie,
        note="refuses to boot with these cookies",
    )


def fix_cookies(s: Ledger, bookie: Parameter) -> Action:
    """A disk has no cookie: whatever was on it is gone, and phase one is due before new cookies are stamped."""
    p = s.parameters
    first = p.cookie_stamp == "before-phase-one"
    return Action(
        when=_at_cookies(s, bookie) & s.store_cookie[bookie] & ~_cookies_match(s, bookie),
        then=[
            s.phase_one[bookie].set(PhaseOne.DUE),
            s.stage[bookie].set(Stage.STAMPING if first else Stage.FIXING),
        ],
        actor=bookie,
        note="finds a disk without cookie, and has to check its ledgers",
    )


def stamp_store(s: Ledger, bookie: Parameter) -> Action:
    """Phase one is over: the new cookie goes to the metadata store first."""
    return Action(
        when=(s.stage[bookie] == Stage.FIXING) & (s.phase_one[bookie] == PhaseOne.OVER),
        then=[s.store_cookie[bookie].set(True), s.stage[bookie].set(Stage.STAMPING)],
        actor=bookie,
        note="stores its new cookie",
    )


def stamp_disks(s: Ledger, bookie: Parameter) -> Action:
    """The new cookie goes to every disk."""
    first = s.parameters.cookie_stamp == "before-phase-one"
    return Action(
        when=s.stage[bookie] == Stage.STAMPING,
        then=[
            s.stage[bookie].set(Stage.COOKIES if first else Stage.READY),
            *(s.disk_cookie[bookie, d].set(True) for d in s.disk),
        ],
        actor=bookie,
        note="stamps its cookie on every disk",
    )


def serve(s: Ledger, bookie: Parameter) -> Action:
    """The bookie takes connections again; what was sent to it before that is gone."""
    return Action(
        when=s.stage[bookie] == Stage.READY,
        then=[s.stage[bookie].set(Stage.SERVING), *drops_requests(s, bookie)],
        actor=bookie,
        note="serves again",
    )


def mark_dirty(s: Ledger, bookie: Parameter) -> Action:
    """Under `after-serving`, the marker is set at some time while the bookie serves."""
    return Action(
        when=s.serves(bookie) & ~s.dirty[bookie],
        then=[s.dirty[bookie].set(True)],
        actor=bookie,
        note="sets its dirty marker",
    )


def _at_cookies(s: Ledger, bookie: Parameter) -> Term:
    """The bookie is at its cookies, and phase one is over if it is waited for."""
    awaited = s.parameters.phase_one_awaited == "yes"
    over = s.phase_one[bookie] == PhaseOne.OVER
    return (s.stage[bookie] == Stage.COOKIES) & (over if awaited else TRUE)


def _cookies_match(s: Ledger, bookie: Parameter) -> Term:
    return s.store_cookie[bookie] & forall(s.disk, lambda d: s.disk_cookie[bookie, d])


def _stamps_all(s: Ledger, bookie: Parameter) -> list[Update]:
    return [s.store_cookie[bookie].set(True), *(s.disk_cookie[bookie, d].set(True) for d in s.disk)]


# Phase one: before the bookie serves, if it is waited for.


def note_check(s: Ledger, bookie: Parameter) -> Action:
    """Phase one notes on disk that a check is due, and reads the metadata of the bookie's ledgers."""
    notes = s.parameters.check_note == "yes"
    return Action(
        when=s.phase_one[bookie] == PhaseOne.DUE,
        then=[
            s.phase_one[bookie].set(PhaseOne.NOTED),
            *([s.check_due[bookie].set(True)] if notes else []),
            s.in_scope[bookie].set(in_boot_scope(s, bookie)),
        ],
        actor=bookie,
        note="begins phase one: notes that a check is due, and reads the metadata",
    )


def put_in_limbo(s: Ledger, bookie: Parameter) -> Action:
    """The ledger is in limbo: the bookie no longer says that an entry is not there."""
    p = s.parameters
    mark = s.limbo if p.limbo_on_unclean_shutdown == "yes" else None
    note = "puts the ledger in limbo, if that is within its scope"
    return _marks(s, bookie, mark, note, first=p.phase_one_order == "limbo-first")


def fence_at_boot(s: Ledger, bookie: Parameter) -> Action:
    """The ledger is fenced: a fence that was lost is there again."""
    p = s.parameters
    mark = s.fenced if p.fence_on_unclean_shutdown == "yes" else None
    note = "fences the ledger, if that is within its scope"
    return _marks(s, bookie, mark, note, first=p.phase_one_order == "fence-first")


def _marks(s: Ledger, bookie: Parameter, mark: Family | None, note: str, first: bool) -> Action:
    """The first or the second half of phase one: the ledger gets a mark, if any, where it is in scope."""
    return Action(
        when=s.phase_one[bookie] == (PhaseOne.NOTED if first else PhaseOne.HALFWAY),
        then=[
            s.phase_one[bookie].set(PhaseOne.HALFWAY if first else PhaseOne.MARKED),
            *([mark[bookie].set(True, when=s.in_scope[bookie])] if mark is not None else []),
        ],
        actor=bookie,
        note=note,
    )


def flush(s: Ledger, bookie: Parameter) -> Action:
    """Phase one ends: limbo and fence are durable."""
    flushes = s.parameters.phase_one_flush == "yes"
    return Action(
        when=s.phase_one[bookie] == PhaseOne.MARKED,
        then=[
            s.phase_one[bookie].set(PhaseOne.OVER),
            *([s.durable_limbo[bookie].set(s.limbo[bookie])] if flushes else []),
            *([s.durable_fence[bookie].set(s.fenced[bookie])] if flushes else []),
        ],
        actor=bookie,
        note="ends phase one",
    )


# Phase two: while the bookie serves.


def copy_entry(s: Ledger, bookie: Parameter, entry: Parameter, peer: Parameter) -> Action:
    """Phase two copies an entry that belongs on the bookie from a peer that has it; an open ledger is recovered first."""
    return Action(
        when=_phase_two(s, bookie)
        & _belongs(s, bookie, entry)
        & (s.stored[bookie, entry] == NOTHING)
        & (bookie != peer)
        & s.serves(peer)
        & (s.stored[peer, entry] != NOTHING),
        then=[s.stored[bookie, entry].set(s.stored[peer, entry])],
        actor=bookie,
        note="copies entry {entry} from {peer}",
    )


def leave_limbo(s: Ledger, bookie: Parameter) -> Action:
    """Phase two takes the ledger out of limbo."""
    ready = _is_whole(s, bookie) if s.parameters.clear_limbo == "after-copying" else TRUE
    return Action(
        when=_phase_two(s, bookie) & s.limbo[bookie] & ready,
        then=[s.limbo[bookie].set(False), s.durable_limbo[bookie].set(False)],
        actor=bookie,
        note="takes the ledger out of limbo",
    )


def end_check(s: Ledger, bookie: Parameter) -> Action:
    """Phase two is over: everything that belongs on the bookie is there, and no ledger is in limbo."""
    return Action(
        when=_phase_two(s, bookie) & ~s.limbo[bookie] & _is_whole(s, bookie),
        then=[s.check_due[bookie].set(False), s.checked[bookie].set(True)],
        actor=bookie,
        note="ends its check",
    )


def _phase_two(s: Ledger, bookie: Parameter) -> Term:
    """The check is under way, and the ledger has been recovered, which any client may do."""
    due = s.serves(bookie) & s.check_due[bookie] & (s.phase_one[bookie] == PhaseOne.OVER)
    recovered = TRUE if s.parameters.clear_limbo == "unrecovered" else s.status == Status.CLOSED
    return due & recovered


def _belongs(s: Ledger, bookie: Parameter, entry: Term) -> Term:
    """By the metadata store the entry is one of the bookie's; while the ledger is not closed, only if some bookie has it."""
    somewhere = exists(s.bookie, lambda b: s.stored[b, entry] != NOTHING)
    within = if_(s.status == Status.CLOSED, entry <= s.last_entry, somewhere)
    return s.in_metadata_write_set(entry, bookie) & within


def _is_whole(s: Ledger, bookie: Parameter) -> Term:
    """Every entry that belongs on the bookie is there."""
    return forall(s.entry, lambda e: implies(_belongs(s, bookie, e), s.stored[bookie, e] != NOTHING))
