"""Lemmas about losses, slow bookies, racks, and bookies that forget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import z3

from fencepost.quorums.arithmetic import Formulas
from fencepost.quorums.coverage import AQ, REDUCED, VALID, WQ, E
from fencepost.quorums.lemmas import Lemma, LemmaVerdict
from fencepost.quorums.set_claims import LOST, SetClaim, bits, every_window_covered
from fencepost.quorums.smt import ProofObligation, obligation
from fencepost.quorums.stripes import Configuration

# Losses, slack, racks


def losses_obligations(formulas: Formulas) -> list[ProofObligation]:
    """Return the proof obligations of `sure-losses`."""
    inside, outside = z3.Ints("inside outside")
    given = [*VALID, inside >= 0, inside <= WQ, outside >= 0, outside <= E - WQ]
    return [
        obligation(
            "sure-losses.enough",
            "If any AQ - 1 bookies are lost, every window has fewer than AQ lost ones",
            [*given, inside + outside <= formulas.sure_losses(E, WQ, AQ)],
            inside < AQ,
        ),
        obligation(
            "sure-losses.most",
            "One more lost bookie, all in one window, makes an ack quorum",
            [*VALID, inside == formulas.sure_losses(E, WQ, AQ) + 1],
            z3.And(inside >= AQ, inside >= 0, inside <= WQ),
        ),
    ]


def losses_claims(formulas: Formulas, configuration: Configuration) -> Iterable[SetClaim]:
    """Yield the claims of `sure-losses` for one configuration."""
    most, covered = formulas.sure_losses(*configuration.sizes), every_window_covered(configuration)
    neighbours = bits(configuration.window(0, most + 1))
    yield SetClaim(
        f"{most} lost bookies are an ack quorum of some entry",
        lambda lost: lost.bit_count() <= most and not covered(lost),
        configuration.positions,
        LOST,
    )
    yield SetClaim(
        f"{most + 1} lost bookies, next to each other, leave their window covered",
        lambda lost: lost == neighbours and covered(lost),
        configuration.positions,
        LOST,
    )


def slack_obligations(formulas: Formulas) -> list[ProofObligation]:
    """Return the proof obligation of `slack`."""
    silent = z3.Int("silent")
    return [
        obligation(
            "slack",
            "An add completes if and only if at most WQ - AQ bookies of its write set are silent",
            [*VALID, silent >= 0, silent <= WQ],
            (WQ - silent >= AQ) == (silent <= formulas.slack(E, WQ, AQ)),
        )
    ]


def racks_obligations(formulas: Formulas) -> list[ProofObligation]:
    """Return the proof obligations of `racks`."""
    inside, racks = z3.Ints("inside racks")
    sufficient = formulas.sufficient_racks(E, WQ, AQ)
    return [
        obligation(
            "racks.enough",
            "If a window spans WQ - AQ + 2 racks and one rack is lost, each other rack keeps a bookie, so "
            "fewer than AQ are lost",
            [*VALID, racks >= sufficient, inside >= 0, inside <= WQ, WQ - inside >= racks - 1],
            inside < AQ,
        ),
        obligation(
            "racks.fewest",
            "With one rack less, and one bookie in each rack but the last, losing the last rack loses AQ "
            "bookies",
            [*VALID, racks == sufficient - 1, inside == WQ - (racks - 1)],
            z3.And(inside >= AQ, racks >= 1, inside >= 1, inside <= WQ),
        ),
    ]


# Bookies that forget


def forgetting_obligations(formulas: Formulas) -> list[ProofObligation]:
    """Return the proof obligations of `forgetting`."""
    holders, forgot, fenced = z3.Ints("holders forgot fenced")
    return [
        obligation(
            "forgotten-entries",
            "QC bookies can answer NoSuchEntry if and only if more than holders - AQ of the `holders` forget "
            "the entry",
            [*VALID, holders >= AQ, holders <= WQ, forgot >= 0, forgot <= holders],
            (WQ - holders + forgot >= formulas.negative_answers(E, WQ, AQ))
            == (forgot > formulas.forgetful_holders(holders, AQ)),
        ),
        obligation(
            "forgotten-fences",
            "An ack quorum can be unfenced if and only if more than fenced - EC of the `fenced` bookies "
            "forget the fence",
            [
                *VALID,
                fenced <= E,
                fenced >= formulas.fencing_answers(E, WQ, AQ),
                forgot >= 0,
                forgot <= fenced,
            ],
            (E - fenced + forgot >= AQ) == (forgot > formulas.forgetful_fences(fenced, E, AQ)),
        ),
    ]


def lemmas() -> Sequence[Lemma]:
    """Return the lemmas about losses, slack, racks and forgetting, in reading order."""
    return [
        Lemma(
            "sure-losses",
            "Any AQ - 1 bookies can be lost without harm. AQ bookies within one window cannot.",
            "|D| <= AQ - 1  =>  every window has fewer than AQ of D; and AQ - 1 is the most",
            LemmaVerdict.PROVED,
            losses_obligations,
            argument=REDUCED,
        ),
        Lemma(
            "slack",
            "An add completes if and only if at most WQ - AQ bookies of its write set are silent.",
            "WQ - |silent| >= AQ  <=>  |silent| <= WQ - AQ",
            LemmaVerdict.PROVED,
            slack_obligations,
            argument=REDUCED,
        ),
        Lemma(
            "racks",
            "WQ - AQ + 2 racks in every write set are the fewest with which the loss of any rack does no "
            "harm.",
            "every window spans m racks, m >= WQ - AQ + 2  =>  no rack holds AQ of a window; false for one "
            "fewer",
            LemmaVerdict.PROVED,
            racks_obligations,
            argument=REDUCED,
        ),
        Lemma(
            "forgetting",
            "Of h bookies with an entry, h - AQ may forget it. Of f fenced bookies, f - EC may forget the "
            "fence.",
            "QC NoSuchEntry possible <=> forgot > h - AQ;  AQ unfenced possible <=> forgot > f - EC",
            LemmaVerdict.PROVED,
            forgetting_obligations,
            argument=REDUCED,
        ),
    ]
