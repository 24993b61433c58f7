"""IC3 as a search for clauses at one size: its clauses as they are, and its paths replayed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.engine.messages import FoundPath
from fencepost.encoding.ic3.finder import FoundClauses, find
from fencepost.encoding.induction.proof_obligations import Statement
from fencepost.encoding.language.system import Invariant
from fencepost.encoding.lifting.at_size import AtSize
from fencepost.encoding.lifting.discovery import FalseAtSize, Learnt
from fencepost.encoding.solving.solvers import Progress


def search(
    at: AtSize, claims: Sequence[Statement], proved: Sequence[Invariant]
) -> Iterator[Learnt | FalseAtSize | Progress]:
    """Yield clauses that prove the claims at this size, and the claims that an execution makes false."""
    for message in find(at.system, claims, proved):
        match message:
            case FoundClauses(clauses=clauses):
                yield Learnt(clauses)
            case FoundPath(property=str() as name):
                (claim,) = (one for one in claims if one.name == name)
                refuted = _replayed(at, claim, message)
                if refuted is not None:
                    yield refuted
            case Progress():
                yield message


def _replayed(at: AtSize, claim: Statement, path: FoundPath) -> FalseAtSize | None:
    """Return the execution with its states, or None if it is none or does not violate the claim."""
    actions, choices, beginning = path.execution(at.system)
    replayer = Replayer(at.system, at.size.instance.subject)
    try:
        states = replayer.follow(actions, choices, beginning)
    except NotAnExecution:
        return None
    if replayer.concrete.predicate(claim.holds)(states[-1]):
        return None
    return FalseAtSize(claim.name, tuple(states), tuple(actions), tuple(choices), beginning)
