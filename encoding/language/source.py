"""Terms as Python source that an author can paste: over a state `s`, with the names of the language."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from fencepost.encoding.language.sorts import BOOL, Sort, SubsetSort, Value, members
from fencepost.encoding.language.state import StateSpace
from fencepost.encoding.language.system import Invariant
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
    any_of,
    node,
)


def source(term: Term, state: StateSpace) -> str:
    """Return the term as source. `s` is the state; a sort is an attribute of it, if it has one.

    Leading `forall` are joined, and an `or` below them is written as an implication.
    """
    return SourceWriter(state).whole(term)


WIDTH = 100
"""The longest line of source that is not broken, without its indentation."""


@dataclass(frozen=True)
class SourceWriter:
    """A writer of terms over a state.

    `names` has names of parameters, and `sorts` the source of the sort of some of them. `spelled` has the
    source of terms that are numbers of one size of the protocol, and of counts of `at least`.
    """

    state: StateSpace
    names: Mapping[Parameter, str] = field(default_factory=dict)
    sorts: Mapping[Parameter, str] = field(default_factory=dict)
    spelled: Mapping[Term, str] = field(default_factory=dict)

    def invariant(self, invariant: Invariant) -> str:
        """Return the call of `Invariant` that declares an invariant, for a list of them."""
        lines = (_quoted(invariant.name), _quoted(invariant.meaning), self.whole(invariant.holds))
        return "Invariant(\n" + "".join(f"{textwrap.indent(line, '    ')},\n" for line in lines) + "),"

    def whole(self, term: Term) -> str:
        """Return a term that stands alone."""
        bound, body = [], term
        while isinstance(body, Quantified) and body.quantifier == "forall":
            bound.append(body.bound)
            body = body.body
        inner = self.naming(bound)
        if isinstance(body, AnyOf):
            condition, *others = body.operands
            text = _call("implies", inner.text(~condition), inner.text(any_of(*others)))
        else:
            text = inner.text(body)
        if not bound:
            return text
        sorts, names = [self.of(p) for p in bound], [inner.names[p] for p in bound]
        if len(bound) == 1:
            return _call("forall", sorts[0], f"lambda {names[0]}: {text}")
        return _call("forall_over", f"({', '.join(sorts)})", f"lambda {', '.join(names)}: {text}")

    def naming(self, bound: Sequence[Parameter]) -> SourceWriter:
        """Return the writer of what stands below these parameters."""
        return replace(self, names=named(bound, self.names))

    def of(self, parameter: Parameter) -> str:
        """Return the source of the sort of a parameter."""
        return self.sorts.get(parameter) or self.sort(parameter.sort)

    def text(self, term: Term) -> str:
        """Return a term as source."""
        kind = node(term)
        if term in self.spelled and not isinstance(term, AtLeast):
            return self.spelled[term]
        match kind:
            case Constant(value=value):
                return _plain(value)
            case Parameter(symbol=name):
                return self.names.get(kind, name)
            case Read(family=family, index=index):
                inside = ", ".join(map(self.text, index))
                return f"s.{family.name}[{inside}]" if index else f"s.{family.name}"
            case Not(operand=Equal(left=left, right=right)):
                return f"{self.part(left)} != {self.part(right)}"
            case Not(operand=Less(left=left, right=right)):
                return f"{self.part(right)} <= {self.part(left)}"
            case Not(operand=operand):
                return f"~{self.part(operand)}"
            case AllOf(operands=operands):
                return " & ".join(map(self.part, operands))
            case AnyOf(operands=operands):
                return " | ".join(map(self.part, operands))
            case Equal(left=left, right=right):
                return f"{self.part(left)} == {self.part(right)}"
            case Less(left=left, right=right):
                return f"{self.part(left)} < {self.part(right)}"
            case Plus(right=right, sign=sign) if abs(sign) != 1:
                return f"{self.part(right)} * {sign}"
            case Plus(left=left, right=right, sign=sign):
                return f"{self.part(left)} {'+' if sign > 0 else '-'} {self.part(right)}"
            case If(condition=condition, then=then, otherwise=otherwise):
                return f"if_({', '.join(map(self.text, (condition, then, otherwise)))})"
            case Quantified(quantifier=quantifier, bound=bound, body=body):
                return f"{quantifier}({self.below(bound, body)})"
            case AtLeast(count=count, bound=bound, body=body):
                return f"at_least({self.spelled.get(term, count)}, {self.below(bound, body)})"
            case In(member=member, chosen=chosen):
                return f"is_in({self.text(member)}, {self.text(chosen)})"

    def part(self, term: Term) -> str:
        """Return a part of a larger term, in parentheses if it needs them."""
        text = self.text(term)
        whole = isinstance(term, Constant | Parameter | Read | Quantified | AtLeast | If | In)
        negated = isinstance(term, Not) and not isinstance(term.operand, Equal | Less)
        return text if whole or negated else f"({text})"

    def below(self, bound: Parameter, body: Term) -> str:
        """Return a sort, and the function of its values."""
        inner = self.naming([bound])
        return f"{self.of(bound)}, lambda {inner.names[bound]}: {inner.text(body)}"

    def sort(self, sort: Sort) -> str:
        """Return the source of a sort."""
        for name, value in vars(self.state).items():
            if isinstance(value, Sort) and value == sort:
                return f"s.{name}"
        for family in self.state.families:
            own = f"s.{family.name}" if family.over else f"s.{family.name}.family"
            if family.domain == sort and sort != BOOL:
                return f"{own}.domain"
            if sort in family.over:
                return f"{own}.over[{family.over.index(sort)}]"
        if isinstance(sort, SubsetSort):
            return f"subsets({self.sort(sort.of)})"
        values = sort.values
        if sort == BOOL:
            return "BOOL"
        first, last = values[0], values[-1]
        if isinstance(first, Enum):
            if sort == members(type(first)):
                return f"members({type(first).__name__})"
        elif type(first) is int and type(last) is int and values == tuple(range(first, last + 1)):
            return f"integers({first}, {last})"
        listed = "".join(f"{_plain(value)}, " for value in values)
        part = "" if sort.part_of is None else f", {_quoted(sort.part_of)}"
        return f"Sort({_quoted(sort.name)}, ({listed.rstrip()}){part})"


def named(bound: Sequence[Parameter], names: Mapping[Parameter, str] | None = None) -> dict[Parameter, str]:
    """Return the names, and a new one for each of the parameters."""
    found = dict(names or {})
    for parameter in bound:
        if parameter not in found:
            found[parameter] = next(name for name in _names(parameter.sort) if name not in found.values())
    return found


def _call(name: str, *arguments: str) -> str:
    """Return a call on one line, or in several lines if it is too long for one."""
    whole = f"{name}({', '.join(arguments)})"
    if len(whole) <= WIDTH and "\n" not in whole:
        return whole
    inside = textwrap.indent(",\n".join(arguments), "    ")
    return f"{name}(\n{inside},\n)"


def _plain(value: Value) -> str:
    """Return a plain value as source."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _names(sort: Sort) -> Iterator[str]:
    """Yield names for values of the sort: its first letter, or `n` for numbers; `s` is the state."""
    letter = sort.name[0].lower() if sort.type not in ("int", "bool") else "n"
    first = "v" if letter == "s" or not letter.isalpha() else letter
    yield first
    yield from (f"{first}{number}" for number in range(2, 1000))
