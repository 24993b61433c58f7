"""The initial states of a system on plain values: all of them, one at random, or whether a state is one."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence

from fencepost.encoding.concrete.compiler import Concrete, Environment
from fencepost.encoding.concrete.steps import Beginning, State
from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.patterns import closed_conjuncts, plain_index, subterms
from fencepost.encoding.language.sorts import Value, show
from fencepost.encoding.language.system import NO_INITIAL_STATE
from fencepost.encoding.language.terms import Read, Term


class Beginnings:
    """The initial states of a system.

    The variables with several initial values get them one after the other. Each conjunct of the condition on
    initial states is evaluated as soon as the variables that it may read have a value.
    """

    def __init__(self, concrete: Concrete) -> None:
        """Compile the condition on initial states. Raises ModelError."""
        self._concrete, system = concrete, concrete.system
        self._varied = system.varied
        self._values = [tuple(map(v.domain.values.index, system.firsts[v.place])) for v in self._varied]
        self._checks: list[list[Callable[[State], Value]]] = [[] for _ in range(len(self._varied) + 1)]
        depths = {v.place: depth for depth, v in enumerate(self._varied, 1)}
        parts = [] if system.beginning is None else list(closed_conjuncts(system.beginning, {}))
        for part, environment in parts:
            depth = max((depths.get(place, 0) for place in self._read(part, environment)), default=0)
            self._checks[depth].append(concrete.function(part, environment))

    def states(
        self, choices: Mapping[int, bool] | None = None, given: Mapping[int, int] | None = None
    ) -> Iterator[State]:
        """Yield each initial state once, with these choices. Raises ModelError if there is none.

        Only states count that have the positions `given`, by place.
        """
        known = given or {}
        pairs = zip(self._varied, self._values, strict=True)
        return self._search([(known[v.place],) if v.place in known else own for v, own in pairs], choices)

    def draw(self, chance: random.Random, choices: Mapping[int, bool] | None = None) -> State:
        """Return an initial state drawn at random, with these choices. Raises ModelError if there is none.

        Each has a chance, but not the same one.
        """
        orders = [chance.sample(values, len(values)) for values in self._values]
        return next(self._search(orders, choices))

    def refusal(self, beginning: Beginning) -> str | None:
        """Return why a state with these initial values is no initial state, or None if it is one."""
        for variable, values, code in zip(self._varied, self._values, beginning, strict=True):
            if code not in values:
                first = show(variable.domain.values[code])
                allowed = ", ".join(show(variable.domain.values[own]) for own in values)
                return f"{variable.name} is {first}; its initial values are {allowed}"
        state = self._concrete.initial({}, beginning)
        if all(check(state) for checks in self._checks for check in checks):
            return None
        return "the condition on initial states (beginning=) is false there"

    def of(self, state: State) -> tuple[int, ...]:
        """Return the initial values of the variables that have several, in an initial state."""
        return tuple(state[v.place] for v in self._varied)

    def _search(self, orders: Sequence[Sequence[int]], choices: Mapping[int, bool] | None) -> Iterator[State]:
        """Yield the initial states, with the values of each variable in this order."""
        made, any_found = self._concrete.state, False
        codes = list(self._concrete.initial(choices, [own[0] for own in orders]))
        untried: list[Iterator[int]] = []
        state, depth = made(codes), 0
        while True:
            if all(check(state) for check in self._checks[depth]):
                if depth == len(orders):
                    any_found = True
                    yield state
                else:
                    untried.append(iter(orders[depth]))
            while untried and (code := next(untried[-1], None)) is None:
                untried.pop()
            if not untried:
                break
            assert code is not None
            depth = len(untried)
            codes[self._varied[depth - 1].place] = code
            state = made(codes)
        if not any_found:
            raise ModelError(NO_INITIAL_STATE)

    def _read(self, part: Term, environment: Environment) -> Iterator[int]:
        """Yield the places that a conjunct may read."""
        places = self._concrete.system.state.places
        for read in (term for term in subterms(part) if isinstance(term, Read)):
            fixed = [
                plain_index(index, environment) if all(p in environment for p in index.free) else ()
                for index in read.index
            ]
            options = [own or tuple(sort) for own, sort in zip(fixed, read.family.over, strict=True)]
            for index in itertools.product(*options):
                if (read.family, index) in places:
                    yield places[read.family, index].place
