"""Theorems: the core of a protocol is proved for all sizes, and instances of it refine the core."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from fencepost.encoding.all_sizes.follower import Follower
from fencepost.encoding.all_sizes.refinement import Refinement
from fencepost.encoding.all_sizes.refinement_check import Tied, check_refinement
from fencepost.encoding.concrete.random_executions import random_execution
from fencepost.encoding.language.system import System
from fencepost.encoding.solving.answers import Deadline, SolverGaveUpError
from fencepost.properties.bookkeeper.lemmas import CoreLemma
from fencepost.properties.bookkeeper.refinement import ledger_refinement
from fencepost.properties.catalogue import find
from fencepost.protocols.bookkeeper.core import CoreParameters
from fencepost.quorums.lemmas import Example, LemmaJob, LemmaResult, LemmaVerdict, Settled
from fencepost.quorums.stripes import configurations

SIMULATIONS = 2000
"""The most simulations of the whole protocol that are followed until each step of the core was taken."""


@dataclass(frozen=True, kw_only=True)
class Theorem(CoreLemma):
    """A lemma about a core that also holds of the whole protocol: its instances refine the core."""

    protocol: str
    refinement: Callable[[System], Refinement]
    shown_on: tuple[tuple[str, str], ...]
    """The settings of the instance whose followed simulations take every step of the core."""

    def decide(self, job: LemmaJob) -> LemmaResult:
        """Decide the core for all sizes, then each refinement, then whether every step is taken."""
        started = time.monotonic()
        result = super().decide(job)
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
                result, verdict=LemmaVerdict.UNDECIDED, reason="time-out while following simulations"
            )
        if untaken:
            why = f"no simulation of the whole protocol takes these steps: {', '.join(sorted(untaken))}"
            return replace(result, verdict=LemmaVerdict.VACUOUS, reason=why)
        names = [one.name.split(" ", 1)[1] for one in settled]
        return replace(
            result,
            basis=f"{result.basis}; size by size: the core follows every action of `{self.protocol}` on "
            f"{len(names)} instances ({names[0]} to {names[-1]}), and simulations take each step of the core",
        )

    def _on(self, settings: tuple[tuple[str, str], ...], job: LemmaJob) -> Settled:
        """Return whether one instance of the whole protocol refines the core."""
        started = time.monotonic()
        shown = " ".join(f"{name}={value}" for name, value in settings)
        reason, said = "", "the core follows every action of the whole protocol"
        try:
            job.tell(f"refinement {shown}")
            refinement = self.refinement(self.system(settings))
            tied = check_refinement(
                refinement, job.deadline, lambda done: job.tell(f"refinement {shown}: {done}")
            )
            answer = LemmaVerdict.PROVED if isinstance(tied, Tied) else LemmaVerdict.REFUTED
            if isinstance(tied, Tied):
                said = (
                    f"the core follows all {tied.actions} actions, given {tied.invariants} invariants "
                    "proved by induction"
                )
            else:
                reason = tied.why
        except SolverGaveUpError as why:
            answer, reason = LemmaVerdict.UNDECIDED, str(why)
        took = time.monotonic() - started
        return Settled(f"{self.name}.refinement {shown}", said, answer, "z3 and CaDiCaL", "-", took, reason)

    def system(self, settings: tuple[tuple[str, str], ...]) -> System:
        """Return one instance of the whole protocol. Raises BadInput if these settings make none."""
        return find(self.protocol).instance(settings).system

    def untaken(self, deadline: Deadline) -> set[str]:
        """Return the steps of the core that no simulation of the whole protocol takes.

        Raises Strays if the core cannot follow a simulation.
        """
        follower = Follower(self.refinement(self.system(self.shown_on)))
        missing = {schema.name for schema in follower.refinement.core.schemas}
        chance = random.Random(0)
        for _ in range(SIMULATIONS):
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
    """Yield the instance that the job names, or each E/WQ/AQ on each number of bookies, with two entries.

    The job has the largest number of bookies. Instances with E > WQ withdraw all acks before an ensemble
    change, because the code as it is loses acknowledged entries there (#3005).
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
    "No acknowledged entry is lost, and all clients agree on the last entry of a closed ledger. Proved "
    "of the core for all sizes, and of today's protocol size by size.",
    "the core of BookKeeper  =>  no-divergence, acked-entries-on-ack-quorum, acked-entries-readable, "
    "entries-in-order",
    LemmaVerdict.PROVED,
    CoreParameters(),
    protocol="bookkeeper",
    refinement=ledger_refinement,
    shown_on=(("bookies", "3"), ("ensemble", "2"), ("write_quorum", "2"), ("ack_quorum", "2")),
)


def theorems() -> list[Theorem]:
    """Return every theorem."""
    return [BOOKKEEPER]
