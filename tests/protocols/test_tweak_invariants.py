"""Why the tweaks are safe: their invariants hold in all explored states, are inductive, and needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.language.system import System, choose
from fencepost.encoding.mutation.mutants import changed, mutants
from support.exploration import explore
from support.instances import built
from support.one_action import broken
from support.tiers import each_third

Settings = Mapping[str, object]

GWQ = "bookkeeper-guaranteed-write-quorum"
UNBOUNDED = "bookkeeper-unbounded"


@dataclass(frozen=True)
class Tweak:
    """A tweak and its instances.

    On some all but the named properties hold, on some an invariant is needed, and some are mutants.
    """

    name: str
    proved: Mapping[str, tuple[Settings, Sequence[str]]]
    small: Settings
    tiny: Settings
    mutants: Mapping[str, tuple[Settings, str]]
    """By switch: the mutant, and the invariant that stands for the rule that it breaks."""
    usual: Settings
    """The instance on which an invariant is needed, if `needed` names no other."""
    needed: Mapping[str, Settings] = field(default_factory=dict)

    def system(self, settings: Settings) -> System:
        return built(self.name, settings)[0]

    def broken(self, settings: Settings, *but_for: str, first: bool = False) -> Mapping[str, str]:
        """Return the invariants and properties that are not inductive, with the action that breaks each.

        `but_for` has the names that are left out.
        """
        asked = self.system(settings)
        kept = [one for one in asked.invariants if one.name not in but_for]
        properties = [p for p in asked.properties if p.name not in but_for]
        return broken(asked, [*kept, *properties], first=first)


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
            "recovery_done": ({"entries": 1, "recovery_done": "at-aq"}, "closed-at-the-end"),
            "writer_close": ({"entries": 1, "writer_close": "any-time"}, "closed-at-the-end"),
        },
        usual={"entries": 1},
        needed={
            "contents-are-the-writers": {},
            "read-is-stored": {},
            "reading-fences": {"ack_quorum": 2, "entries": 1},
            "closed-at-the-end": {"ack_quorum": 2},
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
                "bookies-stand-once",
                "last-fragment-reaches-lafr",
                "metadata-is-the-holders",
                "lists-are-handed-on",
                "own-fragments-above-start",
                "sent-to-own-fragments",
                "acks-of-current-members",
                "replicated-at-home",
                "no-op-comes-first",
            )
        },
    ),
}

PROVED = [(name, instance) for name, tweak in TWEAKS.items() for instance in tweak.proved]
MUTANTS = [(name, switch) for name, tweak in TWEAKS.items() for switch in tweak.mutants]
INVARIANTS = [
    (name, invariant.name)
    for name, tweak in TWEAKS.items()
    for invariant in tweak.system(tweak.small).invariants
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "instance"), PROVED)
def test_the_invariants_and_every_property_that_holds_are_inductive(name: str, instance: str) -> None:
    settings, violated = TWEAKS[name].proved[instance]
    assert TWEAKS[name].broken(settings, *violated) == {}


@pytest.mark.parametrize("name", TWEAKS)
def test_every_reachable_state_of_a_tiny_instance_meets_the_invariants(name: str) -> None:
    asked = TWEAKS[name].system(TWEAKS[name].tiny)
    concrete = Concrete(asked)
    invariants = {invariant.name: concrete.predicate(invariant.holds) for invariant in asked.invariants}
    states = 0
    for visit in explore(asked):
        states += 1
        false = [name for name, holds in invariants.items() if not holds(visit.state)]
        assert not false, f"after {visit.steps} steps: {false}"
    assert states > 100


@pytest.mark.parametrize("name", TWEAKS)
def test_a_close_that_sets_no_status_violates_closes_recorded(name: str) -> None:
    """Planted: each action that closes the ledger leaves the status alone."""
    asked = TWEAKS[name].system(TWEAKS[name].tiny)
    skipped = [m for m in mutants(asked) if m.change == "skipped" and m.text.startswith("status := closed")]
    assert skipped
    for mutant in skipped:
        system = changed(asked, mutant)
        holds = Concrete(system).predicate(choose(system, ("closes-recorded",))[0].holds)
        assert any(not holds(visit.state) for visit in explore(system)), mutant


@pytest.mark.parametrize(("name", "invariant"), each_third(INVARIANTS))
def test_without_an_invariant_something_else_is_not_inductive(name: str, invariant: str) -> None:
    tweak = TWEAKS[name]
    settings = tweak.needed.get(invariant, tweak.usual)
    violated = [prop for one, props in tweak.proved.values() if one == settings for prop in props]
    assert tweak.broken(settings, invariant, *violated, first=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", TWEAKS)
def test_no_fragment_beyond_the_end_follows_from_the_protocol_and_not_from_its_own_text(name: str) -> None:
    """Planted: the property without its second part, which every step keeps by itself."""
    asked = TWEAKS[name].system({**TWEAKS[name].usual, "bookies": 3})
    assert "valid-fragments" in broken(asked, choose(asked, ("valid-fragments",)))


@pytest.mark.parametrize(("name", "invariant"), each_third(INVARIANTS, first=1))
def test_an_invariant_turned_round_is_noticed(name: str, invariant: str) -> None:
    asked = TWEAKS[name].system(TWEAKS[name].small)
    invariants = {invariant.name: invariant for invariant in asked.invariants}
    invariants[invariant] = replace(invariants[invariant], holds=~invariants[invariant].holds)
    assert invariant in broken(asked, list(invariants.values()))


@pytest.mark.parametrize(("name", "switch"), each_third(MUTANTS))
def test_a_mutant_breaks_the_invariant_that_stands_for_its_rule(name: str, switch: str) -> None:
    settings, invariant = TWEAKS[name].mutants[switch]
    assert invariant in TWEAKS[name].broken(settings)
