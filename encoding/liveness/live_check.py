"""A check of all properties of an instance: those about states by `check`, and those of liveness here.

Liveness is decided in three stages. First the graph of all states is searched for fair components, if there
are not too many states. Then, where every execution ends, a monitored system is checked in which no state may
rest that owes something. Otherwise two monitored systems are checked in turn, each time for longer: no fair
loop may be closed, and at most so many rounds of fairness may be completed, for one more of them each time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from fencepost.encoding.check import check, decide, refuse_uncheckable
from fencepost.encoding.concrete.lassos import replay_lasso
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.saved_traces import saved_execution
from fencepost.encoding.engine.events import Event, Listener, Open, Replayed, Underway
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.messages import Visited, Visiting
from fencepost.encoding.engine.verdicts import Basis, Fewest, Live, LiveBasis, Outcome, Result, Verdict
from fencepost.encoding.errors import InternalError, time_out
from fencepost.encoding.ic3.kept_proof import Kept
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.fairness import fair_names
from fencepost.encoding.language.protocol import Checkable
from fencepost.encoding.language.state import amount
from fencepost.encoding.language.system import Liveness, Property
from fencepost.encoding.language.traces import Trace
from fencepost.encoding.liveness.ending import every_execution_ends
from fencepost.encoding.liveness.fair_components import FoundLasso, UnmetFairness, search_lassos
from fencepost.encoding.liveness.monitor import END, SAVE, Monitored, monitored
from fencepost.encoding.liveness.random_rests import search_rests
from fencepost.encoding.solving.crew import Crew, OutOfTime
from fencepost.encoding.solving.workers import Ended, Worker, reason_of

_Execution = tuple[list[GroundAction], Sequence[str], Sequence[int]]

MOST = 200_000
"""The states of the graph that is searched for fair components, unless enumeration alone is asked for."""

FEW = 10_000
"""The states of that graph, after which random executions are taken first."""

TURN = 5.0
"""The seconds of the first turn of each monitored system. Each later turn takes twice as long."""

GLIMPSE = 1.0
"""The seconds in which an execution is looked for that stands still, where executions may have no end."""

AHEAD = 3
"""The most numbers of rounds that are refuted in one turn."""

SHARE = 0.5
"""The share of the time for properties about states, if there are both kinds."""


def check_all(
    instance: Checkable,
    properties: Sequence[Property],
    limits: Limits,
    listener: Listener = lambda event: None,
    kept: Kept | None = None,
    to_certify: bool = False,
) -> Outcome:
    """Check properties about states, and of liveness, within the limits. Raises what `check` raises.

    A proof by the graph of the states has no certificate. With `to_certify` another one is looked for.
    """
    live = [prop for prop in properties if isinstance(prop, Liveness)]
    about_states = [prop for prop in properties if not isinstance(prop, Liveness)]
    if not live:
        return check(instance, properties, limits, listener, kept)
    refuse_uncheckable(instance.system, limits)
    outcome = Outcome((), 0.0, False, {})
    if about_states:
        own = replace(limits, timeout=limits.gone + SHARE * (limits.timeout - limits.gone))
        outcome = check(instance, about_states, own, listener, kept)
    own = replace(limits, gone=limits.gone + outcome.seconds)
    return LivenessCheck(instance, live, own, listener, outcome, to_certify).run(properties)


class LivenessCheck:
    """A check of properties of liveness, after those about states have their outcome."""

    def __init__(
        self,
        instance: Checkable,
        properties: Sequence[Liveness],
        limits: Limits,
        listener: Listener,
        before: Outcome,
        to_certify: bool = False,
    ) -> None:
        """Begin without a result."""
        self._instance, self._system, self._properties = instance, instance.system, properties
        self._limits, self._listener, self._before = limits, listener, before
        self._to_certify = to_certify
        self._replayer = Replayer(self._system, instance.subject)
        self._begun = time.perf_counter()
        self._until = self._begun + limits.timeout - limits.gone
        self._results: dict[str, Result] = {}
        self._refuted: dict[str, str] = {}
        """For a property the number of rounds of fairness that do not suffice."""
        self._excluded: dict[str, str] = {}
        """For a property the longest loop that is excluded."""
        self._gave_up: str | None = None
        self._interrupted = before.interrupted
        self._ends = every_execution_ends(self._system)
        self._fair = fair_names(self._system.fairness)

    def run(self, order: Sequence[Property]) -> Outcome:
        """Return the results of all properties, in that order."""
        self._listener(Underway(partial(self._outcome, order)))
        try:
            if not self._interrupted:
                self._decide()
        except KeyboardInterrupt:
            self._interrupted = True
        return self._outcome(order)

    def _outcome(self, order: Sequence[Property]) -> Outcome:
        found = {result.property: result for result in self._before.results}
        found |= {prop.name: self._result(prop) for prop in self._properties}
        seconds, results = time.perf_counter() - self._begun, tuple(found[prop.name] for prop in order)
        spent = {**self._before.spent, "liveness": seconds}
        return Outcome(results, self._before.seconds + seconds, self._interrupted, spent)

    def _result(self, prop: Liveness) -> Result:
        if prop.name in self._results:
            return self._results[prop.name]
        stopped = "interrupted" if self._interrupted else time_out(self._limits.timeout)
        if self._limits.bound is not None:
            stopped = "a bound on steps says nothing about what comes about in the end; leave out --bound"
        came = self._gave_up, self._refuted.get(prop.name), self._excluded.get(prop.name)
        reason = "; ".join(filter(None, [stopped, *came]))
        return self._made(prop, Verdict.UNDECIDED, LiveBasis.LOOPS, reason=reason)

    def _made(self, prop: Liveness, verdict: Verdict, by: LiveBasis | None, **others: Any) -> Result:
        seconds, live = time.perf_counter() - self._begun, by and self._live(prop, by)
        return Result(prop.name, verdict, seconds, self._limits.solver, live=live, **others)

    def _live(self, prop: Liveness, by: LiveBasis, rounds: int | None = None) -> Live:
        return Live(by, rounds, self._fair, prop.excused)

    def _decide(self) -> None:
        """Decide the properties, or run out of time."""
        self._listener(Open(tuple(prop.name for prop in self._properties)))
        if self._limits.bound is not None:
            return
        engines = self._limits.engines
        if engines == ("enumeration",):
            return self._search(search_lassos, None)
        by_graph = not self._ends and (not engines or "enumeration" in engines)
        attempts = (
            (by_graph, search_lassos, FEW),
            (not engines, search_rests, self._instance.subject),
            (by_graph, search_lassos, MOST),
        )
        for is_wanted, search, own in attempts:
            if is_wanted and len(self._results) < len(self._properties):
                self._search(search, own)
        still = [prop for prop in self._properties if self._is_open(prop)]
        for number, prop in enumerate(still):
            now = time.perf_counter()
            self._check_monitored(prop, now + (self._until - now) / (len(still) - number))

    def _is_open(self, prop: Liveness) -> bool:
        """Return whether other engines are asked: for a verdict, a certificate, or a shorter execution."""
        found = self._results.get(prop.name)
        is_long = self._is_violated(prop) and self._ends and self._limits.minimizes
        return found is None or is_long or (found.verdict is Verdict.PROVED and self._to_certify)

    def _is_violated(self, prop: Liveness) -> bool:
        """Return whether an execution is known that violates the property."""
        return prop.name in self._results and self._results[prop.name].verdict is Verdict.VIOLATED

    # The graph of all states, and random executions.

    def _search(self, search: Callable[..., Iterator[Any]], own: Any) -> None:
        """Take the messages of a search on plain values, to which `own` is given too."""
        asked = self._system, self._properties, self._limits.budgets, own
        try:
            with Crew(self._until) as crew:
                worker = Worker("enumeration", search, *asked, gib=self._limits.memory)
                crew.start(worker)
                for _, message in crew.heard():
                    self._take(message)
        except OutOfTime:
            pass

    def _take(self, message: Visiting | FoundLasso | UnmetFairness | Visited | Ended) -> None:
        """Handle a message of the search of the graph."""
        match message:
            case Visiting():
                self._listener(message)
            case FoundLasso(path=path, begins=begins, is_shortest=is_shortest):
                prop = next(p for p in self._properties if p.name == path.property)
                self._refute(prop, path.execution(self._system), begins, is_shortest)
            case UnmetFairness(property=name):
                self._vacuous(next(p for p in self._properties if p.name == name))
            case Visited():
                by: dict[str, Any] = {"basis": Basis.ENUMERATION, "visited": message, "witness": True}
                for prop in self._properties:
                    proved = self._made(prop, Verdict.PROVED, LiveBasis.STATES, **by)
                    self._results.setdefault(prop.name, proved)
            case Ended():
                self._gave_up = reason_of(message, "enumeration", self._limits.memory)

    # Monitored systems.

    def _check_monitored(self, prop: Liveness, until: float) -> None:
        """Check monitored systems in turn until the property is decided, or the time is over."""
        own = partial(monitored, self._system, self._instance.subject, prop, budgets=self._limits.budgets)
        resting = own(LiveBasis.ENDS, None)
        whole = until - time.perf_counter() if self._ends else GLIMPSE
        if self._is_violated(prop) and self._limits.patience is not None:
            whole = self._limits.patience.after(self._results[prop.name].seconds)
        basis = LiveBasis.ENDS if self._ends else None
        if self._settled(prop, resting, until, basis, whole) or self._is_violated(prop):
            return
        turn, most = TURN, 0
        closing = own(LiveBasis.LOOPS, None)
        while time.perf_counter() < until:
            for _ in range(AHEAD):
                rounds = own(LiveBasis.ROUNDS, most)
                result = self._asked(prop, rounds, until, turn, Minimize.NONE)
                if self._concluded(prop, result, LiveBasis.ROUNDS, most):
                    return
                if result.verdict is not Verdict.VIOLATED:
                    break
                self._refuted[prop.name] = f"not within {amount(most, 'round')} of fairness"
                most += 1
            if self._settled(prop, closing, until, LiveBasis.LOOPS, turn):
                return
            turn *= 2

    def _settled(
        self, prop: Liveness, monitored: Monitored, until: float, basis: LiveBasis | None, turn: float
    ) -> bool:
        """Return whether a check for loops, or for states that rest, decides the property."""
        result = self._asked(prop, monitored, until, turn, self._limits.minimize)
        if result.verdict is Verdict.VIOLATED:
            assert result.trace is not None
            fewest = basis is LiveBasis.ENDS and result.fewest is Fewest.OF_ALL
            known = self._results.get(prop.name)
            if known is None or fewest or len(result.trace.steps) <= (known.steps or 0):
                self._refute_by(prop, monitored, result.trace, fewest)
            return True
        if basis is LiveBasis.LOOPS and result.searched > 2:
            self._excluded[prop.name] = f"no loop is closed within {amount(result.searched - 2, 'step')}"
        return self._concluded(prop, result, basis)

    def _asked(
        self, prop: Liveness, monitored: Monitored, until: float, turn: float, minimize: Minimize
    ) -> Result:
        """Return the result of a check of a monitored system for some seconds. Raises KeyboardInterrupt."""
        seconds = max(0.1, min(turn, until - time.perf_counter()))
        own = replace(self._limits, timeout=seconds, gone=0.0, rounds=None, count=1)
        limits = replace(own, minimize=minimize, enumeration_first=False)
        outcome = decide(monitored, [monitored.claim], limits, self._forward)
        if outcome.interrupted:
            raise KeyboardInterrupt
        return outcome.results[0]

    def _forward(self, event: Event) -> None:
        """Tell the listener of progress, and nothing that is true of the monitored system alone."""
        if not isinstance(event, Underway | Replayed | Open):
            self._listener(event)

    def _concluded(
        self, prop: Liveness, result: Result, by: LiveBasis | None, rounds: int | None = None
    ) -> bool:
        """Return whether the result about a monitored system proves the property, or that it is vacuous."""
        if result.verdict is Verdict.VACUOUS and result.unreachable:
            self._vacuous(prop)
            return True
        if result.verdict is not Verdict.PROVED or by is None:
            return False
        if self._is_violated(prop):
            raise InternalError(f"{prop.name}: was proved, and an execution violates it")
        seconds = time.perf_counter() - self._begun
        self._results[prop.name] = replace(result, live=self._live(prop, by, rounds), seconds=seconds)
        return True

    # Results.

    def _vacuous(self, prop: Liveness) -> None:
        reason = f"never reached: {prop.witness_meaning}"
        self._results[prop.name] = self._made(prop, Verdict.VACUOUS, None, reason=reason, unreachable=True)

    def _refute_by(self, prop: Liveness, monitored: Monitored, trace: Trace, is_shortest: bool) -> None:
        """Replay the steps of the protocol in a trace of a monitored system."""
        actions, choices, beginning = saved_execution(trace.to_json(), monitored.system)
        by_name = {action.name: action for action in self._system.ground_actions}
        names = [action.schema.name for action in actions]
        begins = sum(name in by_name for name in (names[: names.index(SAVE)] if SAVE in names else names))
        own = [by_name[name] for name in names if name in by_name]
        assert names[-1] == END
        self._refute(prop, (own, choices, beginning), begins, is_shortest)

    def _refute(self, prop: Liveness, execution: _Execution, begins: int, is_shortest: bool) -> None:
        """Replay a lasso on the protocol, and record that it violates the property."""
        actions = execution[0]
        try:
            trace = replay_lasso(self._replayer, prop, *execution, begins)
        except NotAnExecution as error:
            raise InternalError(f"{prop.name}: a loop was found that does not replay: {error}") from error
        looping = {action.schema.action.fault for action in actions[begins:]}
        if not trace.keeps_within(self._limits.budgets) or looping & self._limits.budgets.keys():
            raise InternalError(f"{prop.name}: a loop was found with more faults than are allowed")
        result = self._made(
            prop,
            Verdict.VIOLATED,
            LiveBasis.LOOPS,
            trace=trace,
            steps=len(actions),
            faults=dict(trace.faults),
            witness=True,
            minimized=self._limits.minimize,
            fewest=Fewest.OF_ALL if is_shortest else None,
            shortest_at_least=len(actions) if is_shortest and actions else None,
        )
        self._results[prop.name] = result
        self._listener(Replayed(prop.name, trace, None, ()))
