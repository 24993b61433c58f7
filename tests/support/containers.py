"""Small random systems with sets, counts and sequences, some with badly defined steps."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from fencepost.encoding.language import (
    Action,
    Invariant,
    Parameter,
    Property,
    StateSpace,
    Subset,
    System,
    Term,
    at,
    count,
    each,
    exists,
    family,
    forall,
    full,
    integers,
    is_in,
    is_prefix,
    labels,
    last,
    length,
    majority,
    overlap,
    sequence_of,
    sequences,
    set_of,
    size,
    subsets,
    those,
    variable,
)
from fencepost.encoding.language.actions import Schema
from fencepost.encoding.language.terms import TermLike, all_of


class Group(StateSpace):
    """Nodes with a set each, one set for all, and a sequence of nodes."""

    def __init__(self, chance: random.Random) -> None:
        self.node = labels("node", "n", chance.choice((2, 2, 3)))
        self.few = variable(subsets(self.node), initial=chance.choice((None, ("n1",), self.node.values)))
        self.knows = family(subsets(self.node), self.node)
        self.order = variable(sequences(self.node, most=2))
        self.done = family(integers(0, 1), integers(1, 4))


def generate(seed: int) -> System:
    """Return the system of a seed. Each action happens at most once, so every execution ends."""
    chance = random.Random(seed)
    s = Group(chance)
    actions = [_action(chance, s, number) for number in range(1, chance.choice((2, 3)) + 1)]
    claims = [_condition(chance, s, [], claim=True) for _ in range(3)]
    wanted = Property("p", "", claims[0], _condition(chance, s, [], claim=True), "it is so")
    return System(
        s,
        tuple(actions),
        (wanted,),
        invariants=tuple(Invariant(f"i{n}", "", c) for n, c in enumerate(claims[1:])),
    )


def named_or(label: str, nodes: list[Parameter]) -> list[TermLike]:
    """Return the nodes that may be named, or this label if there are none."""
    return list(nodes) or [label]


def _action(chance: random.Random, s: Group, number: int) -> Schema:
    over = chance.choice(((s.node,), (s.node, s.node), (subsets(s.node),), (s.node, subsets(s.node))))

    def then(nodes: list[Parameter], chosen: list[Subset]) -> list[Any]:
        one, two = (chance.choice(plain) for plain in (named_or("n1", nodes), named_or("n2", nodes)))
        makes = (
            lambda: s.few.add(one),
            lambda: s.few.remove(two),
            lambda: s.few.set(_set(chance, s, nodes, chosen)),
            lambda: s.knows[one].set(_set(chance, s, nodes, chosen)),
            lambda: s.order.append(one),
            lambda: s.order.truncate(chance.choice((0, 1, length(s.order)))),
            lambda: s.order.set(sequence_of(s.node, *named_or("n2", nodes))),
            lambda: s.knows["n1"].add(last(s.order)),
        )
        kinds = {"few": (0, 1, 2), "knows": (3, 7), "order": (4, 5, 6)}
        taken = chance.sample(sorted(kinds), chance.choice((1, 2)))
        return [makes[chance.choice(kinds[kind])]() for kind in taken]

    def act(s: Group, *given: object) -> Action:
        nodes = [value for value in given if isinstance(value, Parameter)]
        chosen = [value for value in given if isinstance(value, Subset)]
        guard = all_of(
            s.done[number] == 0,
            *(_condition(chance, s, chosen, nodes=nodes) for _ in range(chance.choice((0, 1, 1, 2)))),
        )
        updates = [*then(nodes, chosen), s.done[number].set(1)]
        return Action(when=guard, then=updates, actor="me")

    named: Callable[..., Action]
    named = (lambda s, x: act(s, x)) if len(over) == 1 else (lambda s, x, y: act(s, x, y))
    named.__name__ = f"act{number}"
    return each(named, s, *over)


def _set(
    chance: random.Random, s: Group, nodes: list[Parameter], chosen: list[Subset], depth: int = 1
) -> Subset:
    plain: list[Subset] = [s.few, s.knows["n1"], set_of(s.node, *nodes), full(s.node), *chosen]
    one, other = (chance.choice(plain) for _ in range(2))
    if not depth:
        return one
    made: list[Subset] = [
        one,
        one | other,
        one & other,
        one - other,
        those(s.node, lambda n: is_in(n, s.knows[n]) | is_in(n, one)),
    ]
    return chance.choice(made)


def _condition(
    chance: random.Random,
    s: Group,
    chosen: list[Subset],
    nodes: list[Parameter] | None = None,
    claim: bool = False,
) -> Term:
    nodes = nodes or []
    one, other = (_set(chance, s, nodes, chosen) for _ in range(2))
    node, number = chance.choice(named_or(chance.choice(("n1", "n2")), nodes)), chance.randint(1, 2)
    conditions: list[Any] = [
        one <= other,
        one == other,
        overlap(one, other),
        majority(one, other),
        majority(one, s.node),
        is_in(node, one),
        size(one) * 2 > size(other) + 1,
        size(one) == number,
        count(s.node, lambda n: is_in(n, s.few) | is_in(n, s.knows[n])) < number,
        exists(subsets(s.node), lambda q: majority(q, s.few) & ~overlap(q, one)),
        forall(s.node, lambda n: s.knows[n] <= s.few),
        length(s.order) < number,
        is_prefix(sequence_of(s.node, "n2"), s.order),
        (length(s.order) >= number) & (at(s.order, number) == node),
        (length(s.order) >= 1) & is_in(last(s.order), one),
        at(s.order, number) == node,
    ]
    made: Term = chance.choice(conditions)
    return made if claim or chance.random() < 0.5 else ~made
