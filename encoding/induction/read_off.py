"""Invariants read off the actions: what has happened implies what each of its causes required.

A statement that is false at first, such as `handled[bookie, entry]`, becomes true by the actions that set
it. What all of them require is true then: conjuncts of their guards, and what else they set. As far as this
lasts while the statement is true, it is offered as a candidate: `handled[b, e]` needs `sent[b, e]`. Nothing
is proved here, and a candidate may be false. Source: the provenance invariants of Basilisk (Zhang and others,
OSDI 2025).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace

from fencepost.encoding.induction.causes import Happened, Reasons, bound_by
from fencepost.encoding.induction.lasting import initial_values
from fencepost.encoding.induction.tidy_terms import tidied
from fencepost.encoding.induction.value_changes import GuardedUpdate, ValueChanges
from fencepost.encoding.language.author_errors import LONGEST_NAME
from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.fold import is_true
from fencepost.encoding.language.patterns import key, subterms
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.quantifiers import bind
from fencepost.encoding.language.sorts import Sort, Value, show
from fencepost.encoding.language.source import named
from fencepost.encoding.language.system import Invariant, System
from fencepost.encoding.language.terms import AnyOf, Constant, Family, Parameter, Read, Term, all_of


def candidates(system: System) -> tuple[Invariant, ...]:
    """Return the candidates, each once, named after what they say. Needs sorts that are counted."""
    changes = ValueChanges(system)
    taken = {*(p.name for p in system.properties), *(i.name for i in system.invariants)}
    found: list[Invariant] = []
    known: set[Hashable] = set()
    for family in changes.settings:
        for happened in _statements(changes, family):
            for needed in _tidied(map(happened.simplified, Reasons(changes, happened).found())):
                holds = bound_by("forall", happened.bound, implies(happened.holds, needed))
                if key(holds) not in known and not _is_plain(changes, happened, needed):
                    known.add(key(holds))
                    name = _unused(_name(happened, needed), taken)
                    names: dict[Term, str] = dict(named(happened.bound).items())
                    meaning = f"{line(happened.holds, 60, names)} needs {line(needed, 100, names)}"
                    found.append(Invariant(name, meaning, holds))
    return tuple(found)


def _statements(changes: ValueChanges, family: Family) -> Iterator[Happened]:
    """Yield what may happen to the variables of a family."""
    read = family[tuple(bind(sort) for sort in family.over)]
    first = initial_values(changes, read)
    later = [value for value in family.domain if value not in first]
    if not later:
        return
    for index in _indices(changes, family):
        place = family[index]
        if read.type == "bool":
            yield Happened(place, frozenset(later), None)
            continue
        yield Happened(place, frozenset(later), None)
        if len(later) > 1:
            yield from (Happened(place, frozenset([v]), None) for v in _set_to(changes, family) if v in later)
        for sort in dict.fromkeys(_value_sort(setting, family) for setting in changes.settings[family]):
            if sort is not None and set(later) & set(sort):
                yield Happened(place, frozenset(later) & frozenset(sort), bind(sort))


def _set_to(changes: ValueChanges, family: Family) -> list[Value]:
    """Return the values that an update names."""
    values = (setting.update.value for setting in changes.settings[family])
    return list(dict.fromkeys(value.value for value in values if isinstance(value, Constant)))


def _value_sort(setting: GuardedUpdate, family: Family) -> Sort | None:
    """Return the sort of the values that the update sets, if they differ from one to the next."""
    value = setting.update.value
    if isinstance(value, Parameter) and set(value.sort) <= set(family.domain):
        return value.sort
    return None if isinstance(value, Constant) else family.domain


def _indices(changes: ValueChanges, family: Family) -> Iterator[tuple[Term, ...]]:
    """Yield the indices, over the sorts that the actions have there; one of several values is that value."""
    found: dict[tuple[tuple[Value, ...], ...], tuple[Sort, ...]] = {}
    for setting in changes.settings[family]:
        sorts = tuple(
            _index_sort(own, over) for own, over in zip(setting.update.target.index, family.over, strict=True)
        )
        found.setdefault(tuple(sort.values for sort in sorts), sorts)
    for sorts in found.values():
        pairs = zip(sorts, family.over, strict=True)
        yield tuple(
            Constant(over.type, sort.values[0]) if len(sort) == 1 < len(over) else bind(sort)
            for sort, over in pairs
        )


def _index_sort(own: Term, over: Sort) -> Sort:
    """Return the sort of the values that an index of an update has, or the one that it is over."""
    if isinstance(own, Constant):
        return replace(over, listed=(own.value,))
    return own.sort if isinstance(own, Parameter) and set(own.sort) <= set(over) else over


def _tidied(reasons: Iterable[Term]) -> list[Term]:
    """Return the reasons, tidied. Those about the same variables are one; none follows from another."""
    groups: dict[Hashable, list[Term]] = {}
    for reason in reasons:
        reads = frozenset(key(part) for part in subterms(reason) if isinstance(part, Read))
        groups.setdefault(reads, []).append(reason)
    found = [tidied(all_of(*group)) for group in groups.values()]
    known = set(map(key, found))
    return [term for term in found if not (isinstance(term, AnyOf) and known & set(map(key, term.operands)))]


def _is_plain(changes: ValueChanges, happened: Happened, needed: Term) -> bool:
    """Return whether the reason is no news: always true, or no more than the statement itself."""
    if is_true(needed) or (happened.value is not None and not any(p is happened.value for p in needed.free)):
        return True
    own = key(happened.place)
    reads = [part for part in subterms(needed) if isinstance(part, Read)]
    return all(key(read) == own or read.family not in changes.settings for read in reads)


def _name(happened: Happened, needed: Term) -> str:
    """Return a name such as `handled-needs-sent`, of the families that are read."""
    value = happened.value if happened.value is not None else None
    said = [happened.place.family.name]
    if value is None and happened.is_one_of_several:
        said += map(show, happened.values)
    reads = [part.family.name for part in subterms(needed) if isinstance(part, Read)]
    reasons = [name for name in dict.fromkeys(reads) if name != said[0]] or said[:1]
    words = [*said, "needs", "-and-".join(sorted(reasons)[:3])]
    return re.sub(r"[^0-9A-Za-z]+", "-", "-".join(words)).strip("-")[: LONGEST_NAME - 4]


def _unused(name: str, taken: set[str]) -> str:
    """Return the name, with a number if it is taken, and note that it is taken now."""
    numbered = (name if n == 1 else f"{name}-{n}" for n in itertools.count(1))
    found = next(n for n in numbered if n not in taken)
    taken.add(found)
    return found
