"""The preset of a chain of ledgers."""

from __future__ import annotations

from dataclasses import replace

from fencepost.encoding.language.protocol import Protocol
from fencepost.encoding.language.system import System
from fencepost.properties.ledger_chain.invariants import chain_invariants
from fencepost.properties.ledger_chain.safety import chain_properties
from fencepost.protocols import ledger_chain as chains


def ledger_chain(parameters: chains.ChainParameters) -> System:
    """Build a chain of ledgers with its properties and invariants."""
    system = chains.chain(parameters)
    assert isinstance(system.state, chains.Chain)
    return replace(
        system, properties=chain_properties(system.state), invariants=chain_invariants(system.state)
    )


PRESETS = (
    Protocol(
        name="ledger-chain",
        summary="a log of unlimited length made of ledgers: each new leader closes the last ledger and "
        "appends a new one",
        defaults=chains.ChainParameters(),
        build=ledger_chain,
        sources=("Vanlightly/bookkeeper-tlaplus, LedgerChaining.tla",),
        not_modelled=(
            "leader election and failure detection: the store may name another leader at any time",
            "the inside of a ledger: a ledger has one entry, and its bookies act as one (see bookkeeper)",
            "crashes of a client: a crashed client is one that takes no more steps",
            "lost or late answers of the metadata store",
            "trimming the list, and readers of the log",
        ),
        ships=True,
    ),
)
