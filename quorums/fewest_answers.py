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

    Double counting over the windows gives the bound. Spreading the silent bookies evenly attains it.
    """
    return [*window_sum_obligations(), *bound_obligations(formulas), *spread_obligations(formulas)]


def window_sum_obligations() -> list[ProofObligation]:
    """Return the proof obligations about sums: the E windows hold WQ * u silent positions in all.

    c(i) is the number of silent positions before i on the unrolled ensemble, so c(i + E) = c(i) + u. T(k, m)
    is c(k) + ... + c(k + m - 1). S(k) is the sum of the first k windows, which hold c(i + WQ) - c(i) each.
    """
    integer = z3.IntSort()
    c, s = z3.Function("c", integer, integer), z3.Function("S", integer, integer)
    t = z3.Function("T", integer, integer, integer)
    k, m, u, b = z3.Ints("k m u b")

    def shifts(length: Number) -> Any:
        return t(k + 1, length) - t(k, length) == c(k + length) - c(k)

    window_sum = s(k + 1) == s(k) + c(k + WQ) - c(k)
    return [
        obligation(
            "fewest-answers.shift-base",
            "Shifting an empty sum by one position changes nothing",
            [t(k, 0) == 0, t(k + 1, 0) == 0],
            t(k + 1, 0) - t(k, 0) == c(k) - c(k),
        ),
        obligation(
            "fewest-answers.shift-step",
            "If a shift by one position changes the sum of m terms by c(k + m) - c(k), it does the same for "
            "m + 1 terms",
            [
                m >= 0,
                shifts(m),
                t(k, m + 1) == t(k, m) + c(k + m),
                t(k + 1, m + 1) == t(k + 1, m) + c(k + 1 + m),
            ],
            shifts(m + 1),
        ),
        obligation(
            "fewest-answers.windows-base",
            "No windows hold no silent positions",
            [s(0) == 0],
            s(0) == t(0, WQ) - t(0, WQ),
        ),
        obligation(
            "fewest-answers.windows-step",
            "If the first k windows hold T(k, WQ) - T(0, WQ), the first k + 1 hold T(k + 1, WQ) - T(0, WQ)",
            [k >= 0, WQ >= 1, s(k) == t(k, WQ) - t(0, WQ), shifts(WQ), window_sum],
            s(k + 1) == t(k + 1, WQ) - t(0, WQ),
        ),
        obligation(
            "fewest-answers.turn-base",
            "A shift by a whole turn does not change an empty sum",
            [t(E, 0) == 0, t(0, 0) == 0],
            t(E, 0) - t(0, 0) == 0 * u,
        ),
        obligation(
            "fewest-answers.turn-step",
            "If a shift by a whole turn changes m terms by m * u, it changes m + 1 terms by (m + 1) * u",
            [
                m >= 0,
                c(m + E) == c(m) + u,
                t(E, m) - t(0, m) == m * u,
                t(E, m + 1) == t(E, m) + c(E + m),
                t(0, m + 1) == t(0, m) + c(m),
            ],
            t(E, m + 1) - t(0, m + 1) == (m + 1) * u,
        ),
        obligation(
            "fewest-answers.bounded-step",
            "If the first k windows hold at most k * b and the next at most b, the first k + 1 hold at most "
            "(k + 1) * b",
            [k >= 0, s(k) <= k * b, window_sum, c(k + WQ) - c(k) <= b],
            s(k + 1) <= (k + 1) * b,
        ),
        obligation(
            "fewest-answers.total",
            "All E windows hold WQ * u, which is at most E * (AQ - 1) if each window is covered",
            [*VALID, s(E) == t(E, WQ) - t(0, WQ), t(E, WQ) - t(0, WQ) == WQ * u, s(E) <= E * (AQ - 1)],
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
