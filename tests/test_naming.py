"""A counterexample is named after the known bug without which its steps violate nothing, and after no other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.cli.exits import exit_code
from fencepost.cli.known_names import line, names_of, new
from fencepost.cli.main import run
from fencepost.encoding.checking.verdicts import Outcome, Result, Verdict
from fencepost.properties.naming import known_bugs
from support.realcode import kept_trace


@pytest.mark.parametrize(
    ("bug", "named"),
    [
        ("#2614-2/2/2", ["#2614"]),
        ("phantom-read", ["phantom-read"]),
        ("early-commit", ["early-commit"]),
        ("#3005-3/2/2", ["#3005"]),
        ("pulsar#6505", ["pulsar#6505"]),
    ],
)
def test_a_counterexample_is_named_after_its_bug(bug: str, named: list[str]) -> None:
    """Planted: naming whatever bug the switches of the instance allow names phantom-read everywhere."""
    assert [known.name for known in known_bugs(kept_trace(bug))] == named


def test_a_mend_is_tried_once_for_all_bugs_that_it_mends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: tried for each row of the table; #2614 has four."""
    asked: list[dict[str, str]] = []

    def tried(protocol: object, trace: object, mended: dict[str, str]) -> bool:
        asked.append(mended)
        return False

    monkeypatch.setattr("fencepost.properties.naming._is_mended", tried)
    assert known_bugs(kept_trace("#2614-2/2/2")) == []
    assert {"recovery_reads_fence": "yes"} in asked
    assert len(asked) == len({tuple(mended.items()) for mended in asked})


def result(trace: str | None) -> Result:
    """What a check that found this says."""
    if trace is None:
        return Result("no-divergence", Verdict.UNDECIDED, seconds=1.0, solver="cadical", reason="time-out")
    kept = kept_trace(trace)
    return Result(
        kept.property, Verdict.VIOLATED, seconds=1.0, solver="cadical", trace=kept, steps=len(kept.steps)
    )


def test_the_verdict_line_names_the_bug_and_its_releases() -> None:
    said = line(result("#2614-2/2/2"), ["#2614"])
    assert said.endswith("; known: #2614 (4.6.0 to 4.13.0); see docs/known.md  [1.0 s]")
    assert "known" not in line(result("#2614-2/2/2"), [])


def test_what_is_known_decides_no_exit_code_and_what_is_new_does() -> None:
    """Of several counterexamples of a property each has to be known. Planted: `any` for `all` in names_of."""
    known, undecided = result("#2614-2/2/2"), result(None)
    assert known.trace is not None
    stranger = replace(known.trace, switches={**known.trace.switches, "recovery_reads_fence": "yes"})
    both = replace(known, more_traces=(stranger,))
    for results, code in (((known,), 0), ((known, undecided), 3), ((both,), 1)):
        outcome = Outcome(results, 1.0, False, {})
        found = [names_of(one) for one in results]
        assert exit_code(new(outcome, found), False, None, False) == code
        assert exit_code(outcome, False, None, False) == 1


@pytest.mark.slow
def test_known_as_expected_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--set=ensemble=2", "--set=write_quorum=2", "--property=no-divergence", "--minimize=none"]
    assert run(["check", "bookkeeper-4.13", *sizes]) == 1
    assert run(["check", "bookkeeper-4.13", *sizes, "--known-as-expected"]) == 0
    assert capsys.readouterr().out.count("; known: #2614 (4.6.0 to 4.13.0)") == 2
    assert run(["check", "bookkeeper-4.13", "--known-as-expected", "--expect=proved"]) == 2
