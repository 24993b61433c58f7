"""BookKeeper without the journal: BP-46's matrix, and what each step of the boot sequence is worth."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fencepost.encoding.verdicts import Verdict
from fencepost.properties.boot import BOOT, INSTANCE, PROTOCOL, Variant
from support.instances import TWO_BOOKIES, checked, checked_all


@pytest.mark.slow
@pytest.mark.parametrize("variant", BOOT, ids=lambda variant: variant.what)
def test_a_way_to_boot_is_worth_what_the_table_says(variant: Variant) -> None:
    results = checked_all(PROTOCOL, {**INSTANCE, **variant.settings}, tuple(variant.expected))
    found = {
        result.property: result.steps if result.verdict is Verdict.VIOLATED else result.verdict
        for result in results
    }
    assert found == variant.expected
    assert all(result.fewest in (None, "proved") for result in results)


def test_every_variant_differs_from_the_proposal_and_from_the_others() -> None:
    settings = [tuple(sorted(variant.settings.items(), key=str)) for variant in BOOT]
    assert len(set(settings)) == len(settings)


MATRIX = [
    ({"fence_on_unclean_shutdown": "no"}, 18),
    ({"limbo_on_unclean_shutdown": "no"}, 18),
    ({"fence_on_unclean_shutdown": "no", "lose": "fences"}, 18),
    ({"limbo_on_unclean_shutdown": "no", "lose": "entries"}, 18),
    ({"fence_on_unclean_shutdown": "no", "lose": "entries"}, None),
    ({"limbo_on_unclean_shutdown": "no", "lose": "fences"}, None),
    ({}, None),
    ({"limbo": "as-coded"}, None),
    ({"boot_fence_scope": "non-closed"}, 18),
    ({"boot_fence_scope": "non-closed-in-last-ensemble"}, 18),
    ({"boot_fence_scope": "non-closed", "limbo": "as-coded"}, 18),
    ({"boot_fence_scope": "non-closed", "fence_on_unclean_shutdown": "no"}, 18),
    ({"boot_fence_scope": "non-closed", "limbo_on_unclean_shutdown": "no"}, 18),
    ({"boot_fence_scope": "non-closed", "lose": "entries"}, None),
    ({"boot_fence_scope": "non-closed-in-last-ensemble", "limbo": "as-coded", "lose": "entries"}, None),
]
"""BP-46's matrix at 3/3/2: each crash does harm without its own remedy only, and scenario 1 comes back where closed
ledgers are not fenced."""


SCENARIOS = [
    pytest.param(TWO_BOOKIES | {"fence_on_unclean_shutdown": "no"}, 14, id="2/2/2, unfenced"),
    pytest.param(TWO_BOOKIES, None, id="2/2/2"),
    *(
        pytest.param(settings, steps, marks=pytest.mark.slow, id=str(number))
        for number, (settings, steps) in enumerate(MATRIX)
    ),
]


@pytest.mark.parametrize(("settings", "steps"), SCENARIOS)
def test_the_matrix_of_bp_46(settings: Mapping[str, object], steps: int | None) -> None:
    result = checked(PROTOCOL, settings, "no-divergence")
    assert result.verdict is (Verdict.VIOLATED if steps else Verdict.PROVED)
    assert (result.steps, result.fewest) == (steps, "proved" if steps else None)


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
