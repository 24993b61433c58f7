"""Observations of a ledger: taken on the code at rest, and computed from a state of the model.

Both use the same names. Entries are numbered from 1, and LAC 0 means none, as in the model. BookKeeper
counts from 0 and uses -1.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.terms import Term, lift
from fencepost.encoding.language.traces import Json, plain
from fencepost.protocols.bookkeeper.layers.readers import Opening
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import NOTHING, WRITER, Phase, Stage, Status

Observations = Mapping[str, Json]
"""Observed values by name, such as `stored[b1, 2]`. Values that cannot be observed now are left out."""

STATES = {"OPEN": "open", "IN_RECOVERY": "in-recovery", "CLOSED": "closed"}

TOLD_LAC = "lac told"
"""The LAC that a bookie tells readers: an observation of the code alone."""

UNANSWERED = "unanswered"
"""An entry that the writer's application has pushed and that no result has come for yet."""

UNANSWERED_AGAIN = "unanswered again"
"""An entry whose second add has no result yet: an observation of the code alone."""

UP = "up"
"""Whether a bookie serves. It is compared if the journal's mark is modelled, and its boot may fail."""

UNSAFE = "lost by a crash"
"""An entry whose record the journal's mark has passed, and that no flush has written."""

FILE_GONE = "marked file gone"
"""Whether the journal file that the mark of a bookie names is deleted."""

OWN_LAC = f"lac[{WRITER}]"
"""The writer's last add confirmed.

It is not compared once the writer has given up. The code may then have read that the ledger is closed and
uses its end (LedgerHandle.setLedgerMetadata). The model's LAC stays, since nothing depends on it. Nor is it
compared once the writer has closed the ledger below it: a force moved the LAC, before or after the close.
"""

LENGTH = "length"
"""The length of the closed ledger in bytes. Each entry has one byte, as in the model.

It is not compared if an id may be queued twice: the model's length leaves out the second add.
"""

PLACED = "placed"
"""Whether an entry belongs on a bookie, by the metadata."""

FORCED = "forced"
"""An entry that was acknowledged before a force that has succeeded."""

ABSENT = ("NoSuchEntryException", "NoSuchLedgerExistsException")
"""The results of a read for which no bookie of the write set has the entry."""

GIVEN = "given"
"""An entry that a reader's application was given."""

_READ = re.compile(r"(?P<reader>\w+): read \d+: OK:(?P<entries>[ \d]+)")
_FORCE = re.compile(rf"{WRITER}: force (?P<number>\d+): (?P<result>\w+)")
_TOLD = re.compile(r"(?P<client>\w+): (?P<what>add \d+|opened|closed): (?P<code>\w+)(?: at (?P<lac>-?\d+))?")


def code_observations(
    look: Mapping[str, Any],
    reading: Collection[str],
    closing: Collection[str],
    pushed: Collection[Json],
    parameters: BookKeeperParameters,
) -> Observations:
    """Return the observations in an answer of the harness.

    `reading` and `closing` are the clients that have begun to read for recovery and that asked to close the
    ledger. `pushed` has the entries that the writer's application has added.
    """
    bookies, entries = parameters.bookies, parameters.entries
    found: dict[str, Json] = {"status": "none"}
    for number in range(1, parameters.recoverers + 1):
        found[f"reading[r{number}]"] = f"r{number}" in reading
        found[f"closing[r{number}]"] = f"r{number}" in closing
    metadata = look["metadata"]
    if metadata:
        found["status"] = STATES[metadata["state"]]
        if found["status"] == "closed":
            found["last entry"] = metadata["last"] + 1
            if parameters.lengths and not parameters.has_second_adds:
                found[LENGTH] = metadata["length"]
        for fragment in metadata["fragments"]:
            found[f"ensemble from {fragment['first'] + 1}"] = ", ".join(fragment["ensemble"])
    for name, inside in look["bookies"].items():
        if inside["up"] and int(name[1:]) <= bookies:
            found |= _inside(name, inside, entries)
        if parameters.journals:
            found[f"{UP}[{name}]"] = inside["up"]
    for entry in range(1, entries + 1):
        results = {
            told.split(": ")[-1] for told in look["told"] if told.startswith(f"{WRITER}: add {entry}:")
        }
        found[f"acknowledged[{entry}]"] = "OK" in results
        found[f"{UNANSWERED}[{entry}]"] = entry in pushed and not results
        if f"again {entry}" in pushed:
            waits = not any(told.startswith(f"{WRITER}: add again {entry}:") for told in look["told"])
            found[f"{UNANSWERED_AGAIN}[{entry}]"] = waits
    if parameters.forces:
        found |= _forced(look["told"], entries)
    for number in range(1, parameters.readers + 1):
        found |= _of_reader(f"rd{number}", look, entries)
        if parameters.way_to_read != "none":
            found |= _given(f"rd{number}", look["told"], entries)
    for told in look["told"]:
        match = _TOLD.fullmatch(told)
        if match is None or match["client"] in look.get("readers", {}):
            continue
        if match["what"] in ("opened", "closed") and match["code"] == "OK":
            found[f"closed at[{match['client']}]"] = int(match["lac"]) + 1
    if WRITER in look["lacs"]:
        found[OWN_LAC] = look["lacs"][WRITER] + 1
    return found


def _forced(told: Sequence[str], entries: int) -> dict[str, Json]:
    """Return whether each entry was acknowledged before a force that has succeeded."""
    covers: dict[str, int] = {}
    acknowledged, forced = 0, 0
    for one in told:
        if one.startswith(f"{WRITER}: add ") and one.endswith(": OK"):
            acknowledged += 1
        elif (match := _FORCE.fullmatch(one)) is not None:
            if match["result"] == "begins":
                covers[match["number"]] = acknowledged
            elif match["result"] == "OK":
                forced = max(forced, covers[match["number"]])
    return {f"{FORCED}[{entry}]": entry <= forced for entry in range(1, entries + 1)}


def _of_reader(name: str, look: Mapping[str, Any], entries: int) -> dict[str, Json]:
    """Return what a reader without recovery knows, and the entries that it was told are absent."""
    told = look["told"]
    absent = {f"{name}: read {e}: {code}": e for e in range(1, entries + 1) for code in ABSENT}
    found: dict[str, Json] = {f"absent[{name}, {e}]": False for e in range(1, entries + 1)}
    found |= {f"absent[{name}, {absent[one]}]": True for one in told if one in absent}
    known = look.get("readers", {}).get(name)
    found[f"open[{name}]"] = known is not None
    if known is not None:
        found[f"lac[{name}]"] = look["lacs"][name] + 1
        found[f"knows end[{name}]"] = known["closed"]
        found[f"fragments[{name}]"] = "; ".join(
            f"from {f['first'] + 1}: {', '.join(f['ensemble'])}" for f in known["fragments"]
        )
    return found


def _given(reader: str, told: Sequence[str], entries: int) -> dict[str, Json]:
    """Return whether the reader was given each entry."""
    reads = [match for one in told if (match := _READ.fullmatch(one)) and match["reader"] == reader]
    given = {int(e) for match in reads for e in match["entries"].split()}
    return {f"{GIVEN}[{reader}, {e}]": e in given for e in range(1, max([entries, *given]) + 1)}


def _inside(name: str, inside: Mapping[str, Any], entries: int) -> dict[str, Json]:
    stored = {item["entry"] + 1: item for item in inside["entries"]}
    found: dict[str, Json] = {f"fenced[{name}]": inside["fenced"], f"limbo[{name}]": inside["limbo"]}
    found[f"{TOLD_LAC}[{name}]"] = inside["lac"] + 1
    for entry in range(1, max([entries, *stored]) + 1):
        item = stored.get(entry)
        found[f"stored[{name}, {entry}]"] = NOTHING if item is None else int(item["content"])
        if item is not None:
            found[f"stored lac[{name}, {entry}]"] = item["lac"] + 1
    if "unsafe" in inside:
        for entry in range(1, entries + 1):
            found[f"{UNSAFE}[{name}, {entry}]"] = entry - 1 in inside["unsafe"]
        found[f"{FILE_GONE}[{name}]"] = inside["mark file gone"]
    return found


def observed(ledger: Ledger) -> Mapping[str, Term]:
    """Return the terms of a ledger that the log of a free run may name."""
    found: dict[str, Term] = {"status": ledger.status, "last entry": ledger.last_entry}
    for bookie in ledger.bookie:
        found[f"fenced[{bookie}]"] = ledger.fenced[bookie]
        found |= {f"stored[{bookie}, {e}]": ledger.stored[bookie, e] for e in ledger.entry}
        found |= {f"stored lac[{bookie}, {e}]": ledger.stored_lac[bookie, e] for e in ledger.entry}
        found |= {
            f"{PLACED}[{bookie}, {e}]": ledger.in_metadata_write_set(e, bookie) for e in ledger.read_entry
        }
    for client in ledger.recoverer:
        found[f"reading[{client}]"] = (ledger.phase[client] != Phase.IDLE) & ledger.covered(client)
        found[f"closing[{client}]"] = exists(ledger.read_entry, partial(_has_recovered, ledger, client))
    for client in ledger.client:
        found[f"closed at[{client}]"] = ledger.closed_at[client]
    for entry in ledger.entry:
        found[f"acknowledged[{entry}]"] = lift(entry) <= ledger.acknowledged(WRITER)
        found[f"{UNANSWERED}[{entry}]"] = _waits(ledger, entry)
    return found | {OWN_LAC: ledger.lac(WRITER)}


def _has_recovered(ledger: Ledger, client: Any, entry: Any) -> Term:
    return ledger.has_recovered(client, entry)


def model_observations(ledger: Ledger, concrete: Concrete, state: State) -> Observations:
    """Return the observations that the model gives in that state."""

    def value(term: Term) -> Json:
        return plain(concrete.evaluate(term, {}, state))

    found: dict[str, Json] = {"status": value(ledger.status)}
    if found["status"] == Status.CLOSED.value:
        found["last entry"] = value(ledger.last_entry)
        if ledger.parameters.lengths and not ledger.parameters.has_second_adds:
            found[LENGTH] = value(ledger.length)
    if found["status"] != Status.NONE.value:
        found |= _fragments(ledger, value, value(ledger.last_fragment))
    for bookie in ledger.bookie:
        if ledger.parameters.journals:
            found |= _of_mark(ledger, bookie, value)
        if not _serves(ledger, bookie, value):
            continue
        found[f"fenced[{bookie}]"] = value(ledger.fenced[bookie])
        found[f"limbo[{bookie}]"] = value(ledger.limbo[bookie]) if ledger.parameters.crashes else False
        for entry in ledger.entry:
            stored = found[f"stored[{bookie}, {entry}]"] = value(ledger.stored[bookie, entry])
            if stored != NOTHING:
                found[f"stored lac[{bookie}, {entry}]"] = value(ledger.stored_lac[bookie, entry])
    closing = _closing(concrete, state)
    for client in ledger.recoverer:
        begun = value(ledger.phase[client]) != Phase.IDLE.value
        found[f"reading[{client}]"] = begun and value(ledger.covered(client))
        found[f"closing[{client}]"] = client in closing
    lac = value(ledger.lac(WRITER))
    moves = ledger.parameters.forces or ledger.parameters.given_ids
    acknowledged = value(ledger.acknowledged(WRITER)) if moves else lac
    for entry in ledger.entry:
        assert isinstance(lac, int) and isinstance(acknowledged, int) and isinstance(entry, int)
        found[f"acknowledged[{entry}]"] = entry <= acknowledged
        if ledger.parameters.forces:
            found[f"{FORCED}[{entry}]"] = entry <= lac
        found[f"{UNANSWERED}[{entry}]"] = value(_waits(ledger, entry))
    if _compares_lac(ledger, value):
        found[OWN_LAC] = lac
    for client in ledger.client:
        if value(ledger.phase[client]) == "closed":
            found[f"closed at[{client}]"] = value(ledger.closed_at[client])
    for reader in ledger.reader if ledger.parameters.readers else ():
        found |= _known_to(ledger, reader, value)
    return found


def _serves(ledger: Ledger, bookie: Value, value: Any) -> bool:
    """Return whether the bookie is up: always, unless crashes leave it down in the model."""
    p = ledger.parameters
    return not (p.boots_in_steps or p.journals) or value(ledger.stage[bookie]) == Stage.SERVING.value


def _of_mark(ledger: Ledger, bookie: Value, value: Any) -> dict[str, Json]:
    """Return whether the bookie is up, what a crash would take from it, and whether it would boot."""
    found: dict[str, Json] = {
        f"{UNSAFE}[{bookie}, {e}]": value(
            ledger.has(bookie, e) & ledger.passed[bookie, e] & ~ledger.flushed[bookie, e]
        )
        for e in ledger.entry
    }
    is_up = _serves(ledger, bookie, value)
    return {**found, f"{UP}[{bookie}]": is_up, f"{FILE_GONE}[{bookie}]": value(ledger.mark_file_gone[bookie])}


def _compares_lac(ledger: Ledger, value: Any) -> bool:
    """Return whether the model knows the LAC of the writer's handle, as OWN_LAC says."""
    phase = value(ledger.phase[WRITER])
    lowered = phase == Phase.CLOSED.value and value(ledger.closed_at[WRITER]) < value(ledger.lac(WRITER))
    return value(ledger.status) != Status.NONE.value and phase != Phase.GONE.value and not lowered


def _known_to(ledger: Ledger, reader: Value, value: Any) -> dict[str, Json]:
    """Return what a reader without recovery knows, and the entries that it was told are absent."""
    found: dict[str, Json] = {
        f"absent[{reader}, {e}]": value(ledger.reported_absent[reader, e]) for e in ledger.entry
    }
    if ledger.parameters.way_to_read != "none":
        found |= {f"{GIVEN}[{reader}, {e}]": value(ledger.given[reader, e]) for e in ledger.entry}
    is_open = found[f"open[{reader}]"] = value(ledger.handle[reader]) == Opening.OPEN.value
    if is_open:
        found[f"lac[{reader}]"] = value(ledger.reader_lac[reader])
        found[f"knows end[{reader}]"] = value(ledger.knows_end[reader])
        fragments = _fragments(ledger, value, value(ledger.known_fragment[reader]))
        found[f"fragments[{reader}]"] = "; ".join(
            f"{name.removeprefix('ensemble ')}: {ensemble}" for name, ensemble in fragments.items()
        )
    return found


def _waits(ledger: Ledger, entry: Value) -> Term:
    """Return whether the writer has pushed the entry and its application has no answer."""
    answered = (ledger.phase[WRITER] != Phase.ACTIVE) | (lift(entry) <= ledger.dropped[WRITER])
    return ledger.pending(WRITER, entry) & ~answered


CLOSES = ("finish recovery", "adopt close", "fail recovery")
"""The actions of a recoverer that has asked the metadata store to close the ledger."""


def _closing(concrete: Concrete, state: State) -> set[Json]:
    """Return the recoverers that can now close the ledger or find it closed."""
    actions = (a for a in concrete.system.ground_actions if a.schema.name in CLOSES)
    return {plain(a.arguments[0]) for a in actions if next(concrete.step(a).successors(state), None)}


def _fragments(ledger: Ledger, value: Any, last: Any) -> dict[str, Json]:
    """Return the ensembles by first entry, up to that fragment.

    A fragment replaces earlier ones that start at the same entry or a later one.
    """
    found: dict[int, str] = {}
    for fragment in ledger.fragment:
        if fragment > last:
            break
        first = value(ledger.first[fragment])
        found = {f: e for f, e in found.items() if f < first}
        found[first] = ", ".join(value(ledger.ensemble[fragment, i]) for i in ledger.position)
    return {f"ensemble from {first}": ensemble for first, ensemble in found.items()}


def differences(model: Observations, code: Observations) -> dict[str, tuple[Json | None, Json | None]]:
    """Return the observations that differ, each with the model's and the code's value.

    Three things are no difference: a bookie that one of them cannot observe now, a close by the writer that
    its application did not ask for, and the LAC of a writer that has given up.
    """
    found: dict[str, tuple[Json | None, Json | None]] = {}
    for name in {**model, **code}:
        if name in model and name in code and model[name] == code[name]:
            continue
        bookie = None if name.startswith(f"{UP}[") else _bookie(name)
        if bookie is not None and not (f"fenced[{bookie}]" in model and f"fenced[{bookie}]" in code):
            continue
        if name.startswith((TOLD_LAC, UNANSWERED_AGAIN)) or (
            name == f"closed at[{WRITER}]" and name not in code
        ):
            continue
        if name == OWN_LAC and name not in model:
            continue
        found[name] = (model.get(name), code.get(name))
    return found


def _bookie(name: str) -> str | None:
    """Return the bookie that an observation is about."""
    match = re.search(r"\[(b\d+)", name)
    return None if match is None else match[1]
