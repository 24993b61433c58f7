"""The presets of the proposed changes to BookKeeper."""

from __future__ import annotations

from dataclasses import replace

from fencepost.encoding.language.protocol import Protocol
from fencepost.encoding.language.system import System
from fencepost.properties.bookkeeper.presets import ADDS_NOT_MODELLED, ADDS_UNMODELLED
from fencepost.properties.bookkeeper_tweaks.guaranteed_write_quorum import (
    guaranteed_write_quorum_invariants,
    guaranteed_write_quorum_properties,
)
from fencepost.properties.bookkeeper_tweaks.unbounded_ledger_invariants import unbounded_ledger_invariants
from fencepost.properties.bookkeeper_tweaks.unbounded_ledgers import unbounded_ledger_properties
from fencepost.protocols.bookkeeper_tweaks import guaranteed_write_quorum as gwq
from fencepost.protocols.bookkeeper_tweaks import unbounded_ledgers as unbounded


def guaranteed_write_quorum(parameters: gwq.GuaranteedParameters) -> System:
    """Build one ledger with a guaranteed write quorum, with its properties and invariants."""
    system = gwq.ledger(parameters)
    assert isinstance(system.state, gwq.GuaranteedLedger)
    return replace(
        system,
        properties=guaranteed_write_quorum_properties(system.state),
        invariants=guaranteed_write_quorum_invariants(system.state),
    )


def unbounded_ledgers(parameters: unbounded.UnboundedParameters) -> System:
    """Build one unbounded ledger with its properties and invariants."""
    system = unbounded.ledger(parameters)
    assert isinstance(system.state, unbounded.UnboundedLedger)
    return replace(
        system,
        properties=unbounded_ledger_properties(system.state),
        invariants=unbounded_ledger_invariants(system.state),
    )


_NOT_MODELLED = (
    *ADDS_NOT_MODELLED,
    "deletion",
    "plain reads: lac-entry-at-aq stands for them",
    "ensembles larger than the write quorum (striping)",
    "more than one bookie replaced in one step",
    "crashes and restarts of bookies",
)

_THREE = {"bookies": 3, "values": 1}

PRESETS = (
    Protocol(
        name="bookkeeper-guaranteed-write-quorum",
        summary="a proposed change: an entry is pending until its whole write quorum has it. Finished "
        "fragments and closed ledgers are then fully replicated",
        defaults=gwq.GuaranteedParameters(),
        build=guaranteed_write_quorum,
        sources=("Vanlightly/bookkeeper-tlaplus, tweaks/ProtocolWithGuaranteedWriteQuorum.tla",),
        not_modelled=_NOT_MODELLED,
        unmodelled=ADDS_UNMODELLED,
        ships=True,
    ),
    Protocol(
        name="bookkeeper-unbounded",
        summary="a proposed change on top of the guaranteed write quorum: clients take a ledger over one "
        "after another, each with a new term, and continue to write",
        defaults=unbounded.UnboundedParameters(),
        build=unbounded_ledgers,
        sources=("Vanlightly/bookkeeper-tlaplus, tweaks/ProtocolUnboundedLedgersAndGWQ.tla",),
        not_modelled=(*_NOT_MODELLED, "normal writes that stay at AQ"),
        unmodelled=ADDS_UNMODELLED,
        exercised={"valid-fragments": _THREE, "tail-fragments-at-wq": _THREE},
        ships=True,
    ),
)
