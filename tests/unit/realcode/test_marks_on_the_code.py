"""The journal's mark on the code: the scripts on transcripts of real runs, and a boot that fails."""

from __future__ import annotations

from functools import cache

import pytest

from fencepost.realcode.conformance import grounds, start
from fencepost.realcode.course import Ending
from fencepost.realcode.drive.code import Code, NoSeam
from fencepost.realcode.drive.marks import crash
from fencepost.realcode.harness_session import Answer, CodeFailed, HarnessFailed, Playback
from fencepost.realcode.reproduction import Reproduction, Setting, bookkeeper_of, reproduce
from fencepost.realcode.transcripts import read_transcript
from support.realcode import OF_SCRIPTS, script_trace

pytestmark = pytest.mark.slow

ENDINGS = {
    ("mark-between-samples", "4.13.0"): (Ending.REPRODUCED, None),
    ("mark-between-samples", "4.17.4"): (Ending.REPRODUCED, None),
    ("mark-between-samples", "4.18.0"): (Ending.REPRODUCED, None),
    ("mark-of-one-directory", "4.13.0"): (Ending.REPRODUCED, None),
    ("mark-of-one-directory", "4.17.4"): (Ending.REFUSED, 5),
    ("mark-of-one-directory", "4.18.0"): (Ending.REFUSED, 5),
    ("mark-moves-back", "4.13.0"): (Ending.REPRODUCED, None),
    ("mark-moves-back", "4.17.4"): (Ending.REPRODUCED, None),
    ("mark-moves-back", "4.18.0"): (Ending.REFUSED, 9),
    ("failed-flush", "4.13.0"): (Ending.REPRODUCED, None),
    ("failed-flush", "4.17.4"): (Ending.REPRODUCED, None),
    ("failed-flush", "4.18.0"): (Ending.REPRODUCED, None),
}
"""By script and release: how the real run ended, and the step at which a release refuses."""


@cache
def played(name: str, release: str) -> Reproduction:
    transcript = read_transcript(OF_SCRIPTS / f"{name}.{release}.db.jsonl")
    return reproduce(script_trace(name), transcript.setting, transcript.playback())


@pytest.mark.parametrize(("name", "release"), ENDINGS)
def test_a_script_ends_on_the_code_as_it_did(name: str, release: str) -> None:
    """Planted: each flush begins a new journal file first, and the transcript is out of step."""
    run = played(name, release)
    assert (run.ending, run.step) == ENDINGS[name, release]
    assert run.as_release
    if run.ending is Ending.REPRODUCED:
        assert not [step for step in run.steps if step.differs]


@pytest.mark.parametrize(
    ("name", "release"), [key for key, (ending, _) in ENDINGS.items() if ending is Ending.REPRODUCED]
)
def test_what_a_crash_takes_is_seen_before_it_on_the_code(name: str, release: str) -> None:
    """Seen on the code alone: the bookie serves the acknowledged entry until the crash."""
    *_, before, after = (step.observations for step in played(name, release).steps)
    assert before["stored[b1, 1]"] == 1
    assert before["acknowledged[1]"] is True
    if name == "mark-moves-back":
        assert (before["marked file gone[b1]"], after["up[b1]"]) == (True, False)
        assert before["lost by a crash[b1, 1]"] is False
    else:
        assert (before["lost by a crash[b1, 1]"], after["stored[b1, 1]"]) == (True, 0)
        assert after["up[b1]"] is True


def test_the_model_and_the_code_differ_where_a_bookie_boots_that_must_not() -> None:
    """Planted: `up` is left out of what is compared. The bookie of 4.18.0 boots, and nothing differed."""
    assert played("mark-moves-back", "4.18.0").steps[-1].differs["up[b1]"] == (False, True)


class Booting:
    """A bookie that does not boot, and whose mark names a file that is there or not."""

    def __init__(self, gone: bool) -> None:
        self.gone = gone

    def ask(self, command: str, **arguments: object) -> Answer:
        if command == "boot":
            raise CodeFailed("IllegalStateException: b1 does not start")
        return {"checkpoint": False, "mark": self.gone} if command == "marked-files" else {}


def crashed(gone: bool) -> Code:
    trace = script_trace("mark-moves-back")
    code = Code(Booting(gone), bookkeeper_of(trace)[1], trace.steps)
    crash(code, trace.steps[-1])
    return code


def test_a_boot_fails_because_of_the_mark_only_if_its_file_is_gone() -> None:
    """Planted: any failed boot counts. A port that is taken would then reproduce #4105."""
    assert crashed(gone=True).notes == ["b1 does not boot: the journal file that its mark names is gone"]
    with pytest.raises(HarnessFailed, match="b1 does not start"):
        crashed(gone=False)


class Noting:
    """A session that notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, object]]] = []

    def ask(self, command: str, **arguments: object) -> Answer:
        self.asked.append((command, arguments))
        raise CodeFailed("no further")


def test_bookies_have_the_journals_and_directories_of_the_instance() -> None:
    """Planted: one directory for other_dirs=1."""
    wanted = {"mark-between-samples": ("2", "1"), "mark-of-one-directory": ("1", "2")}
    for name, numbers in wanted.items():
        session = Noting()
        with pytest.raises(Exception, match="no further"):
            reproduce(script_trace(name), Setting("4.17.4", "db"), session)
        ((command, given),) = session.asked
        assert (command, given["journals"], given["directories"]) == ("start", *numbers)


def test_only_db_storage_is_driven() -> None:
    run = reproduce(script_trace("failed-flush"), Setting("4.17.4", "sorted"), Playback(()))
    assert (run.ending, run.reason) == (Ending.UNDRIVABLE, "its trace is of db storage")


def test_runs_do_not_move_the_mark() -> None:
    given = {"journals": 1, "crashes": 1, "bookies": 1, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1}
    found = grounds("bookkeeper", given, "db", "4.17.4")
    with pytest.raises(NoSeam, match="runs do not move the journal's mark"):
        start(found, Setting("4.17.4", "db"), Playback(()))
