"""Answers about names that no model checks: public losses, numbers out of scope, and log lines."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fencepost.advice.affected import span
from fencepost.advice.known import KNOWN, Named, named
from fencepost.advice.losses import LEVELS, LOSSES, Loss, document
from fencepost.advice.steps import LOG_LINES, STEPS, action_of, in_words_of
from fencepost.encoding.errors import BadInput, did_you_mean
from fencepost.protocols.bookkeeper.releases import NEWEST

OUTSIDE = "outside.toml"
LEAST = 10
"""The fewest letters of a text that is looked for in log lines."""


@dataclass(frozen=True)
class Number:
    """A public report or fix that is out of the scope of the models."""

    name: str
    source: str
    what: str
    because: str
    modelled: str
    """The part that a model has; empty if none has a part."""
    action: str


@dataclass(frozen=True)
class Phrase:
    """A log line that operators have in hand."""

    text: str
    where: str
    means: str
    see: tuple[str, ...]


NUMBERS: tuple[Number, ...] = tuple(Number(name, **row) for name, row in document(OUTSIDE)["numbers"].items())
"""The numbers out of scope."""


def _phrases() -> Mapping[str, Phrase]:
    """Return the lines of both tables, by their texts. A line that a step names leads to its losses."""
    found = {}
    for name, line in LOG_LINES.items():
        against = [
            one.name
            for one in LOSSES
            if f"{{{name}}}" in " ".join([one.action, *(STEPS[step].text for step in one.steps)])
        ]
        for text in line.texts.values():
            found[text] = Phrase(text, line.where, "", tuple(dict.fromkeys(against)))
    for text, row in document(OUTSIDE)["phrases"].items():
        found[text] = Phrase(text, row["where"], row["means"], tuple(row["see"]))
    return found


PHRASES: Mapping[str, Phrase] = _phrases()
"""The log lines by their texts."""


NUMBER_OR_TEXT = re.compile(r"\W*(?:pulsar|pr|pull|issue)?[ /#-]*\d{3,6}$|.*\S \S", re.IGNORECASE)
"""A name that is the number of an issue, or a text of more than one word."""


def explained(names: Sequence[str], only_text: bool) -> tuple[list[str], tuple[str, ...]]:
    """Return the answers to the names that no model checks, and the other names. Raises BadInput."""
    answers = {name: answers_to(name) for name in names}
    others = tuple(name for name in names if not answers[name])
    for name in others:
        if NUMBER_OR_TEXT.match(name) and not named(KNOWN, name):
            near = did_you_mean(name, _names(), alike=0.8)
            raise BadInput(
                f"{name}: no such known bug, public loss or log line{near}; "
                "valid: a name or number that `fencepost known --list` lists, or words of a log line"
            )
    if len(others) < len(names) and not only_text:
        asked = next(name for name in names if answers[name])
        raise BadInput(f"{asked}: no model has it, so it has no result; leave --format and --output out")
    return [text for found in answers.values() for text in found], others


def _names() -> list[str]:
    """Return the names of the three tables."""
    tables: tuple[Sequence[Named], ...] = (KNOWN, TOLD, NUMBERS)
    return [one.name for table in tables for one in table]


def answers_to(name: str) -> list[str]:
    """Return what is known of a name that no model checks, a paragraph each; none if nothing is.

    A text of several words is looked for in the log lines, and a log line may be longer than its text here.
    """
    if named(KNOWN, name):
        return []
    told = named(TOLD, name)
    found = [_loss(loss) for loss in TOLD if loss.name in told]
    bare = re.sub(r"^pulsar[ #-]*", "", name.strip(), flags=re.IGNORECASE)
    own = named(NUMBERS, name) or named(NUMBERS, bare)
    found += [_number(one) for one in NUMBERS if one.name in own]
    return found or [_phrase(one) for one in PHRASES.values() if _is_in(one.text, name)]


def _is_in(text: str, given: str) -> bool:
    """Return whether one of the texts has the other, apart from values and capitals."""
    short = given.strip().lower()
    parts = [bare.lower() for part in re.split(r"…|\bL\b", text) if (bare := part.strip(" .:"))]
    return len(short) >= LEAST and (short in text.lower() or all(part in short for part in parts))


TOLD = [loss for loss in LOSSES if loss.kind != "bug"]
"""The losses that a screen of `advise` names and that are no known bugs."""

WHAT = {
    "public": "out of scope, because it is a public loss that no model has",
    "quorum": "a consequence of the number of copies, which `fencepost quorum` counts",
    "setting": "a setting of the bookies and no bug",
}
"""The kinds of these losses in words."""


def _loss(loss: Loss) -> str:
    needs = ", ".join(loss.conditions) or "no setting"
    loses = loss.loses[0].upper() + loss.loses[1:].rstrip(".")
    return (
        f"{loss.name}: {WHAT[loss.kind]}. {loses}. "
        f"In {span(loss.releases)}. Needs {LEVELS[loss.level]}, and {needs}. "
        f"{action_of(loss, loss.releases[-1])} {loss.source}"
    )


def _number(one: Number) -> str:
    part = f"Modelled of it: {one.modelled}. " if one.modelled else "Nothing of it is modelled. "
    action = in_words_of(NEWEST, one.action)
    return f"{one.name}: out of scope, because {one.because}. {one.what} {part}{action} {one.source}"


def _phrase(one: Phrase) -> str:
    means = f" {one.means}" if one.means else ""
    see = ", ".join(one.see)
    return f"`{one.text}` ({one.where}):{means}" + (f" See {see}." if see else "")
