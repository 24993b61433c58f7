"""Losses of `ledger-copies` on transcripts of real runs: `recover`, workers, collectors, storage."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

import pytest

from fencepost.advice.known import KNOWN
from fencepost.encoding.language.traces import Json, Trace, TraceStep
from fencepost.properties.catalogue import find
from fencepost.protocols.ledger_copies.parameters import CopiesParameters
from fencepost.realcode.copies_reproduction import JUDGES, is_of_copies, reproduce_copies
from fencepost.realcode.course import Ending
from fencepost.realcode.drive.copies import COPIES_DRIVEN, COPIES_UNDRIVABLE, CopiesCode, take
from fencepost.realcode.harness_session import Playback, written
from fencepost.realcode.release_behaviour import driven, seen
from fencepost.realcode.reproduction import Reproduction, Setting
from fencepost.realcode.transcripts import Transcript, read_transcript
from support.realcode import OF_SCRIPTS, script_trace

ENDINGS = {
    **{
        (name, release, "sorted"): (Ending.REPRODUCED, None)
        for name in (
            "collector-beside-recover",
            "recover-twice",
            "recover-other-position",
            "lost-session",
            "lost-session-twice",
            "removed-lock",
        )
        for release in ("4.13.0", "4.17.4", "4.18.0")
    },
    ("returned-copy", "4.13.0", "db"): (Ending.REFUSED, 12),
    ("returned-copy", "4.17.4", "db"): (Ending.REPRODUCED, None),
    ("returned-copy", "4.18.0", "db"): (Ending.REPRODUCED, None),
    ("returned-copy-checkpoint", "4.13.0", "db"): (Ending.REPRODUCED, None),
    ("returned-copy-checkpoint", "4.17.4", "db"): (Ending.REFUSED, 7),
    ("returned-copy-checkpoint", "4.18.0", "db"): (Ending.REFUSED, 7),
    ("returned-key", "4.13.0", "db"): (Ending.REPRODUCED, None),
    ("returned-key", "4.17.4", "db"): (Ending.REFUSED, 8),
    ("reused-key", "4.13.0", "db"): (Ending.REPRODUCED, None),
    ("reused-key", "4.17.4", "db"): (Ending.REFUSED, 6),
    ("refused-copies", "4.13.0", "sorted"): (Ending.REFUSED, 6),
    ("refused-copies", "4.17.4", "db"): (Ending.REPRODUCED, None),
    ("refused-copies", "4.17.4", "interleaved"): (Ending.REPRODUCED, None),
    ("refused-copies", "4.17.4", "sorted"): (Ending.REPRODUCED, None),
    ("refused-copies", "4.18.0", "sorted"): (Ending.REPRODUCED, None),
    **{
        (f"reused-{name}", release, storage): (Ending.REPRODUCED, None)
        for name, storage in (
            ("old-entry", "sorted"),
            ("fence", "sorted"),
            ("collector", "sorted"),
            ("late-copy", "sorted"),
            ("memtable", "sorted"),
            ("version", "sorted"),
            ("dropped", "db"),
            ("read-cache", "db"),
            ("uncleaned", "db"),
            ("restart", "db"),
        )
        for release in ("4.13.0", "4.17.4", "4.18.0")
    },
    ("reused-refused", "4.13.0", "sorted"): (Ending.REFUSED, 4),
    ("reused-refused", "4.17.4", "sorted"): (Ending.REPRODUCED, None),
    ("reused-refused", "4.18.0", "sorted"): (Ending.REPRODUCED, None),
}
"""By script, release and storage: how the real run ended, and the step at which the code refused it."""


def kept(name: str, release: str, storage: str) -> Transcript:
    return read_transcript(OF_SCRIPTS / f"{name}.{release}.{storage}.jsonl")


def played(trace: Trace, transcript: Transcript) -> Reproduction:
    return reproduce_copies(trace, transcript.setting, transcript.playback())


@pytest.mark.parametrize(("name", "release", "storage"), ENDINGS)
def test_a_loss_of_copies_ends_on_the_code_as_it_did(name: str, release: str, storage: str) -> None:
    transcript = kept(name, release, storage)
    run = played(script_trace(name), transcript)
    assert (run.ending, run.step) == ENDINGS[name, release, storage]
    assert (transcript.ending, transcript.property) == (run.ending, run.trace.property)
    assert run.as_release is True
    assert not [step for step in run.steps if step.differs and step.index != run.step]


@pytest.mark.parametrize(
    ("name", "release"), [("returned-copy", "4.17.4"), ("returned-copy-checkpoint", "4.13.0")]
)
def test_the_only_copy_returns_and_is_dropped(name: str, release: str) -> None:
    """Seen on the code alone: b1 answers the add, the metadata names b1, and the flush drops the entry."""
    transcript = kept(name, release, "db")
    run = played(replace(script_trace(name), property="acked-copies-readable"), transcript)
    assert run.ending is Ending.REPRODUCED
    assert "b1 answers recovery-add of o1: OK" in run.steps[-3].did
    assert run.steps[-2].observations["ensemble from 1"] == "b1"
    assert [step.observations["copy[b1, 1]"] for step in run.steps[-2:]] == [True, False]


def test_a_bookie_that_remembers_the_deletion_refuses_the_add_of_a_recovery() -> None:
    transcript = kept("refused-copies", "4.17.4", "sorted")
    answers = [json.loads(answer)["ok"].get("answer") for line, answer in transcript.lines]
    assert [a for a in answers if a] == ["OK"] * 4 + ["LedgerFencedException"]


def test_a_recovery_whose_adds_are_answered_is_not_stuck() -> None:
    """Planted: the judge ignores the result, or the model of the release, which is stuck, explains it."""
    transcript = kept("refused-copies", "4.17.4", "sorted")
    lines = [
        (line, answer.replace("recovered: LedgerRecoveryException", "recovered: OK"))
        for line, answer in transcript.lines
    ]
    run = reproduce_copies(script_trace("refused-copies"), transcript.setting, Playback(tuple(lines)))
    assert run.ending is Ending.PARTED


@pytest.mark.parametrize("release", ["4.13.0", "4.17.4"])
def test_the_only_copy_of_an_acknowledged_entry_is_deleted(release: str) -> None:
    """Seen on the code alone: the metadata names b2, b2 has nothing, and b1 still has the old copy."""
    transcript = kept("collector-beside-recover", release, "sorted")
    run = played(
        replace(script_trace("collector-beside-recover"), property="acked-copies-readable"), transcript
    )
    seen = run.steps[-1].observations
    assert run.ending is Ending.REPRODUCED
    assert (seen["ensemble from 1"], seen["copy[b2, 1]"], seen["copy[b1, 1]"]) == ("b2", False, True)
    assert ("w: add 1: OK") in transcript.lines[-1][1]


def of_worker(transcript: Transcript, command: str) -> dict[str, Json]:
    """Return what is seen after the worker's first command of that name."""
    return next(json.loads(answer)["ok"] for line, answer in transcript.lines if line.startswith(command))


@pytest.mark.parametrize("release", ["4.13.0", "4.17.4", "4.18.0"])
def test_a_worker_writes_its_target_although_its_lock_is_gone(release: str) -> None:
    """Seen on the code alone: the lock is there until the session ends; the only copy is then deleted."""
    transcript = kept("lost-session", release, "sorted")
    seen = {command: of_worker(transcript, command) for command in ("take", "end-session", "finish")}
    assert [seen[command]["locked"] for command in seen] == [True, False, True]
    assert '"ensemble": ["b2"]' in json.dumps(seen["finish"])
    last = played(script_trace("lost-session"), transcript).steps[-1].observations
    assert (last["copy[b2, 1]"], last["locked"]) == (False, False)


def test_a_worker_that_keeps_its_lock_departs_from_a_model_in_which_it_is_gone() -> None:
    """Planted in the code's answers: the lock outlives the session."""
    transcript = kept("lost-session", "4.17.4", "sorted")
    lines = [(line, answer.replace('"locked": false', '"locked": true')) for line, answer in transcript.lines]
    run = reproduce_copies(script_trace("lost-session"), transcript.setting, Playback(tuple(lines)))
    assert run.as_release is False
    assert {step.index for step in run.steps if step.differs} == {1, 4, 5, 6, 9}  # the lock is free there
    assert run.steps[3].difference == "locked is yes in the code, no in the model"


@pytest.mark.parametrize("release", ["4.13.0", "4.17.4", "4.18.0"])
def test_a_worker_that_is_shut_down_removes_the_lock_of_another(release: str) -> None:
    """Seen on the code alone: the second worker has the lock, and no session ends but the first's."""
    run = played(script_trace("removed-lock"), kept("removed-lock", release, "sorted"))
    assert [s.observations["locked"] for s in run.steps] == [
        *(False, True, False, True),  # the first worker takes it, its session ends, the second takes it
        *(False, False, False, True, False, False),  # it is removed, and the collector takes it
    ]


@pytest.mark.parametrize(
    ("name", "release", "storage", "told", "planted"),
    [
        ("old-entry", "4.17.4", "sorted", "r2: opened: OK at 0", "r2: opened: OK at -1"),
        ("fence", "4.17.4", "sorted", '"answer": "LedgerFencedException"', '"answer": "OK"'),
        ("memtable", "4.13.0", "sorted", '"content": "1"', '"content": "101"'),
        ("read-cache", "4.17.4", "db", '"content": "1"', '"content": "101"'),
        ("late-copy", "4.17.4", "sorted", '"content": "1"', '"content": "101"'),
        ("uncleaned", "4.17.4", "db", "r2: opened: OK at 1", "r2: opened: OK at 0"),
        ("restart", "4.17.4", "db", '"answer": "LedgerFencedException"', '"answer": "OK"'),
    ],
)
def test_what_the_code_does_right_with_a_used_id_is_no_finding(
    name: str, release: str, storage: str, told: str, planted: str
) -> None:
    """Planted in the code's answers: the new ledger is empty, takes its adds, or gives its own entries."""
    transcript = kept(f"reused-{name}", release, storage)
    assert any(told in answer for _, answer in transcript.lines)
    lines = [(line, answer.replace(told, planted)) for line, answer in transcript.lines]
    run = reproduce_copies(script_trace(f"reused-{name}"), transcript.setting, Playback(tuple(lines)))
    assert run.ending is Ending.PARTED


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
    run = reproduce_copies(
        script_trace("collector-beside-recover"), transcript.setting, Playback(tuple(lines))
    )
    assert run.ending is Ending.PARTED
    assert run.step == 1
    assert "copy[b2, 1] is yes in the code, no in the model" in run.reason


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
    trace = script_trace("collector-beside-recover")
    sizes = {name: changed.get(name, value) for name, value in trace.parameters.items()}
    switches = {name: changed.get(name, value) for name, value in trace.switches.items()}
    asked = replace(trace, parameters=sizes, switches=switches)
    run = reproduce_copies(asked, Setting("4.17.4", storage), Unasked())
    assert (run.ending, run.reason) == (Ending.UNDRIVABLE, why)


@dataclass
class Asked:
    """A session that records its commands, and answers each with a ledger on b1."""

    lines: list[str] = field(default_factory=list)

    def ask(self, command: str, **arguments: object) -> dict[str, object]:
        self.lines.append(written(command, arguments))
        return {}


@pytest.mark.parametrize(("bookies", "places"), [(2, []), (3, ["place client=o1 bookie=b3"])])
def test_a_target_of_several_is_chosen_by_the_trace(bookies: int, places: list[str]) -> None:
    """Planted: no target is given, and a run with two spare bookies differs by chance."""
    sizes = {"bookies": bookies, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1}
    parameters = find("ledger-copies").parameters(sizes.items())
    assert isinstance(parameters, CopiesParameters)
    step = TraceStep(
        1,
        "recover bookie",
        {"operator": "o1", "fragment": 1, "position": 1, "target": f"b{bookies}"},
        *("o1", None, (), "", {}),
    )
    session = Asked()
    code = CopiesCode(session, parameters, [step])
    code.seen = {"metadata": {"fragments": [{"ensemble": ["b1"]}]}, "told": [], "bookies": {}}
    take(code, step)
    assert session.lines == [*places, "recover client=o1 bookie=b1"]


def test_each_action_of_the_copies_is_driven_or_has_a_reason() -> None:
    """Planted: an action without a row."""
    instances: tuple[dict[str, str], ...] = (
        {},
        {"storage": "write-cache", "session": "lost", "update_checks": "old-bookie"},
        {"storage": "write-cache", "reuse": "collected"},
    )
    found = {
        s.name
        for settings in instances
        for s in find("ledger-copies").instance(settings.items()).system.schemas
    }
    assert found == {*COPIES_DRIVEN, *COPIES_UNDRIVABLE}
    assert not {*COPIES_DRIVEN} & {*COPIES_UNDRIVABLE}


def test_each_property_of_the_copies_has_a_judge() -> None:
    with_reuse = find("ledger-copies").instance({"reuse": "at-once"}.items())
    assert {p.name for p in with_reuse.system.properties} == {*JUDGES}
    assert is_of_copies(script_trace("collector-beside-recover"))


def test_the_table_of_what_was_seen_has_each_bug_that_was_driven_as_it_ended() -> None:
    marks = {Ending.REPRODUCED: "has it", Ending.REFUSED: "refuses it"}
    bugs = {known.name for known in KNOWN if known.protocol == "ledger-copies"}
    table = seen("seen_of_copies.toml")
    assert {
        (bug, release, storage): (one.mark, one.step)
        for release, cells in table.items()
        for bug, cell in cells.items()
        for one in driven(cell)
        for storage in one.storages
    } == {key: (marks[ending], step) for key, (ending, step) in ENDINGS.items() if key[0] in bugs}
