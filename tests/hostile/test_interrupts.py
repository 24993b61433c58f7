"""Ctrl-C while a solver works, in each kind of question: it decides nothing and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from support.processes import awaited, children, gone, hears, supervised

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")]

MENDED = ("bookkeeper-4.13", "--set", "recovery_reads_fence=yes", "--property", "no-divergence")
BY_ROUNDS = ("--engine", "rounds")


def when_it_says(process: subprocess.Popen[str], line: str) -> None:
    """Wait until a command has printed a line that begins like this."""
    assert process.stderr is not None
    while not (printed := process.stderr.readline()).startswith(line):
        assert printed, process.communicate()


def end(process: subprocess.Popen[str], number: signal.Signals = signal.SIGINT) -> tuple[str, str]:
    """Interrupt a command; return its stdout and stderr, after a check that no process is left."""
    below = children(process.pid)
    os.kill(process.pid, number)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 128 + number, (out, err)
    assert "Traceback" not in err
    assert gone(below)
    return out, err


def disturb(process: subprocess.Popen[str], seconds: float) -> None:
    """Send Ctrl-C again and again to every process but the first, as a terminal does."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        for pid in children(process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGINT)
        time.sleep(0.005)


def held(process: subprocess.Popen[str], seconds: float) -> None:
    """Stop every process but the first for some seconds."""
    below = children(process.pid)
    for number, wait in [(signal.SIGSTOP, seconds), (signal.SIGCONT, 0.0)]:
        for pid in below:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        time.sleep(wait)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a certificate of a proof by rounds, which takes seconds to check."""
    folder = tmp_path_factory.mktemp("certificates") / "made"
    process = supervised("check", *MENDED, *BY_ROUNDS, "--certificates", str(folder))
    out, err = process.communicate(timeout=600)
    assert (process.returncode, folder.exists()) == (0, True), (out, err)
    return folder


@pytest.mark.parametrize("line", ["certificate: building", "certificate: completeness"])
def test_an_interrupted_certify_says_neither_certified_nor_rejected(certificate: Path, line: str) -> None:
    process = supervised("certify", str(certificate), "-v")
    when_it_says(process, line)
    out, _ = end(process)
    assert out.startswith("undecided: interrupted; ")
    assert out.endswith(" parts stand, none is refuted\n")


def test_an_interrupted_certify_says_so_in_json(certificate: Path) -> None:
    process = supervised("certify", str(certificate), "-v", "--format", "json")
    when_it_says(process, "certificate: building")
    out, _ = end(process, signal.SIGTERM)
    assert (json.loads(out)["certified"], json.loads(out)["reason"]) == (None, "interrupted")


def test_a_certificate_stands_whoever_hears_ctrl_c_while_it_is_checked(certificate: Path) -> None:
    """An interrupted question may leave the certificate undecided, and never refutes it."""
    process = supervised("certify", str(certificate), "-v")
    when_it_says(process, "certificate: building")
    disturb(process, 3.0)
    out, err = process.communicate(timeout=600)
    assert (process.returncode, out.startswith("undecided: ")) in [(0, False), (3, True)], (out, err)
    assert "rejected" not in out


def test_time_that_is_up_is_neither_too(certificate: Path) -> None:
    """The workers are stopped until their time is up, so the speed of the machine does not matter."""
    process = supervised("certify", str(certificate), "-v", "--timeout", "6")
    when_it_says(process, "certificate: building")
    held(process, 6.2)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 3, (out, err)
    assert "time-out after 6 s" in out + err
    assert "rejected" not in out and "certified:" not in out


def test_a_certificate_that_is_not_finished_leaves_nothing_behind(tmp_path: Path) -> None:
    process = supervised("check", *MENDED, *BY_ROUNDS, "--certificates", "made", "-v", folder=tmp_path)
    when_it_says(process, "certificate: ")
    out, _ = end(process)
    assert "no-divergence: proved" in out, "the known result is printed"
    assert not list(tmp_path.iterdir())


def test_ctrl_c_for_everybody_while_pairs_are_asked_about_gives_no_wrong_verdict() -> None:
    process = supervised("check", *MENDED, *BY_ROUNDS, "-v")
    when_it_says(process, "commutation")
    disturb(process, 2.0)
    out, err = process.communicate(timeout=600)
    assert process.returncode in (0, 3), (out, err)


def test_an_interrupt_while_pairs_are_asked_about_leaves_the_verdict_open() -> None:
    process = supervised("check", *MENDED, *BY_ROUNDS, "-v")
    when_it_says(process, "commutation")
    out, _ = end(process)
    assert "undecided: interrupted" in out


def test_ctrl_c_while_traps_are_asked_about_blames_nobody() -> None:
    process = supervised(
        "check",
        "verified-log-01",
        "-v",
        "--engine",
        "rounds",
        "--timeout",
        "20",
    )
    when_it_says(process, "building")
    disturb(process, 2.0)
    out, err = process.communicate(timeout=600)
    assert process.returncode in (0, 3), (out, err)
    assert "trap" not in err


def test_an_interrupted_prove_says_how_far_it_came() -> None:
    process = supervised("prove")
    assert process.stdout is not None
    first = process.stdout.readline()
    out, _ = end(process)
    assert first.split()[0] in ("proved", "refuted", "holds")
    assert " not reached: interrupted" in out


def test_an_interrupted_prove_is_one_object_in_json() -> None:
    process = supervised("prove", "--format", "json")
    time.sleep(8.0)
    out, _ = end(process, signal.SIGHUP)
    document = json.loads(out)
    assert (document["as_expected"], document["reason"]) == (False, "interrupted")


@pytest.mark.parametrize(
    "arguments",
    [
        (
            "export",
            "bookkeeper",
            "--set=entries=3",
            "--rounds=9",
            "--format=smt2",
            "--property=no-divergence",
        ),
        ("check", "bookkeeper", "--engine=simulation", "--set=entries=3", "--runs=100000"),
        ("check", "bookkeeper", "--engine=states"),
        ("known",),
    ],
)
@pytest.mark.parametrize("after", [0.15, 0.6, 3.0])
def test_whatever_it_does_it_ends(arguments: tuple[str, ...], after: float, tmp_path: Path) -> None:
    process = supervised(*arguments, folder=tmp_path)
    awaited(lambda: [process.pid] if hears(process.pid, signal.SIGTERM) else [], process)
    time.sleep(after)
    if process.poll() is None:
        end(process)
    else:
        process.communicate()
    assert not list(tmp_path.iterdir())
