"""The process that looks for invariants, and its findings as text that a command can print at any time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.engine.clauses import found_name
from fencepost.encoding.engine.events import PreparationPhase
from fencepost.encoding.engine.messages import FoundPath
from fencepost.encoding.ic3.finder import FoundClauses, find
from fencepost.encoding.induction.invariants_examined import Breaks, Examination
from fencepost.encoding.induction.proof_obligations import Statement
from fencepost.encoding.language.system import Invariant
from fencepost.encoding.language.traces import Trace
from fencepost.encoding.lifting.at_size import AtSize
from fencepost.encoding.lifting.consequences import following
from fencepost.encoding.lifting.discovery import (
    AtAllSizes,
    Discovery,
    FalseAtSize,
    Learnt,
    Missing,
    Standing,
    Stuck,
    ViolatedAt,
)
from fencepost.encoding.lifting.sentences import sentence, source
from fencepost.encoding.lifting.sizes import Size
from fencepost.encoding.lifting.templates import Template
from fencepost.encoding.solving.solvers import Progress


@dataclass(frozen=True)
class LiftedInvariant:
    """An invariant that was found: as people read it, as source, and the sizes at which it is inductive.

    `source` is None if a protocol's file cannot have it: it reads a choice, or it names a value that some
    size does not have.
    """

    name: str
    text: str
    source: str | None
    sizes: tuple[str, ...]
    reads_choice: bool = False


@dataclass(frozen=True)
class Discovered:
    """What is known so far.

    `invariants` are inductive together, and with the declared ones, at their sizes. `proved` has the sizes at
    which all properties are proved with them. `complete` says that these are all sizes. `missing` has a size
    with the properties that are not proved there, and `breaks` a counterexample to induction for each.
    `implied` and `not_implied` are declared invariants that were hidden, at the size `compared`. `violated`
    has for each property that is violated the size and an execution. `together` has the size at which several
    parameters are raised at once, if it was asked, and what is not proved there.
    """

    invariants: tuple[LiftedInvariant, ...] = ()
    proved: tuple[str, ...] = ()
    complete: bool = False
    missing: tuple[str, tuple[str, ...]] | None = None
    breaks: tuple[Breaks, ...] = ()
    implied: tuple[str, ...] = ()
    not_implied: tuple[str, ...] = ()
    compared: str = ""
    violated: tuple[tuple[str, Trace], ...] = ()
    together: tuple[str, tuple[str, ...]] | None = None


def discover(
    sizes: Sequence[Size],
    joint: Size | None,
    properties: tuple[str, ...],
    dropped: bool,
    solver: str,
) -> Iterator[Discovered | PreparationPhase | Progress]:
    """Look for invariants of these sizes, and try them at the size `joint` in the end."""
    several = [AtSize(size, properties, dropped, solver) for size in sizes]
    last = None if joint is None else AtSize(joint, properties, dropped, solver)
    record = FindingsSoFar(several)
    for finding in Discovery(several, search).run():
        match finding:
            case Standing(templates=templates, proved=proved):
                if proved >= len(record.known.proved):
                    yield record.standing(templates, proved)
            case Missing(size=number, properties=names):
                yield record.missing(number, names)
            case Stuck(size=number, properties=names, kept=templates):
                yield record.missing(number, names)
                yield record.explain(number, templates)
            case ViolatedAt(size=number, execution=execution):
                yield record.violated(several[number], execution)
            case AtAllSizes(templates=templates):
                record.standing(templates, len(several))
                yield record.add(complete=True, missing=None)
                yield from record.compare()
                if last is not None:
                    yield from record.try_together(last)
                return
            case _:
                yield finding


@dataclass
class FindingsSoFar:
    """The findings so far."""

    sizes: Sequence[AtSize]
    known: Discovered = field(default_factory=Discovered)
    templates: Mapping[str, Template] = field(default_factory=dict)

    def add(self, **news: object) -> Discovered:
        """Change what is known."""
        self.known = replace(self.known, **news)  # type: ignore[arg-type]
        return self.known

    def standing(self, templates: Mapping[str, Template], proved: int) -> Discovered:
        """Note templates that prove the properties at the first sizes, as far as these sizes have them."""
        self.templates = templates
        sizes = self.sizes[:proved]
        names = tuple(at.size.text for at in sizes)
        found = []
        for number, template in enumerate(templates.values(), 1):
            own = [at for at in sizes if at.readable({found_name(number): template})]
            if not own:
                continue
            at = own[0]
            said = sentence(template, at.system, at.size.numbers)
            name = f"found-{number}"
            of_all = all(at.readable({found_name(number): template}) for at in self.sizes)
            pasted = source(name, said, at.system) if of_all and not said.reads_choice else None
            where = tuple(o.size.text for o in own)
            found.append(LiftedInvariant(name, said.text, pasted, where, said.reads_choice))
        return self.add(invariants=tuple(found), proved=names)

    def violated(self, at: AtSize, execution: FalseAtSize) -> Discovered:
        """Note a property that is violated, with the execution."""
        (prop,) = at.size.instance.properties(execution.name)
        replayer = Replayer(at.system, at.size.instance.subject)
        trace = replayer.spare_faults(prop, execution.actions, execution.choices, execution.beginning)
        return self.add(violated=(*self.known.violated, (at.size.text, trace)))

    def missing(self, number: int, names: tuple[str, ...]) -> Discovered:
        """Note a size at which properties are not proved."""
        return self.add(missing=(self.sizes[number].size.text, names))

    def compare(self) -> Iterator[Discovered | PreparationPhase]:
        """Note which hidden invariants follow from what is found."""
        at = self.sizes[min(1, len(self.sizes) - 1)]
        hidden = at.size.system.invariants
        if not (at.dropped and hidden):
            return
        yield PreparationPhase(f"{at.size.text}: which declared invariants follow")
        given: list[Statement] = [*at.claims, *at.readable(self.templates).values()]
        implied = following(at.system, given, hidden, at.solver)
        rest = tuple(i.name for i in hidden if i.name not in implied)
        yield self.add(implied=implied, not_implied=rest, compared=at.size.text)

    def try_together(self, at: AtSize) -> Iterator[Discovered | PreparationPhase]:
        """Note whether the properties are proved at a size at which several parameters are raised."""
        yield PreparationPhase(f"{at.size.text}: induction with {len(self.templates)} templates")
        at.violated.update(trace.property for _, trace in self.known.violated)
        judged = at.judge(self.templates).judge([*at.names, *at.declared, *at.readable(self.templates)])
        lacking = () if judged.proves(()) else at.names
        lacking = tuple(name for name in at.names if name in lacking or name not in judged.left)
        yield self.add(together=(at.size.text, lacking))

    def explain(self, number: int, templates: Mapping[str, Template]) -> Discovered:
        """Note a counterexample to induction for each property that the templates do not prove at a size."""
        at = self.sizes[number]
        found = [*at.system.invariants, *at.readable(templates).values()]
        system = replace(at.system, invariants=tuple(found))
        claims = [*found, *(Invariant(p.name, p.meaning, p.holds) for p in at.claims)]
        examination = Examination(Replayer(system, at.size.instance.subject))
        wanted = {p.name for p in at.claims}
        breaks = [
            event
            for event in examination.breaks(claims)
            if isinstance(event, Breaks) and event.name in wanted
        ]
        return self.add(breaks=tuple(breaks))


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
