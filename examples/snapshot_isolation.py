"""Snapshot isolation, as an abstract specification.

A transaction reads its own writes, and otherwise the values that were committed when it began. The first
committer wins: it commits only if no other transaction has committed a write to one of its keys since then
(Berenson and others, 1995; PL-SI of Adya, 1999). A transaction runs once and writes its own name, so a key
whose value is still the one in the snapshot was not written. `key_value_store.py` refines this file.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fencepost.encoding.language import (
    Action,
    Parameter,
    Property,
    Protocol,
    StateSpace,
    System,
    Term,
    each,
    exists_over,
    family,
    forall,
    forall_over,
    if_,
    implies,
    is_in,
    labels,
    members,
    optional,
    parameter,
    subsets,
)


class Phase(Enum):
    """The phases of a transaction."""

    IDLE = "idle"
    RUNNING = "running"
    COMMITTED = "committed"
    ABORTED = "aborted"


@dataclass(frozen=True)
class Parameters:
    """The sizes."""

    transactions: int = parameter(2, "transactions")
    keys: int = parameter(2, "keys")


class State(StateSpace):
    """The committed value of each key, and for each transaction its snapshot, writes and reads."""

    def __init__(self, p: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = p
        self.tx = labels("transaction", "t", p.transactions)
        self.key = labels("key", "k", p.keys)
        value = optional(self.tx, "initial")
        self.phase = family(members(Phase), self.tx)
        self.store = family(value, self.key)
        self.snapshot = family(value, self.tx, self.key)
        self.writes = family(subsets(self.key), self.tx)
        self.reads = family(subsets(self.key), self.tx)
        self.seen = family(value, self.tx, self.key)


def begin(s: State, tx: Parameter) -> Action:
    """Begin, and keep the committed values."""
    snapshot = [s.snapshot[tx, k].set(s.store[k]) for k in s.key]
    return Action(when=s.phase[tx] == Phase.IDLE, then=[s.phase[tx].set(Phase.RUNNING), *snapshot])


def read(s: State, tx: Parameter, key: Parameter) -> Action:
    """Read a key: the transaction's own write, or the value in its snapshot."""
    value = if_(is_in(key, s.writes[tx]), tx, s.snapshot[tx, key])
    return Action(when=s.phase[tx] == Phase.RUNNING, then=[s.reads[tx].add(key), s.seen[tx, key].set(value)])


def write(s: State, tx: Parameter, key: Parameter) -> Action:
    """Write a key; no other transaction sees it before the commit."""
    return Action(when=s.phase[tx] == Phase.RUNNING, then=[s.writes[tx].add(key)])


def commit(s: State, tx: Parameter) -> Action:
    """Commit all writes at once, if no other commit wrote one of these keys since the transaction began."""
    is_first = forall(s.key, lambda k: implies(is_in(k, s.writes[tx]), s.store[k] == s.snapshot[tx, k]))
    store = [s.store[k].set(tx, when=is_in(k, s.writes[tx])) for k in s.key]
    return Action(
        when=(s.phase[tx] == Phase.RUNNING) & is_first, then=[s.phase[tx].set(Phase.COMMITTED), *store]
    )


def abort(s: State, tx: Parameter) -> Action:
    """Give up."""
    return Action(when=s.phase[tx] == Phase.RUNNING, then=[s.phase[tx].set(Phase.ABORTED)])


def build(p: Parameters) -> System:
    """Return the system of an instance."""
    s = State(p)

    def both_wrote(a: Parameter, b: Parameter, k: Parameter) -> Term:
        one, other = ((s.phase[t] == Phase.COMMITTED) & is_in(k, s.writes[t]) for t in (a, b))
        return (a != b) & one & other

    no_lost_update = Property(
        name="no-lost-update",
        meaning="two transactions that commit a write to one key have not begun with the same value of it",
        holds=forall_over(
            (s.tx, s.tx, s.key),
            lambda a, b, k: implies(both_wrote(a, b, k), s.snapshot[a, k] != s.snapshot[b, k]),
        ),
        witness=exists_over((s.tx, s.tx, s.key), both_wrote),
        witness_meaning="two transactions commit a write to one key",
    )
    actions = (
        *(each(act, s, s.tx) for act in (begin, commit, abort)),
        *(each(act, s, s.tx, s.key) for act in (read, write)),
    )
    return System(s, actions, (no_lost_update,))


PROTOCOL = Protocol(
    name="snapshot-isolation",
    summary="snapshot isolation, as an abstract specification",
    defaults=Parameters(),
    build=build,
    sources=(
        "Berenson and others: A Critique of ANSI SQL Isolation Levels, SIGMOD 1995",
        "Adya: Weak Consistency, MIT 1999",
    ),
)
