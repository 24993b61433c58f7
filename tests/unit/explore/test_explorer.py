"""The explorer's statements about a state: the possible actions, the reasons against others, the path."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.protocol import Instance, load
from fencepost.explore.explorer import Explorer, Here
from fencepost.explore.guards import Reason, ShownGuard
from fencepost.explore.paths import LONGEST, ExplorerPath, Lose, Move, Take
from fencepost.explore.views import view
from fencepost.properties.catalogue import find

EXAMPLES = Path(__file__).parents[3] / "examples"
INSTANCES = ("bookkeeper-4.13", "verified-log-01", "two_copies.py")


@cache
def explorer(name: str) -> Explorer:
    protocol = load(EXAMPLES / name) if name.endswith(".py") else find(name)
    return Explorer(protocol.instance())


def simulated(explore: Explorer, seed: int, most: int) -> list[Here]:
    """Return the ends of a random simulation, in which a message under way is lost now and then."""
    chance, path = random.Random(seed), ExplorerPath()
    found = [explore.at(path)]
    while len(found) <= most:
        here = found[-1]
        losing: list[Move] = [
            Lose(explore.names.choices[t.message.choice]) for t in here.under_way if t.message.choice
        ]
        taking: list[Move] = [Take(option.action) for option in here.possible if option.error is None]
        moves = losing if losing and chance.random() < 0.2 else taking
        if not moves:
            return found
        path = path.then(chance.choice(moves))
        found.append(explore.at(path))
    return found


@pytest.mark.parametrize("name", INSTANCES)
@pytest.mark.parametrize("seed", range(3))
def test_every_action_is_possible_or_has_a_reason(name: str, seed: int) -> None:
    explore = explorer(name)
    steps = explore.replayer.concrete.steps
    for here in simulated(explore, seed, 25)[::4]:
        enabled = set(here.enabled)
        assert enabled == {s.action for s in steps if next(s.successors(here.state), None) is not None}
        assert enabled.isdisjoint(here.refused) and enabled | here.refused.keys() == set(explore.guards)
        for action, guard in explore.guards.items():
            reasons = guard.reasons(here.state)
            assert len(reasons) == here.refused.get(action, (0, False))[0], action.name


@pytest.mark.parametrize("name", INSTANCES)
@pytest.mark.parametrize("seed", range(3))
def test_a_path_move_by_move_is_the_path_as_a_whole(name: str, seed: int) -> None:
    explore = explorer(name)
    here = simulated(explore, seed, 25)[-1]
    trace = explore.replayer.record(here.trace.property, here.actions, here.lost)
    assert trace == here.trace
    anew = Explorer(explore.instance).at(ExplorerPath().then(*here.moves))
    assert (anew.states, anew.steps, anew.false_since) == (here.states, here.steps, here.false_since)
    for name_, since in here.false_since.items():
        assert name_ in explore.false(here.states[since])
        assert not [state for state in here.states[:since] if name_ in explore.false(state)]


def test_what_an_action_would_do_it_does() -> None:
    explore = explorer("bookkeeper-4.13")
    for here in simulated(explore, 5, 12):
        for option in here.possible:
            after = explore.at(ExplorerPath().then(*here.moves, Take(option.action)))
            assert (after.state, after.steps[-1]) == (option.after, option.step)


def leaves(reasons: tuple[Reason, ...]) -> list[Reason]:
    return [leaf for reason in reasons for leaf in (leaves(reason.because) or [reason])]


def test_reasons_go_down_to_what_the_variables_hold() -> None:
    explore = explorer("two_copies.py")
    here = explore.at(ExplorerPath())
    action = explore.names.action("acknowledge(1)")
    found = leaves(explore.guards[action].reasons(here.state))
    assert ("answered[1, c1]", ("answered[1, c1] = no",)) in {(leaf.text, leaf.values) for leaf in found}


def test_a_message_lost_ends_an_action_for_ever() -> None:
    explore = explorer("two_copies.py")
    sent = explore.at(ExplorerPath().then(Take(explore.names.action("send(1)"))))
    (choice, *_) = [travel.message.choice for travel in sent.under_way]
    assert choice is not None
    lost = explore.at(ExplorerPath().then(*sent.moves, Lose(explore.names.choices[choice])))
    (gone,) = lost.no_longer
    assert gone in sent.enabled and lost.refused[gone][1], "for ever"
    (reason,) = explore.guards[gone].reasons(lost.state)
    assert reason.for_ever


def test_an_action_that_is_badly_defined_is_named_and_cannot_be_taken() -> None:
    explore = explorer("two_copies.py")
    (send, *others) = explore.system.schemas
    twice = replace(send, action=replace(send.action, then=[*send.action.then, *send.action.then]))
    system = replace(explore.system, actions=(twice, *others))
    instance = explore.instance
    bad = Explorer(Instance(replace(instance.protocol, build=lambda _: system), instance.parameters))
    (offer, *_) = view(bad.at(ExplorerPath())).possible
    assert offer.error is not None and "sets sent[1] twice" in offer.error
    with pytest.raises(BadInput, match="twice"):
        bad.at(bad.names.path([offer.name]))


def test_a_path_has_an_end() -> None:
    explore = explorer("two_copies.py")
    with pytest.raises(BadInput, match="at most 1000"):
        explore.names.path(["send(1)"] * (LONGEST + 1))


def test_the_state_does_not_depend_on_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.explore.explorer.KEPT", 2)
    explore = Explorer(explorer("two_copies.py").instance)
    ends = simulated(explore, 1, 8)
    assert [explore.at(ExplorerPath().then(*here.moves)).states for here in ends] == [
        here.states for here in ends
    ]


def test_a_guard_that_loses_a_conjunct_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    # Planted: a guard without one conjunct. The comparison above notices it.
    whole = ShownGuard.lacking

    def less(self: ShownGuard, state: bytes) -> tuple[int, bool]:
        count, over = whole(self, state)
        return max(0, count - 1), over

    monkeypatch.setattr(ShownGuard, "lacking", less)
    here = Explorer(explorer("two_copies.py").instance).at(ExplorerPath())
    everything: set[GroundAction] = set(here.explorer.guards)
    assert set(here.enabled) | here.refused.keys() != everything
