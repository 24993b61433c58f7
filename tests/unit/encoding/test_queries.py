"""Queries for other solvers agree with the search: SMT-LIB 2 for cvc5, DIMACS for two SAT solvers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from pysat.formula import CNF
from pysat.solvers import Solver

from fencepost.cli.main import run
from fencepost.encoding.check import check
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Result, Verdict
from fencepost.encoding.evidence.one_action import ActionStep, steps
from fencepost.encoding.evidence.queries import ABOUT_ONE_PROPERTY, Encoded, Kind, Query
from fencepost.encoding.evidence.question_files import Asking, Question, remarks
from fencepost.encoding.language.actions import Action, Schema
from fencepost.encoding.language.protocol import Protocol, load
from fencepost.encoding.language.sorts import integers
from fencepost.encoding.language.state import StateSpace, variable
from fencepost.encoding.language.system import Invariant, Property, System, choose
from fencepost.encoding.solving.answers import Deadline, No, Yes
from fencepost.encoding.solving.scripts import ask_cvc5
from fencepost.properties.catalogue import find
from support.bare import Bare
from support.instances import TWO_BOOKIES

EXAMPLES = Path(__file__).parents[3] / "examples"
COPIES, OWNER = str(EXAMPLES / "two_copies.py"), str(EXAMPLES / "one_owner.py")
FENCED = {"recovery_reads_fence": "yes"}
ONE_COPY = {"bookies": 2, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1, "entries": 2}
TWICE = {"clients": 2, "elections": 2}
DEGRADED = {"fence": "yes", "acknowledge": "reachable"}

Case = tuple[str, Mapping[str, object], str, Mapping[str, int]]
"""Protocol, settings, property, budgets."""

CASES: list[Case] = [
    (COPIES, {}, "nothing-lost", {}),
    (COPIES, DEGRADED, "nothing-lost", {"lost": 0}),
    (COPIES, DEGRADED, "nothing-lost", {"lost": 1}),
    (OWNER, {"brokers": 3, "release": "at-once"}, "one-server", {}),
]
SLOW: list[Case] = [
    ("bookkeeper-4.13", TWO_BOOKIES, "no-divergence", {}),
    ("bookkeeper-4.13", {**TWO_BOOKIES, **FENCED}, "no-divergence", {}),
    ("bookkeeper-4.13", FENCED, "acked-entries-readable", {"lost": 1}),
    ("bookkeeper-4.13", ONE_COPY, "valid-fragments", {}),
    ("ledger-chain", {**TWICE, "append_compares": "no"}, "written-ledgers-listed", {}),
    ("bookkeeper-no-journal", {}, "no-divergence", {"lost": 0}),
    ("ledger-chain", TWICE, "entry-order", {}),
]


def protocol_of(name: str) -> Protocol:
    return load(Path(name)) if name.endswith(".py") else find(name)


def searched(name: str, settings: Mapping[str, object], about: str, budgets: Mapping[str, int]) -> Result:
    """Return the result of the search."""
    protocol = protocol_of(name)
    parameters = protocol.parameters(settings.items())
    system = protocol.system(parameters)
    limits = Limits(jobs=1, budgets=budgets, rounds=system.default_rounds, engines=("rounds",))
    return check(Bare(system, protocol.subject(parameters)), choose(system, (about,)), limits).results[0]


def expected(result: Result) -> Iterator[tuple[str, int, bool]]:
    """Yield queries, their rounds, and whether they have an answer, as the search's result implies."""
    if result.verdict is Verdict.VIOLATED:
        yield "property", result.rounds, True
        yield "well-defined", result.rounds, False
        return
    assert result.verdict is Verdict.PROVED
    yield "property", result.rounds, False
    yield "witness", result.rounds, True
    yield "completeness", result.rounds, False
    yield "well-defined", result.rounds, False
    if result.rounds > 1:
        yield "completeness", result.rounds - 1, True


def built(
    name: str, settings: Mapping[str, object], question: Question, budgets: Mapping[str, int] | None = None
) -> tuple[str, str]:
    """Return the question as DIMACS text, as a certificate has it, and as the script that is exported."""
    protocol, within = protocol_of(name), budgets or {}
    parameters = protocol.parameters(settings.items())
    system = protocol.system(parameters)
    asking = Asking(system, system.properties, within)
    header = remarks(question, protocol.subject(parameters), within)
    return asking.clauses(question).dimacs(header), asking.smtlib(question, header)


def exported(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the script that is exported, without the line that names the version."""
    assert run(["export", *arguments, "--format", "smt2"]) == 0
    first, script = capsys.readouterr().out.split("\n", 1)
    assert first.startswith("; Fencepost ")
    return script


@pytest.mark.parametrize(
    ("name", "settings", "about", "budgets"),
    [
        pytest.param(*case, id=f"{Path(case[0]).stem}-{number}", marks=[pytest.mark.slow] * (case in SLOW))
        for number, case in enumerate([*CASES, *SLOW])
    ],
)
def test_other_solvers_answer_as_the_search_does(
    name: str, settings: Mapping[str, object], about: str, budgets: Mapping[str, int]
) -> None:
    for what, rounds, answer in expected(searched(name, settings, about, budgets)):
        kind = Kind(what)
        query = Query(kind, rounds, about if kind in ABOUT_ONE_PROPERTY else None)
        found = answers(*built(name, settings, query, budgets))
        assert found == dict.fromkeys(found, answer), (what, rounds)


def answers(dimacs: str, script: str) -> dict[str, bool]:
    """Return whether the query has an answer, by each of three solvers that no search uses."""
    found = {}
    for solver in ("glucose4", "lingeling"):
        with Solver(solver, bootstrap_with=CNF(from_string=dimacs).clauses) as other:
            found[solver] = other.solve()
    answer = ask_cvc5(script, Deadline(600))
    assert isinstance(answer, Yes | No)
    return {**found, "cvc5": isinstance(answer, Yes)}


UNFENCED = {"recovery_reads_fence": "no"}


def about_action(action: str | None, settings: Mapping[str, object]) -> ActionStep:
    """Return the query about the actions of that name, with the declared invariants and a property."""
    protocol = protocol_of("bookkeeper")
    system = protocol.system(protocol.parameters(settings.items()))
    claims = [*(invariant.name for invariant in system.invariants), "no-divergence"]
    return next(step for step in steps(system, claims) if step.action == action)


@pytest.mark.parametrize(
    ("action", "settings", "answer"),
    [
        (None, TWO_BOOKIES, False),
        ("handle add", TWO_BOOKIES, False),
        ("handle read", {**TWO_BOOKIES, **UNFENCED}, True),
    ],
)
def test_other_solvers_answer_what_is_asked_of_one_action(
    action: str | None, settings: Mapping[str, object], answer: bool
) -> None:
    """The last question is about an action that breaks an invariant: a recovery read that does not fence."""
    texts = built("bookkeeper", settings, about_action(action, settings))
    assert set(answers(*texts).values()) == {answer}


def test_a_query_about_an_action_says_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    given = [f"--set={name}={value}" for name, value in TWO_BOOKIES.items()]
    asked = ("--what=push", "--property=no-divergence")
    script = exported(capsys, "bookkeeper", *given, *asked)
    dimacs, same = built("bookkeeper", TWO_BOOKIES, about_action("push", TWO_BOOKIES))
    assert script.rstrip("\n") == same.rstrip("\n")
    lines = dimacs.splitlines()
    assert [line.removeprefix("c ") for line in lines[:5]] == [
        line.removeprefix("; ") for line in script.splitlines()[:5]
    ]
    assert lines[1].startswith("c action-push: from a state in which all of these hold, can push make one")
    assert "c 1 status = open before" in lines


NOTHING_LOST = Query(Kind.PROPERTY, 2, "nothing-lost")


def test_the_files_say_what_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--property", "nothing-lost", "--rounds", "2", "--budget", "lost=1")
    script = exported(capsys, COPIES, *arguments)
    dimacs, same = built(COPIES, {}, NOTHING_LOST, {"lost": 1})
    assert script.rstrip("\n") == same.rstrip("\n")
    lines = dimacs.splitlines()
    header = [line.removeprefix("c ") for line in lines[:6]]
    assert header == [line.removeprefix("; ") for line in script.splitlines()[:6]]
    assert header[0] == "two-copies: entries=1 fence=no acknowledge=both storage=disk"
    assert header[1] == "at most: lost 1"
    assert header[2] == "property-nothing-lost: is nothing-lost false after an execution of up to 2 rounds?"
    assert header[3].startswith("sat: nothing-lost is violated")
    assert header[4].startswith("unsat: nothing-lost holds within these rounds. If ")
    assert header[5].startswith("names: ")
    assert "(set-logic QF_LIA)" in script
    (problem,) = [line for line in lines if line.startswith("p cnf ")]
    clauses = lines[lines.index(problem) + 1 :]
    top = max(abs(int(word)) for clause in clauses for word in clause.split())
    assert problem == f"p cnf {top} {len(clauses)}"


def test_a_model_of_the_clauses_is_the_counterexample() -> None:
    dimacs, _ = built(COPIES, {}, NOTHING_LOST)
    named = [line.split(" ", 2) for line in dimacs.splitlines() if line[0] == "c"]
    names = {int(number): name for _, number, name in named if number.isdigit()}
    with Solver("minisat22", bootstrap_with=CNF(from_string=dimacs).clauses) as solver:
        assert solver.solve()
        true = {names[number] for number in solver.get_model() if number in names}
    fired = {name.rpartition(" in round ")[0] for name in true if " in round " in name}
    assert {"send(1)", "acknowledge(1)"} <= fired
    assert "holds:nothing-lost after round 2" not in true


class Counter(StateSpace):
    """A number from 0 to 3."""

    def __init__(self) -> None:
        self.n = variable(integers(0, 3))


def counting(below: int, claimed: int = 4) -> System:
    """Return a system that counts while it is below that number.

    Its property is always true. Its invariant is true if the number stays below `claimed`.
    """
    s = Counter()
    small = Property("small", "", s.n < 5, s.n == 2, "two is reached")
    action = Action(s.n < below, [s.n.set(s.n + 1)], actor="me")
    stays = Invariant("stays below", "", s.n < claimed)
    return System(s, (Schema("count", "", (), action),), (small,), invariants=(stays,))


def has_an_answer(system: System, query: Query) -> bool:
    clauses = Encoded(system, [], {}).clauses(query)
    with Solver("glucose4", bootstrap_with=clauses.clauses) as solver:
        return bool(solver.solve())


@pytest.mark.parametrize(
    ("below", "rounds", "answer"), [(3, 5, False), (4, 3, False), (4, 4, True), (4, 6, True)]
)
def test_a_wrong_step_is_found_in_whatever_round_it_is(below: int, rounds: int, answer: bool) -> None:
    system = counting(below)
    assert has_an_answer(system, Query(Kind.WELL_DEFINED, rounds)) is answer


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--what", "property"], "--what property: is about one property; say which with --property NAME"),
        (
            ["--what", "well-defined", "--property", "nothing-lost"],
            "--property nothing-lost: --what well-defined is about no property; leave it out",
        ),
        (["--property", "something"], "something: no such property; valid: nothing-lost"),
        (["--property", "nothing-lost", "--budget", "floods=1"], "floods: no such fault here; valid: lost"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["export", COPIES, "--rounds", "1", "--format", "smt2", *arguments])
    assert (code, capsys.readouterr()) == (2, ("", f"fencepost: {says}\n"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["--what=property", "--property=nothing-lost"],
            "--what property: is about rounds; say how many with --rounds R",
        ),
        (["--what=send", "--rounds=1"], "--rounds: not with --what send; leave it out"),
        (
            ["--what=beginning", "--budget=lost=1"],
            "--budget: not with --what beginning; leave it out",
        ),
        (
            ["--what=property", "--rounds=1", "--certificate=made"],
            "--certificate: not with --what property; leave it out",
        ),
        (
            ["--what=beginning"],
            "--what beginning: no invariants are declared here; say which property with --property NAME",
        ),
    ],
)
def test_an_option_of_another_query_is_refused(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["export", COPIES, "--format", "smt2", *arguments])
    assert (code, capsys.readouterr()) == (2, ("", f"fencepost: {says}\n"))


def test_an_action_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("fly", "action", "completeness"):
        assert run(["export", COPIES, f"--what={name}", "--property=nothing-lost", "--format=smt2"]) == 2
        told = capsys.readouterr().err
        assert f"--what {name}: no such query, and no action of that name; valid: property, " in told
        assert "beginning, send" in told
