"""Which property notices that a part of a protocol is changed, and why none does.

A mutant is noticed if a property is violated that holds without the change, if a witness is out of reach, or
if the changed system is badly defined. It is equivalent if it reaches the same states. Nothing is noticed
then, unless one of liveness does. The cheap questions are asked of all mutants first: its states, if
the unchanged system has few; random simulations; the invariants of the unchanged system. The engines of
`check` then share the time that is left; they are given the clauses of a proof of the unchanged system.
Properties of liveness are asked last, of mutants that no other property notices.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.simulation import simulate
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.messages import FoundPath
from fencepost.encoding.engine.verdicts import Result, Verdict
from fencepost.encoding.errors import ModelError, time_out
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.ic3.kept_proof import Kept
from fencepost.encoding.induction import directed_simulation
from fencepost.encoding.language.actions import Schema
from fencepost.encoding.language.conditional_terms import UNDEFINED
from fencepost.encoding.language.fold import Folding, constants
from fencepost.encoding.language.patterns import families_read
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.state import amount
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import Family
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.liveness.live_check import check_all
from fencepost.encoding.mutation.kept_proofs import UnchangedProof, proof_of
from fencepost.encoding.mutation.mutant_findings import MutantFinding, MutantOutcome, Why
from fencepost.encoding.mutation.mutant_states import ChangedSteps, Graph, MutantStates, states_within
from fencepost.encoding.mutation.mutants import (
    Mutant,
    changed,
    is_idle,
    keeps_constants,
    mutants,
    named_actions,
)
from fencepost.encoding.solving.crew import Crew, OutOfTime
from fencepost.encoding.solving.workers import Ended, Worker, reason_of

MOST_STATES = 40_000
"""The states after which an enumeration of the file or of a mutant ends."""
FEW_STATES = 5_000
"""The same if the invariants of the file prove its properties."""
SIMULATIONS = 60
"""The random simulations of a mutant that has too many states."""


@dataclass(frozen=True)
class Unchanged:
    """The instance without a change: the result of each property, its states if known, and its proof."""

    instance: Instance
    results: tuple[Result, ...]
    graph: Graph
    proof: UnchangedProof | None = None
    paths: tuple[FoundPath, ...] = ()
    """An execution to each witness, if the invariants are asked: most mutants can take the same steps."""
    seconds: float = 0.0

    @property
    def clean(self) -> list[Property]:
        """The properties about states that no execution violates within the limits.

        Only these, and those of liveness that hold (`live`), can notice a mutant.
        """
        return self._clean(self.instance.system.properties)

    @property
    def live(self) -> list[Property]:
        """The properties of liveness that no fair execution violates."""
        return self._clean(self.instance.system.liveness)

    def _clean(self, properties: Sequence[Property]) -> list[Property]:
        found = {p.name: p for p in properties}
        return [found[r.property] for r in self.results if r.property in found and _is_clean(r)]

    @property
    def exercised(self) -> list[str]:
        """The names of the clean properties about states whose witness is reached."""
        clean = {prop.name for prop in self.clean}
        return [r.property for r in self.results if r.property in clean and r.witness]

    @cached_property
    def folding(self) -> Folding:
        """The folding of the system as it was written."""
        return Folding(constants(self.instance.written))

    @cached_property
    def actions(self) -> Mapping[str, Schema]:
        """The actions as they were written, by name."""
        return named_actions(self.instance.written)

    @cached_property
    def read(self) -> frozenset[Family]:
        """The state variables that the clean properties and their witnesses read."""
        return families_read(*(t for p in (*self.clean, *self.live) for t in (p.holds, p.witness)))

    def unread(self, mutant: Mutant, system: System) -> str | None:
        """Return the words that no property depends on what the mutant changes, None if one may."""
        old, new = self.actions[mutant.action].action, mutant.schema.action
        same = {id(update) for update in old.then} & {id(update) for update in new.then}
        differing = [u for u in (*old.then, *new.then) if new.when is not old.when or id(u) not in same]
        families = {u.target.family for u in differing} - {UNDEFINED}
        schemas = (*self.instance.system.schemas, *system.schemas)
        found, more = set[Family](), {*self.read}
        while more != found:
            found = more
            writing = ((s.action.when, u) for s in schemas for u in s.action.then if u.target.family in found)
            terms = (term for when, u in writing for term in (when, *u.target.index, u.value, u.when))
            more = found | families_read(*terms)
        if families & found:
            return None
        return f"no property depends on {', '.join(sorted(f.name for f in families))}"


def _is_clean(result: Result) -> bool:
    if result.verdict in (Verdict.PROVED, Verdict.HOLDS):
        return True
    return result.verdict is Verdict.VACUOUS and result.complete


def unchanged(instance: Instance, properties: Sequence[Property], limits: Limits) -> Unchanged:
    """Check the instance without a change, visit its states, and prove it. Raises KeyboardInterrupt."""
    outcome = check_all(instance, properties, limits)
    if outcome.interrupted:
        raise KeyboardInterrupt
    gone, system = replace(limits, gone=limits.gone + outcome.seconds), instance.system
    known = Unchanged(instance, outcome.results, Graph(system, {}, None), seconds=outcome.seconds)
    proof = proof_of(outcome.results)
    is_proved = bool(known.clean) and {prop.name for prop in known.clean} <= proof.claims
    most = FEW_STATES if is_proved else MOST_STATES
    for message in _messages([Worker("states", states_within, system, most, gib=limits.memory)], gone):
        if isinstance(message, tuple) and message[1]:
            known = replace(known, graph=Graph(system, message[0], frozenset(message[0])))
    if not is_proved:
        return known
    reaching = Worker("witnesses", directed_simulation.simulate, system, known.clean, gib=limits.memory)
    paths = tuple(message for message in _messages([reaching], gone) if isinstance(message, FoundPath))
    return replace(known, proof=proof, paths=paths)


def weaken(known: Unchanged, limits: Limits) -> Iterator[tuple[Mutant, MutantFinding]]:
    """Yield each mutant once with the finding about it. Raises KeyboardInterrupt."""
    until = time.perf_counter() + limits.timeout - limits.gone
    over = MutantFinding(MutantOutcome.UNDECIDED, time_out(limits.timeout))
    listed = mutants(known.instance.written)
    _ = known.graph.concrete.steps, known.folding, known.proof and known.graph.symbolic  # before the workers
    items, left = list(enumerate(listed)), dict.fromkeys(listed, over)
    shares = [items[n :: limits.jobs] for n in range(limits.jobs)]
    workers = [Worker("mutants", _cheap, known, share, gib=limits.memory) for share in shares]
    for number, found in _messages(workers, limits):
        left[listed[number]] = found
        lives = found.outcome is not MutantOutcome.NOTICED and found.why is not Why.IDLE
        if found.outcome is not MutantOutcome.UNDECIDED and not (known.live and lives):
            yield listed[number], left.pop(listed[number])
    if left and known.clean and known.proof is None:
        half = replace(limits, gone=0.0, timeout=max(until - time.perf_counter(), 0.0) / 2)
        outcome = check_all(known.instance, known.clean, replace(half, engines=("induction", "ic3")))
        if outcome.interrupted:
            raise KeyboardInterrupt
        known = replace(known, proof=proof_of(outcome.results))
    for number, (mutant, cheap) in enumerate(left.items()):
        rest = (until - time.perf_counter()) / (len(left) - number)
        own = replace(limits, gone=0.0, timeout=rest / 2 if known.live else rest)
        found = cheap
        if cheap.outcome is MutantOutcome.UNDECIDED and known.clean:
            found = _checked(known, mutant, known.clean, own) if rest > 0 else over
        if found.outcome is MutantOutcome.UNNOTICED and cheap.why is not None:
            reason = cheap.reason if cheap.why is Why.UNREAD else found.reason
            found = replace(found, why=cheap.why, shown=cheap.shown, reason=reason)
        if known.live and found.outcome is not MutantOutcome.NOTICED:
            in_the_end = _checked(known, mutant, known.live, own) if rest > 0 else over
            found = found if in_the_end.outcome is MutantOutcome.UNNOTICED else in_the_end
        yield mutant, found


def _messages(workers: Sequence[Worker], limits: Limits) -> Iterator[Any]:
    """Yield the messages of workers until they end, or the time is over. Raises what they raise."""
    with Crew(time.perf_counter() + limits.timeout - limits.gone) as crew, suppress(OutOfTime):
        for worker in workers:
            crew.start(worker)
        for worker, message in crew.heard():
            if isinstance(message, Ended):
                reason_of(message, worker.name, limits.memory)
            else:
                yield message


def _cheap(known: Unchanged, items: Sequence[tuple[int, Mutant]]) -> Iterator[tuple[int, MutantFinding]]:
    """Yield the number of each of these mutants, with the finding from the cheap questions."""
    for number, mutant in items:
        yield number, finding(known, mutant)


def finding(known: Unchanged, mutant: Mutant) -> MutantFinding:
    """Return the finding about one mutant from the cheap questions."""
    if mutant.part == "fairness":
        return _equivalent("it reaches the same states", Why.PROGRESS)
    if is_idle(known.folding, known.actions[mutant.action], mutant):
        return _equivalent("it has no effect, as the constants of this instance show")
    if not (known.clean or known.live):
        return MutantFinding(MutantOutcome.UNDECIDED, "no property is known to hold without the change")
    try:
        system, shares = changed_system(known, mutant), keeps_constants(known.folding, mutant)
        sent_at_most_once(system)
        if known.graph.states is None:
            return _simulated(known, mutant, system, shares)
        graph = known.graph if shares else Graph(system, {}, known.graph.states)
        states = MutantStates(graph, system, mutant.action, known.instance.subject)
        states.visit([prop.name for prop in known.clean], known.exercised, MOST_STATES)
        return _judged(known, mutant, system, states)
    except ModelError as error:
        return _refused(error)


def changed_system(known: Unchanged, mutant: Mutant) -> System:
    """Return the system of a mutant, folded. Only the changed action is folded again, if that is enough."""
    if keeps_constants(known.folding, mutant):
        schema = replace(mutant.schema, action=known.folding.action(mutant.schema.action))
        return changed(known.instance.system, replace(mutant, schema=schema))
    return known.instance.protocol.fold(changed(known.instance.written, mutant))


def _equivalent(reason: str, why: Why = Why.IDLE) -> MutantFinding:
    return MutantFinding(MutantOutcome.EQUIVALENT, reason, why=why)


def _refused(error: Exception) -> MutantFinding:
    brief = re.split(r"[:;] ", str(error))[0]
    return MutantFinding(MutantOutcome.NOTICED, f"badly defined: {brief}")


def _noticed(violated: Mapping[str, int], unreached: Iterable[str] = ()) -> MutantFinding:
    return MutantFinding(
        MutantOutcome.NOTICED, noticed_by={**dict.fromkeys([*violated, *unreached]), **violated}
    )


def _judged(known: Unchanged, mutant: Mutant, system: System, states: MutantStates) -> MutantFinding:
    """Return the finding from the states of a mutant, undecided if there are too many of them."""
    if states.violated or (states.is_over and states.unreached):
        return _noticed(states.violated, states.unreached if states.is_over else ())
    if not states.is_over:
        return MutantFinding(MutantOutcome.UNDECIDED, f"more than {amount(MOST_STATES, 'state')}")
    before, after = known.graph.states or frozenset(), states.parents.keys()
    number = amount(len(after), "state")
    if before == after:
        why = Why.IDLE if states.changed.other is None else Why.PROGRESS
        return _equivalent(f"it reaches the same {number}", why)
    reason = f"no property is violated in its {number}"
    places = [v.place for v in system.variables if v.family in known.read]
    one, two = ({tuple(s[p] for p in places) for s in states} for states in (before, after))
    why, shown = Why.SAME_READ if two <= one else Why.DIFFERS, tuple[str, ...]()
    if states.new is not None:
        shown = states.new.lines(system)
    else:
        told = "" if known.live else ": only liveness would notice"
        why, reason = Why.PROGRESS, f"it reaches {len(after)} of {len(before)} states and no other{told}"
    found = MutantFinding(MutantOutcome.UNNOTICED, reason, why=why, shown=shown)
    return _explained(known, mutant, system, found)


def _simulated(known: Unchanged, mutant: Mutant, system: System, shares: bool) -> MutantFinding:
    """Return the finding from the proof of the unchanged system, if there is one, and from simulations.

    A mutant that keeps the proof lives if witnesses are seen. `shares` says that its constants are the same.
    """
    subject, kept = known.instance.subject, False
    if known.proof is not None and shares:
        slots = known.graph.slots(mutant.action)
        kept, same = known.proof.question(known.graph.symbolic, system, slots)
        if same:
            return _equivalent("the changed action does the same in every reachable state, by induction")
    names = [prop.name for prop in known.clean]
    properties = [prop for prop in system.properties if prop.name in names]
    steps = ChangedSteps(known.graph, system, mutant.action, subject)
    found = simulate(system, subject, properties, SIMULATIONS, seed=1, first=True, visit=steps.visit)
    if found.traces:
        return _noticed({name: len(trace.steps) for name, trace in found.traces.items()})
    missing = [p for p in properties if p.name in known.exercised and not found.witnessing[p.name]]
    result = MutantFinding(MutantOutcome.UNDECIDED, "the invariants of the unchanged system do not decide it")
    if kept and all(_reaches(known, steps.replayer, prop) for prop in missing):
        result = MutantFinding(
            MutantOutcome.UNNOTICED, "the changed action keeps all invariants of the proof"
        )
    if steps.other is not None:
        why = Why.PROGRESS if steps.other.after is None else Why.DIFFERS  # as far as simulations go
        result = replace(result, why=why, shown=steps.other.lines(system))
    return _explained(known, mutant, system, result)


def _reaches(known: Unchanged, replayer: Replayer, prop: Property) -> bool:
    """Return whether a mutant reaches a witness by the steps that reach it without the change."""
    for path in known.paths:
        if path.property == prop.name:
            with suppress(NotAnExecution):
                replayer.reach(prop.name, prop.witness, *path.execution(replayer.system))
                return True
    return False


def _explained(known: Unchanged, mutant: Mutant, system: System, found: MutantFinding) -> MutantFinding:
    """Return the finding, or that no property depends on the change. It counts if the mutant lives."""
    unread = known.unread(mutant, system)
    return found if unread is None else replace(found, why=Why.UNREAD, reason=unread, shown=())


# The engines of `check`.


class ChangedInstance(NamedTuple):
    """A changed system under the names of the instance that it comes from."""

    system: System
    subject: Subject


def _checked(known: Unchanged, mutant: Mutant, clean: Sequence[Property], limits: Limits) -> MutantFinding:
    """Return the finding of a check of clean properties of the changed system. Raises KeyboardInterrupt."""
    one = replace(limits, minimize=Minimize.NONE, one_is_enough=True, enumeration_first=True)
    names = [prop.name for prop in clean]
    try:
        system = changed_system(known, mutant)
        properties = [prop for prop in (*system.properties, *system.liveness) if prop.name in names]
        kept = None if known.proof is None else Kept(known.proof.clauses, {})
        outcome = check_all(ChangedInstance(system, known.instance.subject), properties, one, kept=kept)
    except ModelError as error:
        return _refused(error)
    if outcome.interrupted:
        raise KeyboardInterrupt
    violated = {r.property: r.steps or 0 for r in outcome.results if r.verdict is Verdict.VIOLATED}
    unbounded = system.default_rounds is None and one.rounds is None and one.bound is None
    vacuous = [r for r in outcome.results if r.verdict is Verdict.VACUOUS and (r.complete or unbounded)]
    reached = {r.property for r in known.results if r.witness}
    unreached = [r.property for r in vacuous if r.property in reached]
    if violated or unreached:
        return _noticed(violated, unreached)
    for result in outcome.results:
        if not _is_clean(result):
            reason = f"{result.property}: {result.reason or result.verdict.value}"
            return MutantFinding(MutantOutcome.UNDECIDED, reason)
    held = [result.rounds for result in outcome.results if result.verdict is Verdict.HOLDS]
    within = f" in {amount(max(held), 'round')}" if held else ""
    return MutantFinding(MutantOutcome.UNNOTICED, f"no property is violated{within}")
