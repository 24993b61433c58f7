"""One sentence on what a counterexample lost and why, read off the replayed trace of a ledger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fencepost.encoding.language.state import show
from fencepost.encoding.language.traces import Trace, TraceStep


def explain_divergence(trace: Trace) -> str:
    """Which entry was acknowledged and cut off, who closed the ledger, and which bookies let it happen."""
    end = int(trace.states[-1]["last_entry"])
    closing = trace.last_change("status", "closed")
    entry = end + 1
    if not _ackers(trace, entry):
        return "Clients that report success of a close disagree on where the ledger ends."
    acked = max(step.index for _, step in _ackers(trace, entry))
    names = " and ".join(bookie for bookie, _ in _ackers(trace, entry))
    closed = f"{show(closing.actor)} closed the ledger {f'at entry {end}' if end else 'as empty'} in step {closing.index}"
    acknowledged = f"the writer acknowledged it in step {acked}, with acks of {names}"
    story = f"{acknowledged}, and {closed}" if acked < closing.index else f"{closed}, and {acknowledged}"
    reasons = "; ".join(_reasons(trace, entry))
    return f"Entry {entry} is lost: {story}{': ' + reasons if reasons else ''}."


def _ackers(trace: Trace, entry: int) -> list[tuple[str, TraceStep]]:
    """The bookies whose ack of the writer's entry counts at the end, and when it was received."""
    found = []
    for name, value in trace.states[-1].items():
        if name.startswith(f"acked[w, {entry}, ") and value is True:
            bookie = name.rsplit(" ", 1)[1].rstrip("]")
            found.append((bookie, trace.last_change(name, True)))
    return sorted(found, key=lambda pair: pair[1].index)


def _reasons(trace: Trace, entry: int) -> Iterator[str]:
    """Bookies that lost the entry, and bookies that stored it after telling a recoverer that it is not there."""
    for step in _crashes(trace):
        if step.changes.get(f"stored[{step.actor}, {entry}]") == 0:
            yield f"{step.actor} lost it in the crash of step {step.index}"
    for bookie, _ in _ackers(trace, entry):
        stored = next((s for s in trace.steps if f"stored[{bookie}, {entry}]" in s.changes), None)
        denied = _first(trace, "handle read", bookie=bookie, entry=entry)
        if stored is not None and denied is not None and denied.index < stored.index:
            yield (
                f"{bookie} had answered NoSuchEntry in step {denied.index} and stored the entry afterwards, in "
                f"step {stored.index}, because {_why_not_refused(trace, bookie, entry, denied, stored)}"
            )


def _why_not_refused(trace: Trace, bookie: str, entry: int, denied: TraceStep, stored: TraceStep) -> str:
    """Why the bookie stored the entry of a writer that should have been fenced out."""
    forgot = [s for s in _crashes(trace) if s.actor == bookie and denied.index < s.index < stored.index]
    admitted = _first(trace, "admit add", bookie=bookie, entry=entry)
    if forgot:
        return f"it forgot the fence in the crash of step {forgot[-1].index}"
    if admitted is not None:
        return f"it had looked for a fence in step {admitted.index}, before there was one"
    return "nothing had fenced the ledger there"


def _crashes(trace: Trace) -> list[TraceStep]:
    return [step for step in trace.steps if step.action.startswith("crash")]


def _first(trace: Trace, action: str, **arguments: object) -> TraceStep | None:
    """The first step of that action with these arguments."""
    return next(
        (s for s in trace.steps if s.action == action and arguments.items() <= s.arguments.items()), None
    )


def explain_few_copies(trace: Trace) -> str:
    """Where the copies of each entry are, and where the metadata says they are."""
    state = trace.states[-1]
    copies: dict[int, list[str]] = {}
    for name, value in state.items():
        if name.startswith("stored["):
            bookie, entry = name[len("stored[") : -1].split(", ")
            copies.setdefault(int(entry), []).extend([bookie] if value else [])
    held = "; ".join(
        f"entry {entry} is on {_listed(bookies)} and the metadata places it on {_listed(_placed_on(trace, entry))}"
        for entry, bookies in sorted(copies.items())
    )
    return f"At the end {held}."


def _listed(bookies: Sequence[str]) -> str:
    return ", ".join(bookies) or "no bookie"


def _placed_on(trace: Trace, entry: int) -> list[str]:
    """The entry's write set by the metadata store at the end; a trace leaves out what never changes."""
    state, size, quorum = (
        trace.states[-1],
        int(str(trace.parameters["ensemble"])),
        int(str(trace.parameters["write_quorum"])),
    )
    fragments = range(1, int(state.get("last_fragment", 1)) + 1)
    holding = max(g for g in fragments if int(state.get(f"first[{g}]", 1)) <= entry)
    positions = [i for i in range(1, size + 1) if (i - entry) % size < quorum]
    return [str(state.get(f"ensemble[{holding}, {i}]", f"b{i}")) for i in positions]


def explain_dirty_read(trace: Trace) -> str:
    """Which LAC was told, by whom it was sent, and where the ledger ended."""
    state = trace.states[-1]
    end = int(state["last_entry"])
    for step in trace.steps:
        client, entry = str(step.arguments.get("client")), step.arguments.get("entry")
        lac = int(state.get(f"pushed_lac[{client}, {entry}]", 0))
        if step.action == "handle add" and lac > end:
            return (
                f"In step {step.index} {show(step.actor)} stored entry {entry} with LAC {lac}, sent by {client}: whoever "
                f"read it there was told that entry {lac} is acknowledged, but the ledger ends at entry {end}."
            )
    return f"A LAC beyond entry {end} was told."


def explain_stuck(trace: Trace) -> str:
    """Who is stuck, and where."""
    state = trace.states[-1]
    stuck = [
        name[len("phase[") : -1]
        for name, value in state.items()
        if name.startswith("phase[r") and value == "active"
    ]
    silent = [
        name[len("silent[") : -1]
        for name, value in state.items()
        if name.startswith("silent[") and value is True
    ]
    limbo = [
        name[len("limbo[") : -1]
        for name, value in state.items()
        if name.startswith("limbo[") and value is True
    ]
    reasons = [
        *([f"{_listed(silent)} will never answer"] if silent else []),
        *([f"{_listed(limbo)} in limbo cannot tell whether an entry is there"] if limbo else []),
    ]
    return f"{_listed(stuck)} waits for something that cannot come{': ' + '; '.join(reasons) if reasons else ''}."


def explain_invalid_fragment(trace: Trace) -> str:
    """Who would start which fragment where."""
    step = next((s for s in trace.steps if s.action == "try invalid fragment"), None)
    if step is None:
        return "An ensemble names a bookie twice."
    client, fragment = step.arguments["client"], step.arguments["fragment"]
    state = trace.states[step.index - 1]
    last = int(state[f"own_first[{client}, {fragment}]"])
    reads = [s.index for s in trace.steps if s.action == "send reads" and s.arguments["client"] == client]
    start = f", although it began to read at step {reads[0]} below that fragment" if reads else ""
    return (
        f"In step {step.index} {client} has to replace {step.arguments['failed']}, and the new fragment would start "
        f"below entry {last}, where the last one starts{start}: recovery fails, and fails again whenever it is tried."
    )


def explain_disorder(trace: Trace) -> str:
    """Which bookie holds what in whose place."""
    for name, value in trace.states[-1].items():
        if name.startswith("stored[") and value:
            bookie, entry = name[len("stored[") : -1].split(", ")
            if str(value) != entry:
                return f"{bookie} holds as entry {entry} what the writer pushed as entry {value}."
    return "A bookie holds an entry that the writer did not push as such."
