"""Transcripts: every line asked and answered in a real run, kept so that it can be looked at again without the code."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fencepost.encoding.errors import BadInput
from fencepost.encoding.reading import Key, has_keys, one_of, parse_json, read_json, shown, text_key
from fencepost.realcode.library import RELEASE
from fencepost.realcode.reproducing import STORAGES, Setting
from fencepost.realcode.session import Playback, dumped

SCHEMA = "fencepost.transcript/1"
HINT = "give what `reproduce --transcript` wrote"

_KEYS = {
    "schema": text_key(needed=True),
    "recorded": text_key("the day of the run", needed=True),
    "bookkeeper": text_key("a release", needed=True),
    "storage": one_of(STORAGES, needed=True),
    "zookeeper": text_key("a version", needed=True),
    "jdk": text_key("a version", needed=True),
    "lines": Key(list, "a list of lines", needed=True),
}
_LINE = {"ask": text_key(needed=True), "answer": Key(dict, "an answer", needed=True)}


@dataclass(frozen=True)
class Transcript:
    """A real run, line by line, and what it was made on."""

    setting: Setting
    recorded: str
    """The day, as 2026-11-22."""
    lines: tuple[tuple[str, str], ...]

    def to_json(self) -> dict[str, object]:
        """As a file has it."""
        return {
            "schema": SCHEMA,
            "recorded": self.recorded,
            "bookkeeper": self.setting.release,
            "storage": self.setting.storage,
            "zookeeper": self.setting.zookeeper,
            "jdk": self.setting.jdk,
            "lines": [
                {"ask": line, "answer": parse_json(answer, "an answer", "")} for line, answer in self.lines
            ],
        }

    def playback(self) -> Playback:
        """A session that answers as the code did."""
        return Playback(self.lines)


def recorded(setting: Setting, lines: Sequence[tuple[str, str]]) -> Transcript:
    """The transcript of a run that has just been made."""
    day = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    return Transcript(setting, day, tuple(lines))


def read_transcript(path: Path) -> Transcript:
    """The transcript in a file; raises BadInput if it has not the form of one."""
    document = read_json(path, HINT)
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise BadInput(f"{path}: schema is {shown(schema)}; valid: {SCHEMA}")
    has_keys(document, _KEYS, f"{path}: a transcript")
    for number, line in enumerate(document["lines"], 1):
        has_keys(line, _LINE, f"{path}: line {number}")
    setting = Setting(*(document[name] for name in ("bookkeeper", "storage", "zookeeper", "jdk")))
    if RELEASE.fullmatch(setting.release) is None:
        raise BadInput(
            f"{path}: bookkeeper is {shown(setting.release)}; it must be a release, such as 4.17.3"
        )
    return Transcript(
        setting,
        document["recorded"],
        tuple((line["ask"], dumped(line["answer"])) for line in document["lines"]),
    )
