"""Transcripts of real runs with one place edited: none is played as the run that it was.

The digest in the last line notices every edit. With a digest made anew, a playback still ends with the code's
own observations or in one line, and its first and last line must be those of the run.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fencepost.cli.commands.reproduce import _counterexample, _played
from fencepost.cli.main import run
from fencepost.cli.options.shared import PLAYBACK
from fencepost.encoding.errors import BadInput
from fencepost.encoding.forms.counterexample import Counterexample
from fencepost.realcode.course import Ending
from fencepost.realcode.run_files import read_run_file
from fencepost.realcode.transcripts import json_lines, read_transcript
from support.edits import edits
from support.realcode import TRANSCRIPTS, kept_trace
from support.refusing import refused

KEPT = TRANSCRIPTS / "2614-2-2-2.4.13.0.sorted.jsonl"
RUNS = TRANSCRIPTS.parent / "runs/4.17.4.db.jsonl"


def documents(path: Path, most: int | None = None) -> list[Any]:
    """Return the documents of a file: the first ones of a long one, and the last one."""
    *lines, last = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [*lines[:most], last]


def some(path: Path, count: int | None, most: int | None = None) -> Iterator[tuple[str, str, list[Any]]]:
    """Yield some edits of a file, all if no number is given: the name, the text and the documents."""
    found = list(edits(documents(path, most)))
    for name, edit in found if count is None else random.Random(51).sample(found, count):
        edited = edit()
        yield name, "".join(json.dumps(document) + "\n" for document in edited), edited


@pytest.mark.parametrize("count", [60, pytest.param(None, marks=pytest.mark.long)])
def test_every_edit_of_a_transcript_is_refused(count: int | None, tmp_path: Path) -> None:
    """Planted: a file without a digest, whose first line said another release than that of the run."""
    path = tmp_path / "edited.jsonl"
    for name, text, _ in some(KEPT, count):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(BadInput) as error:
            read_transcript(path)
        assert "\n" not in str(error.value), name


def test_every_edit_of_a_file_of_runs_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "edited.jsonl"
    for name, text, _ in some(RUNS, 60, most=40):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(BadInput) as error:
            read_run_file(path)
        assert "\n" not in str(error.value), name


@pytest.mark.slow
@pytest.mark.parametrize(
    "key", ["bookkeeper", "storage", "zookeeper", "jdk", "protocol", "property", "recorded"]
)
def test_a_changed_first_line_is_never_reproduced(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trace, path = saved_trace(tmp_path), tmp_path / "edited.jsonl"
    other = {"bookkeeper": "4.17.4", "storage": "db", "property": "acked-entries-readable"}
    first, *rest = documents(KEPT)
    path.write_text(
        "".join(json.dumps(d) + "\n" for d in [{**first, key: other.get(key, "1.2.3")}, *rest]),
        encoding="utf-8",
    )
    monkeypatch.setenv(PLAYBACK, str(path))
    line = refused(capsys, "reproduce", trace)
    assert "sha256 is that of another file, so this one was changed" in line
    monkeypatch.setenv(PLAYBACK, str(KEPT))
    assert run(["reproduce", str(trace)]) == 1


def saved_trace(folder: Path) -> Path:
    path = folder / "trace.json"
    path.write_text(json.dumps(kept_trace("#2614-2/2/2").to_json()), encoding="utf-8")
    return path


def counterexample(folder: Path) -> Counterexample:
    """Return the counterexample of which the transcript is, read once."""
    return _counterexample(saved_trace(folder), None)


@pytest.fixture(scope="session")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Counterexample:
    return counterexample(tmp_path_factory.mktemp("trace"))


def played(asked: Counterexample, changed: list[Any], folder: Path) -> str:
    """Return how the playback of documents with a digest of their own ends: the ending, or one line."""
    path = folder / "edited.jsonl"
    *before, last = changed
    path.write_text(json_lines([*before, last if isinstance(last, dict) else {}]), encoding="utf-8")
    try:
        return _played(asked, path).ending.value
    except BadInput as error:
        assert "\n" not in str(error)
        return str(error)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (
            (0, "protocol"),
            "bookkeeper",
            "its protocol is bookkeeper, and that of the trace is bookkeeper-4.13",
        ),
        ((0, "property"), "valid-fragments", "its property is valid-fragments"),
        ((0, "storage"), "db", "asked: start"),
        ((0, "zookeeper"), "1.2.3", "its first line has other versions"),
        ((0, "jdk"), "1", "its first line has other versions"),
        ((-1, "ending"), "refused", "its last line says refused, and the playback comes to reproduced"),
        ((-1, "step"), 3, "its last line says reproduced at step 3"),
    ],
)
def test_the_first_and_the_last_line_are_those_of_the_run(
    place: tuple[int, str], value: object, said: str, asked: Counterexample, tmp_path: Path
) -> None:
    """Planted: only the questions are compared, and the text names what the first line says."""
    changed = documents(KEPT)
    changed[place[0]][place[1]] = value
    assert said in played(asked, changed, tmp_path)
    assert played(asked, documents(KEPT), tmp_path) == Ending.REPRODUCED.value


@pytest.mark.parametrize(
    "count", [pytest.param(15, marks=pytest.mark.slow), pytest.param(300, marks=pytest.mark.long)]
)
def test_no_edit_with_a_digest_of_its_own_is_an_internal_error(
    count: int | None, asked: Counterexample, tmp_path: Path
) -> None:
    """Planted: only a key that is missing is caught, and an answer of another type is an internal error."""
    for _, _, changed in some(KEPT, count):
        played(asked, changed, tmp_path)
