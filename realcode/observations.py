"""Observations of a ledger: taken on the code at rest, and computed from a state of the model.

Both use the same names. Entries are numbered from 1, and LAC 0 means none, as in the model. BookKeeper
counts from 0 and uses -1.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.language.terms import Term
from fencepost.encoding.language.traces import Json, plain
from fencepost.protocols.bookkeeper.observed import (
    FILE_GONE,
    FORCED,
    GIVEN,
    LENGTH,
    OWN_LAC,
    PLACED,
    UNANSWERED,
    UNSAFE,
    UP,
    observed,
)
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import NOTHING, WRITER, Status

Observations = Mapping[str, Json]
"""Observed values by name, such as `stored[b1, 2]`. Values that cannot be observed now are left out."""

STATES = {"OPEN": "open", "IN_RECOVERY": "in-recovery", "CLOSED": "closed"}

TOLD_LAC = "lac told"
"""The LAC that a bookie tells readers: an observation of the code alone."""

UNANSWERED_AGAIN = "unanswered again"
"""An entry whose second add has no result yet: an observation of the code alone."""

ABSENT = ("NoSuchEntryException", "NoSuchLedgerExistsException")
"""The results of a read for which no bookie of the write set has the entry."""

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


def model_observations(concrete: Concrete, states: Iterable[State]) -> list[Observations]:
    """Return the observations that the model of a ledger gives in each state."""
    ledger = concrete.system.state
    assert isinstance(ledger, Ledger)
    terms = {name: one for name, one in observed(ledger).items() if not name.startswith(PLACED)}

    def in_state(state: State) -> Observations:
        def value(term: Term) -> Json:
            return plain(concrete.evaluate(term, {}, state))

        found = {name: value(one.value) for name, one in terms.items() if value(one.known)}
        if found["status"] != Status.NONE.value:
            found |= _fragments(ledger, value, value(ledger.last_fragment))
        for reader in ledger.reader if ledger.parameters.readers else ():
            if found[f"open[{reader}]"]:
                fragments = _fragments(ledger, value, value(ledger.known_fragment[reader]))
                found[f"fragments[{reader}]"] = "; ".join(
                    f"{name.removeprefix('ensemble ')}: {ensemble}" for name, ensemble in fragments.items()
                )
        return found

    return [in_state(state) for state in states]


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
    names = [name for name in {**model, **code} if model.get(name) != code.get(name)]
    return {name: (model.get(name), code.get(name)) for name in names if _is_compared(name, model, code)}


def _is_compared(name: str, model: Observations, code: Observations) -> bool:
    if name.startswith((TOLD_LAC, UNANSWERED_AGAIN)):
        return False
    bookie = re.search(r"\[(b\d+)", name)
    if bookie is not None and not name.startswith(f"{UP}["):
        return f"fenced[{bookie[1]}]" in model and f"fenced[{bookie[1]}]" in code
    if name == f"closed at[{WRITER}]":
        return name in code
    return name != OWN_LAC or name in model
