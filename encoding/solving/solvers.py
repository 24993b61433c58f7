"""Questions in clauses: SAT solvers by name, unit propagation, and clausal proofs.

Solvers run in worker processes, which can be killed at any time. CaDiCaL cannot be interrupted, so a question
is asked in slices of conflicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, overload

from fencepost.encoding.errors import BadInput, unknown_name
from fencepost.encoding.language.state import amount
from fencepost.encoding.solving.answers import (
    Answer,
    GaveUp,
    No,
    SolverGaveUpError,
    SpentError,
    Yes,
)
from fencepost.encoding.solving.clauses import Clause

SOLVERS = {
    "cadical": "cadical195",
    "cadical153": "cadical153",
    "glucose": "glucose42",
    "minisat": "minisat22",
    "z3": "z3",
}
"""The solvers by their names on the command line. `z3` is z3's own search on the same clauses."""

SLICE = 20_000
"""The number of conflicts between two reports of progress."""

UNCOUNTED = ("z3",)
"""The solvers that accept no limit on conflicts."""


class Backend(Protocol):
    """The operations that a search needs of a solver."""

    def add(self, clauses: Iterable[Clause]) -> None:
        """Add clauses."""

    def ask(self, assumptions: Sequence[int], conflicts: int) -> Answer[Sequence[int]]:
        """Return whether the clauses and assumptions can hold together, within so many conflicts.

        In a model, model[v - 1] is v or -v for every variable v.
        """

    def core(self) -> Sequence[int]:
        """Return, after the answer no, assumptions that contradict the clauses."""

    def conflicts(self) -> int:
        """Return the number of conflicts so far."""


class PySat:
    """A CDCL solver through PySAT, which keeps its clauses and what it learnt between questions."""

    def __init__(self, name: str, clauses: Iterable[Clause] = ()) -> None:
        """Start with these clauses, in a solver of that name in PySAT."""
        from pysat.solvers import Solver

        self._solver: Any = Solver(name=name, bootstrap_with=clauses)

    def add(self, clauses: Iterable[Clause]) -> None:
        """Add clauses."""
        self._solver.append_formula(clauses)

    def ask(self, assumptions: Sequence[int], conflicts: int) -> Answer[Sequence[int]]:
        """Answer as `Backend.ask` says."""
        self._solver.conf_budget(conflicts)
        spent = GaveUp(f"{amount(conflicts, 'conflict')} spent", may_go_on=True)
        answer = _answer(lambda: self._solver.solve_limited(assumptions=list(assumptions)))
        return _with_model(self._solver, answer, spent)

    def core(self) -> Sequence[int]:
        """Return, after the answer no, assumptions that contradict the clauses."""
        core: list[int] = self._solver.get_core() or []
        return core

    def conflicts(self) -> int:
        """Return the number of conflicts so far."""
        return int(self._solver.accum_stats()["conflicts"])

    def free(self) -> None:
        """Free the memory of the solver."""
        self._solver.delete()


def _answer(ask: Callable[[], bool | None]) -> bool | GaveUp | None:
    """Return the answer of a PySAT solver. It raises an error of its own when it receives Ctrl-C."""
    import pysolvers

    try:
        return ask()
    except pysolvers.error as error:
        return GaveUp(str(error))


def _with_model(solver: Any, answer: bool | GaveUp | None, unknown: GaveUp) -> Answer[Sequence[int]]:
    """Return an answer of a solver with its model; `unknown` if it has none."""
    if answer is None:
        return unknown
    if isinstance(answer, GaveUp):
        return answer
    return Yes(solver.get_model()) if answer else No()


class Incremental(PySat):
    """A solver for many small questions, as IC3 asks them. They are not sliced: the worker can be killed."""

    def can_hold(self, assumptions: Sequence[int]) -> bool:
        """Return whether the clauses and assumptions can hold together. Raises SolverGaveUpError."""
        answer = _answer(lambda: self._solver.solve(assumptions=assumptions))
        if isinstance(answer, bool):
            return answer
        raise SolverGaveUpError(f"IC3: {answer.why if answer else 'no answer'}")

    def model(self) -> Sequence[int]:
        """Return, after the answer yes, each variable v as v or -v, in order."""
        model: Sequence[int] = self._solver.get_model()
        return model


class Z3:
    """z3's own search, on the same clauses."""

    def __init__(self) -> None:
        """Make a solver without clauses."""
        from fencepost.encoding.solving import logic
        from fencepost.encoding.solving.terms import BOOLEAN, Terms

        self._logic = logic
        self._terms = Terms(BOOLEAN)
        self._variables: dict[int, Any] = {}

    def _literal(self, literal: int) -> Any:
        number = abs(literal)
        if number not in self._variables:
            self._variables[number] = self._logic.named(f"x{number}")
        return self._variables[number] if literal > 0 else self._logic.neg(self._variables[number])

    def add(self, clauses: Iterable[Clause]) -> None:
        """Add clauses."""
        for clause in clauses:
            self._terms.add(self._logic.disj(map(self._literal, clause)))

    def ask(self, assumptions: Sequence[int], conflicts: int) -> Answer[Sequence[int]]:
        """Answer as `Backend.ask` says, but without a limit on conflicts."""
        match self._terms.under(map(self._literal, assumptions)):
            case Yes(model):
                return Yes(_ModelValues(model, self._variables))
            case No() | GaveUp() as answer:
                return answer

    def core(self) -> Sequence[int]:
        """Return, after the answer no, assumptions that contradict the clauses."""
        core = {str(literal) for literal in self._terms.core()}
        literals = (s * v for v in self._variables for s in (1, -1))
        return [literal for literal in literals if str(self._literal(literal)) in core]

    def conflicts(self) -> int:
        """Return the number of conflicts so far."""
        return self._terms.conflicts()


class _ModelValues(Sequence[int]):
    """A model of z3. The value of a variable is looked up when it is asked for."""

    def __init__(self, model: Any, variables: Mapping[int, Any]) -> None:
        self._model, self._variables = model, variables

    def __len__(self) -> int:
        return max(self._variables, default=0)

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[int]: ...
    def __getitem__(self, place: int | slice) -> int | Sequence[int]:
        if isinstance(place, slice):
            return [self[p] for p in range(*place.indices(len(self)))]
        if place >= len(self):
            raise IndexError(place)
        number = place + 1
        known = self._variables.get(number)
        return number if known is not None and bool(self._model[known]) else -number


class Propagation(PySat):
    """Clauses and their consequences by unit propagation. It needs no search, so it always ends soon."""

    def __enter__(self) -> Self:
        """Return the propagation."""
        return self

    def __exit__(self, *error: object) -> None:
        """Free the solver."""
        self.free()

    def follow(self, literals: Sequence[int]) -> tuple[bool, list[int]]:
        """Return whether the literals are consistent by unit propagation, and the literals that follow.

        The literals themselves are among them. Raises SolverGaveUpError if the solver was interrupted.
        """
        import pysolvers

        try:
            consistent, implied = self._solver.propagate(literals)
        except pysolvers.error as error:
            raise SolverGaveUpError(f"unit propagation: {error}") from error
        return bool(consistent), implied


@dataclass(frozen=True)
class Refuted(No):
    """The answer no, with the lines of a proof in the DRUP format."""

    proof: Sequence[str]


def refute(prover: str, clauses: Iterable[Clause]) -> Yes[Sequence[int]] | Refuted | GaveUp:
    """Return whether the clauses can hold together, with a proof if not. `prover` is a solver of PySAT."""
    from pysat.solvers import Solver

    with Solver(name=prover, with_proof=True, bootstrap_with=clauses) as solver:
        answer = _with_model(solver, _answer(solver.solve), GaveUp("no answer"))
        return Refuted(solver.get_proof()) if isinstance(answer, No) else answer


class Purse:
    """The number of conflicts that the searches of one process may spend together."""

    def __init__(self, conflicts: int) -> None:
        """Start with so many conflicts."""
        self._all = self._left = conflicts

    def slice(self) -> int:
        """Return how many conflicts the next question may spend. Raises SpentError if none are left."""
        if self._left <= 0:
            raise SpentError(f"{amount(self._all, 'conflict')} spent")
        return min(SLICE, self._left)

    def spend(self, conflicts: int) -> None:
        """Subtract the conflicts that a question took, which may exceed its limit a little."""
        self._left -= conflicts


def ask_a_slice(solver: Backend, assumptions: Sequence[int], purse: Purse | None) -> Answer[Sequence[int]]:
    """Return the answer within one slice of conflicts, from the purse if there is one. Raises SpentError."""
    if purse is None:
        return solver.ask(assumptions, SLICE)
    before = solver.conflicts()
    answer = solver.ask(assumptions, purse.slice())
    purse.spend(solver.conflicts() - before)
    return answer


def load(name: str) -> None:
    """Import the solver's library once, before worker processes are forked."""
    if name != "z3":
        import pysat.card
        import pysat.solvers  # noqa: F401


def backend(name: str) -> Backend:
    """Return the solver of that name. Raises BadInput if there is none."""
    if name not in SOLVERS:
        raise unknown_name(name, "solver", SOLVERS)
    return Z3() if name == "z3" else PySat(SOLVERS[name])


def countable(name: str) -> None:
    """Raise BadInput if the solver accepts no limit on conflicts."""
    if name in UNCOUNTED:
        valid = ", ".join(solver for solver in SOLVERS if solver not in UNCOUNTED)
        raise BadInput(f"{name}: this solver accepts no limit on conflicts; valid: {valid}")


@dataclass(frozen=True)
class Progress:
    """The progress of a worker: its task and round, and the size and conflicts of its solver so far."""

    task: str
    rounds: int
    clauses: int
    conflicts: int
