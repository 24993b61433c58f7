"""Knowledge: the verdict that messages justify, without a process or a solver.

Each row is a rule; planted mistakes break some of the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from fencepost.encoding.engine.events import ByActions, Heard, NotByActions, Replayed, Unreached
from fencepost.encoding.engine.knowledge import Knowledge
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.messages import (
    Clean,
    Complete,
    Execution,
    Longer,
    Surpassed,
    Visited,
    Witnessed,
)
from fencepost.encoding.engine.verdicts import Basis, Fewest, Verdict
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.terms import TRUE
from support.bare import idle_trace

UNLIMITED = Limits()
SAFE = Property("safe", "nothing is lost", TRUE, TRUE, "something is acknowledged")
ANYTHING = Execution(1, (0,), ())
SEEN = Witnessed("safe", ANYTHING)
BY_ACTIONS = ByActions("safe", ())
NO_INDUCTION = NotByActions("safe", "not inductive")


def violated(steps: int, rounds: int = 2, faults: int = 0) -> Replayed:
    """Return a violation whose costs are faults, then steps."""
    return Replayed("safe", idle_trace(steps), rounds, (faults, steps))


def clean(rounds: int, below: tuple[int, ...] | None = None) -> Clean:
    return Clean("safe", rounds, below)


@dataclass(frozen=True)
class Rule:
    """The verdict that these messages justify, None if none, and whether a search may end."""

    says: str
    messages: Sequence[Heard]
    verdict: Verdict | None
    settled: bool
    limits: Limits = UNLIMITED
    basis: Basis | None = None
    fewest: Fewest | None = None
    proving: bool = False
    visiting: bool = False


VIOLATED, UNDECIDED, VACUOUS, HOLDS, PROVED = Verdict
ROUNDS = Basis.ROUNDS

RULES = (
    Rule("nothing is known", [], None, False),
    Rule(
        "induction over one action while the first states are visited",
        [SEEN, BY_ACTIONS], PROVED, False, basis=Basis.INDUCTION,
        visiting=True,
    ),
    Rule(
        "… which are all", [SEEN, BY_ACTIONS, Visited(9, None, 2)], PROVED, True, basis=Basis.ENUMERATION
    ),
    Rule("no violation so far is no proof", [SEEN, clean(9)], None, False),
    Rule(
        "complete rounds that were searched are one",
        [SEEN, Complete(3, None), clean(3)], PROVED, True, basis=ROUNDS,
    ),
    Rule("complete rounds that were not searched are none", [SEEN, Complete(3, None), clean(2)], None, False),
    Rule("a proof about nothing is none", [Complete(3, None), clean(3)], VACUOUS, True),
    Rule("short executions that fit say nothing of long ones", [SEEN, Complete(3, 9), clean(5)], None, False),
    Rule(
        "up to a bound: whether there are longer executions must be known",
        [SEEN, Complete(3, 9), clean(3)], None, False, Limits(bound=9),
    ),
    Rule(
        "there are: it holds",
        [SEEN, Complete(3, 9), clean(3), Surpassed(True)], HOLDS, True, Limits(bound=9),
    ),
    Rule(
        "there are none: it is proved",
        [SEEN, Complete(3, 9), clean(3), Surpassed(False)], PROVED, True, Limits(bound=9), ROUNDS,
    ),
    Rule(
        "completeness of shorter executions is not enough for the bound",
        [SEEN, Complete(3, 8), clean(3), Surpassed(True)], None, False, Limits(bound=9),
    ),
    Rule(
        "all rounds asked for are clean, and there are longer executions",
        [SEEN, clean(4), Longer(4, None)], HOLDS, True, Limits(rounds=4),
    ),
    Rule("… unless there may be none", [SEEN, clean(4), Longer(3, None)], None, False, Limits(rounds=4)),
    Rule("… unless nothing was tested", [clean(4), Longer(4, None)], VACUOUS, True, Limits(rounds=4)),
    Rule(
        "… of which the longer ones count that the bound allows",
        [SEEN, clean(4), Longer(4, 8)], None, False, Limits(rounds=4, bound=9),
    ),
    Rule(
        "… and an engine may still prove it",
        [SEEN, clean(4), Longer(4, None)], HOLDS, False, Limits(rounds=4), proving=True,
    ),
    Rule(
        "induction over one action, about something",
        [SEEN, BY_ACTIONS], PROVED, True, basis=Basis.INDUCTION,
    ),
    Rule("induction over one action, about nothing so far", [BY_ACTIONS], None, False),
    Rule("induction over one action, about nothing ever", [BY_ACTIONS, Unreached("safe")], VACUOUS, True),
    Rule("no induction over one action", [SEEN, NotByActions("safe", "not inductive")], None, False),
    Rule(
        "no cheaper one in rounds that cover the shorter ones but those of one step less",
        [violated(9), clean(2, (0, 9)), Complete(2, 7)], VIOLATED, False, fewest=Fewest.WITHIN_ROUNDS,
    ),
    Rule("a violation may still be made smaller", [violated(9)], VIOLATED, False),
    Rule("… or need not", [violated(9)], VIOLATED, True, Limits(minimize=Minimize.NONE)),
    Rule(
        "… what was clean before it was found says nothing of it",
        [clean(1), Complete(2, None), violated(9)], VIOLATED, False,
    ),
    Rule(
        "… nor does what was found clean of cheaper ones than another",
        [violated(9), Complete(3, None), clean(3, (0, 8))], VIOLATED, False,
    ),
    Rule(
        "no cheaper one in the rounds of the trace",
        [violated(9), clean(2, (0, 9))], VIOLATED, False, fewest=Fewest.WITHIN_ROUNDS,
    ),
    Rule(
        "no cheaper one in rounds that cover all shorter executions",
        [violated(9), clean(2, (0, 9)), Complete(2, 8)], VIOLATED, True, fewest=Fewest.OF_ALL,
    ),
    Rule(
        "… which are not enough while there are faults to save",
        [violated(9, faults=1), clean(2, (1, 9)), Complete(2, 8)], VIOLATED, False,
        fewest=Fewest.WITHIN_ROUNDS,
    ),
    Rule(
        "no cheaper one in all rounds asked for",
        [violated(9), clean(4, (0, 9))], VIOLATED, True, Limits(rounds=4), fewest=Fewest.WITHIN_ROUNDS,
    ),
    Rule("nothing is shorter than nothing", [violated(0)], VIOLATED, True, fewest=Fewest.OF_ALL),
)  # fmt: skip


def knowledge(rule: Rule, kind: type[Knowledge] = Knowledge) -> Knowledge:
    """Return the knowledge after the messages of a rule."""
    known = kind([SAFE], rule.limits, rule.proving, rule.visiting)
    for message in rule.messages:
        known.hear(message)
    return known


def comes_to(known: Knowledge) -> tuple[Any, ...]:
    decision = known.decision("safe")
    result = known.result("safe", 1.0, "time is up")
    if decision is None:
        assert (result.verdict, known.settled("safe")) == (Verdict.UNDECIDED, False)
        return None, False, None, result.fewest
    assert result.verdict is decision.verdict, "the result says what was decided"
    assert result.basis is decision.basis
    return decision.verdict, known.settled("safe"), decision.basis, result.fewest


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.says)
def test_what_is_known_comes_to_a_verdict_or_to_nothing(rule: Rule) -> None:
    assert comes_to(knowledge(rule)) == (rule.verdict, rule.settled, rule.basis, rule.fewest)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.says)
def test_messages_of_two_searches_may_come_in_any_order(rule: Rule) -> None:
    """The messages of one search come in the order in which it sends them."""
    hunting = (Replayed, Clean, Witnessed)
    messages = sorted(rule.messages, key=lambda message: isinstance(message, hunting))
    other = Rule(**{**rule.__dict__, "messages": messages})
    assert comes_to(knowledge(other)) == comes_to(knowledge(rule))


# Planted mistakes.


class WhatWasNotSearchedIsCovered(Knowledge):
    def _is_covered(self, about: Any) -> bool:
        return self.covering(self.limits.bound) is not None


class ShortExecutionsAreAll(Knowledge):
    def covering(self, steps: int | None) -> int | None:
        return min(self._complete.values(), default=None)


class ProofsAreNotAwaited(Knowledge):
    def __post_init__(self) -> None:
        super().__post_init__()
        self.proving = False


class FirstStatesAreNotAwaited(Knowledge):
    def __post_init__(self) -> None:
        super().__post_init__()
        self.visiting = False


class FirstFoundIsFewest(Knowledge):
    def _is_fewest(self, about: Any) -> bool:
        return True


class WithoutAWitness(Knowledge):
    """A planted mistake: every property counts as witnessed."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.hear(SEEN)


class AnyLongerExecutionCounts(Knowledge):
    def hear(self, message: Heard) -> None:
        super().hear(Longer(message.rounds, self.limits.bound) if isinstance(message, Longer) else message)


class WhatWasCleanStaysClean(Knowledge):
    """A planted mistake: clean rounds count as clean of everything cheaper than the last violation."""

    def hear(self, message: Heard) -> None:
        super().hear(message)
        about = self._about["safe"]
        if isinstance(message, Clean | Replayed) and about.costs is not None:
            about.clean = Clean("safe", 9, about.costs)


class NobodyAsksWhetherThereAreLongerOnes(Knowledge):
    def decision(self, name: str) -> Any:
        if self.surpassed is None:
            self.surpassed = False
        return super().decision(name)


MISTAKES: tuple[Callable[..., Knowledge], ...] = (
    WhatWasNotSearchedIsCovered,
    ShortExecutionsAreAll,
    ProofsAreNotAwaited,
    FirstStatesAreNotAwaited,
    FirstFoundIsFewest,
    WithoutAWitness,
    AnyLongerExecutionCounts,
    WhatWasCleanStaysClean,
    NobodyAsksWhetherThereAreLongerOnes,
)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_breaks_a_rule(mistake: type[Knowledge]) -> None:
    expected = [(rule.verdict, rule.settled, rule.basis, rule.fewest) for rule in RULES]
    assert [comes_to(knowledge(rule, mistake)) for rule in RULES] != expected


# The texts of results.


def test_why_nothing_is_decided() -> None:
    tried = knowledge(Rule("", [SEEN, NO_INDUCTION, clean(3)], None, False))
    result = tried.result("safe", 1.5, "time-out after 2 s")
    assert result.reason == "time-out after 2 s; not inductive"
    assert (result.rounds, result.searched, result.seconds) == (3, 3, 1.5)


def test_rounds_are_those_that_the_verdict_speaks_of() -> None:
    covered: list[Heard] = [SEEN, Complete(3, None), clean(7)]
    proof = knowledge(Rule("", covered, PROVED, True)).result("safe", 1.0, "")
    assert (proof.rounds, proof.covering, proof.searched, proof.complete) == (3, 3, 7, True)
    found = knowledge(Rule("", [violated(9, rounds=2)], VIOLATED, False)).result("safe", 1.0, "")
    assert (found.rounds, found.found_in, found.searched, found.complete) == (2, 2, 2, False)


def test_only_shorter_executions_are_of_use_once_everything_is_violated() -> None:
    known = knowledge(Rule("", [violated(9), clean(2, (0, 9))], VIOLATED, False))
    assert known.longest_useful() == 8
    faults = knowledge(Rule("", [violated(9, faults=1), clean(2, (1, 9))], VIOLATED, False))
    assert faults.longest_useful() is None
    assert knowledge(Rule("", [clean(2)], None, False)).longest_useful() is None


def test_shorter_executions_are_of_use_where_steps_are_all_that_is_counted() -> None:
    """The last cost is the steps. The costs before it, if there are any, are faults."""
    only_steps = Replayed("safe", idle_trace(9), 2, (9,))
    assert knowledge(Rule("", [only_steps, clean(2, (9,))], VIOLATED, False)).longest_useful() == 8


def test_a_larger_bound_may_reach_a_witness_that_the_bound_leaves_out_and_no_other() -> None:
    """If every execution was covered without a bound, the reason promises nothing about a larger one."""
    cut = Rule("", [clean(3), Complete(3, 9), Surpassed(True)], VACUOUS, True, Limits(bound=9))
    whole = Rule("", [clean(3), Complete(3, None)], VACUOUS, True)
    says = [knowledge(rule).result("safe", 1.0, "").reason or "" for rule in (cut, whole)]
    assert ["a larger bound may reach it" in reason for reason in says] == [True, False]
