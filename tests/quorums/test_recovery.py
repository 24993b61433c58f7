"""The recovery model: its proof bites, its traces are shortest, and its two readings agree."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import z3

from fencepost.encoding.errors import InternalError
from fencepost.quorums import recovery, traces
from fencepost.quorums.arithmetic import BP46
from fencepost.quorums.lemmas import Verdict, overall, settle
from fencepost.quorums.recovery import (
    INVARIANT,
    NEVER_STORED,
    RELATIONS,
    SAFETY,
    TODAY,
    Action,
    Variant,
    actions,
    obligations,
)
from fencepost.quorums.smt import Deadline
from fencepost.quorums.traces import (
    Instance,
    Replay,
    Step,
    breaks,
    facts,
    find_trace,
    ground,
    instances,
    replayed,
    shortest_trace,
)


def failing(variant: Variant = TODAY) -> list[str]:
    settled = [settle(o, Deadline(30)) for o in obligations(BP46, "x", variant, INVARIANT)]
    assert overall(settled) in (Verdict.PROVED, Verdict.REFUTED)
    return [s.name for s in settled if s.answer is not Verdict.PROVED]


def test_each_conjunct_has_an_obligation_for_the_start_and_for_every_action() -> None:
    names = [o.name for o in obligations(BP46, "x", TODAY, INVARIANT)]
    for conjunct in INVARIANT:
        assert f"x.{conjunct.name}.init" in names
        for action in actions(TODAY):
            assert f"x.{conjunct.name}.{action.name.replace(' ', '-')}" in names
    assert [f"x.{s.name}" for s in SAFETY] == names[-len(SAFETY) :]
    assert len(names) == len(set(names)) == 1 + len(INVARIANT) * (1 + len(actions(TODAY))) + len(SAFETY)


def test_the_invariant_is_inductive() -> None:
    assert failing() == []


@pytest.mark.parametrize("left_out", [c.name for c in INVARIANT])
def test_no_conjunct_can_be_left_out(left_out: str) -> None:
    """Without any one conjunct something else fails: none is there for show."""
    kept = [c for c in INVARIANT if c.name != left_out]
    settled = (settle(o, Deadline(30)) for o in obligations(BP46, "x", TODAY, kept))
    assert any(s.answer is Verdict.REFUTED for s in settled)


def weaker(monkeypatch: pytest.MonkeyPatch, name: str, guard: Callable[..., Any]) -> None:
    monkeypatch.setattr(recovery, name, guard)


@pytest.mark.parametrize(
    ("name", "guard", "caught"),
    [
        ("store", lambda w, s, p: s["pushed"](p["e"]), "x.no-means-not-acked.store"),
        ("answer_no", lambda w, s, p: s["reading"](p["r"]), "x.no-means-not-acked.answer-no"),
        ("acknowledge", lambda w, s, p: z3.BoolVal(True), "x.acknowledged-by-quorum.acknowledge"),
        ("declare_absent", lambda w, s, p: z3.BoolVal(True), "x.absent-by-cover-set.declare-absent"),
    ],
)
def test_a_weakened_guard_fails_an_obligation(
    name: str, guard: Callable[..., Any], caught: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    weaker(monkeypatch, name, guard)
    assert caught in failing()


def test_a_weakened_guard_makes_traces_that_the_plain_model_rejects(monkeypatch: pytest.MonkeyPatch) -> None:
    weaker(monkeypatch, "store", lambda w, s, p: s["pushed"](p["e"]))
    with pytest.raises(InternalError, match="not possible in the plain model"):
        find_trace(BP46, TODAY, breaks(SAFETY[0]), Replay.loses, Deadline(60))


@pytest.mark.parametrize(
    ("variant", "fails"),
    [
        (Variant(reads_fence=False), ["x.no-means-fenced.answer-no"]),
        (Variant(forgets_fences=True), ["x.no-means-fenced.forget-fence"]),
        (Variant(forgets_entries=True), ["x.acked-is-stored.forget-entries"]),
    ],
)
def test_each_variant_fails_where_it_should(variant: Variant, fails: list[str]) -> None:
    assert failing(variant) == fails


# Shortest traces, against breadth-first search in the plain model


def fewest_by_search(
    instance: Instance, variant: Variant, bad: Callable[[Replay], bool], most: int
) -> int | None:
    """Steps to the nearest bad state, by exploring the plain model, which shares no code with the solver's reading."""
    steps = [
        s for s in ground(instance, variant) if s.action.name != "forget entries" or variant.forgets_entries
    ]
    frontier = [Replay(instance, variant)]
    seen = {repr(frontier[0])}
    for depth in range(1, most + 1):
        following = []
        for state in frontier:
            for step in steps:
                after = copy.deepcopy(state)
                try:
                    after.take(step)
                except InternalError:
                    continue
                if bad(after):
                    return depth
                key = canonical(after)
                if key not in seen:
                    seen.add(key)
                    following.append(after)
        frontier = following
    return None


def canonical(state: Replay) -> str:
    """The state as text, sets in order; repeated acknowledgements count once."""
    return repr(
        [
            sorted(state.pushed),
            sorted((b, sorted(e)) for b, e in state.entries.items() if e),
            sorted((e, sorted(b)) for e, b in state.acks.items() if b),
            sorted(set(state.acknowledged)),
            sorted(state.fenced),
            sorted((r, sorted(b)) for r, b in state.fencing_answers.items()),
            sorted(state.reading),
            sorted((k, sorted(b)) for k, b in state.read_back.items()),
            sorted((k, sorted(b)) for k, b in state.said_no.items()),
            sorted(state.absent),
        ]
    )


@pytest.mark.parametrize(
    ("variant", "instance"),
    [
        (Variant(reads_fence=False), Instance(2, 2, 1)),
        (Variant(forgets_fences=True), Instance(1, 1, 1)),
        (Variant(forgets_entries=True), Instance(1, 1, 1)),
    ],
)
def test_the_fewest_steps_are_those_of_exhaustive_search(variant: Variant, instance: Instance) -> None:
    trace = shortest_trace(instance, variant, breaks(SAFETY[0]), Deadline(60))
    assert trace is not None
    assert len(trace) == fewest_by_search(instance, variant, Replay.loses, most=9)


def test_the_safe_variant_has_no_bad_state_in_small_instances() -> None:
    for instance in (Instance(1, 1, 1), Instance(2, 1, 2)):
        assert fewest_by_search(instance, TODAY, Replay.loses, most=9) is None
        assert shortest_trace(instance, TODAY, breaks(SAFETY[0]), Deadline(60)) is None


def test_without_fencing_reads_the_smallest_is_two_bookies() -> None:
    """One bookie is fenced before it is read; 2/2/1 must hear both. So 2/2/2 is the smallest."""
    variant = Variant(reads_fence=False)
    broken = [
        str(instance)
        for instance in instances(BP46, most_bookies=2)
        if shortest_trace(instance, variant, breaks(SAFETY[0]), Deadline(60))
    ]
    assert broken == ["2/2/2"]


def test_a_write_back_reaches_a_bookie_that_said_no() -> None:
    example = find_trace(BP46, TODAY, breaks(NEVER_STORED), Replay.got_it_later, Deadline(60))
    assert example is not None
    assert "writes back" in example.steps[-1]


def test_a_trace_that_does_not_end_badly_is_an_internal_error() -> None:
    with pytest.raises(InternalError, match="ends well"):
        replayed(Instance(1, 1, 1), TODAY, [], Replay.loses)


def test_a_step_unknown_to_the_plain_model_is_an_internal_error() -> None:
    strange = Action("dance", "{b} dances", (("b", "bookie"),), recovery.at_any_time)
    with pytest.raises(InternalError, match="does not know"):
        Replay(Instance(1, 1, 1), TODAY).take(Step(strange, {"b": 0}))


def test_a_trace_longer_than_the_limit_is_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "MOST_STEPS", 7)
    variant = Variant(reads_fence=False)
    assert shortest_trace(Instance(2, 2, 1), variant, breaks(SAFETY[0]), Deadline(60)) is None


def test_facts_and_sorts_fit() -> None:
    instance = Instance(3, 2, 2)
    assert len(instance.things("ack quorum")) == 3
    assert {name for name, _ in facts(instance)} == set(RELATIONS)
    for conjunct in (*INVARIANT, *SAFETY, NEVER_STORED):
        nothing = {name: lambda *arguments: z3.BoolVal(False) for name in RELATIONS}
        assert z3.is_true(z3.simplify(conjunct.term(instance, nothing)))


def test_variants_differ_from_today_in_one_thing_each() -> None:
    plain = [a.name for a in actions(TODAY)]
    assert [a.name for a in actions(replace(TODAY, forgets_fences=True))] == [*plain, "forget fence"]
    assert [a.name for a in actions(replace(TODAY, forgets_entries=True))] == [*plain, "forget entries"]
    changed = [
        a.name
        for a, b in zip(actions(TODAY), actions(replace(TODAY, reads_fence=False)), strict=True)
        if a.adds != b.adds
    ]
    assert changed == ["answer no", "answer yes"]
