"""The search for invariants of every size: IC3 at a small size, lifting, and induction at the next sizes.

The loop is that of IC3PO (Goel and Sakallah, FMCAD 2021). At each size in turn, the properties are proved by
induction over one action with the templates, and so is each template that such a proof used. A template that
is not inductive, though all templates are assumed, is a goal: IC3 proves it together with the properties, and
its clauses are lifted to further templates. A goal that is false is dropped. The loop ends when all sizes
need nothing new. The result is what induction proves; the word of IC3 is never reported.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.clauses import Clause, found_name
from fencepost.encoding.engine.events import PreparationPhase
from fencepost.encoding.induction.proof_obligations import Statement
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.system import Invariant, System
from fencepost.encoding.lifting.at_size import AtSize
from fencepost.encoding.lifting.judge import Judge
from fencepost.encoding.lifting.lift import lifted
from fencepost.encoding.lifting.reduction import MOST_KEPT, reduced
from fencepost.encoding.lifting.seeds import read_off
from fencepost.encoding.lifting.template_instances import allowed, covered
from fencepost.encoding.lifting.templates import Template
from fencepost.encoding.solving.solvers import Progress

OF_A_SEED = 2
"""The most templates of a clause that is known before any search. Most of these clauses are not needed."""

SEEDS = 100
"""The most clauses that are lifted before any search, the shortest first."""


@dataclass(frozen=True)
class Learnt:
    """Clauses that a search found. They are true if the search is right, which nobody relies on."""

    clauses: tuple[Clause, ...]


@dataclass(frozen=True)
class FalseAtSize:
    """A claim that a search found false, with the states of an execution that ends where it is false."""

    name: str
    states: tuple[State, ...]
    actions: tuple[GroundAction, ...]
    choices: tuple[str, ...]
    beginning: tuple[int, ...] = ()


ClauseSearch = Callable[
    [AtSize, Sequence[Statement], Sequence[Invariant]], Iterator[Learnt | FalseAtSize | Progress]
]
"""A search for clauses that prove claims at one size, such as IC3, with invariants that are proved."""


@dataclass(frozen=True)
class Standing:
    """Templates that are inductive together at the sizes proved, so far as they went."""

    templates: Mapping[str, Template]
    proved: int
    """The number of sizes, from the smallest, at which the properties are proved with these templates."""


@dataclass(frozen=True)
class Missing:
    """The number of a size, and the properties that the templates found do not prove there."""

    size: int
    properties: tuple[str, ...]


@dataclass(frozen=True)
class Stuck:
    """The end of a search without a result: the smallest size at which nothing new was found.

    `kept` are the templates that are inductive there, with the properties that are not proved.
    """

    size: int
    properties: tuple[str, ...]
    kept: Mapping[str, Template]


@dataclass(frozen=True)
class ViolatedAt:
    """A property that is violated at the size of that number. The search goes on without it."""

    size: int
    execution: FalseAtSize


@dataclass(frozen=True)
class AtAllSizes:
    """Templates that are inductive at every size, and with which every property is proved at every size."""

    templates: Mapping[str, Template]


DiscoveryMessage = Standing | Missing | Stuck | ViolatedAt | AtAllSizes | PreparationPhase | Progress


@dataclass
class Discovery:
    """A search over sizes, smallest first."""

    sizes: Sequence[AtSize]
    search: ClauseSearch
    seeds: Callable[[System], Sequence[Clause]] = read_off
    """The clauses that are known before any search."""
    pool: dict[str, Template] = field(default_factory=dict)
    """All templates that no state seen makes false, by name."""
    unlifted: list[tuple[int, Clause]] = field(default_factory=list)
    """Clauses that no template covers at every size, with the numbers of their sizes."""
    made: int = 0
    """The number of templates made so far, which names the next."""

    def run(self) -> Iterator[DiscoveryMessage]:
        """Search until all sizes are proved, all properties are violated, or no size gives a new template.

        A size at which no clause can be lifted may be too small to be like the others. The next one is then
        searched before it.
        """
        for at in self.sizes:
            yield PreparationPhase(f"{at.size.text}: simulating")
            _ = at.samples
        yield PreparationPhase(f"{self.sizes[0].size.text}: reading clauses off the actions")
        self._lift(0, sorted(self.seeds(self.sizes[0].system), key=len)[:SEEDS], OF_A_SEED)
        needed, first, stuck = set[str](), 0, 0
        while True:
            lacking = yield from self._prove(needed, first)
            if lacking is None and first == 0:
                yield PreparationPhase("leaving out what is not needed")
                yield AtAllSizes(reduced(self.sizes, self._inductive(needed)))
                return
            if lacking is None:
                break
            number, names = lacking
            at = self.sizes[number]
            yield Missing(number, tuple(name for name in names if name in at.names))
            goals = {name: self.pool[name] for name in names if name in self.pool}
            known = {name: self.pool[name] for name in needed if name in self.pool and name not in goals}
            learnt = yield from self._learn(number, known, goals)
            if not at.names:
                return
            if not learnt and first == 0:
                stuck = number
            first = 0 if learnt else number + 1
            needed = needed & self.pool.keys() if learnt else set[str]()
        yield PreparationPhase(f"{self.sizes[stuck].size.text}: what is missing")
        yield self._stuck(stuck)

    def _stuck(self, number: int) -> Stuck:
        at = self.sizes[number]
        judged = at.judge(self.pool).judge([*at.names, *at.declared, *at.readable(self.pool)])
        lacking = tuple(name for name in at.names if name not in judged.left)
        return Stuck(number, lacking, {n: t for n, t in self.pool.items() if n in judged.left})

    def _inductive(self, needed: set[str]) -> dict[str, Template]:
        """Return templates to choose from: all that are inductive at every size, or those that are needed.

        A size says nothing of the templates that it cannot have.
        """
        kept = dict(self.pool)
        while 0 < len(kept) <= MOST_KEPT:
            before = len(kept)
            for at in self.sizes:
                own = at.readable(kept)
                left = at.judge(kept).judge([*at.names, *at.declared, *own]).left
                kept = {name: template for name, template in kept.items() if name in left or name not in own}
            if len(kept) == before:
                return kept
        return {name: self.pool[name] for name in sorted(needed)}

    def _prove(
        self, needed: set[str], first: int
    ) -> Generator[DiscoveryMessage, None, tuple[int, tuple[str, ...]] | None]:
        """Prove the properties, and what is needed for them, at all sizes from the number `first` on.

        Add what is needed to `needed`. Return the number of a size and the claims that are not inductive
        there, or None.
        """
        number, judges = first, dict[int, Judge]()
        while number < len(self.sizes):
            at = self.sizes[number]
            yield PreparationPhase(f"{at.size.text}: induction with {len(self.pool)} templates")
            readable = at.readable(self.pool)
            if number not in judges:
                judges[number] = at.judge(self.pool)
            roots = [*at.names, *at.declared, *(name for name in readable if name in needed)]
            closure = judges[number].closure(roots, readable)
            more = {name for name in closure.needed if name in self.pool} - needed
            needed |= more
            if closure.lacking:
                return number, closure.lacking
            if more and number > first:
                number = first  # what is needed here has to be proved at the smaller sizes too
                continue
            number += 1
            if not first:
                yield Standing({name: self.pool[name] for name in sorted(needed)}, number)
        return None

    def _learn(
        self, number: int, kept: Mapping[str, Template], goals: Mapping[str, Template]
    ) -> Generator[DiscoveryMessage, None, bool]:
        """Find clauses at one size and add the templates that cover them. Return whether that may help.

        What induction proves of the templates `kept`, without the properties, is taken for granted.
        """
        at = self.sizes[number]
        asked: list[Statement] = [*at.claims, *at.readable(goals).values()]
        yield PreparationPhase(f"{at.size.text}: IC3" + (f" with {len(goals)} goals" if goals else ""))
        clauses, changed = list[Clause](), False
        for event in self.search(at, asked, at.proved(kept)):
            match event:
                case Learnt(clauses=found):
                    clauses += found
                case FalseAtSize(name=name, states=states):
                    if name in at.names:
                        yield ViolatedAt(number, event)
                        for one in self.sizes:
                            one.violated.add(name)
                    changed = True
                    self._forget(name, at, states)
                case _:
                    yield event
        yield PreparationPhase(f"{at.size.text}: lifting {len(clauses)} clauses")
        return self._lift(number, clauses) or changed

    def _lift(self, number: int, clauses: Sequence[Clause], most: int | None = None) -> bool:
        """Add templates of the clauses of one size that no template covers. Return whether there are any.

        `most` is the most templates of one clause.
        """
        at, changed = self.sizes[number], False
        known = set(self.pool.values())
        for clause in sorted(dict.fromkeys(clauses), key=len):
            if covered(allowed(at.system, clause), self.pool.values(), at.samples):
                continue
            templates = lifted(at.system, clause, [one.samples for one in self.sizes], at.size.numbers)
            if not templates:
                self.unlifted.append((number, clause))
            for template in templates[:most]:
                if template not in known:
                    known.add(template)
                    self.made += 1
                    self.pool[found_name(self.made)] = template
                    changed = True
        return changed

    def _forget(self, name: str, at: AtSize, states: Sequence[State]) -> None:
        """Drop a template that is false, and all that its execution makes false."""
        at.samples.add(states)
        self.pool.pop(name, None)
        self.pool = {other: t for other, t in self.pool.items() if at.samples.true(t)}
