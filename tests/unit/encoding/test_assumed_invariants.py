"""Searches for violations assume the invariants that are inductive over one action, and no others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from fencepost.encoding.check import check
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.induction import inductive_proof
from fencepost.encoding.induction.houdini import Houdini
from fencepost.encoding.language.protocol import load
from fencepost.encoding.language.system import Invariant

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "two_phase_commit.py"


def checked() -> tuple[Verdict, int | None]:
    """Return the verdict on the property that a majority of votes violates, and the number of its steps.

    With a limit on conflicts the search begins after the induction.
    """
    protocol = load(EXAMPLE)
    instance = protocol.instance([("votes", "majority")])
    limits = Limits(jobs=1, conflicts=10**9)
    outcome = check(instance, instance.properties()[:1], limits)
    (result,) = outcome.results
    return result.verdict, result.steps


def assume(monkeypatch: pytest.MonkeyPatch, which: str) -> list[str]:
    """Make searches assume `all`, `none` or the `inductive` invariants; return the list of their names."""
    inductive, assumed = inductive_proof.proved_of, list[str]()

    def chosen(houdini: Houdini, invariants: Sequence[Invariant]) -> tuple[Invariant, ...]:
        found = {"all": tuple(invariants), "none": ()}.get(which, inductive(houdini, invariants))
        assumed.extend(invariant.name for invariant in found)
        return found

    monkeypatch.setattr(inductive_proof, "proved_of", chosen)
    return assumed


def test_what_is_inductive_is_assumed_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the invariants is false if a majority decides.

    The violation is found as if none were assumed.
    """
    assumed = assume(monkeypatch, "inductive")
    assert checked() == (Verdict.VIOLATED, 7)
    assert list(dict.fromkeys(assumed)) == ["heard-has-voted", "abort-is-told-or-own"]
    assume(monkeypatch, "none")
    assert checked() == (Verdict.VIOLATED, 7)


def test_a_false_invariant_that_is_assumed_hides_the_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The assumed invariants reach the search, and they must be true."""
    assume(monkeypatch, "all")
    assert checked()[0] is not Verdict.VIOLATED
