"""Single-decree Paxos, written beside Lamport's TLA+: docs/from-tla.md compares the two line by line.

Its messages stay in the set of messages, as in the specification, and may be received again.
"""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.encoding.language import (
    Action,
    Parameter,
    Property,
    Protocol,
    StateSpace,
    Subset,
    System,
    Term,
    TermLike,
    any_of,
    channel,
    count,
    each,
    eventually,
    exists,
    exists_over,
    family,
    forall,
    forall_over,
    implies,
    integers,
    is_in,
    labels,
    majority,
    optional,
    parameter,
    subsets,
    switch,
)


@dataclass(frozen=True)
class Parameters:
    """One instance, and the value that a leader proposes."""

    acceptors: int = parameter(3, "acceptors")
    ballots: int = parameter(2, "ballots")
    values: int = parameter(2, "values that may be proposed")
    proposal: str = switch(
        ("highest", "any"),
        "whether a leader proposes the value of the highest ballot it heard of",
        "a mistake",
    )


class State(StateSpace):
    """The promises and votes of the acceptors, and all messages ever sent. Ballot 0 stands for no ballot."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.acceptor = labels("acceptor", "a", parameters.acceptors)
        self.value = labels("value", "v", parameters.values)
        self.ballot = integers(1, parameters.ballots)
        self.ballot_or_none = integers(0, parameters.ballots)
        self.value_or_none = optional(self.value)

        self.max_bal = family(self.ballot_or_none, self.acceptor)
        self.max_vbal = family(self.ballot_or_none, self.acceptor)
        self.max_val = family(self.value_or_none, self.acceptor)

        ballot, vote = {"bal": self.ballot}, {"mbal": self.ballot_or_none, "mval": self.value_or_none}
        proposal = {"bal": self.ballot, "val": self.value}
        self.m1a = channel("1a", "leader", self.acceptor, about=ballot, once=False)
        self.m1b = channel("1b", self.acceptor, "leader", about={**ballot, **vote}, once=False)
        self.m2a = channel("2a", "leader", self.acceptor, about=proposal, once=False)
        self.m2b = channel("2b", self.acceptor, "leader", about=proposal, once=False)

    def promised(
        self, quorum: Subset, ballot: TermLike, acceptor: TermLike, mbal: TermLike, mval: TermLike
    ) -> Term:
        """Return whether the message is in Q1b: an answer of the quorum for the ballot."""
        return is_in(acceptor, quorum) & self.m1b.is_sent(acceptor, ballot, mbal, mval)

    def is_chosen(self, value: TermLike) -> Term:
        """Return whether a majority has voted for the value in one ballot."""
        return exists(
            self.ballot,
            lambda b: count(self.acceptor, lambda a: self.m2b.is_sent(a, b, value)) * 2 > len(self.acceptor),
        )


def phase_1a(s: State, bal: Parameter) -> Action:
    """Ask all acceptors for a promise (Phase1a)."""
    return Action(actor="leader", sent=[s.m1a.send(a, bal) for a in s.acceptor])


def phase_1b(s: State, acceptor: Parameter, bal: Parameter) -> Action:
    """Promise to ignore smaller ballots, and tell the last vote (Phase1b)."""
    return Action(
        when=bal > s.max_bal[acceptor],
        then=[s.max_bal[acceptor].set(bal)],
        actor=acceptor,
        received=s.m1a.deliver(acceptor, bal),
        sent=[s.m1b.send(acceptor, bal, s.max_vbal[acceptor], s.max_val[acceptor])],
    )


def phase_2a(s: State, bal: Parameter, val: Parameter, quorum: Subset) -> Action:
    """Propose a value that is safe, once a quorum has promised (Phase2a)."""
    answers = (s.acceptor, s.ballot_or_none, s.value_or_none)
    proposed = exists_over((s.acceptor, s.value), lambda a, v: s.m2a.is_sent(a, bal, v))
    all_answered = forall(
        s.acceptor,
        lambda a: implies(
            is_in(a, quorum),
            exists_over(answers[1:], lambda mbal, mval: s.promised(quorum, bal, a, mbal, mval)),
        ),
    )
    none_voted = forall_over(
        answers, lambda a, mbal, mval: implies(s.promised(quorum, bal, a, mbal, mval), mbal == 0)
    )

    def is_highest(mbal: TermLike) -> Term:
        return forall_over(
            answers, lambda a, other, mval: implies(s.promised(quorum, bal, a, other, mval), other <= mbal)
        )

    highest = exists_over(
        (s.acceptor, s.ballot), lambda a, mbal: s.promised(quorum, bal, a, mbal, val) & is_highest(mbal)
    )
    safe = any_of(none_voted, highest) if s.parameters.proposal == "highest" else True
    return Action(
        when=majority(quorum, s.acceptor) & ~proposed & all_answered & safe,
        actor="leader",
        sent=[s.m2a.send(a, bal, val) for a in s.acceptor],
    )


def phase_2b(s: State, acceptor: Parameter, bal: Parameter, val: Parameter) -> Action:
    """Vote for a proposal, unless a larger ballot has the promise (Phase2b)."""
    return Action(
        when=bal >= s.max_bal[acceptor],
        then=[s.max_bal[acceptor].set(bal), s.max_vbal[acceptor].set(bal), s.max_val[acceptor].set(val)],
        actor=acceptor,
        received=s.m2a.deliver(acceptor, bal, val),
        sent=[s.m2b.send(acceptor, bal, val)],
    )


def agreement(s: State) -> Property:
    """Return the main property."""
    return Property(
        name="agreement",
        meaning="no two values are chosen",
        holds=forall_over((s.value, s.value), lambda v, w: implies(s.is_chosen(v) & s.is_chosen(w), v == w)),
        witness=exists(s.value, s.is_chosen),
        witness_meaning="a value is chosen",
    )


def decides(s: State) -> Property:
    """Return the property of liveness. No leader begins a ballot after the last one, so that one succeeds."""
    return eventually("value-chosen", "a value is chosen", exists(s.value, s.is_chosen))


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    actions = (
        each(phase_1a, s, s.ballot, fair="weak"),
        each(phase_1b, s, s.acceptor, s.ballot, fair="weak"),
        each(phase_2a, s, s.ballot, s.value, subsets(s.acceptor), fair="weak, any by bal"),
        each(phase_2b, s, s.acceptor, s.ballot, s.value, fair="weak"),
    )
    return System(s, actions, (agreement(s), decides(s)))


PROTOCOL = Protocol(
    name="paxos",
    summary="acceptors choose at most one value, whichever leaders propose which values",
    defaults=Parameters(),
    build=build,
    sources=("Lamport, Paxos Made Simple; specifications/Paxos/Paxos.tla of tlaplus/Examples",),
    not_modelled=("learners: a value is chosen once a majority has voted for it",),
)
