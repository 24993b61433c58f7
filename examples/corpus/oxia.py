"""Oxia replicates a log: a coordinator fences a majority and elects the node with the highest entry.

Source: oxia-db/oxia, tlaplus/OxiaReplication.tla, with MessagePassing.tla. The switches are rules of its Go
code and a hint of the spec. What departs: an election is its term, so coordinators have no names and no
number; a stop is left out, because a coordinator that stops does less, not more; values are written in their
order, and an entry is its value; of several nodes with the highest entry any may win; entries go to one
follower at a time; a step that sends an entry, a truncation or a late follower delivers it too; a follower is
not told from a fenced node, because no rule needs it. Default sizes: 3 nodes, 2 terms, 1 value.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from fencepost.encoding.language import (
    BOOL,
    Action,
    Parameter,
    Property,
    Protocol,
    StateSpace,
    Subset,
    System,
    Term,
    TermLike,
    count,
    definition,
    each,
    exists,
    exists_over,
    family,
    forall,
    forall_over,
    if_,
    implies,
    integers,
    is_in,
    labels,
    members,
    optional,
    parameter,
    require,
    set_of,
    size,
    subsets,
    switch,
    those,
    variable,
)


@dataclass(frozen=True)
class Parameters:
    """One instance, and five rules."""

    nodes: int = parameter(3, "nodes")
    replication: int = parameter(3, "nodes of the ensemble (RepFactor)")
    terms: int = parameter(2, "terms (MaxTerms)")
    values: int = parameter(1, "values that clients write")
    election: str = switch(
        ("entry", "offset", "either"),
        "whether the highest entry wins, the highest offset, or any that none beats in both term and offset",
        "oxia-db/oxia, pull request 579; its first mend, which 598 mends",
    )
    commit: str = switch(
        ("own_term", "any_term"),
        "whether a leader commits entries of its own term only",
        "OxiaReplication.tla, LeaderHandlesEntryConfirm",
    )
    truncation: str = switch(
        ("once", "until_found"),
        "whether a follower is truncated once, or until the leader has its last entry",
        "OxiaReplication.tla, NodeHandlesTruncateRequest; a mend",
    )
    serve: str = switch(
        ("complete", "early"),
        "whether a leader serves only once it has applied its log, or also if that failed",
        "oxia-db/oxia, pull request 621",
    )
    swap: str = switch(
        ("none", "caught_up", "unchecked"),
        "whether a node may be replaced: never, if all have what the leader had at its election, or always",
        "oxia-db/oxia, pull request 798",
    )

    def __post_init__(self) -> None:
        """Refuse an ensemble that is larger than the cluster."""
        nodes, replication = self.nodes, self.replication
        require(
            "replication <= nodes",
            replication <= nodes,
            {"replication": replication, "nodes": nodes},
            "an ensemble has no more members than there are nodes",
        )


class Stage(Enum):
    """How far the election of a term is."""

    FENCING = "fencing"
    CHOSEN = "chosen"
    LED = "led"
    ELECTED = "elected"
    FAILED = "failed"


class Cursor(Enum):
    """What a leader does with a follower."""

    NONE = "none"
    TRUNCATES = "truncates"
    ATTACHED = "attached"


class State(StateSpace):
    """The elections, the nodes, and the entries: an entry is the value that it has, and 0 is none."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = p = parameters
        self.node = labels("node", "n", p.nodes)
        self.term_value = integers(1, p.terms)
        self.value = integers(1, p.values)
        self.entry = integers(0, p.values)
        term, nodes = integers(0, p.terms), subsets(self.node)
        first = list(self.node)[: p.replication]

        self.newest = variable(term)
        self.ensemble = variable(nodes, initial=first)
        self.removed = variable(nodes)
        self.stage = family(members(Stage), self.term_value)
        self.voters = family(nodes, self.term_value, initial=first)
        self.candidates = family(nodes, self.term_value, initial=first)
        self.told = family(nodes, self.term_value)
        self.told_last = family(self.entry, self.term_value, self.node)
        self.heard = family(nodes, self.term_value)
        self.winner = family(optional(self.node), self.term_value)

        self.term = family(term, self.node)
        self.leads = family(BOOL, self.node)
        self.log = family(subsets(self.value), self.node)
        self.last = family(self.entry, self.node)
        self.commit = family(self.entry, self.node)
        self.unapplied = family(subsets(self.value), self.node)
        self.cursor = family(members(Cursor), self.node, self.node)
        self.pushed = family(self.entry, self.node, self.node)
        self.acked = family(self.entry, self.node, self.node)

        self.entry_term = family(term, self.entry)
        self.offset = family(self.entry, self.entry)
        self.confirmed = family(BOOL, self.value)

    @definition
    def is_higher(self, a: TermLike, b: TermLike) -> Term:
        """Return whether an entry is of a later term, or has a higher offset in the same one (IsHigherId)."""
        term, offset = self.entry_term, self.offset
        return (term[a] > term[b]) | ((term[a] == term[b]) & (offset[a] > offset[b]))

    def is_leader(self, node: TermLike) -> Term:
        """Return whether the metadata name a node as the leader."""
        return exists(
            self.term_value,
            lambda t: (self.newest == t) & (self.stage[t] == Stage.ELECTED) & (self.winner[t] == node),
        )

    def is_highest(self, entry: TermLike, of: Any) -> Term:
        """Return whether an entry is the highest of those for which a condition holds; 0 if there is none."""
        found = exists(self.value, lambda v: (v == entry) & of(v))
        above = exists(self.value, lambda v: of(v) & self.is_higher(v, entry))
        return ((entry == 0) | found) & ~above

    def is_next(self, node: TermLike, entry: TermLike, after: TermLike) -> Term:
        """Return whether an entry is the next one after another in the log of a node (NextEntry)."""

        def follows(v: TermLike) -> Term:
            return is_in(v, self.log[node]) & self.is_higher(v, after)

        return follows(entry) & ~exists(self.value, lambda v: follows(v) & self.is_higher(entry, v))

    def needs_truncation(self, leader: TermLike, last: TermLike) -> Term:
        """Return whether the last entry of a follower is of another term, or higher (NeedsTruncation)."""
        own = self.last[leader]
        return (self.entry_term[last] != self.entry_term[own]) | (self.offset[last] > self.offset[own])

    def set_cursor(self, leader: TermLike, follower: TermLike, last: TermLike, when: TermLike) -> list[Any]:
        """Return the updates by which a leader begins with a follower that has a last entry (GetCursor)."""
        cut = self.needs_truncation(leader, last)
        return [
            self.cursor[leader, follower].set(if_(cut, Cursor.TRUNCATES, Cursor.ATTACHED), when=when),
            *[e[leader, follower].set(last, when=~cut & when) for e in (self.pushed, self.acked)],
        ]

    def forget_cursors(self, leader: TermLike) -> list[Any]:
        """Return the updates by which a node stops to lead."""
        return [
            self.leads[leader].set(False),
            *[self.cursor[leader, f].set(Cursor.NONE) for f in self.node],
            *[e[leader, f].set(0) for f in self.node for e in (self.pushed, self.acked)],
        ]


def start_election(s: State, term: Parameter) -> Action:
    """Start the election of the next term (CoordinatorStarts, CoordinatorStartsElection)."""
    then: list[Any] = [s.newest.set(term)]
    if s.parameters.swap != "none":
        then += [s.candidates[term].set(s.ensemble), s.voters[term].set(s.ensemble | s.removed)]
    return Action(when=s.newest + 1 == term, then=then, actor="coordinator")


def swap(s: State, term: Parameter, old: Parameter, new: Parameter) -> Action:
    """Start an election in which a node takes the place of another one (swapNode)."""
    ensemble = (s.ensemble - set_of(s.node, old)) | set_of(s.node, new)

    def caught_up(t: TermLike, leader: TermLike) -> Term:
        at_election = s.offset[s.told_last[t, leader]]

        def stored(n: TermLike) -> Term:
            return (s.term[n] == t) & (s.offset[s.last[n]] >= at_election)

        everywhere = forall(s.node, lambda n: implies(is_in(n, s.ensemble), stored(n)))
        return (s.newest == t) & s.is_leader(leader) & everywhere

    ready = exists_over((s.term_value, s.node), caught_up) if s.parameters.swap == "caught_up" else True
    return Action(
        when=(s.newest + 1 == term) & is_in(old, s.ensemble) & ~is_in(new, s.ensemble) & ready,
        then=[
            s.newest.set(term),
            s.ensemble.set(ensemble),
            s.removed.set((s.removed | set_of(s.node, old)) - set_of(s.node, new)),
            s.candidates[term].set(ensemble),
            s.voters[term].set(ensemble | s.removed | set_of(s.node, old)),
        ],
        actor="coordinator",
    )


def fence(s: State, node: Parameter, term: Parameter) -> Action:
    """Go to a new term, stop to lead or to follow, and tell the last entry (NodeHandlesFencingRequest)."""
    return Action(
        when=(s.newest >= term) & is_in(node, s.voters[term]) & (s.term[node] < term),
        then=[
            s.term[node].set(term),
            s.told[term].add(node),
            s.told_last[term, node].set(s.last[node]),
            *s.forget_cursors(node),
        ],
        actor=node,
    )


def hear(s: State, term: Parameter, node: Parameter) -> Action:
    """Hear what a node told, until a majority did (CoordinatorHandlesPreQuorumFencingResponse)."""
    open_still = (s.stage[term] == Stage.FENCING) & (size(s.heard[term]) * 2 <= size(s.voters[term]))
    return Action(
        when=open_still & is_in(node, s.told[term] - s.heard[term]),
        then=[s.heard[term].add(node)],
        actor="coordinator",
    )


def choose(s: State, term: Parameter, node: Parameter) -> Action:
    """Choose the leader of a term (CoordinatorHandlesQuorumFencingResponse)."""
    entry, own = s.told_last, s.told_last[term, node]
    known = s.heard[term] & s.candidates[term]

    def beats(n: TermLike) -> Term:
        theirs = entry[term, n]
        further = s.offset[theirs] > s.offset[own]
        rule = {
            "entry": s.is_higher(theirs, own),
            "offset": further,
            "either": further & (s.entry_term[theirs] >= s.entry_term[own]),
        }
        return is_in(n, known) & rule[s.parameters.election]

    ready = (s.stage[term] == Stage.FENCING) & (size(s.heard[term]) * 2 > size(s.voters[term]))
    return Action(
        when=ready & is_in(node, known) & ~exists(s.node, beats),
        then=[s.winner[term].set(node), s.stage[term].set(Stage.CHOSEN)],
        actor="coordinator",
    )


def leadership(s: State, node: Parameter, term: Parameter, stage: Stage) -> Action:
    """Return the step by which a chosen node begins to lead, and leaves its election at a stage."""
    followers = s.heard[term] & s.candidates[term]
    updates = [
        update
        for f in s.node
        for update in s.set_cursor(node, f, s.told_last[term, f], is_in(f, followers) & (node != f))
    ]
    chosen = (s.stage[term] == Stage.CHOSEN) & (s.winner[term] == node)
    return Action(
        when=chosen & (s.term[node] == term),
        then=[s.leads[node].set(True), s.stage[term].set(stage), *updates],
        actor=node,
    )


def become_leader(s: State, node: Parameter, term: Parameter) -> Action:
    """Lead, attach those that are not ahead, and truncate the others (NodeHandlesBecomeLeaderRequest)."""
    return leadership(s, node, term, Stage.LED)


def fail_to_lead(s: State, node: Parameter, term: Parameter) -> Action:
    """Answer with an error, and lead all the same, with a log that is not applied."""
    return leadership(s, node, term, Stage.FAILED)


def finish_election(s: State, term: Parameter) -> Action:
    """Name the leader in the metadata (CoordinatorHandlesBecomeLeaderResponse)."""
    swaps = s.parameters.swap != "none"
    return Action(
        when=(s.newest == term) & (s.stage[term] == Stage.LED),
        then=[s.stage[term].set(Stage.ELECTED), *([s.removed.set(set_of(s.node))] if swaps else [])],
        actor="coordinator",
    )


def add_follower(s: State, leader: Parameter, follower: Parameter, term: Parameter) -> Action:
    """Begin with a node that was fenced late.

    It is CoordinatorHandlesPostQuorumFencingResponse and LeaderHandlesAddFollowerRequest in one.
    """
    late = is_in(follower, s.told[term] & s.candidates[term]) & (s.cursor[leader, follower] == Cursor.NONE)
    ready = s.leads[leader] & (s.term[leader] == term) & (s.stage[term] == Stage.ELECTED)
    return Action(
        when=(leader != follower) & ready & late,
        then=s.set_cursor(leader, follower, s.told_last[term, follower], True),
        actor=leader,
    )


def truncate(s: State, follower: Parameter, leader: Parameter, cut: Parameter, last: Parameter) -> Action:
    """Drop the entries above the highest one that the leader has up to the follower's last term.

    It is NodeHandlesTruncateRequest and LeaderHandlesTruncateResponse in one.
    """
    theirs, own = s.log[leader], s.log[follower]
    last_term = s.entry_term[s.last[follower]]
    asked = s.leads[leader] & (s.cursor[leader, follower] == Cursor.TRUNCATES)
    found = is_in_log(s, last, theirs) if s.parameters.truncation == "until_found" else True
    attached = [
        s.cursor[leader, follower].set(Cursor.ATTACHED, when=found),
        *[e[leader, follower].set(last, when=found) for e in (s.pushed, s.acked)],
    ]
    return Action(
        when=(leader != follower)
        & asked
        & (s.term[follower] == s.term[leader])
        & s.is_highest(cut, lambda v: is_in(v, theirs) & (s.entry_term[v] <= last_term))
        & s.is_highest(last, lambda v: is_in(v, own) & ~s.is_higher(v, cut)),
        then=[
            own.set(own & those(s.value, lambda v: ~s.is_higher(v, cut))),
            s.last[follower].set(last),
            *attached,
        ],
        actor=follower,
    )


def is_in_log(s: State, entry: TermLike, log: Subset) -> Term:
    """Return whether a log has an entry, or the entry is none."""
    return (entry == 0) | exists(s.value, lambda v: (v == entry) & is_in(v, log))


def write(s: State, node: Parameter, value: Parameter) -> Action:
    """Append the next value to the log of a leader (Write)."""
    last_one = s.offset[s.last[node]]
    order = exists(s.value, lambda v: (v + 1 == value) & (s.entry_term[v] == 0))
    return Action(
        when=s.leads[node] & (s.entry_term[value] == 0) & ~order,
        then=[
            s.log[node].add(value),
            s.last[node].set(value),
            s.entry_term[value].set(s.term[node]),
            s.offset[value].set(last_one + 1),
        ],
        actor=node,
    )


def send(s: State, leader: Parameter, follower: Parameter, entry: Parameter) -> Action:
    """Store the next entry of a leader (LeaderSendsEntriesToFollowers and FollowerConfirmsEntry)."""
    attached = s.leads[leader] & (s.cursor[leader, follower] == Cursor.ATTACHED)
    next_one = s.is_next(leader, entry, s.pushed[leader, follower])
    return Action(
        when=(leader != follower) & attached & (s.term[follower] <= s.term[leader]) & next_one,
        then=[
            s.pushed[leader, follower].set(entry),
            s.term[follower].set(s.term[leader]),
            s.log[follower].add(entry),
            s.last[follower].set(entry),
            s.commit[follower].set(s.commit[leader]),
        ],
        actor=follower,
    )


def abdicate(s: State, leader: Parameter, follower: Parameter) -> Action:
    """Stop to lead, as a follower is in a later term (FollowerRejectsEntry, LeaderHandlesEntryRejection)."""
    attached = s.leads[leader] & (s.cursor[leader, follower] == Cursor.ATTACHED)
    behind = s.is_higher(s.last[leader], s.pushed[leader, follower])
    return Action(
        when=attached & behind & (s.term[follower] > s.term[leader]),
        then=s.forget_cursors(leader),
        actor=leader,
    )


def confirm(s: State, leader: Parameter, follower: Parameter, entry: Parameter) -> Action:
    """Learn that a follower has an entry; commit what a majority has (LeaderHandlesEntryConfirm)."""
    cursor, acked = s.cursor[leader, follower], s.acked
    arrives = s.is_next(leader, entry, acked[leader, follower])
    arrives = arrives & ~s.is_higher(entry, s.pushed[leader, follower])

    def has(f: TermLike) -> Term:
        stored = (s.cursor[leader, f] == Cursor.ATTACHED) & ~s.is_higher(entry, acked[leader, f])
        return (f == follower) | stored

    own_term = s.entry_term[entry] == s.term[leader] if s.parameters.commit == "own_term" else True
    committed = (count(s.node, has) >= s.parameters.replication // 2) & own_term
    return Action(
        when=(leader != follower) & s.leads[leader] & (cursor == Cursor.ATTACHED) & arrives,
        then=[
            acked[leader, follower].set(entry),
            s.commit[leader].set(entry, when=committed & s.is_higher(entry, s.commit[leader])),
            s.confirmed[entry].set(True, when=committed),
            *(skip(s, leader, committed) if s.parameters.serve == "early" else []),
        ],
        actor=leader,
    )


def skip(s: State, leader: Parameter, committed: TermLike) -> list[Any]:
    """Return the updates for the entries that a leader leaves out as it commits one of its own term.

    They are those before its term that were not committed, if it leads in spite of an error.
    """
    term = s.term[leader]
    failed = exists(s.term_value, lambda t: (term == t) & (s.stage[t] == Stage.FAILED))

    def is_left_out(v: TermLike) -> Term:
        return is_in(v, s.log[leader]) & (s.entry_term[v] < term) & s.is_higher(v, s.commit[leader])

    unapplied = s.unapplied[leader]
    return [unapplied.set(unapplied | those(s.value, lambda v: failed & committed & is_left_out(v)))]


def properties(s: State) -> tuple[Property, ...]:
    """Return what the spec demands, and what a database demands."""
    last = s.parameters.terms

    def elected(t: TermLike) -> Term:
        return s.stage[t] == Stage.ELECTED

    def same_entry(v: TermLike, w: TermLike) -> Term:
        return (v != w) & (s.entry_term[v] == s.entry_term[w]) & (s.offset[v] == s.offset[w])

    def agrees(leader: TermLike, n: TermLike, v: TermLike) -> Term:
        committed = is_in(n, s.ensemble) & is_in(v, s.log[n]) & ~s.is_higher(v, s.commit[n])
        other = exists(s.value, lambda w: same_entry(v, w) & is_in(w, s.log[leader]))
        return implies(s.is_leader(leader) & committed, is_in(v, s.log[leader]) & ~other)

    survived = elected(last) & exists(
        s.value, lambda v: s.confirmed[v] & (s.entry_term[v] < last) & (s.entry_term[v] > 0)
    )
    applied = Property(
        name="confirmed-applied",
        meaning="the leader has applied each confirmed value that it holds committed",
        holds=forall_over(
            (s.node, s.value),
            lambda n, v: implies(s.is_leader(n) & s.confirmed[v], ~is_in(v, s.unapplied[n])),
        ),
        witness=survived,
        witness_meaning="a value is confirmed, and the last term has a leader",
    )
    return (
        Property(
            name="confirmed-kept",
            meaning="each confirmed value is in the log of the leader (NoLossOfConfirmedWrite)",
            holds=forall_over(
                (s.node, s.value),
                lambda n, v: implies(s.is_leader(n) & s.confirmed[v], is_in(v, s.log[n])),
            ),
            witness=survived,
            witness_meaning="a value is confirmed, and the last term has a leader",
        ),
        Property(
            name="logs-agree",
            meaning="the leader has each entry that a node of the ensemble holds committed (NoLogDivergence)",
            holds=forall_over((s.node, s.node, s.value), agrees),
            witness=elected(last)
            & exists_over((s.node, s.value), lambda n, v: ~s.is_leader(n) & (s.commit[n] == v)),
            witness_meaning="a follower holds an entry committed, and the last term has a leader",
        ),
        Property(
            name="legal-leader",
            meaning="the leader is in an ensemble of the wanted size (LegalLeaderAndEnsemble)",
            holds=(size(s.ensemble) == s.parameters.replication)
            & forall(s.node, lambda n: implies(s.is_leader(n), is_in(n, s.ensemble))),
            witness=elected(last),
            witness_meaning="the last term has a leader",
        ),
        *((applied,) if s.parameters.serve == "early" else ()),
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    of_node, pair = (s.node, s.term_value), (s.node, s.node)
    actions = (
        each(start_election, s, s.term_value),
        *((each(swap, s, s.term_value, *pair),) if p.swap != "none" else ()),
        each(fence, s, *of_node),
        each(hear, s, s.term_value, s.node),
        each(choose, s, s.term_value, s.node),
        each(become_leader, s, *of_node),
        *((each(fail_to_lead, s, *of_node),) if p.serve == "early" else ()),
        each(finish_election, s, s.term_value),
        each(add_follower, s, *pair, s.term_value),
        each(truncate, s, *pair, s.entry, s.entry),
        each(write, s, s.node, s.value),
        each(send, s, *pair, s.value),
        each(abdicate, s, *pair),
        each(confirm, s, *pair, s.value),
    )
    return System(s, actions, properties(s))


PROTOCOL = Protocol(
    "oxia",
    "Oxia: a coordinator elects the leader of a replicated log",
    Parameters(),
    build,
    sources=("oxia-db/oxia, tlaplus/OxiaReplication.tla",),
    not_modelled=("stops of a coordinator", "the database, except for entries that are left out"),
)
