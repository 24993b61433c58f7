"""A transition system: actions over a state space, and the properties that must hold of it."""

from __future__ import annotations

import inspect
import itertools
import string
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import ParamSpec

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.author_errors import (
    check_claim,
    count_combinations,
    must_be,
    must_be_call,
    must_be_list,
    must_be_number,
    must_be_table,
)
from fencepost.encoding.language.consistency import (
    check_comparisons,
    check_consistency,
    must_be_distinct,
    nothing_leaks,
)
from fencepost.encoding.language.messages import Broadcast, Message
from fencepost.encoding.language.patterns import rewritten
from fencepost.encoding.language.quantifiers import bind
from fencepost.encoding.language.sorts import Sort, Value
from fencepost.encoding.language.state import StateSpace, Variable, show
from fencepost.encoding.language.terms import (
    FALSE,
    Family,
    Parameter,
    Quantified,
    Read,
    Term,
    TermLike,
    Update,
    lift,
)
from fencepost.encoding.language.traces import Trace

_P = ParamSpec("_P")


@dataclass(frozen=True)
class Action:
    """A step that may happen whenever `when` holds. All updates of `then` take effect at once.

    Right-hand sides read the state before the action. A variable without an update keeps its value. `actor`
    performs the action. `received`, `sent` and `note` are for people only. An action with `fault` costs one
    fault of that name.
    """

    when: Term
    then: Sequence[Update]
    actor: TermLike
    received: Message | None = None
    sent: Sequence[Message | Broadcast] = ()
    note: str = ""
    fault: str | None = None

    def __post_init__(self) -> None:
        """Validate the fields. Raises ModelError."""
        must_be("when=", self.when, (Term, bool), "write a term over the state, such as ~s.closed")
        must_be("then=", self.then, (list, tuple), "write a list of updates, such as [s.closed.set(True)]")
        for update in self.then:
            must_be("then=: one item", update, Update, "write s.closed.set(True); == only compares")
        object.__setattr__(self, "then", tuple(self.then))
        must_be_list("sent=", self.sent, (Message, Broadcast), "write a list, such as [message(…)]")
        object.__setattr__(self, "sent", tuple(self.sent))


@dataclass(frozen=True, eq=False)
class Schema:
    """An action with open parameters: one text for all bookies, entries and clients."""

    name: str
    meaning: str
    parameters: tuple[Parameter, ...]
    action: Action

    def could_happen(self, but_for: Collection[Family] = ()) -> Term:
        """Return the term that says: the action is enabled for some arguments, counting no message as lost.

        State variables of the families `but_for` are taken as false in the same way.
        """

        def delivered(read: Read) -> Term:
            return FALSE if read.family.fault is not None or read.family in but_for else read

        found = rewritten(self.action.when, delivered)
        for parameter in reversed(self.parameters):
            found = Quantified("bool", "exists", parameter, found)
        return found

    @property
    def terms(self) -> Iterator[Term]:
        """The parameters of the action, its guard, and the terms of its updates."""
        yield from self.parameters
        yield self.action.when
        for update in self.action.then:
            yield from (*update.target.index, update.value, update.when, *update.over)

    @property
    def scopes(self) -> Iterator[tuple[tuple[Parameter, ...], tuple[Term, ...]]]:
        """All terms that the action reads, each group with the parameters bound beside those of the action.

        The losses that its sendings name are not read.
        """
        yield (), (self.action.when, lift(self.action.actor))
        for update in self.action.then:
            yield update.over, (*update.target.index, update.value, update.when)
        received = [] if self.action.received is None else [((), self.action.received)]
        for bound, message in [*received, *self.sent()]:
            yield bound, message.terms

    def sent(self) -> Iterable[tuple[tuple[Parameter, ...], Message]]:
        """Yield each message that the action may send, with the parameters that a broadcast binds."""
        for sending in self.action.sent:
            if isinstance(sending, Broadcast):
                yield (sending.bound,), sending.message
            else:
                yield (), sending


def each(handler: Callable[..., Action], state: StateSpace, *over: Sort) -> Schema:
    """Return the action that `handler(state, …)` describes, for each combination of values of `over`.

    Its name is the handler's name, its arguments have the names of the handler's parameters, and its meaning
    is the first line of the docstring. Raises ModelError.
    """
    for sort in over:
        where = f"each({handler.__name__}): an index set"
        must_be(where, sort, Sort, "write a sort of the state, such as s.entry")
    names = list(inspect.signature(handler).parameters)[1:]
    parameters = tuple(bind(sort, name) for name, sort in zip(names, over, strict=False))
    meaning = (inspect.getdoc(handler) or "").split("\n")[0]
    if len(names) != len(over):
        raise ModelError(
            f"{handler.__name__} takes {', '.join(names) or 'no arguments'}, "
            f"but {len(over)} index sets are given"
        )
    action = handler(state, *parameters)
    must_be(f"{handler.__name__}: the result", action, Action, "return Action(when=…, then=[…], actor=…)")
    count_combinations(handler.__name__, over)
    for _, field_name, _, _ in string.Formatter().parse(action.note):
        if field_name is not None and field_name not in names:
            raise ModelError(
                f"{handler.__name__}: its note names {{{field_name}}}, which is not an argument; "
                f"valid: {', '.join(names)}"
            )
    return Schema(
        handler.__name__.replace("_", " "), meaning, parameters, replace(action, when=lift(action.when))
    )


@dataclass(frozen=True)
class Group:
    """Actions whose slots are grouped by the value of one of their parameters, value by value."""

    by: str
    members: tuple[Schema | Group, ...]


def in_turn(by: str, *members: Schema | Group) -> Group:
    """Return the group of all `members` for the first value of parameter `by`, then the second, and so on.

    This is the causal order of exchanges that follow one another: reads of entry 1, then reads of entry 2.
    """
    return Group(by, members)


def _slots(item: Schema | Group, given: Mapping[str, Value]) -> Iterable[tuple[Schema, tuple[Value, ...]]]:
    """Yield the ground actions of a schema or group in slot order, with some arguments given by name."""
    if isinstance(item, Schema):
        choices = [(given[p.symbol],) if p.symbol in given else tuple(p.sort) for p in item.parameters]
        fits = all(v in p.sort for c, p in zip(choices, item.parameters, strict=True) for v in c)
        yield from ((item, arguments) for arguments in itertools.product(*choices) if fits)
        return
    ranges = [list(_range(member, item.by)) for member in item.members]
    if not all(ranges):
        raise ModelError(
            f"in_turn {item.by}: every action in it needs an argument of that name, and one action has none"
        )
    for value in dict.fromkeys(itertools.chain(*ranges)):
        for member in item.members:
            yield from _slots(member, {**given, item.by: value})


def _leaves(items: Iterable[Schema | Group]) -> Iterator[Schema]:
    """Yield the actions, including those in groups."""
    for item in items:
        if isinstance(item, Schema):
            yield item
        else:
            yield from _leaves(item.members)


def _range(item: Schema | Group, name: str) -> Iterable[Value]:
    """Return the values that a parameter of that name takes."""
    if isinstance(item, Group):
        return (v for member in item.members for v in _range(member, name))
    return (v for p in item.parameters if p.symbol == name for v in p.sort)


@dataclass(frozen=True)
class GroundAction:
    """A schema with its arguments."""

    schema: Schema
    arguments: tuple[Value, ...]

    @cached_property
    def name(self) -> str:
        """The name that people read: `handle add(w, 1, b3)`."""
        given = ", ".join(map(show, self.arguments))
        return f"{self.schema.name}({given})" if given else self.schema.name

    @property
    def environment(self) -> dict[Parameter, Value]:
        """The values of the parameters."""
        return dict(zip(self.schema.parameters, self.arguments, strict=True))


@dataclass(frozen=True)
class Property:
    """A condition that must hold in every reachable state.

    `witness` is a situation that must be reachable; otherwise checking `holds` says nothing. `explain` turns
    a replayed counterexample into one sentence about what was lost and why. `traps` are the situations that a
    property rules out when it says that something stays possible. A check first proves that no action ends a
    trap.
    """

    name: str
    meaning: str
    holds: Term
    witness: Term
    witness_meaning: str
    explain: Callable[[Trace], str] | None = None
    traps: Mapping[str, Term] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Validate the fields. Raises ModelError."""
        check_claim("a property", self.name, holds=self.holds, witness=self.witness)
        must_be(f"{self.name}: meaning=", self.meaning, str, "write what must hold, as a text")
        must_be(f"{self.name}: witness_meaning=", self.witness_meaning, str, "write the witness as a text")
        if self.explain is not None:
            must_be_call(f"{self.name}: explain=", self.explain, "give a function from a trace to a text")
        must_be_table(f"{self.name}: traps=", self.traps, Term, 'write a table of terms: {"stuck": …}')


@dataclass(frozen=True)
class Invariant:
    """A condition that holds in every reachable state and helps to prove properties by induction.

    It is not assumed: it is proved together with the property (see `System.invariants`).
    """

    name: str
    meaning: str
    holds: Term

    def __post_init__(self) -> None:
        """Validate the fields. Raises ModelError."""
        check_claim("an invariant", self.name, holds=self.holds)
        must_be(f"{self.name}: meaning=", self.meaning, str, "write what holds, as a text")


def invariant(meaning: str) -> Callable[[Callable[_P, Term]], Callable[_P, Invariant]]:
    """Return a decorator for functions that return the formula of an invariant.

    The function then returns the invariant, named after the function: `acked_once` becomes `acked-once`.
    """

    def decorate(formula: Callable[_P, Term]) -> Callable[_P, Invariant]:
        name = formula.__name__.replace("_", "-")

        @wraps(formula)
        def build(*args: _P.args, **kwargs: _P.kwargs) -> Invariant:
            return Invariant(name, meaning, formula(*args, **kwargs))

        return build

    return decorate


@dataclass(frozen=True)
class Axiom:
    """A condition on constants, or on the initial state, of a system with sorts of any size.

    `because` names the lemma that it is, if any. On a finite instance it must be true (`unmet_axioms`).
    """

    name: str
    meaning: str
    holds: Term
    because: str = ""


@dataclass(frozen=True, eq=False)
class System:
    """A transition system. It is finite and can be searched if all its sorts are counted.

    `actions` are in causal order, senders before receivers. This is the order of the slots of a round.
    `default_rounds` is set for systems with cycles, which no number of rounds covers. `caps` are bounds that
    are part of the model, such as a largest number of fragments. Every verdict names them.

    `invariants` help to prove the properties by induction. An invariant that a reachable state violates is
    found by the same search as a violated property. It then proves nothing.

    Over sorts of any size, `axioms` are the conditions on families that no action writes. `at_first` has the
    conditions on the initial state beyond the plain initial values. A finite instance checks both and uses
    neither.
    """

    state: StateSpace
    actions: tuple[Schema | Group, ...]
    properties: tuple[Property, ...] = ()
    caps: Mapping[str, int] = field(default_factory=dict)
    default_rounds: int | None = None
    invariants: tuple[Invariant, ...] = ()
    axioms: tuple[Axiom, ...] = ()
    at_first: tuple[Axiom, ...] = ()

    def __post_init__(self) -> None:
        """Validate the fields. Raises ModelError."""
        must_be("state=", self.state, StateSpace, "give an instance of your own class of StateSpace")
        all_by_each = "write (each(send, s, s.entry), …), each action by each()"
        must_be_list("actions=", self.actions, (Schema, Group), all_by_each)
        must_be_list("properties=", self.properties, Property, "write a tuple: (Property(…),) with its comma")
        must_be_list(
            "invariants=", self.invariants, Invariant, "write a tuple: (Invariant(…),), with a comma"
        )
        for name in ("axioms", "at_first"):
            must_be_list(f"{name}=", getattr(self, name), Axiom, "write a tuple: (Axiom(…),), with a comma")
        must_be_table("caps=", self.caps, int, 'write a table of numbers, such as {"entries": 2}')
        if self.default_rounds is not None:
            must_be_number("default_rounds=", self.default_rounds)
        claims = [*(p.name for p in self.properties), *(i.name for i in self.invariants)]
        must_be_distinct("properties or invariants", claims)
        check_consistency(self.state.families, self._terms_by_name)
        for schema in self.schemas:
            for bound, terms in schema.scopes:
                nothing_leaks(schema.name, terms, (*schema.parameters, *bound))
        for name, conditions in self._claims_by_name:
            nothing_leaks(name, conditions)

    @property
    def _terms_by_name(self) -> Iterator[tuple[str, Iterable[Term]]]:
        """The terms of each action and each claim, with its name."""
        yield from ((schema.name, schema.terms) for schema in self.schemas)
        yield from self._claims_by_name

    @property
    def _claims_by_name(self) -> Iterator[tuple[str, Iterable[Term]]]:
        """The terms of each property, invariant and axiom, with its name."""
        yield from ((p.name, (p.holds, p.witness, *p.traps.values())) for p in self.properties)
        yield from ((invariant.name, (invariant.holds,)) for invariant in self.invariants)
        yield from ((axiom.name, (axiom.holds,)) for axiom in (*self.axioms, *self.at_first))

    def must_compare_values(self) -> None:
        """Raise ModelError for a comparison with a value that the other side cannot have.

        The system must be as its author wrote it: folding narrows the values of a term.
        """
        read = ((schema.name, (t for _, terms in schema.scopes for t in terms)) for schema in self.schemas)
        check_comparisons(self.state.families, [*read, *self._claims_by_name])

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """All state variables, including choices."""
        must_be_distinct("state variables", (variable.name for variable in self.state.variables))
        return self.state.variables

    @cached_property
    def choices(self) -> tuple[Variable, ...]:
        """The choices, in order of declaration."""
        return tuple(v for v in self.variables if v.is_choice)

    @cached_property
    def ground_actions(self) -> tuple[GroundAction, ...]:
        """All actions with all combinations of arguments, in the order of the slots of a round."""
        total = 0
        for schema in _leaves(self.actions):
            total += count_combinations(schema.name, (p.sort for p in schema.parameters), total)
        slots = tuple(
            GroundAction(schema, arguments) for item in self.actions for schema, arguments in _slots(item, {})
        )
        must_be_distinct("actions", (action.name for action in slots))
        return slots

    @cached_property
    def schemas(self) -> tuple[Schema, ...]:
        """All actions, each once, in causal order."""
        return tuple(dict.fromkeys(_leaves(self.actions)))

    @cached_property
    def faults(self) -> tuple[str, ...]:
        """The kinds of faults, in order of declaration."""
        choices = [v.family.fault for v in self.variables if v.family.fault]
        actions = [schema.action.fault for schema in self.schemas if schema.action.fault]
        return tuple(dict.fromkeys([*choices, *actions]))

    @cached_property
    def initial(self) -> tuple[Value, ...]:
        """The initial value of each place. Every choice is false."""
        values = tuple(v.family.initially(v.index) for v in self.variables)
        for variable, value in zip(self.variables, values, strict=True):
            if value not in variable.domain:
                raise ModelError(
                    f"{variable.name}: initial value {show(value)} "
                    f"is not in its domain {variable.domain.name}"
                )
        return values

    def find(self, name: str, arguments: Sequence[str]) -> GroundAction | None:
        """Return the action of that name with these arguments, as `show` writes them, or None."""
        for action in self.ground_actions:
            if action.schema.name == name and [show(a) for a in action.arguments] == list(arguments):
                return action
        return None
