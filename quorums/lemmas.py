"""What a lemma is, how it is decided, and what is said about it.

A lemma has obligations for all sizes (SMT-LIB 2, z3, confirmed by cvc5), or questions about one configuration at a time
(bit-vectors and CNF), or both: then the questions are the same lemma on actual positions, and find the smallest
configuration and bookies to show when the obligations fail.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from fencepost.encoding.errors import InternalError
from fencepost.encoding.solving.answers import Answer, Deadline, GaveUp, No, SolverGaveUpError, Yes
from fencepost.encoding.solving.scripts import cvc5_version
from fencepost.quorums.arithmetic import Formulas
from fencepost.quorums.questions import SetQuestion, Sets, ask
from fencepost.quorums.smt import ProofObligation, ask_cvc5, ask_z3
from fencepost.quorums.stripes import Configuration, configurations


class LemmaVerdict(Enum):
    """What became of a lemma."""

    PROVED = "proved"  # every obligation is unsatisfiable: for all sizes
    HOLDS = "holds"  # no counterexample up to the size given; nothing is said beyond
    REFUTED = "refuted"  # a counterexample, re-checked on plain sets
    VACUOUS = "vacuous"  # the premises contradict each other, so nothing was tested
    UNDECIDED = "undecided"  # a solver gave no answer in time


@dataclass(frozen=True)
class Example:
    """A counterexample for people: the configuration, who is in which set, and what is wrong with it."""

    configuration: str
    sentence: str
    sets: Mapping[str, tuple[str, ...]]
    steps: tuple[str, ...] = ()


@dataclass(frozen=True)
class Settled:
    """What became of one obligation."""

    name: str
    sentence: str
    answer: LemmaVerdict
    solver: str
    confirmed: str
    seconds: float
    reason: str = ""


@dataclass(frozen=True)
class LemmaResult:
    """What became of a lemma; plain data, free of solver objects. `expected` is what the theory says."""

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
        return self.verdict is self.expected


def unheard(doing: str) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True)
class LemmaJob:
    """What the lemmas are decided with: the formulas, the size of the enumerations, and the time there is.

    Theorems are tied to the whole protocol on the instance of these `settings`, or on all of up to so many `bookies`.
    `tell` hears what is being done, in words.
    """

    formulas: Formulas
    up_to: int
    deadline: Deadline
    bookies: int = 2
    settings: tuple[tuple[str, str], ...] = ()
    tell: Callable[[str], None] = unheard


Obligations = Callable[[Formulas], Sequence[ProofObligation]]
Questions = Callable[[Formulas, Configuration], Iterable[SetQuestion]]
Breaks = Callable[[Formulas, Configuration, Sets], bool]


def nothing(formulas: Formulas) -> Sequence[ProofObligation]:
    return ()


@dataclass(frozen=True)
class Lemma:
    """A claim about all configurations.

    `obligations` settle it for all sizes; `restated` says it again over finite sets with cardinality, for cvc5 alone, so
    that the reduction to sizes is not trusted. `questions` are the claim at one configuration; `breaks` says, by the
    definitions on plain sets, whether such sets are a counterexample. `argument` is what pen and paper add.
    """

    name: str
    sentence: str
    statement: str
    expected: LemmaVerdict
    questions: Questions
    breaks: Breaks
    obligations: Obligations = nothing
    restated: Obligations = nothing
    argument: str = ""

    def all_obligations(self, formulas: Formulas) -> list[ProofObligation]:
        return [*self.obligations(formulas), *self.restated(formulas)]

    def decide(self, job: LemmaJob) -> LemmaResult:
        """Decide the lemma: for all sizes if it has obligations, else up to `job.up_to`."""
        started = time.monotonic()
        obligations = self.obligations(job.formulas)
        if not obligations:
            result = self._by_enumeration(job)
        else:
            settled = [settle(o, job.deadline) for o in obligations]
            settled += [confirm_alone(o, job.deadline) for o in self.restated(job.formulas)]
            result = self._for_all_sizes(job, tuple(settled))
        return replace(result, seconds=time.monotonic() - started)

    def _result(self, verdict: LemmaVerdict, basis: str, confirmed: str) -> LemmaResult:
        return LemmaResult(
            self.name, self.sentence, self.statement, self.expected, verdict, basis, confirmed, seconds=0.0
        )

    def _by_enumeration(self, job: LemmaJob) -> LemmaResult:
        basis = f"enumeration of all E >= WQ >= AQ >= 1 with E <= {job.up_to}"
        both = "z3 on bit-vectors and PySAT on CNF agree on every question"
        try:
            example = self.counterexample(job)
        except SolverGaveUpError as why:
            return replace(self._result(LemmaVerdict.UNDECIDED, basis, "not confirmed"), reason=str(why))
        if example is None:
            return self._result(LemmaVerdict.HOLDS, basis, both)
        return replace(
            self._result(LemmaVerdict.REFUTED, "smallest counterexample, re-checked on plain sets", both),
            example=example,
        )

    def _for_all_sizes(self, job: LemmaJob, settled: tuple[Settled, ...]) -> LemmaResult:
        verdict = overall(settled)
        result = replace(
            self._result(verdict, all_sizes_basis(settled, self.argument), confirmation(settled)),
            obligations=settled,
            reason="; ".join(f"{s.name}: {s.reason}" for s in settled if s.reason),
        )
        return self._with_example(job, result) if verdict is LemmaVerdict.REFUTED else result

    def _with_example(self, job: LemmaJob, result: LemmaResult) -> LemmaResult:
        """A refutation is reported only with a configuration and bookies that a person can check."""
        try:
            example = self.counterexample(job)
            why = f"a solver refutes an obligation, but no configuration with E <= {job.up_to} shows it"
        except SolverGaveUpError as reason:
            example, why = None, str(reason)
        if example is None:
            return replace(result, verdict=LemmaVerdict.UNDECIDED, reason=why)
        return replace(result, example=example)

    def counterexample(self, job: LemmaJob) -> Example | None:
        """The first counterexample, smallest configuration first; None if there is none up to the size.

        Raises SolverGaveUpError when time is up, and InternalError if a solver's sets are no counterexample by the definitions.
        """
        asked = set()
        for configuration in configurations(job.up_to):
            for question in self.questions(job.formulas, configuration):
                if question.key in asked:
                    continue
                asked.add(question.key)
                sets = ask(question, job.deadline)
                if sets is None:
                    continue
                if not self.breaks(job.formulas, configuration, sets):
                    raise InternalError(
                        f"lemma {self.name}: the solvers answer {dict(sets)} for {configuration}, "
                        "which is no counterexample by the definitions"
                    )
                return Example(str(configuration), question.sentence, dict(_named(sets)))
        return None


def _named(sets: Sets) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, members in sets.items():
        if "|" not in name:
            yield name, bookies(members)


def bookies(positions: Iterable[int]) -> tuple[str, ...]:
    """Names for positions: the bookie at position 0 is b1."""
    return tuple(f"b{position + 1}" for position in sorted(positions))


def settle(obligation: ProofObligation, deadline: Deadline) -> Settled:
    """z3's answer, checked for vacuity, and cvc5's word on it; raises InternalError if they contradict each other."""
    reply = ask_z3(obligation.script, deadline)
    seconds, (answer, reason) = reply.seconds, _verdict(reply.answer)
    if answer is LemmaVerdict.PROVED and obligation.premises is not None:
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
    return Settled(obligation.name, obligation.sentence, answer, "z3", confirmed, seconds + took, reason)


def _verdict(answer: Answer[object]) -> tuple[LemmaVerdict, str]:
    """What a solver's answer to an obligation means, and why there is none if there is none."""
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
"""Seconds that cvc5 gets for one obligation."""


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
        raise InternalError(f"obligation {obligation.name}: {said}")
    return CONFIRMED, reply.seconds


def confirm_alone(obligation: ProofObligation, deadline: Deadline) -> Settled:
    """An obligation over finite sets, which only cvc5 can read. Without cvc5 it is undecided, which `overall` leaves out."""
    if cvc5_version() is None:
        return Settled(
            obligation.name, obligation.sentence, LemmaVerdict.UNDECIDED, "cvc5", NOT_INSTALLED, 0.0, ""
        )
    reply = ask_cvc5(obligation.script, deadline)
    answer, why = _verdict(reply.answer)
    confirmed = CONFIRMED if answer is not LemmaVerdict.UNDECIDED else f"not confirmed (cvc5: {why})"
    return Settled(obligation.name, obligation.sentence, answer, "cvc5", confirmed, reply.seconds, "")


def overall(settled: Sequence[Settled]) -> LemmaVerdict:
    """The worst of z3's answers, and a refutation by anyone: proved only if every obligation is."""
    answers = {s.answer for s in settled if s.solver == "z3"}
    if any(s.answer is LemmaVerdict.REFUTED for s in settled):
        return LemmaVerdict.REFUTED
    for verdict in (LemmaVerdict.UNDECIDED, LemmaVerdict.VACUOUS):
        if verdict in answers:
            return verdict
    return LemmaVerdict.PROVED


def all_sizes_basis(settled: Sequence[Settled], argument: str) -> str:
    ours = [s for s in settled if s.solver == "z3"]
    proved = sum(s.answer is LemmaVerdict.PROVED for s in ours)
    count = f"all sizes: {proved} of {len(ours)} obligations proved by z3"
    return f"{count}; {argument}" if argument else count


def confirmation(settled: Sequence[Settled]) -> str:
    """Who else came to the same answers, in words."""
    if cvc5_version() is None:
        return NOT_INSTALLED
    same = [s for s in settled if s.solver == "z3"]
    sets = [s for s in settled if s.solver == "cvc5"]
    parts = [f"cvc5 on {sum(s.confirmed == CONFIRMED for s in same)} of {len(same)} obligations"]
    if sets:
        parts.append(f"{sum(s.confirmed == CONFIRMED for s in sets)} of {len(sets)} again over finite sets")
    return ", ".join(parts)
