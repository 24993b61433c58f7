"""Expectations: what a property of an instance must come to, as data in TOML.

One format for the table of known bugs, for the other files in `expected/`, and for the obligations of users
(docs/pytest.md). A known bug has a switch besides, and so two runs: with the bug, and without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from fencepost.encoding.documents import (
    SETTINGS,
    Key,
    has_keys,
    is_a,
    one_of,
    parse_toml,
    read_text,
    table_of,
    text_key,
    whole_key,
)
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.verdicts import Fewest, Result, Verdict
from fencepost.encoding.errors import BadInput
from fencepost.encoding.solving.solvers import SOLVERS

TABLES = Path(__file__).parent / "expected"
"""The folder with what is expected of the protocols that ship."""

EXPECTED = tuple(v.value for v in Verdict if v is not Verdict.UNDECIDED)
"""What may be expected: failing to decide is never as wished."""


@dataclass(frozen=True)
class Expectation:
    """One property of one instance, and what it must come to: in `steps` steps and no fewer, None if any will do.

    A known bug says what goes `wrong`, and its `source`. Its `switch` has the value `broken` with the bug and `mended`
    without it; then the verdict is `without`, or if `mended_bound` is given, no execution of at most so many steps
    violates the property. A bug that nothing in the model mends has no switch: it is looked for, and there is nothing to
    compare it with.
    """

    name: str
    protocol: str
    """The name of a protocol, or the path of a Python file."""
    property: str
    verdict: Verdict
    steps: int | None = None
    settings: Mapping[str, int | str] = field(default_factory=dict)
    """What the instance changes in the protocol's defaults, apart from the switch."""
    limits: Limits = field(default_factory=Limits)
    slow: bool = False
    line: int = 1
    """Where it is in its file, from 1."""
    wrong: str = ""
    source: str = ""
    switch: str | None = None
    broken: str = ""
    mended: str = ""
    without: Verdict = Verdict.PROVED
    mended_bound: int | None = None

    def runs(self) -> tuple[Run, ...]:
        """With the bug, then without it; one if there is no switch."""
        return (Run(self, True),) if self.switch is None else (Run(self, True), Run(self, False))


@dataclass(frozen=True)
class Run:
    """What is asked because of an expectation: its instance, with the bug (or as it is), or without it."""

    known: Expectation
    with_bug: bool = True

    @property
    def name(self) -> str:
        """As tests call it."""
        return self.known.name if self.with_bug else f"{self.known.name} {self.known.switch}={self.value}"

    @property
    def value(self) -> str | None:
        """The value of the switch, if there is one."""
        if self.known.switch is None:
            return None
        return self.known.broken if self.with_bug else self.known.mended

    @property
    def settings(self) -> dict[str, str]:
        """Everything that differs from the protocol's defaults, and the switch, as `--set` takes it."""
        found = {name: str(value) for name, value in self.known.settings.items()}
        return found if self.known.switch is None else found | {self.known.switch: str(self.value)}

    @property
    def verdict(self) -> Verdict:
        """The verdict expected."""
        if self.with_bug:
            return self.known.verdict
        return self.known.without if self.known.mended_bound is None else Verdict.HOLDS

    @property
    def bound(self) -> int | None:
        """Steps to look at; None for all."""
        return self.known.limits.bound if self.with_bug else self.known.mended_bound

    @property
    def steps(self) -> int | None:
        """The fewest steps expected; None if any number is as good, or nothing should be violated."""
        return self.known.steps if self.with_bug else None

    @property
    def minimize(self) -> Minimize:
        """What to make small in a counterexample: nothing, if one is expected and any number of steps is as good."""
        return Minimize.NONE if self.verdict is Verdict.VIOLATED and self.steps is None else Minimize.STEPS

    def limits(self, limits: Limits) -> Limits:
        """These limits, with what the expectation says of steps."""
        return replace(limits, bound=self.bound, minimize=self.minimize)


def as_expected(run: Run, result: Result) -> bool | None:
    """Whether a result is the one expected; None if the search ended before that was known.

    A violation is as expected only if no shorter one exists.
    """
    if result.verdict is not run.verdict:
        return None if result.verdict is Verdict.UNDECIDED else False
    if run.steps is None or result.steps is None:
        return True
    if result.fewest is not Fewest.OF_ALL:
        return None if result.steps >= run.steps else False
    return result.steps == run.steps


def differs(verdict: Verdict, steps: int | None, result: Result) -> str | None:
    """What is not as expected, if anything; failing to show it is a difference too."""
    if result.verdict is not verdict:
        return f"expected {verdict.value}, found {result.verdict.value}"
    if steps is None or (result.steps, result.fewest) == (steps, Fewest.OF_ALL):
        return None
    known = "" if result.fewest is Fewest.OF_ALL else ", not shown to be the fewest"
    return f"expected {steps} steps, found {result.steps}{known}"


# Files.

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
    "jobs": whole_key(1),
    "slow": Key(bool, "true or false"),
    "wrong": text_key("what goes wrong, in a sentence"),
    "source": text_key("where it was reported and mended"),
    "switch": text_key("the name of a switch"),
    "broken": text_key("the value of the switch with the bug"),
    "mended": text_key("the value of the switch without the bug"),
    "without": one_of(EXPECTED),
    "mended_bound": whole_key(0),
}
"""What an obligation may have."""

SWITCHED = ("switch", "broken", "mended", "without", "mended_bound")

OF_EACH = Key(
    dict,
    f"properties with what each must come to: one of {', '.join(EXPECTED)}, or the fewest steps of a violation",
    lambda table: bool(table) and all(v in EXPECTED or (is_a(v, int) and v >= 0) for v in table.values()),
    needed=True,
)
"""`expect` of an obligation about several properties of one instance."""

SEVERAL = {name: key for name, key in KEYS.items() if name not in ("property", "steps", *SWITCHED)} | {
    "expect": OF_EACH
}
"""What an obligation about several properties may have."""

DEFAULTS = {name: replace(key, needed=False) for name, key in KEYS.items()} | {
    "expect": Key(
        (str, dict),
        f"{KEYS['expect'].form}, or {OF_EACH.form}",
        lambda value: (KEYS["expect"] if isinstance(value, str) else OF_EACH).takes(value),
    )
}
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
LIMITS = ("bound", "rounds", "timeout", "memory", "solver", "jobs")
BUG = ("wrong", "source", "switch", "broken", "mended", "mended_bound")
VALUES = ("broken", "mended")


def read(path: Path) -> list[Expectation]:
    """The obligations of a file; raises BadInput, in one line, if it is not as docs/pytest.md says."""
    text = read_text(path, HINT, SETTINGS)
    document = has_keys(parse_toml(text, path.name, HINT), FILE, path.name)
    defaults, tables = document.get("defaults", {}), document.get("obligation", [])
    has_keys(defaults, DEFAULTS, f"{path.name}, defaults")
    lines = [
        n for n, line in enumerate(text.splitlines(), 1) if line.split("#")[0].strip() == "[[obligation]]"
    ]
    found = [
        expectation
        for number, table in enumerate(tables, 1)
        for expectation in _expectations(
            _merged(defaults, table), path, number, lines[number - 1] if number <= len(lines) else 1
        )
    ]
    if not found:
        raise BadInput(f"{path.name}: has no obligation; write one as [[obligation]]")
    names = [expectation.name for expectation in found]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"{path.name}: {name}: two obligations of this name; give one another name")
    return found


Several = tuple[Expectation, ...]
"""What several properties of one instance must come to."""


def instances(path: Path) -> tuple[Several, ...]:
    """The obligations of a file, those of one table together."""
    return tuple(tuple(rows) for _, rows in groupby(read(path), lambda row: row.line))


def title(rows: Several) -> str:
    """The name that a table about several properties has."""
    return rows[0].name.removesuffix(f", {rows[0].property}")


def _merged(defaults: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """What the table says, and what the defaults say of the rest; parameters and budgets one by one."""
    both = {
        key: {**defaults[key], **table[key]}
        for key in ("set", "budget", "expect")
        if isinstance(defaults.get(key), dict) and isinstance(table.get(key), dict)
    }
    return {**defaults, **table, **both}


def _expectations(table: dict[str, Any], path: Path, number: int, line: int) -> list[Expectation]:
    """What a table says: one expectation, or one for each property that its `expect` names."""
    where = f"{path.name}, line {line}, obligation {number}"
    if not isinstance(table.get("expect"), dict):
        return [_expectation(has_keys(table, KEYS, where), path, where, line)]
    has_keys(table, SEVERAL, where)
    return [_expectation(_about(table, prop), path, where, line) for prop in table["expect"]]


def _about(table: Mapping[str, Any], prop: str) -> dict[str, Any]:
    """What a table about several properties says of one."""
    expected = table["expect"][prop]
    name = {"name": f"{table['name']}, {prop}"} if "name" in table else {}
    said = (
        {"expect": Verdict.VIOLATED.value, "steps": expected} if is_a(expected, int) else {"expect": expected}
    )
    return {**table, **name, "property": prop, **said}


def _expectation(table: Mapping[str, Any], path: Path, where: str, line: int) -> Expectation:
    if "steps" in table and table["expect"] != Verdict.VIOLATED.value:
        raise BadInput(f'{where}: steps = {table["steps"]}: only with expect = "violated"; leave it out')
    _check_switch(table, where)
    protocol = table["protocol"]
    is_file = protocol.endswith(".py") or "/" in protocol
    limits = {key: table[key] for key in LIMITS if key in table}
    return Expectation(
        table.get("name") or _unnamed(table),
        str(path.parent / protocol) if is_file else protocol,
        table["property"],
        Verdict(table["expect"]),
        table.get("steps"),
        table.get("set", {}),
        Limits(budgets=table.get("budget", {}), **limits),
        table.get("slow", False),
        line,
        without=Verdict(table.get("without", Verdict.PROVED.value)),
        **{key: table[key] for key in BUG if key in table},
    )


def _check_switch(table: Mapping[str, Any], where: str) -> None:
    """Raise BadInput unless a switch has both its values, and nothing speaks of a switch that is not there."""
    if "switch" in table:
        for key in VALUES:
            if key not in table:
                raise BadInput(f"{where}: switch = {table['switch']!r}: needs {key} too; add it")
        if table["switch"] in table.get("set", {}):
            raise BadInput(f"{where}: set: has the switch {table['switch']}; leave it out there")
        if table["expect"] != Verdict.VIOLATED.value:
            raise BadInput(f'{where}: switch: only with expect = "violated"; leave it out')
        return
    for key in SWITCHED[1:]:
        if key in table:
            raise BadInput(f"{where}: {key}: only with a switch; add one, or leave it out")


def _unnamed(table: Mapping[str, Any]) -> str:
    """A name for an obligation that has none: what it is about."""
    settings = [f"{name}={value}" for name, value in table.get("set", {}).items()]
    limits = [f"{key}={table[key]}" for key in LIMITS if key in table and key != "timeout"]
    faults = [f"{fault}={most}" for fault, most in table.get("budget", {}).items()]
    return " ".join([Path(table["protocol"]).name, table["property"], *settings, *limits, *faults])
