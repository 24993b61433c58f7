"""Steps against losses, in the words of a release: who does each, when, and the log lines that it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fencepost.advice.losses import Loss, document
from fencepost.advice.setups import Setup
from fencepost.protocols.bookkeeper.releases import ordered


@dataclass(frozen=True)
class LogLine:
    """A line that BookKeeper logs, with its text in each release."""

    where: str
    texts: Mapping[str, str]
    """The texts by the first release that has each."""
    attributes: str = ""
    """The attributes of the line in releases whose lines have their values there."""

    def text_in(self, release: str) -> str:
        """Return the text that the release logs; empty if it logs no such line."""
        firsts = [first for first in self.texts if ordered(first) <= ordered(release)]
        return self.texts[max(firsts, key=ordered)] if firsts else ""

    def said_in(self, release: str) -> str:
        """Return the line in words, as a step says it."""
        text = self.text_in(release)
        if not text:
            return f"a line of {self.where} (no such line in {release})"
        newest = text == self.texts[max(self.texts, key=ordered)]
        return f"`{text}` ({self.where}{f'; {self.attributes}' if self.attributes and newest else ''})"


@dataclass(frozen=True)
class Precaution:
    """One thing to do against losses."""

    who: str
    when: str
    text: str
    rules_out: bool = False
    """Whether its losses are gone once it is done."""
    done_by: frozenset[str] = frozenset()
    """The conditions by which a setup shows that it is done; none if no file can show it."""

    def is_done(self, setup: Setup) -> bool:
        """Return whether the settings that were read show that the step is done."""
        return bool(self.done_by) and self.done_by <= setup.traits

    def text_in(self, release: str) -> str:
        """Return the step with its log lines in the words of the release."""
        return in_words_of(release, self.text)


LOG_LINES: Mapping[str, LogLine] = {name: LogLine(**row) for name, row in document("log_lines.toml").items()}
"""The log lines that steps name."""


ATTRIBUTES_SINCE = (4, 18)
"""The first line of releases whose log lines have their values as attributes."""


def in_words_of(release: str, text: str) -> str:
    """Return the text of a step or an action, with its log lines in the words of the release."""
    return text.format_map({name: line.said_in(release) for name, line in LOG_LINES.items()})


STEPS: Mapping[str, Precaution] = {
    name: Precaution(**row | {"done_by": frozenset(row.get("done_by", ()))})
    for name, row in document("steps.toml").items()
}
"""The steps that several losses share, by name."""


def steps_of(loss: Loss) -> Sequence[Precaution]:
    """Return the steps against a loss: those of the table, or the one of its own row."""
    named = [STEPS[name] for name in loss.steps]
    return named or [Precaution(loss.who, loss.when, loss.action)]


def action_of(loss: Loss, release: str) -> str:
    """Return what to do against a loss, in the words of the release."""
    return " ".join(step.text_in(release) for step in steps_of(loss))
