"""Transcripts: all exchanges of a real run, kept so that the run can be checked without the code.

A file is JSON Lines: a head, then one exchange in each line, and last the ending of the run with a digest
of the whole file. A file that was changed afterwards is refused.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.encoding import keys as k
from fencepost.encoding.documents import (
    Key,
    Keys,
    has_keys,
    other_schema,
    parse_json,
    read_json_lines,
    shown,
)
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.traces import Trace
from fencepost.quorums.storages import STORAGES
from fencepost.realcode.course import Ending
from fencepost.realcode.harness_session import Playback, dumped
from fencepost.realcode.library import RUN_AS
from fencepost.realcode.reproduction import Reproduction, Setting

SCHEMA = "fencepost.transcript/3"
HINT = "give what `reproduce` wrote under FENCEPOST_TRANSCRIPT"

HEAD = k.keys(
    schema=k.text(),
    recorded=k.text("the day of the run"),
    bookkeeper=k.text("a release"),
    storage=k.among(tuple(STORAGES)),
    zookeeper=k.text("a version"),
    jdk=k.text("a version"),
    protocol=k.text("the name of a protocol"),
)
"""The keys of the first line of every file of a real run."""
EXCHANGE = k.keys(ask=k.text(), answer=Key(dict, "an answer"))
"""The keys of an exchange: one question to the code and its answer."""

KEYS = HEAD | k.keys(property=k.text("the name of a property"))
DIGEST = k.text("the SHA-256 of all lines as JSON, of this one without this key")
END = k.keys(
    ending=k.among(ending.value for ending in Ending),
    step=Key((int, type(None)), "the number of a step, or null"),
    sha256=DIGEST,
)

Lines = tuple[tuple[str, str], ...]
"""The exchanges in order, each a question and its answer."""
Numbered = list[tuple[str, Any]]
"""The documents of a file, each with the place of its line for messages."""


@dataclass(frozen=True)
class Transcript:
    """A real run, exchange by exchange, with the release and storage it was made on."""

    setting: Setting
    recorded: str
    """The day, as 2026-11-22."""
    protocol: str
    property: str
    lines: Lines
    ending: Ending
    step: int | None
    """The step at which the code refused or differed, or the step that cannot be driven."""

    def to_json_lines(self) -> str:
        """Return the text of its file."""
        first = head(SCHEMA, self.recorded, self.setting, self.protocol)
        return json_lines(
            [
                {**first, "property": self.property},
                *exchanges_to_json(self.lines),
                {"ending": self.ending.value, "step": self.step},
            ]
        )

    def playback(self) -> Playback:
        """Return a session that answers as the code did."""
        return Playback(self.lines)

    def fits(self, trace: Trace) -> None:
        """Raise BadInput unless the run was one of a trace of this protocol and property."""
        for what in ("protocol", "property"):
            run, asked = getattr(self, what), getattr(trace, what)
            if run != asked:
                raise BadInput(f"its {what} is {run}, and that of the trace is {asked}")

    def agrees(self, run: Reproduction) -> None:
        """Raise BadInput unless a playback has the setting and the ending that are kept."""
        if run.setting != self.setting:
            raise BadInput("its first line has other versions than the answer to `start`")
        if (run.ending, run.step) != (self.ending, self.step):
            kept, found = (_ended(one.ending, one.step) for one in (self, run))
            raise BadInput(f"its last line says {kept}, and the playback comes to {found}")


def _ended(ending: Ending, step: int | None) -> str:
    return ending.value if step is None else f"{ending.value} at step {step}"


def recorded(trace: Trace, run: Reproduction, lines: Sequence[tuple[str, str]]) -> Transcript:
    """Return the transcript of a run that has just been made."""
    return Transcript(
        run.setting, today(), trace.protocol, trace.property, tuple(lines), run.ending, run.step
    )


def read_transcript(path: Path) -> Transcript:
    """Return the transcript in a file; raise BadInput for another form."""
    first, lines, (where, last), setting = read_run(path, SCHEMA, KEYS, HINT)
    end = has_keys(last, END, where)
    exchanges = tuple(exchange_of(line, where) for where, line in lines)
    return Transcript(
        setting,
        first["recorded"],
        first["protocol"],
        first["property"],
        exchanges,
        Ending(end["ending"]),
        end["step"],
    )


# The common part of all files of real runs.


def today() -> str:
    """Return the day, as 2026-11-22 (UTC)."""
    return datetime.datetime.now(tz=datetime.UTC).date().isoformat()


def head(schema: str, day: str, setting: Setting, protocol: str) -> dict[str, object]:
    """Return the keys of every first line: the day of the run, its release and storage, the protocol."""
    return {
        "schema": schema,
        "recorded": day,
        "bookkeeper": setting.code,
        "storage": setting.storage,
        "zookeeper": setting.zookeeper,
        "jdk": setting.jdk,
        "protocol": protocol,
    }


def json_lines(documents: Iterable[Mapping[str, object]]) -> str:
    """Return the documents as text, one in each line. The last one gets the digest of them all."""
    *before, last = documents
    return _lines([*before, {**last, "sha256": _digest(before, last)}])


def _digest(before: Iterable[object], last: Mapping[str, object]) -> str:
    """Return the digest of the documents of a file. That of the last one is left out."""
    rest = {name: value for name, value in last.items() if name != "sha256"}
    return hashlib.sha256(_lines([*before, rest]).encode()).hexdigest()


def _lines(documents: Iterable[object]) -> str:
    return "".join(json.dumps(document) + "\n" for document in documents)


def read_run(
    path: Path, schema: str, keys: Keys, hint: str
) -> tuple[dict[str, Any], Numbered, tuple[str, Any], Setting]:
    """Return the head of a file of that schema, the lines between, the last line, and the setting.

    Raises BadInput for a file of another schema or version, for one without a last line, and for one that was
    changed after it was written.
    """
    first, lines = read_json_lines(path, hint)
    found = first.get("schema") if isinstance(first, dict) else None
    if found != schema:
        raise other_schema(path, found, schema)
    has_keys(first, keys, f"{path}: line 1")
    code = RUN_AS.fullmatch(first["bookkeeper"])
    if code is None:
        raise BadInput(
            f"{path}: bookkeeper is {shown(first['bookkeeper'])}; it must be a release, such as 4.17.3"
        )
    setting = Setting(
        code["release"], first["storage"], first["zookeeper"], first["jdk"], code["version"] or ""
    )
    if not lines:
        raise BadInput(f"{path}: ends after its first line; {hint}")
    last, where = lines[-1][1], f"{lines[-1][0]}, the last"
    if not isinstance(last, dict) or not isinstance(last.get("sha256"), str):
        raise BadInput(f"{where}: has no sha256, so the file is cut off; {hint}")
    if _digest([first, *(line for _, line in lines[:-1])], last) != last["sha256"]:
        raise BadInput(f"{where}: sha256 is that of another file, so this one was changed; {hint}")
    return first, lines[:-1], (where, last), setting


def exchanges_to_json(lines: Lines) -> Iterator[dict[str, object]]:
    """Yield each exchange as a file has it."""
    return ({"ask": line, "answer": parse_json(answer, "an answer", "")} for line, answer in lines)


def exchange_of(document: object, where: str) -> tuple[str, str]:
    """Return the exchange in a line of a file; raise BadInput if it has none."""
    found = has_keys(document, EXCHANGE, where)
    return found["ask"], dumped(found["answer"])
