"""What stays true: the part of a term that no action makes false once the term is true.

`phase == prepared` does not last if a prepared participant may commit or abort. `phase != working` follows
from it, and lasts. The analysis looks at one state variable at a time, so a term may last that is not found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from fencepost.encoding.induction.tidy_terms import has_one_of
from fencepost.encoding.induction.value_changes import Given, ValueChanges
from fencepost.encoding.language.actions import Schema
from fencepost.encoding.language.fold import is_true
from fencepost.encoding.language.patterns import subterms
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.terms import (
    TRUE,
    AllOf,
    AnyOf,
    AtLeast,
    Binder,
    Constant,
    Equal,
    If,
    In,
    Joined,
    Leaf,
    Less,
    Not,
    Parameter,
    Plus,
    Quantified,
    Read,
    Term,
    all_of,
    any_of,
    node,
)

DUAL = {"forall": "exists", "exists": "forall"}


@dataclass(frozen=True)
class Lasting:
    """What lasts while all of `given` is true. Action `and_by` counts too, even if `given` excludes it."""

    changes: ValueChanges
    given: tuple[Given, ...] = ()
    and_by: Schema | None = None
    _known: dict[tuple[int, bool], tuple[Term, Term]] = field(default_factory=dict)

    def part(self, term: Term, holds: bool = True) -> Term:
        """Return a term that follows from `term`, or from its negation, and lasts. It may be just `true`."""
        known = self._known.get((id(term), holds))
        if known is None:
            known = self._known[id(term), holds] = term, self._part(term, holds)
        return known[1]

    def _part(self, term: Term, holds: bool) -> Term:
        if is_fixed(term):
            return term if holds else ~term
        match node(term):
            case Read(type="bool") as read:
                return self.one_of(read, {holds})
            case Not(operand=operand):
                return self.part(operand, not holds)
            case AllOf(operands=operands):
                return self._joined(operands, holds, holds)
            case AnyOf(operands=operands):
                return self._joined(operands, not holds, holds)
            case Equal() as equal:
                return self._equal(equal, holds)
            case Less(left=left, right=right):
                return self._compared(term, left, right, holds)
            case If(condition=condition, then=then, otherwise=otherwise):
                ways = (condition & then, ~condition & otherwise)
                return self.part(
                    any_of(*ways) if holds else any_of(condition & ~then, ~condition & ~otherwise)
                )
            case Quantified(quantifier=quantifier, body=body) as binder if quantifier in DUAL:
                inner = self.part(body, holds)
                kind = quantifier if holds else DUAL[quantifier]
                return inner if is_true(inner) else replace(binder, quantifier=kind, body=inner)
            case AtLeast(body=body) as binder:
                inner = self.part(body, holds)
                if is_true(inner):
                    return TRUE
                return replace(binder, body=inner) if holds else ~replace(binder, body=~inner)
            case Leaf() | Read() | Plus() | Quantified() | In():
                return TRUE

    def _joined(self, operands: Iterable[Term], every: bool, holds: bool) -> Term:
        parts = [self.part(operand, holds) for operand in operands]
        if every:
            return all_of(*parts)
        return TRUE if any(map(is_true, parts)) else any_of(*parts)

    def _equal(self, term: Equal, holds: bool) -> Term:
        for one, other in ((term.left, term.right), (term.right, term.left)):
            if isinstance(one, Read) and isinstance(other, Constant):
                own = {other.value}
                return self.one_of(one, own if holds else {*one.family.domain} - own)
            if isinstance(one, Read) and isinstance(other, Parameter) and one.type != "bool":
                return self._equals_parameter(one, other, holds)
        if term.left.type == "bool":
            left, right = term.left, term.right
            ways = (left & right, ~left & ~right) if holds else (left & ~right, ~left & right)
            return self.part(any_of(*ways))
        lasts = holds and all(is_fixed(side) or self._is_set_once(side) for side in (term.left, term.right))
        return term if lasts else TRUE

    def _equals_parameter(self, read: Read, parameter: Parameter, holds: bool) -> Term:
        """Return what lasts of the equality of a variable with a parameter, or of their difference."""
        later = self._later(read)
        if later is None:
            return TRUE
        values = [value for value in parameter.sort if value in later]
        if not holds:
            comes = {v for before, after in later.items() for v in after if v != before}
            return read != parameter if comes.isdisjoint(values) else TRUE
        if all(later[value] == {value} for value in values):
            return read == parameter
        return self.one_of(read, set(values))

    def _compared(self, term: Term, left: Term, right: Term, holds: bool) -> Term:
        """Return what lasts of `left < right`, or of `right <= left`."""
        for read, other, below in ((left, right, True), (right, left, False)):
            if isinstance(read, Read) and isinstance(other, Constant):
                bound = other.value
                fits = {v for v in read.family.domain if ((v < bound if below else bound < v) == holds)}  # type: ignore[operator]
                return self.one_of(read, fits)
        falls, rises = self._ways(left), self._ways(right)
        wanted = ("falls" in falls and "rises" in rises) if holds else ("rises" in falls and "falls" in rises)
        return TRUE if not wanted else term if holds else ~term

    def one_of(self, read: Read, values: set[Value]) -> Term:
        """Return that the variable has one of the values that follow these, or `true` if that is no news.

        Values outside its domain are never taken, so nothing follows them.
        """
        later = self._later(read)
        if later is None:
            return TRUE
        return has_one_of(read, frozenset().union(*(later[value] for value in values if value in later)))

    def _later(self, read: Read) -> Mapping[Value, frozenset[Value]] | None:
        """Return what each value of the variable may become; None if the variable is not always the same."""
        if read.family.fault is not None or not all(map(is_fixed, read.index)):
            return None
        return self.changes.later(read, self.given, self.and_by)

    def _is_set_once(self, term: Term) -> bool:
        """Return whether the term is a variable that keeps every value but its first."""
        later = self._later(term) if isinstance(term, Read) else None
        if later is None or not isinstance(term, Read):
            return False
        moving = [value for value, after in later.items() if after != {value}]
        return set(moving) <= initial_values(self.changes, term)

    def _ways(self, term: Term) -> set[str]:
        """Return in which ways an integer may change: it only rises, it only falls; both if it is fixed."""
        both = {"rises", "falls"}
        if is_fixed(term):
            return both
        match node(term):
            case Read() as read:
                later = self._later(read)
                if later is None:
                    return set()
                pairs = [(before, after) for before, values in later.items() for after in values]
                rises = all(before <= after for before, after in pairs)  # type: ignore[operator]
                falls = all(after <= before for before, after in pairs)  # type: ignore[operator]
                return {way for way, goes in (("rises", rises), ("falls", falls)) if goes}
            case Plus(left=left, right=right, sign=sign):
                other = self._ways(right)
                swapped = {"rises": "falls", "falls": "rises"}
                return self._ways(left) & (other if sign > 0 else {swapped[way] for way in other})
            case If(condition=condition, then=then, otherwise=otherwise) if is_fixed(condition):
                return self._ways(then) & self._ways(otherwise)
            case Quantified(quantifier="maximum", body=body):
                return self._ways(body)
            case Leaf() | Not() | Joined() | Equal() | Less() | If() | Binder() | In():
                return set()


def is_fixed(term: Term) -> bool:
    """Return whether the term reads no variable and no choice."""
    return not any(isinstance(part, Read) for part in subterms(term))


def initial_values(changes: ValueChanges, read: Read) -> set[Value]:
    """Return the initial values of the variables of a family."""
    system = changes.system
    return {first for v in system.variables if v.family is read.family for first in system.firsts[v.place]}
