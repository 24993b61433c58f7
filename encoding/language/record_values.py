"""Records: values with named fields, as state variables, as items of sequences, and as terms.

A record is one term for each field. A state variable is one variable for each field, so a field costs what a
variable of its sort costs, and an action may change one field alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from fencepost.encoding.errors import ModelError, refusal
from fencepost.encoding.language.author_errors import must_be_table
from fencepost.encoding.language.declarations import Initial, OneOf, must_begin_in, taken_once
from fencepost.encoding.language.definedness import strict
from fencepost.encoding.language.quantifiers import argument
from fencepost.encoding.language.refused_operators import RefusesPython
from fencepost.encoding.language.sorts import (
    Sort,
    Value,
    explain_no_sort,
    must_be_plain_words,
    show,
)
from fencepost.encoding.language.terms import (
    Family,
    Parameter,
    Term,
    TermLike,
    Update,
    all_of,
    as_value,
    assigned,
)
from fencepost.encoding.language.wholes import Whole

InitialRecord: TypeAlias = "Mapping[str, Initial] | OneOf | Callable[..., Mapping[str, Initial]] | None"
"""Fields at first, those left out with their first values; `anything`; or a function from the index."""


@dataclass(frozen=True)
class Records:
    """The type of the records with these fields. Called with a value for each field, it makes one."""

    fields: tuple[tuple[str, Sort], ...]

    def __post_init__(self) -> None:
        """Validate the fields. Raises ModelError."""
        if not self.fields:
            raise ModelError("records(): a record needs a field; write records(term=s.term, value=s.value)")
        for name, sort in self.fields:
            if name.startswith("_") or hasattr(RecordVariable, name) or name in ("kind", "terms", "whole"):
                raise ModelError(f"records: a field cannot be called {name}; rename it")
            if not isinstance(sort, Sort):
                raise ModelError(f"records: {name}: {explain_no_sort(sort)}")
            must_be_plain_words(sort, f"records({name}={sort.name})", "=()")

    @property
    def name(self) -> str:
        """The type in words."""
        return f"record of {', '.join(self.names)}"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the fields, in order."""
        return tuple(name for name, _ in self.fields)

    def __call__(self, **given: TermLike) -> Record:
        """Return the record with these values. Raises TypeError unless each field has one."""
        if given.keys() != set(self.names):
            raise refusal(f"a {self.name} is made of a value for each field, not of {', '.join(given)}")
        return Record(self, {name: as_value(given[name], sort, name) for name, sort in self.fields})

    def first(self) -> Record:
        """Return the record of the first values, which stands after the end of a sequence."""
        return self(**{name: sort.values[0] for name, sort in self.fields})

    def text(self, values: Iterable[Value]) -> str:
        """Return a record of these values as people write it: `(term=2 value=a)`."""
        return f"({' '.join(f'{name}={show(v)}' for name, v in zip(self.names, values, strict=True))})"

    def plain(self, text: str) -> dict[str, Value]:
        """Return the values that `text` wrote, by field. Raises KeyError if it writes no record."""
        words = re.fullmatch(rf"\({' '.join(f'{name}=([^=]*)' for name in self.names)}\)", text)
        if words is None:
            raise KeyError(text)
        given = zip(self.fields, words.groups(), strict=True)
        return {name: {show(value): value for value in sort}[word] for (name, sort), word in given}

    def initial(self, given: Any) -> dict[str, Initial]:
        """Return the fields at first, of `initial=`. Raises ModelError."""
        if isinstance(given, OneOf):
            if given.values:
                raise ModelError("initial=one_of(…) names no records; write {'term': one_of(1, 2)}")
            return dict.fromkeys(self.names, given)
        must_be_table("initial=", given, object, f"write {{{self.names[0]!r}: …}}")
        if unknown := [name for name in given if name not in self.names]:
            raise ModelError(f"initial: {unknown[0]} is no field; valid: {', '.join(self.names)}")
        return {name: _initial_of(name, given.get(name, sort.values[0]), sort) for name, sort in self.fields}


def records(**fields: Sort) -> Records:
    """Return the type of the records with these fields: `records(term=s.term, value=s.value)`."""
    return Records(tuple(fields.items()))


def _initial_of(name: str, given: Any, sort: Sort) -> Initial:
    for value in given.values if isinstance(given, OneOf) else [given]:
        must_begin_in(sort, value, name)
    first: Initial = given
    return first


class Record(RefusesPython):
    """A record. A field is read as an attribute, `==` compares all fields."""

    def __init__(self, kind: Records, terms: Mapping[str, Term]) -> None:
        """Take the type, and the value of each field."""
        self.kind, self.terms = kind, terms

    def __getattr__(self, name: str) -> Any:
        """Return a field. Raises AttributeError."""
        if name.startswith("_") or name in ("kind", "terms"):
            raise AttributeError(name)
        if name not in self.terms:
            raise AttributeError(f"the record has no field {name}; valid: {', '.join(self.kind.names)}")
        return strict(self.terms[name], *self.terms.values())

    __iter__ = None

    def __eq__(self, other: Record) -> Term:  # type: ignore[override]
        """Return the term that says: the two have the same fields."""
        same = fitting(other, self.kind, "==")
        parts = [term == same.terms[name] for name, term in self.terms.items()]
        return strict(all_of(*parts), *parts)

    def __ne__(self, other: Record) -> Term:  # type: ignore[override]
        """Return the term that says: the two differ in a field."""
        return ~(self == other)

    __hash__ = RefusesPython.__hash__


Kind: TypeAlias = Sort | Records
"""What a sequence may have as items."""


def fitting(value: Any, kind: Kind, place: str) -> Any:
    """Return a term or a record of that kind. Raises TypeError for any other value."""
    if isinstance(kind, Sort):
        return as_value(value, kind, place)
    if not isinstance(value, Record) or value.kind != kind:
        raise refusal(
            f"a {kind.name} is needed here; write its type with a value for each field, such as s.entry(…)"
        )
    return value


def fieldwise(make: Callable[..., Any], *values: Any) -> Any:
    """Return what `make` returns for some terms; for records, a record of it for each field."""
    first = values[0]
    if not isinstance(first, Record):
        return make(*values)
    return Record(first.kind, {name: make(*(value.terms[name] for value in values)) for name in first.terms})


def updates(target: Any, value: Any, when: TermLike) -> Iterator[Update]:
    """Yield the update of a variable, or of each field of a record."""
    if isinstance(target, Record):
        same = fitting(value, target.kind, "set(…)")
        for name, field in target.terms.items():
            yield from updates(field, same.terms[name], when)
    else:
        yield assigned(target, value, when)


class RecordVariable(Record):
    """A state variable whose values are records. Its fields are variables too: `s.slot[n].term.set(2)`."""

    def __init__(self, whole: RecordFamily, index: tuple[TermLike, ...]) -> None:
        """Take the variables that it is one of, and its index."""
        fields = zip(whole.kind.names, whole.families, strict=True)
        super().__init__(whole.kind, {name: family[index] for name, family in fields})
        self.whole = whole

    def set(self, value: Record, when: TermLike = True) -> Any:
        """Return the updates that make the variable this record, if `when` holds: one item of `then`."""
        return tuple(updates(self, value, when))


class RecordFamily(Whole[Family]):
    """State variables whose values are records, one for each index."""

    def __init__(self, kind: Records, over: tuple[Sort, ...], initial: InitialRecord) -> None:
        """Declare one variable for each index and each field. Raises ModelError."""
        self.kind = kind
        self.suffixes = tuple(f"_{name}" for name in kind.names)
        first = None if initial is None else taken_once(initial, over, kind.initial)
        parts = enumerate(sort for _, sort in kind.fields)
        super().__init__(over, *(Family(sort, over, self.initial(first, n), None) for n, sort in parts))

    def variable(self, index: tuple[TermLike, ...]) -> RecordVariable:
        """Return the record at an index."""
        return RecordVariable(self, index)

    def text(self, index: tuple[Value, ...], value: Callable[[Family, tuple[Value, ...]], Value]) -> str:
        """Return the record at an index as people write it."""
        return self.kind.text(value(family, index) for family in self.families)

    def plain(self, text: str) -> dict[str, Value]:
        """Return the values that `text` wrote, by field."""
        return self.kind.plain(text)

    def field(self, value: Any, number: int, index: tuple[Value, ...]) -> Any:
        """Return the value of a field of a record."""
        return value[self.kind.names[number]]


@argument.register
def _(kind: Records, name: str | None = None) -> tuple[Parameter, Any]:
    """Raise ModelError: an argument, and the value of a quantifier, is one field."""
    raise ModelError(f"a {kind.name} is no argument; write one argument for each field")
