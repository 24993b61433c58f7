"""Errors under `--format json`: one document on stdout, and the same line on stderr."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from fencepost.cli.error_document import wants_json
from fencepost.cli.main import run
from support.formats import SCHEMAS

BAD = (
    ["check", "bookeeper"],
    ["check", "bookkeeper", "--bound", "-1"],
    ["quorum", "-e", "1", "-w", "2", "-a", "1"],
    ["advise", "-e", "3"],
    ["export", "missing.json"],
    ["protocols", "bookeeper"],
    ["chek"],
)


@pytest.mark.parametrize("arguments", BAD, ids=" ".join)
def test_an_error_is_a_document_and_a_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Planted: the document on stderr; another exit code in it."""
    code = run([*arguments, "--format", "json"])
    out, err = capsys.readouterr()
    document = json.loads(out)
    Draft202012Validator(SCHEMAS["fencepost.error/1"]).validate(document)
    assert (code, document["exit_code"], document["meaning"]) == (2, 2, "bad input")
    assert err == f"fencepost: {document['error']}\n"
    assert run(arguments) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_a_result_that_cannot_be_written_leaves_one_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fencepost.cli.process.conclusion.write_whole", _full)
    found = ["--format", "json", "--traces", str(tmp_path / "found"), "--property", "no-divergence"]
    assert run(["check", "bookkeeper-4.13", "--jobs", "1", *found]) == 2
    assert json.loads(capsys.readouterr().out)["schema"] == "fencepost.check/3"


def _full(path: Path, text: str) -> None:
    from fencepost.encoding.errors import BadInput

    raise BadInput(f"{path.name}: cannot be written")


def test_a_command_that_its_supervisor_ends_has_a_document_too(tmp_path: Path) -> None:
    file = tmp_path / "ends.py"
    file.write_text("import os\nos._exit(7)\n")
    command = [sys.executable, "-m", "fencepost.cli", "check", str(file), "--format=json"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    document = json.loads(ended.stdout)
    assert (ended.returncode, document["exit_code"]) == (2, 2)
    assert ended.stderr == f"fencepost: {document['error']}\n"


@pytest.mark.parametrize(
    ("arguments", "asks"),
    [
        (["--format", "json"], True),
        (["--format=json"], True),
        (["--format", "json", "--format=text"], False),
        (["--format=text", "--format", "json"], True),
        (["--output", "json"], False),
        (["--", "--format=json"], False),
    ],
)
def test_the_last_format_counts(arguments: list[str], asks: bool) -> None:
    assert wants_json(["check", *arguments]) is asks
