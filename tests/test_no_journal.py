"""BookKeeper without the journal: what each step of the boot sequence is worth (properties/expected has BP-46's matrix)."""

from __future__ import annotations

import pytest

from fencepost.encoding.checking.verdicts import Fewest, Verdict
from fencepost.properties.boot import BOOT, INSTANCE, PROTOCOL, Variant
from support.instances import checked_all


@pytest.mark.slow
@pytest.mark.parametrize("variant", BOOT, ids=lambda variant: variant.what)
def test_a_way_to_boot_is_worth_what_the_table_says(variant: Variant) -> None:
    results = checked_all(PROTOCOL, {**INSTANCE, **variant.settings}, tuple(variant.expected))
    found = {
        result.property: result.steps if result.verdict is Verdict.VIOLATED else result.verdict
        for result in results
    }
    assert found == variant.expected
    assert all(result.fewest in (None, Fewest.OF_ALL) for result in results)


def test_every_variant_differs_from_the_proposal_and_from_the_others() -> None:
    settings = [tuple(sorted(variant.settings.items(), key=str)) for variant in BOOT]
    assert len(set(settings)) == len(settings)


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
