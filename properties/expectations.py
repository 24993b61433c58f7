"""Expectations: the verdict that a property of an instance must have, as data in TOML.

The table of known bugs, the other files in `expected/` and the files of users have this format
(docs/pytest.md). A known bug also has a switch, and so two runs: with the bug and without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fencepost.encoding import keys as k
from fencepost.encoding.documents import SETTINGS, Key, has_keys, is_a, parse_toml, read_text
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.verdicts import Fewest, Result, Verdict
from fencepost.encoding.errors import BadInput
from fencepost.encoding.solving.solvers import SOLVERS

TABLES = Path(__file__).parent / "expected"
"""The folder with the expectations about the shipped protocols."""

EXPECTED = tuple(v.value for v in Verdict if v is not Verdict.UNDECIDED)
"""The verdicts that may be expected. `undecided` is never one of them."""


@dataclass(frozen=True)
class Expectation:
    """One property of one instance, with the verdict that it must have.

    `steps` is the length of the shortest counterexample, or None if any length is accepted. A known bug also
    has a sentence (`wrong`) and its `source`. Its `switch` has the value `broken` with the bug and `mended`
    without it. Without the bug the verdict is `without`; if `mended_bound` is given, no execution of at most
    that many steps violates the property. A bug that no switch fixes has no `switch`: only the run with the
    bug exists.
    """

    name: str
    protocol: str
    """The name of a preset, or the path of a Python file."""
    property: str
    verdict: Verdict
    steps: int | None = None
    settings: Mapping[str, int | str] = field(default_factory=dict)
    """The settings that differ from the preset's defaults, without the switch of the bug."""
    release: str | None = None
    """The release whose switches the instance has; settings win."""
    limits: Limits = field(default_factory=Limits)
    slow: bool = False
    line: int = 1
    """The line of the file on which the expectation begins, from 1."""
    wrong: str = ""
    source: str = ""
    switch: str | None = None
    broken: str = ""
    mended: str = ""
    without: Verdict = Verdict.PROVED
    mended_bound: int | None = None

    def runs(self) -> tuple[Run, ...]:
        """Return the run with the bug and the run without it; only the first if there is no switch."""
        return (Run(self, True),) if self.switch is None else (Run(self, True), Run(self, False))


@dataclass(frozen=True)
class Run:
    """One check that an expectation asks for: its instance with the bug, or without it.

    An expectation that is no known bug has one run, on its instance as given.
    """

    known: Expectation
    with_bug: bool = True

    @property
    def name(self) -> str:
        """The name of the run in tests."""
        return self.known.name if self.with_bug else f"{self.known.name} {self.known.switch}={self.value}"

    @property
    def value(self) -> str | None:
        """The value of the switch, if there is one."""
        if self.known.switch is None:
            return None
        return self.known.broken if self.with_bug else self.known.mended

    @property
    def settings(self) -> dict[str, str]:
        """All settings that differ from the preset's defaults, with the switch, as `--set` takes them."""
        found = {name: str(value) for name, value in self.known.settings.items()}
        return found if self.known.switch is None else found | {self.known.switch: str(self.value)}

    @property
    def verdict(self) -> Verdict:
        """The expected verdict."""
        if self.with_bug:
            return self.known.verdict
        return self.known.without if self.known.mended_bound is None else Verdict.HOLDS

    @property
    def bound(self) -> int | None:
        """The bound on the number of steps, or None."""
        return self.known.limits.bound if self.with_bug else self.known.mended_bound

    @property
    def steps(self) -> int | None:
        """The length of the shortest counterexample; None if any is accepted or none is expected."""
        return self.known.steps if self.with_bug else None

    @property
    def minimize(self) -> Minimize:
        """The measure that the search minimizes: none if a counterexample of any length is expected."""
        return Minimize.NONE if self.verdict is Verdict.VIOLATED and self.steps is None else Minimize.STEPS

    def limits(self, limits: Limits) -> Limits:
        """Return these limits with the bound and the minimization of this run."""
        return replace(limits, bound=self.bound, minimize=self.minimize)


def as_expected(run: Run, result: Result) -> bool | None:
    """Return whether a result is the expected one; None if the search ended before that was known.

    A violation with expected steps is accepted only if the search has shown that no shorter one exists.
    """
    if result.verdict is not run.verdict:
        return None if result.verdict is Verdict.UNDECIDED else False
    if run.steps is None or result.steps is None:
        return True
    if result.fewest is not Fewest.OF_ALL:
        return None if result.steps >= run.steps else False
    return result.steps == run.steps


def differs(verdict: Verdict, steps: int | None, result: Result) -> str | None:
    """Return how a result differs from the expected verdict and steps, or None.

    A step count that is not shown to be the fewest differs too.
    """
    if result.verdict is not verdict:
        return f"expected {verdict.value}, found {result.verdict.value}"
    if steps is None or (result.steps, result.fewest) == (steps, Fewest.OF_ALL):
        return None
    known = "" if result.fewest is Fewest.OF_ALL else ", not shown to be the fewest"
    return f"expected {steps} steps, found {result.steps}{known}"


# Files.

KEYS = {
    "name": k.text(),
    **k.keys(
        protocol=k.text("the name of a protocol, or the path of a Python file from here"),
        property=k.text("the name of a property"),
        expect=k.among(EXPECTED),
    ),
    "steps": k.whole(),
    "release": k.text("the release whose switches the instance has; `set` wins"),
    "set": k.table((int, str), "a table of parameters and switches, such as {entries = 2}"),
    "bound": k.whole(),
    "rounds": k.whole(least=1),
    "budget": k.table(int, "a table of faults, such as {lost = 1}"),
    "timeout": Key((int, float), "seconds, more than 0", lambda value: value > 0),
    "memory": Key((int, float), "GiB, more than 0", lambda value: value > 0),
    "solver": k.among(SOLVERS),
    "jobs": k.whole(least=1),
    "slow": k.flag(),
    "wrong": k.text("what goes wrong, in a sentence"),
    "source": k.text("where it was reported and fixed"),
    "switch": k.text("the name of a switch"),
    "broken": k.text("the value of the switch with the bug"),
    "mended": k.text("the value of the switch without the bug"),
    "without": k.among(EXPECTED),
    "mended_bound": k.whole(),
}
"""The keys of a table about one property."""

SWITCHED = ("switch", "broken", "mended", "without", "mended_bound")

OF_EACH = Key(
    dict,
    f"properties with what each must come to: one of {', '.join(EXPECTED)}, or the fewest steps of a "
    "violation",
    lambda table: bool(table) and all(v in EXPECTED or (is_a(v, int) and v >= 0) for v in table.values()),
    needed=True,
)
"""The key `expect` of a table about several properties of one instance."""

SEVERAL = {name: key for name, key in KEYS.items() if name not in ("property", "steps", *SWITCHED)} | {
    "expect": OF_EACH
}
"""The keys of a table about several properties of one instance."""

DEFAULTS = {name: replace(key, needed=False) for name, key in KEYS.items()} | {
    "expect": Key(
        (str, dict),
        f"{KEYS['expect'].form}, or {OF_EACH.form}",
        lambda value: (KEYS["expect"] if isinstance(value, str) else OF_EACH).takes(value),
    )
}
"""The keys of the defaults of a file."""

FILE = {
    "defaults": Key(dict, "one table; write [defaults]"),
    "case": Key(
        list, "tables of a list; write [[case]]", lambda tables: all(isinstance(t, dict) for t in tables)
    ),
}
"""The keys of a file."""

HINT = "give a file in TOML with tables [[case]], each with protocol, property and expect"
LIMITS = ("bound", "rounds", "timeout", "memory", "solver", "jobs")
BUG = ("wrong", "source", "switch", "broken", "mended", "mended_bound")
VALUES = ("broken", "mended")


def read(path: Path) -> list[Expectation]:
    """Return the expectations of a file. Raises BadInput, in one line, for a form unlike docs/pytest.md."""
    text = read_text(path, HINT, SETTINGS)
    document = has_keys(parse_toml(text, path.name, HINT), FILE, path.name)
    defaults, tables = document.get("defaults", {}), document.get("case", [])
    has_keys(defaults, DEFAULTS, f"{path.name}, defaults")
    lines = [n for n, line in enumerate(text.splitlines(), 1) if line.split("#")[0].strip() == "[[case]]"]
    found = [
        expectation
        for number, table in enumerate(tables, 1)
        for expectation in _expectations(
            _merged(defaults, table), path, number, lines[number - 1] if number <= len(lines) else 1
        )
    ]
    if not found:
        raise BadInput(f"{path.name}: has no case; write one as [[case]]")
    names = [expectation.name for expectation in found]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"{path.name}: {name}: two cases of this name; give one another name")
    return found


def _merged(defaults: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table completed by the defaults; `set`, `budget` and `expect` are completed key by key."""
    both = {
        key: {**defaults[key], **table[key]}
        for key in ("set", "budget", "expect")
        if isinstance(defaults.get(key), dict) and isinstance(table.get(key), dict)
    }
    return {**defaults, **table, **both}


def _expectations(table: dict[str, Any], path: Path, number: int, line: int) -> list[Expectation]:
    """Return the expectations of a table: one, or one for each property that its `expect` names."""
    where = f"{path.name}, line {line}, case {number}"
    if not isinstance(table.get("expect"), dict):
        return [_expectation(has_keys(table, KEYS, where), path, where, line)]
    has_keys(table, SEVERAL, where)
    return [_expectation(_about(table, prop), path, where, line) for prop in table["expect"]]


def _about(table: Mapping[str, Any], prop: str) -> dict[str, Any]:
    """Return what a table about several properties says about one of them, as a table about one property."""
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
        table.get("release"),
        Limits(budgets=table.get("budget", {}), **limits),
        table.get("slow", False),
        line,
        without=Verdict(table.get("without", Verdict.PROVED.value)),
        **{key: table[key] for key in BUG if key in table},
    )


def _check_switch(table: Mapping[str, Any], where: str) -> None:
    """Raise BadInput if a switch lacks one of its values, or if a key needs a switch and there is none."""
    if "switch" in table:
        for key in VALUES:
            if key not in table:
                raise BadInput(f"{where}: switch = {table['switch']!r}: needs {key} too; add it")
        if "release" in table:
            raise BadInput(
                f"{where}: release: not with a switch, whose two values are compared; leave it out"
            )
        if table["switch"] in table.get("set", {}):
            raise BadInput(f"{where}: set: has the switch {table['switch']}; leave it out there")
        if table["expect"] != Verdict.VIOLATED.value:
            raise BadInput(f'{where}: switch: only with expect = "violated"; leave it out')
        return
    for key in SWITCHED[1:]:
        if key in table:
            raise BadInput(f"{where}: {key}: only with a switch; add one, or leave it out")


def _unnamed(table: Mapping[str, Any]) -> str:
    """Return a name made of protocol, property, settings and limits, for a table without a name."""
    settings = [f"{name}={value}" for name, value in table.get("set", {}).items()]
    limits = [f"{key}={table[key]}" for key in ("release", *LIMITS) if key in table and key != "timeout"]
    faults = [f"{fault}={most}" for fault, most in table.get("budget", {}).items()]
    return " ".join([Path(table["protocol"]).name, table["property"], *settings, *limits, *faults])
