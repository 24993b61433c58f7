"""What recovery is for: fencing that is enough, and an end that is always in reach."""

from __future__ import annotations

from functools import partial

from fencepost.encoding.language.quantifiers import at_least, exists, forall
from fencepost.encoding.language.system import Property, Schema, System
from fencepost.encoding.language.terms import FALSE, Constant, Parameter, Term, any_of, implies, lift
from fencepost.properties.bookkeeper.explanations import (
    explain_stuck,
)
from fencepost.properties.bookkeeper.safety import (
    recovered,
)
from fencepost.protocols.bookkeeper.metadata import WRITER, Phase, Status
from fencepost.protocols.bookkeeper.state import Ledger


def fencing_is_enough(s: Ledger) -> Property:
    """What the coverage rule is for (RRQuorumCoverageSet.checkCovered)."""

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
        meaning="once a recoverer has heard from enough bookies, no AQ bookies of a write set of the ensemble that it "
        "fenced are without a fence",
        holds=forall(
            s.recoverer, lambda r: implies((s.phase[r] == Phase.ACTIVE) & s.covered(r), ~writable(r))
        ),
        witness=active,
        witness_meaning="a recoverer has heard from enough bookies",
    )


GIVING_UP = ("abandon recovery", "try invalid fragment", "abandon change")
"""What a recoverer may do that does not bring recovery forward."""


def recovery_can_finish(system: System) -> Property:
    """No recovery is stuck for good, whatever is late or timed out: a search for states where nothing can happen.

    A message that was lost, or went down with a bookie, counts as under way, because a new attempt would send it
    again; what cannot be mended by trying again is that recovery itself or its bookies have nothing to do.
    """
    s = system.state
    assert isinstance(s, Ledger)
    sent_again = (s.add_dropped, s.fence_dropped, s.read_dropped)
    helpful = [schema for schema in system.schemas if _brings_recovery_forward(s, schema)]

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
        meaning="never is a ledger in recovery and a recoverer at work, while nothing can happen that brings recovery "
        "forward, even if no message had been lost",
        holds=~stuck,
        witness=recovered(s),
        witness_meaning="the ledger is closed by a recoverer",
        explain=partial(explain_stuck, s),
    )


def _brings_recovery_forward(s: Ledger, schema: Schema) -> bool:
    """The action is not the writer's own, no fault, and not giving up."""
    actor = lift(schema.action.actor)
    writers = isinstance(actor, Parameter) and actor.sort is s.writer
    writers = writers or (isinstance(actor, Constant) and actor.value == WRITER)
    return not writers and schema.action.fault is None and schema.name not in GIVING_UP
