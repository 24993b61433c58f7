"""Batch reads and given ids on transcripts of real runs of 4.17.4, and mistakes that they show."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from fencepost.encoding.concrete.replay import NotAnExecution
from fencepost.encoding.language.terms import FALSE
from fencepost.properties.catalogue import find
from fencepost.protocols.bookkeeper.layers.given_ids import IdsGivenTwice
from fencepost.protocols.bookkeeper.today import Today
from fencepost.realcode.conformance import action_of, drive, spelled
from fencepost.realcode.course import Ending
from fencepost.realcode.harness_session import HarnessFailed, OutOfStep, Playback, opened
from fencepost.realcode.reproduction import Reproduction, reproduce
from fencepost.realcode.run_files import RecordedRun, read_run_file
from fencepost.realcode.runs import Ground
from support.realcode import TRANSCRIPTS, kept_trace, transcript_of

RUNS = TRANSCRIPTS.with_name("runs")
BATCH = ("batch-read-past-end", "batch-read-past-lac")


def played(bug: str, change: Callable[[str], str] = str, **switches: str) -> Reproduction:
    """Play a transcript with each answer changed so, on the model with these switches."""
    transcript, trace = transcript_of(bug, "4.17.4"), kept_trace(bug)
    lines = [(line, change(answer)) for line, answer in transcript.lines]
    given = replace(trace, switches={**trace.switches, **switches})
    return reproduce(given, transcript.setting, Playback(lines))


def differing(run: Reproduction) -> tuple[int, list[str]]:
    """Return the first step at which model and code differ, and the observations that differ there."""
    first = next(step for step in run.steps if step.differs)
    return first.index, [name.partition("[")[0] for name in first.differs]


@pytest.mark.parametrize(("bug", "step"), [("batch-read-past-end", 9), ("batch-read-past-lac", 11)])
def test_a_model_whose_batch_reads_are_clipped_departs(bug: str, step: int) -> None:
    """Planted in the model: the mend of the loss, which the code does not have."""
    index, names = differing(played(bug, batch_read="clipped"))
    assert names[0] == "given"
    assert index == step


@pytest.mark.parametrize("bug", BATCH)
def test_a_code_that_clips_its_batch_reads_gives_no_such_entry(bug: str) -> None:
    """Planted in the code: the reader's application is given entry 1 alone."""
    run = played(bug, lambda answer: answer.replace(": 1 2", ": 1"))
    assert run.ending is not Ending.REPRODUCED
    assert differing(run)[1][0] == "given"


def test_an_id_that_is_answered_twice_does_not_hang() -> None:
    """Planted in the code: both adds of the id have a result."""

    def answered(answer: str) -> str:
        look = json.loads(answer)
        if "told" in look.get("ok", ()):
            look["ok"]["told"] += ["w: add 1: OK", "w: add 2: OK", "w: add again 2: OK"]
        return json.dumps(look)

    assert played("given-id-twice").ending is Ending.REPRODUCED
    assert played("given-id-twice", answered).ending is not Ending.REPRODUCED


def test_the_second_thread_looks_for_the_id_before_the_first_add(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted in the driver: nobody waits for the throttle. The code would refuse the second add."""
    monkeypatch.setattr("fencepost.realcode.drive.writers._make", lambda code, entry, **again: None)
    with pytest.raises(
        OutOfStep, match=r"asked: push .* recorded: make client=w content=\d entry=\d again=yes"
    ):
        played("first-id-twice")


@pytest.mark.parametrize("bug", ["given-ids-length", "recovered-length"])
def test_a_closed_ledger_with_the_right_length_is_no_loss(bug: str) -> None:
    """Planted in the code: the length is one byte for each entry up to the last one."""

    def summed(answer: str) -> str:
        look = json.loads(answer)
        metadata = look.get("ok", {}).get("metadata", {})
        if "length" in metadata:
            metadata["length"] = metadata["last"] + 1
        return json.dumps(look)

    assert played(bug).ending is Ending.REPRODUCED
    run = played(bug, summed)
    assert run.ending is not Ending.REPRODUCED
    assert differing(run)[1] == ["length"]


def test_a_callback_that_throws_is_a_failure_of_the_harness() -> None:
    """Planted: the exception is swallowed, and the step differs from the model."""
    thrown = "hand id=9: the callback of a request (batch-read) throws java.lang.NullPointerException"
    with pytest.raises(HarnessFailed, match="callback of a request"):
        opened(json.dumps({"failed": thrown}))
    transcript = transcript_of("batch-read-past-end", "4.17.4")
    at = next(i for i, (line, _) in enumerate(transcript.lines) if line.startswith("hand"))
    lines = [*transcript.lines]
    lines[at] = (lines[at][0], json.dumps({"failed": thrown}))
    with pytest.raises(HarnessFailed, match="callback of a request"):
        reproduce(kept_trace("batch-read-past-end"), transcript.setting, Playback(lines))


def rules_taken_out() -> dict[str, tuple[str, Callable[..., object]]]:
    """Return mistakes of the model of given ids, each with the rule that it replaces."""
    return {
        "the LAC does not fall": ("falls_back", lambda s: FALSE),
        "no add waits behind the second one": (
            "highest_acked",
            lambda s, client: Today.highest_acked(s, client),
        ),
        "the second copy is not stored": ("takes_copy", lambda s, bookie, entry: ~s.has(bookie, entry)),
    }


@pytest.mark.parametrize("mistake", rules_taken_out())
def test_runs_notice_a_rule_of_given_ids_that_is_taken_out(
    mistake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted in the model: a run departs, or is no execution of that model."""
    kept = read_run_file(RUNS / "given-ids.4.17.4.interleaved.jsonl").runs
    name, rule = rules_taken_out()[mistake]
    monkeypatch.setattr(IdsGivenTwice, name, rule, raising=False)

    def departs(one: RecordedRun) -> bool:
        subject = one.ground.instance.subject
        ground = Ground(find("bookkeeper").instance({**subject.parameters, **subject.switches}.items()))
        actions = tuple(action_of(ground, words) for words in spelled(one.run))
        try:
            return drive(one.playback(), ground, replace(one.run, actions=actions))[1] is not None
        except NotAnExecution:
            return True

    assert any(map(departs, kept))
