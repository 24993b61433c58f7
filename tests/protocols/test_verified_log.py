"""The Verified Log: each mutant is found in as few steps as by hand, and the network keeps its order."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import pytest

from fencepost.advice.known import KNOWN, chosen
from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.verdicts import Fewest, Result, Verdict
from fencepost.encoding.errors import BadInput, ModelError
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.system import choose
from fencepost.encoding.language.terms import TRUE
from fencepost.encoding.language.traces import Json, Sending, Subject, TraceStep, plain
from fencepost.encoding.mutation.mutants import changed, mutants
from fencepost.properties.expectations import TABLES, Expectation, differs, read
from fencepost.protocols.verified_log.state import ProducerPhase
from support.instances import built, checked, checked_all, happens, nearest_violation, simulations
from support.tiers import each_third

Settings = Mapping[str, object]

STAGE_1, STAGE_2, STAGE_3, STAGE_4 = (f"verified-log-0{number}" for number in range(1, 5))

ALONE: Settings = {"nodes": 1, "replicas": 1}
"""One log node, which holds every segment.

In stages 02 and 03 a node crashes by default: see `SAFE`.
"""

SAFE: Settings = {**ALONE, "crashes": 0}
READ: Settings = {"consumers": 1}


TWICE: Settings = {**SAFE, "entries": 1, "segments": 1, "attempts": 2}
LONG: Settings = {**ALONE, "entries": 2}


def known(name: str, bug: str) -> Expectation:
    """Return the known bug of that name in the posts. tests/protocols/test_known_bugs.py tests it."""
    (found,) = chosen(KNOWN, [bug])
    return replace(found, name=name)


BUGS = [
    known("B1", "log-happy-path"),
    known("B2a", "log-last-entry"),
    known("B3", "log-lost-close"),
    known("B4", "log-double-answer"),
]
"""The mutants that are explored here."""

OTHERS = read(TABLES / "verified-log-mutants.toml")

MUTANTS = [*BUGS, *OTHERS]


def label(value: object) -> str | None:
    return value.name if isinstance(value, Expectation) else None


@pytest.mark.parametrize(
    "mutant", [pytest.param(m, marks=[pytest.mark.slow] * m.slow) for m in OTHERS], ids=label
)
def test_a_mutant_breaks_one_property_in_as_many_steps_as_by_hand(mutant: Expectation) -> None:
    assert mutant.verdict is Verdict.VIOLATED
    assert len(mutant.runs()) == 2
    for run in mutant.runs():
        result = checked(mutant.protocol, run.settings, mutant.property)
        assert differs(run.verdict, run.steps, result) is None


def broken(mutant: Expectation) -> dict[str, str]:
    """Return the settings of the instance with the mistake."""
    return mutant.runs()[0].settings


@pytest.mark.parametrize("mutant", MUTANTS, ids=label)
def test_exploring_finds_a_mutant_in_the_same_number_of_steps(mutant: Expectation) -> None:
    assert nearest_violation(mutant.protocol, broken(mutant), mutant.property) == mutant.steps


WITHOUT_LOSSES = {
    "B1": (4, 4, 4),
    "B2a": (7, 7, 7),
    "B2a-read": (11, 11, 11),
    "B2b": (13, 13, None),
    "B2c": (8, 8, None),
    "B4": (5, None, None),
    "B5a": (11, 11, None),
    "B5b": (10, 10, 11),
    "B5c": (9, 10, None),
    "B5d": (9, 9, 9),
}
"""Steps without losses: in any order, in order on each link, in order at each machine.

None: no violation.
"""


def nearest(mutant: Expectation, network: str) -> int | None:
    """Return the steps to the nearest violation without losses; None if there is none."""
    settings = {**broken(mutant), "losses": "no", "network": network}
    with contextlib.suppress(StopIteration):
        return nearest_violation(mutant.protocol, settings, mutant.property)
    return None


@pytest.mark.parametrize("mutant", each_third(m for m in MUTANTS if m.name in WITHOUT_LOSSES), ids=label)
def test_what_must_be_lost_depends_on_the_order_that_the_network_keeps(mutant: Expectation) -> None:
    """If the network keeps an order, a message overtakes others only if those are lost."""
    found = tuple(nearest(mutant, network) for network in ("bag", "link", "causal"))
    assert found == WITHOUT_LOSSES[mutant.name]


@pytest.mark.slow
def test_b4_takes_two_losses_if_messages_keep_their_order() -> None:
    """The lost messages are the answers OK to both requests; in any order ALREADY may overtake them."""

    def broken(**settings: object) -> Mapping[str, int] | None:
        return checked(STAGE_3, {**TWICE, **settings}, "assertions").faults

    assert [broken(network=network) for network in ("bag", "link", "causal")] == [
        {},
        {"lost": 2},
        {"lost": 2},
    ]


@pytest.mark.slow
def test_b3_takes_a_crash_and_a_lost_close_order() -> None:
    found = checked(STAGE_2, {}, "progress")
    assert (found.steps, found.faults) == (8, {"crashes": 1, "lost": 1})
    assert found.trace is not None
    (lost,) = (m for step in found.trace.steps for m in step.sent if m.lost)
    assert lost.kind == "close"


@pytest.mark.slow
def test_a_producer_commits_what_all_nodes_of_the_segment_hold() -> None:
    """There are two nodes. An ack from before a time-out, or from another segment, does not count."""
    assert checked(STAGE_2, {"nodes": 2, "crashes": 0}, "commit-on-all").verdict.value == "proved"


# The verdicts of stage 04.

_RESULTS: dict[object, dict[str, Result]] = {}


def everything(settings: Settings) -> dict[str, Result]:
    """Return the results of all properties of an instance of stage 04, asked together and once."""
    system, instance = built(STAGE_4, settings)
    if instance not in _RESULTS:
        results = checked_all(STAGE_4, settings, [p.name for p in system.properties])
        _RESULTS[instance] = {result.property: result for result in results}
    return _RESULTS[instance]


# The specification that is too strong.


@pytest.mark.slow
@pytest.mark.parametrize(("instance", "steps"), [(ALONE, 9), ({}, 11)])
def test_the_refined_specification_allows_what_the_naive_one_does_not(instance: Settings, steps: int) -> None:
    found = everything(instance)
    naive, refined = found["naive-single-producer"], found["single-active-producer"]
    assert (naive.verdict.value, naive.steps, naive.fewest) == ("violated", steps, Fewest.OF_ALL)
    assert refined.verdict.value == "proved"
    assert naive.trace is not None
    system, _ = built(STAGE_4, instance)
    actions = [
        system.find(step.action, [show(a) for a in step.arguments.values()]) for step in naive.trace.steps
    ]
    lost = [name for name, value in naive.trace.initial.items() if value is True and " lost" in name]
    replayer = Replayer(system, Subject("test", {}, {}))
    states = replayer.follow([action for action in actions if action is not None], lost)
    holds = {
        p.name: replayer.concrete.predicate(p.holds)
        for p in choose(system, ("naive-single-producer", "single-active-producer"))
    }
    assert len(states) == steps + 1
    assert not holds["naive-single-producer"](states[-1])
    assert all(map(holds["single-active-producer"], states))


# Stage 04 as coded, and with the repairs.

CODED = {
    "naive-single-producer": 9,
    "closed-stability": 9,
    "committed-not-truncated": 11,
    "answers-end-orders": 7,
    "grants-respect-takeover": 9,
}
"""The violations of one node with one entry of each producer, with their steps. The rest is proved."""

REPAIRS = {"suspend_demotes": "no", "ack_matches": "yes", "one_order": "yes", "late_takeover": "ignored"}


def violated(settings: Settings) -> dict[str, int | None]:
    """Return the violated properties of an instance of stage 04 with their steps; all others must be proved.

    `progress` is an exception: with one entry, nothing need be reported.
    """
    results = everything(settings).values()
    undecided = {r.property for r in results if r.verdict.value not in ("violated", "proved")}
    assert undecided == ({"progress"} if settings.get("entries", 1) == 1 else set())
    assert all(r.fewest is Fewest.OF_ALL for r in results if r.verdict.value == "violated")
    return {r.property: r.steps for r in results if r.verdict.value == "violated"}


def test_what_stage_04_violates_as_coded() -> None:
    assert violated(ALONE) == CODED


@pytest.mark.parametrize("prop", list(CODED))
def test_exploring_finds_what_stage_04_violates_in_the_same_number_of_steps(prop: str) -> None:
    assert nearest_violation(STAGE_4, ALONE, prop) == CODED[prop]


@pytest.mark.slow
def test_what_stage_04_violates_as_coded_with_two_nodes() -> None:
    """Two nodes are needed for nodes that disagree."""
    assert violated({}) == {**CODED, "naive-single-producer": 11, "closed-agreement": 12}


@pytest.mark.parametrize(("instance", "steps"), [(ALONE, 9), pytest.param({}, 11, marks=pytest.mark.slow)])
def test_with_all_repairs_only_the_naive_specification_is_violated(instance: Settings, steps: int) -> None:
    assert violated({**instance, **REPAIRS}) == {"naive-single-producer": steps}


NEEDED = [
    (ALONE, "ack_matches", {"answers-end-orders": 7}),
    (
        *(ALONE, "one_order"),
        {
            "closed-stability": 12,
            "committed-not-truncated": 11,
            "grants-respect-takeover": 9,
            "committed-kept": 13,
        },
    ),
    pytest.param(
        {**ALONE, "resends": 1}, "suspend_demotes", {"closed-stability": 10}, marks=pytest.mark.slow
    ),
]


@pytest.mark.parametrize(("instance", "repair", "comes_back"), NEEDED)
def test_each_repair_is_needed(instance: Settings, repair: str, comes_back: Mapping[str, int]) -> None:
    """These bugs stay with the other repairs. For `late_takeover` see below."""
    others = {name: value for name, value in REPAIRS.items() if name != repair}
    assert violated({**instance, **others}) == {"naive-single-producer": 9, **comes_back}


@pytest.mark.slow
def test_to_forget_an_answered_order_loses_a_committed_entry_where_a_segment_gets_two_counts() -> None:
    """With `ack_matches` alone mended, the loss is worse."""
    found = checked(STAGE_4, {**ALONE, "ack_matches": "yes"}, "committed-kept")
    assert (found.verdict.value, found.steps, found.fewest) == ("violated", 13, Fewest.OF_ALL)
    assert everything(ALONE)["committed-kept"].verdict.value == "proved"


LATE_TAKEOVER = """start: p1
repeat take over: p1 2
handle take over: p1 2
receive grant: p1 1
start: p2
repeat take over: p2 2
handle take over: p2 1
handle suspend: 1 n1 1
receive suspend answer: 1 n1 1 n1
receive grant: p2 2
handle append: 1 1 n1
receive ack: p1 1 1 n1
handle take over: p1 1
handle take over: p2 2
handle suspend: 2 n1 1
handle append: 2 3 n1
receive ack: p2 2 3 n1
handle request: p2 2 1
receive answer: p2 2 1"""
"""The first request of p1 comes late and takes the log from p2, which halts before it has written all."""


def test_a_late_take_over_halts_the_last_producer() -> None:
    """A search found these steps; they are not the fewest."""
    settings, steps = {**LONG, "attempts": 2}, LATE_TAKEOVER.splitlines()
    assert happens(STAGE_4, settings, "progress", steps)
    assert not happens(STAGE_4, {**settings, "late_takeover": "ignored"}, "progress", steps)
    others = {name: value for name, value in REPAIRS.items() if name != "late_takeover"}
    assert happens(STAGE_4, {**settings, **others}, "progress", steps), "no other repair mends it"


# The network.

Channel = Callable[[Sending], object]


def receiver(message: Sending) -> object:
    return message.receiver


def link(message: Sending) -> object:
    return message.sender, message.receiver


SIMULATED = [
    pytest.param(STAGE_2, {"replicas": 2, **READ, "attempts": 2}, marks=pytest.mark.long),
    pytest.param(STAGE_3, {**SAFE, **READ, "attempts": 2, "resends": 1}, marks=pytest.mark.long),
    (STAGE_4, {**LONG, "attempts": 2, "resends": 1}),
]


def simulated(
    stage: str, settings: Settings
) -> Iterator[tuple[Replayer, tuple[TraceStep, ...], list[State]]]:
    replayer = Replayer(built(stage, settings)[0], Subject("test", {}, {}))
    for steps, states in simulations(replayer, 30):
        yield replayer, steps, states


def overtakes(steps: Sequence[TraceStep], channel: Channel) -> bool:
    """Return whether some message is received after one of the same channel that was sent later."""
    posted = [m for step in steps for m in step.sent]
    number = {m.key: n for n, m in enumerate(posted)}
    latest: dict[object, int] = {}
    for step in steps:
        if step.received is not None:
            now = number[step.received.key]
            if now < latest.setdefault(channel(step.received), now):
                return True
            latest[channel(step.received)] = now
    return False


@pytest.mark.parametrize(("stage", "settings"), SIMULATED)
@pytest.mark.parametrize(
    ("network", "channel", "kept"),
    [
        ("causal", receiver, True),
        ("causal", link, True),
        ("link", link, True),
        ("link", receiver, False),
        ("bag", link, False),
    ],
)
def test_messages_arrive_in_the_order_that_the_network_keeps(
    network: str, channel: Channel, kept: bool, stage: str, settings: Settings
) -> None:
    """If the network keeps no order, some simulation shows it."""
    taken = simulated(stage, {**settings, "network": network})
    assert any(overtakes(steps, channel) for _, steps, _ in taken) is not kept


@pytest.mark.parametrize(("stage", "settings"), SIMULATED)
def test_no_message_is_sent_or_received_twice_nor_received_if_lost(stage: str, settings: Settings) -> None:
    lost = 0
    for _, steps, _ in simulated(stage, settings):
        sent = Counter(m.key for step in steps for m in step.sent)
        received = Counter(step.received.key for step in steps if step.received is not None)
        never = {m.key for step in steps for m in step.sent if m.lost}
        assert max([*sent.values(), *received.values()]) == 1
        assert never.isdisjoint(received)
        lost += len(never)
    assert lost, "nothing was lost in any simulation"


def under_way(
    replayer: Replayer, steps: Sequence[TraceStep], states: Sequence[State]
) -> Iterator[Counter[Json]]:
    """Yield how many messages each machine has still to receive, after each step.

    Messages to a machine that is gone do not count.
    """
    named = {v.name: v for v in replayer.system.variables}

    def gone(machine: Json, state: State) -> bool:
        def value(name: str) -> object:
            return replayer.concrete.value(state, named[name])

        if f"up[{machine}]" in named:
            return value(f"up[{machine}]") is False
        return f"phase[{machine}]" in named and value(f"phase[{machine}]") in (
            ProducerPhase.DONE,
            ProducerPhase.HALTED,
        )

    waiting: Counter[Json] = Counter()
    for step, before in zip(steps, states, strict=False):
        if step.received is not None:
            waiting[step.received.receiver] -= 1
        waiting.update(m.receiver for m in step.sent if not m.lost and not gone(m.receiver, before))
        yield +waiting


def queued(replayer: Replayer, state: State) -> Counter[Json]:
    """Return how many messages the queue of each machine has."""
    filled = (
        v
        for v in replayer.system.variables
        if v.name.startswith("queue[") and replayer.concrete.value(state, v) != 0
    )
    return Counter(plain(v.index[0]) for v in filled)


def longest_queue(stage: str, settings: Settings) -> int:
    """Return the largest number of messages in one queue, in simulations.

    All messages that are under way to a machine must be in its queue.
    """
    longest = 0
    for replayer, steps, states in simulated(stage, {**settings, "network": "causal"}):
        for waiting, state in zip(under_way(replayer, steps, states), states[1:], strict=True):
            assert queued(replayer, state) == waiting
            longest = max([longest, *waiting.values()])
    return longest


@pytest.mark.parametrize("room", [2, pytest.param(4, marks=pytest.mark.long)])
@pytest.mark.parametrize(("stage", "settings"), SIMULATED)
def test_a_queue_holds_what_is_under_way_and_never_more_than_its_room(
    stage: str, settings: Settings, room: int
) -> None:
    assert longest_queue(stage, {**settings, "queue": room}) == room


def test_a_network_that_does_not_look_for_room_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.encoding.language.messages._Changes.fit", TRUE)
    with pytest.raises(AssertionError):
        longest_queue(STAGE_2, {**SAFE, "queue": 1})


PLANTED = [
    ("handle append", 1, "append .* which was never sent"),
    ("handle append", 2, "append .* which has been received before"),
    ("handle append", 3, "append .* which is lost"),
    ("handle close", 2, "close .* which has been received before"),
    ("handle close", 3, "close .* which is lost"),
    ("receive grant", 1, "new segment granted .* which was never sent"),
]


@pytest.mark.parametrize(("action", "position", "says"), PLANTED)
def test_a_guard_that_lets_something_else_be_received_is_found_out(
    action: str, position: int, says: str
) -> None:
    system = built(STAGE_3, SAFE)[0]
    mutant = next(m for m in mutants(system) if str(m).startswith(f"{action}, conjunct {position} "))
    replayer = Replayer(changed(system, mutant), Subject("test", {}, {}))
    with pytest.raises(ModelError, match=says):
        list(simulations(replayer, 400))


# Instances that mean nothing.

REFUSED: list[tuple[str, Settings, str]] = [
    (STAGE_2, {"replicas": 3}, "N=3, R=3, F=1: breaks R <= N - F"),
    (STAGE_4, {"nodes": 1}, "N=1, R=2, F=0: breaks R <= N - F"),
    (STAGE_1, {"nodes": 3}, "nodes=3: breaks coordinator=no => nodes = 2"),
    (STAGE_1, {"segments": 2}, "segments=2: breaks coordinator=no => segments = 1"),
    (
        STAGE_1,
        {"replicas": 1, "nodes": 1, "attempts": 2},
        "attempts=2: breaks coordinator=no => attempts = 1",
    ),
    (STAGE_1, {"takeover": "yes"}, "takeover=yes: breaks coordinator=no => takeover = no"),
    (STAGE_1, {"losses": "yes"}, "losses=yes: breaks coordinator=no => losses = no"),
    (STAGE_1, {"retry_close": "yes"}, "retry_close=yes: breaks coordinator=no => retry_close = no"),
    (STAGE_4, {"coordinator": "no"}, "segments=2: breaks coordinator=no => segments = 1"),
    (STAGE_3, {"producers": 2}, "producers=2: breaks takeover=no => P = 1"),
    (STAGE_2, {"resends": 1}, "resends=1: breaks no time-out of the coordinator => resends = 0"),
]


@pytest.mark.parametrize(("stage", "settings", "says"), REFUSED)
def test_an_instance_that_means_nothing_is_refused_in_one_line(
    stage: str, settings: Settings, says: str
) -> None:
    with pytest.raises(BadInput) as refused:
        built(stage, settings)
    assert str(refused.value).startswith(says)
    assert "\n" not in str(refused.value)
