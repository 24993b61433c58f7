"""`check --since DIR`: the clauses of an earlier certificate are asked first, and none is believed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fencepost.cli.main import run
from fencepost.encoding import check as order
from support.counterexamples import EXAMPLE

LOCK = EXAMPLE.with_name("lock_server.py")
SAFE = ("--set", "fence=yes")
NEVER = {"one_of": [{"variable": "acknowledged[1]", "relation": "=", "value": False}]}
"""A clause that no proof has: the entry is never acknowledged."""
GONE = {"one_of": [{"variable": "gone[1]", "relation": "=", "value": False}]}
EMPTY: dict[str, list[object]] = {"one_of": []}
UNLIKE = {"one_of": [{"variable": "acknowledged[1]", "relation": "like", "value": False}]}

Document = dict[str, Any]
Checked = Callable[..., tuple[int, Document]]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a certificate for each of two files."""
    folder = tmp_path_factory.mktemp("made")
    for file, name, settings in ((EXAMPLE, "two", SAFE), (LOCK, "lock", ("--set", "nodes=2"))):
        words = ["check", str(file), *settings, "--engine", "ic3", "--jobs", "1"]
        assert run([*words, "--certificates", str(folder / name)]) == 0
    return folder


@pytest.fixture
def kept(made: Path, tmp_path: Path) -> Path:
    """Return a copy of the first certificate, to be spoilt."""
    return Path(shutil.copytree(made / "two", tmp_path / "kept"))


@pytest.fixture
def checked(kept: Path, capsys: pytest.CaptureFixture[str]) -> Checked:
    """Return a function that checks the example with the certificate, and returns exit code and result."""

    def command(*arguments: str, since: Path = kept) -> tuple[int, Document]:
        words = ["check", str(EXAMPLE), "--jobs", "1", "--since", str(since), "--format", "json"]
        code = run([*words, *arguments])
        result: Document = json.loads(capsys.readouterr().out)["results"][0]
        return code, result

    return command


@pytest.fixture
def no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a search for clauses fail."""

    def find(*given: object) -> None:
        raise AssertionError("clauses are searched for")

    monkeypatch.setattr(order, "find_by_ic3", find)


def spoil(folder: Path, change: Callable[[Document], None], name: str = "manifest.json") -> None:
    """Change a document of the certificate."""
    file = folder / name
    document = json.loads(file.read_text(encoding="utf-8"))
    change(document)
    file.write_text(json.dumps(document), encoding="utf-8")


def texts(result: Document) -> set[str]:
    """Return the clauses that a proof uses."""
    return {clause["text"] for clause in result["found"]}


@pytest.mark.usefixtures("no_search")
def test_a_file_that_did_not_change_is_proved_without_a_search(checked: Checked, kept: Path) -> None:
    code, result = checked(*SAFE, "--engine", "ic3")
    assert (code, result["verdict"], result["basis"]) == (0, "proved", "induction")
    manifest = json.loads((kept / "manifest.json").read_text(encoding="utf-8"))
    assert len(result["found"]) == len(manifest["found"])


@pytest.mark.usefixtures("no_search")
def test_clauses_that_do_not_hold_or_mean_nothing_today_are_left_out(checked: Checked, kept: Path) -> None:
    """Planted: each kept clause counts as inductive."""
    spoil(kept, lambda manifest: manifest["found"].extend([NEVER, GONE, EMPTY]))
    code, result = checked(*SAFE, "--engine", "ic3")
    assert (code, result["verdict"]) == (0, "proved")
    assert not {"acknowledged[1] = no", "gone[1] = no"} & texts(result)


def test_only_what_no_longer_follows_is_searched_for(checked: Checked, kept: Path) -> None:
    """Planted: the judge does not get the kept clauses, so nothing that rests on them is proved."""
    spoil(kept, lambda manifest: manifest["found"].append(NEVER))
    spoil(kept, lambda manifest: manifest["found"].pop(0))
    before = json.loads((kept / "manifest.json").read_text(encoding="utf-8"))["found"]
    code, result = checked(*SAFE, "--engine", "ic3")
    assert (code, result["verdict"]) == (0, "proved")
    ours = [{"one_of": clause["one_of"]} for clause in result["found"]]
    assert [clause for clause in ours if clause in before]
    assert NEVER not in ours


def test_a_protocol_that_is_broken_today_is_violated(checked: Checked) -> None:
    """Planted: the engine says what the certificate claims."""
    code, result = checked("--minimize", "none")
    assert (code, result["verdict"]) == (1, "violated")


def test_a_witness_that_no_longer_replays_is_searched_for(checked: Checked, kept: Path) -> None:
    spoil(kept, lambda trace: trace["steps"].clear(), "witness-nothing-lost.json")
    code, result = checked(*SAFE, "--engine", "ic3")
    assert (code, result["verdict"], result["witness"]) == (0, "proved", True)


def test_a_property_that_is_vacuous_today_is_vacuous(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Planted: the witness is reached because the certificate has a trace to it."""
    text = EXAMPLE.read_text(encoding="utf-8")
    assert text.count("when=~s.taken_over") == 1
    file = tmp_path / "still.py"
    file.write_text(text.replace("when=~s.taken_over", "when=s.taken_over"), encoding="utf-8")
    assert run(["check", str(file), *SAFE, "--jobs", "1", "--since", str(kept)]) == 3
    assert "nothing-lost: vacuous: nothing was tested" in capsys.readouterr().out


def test_a_new_certificate_is_written_from_the_kept_one(kept: Path, tmp_path: Path) -> None:
    words = ["check", str(EXAMPLE), *SAFE, "--jobs", "1", "--since", str(kept)]
    assert run([*words, "--certificates", str(tmp_path / "new")]) == 0
    assert run(["certify", str(tmp_path / "new"), "--protocol", str(EXAMPLE)]) == 0


@pytest.mark.parametrize(
    ("spoilt", "line"),
    [
        (lambda folder: (folder / "manifest.json").write_text("{"), "manifest.json: is not JSON"),
        (lambda folder: (folder / "manifest.json").unlink(), "manifest.json: cannot be read"),
        (lambda folder: spoil(folder, lambda m: m.pop("found")), "found"),
        (lambda folder: spoil(folder, lambda m: m["found"].append(UNLIKE)), "a statement"),
        (lambda folder: (folder / "witness-nothing-lost.json").unlink(), "witness-nothing-lost.json: cannot"),
    ],
    ids=["no JSON", "no manifest", "no clauses", "no relation", "no witness"],
)
def test_a_broken_file_is_refused_in_one_line(
    kept: Path, spoilt: Callable[[Path], object], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spoilt(kept)
    assert run(["check", str(EXAMPLE), *SAFE, "--since", str(kept)]) == 2
    error = capsys.readouterr().err
    assert (error.count("\n"), line in error) == (1, True), error


def test_a_certificate_of_another_protocol_is_refused(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made / "lock"
    assert run(["check", str(EXAMPLE), "--since", str(folder)]) == 2
    said = "is a certificate of lock-server, not of two-copies; give one of two-copies"
    assert capsys.readouterr().err == f"fencepost: --since {folder}: {said}\n"
