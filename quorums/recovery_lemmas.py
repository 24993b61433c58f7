"""The lemmas about recovery: proved by induction, or refuted by a shortest trace that a plain model replays."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fencepost.quorums.arithmetic import Formulas
from fencepost.quorums.lemmas import (
    Job,
    Result,
    Settled,
    Verdict,
    all_sizes_basis,
    confirmation,
    overall,
    settle,
)
from fencepost.quorums.questions import UndecidedError
from fencepost.quorums.recovery import (
    INVARIANT,
    NEVER_STORED,
    SAFETY,
    TODAY,
    Conjunct,
    Variant,
    obligations,
)
from fencepost.quorums.smt import Obligation
from fencepost.quorums.traces import (
    Replay,
    acknowledged_and_absent,
    breaks,
    counter_model,
    find_trace,
)

INDUCTION = (
    "induction over steps, for any number of bookies, entries and recoverers, from `quorums-meet` alone; "
    "that the actions are the protocol is by reading (docs/lemmas.md)"
)


@dataclass(frozen=True)
class RecoveryLemma:
    """A claim about every execution of a variant: `claimed` never breaks, by the inductive `invariant`."""

    name: str
    sentence: str
    statement: str
    expected: Verdict
    variant: Variant
    invariant: tuple[Conjunct, ...]
    claimed: Conjunct
    bad: Callable[[Replay], bool]

    def all_obligations(self, formulas: Formulas) -> list[Obligation]:
        return obligations(formulas, self.name, self.variant, self.invariant)

    def decide(self, job: Job) -> Result:
        """Settle every obligation; then show that the proof is about something, or the shortest way to break it."""
        started = time.monotonic()
        settled = tuple(settle(o, job.deadline) for o in self.all_obligations(job.formulas))
        result = Result(
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
        except UndecidedError as why:
            result = replace(result, verdict=Verdict.UNDECIDED, reason=str(why))
        return replace(result, seconds=time.monotonic() - started)

    def _shown(self, job: Job, result: Result) -> Result:
        if result.verdict is Verdict.PROVED:
            return self._with_witness(job, result)
        if result.verdict is Verdict.REFUTED:
            return self._with_trace(job, result)
        return result

    def _with_witness(self, job: Job, result: Result) -> Result:
        witness = find_trace(
            job.formulas,
            self.variant,
            acknowledged_and_absent,
            lambda replay: bool(replay.acknowledged and replay.absent),
            job.deadline,
            entries=2,
        )
        if witness is None:
            return replace(
                result,
                verdict=Verdict.VACUOUS,
                reason="no small execution acknowledges one entry and declares another absent",
            )
        return replace(
            result,
            basis=f"{result.basis}; witness: {len(witness.steps)} steps at {witness.configuration} "
            "acknowledge one entry and declare the next absent",
        )

    def _with_trace(self, job: Job, result: Result) -> Result:
        """Some obligation fails: the invariant is too weak, or the claim is false, which only a trace shows."""
        trace = find_trace(job.formulas, self.variant, breaks(self.claimed), self.bad, job.deadline)
        weak = counter_model(job.formulas, self.variant, self.invariant, job.deadline)
        failing = ", ".join(_short(s) for s in result.obligations if s.answer is Verdict.REFUTED)
        if trace is None:
            return replace(
                result,
                verdict=Verdict.UNDECIDED,
                counter_model=weak,
                reason=f"not inductive ({failing}), but no small execution breaks it",
            )
        return replace(
            result,
            basis=f"shortest execution, replayed by the plain model; obligations that fail: {failing}",
            example=trace,
            counter_model=weak,
        )


def _short(settled: Settled) -> str:
    return settled.name.split(".", 1)[-1]


NEVER = (
    "an entry declared absent on QC NoSuchEntry answers is not acknowledged to the writer, before or after"
)


def lemmas() -> Sequence[RecoveryLemma]:
    """Recovery as it is, then with each of its assumptions taken away."""
    safety = SAFETY[0]
    return [
        RecoveryLemma(
            "absent-never-acknowledged",
            "An entry that recovery declares absent has not been and will never be acknowledged, nor any after it.",
            f"recovery reads fence, bookies do not forget  =>  {NEVER}",
            Verdict.PROVED,
            TODAY,
            INVARIANT,
            safety,
            Replay.loses,
        ),
        RecoveryLemma(
            "absent-without-fencing-first",
            "For this alone recovery need not fence before it reads: the fences of the reads suffice.",
            f"recovery reads fence, bookies do not forget, reads may come before fencing answers  =>  {NEVER}",
            Verdict.PROVED,
            Variant(fences_first=False),
            INVARIANT,
            safety,
            Replay.loses,
        ),
        RecoveryLemma(
            "absent-without-fencing-reads",
            "With fencing, but no fence on recovery reads, it fails (issue #2614).",
            f"recovery reads do not fence  =>  {NEVER}",
            Verdict.REFUTED,
            Variant(reads_fence=False),
            INVARIANT,
            safety,
            Replay.loses,
        ),
        RecoveryLemma(
            "absent-with-forgotten-fences",
            "If a bookie may forget its fence, it fails (BP-46, scenario 1).",
            f"a restart loses the fence  =>  {NEVER}",
            Verdict.REFUTED,
            Variant(forgets_fences=True),
            INVARIANT,
            safety,
            Replay.loses,
        ),
        RecoveryLemma(
            "absent-with-forgotten-entries",
            "If a bookie may forget an entry, it fails (BP-46, scenario 2).",
            f"a restart loses entries  =>  {NEVER}",
            Verdict.REFUTED,
            Variant(forgets_entries=True),
            INVARIANT,
            safety,
            Replay.loses,
        ),
        RecoveryLemma(
            "no-means-never-stored",
            "A bookie that answered NoSuchEntry can still get the entry: a recoverer's write-back passes the fence.",
            "no_such_entry(r, b, e)  =>  b does not store e later",
            Verdict.REFUTED,
            TODAY,
            (*INVARIANT, NEVER_STORED),
            NEVER_STORED,
            Replay.got_it_later,
        ),
    ]
