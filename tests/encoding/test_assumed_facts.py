"""Facts that are inductive over one action are taken for granted by searches for violations; others never are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from fencepost.encoding.engine import check
from fencepost.encoding.engine.houdini import Houdini
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.language.protocol import load
from fencepost.encoding.language.system import Invariant

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "two_phase_commit.py"


def checked() -> tuple[Verdict, int | None]:
    """The verdict on the property that a majority of votes violates, and in how few steps."""
    protocol = load(EXAMPLE)
    parameters = protocol.parameters([("votes", "majority")])
    system = protocol.system(parameters)
    outcome = check.check(system, protocol.subject(parameters), system.properties[:1], Limits())
    (result,) = outcome.results
    return result.verdict, result.steps


def assume(monkeypatch: pytest.MonkeyPatch, which: str) -> list[str]:
    """Assume these facts: `all`, `none`, or those that are `inductive`. Names of those assumed are in the list afterwards."""
    inductive, assumed = check._inductive, list[str]()

    def chosen(proving: Houdini, facts: Sequence[Invariant]) -> tuple[Invariant, ...]:
        found = {"all": tuple(facts), "none": ()}.get(which, inductive(proving, facts))
        assumed.extend(fact.name for fact in found)
        return found

    monkeypatch.setattr(check, "_inductive", chosen)
    return assumed


def test_what_is_inductive_is_assumed_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the facts one is false where a majority decides; the violation is found as if none were assumed."""
    assumed = assume(monkeypatch, "inductive")
    assert checked() == (Verdict.VIOLATED, 7)
    assert assumed == ["heard-has-voted", "abort-is-told-or-own"]
    assume(monkeypatch, "none")
    assert checked() == (Verdict.VIOLATED, 7)


def test_a_false_fact_that_is_assumed_hides_the_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    """So what is assumed reaches the search, and must be true."""
    assume(monkeypatch, "all")
    assert checked()[0] is not Verdict.VIOLATED
