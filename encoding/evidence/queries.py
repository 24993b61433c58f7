"""The queries that verdicts rest on, each closed and in one piece: for certificates, and for other solvers.

The search asks them under assumptions, of ever more rounds. Here each is a set of clauses of its own that is
unsatisfiable if and only if the answer is no, or the same as SMT-LIB 2 text (`smtlib.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from fencepost.encoding.engine.preparation import tally
from fencepost.encoding.errors import InternalError
from fencepost.encoding.formulas.commutation import Commutation
from fencepost.encoding.formulas.commutation_cache import Cache, cache_folder
from fencepost.encoding.formulas.one_round import Round, one_round, template
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.formulas.templates import Template
from fencepost.encoding.formulas.traps import check_traps
from fencepost.encoding.induction.over_rounds import Window, base, carried
from fencepost.encoding.language.state import amount, show
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.language.terms import Term
from fencepost.encoding.rounds.round_solver import RoundSolver
from fencepost.encoding.rounds.search import Tally, counters, within
from fencepost.encoding.rounds.unrolling import Unrolling
from fencepost.encoding.solving.answers import Answer, SolverGaveUpError
from fencepost.encoding.solving.clauses import Clause


class Kind(Enum):
    """What is asked. Executions are those of the instance, in normal form and within the budgets."""

    PROPERTY = "property"
    """Is the property false after some execution of up to so many rounds?"""
    COMPLETENESS = "completeness"
    """Does some execution fire anything in the round after those?"""
    WELL_DEFINED = "well-defined"
    """Does some step within the rounds set a variable twice, or outside its domain?"""
    WITNESS = "witness"
    """Is the property's witness true after some execution of up to so many rounds?"""
    BASE = "base"
    """Induction over so many rounds: does what is carried along fail in the rounds that the base is about?"""
    STEP = "step"
    """Induction: can it fail after so many rounds from anywhere, and hold before them and in between?"""


ABOUT_ONE_PROPERTY = (Kind.PROPERTY, Kind.WITNESS, Kind.BASE, Kind.STEP)
"""What is asked of one property; the other queries are about executions, whatever property."""


@dataclass(frozen=True)
class Query:
    """A question about so many rounds; `about` names the property that it is about, if it is about one."""

    kind: Kind
    rounds: int
    about: str | None = None

    names: ClassVar[str] = (
        "names: an action fires in a round; a variable has a value after a round (if none is true, the first of its "
        "values); a choice made up front is true"
    )
    """What the named variables of a query stand for."""

    def __post_init__(self) -> None:
        if (self.about is not None) != (self.kind in ABOUT_ONE_PROPERTY):
            raise ValueError(f"{self.kind.value}: it is about one property, or it is not")

    @property
    def name(self) -> str:
        """As files and messages call it: `completeness`, `property-no-divergence`."""
        return self.kind.value if self.about is None else f"{self.kind.value}-{self.about}"

    @property
    def unrolled(self) -> int:
        """How many rounds it takes to ask it."""
        match self.kind:
            case Kind.COMPLETENESS | Kind.STEP:
                return self.rounds + 1
            case Kind.BASE:
                return base(self.rounds)
            case _:
                return self.rounds

    @property
    def unrolling(self) -> type[Unrolling]:
        """Which rounds: those of an execution, or any in the middle of one."""
        return Window if self.kind is Kind.STEP else Unrolling

    def sentences(self) -> tuple[str, str, str]:
        """The question, and what `sat` and `unsat` mean."""
        rounds, name = amount(self.rounds, "round"), self.about
        within = f"an execution of up to {rounds}"
        claims, starts = f"{name}, an invariant, or that no step is wrong,", amount(self.unrolled, "round")
        match self.kind:
            case Kind.PROPERTY:
                return (
                    f"is {name} false after {within}?",
                    f"{name} is violated; the actions that fire, in order, are the counterexample",
                    f"none violates {name}; no execution does if `completeness` and `well-defined` are unsat too",
                )
            case Kind.COMPLETENESS:
                return (
                    f"does any execution need more than {rounds}?",
                    "some does: what holds within these rounds is no proof",
                    f"none does: every execution has a normal form within {rounds}",
                )
            case Kind.WELL_DEFINED:
                return (
                    f"does {within} set a variable twice, or outside its domain?",
                    "some does: the model is wrong, and no verdict means anything",
                    "none does",
                )
            case Kind.WITNESS:
                return (
                    f"is the witness of {name} true after {within}?",
                    "it is: the property is about something that happens",
                    "it is not: within these rounds the property is vacuous",
                )
            case Kind.BASE:
                return (
                    f"induction over {rounds}, base: can {claims} fail within {starts} from the start?",
                    "it can: there is no proof by this induction",
                    f"it cannot; if `step` is unsat too, {name} and the invariants hold after every execution",
                )
            case Kind.STEP:
                return (
                    f"induction over {rounds}, step: can {claims} fail after {rounds} from any state, and not before? "
                    + "Round 1 is idle",
                    "it can, from a state that may well be out of reach: nothing is proved",
                    f"it cannot; if `base` is unsat too, {name} and the invariants hold after every execution",
                )

    def outputs(self, system: System) -> dict[str, Term]:
        """What must be read off the state after each round to ask it."""
        if self.about is None:
            return {}
        prop = next(p for p in system.properties if p.name == self.about)
        if self.kind is Kind.WITNESS:
            return {f"witness:{prop.name}": prop.witness}
        held = {f"holds:{prop.name}": prop.holds}
        return held | {f"invariant:{i.name}": i.holds for i in self._invariants(system)}

    def _invariants(self, system: System) -> tuple[Invariant, ...]:
        return system.invariants if self.kind in (Kind.BASE, Kind.STEP) else ()

    def asserts(self, unrolling: Unrolling, system: System) -> list[Clause]:
        """What is asked of the rounds, once they are all there."""
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
            case Kind.BASE:
                return [[*(-literal for literal in self._carried(unrolling, last, system)), *wrong[:-1]]]
            case Kind.STEP:
                before = [[c] for r in range(1, last) for c in self._carried(unrolling, r, system)]
                return [*before, [-literal for literal in self._carried(unrolling, last, system)]]

    def _carried(self, unrolling: Unrolling, round_: int, system: System) -> list[int]:
        assert self.about is not None
        names = [i.name for i in self._invariants(system)]
        return list(carried(unrolling, round_, self.about, names).values())


@dataclass(frozen=True)
class Clauses:
    """A query in conjunctive normal form, over the variables 1 to `top`, some of which have a name."""

    clauses: list[Clause]
    top: int
    names: Mapping[int, str]

    def dimacs(self, said: Iterable[str]) -> str:
        """As a file that any SAT solver reads: what is said of it, the names, the clauses."""
        lines = [f"c {line}" for line in said]
        lines += [f"c {number} {name}" for number, name in self.names.items()]
        lines.append(f"p cnf {self.top} {len(self.clauses)}")
        lines += [" ".join(map(str, [*clause, 0])) for clause in self.clauses]
        return "\n".join(lines) + "\n"


class _Recorded:
    """Takes clauses like a solver, and only keeps them."""

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
    """A system of which queries can be asked, within budgets of faults.

    Raises ModelError if a trap of these properties does not last, or a sending may happen twice; SolverGaveUpError if a
    question behind it has no answer, for what rests on that cannot be made again elsewhere. Without a cache,
    every pair of actions that reading and writing does not settle is put to the solver again.
    """

    def __init__(
        self,
        system: System,
        properties: Sequence[Property],
        budgets: Mapping[str, int],
        cached: bool = True,
    ) -> None:
        sent_at_most_once(system)
        self.system, self.budgets = system, dict(budgets)
        self.symbolic = Symbolic(system)
        check_traps(self.symbolic, properties)
        commutation = Commutation(self.symbolic, Cache(cache_folder() if cached else None))
        self.blockers = commutation.blockers()
        if commutation.undecided:
            raise SolverGaveUpError(f"z3, commutation: no answer for {amount(commutation.undecided, 'pair')}")
        """For each slot the slots that it may not move left past."""
        self.asked = commutation.asked
        """How many pairs were put to the solver to find that out."""
        self._templates: dict[tuple[str, ...], Template] = {}

    def round(self, query: Query) -> Round:
        """One round as formulas."""
        return one_round(self.symbolic, query.outputs(self.system))

    def template(self, query: Query) -> Template:
        """One round as clauses."""
        outputs = query.outputs(self.system)
        if tuple(outputs) not in self._templates:
            self._templates[tuple(outputs)] = template(self.symbolic, self.blockers, outputs)
        return self._templates[tuple(outputs)]

    def limits(self, query: Query) -> list[tuple[Tally, int]]:
        """What is counted, and how much of it there may be: the step of an induction is about any execution."""
        if query.kind is Kind.STEP:
            return []
        slots = self.symbolic.actions
        return [(tally(self.system, slots, {name}), most) for name, most in self.budgets.items()]

    def clauses(self, query: Query) -> Clauses:
        """The query as clauses, put together as the search does it."""
        recorded = _Recorded()
        session = RoundSolver(self.template(query), recorded, unrolling=query.unrolling)
        limits = counters(session, self.limits(query))
        for _ in range(query.unrolled):
            session.deepen()
        session.add([[literal] for literal in within(limits)])
        session.add(query.asserts(session.unrolling, self.system))
        names = dict(self.names(session.unrolling))
        return Clauses(recorded.clauses, session.unrolling.top, names)

    def names(self, unrolling: Unrolling) -> Iterator[tuple[int, str]]:
        """What the variables of an unrolling stand for, those that stand for something."""
        variables = self.system.variables
        for position, variable in enumerate(self.system.choices):
            yield unrolling.choice(position), variable.name
        bits = [
            f"{v.name} = {show(value)}"
            for v in variables
            if v.place in self.symbolic.written
            for value in v.domain.values[1:]
        ]
        for round_ in range(unrolling.rounds + 1):
            for slot, action in enumerate(self.symbolic.actions if round_ else ()):
                yield unrolling.fire(slot, round_), f"{action.name} in round {round_}"
            for position, name in enumerate(bits):
                yield unrolling.bit(position, round_), f"{name} after round {round_}"
            for output in unrolling.template.outputs if round_ else ():
                yield unrolling.output(output, round_), f"{output} after round {round_}"
