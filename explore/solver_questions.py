"""Questions to the solver from the end of a path: how can this become true?"""

from __future__ import annotations

from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.terms import Term
from fencepost.encoding.rounds.preparation import Prepared
from fencepost.encoding.rounds.reachability import PathEnd, Reachability, ReachabilityAnswer
from fencepost.explore.explorer import Explorer, Here
from fencepost.explore.expressions import Reader
from fencepost.explore.paths import LOSE, Move


class SolverQuestion:
    """One question about the end of a path, while it runs and after."""

    def __init__(self, asker: SolverDesk, here: Here, goal: str) -> None:
        """Start the question."""
        self._asker, self._here = asker, here
        self._term = asker.read(goal)
        claims = {claim.name for claim in here.explorer.claims}
        is_action = isinstance(self._term, GroundAction)
        self.words = f"{goal} becomes {'possible' if is_action else 'false' if goal in claims else 'true'}"
        """The goal in words."""
        self._key = "" if isinstance(self._term, GroundAction) else goal
        start = PathEnd(tuple(here.actions), tuple(here.lost), here.state, here.beginning)
        self._reaching = Reachability(
            here.explorer.replayer, start, self._term, asker.limits, asker.prepared.get(self._key)
        )

    def hear(self, seconds: float) -> ReachabilityAnswer:
        """Return the answer so far, after that time or at the end."""
        answer = self._reaching.hear(seconds)
        if self._reaching.prepared is not None:
            self._asker.prepared[self._key] = self._reaching.prepared
        return answer

    def stop(self, why: str) -> None:
        """Stop the question; moves that were found stay."""
        self._reaching.stop(why)

    @property
    def way(self) -> list[Move]:
        """The moves that lead to the goal, as far as they are known."""
        way = self._reaching.answer().way
        if way is None:
            return []
        names = [*(LOSE + name for name in way.lost), *(action.name for action in way.actions)]
        return [self._here.explorer.names.move(name) for name in names]


class SolverDesk:
    """The common part of the questions about one instance: their limits, and prepared work.

    The first question prepares it.
    """

    def __init__(self, explorer: Explorer, limits: Limits) -> None:
        """Prepare nothing yet."""
        self.limits = limits
        self.prepared: dict[str, Prepared] = {}
        self._explorer = explorer
        self._reader = Reader(explorer.system)

    def ask(self, here: Here, goal: str) -> SolverQuestion:
        """Ask how a goal can be reached from here; see `read`."""
        return SolverQuestion(self, here, goal)

    def read(self, goal: str) -> Term | GroundAction:
        """Return the goal: an action possible, a property or invariant false, an expression true.

        Raises BadInput for another text.
        """
        for action, call in self._explorer.calls.items():
            if goal in (call.name, call.line):
                return action
        for claim in self._explorer.claims:
            if claim.name == goal:
                return ~claim.holds
        term = self.expression(goal)
        if term.type != "bool":
            raise BadInput(f"{goal}: is neither true nor false; compare it, as in status == closed")
        self._explorer.replayer.concrete.predicate(term)
        return term

    def expression(self, text: str) -> Term:
        """Return an expression over the state; raise BadInput if it is none."""
        return self._reader.read(text)
