"""The queries about rounds that verdicts rest on, each closed: for certificates and for other solvers.

The search asks them under assumptions, with more and more rounds. Here each query is its own set of clauses,
which is unsatisfiable if and only if the answer is no. `smtlib.py` writes the same query as SMT-LIB 2 text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from fencepost.encoding.errors import InternalError
from fencepost.encoding.formulas.commutation import Commutation
from fencepost.encoding.formulas.one_round import Round, one_round, template
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.formulas.templates import RoundTemplate
from fencepost.encoding.formulas.traps import check_traps
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.state import amount
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import Term
from fencepost.encoding.rounds.preparation import tally
from fencepost.encoding.rounds.round_solver import RoundSolver
from fencepost.encoding.rounds.search import Tally, counters, within
from fencepost.encoding.rounds.unrolling import Unrolling
from fencepost.encoding.solving.answers import Answer, SolverGaveUpError
from fencepost.encoding.solving.clauses import Clause


class Kind(Enum):
    """The kinds of queries. Executions are those of the instance, in normal form and within the budgets."""

    PROPERTY = "property"
    """The query whether the property is false after some execution of up to so many rounds."""
    COMPLETENESS = "completeness"
    """The query whether some execution fires anything in the round after those."""
    WELL_DEFINED = "well-defined"
    """The query whether some step in the rounds sets a variable twice, or outside its domain."""
    WITNESS = "witness"
    """The query whether the property's witness is true after some execution of up to so many rounds."""


ABOUT_ONE_PROPERTY = (Kind.PROPERTY, Kind.WITNESS)
"""The kinds that are about one property. The others are about executions."""


@dataclass(frozen=True)
class Query:
    """A query about so many rounds; `about` names the property if the kind is about one."""

    kind: Kind
    rounds: int
    about: str | None = None

    names: ClassVar[str] = (
        "names: an action fires in a round; a state variable has a value after a round (its first value "
        "if no other); a choice is true"
    )
    """The meaning of the named Booleans."""

    def __post_init__(self) -> None:
        """Check that the query names a property if and only if its kind is about one. Raises ValueError."""
        if (self.about is not None) != (self.kind in ABOUT_ONE_PROPERTY):
            raise ValueError(f"{self.kind.value}: name a property if and only if the query is about one")

    @property
    def name(self) -> str:
        """The name of the part in files and messages: `completeness`, `property-no-divergence`."""
        return self.kind.value if self.about is None else f"{self.kind.value}-{self.about}"

    @property
    def unrolled(self) -> int:
        """The number of rounds that the query unrolls."""
        return self.rounds + 1 if self.kind is Kind.COMPLETENESS else self.rounds

    def sentences(self) -> tuple[str, str, str]:
        """Return the question, and the meaning of `sat` and `unsat`."""
        rounds, name = amount(self.rounds, "round"), self.about
        within = f"an execution of up to {rounds}"
        match self.kind:
            case Kind.PROPERTY:
                return (
                    f"is {name} false after {within}?",
                    f"{name} is violated. The actions that fire, in order, are the counterexample",
                    f"{name} holds within these rounds. "
                    + "If `completeness` and `well-defined` of a certificate are unsat too, it always holds",
                )
            case Kind.COMPLETENESS:
                return (
                    f"does any execution need more than {rounds}?",
                    "some execution does: a query within these rounds proves nothing about longer ones",
                    f"every execution has a normal form of up to {rounds}",
                )
            case Kind.WELL_DEFINED:
                return (
                    f"does {within} set a variable twice, or outside its domain?",
                    "the model is wrong, and no verdict about it counts",
                    "every step within these rounds is well-defined",
                )
            case Kind.WITNESS:
                return (
                    f"is the witness of {name} true after {within}?",
                    "the situation that the property is about occurs",
                    "within these rounds the property is vacuous",
                )

    def outputs(self, system: System) -> dict[str, Term]:
        """Return the outputs that the query reads after each round, as terms."""
        if self.about is None:
            return {}
        prop = next(p for p in system.properties if p.name == self.about)
        if self.kind is Kind.WITNESS:
            return {f"witness:{prop.name}": prop.witness}
        return {f"holds:{prop.name}": prop.holds}

    def asserts(self, unrolling: Unrolling) -> list[Clause]:
        """Return the clauses that state the query over an unrolling with all rounds."""
        last = unrolling.rounds
        wrong = [unrolling.output("wrong", r) for r in range(1, last + 1)]
        match self.kind:
            case Kind.PROPERTY:
                return [[-unrolling.output(f"holds:{self.about}", last)]]
            case Kind.WITNESS:
                return [[unrolling.output(f"witness:{self.about}", last)]]
            case Kind.COMPLETENESS:
                return [unrolling.fires(last)]
            case Kind.WELL_DEFINED:
                return [wrong]


@dataclass(frozen=True)
class Clauses:
    """A query in conjunctive normal form, over the variables 1 to `top`, some of which have a name."""

    clauses: list[Clause]
    top: int
    names: Mapping[int, str]

    def dimacs(self, header: Iterable[str]) -> str:
        """Return the clauses as DIMACS text; its remarks are `header` and the names of variables."""
        lines = [f"c {line}" for line in header]
        lines += [f"c {number} {name}" for number, name in self.names.items()]
        lines.append(f"p cnf {self.top} {len(self.clauses)}")
        lines += [" ".join(map(str, [*clause, 0])) for clause in self.clauses]
        return "\n".join(lines) + "\n"


class _Recorded:
    """A backend that keeps clauses and solves nothing."""

    def __init__(self) -> None:
        self.clauses: list[Clause] = []

    def add(self, clauses: Iterable[Clause]) -> None:
        self.clauses.extend(clauses)

    def ask(self, assumptions: Sequence[int], conflicts: int) -> Answer[Sequence[int]]:
        raise InternalError("clauses are recorded here, not solved")

    def core(self) -> Sequence[int]:
        raise InternalError("clauses are recorded here, not solved")

    def conflicts(self) -> int:
        return 0


class Encoded:
    """The encoding of a system in rounds, within budgets of faults, for queries.

    No message may be sent twice with one loss (`sent_at_most_once`). Raises ModelError if a trap of these
    properties does not last, and SolverGaveUpError if the solver gives up on a pair, because another run
    could then have other blockers.
    """

    def __init__(self, system: System, properties: Sequence[Property], budgets: Mapping[str, int]) -> None:
        """Translate the system, and find the actions that commute."""
        self.system, self.budgets = system, dict(budgets)
        self.symbolic = Symbolic(system)
        check_traps(self.symbolic, properties)
        commutation = Commutation(self.symbolic)
        self.blockers = commutation.blockers()
        """For each slot the slots that it may not move left past."""
        if commutation.undecided:
            raise SolverGaveUpError(f"z3, commutation: no answer for {amount(commutation.undecided, 'pair')}")
        self.asked = commutation.asked
        """The number of pairs that the solver was asked about."""
        self._templates: dict[tuple[str, ...], RoundTemplate] = {}

    def round(self, query: Query) -> Round:
        """Return one round as formulas."""
        return one_round(self.symbolic, query.outputs(self.system))

    def template(self, query: Query) -> RoundTemplate:
        """Return one round as clauses."""
        outputs = query.outputs(self.system)
        if tuple(outputs) not in self._templates:
            self._templates[tuple(outputs)] = template(self.symbolic, self.blockers, outputs)
        return self._templates[tuple(outputs)]

    def limits(self) -> list[tuple[Tally, int]]:
        """Return the budgets as tallies with their limits."""
        slots = self.symbolic.actions
        return [(tally(self.system, slots, {name}), most) for name, most in self.budgets.items()]

    def clauses(self, query: Query) -> Clauses:
        """Return the query as clauses, put together as the search does it."""
        recorded = _Recorded()
        solver = RoundSolver(self.template(query), recorded)
        limits = counters(solver, self.limits())
        for _ in range(query.unrolled):
            solver.deepen()
        solver.add([[literal] for literal in within(limits)])
        solver.add(query.asserts(solver.unrolling))
        names = dict(self.names(solver.unrolling))
        return Clauses(recorded.clauses, solver.unrolling.top, names)

    def names(self, unrolling: Unrolling) -> Iterator[tuple[int, str]]:
        """Yield the named variables of an unrolling, each with its name."""
        variables = self.system.variables
        first = unrolling.template.choices + unrolling.template.width + 1
        for number in range(unrolling.template.auxiliary):
            yield first + number, f"part {number + 1} of the condition on initial states"
        for position, variable in enumerate(self.system.choices):
            yield unrolling.choice(position), variable.name
        bits = [
            f"{v.name} = {show(value)}"
            for v in variables
            if v.place in self.symbolic.varying
            for value in v.domain.values[1:]
        ]
        for round_ in range(unrolling.rounds + 1):
            for slot, action in enumerate(self.symbolic.actions if round_ else ()):
                yield unrolling.fire(slot, round_), f"{action.name} in round {round_}"
            for position, name in enumerate(bits):
                yield unrolling.bit(position, round_), f"{name} after round {round_}"
            for output in unrolling.template.outputs if round_ else ():
                yield unrolling.output(output, round_), f"{output} after round {round_}"
