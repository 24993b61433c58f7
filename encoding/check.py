"""A check: properties of an instance, put to engines in two lanes, up to a verdict.

One lane proves: induction with declared invariants, then IC3. The other refutes: enumeration up to a number
of states, then rounds. A lane that has nothing left to do gives its processor to the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from fencepost.encoding.abc.finder import find as find_by_abc
from fencepost.encoding.engine.events import Listener, Underway
from fencepost.encoding.engine.limits import Limits, validate
from fencepost.encoding.engine.messages import ABC, IC3
from fencepost.encoding.engine.verdicts import Outcome, Result, Verdict
from fencepost.encoding.engine.work import Engine, Work
from fencepost.encoding.enumeration.state_enumeration import StateEnumeration
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.ic3.finder import find as find_by_ic3
from fencepost.encoding.ic3.found_proof import FoundProof
from fencepost.encoding.ic3.kept_proof import Kept, KeptProof
from fencepost.encoding.induction.inductive_proof import InductiveProof
from fencepost.encoding.language.protocol import Checkable
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.rounds.bounded_search import BoundedSearch
from fencepost.encoding.rounds.further_counterexamples import search_further


def in_lanes(lanes: Sequence[Sequence[Engine]]) -> Callable[[Engine], bool]:
    """Return whether an engine may work: those before it in its lane are over, or do not suit."""
    before = {engine: lane[:place] for lane in lanes for place, engine in enumerate(lane)}
    return lambda engine: all(other.is_over or not other.suits for other in before[engine])


def check(
    instance: Checkable,
    properties: Sequence[Property],
    limits: Limits,
    listener: Listener = lambda event: None,
    kept: Kept | None = None,
) -> Outcome:
    """Look for violations of properties of an instance, and for proofs, within the limits.

    `kept` has clauses of an earlier certificate, which are asked first. `listener` is told how the check
    goes. Ctrl-C ends the check with what is known by then. Raises BadInput for limits that mean nothing for
    this system, ModelError if an action is not well defined, InternalError if an execution that a solver
    found does not replay.
    """
    refuse_uncheckable(instance.system, limits)
    return decide(instance, properties, limits, listener, kept)


def decide(
    instance: Checkable,
    properties: Sequence[Property],
    limits: Limits,
    listener: Listener = lambda event: None,
    kept: Kept | None = None,
) -> Outcome:
    """Do the same for a system that `refuse_uncheckable` has accepted, or that was made from such a one."""
    work = Work(instance, properties, limits, listener)
    try:
        listener(Underway(work.outcome))
        if kept is not None:
            work.run([KeptProof(work, kept)], work.is_enough)
        enumeration, induction = StateEnumeration(work), InductiveProof(work)
        finding = FoundProof(work, induction, limits.finds, IC3, find_by_ic3)
        by_abc = FoundProof(work, induction, limits.asks_abc, ABC, partial(find_by_abc, limits.timeout))
        in_sequence = limits.jobs == 1 and limits.conflicts is not None
        proving: list[Engine] = [induction] if in_sequence else [induction, finding]
        rounds = BoundedSearch(work, proving)
        engines: list[Engine] = [enumeration, induction, rounds, finding, by_abc]
        refuting: list[Engine] = [enumeration, rounds, by_abc]
        lanes: list[list[Engine]] = [engines] if in_sequence else [proving, refuting]
        work.stopped = work.run(engines, work.is_enough, in_lanes(lanes))
        if rounds.findings is not None:
            search_further(rounds.findings)
        if not limits.searches:
            alone = "others are found by the engine rounds, which was not asked"
            work.no_further = {prop.name: work.stopped or alone for prop in properties}
            work.stopped = work.stopped or "no other engine was asked"
    except KeyboardInterrupt:
        work.interrupted = True
    finally:
        work.crew.dismiss()
    return work.outcome()


def settled_by_induction(
    instance: Checkable, properties: Sequence[Property], limits: Limits
) -> tuple[Result, ...]:
    """Return the results of those properties that induction over one action settles.

    All claims are carried together. Raises what `check` raises.
    """
    if not limits.inducts(instance.system):
        return ()
    outcome = check(instance, properties, replace(limits, engines=("induction",)))
    return tuple(result for result in outcome.results if result.verdict is not Verdict.UNDECIDED)


def refuse_uncheckable(system: System, limits: Limits) -> None:
    """Raise BadInput or ModelError, before a check begins, for what `check` cannot check."""
    validate(limits, system)
    sent_at_most_once(system)
