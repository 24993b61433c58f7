"""`fencepost known` as a contract: exit codes, what differs, time limits, unused options, Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fencepost.advice.checked import at_sizes
from fencepost.advice.known import KNOWN, decide
from fencepost.cli.commands.known import EACH, KnownRow
from fencepost.cli.main import run
from fencepost.cli.rendering.check_documents import RUN
from fencepost.encoding import keys as k
from fencepost.encoding.engine.events import Listener
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Outcome, Result, Verdict
from fencepost.encoding.language.actions import Schema
from fencepost.encoding.mutation.strengthenings import Strengthening, Strengthenings
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import Expectation, Run
from support.commands import Command, said
from support.instances import SMALL_BUG as BUG
from support.instances import TWO_BOOKIES
from support.processes import supervised

RUNS = sum(len(known.runs()) for known in KNOWN)


@pytest.fixture
def known(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Return a function that runs `known` on a table and returns exit code, stdout and stderr."""

    def command(*arguments: str, table: Sequence[Expectation] = KNOWN) -> tuple[int, str, str]:
        monkeypatch.setattr("fencepost.cli.commands.known.KNOWN", tuple(table))
        return said(capsys, "known", *arguments)

    return command


@pytest.mark.parametrize("name", ["4607", "PR 4607", "3604", "#3604"])
def test_a_public_loss_without_a_model_is_described_as_out_of_scope(known: Command, name: str) -> None:
    """The answer was once a list of 40 other names. Planted: any number of a public loss is refused."""
    code, out, err = known(name)
    assert (code, err) == (0, "")
    assert re.match(
        rf"(PR |#){name[-4:]}: out of scope, because it is a public loss that no model has\.", out
    )
    assert known("4040")[1].startswith("PR 4041: out of scope"), "the number is in the source"
    assert known("4843", "--timeout", "0.01")[0] != 2, "its number is in the source of flushed-fence-db"


@pytest.mark.slow
def test_bugs_named_come_out_as_expected(known: Command) -> None:
    table = [replace(BUG, name=name) for name in ("#1", "#2", "#3")]
    code, out, err = known("#3", "2", table=table)
    assert (code, err) == (0, "")
    assert "4 of 4 as expected" in out
    assert re.findall(r"^(#\S+)  ", out, flags=re.MULTILINE) == ["#2", "#3"]


def test_json_says_what_was_expected_and_found(known: Command, tmp_path: Path) -> None:
    file = tmp_path / "known.json"
    arguments = ("2614-N=2", "--format", "json", "--output", str(file))
    code, out, _ = known(*arguments, table=[BUG])
    bug, fix = json.loads(file.read_text(encoding="utf-8"))["results"]
    assert (code, out, bug["as_expected"], fix["as_expected"]) == (0, "", True, True)
    assert (bug["switch"], bug["value"], fix["value"]) == ("recovery_reads_fence", "no", "yes")
    assert bug["settings"] == fix["settings"] == TWO_BOOKIES
    assert bug["expected"] == {"verdict": "violated", "steps": 13}
    assert {key: bug["found"][key] for key in ("verdict", "steps", "fewest")} == {
        "verdict": "violated",
        "steps": 13,
        "fewest": "of-all",
    }
    assert fix["expected"] == {"verdict": "proved", "steps": None}
    assert (fix["found"]["basis"], fix["found"]["complete"]) == ("induction", False)


@pytest.mark.parametrize(
    ("wrong", "differs"),
    [
        (replace(BUG, steps=12), "expected violated in 12, found violated, steps 13"),
        (replace(BUG, mended="no"), "expected proved, found violated, steps 13"),
        (replace(BUG, broken="yes"), "expected violated in 13, found proved, steps -"),
    ],
)
def test_a_planted_wrong_expectation_differs(known: Command, wrong: Expectation, differs: str) -> None:
    code, out, _ = known(table=[wrong])
    (line,) = [line for line in out.splitlines() if line.endswith("DIFFERS")]
    expected, found, steps = re.split(r" {2,}", line)[-5:-2]
    assert code == 1
    assert f"expected {expected}, found {found}, steps {steps}" == differs
    assert "1 of 2 as expected, 1 not" in out


def test_the_command_shown_for_a_difference_shows_it(
    known: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = known(table=[replace(BUG, steps=14, switch=None)])
    (command,) = [line.split() for line in out.splitlines() if line.startswith("    fencepost")]
    assert run(command[1:]) == 1
    assert "violated in 13 steps" in capsys.readouterr().out


def test_a_bug_without_a_switch_is_only_looked_for(known: Command) -> None:
    code, out, _ = known(table=[replace(BUG, switch=None, broken="", mended="")])
    assert (code, "1 of 1 as expected" in out) == (0, True)


SIZES = ("--set=bookies=2", "--set=ensemble=2", "--set=write_quorum=2", "--set=ack_quorum=2")


@pytest.mark.slow
def test_a_known_loss_shows_its_counterexample_at_other_sizes(known: Command) -> None:
    """Planted: the settings are not taken, so the bug is looked for on its own instance, of 3 bookies."""
    code, out, err = known("2614", *SIZES, "--set=entries=1")
    assert (code, err) == (0, "")
    assert re.search("#2614, (no-divergence|acked-entries-readable): violated", out)
    assert "b2" in out and "b3" not in out and "1 of 1 as expected" in out


@pytest.mark.slow
def test_a_size_that_the_condition_excludes_is_expected_to_be_proved(known: Command) -> None:
    """#4651 needs a spare bookie. Planted: a violation is expected at every size."""
    code, out, _ = known("4651", *SIZES)
    assert (code, "proved    proved" in out) == (0, True)


@pytest.mark.parametrize("bug", KNOWN, ids=lambda bug: bug.name)
def test_each_known_bug_can_be_asked_about_at_its_own_sizes(bug: Expectation) -> None:
    """Planted: a bug without a cell, or of a protocol without bookies, ends in a traceback."""
    names = ("bookies", "ensemble", "write_quorum", "ack_quorum")
    found = at_sizes(bug, {name: str(bug.settings[name]) for name in names if name in bug.settings})
    instance = find(found.protocol).instance(found.settings.items(), found.release)
    assert instance.properties(*found.property.split("+"))
    assert found.switch is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "bookies=3"], "--set: needs the name of a bug"),
        (["2614", "--set", "bookies"], "bookies: must have the form NAME=VALUE"),
        (["2614", "--set", "bookies=0"], "bookies=0: must be 1 or more"),
        (["2614", "--set", "bookes=3"], "bookes: no such parameter or switch (did you mean bookies?)"),
        (["2614", "--set", "recovery_reads_fence=no"], "recovery_reads_fence=no: is the switch of #2614"),
        (["2614", "--mend", "--set", "bookies=3"], "--mend: shows the rules on the bug's own instance"),
        (["--list", "--set", "bookies=3"], "--set: not with --list; leave it out"),
    ],
)
def test_settings_without_a_meaning_are_refused(known: Command, arguments: list[str], message: str) -> None:
    code, out, err = known(*arguments)
    assert (code, out) == (2, "")
    assert message in err and err.count("\n") == 1


def test_runs_that_time_does_not_reach_are_undecided(known: Command) -> None:
    code, out, _ = known("--timeout", "0.01", "--format", "json")
    document: dict[str, Any] = json.loads(out)
    results = document["results"]
    assert (code, len(results), document["interrupted"]) == (3, RUNS, False)
    assert {r["found"]["verdict"] for r in results} == {"undecided"}
    assert {r["as_expected"] for r in results} == {None}
    assert results[0]["found"]["reason"] == "not reached within 0.01 s"
    code, out, _ = known("--timeout", "0.01")
    assert (code, f"0 of {RUNS} as expected, {RUNS} undecided" in out) == (3, True)
    assert " not reached within 0.01 s\n" in out


def test_a_slow_run_takes_no_time_from_the_others(known: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of four runs uses all of its time, and the other three give up at once.

    Each run gets a fair share of the time that is left when it begins.
    """
    given: list[tuple[str, float]] = []

    def spy(run: Run, limits: Limits, listener: Listener) -> Outcome:
        given.append((run.known.name, limits.timeout))
        took = limits.timeout if run.known.name == "slow" and run.with_bug else 0.0
        time.sleep(took)
        result = Result(BUG.property, Verdict.UNDECIDED, seconds=took, solver="none", reason="of some kind")
        return Outcome((result,), took, False, {})

    monkeypatch.setattr("fencepost.cli.commands.known.decide", spy)
    code, out, _ = known("--timeout", "4", table=[replace(BUG, name="slow"), replace(BUG, name="others")])
    assert (code, "4 undecided" in out) == (3, True)
    assert [name for name, _ in given] == ["slow", "slow", "others", "others"]
    assert 0.8 < given[0][1] <= 1.0
    assert all(seconds >= 0.6 for _, seconds in given[1:])
    assert given[3][1] > 2.0, "the last run has what the others left"


def test_without_a_limit_each_run_has_its_own(known: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    def spy(run: Run, limits: Limits, listener: Listener) -> Outcome:
        given.append(limits.timeout)
        return decide(run, limits, listener)

    monkeypatch.setattr("fencepost.cli.commands.known.decide", spy)
    assert known(table=[BUG])[0] == 0
    assert given == [EACH, EACH]


def test_a_difference_outweighs_what_is_undecided(known: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def until_differing(run: Run, limits: Limits, listener: Listener) -> Outcome:
        return decide(run, limits if run.known.steps == 12 else replace(limits, timeout=0.001), listener)

    monkeypatch.setattr("fencepost.cli.commands.known.decide", until_differing)
    table = [replace(BUG, steps=12), replace(BUG, name="another")]
    code, out, _ = known(table=table)
    assert (code, "1 of 4 as expected, 1 not, 2 undecided" in out) == (1, True)


def test_progress_says_which_run_it_is(known: Command) -> None:
    _, _, err = known("-v", table=[BUG])
    assert "1 of 2: #2614-N=2 with recovery_reads_fence=no (" in err
    assert "2 of 2: #2614-N=2 with recovery_reads_fence=yes (" in err
    assert re.search(r"\bbuilding \d+\.\d\d s", err.splitlines()[-1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bookkeeper-4.13",), "bookkeeper-4.13: no such known bug; fencepost known --list lists them"),
        (("--bound", "3"), "No such option '--bound'"),
        (("--format", "itf"), "'itf' is not one of 'text', 'json'"),
        (("--bookkeeper", "lib"), "--bookkeeper: is now `fencepost reproduce [BUG]... --bookkeeper LIB`"),
        (("1",), "1: no such known bug; fencepost known --list lists them"),
        (("--timeout", "0"), "must be a number above 0"),
    ],
)
def test_what_is_not_used_is_refused(known: Command, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = known(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_ctrl_c_prints_what_is_known() -> None:
    process = supervised("known", "-v")
    assert process.stderr is not None
    while not process.stderr.readline().startswith("2 of "):
        pass
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "Interrupted: this is what was known by then." in out
    assert "violated in 6   violated " in out
    assert " not reached before Ctrl-C\n" in out


# --mend.


@pytest.mark.slow
def test_a_mend_is_shown_as_a_difference_of_rules_with_violation_and_proof(known: Command) -> None:
    """Planted: the rules of the mended run are those of the run with the bug."""
    code, out, _ = known("2614-N=2", "--mend", table=[BUG])
    assert code == 0
    assert "rules with recovery_reads_fence=no (-) and yes (+)" in out
    assert "handle read(client in recoverer, entry in read_entry, bookie)\n" in out
    assert "  +    fenced[bookie] := true\n" in out and "\n  -" not in out
    assert "with recovery_reads_fence=no, no-divergence: violated in 13 steps" in out
    assert " 13 " in out and "with recovery_reads_fence=yes, no-divergence: proved" in out


@pytest.mark.slow
def test_a_mend_that_is_not_enough_is_violated_with_its_trace(known: Command) -> None:
    """With DbLedgerStorage a buffer that is kept in step still leaves the cache that was set aside."""
    (row,) = (one for one in KNOWN if one.name == "#4855-db")
    code, out, _ = known("4855-db", "--mend", table=[replace(row, mended="kept-in-step")])
    assert code == 1 and "DIFFERS" in out
    shown = out.partition("with partial_flush=kept-in-step, acked-entries-readable: violated")[2]
    assert re.search(r"^ +7 +b1 crash", shown, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--mend",), "--mend: needs the name of a bug; fencepost known --list lists them"),
        (("2614", "--mend", "--format", "json"), "--mend: the difference of the rules is text"),
        (("2614-N=2", "--mend"), "--mend: #2614-N=2: no rule of the model mends it; leave it out"),
        (("2614", "--mend", "--list"), "--mend"),
    ],
)
def test_a_mend_needs_a_bug_with_a_rule_and_text(
    known: Command, arguments: tuple[str, ...], message: str
) -> None:
    """No row of the table is without a rule, so one is planted."""
    unmended = replace(BUG, switch=None, broken="", mended="", settings={"recovery_reads_fence": "no"})
    code, out, err = known(*arguments, table=[unmended, *KNOWN])
    assert code == 2 and message in err + out


# --repairs.


@pytest.fixture
def small_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try the smallest changes of one action alone."""
    real = Strengthenings.of

    def few(self: Strengthenings, schema: Schema) -> list[Strengthening]:
        return [one for one in real(self, schema) if one.size == 1 and schema.name == "handle read"]

    monkeypatch.setattr(Strengthenings, "of", few)


@pytest.mark.slow
@pytest.mark.usefixtures("small_changes")
def test_a_repair_is_a_stronger_guard_in_the_words_of_the_rules(
    known: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is marked if the mend changes nothing else. Planted: such a mend, and one of two lines."""
    code, out, _ = known("2614-N=2", "--repairs", "--jobs", "1", table=[BUG])
    assert code == 0
    assert out.startswith("#2614-N=2: bookkeeper-4.13 bookies=2 ensemble=2 write_quorum=2 ")
    assert (
        "\n  handle read(client, entry, bookie)\n    + if fenced[bookie]\n      proved; every witness" in out
    )
    assert re.search(
        r"^2 changes of one guard tried\n +1 rule .*\n +1 leave the counterexample", out, re.MULTILINE
    )
    assert out.endswith("The mend, recovery_reads_fence=yes, changes 1 line of the rules.\n")
    assert "this is the mend" not in out  # the mend is an update: a read fences
    rules = ["title", "handle read(client in recoverer, entry, bookie)", "  +    if [5] fenced[bookie]"]
    target = "fencepost.cli.commands.known_repairs.difference_of_rules"
    for planted, marked in ((rules, True), ([*rules, "  +    fenced[bookie] := true"], False)):
        monkeypatch.setattr(target, lambda known, planted=planted: "\n".join(planted))
        _, out, _ = known("2614-N=2", "--repairs", "--jobs", "1", table=[BUG])
        assert ("every witness is reached; this is the mend" in out) is marked


def test_what_is_not_violated_has_no_repairs(known: Command) -> None:
    """The search says that nothing was tried, and does not claim that nothing helps."""
    mended = replace(BUG, broken="yes", mended="no")
    code, out, _ = known("2614-N=2", "--repairs", "--format", "json", table=[mended])
    (result,) = json.loads(out)["results"]
    assert (code, result["tried"], result["repairs"]) == (3, {}, [])
    assert "proved" in result["found"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--repairs",), "--repairs: needs the name of a bug; fencepost known --list lists them"),
        (("2614", "--repairs", "--mend"), "--mend: not with --repairs; leave it out"),
        (("2614", "--repairs", "--list"), "--repairs: not with --list; leave it out"),
    ],
)
def test_repairs_need_a_bug_and_no_other_view(
    known: Command, arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = known(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


# The document.


@pytest.mark.parametrize("with_bug", [True, False])
def test_a_row_of_the_document_has_the_values_of_its_run(with_bug: bool) -> None:
    """Planted: the value of the switch is the name of the bug; the seconds are those of nothing."""
    result = Result(BUG.property, Verdict.UNDECIDED, seconds=2.5, solver="none", reason="why")
    row = k.from_record(RUN, KnownRow(Run(BUG, with_bug), result, reached=True))
    about = ("bug", "sentence", "source", "protocol", "property", "switch")
    assert [row[key] for key in about] == [
        *(BUG.name, BUG.wrong, BUG.source, BUG.protocol, BUG.property, BUG.switch)
    ]
    assert row["settings"] == dict(BUG.settings)
    assert (row["value"], row["with_bug"]) == (BUG.broken if with_bug else BUG.mended, with_bug)
    assert row["expected"]["verdict"] == ("violated" if with_bug else "proved")
    assert (row["found"]["verdict"], row["found"]["reason"]) == ("undecided", "why")
    assert (row["as_expected"], row["seconds"]) == (None, 2.5)
