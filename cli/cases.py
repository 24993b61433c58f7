"""Cases: one property of one instance, and the verdict expected of it.

Cases stand in a file in TOML, which `properties/expectations.py` reads and `pytest_plugin` makes tests of,
or in a test in Python.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from fencepost.cli.options.protocols import find_protocol
from fencepost.cli.rendering.check_report import ReportedResult
from fencepost.cli.rendering.check_text import counterexample_text, heading
from fencepost.cli.rendering.verdict_text import verdict_line
from fencepost.cli.requests import CheckedRequest, request_of
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.verdicts import Result, Verdict
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.protocol import Protocol
from fencepost.encoding.language.state import show_all
from fencepost.encoding.language.system import System
from fencepost.encoding.liveness.live_check import check_all
from fencepost.properties.expectations import EXPECTED, Run, differs


@dataclass(frozen=True)
class CheckedCase:
    """The result of checking one property, and the text about it."""

    checked: CheckedRequest
    command: str
    """The command that shows the same; empty if the protocol has no name on the command line."""

    @property
    def result(self) -> Result:
        """The result for the property."""
        return self.checked.outcome.results[0]

    @property
    def verdict(self) -> str:
        """The verdict, as the command line prints it."""
        return self.result.verdict.value

    @property
    def steps(self) -> int | None:
        """The steps of the counterexample, if there is one."""
        return self.result.steps

    def __str__(self) -> str:
        """Return the instance, the counterexample if there is one, the verdict and the command."""
        instance = self.checked.request.instance
        parts = ["\n".join(filter(None, [heading(instance, self.checked.limits), instance.unmodelled]))]
        shown = ReportedResult(self.checked, self.result, ()).counterexamples
        parts += [f"counterexample:\n{counterexample_text(one)}" for one in shown[:1]]
        return "\n\n".join([*parts, "\n".join(filter(None, [verdict_line(self.result), self.command]))])

    def must_be(self, verdict: str, steps: int | None = None) -> None:
        """Raise Unmet, with the counterexample, unless the verdict is this one and `steps` are the fewest."""
        __tracebackhide__ = True
        if reason := self.differs(verdict, steps):
            raise Unmet(f"{reason}\n\n{self}")

    def differs(self, verdict: str, steps: int | None) -> str | None:
        """Return the difference from what is expected, or None."""
        if verdict not in EXPECTED:
            raise BadInput(f"{verdict}: no verdict to expect; valid: {', '.join(EXPECTED)}")
        return differs(Verdict(verdict), steps, self.result)

    def report_properties(self) -> dict[str, object]:
        """Return the properties of this test in a JUnit report."""
        result = self.result
        plain = ("bound", "rounds", "steps", "solver")
        found = {
            "verdict": self.verdict,
            "basis": result.basis.value if result.basis else None,
            **{name: getattr(result, name) for name in plain},
            "fewest": result.fewest.value if result.fewest else None,
            "faults": show_all(result.faults or {}) or None,
        }
        return {name: value for name, value in found.items() if value is not None}


class Unmet(AssertionError):
    """A case that did not come out as expected. The message has the counterexample, if there is one."""


def checked(
    source: Protocol | str | Path,
    settings: Mapping[str, object],
    prop: str,
    limits: Limits,
    release: str | None = None,
) -> CheckedCase:
    """Check one property of an instance. Raises BadInput for a name that the protocol does not have.

    A protocol whose executions never end keeps its own number of rounds unless `limits` has one.
    """
    protocol = source if isinstance(source, Protocol) else find_protocol(str(source))
    request = request_of(protocol, list(settings.items()), [prop], release, limits)
    outcome = check_all(request.instance, request.properties, request.limits)
    if outcome.interrupted:
        raise KeyboardInterrupt
    arguments = [
        str(source),
        f"--property={prop}",
        *([f"--release={release}"] if release is not None else []),
        *(f"--set={name}={value}" for name, value in settings.items()),
        *_options(request.limits, request.system),
    ]
    shown = "" if isinstance(source, Protocol) else shlex.join(["fencepost", "check", *arguments])
    return CheckedCase(CheckedRequest(request, outcome), shown)


def _options(limits: Limits, system: System) -> Iterator[str]:
    """Yield the options for limits that differ from the defaults of the command.

    Without `--minimize` the command makes a counterexample smaller for a limited time only.
    """
    if limits.patience is None and limits.minimize is Minimize.STEPS:
        yield "--minimize=steps"
    defaults = Limits().of(system)
    for option in fields(limits):
        value = getattr(limits, option.name)
        if option.name == "patience":
            continue
        if option.name == "budgets":
            yield from (f"--budget={fault}={most}" for fault, most in value.items())
        elif option.name == "rounds" and value != defaults.rounds:
            yield f"--bound=rounds={value}"
        elif value != getattr(defaults, option.name):
            yield f"--{option.name}={value}"


class Checker:
    """The fixture `fencepost` of a test."""

    def __init__(self, record: Callable[[tuple[str, object]], None]) -> None:
        """Make a checker that records what it finds for the JUnit report."""
        self._record = record

    def check(
        self,
        protocol: Protocol | str | Path,
        property: str,
        /,
        *,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        **settings: object,
    ) -> CheckedCase:
        """Check one property of an instance; `settings` are parameters and switches.

        The protocol is a `Protocol`, the path of a Python file with one, or the name of a preset.
        """
        result = checked(protocol, settings, property, limits)
        for named_value in result.report_properties().items():
            self._record(named_value)
        return result


def check_run(run: Run) -> CheckedCase:
    """Check the case of an expectation within its own limits."""
    known = run.known
    limits = run.limits(known.limits)
    return checked(known.protocol, run.settings, known.property, limits, known.release)
