"""Coverage: the four definitions agree, for every cohort, ack quorum and set of answers.

The cohort is the bookies that are asked: the ensemble for fencing, the write set for reading an entry. A
bookie without the answer that counts is pending or unknown (a time-out, an error). The definitions are those
of the TLA+ module QuorumCoverage: enough answers; an answer from every ack quorum; too few bookies without an
answer; no ack quorum without one. docs/lemmas.md, section "Sets and sizes", has the reduction from sets to
sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations
from typing import Any

import z3

from fencepost.quorums.arithmetic import Formulas, Number
from fencepost.quorums.lemmas import Lemma, LemmaVerdict
from fencepost.quorums.set_claims import Bits, SetClaim, bits, every_set
from fencepost.quorums.smt import ProofObligation, obligation
from fencepost.quorums.stripes import Configuration, Positions

E, WQ, AQ = z3.Ints("E WQ AQ")
VALID = (AQ >= 1, WQ >= AQ, E >= WQ)
"""The sizes of every configuration."""


REDUCED = "sets reduced to sizes of Venn regions"
"""The argument on paper that proof obligations about sizes rest on."""


@dataclass(frozen=True)
class Cohort:
    """The bookies that are asked, the answer that counts, and the other states of a bookie."""

    name: str
    counts: str
    others: tuple[str, ...]
    formula: str

    def size(self, e: Number, wq: Number) -> Number:
        """Return the number of bookies of the cohort."""
        return e if self.name == "fencing" else wq

    def enough(self, formulas: Formulas, e: Number, wq: Number, aq: Number) -> Number:
        """Return the number of answers that the formula asks for."""
        if self.name == "fencing":
            return formulas.fencing_answers(e, wq, aq)
        return formulas.negative_answers(e, wq, aq)

    def positions(self, configuration: Configuration) -> Positions:
        """Return the positions of the cohort in one configuration."""
        return configuration.positions if self.name == "fencing" else configuration.window(0)


FENCING = Cohort("fencing", "fenced", ("pending", "unknown"), "EC = (E - AQ) + 1")
READS = Cohort("reads", "no such entry", ("has it", "pending", "unknown"), "QC = (WQ - AQ) + 1")


# All sizes: the cohort split by answer


def sizes_obligations(cohort: Cohort, formulas: Formulas) -> list[ProofObligation]:
    """Return the proof obligations about sizes.

    Each part of the cohort has a size, and an ack quorum has a size in each part.
    """
    answered = z3.Int("answered")
    others = [z3.Int(other.replace(" ", "_")) for other in cohort.others]
    silent = sum(others[1:], others[0])
    regions = [answered, *others]
    sizes = [*VALID, *(region >= 0 for region in regions), answered + silent == cohort.size(E, WQ)]

    takes = [z3.Int(f"quorum_in_{region}") for region in regions]
    takes_fit = [z3.And(take >= 0, take <= region) for take, region in zip(takes, regions, strict=True)]
    is_quorum = z3.And(*takes_fit, sum(takes[1:], takes[0]) == AQ)

    enough = answered >= cohort.enough(formulas, E, WQ, AQ)
    meets_all = z3.And(answered >= 1, z3.ForAll(takes, z3.Implies(is_quorum, takes[0] >= 1)))
    too_few = silent < AQ
    silent_fit = [z3.And(t >= 0, t <= o) for t, o in zip(takes[1:], others, strict=True)]
    no_quorum = z3.Not(z3.Exists(takes[1:], z3.And(*silent_fit, sum(takes[2:], takes[1]) == AQ)))

    defined = {
        "enough": (f"there are {cohort.formula} answers", enough),
        "every-quorum": ("every ack quorum has answered", meets_all),
        "few-silent": ("fewer than AQ bookies are silent", too_few),
        "no-quorum": ("no ack quorum is silent", no_quorum),
    }
    same = [("enough", "every-quorum"), ("enough", "few-silent"), ("few-silent", "no-quorum")]
    return [
        obligation(
            f"coverage-{cohort.name}.{one}-then-{other}",
            f"If {defined[one][0]}, {defined[other][0]}",
            [*sizes, defined[one][1]],
            defined[other][1],
        )
        for pair in same
        for one, other in (pair, pair[::-1])
    ]


# One configuration at a time


def set_claims(cohort: Cohort, formulas: Formulas, configuration: Configuration) -> Iterable[SetClaim]:
    """Yield the claims that enough answers and another definition agree."""
    asked, aq = cohort.positions(configuration), configuration.ack_quorum
    needed = cohort.enough(formulas, *configuration.sizes)
    missed = silencing(asked, aq)

    def is_enough(silent: Bits) -> bool:
        return bool(len(asked) - silent.bit_count() >= needed)

    for said, fails in (
        ("enough answers, yet AQ are silent", lambda s: is_enough(s) and s.bit_count() >= aq),
        ("too few answers, yet fewer than AQ are silent", lambda s: not is_enough(s) and s.bit_count() < aq),
        ("enough answers, yet an ack quorum gave none", lambda s: is_enough(s) and s in missed),
        ("too few answers, yet one from every ack quorum", lambda s: not is_enough(s) and s not in missed),
    ):
        yield SetClaim(
            f"{cohort.formula} is {needed} here: {said}", fails, asked, (cohort.counts, "without it")
        )


@cache
def silencing(asked: Positions, aq: int) -> frozenset[Bits]:
    """Return the sets of silent bookies that have all members of some ack quorum of those asked."""
    quorums = [bits(quorum) for quorum in combinations(asked, aq)]
    return frozenset(s for s in every_set(asked) if any(quorum & ~s == 0 for quorum in quorums))


def _lemmas(cohort: Cohort, sentence: str) -> tuple[Lemma, Lemma]:
    size = "E" if cohort is FENCING else "WQ"
    statement = (
        f"for all 1 <= AQ <= WQ <= E, cohorts C with |C| = {size}, and S within C:  |S| >= "
        f"{cohort.formula.split(' = ')[1]}  <=>  S meets every Q within C with |Q| = AQ  <=>  |C - S| < AQ  "
        "<=>  no such Q within C - S"
    )

    for_all = Lemma(
        name=f"coverage-{cohort.name}",
        sentence=sentence,
        statement=statement,
        expected=LemmaVerdict.PROVED,
        obligations=lambda formulas: sizes_obligations(cohort, formulas),
        argument=REDUCED,
    )
    enumerated = Lemma(
        name=f"coverage-{cohort.name}-enumerated",
        sentence=f"Set by set: {sentence}",
        statement=statement,
        expected=LemmaVerdict.HOLDS,
        claims=partial(set_claims, cohort),
    )
    return for_all, enumerated


def lemmas() -> Sequence[Lemma]:
    """Return the lemmas about coverage, for fencing an ensemble and for reading an entry's write set."""
    fencing = _lemmas(
        FENCING,
        "No ack quorum is unfenced if and only if EC bookies of the ensemble have given a fencing answer.",
    )
    reads = _lemmas(
        READS,
        "No ack quorum may have the entry if and only if QC bookies of a write set have answered "
        "NoSuchEntry.",
    )
    return [fencing[0], reads[0], fencing[1], reads[1]]


def quorums_meet(formulas: Formulas) -> list[ProofObligation]:
    """Return the proof obligation that an ack quorum and QC bookies of one write set have a common bookie.

    Recovery needs nothing else from quorums.
    """
    both, quorum_only, cover_only, neither = z3.Ints("both quorum_only cover_only neither")
    regions: list[Any] = [both, quorum_only, cover_only, neither]
    return [
        obligation(
            "quorums-meet",
            "An ack quorum and QC = (WQ - AQ) + 1 bookies of one write set have a bookie in common",
            [
                *VALID,
                *(region >= 0 for region in regions),
                both + quorum_only + cover_only + neither == WQ,
                both + quorum_only >= AQ,
                both + cover_only >= formulas.negative_answers(E, WQ, AQ),
            ],
            both >= 1,
        )
    ]
