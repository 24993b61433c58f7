"""Guards without one conjunct: exploring finds the same outcome, and every kind of outcome occurs."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from guard_conjuncts import Conjunct, needed, without

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import UNDECIDED
from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.actions import Action, each, in_turn
from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.messages import message
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.quantifiers import at_least, exists, forall, maximum
from fencepost.encoding.language.sorts import BOOL, integers, labels
from fencepost.encoding.language.state import StateSpace, choice, family, variable
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import TRUE, AllOf, Parameter, Term, all_of, any_of
from fencepost.encoding.language.traces import Subject
from guards import Effort, Instance, Outcome, classify
from support.exploration import explore
from support.generated import Cells, generate

SUBJECT = Subject("test", {}, {})


class Parcels(StateSpace):
    """Parcels that are sent once and may be lost; they are counted, and the count is signed at the end."""

    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.parcel = integers(1, 2)
        self.clerk = labels("clerk", "k", 1)
        self.open = variable(BOOL)
        self.sent = family(BOOL, self.parcel)
        self.counted = variable(integers(0, 2))
        self.signed = variable(BOOL)
        self.lost = choice(self.parcel, fault="lost")


def open_office(s: Parcels) -> Action:
    """Open the office; opening it twice does no harm."""
    return Action(when=~s.open, then=[s.open.set(True)], actor="office")


def send(s: Parcels, parcel: Parameter, clerk: Parameter) -> Action:
    """Send a parcel, once."""
    post = message("parcel", clerk, "office", about={"parcel": parcel}, lost=s.lost[parcel])
    return Action(when=s.open & ~s.sent[parcel], then=[s.sent[parcel].set(True)], actor=clerk, sent=[post])


def count(s: Parcels, clerk: Parameter) -> Action:
    """Count up while there is something to count."""
    some = s.sent[2] if s.strict else exists(s.parcel, lambda p: s.sent[p] & ~s.lost[p])
    inner = AllOf("bool", (~s.signed, s.counted < 2))
    return Action(AllOf("bool", (some, inner)), [s.counted.set(s.counted + 1)], actor=clerk)


def sign(s: Parcels, clerk: Parameter) -> Action:
    """Sign when all are counted."""
    return Action(
        when=(s.counted == 2) & (s.counted > 0) & s.sent[2] & ~s.signed,
        then=[s.signed.set(True)],
        actor=clerk,
    )


def parcels(strict: bool = False) -> System:
    s = Parcels(strict)
    actions = (
        each(open_office, s),
        in_turn("clerk", each(send, s, s.parcel, s.clerk), each(count, s, s.clerk)),
        each(sign, s, s.clerk),
    )
    complete = Property("complete", "", implies(s.signed, s.counted == 2), s.signed, "")
    return System(s, actions, (complete,))


EXPECTED = {
    ("open office, 1 of 1", "not open"): Outcome.OPEN,
    ("send, 1 of 2", "open"): Outcome.OPEN,
    ("send, 2 of 2", "not sent[parcel]"): Outcome.REFUSED,
    ("count, 1 of 3", "exists n: sent[n] and not lost[n]"): Outcome.OPEN,
    ("count, 2 of 3", "not signed"): Outcome.IMPLIED,
    ("count, 3 of 3", "counted < 2"): Outcome.REFUSED,
    ("sign, 1 of 4", "counted == 2"): Outcome.CAUGHT,
    ("sign, 2 of 4", "0 < counted"): Outcome.IMPLIED,
    ("sign, 3 of 4", "sent[2]"): Outcome.OPEN,
    ("sign, 4 of 4", "not signed"): Outcome.OPEN,
}
REASONS = {
    "send, 2 of 2": "on A: send may send parcel more than once",
    "count, 3 of 3": "on A: count(k1) sets counted to 3, outside 0..2",
    "sign, 1 of 4": "complete on A, ",
    "sign, 2 of 4": "A",
    "sign, 3 of 4": "A: no property is violated",
    "sign, 4 of 4": "A: none violated in 8 rounds",
}
"""The beginnings of the reasons. Signing again and again fits in no number of rounds."""


def test_every_kind_of_outcome_comes_up() -> None:
    findings = classify([Instance("A", parcels(), SUBJECT)], Effort())
    assert {(str(f.conjunct), f.text): f.outcome for f in findings} == EXPECTED
    reasons = {str(f.conjunct): f.reason for f in findings}
    for conjunct, beginning in REASONS.items():
        assert reasons[conjunct].startswith(beginning)


def test_what_is_implied_must_be_so_on_every_instance() -> None:
    """Signing need not ask for parcel 2 if a parcel is counted only after it is sent; otherwise it must."""
    instances = [Instance("A", parcels(strict=True), SUBJECT), Instance("B", parcels(), SUBJECT)]
    findings = {str(f.conjunct): f for f in classify(instances, Effort())}
    assert findings["sign, 2 of 4"].reason == "A, B"
    assert findings["sign, 3 of 4"].outcome is Outcome.OPEN
    assert findings["sign, 3 of 4"].reason == "A: implied; B: no property is violated"


def test_a_property_that_is_violated_anyway_catches_nothing() -> None:
    system = parcels()
    (complete,) = system.properties
    never = replace(complete, name="never", holds=~complete.witness)
    findings = classify([Instance("A", replace(system, properties=(never,)), SUBJECT)], Effort())
    assert Outcome.CAUGHT not in {f.outcome for f in findings}


def test_out_of_time_is_never_implied_and_never_caught() -> None:
    findings = classify([Instance("A", parcels(), SUBJECT)], Effort(whole=0, seconds=0))
    outcomes = {str(f.conjunct): f.outcome for f in findings}
    assert outcomes.pop("send, 2 of 2") is Outcome.REFUSED  # by its text
    assert set(outcomes.values()) == {Outcome.OPEN}


def is_needed(system: System, conjunct: Conjunct) -> bool:
    """Return whether, with some choices, the conjunct alone stops a state that exploring reaches."""
    evaluate = Concrete(system).function(needed(system, conjunct), {})
    choices = [v.place for v in system.choices]
    for visit in explore(system):
        options = [(0, 1) if visit.state[p] == UNDECIDED else (visit.state[p],) for p in choices]
        for values in itertools.product(*options):
            state = bytearray(visit.state)
            for place, value in zip(choices, values, strict=True):
                state[place] = value
            if evaluate(bytes(state)):
                return True
    return False


def explored(system: System) -> Outcome:
    """Return the outcome of exploring all states of a weakened system."""
    holds = Concrete(system).predicate(system.properties[0].holds)
    try:
        violated = any(not holds(visit.state) for visit in explore(system))
    except ModelError:
        return Outcome.REFUSED
    return Outcome.CAUGHT if violated else Outcome.OPEN


def nothing_new(system: System) -> System:
    """Return the system with one property: flags and number are as in some state that it reaches."""
    cells = system.state
    assert isinstance(cells, Cells)
    shown = [v for v in cells.variables if v.family is cells.flag or v.family is cells.number]
    concrete = Concrete(system)
    reached = {tuple(concrete.value(visit.state, v) for v in shown) for visit in explore(system)}
    states = (
        all_of(*(v.family[v.index[0]] == value for v, value in zip(shown, state, strict=True)))
        for state in sorted(reached)
    )
    return replace(system, properties=(Property("nothing-new", "", any_of(*states), TRUE, ""),))


def compared(seed: int) -> Counter[Outcome]:
    """Return the outcomes of a generated system, after a check that exploring has the same."""
    system = nothing_new(generate(seed, posts=True))
    findings = classify([Instance("A", system, SUBJECT)], Effort(rounds=20))
    for finding in findings:
        conjunct = finding.conjunct
        if conjunct.action == "post":  # without its guard the message is sent twice with one loss
            assert finding.outcome is Outcome.REFUSED, f"seed {seed}: {finding}"
            continue
        expected = explored(without(system, conjunct)) if is_needed(system, conjunct) else Outcome.IMPLIED
        assert finding.outcome is expected, f"seed {seed}: {finding}"
        if expected is Outcome.OPEN:
            assert finding.reason == "A: no property is violated"
    return Counter(finding.outcome for finding in findings)


@pytest.mark.slow
def test_outcomes_on_generated_systems_are_those_of_exploring() -> None:
    outcomes = sum(map(compared, range(12)), Counter[Outcome]())
    assert all(outcomes[outcome] >= 5 for outcome in Outcome), outcomes


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (lambda s: (s.counted <= 1) | ~s.open, "counted <= 1 or not open"),
        (lambda s: ~(s.open & (s.counted != 2)), "not (open and counted != 2)"),
        (lambda s: s.counted + 1 < if_(s.open, 1, 2), "counted + 1 < (1 if open else 2)"),
        (
            lambda s: forall(s.clerk, lambda c: exists(s.clerk, lambda d: c == d)),
            "forall c: exists c2: c == c2",
        ),
        (
            lambda s: at_least(2, s.parcel, lambda p: s.sent[p]) & (maximum(s.parcel, lambda p: p) == 2),
            "(at least 2 n: sent[n]) and (maximum n: n) == 2",
        ),
    ],
)
def test_terms_in_print(term: Callable[[Parcels], Term], text: str) -> None:
    assert line(term(Parcels(strict=False))) == text


def test_long_terms_are_cut_where_they_are_deep() -> None:
    s = Parcels(strict=False)
    term = s.open & exists(s.parcel, lambda p: exists(s.parcel, lambda q: (p < q) & s.sent[p]))
    assert line(term, 40) == "open and (exists n: exists n2: …)"
    assert line(term, 10) == "open and …"
