"""Obligations: what a property of a protocol must come to, from a file in TOML or from a test in Python.

`properties/expectations.py` reads the file; `pytest_plugin` makes tests of it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

from fencepost.cli.options.protocols import find_protocol
from fencepost.cli.rendering.check_text import heading, trace_text, verdict_line
from fencepost.encoding.engine.check import check
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Result, Verdict
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.protocol import Protocol
from fencepost.encoding.language.state import show_all
from fencepost.encoding.language.system import Property, System
from fencepost.properties.expectations import EXPECTED, Run, differs


@dataclass(frozen=True)
class CheckedCase:
    """What checking a property came to, and how to tell people."""

    result: Result
    claim: Property
    instance: str
    """The lines that say what was checked, and within which caps."""
    command: str
    """What shows the same on the command line; empty if that cannot know the protocol."""

    @property
    def verdict(self) -> str:
        """The verdict, as the command line says it."""
        return self.result.verdict.value

    @property
    def steps(self) -> int | None:
        """Steps of the counterexample, if there is one."""
        return self.result.steps

    def __str__(self) -> str:
        """The instance, the counterexample if there is one, the verdict, the command."""
        trace = self.result.trace
        story = [f"counterexample:\n{trace_text(trace, self.claim)}"] if trace else []
        return "\n\n".join(
            [self.instance, *story, "\n".join(filter(None, [verdict_line(self.result), self.command]))]
        )

    def must_be(self, verdict: str, steps: int | None = None) -> None:
        """Fail, showing the counterexample, unless the verdict is this one, in so many steps and no fewer."""
        __tracebackhide__ = True
        if reason := self.differs(verdict, steps):
            raise Unmet(f"{reason}\n\n{self}")

    def differs(self, verdict: str, steps: int | None) -> str | None:
        """What is not as expected, if anything."""
        if verdict not in EXPECTED:
            raise BadInput(f"{verdict}: no verdict to expect; valid: {', '.join(EXPECTED)}")
        return differs(Verdict(verdict), steps, self.result)

    def facts(self) -> dict[str, object]:
        """What a report in JUnit's form should keep."""
        result = self.result
        found = {
            "verdict": self.verdict,
            "basis": result.basis.value if result.basis else None,
            "bound": result.bound,
            "rounds": result.rounds,
            "steps": result.steps,
            "fewest": result.fewest.value if result.fewest else None,
            "faults": show_all(result.faults or {}) or None,
            "solver": result.solver,
        }
        return {name: value for name, value in found.items() if value is not None}


class Unmet(AssertionError):
    """An obligation that is not met. The message ends with the counterexample, if there is one."""


def checked(
    source: Protocol | str | Path, settings: Mapping[str, object], prop: str, limits: Limits
) -> CheckedCase:
    """Check one property of an instance; raises BadInput for what the protocol does not have.

    A protocol that never completes keeps its own number of rounds unless one is given.
    """
    protocol = source if isinstance(source, Protocol) else find_protocol(str(source))
    instance = protocol.instance(settings.items())
    system = instance.system
    limits = limits.of(system)
    (chosen,) = instance.properties(prop)
    outcome = check(instance, [chosen], limits)
    if outcome.interrupted:
        raise KeyboardInterrupt
    (result,) = outcome.results
    in_force = replace(limits, rounds=None) if result.verdict is Verdict.PROVED else limits
    arguments = [
        str(source),
        f"--property={prop}",
        *(f"--set={name}={value}" for name, value in settings.items()),
        *_options(limits, system),
    ]
    return CheckedCase(
        result,
        chosen,
        "\n".join(filter(None, [heading(instance, in_force), protocol.unmodelled])),
        "" if isinstance(source, Protocol) else shlex.join(["fencepost", "check", *arguments]),
    )


def _options(limits: Limits, system: System) -> Iterator[str]:
    """The limits that differ from the command's own."""
    defaults = Limits().of(system)
    for option in fields(limits):
        value = getattr(limits, option.name)
        if option.name == "budgets":
            yield from (f"--budget={fault}={most}" for fault, most in value.items())
        elif value != getattr(defaults, option.name):
            yield f"--{option.name}={value}"


class Checker:
    """What the fixture `fencepost` gives to a test."""

    def __init__(self, record: Callable[[tuple[str, object]], None]) -> None:
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
        """Check one property of an instance, `settings` being parameters and switches.

        The protocol is a `Protocol`, the path of a Python file with one, or the name of one that ships. What was
        found goes to the report in JUnit's form as well.
        """
        result = checked(protocol, settings, property, limits)
        for fact in result.facts().items():
            self._record(fact)
        return result


def check_run(run: Run) -> CheckedCase:
    """Check what an expectation is about, within its own limits."""
    known = run.known
    return checked(known.protocol, run.settings, known.property, run.limits(known.limits))
