"""The declared test instances: between those of a preset every action fires, and messages arrive as they were sent."""

from __future__ import annotations

import pytest

from conjuncts import conjuncts, without
from fencepost.encoding.concrete.replaying import Replayer
from fencepost.encoding.concrete.walking import walk
from fencepost.encoding.errors import ModelError
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.language.system import System
from fencepost.encoding.language.traces import Subject
from fencepost.properties.catalogue import PROTOCOLS
from fencepost.properties.instances import EXERCISED, INSTANCES
from support.instances import built, fired, wanderings

ROUNDS = 6
"""A crash, the boot sequence and another crash, with a ledger in between, fit in so many."""


@pytest.mark.slow
@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_action_fires_on_some_declared_instance(name: str) -> None:
    systems = [built(name, settings)[0] for settings in INSTANCES[name]]
    dead = {schema.name for system in systems for schema in system.schemas}
    for system in systems:
        dead -= fired(system, dead & {schema.name for schema in system.schemas}, ROUNDS)
    assert not dead


@pytest.mark.parametrize("name", PROTOCOLS)
def test_no_sending_happens_twice_with_one_loss(name: str) -> None:
    for settings in INSTANCES[name]:
        sent_at_most_once(built(name, settings)[0])


WALKS = 20


def wander_and_look(system: System, walks: int) -> None:
    """Take random walks, and look at them as traces."""
    for _ in wanderings(Replayer(system, Subject("test", {}, {})), walks):
        pass


@pytest.mark.slow
@pytest.mark.parametrize("name", PROTOCOLS)
def test_what_random_walks_receive_is_under_way(name: str) -> None:
    for settings in INSTANCES[name]:
        wander_and_look(built(name, settings)[0], WALKS)


PLANTED = [
    ("handle add (writer)", 3, "never sent"),
    ("handle add (writer)", 4, "is lost"),
    ("handle add (writer)", 5, "received before"),
    ("receive ack (writer)", 2, "never sent"),
    ("receive ack (writer)", 3, "is lost"),
    ("receive ack (writer)", 5, "which was sent with .* fenced=yes, with .* fenced=no"),
    ("handle read", 3, "never sent"),
    ("receive fence answer", 3, "is lost"),
]


@pytest.mark.parametrize(("action", "position", "says"), PLANTED)
def test_a_guard_that_lets_something_else_be_received_is_found_out(
    action: str, position: int, says: str
) -> None:
    protocol = PROTOCOLS["bookkeeper-4.13"]
    system = protocol.build(protocol.defaults)
    conjunct = next(c for c in conjuncts(system) if (c.action, c.position) == (action, position))
    with pytest.raises(ModelError, match=says):
        wander_and_look(without(system, conjunct), 400)


CASES = [(preset, name) for preset, found in EXERCISED.items() for name in found]


@pytest.mark.parametrize(("preset", "name"), CASES)
def test_what_is_vacuous_by_default_is_exercised_where_it_says(preset: str, name: str) -> None:
    """Walks come upon its witness there."""
    instance = PROTOCOLS[preset].instance(EXERCISED[preset][name].items())
    properties = instance.properties(name)
    walks = (walk(instance.system, instance.subject, properties, 400, seed) for seed in range(1, 20))
    assert any(found.witnessing for found in walks)


@pytest.mark.slow
@pytest.mark.parametrize(("preset", "name"), CASES)
def test_by_default_it_is_not(preset: str, name: str) -> None:
    instance = PROTOCOLS[preset].instance(())
    assert not walk(instance.system, instance.subject, instance.properties(name), 100, seed=1).witnessing
