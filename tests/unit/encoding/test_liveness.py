"""Liveness: fair components and monitored systems against a plain search for fair cycles."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from fencepost.encoding.check import decide
from fencepost.encoding.concrete.lassos import replay_lasso
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.messages import FoundPath
from fencepost.encoding.engine.verdicts import Live, LiveBasis, Result, Verdict
from fencepost.encoding.enumeration.process import enumerate_states
from fencepost.encoding.errors import BadInput, InternalError, ModelError
from fencepost.encoding.evidence.contents import contents_of, fill
from fencepost.encoding.evidence.manifests import read_manifest
from fencepost.encoding.evidence.recheck import Rejected, certify_or_reject
from fencepost.encoding.formulas.aiger import CircuitBuilder
from fencepost.encoding.language import (
    BOOL,
    Action,
    StateSpace,
    System,
    TermLike,
    always_eventually,
    any_of,
    each,
    eventually,
    eventually_always,
    family,
    integers,
    leads_to,
    variable,
)
from fencepost.encoding.language.canonical import digest
from fencepost.encoding.language.system import Liveness
from fencepost.encoding.language.terms import lift
from fencepost.encoding.liveness import (
    fair_components,
    live_check,
    monitor,
    random_rests,
    state_graph,
)
from fencepost.encoding.liveness.ending import every_execution_ends
from fencepost.encoding.liveness.fair_components import FoundLasso
from fencepost.encoding.liveness.live_check import check_all
from fencepost.encoding.liveness.monitor import Monitored
from fencepost.properties.bookkeeper.in_the_end import LivenessParameters, bookkeeper_in_the_end
from support.against_exploring import seeds_of_each_tier
from support.bare import Bare
from support.fair_systems import Drawn, drawn, drawn_for_ever, is_violated, system_of

MOST_ROUNDS = 6
"""More rounds of fairness than any of the drawn systems needs."""


def searched(system: System, module: Any = fair_components) -> tuple[FoundLasso | None, bool]:
    """Return the lasso that the graph of the states has, if any, and whether the trigger is ever met."""
    found = list(module.search_lassos(system, system.liveness, {}, None))
    assert type(found[-1]).__name__ == "Visited"
    lasso = next((m for m in found if type(m).__name__ == "FoundLasso"), None)
    return lasso, not any(type(m).__name__ == "UnmetFairness" for m in found)


def refuted(monitored: Monitored) -> bool:
    """Return whether the property of a monitored system is false in some state."""
    claim = monitored.claim
    found = enumerate_states(monitored.system, [claim], {})
    return any(isinstance(m, FoundPath) and m.property == claim.name for m in found)


def by_monitors(system: System, module: Any = monitor) -> tuple[bool, bool]:
    """Return whether a loop is closed, and whether every number of rounds of fairness is exceeded."""
    (prop,) = system.liveness
    subject = Bare(system).subject
    closed = refuted(module.loops(system, subject, prop, ()))
    least = range(MOST_ROUNDS if closed else 0, MOST_ROUNDS + 1)
    exceeded = all(refuted(module.within(system, subject, prop, most)) for most in least)
    return closed, exceeded


@seeds_of_each_tier(30, 300, 4_000)
def test_fair_components_agree_with_a_plain_search(seeds: range) -> None:
    for kind in (drawn, drawn_for_ever):
        violated = 0
        for seed in seeds:
            system = system_of(kind(seed))
            lasso, met = searched(system)
            assert (lasso is not None, met) == is_violated(kind(seed)), seed
            if lasso is not None:
                replayed(system, lasso)
                violated += 1
        assert len(seeds) // 4 <= violated <= 9 * len(seeds) // 10


def replayed(system: System, lasso: FoundLasso) -> None:
    actions, choices, beginning = lasso.path.execution(system)
    replayer = Replayer(system, Bare(system).subject)
    trace = replay_lasso(replayer, system.liveness[0], actions, choices, beginning, lasso.begins)
    assert trace.loop is not None


@seeds_of_each_tier(3, 20, 2_000)
def test_monitored_systems_agree_with_a_plain_search(seeds: range) -> None:
    for seed in seeds:
        for made in (drawn(seed), drawn_for_ever(seed)):
            violated, _ = is_violated(made)
            assert by_monitors(system_of(made)) == (violated, violated), (seed, made.kind)


@seeds_of_each_tier(1, 10, 120)
def test_a_check_by_solvers_agrees_with_a_plain_search(seeds: range) -> None:
    limits = Limits(engines=("ic3", "rounds"), timeout=600)
    for seed in seeds:
        for made in (drawn(seed), drawn_for_ever(seed)):
            violated, met = is_violated(made)
            expected = Verdict.VIOLATED if violated else Verdict.PROVED if met else Verdict.VACUOUS
            assert result_of(system_of(made), limits).verdict is expected, (seed, made.kind)


@seeds_of_each_tier(1, 4, 30)
def test_no_certificate_of_a_violated_property_stands(seeds: range, tmp_path: Path) -> None:
    """Each kind of monitored system is proved on its own. A certificate stands if the property holds."""
    stood = 0
    for seed in seeds:
        system = system_of(drawn(seed))
        for by, rounds in ((LiveBasis.ENDS, None), (LiveBasis.ROUNDS, 2), (LiveBasis.LOOPS, None)):
            folder = tmp_path / f"{seed}-{by.value}"
            folder.mkdir()
            if stands(system, by, rounds, folder):
                assert is_violated(drawn(seed)) == (False, True), (seed, by)
                stood += 1
    assert stood or len(seeds) < 3


def stands(system: System, by: LiveBasis, rounds: int | None, folder: Path) -> bool:
    """Return whether the claim about a monitored system is proved, and its certificate stands."""
    (prop,), subject = system.liveness, Bare(system).subject
    watched = monitor.monitored(system, subject, prop, by, rounds, ())
    (result,) = decide(watched, [watched.claim], Limits(engines=("ic3",), timeout=600)).results
    if result.verdict is not Verdict.PROVED:
        return False
    proved = [replace(result, live=Live(by, rounds, ()))]
    list(fill(system, subject, contents_of(proved, {}, False), folder))
    found = list(certify_or_reject(folder, read_manifest(folder), system, subject.system))
    return not isinstance(found[-1], Rejected)


def result_of(system: System, limits: Limits = Limits(timeout=600)) -> Result:  # noqa: B008 - frozen
    (result,) = check_all(Bare(system), system.liveness, limits).results
    return result


# A shortest lasso, and one that is not the shortest.


def test_a_lasso_is_the_shortest_of_all() -> None:
    """Planted: ways to one node with other sets satisfied are one; all nodes are as near as the first."""
    for seed in range(120):
        system = system_of(drawn(seed) if seed < 80 else drawn_for_ever(seed))
        lasso, _ = searched(system)
        if lasso is not None:
            assert lasso.is_shortest
            assert len(lasso.path.actions) == shortest(system), seed


def shortest(system: System) -> int:
    """Return the steps of the shortest lasso by trying each way of so many steps, and each loop in it."""
    replayer = Replayer(system, Bare(system).subject)
    graph = state_graph.StateGraph(replayer.concrete)
    list(graph.nodes())
    ways: list[tuple[int, ...]] = [(n,) for n, depth in enumerate(graph.depths) if not depth]
    while True:
        if any(is_lasso(replayer, system, graph, way) for way in ways):
            return len(ways[0]) - 1
        ways = [(*way, target) for way in ways for target in graph.steps[way[-1]]]


def is_lasso(replayer: Replayer, system: System, graph: Any, way: Sequence[int]) -> bool:
    (prop,) = system.liveness
    actions = [system.ground_actions[graph.steps[here][after][0]] for here, after in pairwise(way)]
    last, start = graph.by_number[way[-1]], graph.by_number[way[0]]
    choices = [v.name for v in system.choices if last[v.place] == 1]
    beginning = [start[v.place] for v in system.varied]
    for begins, node in enumerate(way):
        if node == way[-1]:
            try:
                replay_lasso(replayer, prop, actions, choices, beginning, begins)
            except NotAnExecution:
                continue
            return True
    return False


def test_a_lasso_is_found_where_the_shortest_is_too_much_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_components, "WORK", 0)
    longer = 0
    for seed in range(40):
        system = system_of(drawn(seed))
        lasso, _ = searched(system)
        assert (lasso is not None) == is_violated(drawn(seed))[0]
        if lasso is not None:
            assert not lasso.is_shortest
            replayed(system, lasso)
            longer += len(lasso.path.actions) > shortest(system)
    assert longer >= 1


# Planted mistakes.


def mutant(module: ModuleType, old: str, new: str) -> ModuleType:
    """Return the module with one place of its text replaced."""
    assert module.__file__ is not None
    text = Path(module.__file__).read_text()
    assert text.count(old) == 1, f"{module.__name__} has {old!r} {text.count(old)} times"
    changed = ModuleType(f"{module.__name__}_mutant")
    sys.modules[changed.__name__] = changed
    code = compile(text.replace(old, new), module.__file__, "exec")
    exec(code, changed.__dict__)  # noqa: S102 - our own text
    return changed


MONITORS = {
    "a mark is set by a step that changes nothing": (
        "all_of(action.schema.action.when, changes(action.schema))",
        "all_of(action.schema.action.when)",
        115,
    ),
    "a mark is not cleared": ("all_of(owed, ~complete, new[fair])", "all_of(owed, new[fair])", 60),
    "a loop forgets a variable": (
        "if v.family in written and not v.is_choice",
        "if v.family in written and not v.is_choice and v.place",
        134,
    ),
    "an oath may be sworn inside the loop": ("all_of(~met[fair], ~enabled[fair])", "~enabled[fair]", 107),
    "an oath ends with its round": (
        "oath.set(False, when=~owed)",
        "oath.set(False, when=any_of(~owed, complete))",
        107,
    ),
    "an oath is not kept": ("(~oath | ~enabled[fair] for", "(TRUE for", 5),
    "a weak set is satisfied where it is enabled": (
        "saved if fair in taken or fair.is_strong else all_of(saved, ~enabled[fair])",
        "saved",
        145,
    ),
    "the goal does not end what is owed": ("all_of(since, ~prop.met)", "since", 2),
    "a loop may pass the goal": ("goes_on = any_of(~saved, owed)", "goes_on = TRUE", 38),
    "what was owed is forgotten": ("[*own, self._was_owed.set(self.owed), *updates]", "[*own, *updates]", 33),
}


@pytest.mark.parametrize("old, new, seed", MONITORS.values(), ids=list(MONITORS))
def test_a_planted_mistake_of_a_monitor_is_noticed(old: str, new: str, seed: int) -> None:
    """The seed is the first one of which the answer differs."""
    changed = mutant(monitor, old, new)
    assert differs(seed, lambda system: by_monitors(system, changed))
    assert not differs(seed, by_monitors)


FOR_EVER = {
    "the condition need not be false in the loop": (
        "if prop.for_ever:",
        "if False:",
        1,
    ),
    "the condition ends what is owed": (
        "all_of(since, ~prop.met)",
        "all_of(since, ~prop.holds)",
        12,
    ),
}


@pytest.mark.parametrize("old, new, seed", FOR_EVER.values(), ids=list(FOR_EVER))
def test_a_planted_mistake_about_what_stays_true_is_noticed(old: str, new: str, seed: int) -> None:
    changed = mutant(monitor, old, new)
    assert differs(seed, lambda system: by_monitors(system, changed), drawn_for_ever)
    assert not differs(seed, by_monitors, drawn_for_ever)


def differs(
    seed: int, answer: Callable[[System], tuple[bool, bool]], kind: Callable[[int], Drawn] = drawn
) -> bool:
    violated, _ = is_violated(kind(seed))
    return answer(system_of(kind(seed))) != (violated, violated)


COMPONENTS = {
    "a strong set is taken for a weak one": (
        "unfair = sometimes & ~taken & self._strong",
        "unfair = always & ~taken & self._strong",
    ),
    "a weak set is not asked": ("if always & ~taken & ~self._strong:", "if False:"),
    "a part is not searched again": (
        "waiting.append(frozenset(n for n in part if not self._enabled[n] & unfair))",
        "pass",
    ),
    "the goal does not end what is owed": ("and not is_met(graph.by_number[target])", ""),
    "what must stay true may be true in the whole loop": ("own * held(node)", "0"),
    "what must stay true is taken for true": ("own * held(node)", "own"),
}


@pytest.mark.parametrize("old, new", COMPONENTS.values(), ids=list(COMPONENTS))
def test_a_planted_mistake_of_the_components_is_noticed(old: str, new: str) -> None:
    changed = mutant(fair_components, old, new)
    changed.__dict__["WORK"] = 0  # the search for the shortest lasso would find most of them by itself

    def differs(system: System, violated: bool) -> bool:
        with suppress(InternalError):  # a component without a fair loop
            return (searched(system, changed)[0] is not None) != violated
        return True

    made = map(drawn_for_ever if "held" in old else drawn, range(60))
    cases = [*((system_of(one), is_violated(one)[0]) for one in made), *TRAPS.values()]
    assert any(differs(*case) for case in cases)


def test_a_step_that_changes_nothing_is_no_step_of_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = mutant(
        state_graph,
        "if all(raw[place] == node[place] for place in self._state_places):\n                continue",
        "",
    )
    monkeypatch.setattr(fair_components, "StateGraph", changed.StateGraph)
    lasso, _ = searched(stutters("weak, any of both", "weak, any of both"))
    assert lasso is not None, "the planted mistake finds a loop that stands still"


def test_a_badly_defined_action_is_refused_with_the_steps_before_it() -> None:
    """Planted: the search has its own graph, which keeps no steps to a refusal."""
    s = Numbers()

    def up(s: Numbers) -> Action:
        return Action(when=s.x < 5, then=[s.x.set(s.x + 1)], actor="all")

    made = System(s, (each(up, s, fair="weak"),), (always_eventually("live", "it is 0", s.x == 0),))
    with pytest.raises(ModelError, match=r"up sets x to 4, outside 0\.\.3; .*\(after up, up, up\)$"):
        searched(made)


def test_choices_are_decided_where_fairness_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = mutant(state_graph, "readers = [step for", "readers = [] and [step for")
    monkeypatch.setattr(fair_components, "StateGraph", changed.StateGraph)

    def verdict_differs(seed: int) -> bool:
        lasso, _ = searched(system_of(drawn(seed)))
        return (lasso is not None) != is_violated(drawn(seed))[0]

    assert any(map(verdict_differs, range(100)))


def test_without_its_fairness_a_system_has_another_verdict_and_another_digest() -> None:
    seeds = range(40)
    assert all(
        digest(system_of(drawn(seed))) != digest(system_of(drawn(seed), fairness=False)) for seed in seeds
    )
    assert any(
        searched(system_of(drawn(seed), fairness=False))[0] is not None and not is_violated(drawn(seed))[0]
        for seed in seeds
    )


# Traps: small systems with their right answers. TLC agrees with those of four modules.


class Numbers(StateSpace):
    """A number and a Boolean."""

    def __init__(self) -> None:
        self.x = variable(integers(0, 3))
        self.y = variable(BOOL)


def act(
    name: str, when: Callable[[Numbers], TermLike], then: Callable[[Numbers], Any]
) -> Callable[..., Action]:
    def handler(s: Numbers) -> Action:
        return Action(when=lift(when(s)), then=[then(s)], actor="all")

    handler.__name__ = name
    return handler


def system(prop: Callable[[Numbers], Liveness], *actions: tuple[Callable[..., Action], str | None]) -> System:
    s = Numbers()
    return System(s, tuple(each(handler, s, fair=fair) for handler, fair in actions), (prop(s),))


def countdown(fair: str | None) -> System:
    down = act("up", lambda s: s.x < 3, lambda s: s.x.set(s.x + 1))
    return system(lambda s: always_eventually("live", "it ends", s.x == 3), (down, fair))


def stutters(go: str | None, up: str | None) -> System:
    return system(
        lambda s: always_eventually("live", "it goes up", s.x == 1),
        (act("go", lambda s: s.x == 0, lambda s: s.x.set(s.x)), go),
        (act("up", lambda s: s.x == 0, lambda s: s.x.set(1)), up),
    )


def never_enabled(fair: str) -> System:
    return system(
        lambda s: always_eventually("live", "y comes about", s.y),
        (act("never", lambda s: s.x == 2, lambda s: s.y.set(~s.y)), fair),
        (act("flip", lambda s: s.x < 2, lambda s: s.x.set(1 - s.x, when=s.x < 2)), fair),
    )


def deadlock(good: str, stuck: str | None) -> System:
    return system(
        lambda s: always_eventually("live", "it is good", s.x == 1),
        (act("good", lambda s: s.x == 0, lambda s: s.x.set(1)), good),
        (act("stuck", lambda s: s.x == 0, lambda s: s.x.set(2)), stuck),
    )


def flickers(fair: str, flip: str | None = "weak") -> System:
    """Return a system whose action is enabled again and again, but not all the time."""
    return system(
        lambda s: eventually("live", "y comes about", s.y),
        (act("flip", lambda s: s.x < 2, lambda s: s.x.set(1 - s.x, when=s.x < 2)), flip),
        (act("leave", lambda s: s.x == 1, lambda s: s.y.set(True)), fair),
    )


def goes_away(prop: Callable[[Numbers], Liveness]) -> System:
    """Return a system whose goal comes about once and never again."""
    return system(prop, (act("pass", lambda s: s.x < 2, lambda s: s.x.set(s.x + 1, when=s.x < 2)), "weak"))


def flickers_alone(prop: Callable[[Numbers], Liveness]) -> System:
    flip = act("flip", lambda s: s.x < 2, lambda s: s.x.set(1 - s.x, when=s.x < 2))
    return system(prop, (flip, "weak"))


TRAPS = {
    "countdown, unfair: it may stand still": (countdown(None), True),
    "countdown, weak": (countdown("weak"), False),
    "the step that changes nothing is fair": (stutters("weak", None), True),
    "the step that changes something is fair": (stutters(None, "weak"), False),
    "a step that changes nothing stands for no other": (
        stutters("weak, any of both", "weak, any of both"),
        False,
    ),
    "never enabled, weak": (never_enabled("weak"), True),
    "never enabled, strong": (never_enabled("strong"), True),
    "deadlock, weak": (deadlock("weak", "weak"), True),
    "deadlock, strong": (deadlock("strong", None), True),
    "weak where strong is needed": (flickers("weak"), True),
    "strong where it is needed": (flickers("strong"), False),
    "a strong set may be left behind in a part where it is never enabled": (flickers("strong", None), True),
    "once is not again and again": (
        goes_away(lambda s: always_eventually("live", "it is there", s.x == 1)),
        True,
    ),
    "it stays true for ever": (
        goes_away(lambda s: eventually_always("live", "it is there", s.x == 2)),
        False,
    ),
    "once is not for ever": (
        goes_away(lambda s: eventually_always("live", "it is there", s.x == 1)),
        True,
    ),
    "again and again is not for ever": (
        flickers_alone(lambda s: eventually_always("live", "it is there", s.x == 1)),
        True,
    ),
    "again and again is less than for ever": (
        flickers_alone(lambda s: always_eventually("live", "it is there", s.x == 1)),
        False,
    ),
    "once is enough": (goes_away(lambda s: eventually("live", "it is there", s.x == 1)), False),
    "once is enough after the trigger": (
        goes_away(lambda s: leads_to("live", "it is there", s.x == 0, s.x == 1)),
        False,
    ),
    "it is owed in the state in which it is triggered": (
        goes_away(lambda s: leads_to("live", "it is there", s.x == 1, s.x == 1)),
        False,
    ),
    "it is owed again": (goes_away(lambda s: leads_to("live", "it is there", s.x == 2, s.x == 1)), True),
}


@pytest.mark.parametrize("by", ("graph", "monitors"))
@pytest.mark.parametrize("trap", TRAPS)
def test_traps(trap: str, by: str) -> None:
    system, violated = TRAPS[trap]
    if by == "graph":
        assert (searched(system)[0] is not None) is violated
    else:
        assert by_monitors(system) == (violated, violated)


def test_fairness_of_each_argument_of_some_one_and_of_several_together() -> None:
    """Fill and empty two places: each of them, or some one, or the actions of one place."""

    def verdict(fill: str, empty: str | None) -> bool:
        s = Places()
        filled = any_of(s.full[1], s.full[2])

        def own(s: Places, i: TermLike) -> Action:
            return Action(when=~s.full[i], then=[s.full[i].set(True)], actor="all")

        def drop(s: Places, i: TermLike) -> Action:
            return Action(when=s.full[i], then=[s.full[i].set(False)], actor="all")

        both = always_eventually("live", "place 2 is filled", s.full[2])
        assert filled.type == "bool"
        made = System(s, (each(own, s, s.place, fair=fill), each(drop, s, s.place, fair=empty)), (both,))
        return searched(made)[0] is not None

    assert not verdict("weak", None)
    assert verdict("weak, any", None), "place 1 alone may be filled again and again"
    assert verdict("weak, any of both", "weak, any of both")
    assert not verdict("strong, any of both by i", "strong, any of both by i"), (
        "place 2 changes again and again"
    )


class Places(StateSpace):
    """Two places that are full or empty."""

    def __init__(self) -> None:
        self.place = integers(1, 2)
        self.full = family(BOOL, self.place)


# Whether every execution ends.


def pair(*updates: Callable[[Numbers], Any]) -> System:
    """Return a system whose Boolean is set anew in a step that these updates are part of, and reset."""

    def flip(s: Numbers) -> Action:
        return Action(when=~s.y & (s.x < 3), then=[s.y.set(True), *(u(s) for u in updates)], actor="all")

    back = act("back", lambda s: s.y, lambda s: s.y.set(False))
    return system(lambda s: always_eventually("live", "it rests", ~s.y), (flip, "weak"), (back, "weak"))


def test_a_variable_that_returns_may_be_paid_for_by_one_that_does_not() -> None:
    assert not every_execution_ends(pair())
    assert not every_execution_ends(pair(lambda s: s.x.set(3, when=s.x == 2)))
    assert not every_execution_ends(pair(lambda s: s.x.set(0)))
    assert every_execution_ends(pair(lambda s: s.x.set(3)))


@pytest.mark.parametrize("seed", range(150))
def test_no_execution_that_ends_has_a_cycle(seed: int) -> None:
    # Planted: an update under a condition, or one that the guard allows twice, spends its action.
    drawn_system = system_of(drawn(seed))
    if every_execution_ends(drawn_system):
        assert not has_cycle(drawn_system)


def has_cycle(of: System) -> bool:
    """Return whether some steps that change something lead back to their first state."""
    graph = state_graph.StateGraph(Replayer(of, Bare(of).subject).concrete)
    list(graph.nodes())
    left = {n: set(after) for n, after in enumerate(graph.steps)}
    while ends := {n for n, after in left.items() if not after & left.keys()}:
        for n in ends:
            del left[n]
    return bool(left)


# The check as a whole.


def test_the_basis_names_what_was_done() -> None:
    enumerated = result_of(countdown("weak"), Limits(engines=("enumeration",), timeout=600))
    assert enumerated.live is not None and enumerated.live.by is LiveBasis.STATES
    ended = result_of(countdown("weak"), Limits(engines=("ic3",), timeout=600))
    assert ended.live is not None and ended.live.by is LiveBasis.ENDS
    assert (ended.verdict, ended.witness) == (Verdict.PROVED, True)


def test_rounds_of_fairness_prove_what_does_not_end() -> None:
    found = result_of(flickers("strong"), Limits(engines=("ic3",), timeout=600))
    assert found.live is not None and (found.verdict, found.live.by) == (Verdict.PROVED, LiveBasis.ROUNDS)
    assert found.live.fair == ("flip", "leave")


@pytest.mark.parametrize("engines", ((), ("ic3", "rounds")))
def test_a_deadlock_is_a_loop_that_stands_still(engines: tuple[str, ...]) -> None:
    found = result_of(deadlock("strong", None), Limits(engines=engines, timeout=600))
    assert found.trace is not None and found.trace.loop is not None
    assert [step.action for step in found.trace.steps] == ["stuck"]
    assert (found.trace.loop.begins, found.trace.loop.owed) == (1, 0)


def test_a_bound_on_steps_decides_nothing_about_liveness() -> None:
    found = result_of(countdown("weak"), Limits(bound=5))
    assert found.verdict is Verdict.UNDECIDED
    assert "leave out --bound" in str(found.reason)


def test_too_many_states_for_the_graph_go_to_the_monitors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_check, "MOST", 2)
    found = result_of(countdown("weak"))
    assert found.live is not None and found.live.by is LiveBasis.ENDS


def test_what_is_undecided_says_which_rounds_and_loops_are_excluded(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter((Verdict.PROVED, Verdict.VIOLATED, Verdict.VIOLATED, Verdict.UNDECIDED, Verdict.UNDECIDED))
    clock = iter(range(1000))

    def asked(self: object, prop: Liveness, *_: object) -> Result:
        verdict = next(answers, Verdict.UNDECIDED)
        made = Result(prop.name, Verdict.UNDECIDED, 0.0, "", searched=9)
        object.__setattr__(made, "verdict", verdict)
        return replace(made, trace=None) if verdict is Verdict.UNDECIDED else made

    monkeypatch.setattr(live_check.LivenessCheck, "_asked", asked)
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(clock)))
    found = result_of(flickers("strong"), Limits(engines=("ic3",), timeout=100))
    assert found.verdict is Verdict.UNDECIDED
    assert "not within 1 round of fairness; no loop is closed within 7 steps" in str(found.reason)


def test_no_more_faults_than_allowed_are_in_a_lasso() -> None:
    """Leave a fault that may happen once out of a loop."""
    s = Numbers()

    def lose(s: Numbers) -> Action:
        return Action(when=s.x == 1, then=[s.x.set(0)], actor="all", fault="lost")

    def send(s: Numbers) -> Action:
        return Action(when=s.x == 0, then=[s.x.set(1)], actor="all")

    def arrive(s: Numbers) -> Action:
        return Action(when=s.x == 1, then=[s.x.set(2)], actor="all")

    actions = each(lose, s), each(send, s, fair="weak"), each(arrive, s, fair="weak")
    made = System(s, actions, (always_eventually("live", "it arrives", s.x == 2),))
    for engines in ((), ("ic3", "rounds")):
        limits = Limits(timeout=600, engines=engines)
        assert result_of(made, limits).verdict is Verdict.VIOLATED
        assert result_of(made, replace(limits, budgets={"lost": 1})).verdict is Verdict.PROVED


# Random executions to their rest.


@pytest.mark.parametrize("made", (drawn, drawn_for_ever))
def test_random_executions_find_violations_only(
    made: Callable[[int], Drawn], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: a state is at rest while a fair action is enabled; a loop is shortened to what is not owed."""
    monkeypatch.setattr(random_rests, "STEPS", 300)
    resting = 0
    for seed in range(30):
        system = system_of(made(seed))
        found = list(random_rests.search_rests(system, system.liveness, {}, Bare(system).subject))
        for lasso in found:
            replayed(system, lasso)
            assert is_violated(made(seed))[0], seed
        resting += len(found)
    assert resting >= 3


def test_random_executions_keep_within_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: losses are drawn without a look at the budget; losses that are not needed stay."""
    monkeypatch.setattr(random_rests, "STEPS", 3_000)
    one = LivenessParameters(bookies=1, ensemble=1, write_quorum=1, ack_quorum=1)
    system = bookkeeper_in_the_end(one)

    def losses(budgets: dict[str, int]) -> set[int]:
        found = random_rests.search_rests(system, system.liveness, budgets, Bare(system).subject)
        return {len(lasso.path.choices) for lasso in found}

    assert (losses({"lost": 0}), losses({"lost": 1}), losses({})) == (set(), {1}, {1})


def test_a_random_execution_makes_no_more_faults_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: faults that actions make are not counted."""
    monkeypatch.setattr(random_rests, "STEPS", 300)
    s = Numbers()

    def lose(s: Numbers) -> Action:
        return Action(when=s.x < 2, then=[s.x.set(s.x + 1)], actor="all", fault="lost")

    made = System(s, (each(lose, s),), (always_eventually("live", "two are lost", s.x == 0),))
    for most, expected in ((2, [1]), (0, [])):
        found = random_rests.search_rests(made, made.liveness, {"lost": most}, Bare(made).subject)
        assert [len(lasso.path.actions) for lasso in found] == expected


def test_a_circuit_of_a_monitored_system_with_losses_is_made() -> None:
    """Planted: the circuit asks which message has the loss. A monitored system has no messages."""
    one = LivenessParameters(bookies=1, ensemble=1, write_quorum=1, ack_quorum=1)
    system = bookkeeper_in_the_end(one)
    watched = monitor.rests(system, Bare(system).subject, system.liveness[0])
    assert CircuitBuilder(watched.system, [watched.claim]).circuit().bad


# A replay takes nothing for granted.


def forged() -> Iterator[tuple[System, list[str], int, str]]:
    yield flickers("weak"), ["flip"], 0, "does not end where it begins"
    yield flickers("strong"), ["flip", "flip"], 0, "is not fair to leave"
    yield countdown("weak"), [], 0, "is not fair to up"
    yield goes_away(lambda s: leads_to("live", "…", s.x == 2, s.x == 1)), ["pass"], 1, "is not owed"
    yield countdown("weak"), ["up"], 2, "does not end where it begins"
    stays = goes_away(lambda s: eventually_always("live", "…", s.x == 2))
    yield stays, ["pass", "pass"], 2, "is not owed"


@pytest.mark.parametrize("case", range(6))
def test_a_forged_lasso_does_not_replay(case: int) -> None:
    system, names, begins, reason = list(forged())[case]
    by_name = {action.name: action for action in system.ground_actions}
    replayer = Replayer(system, Bare(system).subject)
    with pytest.raises(NotAnExecution, match=reason):
        replay_lasso(replayer, system.liveness[0], [by_name[name] for name in names], (), (), begins)


# What an author may write.


@pytest.mark.parametrize(
    "fair, reason",
    [
        ("often", 'go: fair=\'often\'; valid: "weak", "strong"'),
        (True, "go: fair=True; valid:"),
        ("weak, any by node", "names node, no argument of it; valid: none, it has no arguments"),
        ("weak, any of both", "both: is weakly and strongly fair"),
    ],
)
def test_a_wrong_fairness_is_refused(fair: Any, reason: str) -> None:
    with pytest.raises(ModelError) as refused:
        _ = stutters(fair, "strong, any of both").fairness
    assert reason in str(refused.value)


def test_a_fault_is_never_fair() -> None:
    s = Numbers()

    def crash(s: Numbers) -> Action:
        return Action(then=[s.y.set(True)], actor="all", fault="crashes")

    with pytest.raises(ModelError, match="a fault is never fair"):
        System(s, (each(crash, s, fair="weak"),))


def test_a_property_of_liveness_is_no_property_about_states() -> None:
    made = countdown("weak")
    assert not made.properties and [prop.name for prop in made.liveness] == ["live"]
    with pytest.raises(BadInput, match="is about liveness, and this command takes none"):
        from fencepost.encoding.language.system import choose

        choose(made, ("live",))
