"""The symbolic reading: terms translated to Boolean formulas on a finite instance.

A value is *guarded*: a mapping from each possible value to the formula under which the term has it. Exactly
one of these formulas holds. Domains are encoded in Booleans: a domain of n values has n - 1 of them, one for
each value but the first. The first value is meant if none holds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce

from fencepost.encoding.errors import ModelError
from fencepost.encoding.formulas.guarded import (
    Guarded,
    at_most_one,
    bits,
    counted,
    guarded,
    merged,
    truth,
    well_formed,
)
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.definedness import outside
from fencepost.encoding.language.patterns import closed_conjuncts, plain_index
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.state import Variable, named
from fencepost.encoding.language.system import NO_INITIAL_STATE, System
from fencepost.encoding.language.terms import (
    AllOf,
    AnyOf,
    AtLeast,
    Constant,
    Equal,
    If,
    In,
    Less,
    Not,
    Parameter,
    Plus,
    Quantified,
    Read,
    Term,
    node,
)
from fencepost.encoding.solving.answers import No, answered
from fencepost.encoding.solving.logic import FALSE, TRUE, Formula, Renaming, conj, disj, ite, neg
from fencepost.encoding.solving.terms import BOOLEAN, Terms


@dataclass(frozen=True)
class Effect:
    """A ground action as formulas over the `bits` of the state before it."""

    guard: Formula
    after: Mapping[int, list[Formula]]
    """The Booleans after the action, for each place that it may write."""
    reads: frozenset[int]
    """The places that the guard, the values or the targets depend on."""
    wrong: Formula
    """The condition that the action sets a variable twice, outside its domain, or at a missing index."""

    @property
    def mentions(self) -> frozenset[int]:
        """All places that occur in the formulas."""
        return self.reads | self.after.keys()


class Symbolic:
    """The symbolic reading of a system, over states in which each variable has its own `bits`.

    A variable that no action changes keeps its initial value, and is a constant if it has only one. An action
    with a false guard has no slot. Both are found by repeated translation until no further variable is
    constant.
    """

    def __init__(self, system: System) -> None:
        """Translate the actions of the system.

        Raises ModelError, also if the system has no initial state, and SolverGaveUpError.
        """
        self.system = system
        self._read_now: set[int] = set()
        self._translated: dict[tuple[Term, tuple[Value, ...]], tuple[Guarded, frozenset[int]]] = {}
        varied = frozenset(v.place for v in system.varied)
        written = frozenset(p for action in system.ground_actions for p in self._written(action))
        self.varying = written | varied
        """The places that are no constants: some action changes them, or they have several initial values."""
        self._fix_constants()
        translated = [(action, self._effect(action)) for action in system.ground_actions]
        while True:
            live = [(action, effect) for action, effect in translated if effect.guard is not FALSE]
            constant = self.varying - varied - {place for _, effect in live for place in effect.after}
            if not constant:
                break
            self.varying -= constant
            self._fix_constants()
            translated = [
                (action, effect if effect.mentions.isdisjoint(constant) else self._effect(action))
                for action, effect in live
            ]
        self.actions = tuple(action for action, _ in live)
        """The ground actions with a slot, in the order of the slots."""
        self.effects = tuple(effect for _, effect in live)
        """The effects of these actions."""
        if system.beginning is not None:
            possible = answered(Terms(BOOLEAN, self.initial()).ask(), "z3, initial states")
            if isinstance(possible, No):
                raise ModelError(NO_INITIAL_STATE)

    def _fix_constants(self) -> None:
        """Compute the Booleans and values of every place from `varying`."""
        self.bits = tuple(map(self._bits, self.system.variables))
        """The Booleans of each place."""
        self._values = [guarded(v, own) for v, own in zip(self.system.variables, self.bits, strict=True)]
        self._translated.clear()

    def _bits(self, variable: Variable) -> list[Formula]:
        if variable.is_choice or variable.place in self.varying:
            return bits(variable)
        (value,) = self.system.firsts[variable.place]
        return [TRUE if value == v else FALSE for v in variable.domain.values[1:]]

    def _written(self, action: GroundAction) -> Iterator[int]:
        for update in action.schema.action.then:
            yield from self._targets(update.target, action.environment)

    def initial(self) -> list[Formula]:
        """Return formulas that together say that the state is an initial one."""
        found = [formula for v in self.system.variables for formula in self._initially(v)]
        if self.system.beginning is not None:
            found.append(self.predicate(self.system.beginning))
        return found

    def _initially(self, variable: Variable) -> Iterator[Formula]:
        """Yield formulas that together say that a variable has one of its initial values."""
        own, firsts = self.bits[variable.place], self.system.firsts[variable.place]
        if variable.is_choice or variable.place not in self.varying:
            return
        pairs = zip(own, variable.domain.values[1:], strict=True)
        if len(firsts) == 1:
            yield from (bit if value in firsts else neg(bit) for bit, value in pairs)
            return
        yield at_most_one(own)
        yield from (neg(bit) for bit, value in pairs if value not in firsts)
        if variable.domain.values[0] not in firsts:
            yield disj(own)

    def states(self) -> Terms:
        """Return a solver for questions about all states, reachable or not, with one value per variable."""
        return Terms(BOOLEAN, [conj(map(well_formed, self.bits))])

    @cached_property
    def past(self) -> list[Renaming]:
        """For each slot, the substitution that evaluates a formula after the slot fired."""
        return [
            Renaming(
                [
                    pair
                    for place, after in effect.after.items()
                    for pair in zip(self.bits[place], after, strict=True)
                ]
            )
            for effect in self.effects
        ]

    def predicate(self, term: Term, with_choices: bool = False) -> Formula:
        """Return the formula of a closed Boolean term.

        Raises ModelError if it reads a choice, unless it may be one `with_choices`.
        """
        self._read_now = set()
        formula = self._holds(term, {})
        if not with_choices:
            self._refuse_choices()
        return formula

    def conjuncts(self, term: Term, with_choices: bool = False) -> Iterator[tuple[Formula, frozenset[int]]]:
        """Yield the formulas of the conjuncts of a closed Boolean term, and the places that each depends on.

        Raises ModelError if it reads a choice, unless it may be one `with_choices`.
        """
        for part, environment in closed_conjuncts(term, {}):
            self._read_now = set()
            formula = self._holds(part, environment)
            if not with_choices:
                self._refuse_choices()
            yield formula, frozenset(self._read_now)

    def _refuse_choices(self) -> None:
        """Raise ModelError if the term translated last reads a choice."""
        for place in sorted(self._read_now):
            if self.system.variables[place].is_choice:
                raise ModelError(
                    f"{self.system.variables[place].name} is a choice; "
                    "a property may read only state variables"
                )

    def _targets(self, target: Read, environment: Mapping[Parameter, Value]) -> Iterator[int]:
        fixed = [plain_index(i, environment) for i in target.index]
        options = [f or tuple(sort) for f, sort in zip(fixed, target.family.over, strict=True)]
        for index in itertools.product(*options):
            variable = self.system.state.places.get((target.family, index))
            if variable is not None:
                yield variable.place

    def _effect(self, action: GroundAction) -> Effect:
        body, environment = action.schema.action, action.environment
        after: dict[int, list[Formula]] = {}
        written: dict[int, Formula] = {}
        wrong: list[Formula] = []
        self._read_now = set()
        guard = self._holds(body.when, environment)
        for update in body.then:
            condition = self._holds(update.when, environment)
            value = self._translate(update.value, environment)
            targets = list(self._targets(update.target, environment))
            aims = [self._is_target(update.target, self.system.variables[p], environment) for p in targets]
            wrong.append(conj((condition, neg(disj(aims)))))
            for place, aim in zip(targets, aims, strict=True):
                variable = self.system.variables[place]
                if variable.is_choice:
                    raise ModelError(
                        f"{action.name} sets {variable.name}, which is a choice; choices never change"
                    )
                here = conj((condition, aim))
                if here is FALSE:
                    continue
                wrong.append(conj((here, written.get(place, FALSE))))
                wrong.extend(conj((here, f)) for v, f in value.items() if v not in variable.domain.values)
                written[place] = disj((here, written.get(place, FALSE)))
                old = after.get(place, self.bits[place])
                new = [value.get(v, FALSE) for v in variable.domain.values[1:]]
                changed = [ite(here, n, o) for n, o in zip(new, old, strict=True)]
                if any(c is not o for c, o in zip(changed, old, strict=True)):
                    after[place] = changed
        return Effect(guard, after, frozenset(self._read_now), self._possible(conj((guard, disj(wrong)))))

    def _possible(self, formula: Formula) -> Formula:
        """Return the formula, or false if no well-formed state satisfies it. Raises SolverGaveUpError."""
        if formula is FALSE:
            return FALSE
        possible = Terms(BOOLEAN, [formula, conj(map(well_formed, self.bits))]).ask()
        return FALSE if isinstance(answered(possible, "z3, badly defined updates"), No) else formula

    def _is_target(self, target: Read, variable: Variable, environment: Mapping[Parameter, Value]) -> Formula:
        return conj(
            self._translate(term, environment).get(value, FALSE)
            for term, value in zip(target.index, variable.index, strict=True)
        )

    def _holds(self, term: Term, environment: Mapping[Parameter, Value]) -> Formula:
        return self._translate(term, environment).get(True, FALSE)

    def _translate(self, term: Term, environment: Mapping[Parameter, Value]) -> Guarded:
        """Return the term as a guarded value. Binders and conditionals are cached by their arguments."""
        if not isinstance(term, Quantified | AtLeast | If):
            return self._translate_anew(term, environment)
        key = term, tuple(environment[p] for p in term.free)
        if key not in self._translated:
            read_before, self._read_now = self._read_now, set()
            self._translated[key] = self._translate_anew(term, environment), frozenset(self._read_now)
            self._read_now = read_before
        value, read = self._translated[key]
        self._read_now |= read
        return value

    def _translate_anew(self, term: Term, environment: Mapping[Parameter, Value]) -> Guarded:
        match node(term):
            case Constant(value=value):
                return {value: TRUE}
            case Parameter() as parameter:
                return {environment[parameter]: TRUE}
            case Read() as read:
                return self._read(read, environment)
            case Not(operand=operand):
                return truth(neg(self._holds(operand, environment)))
            case AllOf(operands=operands):
                return truth(conj(self._holds(o, environment) for o in operands))
            case AnyOf(operands=operands):
                return truth(disj(self._holds(o, environment) for o in operands))
            case Equal(left=left, right=right):
                return self._combined(lambda a, b: a == b, self._both(left, right, environment))
            case Less(left=left, right=right):
                return self._combined(lambda a, b: a < b, self._both(left, right, environment))
            case Plus(left=left, right=right, sign=sign):
                return self._combined(lambda a, b: a + sign * b, self._both(left, right, environment))
            case If(condition=condition, then=then, otherwise=otherwise):
                holds = self._holds(condition, environment)
                yes, no = self._both(then, otherwise, environment)
                return merged([(holds, yes), (neg(holds), no)])
            case Quantified(quantifier="forall") as each:
                return truth(conj(self._instances(each, environment)))
            case Quantified(quantifier="exists") as each:
                return truth(disj(self._instances(each, environment)))
            case Quantified(quantifier="count") as each:
                ones: list[Guarded] = [{1: f, 0: neg(f)} for f in self._instances(each, environment)]
                return reduce(lambda a, b: self._combined(lambda x, y: x + y, (a, b)), ones)
            case Quantified(bound=bound, body=body):
                values = [self._translate(body, {**environment, bound: v}) for v in bound.sort]
                return reduce(lambda a, b: self._combined(max, (a, b)), values)
            case AtLeast(count=count) as each:
                return truth(counted(count, list(self._instances(each, environment))))
            case In(member=member, chosen=chosen, sort=sort):
                return self._combined(
                    lambda a, b: a in sort.parts[b], self._both(member, chosen, environment)
                )

    def _instances(
        self, term: Quantified | AtLeast, environment: Mapping[Parameter, Value]
    ) -> Iterator[Formula]:
        return (self._holds(term.body, {**environment, term.bound: v}) for v in term.bound.sort)

    def _both(
        self, left: Term, right: Term, environment: Mapping[Parameter, Value]
    ) -> tuple[Guarded, Guarded]:
        return self._translate(left, environment), self._translate(right, environment)

    @staticmethod
    def _combined(function: Callable[..., Value], pair: tuple[Guarded, Guarded]) -> Guarded:
        left, right = pair
        return merged(
            [(conj((f, g)), {function(a, b): TRUE}) for a, f in left.items() for b, g in right.items()]
        )

    def _read(self, term: Read, environment: Mapping[Parameter, Value]) -> Guarded:
        indices = [self._translate(i, environment) for i in term.index]
        cases = []
        for combination in itertools.product(*(i.items() for i in indices)):
            index = tuple(value for value, _ in combination)
            variable = self.system.state.places.get((term.family, index))
            if variable is None and not outside(term):
                raise ModelError(f"{named(term.family, index)} is read but does not exist; bound the index")
            if variable is None:  # the action is badly defined, and a claim false, where it is read
                continue
            self._read_now.add(variable.place)
            cases.append((conj(f for _, f in combination), self._values[variable.place]))
        return merged(cases)
