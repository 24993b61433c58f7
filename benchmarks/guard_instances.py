"""The instances on which guards are tried, by preset."""

from __future__ import annotations

from collections.abc import Mapping

from preset_instances import (
    ALONE,
    BOOTING,
    INSTANCES,
    LOW_FLOOR,
    ONE_OF_TWO,
    TWO_LEADERS,
    TWO_OF_ONE,
    TWO_THAT_BOOT,
    Settings,
)

_MENDED: Settings = {"recovery_reads_fence": "yes", "recovery_floor": "fragment"}

_V4_13: tuple[Settings, ...] = (
    *INSTANCES["bookkeeper-4.13"],
    *({**settings, **_MENDED} for settings in INSTANCES["bookkeeper-4.13"]),
    TWO_OF_ONE,
    {**TWO_OF_ONE, "entries": 2},
)

_LOG_REPAIRS: Settings = {
    "ack_matches": "yes",
    "suspend_demotes": "no",
    "one_order": "yes",
    "late_takeover": "ignored",
}

NOT_TRIED = {"chained_changes", "acks_after_change", "forces", "readers"}
"""The switches of layers that the page leaves out."""

GUARD_INSTANCES: Mapping[str, tuple[Settings, ...]] = {
    "bookkeeper": (
        *(settings for settings in INSTANCES["bookkeeper"] if NOT_TRIED.isdisjoint(settings)),
        {**TWO_OF_ONE, "entries": 2},
        {**TWO_OF_ONE, "ack_quorum": 2, "bookies": 3},
    ),
    "bookkeeper-no-journal": (
        {**TWO_OF_ONE, "ack_quorum": 2, "bookies": 3},
        ONE_OF_TWO,
        {**ONE_OF_TWO, "lose": "fences"},
        *BOOTING,
        {**TWO_THAT_BOOT, "crashes": 2},
        LOW_FLOOR,
    ),
    "bookkeeper-4.13": _V4_13,
    "bookkeeper-4.13-tla": _V4_13,
    "ledger-chain": (
        *INSTANCES["ledger-chain"],
        {**TWO_LEADERS, "elections": 4},
        {**TWO_LEADERS, "clients": 3},
        {**TWO_LEADERS, "append_compares": "no"},
    ),
    "verified-log-04": (
        ALONE,
        {**ALONE, **_LOG_REPAIRS},
        {**ALONE, "consumers": 1, **_LOG_REPAIRS},
    ),
}
"""The instances by preset.

A property that is violated anyway cannot show whether a weaker guard does harm. So 4.13 has its test
instances, the same with the known defects repaired, and two of 2/2/1. With 2/2/1 no entry is lost although
recovery reads do not fence, so these show the need of the fencing reads.
"""
