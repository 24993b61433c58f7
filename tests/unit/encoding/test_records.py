"""Records mean what Python's dicts with fixed keys mean, alone and as items of sequences."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from copy import copy as copy_of
from typing import Any

import pytest

from fencepost.cli.rendering.check_text import trace_text
from fencepost.encoding.check import check
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.saved_traces import check_saved
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.errors import ModelError
from fencepost.encoding.forms.counterexample import Counterexample
from fencepost.encoding.forms.itf import itf
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language import (
    Action,
    Parameter,
    Property,
    StateSpace,
    System,
    Term,
    anything,
    at,
    each,
    exists,
    family,
    integers,
    is_in,
    is_prefix,
    labels,
    last,
    length,
    one_of,
    records,
    sequence_of,
    sequences,
    subsets,
    variable,
)
from fencepost.encoding.language.terms import lift
from fencepost.encoding.language.traces import Subject
from support.bare import Bare
from support.readings import truths

Entry = tuple[int, str]
MOST = 2


class Logs(StateSpace):
    """Two servers with a log of entries, and the entry that each read last."""

    def __init__(self, servers: int = 2) -> None:
        self.server = labels("server", "n", servers)
        self.value = labels("value", "v", 2)
        self.term = integers(1, 2)
        self.entry = records(term=self.term, value=self.value)
        self.log = family(sequences(self.entry, most=MOST), self.server)
        self.seen = family(self.entry, self.server)
        self.kept = variable(self.entry, initial={"value": "v2"})


S = Logs()


def append(s: Logs, server: Parameter, term: Parameter, value: Parameter) -> Action:
    """Append an entry."""
    entry = s.entry(term=term, value=value)
    return Action(when=length(s.log[server]) < MOST, then=[s.log[server].append(entry)], actor=server)


def copy(s: Logs, to: Parameter, of: Parameter) -> Action:
    """Copy a log, and what was read."""
    return Action(when=to != of, then=[s.log[to].set(s.log[of]), s.seen[to].set(s.seen[of])], actor=to)


def cut(s: Logs, server: Parameter) -> Action:
    """Keep the first entry."""
    return Action(when=length(s.log[server]) >= 1, then=[s.log[server].truncate(1)], actor=server)


def read(s: Logs, server: Parameter) -> Action:
    """Read the last entry."""
    return Action(
        when=length(s.log[server]) > 0,
        then=[s.seen[server].set(last(s.log[server])), s.kept.value.set(last(s.log[server]).value)],
        actor=server,
    )


NEVER = Property(
    "never",
    "nobody reads the last entry of all",
    ~exists(S.server, lambda n: S.seen[n].term == 2),
    lift(True),
    "always",
)
ACTIONS = (
    each(append, S, S.server, S.term, S.value),
    each(copy, S, S.server, S.server),
    each(cut, S, S.server),
    each(read, S, S.server),
)
SYSTEM = System(S, ACTIONS, (NEVER,))
CONCRETE, SYMBOLIC = Concrete(SYSTEM), Symbolic(SYSTEM)
Claim = Callable[[list[Entry], list[Entry], Entry], bool]


def some_claim(chance: random.Random) -> tuple[Term, Claim]:
    """Return a condition on the logs and on what n1 read, as the language and as Python says it."""
    one, other, seen = S.log["n1"], S.log["n2"], S.seen["n1"]
    entry = (chance.choice((1, 2)), chance.choice(("v1", "v2")))
    given, number = S.entry(term=entry[0], value=entry[1]), chance.randint(1, MOST)
    return chance.choice(
        [
            (seen == given, lambda a, b, c: c == entry),
            (seen != given, lambda a, b, c: c != entry),
            (seen.term < 2, lambda a, b, c: c[0] < 2),
            (one == other, lambda a, b, c: a == b),
            (one == sequence_of(S.entry, given), lambda a, b, c: a == [entry]),
            (is_prefix(one, other), lambda a, b, c: b[: len(a)] == a),
            ((length(one) > 0) & (last(one) == seen), lambda a, b, c: a[-1:] == [c]),
            (
                (length(one) >= number) & (at(one, number) == given),
                lambda a, b, c: a[number - 1 : number] == [entry],
            ),
            (
                (length(one) >= number) & (at(one, number).value == entry[1]),
                lambda a, b, c: [v for _, v in a[number - 1 : number]] == [entry[1]],
            ),
        ]
    )  # fmt: skip


def some_state(chance: random.Random) -> tuple[bytes, list[Entry], list[Entry], Entry]:
    """Return the code of a state that records can have, the two logs in it, and what n1 read."""
    entries = [(term, value) for term in (1, 2) for value in ("v1", "v2")]
    logs = {n: [chance.choice(entries) for _ in range(chance.randint(0, MOST))] for n in ("n1", "n2")}
    seen = chance.choice(entries)

    def code(name: str, index: tuple[Any, ...]) -> int:
        whole, field = name.split("_")
        log = logs[index[0]]
        if field == "length":
            return len(log)
        found = log[index[1] - 1 : index[1]] if whole == "log" else [seen] if index == ("n1",) else []
        return sum(term - 1 if field == "term" else int(value == "v2") for term, value in found)

    codes = bytes(code(v.family.name, v.index) if v.index else 0 for v in SYSTEM.variables)
    return codes, logs["n1"], logs["n2"], seen


def disagreements(seeds: range) -> list[int]:
    """Return the seeds whose condition differs from Python's, in a state, in one of the readings."""
    found = []
    for seed in seeds:
        chance = random.Random(seed)
        (term, means), (state, one, other, seen) = some_claim(chance), some_state(chance)
        if truths(term, state, CONCRETE, SYMBOLIC) != {means(one, other, seen)}:
            found.append(seed)
    return found


def test_conditions_on_records_are_those_of_python_in_both_readings() -> None:
    assert disagreements(range(200)) == []


def test_a_comparison_that_leaves_a_field_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def first_field(self: Any, other: Any) -> Term:
        return self.terms["term"] == other.terms["term"]  # type: ignore[no-any-return]

    monkeypatch.setattr("fencepost.encoding.language.record_values.Record.__eq__", first_field)
    assert disagreements(range(200))


def after(*names: str) -> Counterexample:
    actions = {action.name: action for action in SYSTEM.ground_actions}
    trace = Replayer(SYSTEM, Subject("logs", {}, {})).record("never", [actions[n] for n in names], ())
    return Counterexample(trace, SYSTEM, NEVER, "never: violated", {})


def test_updates_are_those_of_python_along_random_executions() -> None:
    replayer = Replayer(SYSTEM, Subject("logs", {}, {}))
    for seed in range(20):
        chance, state = random.Random(seed), CONCRETE.initial({})
        logs: dict[str, list[str]] = {"n1": [], "n2": []}
        seen = dict.fromkeys(logs, "(term=1 value=v1)")
        for _ in range(12):
            step = chance.choice([s for s in CONCRETE.steps if s.enabled(state)])
            name, (who, *rest) = step.action.schema.name, map(str, step.action.arguments)
            match name:
                case "append":
                    logs[who] = [*logs[who], f"(term={rest[0]} value={rest[1]})"]
                case "copy":
                    logs[who], seen[who] = logs[rest[0]], seen[rest[0]]
                case "cut":
                    logs[who] = logs[who][:1]
                case "read":
                    seen[who] = logs[who][-1]
            state = step.after(state)
            shown = replayer.shown(state)
            for n, log in logs.items():
                assert shown[f"log[{n}]"] == f"[{', '.join(f'{i}:{e}' for i, e in enumerate(log, 1))}]", seed
                assert shown[f"seen[{n}]"] == seen[n], (seed, name)


def test_a_trace_shows_records_as_people_write_them() -> None:
    found = after("append(n1, 2, v2)", "append(n1, 1, v1)", "read(n1)", "cut(n1)", "read(n1)")
    trace = found.trace
    assert trace.initial["kept"] == "(term=1 value=v2)" and trace.initial["log[n1]"] == "[]"
    assert [step.changes for step in trace.steps] == [
        {"log[n1]": "[1:(term=2 value=v2)]"},
        {"log[n1]": "[1:(term=2 value=v2), 2:(term=1 value=v1)]"},
        {"kept": "(term=1 value=v1)"},
        {"log[n1]": "[1:(term=2 value=v2)]"},
        {"seen[n1]": "(term=2 value=v2)", "kept": "(term=1 value=v2)"},
    ]
    assert trace.value(S.log, "n1") == ({"term": 2, "value": "v2"},)
    assert trace.value(S.seen, "n1") == {"term": 2, "value": "v2"}
    assert trace.value(S.kept) == {"term": 1, "value": "v2"}
    assert trace.value(S.seen_term, "n1") == 2  # type: ignore[attr-defined]
    document = json.loads(itf(found))
    assert document["#meta"]["varTypes"]["log"] == "Str -> Seq({ term: Int, value: Str })"
    assert document["#meta"]["varTypes"]["kept"] == "{ term: Int, value: Str }"
    assert document["states"][5]["log"]["#map"][0] == ["n1", [{"term": {"#bigint": "2"}, "value": "v2"}]]
    assert document["states"][5]["kept"] == {"term": {"#bigint": "1"}, "value": "v2"}


@pytest.mark.parametrize("engine", ["enumeration", "rounds", "ic3"])
def test_every_engine_finds_the_fewest_steps(engine: str) -> None:
    subject = Subject("logs", {}, {})
    result = check(Bare(SYSTEM, subject), (NEVER,), Limits(jobs=1, engines=(engine,))).results[0]
    assert result.verdict.value == "violated"
    if engine != "ic3":
        assert result.trace is not None and [s.action for s in result.trace.steps] == ["append", "read"]


def test_a_record_may_begin_with_any_value() -> None:
    class Pairs(StateSpace):
        def __init__(self) -> None:
            self.pair = records(low=integers(0, 2), high=integers(0, 2))
            self.free = variable(self.pair, initial=anything)
            self.some = variable(self.pair, initial={"low": one_of(1, 2)})

    s = Pairs()
    low, high = s.families[0].firsts(()), s.families[1].firsts(())
    assert low == high == (0, 1, 2)
    assert s.families[2].firsts(()) == (1, 2) and s.families[3].firsts(()) == (0,)


def test_the_fields_of_an_item_at_first_are_given_by_name() -> None:
    class Logs(StateSpace):
        def __init__(self) -> None:
            self.pair = records(low=integers(0, 2), high=integers(0, 2))
            self.log = variable(sequences(self.pair, most=1), initial=[{"high": 2, "low": 1}])

    firsts = {v.name: v.family.first(v.index) for v in Logs().variables}
    assert firsts == {"log_low[1]": 1, "log_high[1]": 2, "log_length": 1}


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        (lambda: records(), "a record needs a field"),
        (lambda: records(term=3), "term: 3 is not a sort"),  # type: ignore[arg-type]
        (lambda: records(set=S.term), "a field cannot be called set"),
        (lambda: records(of=labels("x", "a=", 1)), "the value 'a=1' has one of = ( )"),
        (lambda: S.entry(term=1), "made of a value for each field, not of term"),
        (lambda: S.entry(term=3, value="v1"), "term: 3 is not in 1..2; valid: 1, 2"),
        (lambda: S.entry(term=1, value="w"), "value: w is not in value; valid: "),
        (lambda: S.kept.vlaue, "the record has no field vlaue; valid: term, value"),
        (lambda: S.kept == ("v1", 1), "a record of term, value is needed here"),
        (lambda: S.kept.set(S.seen), "a record of term, value is needed here"),  # type: ignore[arg-type]
        (lambda: S.kept.set(records(term=S.term)(term=1)), "a record of term, value is needed here"),
        (lambda: S.log["n1"].append("v1"), "a record of term, value is needed here"),
        (lambda: bool(S.kept), "a term has no truth value"),
        (lambda: exists(S.entry, lambda e: e == S.kept), "write one argument for each field"),  # type: ignore[arg-type]
        (lambda: variable(S.entry, initial={"trem": 1}), "initial: trem is no field; valid: term, value"),
        (lambda: variable(S.entry, initial={"term": 7}), "initial: term=7 is not in 1..2"),
        (lambda: variable(S.entry, initial={"term": one_of(1, 7)}), "initial: term=7 is not in 1..2"),
        (lambda: variable(S.entry, initial=("v1",)), "initial= is"),  # type: ignore[call-overload]
        (
            lambda: variable(sequences(S.entry, most=1), initial=[{"term": 1}]),
            "is no record of term, value; write a table",
        ),
        (
            lambda: variable(sequences(S.entry, most=1), initial=[{"term": 5, "value": "v1"}]),
            "initial: term=5 is not in 1..2; valid: 1, 2",
        ),
    ],
)
def test_what_a_record_cannot_mean_is_refused(mistake: Callable[[], object], said: str) -> None:
    with pytest.raises((ModelError, TypeError, AttributeError)) as refused:
        mistake()
    assert said in str(refused.value)


class Anywhere(StateSpace):
    """A set and a record that begin with any value."""

    def __init__(self) -> None:
        self.who = labels("who", "w", 2)
        self.pair = records(low=integers(0, 2), high=integers(0, 2))
        self.chosen = variable(subsets(self.who), initial=anything)
        self.free = variable(self.pair, initial=anything)


def swap(s: Anywhere) -> Action:
    """Take w2 away, and make the lower number the higher one."""
    then = [s.chosen.remove("w2"), s.free.low.set(s.free.high)]
    return Action(when=is_in("w2", s.chosen) & (s.free.high == 2), then=then, actor="a")


def saved_beginning() -> tuple[System, dict[str, Any], str]:
    """Return a system, its counterexample of one step as a file has it, and as text."""
    s = Anywhere()
    holds = is_in("w2", s.chosen) | (s.free.low != 2)
    claim = Property("low", "the lower number is not 2 without w2", holds, lift(True), "always")
    start = is_in("w2", s.chosen) & (s.free.low == 1)
    system = System(s, (each(swap, s),), (claim,), beginning=start)
    trace = check(Bare(system, SUBJECT), (claim,), Limits(jobs=1)).results[0].trace
    assert trace is not None
    return system, json.loads(json.dumps(trace.to_json())), trace_text(trace)


SUBJECT = Subject("anywhere", {}, {})


def test_a_beginning_of_a_set_or_a_record_is_shown_whole_and_read_again() -> None:
    system, saved, text = saved_beginning()
    assert saved["initial"]["free"] == "(low=1 high=2)" and "At first chosen = {w2" in text.replace(
        "w1, ", ""
    )
    assert check_saved(saved, system, SUBJECT, system.properties[0]).to_json()["steps"] == saved["steps"]


@pytest.mark.parametrize(
    ("name", "forged"),
    [
        ("free", "(low=9 high=2)"),
        ("free", "(high=2 low=1)"),
        ("free", "(low=1 high=2"),
        ("free", 3),
        ("free", "(low=0 high=2)"),
        ("chosen", "{w2, w3}"),
        ("chosen", "{}"),
    ],
)
def test_a_forged_beginning_of_a_set_or_a_record_does_not_replay(name: str, forged: object) -> None:
    system, saved, _ = saved_beginning()
    saved["initial"][name] = forged
    with pytest.raises(NotAnExecution):
        check_saved(saved, system, SUBJECT, system.properties[0])


def test_a_record_can_be_copied() -> None:
    """Planted: a field is looked for before the record has any, without end."""
    assert copy_of(S.kept).kind == S.kept.kind
