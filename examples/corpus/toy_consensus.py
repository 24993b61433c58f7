"""A toy consensus: each node votes once, and a value with a majority is decided.

Source: aman-goel/ivybench, ex/ivy/toy_consensus.ivy. One thing departs: the quorums are the majorities, where
the original has any sets that overlap. Default sizes: 3 nodes, 3 values.
"""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.encoding.language import (
    BOOL,
    Action,
    Parameter,
    Property,
    Protocol,
    StateSpace,
    System,
    at_least,
    each,
    exists,
    family,
    forall,
    labels,
    parameter,
    switch,
)


@dataclass(frozen=True)
class Parameters:
    """One instance."""

    nodes: int = parameter(3, "nodes")
    values: int = parameter(3, "values")
    votes: str = switch(("one", "many"), "whether a node votes once", "a mistake")


class State(StateSpace):
    """The votes and the decisions."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.node = labels("node", "n", parameters.nodes)
        self.value = labels("value", "v", parameters.values)
        self.vote = family(BOOL, self.node, self.value)
        self.decision = family(BOOL, self.value)


def cast(s: State, node: Parameter, value: Parameter) -> Action:
    """Vote for a value."""
    first = forall(s.value, lambda v: ~s.vote[node, v]) if s.parameters.votes == "one" else True
    return Action(when=~s.vote[node, value] & first, then=[s.vote[node, value].set(True)], actor=node)


def decide(s: State, value: Parameter) -> Action:
    """Decide a value with a majority."""
    chosen = at_least(len(s.node) // 2 + 1, s.node, lambda n: s.vote[n, value])
    return Action(when=chosen, then=[s.decision[value].set(True)], actor="learner")


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    agreement = Property(
        name="agreement",
        meaning="no two values are decided",
        holds=~at_least(2, s.value, lambda v: s.decision[v]),
        witness=exists(s.value, lambda v: s.decision[v]),
        witness_meaning="a value is decided",
    )
    return System(s, (each(cast, s, s.node, s.value), each(decide, s, s.value)), (agreement,))


PROTOCOL = Protocol(
    "toy-consensus",
    "each node votes once, and a majority decides",
    Parameters(),
    build,
    sources=("ivybench, ex/ivy/toy_consensus.ivy",),
)
