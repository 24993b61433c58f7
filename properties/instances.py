"""The declared test instances of the shipped protocols: small, and between them every action fires."""

from __future__ import annotations

from collections.abc import Mapping

Settings = Mapping[str, object]

INSTANCES: tuple[Settings, ...] = (
    {},
    {"bookies": 2, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1, "entries": 2, "fragments": 3},
    {"bookies": 4, "recovery_floor": "zero"},
)
"""Declared test instances: the shipped one, and two with a spare bookie, one of them with two entries."""

_MENDED: Settings = {"recovery_reads_fence": "yes", "recovery_floor": "fragment"}

_TWO_OF_ONE: Settings = {"bookies": 2, "ensemble": 2, "write_quorum": 2, "ack_quorum": 1}

GUARD_INSTANCES: tuple[Settings, ...] = (
    *INSTANCES,
    *({**settings, **_MENDED} for settings in INSTANCES),
    _TWO_OF_ONE,
    {**_TWO_OF_ONE, "entries": 2},
)
"""What guards are tried on: the same with the known defects mended too, and two of 2/2/1.

A property that is violated anyway cannot tell whether a weaker guard does harm. With 2/2/1 no entry is lost although
recovery reads do not fence, so what the fencing reads are there for shows.
"""
