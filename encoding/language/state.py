"""State: families of state variables over index sets, and choices fixed before the first step."""

from __future__ import annotations

import itertools
from abc import ABCMeta
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, partial, update_wrapper, wraps
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar, overload

from fencepost.encoding.errors import ModelError, refusal
from fencepost.encoding.language.author_errors import count_combinations, must_be_line
from fencepost.encoding.language.bounded_sequences import Sequences, SequenceVariable
from fencepost.encoding.language.channels import Channel
from fencepost.encoding.language.declarations import Initial, InitialAt, OneOf, taken_once
from fencepost.encoding.language.guarded_modules import runs_guarded
from fencepost.encoding.language.queues import Queues
from fencepost.encoding.language.record_values import InitialRecord, RecordFamily, Records, RecordVariable
from fencepost.encoding.language.refused_operators import RefusesPython
from fencepost.encoding.language.sequence_families import InitialSequence, SequenceFamily
from fencepost.encoding.language.sets import InitialSet, SetFamily, SetVariable
from fencepost.encoding.language.sorts import BOOL, Sort, Subsets, Value, show
from fencepost.encoding.language.terms import Family, Read, Term, TermLike
from fencepost.encoding.language.wholes import Composite, Whole


@overload
def family(domain: Sort, *over: Sort, initial: InitialAt = None) -> Family: ...
@overload
def family(domain: Subsets, *over: Sort, initial: InitialSet = None) -> SetFamily: ...
@overload
def family(domain: Sequences, *over: Sort, initial: InitialSequence = None) -> SequenceFamily: ...
@overload
def family(domain: Records, *over: Sort, initial: InitialRecord = None) -> RecordFamily: ...
def family(domain: Any, *over: Sort, initial: Any = None) -> Family | Whole[Family]:
    """Declare a state variable for each combination of values of `over`; see `one_of` for `initial`."""
    if isinstance(domain, Subsets):
        return SetFamily(domain, over, initial)
    if isinstance(domain, Sequences):
        return SequenceFamily(domain, over, initial)
    if isinstance(domain, Records):
        return RecordFamily(domain, over, initial)
    if callable(initial) and all(isinstance(sort, Sort) for sort in over):
        initial = taken_once(initial, over, lambda value: value)
    return Family(domain, over, initial, None)


@overload
def variable(domain: Sort, initial: Initial | None = None) -> Read: ...
@overload
def variable(domain: Subsets, initial: Iterable[Value] | OneOf | None = None) -> SetVariable: ...
@overload
def variable(
    domain: Sequences, initial: Iterable[Value | Mapping[str, Value]] | None = None
) -> SequenceVariable: ...
@overload
def variable(domain: Records, initial: InitialRecord = None) -> RecordVariable: ...
def variable(domain: Any, initial: Any = None) -> Any:
    """Declare a single state variable; the attribute it is assigned to becomes the term that reads it."""
    return family(domain, initial=initial)


def choice(*over: Sort, fault: str) -> Family:
    """Declare a choice for each index: a fault decided before the first step, such as a lost message.

    Raises ModelError for a fault without a name.
    """
    if not isinstance(fault, str) or not fault or not fault.isprintable():
        raise ModelError(f"choice(fault={fault!r:.80}): a fault needs a name; write choice(fault='lost')")
    return Family(BOOL, over, None, fault)


def named(family: Family | Composite[Family], index: tuple[object, ...]) -> str:
    """Return the name of a member of a family: `stored[b1, 2]`."""
    return f"{family.name}[{', '.join(map(show, index))}]" if index else family.name


class Broken(Family):
    """A variable that an action sets if its step violates a property of steps."""


@dataclass(frozen=True)
class Variable:
    """One member of a family, with its place in the state."""

    family: Family
    index: tuple[Value, ...]
    place: int

    @cached_property
    def name(self) -> str:
        """The name that people read: `stored[b1, 2]`."""
        return named(self.family, self.index)

    @property
    def domain(self) -> Sort:
        """The sort of the variable's values."""
        return self.family.domain

    @property
    def is_choice(self) -> bool:
        """Whether the variable is a choice, which never changes."""
        return self.family.fault is not None


def decode(variable: Variable, true_bits: list[bool]) -> Value:
    """Return the value that these Booleans encode.

    Each value of the domain but the first has one Boolean. The first value is meant if none is true.
    """
    position = true_bits.index(True) + 1 if any(true_bits) else 0
    return variable.domain.values[position]


class _Frozen(ABCMeta):
    """The type of state spaces. A state space is frozen once its `__init__` has returned."""

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        """Return a new state space, frozen."""
        state = super().__call__(*arguments, **named)
        own = {name: value for base in reversed(cls.__mro__) for name, value in vars(base).items()}
        own = {n: v for n, v in own.items() if isinstance(v, list | dict | set) and not n.startswith("__")}
        for name, value in (own | state.__dict__).items():
            if name not in ("_families", "_definitions"):
                state.__dict__[name] = _fixed(value)
        state.__dict__["_is_frozen"] = True
        state.__dict__["_made_by"] = partial(cls, *arguments, **named)
        state.__dict__["is_guarded"] = runs_guarded()
        return state


def _fixed(value: object) -> object:
    """Return a copy that nothing changes: a tuple of a list, a read-only dict. Definitions may read it."""
    match value:
        case list():
            return tuple(map(_fixed, value))
        case dict():
            return MappingProxyType({key: _fixed(own) for key, own in value.items()})
        case set():
            return frozenset(value)
    return value


class StateSpace(metaclass=_Frozen):
    """The base class of a protocol's state. A family assigned to an attribute takes the attribute's name.

    class Ledger(StateSpace):
        def __init__(self, bookies: int) -> None:
            self.bookie = labels("bookie", "b", bookies)
            self.fenced = family(BOOL, self.bookie)
            self.closed = variable(BOOL)

    `stores` names participants that hold state but do not act, such as a metadata store, with the families
    they hold. Diagrams show a step that changes one of these families as a message to the store.
    """

    stores: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    is_guarded: bool = False
    """Whether the author's code was guarded where it made the state."""

    def __init_subclass__(cls) -> None:
        """Refuse a class that defines what every state space has. Raises ModelError."""
        for name in _RESERVED & set(vars(cls)):
            raise ModelError(f"{cls.__name__}.{name}: a state space has an attribute of that name; rename it")

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute, and declare it if it is a family.

        Raises ModelError for too many variables, for a family that is declared again, and once the state
        space is built.
        """
        if "_is_frozen" in self.__dict__:
            raise ModelError(
                f"s.{name} = … replaces a part of the state space, which is fixed once it is built; "
                f"an action changes state by updates: then=[s.{name}.set(…)]"
            )
        if any(family.name == name for family in self.families):
            raise ModelError(f"{name}: is declared twice; rename one")
        if name in _RESERVED:
            raise refusal(f"{name}: a state space has an attribute of that name; choose another")
        if isinstance(value, Whole | Channel | Queues):
            value.name = name
            for suffix, part in zip(value.suffixes, value.families, strict=True):
                if suffix and hasattr(self, f"{name}{suffix}"):
                    raise ModelError(
                        f"{name}{suffix}: {name} makes a state variable of that name, and the state space "
                        "has an attribute of that name already; rename one"
                    )
                self._declare(f"{name}{suffix}", part)
                if suffix:
                    super().__setattr__(f"{name}{suffix}", part if part.over else part[()])
        if isinstance(value, Family):
            self._declare(name, value)
        if isinstance(value, Family | Whole) and not value.over:
            value = value[()]
        super().__setattr__(name, value)

    def _declare(self, name: str, family: Family) -> None:
        """Declare a family under a name. Raises ModelError for too many variables."""
        must_be_line("the name of a state variable", name, "write a word of printable characters")
        object.__setattr__(family, "name", name)
        families: list[Family] = self.__dict__.setdefault("_families", [])
        places = self.__dict__.get("_places", 0)
        self.__dict__["_places"] = places + count_combinations(name, family.over, places)
        families.append(family)

    @property
    def families(self) -> tuple[Family, ...]:
        """All families, in order of declaration."""
        return tuple(self.__dict__.get("_families", ()))

    @property
    def caps(self) -> Mapping[str, int]:
        """The bounds on executions that channels and queues bring. Every verdict names them."""
        parts = [part for part in self.__dict__.values() if isinstance(part, Channel | Queues)]
        return {name: most for part in parts for name, most in part.caps.items()}

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """All state variables and choices, in order of declaration. `place` counts from 0."""
        places = [(f, index) for f in self.families for index in itertools.product(*f.over)]
        return tuple(Variable(f, index, place) for place, (f, index) in enumerate(places))

    def forms(self, variables: Iterable[Variable]) -> Iterator[tuple[str, Term]]:
        """Yield the condition of canonical form of each composite of these variables, with its name."""
        parts = ((v.family.composite, v.index) for v in variables)
        found = dict.fromkeys((of, of.index(part)) for of, part in parts if of is not None)
        forms = ((named(of, index), of.form(index)) for of, index in found)
        yield from ((name, form) for name, form in forms if form is not None)

    @cached_property
    def places(self) -> dict[tuple[Family, tuple[Value, ...]], Variable]:
        """The variables by family and index values."""
        return {(v.family, v.index): v for v in self.variables}


def primed(state: StateSpace) -> StateSpace:
    """Return a state space made as this one was, for the state after a step. Raises ModelError."""
    after: StateSpace = state.__dict__["_made_by"]()
    for own, family in zip(state.families, after.families, strict=False):
        if (own.name, own.domain, own.over) != (family.name, family.domain, family.over):
            said = "the state differs when it is made again; let its __init__ read its arguments only"
            raise ModelError(f"{own.name}: {said}")
        object.__setattr__(family, "name", f"{own.name}'")
        if family.whole is not None and own.whole is not None:
            family.whole.name = f"{own.whole.name}'"
    return after


def extended(state: StateSpace, name: str, family: Family) -> StateSpace:
    """Return the state space with one more family."""
    found = copy(state)
    found.__dict__["_families"] = list(state.families)
    for made in ("variables", "places"):
        found.__dict__.pop(made, None)
    found._declare(name, family)
    return found


_RESERVED = {name for name in vars(StateSpace) if not name.startswith("__")} - {"stores"}
"""The names in a state space that its author may not give to anything else."""


Definition = TypeVar("Definition", bound=Callable[..., Term])


def definition(method: Definition) -> Definition:
    """Cache a method of the state that returns a term, by its arguments.

    The same arguments, of the same types, give the same term object, so a reading translates it once. This
    helps definitions that
    are built on other definitions, such as the LAC (last add confirmed).
    """

    @wraps(method)
    def shared(self: StateSpace, *arguments: TermLike) -> Term:
        known: dict[object, tuple[Term, tuple[TermLike, ...]]] = self.__dict__.setdefault("_definitions", {})
        key = method, *map(_typed, arguments)
        if key not in known:
            known[key] = method(self, *arguments), arguments  # arguments that are kept keep their ids
        return known[key][0]

    return _Definition(shared)  # type: ignore[return-value]


def called_definitions(
    state: StateSpace,
) -> Iterator[tuple[Callable[..., Term], tuple[TermLike, ...], Term]]:
    """Yield the definitions that were called so far: the method, its arguments and the term."""
    known: dict[Any, tuple[Term, tuple[TermLike, ...]]] = state.__dict__.get("_definitions", {})
    yield from ((key[0], arguments, term) for key, (term, arguments) in known.items())


def _typed(argument: object) -> object:
    """Return a key of an argument, different for values of different types that Python calls equal."""
    match argument:
        case Term():
            return Term, id(argument)
        case tuple():
            return type(argument), tuple(map(_typed, argument))
        case frozenset():
            return type(argument), frozenset(map(_typed, argument))
        case _ if is_dataclass(argument) and not isinstance(argument, type | Sort | RefusesPython):
            return type(argument), tuple(_typed(getattr(argument, f.name)) for f in fields(argument))
    return type(argument), argument


class _Definition:
    """A definition in a class of a state space. One that is not called is no term, and refuses Python."""

    def __init__(self, method: Callable[..., Term]) -> None:
        self._method = method
        update_wrapper(self, method)

    def __get__(self, state: StateSpace | None, _: type | None = None) -> _Definition | _BoundDefinition:
        return self if state is None else _BoundDefinition(partial(self._method, state))

    def __call__(self, *arguments: Any) -> Term:
        return self._method(*arguments)


@dataclass(frozen=True, eq=False, repr=False)
class _BoundDefinition(RefusesPython):
    """A definition of one state space, before it is called."""

    method: Callable[..., Term]

    def __call__(self, *arguments: TermLike) -> Term:
        return self.method(*arguments)

    def __eq__(self, _: object) -> bool:
        raise refusal("a definition is compared before it is called; write s.name(…) with its arguments")

    __hash__ = object.__hash__


def show_all(values: Mapping[str, object]) -> str:
    """Return names with values on one line, such as settings or numbers of faults: `lost=1 crashes=2`."""
    return " ".join(f"{name}={show(value)}" for name, value in values.items())


def amount(number: int, noun: str) -> str:
    """Return a number with its noun: 1 round, 2 rounds."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
