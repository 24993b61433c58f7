"""Candidates for invariants, read off the actions: which of them are inductive, and what they prove."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from fencepost.encoding.engine.events import PreparationPhase
from fencepost.encoding.engine.houdini import SHARES, Houdini, Posed, pose
from fencepost.encoding.induction.directed_simulation import falsified
from fencepost.encoding.induction.proof_obligations import WELL_DEFINED
from fencepost.encoding.induction.read_off import candidates
from fencepost.encoding.induction.withdrawal import ObligationSolver, induct, share_out
from fencepost.encoding.language.source import invariant_source
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.solving.solvers import Progress, backend


@dataclass(frozen=True)
class Candidate:
    """A candidate that is inductive together with the others and the properties, as source."""

    name: str
    source: str


@dataclass(frozen=True)
class Offer:
    """The candidates that are inductive, and what they prove.

    `read_off` counts all candidates, `simulated` those that are true in every simulated state. `kept` has
    the properties that every action keeps, each with the claims that its proof uses, and `broken` says of the
    others why they are not inductive. If an action may be badly defined, `undefined` says which: then no
    property is proved, and the candidates are inductive as far as no such step is taken.
    """

    read_off: int
    simulated: int
    candidates: tuple[Candidate, ...]
    kept: dict[str, tuple[str, ...]]
    broken: dict[str, str]
    undefined: str | None


def offer(
    send: object, system: System, properties: Sequence[Property]
) -> list[Iterator[PreparationPhase | Progress | Offer]]:
    """Return the generator of the process that reads candidates off, and asks which are inductive.

    The invariants that the system declares are claims too.
    """
    return [_offer(system, properties)]


def _offer(system: System, properties: Sequence[Property]) -> Iterator[PreparationPhase | Progress | Offer]:
    yield PreparationPhase("reading the actions")
    found = candidates(system)
    yield PreparationPhase("simulation")
    left = without_false(system, found)
    *_, posed = pose(lambda message: None, system, properties, [*system.invariants, *left])[0]
    assert isinstance(posed, Posed)
    yield PreparationPhase("induction")
    houdini = yield from settled(posed)
    inductive = [c for c in left if c.name in houdini.claims]
    yield Offer(
        len(found),
        len(left),
        tuple(Candidate(c.name, invariant_source(c, system.state)) for c in inductive),
        {p.name: houdini.used(p.name) for p in properties if p.name in houdini.proved},
        {p.name: why for p in properties if (why := houdini.why_not(p.name, system)) is not None},
        houdini.why_not(WELL_DEFINED, system),
    )


def without_false(system: System, found: Sequence[Invariant]) -> list[Invariant]:
    """Return the candidates that are true in all states that simulations reach."""
    false = {simulated.name for simulated in falsified(system, found)}
    return [candidate for candidate in found if candidate.name not in false]


def settled(posed: Posed) -> Generator[Progress, None, Houdini]:
    """Return Houdini once the claims left are inductive. Raises SolverGaveUpError."""
    houdini = Houdini(posed)
    solver = ObligationSolver(posed.obligations, backend("cadical"))
    shares = share_out(posed.obligations.questions, SHARES)
    while not houdini.settled:
        houdini.again()
        for number, questions in enumerate(shares):
            for message in induct(solver, number, questions, houdini.claims, dict(houdini.kept)):
                if isinstance(message, Progress):
                    yield message
                else:
                    houdini.hear(message)
    return houdini
