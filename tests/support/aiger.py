"""A reader of binary AIGER 1.9 that shares no code with the writer, and files beside the concrete reading."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import UNDECIDED, State
from fencepost.encoding.formulas.aiger import ASTRAY, BEGUN, CircuitBuilder
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.system import System
from support.exploration import explore

Bits = tuple[bool, ...]
"""The values of the latches."""


@dataclass(frozen=True)
class Machine:
    """A file as it was read. `following` and `bad` are literals, `reset` 0, 1, or the latch's own literal."""

    inputs: list[str]
    latches: list[str]
    following: list[int]
    reset: list[int]
    bad: dict[str, int]
    gates: list[tuple[int, int]]
    comment: list[str]

    def initial(self) -> Iterator[Bits]:
        """Yield the initial states."""
        own = [2 * (len(self.inputs) + number + 1) for number in range(len(self.latches))]
        assert all(r in (0, 1, latch) for r, latch in zip(self.reset, own, strict=True))
        yield from itertools.product(*((bool(r),) if r < 2 else (False, True) for r in self.reset))

    def steps(self, state: Bits, inputs: Sequence[frozenset[int]]) -> list[tuple[Bits, frozenset[str]]]:
        """Return, for each set of inputs that are true, the next state and the bad outputs that are true now.

        All sets are simulated at once: a node is a number with one binary digit for each set.
        """
        every = (1 << len(inputs)) - 1
        nodes = [0]
        nodes += [sum((i in true) << k for k, true in enumerate(inputs)) for i in range(len(self.inputs))]
        nodes += [every if bit else 0 for bit in state]

        def value(literal: int) -> int:
            return nodes[literal // 2] ^ (every if literal % 2 else 0)

        for left, right in self.gates:
            nodes.append(value(left) & value(right))
        after = [value(literal) for literal in self.following]
        bad = {name: value(literal) for name, literal in self.bad.items()}
        return [
            (tuple(bool(a >> k & 1) for a in after), frozenset(n for n, b in bad.items() if b >> k & 1))
            for k in range(len(inputs))
        ]


def read(data: bytes) -> Machine:
    """Return the machine in a file."""
    header, rest = data.split(b"\n", 1)
    kind, *numbers = header.split()
    assert kind == b"aig"
    last, inputs, latches, outputs, gates, bad = map(int, numbers)
    assert (last, outputs) == (inputs + latches + gates, 0)
    *lines, rest = rest.split(b"\n", latches + bad)
    rows = [list(map(int, line.split())) for line in lines]
    found, at = [], 0
    for left in range(2 * (inputs + latches + 1), 2 * (last + 1), 2):
        first, at = _delta(rest, at)
        second, at = _delta(rest, at)
        assert first > 0, "a gate may only have operands before it"
        found.append((left - first, left - first - second))
    symbols, comment = rest[at:].decode().split("c\n", 1) if rest[at:] else ("", "")
    named = dict(line.split(" ", 1) for line in symbols.splitlines())
    assert len(named) == inputs + latches + bad, "a name for everything"
    return Machine(
        [named[f"i{n}"] for n in range(inputs)],
        [named[f"l{n}"] for n in range(latches)],
        [row[0] for row in rows[:latches]],
        [row[1] if len(row) > 1 else 0 for row in rows[:latches]],
        {named[f"b{n}"]: row[0] for n, row in enumerate(rows[latches:])},
        found,
        comment.splitlines(),
    )


def _delta(data: bytes, at: int) -> tuple[int, int]:
    """Return a number that is written in groups of seven bits, and the place after it."""
    number = shift = 0
    while data[at] & 128:
        number |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
    return number | data[at] << shift, at + 1


class Beside:
    """A file beside the concrete reading of its system."""

    def __init__(self, system: System, builder: type[CircuitBuilder] = CircuitBuilder) -> None:
        self.system, self.concrete = system, Concrete(system)
        self._steps = {step.action.name: step for step in self.concrete.steps}
        self.machine = read(builder(system, system.properties).circuit().aiger(["a comment", "of two lines"]))
        self._bits = {
            v.name if v.is_choice else f"{v.name} = {show(value)}": (v.place, position)
            for v in system.variables
            for position, value in enumerate(v.domain.values[1:], 1)
        }
        self._holds = {p.name: self.concrete.predicate(p.holds) for p in system.properties}
        assert len(set(self.machine.latches)) == len(self.machine.latches)

    def state(self, bits: Bits) -> State:
        """Return the state that the latches stand for."""
        codes = list(next(Beginnings(self.concrete).states({})))
        own = [
            (name, bit) for name, bit in zip(self.machine.latches, bits, strict=True) if name in self._bits
        ]
        for place in {self._bits[name][0] for name, _ in own}:
            codes[place] = 0
        for name, bit in own:
            place, position = self._bits[name]
            if bit:
                assert codes[place] == 0, f"{name}: two values"
                codes[place] = position
        return self.concrete.state(codes)

    def beginning(self, start: State) -> Bits:
        """Return the latches at first, with the choices of `start`."""
        fixed = zip(self.machine.latches, self.machine.reset, strict=True)
        return tuple(bool(r) if r < 2 else start[self._bits[name][0]] == 1 for name, r in fixed)

    def enabled(self, name: str, state: State) -> bool:
        """Return whether the action of that name may happen in a state with all choices decided."""
        return next(self._steps[name].successors(state), None) is not None

    def violated(self, state: State) -> frozenset[str]:
        """Return the names of the properties that are false."""
        return frozenset(name for name, holds in self._holds.items() if not holds(state))

    def reached(self) -> dict[State, frozenset[str]]:
        """Return the states that the file reaches, with the bad outputs that are true in each."""
        count = len(self.machine.inputs)
        few = [frozenset(c) for n in range(3) for c in itertools.combinations(range(count), n)]
        inputs = [*few, frozenset(range(count))]
        waiting, seen = list(self.machine.initial()), dict[Bits, frozenset[str]]()
        while waiting:
            state = waiting.pop()
            if state not in seen:
                results = self.machine.steps(state, inputs)
                assert len({bad for _, bad in results}) == 1, "what is bad depends on the state alone"
                seen[state] = results[0][1]
                waiting += {after for after, _ in results}
        return {self.state(bits): bad for bits, bad in seen.items() if self.began_well(bits)}

    def began_well(self, bits: Bits) -> bool:
        """Return whether the first state before these latches was an initial state."""
        named = dict(zip(self.machine.latches, bits, strict=True))
        if BEGUN not in named or named[BEGUN]:
            return not named.get(ASTRAY, False)
        true = [self._bits[name][0] for name, bit in named.items() if bit and name in self._bits]
        return len(true) == len(set(true)) and self.state(bits) in self._firsts

    @cached_property
    def _firsts(self) -> set[State]:
        """The initial states, choices decided."""
        return {state for first in Beginnings(self.concrete).states() for state in self._decided(first)}

    def explored(self) -> dict[State, frozenset[str]]:
        """Return the states that exploring reaches, choices decided, with the properties that are false."""
        found = (state for visit in explore(self.system) for state in self._decided(visit.state))
        return {state: self.violated(state) for state in found}

    def _decided(self, state: State) -> Iterable[State]:
        open_ones = {v.place for v in self.system.choices if state[v.place] == UNDECIDED}
        return map(
            self.concrete.state,
            itertools.product(*((0, 1) if p in open_ones else (c,) for p, c in enumerate(state))),
        )
