"""The concrete reading: terms evaluated on plain values, by compiling each action to a Python function.

A state has one small number for each place: the position of its value in its domain. A choice is UNDECIDED
until an action depends on it, so that an exploration does not branch on choices that nothing reads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import NoReturn

from fencepost.encoding.concrete.badly_defined import BadlyDefined
from fencepost.encoding.concrete.steps import UNDECIDED, Beginning, State, Step
from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.conditional_terms import UNDEFINED
from fencepost.encoding.language.patterns import conjuncts, plain_index
from fencepost.encoding.language.sorts import Value, show
from fencepost.encoding.language.state import Variable, named
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import (
    AllOf,
    AnyOf,
    AtLeast,
    Constant,
    Equal,
    Family,
    If,
    In,
    Less,
    Not,
    Parameter,
    Plus,
    Quantified,
    Read,
    Term,
    all_of,
    node,
)

BYTE = 256
"""The number of values that fit in a byte."""

Environment = Mapping[Parameter, Value]

LONG = 300
"""The source length above which a term is compiled as a function, so that nested definitions stay short."""


@dataclass(frozen=True)
class Compiler:
    """A translator of terms to Python expressions over a state `s`.

    `scope` collects the values that the expressions name, `choices` the places of the choices that they may
    read.
    """

    system: System
    scope: dict[str, object] = field(default_factory=dict)
    choices: set[int] = field(default_factory=set)
    written: dict[tuple[Term, tuple[Value, ...]], str] = field(default_factory=dict)

    def expression(self, term: Term, environment: Environment) -> str:
        """Return the term as Python source. A long term becomes the call of a function, compiled once."""
        if not isinstance(term, Quantified | AtLeast | If):
            return self._expression(term, environment)
        key = term, tuple(environment[p] for p in term.free)
        if key not in self.written:
            source = self._expression(term, environment)
            if len(source) > LONG:
                source = f"{self._name(eval(f'lambda s: {source}', self.scope))}(s)"
            self.written[key] = source
        return self.written[key]

    def _expression(self, term: Term, environment: Environment) -> str:
        match node(term):
            case Constant(value=value):
                return self._plain(value)
            case Parameter() as parameter:
                return self._plain(environment[parameter])
            case Read() as read:
                return self._read(read, environment)
            case Not(operand=operand):
                return f"(not {self.expression(operand, environment)})"
            case AllOf(operands=operands):
                return _in_parentheses(" and ", (self.expression(o, environment) for o in operands), "True")
            case AnyOf(operands=operands):
                return _in_parentheses(" or ", (self.expression(o, environment) for o in operands), "False")
            case Equal(left=left, right=right):
                return f"({self.expression(left, environment)} == {self.expression(right, environment)})"
            case Less(left=left, right=right):
                return f"({self.expression(left, environment)} < {self.expression(right, environment)})"
            case Plus(left=left, right=right, sign=sign):
                operator = {1: "+", -1: "-"}.get(sign, f"+ {sign} *")
                return (
                    f"({self.expression(left, environment)} {operator} {self.expression(right, environment)})"
                )
            case If(condition=condition, then=then, otherwise=otherwise):
                parts = [self.expression(t, environment) for t in (then, condition, otherwise)]
                return f"({parts[0]} if {parts[1]} else {parts[2]})"
            case Quantified(quantifier="maximum") as bound:
                return f"max(({', '.join(self._instances(bound, environment))},))"
            case Quantified(quantifier="forall") as bound:
                return _in_parentheses(" and ", self._instances(bound, environment), "True")
            case Quantified(quantifier="count") as bound:
                return self._number(bound, environment)
            case Quantified() as bound:
                return _in_parentheses(" or ", self._instances(bound, environment), "False")
            case AtLeast(count=count) as bound:
                return f"({self._number(bound, environment)} >= {count})"
            case In() as membership:
                return self._membership(membership, environment)

    def cell(self, target: Read, environment: Environment) -> str:
        """Return the Python source of the place that `target` names; -1 if the state has no such place."""
        places = {index: variable.place for index, variable in self._places(target, environment).items()}
        if len(places) == 1 and all(plain_index(i, environment) for i in target.index):
            return str(next(iter(places.values())))
        return f"{self._name(places)}.get({self._key(target, environment)}, -1)"

    def _instances(self, term: Quantified | AtLeast, environment: Environment) -> list[str]:
        return [self.expression(term.body, {**environment, term.bound: value}) for value in term.bound.sort]

    def _membership(self, term: In, environment: Environment) -> str:
        """Return whether a value is in a set, as Python source: a constant if the state does not decide."""
        member, chosen = (plain_index(part, environment) for part in (term.member, term.chosen))
        if member and chosen:
            return str(member[0] in term.sort.parts[chosen[0]])
        parts = [self.expression(part, environment) for part in (term.member, term.chosen)]
        return f"({parts[0]} in {self._name(term.sort.parts)}[{parts[1]}])"

    def _number(self, term: Quantified | AtLeast, environment: Environment) -> str:
        """Return the Python source of the number of values for which the body holds."""
        ones = (f"(1 if {part} else 0)" for part in self._instances(term, environment))
        return _in_parentheses(" + ", ones, "0")

    def _plain(self, value: Value) -> str:
        return (
            repr(value)
            if isinstance(value, bool | int | str) and not isinstance(value, Enum)
            else self._name(value)
        )

    def _name(self, thing: object) -> str:
        """Return a new name for `thing` in the scope of the compiled code."""
        name = f"_{len(self.scope)}"
        self.scope[name] = thing
        return name

    def _read(self, term: Read, environment: Environment) -> str:
        plain = [plain_index(i, environment) for i in term.index]
        if all(plain):
            index = tuple(value for (value,) in plain)
            variable = self.system.state.places.get((term.family, index))
            if variable is None:
                raise ModelError(f"{named(term.family, index)} is read but does not exist; bound the index")
            return self._held(variable)
        cells = {index: self._held(variable) for index, variable in self._places(term, environment).items()}
        options = ", ".join(f"{self._name(index)}: {cell}" for index, cell in cells.items())
        return f"{self._name(_reader(term.family))}({{{options}}}, {self._key(term, environment)})"

    def _held(self, variable: Variable) -> str:
        """Return the Python source of the value at a place, and note a choice.

        Values equal to their positions need no table.
        """
        if variable.is_choice:
            self.choices.add(variable.place)
        values = variable.domain.values
        if values in ((False, True), tuple(range(len(values)))):
            return f"s[{variable.place}]"
        return f"{self._name(values)}[s[{variable.place}]]"

    def _key(self, term: Read, environment: Environment) -> str:
        return f"({''.join(self.expression(i, environment) + ', ' for i in term.index)})"

    def _places(self, term: Read, environment: Environment) -> dict[tuple[Value, ...], Variable]:
        """Return the variables that the term may read, by their index."""
        options = [
            plain_index(i, environment) or tuple(sort)
            for i, sort in zip(term.index, term.family.over, strict=True)
        ]
        places = self.system.state.places
        return {
            index: places[term.family, index]
            for index in itertools.product(*options)
            if (term.family, index) in places
        }


def _reader(family: Family) -> Callable[[Mapping[tuple[Value, ...], Value], tuple[Value, ...]], Value]:
    """Return a function that looks up a variable by its index. It raises ModelError if there is none."""

    def read(cells: Mapping[tuple[Value, ...], Value], index: tuple[Value, ...]) -> Value:
        if index not in cells:
            raise ModelError(f"{named(family, index)} is read but does not exist; bound the index")
        return cells[index]

    return read


def _in_parentheses(operator: str, parts: Iterable[str], empty: str) -> str:
    return f"({operator.join(parts) or empty})"


def _refuser(action: GroundAction) -> Callable[[Value], NoReturn]:
    """Return a function that raises ModelError: the step evaluates what is not defined."""

    def refuse(reason: Value) -> NoReturn:
        raise BadlyDefined(f"{action.name} {reason}; bound it in the guard")

    return refuse


class Concrete:
    """The concrete reading of a system."""

    def __init__(self, system: System) -> None:
        """Start without compiled actions. They are compiled when they are first used."""
        self.system = system
        self._compiled: dict[GroundAction, Step] = {}
        self._functions: dict[tuple[Term, tuple[Value, ...]], Callable[[State], Value]] = {}

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """All ground actions, compiled, in the order of the slots."""
        return tuple(map(self.step, self.system.ground_actions))

    @cached_property
    def steps_of(self) -> Mapping[str, Sequence[Step]]:
        """The same by the name of the action."""
        names = {schema.name for schema in self.system.schemas}
        return {name: [step for step in self.steps if step.action.schema.name == name] for name in names}

    def step(self, action: GroundAction) -> Step:
        """Return a ground action, compiled at its first use."""
        if action not in self._compiled:
            self._compiled[action] = self._compile(action)
        return self._compiled[action]

    def initial(self, choices: Mapping[int, bool] | None = None, beginning: Beginning = ()) -> State:
        """Return the state with the one initial value of each variable, and those of `beginning`.

        `choices` gives the choices by place; without it, all are undecided.
        """
        codes = []
        for variable, values in zip(self.system.variables, self.system.firsts, strict=True):
            if variable.is_choice:
                codes.append(UNDECIDED if choices is None else int(choices.get(variable.place, False)))
            else:
                codes.append(variable.domain.values.index(values[0]))
        for variable, code in zip(self.system.varied, beginning, strict=True):
            codes[variable.place] = code
        return self.state(codes)

    @cached_property
    def is_small(self) -> bool:
        """Whether the positions of all domains fit in a byte."""
        return all(len(variable.domain) <= BYTE for variable in self.system.variables)

    def state(self, codes: Iterable[int]) -> State:
        """Return the state with these positions in the domains, place by place."""
        return bytes(codes) if self.is_small else tuple(codes)

    def value(self, state: State, variable: Variable) -> Value:
        """Return the value of `variable` in `state`."""
        return variable.domain.values[state[variable.place]]

    def predicate(self, term: Term) -> Callable[[State], bool]:
        """Return a closed Boolean term as a function of the state. Raises ModelError if it reads a choice."""
        compiler = Compiler(self.system)
        evaluate = self._function(compiler, term, {})
        for place in compiler.choices:
            name = self.system.variables[place].name
            raise ModelError(f"{name} is a choice; a property may read only state variables")
        return lambda state: bool(evaluate(state))

    def function(self, term: Term, environment: Environment) -> Callable[[State], Value]:
        """Return the plain value of a term as a function of the state, compiled once."""
        key = term, tuple(environment[p] for p in term.free)
        if key not in self._functions:
            self._functions[key] = self._function(Compiler(self.system), term, environment)
        return self._functions[key]

    @staticmethod
    def _function(compiler: Compiler, term: Term, environment: Environment) -> Callable[[State], Value]:
        source = compiler.expression(term, environment)
        compiled: Callable[[State], Value] = eval(f"lambda s: {source}", compiler.scope)
        return compiled

    def evaluate(self, term: Term, environment: Environment, state: State) -> Value:
        """Return the plain value of a term in a state."""
        value = self.function(term, environment)(state)
        return bool(value) if term.type == "bool" else value

    def _compile(self, action: GroundAction) -> Step:
        environment = action.environment
        body = action.schema.action
        compiler = Compiler(self.system, {"put": self._putter(action), "refuse": _refuser(action)})
        enabled = possible = self._function(compiler, body.when, environment)
        if compiler.choices:
            possible = self.function(all_of(*self._without_choices(body.when, environment)), environment)
        thaw, freeze = ("bytearray", "bytes") if self.is_small else ("list", "tuple")
        lines = ["def after(s):", f" t = {thaw}(s)", " written = set()"]
        for update in body.then:
            condition = compiler.expression(update.when, environment)
            if update.target.family is UNDEFINED:
                lines.append(f" if {condition}: refuse({compiler.expression(update.value, environment)})")
                continue
            value = compiler.expression(update.value, environment)
            lines.append(
                f" if {condition}: put(t, written, {compiler.cell(update.target, environment)}, {value})"
            )
        lines += (f" s = t; {form}" for form in self._forms(compiler, action))
        lines.append(f" return {freeze}(t)")
        exec("\n".join(lines), compiler.scope)  # noqa: S102 - source of our own making
        after = compiler.scope["after"]
        assert callable(after)
        return Step(action, possible, enabled, after, tuple(sorted(compiler.choices)))

    def _forms(self, compiler: Compiler, action: GroundAction) -> Iterator[str]:
        """Yield a check of canonical form for each composite that the action may change, as Python."""
        targets = (u.target for u in action.schema.action.then if u.target.family is not UNDEFINED)
        written = (v for t in targets for v in compiler._places(t, action.environment).values())
        for name, form in self.system.state.forms(written):
            yield f"{compiler.expression(form, {})} or refuse({f'breaks the canonical form of {name}'!r})"

    def _without_choices(self, guard: Term, environment: Environment) -> Iterator[Term]:
        """Yield the conjuncts of a guard that read no choices."""
        for conjunct in conjuncts(guard):
            compiler = Compiler(self.system)
            compiler.expression(conjunct, environment)
            if not compiler.choices:
                yield conjunct

    @cached_property
    def _positions(self) -> list[dict[Value, int]]:
        """The position of each value in its domain, for each place."""
        return [{value: i for i, value in enumerate(v.domain.values)} for v in self.system.variables]

    def _putter(self, action: GroundAction) -> Callable[[MutableSequence[int], set[int], int, Value], None]:
        positions = self._positions

        def put(after: MutableSequence[int], written: set[int], place: int, value: Value) -> None:
            if place < 0:
                raise BadlyDefined(f"{action.name} sets a variable that does not exist; bound the index")
            variable = self.system.variables[place]
            if place in written:
                raise BadlyDefined(
                    f"{action.name} sets {variable.name} twice; make the conditions exclude each other"
                )
            if value not in positions[place]:
                raise BadlyDefined(
                    f"{action.name} sets {variable.name} to {show(value)}, "
                    f"outside {variable.domain.name}; widen the domain or tighten the guard"
                )
            if variable.is_choice:
                raise ModelError(
                    f"{action.name} sets {variable.name}, which is a choice; choices never change"
                )
            written.add(place)
            after[place] = positions[place][value]

        return put
