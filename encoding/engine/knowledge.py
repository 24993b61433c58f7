"""Knowledge: the evidence of the searches so far, and the verdict that it justifies.

Messages go in, a `Decision` or nothing comes out. This module starts no process, reads no clock and calls no
solver. The loop that asks whether to go on and the code that writes the result read the same `Decision`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import assert_never

from fencepost.encoding.engine.events import (
    ByActions,
    Heard,
    NotByActions,
    PatienceOver,
    Replayed,
    Seen,
    StepsAtLeast,
    Unreached,
)
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.messages import (
    Clean,
    Complete,
    Execution,
    Longer,
    Surpassed,
    Visited,
    Witnessed,
)
from fencepost.encoding.engine.property_evidence import PropertyEvidence
from fencepost.encoding.engine.verdicts import Basis, Fewest, Result, Verdict
from fencepost.encoding.language.system import Property


@dataclass(frozen=True)
class Decision:
    """A verdict that the evidence justifies.

    `final` says that the searches can find nothing that would improve the result.
    """

    verdict: Verdict
    final: bool = True
    basis: Basis | None = None


@dataclass
class Knowledge:
    """The evidence about some properties within limits."""

    properties: Sequence[Property]
    limits: Limits
    proving: bool = False
    """Whether an engine may still prove what searches by rounds only say holds within a limit."""
    visiting: bool = False
    """Whether the first states of an enumeration are being visited. Other proofs are not final until then."""
    visited: Visited | None = None
    """The states of an enumeration that visited all that are reachable within the limits."""
    surpassed: bool | None = None
    """Whether some execution takes more steps than the bound. None if that is not known."""
    _longer: int = -1
    _complete: dict[int | None, int] = field(default_factory=dict)
    """The number of rounds that cover every execution, by the largest number of steps considered."""
    _about: dict[str, PropertyEvidence] = field(init=False)

    def __post_init__(self) -> None:
        """Begin without evidence."""
        self._about = {prop.name: PropertyEvidence(prop) for prop in self.properties}

    def hear(self, message: Heard) -> None:
        """Record the evidence of a message."""
        match message:
            case Replayed(property=name):
                self._about[name].see(message)
            case StepsAtLeast(property=name, steps=steps):
                self._about[name].at_least = max(self._about[name].at_least, steps)
            case PatienceOver(property=name):
                self._about[name].patience_is_over = True
            case Visited():
                self.visited = message
            case Clean(property=name, below=below):
                self._about[name].clean = message
                known = self._about[name].about_steps
                deepest = known is None or known.rounds <= message.rounds
                if deepest and (below is None or len(below) == 1):
                    self._about[name].about_steps = message
            case Witnessed(property=name, execution=execution):
                self._about[name].witness = execution
            case Unreached(property=name):
                self._about[name].never = True
            case Seen(property=name):
                self._about[name].seen = True
            case ByActions(property=name):
                self._about[name].by_actions = message
            case NotByActions(property=name, reason=reason):
                self._about[name].not_by_actions = reason
            case Complete(rounds=rounds, steps=steps):
                self._complete[steps] = rounds
            case Longer(rounds=rounds, steps=steps):
                if steps == self.limits.bound:
                    self._longer = max(self._longer, rounds)
            case Surpassed(longer=longer):
                self.surpassed = longer

    # How far the searches are.

    def is_inductive(self, name: str) -> bool:
        """Return whether induction over one action proves the property, with its witness or without."""
        return self._about[name].by_actions is not None

    def violation(self, name: str) -> Replayed | None:
        """Return the cheapest violation found."""
        return self._about[name].violation

    def witness(self, name: str) -> Execution | None:
        """Return an execution to the property's witness."""
        return self._about[name].witness

    def searched(self, name: str) -> int:
        """Return the deepest round in which no violation, or no cheaper one, is left to find."""
        return self._about[name].searched

    def covering(self, steps: int | None) -> int | None:
        """Return the number of rounds that cover every execution of at most `steps` steps.

        No execution needs more rounds than it has steps. None if `steps` is None and the number is not known.
        """
        known = [
            r for cap, r in self._complete.items() if cap is None or (steps is not None and cap >= steps)
        ]
        if steps is not None:
            known.append(steps)
        return max(min(known), 1) if known else None

    def shortest_at_least(self, name: str) -> int | None:
        """Return the number of steps that each violation within the limits takes at least.

        None if nothing is proved. What costs more faults than the trace may take fewer steps than it.
        """
        about = self._about[name]
        if about.costs is not None and about.costs[-1:] == (0,):
            return 0
        by_rounds = 0 if about.about_steps is None else at_least(about.about_steps, self._complete)
        return max(by_rounds, about.at_least) or None

    def longest_useful(self) -> int | None:
        """Return the largest step count at which a shorter counterexample could still improve a result.

        None means no limit: some property has no counterexample yet.
        """
        found = [about.costs for about in self._about.values() if about.costs and about.searched]
        if self._complete or len(found) < len(self._about) or any(any(costs[:-1]) for costs in found):
            return None
        return max(costs[-1] for costs in found) - 1

    @property
    def longer(self) -> int | None:
        """The number of rounds that are known to be too few for some execution, or None."""
        return self._longer if self._longer >= 0 else None

    # What that comes to.

    def settled(self, name: str) -> bool:
        """Return whether nothing that the searches may still find would improve the result."""
        decision = self.decision(name)
        return decision is not None and decision.final

    def is_proved(self, name: str) -> bool:
        """Return whether the property is proved, with its witness, also if the basis may still change."""
        decision = self.decision(name)
        return decision is not None and decision.verdict is Verdict.PROVED

    def decision(self, name: str) -> Decision | None:
        """Return the verdict that the messages so far justify, or None while they justify none."""
        about = self._about[name]
        if about.violation is not None:
            return Decision(Verdict.VIOLATED, final=self._is_small_enough(about))
        if about.never:
            return Decision(Verdict.VACUOUS)
        if self.visited is not None:
            if not about.witnessed:
                return Decision(Verdict.VACUOUS)
            if self.visited.goes_on:
                return Decision(Verdict.HOLDS)
            return Decision(Verdict.PROVED, basis=Basis.ENUMERATION)
        if about.by_actions is not None and about.witnessed:
            return Decision(Verdict.PROVED, final=not self.visiting, basis=Basis.INDUCTION)
        if self._is_covered(about) and (self.limits.bound is None or self.surpassed is not None):
            if not about.witnessed:
                return Decision(Verdict.VACUOUS)
            if self.surpassed:
                return Decision(Verdict.HOLDS)
            return Decision(Verdict.PROVED, basis=Basis.ROUNDS)
        limit = self.limits.rounds
        if limit is not None and about.searched >= limit and self._longer >= limit:
            verdict = Verdict.HOLDS if about.witnessed else Verdict.VACUOUS
            return Decision(verdict, final=not self.proving)
        return None

    def _is_covered(self, about: PropertyEvidence) -> bool:
        """Return whether every execution within the limits was searched."""
        covering = self.covering(self.limits.bound)
        return covering is not None and about.searched >= covering

    def _is_small_enough(self, about: PropertyEvidence) -> bool:
        limit = self.limits.rounds
        at_limit = limit is not None and about.searched >= limit
        enough = self.limits.minimize is Minimize.NONE or about.patience_is_over or at_limit
        return enough or self._is_fewest(about)

    def _is_fewest(self, about: PropertyEvidence) -> bool:
        """Return whether no execution within the limits violates the property at a lower cost.

        Only shorter executions matter if only steps are counted, or if the trace has no fault.
        """
        if self.limits.minimize is Minimize.NONE:
            return False
        assert about.costs is not None
        if self.limits.minimize is Minimize.STEPS and about.at_least >= about.costs[-1]:
            return True
        steps = self.limits.bound
        if not any(about.costs[:-1]):
            steps = about.costs[-1] - 1
            if steps < 0:
                return True
        covering = self.covering(steps)
        return covering is not None and about.searched >= covering

    # The results.

    def result(self, name: str, seconds: float, stopped: str) -> Result:
        """Return the result that the evidence justifies.

        `stopped` says why the searches ended, for a result that is undecided.
        """
        about, decision = self._about[name], self.decision(name)
        verdict = Verdict.UNDECIDED if decision is None else decision.verdict
        by_visits = self.visited is not None and about.violation is None
        of_rounds = not by_visits and not _is_decided_by_actions(about, verdict)
        covering = self.covering(self.limits.bound) if of_rounds and self._is_covered(about) else None
        result = partial(
            Result,
            name,
            verdict,
            seconds,
            self.limits.solver,
            searched=about.searched if of_rounds else 0,
            covering=covering,
            visited=self.visited if by_visits else None,
            witness=about.witnessed,
            bound=self.limits.bound,
        )
        match verdict:
            case Verdict.VIOLATED:
                return self._violated(about, seconds, covering)
            case Verdict.UNDECIDED:
                reasons = [self._lacks(about), stopped, about.not_by_actions]
                return result(reason="; ".join(filter(None, reasons)))
            case Verdict.VACUOUS:
                all_visited = self.visited is not None and not self.visited.goes_on
                never = about.never or all_visited
                within = "" if never else " within the bound"
                may_be_reached = not never and (covering is None or self.limits.bound is not None)
                larger = "; a larger bound may reach it" if may_be_reached else ""
                reason = f"never reached{within}: {about.asked.witness_meaning}{larger}"
                return result(unreachable=not may_be_reached, reason=reason)
            case Verdict.HOLDS:
                return result(reason=about.not_by_actions)
            case Verdict.PROVED:
                assert decision is not None
                if (proof := about.by_actions) is None or decision.basis is not Basis.INDUCTION:
                    return result(basis=decision.basis)
                return result(basis=decision.basis, invariants=proof.invariants, found=proof.found)
            case _:
                assert_never(verdict)

    def _violated(self, about: PropertyEvidence, seconds: float, covering: int | None) -> Result:
        """Return the result about a violation."""
        assert about.violation is not None
        trace, rounds = about.violation.trace, about.violation.rounds
        fewest = None
        if self._is_fewest(about):
            fewest = Fewest.OF_ALL
        elif self.limits.minimize is not Minimize.NONE and rounds is not None and about.searched >= rounds:
            fewest = Fewest.WITHIN_ROUNDS
        return Result(
            about.asked.name,
            Verdict.VIOLATED,
            seconds,
            self.limits.solver,
            searched=max(about.searched, rounds or 0),
            covering=covering,
            witness=about.witnessed,
            bound=self.limits.bound,
            found_in=rounds,
            minimized=self.limits.minimize,
            fewest=fewest,
            shortest_at_least=self.shortest_at_least(about.asked.name),
            patience_is_over=about.patience_is_over and fewest is not Fewest.OF_ALL,
            steps=len(trace.steps),
            faults=dict(trace.faults),
            trace=trace,
        )

    def _lacks(self, about: PropertyEvidence) -> str | None:
        """Return what an inductive property lacks for a proof, or None."""
        if about.by_actions is None or about.witnessed:
            return None
        return f"inductive; its witness was not reached: {about.asked.witness_meaning}"


def _is_decided_by_actions(about: PropertyEvidence, verdict: Verdict) -> bool:
    """Return whether the verdict is that of induction over one action.

    Rounds that were searched meanwhile say nothing more, and their number depends on the machine.
    """
    if verdict is Verdict.PROVED:
        return about.by_actions is not None
    return verdict is Verdict.VACUOUS and about.never


def at_least(searched: Clean, complete: Mapping[int | None, int]) -> int:
    """Return the largest k for which these answers prove that no violation takes fewer than k steps.

    `searched` is about steps alone: no violation of fewer steps, or none at all, in so many rounds.
    `complete` has the number of rounds in which all executions of at most so many steps fit (None: of any).
    A violation that the search excludes does not fit in its rounds. So it takes more steps than there are
    rounds, because each round fires something, and more than the executions that fit.
    """
    rounds = searched.rounds
    fitting = [steps for steps, needed in complete.items() if needed <= rounds]
    covered = max([rounds, *(steps for steps in fitting if steps is not None)])
    if searched.below is None:
        return covered + 1
    (shortest,) = searched.below
    return shortest if None in fitting else min(shortest, covered + 1)
