"""Change the engine's code in one place, many times over, and see whether a quick test notices.

    python benchmarks/mutants.py                            every mutant: hours
    python benchmarks/mutants.py --sample 150 --seed 1      a random sample, the same for the same arguments
    python benchmarks/mutants.py --only rounds/search.py    only mutants whose name contains this
    python benchmarks/mutants.py --sample 150 --results found.jsonl --output docs/generated/mutants.md

Starting Python and importing z3, pysat and Fencepost takes about three seconds, more than most tests here.
So one process imports everything once. Each mutant runs in a fork of it, which replaces the code of one
function and runs pytest. mutmut and cosmic-ray start a process for each mutant, and expect a package in a
folder of its own name, which these folders are not. With --results, mutants that were noticed before are
not run again. Mutants that lived are.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import datetime
import functools
import importlib
import itertools
import json
import math
import os
import pkgutil
import random
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType, MappingProxyType
from typing import Any, NamedTuple, TypeVar

import pytest

from fencepost.encoding.versions import version

ROOT = Path(__file__).resolve().parent.parent
REASONS = Path(__file__).with_suffix(".toml")
"""The reasons why mutants that live do no harm, by description."""
AT_LEAST, TIMES, GIB = 30.0, 3.0, 6
"""The limits of a mutant: the least seconds, the factor over its tests' time, and the GiB of memory."""
OPTIONS = ("-n0", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow and not long")
CRASHED, WIDTH = 99, 100
BENEATH = ("__func__", "fget", "func", "__wrapped__")
Item = TypeVar("Item")
NOTICED, BY_TIME, LIVED = "noticed", "noticed by time", "lived"

_VARIED = "unit/encoding/test_varied_systems.py::test_"
_PROVING = (
    *("unit/encoding/test_one_action.py", "cli/test_invariants.py", "unit/encoding/test_endless.py"),
    "hostile/test_forged_induction.py",
    "unit/encoding/test_queries.py",
    "unit/encoding/test_false_proofs.py",
    "unit/encoding/test_assumed_invariants.py",
    *("unit/encoding/test_lemmas.py", "unit/encoding/test_partial_invariants.py"),
    f"{_VARIED}nothing_false_is_proved_by_induction_over_one_action[few]",
)
TESTS: Mapping[str, Sequence[str]] = {
    "encoding/induction": _PROVING,
    "encoding/all_sizes": (
        "unit/encoding/test_all_sizes.py",
        "unit/encoding/test_refinement.py",
        "protocols/test_theorem.py",
    ),
    "encoding/check.py": ("unit/encoding/test_lanes.py", "unit/encoding/test_side_by_side.py"),
    **dict.fromkeys(
        ["encoding/engine/knowledge.py", "encoding/engine/property_evidence.py"],
        (
            "unit/encoding/test_knowledge.py",
            "unit/encoding/test_endless.py",
            "unit/encoding/test_smallest_counterexample.py",
            *("unit/encoding/test_false_proofs.py", "unit/encoding/test_engines.py"),
        ),
    ),
    "encoding/induction/houdini.py": _PROVING,
    "encoding/rounds": (
        *("unit/encoding/test_smallest_counterexample.py", "unit/encoding/test_readings_agree.py"),
        "unit/encoding/test_endless.py",
        "unit/encoding/test_queries.py",
        "unit/encoding/test_false_proofs.py",
        *(f"{_VARIED}rounds_reach_what_exploring_reaches[few]", "unit/encoding/test_engines.py"),
    ),
    "encoding/concrete/replay.py": (
        "unit/encoding/test_receipts.py",
        "unit/encoding/test_refusals.py",
        "unit/encoding/test_readings_agree.py",
        "unit/encoding/test_smallest_counterexample.py",
        "hostile/test_forged.py",
        "unit/encoding/test_false_proofs.py",
    ),
    **dict.fromkeys(
        [
            "encoding/induction/causes.py",
            "encoding/induction/lasting.py",
            "encoding/induction/read_off.py",
            "encoding/induction/tidy_terms.py",
            "encoding/induction/value_changes.py",
            "encoding/language/source.py",
        ],
        ("unit/encoding/test_read_off.py",),
    ),
    "encoding/language/patterns.py": (
        "unit/encoding/test_read_off.py",
        "unit/encoding/test_terms.py",
        "unit/encoding/test_readings_agree.py",
    ),
    "encoding/evidence": (
        "hostile/test_forged_induction.py",
        "unit/encoding/test_queries.py",
        "unit/encoding/test_false_proofs.py",
        "unit/encoding/test_certificates.py",
    ),
    "encoding/formulas/aiger.py": ("unit/encoding/test_aiger.py",),
    "encoding/formulas/and_inverter.py": ("unit/encoding/test_aiger.py",),
    "encoding/formulas/sendings.py": (
        "unit/encoding/test_receipts.py",
        "unit/encoding/test_refusals.py",
        "unit/encoding/test_false_proofs.py",
        f"{_VARIED}losses_chosen_up_front_are_those_decided_on_the_way[few]",
        "unit/encoding/test_traps.py",
    ),
    "mutation/": ("cli/test_weaken.py",),
}
"""The code that is mutated, and for each part the tests of `tests/` that run, the fastest first."""


class Mutant(NamedTuple):
    """A change of one function: a node of a module is replaced by another one."""

    file: str
    function: str
    line: int
    column: int
    operator: str
    before: str
    after: str
    module: ast.Module
    old: ast.AST
    new: ast.AST

    @property
    def name(self) -> str:
        """The place and the operator."""
        return f"{self.file}:{self.line}:{self.column} {self.operator}"

    @property
    def description(self) -> str:
        """The function and the texts, which stay the same when lines move."""
        return f"{self.file} {self.function}: {self.before} -> {self.after}"


Change = tuple[str, ast.AST]
"""The name of an operator, and the replacement of a node."""

SWAPPED: Mapping[type[ast.AST], tuple[str, type[ast.AST]]] = {
    one: (f"{text} becomes {other_text}", other)
    for a, a_text, b, b_text in (
        (ast.Eq, "==", ast.NotEq, "!="),
        (ast.In, "in", ast.NotIn, "not in"),
        (ast.Is, "is", ast.IsNot, "is not"),
        (ast.And, "and", ast.Or, "or"),
        (ast.Add, "+", ast.Sub, "-"),
        (ast.BitAnd, "&", ast.BitOr, "|"),
        (ast.Lt, "<", ast.LtE, "<="),
        (ast.Gt, ">", ast.GtE, ">="),
    )
    for one, text, other, other_text in ((a, a_text, b, b_text), (b, b_text, a, a_text))
}


def changes(node: ast.AST, returns_bool: bool) -> Iterator[Change]:
    """Yield every replacement of one node, without those of its children."""
    match node:
        case ast.Compare(ops=ops):
            for place, op in enumerate(ops):
                if swap := SWAPPED.get(type(op)):
                    yield swap[0], _with(node, ops=[*ops[:place], swap[1](), *ops[place + 1 :]])
        case ast.BoolOp(op=op) | ast.BinOp(op=op) | ast.AugAssign(op=op):
            if swap := SWAPPED.get(type(op)):
                yield swap[0], _with(node, op=swap[1]())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not dropped", operand
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield "unary minus dropped", operand
        case ast.Constant(value=bool(value)):
            yield f"{value} becomes {not value}", ast.Constant(not value)
        case ast.Constant(value=int(value)) if 0 <= value < 10:
            yield f"{value} becomes {value + 1}", ast.Constant(value + 1)
        case ast.Expr(value=ast.Yield() | ast.YieldFrom() as value):  # it stays a generator
            yield "statement dropped", ast.Expr(ast.IfExp(ast.Constant(False), value, ast.Constant(None)))
        case ast.Expr(value=value) if not isinstance(value, ast.Constant):
            yield "statement dropped", ast.Pass()
        case ast.Return(value=ast.expr() as value) if returns_bool:
            yield "returned value negated", ast.Return(ast.UnaryOp(ast.Not(), value))
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield "condition negated", _with(node, test=ast.UnaryOp(ast.Not(), test))
            if not isinstance(test, ast.Constant):
                yield "condition made true", _with(node, test=ast.Constant(True))
        case ast.match_case(guard=ast.expr() as test):
            yield "condition negated", _with(node, guard=ast.UnaryOp(ast.Not(), test))
            yield "condition made true", _with(node, guard=ast.Constant(True))
        case ast.comprehension(ifs=ifs):
            for place, test in enumerate(ifs):
                for operator, other in (
                    ("filter negated", ast.UnaryOp(ast.Not(), test)),
                    ("filter made true", ast.Constant(True)),
                ):
                    yield operator, _with(node, ifs=[*ifs[:place], other, *ifs[place + 1 :]])


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def mutants(file: str) -> Iterator[Mutant]:
    """Yield every mutant of a file, in the order of its text."""
    module = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    for name, function in functions(module.body):
        returns_bool = isinstance(function.returns, ast.Name) and function.returns.id == "bool"
        for statement, node in _nodes(function.body):
            for operator, new in changes(node, returns_bool):
                after = _text(new) if node is statement else _text(statement, {id(node): new})
                yield Mutant(file, name, *_place(node), operator, _text(statement), after, module, node, new)


def _place(node: ast.AST) -> tuple[int, int]:
    """Return line and column; for an operation those of its right side.

    Otherwise a + b + c would begin where a + b does.
    """
    if not isinstance(node, ast.stmt | ast.expr):
        node = next(ast.iter_child_nodes(node))
    at = node.right if isinstance(node, ast.BinOp) else node
    assert isinstance(at, ast.stmt | ast.expr | ast.pattern)
    return at.lineno, at.col_offset


def functions(body: Sequence[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions and methods of a module with their qualified names, not those within functions."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from functions(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            yield f"{prefix}{node.name}", node


def _nodes(body: Iterable[ast.stmt]) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield all nodes but annotations, each with the smallest statement that it is in."""

    def within(statement: ast.AST, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        yield statement, node
        for field, value in ast.iter_fields(node):
            if field not in ("annotation", "returns"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        yield from within(
                            child if isinstance(child, ast.stmt | ast.match_case) else statement, child
                        )

    for statement in body:
        yield from within(statement, statement)


def _text(node: ast.AST, memo: Mapping[int, ast.AST] = MappingProxyType({})) -> str:
    """Return a statement without the statements in it, in one line; the nodes of `memo` are replaced."""
    inner = ("body", "orelse", "finalbody", "handlers", "cases")
    bare = _with(node, **{field: [] for field in inner if isinstance(getattr(node, field, None), list)})
    text = " ".join(ast.unparse(copy.deepcopy(bare, dict(memo))).split())
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…"


# One mutant, in a fork.


def code_of(mutant: Mutant) -> CodeType:
    """Return the code of the mutated function."""
    module = ast.fix_missing_locations(copy.deepcopy(mutant.module, {id(mutant.old): mutant.new}))
    waiting = [compile(module, str(ROOT / mutant.file), "exec")]
    for code in waiting:
        if code.co_qualname == mutant.function:
            return code
        waiting += [const for const in code.co_consts if isinstance(const, CodeType)]
    raise LookupError(mutant.name)


def live(file: str, function: str) -> FunctionType:
    """Return the function that runs, without its decorators."""
    found: Any = importlib.import_module("fencepost." + file.removesuffix(".py").replace("/", "."))
    for part in function.split("."):
        found = vars(found)[part]
    while deeper := next((vars_ for name in BENEATH if (vars_ := getattr(found, name, None))), None):
        found = deeper
    assert isinstance(found, FunctionType), f"{file} {function}"
    return found


def planted(*arguments: object, **named: object) -> None:
    """Replace any function of a file: a mistake that every test must notice."""
    raise AssertionError("planted")


def plant(file: str) -> None:
    """Break every function of a file."""
    for name, _ in functions(ast.parse((ROOT / file).read_text(encoding="utf-8")).body):
        if not live(file, name).__code__.co_freevars:  # no method that asks its base class
            live(file, name).__code__ = planted.__code__


def fork(change: Callable[[], None], tests: Sequence[str], folder: Path) -> int:
    """Start a process that makes the change and runs the tests; return its number, also its group's."""
    child = os.fork()
    if child:
        with contextlib.suppress(OSError):
            os.setpgid(child, child)
        return child
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_AS, (GIB << 30, GIB << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for descriptor in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
        change()
        os._exit(int(pytest.main([*OPTIONS, f"--basetemp={folder / str(os.getpid())}", *tests])))
    finally:
        os._exit(CRASHED)


def outcome(status: int | None) -> str:
    """Return the outcome by the exit status; None means that time was up.

    Raises RuntimeError if no tests ran.
    """
    if status is None:
        return BY_TIME
    code = os.waitstatus_to_exitcode(status)
    if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED, CRASHED):
        raise RuntimeError(f"pytest did not run the tests: exit code {code}")
    return LIVED if code == 0 else NOTICED


def run(
    jobs: int, waiting: Iterable[tuple[Item, Callable[[], None], Sequence[str], float]]
) -> Iterator[tuple[Item, str, float]]:
    """Run each change with its tests and its limit, and yield the outcome and the seconds."""
    rest, running = iter(waiting), dict[int, tuple[Item, float, float]]()
    folder = Path(tempfile.mkdtemp(prefix="mutants-"))
    try:
        while True:
            for item, change, tests, limit in itertools.islice(rest, jobs - len(running)):
                running[fork(change, tests, folder)] = (item, time.monotonic(), limit)
            if not running:
                return
            for child, (item, begun, limit) in list(running.items()):
                seconds = time.monotonic() - begun
                ended, status = os.waitpid(child, os.WNOHANG)
                if ended or seconds > limit:
                    _end(child, bool(ended))
                    del running[child]
                    shutil.rmtree(folder / str(child), ignore_errors=True)
                    yield item, outcome(status if ended else None), seconds
            time.sleep(0.02)
    finally:
        for child in running:
            _end(child, False)
        shutil.rmtree(folder, ignore_errors=True)


def _end(child: int, ended: bool) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if not ended:
        os.waitpid(child, 0)


# All of them.


def targets() -> dict[str, Sequence[str]]:
    """Return the files that are mutated, each with its tests."""
    found: dict[str, Sequence[str]] = {}
    for place, tests in TESTS.items():
        files = [ROOT / place] if place.endswith(".py") else sorted((ROOT / place).glob("[!_]*.py"))
        found.update(
            {str(file.relative_to(ROOT)): [str(ROOT / "tests" / test) for test in tests] for file in files}
        )
    return found


def limits(files: Mapping[str, Sequence[str]]) -> dict[tuple[str, ...], float]:
    """Return the seconds that a mutant may take for each list of tests.

    Raises RuntimeError if an unmutated test fails. Then every function of each file is broken, and the
    tests must notice.
    """
    lists = dict.fromkeys(map(tuple, files.values()))
    found = {}
    for tests, what, seconds in run(1, ((tests, lambda: None, tests, math.inf) for tests in lists)):
        if what != LIVED:
            raise RuntimeError(f"these tests fail without a mutant: {' '.join(tests)}")
        found[tests] = max(AT_LEAST, TIMES * seconds)
        tell(f"{seconds:.1f} s unmutated: {len(tests)} files of tests, {Path(tests[0]).name} first")
    broken = (
        (file, functools.partial(plant, file), tests, found[tuple(tests)]) for file, tests in files.items()
    )
    for file, what, _ in run(1, broken):
        if what == LIVED:
            raise RuntimeError(f"every function of {file} was broken, and its tests did not notice")
    return found


def warm_up() -> None:
    """Import Fencepost, the tests and their needs; raise RuntimeError if tests cannot be collected."""
    for package in ("encoding", "protocols", "properties"):
        path = importlib.import_module(f"fencepost.{package}").__path__
        for found in pkgutil.walk_packages(path, f"fencepost.{package}."):
            importlib.import_module(found.name)
    tests = dict.fromkeys(itertools.chain.from_iterable(targets().values()))
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        code = pytest.main([*OPTIONS, "--collect-only", *tests])
    if code != pytest.ExitCode.OK:
        raise RuntimeError(f"pytest cannot collect the tests: {code!r}")


def tell(text: str) -> None:
    """Print a line on stderr at once."""
    print(text, file=sys.stderr, flush=True)


def mutate(mutant: Mutant) -> None:
    """Replace the function by the mutant."""
    live(mutant.file, mutant.function).__code__ = code_of(mutant)


def attempt(chosen: Sequence[Mutant], jobs: int, results: Path | None) -> dict[str, str]:
    """Run the mutants, except those noticed before, and return each outcome by name."""
    found: dict[str, str] = {}
    if results and results.exists():
        found = dict(map(json.loads, results.read_text(encoding="utf-8").splitlines()))
    open_ = [mutant for mutant in chosen if found.get(mutant.name, LIVED) == LIVED]
    files = {file: tests for file, tests in targets().items() if any(m.file == file for m in open_)}
    seconds = limits(files)
    waiting = ((m, functools.partial(mutate, m), files[m.file], seconds[tuple(files[m.file])]) for m in open_)
    for number, (mutant, what, took) in enumerate(run(jobs, waiting), 1):
        found[mutant.name] = what
        tell(f"{number}/{len(open_)} {took:5.1f} s {what}: {mutant.name}: {mutant.before} -> {mutant.after}")
        if results:
            with results.open("a", encoding="utf-8") as file:
                file.write(json.dumps([mutant.name, what]) + "\n")
    return found


TEXT = """\
# Mutants

The engine's code is changed in one place, and the quick tests of that part run: do they notice?
`benchmarks/mutants.py` says which changes are made, and which tests run for which file. A mutant that lives
shows a test that is missing, or a change that no verdict depends on. Written by

    {command}

on {date} with Fencepost {version}: {chosen} of {all} mutants, {noticed} noticed, {by_time} of them because
the tests did not end in time, {lived} lived. Mutants that lived at first were asked again after tests were
added.

| file | mutants in all | run | noticed | noticed by time | lived |
| --- | --- | --- | --- | --- | --- |
{counts}

## Those that live

| place | before | after | why it lives |
| --- | --- | --- | --- |
{lives}
"""


def page(every: Sequence[Mutant], chosen: Sequence[Mutant], found: Mapping[str, str]) -> str:
    """Return the page of the outcomes."""
    made = Counter(mutant.file for mutant in every)
    counts = Counter((mutant.file, found[mutant.name]) for mutant in chosen)
    whole = Counter(found[mutant.name] for mutant in chosen)
    reasons: Mapping[str, str] = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    rows = [
        [f"`{file}`", made[file], sum(numbers), numbers[0] + numbers[1], *numbers[1:]]
        for file in targets()
        if sum(numbers := [counts[file, what] for what in (NOTICED, BY_TIME, LIVED)])
    ]
    lives = [
        [m.name, f"`{m.before}`", f"`{m.after}`", reasons.get(m.description, "**not looked at**")]
        for m in sorted(chosen, key=lambda m: (m.file, m.line, m.column))
        if found[m.name] == LIVED
    ]
    return TEXT.format(
        command=shlex.join(["python", "benchmarks/mutants.py", *sys.argv[1:]]),
        date=datetime.date.today().isoformat(),
        version=version(),
        chosen=len(chosen),
        all=len(every),
        noticed=whole[NOTICED] + whole[BY_TIME],
        by_time=whole[BY_TIME],
        lived=whole[LIVED],
        counts="\n".join(map(_row, rows)),
        lives="\n".join(map(_row, lives)),
    )


def _row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def main() -> None:
    """Run the mutants asked for and print or write the page."""
    parser = argparse.ArgumentParser(
        description="Change the engine's code in one place, many times over; does a quick test notice?"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="a random sample of N mutants (default: all)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the sample")
    parser.add_argument("--only", default="", metavar="TEXT", help="only mutants whose names contain TEXT")
    parser.add_argument("--jobs", type=int, default=1, metavar="J", help="mutants at a time")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep what was found, and go on from it")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the page")
    arguments = parser.parse_args()
    every = [mutant for file in targets() for mutant in mutants(file)]
    chosen = [mutant for mutant in every if arguments.only in mutant.name]
    if arguments.sample is not None:
        if not 0 < arguments.sample <= len(chosen):
            parser.error(
                f"--sample {arguments.sample}: there are {len(chosen)} mutants; valid: 1 to {len(chosen)}"
            )
        numbers = random.Random(arguments.seed).sample(range(len(chosen)), arguments.sample)
        chosen = [chosen[number] for number in numbers]  # in this order: a run cut short is a sample too
    if not chosen or arguments.jobs < 1:
        parser.error(
            "no mutant has such a name" if not chosen else f"--jobs {arguments.jobs}: valid: 1 or more"
        )
    warm_up()
    text = page(every, chosen, attempt(chosen, arguments.jobs, arguments.results))
    if arguments.output:
        arguments.output.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
