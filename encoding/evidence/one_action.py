"""The questions behind a proof by induction over one action, each closed: about the beginning, and about each action by name.

The search asks one action at a time, and one action for others that only a renaming tells from it. Here every
action is asked about: all of one name in one question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from fencepost.encoding.errors import BadInput
from fencepost.encoding.evidence.queries import Clauses
from fencepost.encoding.evidence.smtlib import plain
from fencepost.encoding.formulas.guarded import ladder
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.induction.proof_obligations import (
    INITIALLY,
    WELL_DEFINED,
    ClaimFormulas,
    formulas,
    in_clauses,
)
from fencepost.encoding.language.state import show
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.solving.logic import Renaming, conj, disj, named

BEGINNING = "beginning"
"""The part that is about the state at first."""


def action_part(action: str) -> str:
    """The part that is about the actions of that name, as files and messages call it: `action-handle-add`."""
    return f"action-{action.replace(' ', '-')}"


@dataclass(frozen=True)
class ActionStep:
    """Can an action of that name, or the beginning if there is no name, make one of these claims false?"""

    action: str | None
    claims: tuple[str, ...]

    names: ClassVar[str] = (
        "names: a variable has a value before the action (if none is true, the first of its values); a choice made up front "
        "is true; a claim holds before it; the action happens; a claim is false after it"
    )
    """What the named variables stand for."""

    @property
    def name(self) -> str:
        """As files and messages call it."""
        return BEGINNING if self.action is None else action_part(self.action)

    def sentences(self) -> tuple[str, str, str]:
        """The question, and what `sat` and `unsat` mean."""
        claims = ", ".join(self.claims)
        if self.action is None:
            asked = f"can one of these be false at first: {claims}?"
            return asked, "it can: there is no proof by induction from these", "none can"
        from_where = "from a state in which all of these hold"
        others = "if that is so at first and for every other action, all of them hold for ever"
        return (
            f"{from_where}, can {self.action} make one of them false, or be badly defined: {claims}?",
            "it can, from a state that may well be out of reach: nothing is proved",
            f"it cannot; {others}, and {WELL_DEFINED}",
        )


def steps(system: System, claims: Iterable[str]) -> list[ActionStep]:
    """What must have no answer for these claims to be inductive: about the beginning, and about every action."""
    names = tuple(c.name for c in chosen(system, claims))
    return [ActionStep(action, names) for action in (None, *dict.fromkeys(s.name for s in system.schemas))]


def chosen(system: System, names: Iterable[str]) -> list[Property | Invariant]:
    """The facts and properties of those names, in order of declaration; raises BadInput for a name that is neither."""
    known: list[Property | Invariant] = [*system.invariants, *system.properties]
    valid, wanted = [claim.name for claim in known], set(names)
    for name in sorted(wanted.difference(valid)):
        raise BadInput(f"{name}: no such fact or property; valid: {', '.join(valid)}")
    return [claim for claim in known if claim.name in wanted]


class SingleActions:
    """A system of which steps can be asked. Raises ModelError if a sending may happen twice with one loss."""

    def __init__(self, system: System) -> None:
        sent_at_most_once(system)
        self._system, self._symbolic = system, Symbolic(system)

    def clauses(self, step: ActionStep) -> Clauses:
        """The question as clauses."""
        read = self._formulas(step)
        asked = in_clauses(read)
        clauses, ways = list(asked.clauses), list[int]()
        for way, question in enumerate(asked.questions, asked.size + 1):
            clauses += [[-way, question.happens], [-way, *question.fails.values()]]
            ways.append(way)
        asking = asked.size + len(ways) + 1
        clauses += [[asking], [-asking, *ways]]
        if step.action is not None:
            clauses += [[literal] for literal in asked.holds.values()]
        return Clauses(clauses, asking, dict(enumerate(self._names(read), 1)))

    def smtlib(self, step: ActionStep, said: Iterable[str]) -> str:
        """A closed script that is unsatisfiable if and only if the answer is no: the formulas before they become clauses."""
        read = self._formulas(step)
        names = [plain(name) for name in self._names(read)]
        assert len(set(names)) == len(names), "two variables of one name"
        renamed = Renaming([(old, named(name)) for old, name in zip(read.named, names, strict=True)])
        question = disj(conj((asked.happens, disj(asked.fails.values()))) for asked in read.asked)
        held = [] if step.action is None else list(read.holds.values())
        lines = [f"; {line}" for line in said]
        lines.append("(set-logic QF_UF)")
        further = [str(rung) for own in read.before for rung in ladder(list(own))]
        lines += [f"(declare-const {named(name).sexpr()} Bool)" for name in (*names, *further)]
        lines += [f"(assert {renamed(f).sexpr()})" for f in (*read.constraints, *held, question)]
        return "\n".join([*lines, "(check-sat)"]) + "\n"

    def _formulas(self, step: ActionStep) -> ClaimFormulas:
        actions = enumerate(self._symbolic.actions)
        slots = [slot for slot, action in actions if action.schema.name == step.action]
        asked = [INITIALLY] if step.action is None else slots
        return formulas(self._symbolic, chosen(self._system, step.claims), asked)

    def _names(self, read: ClaimFormulas) -> Iterator[str]:
        """What the named Booleans stand for."""
        for variable in self._system.variables:
            if variable.place in self._symbolic.written:
                yield from (f"{variable.name} = {show(value)} before" for value in variable.domain.values[1:])
        yield from (choice.name for choice in self._system.choices)
        yield from (f"{name} holds before" for name in read.holds)
        for asked in read.asked:
            what = "at first" if asked.slot == INITIALLY else self._symbolic.actions[asked.slot].name
            yield f"{what} happens"
            yield from (f"{name} is false after {what}" for name in asked.fails)
