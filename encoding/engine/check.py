"""Checking properties of a system: deepening, side by side with completeness, up to a verdict.

`check` proves by induction where facts are declared, then prepares the rounds in one process, and lets one worker hunt for
violations and another look for longer executions, and for a proof by induction where there may be no longest one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from fencepost.encoding.engine.events import ByActions, NotByActions, Unreached
from fencepost.encoding.engine.hearing import Hearing, Listener, Open, Remark, Underway
from fencepost.encoding.engine.houdini import SHARES, Houdini, ask, pose
from fencepost.encoding.engine.knowledge import Knowledge
from fencepost.encoding.engine.limits import Limits, validate
from fencepost.encoding.engine.preparation import prepare
from fencepost.encoding.engine.searches import Job, Search, jobs, shared
from fencepost.encoding.engine.verdicts import Outcome, Result, Verdict
from fencepost.encoding.formulas.commutation_cache import cache_folder, usable
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.induction.directed_simulation import walk
from fencepost.encoding.induction.proof_obligations import Never, Statement
from fencepost.encoding.language.state import amount
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.language.traces import Subject, Trace
from fencepost.encoding.rounds.search import Footprint
from fencepost.encoding.solving.solvers import load
from fencepost.encoding.solving.workers import Worker


def check(
    system: System,
    subject: Subject,
    properties: Sequence[Property],
    limits: Limits,
    listener: Listener = lambda event: None,
) -> Outcome:
    """Look for violations of the properties of a system, and for proofs that there are none, within the limits.

    `listener` hears how it goes. Ctrl-C ends it with what is known by then. Raises BadInput for limits that mean nothing
    for this system, ModelError if an action is not well defined, InternalError if a solver's execution does not replay.
    """
    settle(system, limits)
    run = _Run(system, subject, properties, limits, listener)
    try:
        listener(Underway(run.outcome))
        run.run()
    except KeyboardInterrupt:
        run.interrupted = True
    finally:
        run.stop()
    return run.outcome()


def settled_by_induction(
    system: System, subject: Subject, properties: Sequence[Property], limits: Limits
) -> tuple[Result, ...]:
    """What `check` would say of those properties that induction over one action settles, all of them carried together.

    The others are left out. Raises what `check` does.
    """
    settle(system, limits)
    run = _Run(system, subject, properties, limits, lambda event: None)
    try:
        run.prove()
    finally:
        run.stop()
    return tuple(result for result in run.outcome().results if result.verdict is not Verdict.UNDECIDED)


def settle(system: System, limits: Limits) -> None:
    """Raise what `check` does of limits and systems that cannot be checked, before anything is said to be under way."""
    validate(limits, system)
    sent_at_most_once(system)
    _settle_cache()


def _settle_cache() -> None:
    """Say here that answers cannot be kept, if so, and not in each of the processes that look for some."""
    folder = cache_folder()
    if folder is not None:
        usable(folder)


def _inductive(proving: Houdini, facts: Sequence[Invariant]) -> tuple[Invariant, ...]:
    """Return the facts that hold in every reachable state."""
    return tuple(fact for fact in facts if fact.name in proving.proved)


class _Run(Hearing):
    """One check under way."""

    # The course of a check.

    def run(self) -> None:
        """Prove, or else prepare, search, and look for further counterexamples, until done or out of time."""
        if self.prove():
            return
        if not self._limits.searches:
            self._gave_up = "not inductive, and no other engine was asked"
            return
        facts = {fact.name: fact for fact in (*self._invariants, *self._assumed)}
        asked = self._system, self._properties, tuple(facts.values())
        self._crew.start(Worker("prepare", prepare, *asked, gib=self._limits.memory))
        load(self._limits.solver)
        self._gave_up = self._hear(self._knowledge, lambda: self._prepared is not None)
        if self._prepared is None:
            return
        if not self._properties:
            return
        self._searching = time.perf_counter()
        self._search()
        for prop in self._properties:
            if self._knowledge.violation(prop.name) is not None:
                self._search_more(prop)
        self._solving = time.perf_counter() - self._searching

    def prove(self) -> bool:
        """Prove by induction over one action, if there are facts; whether nothing is left to do, or no time."""
        self._all_settled()
        if not (self._by_actions and self._properties):
            return False
        self._prove()
        return self._gave_up is not None or self._all_settled()

    def _prove(self) -> None:
        """Induction over one action, beside walks to the witnesses of the properties.

        If walks do not reach one, it is asked in the same way whether it is never true.
        """
        facts, gib = self._system.invariants, self._limits.memory
        walks = Worker("walks", walk, self._system, self._properties, facts, gib=gib)
        self._crew.start(walks)
        load(self._limits.solver)
        proving = self._induct(facts)
        if proving is None:
            return
        self._conclude(proving)
        self._assumed = _inductive(proving, facts)

        def open_ones() -> list[Property]:
            inductive = [p for p in self._properties if p.name in proving.proved]
            return [p for p in inductive if not self._knowledge.settled(p.name)]

        walked = lambda: not open_ones() or walks not in self._crew.workers
        self._gave_up = self._hear(self._knowledge, walked)
        self._dismiss()
        if open_ones() and self._gave_up is None:
            never = [Never(prop) for prop in open_ones()]
            again = self._induct((*facts, *never))
            for claim in never:
                if again is not None and claim.name in again.proved:
                    self._knowledge.hear(Unreached(claim.about.name))

    def _induct(self, facts: Sequence[Statement]) -> Houdini | None:
        """What is inductive of the properties and these facts; None if something kept the answers from coming."""
        gib, self._proving = self._limits.memory, None
        self._crew.start(Worker("questions", pose, self._system, self._properties, facts, gib=gib))
        self._gave_up = self._hear(self._knowledge, lambda: self._proving is not None)
        proving: Houdini | None = self._proving
        if proving is None:
            return None
        others = self._crew.workers
        while self._gave_up is None and not proving.settled:
            proving.again()
            for shares in shared(range(SHARES), self._limits.jobs):
                asked_now = proving.posed, proving.claims, dict(proving.kept), shares, self._limits
                self._crew.start(Worker("induction", ask, *asked_now, gib=gib))
            self._gave_up = self._hear(self._knowledge, lambda: proving.answered)
            asking = [worker for worker in self._crew.workers if worker not in others]
            if asking:
                self._crew.dismiss(*asking)
        return proving if self._gave_up is None else None

    def _conclude(self, proving: Houdini) -> None:
        """Tell of each property whether it is inductive."""
        for prop in self._properties:
            why_not = proving.why_not(prop.name, self._system)
            if why_not is None:
                facts = proving.used(prop.name)
                self._knowledge.hear(ByActions(prop.name, facts))
                self._listen(Remark(f"{prop.name} is inductive over one action, with {', '.join(facts)}"))
            else:
                self._knowledge.hear(NotByActions(prop.name, why_not))
        for fact in self._system.invariants:
            why_not = proving.why_not(fact.name, self._system)
            if why_not is not None:
                self._listen(Remark(f"the fact {fact.name} is {why_not}"))

    def _search(self) -> None:
        for some in shared(jobs(self._limits, self._knowledge.inducing), self._limits.jobs):
            self._start(self._task(self._properties), some)
        self._gave_up = self._hear(self._knowledge, self._enough)
        self._dismiss()

    def _enough(self) -> bool:
        if self._limits.one_is_enough and any(self._knowledge.violation(p.name) for p in self._properties):
            return True
        return self._all_settled()

    def _all_settled(self) -> bool:
        settled = [prop.name for prop in self._properties if self._knowledge.settled(prop.name)]
        for name in settled:
            self._settled_at.setdefault(name, time.perf_counter())
        still = tuple(prop.name for prop in self._properties if prop.name not in settled)
        if still != self._open:
            self._open = still
            self._listen(Open(still))
        return not still

    def _search_more(self, prop: Property) -> None:
        """Counterexamples that fire other sets of actions, or need other losses, than those known."""
        found = self._knowledge.violation(prop.name)
        assert found is not None
        more = self._more[prop.name] = []
        told = [self._confirming.story(found.trace)]
        while len(more) + 1 < self._limits.count:
            another = self._another(prop, found.rounds, told)
            if another is None:
                break
            more.append(another)
            told.append(self._confirming.story(another))

    def _another(self, prop: Property, rounds: int, told: Sequence[Footprint]) -> Trace | None:
        """A counterexample that tells another story, as cheap as can be within as many rounds as the first.

        One that was still being made smaller when time was up may come to a story told; that is none.
        """
        knowledge = Knowledge([prop], self._limits)
        asked = replace(self._task([prop]), rounds=rounds, avoid=tuple(told), invariants=())
        self._start(asked, [Job(Search.HUNT)])
        gave_up = self._hear(knowledge, lambda: knowledge.searched(prop.name) >= rounds)
        self._dismiss()
        found = knowledge.violation(prop.name)
        if found is None or self._confirming.story(found.trace) in told:
            self._no_more[prop.name] = gave_up or f"there is no other within {amount(rounds, 'round')}"
            return None
        return found.trace

    # The results.

    def outcome(self) -> Outcome:
        """A result for each property from what is known now."""
        seconds = time.perf_counter() - self._begun
        spent = dict(self._prepared.seconds if self._prepared else {})
        spent["solving"] = self._solving
        results = tuple(map(self._result, self._properties))
        return Outcome(results, seconds, self.interrupted, spent)

    def _result(self, prop: Property) -> Result:
        name = prop.name
        violation, witness = self._knowledge.violation(name), self._knowledge.witness(name)
        if violation is None and witness is not None:
            self._confirming.witness(prop, witness)
        gave_up = "interrupted" if self.interrupted else self._gave_up
        until = self._settled_at.get(name, time.perf_counter())
        stopped = gave_up or "the search stopped early"
        result = self._knowledge.result(name, until - self._begun, stopped)
        if violation is None:
            return result
        more = tuple(self._more.get(name, ()))
        lacking = None if 1 + len(more) >= self._limits.count else self._no_more.get(name, gave_up)
        return replace(result, more_traces=more, reason=lacking)
