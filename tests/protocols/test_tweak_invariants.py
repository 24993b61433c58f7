"""Why the tweaks are safe: the facts hold in all states that can be visited, are inductive, and each is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.exploration import explore
from fencepost.encoding.language.system import System
from support.instances import built
from support.one_action import broken

Settings = Mapping[str, object]

GWQ = "bookkeeper-guaranteed-write-quorum"
UNBOUNDED = "bookkeeper-unbounded"


@dataclass(frozen=True)
class Tweak:
    """A tweak and its instances: those on which all but what is named holds, where a fact is needed, and its mutants."""

    name: str
    proved: Mapping[str, tuple[Settings, Sequence[str]]]
    small: Settings
    tiny: Settings
    mutants: Mapping[str, tuple[Settings, str]]
    """By switch: the mutant, and the fact that stands for the rule that it breaks."""
    usual: Settings
    """Where a fact is needed, if `needed` names no other instance."""
    needed: Mapping[str, Settings] = field(default_factory=dict)

    def system(self, settings: Settings) -> System:
        return built(self.name, settings)[0]

    def broken(self, settings: Settings, *but_for: str, first: bool = False) -> Mapping[str, str]:
        """What is not inductive of the facts and properties but for these; with the action that breaks it."""
        asked = self.system(settings)
        facts = [fact for fact in asked.invariants if fact.name not in but_for]
        properties = [p for p in asked.properties if p.name not in but_for]
        return broken(asked, [*facts, *properties], first=first)


ONE_VALUE: Settings = {"values": 1}
TWO_COPIES: Settings = {"values": 1, "ack_quorum": 2}

TWEAKS = {
    GWQ: Tweak(
        GWQ,
        proved={
            "no-spare": ({"bookies": 2}, ()),
            "default": ({}, ()),
            "2/2/2": ({"ack_quorum": 2}, ("lac-entry-at-aq",)),
            "frozen": ({"ack_quorum": 2, "recovery_adds": "frozen"}, ()),
            "two-recoverers": (
                {"bookies": 2, "ack_quorum": 2, "recoverers": 2, "recovery_adds": "frozen"},
                (),
            ),
        },
        small={"bookies": 2},
        tiny={"bookies": 2, "write_quorum": 1, "entries": 1},
        mutants={
            "pinning": ({"entries": 1, "pinning": "no"}, "acknowledged-stays-acked"),
            "fragment_start": ({"entries": 1, "fragment_start": "lac"}, "last-fragment-reaches-lafr"),
            "recovery_start": ({"entries": 1, "recovery_start": "lac"}, "lafrs-below-the-writers"),
            "recovery_done": ({"entries": 1, "recovery_done": "at-aq"}, "closed-for-a-reason"),
            "writer_close": ({"entries": 1, "writer_close": "any-time"}, "closed-for-a-reason"),
        },
        usual={"entries": 1},
        needed={
            "contents-are-the-writers": {},
            "read-is-stored": {},
            "reading-fences": {"ack_quorum": 2, "entries": 1},
        },
    ),
    UNBOUNDED: Tweak(
        UNBOUNDED,
        proved={
            "no-spare": (ONE_VALUE, ()),
            "2/2/2": (TWO_COPIES, ()),
            "3/3/2": ({**TWO_COPIES, "bookies": 3, "write_quorum": 3}, ()),
            "default": ({}, ()),
            "spare": ({**ONE_VALUE, "bookies": 3}, ()),
            "three-clients": ({**ONE_VALUE, "clients": 3}, ()),
        },
        small=ONE_VALUE,
        tiny={"bookies": 2, "write_quorum": 1, "values": 1, "fragments": 1},
        mutants={
            "read_term": ({**TWO_COPIES, "read_term": "no"}, "read-as-stored"),
            "truncation": ({**ONE_VALUE, "truncation": "no"}, "stored-by-the-last"),
            "recovery_done": ({**ONE_VALUE, "recovery_done": "at-aq"}, "opened-above-the-no-op"),
            "recovery_adds": ({**TWO_COPIES, "recovery_adds": "moving"}, "adds-carry-own-prefixes"),
        },
        usual=ONE_VALUE,
        needed={
            name: {**ONE_VALUE, "bookies": 3}
            for name in (
                "ensembles-have-wq-members",
                "last-fragment-reaches-lafr",
                "metadata-is-the-holders",
                "lists-are-handed-on",
                "own-fragments-above-start",
                "acks-of-current-members",
                "replicated-at-home",
                "no-op-comes-first",
            )
        },
    ),
}

PROVED = [(name, instance) for name, tweak in TWEAKS.items() for instance in tweak.proved]
MUTANTS = [(name, switch) for name, tweak in TWEAKS.items() for switch in tweak.mutants]
FACTS = [(name, fact.name) for name, tweak in TWEAKS.items() for fact in tweak.system(tweak.small).invariants]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "instance"), PROVED)
def test_the_facts_and_every_property_that_holds_are_inductive(name: str, instance: str) -> None:
    settings, violated = TWEAKS[name].proved[instance]
    assert TWEAKS[name].broken(settings, *violated) == {}


@pytest.mark.parametrize("name", TWEAKS)
def test_every_reachable_state_of_a_tiny_instance_meets_the_facts(name: str) -> None:
    asked = TWEAKS[name].system(TWEAKS[name].tiny)
    concrete = Concrete(asked)
    facts = {fact.name: concrete.predicate(fact.holds) for fact in asked.invariants}
    states = 0
    for visit in explore(asked):
        states += 1
        false = [name for name, holds in facts.items() if not holds(visit.state)]
        assert not false, f"after {visit.steps} steps: {false}"
    assert states > 100


@pytest.mark.slow
@pytest.mark.parametrize(("name", "fact"), FACTS)
def test_without_a_fact_something_else_is_not_inductive(name: str, fact: str) -> None:
    tweak = TWEAKS[name]
    assert tweak.broken(tweak.needed.get(fact, tweak.usual), fact, first=True)


@pytest.mark.parametrize(("name", "fact"), FACTS)
def test_a_fact_turned_round_is_noticed(name: str, fact: str) -> None:
    asked = TWEAKS[name].system(TWEAKS[name].small)
    facts = {fact.name: fact for fact in asked.invariants}
    facts[fact] = replace(facts[fact], holds=~facts[fact].holds)
    assert fact in broken(asked, list(facts.values()))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "switch"), MUTANTS)
def test_a_mutant_breaks_the_fact_that_stands_for_its_rule(name: str, switch: str) -> None:
    settings, fact = TWEAKS[name].mutants[switch]
    assert fact in TWEAKS[name].broken(settings)
