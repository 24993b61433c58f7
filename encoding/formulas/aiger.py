"""A system as a sequential circuit in AIGER 1.9, for the model checkers of the hardware competition (HWMCC).

The format is that of Biere, Heljanko and Wieringa, "AIGER 1.9 And Beyond" (2011), in its binary form.

Each Boolean of the state is a latch with its initial value. A choice, such as a lost message, is a latch
that keeps its value and has no initial value. A variable with several initial values has latches without
one; two more latches then know whether the first state was an initial one, and no output is bad if it was
not. There is one input for each ground action. A step fires the
first action whose input is true, if it is enabled; otherwise nothing changes. So every assignment of the
inputs is harmless, and a witness of a model checker names the actions. Each property is a bad output, which
is true while the property is false. The last bad output, `wrong`, is true while an enabled action is badly
defined. Such an action does not fire.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from fencepost.encoding.formulas.and_inverter import FALSE, AndInverterGraph, Literal, Translation, leaf
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.formulas.traps import check_traps
from fencepost.encoding.language.sorts import Value, show
from fencepost.encoding.language.state import Variable, show_all
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.safe_text import defused
from fencepost.encoding.solving.logic import Formula

WRONG = "wrong"
"""The name of the bad output about badly defined actions."""

BEGUN, ASTRAY = "a step was made", "the first state was no initial state"
"""The names of the latches of a system with several initial states."""


@dataclass(frozen=True)
class Latch:
    """A Boolean of the state. `reset` is its initial value; None if it may be either."""

    name: str
    reset: bool | None
    following: Literal
    """The value after a step."""


@dataclass(frozen=True)
class Circuit:
    """A sequential circuit. Its leaves are the inputs, then the latches."""

    inputs: Sequence[str]
    latches: Sequence[Latch]
    bad: Sequence[tuple[str, Literal]]
    """The name of each bad output, with its literal."""
    gates: Sequence[tuple[Literal, Literal]]

    def aiger(self, remarks: Iterable[str]) -> bytes:
        """Return the circuit as a binary file of AIGER 1.9, with symbols, and remarks as its comment."""
        leaves = len(self.inputs) + len(self.latches)
        counts = [leaves + len(self.gates), len(self.inputs), len(self.latches), 0, len(self.gates)]
        lines = [" ".join(map(str, ["aig", *counts, len(self.bad)]))]
        for number, latch in enumerate(self.latches, len(self.inputs)):
            reset = {None: f" {leaf(number)}", True: " 1", False: ""}[latch.reset]
            lines.append(f"{latch.following}{reset}")
        lines += [str(literal) for _, literal in self.bad]
        deltas = (
            delta
            for number, (high, low) in enumerate(self.gates, leaves)
            for delta in (leaf(number) - high, high - low)
        )
        return b"".join(
            (_text(lines), *map(_encoded, deltas), _text([*self._symbols(), "c", *map(_one_line, remarks)]))
        )

    def _symbols(self) -> Iterator[str]:
        """Yield the lines of the symbol table."""
        named = {"i": self.inputs, "l": [latch.name for latch in self.latches], "b": [n for n, _ in self.bad]}
        for kind, names in named.items():
            yield from (f"{kind}{number} {_one_line(name)}" for number, name in enumerate(names))


class CircuitBuilder:
    """The circuit of a system. Its parts are built when `circuit` needs them."""

    def __init__(self, system: System, properties: Sequence[Property]) -> None:
        """Translate the system, in which no message is sent twice with one loss (`sent_at_most_once`).

        Raises ModelError if a trap of these properties does not last. Raises SolverGaveUpError.
        """
        self.system, self._properties, self._symbolic = system, properties, Symbolic(system)
        check_traps(self._symbolic, properties)
        self._state = [v for v in system.variables if v.is_choice or v.place in self._symbolic.varying]
        self.inputs = [action.name for action in self._symbolic.actions]
        """The names of the inputs: the ground actions that can be enabled."""
        booleans = [bit for v in self._state for bit in self._symbolic.bits[v.place]]
        self._has_one_beginning = not system.varied and system.beginning is None
        leaves = len(self.inputs) + len(booleans)
        self._begun, self._astray = leaf(leaves), leaf(leaves + 1)
        latches = [leaf(number) for number in range(len(self.inputs), leaves)]
        self.graph = AndInverterGraph(leaves if self._has_one_beginning else leaves + 2)
        """The gates so far."""
        self._literal = Translation(self.graph, zip(booleans, latches, strict=True))

    @property
    def latched(self) -> list[tuple[Variable, int]]:
        """For each latch that is about a variable: this one, and the position of the value in its domain."""
        return [(v, position) for v in self._state for position in range(1, len(v.domain))]

    @property
    def constant(self) -> list[str]:
        """The state variables that no action changes, which have no latch, with their values."""
        values = zip(self.system.variables, self.system.firsts, strict=True)
        return [f"{v.name} = {show(own[0])}" for v, own in values if v not in self._state]

    def circuit(self) -> Circuit:
        """Return the circuit."""
        latches = [self._latch(*pair) for pair in self.latched]
        if not self._has_one_beginning:
            latches += [Latch(BEGUN, False, FALSE ^ 1), Latch(ASTRAY, False, self._began_well ^ 1)]
        bad = [(name, self._among_executions(literal)) for name, literal in self.bad()]
        return Circuit(self.inputs, latches, bad, self.graph.gates)

    @cached_property
    def _began_well(self) -> Literal:
        """Whether the first state is an initial state."""
        first = self.graph.conj(map(self._literal, self._symbolic.initial()))
        return self.graph.ite(self._begun, self._astray ^ 1, first)

    def _among_executions(self, bad: Literal) -> Literal:
        """Return that something is bad, and that the first state is an initial state."""
        return bad if self._has_one_beginning else self.graph.both(bad, self._began_well)

    def selected(self) -> list[Literal]:
        """Return for each action whether the inputs select it: it is the first whose input is true."""
        found, earlier = list[Literal](), FALSE
        for number in range(len(self.inputs)):
            found.append(self.graph.both(leaf(number), earlier ^ 1))
            earlier = self.graph.disj((earlier, leaf(number)))
        return found

    @cached_property
    def fires(self) -> list[Literal]:
        """For each action whether it fires: it is selected, enabled and well-defined."""
        allowed = [(self._literal(e.guard), self._literal(e.wrong) ^ 1) for e in self._symbolic.effects]
        return [self.graph.conj((s, *pair)) for s, pair in zip(self.selected(), allowed, strict=True)]

    def bad(self) -> Iterator[tuple[str, Literal]]:
        """Yield the bad outputs: the properties in their order, then `wrong`."""
        for prop in self._properties:
            yield prop.name, self._literal(self._symbolic.predicate(prop.holds)) ^ 1
        yield WRONG, self.graph.disj(self._literal(effect.wrong) for effect in self._symbolic.effects)

    def reset(self, variable: Variable, value: Value) -> bool | None:
        """Return the initial value of the latch for a value of a variable; None if it may be either."""
        if variable.is_choice or variable in self.system.varied:
            return None
        return self.system.firsts[variable.place] == (value,)

    def following(self, place: int, position: int, bit: Literal) -> Literal:
        """Return the value of a latch after a step: what the action that fires sets, or the one before."""
        sets = [(fires, self._literal(after[position])) for fires, after in self._writers.get(place, ())]
        kept = self.graph.conj((bit, *(fires ^ 1 for fires, _ in sets)))
        return self.graph.disj((kept, *(self.graph.both(*pair) for pair in sets)))

    @cached_property
    def _writers(self) -> dict[int, list[tuple[Literal, list[Formula]]]]:
        """For each place the actions that may set it: whether each fires, and the Booleans after it."""
        found: dict[int, list[tuple[Literal, list[Formula]]]] = {}
        for fires, effect in zip(self.fires, self._symbolic.effects, strict=True):
            for place, after in effect.after.items():
                found.setdefault(place, []).append((fires, after))
        return found

    def _latch(self, variable: Variable, position: int) -> Latch:
        value = variable.domain.values[position]
        bit = self._literal(self._symbolic.bits[variable.place][position - 1])
        name = variable.name if variable.is_choice else f"{variable.name} = {show(value)}"
        return Latch(name, self.reset(variable, value), self.following(variable.place, position - 1, bit))


def circuit_remarks(
    subject: Subject, properties: Sequence[Property], constant: Sequence[str], varied: Sequence[str] = ()
) -> list[str]:
    """Return the remarks of a circuit's file: the instance, and what its inputs, latches and outputs mean."""
    return [
        f"{subject.protocol}: {show_all({**subject.parameters, **subject.switches})}",
        "input: selects an action; the first one selected fires if it is enabled; else nothing changes",
        "latch: a state variable has this value (its first value if no other), or a choice is true",
        "latch without a reset value: a choice, made before the first step",
        *(
            [f"latch without a reset value: {', '.join(varied)}, with several initial values"]
            if varied
            else []
        ),
        *(f"bad {p.name}: it is false that {p.meaning}" for p in properties),
        f"bad {WRONG}: an enabled action sets a variable twice, outside its domain, or at a missing index",
        *([f"constant: {'; '.join(constant)}"] if constant else []),
    ]


def _encoded(delta: int) -> bytes:
    """Return a number in groups of seven bits, the lowest first; all but the last have the eighth bit."""
    found = bytearray()
    while delta >= 128:
        found.append(delta % 128 + 128)
        delta //= 128
    return bytes([*found, delta])


def _text(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _one_line(text: str) -> str:
    return defused(text).replace("\n", " ")
