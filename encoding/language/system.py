"""A transition system: actions over a state space, and the properties that must hold of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from enum import Enum
from functools import cached_property, wraps
from typing import NamedTuple, ParamSpec

from fencepost.encoding.errors import BadInput, ModelError, unknown_name
from fencepost.encoding.language.actions import GroundAction, Group, Schema, changed, leaves, slots
from fencepost.encoding.language.author_errors import (
    check_claim,
    count_combinations,
    must_be,
    must_be_call,
    must_be_condition,
    must_be_line,
    must_be_list,
    must_be_number,
    must_be_of_state,
    must_be_table,
)
from fencepost.encoding.language.consistency import (
    check_comparisons,
    check_consistency,
    must_be_distinct,
    nothing_leaks,
)
from fencepost.encoding.language.definedness import total
from fencepost.encoding.language.fairness import Fair, fair_sets, must_be_fair
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.sorts import Value, explain_outside, show
from fencepost.encoding.language.state import StateSpace, Variable
from fencepost.encoding.language.terms import FALSE, TRUE, Term, all_of
from fencepost.encoding.language.traces import Trace

_P = ParamSpec("_P")

NO_INITIAL_STATE = (
    "beginning= holds in no state that the initial values allow; give the variables that it reads more "
    "initial values, such as initial=anything, or weaken it"
)
"""The line that refuses a system without an initial state. Everything would be proved of it."""


class Observed(NamedTuple):
    """A value that can be seen on a real system, and the condition under which the protocol knows it."""

    value: Term
    known: Term = TRUE


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
        for name in ("holds", "witness"):
            object.__setattr__(self, name, total(getattr(self, name)))
        must_be_line(f"{self.name}: meaning=", self.meaning, "write what must hold, as a text of one line")
        must_be_line(f"{self.name}: witness_meaning=", self.witness_meaning, "write a text of one line")
        if self.explain is not None:
            must_be_call(f"{self.name}: explain=", self.explain, "give a function from a trace to a text")
        must_be_table(f"{self.name}: traps=", self.traps, Term, 'write a table of terms: {"stuck": …}')
        for trap, condition in self.traps.items():
            must_be_condition(f"{self.name}: traps=: {trap}", condition)
        object.__setattr__(self, "traps", {trap: total(condition) for trap, condition in self.traps.items()})

    def entered(self, system: System) -> Mapping[str, object]:
        """Return the fields of a system that the property changes while the system is made."""
        return {}


@dataclass(frozen=True)
class Liveness(Property):
    """A condition that must come about whenever its `witness` was met: what the witness leads to.

    `holds` is the condition that must come about in the end. It is owed from a state in which the witness is
    true, or, if `at_first`, from the initial state only. With `for_ever` it must be true in all states from
    some state on, and a loop owes it in which it is false. `language.liveness` has the functions to write it.
    """

    at_first: bool = False
    for_ever: bool = False
    excused: tuple[str, ...] = ()
    """The caps of the model that `holds` excuses: nothing is owed where one of them stops an action."""

    @property
    def met(self) -> Term:
        """The condition after which nothing is owed until the witness is met again."""
        return FALSE if self.for_ever else self.holds


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
        object.__setattr__(self, "holds", total(self.holds))
        must_be_line(f"{self.name}: meaning=", self.meaning, "write what holds, as a text of one line")


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
    are part of the model, such as a largest number of fragments. Every verdict names them, and those that
    channels and queues bring.

    The initial states are those in which each variable has one of its initial values, and in which
    `beginning` holds if it is given. There must be such a state.

    `constraint` is a condition without which no action happens: a state outside is reached and checked, and
    not left. It becomes part of each guard, so `replace` keeps it. Every verdict names it (`within`).

    `invariants` help to prove the properties by induction. An invariant that a reachable state violates is
    found by the same search as a violated property. It then proves nothing.

    `liveness` has those of the properties that say what comes about in the end (`Liveness`). They are given
    with the others, and engines that ask about states never meet them.

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
    beginning: Term | None = None
    liveness: tuple[Liveness, ...] = ()
    constraint: InitVar[Term | None] = None
    within: str = ""
    """The constraint as text; empty if there is none."""

    def __post_init__(self, constraint: Term | None) -> None:
        """Validate the fields. Raises ModelError."""
        must_be("state=", self.state, StateSpace, "give an instance of your own class of StateSpace")
        all_by_each = "write (each(send, s, s.entry), …), each action by each()"
        must_be_list("actions=", self.actions, (Schema, Group), all_by_each)
        must_be_list("properties=", self.properties, Property, "write a tuple: (Property(…),) with its comma")
        safety = tuple(prop for prop in self.properties if not isinstance(prop, Liveness))
        live = tuple(prop for prop in self.properties if isinstance(prop, Liveness))
        object.__setattr__(self, "properties", safety)
        object.__setattr__(self, "liveness", (*self.liveness, *live))
        must_be_list(
            "invariants=", self.invariants, Invariant, "write a tuple: (Invariant(…),), with a comma"
        )
        for name in ("axioms", "at_first"):
            must_be_list(f"{name}=", getattr(self, name), Axiom, "write a tuple: (Axiom(…),), with a comma")
        must_be_table("caps=", self.caps, int, 'write a table of numbers, such as {"entries": 2}')
        object.__setattr__(self, "caps", {**self.caps, **self.state.caps})
        if self.default_rounds is not None:
            must_be_number("default_rounds=", self.default_rounds)
        if self.beginning is not None:
            must_be_of_state("beginning=", self.beginning)
            object.__setattr__(self, "beginning", total(self.beginning))
        if constraint is not None:
            self._stay_within(constraint)
        for prop in safety:
            for name, made in prop.entered(self).items():
                object.__setattr__(self, name, made)
        claims = [p.name for p in (*self.properties, *self.liveness)] + [i.name for i in self.invariants]
        must_be_distinct("properties or invariants", claims)
        check_consistency(self.state.families, self._terms_by_name)
        for schema in self.schemas:
            must_be_fair(schema)
            for bound, terms in schema.scopes:
                nothing_leaks(schema.name, terms, (*schema.parameters, *bound))
        for name, conditions in self._claims_by_name:
            nothing_leaks(name, conditions)

    def _stay_within(self, constraint: Term) -> None:
        """Add the constraint to the guard of each action. Raises ModelError."""
        if self.liveness:
            raise ModelError(
                "constraint= ends executions, so nothing needs to come about; write the bound into the "
                "guards, or leave out liveness="
            )
        must_be_of_state("constraint=", constraint)
        nothing_leaks("constraint=", [constraint])
        inside = total(constraint)

        def guarded(schema: Schema) -> Schema:
            return replace(schema, action=replace(schema.action, when=all_of(inside, schema.action.when)))

        object.__setattr__(self, "within", line(constraint))
        object.__setattr__(self, "actions", tuple(changed(item, guarded) for item in self.actions))

    @property
    def _terms_by_name(self) -> Iterator[tuple[str, Iterable[Term]]]:
        """The terms of each action and each claim, with its name."""
        yield from ((schema.name, schema.terms) for schema in self.schemas)
        yield from self._claims_by_name

    @property
    def _claims_by_name(self) -> Iterator[tuple[str, Iterable[Term]]]:
        """The terms of each property, invariant and axiom, and of the beginning, with its name."""
        properties = (*self.properties, *self.liveness)
        yield from ((p.name, (p.holds, p.witness, *p.traps.values())) for p in properties)
        yield from ((invariant.name, (invariant.holds,)) for invariant in self.invariants)
        yield from ((axiom.name, (axiom.holds,)) for axiom in (*self.axioms, *self.at_first))
        if self.beginning is not None:
            yield "beginning=", (self.beginning,)

    def must_compare_values(self) -> None:
        """Raise ModelError for a comparison with a value that the other side cannot have.

        The system must be as its author wrote it: folding narrows the values of a term.
        """
        schemas = (schema.unjudged for schema in self.schemas)
        read = ((schema.name, (t for _, terms in schema.scopes for t in terms)) for schema in schemas)
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
        for schema in leaves(self.actions):
            total += count_combinations(schema.name, (p.sort for p in schema.parameters), total)
        found = tuple(
            GroundAction(schema, arguments) for item in self.actions for schema, arguments in slots(item, {})
        )
        must_be_distinct("actions", (action.name for action in found))
        return found

    @cached_property
    def schemas(self) -> tuple[Schema, ...]:
        """All actions, each once, in causal order."""
        return tuple(dict.fromkeys(leaves(self.actions)))

    @cached_property
    def faults(self) -> tuple[str, ...]:
        """The kinds of faults, in order of declaration."""
        choices = [v.family.fault for v in self.variables if v.family.fault]
        actions = [schema.action.fault for schema in self.schemas if schema.action.fault]
        return tuple(dict.fromkeys([*choices, *actions]))

    @cached_property
    def fairness(self) -> tuple[Fair, ...]:
        """The sets of actions of which some one is fair, in the order of their first actions."""
        return fair_sets(self.ground_actions)

    @cached_property
    def firsts(self) -> tuple[tuple[Value, ...], ...]:
        """The values that each place may have in an initial state. Every choice is false.

        Raises ModelError for a value outside the domain of its variable.
        """
        values = tuple(v.family.firsts(v.index) for v in self.variables)
        for variable, own in zip(self.variables, values, strict=True):
            for value in own:
                must_be(
                    f"{variable.name}: initial=",
                    value,
                    (bool, int, str, Enum),
                    "write one value of its domain, one_of(…), or a function of the index",
                )
                if value not in variable.domain:
                    raise ModelError(
                        f"{variable.name}: initial value {show(value)} is not in its domain "
                        f"{variable.domain.name}{explain_outside(value, [variable.domain])}"
                    )
        return tuple(tuple(dict.fromkeys(own)) for own in values)

    @cached_property
    def varied(self) -> tuple[Variable, ...]:
        """The state variables that have several initial values, in order of declaration."""
        return tuple(v for v in self.variables if len(self.firsts[v.place]) > 1)

    def find(self, name: str, arguments: Sequence[str]) -> GroundAction | None:
        """Return the action of that name with these arguments, as `show` writes them, or None."""
        for action in self.ground_actions:
            if action.schema.name == name and [show(a) for a in action.arguments] == list(arguments):
                return action
        return None


def choose(
    system: System, names: tuple[str, ...], listing: str = "", with_liveness: bool = False
) -> list[Property]:
    """Return the properties of those names, all if none is given. Raises BadInput for an unknown one."""
    live = {p.name: p for p in system.liveness}
    known = {p.name: p for p in system.properties} | (live if with_liveness else {})
    for name in names:
        if name in live and not with_liveness:
            valid = ", ".join(known) or "none, this protocol has no others"
            raise BadInput(f"{name}: is about liveness, and this command takes none; valid: {valid}")
        if name not in known:
            raise unknown_name(name, "property", known, listing)
    return [known[name] for name in dict.fromkeys(names)] if names else list(known.values())
