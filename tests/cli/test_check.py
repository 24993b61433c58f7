"""`fencepost check` as a contract: verdicts, exit codes, formats, bad input, time limits."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fencepost.cli.main import run
from fencepost.cli.options.protocols import find_protocol
from fencepost.cli.rendering.verdict_text import try_next, verdict_line
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Outcome, Reached, Result, Verdict
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.system import Property
from fencepost.encoding.liveness.live_check import check_all
from support.commands import said
from support.instances import TWO_BOOKIES
from support.processes import children, gone
from support.refusing import slow_machine
from support.results import object_of

COMMAND = [sys.executable, "-m", "fencepost.cli"]
LARGE = [
    "check",
    "bookkeeper-4.13",
    "--set",
    "bookies=5",
    "--set",
    "entries=3",
    "--property",
    "no-divergence",
]
SIMULATION = ("--engine", "simulation")
LARGE += ["--set", "recovery_reads_fence=yes", "--engine", "rounds"]
SMALL = ("check", "bookkeeper-4.13", *(f"--set={name}={value}" for name, value in TWO_BOOKIES.items()))
EXAMPLES = Path(__file__).parents[2] / "examples"
LOSES = (*SMALL, "--property", "no-divergence")
FIXED = (*LOSES, "--set", "recovery_reads_fence=yes")


@pytest.mark.parametrize(
    ("command", "steps"), [(("check", "bookkeeper-4.13"), 17), (SMALL, 13)], ids=["documented", "two-bookies"]
)
def test_the_documented_command_finds_the_data_loss(
    command: tuple[str, ...], steps: int, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said(capsys, *command, "--property", "no-divergence")
    assert code == 1
    assert f"violated in {steps} steps (fewest: no shorter trace exists), without any fault" in out
    assert "Entry 1 is lost: " in out
    assert "LATE" in out
    assert "fencepost: " not in err


@pytest.mark.slow
def test_a_property_with_an_instance_of_its_own_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """Planted: both instances have one heading; the results of the second lack their instance."""
    asked = ("check", "bookkeeper-4.13", *SIMULATION, "--property", "valid-fragments", "--runs", "100")
    small = "bookies=2 ensemble=1 write_quorum=1 ack_quorum=1 entries=2"
    code, out, _ = said(capsys, *asked, "--property", "entries-in-order")
    first, second = (line for line in out.splitlines() if " simulations " in line)
    assert (first.startswith("entries-in-order: undecided"), small in first) == (True, False)
    assert second.startswith("valid-fragments: ")
    assert f"; on {small}" in second
    assert out.count(f"\nbookkeeper-4.13: {small} ") == 1
    code, out, _ = said(capsys, *asked, "--property", "entries-in-order", "--format", "json")
    document = json.loads(out)
    assert (code in (1, 3), document["parameters"]["ensemble"]) == (True, 3)
    of_most, own = (result["instance"] for result in document["results"])
    assert of_most is None
    assert (own["parameters"]["ensemble"], own["parameters"]["entries"], own["caps"]["fragments"]) == (
        1,
        2,
        2,
    )


LIGHTS = """
from dataclasses import dataclass
from fencepost.encoding.language import *

@dataclass(frozen=True)
class Parameters:
    nodes: int = parameter(3, "nodes")
    colours: int = parameter(1, "colours")
    both: str = switch(("yes", "no"), "nodes go on", "nowhere")

class S(StateSpace):
    def __init__(self, p):
        self.node = labels("node", "n", p.nodes)
        self.colour = labels("colour", "c", p.colours)
        self.on = family(BOOL, self.node, self.colour)

def go(s, n, c):
    \"""Go on.\"""
    return Action(when=~s.on[n, c], then=[s.on[n, c].set(True)], actor=n)

def build(p):
    s = S(p)
    on = lambda n: exists(s.colour, lambda c: s.on[n, c])
    some = at_least(2, s.node, on)
    three = Property("never-three", "no three are on", ~at_least(3, s.node, on), some, "two are on")
    node = s.node.values[-1]
    two = at_least(2, s.colour, lambda c: s.on[node, c])
    last = Property("last-off", "nothing", ~two | on(node), two, "it has two colours")
    return System(s, (each(go, s, s.node, s.colour),) if p.both == "yes" else (), (three, last))

PROTOCOL = Protocol("lights", "lights", Parameters(), build,
    exercised={"never-three": {"nodes": 2}, "last-off": {"nodes": 1, "colours": 2}})
"""


@pytest.fixture
def lights(tmp_path: Path) -> str:
    path = tmp_path / "lights.py"
    path.write_text(LIGHTS)
    return str(path)


def test_an_instance_that_exercises_a_property_is_asked_itself(
    capsys: pytest.CaptureFixture[str], lights: str
) -> None:
    """Planted: the file says that the default instance exercises nothing, and the violation is not found."""
    for engine in ((), SIMULATION):
        code, out, _ = said(capsys, "check", lights, *engine, "--property", "never-three")
        assert code == 1
        assert "never-three: violated in 3 steps" in out
        assert "another instance" not in out


def test_what_an_instance_does_not_exercise_is_asked_on_the_nearest_one(
    capsys: pytest.CaptureFixture[str], lights: str
) -> None:
    code, out, _ = said(capsys, "check", lights, "--property", "last-off", "--set", "nodes=4")
    line = next(line for line in out.splitlines() if line.startswith("last-off: proved"))
    assert code == 0
    assert "; on nodes=4 colours=2, as nothing is tested on colours=1  [" in line
    code, out, _ = said(capsys, "check", lights, "--set", "nodes=1", "--format", "json")
    document = json.loads(out)
    assert (code, document["parameters"]) == (0, {"nodes": 1, "colours": 1})
    found = {result["property"]: result["instance"] for result in document["results"]}
    assert {name: own["parameters"] for name, own in found.items()} == {
        "never-three": {"nodes": 2, "colours": 1},
        "last-off": {"nodes": 1, "colours": 2},
    }


def test_a_vacuous_property_names_the_parameter_that_has_to_grow(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "lights.py"
    path.write_text(LIGHTS.partition("    exercised=")[0] + ")")
    asked = ("check", str(path), "--property", "last-off")
    code, out, _ = said(capsys, *asked)
    assert code == 3
    assert (
        "last-off: vacuous: nothing was tested; never reached: it has two colours; reached with colours=2  ["
        in out
    )
    code, out, _ = said(capsys, *asked, "--set", "both=no")
    assert (code, "never reached: it has two colours  [" in out) == (3, True), "no size helps"


def test_an_undecided_property_says_how_far_it_came() -> None:
    """Each engine alone, within so many conflicts: rounds say their number, ic3 its frames and clauses."""
    instance = find_protocol("bookkeeper-4.13").instance(
        [("recovery_reads_fence", "yes")], drop_declared=True
    )
    asked = Limits(jobs=1, conflicts=300)
    lines = {}
    for engine in ("ic3", "rounds"):
        limits = replace(asked, engines=(engine,))
        (result,) = check_all(instance, instance.properties("no-divergence"), limits).results
        assert result.verdict is Verdict.UNDECIDED
        assert result.reached is not None
        assert (result.reached.memory or 0) > 2**20
        lines[engine] = verdict_line(result)
        assert object_of(result)["reached"] == vars(result.reached)
    assert re.search(r"; no round finished; ic3: [1-9]\d* frames? with [\d,]+ clauses?; ", lines["ic3"])
    longer = r"; no violation within \d rounds?; some execution needs more than \d rounds?; \d+\.\d GiB"
    assert re.search(longer, lines["rounds"])
    assert "ic3: " not in lines["rounds"]


@pytest.mark.parametrize(
    ("reason", "says"),
    [
        ("out of memory (hunt)", "more --memory"),
        ("no other engine was asked; the path that ic3 found has … more than are allowed", "larger --budget"),
        ("no other engine was asked; not inductive: go breaks it", "leave out --engine"),
        ("inductive; its witness was not reached: two are on; time-out after 9 s", "another instance"),
        (
            "time-out after 9 s; not inductive: go breaks it",
            "`fencepost invariants` shows what breaks the induction",
        ),
        ("time-out after 9 s", "--timeout 36, a smaller instance"),
        ("interrupted", None),
    ],
)
def test_what_to_try_next_depends_on_the_reason(reason: str, says: str | None) -> None:
    result = Result("p", Verdict.UNDECIDED, 9.0, "cadical", reason=reason, reached=Reached())
    found = try_next(result, Limits(timeout=9.0))
    assert (found is None) if says is None else (found is not None and says in found)
    assert try_next(replace(result, verdict=Verdict.HOLDS, reached=None), Limits()) is None


def test_within_a_bound_nothing_is_out_of_reach(capsys: pytest.CaptureFixture[str], lights: str) -> None:
    """Planted: a witness that the bound excludes is taken for one that is never reached."""
    asked = ("check", lights, "--property", "never-three", "--set", "nodes=4", "--bound", "1")
    code, out, _ = said(capsys, *asked)
    assert (code, "another instance" in out) == (3, False)
    assert "never-three: vacuous: nothing was tested; never reached within the bound: two are on" in out


def test_the_instance_asked_for_leaves_another_its_share_of_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted: the instance that is checked first gets all of the time."""
    asked: list[tuple[int, float]] = []

    def at_once(instance: Instance, properties: list[Property], limits: Limits, *hear: object) -> Outcome:
        asked.append((len(properties), limits.timeout - limits.gone))
        nothing: dict[str, Any] = {"seconds": 0.0, "solver": "none", "unreachable": True}
        results = [Result(p.name, Verdict.VACUOUS, **nothing) for p in properties]
        return Outcome(tuple(results), 0.0, False, {})

    monkeypatch.setattr("fencepost.cli.commands.check.check_all", at_once)
    monkeypatch.setattr("fencepost.cli.commands.check.with_hints", lambda asked: asked.outcome)
    assert run(["check", "bookkeeper-4.13", "--timeout", "1000"]) == 3
    (most, first), (few, second) = asked
    assert (few, most) == (2, 9)
    assert first <= 900
    assert second > 400


@pytest.mark.long
def test_with_a_switch_set_it_is_checked_there_too(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("check", "bookkeeper-4.13", "--property", "valid-fragments")
    code, out, _ = said(capsys, *asked, "--set", "recovery_floor=fragment")
    assert (code, "valid-fragments: proved" in out) == (0, True)
    assert "; on bookies=2 ensemble=1 " in out


def test_the_fix_is_proved(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, *FIXED, "--format", "json")
    assert code == 0
    document = json.loads(out)
    (result,) = document["results"]
    assert (result["verdict"], result["basis"]) == ("proved", "induction")
    assert result["witness"] is True
    assert "reading-fences" in result["invariants"]
    assert document["changed_switches"] == {"recovery_floor": "zero"}
    assert document["caps"]["fragments"] == 1


def test_the_bound_counts_protocol_steps(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, *LOSES, "--bound", "13")[0] == 1
    code, out, _ = said(capsys, *LOSES, "--bound", "12")
    assert (code, "no-divergence: vacuous" in out) == (3, True), (
        "no entry is acknowledged and recovered in 12 steps"
    )


def test_a_bound_below_the_longest_execution_is_no_proof(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, *FIXED, "--bound", "22")
    assert (code, "no-divergence: holds up to 22 steps (not a proof: longer executions exist)" in out) == (
        0,
        True,
    )
    assert said(capsys, *FIXED, "--bound", "22", "--expect", "proved")[0] == 1


def test_a_bound_beyond_the_longest_execution_is_a_proof(capsys: pytest.CaptureFixture[str]) -> None:
    tiny = ("--set", "bookies=1", "--set", "ensemble=1", "--set", "write_quorum=1", "--set", "ack_quorum=1")
    code, out, _ = said(
        capsys, "check", "bookkeeper-4.13", *tiny, "--property", "no-divergence", "--bound", "40"
    )
    assert (code, "no-divergence: proved" in out) == (0, True)


def test_a_limit_on_rounds_holds_and_says_that_it_is_no_proof(capsys: pytest.CaptureFixture[str]) -> None:
    asked = (*FIXED, "--engine", "rounds", "--bound")
    code, out, _ = said(capsys, *asked, "rounds=3")
    assert (code, "no-divergence: holds up to 3 rounds (not a proof" in out) == (0, True)
    assert said(capsys, *asked, "rounds=3", "--expect", "proved")[0] == 1
    assert said(capsys, *asked, "rounds=9", "--expect", "proved")[0] == 0


@pytest.mark.parametrize("limit", [("--bound", "rounds=1"), ("--budget", "lost=0"), ("--jobs", "1")])
def test_a_proof_over_one_action_stands_whatever_the_limits(
    capsys: pytest.CaptureFixture[str], limit: tuple[str, str]
) -> None:
    code, out, _ = said(capsys, *FIXED, *limit, "--expect", "proved")
    proved = "no-divergence: proved: by induction over one action with "
    assert (code, proved in out) == (0, True)


@pytest.mark.long
def test_a_property_that_nothing_exercises_is_vacuous(capsys: pytest.CaptureFixture[str]) -> None:
    one = (f"--set={name}=1" for name in ("bookies", "ensemble", "write_quorum", "ack_quorum", "fragments"))
    code, out, _ = said(capsys, "check", "bookkeeper-4.13", *one, "--property", "valid-fragments")
    assert (code, "valid-fragments: vacuous: nothing was tested" in out) == (3, True)


SECOND = """(
        Property(
            name="granted-first",
            meaning="a lease runs out after it was granted",
            holds=forall(s.token, lambda t: implies(s.expired[t], s.granted[t])),
            witness=exists(s.token, lambda t: s.expired[t]),
            witness_meaning="a lease has run out",
        ),
        kept,
    )"""
"""A property that holds, beside the violated one of the lock with a lease."""


@pytest.mark.parametrize("small", [True, False], ids=["example", "bookkeeper"])
def test_expect_compares_with_the_worst_verdict(
    small: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The instance is checked once. The commands differ in what they expect."""
    outcomes: dict[str, Outcome] = {}

    def once(instance: Instance, *asked: Any) -> Outcome:
        name = str(instance.subject)
        if name not in outcomes:
            outcomes[name] = check_all(instance, *asked)
        return outcomes[name]

    monkeypatch.setattr("fencepost.cli.commands.check.check_all", once)
    own = tmp_path / "own.py"
    own.write_text((EXAMPLES / "lease_lock.py").read_text().replace("(kept,)", SECOND))
    of_both = (*SMALL, "--property", "entries-in-order", "--property", "no-divergence")
    asked = ("check", str(own)) if small else of_both
    codes = {"violated": 0, "proved": 1, "undecided": 1, "holds": 1, "vacuous": 1}
    for expected, code in codes.items():
        found, _, _ = said(capsys, *asked, "--minimize", "none", "--expect", expected)
        assert (expected, found) == (expected, code)
    assert [r.verdict.value for o in outcomes.values() for r in o.results] == ["proved", "violated"]


@pytest.mark.slow
def test_several_counterexamples_fire_different_sets_of_actions(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (
        "check",
        "bookkeeper-4.13",
        "--property",
        "no-divergence",
        "--count",
        "6",
        "--format",
        "json",
    )
    code, out, _ = said(capsys, *arguments)
    (result,) = json.loads(out)["results"]
    found = [result["trace"], *result["more_traces"]]
    fired = {frozenset((s["action"], *s["arguments"].values()) for s in trace["steps"]) for trace in found}
    assert (code, len(found), len(fired)) == (1, 6, 6)
    assert [len(trace["steps"]) for trace in found] == [17] * 6


def test_losses_are_minimized_and_budgeted(capsys: pytest.CaptureFixture[str]) -> None:
    tla = (
        "check",
        "bookkeeper-4.13-tla",
        "--property",
        "no-divergence",
        "--minimize",
        "faults",
        "--budget",
        "lost=0",
    )
    code, out, _ = said(capsys, *tla)
    assert code == 1
    assert "no-divergence: violated: needs no fault; " in out
    assert "; 19 steps, the shortest trace without faults" in out


def test_simulations_find_a_shallow_violation_and_never_prove(capsys: pytest.CaptureFixture[str]) -> None:
    defect = ["--set=ensemble=4", "--set=coverage=first-ack-quorum"]
    arguments = ("check", "bookkeeper", *SIMULATION, *defect, "--runs", "500", "--seed", "3")
    code, out, _ = said(capsys, *arguments, "--property", "fencing-is-enough")
    assert (code, "fencing-is-enough: violated in " in out) == (1, True)
    code, out, _ = said(capsys, *arguments, "--property", "entries-in-order", "--runs", "50")
    assert code == 3
    assert "entries-in-order: undecided: 50 simulations" in out
    assert "It never proves that there are none." in out


BAD_INPUT = [
    (
        ("check", "bookeeper"),
        "bookeeper: no such protocol (did you mean bookkeeper, bookkeeper-core or bookkeeper-4.13?); ",
    ),
    (("check", "nothing.py"), "nothing.py: no such file"),
    (
        ("check", "bookkeeper-4.13", "--set", "bookie=3"),
        "(did you mean bookies or new_bookie?); fencepost protocols bookkeeper-4.13 lists them",
    ),
    (("check", "bookkeeper-4.13", "--set", "bookies=0"), "bookies=0: must be 1 or more"),
    (("check", "bookkeeper-4.13", "--set", "bookies=three"), "bookies=three: a whole number is needed"),
    (
        ("check", "bookkeeper-4.13", "--set", "timeouts=some"),
        "timeouts=some: not a value of this switch; valid: any",
    ),
    (("check", "bookkeeper-4.13", "--set", "bookies"), "bookies: must have the form NAME=VALUE"),
    (
        ("check", "bookkeeper-4.13", "--set", "write_quorum=4"),
        "write_quorum=4, ensemble=3, bookies=3: breaks 1 <=",
    ),
    (("check", "bookkeeper-4.13", "--set", "ack_quorum=4"), "ack_quorum=4"),
    (
        ("check", "bookkeeper-4.13", "--property", "no-loss"),
        "no-loss: no such property; valid: no-divergence",
    ),
    (("check", "bookkeeper-4.13", "--format", "xml"), "'xml' is not one of"),
    (("check", "bookkeeper-4.13", "--solver", "magic"), "'magic' is not one of"),
    (("check", "bookkeeper-4.13", "--budget", "crashes=1"), "crashes: no such fault here; valid: lost"),
    (("check", "bookkeeper-4.13", "--budget", "lost=few"), "lost=few: a budget is a whole number"),
    (("check", "bookkeeper-4.13", "--bound", "-1"), "-1: must be a whole number from 0 to"),
    (("check", "bookkeeper-4.13", "--timeout", "0"), "must be a number above 0"),
    (("check", "bookkeeper-4.13", *SIMULATION, "--runs", "0"), "0: must be a whole number from 1 to"),
    (("check", "bookkeeper-4.13", *SIMULATION, "--bound", "3"), "--bound: not with --engine simulation"),
    (
        (*LOSES, "--minimize", "none", "--output", "/nowhere/x"),
        "/nowhere/x: cannot be written",
    ),
    (("check", "bookkeeper-4.13", "--traces", "/proc/nowhere"), "/proc/nowhere: cannot be written to"),
    (("check",), "Missing argument 'PROTOCOL|FILE.py'"),
    (("frobnicate",), "No such command"),
    (("protocols", "bookeeper"), "bookeeper: no such protocol"),
    (("export", "nowhere.json"), "nowhere.json: cannot be read"),
]


@pytest.mark.parametrize(
    ("arguments", "message"), BAD_INPUT, ids=lambda x: " ".join(x) if isinstance(x, tuple) else ""
)
def test_bad_input_gets_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    with slow_machine():
        code, out, err = said(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="other kernels do not limit address space")
def test_too_little_memory_is_undecided(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "check", "bookkeeper-4.13", "--memory", "0.06", "--property", "no-divergence")
    assert (code, "no-divergence: undecided: " in out, "memory" in out) == (3, True, True)


def test_a_time_out_that_is_over_at_the_start_names_the_time_that_was_given() -> None:
    """On a busy machine the message for `--timeout 1` once named 1.4 s.

    Planted: the message names the time that the start took.
    """
    done = subprocess.run([*COMMAND, *LARGE, "--timeout", "0.1"], capture_output=True, text=True, check=False)
    assert (done.returncode, "undecided: time-out after 0.1 s; no " in done.stdout) == (3, True)


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_a_time_out_is_undecided_and_leaves_no_process_behind() -> None:
    process = subprocess.Popen([*COMMAND, *LARGE, "--timeout", "1"], stdout=subprocess.PIPE, text=True)
    while not (started := children(process.pid)) and process.poll() is None:
        time.sleep(0.05)
    begun = time.monotonic()
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 3
    assert "no-divergence: undecided: time-out after 1 s; no " in out
    assert time.monotonic() - begun < 15
    assert started
    assert gone(started)


@pytest.mark.slow
def test_a_time_out_says_how_deep_the_search_came(capsys: pytest.CaptureFixture[str]) -> None:
    """3 seconds are enough for one round on an idle machine, and too few for an answer."""
    slow = ("check", "bookkeeper-4.13", "--set", "entries=2", "--set", "recovery_reads_fence=yes")
    for seconds in ("3", "12", "48"):
        code, out, _ = said(
            capsys,
            *(*slow, "--property", "no-divergence", "--engine", "rounds"),
            *("--format", "json", "--timeout", seconds),
        )
        (result,) = json.loads(out)["results"]
        reason = f"time-out after {seconds} s"
        assert (code, result["verdict"], result["reason"]) == (3, "undecided", reason)
        if result["rounds"] >= 1:
            return
    raise AssertionError("no round was finished in 48 s")
