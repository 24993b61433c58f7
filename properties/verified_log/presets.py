"""The presets of the Verified Log, one for each stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fencepost.encoding.language.protocol import Protocol
from fencepost.encoding.language.system import System
from fencepost.properties.verified_log.invariants import log_invariants
from fencepost.properties.verified_log.safety import verified_log_properties
from fencepost.protocols.verified_log import parameters as stages
from fencepost.protocols.verified_log.log import verified_log as segment_log


def verified_log(parameters: stages.LogParameters) -> System:
    """Build one Verified Log with its properties and invariants."""
    system = segment_log(parameters)
    return replace(system, properties=verified_log_properties(system), invariants=log_invariants(system))


_SOURCES = (
    (
        "b-hilprecht/verified-distributed-log (P code), folders 01 to 04: Producer, LogNode, Coordinator, "
        "Consumer"
    ),
    "the author's posts 2 to 5, for the bug that each stage fixes",
)

_NOT_MODELLED = (
    "the values of entries, and the log id: there is one log, and the value of an entry is its number",
    "the harness that starts and stops the processes, except for the order in which producers start",
    "a broadcast sent copy by copy: here it is sent in one step",
    "repetitions of a request beyond the caps attempts, resends and reads",
)


def _stage(
    number: str,
    summary: str,
    defaults: stages.LogParameters,
    exercised: Mapping[str, Mapping[str, object]] = {},
) -> Protocol:
    return Protocol(
        name=f"verified-log-{number}",
        summary=f"a log of segments, each stored on R nodes and owned by one producer: {summary}",
        defaults=defaults,
        build=verified_log,
        sources=_SOURCES,
        not_modelled=_NOT_MODELLED,
        exercised=exercised,
        ships=True,
    )


PRESETS = (
    _stage("01", "the failure-free case, with one segment", stages.STAGE_01),
    _stage("02", "with a coordinator, lost messages, crashes and time-outs", stages.STAGE_02),
    _stage("03", "as stage 02, with repeated close orders, which fix a liveness bug", stages.STAGE_03),
    _stage(
        "04",
        "as stage 03, with a producer that takes over from another",
        stages.STAGE_04,
        {"progress": {"nodes": 1, "replicas": 1, "entries": 2, "attempts": 2}},
    ),
)
