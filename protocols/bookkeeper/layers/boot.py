"""The boot sequence of a bookie after a crash (BP-46, "on boot"). Each step is open to the next crash.

A bookie that is down has lost all data that was not durable, and possibly disks. It then checks for an
unclean shutdown and checks its cookies. Phase one notes that a check is due, puts ledgers in limbo, fences
them and flushes. After that the bookie stamps its cookies and serves. Phase two copies missing entries and
clears limbo.
"""

from __future__ import annotations

from enum import Enum

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.quantifiers import exists, forall
from fencepost.encoding.language.sorts import BOOL, Sort, integers, members
from fencepost.encoding.language.state import family, variable
from fencepost.encoding.language.terms import Parameter, Term, Update
from fencepost.protocols.bookkeeper.layers.crashes import (
    BOOT_SCOPES,
    FENCES_KEPT,
    Crashes,
    drops_requests,
    forgets_entries,
)
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.values import NOTHING, Stage, Status


class PhaseOne(Enum):
    """The progress of phase one of the data integrity check."""

    OVER = "over"
    DUE = "due"
    NOTED = "noted"
    HALFWAY = "halfway"
    MARKED = "marked"


class Boot(Crashes):
    """The stage of each bookie, the data on its disks that survives a crash, and its cookies."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variables of the boot sequence."""
        super().__init__(parameters)
        p, bookie = parameters, self.bookie
        self.disk = Sort("disk", ("journal", "ledger", "index"))
        self.phase_one = family(members(PhaseOne), bookie)
        self.in_scope = family(BOOL, bookie)
        self.dirty = family(BOOL, bookie, initial=p.dirty_marker == "before-serving")
        self.check_due = family(BOOL, bookie)
        self.checked = family(BOOL, bookie)
        self.durable_fence = family(BOOL, bookie)
        self.durable_limbo = family(BOOL, bookie)
        self.store_cookie = family(BOOL, bookie, initial=True)
        self.disk_cookie = family(BOOL, bookie, self.disk, initial=True)
        self.disks_lost = variable(integers(0, p.disks))
        self.reimaged = variable(integers(0, p.reimages))


# Going down.


def crash(s: Boot, bookie: Parameter) -> Action:
    """Crash a bookie that is serving or booting: it loses all data that was not durable."""
    p = s.parameters
    up = (s.stage[bookie] != Stage.DOWN) & (s.stage[bookie] != Stage.REFUSED)
    return Action(
        when=(s.status != Status.NONE) & (s.crashed < p.crashes) & up,
        then=[
            s.crashed.set(s.crashed + 1),
            s.stage[bookie].set(Stage.DOWN),
            s.phase_one[bookie].set(PhaseOne.OVER),
            s.checked[bookie].set(False),
            *forgets_entries(s, bookie, when=p.crashes_lose_entries),
            s.fenced[bookie].set(
                s.durable_fence[bookie] | FENCES_KEPT[p.lose](s, bookie), when=p.crashes_lose_fences
            ),
            s.limbo[bookie].set(s.durable_limbo[bookie]),
        ],
        actor=bookie,
        note="crashes, and loses what it had not made durable",
        fault="crashes",
    )


def lose_disk(s: Boot, bookie: Parameter, disk: Parameter) -> Action:
    """Replace a disk of a bookie that is down by an empty one: the cookie and the data are lost.

    The model takes the worst case. All entries were on that disk alone. So was the fence, unless only the
    index had it (ledger disk) or phase one had made it durable (journal disk).
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


def reimage(s: Boot, bookie: Parameter) -> Action:
    """Set up a bookie that is down as a new one under its old address (issues 544, 4812).

    Its disks, notes and cookies are gone.
    """
    return Action(
        when=(s.stage[bookie] == Stage.DOWN) & (s.reimaged < s.parameters.reimages),
        then=[
            s.reimaged.set(s.reimaged + 1),
            s.store_cookie[bookie].set(False),
            *(s.disk_cookie[bookie, d].set(False) for d in s.disk),
            *forgets_entries(s, bookie),
            *(
                flag[bookie].set(False)
                for flag in (s.fenced, s.durable_fence, s.limbo, s.durable_limbo, s.dirty, s.check_due)
            ),
        ],
        actor=bookie,
        note="is set up anew, wiped, with its cookie deleted",
        fault="reimages",
    )


# Coming up.


def look_for_marker(s: Boot, bookie: Parameter) -> Action:
    """Boot a bookie, and make phase one due if its dirty marker shows an unclean shutdown.

    With `new_bookie=checks-first`, phase one is due without any cookie too.
    """
    p = s.parameters
    due = s.dirty[bookie] & (p.unclean_check == "yes")
    if p.new_bookie == "checks-first":
        due |= _has_no_cookie(s, bookie)
    return Action(
        when=s.stage[bookie] == Stage.DOWN,
        then=[s.stage[bookie].set(Stage.COOKIES), s.phase_one[bookie].set(PhaseOne.DUE, when=due)],
        actor=bookie,
        note="boots, and looks whether it was shut down cleanly",
    )


def accept_cookies(s: Boot, bookie: Parameter) -> Action:
    """Accept the cookies if all exist, or if none exists, which makes a new bookie."""
    return Action(
        when=_at_cookies(s, bookie) & (_cookies_match(s, bookie) | _has_no_cookie(s, bookie)),
        then=[
            s.stage[bookie].set(Stage.READY),
            s.store_cookie[bookie].set(True),
            *(s.disk_cookie[bookie, d].set(True) for d in s.disk),
        ],
        actor=bookie,
        note="finds no fault with its cookies",
    )


def _has_no_cookie(s: Boot, bookie: Parameter) -> Term:
    return ~s.store_cookie[bookie] & forall(s.disk, lambda d: ~s.disk_cookie[bookie, d])


def _are_stray(s: Boot, bookie: Parameter) -> Term:
    """Return whether some disk has a cookie and the metadata store has none."""
    return ~s.store_cookie[bookie] & exists(s.disk, lambda d: s.disk_cookie[bookie, d])


def _do_not_match(s: Boot, bookie: Parameter) -> Term:
    """Return whether some cookie is missing, on a disk or in the metadata store, but not all are."""
    return _are_stray(s, bookie) | s.store_cookie[bookie] & ~_cookies_match(s, bookie)


REFUSED_COOKIES = {"fix": _are_stray, "refuse": _do_not_match}
"""The cookies with which a bookie does not boot, by `cookie_mismatch`."""


def refuse_cookies(s: Boot, bookie: Parameter) -> Action:
    """Refuse to boot: the metadata store has no cookie, or a disk has none and repair is not allowed."""
    return Action(
        when=_at_cookies(s, bookie) & REFUSED_COOKIES[s.parameters.cookie_mismatch](s, bookie),
        then=[s.stage[bookie].set(Stage.REFUSED)],
        actor=bookie,
        note="refuses to boot with these cookies",
    )


def fix_cookies(s: Boot, bookie: Parameter) -> Action:
    """Make phase one due because a disk without a cookie has lost its data.

    New cookies are stamped before or after phase one, by `cookie_stamp`.
    """
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


def stamp_store(s: Boot, bookie: Parameter) -> Action:
    """Put the new cookie in the metadata store, after phase one."""
    return Action(
        when=(s.stage[bookie] == Stage.FIXING) & (s.phase_one[bookie] == PhaseOne.OVER),
        then=[s.store_cookie[bookie].set(True), s.stage[bookie].set(Stage.STAMPING)],
        actor=bookie,
        note="stores its new cookie",
    )


def stamp_disks(s: Boot, bookie: Parameter) -> Action:
    """Put the new cookie on every disk."""
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


def serve(s: Boot, bookie: Parameter) -> Action:
    """Take connections again. Requests sent before are lost."""
    return Action(
        when=s.stage[bookie] == Stage.READY,
        then=[s.stage[bookie].set(Stage.SERVING), *drops_requests(s, bookie)],
        actor=bookie,
        note="serves again",
    )


def mark_dirty(s: Boot, bookie: Parameter) -> Action:
    """Set the dirty marker while the bookie serves, under `dirty_marker=after-serving`."""
    return Action(
        when=s.serves(bookie) & ~s.dirty[bookie],
        then=[s.dirty[bookie].set(True)],
        actor=bookie,
        note="sets its dirty marker",
    )


def _at_cookies(s: Boot, bookie: Parameter) -> Term:
    """Return whether the bookie checks its cookies and phase one does not hold it up."""
    over = s.phase_one[bookie] == PhaseOne.OVER
    return (s.stage[bookie] == Stage.COOKIES) & (over | (s.parameters.phase_one_awaited == "no"))


def _cookies_match(s: Boot, bookie: Parameter) -> Term:
    return s.store_cookie[bookie] & forall(s.disk, lambda d: s.disk_cookie[bookie, d])


# Phase one: before the bookie serves, if it is waited for.


def note_check(s: Boot, bookie: Parameter) -> Action:
    """Begin phase one: note on disk that a check is due, and read the metadata of the bookie's ledgers."""
    return Action(
        when=s.phase_one[bookie] == PhaseOne.DUE,
        then=[
            s.phase_one[bookie].set(PhaseOne.NOTED),
            s.check_due[bookie].set(True, when=s.parameters.check_note == "yes"),
            s.in_scope[bookie].set(BOOT_SCOPES[s.parameters.boot_fence_scope](s, bookie)),
        ],
        actor=bookie,
        note="begins phase one: notes that a check is due, and reads the metadata",
    )


def put_in_limbo(s: Boot, bookie: Parameter) -> Action:
    """Put the ledger in limbo: the bookie no longer says that an entry is absent."""
    p = s.parameters
    limbo = s.limbo[bookie].set(True, when=s.in_scope[bookie] & (p.limbo_on_unclean_shutdown == "yes"))
    note = "puts the ledger in limbo, if that is within its scope"
    return _half(s, bookie, limbo, note, first=p.phase_one_order == "limbo-first")


def fence_at_boot(s: Boot, bookie: Parameter) -> Action:
    """Fence the ledger at boot, which restores a fence that was lost."""
    p = s.parameters
    fence = s.fenced[bookie].set(True, when=s.in_scope[bookie] & (p.fence_on_unclean_shutdown == "yes"))
    note = "fences the ledger, if that is within its scope"
    return _half(s, bookie, fence, note, first=p.phase_one_order == "fence-first")


def _half(s: Boot, bookie: Parameter, mark: Update, note: str, first: bool) -> Action:
    """Return the first or second half of phase one, which puts one mark on the ledger."""
    return Action(
        when=s.phase_one[bookie] == (PhaseOne.NOTED if first else PhaseOne.HALFWAY),
        then=[s.phase_one[bookie].set(PhaseOne.HALFWAY if first else PhaseOne.MARKED), mark],
        actor=bookie,
        note=note,
    )


PHASE_ONE_ORDER = {"limbo-first": (put_in_limbo, fence_at_boot), "fence-first": (fence_at_boot, put_in_limbo)}
"""The two halves of phase one, by `phase_one_order`."""


def flush(s: Boot, bookie: Parameter) -> Action:
    """End phase one: limbo and fence become durable."""
    flushes = s.parameters.phase_one_flush == "yes"
    return Action(
        when=s.phase_one[bookie] == PhaseOne.MARKED,
        then=[
            s.phase_one[bookie].set(PhaseOne.OVER),
            s.durable_limbo[bookie].set(s.limbo[bookie], when=flushes),
            s.durable_fence[bookie].set(s.fenced[bookie], when=flushes),
        ],
        actor=bookie,
        note="ends phase one",
    )


# Phase two: while the bookie serves.


def copy_entry(s: Boot, bookie: Parameter, entry: Parameter, peer: Parameter) -> Action:
    """Copy an entry that belongs on the bookie from a peer that has it (phase two).

    An open ledger is recovered first.
    """
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


def leave_limbo(s: Boot, bookie: Parameter) -> Action:
    """Take the ledger out of limbo (phase two)."""
    ready = _is_whole(s, bookie) | (s.parameters.clear_limbo != "after-copying")
    return Action(
        when=_phase_two(s, bookie) & s.limbo[bookie] & ready,
        then=[s.limbo[bookie].set(False), s.durable_limbo[bookie].set(False)],
        actor=bookie,
        note="takes the ledger out of limbo",
    )


def end_check(s: Boot, bookie: Parameter) -> Action:
    """End phase two: all entries that belong on the bookie are there, and no ledger is in limbo."""
    return Action(
        when=_phase_two(s, bookie) & ~s.limbo[bookie] & _is_whole(s, bookie),
        then=[s.check_due[bookie].set(False), s.checked[bookie].set(True)],
        actor=bookie,
        note="ends its check",
    )


def _phase_two(s: Boot, bookie: Parameter) -> Term:
    """Return whether phase two is under way and a client has recovered the ledger."""
    due = s.serves(bookie) & s.check_due[bookie] & (s.phase_one[bookie] == PhaseOne.OVER)
    recovered = (s.status == Status.CLOSED) | (s.parameters.clear_limbo == "unrecovered")
    return due & recovered


def _belongs(s: Boot, bookie: Parameter, entry: Term) -> Term:
    """Return whether the entry belongs on the bookie, by the metadata store.

    While the ledger is not closed, some bookie must have the entry.
    """
    somewhere = exists(s.bookie, lambda b: s.stored[b, entry] != NOTHING)
    within = if_(s.status == Status.CLOSED, entry <= s.last_entry, somewhere)
    return s.in_metadata_write_set(entry, bookie) & within


def _is_whole(s: Boot, bookie: Parameter) -> Term:
    """Return whether the bookie has every entry that belongs on it."""
    return forall(s.entry, lambda e: implies(_belongs(s, bookie, e), s.stored[bookie, e] != NOTHING))
