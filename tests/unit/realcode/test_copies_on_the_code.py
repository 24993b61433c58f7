"""Losses of `ledger-copies` on transcripts of real runs: `recover`, the collector and DbLedgerStorage."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import pytest

from fencepost.encoding.language.traces import Json, Trace
from fencepost.explore.scripts import run_script, script_in
from fencepost.properties.catalogue import find
from fencepost.realcode.copies_reproduction import JUDGES, is_of_copies, reproduce_copies
from fencepost.realcode.course import Ending
from fencepost.realcode.drive.copies import COPIES_DRIVEN, COPIES_UNDRIVABLE
from fencepost.realcode.harness_session import Playback
from fencepost.realcode.reproduction import Reproduction, Setting
from fencepost.realcode.transcripts import Transcript, read_transcript
from support.realcode import OF_SCRIPTS, SCRIPTS

ENDINGS = {
    ("collector-beside-recover", "4.13.0", "sorted"): Ending.REPRODUCED,
    ("collector-beside-recover", "4.17.4", "sorted"): Ending.REPRODUCED,
    ("recover-twice", "4.13.0", "sorted"): Ending.REPRODUCED,
    ("recover-twice", "4.17.4", "sorted"): Ending.REPRODUCED,
}
"""By script, release and storage: how the real run ended."""


@cache
def trace_of(name: str) -> Trace:
    script = script_in(SCRIPTS / f"{name}.txt")
    assert script is not None
    return run_script(script).trace


def kept(name: str, release: str, storage: str) -> Transcript:
    return read_transcript(OF_SCRIPTS / f"{name}.{release}.{storage}.jsonl")


def played(trace: Trace, transcript: Transcript) -> Reproduction:
    return reproduce_copies(trace, transcript.setting, transcript.playback())


@pytest.mark.parametrize(("name", "release", "storage"), ENDINGS)
def test_a_loss_of_copies_ends_on_the_code_as_it_did(name: str, release: str, storage: str) -> None:
    transcript = kept(name, release, storage)
    run = played(trace_of(name), transcript)
    assert (run.ending, run.step) == (ENDINGS[name, release, storage], None)
    assert (transcript.ending, transcript.property) == (run.ending, run.trace.property)
    assert run.as_release is True
    assert not [step for step in run.steps if step.differs]


@pytest.mark.parametrize("release", ["4.13.0", "4.17.4"])
def test_the_only_copy_of_an_acknowledged_entry_is_deleted(release: str) -> None:
    """Seen on the code alone: the metadata names b2, b2 has nothing, and b1 still has the old copy."""
    transcript = kept("collector-beside-recover", release, "sorted")
    run = played(replace(trace_of("collector-beside-recover"), property="acked-copies-readable"), transcript)
    seen = run.steps[-1].observations
    assert run.ending is Ending.REPRODUCED
    assert (seen["ensemble from 1"], seen["copy[b2, 1]"], seen["copy[b1, 1]"]) == ("b2", False, True)
    assert ("w: add 1: OK") in transcript.lines[-1][1]


def test_a_copy_that_is_still_there_is_no_loss() -> None:
    """Planted: the judge does not look at the copies."""
    transcript = kept("collector-beside-recover", "4.17.4", "sorted")
    lines = []
    for line, answer in transcript.lines:
        document = json.loads(answer)
        inside = document["ok"].get("bookies", {})
        if inside:
            inside["b2"]["entries"] = inside["b1"]["entries"]
        lines.append((line, json.dumps(document)))
    run = reproduce_copies(trace_of("collector-beside-recover"), transcript.setting, Playback(tuple(lines)))
    assert run.ending is Ending.PARTED
    assert run.step == 1
    assert "copy[b2, 1] is True in the code, False in the model" in run.reason


class Unasked:
    """A session that must not be asked."""

    def ask(self, command: str, **arguments: object) -> dict[str, object]:
        raise AssertionError(command)


@pytest.mark.parametrize(
    ("changed", "storage", "why"),
    [
        ({"storage": "write-cache"}, "sorted", "its trace is of db storage"),
        ({"entries": 2, "fragments": 2, "bookies": 3}, "db", "the harness makes a ledger of one fragment"),
    ],
)
def test_settings_that_the_harness_does_not_have_are_named(
    changed: dict[str, Json], storage: str, why: str
) -> None:
    trace = trace_of("collector-beside-recover")
    sizes = {name: changed.get(name, value) for name, value in trace.parameters.items()}
    switches = {name: changed.get(name, value) for name, value in trace.switches.items()}
    asked = replace(trace, parameters=sizes, switches=switches)
    run = reproduce_copies(asked, Setting("4.17.4", storage), Unasked())
    assert (run.ending, run.reason) == (Ending.UNDRIVABLE, why)


def test_each_action_of_the_copies_is_driven_or_has_a_reason() -> None:
    """Planted: an action without a row."""
    instances: tuple[dict[str, str], ...] = (
        {},
        {"storage": "write-cache", "session": "lost", "update_checks": "old-bookie"},
    )
    found = {
        s.name
        for settings in instances
        for s in find("ledger-copies").instance(settings.items()).system.schemas
    }
    assert found == {*COPIES_DRIVEN, *COPIES_UNDRIVABLE}
    assert not {*COPIES_DRIVEN} & {*COPIES_UNDRIVABLE}


def test_each_property_of_the_copies_has_a_judge() -> None:
    assert {p.name for p in find("ledger-copies").instance().system.properties} == {*JUDGES}
    assert is_of_copies(trace_of("collector-beside-recover"))
