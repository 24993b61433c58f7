"""Lassos: executions that repeat their last steps for ever, replayed on plain values.

A lasso refutes a property of liveness. The replay decides by itself since when the property is owed, that the
last state is the one in which the loop begins, and that the loop is fair. It takes nothing from the engine
that found the lasso but its actions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.steps import Beginning, State
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.fairness import Fair
from fencepost.encoding.language.system import Liveness
from fencepost.encoding.language.traces import FairInLoop, Loop, Trace


def replay_lasso(
    replayer: Replayer,
    prop: Liveness,
    actions: Sequence[GroundAction],
    choices: Iterable[str],
    beginning: Beginning,
    begins: int,
) -> Trace:
    """Return the trace of these actions, the last ones in a loop, which violate a property.

    The loop has those after the first `begins`. Raises NotAnExecution if a step is impossible, if the loop
    does not close or is not fair, or if the property is not owed in all of it.
    """
    choices = tuple(choices)
    states = replayer.follow(actions, choices, beginning)
    if not begins < len(states) or states[begins] != states[-1]:
        raise NotAnExecution(f"the loop that begins after step {begins} does not end where it begins")
    owed = owed_since(replayer, prop, states, begins)
    if owed is None:
        raise NotAnExecution(f"{prop.name} is not owed in the whole loop that begins after step {begins}")
    fair = tuple(_in_loop(replayer, one, actions, states, begins) for one in replayer.system.fairness)
    trace = replayer.trace(prop.name, actions, choices, states[0], replayer.steps(actions, states))
    return replace(trace, loop=Loop(begins, owed, fair))


def owed_since(replayer: Replayer, prop: Liveness, states: Sequence[State], loop: int) -> int | None:
    """Return the step since which all of the loop owes the property, or after which it is false in it."""
    begins, ends = (replayer.concrete.predicate(term) for term in (prop.witness, prop.holds))
    if prop.for_ever:
        return next((n for n in range(loop, len(states)) if not ends(states[n])), None)
    since: int | None = None
    for index, state in enumerate(states):
        if ends(state):
            since = None
        elif since is None and begins(state) and not (prop.at_first and index):
            since = index
    return since if since is not None and since <= loop else None


def _in_loop(
    replayer: Replayer, fair: Fair, actions: Sequence[GroundAction], states: Sequence[State], begins: int
) -> FairInLoop:
    """Return how a loop is fair to a set of actions. Raises NotAnExecution if it is not.

    A step of another action counts if it has the effect of one of them.
    """
    loop = range(begins, len(states))
    for index in loop[:-1]:
        if states[index + 1] in _successors(replayer, fair, states[index]) - {states[index]}:
            other = "" if actions[index] in fair.actions else ", which has its effect"
            return FairInLoop(fair.name, f"taken in step {index + 1}{other}")
    disabled = [index for index in loop if not _successors(replayer, fair, states[index]) - {states[index]}]
    if len(disabled) == len(loop):
        return FairInLoop(fair.name, "disabled in the whole loop")
    if fair.is_strong or not disabled:
        raise NotAnExecution(f"the loop is not fair to {fair.name}, which is enabled in it and never taken")
    return FairInLoop(fair.name, f"disabled after step {disabled[0]}" if disabled[0] else "disabled at first")


def _successors(replayer: Replayer, fair: Fair, state: State) -> set[State]:
    """Return the states that the actions lead to from this one."""
    steps = map(replayer.concrete.step, fair.actions)
    return {after for step in steps for after in step.successors(state)}
