"""One obligation, one row: asked in a process of its own that can be stopped from outside, whatever it does."""

from __future__ import annotations

import platform
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import wait

from fencepost.encoding.checking import Limits, Outcome, check
from fencepost.encoding.cubes import Part
from fencepost.encoding.errors import BadInput, ModelError
from fencepost.encoding.protocol import choose
from fencepost.encoding.verdicts import Result, Verdict
from fencepost.encoding.workers import Ended, Worker
from fencepost.properties.catalogue import find
from fencepost.sweeps.grid import Obligation
from fencepost.sweeps.rows import ERROR, Row, asked, found, unanswered

GRACE = 5.0
"""Seconds that a check may overrun its time before it is killed: it bounds its solvers by itself, but not the
building of the formulas' terms, nor the replay of what was found."""


LOOK = 0.5
"""Seconds between two looks at whether time is up, or the answer is wanted no more."""


@dataclass(frozen=True)
class Allowance:
    """What an obligation may take: seconds, and GiB of memory for each process."""

    timeout: float = 300.0
    memory: float | None = None


Check = Callable[[Obligation, Allowance], Result]


def decide(obligation: Obligation, allowance: Allowance) -> Result:
    """What checking the obligation comes to."""
    return checked(obligation, allowance).results[0]


def checked(obligation: Obligation, allowance: Allowance, part: Part | None = None) -> Outcome:
    """The same, or what checking one cube of it comes to.

    One search at a time (`jobs=1`): obligations are what runs side by side, and an answer then does not depend on
    which of two searches was faster.
    """
    protocol = find(obligation.protocol)
    parameters = protocol.parameters(obligation.settings)
    system = protocol.system(parameters)
    limits = Limits(
        bound=obligation.bound,
        rounds=system.default_rounds if obligation.rounds is None else obligation.rounds,
        minimize=obligation.minimize,
        timeout=allowance.timeout,
        memory=allowance.memory,
        solver=obligation.solver,
        jobs=1,
    )
    properties = choose(system, (obligation.property,))
    return check(system, protocol.subject(parameters), properties, limits, part=part)


def solve(obligation: Obligation, engine: str, allowance: Allowance, decided: Check = decide) -> Row:
    """The row of an obligation; whatever goes wrong is a row too, `undecided` or an `error`."""
    answer = answered(partial(_found, obligation, allowance, decided), allowance)
    assert answer is not None
    return {**asked(obligation, engine), **answer, "host": platform.node()}


def _found(obligation: Obligation, allowance: Allowance, decided: Check) -> Row:
    return found(decided(obligation, allowance))


def answers(send: object, asking: Callable[[], Row | None]) -> Sequence[Iterator[Row | None]]:
    """What the process of an obligation runs: one message, the answer."""
    return [_answer(asking)]


def _answer(asking: Callable[[], Row | None]) -> Iterator[Row | None]:
    yield asking()


def never() -> bool:
    """Nothing stops it but time."""
    return False


def answered(
    asking: Callable[[], Row | None], allowance: Allowance, stopped: Callable[[], bool] = never
) -> Row | None:
    """What `asking` says in a process of its own, or what became of it instead; None if it was stopped."""
    begun = time.perf_counter()
    try:
        worker = Worker("obligation", answers, asking, gib=allowance.memory, with_children=True)
        try:
            while not wait([worker.connection], timeout=LOOK):
                if stopped():
                    return None
                if time.perf_counter() - begun > allowance.timeout + GRACE:
                    reason = f"time-out after {allowance.timeout:g} s, killed {GRACE:g} s later"
                    return unanswered(Verdict.UNDECIDED.value, reason, time.perf_counter() - begun)
            message = worker.receive()
        finally:
            worker.kill()
    except Exception:  # noqa: BLE001 - a sweep goes on, and the row says what happened
        return unanswered(ERROR, traceback.format_exc(), time.perf_counter() - begun)
    if isinstance(message, Ended):
        return _failed(message, time.perf_counter() - begun)
    row: Row | None = message
    return row


def _failed(ended: Ended, seconds: float) -> Row:
    if ended.memory:
        return unanswered(Verdict.UNDECIDED.value, "out of memory (obligation)", seconds)
    if ended.kind in (BadInput.__name__, ModelError.__name__):
        return unanswered(ERROR, ended.says, seconds)
    return unanswered(ERROR, ended.error or "the process said nothing", seconds)
