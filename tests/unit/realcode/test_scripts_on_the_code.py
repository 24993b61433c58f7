"""The scripts that are shown as examples, on transcripts of real runs."""

from __future__ import annotations

import pytest

from fencepost.realcode.course import Ending
from fencepost.realcode.drive.code import Code
from fencepost.realcode.drive.writers import deliver_all
from fencepost.realcode.harness_session import Answer
from fencepost.realcode.reproduction import Reproduction, bookkeeper_of, reproduce
from fencepost.realcode.transcripts import read_transcript
from support.realcode import OF_SCRIPTS, kept_trace, script_trace

pytestmark = pytest.mark.slow

ENDINGS = {
    ("late-add", "4.17.4"): (Ending.FOLLOWED, None),
    ("chained-changes", "4.13.0"): (Ending.REPRODUCED, None),
    ("chained-changes", "4.17.4"): (Ending.REPRODUCED, None),
    ("bookie-comes-back", "4.13.0"): (Ending.UNDRIVABLE, 7),
    ("bookie-comes-back-2", "4.13.0"): (Ending.REPRODUCED, None),
    ("bookie-comes-back-2", "4.17.4"): (Ending.REPRODUCED, None),
}
"""By script and release: how the real run ended, and the step that cannot be driven."""


def played(name: str, release: str) -> Reproduction:
    transcript = read_transcript(OF_SCRIPTS / f"{name}.{release}.sorted.jsonl")
    return reproduce(script_trace(name), transcript.setting, transcript.playback())


@pytest.mark.parametrize(("name", "release"), ENDINGS)
def test_a_script_ends_on_the_code_as_it_did(name: str, release: str) -> None:
    run = played(name, release)
    assert (run.ending, run.step) == ENDINGS[name, release]
    assert not [step for step in run.steps if step.differs]
    assert run.as_release is (None if run.ending is Ending.UNDRIVABLE else True)


@pytest.mark.parametrize("release", ["4.13.0", "4.17.4"])
def test_an_acknowledged_entry_is_on_no_bookie_that_the_metadata_names(release: str) -> None:
    """Entry 2, seen on the code alone: acknowledged, placed on b1 and b4, and stored on b3."""
    seen = played("chained-changes", release).steps[-1].observations
    assert seen["acknowledged[2]"] is True
    assert seen["ensemble from 1"] == "b1, b4"
    assert [b for b in ("b1", "b2", "b3", "b4") if seen[f"stored[{b}, 2]"]] == ["b3"]


def test_the_script_of_issue_4459_has_the_steps_of_its_known_bug() -> None:
    ours, kept = script_trace("bookie-comes-back"), kept_trace("#4459")
    assert [step.name for step in ours.steps] == [step.name for step in kept.steps]


class Answering:
    """A session that notes which requests are delivered, with two bookies that are up."""

    def __init__(self) -> None:
        self.delivered: list[object] = []

    def ask(self, command: str, **arguments: object) -> Answer:
        if command == "deliver":
            self.delivered.append(arguments["id"])
            return {"answer": "OK"}
        return {"metadata": None, "told": [], "requests": [], "bookies": dict.fromkeys(("b1", "b2"), UP)}


UP = {"up": True}


def test_an_add_hangs_only_if_requests_that_the_model_does_not_have_are_delivered_too() -> None:
    """Planted: only requests of the model are delivered. A chain that had ended early then seemed to hang."""
    trace, session = script_trace("late-add"), Answering()
    _, parameters = bookkeeper_of(trace)
    code = Code(session, parameters, trace.steps[:1])
    code.look()
    code.unclaimed += [{"id": number, "to": f"b{number}", "client": "w"} for number in (1, 2)]
    deliver_all(code)
    assert session.delivered == [1, 2]
