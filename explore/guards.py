"""Why an action is not possible: the parts of its guard that are false, down to what the state holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from fencepost.encoding.concrete.compiler import Concrete, State
from fencepost.encoding.language.patterns import conjuncts
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.state import named, show
from fencepost.encoding.language.system import GroundAction
from fencepost.encoding.language.terms import (
    AllOf,
    AnyOf,
    AtLeast,
    Constant,
    Equal,
    Family,
    Less,
    Not,
    Parameter,
    Quantified,
    Read,
    Term,
    children,
)

Environment = dict[Parameter, Value]

DEEP = 3
"""So far down a reason is told."""

BROAD = 6
"""So many parts of one are told."""


@dataclass(frozen=True)
class Reason:
    """A part of a guard that is not as it must be, in words, and why not."""

    text: str
    values: tuple[str, ...] = ()
    """What the variables in it hold, as `phase[r1] = idle`."""
    because: tuple[Reason, ...] = ()
    for_ever: bool = False
    """It depends on what was lost alone: nothing that may still happen changes it."""


@dataclass(frozen=True)
class Guard:
    """The guard of one ground action, part by part."""

    concrete: Concrete
    action: GroundAction

    @cached_property
    def _parts(self) -> tuple[tuple[Term, Callable[[State], Value], bool], ...]:
        """Each conjunct, what it is in a state, and whether it depends on what is lost alone."""
        environment = self.action.environment
        parts = conjuncts(self.action.schema.action.when)
        return tuple((part, self.concrete.function(part, environment), _of_choices(part)) for part in parts)

    def lacking(self, state: State) -> tuple[int, bool]:
        """How many conjuncts are false in a state, and whether one of them will be for ever, because something is lost."""
        false = [for_ever for _, holds, for_ever in self._parts if not holds(state)]
        return len(false), any(false)

    def reasons(self, state: State) -> tuple[Reason, ...]:
        """Why it is not possible in a state; empty if it is."""
        return tuple(
            self._reason(part, self.action.environment, state, False, DEEP)
            for part, holds, _ in self._parts
            if not holds(state)
        )

    def _reason(self, term: Term, environment: Environment, state: State, holds: bool, depth: int) -> Reason:
        """Why the term, which is `holds`, is that."""
        names = {parameter: show(value) for parameter, value in environment.items()}
        because = () if depth == 0 else tuple(self._because(term, environment, state, holds, depth - 1))
        values = () if because else tuple(dict.fromkeys(self._values(term, environment, state)))
        return Reason(line(term, 90, names), values[:BROAD], because, not holds and _of_choices(term))

    def _because(
        self, term: Term, environment: Environment, state: State, holds: bool, depth: int
    ) -> Iterator[Reason]:
        """The parts that make the term what it is, if it has parts worth telling."""
        found: list[tuple[Term, Environment]]
        match term:
            case Not(operand=operand) if not isinstance(operand, Equal | Less | Read):
                yield from self._because(operand, environment, state, not holds, depth + 1)
                return
            case AllOf(operands=operands) | AnyOf(operands=operands):
                found = [(operand, environment) for operand in operands]
            case Quantified(quantifier="forall" | "exists", bound=bound, body=body):
                found = [(body, {**environment, bound: value}) for value in bound.sort]
            case AtLeast(bound=bound, body=body):
                found = [(body, {**environment, bound: value}) for value in bound.sort]
            case _:
                return
        telling = [(t, e) for t, e in found if bool(self.concrete.function(t, e)(state)) == holds]
        for part, inside in telling[:BROAD]:
            yield self._reason(part, inside, state, holds, depth)

    def _values(self, term: Term, environment: Environment, state: State) -> Iterator[str]:
        """What the variables hold that the term reads, those under a quantifier left out."""
        match term:
            case Quantified() | AtLeast():
                return
            case Read(family=family, index=index):
                places = tuple(self.concrete.function(i, environment)(state) for i in index)
                value = self.concrete.function(term, environment)(state)
                yield f"{named(family, places)} = {_shown(value, term)}"
                if all(isinstance(i, Constant | Parameter) for i in index):
                    return
        for child in children(term):
            yield from self._values(child, environment, state)


def _shown(value: Value, term: Term) -> str:
    return show(bool(value) if term.type == "bool" else value)


def _of_choices(term: Term) -> bool:
    """The term reads choices and nothing else."""
    families = list(_read(term))
    return bool(families) and all(family.fault is not None for family in families)


def _read(term: Term) -> Iterator[Family]:
    if isinstance(term, Read):
        yield term.family
    for child in children(term):
        yield from _read(child)
