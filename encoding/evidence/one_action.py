"""The proof obligations of induction over one action, each as a closed question.

The search has one question for each orbit of ground actions that differ only by renaming. Here every ground
action is in a question: those of one name share it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from fencepost.encoding.engine.named_clauses import found_text
from fencepost.encoding.errors import unknown_name
from fencepost.encoding.evidence.queries import Clauses
from fencepost.encoding.evidence.smtlib import plain
from fencepost.encoding.formulas.guarded import ladder
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.induction.proof_obligations import (
    INITIALLY,
    WELL_DEFINED,
    ClaimFormulas,
    as_clauses,
    formulas,
)
from fencepost.encoding.language.actions import Schema
from fencepost.encoding.language.carried_invariants import FoundInvariant
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.solving.logic import Renaming, conj, disj, named

BEGINNING = "beginning"
"""The name of the part about the initial states."""


def action_name(schema: Schema) -> str:
    """Return the name of an action. A monitored system has its arguments in the name of a schema."""
    return schema.name.partition("(")[0]


def action_part(action: str) -> str:
    """Return the name of the part about the actions of that name: `action-handle-add`."""
    return f"action-{action.replace(' ', '-')}"


@dataclass(frozen=True)
class ActionStep:
    """The question of the actions of that name, or without a name of the initial states: is a claim false?"""

    action: str | None
    claims: tuple[str, ...]
    found: Mapping[str, str] = field(default_factory=dict, compare=False)
    """The clauses among the claims that an engine found, as people read them, by name."""

    names: ClassVar[str] = (
        "names: a state variable has a value before the action (its first value if no other); a choice is "
        "true; a claim holds before the action; the action happens; a claim is false after the action"
    )
    """The meaning of the named Booleans."""

    @property
    def name(self) -> str:
        """The name of the part in files and messages."""
        return BEGINNING if self.action is None else action_part(self.action)

    def sentences(self) -> tuple[str, str, str]:
        """Return the question, and the meaning of `sat` and `unsat`."""
        named = [name for name in self.claims if name not in self.found]
        claims = ", ".join([*named, *([found_text(len(self.found))] if self.found else [])])
        if self.action is None:
            asked = f"can one of these claims be false in an initial state: {claims}?"
            return asked, "these claims are not inductive", "all of them hold there"
        asked = f"can {self.action} make one of them false, or be badly defined: {claims}?"
        return (
            f"from a state in which all of these hold, {asked}",
            "a claim can fail, from a state that may be unreachable: nothing is proved",
            f"if `{BEGINNING}` and all other actions are unsat too, they always hold, and {WELL_DEFINED}",
        )


def steps(system: System, claims: Iterable[str]) -> list[ActionStep]:
    """Return the proof obligations of these claims: of the initial states, and of every action.

    Clauses that the system carries and that were found are always among the claims.
    """
    claims = [*claims, *(i.name for i in system.invariants if isinstance(i, FoundInvariant))]
    known = claims_named(system, claims)
    names = tuple(claim.name for claim in known)
    found = {claim.name: claim.meaning for claim in known if isinstance(claim, FoundInvariant)}
    actions = (None, *dict.fromkeys(map(action_name, system.schemas)))
    return [ActionStep(action, names, found) for action in actions]


def claims_named(system: System, names: Iterable[str]) -> list[Property | Invariant]:
    """Return the invariants and properties of those names, in order of declaration. Raises BadInput."""
    known: list[Property | Invariant] = [*system.invariants, *system.properties]
    wanted = set(names)
    for name in sorted(wanted.difference(claim.name for claim in known)):
        valid = [claim.name for claim in known if not isinstance(claim, FoundInvariant)]
        raise unknown_name(name, "invariant or property", valid)
    return [claim for claim in known if claim.name in wanted]


class SingleActions:
    """A system with the proof obligations of induction over one action, as clauses or as SMT-LIB text."""

    def __init__(self, system: System) -> None:
        """Translate the system, in which no message is sent twice with one loss (`sent_at_most_once`)."""
        self._system, self._symbolic = system, Symbolic(system)

    def clauses(self, step: ActionStep) -> Clauses:
        """Return the question as clauses."""
        found = self._formulas(step)
        asked = as_clauses(found)
        clauses, ways = list(asked.clauses), list[int]()
        for way, question in enumerate(asked.questions, asked.size + 1):
            clauses += [[-way, question.happens], [-way, *question.fails.values()]]
            ways.append(way)
        asking = asked.size + len(ways) + 1
        clauses += [[asking], [-asking, *ways]]
        if step.action is not None:
            clauses += [[literal] for literal in asked.holds.values()]
        return Clauses(clauses, asking, dict(enumerate(self._names(found), 1)))

    def smtlib(self, step: ActionStep, header: Iterable[str]) -> str:
        """Return a closed script that is unsatisfiable if and only if the answer is no.

        It has the formulas as they are before they become clauses.
        """
        found = self._formulas(step)
        names = [plain(name) for name in self._names(found)]
        assert len(set(names)) == len(names), "two variables of one name"
        renamed = Renaming([(old, named(name)) for old, name in zip(found.named, names, strict=True)])
        question = disj(conj((asked.happens, disj(asked.fails.values()))) for asked in found.asked)
        held = [] if step.action is None else list(found.holds.values())
        lines = [f"; {line}" for line in header]
        lines.append("(set-logic QF_UF)")
        further = [str(rung) for own in found.before for rung in ladder(list(own))]
        lines += [f"(declare-const {named(name).sexpr()} Bool)" for name in (*names, *further)]
        lines += [f"(assert {renamed(f).sexpr()})" for f in (*found.constraints, *held, question)]
        return "\n".join([*lines, "(check-sat)"]) + "\n"

    def _formulas(self, step: ActionStep) -> ClaimFormulas:
        actions = enumerate(self._symbolic.actions)
        slots = [slot for slot, action in actions if action_name(action.schema) == step.action]
        asked = [INITIALLY] if step.action is None else slots
        return formulas(self._symbolic, claims_named(self._system, step.claims), asked)

    def _names(self, found: ClaimFormulas) -> Iterator[str]:
        """Yield the names of the named Booleans."""
        for variable in self._system.variables:
            if variable.place in self._symbolic.varying:
                yield from (f"{variable.name} = {show(value)} before" for value in variable.domain.values[1:])
        yield from (choice.name for choice in self._system.choices)
        yield from (f"{name} holds before" for name in found.holds)
        for asked in found.asked:
            what = "at first" if asked.slot == INITIALLY else self._symbolic.actions[asked.slot].name
            yield f"{what} happens"
            yield from (f"{name} is false after {what}" for name in asked.fails)
