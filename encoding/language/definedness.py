"""Terms that are not defined in every state, such as the last item of an empty sequence.

A step that evaluates such a term where it is not defined is badly defined, as one that sets a variable to a
value outside its domain. A claim that does is false in that state. Conditions are read from left to right:
in `(i <= length(log)) & (at(log, i) == x)` the second part counts only where the first one holds.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from fencepost.encoding.language.conditional_terms import Partial, implies, undefined
from fencepost.encoding.language.patterns import conjuncts, rebuilt, subterms
from fencepost.encoding.language.structure import key
from fencepost.encoding.language.terms import (
    TRUE,
    AllOf,
    AnyOf,
    AtLeast,
    If,
    Parameter,
    Quantified,
    Term,
    Update,
    all_of,
    any_of,
    children,
)

Given = frozenset[Hashable]
"""The keys of conditions that hold wherever a term is evaluated."""


def checked(
    when: Term, then: Sequence[Update], shown: Iterable[tuple[Sequence[Parameter], Sequence[Term]]]
) -> tuple[Term, Sequence[Update]]:
    """Return the guard and the updates of an action, badly defined where a term in it is not defined.

    The action is enabled too where its guard is not defined. `shown` has the terms that are shown to people,
    with the parameters that each group binds.
    """
    groups = list(shown)
    of_updates = (term for update in then for term in (*update.target.index, update.value, update.when))
    partial = [
        term
        for term in subterms(when, *of_updates, *(term for _, terms in groups for term in terms))
        if isinstance(term, Partial)
    ]
    if not partial:
        return when, then
    parts = conjuncts(when)
    total = next((n for n, part in enumerate(parts) if _has_partial(part)), len(parts))
    first, rest = parts[:total], parts[total:]
    of_guard, given = defined(all_of(*rest), _with(frozenset(), *first)), _with(frozenset(), *parts)
    holds = [of_guard, *_of_updates(then, given), *_of_shown(groups, given)]
    if all(condition is TRUE for condition in holds):
        return when, then
    if of_guard is not TRUE:
        when = all_of(*first, any_of(~of_guard, all_of(*rest)))
    reasons = ", or ".join(dict.fromkeys(term.reason for term in partial))
    return when, (undefined(reasons, ~all_of(*holds)), *then)


def total(claim: Term) -> Term:
    """Return the claim as a term that is defined everywhere: false in states in which the claim is not."""
    if not _has_partial(claim):
        return claim
    return all_of(defined(claim, frozenset()), _plain(claim))


def defined(term: Term, given: Given) -> Term:
    """Return the condition under which a term is defined where what is given holds."""
    if not _has_partial(term):
        return TRUE
    match term:
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
    return all_of(*(defined(child, given) for child in children(term)))


def _of_updates(then: Sequence[Update], given: Given) -> Iterator[Term]:
    """Yield the conditions under which the updates are defined."""
    for update in then:
        yield defined(update.when, given)
        inside = _with(given, update.when)
        for term in (*update.target.index, update.value):
            yield _if(update.when, defined(term, inside))


def _of_shown(groups: Iterable[tuple[Sequence[Parameter], Sequence[Term]]], given: Given) -> Iterator[Term]:
    """Yield the conditions under which the terms that are shown to people are defined."""
    for bound, terms in groups:
        condition = all_of(*(defined(term, given) for term in terms))
        for parameter in bound:
            condition = _for_all(parameter, condition)
        yield condition


def _for_all(bound: Parameter, body: Term) -> Term:
    return body if body is TRUE else Quantified("bool", "forall", bound, body)


def _with(given: Given, *conditions: Term) -> Given:
    return given | {key(part) for condition in conditions for part in conjuncts(condition)}


def _if(condition: Term, conclusion: Term) -> Term:
    return conclusion if conclusion is TRUE else implies(condition, conclusion)


def _has_partial(term: Term) -> bool:
    return any(isinstance(part, Partial) for part in subterms(term))


def _plain(term: Term) -> Term:
    """Return the term with conditionals in place of the terms that are not defined everywhere."""
    before = children(term)
    after = tuple(map(_plain, before))
    if isinstance(term, Partial):
        return If(term.type, *after)
    return term if all(a is b for a, b in zip(after, before, strict=True)) else rebuilt(term, after)
