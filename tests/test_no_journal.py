"""BookKeeper without the journal: what each step of the boot sequence is worth (properties/expected has BP-46's matrix)."""

from __future__ import annotations

import pytest

from fencepost.properties.boot import BOOT, differences
from fencepost.properties.expectations import Several, differs, title
from support.instances import checked_all

PROTOCOL = "bookkeeper-no-journal"


@pytest.mark.slow
@pytest.mark.parametrize("way", BOOT, ids=title)
def test_a_way_to_boot_is_worth_what_the_table_says(way: Several) -> None:
    results = checked_all(PROTOCOL, way[0].settings, tuple(row.property for row in way))
    assert [differs(row.verdict, row.steps, result) for row, result in zip(way, results, strict=True)] == [
        None
    ] * len(way)


def test_every_way_differs_from_the_proposal_and_from_the_others() -> None:
    settings = [tuple(sorted(differences(way).items(), key=str)) for way in BOOT]
    assert len(set(settings)) == len(settings)
    assert [(row.protocol, row.property) for way in BOOT for row in way] == [
        (PROTOCOL, prop) for prop in ("no-divergence", "recovery-can-finish", "repair-is-complete")
    ] * len(BOOT)


@pytest.mark.slow
@pytest.mark.parametrize(("limbo", "steps"), [("as-tla", 16), ("as-coded", 10)])
def test_losing_all_copies_at_once_leaves_the_ledger_stuck_rather_than_shorter(
    limbo: str, steps: int
) -> None:
    """The review remark of PR 2706: without fsync a correlated crash can remove all AQ copies."""
    names = ("no-divergence", "acked-entries-readable", "recovery-can-finish")
    results = checked_all(PROTOCOL, {"crashes": 2, "lose": "entries", "limbo": limbo}, names)
    assert [(r.verdict.value, r.steps) for r in results] == [
        ("proved", None),
        ("violated", 8),
        ("violated", steps),
    ]
