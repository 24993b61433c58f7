"""docs/generated/guards.md against the current guards, and against results on the smallest instances."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from guard_conjuncts import Conjunct, described, fingerprint
from guard_instances import GUARD_INSTANCES
from weakening import LETTERS, Study, page

from fencepost.properties.catalogue import find
from guards import Effort, Finding, Instance, Outcome, classify

PAGE = Path(__file__).resolve().parents[2] / "docs" / "generated" / "guards.md"
PRESETS = tuple(GUARD_INSTANCES)
SMALLEST = {
    "bookkeeper": "AEH",
    "bookkeeper-no-journal": "BC",
    "bookkeeper-4.13": "ADG",
    "bookkeeper-4.13-tla": "ADG",
    "ledger-chain": "E",
    "verified-log-04": "A",
}
"""Instances that take seconds, by letter."""


class Counts(NamedTuple):
    """The line of a preset in the first table."""

    conjuncts: int
    by_outcome: Mapping[Outcome, int]
    guards: str


def counts(preset: str) -> Counts:
    """Return the counts and the hash of a preset."""
    (cells,) = re.findall(rf"^\| `{preset}` \| (.+) \| `(\w+)` \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    total, *settled = map(int, cells[0].split(" | "))
    return Counts(total, dict(zip(Outcome, settled, strict=True)), cells[1])


def open_rows(preset: str) -> dict[str, str]:
    """Return the open conjuncts of a preset that the page lists, with their texts."""
    section = PAGE.read_text(encoding="utf-8").split(f"## {preset}\n")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| (.+, \d+ of \d+) \| `(.+)` \| .+ \|$", section, flags=re.MULTILINE))


def instance(preset: str, number: int) -> Instance:
    protocol = find(preset)
    settings: Mapping[str, object] = GUARD_INSTANCES[preset][number]
    parameters = protocol.parameters(settings.items())
    return Instance(LETTERS[number], protocol.build(parameters), protocol.subject(parameters))


def instances(preset: str) -> list[Instance]:
    return [instance(preset, number) for number in range(len(GUARD_INSTANCES[preset]))]


@pytest.mark.parametrize("preset", PRESETS)
def test_the_page_is_of_the_guards_as_they_are_now(preset: str) -> None:
    """If this fails, a guard has changed: run benchmarks/weakening.py again, as the page says."""
    now = described(one.system for one in instances(preset))
    assert (len(now), fingerprint(now)) == (counts(preset).conjuncts, counts(preset).guards)
    texts = {str(conjunct): text for conjunct, text in now.items()}
    assert open_rows(preset).items() <= texts.items()


def test_another_guard_has_another_fingerprint() -> None:
    # Planted: one conjunct with another text, one that is gone, and two that have changed places.
    one, two = Conjunct("push", 1, 2), Conjunct("push", 2, 2)
    texts = {one: "a", two: "b"}
    others = [{one: "a", two: "c"}, {one: "a"}, {one: "b", two: "a"}]
    assert fingerprint(dict(reversed(texts.items()))) == fingerprint(texts)
    assert fingerprint(texts) not in map(fingerprint, others)


def test_the_counts_of_open_conjuncts_in_the_text_are_those_of_the_page() -> None:
    text = (PAGE.parents[1] / "bookkeeper.md").read_text(encoding="utf-8")
    found = re.findall(r"(\d+) of (\d+) (?:are open )?in\s`(bookkeeper[^`]*)`", text.replace("\n", " "))
    assert {preset: (int(open_ones), int(all_of_them)) for open_ones, all_of_them, preset in found} == {
        preset: (counts(preset).by_outcome[Outcome.OPEN], counts(preset).conjuncts)
        for preset in PRESETS
        if preset.startswith("bookkeeper")
    }


@pytest.mark.long
@pytest.mark.parametrize("preset", PRESETS)
def test_the_smallest_instances_say_what_the_page_says(preset: str) -> None:
    """The page lists open conjuncts only; for the settled ones the counts are compared."""
    stated, listed = counts(preset), open_rows(preset)
    smallest = [one for one in instances(preset) if one.name in SMALLEST[preset]]
    findings = classify(smallest, Effort())
    assert len(findings) > stated.conjuncts / 2
    settled = (Outcome.CAUGHT, Outcome.REFUSED)
    assert not [f for f in findings if f.outcome in settled and str(f.conjunct) in listed]
    found = Counter(finding.outcome for finding in findings)
    assert found[Outcome.CAUGHT] + found[Outcome.REFUSED] <= sum(stated.by_outcome[o] for o in settled)
    not_here = stated.conjuncts - len(findings)
    assert stated.by_outcome[Outcome.IMPLIED] <= found[Outcome.IMPLIED] + not_here


@pytest.mark.parametrize("preset", PRESETS)
def test_the_counts_in_the_page_are_those_of_its_rows(preset: str) -> None:
    stated = counts(preset)
    assert sum(stated.by_outcome.values()) == stated.conjuncts
    assert len(open_rows(preset)) == stated.by_outcome[Outcome.OPEN]


def test_the_page_lists_open_conjuncts_only() -> None:
    # Planted: a generator that also lists implied or caught conjuncts, or counts only the open ones.
    outcomes = dict(enumerate(Outcome, 1))
    findings = [
        Finding(Conjunct("push", number, len(outcomes)), f"text {number}", outcome, "on A")
        for number, outcome in outcomes.items()
    ]
    made = page([Study("bookkeeper", [], findings, 0.0)], Effort())
    assert re.findall(r"text \d", made) == [f"text {n}" for n, o in outcomes.items() if o is Outcome.OPEN]
    texts = {finding.conjunct: finding.text for finding in findings}
    assert f"| `bookkeeper` | {len(findings)} | 1 | 1 | 1 | 1 | `{fingerprint(texts)}` |" in made
