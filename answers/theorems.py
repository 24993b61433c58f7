"""Theorems: what is proved of a protocol's core for all sizes, tied to the whole protocol on instances one by one."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from fencepost.encoding.all_sizes.follower import Follower
from fencepost.encoding.all_sizes.refinement import Refinement
from fencepost.encoding.all_sizes.refinement_check import Tied, settle
from fencepost.encoding.concrete.exploration import random_execution
from fencepost.encoding.language.system import System
from fencepost.encoding.solving.answers import Deadline, SolverGaveUpError
from fencepost.properties.bookkeeper.lemmas import CoreLemma
from fencepost.properties.bookkeeper.refinement import ledger_refinement
from fencepost.properties.catalogue import find
from fencepost.protocols.bookkeeper.core import CoreParameters
from fencepost.quorums.arithmetic import Formulas
from fencepost.quorums.lemmas import Example, LemmaJob, LemmaResult, LemmaVerdict, Settled
from fencepost.quorums.smt import ProofObligation
from fencepost.quorums.stripes import configurations

WALKS = 2000
"""Random executions of the whole in which each step of the core must have been taken by then."""


@dataclass(frozen=True)
class Theorem:
    """A claim about a whole protocol: its core's for all sizes, and that it does nothing else, instance by instance."""

    protocol: str
    core: CoreLemma
    refinement: Callable[[System], Refinement]
    shown_on: tuple[tuple[str, str], ...]
    """Settings of the instance on which every step of the core is taken in some followed execution."""

    @property
    def name(self) -> str:
        """That of the protocol."""
        return self.core.name

    @property
    def sentence(self) -> str:
        """What is claimed, in words."""
        return self.core.sentence

    def all_obligations(self, formulas: Formulas) -> list[ProofObligation]:
        """Those of the core: what is for all sizes."""
        return self.core.all_obligations(formulas)

    def decide(self, job: LemmaJob) -> LemmaResult:
        """The core for all sizes; then the refinement on each instance; then that each step of the core is taken."""
        started = time.monotonic()
        result = self.core.decide(job)
        if result.verdict is LemmaVerdict.PROVED:
            result = self._tied(job, result)
        return replace(result, seconds=time.monotonic() - started)

    def _tied(self, job: LemmaJob, result: LemmaResult) -> LemmaResult:
        settled = tuple(self._on(settings, job) for settings in _instances(job))
        result = replace(result, obligations=(*result.obligations, *settled))
        for one in settled:
            if one.answer is not LemmaVerdict.PROVED:
                broken = Example(one.name.split(" ", 1)[1], one.reason, {})
                refuted = one.answer is LemmaVerdict.REFUTED
                return replace(
                    result, verdict=one.answer, reason=one.reason, example=broken if refuted else None
                )
        untaken = self.untaken(job.deadline)
        if untaken and job.deadline.passed():
            return replace(
                result, verdict=LemmaVerdict.UNDECIDED, reason="time-out while following executions"
            )
        if untaken:
            why = f"no execution of the whole that was looked at takes: {', '.join(sorted(untaken))}"
            return replace(result, verdict=LemmaVerdict.VACUOUS, reason=why)
        names = [one.name.split(" ", 1)[1] for one in settled]
        return replace(
            result,
            basis=f"{result.basis}; size by size: `{self.protocol}` does nothing that the core does not, action by action, "
            f"on {len(names)} instances ({names[0]} to {names[-1]}), and each step of the core is taken in an execution "
            "that was followed",
        )

    def _on(self, settings: tuple[tuple[str, str], ...], job: LemmaJob) -> Settled:
        """Whether the whole refines the core on one instance."""
        started = time.monotonic()
        shown = " ".join(f"{name}={value}" for name, value in settings)
        reason, said = "", "the core follows every action of the whole"
        try:
            job.tell(f"refinement {shown}")
            refinement = self.refinement(self.system(settings))
            tied = settle(refinement, job.deadline, lambda done: job.tell(f"refinement {shown}: {done}"))
            answer = LemmaVerdict.PROVED if isinstance(tied, Tied) else LemmaVerdict.REFUTED
            if isinstance(tied, Tied):
                said = f"the core follows all {tied.actions} actions, under {tied.facts} facts proved by induction"
            else:
                reason = tied.why
        except SolverGaveUpError as why:
            answer, reason = LemmaVerdict.UNDECIDED, str(why)
        took = time.monotonic() - started
        return Settled(f"{self.name}.refinement {shown}", said, answer, "z3 and CaDiCaL", "-", took, reason)

    def system(self, settings: tuple[tuple[str, str], ...]) -> System:
        """The whole protocol on one instance; raises BadInput if there is none with these settings."""
        return find(self.protocol).instance(settings).system

    def untaken(self, deadline: Deadline) -> set[str]:
        """The steps of the core that no random execution of the whole takes. Raises Strays where the core cannot follow."""
        follower = Follower(self.refinement(self.system(self.shown_on)))
        missing = {schema.name for schema in follower.refinement.core.schemas}
        chance = random.Random(0)
        for _ in range(WALKS):
            if not missing or deadline.passed():
                break
            path = [
                (list(actions)[-1:], state)
                for actions, state in random_execution(follower.whole, chance, False)
            ]
            for (_, before), (action, after) in pairwise(path):
                followed = follower.follow(before, action[0], after)
                missing -= {step.schema.name for step in followed.steps}
        return missing


def _instances(job: LemmaJob) -> Iterator[tuple[tuple[str, str], ...]]:
    """The instance that the job names, or each E/WQ/AQ on each number of bookies up to the job's, two entries each.

    Where E > WQ, an ensemble change withdraws all acks first: as the code has it, acknowledged entries are lost (#3005).
    """
    if job.settings:
        yield job.settings
        return
    for n in range(1, job.bookies + 1):
        for c in configurations(n):
            sizes = zip(("ensemble", "write_quorum", "ack_quorum"), c.sizes, strict=True)
            stripes = (("unset_acks", "before-acking"),) if c.ensemble > c.write_quorum else ()
            yield (
                ("bookies", str(n)),
                *((name, str(size)) for name, size in sizes),
                ("entries", "2"),
                *stripes,
            )


BOOKKEEPER = Theorem(
    "bookkeeper",
    CoreLemma(
        "bookkeeper",
        "No acknowledged entry is lost, and all clients agree on where a closed ledger ends: the core for all sizes, today's "
        "protocol size by size.",
        "the core of BookKeeper  =>  no-divergence, acked-entries-on-ack-quorum, acked-entries-readable, entries-in-order",
        LemmaVerdict.PROVED,
        CoreParameters(),
    ),
    ledger_refinement,
    (("bookies", "3"), ("ensemble", "2"), ("write_quorum", "2"), ("ack_quorum", "2")),
)


def theorems() -> list[Theorem]:
    """Every theorem."""
    return [BOOKKEEPER]
