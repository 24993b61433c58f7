"""Traces from files: their form, and whether they replay to what they say.

Nothing in a file is believed. Its actions and losses are run on plain values, and every word it says about the states,
messages and faults on the way is compared with what that gives.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.documents import Key, has_keys, one_of, table_of, text_key, whole_key
from fencepost.encoding.language.state import show
from fencepost.encoding.language.system import GroundAction, Property, System
from fencepost.encoding.language.traces import SCHEMA, WALK, Subject, Trace
from fencepost.encoding.safe_text import one_line

PLAIN = (bool, int, str)
"""What a variable, a parameter or a field of a message holds in a file."""

SUBJECT = {
    "protocol": text_key("the name of a protocol", needed=True),
    "parameters": table_of(PLAIN, "an object of parameters", needed=True),
    "switches": table_of(PLAIN, "an object of switches", needed=True),
    "system": Key((str, type(None)), "the digest of the system, or null if the protocol ships", needed=True),
}
"""The keys that say what a document is about."""

TRACE = {
    "schema": one_of((SCHEMA,), needed=True),
    "version": text_key(needed=True),
    **SUBJECT,
    "property": text_key("the name of a property", needed=True),
    "faults": table_of(int, "an object of faults", needed=True),
    "initial": table_of(PLAIN, "an object of variables", needed=True),
    "steps": Key(list, "a list of steps", needed=True),
}
"""The keys of a trace."""

WALKED = {
    **{name: key for name, key in TRACE.items() if name != "property"},
    "schema": one_of((WALK,), needed=True),
}
"""The keys of a walk."""

STEP = {
    "index": whole_key(1, needed=True),
    "action": text_key("the name of an action", needed=True),
    "arguments": table_of(PLAIN, "an object of arguments", needed=True),
    "actor": Key(PLAIN, "a name", needed=True),
    "received": Key((dict, type(None)), "a message or null", needed=True),
    "sent": Key(list, "a list of messages", needed=True),
    "note": text_key(needed=True),
    "changes": table_of(PLAIN, "an object of variables", needed=True),
}
"""The keys of a step of a trace."""


def saved_subject(document: Mapping[str, Any]) -> Subject:
    """What a document with the keys `SUBJECT` is about."""
    return Subject(document["protocol"], document["parameters"], document["switches"], document["system"])


def saved_trace(document: object, where: str) -> dict[str, Any]:
    """The document, if it has the form of a trace, or of a walk, which has no property; raises BadInput."""
    is_walk = isinstance(document, dict) and document.get("schema") == WALK
    trace = has_keys(document, WALKED if is_walk else TRACE, f"{where}: a {'walk' if is_walk else 'trace'}")
    for number, step in enumerate(trace["steps"], 1):
        has_keys(step, STEP, f"{where}: step {number} of the trace")
    return trace


def saved_actions(saved: Mapping[str, Any], system: System) -> tuple[list[GroundAction], list[str]]:
    """The actions of a saved trace, and the names of the choices that are true in it; raises NotAnExecution."""
    actions = []
    for number, step in enumerate(saved["steps"], 1):
        name, arguments = step["action"], step["arguments"]
        action = system.find(name, [show(a) for a in arguments.values()])
        if action is None:
            given = ", ".join(f"{k}={show(v)}" for k, v in arguments.items())
            raise _differs(f"step {number}", f"{name}({given}) is not an action of {saved['protocol']}")
        actions.append(action)
    known = {v.name for v in system.choices}
    return actions, [name for name, value in saved["initial"].items() if name in known and value is True]


def check_saved(saved: Mapping[str, Any], system: System, subject: Subject, prop: Property | None) -> Trace:
    """Replay a trace that has the form of one (`saved_trace`) and compare it with what it says, step by step.

    Without a property it is a walk, which violates nothing. Raises NotAnExecution with the first difference.
    """
    actions, choices = saved_actions(saved, system)
    replayer = Replayer(system, subject)
    trace = (
        replayer.record("walk", actions, choices) if prop is None else replayer.replay(prop, actions, choices)
    )
    _compare("initial", saved["initial"], trace.initial)
    replayed = trace.to_json()["steps"]
    assert isinstance(replayed, list)
    if prop is not None and len(replayed) < len(actions):
        raise _differs(f"step {len(replayed)}", f"{prop.name} is violated here already; the file goes on")
    for number, (ours, theirs) in enumerate(zip(replayed, saved["steps"], strict=True), 1):
        for key in ours:
            _compare(f"step {number}, {key}", theirs[key], ours[key])
    _compare("faults", saved["faults"], dict(trace.faults))
    return trace


def _compare(where: str, theirs: object, ours: object) -> None:
    """As texts, in which 1 is not true."""
    if _text(theirs) != _text(ours):
        raise _differs(where, f"the file says {_text(theirs)}, replaying gives {_text(ours)}")


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _differs(where: str, why: str) -> NotAnExecution:
    return NotAnExecution(one_line(f"{where}: {why}"))
