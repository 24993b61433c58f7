"""Questions to the solver from where somebody stands: how can this become true?"""

from __future__ import annotations

from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.preparation import Prepared
from fencepost.encoding.engine.reachability import Origin, Reachability, ReachabilityAnswer
from fencepost.encoding.errors import BadInput
from fencepost.encoding.forms.expressions import Reader
from fencepost.encoding.language.system import GroundAction
from fencepost.encoding.language.terms import Term
from fencepost.explore.explorer import Explorer, Here
from fencepost.explore.paths import LOSE, Move


class SolverQuestion:
    """One question under way, about the end of a walk."""

    def __init__(self, asker: SolverDesk, here: Here, goal: str) -> None:
        self._asker, self._here = asker, here
        self._term = asker.read(goal)
        facts = {fact.name for fact in here.explorer.facts}
        is_action = isinstance(self._term, GroundAction)
        self.words = f"{goal} possible" if is_action else f"{goal} false" if goal in facts else goal
        """What is to come about."""
        self._key = "" if isinstance(self._term, GroundAction) else goal
        start = Origin(tuple(here.actions), tuple(here.lost), here.state)
        self._reaching = Reachability(
            here.explorer.replayer, start, self._term, asker.limits, asker.prepared.get(self._key)
        )

    def hear(self, seconds: float) -> ReachabilityAnswer:
        """What is known after listening for so long, or until it is over."""
        answer = self._reaching.hear(seconds)
        if self._reaching.prepared is not None:
            self._asker.prepared[self._key] = self._reaching.prepared
        return answer

    def stop(self, why: str) -> None:
        """Stop it; what was found stays."""
        self._reaching.stop(why)

    @property
    def way(self) -> list[Move]:
        """The moves that lead to the goal, as far as is known."""
        way = self._reaching.answer().way
        if way is None:
            return []
        names = [*(LOSE + name for name in way.lost), *(action.name for action in way.actions)]
        return [self._here.explorer.names.move(name) for name in names]


class SolverDesk:
    """What the questions about one instance share: the limits of each, and what was prepared for the first."""

    def __init__(self, explorer: Explorer, limits: Limits) -> None:
        self.limits = limits
        self.prepared: dict[str, Prepared] = {}
        self._explorer = explorer
        self._reader = Reader(explorer.system)

    def ask(self, here: Here, goal: str) -> SolverQuestion:
        """Ask how something can come about from here; see `read`."""
        return SolverQuestion(self, here, goal)

    def read(self, goal: str) -> Term | GroundAction:
        """What is to come about: an action is possible, a property or fact is false, an expression is true."""
        if goal in self._explorer.names.actions:
            return self._explorer.names.actions[goal]
        for fact in self._explorer.facts:
            if fact.name == goal:
                return ~fact.holds
        term = self.expression(goal)
        if term.type != "bool":
            raise BadInput(f"{goal}: is no yes or no; compare it, as in status == closed")
        self._explorer.replayer.concrete.predicate(term)
        return term

    def expression(self, text: str) -> Term:
        """An expression over the state; raises BadInput."""
        return self._reader.read(text)
