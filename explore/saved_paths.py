"""Paths as documents: a trace if a property is newly violated at the end, else a saved path.

Both can be opened again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fencepost.encoding.concrete.replay import NotAnExecution
from fencepost.encoding.concrete.saved_traces import saved_execution, saved_trace
from fencepost.encoding.documents import other_schema
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.system import System
from fencepost.encoding.language.traces import PATH_SCHEMA, SCHEMA, TraceStep
from fencepost.explore.explorer import Explorer, Here
from fencepost.explore.paths import Begin, ExplorerPath, Lose, Move, Take


def document(here: Here) -> dict[str, object]:
    """Return a `fencepost.trace/2` if a property is newly violated here, else a `fencepost.path/2`."""
    return here.trace.to_json() if here.violated is not None else here.trace.to_path_json()


def opened(explorer: Explorer, document: object, where: str, step: int | None = None) -> ExplorerPath:
    """Return the path of a saved document, at that step or at the end; raise BadInput.

    Only the beginning, actions and losses of the file are used, and they are run again. Later steps that
    cannot happen in this instance are left out.
    """
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema not in (SCHEMA, PATH_SCHEMA):
        raise other_schema(where, schema, SCHEMA, PATH_SCHEMA)
    saved = saved_trace(document, where)
    _same_protocol(explorer, saved, where)
    if step is not None and not 0 <= step <= len(saved["steps"]):
        raise BadInput(f"{step}: {where} has no such step; valid: 0 to {len(saved['steps'])}")
    try:
        actions, lost, beginning = saved_execution(saved, explorer.system)
        steps = _steps(explorer, actions, lost, beginning, step)
    except NotAnExecution as error:
        raise BadInput(
            f"{where}: {error}; give a trace of this instance, or stop before with a step"
        ) from error
    taken = [Take(action) for action in actions[: len(steps)]]
    moves = [*_chosen(explorer, beginning), *_moves(explorer.system, lost, steps, taken)]
    path = ExplorerPath().then(*moves)
    return path if step is None else path.to(_place(moves, step))


def _chosen(explorer: Explorer, beginning: Sequence[int]) -> Iterator[Begin]:
    """Yield moves that choose this beginning: no more than are needed, in the order of the variables."""
    given: dict[int, int] = {}
    while True:
        begun = explorer.beginnings.of(next(explorer.beginnings.states({}, given)))
        own = zip(explorer.system.varied, begun, beginning, strict=True)
        wrong = next((Begin(v, wanted) for v, code, wanted in own if code != wanted), None)
        if wrong is None:
            return
        given[wrong.variable.place] = wrong.code
        yield wrong


def _steps(
    explorer: Explorer,
    actions: list[GroundAction],
    lost: list[str],
    beginning: Sequence[int],
    step: int | None,
) -> tuple[TraceStep, ...]:
    """Return all steps, or those up to `step` if later ones cannot happen; raise NotAnExecution."""
    try:
        return explorer.replayer.record("path", actions, lost, beginning).steps
    except NotAnExecution:
        if step is None:
            raise
        return explorer.replayer.record("path", actions[:step], lost, beginning).steps


def _same_protocol(explorer: Explorer, saved: Mapping[str, Any], where: str) -> None:
    """Raise BadInput for another protocol. Other settings are accepted if the steps are possible here."""
    ours = explorer.instance.protocol.name
    if saved["protocol"] != ours:
        raise BadInput(f"{where}: is of {saved['protocol']}, not of {ours}; explore that")


def _moves(
    system: System, lost: list[str], steps: tuple[TraceStep, ...], taken: list[Take]
) -> Iterator[Move]:
    """Yield each action, and after it the losses of the messages it sent.

    Losses of messages that are never sent come first.
    """
    choices = {variable.name: variable for variable in system.choices}
    sent = {message.choice for step in steps for message in step.sent}
    yield from (Lose(choices[name]) for name in lost if name not in sent)
    told: set[str] = set()
    for take, step in zip(taken, steps, strict=True):
        yield take
        for message in step.sent:
            if message.choice in lost and message.choice not in told:
                told.add(message.choice)
                yield Lose(choices[message.choice])


def _place(moves: list[Move], step: int) -> int:
    """Return the number of moves up to that step, including the losses of its messages."""
    steps, place = 0, 0
    for number, move in enumerate(moves, 1):
        steps += isinstance(move, Take)
        if steps > step:
            break
        place = number
    return place
