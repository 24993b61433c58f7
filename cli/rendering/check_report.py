"""The report of `fencepost check`: as text, as JSON and as files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fencepost.answers.requests import CheckedRequest, Request
from fencepost.cli.commands.check_certificates import reasons_of
from fencepost.cli.exits import ExitCode
from fencepost.cli.process.conclusion import Conclusion, placed
from fencepost.cli.rendering.check_documents import CHECK, result_object
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
from fencepost.encoding.engine.verdicts import Outcome, Result, Verdict, worst
from fencepost.encoding.forms import FORMS, in_form
from fencepost.encoding.forms.counterexample import Counterexample
from fencepost.encoding.language.state import show_all


@dataclass(frozen=True)
class ReportedResult:
    """A result with all that the text, the document and the files of a check have of it."""

    result: Result
    known: Sequence[str]
    """The known bugs that explain its counterexample."""
    counterexamples: Sequence[Counterexample]
    line: str
    """The verdict, its reason and its seconds."""
    try_next: str | None
    """An option that may decide it; None if none is known."""


@dataclass(frozen=True)
class ReportedRequest:
    """A request with its results, in the order of its properties."""

    checked: CheckedRequest
    results: Sequence[ReportedResult]

    @property
    def lines(self) -> list[str]:
        """The line of each verdict, and below it the option to try next."""
        said = [(one.line, f"  {one.try_next}" if one.try_next else None) for one in self.results]
        return [text for pair in said for text in pair if text is not None]


def reported(checked: Sequence[CheckedRequest]) -> list[ReportedRequest]:
    """Return each request with its results as they are shown: all forms are made from these."""
    return [
        ReportedRequest(
            one, [_reported(one, *pair) for pair in zip(one.outcome.results, one.known, strict=True)]
        )
        for one in checked
    ]


def problems_of(one: ReportedRequest, require_proof: bool) -> Iterator[Problem]:
    """Yield each violation, and each property that is not decided, or not proved if a proof is required."""
    for reported in one.results:
        result = reported.result
        for counterexample in reported.counterexamples:
            yield Problem(result.property, counterexample.verdict, counterexample)
        unproved = result.verdict is Verdict.HOLDS and require_proof
        if result.verdict in (Verdict.UNDECIDED, Verdict.VACUOUS) or unproved:
            yield Problem(result.property, f"{verdict_sentence(result)}.")


def _reported(one: CheckedRequest, result: Result, known: Sequence[str]) -> ReportedResult:
    request = one.request
    (prop,) = (prop for prop in request.properties if prop.name == result.property)
    about = request.system, prop, verdict_sentence(result), request.instance.changed_switches
    return ReportedResult(
        result,
        known,
        [
            Counterexample(trace, *about)
            for trace in ([result.trace, *result.more_traces] if result.trace else [])
        ],
        line(result, known, on_own(request), allowed(request.instance)),
        try_next(result, request.limits),
    )


def together(requests: Sequence[ReportedRequest], without_known: bool) -> Outcome:
    """Return the outcomes as one; `without_known` leaves out violations that known bugs explain."""
    checked = [one.checked for one in requests]
    counted = [new(one.outcome, one.known) if without_known else one.outcome for one in checked]
    spent: dict[str, float] = {}
    for outcome in counted:
        for part, seconds in outcome.spent.items():
            spent[part] = spent.get(part, 0.0) + seconds
    results = tuple(result for outcome in counted for result in outcome.results)
    interrupted = any(outcome.interrupted for outcome in counted)
    return Outcome(results, sum(outcome.seconds for outcome in counted), interrupted, spent)


# Text.


def as_text(requests: Sequence[ReportedRequest]) -> str:
    """Return each instance with its counterexamples, and at the end a line for each verdict."""
    parts = [part for one in requests for part in (_heading(one.checked), *_counterexamples(one))]
    said = dict.fromkeys(one.checked.request.instance.unmodelled for one in requests)
    parts.append("\n".join(line for one in requests for line in one.lines))
    parts += [sentence(line) for line in said if line]
    results = [one.result for request in requests for one in request.results]
    if any(result.solver == SIMULATION for result in results):
        parts.append("A simulation finds violations. It never proves that there are none.")
    folders = {result.certificate for result in results if result.certificate is not None}
    parts += [f"certificate: {folder} (fencepost certify checks it)" for folder in folders]
    if any(one.checked.outcome.interrupted for one in requests):
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


def _counterexamples(request: ReportedRequest) -> list[str]:
    parts = []
    for one in request.results:
        for number, counterexample in enumerate(one.counterexamples, 1):
            which = f" {number}" if number > 1 else ""
            steps = counterexample_text(counterexample)
            parts.append(f"{one.result.property}, counterexample{which}:\n{steps}")
    return parts


# JSON.


def as_json(requests: Sequence[ReportedRequest]) -> str:
    """Return the document `fencepost.check/3`: the shared instance and all results."""
    shared, outcome = requests[0].checked, together(requests, without_known=False)
    content = k.from_record(
        CHECK,
        shared.request.instance,
        **shared.request.subject.to_json(),
        caps=_caps(shared),
        results=[found for one in requests for found in _results(one)],
        interrupted=outcome.interrupted,
        seconds=outcome.seconds,
    )
    return json.dumps(content, indent=2)


def _caps(one: CheckedRequest) -> Mapping[str, object]:
    limits, system = one.limits, one.request.system
    bounds = (("steps", limits.bound), ("rounds", limits.rounds))
    caps: dict[str, object] = {**system.caps, **{name: value for name, value in bounds if value is not None}}
    caps |= {"constraint": system.within} if system.within else {}
    return caps | {name: limits.budgets[name] for name in system.faults if name in limits.budgets}


def _results(request: ReportedRequest) -> list[dict[str, Any]]:
    asked, uncertified = request.checked.request, request.checked.uncertified or {}
    own = asked.subject.to_json() | {"caps": _caps(request.checked)} if asked.instead_of else None
    return [
        result_object(
            one.result,
            uncertified=uncertified.get(one.result.property),
            try_next=one.try_next,
            known=one.known,
            false_because=[found.false_because for found in one.counterexamples],
            instance=own,
        )
        for one in request.results
    ]


# Files.


def trace_files(folder: Path, request: ReportedRequest, form: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of the files of each counterexample: for `fencepost export`, and in that form."""
    protocol = re.sub(r"[^A-Za-z0-9.-]+", "-", request.checked.request.instance.protocol.name)
    for one in request.results:
        for number, counterexample in enumerate(one.counterexamples, 1):
            suffix = f".{number}" if len(one.counterexamples) > 1 else ""
            name = f"{protocol}.{one.result.property}{suffix}"
            yield str(folder / f"{name}.json"), json.dumps(counterexample.trace.to_json(), indent=2) + "\n"
            if form in FORMS:
                yield str(folder / f"{name}{FORMS[form]}"), in_form(counterexample, form)


# The conclusion.


def exit_code(outcome: Outcome, require_proof: bool, expect: str | None, certify: bool) -> ExitCode:
    """Return the code of the worst verdict; a proof that lacks its certificate is undecided at best."""
    if outcome.interrupted:
        return ExitCode.INTERRUPTED
    code = _verdict_code(outcome, require_proof, expect)
    lacking = any(r.verdict is Verdict.PROVED and r.certificate is None for r in outcome.results)
    return ExitCode.UNDECIDED if certify and lacking and code is ExitCode.SUCCESS else code


def _verdict_code(outcome: Outcome, require_proof: bool, expect: str | None) -> ExitCode:
    if not outcome.results:
        return ExitCode.SUCCESS
    verdict = worst(result.verdict for result in outcome.results)
    if expect is not None:
        if verdict is Verdict(expect):
            return ExitCode.SUCCESS
        return ExitCode.UNDECIDED if verdict is Verdict.UNDECIDED else ExitCode.VIOLATED
    if verdict is Verdict.VIOLATED:
        return ExitCode.VIOLATED
    if verdict in (Verdict.UNDECIDED, Verdict.VACUOUS) or (require_proof and verdict is Verdict.HOLDS):
        return ExitCode.UNDECIDED
    return ExitCode.SUCCESS


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

    def conclusion(self, requests: Sequence[ReportedRequest]) -> Conclusion:
        """Return all that the command prints and writes, and its exit code."""
        files = dict(
            file
            for one in requests
            if self.traces is not None
            for file in trace_files(Path(self.traces), one, self.form)
        )
        if self.sarif is not None:
            files[self.sarif] = self._sarif(requests)
        lines = [why for one in requests for why in reasons_of(one.checked.uncertified or {})]
        if self.form not in FORMS:
            printed, written = placed(
                as_json(requests) if self.form == "json" else as_text(requests), self.output
            )
            return Conclusion(self._code(requests), printed, "\n".join(lines), files | written)
        text, others = formatted(
            [found for request in requests for one in request.results for found in one.counterexamples],
            self.form,
            self.output,
            "Choose with --property, or say --traces DIR for a file of each.",
        )
        lines += [line for one in requests for line in one.lines] + ([others] if others else [])
        printed, written = ("", {}) if text is None else placed(text, self.output)
        return Conclusion(self._code(requests), printed, "\n".join(lines), files | written)

    def _sarif(self, requests: Sequence[ReportedRequest]) -> str:
        properties = [prop for one in requests for prop in one.checked.request.properties]
        problems = [problem for one in requests for problem in problems_of(one, self.require_proof)]
        interrupted = any(one.checked.outcome.interrupted for one in requests)
        return sarif(self.source, properties, problems, interrupted)

    def so_far(self, requests: Sequence[ReportedRequest]) -> Conclusion:
        """Return the conclusion if the command is killed now, with the exit code of the verdicts."""
        cut_short = [
            replace(one, checked=replace(one.checked, outcome=replace(one.checked.outcome, interrupted=True)))
            for one in requests
        ]
        return replace(self.conclusion(cut_short), code=self._code(requests))

    def _code(self, requests: Sequence[ReportedRequest]) -> int:
        outcome = together(requests, self.known_as_expected)
        return int(exit_code(outcome, self.require_proof, self.expect, self.certify))
