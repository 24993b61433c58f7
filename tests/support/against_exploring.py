"""The answers of engines about a random system, compared with plain exploring."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pytest

from fencepost.encoding.check import check
from fencepost.encoding.concrete.replay import NotAnExecution
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Fewest, Verdict
from fencepost.encoding.errors import ModelError
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.ic3.finder import find
from fencepost.encoding.language.system import System
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.solving.answers import SpentError
from support.bare import Bare
from support.varied import CONTRADICTED, Truth, by_ic3, by_rounds, explored, generate, inductive

PART = 1_000
"""Seeds of one long case: several workers share the seeds of a test."""


def seeds_of_each_tier(few: int, some: int, many: int) -> pytest.MarkDecorator:
    """Parametrize a test over seeds: a few in the quick case, more in the slow one, many in the long one."""
    cases = [
        pytest.param(range(few), id="few"),
        pytest.param(range(few, some), id="some", marks=pytest.mark.slow),
        *(
            pytest.param(range(first, min(first + PART, many)), id=f"from {first}", marks=pytest.mark.long)
            for first in range(some, many, PART)
        ),
    ]
    return pytest.mark.parametrize("seeds", cases)


def accepted(
    seeds: Iterable[int], make: Callable[[int], System] = generate
) -> Iterator[tuple[int, System, Truth]]:
    """Yield the systems of these seeds that are accepted and can be explored, with the truth about them."""
    for seed in seeds:
        try:
            system = make(seed)
            sent_at_most_once(system)
        except ModelError:
            continue
        truth = explored(system)
        if truth is not None:
            yield seed, system, truth


# The engines. Each function returns whether the engine contradicts the truth.


def proves_what_is_false(system: System, truth: Truth) -> bool:
    """Return whether induction over one action, with orbits, proves a false claim."""
    proved = inductive(system).proved
    return bool((proved and truth.badly_defined) or proved & truth.false.keys())


def rounds_differ(system: System, truth: Truth) -> bool:
    """Return whether rounds that cover every execution differ; a badly defined step is compared alone.

    A system whose rounds are too many, or take too many conflicts, is left out.
    """
    try:
        found = by_rounds(system)
    except SpentError:
        return False
    if truth.badly_defined or found.badly_defined:
        return truth.badly_defined is not found.badly_defined
    return (found.false.keys(), found.witnessed) != (truth.false.keys(), truth.witnessed)


def ic3_differs(system: System, truth: Truth, find: Callable[..., Iterator[object]] = find) -> bool:
    """Return whether IC3 differs; after a badly defined step only that step is compared.

    `find` may be another search.
    """
    try:
        violated, proved, badly_defined = by_ic3(system, find)
    except NotAnExecution:
        return True
    except ModelError:
        return False
    names = {p.name for p in system.properties} | {i.name for i in system.invariants}
    if truth.badly_defined or badly_defined:
        return not (truth.badly_defined and (badly_defined or violated == names))
    return (violated, proved) != (set(truth.false), names - truth.false.keys())


def verdict_differs(system: System, truth: Truth, *engines: str) -> bool:
    """Return whether the verdict of `check` differs.

    A badly defined step is an error of the model, unless a violation is found before it. IC3 alone does not
    look for fewer steps.
    """
    try:
        limits = Limits(jobs=1, engines=engines)
        (result,) = check(Bare(system, Subject("varied", {}, {})), system.properties, limits).results
    except ModelError as error:
        return not truth.badly_defined and CONTRADICTED not in str(error)
    if truth.badly_defined:
        return result.verdict is not Verdict.VIOLATED
    if "p" in truth.false:
        if engines == ("ic3",):
            return result.verdict is not Verdict.VIOLATED or (result.steps or 0) < truth.false["p"]
        fewest = result.verdict, result.steps, result.fewest
        return fewest != (Verdict.VIOLATED, truth.false["p"], Fewest.OF_ALL)
    return result.verdict is not (Verdict.PROVED if truth.witnessed else Verdict.VACUOUS)
