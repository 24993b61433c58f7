"""Sequences mean what Python's tuples mean; a step that reads beyond the end is badly defined."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable

import pytest

from fencepost.encoding.check import check
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.concrete.simulation import simulate
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.errors import ModelError
from fencepost.encoding.forms.counterexample import Counterexample
from fencepost.encoding.forms.itf import itf
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language import (
    Action,
    Parameter,
    Property,
    Sequence,
    StateSpace,
    System,
    Term,
    TermLike,
    at,
    bounded_sequences,
    each,
    exists,
    family,
    insert,
    integers,
    is_prefix,
    labels,
    last,
    length,
    rest,
    sequence_of,
    sequences,
    variable,
    without,
)
from fencepost.encoding.language.terms import AllOf, If, lift
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.mutation.mutants import mutants
from fencepost.encoding.solving.logic import FALSE
from support.bare import Bare
from support.readings import truths

Items = tuple[str, ...]
MOST = 3


class Logs(StateSpace):
    """Two logs, and the last entry that was read."""

    def __init__(self) -> None:
        self.server = labels("server", "n", 2)
        self.entry = labels("entry", "e", 2)
        self.log = family(sequences(self.entry, most=MOST), self.server)
        self.kept = variable(sequences(integers(4, 5), most=2), initial=(5,))
        self.seen = variable(self.entry)


S = Logs()


def append(s: Logs, server: Parameter, entry: Parameter) -> Action:
    """Append an entry."""
    return Action(when=length(s.log[server]) < MOST, then=[s.log[server].append(entry)], actor=server)


def copy(s: Logs, to: Parameter, of: Parameter) -> Action:
    """Copy a log."""
    return Action(
        when=to != of, then=[s.log[to].set(s.log[of]), s.kept.set(sequence_of(integers(4, 5), 4))], actor=to
    )


def cut(s: Logs, server: Parameter, to: Parameter) -> Action:
    """Keep the first entries."""
    return Action(when=to <= length(s.log[server]), then=[s.log[server].truncate(to)], actor=server)


def read(s: Logs, server: Parameter) -> Action:
    """Read the last entry."""
    return Action(when=length(s.log[server]) > 0, then=[s.seen.set(last(s.log[server]))], actor=server)


NEVER = Property(
    "never", "no log is full", ~exists(S.server, lambda n: length(S.log[n]) == MOST), lift(True), "always"
)
ACTIONS = (
    each(append, S, S.server, S.entry),
    each(copy, S, S.server, S.server),
    each(cut, S, S.server, integers(0, 2)),
    each(read, S, S.server),
)
SYSTEM = System(S, ACTIONS, (NEVER,))
CONCRETE, SYMBOLIC = Concrete(SYSTEM), Symbolic(SYSTEM)
ENTRIES = [str(entry) for entry in S.entry]


def some_claim(chance: random.Random) -> tuple[Term, Callable[[Items, Items], bool]]:
    """Return a condition on the logs n1 and n2 as the language and as Python says it."""
    one, other = S.log["n1"], S.log["n2"]
    items = [chance.choice(ENTRIES) for _ in range(chance.randint(0, 3))]
    number, entry = chance.randint(1, 3), chance.choice(ENTRIES)
    given = sequence_of(S.entry, *items)
    return chance.choice(
        [
            (length(one) == number, lambda a, b: len(a) == number),
            (length(one) < length(other), lambda a, b: len(a) < len(b)),
            (one == other, lambda a, b: a == b),
            (one != other, lambda a, b: a != b),
            (one == given, lambda a, b: a == tuple(items)),
            (is_prefix(one, other), lambda a, b: b[: len(a)] == a),
            (is_prefix(given, one), lambda a, b: a[: len(items)] == tuple(items)),
            (is_prefix(one, given), lambda a, b: tuple(items)[: len(a)] == a),
            (
                (length(one) >= number) & (at(one, number) == entry),
                lambda a, b: a[number - 1 : number] == (entry,),
            ),
            ((length(one) > 0) & (last(one) == entry), lambda a, b: a[-1:] == (entry,)),
            ((length(one) > 0) & (rest(one) == other), lambda a, b: a != () and a[1:] == b),
            ((length(one) > 0) & is_prefix(other, rest(one)), lambda a, b: a != () and a[1:][: len(b)] == b),
            (
                (length(one) >= number) & (without(one, number) == sequence_of(S.entry, *items[1:])),
                lambda a, b: len(a) >= number and a[: number - 1] + a[number:] == tuple(items[1:]),
            ),
            (
                (length(one) >= number - 1) & (insert(one, number, entry) == sequence_of(S.entry, *items)),
                lambda a, b: (
                    len(a) >= number - 1 and (*a[: number - 1], entry, *a[number - 1 :]) == tuple(items)
                ),
            ),
            (
                (length(one) >= number) & (at(insert(one, number, entry), number + 1) == last(one)),
                lambda a, b: len(a) >= number and a[number - 1] == a[-1],
            ),
            (
                (length(one) > 1) & (at(without(one, length(one)), 1) == entry),
                lambda a, b: len(a) > 1 and a[0] == entry,
            ),
            (
                (length(other) > 0) & (at(other, length(other)) == last(other)) & (last(other) == entry),
                lambda a, b: b[-1:] == (entry,),
            ),
            (
                exists(integers(0, 4), lambda i: (i >= 1) & (i <= length(one)) & (at(one, i) == entry)),
                lambda a, b: entry in a,
            ),
        ]
    )


def some_state(chance: random.Random) -> tuple[bytes, Items, Items]:
    """Return the code of a state that sequences can have, and the two logs in it."""
    logs = [tuple(chance.choice(ENTRIES) for _ in range(chance.randint(0, MOST))) for _ in range(2)]
    codes = []
    for v in SYSTEM.variables:
        if v.family.name == "log":
            log, position = logs[S.server.values.index(v.index[0])], v.index[1]
            assert isinstance(position, int)
            codes.append(ENTRIES.index(log[position - 1]) if position <= len(log) else 0)
        elif v.family.name == "log_length":
            codes.append(len(logs[S.server.values.index(v.index[0])]))
        else:
            codes.append(0)
    return bytes(codes), logs[0], logs[1]


def disagreements(seeds: range) -> list[int]:
    """Return the seeds whose condition differs from Python's, in a state, in one of the readings."""
    found = []
    for seed in seeds:
        chance = random.Random(seed)
        (term, means), (state, one, other) = some_claim(chance), some_state(chance)
        if truths(term, state, CONCRETE, SYMBOLIC) != {means(one, other)}:
            found.append(seed)
    return found


def test_conditions_on_sequences_are_those_of_python_in_both_readings() -> None:
    assert disagreements(range(200)) == []


def at_one_too_far(of: Sequence, position: TermLike) -> Term:
    return bounded_sequences.at(of, lift(position) + 1)


def without_the_next_one(of: Sequence, position: TermLike) -> Sequence:
    return bounded_sequences.without(of, lift(position) + 1)


def inserted_one_later(of: Sequence, position: TermLike, item: TermLike) -> Sequence:
    return bounded_sequences.insert(of, lift(position) + 1, item)


def length_of_one_more(of: Sequence) -> Term:
    return of.length + 1


def prefix_without_its_length(one: Sequence, other: Sequence) -> Term:
    found = bounded_sequences.is_prefix(one, other)
    assert isinstance(found, AllOf)
    return found.operands[1]


@pytest.mark.parametrize(
    ("name", "mistake"),
    [
        ("at", at_one_too_far),
        ("without", without_the_next_one),
        ("insert", inserted_one_later),
        ("length", length_of_one_more),
        ("is_prefix", prefix_without_its_length),
    ],
)
def test_a_mistake_in_a_condition_on_sequences_is_noticed(
    name: str, mistake: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(some_claim.__globals__, name, mistake)
    assert disagreements(range(200))


# Steps.


def after(*names: str) -> Counterexample:
    actions = {action.name: action for action in SYSTEM.ground_actions}
    trace = Replayer(SYSTEM, Subject("logs", {}, {})).record("never", [actions[name] for name in names], ())
    return Counterexample(trace, SYSTEM, NEVER, "never: violated", {})


def test_updates_are_those_of_python_along_random_executions() -> None:
    concrete, replayer = CONCRETE, Replayer(SYSTEM, Subject("logs", {}, {}))
    for seed in range(30):
        chance, state = random.Random(seed), CONCRETE.initial({})
        logs: dict[str, Items] = {"n1": (), "n2": ()}
        for _ in range(10):
            step = chance.choice([s for s in concrete.steps if s.enabled(state)])
            name, (who, *rest) = step.action.schema.name, map(str, step.action.arguments)
            match name:
                case "append":
                    logs[who] += (rest[0],)
                case "copy":
                    logs[who] = logs[rest[0]]
                case "cut":
                    logs[who] = logs[who][: int(rest[0])]
            state = step.after(state)
            shown = replayer.shown(state)
            for server, log in logs.items():
                words = ", ".join(f"{i}:{entry}" for i, entry in enumerate(log, 1))
                assert shown[f"log[{server}]"] == f"[{words}]", (seed, name)
            if name == "read":
                assert shown["seen"] == logs[who][-1]


def test_an_item_leaves_and_enters_a_sequence_at_any_position() -> None:
    def put(s: Logs, server: Parameter, position: Parameter, entry: Parameter) -> Action:
        when = (position <= length(s.log[server]) + 1) & (length(s.log[server]) < MOST)
        return Action(when=when, then=[s.log[server].set(insert(s.log[server], position, entry))])

    def lose(s: Logs, server: Parameter, position: Parameter) -> Action:
        when = position <= length(s.log[server])
        return Action(when=when, then=[s.log[server].set(without(s.log[server], position))])

    losing = System(
        S,
        (
            each(lose, S, S.server, integers(1, MOST)),
            each(put, S, S.server, integers(1, MOST), S.entry),
            *ACTIONS,
        ),
    )
    concrete, replayer = Concrete(losing), Replayer(losing, Subject("logs", {}, {}))
    assert not any(wrong is not FALSE for wrong in (e.wrong for e in Symbolic(losing).effects[:18]))
    for seed in range(60):
        state, *logs = some_state(random.Random(seed))
        for step in concrete.steps:
            who, *given = map(str, step.action.arguments)
            if step.action.schema.name not in ("lose", "put") or not step.enabled(state):
                continue
            at_first, place = logs[S.server.values.index(who)], int(given[0])
            left = (*at_first[: place - 1], *given[1:], *at_first[place - (len(given) > 1) :])
            words = ", ".join(f"{i}:{entry}" for i, entry in enumerate(left, 1))
            assert replayer.shown(step.after(state))[f"log[{who}]"] == f"[{words}]", (seed, step.action.name)


def test_a_trace_shows_sequences_as_people_write_them() -> None:
    found = after("append(n1, e2)", "append(n1, e1)", "copy(n2, n1)", "cut(n1, 1)")
    trace = found.trace
    assert trace.initial == {"log[n1]": "[]", "log[n2]": "[]", "kept": "[1:5]", "seen": "e1"}
    assert [step.changes for step in trace.steps] == [
        {"log[n1]": "[1:e2]"},
        {"log[n1]": "[1:e2, 2:e1]"},
        {"log[n2]": "[1:e2, 2:e1]", "kept": "[1:4]"},
        {"log[n1]": "[1:e2]"},
    ]
    assert trace.value(S.log, "n2") == ("e2", "e1") and trace.value(S.kept, after=0) == (5,)
    assert trace.value(S.log_length, "n1", after=2) == 2  # type: ignore[attr-defined]
    document = json.loads(itf(found))
    assert document["#meta"]["varTypes"]["log"] == "Str -> Seq(Str)"
    assert document["states"][2]["log"]["#map"][0] == ["n1", ["e2", "e1"]]
    assert document["states"][4]["kept"] == [{"#bigint": "4"}] and "log_length" not in document["vars"]


def test_an_invariant_with_the_parts_of_a_sequence_can_be_pasted() -> None:
    assert S.log["n1", 2].family is S.log.families[0] and S.kept[1].family is S.kept.whole.families[0]


# What is not defined.

Guard = Callable[[Logs, Parameter], tuple[TermLike, list[object]]]
BAD: dict[str, tuple[Guard, str]] = {
    "append to a full one": (
        lambda s, n: (True, [s.log[n].append("e1")]),
        "appends to log, which is full at 3",
    ),
    "at in a guard": (lambda s, n: (at(s.log[n], 1) == "e1", []), "reads log beyond its length"),
    "at after another condition": (
        lambda s, n: ((s.seen == "e1") & (at(s.log[n], 1) == "e1"), []),
        "reads log beyond its length",
    ),
    "at behind the wrong condition": (
        lambda s, n: ((length(s.log[n]) >= 1) & (at(s.log[n], 2) == "e1"), []),
        "reads log beyond its length",
    ),
    "at for all positions": (
        lambda s, n: (exists(integers(1, 3), lambda i: at(s.log[n], i) == "e1"), []),
        "reads log beyond its length",
    ),
    "last in an update": (lambda s, n: (True, [s.seen.set(last(s.log[n]))]), "at its end while it is empty"),
    "last in a condition": (
        lambda s, n: (True, [s.seen.set("e2", when=last(s.log[n]) == "e1")]),
        "at its end",
    ),
    "insert beyond the end": (
        lambda s, n: (True, [s.log[n].set(insert(s.log[n], 2, "e1"))]),
        "puts an item into log at a position that it does not have",
    ),
    "without a missing one": (
        lambda s, n: (True, [s.log[n].set(rest(s.log[n]))]),
        "removes an item from log that it does not have",
    ),
    "truncated to more": (
        lambda s, n: (True, [s.log[n].truncate(2)]),
        "truncates log to more items than it has",
    ),
}
GOOD: dict[str, Guard] = {
    "bounded": lambda s, n: (
        (length(s.log[n]) >= 2) & (at(s.log[n], 2) == "e1"),
        [s.seen.set(at(s.log[n], 2))],
    ),
    "bounded by an or": lambda s, n: ((length(s.log[n]) < 1) | (at(s.log[n], 1) == "e1"), []),
    "bounded in the update": lambda s, n: (
        True,
        [s.seen.set(last(s.log[n]), when=length(s.log[n]) > 0)],
    ),
    "bounded in the quantifier": lambda s, n: (
        exists(integers(0, 5), lambda i: (i >= 1) & (i <= length(s.log[n])) & (at(s.log[n], i) == "e1")),
        [],
    ),
}


def with_action(guard: Guard) -> System:
    """Return the system with a further action of this guard."""

    def act(s: Logs, server: Parameter) -> Action:
        when, then = guard(s, server)
        return Action(when=lift(when), then=then, actor=server)  # type: ignore[arg-type]

    one = Property("p", "", lift(True), lift(True), "always")
    return System(S, (*ACTIONS, each(act, S, S.server)), (one,))


def verdict(guard: Guard, *engines: str) -> str:
    """Return the verdict of a check with an action of this guard, or its refusal."""
    system = with_action(guard)
    try:
        limits = Limits(jobs=1, rounds=None if engines != ("rounds",) else 4, engines=engines)
        return str(
            check(Bare(system, Subject("logs", {}, {})), system.properties, limits).results[0].verdict.value
        )
    except ModelError as error:
        return str(error)


@pytest.mark.parametrize("case", BAD)
def test_a_step_that_is_not_defined_is_reported(case: str) -> None:
    guard, said = BAD[case]
    assert said in verdict(guard, "enumeration"), case


@pytest.mark.parametrize("engine", ["rounds", "ic3"])
@pytest.mark.parametrize(
    "case", ["at behind the wrong condition", "truncated to more", "without a missing one"]
)
def test_every_engine_reports_a_step_that_is_not_defined(case: str, engine: str) -> None:
    guard, said = BAD[case]
    assert said in verdict(guard, engine)


@pytest.mark.parametrize("engine", ["enumeration", "rounds", "ic3"])
def test_a_step_that_is_not_defined_is_reported_with_the_steps_before_it(engine: str) -> None:
    guard, _ = BAD["append to a full one"]
    line, system = verdict(guard, engine), with_action(guard)
    refused, _, before = line.partition(" (after ")
    actions = {action.name: action for action in system.ground_actions}
    path = [actions[name] for name in re.findall(r"\w+\([^)]*\)", before)]
    concrete = Concrete(system)
    states = Replayer(system, Subject("logs", {}, {})).follow(path, ())
    server = re.findall(r"n\d", refused)[0]
    full = concrete.predicate(length(S.log[server]) == MOST)
    assert len(path) >= MOST and full(states[-1]), line


def test_a_first_step_that_is_not_defined_is_reported_as_the_first() -> None:
    assert verdict(BAD["at in a guard"][0], "enumeration").endswith("(as the first step)")


def test_a_simulation_and_a_replay_name_the_steps_before_too() -> None:
    guard, _ = BAD["last in an update"]

    def act(s: Logs, server: Parameter) -> Action:
        """Read a log that is empty again."""
        when, then = guard(s, server)
        return Action(when=lift(when) & (s.log[server].length == 0) & (s.seen == "e2"), then=then, actor="a")  # type: ignore[arg-type]

    system = System(S, (*ACTIONS, each(act, S, S.server)), (NEVER,))
    subject = Subject("logs", {}, {})
    with pytest.raises(ModelError, match=r"at its end while it is empty; .* \(after .*append"):
        simulate(system, subject, (NEVER,), 500, 0)
    named = {action.name: action for action in system.ground_actions}
    path = [named[name] for name in ("append(n1, e2)", "read(n1)", "act(n2)")]
    with pytest.raises(ModelError, match=r"\(after append\(n1, e2\), read\(n1\)\)"):
        Replayer(system, subject).follow(path, ())


@pytest.mark.parametrize("case", GOOD)
def test_a_bounded_step_is_defined(case: str) -> None:
    assert verdict(GOOD[case], "enumeration") == "proved"


def test_a_check_of_definedness_is_no_update_that_weaken_skips() -> None:
    skipped = {str(mutant): mutant.text for mutant in mutants(SYSTEM)}
    assert "undefined" not in " ".join(skipped.values())
    assert [text for name, text in skipped.items() if name.startswith("append, update")] == [
        "log[server, log_length[server] + 1] := entry",
        "log_length[server] := log_length[server] + 1",
    ]


def test_a_claim_that_is_not_defined_is_false() -> None:
    claim = Property("p", "", at(S.log["n1"], 2) == "e1", lift(True), "always")
    bounded = Property(
        "p", "", (length(S.log["n1"]) < 2) | (at(S.log["n1"], 2) == "e1"), lift(True), "always"
    )
    state = CONCRETE.initial({})
    assert not CONCRETE.predicate(claim.holds)(state) and CONCRETE.predicate(bounded.holds)(state)
    negated = Property("p", "", at(S.log["n1"], 2) != "e1", lift(True), "always")
    assert not CONCRETE.predicate(negated.holds)(state)


def test_a_guard_that_bounds_what_it_reads_stays_as_it_is() -> None:
    def act(s: Logs, server: Parameter) -> Action:
        return Action(
            when=(length(s.log[server]) >= 2) & (at(s.log[server], 2) == "e1"),
            then=[s.seen.set(at(s.log[server], 2))],
            actor=server,
        )

    action = each(act, S, S.server).action
    assert len(action.then) == 1 and len(action.when.operands) == 2  # type: ignore[attr-defined]
    assert isinstance(action.then[0].value, If)


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        (lambda: sequences(S.entry), "the bound is a whole number of 1 or more; write most=3"),
        (lambda: sequences(S.entry, most=0), "the bound is a whole number of 1 or more"),
        (lambda: sequences(S.entry, most=1001), "at most 1,000 are allowed"),
        (lambda: sequences("entry", most=2), "is not a sort"),  # type: ignore[arg-type]
        (lambda: at(S.log["n1"], 4), "at(log, 4): positions are 1 to 3"),
        (lambda: at(S.log["n1"], S.seen), "a term of type int is needed here"),
        (lambda: length(S.log), "the sequence is a SequenceFamily"),  # type: ignore[arg-type]
        (lambda: S.log["n1"] == S.kept, "cannot be compared or set"),
        (lambda: S.log["n1"] == ("e1",), "write sequence_of"),
        (lambda: S.log["n1"].append(4), "a term of type entry is needed here"),
        (lambda: sequence_of(S.entry, 4), "a term of type entry is needed here"),
        (lambda: variable(sequences(S.entry, most=2), initial=("e1", "e1", "e1")), "at most 2 values"),
        (lambda: variable(sequences(S.entry, most=2), initial="e1"), "is a text; write a tuple"),
    ],
)  # fmt: skip
def test_a_slip_with_sequences_is_refused_in_one_line(mistake: Callable[[], object], said: str) -> None:
    with pytest.raises((TypeError, ModelError)) as refused:
        made = mistake()

        class One(StateSpace):
            def __init__(self) -> None:
                self.log = made

        _ = System(One(), ()).firsts
    assert said in str(refused.value) and "\n" not in str(refused.value)
