"""MongoLoglessDynamicRaft: replicas change their configuration without a log.

Source: will62794/logless-reconfig, MongoLoglessDynamicRaft.tla (Schultz, Dardik, Tripakis, Design and
Analysis of a Logless Dynamic Reconfiguration Protocol, OPODIS 2021). State variables and actions are those
of the spec, and the bounds of terms and versions are its constraint. One thing departs: an action chooses
the first configuration, so there is one state and one step more than in TLC. Each switch leaves out one
condition of a reconfiguration. Sizes: 3 to 5 servers, terms and versions up to 4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

from fencepost.encoding.language import (
    BOOL,
    Action,
    Parameter,
    Property,
    Protocol,
    Sort,
    StateSpace,
    System,
    Term,
    TermLike,
    each,
    everywhere,
    exists,
    family,
    forall,
    forall_over,
    implies,
    integers,
    labels,
    parameter,
    switch,
)

SOURCE = "the paper, section 3: without it two primaries of one term are possible"


@dataclass(frozen=True)
class Parameters:
    """One instance, and the conditions of a reconfiguration."""

    servers: int = parameter(3, "servers")
    terms: int = parameter(2, "terms after the first one, 0 (MaxTerm)")
    versions: int = parameter(3, "versions of the configuration (MaxConfigVersion)")
    overlap: str = switch(("required", "ignored"), "whether old and new quorums must overlap", SOURCE)
    config_check: str = switch(
        ("required", "ignored"), "whether a quorum must have the configuration before the next one", SOURCE
    )
    term_check: str = switch(
        ("required", "ignored"), "whether a quorum must have the term of the primary", SOURCE
    )


NONE = "{}"
"""No configuration: before the first step."""


def quorums(members: frozenset[str]) -> list[frozenset[str]]:
    """Return the majorities of a set."""
    sizes = range(len(members) // 2 + 1, len(members) + 1) if members else ()
    return [frozenset(chosen) for size in sizes for chosen in combinations(sorted(members), size)]


class State(StateSpace):
    """Term, role and configuration of each server, and three constant tables about sets of servers."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.server = labels("server", "n", parameters.servers)
        names = [str(server) for server in self.server]
        subsets = [frozenset(c) for size in range(len(names) + 1) for c in combinations(names, size)]
        of = {"{" + ",".join(sorted(members)) + "}": members for members in subsets}
        self.config_value = Sort("configuration", tuple(of))

        self.contains = family(BOOL, self.config_value, self.server, initial=lambda c, s: s in of[c])
        self.majority = family(
            BOOL, self.config_value, self.config_value, initial=lambda q, c: of[q] in quorums(of[c])
        )
        self.overlaps = family(
            BOOL,
            self.config_value,
            self.config_value,
            initial=lambda c, d: all(q & r for q in quorums(of[c]) for r in quorums(of[d])),
        )

        version = integers(1, parameters.versions)
        term = integers(0, parameters.terms)
        self.term = family(term, self.server)
        self.primary = family(BOOL, self.server)
        self.version = family(version, self.server)
        self.config_term = family(term, self.server)
        self.config = family(self.config_value, self.server)

    def newer(self, a: TermLike, b: TermLike) -> Term:
        """Return whether the configuration of `a` is newer than that of `b`."""
        higher = self.version[a] > self.version[b]
        same = self.config_term[a] == self.config_term[b]
        return (self.config_term[a] > self.config_term[b]) | (same & higher)

    def same(self, a: TermLike, b: TermLike) -> Term:
        """Return whether the configurations of `a` and `b` have one term and version."""
        return (self.config_term[a] == self.config_term[b]) & (self.version[a] == self.version[b])


def begin(s: State, config: Parameter) -> Action:
    """Give all servers the first configuration."""
    return Action(
        when=forall(s.server, lambda t: s.config[t] == NONE) & (config != NONE),
        then=everywhere(s.server, lambda t: s.config[t].set(config)),
        actor="operator",
    )


def become_leader(s: State, server: Parameter, votes: Parameter) -> Action:
    """Become the primary of the next term with the votes of a quorum (BecomeLeader)."""
    term = s.term[server] + 1

    def may_vote(t: TermLike) -> Term:
        accepts = s.newer(server, t) | s.same(server, t)
        return implies(s.contains[votes, t], (s.term[t] < term) & accepts)

    voters = s.majority[votes, s.config[server]] & s.contains[votes, server]
    return Action(
        when=(s.term[server] < s.parameters.terms) & voters & forall(s.server, may_vote),
        then=[
            *everywhere(s.server, lambda t: s.term[t].set(term, when=s.contains[votes, t])),
            *everywhere(s.server, lambda t: s.primary[t].set(t == server, when=s.contains[votes, t])),
            s.config_term[server].set(term),
        ],
        actor=server,
    )


def reconfig(s: State, server: Parameter, config: Parameter) -> Action:
    """Change the configuration of a primary (Reconfig)."""

    def by_quorum(agrees: Callable[[TermLike], Term]) -> Term:
        return exists(
            s.config_value,
            lambda q: (
                s.majority[q, s.config[server]]
                & forall(s.server, lambda t: implies(s.contains[q, t], agrees(t)))
            ),
        )

    p = s.parameters
    has_config = by_quorum(lambda t: s.same(t, server)) if p.config_check == "required" else True
    has_term = by_quorum(lambda t: s.term[t] == s.term[server]) if p.term_check == "required" else True
    overlap = s.overlaps[s.config[server], config] if p.overlap == "required" else True
    enabled = s.primary[server] & s.contains[config, server] & (s.version[server] < p.versions)
    return Action(
        when=enabled & has_config & has_term & overlap,
        then=[
            s.config_term[server].set(s.term[server]),
            s.version[server].set(s.version[server] + 1),
            s.config[server].set(config),
        ],
        actor=server,
    )


def send_config(s: State, sender: Parameter, receiver: Parameter) -> Action:
    """Give a secondary a newer configuration (SendConfig)."""
    return Action(
        when=~s.primary[receiver] & s.newer(sender, receiver),
        then=[
            s.version[receiver].set(s.version[sender]),
            s.config_term[receiver].set(s.config_term[sender]),
            s.config[receiver].set(s.config[sender]),
        ],
        actor=sender,
    )


def update_terms(s: State, sender: Parameter, receiver: Parameter) -> Action:
    """Tell a server of a newer term; it becomes a secondary (UpdateTerms)."""
    return Action(
        when=s.term[sender] > s.term[receiver],
        then=[s.term[receiver].set(s.term[sender]), s.primary[receiver].set(False)],
        actor=sender,
    )


def one_primary(s: State) -> Property:
    """Return the property OnePrimaryPerTerm."""
    return Property(
        name="one-primary-per-term",
        meaning="no two servers are primaries of the same term",
        holds=forall_over(
            (s.server, s.server),
            lambda a, b: implies(s.primary[a] & s.primary[b] & (s.term[a] == s.term[b]), a == b),
        ),
        witness=exists(s.server, lambda n: s.primary[n] & (s.version[n] > 1)),
        witness_meaning="a primary has changed its configuration",
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    actions = (
        each(begin, s, s.config_value),
        each(become_leader, s, s.server, s.config_value),
        each(update_terms, s, s.server, s.server),
        each(reconfig, s, s.server, s.config_value),
        each(send_config, s, s.server, s.server),
    )
    return System(s, actions, (one_primary(s),))


PROTOCOL = Protocol(
    name="logless-reconfig",
    summary="replicas change their configuration without a log (MongoLoglessDynamicRaft)",
    defaults=Parameters(),
    build=build,
    sources=("will62794/logless-reconfig, MongoLoglessDynamicRaft.tla",),
)
