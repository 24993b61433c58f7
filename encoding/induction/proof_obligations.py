"""What must have no answer for claims to be inductive over one action, as clauses.

All claims are carried together: properties, declared facts, and that no step is badly defined. One question asks
whether one of them is false at first. For each action, with its arguments, one asks whether in some state in which all
of them hold the action can happen and make one of them false. There are no rounds, no order of actions and no normal form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from fencepost.encoding.formulas.cnf import numbered
from fencepost.encoding.formulas.guarded import well_formed
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.terms import Term
from fencepost.encoding.solving.clauses import Clause
from fencepost.encoding.solving.logic import FALSE, TRUE, Formula, conj, disj, iff, named, neg

WELL_DEFINED = "no action sets a variable twice and/or outside its domain"
"""The claim that is carried along with all others, in words. A slash is in no name of a property (`file_name`)."""


class Statement(Protocol):
    """A truth about states under a name: a property, an invariant, or a claim of the engine's own."""

    @property
    def name(self) -> str: ...

    @property
    def holds(self) -> Term: ...


@dataclass(frozen=True)
class Never:
    """The claim that the witness of a property is never true. No property has such a name either."""

    about: Property

    @property
    def name(self) -> str:
        """The name of the property after a slash."""
        return f"never/{self.about.name}"

    @cached_property
    def holds(self) -> Term:
        """The witness is not true."""
        return ~self.about.witness


INITIALLY = -1
"""Stands for an action's slot in the question about the state at first."""


@dataclass(frozen=True)
class ObligationQuestion:
    """Whether an action, or the beginning, can make a claim false.

    `happens` is a literal under which the action can happen in the state before. `fails` has the claims that it may touch, each
    with a literal under which the claim is false after it; the others it keeps, whatever the state.
    """

    slot: int
    happens: int
    fails: Mapping[str, int]


@dataclass(frozen=True)
class Obligations:
    """The questions about a system and its claims: plain data, without z3.

    Variables are numbered from 1: first the Booleans of the state before, then the choices. `widths` says how many of the
    Booleans belong to each variable in turn. `holds` has for each claim a literal under which it holds before.
    """

    clauses: list[Clause]
    size: int
    widths: list[int]
    choices: int
    holds: Mapping[str, int]
    questions: tuple[ObligationQuestion, ...]


@dataclass(frozen=True)
class Asked:
    """One question as formulas: whether `happens` can be true together with one of `fails`."""

    slot: int
    happens: Formula
    fails: Mapping[str, Formula]
    constraints: list[Formula]


@dataclass(frozen=True)
class ClaimFormulas:
    """The questions as formulas, before they become clauses.

    `before` has the Booleans of the state before an action, by variable, `choices` those of the choices; `holds` a name for each
    claim, which implies it. `constraints` hold whatever is asked.
    """

    before: Sequence[Sequence[Formula]]
    choices: Sequence[Formula]
    holds: Mapping[str, Formula]
    asked: Sequence[Asked]
    constraints: Sequence[Formula]

    @property
    def named(self) -> list[Formula]:
        """Every Boolean with a name, in the order of their numbers in clauses: state, choices, claims, question by question."""
        own = [bit for bits in self.before for bit in bits]
        asked = [f for question in self.asked for f in (question.happens, *question.fails.values())]
        return [*own, *self.choices, *self.holds.values(), *asked]


@dataclass(frozen=True)
class _Part:
    """One conjunct of a claim, and the places that it may depend on."""

    formula: Formula
    places: frozenset[int]


_Parts = Mapping[str, Sequence[_Part]]
"""The conjuncts of each claim, by its name."""


def formulas(
    symbolic: Symbolic, claims: Sequence[Statement], slots: Iterable[int] | None = None
) -> ClaimFormulas:
    """The questions about these claims: about the beginning if `INITIALLY` is among the slots, and about the actions of the
    others; all if none are given.

    Raises ModelError for a claim that reads a choice.
    """
    state = [v for v in symbolic.system.variables if v.place in symbolic.written]
    parts = {claim.name: _conjuncts(symbolic, claim) for claim in claims}
    holds = {name: named(f"holds:{name}") for name in parts}
    asked = [
        _about_the_beginning(symbolic, parts)
        if slot == INITIALLY
        else _about_an_action(symbolic, slot, parts)
        for slot in ((INITIALLY, *range(len(symbolic.effects))) if slots is None else slots)
    ]
    constraints = [
        *(well_formed(symbolic.bits[v.place]) for v in state),
        *(disj((neg(holds[name]), part.formula)) for name, own in parts.items() for part in own),
        *(constraint for question in asked for constraint in question.constraints),
    ]
    return ClaimFormulas(
        before=[symbolic.bits[v.place] for v in state],
        choices=[bit for v in symbolic.system.choices for bit in symbolic.bits[v.place]],
        holds=holds,
        asked=asked,
        constraints=[c for c in constraints if c is not TRUE],
    )


def obligations(
    symbolic: Symbolic, claims: Sequence[Statement], slots: Iterable[int] | None = None
) -> Obligations:
    """The same questions as clauses."""
    return in_clauses(formulas(symbolic, claims, slots))


def in_clauses(said: ClaimFormulas) -> Obligations:
    """These questions as clauses."""
    cnf = numbered(said.constraints, said.named)
    return Obligations(
        clauses=cnf.clauses,
        size=cnf.size,
        widths=[len(own) for own in said.before],
        choices=len(said.choices),
        holds={name: cnf.numbers[str(f)] for name, f in said.holds.items()},
        questions=tuple(
            ObligationQuestion(
                question.slot,
                cnf.numbers[str(question.happens)],
                {name: cnf.numbers[str(f)] for name, f in question.fails.items()},
            )
            for question in said.asked
        ),
    )


def _conjuncts(symbolic: Symbolic, claim: Statement) -> list[_Part]:
    """What a claim says, in parts that must all hold."""
    return [_Part(f, places) for f, places in symbolic.conjuncts(claim.holds) if f is not TRUE]


def _about_the_beginning(symbolic: Symbolic, parts: _Parts) -> Asked:
    """Whether a claim is false at first."""
    happens = named("happens at first")
    first = []
    for v in symbolic.system.variables:
        if v.place in symbolic.written:
            initial = symbolic.system.initial[v.place]
            values = zip(symbolic.bits[v.place], v.domain.values[1:], strict=True)
            first += [bit if value == initial else neg(bit) for bit, value in values]
    broken = {name: [neg(part.formula) for part in own] for name, own in parts.items()}
    return _asked(INITIALLY, happens, conj(first), broken)


def _about_an_action(symbolic: Symbolic, slot: int, parts: _Parts) -> Asked:
    """Whether the action of that slot makes a claim false."""
    effect = symbolic.effects[slot]
    broken = {name: list(_broken(symbolic, slot, own)) for name, own in parts.items()}
    broken[WELL_DEFINED] = [] if effect.wrong is FALSE else [effect.wrong]
    return _asked(slot, named(f"happens:{slot}"), effect.guard, broken)


def _asked(slot: int, happens: Formula, guard: Formula, broken: Mapping[str, Sequence[Formula]]) -> Asked:
    fails = {name: named(f"fails:{slot}:{name}") for name, ways in broken.items() if ways}
    constraints = [disj((neg(happens), guard))]
    constraints += [disj((neg(fails[name]), *broken[name])) for name in fails]
    return Asked(slot, happens, fails, constraints)


def _broken(symbolic: Symbolic, slot: int, parts: Sequence[_Part]) -> Iterator[Formula]:
    """How the action can make a claim false that held before: the parts that it may touch, each false after it."""
    past, written = symbolic.past[slot], symbolic.effects[slot].after.keys()
    for part in parts:
        if not part.places.isdisjoint(written):
            after = past(part.formula)
            if after is not TRUE and iff(after, part.formula) is not TRUE:
                yield neg(after)
