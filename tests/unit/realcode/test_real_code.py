"""The real code, by `make test-bookkeeper`.

These tests run if FENCEPOST_BOOKKEEPER names one or more LIBs, separated by `:`.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fencepost.cli.main import run
from fencepost.encoding.errors import BadInput
from fencepost.protocols.bookkeeper.releases import ordered
from fencepost.realcode import library as library_module
from fencepost.realcode.copies_reproduction import reproduce_copies
from fencepost.realcode.course import Ending
from fencepost.realcode.harness_session import (
    Answer,
    CodeFailed,
    HarnessFailed,
    HarnessSession,
    Recording,
    running,
)
from fencepost.realcode.library import SERVER_JAR, Library, library
from fencepost.realcode.reproduction import Setting, reproduce
from support.processes import children, gone
from support.realcode import SCRIPTS, kept_trace, script_trace

LIBS = [library(Path(p)) for p in os.environ.get("FENCEPOST_BOOKKEEPER", "").split(":") if p]
if not LIBS:
    pytest.skip("FENCEPOST_BOOKKEEPER names no LIB", allow_module_level=True)

pytestmark = pytest.mark.long


@pytest.fixture(params=LIBS, ids=lambda lib: lib.release)
def lib(request: pytest.FixtureRequest) -> Iterator[Library]:
    before = set(children(os.getpid()))
    yield request.param
    assert gone([pid for pid in children(os.getpid()) if pid not in before])


def ending(lib: Library, bug: str, storage: str = "sorted") -> tuple[Ending, int | None]:
    with running(lib) as harness:
        run = reproduce(kept_trace(bug), Setting(lib.release, storage), harness)
    return run.ending, run.step


def test_a_build_of_another_version_runs_as_the_release_that_is_given(
    lib: Library, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same jars, under a name that tells no known release."""
    for jar in lib.jars:
        own = "bookkeeper-server-4.99.0-SNAPSHOT.jar" if SERVER_JAR.search(jar.name) else jar.name
        (tmp_path / own).symlink_to(jar)
    given = ["--bookkeeper", str(tmp_path), "--release", lib.release]
    assert run(["reproduce", str(SCRIPTS / "late-add.txt"), *given]) == 0
    assert f"Followed by 4.99.0-SNAPSHOT as {lib.release}: nothing is violated" in capsys.readouterr().out
    protocol = "bookkeeper" if ordered(lib.release) >= (4, 14, 0) else "bookkeeper-4.13"
    assert run(["conform", protocol, "--runs", "1", *given]) == 0
    assert f"BookKeeper 4.99.0-SNAPSHOT as {lib.release} (" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["chained-changes", "bookie-comes-back-2"])
def test_a_chain_of_changes_loses_an_entry_and_lets_adds_wait_for_ever(lib: Library, name: str) -> None:
    with running(lib) as harness:
        found = reproduce(script_trace(name), Setting(lib.release, "sorted"), harness)
    assert found.ending is Ending.REPRODUCED
    assert not [step for step in found.steps if step.differs]


PHASE_TWO = 4
"""The seconds after which phase two has begun: DataIntegrityService looks every three seconds."""

OF_4_13 = {"#2614": 16, "#2614-2/2/2": 12, "#2614-3/3/3": 14, "#2615": 11, "#2615-stuck": 11}
"""The five traces of 4.13's two defects, and the step at which later releases refuse them."""


@pytest.mark.parametrize("bug", OF_4_13)
def test_the_defects_of_4_13_are_its_own(lib: Library, bug: str) -> None:
    mended = ordered(lib.release) >= (4, 14, 0)
    assert ending(lib, bug) == ((Ending.REFUSED, OF_4_13[bug]) if mended else (Ending.REPRODUCED, None))


@pytest.mark.parametrize("storage", ["sorted", "interleaved", "db"])
def test_a_fence_that_no_entry_precedes_is_lost_everywhere(lib: Library, storage: str) -> None:
    assert ending(lib, "bare-fence", storage) == (Ending.REPRODUCED, None)


def test_the_fence_of_a_closed_ledger_is_lost_if_the_replay_comes_before_phase_one_and_kept_if_not(
    lib: Library,
) -> None:
    """Phase one skips the closed ledger. Its key, though empty, decides what the replay does."""
    if ordered(lib.release) < (4, 15, 0):
        pytest.skip("dataIntegrityChecking came with 4.15.0")
    assert ending(lib, "BP-46-closed", "db") == (Ending.REPRODUCED, None)
    fenced = []
    for boot in (["boot"], ["boot-unchecked", "check"]):
        with running(lib) as harness:
            close_as_empty(harness)
            for command in ("crash", *boot):
                harness.ask(command, bookie="b1")
            fenced.append(harness.ask("look")["bookies"]["b1"]["fenced"])
    assert fenced == [True, False]


def test_limbo_and_fence_of_phase_one_do_not_outlive_a_crash(lib: Library) -> None:
    """The flush of phase one has no entry to write, and writes nothing (PR 3341, 4.15.1)."""
    if ordered(lib.release) < (4, 15, 1):
        pytest.skip("dataIntegrityChecking came with 4.15.0, which flushes")
    marks = []
    with running(lib) as harness:
        harness.ask("start", bookies=1, storage="db", journal="no", checks="yes")
        harness.ask("create", client="w", ensemble="b1", wq=1, aq=1)
        for boot in ("boot", "boot-unchecked"):
            harness.ask("crash", bookie="b1")
            harness.ask(boot, bookie="b1")
            seen = harness.ask("look")["bookies"]["b1"]
            marks.append((seen["limbo"], seen["fenced"]))
    assert marks == [(True, True), (False, False)]


def test_phase_two_does_not_recover_ledgers_while_the_bookie_is_up(lib: Library) -> None:
    """Its threads are nobody's step: it would close the ledger, and end its limbo, at any time."""
    if ordered(lib.release) < (4, 15, 0):
        pytest.skip("dataIntegrityChecking came with 4.15.0")
    with running(lib) as harness:
        harness.ask("start", bookies=3, storage="db", checks="yes", journal="no")
        harness.ask("create", client="w", ensemble="b1,b2,b3", wq=3, aq=2)
        harness.ask("crash", bookie="b2")
        harness.ask("boot", bookie="b2")
        time.sleep(PHASE_TWO)
        seen = harness.ask("look")
    assert seen["metadata"]["state"] == "OPEN"
    assert (seen["bookies"]["b2"]["limbo"], seen["bookies"]["b1"]["fenced"]) == (True, False)


def test_a_bookie_boots_again_after_a_boot_without_its_check(lib: Library) -> None:
    """The ZooKeeper session of the boot before must be closed, or the bookie finds its name taken."""
    if ordered(lib.release) < (4, 15, 0):
        pytest.skip("dataIntegrityChecking came with 4.15.0")
    with running(lib) as harness:
        harness.ask("start", bookies=1, storage="db", checks="yes", journal="no")
        harness.ask("create", client="w", ensemble="b1", wq=1, aq=1)
        for _ in range(2):
            harness.ask("crash", bookie="b1")
            harness.ask("boot-unchecked", bookie="b1")
            harness.ask("check", bookie="b1")


def close_as_empty(session: HarnessSession) -> None:
    """Close, without entries, a ledger of one bookie that has nothing of it but its fence."""
    session.ask("start", bookies=1, storage="db", journal="no", checks="yes")
    session.ask("create", client="w", ensemble="b1", wq=1, aq=1)
    session.ask("open", client="r1")
    sent = session.ask("metadata", client="r1")["requests"]
    for kind in ("fence", "fencing-read"):
        (request,) = (r for r in sent if r["kind"] == kind)
        session.ask("deliver", id=request["id"])
        sent = session.ask("hand", id=request["id"])["requests"]
    assert session.ask("metadata", client="r1")["metadata"]["state"] == "CLOSED"


def test_a_bookie_boots_again_on_its_port_after_crashes_with_connections(lib: Library) -> None:
    """Netty 4.2 may leave the socket open if the event loop ends while it closes connections."""
    with running(lib) as harness:
        harness.ask("start", bookies=1, storage="sorted")
        harness.ask("create", client="w", ensemble="b1", wq=1, aq=1)
        for boot in range(5):
            for reader in range(3):
                harness.ask("open", client=f"r{boot}-{reader}", recovery="no")
                (lac,) = harness.ask("metadata", client=f"r{boot}-{reader}")["requests"]
                harness.ask("deliver", id=lac["id"])
                harness.ask("hand", id=lac["id"])
            for command in ("crash", "boot"):
                harness.ask(command, bookie="b1")


def test_five_runs_of_one_trace_have_the_same_transcript(lib: Library) -> None:
    transcripts = []
    for _ in range(5):
        with running(lib) as harness:
            recording = Recording(harness)
            reproduce(kept_trace("#2614"), Setting(lib.release, "sorted"), recording)
        transcripts.append(recording.lines)
    assert all(lines == transcripts[0] for lines in transcripts)


def test_a_port_that_is_taken_is_an_error(lib: Library) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, running(lib) as harness:
        port = taken.getsockname()[1]
        with pytest.raises((CodeFailed, BadInput)):
            harness.ask("start", bookies=1, storage="sorted", ports=port)


def test_a_callback_that_throws_is_an_error(lib: Library) -> None:
    """A late time-out of an add that is over finds an op that was recycled. It was once no error."""
    with running(lib) as session:
        session.ask("start", bookies=1, storage="sorted")
        session.ask("create", client="w", ensemble="b1", wq=1, aq=1)
        (add,) = session.ask("push", client="w", content=1)["requests"]
        session.ask("deliver", id=add["id"])
        session.ask("hand", id=add["id"])
        with pytest.raises(HarnessFailed, match=r"the callback of a request \(add\) throws"):
            session.ask("time-out", id=add["id"])


def test_a_bookie_that_hangs_is_an_error(lib: Library) -> None:
    with running(lib) as harness:
        harness.ask("start", bookies=1, storage="sorted", seconds=2)
        harness.ask("create", client="w", ensemble="b1", wq=1, aq=1)
        (add,) = harness.ask("push", client="w", content=1)["requests"]
        harness.ask("suspend", bookie="b1")
        with pytest.raises(CodeFailed, match=r"b1 has not answered a request \(add\) for 2 s: it hangs"):
            harness.ask("deliver", id=add["id"])


@pytest.mark.parametrize(
    ("flushed", "down", "kept"),
    [
        (None, "crash", True),
        (None, "shut-down", True),
        ("flush", "crash", True),
        ("flush", "shut-down", False),
        ("checkpoint", "shut-down", True),
    ],
)
def test_a_fence_set_after_a_flush_is_lost_by_a_clean_shutdown(
    lib: Library, flushed: str | None, down: str, kept: bool
) -> None:
    """SortedLedgerStorage with an entry: a flush forgets the pending write, a checkpoint does not."""
    with running(lib) as harness:
        harness.ask("start", bookies=1, storage="sorted")
        harness.ask("create", client="w", ensemble="b1", wq=1, aq=1)
        (add,) = harness.ask("push", client="w", content=1)["requests"]
        harness.ask("deliver", id=add["id"])
        if flushed is not None:
            harness.ask(flushed, bookie="b1")
        harness.ask("open", client="r1")
        fence = harness.ask("metadata", client="r1")["requests"][-1]
        harness.ask("deliver", id=fence["id"])
        assert harness.ask("look")["bookies"]["b1"]["fenced"]
        harness.ask(down, bookie="b1")
        harness.ask("boot", bookie="b1")
        inside = harness.ask("look")["bookies"]["b1"]
    assert (inside["fenced"], len(inside["entries"])) == (kept, 1)


@pytest.mark.parametrize("storage", ["sorted", "interleaved", "db"])
@pytest.mark.parametrize("busy", [False, True])
def test_a_fence_that_was_replayed_is_lost_by_the_next_crash(lib: Library, storage: str, busy: bool) -> None:
    """The boot's flush omits the fence.

    In the storages with index files this happens even if other ledgers are written to.
    """
    with running(lib) as harness:
        harness.ask("start", bookies=1, storage=storage)
        harness.ask("create", client="w", ensemble="b1", wq=1, aq=1)
        (add,) = harness.ask("push", client="w", content=1)["requests"]
        harness.ask("deliver", id=add["id"])
        harness.ask("checkpoint", bookie="b1")
        harness.ask("open", client="r1")
        fence = harness.ask("metadata", client="r1")["requests"][-1]
        harness.ask("deliver", id=fence["id"])
        fenced = []
        for _ in range(2):
            if busy:
                harness.ask("store-other", bookie="b1")
            harness.ask("crash", bookie="b1")
            harness.ask("boot", bookie="b1")
            fenced.append(harness.ask("look")["bookies"]["b1"]["fenced"])
    written = storage == "db" and (busy or ordered(lib.release) < (4, 15, 1))
    assert fenced == [True, written]


MISTAKES = {
    "the LAC of an add is read from another place": ("HeldClient.java", "LAC_OFFSET = 16", "LAC_OFFSET = 24"),
    "a time-out is handed on as success": ("Harness.java", "BKException.Code.TimeoutException", "0"),
    "fences are not looked at": ("Harness.java", "storage.isFenced(ledger)", "false"),
    "what is handed on is the answer before": (
        "Post.java",
        "? held.rc : instead",
        "? get(Math.max(1, id - 1)).rc : instead",
    ),
}
"""Mistakes planted in the harness, each a replacement in one of its files."""


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_harness_is_found(
    lib: Library, mistake: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file, right, wrong = MISTAKES[mistake]
    sources = []
    for source in library_module.harness_sources():
        text = source.read_text(encoding="utf-8")
        copy = tmp_path / source.name
        copy.write_text(text.replace(right, wrong) if source.name == file else text, encoding="utf-8")
        sources.append(copy)
        assert source.name != file or right in text

    def seen() -> list[object]:
        found: list[object] = []
        for bug in ("#3005-3/2/2", "bare-fence"):
            with running(lib) as harness:
                run = reproduce(kept_trace(bug), Setting(lib.release, "db"), harness)
            found += [run.ending, run.step, [dict(step.differs) for step in run.steps]]
        return found

    as_it_is = seen()
    monkeypatch.setattr(library_module, "harness_sources", lambda: sources)
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    assert seen() != as_it_is


class Flushing:
    """A session in which b1 has written out what is in memory before it handles a request."""

    def __init__(self, session: HarnessSession) -> None:
        self.session = session

    def ask(self, command: str, **arguments: object) -> Answer:
        if command == "deliver":
            self.session.ask("checkpoint", bookie="b1")
        return self.session.ask(command, **arguments)


@pytest.mark.parametrize("storage", ["sorted", "interleaved", "db"])
@pytest.mark.parametrize("flushed", [False, True])
def test_the_second_copy_of_an_entry_counts_unless_the_first_is_in_a_memory_table(
    lib: Library, storage: str, flushed: bool
) -> None:
    """EntryMemTable keeps the first copy, with the LAC that came with it, until it is flushed."""
    with running(lib) as harness:
        session = Flushing(harness) if flushed else harness
        run = reproduce(kept_trace("too-few-copies"), Setting(lib.release, storage), session)
    dropped = storage == "sorted" and not flushed
    assert run.ending is (Ending.REFUSED if dropped else Ending.REPRODUCED)


@pytest.mark.parametrize("has_entry", [False, True])
def test_a_negative_answer_does_not_wait_for_its_fence(lib: Library, has_entry: bool) -> None:
    """The journal stands still. A fencing read is answered all the same, if the bookie has no entry."""
    with running(lib) as harness:
        harness.ask("start", bookies=1, storage="sorted", seconds=3)
        harness.ask("create", client="w", ensemble="b1", wq=1, aq=1)
        if has_entry:
            (add,) = harness.ask("push", client="w", content=1)["requests"]
            harness.ask("deliver", id=add["id"])
        harness.ask("open", client="r1")
        fence = harness.ask("metadata", client="r1")["requests"][-1]
        harness.ask("journal", bookie="b1", hold="yes")
        if has_entry:
            with pytest.raises(CodeFailed, match="it hangs"):
                harness.ask("deliver", id=fence["id"])
        else:
            assert harness.ask("deliver", id=fence["id"])["answer"] == "NoSuchEntryException"


def test_a_copy_that_returns_is_dropped_by_the_next_flush(lib: Library) -> None:
    """Planted: the harness reads entries of a deleted ledger, or entries that only the read cache has."""
    name = "returned-copy" if ordered(lib.release) >= (4, 15, 1) else "returned-copy-checkpoint"
    with running(lib) as harness:
        run = reproduce_copies(script_trace(name), Setting(lib.release, "db"), harness)
    assert run.ending is Ending.REPRODUCED
    assert not [step for step in run.steps if step.differs]


MARK_COURSES = {
    "nothing flushed": ("", "ADD CRASH"),
    "flushed": ("", "ADD FLUSH CRASH CRASH"),
    "sampled before the add": ("", "SAMPLE ADD END CRASH"),
    "sampled before the add, flushed after it": ("", "SAMPLE ADD FLUSH END CRASH"),
    "a mark in a file that is there": ("", "ADD SAMPLE FLUSH END CRASH"),
    "the next flush mends the mark": ("", "ADD SAMPLE FLUSH DELETE END FLUSH CRASH"),
    "files deleted, checkpoint not ended": ("", "ADD SAMPLE FLUSH DELETE CRASH"),
    "a crash while a checkpoint is sampled": ("journals=2", "BEGIN ADD CRASH BEGIN SAMPLE END CRASH"),
    "own directory first": ("other_dirs=1", "ADD FLUSH SAMPLE END CRASH"),
    "flushed while sampled, after the add": ("journals=2", "BEGIN ADD FLUSH SAMPLE END CRASH"),
    "flushed while sampled, the add after both": ("journals=2", "BEGIN FLUSH SAMPLE ADD END CRASH"),
    "flushed before the samples": ("journals=2", "FLUSH BEGIN ADD SAMPLE END CRASH"),
    "flushed again": ("journals=2", "BEGIN FLUSH ADD SAMPLE END FLUSH CRASH"),
    "failed, not flushed": ("failed_flushes=2", "ADD FAIL CRASH"),
    "failed, flushed twice": ("failed_flushes=2", "ADD FAIL FLUSH FLUSH CRASH"),
    "failed, checkpoint": ("failed_flushes=2", "ADD FAIL SAMPLE END CRASH"),
    "failed twice": ("failed_flushes=2", "ADD FAIL FAIL FLUSH CRASH"),
    "failed before the add": ("failed_flushes=2", "FAIL ADD FLUSH CRASH"),
}
"""Settings and steps: courses of the mark, most of which lose nothing."""

MARK_STEPS = {
    "ADD": "handle add w 1 1 b1\nreceive ack w 1 1 b1",
    "BEGIN": "begin checkpoint b1",
    "SAMPLE": "sample journal b1",
    "END": "end checkpoint b1",
    "FLUSH": "flush cache b1",
    "DELETE": "delete journals b1",
    "FAIL": "fail flush b1",
    "CRASH": "crash b1",
}


@pytest.mark.parametrize("name", MARK_COURSES)
def test_model_and_code_agree_on_what_the_mark_has_passed(lib: Library, tmp_path: Path, name: str) -> None:
    """Planted: other ledgers write nothing. A flush of an empty cache moved the mark in the model alone."""
    settings, steps = MARK_COURSES[name]
    if "DELETE" in steps and ordered(lib.release) >= (4, 18, 0):
        pytest.skip("in the model files are deleted only where the mark may move back")
    one = "bookies=1 ensemble=1 write_quorum=1 ack_quorum=1 entries=1 crashes=2"
    more = settings if "journals" in settings else f"journals=1 {settings}"
    head = ["protocol bookkeeper", f"release {lib.release}", f"set {one} {more}"]
    text = [*head, "create ledger", "push 1 1", *(MARK_STEPS[step] for step in steps.split())]
    (tmp_path / "course.txt").write_text("\n".join(text), encoding="utf-8")
    with running(lib) as harness:
        found = reproduce(script_trace("course", tmp_path), Setting(lib.release, "db"), harness)
    assert found.ending in (Ending.FOLLOWED, Ending.REPRODUCED), found.reason
    assert not [(step.index, step.differs) for step in found.steps if step.differs]


@pytest.mark.parametrize(
    ("name", "refused"),
    {
        "mark-between-samples": None,
        "mark-of-one-directory": (4, 14, 8),
        "mark-moves-back": (4, 18, 0),
        "failed-flush": None,
    }.items(),
)
def test_the_scripts_of_the_mark_end_as_the_releases_say(
    lib: Library, name: str, refused: tuple[int, ...] | None
) -> None:
    with running(lib) as harness:
        found = reproduce(script_trace(name), Setting(lib.release, "db"), harness)
    mended = refused is not None and ordered(lib.release) >= refused
    assert (found.ending, found.as_release) == (Ending.REFUSED if mended else Ending.REPRODUCED, True)


def test_free_runs_are_executions_of_the_model(
    lib: Library, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model with a wrong rule of time-outs refuses some of the logs."""
    if ordered(lib.release) < (4, 14, 0):
        pytest.skip("free runs were not tried on this release")
    free = ["conform", "bookkeeper", "--free", "--logs", str(tmp_path)]
    assert run([*free, "--runs", "10", "--bookkeeper", str(lib.folder)]) == 0
    assert "10 free runs: 10 are executions of the model" in capsys.readouterr().out
    assert run([*free, "--release", lib.release, "--set", "timeouts=lost-only"]) == 1
