"""The drive of a writer with DEFERRED_SYNC and of losses of power.

From the creation of the ledger on, the journal of each bookie writes and does not sync. It syncs where the
model does: for a force, a fence, a write-back, and a sync without a force. A loss of power takes the records
that were not synced.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from fencepost.encoding.language.traces import Json, TraceStep
from fencepost.protocols.bookkeeper.values import WRITER
from fencepost.realcode.drive.code import Code, about


def hold_syncs(code: Code) -> None:
    """Keep the journals from syncing."""
    for number in range(1, code.parameters.bookies + 1):
        code.ask("sync", bookie=f"b{number}", hold="yes")


@contextlib.contextmanager
def syncing(code: Code, bookie: Json, syncs: bool = True) -> Iterator[None]:
    """Let the bookie sync its journal while it handles a request that waits for this."""
    if not (code.parameters.forces and syncs):
        yield
        return
    code.ask("sync", bookie=bookie, hold="no")
    yield
    code.ask("sync", bookie=bookie, hold="yes")
    code.unsynced.discard(str(bookie))


def send_force(code: Code, step: TraceStep) -> None:
    """Call force on the handle; the requests are held."""
    code.ask("force", client=WRITER, number=step.arguments["force"])


def handle_force(code: Code, step: TraceStep) -> None:
    """Deliver a force; the bookie must answer when its journal is synced, and not before."""
    code.deliver(about(step, "force"), "synced", syncs=step.actor)
    code.ask("sync", bookie=step.actor, hold="yes")
    code.unsynced.discard(str(step.actor))


def sync_journal(code: Code, step: TraceStep) -> None:
    """Let the journal sync what it has written."""
    with syncing(code, step.actor):
        pass


def lose_power(code: Code, step: TraceStep) -> None:
    """Crash the bookie, take the records that its journal has not synced, and boot it."""
    code.ask("lose-power", bookie=step.actor)
    code.boot(step.actor)
    code.unsynced.discard(str(step.actor))
    code.ask("sync", bookie=step.actor, hold="yes")
