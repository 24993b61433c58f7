"""Past coverage rules: those of earlier releases and of one pull request, for E > WQ."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import z3

from fencepost.quorums.arithmetic import Formulas
from fencepost.quorums.coverage import AQ, VALID, WQ, E
from fencepost.quorums.questions import AtLeastOf, AtMost, SetQuestion, Sets, about_ensemble
from fencepost.quorums.smt import ProofObligation, obligation
from fencepost.quorums.stripes import (
    Configuration,
    covered_by_first_ack_quorum,
    covered_by_total,
    is_stranded,
)
from fencepost.quorums.windows import first_window_has


def first_ack_quorum_questions(formulas: Formulas, configuration: Configuration) -> Iterable[SetQuestion]:
    """Yield the question whether the rule of 4.3 can miss an ack quorum."""
    heads = (configuration.window(start, configuration.ack_quorum) for start in configuration.positions)
    yield about_ensemble(
        configuration,
        "one of the first AQ positions of every window has answered, yet an ack quorum has no answer",
        *(AtLeastOf(1, "heard", head) for head in heads),
        first_window_has(configuration, "silent"),
    )


def first_ack_quorum_breaks(formulas: Formulas, configuration: Configuration, sets: Sets) -> bool:
    """Return whether the rule of 4.3 accepts these answers although an ack quorum has none."""
    heard = sets["heard"]
    return covered_by_first_ack_quorum(configuration, heard) and is_stranded(configuration, heard)


def pr_2281_questions(formulas: Formulas, configuration: Configuration) -> Iterable[SetQuestion]:
    """Yield the question whether the rule of PR 2281 can miss an ack quorum."""
    needed = formulas.negative_answers(*configuration.sizes)
    yield about_ensemble(
        configuration,
        f"WQ - AQ + 1 = {needed} bookies have answered, yet an ack quorum has no answer",
        AtLeastOf(needed, "heard", configuration.positions),
        first_window_has(configuration, "silent"),
    )


def pr_2281_breaks(formulas: Formulas, configuration: Configuration, sets: Sets) -> bool:
    """Return whether the rule of PR 2281 accepts these answers although an ack quorum has none."""
    needed = formulas.negative_answers(*configuration.sizes)
    return covered_by_total(sets["heard"], needed) and is_stranded(configuration, sets["heard"])


def pr_2281_obligations(formulas: Formulas) -> list[ProofObligation]:
    """Return the proof obligations of `pr-2281-unsafe-iff-striped`."""
    heard_in, heard_out = z3.Ints("heard_in heard_out")
    fits = [heard_in >= 0, heard_in <= WQ, heard_out >= 0, heard_out <= E - WQ]
    total = heard_in + heard_out >= formulas.negative_answers(E, WQ, AQ)
    return [
        obligation(
            "pr-2281-unsafe-iff-striped.safe",
            "If E = WQ, WQ - AQ + 1 answers leave fewer than AQ bookies silent",
            [*VALID, E == WQ, *fits, total],
            WQ - heard_in < AQ,
        ),
        obligation(
            "pr-2281-unsafe-iff-striped.unsafe",
            "If E > WQ, answers of one bookie outside a window and of WQ - AQ inside satisfy the rule, and "
            "AQ are silent",
            [*VALID, E > WQ, heard_out == 1, heard_in == WQ - AQ],
            z3.And(*fits, total, WQ - heard_in >= AQ),
        ),
    ]


def pr_2281_striped_questions(formulas: Formulas, configuration: Configuration) -> Iterable[SetQuestion]:
    """Yield the questions of `pr-2281-unsafe-iff-striped` for one configuration.

    With E = WQ the rule must not fail. With E > WQ a given set must show that it fails.
    """
    if configuration.ensemble == configuration.write_quorum:
        yield from pr_2281_questions(formulas, configuration)
        return
    needed = formulas.negative_answers(*configuration.sizes)
    heard = (*configuration.window(0)[configuration.ack_quorum :], configuration.write_quorum)
    yield about_ensemble(
        configuration,
        "one bookie outside a window and WQ - AQ inside it do not satisfy the rule",
        *(AtLeastOf(1, "heard", (position,)) for position in heard),
        AtMost(min(len(heard), needed - 1), "heard", configuration.positions),
    )


def pr_2281_striped_breaks(formulas: Formulas, configuration: Configuration, sets: Sets) -> bool:
    """Return whether the rule can fail, found by trying all sets, differs from whether E > WQ."""
    needed = formulas.negative_answers(*configuration.sizes)
    fails = any(
        covered_by_total(heard, needed) and is_stranded(configuration, heard)
        for size in range(configuration.ensemble + 1)
        for heard in combinations(configuration.positions, size)
    )
    return fails != (configuration.ensemble > configuration.write_quorum)
