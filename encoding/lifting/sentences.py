"""Templates at one size: as terms of the language, as text for people, and as Python source.

A template becomes a sentence: for all values of these variables, if the premises hold, one of the
conclusions does. A variable that only stands for the value of a state variable is replaced by it: `for all k:
if x = k then y ≠ k` becomes `y ≠ x`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from fencepost.encoding.engine.clauses import Relation, compared
from fencepost.encoding.language.carried_invariants import FoundInvariant
from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.patterns import subterms
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.quantifiers import bind
from fencepost.encoding.language.sorts import Sort
from fencepost.encoding.language.source import SourceWriter
from fencepost.encoding.language.system import Invariant, System
from fencepost.encoding.language.terms import (
    AtLeast,
    Constant,
    Parameter,
    Quantified,
    Read,
    Term,
    all_of,
    any_of,
    as_type,
)
from fencepost.encoding.lifting.templates import (
    OWN,
    SIZE,
    Comparison,
    Count,
    CountGroup,
    Fixed,
    Hole,
    Largest,
    Part,
    Pattern,
    SortOf,
    Template,
    ValueGuard,
)

WIDE = 100_000
"""A width at which the printer leaves nothing out."""


@dataclass(frozen=True)
class Sentence:
    """A template at one size.

    Of numbers that depend on the size, `spelled` has the source, and `said` the words for people.
    """

    bound: tuple[tuple[Parameter, SortOf], ...]
    premises: tuple[Term, ...]
    conclusions: tuple[Term, ...]
    spelled: Mapping[Term, str]
    said: Mapping[Term, str]
    sorts: Mapping[Parameter, SortOf]
    """The sort of each bound variable, those of groups included."""

    @property
    def body(self) -> Term:
        """The sentence without its outer quantifiers."""
        conclusion = any_of(*self.conclusions)
        return implies(all_of(*self.premises), conclusion) if self.premises else conclusion

    @property
    def holds(self) -> Term:
        """The sentence as a term."""
        found = self.body
        for parameter, _ in reversed(self.bound):
            found = Quantified("bool", "forall", parameter, found)
        return found

    @property
    def reads_choice(self) -> bool:
        """Whether the sentence is also about a choice, such as the loss of a message."""
        return any(isinstance(part, Read) and part.family.fault for part in subterms(self.holds))

    @property
    def text(self) -> str:
        """The sentence as people read it."""
        names: dict[Term, str] = {**self.said, **{parameter: parameter.symbol for parameter, _ in self.bound}}

        def join(terms: Sequence[Term], word: str) -> str:
            return f" {word} ".join(_atom(line(term, WIDE, names), len(terms)) for term in terms)

        every = f"for all {', '.join(p.symbol for p, _ in self.bound)}: " if self.bound else ""
        premises = join(self.premises, "and")
        conclusion = join(self.conclusions, "or")
        return f"{every}if {premises} then {conclusion}" if premises else f"{every}{conclusion}"


def _atom(text: str, several: int) -> str:
    return f"({text})" if several > 1 and (" or " in text or ": " in text) else text


def invariant(name: str, template: Template, system: System, numbers: Mapping[str, int]) -> FoundInvariant:
    """Return the template as an invariant of a system. Raises KeyError if the system cannot have it."""
    found = sentence(template, system, numbers)
    return FoundInvariant(name, found.text, found.holds)


def sentence(template: Template, system: System, numbers: Mapping[str, int]) -> Sentence:
    """Return the template at the size of a system, with the parameters `numbers`. Raises KeyError."""
    return _Maker(template, system, numbers).sentence()


@dataclass
class _Maker:
    """The making of one sentence."""

    template: Template
    system: System
    numbers: Mapping[str, int]
    spelled: dict[Term, str] = field(default_factory=dict)
    said: dict[Term, str] = field(default_factory=dict)
    sorts: dict[Parameter, SortOf] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.families = {family.name: family for family in self.system.state.families}
        self.values: list[Term] = []

    def sentence(self) -> Sentence:
        template = self.template
        self.values = [self.bind(sort) for sort in template.bound]
        defined = self._defined()
        skipped = set()
        for number, pattern in defined.items():
            self.values[number] = self.read(pattern)
            skipped.add(pattern)
        premises: list[Term] = []
        conclusions: list[Term] = []
        for guard in template.guards:
            premises.append(self.guard(guard))
        for pattern in template.patterns:
            if pattern in skipped:
                continue
            term = self.pattern(pattern)
            if pattern.denies:
                premises.append(~term)
            else:
                conclusions.append(term)
        conclusions += map(self.group, template.groups)
        if not conclusions:
            conclusions.append(~premises.pop())
        bound = tuple(
            (value, sort)
            for value, sort in zip(self.values, template.bound, strict=True)
            if isinstance(value, Parameter)
        )
        return Sentence(bound, tuple(premises), tuple(conclusions), self.spelled, self.said, self.sorts)

    def bind(self, place: SortOf) -> Parameter:
        """Return a new variable with a name of its own."""
        sort = place.within(self.families)
        letter = self._letter(sort, place)
        name = next(n for n in (letter, *(f"{letter}{i}" for i in range(2, 100))) if n not in self.named)
        self.named.add(name)
        parameter = bind(sort, name)
        self.sorts[parameter] = place
        return parameter

    def _letter(self, sort: Sort, place: SortOf) -> str:
        """Return the letter of the sort's name, or of the state's name for it; `n` for plain numbers."""
        word = source_of(place, self.system).removeprefix("s.")
        if not word.isidentifier():
            word = "n" if sort.type == "int" else sort.name
        return word[:3].lower() if word[0].lower() == "s" else word[0].lower()  # `s` is the state

    def _defined(self) -> dict[int, Pattern]:
        """Return the variables that can be replaced by a read, each with the pattern that defines it."""
        found: dict[int, Pattern] = {}
        for number, place in enumerate(self.template.bound):
            own = [p for p in self.template.patterns if p.value == Hole(number)]
            elsewhere = [
                *(part for p in self.template.patterns for part in p.index),
                *(part for g in self.template.groups for p in g.patterns for part in p.parts),
                *(
                    part
                    for g in self.template.groups
                    for guard in g.guards
                    for part in (guard.left, guard.right)
                ),
            ]
            if Hole(number) in elsewhere:
                continue
            for pattern in own:
                same = self.families[pattern.family].domain == place.within(self.families)
                settled = all(not isinstance(p, Hole) or p.number not in found for p in pattern.index)
                if same and settled and self._defines(pattern, number, own):
                    found[number] = pattern
                    break
        return found

    def _defines(self, pattern: Pattern, number: int, own: Sequence[Pattern]) -> bool:
        """Return whether the premise `x = k`, or `x >= k`, makes x the only value of k that matters."""
        if pattern.relation is Relation.IS_NOT:
            return True
        others = [p for p in own if p is not pattern]
        if pattern.relation is not Relation.BELOW or any(p.relation is not Relation.AT_LEAST for p in others):
            return False
        return all(
            g.right == Hole(number) and g.comparison in (Comparison.BELOW, Comparison.AT_MOST)
            for g in self.template.guards
            if Hole(number) in (g.left, g.right)
        )

    def read(self, pattern: Pattern, own: Parameter | None = None) -> Read:
        """Return the state variable of a pattern."""
        family = self.families[pattern.family]
        index = [self.part(p, sort.type, own) for p, sort in zip(pattern.index, family.over, strict=True)]
        if any(
            isinstance(i, Constant) and i.value not in s.values
            for i, s in zip(index, family.over, strict=True)
        ):
            raise KeyError(pattern.family)
        for term, sort in zip(index, family.over, strict=True):
            if isinstance(term, Parameter) and not set(term.sort.values) <= set(sort.values):
                raise KeyError(pattern.family)
        return family[tuple(index)]

    def part(self, part: Part, kind: str, own: Parameter | None = None) -> Term:
        """Return a part as a term of a type."""
        match part:
            case Hole(number=number):
                if number != OWN:
                    return self.values[number]
                assert own is not None
                return own
            case Fixed(value=value):
                return as_type(value, kind)
            case Largest(sort=place):
                sort = place.within(self.families)
                term = Constant("int", sort.values[-1])
                self.said[term] = (
                    f"largest {place.family if place.position < 0 else self._letter(sort, place)}"
                )
                self.spelled[term] = f"{source_of(place, self.system)}.values[-1]"
                return term
            case other:
                assert_never(other)

    def pattern(self, pattern: Pattern, own: Parameter | None = None) -> Term:
        """Return a pattern as a term."""
        read = self.read(pattern, own)
        domain = self.families[pattern.family].domain
        value = self.part(pattern.value, domain.type, own)
        if isinstance(value, Constant) and value.value not in domain.values:
            raise KeyError(pattern.family)
        return compared(read, pattern.relation, value)

    def guard(self, guard: ValueGuard, own: Parameter | None = None) -> Term:
        """Return a guard as a term."""
        kinds = [self._type(part, own) for part in (guard.left, guard.right)]
        kind = next((kind for kind in kinds if kind is not None), "int")
        left, right = (self.part(part, kind, own) for part in (guard.left, guard.right))
        match guard.comparison:
            case Comparison.DIFFERENT:
                return left != right
            case Comparison.BELOW:
                return left < right
            case Comparison.AT_MOST:
                return left <= right
            case Comparison.EQUAL:
                return left == right
            case Comparison.NEXT:
                return left + 1 == right
            case other:
                assert_never(other)

    def _type(self, part: Part, own: Parameter | None) -> str | None:
        """Return the type of the variable in a part of a guard, or None if there is no variable."""
        if not isinstance(part, Hole):
            return None
        return own.type if part.number == OWN and own is not None else self.values[part.number].type

    def group(self, group: CountGroup) -> Term:
        """Return a group as a term."""
        own = self.bind(group.sort)
        guards = [self.guard(guard, own) for guard in group.guards]
        body = all_of(*guards, any_of(*(self.pattern(p, own) for p in group.patterns)))
        count = group.count.at(len(own.sort), self.numbers)
        if group.count.base or group.count.offset != 1:
            term = AtLeast("bool", count, own, body)
            self.spelled[term] = self._count(group)
            self.said[term] = _words(group.count)
            return term
        return Quantified("bool", "exists", own, body)

    def _count(self, group: CountGroup) -> str:
        base, offset = group.count.base, group.count.offset
        if not base:
            return str(offset)
        name = f"len({source_of(group.sort, self.system)})" if base == SIZE else f"s.parameters.{base}"
        return _sum(name, offset)


def _words(count: Count) -> str:
    if count.base == SIZE:
        return f"all but {-count.offset}" if count.offset else "all"
    return _sum(count.base, count.offset) if count.base else str(count.offset)


def _sum(name: str, offset: int) -> str:
    return name if not offset else f"{name} {'+' if offset > 0 else '-'} {abs(offset)}"


def source_of(place: SortOf, system: System) -> str:
    """Return the Python source that names a sort, given the state `s`."""
    state = system.state
    families = {family.name: family for family in state.families}
    sort = place.within(families)
    for name, value in vars(state).items():
        if value is sort:
            return f"s.{name}"
    family = families[place.family]
    own = f"s.{place.family}" if family.over else f"s.{place.family}.family"
    return f"{own}.domain" if place.position == -1 else f"{own}.over[{place.position}]"


def source(name: str, sentence: Sentence, system: System) -> str:
    """Return the invariant as source: a call of `Invariant` over a state named `s`."""
    names = {parameter: parameter.symbol for parameter in sentence.sorts}
    sorts = {parameter: source_of(place, system) for parameter, place in sentence.sorts.items()}
    writer = SourceWriter(system.state, names, sorts, sentence.spelled)
    return writer.invariant(Invariant(name, sentence.text, sentence.holds))
