"""The graph of the reachable states, with the steps that change something and what is fair in each of them.

A choice, such as a loss, is decided in a node as soon as the guard of a fair action would read it. So each
fair action is enabled in a node, or it is not. Symmetries are not used: fairness tells alike actions apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import UNDECIDED, State, decided
from fencepost.encoding.enumeration.visits import Visits


class StateGraph(Visits):
    """The nodes by number, in the order of their distance from the initial states.

    Sets of fair actions are bits of a number, in the order of `System.fairness`.
    """

    def __init__(self, concrete: Concrete, budgets: Mapping[str, int] | None = None) -> None:
        """Start without a node."""
        super().__init__(concrete, budgets)
        system = concrete.system
        self.by_number: list[State] = []
        self.depths: list[int] = []
        self.steps: list[dict[int, tuple[int, int]]] = []
        """For each node those after it, each with an action that leads there, and all fair sets that do."""
        self.enabled: list[int] = []
        """For each node the fair sets with an action that would change something."""
        self._numbers: dict[State, int] = {}
        self._fair_of = [
            sum((step.action in fair.actions) << bit for bit, fair in enumerate(system.fairness))
            for step in concrete.steps
        ]
        pairs = zip(concrete.steps, self._fair_of, strict=True)
        self._readers = [step for step, own in pairs if own and step.choices]
        self._state_places = [v.place for v in system.variables if not v.is_choice]

    def first(self) -> Iterator[State]:
        """Yield the initial nodes."""
        for raw in super().first():
            yield from self._settled(raw)

    def after(self, node: State) -> Iterator[tuple[int, State]]:
        """Yield the number of each action that changes something, with each node after it, and note it."""
        found: dict[int, tuple[int, int]] = {}
        enabled = 0
        for slot, raw in super().after(node):
            if all(raw[place] == node[place] for place in self._state_places):
                continue
            enabled |= self._fair_of[slot]
            for after in self._settled(raw):
                yield slot, after  # which enters it
                target = self._numbers[after]
                action, taken = found.get(target, (slot, 0))
                found[target] = action, taken | self._fair_of[slot]
        self.steps.append(found)
        self.enabled.append(enabled)

    def _settled(self, node: State) -> Iterator[State]:
        """Yield the node with each value of the choices that the guards of fair actions read in it."""
        read = (place for step in self._readers if step.possible(node) for place in step.choices)
        open_choices = sorted({place for place in read if node[place] == UNDECIDED})
        yield from (after for after in decided(node, open_choices) if self.keeps_within(after))

    def _enter(self, node: State, size: int, parent: int) -> tuple[State, int]:
        self._numbers[node] = len(self.by_number)
        self.by_number.append(node)
        self.depths.append(self.depth)
        return super()._enter(node, size, parent)
