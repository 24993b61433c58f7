"""Lemmas about stripes: coverage with E > WQ, and past rules that were wrong about it.

With E > WQ an ack quorum lies within one window of WQ consecutive positions. The number of silent bookies in
one window is therefore what counts. If a lemma for all sizes needs more than arithmetic, docs/lemmas.md has
the argument, and the solver proves each step of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import z3

from fencepost.quorums import losses
from fencepost.quorums.arithmetic import Formulas
from fencepost.quorums.coverage import AQ, REDUCED, VALID, WQ, E, quorums_meet, set_script
from fencepost.quorums.fewest_answers import fewest_breaks, fewest_obligations, fewest_questions
from fencepost.quorums.lemmas import Lemma, LemmaVerdict
from fencepost.quorums.loss_sets import (
    few_entries_breaks,
    few_entries_questions,
    loss_breaks,
    loss_obligations,
    loss_questions,
    loss_sets,
)
from fencepost.quorums.past_rules import (
    first_ack_quorum_breaks,
    first_ack_quorum_questions,
    pr_2281_breaks,
    pr_2281_obligations,
    pr_2281_questions,
    pr_2281_striped_breaks,
    pr_2281_striped_questions,
)
from fencepost.quorums.questions import Apart, AtLeastOf, AtMost, SetQuestion, Sets, Within, about_ensemble
from fencepost.quorums.smt import ProofObligation, obligation
from fencepost.quorums.stripes import Configuration, covered_by_total, covered_by_windows, is_stranded
from fencepost.quorums.windows import every_window_covered, first_window_has

# EC by count and by windows


def count_covers_obligations(formulas: Formulas) -> list[ProofObligation]:
    """Return the proof obligation of `count-covers-windows`."""
    heard_in, silent_in, heard_out, silent_out = z3.Ints("heard_in silent_in heard_out silent_out")
    regions = (heard_in, silent_in, heard_out, silent_out)
    return [
        obligation(
            "count-covers-windows",
            "If EC = (E - AQ) + 1 bookies have answered, fewer than AQ of a window are silent",
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


def count_covers_sets(formulas: Formulas) -> list[ProofObligation]:
    """Return the proof obligation of `count-covers-windows` over finite sets."""
    needed = formulas.fencing_answers(E, WQ, AQ).sexpr()
    return [
        set_script(
            "count-covers-windows.sets",
            "If EC bookies of the ensemble have answered, fewer than AQ of a window are silent",
            "ensemble window heard",
            [
                "(= (set.card ensemble) E)",
                "(and (set.subset window ensemble) (= (set.card window) WQ))",
                f"(and (set.subset heard ensemble) (>= (set.card heard) {needed}))",
                "(>= (set.card (set.minus window heard)) AQ)",
            ],
        )
    ]


def count_covers_questions(formulas: Formulas, configuration: Configuration) -> Iterable[SetQuestion]:
    """Yield the question whether EC answers can leave a window uncovered."""
    needed = formulas.fencing_answers(*configuration.sizes)
    yield about_ensemble(
        configuration,
        f"EC = {needed} bookies have answered, yet a window has AQ silent ones",
        AtLeastOf(needed, "heard", configuration.positions),
        first_window_has(configuration, "silent"),
    )


def count_covers_breaks(formulas: Formulas, configuration: Configuration, sets: Sets) -> bool:
    """Return whether these answers are EC or more and leave an ack quorum without an answer."""
    needed = formulas.fencing_answers(*configuration.sizes)
    return covered_by_total(sets["heard"], needed) and is_stranded(configuration, sets["heard"])


def windows_spare_questions(formulas: Formulas, configuration: Configuration) -> Iterable[SetQuestion]:
    """Yield the question whether fewer than EC answers can cover every window."""
    needed = formulas.fencing_answers(*configuration.sizes)
    yield about_ensemble(
        configuration,
        f"every window is covered, yet fewer than EC = {needed} bookies have answered",
        *every_window_covered(configuration),
        AtMost(needed - 1, "heard", configuration.positions),
    )


def windows_spare_breaks(formulas: Formulas, configuration: Configuration, sets: Sets) -> bool:
    """Return whether these answers are fewer than EC and cover every window."""
    needed = formulas.fencing_answers(*configuration.sizes)
    return covered_by_windows(configuration, sets["heard"]) and not covered_by_total(sets["heard"], needed)


# Any two quorums meet


def meet_questions(formulas: Formulas, configuration: Configuration) -> Iterable[SetQuestion]:
    """Yield the question whether an ack quorum and QC answers can be disjoint."""
    write_set, aq = configuration.window(0), configuration.ack_quorum
    needed = formulas.negative_answers(*configuration.sizes)
    yield SetQuestion(
        configuration,
        f"an ack quorum and QC = {needed} bookies that answered have none in common",
        (
            Within("ack quorum", write_set),
            Within("answered", write_set),
            AtLeastOf(aq, "ack quorum", write_set),
            AtLeastOf(needed, "answered", write_set),
            Apart("ack quorum", "answered"),
        ),
    )


def meet_breaks(formulas: Formulas, configuration: Configuration, sets: Sets) -> bool:
    """Return whether these sets are a disjoint ack quorum and QC answers of one write set."""
    needed = formulas.negative_answers(*configuration.sizes)
    return (
        len(sets["ack quorum"]) >= configuration.ack_quorum
        and len(sets["answered"]) >= needed
        and not sets["ack quorum"] & sets["answered"]
        and sets["ack quorum"] | sets["answered"] <= set(configuration.window(0))
    )


def meet_sets(formulas: Formulas) -> list[ProofObligation]:
    """Return the proof obligation of `quorums-meet` over finite sets."""
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


def stripes_questions(formulas: Formulas, configuration: Configuration) -> Iterable[SetQuestion]:
    """Yield all questions about windows, on the windows of one configuration."""
    yield from count_covers_questions(formulas, configuration)
    yield from fewest_questions(formulas, configuration)
    yield from losses.losses_questions(formulas, configuration)
    yield from loss_questions(formulas, configuration)


def stripes_breaks(formulas: Formulas, configuration: Configuration, sets: Sets) -> bool:
    """Return whether these sets contradict one of the lemmas about windows."""
    if "heard" in sets:
        return count_covers_breaks(formulas, configuration, sets) or fewest_breaks(
            formulas, configuration, sets
        )
    return losses.losses_breaks(formulas, configuration, sets) or loss_breaks(formulas, configuration, sets)


def lemmas() -> Sequence[Lemma]:
    """Return the lemmas about windows, in reading order."""
    return [
        Lemma(
            "quorums-meet",
            "Any ack quorum and any QC bookies of the same write set have a bookie in common.",
            "for all A, C within a write set:  |A| >= AQ and |C| >= (WQ - AQ) + 1  =>  A meets C",
            LemmaVerdict.PROVED,
            meet_questions,
            meet_breaks,
            quorums_meet,
            meet_sets,
            REDUCED,
        ),
        Lemma(
            "count-covers-windows",
            "Any EC answers cover every window.",
            "|heard| >= (E - AQ) + 1  =>  every window of WQ positions has fewer than AQ silent",
            LemmaVerdict.PROVED,
            count_covers_questions,
            count_covers_breaks,
            count_covers_obligations,
            count_covers_sets,
            REDUCED,
        ),
        Lemma(
            "windows-need-the-count",
            "The converse is wrong: with E > WQ fewer than EC answers can cover every window.",
            "every window has fewer than AQ silent  =>  |heard| >= (E - AQ) + 1",
            LemmaVerdict.REFUTED,
            windows_spare_questions,
            windows_spare_breaks,
        ),
        Lemma(
            "fewest-answers",
            "The fewest answers that can cover every window are E - floor(E (AQ - 1) / WQ).",
            "min { |heard| : every window has fewer than AQ silent } = E - floor(E (AQ - 1) / WQ)",
            LemmaVerdict.PROVED,
            fewest_questions,
            fewest_breaks,
            fewest_obligations,
            argument="on paper: induction over the integers, and the ring as a counting function",
        ),
        Lemma(
            "loss-is-fencing",
            "With at least E entries, a loss of bookies can lose an acknowledged entry if and only if it "
            "blocks fencing.",
            "L >= E  =>  (some entry has an ack quorum within D  <=>  some window has at least AQ of D)",
            LemmaVerdict.PROVED,
            loss_questions,
            loss_breaks,
            loss_obligations,
            loss_sets,
            REDUCED,
        ),
        Lemma(
            "loss-is-fencing-few-entries",
            "With fewer than E entries the claim is wrong: a loss can block fencing although no entry is "
            "lost.",
            "L < E  =>  (some entry has an ack quorum within D  <=>  some window has at least AQ of D)",
            LemmaVerdict.REFUTED,
            few_entries_questions,
            few_entries_breaks,
        ),
        Lemma(
            "first-ack-quorum-rule",
            "The rule up to 4.3 is not enough: one answer from the first AQ positions of every window.",
            "every window has an answer among its first AQ positions  =>  every ack quorum has one "
            "(BOOKKEEPER-799)",
            LemmaVerdict.REFUTED,
            first_ack_quorum_questions,
            first_ack_quorum_breaks,
        ),
        Lemma(
            "pr-2281-rule",
            "The rule of PR #2281 is not enough: any WQ - AQ + 1 answers of the ensemble.",
            "|heard| >= (WQ - AQ) + 1  =>  every ack quorum has an answer",
            LemmaVerdict.REFUTED,
            pr_2281_questions,
            pr_2281_breaks,
        ),
        Lemma(
            "pr-2281-unsafe-iff-striped",
            "The rule of PR #2281 is unsafe if and only if E > WQ.",
            "some heard set with |heard| >= (WQ - AQ) + 1 misses an ack quorum  <=>  E > WQ",
            LemmaVerdict.PROVED,
            pr_2281_striped_questions,
            pr_2281_striped_breaks,
            pr_2281_obligations,
            argument=REDUCED,
        ),
        Lemma(
            "stripes-enumerated",
            "The lemmas about windows and losses hold on the windows of each configuration.",
            "count-covers-windows, fewest-answers, sure-losses and loss-is-fencing at each E/WQ/AQ",
            LemmaVerdict.HOLDS,
            stripes_questions,
            stripes_breaks,
        ),
    ]
