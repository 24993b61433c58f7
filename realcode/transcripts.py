"""Transcripts: every line asked and answered in a real run, kept so that it can be looked at again without the code."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.encoding.documents import Key, Keys, has_keys, one_of, parse_json, read_json, shown, text_key
from fencepost.encoding.errors import BadInput
from fencepost.realcode.harness_session import Playback, dumped
from fencepost.realcode.library import RELEASE
from fencepost.realcode.reproduction import STORAGES, Setting

SCHEMA = "fencepost.transcript/1"
HINT = "give what `reproduce --transcript` wrote"

HEAD = {
    "schema": text_key(needed=True),
    "recorded": text_key("the day of the run", needed=True),
    "bookkeeper": text_key("a release", needed=True),
    "storage": one_of(STORAGES, needed=True),
    "zookeeper": text_key("a version", needed=True),
    "jdk": text_key("a version", needed=True),
}
"""What every file of a real run begins with."""
LINES = Key(list, "a list of lines", needed=True)
_KEYS = {**HEAD, "lines": LINES}
LINE = {"ask": text_key(needed=True), "answer": Key(dict, "an answer", needed=True)}

Lines = tuple[tuple[str, str], ...]
"""What was asked, and what was answered, in order."""


@dataclass(frozen=True)
class Transcript:
    """A real run, line by line, and what it was made on."""

    setting: Setting
    recorded: str
    """The day, as 2026-11-22."""
    lines: Lines

    def to_json(self) -> dict[str, object]:
        """As a file has it."""
        return {**head(SCHEMA, self.recorded, self.setting), "lines": lines_to_json(self.lines)}

    def playback(self) -> Playback:
        """A session that answers as the code did."""
        return Playback(self.lines)


def recorded(setting: Setting, lines: Sequence[tuple[str, str]]) -> Transcript:
    """The transcript of a run that has just been made."""
    return Transcript(setting, today(), tuple(lines))


def read_transcript(path: Path) -> Transcript:
    """The transcript in a file; raises BadInput if it has not the form of one."""
    document, setting = read_run(path, SCHEMA, _KEYS, "a transcript", HINT)
    for number, line in enumerate(document["lines"], 1):
        has_keys(line, LINE, f"{path}: line {number}")
    return Transcript(setting, document["recorded"], lines_of(document["lines"]))


# What all files of real runs have in common.


def today() -> str:
    """The day, as 2026-11-22 (UTC)."""
    return datetime.datetime.now(tz=datetime.UTC).date().isoformat()


def head(schema: str, day: str, setting: Setting) -> dict[str, object]:
    """When a real run was made, and on what, as a file has it."""
    return {
        "schema": schema,
        "recorded": day,
        "bookkeeper": setting.release,
        "storage": setting.storage,
        "zookeeper": setting.zookeeper,
        "jdk": setting.jdk,
    }


def read_run(path: Path, schema: str, keys: Keys, what: str, hint: str) -> tuple[dict[str, Any], Setting]:
    """The document in a file of that schema, and on what the run was made; raises BadInput if it is none."""
    document = read_json(path, hint)
    found = document.get("schema") if isinstance(document, dict) else None
    if found != schema:
        raise BadInput(f"{path}: schema is {shown(found)}; valid: {schema}")
    has_keys(document, keys, f"{path}: {what}")
    setting = Setting(*(document[name] for name in ("bookkeeper", "storage", "zookeeper", "jdk")))
    if RELEASE.fullmatch(setting.release) is None:
        raise BadInput(
            f"{path}: bookkeeper is {shown(setting.release)}; it must be a release, such as 4.17.3"
        )
    return document, setting


def lines_to_json(lines: Lines) -> list[dict[str, object]]:
    """What was asked and answered, as a file has it."""
    return [{"ask": line, "answer": parse_json(answer, "an answer", "")} for line, answer in lines]


def lines_of(documents: Sequence[dict[str, Any]]) -> Lines:
    """What was asked and answered, from the lines of a file."""
    return tuple((line["ask"], dumped(line["answer"])) for line in documents)
