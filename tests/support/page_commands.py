"""The commands of Fencepost in the README and in docs/, found by their form, and options that pages name."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import click

from fencepost.cli.main import cli

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))

_LINE = re.compile(r"^(?: {4,}(?:\$ )?|\$ )(fencepost .*)$", re.MULTILINE)
"""A line of code with a command, indented or in a fenced block, perhaps behind a prompt."""
_SPAN = re.compile(r"`(?:fencepost )?([a-z]+ [^`\n]*--[^`\n]*)`")
"""A command with an option in the middle of a sentence, often without its first word."""
_PLACEHOLDER = re.compile(r"[…\[|]|\$\w|\b(?:BUG|DIR|FILE|GRID|HOST|ID|LIB|TRACE)\b")
"""Part of a command that a reader replaces."""
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_PROMPTED = re.compile(r"^(?: {4,})?\$ ")


@dataclass(frozen=True)
class PageCommand:
    """A command as a page has it, joined to one line, with the remark behind it."""

    page: Path
    text: str
    remark: str
    is_prompted: bool
    """Its output stands below it."""

    def __str__(self) -> str:
        """Return the page and the command."""
        return f"{self.page.stem}: {self.text.removeprefix('fencepost ')}"

    @cached_property
    def arguments(self) -> list[str]:
        """The words after `fencepost`."""
        return shlex.split(self.text)[1:]

    @property
    def is_form(self) -> bool:
        """Whether a part of it stands for something that the reader chooses."""
        return _PLACEHOLDER.search(self.text) is not None

    @property
    def written(self) -> Iterator[str]:
        """The files and folders that it writes."""
        for option, value in zip(self.arguments, self.arguments[1:], strict=False):
            if option in ("--traces", "--certificates", "--output", "-o"):
                yield value.rstrip("/")
        if self.arguments[0] == "sweep":
            yield self.arguments[2]

    def reads(self, other: PageCommand) -> bool:
        """Return whether it reads a file that the other command writes, and does not write it itself."""
        paths = set(other.written) - set(self.written)
        return any(word == path or word.startswith(f"{path}/") for path in paths for word in self.arguments)


def commands(page: Path) -> list[PageCommand]:
    """Return the commands that stand in lines of code of a page, in order."""
    text = re.sub(r" *\\\n *", " ", page.read_text(encoding="utf-8"))
    found = []
    for match in _LINE.finditer(text):
        command, *remark = re.split(r" +# | > ", match[1], maxsplit=1)
        found.append(
            PageCommand(page, command.strip(), "".join(remark), _PROMPTED.match(match[0]) is not None)
        )
    return found


def needed(command: PageCommand) -> list[PageCommand]:
    """Return the earlier commands of the page that write what this one reads."""
    earlier = commands(command.page)
    return [other for other in earlier[: earlier.index(command)] if command.reads(other)]


def click_commands(
    command: click.Command = cli, path: tuple[str, ...] = ()
) -> Mapping[tuple[str, ...], click.Command]:
    """Return each command by its words: ("check",), ("sweep",), and the program itself by none."""
    found = {path: command}
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            found |= click_commands(inner, (*path, name))
    return found


def options(command: click.Command) -> set[str]:
    """Return the options that a command takes."""
    return {"--help"} | {name for p in command.params for name in (*p.opts, *p.secondary_opts)}


def unknown_options(text: str, others: Sequence[str]) -> Iterator[str]:
    """Yield each option in the text that its command does not take.

    An option in a line of code or in a span that begins with a command is one of that command. Every other
    option must be one of some command, or of another program (`others`).
    """
    by_words = click_commands()
    known = set().union(*map(options, by_words.values()))
    for name in _OPTION.findall(text):
        if name not in known and name not in others:
            yield name
    joined = re.sub(r" *\\\n *", " ", text)
    lines = [re.split(r" +# | \| | > |&&", match[1])[0].split()[1:] for match in _LINE.finditer(joined)]
    for words in (*lines, *(span.split() for span in _SPAN.findall(joined))):
        path = next((tuple(words[:n]) for n in (2, 1) if tuple(words[:n]) in by_words), None)
        if path is None:
            continue
        taken = options(by_words[path])
        yield from (
            f"{' '.join(path)} {name}" for name in _OPTION.findall(" ".join(words)) if name not in taken
        )
