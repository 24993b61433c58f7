"""The process that asks ABC, and what it says: clauses for the judge, and paths that replay."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from fencepost.encoding.abc.process import BadPath, Proof, pdr
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.clauses import Clause, Literal, Relation
from fencepost.encoding.engine.messages import ABC, FoundPath
from fencepost.encoding.errors import ModelError
from fencepost.encoding.formulas.aiger import ASTRAY, Circuit, CircuitBuilder
from fencepost.encoding.ic3.finder import FoundClauses
from fencepost.encoding.induction.proof_obligations import Never, Statement
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.solving.answers import SolverGaveUpError
from fencepost.encoding.solving.solvers import Progress

IS, IS_NOT = Relation.IS, Relation.IS_NOT


def find(
    seconds: float, system: System, claims: Sequence[Statement], *others: object
) -> Iterator[Progress | FoundPath | FoundClauses]:
    """Search for violations and proofs of the claims, all together. A violated claim leaves the circuit.

    The `others` are arguments of the search of `ic3`. ABC is told neither of invariants that are proved
    already nor of lemmas. Raises SolverGaveUpError for an answer of another form, and for a path that does
    not replay.
    """
    yield Progress(ABC, 0, 0, 0)
    builder = CircuitBuilder(system, [_as_property(claim) for claim in claims])
    circuit, left, replayer = builder.circuit(), list(claims), Replayer(system, Subject("", {}, {}))
    while left:
        match pdr(circuit, seconds):
            case Proof(rows):
                yield FoundClauses(tuple(claim.name for claim in left), clauses(builder, circuit, rows))
                return
            case BadPath(output) as path:
                violated = left.pop(output) if output < len(left) else None
                yield found_path(replayer, builder, circuit, path, violated)
                bad = [one for number, one in enumerate(circuit.bad) if number != output]
                circuit = replace(circuit, bad=bad)


def _as_property(claim: Statement) -> Property:
    if isinstance(claim, Never):
        return replace(claim.about, holds=claim.holds, traps={})
    assert isinstance(claim, Property), "ABC is asked about properties and their witnesses"
    return claim


def clauses(builder: CircuitBuilder, circuit: Circuit, rows: Sequence[str]) -> tuple[Clause, ...]:
    """Return the clauses that exclude the cubes of an invariant. They are for the judge.

    ABC sees each latch as zero at first: it inverts one that starts as one. The last latches, which stand
    for no variable, say whether a step was made and whether the first state was an initial one. In the first
    step nothing need happen, so a row that asks for other states than those after a step excludes none.
    """
    latched, latches = builder.latched, circuit.latches
    others = ("[0-]" if latch.name == ASTRAY else "[1-]" for latch in latches[len(latched) :])
    after_a_step = re.compile("".join(others) + "[1-]?")
    is_not = [
        {"01"[not one]: Literal(v.place, IS_NOT, position), "01"[one]: Literal(v.place, IS, position)}
        for (v, position), one in zip(latched, (latch.reset is True for latch in latches), strict=False)
    ]
    cubes = (row for row in rows if after_a_step.fullmatch(row, len(latched)))
    each = (sorted(no[s] for no, s in zip(is_not, cube, strict=False) if s != "-") for cube in cubes)
    return tuple(dict.fromkeys(map(tuple, each)))


def found_path(
    replayer: Replayer, builder: CircuitBuilder, circuit: Circuit, path: BadPath, violated: Statement | None
) -> FoundPath:
    """Return the path to a violation of a claim; without a claim, to a badly defined action.

    In each frame the first action whose input is true happens if it is enabled. The inputs after those of
    the actions are the first values of the latches without one. Raises SolverGaveUpError if the path does
    not replay.
    """
    system = replayer.system
    numbers = {action.name: number for number, action in enumerate(system.ground_actions)}
    inputs, latches = circuit.inputs, zip(builder.latched, circuit.latches, strict=False)
    free = [own for own, latch in latches if latch.reset is None]
    given = zip(free, path.frames[0][len(inputs) :], strict=True)
    true = {variable.place: position for (variable, position), bit in given if bit == "1"}
    choices = tuple(number for number, choice in enumerate(system.choices) if choice.place in true)
    beginning = tuple(true.get(variable.place, 0) for variable in system.varied)
    actions, reached = list[int](), False
    with suppress(NotAnExecution):
        states = replayer.follow([], [system.choices[number].name for number in choices], beginning)
        for slot in (frame.find("1", 0, len(inputs)) for frame in path.frames[:-1]):
            if slot >= 0:
                action = system.ground_actions[numbers[inputs[slot]]]
                with suppress(NotAnExecution):
                    states.append(replayer.after(action, states))
                    actions.append(numbers[inputs[slot]])
        if violated is None:
            reached = _is_badly_defined(replayer.concrete, states[-1])
        else:
            reached = not replayer.concrete.predicate(violated.holds)(states[-1])
    if not reached:
        raise SolverGaveUpError("abc: the path that it found does not replay")
    return FoundPath(violated.name if violated is not None else None, tuple(actions), choices, beginning)


def _is_badly_defined(concrete: Concrete, state: State) -> bool:
    """Return whether some action is badly defined in a state."""
    try:
        return any(False for step in concrete.steps for _ in step.successors(state))
    except ModelError:
        return True
