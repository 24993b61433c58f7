"""Viewstamped Replication revisited: state transfer truncates a log, and a committed value is lost.

Source: Vanlightly/vsr-tlaplus, VSR.tla, with the defect of state transfer that its README describes. Three
replicas. These things depart: a message stays after it was sent, and a step that only records one is left
out; a view starts after two DoViewChange messages, not three; the answer to GetState is read off the peer,
and replaces the whole log; clients do not wait for each other; values are requested in their order. Default
sizes: 3 values, 3 views.
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
    all_of,
    at,
    each,
    exists,
    exists_over,
    family,
    forall,
    if_,
    implies,
    integers,
    length,
    parameter,
    sequences,
    switch,
    variable,
)


@dataclass(frozen=True)
class Parameters:
    """One instance, and two rules of the paper that lose data."""

    values: int = parameter(3, "values that clients request")
    views: int = parameter(3, "views, the first of which is 1")
    transfer: str = switch(
        ("replaces", "truncates"),
        "whether a replica that is behind keeps its log until it gets another, or truncates it first",
        "VSR.tla, defect 1; the mend is its idea (i)",
    )
    late_view: str = switch(
        ("ignored", "taken"),
        "whether a replica that is in a view already takes the log of its StartView",
        "VSR.tla, ReceiveSV: no such condition",
    )


class State(StateSpace):
    """The replicas, and the messages that were sent. The last normal view is 0 at first, as in the spec."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        values, views = parameters.values, parameters.views
        self.replica = integers(1, 3)
        self.in_view = integers(1, views)
        self.later = integers(2, views)
        self.value = integers(1, values)
        self.op = integers(1, values)
        number = integers(0, values)
        log = sequences(self.value, most=values)
        self.primary = family(self.replica, self.in_view, initial=lambda v: 1 + (v - 1) % 3)

        self.view = family(self.in_view, self.replica)
        self.changing = family(BOOL, self.replica)
        self.log = family(log, self.replica)
        self.commit = family(number, self.replica)
        self.last_normal = family(integers(0, views), self.replica)

        self.prepare = family(number, self.in_view, self.op)
        self.prepare_commit = family(number, self.in_view, self.op)
        self.prepare_ok = family(BOOL, self.in_view, self.op, self.replica)
        at_view = (self.later, self.replica)
        self.start_change = family(BOOL, *at_view)
        self.do_change = family(BOOL, *at_view)
        self.do_log = family(log, *at_view)
        self.do_last_normal = family(integers(0, views), *at_view)
        self.do_commit = family(number, *at_view)
        self.start = family(BOOL, self.later)
        self.start_log = family(log, self.later)
        self.start_commit = family(number, self.later)
        self.started = family(BOOL, *at_view)

        self.requested = variable(number)
        self.acknowledged = family(BOOL, self.value)

    def leads(self, replica: TermLike, view: TermLike) -> Term:
        """Return whether a replica is the primary of a view, which is its own, in normal status."""
        own = (self.primary[view] == replica) & (self.view[replica] == view)
        return own & ~self.changing[replica]

    def has(self, replica: TermLike, value: TermLike) -> Term:
        """Return whether a value is in the log of a replica."""
        log = self.log[replica]
        return exists(self.op, lambda i: (length(log) >= i) & (at(log, i) == value))

    def is_behind(self, replica: TermLike, view: TermLike) -> Term:
        """Return whether a Prepare of a later view leaves a gap after the log of a replica."""
        gap = exists(self.op, lambda o: (o > length(self.log[replica]) + 1) & (self.prepare[view, o] != 0))
        return ~self.changing[replica] & (self.view[replica] < view) & gap


def request(s: State, view: Parameter, replica: Parameter, op: Parameter) -> Action:
    """Append the next value to the log of a primary, which sends Prepare (ReceiveClientRequest)."""
    value = s.requested + 1
    return Action(
        when=s.leads(replica, view)
        & (length(s.log[replica]) + 1 == op)
        & (s.requested < s.parameters.values),
        then=[
            s.requested.set(value),
            s.log[replica].append(value),
            s.prepare[view, op].set(value),
            s.prepare_commit[view, op].set(s.commit[replica]),
        ],
        actor=replica,
    )


def receive_prepare(s: State, replica: Parameter, view: Parameter, op: Parameter) -> Action:
    """Append the next value to the log of a backup, and answer (ReceivePrepareMsg)."""
    fits = (s.view[replica] == view) & ~s.changing[replica] & (length(s.log[replica]) + 1 == op)
    return Action(
        when=(s.prepare[view, op] != 0) & (s.primary[view] != replica) & fits,
        then=[
            s.log[replica].append(s.prepare[view, op]),
            s.commit[replica].set(s.prepare_commit[view, op]),
            s.prepare_ok[view, op, replica].set(True),
        ],
        actor=replica,
    )


def execute(s: State, view: Parameter, replica: Parameter, op: Parameter) -> Action:
    """Commit the next value, which one backup has, and tell the client (ExecuteOp)."""
    log = s.log[replica]
    stored = exists_over((s.op, s.replica), lambda o, r: (o >= op) & s.prepare_ok[view, o, r])
    return Action(
        when=s.leads(replica, view) & (s.commit[replica] + 1 == op) & (length(log) >= op) & stored,
        then=[
            s.commit[replica].set(op),
            *[s.acknowledged[v].set(True, when=at(log, op) == v) for v in s.value],
        ],
        actor=replica,
    )


def change_view(s: State, replica: Parameter, view: Parameter) -> Action:
    """Leave for another view.

    A backup whose timer ends asks for the next one (TimerSendSVC). Others follow (ReceiveHigherSVC).
    """
    old = s.view[replica]
    timer = (s.primary[old] != replica) & (old + 1 == view)
    asked = exists(s.replica, lambda r: s.start_change[view, r])
    return Action(
        when=(old < view) & (timer | asked),
        then=[
            s.view[replica].set(view),
            s.changing[replica].set(True),
            s.start_change[view, replica].set(True),
        ],
        actor=replica,
    )


def do_view_change(s: State, replica: Parameter, view: Parameter) -> Action:
    """Send the own log to the primary of the new view, once another replica asks for it too (SendDVC)."""
    other = exists(s.replica, lambda r: (r != replica) & s.start_change[view, r])
    return Action(
        when=(s.view[replica] == view) & s.changing[replica] & ~s.do_change[view, replica] & other,
        then=[
            s.do_change[view, replica].set(True),
            s.do_log[view, replica].set(s.log[replica]),
            s.do_last_normal[view, replica].set(s.last_normal[replica]),
            s.do_commit[view, replica].set(s.commit[replica]),
        ],
        actor=replica,
    )


def start_view(s: State, view: Parameter, replica: Parameter, best: Parameter, other: Parameter) -> Action:
    """Start a view with the log of the later normal view, or else the longer one (SendSV)."""
    normal, log, commit = s.do_last_normal, s.do_log, s.do_commit
    longer = length(log[view, best]) >= length(log[view, other])
    better = normal[view, best] > normal[view, other]
    better = better | ((normal[view, best] == normal[view, other]) & longer)
    both = (best != other) & s.do_change[view, best] & s.do_change[view, other]
    highest = commit[view, best], commit[view, other]
    committed = if_(highest[0] > highest[1], *highest)
    own = (s.primary[view] == replica) & (s.view[replica] == view) & s.changing[replica]
    return Action(
        when=own & ~s.start[view] & both & better,
        then=[
            s.changing[replica].set(False),
            s.log[replica].set(log[view, best]),
            s.commit[replica].set(committed),
            s.last_normal[replica].set(view),
            s.start[view].set(True),
            s.start_log[view].set(log[view, best]),
            s.start_commit[view].set(committed),
        ],
        actor=replica,
    )


def receive_start(s: State, replica: Parameter, view: Parameter) -> Action:
    """Take the log of a new view, and answer for what is not committed (ReceiveSV)."""
    new = (s.view[replica] < view) | ((s.view[replica] == view) & s.changing[replica])
    allowed = new if s.parameters.late_view == "ignored" else s.view[replica] <= view
    log = s.start_log[view]
    open_ops = s.commit[replica] < length(log)
    return Action(
        when=s.start[view] & (s.primary[view] != replica) & ~s.started[view, replica] & allowed,
        then=[
            s.started[view, replica].set(True),
            s.view[replica].set(view),
            s.changing[replica].set(False),
            s.log[replica].set(log),
            s.commit[replica].set(s.start_commit[view]),
            s.last_normal[replica].set(view),
            *[s.prepare_ok[view, o, replica].set(True, when=open_ops & (length(log) == o)) for o in s.op],
        ],
        actor=replica,
    )


def truncate(s: State, replica: Parameter, view: Parameter) -> Action:
    """Go to a later view with the own committed values only, and ask for the others (SendGetState)."""
    commit, last = s.commit[replica], length(s.log[replica])
    return Action(
        when=s.is_behind(replica, view) & (s.primary[s.view[replica]] != replica),
        then=[
            s.log[replica].truncate(if_(commit < last, commit, last)),
            s.view[replica].set(view),
            s.last_normal[replica].set(view),
        ],
        actor=replica,
    )


def transfer(s: State, replica: Parameter, peer: Parameter, view: Parameter) -> Action:
    """Take the log of a peer in a view (ReceiveGetState and ReceiveNewState)."""
    there = (s.view[peer] == view) & ~s.changing[peer] & (length(s.log[peer]) > length(s.log[replica]))
    waits = [s.view[replica] == view, ~s.changing[replica], s.primary[view] != replica]
    behind = s.is_behind(replica, view) & (s.primary[s.view[replica]] != replica)
    ready = behind if s.parameters.transfer == "replaces" else all_of(*waits)
    return Action(
        when=there & ready,
        then=[
            s.log[replica].set(s.log[peer]),
            s.view[replica].set(view),
            s.last_normal[replica].set(view),
        ],
        actor=replica,
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    kept = Property(
        name="acknowledged-kept",
        meaning="each acknowledged value is in the log of some replica (AcknowledgedWriteNotLost)",
        holds=forall(s.value, lambda v: implies(s.acknowledged[v], exists(s.replica, lambda r: s.has(r, v)))),
        witness=exists(s.value, lambda v: s.acknowledged[v]) & exists(s.later, lambda v: s.start[v]),
        witness_meaning="a value is acknowledged, and a later view has started",
    )
    actions = (
        each(request, s, s.in_view, s.replica, s.op),
        each(receive_prepare, s, s.replica, s.in_view, s.op),
        each(execute, s, s.in_view, s.replica, s.op),
        each(change_view, s, s.replica, s.later),
        each(do_view_change, s, s.replica, s.later),
        each(start_view, s, s.later, s.replica, s.replica, s.replica),
        each(receive_start, s, s.replica, s.later),
        *((each(truncate, s, s.replica, s.later),) if p.transfer == "truncates" else ()),
        each(transfer, s, s.replica, s.replica, s.later),
    )
    return System(s, actions, (kept,))


PROTOCOL = Protocol(
    "viewstamped-replication",
    "replicas change their view, and one that is behind gets the log of another",
    Parameters(),
    build,
    sources=("Vanlightly/vsr-tlaplus, VSR.tla",),
    not_modelled=("recovery of a replica that lost its state", "the table of clients"),
)
