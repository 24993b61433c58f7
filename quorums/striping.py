"""Lemmas about stripes: coverage with E > WQ, and past rules that were wrong about it.

With E > WQ an ack quorum lies within one window of WQ consecutive positions. The number of silent bookies in
one window is therefore what counts. If a lemma for all sizes needs more than arithmetic, docs/lemmas.md has
the argument, and the solver proves each step of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import z3

from fencepost.quorums.arithmetic import Formulas
from fencepost.quorums.coverage import AQ, REDUCED, VALID, WQ, E, quorums_meet
from fencepost.quorums.fewest_answers import fewest_claims, fewest_obligations
from fencepost.quorums.lemmas import Lemma, LemmaVerdict
from fencepost.quorums.losses import (
    few_entries_claims,
    loss_claims,
    loss_obligations,
    losses_claims,
)
from fencepost.quorums.set_claims import SetClaim, every_window_covered, fewer_than
from fencepost.quorums.smt import ProofObligation, obligation
from fencepost.quorums.stripes import Configuration

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


def count_covers_claims(formulas: Formulas, configuration: Configuration) -> Iterable[SetClaim]:
    """Yield the claim that EC answers leave no window uncovered."""
    needed = formulas.fencing_answers(*configuration.sizes)
    said = f"EC = {needed} bookies have answered, yet a window has AQ silent ones"
    yield _enough(configuration, said, needed)


def _enough(configuration: Configuration, sentence: str, needed: int) -> SetClaim:
    """Return the claim that any `needed` answers cover every window."""
    covered, most = every_window_covered(configuration), configuration.ensemble - needed
    return SetClaim(
        sentence, lambda silent: silent.bit_count() <= most and not covered(silent), configuration.positions
    )


def windows_spare_claims(formulas: Formulas, configuration: Configuration) -> Iterable[SetClaim]:
    """Yield the claim that fewer than EC answers do not cover every window."""
    needed = formulas.fencing_answers(*configuration.sizes)
    covered, most = every_window_covered(configuration), configuration.ensemble - needed
    yield SetClaim(
        f"every window is covered, yet fewer than EC = {needed} bookies have answered",
        lambda silent: covered(silent) and silent.bit_count() > most,
        configuration.positions,
    )


# Past rules: those of earlier releases and of one pull request, for E > WQ.


def first_ack_quorum_claims(formulas: Formulas, configuration: Configuration) -> Iterable[SetClaim]:
    """Yield the claim that the rule of 4.3 misses no ack quorum."""
    covered, aq = every_window_covered(configuration), configuration.ack_quorum
    heads = fewer_than(aq, (configuration.window(start, aq) for start in configuration.positions))
    yield SetClaim(
        "one of the first AQ positions of every window has answered, yet an ack quorum has no answer",
        lambda silent: heads(silent) and not covered(silent),
        configuration.positions,
    )


def pr_2281_claims(formulas: Formulas, configuration: Configuration) -> Iterable[SetClaim]:
    """Yield the claim that the rule of PR 2281 misses no ack quorum."""
    needed = formulas.negative_answers(*configuration.sizes)
    said = f"WQ - AQ + 1 = {needed} bookies have answered, yet an ack quorum has no answer"
    yield _enough(configuration, said, needed)


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


# All of them


def stripes_claims(formulas: Formulas, configuration: Configuration) -> Iterable[SetClaim]:
    """Yield all claims about windows, on the windows of one configuration."""
    for claims in (count_covers_claims, fewest_claims, losses_claims, loss_claims):
        yield from claims(formulas, configuration)


def lemmas() -> Sequence[Lemma]:
    """Return the lemmas about windows, in reading order."""
    return [
        Lemma(
            "quorums-meet",
            "Any ack quorum and any QC bookies of the same write set have a bookie in common.",
            "for all A, C within a write set:  |A| >= AQ and |C| >= (WQ - AQ) + 1  =>  A meets C",
            LemmaVerdict.PROVED,
            quorums_meet,
            argument=REDUCED,
        ),
        Lemma(
            "count-covers-windows",
            "Any EC answers cover every window.",
            "|heard| >= (E - AQ) + 1  =>  every window of WQ positions has fewer than AQ silent",
            LemmaVerdict.PROVED,
            count_covers_obligations,
            argument=REDUCED,
        ),
        Lemma(
            "windows-need-the-count",
            "The converse is wrong: with E > WQ fewer than EC answers can cover every window.",
            "every window has fewer than AQ silent  =>  |heard| >= (E - AQ) + 1",
            LemmaVerdict.REFUTED,
            claims=windows_spare_claims,
        ),
        Lemma(
            "fewest-answers",
            "The fewest answers that can cover every window are E - floor(E (AQ - 1) / WQ).",
            "min { |heard| : every window has fewer than AQ silent } = E - floor(E (AQ - 1) / WQ)",
            LemmaVerdict.PROVED,
            fewest_obligations,
            argument="on paper: induction over the integers, and the ring as a counting function",
        ),
        Lemma(
            "loss-is-fencing",
            "With at least E entries, a loss of bookies can lose an acknowledged entry if and only if it "
            "blocks fencing.",
            "L >= E  =>  (some entry has an ack quorum within D  <=>  some window has at least AQ of D)",
            LemmaVerdict.PROVED,
            loss_obligations,
            argument=REDUCED,
        ),
        Lemma(
            "loss-is-fencing-few-entries",
            "With fewer than E entries the claim is wrong: a loss can block fencing although no entry is "
            "lost.",
            "L < E  =>  (some entry has an ack quorum within D  <=>  some window has at least AQ of D)",
            LemmaVerdict.REFUTED,
            claims=few_entries_claims,
        ),
        Lemma(
            "first-ack-quorum-rule",
            "The rule up to 4.3 is not enough: one answer from the first AQ positions of every window.",
            "every window has an answer among its first AQ positions  =>  every ack quorum has one "
            "(BOOKKEEPER-799)",
            LemmaVerdict.REFUTED,
            claims=first_ack_quorum_claims,
        ),
        Lemma(
            "pr-2281-rule",
            "The rule of PR #2281 is not enough: any WQ - AQ + 1 answers of the ensemble.",
            "|heard| >= (WQ - AQ) + 1  =>  every ack quorum has an answer",
            LemmaVerdict.REFUTED,
            claims=pr_2281_claims,
        ),
        Lemma(
            "pr-2281-unsafe-iff-striped",
            "The rule of PR #2281 is unsafe if and only if E > WQ.",
            "some heard set with |heard| >= (WQ - AQ) + 1 misses an ack quorum  <=>  E > WQ",
            LemmaVerdict.PROVED,
            pr_2281_obligations,
            argument=REDUCED,
        ),
        Lemma(
            "stripes-enumerated",
            "The lemmas about windows and losses hold on the windows of each configuration.",
            "count-covers-windows, fewest-answers, sure-losses and loss-is-fencing at each E/WQ/AQ",
            LemmaVerdict.HOLDS,
            claims=stripes_claims,
        ),
    ]
