"""The smallest counterexample: the costs minimized, the claims about it, and differences between several."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from pathlib import Path

import pytest

from fencepost.cli.options.protocols import find_protocol
from fencepost.cli.rendering.verdict_text import violated
from fencepost.encoding.check import check
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.messages import Clean, Complete, Violated
from fencepost.encoding.engine.verdicts import Fewest, Result, Verdict
from fencepost.encoding.formulas.commutation import Commutation
from fencepost.encoding.formulas.one_round import template
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language.actions import Action, Schema, each
from fencepost.encoding.language.messages import message
from fencepost.encoding.language.protocol import load
from fencepost.encoding.language.sorts import BOOL, integers, members
from fencepost.encoding.language.state import StateSpace, choice, family, variable
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import FALSE, TRUE, Parameter
from fencepost.encoding.language.traces import Subject, Trace
from fencepost.encoding.rounds import bounded_search, searches
from fencepost.encoding.rounds.round_solver import RoundSolver
from fencepost.encoding.rounds.search import Footprint, SearchMessage, Tally, Task, exhaust, hunt
from support.bare import Bare
from support.generated import ACTIONS, by_seeds, generate
from support.results import object_of

SUBJECT = Subject("test", {}, {})
TWO_COPIES = load(Path(__file__).parents[3] / "examples" / "two_copies.py")

Cost = tuple[int, int, int]
"""Faults, the crashes among them, steps."""


def result_of(system: System, limits: Limits) -> Result:
    """Return the result of checking the first property."""
    return check(Bare(system, SUBJECT), system.properties[:1], limits).results[0]


def copies(limits: Limits, **settings: str) -> Result:
    """Return the result of checking examples/two_copies.py with those switches."""
    return result_of(TWO_COPIES.system(TWO_COPIES.parameters(settings.items())), limits)


# Fewest faults, then fewest crashes, then fewest steps.

FAULTS = {1: "crashes", 2: "crashes", 3: "restarts", 4: "restarts", 5: "restarts"}
"""The actions of a generated system that are made faults."""


def faulty(seed: int) -> System:
    """Return a generated system with one loss, in which most actions are faults."""
    system = generate(seed, posts=True)
    posts, *others = system.schemas
    schemas = [
        replace(schema, action=replace(schema.action, fault=FAULTS.get(number)))
        for number, schema in enumerate(others, 1)
    ]
    assert len(schemas) == ACTIONS
    return replace(system, actions=(posts, *schemas))


def cheapest(system: System) -> Cost | None:
    """Return the cost of the cheapest violation, by visiting states in the order of their costs.

    It uses no formula and no solver.
    """
    concrete = Concrete(system)
    holds = concrete.predicate(system.properties[0].holds)
    (lost,) = (v.place for v in system.choices)
    queue: list[tuple[Cost, State]] = [((n, 0, 0), concrete.initial({lost: bool(n)})) for n in (0, 1)]
    seen: set[State] = set()
    while queue:
        (faults, crashes, steps), state = heapq.heappop(queue)
        if not holds(state):
            return faults, crashes, steps
        if state in seen:
            continue
        seen.add(state)
        for step in concrete.steps:
            fault = step.action.schema.action.fault
            cost = faults + bool(fault), crashes + (fault == "crashes"), steps + 1
            for after in step.successors(state):
                heapq.heappush(queue, (cost, after))
    return None


@by_seeds(13, 40)
def test_the_fewest_faults_of_generated_systems_are_those_of_exploring(seeds: range) -> None:
    kinds = set[tuple[bool, bool]]()
    for seed in seeds:
        system = faulty(seed)
        cost, result = cheapest(system), result_of(system, Limits(jobs=1, minimize=Minimize.FAULTS))
        if cost is None:
            assert result.verdict is Verdict.PROVED, seed
            continue
        faults = dict(result.faults or {})
        found = sum(faults.values()), faults.get("crashes", 0), result.steps
        assert (found, result.fewest) == (cost, Fewest.OF_ALL), seed
        kinds.add((cost[0] > 0, cost[1] > 0))
    some = kinds <= {(False, False), (True, False), (True, True)} and len(kinds) > 1
    assert some if len(seeds) < 40 else len(kinds) == 3, "the sample tests too little"


# The claims: steps and faults are two things.


def test_the_shortest_trace_may_need_a_fault_that_a_longer_one_does_without() -> None:
    shortest, faultless = (
        copies(Limits(jobs=1, minimize=what), acknowledge="reachable")
        for what in (Minimize.STEPS, Minimize.FAULTS)
    )
    assert (shortest.steps, shortest.faults, shortest.fewest) == (5, {"lost": 1}, Fewest.OF_ALL)
    assert (faultless.steps, faultless.faults, faultless.fewest) == (7, {}, Fewest.OF_ALL)
    assert violated(shortest) == " in 5 steps (fewest: no shorter trace exists), with faults lost=1"
    assert violated(faultless) == ": needs no fault; 7 steps, the shortest trace without faults"
    assert [object_of(r)["minimized"] for r in (shortest, faultless)] == ["steps", "faults"]


def test_a_needed_fault_is_named_first() -> None:
    result = copies(Limits(jobs=1, minimize=Minimize.FAULTS), fence="yes", storage="memory")
    assert violated(result) == " with faults restarts=1 (no trace has fewer); 8 steps (fewest with these)"
    within = replace(result, fewest=Fewest.WITHIN_ROUNDS, searched=2)
    assert violated(within) == " with faults restarts=1 (fewest within 2 rounds); 8 steps (fewest with these)"
    assert violated(replace(result, fewest=None)) == " with faults restarts=1 (fewer may do); 8 steps"


@pytest.mark.slow
def test_without_any_fault_only_shorter_executions_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then fewest is proved even if no number of rounds covers every execution: nothing here ever ends."""
    monkeypatch.setattr(bounded_search, "PATIENCE", 0.0)
    result = result_of(ring(), Limits(minimize=Minimize.FAULTS, timeout=600))
    assert (result.steps, result.faults, result.fewest, result.complete) == (3, {}, Fewest.OF_ALL, False)


class Ring(StateSpace):
    """Three places that a token visits in turn, for ever; it may be dropped once."""

    def __init__(self) -> None:
        self.at = variable(integers(0, 3))
        self.dropped = variable(BOOL)


def ring() -> System:
    s = Ring()

    def go_on(s: Ring) -> Action:
        """Go to the next place."""
        return Action(when=s.at < 3, then=[s.at.set(s.at + 1)], actor="token")

    def go_back(s: Ring) -> Action:
        """Go back to the first place."""
        return Action(when=s.at > 0, then=[s.at.set(0)], actor="token")

    def drop(s: Ring) -> Action:
        """Drop the token."""
        return Action(when=~s.dropped, then=[s.dropped.set(True)], actor="token", fault="drops")

    never = Property("never", "the third place is not reached", s.at < 3, TRUE, "always")
    return System(s, (each(go_on, s), each(go_back, s), each(drop, s)), (never,))


def stop_at_the_first(session: RoundSolver, task: Task) -> Iterator[SearchMessage]:
    """Yield the findings of a hunt that gives up while it makes the first counterexample smaller."""
    for finding in hunt(session, task):
        yield finding
        if isinstance(finding, Violated):
            return


def test_fewest_is_not_claimed_before_the_rounds_of_the_trace_are_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(searches, "hunt", stop_at_the_first)
    result = copies(Limits(jobs=1, engines=("rounds",)))
    assert (result.verdict, result.fewest) == (Verdict.VIOLATED, None)
    assert "; none shorter than 2 exists, " in violated(result)


def hunted(task: Task) -> list[SearchMessage]:
    """Return the findings of a hunt in the ring.

    The invariant `begun` says that the token stays at the first place.
    """
    symbolic = Symbolic(ring())
    (never,) = symbolic.system.properties
    at = symbolic.system.variables[0].family[()]
    outputs = {"holds:never": never.holds, "witness:never": never.witness, "invariant:begun": at == 0}
    session = RoundSolver(template(symbolic, Commutation(symbolic).blockers(), outputs), "cadical")
    return list(hunt(session, task))


@pytest.mark.parametrize("seed", range(6))
def test_a_hunt_ends_where_the_search_for_longer_executions_does(seed: int) -> None:
    """Planted: it asks about the round before; it asks with an invariant taken for granted."""
    system = generate(seed)
    symbolic = Symbolic(system)
    prop = system.properties[0]
    outputs = {f"holds:{prop.name}": prop.holds, f"witness:{prop.name}": prop.witness, "invariant:i": FALSE}
    made = template(symbolic, Commutation(symbolic).blockers(), outputs)
    (*_, end) = exhaust(RoundSolver(made, "cadical"), Task(()), None)
    task = Task((prop.name,), glance=10**6, rounds=50)
    found = list(hunt(RoundSolver(made, "cadical"), task))
    assert isinstance(end, Complete)
    assert [m for m in found if isinstance(m, Complete)] == [end] == found[-1:]
    with_false = hunt(RoundSolver(made, "cadical"), replace(task, assumed=("i",), rounds=3))
    assert not [m for m in with_false if isinstance(m, Complete)]


def test_a_counterexample_that_does_less_than_a_reported_one_is_another() -> None:
    """One of two counterexamples may fire all that the other fires, and more.

    The other is not left out with it.
    """
    go_on, _, drop = range(3)
    reported = Footprint(frozenset({go_on, drop}), frozenset())
    (found,) = [m for m in hunted(Task(("never",), rounds=3, avoid=(reported,))) if isinstance(m, Violated)]
    assert drop not in found.execution.slots
    both = (reported, Footprint(frozenset({go_on}), frozenset()))
    (other,) = [m for m in hunted(Task(("never",), rounds=4, avoid=both)) if isinstance(m, Violated)]
    assert set(other.execution.slots) not in ({go_on}, {go_on, drop})


def test_a_search_that_takes_over_repeats_nothing() -> None:
    """Planted: the rounds of the search before are searched again, a violation that costs as much counts."""
    every = Tally((0, 1, 2))
    whole = hunted(Task(("never",), rounds=4, objectives=(every,)))
    least = min(m.costs for m in whole if isinstance(m, Violated))
    rest = hunted(Task(("never",), rounds=4, objectives=(every,), searched=3, known=(("never", least),)))
    assert [m for m in rest if isinstance(m, Violated | Clean)] == [Clean("never", 4, least)]
    worse = (("never", (least[0] + 1,)),)
    better = hunted(Task(("never",), rounds=4, objectives=(every,), searched=3, known=worse))
    assert [m.costs for m in better if isinstance(m, Violated)] == [least]


def test_without_objectives_no_rounds_are_clean_of_a_violation_that_was_found() -> None:
    found = [type(m) for m in hunted(Task(("never",), rounds=5)) if isinstance(m, Clean | Violated)]
    assert found == [Clean, Clean, Violated]


# Late messages.


def test_the_line_says_which_messages_are_late() -> None:
    result = copies(Limits(jobs=1), fence="yes", acknowledge="reachable")
    assert result.trace is not None
    assert "late" not in violated(result), "lost is not late"
    two = result_of(letters(late=2), Limits(jobs=1))
    arrivals = r"letter me→you in step \d, letter me→you in step 6"
    assert re.search(rf"; 2 messages are late: {arrivals}$", violated(two))
    five = result_of(letters(late=5), Limits(jobs=1))
    assert "; 5 messages are late: " in violated(five)
    assert violated(five).endswith(", 2 more")


class Letters(StateSpace):
    """Letters, numbered in the order in which they are sent."""

    def __init__(self, most: int) -> None:
        self.letter = integers(1, most)
        self.sent = family(BOOL, self.letter)
        self.received = family(BOOL, self.letter)


def letters(late: int) -> System:
    """Return a system whose violation is that all letters are received, the one sent last first."""
    s, last = Letters(late + 1), late + 1

    def send(s: Letters, letter: Parameter) -> Action:
        """Send a letter after those before it."""
        before = [s.sent[n] for n in s.letter]
        earlier = TRUE
        for n, sent in enumerate(before, 1):
            earlier = earlier & (sent | (letter <= n))
        post = message("letter", "me", "you", about={"number": letter})
        return Action(
            when=~s.sent[letter] & earlier, then=[s.sent[letter].set(True)], actor="me", sent=[post]
        )

    def receive(s: Letters, letter: Parameter) -> Action:
        """Receive a letter, once the last one is received."""
        return Action(
            when=s.sent[letter] & ~s.received[letter] & (s.received[last] | (letter == last)),
            then=[s.received[letter].set(True)],
            actor="you",
            received=message("letter", "me", "you", about={"number": letter}),
        )

    everything = TRUE
    for n in s.letter:
        everything = everything & s.received[n]
    never = Property("never", "some letter is not received", ~everything, TRUE, "always")
    return System(s, (each(send, s, s.letter), each(receive, s, s.letter)), (never,))


# Several counterexamples.


class Parcels(StateSpace):
    """Three parcels, each of which may be lost."""

    def __init__(self) -> None:
        self.parcel = integers(1, 3)
        self.sent = family(BOOL, self.parcel)
        self.complained = variable(BOOL)
        self.lost = choice(self.parcel, fault="lost")


def parcels() -> System:
    """Return a system in which a complaint needs that all were sent and that the first or the second is lost.

    The loss of the third does not matter.
    """
    s = Parcels()

    def send(s: Parcels, parcel: Parameter) -> Action:
        """Send a parcel."""
        sent = message("parcel", "shop", "you", about={"number": parcel}, lost=s.lost[parcel])
        return Action(when=~s.sent[parcel], then=[s.sent[parcel].set(True)], actor="shop", sent=[sent])

    def complain(s: Parcels) -> Action:
        """Complain that something is missing."""
        missing = s.sent[1] & s.sent[2] & s.sent[3] & (s.lost[1] | s.lost[2])
        return Action(when=missing & ~s.complained, then=[s.complained.set(True)], actor="you")

    never = Property("never", "nobody complains", ~s.complained, TRUE, "always")
    return System(s, (each(send, s, s.parcel), each(complain, s)), (never,))


def losses(trace: Trace | None) -> list[str]:
    assert trace is not None
    return [name for name, value in trace.initial.items() if name.startswith("lost") and value]


def test_counterexamples_may_differ_in_what_is_lost_alone() -> None:
    result = result_of(parcels(), Limits(jobs=1, count=5))
    found = [losses(trace) for trace in (result.trace, *result.more_traces)]
    assert sorted(found) == [["lost[1]"], ["lost[2]"]], (
        "a loss that changes nothing is no other counterexample"
    )
    assert result.reason == "there is no other within 1 round"
    assert violated(result).endswith("; 2 counterexamples: there is no other within 1 round")


def test_nothing_is_claimed_about_others_where_all_asked_for_were_found() -> None:
    assert result_of(parcels(), Limits(jobs=1, count=2)).reason is None
    assert result_of(parcels(), Limits(jobs=1)).reason is None


@pytest.mark.parametrize(
    "minimize",
    [pytest.param(what, marks=[pytest.mark.slow] * (what is not Minimize.STEPS)) for what in Minimize],
)
def test_no_two_counterexamples_are_the_same(minimize: Minimize) -> None:
    result = copies(Limits(jobs=1, count=40, minimize=minimize), acknowledge="reachable", storage="memory")
    traces = [result.trace, *result.more_traces]
    descriptions = [
        (frozenset((step.action, *step.arguments.values()) for step in t.steps), *losses_of(t))
        for t in traces
        if t is not None
    ]
    assert len(set(descriptions)) == len(descriptions) > 8
    steps = [len(t.steps) for t in traces if t is not None]
    assert minimize is not Minimize.STEPS or steps == sorted(steps), "the shortest first"


class Way(Enum):
    """The two short cuts."""

    LEFT = "left"
    RIGHT = "right"


class Walk(StateSpace):
    """A long way, and two short cuts."""

    def __init__(self) -> None:
        self.way = members(Way)
        self.gone = variable(integers(0, 3))
        self.turned = family(BOOL, self.way)
        self.there = variable(BOOL)


def ways() -> System:
    """Return a system that arrives in four steps and one round, or in two steps and two rounds.

    The second of the two steps has the earlier slot.
    """
    s = Walk()

    def arrive(s: Walk, way: Parameter) -> Action:
        """Arrive after a turn."""
        return Action(when=s.turned[way] & ~s.there, then=[s.there.set(True)], actor="me")

    def turn(s: Walk, way: Parameter) -> Action:
        """Turn into a short cut, before any other step."""
        none = ~s.turned[Way.LEFT] & ~s.turned[Way.RIGHT] & (s.gone == 0)
        return Action(when=none, then=[s.turned[way].set(True)], actor="me")

    def plod(done: int) -> Schema:
        def go(s: Walk) -> Action:
            """Take a step of the long way."""
            here = (s.gone == done) & ~s.turned[Way.LEFT] & ~s.turned[Way.RIGHT] & ~s.there
            then = [s.gone.set(done + 1)] if done < 3 else [s.there.set(True)]
            return Action(when=here, then=then, actor="me")

        go.__name__ = f"plod_{done}"
        return each(go, s)

    never = Property("never", "nobody arrives", ~s.there, TRUE, "always")
    actions = [each(arrive, s, s.way), each(turn, s, s.way), *(plod(done) for done in range(4))]
    return System(s, tuple(actions), (never,))


def test_others_are_looked_for_in_all_rounds_of_the_first() -> None:
    result = result_of(ways(), Limits(jobs=1, count=4))
    found = [len(trace.steps) for trace in (result.trace, *result.more_traces) if trace is not None]
    assert found == [2, 2, 4]
    assert result.reason == "there is no other within 2 rounds"


class Steps(StateSpace):
    """A short way and a long way to the same end, and a step beside them."""

    def __init__(self) -> None:
        self.over = variable(BOOL)
        self.gone = variable(integers(0, 3))
        self.beside = variable(BOOL)


def two_ends() -> System:
    """Return a system that ends by one step or by three. A fourth step changes nothing about the end."""
    s = Steps()

    def jump(s: Steps) -> Action:
        """Take the short way."""
        return Action(when=~s.over, then=[s.over.set(True)], actor="me")

    def plod(done: int) -> Schema:
        def go(s: Steps) -> Action:
            """Take a step of the long way."""
            end = [s.over.set(True)] if done == 2 else []
            return Action(when=s.gone == done, then=[s.gone.set(done + 1), *end], actor="me")

        go.__name__ = f"plod_{done}"
        return each(go, s)

    def look(s: Steps) -> Action:
        """Look at something else."""
        return Action(when=~s.beside, then=[s.beside.set(True)], actor="you")

    never = Property("never", "it is not over", ~s.over, TRUE, "always")
    actions = [each(jump, s), *(plod(done) for done in range(3)), each(look, s)]
    return System(s, tuple(actions), (never,))


def needed_in_one_round(system: System) -> set[frozenset[str]]:
    """Return the actions of each layout of one round whose last state is the first that violates.

    Every layout is tried on plain values.
    """
    concrete, prop = Concrete(system), system.properties[0]
    fails, found = concrete.predicate(~prop.holds), set()
    for fires in itertools.product((False, True), repeat=len(system.ground_actions)):
        fired = list(itertools.compress(system.ground_actions, fires))
        with contextlib.suppress(NotAnExecution):
            states = Replayer(system, SUBJECT).follow(fired, ())
            if [fails(state) for state in states] == [False] * len(fired) + [True]:
                found.add(frozenset(action.name for action in fired))
    return found


def test_an_execution_that_goes_on_after_a_known_counterexample_hides_no_other() -> None:
    system = two_ends()
    result = result_of(system, Limits(jobs=1, count=5))
    traces = [trace for trace in (result.trace, *result.more_traces) if trace is not None]
    found = {frozenset(step.action for step in trace.steps) for trace in traces}
    assert found == needed_in_one_round(system)
    assert found == {frozenset({"jump"}), frozenset({"plod 0", "plod 1", "plod 2"})}
    assert result.reason == "there is no other within 1 round"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_no_seed_ends_the_search_for_others_early(seed: int) -> None:
    instance = find_protocol("bookkeeper-4.13").instance()
    limits = Limits(jobs=1, count=20, seed=seed, engines=("rounds",))
    (result,) = check(instance, instance.properties("no-divergence"), limits).results
    assert len(result.more_traces) == 19


def losses_of(trace: Trace) -> list[str]:
    return [name for name, value in trace.initial.items() if name.startswith("write_lost") and value]
