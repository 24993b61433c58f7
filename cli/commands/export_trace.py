"""`fencepost export FILE`: replay and show a saved trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from fencepost.cli.exits import ExitCode
from fencepost.cli.options.protocols import saved_instance
from fencepost.cli.rendering.check_documents import CHECK
from fencepost.cli.rendering.check_text import counterexample_text, trace_text
from fencepost.cli.rendering.counterexamples import write_first
from fencepost.cli.rendering.output import FORMATS, emit
from fencepost.encoding import keys as k
from fencepost.encoding.concrete.replay import NotAnExecution
from fencepost.encoding.concrete.saved_traces import PATH, TRACE, check_saved, saved_trace
from fencepost.encoding.documents import other_schema, read_json, shown
from fencepost.encoding.errors import BadInput
from fencepost.encoding.forms import FORMS
from fencepost.encoding.forms.counterexample import OF_PATH, Counterexample
from fencepost.encoding.forms.falsified import FALSE_BECAUSE
from fencepost.encoding.language.state import amount
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.traces import PATH_SCHEMA, SCHEMA
from fencepost.explore.scripts import Script, run_script, script_in

HINT = "give a trace that `check --traces` wrote, or a script that begins with `protocol NAME`"

TRACE_FORMS = (*FORMATS, *FORMS)
"""The forms of a saved trace."""

CHECK_SCHEMA = k.schema_name(CHECK)
"""The schema of a result of `check`, which may have traces in it."""


def write_replays(replays: Sequence[Replay], where: str, form: str, output: str | None) -> ExitCode:
    """Write traces that were replayed in a form; raises BadInput."""
    counterexamples = [replay.counterexample for replay in replays if replay.counterexample is not None]
    if form in FORMS and any(replay.is_path for replay in replays):
        raise BadInput(
            f"--format {form}: {where} is a path, which violates nothing; valid: {', '.join(FORMATS)}"
        )
    if form in FORMS:
        _say_failed(replays)
        write_first(counterexamples, form, output, "Choose with --property, or give a file with one trace.")
    else:
        emit(_json(replays) if form == "json" else "\n\n".join(map(_text, replays)), output)
    return ExitCode.SUCCESS if len(counterexamples) == len(replays) else ExitCode.VIOLATED


@dataclass(frozen=True)
class Replay:
    """A saved trace: its counterexample, or the reason why it does not replay."""

    prop: Property
    counterexample: Counterexample | None
    reason: str | None

    @property
    def is_path(self) -> bool:
        """Whether the file is a path of the explorer, which violates nothing."""
        return self.prop is OF_PATH


def replays_in(path: Path, source: str | None, names: Sequence[str]) -> list[Replay]:
    """Return the traces of these properties in a file, replayed; raises BadInput if there is none.

    A script is run, and is the only one in its file.
    """
    if (script := script_in(path)) is not None:
        return [_of_script(script, source, names)]
    found = _traces(path)
    chosen = [saved for saved in found if not names or _about(saved) in names]
    if not chosen:
        valid = ", ".join(dict.fromkeys(map(_about, found)))
        raise BadInput(f"--property {names[0]}: {path} has no trace of it; valid: {valid}")
    return [_replay(saved, source) for saved in chosen]


def _of_script(script: Script, source: str | None, names: Sequence[str]) -> Replay:
    if source is not None:
        raise BadInput(f"--protocol {source}: not with a script, which names its protocol; leave it out")
    counterexample = run_script(script, next(iter(names), None))
    return Replay(counterexample.prop, counterexample, None)


def _about(saved: dict[str, Any]) -> str:
    """Return the property that a trace violates, or the name of a path."""
    return str(saved.get("property", OF_PATH.name))


def _replay(saved: dict[str, Any], source: str | None) -> Replay:
    settings = {**saved["parameters"], **saved["switches"]}
    instance = saved_instance(source, saved["protocol"], settings)
    name, system, subject = instance.protocol.name, instance.system, instance.subject
    prop = instance.claims(saved["property"])[0] if "property" in saved else OF_PATH
    if subject.system != saved["system"]:
        click.echo(f"{name}: {_other_text(saved['system'])}; it is replayed on this one", err=True)
    try:
        trace = check_saved(saved, system, subject, None if prop is OF_PATH else prop)
    except NotAnExecution as error:
        return Replay(prop, None, str(error))
    steps = amount(len(trace.steps), "step")
    head = f"{prop.name}: violated in {steps} of {name}, replayed; a check says whether that is the fewest"
    if prop is OF_PATH:
        head = f"path of {steps} of {name}, replayed"
    return Replay(prop, Counterexample(trace, system, prop, head, instance.changed_switches), None)


def _other_text(digest: str | None) -> str:
    """Return a remark on a trace whose text is another one than here, or that names none."""
    if digest is None:
        return "the trace does not say of which text it is"
    return "the trace is of another text of the protocol, or of what it imports"


def _text(replay: Replay) -> str:
    if replay.counterexample is None:
        return f"{replay.prop.name}: does not replay. {replay.reason}"
    found = replay.counterexample
    return f"{found.verdict}\n{trace_text(found.trace) if replay.is_path else counterexample_text(found)}"


REPLAY = k.keys(
    property=k.text("the property that the trace violates, or path for a path from the explorer").of(
        "prop.name"
    ),
    replays=k.flag("every step does what the file says, and the property is violated after the last"),
    reason=k.null(k.text("the first difference"), "if it replays"),
    trace=k.either(
        (TRACE, PATH), "the trace or path as replayed now, or null if it does not replay", or_null=True
    ),
    false_because=k.null(k.one(FALSE_BECAUSE, "why the property is false at the end"), "unless it replays"),
)
REPLAYS = k.document("fencepost.replay/3", traces=k.many(REPLAY, "a replay for each trace in the file"))


def _json(replays: Sequence[Replay]) -> dict[str, Any]:
    return k.headed(REPLAYS, {"traces": [_object(replay) for replay in replays]})


def _object(replay: Replay) -> dict[str, Any]:
    found, trace, false_because = replay.counterexample, None, None
    if found is not None:
        trace = found.trace.to_path_json() if replay.is_path else found.trace.to_json()
        false_because = None if replay.is_path else found.false_because.to_json()
    seen = {"replays": found is not None, "trace": trace, "false_because": false_because}
    return k.from_record(REPLAY, replay, **seen)


def _say_failed(replays: Sequence[Replay]) -> None:
    """Print on stderr which traces do not replay."""
    for replay in replays:
        if replay.counterexample is None:
            click.echo(_text(replay), err=True)


def _traces(path: Path) -> list[dict[str, Any]]:
    """Return the traces in a file, checked for their form; raises BadInput."""
    document = read_json(path, HINT)
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema in (SCHEMA, PATH_SCHEMA):
        return [saved_trace(document, str(path))]
    if schema != CHECK_SCHEMA:
        raise other_schema(path, schema, SCHEMA, PATH_SCHEMA, CHECK_SCHEMA)
    found = [trace for result in _results(path, document) for trace in _of(path, result)]
    if not found:
        raise BadInput(f"{path}: has no trace in it, nothing was violated; give one that has")
    return [saved_trace(trace, str(path)) for trace in found]


def _results(path: Path, document: dict[str, Any]) -> list[Any]:
    results = document.get("results")
    if not isinstance(results, list):
        raise BadInput(f"{path}: results = {shown(results)}: must be a list of results; {HINT}")
    return results


def _of(path: Path, result: object) -> list[Any]:
    """Return the traces in a result."""
    if not isinstance(result, dict) or not isinstance(more := result.get("more_traces", []), list):
        raise BadInput(f"{path}: results: must be objects, more_traces in them lists; {HINT}")
    first = result.get("trace")
    return ([] if first is None else [first]) + more
