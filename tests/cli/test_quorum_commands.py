"""`fencepost prove` and `fencepost quorum`: forms, files, exit codes, one line for bad input."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fencepost.cli.process.listener import listen
from fencepost.encoding.solving.answers import TIME_OUT, CpuDeadline
from fencepost.encoding.solving.workers import Worker
from fencepost.properties import lemmas as catalogue
from fencepost.quorums import lemmas
from fencepost.quorums.arithmetic import BP46
from fencepost.quorums.smt import Reply
from support.commands import said

HELM = """\
bookkeeper: {replicaCount: 4}
broker:
  configData:
    managedLedgerDefaultEnsembleSize: "2"
    managedLedgerDefaultWriteQuorum: "2"
    managedLedgerDefaultAckQuorum: "2"
"""


# prove


def test_prove_lists_words_statement_verdict_and_confirmation(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "prove", "quorums-meet")
    assert (code, err) == (0, "")
    assert "proved     quorums-meet  (as expected" in out
    assert "Any ack quorum and any QC bookies" in out
    assert "|A| >= AQ and |C| >= (WQ - AQ) + 1  =>  A meets C" in out
    assert "confirmed: cvc5 on 1 of 1 proof obligations\n" in out
    assert "1 of 1 lemmas as expected" in out


def test_prove_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "prove", "windows-need-the-count", "slack", "--format", "json")
    found = json.loads(out)
    assert code == 0
    assert (found["schema"], found["as_expected"], found["up_to"]) == ("fencepost.prove/2", True, 10)
    refuted = next(r for r in found["results"] if r["lemma"] == "windows-need-the-count")
    assert (refuted["expected"], refuted["verdict"]) == ("refuted", "refuted")
    assert refuted["counterexample"]["configuration"] == "4/2/2"
    assert len(refuted["counterexample"]["sets"]["heard"]) == 2


def test_prove_writes_results_and_obligations_to_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, folder = tmp_path / "out.txt", tmp_path / "deep" / "smt2"
    code, out, _ = said(capsys, "prove", "slack", "racks", "--output", str(output), "--smt2", str(folder))
    assert (code, out) == (0, "")
    assert "2 of 2 lemmas as expected" in output.read_text()
    expected = {o.name for o in catalogue.files(catalogue.chosen(["slack", "racks"]), BP46)}
    assert {file.stem for file in folder.iterdir()} == expected
    assert all("(check-sat)" in file.read_text() for file in folder.iterdir())


def test_prove_list_decides_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "decide", lambda *a: pytest.fail("decided"))
    code, out, _ = said(capsys, "prove", "--list")
    assert code == 0 and len(out.splitlines()) == len(catalogue.all_lemmas())


def test_an_undecided_lemma_exits_with_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lemmas, "ask_z3", lambda s, d: Reply(TIME_OUT, 0.0))
    code, out, _ = said(capsys, "prove", "slack")
    assert code == 3 and "undecided  slack  (EXPECTED PROVED" in out and "time-out" in out


def test_a_time_out_that_is_too_short_exits_with_3(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "prove", "stripes-enumerated", "--timeout", "0.001")
    assert code == 3 and "undecided" in out


# quorum


def test_quorum_text(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "quorum", "-e", "5", "-w", "3", "-a", "2")
    assert (code, err) == (0, "")
    assert out.startswith("5/3/2 (E/WQ/AQ) on N = 5\n")
    assert " 2  QC, NoSuchEntry answers that declare an entry absent: 2   = WQ - AQ + 1" in out
    assert "[lemma coverage-reads; BP-46; ReadOpBase]" in out
    assert "warning: E > WQ" in out and "#3005" in out


def test_quorum_json_holds_the_rows_of_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("quorum", "-e", "3", "-w", "3", "-a", "2", "-n", "4", "--racks", "2,1,1")
    found = json.loads(said(capsys, *flags, "--format", "json")[1])
    rows = re.findall(r"^ *(\d+)  .*: (.*)   = ", said(capsys, *flags)[1], re.MULTILINE)
    assert found["schema"] == "fencepost.quorum/1"
    assert [q["number"] for q in found["quantities"]] == [int(n) for n, _ in rows] == list(range(1, 25))
    words = {True: "yes", False: "no"}
    values = [q["value"] for q in found["quantities"]]
    assert [words[v] if isinstance(v, bool) else str(v) for v in values] == [value for _, value in rows]
    assert found["parameters"] == {"bookies": 4, "ensemble": 3, "write_quorum": 3, "ack_quorum": 2}


def test_a_helm_file_gives_n_and_options_win_over_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "values.yaml"
    path.write_text(HELM)
    assert said(capsys, "quorum", "--from", str(path))[1].startswith("2/2/2 (E/WQ/AQ) on N = 4\n")
    out = said(capsys, "quorum", "--from", str(path), "-e", "3", "-n", "6")[1]
    assert out.startswith("3/2/2 (E/WQ/AQ) on N = 6\n")


def test_of_several_files_the_last_wins_and_each_value_names_what_set_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Planted: only the first or last file is read; a file with only some of the sizes is refused."""
    base, overlay = tmp_path / "values.yaml", tmp_path / "overlay.yaml"
    base.write_text(HELM)
    overlay.write_text(
        "broker: {configData: {PULSAR_PREFIX_managedLedgerDefaultEnsembleSize: 3,"
        " bookkeeper_delayEnsembleChange: true}}\n"
    )
    flags = ("quorum", "--from", str(base), "--from", str(overlay), "-a", "1")
    code, out, _ = said(capsys, *flags)
    assert code == 0
    assert out.startswith("3/2/1 (E/WQ/AQ) on N = 4\n")
    assert f"{overlay} sets E 3, delay_ensemble_change yes" in out
    assert f"{base} sets WQ 2, N 4" in out
    assert "options set AQ 1" in out
    found = json.loads(said(capsys, *flags, "--format", "json")[1])
    assert found["client"]["delay_ensemble_change"] is True
    assert found["set_by"]["ensemble"] == {"kind": "file", "name": str(overlay)}
    assert found["set_by"]["ack_quorum"] == {"kind": "option", "name": "-a"}
    assert found["set_by"]["min_racks"] == {"kind": "default", "name": ""}


def test_client_settings_change_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    striping, delay, racks = (tmp_path / f"{name}.conf" for name in ("striping", "delay", "racks"))
    striping.write_text("bookkeeper_opportunisticStriping=true\n")
    delay.write_text("bookkeeper_delayEnsembleChange=true\n")
    racks.write_text("bookkeeperClientMinNumRacksPerWriteQuorum=0\n")
    flags = ("quorum", "-e", "5", "-w", "3", "-a", "2", "-n", "4")
    assert said(capsys, *flags)[0] == 2
    code, out, _ = said(capsys, *flags, "--from", str(striping))
    assert code == 0 and out.startswith("4/3/2") and "not 5/3/2" in out
    delayed = said(capsys, "quorum", "-e", "3", "-w", "3", "-a", "2", "--from", str(delay))[1]
    assert "A running writer survives 1 failure" in delayed
    code, _, err = said(capsys, *flags, "--racks", "1,1,1,1,1", "--from", str(racks))
    assert code == 2 and "0 racks per write quorum" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("quorum", "-e", "3", "-w", "2", "-a", "3"), "ack quorum 3 exceeds write quorum 2"),
        (("quorum", "-e", "2", "-w", "3", "-a", "2"), "write quorum 3 exceeds ensemble 2"),
        (("quorum", "-e", "3", "-w", "3", "-a", "0"), "ack quorum (AQ) is 0: it must be at least 1"),
        (("quorum", "-e", "3", "-w", "3", "-a", "2", "-n", "2"), "ensemble 3 exceeds the 2 bookies"),
        (("quorum", "-e", "3", "-w", "3"), "no -a: give -e, -w and -a"),
        (("quorum", "-e", "three", "-w", "3", "-a", "2"), "three: must be a whole number"),
        (("quorum", "-e", "3", "-w", "3", "-a", "2", "--racks", "a,b"), "2 names for an ensemble of 3"),
        (("quorum", "-e3", "-w3", "-a2", "--table", "3"), "No such option '--table'"),
        (("quorum", "-e3", "-w3", "-a2", "-r", "0"), "No such option '-r'"),
        (("quorum", "-e3", "-w3", "-a2", "tenant/ns"), "tenant/ns"),
        (("quorum", "--from", "nowhere.conf"), "nowhere.conf: cannot be read"),
        (("prove", "nonsense"), "nonsense: no such lemma; fencepost prove --list lists them"),
        (("prove", "--timeout", "0"), "'--timeout': 0: must be"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = said(capsys, *arguments)
    assert code == 2
    assert message in err and err.count("\n") == 1 and err.startswith("fencepost: ")


@pytest.mark.parametrize("option", ["--output", "--smt2"])
def test_where_nothing_can_be_written_is_bad_input(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    code, _, err = said(capsys, "prove", "slack", option, str(tmp_path / "file" / "below"))
    assert code == 2 and "cannot be written" in err


def test_quorum_needs_no_solver_and_the_commands_import_none(tmp_path: Path) -> None:
    """z3, pysat and cvc5 are imported only when a lemma is decided, which keeps the start quick."""
    program = (
        "import sys, fencepost.cli.commands.prove, fencepost.cli.commands.quorum\n"
        "from fencepost.cli.main import run\n"
        "assert run(['quorum', '-e', '3', '-w', '3', '-a', '2', '--output', sys.argv[1]]) == 0\n"
        "print(sorted({'z3', 'pysat', 'cvc5'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "out")], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr


def sleeping() -> Iterator[str]:
    """Return a worker that waits for longer than its time, as on a busy machine, and then answers."""
    time.sleep(0.5)
    return iter(["proved"])


def spinning() -> Iterator[str]:
    """Return a worker that computes for ever and says nothing."""
    while True:
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="CPU seconds of other processes are read on Linux")
def test_the_clock_of_the_wall_takes_no_lemma() -> None:
    """Planted: the seconds of `prove` pass while other programs have the machine."""
    heard: list[object] = []
    assert listen(Worker("w", sleeping, gib=None), "it", 0.2, heard.append, of_cpu=True) is None
    assert heard[0] == "proved"
    assert listen(Worker("w", sleeping, gib=None), "it", 0.2, heard.append) == "time-out after 0.2 s"
    assert (
        listen(Worker("w", spinning, gib=None), "it", 0.2, heard.append, of_cpu=True)
        == "time-out after 0.2 s"
    )


def test_a_deadline_in_cpu_seconds_passes_with_work_alone() -> None:
    deadline = CpuDeadline(0.2)
    time.sleep(0.3)
    assert not deadline.passed()
    while not deadline.passed():
        sum(range(1000))
    assert deadline.left() == 0
