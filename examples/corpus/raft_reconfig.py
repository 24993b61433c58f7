"""Raft changes its members one server at a time: the algorithm with its mistake of 2015.

Source: Ongaro, bug in single-server membership changes (raft-dev, 2015), and Vanlightly/raft-tlaplus,
RaftWithReconfigAddRemove.tla. Much departs: an election is one step, and so is a copy of the leader's whole
log. Each entry has a term, a server keeps the configuration of its last entry only, and an entry that changes
no member stands for all others. The switch leaves out the mend of 2015: a leader commits an entry of its own
term before it changes a member. Default sizes: 4 servers, 3 terms, logs of 2 entries, at least 3 members.
"""

from __future__ import annotations

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
    at_least,
    each,
    everywhere,
    exists,
    family,
    forall,
    implies,
    integers,
    labels,
    parameter,
    switch,
)


@dataclass(frozen=True)
class Parameters:
    """One instance, and the rule that was missing in 2015."""

    servers: int = parameter(4, "servers")
    terms: int = parameter(3, "terms")
    entries: int = parameter(2, "entries of a log")
    smallest: int = parameter(3, "the smallest number of members")
    own_term: str = switch(
        ("committed", "ignored"),
        "whether a leader commits an entry of its own term before it changes a member",
        "Ongaro, bug in single-server membership changes, raft-dev, 2015",
    )


def is_majority(votes: frozenset[str], members: frozenset[str]) -> bool:
    """Return whether votes are those of most members and of nobody else."""
    return votes <= members and 2 * len(votes) > len(members)


class State(StateSpace):
    """The logs of the servers, the leaders, and what was ever committed. Index 0 is the beginning."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables, and constant tables about sets of servers."""
        self.parameters = parameters
        self.server = labels("server", "n", parameters.servers)
        names = [str(server) for server in self.server]
        sizes = range(1, len(names) + 1)
        of = {"{" + ",".join(c) + "}": frozenset(c) for size in sizes for c in combinations(names, size)}
        large = [name for name, chosen in of.items() if len(chosen) >= parameters.smallest]
        self.members = Sort("members", tuple(large))
        self.votes = Sort("votes", tuple(q for q in of if any(is_majority(of[q], of[c]) for c in large)))
        self.contains = family(BOOL, self.members, self.server, initial=lambda c, s: s in of[c])
        self.votes_of = family(BOOL, self.votes, self.server, initial=lambda c, s: s in of[c])
        self.majority = family(BOOL, self.votes, self.members, initial=lambda q, c: is_majority(of[q], of[c]))
        self.differs_by_one = family(
            BOOL, self.members, self.members, initial=lambda c, d: len(of[c] ^ of[d]) == 1
        )

        self.index = integers(0, parameters.entries)
        self.term_value = integers(0, parameters.terms)
        self.term = family(self.term_value, self.server)
        self.leader = family(BOOL, self.server)
        self.length = family(self.index, self.server)
        self.commit = family(self.index, self.server)
        self.entry_term = family(self.term_value, self.server, self.index)
        self.everybody = large[-1]
        self.config = family(self.members, self.server, initial=self.everybody)
        self.committed = family(BOOL, self.index, self.term_value)

    def last_term(self, server: TermLike) -> Term:
        """Return the term of the last entry of a server, or 0."""
        return self.entry_term[server, self.length[server]]


def elect(s: State, server: Parameter, term: Parameter, votes: Parameter) -> Action:
    """Become the leader of a later term with the votes of a majority."""

    def may_vote(t: TermLike) -> Term:
        longer = (s.last_term(server) == s.last_term(t)) & (s.length[server] >= s.length[t])
        recent = (s.last_term(server) > s.last_term(t)) | longer
        return implies(s.votes_of[votes, t], (s.term[t] < term) & recent)

    elected = s.majority[votes, s.config[server]] & s.votes_of[votes, server]
    return Action(
        when=elected & forall(s.server, may_vote),
        then=[
            *everywhere(s.server, lambda t: s.term[t].set(term, when=s.votes_of[votes, t])),
            *everywhere(s.server, lambda t: s.leader[t].set(t == server, when=s.votes_of[votes, t])),
        ],
        actor=server,
    )


def append(s: State, server: Parameter, members: Parameter) -> Action:
    """Append an entry to the log of a leader: with its members, or with one of them added or removed."""
    old, length = s.config[server], s.length[server]
    settled = s.commit[server] == length
    if s.parameters.own_term == "committed":
        settled = settled & (s.last_term(server) == s.term[server])
    change = settled & s.differs_by_one[old, members] & s.contains[members, server]
    return Action(
        when=s.leader[server] & (length < s.parameters.entries) & ((members == old) | change),
        then=[
            s.length[server].set(length + 1),
            s.entry_term[server, length + 1].set(s.term[server]),
            s.config[server].set(members),
        ],
        actor=server,
    )


def replicate(s: State, leader: Parameter, server: Parameter) -> Action:
    """Copy the log of a leader to another server, which follows it."""
    entries = [s.entry_term[server, i].set(s.entry_term[leader, i]) for i in s.index]
    return Action(
        when=s.leader[leader] & (leader != server) & (s.term[server] <= s.term[leader]),
        then=[
            s.term[server].set(s.term[leader]),
            s.leader[server].set(False),
            s.length[server].set(s.length[leader]),
            s.commit[server].set(s.commit[leader], when=s.commit[leader] > s.commit[server]),
            s.config[server].set(s.config[leader]),
            *entries,
        ],
        actor=leader,
    )


def commit(s: State, server: Parameter) -> Action:
    """Commit the log of a leader that a majority has, if its last entry is of the leader's term."""
    last, term = s.length[server], s.last_term(server)

    stored = exists(
        s.votes,
        lambda q: (
            s.majority[q, s.config[server]]
            & forall(s.server, lambda t: implies(s.votes_of[q, t], s.entry_term[t, last] == term))
        ),
    )
    return Action(
        when=s.leader[server] & (last > s.commit[server]) & (term == s.term[server]) & stored,
        then=[
            s.commit[server].set(last),
            *[
                s.committed[i, t].set(True, when=(s.entry_term[server, i] == t) & (last >= i))
                for i in s.index
                for t in s.term_value
                if i != 0 and t != 0
            ],
        ],
        actor=server,
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    agreed = Property(
        name="one-entry-committed",
        meaning="no two entries are committed at one index",
        holds=forall(s.index, lambda i: ~at_least(2, s.term_value, lambda t: s.committed[i, t])),
        witness=exists(s.server, lambda n: (s.config[n] != s.everybody) & (s.commit[n] == s.length[n])),
        witness_meaning="a change of the members is committed",
    )
    actions = (
        each(elect, s, s.server, s.term_value, s.votes),
        each(append, s, s.server, s.members),
        each(replicate, s, s.server, s.server),
        each(commit, s, s.server),
    )
    return System(s, actions, (agreed,))


PROTOCOL = Protocol(
    "raft-reconfig",
    "Raft adds or removes one server at a time",
    Parameters(),
    build,
    sources=("raft-dev 2015; Vanlightly/raft-tlaplus",),
)
