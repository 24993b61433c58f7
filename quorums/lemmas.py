"""Lemmas about quorums: their data, how they are decided, and the result.

A lemma has proof obligations for all sizes (SMT-LIB 2, z3, confirmed by cvc5), or claims about one
configuration at a time, tried on every set of bookies. A refutation for all sizes shows the sizes that z3
gives. One by sets shows the bookies of the smallest configuration.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from fencepost.encoding.errors import InternalError
from fencepost.encoding.solving.answers import Answer, Deadline, GaveUp, No, SolverGaveUpError, Yes
from fencepost.encoding.solving.scripts import Constants, cvc5_version
from fencepost.quorums.arithmetic import Formulas
from fencepost.quorums.set_claims import SetClaim
from fencepost.quorums.smt import ProofObligation, ask_cvc5, ask_z3
from fencepost.quorums.stripes import Configuration, configurations


class LemmaVerdict(Enum):
    """The verdict on a lemma."""

    PROVED = "proved"  # every proof obligation is unsatisfiable, so the lemma holds for all sizes
    HOLDS = "holds"  # no counterexample up to the given size; larger sizes are not decided
    REFUTED = "refuted"  # a counterexample
    VACUOUS = "vacuous"  # the premises contradict each other, so the lemma says nothing
    UNDECIDED = "undecided"  # a solver gave no answer in time


@dataclass(frozen=True)
class Example:
    """A counterexample for readers: the configuration, the members of each set, and what is wrong."""

    configuration: str
    sentence: str
    sets: Mapping[str, tuple[str, ...]]
    steps: tuple[str, ...] = ()


@dataclass(frozen=True)
class Settled:
    """The result of one proof obligation."""

    name: str
    sentence: str
    answer: LemmaVerdict
    solver: str
    confirmed: str
    seconds: float
    reason: str = ""
    example: Example | None = None


@dataclass(frozen=True)
class LemmaResult:
    """The result of a lemma, as plain data. `expected` is the verdict that the theory predicts."""

    name: str
    sentence: str
    statement: str
    expected: LemmaVerdict
    verdict: LemmaVerdict
    basis: str
    confirmed: str
    seconds: float
    obligations: tuple[Settled, ...] = ()
    example: Example | None = None
    reason: str = ""

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the expected one."""
        return self.verdict is self.expected


def unheard(doing: str) -> None:
    """Ignore a text about the work in progress."""


@dataclass(frozen=True)
class LemmaJob:
    """The inputs of a decision: the formulas, the largest size to enumerate, and the deadline.

    Theorems are tied to the whole protocol on the instance of these `settings`, or on all instances with up
    to `bookies` bookies. `tell` gets a text about the work in progress.
    """

    formulas: Formulas
    up_to: int
    deadline: Deadline
    bookies: int = 2
    settings: tuple[tuple[str, str], ...] = ()
    tell: Callable[[str], None] = unheard


Obligations = Callable[[Formulas], Sequence[ProofObligation]]
Claims = Callable[[Formulas, Configuration], Iterable[SetClaim]]


@dataclass(frozen=True)
class Lemma:
    """A claim about all configurations.

    `obligations` settle the claim for all sizes. Without them `claims` state it for one configuration.
    `argument` names the part that is argued on paper.
    """

    name: str
    sentence: str
    statement: str
    expected: LemmaVerdict
    obligations: Obligations = lambda formulas: ()
    argument: str = ""
    claims: Claims = lambda formulas, configuration: ()

    def all_obligations(self, formulas: Formulas) -> list[ProofObligation]:
        """Return the proof obligations."""
        return list(self.obligations(formulas))

    def decide(self, job: LemmaJob) -> LemmaResult:
        """Decide the lemma for all sizes if it has proof obligations, else up to `job.up_to`."""
        started = time.monotonic()
        obligations = self.obligations(job.formulas)
        if not obligations:
            result = self._by_enumeration(job)
        else:
            result = self._for_all_sizes(tuple(settle(o, job.deadline) for o in obligations))
        return replace(result, seconds=time.monotonic() - started)

    def _result(self, verdict: LemmaVerdict, basis: str, confirmed: str) -> LemmaResult:
        return LemmaResult(
            self.name, self.sentence, self.statement, self.expected, verdict, basis, confirmed, seconds=0.0
        )

    def _by_enumeration(self, job: LemmaJob) -> LemmaResult:
        basis = f"enumeration of all E >= WQ >= AQ >= 1 with E <= {job.up_to}"
        try:
            example = self.counterexample(job)
        except SolverGaveUpError as why:
            return replace(self._result(LemmaVerdict.UNDECIDED, basis, "not confirmed"), reason=str(why))
        if example is None:
            return self._result(LemmaVerdict.HOLDS, basis, BY_TRYING)
        return replace(
            self._result(LemmaVerdict.REFUTED, "smallest counterexample", BY_TRYING), example=example
        )

    def _for_all_sizes(self, settled: tuple[Settled, ...]) -> LemmaResult:
        return replace(
            self._result(overall(settled), all_sizes_basis(settled, self.argument), confirmation(settled)),
            obligations=settled,
            example=next((s.example for s in settled if s.example), None),
            reason="; ".join(f"{s.name}: {s.reason}" for s in settled if s.reason),
        )

    def counterexample(self, job: LemmaJob) -> Example | None:
        """Return the counterexample on the smallest configuration, or None if there is none up to the size.

        Raises SolverGaveUpError when time is up.
        """
        for configuration in configurations(job.up_to):
            for claim in self.claims(job.formulas, configuration):
                if job.deadline.passed():
                    raise SolverGaveUpError(f"time-out at {configuration}")
                if (sets := claim.counterexample()) is not None:
                    return Example(str(configuration), claim.sentence, sets)
        return None


BY_TRYING = "every set of bookies is tried by the definitions, without a solver"
"""The confirmation of an enumeration."""


def settle(obligation: ProofObligation, deadline: Deadline) -> Settled:
    """Settle a proof obligation with z3, check it for vacuity, and have cvc5 confirm it.

    Raises InternalError if the solvers contradict each other.
    """
    reply = ask_z3(obligation.script, deadline)
    seconds, (answer, reason) = reply.seconds, _verdict(reply.answer)
    if answer is LemmaVerdict.PROVED:
        premises = ask_z3(obligation.premises, deadline)
        seconds += premises.seconds
        match premises.answer:
            case Yes():
                pass
            case No():
                answer, reason = LemmaVerdict.VACUOUS, "the premises contradict each other"
            case GaveUp(why):
                answer, reason = LemmaVerdict.UNDECIDED, f"premises not shown satisfiable ({why})"
    confirmed, took = _second_opinion(obligation, reply.answer, deadline)
    example = _sizes_shown(obligation, reply.answer.model) if isinstance(reply.answer, Yes) else None
    return Settled(
        obligation.name, obligation.sentence, answer, "z3", confirmed, seconds + took, reason, example
    )


def _sizes_shown(obligation: ProofObligation, sizes: Constants) -> Example:
    """Return the configuration and the sizes of sets at which a proof obligation is false."""
    configuration = "/".join(sizes.get(letter, "any") for letter in ("E", "WQ", "AQ"))
    others = [f"{name} = {size}" for name, size in sizes.items() if name not in ("E", "WQ", "AQ")]
    return Example(configuration, f"{obligation.sentence}: false with {', '.join(others) or 'these'}", {})


def _verdict(answer: Answer[object]) -> tuple[LemmaVerdict, str]:
    """Return the verdict of a solver's answer to a proof obligation, and the reason if it is undecided."""
    match answer:
        case Yes():
            return LemmaVerdict.REFUTED, ""
        case No():
            return LemmaVerdict.PROVED, ""
        case GaveUp(why):
            return LemmaVerdict.UNDECIDED, why


CONFIRMED = "cvc5"
NOT_INSTALLED = "not confirmed (cvc5 not installed)"
SLOWEST_CONFIRMATION = 15.0
"""The seconds that cvc5 gets for one proof obligation."""


def _second_opinion(
    obligation: ProofObligation, first: Answer[object], deadline: Deadline
) -> tuple[str, float]:
    if isinstance(first, GaveUp):
        return "not confirmed (z3 has no answer)", 0.0
    if cvc5_version() is None:
        return NOT_INSTALLED, 0.0
    reply = ask_cvc5(obligation.script, Deadline(min(SLOWEST_CONFIRMATION, deadline.left())))
    if isinstance(reply.answer, GaveUp):
        return f"not confirmed (cvc5: {reply.answer.why})", reply.seconds
    if isinstance(reply.answer, Yes) is not isinstance(first, Yes):
        said = "z3 says sat, cvc5 unsat" if isinstance(first, Yes) else "z3 says unsat, cvc5 sat"
        raise InternalError(f"proof obligation {obligation.name}: {said}")
    return CONFIRMED, reply.seconds


def overall(settled: Sequence[Settled]) -> LemmaVerdict:
    """Return the worst of the verdicts on proof obligations."""
    answers = {s.answer for s in settled}
    worst = (LemmaVerdict.REFUTED, LemmaVerdict.UNDECIDED, LemmaVerdict.VACUOUS)
    return next((verdict for verdict in worst if verdict in answers), LemmaVerdict.PROVED)


def all_sizes_basis(settled: Sequence[Settled], argument: str) -> str:
    """Return the basis of a verdict for all sizes, in words."""
    proved = sum(s.answer is LemmaVerdict.PROVED for s in settled)
    count = f"all sizes: {proved} of {len(settled)} proof obligations proved by z3"
    return f"{count}; {argument}" if argument else count


def confirmation(settled: Sequence[Settled]) -> str:
    """Return how many proof obligations cvc5 confirmed, in words."""
    if cvc5_version() is None:
        return NOT_INSTALLED
    return f"cvc5 on {sum(s.confirmed == CONFIRMED for s in settled)} of {len(settled)} proof obligations"
