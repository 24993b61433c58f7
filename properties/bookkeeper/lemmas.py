"""Lemmas about BookKeeper's core: proved for all sizes, or refuted by a shortest execution."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from fencepost.encoding.all_sizes.quantified_claims import claims
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.enumeration.visits import Visits
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import forall_over
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import Term
from fencepost.encoding.solving.answers import Deadline, SolverGaveUpError
from fencepost.properties.bookkeeper.core import with_properties
from fencepost.protocols.bookkeeper.core import Content, Core, CoreParameters, core, core_of_any_size
from fencepost.quorums.arithmetic import Formulas
from fencepost.quorums.coverage import quorums_meet
from fencepost.quorums.lemmas import (
    Example,
    LemmaJob,
    LemmaResult,
    LemmaVerdict,
    Settled,
    all_sizes_basis,
    confirmation,
    overall,
    settle,
)
from fencepost.quorums.smt import ProofObligation, obligation
from fencepost.quorums.stripes import configurations

INDUCTION = (
    "induction over one step, for any number of bookies, entries and recoverers, and any E >= WQ >= AQ"
)

MOST_BOOKIES = 2
"""The number of bookies of the largest instance in which an execution is searched for."""


@dataclass(frozen=True)
class CoreLemma:
    """A claim about every execution of the core with the switches of `parameters`.

    It claims the properties of the core and those of `also`.
    """

    name: str
    sentence: str
    statement: str
    expected: LemmaVerdict
    parameters: CoreParameters
    also: Callable[[Core], tuple[Property, ...]] = lambda s: ()

    def all_obligations(self, formulas: Formulas) -> list[ProofObligation]:
        """Return the proof obligations: the invariants are inductive and imply the claimed properties.

        If an axiom rests on the meeting of quorums, that is a proof obligation too.
        """
        system = self._claiming(core_of_any_size(self.parameters))
        meet = quorums_meet(formulas) if any(a.because for a in system.axioms) else []
        return [
            *meet,
            *(obligation(f"{self.name}.{c.name}", c.sentence, c.assume, c.claim) for c in claims(system)),
        ]

    def decide(self, job: LemmaJob) -> LemmaResult:
        """Decide the lemma: settle every proof obligation, then add a witness or a counterexample."""
        started = time.monotonic()
        settled = tuple(settle(o, job.deadline) for o in self.all_obligations(job.formulas))
        result = LemmaResult(
            self.name,
            self.sentence,
            self.statement,
            self.expected,
            overall(settled),
            all_sizes_basis(settled, INDUCTION),
            confirmation(settled),
            seconds=0.0,
            obligations=settled,
            reason="; ".join(f"{s.name}: {s.reason}" for s in settled if s.reason),
        )
        try:
            result = self._with_example(job, result)
        except SolverGaveUpError as why:
            result = replace(result, verdict=LemmaVerdict.UNDECIDED, reason=str(why))
        return replace(result, seconds=time.monotonic() - started)

    def _claiming(self, system: System) -> System:
        found = with_properties(system)
        assert isinstance(found.state, Core)
        return replace(found, properties=(*found.properties, *self.also(found.state)))

    def _with_example(self, job: LemmaJob, result: LemmaResult) -> LemmaResult:
        if result.verdict is LemmaVerdict.PROVED:
            return self._with_witness(job, result)
        if result.verdict is LemmaVerdict.REFUTED:
            return self._with_execution(job, result)
        return result

    def _with_witness(self, job: LemmaJob, result: LemmaResult) -> LemmaResult:
        """Return a proof with its witness, or a vacuous result if no small execution reaches one."""
        found = self._shortest(job.deadline, lambda p: p.witness, some=False)
        if found is None:
            why = "no small execution reaches the witnesses of the properties"
            return replace(result, verdict=LemmaVerdict.VACUOUS, reason=why)
        met = f"not vacuous: witnesses reached within {len(found.steps)} steps at {found.configuration}"
        return replace(result, basis=f"{result.basis}; {met}")

    def _with_execution(self, job: LemmaJob, result: LemmaResult) -> LemmaResult:
        """Return a refutation with its execution, or an undecided result if no small execution shows it.

        A failed proof obligation does not say which of two is the case: the invariants are too weak, or the
        claim is false.
        """
        failing = ", ".join(_unprefixed(s) for s in result.obligations if s.answer is LemmaVerdict.REFUTED)
        found = self._shortest(job.deadline, lambda p: ~p.holds, some=True)
        if found is None:
            why = f"not inductive ({failing}), but no small execution breaks it"
            return replace(result, verdict=LemmaVerdict.UNDECIDED, reason=why)
        basis = f"shortest execution; proof obligations that fail: {failing}"
        return replace(result, basis=basis, example=found)

    def _shortest(self, deadline: Deadline, sought: Callable[[Property], Term], some: bool) -> Example | None:
        """Return the shortest execution to a state that is `sought`, on the smallest instance, or None.

        With `some` one property is enough. Without it the execution has reached the state of every property.
        """
        for parameters in _instances(self.parameters):
            system = self._claiming(core(parameters))
            found = _search(system, [sought(p) for p in system.properties], some, deadline)
            if found is not None:
                names, path = found
                shown = "; ".join(system.properties[number].meaning for number in names)
                return Example(_configuration(parameters), shown, {}, tuple(map(_step_text, path)))
        return None


def _instances(parameters: CoreParameters) -> Iterator[CoreParameters]:
    """Yield instances with one entry and one recoverer, smallest first."""
    for n in range(1, MOST_BOOKIES + 1):
        for c in configurations(n):
            yield replace(
                parameters,
                bookies=n,
                ensemble=c.ensemble,
                write_quorum=c.write_quorum,
                ack_quorum=c.ack_quorum,
            )


def _configuration(p: CoreParameters) -> str:
    spare = f" with N={p.bookies}" if p.bookies > p.ensemble else ""
    return f"{p.ensemble}/{p.write_quorum}/{p.ack_quorum}{spare}"


def _search(
    system: System, sought: list[Term], some: bool, deadline: Deadline
) -> tuple[list[int], list[GroundAction]] | None:
    """Return the terms that hold in the first state found, and the actions that lead to it.

    The search is breadth first. With `some` it ends at the first state in which a term holds, else when each
    term has held in some state. Raises SolverGaveUpError when time is up.
    """
    concrete = Concrete(system)
    tests = dict(enumerate(map(concrete.predicate, sought)))
    visits = Visits(concrete)
    for state, _ in visits.nodes():
        held = [number for number, test in tests.items() if test(state)]
        for number in held:
            del tests[number]
        if held and (some or not tests):
            return held, visits.path(state)[0]
        if deadline.passed():
            raise SolverGaveUpError("time-out while searching for an execution")
    return None


def _step_text(action: GroundAction) -> str:
    """Return a step as a sentence: the actor and the action's note."""
    given = {p.symbol: value for p, value in action.environment.items()}
    actor = action.schema.action.actor
    who = action.environment.get(actor, actor) if not isinstance(actor, str) else actor  # type: ignore[call-overload]
    return f"{who} {action.schema.action.note.format(**given)}"


def _unprefixed(settled: Settled) -> str:
    return settled.name.split(".", 1)[-1]


# Claims in addition to the properties of the core.


def absent_never_acknowledged(s: Core) -> tuple[Property, ...]:
    """Return the claim that recovery rests on."""

    def absent(c: Term, e: Term, q: Term) -> Term:
        return forall_over((s.bookie,), lambda b: implies(s.in_absent_quorum[b, q], s.said_no(c, e, b)))

    def confirmed(f: Term) -> Term:
        return s.is_entry(f) & ~s.before[s.lac[s.writer], f]

    sorts = s.client, s.entry, s.absent_quorum, s.entry
    return (
        Property(
            "absent-not-acknowledged",
            "an entry that an absent quorum does not have is not acknowledged, and no later entry is",
            holds=forall_over(
                sorts, lambda c, e, q, f: ~(s.is_entry(e) & absent(c, e, q) & ~s.before[f, e] & confirmed(f))
            ),
            witness=~forall_over(sorts[:3], lambda c, e, q: ~(absent(c, e, q) & s.is_entry(e))),
            witness_meaning="an entry is declared absent",
        ),
    )


def no_means_never_stored(s: Core) -> tuple[Property, ...]:
    """Return a tempting claim that is wrong: a fence does not stop a recoverer's write-back."""
    return (
        Property(
            "no-means-never-stored",
            "a bookie that answered NoSuchEntry does not get the entry later",
            holds=forall_over(
                (s.client, s.entry, s.bookie),
                lambda c, e, b: implies(s.said_no(c, e, b), s.stored[b, e] == Content.NOTHING),
            ),
            witness=~forall_over((s.client, s.entry, s.bookie), lambda c, e, b: ~s.said_no(c, e, b)),
            witness_meaning="a bookie answered NoSuchEntry",
        ),
    )


SAFE = "no acknowledged entry is lost, and all clients agree on the last entry"


def core_lemmas() -> list[CoreLemma]:
    """Return the lemmas about the core as it is, then with each of its assumptions removed."""
    return [
        CoreLemma(
            "absent-never-acknowledged",
            "An entry that recovery declares absent is never acknowledged, before or after, and no later "
            "entry is.",
            f"the core of BookKeeper, ensemble changes included  =>  {SAFE}",
            LemmaVerdict.PROVED,
            CoreParameters(),
            absent_never_acknowledged,
        ),
        CoreLemma(
            "limbo-suffices",
            "If a bookie that may have lost entries fences its ledgers and never answers NoSuchEntry, all "
            "clients still agree on the last entry (BP-46).",
            "a restart loses entries, then limbo and fence  =>  no acknowledged entry is beyond the end of a "
            "closed ledger",
            LemmaVerdict.PROVED,
            CoreParameters(forgets="entries-then-limbo"),
        ),
        CoreLemma(
            "absent-without-fencing-reads",
            "The claim fails if recovery reads do not fence (issue #2614).",
            f"recovery reads do not fence  =>  {SAFE}",
            LemmaVerdict.REFUTED,
            CoreParameters(recovery_reads_fence="no"),
        ),
        CoreLemma(
            "absent-with-forgotten-fences",
            "The claim fails if a bookie may forget its fence (BP-46, scenario 1).",
            f"a restart loses the fence  =>  {SAFE}",
            LemmaVerdict.REFUTED,
            CoreParameters(forgets="fences"),
        ),
        CoreLemma(
            "absent-with-forgotten-entries",
            "The claim fails if a bookie may forget an entry (BP-46, scenario 2).",
            f"a restart loses entries  =>  {SAFE}",
            LemmaVerdict.REFUTED,
            CoreParameters(forgets="entries"),
        ),
        CoreLemma(
            "absent-on-too-few-answers",
            "The claim fails if one NoSuchEntry answer less ends recovery: some ack quorum may not have "
            "answered.",
            f"QC = WQ - AQ  =>  {SAFE}",
            LemmaVerdict.REFUTED,
            CoreParameters(absent_quorum="one-fewer"),
        ),
        CoreLemma(
            "change-without-unset-acks",
            "The claim fails if an ensemble change keeps the acks of the bookie that it replaces.",
            f"acks of bookies outside the write set count  =>  {SAFE}",
            LemmaVerdict.REFUTED,
            CoreParameters(unset_acks="kept"),
        ),
        CoreLemma(
            "change-during-recovery",
            "The claim fails if the writer may commit an ensemble change while the ledger is in recovery.",
            f"a change needs no open ledger  =>  {SAFE}",
            LemmaVerdict.REFUTED,
            CoreParameters(change_in_recovery="committed"),
        ),
        CoreLemma(
            "no-means-never-stored",
            "A bookie that answered NoSuchEntry can still get the entry: a recoverer's write-back passes the "
            "fence.",
            "no_such_entry(r, b, e)  =>  b does not store e later",
            LemmaVerdict.REFUTED,
            CoreParameters(),
            no_means_never_stored,
        ),
    ]
