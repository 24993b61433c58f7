"""Paths of the explorer: saved, opened again, refused in one line, and asked about."""

from __future__ import annotations

import json
import time
from functools import cache
from pathlib import Path

import pytest

from fencepost.cli.main import run
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.protocol import load
from fencepost.encoding.liveness.live_check import check_all
from fencepost.encoding.rounds.reachability import ReachabilityAnswer
from fencepost.explore.explorer import Explorer, Here
from fencepost.explore.paths import Move
from fencepost.explore.saved_paths import document, opened
from fencepost.explore.solver_questions import SolverDesk
from fencepost.explore.views import view
from fencepost.properties.catalogue import find

TRACE = Path(__file__).parents[3] / "docs" / "traces" / "bookkeeper-4.13.no-divergence.json"
PUSHED = ("create ledger", "push(1, 1)")


@cache
def explorer(*settings: tuple[str, str]) -> Explorer:
    return Explorer(find("bookkeeper-4.13").instance(settings))


def at(*moves: str, within: Explorer | None = None) -> Here:
    within = within or explorer()
    return within.at(within.names.path(list(moves)))


def reached(here: Here, goal: str) -> tuple[str, list[Move]]:
    """Return the answer of the solver to a question about the end of a path, and the moves it found."""
    question = SolverDesk(here.explorer, Limits()).ask(here, goal)
    answer = ReachabilityAnswer()
    while not answer.over:
        answer = question.hear(0.2)
    return f"{question.words}: {answer}", question.way


def test_a_path_is_saved_and_shown_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explore = explorer()
    saved = document(explore.at(opened(explore, json.loads(TRACE.read_text()), "it", 11)))
    assert saved["schema"] == "fencepost.path/2"
    file = tmp_path / "path.json"
    file.write_text(json.dumps(saved))
    assert run(["export", str(file)]) == 0
    assert "path of 11 steps of bookkeeper-4.13, replayed" in capsys.readouterr().out
    again = opened(explore, json.loads(json.dumps(saved)), "it")
    assert again.at == 11 and document(explore.at(again)) == saved
    forged = file.read_text().replace('"stored[b3, 1]": 1', '"stored[b3, 1]": 0')
    assert forged != file.read_text()
    file.write_text(forged)
    assert run(["export", str(file)]) == 1


def test_what_violates_a_property_is_saved_as_a_trace(tmp_path: Path) -> None:
    explore, theirs = explorer(), json.loads(TRACE.read_text())
    ours = json.loads(json.dumps(document(explore.at(opened(explore, theirs, "it")))))
    assert all(ours[key] == theirs[key] for key in ("schema", "property", "faults", "initial", "steps"))
    file = tmp_path / "trace.json"
    file.write_text(json.dumps(ours))
    assert run(["export", str(file)]) == 0


def test_a_loop_is_shown_where_it_begins() -> None:
    """Planted: the state is compared with those before a step only, or not at all."""
    file = Path(__file__).parents[3] / "examples" / "alternating_bit.py"
    instance = load(file).instance((("receipts", "weak"),))
    (result,) = check_all(instance, instance.claims("value-arrives"), Limits()).results
    assert result.trace is not None and result.trace.loop is not None
    explore = Explorer(instance)
    path = opened(explore, json.loads(json.dumps(result.trace.to_json())), "it")
    repeats = [view(explore.at(path.to(at))).repeats for at in range(7)]
    assert repeats == [None, None, None, None, 2, None, 2], "a message is lost and sent again, then an answer"
    assert result.trace.loop.begins == 2


def test_losses_come_after_what_sent_them() -> None:
    explore = explorer()
    path = explore.names.path([*PUSHED, "lose add_lost[w, 1, b2]", "handle add(w, 1, 1, b1)"])
    kept = document(explore.at(path))
    assert kept["faults"] == {"lost": 1}
    again = opened(explore, kept, "it", 2)
    assert again.moves == path.moves and again.at == 3, "step 2, with the loss of what it sent"


@pytest.mark.parametrize(
    ("moves", "says"),
    [
        (("push(1,2)",), "push(1,2): no such action; valid: push(1, 1)"),
        (("push(1, 1)",), "move 1, push(1, 1): not possible here; not true: phase[w] == active"),
        (("lose nothing",), "nothing: no such message to lose; valid:"),
        (
            (*PUSHED, "handle add(w, 1, 1, b1)", "lose add_lost[w, 1, b1]"),
            "move 4, lose add_lost[w, 1, b1]: step 3, handle add(w, 1, 1, b1), would differ with this loss",
        ),
    ],
)
def test_a_move_that_is_not_possible_is_one_line(moves: tuple[str, ...], says: str) -> None:
    with pytest.raises(BadInput) as error:
        at(*moves)
    assert str(error.value).startswith(says), error.value
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("goal", "says"),
    [
        ("status", "status: is neither true nor false; compare it"),
        ("add_lost[w, 1, b1]", "add_lost[w, 1, b1] is a choice; a property"),
        ("nothing", "nothing: no such variable; fencepost explore PROTOCOL lists them"),
    ],
)
def test_a_goal_that_means_nothing_is_one_line(goal: str, says: str) -> None:
    with pytest.raises(BadInput) as error:
        SolverDesk(explorer(), Limits()).read(goal)
    assert str(error.value).startswith(says) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nothing"], "nothing: no such protocol"),
        (["bookkeeper-4.13", "--step", "3"], "--step 3: only with --trace"),
        (["bookkeeper", "--trace", str(TRACE)], "is of bookkeeper-4.13, not of bookkeeper"),
        (["bookkeeper-4.13", "--trace", str(TRACE), "--step", "18"], "valid: 0 to 17"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explore", *arguments]) == 2
    error = capsys.readouterr().err
    assert says in error and error.count("\n") == 1


def test_a_trace_is_opened_with_other_settings() -> None:
    """A bookie that was read from takes the late add, and refuses it once recovery reads fence."""
    late, saved = "handle add(w, 1, 1, b1)", json.loads(TRACE.read_text())
    for settings, change in (
        ((), ("stored[b1, 1]", 1)),
        ((("recovery_reads_fence", "yes"),), ("add_refused[w, 1, 1, b1]", True)),
    ):
        explore = explorer(*settings)
        path = opened(explore, saved, "it", 11).then(explore.names.move(late))
        changes = {str(name): value for name, value in explore.at(path).steps[-1].changes.items()}
        assert changes[change[0]] == change[1], changes


@pytest.mark.slow
def test_questions_of_an_author_are_answered() -> None:
    done, way = reached(at(), "acked[w, 1, b1] and acked[w, 1, b2] and status == closed")
    assert "becomes true: in " in done and "fewest" in done and way
    explore = explorer(("recovery_reads_fence", "yes"))
    path = opened(explore, json.loads(TRACE.read_text()), "it", 11)
    never, way = reached(explore.at(path), "no-divergence")
    assert never.startswith("no-divergence becomes false: never from here") and not way


@pytest.mark.slow
def test_a_question_can_be_stopped() -> None:
    question = SolverDesk(explorer(), Limits()).ask(at(), "no-divergence")
    question.hear(0.2)
    question.stop("stopped")
    begun = time.perf_counter()
    assert question.hear(600).over and time.perf_counter() - begun < 300
