"""The lemmas about BookKeeper's core: proved for all sizes, or refuted by a shortest execution of a small instance."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from fencepost.encoding.all_sizes.quantified_claims import claims
from fencepost.encoding.concrete.compiler import Concrete, State
from fencepost.encoding.concrete.exploration import Visit, explore
from fencepost.encoding.language.quantifiers import forall_over
from fencepost.encoding.language.system import GroundAction, Property, System
from fencepost.encoding.language.terms import Term, implies
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
"""Bookies of the largest instance on which an execution is looked for."""


@dataclass(frozen=True)
class CoreLemma:
    """A claim about every execution of the core with the switches of `parameters`: its properties, and those `also` claimed."""

    name: str
    sentence: str
    statement: str
    expected: LemmaVerdict
    parameters: CoreParameters
    also: Callable[[Core], tuple[Property, ...]] = lambda s: ()

    def all_obligations(self, formulas: Formulas) -> list[ProofObligation]:
        """That quorums meet, if that is assumed, and that the invariant is inductive and implies what is claimed."""
        system = self._claiming(core_of_any_size(self.parameters))
        meet = quorums_meet(formulas) if any(a.because for a in system.axioms) else []
        return [
            *meet,
            *(obligation(f"{self.name}.{c.name}", c.sentence, c.assume, c.claim) for c in claims(system)),
        ]

    def decide(self, job: LemmaJob) -> LemmaResult:
        """Settle every obligation; then show that the proof is about something, or the shortest way to break it."""
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
            result = self._shown(job, result)
        except SolverGaveUpError as why:
            result = replace(result, verdict=LemmaVerdict.UNDECIDED, reason=str(why))
        return replace(result, seconds=time.monotonic() - started)

    def _claiming(self, system: System) -> System:
        found = with_properties(system)
        assert isinstance(found.state, Core)
        return replace(found, properties=(*found.properties, *self.also(found.state)))

    def _shown(self, job: LemmaJob, result: LemmaResult) -> LemmaResult:
        if result.verdict is LemmaVerdict.PROVED:
            return self._with_witness(job, result)
        if result.verdict is LemmaVerdict.REFUTED:
            return self._with_execution(job, result)
        return result

    def _with_witness(self, job: LemmaJob, result: LemmaResult) -> LemmaResult:
        """A proof says something only if what the properties speak of can happen."""
        found = self._shortest(job.deadline, lambda p: p.witness, some=False)
        if found is None:
            why = "no small execution shows what the properties speak of"
            return replace(result, verdict=LemmaVerdict.VACUOUS, reason=why)
        met = f"what it speaks of happens within {len(found.steps)} steps at {found.configuration}"
        return replace(result, basis=f"{result.basis}; {met}")

    def _with_execution(self, job: LemmaJob, result: LemmaResult) -> LemmaResult:
        """Some obligation fails: the invariant is too weak, or the claim is false, which only an execution shows."""
        failing = ", ".join(_short(s) for s in result.obligations if s.answer is LemmaVerdict.REFUTED)
        found = self._shortest(job.deadline, lambda p: ~p.holds, some=True)
        if found is None:
            why = f"not inductive ({failing}), but no small execution breaks it"
            return replace(result, verdict=LemmaVerdict.UNDECIDED, reason=why)
        basis = f"shortest execution; obligations that fail: {failing}"
        return replace(result, basis=basis, example=found)

    def _shortest(self, deadline: Deadline, sought: Callable[[Property], Term], some: bool) -> Example | None:
        """The shortest execution of the smallest instance after which that is so of some property, or of all that claim it."""
        for parameters in _instances(self.parameters):
            system = self._claiming(core(parameters))
            found = _walk_to(system, [sought(p) for p in system.properties], some, deadline)
            if found is not None:
                names, path = found
                shown = "; ".join(system.properties[number].meaning for number in names)
                return Example(_configuration(parameters), shown, {}, tuple(map(_told, path)))
        return None


def _instances(parameters: CoreParameters) -> Iterator[CoreParameters]:
    """Instances with one entry and one recoverer, smallest first."""
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


def _walk_to(
    system: System, sought: list[Term], some: bool, deadline: Deadline
) -> tuple[list[int], list[GroundAction]] | None:
    """The way to the first state, breadth first, in which one of the terms holds, or the last of them that is missing.

    Raises SolverGaveUpError when time is up.
    """
    concrete = Concrete(system)
    tests = dict(enumerate(map(concrete.predicate, sought)))
    reached: dict[State, Visit] = {}
    for visit in explore(system):
        reached[visit.state] = visit
        held = [number for number, test in tests.items() if test(visit.state)]
        for number in held:
            del tests[number]
        if held and (some or not tests):
            return held, _path(reached, visit)
        if deadline.passed():
            raise SolverGaveUpError("time-out while looking for an execution")
    return None


def _path(reached: Mapping[State, Visit], last: Visit) -> list[GroundAction]:
    path: list[GroundAction] = []
    while last.parent is not None and last.action is not None:
        path.append(last.action)
        last = reached[last.parent]
    return path[::-1]


def _told(action: GroundAction) -> str:
    """A step as people read it."""
    given = {p.name: value for p, value in action.environment.items()}
    actor = action.schema.action.actor
    who = action.environment.get(actor, actor) if not isinstance(actor, str) else actor  # type: ignore[call-overload]
    return f"{who} {action.schema.action.note.format(**given)}"


def _short(settled: Settled) -> str:
    return settled.name.split(".", 1)[-1]


# What is claimed beside the properties of the core.


def absent_never_acknowledged(s: Core) -> tuple[Property, ...]:
    """What recovery rests on."""

    def absent(c: Term, e: Term, q: Term) -> Term:
        return forall_over((s.bookie,), lambda b: implies(s.in_absent_quorum[b, q], s.said_no(c, e, b)))

    def confirmed(f: Term) -> Term:
        return s.is_entry(f) & ~s.before[s.lac[s.writer], f]

    sorts = s.client, s.entry, s.absent_quorum, s.entry
    return (
        Property(
            "absent-not-acknowledged",
            "an entry that an absent quorum does not have is not acknowledged, nor is any after it",
            holds=forall_over(
                sorts, lambda c, e, q, f: ~(s.is_entry(e) & absent(c, e, q) & ~s.before[f, e] & confirmed(f))
            ),
            witness=~forall_over(sorts[:3], lambda c, e, q: ~(absent(c, e, q) & s.is_entry(e))),
            witness_meaning="an entry is declared absent",
        ),
    )


def no_means_never_stored(s: Core) -> tuple[Property, ...]:
    """Tempting, and wrong: a recoverer's write-back is not stopped by a fence."""
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


SAFE = "no acknowledged entry is lost, and all agree on where the ledger ends"


def core_lemmas() -> list[CoreLemma]:
    """The core as it is, then with each of its assumptions taken away."""
    return [
        CoreLemma(
            "absent-never-acknowledged",
            "An entry that recovery declares absent has not been and will never be acknowledged, nor any after it.",
            f"the core of BookKeeper, ensemble changes included  =>  {SAFE}",
            LemmaVerdict.PROVED,
            CoreParameters(),
            absent_never_acknowledged,
        ),
        CoreLemma(
            "limbo-suffices",
            "If a bookie that may have lost entries fences its ledgers and never says NoSuchEntry, all still agree on where "
            "a ledger ends (BP-46).",
            "a restart loses entries, then limbo and fence  =>  nothing acknowledged is beyond the end of a closed ledger",
            LemmaVerdict.PROVED,
            CoreParameters(forgets="entries-then-limbo"),
        ),
        CoreLemma(
            "absent-without-fencing-reads",
            "With fencing, but no fence on recovery reads, it fails (issue #2614).",
            f"recovery reads do not fence  =>  {SAFE}",
            LemmaVerdict.REFUTED,
            CoreParameters(recovery_reads_fence="no"),
        ),
        CoreLemma(
            "absent-with-forgotten-fences",
            "If a bookie may forget its fence, it fails (BP-46, scenario 1).",
            f"a restart loses the fence  =>  {SAFE}",
            LemmaVerdict.REFUTED,
            CoreParameters(forgets="fences"),
        ),
        CoreLemma(
            "absent-with-forgotten-entries",
            "If a bookie may forget an entry, it fails (BP-46, scenario 2).",
            f"a restart loses entries  =>  {SAFE}",
            LemmaVerdict.REFUTED,
            CoreParameters(forgets="entries"),
        ),
        CoreLemma(
            "absent-on-too-few-answers",
            "If one NoSuchEntry answer fewer ends recovery, it fails: some ack quorum was not asked.",
            f"QC = WQ - AQ  =>  {SAFE}",
            LemmaVerdict.REFUTED,
            CoreParameters(absent_quorum="one-fewer"),
        ),
        CoreLemma(
            "change-without-unset-acks",
            "If an ensemble change leaves the acks of the bookie that it replaces, it fails.",
            f"acks of bookies outside the write set count  =>  {SAFE}",
            LemmaVerdict.REFUTED,
            CoreParameters(unset_acks="kept"),
        ),
        CoreLemma(
            "change-during-recovery",
            "If the writer may commit an ensemble change while the ledger is in recovery, it fails.",
            f"a change needs no open ledger  =>  {SAFE}",
            LemmaVerdict.REFUTED,
            CoreParameters(change_in_recovery="committed"),
        ),
        CoreLemma(
            "no-means-never-stored",
            "A bookie that answered NoSuchEntry can still get the entry: a recoverer's write-back passes the fence.",
            "no_such_entry(r, b, e)  =>  b does not store e later",
            LemmaVerdict.REFUTED,
            CoreParameters(),
            no_means_never_stored,
        ),
    ]
