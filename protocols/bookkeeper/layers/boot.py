"""The boot sequence of a bookie after a crash, step by step (BP-46, "on boot"), each step open to the next crash.

Down: what was not durable is gone, and disks may be. Then: unclean shutdown? cookies? phase one (note that a check is
due, limbo, fence, flush) · stamp the cookies · serve · phase two (copy what is missing, clear limbo).
"""

from __future__ import annotations

from enum import Enum

from fencepost.encoding.language.quantifiers import exists, forall
from fencepost.encoding.language.sorts import BOOL, Sort, integers, members
from fencepost.encoding.language.state import family, variable
from fencepost.encoding.language.system import Action
from fencepost.encoding.language.terms import Parameter, Term, Update, if_, implies
from fencepost.protocols.bookkeeper.bookies import NOTHING, Stage
from fencepost.protocols.bookkeeper.layers.crashes import (
    FENCES_KEPT,
    Crashes,
    drops_requests,
    forgets_entries,
    in_boot_scope,
)
from fencepost.protocols.bookkeeper.metadata import Status
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters


class PhaseOne(Enum):
    """How far phase one of the data integrity check is."""

    OVER = "over"
    DUE = "due"
    NOTED = "noted"
    HALFWAY = "halfway"
    MARKED = "marked"


class Boot(Crashes):
    """How far each bookie is, what is on disk and survives a crash, and the cookies."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
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


def reimage(s: Boot, bookie: Parameter) -> Action:
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


def look_for_marker(s: Boot, bookie: Parameter) -> Action:
    """A booting bookie that finds its dirty marker was not shut down cleanly: phase one is due."""
    unclean = s.dirty[bookie] & (s.parameters.unclean_check == "yes")
    return Action(
        when=s.stage[bookie] == Stage.DOWN,
        then=[
            s.stage[bookie].set(Stage.COOKIES),
            s.phase_one[bookie].set(PhaseOne.DUE, when=unclean),
        ],
        actor=bookie,
        note="boots, and looks whether it was shut down cleanly",
    )


def accept_cookies(s: Boot, bookie: Parameter) -> Action:
    """All cookies are there, or none at all is, which makes a new bookie: no check because of them."""
    new = ~s.store_cookie[bookie] & forall(s.disk, lambda d: ~s.disk_cookie[bookie, d])
    return Action(
        when=_at_cookies(s, bookie) & (_cookies_match(s, bookie) | new),
        then=[s.stage[bookie].set(Stage.READY), *_stamps_all(s, bookie)],
        actor=bookie,
        note="finds no fault with its cookies",
    )


def _are_stray(s: Boot, bookie: Parameter) -> Term:
    """Some disk has a cookie, and the store has none."""
    return ~s.store_cookie[bookie] & exists(s.disk, lambda d: s.disk_cookie[bookie, d])


def _do_not_match(s: Boot, bookie: Parameter) -> Term:
    """The store has no cookie and some disk has one, or the other way round."""
    return _are_stray(s, bookie) | s.store_cookie[bookie] & ~_cookies_match(s, bookie)


REFUSED_COOKIES = {"fix": _are_stray, "refuse": _do_not_match}
"""By `cookie_mismatch`: with which cookies a bookie does not boot."""


def refuse_cookies(s: Boot, bookie: Parameter) -> Action:
    """Cookies on disk and none in the store, or a disk without one that is not to be mended: the bookie does not boot."""
    return Action(
        when=_at_cookies(s, bookie) & REFUSED_COOKIES[s.parameters.cookie_mismatch](s, bookie),
        then=[s.stage[bookie].set(Stage.REFUSED)],
        actor=bookie,
        note="refuses to boot with these cookies",
    )


def fix_cookies(s: Boot, bookie: Parameter) -> Action:
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


def stamp_store(s: Boot, bookie: Parameter) -> Action:
    """Phase one is over: the new cookie goes to the metadata store first."""
    return Action(
        when=(s.stage[bookie] == Stage.FIXING) & (s.phase_one[bookie] == PhaseOne.OVER),
        then=[s.store_cookie[bookie].set(True), s.stage[bookie].set(Stage.STAMPING)],
        actor=bookie,
        note="stores its new cookie",
    )


def stamp_disks(s: Boot, bookie: Parameter) -> Action:
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


def serve(s: Boot, bookie: Parameter) -> Action:
    """The bookie takes connections again; what was sent to it before that is gone."""
    return Action(
        when=s.stage[bookie] == Stage.READY,
        then=[s.stage[bookie].set(Stage.SERVING), *drops_requests(s, bookie)],
        actor=bookie,
        note="serves again",
    )


def mark_dirty(s: Boot, bookie: Parameter) -> Action:
    """Under `after-serving`, the marker is set at some time while the bookie serves."""
    return Action(
        when=s.serves(bookie) & ~s.dirty[bookie],
        then=[s.dirty[bookie].set(True)],
        actor=bookie,
        note="sets its dirty marker",
    )


def _at_cookies(s: Boot, bookie: Parameter) -> Term:
    """The bookie is at its cookies, and phase one is over if it is waited for."""
    over = s.phase_one[bookie] == PhaseOne.OVER
    return (s.stage[bookie] == Stage.COOKIES) & (over | (s.parameters.phase_one_awaited == "no"))


def _cookies_match(s: Boot, bookie: Parameter) -> Term:
    return s.store_cookie[bookie] & forall(s.disk, lambda d: s.disk_cookie[bookie, d])


def _stamps_all(s: Boot, bookie: Parameter) -> list[Update]:
    return [s.store_cookie[bookie].set(True), *(s.disk_cookie[bookie, d].set(True) for d in s.disk)]


# Phase one: before the bookie serves, if it is waited for.


def note_check(s: Boot, bookie: Parameter) -> Action:
    """Phase one notes on disk that a check is due, and reads the metadata of the bookie's ledgers."""
    return Action(
        when=s.phase_one[bookie] == PhaseOne.DUE,
        then=[
            s.phase_one[bookie].set(PhaseOne.NOTED),
            s.check_due[bookie].set(True, when=s.parameters.check_note == "yes"),
            s.in_scope[bookie].set(in_boot_scope(s, bookie)),
        ],
        actor=bookie,
        note="begins phase one: notes that a check is due, and reads the metadata",
    )


def put_in_limbo(s: Boot, bookie: Parameter) -> Action:
    """The ledger is in limbo: the bookie no longer says that an entry is not there."""
    p = s.parameters
    limbo = s.limbo[bookie].set(True, when=s.in_scope[bookie] & (p.limbo_on_unclean_shutdown == "yes"))
    note = "puts the ledger in limbo, if that is within its scope"
    return _half(s, bookie, limbo, note, first=p.phase_one_order == "limbo-first")


def fence_at_boot(s: Boot, bookie: Parameter) -> Action:
    """The ledger is fenced: a fence that was lost is there again."""
    p = s.parameters
    fence = s.fenced[bookie].set(True, when=s.in_scope[bookie] & (p.fence_on_unclean_shutdown == "yes"))
    note = "fences the ledger, if that is within its scope"
    return _half(s, bookie, fence, note, first=p.phase_one_order == "fence-first")


def _half(s: Boot, bookie: Parameter, mark: Update, note: str, first: bool) -> Action:
    """The first or the second half of phase one: the ledger gets a mark."""
    return Action(
        when=s.phase_one[bookie] == (PhaseOne.NOTED if first else PhaseOne.HALFWAY),
        then=[s.phase_one[bookie].set(PhaseOne.HALFWAY if first else PhaseOne.MARKED), mark],
        actor=bookie,
        note=note,
    )


PHASE_ONE_ORDER = {"limbo-first": (put_in_limbo, fence_at_boot), "fence-first": (fence_at_boot, put_in_limbo)}
"""By `phase_one_order`: the halves of phase one."""


def flush(s: Boot, bookie: Parameter) -> Action:
    """Phase one ends: limbo and fence are durable."""
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


def leave_limbo(s: Boot, bookie: Parameter) -> Action:
    """Phase two takes the ledger out of limbo."""
    ready = _is_whole(s, bookie) | (s.parameters.clear_limbo != "after-copying")
    return Action(
        when=_phase_two(s, bookie) & s.limbo[bookie] & ready,
        then=[s.limbo[bookie].set(False), s.durable_limbo[bookie].set(False)],
        actor=bookie,
        note="takes the ledger out of limbo",
    )


def end_check(s: Boot, bookie: Parameter) -> Action:
    """Phase two is over: everything that belongs on the bookie is there, and no ledger is in limbo."""
    return Action(
        when=_phase_two(s, bookie) & ~s.limbo[bookie] & _is_whole(s, bookie),
        then=[s.check_due[bookie].set(False), s.checked[bookie].set(True)],
        actor=bookie,
        note="ends its check",
    )


def _phase_two(s: Boot, bookie: Parameter) -> Term:
    """The check is under way, and the ledger has been recovered, which any client may do."""
    due = s.serves(bookie) & s.check_due[bookie] & (s.phase_one[bookie] == PhaseOne.OVER)
    recovered = (s.status == Status.CLOSED) | (s.parameters.clear_limbo == "unrecovered")
    return due & recovered


def _belongs(s: Boot, bookie: Parameter, entry: Term) -> Term:
    """By the metadata store the entry is one of the bookie's; while the ledger is not closed, only if some bookie has it."""
    somewhere = exists(s.bookie, lambda b: s.stored[b, entry] != NOTHING)
    within = if_(s.status == Status.CLOSED, entry <= s.last_entry, somewhere)
    return s.in_metadata_write_set(entry, bookie) & within


def _is_whole(s: Boot, bookie: Parameter) -> Term:
    """Every entry that belongs on the bookie is there."""
    return forall(s.entry, lambda e: implies(_belongs(s, bookie, e), s.stored[bookie, e] != NOTHING))
