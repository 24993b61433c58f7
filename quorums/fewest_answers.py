"""The lemma `fewest-answers`: a solver proves each step. docs/lemmas.md has the argument."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import z3

from fencepost.quorums.arithmetic import Formulas, Number
from fencepost.quorums.coverage import AQ, VALID, WQ, E
from fencepost.quorums.set_claims import SetClaim, bits, every_window_covered
from fencepost.quorums.smt import ProofObligation, obligation
from fencepost.quorums.stripes import Configuration


def fewest_obligations(formulas: Formulas) -> list[ProofObligation]:
    """Return the proof obligations of `fewest-answers`.

    E windows that follow each other give the bound. Spreading the silent bookies evenly attains it.
    """
    return [*window_sum_obligations(), *bound_obligations(formulas), *spread_obligations(formulas)]


def window_sum_obligations() -> list[ProofObligation]:
    """Return the proof obligations about E windows that follow each other: they hold WQ * u silent positions.

    c(i) is the number of silent positions before i on the unrolled ensemble, so c(i + E) = c(i) + u. The E
    windows end at E * WQ, after WQ turns. `before_window(k)` is c(k * WQ), `before_turn(m)` is c(m * E).
    """
    integer = z3.IntSort()
    c, window, turn = (z3.Function(n, integer, integer) for n in ("c", "before_window", "before_turn"))
    k, m, u, b = z3.Ints("k m u b")
    return [
        obligation(
            "fewest-answers.windows-base",
            "No silent position is before the first window or the first turn",
            [c(0) == 0, window(0) == c(0 * WQ), turn(0) == c(0 * E)],
            z3.And(window(0) <= 0 * b, turn(0) == 0 * u),
        ),
        obligation(
            "fewest-answers.windows-step",
            "If k windows that follow each other hold at most k * b and the next at most b, k + 1 hold at "
            "most (k + 1) * b",
            [k >= 0, window(k) <= k * b, window(k + 1) - window(k) <= b],
            window(k + 1) <= (k + 1) * b,
        ),
        obligation(
            "fewest-answers.turns-step",
            "If m turns hold m * u and each turn holds u, m + 1 turns hold (m + 1) * u",
            [m >= 0, turn(m) == m * u, turn(m + 1) == turn(m) + u],
            turn(m + 1) == (m + 1) * u,
        ),
        obligation(
            "fewest-answers.total",
            "E windows are WQ turns and hold WQ * u, which is at most E * (AQ - 1) if each is covered",
            [
                *VALID,
                window(E) == c(E * WQ),
                turn(WQ) == c(WQ * E),
                window(E) <= E * (AQ - 1),
                turn(WQ) == WQ * u,
            ],
            WQ * u <= E * (AQ - 1),
        ),
    ]


def bound_obligations(formulas: Formulas) -> list[ProofObligation]:
    """Return the proof obligation that fewer answers never suffice."""
    u = z3.Int("u")
    return [
        obligation(
            "fewest-answers.bound",
            "If every window is covered, at least E - floor(E (AQ - 1) / WQ) bookies have answered",
            [*VALID, u >= 0, u <= E, WQ * u <= E * (AQ - 1)],
            E - u >= formulas.fewest_answers(E, WQ, AQ),
        )
    ]


def spread_obligations(formulas: Formulas) -> list[ProofObligation]:
    """Return the proof obligations about an even spread: the bound is attained.

    Bookie i is silent if and only if c(i + 1) > c(i), where c(i) = floor(i * u / E).
    """
    u, i, low, low_rest, high, high_rest = z3.Ints("u i low low_rest high high_rest")
    silent = E - formulas.fewest_answers(E, WQ, AQ)

    def is_floor(quotient: Number, rest: Number, numerator: Number) -> list[Any]:
        return [numerator == E * quotient + rest, rest >= 0, rest < E]

    return [
        obligation(
            "fewest-answers.spread-count",
            "u = floor(E (AQ - 1) / WQ) silent bookies are between none and all, and WQ * u <= E (AQ - 1)",
            [*VALID, u == silent],
            z3.And(u >= 0, u <= E, WQ * u <= E * (AQ - 1)),
        ),
        obligation(
            "fewest-answers.spread-step",
            "Of 0 <= u <= E silent bookies each position takes more than -1 and fewer than 2, times E",
            [E >= 1, u >= 0, u <= E, *is_floor(low, low_rest, i * u), *is_floor(high, high_rest, i * u + u)],
            z3.And(E * (low - high - 1) < 0, E * (high - low - 2) < 0),
        ),
        obligation(
            "fewest-answers.spread-turn",
            "A whole turn takes fewer than u + 1 and more than u - 1 of them, times E",
            [E >= 1, *is_floor(low, low_rest, i * u), *is_floor(high, high_rest, i * u + E * u)],
            z3.And(E * (high - low - u - 1) < 0, E * (u - high + low - 1) < 0),
        ),
        obligation(
            "fewest-answers.spread-window",
            "A window takes fewer than AQ of them, times E",
            [
                *VALID,
                WQ * u <= E * (AQ - 1),
                *is_floor(low, low_rest, i * u),
                *is_floor(high, high_rest, i * u + WQ * u),
            ],
            E * (high - low - AQ) < 0,
        ),
        obligation(
            "fewest-answers.spread-cancel",
            "A number that is negative times E is negative, so each of the three holds without the factor E",
            [E >= 1, E * low < 0],
            low < 0,
        ),
    ]


def fewest_claims(formulas: Formulas, configuration: Configuration) -> Iterable[SetClaim]:
    """Yield two claims: fewer answers never suffice, and those of an even spread do."""
    fewest, everyone = formulas.fewest_answers(*configuration.sizes), configuration.positions
    covered, most = every_window_covered(configuration), configuration.ensemble - fewest
    spread = bits(evenly_spread(configuration.ensemble, most))
    yield SetClaim(
        f"every window is covered although fewer than {fewest} bookies have answered",
        lambda silent: covered(silent) and silent.bit_count() > most,
        everyone,
    )
    yield SetClaim(
        f"{fewest} bookies have answered and the silent ones are spread evenly, yet a window is uncovered",
        lambda silent: silent == spread and not covered(silent),
        everyone,
    )


def evenly_spread(ensemble: int, members: int) -> frozenset[int]:
    """Return `members` positions of which any two windows hold the same number, up to one."""
    return frozenset(i for i in range(ensemble) if (i + 1) * members // ensemble > i * members // ensemble)
