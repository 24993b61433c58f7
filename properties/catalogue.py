"""The protocols that ship with Fencepost, each with its properties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from fencepost.encoding.errors import BadInput, did_you_mean
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
from fencepost.properties.ledger_copies.invariants import copies_invariants
from fencepost.properties.ledger_copies.progress import re_replication_can_finish
from fencepost.properties.ledger_copies.safety import copies_properties
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
from fencepost.protocols.ledger_copies.parameters import CopiesParameters
from fencepost.protocols.ledger_copies.releases import as_in as copies_in
from fencepost.protocols.ledger_copies.state import Copies
from fencepost.protocols.ledger_copies.system import copies
from fencepost.protocols.verified_log import parameters as stages
from fencepost.protocols.verified_log.log import verified_log as segment_log


def bookkeeper(parameters: BookKeeperParameters) -> System:
    """Build one ledger with its properties and invariants."""
    system = ledger(parameters)
    return replace(system, properties=ledger_properties(system), invariants=ledger_invariants(system))


def bookkeeper_core(parameters: CoreParameters) -> System:
    """Build the core of one ledger with its properties and invariants."""
    return with_properties(core(parameters))


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


def verified_log(parameters: stages.LogParameters) -> System:
    """Build one Verified Log with its properties and invariants."""
    system = segment_log(parameters)
    return replace(system, properties=verified_log_properties(system), invariants=log_invariants(system))


def ledger_chain(parameters: chains.ChainParameters) -> System:
    """Build a chain of ledgers with its properties and invariants."""
    system = chains.chain(parameters)
    assert isinstance(system.state, chains.Chain)
    return replace(
        system, properties=chain_properties(system.state), invariants=chain_invariants(system.state)
    )


def ledger_copies(parameters: CopiesParameters) -> System:
    """Build the copies of a closed ledger with their properties and invariants."""
    system = copies(parameters)
    assert isinstance(system.state, Copies)
    properties = (*copies_properties(system.state), re_replication_can_finish(system))
    return replace(system, properties=properties, invariants=copies_invariants(system.state))


_SOURCES = (
    "Apache BookKeeper: LedgerHandle, PendingAddOp, ReadLastConfirmedOp, LedgerRecoveryOp, BookieImpl",
    "BP-46 (running without the journal), for QC and EC",
    "Vanlightly/bookkeeper-tlaplus, BookKeeperProtocol_v4_13.tla",
)


def _unmodelled(parameters: BookKeeperParameters) -> str:
    """Return the line of one ledger. With `forces` the model has writers with DEFERRED_SYNC."""
    sync = "" if parameters.forces else "DEFERRED_SYNC, "
    return (
        f"not modelled of BookKeeper's client: deletion, re-replication, {sync}two replacements in one change"
    )


_ADDS_UNMODELLED = (
    "not modelled of BookKeeper's client: the time between making and queueing an add, chained ensemble "
    "changes, deletion, re-replication, DEFERRED_SYNC, two replacements in one change"
)
"""The line of the models whose adds are one step."""

_ADDS_NOT_MODELLED = (
    "chained ensemble changes: bookies that fail during a change, and one comparison over several changes",
    "the time between making an add and queueing it: the client chooses the ensemble when it makes the add",
    "a writer that continues after its ensemble change has failed",
    "entries that are acknowledged later than the ensemble change in which they got their acks",
)

_NOT_MODELLED = (
    (
        "plain reads, tailing reads and long-poll reads (the property no-dirty-read covers the LAC that they "
        "return)"
    ),
    "a client that restarts: every recovery attempt is a new client",
    "auto-recovery, garbage collection and deletion (issues 4462 and 4668), with or without a restart",
    "racks, DEFERRED_SYNC, delayed ensemble changes",
    "two or more bookies replaced in one change (the same as one after the other if E = WQ)",
)

_CORE_NOT_MODELLED = (
    *_ADDS_NOT_MODELLED,
    "deletion",
    "messages, numbers, positions, fragments (`fencepost prove bookkeeper` ties them to the core)",
)

_TWEAKS_NOT_MODELLED = (
    *_ADDS_NOT_MODELLED,
    "deletion",
    "plain reads: lac-entry-at-aq stands for them",
    "ensembles larger than the write quorum (striping)",
    "more than one bookie replaced in one step",
    "crashes and restarts of bookies",
)

_COPIES_UNMODELLED = (
    "not modelled of BookKeeper's re-replication: open ledgers, striping, late adds, reuse of ids"
)

_COPIES_NOT_MODELLED = (
    "open ledgers and their recovery: every fragment is closed",
    "striping: every bookie of an ensemble stores every entry of the fragment",
    "adds of a re-replication that arrive after it has given up",
    "deletion of the ledger by its owner, and the reuse of its id",
    "storages other than DbLedgerStorage: a bookie stores and deletes entries at once",
    "flushes that fail, and crashes between the flush and the clean-up",
    "placement policies and racks; a check that reads while somebody copies",
)

_VERIFIED_LOG_SOURCES = (
    (
        "b-hilprecht/verified-distributed-log (P code), folders 01 to 04: Producer, LogNode, Coordinator, "
        "Consumer"
    ),
    "the author's posts 2 to 5, for the bug that each stage fixes",
)

_VERIFIED_LOG_NOT_MODELLED = (
    "the values of entries, and the log id: there is one log, and the value of an entry is its number",
    "the harness that starts and stops the processes, except for the order in which producers start",
    "a broadcast sent copy by copy: here it is sent in one step",
    "repetitions of a request beyond the caps attempts, resends and reads",
)


def _stage(number: str, summary: str, defaults: stages.LogParameters) -> Protocol:
    return Protocol(
        name=f"verified-log-{number}",
        summary=f"a log of segments, each stored on R nodes and owned by one producer: {summary}",
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
            summary="one BookKeeper ledger with its writer and recoverers, as in release 4.18.0 with "
            "#4651, stale-ensemble, refused-change, #4459 and blocked-acks fixed, bugs of the client "
            "(as released: --release 4.18.0)",
            defaults=TODAY,
            build=bookkeeper,
            sources=_SOURCES,
            not_modelled=_NOT_MODELLED,
            unmodelled=_unmodelled,
            in_release=as_in,
            newest=NEWEST,
        ),
        Protocol(
            name="bookkeeper-no-journal",
            summary="today's code without the journal (BP-46): a crash loses entries and fences. The crashed "
            "bookie then fences its ledgers and puts them in limbo",
            defaults=NO_JOURNAL,
            build=bookkeeper,
            sources=(*_SOURCES, "BP-46 and LIMBO_README.md of bookkeeper-tlaplus for the two scenarios"),
            not_modelled=_NOT_MODELLED,
            unmodelled=_unmodelled,
            in_release=as_in,
            newest=NEWEST,
        ),
        Protocol(
            name="bookkeeper-4.13",
            summary="one BookKeeper ledger with its writer and recoverers, as in release 4.13 with its two "
            "known defects",
            defaults=V4_13,
            build=bookkeeper,
            sources=_SOURCES,
            not_modelled=_NOT_MODELLED,
            unmodelled=_unmodelled,
        ),
        Protocol(
            name="bookkeeper-4.13-tla",
            summary="the same ledger as the published TLA+ module of 4.13 models it, to compare with TLC "
            "step by step",
            defaults=V4_13_TLA,
            build=bookkeeper,
            sources=_SOURCES,
            not_modelled=_NOT_MODELLED,
            unmodelled=_unmodelled,
        ),
        Protocol(
            name="bookkeeper-core",
            summary="the core of one BookKeeper ledger, without messages and numbers. It shows on one page "
            "why BookKeeper is safe, and is proved for all sizes (fencepost prove bookkeeper)",
            defaults=CoreParameters(),
            build=bookkeeper_core,
            sources=_SOURCES,
            not_modelled=_CORE_NOT_MODELLED,
            unmodelled=_ADDS_UNMODELLED,
        ),
        Protocol(
            name="bookkeeper-guaranteed-write-quorum",
            summary="a proposed change: an entry is pending until its whole write quorum has it. Finished "
            "fragments and closed ledgers are then fully replicated",
            defaults=gwq.GuaranteedParameters(),
            build=guaranteed_write_quorum,
            sources=("Vanlightly/bookkeeper-tlaplus, tweaks/ProtocolWithGuaranteedWriteQuorum.tla",),
            not_modelled=_TWEAKS_NOT_MODELLED,
            unmodelled=_ADDS_UNMODELLED,
        ),
        Protocol(
            name="bookkeeper-unbounded",
            summary="a proposed change on top of the guaranteed write quorum: clients take a ledger over one "
            "after another, each with a new term, and continue to write",
            defaults=unbounded.UnboundedParameters(),
            build=unbounded_ledgers,
            sources=("Vanlightly/bookkeeper-tlaplus, tweaks/ProtocolUnboundedLedgersAndGWQ.tla",),
            not_modelled=(*_TWEAKS_NOT_MODELLED, "normal writes that stay at AQ"),
            unmodelled=_ADDS_UNMODELLED,
        ),
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
        ),
        Protocol(
            name="ledger-copies",
            summary="the copies of a closed BookKeeper ledger: re-replication, `recover`, and the "
            "collector of over-replicated ledgers, with mends (as released: --release 4.18.0)",
            defaults=CopiesParameters(),
            build=ledger_copies,
            sources=(
                (
                    "Apache BookKeeper: LedgerFragmentReplicator, BookKeeperAdmin, MetadataUpdateLoop, "
                    "ReplicationWorker, ScanAndCompareGarbageCollector"
                ),
            ),
            not_modelled=_COPIES_NOT_MODELLED,
            unmodelled=_COPIES_UNMODELLED,
            in_release=copies_in,
            newest=NEWEST,
        ),
        _stage("01", "the failure-free case, with one segment", stages.STAGE_01),
        _stage("02", "with a coordinator, lost messages, crashes and time-outs", stages.STAGE_02),
        _stage("03", "as stage 02, with repeated close orders, which fix a liveness bug", stages.STAGE_03),
        _stage("04", "as stage 03, with a producer that takes over from another", stages.STAGE_04),
    )
}


def find(name: str) -> Protocol:
    """Return the shipped preset of that name. Raises BadInput if there is none."""
    if name not in PROTOCOLS:
        near = did_you_mean(name, PROTOCOLS)
        raise BadInput(f"{name}: no such protocol{near}; valid: {', '.join(PROTOCOLS)}, or a Python file")
    return PROTOCOLS[name]


def unmodelled(asked: Iterable[tuple[str, Mapping[str, object]]]) -> list[str]:
    """Return the lines that say what the models leave out, each line once.

    Each item is the name of a preset and settings. The protocol of a user's file has no such line. Settings
    that another version of Fencepost had stand for the defaults.
    """
    shipped = [(PROTOCOLS[name], settings) for name, settings in asked if name in PROTOCOLS]
    return list(dict.fromkeys(line for one in shipped if (line := _left_out(*one))))


def _left_out(protocol: Protocol, settings: Mapping[str, object]) -> str:
    try:
        parameters = protocol.parameters(settings.items())
    except BadInput:
        parameters = protocol.defaults
    return protocol.left_out(parameters)
