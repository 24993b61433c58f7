"""`fencepost trace`: replay and show a saved trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from fencepost.cli.exits import ExitCode
from fencepost.cli.output import emit, form_option, output_option
from fencepost.cli.render import trace_text
from fencepost.cli.saved import saved_instance, source_option
from fencepost.encoding.errors import BadInput
from fencepost.encoding.protocol import choose
from fencepost.encoding.traces import SCHEMA, NotAnExecution, check_saved
from fencepost.encoding.versions import version

TRACE_KEYS = (
    "schema",
    "version",
    "protocol",
    "parameters",
    "switches",
    "property",
    "faults",
    "initial",
    "steps",
)


@click.command()
@click.argument("file", type=click.Path())
@source_option
@form_option
@output_option
def command(file: str, source: str | None, form: str, output: str | None) -> int:
    """Replay the trace in FILE step by step on plain values, and show it.

    FILE is a trace as `check --traces` writes it, or the result of `check --format json`, of which every
    trace is replayed. Exits with 1 and says where if a step cannot happen, or does not change what the
    file says, or nothing is violated at the end.
    """
    texts, documents, failed = [], [], False
    for saved in _traces(Path(file)):
        settings = {**saved["parameters"], **saved["switches"]}
        protocol, parameters = saved_instance(source, str(saved["protocol"]), settings)
        system = protocol.system(parameters)
        prop = choose(system, (str(saved["property"]),))[0]
        try:
            trace = check_saved(saved, system, protocol.subject(parameters), prop)
        except NotAnExecution as error:
            texts.append(f"{prop.name}: does not replay. {error}")
            documents.append({"property": prop.name, "replays": False, "reason": str(error), "trace": None})
            failed = True
        else:
            head = f"{prop.name}: violated in {len(trace.steps)} steps of {protocol.name}, replayed"
            texts.append(f"{head}\n{trace_text(trace, prop)}")
            documents.append(
                {"property": prop.name, "replays": True, "reason": None, "trace": trace.to_json()}
            )
    document = {"schema": "fencepost.replay/1", "version": version(), "traces": documents}
    emit(json.dumps(document, indent=2) if form == "json" else "\n\n".join(texts), output)
    return int(ExitCode.VIOLATED if failed else ExitCode.AS_WISHED)


def _traces(path: Path) -> list[dict[str, Any]]:
    """The traces in a file, checked for their form; raises BadInput."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(
            f"{path}: cannot be read ({error.strerror}); give a trace that `check --traces` wrote"
        ) from error
    except ValueError as error:
        raise BadInput(f"{path}: not JSON ({error}); give a trace that `check --traces` wrote") from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema == SCHEMA:
        found = [document]
    elif schema == "fencepost.check/1":
        results = document.get("results", [])
        found = [
            t
            for r in results
            for t in ([r.get("trace")] if r.get("trace") else []) + r.get("more_traces", [])
        ]
        if not found:
            raise BadInput(f"{path}: has no trace in it, nothing was violated; give one that has")
    else:
        raise BadInput(f"{path}: schema is {schema!r}; valid: {SCHEMA}, fencepost.check/1")
    for trace in found:
        _validate(path, trace)
    return found


def _validate(path: Path, trace: dict[str, Any]) -> None:
    for key in trace:
        if key not in TRACE_KEYS:
            raise BadInput(f"{path}: {key}: unknown key in a trace; valid: {', '.join(TRACE_KEYS)}")
    for key in TRACE_KEYS:
        if key not in trace:
            raise BadInput(f"{path}: {key}: missing in the trace; a trace has {', '.join(TRACE_KEYS)}")
    for key, kind in (
        ("parameters", dict),
        ("switches", dict),
        ("initial", dict),
        ("faults", dict),
        ("steps", list),
    ):
        if not isinstance(trace[key], kind):
            raise BadInput(f"{path}: {key}: must be {'an object' if kind is dict else 'a list'}")
