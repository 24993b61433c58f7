"""A transition system: actions over a state space, and the properties that must hold of it."""

from __future__ import annotations

import inspect
import itertools
import string
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.author_errors import file_name, fits_in, listed, must_be, term_of_state
from fencepost.encoding.language.consistency import consistent, once
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


@dataclass(frozen=True)
class Action:
    """What may happen: `then` all at once, whenever `when` holds.

    Right-hand sides read the state before the action; what is not set stays. `actor` acts; `received`,
    `sent` and `note` are for people. An action with `fault` costs one fault of that name.
    """

    when: Term
    then: Sequence[Update]
    actor: TermLike
    received: Message | None = None
    sent: Sequence[Message | Broadcast] = ()
    note: str = ""
    fault: str | None = None

    def __post_init__(self) -> None:
        must_be("when=", self.when, (Term, bool), "write a term over the state, such as ~s.closed")
        must_be("then=", self.then, (list, tuple), "write a list of updates, such as [s.closed.set(True)]")
        for update in self.then:
            must_be("then=: one of them", update, Update, "write s.closed.set(True) where == only compares")
        listed("sent=", self.sent, (Message, Broadcast), "write a list of messages, such as [message(…)]")


@dataclass(frozen=True, eq=False)
class Schema:
    """An action with its parameters still open: one text for all bookies, entries and clients."""

    name: str
    meaning: str
    parameters: tuple[Parameter, ...]
    action: Action

    def could_happen(self, but_for: Collection[Family] = ()) -> Term:
        """For some arguments the action is enabled, or would be if no message had been lost.

        `but_for` names facts that are left out of account in the same way.
        """

        def delivered(read: Read) -> Term:
            return FALSE if read.family.fault is not None or read.family in but_for else read

        found = rewritten(self.action.when, delivered)
        for parameter in reversed(self.parameters):
            found = Quantified("bool", "exists", parameter, found)
        return found

    @property
    def terms(self) -> Iterator[Term]:
        """The terms of its guard and its updates, and its parameters."""
        yield from self.parameters
        yield self.action.when
        for update in self.action.then:
            yield from (*update.target.index, update.value, update.when, *update.over)

    def sent(self) -> Iterable[tuple[tuple[Parameter, ...], Message]]:
        """Each message this action may send, with what a broadcast binds."""
        for sending in self.action.sent:
            if isinstance(sending, Broadcast):
                yield (sending.bound,), sending.message
            else:
                yield (), sending


def each(handler: Callable[..., Action], state: StateSpace, *over: Sort) -> Schema:
    """The action that `handler(state, …)` describes, for each combination of values of `over`.

    The action is named after the handler, its arguments after the handler's parameters, and its meaning is
    the first line of the docstring.
    """
    for sort in over:
        must_be(
            f"each({handler.__name__}): an index set",
            sort,
            Sort,
            "write a sort of the state, such as s.entry",
        )
    names = list(inspect.signature(handler).parameters)[1:]
    parameters = tuple(bind(sort, name) for name, sort in zip(names, over, strict=False))
    meaning = (inspect.getdoc(handler) or "").split("\n")[0]
    if len(names) != len(over):
        raise ModelError(
            f"{handler.__name__} takes {', '.join(names) or 'no arguments'}, but {len(over)} index sets are given"
        )
    action = handler(state, *parameters)
    must_be(
        f"{handler.__name__}: what it returns", action, Action, "return Action(when=…, then=[…], actor=…)"
    )
    fits_in(handler.__name__, over)
    for _, field_name, _, _ in string.Formatter().parse(action.note):
        if field_name is not None and field_name not in names:
            raise ModelError(
                f"{handler.__name__}: its note names {{{field_name}}}, which is none of its arguments"
            )
    return Schema(
        handler.__name__.replace("_", " "), meaning, parameters, replace(action, when=lift(action.when))
    )


@dataclass(frozen=True)
class Group:
    """Actions whose slots stand together for each value of one of their parameters, value by value."""

    by: str
    members: tuple[Schema | Group, ...]


def in_turn(by: str, *members: Schema | Group) -> Group:
    """All `members` for the first value of the parameter `by`, then all for the second, and so on.

    The causal order of a system where one exchange follows another: reads of entry 1, then of entry 2.
    """
    return Group(by, members)


def _slots(item: Schema | Group, given: Mapping[str, Value]) -> Iterable[tuple[Schema, tuple[Value, ...]]]:
    """The ground actions of a schema or group in the order of their slots, some arguments given by name."""
    if isinstance(item, Schema):
        choices = [(given[p.name],) if p.name in given else tuple(p.sort) for p in item.parameters]
        fits = all(v in p.sort.values for c, p in zip(choices, item.parameters, strict=True) for v in c)
        yield from ((item, arguments) for arguments in itertools.product(*choices) if fits)
        return
    ranges = [list(_range(member, item.by)) for member in item.members]
    if not all(ranges):
        raise ModelError(
            f"in_turn {item.by}: every action in it needs an argument of that name, and one has none"
        )
    for value in dict.fromkeys(itertools.chain(*ranges)):
        for member in item.members:
            yield from _slots(member, {**given, item.by: value})


def _leaves(items: Iterable[Schema | Group]) -> Iterator[Schema]:
    """The actions, those in groups too."""
    for item in items:
        if isinstance(item, Schema):
            yield item
        else:
            yield from _leaves(item.members)


def _range(item: Schema | Group, name: str) -> Iterable[Value]:
    """The values that a parameter of that name takes."""
    if isinstance(item, Group):
        return (v for member in item.members for v in _range(member, name))
    return (v for p in item.parameters if p.name == name for v in p.sort)


@dataclass(frozen=True)
class GroundAction:
    """A schema with its arguments given."""

    schema: Schema
    arguments: tuple[Value, ...]

    @cached_property
    def name(self) -> str:
        """As people read it: `handle add(w, 1, b3)`."""
        given = ", ".join(map(show, self.arguments))
        return f"{self.schema.name}({given})" if given else self.schema.name

    @property
    def environment(self) -> dict[Parameter, Value]:
        """What each parameter stands for."""
        return dict(zip(self.schema.parameters, self.arguments, strict=True))


@dataclass(frozen=True)
class Property:
    """What must hold in every reachable state.

    `witness` is a reachable situation without which checking `holds` says nothing. `explain` turns a
    replayed counterexample into one sentence that says what was lost and why. A property that says that
    something stays possible names the `traps` that it rules out: a check shows first that each lasts for ever.
    """

    name: str
    meaning: str
    holds: Term
    witness: Term
    witness_meaning: str
    explain: Callable[[Trace], str] | None = None
    traps: Mapping[str, Term] = field(default_factory=dict)

    def __post_init__(self) -> None:
        file_name("a property", self.name)
        term_of_state(f"{self.name}: holds=", self.holds)
        term_of_state(f"{self.name}: witness=", self.witness)


@dataclass(frozen=True)
class Invariant:
    """A fact about every reachable state that properties are proved with: an aid to induction, for authors.

    It is not believed but proved, together with the property: see `System.invariants`.
    """

    name: str
    meaning: str
    holds: Term

    def __post_init__(self) -> None:
        file_name("an invariant", self.name)
        term_of_state(f"{self.name}: holds=", self.holds)


@dataclass(frozen=True)
class Axiom:
    """What is known of things that never change, or of the initial state, of a system with sorts of any size.

    `because` names the lemma it is, if it is one. On a finite instance it must come out true (`unmet_axioms`).
    """

    name: str
    meaning: str
    holds: Term
    because: str = ""


@dataclass(frozen=True, eq=False)
class System:
    """A transition system. It is finite, and so can be searched, if all its sorts are counted.

    `actions` stand in causal order, senders before receivers: the order of the slots of a round. `default_rounds`
    is given by systems with cycles, which no number of rounds covers. `caps` are bounds that are part of
    the model, such as a largest number of fragments: every verdict names them.

    `invariants` are what induction over rounds carries along with a property. One that some reachable state breaks is
    found out by the same search as a violation, and then proves nothing.

    Over sorts of any size, `axioms` say what is known of the families that no action writes, and `at_first` what is known
    of the initial state beyond the plain initial values. On a finite instance both are checked, and decide nothing.
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
        must_be("state=", self.state, StateSpace, "give an instance of your own class of StateSpace")
        all_by_each = "write (each(send, s, s.entry), …), each action by each()"
        listed("actions=", self.actions, (Schema, Group), all_by_each)
        listed("properties=", self.properties, Property, "write a tuple: (Property(…),) with its comma")
        listed("invariants=", self.invariants, Invariant, "write a tuple: (Invariant(…),) with its comma")
        claims = [*(p.name for p in self.properties), *(i.name for i in self.invariants)]
        once("properties or invariants", claims)
        consistent(self.state.families, self._said)

    @property
    def _said(self) -> Iterator[tuple[str, Iterable[Term]]]:
        """Each action and each claim, by name, with its terms."""
        yield from ((schema.name, schema.terms) for schema in self.schemas)
        yield from ((p.name, (p.holds, p.witness, *p.traps.values())) for p in self.properties)
        yield from ((invariant.name, (invariant.holds,)) for invariant in self.invariants)
        yield from ((axiom.name, (axiom.holds,)) for axiom in (*self.axioms, *self.at_first))

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """Every place of the state, choices included."""
        once("state variables", (variable.name for variable in self.state.variables))
        return self.state.variables

    @cached_property
    def choices(self) -> tuple[Variable, ...]:
        """What is chosen up front, in order of declaration."""
        return tuple(v for v in self.variables if v.is_choice)

    @cached_property
    def ground_actions(self) -> tuple[GroundAction, ...]:
        """Every action with every combination of arguments, in the order of the slots of a round."""
        total = 0
        for schema in _leaves(self.actions):
            total += fits_in(schema.name, (p.sort for p in schema.parameters), total)
        slots = tuple(
            GroundAction(schema, arguments) for item in self.actions for schema, arguments in _slots(item, {})
        )
        once("actions", (action.name for action in slots))
        return slots

    @cached_property
    def schemas(self) -> tuple[Schema, ...]:
        """Every action once, in causal order."""
        return tuple(dict.fromkeys(_leaves(self.actions)))

    @cached_property
    def faults(self) -> tuple[str, ...]:
        """The kinds of faults, in order of declaration."""
        choices = [v.family.fault for v in self.variables if v.family.fault]
        actions = [schema.action.fault for schema in self.schemas if schema.action.fault]
        return tuple(dict.fromkeys([*choices, *actions]))

    @cached_property
    def initial(self) -> tuple[Value, ...]:
        """The value of each place before anything happened; every choice is false."""
        values = tuple(v.family.initially(v.index) for v in self.variables)
        for variable, value in zip(self.variables, values, strict=True):
            if value not in variable.domain.values:
                raise ModelError(
                    f"{variable.name} = {show(value)} at first: not in its domain {variable.domain.name}"
                )
        return values

    def find(self, name: str, arguments: Sequence[str]) -> GroundAction | None:
        """The action of that name with those arguments, as `show` writes them; None if there is none."""
        for action in self.ground_actions:
            if action.schema.name == name and [show(a) for a in action.arguments] == list(arguments):
                return action
        return None
