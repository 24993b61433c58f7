"""Properties of steps and refinements of another system, compared with a reading in plain Python."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fencepost.encoding.check import check
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Result, Verdict
from fencepost.encoding.errors import ModelError
from fencepost.encoding.forms.counterexample import Counterexample
from fencepost.encoding.language import (
    BOOL,
    Action,
    Invariant,
    Parameter,
    Sort,
    StateSpace,
    System,
    Term,
    always_step,
    anything,
    channel,
    each,
    family,
    forall,
    implies,
    insert,
    integers,
    is_prefix,
    length,
    one_of,
    queues,
    records,
    refines,
    sequence_of,
    sequences,
    step_properties,
    subsets,
    variable,
)
from fencepost.encoding.language.canonical import digest
from fencepost.encoding.language.fold import folded
from fencepost.encoding.language.step_properties import StepProperty
from fencepost.encoding.language.terms import TRUE, lift
from fencepost.encoding.mutation.mutants import changed, mutants
from support.bare import Bare
from support.commands import said
from support.exploration import explore
from support.generated import by_seeds
from support.step_systems import Drawing, drawn_pair, value, written

MOST = 3


def fewest(system: System) -> int | None:
    """Return the fewest steps to a violation, by the definition of an execution; None without one."""
    violated = Concrete(system).predicate(~system.properties[0].holds)
    return next((visit.steps for visit in explore(system) if violated(visit.state)), None)


def drawn_step(seed: int, losses: bool = True) -> tuple[System, int | None]:
    """Return a system with a property of steps, and the fewest steps to a violation in plain Python."""
    drawing = Drawing(seed, losses)
    drawn, text = drawing.system(), drawing.step()
    claim = always_step("step", "a drawn condition", lambda s, t: lift(written(text, s, t, None)))
    truth = drawn.violated_in(lambda first: True, lambda s, t: s == t or value(text, s, t, None))
    return drawn.system(claim), truth


def drawn_refinement(seed: int, losses: bool = True) -> tuple[System, int | None]:
    """Return a system with a refinement, and the fewest steps to a violation in plain Python."""
    pair = drawn_pair(seed, losses)
    return pair.system(), pair.violated_in()


Draw = Callable[[int], tuple[System, int | None]]


def disagreements(draw: Draw, seeds: range) -> list[int]:
    """Return the seeds whose system has another fewest number of steps than plain Python says."""
    return [seed for seed in seeds for system, truth in [draw(seed)] if fewest(system) != truth]


@by_seeds(20, 800)
def test_a_property_of_steps_is_what_plain_python_says(seeds: range) -> None:
    assert disagreements(drawn_step, seeds) == []
    truths = [drawn_step(seed)[1] for seed in seeds]
    assert len(truths) // 5 < truths.count(None) < len(truths) * 4 // 5


@by_seeds(10, 400)
def test_a_refinement_is_what_plain_python_says(seeds: range) -> None:
    assert disagreements(drawn_refinement, seeds) == []
    truths = [drawn_refinement(seed)[1] for seed in seeds]
    assert len(truths) // 5 < truths.count(None) < len(truths) * 4 // 5 and 0 in truths


def result(system: System, *engines: str) -> Result:
    """Return the result of these engines about the one property."""
    limits = Limits(jobs=1, engines=engines, timeout=60)
    return check(Bare(system), system.properties, limits).results[0]


@pytest.mark.parametrize("draw", [drawn_step, drawn_refinement])
@by_seeds(2, 40)
def test_every_engine_says_what_plain_python_says(seeds: range, draw: Callable[..., Any]) -> None:
    for seed in seeds:
        system, truth = draw(seed, False)
        for engine in ("enumeration", "ic3", *(["rounds"] if truth is not None else [])):
            found = result(system, engine)
            assert found.steps == truth, (seed, engine)
            assert (found.verdict is Verdict.VIOLATED) is (truth is not None), (seed, engine)


# By hand: a counter for each node, and one number.


class Counters(StateSpace):
    """A counter for each node."""

    def __init__(self, first: tuple[int, ...] = (0,)) -> None:
        self.node = integers(1, 2)
        self.count = family(integers(0, MOST), self.node)
        self.idle = variable(BOOL, initial=anything)
        self.low = variable(integers(0, MOST), initial=one_of(*first))


def grow(s: Counters, node: Parameter) -> Action:
    """Count."""
    return Action(when=s.count[node] < MOST, then=[s.count[node].set(s.count[node] + 1)])


def wait(s: Counters) -> Action:
    """Change nothing: a number is set to what it is."""
    return Action(then=[s.low.set(s.low)])


def reset(s: Counters, node: Parameter) -> Action:
    """Count from the beginning again."""
    return Action(when=s.count[node] == 2, then=[s.count[node].set(0)])


def counting(step: Callable[[Any, Any], Any], resets: bool = False) -> System:
    """Return the system of the counters with a property of its steps."""
    s = Counters()
    acts = (each(grow, s, s.node), each(wait, s), *([each(reset, s, s.node)] if resets else []))
    kept = Invariant("in-domain", "a counter is one of its values", s.count[1] <= MOST)
    return System(s, acts, (always_step("step", "a step", step),), invariants=(kept,))


def by_one(before: Counters, after: Counters) -> Term:
    """Return whether no counter falls, and none grows by more than one."""
    return forall(
        before.node,
        lambda n: (after.count[n] >= before.count[n]) & (after.count[n] <= before.count[n] + 1),
    )


class Total(StateSpace):
    """One number."""

    def __init__(self) -> None:
        self.total = variable(integers(0, 2 * MOST))


def add(s: Total, number: Parameter) -> Action:
    """Add a number."""
    return Action(when=s.total <= 2 * MOST - number, then=[s.total.set(s.total + number)])


def summed(s: Counters) -> dict[str, Any]:
    """Return the mapping of the counters to their sum."""
    return {"total": s.count[1] + s.count[2]}


def refining(
    mapping: Callable[[Counters], Any] = summed,
    numbers: tuple[int, int] = (1, 1),
    resets: bool = False,
) -> System:
    """Return the system of the counters, which refines a sum to which these numbers are added."""
    t, s = Total(), Counters()
    other = System(t, (each(add, t, integers(*numbers)),))
    acts = (each(grow, s, s.node), each(wait, s), *([each(reset, s, s.node)] if resets else []))
    return System(s, acts, (refines("is-a-sum", "the counters are a sum", other, mapping(s)),))


CASES: dict[str, tuple[Callable[[], System], int | None]] = {
    "step": (lambda: counting(by_one), None),
    "step that is broken": (lambda: counting(by_one, resets=True), 3),
    "refinement": (refining, None),
    "refinement that is broken": (lambda: refining(resets=True), 3),
    "mapping with one variable wrong": (
        lambda: refining(lambda s: {"total": s.count[1] + s.count[1]}),
        1,
    ),
    "initial state that is not mapped": (lambda: refining(lambda s: {"total": s.count[1] + 1}), 0),
    "other system without the step": (lambda: refining(numbers=(2, 2)), 1),
    "other system with several arguments": (lambda: refining(numbers=(1, 2)), None),
}


ENGINES: dict[str, Collection[str]] = {
    "enumeration": CASES,
    "ic3": CASES,
    "rounds": [c for c in CASES if CASES[c][1] is not None],
}
"""For each engine the cases that it decides: of a step that changes nothing rounds have no last one."""
ENGINES |= {"induction": ["step", "step that is broken"]}


@pytest.mark.parametrize(("engine", "case"), [(e, case) for e, cases in ENGINES.items() for case in cases])
def test_each_engine_judges_it(case: str, engine: str) -> None:
    make, steps = CASES[case]
    engines = ("rounds", "induction") if engine == "induction" else (engine,)
    found = result(make(), *engines)
    expected = Verdict.PROVED if steps is None else Verdict.VIOLATED
    assert (found.verdict, found.steps) == (expected, steps)


def beyond_the_other() -> System:
    """Return the system of the counters, of which one leaves the domain of the other system."""

    class Small(StateSpace):
        def __init__(self) -> None:
            self.total = variable(integers(0, 1))

    def more(t: Small) -> Action:
        return Action(then=[t.total.set(t.total + 1)])

    t, s = Small(), Counters()
    claim = refines("is-small", "a counter is small", System(t, (each(more, t),)), {"total": s.count[1]})
    return System(s, (each(grow, s, s.node),), (claim,))


def test_a_value_outside_the_other_domain_is_no_step_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert fewest(beyond_the_other()) == 2
    monkeypatch.setattr(step_properties, "is_within", lambda term, sort: True)  # planted
    assert fewest(beyond_the_other()) is None


def test_rounds_prove_it_where_every_execution_ends() -> None:
    s = Counters()
    ends = System(s, (each(grow, s, s.node),), (always_step("step", "a step", by_one),))
    assert result(ends, "rounds").verdict is Verdict.PROVED


def test_a_step_that_changes_nothing_violates_nothing() -> None:
    def grows(before: Counters, after: Counters) -> Term:
        return after.count[1] + after.count[2] > before.count[1] + before.count[2]

    assert fewest(counting(grows)) is None
    assert any(schema.name == "wait" for schema in counting(grows).schemas)


def test_only_actions_that_can_break_it_judge_it() -> None:
    def falls_nowhere(before: Counters, after: Counters) -> Term:
        return forall(before.node, lambda n: after.count[n] >= before.count[n])

    judging = [s.name for s in counting(falls_nowhere).schemas if len(s.action.then) > 1]
    assert judging == ["grow"], "waiting is the same before and after"
    assert len(list(explore(counting(by_one)))) == 2 * 4 * 4, "the property adds no state"


def test_a_property_that_no_step_can_test_is_vacuous() -> None:
    found = result(counting(lambda before, after: implies(before.low == 1, after.low == 1)), "enumeration")
    assert (found.verdict, found.reason) == (Verdict.VACUOUS, f"never reached: {step_properties.CHANGES}")


# Each kind of variable has a value after the step.


class Office(StateSpace):
    """A set, a log, a record, a channel and a queue."""

    def __init__(self) -> None:
        self.clerk = Sort("clerk", ("c1", "c2"), "machine")
        self.machine = Sort("machine", ("desk", "c1", "c2"))
        self.seen = variable(subsets(self.clerk))
        self.log = variable(sequences(self.clerk, most=2))
        self.slot = variable(records(who=self.clerk, full=BOOL))
        self.ask = channel("ask", "desk", self.clerk)
        self.queue = queues(self.machine, [self.ask], room=2)
        self.next = variable(self.clerk)
        self.told = family(BOOL, self.clerk)


def tell(s: Office, clerk: Parameter) -> Action:
    """Do all that this office does."""
    when = length(s.log) < 2
    then = [s.seen.add(clerk), s.log.append(clerk), s.slot.full.set(True), s.next.set(clerk)]
    then += [s.told[s.next].set(True)]
    return Action(when=when, then=then, sent=[s.ask.send(clerk)])


OFFICE: dict[str, tuple[Callable[[Any, Any], Any], int | None]] = {
    "sets grow": (lambda s, t: s.seen <= t.seen, None),
    "sets do not grow": (lambda s, t: t.seen <= s.seen, 1),
    "logs grow": (lambda s, t: is_prefix(s.log, t.log), None),
    "logs grow by the clerk": (lambda s, t: t.log == insert(s.log, length(s.log) + 1, t.next), None),
    "logs grow by 1": (lambda s, t: t.log == insert(s.log, length(s.log) + 1, "c1"), 1),
    "logs stay empty": (lambda s, t: t.log == sequence_of(s.clerk), 1),
    "records change in one field": (lambda s, t: (t.slot.who == s.slot.who) & t.slot.full, None),
    "queues grow": (
        lambda s, t: forall(s.clerk, lambda c: t.queue.length(c) >= s.queue.length(c)),
        None,
    ),
    "queues do not grow": (
        lambda s, t: forall(s.clerk, lambda c: t.queue.length(c) <= s.queue.length(c)),
        1,
    ),
    "messages are not unsent": (
        lambda s, t: forall(s.clerk, lambda c: implies(s.ask.is_sent(c), t.ask.is_sent(c))),
        None,
    ),
    "no message is sent": (lambda s, t: ~t.ask.is_sent("c2"), 1),
    "the next one is told": (lambda s, t: t.told[s.next], None),
    "the one after it is told": (lambda s, t: t.told[t.next], 1),
}


@pytest.mark.parametrize("case", OFFICE)
def test_each_kind_of_variable_has_its_value_after_the_step(case: str) -> None:
    step, steps = OFFICE[case]
    s = Office()
    system = System(s, (each(tell, s, s.clerk),), (always_step("step", "a step", step),))
    assert fewest(system) == steps
    assert result(system, "rounds").steps == steps


class Desks(StateSpace):
    """A set of all, and a set, a log and a record for each clerk."""

    def __init__(self) -> None:
        self.clerk = Sort("clerk", ("c1", "c2"))
        self.all = variable(subsets(self.clerk))
        self.seen = family(subsets(self.clerk), self.clerk)
        self.log = family(sequences(self.clerk, most=2), self.clerk)
        self.slot = family(records(who=self.clerk, full=BOOL), self.clerk)


def work(s: Desks, clerk: Parameter, other: Parameter) -> Action:
    """Note another clerk in the set, the log and the record of a clerk."""
    then = [s.all.add(other), s.seen[clerk].add(other), s.log[clerk].append(other)]
    return Action(when=length(s.log[clerk]) < 2, then=[*then, s.slot[clerk].who.set(other)])


DESKS: dict[str, tuple[Callable[[Desks], Mapping[str, Any]], int | None]] = {
    "the same": (lambda s: {}, None),
    "another set": (lambda s: {"all": s.seen["c1"]}, 1),
    "the set of another index": (lambda s: {"seen": lambda c: s.seen["c1"]}, 1),
    "the log of another index": (lambda s: {"log": lambda c: s.log["c1"]}, 1),
    "the record of another index": (lambda s: {"slot": lambda c: s.slot["c1"]}, 1),
}


@pytest.mark.parametrize("case", DESKS)
def test_sets_sequences_and_records_are_mapped_whole(case: str) -> None:
    spoiled, steps = DESKS[case]
    t, s = Desks(), Desks()
    other = System(t, (each(work, t, t.clerk, t.clerk),))
    same = {"all": s.all, **{name: getattr(s, name).__getitem__ for name in ("seen", "log", "slot")}}
    claim = refines("same", "the desks are desks", other, {**same, **spoiled(s)})
    system = System(s, (each(work, s, s.clerk, s.clerk),), (claim,))
    assert fewest(system) == steps
    assert result(system, "rounds").steps == steps


# What people see.


def counterexample(system: System) -> Counterexample:
    found = result(system, "enumeration")
    assert found.trace is not None
    return Counterexample(found.trace, system, system.properties[0], "violated", {})


def test_a_counterexample_has_the_values_before_and_after_the_step() -> None:
    shown = counterexample(counting(by_one, resets=True))
    assert shown.false_because.sentence == (
        "False for node 1: count'[1] is 0 since step 3; count[1] is 2 since step 2."
    )
    assert shown.trace.steps[-1].changes == {"count[1]": 0, "step is broken": True}


def test_a_counterexample_has_both_states_of_the_other_system() -> None:
    assert counterexample(refining(resets=True)).elsewhere == (
        "Step 3 is no step of the other system: total: 2 → 0."
    )
    assert counterexample(CASES["initial state that is not mapped"][0]()).elsewhere == (
        "The initial state is none of the other system: total = 1."
    )


FILE = """
from dataclasses import dataclass
from fencepost.encoding.language import *

@dataclass(frozen=True)
class Parameters:
    most: int = parameter(3, "the largest number")
    falls: str = switch(("no", "yes"), "whether it falls", "a plant")

class State(StateSpace):
    def __init__(self, p):
        self.count = variable(integers(0, p.most))

def grow(s):
    "Count."
    return Action(when=s.count < 3, then=[s.count.set(s.count + 1)])

def fall(s):
    "Count down."
    return Action(when=s.count == 2, then=[s.count.set(s.count - 1)])

def build(p):
    s = State(p)
    acts = (each(grow, s), *([each(fall, s)] if p.falls == "yes" else []))
    return System(s, acts, (always_step("grows", "it grows", lambda s, t: t.count == s.count + 1),))

PROTOCOL = Protocol("counter", "a counter", Parameters(), build)
"""


def test_a_trace_of_it_is_saved_and_replayed_and_a_proof_is_checked_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, trace = tmp_path / "counter.py", tmp_path / "trace.json"
    file.write_text(FILE)
    code, text, _ = said(capsys, "check", file, "--set", "falls=yes", "--format", "json")
    assert code == 1
    (found,) = json.loads(text)["results"]
    assert (found["verdict"], found["steps"]) == ("violated", 3)
    trace.write_text(json.dumps(found["trace"]))
    code, text, _ = said(capsys, "export", trace, "--protocol", file)
    assert "grows is broken: no → yes" in text
    code, text, _ = said(capsys, "check", file, "--engine", "ic3", "--certificates", tmp_path / "proof")
    assert code == 0 and "grows: proved" in text
    code, text, _ = said(capsys, "certify", tmp_path / "proof", "--protocol", file)
    assert code == 0, text


def test_a_mutant_is_judged_by_its_own_steps_and_a_judgement_is_no_mutant() -> None:
    def both(s: Counters) -> Action:
        then = [s.count[1].set(1), s.low.set(0)]
        return Action(when=s.count[1] == 0, then=then)

    def together(before: Counters, after: Counters) -> Term:
        return implies(after.count[1] == 1, after.low == 0)

    s = Counters((1,))
    system = System(s, (each(both, s),), (always_step("step", "a step", together),))
    found = {mutant.text: mutant for mutant in mutants(system) if mutant.part == "update"}
    assert fewest(system) is None and len(found) == 2
    assert [fewest(changed(system, mutant)) for mutant in found.values()] == [None, 1]


def test_folding_keeps_it_and_its_digest_says_which_it_is() -> None:
    system = counting(by_one, resets=True)
    other = counting(lambda s, t: t.count[1] >= s.count[1], resets=True)
    assert fewest(folded(system)) == fewest(system) == 3
    assert digest(system) != digest(other)


# Refusals.

REFUSED: dict[str, tuple[Callable[[Counters], Any], str]] = {
    "no function": (lambda s: always_step("p", "p", s.count[1] == 1), "p: holds= is a term; give a function"),  # type: ignore[arg-type]
    "no condition": (
        lambda s: always_step("p", "p", lambda before, after: after.count[1] + 1),
        "p: the result is a term of type int; compare it with something",
    ),
    "other is no system": (
        lambda s: refines("p", "p", "other", {}),  # type: ignore[arg-type]
        "p: other= is 'other'; give the system of the other file",
    ),
    "a variable is not mapped": (
        lambda s: refines("p", "p", System(Total(), ()), {}),
        "p: total is not mapped; map each of these: total",
    ),
    "a name of nothing is mapped": (
        lambda s: refines("p", "p", System(Total(), ()), {"total": s.low, "sum": s.low}),
        "p: sum is no variable of the other system; map each of these: total",
    ),
    "a term of another type": (
        lambda s: refines("p", "p", System(Total(), ()), {"total": s.idle}),
        "p: mapping= of total: a term of type int is needed here, and idle is of type bool",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_such_property_is_refused(case: str) -> None:
    make, says = REFUSED[case]
    s = Counters()
    with pytest.raises(ModelError) as refused:
        System(s, (each(grow, s, s.node),), (make(s),))
    assert says in str(refused.value)


def test_a_state_that_is_made_differently_is_refused() -> None:
    sizes = iter((2, 3))

    class Growing(StateSpace):
        def __init__(self) -> None:
            self.count = variable(integers(0, next(sizes)))

    with pytest.raises(ModelError, match="count: the state differs when it is made again"):
        System(Growing(), (), (always_step("p", "p", lambda s, t: TRUE),))


# Planted mistakes, which the comparison with plain Python notices.


def judged_in_the_first_action_only(plant: pytest.MonkeyPatch) -> None:
    judged = StepProperty.judged

    def first(self: StepProperty, schema: Any) -> Any:
        return judged(self, schema) if schema.name == "act 0" else schema

    plant.setattr(StepProperty, "judged", first)


def a_step_that_changes_nothing_is_judged(plant: pytest.MonkeyPatch) -> None:
    plant.setattr(step_properties, "changes", lambda schema: TRUE)


def the_last_update_alone_takes_effect(plant: pytest.MonkeyPatch) -> None:
    after = step_properties.value_after
    plant.setattr(step_properties, "value_after", lambda read, updates: after(read, updates[-1:]))


def an_update_always_applies(plant: pytest.MonkeyPatch) -> None:
    updated = step_properties._updated

    def always(read: Any, update: Any, otherwise: Term) -> Term:
        return updated(read, replace(update, when=TRUE), otherwise)

    plant.setattr(step_properties, "_updated", always)


def first_states_are_not_asked(plant: pytest.MonkeyPatch) -> None:
    plant.setattr(step_properties._Mapped, "is_initial", TRUE)


PLANTED: dict[Callable[[pytest.MonkeyPatch], None], tuple[Draw, int]] = {
    judged_in_the_first_action_only: (drawn_step, 60),
    a_step_that_changes_nothing_is_judged: (drawn_step, 60),
    the_last_update_alone_takes_effect: (drawn_step, 60),
    an_update_always_applies: (drawn_step, 200),
    first_states_are_not_asked: (drawn_refinement, 20),
}


@pytest.mark.parametrize("mistake", PLANTED, ids=lambda mistake: mistake.__name__)
def test_a_mistake_is_noticed(
    mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, seeds = PLANTED[mistake]
    mistake(monkeypatch)
    assert disagreements(draw, range(seeds))
