"""Why the tweaks are safe: the facts hold in all states that can be visited, are inductive, and each is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from fencepost.encoding.concrete.compiling import Concrete
from fencepost.encoding.concrete.exploring import explore
from fencepost.encoding.language.system import System
from support.instances import built
from support.one_action import broken

NAME = "bookkeeper-guaranteed-write-quorum"
Settings = Mapping[str, object]

NO_SPARE: Settings = {"bookies": 2}
SPARE: Settings = {"entries": 1}
TINY: Settings = {"bookies": 2, "write_quorum": 1, "entries": 1}

PROVED: dict[str, tuple[Settings, Sequence[str]]] = {
    "no-spare": (NO_SPARE, ()),
    "default": ({}, ()),
    "2/2/2": ({"ack_quorum": 2}, ("lac-entry-at-aq",)),
    "frozen": ({"ack_quorum": 2, "recovery_adds": "frozen"}, ()),
    "two-recoverers": ({"bookies": 2, "ack_quorum": 2, "recoverers": 2, "recovery_adds": "frozen"}, ()),
}
"""Instances, and what does not hold of them."""

MUTANTS: dict[str, tuple[str, str]] = {
    "pinning": ("no", "acknowledged-stays-acked"),
    "fragment_start": ("lac", "last-fragment-reaches-lafr"),
    "recovery_start": ("lac", "lafrs-below-the-writers"),
    "recovery_done": ("at-aq", "closed-for-a-reason"),
    "writer_close": ("any-time", "closed-for-a-reason"),
}
"""By switch: the mutant, and the fact that stands for the rule that it breaks."""


def system(settings: Settings) -> System:
    return built(NAME, settings)[0]


def found(settings: Settings, *but_for: str, first: bool = False) -> Mapping[str, str]:
    """What is not inductive of the facts and properties but for these; with the action that breaks it."""
    asked = system(settings)
    facts = [fact for fact in asked.invariants if fact.name not in but_for]
    properties = [p for p in asked.properties if p.name not in but_for]
    return broken(asked, [*facts, *properties], first=first)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROVED)
def test_the_facts_and_every_property_that_holds_are_inductive(name: str) -> None:
    settings, violated = PROVED[name]
    assert found(settings, *violated) == {}


def test_every_reachable_state_of_a_tiny_instance_meets_the_facts() -> None:
    asked = system(TINY)
    concrete = Concrete(asked)
    facts = {fact.name: concrete.predicate(fact.holds) for fact in asked.invariants}
    states = 0
    for visit in explore(asked):
        states += 1
        false = [name for name, holds in facts.items() if not holds(visit.state)]
        assert not false, f"after {visit.steps} steps: {false}"
    assert states > 100


NEEDED: dict[str, Settings] = {
    "contents-are-the-writers": {},
    "read-is-stored": {},
    "reading-fences": {"ack_quorum": 2, "entries": 1},
}
"""Where a fact is needed, if not with one entry and a spare bookie."""


def names() -> list[str]:
    return [fact.name for fact in system(NO_SPARE).invariants]


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_without_a_fact_something_else_is_not_inductive(name: str) -> None:
    assert found(NEEDED.get(name, SPARE), name, first=True)


@pytest.mark.parametrize("name", names())
def test_a_fact_turned_round_is_noticed(name: str) -> None:
    asked = system(NO_SPARE)
    facts = {fact.name: fact for fact in asked.invariants}
    facts[name] = replace(facts[name], holds=~facts[name].holds)
    assert name in broken(asked, list(facts.values()))


@pytest.mark.slow
@pytest.mark.parametrize("switch", MUTANTS)
def test_a_mutant_breaks_the_fact_that_stands_for_its_rule(switch: str) -> None:
    value, fact = MUTANTS[switch]
    assert fact in found({**SPARE, switch: value})
