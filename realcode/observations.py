"""What can be seen of a ledger when the code is at rest, and what the model says of the same: both by the same names.

Entries are numbered from 1 and LACs are 0 for "none", as in the model; BookKeeper counts from 0 and says -1.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from fencepost.encoding.concrete.compiler import Concrete, State
from fencepost.encoding.language.terms import Term
from fencepost.encoding.language.traces import Json, plain
from fencepost.protocols.bookkeeper.bookies import NOTHING, Stage
from fencepost.protocols.bookkeeper.metadata import WRITER, Phase, Status
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.state import Ledger

Facts = Mapping[str, Json]
"""By name, such as `stored[b1, 2]`, what it is. What cannot be seen just now is left out."""

STATES = {"OPEN": "open", "IN_RECOVERY": "in-recovery", "CLOSED": "closed"}

TOLD_LAC = "lac told"
"""What a bookie tells readers: a fact of the code alone."""

OWN_LAC = f"lac[{WRITER}]"
"""The writer's last add confirmed. A writer that has given up may have read that the ledger is closed, and takes its end
for it (LedgerHandle.setLedgerMetadata); the model's, which nothing follows from any more, stays."""

_TOLD = re.compile(r"(?P<client>\w+): (?P<what>add \d+|opened|closed): (?P<code>\w+)(?: at (?P<lac>-?\d+))?")


def code_facts(
    look: Mapping[str, Any],
    reading: Collection[str],
    closing: Collection[str],
    parameters: BookKeeperParameters,
) -> Facts:
    """The facts in an answer of the harness; who has begun to read for recovery, and who has asked to close."""
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
        for fragment in metadata["fragments"]:
            found[f"ensemble from {fragment['first'] + 1}"] = ", ".join(fragment["ensemble"])
    for name, inside in look["bookies"].items():
        if inside["up"] and int(name[1:]) <= bookies:
            found |= _inside(name, inside, entries)
    for entry in range(1, entries + 1):
        found[f"acknowledged[{entry}]"] = f"{WRITER}: add {entry}: OK" in look["told"]
    for told in look["told"]:
        match = _TOLD.fullmatch(told)
        if match is not None and match["what"] in ("opened", "closed") and match["code"] == "OK":
            found[f"closed at[{match['client']}]"] = int(match["lac"]) + 1
    if WRITER in look["lacs"]:
        found[OWN_LAC] = look["lacs"][WRITER] + 1
    return found


def _inside(name: str, inside: Mapping[str, Any], entries: int) -> dict[str, Json]:
    stored = {item["entry"] + 1: item for item in inside["entries"]}
    found: dict[str, Json] = {f"fenced[{name}]": inside["fenced"], f"limbo[{name}]": inside["limbo"]}
    found[f"{TOLD_LAC}[{name}]"] = inside["lac"] + 1
    for entry in range(1, max([entries, *stored]) + 1):
        item = stored.get(entry)
        found[f"stored[{name}, {entry}]"] = NOTHING if item is None else int(item["content"])
        if item is not None:
            found[f"stored lac[{name}, {entry}]"] = item["lac"] + 1
    return found


def model_facts(ledger: Ledger, concrete: Concrete, state: State) -> Facts:
    """The same facts as the model has them in that state."""

    def value(term: Term) -> Json:
        return plain(concrete.evaluate(term, {}, state))

    found: dict[str, Json] = {"status": value(ledger.status)}
    if found["status"] == Status.CLOSED.value:
        found["last entry"] = value(ledger.last_entry)
    if found["status"] != Status.NONE.value:
        found |= _fragments(ledger, value)
    for bookie in ledger.bookie:
        if ledger.parameters.boots_in_steps and value(ledger.stage[bookie]) != Stage.SERVING.value:
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
    for entry in ledger.entry:
        assert isinstance(lac, int) and isinstance(entry, int)
        found[f"acknowledged[{entry}]"] = entry <= lac
    if found["status"] != Status.NONE.value and value(ledger.phase[WRITER]) != Phase.GONE.value:
        found[OWN_LAC] = lac
    for client in ledger.client:
        if value(ledger.phase[client]) == "closed":
            found[f"closed at[{client}]"] = value(ledger.closed_at[client])
    return found


CLOSES = ("finish recovery", "adopt close")
"""What a recoverer does that has asked the metadata store to close the ledger."""


def _closing(concrete: Concrete, state: State) -> set[Json]:
    """The recoverers that have all they need to close the ledger, or to find that someone else has."""
    actions = (a for a in concrete.system.ground_actions if a.schema.name in CLOSES)
    return {plain(a.arguments[0]) for a in actions if next(concrete.step(a).successors(state), None)}


def _fragments(ledger: Ledger, value: Any) -> dict[str, Json]:
    """A fragment hides those before it that start no lower."""
    found: dict[int, str] = {}
    last = value(ledger.last_fragment)
    for fragment in ledger.fragment:
        if fragment > last:
            break
        first = value(ledger.first[fragment])
        found = {f: e for f, e in found.items() if f < first}
        found[first] = ", ".join(value(ledger.ensemble[fragment, i]) for i in ledger.position)
    return {f"ensemble from {first}": ensemble for first, ensemble in found.items()}


def differences(model: Facts, code: Facts) -> dict[str, tuple[Json | None, Json | None]]:
    """By name, what the model says and what the code has, where they differ.

    A bookie that one of them cannot look into just now, a close by the writer that its application did not ask for, and
    the LAC of a writer that has given up are no differences.
    """
    found: dict[str, tuple[Json | None, Json | None]] = {}
    for name in {**model, **code}:
        if name in model and name in code and model[name] == code[name]:
            continue
        bookie = _bookie(name)
        if bookie is not None and not (f"fenced[{bookie}]" in model and f"fenced[{bookie}]" in code):
            continue
        if name.startswith(TOLD_LAC) or (name == f"closed at[{WRITER}]" and name not in code):
            continue
        if name == OWN_LAC and name not in model:
            continue
        found[name] = (model.get(name), code.get(name))
    return found


def _bookie(name: str) -> str | None:
    """The bookie that a fact is about."""
    match = re.search(r"\[(b\d+)", name)
    return None if match is None else match[1]
