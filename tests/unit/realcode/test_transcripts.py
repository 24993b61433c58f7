"""Real runs, played back: how each ends, and that no difference of the code goes unnoticed.

The transcripts were recorded from real runs of BookKeeper 4.13.0 and 4.17.4 on 2026-11-22 and 23; each names
its versions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fencepost.advice.known import KNOWN, chosen
from fencepost.encoding.language.traces import Trace
from fencepost.properties.catalogue import find
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.realcode import observations
from fencepost.realcode.course import Ending
from fencepost.realcode.drive.actions import DRIVEN
from fencepost.realcode.drive.code import NoSeam
from fencepost.realcode.harness_session import OutOfStep, Playback
from fencepost.realcode.left_out import UNDRIVABLE
from fencepost.realcode.matrix import cell
from fencepost.realcode.observations import differences
from fencepost.realcode.release_behaviour import as_driven, refused_at
from fencepost.realcode.reproduction import Reproduction, Setting, _said_by, bookkeeper_of, needs, reproduce
from fencepost.realcode.transcripts import Transcript, read_transcript
from support.realcode import TRANSCRIPTS, kept_trace, transcript_of
from support.tiers import each_third

REPRODUCED, REFUSED = Ending.REPRODUCED, Ending.REFUSED

ENDINGS = {
    ("#2614", "4.13.0", "sorted"): (REPRODUCED, None),
    ("#2614", "4.17.4", "sorted"): (REFUSED, 16),
    ("#2614-2/2/2", "4.13.0", "sorted"): (REPRODUCED, None),
    ("#2614-2/2/2", "4.17.4", "sorted"): (REFUSED, 12),
    ("#2614-3/3/3", "4.13.0", "sorted"): (REPRODUCED, None),
    ("#2614-3/3/3", "4.17.4", "sorted"): (REFUSED, 14),
    ("#2614-tla", "4.13.0", "sorted"): (REPRODUCED, None),
    ("#2615", "4.13.0", "sorted"): (REPRODUCED, None),
    ("#2615", "4.17.4", "sorted"): (REFUSED, 11),
    ("#2615-stuck", "4.13.0", "sorted"): (REPRODUCED, None),
    ("#2615-stuck", "4.17.4", "sorted"): (REFUSED, 11),
    ("#3005-3/2/2", "4.17.4", "sorted"): (REPRODUCED, None),
    ("#4459", "4.17.4", "sorted"): (REPRODUCED, None),
    ("#4812", "4.17.4", "db"): (REPRODUCED, None),
    ("#4855", "4.17.4", "interleaved"): (REPRODUCED, None),
    ("#4855-db", "4.17.4", "db"): (REPRODUCED, None),
    ("#4855-sorted", "4.17.4", "sorted"): (REPRODUCED, None),
    ("BP-46-closed", "4.17.4", "db"): (REPRODUCED, None),
    ("BP-46-served", "4.17.4", "db"): (REPRODUCED, None),
    ("bare-fence", "4.17.4", "sorted"): (REPRODUCED, None),
    ("batch-read-past-end", "4.17.4", "sorted"): (REPRODUCED, None),
    ("batch-read-past-lac", "4.17.4", "sorted"): (REPRODUCED, None),
    ("first-id-twice", "4.13.0", "sorted"): (REPRODUCED, None),
    ("first-id-twice", "4.17.4", "sorted"): (REPRODUCED, None),
    ("flushed-fence-db", "4.17.4", "db"): (REPRODUCED, None),
    ("force-after-close", "4.17.4", "sorted"): (REPRODUCED, None),
    ("force-after-power-loss", "4.13.0", "sorted"): (REPRODUCED, None),
    ("force-after-power-loss", "4.17.4", "db"): (REPRODUCED, None),
    ("given-id-twice", "4.17.4", "sorted"): (REPRODUCED, None),
    ("given-ids-length", "4.17.4", "sorted"): (REPRODUCED, None),
    ("key-without-entry", "4.17.4", "sorted"): (REPRODUCED, None),
    ("key-without-entry-db", "4.13.0", "db"): (REFUSED, 7),
    ("lac-of-opening", "4.13.0", "sorted"): (REPRODUCED, None),
    ("lac-of-opening", "4.17.4", "sorted"): (REPRODUCED, None),
    ("old-reader", "4.17.4", "sorted"): (REPRODUCED, None),
    ("phantom-read", "4.17.4", "sorted"): (REPRODUCED, None),
    ("recovered-length", "4.17.4", "sorted"): (REPRODUCED, None),
    ("refused-change", "4.17.4", "sorted"): (REPRODUCED, None),
    ("stale-ensemble", "4.17.4", "sorted"): (REPRODUCED, None),
    ("stale-ensemble-hang", "4.13.0", "sorted"): (REPRODUCED, None),
    ("stale-ensemble-hang", "4.17.4", "sorted"): (REPRODUCED, None),
    ("too-few-copies", "4.17.4", "interleaved"): (REPRODUCED, None),
    ("too-few-copies", "4.17.4", "sorted"): (REFUSED, 27),
    ("too-few-copies-2", "4.17.4", "sorted"): (REPRODUCED, None),
}
"""By bug, release and storage: how the real run ended, and the step that the code refused."""

DIFFERS = {
    "#2614-tla": {15: "closing[r1]"},
    "first-id-twice": {9: "stored lac[b1, 1]", 10: "stored lac[b1, 1]", 11: "stored lac[b1, 1]"},
    "phantom-read": {20: "stored lac[b1, 2]"},
}
"""The differences between model and code in runs that end in the violation.

The read of the 4.13 module waits for all answers, and that of the code does not. A bookie keeps the first of
two adds of an entry that it has in memory.
"""


def played(bug: str, release: str, storage: str = "sorted") -> Reproduction:
    transcript = transcript_of(bug, release, storage)
    return reproduce(kept_trace(bug), transcript.setting, transcript.playback())


@pytest.mark.parametrize(("bug", "release", "storage"), each_third(ENDINGS))
def test_a_real_run_ends_as_it_did(bug: str, release: str, storage: str) -> None:
    run = played(bug, release, storage)
    kept = transcript_of(bug, release, storage)
    assert (run.ending, run.step) == (kept.ending, kept.step) == ENDINGS[bug, release, storage]
    if run.ending is REPRODUCED:
        found = {step.index: next(iter(step.differs)) for step in run.steps if step.differs}
        assert found == DIFFERS.get(bug, {})


@pytest.mark.parametrize(("bug", "release", "storage"), [key for key, end in ENDINGS.items() if end[1]])
def test_the_table_of_what_was_seen_has_the_step_of_each_refusal(
    bug: str, release: str, storage: str
) -> None:
    # Planted: a row with another step. The table had 12 for #1067; the real code refuses step 11.
    assert refused_at(bug, release, storage) == ENDINGS[bug, release, storage][1]


def test_the_step_of_a_refusal_is_compared_with_the_one_that_was_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Planted: only the mark compared. `reproduce --bookkeeper` once accepted a refusal at any step.
    (known,) = chosen(KNOWN, ["#2614"])
    found = cell(known, played("#2614", "4.17.4"))
    assert (found.step, found.as_expected) == (16, True)
    monkeypatch.setattr(
        "fencepost.realcode.release_behaviour.seen", lambda: {"4.17.4": {"#2614": "refuses it, step 12"}}
    )
    assert found.as_expected is False
    monkeypatch.setattr("fencepost.realcode.release_behaviour.seen", dict)
    assert found.as_expected is True


def test_1067_is_refused_where_the_model_of_a_mended_release_differs_first() -> None:
    """No transcript of it is kept.

    Steps 1 to 10 are the same in both models; at step 11 the mended one has read enough.
    """
    trace = kept_trace("#1067")
    system, parameters = bookkeeper_of(trace)
    mended = find(trace.protocol).system(as_driven("4.17.4", "sorted", parameters))
    both = zip(_said_by(system, trace), _said_by(mended, trace), strict=True)
    first = next(step for step, (old, new) in enumerate(both) if differences(old, new))
    assert first == refused_at("#1067", "4.17.4", "sorted") == 11


def test_a_storage_that_drops_the_second_copy_goes_the_way_of_the_model_that_does() -> None:
    """The run agrees as long as nothing else differs.

    With the switch of another storage, code and model would differ.
    """
    assert played("too-few-copies", "4.17.4", "sorted").as_release
    transcript = transcript_of("too-few-copies", "4.17.4", "sorted")
    (start, versions), *rest = transcript.lines
    lines = [(start.replace("sorted", "db"), versions), *rest]
    run = reproduce(kept_trace("too-few-copies"), replace(transcript.setting, storage="db"), Playback(lines))
    assert (run.ending, run.as_release) == (Ending.PARTED, False)


HANGS = ("stale-ensemble-hang", "refused-change")


@pytest.mark.parametrize("bug", each_third(HANGS))
def test_a_hang_is_judged_after_everything_left_is_delivered(bug: str) -> None:
    run = played(bug, "4.17.4")
    assert (
        run.reason == "everything under way was delivered and answered, and the add of entry 2 has no answer"
    )
    delivers = [line for line, _ in transcript_of(bug, "4.17.4").lines if line.startswith("deliver")]
    assert len(delivers) > sum(step.action.startswith("handle") for step in run.trace.steps)


@pytest.mark.parametrize("bug", each_third(HANGS))
def test_an_add_that_is_answered_at_last_is_no_hang(bug: str) -> None:
    # Planted: the last answer of the code, changed. The application gets a result of the add.
    transcript = transcript_of(bug, "4.17.4")
    *lines, (last, answer) = transcript.lines
    content = json.loads(answer)
    content["ok"]["told"].append("w: add 2: OK")
    session = Playback([*lines, (last, json.dumps(content))])
    run = reproduce(kept_trace(bug), transcript.setting, session)
    assert (run.ending, run.reason) == (
        Ending.PARTED,
        "the code agrees to the end, and nothing is violated there",
    )


def test_an_add_that_waits_is_made_before_the_change_and_queued_after_it() -> None:
    lines = [line.split()[0] for line, _ in transcript_of("stale-ensemble", "4.17.4").lines]
    make = lines.index("make")
    assert lines[make + 1] == "metadata" and "push" in lines[make:]


def test_an_add_that_is_made_only_when_it_is_queued_is_another_run(monkeypatch: pytest.MonkeyPatch) -> None:
    # Planted: no add waits. The code would take the new ensemble.
    monkeypatch.setattr("fencepost.realcode.drive.writers.make_waiting", lambda code, change: None)
    with pytest.raises(OutOfStep, match="asked: metadata client=w; recorded: make client=w content=2"):
        played("stale-ensemble", "4.17.4")


def test_there_is_an_ending_for_each_transcript() -> None:
    assert len(list(TRANSCRIPTS.glob("*.jsonl"))) == len(ENDINGS)


def test_a_transcript_says_on_what_it_was_made() -> None:
    for bug, release, storage in ENDINGS:
        transcript, trace = transcript_of(bug, release, storage), kept_trace(bug)
        setting = transcript.setting
        assert (setting.release, setting.storage) == (release, storage)
        assert (transcript.protocol, transcript.property) == (trace.protocol, trace.property)
        assert transcript.recorded and setting.zookeeper and setting.jdk


def test_a_transcript_says_which_version_ran_as_which_release(tmp_path: Path) -> None:
    # Planted: only the release kept. A run of a release candidate would pass for one of the release.
    transcript = transcript_of("stale-ensemble", "4.17.4")
    setting = replace(transcript.setting, version="4.19.0-SNAPSHOT")
    path = tmp_path / "run.jsonl"
    path.write_text(replace(transcript, setting=setting).to_json_lines(), encoding="utf-8")
    assert '"bookkeeper": "4.19.0-SNAPSHOT as 4.17.4"' in path.read_text(encoding="utf-8")
    assert read_transcript(path).setting == setting


def test_the_mended_model_goes_where_the_code_goes() -> None:
    assert played("#2614", "4.17.4").as_release


def test_phase_one_before_the_replay_is_another_run(monkeypatch: pytest.MonkeyPatch) -> None:
    # Planted: phase one before the replay. Then the replay keeps the bare fence, and the run shows nothing
    # about closed ledgers.
    monkeypatch.setattr("fencepost.realcode.drive.bookies._checks_after_replay", lambda parameters: False)
    with pytest.raises(OutOfStep, match="asked: boot bookie=b3; recorded: boot-unchecked bookie=b3"):
        played("BP-46-closed", "4.17.4", "db")


def test_who_asks_something_else_is_out_of_step() -> None:
    transcript = transcript_of("#2614", "4.13.0")
    with pytest.raises(OutOfStep, match=r"line 2: asked: create .*; recorded: create "):
        reproduce(kept_trace("#2614-2/2/2"), transcript.setting, transcript.playback())


# The comparison notices every change of the code's side in one observation.


def looks(transcript: Transcript) -> list[int]:
    """Return the indices of the observations of everything, one for each step."""
    return [i for i, (line, _) in enumerate(transcript.lines) if line == "look"]


def changed(transcript: Transcript, line: int, change: Callable[[dict[str, Any]], None]) -> Transcript:
    lines = list(transcript.lines)
    answer = json.loads(lines[line][1])
    change(answer["ok"])
    lines[line] = (lines[line][0], json.dumps(answer))
    return replace(transcript, lines=tuple(lines))


def drop_entry(look: dict[str, Any]) -> None:
    look["bookies"]["b3"]["entries"] = []


def alter_entry(look: dict[str, Any]) -> None:
    look["bookies"]["b3"]["entries"][0]["content"] = "0"


def alter_lac(look: dict[str, Any]) -> None:
    look["bookies"]["b3"]["entries"][0]["lac"] = 0


def unfence(look: dict[str, Any]) -> None:
    look["bookies"]["b2"]["fenced"] = False


def put_in_limbo(look: dict[str, Any]) -> None:
    look["bookies"]["b2"]["limbo"] = True


def reopen(look: dict[str, Any]) -> None:
    look["metadata"]["state"] = "OPEN"


def lengthen(look: dict[str, Any]) -> None:
    look["metadata"]["last"] = 0


def replace_bookie(look: dict[str, Any]) -> None:
    look["metadata"]["fragments"][0]["ensemble"] = ["b1", "b3", "b2"]


def forget_close(look: dict[str, Any]) -> None:
    look["told"] = [told for told in look["told"] if "opened" not in told]


def acknowledge_early(look: dict[str, Any]) -> None:
    look["told"].append("w: add 1: OK")


def raise_lac(look: dict[str, Any]) -> None:
    look["lacs"]["w"] = 0


CHANGES: dict[Callable[[dict[str, Any]], None], str] = {
    drop_entry: "stored[b3, 1]",
    alter_entry: "stored[b3, 1]",
    alter_lac: "stored lac[b3, 1]",
    unfence: "fenced[b2]",
    put_in_limbo: "limbo[b2]",
    reopen: "status",
    lengthen: "last entry",
    replace_bookie: "ensemble from 1",
    forget_close: "closed at[r1]",
    acknowledge_early: "acknowledged[1]",
    raise_lac: "lac[w]",
}
"""For each change to the observation after step 15, where the ledger is closed, the difference."""


@pytest.mark.parametrize("change", each_third(CHANGES), ids=lambda c: c.__name__)
def test_what_is_otherwise_in_the_code_is_found(change: Callable[[dict[str, Any]], None]) -> None:
    transcript = transcript_of("#2614", "4.13.0")
    tampered = changed(transcript, looks(transcript)[14], change)
    run = reproduce(kept_trace("#2614"), tampered.setting, tampered.playback())
    assert CHANGES[change] in run.steps[14].differs


def test_a_comparison_that_leaves_something_out_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    # Planted: fences are not compared. Then 4.17.4 would seem to agree with 4.13 up to step 15.
    real = observations.differences

    def careless(model: observations.Observations, code: observations.Observations) -> Mapping[str, Any]:
        return {name: sides for name, sides in real(model, code).items() if not name.startswith("fenced[")}

    assert played("#2614", "4.17.4").steps[10].differs
    monkeypatch.setattr("fencepost.realcode.reproduction.differences", careless)
    assert not played("#2614", "4.17.4").steps[10].differs


def stale(lines: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return lines in which each observation repeats the one before.

    A harness that does not wait until the code is at rest writes such lines.
    """
    at = [i for i, (line, _) in enumerate(lines) if line == "look"]
    answers = [lines[at[0]][1], *(lines[i][1] for i in at[:-1])]
    found = list(lines)
    for i, answer in zip(at, answers, strict=True):
        found[i] = ("look", answer)
    return found


def swapped(lines: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the lines with the names of the first two bookies exchanged."""
    names = {'"b1"': '"b2"', '"b2"': '"b1"'}
    return [(line, re.sub('"b[12]"', lambda m: names[m[0]], answer)) for line, answer in lines]


def misnumbered(lines: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the lines with requests numbered from 0, while the lines that release them count from 1."""
    return [
        (line, re.sub('"id": ([0-9]+)', lambda m: f'"id": {int(m[1]) - 1}', answer)) for line, answer in lines
    ]


@pytest.mark.parametrize("mistake", [stale, swapped, misnumbered], ids=lambda m: m.__name__)
def test_a_mistake_in_the_lines_is_found(
    mistake: Callable[[list[tuple[str, str]]], list[tuple[str, str]]],
) -> None:
    # Planted in the answers of a real run. Then the run is another one, or its requests cannot be made again.
    transcript = transcript_of("#2614", "4.13.0")
    try:
        run = reproduce(kept_trace("#2614"), transcript.setting, Playback(mistake(list(transcript.lines))))
    except OutOfStep:
        return
    assert run.ending is Ending.PARTED or any(step.differs for step in run.steps)


def test_an_answer_that_is_not_the_models_parts_them() -> None:
    transcript = transcript_of("#2614", "4.13.0")
    trace = kept_trace("#2614")
    delivered = [i for i, (line, _) in enumerate(transcript.lines) if line.startswith("deliver")]
    last = delivered[-1]
    refusing = changed(transcript, last, lambda answer: answer.update(answer="LedgerFencedException"))
    run = reproduce(trace, refusing.setting, refusing.playback())
    assert (run.ending, run.step, run.reason) == (REFUSED, 16, "LedgerFencedException")
    reading = changed(transcript, delivered[3], lambda answer: answer.update(answer="TimeoutException"))
    run = reproduce(trace, reading.setting, reading.playback())
    assert (run.ending, run.step) == (Ending.PARTED, 11)
    assert "TimeoutException" in run.reason


def test_a_request_that_is_not_the_models_parts_them() -> None:
    """Check a push whose add does not reach b3, and one with another LAC.

    Requests are compared by kind, place, entry and content.
    """
    transcript, trace = transcript_of("#2614", "4.13.0"), kept_trace("#2614")
    push = next(i for i, (line, _) in enumerate(transcript.lines) if line.startswith("push"))
    fewer = changed(transcript, push, lambda look: look["requests"].pop())
    run = reproduce(trace, fewer.setting, fewer.playback())
    assert (run.ending, run.step) == (Ending.PARTED, 2)
    assert "there is no add of entry 1 from w to b3" in run.reason
    other = changed(transcript, push, lambda look: look["requests"][2].update(lac=0))
    run = reproduce(trace, other.setting, other.playback())
    assert run.reason == "add of entry 1 from w to b3 carries lac 0, the code's 1"


def test_the_violation_is_judged_on_the_code() -> None:
    """The writer's application gets no acknowledgement, so nothing is lost on the code."""
    transcript = transcript_of("#2614", "4.13.0")

    def silence(look: dict[str, Any]) -> None:
        look["told"] = [told for told in look["told"] if "add" not in told]

    tampered = transcript
    for line in range(len(transcript.lines) - 2, len(transcript.lines)):
        tampered = changed(tampered, line, silence)
    run = reproduce(kept_trace("#2614"), tampered.setting, tampered.playback())
    assert (run.ending, run.step) == (Ending.PARTED, 17)


def test_every_action_is_driven_or_the_table_has_the_reason() -> None:
    """Check all actions of all presets with every switch on.

    Each has a line in exactly one of the two tables.
    """
    from fencepost.properties.catalogue import find

    ways: list[dict[str, object]] = [
        {},
        {"crashes": 1},
        {"crashes": 1, "boot": "whole", "disks": 1, "reimages": 1, "dirty_marker": "after-serving"},
        {"silent": 1, "fence_atomic": "no"},
        {"lac_read_in_change": "racing"},
        {"fragments": 3, "chained_changes": "one-difference"},
        {"ensemble_change_commit": "local-first"},
        {"resends": "one-by-one"},
        {"add_ensemble": "when-made"},
        {"add_ensemble": "when-made", "acks_after_change": "next-answer"},
        {"storage": "db", "crashes": 1, "restarts": 1},
        {"forces": 1, "power_losses": 1},
        {"readers": 1, "way_to_read": "long-poll"},
        {"entries": 2, "given_ids": 1},
        {"storage": "sorted", "second_copy": "dropped", "crashes": 1, "full_disks": 1},
        {"deletions": 1, "restarts": 1},
        {"journals": 2, "crashes": 1, "failed_flushes": 1, "mark_order": "as-completed"},
        {"journals": 1, "other_dirs": 1, "mark_scope": "one-directory"},
    ]
    names = set()
    for way in ways:
        names |= {schema.name for schema in find("bookkeeper").instance(way.items()).system.schemas}
    assert names == set(DRIVEN) | set(UNDRIVABLE)
    assert not set(DRIVEN) & set(UNDRIVABLE)


@pytest.mark.parametrize(("lose", "is_refused"), [("bare-fences", True), ("entries", False)])
def test_a_bookie_that_journals_runs_no_phase_one_after_a_crash(lose: str, is_refused: bool) -> None:
    """Planted: only the storage and the release are asked. The run ended with `has not begun phase one`."""
    checks = {"fence_on_unclean_shutdown": "yes", "limbo_on_unclean_shutdown": "yes"}
    given = find("bookkeeper-no-journal").parameters({"crashes": 1, "lose": lose, **checks}.items())
    assert isinstance(given, BookKeeperParameters)
    with pytest.raises(NoSeam, match="runs no phase one") if is_refused else nullcontext():
        needs(given, Setting("4.17.4", "db"))


def test_steps_without_a_seam_end_it() -> None:
    trace = kept_trace("#2614")
    first = replace(trace.steps[1], action="admit add")
    unusual: Trace = replace(trace, steps=(trace.steps[0], first, *trace.steps[2:]))
    transcript = transcript_of("#2614", "4.13.0")
    run = reproduce(unusual, transcript.setting, Playback(transcript.lines))
    assert (run.ending, run.step) == (Ending.UNDRIVABLE, 2)
