"""Terms that are not defined in every state, such as the last item of an empty sequence.

A step that evaluates such a term where it is not defined is badly defined, as one that sets a variable to a
value outside its domain. A claim that does is false in that state. Conditions are read from left to right:
in `(i <= length(log)) & (at(log, i) == x)` the second part counts only where the first one holds.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from fencepost.encoding.language.conditional_terms import Partial, implies, undefined
from fencepost.encoding.language.patterns import conjuncts, is_within, key, mapped, subterms
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.sorts import Sort
from fencepost.encoding.language.terms import (
    TRUE,
    AllOf,
    AnyOf,
    AtLeast,
    If,
    In,
    Leaf,
    Not,
    Pair,
    Parameter,
    Quantified,
    Read,
    Term,
    Update,
    all_of,
    any_of,
    children,
    node,
)

Given = frozenset[Hashable]
"""The keys of conditions that hold wherever a term is evaluated."""


@dataclass(frozen=True)
class Part:
    """Terms of an action that are evaluated only where `when` holds, for each value of `bound`."""

    bound: Sequence[Parameter]
    when: Term
    terms: Sequence[Term]


def checked(when: Term, then: Sequence[Update], messages: Iterable[Part]) -> tuple[Term, Sequence[Update]]:
    """Return the guard and the updates of an action, badly defined where a term in it is not defined.

    The action is enabled too where its guard is not defined. What is not updated, and what is not sent, is
    not evaluated.
    """
    updates = (Part(u.over, u.when, (*u.target.index, u.value)) for u in then)
    evaluated = [*updates, *messages]
    reasons = _reasons(when, *(term for part in evaluated for term in (part.when, *part.terms)))
    if not reasons:
        return when, then
    parts = conjuncts(when)
    total = next((n for n, part in enumerate(parts) if _reasons(part)), len(parts))
    first, rest = parts[:total], parts[total:]
    of_guard, given = defined(all_of(*rest), _with(frozenset(), *first)), _with(frozenset(), *parts)
    holds = [of_guard, *(_of_part(part, given) for part in evaluated)]
    if all(condition is TRUE for condition in holds):
        return when, then
    if of_guard is not TRUE:
        when = all_of(*first, any_of(~of_guard, all_of(*rest)))
    return when, (undefined(reasons, ~all_of(*holds)), *then)


def total(claim: Term) -> Term:
    """Return the claim as a term that is defined everywhere: false in states in which the claim is not."""
    if not _reasons(claim):
        return claim
    return all_of(defined(claim, frozenset()), _with_conditionals(claim))


def strict(term: Term, *operands: Term) -> Term:
    """Return a term that is defined only where its operands are: none is skipped because of another one."""
    reasons = _reasons(*operands)
    if not reasons:
        return term
    own = _with(frozenset(), defined(term, frozenset()))
    needed = all_of(*(defined(operand, own) for operand in operands))
    return term if needed is TRUE else Partial(term.type, needed, term, term, reasons)


def defined(term: Term, given: Given) -> Term:
    """Return the condition under which a term is defined where what is given holds."""
    if not _reasons(term):
        return TRUE
    match node(term):
        case Partial(condition=condition, then=then):
            needed = (part for part in conjuncts(condition) if key(part) not in given)
            return all_of(defined(condition, given), *needed, defined(then, _with(given, condition)))
        case If(condition=condition, then=then, otherwise=otherwise):
            yes, no = defined(then, _with(given, condition)), defined(otherwise, _with(given, ~condition))
            return all_of(defined(condition, given), _if(condition, yes), _if(~condition, no))
        case AllOf(operands=operands) | AnyOf(operands=operands):
            found: list[tuple[Term, Term]] = []
            for operand in operands:
                found.append((defined(operand, given), operand if isinstance(term, AllOf) else ~operand))
                given = _with(given, found[-1][1])
            result = TRUE
            for own, goes_on in reversed(found):
                result = all_of(own, _if(goes_on, result))
            return result
        case Quantified(bound=bound, body=body) | AtLeast(bound=bound, body=body):
            return _for_all(bound, defined(body, given))
        case Leaf() | Read() | Not() | Pair() | In():
            inside = all_of(any_of(index == value for value in sort) for index, sort in outside(term))
            kept = (part for part in conjuncts(inside) if key(part) not in given)
            return all_of(*(defined(child, given) for child in children(term)), *kept)


def is_partial(term: Term) -> bool:
    """Return whether the term may be undefined in some state, as far as its text tells."""
    return bool(_reasons(term))


def _of_part(part: Part, given: Given) -> Term:
    """Return the condition under which a part of an action is defined."""
    inside = _with(given, part.when)
    of_terms = _if(part.when, all_of(*(defined(term, inside) for term in part.terms)))
    condition = all_of(defined(part.when, given), of_terms)
    for parameter in part.bound:
        condition = _for_all(parameter, condition)
    return condition


def _for_all(bound: Parameter, body: Term) -> Term:
    return body if body is TRUE else Quantified("bool", "forall", bound, body)


def _with(given: Given, *conditions: Term) -> Given:
    return given | {key(part) for condition in conditions for part in conjuncts(condition)}


def _if(condition: Term, conclusion: Term) -> Term:
    return conclusion if conclusion is TRUE else implies(condition, conclusion)


def _reasons(*terms: Term) -> str:
    """Return why these terms are not defined everywhere, in words; empty if they are."""
    found = dict.fromkeys(
        part.reason if isinstance(part, Partial) else f"reads {line(part)}, which does not exist"
        for part in subterms(*terms)
        if isinstance(part, Partial) or outside(part)
    )
    return ", or ".join(found)


def outside(term: Term) -> list[tuple[Term, Sort]]:
    """Return each index of a read that the state decides and that may be outside its sort, with the sort."""
    if not isinstance(term, Read):
        return []
    pairs = zip(term.index, term.family.over, strict=True)
    return [
        (index, sort)
        for index, sort in pairs
        if sort.counted and not is_within(index, sort)
        if any(isinstance(part, Read) for part in subterms(index))
    ]


def _with_conditionals(term: Term) -> Term:
    """Return the term with conditionals in place of the terms that are not defined everywhere."""
    if isinstance(term, Partial) and term.then is term.otherwise:
        return _with_conditionals(term.then)
    if isinstance(term, Partial):
        return If(term.type, *map(_with_conditionals, children(term)))
    return mapped(term, _with_conditionals)
