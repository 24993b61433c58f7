"""Scripts on the model: their form, the moves they make, and the messages for what they cannot do."""

from __future__ import annotations

from pathlib import Path

import pytest

from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.errors import BadInput
from fencepost.encoding.forms.counterexample import OF_PATH, Counterexample
from fencepost.explore.scripts import run_script, script_in
from support.instances import checked
from support.realcode import SCRIPTS

HEAD = "protocol bookkeeper\nset bookies=2 ensemble=1 write_quorum=1 ack_quorum=1 entries=1\n"
PUSHED = HEAD + "create ledger\npush 1 1\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "steps.txt"


def ran(path: Path, text: str, prop: str | None = None) -> Counterexample:
    path.write_text(text, encoding="utf-8")
    script = script_in(path)
    assert script is not None
    return run_script(script, prop)


def refused(path: Path, text: str, prop: str | None = None) -> str:
    with pytest.raises(BadInput) as error:
        ran(path, text, prop)
    assert "\n" not in str(error.value)
    return str(error.value).removeprefix(f"{path}: ")


def test_a_script_is_run_step_by_step(path: Path) -> None:
    found = ran(path, f"# a comment\n\n{PUSHED}handle add(w, 1, 1, b1)  # the form of traces\n")
    assert found.prop is OF_PATH
    assert [step.action for step in found.trace.steps] == ["create ledger", "push", "handle add"]
    assert found.trace.parameters["bookies"] == 2


def test_a_step_that_is_not_possible_names_its_line_the_guard_and_what_is_possible(path: Path) -> None:
    """Planted: a step that the model refuses is skipped in silence."""
    said = refused(path, f"{PUSHED}receive ack w 1 1 b1\nhandle add w 1 1 b1\n")
    assert said.startswith("line 5: receive ack(w, 1, 1, b1): is not possible after step 2; ")
    assert "false in its guard: add_handled[w, 1, 1, b1] (add_handled[w, 1, 1, b1] = no)" in said
    assert "possible: handle add(w, 1, 1, b1), begin change(w, 1, 1, b1), " in said


UNKNOWN = {
    "line 3: push 1: no such action; valid: push(": HEAD + "push 1\n",
    "line 4: pull 1 1: no such action; valid: ": HEAD + "create ledger\npull 1 1\n",
    "line 3: nothing: no such message to lose; valid: ": HEAD + "lose nothing\n",
    "line 3: set 1 1: ": HEAD + "set 1 1\n",
    "line 2: protocol paxos: a script begins with one": "protocol bookkeeper\nprotocol paxos\npush 1 1\n",
    "line 3: property: a script begins with one": HEAD + "property\n",
    "has no step; give steps, such as `create ledger`": HEAD,
    "paxos: no such protocol": "protocol paxos\npush 1 1\n",
    "boookies: ": "protocol bookkeeper\nset boookies=1\npush 1 1\n",
    "4.99.0: ": "protocol bookkeeper\nrelease 4.99.0\npush 1 1\n",
    "no-loss: no such property": HEAD + "property no-loss\ncreate ledger\n",
    "no-divergence holds after the last step; nothing is": HEAD + "property no-divergence\ncreate ledger\n",
}


@pytest.mark.parametrize(("says", "text"), UNKNOWN.items(), ids=list(UNKNOWN))
def test_an_unknown_name_is_one_line(says: str, text: str, path: Path) -> None:
    assert says in refused(path, text)


def test_a_loss_is_a_line_of_its_own(path: Path) -> None:
    lost = ran(path, f"{HEAD}lose add_lost[w, 1, b1]\ncreate ledger\npush 1 1\n")
    assert lost.trace.faults == {"lost": 1}
    said = refused(path, f"{PUSHED}lose add_lost[w,1,b1]\nhandle add w 1 1 b1\n")
    assert said.startswith("line 6: handle add(w, 1, 1, b1): is not possible")


def test_settings_and_release_are_those_of_a_check(path: Path) -> None:
    head = HEAD.replace("\n", "\nrelease 4.17.4\n", 1).replace(" entries", "\nset entries")
    found = ran(path, f"{head}create ledger\n")
    assert found.trace.switches["add_ensemble"] == "when-made"


@pytest.mark.parametrize("text", ["{}", "", "# nothing\n", "create ledger\n"])
def test_another_text_is_no_script(text: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8")
    assert script_in(path) is None


@pytest.mark.slow
def test_the_last_step_of_the_chain_loses_an_entry() -> None:
    script = script_in(SCRIPTS / "chained-changes.txt")
    assert script is not None
    found = run_script(script)
    assert (found.prop.name, len(found.trace.steps)) == ("acked-entries-readable", 14)


ON_THREE = """\
protocol bookkeeper
set bookies=3 ensemble=2 write_quorum=2 ack_quorum=1 entries=4 inflight=4 fragments=3
set chained_changes=one-difference
property acked-entries-readable

create ledger
push 1 1
push 1 2
begin change w 1 1 b1
note failure w 1 2 b1
commit and continue w 1 b1 b3 1
push 2 3
push 2 4
handle add w 2 3 b3
receive ack w 2 3 b3
note failure w 2 4 b3
continue change w 2 1
commit change w 2 b3 b1
handle add w 1 1 b2
receive ack w 1 1 b2
handle add w 1 2 b2
receive ack w 1 2 b2
"""


@pytest.mark.slow
def test_an_idle_change_in_the_chain_loses_an_entry_on_three_bookies(path: Path) -> None:
    """Planted: changes that are compared one by one note no failure."""
    assert len(ran(path, ON_THREE).trace.steps) == 17
    assert "note failure w 1 2 b1: no such action" in refused(
        path, ON_THREE.replace("one-difference", "each-alone")
    )


@pytest.mark.long
def test_changes_that_are_compared_one_by_one_lose_nothing_there() -> None:
    sizes = {"bookies": 3, "ensemble": 2, "write_quorum": 2, "ack_quorum": 1, "entries": 4, "inflight": 4}
    settings = {**sizes, "fragments": 3, "chained_changes": "each-alone"}
    assert checked("bookkeeper", settings, "acked-entries-readable").verdict is Verdict.PROVED
