"""Refinement as formulas: the ways in which the core fails to follow each action of the whole."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.encoding.all_sizes.refinement import CoreStep, Refinement
from fencepost.encoding.formulas.guarded import bits
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.state import Variable
from fencepost.encoding.language.terms import Term
from fencepost.encoding.solving.logic import FALSE, Formula, Renaming, conj, disj, iff, ite, neg

Bits = Mapping[int, Sequence[Formula]]
"""For each place of the core that changes, its Booleans over the state of the whole."""


@dataclass(frozen=True)
class Strayings:
    """The ways in which the core may fail to follow an action of the whole: a name and a formula for each.

    The formulas are over the state of the whole before the action. `happens` is true in the states in which
    the action can happen.
    """

    action: GroundAction
    happens: Formula
    ways: Mapping[str, Formula]


@dataclass
class RefinementFormulas:
    """The refinement of one instance as formulas over the state of the whole."""

    refinement: Refinement
    whole: Symbolic = field(init=False)
    core: Symbolic = field(init=False)

    def __post_init__(self) -> None:
        """Translate both systems and the mapping."""
        self.whole, self.core = Symbolic(self.refinement.whole), Symbolic(self.refinement.core)
        self._formulas: dict[Term, Formula] = {}
        self._slots = {a: slot for slot, a in enumerate(self.core.actions)}
        self._changing = [v for v in self.refinement.core.variables if v.place in self.core.varying]
        self._bits = [bit for v in self._changing for bit in bits(v)]
        self._values = {v.place: self._meanings(v) for v in self._changing}
        self._mapped: Bits = {place: found[1:] for place, found in self._values.items()}

    def _meanings(self, variable: Variable) -> list[Formula]:
        """Return for each value of its domain when the variable of the core has that value."""
        return [self._formula(self.refinement.when(variable, value)) for value in variable.domain]

    def not_a_function(self) -> Mapping[str, Formula]:
        """Return for each variable of the core the formula that the mapping gives it no value, or several."""
        found = {}
        for variable in self._changing:
            values = self._values[variable.place]
            several = (conj(pair) for pair in itertools.combinations(values, 2))
            found[f"{variable.name} has one value"] = disj((neg(disj(values)), *several))
        return {name: formula for name, formula in found.items() if formula is not FALSE}

    def strayings(self) -> Iterator[Strayings]:
        """Yield for each action of the whole the ways in which the core may fail to follow it."""
        for slot, action in enumerate(self.whole.actions):
            yield Strayings(action, self.whole.effects[slot].guard, self._ways(slot, action))

    def unimplied(self) -> Mapping[str, Formula]:
        """Return for each implied property of the whole when it is false and the core's property holds.

        Only states count in which the mapping gives each variable one value.
        """
        one_value = conj(map(neg, self.not_a_function().values()))
        there = self._over_whole(self._mapped)
        whole = {p.name: p.holds for p in self.refinement.whole.properties}
        core = {p.name: p.holds for p in self.refinement.core.properties}
        return {
            mine: conj((one_value, there(self.core.predicate(core[theirs])), neg(self._formula(whole[mine]))))
            for mine, theirs in self.refinement.implied.items()
            if theirs in core
        }

    def _formula(self, term: Term) -> Formula:
        """Return a term over the whole as a formula. Scripts share terms, so each is translated once."""
        if term not in self._formulas:
            self._formulas[term] = self.whole.predicate(term)
        return self._formulas[term]

    def _over_whole(self, current: Bits) -> Renaming:
        """Return the renaming from formulas over the core to formulas over the whole, at that core state."""
        there = [bit for v in self._changing for bit in current[v.place]]
        return Renaming(list(zip(self._bits, there, strict=True)))

    def _ways(self, slot: int, action: GroundAction) -> Mapping[str, Formula]:
        past = self.whole.past[slot]
        current, ways = self._mapped, {}
        for number, step in enumerate(self.refinement.script(action), 1):
            current, failing = self._take(step, current, past)
            ways[f"step {number}, {step.action}"] = failing
        for variable in self._changing:
            wanted = [past(bit) for bit in self._mapped[variable.place]]
            pairs = zip(current[variable.place], wanted, strict=True)
            ways[f"{variable.name} ends as mapped"] = disj(neg(iff(got, want)) for got, want in pairs)
        return {name: formula for name, formula in ways.items() if formula is not FALSE}

    def _take(self, step: CoreStep, current: Bits, past: Renaming) -> tuple[Bits, Formula]:
        """Return the core's state after a step of a script, and when the core cannot take the step."""
        taken = conj((self._formula(step.when), past(self._formula(step.leaving))))
        if taken is FALSE:
            return current, FALSE
        there = self._over_whole(current)
        following = dict(current)
        failing, still_open = [], taken
        for arguments, condition in self.refinement.choices(step):
            chosen = past(self._formula(condition))
            here, still_open = conj((still_open, chosen)), conj((still_open, neg(chosen)))
            if here is FALSE:
                continue
            action = self.refinement.step(step, arguments)
            slot = self._slots.get(action) if action is not None else None
            if slot is None:
                failing.append(here)
                continue
            effect = self.core.effects[slot]
            failing.append(conj((here, disj((neg(there(effect.guard)), there(effect.wrong))))))
            for place, after in effect.after.items():
                following[place] = [
                    ite(here, there(new), old) for new, old in zip(after, following[place], strict=True)
                ]
        return following, disj((*failing, still_open))
