"""Why a ledger is safe: the facts hold in all states that can be visited, are inductive, and each is needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from fencepost.encoding.concrete.compiling import Concrete
from fencepost.encoding.concrete.exploring import explore
from fencepost.encoding.language.system import System
from fencepost.properties.bookkeeper.invariants import ledger_invariants
from support.instances import built
from support.one_action import broken

Settings = dict[str, object]

ONE_OF_TWO: Settings = {"bookies": 2, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1, "entries": 2}
TWO_OF_THREE: Settings = {"bookies": 3, "ensemble": 2, "write_quorum": 2, "ack_quorum": 2, "entries": 2}
STRIPES: Settings = {"bookies": 4, "ensemble": 3, "write_quorum": 2, "ack_quorum": 2, "entries": 2}
MENDED: Settings = {"recovery_reads_fence": "yes", "recovery_floor": "fragment"}


@dataclass(frozen=True)
class Case:
    """An instance, and what does not hold of it."""

    protocol: str
    settings: Settings
    violated: tuple[str, ...] = ("no-dirty-read",)

    def system(self) -> System:
        return built(self.protocol, self.settings)[0]

    def broken(self, without: str | None = None, first: bool = False) -> Mapping[str, str]:
        """What is not inductive of the facts, but for one, and the properties that hold; with the action that breaks it."""
        system = self.system()
        facts = [fact for fact in ledger_invariants(system) if fact.name != without]
        held = [p for p in system.properties if p.name not in self.violated]
        return broken(system, [*facts, *held], first=first)


CASES = {
    "one-of-two": Case("bookkeeper", ONE_OF_TWO),
    "spare": Case("bookkeeper", TWO_OF_THREE),
    "three-fragments": Case("bookkeeper", {**ONE_OF_TWO, "entries": 3, "fragments": 3}),
    "stripes": Case("bookkeeper", {**STRIPES, "unset_acks": "before-acking"}),
    "two-recoverers": Case(
        "bookkeeper", {**TWO_OF_THREE, "recoverers": 2}, ("no-dirty-read", "ack-quorum-reached")
    ),
    "frozen": Case("bookkeeper", {**TWO_OF_THREE, "recoverers": 2, "recovery_lac": "frozen"}, ()),
    "4.13-mended": Case("bookkeeper-4.13", {**TWO_OF_THREE, **MENDED}),
    "no-journal": Case("bookkeeper-no-journal", TWO_OF_THREE),
    "no-journal-as-coded": Case("bookkeeper-no-journal", {**TWO_OF_THREE, "limbo": "as-coded"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_facts_and_every_property_that_holds_are_inductive(name: str) -> None:
    assert CASES[name].broken() == {}


@pytest.mark.slow
def test_two_recoverers_may_leave_too_few_copies() -> None:
    """No fact is declared that would hold with one recoverer only: this property is not inductive then."""
    case = replace(CASES["two-recoverers"], violated=("no-dirty-read",))
    assert case.broken() == {"ack-quorum-reached": "finish recovery"}


SMALL: dict[str, Settings] = {
    "bookkeeper": {**ONE_OF_TWO, "entries": 1},
    "bookkeeper-no-journal": {**ONE_OF_TWO, "bookies": 1, "entries": 1},
}


@pytest.mark.parametrize("protocol", SMALL)
def test_every_reachable_state_of_a_tiny_instance_meets_the_facts(protocol: str) -> None:
    system = built(protocol, SMALL[protocol])[0]
    concrete = Concrete(system)
    facts = {fact.name: concrete.predicate(fact.holds) for fact in ledger_invariants(system)}
    states = 0
    for visit in explore(system):
        states += 1
        false = [name for name, holds in facts.items() if not holds(visit.state)]
        assert not false, f"after {visit.steps} steps: {false}"
    assert states > 100


NEEDED = {
    "bookies-stand-once": "spare",
    "reading-fences": "spare",
    "limbo-after-crashes": "no-journal",
    "unknown-from-limbo": "no-journal",
}
"""Where a fact is needed, if not where one bookie of two holds everything."""


def names() -> list[str]:
    """Every fact about a ledger."""
    systems = (CASES[name].system() for name in ("one-of-two", "no-journal"))
    return list(dict.fromkeys(fact.name for system in systems for fact in ledger_invariants(system)))


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_without_a_fact_something_else_is_not_inductive(name: str) -> None:
    found = CASES[NEEDED.get(name, "one-of-two")].broken(without=name, first=True)
    assert found
    assert name not in found


@pytest.mark.parametrize("name", names())
def test_a_fact_turned_round_is_noticed(name: str) -> None:
    system = built("bookkeeper-no-journal", SMALL["bookkeeper-no-journal"])[0]
    facts = {fact.name: fact for fact in ledger_invariants(system)}
    facts |= {name: replace(facts[name], holds=~facts[name].holds)} if name in facts else {}
    assert name not in facts or name in broken(system, list(facts.values()))


BUGS = {
    "recovery_reads_fence": (
        "bookkeeper-4.13",
        {**TWO_OF_THREE, **MENDED, "entries": 1},
        "no",
        "reading-fences",
    ),
    "recovery_floor": ("bookkeeper-4.13", {**ONE_OF_TWO, **MENDED}, "zero", "last-fragment-reaches-lac"),
    "fence_on_unclean_shutdown": ("bookkeeper-no-journal", TWO_OF_THREE, "no", "reading-fences"),
    "limbo_on_unclean_shutdown": ("bookkeeper-no-journal", TWO_OF_THREE, "no", "accepted-is-stored"),
}
"""A known bug: where, how it is switched on, and the fact that it breaks."""


@pytest.mark.slow
@pytest.mark.parametrize("switch", BUGS)
def test_a_known_bug_breaks_the_fact_that_stands_for_its_rule(switch: str) -> None:
    protocol, settings, value, fact = BUGS[switch]
    assert fact in Case(protocol, {**settings, switch: value}).broken()
