"""The report of `fencepost check`: one object, of which the text, the document and all files are made."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from fencepost.cli.commands.check_certificates import reasons_of
from fencepost.cli.exits import ExitCode
from fencepost.cli.options.grouped import EXIT, OUTPUT, option
from fencepost.cli.options.protocols import InstanceOptions
from fencepost.cli.process.conclusion import Conclusion, placed
from fencepost.cli.rendering.check_documents import CHECK, result_object
from fencepost.cli.rendering.check_text import allowed, counterexample_text, heading, sentence, sizes
from fencepost.cli.rendering.counterexamples import counterexample_form_option, formatted, traces_option
from fencepost.cli.rendering.output import ResultOptions
from fencepost.cli.rendering.sarif import Problem, sarif, sarif_option
from fencepost.cli.rendering.verdict_text import (
    SIMULATION,
    hidden_line,
    try_next,
    verdict_line,
    verdict_sentence,
)
from fencepost.cli.requests import CheckedRequest, Request
from fencepost.encoding import keys as k
from fencepost.encoding.engine.verdicts import Outcome, Result, Verdict, worst
from fencepost.encoding.forms import FORMS, in_form
from fencepost.encoding.forms.counterexample import Counterexample
from fencepost.encoding.language.state import show_all


@dataclass(frozen=True)
class ReportedResult:
    """A result with all that the text, the document and the files of a check have of it."""

    checked: CheckedRequest
    """The request that it answers."""
    result: Result
    known: Sequence[str]
    """The known bugs that explain its counterexample."""

    @cached_property
    def counterexamples(self) -> list[Counterexample]:
        """Its counterexamples, the one that is smallest first."""
        request, result = self.checked.request, self.result
        (prop,) = (prop for prop in request.properties if prop.name == result.property)
        about = request.system, prop, verdict_sentence(result), request.instance.changed_switches
        traces = [result.trace, *result.more_traces] if result.trace else []
        return [Counterexample(trace, *about) for trace in traces]

    @property
    def line(self) -> str:
        """The verdict, its reason and its seconds."""
        request = self.checked.request
        return verdict_line(self.result, self.known, on_own(request), allowed(request.instance))

    @cached_property
    def others(self) -> list[str]:
        """The other known bugs that a counterexample with a known explanation may hide."""
        trace = self.result.trace
        if trace is None or not self.known:
            return []
        from fencepost.advice.explained_by import others

        return others(trace, self.known)

    @property
    def try_next(self) -> str | None:
        """An option that may decide it; None if none is known."""
        return try_next(self.result, self.checked.request.limits)

    @property
    def document(self) -> dict[str, Any]:
        """The result for programs."""
        checked, request = self.checked, self.checked.request
        own = request.subject.to_json() | {"caps": _caps(checked)} if request.instead_of else None
        return result_object(
            self.result,
            uncertified=(checked.uncertified or {}).get(self.result.property),
            try_next=self.try_next,
            known=self.known,
            may_hide=self.others,
            false_because=[found.false_because for found in self.counterexamples],
            instance=own,
        )

    def problems(self, require_proof: bool) -> Iterator[Problem]:
        """Yield each violation, and the property if it is not decided, or not proved though it must be."""
        name, verdict = self.result.property, self.result.verdict
        yield from (Problem(name, found.verdict, found) for found in self.counterexamples)
        unproved = verdict is Verdict.HOLDS and require_proof
        if verdict in (Verdict.UNDECIDED, Verdict.VACUOUS) or unproved:
            yield Problem(name, f"{verdict_sentence(self.result)}.")


@dataclass(frozen=True)
class CheckReport:
    """The requests of a check with their results: all forms are made from it."""

    checked: Sequence[CheckedRequest]

    @cached_property
    def results(self) -> list[ReportedResult]:
        """The results, in the order of the requests and of their properties."""
        return [
            ReportedResult(one, *pair)
            for one in self.checked
            for pair in zip(one.outcome.results, one.known, strict=True)
        ]

    @property
    def counterexamples(self) -> list[Counterexample]:
        """The counterexamples of all results."""
        return [found for one in self.results for found in one.counterexamples]

    @property
    def lines(self) -> list[str]:
        """The line of each verdict, and below it the option to try next, and what it may hide."""
        said = [(one.line, one.try_next, hidden_line(one.others)) for one in self.results]
        return [text for line, *more in said for text in (line, *(f"  {one}" for one in more if one))]

    @property
    def interrupted(self) -> bool:
        """Whether a request was interrupted."""
        return any(one.outcome.interrupted for one in self.checked)

    def outcome(self, without_known: bool = False) -> Outcome:
        """Return the outcomes as one; `without_known` leaves out violations that known bugs explain."""
        spent: dict[str, float] = {}
        for one in self.checked:
            for part, seconds in one.outcome.spent.items():
                spent[part] = spent.get(part, 0.0) + seconds
        results = tuple(one.result for one in self.results if not (without_known and one.known))
        return Outcome(results, sum(one.outcome.seconds for one in self.checked), self.interrupted, spent)

    def text(self) -> str:
        """Return each instance with its counterexamples, and at the end a line for each verdict."""
        parts = []
        for checked in self.checked:
            parts.append(_heading(checked))
            parts += [
                text for one in self.results if one.checked is checked for text in _counterexamples(one)
            ]
        parts.append("\n".join(self.lines))
        said = dict.fromkeys(one.request.instance.unmodelled for one in self.checked)
        parts += [sentence(line) for line in said if line]
        if any(one.result.solver == SIMULATION for one in self.results):
            parts.append("A simulation finds violations. It never proves that there are none.")
        folders = {one.result.certificate for one in self.results if one.result.certificate is not None}
        own = any(one.request.subject.system is not None for one in self.checked)
        parts += [f"certificate: {folder} ({_checking(folder, own)} checks it)" for folder in folders]
        parts += ["Interrupted: this is what was known by then."] if self.interrupted else []
        return "\n\n".join(parts)

    def document(self) -> dict[str, Any]:
        """Return the document `fencepost.check/3`: the shared instance and all results."""
        shared, outcome = self.checked[0], self.outcome()
        return k.from_record(
            CHECK,
            shared.request.instance,
            **shared.request.subject.to_json(),
            caps=_caps(shared),
            results=[one.document for one in self.results],
            interrupted=outcome.interrupted,
            seconds=outcome.seconds,
        )

    def sarif(self, source: str, require_proof: bool) -> str:
        """Return the problems in a Python file as SARIF."""
        properties = [prop for one in self.checked for prop in one.request.properties]
        problems = [problem for one in self.results for problem in one.problems(require_proof)]
        return sarif(source, properties, problems, self.interrupted)

    def trace_files(self, folder: Path, form: str) -> Iterator[tuple[str, str]]:
        """Yield path and text of the files of each counterexample: as it is saved, and in that form."""
        for one in self.results:
            protocol = re.sub(r"[^A-Za-z0-9.-]+", "-", one.checked.request.instance.protocol.name)
            for number, found in enumerate(one.counterexamples, 1):
                suffix = f".{number}" if len(one.counterexamples) > 1 else ""
                name = f"{protocol}.{one.result.property}{suffix}"
                yield str(folder / f"{name}.json"), json.dumps(found.trace.to_json(), indent=2) + "\n"
                if form in FORMS:
                    yield str(folder / f"{name}{FORMS[form]}"), in_form(found, form)


def _checking(folder: str, is_own: bool) -> str:
    """Return the command that checks a certificate; it needs the file of a protocol that does not ship."""
    return shlex.join(["fencepost", "certify", folder, *(["--protocol", "FILE.py"] if is_own else [])])


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


def _counterexamples(one: ReportedResult) -> Iterator[str]:
    for number, counterexample in enumerate(one.counterexamples, 1):
        which = f" {number}" if number > 1 else ""
        yield f"{one.result.property}, counterexample{which}:\n{counterexample_text(counterexample)}"


def _caps(one: CheckedRequest) -> Mapping[str, object]:
    limits, system = one.limits, one.request.system
    bounds = (("steps", limits.bound), ("rounds", limits.rounds))
    caps: dict[str, object] = {**system.caps, **{name: value for name, value in bounds if value is not None}}
    caps |= {"constraint": system.within} if system.within else {}
    return caps | {name: limits.budgets[name] for name in system.faults if name in limits.budgets}


# The conclusion.


def exit_code(outcome: Outcome, expected: Verdict | None, certify: bool) -> ExitCode:
    """Return the code of the worst verdict; a proof that lacks its certificate is undecided at best."""
    if outcome.interrupted:
        return ExitCode.INTERRUPTED
    code = _verdict_code(outcome, expected)
    lacking = any(r.verdict is Verdict.PROVED and r.certificate is None for r in outcome.results)
    return ExitCode.UNDECIDED if certify and lacking and code is ExitCode.SUCCESS else code


def _verdict_code(outcome: Outcome, expected: Verdict | None) -> ExitCode:
    if not outcome.results:
        return ExitCode.SUCCESS
    verdict = worst(result.verdict for result in outcome.results)
    if verdict is expected:
        return ExitCode.SUCCESS
    if expected is not None:
        return ExitCode.UNDECIDED if verdict is Verdict.UNDECIDED else ExitCode.VIOLATED
    if verdict is Verdict.VIOLATED:
        return ExitCode.VIOLATED
    return ExitCode.UNDECIDED if verdict in (Verdict.UNDECIDED, Verdict.VACUOUS) else ExitCode.SUCCESS


KNOWN = "known"
"""The value of `--expect` for violations that known bugs explain."""


class Wanted(ResultOptions, InstanceOptions):
    """The options that decide on the report and the exit code."""

    form: str = counterexample_form_option
    traces: str | None = traces_option
    sarif: str | None = sarif_option
    certificates: str | None = option(
        "--certificates DIR", "Write a certificate of what is proved to this folder, new or empty.", OUTPUT
    )
    expect: str | None = option(
        "--expect VERDICT",
        "Exit with 0 if this is the worst verdict, else 1. known: leave violations by known bugs out.",
        EXIT,
        [*(v.value for v in Verdict), KNOWN],
    )

    def conclusion(self, report: CheckReport) -> Conclusion:
        """Return all that the command prints and writes, and its exit code."""
        files = dict(report.trace_files(Path(self.traces), self.form)) if self.traces is not None else {}
        if self.sarif is not None:
            files[self.sarif] = report.sarif(self.protocol, self.expect == Verdict.PROVED.value)
        told = [why for one in report.checked for why in reasons_of(one.uncertified or {})]
        result: str | dict[str, Any] | None = report.document() if self.form == "json" else None
        if self.form == "text":
            result = report.text()
        elif self.form in FORMS:
            more = "Choose with --property, or say --traces DIR for a file of each."
            result, others = formatted(report.counterexamples, self.form, self.output, more)
            told += [*report.lines, *filter(None, [others])]
        printed, written = ("", {}) if result is None else placed(result, self.output)
        return Conclusion(self._code(report), printed, "\n".join(told), files | written)

    def so_far(self, report: CheckReport) -> Conclusion:
        """Return the conclusion if the command is killed now, with the exit code of the verdicts."""
        cut_short = [replace(one, outcome=replace(one.outcome, interrupted=True)) for one in report.checked]
        return replace(self.conclusion(CheckReport(cut_short)), code=self._code(report))

    def _code(self, report: CheckReport) -> int:
        outcome = report.outcome(without_known=self.expect == KNOWN)
        expected = None if self.expect in (None, KNOWN) else Verdict(self.expect)
        return int(exit_code(outcome, expected, certify=self.certificates is not None))
