"""Slips with sequences, sets, records and messages: refused in one line, or decided as plain Python does."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.language import Channel, bounded_sequences, consistency, definedness, sets, terms
from fencepost.encoding.language.sequence_families import SequenceFamily
from support.slips.composites import KINDS, files, read
from support.slips.running import ask, finding
from support.tiers import each_third

FEW, MANY = 6, 200
CASES = [
    pytest.param(kind, number, marks=mark, id=f"{kind}, {number}")
    for number, mark in ((FEW, pytest.mark.slow), (MANY, pytest.mark.long))
    for kind in KINDS
]


def survey(kind: str, number: int, folder: Path, command_each: int = 0) -> Counter[str]:
    """Return how many files of a kind are refused, how many are decided as Python does, and each finding."""
    found: Counter[str] = Counter()
    for position, made in enumerate(itertools.islice(files(kind), number)):
        by_command = bool(command_each) and position % command_each == 0
        reading, answer = read(made), ask(made.text, folder, command=by_command)
        wrong = finding(reading, answer, False)
        found[wrong or ("refused" if answer.refused else "agreed")] += 1
    return found


@pytest.mark.parametrize(("kind", "number"), CASES)
def test_a_file_with_a_slip_is_refused_or_says_what_python_says(
    kind: str, number: int, tmp_path: Path
) -> None:
    found = survey(kind, number, tmp_path, command_each=max(number // 10, FEW))
    assert sum(found.values()) == number and set(found) <= {"refused", "agreed"}, found


PLANTED: dict[str, tuple[str, list[tuple[object, str, object]]]] = {
    "an item is set anywhere": (
        "an item behind the end",
        [(SequenceFamily, "alone", lambda self, part, value: value), (Concrete, "_forms", lambda *_: ())],
    ),
    "a part is set alone": (
        "a part of a composite that is set alone",
        [(Channel, "alone", lambda self, p, v: v)],
    ),
    "constants have no sort": (
        "a label of a larger sort in a condition of a set",
        [(consistency, "_sorts", lambda *_: [None])],
    ),
    "the members of a set are only compared": (
        "a label of a larger sort in a set",
        [
            (sets, "as_value", lambda value, sort, _: terms.as_type(value, sort.type)),
            (consistency, "_sorts", lambda *_: [None]),
        ],
    ),
    "a comparison skips items": (
        "an equality with what is not defined",
        [(bounded_sequences, "strict", lambda term, *_: term)],
    ),
    "a union skips members": (
        "an equality with what is not defined",
        [(definedness, "_for_all", lambda *_: terms.TRUE)],
    ),
}
"""Mistakes that the language once had, or could have, each with the kind of slip that notices it."""


@pytest.mark.parametrize("mistake", each_third(PLANTED))
def test_a_mistake_in_the_language_is_noticed(
    mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, planted = PLANTED[mistake]
    for owner, name, instead in planted:
        monkeypatch.setattr(owner, name, instead)
    found = survey(kind, 40, tmp_path)
    assert found["refused"] + found["agreed"] < 40, found


def test_there_are_enough_kinds() -> None:
    assert len(KINDS) >= 10
