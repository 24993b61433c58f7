"""The list of properties of one ledger."""

from __future__ import annotations

from fencepost.encoding.language.system import Property, System
from fencepost.properties.bookkeeper import answers, durability, readers, recovery, safety
from fencepost.properties.bookkeeper import layer_properties as layers
from fencepost.protocols.bookkeeper.state import Ledger


def ledger_properties(system: System) -> tuple[Property, ...]:
    """Return the properties of one ledger, the main one first."""
    s = system.state
    assert isinstance(s, Ledger)
    p = s.parameters
    goes_down = p.crashes + p.restarts + p.power_losses > 0
    copies_stay = not s.parameters.copies_may_vanish
    return (
        safety.no_divergence(s),
        safety.acked_entries_readable(s),
        *((safety.ack_quorum_reached(s),) if copies_stay else ()),
        safety.valid_fragments(s),
        safety.entries_in_order(s),
        safety.no_dirty_read(s),
        *((recovery.fencing_is_enough(s),) if not (goes_down or p.deletions) else ()),
        *((layers.none_acked_after_deletion(s),) if p.deletions else ()),
        *(durability.durability_properties(s) if s.parameters.loses_fences else ()),
        *((layers.forced_entries_stay(s),) if s.parameters.forces else ()),
        *((layers.acked_on_enough_racks(s),) if s.parameters.racks else ()),
        *(readers.reader_properties(s) if s.parameters.readers else ()),
        *((layers.acknowledged_adds_stay(s),) if p.given_ids else ()),
        *((layers.length_is_the_sum(s),) if p.lengths else ()),
        recovery.recovery_can_finish(system),
        answers.adds_are_answered(s),
        *((layers.repair_is_complete(s),) if s.parameters.boots_in_steps else ()),
    )
