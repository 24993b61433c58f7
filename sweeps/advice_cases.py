"""Cases that prove the conditions of `advise`: each is a cell of the grid in `advice/checked.py`.

A case asks about several properties at once, joined by "+". The violation of one is enough.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from fencepost.advice.checked import CAN, CANNOT, UNDECIDED, Line, LossCell, cells, sizes
from fencepost.encoding.check import check
from fencepost.encoding.documents import Key, has_keys
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.language.canonical import digest
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.terms import TRUE
from fencepost.properties.catalogue import find
from fencepost.sweeps import ranges
from fencepost.sweeps.rows import Row, found
from fencepost.sweeps.sweep_cases import ADVICE, SweepCase

KEYS = {"advice": Key((int, str), "ensembles, such as '1..4'", needed=True)}
"""The key of a table `[[grid]]` that asks for the conditions of `advise`."""

DIGITS = 12
"""The digits of a digest in the manifest."""


def asked(table: Mapping[str, Any]) -> Iterator[SweepCase]:
    """Yield the cases of a table. Raises BadInput."""
    has_keys(table, KEYS, "[[grid]]")
    ensembles = ranges.numbers("advice", table["advice"])
    for configuration, bookies in sizes(max(ensembles)):
        if configuration.ensemble in ensembles:
            yield from map(case_of, cells(configuration, bookies))


def case_of(cell: LossCell) -> SweepCase:
    """Return the case of a cell. The larger the sizes, the harder it is.

    The writer has no step in a ledger that another client closed at its LAC: the answers in the manifest were
    found so, and that step leads to no state in which a property changes its value (docs/conformance.md).
    """
    one = cell.question
    protocol = find(one.preset)
    subject = protocol.subject(protocol.parameters(one.settings.items(), one.release))
    named = {**subject.parameters, **subject.switches}
    if named.get("writer_close") == "any-or-same-end":
        named["writer_close"] = "any-not-closed"
    return SweepCase(
        one.preset,
        tuple((name, str(value)) for name, value in named.items()),
        "+".join(one.properties),
        ADVICE,
        minimize=Minimize.NONE,
        weight=sum((*cell.setup.configuration.sizes, cell.setup.bookies)),
    )


def ask(case: SweepCase, timeout: float) -> Row:
    """Return the columns of the answer to a case.

    A witness is not asked for. Without a spare bookie many are unreachable, and that proves no property.
    """
    begun = time.perf_counter()
    instance = _instance(case)
    properties = [replace(one, witness=TRUE) for one in instance.properties(*case.property.split("+"))]
    limits = Limits(minimize=case.minimize, timeout=timeout, jobs=1, one_is_enough=True)
    outcome = check(instance, properties, limits.of(instance.system))
    return found(replace(outcome.decisive, seconds=time.perf_counter() - begun))


def digest_of(cell: LossCell) -> str:
    """Return the digest of the system that a cell asks about."""
    return digest(_instance(case_of(cell)).system)[:DIGITS]


@lru_cache(maxsize=1)
def _instance(case: SweepCase) -> Instance:
    return find(case.protocol).instance(case.settings)


def line_of(cell: LossCell, row: Row) -> Line:
    """Return the line of a cell, given the row of its case."""
    verdict = row["verdict"] if row["verdict"] in (CAN, CANNOT) else UNDECIDED
    return Line(cell.place, verdict, row["steps"] if verdict == CAN else None, digest_of(cell))
