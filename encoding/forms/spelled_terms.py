"""Terms of one instance as complete text: definitions as calls, bound variables named after index sets.

Constants carry marks until texts that differ only in them are grouped (`grouped`).
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fencepost.encoding.language.fold import Folding
from fencepost.encoding.language.patterns import rebuilt
from fencepost.encoding.language.printer import DefinitionName, NamedVariable, complete_text
from fencepost.encoding.language.sorts import BOOL, Sort
from fencepost.encoding.language.state import StateSpace, called_definitions
from fencepost.encoding.language.terms import (
    AtLeast,
    Constant,
    Parameter,
    Quantified,
    Read,
    Term,
    children,
    lift,
)

_OPEN, _HINT, _CLOSE, _BETWEEN = "\0", "\1", "\2", "\3"
_MARKED = re.compile(f"{_OPEN}([^{_HINT}]*){_HINT}([^{_CLOSE}]*){_CLOSE}")


def unmarked(text: str) -> str:
    """Return a text without the marks around constants."""
    return _MARKED.sub(lambda found: found[2], text)


Given = Mapping[int, Term]
"""Terms to be printed in place of others, which are known by their ids."""


class Call(NamedTuple):
    """A definition with the arguments that it was called with, and its folded term."""

    method: Callable[..., Term]
    arguments: tuple[Term, ...]
    term: Term

    @property
    def name(self) -> str:
        """The name of the definition."""
        return self.method.__name__

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of its parameters."""
        return tuple(inspect.signature(self.method).parameters)[1:]


@dataclass
class TermSpelling:
    """The texts of the terms of one instance.

    `folding` must be the one that folded the instance, because definitions are known by their folded terms.
    """

    state: StateSpace
    folding: Folding
    _calls: dict[int, Call] = field(default_factory=dict)
    _names: dict[str, DefinitionName] = field(default_factory=dict)
    used: dict[int, Call] = field(default_factory=dict)
    """The definitions that the texts so far name, by the ids of their terms."""
    taken: Sequence[str] = ()
    """Names that no bound variable gets: those of the parameters of an action or a definition."""

    def __post_init__(self) -> None:
        """Fold the definitions that the instance has called."""
        for method, arguments, term in called_definitions(self.state):
            found = self.folding.term(term)
            given = tuple(self.folding.term(lift(argument)) for argument in arguments)
            known = {parameter for argument in given for parameter in argument.free}
            if children(found) and not isinstance(found, Read) and known.issuperset(found.free):
                self._calls.setdefault(id(found), Call(method, given, found))

    def sort(self, sort: Sort) -> str:
        """Return the name of an index set: the attribute of the state that it is, if there is one."""
        attributes = vars(self.state).items()
        named = next((name for name, value in attributes if value is sort), sort.name)
        return named if named.isidentifier() else f"{sort.values[0]}..{sort.values[-1]}"

    def text(self, term: Term, hint: str = "", given: Given | None = None) -> str:
        """Return a term as text with marks around its constants; a constant itself has the hint."""
        return self._printed(self._walked(term, given or {}, hint))

    def body(self, call: Call, given: Given) -> str | None:
        """Return the text of a definition, with other terms in place of those that are given by their ids.

        None if parameters are left that are none of these terms.
        """
        walked = self._below(call.term, given)
        known = {id(term) for term in given.values()}
        if any(id(p) not in known and not p.symbol.startswith(_OPEN) for p in walked.free):
            return None
        return self._printed(walked)

    def _walked(self, term: Term, given: Given, hint: str = "") -> Term:
        if id(term) in given:
            return given[id(term)]
        if isinstance(term, Constant):
            return variable(f"{_OPEN}{hint}{_HINT}{complete_text(term)}{_CLOSE}")
        call = self._calls.get(id(term))
        if call is None:
            return self._below(term, given)
        self.used.setdefault(id(term), call)
        return Read(term.type, self._name(call), tuple(self._walked(a, given) for a in call.arguments))

    def _below(self, term: Term, given: Given) -> Term:
        if not isinstance(term, Quantified | AtLeast):
            parts = tuple(self._walked(part, given) for part in children(term))
            return rebuilt(term, parts) if parts else term
        sort = self.sort(term.bound.sort)
        named = NamedVariable(term.bound.type, sort if sort.isidentifier() else "value", term.bound.sort)
        body = self._walked(term.body, {**given, id(term.bound): named})
        if isinstance(term, AtLeast):
            return AtLeast(term.type, term.count, named, body)
        return Quantified(term.type, term.quantifier, named, body)

    def _printed(self, term: Term) -> str:
        names: dict[Term, str] = {parameter: parameter.symbol for parameter in term.free}
        others = set(self.taken) - set(names.values())
        return complete_text(term, {**names, **{variable(name): name for name in others}})

    def _name(self, call: Call) -> DefinitionName:
        if call.name not in self._names:
            self._names[call.name] = DefinitionName(BOOL, (), None, None)
            object.__setattr__(self._names[call.name], "name", call.name)
        return self._names[call.name]


def variable(name: str) -> Parameter:
    """Return a parameter that is printed under this name."""
    return Parameter("label", name, BOOL)


class SpelledRow(NamedTuple):
    """Texts that belong together, for all values of variables: `entry in 1, 2`."""

    each: tuple[str, ...]
    texts: tuple[str, ...]


def grouped(rows: Sequence[Sequence[str]]) -> list[SpelledRow]:
    """Return the rows of marked texts, with those that differ only in hinted constants as one row.

    The values of the variables of a row are all combinations of the values given.
    """
    by_shape: dict[str, list[str]] = {}
    for row in rows:
        joined = _BETWEEN.join(row)
        by_shape.setdefault(_MARKED.sub(_OPEN, joined), []).append(joined)
    return [row for members in by_shape.values() for row in _spelled_rows(members)]


def _spelled_rows(members: Sequence[str]) -> Iterator[SpelledRow]:
    """Yield one row for these texts of one shape if possible, else one for each of them."""
    columns = [tuple(marks) for marks in zip(*(_MARKED.findall(text) for text in members), strict=True)]
    values = [tuple(value for _, value in column) for column in columns]
    names = _variables(columns, members[0])
    product = list(itertools.product(*(dict.fromkeys(column) for column in names)))
    open_ones = [column for column in values if len(set(column)) > 1 and column not in names]
    if len(members) == 1 or open_ones or sorted(product) != sorted(zip(*names, strict=True)):
        for text in members:
            yield SpelledRow((), tuple(unmarked(text).split(_BETWEEN)))
        return
    places = iter(values)
    text = _MARKED.sub(lambda found: names.get(next(places), found[2]), members[0])
    each = tuple(f"{name} in {', '.join(dict.fromkeys(column))}" for column, name in names.items())
    yield SpelledRow(each, tuple(text.split(_BETWEEN)))


def _variables(columns: Sequence[Sequence[tuple[str, str]]], text: str) -> dict[tuple[str, ...], str]:
    """Return the names of the variables by their values, in the order of the members."""
    plain, found = unmarked(text), dict[tuple[str, ...], str]()
    for column in columns:
        hint, values = column[0][0], tuple(value for _, value in column)
        if hint and len(set(values)) > 1 and values not in found:
            taken = {*found.values(), *re.findall(r"[\w~]+", plain)}
            numbered = itertools.chain([hint], (f"{hint}{n}" for n in itertools.count(2)))
            found[values] = next(name for name in numbered if name not in taken)
    return found
