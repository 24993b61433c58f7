"""The questions of a proof, of whatever kind: which there are, and each as a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from fencepost.encoding.engine.verdicts import Basis
from fencepost.encoding.evidence.manifests import Claim
from fencepost.encoding.evidence.one_action import ActionStep, SingleActions, steps
from fencepost.encoding.evidence.queries import Clauses, Encoded, Kind, Query
from fencepost.encoding.evidence.smtlib import smtlib
from fencepost.encoding.language.state import show_all
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.traces import Subject

Question = Query | ActionStep


def needed(claim: Claim, claims: Sequence[Claim], system: System) -> list[Question]:
    """What must have no answer for a claim to be proved; it stands together with all `claims`.

    Those of induction over one action share their questions: what each rests on is carried by all of them.
    """
    if claim.rounds is None:
        carried = {name for c in claims if c.rounds is None for name in (c.property, *c.invariants)}
        return list(steps(system, carried))
    if claim.basis is Basis.INDUCTION:
        return [Query(kind, claim.rounds, claim.property) for kind in (Kind.BASE, Kind.STEP)]
    return [
        Query(Kind.WELL_DEFINED, claim.rounds),
        Query(Kind.COMPLETENESS, claim.rounds),
        Query(Kind.PROPERTY, claim.rounds, claim.property),
    ]


def questions(claims: Sequence[Claim], system: System) -> list[Question]:
    """The questions of all claims, each once."""
    return list(dict.fromkeys(question for claim in claims for question in needed(claim, claims, system)))


class Asking:
    """A system of which questions can be asked, within budgets of faults; what they need is built when they do.

    Raises as `Encoded` does.
    """

    def __init__(
        self,
        system: System,
        properties: Sequence[Property],
        budgets: Mapping[str, int],
        cached: bool = True,
    ) -> None:
        self._system, self._properties, self._budgets, self._cached = system, properties, budgets, cached

    @cached_property
    def rounds(self) -> Encoded:
        """What is asked about rounds."""
        return Encoded(self._system, self._properties, self._budgets, self._cached)

    @cached_property
    def actions(self) -> SingleActions:
        """What is asked about one action."""
        return SingleActions(self._system)

    def clauses(self, question: Question) -> Clauses:
        """The question as clauses."""
        if isinstance(question, ActionStep):
            return self.actions.clauses(question)
        return self.rounds.clauses(question)

    def smtlib(self, question: Question, said: Iterable[str]) -> str:
        """The question as SMT-LIB 2 text, without what makes clauses of formulas."""
        if isinstance(question, ActionStep):
            return self.actions.smtlib(question, said)
        return smtlib(self.rounds, question, said)


def remarks(question: Question, subject: Subject, budgets: Mapping[str, int]) -> list[str]:
    """What a file with a question in it says of itself: no budget limits what one action does."""
    asked, sat, unsat = question.sentences()
    within = {} if isinstance(question, ActionStep) else budgets
    return [
        f"{subject.protocol}: {show_all({**subject.parameters, **subject.switches})}",
        *([f"at most: {', '.join(f'{name} {most}' for name, most in within.items())}"] if within else []),
        f"{question.name}: {asked}",
        f"sat: {sat}",
        f"unsat: {unsat}",
        question.names,
    ]
