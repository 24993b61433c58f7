"""Why a Verified Log is safe: its invariants hold in all explored states, are inductive, and needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.language.system import System
from support.exploration import explore
from support.instances import built
from support.one_action import broken
from support.tiers import each_third

Settings = dict[str, object]

STAGE_1, STAGE_2, STAGE_3, STAGE_4 = (f"verified-log-0{number}" for number in range(1, 5))

ALONE: Settings = {"nodes": 1, "replicas": 1}
SAFE: Settings = {**ALONE, "crashes": 0}
READ: Settings = {"consumers": 1}
REPAIRS: Settings = {
    "one_order": "yes",
    "suspend_demotes": "no",
    "ack_matches": "yes",
    "late_takeover": "ignored",
}

CODED = (
    "naive-single-producer",
    "closed-agreement",
    "closed-stability",
    "committed-not-truncated",
    "answers-end-orders",
    "grants-respect-takeover",
    "progress",
)
"""The properties that stage 04 violates as it is coded."""


@dataclass(frozen=True)
class Case:
    """An instance, and the properties and invariants that are false on it."""

    protocol: str
    settings: Settings
    violated: tuple[str, ...] = ()

    def system(self) -> System:
        return built(self.protocol, self.settings)[0]

    def broken(self, without: str | None = None, first: bool = False) -> Mapping[str, str]:
        """Return the invariants and true properties that are not inductive, with the action that breaks each.

        `without` is an invariant that is left out.
        """
        system = self.system()
        invariants = [invariant for invariant in system.invariants if invariant.name != without]
        held = [p for p in system.properties if p.name not in self.violated]
        return broken(system, [*invariants, *held], first=first)


CASES = {
    "stage-1": Case(STAGE_1, {}),
    "stage-2": Case(STAGE_2, {}, ("progress", "orders-are-repeated")),
    "stage-3": Case(STAGE_3, READ, ("answers-end-orders",)),
    "asked-twice": Case(
        STAGE_3, {**SAFE, "attempts": 2, "resends": 1, "double_answer": "no"}, ("answers-end-orders",)
    ),
    "as-coded": Case(STAGE_4, {}, CODED),
    "as-coded-and-read": Case(STAGE_4, {**ALONE, **READ, "entries": 2}, (*CODED, "consumer-complete")),
    "granted-twice": Case(STAGE_4, {**ALONE, "segments": 4, "attempts": 2}, CODED),
    "as-coded-two-entries": Case(STAGE_4, {**ALONE, "entries": 2, "attempts": 2, "resends": 1}, CODED),
    "repaired": Case(STAGE_4, {**REPAIRS, "entries": 2, "attempts": 2}, CODED[:1]),
    "repaired-and-read": Case(STAGE_4, {**ALONE, **REPAIRS, **READ, "entries": 2}, CODED[:1]),
    "in-order-sent": Case(STAGE_4, {**ALONE, **REPAIRS, "network": "causal", "queue": 2}, CODED[:1]),
    "a-crash": Case(STAGE_4, {"nodes": 3, "crashes": 1}, CODED),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_invariants_and_every_property_that_holds_are_inductive(name: str) -> None:
    case = CASES[name]
    assert set(case.broken()) <= set(case.violated)


SMALL = {
    "stage-1": Case(STAGE_1, {}),
    "stage-3": Case(STAGE_3, {**SAFE, "entries": 1}),
}


@pytest.mark.parametrize("name", SMALL)
def test_every_reachable_state_of_a_tiny_instance_meets_the_invariants(name: str) -> None:
    system = SMALL[name].system()
    concrete = Concrete(system)
    invariants = {invariant.name: concrete.predicate(invariant.holds) for invariant in system.invariants}
    states = 0
    for visit in explore(system):
        states += 1
        false = [name for name, holds in invariants.items() if not holds(visit.state)]
        assert not false, f"after {visit.steps} steps: {false}"
    assert states > 80


ONE = Case(STAGE_4, {**ALONE, **REPAIRS, **READ}, CODED[:1])
"""One node holds what is written, taken over, read and repaired: nearly every invariant is needed there."""

SPARE = Case(STAGE_4, {"replicas": 1}, CODED)
LATE = Case(STAGE_4, {**ALONE, "segments": 3, "attempts": 2}, CODED)

TWICE = Case(STAGE_4, {**ALONE, **READ, "segments": 4, "attempts": 2}, CASES["as-coded-and-read"].violated)
"""A producer may be granted the fourth segment before it knows of its second.

Another producer took the third meanwhile.
"""

NEEDED = {
    "nodes-of-a-segment": SPARE,
    "answers-tell-nodes": CASES["stage-1"],
    "acks-are-of-this-entry": CASES["stage-1"],
    "committed-by-all": CASES["stage-1"],
    "read-without-gaps": CASES["stage-1"],
    "left-for-a-reason": CASES["as-coded-and-read"],
    "last-read-was-sent": TWICE,
    "crashes-are-counted": Case(STAGE_3, {"entries": 1}, ("answers-end-orders",)),
    "newcomers-are-last": LATE,
    "turns-in-order": CASES["repaired-and-read"],
}
"""The instance on which an invariant is needed, if it is another one."""


NAMES = list(
    dict.fromkeys(
        invariant.name for case in (ONE, CASES["a-crash"]) for invariant in case.system().invariants
    )
)
"""All invariants about a log."""


@pytest.mark.parametrize("name", each_third(NAMES))
def test_without_an_invariant_something_else_is_not_inductive(name: str) -> None:
    found = NEEDED.get(name, ONE).broken(without=name, first=True)
    assert found
    assert name not in found


@pytest.mark.parametrize("name", each_third(NAMES, first=1))
def test_an_invariant_turned_round_is_noticed(name: str) -> None:
    system = NEEDED.get(name, ONE).system()
    invariants = {invariant.name: invariant for invariant in system.invariants}
    invariants[name] = replace(invariants[name], holds=~invariants[name].holds)
    assert name in broken(system, list(invariants.values()), first=True)


BUGS: Mapping[str, tuple[Case, Settings, str]] = {
    "B1": (Case(STAGE_1, {}), {"last_entry": "always"}, "served-is-committed"),
    "B2": (Case(STAGE_3, SAFE), {"truncation": "none"}, "closed-at-the-count"),
    "B3": (Case(STAGE_3, {}), {"retry_close": "no"}, "orders-are-repeated"),
    "B4": (
        Case(STAGE_3, {**SAFE, "entries": 1, "segments": 1, "attempts": 2, "double_answer": "no"}),
        {"double_answer": "yes"},
        "answers-tell-nodes",
    ),
    "B5a": (Case(STAGE_4, ALONE), {"suspended_appends": "stored"}, "suspended-takes-no-more"),
    "B5b": (Case(STAGE_4, ALONE), {"seal": "none"}, "vouched-is-enough"),
    "B5c": (Case(STAGE_4, {}), {"completion": "no"}, "closed-at-the-count"),
    "B5d": (Case(STAGE_4, ALONE), {"vouching": "no"}, "vouched-is-enough"),
    "demoted": (
        Case(STAGE_4, {**ALONE, **REPAIRS}),
        {"suspend_demotes": "yes"},
        "orders-are-repeated",
    ),
    "overlap": (Case(STAGE_4, ALONE), {"overlap": "yes"}, "newcomers-are-last"),
}
"""Known bugs, or ingredients left out.

For each: the instance, the settings that switch it on, and the invariant that it breaks.
"""


@pytest.mark.parametrize("bug", BUGS)
def test_a_known_bug_breaks_the_invariant_that_stands_for_its_rule(bug: str) -> None:
    case, settings, invariant = BUGS[bug]
    mended, buggy = (replace(case, settings={**case.settings, **more}).system() for more in ({}, settings))
    assert broken(mended, mended.invariants) == {}
    assert invariant in broken(buggy, buggy.invariants)
