"""Values of a ledger that can be seen on the real code, as terms.

A log may name them like state variables, and conformance runs compare them. Entries are numbered from 1,
and LAC 0 means none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.system import Observed
from fencepost.encoding.language.terms import FALSE, TRUE, Term, any_of, lift
from fencepost.protocols.bookkeeper.layers.readers import Opening
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import NOTHING, WRITER, Phase, Stage, Status

UNANSWERED = "unanswered"
"""An entry that the writer's application has pushed and that no result has come for yet."""

UP = "up"
"""Whether a bookie serves. It is compared if the journal's mark is modelled, and its boot may fail."""

UNSAFE = "lost by a crash"
"""An entry whose record the journal's mark has passed, and that no flush has written."""

FILE_GONE = "marked file gone"
"""Whether the journal file that the mark of a bookie names is deleted."""

OWN_LAC = f"lac[{WRITER}]"
"""The writer's last add confirmed.

It is not known once the writer has given up. The code may then have read that the ledger is closed and
uses its end (LedgerHandle.setLedgerMetadata). The model's LAC stays, since nothing depends on it. Nor is it
known once the writer has closed the ledger below it: a force moved the LAC, before or after the close.
"""

LENGTH = "length"
"""The length of the closed ledger in bytes. Each entry has one byte, as in the model.

It is not known if an id may be queued twice: the model's length leaves out the second add.
"""

PLACED = "placed"
"""Whether an entry belongs on a bookie, by the metadata."""

FORCED = "forced"
"""An entry that was acknowledged before a force that has succeeded."""


GIVEN = "given"
"""An entry that a reader's application was given."""


def observed(s: Ledger) -> Mapping[str, Observed]:
    """Return the terms of a ledger that can be seen on the real code, by the name of the observation."""
    recovered: Any = s.has_recovered
    closed = s.status == Status.CLOSED
    found = {"status": Observed(s.status), "last entry": Observed(s.last_entry, closed)}
    if s.parameters.lengths and not s.parameters.has_second_adds:
        found[LENGTH] = Observed(s.length, closed)
    for bookie in s.bookie:
        found |= _of_bookie(s, bookie)
    for client in s.recoverer:
        found[f"reading[{client}]"] = Observed((s.phase[client] != Phase.IDLE) & s.covered(client))
        found[f"closing[{client}]"] = Observed(exists(s.read_entry, partial(recovered, client)))
    for entry in s.entry:
        found[f"acknowledged[{entry}]"] = Observed(lift(entry) <= s.acknowledged(WRITER))
        if s.parameters.forces:
            found[f"{FORCED}[{entry}]"] = Observed(lift(entry) <= s.lac(WRITER))
        found[f"{UNANSWERED}[{entry}]"] = Observed(_waits(s, entry))
    found[OWN_LAC] = Observed(s.lac(WRITER), _knows_lac(s))
    for client in s.client:
        found[f"closed at[{client}]"] = Observed(s.closed_at[client], s.phase[client] == Phase.CLOSED)
    for reader in s.reader if s.parameters.readers else ():
        found |= _of_reader(s, reader)
    return found


def _of_bookie(s: Ledger, bookie: Value) -> dict[str, Observed]:
    p = s.parameters
    serves = s.stage[bookie] == Stage.SERVING if p.boots_in_steps or p.journals else TRUE
    found: dict[str, Observed] = dict(_of_mark(s, bookie, serves)) if p.journals else {}
    found[f"fenced[{bookie}]"] = Observed(s.fenced[bookie], serves)
    found[f"limbo[{bookie}]"] = Observed(s.limbo[bookie] if p.crashes else FALSE, serves)
    for e in s.entry:
        has = serves & (s.stored[bookie, e] != NOTHING)
        found[f"stored[{bookie}, {e}]"] = Observed(s.stored[bookie, e], serves)
        found[f"stored lac[{bookie}, {e}]"] = Observed(s.stored_lac[bookie, e], has)
    for e in s.read_entry:
        found[f"{PLACED}[{bookie}, {e}]"] = Observed(s.in_metadata_write_set(e, bookie))
    return found


def _of_mark(s: Ledger, bookie: Value, serves: Term) -> Iterator[tuple[str, Observed]]:
    """Yield whether the bookie is up, what a crash would take from it, and whether it would boot."""
    for e in s.entry:
        lost = s.has(bookie, e) & s.passed[bookie, e] & ~s.flushed[bookie, e]
        yield f"{UNSAFE}[{bookie}, {e}]", Observed(lost)
    yield f"{UP}[{bookie}]", Observed(serves)
    yield f"{FILE_GONE}[{bookie}]", Observed(s.mark_file_gone[bookie])


def _of_reader(s: Ledger, reader: Value) -> dict[str, Observed]:
    """Return what a reader without recovery knows, and the entries that it was told are absent."""
    is_open = s.handle[reader] == Opening.OPEN
    given = s.entry if s.parameters.way_to_read != "none" else ()
    return {
        **{f"{GIVEN}[{reader}, {e}]": Observed(s.given[reader, e]) for e in given},
        **{f"absent[{reader}, {e}]": Observed(s.reported_absent[reader, e]) for e in s.entry},
        f"open[{reader}]": Observed(is_open),
        f"lac[{reader}]": Observed(s.reader_lac[reader], is_open),
        f"knows end[{reader}]": Observed(s.knows_end[reader], is_open),
    }


def _waits(s: Ledger, entry: Value) -> Term:
    """Return whether the writer has pushed the entry and its application has no answer."""
    answered = (s.phase[WRITER] != Phase.ACTIVE) | (lift(entry) <= s.dropped[WRITER])
    return s.pending(WRITER, entry) & ~answered


def _knows_lac(s: Ledger) -> Term:
    """Return whether the model knows the LAC of the writer's handle, as OWN_LAC says."""
    lowered = (s.phase[WRITER] == Phase.CLOSED) & (s.closed_at[WRITER] < s.lac(WRITER))
    return ~any_of(s.status == Status.NONE, s.phase[WRITER] == Phase.GONE, lowered)
