"""Commands on a protocol that begins in several states: what is printed, saved, read again and refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fencepost.cli.main import run
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.protocol import load
from fencepost.encoding.mutation.mutant_findings import MutantOutcome
from fencepost.encoding.mutation.weakening import unchanged, weaken
from fencepost.explore.explorer import Explorer, Here
from fencepost.explore.saved_paths import document, opened
from fencepost.explore.solver_questions import SolverDesk
from fencepost.explore.views import view

RING = str(Path(__file__).parents[2] / "examples" / "ring_leader.py")
CHOSEN = ("begin own[n2] = 3",)
DIFFERENT = "different = forall_over((s.node, s.node), lambda n, m: (n == m) | (s.own[n] != s.own[m]))"


def saved(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """Return the file of the counterexample of the ring, and what is in it."""
    assert run(["check", RING, "--set", "nodes=2", "--traces", str(tmp_path)]) == 1
    (file,) = tmp_path.iterdir()
    return file, json.loads(file.read_text())


def test_a_trace_names_its_beginning_and_is_replayed_from_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, document = saved(tmp_path)
    assert "At first own[n1] = 1; own[n2] = 1\n" in capsys.readouterr().out
    assert (document["initial"]["own[n1]"], document["initial"]["own[n2]"]) == (1, 1)
    assert run(["export", str(file), "--protocol", RING]) == 0
    assert "At first own[n1] = 1; own[n2] = 1\n" in capsys.readouterr().out
    document["switches"]["identities"] = "different"
    document["system"] = None
    file.write_text(json.dumps(document))
    assert run(["export", str(file), "--protocol", RING]) in (1, 2)


@pytest.mark.parametrize("form", ["mermaid", "html", "itf"])
def test_a_violation_at_the_beginning_is_drawn(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        Path(RING)
        .read_text()
        .replace("holds=~at_least(2, s.node, lambda n: s.leads[n])", 'holds=s.own["n1"] == 1')
    )
    file = tmp_path / "ring.py"
    file.write_text(text)
    assert run(["check", str(file), "--format", form]) == 1
    out = capsys.readouterr().out
    assert "own" in out and ("At first" in out) is (form == "mermaid")


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (
            DIFFERENT,
            "different = forall_over((s.node, s.identity), lambda n, i: s.own[n] == i)",
            "beginning= holds in no state that the initial values allow; give the variables that it reads",
        ),
        (
            "initial=anything",
            "initial=one_of(1, 7)",
            "own[n1]: initial value 7 is not in its domain 1..3",
        ),
        (
            "initial=anything",
            "initial=one_of()",
            "one_of() names no value; name the initial values, or write",
        ),
        ("beginning=different if", "beginning=True if", "beginning= is True; write a term over the state"),
        (
            "beginning=different if",
            'beginning=s.own["n1"] if',
            "beginning= is a term of type int; compare it",
        ),
        (
            "beginning=different if",
            "beginning=s.lost if",
            "beginning= reads lost, which is a choice; it may read only",
        ),
    ],
)
@pytest.mark.parametrize("engine", [(), ("--engine=simulation",), ("--engine=states",)])
def test_what_is_no_beginning_is_refused_in_one_line(
    engine: tuple[str, ...],
    before: str,
    after: str,
    line: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = Path(RING).read_text()
    assert before in text
    text = text.replace(before, after).replace("    anything,\n", "    anything,\n    choice,\n    one_of,\n")
    lost = '        self.lost = choice(fault="lost")\n'
    text = text.replace("        self.leads =", f"{lost}        self.leads =")
    file = tmp_path / "ring.py"
    file.write_text(text)
    assert run(["check", str(file), *engine, "--set", "identities=different"]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 1 and line in told.err


def explored(*moves: str) -> Here:
    """Return the end of a path of the explorer. Raises BadInput."""
    explorer = Explorer(load(Path(RING)).instance())
    return explorer.at(explorer.names.path(list(moves)))


def own(here: Here, node: str) -> object:
    return here.trace.states[0][f"own[{node}]"]


def test_the_explorer_chooses_the_beginning(tmp_path: Path) -> None:
    here = explored(*CHOSEN, "start(n2)")
    assert own(here, "n2") == 3 and own(explored(), "n2") == 1
    assert "begin own[n3] = 2" in [other.name for other in view(explored(*CHOSEN)).beginnings]
    document_of_it = json.loads(json.dumps(document(here)))
    assert document_of_it["initial"]["own[n2]"] == 3
    again = opened(here.explorer, document_of_it, "it")
    assert [move.name for move in again.moves] == [*CHOSEN, "start(n2)"]
    _, of_two_nodes = saved(tmp_path / "traces")
    with pytest.raises(BadInput, match=r"own\[n3\] is missing; it has several initial values"):
        opened(here.explorer, of_two_nodes, "it")


def test_a_question_of_the_explorer_begins_in_the_chosen_state() -> None:
    here = explored("begin own[n2] = 2")
    question = SolverDesk(here.explorer, Limits()).ask(here, "leads[n2]")
    answer = question.hear(600)
    while not answer.over:
        answer = question.hear(600)
    assert str(answer).startswith(("in 3 steps", "in 4 steps")) and question.way


def test_the_explorer_refuses_what_is_no_beginning() -> None:
    for moves, line in (
        (("begin own[n2] = 4",), "own[n2] = 4: no such initial value to choose from; valid: own[n2]"),
        (("start(n1)", "begin own[n2] = 2"), "a step was taken already; undo the steps"),
    ):
        with pytest.raises(BadInput) as refused:
            explored(*moves)
        assert line in str(refused.value)


@pytest.mark.slow
def test_mutants_are_of_every_beginning() -> None:
    instance = load(Path(RING)).instance([("identities", "different"), ("nodes", "2")])
    limits = Limits(minimize=Minimize.NONE, jobs=1, enumeration_first=True, timeout=600.0)
    known = unchanged(instance, instance.properties(), limits)
    found = {m.text: f.outcome for m, f in weaken(known, limits)}
    (again,) = (outcome for text, outcome in found.items() if "not taken[" in text)
    assert again is MutantOutcome.NOTICED
    assert MutantOutcome.UNDECIDED not in found.values()
