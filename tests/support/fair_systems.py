"""Random systems with fair actions, and the verdict of a plain search for fair cycles that shares no code.

A system is drawn as plain data. `system_of` writes it in the language, and `is_violated` decides its property
on tuples of numbers: it knows no terms, and it looks for a fair part of the graph with sets of reachable
states in place of Tarjan's algorithm. Each combination of strongly fair sets that are never enabled is tried.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from fencepost.encoding.language import (
    Action,
    Liveness,
    Parameter,
    Read,
    StateSpace,
    System,
    Term,
    all_of,
    always_eventually,
    any_of,
    anything,
    choice,
    each,
    eventually,
    eventually_always,
    family,
    integers,
    leads_to,
    message,
)
from fencepost.encoding.language.terms import lift

State = tuple[int, ...]

ARGUMENT = -1
"""The place of a literal or an update that stands for the argument of the action."""


@dataclass(frozen=True)
class Literal:
    """A comparison of a variable with a number, or with the argument of the action."""

    place: int
    value: int
    is_equal: bool


Cases = tuple[tuple[Literal, ...], ...]
"""A disjunction of conjunctions."""


@dataclass(frozen=True)
class DrawnAction:
    """An action over a state of numbers. An update has the variable, and a value, a variable or ARGUMENT."""

    arguments: int
    """The number of values of its argument; 0 without one."""
    guard: Cases
    updates: tuple[tuple[int, str, int], ...]
    needs_choice: int | None
    """The message that must have been sent and not be lost."""
    fair: str | None
    sends: int | None = None
    """The message that it sends, which sets a variable of the message's own from 0 to 1."""


@dataclass(frozen=True)
class Drawn:
    """A random system and its property."""

    sizes: tuple[int, ...]
    free: tuple[bool, ...]
    """For each variable, whether it may have any value at first."""
    choices: int
    actions: tuple[DrawnAction, ...]
    kind: str
    trigger: Cases
    goal: Cases


def drawn(seed: int) -> Drawn:
    """Return the random system of that number."""
    chance = random.Random(seed)
    sizes = tuple(chance.choice((2, 3)) for _ in range(3))
    choices = chance.choice((0, 0, 0, 1, 2))

    def cases(literals: int, arguments: int = 0) -> Cases:
        return tuple(
            tuple(literal(arguments) for _ in range(chance.randint(1, literals)))
            for _ in range(chance.choice((1, 1, 2)))
        )

    def literal(arguments: int) -> Literal:
        place = chance.randrange(len(sizes))
        value = ARGUMENT if arguments and chance.random() < 0.4 else chance.randrange(sizes[place])
        return Literal(place, value, chance.random() < 0.7)

    def action() -> DrawnAction:
        arguments = chance.choice((0, 0, 2))
        places = chance.sample(range(len(sizes)), chance.choice((1, 1, 2)))
        updates = []
        for place in places:
            kind = chance.choice(("value", "value", "next", "argument" if arguments else "value"))
            updates.append((place, kind, chance.randrange(sizes[place])))
        fair = chance.choice(
            (
                None,
                *("weak", "strong") * 4,
                "weak, any",
                "strong, any",
                "weak, any of both",
                "weak, any of both",
            )
        )
        needs = chance.randrange(choices) if choices and chance.random() < 0.5 else None
        return DrawnAction(arguments, cases(2, arguments), tuple(updates), needs, fair)

    def send(number: int) -> DrawnAction:
        place = len(sizes) + number
        fair = chance.choice((None, "weak"))
        return DrawnAction(0, ((Literal(place, 0, True),),), ((place, "value", 1),), None, fair, number)

    return Drawn(
        (*sizes, *(2 for _ in range(choices))),
        (*(chance.random() < 0.2 for _ in sizes), *(False for _ in range(choices))),
        choices,
        (*(action() for _ in range(chance.randint(3, 5))), *map(send, range(choices))),
        chance.choice(("leads_to", "leads_to", "always_eventually", "eventually")),
        cases(2),
        cases(2),
    )


def drawn_for_ever(seed: int) -> Drawn:
    """Return the random system of that number whose goal must be true in all states from some state on."""
    return replace(drawn(seed), kind="eventually_always")


# In the language.


class NumberState(StateSpace):
    """The variables of a drawn system."""

    def __init__(self, drawn: Drawn) -> None:
        self.numbers = [integers(0, size - 1) for size in drawn.sizes]
        self.argument = integers(0, 1)
        for place, (sort, free) in enumerate(zip(self.numbers, drawn.free, strict=True)):
            setattr(self, f"v{place}", family(sort, initial=anything if free else None))
        for number in range(drawn.choices):
            setattr(self, f"lost{number}", choice(fault="lost"))

    def lost(self, number: int) -> Read:
        """Return the choice that says whether a message is lost."""
        read: Read = getattr(self, f"lost{number}")
        return read

    def at(self, place: int) -> Read:
        """Return the term that reads a variable."""
        read: Read = getattr(self, f"v{place}")
        return read


def term(s: NumberState, cases: Cases, argument: Parameter | None = None) -> Term:
    """Return the disjunction as a term."""

    def one(literal: Literal) -> Term:
        other = argument if argument is not None and literal.value == ARGUMENT else lift(literal.value)
        found: Term = s.at(literal.place) == other
        return found if literal.is_equal else ~found

    return any_of([all_of([one(literal) for literal in case]) for case in cases])


def handler(number: int, drawn: Drawn, own: DrawnAction) -> Callable[..., Action]:
    """Return the function that describes an action."""

    def made(s: NumberState, argument: Parameter | None) -> Action:
        when = term(s, own.guard, argument)
        if own.needs_choice is not None:
            when = when & (s.at(3 + own.needs_choice) == 1) & ~s.lost(own.needs_choice)
        then = []
        for place, kind, value in own.updates:
            target = s.at(place)
            new = {
                "value": lift(value),
                "argument": lift(0) if argument is None else argument,
                "next": target + 1,
            }[kind]
            size = drawn.sizes[place]
            if kind == "next":
                then += [target.set(new, when=target < size - 1), target.set(0, when=target == size - 1)]
            else:
                then.append(target.set(new))
        if own.sends is None:
            return Action(when, then, actor="all")
        mail = message(f"mail{own.sends}", "all", "all", lost=s.lost(own.sends))
        return Action(when, then, actor="all", sent=[mail])

    def with_argument(s: NumberState, a: Parameter) -> Action:
        return made(s, a)

    def without(s: NumberState) -> Action:
        return made(s, None)

    found = with_argument if own.arguments else without
    found.__name__ = f"act{number}"
    return found


def system_of(drawn: Drawn, fairness: bool = True) -> System:
    """Return the system in the language, with its one property; without `fairness` no action is fair."""
    s = NumberState(drawn)
    actions = [
        each(
            handler(number, drawn, own),
            s,
            *([s.argument] if own.arguments else []),
            fair=own.fair if fairness else None,
        )
        for number, own in enumerate(drawn.actions)
    ]
    return System(s, tuple(actions), (property_of(s, drawn),))


def property_of(s: NumberState, drawn: Drawn) -> Liveness:
    """Return the property."""
    trigger, goal = term(s, drawn.trigger), term(s, drawn.goal)
    match drawn.kind:
        case "leads_to":
            return leads_to("live", "it is met", trigger, goal)
        case "always_eventually":
            return always_eventually("live", "it is met", goal)
        case "eventually_always":
            return eventually_always("live", "it stays", goal)
    return eventually("live", "it is met", goal)


# Plain.


def holds(cases: Cases, state: State, argument: int = 0) -> bool:
    """Return whether a disjunction is true in a state."""
    return any(
        all(
            (state[one.place] == (argument if one.value == ARGUMENT else one.value)) is one.is_equal
            for one in case
        )
        for case in cases
    )


@dataclass(frozen=True)
class PlainAction:
    """An action with its argument, and the name of the set in which it is fair, if any."""

    own: DrawnAction
    argument: int
    fair: str | None


def after(drawn: Drawn, action: PlainAction, state: State, lost: Sequence[bool]) -> State | None:
    """Return the state after an action that is enabled and changes something, or None."""
    own = action.own
    if own.needs_choice is not None and (lost[own.needs_choice] or not state[3 + own.needs_choice]):
        return None
    if not holds(own.guard, state, action.argument):
        return None
    found = list(state)
    for place, kind, value in own.updates:
        found[place] = {
            "value": value,
            "argument": action.argument,
            "next": (state[place] + 1) % drawn.sizes[place],
        }[kind]
    return None if tuple(found) == state else tuple(found)


def plain_actions(drawn: Drawn) -> Iterator[PlainAction]:
    """Yield each action with each argument."""
    for number, own in enumerate(drawn.actions):
        for argument in range(own.arguments or 1):
            fair = own.fair
            if fair in ("weak", "strong"):
                fair = f"{fair} {number} {argument}"
            elif fair in ("weak, any", "strong, any"):
                fair = f"{fair} {number}"
            yield PlainAction(own, argument, fair)


def is_violated(drawn: Drawn) -> tuple[bool, bool]:
    """Return whether some fair execution violates the property, and whether its trigger is ever met."""
    found = [_with_losses(drawn, lost) for lost in itertools.product((False, True), repeat=drawn.choices)]
    return any(violated for violated, _ in found), any(met for _, met in found)


def _with_losses(drawn: Drawn, lost: Sequence[bool]) -> tuple[bool, bool]:
    actions = list(plain_actions(drawn))
    everything: list[State] = list(itertools.product(*map(range, drawn.sizes)))
    edges = {
        state: [(a, target) for a in actions if (target := after(drawn, a, state, lost)) is not None]
        for state in everything
    }

    def closure(starts: set[State], inside: set[State]) -> set[State]:
        found, ahead = set(starts), list(starts)
        while ahead:
            new = {t for _, t in edges[ahead.pop()]} & inside - found
            found |= new
            ahead += new
        return found

    first = {
        s for s in everything if all(free or value == 0 for free, value in zip(drawn.free, s, strict=True))
    }
    reachable = closure(first, set(everything))
    unmet = {s for s in everything if not holds(drawn.goal, s)}
    triggers = {
        "leads_to": {s for s in reachable if holds(drawn.trigger, s)},
        "always_eventually": reachable,
        "eventually": first,
        "eventually_always": reachable,
    }[drawn.kind]
    for_ever = drawn.kind == "eventually_always"
    owing = reachable if for_ever else closure(triggers & unmet, unmet)
    fair = {a.fair for a in actions if a.fair is not None}
    strong = sorted(name for name in fair if name.startswith("strong"))

    def enabled(name: str, state: State) -> bool:
        return any(a.fair == name for a, _ in edges[state])

    for count in range(len(strong) + 1):
        for never in itertools.combinations(strong, count):
            inside = {s for s in owing if not any(enabled(name, s) for name in never)}
            for state in inside:
                part = {t for t in closure({state}, inside) if state in closure({t}, inside)}
                taken = {a.fair for s in part for a, t in edges[s] if t in part}
                if (part & unmet or not for_ever) and all(
                    name in taken
                    or name in never
                    or (name not in strong and not all(enabled(name, s) for s in part))
                    for name in fair
                ):
                    return True, bool(triggers)
    return False, bool(triggers)
