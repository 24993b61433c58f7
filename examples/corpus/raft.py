"""Raft: elections and logs, with two rules without which a committed entry is lost.

Source: Vanlightly/raft-tlaplus, standard-raft/Raft.tla, after Ongaro's raft.tla. These things depart: a
message stays after it was sent; an entry is the term in which it was written; a message brings one entry; a
commit is seen at the leader only; a leader that leaves its term can no longer act in it, so a restart changes
nothing more. Default sizes: 3 servers, 2 terms, logs of 2 entries.
"""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.encoding.language import (
    BOOL,
    Action,
    Parameter,
    Property,
    Protocol,
    Sequence,
    StateSpace,
    System,
    Term,
    TermLike,
    at,
    at_least,
    count,
    each,
    exists,
    family,
    forall,
    if_,
    integers,
    labels,
    last,
    leads_to,
    length,
    optional,
    parameter,
    sequences,
    switch,
)


@dataclass(frozen=True)
class Parameters:
    """One instance, and two rules of Raft."""

    servers: int = parameter(3, "servers")
    terms: int = parameter(2, "terms, the first of which is 1")
    entries: int = parameter(2, "entries of a log")
    vote: str = switch(
        ("recent", "any"),
        "whether a vote is only for a log that is at least as recent as the own one",
        "Ongaro and Ousterhout, section 5.4.1",
    )
    commit: str = switch(
        ("own_term", "any_term"),
        "whether a leader counts copies of entries of its own term only",
        "Ongaro and Ousterhout, section 5.4.2 and figure 8",
    )


class State(StateSpace):
    """The servers, the votes, the logs of the leaders, and what was ever committed."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.server = labels("server", "n", parameters.servers)
        self.term_value = integers(1, parameters.terms)
        self.index = integers(1, parameters.entries)
        log = sequences(self.term_value, most=parameters.entries)
        self.term = family(integers(0, parameters.terms), self.server)
        self.log = family(log, self.server)

        of_term = (self.term_value, self.server)
        self.asked = family(BOOL, *of_term)
        self.asked_term = family(integers(0, parameters.terms), *of_term)
        self.asked_length = family(integers(0, parameters.entries), *of_term)
        self.voted = family(optional(self.server), *of_term)
        self.leader = family(optional(self.server), self.term_value)
        self.led_log = family(log, self.term_value)
        self.stored = family(BOOL, *of_term, self.index)
        self.committed = family(BOOL, self.index, self.term_value)

    def last_term(self, server: TermLike) -> Term:
        """Return the term of the last entry of a server, or 0."""
        return if_(length(self.log[server]) == 0, 0, last(self.log[server]))

    def leads(self, server: TermLike, term: TermLike) -> Term:
        """Return whether a server is the leader of a term, which is its own."""
        return (self.leader[term] == server) & (self.term[server] == term)


def same_at(a: Sequence, b: Sequence, index: TermLike) -> Term:
    """Return whether two logs have one entry at an index."""
    return (length(a) >= index) & (length(b) >= index) & (at(a, index) == at(b, index))


def stand(s: State, server: Parameter, term: Parameter) -> Action:
    """Stand for the next term, and ask for votes (RequestVote)."""
    mine = term, server
    return Action(
        when=s.term[server] + 1 == term,
        then=[
            s.term[server].set(term),
            s.voted[mine].set(server),
            s.asked[mine].set(True),
            s.asked_term[mine].set(s.last_term(server)),
            s.asked_length[mine].set(length(s.log[server])),
        ],
        actor=server,
    )


def hear_term(s: State, server: Parameter, term: Parameter) -> Action:
    """Learn of a later term (UpdateTerm)."""
    known = exists(s.server, lambda n: s.asked[term, n])
    return Action(when=known & (s.term[server] < term), then=[s.term[server].set(term)], actor=server)


def vote(s: State, server: Parameter, candidate: Parameter, term: Parameter) -> Action:
    """Vote for a candidate (HandleRequestVoteRequest)."""
    theirs, own = s.asked_term[term, candidate], s.last_term(server)
    longer = (theirs == own) & (s.asked_length[term, candidate] >= length(s.log[server]))
    allowed = (theirs > own) | longer if s.parameters.vote == "recent" else True
    open_vote = (s.term[server] <= term) & (s.voted[term, server] == "none")
    return Action(
        when=s.asked[term, candidate] & open_vote & allowed,
        then=[s.term[server].set(term), s.voted[term, server].set(candidate)],
        actor=server,
    )


def become_leader(s: State, server: Parameter, term: Parameter) -> Action:
    """Become the leader of a term with the votes of a majority (BecomeLeader)."""
    elected = count(s.server, lambda n: s.voted[term, n] == server) * 2 > len(s.server)
    return Action(
        when=(s.term[server] == term) & (s.leader[term] == "none") & elected,
        then=[s.leader[term].set(server), s.led_log[term].set(s.log[server])],
        actor=server,
    )


def write(s: State, server: Parameter, term: Parameter) -> Action:
    """Append an entry of the own term to the log of a leader (ClientRequest)."""
    return Action(
        when=s.leads(server, term) & (length(s.log[server]) < s.parameters.entries),
        then=[s.log[server].append(term), s.led_log[term].append(term)],
        actor=server,
    )


def fits(s: State, server: TermLike, term: TermLike, index: TermLike) -> Term:
    """Return whether an entry of a leader arrives at a server that has the entry before it."""
    own, theirs = s.log[server], s.led_log[term]
    before = exists(s.index, lambda i: (i + 1 == index) & same_at(own, theirs, i))
    follows = (s.leader[term] != server) & (s.term[server] <= term)
    return (length(theirs) >= index) & follows & ((index == 1) | before)


def drop(s: State, server: Parameter, term: Parameter, index: Parameter) -> Action:
    """Drop the entries from one that differs from that of the leader (ConflictAppendEntriesRequest)."""
    own = s.log[server]
    differs = (length(own) >= index) & ~same_at(own, s.led_log[term], index)
    return Action(
        when=fits(s, server, term, index) & differs,
        then=[s.term[server].set(term), own.truncate(index - 1)],
        actor=server,
    )


def store(s: State, server: Parameter, term: Parameter, index: Parameter) -> Action:
    """Store an entry of a leader, unless it is there already, and answer (AcceptAppendEntriesRequest)."""
    own, theirs = s.log[server], s.led_log[term]
    next_one = length(own) + 1 == index
    return Action(
        when=fits(s, server, term, index) & (next_one | same_at(own, theirs, index)),
        then=[
            s.term[server].set(term),
            s.stored[term, server, index].set(True),
            own.append(at(theirs, index), when=next_one),
        ],
        actor=server,
    )


def commit(s: State, server: Parameter, term: Parameter, index: Parameter) -> Action:
    """Commit the entries that a majority has stored for a leader (AdvanceCommitIndex)."""
    log = s.log[server]

    def has(n: TermLike) -> Term:
        return (n == server) | exists(s.index, lambda i: (i >= index) & s.stored[term, n, i])

    own_term = at(log, index) == term if s.parameters.commit == "own_term" else True
    stored = count(s.server, has) * 2 > len(s.server)
    return Action(
        when=s.leads(server, term) & (length(log) >= index) & own_term & stored,
        then=[
            s.committed[i, t].set(True, when=(index >= i) & (at(log, i) == t))
            for i in s.index
            for t in s.term_value
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
        witness=exists(s.index, lambda i: s.committed[i, p.terms]),
        witness_meaning="an entry of the last term is committed",
    )
    final = p.terms
    has_entry = exists(
        s.server, lambda n: s.leads(n, final) & exists(s.index, lambda i: at(s.log[n], i) == final)
    )
    commits = leads_to(
        "stable-leader-commits",
        "an entry that the leader of the last term has written is committed",
        has_entry,
        exists(s.index, lambda i: s.committed[i, final]),
    )
    of_server = (s.server, s.term_value)
    actions = (
        each(stand, s, *of_server),
        each(hear_term, s, *of_server),
        each(vote, s, s.server, s.server, s.term_value),
        each(become_leader, s, *of_server),
        each(write, s, *of_server),
        each(drop, s, *of_server, s.index, fair="weak"),
        each(store, s, *of_server, s.index, fair="weak"),
        each(commit, s, *of_server, s.index, fair="weak"),
    )
    return System(s, actions, (agreed, commits))


PROTOCOL = Protocol(
    "raft",
    "Raft: elections and logs",
    Parameters(),
    build,
    sources=("Vanlightly/raft-tlaplus, standard-raft/Raft.tla",),
    not_modelled=("changes of the members", "the commit index of followers"),
)
