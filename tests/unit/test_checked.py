"""The manifest of the searches that prove the conditions of losses, against the conditions and the models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from fencepost.advice.checked import (
    CAN,
    CANNOT,
    OTHER,
    LossCell,
    cells,
    differences,
    finished,
    read_manifest,
    search_of,
    shipped,
    sizes,
    written,
)
from fencepost.advice.losses import LOSSES, Loss, possible
from fencepost.advice.setups import SIZES, Setup
from fencepost.encoding.errors import BadInput
from fencepost.quorums.stripes import Configuration
from fencepost.sweeps.advice_cases import ask, case_of, digest_of
from fencepost.sweeps.grid import plan
from fencepost.sweeps.rows import COLUMNS
from fencepost.sweeps.solve import Allowance, solve

IN_MANIFEST = {place[1:3] for place in shipped()}


SIZES_SEARCHED = [size for size in sizes() if (str(size[0]), str(size[1])) in IN_MANIFEST]
"""The sizes that the manifest has, the smallest first."""


def cell(name: str, configuration: Configuration, bookies: int) -> LossCell:
    return next(one for one in cells(configuration, bookies) if one.name == name)


ONE = Configuration(1, 1, 1)


def test_every_condition_agrees_with_its_search() -> None:
    """Planted: in the next test."""
    asked = [one for size in SIZES_SEARCHED for one in cells(*size)]
    assert differences(asked, shipped()) == []
    assert {one.place for one in asked} >= set(shipped())
    done = finished(shipped())
    of_done = [one for one in asked if one.place[1:3] in done]
    assert [one.place for one in of_done if one.place not in shipped()] == []
    assert {CAN, CANNOT} <= {line.verdict for line in shipped().values()}


def without_a_size() -> Iterator[tuple[Loss, str]]:
    """Yield each row of a model with one condition on sizes that it needs."""
    for loss in LOSSES:
        if loss.bug:
            yield from ((loss, word) for word in sorted(loss.needs & SIZES.keys()))


@pytest.mark.parametrize("everywhere", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize(("loss", "word"), list(without_a_size()), ids=lambda one: getattr(one, "name", one))
def test_a_condition_on_sizes_that_is_left_out_is_noticed(loss: Loss, word: str, everywhere: bool) -> None:
    """Planted: each condition on sizes is left out of its row in turn.

    No size shows a difference in another row. The shorter cases end at the first size that shows one.
    """
    planted = [replace(one, needs=one.needs - {word}) if one is loss else one for one in LOSSES]
    found: list[str] = []
    for size in SIZES_SEARCHED:
        if everywhere or not found:
            found += differences(cells(*size, planted), shipped())
    assert found and all(text.startswith(f"{loss.name} ") for text in found)


@pytest.mark.parametrize("name", ["#4651", "bare-fence", "lost-session", "failed-flush", OTHER])
def test_the_models_are_those_that_were_searched(name: str) -> None:
    asked = cell(name, ONE, 1)
    assert digest_of(asked) == shipped()[asked.place].digest


def test_another_model_has_another_digest() -> None:
    """Planted: the instance has an entry more."""
    asked = cell("#4651", ONE, 2)
    more = replace(asked.question, settings={**asked.question.settings, "entries": "3"})
    assert digest_of(replace(asked, question=more)) != shipped()[asked.place].digest


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "bookies"), [("#4701", 1), ("lost-session", 1), ("reused-collector", 1), ("stale-ensemble", 2)]
)
def test_a_sample_is_answered_again_as_the_manifest_says(name: str, bookies: int) -> None:
    asked = cell(name, ONE, bookies)
    row, line = ask(case_of(asked), 300.0), shipped()[asked.place]
    assert row["verdict"] == line.verdict, (
        "a counterexample need not be the shortest, so its steps may differ"
    )
    assert line.verdict == asked.expected


OLD, NEW = ("writer_close", "any-not-closed"), ("writer_close", "any-or-same-end")


@pytest.mark.long
def test_a_writer_that_finds_the_ledger_closed_at_its_lac_changes_no_answer() -> None:
    """The manifest was made without this step. Its cells have the same answers with it."""
    asked = [(one, case_of(one)) for one in cells(ONE, 1)]
    asked = [(one, case) for one, case in asked if OLD in case.settings]
    assert len(asked) > 10
    for one, case in asked:
        with_step = replace(case, settings=tuple(NEW if pair == OLD else pair for pair in case.settings))
        assert ask(with_step, 600.0)["verdict"] == shipped()[one.place].verdict, one.place


def test_a_sweep_asks_each_cell_once_and_its_rows_have_all_columns() -> None:
    made = plan({"grid": [{"advice": 1}]})
    assert len(made.cases) == sum(len(cells(ONE, bookies)) for bookies in (1, 2))
    asked = case_of(cell("reused-collector", ONE, 1))
    assert asked in made.cases
    row = solve(asked, "engine", Allowance())
    assert {*row} == {column.name for column in COLUMNS} and row["verdict"] == CAN


def test_advice_says_which_losses_were_found_by_search() -> None:
    small = Setup(ONE, 1, "4.18.0")
    assert search_of(small, possible(small)).startswith("Found by search at these sizes, ")
    large = Setup(Configuration(7, 5, 3), 20, "4.18.0")
    said = search_of(large, possible(large))
    assert said.startswith("The conditions were checked by search at ")
    most = max(int(bookies) for _, bookies in IN_MANIFEST)
    assert said.endswith(f" in part, up to N = {most}; at yours they are the rule.")


def test_a_manifest_is_written_as_it_was_read() -> None:
    assert read_manifest(written(shipped())) == shipped()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#4701 1/1/1 1 sorted on 4.17.3 surely 12 4f7edcf2def2", "line 1: is not a cell"),
        ("#4701 1/1/1 sorted on 4.17.3 violated 12 4f7edcf2def2", "line 1: is not a cell"),
        ("#4701 1/1/1 1 sorted on 4.17.3 violated 12 4f7e\n" * 2, "line 2: .* stands there twice"),
    ],
)
def test_a_line_that_is_not_right_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_manifest(text)
