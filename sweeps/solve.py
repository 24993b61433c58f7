"""One obligation, one row: asked in a process of its own that can be stopped from outside, whatever it does.

Obligations that differ in their property alone share what induction over one action proves of their instance: it carries all claims
together, and what remains of them is inductive by itself. What it leaves open is asked for each by itself, as if there were no others.
"""

from __future__ import annotations

import platform
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from fencepost.encoding.engine.check import check, settled_by_induction
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Result, Verdict
from fencepost.encoding.errors import BadInput, ModelError
from fencepost.encoding.evidence.writer import make_certificate
from fencepost.encoding.language.protocol import Instance, load
from fencepost.encoding.language.system import System
from fencepost.encoding.solving.workers import Ended, Worker
from fencepost.properties.catalogue import find
from fencepost.sweeps import conformance_cases
from fencepost.sweeps.rows import ERROR, Row, asked, found, unanswered
from fencepost.sweeps.sweep_cases import CODE, SweepCase

GRACE = 5.0
"""Seconds that a check may overrun its time before it is killed: it bounds its solvers by itself, but not the
building of the formulas' terms, nor the replay of what was found."""


LOOK = 0.5
"""Seconds between two looks at whether time is up."""


@dataclass(frozen=True)
class Allowance:
    """What an obligation may take: seconds, its certificate's too, GiB of memory for each process, and
    conflicts of its searches together."""

    timeout: float = 300.0
    memory: float | None = None
    conflicts: int | None = None
    certificates: Path | None = None
    """Where the certificates of proofs go, each in a folder named after its obligation; None:
    none is made."""
    source: Path | None = None
    """The Python file with the protocol, from the command line; None: it ships.
    It is there on every machine."""
    libraries: Mapping[str, Path] = field(default_factory=dict)
    """The lib folder of each release of BookKeeper that is walked on. It is there on every machine."""


Check = Callable[[SweepCase, Allowance], Result]


def decide(obligation: SweepCase, allowance: Allowance) -> Result:
    """Return the result of checking the obligation.

    One search at a time (`jobs=1`): obligations are what runs side by side, and an answer then does not
    depend on which of two searches was faster.
    """
    asked = instance(obligation, allowance.source)
    properties = asked.properties(obligation.property)
    limited = limits(obligation, allowance, asked.system)
    return check(asked, properties, limited).results[0]


def instance(obligation: SweepCase, source: Path | None = None) -> Instance:
    """What an obligation is about; raises BadInput if there is no such protocol here,
    or the text of it is another."""
    protocol = find(obligation.protocol) if source is None else load(source)
    found = protocol.instance(obligation.settings)
    if found.subject.system != obligation.system:
        raise BadInput(
            f"{source or protocol.name}: not the text that the sweep asks about; put the same everywhere"
        )
    return found


def limits(obligation: SweepCase, allowance: Allowance, system: System) -> Limits:
    """How far to search, and with what."""
    return Limits(
        bound=obligation.bound,
        rounds=obligation.rounds,
        minimize=obligation.minimize,
        timeout=allowance.timeout,
        memory=allowance.memory,
        conflicts=allowance.conflicts,
        solver=obligation.solver,
        jobs=1,
    ).of(system)


def solve(obligation: SweepCase, engine: str, allowance: Allowance, decided: Check = decide) -> Row:
    """The row of an obligation; whatever goes wrong is a row too, `undecided` or an `error`."""
    row = asked(obligation, engine)
    folder = allowance.certificates and allowance.certificates / row["id"]
    if obligation.solver == CODE:
        asking = partial(_walked, obligation, allowance)
    else:
        asking = partial(_found, obligation, allowance, decided, folder)
    return {**row, **answered(asking, allowance), "host": platform.node()}


def solve_all(obligations: Sequence[SweepCase], engine: str, allowance: Allowance) -> Iterator[Row]:
    """The rows of obligations that differ in their property alone, one after another.

    What the proof took that they share is counted in equal parts.
    """
    begun = time.perf_counter()
    known = _shared(obligations, allowance) if len(obligations) > 1 else {}
    part = (time.perf_counter() - begun) / len(obligations) if len(obligations) > 1 else 0.0
    for obligation in obligations:
        result = known.get(obligation.property)
        row = solve(obligation, engine, allowance, decide if result is None else partial(_known, result))
        yield {**row, "seconds": round(row["seconds"] + part, 3)}


def _known(result: Result, obligation: SweepCase, allowance: Allowance) -> Result:
    """A result that is there already, and costs nothing more."""
    return replace(result, seconds=0.0)


def _shared(obligations: Sequence[SweepCase], allowance: Allowance) -> Mapping[str, Result]:
    """What induction proves of them together, by property; nothing if it fails: each says then by itself why."""
    try:
        found = _apart(partial(_settled, obligations, allowance), allowance)
    except Exception:  # noqa: BLE001 - asked by itself each fails likewise, and its row says so
        return {}
    return {result.property: result for result in found} if isinstance(found, tuple) else {}


def _settled(obligations: Sequence[SweepCase], allowance: Allowance) -> tuple[Result, ...]:
    about = instance(obligations[0], allowance.source)
    properties = about.properties(*(one.property for one in obligations))
    limited = limits(obligations[0], allowance, about.system)
    return settled_by_induction(about, properties, limited)


def _walked(obligation: SweepCase, allowance: Allowance) -> Row:
    settings = dict(obligation.settings)
    came_to = conformance_cases.walked(obligation.protocol, settings, allowance.libraries, allowance.timeout)
    row = unanswered(
        conformance_cases.verdict(came_to).value, conformance_cases.in_words(came_to), came_to.seconds
    )
    return {**row, "steps": conformance_cases.shortest(came_to), "witness": came_to.walks > 0}


def _found(obligation: SweepCase, allowance: Allowance, decided: Check, folder: Path | None) -> Row:
    begun = time.perf_counter()
    result = decided(obligation, allowance)
    if folder is not None and result.verdict is Verdict.PROVED:
        left = allowance.timeout - (time.perf_counter() - begun)
        result = _certified(obligation, allowance, result, folder, left)
    return found(result)


def _certified(
    obligation: SweepCase, allowance: Allowance, result: Result, folder: Path, left: float
) -> Result:
    """The proof with its certificate in the folder, or with why there is none."""
    asked = instance(obligation, allowance.source)
    asked_for = limits(obligation, allowance, asked.system)
    try:
        lacking = make_certificate(folder, asked, asked_for, [result], left)
    except FileExistsError:
        lacking = None  # an attempt at this task that was lost had made it
    if lacking is not None:
        return replace(result, reason=f"no certificate: {lacking}")
    return replace(result, certificate=f"{folder.parent.name}/{folder.name}")


def answers(send: object, asking: Callable[[], object]) -> Sequence[Iterator[object]]:
    """What the process of an obligation runs: one message, the answer."""
    return [_answer(asking)]


def _answer(asking: Callable[[], object]) -> Iterator[object]:
    yield asking()


def answered(asking: Callable[[], Row], allowance: Allowance) -> Row:
    """Return the answer of `asking`, run in a process of its own, or a row that says how that process failed."""
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

    Raises TimeoutError for one that had to be killed.
    """
    begun = time.perf_counter()
    worker = Worker("obligation", answers, asking, gib=allowance.memory, with_children=True)
    try:
        while not wait([worker.connection], timeout=LOOK):
            if time.perf_counter() - begun > allowance.timeout + GRACE:
                raise TimeoutError(f"time-out after {allowance.timeout:g} s, killed {GRACE:g} s later")
        return worker.receive()
    finally:
        worker.kill()


def _failed(ended: Ended, seconds: float) -> Row:
    if ended.gave_up:
        return unanswered(Verdict.UNDECIDED.value, f"{ended.gave_up} (obligation)", seconds)
    if ended.kind in (BadInput.__name__, ModelError.__name__):
        return unanswered(ERROR, ended.says, seconds)
    return unanswered(ERROR, ended.error or "the process said nothing", seconds)
