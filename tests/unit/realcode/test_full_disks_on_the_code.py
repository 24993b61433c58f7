"""Full disks on transcripts of real runs of 4.17.4, and mistakes that they show."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from fencepost.encoding.concrete.replay import NotAnExecution
from fencepost.properties.catalogue import find
from fencepost.protocols.bookkeeper.layers.entry_log import ReadsOfEntryLogs
from fencepost.realcode.conformance import action_of, drive, grounds, spelled
from fencepost.realcode.course import Ending
from fencepost.realcode.harness_session import Playback
from fencepost.realcode.reproduction import reproduce
from fencepost.realcode.run_files import RecordedRun, read_run_file
from fencepost.realcode.runs import Ground
from fencepost.realcode.transcripts import read_transcript
from support.realcode import OF_SCRIPTS, TRANSCRIPTS, kept_trace, script_trace, transcript_of

RUNS = TRANSCRIPTS.with_name("runs") / "full-disks.4.17.4.db.jsonl"
EMPTIED = ("flush log", "begin log", "crash", "restart")
"""The steps after which the buffer of the entry log is empty."""
CASES = [("#4855", "interleaved"), ("#4855-db", "db"), ("#4855-sorted", "sorted")]


def departs(one: RecordedRun, **switches: str) -> bool:
    """Return whether the run departs, or is no execution, on the model with these switches."""
    subject = one.ground.instance.subject
    settings = {**subject.parameters, **subject.switches, **switches}
    ground = Ground(find("bookkeeper").instance(settings.items()))
    actions = tuple(action_of(ground, words) for words in spelled(one.run))
    try:
        return drive(one.playback(), ground, replace(one.run, actions=actions))[1] is not None
    except NotAnExecution:
        return True


@pytest.mark.parametrize(
    ("release", "ending"),
    [("4.13.0", Ending.REFUSED), ("4.17.4", Ending.REPRODUCED), ("4.18.0", Ending.REPRODUCED)],
)
def test_an_empty_cache_is_not_swapped_since_4_15_1(release: str, ending: Ending) -> None:
    """Planted in `releases.toml`: 4.13.0 has `swaps-none`. Model and code then differ."""
    transcript = read_transcript(OF_SCRIPTS / f"cache-set-aside.{release}.db.jsonl")
    run = reproduce(script_trace("cache-set-aside"), transcript.setting, transcript.playback())
    assert run.ending is ending


@pytest.mark.parametrize(
    ("protocol", "release", "rule"),
    [("bookkeeper-4.13", "4.13.0", "swaps"), ("bookkeeper", "4.17.4", "swaps-none")],
)
def test_runs_have_the_rule_of_the_release(protocol: str, release: str, rule: str) -> None:
    """Planted: runs on 4.13.0 have today's rule."""
    one = {"bookies": 1, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1}
    settings = {**one, "storage": "db", "full_disks": 1, "restarts": 1}
    (ground,) = grounds(protocol, settings, "db", release)
    assert ground.instance.subject.switches["empty_flush"] == rule


def test_a_model_whose_shutdown_writes_the_cache_that_was_set_aside_departs() -> None:
    """Planted in the model: the rule before 4.15.1."""
    one = read_run_file(RUNS).runs[0]
    assert not departs(one)
    assert departs(one, empty_flush="swaps")


def test_a_model_that_answers_a_fencing_read_whose_last_entry_is_misplaced_departs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted in the model: the answer has the LAC."""
    one = read_run_file(RUNS).runs[1]
    assert not departs(one)
    monkeypatch.delattr(ReadsOfEntryLogs, "says_unknown")
    assert departs(one)


@pytest.mark.parametrize(("bug", "storage"), CASES)
def test_a_full_disk_that_takes_no_part_loses_nothing(bug: str, storage: str) -> None:
    """Planted in the harness: no byte is written, so the flush after it finds the file in step."""
    transcript, copies = transcript_of(bug, "4.17.4", storage), []

    def kept(answer: str) -> str:
        look = json.loads(answer)
        for inside in look.get("ok", {}).get("bookies", {}).values():
            copies.append(inside["entries"])
            inside["entries"] = max(copies, key=len)
        return json.dumps(look)

    assert reproduce(kept_trace(bug), transcript.setting, transcript.playback()).ending is Ending.REPRODUCED
    lines = [(line, kept(answer)) for line, answer in transcript.lines]
    run = reproduce(kept_trace(bug), transcript.setting, Playback(lines))
    assert run.ending is Ending.PARTED
    assert "stored[b1, 1]" in next(step for step in run.steps if step.differs).differs


@pytest.mark.parametrize("storage", ["sorted", "db"])
def test_runs_leave_out_a_fence_that_the_code_may_lose_and_a_flush_of_a_small_table(storage: str) -> None:
    """Planted: a fenced bookie goes down; with sorted storage a disk is full while the buffer is empty."""
    one = {"bookies": 1, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1, "storage": storage}
    faults = {"full_disks": 1, "crashes": 1, "restarts": 1}
    (ground,) = grounds("bookkeeper", {**one, **faults}, storage, "4.17.4")
    chance, seen = random.Random(1), set()
    for _ in range(30):
        steps, observations = ground.followed(ground.random_run(chance))
        buffered = False
        for step, before in zip(steps, observations, strict=False):
            seen.add(step.action)
            assert step.action not in ("crash", "restart") or not before["fenced[b1]"]
            assert step.action != "fill disk" or storage != "sorted" or buffered
            buffered = step.action == "write memory table" or (buffered and step.action not in EMPTIED)
    assert {"crash", "restart", "fill disk"} <= seen
