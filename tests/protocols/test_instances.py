"""The declared test instances: those of a preset fire every action, and messages arrive as sent."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from preset_instances import INSTANCES

from fencepost.cli.requests import AskedRequests, ask_all, request_of, small_instances
from fencepost.encoding.check import check
from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.concrete.simulation import simulate
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.errors import BadInput, ModelError
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.language.system import System
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.mutation.mutants import changed, mutants
from fencepost.properties import catalogue
from fencepost.properties.catalogue import FAMILIES, find
from support.instances import built, fired, simulations
from support.tiers import each_third

ROUNDS = 6
"""Rounds enough for a crash, the boot sequence and another crash, with a ledger in between."""


def test_the_catalogue_names_each_preset_with_its_folder() -> None:
    # Planted: a preset that the catalogue does not name, or with another folder; one without ships=.
    folders = [path.parent.name for path in Path(catalogue.__file__).parent.glob("*/presets.py")]
    found = {folder: import_module(f"fencepost.properties.{folder}.presets").PRESETS for folder in folders}
    assert {preset.name: folder for folder in found for preset in found[folder]} == FAMILIES
    assert all(preset.ships for presets in found.values() for preset in presets)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_every_action_fires_on_some_declared_instance(name: str) -> None:
    systems = [built(name, settings)[0] for settings in INSTANCES[name]]
    dead = {schema.name for system in systems for schema in system.schemas}
    for system in systems:
        dead -= fired(system, dead & {schema.name for schema in system.schemas}, ROUNDS)
    assert not dead


@pytest.mark.parametrize("name", each_third(FAMILIES))
def test_no_sending_happens_twice_with_one_loss(name: str) -> None:
    for settings in INSTANCES[name]:
        sent_at_most_once(built(name, settings)[0])


RUNS = 20


def simulate_as_traces(system: System, runs: int) -> None:
    """Run simulations, and make traces of them."""
    for _ in simulations(Replayer(system, Subject("test", {}, {})), runs):
        pass


@pytest.mark.parametrize("name", each_third(FAMILIES))
def test_what_simulations_receive_is_under_way(name: str) -> None:
    for settings in INSTANCES[name]:
        simulate_as_traces(built(name, settings)[0], RUNS)


PLANTED = [
    ("handle add (writer)", 3, "never sent"),
    ("handle add (writer)", 4, "is lost"),
    ("handle add (writer)", 5, "received before"),
    ("receive ack (writer)", 2, "never sent"),
    ("receive ack (writer)", 3, "is lost"),
    ("receive ack (writer)", 5, "which was sent with .* fenced=yes, but is received with .* fenced=no"),
    ("handle read", 3, "never sent"),
    ("receive fence answer", 3, "is lost"),
]


@pytest.mark.parametrize(("action", "position", "says"), PLANTED)
def test_a_guard_that_lets_something_else_be_received_is_found_out(
    action: str, position: int, says: str
) -> None:
    protocol = find("bookkeeper-4.13")
    system = protocol.build(protocol.defaults)
    mutant = next(m for m in mutants(system) if str(m).startswith(f"{action}, conjunct {position} "))
    with pytest.raises(ModelError, match=says):
        simulate_as_traces(changed(system, mutant), 400)


CASES = [(preset, name) for preset in FAMILIES for name in find(preset).exercised]


@pytest.mark.parametrize(("preset", "name"), CASES)
def test_what_is_vacuous_by_default_is_exercised_where_it_says(preset: str, name: str) -> None:
    """Simulations reach its witness on that instance."""
    instance = find(preset).instance(find(preset).exercised[name].items())
    properties = instance.properties(name)
    simulations_of_it = (
        simulate(instance.system, instance.subject, properties, 400, seed) for seed in range(1, 20)
    )
    assert any(found.witnessing for found in simulations_of_it)


SETTLED = (Verdict.VIOLATED, Verdict.PROVED, Verdict.HOLDS)


@pytest.mark.parametrize("name", FAMILIES)
def test_out_of_the_box_every_property_is_exercised_and_decided(name: str) -> None:
    # Planted: an entry of exercised= left out; a default instance on which an answer takes minutes.
    limits = Limits(jobs=1, minimize=Minimize.NONE, timeout=600)
    request = request_of(find(name), (), (), None, limits)
    asked = AskedRequests(request)
    ask_all(
        asked,
        small_instances(find(name), (), request),
        limits,
        lambda some, within: check(some.instance, some.properties, within),
        lambda result: result.verdict is Verdict.VACUOUS,
    )
    found = [result for one in asked.checked() for result in one.outcome.results]
    assert not [(result.property, result.reason) for result in found if result.verdict not in SETTLED]
    assert {result.property for result in found} == {p.name for p in request.properties}


def sizes_of(name: str, **settings: object) -> list[tuple[int, int, int]]:
    """Return bookies, ensemble and entries of the instances for `no-dirty-read`."""
    found = [i.parameters for i in find(name).small_instances("no-dirty-read", settings.items())]
    return [(p.bookies, p.ensemble, p.entries) for p in found]


def test_the_instance_of_a_property_keeps_the_settings_it_can() -> None:
    # Planted: sizes of the list winning over those asked for; a switch counted among the sizes.
    protocol = find("bookkeeper-4.13")
    (own,) = protocol.small_instances("valid-fragments", [("recovery_floor", "fragment"), ("inflight", "1")])
    assert (own.parameters.ensemble, own.parameters.recovery_floor, own.parameters.inflight) == (
        1,
        "fragment",
        1,
    )
    assert sizes_of("bookkeeper", bookies=5, entries=3) == [(5, 1, 3), (2, 1, 3), (5, 1, 2), (2, 1, 2)]
    assert sizes_of("bookkeeper", ensemble=3, bookies=3) == [(3, 3, 2), (3, 1, 2), (2, 1, 2)], "not (2, 3, 2)"
    assert sizes_of("bookkeeper", bookies=2, ensemble=1, write_quorum=1, ack_quorum=1, entries=2) == []
    assert protocol.small_instances("entries-in-order", ()) == []


def test_what_exercises_no_property_is_refused() -> None:
    wrong = replace(find("ledger-chain"), exercised={"entry-oder": {"clients": 2}})
    with pytest.raises(
        ModelError, match="ledger-chain: exercised= names entry-oder: no such property; valid: "
    ):
        wrong.check_exercised()
    wrong = replace(find("ledger-chain"), exercised={"entry-order": {"client": 2}})
    with pytest.raises(BadInput, match="client: no such parameter or switch"):
        wrong.check_exercised()


ON_THE_DEFAULTS = [("bookkeeper", "valid-fragments")]
"""What the default instance exercises, and smaller ones may not."""


@pytest.mark.slow
@pytest.mark.parametrize(("preset", "name"), [case for case in CASES if case not in ON_THE_DEFAULTS])
def test_on_the_defaults_it_is_not(preset: str, name: str) -> None:
    instance = find(preset).instance(())
    assert not simulate(instance.system, instance.subject, instance.properties(name), 100, seed=1).witnessing
