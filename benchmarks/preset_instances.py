"""The test instances of the shipped presets: small, and every action fires on one of them.

Tests and benchmarks share them. They do not ship.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path

from fencepost.properties.expectations import TABLES, Expectation, read

Settings = Mapping[str, object]

InstanceExpectations = tuple[Expectation, ...]
"""The expectations about the properties of one instance: those of one table of a file."""


def read_by_instance(path: Path) -> tuple[InstanceExpectations, ...]:
    """Return the expectations of a file, grouped by table. Raises BadInput as `read` does."""
    return tuple(tuple(rows) for _, rows in groupby(read(path), lambda row: row.line))


def title(rows: InstanceExpectations) -> str:
    """Return the name of a table about several properties."""
    return rows[0].name.removesuffix(f", {rows[0].property}")


BOOT = read_by_instance(TABLES / "boot.toml")
"""The boot sequences of BP-46 that are compared. The first one is as proposed, and each other has one step
changed or left out.
"""

TWO_THAT_BOOT: Settings = BOOT[0][0].settings
"""Two bookies, 2/2/2, one entry, one recoverer."""

ONE_OF_TWO: Settings = {"bookies": 2, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1}
"""One bookie of two stores every entry. The other is spare."""

ALL_ONE: Settings = {"bookies": 1, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1}

TWO_OF_ONE: Settings = {"bookies": 2, "ensemble": 2, "write_quorum": 2, "ack_quorum": 1}

_STRIPES: Settings = {"bookies": 2, "ensemble": 2, "write_quorum": 1, "ack_quorum": 1, "entries": 2}
"""Each of two bookies holds every other entry."""

LOW_FLOOR: Settings = {**ONE_OF_TWO, "entries": 2, "recovery_floor": "zero"}
"""Recovery as before the fix of Defect 2. Only with this setting does a client try an invalid fragment."""

_V4_13: tuple[Settings, ...] = (
    {},
    {**ONE_OF_TWO, "entries": 2, "fragments": 3},
    {"bookies": 4, "recovery_floor": "zero"},
)
"""The default instance, and two with a spare bookie. One of the two has two entries."""

_SWITCHES: tuple[Settings, ...] = (
    {**TWO_OF_ONE, "fence_atomic": "no"},
    {**ONE_OF_TWO, "lac_read_in_change": "racing"},
    {**ONE_OF_TWO, "entries": 2, "add_ensemble": "when-made", "refused_change": "continues"},
    {**ONE_OF_TWO, "entries": 2, "add_ensemble": "when-made", "acks_after_change": "next-answer"},
    {**ONE_OF_TWO, "entries": 3, "inflight": 3, "fragments": 3, "chained_changes": "one-difference"},
    {**ONE_OF_TWO, "ensemble_change_commit": "local-first"},
    {**TWO_OF_ONE, "silent": 1},
    {**ALL_ONE, "forces": 1, "power_losses": 1},
    {**_STRIPES, "bookies": 3, "readers": 1},
    {**ALL_ONE, "entries": 2, "readers": 1, "way_to_read": "long-poll"},
    {**ALL_ONE, "entries": 2, "given_ids": 1},
    {**ALL_ONE, "full_disks": 1, "storage": "sorted", "crashes": 1, "restarts": 1},
)
"""Settings of switches that add actions."""

BOOTING: tuple[Settings, ...] = (
    {**TWO_THAT_BOOT, "disks": 1},
    {**TWO_THAT_BOOT, "reimages": 1, "dirty_marker": "after-serving"},
    {**TWO_THAT_BOOT, "disks": 1, "cookie_mismatch": "refuse"},
)

TWO_LEADERS: Settings = {"clients": 2, "elections": 2}
"""Two clients and two elections: a leader is replaced and later elected again."""

ALONE: Settings = {"nodes": 1, "replicas": 1}
"""One log node, which holds every segment."""

_ONE_NODE: Settings = {**ALONE, "crashes": 0}

_AGAIN: Settings = {"attempts": 2, "consumers": 1, "reads": 2}
"""Producers and a consumer that repeat their requests."""

_CRASH: Settings = {"nodes": 2, "replicas": 1, "entries": 1}
"""The smallest instance of stages 02 and 03 in which a node may crash."""

INSTANCES: Mapping[str, tuple[Settings, ...]] = {
    "bookkeeper": (_STRIPES, {**ONE_OF_TWO, "entries": 2}, {**_STRIPES, "bookies": 3}, *_SWITCHES, LOW_FLOOR),
    "bookkeeper-no-journal": ({}, ONE_OF_TWO, *BOOTING, LOW_FLOOR),
    "bookkeeper-core": (ONE_OF_TWO, {**ONE_OF_TWO, "forgets": "entries-then-limbo"}),
    "bookkeeper-4.13": _V4_13,
    "bookkeeper-4.13-tla": _V4_13,
    "bookkeeper-liveness": (
        {**ONE_OF_TWO, "entries": 2},
        {**ONE_OF_TWO, "silent": 1, "fair_time_outs": "no"},
        LOW_FLOOR,
    ),
    "bookkeeper-guaranteed-write-quorum": ({},),
    "bookkeeper-unbounded": (
        {"bookies": 3, "values": 1},
        {"bookies": 3, "write_quorum": 3, "ack_quorum": 2, "values": 1},
    ),
    "ledger-chain": (TWO_LEADERS, {**TWO_LEADERS, "append_conflict": "retry"}),
    "ledger-copies": (
        {},
        {"update_checks": "old-bookie", "session": "lost"},
        {"operators": 0, "session": "lost-and-noticed"},
        {"bookies": 2, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1, "recover_lock": "no"},
        {
            "bookies": 2,
            "ensemble": 1,
            "write_quorum": 1,
            "ack_quorum": 1,
            "storage": "write-cache",
            "remembers_deleted": "yes",
        },
    ),
    "verified-log-01": ({"reads": 2}, {"network": "causal"}),
    "verified-log-02": ({**_ONE_NODE, **_AGAIN}, {**_CRASH, "network": "link"}),
    "verified-log-03": ({**_ONE_NODE, **_AGAIN, "resends": 1}, {**_CRASH, "network": "causal"}),
    "verified-log-04": (
        {**ALONE, "attempts": 2, "resends": 1},
        {**ALONE, "entries": 2, "consumers": 1, "reads": 2},
        {**ALONE, "seal": "none", "network": "causal"},
        {"replicas": 1, "crashes": 1},
    ),
}
"""The test instances of each preset. Those of the Verified Log cover each message order of the network."""
