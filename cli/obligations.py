"""Obligations: what a property of a protocol must come to, from a file in TOML or from a test in Python.

docs/pytest.md has the form of the file; `pytest_plugin` makes tests of what is read here.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from fencepost.cli.check import find_protocol
from fencepost.cli.render import heading, trace_text, verdict_line
from fencepost.encoding.checking.limits import Limits
from fencepost.encoding.checking.running import check
from fencepost.encoding.checking.verdicts import Fewest, Result, Verdict
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.protocol import Protocol
from fencepost.encoding.language.state import show_all
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.reading import (
    SETTINGS,
    Key,
    has_keys,
    one_of,
    parse_toml,
    read_text,
    table_of,
    text_key,
    whole_key,
)
from fencepost.encoding.solving.solvers import SOLVERS

EXPECTED = tuple(v.value for v in Verdict if v is not Verdict.UNDECIDED)
"""What an obligation may expect: failing to decide is never as wished."""


@dataclass(frozen=True)
class Checked:
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
        if self.verdict != verdict:
            return f"expected {verdict}, found {self.verdict}"
        if steps is None or (self.steps, self.result.fewest) == (steps, Fewest.OF_ALL):
            return None
        known = "" if self.result.fewest is Fewest.OF_ALL else ", not shown to be the fewest"
        return f"expected {steps} steps, found {self.steps}{known}"

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
) -> Checked:
    """Check one property of an instance; raises BadInput for what the protocol does not have.

    A protocol that never completes keeps its own number of rounds unless one is given.
    """
    protocol = source if isinstance(source, Protocol) else find_protocol(str(source))
    instance = protocol.instance(settings.items())
    system = instance.system
    limits = limits.of(system)
    (chosen,) = instance.properties(prop)
    outcome = check(system, instance.subject, [chosen], limits)
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
    return Checked(
        result,
        chosen,
        heading(instance, in_force),
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
    ) -> Checked:
        """Check one property of an instance, `settings` being parameters and switches.

        The protocol is a `Protocol`, the path of a Python file with one, or the name of one that ships. What was
        found goes to the report in JUnit's form as well.
        """
        result = checked(protocol, settings, property, limits)
        for fact in result.facts().items():
            self._record(fact)
        return result


# Files.


@dataclass(frozen=True)
class Obligation:
    """One property of one instance, and what it must come to."""

    name: str
    protocol: str
    """The name of a protocol, or the path of a Python file."""
    settings: Mapping[str, object]
    property: str
    expect: str
    steps: int | None
    """The fewest steps of a counterexample; None if any will do."""
    limits: Limits
    slow: bool
    line: int
    """Where it is in the file, from 1."""

    def check(self) -> Checked:
        """Decide it. A counterexample is made small unless it is expected, and any will do."""
        any_will_do = self.expect == Verdict.VIOLATED.value and self.steps is None
        limits = replace(self.limits, minimize="none") if any_will_do else self.limits
        return checked(self.protocol, self.settings, self.property, limits)


KEYS = {
    "name": text_key(),
    "protocol": text_key("the name of a protocol, or the path of a Python file from here", needed=True),
    "property": text_key("the name of a property", needed=True),
    "expect": one_of(EXPECTED, needed=True),
    "steps": whole_key(0),
    "set": table_of((int, str), "a table of parameters and switches, such as {entries = 2}"),
    "bound": whole_key(0),
    "rounds": whole_key(1),
    "budget": table_of(int, "a table of faults, such as {lost = 1}"),
    "timeout": Key((int, float), "seconds, more than 0", lambda value: value > 0),
    "memory": Key((int, float), "GiB, more than 0", lambda value: value > 0),
    "solver": one_of(tuple(SOLVERS)),
    "slow": Key(bool, "true or false"),
}
"""What an obligation may have."""

DEFAULTS = {name: replace(key, needed=False) for name, key in KEYS.items()}
"""What the defaults of a file may have."""

FILE = {
    "defaults": Key(dict, "one table; write [defaults]"),
    "obligation": Key(
        list,
        "tables of a list; write [[obligation]]",
        lambda tables: all(isinstance(t, dict) for t in tables),
    ),
}
"""What a file may have."""

HINT = "give a file in TOML; docs/pytest.md has its form"
LIMITS = ("bound", "rounds", "timeout", "memory", "solver")


def read(path: Path) -> list[Obligation]:
    """The obligations of a file; raises BadInput, in one line, if it is not as docs/pytest.md says."""
    text = read_text(path, HINT, SETTINGS)
    document = has_keys(parse_toml(text, path.name, HINT), FILE, path.name)
    defaults, tables = document.get("defaults", {}), document.get("obligation", [])
    has_keys(defaults, DEFAULTS, f"{path.name}, defaults")
    lines = [
        n for n, line in enumerate(text.splitlines(), 1) if line.split("#")[0].strip() == "[[obligation]]"
    ]
    found = [
        _obligation(_merged(defaults, table), path, number, lines[number - 1] if number <= len(lines) else 1)
        for number, table in enumerate(tables, 1)
    ]
    if not found:
        raise BadInput(f"{path.name}: has no obligation; write one as [[obligation]]")
    names = [obligation.name for obligation in found]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"{path.name}: {name}: two obligations of this name; give one another name")
    return found


def _merged(defaults: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """What the table says, and what the defaults say of the rest; parameters and budgets one by one."""
    both = {
        key: {**defaults[key], **table[key]}
        for key in ("set", "budget")
        if isinstance(defaults.get(key), dict) and isinstance(table.get(key), dict)
    }
    return {**defaults, **table, **both}


def _obligation(table: Mapping[str, Any], path: Path, number: int, line: int) -> Obligation:
    where = f"{path.name}, line {line}, obligation {number}"
    has_keys(table, KEYS, where)
    if "steps" in table and table["expect"] != Verdict.VIOLATED.value:
        raise BadInput(f'{where}: steps = {table["steps"]}: only with expect = "violated"; leave it out')
    protocol, settings = table["protocol"], table.get("set", {})
    is_file = protocol.endswith(".py") or "/" in protocol
    limits = {key: table[key] for key in LIMITS if key in table}
    return Obligation(
        table.get("name") or _title(table),
        str(path.parent / protocol) if is_file else protocol,
        settings,
        table["property"],
        table["expect"],
        table.get("steps"),
        Limits(budgets=table.get("budget", {}), **limits),
        table.get("slow", False),
        line,
    )


def _title(table: Mapping[str, Any]) -> str:
    """A name for an obligation that has none: what it is about."""
    settings = [f"{name}={value}" for name, value in table.get("set", {}).items()]
    limits = [f"{key}={table[key]}" for key in LIMITS if key in table and key != "timeout"]
    faults = [f"{fault}={most}" for fault, most in table.get("budget", {}).items()]
    return " ".join([Path(table["protocol"]).name, table["property"], *settings, *limits, *faults])
