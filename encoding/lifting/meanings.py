"""Which integers of a protocol mean the same, so that an invariant may compare them.

A protocol's integers have no names: a replica and a record may both be in 1..2. Two of them mean the same
if the protocol itself compares them, assigns one to the other, or uses one as an index where the other
stands. A type inference by unification reads this off the terms.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache

from fencepost.encoding.language.patterns import subterms
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import (
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
    node,
)
from fencepost.encoding.lifting.templates import DOMAIN, SortOf


class Meanings:
    """The classes of integers of one system that mean the same."""

    def __init__(self, system: System) -> None:
        """Read the actions, the properties and the invariants of the system."""
        self._above: dict[Hashable, Hashable] = {}
        for family in system.state.families:
            for position, sort in enumerate((family.domain, *family.over), start=DOMAIN):
                self._unify(SortOf(family.name, position), id(sort))
        for schema in system.schemas:
            for update in schema.action.then:
                self._unify(self._of(update.target), self._of(update.value))
            self._read(*schema.terms, *(update.target for update in schema.action.then))
        self._read(*(term for prop in system.properties for term in (prop.holds, prop.witness)))
        self._read(*(invariant.holds for invariant in system.invariants))

    def same(self, one: SortOf, other: SortOf) -> bool:
        """Return whether integers of these two sorts mean the same."""
        return self.of(one) == self.of(other)

    def of(self, place: SortOf) -> Hashable:
        """Return what stands for all sorts that mean the same as this one."""
        return self._class(place)

    def _read(self, *terms: Term) -> None:
        """Unify what these terms compare, and each index with its place."""
        for term in subterms(*terms):
            match node(term):
                case Equal(left=left, right=right) | Less(left=left, right=right):
                    self._unify(self._of(left), self._of(right))
                case If(then=then, otherwise=otherwise):
                    self._unify(self._of(then), self._of(otherwise))
                case Read(family=family, index=index):
                    for position, value in enumerate(index):
                        self._unify(self._of(value), SortOf(family.name, position))
                case Leaf() | Not() | Joined() | Plus() | Binder() | In():
                    pass

    def _of(self, term: Term) -> Hashable:
        """Return a member of the class of a term's value, or None if it has no meaning of its own."""
        match node(term):
            case Parameter(sort=sort):
                return id(sort)
            case Read(family=family):
                return SortOf(family.name)
            case Plus(left=left, right=right):
                return self._of(left) if isinstance(right, Constant) else None
            case If(then=then, otherwise=otherwise):
                return self._of(then) or self._of(otherwise)
            case Quantified(quantifier="maximum", body=body):
                return self._of(body)
            case Constant() | Not() | Joined() | Equal() | Less() | Binder() | In():
                return None

    def _unify(self, one: Hashable, other: Hashable) -> None:
        if one is not None and other is not None:
            self._above[self._class(one)] = self._class(other)

    def _class(self, member: Hashable) -> Hashable:
        above = self._above.get(member, member)
        if above != member:
            self._above[member] = above = self._class(above)
        return above


@lru_cache(maxsize=8)
def meanings(system: System) -> Meanings:
    """Return the meanings of a system's integers, read off once."""
    return Meanings(system)
