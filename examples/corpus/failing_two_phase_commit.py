"""Two-phase commit with nodes that fail: a node that has failed counts as a vote against.

Source: aman-goel/ivybench, i4/ivy/two_phase_commit.ivy. Nothing departs. Default size: 4 nodes.
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
    Term,
    TermLike,
    each,
    eventually,
    everywhere,
    exists,
    family,
    forall,
    forall_over,
    implies,
    labels,
    parameter,
    switch,
    variable,
)


@dataclass(frozen=True)
class Parameters:
    """One instance."""

    nodes: int = parameter(4, "nodes")
    commit: str = switch(("all", "some"), "the votes that a commit needs", "a mistake")
    coordinator: str = switch(
        ("returns", "may_stay_away"),
        "whether the coordinator comes back after each crash",
        "not in the original",
    )


class State(StateSpace):
    """The votes, the orders and the decisions of the nodes, and whether something went wrong."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.node = labels("node", "n", parameters.nodes)
        self.yes = family(BOOL, self.node)
        self.no = family(BOOL, self.node)
        self.alive = family(BOOL, self.node, initial=True)
        self.go_commit = family(BOOL, self.node)
        self.go_abort = family(BOOL, self.node)
        self.committed = family(BOOL, self.node)
        self.aborted = family(BOOL, self.node)
        self.wrong = variable(BOOL)

    def open(self, node: TermLike) -> Term:
        """Return whether a node is alive and has not decided."""
        return self.alive[node] & ~self.committed[node] & ~self.aborted[node]


def vote_yes(s: State, node: Parameter) -> Action:
    """Vote for the commit."""
    return Action(when=s.open(node) & ~s.no[node], then=[s.yes[node].set(True)], actor=node)


def vote_no(s: State, node: Parameter) -> Action:
    """Vote against the commit, and abort."""
    then = [s.no[node].set(True), s.wrong.set(True), s.aborted[node].set(True)]
    return Action(when=s.open(node) & ~s.yes[node], then=then, actor=node)


def fail(s: State, node: Parameter) -> Action:
    """Fail."""
    return Action(when=s.alive[node], then=[s.alive[node].set(False), s.wrong.set(True)], actor=node)


def order_commit(s: State) -> Action:
    """Order all nodes to commit."""
    quantify = forall if s.parameters.commit == "all" else exists
    silent = forall(s.node, lambda n: ~s.go_commit[n] & ~s.go_abort[n])
    then = everywhere(s.node, lambda n: s.go_commit[n].set(True))
    return Action(when=silent & quantify(s.node, lambda n: s.yes[n]), then=then, actor="coordinator")


def order_abort(s: State) -> Action:
    """Order all nodes to abort."""
    silent = forall(s.node, lambda n: ~s.go_commit[n] & ~s.go_abort[n])
    then = everywhere(s.node, lambda n: s.go_abort[n].set(True))
    needed = exists(s.node, lambda n: s.no[n] | ~s.alive[n])
    return Action(when=silent & needed, then=then, actor="coordinator")


def commit(s: State, node: Parameter) -> Action:
    """Commit as ordered."""
    return Action(when=s.alive[node] & s.go_commit[node], then=[s.committed[node].set(True)], actor=node)


def abort(s: State, node: Parameter) -> Action:
    """Abort as ordered."""
    return Action(when=s.alive[node] & s.go_abort[node], then=[s.aborted[node].set(True)], actor=node)


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    consistent = Property(
        name="consistent",
        meaning="a commit has all votes and no abort beside it, and an abort has a reason",
        holds=forall_over(
            (s.node, s.node),
            lambda m, n: implies(s.committed[m], ~s.aborted[n] & s.yes[n]) & implies(s.aborted[m], s.wrong),
        ),
        witness=exists(s.node, lambda n: s.committed[n]),
        witness_meaning="a node has committed",
    )
    ends = eventually(
        "all-decide",
        "each node decides or fails",
        forall(s.node, lambda n: ~s.open(n)),
    )
    fair = "weak, any of orders" if p.coordinator == "returns" else None
    votes = [each(handler, s, s.node, fair="weak, any of votes by node") for handler in (vote_yes, vote_no)]
    orders = [each(handler, s, fair=fair) for handler in (order_commit, order_abort)]
    decisions = [each(handler, s, s.node, fair="weak") for handler in (commit, abort)]
    return System(s, (*votes, each(fail, s, s.node), *orders, *decisions), (consistent, ends))


PROTOCOL = Protocol(
    "failing-two-phase-commit",
    "two-phase commit with nodes that fail",
    Parameters(),
    build,
    sources=("ivybench, i4/ivy/two_phase_commit.ivy",),
)
