"""Boolean connectives on z3 terms, simplified if an operand is a constant.

They call z3's C interface. The Python operators take five times as long, and an encoding makes tens of
thousands of calls.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import TypeAlias

import z3
from z3 import z3core

Formula: TypeAlias = z3.BoolRef

_CONTEXT = z3.main_ctx()
_REF = _CONTEXT.ref()
TRUE: Formula = z3.BoolVal(True)
FALSE: Formula = z3.BoolVal(False)
_SORT = z3.BoolSort().ast
_NEGATIONS: dict[int, Formula] = {}
"""Negations in both directions, so that two cancel out. Terms in here stay alive, which keeps keys valid."""


def key(formula: Formula) -> int:
    """Return a key that is equal for equal terms, because z3 shares them. It is valid while a term lives."""
    return int(formula.ast.value)


_TRUE_KEY, _FALSE_KEY = key(TRUE), key(FALSE)


def named(name: str) -> Formula:
    """Return the Boolean variable of that name."""
    return Formula(z3core.Z3_mk_const(_REF, z3core.Z3_mk_string_symbol(_REF, name), _SORT), _CONTEXT)


def name_of(variable: Formula) -> str:
    """Return the name of a Boolean variable. z3's own `str` takes thirty times as long."""
    declared = z3core.Z3_get_app_decl(_REF, variable.as_ast())
    return str(z3core.Z3_get_symbol_string(_REF, z3core.Z3_get_decl_name(_REF, declared)))


def neg(formula: Formula) -> Formula:
    """Return the negation."""
    if formula is TRUE:
        return FALSE
    if formula is FALSE:
        return TRUE
    known = _NEGATIONS.get(key(formula))
    if known is None:
        double = z3.is_not(formula)
        known = formula.arg(0) if double else Formula(z3core.Z3_mk_not(_REF, formula.ast), _CONTEXT)
        _NEGATIONS[key(formula)] = known
        _NEGATIONS[key(known)] = formula
    return known


def conj(formulas: Iterable[Formula]) -> Formula:
    """Return the conjunction; true if there are no operands."""
    return _gather(formulas, TRUE, FALSE, z3core.Z3_mk_and)


def disj(formulas: Iterable[Formula]) -> Formula:
    """Return the disjunction; false if there are no operands."""
    return _gather(formulas, FALSE, TRUE, z3core.Z3_mk_or)


def _gather(formulas: Iterable[Formula], neutral: Formula, absorbing: Formula, make: object) -> Formula:
    kept: dict[int, Formula] = {}
    for formula in formulas:
        if formula is absorbing:
            return absorbing
        if formula is not neutral:
            kept[key(formula)] = formula
    if len(kept) < 2:
        return next(iter(kept.values()), neutral)
    array = (z3core.Ast * len(kept))(*(f.ast for f in kept.values()))
    assert callable(make)
    return Formula(make(_REF, len(kept), array), _CONTEXT)


def ite(condition: Formula, then: Formula, otherwise: Formula) -> Formula:
    """Return the formula for `then` if `condition` holds, else `otherwise`."""
    if condition is TRUE or key(then) == key(otherwise):
        return then
    if condition is FALSE:
        return otherwise
    if then is TRUE:
        return disj((condition, otherwise))
    if otherwise is FALSE:
        return conj((condition, then))
    if then is FALSE:
        return conj((neg(condition), otherwise))
    if otherwise is TRUE:
        return disj((neg(condition), then))
    return Formula(z3core.Z3_mk_ite(_REF, condition.ast, then.ast, otherwise.ast), _CONTEXT)


def iff(left: Formula, right: Formula) -> Formula:
    """Return the equivalence."""
    if left is TRUE:
        return right
    if right is TRUE:
        return left
    if left is FALSE:
        return neg(right)
    if right is FALSE:
        return neg(left)
    if key(left) == key(right):
        return TRUE
    return Formula(z3core.Z3_mk_eq(_REF, left.ast, right.ast), _CONTEXT)


class Connective(Enum):
    """The kinds of formulas that this module builds."""

    VARIABLE = z3.Z3_OP_UNINTERPRETED
    TRUE = z3.Z3_OP_TRUE
    FALSE = z3.Z3_OP_FALSE
    NOT = z3.Z3_OP_NOT
    AND = z3.Z3_OP_AND
    OR = z3.Z3_OP_OR
    ITE = z3.Z3_OP_ITE
    IFF = z3.Z3_OP_EQ


def connective(formula: Formula) -> Connective:
    """Return the outermost connective. Raises ValueError for a term that this module does not build."""
    return Connective(z3core.Z3_get_decl_kind(_REF, z3core.Z3_get_app_decl(_REF, formula.ast)))


def operands(formula: Formula) -> list[Formula]:
    """Return the formulas directly below the outermost connective, in their order."""
    count = z3core.Z3_get_app_num_args(_REF, formula.ast)
    return [Formula(z3core.Z3_get_app_arg(_REF, formula.ast, i), _CONTEXT) for i in range(count)]


class Renaming:
    """A simultaneous substitution of formulas for variables."""

    def __init__(self, pairs: list[tuple[Formula, Formula]]) -> None:
        """Prepare the substitution of the second of each pair for the first."""
        self._pairs = pairs  # keeps the terms behind the arrays alive
        self._count = len(pairs)
        self._olds = (z3core.Ast * self._count)(*(old.ast for old, _ in pairs))
        self._news = (z3core.Ast * self._count)(*(new.ast for _, new in pairs))

    def __call__(self, formula: Formula) -> Formula:
        """Return the formula after the substitution."""
        if formula is TRUE or formula is FALSE or not self._count:
            return formula
        ast = z3core.Z3_substitute(_REF, formula.ast, self._count, self._olds, self._news)
        result = Formula(ast, _CONTEXT)
        if key(result) == _TRUE_KEY:
            return TRUE
        return FALSE if key(result) == _FALSE_KEY else result
