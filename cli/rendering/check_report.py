"""The report of `fencepost check` and `simulate`: as text, as JSON and as files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fencepost.answers.requests import CheckedRequest, Request
from fencepost.cli.commands.check_certificates import reasons_of
from fencepost.cli.exits import exit_code
from fencepost.cli.process.conclusion import Conclusion, placed
from fencepost.cli.rendering.check_documents import CHECK
from fencepost.cli.rendering.check_text import (
    allowed,
    counterexample_text,
    heading,
    sentence,
    sizes,
    verdict_sentence,
)
from fencepost.cli.rendering.counterexamples import formatted
from fencepost.cli.rendering.known_names import line, new
from fencepost.cli.rendering.sarif import Problem, sarif
from fencepost.cli.rendering.undecided import SIMULATION, try_next
from fencepost.encoding import keys as k
from fencepost.encoding.engine.verdicts import Outcome, Result, Verdict
from fencepost.encoding.forms import FORMS
from fencepost.encoding.forms.counterexample import Counterexample
from fencepost.encoding.language.state import show_all


def lines_of(one: CheckedRequest) -> list[str]:
    """Return the lines of the verdicts of a request."""
    where = on_own(one.request)
    faults = allowed(one.request.instance)
    lines = []
    for result, known in zip(one.outcome.results, one.known, strict=True):
        lines.append(line(result, known, where, faults))
        further = try_next(result, one.request.limits)
        lines += [f"  {further}"] if further is not None else []
    return lines


def counterexamples_of(one: CheckedRequest, *results: Result) -> list[Counterexample]:
    """Return the counterexamples of these results, of all results of the request if none is given."""
    properties = {prop.name: prop for prop in one.request.properties}
    changed = one.request.instance.changed_switches
    return [
        Counterexample(
            trace, one.request.system, properties[result.property], verdict_sentence(result), changed
        )
        for result in results or one.outcome.results
        for trace in ([result.trace, *result.more_traces] if result.trace else [])
    ]


def problems_of(one: CheckedRequest, require_proof: bool) -> Iterator[Problem]:
    """Yield each violation, and each property that is not decided, or not proved if a proof is required."""
    for result in one.outcome.results:
        for counterexample in counterexamples_of(one, result):
            yield Problem(result.property, counterexample.verdict, counterexample)
        unproved = result.verdict is Verdict.HOLDS and require_proof
        if result.verdict in (Verdict.UNDECIDED, Verdict.VACUOUS) or unproved:
            yield Problem(result.property, f"{verdict_sentence(result)}.")


def together(checked: Sequence[CheckedRequest], without_known: bool) -> Outcome:
    """Return the outcomes as one; `without_known` leaves out violations that known bugs explain."""
    counted = [new(one.outcome, one.known) if without_known else one.outcome for one in checked]
    spent: dict[str, float] = {}
    for outcome in counted:
        for part, seconds in outcome.spent.items():
            spent[part] = spent.get(part, 0.0) + seconds
    results = tuple(result for outcome in counted for result in outcome.results)
    interrupted = any(outcome.interrupted for outcome in counted)
    return Outcome(results, sum(outcome.seconds for outcome in counted), interrupted, spent)


# Text.


def as_text(checked: Sequence[CheckedRequest]) -> str:
    """Return each instance with its counterexamples, and at the end a line for each verdict."""
    parts = [part for one in checked for part in (_heading(one), *_counterexamples(one))]
    said = dict.fromkeys(one.request.instance.protocol.unmodelled for one in checked)
    parts.append("\n".join(line for one in checked for line in lines_of(one)))
    parts += [sentence(line) for line in said if line]
    results = [result for one in checked for result in one.outcome.results]
    if any(result.solver == SIMULATION for result in results):
        parts.append("A simulation finds violations. It never proves that there are none.")
    folders = {result.certificate for result in results if result.certificate is not None}
    parts += [f"certificate: {folder} (fencepost certify checks it)" for folder in folders]
    if any(one.outcome.interrupted for one in checked):
        parts.append("Interrupted: this is what was known by then.")
    return "\n\n".join(parts)


def _heading(one: CheckedRequest) -> str:
    said = heading(one.request.instance, one.limits)
    if one.request.instead_of is None:
        return said
    names = ", ".join(prop.name for prop in one.request.properties)
    return f"{names}: checked on another instance, as the one above does not exercise this\n{said}"


def on_own(request: Request) -> str:
    """Return the sizes of an instance that was not asked for, and those that were; empty if it was."""
    if request.instead_of is None:
        return ""
    own, asked = (i.subject.parameters for i in (request.instance, request.instead_of))
    differ = {name: value for name, value in asked.items() if value != own[name]}
    return f"{sizes(request.instance)}, as nothing is tested on {show_all(differ)}"


def _counterexamples(one: CheckedRequest) -> list[str]:
    parts = []
    for result in one.outcome.results:
        for number, counterexample in enumerate(counterexamples_of(one, result), 1):
            which = f" {number}" if number > 1 else ""
            steps = counterexample_text(counterexample)
            parts.append(f"{result.property}, counterexample{which}:\n{steps}")
    return parts


# JSON.


def as_json(checked: Sequence[CheckedRequest]) -> str:
    """Return the document `fencepost.check/3`: the shared instance and all results."""
    shared, outcome = checked[0], together(checked, without_known=False)
    content = {
        **shared.request.subject.to_json(),
        "changed_switches": shared.request.instance.changed_switches,
        "release": shared.request.instance.release,
        "unlike_release": shared.request.instance.unlike_release,
        "drop_declared": shared.request.instance.drop_declared,
        "unmodelled": shared.request.instance.protocol.unmodelled,
        "remarks": list(shared.request.instance.remarks),
        "caps": _caps(shared),
        "results": [found for one in checked for found in _results(one)],
        "interrupted": outcome.interrupted,
        "seconds": round(outcome.seconds, 3),
    }
    return json.dumps(k.headed(CHECK, content), indent=2)


def _caps(one: CheckedRequest) -> Mapping[str, object]:
    limits, system = one.limits, one.request.system
    bounds = (("steps", limits.bound), ("rounds", limits.rounds))
    caps: dict[str, object] = {**system.caps, **{name: value for name, value in bounds if value is not None}}
    return caps | {name: limits.budgets[name] for name in system.faults if name in limits.budgets}


def _results(one: CheckedRequest) -> list[dict[str, Any]]:
    own = one.request.subject.to_json() | {"caps": _caps(one)} if one.request.instead_of else None
    return [
        {
            **result.to_json(),
            "uncertified": (one.uncertified or {}).get(result.property),
            "try_next": try_next(result, one.request.limits),
            "known": list(known),
            "false_because": [found.false_because.to_json() for found in counterexamples_of(one, result)],
            "instance": own,
        }
        for result, known in zip(one.outcome.results, one.known, strict=True)
    ]


# Files.


def trace_files(folder: Path, one: CheckedRequest, form: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of the files of each counterexample: for `fencepost trace`, and in that form."""
    protocol = re.sub(r"[^A-Za-z0-9.-]+", "-", one.request.instance.protocol.name)
    for result in one.outcome.results:
        counterexamples = counterexamples_of(one, result)
        for number, counterexample in enumerate(counterexamples, 1):
            suffix = f".{number}" if len(counterexamples) > 1 else ""
            name = f"{protocol}.{result.property}{suffix}"
            yield str(folder / f"{name}.json"), json.dumps(counterexample.trace.to_json(), indent=2) + "\n"
            if form in FORMS:
                yield str(folder / f"{name}{FORMS[form].ending}"), FORMS[form].write(counterexample)


# The conclusion.


@dataclass(frozen=True)
class Wanted:
    """The options that decide on the report and the exit code."""

    form: str
    output: str | None
    traces: str | None
    require_proof: bool = False
    known_as_expected: bool = False
    expect: str | None = None
    certify: bool = False
    sarif: str | None = None
    """The file for the problems as SARIF."""
    source: str = ""
    """The Python file that is checked."""

    def conclusion(self, checked: Sequence[CheckedRequest]) -> Conclusion:
        """Return all that the command prints and writes, and its exit code."""
        files = dict(
            file
            for one in checked
            if self.traces is not None
            for file in trace_files(Path(self.traces), one, self.form)
        )
        if self.sarif is not None:
            files[self.sarif] = self._sarif(checked)
        lines = [why for one in checked for why in reasons_of(one.uncertified or {})]
        if self.form not in FORMS:
            printed, written = placed(
                as_json(checked) if self.form == "json" else as_text(checked), self.output
            )
            return Conclusion(self._code(checked), printed, "\n".join(lines), files | written)
        counterexamples = [counterexample for one in checked for counterexample in counterexamples_of(one)]
        text, others = formatted(
            counterexamples,
            self.form,
            self.output,
            "Choose with --property, or say --traces DIR for a file of each.",
        )
        lines += [line for one in checked for line in lines_of(one)] + ([others] if others else [])
        printed, written = ("", {}) if text is None else placed(text, self.output)
        return Conclusion(self._code(checked), printed, "\n".join(lines), files | written)

    def _sarif(self, checked: Sequence[CheckedRequest]) -> str:
        properties = [prop for one in checked for prop in one.request.properties]
        problems = [problem for one in checked for problem in problems_of(one, self.require_proof)]
        interrupted = any(one.outcome.interrupted for one in checked)
        return sarif(self.source, properties, problems, interrupted)

    def so_far(self, checked: Sequence[CheckedRequest]) -> Conclusion:
        """Return the conclusion if the command is killed now, with the exit code of the verdicts."""
        cut_short = [replace(one, outcome=replace(one.outcome, interrupted=True)) for one in checked]
        return replace(self.conclusion(cut_short), code=self._code(checked))

    def _code(self, checked: Sequence[CheckedRequest]) -> int:
        outcome = together(checked, self.known_as_expected)
        return int(exit_code(outcome, self.require_proof, self.expect, self.certify))
