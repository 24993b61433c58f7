"""Symmetries of a system for IC3: a blocked cube stands for its whole orbit.

A symmetry exchanges two labels, for example two bookies, or two labels together with two values of another
sort, for example the bookies with their positions in the first ensemble. It is used only if it maps the
initial states, the transition relation and the bad states each to itself. Then it maps every frame to itself,
and the images of a blocked cube are blocked as well. That is asked of a solver, on the formulas themselves.
`induction/orbits.py` may ignore the initial states, because a proof obligation is about any state. Frames are
about reachable states, so here they matter.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fencepost.encoding.formulas.guarded import Guarded, guarded, well_formed
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.ic3.transitions import Transitions
from fencepost.encoding.induction.proof_obligations import Statement, formula_of
from fencepost.encoding.language.actions import GroundAction, Schema
from fencepost.encoding.language.sorts import Sort, SubsetSort, Value
from fencepost.encoding.language.state import Variable
from fencepost.encoding.solving.answers import No
from fencepost.encoding.solving.logic import FALSE, Formula, Renaming, conj, disj, iff, neg
from fencepost.encoding.solving.terms import BOOLEAN, Terms

Permutation = Sequence[int]
"""For each atom, by its number, the literal that it becomes. Position 0 is not used."""

MOST_IMAGES = 5040
"""The most images of one cube: those of seven nodes that all occur in it. See `Frames.block`."""


def image(cube: frozenset[int], permutation: Permutation) -> frozenset[int]:
    """Return the cube with its literals permuted."""
    return frozenset(permutation[n] if n > 0 else -permutation[-n] for n in cube)


def orbit(cube: frozenset[int], permutations: Sequence[Permutation]) -> frozenset[frozenset[int]] | None:
    """Return the images of a cube under the group that the permutations generate, or None if too many."""
    found, waiting = {cube}, [cube]
    while waiting:
        if len(found) > MOST_IMAGES:
            return None
        one = waiting.pop()
        for permutation in permutations:
            other = image(one, permutation)
            if other not in found:
                found.add(other)
                waiting.append(other)
    return frozenset(found)


@dataclass(frozen=True)
class Exchange:
    """Two values of a sort change places: two labels wherever they occur, or two integers of that one sort.

    Integers of equal sorts may mean different things, entries or positions, so the sort object decides.
    """

    sort: Sort
    one: Value
    other: Value

    def __call__(self, value: Value, sort: Sort) -> Value:
        """Return what a value, of that sort, becomes; an empty text if the sort has no such value.

        Of a set, each member becomes another.
        """
        if isinstance(sort, SubsetSort):
            if value not in sort.parts:
                return value
            return sort.named(frozenset(self(member, sort.of) for member in sort.parts[value]))
        if type(value) is not type(self.one) or (type(value) is int and sort is not self.sort):
            return value
        return self.other if value == self.one else self.one if value == self.other else value


class Renamed:
    """The system with values exchanged: which variable, value and slot each becomes."""

    def __init__(self, symbolic: Symbolic, exchanges: Sequence[Exchange]) -> None:
        """Rename everything that changes or is a choice. `is_total` says whether that was possible."""
        self._symbolic, self._exchanges = symbolic, exchanges
        system = symbolic.system
        self.variables = [v for v in system.variables if v.is_choice or v.place in symbolic.varying]
        self.images = {v.place: image for v in self.variables if (image := self._image(v)) is not None}
        """For each place, the variable that the one at this place becomes."""
        numbers = {(a.schema, a.arguments): slot for slot, a in enumerate(symbolic.actions)}
        self.slots = [numbers.get(self._renamed(action)) for action in symbolic.actions]
        """For each slot, that of the action that its action becomes."""

    @property
    def is_total(self) -> bool:
        """Whether each variable becomes a variable, and each action an action."""
        return len(self.images) == len(self.variables) and None not in self.slots

    def value(self, value: Value, sort: Sort) -> Value:
        """Return what a value of that sort becomes."""
        for exchange in self._exchanges:
            value = exchange(value, sort)
        return value

    def values(self, variable: Variable, own: Sequence[Formula]) -> Guarded:
        """Return the values that a variable with the Booleans `own` becomes, with their formulas."""
        found = guarded(variable, list(own))
        return {self.value(value, variable.domain): formula for value, formula in found.items()}

    def _image(self, variable: Variable) -> Variable | None:
        index = tuple(map(self.value, variable.index, variable.family.over))
        found = self._symbolic.system.state.places.get((variable.family, index))
        domain = {self.value(value, variable.domain) for value in variable.domain}
        is_like = found is not None and (found.is_choice or found.place in self._symbolic.varying)
        return found if is_like and domain == set(variable.domain) else None

    def _renamed(self, action: GroundAction) -> tuple[Schema, tuple[Value, ...]]:
        sorts = [parameter.sort for parameter in action.schema.parameters]
        return action.schema, tuple(map(self.value, action.arguments, sorts))


def symmetries(
    symbolic: Symbolic, transitions: Transitions, claims: Sequence[Statement]
) -> Iterator[Permutation]:
    """Yield permutations of the atoms that are symmetries of the system and of each claim, each once."""
    known = {tuple(range(len(transitions.atoms) + 1))}
    for renamed in candidates(symbolic):
        permutation = _of_atoms(transitions, renamed)
        if permutation is not None and permutation not in known and keeps_steps(symbolic, renamed, claims):
            known.add(permutation)
            yield permutation


def candidates(symbolic: Symbolic) -> Iterator[Renamed]:
    """Yield renamings that are defined everywhere and keep the initial values: they may be symmetries."""
    for exchanges in _exchanges(symbolic):
        renamed = Renamed(symbolic, exchanges)
        if renamed.is_total and _keeps_initial_values(symbolic, renamed):
            yield renamed


def _exchanges(symbolic: Symbolic) -> Iterator[tuple[Exchange, ...]]:
    """Yield exchanges to try: of two neighbouring labels, alone or with two values of another sort."""
    sorts = _sorts(symbolic)
    done = set[frozenset[Value]]()
    for sort in (sort for sort in sorts if type(sort.values[0]) is str):
        for pair in itertools.pairwise(sort.values):
            if frozenset(pair) in done:
                continue
            done.add(frozenset(pair))
            first = Exchange(sort, *pair)
            yield (first,)
            for other in sorts:
                if set(other.values).isdisjoint(sort.values):
                    yield from ((first, Exchange(other, *two)) for two in itertools.combinations(other, 2))


def _sorts(symbolic: Symbolic) -> list[Sort]:
    """Return the sorts of indices and of action parameters, each object once, that have several values."""
    system = symbolic.system
    found = [sort for family in system.state.families for sort in family.over]
    found += [parameter.sort for schema in system.schemas for parameter in schema.parameters]
    return [s for s in {id(s): s for s in found}.values() if len(s) > 1 and type(s.values[0]) in (str, int)]


def _keeps_initial_values(symbolic: Symbolic, renamed: Renamed) -> bool:
    """Return whether the initial values of each variable, renamed, are those of the variable it becomes."""
    firsts = symbolic.system.firsts
    return all(
        set(firsts[renamed.images[v.place].place]) == {renamed.value(f, v.domain) for f in firsts[v.place]}
        for v in renamed.variables
        if not v.is_choice
    )


def keeps_steps(symbolic: Symbolic, renamed: Renamed, claims: Sequence[Statement]) -> bool:
    """Return whether renaming changes no action, no claim, and not the condition on initial states.

    It asks action by action: most renamings change the first ones, and the others are then not renamed.
    """
    state = Terms(BOOLEAN, [conj(map(well_formed, symbolic.bits))])
    differences = (disj(neg(iff(*pair)) for pair in pairs) for pairs in _pairs(symbolic, renamed, claims))
    return all(differ is FALSE or isinstance(state.ask(differ), No) for differ in differences)


def _pairs(
    symbolic: Symbolic, renamed: Renamed, claims: Sequence[Statement]
) -> Iterator[list[tuple[Formula, Formula]]]:
    """Yield for each action, and for all claims, the formulas that have to be equal: renamed, and wanted."""
    rename = _renaming(symbolic, renamed)
    for effect, slot in zip(symbolic.effects, renamed.slots, strict=True):
        assert slot is not None
        other = symbolic.effects[slot]
        pairs = [(rename(effect.guard), other.guard), (rename(effect.wrong), other.wrong)]
        for v in renamed.variables:
            image = renamed.images[v.place]
            if v.place in effect.after or image.place in other.after:
                own = renamed.values(v, effect.after.get(v.place, symbolic.bits[v.place]))
                wanted = guarded(image, other.after.get(image.place, symbolic.bits[image.place]))
                pairs += [(rename(own[value]), wanted[value]) for value in wanted]
        yield pairs
    conditions = [formula_of(symbolic, claim) for claim in claims]
    if symbolic.system.beginning is not None:
        conditions.append(symbolic.predicate(symbolic.system.beginning))
    yield [(rename(holds), holds) for holds in conditions]


def _renaming(symbolic: Symbolic, renamed: Renamed) -> Renaming:
    """Return the substitution that turns a formula about a state into the same formula about its image."""
    pairs = []
    for v in renamed.variables:
        image = renamed.images[v.place]
        becomes = guarded(image, symbolic.bits[image.place])
        bits = zip(symbolic.bits[v.place], v.domain.values[1:], strict=True)
        pairs += [(bit, becomes[renamed.value(value, v.domain)]) for bit, value in bits]
    return Renaming(pairs)


def _of_atoms(transitions: Transitions, renamed: Renamed) -> tuple[int, ...] | None:
    """Return the literal that each atom becomes, or None if a threshold becomes no threshold.

    An exchange of 1 and 2 keeps `x ≥ 1` and turns `x ≥ 2` into a statement that no atom makes.
    """
    numbers = {atom: number for number, atom in enumerate(transitions.atoms, 1)}
    variables = {v.place: v for v in renamed.variables}
    found = [0]
    for atom in transitions.atoms:
        v = variables[atom.place]
        image = renamed.images[atom.place]
        value = renamed.value(v.domain.values[atom.position], v.domain)
        if atom.at_least:
            upper = {renamed.value(own, v.domain) for own in v.domain.values[atom.position :]}
            value = image.domain.values[len(v.domain) - len(upper)]
            if upper != set(image.domain.values[len(v.domain) - len(upper) :]):
                return None
        becomes = replace(atom, place=image.place, position=image.domain.values.index(value))
        opposite = replace(becomes, position=1 - becomes.position)  # of two values, one has the atom
        found.append(numbers[becomes] if becomes in numbers else -numbers[opposite])
    return tuple(found)
