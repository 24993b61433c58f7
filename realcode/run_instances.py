"""The instances on which conformance runs are drawn."""

from __future__ import annotations

from collections.abc import Mapping

Settings = Mapping[str, object]

BROAD: Settings = {"bookies": 4, "entries": 2, "recoverers": 2}
PAIRS: Settings = {
    "bookies": 3,
    "ensemble": 2,
    "write_quorum": 2,
    "entries": 3,
    "inflight": 3,
    "recoverers": 2,
}
STRIPED: Settings = {"bookies": 4, "write_quorum": 2, "entries": 3, "inflight": 3}
CHAINED: Settings = {"bookies": 3, "ensemble": 2, "write_quorum": 2, "entries": 2, "fragments": 3}
SILENT: Settings = {
    "bookies": 3,
    "ensemble": 2,
    "write_quorum": 2,
    "ack_quorum": 1,
    "entries": 2,
    "silent": 1,
}
CRASHING: Settings = {
    "bookies": 3,
    "ensemble": 2,
    "write_quorum": 2,
    "entries": 2,
    "crashes": 2,
    "lose": "bare-fences",
    "fence_on_unclean_shutdown": "no",
    "limbo_on_unclean_shutdown": "no",
}
DURABLE: Settings = {
    "bookies": 3,
    "ensemble": 2,
    "write_quorum": 2,
    "entries": 2,
    "crashes": 2,
    "restarts": 1,
}
"""The settings of an instance whose crashes lose what the storage of the runs loses."""
INSTANCES: tuple[Settings, ...] = (BROAD, PAIRS, STRIPED, SILENT, CRASHING, CHAINED)
"""The settings of the other instances. All are used in turn.

Between them every action fires that can be driven, but for those of a boot in steps.
"""
