"""Why the mended protocol keeps the copies: its invariants hold, are inductive, and needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from fencepost.encoding.check import check
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.language.system import System
from fencepost.properties.catalogue import find
from fencepost.properties.ledger_copies.invariants import mended_invariants, told_apart_invariants
from fencepost.protocols.ledger_copies.state import Copies
from support.bare import Bare
from support.exploration import explore
from support.instances import ONE_PROCESS, built
from support.one_action import broken

Settings = Mapping[str, object]

COPIES = "ledger-copies"
ONE_COPY: Settings = {"bookies": 2, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1, "workers": 0}
CACHED: Settings = {"workers": 0, "storage": "write-cache"}
REUSED: Settings = {"workers": 0, "reuse": "at-once"}
INVARIANTS = [
    (settings, invariant.name)
    for settings in (CACHED, REUSED)
    for invariant in built(COPIES, settings)[0].invariants
]


def not_inductive(system: System, without: str | None = None) -> Mapping[str, str]:
    """Return the properties and invariants that some action breaks, each with the action."""
    kept = [invariant for invariant in system.invariants if invariant.name != without]
    reuses = isinstance(system.state, Copies) and system.state.reuses
    # A used id has a limit of writes, at which a re-replication waits for ever.
    asked = [p for p in system.properties if not (reuses and p.name == "re-replication-can-finish")]
    return broken(system, [*kept, *asked])


@pytest.mark.parametrize(
    "settings",
    [
        ONE_COPY,
        *(pytest.param({**one, **ONE_COPY}, marks=pytest.mark.slow) for one in (CACHED, REUSED)),
    ],
    ids=str,
)
def test_every_reachable_state_meets_the_invariants(settings: Settings) -> None:
    system = built(COPIES, settings)[0]
    concrete = Concrete(system)
    for invariant in system.invariants:
        holds = concrete.predicate(invariant.holds)
        assert all(holds(visit.state) for visit in explore(system)), invariant.name


@pytest.mark.long
@pytest.mark.parametrize("bookies", [3, 4])
def test_ic3_proves_the_mended_protocol_without_them(bookies: int) -> None:
    system, parameters = built(COPIES, {"bookies": bookies, "entries": 2, "fragments": 2})
    bare = Bare(replace(system, invariants=()), find(COPIES).subject(parameters))
    results = check(bare, system.properties, ONE_PROCESS).results
    assert {result.verdict for result in results} == {Verdict.PROVED}


@pytest.mark.parametrize(("settings", "without"), INVARIANTS, ids=str)
def test_without_one_invariant_the_others_are_not_inductive(settings: Settings, without: str) -> None:
    system = built(COPIES, settings)[0]
    assert not not_inductive(system)
    assert not_inductive(system, without)


@pytest.mark.parametrize(
    ("settings", "invariant", "action"),
    [
        ({"recover_lock": "no"}, "workers-hold-the-lock", "recover bookie"),
        ({"workers": 1, "operators": 0, "session": "lost"}, "workers-hold-the-lock", "end session"),
        ({"storage": "write-cache", "deletion_mark": "until-swap"}, "stored-survives-a-flush", "copy entry"),
        ({"reuse": "at-once", "lives": "by-id"}, "told-of-the-new-ledger", "add again"),
    ],
    ids=str,
)
def test_a_rule_of_the_code_breaks_the_invariant_that_its_mend_keeps(
    settings: Settings, invariant: str, action: str
) -> None:
    system = built(COPIES, {**ONE_COPY, **settings})[0]
    assert isinstance(system.state, Copies)
    assert not system.invariants
    of = told_apart_invariants if system.state.reuses else mended_invariants
    asked = replace(system, invariants=of(system.state))
    assert not_inductive(asked)[invariant] == action
