"""Crashes that lose data, and the precautions of a bookie before it serves again (BP-46)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.sorts import BOOL, integers
from fencepost.encoding.language.state import family, variable
from fencepost.encoding.language.terms import FALSE, TRUE, Parameter, Term, TermLike, Update
from fencepost.protocols.bookkeeper.parameters import LOSE_BARE_FENCES, BookKeeperParameters
from fencepost.protocols.bookkeeper.today import Today
from fencepost.protocols.bookkeeper.values import NOTHING, Status


class Crashes(Today):
    """The number of crashes, and the answers of a bookie in limbo."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variables of crashes."""
        super().__init__(parameters)
        self.crashed = variable(integers(0, parameters.crashes))
        self.bare_fence = family(BOOL, self.bookie)
        """Whether the bookie was fenced before it stored an entry. A replay skips such a fence."""

    def says_unknown(self, bookie: TermLike) -> Term:
        """Return whether a bookie in limbo refuses adds and does not know its LAC: under `as-coded`.

        Under `as-tla` it stores adds, and its LAC is 0.
        """
        return self.limbo[bookie] & (self.parameters.limbo == "as-coded")

    def fence_answer_says(
        self, client: TermLike, bookie: TermLike, lac: TermLike, unknown: TermLike
    ) -> dict[str, TermLike]:
        """Return the LAC, and under `limbo=as-coded` whether it is known."""
        says = super().fence_answer_says(client, bookie, lac, unknown)
        is_coded = self.parameters.crashes > 0 and self.parameters.limbo == "as-coded"
        return {"answer": if_(unknown, "unknown", "lac"), **says} if is_coded else says

    def on_fence(self, client: TermLike, bookie: TermLike) -> list[Update]:
        """Record whether a crash may lose the fence because no entry was stored before."""
        empty = ~exists(self.entry, lambda e: self.has(bookie, e))
        bare = ~self.fenced[bookie] & empty & (self.parameters.lose in LOSE_BARE_FENCES)
        return [*super().on_fence(client, bookie), self.bare_fence[bookie].set(True, when=bare)]


FENCES_KEPT: Mapping[str, Callable[[Crashes, Parameter], Term]] = {
    "both": lambda s, bookie: FALSE,
    "entries": lambda s, bookie: s.fenced[bookie],
    "fences": lambda s, bookie: FALSE,
    **dict.fromkeys(LOSE_BARE_FENCES, lambda s, bookie: s.fenced[bookie] & ~s.bare_fence[bookie]),
    "nothing": lambda s, bookie: s.fenced[bookie],
}
"""Whether the fence is still there after a crash, by `lose`."""

BOOT_SCOPES: Mapping[str, Callable[[Crashes, Parameter], Term]] = {
    "all": lambda s, bookie: TRUE,
    "non-closed": lambda s, bookie: s.status != Status.CLOSED,
    "non-closed-in-last-ensemble": lambda s, bookie: (s.status != Status.CLOSED) & s.in_last_ensemble(bookie),
}
"""Whether a crashed bookie fences the ledger and puts it in limbo, by `boot_fence_scope`."""


def crash_and_restart(s: Crashes, bookie: Parameter) -> Action:
    """Crash and restart a bookie, which loses data and the requests on their way to it.

    It comes back fenced and in limbo if BP-46 is followed.
    """
    p = s.parameters
    scope = BOOT_SCOPES[p.boot_fence_scope](s, bookie)
    fences = scope & (p.fence_on_unclean_shutdown == "yes")
    limbo = scope & (p.limbo_on_unclean_shutdown == "yes")
    return Action(
        when=(s.status != Status.NONE) & (s.crashed < p.crashes),
        then=[
            s.crashed.set(s.crashed + 1),
            *forgets_entries(s, bookie, when=p.crashes_lose_entries),
            s.fenced[bookie].set(if_(fences, True, FENCES_KEPT[p.lose](s, bookie))),
            s.limbo[bookie].set(True, when=limbo),
            *drops_requests(s, bookie),
        ],
        actor=bookie,
        note="crashes, and comes back without what it had not made durable",
        fault="crashes",
    )


def forgets_entries(s: Crashes, bookie: Parameter, when: TermLike = True) -> list[Update]:
    """Return the updates that remove all entries from the bookie."""
    return [
        update
        for e in s.entry
        for update in (s.stored[bookie, e].set(NOTHING, when=when), s.stored_lac[bookie, e].set(0, when=when))
    ]


def drops_requests(s: Crashes, bookie: Parameter) -> list[Update]:
    """Return the updates that drop requests on their way to the bookie.

    Answers that it has sent still arrive.
    """
    adds = [
        s.add_dropped[c, f, e, bookie].set(True, when=s.add_in_flight(c, f, e, bookie))
        for c in s.client
        for f in s.fragment
        for e in s.entry
    ]
    fences = [s.fence_dropped[r, bookie].set(True, when=s.fence_in_flight(r, bookie)) for r in s.recoverer]
    reads = [
        s.read_dropped[r, e, bookie].set(True, when=s.read_in_flight(r, e, bookie))
        for r in s.recoverer
        for e in s.read_entry
    ]
    return [*adds, *fences, *reads]
