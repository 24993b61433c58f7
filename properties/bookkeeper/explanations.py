"""Explanations of a ledger's counterexamples: a sentence on what was lost and why, from the trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fencepost.encoding.language.sorts import Value, show
from fencepost.encoding.language.traces import Trace, TraceStep
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import NOTHING, WRITER, Phase, Status


def explain_divergence(s: Ledger, trace: Trace) -> str:
    """Say which entry was acknowledged and cut off, who closed the ledger, and why bookies allowed it."""
    end = trace.value(s.last_entry)
    closing = trace.last_change(s.status, to=Status.CLOSED)
    entry = end + 1
    ackers = _ackers(s, trace, entry)
    if not ackers:
        return "Clients that report a successful close report different last entries."
    acked = max(step.index for _, step in ackers)
    names = " and ".join(bookie for bookie, _ in ackers)
    closed = (
        f"{show(closing.actor)} closed the ledger {f'at entry {end}' if end else 'as empty'} in step "
        f"{closing.index}"
    )
    acknowledged = f"the writer acknowledged it in step {acked}, with acks of {names}"
    first, second = (acknowledged, closed) if acked < closing.index else (closed, acknowledged)
    reasons = "".join(f" {reason}." for reason in _reasons(s, trace, entry))
    return f"Entry {entry} is lost: {first}, and {second}.{reasons}"


def _ackers(s: Ledger, trace: Trace, entry: int) -> list[tuple[str, TraceStep]]:
    """Return the bookies whose ack of the writer's entry counts at the end, with the step of each ack."""
    if entry not in s.entry.values:
        return []
    found = [
        (str(b), trace.last_change(s.acked, WRITER, entry, b, to=True))
        for b in s.bookie
        if trace.value(s.acked, WRITER, entry, b)
    ]
    return sorted(found, key=lambda pair: pair[1].index)


def _reasons(s: Ledger, trace: Trace, entry: int) -> Iterator[str]:
    """Yield what each bookie did wrong: it lost the entry, or stored it after it had answered NoSuchEntry."""
    for step in _went_down(trace):
        if (step.actor, entry) in trace.changed(step, s.stored):
            yield f"In step {step.index} {step.actor} lost the entry in a {_going_down(step)}"
    for bookie, _ in _ackers(s, trace, entry):
        stored = next(
            (step for step in trace.steps if (bookie, entry) in trace.changed(step, s.stored)), None
        )
        denied = _first_step(trace, "handle read", bookie=bookie, entry=entry)
        if stored is not None and denied is not None and denied.index < stored.index:
            yield (
                f"In step {denied.index} {bookie} answered a recovery read with NoSuchEntry, and in step "
                f"{stored.index} it stored the entry, because "
                f"{_why_not_refused(trace, bookie, entry, denied, stored)}"
            )


def _why_not_refused(trace: Trace, bookie: str, entry: int, denied: TraceStep, stored: TraceStep) -> str:
    """Return why the bookie stored an entry of the writer although a recoverer had read there."""
    forgot = [s for s in _went_down(trace) if s.actor == bookie and denied.index < s.index < stored.index]
    admitted = _first_step(trace, "admit add", bookie=bookie, entry=entry)
    if forgot:
        return f"it forgot the fence in the {_going_down(forgot[-1])} of step {forgot[-1].index}"
    if admitted is not None:
        return f"it had checked for a fence in step {admitted.index}, before there was one"
    return "nothing had fenced the ledger there"


def _went_down(trace: Trace) -> list[TraceStep]:
    return [step for step in trace.steps if step.action.startswith(("crash", "stop", "lose power"))]


def _going_down(step: TraceStep) -> str:
    return {"stop and start": "restart", "lose power": "loss of power"}.get(step.action, "crash")


def _first_step(trace: Trace, action: str, **arguments: object) -> TraceStep | None:
    """Return the first step of that action with these arguments, or None."""
    return next(
        (s for s in trace.steps if s.action == action and arguments.items() <= s.arguments.items()), None
    )


def explain_few_copies(s: Ledger, trace: Trace) -> str:
    """Say which bookies store each entry, and on which bookies the metadata places it."""

    def holders(e: Value) -> list[Value]:
        return [b for b in s.bookie if trace.value(s.stored, b, e) != NOTHING]

    held = "; ".join(
        f"entry {e} is on {_listed(holders(e))}, and the metadata places it on "
        f"{_listed(_placed_on(s, trace, e))}"
        for e in s.entry
    )
    return f"At the end {held}."


def explain_lost_fence(s: Ledger, trace: Trace) -> str:
    """Say which bookie forgot its fence, and in which step."""
    for step in reversed(_went_down(trace)):
        fenced = [
            a for a in trace.steps if a.action in ("handle fence", "handle read") and a.actor == step.actor
        ]
        if fenced and (step.actor,) in trace.changed(step, s.fenced):
            return (
                f"{show(step.actor)} answered a fencing read in step {fenced[0].index} and forgot the fence "
                f"in the {_going_down(step)} of step {step.index}."
            )
    return "A bookie forgot a fence."


def _listed(labels: Sequence[Value]) -> str:
    return ", ".join(map(show, labels)) or "no bookie"


def _placed_on(s: Ledger, trace: Trace, entry: Value) -> list[Value]:
    """Return the entry's write set in the metadata at the end of the trace."""

    def starts(f: Value) -> int:
        return int(trace.value(s.first, f))

    known = s.fragment.values[: trace.value(s.last_fragment)]
    holding = [f for f in known if starts(f) <= int(str(entry))][-1]
    places = (i for i in s.position if trace.value(s.in_write_set, entry, i))
    return [trace.value(s.ensemble, holding, i) for i in places]


def explain_dirty_read(s: Ledger, trace: Trace) -> str:
    """Say which LAC readers could receive, who sent it, and where the ledger ended."""
    end = trace.value(s.last_entry)
    for step in trace.steps:
        if step.action != "handle add":
            continue
        client, entry = step.arguments["client"], step.arguments["entry"]
        lac = trace.value(s.pushed_lac, client, entry)
        if lac > end:
            return (
                f"In step {step.index} {show(step.actor)} stored entry {entry}, sent by {client} with LAC "
                f"{lac}. Its readers then take entry {lac} for acknowledged, but the ledger ends at entry "
                f"{end}."
            )
    return f"Readers could receive a LAC beyond entry {end}."


def explain_stuck(s: Ledger, trace: Trace) -> str:
    """Say which recoverer is stuck, and why."""
    stuck = [r for r in s.recoverer if trace.value(s.phase, r) is Phase.ACTIVE]
    silent = [b for b in s.bookie if trace.value(s.silent, b)]
    limbo = [b for b in s.bookie if trace.value(s.limbo, b)]
    reasons = [
        *([f"{_listed(silent)} will never answer"] if silent else []),
        *([f"{_listed(limbo)} in limbo cannot say whether it had an entry"] if limbo else []),
    ]
    why = "; ".join(reasons) or "no action advances the recovery any more"
    return f"{_listed(stuck)} cannot finish recovery: {why}."


def explain_unanswered(s: Ledger, trace: Trace) -> str:
    """Say which adds wait for ever, whose acks each has, and which ensemble the metadata names."""
    sent = [int(str(e)) for e in s.entry if trace.value(s.pushed_in, WRITER, e)]
    dropped = int(trace.value(s.dropped, WRITER))
    if dropped:
        step = trace.last_change(s.dropped, WRITER, to=dropped).index
        return (
            f"In step {step} the writer failed its pending adds, because the ledger was in recovery, and its "
            f"handle stayed open. Entry {dropped + 1}, which it pushed afterwards, is never answered."
        )
    if trace.value(s.waiting, WRITER):
        step = trace.last_change(s.waiting, WRITER, to=True).index
        return (
            f"The ensemble change that ended in step {step} acknowledged no entry, and no answer to an add "
            f"is under way that would do so. The writer's LAC stays {trace.value(s.frozen_lac, WRITER)}."
        )
    ackers = {e: [bookie for bookie, _ in _ackers(s, trace, e)] for e in sent}
    parts = [
        f"entry {e} has an ack of {_listed(found)}, and the metadata places it on "
        f"{_listed(_placed_on(s, trace, e))}"
        for e, found in ackers.items()
        if len(found) < s.parameters.ack_quorum
    ]
    return f"At the end {'; '.join(parts)}. For one of these no answer that counts can still come."


def explain_invalid_fragment(s: Ledger, trace: Trace) -> str:
    """Say which client would start a fragment below its last one, and why."""
    step = _first_step(trace, "try invalid fragment")
    if step is None:
        return "An ensemble names a bookie twice."
    client, fragment = step.arguments["client"], step.arguments["fragment"]
    last = trace.value(s.own_first, client, fragment, after=step.index - 1)
    reads = [
        other.index
        for other in trace.steps
        if other.action == "send reads" and other.arguments["client"] == client
    ]
    start = f" {client} began to read below that fragment in step {reads[0]}." if reads else ""
    return (
        f"In step {step.index} {client} has to replace {step.arguments['failed']}. The new fragment would "
        f"start below entry {last}, where the last fragment starts.{start} Recovery fails now, and on every "
        "later attempt."
    )


def explain_disorder(s: Ledger, trace: Trace) -> str:
    """Say which bookie stores the content of which other entry."""
    for b in s.bookie:
        for e in s.entry:
            content = trace.value(s.stored, b, e)
            if content not in (NOTHING, e):
                return f"{show(b)} stores as entry {e} the content that the writer pushed as entry {content}."
    return "A bookie stores as an entry a content that the writer did not push as that entry."
