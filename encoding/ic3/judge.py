"""The judge of clauses that an engine found: induction over one action, in a process of its own.

An engine such as IC3 returns clauses of which it says that they are inductive together with some properties.
Its word is not evidence. The judge asks the proof obligations of all claims again, with a solver that the
engine does not use, and reports only what its own answers justify. A clause that is not inductive is
withdrawn like any other claim, and each property that no longer follows is not proved.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

from fencepost.encoding.engine.clauses import Clause, found_name, with_found
from fencepost.encoding.engine.events import ByActions, NotByActions, PreparationPhase
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.named_clauses import named_clause
from fencepost.encoding.errors import InternalError
from fencepost.encoding.induction.houdini import SHARES, Houdini, Posed, asked, pose
from fencepost.encoding.induction.proof_obligations import Statement
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.solving.solvers import Progress

Judged = ByActions | NotByActions | PreparationPhase | Progress


def judge(
    system: System, claims: Sequence[Statement], clauses: Sequence[Clause], limits: Limits
) -> Iterator[Judged]:
    """Yield for each claim whether it is inductive with the clauses and the system's invariants.

    `limits` has the solver, the conflicts that it may spend, and the seed. Raises SolverGaveUpError.
    """
    houdini = yield from settled(with_found(system, clauses), claims, limits)
    yield from conclusions(system, claims, clauses, houdini)


def conclusions(
    system: System, claims: Sequence[Statement], clauses: Sequence[Clause], houdini: Houdini
) -> Iterator[ByActions | NotByActions]:
    """Yield what the result of Houdini on the clauses and the system's invariants says of each claim."""
    by_name = {found_name(number): clause for number, clause in enumerate(clauses, 1)}
    for claim in claims:
        why_not = houdini.why_not(claim.name, system)
        if why_not is not None:
            yield NotByActions(claim.name, why_not)
            continue
        used = houdini.used(claim.name)
        needed = tuple(named_clause(system, by_name[name]) for name in used if name in by_name)
        yield ByActions(claim.name, tuple(name for name in used if name not in by_name), needed)


def settled(
    system: System, claims: Sequence[Statement], limits: Limits
) -> Generator[PreparationPhase | Progress, None, Houdini]:
    """Return the result of Houdini on the claims and the system's invariants."""
    houdini = yield from _posed(system, claims)
    while not houdini.settled:
        houdini.again()
        for answers in asked(houdini.posed, houdini.claims, houdini.kept, range(SHARES), limits):
            for answer in answers:
                if isinstance(answer, Progress):
                    yield answer
                else:
                    houdini.hear(answer)
    return houdini


def _posed(system: System, claims: Sequence[Statement]) -> Generator[PreparationPhase, None, Houdini]:
    properties = [claim for claim in claims if isinstance(claim, Property)]
    others = [claim for claim in claims if not isinstance(claim, Property)]
    for message in pose(system, properties, [*system.invariants, *others]):
        if isinstance(message, Posed):
            return Houdini(message)
        yield message
    raise InternalError("the questions of an induction were not made")
