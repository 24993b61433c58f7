"""BookKeeper's own log: the lines of clients and bookies that say something about a ledger or a restart.

`bookkeeper_lines.toml` has their texts. Up to 4.17 the values stand in the text. From 4.18.0 they are
attributes behind it (`%X` in the layout), or in the object `Attributes` of OpenTelemetry's JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path

from fencepost.encoding.documents import parse_toml, read_json_lines, read_text
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.state import amount

HINT = "give a log of a broker or of a bookie"
NUMBERS = ("ledger", "entry", "own", "recorded", "journal", "log")
TIME = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?)\s?(Z|[+-]\d\d:?\d\d)?")
ATTRIBUTE = re.compile(r"([\w.]+)=(\[[^\]]*\]|\{[^}]*\}|[^,{}]*)")

Value = int | str | tuple[str, ...]


@dataclass(frozen=True)
class LineForm:
    """A text of the table, in the releases from `first` to `last`."""

    kind: str
    where: str
    first: str
    text: str
    last: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)

    @property
    def beginning(self) -> str:
        """The text before its first value."""
        return re.split(r"\{|…", self.text)[0]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The line as a regular expression with a group for each value."""
        found = "".join(map(_piece, re.split(r"(\{\w+\}|…)", self.text)))
        return re.compile(found + (r"\s*(?P<attributes>\{.*\})?\s*$" if self.attributes else ""))


@dataclass(frozen=True)
class LedgerLine:
    """A line of a log that the table has."""

    where: str
    """The file and the number of the line."""
    process: str
    kind: str
    time: float | None
    """Seconds by the clock of the machine; None if the line has no date and time."""
    values: Mapping[str, Value]

    def number(self, name: str) -> int | None:
        """Return a value that is a number; None if the line does not have it."""
        value = self.values.get(name)
        return value if isinstance(value, int) else None

    @property
    def ensemble(self) -> tuple[str, ...]:
        """The bookies that the line names."""
        value = self.values.get("ensemble", ())
        return value if isinstance(value, tuple) else ()


@dataclass(frozen=True)
class BookKeeperLog:
    """The lines of all files that the table has, each file's in its own order."""

    lines: tuple[LedgerLine, ...]
    unread: tuple[str, ...]
    """The places of lines that the table does not have."""
    without_values: tuple[str, ...]
    """The places of lines of 4.18.0 without attributes, because the layout has no `%X`."""

    @property
    def ledgers(self) -> Mapping[int, tuple[LedgerLine, ...]]:
        """The lines of each ledger."""
        found: dict[int, list[LedgerLine]] = {}
        for ledger, line in numbered("ledger", self.lines):
            found.setdefault(ledger, []).append(line)
        return {ledger: tuple(found[ledger]) for ledger in sorted(found)}


def numbered(name: str, lines: Iterable[LedgerLine]) -> list[tuple[int, LedgerLine]]:
    """Return the lines that have the number of that name, each behind it."""
    return [(number, line) for line in lines if (number := line.number(name)) is not None]


@cache
def line_forms() -> tuple[LineForm, ...]:
    """Return the table, longer texts first: one may be contained in another."""
    file = files("fencepost.realcode").joinpath("bookkeeper_lines.toml")
    rows = parse_toml(file.read_text(encoding="utf-8"), file.name, "it is part of this package")["line"]
    return tuple(sorted((LineForm(**row) for row in rows), key=lambda form: -len(form.text)))


def read_log(paths: Sequence[Path]) -> BookKeeperLog:
    """Return the lines of these files. Raises BadInput if none of them has a line of the table."""
    lines, unread, bare = list[LedgerLine](), list[str](), list[str]()
    stems = [path.stem for path in paths]
    for path in paths:
        process = path.stem if stems.count(path.stem) == 1 else str(path)
        for number, text in enumerate(read_text(path, HINT).splitlines(), 1):
            where = f"{path.name if process == path.stem else path}:{number}"
            found = read_line(text, where, process)
            if found is None:
                unread += [where] if text.strip() else []
            elif not found.values and found.kind != "start":
                bare.append(where)
            else:
                lines.append(found)
    if not lines:
        reason = f"{amount(len(bare), 'line')} without attributes; put %X into the layout" if bare else HINT
        raise BadInput(f"{', '.join(map(str, paths))}: has no line of BookKeeper with its values; {reason}")
    return BookKeeperLog(tuple(lines), tuple(unread), tuple(bare))


def read_line(text: str, where: str = "", process: str = "") -> LedgerLine | None:
    """Return what a line says; None if the table does not have it."""
    message, attributes, time = _parts(text)
    for form in line_forms():
        if form.beginning not in message:
            continue
        match = form.pattern.search(message)
        if match is None:
            continue
        told: Mapping[str, object] = match.groupdict()
        if form.attributes:
            known = attributes or dict(ATTRIBUTE.findall(match["attributes"] or ""))
            told = {name: known[key] for name, key in form.attributes.items() if key in known}
        return LedgerLine(where, process, form.kind, time, {n: _value(n, str(v)) for n, v in told.items()})
    return None


def read_acked(path: Path) -> Mapping[int, int]:
    """Return the last acknowledged entry of each ledger in a file of lines `[ledger, entry]`."""
    hint = "give a line [ledger, entry] for each acknowledged entry"
    first, others = read_json_lines(path, hint)
    found: dict[int, int] = {}
    for where, pair in ((f"{path}: line 1", first), *others):
        match pair:
            case [int() as ledger, int() as entry] if not any(isinstance(one, bool) for one in pair):
                found[ledger] = max(entry, found.get(ledger, -1))
            case _:
                raise BadInput(f"{where}: {json.dumps(pair)}: must be two whole numbers; {hint}")
    return found


def _parts(text: str) -> tuple[str, Mapping[str, object], float | None]:
    """Return the message of a line, its attributes if it is JSON, and its time."""
    if text.startswith("{"):
        try:
            told = json.loads(text)
        except (ValueError, RecursionError):
            told = None
        if isinstance(told, dict) and isinstance(told.get("log"), str):
            return _parts(told["log"].rstrip("\n"))
        if isinstance(told, dict) and isinstance(told.get("Body"), str):
            attributes = told.get("Attributes")
            known = attributes if isinstance(attributes, dict) else {}
            return told["Body"], known, _time(str(told.get("Timestamp", "")))
    return text, {}, _time(text)


def _time(text: str) -> float | None:
    """Return the time in a text, in seconds. A time without a zone counts as UTC."""
    match = TIME.search(text)
    try:
        return datetime.fromisoformat(match[1] + (match[2] or "Z")).timestamp() if match else None
    except ValueError:
        return None


def _piece(piece: str) -> str:
    if piece == "…":
        return ".*?"
    if not piece.startswith("{"):
        return re.escape(piece)
    name = piece[1:-1]
    kind = r"-?\d+" if name in NUMBERS else r"\[[^\]]*\]" if name == "ensemble" else r"[^\s)]+"
    return f"(?P<{name}>{kind})"


def _value(name: str, text: str) -> Value:
    if name in NUMBERS:
        return int(text) if re.fullmatch(r"-?\d+", text) else text
    return tuple(re.split(r",\s*", text.strip("[]"))) if name == "ensemble" else text
