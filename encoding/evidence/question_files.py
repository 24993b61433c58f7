"""The questions that a proof needs, and each of them as a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from fencepost.encoding.errors import BadInput
from fencepost.encoding.evidence.manifests import Claim, LiveClaim
from fencepost.encoding.evidence.one_action import ActionStep, SingleActions, steps
from fencepost.encoding.evidence.queries import Clauses, Encoded, Kind, Query
from fencepost.encoding.evidence.smtlib import smtlib
from fencepost.encoding.language.state import show_all
from fencepost.encoding.language.system import Liveness, Property, System, choose
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.liveness.monitor import monitored

Question = Query | ActionStep


def questions_of(claim: Claim, claims: Sequence[Claim], system: System) -> list[Question]:
    """Return the questions of a claim, all of which must be unsatisfiable.

    The claims of induction over one action are proved together, so they share their questions: `claims` has
    all claims of the certificate, and `system` carries the clauses that were found.
    """
    if claim.rounds is None:
        names = {name for c in claims if c.rounds is None for name in (c.property, *c.invariants)}
        return list(steps(system, names))
    return [
        Query(Kind.WELL_DEFINED, claim.rounds),
        Query(Kind.COMPLETENESS, claim.rounds),
        Query(Kind.PROPERTY, claim.rounds, claim.property),
    ]


def questions(claims: Sequence[Claim], system: System) -> list[Question]:
    """Return the questions of all claims, each once."""
    return list(
        dict.fromkeys(question for claim in claims for question in questions_of(claim, claims, system))
    )


def monitored_system(live: LiveClaim, system: System, subject: Subject, budgets: Mapping[str, int]) -> System:
    """Return the system that a claim of liveness is about, built from the protocol. Raises BadInput."""
    (prop,) = choose(system, (live.claim.property,), with_liveness=True)
    if not isinstance(prop, Liveness):
        raise BadInput(f"{prop.name}: is about states; a claim of liveness is about {_names(system)}")
    return monitored(system, subject, prop, live.by, live.rounds, budgets.keys()).system


def _names(system: System) -> str:
    return ", ".join(prop.name for prop in system.liveness) or "nothing here"


class Asking:
    """The encodings of a system within budgets of faults; each is built when a question needs it.

    Building raises the errors of `Encoded` and `SingleActions`.
    """

    def __init__(self, system: System, properties: Sequence[Property], budgets: Mapping[str, int]) -> None:
        """Take the system; nothing is built yet."""
        self._system, self._properties, self._budgets = system, properties, budgets

    @cached_property
    def rounds(self) -> Encoded:
        """The encoding for questions about rounds."""
        return Encoded(self._system, self._properties, self._budgets)

    @cached_property
    def actions(self) -> SingleActions:
        """The encoding for questions about one action."""
        return SingleActions(self._system)

    def clauses(self, question: Question) -> Clauses:
        """Return the question as clauses."""
        if isinstance(question, ActionStep):
            return self.actions.clauses(question)
        return self.rounds.clauses(question)

    def smtlib(self, question: Question, header: Iterable[str]) -> str:
        """Return the question as SMT-LIB 2 text, made of the formulas before they become clauses."""
        if isinstance(question, ActionStep):
            return self.actions.smtlib(question, header)
        return smtlib(self.rounds, question, header)


def remarks(question: Question, subject: Subject, budgets: Mapping[str, int]) -> list[str]:
    """Return the remarks at the top of a question's file; budgets do not apply to one action."""
    asked, sat, unsat = question.sentences()
    within = {} if isinstance(question, ActionStep) else budgets
    return [
        f"{subject.protocol}: {show_all({**subject.parameters, **subject.switches})}",
        *([f"at most: {', '.join(f'{name} {most}' for name, most in within.items())}"] if within else []),
        f"{question.name}: {asked}",
        f"sat: {sat}",
        f"unsat: {unsat}",
        question.names,
        *(
            f"{name}: {clause}"
            for name, clause in (question.found.items() if isinstance(question, ActionStep) else ())
        ),
    ]
