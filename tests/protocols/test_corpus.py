"""Other people's protocols: the verdict, the fewest steps and the number of states of each row."""

from __future__ import annotations

import corpus
import pytest

from fencepost.encoding.check import check
from fencepost.encoding.concrete.exploration import explore
from fencepost.encoding.engine.limits import Limits, Minimize
from support.bare import Bare

ROWS = [pytest.param(row, id=row.name, marks=[pytest.mark.long] if row.long else []) for row in corpus.rows()]
COUNTED = [
    pytest.param(row, id=row.name, marks=[pytest.mark.long] if row.long else [])
    for row in corpus.rows()
    if row.states is not None
]


@pytest.mark.parametrize("row", ROWS)
def test_the_verdict_and_the_fewest_steps(row: corpus.Row) -> None:
    system = row.system()
    assert not system.invariants or row.file.parent != corpus.FOLDER, "nothing is declared in the corpus"
    engines = (row.engine,) if row.engine else ()
    limits = Limits(
        jobs=1, timeout=1800, minimize=Minimize.STEPS, engines=engines, enumeration_first=not engines
    )
    properties = [prop for prop in system.properties if prop.name == row.property]
    (result,) = check(Bare(system), properties, limits).results
    assert result.verdict.value == row.expect
    if row.steps is not None:
        assert result.trace is not None
        assert len(result.trace.steps) == row.steps


@pytest.mark.parametrize("row", COUNTED)
def test_the_number_of_reachable_states(row: corpus.Row) -> None:
    assert sum(1 for _ in explore(row.system())) == row.states


def test_each_protocol_has_a_row_that_is_not_long() -> None:
    files = set(corpus.FOLDER.glob("*.py"))
    assert files <= {row.file for row in corpus.rows() if not row.long}


def test_a_misspelt_key_of_a_row_is_refused() -> None:
    with pytest.raises(TypeError, match="stats"):
        corpus.Row(**dict.fromkeys(("file", "original", "original_lines", "property", "expect", "stats")))  # type: ignore[arg-type]
