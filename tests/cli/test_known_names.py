"""A counterexample gets the name of a known bug only if fixing this bug removes the violation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from fencepost.advice.explained_by import faults_of, known_bugs, others
from fencepost.advice.known import KNOWN
from fencepost.cli.main import run
from fencepost.cli.rendering.check_report import CheckReport, exit_code
from fencepost.cli.rendering.verdict_text import verdict_line
from fencepost.cli.requests import CheckedRequest, Request
from fencepost.encoding.check import check
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.verdicts import Outcome, Result, Verdict
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.traces import Trace
from fencepost.properties.catalogue import FAMILIES, find
from support.realcode import kept_trace
from support.tiers import each_third


@pytest.mark.parametrize(
    ("bug", "named"),
    each_third(
        [
            ("#2614-2/2/2", ["#2614"]),
            ("phantom-read", ["phantom-read"]),
            ("early-commit", ["early-commit"]),
            ("#3005-3/2/2", ["#3005-3/2/2"]),
            ("pulsar#6505", ["pulsar#6505"]),
        ]
    ),
)
def test_a_counterexample_is_named_after_its_bug(bug: str, named: list[str]) -> None:
    """Planted: every bug that the switches allow is named, and so phantom-read is always named."""
    assert [known.name for known in known_bugs(kept_trace(bug))] == named


@pytest.mark.slow
def test_the_faults_that_a_row_needs_are_those_of_its_model() -> None:
    """Planted: a fault whose parameter is declared as a number of something else, and so is never needed."""
    for known in KNOWN:
        protocol = find(known.protocol)
        parameters = protocol.parameters(known.settings.items())
        kinds = protocol.as_written(parameters).faults
        assert faults_of(known) == {k: most for k in kinds if (most := getattr(parameters, k, 0))}, known.name


@pytest.mark.parametrize("name", FAMILIES)
def test_the_sizes_that_exercise_a_property_exist(name: str) -> None:
    """Planted: sizes of a property that is not there. `check` trusts the protocols that ship."""
    find(name).check_exercised()


ONE_BOOKIE = {"bookies": 1, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1, "entries": 2}
SORTED = {"storage": "sorted", "second_copy": "dropped", "negative_answers": "after-fence"}
DB = {"storage": "db", "negative_answers": "after-fence"}


@pytest.mark.parametrize(
    ("storage", "faults", "prop", "named"),
    each_third(
        [
            (SORTED, {"restarts": 2}, "fences-beside-entries-stay", ["flushed-fence"]),
            (SORTED, {"restarts": 1}, "fences-stay", ["flushed-fence"]),
            (SORTED, {"restarts": 1, "crashes": 1}, "fences-beside-entries-stay", ["flushed-fence"]),
            (SORTED, {"crashes": 2}, "entries-stay", ["key-without-entry"]),
            (DB, {"restarts": 1}, "fences-beside-entries-stay", ["flushed-fence-db"]),
            (DB, {"crashes": 1}, "fences-beside-entries-stay", ["flushed-fence-db"]),
            (DB, {"crashes": 2}, "entries-stay", ["key-without-entry-db"]),
        ]
    ),
)
def test_a_counterexample_is_named_after_bugs_whose_faults_it_has(
    storage: dict[str, object], faults: dict[str, object], prop: str, named: list[str]
) -> None:
    """Bugs with the same fix are told apart by their faults and their property.

    A counterexample with restarts only was once named key-without-entry too, which takes two crashes.
    Planted: the faults are ignored; one crash is taken for two; the property of the row is ignored.
    """
    found = found_in(find("bookkeeper").instance({**ONE_BOOKIE, **storage, **faults}.items()), prop)
    assert [known.name for known in known_bugs(found)] == named


def found_in(instance: Instance, prop: str) -> Trace:
    """Return a counterexample of the instance to that property."""
    limits = Limits(minimize=Minimize.NONE, jobs=1)
    (result,) = check(instance, instance.properties(prop), limits).results
    assert result.trace is not None
    return result.trace


def test_a_mend_is_tried_once_for_all_bugs_that_it_mends(monkeypatch: pytest.MonkeyPatch) -> None:
    """#2614 has four rows in the table. Planted: the fix is tried for each row."""
    asked: list[dict[str, str]] = []

    def tried(protocol: object, trace: object, mended: dict[str, str]) -> bool:
        asked.append(mended)
        return False

    monkeypatch.setattr("fencepost.advice.explained_by._is_fixed", tried)
    assert known_bugs(kept_trace("#2614-2/2/2")) == []
    assert {"recovery_reads_fence": "yes"} in asked
    assert len(asked) == len({tuple(mended.items()) for mended in asked})


def result(trace: str | None) -> Result:
    """Return a violated result with this kept trace, or an undecided result without a trace."""
    if trace is None:
        return Result("no-divergence", Verdict.UNDECIDED, seconds=1.0, solver="cadical", reason="time-out")
    kept = kept_trace(trace)
    return Result(
        kept.property, Verdict.VIOLATED, seconds=1.0, solver="cadical", trace=kept, steps=len(kept.steps)
    )


def test_the_verdict_line_names_the_bug_and_its_releases() -> None:
    said = verdict_line(result("#2614-2/2/2"), ["#2614"])
    assert said.endswith("; known: #2614 (4.6.0 to 4.13.0); see fencepost known 2614  [1.0 s]")
    assert "known" not in verdict_line(result("#2614-2/2/2"), [])


def test_a_known_bug_names_the_others_that_it_may_hide() -> None:
    """Planted: a bug of another property, one whose rule is mended here, another row of the bug itself."""
    trace = kept_trace("#2614-2/2/2")
    hidden = others(trace, ["#2614"])
    assert hidden == ["force-after-close", "bare-fence-db", "#4812"]
    assert others(trace, []) == ["#2614", *hidden], "one row of each bug"
    mended = replace(trace, switches={**trace.switches, "force_after_close": "fails"})
    assert others(mended, ["#2614"]) == ["bare-fence-db", "#4812"]
    assert "stale-ensemble" not in hidden, "it violates another property"


def test_what_is_known_decides_no_exit_code_and_what_is_new_does() -> None:
    """If a property has several counterexamples, each of them has to be known.

    Planted: `any` instead of `all` in names_of.
    """
    known, undecided = result("#2614-2/2/2"), result(None)
    assert known.trace is not None
    stranger = replace(known.trace, switches={**known.trace.switches, "recovery_reads_fence": "yes"})
    both = replace(known, more_traces=(stranger,))
    for results, code in (((known,), 0), ((known, undecided), 3), ((both,), 1)):
        outcome = Outcome(results, 1.0, False, {})
        report = CheckReport([CheckedRequest(cast(Request, None), outcome)])
        assert exit_code(report.outcome(without_known=True), None, certify=False) == code
        assert exit_code(outcome, None, certify=False) == 1


@pytest.mark.slow
def test_known_violations_are_expected_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = ["--set=ensemble=2", "--set=write_quorum=2", "--property=no-divergence", "--minimize=none"]
    assert run(["check", "bookkeeper-4.13", *sizes]) == 1
    assert run(["check", "bookkeeper-4.13", *sizes, "--expect=known"]) == 0
    assert capsys.readouterr().out.count("; known: #2614 (4.6.0 to 4.13.0)") == 2
