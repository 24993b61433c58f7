"""Stripes: what E > WQ does to coverage, and the rules that were wrong about it.

With E > WQ an ack quorum lies within one window of WQ consecutive positions, so what matters is how many silent bookies
one window holds. Where a lemma for all sizes needs more than arithmetic, docs/lemmas.md has the argument and the solver
proves each step of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import z3

from fencepost.quorums import losses
from fencepost.quorums.arithmetic import Formulas, Number
from fencepost.quorums.coverage import AQ, REDUCED, VALID, WQ, E, quorums_meet, set_script
from fencepost.quorums.lemmas import Lemma, Verdict
from fencepost.quorums.questions import (
    LOST,
    Apart,
    AtLeast,
    AtMost,
    Constraint,
    Question,
    Sets,
    Within,
    about_ensemble,
)
from fencepost.quorums.smt import Obligation, obligation
from fencepost.quorums.stripes import (
    Configuration,
    can_be_fenced,
    can_lose,
    covered_by_first_ack_quorum,
    covered_by_total,
    covered_by_windows,
    is_stranded,
)


def every_window_covered(configuration: Configuration) -> tuple[Constraint, ...]:
    aq = configuration.ack_quorum
    return tuple(AtMost(aq - 1, "silent", window) for window in configuration.windows())


def first_window_has(configuration: Configuration, of: str) -> Constraint:
    """The first window has an ack quorum of the set; it stands for all where positions are otherwise treated alike."""
    return AtLeast(configuration.ack_quorum, of, configuration.window(0))


# EC by count, and by windows


def count_covers_obligations(formulas: Formulas) -> list[Obligation]:
    heard_in, silent_in, heard_out, silent_out = z3.Ints("heard_in silent_in heard_out silent_out")
    regions = (heard_in, silent_in, heard_out, silent_out)
    return [
        obligation(
            "count-covers-windows",
            "A window and EC = (E - AQ) + 1 heard bookies: fewer than AQ of the window are silent",
            [
                *VALID,
                *(region >= 0 for region in regions),
                heard_in + silent_in == WQ,
                heard_out + silent_out == E - WQ,
                heard_in + heard_out >= formulas.fencing_answers(E, WQ, AQ),
            ],
            silent_in < AQ,
        )
    ]


def count_covers_sets(formulas: Formulas) -> list[Obligation]:
    needed = formulas.fencing_answers(E, WQ, AQ).sexpr()
    return [
        set_script(
            "count-covers-windows.sets",
            "EC heard bookies of the ensemble, and a window of it: fewer than AQ of the window are silent",
            "ensemble window heard",
            [
                "(= (set.card ensemble) E)",
                "(and (set.subset window ensemble) (= (set.card window) WQ))",
                f"(and (set.subset heard ensemble) (>= (set.card heard) {needed}))",
                "(>= (set.card (set.minus window heard)) AQ)",
            ],
        )
    ]


def count_covers_questions(formulas: Formulas, configuration: Configuration) -> Iterable[Question]:
    needed = formulas.fencing_answers(*configuration.sizes)
    yield about_ensemble(
        configuration,
        f"EC = {needed} bookies were heard, yet a window has AQ silent ones",
        AtLeast(needed, "heard", configuration.positions),
        first_window_has(configuration, "silent"),
    )


def count_covers_breaks(formulas: Formulas, configuration: Configuration, sets: Sets) -> bool:
    needed = formulas.fencing_answers(*configuration.sizes)
    return covered_by_total(sets["heard"], needed) and is_stranded(configuration, sets["heard"])


def windows_spare_questions(formulas: Formulas, configuration: Configuration) -> Iterable[Question]:
    needed = formulas.fencing_answers(*configuration.sizes)
    yield about_ensemble(
        configuration,
        f"every window is covered, yet fewer than EC = {needed} bookies were heard",
        *every_window_covered(configuration),
        AtMost(needed - 1, "heard", configuration.positions),
    )


def windows_spare_breaks(formulas: Formulas, configuration: Configuration, sets: Sets) -> bool:
    needed = formulas.fencing_answers(*configuration.sizes)
    return covered_by_windows(configuration, sets["heard"]) and not covered_by_total(sets["heard"], needed)


# The fewest answers that can suffice


def fewest_obligations(formulas: Formulas) -> list[Obligation]:
    """Double counting over the windows gives the bound; spreading the silent evenly attains it."""
    return [*window_sum_obligations(), *bound_obligations(formulas), *spread_obligations(formulas)]


def window_sum_obligations() -> list[Obligation]:
    """c(i): silent positions before i on the ensemble unrolled, so c(i + E) = c(i) + u. The E windows hold WQ * u in all.

    T(k, m) = c(k) + ... + c(k + m - 1), and S(k) is the sum of the first k windows, c(i + WQ) - c(i) each.
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
            "If shifting m terms by one position changes their sum by c(k + m) - c(k), so it does m + 1 terms",
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
            "No windows hold nothing",
            [s(0) == 0],
            s(0) == t(0, WQ) - t(0, WQ),
        ),
        obligation(
            "fewest-answers.windows-step",
            "If the first k windows hold T(k, WQ) - T(0, WQ), so do the first k + 1",
            [k >= 0, WQ >= 1, s(k) == t(k, WQ) - t(0, WQ), shifts(WQ), window_sum],
            s(k + 1) == t(k + 1, WQ) - t(0, WQ),
        ),
        obligation(
            "fewest-answers.turn-base",
            "No terms, shifted by a whole turn, change by nothing",
            [t(E, 0) == 0, t(0, 0) == 0],
            t(E, 0) - t(0, 0) == 0 * u,
        ),
        obligation(
            "fewest-answers.turn-step",
            "If m terms, shifted by a whole turn, change by m * u, so do m + 1 terms by (m + 1) * u",
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
            "If the first k windows hold at most k * b and the next at most b, the first k + 1 hold at most (k + 1) * b",
            [k >= 0, s(k) <= k * b, window_sum, c(k + WQ) - c(k) <= b],
            s(k + 1) <= (k + 1) * b,
        ),
        obligation(
            "fewest-answers.total",
            "So all E windows hold WQ * u, which is at most E * (AQ - 1) if each is covered",
            [
                *VALID,
                s(E) == t(E, WQ) - t(0, WQ),
                t(E, WQ) - t(0, WQ) == WQ * u,
                s(E) <= E * (AQ - 1),
            ],
            WQ * u <= E * (AQ - 1),
        ),
    ]


def bound_obligations(formulas: Formulas) -> list[Obligation]:
    u = z3.Int("u")
    return [
        obligation(
            "fewest-answers.bound",
            "With every window covered, at least E - floor(E (AQ - 1) / WQ) bookies were heard",
            [*VALID, u >= 0, u <= E, WQ * u <= E * (AQ - 1)],
            E - u >= formulas.fewest_answers(E, WQ, AQ),
        )
    ]


def spread_obligations(formulas: Formulas) -> list[Obligation]:
    """Bookie i is silent exactly if c(i + 1) > c(i), where c(i) = floor(i * u / E)."""
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
            "Whatever is negative times E is negative, so each of the three holds without the E",
            [E >= 1, E * low < 0],
            low < 0,
        ),
    ]


def fewest_questions(formulas: Formulas, configuration: Configuration) -> Iterable[Question]:
    """Fewer answers never suffice; that many sometimes do, which is asked as: does even spreading fail?"""
    fewest = formulas.fewest_answers(*configuration.sizes)
    yield about_ensemble(
        configuration,
        f"every window is covered with fewer than {fewest} bookies heard",
        *every_window_covered(configuration),
        AtMost(fewest - 1, "heard", configuration.positions),
    )
    silent = evenly_spread(configuration.ensemble, configuration.ensemble - fewest)
    yield about_ensemble(
        configuration,
        f"with {fewest} bookies heard and the silent spread evenly, a window is uncovered",
        *(AtLeast(1, "silent", (position,)) for position in sorted(silent)),
        AtMost(len(silent), "silent", configuration.positions),
        AtLeast(1, "uncovered", configuration.positions),
        *(
            AtMost(configuration.ensemble if len(silent & set(window)) >= configuration.ack_quorum else 0,
                   "uncovered", (start,))
            for start, window in enumerate(configuration.windows())
        ),
    )  # fmt: skip


def evenly_spread(ensemble: int, members: int) -> frozenset[int]:
    """`members` positions, so that any window holds as few or as many as any other, up to one."""
    return frozenset(i for i in range(ensemble) if (i + 1) * members // ensemble > i * members // ensemble)


def fewest_breaks(formulas: Formulas, configuration: Configuration, sets: Sets) -> bool:
    """By trying all sets of heard bookies: the fewest that cover differ from the formula."""
    enough = (
        size
        for size in range(configuration.ensemble + 1)
        for heard in combinations(configuration.positions, size)
        if not is_stranded(configuration, heard)
    )
    return bool(next(enough) != formulas.fewest_answers(*configuration.sizes))


# Losing data and losing recovery


def loss_obligations(formulas: Formulas) -> list[Obligation]:
    first, quotient, rest, start, entry = z3.Ints("first quotient rest start entry")
    lost, kept, acks_lost, acks_kept = z3.Ints("lost kept acks_lost acks_kept")
    split = z3.If(start >= rest, first + start - rest, first + start - rest + E)
    turns = z3.If(start >= rest, quotient, quotient + 1)
    all_acks_lost = z3.Exists(
        [acks_lost, acks_kept],
        z3.And(
            acks_lost >= 0,
            acks_lost <= lost,
            acks_kept >= 0,
            acks_kept <= kept,
            acks_lost + acks_kept >= AQ,
            acks_kept == 0,
        ),
    )
    return [
        obligation(
            "loss-is-fencing.every-window-used",
            "Among any E consecutive entries there is one whose write set starts at a given position",
            [
                E >= 1,
                first == E * quotient + rest,
                rest >= 0,
                rest < E,
                start >= 0,
                start < E,
                entry == split,
            ],
            z3.And(first <= entry, entry < first + E, entry == E * turns + start),
        ),
        obligation(
            "loss-is-fencing.per-window",
            "Some ack quorum of a write set is lost whole exactly if the window has at least AQ lost bookies",
            [*VALID, lost >= 0, kept >= 0, lost + kept == WQ],
            all_acks_lost == (lost >= AQ),
        ),
    ]


def loss_sets(formulas: Formulas) -> list[Obligation]:
    given = [
        "(= (set.card window) WQ)",
        "(= lost_here (set.inter window lost))",
    ]
    quorum = "(and (set.subset acks window) (>= (set.card acks) AQ) (set.subset acks lost))"
    return [
        set_script(
            "loss-is-fencing.sets.lost-then-blocked",
            "An ack quorum lost whole, then the window has AQ lost bookies",
            "window lost lost_here acks",
            [*given, quorum, "(< (set.card lost_here) AQ)"],
        ),
        set_script(
            "loss-is-fencing.sets.blocked-then-lost",
            "A window with AQ lost bookies, then these are an ack quorum lost whole",
            "window lost lost_here acks",
            [*given, "(>= (set.card lost_here) AQ)", "(= acks lost_here)", f"(not {quorum})"],
        ),
    ]


def loss_questions(formulas: Formulas, configuration: Configuration) -> Iterable[Question]:
    """With E entries the write sets are the windows: lost entries and blocked fencing, each without the other."""
    entries = configuration.ensemble
    write_sets = {frozenset(configuration.write_set(entry)) for entry in range(1, entries + 1)}
    kept = [AtMost(configuration.ack_quorum - 1, "lost", tuple(sorted(w))) for w in write_sets]
    fenced = [AtMost(configuration.ack_quorum - 1, "lost", w) for w in configuration.windows()]
    last = configuration.windows()[-1]
    blocked = AtLeast(configuration.ack_quorum, "lost", last)
    gone = AtLeast(configuration.ack_quorum, "lost", configuration.write_set(entries))
    yield about_ensemble(
        configuration, "no entry is lost, yet fencing is blocked", *kept, blocked, parts=LOST
    )
    yield about_ensemble(
        configuration, "the last entry is lost, yet the ledger can be fenced", *fenced, gone, parts=LOST
    )


def few_entries_questions(formulas: Formulas, configuration: Configuration) -> Iterable[Question]:
    """With fewer entries some window is no entry's write set."""
    aq = configuration.ack_quorum
    for entries in range(1, configuration.ensemble):
        write_sets = [configuration.write_set(entry) for entry in range(1, entries + 1)]
        for window in configuration.windows():
            yield about_ensemble(
                configuration,
                f"a fragment of entries 1 to {entries}, none of them lost, yet fencing is blocked",
                AtLeast(aq, "lost", window),
                *(AtMost(aq - 1, "lost", write_set) for write_set in write_sets),
                parts=LOST,
            )


def loss_breaks(formulas: Formulas, configuration: Configuration, sets: Sets) -> bool:
    lost = sets["lost"]
    return can_be_fenced(configuration, lost) == can_lose(configuration, configuration.ensemble, lost)


def few_entries_breaks(formulas: Formulas, configuration: Configuration, sets: Sets) -> bool:
    lost = sets["lost"]
    return any(
        can_be_fenced(configuration, lost) == can_lose(configuration, entries, lost)
        for entries in range(1, configuration.ensemble)
    )


# Rules of the past


def first_ack_quorum_questions(formulas: Formulas, configuration: Configuration) -> Iterable[Question]:
    heads = (configuration.window(start, configuration.ack_quorum) for start in configuration.positions)
    yield about_ensemble(
        configuration,
        "one of the first AQ positions of every window was heard, yet an ack quorum was not",
        *(AtLeast(1, "heard", head) for head in heads),
        first_window_has(configuration, "silent"),
    )


def first_ack_quorum_breaks(formulas: Formulas, configuration: Configuration, sets: Sets) -> bool:
    heard = sets["heard"]
    return covered_by_first_ack_quorum(configuration, heard) and is_stranded(configuration, heard)


def pr_2281_questions(formulas: Formulas, configuration: Configuration) -> Iterable[Question]:
    needed = formulas.negative_answers(*configuration.sizes)
    yield about_ensemble(
        configuration,
        f"WQ - AQ + 1 = {needed} bookies were heard, yet an ack quorum was not",
        AtLeast(needed, "heard", configuration.positions),
        first_window_has(configuration, "silent"),
    )


def pr_2281_breaks(formulas: Formulas, configuration: Configuration, sets: Sets) -> bool:
    needed = formulas.negative_answers(*configuration.sizes)
    return covered_by_total(sets["heard"], needed) and is_stranded(configuration, sets["heard"])


def pr_2281_obligations(formulas: Formulas) -> list[Obligation]:
    heard_in, heard_out = z3.Ints("heard_in heard_out")
    fits = [heard_in >= 0, heard_in <= WQ, heard_out >= 0, heard_out <= E - WQ]
    total = heard_in + heard_out >= formulas.negative_answers(E, WQ, AQ)
    return [
        obligation(
            "pr-2281-unsafe-iff-striped.safe",
            "With E = WQ, WQ - AQ + 1 heard bookies leave fewer than AQ silent",
            [*VALID, E == WQ, *fits, total],
            WQ - heard_in < AQ,
        ),
        obligation(
            "pr-2281-unsafe-iff-striped.unsafe",
            "With E > WQ, hear one bookie outside a window and WQ - AQ inside: the rule is content, AQ are silent",
            [*VALID, E > WQ, heard_out == 1, heard_in == WQ - AQ],
            z3.And(*fits, total, WQ - heard_in >= AQ),
        ),
    ]


def pr_2281_striped_questions(formulas: Formulas, configuration: Configuration) -> Iterable[Question]:
    """With E = WQ the rule must not fail; with E > WQ the set that shows it failing must be one."""
    if configuration.ensemble == configuration.write_quorum:
        yield from pr_2281_questions(formulas, configuration)
        return
    needed = formulas.negative_answers(*configuration.sizes)
    heard = (*configuration.window(0)[configuration.ack_quorum :], configuration.write_quorum)
    yield about_ensemble(
        configuration,
        "one bookie outside a window and WQ - AQ inside it do not satisfy the rule",
        *(AtLeast(1, "heard", (position,)) for position in heard),
        AtMost(min(len(heard), needed - 1), "heard", configuration.positions),
    )


def pr_2281_striped_breaks(formulas: Formulas, configuration: Configuration, sets: Sets) -> bool:
    """By trying all sets: whether the rule can fail here differs from whether E > WQ."""
    needed = formulas.negative_answers(*configuration.sizes)
    fails = any(
        covered_by_total(heard, needed) and is_stranded(configuration, heard)
        for size in range(configuration.ensemble + 1)
        for heard in combinations(configuration.positions, size)
    )
    return fails != (configuration.ensemble > configuration.write_quorum)


# Any two quorums meet


def meet_questions(formulas: Formulas, configuration: Configuration) -> Iterable[Question]:
    write_set, aq = configuration.window(0), configuration.ack_quorum
    needed = formulas.negative_answers(*configuration.sizes)
    yield Question(
        configuration,
        f"an ack quorum and QC = {needed} bookies that answered have none in common",
        (
            Within("ack quorum", write_set),
            Within("answered", write_set),
            AtLeast(aq, "ack quorum", write_set),
            AtLeast(needed, "answered", write_set),
            Apart("ack quorum", "answered"),
        ),
    )


def meet_breaks(formulas: Formulas, configuration: Configuration, sets: Sets) -> bool:
    needed = formulas.negative_answers(*configuration.sizes)
    return (
        len(sets["ack quorum"]) >= configuration.ack_quorum
        and len(sets["answered"]) >= needed
        and not sets["ack quorum"] & sets["answered"]
        and sets["ack quorum"] | sets["answered"] <= set(configuration.window(0))
    )


def meet_sets(formulas: Formulas) -> list[Obligation]:
    needed = formulas.negative_answers(E, WQ, AQ).sexpr()
    return [
        set_script(
            "quorums-meet.sets",
            "An ack quorum and QC bookies of one write set have a bookie in common",
            "write_set quorum answered",
            [
                "(= (set.card write_set) WQ)",
                "(and (set.subset quorum write_set) (set.subset answered write_set))",
                f"(and (>= (set.card quorum) AQ) (>= (set.card answered) {needed}))",
                "(= (set.inter quorum answered) (as set.empty (Set Bookie)))",
            ],
        )
    ]


def stripes_questions(formulas: Formulas, configuration: Configuration) -> Iterable[Question]:
    """All that is said of windows, on the actual windows of one configuration."""
    yield from count_covers_questions(formulas, configuration)
    yield from fewest_questions(formulas, configuration)
    yield from losses.losses_questions(formulas, configuration)
    yield from loss_questions(formulas, configuration)


def stripes_breaks(formulas: Formulas, configuration: Configuration, sets: Sets) -> bool:
    if "heard" in sets:
        return count_covers_breaks(formulas, configuration, sets) or fewest_breaks(
            formulas, configuration, sets
        )
    return losses.losses_breaks(formulas, configuration, sets) or loss_breaks(formulas, configuration, sets)


def lemmas() -> Sequence[Lemma]:
    """The lemmas about windows, in reading order."""
    return [
        Lemma(
            "quorums-meet",
            "Any ack quorum and any QC bookies of the same write set have a bookie in common.",
            "for all A, C within a write set:  |A| >= AQ and |C| >= (WQ - AQ) + 1  =>  A meets C",
            Verdict.PROVED,
            meet_questions,
            meet_breaks,
            quorums_meet,
            meet_sets,
            REDUCED,
        ),
        Lemma(
            "count-covers-windows",
            "EC answers, wherever they come from, cover every window.",
            "|heard| >= (E - AQ) + 1  =>  every window of WQ positions has fewer than AQ silent",
            Verdict.PROVED,
            count_covers_questions,
            count_covers_breaks,
            count_covers_obligations,
            count_covers_sets,
            REDUCED,
        ),
        Lemma(
            "windows-need-the-count",
            "The converse is wrong: with E > WQ every window can be covered by fewer than EC answers.",
            "every window has fewer than AQ silent  =>  |heard| >= (E - AQ) + 1",
            Verdict.REFUTED,
            windows_spare_questions,
            windows_spare_breaks,
        ),
        Lemma(
            "fewest-answers",
            "The fewest answers that can cover every window are E - floor(E (AQ - 1) / WQ).",
            "min { |heard| : every window has fewer than AQ silent } = E - floor(E (AQ - 1) / WQ)",
            Verdict.PROVED,
            fewest_questions,
            fewest_breaks,
            fewest_obligations,
            argument="induction over the integers, and the ring read as a counting function, by argument (docs/lemmas.md)",
        ),
        Lemma(
            "loss-is-fencing",
            "With at least E entries, bookies whose loss can lose an acknowledged entry are those whose loss blocks fencing.",
            "L >= E  =>  (some entry has an ack quorum within D  <=>  some window has at least AQ of D)",
            Verdict.PROVED,
            loss_questions,
            loss_breaks,
            loss_obligations,
            loss_sets,
            REDUCED,
        ),
        Lemma(
            "loss-is-fencing-few-entries",
            "With fewer than E entries it is wrong: all entries can be there and the ledger impossible to fence.",
            "L < E  =>  (some entry has an ack quorum within D  <=>  some window has at least AQ of D)",
            Verdict.REFUTED,
            few_entries_questions,
            few_entries_breaks,
        ),
        Lemma(
            "first-ack-quorum-rule",
            "The rule of 4.3 and before, one answer from the first AQ positions of every window, is not enough.",
            "every window has an answer among its first AQ positions  =>  every ack quorum has one (BOOKKEEPER-799)",
            Verdict.REFUTED,
            first_ack_quorum_questions,
            first_ack_quorum_breaks,
        ),
        Lemma(
            "pr-2281-rule",
            "The rule of PR #2281, WQ - AQ + 1 answers from anywhere in the ensemble, is not enough.",
            "|heard| >= (WQ - AQ) + 1  =>  every ack quorum has an answer",
            Verdict.REFUTED,
            pr_2281_questions,
            pr_2281_breaks,
        ),
        Lemma(
            "pr-2281-unsafe-iff-striped",
            "The rule of PR #2281 is unsafe exactly when E > WQ.",
            "some heard set with |heard| >= (WQ - AQ) + 1 misses an ack quorum  <=>  E > WQ",
            Verdict.PROVED,
            pr_2281_striped_questions,
            pr_2281_striped_breaks,
            pr_2281_obligations,
            argument=REDUCED,
        ),
        Lemma(
            "stripes-enumerated",
            "The lemmas about windows and losses, on the windows themselves.",
            "count-covers-windows, fewest-answers, sure-losses and loss-is-fencing at each E/WQ/AQ",
            Verdict.HOLDS,
            stripes_questions,
            stripes_breaks,
        ),
    ]
