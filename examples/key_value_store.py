"""A key-value store with transactions. It refines `snapshot_isolation.py`.

`KVsnap` of `tlaplus/Examples`, `KeyValueStore/KVsnap.tla`. The store copies its values for a transaction that
begins. A commit tells each open transaction which keys it has missed, and one that has missed a key that it
writes aborts. Departures: a transaction reads and writes key by key, its writes stay apart from its copy, and
it is not open any more after an abort. The original looks for an order of all transactions that explains the
values read. `Termination` is its property of liveness.
"""

from __future__ import annotations

from dataclasses import dataclass

import snapshot_isolation as abstract  # type: ignore[import-not-found]  # a file beside this one
from snapshot_isolation import Phase

from fencepost.encoding.language import (
    Action,
    Parameter,
    Protocol,
    StateSpace,
    System,
    at_least,
    each,
    eventually,
    family,
    forall,
    full,
    if_,
    is_in,
    labels,
    members,
    optional,
    overlap,
    parameter,
    refines,
    subsets,
    switch,
)

STEPS = "weak, any of steps by tx"
"""The fairness of each transaction: some step of it is taken if one is enabled all the time."""


@dataclass(frozen=True)
class Parameters:
    """The sizes, and two rules."""

    transactions: int = parameter(2, "transactions, each of which runs once")
    keys: int = parameter(2, "keys")
    commit: str = switch(
        ("checks", "blind"), "whether a commit looks at the keys that were missed", "blind: a lost update"
    )
    reads: str = switch(
        ("copy", "store"), "where a transaction reads a key that it has not written", "store: read skew"
    )


class State(StateSpace):
    """The values, and for each transaction its copy of them, its writes, its reads, and what it missed."""

    def __init__(self, p: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = p
        self.tx = labels("transaction", "t", p.transactions)
        self.key = labels("key", "k", p.keys)
        value = optional(self.tx, "initial")
        self.phase = family(members(Phase), self.tx)
        self.store = family(value, self.key)
        self.copy = family(value, self.tx, self.key)
        self.missed = family(subsets(self.key), self.tx)
        self.writes = family(subsets(self.key), self.tx)
        self.reads = family(subsets(self.key), self.tx)
        self.seen = family(value, self.tx, self.key)


def open_transaction(s: State, tx: Parameter) -> Action:
    """Begin with a copy of the values (START)."""
    copy = [s.copy[tx, k].set(s.store[k]) for k in s.key]
    return Action(when=s.phase[tx] == Phase.IDLE, then=[s.phase[tx].set(Phase.RUNNING), *copy])


def get(s: State, tx: Parameter, key: Parameter) -> Action:
    """Read a key (READ)."""
    other = s.copy[tx, key] if s.parameters.reads == "copy" else s.store[key]
    value = if_(is_in(key, s.writes[tx]), tx, other)
    return Action(when=s.phase[tx] == Phase.RUNNING, then=[s.reads[tx].add(key), s.seen[tx, key].set(value)])


def put(s: State, tx: Parameter, key: Parameter) -> Action:
    """Write a key (UPDATE)."""
    return Action(when=s.phase[tx] == Phase.RUNNING, then=[s.writes[tx].add(key)])


def close_transaction(s: State, tx: Parameter) -> Action:
    """Commit, and tell the open transactions what they missed; abort after a conflict (COMMIT)."""
    commits = ~overlap(s.missed[tx], s.writes[tx]) if s.parameters.commit == "checks" else True
    written = [(k, commits & is_in(k, s.writes[tx])) for k in s.key]
    store = [s.store[k].set(tx, when=when) for k, when in written]
    tell = [
        s.missed[t].add(k, when=when & (t != tx) & (s.phase[t] == Phase.RUNNING))
        for t in s.tx
        for k, when in written
    ]
    ends = s.phase[tx].set(if_(commits, Phase.COMMITTED, Phase.ABORTED))
    return Action(when=s.phase[tx] == Phase.RUNNING, then=[ends, *store, *tell])


def build(p: Parameters) -> System:
    """Return the system of an instance."""
    s = State(p)
    refinement = refines(
        "is-snapshot-isolation",
        "each step is one of snapshot isolation",
        abstract.build(abstract.Parameters(p.transactions, p.keys)),
        {
            "phase": lambda t: s.phase[t],
            "store": lambda k: s.store[k],
            "snapshot": lambda t, k: s.copy[t, k],
            "writes": lambda t: s.writes[t],
            "reads": lambda t: s.reads[t],
            "seen": lambda t, k: s.seen[t, k],
        },
        witness=at_least(2, s.tx, lambda t: (s.phase[t] == Phase.COMMITTED) & (s.writes[t] == full(s.key))),
        witness_meaning="two transactions commit, and write all keys",
    )
    ends = eventually(
        "all-end",
        "each transaction commits or aborts (Termination)",
        forall(s.tx, lambda t: (s.phase[t] == Phase.COMMITTED) | (s.phase[t] == Phase.ABORTED)),
    )
    return System(
        s,
        (
            each(open_transaction, s, s.tx, fair=STEPS),
            each(get, s, s.tx, s.key, fair=STEPS),
            each(put, s, s.tx, s.key, fair=STEPS),
            each(close_transaction, s, s.tx, fair=STEPS),
        ),
        (refinement, ends),
    )


PROTOCOL = Protocol(
    name="key-value-store",
    summary="a key-value store with transactions, against snapshot isolation",
    defaults=Parameters(),
    build=build,
    sources=("https://github.com/tlaplus/Examples/blob/master/specifications/KeyValueStore/KVsnap.tla",),
)
