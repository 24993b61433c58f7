"""The same instance gives the same clauses in every process and with every order of Python's sets."""

from __future__ import annotations

import pytest

from fencepost.encoding.formulas.commutation import Commutation
from fencepost.encoding.formulas.one_round import template
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.formulas.templates import RoundTemplate
from support.instances import TWO_BOOKIES, built
from support.processes import printed

PROGRAM = """
import hashlib, runpy
made = runpy.run_path({file!r})["made"]
print(hashlib.sha256(repr(made()).encode()).hexdigest())
"""
"""The program of another process that prints a digest of everything in the template."""


def made() -> RoundTemplate:
    """Return one round of 2/2/2. The solver answers every pair, which makes many terms."""
    system, _ = built("bookkeeper-4.13", TWO_BOOKIES)
    symbolic = Symbolic(system)
    blockers = Commutation(symbolic).blockers()
    return template(symbolic, blockers, {p.name: p.holds for p in system.properties})


def test_what_the_process_did_before_makes_no_difference() -> None:
    first, again = made(), made()
    assert first.clauses == again.clauses
    assert first == again


@pytest.mark.slow
def test_the_order_of_sets_makes_no_difference() -> None:
    assert len(printed(PROGRAM.format(file=__file__))) == 1
