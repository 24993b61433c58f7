"""Clauses of one size lifted to templates: from the most general one down, each true in all simulated states.

The values in a clause become variables. Values of one sort that are equal stay one variable. The weakest
guards are then added that exclude every simulated counterexample, at every size simulated. Statements that
are the same for all values of a sort, or for several of them, become `exists` or `at least n` as well.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from fencepost.encoding.engine.clauses import Clause, Literal, Relation
from fencepost.encoding.language.patterns import subterms
from fencepost.encoding.language.sorts import Sort, Value
from fencepost.encoding.language.state import Variable
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import Constant
from fencepost.encoding.lifting.groups import grouped
from fencepost.encoding.lifting.guards import guards_of, hitting_sets, minimal
from fencepost.encoding.lifting.meanings import Meanings, meanings
from fencepost.encoding.lifting.samples import Samples
from fencepost.encoding.lifting.template_instances import positions
from fencepost.encoding.lifting.templates import DOMAIN, Fixed, Hole, Part, Pattern, SortOf, Template, tidy

CHOICES = 2
"""The number of sets of guards that are tried for one clause."""


ENOUGH = 4
"""The number of templates of one clause after which no other way to write it is tried."""


@dataclass(frozen=True)
class Abstraction:
    """A clause with variables for its values: the template without guards, and the values."""

    template: Template
    values: tuple[Value, ...]
    sorts: tuple[Sort, ...]


@dataclass
class _Values:
    """The variables of a clause that is made abstract."""

    system: System

    def __post_init__(self) -> None:
        self.meanings = meanings(self.system)
        self.places: list[SortOf] = []
        self.sorts: list[Sort] = []
        self.values: list[Value] = []
        self._numbers: dict[object, int] = {}

    def part(self, variable: Variable, position: int, value: Value) -> Part:
        """Return the hole of a value, or the value itself if no variable should stand for it."""
        family = variable.family
        sort = family.domain if position == DOMAIN else family.over[position]
        if isinstance(value, bool) or not isinstance(value, int | str):
            return Fixed(value)
        place = SortOf(family.name, position)
        own = sort if position == DOMAIN else id(sort)
        key: object = (sort.type if isinstance(value, str) else (self.meanings.of(place), own)), value
        if key not in self._numbers:
            self._numbers[key] = len(self.values)
            self.places.append(place)
            self.sorts.append(sort)
            self.values.append(value)
        number = self._numbers[key]
        if len(sort) < len(self.sorts[number]):
            self.places[number], self.sorts[number] = place, sort
        return Hole(number)


FORMS = 16
"""The most ways to write one clause that are tried."""


def forms(system: System, clause: Clause) -> Iterator[Clause]:
    """Yield the clause in other relations that mean the same at this size, the clause as it is first.

    With two values, `x ≠ 0` and `x = 1` are the same, and so is `x ≥ 1`. At larger sizes they differ.
    """
    options = [list(_alike(system, literal)) for literal in clause]
    yield from itertools.islice(itertools.product(*options), FORMS)


def _alike(system: System, literal: Literal) -> Iterator[Literal]:
    """Yield the literal, and those of integers that are true of the same values."""
    domain = literal.variable(system).domain
    yield literal
    if type(domain.values[0]) is bool:
        return
    count = len(domain)
    ordered = type(domain.values[0]) is int
    for relation in Relation if ordered else (Relation.IS, Relation.IS_NOT):
        for position in range(count):
            other = Literal(literal.place, relation, position)
            if other != literal and positions(other, count) == positions(literal, count):
                yield other


def abstracted(system: System, clause: Clause) -> Abstraction:
    """Return the clause with variables for its values."""
    seen, patterns = _Values(system), []
    for literal in sorted(clause):
        variable = literal.variable(system)
        index = tuple(seen.part(variable, n, value) for n, value in enumerate(variable.index))
        relation, value = literal.relation, literal.value(system)
        if isinstance(value, bool) and relation is Relation.IS_NOT:
            relation, value = Relation.IS, not value
        part = seen.part(variable, DOMAIN, value)
        patterns.append(Pattern(variable.family.name, index, relation, part))
    template = Template(tuple(seen.places), (), tuple(patterns))
    return Abstraction(template, tuple(seen.values), tuple(seen.sorts))


@lru_cache(maxsize=8)
def named_labels(system: System) -> frozenset[Value]:
    """Return the labels that the actions and properties of the system mention."""
    terms = [term for schema in system.schemas for term in schema.terms]
    terms += [prop.holds for prop in system.properties]
    return frozenset(
        term.value for term in subterms(*terms) if isinstance(term, Constant) and isinstance(term.value, str)
    )


def lifted(
    system: System, clause: Clause, samples: Sequence[Samples], numbers: Mapping[str, int]
) -> list[Template]:
    """Return templates that cover the clause, most general first, each true in all samples.

    `numbers` are the parameters of the size at which the clause was found. The last resort is the clause
    itself, for its own labels in any naming and its own numbers.
    """
    found, named, known = list[Template](), named_labels(system), meanings(system)
    for form in forms(system, clause):
        if len(found) >= ENOUGH:
            break
        abstraction = abstracted(system, form)
        found += _guarded(abstraction, samples, named, known)
        if not found or _speaks_of_all(abstraction):
            for template in grouped(abstraction.template, abstraction.sorts, numbers):
                found += _guarded(replace(abstraction, template=template), samples, named, known)
    distinct = dict.fromkeys(map(tidy, found))
    true = [template for template in distinct if _true(template, samples)]
    return list(dict.fromkeys(form for template in true for form in (*_shorter(template, samples), template)))


def _true(template: Template, samples: Sequence[Samples]) -> bool:
    return all(sample.true(template) for sample in samples)


def _shorter(template: Template, samples: Sequence[Samples]) -> Iterator[Template]:
    """Yield a smallest part of the template that is still true in all samples, if there is one."""
    shorter = template
    for pattern in template.patterns:
        left = tuple(p for p in shorter.patterns if p != pattern)
        if left and _true(part := tidy(replace(shorter, patterns=left)), samples):
            shorter = replace(shorter, patterns=left)
            found = part
    if shorter is not template:
        yield found


def _speaks_of_all(abstraction: Abstraction) -> bool:
    """Return whether all labels of some sort occur, so that the clause may mean that one exists."""
    used = Counter(sort for sort in abstraction.sorts if type(sort.values[0]) is str)
    return any(len(sort) == count for sort, count in used.items())


def _guarded(
    abstraction: Abstraction, samples: Sequence[Samples], named: frozenset[Value], known: Meanings
) -> Iterator[Template]:
    """Yield the template with each of the cheapest sets of guards that make it true in all samples."""
    template, values, sorts = abstraction.template, abstraction.values, abstraction.sorts
    priced = guards_of(values, sorts, template.bound, named, known)
    allowed: set[frozenset[int]] = set()
    for sample in samples:
        try:
            for assignment in sample.failures(template):
                allowed.add(
                    frozenset(
                        number
                        for number, entry in enumerate(priced)
                        if not sample.allows((entry.guard,), assignment)
                    )
                )
        except KeyError:
            return
    if frozenset() in allowed:
        return
    for chosen in hitting_sets(minimal(allowed), [entry.cost for entry in priced], CHOICES):
        guards = tuple(priced[number].guard for number in sorted(chosen))
        yield replace(template, guards=(*template.guards, *guards))
