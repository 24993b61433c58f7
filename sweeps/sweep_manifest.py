"""The manifest of a sweep, `sweep.json`: what it asks, by which engine, and in which manner."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fencepost.encoding import keys as k
from fencepost.encoding.documents import Key, has_keys, other_schema
from fencepost.encoding.errors import BadInput
from fencepost.encoding.versions import version
from fencepost.sweeps.grid import Plan
from fencepost.sweeps.rows import Row

SCHEMA = "fencepost.sweep/4"
HINT = "give the folder of a sweep"
AGAIN = "remove it, and answer again with --resume"

SWEEP = k.keys(
    schema=k.among((SCHEMA,)),
    version=k.text(),
    engine=k.text(),
    cases=k.whole(least=1),
    asks=k.text(),
    manner=Key(dict, "an object"),
    invalid=k.whole(),
    inapplicable=k.whole(),
    repeated=k.whole(),
)
"""The keys of `sweep.json`."""

MANNER = k.keys(conflicts=Key((int, type(None)), "a number or null"))
"""The keys of its `manner`."""


@dataclass(frozen=True)
class Manner:
    """The options that rows depend on besides the cases. They are the same for the whole sweep."""

    conflicts: int | None = None
    """The limit of conflicts of each case, if there is one."""

    def __str__(self) -> str:
        """Return the option of the command."""
        limit = "--conflicts-per-case"
        return f"no {limit}" if self.conflicts is None else f"{limit} {self.conflicts}"


NO_LIMIT = Manner()
"""The manner unless an option says otherwise."""


def check_manifest(document: Any, where: str) -> dict[str, Any]:
    """Return the content of `sweep.json`; raise BadInput if it is not one of ours."""
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise other_schema(where, schema, SCHEMA)
    found = has_keys(document, SWEEP, where)
    has_keys(found["manner"], MANNER, f"{where}, manner")
    return found


def check_same_sweep(where: str, known: Mapping[str, Any], document: Mapping[str, Any]) -> None:
    """Raise BadInput unless the sweep in a place is the one that is to be resumed."""
    if known["engine"] != document["engine"]:
        raise BadInput(
            f"{where}: was begun by engine {known['engine']}, this is {document['engine']}; "
            "finish it with that one, or give another folder"
        )
    if known["asks"] != document["asks"]:
        raise BadInput(f"{where}: holds the sweep of another grid; give that grid, or another folder")
    before, now = (Manner(**one["manner"]) for one in (known, document))
    if before != now:
        raise BadInput(f"{where}: was begun with {before}, this is {now}; give the same, or another folder")


def rows_lacking(rows: Sequence[Row], manifest: Mapping[str, Any], where: str) -> int:
    """Return how many cases have no row; raise BadInput for rows that the sweep did not ask for."""
    ids = [row["id"] for row in rows]
    lacking: int = manifest["cases"] - len(ids)
    if lacking < 0 or repeated(ids) or (lacking == 0 and hash_of(ids) != manifest["asks"]):
        raise BadInput(f"{where}: has rows that this sweep did not ask for; {AGAIN}")
    return lacking


def described(plan: Plan, engine: str, manner: Manner) -> dict[str, Any]:
    """Return the content of `sweep.json` for a sweep."""
    ids = [case.identify(engine) for case in plan.cases]
    return {
        "schema": SCHEMA,
        "version": version(),
        "engine": engine,
        "cases": len(ids),
        "asks": hash_of(ids),
        "manner": asdict(manner),
        "invalid": plan.invalid,
        "inapplicable": plan.inapplicable,
        "repeated": plan.repeated,
    }


def hash_of(ids: Iterable[str]) -> str:
    """Return a hash of the cases of a sweep."""
    return hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()


def repeated(ids: Iterable[str]) -> set[str]:
    """Return the ids that occur more than once."""
    return {name for name, times in Counter(ids).items() if times > 1}
