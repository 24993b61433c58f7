"""Which clauses of one size are instances of a template, so that they need no template of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fencepost.encoding.engine.clauses import Clause, Literal, Relation
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.system import System
from fencepost.encoding.lifting.samples import Assignment, Samples
from fencepost.encoding.lifting.templates import Pattern, Template, holes

Allowed = dict[int, frozenset[int]]
"""For each place in a clause, the positions of the values that make the clause true."""


def allowed(system: System, clause: Clause) -> Allowed:
    """Return the values that make the clause true, by place."""
    found: Allowed = {}
    for literal in clause:
        count = len(literal.variable(system).domain)
        found[literal.place] = found.get(literal.place, frozenset()) | positions(literal, count)
    return found


def positions(literal: Literal, count: int) -> frozenset[int]:
    """Return the positions, in a domain of `count` values, that make the literal true."""
    everything = range(count)
    at = literal.position
    match literal.relation:
        case Relation.IS:
            return frozenset((at,))
        case Relation.IS_NOT:
            return frozenset(p for p in everything if p != at)
        case Relation.AT_LEAST:
            return frozenset(p for p in everything if p >= at)
        case Relation.BELOW:
            return frozenset(p for p in everything if p < at)


def covered(clause: Allowed, templates: Iterable[Template], samples: Samples) -> bool:
    """Return whether an instance of some template is a part of the clause. Groups are not looked into."""
    families = {samples.system.variables[place].family.name for place in clause}
    return any(
        not template.groups
        and all(pattern.family in families for pattern in template.patterns)
        and _has_instance(clause, template, samples)
        for template in templates
    )


def _has_instance(clause: Allowed, template: Template, samples: Samples) -> bool:
    try:
        sorts = [sort.within(samples.families).values for sort in template.bound]
    except KeyError:
        return False
    last = [max((h.number for h in holes(p.parts)), default=-1) + 1 for p in template.patterns]
    when: list[list[Pattern]] = [[] for _ in range(len(sorts) + 1)]
    for pattern, depth in zip(template.patterns, last, strict=True):
        when[depth].append(pattern)

    def below(values: Assignment) -> bool:
        depth = len(values)
        if not all(_is_part(clause, pattern, values, samples) for pattern in when[depth]):
            return False
        if depth < len(sorts):
            return any(below((*values, value)) for value in sorts[depth])
        return samples.allows(template.guards, values)

    return below(())


def _is_part(clause: Allowed, pattern: Pattern, values: Sequence[Value], samples: Samples) -> bool:
    """Return whether a pattern, under an assignment, makes the clause true whenever it is true."""
    try:
        place, own = samples.ground(pattern, values)
    except KeyError:
        return False
    return place in clause and own <= clause[place]
