"""Lemmas about losses, slow bookies, racks, and bookies that forget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import z3

from fencepost.quorums.arithmetic import Formulas
from fencepost.quorums.coverage import AQ, REDUCED, VALID, WQ, E
from fencepost.quorums.lemmas import Lemma, LemmaVerdict
from fencepost.quorums.set_claims import LOST, Bits, SetClaim, bits, every_window_covered, fewer_than
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


# Losses with stripes: the same losses lose data and block fencing


def loss_obligations(formulas: Formulas) -> list[ProofObligation]:
    """Return the proof obligations of `loss-is-fencing`."""
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
            "Among any E consecutive entries, the write set of one starts at a given position",
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
            "A whole ack quorum of a write set is lost if and only if the window has at least AQ lost "
            "bookies",
            [*VALID, lost >= 0, kept >= 0, lost + kept == WQ],
            all_acks_lost == (lost >= AQ),
        ),
    ]


def loss_claims(formulas: Formulas, configuration: Configuration) -> Iterable[SetClaim]:
    """Yield two claims: an entry is lost only if fencing is blocked, and the other way round.

    With E entries the write sets are exactly the windows.
    """
    kept, fenced = _keeping(configuration, configuration.ensemble), every_window_covered(configuration)
    yield SetClaim(
        "no entry is lost, yet fencing is blocked",
        lambda lost: kept(lost) and not fenced(lost),
        configuration.positions,
        LOST,
    )
    yield SetClaim(
        "an entry is lost, yet the ledger can be fenced",
        lambda lost: fenced(lost) and not kept(lost),
        configuration.positions,
        LOST,
    )


def few_entries_claims(formulas: Formulas, configuration: Configuration) -> Iterable[SetClaim]:
    """Yield claims about fewer than E entries: some window is then no entry's write set."""
    fenced = every_window_covered(configuration)
    for entries in range(1, configuration.ensemble):
        kept = _keeping(configuration, entries)
        yield SetClaim(
            f"a fragment of entries 1 to {entries}, none of them lost, yet fencing is blocked",
            lambda lost, kept=kept: kept(lost) and not fenced(lost),  # type: ignore[misc]
            configuration.positions,
            LOST,
        )


def _keeping(configuration: Configuration, entries: int) -> Callable[[Bits], bool]:
    """Return the test whether no write set of the first entries has lost a whole ack quorum."""
    write_sets = [configuration.write_set(entry) for entry in range(1, entries + 1)]
    return fewer_than(configuration.ack_quorum, write_sets)


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
