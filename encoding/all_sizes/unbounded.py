"""Terms over sorts of any size, as formulas of first-order logic with quantifiers.

A sort of any size becomes an uninterpreted sort, a family an uninterpreted function or predicate. A value of
a counted domain (a truth value, a member of an Enum) is guarded: it has one formula for each value it may
have. So the solver sees uninterpreted sorts and Booleans only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import z3

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.actions import Schema
from fencepost.encoding.language.sorts import Sort
from fencepost.encoding.language.state import StateSpace
from fencepost.encoding.language.terms import (
    AllOf,
    AnyOf,
    Binder,
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
    Update,
    node,
)

SymbolicValue: TypeAlias = Any
"""A z3 term of an uninterpreted sort, or a guarded value: a formula for each value of a counted domain."""

Environment: TypeAlias = Mapping[Parameter, SymbolicValue]
SymbolicState: TypeAlias = Mapping[Family, Callable[..., SymbolicValue]]
"""A state: for each family the function from an index to its value."""


class Unbounded:
    """The translation of terms over one state space, with sorts of any size."""

    def __init__(self, state: StateSpace) -> None:
        """Declare the sorts and families."""
        self.families = state.families
        self._sorts: dict[str, Any] = {}
        self.before: SymbolicState = {f: self._uninterpreted(f) for f in state.families}
        """The state before an action: any state."""
        self._depth = 0

    def sort(self, sort: Sort) -> Any:
        """Return the uninterpreted sort; raises ModelError for a counted sort."""
        if sort.counted:
            raise ModelError(
                f"{sort.name} is counted; in a proof for all sizes an index must be a sort of any size"
            )
        return self._sorts.setdefault(sort.name, z3.DeclareSort(_camel(sort.name)))

    def constants(self, parameters: Iterable[Parameter]) -> dict[Parameter, SymbolicValue]:
        """Return a constant for each parameter of an action."""
        return {p: z3.Const(f"the_{_snake(p.symbol)}", self.sort(p.sort)) for p in parameters}

    def holds(self, term: Term, state: SymbolicState, environment: Environment | None = None) -> Any:
        """Return a truth-valued term in a state as a formula."""
        return self._value(term, environment or {}, state).get(True, z3.BoolVal(False))

    def after(self, schema: Schema, environment: Environment) -> SymbolicState:
        """Return the state after an action: each family as a function over the state before."""
        updates: dict[Family, list[Update]] = {}
        for update in schema.action.then:
            updates.setdefault(update.target.family, []).append(update)
        return {f: self._updated(f, updates.get(f, ()), environment) for f in self.families}

    def clashes(self, schema: Schema, environment: Environment) -> list[Any]:
        """Return for each two updates of one family the formula that both take place at one index."""
        found = []
        for number, one in enumerate(schema.action.then):
            for other in schema.action.then[:number]:
                if one.target.family is other.target.family:
                    index = [
                        z3.Const(f"where_{i}", self.sort(sort))
                        for i, sort in enumerate(one.target.family.over)
                    ]
                    found.append(
                        z3.And(
                            self._hits(one, index, environment)[0], self._hits(other, index, environment)[0]
                        )
                    )
        return found

    def well_formed(self) -> list[Any]:
        """Return formulas: each variable with a counted domain of more than two values has one of them."""
        found = []
        for family in self.families:
            if family.domain.counted and len(family.domain) > 2:
                index = self._index(family)
                bits = [f for v, f in self.before[family](*index).items() if v != family.domain.values[0]]
                pairs = [z3.Not(z3.And(a, b)) for i, a in enumerate(bits) for b in bits[:i]]
                found.append(_for_all(index, z3.And(*pairs)))
        return found

    def initial(self) -> list[Any]:
        """Return formulas about initial states.

        Every variable with a counted domain and plain initial values has one of these.
        """
        found = []
        for family in self.families:
            if family.domain.counted and not callable(family.initial):
                index = self._index(family)
                values = self.before[family](*index)
                first, *others = (values[value] for value in family.firsts(()))
                found.append(_for_all(index, z3.Or(first, *others) if others else first))
        return found

    def _index(self, family: Family) -> list[Any]:
        return [
            z3.Const(f"{_snake(sort.name)}_{i}", self.sort(sort)) for i, sort in enumerate(family.over, 1)
        ]

    def _uninterpreted(self, family: Family) -> Callable[..., SymbolicValue]:
        name, over = _snake(family.name), [self.sort(sort) for sort in family.over]
        if not family.domain.counted:
            function = z3.Function(name, *over, self.sort(family.domain))
            return lambda *index: function(*index)
        first, *others = family.domain.values
        if family.domain.type == "bool":
            predicate = z3.Function(name, *over, z3.BoolSort())
            return lambda *index: _truth(predicate(*index))
        predicates = {
            value: z3.Function(
                f"{name}_is_{_snake(getattr(value, 'name', str(value)))}", *over, z3.BoolSort()
            )
            for value in others
        }

        def guarded(*index: Any) -> SymbolicValue:
            values = {value: predicate(*index) for value, predicate in predicates.items()}
            return {first: z3.Not(z3.Or(*values.values())), **values}

        return guarded

    def _updated(
        self, family: Family, updates: Sequence[Update], environment: Environment
    ) -> Callable[..., SymbolicValue]:
        if not updates:
            return self.before[family]

        def value(*index: Any) -> SymbolicValue:
            found = self.before[family](*index)
            for update in updates:
                here, own = self._hits(update, index, environment)
                found = _choose(here, self._value(update.value, own, self.before), found)
            return found

        return value

    def _hits(
        self, update: Update, index: Sequence[Any], environment: Environment
    ) -> tuple[Any, Environment]:
        """Return when the update sets its family at that index, and the values of its own parameters then."""
        bound = set(map(id, update.over))
        places = list(zip(update.target.index, index, strict=True))
        own = dict(environment)
        own |= {term: given for term, given in places if isinstance(term, Parameter) and id(term) in bound}
        if any(p not in own for p in update.over):
            name = update.target.family.name
            raise ModelError(
                f"{name}: an update is over parameters that are not among its indices; add them there"
            )
        same = [
            self._value(term, own, self.before) == given for term, given in places if id(term) not in bound
        ]
        return z3.And(*same, self.holds(update.when, self.before, own)), own

    def _value(self, term: Term, environment: Environment, state: SymbolicState) -> SymbolicValue:
        match node(term):
            case Constant(value=value):
                return {value: z3.BoolVal(True)} if value is not False else _truth(z3.BoolVal(False))
            case Parameter() as parameter:
                return environment[parameter]
            case Read(family=family, index=index):
                return state[family](*(self._value(i, environment, state) for i in index))
            case Not(operand=operand):
                return _truth(z3.Not(self.holds(operand, state, environment)))
            case AllOf(operands=operands):
                return _truth(z3.And(*(self.holds(o, state, environment) for o in operands)))
            case AnyOf(operands=operands):
                return _truth(z3.Or(*(self.holds(o, state, environment) for o in operands)))
            case Equal(left=left, right=right):
                return _truth(
                    _same(self._value(left, environment, state), self._value(right, environment, state))
                )
            case If(condition=condition, then=then, otherwise=otherwise):
                return _choose(
                    self.holds(condition, state, environment),
                    self._value(then, environment, state),
                    self._value(otherwise, environment, state),
                )
            case Quantified(quantifier="forall" | "exists" as quantifier, bound=bound, body=body):
                return _truth(self._quantified(quantifier, bound, body, environment, state))
            case Less() | Plus() | Binder() | In():
                raise ModelError(
                    f"{type(term).__name__}: terms over sorts of any size cannot count, add or compare by "
                    "size; use a sort of quorums, or an order that axioms describe"
                )

    def _quantified(
        self, quantifier: str, bound: Parameter, body: Term, environment: Environment, state: SymbolicState
    ) -> Any:
        """Return the quantified formula. Its variable is named by sort and depth: equal terms look equal."""
        self._depth += 1
        variable = z3.Const(f"{_snake(bound.sort.name)}_{self._depth}", self.sort(bound.sort))
        inner = self.holds(body, state, {**environment, bound: variable})
        self._depth -= 1
        return (z3.ForAll if quantifier == "forall" else z3.Exists)([variable], inner)


def _truth(formula: Any) -> SymbolicValue:
    return {True: formula, False: z3.Not(formula)}


def _same(left: SymbolicValue, right: SymbolicValue) -> Any:
    if not isinstance(left, dict):
        return left == right
    return z3.Or(*(z3.And(formula, right[value]) for value, formula in left.items() if value in right))


def _choose(condition: Any, then: SymbolicValue, otherwise: SymbolicValue) -> SymbolicValue:
    if not isinstance(then, dict):
        return z3.If(condition, then, otherwise)
    no = z3.BoolVal(False)
    if any(value is True for value in (*then, *otherwise)):  # 1 == True, and a number is no truth value
        return _truth(z3.If(condition, then.get(True, no), otherwise.get(True, no)))
    return {
        value: z3.If(condition, then.get(value, no), otherwise.get(value, no))
        for value in dict.fromkeys((*then, *otherwise))
    }


def _for_all(constants: list[Any], formula: Any) -> Any:
    return z3.ForAll(constants, formula) if constants else formula


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split())


def _snake(name: str) -> str:
    return name.lower().replace(" ", "_").replace("-", "_")
