"""Proof obligations of induction over one action, as clauses.

The claims are proved together: properties, declared invariants, and that no action is badly defined. Each
proof obligation is a question that must have no answer. The first asks whether a claim is false in an
initial state. Then each ground action has one: is there a state in which all claims hold, in which the action
can happen, and after which a claim is false? Rounds, the order of actions and the normal form play no part
here.

A claim that an engine found (`FoundInvariant`) may read choices. A choice is one variable of a question: no
action writes it, so it has the same value before and after the action, and in an initial state it may have
any value. An execution has fixed choices too. So if every question has no answer, the claim holds in each
state of each execution, whatever is lost in it. Properties and written invariants are claims about states
alone, and are refused if they read a choice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from fencepost.encoding.formulas.cnf import numbered
from fencepost.encoding.formulas.guarded import well_formed
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language.carried_invariants import FoundInvariant
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.terms import Term
from fencepost.encoding.solving.clauses import Clause
from fencepost.encoding.solving.logic import FALSE, TRUE, Formula, conj, disj, key, name_of, named, neg

WELL_DEFINED = "no action sets a variable twice and/or outside its domain"
"""The name of the claim that is proved with all others. No name of a property has a slash (`file_name`)."""


class Statement(Protocol):
    """A named claim about states: a property, an invariant, or a claim of the engine's own."""

    @property
    def name(self) -> str:
        """The name of the claim."""
        ...

    @property
    def holds(self) -> Term:
        """The term that is true in the states in which the claim holds."""
        ...


@dataclass(frozen=True)
class Never:
    """The claim that the witness of a property is never true. No property has a name like its name."""

    about: Property

    @property
    def name(self) -> str:
        """The name of the property after a slash."""
        return f"never/{self.about.name}"

    @cached_property
    def holds(self) -> Term:
        """The negation of the witness."""
        return ~self.about.witness


def property_of(claim: Statement) -> str:
    """Return the name of the property that a claim is about."""
    return claim.about.name if isinstance(claim, Never) else claim.name


INITIALLY = -1
"""The slot of the proof obligation about the initial states, which has no action."""


@dataclass(frozen=True)
class ObligationQuestion:
    """The proof obligation of one action, or of the initial states: can a claim be false then?

    `happens` is a literal that implies that the action can happen in the state before. `fails` has each claim
    that the action may change, with a literal that implies that the claim is false after it. The action keeps
    all other claims, whatever the state.
    """

    slot: int
    happens: int
    fails: Mapping[str, int]


@dataclass(frozen=True)
class Obligations:
    """The proof obligations of a system and its claims: plain data, without z3.

    Variables are numbered from 1: first the Booleans of the state before, then the choices. `widths` has the
    number of Booleans of each state variable in turn. `holds` has for each claim a literal that implies that
    it holds before.
    """

    clauses: list[Clause]
    size: int
    widths: list[int]
    choices: int
    holds: Mapping[str, int]
    questions: tuple[ObligationQuestion, ...]


@dataclass(frozen=True)
class Asked:
    """One proof obligation as formulas: can `happens` be true together with one of `fails`?"""

    slot: int
    happens: Formula
    fails: Mapping[str, Formula]
    constraints: list[Formula]


@dataclass(frozen=True)
class ClaimFormulas:
    """The proof obligations as formulas, before they become clauses.

    `before` has the Booleans of the state before an action, by state variable, and `choices` those of the
    choices. `holds` has for each claim a Boolean that implies the claim. `constraints` hold in every
    question.
    """

    before: Sequence[Sequence[Formula]]
    choices: Sequence[Formula]
    holds: Mapping[str, Formula]
    asked: Sequence[Asked]
    constraints: Sequence[Formula]

    @property
    def named(self) -> list[Formula]:
        """The named Booleans in the order of their numbers: state, choices, claims, then each question."""
        own = [bit for bits in self.before for bit in bits]
        asked = [f for question in self.asked for f in (question.happens, *question.fails.values())]
        return [*own, *self.choices, *self.holds.values(), *asked]


@dataclass(frozen=True)
class _Part:
    """One conjunct of a claim, and the places of the state variables that it may depend on."""

    formula: Formula
    places: frozenset[int]


_Parts = Mapping[str, Sequence[_Part]]
"""The conjuncts of each claim, by its name."""


def formulas(
    symbolic: Symbolic, claims: Sequence[Statement], slots: Iterable[int] | None = None
) -> ClaimFormulas:
    """Return the proof obligations of these slots as formulas; `INITIALLY` is that of the initial states.

    Without slots, all of them. Raises ModelError for a claim that reads a choice and was not found.
    """
    state = [v for v in symbolic.system.variables if v.place in symbolic.varying]
    parts = {claim.name: _conjuncts(symbolic, claim) for claim in claims}
    holds = {name: named(f"holds:{name}") for name in parts}
    readers = _readers(parts)
    asked = [
        _of_initial_states(symbolic, parts)
        if slot == INITIALLY
        else _of_action(symbolic, slot, parts, readers)
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
    """Return the same proof obligations as clauses."""
    return as_clauses(formulas(symbolic, claims, slots))


def as_clauses(claim_formulas: ClaimFormulas) -> Obligations:
    """Return these proof obligations as clauses."""
    cnf = numbered(claim_formulas.constraints, claim_formulas.named)
    return Obligations(
        clauses=cnf.clauses,
        size=cnf.size,
        widths=[len(own) for own in claim_formulas.before],
        choices=len(claim_formulas.choices),
        holds={name: cnf.numbers[name_of(f)] for name, f in claim_formulas.holds.items()},
        questions=tuple(
            ObligationQuestion(
                question.slot,
                cnf.numbers[name_of(question.happens)],
                {name: cnf.numbers[name_of(f)] for name, f in question.fails.items()},
            )
            for question in claim_formulas.asked
        ),
    )


def formula_of(symbolic: Symbolic, claim: Statement) -> Formula:
    """Return the formula of a claim. Raises ModelError if it reads a choice and was not found."""
    return symbolic.predicate(claim.holds, isinstance(claim, FoundInvariant))


def _conjuncts(symbolic: Symbolic, claim: Statement) -> list[_Part]:
    """Return the conjuncts of a claim."""
    found = isinstance(claim, FoundInvariant)
    return [_Part(f, places) for f, places in symbolic.conjuncts(claim.holds, found) if f is not TRUE]


def _of_initial_states(symbolic: Symbolic, parts: _Parts) -> Asked:
    """Return the proof obligation: a claim is false in an initial state."""
    happens = named("happens at first")
    broken = {name: [neg(part.formula) for part in own] for name, own in parts.items()}
    return _asked(INITIALLY, happens, conj(symbolic.initial()), broken)


def _readers(parts: _Parts) -> dict[int, set[str]]:
    """Return for each place the claims that may depend on it, so that an action meets no other claim."""
    found = defaultdict[int, set[str]](set)
    for name, own in parts.items():
        for place in frozenset[int]().union(*(part.places for part in own)):
            found[place].add(name)
    return found


def _of_action(symbolic: Symbolic, slot: int, parts: _Parts, readers: Mapping[int, set[str]]) -> Asked:
    """Return the proof obligation: the action of that slot makes a claim false."""
    effect = symbolic.effects[slot]
    touched = set[str]().union(*(readers.get(place, ()) for place in effect.after))
    broken = {name: list(_broken(symbolic, slot, own)) for name, own in parts.items() if name in touched}
    broken[WELL_DEFINED] = [] if effect.wrong is FALSE else [effect.wrong]
    return _asked(slot, named(f"happens:{slot}"), effect.guard, broken)


def _asked(slot: int, happens: Formula, guard: Formula, broken: Mapping[str, Sequence[Formula]]) -> Asked:
    fails = {name: named(f"fails:{slot}:{name}") for name, ways in broken.items() if ways}
    constraints = [disj((neg(happens), guard))]
    constraints += [disj((neg(fails[name]), *broken[name])) for name in fails]
    return Asked(slot, happens, fails, constraints)


def _broken(symbolic: Symbolic, slot: int, parts: Sequence[_Part]) -> Iterator[Formula]:
    """Yield for each conjunct of a claim that the action may change: the conjunct is false after it."""
    past, written = symbolic.past[slot], symbolic.effects[slot].after.keys()
    for part in parts:
        if not part.places.isdisjoint(written):
            after = past(part.formula)
            if after is not TRUE and key(after) != key(part.formula):
                yield neg(after)
