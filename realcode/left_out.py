"""The actions of the model that are not driven, or not in every state, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping

AT_ONCE = {
    "send reads": "the recoverer reads once enough bookies are fenced, or once it has found the entry below",
    "write back": "the recoverer writes an entry back as soon as it has found it",
    "end idle change": "the client ends a change that replaces nothing in the call that begins it",
}
"""The actions that the code takes together with the step before.

In the model other actions may come between.
"""

ELSEWHERE = {
    "ignore failure": "in three cases the code notes the failure and handles it with a later one "
    "(delayedWriteFailedBookies): the entry has AQ acks, a change is under way, or an entry with AQ acks was "
    "refused",
    "begin change": "a recoverer replaces a bookie in one call, so its commit follows at once. A client that "
    "has AQ acks of the entry already replaces the bookie with the next add (PendingAddOp.writeComplete, "
    "delayedWriteFailedBookies), so only writes of other entries time out. A bookie that refused such an "
    "entry is replaced with the next push",
    "commit change": "under `acks_after_change=with-change`, left out if it acknowledges an entry that the "
    "code acknowledges with the next answer",
    "handle add": "a bookie that remembers a deletion refuses a write-back, and the recoverer fails",
    "push": "left out with two bookies that refused entries with AQ acks; the code replaces both at once. "
    "With given ids also below the last entry that a refused change has dropped: the model counts it as "
    "dropped",
    "try invalid fragment": "a recoverer notices the fragment only when it closes; `reproduce` judges this",
    "hear lac": "an open reader asks the last ensemble that it knows, and no bookie once it knows that the "
    "ledger is closed",
    "crash": "with full disks, left out of a fenced bookie: the model keeps its fence, which the code may "
    "lose",
    "restart": "with full disks as crash",
    "fill disk": "with sorted storage, left out while no entry is in the buffer: a flush of one small memory "
    "table does not write",
    "lose power": "left out of a fenced bookie unless it has entries and has synced them all: its fence may "
    "not be in the journal yet, or is lost without an entry",
    "note failure": "left out while another failure is noted, because the code replaces both bookies at once",
    "queue second add": "left out while the writer changes its ensemble or after it, because the second "
    "thread took the ensemble when it looked for the id (stale-ensemble); and while a lower id waits, "
    "because the queue is a heap (PriorityBlockingQueue) and may give the second add before the first. "
    "With a second add in the queue no write of the writer times out",
}
"""The actions that are not taken in every state in which the model may take them, and the reasons."""

UNDRIVABLE: Mapping[str, str] = {
    "admit add": "one method of the bookie checks the fence and stores the entry (issue 4701: a race in it)",
    **dict.fromkeys(
        ("read lac first", "block acks"),
        "one method of the client reads the LAC and blocks acks (issue 4651: a race in it)",
    ),
    **dict.fromkeys(
        ("change locally", "commit later", "abandon later"),
        "only clients before 4.8.0 use an ensemble before the metadata has it",
    ),
    "resend": "the code sends pending entries again with the change, not one by one",
    "poll entry": "the harness has no long polls",
    "mark dirty": "the marker is set within the boot",
    **dict.fromkeys(
        ("copy entry", "leave limbo", "end check"),
        "phase two runs in threads of its own; the harness holds it back",
    ),
}
"""The reasons why an action cannot be caused alone from outside the code, by name."""
