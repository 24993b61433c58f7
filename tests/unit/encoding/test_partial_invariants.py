"""`fencepost invariants` says what it knows by a time-out: one claim that takes long hides no other."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Generator
from pathlib import Path
from typing import Any

import pytest

from fencepost.cli.commands.invariants import InvariantsReport
from fencepost.cli.exits import ExitCode
from fencepost.encoding.induction import invariants_examined
from fencepost.encoding.induction.invariants_examined import Breaks, Examined, InductiveInvariant, examine
from fencepost.encoding.induction.proof_obligations import ObligationQuestion
from fencepost.encoding.induction.withdrawal import ObligationSolver
from fencepost.encoding.language.protocol import load
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.solving.solvers import Progress

OWNER = Path(__file__).parents[3] / "examples/one_owner.py"
EVENTS = 300
"""More messages than the examination of the other claims sends."""


def examined(monkeypatch: pytest.MonkeyPatch, hard: str) -> list[Examined]:
    """Return the first messages about the example, while questions about the `hard` claim take for ever."""
    ask = ObligationSolver.ask

    def asked(
        self: ObligationSolver, question: ObligationQuestion, claims: Any, about: Collection[str], *rest: Any
    ) -> Generator[Progress, None, Any]:
        while hard in about and hard in question.fails:
            yield Progress("induction", 1, 0, 0)
        return (yield from ask(self, question, claims, about, *rest))

    monkeypatch.setattr(ObligationSolver, "ask", asked)
    protocol = load(OWNER)
    system = protocol.system(protocol.parameters(()))
    return list(itertools.islice(examine(system, Subject("", {}, {}), system.properties, 4), EVENTS))


def kept(events: list[Examined]) -> set[str]:
    return {event.name for event in events if isinstance(event, InductiveInvariant)}


@pytest.mark.parametrize("hard", ["servers-own", "one-owner", "one-server"])
def test_the_other_claims_have_their_answers(hard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = examined(monkeypatch, hard)
    assert len(found) == EVENTS and not any(isinstance(event, Breaks) for event in found)
    assert kept(found) == {"servers-own", "one-owner", "one-server"} - {hard}


def test_without_putting_off_one_claim_hides_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invariants_examined, "FEW_SLICES", 10 * EVENTS)
    assert kept(examined(monkeypatch, "one-server")) == set()


def test_what_is_undecided_is_no_success() -> None:
    """All claims may be kept while it is open whether a step is badly defined."""
    assert InvariantsReport(("i",), kept={"i"}).code is ExitCode.SUCCESS
    assert InvariantsReport(("i",), kept={"i"}, undecided="time-out").code is ExitCode.UNDECIDED
