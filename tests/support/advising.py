"""Advice for tests: the smallest setup, on a release with a race that loses one of its entries."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from fencepost.answers.advice import Advice
from fencepost.answers.advice_search import advice_on
from fencepost.answers.asked_setup import asked_setup


def begun() -> Iterator[Advice]:
    """Yield advice on 1/1/1 and one bookie of 4.17.3, with bare-fence accepted; other losses decide."""
    first = asked_setup(1, 1, 1, 1, release="4.17.3", storage="sorted", accept=["bare-fence"])
    return advice_on(first, lambda: 270.0, fresh=True)


@cache
def smallest() -> Advice:
    """Return the same advice when the search is over."""
    *_, advice = begun()
    return advice
