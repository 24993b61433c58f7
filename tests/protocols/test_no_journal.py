"""BookKeeper without the journal: the effect of each step of the boot sequence.

properties/expected has BP-46's matrix.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from preset_instances import BOOT, InstanceExpectations, title

from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.engine.limits import Minimize
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import differs
from fencepost.protocols.bookkeeper.state import Ledger
from support.instances import ONE_PROCESS, TWO_BOOKIES, built, checked, checked_all, differences
from support.tiers import each_third

PROTOCOL = "bookkeeper-no-journal"


@pytest.mark.parametrize("way", each_third((way,) for way in BOOT), ids=title)
def test_a_way_to_boot_is_worth_what_the_table_says(way: InstanceExpectations) -> None:
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


KEPT = {
    "both": (False, False),
    "fences": (False, False),
    "bare-fences": (False, True),
    "entries-and-bare-fences": (False, True),
    "entries": (True, True),
}
"""For each value of `lose`, whether a bookie keeps its fence in a crash.

First of a ledger of which it holds nothing, then of one with an entry.
"""

FENCED = (("begin recovery", "r1"), ("handle fence", "r1", "b1"))
STORED = (("push", "1", "1"), ("handle add", "w", "1", "1", "b1"))


@pytest.mark.parametrize("boot", ["at-once", "whole"])
def test_a_crash_loses_the_fences_that_it_says(boot: str) -> None:
    # Planted: with the whole boot sequence `bare-fences` took every fence.
    assert {lose: kept(boot, lose) for lose in KEPT} == KEPT


def kept(boot: str, lose: str) -> tuple[bool, ...]:
    """Return whether b1 is still fenced after a crash, without an entry and with one.

    Recovery fenced b1 before the crash, and nothing fences it again.
    """
    one = dict.fromkeys(("bookies", "ensemble", "write_quorum", "ack_quorum"), 1)
    never = {"fence_on_unclean_shutdown": "no", "limbo_on_unclean_shutdown": "no"}
    system, parameters = built(PROTOCOL, {**one, **never, "lose": lose, "boot": boot})
    replayer, ledger = Replayer(system, find(PROTOCOL).subject(parameters)), system.state
    assert isinstance(ledger, Ledger)
    crash = ("crash and restart" if boot == "at-once" else "crash", "b1")
    found = []
    for before in ((), STORED):
        steps = (("create ledger",), *before, *FENCED, crash)
        actions = [system.find(name, arguments) for name, *arguments in steps]
        (*_, state) = replayer.follow([action for action in actions if action is not None], ())
        found.append(bool(replayer.concrete.evaluate(ledger.fenced["b1"], {}, state)))
    return tuple(found)


@pytest.mark.slow
@pytest.mark.parametrize(("scope", "verdict"), [("all", "proved"), ("non-closed", "violated")])
def test_a_new_bookie_that_checks_its_ledgers_first_must_fence_closed_ones_too(
    scope: str, verdict: str
) -> None:
    """Planted: the scope that BP-46 names too. The mend is then not enough, and the trace shows why."""
    mended = {"reimages": 1, "new_bookie": "checks-first", "lose": "nothing", "boot_fence_scope": scope}
    settings = {**TWO_BOOKIES, "boot": "whole", **mended}
    result = checked(PROTOCOL, settings, "no-divergence", replace(ONE_PROCESS, minimize=Minimize.NONE))
    assert result.verdict.value == verdict
    assert (result.trace is not None and "reimages" in result.trace.faults) is (verdict == "violated")
