"""The protocols that ship with Fencepost, each with its properties."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.protocol import Protocol
from fencepost.encoding.language.system import System
from fencepost.properties.bookkeeper.core import with_properties
from fencepost.properties.bookkeeper.invariants import ledger_invariants
from fencepost.properties.bookkeeper.ledger import ledger_properties
from fencepost.properties.bookkeeper_tweaks.guaranteed_write_quorum import guaranteed_write_quorum_properties
from fencepost.properties.bookkeeper_tweaks.guaranteed_write_quorum_invariants import (
    guaranteed_write_quorum_invariants,
)
from fencepost.properties.bookkeeper_tweaks.unbounded_ledger_invariants import unbounded_ledger_invariants
from fencepost.properties.bookkeeper_tweaks.unbounded_ledgers import unbounded_ledger_properties
from fencepost.properties.instances import EXERCISED
from fencepost.properties.ledger_chain.invariants import chain_invariants
from fencepost.properties.ledger_chain.safety import chain_properties
from fencepost.properties.verified_log.invariants import log_invariants
from fencepost.properties.verified_log.safety import verified_log_properties
from fencepost.protocols import ledger_chain as chains
from fencepost.protocols.bookkeeper.core import CoreParameters, core
from fencepost.protocols.bookkeeper.ledger import ledger
from fencepost.protocols.bookkeeper.parameters import (
    NO_JOURNAL,
    TODAY,
    V4_13,
    V4_13_TLA,
    BookKeeperParameters,
)
from fencepost.protocols.bookkeeper.releases import NEWEST, as_in
from fencepost.protocols.bookkeeper_tweaks import guaranteed_write_quorum as gwq
from fencepost.protocols.bookkeeper_tweaks import unbounded_ledgers as unbounded
from fencepost.protocols.verified_log import parameters as stages
from fencepost.protocols.verified_log.log import verified_log as segment_log


def bookkeeper(parameters: BookKeeperParameters) -> System:
    """One ledger with its properties."""
    system = ledger(parameters)
    return replace(system, properties=ledger_properties(system), invariants=ledger_invariants(system))


def bookkeeper_core(parameters: CoreParameters) -> System:
    """The core of one ledger with its properties and its invariant."""
    return with_properties(core(parameters))


def guaranteed_write_quorum(parameters: gwq.GuaranteedParameters) -> System:
    """One ledger with a guaranteed write quorum, with its properties."""
    system = gwq.ledger(parameters)
    assert isinstance(system.state, gwq.GuaranteedLedger)
    return replace(
        system,
        properties=guaranteed_write_quorum_properties(system.state),
        invariants=guaranteed_write_quorum_invariants(system.state),
    )


def unbounded_ledgers(parameters: unbounded.UnboundedParameters) -> System:
    """One unbounded ledger with its properties."""
    system = unbounded.ledger(parameters)
    assert isinstance(system.state, unbounded.UnboundedLedger)
    return replace(
        system,
        properties=unbounded_ledger_properties(system.state),
        invariants=unbounded_ledger_invariants(system.state),
    )


def verified_log(parameters: stages.LogParameters) -> System:
    """One Verified Log with its properties."""
    system = segment_log(parameters)
    return replace(system, properties=verified_log_properties(system), invariants=log_invariants(system))


def ledger_chain(parameters: chains.ChainParameters) -> System:
    """A chain of ledgers with its properties."""
    system = chains.chain(parameters)
    assert isinstance(system.state, chains.Chain)
    return replace(
        system, properties=chain_properties(system.state), invariants=chain_invariants(system.state)
    )


_SOURCES = (
    "Apache BookKeeper: LedgerHandle, PendingAddOp, ReadLastConfirmedOp, LedgerRecoveryOp, BookieImpl",
    "BP-46 (running without the journal), for QC and EC",
    "Vanlightly/bookkeeper-tlaplus, BookKeeperProtocol_v4_13.tla",
)

_UNMODELLED = (
    "not modelled of BookKeeper's client: adds made and queued apart, chained ensemble changes, deletion"
)

_CLIENT_NOT_MODELLED = (
    "adds made and queued apart: the client takes an add's ensemble when it makes the add, and queues the add later",
    "chained ensemble changes: failures noted during a change, one difference over several changes",
    "a writer that goes on after its ensemble change has failed",
)
"""The parts that every model of the client leaves out, beside deletion (docs/bookkeeper.md)."""

_NOT_MODELLED = (
    *_CLIENT_NOT_MODELLED,
    "plain reads, tailing and long-poll reads (no-dirty-read says what they could be told)",
    "a client that comes back: every recovery attempt is a client of its own",
    "auto-recovery, garbage collection, deletion (issues 4462 and 4668), also with a restart in between",
    "racks, DEFERRED_SYNC, delayed ensemble changes",
)

_CORE_NOT_MODELLED = (
    *_CLIENT_NOT_MODELLED,
    "deletion",
    "messages, numbers, positions, fragments (`fencepost prove bookkeeper` checks what the core leaves out)",
)

_TWEAKS_NOT_MODELLED = (
    *_CLIENT_NOT_MODELLED,
    "deletion",
    "plain reads: lac-entry-at-aq stands for them",
    "ensembles larger than the write quorum (striping)",
    "more than one bookie replaced in one step",
    "crashes and restarts of bookies",
)

_VERIFIED_LOG_SOURCES = (
    "b-hilprecht/verified-distributed-log (the P code), folders 01 to 04: Producer, LogNode, Coordinator, Consumer",
    "the author's posts 2 to 5 for what each stage mends",
)

_VERIFIED_LOG_NOT_MODELLED = (
    "the values of entries and the log id (one log, and a value is its number)",
    "the harness that starts and stops everything, save the order in which producers start",
    "a broadcast that is handed over copy by copy: it is sent in one step",
    "more than so many repetitions of a request (attempts, resends, reads)",
)


def _stage(number: str, summary: str, defaults: stages.LogParameters) -> Protocol:
    return Protocol(
        name=f"verified-log-{number}",
        summary=f"a log of segments, each on R nodes and owned by one producer: {summary}",
        defaults=defaults,
        build=verified_log,
        sources=_VERIFIED_LOG_SOURCES,
        not_modelled=_VERIFIED_LOG_NOT_MODELLED,
    )


PROTOCOLS: dict[str, Protocol] = {
    protocol.name: replace(protocol, ships=True, exercised=EXERCISED.get(protocol.name, {}))
    for protocol in (
        Protocol(
            name="bookkeeper",
            summary="one BookKeeper ledger, its writer and recoverers, as in the newest release read (4.18.0), but for a race "
            "between its threads: --release 4.18.0 has that too",
            defaults=TODAY,
            build=bookkeeper,
            sources=_SOURCES,
            not_modelled=_NOT_MODELLED,
            unmodelled=_UNMODELLED,
            in_release=as_in,
            newest=NEWEST,
        ),
        Protocol(
            name="bookkeeper-no-journal",
            summary="today's code without the journal (BP-46): a crash loses entries and fences, and a crashed bookie "
            "fences its ledgers and puts them in limbo",
            defaults=NO_JOURNAL,
            build=bookkeeper,
            sources=(*_SOURCES, "BP-46 and LIMBO_README.md of bookkeeper-tlaplus for the two scenarios"),
            not_modelled=_NOT_MODELLED,
            unmodelled=_UNMODELLED,
            in_release=as_in,
            newest=NEWEST,
        ),
        Protocol(
            name="bookkeeper-4.13",
            summary="one BookKeeper ledger, its writer and recoverers, as in the code of release 4.13 with its two "
            "known defects",
            defaults=V4_13,
            build=bookkeeper,
            sources=_SOURCES,
            not_modelled=_NOT_MODELLED,
            unmodelled=_UNMODELLED,
        ),
        Protocol(
            name="bookkeeper-4.13-tla",
            summary="the same as the published TLA+ module of 4.13 has it, for comparing with TLC step for step",
            defaults=V4_13_TLA,
            build=bookkeeper,
            sources=_SOURCES,
            not_modelled=_NOT_MODELLED,
            unmodelled=_UNMODELLED,
        ),
        Protocol(
            name="bookkeeper-core",
            summary="why BookKeeper is safe, on one page: the ledger's life without messages and numbers, which is also "
            "proved for all sizes (fencepost prove bookkeeper)",
            defaults=CoreParameters(),
            build=bookkeeper_core,
            sources=_SOURCES,
            not_modelled=_CORE_NOT_MODELLED,
            unmodelled=_UNMODELLED,
        ),
        Protocol(
            name="bookkeeper-guaranteed-write-quorum",
            summary="a tweak: an entry is pending until all of its write quorum have it, so that fragments that are "
            "over and closed ledgers are fully replicated",
            defaults=gwq.GuaranteedParameters(),
            build=guaranteed_write_quorum,
            sources=("Vanlightly/bookkeeper-tlaplus, tweaks/ProtocolWithGuaranteedWriteQuorum.tla",),
            not_modelled=_TWEAKS_NOT_MODELLED,
            unmodelled=_UNMODELLED,
        ),
        Protocol(
            name="bookkeeper-unbounded",
            summary="a tweak on top of it: clients take a ledger over one after another, by terms, and write on",
            defaults=unbounded.UnboundedParameters(),
            build=unbounded_ledgers,
            sources=("Vanlightly/bookkeeper-tlaplus, tweaks/ProtocolUnboundedLedgersAndGWQ.tla",),
            not_modelled=(*_TWEAKS_NOT_MODELLED, "normal writes that stay at AQ"),
            unmodelled=_UNMODELLED,
        ),
        Protocol(
            name="ledger-chain",
            summary="ledgers chained to a log without end: leaders take turns, close the last ledger and append one of "
            "their own",
            defaults=chains.ChainParameters(),
            build=ledger_chain,
            sources=("Vanlightly/bookkeeper-tlaplus, LedgerChaining.tla",),
            not_modelled=(
                "how a leader is elected, and how failures are detected: the store may name another at any time",
                "what happens within a ledger: one entry, bookies that act as one (see bookkeeper)",
                "crashes of a client, which look like one that never acts again; lost or late answers of the store",
                "trimming the list, and readers of the log",
            ),
        ),
        _stage("01", "the happy path, with one segment and no failures", stages.STAGE_01),
        _stage("02", "with a coordinator, lost messages, crashes and time-outs", stages.STAGE_02),
        _stage("03", "and with close orders repeated, which mends a liveness bug", stages.STAGE_03),
        _stage("04", "and with one producer taking over from another", stages.STAGE_04),
    )
}


def find(name: str) -> Protocol:
    """The protocol of that name; raises BadInput if there is none."""
    if name not in PROTOCOLS:
        raise BadInput(f"{name}: no such protocol; valid: {', '.join(PROTOCOLS)}, or a Python file")
    return PROTOCOLS[name]


def unmodelled(names: Iterable[str]) -> list[str]:
    """Return the parts that the shipped protocols of those names leave out, each line once; none for a protocol of a file."""
    found = (PROTOCOLS[name].unmodelled for name in names if name in PROTOCOLS)
    return list(dict.fromkeys(line for line in found if line))
