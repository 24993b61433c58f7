"""Events of a log: what a process says that it did, line by line, and the files they are read from."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fencepost.encoding import keys as k
from fencepost.encoding.documents import Key, has_keys, parse_json, read_text, shown
from fencepost.encoding.errors import BadInput, unknown_name
from fencepost.encoding.language.actions import Schema
from fencepost.encoding.language.system import System
from fencepost.encoding.language.traces import Json

HINT = "give a log of JSON lines, or its reader with --reader FILE.py"

EVENT = {
    "action": k.text(
        "the name of an action, or of the event that @log gives it; left out, the line only has values"
    ),
    "process": k.plain("the name of the process; left out, the file's name"),
    "arguments": k.table(k.PLAIN, "an object of arguments that are known, by name"),
    "before": k.table(k.PLAIN, "an object of state variables with their values before the event"),
    "after": k.table(k.PLAIN, "an object of state variables with their values after the event"),
    "maybe": k.flag("it may have happened, or not"),
    "from": Key((int, float), "a number: the event happened at this time or later"),
    "to": Key((int, float), "a number: the event happened at this time or earlier"),
}
"""The keys of a line of a log."""

Reader = Callable[[str], Iterable[Mapping[str, Any]]]
"""A function from a line of text to the events in it."""


@dataclass(frozen=True, eq=False)
class Event:
    """One line of a log: an action, and what is known of it. Two lines are never equal."""

    where: str
    """The file and the number of the line."""
    process: str
    """The process that logged it; empty if the log names none."""
    action: str
    """The name of an action; empty if the line only tells values."""
    arguments: Mapping[str, Json] = field(default_factory=dict)
    before: Mapping[str, Json] = field(default_factory=dict)
    after: Mapping[str, Json] = field(default_factory=dict)
    maybe: bool = False
    earliest: float = float("-inf")
    latest: float = float("inf")

    def __str__(self) -> str:
        """Return the event as people read it: `n1.log:3 send vote (to=n2)`."""
        told = list[str]()
        for word, part in (("", self.arguments), ("before ", self.before), ("after ", self.after)):
            values = [f"{name}={v if isinstance(v, str) else shown(v)}" for name, v in part.items()]
            told += [f"{word}{', '.join(values)}"] if values else []
        return f"{self.where} {self.action or '(values)'}" + (f" ({', '.join(told)})" if told else "")

    @property
    def values(self) -> Iterator[tuple[str, str, Json]]:
        """Yield each value that the line tells: where it stands, its name, and the value."""
        for part in ("arguments", "before", "after"):
            yield from ((part, name, value) for name, value in getattr(self, part).items())

    def says_the_same(self, other: Event) -> bool:
        """Return whether the other line tells the same."""
        return self.action == other.action and list(self.values) == list(other.values)

    def changed(self, part: str, name: str, value: Json | None) -> Event:
        """Return the same event with another value; with None it is not known."""
        others = {own: told for own, told in getattr(self, part).items() if own != name}
        changed: dict[str, Any] = {part: others if value is None else {**others, name: value}}
        return replace(self, **changed)


Log = tuple[Event, ...]
"""The events of one process, in its own order."""


@dataclass(frozen=True)
class Logs:
    """The events of each process, and the lines that name no action of the protocol."""

    by_process: tuple[Log, ...]
    unread: tuple[str, ...] = ()

    @property
    def events(self) -> tuple[Event, ...]:
        """All events, process by process."""
        return tuple(event for log in self.by_process for event in log)


def read_logs(
    files: Sequence[Path], system: System, names: Mapping[str, str], reader: Reader | None = None
) -> Logs:
    """Return the events in these files. `names` replaces texts of the log by values of the protocol.

    A line names its process, or its file does. One file without names is one order of all events. Raises
    BadInput for a line that is no event; a line that names no action of the protocol is only noted.
    """
    known, found, unread = _events_of(system), list[Event](), list[str]()
    for file in files:
        lines = read_text(file, HINT).splitlines()
        for number, line in enumerate(lines, 1):
            where = f"{file.name}:{number}"
            for told in _told(line, where, reader):
                if "action" in told and told["action"] not in known:
                    unread.append(where)
                    continue
                process = str(told.get("process", file.stem if len(files) > 1 else ""))
                found.append(_event(told, where, names.get(process, process), known, names))
    if not found:
        what = f"names no action; valid: {', '.join(known)}" if unread else f"has no event; {HINT}"
        raise BadInput(f"{', '.join(map(str, files))}: {what}")
    by_process = dict[str, list[Event]]()
    for event in found:
        by_process.setdefault(event.process, []).append(event)
    if "" in by_process and len(by_process) > 1:
        where = by_process[""][0].where
        raise BadInput(f"{where}: names no process, and other lines do; name it in each line")
    return Logs(tuple(map(tuple, by_process.values())), tuple(unread))


def reader_in(file: Path) -> Reader:
    """Return the function `events` of a Python file of the user, which is run. Raises BadInput."""
    read_text(file, "give a Python file with a function events(line)")
    try:
        reader = runpy.run_path(str(file)).get("events")
    except Exception as error:
        raise BadInput(f"{file}: cannot be run ({type(error).__name__}: {error}); mend it") from error
    if not callable(reader):
        raise BadInput(f"{file}: has no function events; write def events(line): yield {{'action': …}}")
    return reader  # type: ignore[no-any-return]


def _told(line: str, where: str, reader: Reader | None) -> Iterator[dict[str, Any]]:
    """Yield what a line says, with the keys `EVENT`. Raises BadInput."""
    if reader is None:
        if not line.strip():
            return
        said: Iterable[Any] = [parse_json(line, where, "write an object, or give --reader FILE.py")]
    else:
        try:
            said = list(reader(line) or ())
        except Exception as error:
            raise BadInput(f"{where}: the reader fails ({type(error).__name__}: {error}); mend it") from error
    for event in said:
        yield has_keys(event, EVENT, where)


def _events_of(system: System) -> Mapping[str, tuple[Schema, Mapping[str, str]]]:
    """Return the actions by the names that a log may give them, each with the names of its fields."""
    logged = [(schema, schema.logged) for schema in system.schemas if schema.logged is not None]
    return {
        **{schema.name: (schema, {}) for schema in system.schemas},
        **{told.event: (schema, dict(told.fields)) for schema, told in logged},
    }


def _event(
    told: Mapping[str, Any],
    where: str,
    process: str,
    known: Mapping[str, tuple[Schema, Mapping[str, str]]],
    names: Mapping[str, str],
) -> Event:
    def values(part: str) -> dict[str, Json]:
        return {name: names.get(str(value), value) for name, value in told.get(part, {}).items()}

    action, arguments = "", dict[str, Json]()
    if "action" in told:
        schema, fields = known[told["action"]]
        action, valid = schema.name, [parameter.symbol for parameter in schema.parameters]
        arguments = {fields.get(name, name): value for name, value in values("arguments").items()}
        for name in arguments:
            if name not in valid:
                raise unknown_name(name, f"argument of {told['action']}", valid, place=f"{where}: ")
    elif "after" not in told or {"arguments", "before", "maybe"} & told.keys():
        raise BadInput(f"{where}: action: missing; name one, or give only values with after")
    times = told.get("from", float("-inf")), told.get("to", float("inf"))
    return Event(
        where, process, action, arguments, values("before"), values("after"), told.get("maybe", False), *times
    )
