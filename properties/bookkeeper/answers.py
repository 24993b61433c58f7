"""The property that every add is answered in the end, and the invariant that proves it."""

from __future__ import annotations

from functools import partial

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import at_least, exists, exists_over, forall
from fencepost.encoding.language.system import Invariant, Property
from fencepost.encoding.language.terms import FALSE, Term, any_of
from fencepost.properties.bookkeeper.common_invariants import awaits_resend
from fencepost.properties.bookkeeper.explanations import explain_unanswered
from fencepost.protocols.bookkeeper.layers import late_acks
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import NO_BOOKIE, WRITER, Phase, Status


def adds_are_answered(s: Ledger) -> Property:
    """Return the property that no add waits for ever while its bookies are up.

    A violation is a state in which a pending add is not answered by any delivery, step of the writer or
    answer of the metadata store that may still come. A lost message counts as under way, because the property
    is about the client and not about the network. A new call of the application, a time-out, a fault and
    giving up are no way out.
    """

    def waits_for_ever(e: Term) -> Term:
        """Return whether too few bookies can complete the entry, although all that were asked are up."""
        up = forall(s.bookie, lambda b: implies(_is_asked(s, e, b), s.serves(b)))
        never = any_of(~_can_complete(s, e), s.dropped[WRITER] != 0, _stays_unanswered(s), s.is_stuck(e))
        return s.pending(WRITER, e) & (s.dropped[WRITER] < e) & up & never

    stuck = (
        (s.phase[WRITER] == Phase.ACTIVE)
        & ~_is_changing(s)
        & ~_may_be_refused(s)
        & exists(s.entry, waits_for_ever)
    )
    return Property(
        name="adds-answered",
        meaning="while the bookies of a pending add are up, some delivery, step of the writer or answer of "
        "the metadata store that may still come leads to its answer, if lost messages are sent again",
        holds=~stuck,
        witness=s.lac(WRITER) > 0,
        witness_meaning="an entry is acknowledged",
        explain=partial(explain_unanswered, s),
    )


def pending_can_complete(s: Ledger) -> Invariant:
    """Return the invariant that the writer loses no add: AQ bookies can complete each pending one."""
    acknowledged = any_of(s.changing(WRITER), ~_stays_unanswered(s))
    return Invariant(
        name="pending-can-complete",
        meaning="for each entry that the writer has pushed and not acknowledged, AQ bookies of its write set "
        "have acked it, may still answer, or are being replaced, and the LAC does not stand still for ever",
        holds=implies(
            any_of(s.phase[WRITER] == Phase.IDLE, s.phase[WRITER] == Phase.ACTIVE),
            forall(s.entry, lambda e: implies(s.pending(WRITER, e), _can_complete(s, e) & acknowledged)),
        ),
    )


def _stays_unanswered(s: Ledger) -> Term:
    """Return whether the LAC stands still after a change, and no answer may come that lets it move."""
    if not s.parameters.has_late_acks:
        return FALSE
    index = s.fragment, s.entry, s.bookie
    return s.waiting[WRITER] & ~exists_over(index, lambda f, e, b: late_acks.may_be_called(s, f, e, b))


def _can_complete(s: Ledger, entry: Term) -> Term:
    """Return whether AQ bookies have acked the entry, may still answer, or are being replaced."""
    if s.parameters.has_chains:
        return _positions_can_complete(s, entry)

    def possible(b: Term) -> Term:
        replaced = (s.failed[WRITER] == b) & exists(
            s.fragment,
            lambda f: (s.own_last_fragment[WRITER] == f) & s.in_write_set_of(WRITER, f, entry, b),
        )
        return any_of(
            s.acked[WRITER, entry, b], _may_answer(s, entry, b), replaced, awaits_resend(s, WRITER, entry, b)
        )

    return at_least(s.parameters.ack_quorum, s.bookie, possible)


def _positions_can_complete(s: Ledger, entry: Term) -> Term:
    """Return whether AQ positions have an ack, or have a bookie that may still answer (chained changes).

    A change that is under way is left to the caller.
    """

    def possible(i: Term) -> Term:
        may_answer = exists_over(
            (s.fragment, s.bookie), lambda f, b: s.is_at(WRITER, f, i, b) & _awaits(s, f, entry, b)
        )
        return any_of(s.ack_at[WRITER, entry, i] != NO_BOOKIE, may_answer)

    return at_least(s.parameters.ack_quorum, s.position, possible)


def _may_answer(s: Ledger, entry: Term, bookie: Term) -> Term:
    """Return whether an answer that counts may still come, if nothing was lost."""
    return exists(s.fragment, lambda f: _awaits(s, f, entry, bookie))


def _awaits(s: Ledger, fragment: Term, entry: Term, bookie: Term) -> Term:
    index = WRITER, fragment, entry, bookie
    return s.add_sent(*index) & ~s.add_answered[index] & s.counts(*index)


def _is_asked(s: Ledger, entry: Term, bookie: Term) -> Term:
    """Return whether the entry was sent to the bookie, in any fragment."""
    return exists(s.fragment, lambda f: s.add_sent(WRITER, f, entry, bookie))


def _is_changing(s: Ledger) -> Term:
    """Return whether an ensemble change of the writer has begun and is not over."""
    begun = any_of(s.failed[WRITER] != NO_BOOKIE, s.about_to_replace[WRITER] != NO_BOOKIE)
    return begun & (s.dropped[WRITER] == 0)


def _may_be_refused(s: Ledger) -> Term:
    """Return whether a bookie may still refuse a pending add. The writer then answers all of them.

    A bookie is fenced only after a recoverer has begun. A bookie in limbo may refuse at any time.
    """

    def is_refused(e: Term, b: Term) -> Term:
        return exists(s.fragment, lambda f: s.add_refused[WRITER, f, e, b])

    return exists_over(
        (s.entry, s.bookie),
        lambda e, b: (
            s.pending(WRITER, e)
            & _may_answer(s, e, b)
            & any_of(s.status != Status.OPEN, s.says_unknown(b), is_refused(e, b))
        ),
    )
