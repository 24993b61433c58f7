"""What binds a name: quantifiers, maxima and counts over a sort, written as functions of the value bound."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from fencepost.encoding.language.sorts import Sort
from fencepost.encoding.language.terms import AtLeast, Parameter, Quantified, Term, TermLike, Update, as_type

_fresh = itertools.count()


def bind(sort: Sort, name: str | None = None) -> Parameter:
    """A new parameter over `sort`, different from every other."""
    return Parameter(sort.type, name or f"{sort.name}~{next(_fresh)}", sort)


def _quantified(quantifier: str, sort: Sort, body: Callable[[Any], TermLike], expected: str) -> Term:
    bound = bind(sort)
    return Quantified(expected, quantifier, bound, as_type(body(bound), expected))


def forall(sort: Sort, body: Callable[[Any], TermLike]) -> Term:
    """`body` holds of every value of `sort`."""
    return _quantified("forall", sort, body, "bool")


def exists(sort: Sort, body: Callable[[Any], TermLike]) -> Term:
    """`body` holds of some value of `sort`."""
    return _quantified("exists", sort, body, "bool")


def forall_over(sorts: Sequence[Sort], body: Callable[..., TermLike]) -> Term:
    """`body` holds of all values of the sorts, taken together: forall_over((bookie, entry), lambda b, e: …)."""
    return _nested(forall, sorts, body)


def exists_over(sorts: Sequence[Sort], body: Callable[..., TermLike]) -> Term:
    """`body` holds of some values of the sorts, taken together."""
    return _nested(exists, sorts, body)


def _nested(
    quantify: Callable[[Sort, Callable[[Any], TermLike]], Term],
    sorts: Sequence[Sort],
    body: Callable[..., TermLike],
) -> Term:
    first, *others = sorts
    if not others:
        return quantify(first, body)
    return quantify(first, lambda value: _nested(quantify, others, partial(body, value)))


def everywhere(sort: Sort, update: Callable[[Any], Update]) -> list[Update]:
    """The update for each value of `sort`: one by one if they are listed, else one update over all of them."""
    if sort.counted:
        return [update(value) for value in sort]
    bound = bind(sort)
    inner = update(bound)
    return [replace(inner, over=(bound, *inner.over))]


def maximum(sort: Sort, body: Callable[[Any], TermLike]) -> Term:
    """The largest integer that `body` takes over `sort`."""
    return _quantified("maximum", sort, body, "int")


def at_least(count: int, sort: Sort, body: Callable[[Any], TermLike]) -> Term:
    """`body` holds of `count` or more values of `sort`."""
    bound = bind(sort)
    return AtLeast("bool", count, bound, as_type(body(bound), "bool"))
