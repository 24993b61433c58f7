"""`fencepost advise`: the screen, the steps, the change that removes most, the gate, and files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from fencepost.advice.advice import Advice
from fencepost.advice.asked_setup import asked_setup
from fencepost.advice.known import decide
from fencepost.advice.loss_questions import any_other, question
from fencepost.advice.losses import LEVELS, LOSSES, OF_SETTINGS, possible
from fencepost.advice.setups import Setup
from fencepost.advice.steps import LOG_LINES, STEPS, LogLine, in_words_of, steps_of
from fencepost.cli.exits import ExitCode
from fencepost.cli.main import run
from fencepost.cli.rendering.advice_document import as_sarif, document
from fencepost.cli.rendering.advice_text import MOST, as_text, rows
from fencepost.encoding.check import check
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.verdicts import Verdict, worst
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.system import choose
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import Expectation, as_expected
from fencepost.protocols.bookkeeper.releases import TAGS
from fencepost.quorums.stripes import Configuration
from support.config_files import read_source

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
SIZES = ["-e", "3", "-w", "3", "-a", "2", "-n", "4"]
USUAL = ((1, 1, 1), (2, 2, 2), (3, 2, 2), (3, 3, 2), (3, 3, 3), (5, 3, 2))
OLD_AND_NEW = ("4.6.0", "4.9.0", "4.14.8", "4.16.1", "4.16.6", "4.17.4", "4.18.0")


def advice(
    sizes: tuple[int, int, int] = (3, 3, 2), bookies: int = 4, release: str = "4.17.4", **more: Any
) -> Advice:
    return asked_setup(*sizes, bookies, release=release, **{"storage": "db", **more})


def said(capsys: pytest.CaptureFixture[str], *options: str, code: int = 0) -> str:
    assert run(["advise", *options]) == code
    return capsys.readouterr().out


# The screen.


@pytest.mark.parametrize("release", OLD_AND_NEW)
def test_the_first_screen_has_at_most_24_lines(release: str) -> None:
    """Planted: rows that have no room are not folded."""
    for sizes, spare, storage, (journal, sync) in product(
        USUAL[::2], (0, 1), ("db", "sorted"), ((True, True), (False, False))
    ):
        asked = advice(sizes, sizes[0] + spare, release, storage=storage, journal=journal, sync=sync)
        lines = as_text(asked).split("\n")
        assert len(lines) <= MOST, lines
        assert all(len(line) <= 110 for line in lines), lines
        named = {loss.name for one in asked.steps for loss in one.against}
        assert named == {loss.name for loss in asked.losses}


@pytest.mark.parametrize(
    ("release", "sizes", "sync"),
    [
        *product(("4.16.6",), USUAL, [True]),
        *product(("4.17.4", "4.18.0"), (*USUAL, (3, 2, 1)), (True, False)),
    ],
)
def test_all_of_it_has_at_most_100_lines_for_usual_setups(
    release: str, sizes: tuple[int, int, int], sync: bool
) -> None:
    """Planted: a step that has two more lines."""
    for spare, storage in product((0, 1), ("db", "sorted")):
        asked = advice(sizes, sizes[0] + spare, release, sync=sync, storage=storage)
        assert as_text(asked, whole=True).count("\n") < 100


def test_the_parts_of_the_screen_are_in_their_order() -> None:
    """The setup, what was read, what it survives, the losses by level, the change, the edge, the command."""
    lines = as_text(advice()).split("\n")
    places = [
        next(number for number, line in enumerate(lines) if line.startswith(begins))
        for begins in (
            "3/3/2 on 4 bookies, BookKeeper 4.17.4, db", "Read: ", "Survives: ", "needs", "slow bookie",
            "one crash", "two crashes", "operator", "First (step 1): ", "The answer is about", "All of it",
        )
    ]  # fmt: skip
    assert places == sorted(places) and places[:2] == [0, 1]
    assert "bookies whose disks may be lost for good: 1" in lines[2]


def test_racks_that_no_write_set_can_have_are_said_to_be_impossible() -> None:
    """Planted: 1/1/1 is told to put each write set, of one bookie, in two racks."""
    for sizes, said in (((1, 1, 1), "2 (impossible with this WQ)."), ((2, 2, 2), "2."), ((3, 3, 2), "3.")):
        assert f"needs to survive the loss of one: {said}" in as_text(advice(sizes)).replace("\n ", "")


def test_losses_of_one_cause_stand_in_one_row() -> None:
    found = {frozenset(row.names): row for row in rows(advice())}
    row = found[frozenset(["#4651", "stale-ensemble", "chained-changes"])]
    assert (row.level, row.words) == (
        "slow-bookie",
        "a write fails and its bookie is replaced while others add",
    )
    assert frozenset(["lost-session", "returned-copy"]) in found


@pytest.mark.parametrize("sizes", USUAL)
def test_every_loss_of_a_row_has_a_step(sizes: tuple[int, int, int]) -> None:
    """Planted: a step that belongs to the change alone."""
    asked = advice(sizes, sizes[0] + 1, "4.16.6")
    for row in rows(asked):
        assert row.steps, row.names
        against = {loss.name for one in asked.steps if one.number in row.steps for loss in one.against}
        assert set(row.names) <= against


def test_any_sizes_are_answered() -> None:
    """No model is built: 7/5/3 on 20 bookies is as quick as any other."""
    asked = advice((7, 5, 3), 20, "4.18.0", storage="sorted")
    names = {loss.name for loss in asked.losses}
    assert {"#3005", "#4651", "recover-other-position"} <= names
    assert "no-writes" not in names, "14 bookies down is no row"


@pytest.mark.parametrize("columns", [60, 80])
def test_a_narrow_terminal_has_no_longer_lines(columns: int) -> None:
    lines = as_text(advice(), width=columns).split("\n")
    assert max(map(len, lines[:6])) <= columns


# The change that removes most, and steps that are done.


@pytest.mark.parametrize(
    ("asked", "words", "removed"),
    [
        (advice(), "gcOverreplicatedLedgerWaitTime=0", {"lost-session", "returned-copy"}),
        (advice((3, 3, 2), 3, "4.17.2"), "BookKeeper 4.17.4", {"#4701"}),
        (advice((5, 3, 2), 6, "4.17.4"), "E = WQ = 3", {"#3005", "recover-other-position"}),
        (
            advice((2, 2, 2), 2, "4.18.0", storage="sorted", journal=False),
            "journalWriteData=true",
            {"BP-46-2"},
        ),
        (advice((2, 2, 2), 2, "4.18.0", sync=False), "journalSyncData=true", {"journalSyncData=false"}),
        (advice((2, 2, 2), 2, "4.18.0", storage="sorted"), "useTransactionalCompaction=true", {"#3604"}),
    ],
)
def test_the_change_that_removes_most_leads(asked: Advice, words: str, removed: set[str]) -> None:
    """Planted: earlier releases are proposed; the number of losses alone counts."""
    assert asked.change is not None
    assert asked.change.words == words and removed <= set(asked.change.removes)
    assert asked.steps[0].step is asked.change.step
    assert words in as_text(asked)
    assert removed.isdisjoint(asked.change.remains)


def test_a_single_copy_and_disks_without_persistence_come_before_an_upgrade(tmp_path: Path) -> None:
    """For 1/1/1 it is the one disk, and for a chart without volumes it is the volumes."""
    one = advice((1, 1, 1), 1, "4.16.6").change
    assert one is not None and (one.words, one.eases) == ("2/2/2 on 2 bookies", ("disks",))
    spare = advice((1, 1, 1), 2, "4.17.4").change
    assert spare is not None and spare.words == "2/2/2 on 3 bookies", "no change takes the spare away"
    (tmp_path / "v.yaml").write_text("volumes: {persistence: false}\n", encoding="utf-8")
    asked = advice((2, 2, 2), 3, "4.16.6", files=[str(tmp_path / "v.yaml")])
    assert asked.change is not None
    assert (asked.change.words, asked.change.removes) == (
        "persistent volumes",
        ("volumes.persistence=false",),
    )
    assert asked.change.eases == ("#4812",)


def test_an_operator_of_pulsar_is_sent_to_a_release_that_some_pulsar_has() -> None:
    """Planted: 4.17.4, which no release of Pulsar that was read has."""
    change = asked_setup(2, 2, 2, 3, pulsar="3.0.5").change
    assert change is not None and change.words == "BookKeeper 4.17.2"
    assert "Pulsar 4.1.0, 4.0.6, 3.3.8 or later of the line has it." in change.step.text


BROKER = """\
managedLedgerDefaultEnsembleSize=3
managedLedgerDefaultWriteQuorum=3
managedLedgerDefaultAckQuorum=2
"""
DONE = """\
gcOverreplicatedLedgerWaitTime=0
auditorPeriodicCheckInterval=86400
auditorLedgerVerificationPercentage=100
"""


def of_files(tmp_path: Path, broker: str, bookies: str = "bookiePort=3181\n") -> Advice:
    for name, text in (("broker.conf", broker), ("bookkeeper.conf", f"bookiePort=3181\n{bookies}")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = [str(tmp_path / name) for name in ("broker.conf", "bookkeeper.conf")]
    return asked_setup(bookies=4, release="4.17.4", files=files)


def test_what_is_done_ticks_a_step_and_takes_its_losses_down_or_out(tmp_path: Path) -> None:
    """Planted: the settings are read and change nothing; a step that is done keeps its number in a row."""
    before, after = of_files(tmp_path, BROKER), of_files(tmp_path, BROKER, DONE)
    gone = {"lost-session", "returned-copy", "collector-beside-recover"}
    assert gone <= {loss.name for loss in before.losses}
    assert gone.isdisjoint(loss.name for loss in after.losses)
    ticked = {one.step for one in after.steps if one.done}
    assert ticked == {STEPS["no-collection"], STEPS["audit"], STEPS["no-throttle"]}
    assert after.change is None or "gcOver" not in after.change.words
    done = {one.number for one in after.steps if one.done}
    assert all(done.isdisjoint(row.steps) for row in rows(after))
    line = " ".join(as_text(after).partition("Done: ")[2].split())
    assert "gcOverreplicatedLedgerWaitTime=0" in line and "bookkeeperClientThrottleValue=0" in line
    assert not any("which no model has" in note for one in after.sources.values() for note in one.notes)


def test_a_throttle_of_the_broker_makes_a_loss_easier(tmp_path: Path) -> None:
    """Pulsar's default is 0. Planted: an add is throttled in Pulsar by default."""
    orders = []
    for more in ("", "bookkeeperClientThrottleValue=0\n", "bookkeeperClientThrottleValue=5000\n"):
        asked = of_files(tmp_path, BROKER + more)
        orders.append([loss.name for loss in asked.losses if asked.level(loss) == "slow-bookie"])
        assert any(one.done for one in asked.steps) is (more[-5:] != "5000\n")
    assert orders[0] == orders[1] == ["#4651", "chained-changes", "stale-ensemble"]
    assert orders[2] == ["#4651", "stale-ensemble", "chained-changes"]


def test_steps_stand_below_who_does_them_and_when() -> None:
    text = as_text(advice(), whole=True)
    headings = re.findall(r"^(?:Once|Before|After|Each time).*:$", text, re.MULTILINE)
    assert len(set(headings)) == len(headings) > 4
    numbers = [int(n) for n in re.findall(r"^ ?(\d+)\. (?:Bookies|Clients): ", text, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert "[rules out bare-fence, flushed-fence-db]" in " ".join(text.split())


# Log lines.


def quoted(text: str) -> set[str]:
    """Return the log lines of any release that a text quotes, the longest at each place."""
    every = {said for line in LOG_LINES.values() for said in line.texts.values()}
    return {said for said in every if f"`{said}`" in text}


def wrong_lines(text: str, release: str) -> set[str]:
    """Return the quoted log lines that the release does not log."""
    return quoted(text) - {line.text_in(release) for line in LOG_LINES.values()}


@pytest.mark.parametrize("release", list(TAGS))
def test_each_quoted_log_line_is_one_of_the_release(release: str) -> None:
    """Planted: below, a line of another release."""
    for loss in LOSSES:
        if loss.is_in(release):
            for step in steps_of(loss):
                assert wrong_lines(step.text_in(release), release) == set(), loss.name


def test_a_log_line_of_another_release_is_noticed() -> None:
    """Planted: the line of 4.17.4 is said for 4.18.0, and the other way round."""
    old = in_words_of("4.17.4", "{new-ensemble}")
    new = in_words_of("4.18.0", "{new-ensemble}")
    assert old == "`New Ensemble: … for ledger: L` (LedgerHandle)"
    assert new == "`New Ensemble` (LedgerHandle; newEnsemble, ledgerId)"
    assert wrong_lines(old, "4.18.0") and wrong_lines(new, "4.17.4")
    assert "no such line in 4.6.0" in in_words_of("4.6.0", "{new-ensemble}")


def test_no_step_quotes_a_log_line_but_from_the_table() -> None:
    """Planted: a line is written out in a step, so it is said for every release."""
    for loss in LOSSES:
        for step in steps_of(loss):
            assert quoted(step.text) == set(), loss.name
    assert quoted("a log says `Error during flush`") == {"Error during flush"}


def test_a_line_has_the_text_of_the_last_change_before_the_release() -> None:
    line = LogLine("Some", {"4.9.0": "old", "4.16.0": "new"})
    assert [line.text_in(release) for release in ("4.8.2", "4.9.0", "4.15.5", "4.16.0")] == [
        "",
        "old",
        "old",
        "new",
    ]


# The gate.


def test_the_gate_is_a_threshold(capsys: pytest.CaptureFixture[str]) -> None:
    """Planted: the level counts from the other end; each loss fails the command."""
    asked = [*SIZES, "--release", "4.17.4", "--storage", "db"]
    said(capsys, *asked)
    assert {loss.name for loss in advice().losses if advice().level(loss) == "slow-bookie"}
    for level, code in zip(LEVELS, (0, 1, 1, 1, 1), strict=True):
        said(capsys, *asked, "--fail-on", level, code=code)
    said(capsys, *SIZES, "--release", "4.17.4", "--storage", "sorted", code=0)
    said(capsys, "-e", "1", "-w", "1", "-a", "1", "-n", "1", "--storage", "sorted", code=1)


def ignoring(tmp_path: Path, text: str) -> str:
    file = tmp_path / "ignored.toml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_an_ignored_loss_does_not_count_until_its_day(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Planted: the day is not looked at; an ignored loss fails the gate."""
    slow = [loss.name for loss in advice((3, 3, 2), 4).losses if advice().level(loss) == "slow-bookie"]
    asked = [*SIZES, "--release", "4.17.4", "--storage", "db", "--fail-on", "slow-bookie"]
    for days, code in ((0, 0), (-1, 1)):
        until = date.today() + timedelta(days)
        rows_ = "".join(f'["{name}"]\nreason = "watched"\nuntil = {until}\n' for name in slow)
        out = said(capsys, *asked, "--ignore", ignoring(tmp_path, rows_), code=code)
        assert ("#4651" in out.partition("First")[0].partition("needs")[2]) is bool(days)
        assert (f"ignored #4651 until {until}" in " ".join(out.split())) is bool(days)
        assert ("Ignored: #4651" in out) is not bool(days)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('["#4651"]\nuntil = 2030-01-01\n', "#4651: reason is missing"),
        ('["#4651"]\nreason = "r"\nuntil = "soon"\n', "must be a day, such as 2027-01-31"),
        ('["#4651"]\nreason = "r"\nuntil = 7\n', "until = 7: must be the last day of it, such as 2027-01-31"),
        (
            '[bare-fense]\nreason = "r"\nuntil = 2030-01-01\n',
            "bare-fense: no such loss (did you mean bare-fence?)",
        ),
        ("[", "ignored.toml: "),
    ],
)
def test_a_file_of_ignored_losses_with_a_mistake_is_refused(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["advise", *SIZES, "--ignore", ignoring(tmp_path, text)]) == ExitCode.BAD_INPUT
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


@pytest.mark.parametrize("name", ["PR 4607", "pr4607", "#4607", "4607", "Pr-4607", "pull/4607"])
def test_a_public_loss_is_named_in_any_way(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Planted: capitals matter; a pull request needs its blank."""
    file = ignoring(tmp_path, f'["{name}"]\nreason = "r"\nuntil = 2999-01-01\n')
    assert list(advice(ignore=file).ignored) == ["PR 4607"]
    assert run(["known", name]) == ExitCode.SUCCESS
    assert "PR 4607: out of scope, because it is a public loss that no model has." in capsys.readouterr().out


# Files.


def test_files_say_which_keys_were_read(tmp_path: Path) -> None:
    broker = read_source(EXAMPLES / "broker.conf")
    assert (len(broker.read), broker.settings.journal, broker.pulsar) == (3, None, True)
    helm = read_source(EXAMPLES / "values.yaml")
    assert (helm.settings.bookies, helm.settings.journal) == (4, True)
    assert "bookkeeper.replicaCount" in helm.read
    server = tmp_path / "bk_server.conf"
    server.write_text(
        "journalWriteData=false\ndataIntegrityChecking=true\nbookiePort=3181\n", encoding="utf-8"
    )
    found = read_source(server)
    said = found.settings
    assert (found.pulsar, said.journal, said.checks, said.storage) == (False, False, True, None)
    assert found.read == ("journalWriteData", "dataIntegrityChecking")
    shipped = read_source(EXAMPLES / "bk_server.conf")
    said = shipped.settings
    assert (said.journal, said.checks, said.storage, said.sync) == (True, False, "db", True)
    assert "journalSyncData" in shipped.read
    server.write_text("ledgerStorageClass=org.example.OwnStorage\n", encoding="utf-8")
    with pytest.raises(
        BadInput, match=r"ledgerStorageClass is .*OwnStorage.*; known are SortedLedgerStorage"
    ):
        read_source(server)
    server.write_text("journalWriteData=maybe\n", encoding="utf-8")
    with pytest.raises(
        BadInput, match=r"bk_server\.conf: journalWriteData is .*maybe.*; it must be true or false$"
    ):
        read_source(server)
    server.write_text("listen=3181\n", encoding="utf-8")
    found = read_source(server)
    assert (found.read, found.is_empty) == ((), True)
    assert found.notes[0].startswith("it has no key of a broker.conf or a bk_server.conf; give a broker.conf")


CHART = """\
bookkeeper:
  component: bookie
  replicaCount: 4
  configData:
    BOOKIE_MEM: -Xms128m
    journalWriteData: "true"
autorecovery:
  configData:
    PULSAR_PREFIX_useV2WireProtocol: "true"
broker:
  replicaCount: 3
  configData:
    managedLedgerDefaultEnsembleSize: "2"
    managedLedgerDefaultWriteQuorum: "2"
    managedLedgerDefaultAckQuorum: "2"
"""
"""Values in the form of Pulsar's Helm chart."""

OVERLAY = """\
bookkeeper:
  replicaCount: 5
  configData:
    PULSAR_PREFIX_dataIntegrityChecking: "true"
    journalWriteData: "false"
broker:
  configData:
    managedLedgerDefaultEnsembleSize: "3"
    managedLedgerDefaultWriteQuorum: "3"
"""
"""An overlay for the chart: some of the sizes, and other values for bookies."""


@pytest.fixture
def two_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the options that name the chart's values and the overlay."""
    monkeypatch.chdir(tmp_path)
    Path("values.yaml").write_text(CHART, encoding="utf-8")
    Path("overlay.yaml").write_text(OVERLAY, encoding="utf-8")
    return ["--from", "values.yaml", "--from", "overlay.yaml"]


def test_the_last_file_wins_for_each_value_that_it_has(
    two_files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Helm has the same rule.

    Planted: the first file wins; a file with only some of the sizes is refused.
    """
    assert run(["advise", *two_files, "-n", "6", "--format", "json"]) == ExitCode.SUCCESS
    said = json.loads(capsys.readouterr().out)
    assert said["schema"] == "fencepost.advice/4"
    assert said["parameters"] == {"ensemble": 3, "write_quorum": 3, "ack_quorum": 2, "bookies": 6}
    assert (said["journal"], said["checks"], said["storage"]) == (False, True, "db")
    overlay, values = ({"kind": "file", "name": name} for name in ("overlay.yaml", "values.yaml"))
    assert said["set_by"] == {
        "ensemble": overlay,
        "write_quorum": overlay,
        "ack_quorum": values,
        "bookies": {"kind": "option", "name": "-n"},
        "release": {"kind": "default", "name": ""},
        "journal": overlay,
        "checks": overlay,
        "sync": {"kind": "default", "name": ""},
        "storage": {"kind": "default", "name": ""},
    }


def test_the_text_says_what_set_each_value(two_files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The chart's file is named again at the end of the options, and its values win.

    Planted: files are read in the order of their first mention.
    """
    lines = [
        "overlay.yaml sets dataIntegrityChecking on",
        "values.yaml sets E 2, WQ 2, AQ 2, N 4, journal on",
        "options set release 4.17.4",
    ]
    again = [*two_files, "--from", "values.yaml", "--release", "4.17.4"]
    for form in (["--all"], []):
        out = said(capsys, *again, *form)
        assert all(line in " ".join(out.split()) for line in lines), out
    assert "defaults set journalSyncData on, db storage" not in said(capsys, *again)


def test_a_journal_without_fsync_is_a_loss(two_files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The key was once ignored, and the headline said that the journal is on."""
    text = "bookkeeper: {configData: {journalSyncData: 'false'}}\n"
    Path("overlay.yaml").write_text(text, encoding="utf-8")
    found = json.loads(said(capsys, *two_files, "--format", "json"))
    assert (found["journal"], found["sync"]) == (True, False)
    names = {loss["name"] for loss in found["losses"]}
    assert {"BP-46-2", "journalSyncData=false"} <= names
    assert found["set_by"]["sync"] == {"kind": "file", "name": "overlay.yaml"}
    assert "journal on without fsync" in " ".join(said(capsys, *two_files).split())
    synced = json.loads(said(capsys, *two_files, "--sync", "on", "--format", "json"))
    assert {"BP-46-2", "journalSyncData=false"}.isdisjoint(loss["name"] for loss in synced["losses"])


def test_sorted_storage_that_is_switched_off_is_interleaved(
    two_files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The rule is that of ServerConfiguration.getLedgerStorageClass.

    Planted: the key is ignored; DbLedgerStorage is taken for interleaved storage.
    """
    storage = "ledgerStorageClass: org.apache.bookkeeper.bookie.SortedLedgerStorage\n"
    Path("overlay.yaml").write_text(f"sortedLedgerStorageEnabled: false\n{storage}", encoding="utf-8")
    assert run(["advise", *two_files, "--format", "json"]) == ExitCode.SUCCESS
    said = json.loads(capsys.readouterr().out)
    assert (said["storage"], said["set_by"]["storage"]["name"]) == ("interleaved", "overlay.yaml")
    Path("overlay.yaml").write_text("journalWriteData: true\nsortedLedgerStorageEnabled: false\n")
    assert run(["advise", *two_files, "--format", "json"]) == ExitCode.SUCCESS
    assert json.loads(capsys.readouterr().out)["storage"] == "db"


def test_of_the_other_keys_those_that_change_what_is_durable_are_named(
    two_files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Planted: keys with `journal` in their name are listed."""
    Path("overlay.yaml").write_text(
        "bookkeeper:\n  configData:\n"
        + "".join(f"    journalKey{number}: 1\n" for number in range(9))
        + "    journalWriteData: true\n    skipReplayJournalInvalidRecord: true\n",
        encoding="utf-8",
    )
    assert run(["advise", *two_files, "--all"]) == ExitCode.SUCCESS
    out = " ".join(capsys.readouterr().out.split())
    assert (
        "bookkeeper.configData.skipReplayJournalInvalidRecord=true: a replay leaves out the rest of a "
        "journal file after a damaged record." in out
    )
    assert "journalKey" not in out and "ignored" not in out


def test_keys_that_stand_elsewhere_in_helm_values_are_not_read(tmp_path: Path) -> None:
    """Planted: the sizes of any section are taken for those of the broker."""
    values = tmp_path / "values.yaml"
    values.write_text("proxy: {configData: {managedLedgerDefaultAckQuorum: 1}}\n" + CHART, encoding="utf-8")
    found = read_source(values)
    assert found.settings.ack_quorum == 2
    (note,) = found.notes
    assert note == (
        "proxy.configData.managedLedgerDefaultAckQuorum is not read: it does not stand in the section of "
        "a broker."
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-e", "3", "-w", "3", "-a", "2"], "no -n: give -e, -w, -a and -n, or --from FILE"),
        (
            ["-e", "3", "-w", "3", "-a", "2", "-n", "3", "--release", "9.9.9"],
            "9.9.9: not one of the 48 releases",
        ),
        (["-e", "3", "-w", "3", "-a", "2", "-n", "2"], "ensemble 3 exceeds the 2 bookies"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["advise", *arguments]) == ExitCode.BAD_INPUT
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


# Documents.


def test_documents_carry_the_level() -> None:
    """Planted: SARIF has one level for all."""
    asked = advice((2, 2, 2), 3, "4.17.4", storage="sorted", sync=False)
    found = document(asked)
    (result,) = json.loads(as_sarif(asked))["runs"]
    levels = {one["ruleId"]: (one["level"], one["properties"]["level"]) for one in result["results"]}
    assert levels["#4651"] == ("warning", "slow-bookie") and levels["#4812"] == ("note", "operator")
    assert {loss["name"]: loss["level"] for loss in found["losses"]} == {
        name: level for name, (_, level) in levels.items()
    }
    assert found["level"] == "slow-bookie"
    assert found["impossible"]["#4701"] == "not in 4.17.4"
    assert {rule["id"] for rule in result["tool"]["driver"]["rules"]} == set(levels)


def test_all_is_for_the_text_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["advise", *SIZES, "--all", "--format", "json"]) == ExitCode.BAD_INPUT
    assert "--all: --format json has all of it anyway" in capsys.readouterr().err


SCREENS = ROOT / "docs" / "screens.md"
SIDE_BY_SIDE = (((1, 1, 1), 2), ((2, 2, 2), 3), ((3, 3, 2), 4), ((3, 3, 3), 4))


def screens() -> Iterator[str]:
    for (e, wq, aq), bookies in SIDE_BY_SIDE:
        command = f"fencepost advise -e {e} -w {wq} -a {aq} -n {bookies} --release 4.17.4 --storage db"
        text = "\n".join(f"    {line}".rstrip() for line in as_text(advice((e, wq, aq), bookies)).split("\n"))
        yield f"## {e}/{wq}/{aq} on {bookies}\n\n    {command}\n\n{text}\n"


def test_the_screens_of_the_page_are_those_of_the_command(request: pytest.FixtureRequest) -> None:
    text = SCREENS.read_text(encoding="utf-8")
    head, _, _ = text.partition("## ")
    wanted = head + "\n".join(screens())
    if request.config.getoption("--refresh-goldens"):
        SCREENS.write_text(wanted, encoding="utf-8")
    assert SCREENS.read_text(encoding="utf-8") == wanted


GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize(("form", "file"), [("text", "advise.txt"), ("json", "advise-json.txt")])
def test_advice_is_word_for_word(form: str, file: str, request: pytest.FixtureRequest) -> None:
    """All of the text, and the document, of the smallest setup."""
    asked = advice((1, 1, 1), 1, "4.17.3", storage="sorted")
    out = (as_text(asked, whole=True) if form == "text" else json.dumps(document(asked), indent=2)) + "\n"
    if request.config.getoption("--refresh-goldens"):
        (GOLDEN / file).write_text(out, encoding="utf-8")
    assert out == (GOLDEN / file).read_text(encoding="utf-8")


# The questions to the models.


def of_setup(
    sizes: tuple[int, int, int], bookies: int, release: str, journal: bool, checks: bool, storage: str
) -> Setup:
    return Setup(Configuration(*sizes), bookies, release, journal, checks, storage)


@pytest.mark.parametrize("journal", [True, False])
@pytest.mark.parametrize("checks", [True, False])
def test_each_loss_of_a_model_has_an_instance_in_each_release_that_has_it(
    journal: bool, checks: bool
) -> None:
    """Planted: boot=whole is refused before 4.15."""
    for release, storage in product(("4.6.0", "4.13.0", "4.15.0", "4.18.0"), ("sorted", "db")):
        asked = of_setup((3, 2, 2), 4, release, journal, checks, storage)
        found = possible(asked)
        for loss in found:
            if loss.bug is not None:
                one = question(loss, asked, found)
                assert find(one.preset).parameters(one.settings.items(), release)
        other = any_other(asked, found)
        assert find(other.preset).parameters(other.settings.items(), release)


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("#4812", of_setup((1, 1, 1), 2, "4.13.0", True, False, "sorted")),
        ("bare-fence", of_setup((1, 1, 1), 1, "4.16.6", False, True, "sorted")),
        ("flushed-fence-db", of_setup((1, 1, 1), 1, "4.18.0", True, False, "db")),
        ("journalWriteData=false", of_setup((2, 2, 2), 2, "4.18.0", False, True, "db")),
        ("lost-session", of_setup((2, 1, 1), 4, "4.17.4", True, False, "db")),
    ],
)
def test_the_question_of_a_loss_is_answered_by_the_model(name: str, asked: Setup) -> None:
    """Planted: the mends of other bugs win over the row; the ensemble of the row is asked about."""
    found = possible(asked)
    (loss,) = (one for one in found if one.name == name)
    one = question(loss, asked, found)
    instance = find(one.preset).instance(one.settings.items(), one.release)
    limits = Limits(minimize=Minimize.NONE, one_is_enough=True, jobs=1, conflicts=20_000).of(instance.system)
    results = check(instance, choose(instance.system, one.properties), limits).results
    assert worst(result.verdict for result in results) is Verdict.VIOLATED
    sizes = {name: getattr(instance.parameters, name) for name in asked.sizes}
    assert sizes == asked.sizes
    assert one.command[:3] == ["fencepost", "check", one.preset]


@pytest.mark.parametrize("setting", OF_SETTINGS, ids=lambda setting: setting.name)
def test_each_setting_loses_an_entry_in_as_few_steps_as_the_table_says(setting: Expectation) -> None:
    (run_,) = setting.runs()
    outcome = decide(run_, Limits())
    assert as_expected(run_, outcome.results[0])
