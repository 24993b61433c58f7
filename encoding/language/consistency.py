"""Checks of a whole system: names that stand for two things, and indices outside their sorts."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.patterns import new_subterms, plain_index, sorts_in
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.sorts import Sort
from fencepost.encoding.language.state import show
from fencepost.encoding.language.terms import Family, Read, Term
from fencepost.encoding.safe_text import one_line


def must_be_distinct(what: str, names: Iterable[str]) -> None:
    """Raise ModelError if two of these names are equal. The result for one would pass for the other's."""
    for name, number in Counter(names).items():
        if number > 1:
            raise ModelError(f"{name}: two {what} have that name; rename one")


def check_consistency(
    families: Iterable[Family], terms_by_name: Iterable[tuple[str, Iterable[Term]]]
) -> None:
    """Raise ModelError for two sorts of one name, and for an index outside its sort.

    `terms_by_name` has the terms of each action and each claim, with its name.
    """
    seen = set[int]()
    parts = [(name, list(new_subterms(terms, seen))) for name, terms in terms_by_name]
    _one_sort_a_name(sorts_in(families, (term for _, terms in parts for term in terms)))
    for name, terms in parts:
        _indices_inside(name, terms)


def _one_sort_a_name(sorts: Iterable[Sort]) -> None:
    """Raise ModelError if two sorts share a name. A term over one would pass for a term over the other."""
    known: dict[str, Sort] = {}
    for sort in sorts:
        other = known.setdefault(sort.name, sort)
        if other != sort:
            raise ModelError(
                f"sort {sort.name}: two different sorts have that name, "
                f"{_described(other)} and {_described(sort)}; rename one"
            )


def _described(sort: Sort) -> str:
    values = "of any size" if sort.listed is None else one_line(", ".join(map(show, sort.listed)), 60)
    return f"({values}{f'; part of {sort.part_of}' if sort.part_of else ''})"


def _indices_inside(where: str, terms: Iterable[Term]) -> None:
    """Raise ModelError if one of these terms reads a variable at an index outside its sort.

    Only indices that do not depend on the state are checked here. The readings check all others. An action
    that sets a variable which does not exist is allowed if it never happens; the search looks for such a
    step.
    """
    for term in terms:
        if isinstance(term, Read):
            for index, sort in zip(term.index, term.family.over, strict=True):
                if sort.counted:
                    _is_inside(where, term, index, sort)


def _is_inside(where: str, read: Read, index: Term, sort: Sort) -> None:
    if not all(parameter.sort.counted for parameter in index.free):
        return
    for values in itertools.product(*(parameter.sort for parameter in index.free)):
        for value in plain_index(index, dict(zip(index.free, values, strict=True))):
            if value not in sort.values:
                raise ModelError(
                    f"{where} reads {line(read)}, and {line(index)} may be {show(value)}: "
                    f"not in {sort.name}, which is {_described(sort)}; bound the index"
                )
