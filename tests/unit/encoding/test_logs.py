"""Logs: `follow` says of generated logs what an enumeration of all executions says."""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.random_executions import random_execution
from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.concrete.steps import UNDECIDED
from fencepost.encoding.errors import BadInput, ModelError
from fencepost.encoding.language import (
    BOOL,
    Action,
    Property,
    Protocol,
    StateSpace,
    System,
    each,
    family,
    integers,
    labels,
    log,
    variable,
)
from fencepost.encoding.language.protocol import Instance, load
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.traces import Trace
from fencepost.encoding.logs import search
from fencepost.encoding.logs.events import Event, Log, Logs, read_logs, reader_in
from fencepost.encoding.logs.following import Fit, LogAnswer, Share, follow
from fencepost.encoding.logs.search import LogSearch

EXAMPLES = Path(__file__).parents[3] / "examples"
LOGS = EXAMPLES / "logs"


@cache
def instance(name: str, **settings: object) -> Instance:
    return load(EXAMPLES / f"{name}.py").instance([(k, str(v)) for k, v in settings.items()])


@cache
def two() -> Instance:
    return instance("two_phase_commit", participants=2)


def recorded(of: Instance, seed: int, most: int) -> Trace:
    """Return a random execution, of at most so many steps."""
    chance, replayer = random.Random(seed), Replayer(of.system, of.subject)
    found = random_execution(replayer.concrete, chance, True)
    *_, (path, state) = itertools.islice(found, most)
    lost = [v.name for v in of.system.choices if state[v.place] == 1]
    return replayer.record("path", list(path), lost, [0 for _ in of.system.varied])


def logged(trace: Trace, hidden: Collection[str] = (), unnamed: float = 0.0, seed: int = 0) -> Logs:
    """Return the log of an execution without some actions, and with a share of the arguments left out."""
    chance, found = random.Random(seed), dict[str, list[Event]]()
    for step in trace.steps:
        if step.action in hidden:
            continue
        process = show(step.actor)
        log = found.setdefault(process, [])
        known = {k: v for k, v in step.arguments.items() if chance.random() >= unnamed}
        log.append(Event(f"{process}.log:{len(log) + 1}", process, step.action, known))
    return Logs(tuple(map(tuple, found.values())))


def exchanged(logs: Logs, seed: int) -> Logs:
    """Return the log with two neighbouring lines of one process exchanged."""
    chance, changed = random.Random(seed), [list(log) for log in logs.by_process]
    log = chance.choice([log for log in changed if len(log) > 1])
    place = chance.randrange(len(log) - 1)
    log[place], log[place + 1] = log[place + 1], log[place]
    return Logs(tuple(map(tuple, changed)))


def projections(of: Instance, steps: int, silent: Collection[str]) -> set[tuple[tuple[str, ...], ...]]:
    """Return the logs of all executions: by actor the names of its actions; silent ones are left out.

    It is a plain search over all orders of actions, which knows nothing of logs.
    """
    concrete = Concrete(of.system)
    found: set[tuple[tuple[str, ...], ...]] = set()
    seen = set()
    nodes: list[tuple[object, tuple[tuple[str, str], ...]]] = [(concrete.initial(), ())]
    while nodes:
        state, told = nodes.pop()
        key = state, by_actor(told)
        if key in seen:
            continue
        seen.add(key)
        found.add(by_actor(told))
        if len(told) == steps:
            continue
        for step in concrete.steps:
            name = step.action.name
            actor = "coordinator" if name.startswith(COORDINATOR) else show(step.action.arguments[0])
            line = () if step.action.schema.name in silent else ((actor, name),)
            nodes += [(after, (*told, *line)) for after in step.successors(state)]  # type: ignore[arg-type]
    return found


COORDINATOR = ("hear vote", "decide")
"""The beginnings of the names of the coordinator's actions."""


def by_actor(told: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(line for actor, line in told if actor == one) for one in ("p1", "p2", "coordinator"))


def asked(lines: tuple[tuple[str, ...], ...]) -> Logs:
    """Return the log with these lines of p1, of p2 and of the coordinator."""

    def event(actor: str, number: int, line: str) -> Event:
        name, _, rest = line.partition("(")
        arguments = {"participant": rest.removesuffix(")")} if rest else {}
        return Event(f"{actor}:{number}", actor, name, arguments)

    logs = [
        tuple(event(actor, number, line) for number, line in enumerate(own, 1))
        for actor, own in zip(("p1", "p2", "coordinator"), lines, strict=True)
    ]
    return Logs(tuple(log for log in logs if log))


def one_line_less(lines: tuple[tuple[str, ...], ...]) -> Iterator[tuple[tuple[str, ...], ...]]:
    for actor, own in enumerate(lines):
        for place in range(len(own)):
            yield (*lines[:actor], (*own[:place], *own[place + 1 :]), *lines[actor + 1 :])


NAMES = {schema.name for schema in instance("two_phase_commit", participants=2).system.schemas}


def all_named(lines: tuple[tuple[str, ...], ...], silent: Collection[str]) -> bool:
    """Return whether the log names each action that is not silent, and each process."""
    named = {line.partition("(")[0] for own in lines for line in own}
    return all(lines) and named >= NAMES - set(silent) - {"give up", "abort", "decide abort"}


@pytest.mark.parametrize("silent", [(), ("hear vote",), ("commit",)], ids=str)
def test_every_log_is_judged_as_an_enumeration_of_all_executions_judges_it(silent: tuple[str, ...]) -> None:
    """Logs of executions, the same with lines of a process in any order, and with a line left out."""
    hidden = {*silent, "give up", "abort", "decide abort"}
    possible = projections(two(), 8, hidden)
    full = [lines for lines in possible if all_named(lines, hidden)]
    judged = set[tuple[tuple[str, ...], ...]]()
    for lines in full:
        judged |= {tuple(own) for own in itertools.product(*(itertools.permutations(o) for o in lines))}
        judged |= {fewer for fewer in one_line_less(lines) if all_named(fewer, hidden)}
    assert len(judged - possible) > 2 and full
    for lines in judged:
        fit = follow(two(), asked(lines), silent=("give up", "abort", "decide abort")).fit
        assert (fit is Fit.EXECUTION) == (lines in possible), lines


CORPUS = ("raft", "paxos_commit", "viewstamped", "zab", "oxia")


def ways() -> Iterator[tuple[str, int, str]]:
    yield from itertools.product(CORPUS, range(4), ("named", "unnamed", "silent"))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed", "way"), [*ways()])
def test_the_log_of_an_execution_is_one(name: str, seed: int, way: str) -> None:
    of = instance(f"corpus/{name}")
    trace = recorded(of, seed, 20)
    names = sorted({step.action for step in trace.steps})
    hidden = random.Random(seed).sample(names, len(names) // 3) if way == "silent" else ()
    logs = logged(trace, hidden, unnamed=float(way == "unnamed"), seed=seed)
    found = follow(of, logs)
    assert found.fit is Fit.EXECUTION and found.execution is not None
    assert sum(event is not None for event in found.execution.events) == len(logs.events)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), [*itertools.product(CORPUS, range(4))])
def test_two_lines_exchanged_are_refused_or_are_an_execution(name: str, seed: int) -> None:
    """A refusal names lines that contradict each other, and a change with which there is an execution."""
    of = instance(f"corpus/{name}")
    logs = exchanged(logged(recorded(of, seed, 20)), seed)
    found = follow(of, logs)
    if found.fit is Fit.EXECUTION:
        assert found.execution is not None
        return
    assert found.fit is Fit.NONE and found.refusal is not None
    assert found.refusal.core and found.refusal.needed is not None


GENERATED = 50
"""The executions of each protocol and way: with five protocols and four ways, 1,000 logs."""


@pytest.mark.long
@pytest.mark.parametrize("way", ["named", "unnamed", "silent", "values"])
@pytest.mark.parametrize("name", CORPUS)
def test_a_thousand_generated_logs_are_accepted(name: str, way: str) -> None:
    """With all arguments, without any, with a third of the actions silent, or with half of the values."""
    of = instance(f"corpus/{name}")
    replayer = Replayer(of.system, of.subject)
    for seed in range(100, 100 + GENERATED):
        trace, chance = recorded(of, seed, 20), random.Random(seed)
        names = sorted({step.action for step in trace.steps})
        hidden = chance.sample(names, len(names) // 3) if way == "silent" else ()
        logs = logged(trace, hidden, unnamed=float(way in ("unnamed", "values")), seed=seed)
        if way == "values":
            changes = {process: [] for process in map(show, (s.actor for s in trace.steps))}  # type: ignore[var-annotated]
            for step in trace.steps:
                known = {k: v for k, v in step.changes.items() if chance.random() < 0.5}
                changes[show(step.actor)].append(known)
            logs = Logs(
                tuple(
                    tuple(replace(e, after=changes[e.process][i]) for i, e in enumerate(log))
                    for log in logs.by_process
                )
            )
        found = follow(of, logs, explains=(), replayer=replayer)
        assert found.fit is Fit.EXECUTION, (name, way, seed)


@pytest.mark.long
def test_a_thousand_changed_logs_are_judged_as_an_enumeration_judges_them() -> None:
    """One line is left out, told of the other participant, exchanged, or moved to another process."""
    possible = projections(two(), 8, ())
    full = sorted(lines for lines in possible if sum(map(len, lines)) > 2)
    chance, replayer, judged = random.Random(1), Replayer(two().system, two().subject), [0, 0]
    for _ in range(1_000):
        lines = [list(own) for own in chance.choice(full)]
        own = chance.choice([own for own in lines if own])
        place = chance.randrange(len(own))
        match chance.randrange(4):
            case 0:
                del own[place]
            case 1:
                own[place] = own[place].translate({ord("1"): "2", ord("2"): "1"})
            case 2:
                own[0], own[place] = own[place], own[0]
            case 3:
                chance.choice(lines).insert(0, own.pop(place))
        changed = tuple(tuple(own) for own in lines)
        # All actions have a line. The actor of a line is known where all processes have a log.
        if not all(changed):
            continue
        fit = follow(two(), asked(changed), logged=sorted(NAMES), explains=(), replayer=replayer).fit
        assert (fit is Fit.EXECUTION) == (changed in possible), changed
        judged[changed in possible] += 1
    assert min(judged) > 30, judged


def of_files(*names: str, folder: Path = LOGS, table: dict[str, str] | None = None) -> LogAnswer:
    return follow(two(), read_logs([folder / f"{n}.log" for n in names], two().system, table or {}))


def test_a_process_without_a_log_leaves_no_line() -> None:
    found = of_files("p1", "p2")
    assert found.fit is Fit.EXECUTION and found.execution is not None
    assert [event is None for event in found.execution.events].count(True) == 3


def test_a_missing_line_of_a_process_that_has_a_log_is_missed(tmp_path: Path) -> None:
    for name in ("p1", "p2", "coordinator"):
        lines = (LOGS / f"{name}.log").read_text().splitlines(keepends=True)
        (tmp_path / f"{name}.log").write_text("".join(lines[name == "coordinator" :]))
    found = of_files("p1", "p2", "coordinator", folder=tmp_path)
    assert found.fit is Fit.NONE and found.refusal is not None
    assert [event.action for event in found.refusal.core] == ["decide commit"]


def test_contradicting_lines_are_named_and_the_change_that_mends_them(tmp_path: Path) -> None:
    files = [LOGS / "exchanged" / "p1.log", LOGS / "p2.log", LOGS / "coordinator.log"]
    refusal = follow(two(), read_logs(files, two().system, {})).refusal
    assert refusal is not None and refusal.is_smallest
    assert [event.where for event in refusal.core] == ["p1.log:1", "p1.log:2"]
    assert refusal.needed == "p1.log:1: exchanged with the next line there is an execution"


@pytest.mark.parametrize(("value", "fit"), [("committed", Fit.EXECUTION), ("aborted", Fit.NONE)])
def test_values_of_state_variables_count(value: str, fit: Fit, tmp_path: Path) -> None:
    line = f'{{"process": "p1", "action": "commit", "after": {{"phase[p1]": "{value}"}}}}\n'
    (tmp_path / "p1.log").write_text('{"process": "p1", "action": "prepare"}\n' + line)
    assert follow(two(), read_logs([tmp_path / "p1.log"], two().system, {})).fit is fit


def test_names_are_found_and_told_by_a_table(tmp_path: Path) -> None:
    text = (LOGS / "coordinator.log").read_text()
    (tmp_path / "coordinator.log").write_text(text.replace("p2", "10.0.0.7:1").replace("p1", "10.0.0.9:1"))
    found = of_files("coordinator", folder=tmp_path)
    assert found.fit is Fit.EXECUTION and found.execution is not None
    assert {value for _, value in found.execution.names} == {"p1", "p2"}
    told = of_files("coordinator", folder=tmp_path, table={"10.0.0.7:1": "p2", "10.0.0.9:1": "p1"})
    assert told.execution is not None and not told.execution.names
    (tmp_path / "coordinator.log").write_text(text.replace("p2", "10.0.0.7:1").replace("p1", "10.0.0.7:1"))
    assert of_files("coordinator", folder=tmp_path).fit is Fit.NONE, "one name is one participant"


@pytest.mark.parametrize(("times", "fit"), [((2, 1), Fit.NONE), ((1, 2), Fit.EXECUTION)])
def test_times_order_the_events_of_two_processes(times: tuple[int, int], fit: Fit, tmp_path: Path) -> None:
    for name, action, time in zip(("p1", "coordinator"), ("prepare", "hear vote"), times, strict=True):
        (tmp_path / f"{name}.log").write_text(
            f'{{"action": "{action}", "arguments": {{"participant": "p1"}}, "from": {time}, "to": {time}}}\n'
        )
    assert of_files("p1", "coordinator", folder=tmp_path).fit is fit


def test_an_event_that_may_have_happened_is_used_or_not(tmp_path: Path) -> None:
    for maybe, fit in (("true", Fit.EXECUTION), ("false", Fit.NONE)):
        again = f'{{"process": "p1", "action": "prepare", "maybe": {maybe}}}\n'
        (tmp_path / "p1.log").write_text('{"process": "p1", "action": "prepare"}\n' + again)
        assert of_files("p1", folder=tmp_path).fit is fit


def test_a_property_is_impossible_possible_or_certain() -> None:
    """With a majority of two of three votes, p3 may have given up before the others commit."""
    of = instance("two_phase_commit", participants=3, votes="majority")
    (prop,) = (p for p in of.properties() if p.name == "consistent")

    def share(*lines: tuple[str, str]) -> Share:
        log = tuple(Event(f"x:{i}", "", action, {"participant": p}) for i, (action, p) in enumerate(lines, 1))
        (found,) = follow(of, Logs((log,)), properties=[prop]).violations
        return found.share

    assert share(("prepare", "p1")) is Share.NONE
    assert share(("commit", "p1")) is Share.SOME
    assert share(("give up", "p3"), ("commit", "p1")) is Share.ALL


def test_lines_of_which_no_change_is_refused_are_named() -> None:
    events: Log = (Event("x:1", "", "give up"), Event("x:2", "", "prepare"))
    found = follow(two(), Logs((events,)))
    assert [event.where for event in found.silent_lines] == ["x:1", "x:2"] and found.controlled == 2
    assert not of_files("p1", "p2", "coordinator").silent_lines


def test_a_search_without_time_is_undecided_and_says_how_far_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "OFTEN", 1)
    found = follow(two(), logged(recorded(two(), 1, 6)), timeout=0.0)
    assert found.fit is Fit.UNDECIDED and found.reason == "time-out after 0 s" and found.reached


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("no json", "; write an object, or give --reader FILE.py"),
        ('{"action": "prepare", "action": "give up"}', "p1.log:1: is not JSON ('action' is given twice"),
        ("[]", "p1.log:1: must be an object with action, process"),
        ("{}", "p1.log:1: action: missing; name one, or give only values with after"),
        ('{"action": "dance"}', "p1.log: names no action; valid: prepare, give up"),
        ('{"action": "prepare", "time": 1}', "p1.log:1: time: unknown key; valid: action"),
        (
            '{"action": "prepare", "arguments": {"x": 1}}',
            "p1.log:1: x: no such argument of prepare; valid: part",
        ),
        ('{"action": "prepare", "after": {"phase": 1}}', "p1.log:1: phase: no such state variable"),
        ("", "p1.log: has no event"),
    ],
)
def test_a_bad_line_is_one_line(line: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "p1.log").write_text(line + "\n")
    with pytest.raises(BadInput) as error:
        of_files("p1", folder=tmp_path)
    assert says in str(error.value) and "\n" not in str(error.value)


class Space(StateSpace):
    """Servers that vote."""

    def __init__(self) -> None:
        self.server = labels("server", "n", 2)
        self.voted = family(BOOL, self.server)


@log("vote granted", to="candidate")
def grant(s: Space, candidate: object) -> Action:
    """Grant a vote."""
    return Action(when=~s.voted[candidate], then=[s.voted[candidate].set(True)], actor=candidate)  # type: ignore


def test_an_action_is_named_as_its_log_names_it(tmp_path: Path) -> None:
    schema = each(grant, s := Space(), s.server)
    assert schema.logged is not None and schema.logged.event == "vote granted"
    text = (EXAMPLES / "lease_lock.py").read_text()
    assert "def grant(" in text
    (tmp_path / "own.py").write_text(
        text.replace("def grant(", '@log("lock taken", number="token")\ndef grant(', 1).replace(
            "    each,\n", "    each,\n    log,\n", 1
        )
    )
    of: Protocol = load(tmp_path / "own.py")
    (tmp_path / "a.log").write_text('{"action": "lock taken", "arguments": {"number": 1}}\n')
    (log_,) = read_logs([tmp_path / "a.log"], of.instance().system, {}).by_process
    assert (log_[0].action, log_[0].arguments) == ("grant", {"token": 1})


def test_a_field_of_no_argument_is_refused() -> None:
    with pytest.raises(ModelError, match=r"@log: to='nobody': is no argument; valid: candidate"):
        each(
            log("vote granted", to="nobody")(lambda s, candidate: grant(s, candidate)), s := Space(), s.server
        )


def test_a_reader_turns_lines_into_events(tmp_path: Path) -> None:
    (tmp_path / "reader.py").write_text(
        "def events(line):\n"
        "    if 'ready' in line:\n"
        "        yield {'action': 'prepare', 'arguments': {'participant': line.split()[0]}}\n"
    )
    (tmp_path / "all.txt").write_text("p1 is ready\nnoise\np2 is ready\n")
    found = read_logs([tmp_path / "all.txt"], two().system, {}, reader_in(tmp_path / "reader.py"))
    assert [event.where for event in found.events] == ["all.txt:1", "all.txt:3"]
    (tmp_path / "reader.py").write_text("x = 1\n")
    with pytest.raises(BadInput, match="has no function events"):
        reader_in(tmp_path / "reader.py")


def test_a_line_with_values_only_is_no_step(tmp_path: Path) -> None:
    for value, fit in (("prepared", Fit.EXECUTION), ("committed", Fit.NONE)):
        (tmp_path / "p1.log").write_text(
            '{"process": "p1", "action": "prepare"}\n'
            f'{{"process": "p1", "after": {{"phase[p1]": "{value}"}}}}\n'
        )
        found = follow(two(), read_logs([tmp_path / "p1.log"], two().system, {}), logged=sorted(NAMES))
        assert found.fit is fit


@dataclass(frozen=True)
class Nothing:
    """No parameter."""


class Counted(StateSpace):
    """A counter of three values."""

    def __init__(self) -> None:
        self.n = variable(integers(0, 2))


def ticks(s: Counted) -> Action:
    return Action(then=[s.n.set(s.n + 1)])


def rests(s: Counted) -> Action:
    return Action(when=s.n >= 0)


def counted(_parameters: Nothing) -> System:
    s = Counted()
    kept = Property("counts", "the counter is a number", s.n >= 0, s.n > 0, "it has counted")
    return System(s, (each(ticks, s), each(rests, s)), (kept,))


def test_a_step_that_leaves_a_domain_is_not_taken_and_no_log_is_refused_for_it() -> None:
    """A freed line may happen without end. Planted: the search ends with the error of the model."""
    one = Protocol("counted", "a counter", Nothing(), counted).instance([])

    def ends(*ticked: str, n: int) -> LogAnswer:
        last = Event("x:9", "", "rests", after={"n": n})
        return follow(one, Logs(((*(Event(f"x:{i}", "", name) for i, name in enumerate(ticked)), last),)))

    assert ends("ticks", "ticks", n=2).fit is Fit.EXECUTION
    refused = ends("ticks", "ticks", n=0)
    assert refused.fit is Fit.NONE and refused.refusal is not None
    assert not refused.refusal.is_smallest, "a search with the ticks freed leaves the domain"
    beyond = ends("ticks", "ticks", "ticks", n=2)
    assert beyond.fit is Fit.UNDECIDED
    assert beyond.reason == "ticks sets n to 3, outside 0..2; widen the domain or tighten the guard"


def test_an_action_that_is_logged_each_time_needs_its_line() -> None:
    logs = Logs(((Event("x:1", "", "commit", {"participant": "p1"}),),))
    assert follow(two(), logs).fit is Fit.EXECUTION
    assert follow(two(), logs, logged=["prepare"]).fit is Fit.NONE


def test_only_losses_that_are_read_are_decided() -> None:
    """The states are those of `Step.successors`, with other losses left open."""
    of = instance("two_voices")
    found = LogSearch(Replayer(of.system, of.subject), ())
    concrete = found.concrete
    state = concrete.initial()
    for step in concrete.steps:
        eager, lazy = set(step.successors(state)), list(found.successors(step, state))
        covered = {
            one
            for one in eager
            for open_ in lazy
            if all(b in (a, UNDECIDED) for a, b in zip(one, open_, strict=True))
        }
        assert covered == eager and len(lazy) <= max(len(eager), 1)


# Planted mistakes: each is noticed by the comparison with all executions.


def test_a_search_that_forgets_the_order_of_a_process_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = search.LogSearch._steps

    def any_order(self: search.LogSearch, logs, *others):  # type: ignore[no-untyped-def]
        yield from whole(self, [tuple(reversed(log)) for log in logs], *others)

    monkeypatch.setattr(search.LogSearch, "_steps", any_order)
    with pytest.raises(AssertionError):
        test_every_log_is_judged_as_an_enumeration_of_all_executions_judges_it(())


def test_a_search_that_lets_logged_actions_happen_unlogged_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search.LogSearch, "_is_silent", lambda self, step, loud: True)
    with pytest.raises(AssertionError):
        test_every_log_is_judged_as_an_enumeration_of_all_executions_judges_it(())
