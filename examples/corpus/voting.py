"""Voting: acceptors choose a value by votes in numbered ballots, the algorithm that Paxos implements.

Source: tlaplus/Examples, PaxosHowToWinATuringAward/Voting.tla (Lamport), with MCVoting.cfg: three acceptors,
two values, the ballots 0 to 2, the majorities as quorums; no symmetry, view or constraint.
Nothing departs. The switch is the experiment that the spec asks its reader to make.
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
    each,
    exists,
    exists_over,
    family,
    forall,
    forall_over,
    implies,
    integers,
    labels,
    parameter,
    switch,
)


@dataclass(frozen=True)
class Parameters:
    """One instance."""

    acceptors: int = parameter(3, "acceptors")
    values: int = parameter(2, "values")
    ballots: int = parameter(3, "ballots, the first of which is 0")
    quorums: str = switch(
        ("majorities", "single"), "the sets of acceptors that choose", "a mistake: single ones do not overlap"
    )


class State(StateSpace):
    """The votes, and the ballot below which an acceptor votes no more."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        last = parameters.ballots - 1
        self.acceptor = labels("acceptor", "a", parameters.acceptors)
        self.value = labels("value", "v", parameters.values)
        self.ballot = integers(0, last)
        names = [str(acceptor) for acceptor in self.acceptor]
        size = 1 if parameters.quorums == "single" else len(names) // 2 + 1
        of = {"{" + ",".join(chosen) + "}": chosen for chosen in combinations(names, size)}
        self.quorum = Sort("quorum", tuple(of))
        self.contains = family(BOOL, self.quorum, self.acceptor, initial=lambda q, a: a in of[q])

        self.voted = family(BOOL, self.acceptor, self.ballot, self.value)
        self.max_ballot = family(integers(-1, last), self.acceptor)

    def chosen(self, value: TermLike) -> Term:
        """Return whether a quorum has voted for a value in one ballot."""
        return exists_over(
            (self.ballot, self.quorum),
            lambda b, q: forall(
                self.acceptor, lambda a: implies(self.contains[q, a], self.voted[a, b, value])
            ),
        )

    def shows_safe(self, quorum: TermLike, ballot: TermLike, value: TermLike) -> Term:
        """Return whether a quorum shows that no other value can be chosen below a ballot (ShowsSafeAt)."""

        def silent(after: TermLike) -> Term:
            return forall_over(
                (self.ballot, self.acceptor, self.value),
                lambda d, a, v: implies(
                    (d > after) & (d < ballot) & self.contains[quorum, a], ~self.voted[a, d, v]
                ),
            )

        latest = exists_over(
            (self.ballot, self.acceptor),
            lambda c, a: (c < ballot) & self.contains[quorum, a] & self.voted[a, c, value] & silent(c),
        )
        here = forall(
            self.acceptor, lambda a: implies(self.contains[quorum, a], self.max_ballot[a] >= ballot)
        )
        return here & (silent(-1) | latest)


def increase(s: State, acceptor: Parameter, ballot: Parameter) -> Action:
    """Go on to a later ballot (IncreaseMaxBal)."""
    return Action(
        when=ballot > s.max_ballot[acceptor], then=[s.max_ballot[acceptor].set(ballot)], actor=acceptor
    )


def vote(s: State, acceptor: Parameter, ballot: Parameter, value: Parameter) -> Action:
    """Vote for a value that is safe in a ballot (VoteFor)."""
    first = forall(s.value, lambda v: ~s.voted[acceptor, ballot, v])
    alone = forall_over(
        (s.acceptor, s.value), lambda a, v: implies((a != acceptor) & s.voted[a, ballot, v], v == value)
    )
    safe = exists(s.quorum, lambda q: s.shows_safe(q, ballot, value))
    return Action(
        when=(s.max_ballot[acceptor] <= ballot) & first & alone & safe,
        then=[s.voted[acceptor, ballot, value].set(True), s.max_ballot[acceptor].set(ballot)],
        actor=acceptor,
    )


def one_chosen(s: State) -> Property:
    """Return the property of consensus."""
    return Property(
        name="one-chosen",
        meaning="no two values are chosen",
        holds=forall_over((s.value, s.value), lambda v, w: implies(s.chosen(v) & s.chosen(w), v == w)),
        witness=exists(s.value, lambda v: s.chosen(v)),
        witness_meaning="a value is chosen",
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    actions = (each(increase, s, s.acceptor, s.ballot), each(vote, s, s.acceptor, s.ballot, s.value))
    return System(s, actions, (one_chosen(s),))


PROTOCOL = Protocol(
    name="voting",
    summary="acceptors choose a value by votes in numbered ballots",
    defaults=Parameters(),
    build=build,
    sources=("tlaplus/Examples, PaxosHowToWinATuringAward/Voting.tla",),
)
