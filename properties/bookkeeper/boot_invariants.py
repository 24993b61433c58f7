"""Why a bookie that comes back from a crash does no harm: facts about the boot sequence, step by step (BP-46).

The facts about the ledger speak of bookies that are fenced, or in limbo. One that is on its way through the boot
sequence counts as either, as long as phase one has that before it: until then it answers nobody.
"""

from __future__ import annotations

from fencepost.encoding.language.quantifiers import forall
from fencepost.encoding.language.system import Invariant
from fencepost.encoding.language.terms import FALSE, TRUE, Term, TermLike, all_of, any_of, implies
from fencepost.protocols.bookkeeper.bookies import Stage
from fencepost.protocols.bookkeeper.layers.boot import PhaseOne
from fencepost.protocols.bookkeeper.metadata import Status
from fencepost.protocols.bookkeeper.state import Ledger


def boot_invariants(s: Ledger) -> tuple[Invariant, ...]:
    """The facts about bookies that go through the whole boot sequence."""
    return phase_one_comes_first(s), cookies_are_stored(s), checked_and_serving(s)


def is_fenced(s: Ledger, bookie: TermLike) -> Term:
    """The ledger is fenced at the bookie, or will be before it answers anybody."""
    return any_of(s.fenced[bookie], _has_before_it(s, bookie, "limbo-first"))


def in_limbo(s: Ledger, bookie: TermLike) -> Term:
    """The bookie came back from a crash and does not know what it has lost, or will say so before it answers anybody."""
    return any_of(s.limbo[bookie], _has_before_it(s, bookie, "fence-first"))


def has_crashed(s: Ledger, bookie: TermLike) -> Term:
    """The bookie bears the marks of a crash: it is in limbo, or on its way through the boot sequence."""
    boots = s.stage[bookie] != Stage.SERVING if s.parameters.boots_in_steps else FALSE
    return in_limbo(s, bookie) | boots


def has_left_limbo(s: Ledger, bookie: TermLike, entry: TermLike) -> Term:
    """The entry is none that the bookie must have: phase two, once the ledger is closed, copies the others only."""
    if not s.parameters.boots_in_steps:
        return FALSE
    belongs = (entry <= s.last_entry) & s.in_metadata_write_set(entry, bookie)
    return (s.status == Status.CLOSED) & ~belongs


def is_too_late(s: Ledger) -> Term:
    """The ledger is closed, so bookies leave limbo: what one answers to a recovery read from then on decides nothing."""
    return (s.status == Status.CLOSED) if s.parameters.boots_in_steps else FALSE


def _has_before_it(s: Ledger, bookie: TermLike, halfway: str) -> Term:
    """The bookie is down, or phase one has not come to one of its halves: to the second, if that is their order."""
    if not s.parameters.boots_in_steps:
        return FALSE
    waits = [PhaseOne.DUE, PhaseOne.NOTED]
    waits += [PhaseOne.HALFWAY] if s.parameters.phase_one_order == halfway else []
    return any_of(s.stage[bookie] == Stage.DOWN, *(s.phase_one[bookie] == step for step in waits))


def phase_one_comes_first(s: Ledger) -> Invariant:
    under_way = (PhaseOne.NOTED, PhaseOne.HALFWAY, PhaseOne.MARKED)

    def in_order(b: Term) -> Term:
        return all_of(
            any_of(s.phase_one[b] == PhaseOne.OVER, s.stage[b] == Stage.COOKIES, s.stage[b] == Stage.FIXING),
            *(implies(s.phase_one[b] == step, s.in_scope[b]) for step in under_way),
        )

    return Invariant(
        name="phase-one-comes-first",
        meaning="a bookie goes through phase one before it stamps cookies or serves, and the ledger is in its scope",
        holds=forall(s.bookie, in_order),
    )


def cookies_are_stored(s: Ledger) -> Invariant:
    def boots(b: Term) -> Term:
        return s.stage[b] != Stage.REFUSED if s.parameters.cookie_mismatch == "fix" else TRUE

    return Invariant(
        name="cookies-are-stored",
        meaning="the metadata store has the cookie of each bookie, so none refuses to boot because of it",
        holds=forall(s.bookie, lambda b: s.store_cookie[b] & boots(b)),
    )


def checked_and_serving(s: Ledger) -> Invariant:
    return Invariant(
        name="checked-and-serving",
        meaning="a bookie whose check is over serves, and the ledger is closed",
        holds=forall(
            s.bookie,
            lambda b: implies(s.checked[b], (s.stage[b] == Stage.SERVING) & (s.status == Status.CLOSED)),
        ),
    )
