"""How a goal can become true from a state: the solver's answer against all states reachable from there."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.concrete.steps import UNDECIDED, State
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.errors import InternalError
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import Term
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.rounds.reachability import PathEnd, Reachability, ReachabilityAnswer
from support.generated import by_seeds, generate

SUBJECT = Subject("generated", {}, {})
LIMITS = Limits(timeout=600)


def begun(replayer: Replayer, chance: random.Random) -> PathEnd:
    """Return the end of a simulation of a few steps, in which something is lost or not."""
    system, concrete = replayer.system, replayer.concrete
    lost = [variable.name for variable in system.choices if chance.random() < 0.5]
    states, actions = replayer.follow([], lost), list[GroundAction]()
    for _ in range(chance.randrange(4)):
        steps = [step for step in concrete.steps if next(step.successors(states[-1]), None) is not None]
        if not steps:
            break
        actions.append(chance.choice(steps).action)
        states.append(replayer.after(actions[-1], states))
    return PathEnd(tuple(actions), tuple(lost), states[-1])


def undecided(concrete: Concrete, start: PathEnd) -> State:
    """Return the state in which every choice is open that is neither true nor was read."""
    looked = {place for action in start.actions for place in concrete.step(action).choices}
    state = bytearray(start.state)
    for variable in concrete.system.choices:
        if variable.place not in looked and variable.name not in start.lost:
            state[variable.place] = UNDECIDED
    return bytes(state)


def distance(concrete: Concrete, start: PathEnd, goal: Term | GroundAction) -> int | None:
    """Return the fewest steps to the goal, by visiting all states; None if it cannot be reached."""

    def reached(state: State) -> bool:
        if isinstance(goal, GroundAction):
            return next(concrete.step(goal).successors(state), None) is not None
        return concrete.predicate(goal)(state)

    level, steps = [undecided(concrete, start)], 0
    seen = set(level)
    while level:
        if any(map(reached, level)):
            return steps
        following = {after for state in level for step in concrete.steps for after in step.successors(state)}
        level, steps = [state for state in following if state not in seen], steps + 1
        seen.update(level)
    return None


def goals(system: System) -> Iterator[Term | GroundAction]:
    yield system.ground_actions[-1]
    yield ~system.properties[0].holds


def answered(replayer: Replayer, start: PathEnd, goal: Term | GroundAction) -> ReachabilityAnswer:
    question = Reachability(replayer, start, goal, LIMITS)
    try:
        return question.hear(60)
    finally:
        question.stop()


def steps_of(answer: ReachabilityAnswer) -> int | None:
    """Return the steps of the shortest path, or None if there is none; fail if the solver gave up."""
    assert answer.over, answer
    assert answer.fewest or answer.never, answer
    return len(answer.way.actions) if answer.way is not None else None


def differing(seeds: range) -> tuple[list[int], list[int | None]]:
    """Return the seeds whose answers differ from those of visiting all states, and all answers."""
    wrong, found = [], list[int | None]()
    for seed in seeds:
        replayer = Replayer(generate(seed), SUBJECT)
        start = begun(replayer, random.Random(seed))
        for goal in goals(replayer.system):
            found.append(distance(replayer.concrete, start, goal))
            if steps_of(answered(replayer, start, goal)) != found[-1]:
                wrong.append(seed)
    return wrong, found


@by_seeds(2, 30)
def test_the_shortest_way_is_that_of_visiting_all_states(seeds: range) -> None:
    wrong, found = differing(seeds)
    assert not wrong
    if len(seeds) > 10:
        assert None in found and 0 in found and max(steps or 0 for steps in found) > 1, (
            "the sample says something"
        )


@pytest.mark.slow
@pytest.mark.parametrize("planted", ["the initial state", "the choices made"])
def test_a_question_that_begins_elsewhere_is_noticed(planted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if planted == "the choices made":
        monkeypatch.setattr(Reachability, "_given", lambda self: {})
    else:
        monkeypatch.setattr(Reachability, "_initial", lambda self: self.prepared.template.initial)
    try:
        wrong, _ = differing(range(30))
    except InternalError as error:
        assert "does not replay" in str(error)
    else:
        assert wrong
