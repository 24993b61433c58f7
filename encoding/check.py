"""A check: properties of an instance, put to engines that work side by side, up to a verdict.

Enumeration comes first and alone, up to a fixed number of states, and goes on if the sizes of its levels show
that its end is in sight. Otherwise induction over one action and IC3 prove, while rounds look for violations;
rounds are searched to the end once these proofs are over, or have had 20 processor seconds. The proofs have
one turn alone: a few processor seconds once an end is in sight, or, if nothing is declared, once rounds have
had 1.6 and found no violation. If invariants are declared, it is the first fifth of a second.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from fencepost.encoding.engine.events import Listener, Underway
from fencepost.encoding.engine.limits import Limits, validate
from fencepost.encoding.engine.verdicts import Outcome, Result, Verdict
from fencepost.encoding.engine.work import Engine, Work
from fencepost.encoding.enumeration.state_enumeration import StateEnumeration
from fencepost.encoding.formulas.commutation_cache import cache_folder, usable
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.ic3.found_proof import FoundProof
from fencepost.encoding.ic3.kept_proof import Kept, KeptProof
from fencepost.encoding.ic3.shortest_violation import ShortestViolation
from fencepost.encoding.induction.inductive_proof import InductiveProof
from fencepost.encoding.language.protocol import Checkable
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.rounds.bounded_search import PROOFS_FIRST, BoundedSearch
from fencepost.encoding.rounds.further_counterexamples import search_further

TURN = 2.0
"""The processor seconds that the proofs have while an enumeration waits, its end in sight, at least."""

PACE = 125_000
"""If more states are expected, the proofs have a second for so many: a third of the time of the states."""

GLIMPSE = 1.6
"""The processor seconds of rounds after which IC3 has a turn, if nothing is violated and nothing declared."""

ALONE = 4.0
"""The processor seconds that the proofs have by the end of that turn."""

AHEAD = 0.2
"""The processor seconds of induction with declared invariants before rounds begin. It proves many soon."""

SOON = 1.0
"""The seconds of a check after which rounds begin all the same, if induction has had no processor."""


class EngineOrder:
    """The order of the engines of a check: which of them may work at the moment."""

    def __init__(
        self,
        work: Work,
        enumeration: StateEnumeration,
        induction: InductiveProof,
        finding: FoundProof,
        rounds: BoundedSearch,
    ) -> None:
        """Begin before any engine has begun."""
        self._work, self._enumeration, self._induction = work, enumeration, induction
        self._finding, self._rounds = finding, rounds

    def may_work(self, engine: Engine) -> bool:
        """Return whether an engine may begin, or go on."""
        enumeration, finding = self._enumeration, self._finding
        if finding.suits and not finding.is_over and self._proofs_have_a_turn():
            return engine is not enumeration and engine is not self._rounds
        if engine is self._rounds and self._induction_is_ahead():
            return False
        if engine is enumeration or enumeration.is_over:
            return True
        waits = engine is self._rounds and self._spent_by_proofs() < PROOFS_FIRST
        return not enumeration.is_alone and not waits

    def _proofs_have_a_turn(self) -> bool:
        turn = self._turn()
        return turn > 0.0 and turn > self._spent_by_proofs()

    def _induction_is_ahead(self) -> bool:
        """Return whether rounds wait, because induction with declared invariants may soon be over."""
        work, induction = self._work, self._induction
        if not work.system.invariants or not induction.suits or induction.is_over or self._is_in_sequence():
            return False
        return work.spent_by(induction) < AHEAD and time.perf_counter() - work.begun < SOON

    def _is_in_sequence(self) -> bool:
        """Return whether engines work one after the other, or the speed of the machine must not count."""
        return self._work.limits.jobs == 1 or self._work.limits.conflicts is not None

    def _spent_by_proofs(self) -> float:
        return self._work.spent_by(self._induction, self._finding)

    def _turn(self) -> float:
        """Return the processor seconds that the proofs have before the others go on; 0 without a turn."""
        work, expected = self._work, self._enumeration.expected
        if self._is_in_sequence():
            return 0.0
        if expected is not None:
            return max(TURN, expected / PACE)
        if work.system.invariants or work.spent_by(self._rounds) < GLIMPSE:
            return 0.0
        return 0.0 if any(work.knowledge.violation(prop.name) for prop in work.properties) else ALONE


def check(
    instance: Checkable,
    properties: Sequence[Property],
    limits: Limits,
    listener: Listener = lambda event: None,
    kept: Kept | None = None,
) -> Outcome:
    """Look for violations of properties of an instance, and for proofs, within the limits.

    `kept` has clauses of an earlier certificate, which are asked first. `listener` is told how the check
    goes. Ctrl-C ends the check with what is known by then. Raises BadInput for limits that mean nothing for
    this system, ModelError if an action is not well defined, InternalError if an execution that a solver
    found does not replay.
    """
    refuse_uncheckable(instance.system, limits)
    return decide(instance, properties, limits, listener, kept)


def decide(
    instance: Checkable,
    properties: Sequence[Property],
    limits: Limits,
    listener: Listener = lambda event: None,
    kept: Kept | None = None,
) -> Outcome:
    """Do the same for a system that `refuse_uncheckable` has accepted, or that was made from such a one."""
    work = Work(instance, properties, limits, listener)
    try:
        listener(Underway(work.outcome))
        if kept is not None:
            work.run([KeptProof(work, kept)], work.is_enough)
        enumeration, induction = StateEnumeration(work), InductiveProof(work)
        finding = FoundProof(work, induction)
        first: list[Engine] = [induction]
        if limits.jobs > 1:  # with one job, in the order below
            first.append(finding)
        rounds = BoundedSearch(work, first)
        shortest = ShortestViolation(work, induction, rounds)
        engines: list[Engine] = [enumeration, induction, rounds, finding, shortest]
        order = EngineOrder(work, enumeration, induction, finding, rounds)
        work.stopped = work.run(engines, work.is_enough, order.may_work)
        if rounds.findings is not None:
            search_further(rounds.findings)
        if not limits.searches:
            alone = "others are found by the engine rounds, which was not asked"
            work.no_further = {prop.name: work.stopped or alone for prop in properties}
            work.stopped = work.stopped or "no other engine was asked"
    except KeyboardInterrupt:
        work.interrupted = True
    finally:
        work.crew.dismiss()
    return work.outcome()


def settled_by_induction(
    instance: Checkable, properties: Sequence[Property], limits: Limits
) -> tuple[Result, ...]:
    """Return the results of those properties that induction over one action settles.

    All claims are carried together. Raises what `check` raises.
    """
    if not limits.inducts(instance.system):
        return ()
    outcome = check(instance, properties, replace(limits, engines=("induction",)))
    return tuple(result for result in outcome.results if result.verdict is not Verdict.UNDECIDED)


def refuse_uncheckable(system: System, limits: Limits) -> None:
    """Raise BadInput or ModelError, before a check begins, for what `check` cannot check."""
    validate(limits, system)
    sent_at_most_once(system)
    folder = cache_folder()
    if folder is not None:
        usable(folder)  # refused once here, not in each process that looks for kept answers
