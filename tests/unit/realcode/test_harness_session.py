"""The user's library and its process: every problem is one line, and no process is left running."""

from __future__ import annotations

import contextlib
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

import pytest

from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.traces import TraceStep
from fencepost.protocols.bookkeeper.parameters import TODAY, BookKeeperParameters
from fencepost.quorums.storages import STORAGES
from fencepost.realcode import harness_session
from fencepost.realcode.drive.code import Code, Parted
from fencepost.realcode.drive.taking import take
from fencepost.realcode.harness_session import (
    WITH_LOG,
    Answer,
    CodeFailed,
    Harness,
    HarnessFailed,
    Recording,
    answering,
    opened,
)
from fencepost.realcode.library import Library, compiled, jdk, library, with_rules
from fencepost.realcode.release_behaviour import DRIVEN_ON, as_driven, is_there, mending, seen
from fencepost.realcode.reproduction import setting_of
from support.processes import gone
from support.realcode import crashing_code, kept_trace

BEGIN = """
import os, sys
pipe = open(sys.argv[1], "w")
def answer(text): print(text, file=pipe, flush=True)
"""
ECHO = """
for line in sys.stdin: answer('{"ok": {"said": "' + line.strip() + '"}}')
"""


def lib(folder: Path, *names: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_bytes(b"")
    return folder


NAME = "org.apache.bookkeeper-bookkeeper-server-{}.jar"


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ((), "has no bookkeeper-server-VERSION.jar in it"),
        (("netty.jar", "bookkeeper-server-tests.jar"), "has no bookkeeper-server-VERSION.jar in it"),
        ((NAME.format("4.12.1"),), "release 4.12.1 is not one that can be driven"),
        ((NAME.format("4.13.0"), NAME.format("4.17.3")), "has bookkeeper-server 4.13.0 and 4.17.3 in it"),
    ],
)
def test_a_folder_that_is_no_release_is_one_line(tmp_path: Path, names: tuple[str, ...], says: str) -> None:
    with pytest.raises(BadInput, match="; give ") as caught:
        library(lib(tmp_path / "lib", *names))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_harness_starts_the_class_of_each_storage() -> None:
    """A name that the harness does not know starts the default storage.

    Planted: Harness.java lacks interleaved storage.
    """
    harness = files("fencepost.realcode").joinpath("harness/fencepost/Harness.java").read_text("utf-8")
    started = dict(re.findall(r'"(\w+)", "(org\.apache\.bookkeeper\.bookie\.[\w.]+)"', harness))
    assert started == {name: storage.java_class for name, storage in STORAGES.items()}


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such folder; give the lib folder"):
        library(tmp_path / "nowhere")


def test_the_release_is_that_of_the_server_jar(tmp_path: Path) -> None:
    assert library(lib(tmp_path / "a", NAME.format("4.17.3"))).release == "4.17.3"
    assert library(lib(tmp_path / "b", "bookkeeper-server-4.18.0.jar")).release == "4.18.0"
    assert library(lib(tmp_path / "c", NAME.format("4.19.0-SNAPSHOT"))).release == "4.19.0"


def test_a_library_of_another_version_runs_as_the_release_that_is_given(tmp_path: Path) -> None:
    folder = lib(tmp_path / "lib", NAME.format("4.19.0-SNAPSHOT"))
    with pytest.raises(BadInput, match=r"version 4\.19\.0-SNAPSHOT is none of .* such as --release"):
        with_rules(library(folder))
    found = with_rules(library(folder, "4.18.0"))
    assert setting_of(found, "db").code == "4.19.0-SNAPSHOT as 4.18.0"
    assert setting_of(library(lib(tmp_path / "b", NAME.format("4.17.3"))), "db").code == "4.17.3"


@pytest.mark.parametrize(
    ("release", "says"),
    [("4.99.0", "4.99.0: not one of the"), ("4.12.1", "4.12.1: is not one that can be driven; give 4.13.0")],
)
def test_a_release_whose_rules_are_not_there_is_one_line(tmp_path: Path, release: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        library(lib(tmp_path / "lib", NAME.format("4.19.0-SNAPSHOT")), release)


def test_no_jdk_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(BadInput, match=r"JAVA_HOME=.*: has no javac; install a JDK"):
        jdk("javac")
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match="PATH: has no java; install a JDK"):
        jdk("java")


@pytest.mark.skipif(shutil.which("javac") is None, reason="no JDK")
def test_jars_that_are_not_all_there_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    with pytest.raises(
        BadInput, match=r"javac cannot compile the harness against release 4\.17\.3"
    ) as caught:
        compiled(library(lib(tmp_path / "lib", NAME.format("4.17.3"))))
    assert "\n" not in str(caught.value)
    assert not list((tmp_path / "cache" / "realcode").iterdir()), "nothing is kept of what failed"


# The process.


@contextlib.contextmanager
def a_process(code: str) -> Iterator[Harness]:
    with tempfile.TemporaryDirectory() as folder:
        with answering([sys.executable, "-c", BEGIN + code], Path(folder)) as harness:
            yield harness
        assert gone([harness.process.pid])


def test_a_line_is_asked_and_a_line_is_answered() -> None:
    with a_process(ECHO) as harness:
        assert harness.ask("push", client="w", content=1) == {"said": "push client=w content=1"}


def test_an_error_of_the_code_is_raised_and_recorded() -> None:
    code = """input(); answer('{"error": "IOException: no"}'); input()"""
    with a_process(code) as harness:
        recording = Recording(harness)
        with pytest.raises(CodeFailed, match="IOException: no"):
            recording.ask("boot", bookie="b1")
    assert recording.lines == [("boot bookie=b1", '{"error": "IOException: no"}')]
    with pytest.raises(CodeFailed):
        opened(recording.lines[0][1])


def test_a_process_that_has_ended_is_one_line() -> None:
    with a_process("input()") as harness, pytest.raises(HarnessFailed) as caught:
        harness.ask("look")
    assert str(caught.value) == f"look: the code's process has ended; {WITH_LOG}"
    assert "--log" in WITH_LOG


def test_what_a_process_prints_is_no_answer_and_is_in_the_message() -> None:
    noise = """
print('{"ok": {"said": "not this"}}', flush=True)
os.write(1, b'a library without a line end')
input(); answer('{"ok": {"said": "this"}}'); input()
"""
    with a_process(noise) as harness:
        assert harness.ask("look") == {"said": "this"}
        with pytest.raises(HarnessFailed, match=r"and has printed: .* a library without a line end; run"):
            harness.ask("look")
    with crashing_code([]) as crashing:
        recording = Recording(crashing)
        with pytest.raises(HarnessFailed, match=r"printed: A fatal error .* Environment: SIGSEGV") as caught:
            recording.ask("boot", bookie="b1")
    assert "\n" not in str(caught.value)
    with pytest.raises(HarnessFailed, match="SIGSEGV"):
        opened(recording.lines[0][1])


@pytest.mark.parametrize("answer", ["#", "{", "[]", "1", '{"ok": 1}', "{}", "\x1b[2J"])
def test_a_line_that_is_no_answer_is_a_failure_of_the_harness(answer: str) -> None:
    with pytest.raises(HarnessFailed, match="is no answer of the harness") as caught:
        opened(answer)
    assert "\x1b" not in str(caught.value)


# A start that fails.


@dataclass
class NotStarting:
    """A session in which a bookie shuts down, and throws when it is to boot."""

    error: str
    failing: str = "boot"

    def ask(self, command: str, **arguments: object) -> Answer:
        """Throw at a boot."""
        if command.startswith(self.failing):
            raise CodeFailed(self.error)
        return {}


def take_boot(
    action: str, error: str, failing: str = "boot", parameters: BookKeeperParameters = TODAY
) -> list[str]:
    """Drive a step that boots b1, which fails with that error."""
    step = TraceStep(1, action, {"bookie": "b1"}, "b1", None, (), "", {})
    return take(Code(NotStarting(error, failing), parameters, [step]), step)


@pytest.mark.parametrize("action", ["stop and start", "crash and restart", "refuse cookies"])
def test_a_start_that_fails_is_a_failure_of_the_harness(action: str) -> None:
    with pytest.raises(HarnessFailed, match="b1 does not start: IllegalStateException: its name is taken"):
        take_boot(action, "IllegalStateException: its name is taken")


def test_a_phase_one_that_has_not_begun_is_a_failure_of_the_harness() -> None:
    """Planted: `check` is asked as any other command, and its IllegalStateException is told as the code's."""
    after_replay = replace(TODAY, crashes=1, lose="bare-fences")
    with pytest.raises(HarnessFailed, match="b1 has not begun phase one"):
        take_boot(
            "crash and restart", "IllegalStateException: b1 has not begun phase one", "check", after_replay
        )


def test_a_bookie_that_refuses_its_cookies_has_answered() -> None:
    refusal = "InvalidCookieException: not matching"
    assert take_boot("refuse cookies", refusal) == [f"b1 does not boot: {refusal}"]
    with pytest.raises(Parted, match="the code fails: InvalidCookieException"):
        take_boot("stop and start", refusal)


# The end of a process.


def test_a_process_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness_session, "BOOTING", 0.2)
    with a_process("input(); input()") as harness:
        with pytest.raises(BadInput, match="look: the code has not answered for"):
            harness.ask("look")
        pid = harness.process.pid
    assert gone([pid])


# Releases.


def test_a_release_is_driven_with_the_switches_of_its_preset() -> None:
    """A race inside one method cannot be driven there: 4.17.3 has one, and 4.17.4 another."""
    from fencepost.protocols.bookkeeper.parameters import V4_13

    assert mending("4.13.0", "db", V4_13) == {}
    assert mending("4.17.3", "db", TODAY) == mending("4.17.4", "interleaved", TODAY) == {}
    assert mending("4.17.4", "db", V4_13) == {"recovery_reads_fence": "yes", "recovery_floor": "fragment"}
    assert mending("4.17.4", "sorted", TODAY) == {"second_copy": "dropped"}
    assert as_driven("4.13.0", "sorted", TODAY).recovery_reads_fence == "no"


def test_the_client_does_what_the_instance_asks_for_and_the_release_does() -> None:
    # Planted: both switches fixed to the mend. No add waited, and no writer continued.
    asks = replace(TODAY, add_ensemble="when-made", refused_change="continues")
    assert mending("4.17.4", "db", asks) == mending("4.17.4", "db", TODAY) == {}
    assert mending("4.8.0", "db", asks).items() >= {"add_ensemble": "when-queued"}.items()
    assert mending("4.8.0", "db", asks).items() >= {"refused_change": "gives-up"}.items()


def test_what_was_seen_is_what_the_switches_of_the_release_say() -> None:
    # Planted: #2614 with `mended` and `broken` the other way round.
    from fencepost.realcode.matrix import bugs

    for release, cells in seen().items():
        for known in bugs(()):
            for storage in DRIVEN_ON:
                cell = with_storage(cells[known.name], storage)
                if "has it" in cell or "refuses it" in cell:
                    assert is_there(known, release, storage) == ("has it" in cell), (
                        f"{known.name}, {release}: {cell}"
                    )


def test_the_page_has_the_number_of_cells_in_which_the_code_was_driven() -> None:
    """Planted: a cell that names one storage counts for all three."""
    cells = [with_storage(cell, storage) for cell in seen()["4.18.0"].values() for storage in DRIVEN_ON]
    has, refuses = (sum(said in cell for cell in cells) for said in ("has it", "refuses it"))
    page = (Path(__file__).parents[3] / "docs" / "real-code.md").read_text(encoding="utf-8")
    said = f"driven in {has + refuses} of {len(cells)} cells: {has} *has it* and {refuses} *refuses it*."
    assert f"On 4.18.0 the code was {said} The other {len(cells) - has - refuses} cannot" in page


def with_storage(cell: str, storage: str) -> str:
    """Return the part of a cell about one storage: all of it, or the part that names the storage."""
    parts = [part.partition(": ") for part in cell.split("; ")]
    named = {name: said for names, _, said in parts for name in names.split(", ") if name in DRIVEN_ON}
    return named.get(storage, "") if named else cell


@pytest.mark.long
def test_every_known_bug_of_the_code_has_its_execution() -> None:
    from fencepost.realcode.matrix import bugs, without_running
    from fencepost.realcode.reproduction import Setting

    assert all({known.name for known in bugs(())} == set(cells) for cells in seen().values())
    for known in bugs(()):
        if without_running(known, Setting("4.17.4", "db")) is None:
            assert kept_trace(known.name).steps


def test_a_library_is_its_folder(tmp_path: Path) -> None:
    folder = lib(tmp_path / "lib", NAME.format("4.17.3"), "a.jar")
    assert [jar.name for jar in Library(folder, "4.17.3", "4.17.3").jars] == ["a.jar", NAME.format("4.17.3")]
