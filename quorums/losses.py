"""Lemmas about losses, slow bookies, racks, and bookies that forget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import z3

from fencepost.quorums.arithmetic import Formulas
from fencepost.quorums.coverage import AQ, REDUCED, VALID, WQ, E
from fencepost.quorums.lemmas import Lemma, LemmaVerdict
from fencepost.quorums.questions import (
    LOST,
    AtLeastOf,
    AtMost,
    SetQuestion,
    Sets,
    Union,
    about_ensemble,
    exactly,
    partition,
)
from fencepost.quorums.smt import ProofObligation, obligation
from fencepost.quorums.stripes import Configuration, can_be_fenced

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


def losses_questions(formulas: Formulas, configuration: Configuration) -> Iterable[SetQuestion]:
    """Yield the questions of `sure-losses` for one configuration."""
    most = formulas.sure_losses(*configuration.sizes)
    aq = configuration.ack_quorum
    yield about_ensemble(
        configuration,
        f"{most} lost bookies are an ack quorum of some entry",
        AtMost(most, "lost", configuration.positions),
        AtLeastOf(aq, "lost", configuration.window(0)),
        parts=LOST,
    )
    yield about_ensemble(
        configuration,
        f"{most + 1} lost bookies, next to each other, leave their window covered",
        AtLeastOf(most + 1, "lost", configuration.window(0)),
        AtMost(aq - 1, "lost", configuration.window(0)),
        parts=LOST,
    )


def losses_breaks(formulas: Formulas, configuration: Configuration, sets: Sets) -> bool:
    """Return whether the most harmless losses, found by trying all sets, differ from the formula."""
    harmless = [
        size
        for size in range(configuration.ensemble + 1)
        if all(
            can_be_fenced(configuration, frozenset(lost))
            for lost in combinations(configuration.positions, size)
        )
    ]
    return bool(max(harmless) != formulas.sure_losses(*configuration.sizes))


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


ACKS = ("acks", "silent")


def slack_questions(formulas: Formulas, configuration: Configuration) -> Iterable[SetQuestion]:
    """Yield the questions of `slack` for one configuration."""
    write_set, aq = configuration.window(0), configuration.ack_quorum
    slack = formulas.slack(*configuration.sizes)
    split = partition(write_set, ACKS)
    few, many = AtMost(slack, "silent", write_set), AtLeastOf(slack + 1, "silent", write_set)
    short, enough = AtMost(aq - 1, "acks", write_set), AtLeastOf(aq, "acks", write_set)
    yield SetQuestion(configuration, f"at most {slack} silent, yet no ack quorum", (*split, few, short))
    yield SetQuestion(configuration, f"more than {slack} silent, yet an ack quorum", (*split, many, enough))


def slack_breaks(formulas: Formulas, configuration: Configuration, sets: Sets) -> bool:
    """Return whether these sets contradict `slack`."""
    completes = len(sets["acks"]) >= configuration.ack_quorum
    return bool(completes != (len(sets["silent"]) <= formulas.slack(*configuration.sizes)))


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


def racks_questions(formulas: Formulas, configuration: Configuration) -> Iterable[SetQuestion]:
    """Yield the questions of `racks` for one write set, split into the lost rack and the other racks."""
    write_set, aq = configuration.window(0), configuration.ack_quorum
    racks = formulas.sufficient_racks(*configuration.sizes)
    split = partition(write_set, LOST)
    yield SetQuestion(
        configuration,
        f"a write set over {racks} racks loses one of them, and with it an ack quorum",
        (*split, AtLeastOf(racks - 1, "up", write_set), AtLeastOf(aq, "lost", write_set)),
    )
    yield SetQuestion(
        configuration,
        f"a write set over {racks - 1} racks, crowded into one, loses it, but no ack quorum",
        (*split, AtMost(max(0, racks - 2), "up", write_set), AtMost(aq - 1, "lost", write_set)),
    )


def racks_breaks(formulas: Formulas, configuration: Configuration, sets: Sets) -> bool:
    """Return whether the fewest sufficient racks, found by trying, differ from the formula."""
    wq, aq = configuration.write_quorum, configuration.ack_quorum
    enough = [racks for racks in range(1, wq + 2) if wq - (racks - 1) < aq]
    return bool(min(enough) != formulas.sufficient_racks(*configuration.sizes))


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


REMEMBER = ("remember", "forgot", "never had it")


def forgetting_questions(formulas: Formulas, configuration: Configuration) -> Iterable[SetQuestion]:
    """Yield the questions of `forgetting` for one configuration."""
    e, wq, aq = configuration.sizes
    qc, ec = formulas.negative_answers(e, wq, aq), formulas.fencing_answers(e, wq, aq)
    write_set = configuration.window(0)
    for holders in range(aq, wq + 1):
        bound = formulas.forgetful_holders(holders, aq)
        yield from _forgetting(
            configuration, write_set, holders, bound, qc, f"{holders} bookies had the entry, QC = {qc}"
        )
    for fenced in range(max(0, ec), e + 1):
        bound = formulas.forgetful_fences(fenced, e, aq)
        yield from _forgetting(
            configuration,
            configuration.positions,
            fenced,
            bound,
            aq,
            f"{fenced} bookies were fenced, AQ = {aq}",
        )


def _forgetting(
    configuration: Configuration, cohort: tuple[int, ...], had: int, bound: int, enough: int, said: str
) -> Iterable[SetQuestion]:
    common = (
        *partition(cohort, REMEMBER),
        Union("say no", ("forgot", "never had it")),
        *exactly(len(cohort) - had, "never had it", cohort),
    )
    few, many = AtMost(bound, "forgot", cohort), AtLeastOf(bound + 1, "forgot", cohort)
    yield SetQuestion(
        configuration,
        f"{said}: at most {bound} forgot, yet {enough} can say no",
        (*common, few, AtLeastOf(enough, "say no", cohort)),
    )
    yield SetQuestion(
        configuration,
        f"{said}: more than {bound} forgot, yet {enough} cannot say no",
        (*common, many, AtMost(enough - 1, "say no", cohort)),
    )


def forgetting_breaks(formulas: Formulas, configuration: Configuration, sets: Sets) -> bool:
    """Return whether these sets contradict `forgetting`.

    The sets fill the write set of an entry, or the ensemble.
    """
    e, wq, aq = configuration.sizes
    had, forgot = len(sets["remember"]) + len(sets["forgot"]), len(sets["forgot"])
    total = had + len(sets["never had it"])
    says_no = len(sets["never had it"] | sets["forgot"])
    wrong = []
    if total == wq:
        absent = says_no >= formulas.negative_answers(e, wq, aq)
        wrong.append(absent != (forgot > formulas.forgetful_holders(had, aq)))
    if total == e:
        wrong.append((says_no >= aq) != (forgot > formulas.forgetful_fences(had, e, aq)))
    return any(wrong)


def lemmas() -> Sequence[Lemma]:
    """Return the lemmas about losses, slack, racks and forgetting, in reading order."""
    return [
        Lemma(
            "sure-losses",
            "Any AQ - 1 bookies can be lost without harm. AQ bookies within one window cannot.",
            "|D| <= AQ - 1  =>  every window has fewer than AQ of D; and AQ - 1 is the most",
            LemmaVerdict.PROVED,
            losses_questions,
            losses_breaks,
            losses_obligations,
            argument=REDUCED,
        ),
        Lemma(
            "slack",
            "An add completes if and only if at most WQ - AQ bookies of its write set are silent.",
            "WQ - |silent| >= AQ  <=>  |silent| <= WQ - AQ",
            LemmaVerdict.PROVED,
            slack_questions,
            slack_breaks,
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
            racks_questions,
            racks_breaks,
            racks_obligations,
            argument=REDUCED,
        ),
        Lemma(
            "forgetting",
            "Of h bookies with an entry, h - AQ may forget it. Of f fenced bookies, f - EC may forget the "
            "fence.",
            "QC NoSuchEntry possible <=> forgot > h - AQ;  AQ unfenced possible <=> forgot > f - EC",
            LemmaVerdict.PROVED,
            forgetting_questions,
            forgetting_breaks,
            forgetting_obligations,
            argument=REDUCED,
        ),
    ]
