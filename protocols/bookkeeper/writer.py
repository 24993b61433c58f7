"""What only the writer does: it creates the ledger, pushes entries, and closes the ledger."""

from __future__ import annotations

from fencepost.encoding.language.system import Action
from fencepost.encoding.language.terms import Parameter, any_of, exists, forall, implies
from fencepost.protocols.bookkeeper.adds import adds, sends
from fencepost.protocols.bookkeeper.state import WRITER, Ledger, Phase, Status


def create_ledger(s: Ledger) -> Action:
    """The writer creates the ledger, open, over the first E bookies (any E would do: bookies are alike)."""
    return Action(
        when=s.status == Status.NONE,
        then=[s.status.set(Status.OPEN), s.phase[WRITER].set(Phase.ACTIVE)],
        actor=WRITER,
        note="creates the ledger, open",
    )


def push(s: Ledger, fragment: Parameter, entry: Parameter) -> Action:
    """The writer sends the next entry to its write set, with its LAC (LedgerHandle.doAsyncAddEntry)."""
    in_order = forall(s.entry, lambda e: implies(e < entry, s.pushed(WRITER, e)))
    limit = s.parameters.inflight
    within_limit = ~exists(s.entry, lambda e: (e + limit == entry) & (s.lac(WRITER) < e))
    return Action(
        when=(s.phase[WRITER] == Phase.ACTIVE)
        & (s.own_last_fragment[WRITER] == fragment)
        & ~s.pushed(WRITER, entry)
        & in_order
        & within_limit,
        then=sends(s, WRITER, fragment, entry),
        actor=WRITER,
        sent=[adds(s, WRITER, fragment, entry)],
    )


def close_ledger(s: Ledger) -> Action:
    """The writer closes the ledger at its LAC, any time it likes (LedgerHandle.doAsyncCloseInternal).

    `open-only`: not if it is in recovery. In the code it may be.
    """
    in_recovery = (s.status == Status.IN_RECOVERY) if s.parameters.writer_close == "any-not-closed" else False
    lac = s.lac(WRITER)
    return Action(
        when=any_of(s.phase[WRITER] == Phase.ACTIVE, s.phase[WRITER] == Phase.CLOSING)
        & any_of(s.status == Status.OPEN, in_recovery),
        then=[
            s.status.set(Status.CLOSED),
            s.last_entry.set(lac),
            s.phase[WRITER].set(Phase.CLOSED),
            s.closed_at[WRITER].set(lac),
        ],
        actor=WRITER,
        note="closes the ledger at its LAC",
    )


def withdraw(s: Ledger) -> Action:
    """The writer finds that it cannot close the ledger any more, and gives up."""
    too_late = (s.status == Status.CLOSED) & (s.last_entry != s.lac(WRITER))
    if s.parameters.writer_close == "open-only":
        too_late = any_of(s.status == Status.CLOSED, s.status == Status.IN_RECOVERY)
    return Action(
        when=any_of(s.phase[WRITER] == Phase.ACTIVE, s.phase[WRITER] == Phase.CLOSING) & too_late,
        then=[s.phase[WRITER].set(Phase.GONE)],
        actor=WRITER,
        note="cannot close the ledger, and gives up",
    )
