"""Terms that bind a name: quantifiers, maxima and counts over a sort, written with Python functions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, singledispatch
from typing import Any

from fencepost.encoding.errors import refusal
from fencepost.encoding.language.sorts import Sort, Subsets
from fencepost.encoding.language.terms import AtLeast, Parameter, Quantified, Term, TermLike, Update, as_type

_fresh = itertools.count()


def bind(sort: Sort, name: str | None = None) -> Parameter:
    """Return a new parameter over `sort`, different from every other."""
    return Parameter(sort.type, name or f"{sort.name}~{next(_fresh)}", sort)


@singledispatch
def argument(sort: Any, name: str | None = None) -> tuple[Parameter, Any]:
    """Return a new parameter over `sort`, and what a function of the author gets for it.

    They are the same, but for the subsets of a sort (`sets`). Raises TypeError for anything but a sort.
    """
    if not isinstance(sort, Sort):
        raise refusal(
            f"a {type(sort).__name__} is no sort: write a sort of the state, such as s.entry, and of several "
            "forall_over((s.entry, s.copy), lambda e, c: …) or exists_over"
        )
    bound = bind(sort, name)
    return bound, bound


def _quantified(
    quantifier: str, sort: Any, body: Callable[[Any], TermLike], expected: str, kind: str | None = None
) -> Term:
    bound, given = argument(sort)
    return Quantified(kind or expected, quantifier, bound, as_type(body(given), expected))


def forall(sort: Sort | Subsets, body: Callable[[Any], TermLike]) -> Term:
    """Return the term that says: `body` holds for every value of `sort`."""
    return _quantified("forall", sort, body, "bool")


def exists(sort: Sort | Subsets, body: Callable[[Any], TermLike]) -> Term:
    """Return the term that says: `body` holds for some value of `sort`."""
    return _quantified("exists", sort, body, "bool")


def forall_over(sorts: Sequence[Sort | Subsets], body: Callable[..., TermLike]) -> Term:
    """Return the term that says: `body` holds for all combinations of values of the sorts.

    For example: `forall_over((bookie, entry), lambda b, e: …)`.
    """
    return _nested(forall, sorts, body)


def exists_over(sorts: Sequence[Sort | Subsets], body: Callable[..., TermLike]) -> Term:
    """Return the term that says: `body` holds for some combination of values of the sorts."""
    return _nested(exists, sorts, body)


def _nested(
    quantify: Callable[[Sort | Subsets, Callable[[Any], TermLike]], Term],
    sorts: Sequence[Sort | Subsets],
    body: Callable[..., TermLike],
) -> Term:
    if not sorts:
        return as_type(body(), "bool")
    first, *others = sorts
    return quantify(first, lambda value: _nested(quantify, others, partial(body, value)))


def everywhere(sort: Sort, update: Callable[[Any], Update]) -> list[Update]:
    """Return the update for each value of `sort`: a list of them, or one quantified update for any size."""
    if sort.counted:
        return [update(value) for value in sort]
    bound = bind(sort)
    inner = update(bound)
    return [replace(inner, over=(bound, *inner.over))]


def maximum(sort: Sort | Subsets, body: Callable[[Any], TermLike]) -> Term:
    """Return the term for the largest integer that `body` takes over `sort`."""
    return _quantified("maximum", sort, body, "int")


def count(sort: Sort | Subsets, body: Callable[[Any], TermLike]) -> Term:
    """Return the term for the number of values of `sort` for which `body` holds.

    For example, a majority has voted: `count(server, lambda s: voted[s]) * 2 > 3`.
    """
    return _quantified("count", sort, body, "bool", "int")


def at_least(number: int, sort: Sort | Subsets, body: Callable[[Any], TermLike]) -> Term:
    """Return the term that says: `body` holds for `number` or more values of `sort`.

    Raises TypeError unless the number is a plain integer of 0 or more.
    """
    if type(number) is not int or number < 0:
        given = "a term" if isinstance(number, Term) else repr(number)
        raise refusal(
            f"at_least({given:.80}, …): the count is an integer of 0 or more, which no state changes; "
            "count(sort, …) may be compared with a term"
        )
    bound, given = argument(sort)
    return AtLeast("bool", number, bound, as_type(body(given), "bool"))
