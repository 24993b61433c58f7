"""Grids: a file that names many instances, and the cases that it asks for.

A grid file has tables `[[grid]]`. A table names protocols and, if not all are meant, properties. It has
settings, each as one value, a list of values or a range such as "1..5", and limits of the search. Every
combination is an instance.

Two other kinds of tables name known bugs, whose instances and properties are in
`properties/expected/known.toml`, or ensembles at which the conditions of `advise` are proved.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

from fencepost.advice.known import KNOWN, chosen
from fencepost.encoding.documents import SETTINGS, Key, has_keys, parse_toml, read_text
from fencepost.encoding.engine.limits import Minimize
from fencepost.encoding.errors import BadInput, ModelError, unknown_name
from fencepost.encoding.language.parameters import Option
from fencepost.encoding.language.protocol import Instance, Protocol
from fencepost.encoding.solving.solvers import SOLVERS
from fencepost.properties.catalogue import find
from fencepost.sweeps import advice_cases, ranges
from fencepost.sweeps.ranges import LISTED
from fencepost.sweeps.sweep_cases import SweepCase

HINT = "give a file in TOML with tables [[grid]], each with protocols = 'bookkeeper' or others"

KEYS = {
    "protocols": Key(LISTED, "names of protocols, such as ['bookkeeper']", needed=True),
    "set": Key(dict, "a table, such as { ensemble = '1..3' }"),
    "properties": Key(LISTED, "names of properties"),
    "bounds": Key(LISTED, "numbers of steps"),
    "rounds": Key(LISTED, "numbers of rounds"),
    "solvers": Key(LISTED, "names of solvers"),
    "minimize": Key(LISTED, f"one of {', '.join(Minimize)}"),
    "known": Key(LISTED, "'all', or names of known bugs"),
}
"""The keys of a table `[[grid]]`."""

KNOWN_KEYS = {name: KEYS[name] for name in ("known", "solvers")}
"""The keys of a table of known bugs, which determine everything else."""

FILE = {
    "grid": Key(
        list,
        "one table [[grid]] at least",
        lambda tables: bool(tables) and all(isinstance(table, dict) for table in tables),
        needed=True,
    )
}
"""The keys of a grid file."""

RELATIVE = re.compile(r"([a-z_]+)\s*(?:\+\s*([0-9]{1,18}))?")

MOST_COMBINATIONS = 100_000
"""The largest number of combinations of settings in one table. The widest grid that ships has 500."""


@dataclass(frozen=True)
class Plan:
    """The cases of a grid, hardest first, each once."""

    cases: tuple[SweepCase, ...]
    invalid: int
    """The number of combinations of settings that break a rule of their protocol."""
    inapplicable: int
    """The number of properties that an instance lacks and another instance of the grid has."""
    repeated: int
    """The number of cases that the grid asks for more than once."""

    def without_declared(self) -> Plan:
        """Return the same plan with the declared invariants of every protocol hidden."""
        return replace(self, cases=tuple(replace(case, drop_declared=True) for case in self.cases))


def read_grid(path: Path, own: Protocol | None = None) -> Plan:
    """Return the cases of a grid file; raise BadInput, in one line, if it cannot be used.

    With an `own` protocol the grid may name only that one; otherwise only protocols that ship.
    """
    document = parse_toml(read_text(path, HINT, SETTINGS), str(path), HINT)
    try:
        return plan(document, own)
    except ModelError:
        raise
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error


def plan(document: Mapping[str, Any], own: Protocol | None = None) -> Plan:
    """Return the cases of a grid, given the document of its file."""
    tables = has_keys(document, FILE, "a grid")["grid"]
    found: dict[SweepCase, None] = {}
    invalid = inapplicable = asked = 0
    for table in tables:
        for made in _asked(table, own):
            invalid += made.invalid
            inapplicable += made.inapplicable
            asked += len(made.cases)
            found |= dict.fromkeys(made.cases)
    if not found:
        raise BadInput(f"asks for nothing: all {invalid} combinations are invalid; widen a range")
    hardest_first = sorted(found, key=lambda o: (-o.weight, repr(o)))
    return Plan(tuple(hardest_first), invalid, inapplicable, asked - len(found))


def _asked(table: Mapping[str, Any], own: Protocol | None) -> Iterator[Plan]:
    """Yield the plan of a table, protocol by protocol."""
    for key, (read, whose) in ABOUT_WHAT_SHIPS.items():
        if key in table:
            if own is not None:
                raise BadInput(f"{key}: {whose}, and --protocol gives {own.name}; leave one out")
            yield Plan(tuple(read(table)), 0, 0, 0)
            return
    grid = _read_table(table, own)
    for protocol in grid.protocols:
        yield _cases_of_protocol(grid, protocol)


def _of_known_bugs(table: Mapping[str, Any]) -> Iterator[SweepCase]:
    """Yield the runs of `fencepost known` for the named bugs or all, with each solver."""
    for key in table:
        if key in KEYS and key not in KNOWN_KEYS:
            raise BadInput(f"{key}: not beside known, which determines it; leave out one of them")
    has_keys(table, KNOWN_KEYS, "[[grid]]")
    names = [] if table["known"] == "all" else list(map(str, ranges.listed("known", table["known"])))
    solvers = _solvers(table)
    for run in (run for known in chosen(KNOWN, names) for run in known.runs()):
        protocol = find(run.known.protocol)
        instance = protocol.instance(run.settings.items())
        asked = SweepCase(
            protocol.name, _settings(instance), run.known.property, bound=run.bound, minimize=run.minimize
        )
        weight = len(instance.written.variables)
        yield from (replace(asked, solver=solver, weight=weight) for solver in solvers)


ABOUT_WHAT_SHIPS: Mapping[str, tuple[Callable[[Mapping[str, Any]], Iterator[SweepCase]], str]] = {
    "known": (_of_known_bugs, "is about protocols that ship"),
    "advice": (advice_cases.asked, "is about BookKeeper"),
}
"""The tables other than instances, by their key: the function that reads one, and its subject."""


@dataclass(frozen=True)
class _Grid:
    """A table `[[grid]]` with its lists written out. A value of `settings` may name another setting."""

    protocols: tuple[Protocol, ...]
    settings: Mapping[str, tuple[str, ...]]
    properties: tuple[str, ...]
    limits: tuple[tuple[str, int | None, int | None], ...]
    """The combinations of solver, bound and rounds."""
    minimize: Minimize


def _read_table(table: Mapping[str, Any], own: Protocol | None) -> _Grid:
    has_keys(table, KEYS, "[[grid]]")
    protocols = tuple(_called(str(name), own) for name in ranges.listed("protocols", table["protocols"]))
    settings = {name: ranges.values(name, value) for name, value in table.get("set", {}).items()}
    for protocol in protocols:
        _check_settings(protocol, settings)
    combinations = prod(map(len, settings.values()))
    if combinations > MOST_COMBINATIONS:
        raise BadInput(
            f"set: {combinations:,} combinations of {', '.join(settings)}, and {MOST_COMBINATIONS:,} are the "
            "most; take narrower ranges, or more grids"
        )
    bounds, rounds = (
        ranges.numbers(name, table[name]) if name in table else (None,) for name in ("bounds", "rounds")
    )
    solvers = _solvers(table)
    (minimize,) = ranges.names(
        "minimize", table.get("minimize", Minimize.STEPS.value), tuple(Minimize), most=1
    )
    properties = (
        tuple(map(str, ranges.listed("properties", table["properties"]))) if "properties" in table else ()
    )
    limits = tuple(itertools.product(solvers, bounds, rounds))
    return _Grid(protocols, settings, properties, limits, Minimize(minimize))


def _called(name: str, own: Protocol | None) -> Protocol:
    """Return the protocol of that name.

    A name is never a path, so a grid cannot make code run.
    """
    if own is None:
        return find(name)
    if name != own.name:
        raise BadInput(
            f"protocols = {name!r}: with --protocol only that protocol can be named, as {own.name!r}"
        )
    return own


def _solvers(table: Mapping[str, Any]) -> tuple[str, ...]:
    return ranges.names("solvers", table.get("solvers", "cadical"), tuple(SOLVERS))


def _check_settings(protocol: Protocol, settings: Mapping[str, Sequence[str]]) -> None:
    """Raise BadInput for a name or a value that no combination makes valid."""
    options = {option.name: option for option in protocol.options()}
    for name, values in settings.items():
        if name not in options:
            raise unknown_name(name, "parameter or switch", options, protocol.listing)
        for value in values:
            other = _other(options[name], value)
            if other is None:
                options[name].parse(value)
            elif other not in options or options[other].values:
                numbers = [o.name for o in options.values() if not o.values]
                raise unknown_name(other, "parameter", numbers, protocol.listing, f"{name} = {value!r}: ")
            elif any(_other(options[other], v) for v in settings.get(other, ())):
                raise BadInput(
                    f"{name} = {value!r}: {other} refers to another parameter itself; give it numbers"
                )


def _other(option: Option, value: str) -> str | None:
    """Return the parameter that `value` refers to, as in `ensemble+1`; None for a plain value."""
    match = None if option.values else RELATIVE.fullmatch(value)
    return match[1] if match else None


def _cases_of_protocol(grid: _Grid, protocol: Protocol) -> Plan:
    """Return the cases that a table asks of one protocol."""
    found: list[SweepCase] = []
    invalid = inapplicable = 0
    missing, known = set(grid.properties), set[str]()
    for settings in _combinations(grid, protocol):
        try:
            instance = protocol.instance(settings.items())
            written = protocol.as_written(instance.parameters)
            names = [p.name for p in (*written.properties, *written.liveness)]
        except ModelError:
            raise
        except BadInput:
            invalid += 1
            continue
        missing -= set(names)
        known |= set(names)
        wanted = grid.properties or names
        inapplicable += len(set(wanted) - set(names))
        weight = len(written.variables)
        found += [
            SweepCase(
                protocol.name,
                _settings(instance),
                name,
                *limits,
                grid.minimize,
                weight,
                instance.subject.system,
            )
            for name in dict.fromkeys(wanted)
            if name in names
            for limits in grid.limits
        ]
    if missing and known:
        raise unknown_name(min(missing), f"property of {protocol.name}", sorted(known), protocol.listing)
    return Plan(tuple(found), invalid, inapplicable, 0)


def _settings(instance: Instance) -> tuple[tuple[str, str], ...]:
    """Return all settings of an instance, with defaults."""
    named = {**instance.subject.parameters, **instance.subject.switches}
    return tuple((name, str(value)) for name, value in named.items())


def _combinations(grid: _Grid, protocol: Protocol) -> Iterator[dict[str, str]]:
    """Yield every combination of the values, with references to other parameters resolved."""
    options = {option.name: option for option in protocol.options()}
    for values in itertools.product(*grid.settings.values()):
        chosen = dict(zip(grid.settings, values, strict=True))
        yield {name: _resolved(options, name, chosen) for name in chosen}


def _resolved(options: Mapping[str, Option], name: str, chosen: Mapping[str, str]) -> str:
    value = chosen[name]
    match = None if options[name].values else RELATIVE.fullmatch(value)
    if match is None:
        return value
    base = chosen.get(match[1], str(options[match[1]].default))
    return str(int(base) + int(match[2] or 0))
