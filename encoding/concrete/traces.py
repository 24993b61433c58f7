"""Traces read from files: replayed, and compared step by step with what the file says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fencepost.encoding.concrete.replaying import NotAnExecution, Replayer
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.state import show
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.traces import Subject, Trace


def check_saved(saved: Mapping[str, Any], system: System, subject: Subject, prop: Property) -> Trace:
    """Replay a trace read from a file and compare it with what the file says, step by step.

    Raises NotAnExecution with the first difference, BadInput if the file does not have the form of a trace.
    """
    replayer = Replayer(system, subject)
    actions = []
    for number, step in enumerate(_list(saved, "steps"), 1):
        name, arguments = str(_get(step, "action")), _object(step, "arguments")
        action = system.find(name, [show(a) for a in arguments.values()])
        if action is None:
            given = ", ".join(f"{k}={show(v)}" for k, v in arguments.items())
            raise NotAnExecution(f"step {number}: {name}({given}) is not an action of {subject.protocol}")
        actions.append(action)
    known = {v.name for v in system.choices}
    choices = [name for name, value in _get(saved, "initial").items() if name in known and value is True]
    trace = replayer.replay(prop, actions, choices)
    _compare("initial", _get(saved, "initial"), trace.initial)
    replayed = trace.to_json()["steps"]
    assert isinstance(replayed, list)
    if len(replayed) < len(actions):
        raise NotAnExecution(f"step {len(replayed)}: {prop.name} is violated here already; the file goes on")
    for number, (ours, theirs) in enumerate(zip(replayed, saved["steps"], strict=True), 1):
        for key in ours:
            _compare(f"step {number}, {key}", theirs.get(key), ours[key])
        _no_more(f"step {number}", theirs, ours)
    _compare("faults", _get(saved, "faults"), dict(trace.faults))
    return trace


def _get(mapping: Any, key: str) -> Any:
    if not isinstance(mapping, Mapping) or key not in mapping:
        raise BadInput(f"{key}: missing in the trace; a trace has it, see docs/formats.md")
    return mapping[key]


def _list(mapping: Any, key: str) -> list[Any]:
    value = _get(mapping, key)
    if not isinstance(value, list):
        raise BadInput(f"{key}: must be a list in a trace; see docs/formats.md")
    return value


def _object(mapping: Any, key: str) -> Mapping[str, Any]:
    value = _get(mapping, key)
    if not isinstance(value, Mapping):
        raise BadInput(f"{key}: must be an object in a trace; see docs/formats.md")
    return value


def _compare(where: str, theirs: object, ours: object) -> None:
    if theirs != ours:
        raise NotAnExecution(
            f"{where}: the file says {json.dumps(theirs)}, replaying gives {json.dumps(ours)}"
        )


def _no_more(where: str, theirs: Mapping[str, object], ours: Mapping[str, object]) -> None:
    unknown = [key for key in theirs if key not in ours]
    if unknown:
        raise BadInput(f"{unknown[0]}: unknown key in {where} of the trace; valid: {', '.join(ours)}")
