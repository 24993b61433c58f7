"""One sentence on what a counterexample lost and why, read off the replayed trace of a ledger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.state import show
from fencepost.encoding.language.traces import Trace, TraceStep
from fencepost.protocols.bookkeeper.bookies import NOTHING
from fencepost.protocols.bookkeeper.metadata import WRITER, Phase, Status
from fencepost.protocols.bookkeeper.state import Ledger


def explain_divergence(s: Ledger, trace: Trace) -> str:
    """Which entry was acknowledged and cut off, who closed the ledger, and which bookies let it happen."""
    end = trace.value(s.last_entry)
    closing = trace.last_change(s.status, to=Status.CLOSED)
    entry = end + 1
    ackers = _ackers(s, trace, entry)
    if not ackers:
        return "Clients that report success of a close disagree on where the ledger ends."
    acked = max(step.index for _, step in ackers)
    names = " and ".join(bookie for bookie, _ in ackers)
    closed = f"{show(closing.actor)} closed the ledger {f'at entry {end}' if end else 'as empty'} in step {closing.index}"
    acknowledged = f"the writer acknowledged it in step {acked}, with acks of {names}"
    story = f"{acknowledged}, and {closed}" if acked < closing.index else f"{closed}, and {acknowledged}"
    reasons = "; ".join(_reasons(s, trace, entry))
    return f"Entry {entry} is lost: {story}{': ' + reasons if reasons else ''}."


def _ackers(s: Ledger, trace: Trace, entry: int) -> list[tuple[str, TraceStep]]:
    """The bookies whose ack of the writer's entry counts at the end, and when it was received."""
    if entry not in s.entry.values:
        return []
    found = [
        (str(b), trace.last_change(s.acked, WRITER, entry, b, to=True))
        for b in s.bookie
        if trace.value(s.acked, WRITER, entry, b)
    ]
    return sorted(found, key=lambda pair: pair[1].index)


def _reasons(s: Ledger, trace: Trace, entry: int) -> Iterator[str]:
    """Bookies that lost the entry, and bookies that stored it after telling a recoverer that it is not there."""
    for step in _went_down(trace):
        if (step.actor, entry) in trace.changed(step, s.stored):
            yield f"{step.actor} lost it in the {_going_down(step)} of step {step.index}"
    for bookie, _ in _ackers(s, trace, entry):
        stored = next(
            (step for step in trace.steps if (bookie, entry) in trace.changed(step, s.stored)), None
        )
        denied = _first(trace, "handle read", bookie=bookie, entry=entry)
        if stored is not None and denied is not None and denied.index < stored.index:
            yield (
                f"{bookie} had answered NoSuchEntry in step {denied.index} and stored the entry afterwards, in "
                f"step {stored.index}, because {_why_not_refused(trace, bookie, entry, denied, stored)}"
            )


def _why_not_refused(trace: Trace, bookie: str, entry: int, denied: TraceStep, stored: TraceStep) -> str:
    """Why the bookie stored the entry of a writer that should have been fenced out."""
    forgot = [s for s in _went_down(trace) if s.actor == bookie and denied.index < s.index < stored.index]
    admitted = _first(trace, "admit add", bookie=bookie, entry=entry)
    if forgot:
        return f"it forgot the fence in the {_going_down(forgot[-1])} of step {forgot[-1].index}"
    if admitted is not None:
        return f"it had looked for a fence in step {admitted.index}, before there was one"
    return "nothing had fenced the ledger there"


def _went_down(trace: Trace) -> list[TraceStep]:
    return [step for step in trace.steps if step.action.startswith(("crash", "stop"))]


def _going_down(step: TraceStep) -> str:
    return "restart" if step.action == "stop and start" else "crash"


def _first(trace: Trace, action: str, **arguments: object) -> TraceStep | None:
    """The first step of that action with these arguments."""
    return next(
        (s for s in trace.steps if s.action == action and arguments.items() <= s.arguments.items()), None
    )


def explain_few_copies(s: Ledger, trace: Trace) -> str:
    """Where the copies of each entry are, and where the metadata says they are."""

    def holders(e: Value) -> list[Value]:
        return [b for b in s.bookie if trace.value(s.stored, b, e) != NOTHING]

    held = "; ".join(
        f"entry {e} is on {_listed(holders(e))} and the metadata places it on {_listed(_placed_on(s, trace, e))}"
        for e in s.entry
    )
    return f"At the end {held}."


def explain_lost_fence(s: Ledger, trace: Trace) -> str:
    """Which bookie forgot which answer of its own, and when."""
    for step in reversed(_went_down(trace)):
        fenced = [
            a for a in trace.steps if a.action in ("handle fence", "handle read") and a.actor == step.actor
        ]
        if fenced and (step.actor,) in trace.changed(step, s.fenced):
            return (
                f"{show(step.actor)} answered a fencing read in step {fenced[0].index}, and forgot the fence in the "
                f"{_going_down(step)} of step {step.index}."
            )
    return "A bookie forgot a fence."


def _listed(labels: Sequence[Value]) -> str:
    return ", ".join(map(show, labels)) or "no bookie"


def _placed_on(s: Ledger, trace: Trace, entry: Value) -> list[Value]:
    """The entry's write set by the metadata store at the end."""

    def starts(f: Value) -> int:
        return int(trace.value(s.first, f))

    known = s.fragment.values[: trace.value(s.last_fragment)]
    holding = [f for f in known if starts(f) <= int(str(entry))][-1]
    places = (i for i in s.position if trace.value(s.in_write_set, entry, i))
    return [trace.value(s.ensemble, holding, i) for i in places]


def explain_dirty_read(s: Ledger, trace: Trace) -> str:
    """Which LAC was told, by whom it was sent, and where the ledger ended."""
    end = trace.value(s.last_entry)
    for step in trace.steps:
        if step.action != "handle add":
            continue
        client, entry = step.arguments["client"], step.arguments["entry"]
        lac = trace.value(s.pushed_lac, client, entry)
        if lac > end:
            return (
                f"In step {step.index} {show(step.actor)} stored entry {entry} with LAC {lac}, sent by {client}: whoever "
                f"read it there was told that entry {lac} is acknowledged, but the ledger ends at entry {end}."
            )
    return f"A LAC beyond entry {end} was told."


def explain_stuck(s: Ledger, trace: Trace) -> str:
    """Who is stuck, and where."""
    stuck = [r for r in s.recoverer if trace.value(s.phase, r) is Phase.ACTIVE]
    silent = [b for b in s.bookie if trace.value(s.silent, b)]
    limbo = [b for b in s.bookie if trace.value(s.limbo, b)]
    reasons = [
        *([f"{_listed(silent)} will never answer"] if silent else []),
        *([f"{_listed(limbo)} in limbo cannot tell whether an entry is there"] if limbo else []),
    ]
    return f"{_listed(stuck)} waits for something that cannot come{': ' + '; '.join(reasons) if reasons else ''}."


def explain_invalid_fragment(s: Ledger, trace: Trace) -> str:
    """Who would start which fragment where."""
    step = next((step for step in trace.steps if step.action == "try invalid fragment"), None)
    if step is None:
        return "An ensemble names a bookie twice."
    client, fragment = step.arguments["client"], step.arguments["fragment"]
    last = trace.value(s.own_first, client, fragment, after=step.index - 1)
    reads = [
        other.index
        for other in trace.steps
        if other.action == "send reads" and other.arguments["client"] == client
    ]
    start = f", although it began to read at step {reads[0]} below that fragment" if reads else ""
    return (
        f"In step {step.index} {client} has to replace {step.arguments['failed']}, and the new fragment would start "
        f"below entry {last}, where the last one starts{start}: recovery fails, and fails again whenever it is tried."
    )


def explain_disorder(s: Ledger, trace: Trace) -> str:
    """Which bookie holds what in whose place."""
    for b in s.bookie:
        for e in s.entry:
            content = trace.value(s.stored, b, e)
            if content not in (NOTHING, e):
                return f"{show(b)} holds as entry {e} what the writer pushed as entry {content}."
    return "A bookie holds an entry that the writer did not push as such."
