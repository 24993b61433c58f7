"""Why a ledger is safe: its invariants hold in all explored states, are inductive, and needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.language.system import System
from fencepost.properties.bookkeeper.common_invariants import metadata_is_the_writers
from fencepost.properties.bookkeeper.invariants import ledger_invariants
from fencepost.protocols.bookkeeper.state import Ledger
from support.exploration import explore
from support.instances import built
from support.one_action import broken
from support.tiers import each_third

Settings = dict[str, object]

ONE_OF_TWO: Settings = {"bookies": 2, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1, "entries": 2}
TWO_OF_THREE: Settings = {"bookies": 3, "ensemble": 2, "write_quorum": 2, "ack_quorum": 2, "entries": 2}
STRIPES: Settings = {"bookies": 4, "ensemble": 3, "write_quorum": 2, "ack_quorum": 2, "entries": 2}
PAIR: Settings = {"bookies": 2, "ensemble": 2, "write_quorum": 2, "ack_quorum": 2}
FENCES: Settings = {"recovery_reads_fence": "yes"}
MENDED: Settings = {"recovery_reads_fence": "yes", "recovery_floor": "fragment"}
DURABLE: Settings = {
    **ONE_OF_TWO,
    "bookies": 1,
    "storage": "db",
    "crashes": 2,
    "restarts": 1,
    "negative_answers": "after-fence",
    "fence_record": "with-key",
    "db_checkpoint": "always",
}
"""The settings that mend all losses of releases."""
SORTED: Settings = {
    **{name: value for name, value in DURABLE.items() if name != "db_checkpoint"},
    "storage": "sorted",
    "flush_headers": "always",
}


@dataclass(frozen=True)
class Case:
    """An instance, and the properties and invariants that are false on it."""

    protocol: str
    settings: Settings
    violated: tuple[str, ...] = ("no-dirty-read",)

    def system(self) -> System:
        return built(self.protocol, self.settings)[0]

    def broken(self, without: str | None = None, first: bool = False) -> Mapping[str, str]:
        """Return the invariants and true properties that are not inductive, with the action that breaks each.

        `without` is an invariant that is left out.
        """
        system = self.system()
        invariants = [invariant for invariant in ledger_invariants(system) if invariant.name != without]
        held = [p for p in system.properties if p.name not in self.violated]
        return broken(system, [*invariants, *held], first=first)


CASES = {
    "one-of-two": Case("bookkeeper", ONE_OF_TWO),
    "spare": Case("bookkeeper", TWO_OF_THREE),
    "three-fragments": Case("bookkeeper", {**ONE_OF_TWO, "entries": 3, "fragments": 3}),
    "late-acks": Case("bookkeeper", {**TWO_OF_THREE, "acks_after_change": "next-answer"}),
    "late-acks-stripes": Case(
        "bookkeeper", {**STRIPES, "unset_acks": "before-acking", "acks_after_change": "next-answer"}
    ),
    "late-acks-three-fragments": Case(
        "bookkeeper", {**ONE_OF_TWO, "entries": 3, "fragments": 3, "acks_after_change": "next-answer"}
    ),
    "stripes": Case("bookkeeper", {**STRIPES, "unset_acks": "before-acking"}),
    "two-recoverers": Case(
        "bookkeeper", {**TWO_OF_THREE, "recoverers": 2}, ("no-dirty-read", "ack-quorum-reached")
    ),
    "frozen": Case("bookkeeper", {**TWO_OF_THREE, "recoverers": 2, "recovery_lac": "frozen"}, ()),
    "no-spare": Case("bookkeeper", PAIR),
    "4.13-tla-mended": Case(
        "bookkeeper-4.13-tla", {**TWO_OF_THREE, **FENCES, "entries": 1}, ("ack-quorum-reached",)
    ),
    "4.13-tla-no-spare": Case("bookkeeper-4.13-tla", {**PAIR, **FENCES, "entries": 2}, ()),
    "4.13-tla-two-spares": Case(
        "bookkeeper-4.13-tla", {**TWO_OF_THREE, **FENCES, "bookies": 4, "entries": 1}, ("ack-quorum-reached",)
    ),
    "boot": Case("bookkeeper-no-journal", {**PAIR, "boot": "whole"}, ()),
    "boot-and-disks": Case("bookkeeper-no-journal", {**PAIR, "boot": "whole", "disks": 1}, ()),
    "boot-fence-first": Case(
        "bookkeeper-no-journal", {**PAIR, "boot": "whole", "phase_one_order": "fence-first"}, ()
    ),
    "boot-keeps-copies": Case("bookkeeper-no-journal", {**PAIR, "boot": "whole", "lose": "fences"}, ()),
    "4.13-mended": Case("bookkeeper-4.13", {**TWO_OF_THREE, **MENDED}),
    "durable-db": Case("bookkeeper", DURABLE),
    "durable-sorted": Case("bookkeeper", SORTED),
    "durable-pair": Case("bookkeeper", {**DURABLE, **PAIR, "bookies": 2, "entries": 1, "crashes": 1}),
    "no-journal": Case("bookkeeper-no-journal", TWO_OF_THREE),
    "no-journal-as-coded": Case("bookkeeper-no-journal", {**TWO_OF_THREE, "limbo": "as-coded"}),
}


@pytest.mark.parametrize("name", each_third(CASES))
def test_the_invariants_and_every_property_that_holds_are_inductive(name: str) -> None:
    assert CASES[name].broken() == {}


@pytest.mark.slow
def test_two_recoverers_may_leave_too_few_copies() -> None:
    """No invariant is declared that holds with one recoverer only.

    With such an invariant the property would be proved.
    """
    case = replace(CASES["two-recoverers"], violated=("no-dirty-read",))
    assert case.broken() == {"ack-quorum-reached": "finish recovery"}


SMALL = {
    "bookkeeper": Case("bookkeeper", {**ONE_OF_TWO, "entries": 1}),
    "no-journal": Case("bookkeeper-no-journal", {**ONE_OF_TWO, "bookies": 1, "entries": 1}),
    "4.13-tla": Case("bookkeeper-4.13-tla", {**ONE_OF_TWO, **FENCES, "entries": 1}),
    "boot": Case("bookkeeper-no-journal", {**ONE_OF_TWO, "bookies": 1, "entries": 1, "boot": "whole"}),
    "durable": Case("bookkeeper", {**DURABLE, "entries": 1, "crashes": 1}),
}
"""Instances small enough to explore completely."""


@pytest.mark.parametrize("name", SMALL)
def test_every_reachable_state_of_a_tiny_instance_meets_the_invariants(name: str) -> None:
    system = SMALL[name].system()
    concrete = Concrete(system)
    invariants = {
        invariant.name: concrete.predicate(invariant.holds) for invariant in ledger_invariants(system)
    }
    states = 0
    for visit in explore(system):
        states += 1
        false = [name for name, holds in invariants.items() if not holds(visit.state)]
        assert not false, f"after {visit.steps} steps: {false}"
    assert states > 100


NEEDED = {
    "bookies-stand-once": "spare",
    "reading-fences": "spare",
    "limbo-after-crashes": "no-journal",
    "unknown-from-limbo": "no-journal",
    "write-backs-are-accepted": "no-spare",
    "metadata-is-in-step": "4.13-tla-mended",
    "all-answers-are-enough": "4.13-tla-no-spare",
    "adds-carry-own-lacs": "4.13-tla-no-spare",
    "one-bookie-at-a-time": "4.13-tla-two-spares",
    "phase-one-comes-first": "boot",
    "cookies-are-stored": "boot",
    "checked-and-serving": "boot",
    "keys-are-replayed": "durable-db",
    "fences-are-replayed": "durable-db",
}
"""The instance on which an invariant is needed, if one bookie of two that holds everything is not it."""


NAMES = list(
    dict.fromkeys(invariant.name for case in SMALL.values() for invariant in ledger_invariants(case.system()))
)
"""All invariants about a ledger."""


@pytest.mark.parametrize("name", each_third(NAMES))
def test_without_an_invariant_something_else_is_not_inductive(name: str) -> None:
    found = CASES[NEEDED.get(name, "one-of-two")].broken(without=name, first=True)
    assert found
    assert name not in found


@pytest.mark.parametrize("name", each_third(NAMES, first=1))
def test_an_invariant_turned_round_is_noticed(name: str) -> None:
    for case in SMALL.values():
        system = case.system()
        invariants = {invariant.name: invariant for invariant in ledger_invariants(system)}
        if name in invariants:
            invariants[name] = replace(invariants[name], holds=~invariants[name].holds)
            assert name in broken(system, list(invariants.values()))
            return
    raise AssertionError(f"no small instance declares {name}")


@pytest.mark.slow
def test_where_recovery_commits_at_once_the_metadata_is_not_the_writers() -> None:
    """The invariant of today's code breaks at the first change of a recoverer.

    The invariant in its place does not.
    """
    system = CASES["4.13-tla-mended"].system()
    state = system.state
    assert isinstance(state, Ledger)
    found = broken(system, [*ledger_invariants(system), metadata_is_the_writers(state)])
    assert found["metadata-is-the-writers"] == "commit change"


BOOT: Settings = {**PAIR, "boot": "whole"}

BUGS: dict[str, tuple[str, Settings, Settings, str]] = {
    "#2614": (
        "bookkeeper-4.13",
        {**TWO_OF_THREE, **MENDED, "entries": 1},
        {"recovery_reads_fence": "no"},
        "reading-fences",
    ),
    "#2614-tla": ("bookkeeper-4.13-tla", PAIR, {"recovery_reads_fence": "no"}, "reading-fences"),
    "#2615": (
        "bookkeeper-4.13",
        {**ONE_OF_TWO, **MENDED},
        {"recovery_floor": "zero"},
        "last-fragment-reaches-lac",
    ),
    "#1591": ("bookkeeper", ONE_OF_TWO, {"ensemble_change_commit": "local-first"}, "metadata-is-the-writers"),
    "#3005": (
        "bookkeeper",
        {"bookies": 3, "ensemble": 2, "write_quorum": 1, "ack_quorum": 1, "entries": 2},
        {"unset_acks": "while-acking"},
        "confirmed-at-home",
    ),
    "#4651": ("bookkeeper", ONE_OF_TWO, {"lac_read_in_change": "racing"}, "confirmed-at-home"),
    "stale-ensemble": ("bookkeeper", ONE_OF_TWO, {"add_ensemble": "when-made"}, "confirmed-at-home"),
    "stale-ensemble-hang": ("bookkeeper", ONE_OF_TWO, {"add_ensemble": "when-made"}, "pending-can-complete"),
    "refused-change": ("bookkeeper", ONE_OF_TWO, {"refused_change": "continues"}, "pending-can-complete"),
    "#4459": (
        "bookkeeper",
        {**ONE_OF_TWO, "entries": 2, "fragments": 3},
        {"chained_changes": "one-difference"},
        "pending-can-complete",
    ),
    "#4701": ("bookkeeper", PAIR, {"fence_atomic": "no"}, "absent-stays-absent"),
    "BP-46-1": (
        "bookkeeper-no-journal",
        TWO_OF_THREE,
        {"fence_on_unclean_shutdown": "no"},
        "reading-fences",
    ),
    "BP-46-2": (
        "bookkeeper-no-journal",
        TWO_OF_THREE,
        {"limbo_on_unclean_shutdown": "no"},
        "accepted-is-stored",
    ),
    "BP-46-closed": (
        "bookkeeper-no-journal",
        BOOT,
        {"boot_fence_scope": "non-closed"},
        "phase-one-comes-first",
    ),
    "BP-46-served": ("bookkeeper-no-journal", BOOT, {"phase_one_awaited": "no"}, "phase-one-comes-first"),
    "#4812": ("bookkeeper-no-journal", BOOT, {"reimages": 1}, "cookies-are-stored"),
    "no look at the marker": ("bookkeeper-no-journal", BOOT, {"unclean_check": "no"}, "accepted-is-stored"),
    "marker set late": (
        "bookkeeper-no-journal",
        BOOT,
        {"dirty_marker": "after-serving"},
        "accepted-is-stored",
    ),
    "cookies stamped first": (
        "bookkeeper-no-journal",
        {**BOOT, "disks": 1},
        {"cookie_stamp": "before-phase-one"},
        "phase-one-comes-first",
    ),
    "limbo left early": (
        "bookkeeper-no-journal",
        BOOT,
        {"clear_limbo": "before-copying"},
        "accepted-is-stored",
    ),
    "bare-fence": ("bookkeeper", DURABLE, {"fence_record": "bare"}, "fences-are-replayed"),
    "unawaited-fence": ("bookkeeper", DURABLE, {"negative_answers": "at-once"}, "fences-are-replayed"),
    "flushed-fence": ("bookkeeper", SORTED, {"flush_headers": "if-written"}, "fences-are-replayed"),
    "flushed-fence-db": ("bookkeeper", DURABLE, {"db_checkpoint": "if-written"}, "fences-are-replayed"),
    "key-without-entry": ("bookkeeper", SORTED, {"flush_headers": "if-written"}, "keys-are-replayed"),
    "key-without-entry-db": ("bookkeeper", DURABLE, {"db_checkpoint": "if-written"}, "keys-are-replayed"),
    "limbo left unrecovered": (
        "bookkeeper-no-journal",
        BOOT,
        {"clear_limbo": "unrecovered"},
        "checked-and-serving",
    ),
}
"""Known bugs, or steps of the boot sequence left out.

For each: the instance, the settings that switch it on, and the invariant that it breaks.
"""


@pytest.mark.parametrize(
    "bug", [pytest.param(bug, marks=pytest.mark.slow if bug == "#2614" else pytest.mark.long) for bug in BUGS]
)
def test_a_known_bug_breaks_the_invariant_that_stands_for_its_rule(bug: str) -> None:
    protocol, settings, switched_on, invariant = BUGS[bug]
    assert invariant in Case(protocol, {**settings, **switched_on}).broken()
