"""The engine of IC3: clauses are found from the properties alone, and judged by induction over one action."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fencepost.encoding.engine.clauses import as_one
from fencepost.encoding.engine.events import ByActions, NotByActions, Remark, Unreached
from fencepost.encoding.engine.messages import FoundPath
from fencepost.encoding.engine.path_replay import PathReplay
from fencepost.encoding.engine.work import Work
from fencepost.encoding.ic3.finder import FoundClauses
from fencepost.encoding.ic3.judge import judge
from fencepost.encoding.induction.inductive_proof import InductiveProof
from fencepost.encoding.induction.proof_obligations import Never, Statement, property_of
from fencepost.encoding.language.carried_invariants import carrying
from fencepost.encoding.language.system import Invariant
from fencepost.encoding.solving.workers import Worker


class FoundProof:
    """Proof by clauses that IC3 finds, of the properties that declared invariants leave open.

    IC3's own word is no evidence. Its clauses become invariants of the system, and induction over one
    action, with another solver, has to confirm them. A path that it finds is replayed. Of a property that is
    proved, and whose witness was not reached, it is asked whether the witness is never true.
    """

    proves = True

    def __init__(
        self,
        work: Work,
        induction: InductiveProof,
        suits: bool,
        name: str,
        find: Callable[..., Iterator[Any]],
    ) -> None:
        """Prepare nothing yet: the search begins once `induction` is over.

        `suits` says whether the limits ask for this engine. `find` is the search, and `name` its name.
        """
        self._work, self._induction = work, induction
        self.suits, self._name, self._find = suits, name, find
        self._worker: Worker | None = None
        self._asked: dict[str, Statement] = {}
        """The claims that are searched for and judged now, by name."""
        self._lemmas: dict[str, Statement] = {}
        """The open claims that are not asked about and may be proved along, by name."""
        self._granted: tuple[Invariant, ...] = ()
        """What is proved by induction with declared invariants alone, properties too: inductive by itself."""
        self._searches = 0
        self.is_over = False

    def begin(self) -> None:
        """Start nothing yet."""

    def go_on(self) -> None:
        """Search for the open properties; then for the witnesses that those proved still lack."""
        if self.is_over or (self._induction.suits and not self._induction.is_over):
            return
        if self._worker is not None and not any(map(self._is_open, self._asked.values())):
            self._work.dismiss(self._worker)
            self._worker = None
        while self._worker is None and not self.is_over:
            self._search_next()

    def take(self, worker: Worker, message: Any) -> None:
        """Handle a message of the search or of the judge."""
        match message:
            case FoundPath(property=name):
                claim = next(iter(self._asked.values())) if name is None else self._asked[name]
                PathReplay(self._work, self._name).report(
                    message, property_of(claim), isinstance(claim, Never)
                )
            case FoundClauses():
                self._judge(worker, message)
            case ByActions(property=name) | NotByActions(property=name) if name not in self._asked:
                pass  # a lemma: the user has not asked about it
            case ByActions(property=name):
                asked = self._asked[name]
                proved = Unreached(asked.about.name) if isinstance(asked, Never) else message
                self._work.knowledge.hear(proved)
            case NotByActions(property=name, reason=reason):
                found = f"the clauses that {self._name} found do not prove {name}"
                self._work.listen(Remark(f"{found}: it is {reason}"))
            case _:
                raise AssertionError(f"no message of this engine: {message}")

    def end(self, worker: Worker) -> None:
        """Handle the end of the search or of the judge."""
        self._worker = None

    def _search_next(self) -> None:
        """Begin the first search, or the second, which is about witnesses; then the engine is over."""
        self._searches += 1
        knowledge = self._work.knowledge
        still = [prop for prop in self._work.properties if self._is_open(prop)]
        claims: list[Statement] = []
        match self._searches:
            case 1:
                proved = [prop for prop in self._work.properties if knowledge.is_inductive(prop.name)]
                as_invariants = (Invariant(prop.name, prop.meaning, prop.holds) for prop in proved)
                self._granted = (*self._work.assumed, *as_invariants)
                claims = [prop for prop in still if not knowledge.is_inductive(prop.name)]
            case 2:
                claims = [Never(prop) for prop in still if knowledge.is_inductive(prop.name)]
            case _:
                self.is_over = True
        self._asked = {claim.name: claim for claim in claims}
        if claims:
            work = self._work
            granted = (*self._granted, *as_one(work.system, work.kept))
            known = {invariant.name for invariant in granted}
            self._lemmas = {lemma.name: lemma for lemma in work.lemmas if lemma.name not in known}
            lemmas = list(self._lemmas.values())
            asked = work.system, claims, granted, work.limits.induction_solver, work.limits.conflicts, lemmas
            self._worker = work.start(self, self._name, self._find, *asked)

    def _is_open(self, claim: Statement) -> bool:
        """Return whether the property that a claim is about has no violation, and no proof with a witness."""
        name = property_of(claim)
        return self._work.knowledge.violation(name) is None and not self._work.knowledge.settled(name)

    def _judge(self, searching: Worker, found: FoundClauses) -> None:
        """Put the clauses to induction over one action, with what the search took for granted."""
        work = self._work
        work.dismiss(searching)
        system = carrying(work.system, self._granted)
        claims = [(self._asked | self._lemmas)[name] for name in found.properties]
        clauses = tuple(dict.fromkeys((*work.kept, *found.clauses)))
        self._worker = work.start(self, "judge", judge, system, claims, clauses, work.limits)
