"""The same instance gives the same clauses, whatever this process did before and whatever order Python's sets have."""

from __future__ import annotations

from pathlib import Path

import pytest

from fencepost.encoding.formulas.commutation import Commutation
from fencepost.encoding.formulas.commutation_cache import Cache
from fencepost.encoding.formulas.one_round import template
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.formulas.templates import Template
from support.instances import TWO_BOOKIES, built
from support.processes import printed

PROGRAM = """
import hashlib, runpy
made = runpy.run_path({file!r})["made"]
print(hashlib.sha256(repr(made()).encode()).hexdigest())
"""
"""What another process prints of the instance: a digest of everything in the template."""


def made(cache: Cache | None = None) -> Template:
    """One round of 2/2/2; without a cache every pair is put to the solver, which makes many terms first."""
    system, _ = built("bookkeeper-4.13", TWO_BOOKIES)
    symbolic = Symbolic(system)
    blockers = Commutation(symbolic, cache or Cache(None)).blockers()
    return template(symbolic, blockers, {p.name: p.holds for p in system.properties})


def test_what_the_process_did_before_makes_no_difference(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    first = made(cache)
    asked_again, from_cache = made(), made(cache)
    assert first.clauses == asked_again.clauses == from_cache.clauses
    assert first == asked_again == from_cache


@pytest.mark.slow
def test_the_order_of_sets_makes_no_difference() -> None:
    assert len(printed(PROGRAM.format(file=__file__))) == 1
