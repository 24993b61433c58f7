"""Conformance runs on the real code: which runs are taken, and that no difference of the code goes unnoticed.

The transcripts were recorded from real runs of BookKeeper 4.13.0 and 4.17.4; each names its versions.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fencepost.encoding.concrete.replay import NotAnExecution
from fencepost.encoding.language.terms import TRUE
from fencepost.encoding.language.traces import plain
from fencepost.encoding.logs.events import Event, Logs
from fencepost.encoding.logs.following import Fit, follow
from fencepost.properties.catalogue import find
from fencepost.protocols.bookkeeper.observed import OWN_LAC
from fencepost.protocols.bookkeeper.today import Today
from fencepost.realcode import conformance, observations
from fencepost.realcode.conformance import Conformance, Departure, action_of, drive, shorter, spelled
from fencepost.realcode.drive.actions import DRIVEN
from fencepost.realcode.harness_session import HarnessSession, OutOfStep, Playback
from fencepost.realcode.left_out import AT_ONCE, ELSEWHERE
from fencepost.realcode.observations import Observations
from fencepost.realcode.run_files import RecordedRun, RunFile, begins_run, read_run_file
from fencepost.realcode.run_instances import BROAD
from fencepost.realcode.runs import ConformanceRun, Ground, random_runs
from fencepost.realcode.transcripts import json_lines
from support.realcode import crashing_code
from support.realcode import run_kept as run

SOME = 3
"""The runs of a file that are played through the command; `test_a_real_run_agrees` compares all."""
KEPT_RUNS = Path(__file__).parents[2] / "realcode" / "runs" / "4.17.4.interleaved.jsonl"


@pytest.fixture(scope="session")
def taken() -> tuple[RecordedRun, ...]:
    return read_run_file(KEPT_RUNS).runs


# Runs.


@pytest.mark.long
def test_a_seed_gives_the_same_runs_again() -> None:
    def some(seed: int) -> list[object]:
        ground = [Ground(find("bookkeeper").instance(BROAD.items()))]
        return [
            (sample.lost, spelled(sample)) for _, sample in itertools.islice(random_runs(ground, seed), 1)
        ]

    assert some(4) == some(4) != some(5)


def test_what_the_code_does_at_once_follows_at_once() -> None:
    """A run in which a write-back waits is impossible on the code, though the model allows it."""
    ground = Ground(find("bookkeeper").instance(BROAD.items()))
    chance = random.Random(3)
    samples = iter(lambda: ground.random_run(chance), None)
    sample, at = next((sample, at) for sample in samples for at in _awaited(sample))
    ground.followed(sample)
    before, back, other, *after = sample.actions[:at], *sample.actions[at:]
    with pytest.raises(NotAnExecution, match="cannot be taken there"):
        ground.followed(replace(sample, actions=(*before, other, back, *after)))
    assert set(AT_ONCE) | set(ELSEWHERE) <= set(DRIVEN)


def test_one_failure_at_a_time_is_noted_during_a_change() -> None:
    """Planted: the action is taken wherever the model can; then two noted failures part from the code."""
    sizes = {"bookies": 4, "ensemble": 3, "write_quorum": 3, "ack_quorum": 2, "fragments": 3}
    chained = {name: str(size) for name, size in sizes.items()} | {"chained_changes": "one-difference"}
    ground = Ground(find("bookkeeper").instance(chained.items()))
    calls = (("create ledger", ""), ("push", "1 1"), ("begin change", "w 1 1 b1"))
    actions = [ground.replayer.system.find(name, given.split()) for name, given in calls]
    begun = ConformanceRun((), tuple(a for a in actions if a is not None))
    assert len(begun.actions) == 3
    ground.followed(begun)
    first, second = (action_of(ground, ["note failure", "w", "1", "1", bookie]) for bookie in ("b2", "b3"))
    once = replace(begun, actions=(*begun.actions, first))
    ground.followed(once)
    with pytest.raises(NotAnExecution, match="cannot be taken there"):
        ground.followed(replace(once, actions=(*once.actions, second)))


def _awaited(sample: ConformanceRun) -> list[int]:
    """Return the positions at which an entry is written back and another action comes next."""
    names = [action.schema.name for action in sample.actions]
    return [at for at, name in enumerate(names[:-1]) if name == "write back" and names[at + 1] not in AT_ONCE]


def test_a_departure_is_made_smaller() -> None:
    # Planted: a departure as soon as b2 is fenced. The smaller run has only the steps that lead there.
    ground = Ground(find("bookkeeper").instance(BROAD.items()))
    chance = random.Random(1)

    def departs(sample: ConformanceRun) -> Departure | None:
        steps, _ = ground.followed(sample)
        fenced = [
            step.index for step in steps if step.action == "handle fence" and step.arguments["bookie"] == "b2"
        ]
        if not fenced:
            return None
        cut = replace(sample, actions=sample.actions[: fenced[0]])
        return Departure("fenced", "", cut, steps[: fenced[0]], ())

    long = next(
        found
        for found in iter(lambda: departs(ground.random_run(chance)), 0)
        if found and len(found.steps) > 8
    )
    small = shorter(long, departs)
    assert [step.action for step in small.steps] == ["create ledger", "begin recovery", "handle fence"]
    assert small.run.lost == ()


# A real run, checked again.


@pytest.mark.parametrize("path", sorted(KEPT_RUNS.parent.iterdir()), ids=lambda path: path.stem)
def test_a_real_run_agrees(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken_runs = len(read_run_file(path).runs)
    assert run(["conform", "--playback", str(path)]) == 0
    out = capsys.readouterr().out
    assert f"{taken_runs} agree after each step, 0 depart." in out


Change = Callable[[Observations], Observations]

# A run of the code is a log in one known order: the comparison and the search for executions judge alike.


def judged(taken: RecordedRun, monkeypatch: pytest.MonkeyPatch, planted: Change = dict) -> tuple[bool, Fit]:
    """Return whether the run agrees, and the answer of `follow` to its log, with a planted last step."""
    seen: list[Observations] = []

    def noting(model: Observations, code: Observations) -> Any:
        seen.append(planted(code) if len(seen) == len(taken.run.actions) - 1 else code)
        return observations.differences(model, seen[-1])

    monkeypatch.setattr(conformance, "differences", noting)
    agrees = drive(taken.playback(), taken.ground, taken.run)[1] is None
    instance = taken.ground.instance
    names = set(instance.observed) - {OWN_LAC}  # the code has a LAC where the model knows none
    events = [
        Event(
            f"step {number}",
            "",
            action.schema.name,
            {p.symbol: plain(v) for p, v in zip(action.schema.parameters, action.arguments, strict=True)},
            after={name: value for name, value in code.items() if name in names},
        )
        for number, (action, code) in enumerate(zip(taken.run.actions, seen, strict=True), 1)
    ]
    every = [schema.name for schema in instance.system.schemas]
    log = Logs((tuple(events),))
    return agrees, follow(instance, log, logged=every, explains=(), replayer=taken.ground.replayer).fit


def test_a_run_that_agrees_is_an_execution_of_the_search(
    taken: tuple[RecordedRun, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for one in taken[:1]:
        assert judged(one, monkeypatch) == (True, Fit.EXECUTION)


@pytest.mark.parametrize(
    ("planted", "fit"),
    [
        (lambda seen: {**seen, "last entry": seen["last entry"] + 1}, Fit.NONE),
        (lambda seen: {name: own for name, own in seen.items() if name != "closed at[r1]"}, Fit.EXECUTION),
    ],
    ids=["another value", "a value that is missing"],
)
def test_what_the_code_does_not_do_is_no_line_of_a_log(
    planted: Change, fit: Fit, taken: tuple[RecordedRun, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recoverer that never reports departs from the model. As a log the run has an execution."""
    one = next(one for one in taken if "finish recovery" in one.run.names)
    end = [action.schema.name for action in one.run.actions].index("finish recovery") + 1
    short = replace(one, run=replace(one.run, actions=one.run.actions[:end]))
    assert judged(short, monkeypatch, planted) == (False, fit)


def test_an_action_that_no_run_took_is_shown_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["conform", "--playback", str(KEPT_RUNS.with_name("4.17.4.db.jsonl"))]) == 0
    assert "abandon recovery 0, adopt close 0" in capsys.readouterr().out


def test_the_results_of_runs_are_there_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    path = KEPT_RUNS.with_name("4.17.4.db.jsonl")
    assert run(["conform", "--playback", str(path), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["runs"], document["departures"]) == (2, [])


def test_a_model_in_which_recovery_reads_do_not_fence_departs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Planted in the model. Runs that agree with the model as it is show the difference.
    lines = [json.loads(line) for line in KEPT_RUNS.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        if begins_run(line):
            line["settings"]["recovery_reads_fence"] = "no"
    path = tmp_path / "runs.jsonl"
    path.write_text(json_lines(lines), encoding="utf-8")
    assert run(["conform", "--playback", str(path)]) == 1
    out = capsys.readouterr().out
    assert "handle read" in out
    assert "is yes in the code, no in the model" in out
    assert "By its own switches 4.17.4 has recovery_reads_fence=yes" in " ".join(out.split())


def test_runs_are_written_as_they_were_read() -> None:
    assert read_run_file(KEPT_RUNS).to_json_lines() == KEPT_RUNS.read_text(encoding="utf-8")


@contextmanager
def code_in_place(
    monkeypatch: pytest.MonkeyPatch, kept: RunFile, session: AbstractContextManager[HarnessSession]
) -> Iterator[None]:
    """Let the command take the runs of a file on this session, in the place of a real BookKeeper."""

    @contextmanager
    def driven(*given: object) -> Iterator[HarnessSession]:
        found = given[0]
        assert isinstance(found, Conformance)
        found.setting = kept.setting
        with session as code:
            yield code

    with monkeypatch.context() as patch:
        patch.setattr("fencepost.cli.commands.conform.driven", driven)
        runs = [(one.ground, one.run) for one in kept.runs]
        patch.setattr("fencepost.realcode.conformance.random_runs", lambda *given: iter(runs))
        yield


def asked(kept: RunFile, folder: Path) -> list[str]:
    """Return the command that takes as many runs as the file has, and keeps them in `written.jsonl`."""
    (folder / "bookkeeper-server-4.17.4.jar").touch()
    options = ["--storage", "db", "--seed", str(kept.seed), "--runs", str(len(kept.runs))]
    options += ["--transcript", str(folder / "written.jsonl")]
    return ["conform", kept.protocol, "--bookkeeper", str(folder), *options]


def test_runs_on_the_code_write_their_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code is played back: the file written equals the file played, apart from the date."""
    lines = KEPT_RUNS.with_name("4.17.4.db.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    whole = read_run_file(KEPT_RUNS.with_name("4.17.4.db.jsonl"))
    kept = replace(whole, runs=whole.runs[:SOME])
    played = kept.to_json_lines().splitlines(keepends=True)
    assert played[1:] == lines[1 : len(played)], "the beginning of the file"
    session = Playback([line for one in kept.runs for line in one.lines])
    with code_in_place(monkeypatch, kept, nullcontext(session)):
        assert run(asked(kept, tmp_path)) == 0
    head, *others = (tmp_path / "written.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    assert others == played[1:]
    assert json.loads(head) | {"recorded": kept.recorded} == json.loads(played[0])


@pytest.mark.long
def test_a_process_that_crashes_keeps_the_runs_so_far_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The process prints between its answers, and in the second run it prints `#` and ends, as a JVM does."""
    kept = read_run_file(KEPT_RUNS.with_name("4.17.4.db.jsonl"))
    first, second = kept.runs[:2]
    answers = [answer for _, answer in (*first.lines, *second.lines[:5])]
    with code_in_place(monkeypatch, kept, crashing_code(answers)):
        assert run(asked(kept, tmp_path)) == 3
    printed = capsys.readouterr()
    said = " ".join(printed.out.split())
    assert "1 run of " in said
    assert "1 agree after each step, 0 depart, of 2 asked for" in said
    failure = said[said.index("The harness failed") :]
    assert "says nothing about the code: " in failure
    assert "ended, and has printed: a library prints this" in failure
    assert "A fatal error has been detected by the Java Runtime Environment: SIGSEGV (0xb); run" in failure
    written = read_run_file(tmp_path / "written.jsonl")
    assert [spelled(one.run) for one in written.runs] == [spelled(first.run), spelled(second.run)]
    assert [len(one.lines) for one in written.runs] == [len(first.lines), 6]
    assert run(["conform", "--playback", str(tmp_path / "written.jsonl")]) == 3
    assert "The harness failed" in capsys.readouterr().out


BROKEN: dict[str, Callable[[list[str]], list[str]]] = {
    "schema is 'fencepost.walks/1'; valid: fencepost.runs/4": lambda lines: [
        '{"schema": "fencepost.walks/1", "walks": []}'
    ],
    "the last: ask: unknown key (did you mean asked?); valid: taken, asked": lambda lines: lines[:-1],
    "the last: taken = 2, but the file has 1 runs": lambda lines: [
        line for at, line in enumerate(lines) if at < 2 or "steps" not in line
    ],
    "line 2: ask: unknown key; valid: settings, lost, steps": lambda lines: [lines[0], *lines[2:]],
    "line 3: must be an object with ask, answer": lambda lines: [*lines[:2], "7", *lines[3:]],
}
"""For each error message, the change that makes a file of two runs wrong."""


@pytest.mark.parametrize(("says", "broken"), BROKEN.items(), ids=list(BROKEN))
def test_a_file_of_runs_that_is_not_whole_is_one_line(
    says: str,
    broken: Callable[[list[str]], list[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = KEPT_RUNS.with_name("4.17.4.db.jsonl").read_text(encoding="utf-8").splitlines()
    path = tmp_path / "broken.jsonl"
    path.write_text(json_lines([json.loads(line) for line in broken(lines)]), encoding="utf-8")
    assert run(["conform", "--playback", str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


def tampered(one: RecordedRun, change: Callable[[dict[str, Any]], None]) -> RecordedRun:
    """Return the run with another last observation."""
    at = max(i for i, (line, _) in enumerate(one.lines) if line == "look")
    answer = json.loads(one.lines[at][1])
    change(answer["ok"])
    return replace(one, lines=(*one.lines[:at], (one.lines[at][0], json.dumps(answer)), *one.lines[at + 1 :]))


def fence_another_way(look: dict[str, Any]) -> None:
    bookie = look["bookies"]["b1"]
    bookie["fenced"] = not bookie["fenced"]


def test_what_is_otherwise_in_the_code_is_found_unless_the_comparison_leaves_it_out(
    taken: tuple[RecordedRun, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Planted: a comparison without fences, which finds nothing.
    one = tampered(taken[0], fence_another_way)

    def departure() -> Departure | None:
        return drive(one.playback(), one.ground, one.run)[1]

    found = departure()
    assert found is not None
    assert found.reason.startswith("fenced[b1] is ")
    real = observations.differences

    def careless(model: observations.Observations, code: observations.Observations) -> Mapping[str, Any]:
        return {name: sides for name, sides in real(model, code).items() if not name.startswith("fenced[")}

    monkeypatch.setattr("fencepost.realcode.conformance.differences", careless)
    assert departure() is None


def test_a_harness_that_looks_too_early_is_found(taken: tuple[RecordedRun, ...]) -> None:
    # Planted in the harness: each observation is the one before.
    one = taken[0]
    at = [i for i, (line, _) in enumerate(one.lines) if line == "look"]
    lines = list(one.lines)
    for before, after in itertools.pairwise(at):
        lines[after] = one.lines[before]
    assert drive(replace(one, lines=tuple(lines)).playback(), one.ground, one.run)[1] is not None


# Departures that real releases have shown, and the runs that show them again.


@pytest.fixture(scope="session")
def refused() -> RecordedRun:
    """Return a run in which an add that has its AQ acks is refused.

    The writer replaces that bookie with the next push, and closes meanwhile.
    """
    return read_run_file(KEPT_RUNS.with_name("4.17.4.db.jsonl")).runs[0]


def test_a_refusal_that_stops_the_writer_whatever_was_refused_is_found(
    refused: RecordedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Planted: the earlier model. The code continues when an add that has its AQ acks is refused.
    monkeypatch.setattr(Today, "is_fenced_out", lambda *add: TRUE)
    subject = refused.ground.instance.subject
    ground = Ground(find("bookkeeper").instance({**subject.parameters, **subject.switches}.items()))
    actions = tuple(action_of(ground, words) for words in spelled(refused.run))
    with pytest.raises(NotAnExecution, match="step 14: push cannot be taken there"):
        drive(refused.playback(), ground, replace(refused.run, actions=actions))


def test_a_writer_that_closes_while_its_own_ensemble_change_is_held_is_driven_past_it(
    refused: RecordedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Planted in the harness: it releases metadata calls in order, whatever the step names.
    monkeypatch.setattr("fencepost.realcode.drive.writers._own_change", lambda steps: False)
    with pytest.raises(OutOfStep, match="metadata client=w"):
        drive(refused.playback(), refused.ground, refused.run)


def test_an_action_is_found_by_its_words(taken: tuple[RecordedRun, ...]) -> None:
    one = taken[0]
    assert tuple(action_of(one.ground, words) for words in spelled(one.run)) == one.run.actions
    with pytest.raises(NotAnExecution, match="no such action"):
        action_of(one.ground, ["stand still"])


HOSTILE = {
    "PROTOCOL: missing": [],
    "--bookkeeper: missing": ["bookkeeper"],
    "is not modelled after BookKeeper's code": ["ledger-chain", "--bookkeeper", "LIB"],
    "LIB: no such folder": ["bookkeeper", "--bookkeeper", "LIB"],
    "--runs: not with FENCEPOST_PLAYBACK": ["--playback", str(KEPT_RUNS), "--runs", "3"],
    "valid: fencepost.runs/4": ["--playback", "OTHER"],
    "1_0: must be a whole number": ["bookkeeper", "--bookkeeper", "LIB", "--runs", "1_0"],
    "nan: must be a number above 0": ["bookkeeper", "--bookkeeper", "LIB", "--timeout", "nan"],
    "must have the form NAME=VALUE": ["bookkeeper", "--bookkeeper", "LIB", "--set", "bookies"],
}


@pytest.mark.parametrize(("says", "arguments"), HOSTILE.items(), ids=list(HOSTILE))
def test_what_cannot_be_meant_is_one_line(
    says: str, arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"schema": "fencepost.trace/2"}', encoding="utf-8")
    assert run(["conform", *(str(other) if a == "OTHER" else a for a in arguments)]) == 2
    captured = capsys.readouterr()
    assert not captured.out
    assert says in captured.err
    assert captured.err.count("\n") == 1
