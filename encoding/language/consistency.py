"""Checks of a whole system: names that stand for two things, and indices outside their sorts."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from enum import Enum

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.patterns import new_subterms, plain_index, sorts_in, sorts_of
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.sorts import Sort, Value, explain_outside, show
from fencepost.encoding.language.terms import (
    Constant,
    Equal,
    Family,
    If,
    Parameter,
    Read,
    Term,
    branches,
)
from fencepost.encoding.safe_text import one_line


def must_be_distinct(what: str, names: Iterable[str]) -> None:
    """Raise ModelError if two of these names are equal. The result for one would pass for the other's."""
    for name, number in Counter(names).items():
        if number > 1:
            raise ModelError(f"{name}: two {what} have that name; rename one")


def check_consistency(
    families: Iterable[Family], terms_by_name: Iterable[tuple[str, Iterable[Term]]]
) -> None:
    """Raise ModelError for two sorts of one name, an index outside its sort, and an undeclared family.

    `terms_by_name` has the terms of each action and each claim, with its name.
    """
    seen = set[int]()
    parts = [(name, list(new_subterms(terms, seen))) for name, terms in terms_by_name]
    _one_sort_a_name(sorts_in(families, (term for _, terms in parts for term in terms)))
    declared = set(map(id, families))
    for name, terms in parts:
        for term in terms:
            if isinstance(term, Read) and id(term.family) not in declared:
                what = _shown(term) if term.family.name else "a family"
                raise ModelError(
                    f"{name} reads {what}, which this state space does not declare; assign the family to an "
                    "attribute in __init__: self.x = family(…)"
                )
            if isinstance(term, Read):
                _must_be_inside(name, term)


def nothing_leaks(where: str, terms: Iterable[Term], bound: Collection[Parameter] = ()) -> None:
    """Raise ModelError if one of these terms has a parameter that nothing binds."""
    known = set(map(id, bound))
    for term in terms:
        for parameter in term.free:
            if id(parameter) not in known:
                raise ModelError(
                    f"{where}: {_shown(term)} has {_shown(parameter)} of {parameter.sort.name}, which "
                    "nothing binds here; use the variable of a quantifier inside it, an action's argument "
                    "inside the action"
                )


def check_comparisons(
    families: Iterable[Family], terms_by_name: Iterable[tuple[str, Iterable[Term]]]
) -> None:
    """Raise ModelError for a comparison with a value that the other side cannot have.

    A label may be one of another part of the same sort: a recoverer is compared with the writer. The label
    for nobody may be a branch of a conditional term, but a term that is never nobody is not compared with it.
    """
    seen = set[int]()
    parts = [(name, list(new_subterms(terms, seen))) for name, terms in terms_by_name]
    sorts = sorts_in(families, (term for _, terms in parts for term in terms))
    for name, terms in parts:
        for term in terms:
            if isinstance(term, Equal):
                for one, other in ((term.left, term.right), (term.right, term.left)):
                    if isinstance(one, Constant):
                        found, related = _sorts(other, sorts), _related(other, sorts, one.value)
                        _may_be_equal(name, term, other, one.value, found, related)
                    elif isinstance(one, If) and other.type not in ("bool", "int"):
                        for own in branches(one):
                            found, related = _sorts(other, sorts), _related(other, sorts)
                            _may_be_equal(name, term, other, own.value, found, related)


def _sorts(term: Term, sorts: Iterable[Sort]) -> list[Sort | None]:
    """Return sorts that together have every value of the term. A label without a sort may be of any."""
    if not isinstance(term, Constant):
        return list(sorts_of(term))
    if term.of is None and term.type not in ("bool", "int"):
        return [
            sort for sort in sorts if sort.type not in ("bool", "int") and term.type in ("label", sort.type)
        ]
    return [term.of]


def _related(term: Term, sorts: Iterable[Sort], nobody: Value | None = None) -> list[Sort]:
    """Return the sorts of the labels with which the term may be compared, but for those of this nobody."""
    if term.type in ("bool", "int"):
        return []
    return [sort for sort in sorts if sort.type == term.type and (nobody is None or sort.nobody != nobody)]


def _may_be_equal(
    where: str, equal: Equal, term: Term, value: Value, found: Sequence[Sort | None], related: Iterable[Sort]
) -> None:
    known = [sort for sort in found if sort is not None and sort.counted]
    if not known or len(known) < len(found) or any(value in sort for sort in (*known, *related)):
        return
    own = f"a member of another {type(value).__name__}" if isinstance(value, Enum) else show(value)
    sort = f" of {known[0].name}" if isinstance(term, Constant) else f" of {_shown(term)}"
    raise ModelError(
        f"{where} compares {_shown(equal)}, and {own} is not a value{sort}{explain_outside(value, known)}"
    )


def _one_sort_a_name(sorts: Iterable[Sort]) -> None:
    """Raise ModelError if two sorts share a name, or one has labels that the sort it is part of lacks.

    A term over one would pass for a term over the other.
    """
    known: dict[str, Sort] = {}
    for sort in (sorts := list(sorts)):
        other = known.setdefault(sort.name, sort)
        if other != sort:
            raise ModelError(
                f"sort {sort.name}: two different sorts have that name, "
                f"{_described(other)} and {_described(sort)}; rename one"
            )
    for sort in sorts:
        whole = known.get(sort.part_of or "")
        if whole is not None and whole.listed is not None:
            for value in sort.listed or ():
                if value not in whole and value != sort.nobody:
                    raise ModelError(
                        f"sort {sort.name}: {show(value)} is not in {whole.name}, which it is part of; "
                        f"valid: {_described(whole)}"
                    )


def _shown(term: Term) -> str:
    """Return the term as text. A variable that nothing in the term binds has the name of its sort."""
    return line(term, names={p: p.symbol.partition("~")[0] for p in term.free})


def _described(sort: Sort) -> str:
    values = "of any size" if sort.listed is None else one_line(", ".join(map(show, sort.listed)), 60)
    return f"({values}{f'; part of {sort.part_of}' if sort.part_of else ''})"


def _must_be_inside(where: str, read: Read) -> None:
    """Raise ModelError if a variable is read at an index outside its sort.

    Only indices that do not depend on the state are checked here. The readings check all others. An action
    that sets a variable which does not exist is allowed if it never happens; the search looks for such a
    step.
    """
    for index, sort in zip(read.index, read.family.over, strict=True):
        is_own = isinstance(index, Parameter) and index.sort is sort
        if is_own or not all(one.counted for one in (sort, *(parameter.sort for parameter in index.free))):
            continue
        for values in itertools.product(*(parameter.sort for parameter in index.free)):
            for value in plain_index(index, dict(zip(index.free, values, strict=True))):
                if value not in sort:
                    raise ModelError(
                        f"{where} reads {_shown(read)}, and {_shown(index)} may be {show(value)}: "
                        f"not in {sort.name}, which is {_described(sort)}; bound the index"
                    )
