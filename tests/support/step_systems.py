"""Small systems with conditions on steps, made at random, and a reading of them in plain Python.

A text is a tuple: an operator and its parts. `Written` makes terms of it, and `value` is its plain reading,
which shares no code with Fencepost.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fencepost.encoding.language import (
    BOOL,
    Action,
    Parameter,
    StateSpace,
    System,
    choice,
    each,
    exists,
    family,
    forall,
    if_,
    integers,
    one_of,
    refines,
    variable,
)
from fencepost.encoding.language.terms import lift

Text = tuple[Any, ...]
State = tuple[tuple[str, Any], ...]

INDEX = (0, 1)
NUMBERS = (0, 1, 2)
FIRST: Mapping[str, Any] = {"x": 0, "z": 0, "g0": 0, "g1": 0, "b": False, "l0": False, "l1": False}


class Cells(StateSpace):
    """A number, a bit, a number for each index, a Boolean, and a loss for each index."""

    def __init__(self, x: tuple[int, ...], flips: bool) -> None:
        self.index = integers(0, 1)
        self.x = variable(integers(0, 2), initial=one_of(*x))
        self.z = variable(self.index)
        self.g = family(integers(0, 2), self.index)
        self.b = variable(BOOL, initial=one_of(False, True) if flips else False)
        self.lost = choice(self.index, fault="lost")


@dataclass(frozen=True)
class Act:
    """An action: whether it has an argument, its guard, and its updates with their conditions."""

    name: str
    has_argument: bool
    guard: Text
    updates: tuple[tuple[Text, Text, Text], ...]


@dataclass(frozen=True)
class Drawn:
    """A system as texts: the first values of x, whether b may begin true, and the actions."""

    x: tuple[int, ...]
    flips: bool
    acts: tuple[Act, ...]

    def system(self, *properties: Any) -> System:
        """Return it in the language."""
        s = Cells(self.x, self.flips)
        made = [each(_handler(act), s, *([s.index] if act.has_argument else [])) for act in self.acts]
        return System(s, tuple(made), tuple(p(s) if not hasattr(p, "name") else p for p in properties))

    def firsts(self) -> Iterator[State]:
        """Yield the initial states, with each value of the losses."""
        losses = itertools.product((False, True), repeat=2)
        for x, b, (l0, l1) in itertools.product(self.x, (False, True)[: 1 + self.flips], losses):
            yield _frozen({**FIRST, "x": x, "b": b, "l0": l0, "l1": l1})

    def steps(self, state: State) -> Iterator[State]:
        """Yield the state after each action that may happen."""
        before = dict(state)
        for act in self.acts:
            for argument in INDEX if act.has_argument else (None,):
                if value(act.guard, before, {}, argument):
                    after = dict(before)
                    for target, new, when in act.updates:
                        if value(when, before, {}, argument):
                            after[_place(target, before, argument)] = value(new, before, {}, argument)
                    yield _frozen(after)

    def violated_in(
        self, is_first: Callable[[dict[str, Any]], bool], is_step: Callable[[Any, Any], bool]
    ) -> int | None:
        """Return the fewest steps after which a first state or a step is not as it should be, or None."""
        level = list(self.firsts())
        if not all(is_first(dict(state)) for state in level):
            return 0
        seen, steps = set(level), 0
        while level:
            steps += 1
            pairs = [(state, after) for state in level for after in self.steps(state)]
            if any(not is_step(dict(state), dict(after)) for state, after in pairs):
                return steps
            level = list(dict.fromkeys(after for _, after in pairs if after not in seen))
            seen.update(level)
        return None


def _frozen(state: Mapping[str, Any]) -> State:
    return tuple(sorted(state.items()))


def _place(target: Text, state: Mapping[str, Any], argument: int | None) -> str:
    return f"g{value(target[1], state, {}, argument)}" if target[0] == "g" else str(target[0])


def _handler(act: Act) -> Callable[..., Action]:
    def of(s: Cells, argument: Parameter | None) -> Action:
        def term(text: Text) -> Any:
            return written(text, s, s, argument)

        then = [term(target).set(term(new), when=term(when)) for target, new, when in act.updates]
        return Action(when=lift(term(act.guard)), then=then)

    def with_one(s: Cells, argument: Parameter) -> Action:
        return of(s, argument)

    def alone(s: Cells) -> Action:
        return of(s, None)

    handler = with_one if act.has_argument else alone
    handler.__name__ = act.name
    return handler


def value(
    text: Text, before: Mapping[str, Any], after: Mapping[str, Any], argument: Any, bound: Any = None
) -> Any:
    """Return the plain value of a text."""

    def of(part: Text) -> Any:
        return value(part, before, after, argument, bound)

    match text:
        case ("const", constant):
            return constant
        case ("argument",):
            return argument
        case ("bound",):
            return bound
        case ("x" | "z" | "b" as name, primed):
            return (after if primed else before)[name]
        case ("g", index, primed):
            return (after if primed else before)[f"g{of(index)}"]
        case ("lost", index):
            return before[f"l{of(index)}"]
        case ("plus", one, number):
            return of(one) + number
        case ("if", condition, then, otherwise):
            return of(then) if of(condition) else of(otherwise)
        case ("eq", one, other):
            return of(one) == of(other)
        case ("lt", one, other):
            return of(one) < of(other)
        case ("not", one):
            return not of(one)
        case ("and", one, other):
            return of(one) and of(other)
        case ("or", one, other):
            return of(one) or of(other)
        case ("all", body):
            return all(value(body, before, after, argument, i) for i in INDEX)
        case ("some", body):
            return any(value(body, before, after, argument, i) for i in INDEX)
    raise AssertionError(text)


def written(text: Text, s: Cells, t: Cells, argument: Any, bound: Any = None) -> Any:
    """Return the term of a text: over `s`, and over `t` where it is primed."""

    def of(part: Text) -> Any:
        return written(part, s, t, argument, bound)

    match text:
        case ("const", constant):
            return lift(constant)
        case ("argument",):
            return argument
        case ("bound",):
            return bound
        case ("x" | "z" | "b" as name, primed):
            return getattr(t if primed else s, name)
        case ("g", index, primed):
            return (t if primed else s).g[of(index)]
        case ("lost", index):
            return s.lost[of(index)]
        case ("plus", one, number):
            return of(one) + number
        case ("if", condition, then, otherwise):
            return if_(of(condition), of(then), of(otherwise))
        case ("eq", one, other):
            return of(one) == of(other)
        case ("lt", one, other):
            return of(one) < of(other)
        case ("not", one):
            return ~of(one)
        case ("and", one, other):
            return of(one) & of(other)
        case ("or", one, other):
            return of(one) | of(other)
        case ("all", body):
            return forall(s.index, lambda i: written(body, s, t, argument, i))
        case ("some", body):
            return exists(s.index, lambda i: written(body, s, t, argument, i))
    raise AssertionError(text)


class Drawing:
    """Texts drawn at random."""

    def __init__(self, seed: int | str, losses: bool = True) -> None:
        """Begin with this seed. Engines refuse a loss that no sending names, so it may be left out."""
        self.chance, self._losses = random.Random(seed), losses

    def index(self, local: tuple[str, ...], primed: bool) -> Text:
        """Return a text whose value is an index."""
        return self.chance.choice(
            [("const", 0), ("const", 1), ("z", self._prime(primed)), *((name,) for name in local)]
        )

    def number(self, local: tuple[str, ...], primed: bool) -> Text:
        """Return a text whose value is one of the numbers."""
        return self.chance.choice(
            [
                ("const", self.chance.choice(NUMBERS)),
                ("x", self._prime(primed)),
                ("g", self.index(local, primed), self._prime(primed)),
                self.index(local, primed),
            ]
        )

    def _prime(self, primed: bool) -> bool:
        return primed and self.chance.random() < 0.5

    def condition(self, local: tuple[str, ...], primed: bool, depth: int = 2) -> Text:
        """Return a text whose value is true or false."""
        kinds = [
            "eq",
            "lt",
            "b",
            *["lost"] * self._losses,
            *["not", "and", "or", "all", "some"] * (depth > 0),
        ]
        kind = self.chance.choice(kinds)
        below = depth - 1
        match kind:
            case "eq" | "lt":
                return kind, self.number(local, primed), self.number(local, primed)
            case "b":
                return "b", self._prime(primed)
            case "lost":
                return "lost", self.index(local, False)
            case "not":
                return "not", self.condition(local, primed, below)
            case "and" | "or":
                return kind, self.condition(local, primed, below), self.condition(local, primed, below)
        return kind, self.condition((*local, "bound"), primed, 0)

    def act(self, name: str) -> Act:
        """Return an action. It sets each variable once at most, because setting one twice is an error."""
        has_argument = self.chance.random() < 0.5
        local = ("argument",) if has_argument else ()
        targets: dict[str, Text] = {n: (n, False) for n in ("x", "z", "b")}
        targets["g"] = ("g", self.index(local, False), False)
        new = {
            "x": self.number(local, False),
            "z": self.index(local, False),
            "b": self.condition(local, False, 1),
            "g": self.number(local, False),
        }
        updates = []
        for family_name in self.chance.sample(sorted(targets), self.chance.randint(1, 3)):
            when: Text = ("const", True) if self.chance.random() < 0.6 else self.condition(local, False, 1)
            updates.append((targets[family_name], new[family_name], when))
        guard: Text = self.condition(local, False) if self.chance.random() < 0.5 else ("const", True)
        return Act(name, has_argument, guard, tuple(updates))

    def system(self) -> Drawn:
        """Return a system."""
        first = tuple(sorted(self.chance.sample(NUMBERS, self.chance.randint(1, 2))))
        acts = (self.act(f"act_{number}") for number in range(self.chance.randint(1, 3)))
        return Drawn(first, self.chance.random() < 0.3, tuple(acts))

    def step(self) -> Text:
        """Return a condition on a step, half of them true of a step that changes nothing."""
        if self.chance.random() < 0.5:
            return self.condition((), True)
        name = self.chance.choice(["x", "z", "b", "g"])
        idle: Text = ("all", ("eq", ("g", ("bound",), False), ("g", ("bound",), True)))
        if name in ("x", "z"):
            idle = self.chance.choice(
                [("eq", (name, False), (name, True)), ("not", ("lt", (name, True), (name, False)))]
            )
        elif name == "b":
            idle = ("or", ("not", ("b", False)), ("b", True))
        return "or", idle, self.condition((), True, 1)

    def other(self, drawn: Drawn) -> Drawn:
        """Return the system with something changed, so that it may still do all that this one does."""
        kind, acts = (
            self.chance.choice(["none", "guard", "fewer", "update", "first", "more"]),
            list(drawn.acts),
        )
        place = self.chance.randrange(len(acts))
        match kind:
            case "guard":
                acts[place] = replace(acts[place], guard=("const", True))
            case "fewer" if len(acts) > 1:
                acts.pop(place)
            case "update":
                acts[place] = replace(acts[place], updates=acts[place].updates[1:])
            case "first":
                return replace(drawn, x=tuple(sorted(self.chance.sample(NUMBERS, 2))))
            case "more":
                acts.append(self.act("another"))
        return replace(drawn, acts=tuple(acts))


@dataclass(frozen=True)
class Pair:
    """A system, another one, and the value of each variable of the other, as a text over the system."""

    own: Drawn
    other: Drawn
    mapping: Mapping[str, Text]

    def system(self) -> System:
        """Return the system with the property that it refines the other one."""

        def at(s: Cells, text: Text) -> Any:
            return written(text, s, s, None)

        def claim(s: Cells) -> Any:
            given: dict[str, Any] = {
                name: at(s, text) for name, text in self.mapping.items() if name in "xzb"
            }
            given["g"] = lambda index: written(self.mapping["g"], s, s, None, index)
            given["lost"] = lambda index: s.lost[index]
            return refines("refines", "it does what the other does", self.other.system(), given)

        return self.own.system(claim)

    def mapped(self, state: Mapping[str, Any]) -> State:
        """Return the state of the other system."""
        found = {name: value(self.mapping[name], state, {}, None) for name in "xzb"}
        found |= {f"g{i}": value(self.mapping["g"], state, {}, None, i) for i in INDEX}
        return _frozen({**found, "l0": state["l0"], "l1": state["l1"]})

    def violated_in(self) -> int | None:
        """Return the fewest steps after which the system does what the other one cannot do, or None."""
        first = set(self.other.firsts())

        def is_step(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
            here, there = self.mapped(before), self.mapped(after)
            return here == there or there in self.other.steps(here)

        return self.own.violated_in(lambda state: self.mapped(state) in first, is_step)


def drawn_pair(seed: int, losses: bool = True) -> Pair:
    """Return a system, another one like it, and a mapping, which is mostly that of equal variables."""
    drawing = Drawing(f"pair {seed}", losses)
    own = drawing.system()
    mapping: dict[str, Text] = {name: (name, False) for name in "xzb"} | {"g": ("g", ("bound",), False)}
    match drawing.chance.choice(["equal", "equal", "equal", "one", "beyond"]):
        case "one":
            name = drawing.chance.choice("xzbg")
            local = ("bound",) if name == "g" else ()
            mapping[name] = {
                "x": drawing.number((), False),
                "z": drawing.index((), False),
                "b": ("eq", drawing.number((), False), drawing.number((), False)),
                "g": drawing.number(local, False),
            }[name]
        case "beyond":
            mapping["x"] = ("plus", ("x", False), 1)
    return Pair(own, drawing.other(own), mapping)
