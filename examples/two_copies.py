"""A log kept in two copies: a primary writes, a new primary takes over from one of the copies."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.encoding.language import (
    BOOL,
    Action,
    Message,
    Parameter,
    Property,
    Protocol,
    Read,
    StateSpace,
    System,
    TermLike,
    Trace,
    choice,
    each,
    exists,
    family,
    forall,
    implies,
    integers,
    labels,
    message,
    parameter,
    switch,
    to_each,
    variable,
)

# Parameters and switches: what `--set NAME=VALUE` sets.


@dataclass(frozen=True)
class Parameters:
    """One instance: its sizes, and the variant of the protocol."""

    entries: int = parameter(1, "entries that the primary may write")
    fence: str = switch(
        ("no", "yes"), "a copy that a new primary has read takes no more writes", "the usual mistake"
    )
    acknowledge: str = switch(
        ("both", "reachable"),
        "an entry needs an answer of both copies, or only of those that got it",
        "degraded mode",
    )
    storage: str = switch(
        ("disk", "memory"), "what a copy stores survives a restart, or does not", "no journal"
    )


# State: what has happened, and which messages are lost.


class State(StateSpace):
    """The state variables of entries and copies. All are false at first."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.entry = integers(1, parameters.entries)
        self.copy = labels("copy", "c", 2)

        self.sent = family(BOOL, self.entry)
        self.handled = family(BOOL, self.entry, self.copy)
        self.stored = family(BOOL, self.entry, self.copy)
        self.answered = family(BOOL, self.entry, self.copy)
        self.acknowledged = family(BOOL, self.entry)
        self.fenced = family(BOOL, self.copy)
        self.restarted = family(BOOL, self.copy)
        self.taken_over = variable(BOOL)
        self.kept = family(BOOL, self.entry)

        self.write_lost = choice(self.entry, self.copy, fault="lost")


# Messages: what a person sees travel.


def write(entry: TermLike, copy: TermLike, lost: Read | None = None) -> Message:
    """Return the message that brings an entry to a copy."""
    return message("write", "primary", copy, about={"entry": entry}, lost=lost)


def answer(entry: TermLike, copy: TermLike) -> Message:
    """Return the answer of a copy that has the entry."""
    return message("answer", copy, "primary", about={"entry": entry})


# Actions: what may happen, in the order in which messages flow.


def send(s: State, entry: Parameter) -> Action:
    """Send the next entry from the primary to both copies."""
    return Action(
        when=~s.sent[entry] & forall(s.entry, lambda e: implies(e < entry, s.sent[e])),
        then=[s.sent[entry].set(True)],
        actor="primary",
        sent=[to_each(s.copy, lambda c: write(entry, c, lost=s.write_lost[entry, c]))],
    )


def store(s: State, entry: Parameter, copy: Parameter) -> Action:
    """Store an entry on a copy unless it is fenced, and answer."""
    return Action(
        when=s.sent[entry] & ~s.write_lost[entry, copy] & ~s.handled[entry, copy] & ~s.fenced[copy],
        then=[s.handled[entry, copy].set(True), s.stored[entry, copy].set(True)],
        actor=copy,
        received=write(entry, copy),
        sent=[answer(entry, copy)],
    )


def receive_answer(s: State, entry: Parameter, copy: Parameter) -> Action:
    """Receive the answer that a copy has the entry."""
    return Action(
        when=s.handled[entry, copy] & ~s.answered[entry, copy],
        then=[s.answered[entry, copy].set(True)],
        actor="primary",
        received=answer(entry, copy),
    )


def acknowledge(s: State, entry: Parameter) -> Action:
    """Tell the caller of the primary that the entry is safe."""
    waived = s.parameters.acknowledge == "reachable"
    some = exists(s.copy, lambda c: s.answered[entry, c])
    enough = forall(s.copy, lambda c: s.answered[entry, c] | (s.write_lost[entry, c] if waived else False))
    return Action(
        when=some & enough & ~s.acknowledged[entry],
        then=[s.acknowledged[entry].set(True)],
        actor="primary",
        note="tells the caller that entry {entry} is safe",
    )


def restart(s: State, copy: Parameter) -> Action:
    """Restart a copy that keeps everything in memory: it loses all entries."""
    return Action(
        when=~s.restarted[copy],
        then=[s.restarted[copy].set(True), s.fenced[copy].set(False)]
        + [s.stored[e, copy].set(False) for e in s.entry],
        actor=copy,
        note="forgets everything",
        fault="restarts",
    )


def take_over(s: State, copy: Parameter) -> Action:
    """Let a new primary read one copy, whose entries are the log from now on."""
    fences = [s.fenced[copy].set(True)] if s.parameters.fence == "yes" else []
    return Action(
        when=~s.taken_over,
        then=[s.taken_over.set(True), *fences, *(s.kept[e].set(s.stored[e, copy]) for e in s.entry)],
        actor="new primary",
        note="takes the log as it is on {copy}",
    )


# The property: a formula for every reachable state, and the explanation of a counterexample.


def nothing_lost(s: State) -> Property:
    """Return the main property."""
    return Property(
        name="nothing-lost",
        meaning="an entry that was acknowledged is in the log of the new primary",
        holds=forall(s.entry, lambda e: implies(s.taken_over & s.acknowledged[e], s.kept[e])),
        witness=exists(s.entry, lambda e: s.taken_over & s.acknowledged[e]),
        witness_meaning="an entry is acknowledged, and a new primary has taken over",
        explain=explain,
    )


def explain(trace: Trace) -> str:
    """Explain a counterexample in one sentence: the lost entry, and the copy that lacked it."""
    end, taken = trace.states[-1], next(step for step in trace.steps if step.action == "take over")
    gone = [
        e
        for e in range(1, 1 + int(trace.parameters["entries"]))
        if end[f"acknowledged[{e}]"] and not end[f"kept[{e}]"]
    ]
    copy = taken.arguments["copy"]
    return f"Entry {gone[0]} was acknowledged, but was not on {copy} when step {taken.index} read it."


# The system, and its description for the command line.


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    actions = [
        each(send, s, s.entry),
        each(store, s, s.entry, s.copy),
        each(receive_answer, s, s.entry, s.copy),
        each(acknowledge, s, s.entry),
        *([each(restart, s, s.copy)] if p.storage == "memory" else []),
        each(take_over, s, s.copy),
    ]
    caps = {"restarts of a copy": 1} if p.storage == "memory" else {}
    return System(s, tuple(actions), (nothing_lost(s),), caps)


PROTOCOL = Protocol(
    name="two-copies",
    summary="a primary writes to two copies; a new primary takes over from one of them",
    defaults=Parameters(),
    build=build,
    not_modelled=(
        "more than one take-over",
        "lost answers: one that never arrives has the same effect as a late one",
    ),
)
