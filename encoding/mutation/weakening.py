"""Which property notices that a part of a protocol is changed, and why none does.

A mutant is noticed if a property is violated that holds without the change, if a witness is out of reach, or
if the changed system is badly defined. It is equivalent if it reaches the same states. Nothing is noticed
then, unless one of liveness does. The cheap questions are asked of all mutants first: its states, if
the unchanged system has few; random simulations; the invariants of the unchanged system. The engines of
`check` then share the time that is left; they are given the clauses of a proof of the unchanged system.
They ask properties of liveness too, of mutants that no other property notices.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from fencepost.encoding.concrete.simulation import simulate
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.verdicts import Result, Verdict
from fencepost.encoding.errors import ModelError, time_out
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.ic3.kept_proof import Kept
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
from fencepost.encoding.mutation.mutant_states import ChangedSteps, Graph, MutantStates, graph_within
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

MOST_STATES, FEW_STATES = 40_000, 5_000
"""The states after which an enumeration ends; fewer if the invariants of the file prove its properties."""
SIMULATIONS = 60
"""The random simulations of a mutant that has too many states."""


@dataclass(frozen=True)
class Unchanged:
    """The instance without a change: the result of each property, its states if known, and its proof.

    `clean` are the properties about states that no execution violates within the limits. Only these, and
    those of liveness that hold (`live`), can notice a mutant. The witness of an `exercised` one is reached.
    """

    instance: Instance
    results: tuple[Result, ...]
    graph: Graph
    proof: UnchangedProof | None = None
    seconds: float = 0.0

    @cached_property
    def clean(self) -> list[Property]:
        """The properties about states that hold."""
        return self._clean(self.instance.system.properties)

    @cached_property
    def live(self) -> list[Property]:
        """The properties of liveness that hold."""
        return self._clean(self.instance.system.liveness)

    def _clean(self, properties: Sequence[Property]) -> list[Property]:
        found = {p.name: p for p in properties}
        return [found[r.property] for r in self.results if r.property in found and _is_clean(r)]

    @property
    def exercised(self) -> list[str]:
        """The names of the clean properties about states whose witness is reached."""
        reached = {r.property for r in self.results if r.witness}
        return [prop.name for prop in self.clean if prop.name in reached]

    @cached_property
    def symbolic(self) -> Symbolic:
        """The symbolic reading of the system. Raises ModelError."""
        return Symbolic(self.instance.system)

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
        found, more = frozenset[Family](), self.read
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
    known = Unchanged(instance, outcome.results, Graph(system), seconds=outcome.seconds)
    proof = proof_of(outcome.results)
    if known.clean and {prop.name for prop in known.clean} <= proof.claims:
        known = replace(known, proof=proof)
    most = MOST_STATES if known.proof is None else FEW_STATES
    for states in _messages([Worker("states", graph_within, system, most, gib=limits.memory)], gone):
        known = replace(known, graph=Graph(system, states, frozenset(states)))
    return known


def weaken(known: Unchanged, limits: Limits) -> Iterator[tuple[Mutant, MutantFinding]]:
    """Yield each mutant once with the finding about it. Raises KeyboardInterrupt."""
    until = time.perf_counter() + limits.timeout - limits.gone
    over = MutantFinding(MutantOutcome.UNDECIDED, time_out(limits.timeout))
    listed = mutants(known.instance.written)
    _ = known.graph.concrete.steps, known.folding, known.proof and known.symbolic  # before the workers
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
        is_open = cheap.outcome is MutantOutcome.UNDECIDED
        asked, found = [*(known.clean if is_open else ()), *known.live], cheap
        if asked:
            own = replace(limits, gone=0.0, timeout=rest)
            found = _checked(known, mutant, asked, own) if rest > 0 else over
        if found.outcome is MutantOutcome.UNNOTICED and (not is_open or cheap.why is not None):
            reason = found.reason if is_open and cheap.why is not Why.UNREAD else cheap.reason
            found = replace(cheap, outcome=found.outcome if is_open else cheap.outcome, reason=reason)
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
        return MutantFinding(MutantOutcome.EQUIVALENT, "it reaches the same states", why=Why.PROGRESS)
    if is_idle(known.folding, known.actions[mutant.action], mutant):
        reason = "it has no effect, as the constants of this instance show"
        return MutantFinding(MutantOutcome.EQUIVALENT, reason, why=Why.IDLE)
    if not (known.clean or known.live):
        return MutantFinding(MutantOutcome.UNDECIDED, "no property is known to hold without the change")
    try:
        system, shares = changed_system(known, mutant), keeps_constants(known.folding, mutant)
        sent_at_most_once(system)
        states = known.graph.states
        graph = known.graph if shares or states is None else Graph(system, states=states)
        steps = ChangedSteps(graph, system, mutant.action, known.instance.subject)
        judge = _simulated if states is None else _enumerated
        found = judge(known, mutant, steps, shares)
    except ModelError as error:
        return _refused(error)
    lives = found.outcome in (MutantOutcome.UNNOTICED, MutantOutcome.UNDECIDED)
    unread = known.unread(mutant, system) if lives else None
    return found if unread is None else replace(found, why=Why.UNREAD, reason=unread, shown=())


def changed_system(known: Unchanged, mutant: Mutant) -> System:
    """Return the system of a mutant, folded. Only the changed action is folded again, if that is enough."""
    if keeps_constants(known.folding, mutant):
        schema = replace(mutant.schema, action=known.folding.action(mutant.schema.action))
        return changed(known.instance.system, replace(mutant, schema=schema))
    return known.instance.protocol.fold(changed(known.instance.written, mutant))


def _refused(error: Exception) -> MutantFinding:
    brief = re.split(r"[:;] ", str(error))[0]
    return MutantFinding(MutantOutcome.NOTICED, f"badly defined: {brief}")


def _noticed(violated: Mapping[str, int], unreached: Sequence[str] = ()) -> MutantFinding:
    noticed_by = {**dict.fromkeys([*violated, *unreached]), **violated}
    return MutantFinding(MutantOutcome.NOTICED, noticed_by=noticed_by)


def _enumerated(known: Unchanged, mutant: Mutant, steps: ChangedSteps, _shares: bool) -> MutantFinding:
    """Return the finding from the states of a mutant, undecided if there are too many of them."""
    states, before = MutantStates(steps), steps.graph.states or frozenset()
    states.visit([prop.name for prop in known.clean], known.exercised, MOST_STATES)
    unreached = states.unreached if states.is_over else ()
    if states.violated or unreached:
        return _noticed(states.violated, unreached)
    if not states.is_over:
        return MutantFinding(MutantOutcome.UNDECIDED, f"more than {amount(MOST_STATES, 'state')}")
    after, system = states.parents.keys(), steps.system
    number = amount(len(after), "state")
    if before == after:
        why = Why.IDLE if steps.other is None else Why.PROGRESS
        return MutantFinding(MutantOutcome.EQUIVALENT, f"it reaches the same {number}", why=why)
    if states.new is None:
        told = "" if known.live else ": only liveness would notice"
        reason = f"it reaches {len(after)} of {len(before)} states and no other{told}"
        return MutantFinding(MutantOutcome.UNNOTICED, reason, why=Why.PROGRESS)
    places = [v.place for v in system.variables if v.family in known.read]
    one, two = ({tuple(s[p] for p in places) for s in states} for states in (before, after))
    why, reason = Why.SAME_READ if two <= one else Why.DIFFERS, f"no property is violated in its {number}"
    return MutantFinding(MutantOutcome.UNNOTICED, reason, why=why, shown=states.new.lines(system))


def _simulated(known: Unchanged, mutant: Mutant, steps: ChangedSteps, shares: bool) -> MutantFinding:
    """Return the finding from the proof of the unchanged system, if there is one, and from simulations.

    A mutant that keeps the proof lives if witnesses are seen. `shares` says that its constants are the same.
    """
    system, kept = steps.system, False
    if known.proof is not None and shares:
        kept, same = known.proof.question(known.symbolic, system, steps.old)
        if same:
            reason = "the changed action does the same in every reachable state, by induction"
            return MutantFinding(MutantOutcome.EQUIVALENT, reason, why=Why.IDLE)
    names = {prop.name for prop in known.clean}
    properties = [prop for prop in system.properties if prop.name in names]
    subject = known.instance.subject
    found = simulate(system, subject, properties, SIMULATIONS, seed=1, first=True, visit=steps.visit)
    if found.traces:
        return _noticed({name: len(trace.steps) for name, trace in found.traces.items()})
    result = MutantFinding(MutantOutcome.UNDECIDED, "the invariants of the unchanged system do not decide it")
    if kept and all(found.witnessing[name] for name in known.exercised):
        reason = "the changed action keeps all invariants of the proof"
        result = MutantFinding(MutantOutcome.UNNOTICED, reason)
    if steps.other is None:
        return result
    why = Why.PROGRESS if steps.other.after is None else Why.DIFFERS  # as far as simulations go
    return replace(result, why=why, shown=steps.other.lines(system))


# The engines of `check`.


class ChangedInstance(NamedTuple):
    """A changed system under the names of the instance that it comes from."""

    system: System
    subject: Subject


def _checked(known: Unchanged, mutant: Mutant, clean: Sequence[Property], limits: Limits) -> MutantFinding:
    """Return the finding of a check of clean properties of the changed system. Raises KeyboardInterrupt."""
    one = replace(limits, minimize=Minimize.NONE, one_is_enough=True, enumeration_first=True)
    names = {prop.name for prop in clean}
    kept = None if known.proof is None else Kept(known.proof.clauses, {})
    try:
        system = changed_system(known, mutant)
        properties = [prop for prop in (*system.properties, *system.liveness) if prop.name in names]
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
