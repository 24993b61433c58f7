"""A small system with several initial states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fencepost.encoding.check import check
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Result
from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.declarations import Initial, InitialAt, anything, one_of
from fencepost.encoding.language.quantifiers import at_least, exists
from fencepost.encoding.language.sorts import BOOL, integers, labels
from fencepost.encoding.language.state import StateSpace, choice, family, variable
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import Parameter, Term
from fencepost.encoding.language.traces import Subject
from support.bare import Bare

SUBJECT = Subject("begins", {}, {})


class Nodes(StateSpace):
    """Nodes of which some are up and one leads; no action changes the leader."""

    def __init__(self, up: InitialAt = anything, leader: Initial = anything) -> None:
        self.node = labels("node", "n", 3)
        self.leader = variable(self.node, initial=leader)
        self.up = family(BOOL, self.node, initial=up)
        self.acted = family(BOOL, self.node)
        self.number = variable(integers(0, 2), initial=one_of(2, 1))
        self.lost = choice(fault="lost")


def act(s: Nodes, node: Parameter) -> Action:
    """Act once, as a leader that is up; then be down."""
    leads = s.leader == node
    then = [s.acted[node].set(True), s.up[node].set(False), s.number.set(0)]
    return Action(s.up[node] & leads & ~s.acted[node], then, node)


def nodes(
    holds: Callable[[Nodes], Term], beginning: Callable[[Nodes], Term] | None = None, **initial: Any
) -> System:
    """Return the system of the nodes with one property."""
    s = Nodes(**initial)
    acted = exists(s.node, lambda n: s.acted[n])
    prop = Property("p", "", holds(s), acted, "a node has acted")
    return System(s, (each(act, s, s.node),), (prop,), beginning=None if beginning is None else beginning(s))


def third_never_acts(s: Nodes) -> Term:
    return ~s.acted["n3"]


def two_are_up(s: Nodes) -> Term:
    return at_least(2, s.node, lambda n: s.up[n])


def result(system: System, *engines: str) -> Result:
    """Check the property of a system in this process, by these engines."""
    limits = Limits(jobs=1, engines=engines)
    (found,) = check(Bare(system, SUBJECT), system.properties, limits).results
    return found
