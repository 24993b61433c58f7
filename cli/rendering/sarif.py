"""The problems that a check of a Python file found, as SARIF 2.1.0, which tools for code review read.

A violated property is a result of the kind `fail`. Its place is the action that breaks it, and its code flow
has the steps. A property that is not decided is a result of the kind `open`. A property without a problem is
a rule without a result, because some readers show a result of the kind `pass` as a problem.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from fencepost.cli.process.handover import at_home
from fencepost.cli.rendering.output import file_option
from fencepost.encoding.errors import BadInput
from fencepost.encoding.forms.counterexample import Counterexample, action_line
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.traces import TraceStep
from fencepost.encoding.safe_text import defused
from fencepost.encoding.versions import version

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

sarif_option = file_option("--sarif FILE", "Write the problems of FILE.py to this file, as SARIF 2.1.0.")


@dataclass(frozen=True)
class Problem:
    """A property that is violated, or one that is not decided and so has no counterexample."""

    property: str
    sentence: str
    counterexample: Counterexample | None = None


def refuse_sarif(file: str, protocol: str, output: str | None) -> None:
    """Raise BadInput for a protocol that is no file, or for a file that `--output` writes too."""
    if not protocol.endswith(".py"):
        raise BadInput(
            f"--sarif {file}: {protocol} is no Python file, so no line has the problem; give FILE.py"
        )
    if output is not None and at_home(Path(output)).resolve() == at_home(Path(file)).resolve():
        raise BadInput(f"--sarif {file}: --output writes this file too; give another one")


def sarif(source: str, properties: Iterable[Property], problems: Sequence[Problem], interrupted: bool) -> str:
    """Return the document about the properties that were checked in the Python file `source`."""
    rules = {prop.name: {"id": prop.name, "shortDescription": {"text": prop.meaning}} for prop in properties}
    results = [_result(source, problem) for problem in problems]
    return document_of(list(rules.values()), results, interrupted) + "\n"


def document_of(rules: Sequence[object], results: Sequence[object], interrupted: bool = False) -> str:
    """Return the document with these rules and results."""
    driver = {"name": "Fencepost", "version": version(), "rules": rules}
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": not interrupted}],
        "results": results,
    }
    return defused(json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2))


def _result(source: str, problem: Problem) -> dict[str, object]:
    counterexample = problem.counterexample
    found: dict[str, object] = {"ruleId": problem.property}
    if counterexample is None:
        return {**found, "kind": "open", **_said(problem.sentence), "locations": [_place(source, 1)]}
    steps = [_step(source, counterexample, step) for step in counterexample.trace.steps]
    text = " ".join(filter(None, (f"{problem.sentence}.", counterexample.explanation)))
    return {
        **found,
        "kind": "fail",
        "level": "error",
        **_said(text),
        "locations": steps[-1:] or [_place(source, 1)],
        "codeFlows": [{"threadFlows": [{"locations": [{"location": step} for step in steps]}]}]
        if steps
        else [],
    }


def _step(source: str, counterexample: Counterexample, step: TraceStep) -> dict[str, object]:
    """Return the place of the handler of a step, with the step as its message."""
    written = {schema.name: schema.written for schema in counterexample.system.schemas}
    file, line = written.get(step.action) or (source, 1)
    return {**_place(file, line), **_said(f"step {step.index}: {step.actor} {action_line(step)}")}


def _said(text: str) -> dict[str, object]:
    return {"message": {"text": text}}


def _place(file: str, line: int) -> dict[str, object]:
    """Return a line of a file. Its name counts from the folder of the command, if the file is below that."""
    folder, path = at_home(Path()).resolve(), at_home(Path(file)).resolve()
    if path.is_relative_to(folder):
        artifact = {"uri": quote(path.relative_to(folder).as_posix()), "uriBaseId": "%SRCROOT%"}
    else:
        artifact = {"uri": path.as_uri()}
    return {"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": line}}}
