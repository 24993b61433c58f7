"""Properties of recovery: fencing stops the writer, and recovery can always finish."""

from __future__ import annotations

from functools import partial

from fencepost.encoding.language.actions import Schema
from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import at_least, exists, forall
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import FALSE, Constant, Parameter, Term, any_of, lift
from fencepost.properties.bookkeeper.explanations import explain_stuck
from fencepost.properties.bookkeeper.safety import recovered
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import WRITER, Phase, Status


def fencing_is_enough(s: Ledger) -> Property:
    """Return the property that the coverage rule guarantees (RRQuorumCoverageSet.checkCovered)."""

    def unfenced(r: Term, position: Term) -> Term:
        return exists(s.bookie, lambda b: s.is_at(r, s.base[r], position, b) & ~s.fenced[b])

    def writable(r: Term) -> Term:
        return exists(
            s.position,
            lambda start: at_least(
                s.parameters.ack_quorum, s.position, lambda i: s.in_window[start, i] & unfenced(r, i)
            ),
        )

    active = exists(s.recoverer, lambda r: (s.phase[r] == Phase.ACTIVE) & s.covered(r))
    return Property(
        name="fencing-is-enough",
        meaning="once enough bookies have answered a recoverer's fencing reads, every write "
        "set of the fenced ensemble has fewer than AQ bookies without a fence",
        holds=forall(
            s.recoverer, lambda r: implies((s.phase[r] == Phase.ACTIVE) & s.covered(r), ~writable(r))
        ),
        witness=active,
        witness_meaning="enough bookies have answered a recoverer's fencing reads",
    )


GIVING_UP = ("abandon recovery", "try invalid fragment", "abandon change")
"""Actions of a recoverer that do not advance the recovery."""


def recovery_can_finish(system: System) -> Property:
    """Return the property that no recovery is stuck for good, even with late messages and time-outs.

    A violation is a state in which no helpful action can happen. A message that was lost, or that went down
    with a bookie, counts as in flight, because a new attempt would send it again. A recovery is stuck only if
    trying again cannot help.
    """
    s = system.state
    assert isinstance(s, Ledger)
    sent_again = (s.add_dropped, s.fence_dropped, s.read_dropped)
    helpful = [schema for schema in system.schemas if _advances_recovery(s, schema)]

    def waits(r: Term) -> Term:
        last = s.own_last_fragment[r] == s.parameters.possible_fragments
        beyond_cap = s.changing(r) & last if s.parameters.bookies > s.parameters.ensemble else FALSE
        return (s.phase[r] == Phase.ACTIVE) & ~s.overtaken[r] & ~beyond_cap

    stuck = (
        (s.status == Status.IN_RECOVERY)
        & exists(s.recoverer, waits)
        & ~any_of(*(schema.could_happen(sent_again) for schema in helpful))
    )
    return Property(
        name="recovery-can-finish",
        meaning="while a recoverer works on a ledger in recovery, some action that advances "
        "the recovery can happen, if lost messages are sent again",
        holds=~stuck,
        witness=recovered(s),
        witness_meaning="a recoverer has closed the ledger",
        explain=partial(explain_stuck, s),
    )


def _advances_recovery(s: Ledger, schema: Schema) -> bool:
    """Return whether an action advances recovery: no action of the writer, no fault, and not giving up."""
    actor = lift(schema.action.actor)
    writers = isinstance(actor, Parameter) and actor.sort is s.writer
    writers = writers or (isinstance(actor, Constant) and actor.value == WRITER)
    return not writers and schema.action.fault is None and schema.name not in GIVING_UP
