"""Strengthenings of a system: the guard of one action with one conjunct more that its process can read.

A process reads the variables that only its own actions write, at its own index; those that no action writes;
what the action receives; and those of a store, if the action uses a store anyhow.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from fencepost.encoding.language.actions import Schema
from fencepost.encoding.language.patterns import families_read, key, mapped, replaced, same, subterms
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.state import Broken
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import (
    Constant,
    Family,
    Less,
    Parameter,
    Quantified,
    Read,
    Term,
    all_of,
    children,
    lift,
)
from fencepost.encoding.mutation.mutants import exchanged

FEW = 4
"""The values of a domain that a variable is compared with: the first ones."""
Given = Mapping[Parameter, Term]


@dataclass(frozen=True, eq=False)
class Strengthening:
    """An action and the conjunct `added`: a condition `form` of the text, with terms given for parameters."""

    schema: Schema
    form: Term
    given: Given
    added: Term

    @property
    def size(self) -> int:
        """The number of variables, arguments and values in the conjunct."""
        ahead, found = [self.added], 0
        while ahead:
            below = children(ahead.pop())
            ahead += below
            found += not below
        return found

    @property
    def changed(self) -> Schema:
        """The action with the stronger guard."""
        action = self.schema.action
        return replace(self.schema, action=replace(action, when=all_of(action.when, self.added)))

    def of(self, system: System) -> System:
        """Return the system with it. Properties that an action can happen say so of the stronger guard."""
        guarded = [(prop, self._in_guards(prop.holds)) for prop in system.properties]
        properties = (p if holds is p.holds else replace(p, holds=holds) for p, holds in guarded)
        return replace(exchanged(system, self.schema, self.changed), properties=tuple(properties))

    def _in_guards(self, term: Term, depth: int = 0) -> Term:
        """Return the term with the conjunct where it has the action's guard (`Schema.could_happen`)."""
        parameters = self.schema.parameters
        if depth == len(parameters) > 0:
            return all_of(term, self.added)
        is_next = parameters and isinstance(term, Quantified) and term.bound is parameters[depth]
        return mapped(term, lambda part: self._in_guards(part, depth + 1 if is_next else 0))


class Strengthenings:
    """The strengthenings of a folded system."""

    def __init__(self, system: System) -> None:
        """Note who writes each state variable, and where its index is the writer. Faults do not count."""
        self.system, self.acting = system, [s for s in system.schemas if s.action.fault is None]
        self.stores = {name for names in system.state.stores.values() for name in names}
        self.writers: dict[Family, set[tuple[str, object]]] = {}
        self.places: dict[Family, set[int]] = {}
        for schema in self.acting:
            for target in (update.target for update in schema.action.then):
                own = {n for n, term in enumerate(target.index) if same(term, lift(schema.action.actor))}
                self.writers.setdefault(target.family, set()).add(self._who(schema))
                self.places.setdefault(target.family, own).intersection_update(own)

    def _who(self, schema: Schema) -> tuple[str, object]:
        """Return the kind of process that performs an action, and its name if it is always the same one."""
        actor = lift(schema.action.actor)
        if not isinstance(actor, Constant):
            return actor.type, None
        sorts = (sort for family in self.system.state.families for sort in family.over if sort.counted)
        return next((sort.type for sort in sorts if actor.value in sort), show(actor.value)), actor.value

    def of(self, schema: Schema) -> list[Strengthening]:
        """Return the strengthenings of an action, each once, the smallest first."""
        received, actor, who = schema.action.received, lift(schema.action.actor), self._who(schema)
        message = subterms(*(received.terms if received else ()))
        told = {key(term): term.family for term in message if isinstance(term, Read)}
        asked = not self.stores.isdisjoint(family.name for family in families_read(*_terms(schema)))

        def may_read(family: Family) -> bool:
            if family not in self.writers or family in told.values():
                return family.fault is None
            ours = {kind for kind, _ in self.writers[family]} == {who[0]} and not isinstance(family, Broken)
            return asked if family.name in self.stores else ours

        def can_read(read: Read) -> bool:
            family, places = read.family, self.places.get(read.family)
            if places is None or key(read) in told:
                return True
            if family.name in self.stores:
                return asked
            if not places:
                return self.writers[family] == {who} and isinstance(actor, Constant)
            return {kind for kind, _ in self.writers[family]} == {who[0]} and all(
                same(read.index[n], actor) for n in places
            )

        families = frozenset(filter(may_read, self.system.state.families))
        found: dict[object, Strengthening | None] = {}
        for form, given in self._conditions(schema, families):
            for one in (form, ~form):
                made = Strengthening(schema, one, given, replaced(one, given))
                if (known := key(made.added)) not in found:
                    reads = [term for term in subterms(made.added) if isinstance(term, Read)]
                    varies = any(read.family in self.writers for read in reads)
                    found[known] = made if varies and all(map(can_read, reads)) else None
        return sorted(filter(None, found.values()), key=lambda one: one.size)

    def _conditions(self, schema: Schema, families: frozenset[Family]) -> Iterator[tuple[Term, Given]]:
        """Yield the conditions of actions of this kind of process, and comparisons of what these read."""
        own, listed = dict.fromkeys(schema.parameters), list(self._terms(schema, families))
        reads = (replaced(term, given) for term, given in listed if isinstance(term, Read))
        plain = [read for read in reads if isinstance(read, Read) and all(p in own for p in read.free)]
        for form, given in listed:
            atoms: list[Term] = [form]
            if isinstance(form, Read) and form.type != "bool":
                domain = form.family.domain
                others: list[Term] = [
                    p for p in own if p.sort is domain or p.sort.type == domain.type != "int"
                ]
                like = (r for r in plain if r.family.domain.name == domain.name)
                others += [r for r in like if r.family is not form.family]
                pairs = [(form, o) for o in others if o.type == "int"]
                others += [Constant(form.type, value, domain) for value in domain.values[:FEW]]
                atoms = [form == other for other in others]
                atoms += [Less("bool", *pair) for a, b in pairs for pair in ((a, b), (b, a))]
            for atom in (atom for atom in atoms if atom.type == "bool"):
                left = [p for p, term in given.items() if p is term and p not in own]
                for body in (atom, ~atom) if left else (atom,):
                    for parameter in left:
                        body = Quantified("bool", "forall", parameter, body)
                    yield body, given

    def _terms(self, schema: Schema, families: frozenset[Family]) -> Iterator[tuple[Term, Given]]:
        """Yield the terms in actions of this kind of process, with this action's arguments for parameters."""
        own = lift(schema.action.actor)
        for other in (other for other in self.acting if self._who(other)[0] == self._who(schema)[0]):
            actor = lift(other.action.actor)
            for form in (form for form in _terms(other) if families_read(form) <= families):
                options = [[own] if p is actor else [*_fitting(schema, p), p] for p in form.free]
                for chosen in itertools.product(*options):
                    yield form, dict(zip(form.free, chosen, strict=True))


def _terms(schema: Schema) -> Iterator[Term]:
    """Yield the terms of an action, with the variables that it sets and what it receives."""
    received = schema.action.received
    targets = [update.target for update in schema.action.then]
    return subterms(*schema.terms, *targets, *(received.terms if received else ()))


def _fitting(schema: Schema, old: Parameter) -> list[Parameter]:
    """Return the arguments of an action whose values are all of a parameter; of numbers those of its sort."""
    fits = (p for p in schema.parameters if p.sort.type == old.sort.type)
    return [p for p in fits if p.sort is old.sort or (p.type != "int" and {*p.sort} <= {*old.sort})]
