"""The answer of a case: computed in a process of its own, which can be killed, and written as a row.

Cases that differ in their property alone share the proof by induction over one action of their instance.
The shared proof carries all properties together, and those that remain are inductive. Each case that it
leaves open is then checked alone.
"""

from __future__ import annotations

import platform
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from fencepost.encoding.check import settled_by_induction
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Result, Verdict
from fencepost.encoding.errors import BadInput, ModelError, time_out
from fencepost.encoding.evidence.writer import make_certificate
from fencepost.encoding.language.protocol import Instance, load
from fencepost.encoding.language.system import Liveness, System
from fencepost.encoding.liveness.live_check import check_all
from fencepost.encoding.solving.workers import Ended, Worker
from fencepost.properties.catalogue import find
from fencepost.sweeps import advice_cases
from fencepost.sweeps.rows import ERROR, Row, asked, found, unanswered
from fencepost.sweeps.sweep_cases import ADVICE, SweepCase

GRACE = 5.0
"""The seconds that a check may overrun its time before it is killed.

A check limits its solvers itself, but not the building of formulas and not the replay of a counterexample.
"""


LOOK = 0.5
"""The seconds between two looks at the time."""


@dataclass(frozen=True)
class Allowance:
    """The limits of a case, its certificate included.

    `timeout` is in seconds, `memory` in GiB for each process, `conflicts` over all searches of the case.
    """

    timeout: float = 300.0
    memory: float | None = None
    conflicts: int | None = None
    certificates: Path | None = None
    """The folder for certificates of proofs, one folder for each case; None for no certificates."""
    source: Path | None = None
    """The Python file with the protocol, on every machine; None for a protocol that ships."""


Check = Callable[[SweepCase, Allowance], Result]


def decide(case: SweepCase, allowance: Allowance) -> Result:
    """Return the result of checking the case.

    One search runs at a time (`jobs=1`), because cases run side by side. The answer then does not depend on
    which of two searches was faster.
    """
    asked = instance(case, allowance.source)
    properties = asked.claims(case.property)
    limited = limits(case, allowance, asked.system)
    to_certify = allowance.certificates is not None
    return check_all(asked, properties, limited, to_certify=to_certify).results[0]


def instance(case: SweepCase, source: Path | None = None) -> Instance:
    """Return the instance of a case; raise BadInput if this machine has no such protocol or another text."""
    return _instance(case.protocol, case.settings, case.system, case.drop_declared, source)


@lru_cache(maxsize=1)
def _instance(
    name: str,
    settings: tuple[tuple[str, str], ...],
    digest: str | None,
    drop_declared: bool,
    source: Path | None,
) -> Instance:
    """Return the instance with its system, which the processes of a task's cases inherit."""
    protocol = find(name) if source is None else load(source)
    found = protocol.instance(settings, drop_declared=drop_declared)
    if found.subject.system != digest:
        raise BadInput(
            f"{source or protocol.name}: not the text that the sweep asks about; put the same everywhere"
        )
    _ = found.system
    return found


def limits(case: SweepCase, allowance: Allowance, system: System) -> Limits:
    """Return the limits of the search."""
    return Limits(
        bound=case.bound,
        rounds=case.rounds,
        minimize=case.minimize,
        timeout=allowance.timeout,
        memory=allowance.memory,
        conflicts=allowance.conflicts,
        solver=case.solver,
        jobs=1,
    ).of(system)


def solve(case: SweepCase, engine: str, allowance: Allowance, decided: Check = decide) -> Row:
    """Return the row of a case; every failure is a row too, `undecided` or `error`."""
    row = asked(case, engine)
    folder = allowance.certificates and allowance.certificates / row["id"]
    if case.solver == ADVICE:
        asking = partial(advice_cases.ask, case, allowance.timeout)
    else:
        asking = partial(_decided_row, case, allowance, decided, folder)
    return {**row, **answered(asking, allowance), "host": platform.node()}


def solve_all(cases: Sequence[SweepCase], engine: str, allowance: Allowance) -> Iterator[Row]:
    """Yield the rows of cases that differ in their property alone.

    The time of the proof that they share is split into equal parts.
    """
    begun = time.perf_counter()
    is_check = cases[0].solver != ADVICE
    if is_check:
        with suppress(Exception):  # each case fails in the same way, and its row says so
            instance(cases[0], allowance.source)
    known = _shared(cases, allowance) if is_check and len(cases) > 1 else {}
    part = (time.perf_counter() - begun) / len(cases) if len(cases) > 1 else 0.0
    for case in cases:
        result = known.get(case.property)
        row = solve(case, engine, allowance, decide if result is None else partial(_at_no_cost, result))
        yield {**row, "seconds": round(row["seconds"] + part, 3)}


def _at_no_cost(result: Result, case: SweepCase, allowance: Allowance) -> Result:
    """Return a result that is known already, with no time of its own."""
    return replace(result, seconds=0.0)


def _shared(cases: Sequence[SweepCase], allowance: Allowance) -> Mapping[str, Result]:
    """Return the results that induction proves for the cases together, by property.

    If it fails, no results are returned, and each case reports the failure itself.
    """
    try:
        found = _apart(partial(_settled, cases, allowance), allowance)
    except Exception:  # noqa: BLE001 - each case alone fails in the same way, and its row says so
        return {}
    return {result.property: result for result in found} if isinstance(found, tuple) else {}


def _settled(cases: Sequence[SweepCase], allowance: Allowance) -> tuple[Result, ...]:
    about = instance(cases[0], allowance.source)
    claims = about.claims(*(one.property for one in cases))
    properties = [claim for claim in claims if not isinstance(claim, Liveness)]
    limited = limits(cases[0], allowance, about.system)
    return settled_by_induction(about, properties, limited) if properties else ()


def _decided_row(case: SweepCase, allowance: Allowance, decided: Check, folder: Path | None) -> Row:
    begun = time.perf_counter()
    result = decided(case, allowance)
    if folder is not None and result.verdict is Verdict.PROVED:
        left = allowance.timeout - (time.perf_counter() - begun)
        if result.visited is None:
            result = _certified(case, allowance, result, folder, left)
        else:
            result = replace(result, reason="no certificate: the engine enumeration gives none")
    return found(result)


def _certified(case: SweepCase, allowance: Allowance, result: Result, folder: Path, left: float) -> Result:
    """Return the proof with its certificate in the folder, or with the reason why there is none."""
    asked = instance(case, allowance.source)
    asked_for = limits(case, allowance, asked.system)
    try:
        lacking = make_certificate(folder, asked, asked_for, [result], left)
    except FileExistsError:
        lacking = None  # an earlier attempt at this task made it
    if lacking is not None:
        return replace(result, reason=f"no certificate: {lacking}")
    return replace(result, certificate=f"{folder.parent.name}/{folder.name}")


def answer(asking: Callable[[], object]) -> Iterator[object]:
    """Yield the answer, the one message of a case's process."""
    yield asking()


def answered(asking: Callable[[], Row], allowance: Allowance) -> Row:
    """Return the answer of `asking`, run in its own process, or a row that says how it failed."""
    begun = time.perf_counter()
    try:
        message = _apart(asking, allowance)
    except TimeoutError as why:
        return unanswered(Verdict.UNDECIDED.value, str(why), time.perf_counter() - begun)
    except Exception:  # noqa: BLE001 - a sweep goes on, and the row says what happened
        return unanswered(ERROR, traceback.format_exc(), time.perf_counter() - begun)
    if isinstance(message, Ended):
        return _failed(message, time.perf_counter() - begun)
    row: Row = message
    return row


def _apart(asking: Callable[[], object], allowance: Allowance) -> Any:
    """Return the answer of `asking`, run in a process of its own, or `Ended` if that failed.

    Raises TimeoutError if the process had to be killed.
    """
    begun = time.perf_counter()
    worker = Worker("case", answer, asking, gib=allowance.memory, with_children=True)
    try:
        while not wait([worker.connection], timeout=LOOK):
            if time.perf_counter() - begun > allowance.timeout + GRACE:
                raise TimeoutError(f"{time_out(allowance.timeout)}, killed {GRACE:g} s later")
        return worker.receive()
    finally:
        worker.kill()


def _failed(ended: Ended, seconds: float) -> Row:
    if ended.gave_up:
        return unanswered(Verdict.UNDECIDED.value, f"{ended.gave_up} (case)", seconds)
    if ended.kind in (BadInput.__name__, ModelError.__name__):
        return unanswered(ERROR, ended.says, seconds)
    return unanswered(ERROR, ended.error or "the process said nothing", seconds)
