"""One door to solvers: every question goes through it, and giving up is never taken for yes or no."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import z3

from fencepost.encoding.check import check
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.evidence.queries import Encoded
from fencepost.encoding.formulas.commutation import Commutation
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.formulas.traps import check_traps
from fencepost.encoding.solving import scripts, solvers
from fencepost.encoding.solving.answers import TIME_OUT, Deadline, GaveUp, No, SolverGaveUpError, Yes
from fencepost.encoding.solving.solvers import SOLVERS, Refuted, backend, refute
from fencepost.encoding.solving.terms import Terms, clausal
from fencepost.properties.catalogue import find
from fencepost.quorums import smt
from fencepost.quorums.smt import ask_z3

ROOT = Path(__file__).parents[3]
FLOORS = ("encoding", "quorums", "protocols", "properties", "realcode", "sweeps", "cli")
DOOR = Path("encoding/solving")

MODULES = {"pysat.solvers", "pysolvers", "cvc5"}
"""Modules that only the door imports."""
NAMES = {
    "Solver", "SolverFor", "SimpleSolver", "Optimize", "Fixedpoint", "Tactic", "Then", "OrElse", "TryFor",
    "Goal", "prove", "solve", "solve_using", "simplify_using",
}  # fmt: skip
"""The names with which z3 answers or transforms; terms may be built anywhere."""
CALLS = {"check", "solve_limited", "propagate", "solve_using", "check_sat"}
"""Methods that ask a solver.

`solve` is not among them, because `session.solve` is a question to the door.
"""


def knocks(source: str) -> Iterator[str]:
    """Yield the lines on which a module asks a solver past the door."""
    tree = ast.parse(source)
    uses_z3 = any(
        isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "z3" for alias in node.names)
        for node in ast.walk(tree)
    )
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (f"imports {alias.name}" for alias in names if alias.name in MODULES)
            case ast.ImportFrom(module=module, names=names):
                full = {module, *(f"{module}.{alias.name}" for alias in names)}
                yield from (f"imports {name}" for name in full & MODULES)
                if module in ("z3", "z3.z3"):
                    yield from (f"imports z3.{a.name}" for a in names if a.name in NAMES or a.name == "*")
            case ast.Attribute(value=ast.Name(id="z3" | "_z3"), attr=name) if name in NAMES:
                yield f"makes a z3.{name}"
            case ast.Call(func=ast.Attribute(attr=name)) if name in CALLS and (uses_z3 or name != "check"):
                yield f"calls .{name}()"


def shipped() -> list[Path]:
    files = [p.relative_to(ROOT) for floor in FLOORS for p in (ROOT / floor).rglob("*.py")]
    return [path for path in files if DOOR not in path.parents]


def test_nobody_asks_a_solver_past_the_door() -> None:
    found = {str(path): list(knocks((ROOT / path).read_text())) for path in shipped()}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import z3\nz3.Solver()",
        "import z3\ns = make()\ns.check()",
        "import z3\nz3.Then('simplify', 'sat')",
        "from z3 import SolverFor",
        "from z3 import *",
        "def f():\n    from pysat.solvers import Solver",
        "import pysat.solvers",
        "from pysat import solvers",
        "import cvc5",
        "x.solve_limited()",
        "x.propagate([1])",
    ],
)
def test_a_module_that_does_is_found(source: str) -> None:
    assert list(knocks(source))


def test_terms_and_encodings_may_be_made_anywhere() -> None:
    assert not list(knocks("import z3\nfrom pysat.card import CardEnc\nz3.And(z3.Bool('a'), z3.Not(b))"))


# The answers of the door.

A, B = z3.Bools("a b")


def test_terms_are_answered_with_yes_no_or_why_not() -> None:
    terms = Terms(given=[A])
    assert isinstance(terms.ask(B), Yes)
    assert terms.ask(z3.Not(A)) == No()
    assert isinstance(terms.ask(), Yes), "what was asked is forgotten"
    assert terms.ask(B, by=Deadline(0)) == TIME_OUT


def hard() -> list[z3.BoolRef]:
    """Return the factors of a prime, which no solver refutes quickly."""
    x, y = z3.BitVecs("x y", 64)
    half = z3.BitVecVal(1 << 32, 64)
    return [x * y == 2**63 - 25, z3.ULT(x, half), z3.ULT(y, half), z3.UGT(x, 1), z3.UGT(y, 1)]


def test_time_that_is_up_is_no_answer() -> None:
    assert Terms("QF_BV", hard()).ask(by=Deadline(0.2)) == TIME_OUT


def test_memory_that_is_out_is_no_answer() -> None:
    terms = Terms("QF_BV", hard())
    terms._solver.set("max_memory", 1)
    answer = terms.ask()
    assert isinstance(answer, GaveUp) and answer != TIME_OUT


def test_a_formula_that_z3_does_not_make_clauses_of_is_no_answer() -> None:
    with pytest.raises(SolverGaveUpError, match="z3, clauses: "):
        clausal([A], ["simplify", "fail"])


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_says_the_same(name: str) -> None:
    solver = backend(name)
    solver.add([[1, 2], [-1, 2]])
    match solver.ask([], 1000):
        case Yes(model):
            assert model[1] == 2
        case other:
            raise AssertionError(other)
    assert solver.ask([-2], 1000) == No()
    assert set(solver.core()) == {-2}


def pigeons(holes: int) -> list[list[int]]:
    """Return the clauses for one pigeon more than holes."""
    place = {(p, h): p * holes + h + 1 for p in range(holes + 1) for h in range(holes)}
    clauses = [[place[p, h] for h in range(holes)] for p in range(holes + 1)]
    pairs = [(p, q) for p in range(holes + 1) for q in range(p)]
    return clauses + [[-place[p, h], -place[q, h]] for h in range(holes) for p, q in pairs]


def test_conflicts_that_are_spent_are_no_answer_and_more_may_be_one() -> None:
    solver = backend("cadical")
    solver.add(pigeons(6))
    answer = solver.ask([], 3)
    assert isinstance(answer, GaveUp) and answer.may_go_on
    assert solver.ask([], 10**6) == No()


def test_a_refutation_comes_with_its_proof() -> None:
    answer = refute("cadical195", pigeons(3))
    assert isinstance(answer, Refuted) and answer.proof[-1] == "0"
    assert isinstance(refute("cadical195", [[1]]), Yes)


def test_an_error_of_pysats_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer says that the solver was interrupted."""
    import pysolvers

    def interrupted() -> bool:
        raise pysolvers.error("Caught keyboard interrupt")

    assert solvers._answer(interrupted) == GaveUp("Caught keyboard interrupt")


# Callers that get no answer.


@pytest.fixture
def gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make z3 give up on every question in terms, as if it was interrupted."""
    monkeypatch.setattr(Terms, "_check", lambda self, *given: GaveUp("canceled"))


def symbolic() -> Symbolic:
    protocol = find("bookkeeper-4.13")
    small = {"bookies": 1, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1}
    return Symbolic(protocol.instance(small.items()).system)


@pytest.fixture(scope="module")
def made() -> Symbolic:
    return symbolic()


def test_a_pair_without_an_answer_may_not_commute_in_this_run_alone(
    made: Symbolic, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Terms, "_check", lambda self, *given: GaveUp("canceled"))
        silent = Commutation(made)
        cautious = silent.blockers()
        assert silent.undecided > 0
    commutation = Commutation(made)
    right = commutation.blockers()
    assert commutation.undecided == 0 and commutation.asked > 0
    assert right != cautious
    assert all(set(few) <= set(many) for few, many in zip(right, cautious, strict=True))


def test_a_trap_without_an_answer_is_nobodys_fault(made: Symbolic, gives_up: None) -> None:
    trapped = [p for p in find("verified-log-01").instance([]).system.properties if p.traps]
    system = find("verified-log-01").instance([]).system
    with pytest.raises(SolverGaveUpError):
        check_traps(Symbolic(system), trapped)


def test_evidence_that_cannot_be_made_again_is_not_made(gives_up: None) -> None:
    system = (
        find("bookkeeper-4.13")
        .instance([("bookies", 1), ("ensemble", 1), ("write_quorum", 1), ("ack_quorum", 1)])
        .system
    )
    with pytest.raises(SolverGaveUpError, match="z3, "):
        Encoded(system, system.properties[:1], {})


def test_a_search_without_an_answer_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvers.PySat, "ask", lambda self, assumptions, conflicts: GaveUp("canceled"))
    instance = find("bookkeeper-4.13").instance(
        [("bookies", 1), ("ensemble", 1), ("write_quorum", 1), ("ack_quorum", 1)]
    )
    outcome = check(instance, instance.system.properties[:1], Limits(jobs=1))
    (result,) = outcome.results
    assert (result.verdict, str(result.reason).endswith(": canceled")) == (Verdict.UNDECIDED, True)


def test_what_has_no_answer_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    script = "(declare-const a Bool) (assert a) (check-sat) ; asked again"
    monkeypatch.setattr(smt, "_replies", {})
    with monkeypatch.context() as patch:
        patch.setattr(scripts, "ask_z3", lambda text, by: GaveUp("canceled"))
        assert ask_z3(script, Deadline(600)).answer == GaveUp("canceled")
    assert ask_z3(script, Deadline(600)).answer == Yes({"a": "True"})
