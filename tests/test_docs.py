"""The pages in docs/ say what is so: their code is the code, and their commands do what they show."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fencepost.cli.main import run

ROOT = Path(__file__).resolve().parent.parent
OWN = ROOT / "docs" / "own-protocol.md"
EXAMPLE = Path("examples/two_copies.py")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Transcript:
    """A console block of a page, under the changes to the example that its section asks for."""

    section: str
    changes: tuple[str, ...]
    text: str

    def commands(self) -> Iterator[tuple[str, list[str]]]:
        """Each command with the lines it prints."""
        for part in re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]:
            command, *lines = part.rstrip("\n").split("\n")
            yield command, lines


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page in that language."""
    return [text for name, text in BLOCK.findall(page.read_text(encoding="utf-8")) if name == language]


def transcripts(page: Path) -> list[Transcript]:
    """The console blocks of a page; a diff holds for what follows it in its section."""
    found = []
    for section in re.split(r"^##+ ", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
        title, changes = section.split("\n")[0], []
        for language, text in BLOCK.findall(section):
            if language == "diff":
                changes.append(text)
            elif language == "console":
                found.append(Transcript(title, tuple(changes), text))
    return found


def changed(source: str, changes: tuple[str, ...]) -> str:
    """The source after the changes, each a diff of whole lines that occur once."""
    for change in changes:
        sides = [[line[1:] for line in change.splitlines() if line[0] == sign] for sign in "-+"]
        old, new = ("\n".join(side) + "\n" for side in sides)
        assert source.count(old) == 1, f"occurs {source.count(old)} times in the example:\n{old}"
        source = source.replace(old, new)
    return source


def printed_as_shown(shown: list[str], printed: str) -> bool:
    """The lines are those shown; `...` in a page stands for anything, and times may differ."""
    pattern = re.escape("\n".join(shown)).replace(re.escape("..."), ".*")
    pattern = re.sub(r"\\\[\d+\\\.\d\\ s\\\]", r"\\[\\d+\\.\\d\\ s\\]", pattern)
    return re.fullmatch(pattern, printed, flags=re.DOTALL) is not None


def test_the_code_in_the_tutorial_is_the_example() -> None:
    source = (ROOT / EXAMPLE).read_text(encoding="utf-8")
    parts = blocks(OWN, "python")
    assert parts[-1] == source, "the last Python block of the page must be the whole file"
    for part in parts:
        assert part in source, f"not in {EXAMPLE}:\n{part}"


@pytest.mark.parametrize("transcript", transcripts(OWN), ids=lambda t: t.section)
def test_the_commands_in_the_tutorial_do_what_the_page_shows(
    transcript: Transcript,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = (ROOT / EXAMPLE).read_text(encoding="utf-8")
    (tmp_path / EXAMPLE).parent.mkdir()
    (tmp_path / EXAMPLE).write_text(changed(source, transcript.changes), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    code: int | None = None
    for command, shown in transcript.commands():
        if command == "echo $?":
            assert [str(code)] == shown, "exit code"
            continue
        name, *arguments = shlex.split(command)
        assert name == "fencepost"
        code = run(arguments)
        printed = capsys.readouterr()
        text = (printed.out + printed.err).rstrip("\n")
        assert printed_as_shown(shown, text), f"{command}\nshown:\n{transcript.text}\nprinted:\n{text}"
