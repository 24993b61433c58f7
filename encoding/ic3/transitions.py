"""The transition relation of a system as clauses, for IC3.

A state is described by atoms, each a statement about one variable: it has this value, or it is at least that
large. Every value of a domain has an atom, the first one too; a Boolean has one atom for both. A choice has
an atom as well. It is part of the state and never changes, so a clause may speak of it, and an execution that
IC3 finds loses each message for good or not at all.

At most one action is selected in a step. A step without a selected action changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from fencepost.encoding.engine.clauses import Clause, Literal, Relation
from fencepost.encoding.formulas.cnf import numbered
from fencepost.encoding.formulas.guarded import well_formed
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.induction.proof_obligations import Statement, formula_of
from fencepost.encoding.language.state import Variable
from fencepost.encoding.language.system import Invariant
from fencepost.encoding.solving.clauses import Clause as Numbers
from fencepost.encoding.solving.logic import TRUE, Formula, conj, disj, iff, name_of, named, neg

WRONG = "badly defined/"
"""The name of the bad states in which an action is badly defined."""


@dataclass(frozen=True)
class Atom:
    """A statement about one variable: its value is, or is at least, that at a position of its domain."""

    place: int
    position: int
    at_least: bool = False


@dataclass(frozen=True)
class Transitions:
    """The transition relation and the bad states of a system, as clauses: plain data, without z3.

    Atoms are numbered from 1: `state` atoms of the variables, then those of the choices. The number of an
    atom after the step is that before it plus `len(atoms)`; a choice keeps its own. `clauses` define, for
    each slot, `selected` (the action happens: then the atoms after the step are those after the action) and
    `enabled` (its guard is true). `guards` say that what is selected is enabled. They stand apart, because a
    question about a smaller state asks whether the guard follows. `bad` has for each property, and for
    `WRONG`, a literal that is true in exactly the states in which it is violated. Invariants that are proved
    already are part of `clauses`: the state before the step is one in which they hold.

    `initial` has literals that are true in every initial state. They say all about it, unless there may be
    several: then `begins`, one of these literals, is true in exactly the initial states, and `varied` has the
    places of the variables with several initial values.
    """

    atoms: tuple[Atom, ...]
    state: int
    clauses: list[Numbers]
    guards: list[Numbers]
    size: int
    selected: tuple[int, ...]
    enabled: tuple[int, ...]
    bad: dict[str, int]
    initial: frozenset[int]
    begins: int | None = None
    varied: tuple[int, ...] = ()

    def beginning(self, state: Collection[int]) -> tuple[int, ...]:
        """Return the position of the value of each varied variable in a state with all its literals."""
        return tuple(
            next(
                (
                    atom.position
                    for number, atom in enumerate(self.atoms, 1)
                    if atom.place == place and not atom.at_least and number in state
                ),
                0,
            )
            for place in self.varied
        )

    def after(self, literal: int) -> int:
        """Return the literal that says the same after the step."""
        number = abs(literal)
        if number > self.state:
            return literal
        return literal + len(self.atoms) if literal > 0 else literal - len(self.atoms)

    def clause(self, literals: Sequence[int]) -> Clause:
        """Return the clause of these literals as statements about variables."""
        return tuple(sorted(self._statement(literal) for literal in literals))

    def _statement(self, literal: int) -> Literal:
        atom, holds = self.atoms[abs(literal) - 1], literal > 0
        if atom.at_least:
            return Literal(atom.place, Relation.AT_LEAST if holds else Relation.BELOW, atom.position)
        return Literal(atom.place, Relation.IS if holds else Relation.IS_NOT, atom.position)


def transitions(
    symbolic: Symbolic, claims: Sequence[Statement], proved: Sequence[Invariant] = ()
) -> Transitions:
    """Return the transition relation of a system, with the violations of these claims as bad states.

    The invariants `proved` hold in every reachable state.
    """
    system = symbolic.system
    state = [v for v in system.variables if v.place in symbolic.varying]
    after = {v.place: [named(f"{bit}'") for bit in symbolic.bits[v.place]] for v in state}
    atoms = [atom for v in (*state, *system.choices) for atom in _atoms(v)]
    own = sum(len(_atoms(v)) for v in state)
    now = [f for v in (*state, *system.choices) for f in _formulas(v, symbolic.bits[v.place])]
    then = [f for v in state for f in _formulas(v, after[v.place])]
    before_names = [named(f"atom{number}") for number in range(len(now))]
    after_names = [named(f"atom{number}'") for number in range(len(now))]
    slots = range(len(symbolic.effects))
    selected = [named(f"selected{slot}") for slot in slots]
    enabled = [named(f"enabled{slot}") for slot in slots]
    bad = {claim.name: neg(formula_of(symbolic, claim)) for claim in claims}
    bad[WRONG] = disj(effect.wrong for effect in symbolic.effects)
    bad_names = [named(f"bad:{name}") for name in bad]
    one_state = not system.varied and system.beginning is None
    begins = [] if one_state else [named("an initial state")]
    constraints = [
        *(well_formed(symbolic.bits[v.place]) for v in state),
        *(formula_of(symbolic, invariant) for invariant in proved),
        *(iff(name, f) for name, f in zip(before_names, now, strict=True)),
        *(iff(name, f) for name, f in zip(after_names, then, strict=False)),
        *(iff(name, effect.guard) for name, effect in zip(enabled, symbolic.effects, strict=True)),
        *_step_formulas(symbolic, after, selected),
        *(f for name, formula in zip(bad_names, bad.values(), strict=True) for f in _same(name, formula)),
        *(f for name in begins for f in _same(name, conj(symbolic.initial()))),
    ]
    first = [*before_names, *after_names, *selected, *enabled, *bad_names, *begins]
    cnf = numbered([c for c in constraints if c is not TRUE], first)
    number = cnf.numbers
    chosen = [number[name_of(f)] for f in selected]
    possible = [number[name_of(f)] for f in enabled]
    clauses, size = _simplified([*cnf.clauses, *_at_most_one(chosen, cnf.size)], len(first))
    return Transitions(
        atoms=tuple(atoms),
        state=own,
        clauses=clauses,
        guards=[[-one, other] for one, other in zip(chosen, possible, strict=True)],
        size=size,
        selected=tuple(chosen),
        enabled=tuple(possible),
        bad={name: number[name_of(f)] for name, f in zip(bad, bad_names, strict=True)},
        initial=frozenset((*_initial(symbolic, atoms[:own]), *(number[name_of(f)] for f in begins))),
        begins=None if one_state else number[name_of(begins[0])],
        varied=tuple(v.place for v in system.varied),
    )


def _atoms(variable: Variable) -> list[Atom]:
    """Return the atoms of a variable: one if it has two values, else one for each value and threshold."""
    values = variable.domain.values
    if len(values) == 1:
        return []
    if len(values) == 2:
        return [Atom(variable.place, 1)]
    equal = [Atom(variable.place, position) for position in range(len(values))]
    return [*equal, *(Atom(variable.place, position, True) for position in _thresholds(variable))]


def _thresholds(variable: Variable) -> range:
    """Return the positions for which *at least* says more than *is* or *is not* another value."""
    values = variable.domain.values
    ordered = type(values[0]) is int and list(values) == sorted(values)  # type: ignore[type-var]
    return range(2, len(values) - 1) if ordered else range(0)


def _formulas(variable: Variable, own: Sequence[Formula]) -> Iterator[Formula]:
    """Yield the formula of each atom of a variable over its Booleans `own`."""
    for atom in _atoms(variable):
        if atom.at_least:
            yield disj(own[atom.position - 1 :])
        else:
            yield own[atom.position - 1] if atom.position else neg(disj(own))


def _step_formulas(
    symbolic: Symbolic, after: dict[int, list[Formula]], selected: Sequence[Formula]
) -> Iterator[Formula]:
    """Yield what a selected action does, and that a variable changes only if an action sets it."""
    setting: dict[int, list[Formula]] = {place: [] for place in after}
    for select, effect in zip(selected, symbolic.effects, strict=True):
        for place, values in effect.after.items():
            setting[place].append(select)
            for new, value in zip(after[place], values, strict=True):
                yield disj((neg(select), neg(new), value))
                yield disj((neg(select), new, neg(value)))
    for place, news in after.items():
        for new, old in zip(news, symbolic.bits[place], strict=True):
            yield disj((*setting[place], neg(new), old))
            yield disj((*setting[place], new, neg(old)))


def _same(name: Formula, formula: Formula) -> Iterator[Formula]:
    yield disj((neg(name), formula))
    yield disj((name, neg(formula)))


def _at_most_one(literals: Sequence[int], size: int) -> list[Numbers]:
    """Return clauses that at most one of the literals is true. Their own variables come after `size`."""
    from pysat.card import CardEnc, EncType

    if len(literals) < 2:
        return []
    found: list[Numbers] = CardEnc.atmost(list(literals), 1, top_id=size, encoding=EncType.seqcounter).clauses
    return found


def _simplified(clauses: Sequence[Numbers], kept: int) -> tuple[list[Numbers], int]:
    """Return clauses that say the same about the first variables, with fewer others, and the last variable.

    Variables are eliminated by resolution (Een and Biere 2005). A question then decides fewer of them, and a
    model is shorter.
    """
    from pysat.process import Processor

    with Processor(bootstrap_with=clauses) as processor:
        found = processor.process(freeze=list(range(1, kept + 1))).clauses
    others = sorted({abs(literal) for clause in found for literal in clause if abs(literal) > kept})
    numbers = dict(enumerate(range(kept + 1))) | {old: new for new, old in enumerate(others, kept + 1)}
    return [
        [numbers[literal] if literal > 0 else -numbers[-literal] for literal in clause] for clause in found
    ], kept + len(others)


def _initial(symbolic: Symbolic, atoms: Sequence[Atom]) -> Iterator[int]:
    """Yield the literals that are true in each initial state, of variables with one initial value."""
    system = symbolic.system
    for number, atom in enumerate(atoms, 1):
        value, *others = system.firsts[atom.place]
        if not others:
            first = system.variables[atom.place].domain.values.index(value)
            holds = first >= atom.position if atom.at_least else first == atom.position
            yield number if holds else -number
