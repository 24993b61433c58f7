"""The number of steps that every violation takes at least, and when the search for shorter ones ends."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from fencepost.cli.cases import Checker, check_run
from fencepost.cli.main import run
from fencepost.cli.rendering.verdict_text import violated as headline
from fencepost.encoding.check import check
from fencepost.encoding.engine import work
from fencepost.encoding.engine.events import Heard, PatienceOver, Replayed
from fencepost.encoding.engine.knowledge import Knowledge
from fencepost.encoding.engine.limits import Limits, Minimize, Patience, Waiting
from fencepost.encoding.engine.messages import Clean, Complete, Longer
from fencepost.encoding.engine.verdicts import Fewest, Outcome, Result, Verdict
from fencepost.encoding.language.protocol import Instance, load
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import TRUE, all_of
from fencepost.properties.expectations import read
from fencepost.sweeps.solve import Allowance, limits
from fencepost.sweeps.sweep_cases import SweepCase
from support.bare import Bare, idle_trace
from support.generated import by_seeds, fewest_steps, generate
from support.results import object_of

EXAMPLE = Path(__file__).parents[3] / "examples" / "two_copies.py"
TWO_COPIES = load(EXAMPLE)
SAFE = Property("safe", "nothing is lost", TRUE, TRUE, "something is acknowledged")
AT_ONCE = Patience(seconds=0.0, factor=0.0)


def violated(*costs: int, rounds: int = 2) -> Replayed:
    return Replayed("safe", idle_trace(costs[-1]), rounds, costs)


def clean(rounds: int, *below: int) -> Clean:
    return Clean("safe", rounds, below or None)


@dataclass(frozen=True)
class Rule:
    """The lower bound that these messages prove."""

    says: str
    messages: Sequence[Heard]
    at_least: int | None


RULES = (
    Rule("nothing was searched", [violated(9)], None),
    Rule("three clean rounds: a violation needs a fourth, with a step in each", [clean(3), violated(9)], 4),
    Rule("… which later traces do not undo", [clean(3), violated(9), violated(8)], 4),
    Rule("… nor another search that began again", [clean(5), violated(9), clean(2, 9)], 6),
    Rule("… nor rounds that are covered but were not searched", [clean(3), violated(9), Complete(4, 7)], 4),
    Rule("none shorter in five rounds: one needs a sixth", [violated(9), clean(5, 9)], 6),
    Rule("… unless the trace has no more steps than that", [violated(4), clean(5, 4)], 4),
    Rule("… as many rounds as shorter ones have steps", [violated(9), clean(8, 9)], 9),
    Rule("… one round less", [violated(9), clean(7, 9)], 8),
    Rule("another trace was shorter than the one excluded", [violated(9), clean(5, 9), violated(8)], 6),
    Rule("executions of seven steps fit", [violated(9), clean(5, 9), Complete(5, 7)], 8),
    Rule("executions of seven steps do not fit", [violated(9), clean(5, 9), Complete(6, 7)], 6),
    Rule("executions that need more rounds exist", [violated(9), clean(5, 9), Longer(5, 7)], 6),
    Rule("executions of eight steps fit", [violated(9), clean(5, 9), Complete(5, 8)], 9),
    Rule("executions of twelve steps fit", [violated(9), clean(5, 9), Complete(5, 12)], 9),
    Rule("all executions fit", [violated(9), clean(5, 9), Complete(5, None)], 9),
    Rule("all executions do not fit", [violated(9), clean(5, 9), Complete(6, None)], 6),
    Rule("executions of seven steps fit in clean rounds", [clean(5), violated(9), Complete(4, 7)], 8),
    Rule("fewer faults first: fewer steps are not excluded", [violated(1, 9), clean(5, 1, 9)], None),
    Rule(
        "… not without any fault either: a shorter trace may have one",
        [clean(3), violated(0, 9), clean(5, 0, 9), Complete(5, None)], 4,
    ),
    Rule("nothing is shorter than nothing", [violated(0)], 0),
)  # fmt: skip


def knowledge(messages: Sequence[Heard], kind: type[Knowledge] = Knowledge, **limits: Any) -> Knowledge:
    """Return the knowledge after these messages."""
    known = kind([SAFE], Limits(**limits))
    for message in messages:
        known.hear(message)
    return known


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.says)
def test_a_lower_bound_is_what_the_searches_exclude(rule: Rule) -> None:
    known = knowledge(rule.messages)
    result = known.result("safe", 1.0, "")
    assert result.shortest_at_least == object_of(result)["shortest_at_least"] == rule.at_least
    counts_steps = len(known.violation("safe").costs) == 1  # type: ignore[union-attr]
    assert not counts_steps or (result.fewest is Fewest.OF_ALL) == (result.steps == rule.at_least)


class OneTooHigh(Knowledge):
    """A planted mistake: as many rounds as were searched count as one more."""

    def shortest_at_least(self, name: str) -> int | None:
        found = super().shortest_at_least(name)
        return found and found + 1


class AnyRoundsCover(Knowledge):
    """A planted mistake: executions of so many steps fit in the rounds searched, whatever they need."""

    def hear(self, message: Heard) -> None:
        super().hear(Complete(1, message.steps) if isinstance(message, Complete) else message)


class LongerOnesFit(Knowledge):
    """A planted mistake: that some executions need more rounds is taken for its opposite."""

    def hear(self, message: Heard) -> None:
        super().hear(Complete(message.rounds, message.steps) if isinstance(message, Longer) else message)


class FaultsAreSteps(Knowledge):
    """A planted mistake: a trace with fewer faults is taken for a shorter one."""

    def hear(self, message: Heard) -> None:
        only_steps = isinstance(message, Clean) and message.below is not None
        super().hear(replace(message, below=message.below[-1:]) if only_steps else message)  # type: ignore


@pytest.mark.parametrize("mistake", [OneTooHigh, AnyRoundsCover, LongerOnesFit, FaultsAreSteps])
def test_a_planted_mistake_breaks_a_rule_about_the_bound(mistake: type[Knowledge]) -> None:
    found = [knowledge(rule.messages, mistake).shortest_at_least("safe") for rule in RULES]
    assert found != [rule.at_least for rule in RULES]


def test_a_result_whose_trace_is_shorter_than_any_violation_is_refused() -> None:
    found = knowledge([clean(3), violated(4)]).result("safe", 1.0, "")
    with pytest.raises(ValueError, match="fewer steps than any violation"):
        replace(found, shortest_at_least=5)


def busy(seed: int) -> System:
    """Return a generated system in which a violation takes all firings of three of its actions."""
    system = generate(seed, posts=True)
    left = [variable for variable in system.variables if variable.name.startswith("left")]
    spent = [each.family[each.index] == 0 for each in random.Random(seed).sample(left, 3)]
    never = Property("never", "these actions are never used up", ~all_of(*spent), TRUE, "always")
    return replace(system, properties=(never,))


@by_seeds(8, 60)
def test_no_bound_is_above_the_fewest_steps_of_exploring(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: a bound one too high; a bound that takes the rounds searched for complete."""
    bounds: list[int] = []

    class Recorded(Knowledge):
        def hear(self, message: Heard) -> None:
            super().hear(message)
            bounds.append(self.shortest_at_least("never") or 0)

    monkeypatch.setattr(work, "Knowledge", Recorded)
    between = 0
    for seed in seeds:
        system = busy(seed)
        fewest = fewest_steps(system)
        if fewest is None:
            continue
        bounds.clear()
        (result,) = check(Bare(system), system.properties, Limits(jobs=1)).results
        assert max(bounds) == result.shortest_at_least == result.steps == fewest, seed
        assert result.fewest is Fewest.OF_ALL, seed
        between += any(1 < bound < fewest for bound in bounds)
    assert between >= len(seeds) // 4, "the sample tests too little"


# The time in which a counterexample is made smaller.


def test_when_the_time_is_over_nothing_more_is_awaited() -> None:
    messages: list[Heard] = [clean(3), violated(9)]
    assert not knowledge(messages).settled("safe")
    known = knowledge([*messages, PatienceOver("safe")])
    result = known.result("safe", 1.0, "")
    assert (known.settled("safe"), result.shortest_at_least, result.patience_is_over) == (True, 4, True)
    proved = knowledge([*messages, PatienceOver("safe"), clean(8, 9)]).result("safe", 1.0, "")
    assert (proved.fewest, proved.patience_is_over) == (Fewest.OF_ALL, False)


def test_the_time_counts_from_the_first_violation_and_a_shorter_one_does_not_start_it_again() -> None:
    """The first violation of `early` took 3 s, so 10 s are left; that of `late` took 30 s, so 30 are left."""
    waiting = Waiting(Patience(10.0, 1.0), begun=100.0)
    asked = [(["early"], 103.0), (["early"], 112.9), (["early"], 113.0), (["early", "late"], 130.0)]
    asked += [(["early", "late"], 159.9), (["late", "early"], 160.0)]
    over = [waiting.over(violated, now) for violated, now in asked]
    assert over == [[], [], ["early"], ["early"], ["early"], ["late", "early"]]


def test_without_patience_the_search_goes_on() -> None:
    assert Waiting(None, 0.0).over(["safe"], 1e9) == []
    assert Waiting(AT_ONCE, 0.0).over(["safe"], 5.0) == ["safe"]


def copies(patience: Patience | None, **settings: str) -> Result:
    """Return the result of checking examples/two_copies.py with this patience."""
    system = TWO_COPIES.system(TWO_COPIES.parameters(settings.items()))
    limits = Limits(jobs=1, patience=patience, engines=("rounds",))
    return check(Bare(system), system.properties[:1], limits).results[0]


def test_the_line_says_what_is_proved_and_how_to_go_on() -> None:
    """Without any patience the first trace stays, and only the rounds before it are known."""
    hurried, patient = copies(AT_ONCE), copies(None)
    assert (patient.steps, patient.fewest, patient.shortest_at_least) == (7, Fewest.OF_ALL, 7)
    assert (hurried.verdict, hurried.shortest_at_least, hurried.fewest) == (Verdict.VIOLATED, 2, None)
    go_on = "--minimize steps searches to the end"
    result = replace(hurried, trace=idle_trace(24), steps=24, shortest_at_least=19)
    assert headline(result) == f" in 24 steps; none shorter than 19 exists ({go_on}), without any fault"
    nothing = replace(result, shortest_at_least=1)
    assert headline(nothing) == f" in 24 steps (shorter ones may exist; {go_on}), without any fault"
    stopped = replace(result, patience_is_over=False)
    assert headline(stopped) == " in 24 steps; none shorter than 19 exists, without any fault"
    assert headline(patient) == " in 7 steps (fewest: no shorter trace exists), without any fault"


# The three kinds of asking.


@pytest.mark.parametrize(
    ("arguments", "minimize", "limited"),
    [
        ([], Minimize.STEPS, True),
        (["--minimize", "steps"], Minimize.STEPS, False),
        (["--minimize", "faults"], Minimize.FAULTS, False),
        (["--minimize", "none"], Minimize.NONE, False),
    ],
)
def test_only_a_command_without_minimize_limits_the_time(
    arguments: list[str], minimize: Minimize, limited: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Limits] = []

    def at_once(instance: Instance, properties: list[Property], limits: Limits, *hear: object) -> Outcome:
        asked.append(limits)
        results = [Result(p.name, Verdict.UNDECIDED, seconds=0.0, solver="none") for p in properties]
        return Outcome(tuple(results), 0.0, False, {})

    monkeypatch.setattr("fencepost.cli.commands.check.check_all", at_once)
    monkeypatch.setattr("fencepost.cli.commands.check.PATIENCE", AT_ONCE)
    assert run(["check", str(EXAMPLE), *arguments]) == 3
    assert [(one.minimize, one.patience) for one in asked] == [(minimize, AT_ONCE if limited else None)]


def test_known_bugs_sweeps_and_tests_search_to_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Planted: the limit stands in the limits of every check."""
    asked: list[Patience | None] = []
    monkeypatch.setattr("fencepost.cli.commands.check.PATIENCE", AT_ONCE)

    def check_nothing(bugs: object, limits: Limits, *rest: object) -> int:
        asked.append(limits.patience)
        return 0

    monkeypatch.setattr("fencepost.cli.commands.known.check_known", check_nothing)
    assert run(["known"]) == 0
    case = SweepCase("two-copies", (), "nothing-lost")
    asked.append(limits(case, Allowance(), generate(0)).patience)

    class Recorded(Waiting):
        def __init__(self, patience: Patience | None, begun: float) -> None:
            super().__init__(patience, begun)
            asked.append(patience)

    monkeypatch.setattr(work, "Waiting", Recorded)
    cases = tmp_path / "copies.cases.toml"
    table = f'[[case]]\nprotocol = "{EXAMPLE}"\nproperty = "nothing-lost"\nexpect = "violated"\nsteps = 7\n'
    cases.write_text(table, encoding="utf-8")
    (expectation,) = read(cases)
    found = [check_run(one) for one in expectation.runs()]
    found.append(Checker(lambda named_value: None).check(EXAMPLE, "nothing-lost"))
    assert asked == [None] * 4
    for one in found:
        assert (one.steps, one.result.fewest) == (7, Fewest.OF_ALL)
        assert "--minimize=steps" in one.command, "the command that shows the same has no limit either"
