"""Traces from files: their form, and their replay.

A file is not trusted. Its actions and losses are run on plain values, and each state, message and fault in
the file is compared with the result.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fencepost.encoding import keys as k
from fencepost.encoding.concrete.lassos import replay_lasso
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.documents import has_keys
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.state import Variable
from fencepost.encoding.language.system import Liveness, Property, System
from fencepost.encoding.language.traces import PATH_SCHEMA, SCHEMA, Subject, Trace, plain, shown_name
from fencepost.encoding.safe_text import one_line

SUBJECT = k.keys(
    protocol=k.text("the name of a protocol"),
    parameters=k.table(k.PLAIN, "an object of parameters, each with its value"),
    switches=k.table(k.PLAIN, "an object of switches, each with its value"),
    system=k.null(k.text("the digest (SHA-256) of the ground system"), "if the protocol ships"),
)
"""The keys that name the instance of a document."""

MESSAGE = k.keys(
    kind=k.text("the kind of message"),
    **{"from": k.plain("the sender")},
    to=k.plain("the receiver"),
    fields=k.table(k.PLAIN, "an object: what the message is about, then what else it says"),
)
"""The keys of a message that a step receives."""

SENT = MESSAGE | k.keys(lost=k.flag("it is never delivered"))
"""The keys of a message that a step sends."""

STEP = k.keys(
    index=k.whole("the number of the step", 1),
    action=k.text("the name of an action"),
    arguments=k.table(k.PLAIN, "an object of arguments, in the order of the action"),
    actor=k.plain("a name: who acts"),
    received=k.null(k.one(MESSAGE, "a message that this step handles")),
    sent=k.many(SENT, "a list of messages that this step sends"),
    note=k.text("a remark for people, which may be empty"),
    changes=k.table(k.PLAIN, "an object of variables that changed, with the values after the step"),
)
"""The keys of a step of a trace."""

FAIR = k.keys(
    name=k.text("actions of which some one is fair"),
    how=k.text("how the loop is fair to them"),
)
LOOP = k.keys(
    begins=k.whole(
        "the step after which the loop begins; it has all later steps, and none if it stands still"
    ),
    owed=k.whole("the step after which the property is owed"),
    fair=k.many(FAIR, "what is fair, and how the loop satisfies it"),
)
"""The keys of the part of a trace that is repeated for ever."""

TRACE = k.document(
    SCHEMA,
    **SUBJECT,
    property=k.text("the name of a property: violated after the last step, and after no earlier one"),
    faults=k.table(int, "an object of faults: how many of each kind; a kind without any is left out"),
    initial=k.table(k.PLAIN, "an object of variables, named as in stored[1, c1], with their first values"),
    steps=k.many(STEP, "a list of steps, first to last"),
) | {"loop": k.one(LOOP, "the steps that are repeated for ever, if it is about liveness")}
"""The keys of a trace."""

PATH = k.document(
    PATH_SCHEMA, **{name: key for name, key in TRACE.items() if name not in ("schema", "property", "loop")}
)
"""The keys of a path: an execution that violates nothing."""


def saved_subject(document: Mapping[str, Any]) -> Subject:
    """Return the instance that a document with the keys `SUBJECT` is about."""
    return Subject(document["protocol"], document["parameters"], document["switches"], document["system"])


def saved_trace(document: object, where: str) -> dict[str, Any]:
    """Return the document if it has the form of a trace, or of a path. Raises BadInput."""
    is_path = isinstance(document, dict) and document.get("schema") == PATH_SCHEMA
    keys, what = (PATH, "path") if is_path else (TRACE, "trace")
    trace = has_keys(document, keys, f"{where}: a {what}")
    for number, step in enumerate(trace["steps"], 1):
        has_keys(step, STEP, f"{where}: step {number} of the trace")
    if "loop" in trace:
        has_keys(trace["loop"], LOOP, f"{where}: the loop of the trace")
    return trace


def saved_execution(
    saved: Mapping[str, Any], system: System
) -> tuple[list[GroundAction], list[str], tuple[int, ...]]:
    """Return the actions of a saved trace, the names of its true choices, and its beginning.

    Raises NotAnExecution.
    """
    actions = []
    for number, step in enumerate(saved["steps"], 1):
        name, arguments = step["action"], step["arguments"]
        action = system.find(name, [show(a) for a in arguments.values()])
        if action is None:
            given = ", ".join(f"{k}={show(v)}" for k, v in arguments.items())
            raise _differs(f"step {number}", f"{name}({given}) is not an action of {saved['protocol']}")
        actions.append(action)
    known = {v.name for v in system.choices}
    choices = [name for name, value in saved["initial"].items() if name in known and value is True]
    return actions, choices, tuple(_saved_first(v, saved["initial"]) for v in system.varied)


def _saved_first(variable: Variable, initial: Mapping[str, Any]) -> int:
    """Return the position of the initial value of a variable that has several. Raises NotAnExecution."""
    name, whole = shown_name(variable.family, variable.index), variable.family.whole
    if name not in initial:
        raise _differs("initial", f"{name} is missing; it has several initial values")
    shown = initial[name]
    if whole is not None:
        try:
            return variable.domain.values.index(whole.part(str(shown), variable.family, variable.index))
        except (KeyError, ValueError):
            raise _differs("initial", f"{name} is {_sorted_json(shown)}, which is no value of it") from None
    for position, value in enumerate(variable.domain):
        if _sorted_json(plain(value)) == _sorted_json(shown):
            return position
    raise _differs("initial", f"{name} is {_sorted_json(shown)}, not in its domain")


def check_saved(saved: Mapping[str, Any], system: System, subject: Subject, prop: Property | None) -> Trace:
    """Replay a saved trace (`saved_trace`) and compare it with the file, step by step.

    Without a property the file is a path, which violates nothing. Raises NotAnExecution with the first
    difference.
    """
    execution = saved_execution(saved, system)
    replayer, actions = Replayer(system, subject), execution[0]
    if isinstance(prop, Liveness):
        if "loop" not in saved:
            raise _differs("loop", f"is missing, and {prop.name} is about liveness")
        trace = replay_lasso(replayer, prop, *execution, saved["loop"]["begins"])
        assert trace.loop is not None
        _compare("loop", saved["loop"], trace.loop.to_json())
    else:
        trace = replayer.record("path", *execution) if prop is None else replayer.replay(prop, *execution)
    _compare("initial", saved["initial"], trace.initial)
    replayed = trace.to_json()["steps"]
    assert isinstance(replayed, list)
    if prop is not None and len(replayed) < len(actions):
        raise _differs(
            f"step {len(replayed)}", f"{prop.name} is already violated here, but the file has more steps"
        )
    for number, (ours, theirs) in enumerate(zip(replayed, saved["steps"], strict=True), 1):
        for key in ours:
            _compare(f"step {number}, {key}", theirs[key], ours[key])
    _compare("faults", saved["faults"], dict(trace.faults))
    return trace


def _compare(where: str, theirs: object, ours: object) -> None:
    """Raise NotAnExecution if the two differ as JSON texts, in which 1 is not true."""
    if _sorted_json(theirs) != _sorted_json(ours):
        raise _differs(where, f"the file says {_sorted_json(theirs)}, replaying gives {_sorted_json(ours)}")


def _sorted_json(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _differs(where: str, why: str) -> NotAnExecution:
    return NotAnExecution(one_line(f"{where}: {why}"))
