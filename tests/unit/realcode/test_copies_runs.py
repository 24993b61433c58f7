"""Conformance runs of `ledger-copies`: which are taken, and that no difference of the code goes unnoticed."""

from __future__ import annotations

import itertools
import json
import random
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.encoding.concrete.replay import NotAnExecution
from fencepost.realcode.conformance import action_of, drive, grounds, none_fired, spelled
from fencepost.realcode.copies_runs import FAULTS, CopiesGround
from fencepost.realcode.harness_session import Answer, Playback, opened
from fencepost.realcode.run_files import RecordedRun, read_run_file
from fencepost.realcode.runs import ConformanceRun
from support.realcode import TRANSCRIPTS
from support.realcode import run_kept as run

KEPT_RUNS = TRANSCRIPTS.parent / "runs" / "copies.4.17.4.sorted.jsonl"
WITH_WORKER = KEPT_RUNS.with_name("copies-workers.4.18.0.sorted.jsonl")
REUSED = tuple(KEPT_RUNS.with_name(f"copies-reused.4.17.4.{storage}.jsonl") for storage in ("sorted", "db"))


@pytest.fixture(scope="session")
def taken() -> tuple[RecordedRun, ...]:
    return read_run_file(KEPT_RUNS).runs


def ground_with(one: RecordedRun) -> CopiesGround:
    """Return the ground of a run, built again."""
    subject = one.ground.instance.subject
    (ground,) = grounds("ledger-copies", {**subject.parameters, **subject.switches}, "sorted", "4.17.4")
    assert isinstance(ground, CopiesGround)
    return ground


class Departing(Playback):
    """A session of a run that departs: bookies and collectors are then as they were last seen, or end."""

    def ask(self, command: str, **arguments: object) -> Answer:
        if command in ("boot", "collect") and not self.lines[self.at][0].startswith(command):
            return {}
        if command == "look" and self.lines[self.at][0] != "look":
            return opened(next(answer for line, answer in reversed(self.lines[: self.at]) if line == "look"))
        return super().ask(command, **arguments)


@pytest.mark.parametrize(
    ("storage", "release", "rules"),
    [
        ("sorted", "4.17.4", ("at-once", "until-swap", "yes")),
        ("db", "4.13.0", ("write-cache", "until-checkpoint", "no")),
    ],
)
def test_runs_follow_the_rules_of_release_and_storage(
    storage: str, release: str, rules: tuple[str, ...]
) -> None:
    names = ("storage", "deletion_mark", "remembers_deleted")
    for ground in grounds("ledger-copies", {}, storage, release):
        switches = ground.instance.subject.switches
        assert tuple(switches[name] for name in names) == rules
        assert switches["recover_lock"] == "no"


def test_the_actions_that_no_run_takes_are_not_counted() -> None:
    """Planted: an action of a second replicator, or one without a drive, counts as one that never fired."""
    with_worker = {*none_fired(grounds("ledger-copies", {}, "db", "4.17.4"))}
    alone = none_fired(grounds("ledger-copies", {"bookies": 3}, "db", "4.17.4"))
    assert with_worker - {*alone} == {"take ledger", "read again", "find replaced"}
    assert sorted(alone) == [
        "begin collecting",
        "collect",
        "come back",
        "copy entry",
        "flush",
        "lose disks",
        "pass over",
        "recover bookie",
        "stop",
        "update ensemble",
    ]


def test_a_run_has_few_faults_and_none_of_a_bookie_that_collects() -> None:
    (ground,) = grounds(
        "ledger-copies", {"bookies": 2, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1}, "db", "4.17.4"
    )
    chance = random.Random(1)
    for _ in range(3):
        drawn = ground.random_run(chance)
        faults = [a for a in drawn.actions if a.schema.action.fault]
        assert len(faults) <= FAULTS
        collecting = set()
        for action in drawn.actions:
            name, bookie = action.schema.name, action.arguments[0]
            assert not (name in ("stop", "lose disks") and bookie in collecting)
            if name == "begin collecting":
                collecting.add(bookie)
            elif name == "collect":
                collecting.discard(bookie)


def test_a_worker_takes_the_ledger_only_where_the_code_replaces_the_same_bookie() -> None:
    """Planted: a take while two bookies fail the check, of which the code replaces both or none."""
    (ground,) = grounds("ledger-copies", {"bookies": 3, "workers": 1}, "sorted", "4.17.4")
    chance = random.Random(2)
    takes = 0
    for _ in range(5):
        steps, seen = ground.followed(ground.random_run(chance))
        for step, before in zip(steps, seen, strict=False):
            if step.action == "take ledger":
                takes += 1
                named = str(before["ensemble from 1"]).split(", ")
                assert sum(not before.get(f"copy[{b}, 1]") for b in named) == 1
    assert takes > 3


def test_a_run_that_the_code_cannot_take_is_refused(taken: tuple[RecordedRun, ...]) -> None:
    """Planted: a bookie stops while it collects, and its collector keeps the lock."""
    one = next(one for one in taken if "begin collecting" in one.run.names)
    at = [a.schema.name for a in one.run.actions].index("begin collecting")
    bookie = str(one.run.actions[at].arguments[0])
    actions = (*one.run.actions[: at + 1], action_of(one.ground, ["stop", bookie]))
    with pytest.raises(NotAnExecution, match=f"step {at + 2}: stop cannot be taken there"):
        drive(one.playback(), one.ground, replace(one.run, actions=actions))


@pytest.mark.parametrize(
    ("settings", "is_refused"),
    [({"entries": 2}, True), ({}, False), ({"entries": 2, "reuse": "at-once"}, False)],
)
def test_a_copy_that_brings_another_old_entry_back_is_left_out(
    settings: dict[str, object], is_refused: bool
) -> None:
    """Planted: the copy is taken. Then 4.13.0 shows entry 2 too, which no checkpoint has removed."""
    own = {"bookies": 2, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1, **settings}
    (ground,) = grounds("ledger-copies", own, "db", "4.13.0")
    assert isinstance(ground, CopiesGround)
    copies = [["copy entry", "o1", str(entry)] for entry in range(1, 1 + len(ground.copies.entry.values))]
    away = [["recover bookie", "o1", "1", "1", "b2"], *copies, ["update ensemble", "o1", "1"]]
    back = [
        ["begin collecting", "b1"],
        ["collect", "b1"],
        ["recover bookie", "o1", "1", "1", "b1"],
        copies[0],
    ]
    actions = tuple(action_of(ground, words) for words in (*away, *back))
    with pytest.raises(NotAnExecution, match="step 8: copy entry") if is_refused else nullcontext():
        ground.followed(ConformanceRun((), actions))


def test_a_copy_that_is_not_there_is_found_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Planted in the code's answers: a bookie has none of its entries after the last step."""
    file = read_run_file(KEPT_RUNS)
    one = file.runs[0]
    at = [i for i, (line, _) in enumerate(one.lines) if line == "look"][-2]
    answer = json.loads(one.lines[at][1])
    for inside in answer["ok"]["bookies"].values():
        inside["entries"] = [] if inside["entries"] else [{"entry": 0}]
    lines = (*one.lines[:at], (one.lines[at][0], json.dumps(answer)), *one.lines[at + 1 :])
    path = tmp_path / "runs.jsonl"
    path.write_text(replace(file, runs=(replace(one, lines=lines),)).to_json_lines(), encoding="utf-8")
    assert run(["conform", "--playback", str(path)]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "departure 1: copy[b" in out
    assert "operators=1 storage=at-once" in out


def test_a_worker_that_keeps_the_lock_is_found() -> None:
    """Planted in the code's answers: the lock outlives the work."""
    one = next(one for one in read_run_file(WITH_WORKER).runs if "find replaced" in one.run.names)
    lines = [(line, answer.replace('"locked": false', '"locked": true')) for line, answer in one.lines]
    departure = drive(Departing(tuple(lines)), one.ground, one.run)[1]
    assert departure is not None
    assert departure.kind == f"{one.run.actions[0].schema.name}: locked"


def test_a_harness_that_looks_too_early_is_found(taken: tuple[RecordedRun, ...]) -> None:
    """Planted in the harness: each observation is the one before."""
    one = taken[0]
    lines = list(one.lines)
    at = [i for i, (line, _) in enumerate(lines) if line == "look"]
    for before, after in itertools.pairwise(at):
        lines[after] = one.lines[before]
    assert drive(Departing(tuple(lines)), one.ground, one.run)[1] is not None


def test_a_model_whose_collector_deletes_nothing_departs(
    taken: tuple[RecordedRun, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted in the model."""
    one = next(one for one in taken if "collect" in one.run.names)
    monkeypatch.setattr("fencepost.protocols.ledger_copies.bookies.deletes_if", lambda *_: [])
    ground = ground_with(one)
    at = [a.schema.name for a in one.run.actions].index("collect")
    actions = tuple(action_of(ground, words) for words in spelled(one.run)[: at + 1])
    departure = drive(Departing(one.lines), ground, replace(one.run, actions=actions))[1]
    assert departure is not None
    assert departure.kind == "collect: copy"


# Used ids.


@pytest.mark.parametrize(
    ("storage", "stores", "more"),
    [
        ("sorted", "memtable", {"flush"}),
        ("db", "write-cache", {"flush", "pass over", "read old entry"}),
        ("interleaved", "at-once", set()),
    ],
)
def test_runs_with_a_used_id_reach_its_actions(storage: str, stores: str, more: set[str]) -> None:
    used = grounds("ledger-copies", {"reuse": "at-once"}, storage, "4.17.4")
    assert {ground.instance.subject.switches["storage"] for ground in used} == {stores}
    of_layer = {"delete ledger", "find deleted", "delete copies", "create again", "add again", "close again"}
    plain = {*none_fired(grounds("ledger-copies", {}, storage, "4.17.4"))}
    reached = {*none_fired(used)}
    assert of_layer | more <= reached
    assert not (of_layer | {"read old entry"}) & plain


def test_a_bookie_that_is_about_to_delete_does_not_stop() -> None:
    """Planted: it stops, and the harness lets its old collector delete."""
    (ground,) = grounds("ledger-copies", {"bookies": 3, "reuse": "at-once"}, "sorted", "4.17.4")
    chance, ends = random.Random(4), 0
    for _ in range(8):
        condemned = set()
        for action in ground.random_run(chance).actions:
            name = action.schema.name
            if name in ("stop", "lose disks"):
                assert action.arguments[0] not in condemned
            elif name == "find deleted":
                condemned.add(action.arguments[0])
            elif name == "delete copies":
                condemned.discard(action.arguments[0])
                ends += 1
    assert ends


@pytest.mark.parametrize("path", REUSED, ids=lambda path: path.name)
def test_runs_with_a_used_id_agree_and_an_entry_of_the_wrong_ledger_departs(path: Path) -> None:
    """Planted in the code's answers: bookies have the old ledger's entry in place of the new one's."""
    for one in read_run_file(path).runs:
        assert drive(one.playback(), one.ground, one.run)[1] is None
        lines = [(line, answer.replace('"content": "101"', '"content": "1"')) for line, answer in one.lines]
        departure = drive(Departing(tuple(lines)), one.ground, one.run)[1]
        assert departure is not None
        assert departure.kind == "add again: new"
