"""Terms about the value of one variable, and terms without what is said twice."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

from fencepost.encoding.language.fold import Folding, is_true
from fencepost.encoding.language.patterns import key, rebuilt, replaced, subterms
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.terms import (
    FALSE,
    TRUE,
    AllOf,
    AnyOf,
    Constant,
    Read,
    Term,
    all_of,
    any_of,
    children,
    lift,
)


def folded(term: Term) -> Term:
    """Return the term, simplified by the constants in it."""
    return Folding({}).term(term)


def decided(term: Term) -> Term:
    """Return the term, folded, with every equality decided that the sorts of its parameters decide."""
    return folded(replaced(term, {}, lambda read: read))


def with_value(term: Term, place: Read, value: Value) -> Term:
    """Return the term, folded, with this value in place of the reads of `place`."""
    wanted, plain = key(place), Constant(place.type, value)

    def read(found: Read) -> Term:
        return plain if found.family is place.family and key(found) == wanted else found

    return folded(replaced(term, {}, read))


def has_one_of(read: Read, values: Collection[Value]) -> Term:
    """Return the term that says that the variable has one of these values; `true` for all of its domain."""
    domain = read.family.domain.values
    own = [value for value in domain if value in values]
    others = [value for value in domain if value not in values]
    if not others or not own:
        return lift(not others)
    if read.type == "bool":
        return read if True in values else ~read
    if min(len(own), len(others)) > 1 and read.type == "int":
        if own == list(domain[-len(own) :]):
            return read >= lift(own[0])
        if own == list(domain[: len(own)]):
            return read <= lift(own[-1])
    if len(others) < len(own) or (len(others) == len(own) and read.type == "int"):
        return all_of(*(read != Constant(read.type, value) for value in others))
    return any_of(*(read == Constant(read.type, value) for value in own))


def tidied(term: Term) -> Term:
    """Return an equal term in which no `and` or `or` says a thing twice, or a thing and its opposite."""
    parts = tuple(map(tidied, children(term)))
    term = folded(rebuilt(term, parts)) if parts else term
    return _tidied(type(term), term.operands) if isinstance(term, AllOf | AnyOf) else term


def _tidied(kind: type[AllOf | AnyOf], operands: Sequence[Term]) -> Term:
    found: dict[Hashable, Term] = {}
    groups: dict[Hashable, list[Term]] = {}
    for operand in operands:
        place = only_place(operand)
        groups.setdefault(key(operand) if place is None else ("place", key(place)), []).append(operand)
    join = all_of if kind is AllOf else any_of
    for group in groups.values():
        merged = about_one_place(join(*group)) if len(group) > 1 else group[0]
        found[key(merged)] = merged
    if any(key(~operand) in found for operand in found.values()):
        return FALSE if kind is AllOf else TRUE
    return folded(join(*found.values()))


def only_place(term: Term) -> Read | None:
    """Return the variable that the term is about, if it is one, whatever the term binds."""
    reads = {key(part): part for part in subterms(term) if isinstance(part, Read)}
    if len(reads) != 1:
        return None
    (place,) = reads.values()
    return place if all(any(p is own for own in term.free) for p in place.free) else None


def about_one_place(term: Term) -> Term:
    """Return a term that reads one variable as a statement about its values, if it is one."""
    place = only_place(term)
    if place is None:
        return term
    truths = {value: with_value(term, place, value) for value in place.family.domain}
    if not all(isinstance(truth, Constant) for truth in truths.values()):
        same = {key(part): part for part in (term.operands if isinstance(term, AllOf | AnyOf) else (term,))}
        return all_of(*same.values()) if isinstance(term, AllOf) else any_of(*same.values())
    return has_one_of(place, {value for value, truth in truths.items() if is_true(truth)})
