"""The reasons why an action is not possible: the false parts of its guard, down to state variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.patterns import conjuncts
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.sorts import Value, show
from fencepost.encoding.language.state import named
from fencepost.encoding.language.terms import (
    AllOf,
    AnyOf,
    AtLeast,
    Constant,
    Equal,
    Family,
    If,
    In,
    Joined,
    Leaf,
    Less,
    Not,
    Pair,
    Parameter,
    Quantified,
    Read,
    Term,
    children,
    node,
)

Environment = dict[Parameter, Value]

DEEP = 3
"""The depth to which reasons are given."""

BROAD = 6
"""The number of parts that are given of one reason."""


@dataclass(frozen=True)
class Reason:
    """A false part of a guard in words, and why it is false."""

    text: str
    values: tuple[str, ...] = ()
    """The values of the state variables in it, as `phase[r1] = idle`."""
    because: tuple[Reason, ...] = ()
    for_ever: bool = False
    """Whether it depends on losses alone, so that no later step changes it."""


@dataclass(frozen=True)
class ShownGuard:
    """The guard of one ground action, part by part."""

    concrete: Concrete
    action: GroundAction

    @cached_property
    def _parts(self) -> tuple[tuple[Term, Callable[[State], Value], bool], ...]:
        """Each conjunct, as a term and as a function of the state, and whether it reads losses alone."""
        environment = self.action.environment
        parts = conjuncts(self.action.schema.action.when)
        return tuple((part, self.concrete.function(part, environment), _of_choices(part)) for part in parts)

    def lacking(self, state: State) -> tuple[int, bool]:
        """Return how many conjuncts are false in a state, and whether a loss makes one false for ever."""
        false = [for_ever for _, holds, for_ever in self._parts if not holds(state)]
        return len(false), any(false)

    def reasons(self, state: State) -> tuple[Reason, ...]:
        """Return why the action is not possible in a state; empty if it is possible."""
        return tuple(
            self._reason(part, self.action.environment, state, False, DEEP)
            for part, holds, _ in self._parts
            if not holds(state)
        )

    def _reason(self, term: Term, environment: Environment, state: State, holds: bool, depth: int) -> Reason:
        """Return the reason why the term has the value `holds`."""
        names: dict[Term, str] = {parameter: show(value) for parameter, value in environment.items()}
        because = () if depth == 0 else tuple(self._because(term, environment, state, holds, depth - 1))
        values = () if because else tuple(dict.fromkeys(self._values(term, environment, state)))
        return Reason(line(term, 90, names), values[:BROAD], because, not holds and _of_choices(term))

    def _because(
        self, term: Term, environment: Environment, state: State, holds: bool, depth: int
    ) -> Iterator[Reason]:
        """Yield the parts that give the term its value, if the term has such parts."""
        found: list[tuple[Term, Environment]]
        match node(term):
            case Not(operand=operand) if not isinstance(operand, Equal | Less | Read):
                yield from self._because(operand, environment, state, not holds, depth + 1)
                return
            case AllOf(operands=operands) | AnyOf(operands=operands):
                found = [(operand, environment) for operand in operands]
            case Quantified(quantifier="forall" | "exists", bound=bound, body=body):
                found = [(body, {**environment, bound: value}) for value in bound.sort]
            case AtLeast(bound=bound, body=body):
                found = [(body, {**environment, bound: value}) for value in bound.sort]
            case Leaf() | Read() | Not() | Pair() | If() | Quantified() | In():
                return
        telling = [(t, e) for t, e in found if bool(self.concrete.function(t, e)(state)) == holds]
        for part, inside in telling[:BROAD]:
            yield self._reason(part, inside, state, holds, depth)

    def _values(self, term: Term, environment: Environment, state: State) -> Iterator[str]:
        """Yield the values of the state variables that the term reads outside quantifiers."""
        match node(term):
            case Quantified() | AtLeast():
                return
            case Read(family=family, index=index):
                places = tuple(self.concrete.function(i, environment)(state) for i in index)
                value = self.concrete.function(term, environment)(state)
                yield f"{named(family, places)} = {_shown(value, term)}"
                if all(isinstance(i, Constant | Parameter) for i in index):
                    return
            case Leaf() | Not() | Joined() | Pair() | If() | In():
                pass
        for child in children(term):
            yield from self._values(child, environment, state)


def _shown(value: Value, term: Term) -> str:
    return show(bool(value) if term.type == "bool" else value)


def _of_choices(term: Term) -> bool:
    """Return whether the term reads losses and nothing else."""
    families = list(_read(term))
    return bool(families) and all(family.fault is not None for family in families)


def _read(term: Term) -> Iterator[Family]:
    if isinstance(term, Read):
        yield term.family
    for child in children(term):
        yield from _read(child)
