"""The report of `fencepost check` and `simulate`: as text, as JSON and as files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from fencepost.cli.commands.check_certificates import lines_of
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
from fencepost.cli.rendering.known_names import line, names_of, new
from fencepost.cli.rendering.undecided import SIMULATION, try_next
from fencepost.encoding import keys as k
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Outcome, Result, Verdict
from fencepost.encoding.forms import FORMS
from fencepost.encoding.forms.counterexample import Counterexample
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.state import show_all
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.traces import Subject


@dataclass(frozen=True)
class Request:
    """Properties to be checked on an instance, and the limits.

    `instead_of` is the instance that was asked for, if it does not exercise these properties.
    """

    instance: Instance
    properties: list[Property]
    limits: Limits
    instead_of: Instance | None = None

    @property
    def system(self) -> System:
        """The system of the instance."""
        return self.instance.system

    @property
    def subject(self) -> Subject:
        """The names and values under which the instance is reported."""
        return self.instance.subject


def not_begun(request: Request, interrupted: bool = True) -> Outcome:
    """Return the outcome of a request that was interrupted before it began, or was not reached yet."""
    reason = "interrupted" if interrupted else "not reached"
    results = [
        Result(prop.name, Verdict.UNDECIDED, seconds=0.0, solver=request.limits.solver, reason=reason)
        for prop in request.properties
    ]
    return Outcome(tuple(results), 0.0, interrupted, {})


@dataclass(frozen=True)
class CheckedRequest:
    """A request and its outcome."""

    request: Request
    outcome: Outcome
    uncertified: Mapping[str, str] | None = None
    """The reason why a result has no certificate, by property; None if no certificate was asked for."""

    @cached_property
    def known(self) -> list[list[str]]:
        """The known bugs that explain each result."""
        return [names_of(result) for result in self.outcome.results]

    @property
    def limits(self) -> Limits:
        """The limits that bound the verdicts: a proof covers executions of any number of rounds."""
        if all(result.verdict is Verdict.PROVED for result in self.outcome.results):
            return replace(self.request.limits, rounds=None)
        return self.request.limits

    @property
    def lines(self) -> list[str]:
        """The lines of the verdicts."""
        where = on_own(self.request)
        faults = allowed(self.request.instance)
        lines = []
        for result, known in zip(self.outcome.results, self.known, strict=True):
            lines.append(line(result, known, where, faults))
            further = try_next(result, self.request.limits)
            lines += [f"  {further}"] if further is not None else []
        return lines

    @property
    def counterexamples(self) -> list[Counterexample]:
        """The counterexamples of all results."""
        return [
            counterexample
            for result in self.outcome.results
            for counterexample in self.counterexamples_of(result)
        ]

    def counterexamples_of(self, result: Result) -> list[Counterexample]:
        """Return the counterexamples of one result."""
        (prop,) = (p for p in self.request.properties if p.name == result.property)
        changed = self.request.instance.changed_switches
        traces = [result.trace, *result.more_traces] if result.trace else []
        return [
            Counterexample(trace, self.request.system, prop, verdict_sentence(result), changed)
            for trace in traces
        ]


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
    parts.append("\n".join(line for one in checked for line in one.lines))
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
        for number, counterexample in enumerate(one.counterexamples_of(result), 1):
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
            "false_because": [found.false_because.to_json() for found in one.counterexamples_of(result)],
            "instance": own,
        }
        for result, known in zip(one.outcome.results, one.known, strict=True)
    ]


# Files.


def trace_files(folder: Path, one: CheckedRequest, form: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of the files of each counterexample: for `fencepost trace`, and in that form."""
    protocol = re.sub(r"[^A-Za-z0-9.-]+", "-", one.request.instance.protocol.name)
    for result in one.outcome.results:
        counterexamples = one.counterexamples_of(result)
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

    def conclusion(self, checked: Sequence[CheckedRequest]) -> Conclusion:
        """Return all that the command prints and writes, and its exit code."""
        files = dict(
            file
            for one in checked
            if self.traces is not None
            for file in trace_files(Path(self.traces), one, self.form)
        )
        lines = [why for one in checked for why in lines_of(one.uncertified or {})]
        if self.form not in FORMS:
            printed, written = placed(
                as_json(checked) if self.form == "json" else as_text(checked), self.output
            )
            return Conclusion(self._code(checked), printed, "\n".join(lines), files | written)
        counterexamples = [counterexample for one in checked for counterexample in one.counterexamples]
        text, others = formatted(
            counterexamples,
            self.form,
            self.output,
            "Choose with --property, or say --traces DIR for a file of each.",
        )
        lines += [line for one in checked for line in one.lines] + ([others] if others else [])
        printed, written = ("", {}) if text is None else placed(text, self.output)
        return Conclusion(self._code(checked), printed, "\n".join(lines), files | written)

    def so_far(self, checked: Sequence[CheckedRequest]) -> Conclusion:
        """Return the conclusion if the command is killed now, with the exit code of the verdicts."""
        cut_short = [replace(one, outcome=replace(one.outcome, interrupted=True)) for one in checked]
        return replace(self.conclusion(cut_short), code=self._code(checked))

    def _code(self, checked: Sequence[CheckedRequest]) -> int:
        outcome = together(checked, self.known_as_expected)
        return int(exit_code(outcome, self.require_proof, self.expect, self.certify))
