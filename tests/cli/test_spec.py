"""`fencepost export NAME`: the actions of an instance as text, and the page that is kept."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fencepost.cli.main import run
from fencepost.encoding.forms.action_spec import Spec, spec
from fencepost.encoding.forms.spelled_terms import grouped
from fencepost.encoding.language.fold import Folding, constants
from fencepost.encoding.language.protocol import load
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import FALSE
from fencepost.encoding.mutation.mutants import changed, is_idle, mutants, named_actions
from fencepost.properties.catalogue import find

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "generated" / "spec-4.18.0.md"
KEPT = ["bookkeeper", "--release", "4.18.0", "--set", "entries=2", "--set", "fragments=3"]
EXAMPLES = [ROOT / "examples" / name for name in ("lease_lock.py", "two_phase_commit.py")]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the text that `export` prints."""
    assert run(["export", *arguments]) == 0
    return capsys.readouterr().out


@cache
def kept() -> System:
    """Return the system of the page that is kept."""
    return find("bookkeeper").instance([("entries", "2"), ("fragments", "3")], "4.18.0").written


def test_the_page_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """If this fails, the model has changed. Read the difference, then write the page anew.

    fencepost export bookkeeper --release 4.18.0 --set entries=2 --set fragments=3
    """
    assert PAGE.read_text(encoding="utf-8") == printed(capsys, *KEPT)


def test_a_conjunct_that_is_left_out_changes_the_specification() -> None:
    # Planted: push without its second conjunct, by which an entry gets no ensemble of the future.
    system = kept()
    (mutant,) = (m for m in mutants(system) if str(m) == "push, conjunct 2 of 5")
    before, after = (_guard(spec(one), "push") for one in (system, changed(system, mutant)))
    assert [text for text in before if text not in after] == ["fragment <= own_last_fragment[w]"]


def _guard(found: Spec, name: str) -> list[str]:
    return [conjunct.text for action in found.actions if action.name == name for conjunct in action.guard]


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_every_change_of_an_action_shows(file: Path) -> None:
    """Each conjunct is left out and each update is skipped, as `fencepost weaken` does."""
    system = load(file).instance().written
    whole = spec(system)
    folding, named = Folding(constants(system)), named_actions(system)
    made = [m for m in mutants(system) if not is_idle(folding, named[m.action], m)]
    assert len(made) > 5
    assert not [str(mutant) for mutant in made if spec(changed(system, mutant)) == whole]


def test_the_text_has_all_that_the_document_has(capsys: pytest.CaptureFixture[str]) -> None:
    text = "".join(printed(capsys, "bookkeeper-4.13").split())
    document = json.loads(printed(capsys, "bookkeeper-4.13", "--format", "json"))
    told = [*_strings(document["actions"]), *_strings(document["definitions"]), *document["impossible"]]
    assert len(told) > 300
    assert not [one for one in told if "".join(one.split()) not in text]


def _strings(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    for item in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _strings(item)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["bookkeeper", "--what", "witness"], "--what: not with a specification; leave it out"),
        (["bookkeeper", "--property", "no-divergence"], "--property: not with a specification"),
        (["bookkeeper", "--format", "csv"], "--format csv: a protocol has no such form; valid: text, json"),
    ],
)
def test_options_without_sense_are_refused_in_one_line(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert told in err


def _mark(value: object, hint: str = "") -> str:
    return f"\0{hint}\1{value}\2"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # All combinations, and the value follows the index.
        ([(f"a[{_mark(i, 'i')}, {_mark(j, 'j')}]", f"b[{_mark(j)}]") for i in (1, 2) for j in (3, 4)],
         [(("i in 1, 2", "j in 3, 4"), ("a[i, j]", "b[j]"))]),
        # Planted: one combination is missing.
        ([(f"a[{_mark(i, 'i')}, {_mark(j, 'j')}]", "x") for i, j in ((1, 3), (1, 4), (2, 3))],
         [((), (f"a[{i}, {j}]", "x")) for i, j in ((1, 3), (1, 4), (2, 3))]),
        # Planted: the value does not follow the index.
        ([(f"a[{_mark(i, 'i')}]", f"b[{_mark(3 - i + i % 2)}]") for i in (1, 2, 3)],
         [((), (f"a[{i}]", f"b[{3 - i + i % 2}]")) for i in (1, 2, 3)]),
        # The name of the index is taken.
        ([(f"a[{_mark(i, 'i')}]", "i") for i in (1, 2)], [(("i2 in 1, 2",), ("a[i2]", "i"))]),
        # A constant that is equal everywhere stays.
        ([(f"a[{_mark(i, 'i')}]", f"x + {_mark(1)}") for i in (1, 2)], [(("i in 1, 2",), ("a[i]", "x + 1"))]),
    ],
)  # fmt: skip
def test_rows_are_grouped_only_if_they_differ_in_their_indices(
    rows: list[tuple[str, ...]], expected: list[tuple[tuple[str, ...], tuple[str, ...]]]
) -> None:
    assert [tuple(row) for row in grouped(rows)] == expected


def test_an_update_of_the_page_stands_for_the_updates_of_the_model() -> None:
    """Groups and actions of two index sets count as many times as the model has them."""
    told = sum(
        math.prod(map(_amount, update.each)) * max(map(len, action.parameters.values()), default=1)
        for action in spec(kept()).actions
        for update in action.updates
    )
    schemas = find("bookkeeper").fold(kept()).schemas
    assert told == sum(len(schema.action.then) for schema in schemas if schema.action.when is not FALSE)
    assert told > 150


def _amount(each: str) -> int:
    return len(each.partition(" in ")[2].split(", "))


NO_CODE = {"fall silent", "crash in first add"}
"""Faults, which no method of the code stands for."""


@pytest.mark.parametrize("release", [None, "4.18.0", "4.13.0"])
def test_each_action_of_bookkeeper_names_its_methods(release: str | None) -> None:
    found = spec(find("bookkeeper").instance([("bookies", "4")], release).written)
    assert [a.name for a in found.actions if a.name not in NO_CODE and not a.code] == []
    assert all(re.fullmatch(r"[A-Z]\w+\.[a-z]\w+", place) for a in found.actions for place in a.code)


SOURCE = os.environ.get("FENCEPOST_BOOKKEEPER_SOURCE", "")
"""A clone of BookKeeper's public source with its tags."""


@pytest.mark.skipif(not SOURCE, reason="FENCEPOST_BOOKKEEPER_SOURCE names no clone of BookKeeper's source")
def test_the_methods_are_in_the_code_of_the_release() -> None:
    """Planted: PendingAddOp.writeCompleted, which is no method."""
    places = {place for action in spec(kept()).actions for place in action.code}
    assert [place for place in sorted({*places, "PendingAddOp.writeCompleted"}) if not _is_there(place)] == [
        "PendingAddOp.writeCompleted"
    ]


def _is_there(place: str) -> bool:
    name, _, method = place.partition(".")
    text = ["git", "-C", SOURCE, "grep", "-qE", rf"\b{method}\("]
    return not subprocess.run(
        [*text, "release-4.18.0", "--", f"*/main/*/{name}.java"], check=False
    ).returncode
