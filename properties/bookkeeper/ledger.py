"""The list of properties of one ledger."""

from __future__ import annotations

from fencepost.encoding.language.system import Property, System
from fencepost.properties.bookkeeper.answers import adds_are_answered
from fencepost.properties.bookkeeper.boot_properties import repair_is_complete
from fencepost.properties.bookkeeper.deferred_sync import forced_entries_stay
from fencepost.properties.bookkeeper.deletion import none_acked_after_deletion
from fencepost.properties.bookkeeper.durability import durability_properties
from fencepost.properties.bookkeeper.fault_domains import acked_on_enough_racks
from fencepost.properties.bookkeeper.given_ids import acknowledged_adds_stay, length_is_the_sum
from fencepost.properties.bookkeeper.readers import reader_properties
from fencepost.properties.bookkeeper.recovery import fencing_is_enough, recovery_can_finish
from fencepost.properties.bookkeeper.safety import (
    ack_quorum_reached,
    acked_entries_readable,
    entries_in_order,
    no_dirty_read,
    no_divergence,
    valid_fragments,
)
from fencepost.protocols.bookkeeper.state import Ledger


def ledger_properties(system: System) -> tuple[Property, ...]:
    """Return the properties of one ledger, the main one first."""
    s = system.state
    assert isinstance(s, Ledger)
    p = s.parameters
    goes_down = p.crashes + p.restarts + p.power_losses > 0
    copies_stay = not s.parameters.copies_may_vanish
    return (
        no_divergence(s),
        acked_entries_readable(s),
        *((ack_quorum_reached(s),) if copies_stay else ()),
        valid_fragments(s),
        entries_in_order(s),
        no_dirty_read(s),
        *((fencing_is_enough(s),) if not (goes_down or p.deletions) else ()),
        *((none_acked_after_deletion(s),) if p.deletions else ()),
        *(durability_properties(s) if s.is_durability_modelled else ()),
        *((forced_entries_stay(s),) if s.parameters.forces else ()),
        *((acked_on_enough_racks(s),) if s.parameters.racks else ()),
        *(reader_properties(s) if s.parameters.readers else ()),
        *((acknowledged_adds_stay(s),) if p.given_ids else ()),
        *((length_is_the_sum(s),) if p.lengths else ()),
        recovery_can_finish(system),
        adds_are_answered(s),
        *((repair_is_complete(s),) if s.parameters.boots_in_steps else ()),
    )
