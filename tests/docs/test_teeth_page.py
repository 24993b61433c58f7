"""docs/generated/teeth.md against the mutants that the presets have today."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from teeth import INSTANCES, brief

from fencepost.encoding.language.origins import origins_recorded
from fencepost.encoding.mutation.mutants import mutants
from fencepost.properties.catalogue import find

PAGE = Path(__file__).resolve().parents[2] / "docs" / "generated" / "teeth.md"
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| `(.+?)` \| .+ \|$", re.MULTILINE)


def rows(text: str, preset: str) -> set[tuple[str, ...]]:
    """Return the action, the change and the text of each row about a preset."""
    section = text.split(f"## {preset}\n")[1].split("\n## ")[0]
    return {(*row,) for row in ROW.findall(section)} - {("action", "change", "text")}


def todays(preset: str) -> Iterator[tuple[str, ...]]:
    """Yield the action, the change and the text of each mutant of today."""
    protocol = find(preset)
    settings = [(name, value) for name, _, value in (one.partition("=") for one in INSTANCES[preset])]
    with origins_recorded():
        made = mutants(protocol.instance(settings).written)
    yield from ((m.action, m.change, brief(m.text)) for m in made)


@pytest.mark.parametrize("preset", INSTANCES)
def test_the_page_is_of_the_actions_as_they_are_now(preset: str) -> None:
    """If this fails, an action has changed: run benchmarks/teeth.py again. Planted: a text that is gone."""
    text, now = PAGE.read_text(encoding="utf-8"), {*todays(preset)}
    listed = rows(text, preset)
    assert len(listed) > 10 and listed <= now
    action, change, written = min(listed)
    planted = text.replace(f"| {action} | {change} | `{written}`", f"| {action} | {change} | `gone`")
    assert not rows(planted, preset) <= now
