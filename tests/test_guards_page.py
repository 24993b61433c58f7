"""docs/generated/guards.md against the guards there are, and against what the smallest instances say of them now."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from guard_instances import GUARD_INSTANCES

from conjuncts import described
from fencepost.properties.catalogue import find
from guards import Effort, Instance, Outcome, classify

PAGE = Path(__file__).resolve().parent.parent / "docs" / "generated" / "guards.md"
PRESETS = tuple(GUARD_INSTANCES)
SMALLEST = {
    "bookkeeper": "AEG",
    "bookkeeper-no-journal": "BC",
    "bookkeeper-4.13": "ADG",
    "bookkeeper-4.13-tla": "ADG",
    "ledger-chain": "E",
    "verified-log-04": "A",
}
"""Instances that take seconds, by letter."""


class Row(NamedTuple):
    """What the page says of a conjunct."""

    text: str
    outcome: Outcome
    says: str


def rows(preset: str) -> dict[str, Row]:
    """The rows of a preset by conjunct."""
    section = PAGE.read_text(encoding="utf-8").split(f"## {preset}\n")[1].split("\n## ")[0]
    found = re.findall(r"^\| (.+, \d+ of \d+) \| `(.+)` \| (.+) \|$", section, flags=re.MULTILINE)
    return {conjunct: Row(text, _outcome(says), says) for conjunct, text, says in found}


def _outcome(says: str) -> Outcome:
    beginnings = {
        "implied": Outcome.IMPLIED,
        "caught by the engine": Outcome.REFUSED,
        "caught by": Outcome.CAUGHT,
        "**open**": Outcome.OPEN,
    }
    return next(outcome for beginning, outcome in beginnings.items() if says.startswith(beginning))


def instance(preset: str, number: int) -> Instance:
    protocol = find(preset)
    settings: Mapping[str, object] = GUARD_INSTANCES[preset][number]
    parameters = protocol.parameters(settings.items())
    return Instance("ABCDEFGHIJ"[number], protocol.build(parameters), protocol.subject(parameters))


def instances(preset: str) -> list[Instance]:
    return [instance(preset, number) for number in range(len(GUARD_INSTANCES[preset]))]


@pytest.mark.parametrize("preset", PRESETS)
def test_the_page_has_every_conjunct_as_it_is_now(preset: str) -> None:
    """If this fails, a guard has changed: run benchmarks/weakening.py again, as the page says."""
    written = {conjunct: row.text for conjunct, row in rows(preset).items()}
    texts = described(one.system for one in instances(preset))
    now = {str(conjunct): text for conjunct, text in texts.items()}
    assert written == now


def test_what_is_said_of_open_conjuncts_is_what_the_page_counts() -> None:
    said = (PAGE.parents[1] / "bookkeeper.md").read_text(encoding="utf-8")
    counts = re.findall(r"(\d+) of (\d+) (?:are open )?in\s`(bookkeeper[^`]*)`", said.replace("\n", " "))
    assert len(counts) == 4
    for open_ones, conjuncts, preset in counts:
        found = rows(preset)
        assert (int(open_ones), int(conjuncts)) == (
            sum(row.outcome is Outcome.OPEN for row in found.values()),
            len(found),
        ), preset


@pytest.mark.long
@pytest.mark.parametrize("preset", PRESETS)
def test_the_smallest_instances_say_what_the_page_says(preset: str) -> None:
    page = rows(preset)
    smallest = [one for one in instances(preset) if one.name in SMALLEST[preset]]
    findings = classify(smallest, Effort())
    assert len(findings) > len(page) / 2
    for finding in findings:
        row = page[str(finding.conjunct)]
        if row.outcome is Outcome.IMPLIED:
            assert finding.outcome is Outcome.IMPLIED, finding
        if row.outcome is Outcome.OPEN:
            assert finding.outcome in (Outcome.OPEN, Outcome.IMPLIED), finding
        if finding.outcome in (Outcome.CAUGHT, Outcome.REFUSED):
            assert row.outcome in (Outcome.CAUGHT, Outcome.REFUSED), finding
        if row.outcome is Outcome.CAUGHT and re.search(rf" on [{SMALLEST[preset]}], ", row.says):
            assert finding.outcome is Outcome.CAUGHT, finding


@pytest.mark.parametrize("preset", PRESETS)
def test_the_counts_in_the_page_are_those_of_its_rows(preset: str) -> None:
    outcomes = [row.outcome for row in rows(preset).values()]
    counts = [len(outcomes), *(outcomes.count(outcome) for outcome in Outcome)]
    line = f"| `{preset}` | {' | '.join(map(str, counts))} |"
    assert line in PAGE.read_text(encoding="utf-8")
