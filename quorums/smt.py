"""The one place that calls SMT solvers: z3 decides, cvc5 confirms, both from the same SMT-LIB 2 text.

An obligation is a closed SMT-LIB 2 script that is unsatisfiable exactly if the claim holds. It is text, so the file
that `--smt2` writes is the file that was solved. Whatever is not `sat` or `unsat` stays `unknown`, with the reason.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import z3


class Answer(Enum):
    """What a solver said about a script."""

    UNSAT = "unsat"  # the obligation holds
    SAT = "sat"  # it does not: the solver has a counter-model
    UNKNOWN = "unknown"  # time-out, or beyond the solver


@dataclass(frozen=True)
class Reply:
    """One solver's answer to one script; `model` gives integer and Boolean constants by name if it is sat."""

    answer: Answer
    solver: str
    seconds: float
    reason: str = ""
    model: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Obligation:
    """A claim that a solver must settle.

    `script` asserts what may be assumed and then the negation of the claim. `premises` is the same without the
    negation: if that is unsatisfiable, the claim says nothing. It is None where only cvc5 can read the script.
    """

    name: str
    sentence: str
    script: str
    premises: str | None = None


class Deadline:
    """A point in time by which a command must have answered."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self._end - time.monotonic())

    def passed(self) -> bool:
        return self.left() <= 0.0


def obligation(name: str, sentence: str, assume: Sequence[Any], claim: Any) -> Obligation:
    """The obligation that `claim` follows from `assume` (z3 terms), as SMT-LIB 2 text."""
    return Obligation(
        name,
        sentence,
        script=_script(name, sentence, [*assume, z3.Not(claim)]),
        premises=_script(name, f"premises only: {sentence}", list(assume)),
    )


def _script(name: str, sentence: str, assertions: Sequence[Any]) -> str:
    """SMT-LIB 2 text to be read by people: declarations in order of first use, formulas without `let`."""
    printed = [_printed(assertion) for assertion in assertions]
    sorts = dict.fromkeys(line for one in printed for line in one.sorts)
    functions = dict.fromkeys(line for one in printed for line in one.functions)
    texts = (f"(assert {one.text})" for one in printed)
    lines = [f"; {name}", f"; {sentence}", "(set-logic ALL)", *sorts, *functions, *texts, "(check-sat)"]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _Printed:
    """A formula as text, with the declarations of what it names."""

    text: str
    sorts: tuple[str, ...]
    functions: tuple[str, ...]


@contextlib.contextmanager
def _without_aliases() -> Iterator[None]:
    """Let z3 print a term without `let`, for as long as this lasts.

    What sets these for good makes every later text of the process a tree instead of a graph: gigabytes of it.
    """
    wanted = {"pp.min_alias_size": 1_000_000, "pp.max_depth": 1_000}
    before = {name: z3.get_param(name) for name in wanted}
    z3.set_param(**wanted)
    try:
        yield
    finally:
        z3.set_param(**before)


@cache
def _printed(formula: Any) -> _Printed:
    sorts: dict[str, None] = {}
    functions: dict[str, None] = {}
    seen, waiting = set(), [formula]
    while waiting:
        term = waiting.pop()
        if term.get_id() in seen:
            continue
        seen.add(term.get_id())
        waiting += reversed(term.children())
        if z3.is_quantifier(term):
            sorts |= _sort_lines(term.var_sort(i) for i in range(term.num_vars()))
        elif z3.is_app(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            decl = term.decl()
            domain = [decl.domain(i) for i in range(decl.arity())]
            sorts |= _sort_lines([*domain, decl.range()])
            arguments = " ".join(sort.sexpr() for sort in domain)
            functions[f"(declare-fun {decl.name()} ({arguments}) {decl.range().sexpr()})"] = None
    with _without_aliases():
        return _Printed(formula.sexpr(), tuple(sorts), tuple(functions))


def _sort_lines(sorts: Iterable[Any]) -> dict[str, None]:
    named = (sort.name() for sort in sorts if sort.kind() == z3.Z3_UNINTERPRETED_SORT)
    return {f"(declare-sort {name} 0)": None for name in named}


def ask_z3(script: str, deadline: Deadline) -> Reply:
    """Solve a script with z3, as far as z3 keeps to its time-out not later than the deadline.

    A script that was answered before in this process, comments aside, is not solved again.
    """
    return _remembered(_z3_replies, script, lambda: _solve_with_z3(script, deadline))


_z3_replies: dict[str, Reply] = {}
_cvc5_replies: dict[str, Reply] = {}


def _remembered(replies: dict[str, Reply], script: str, solve: Callable[[], Reply]) -> Reply:
    key = "\n".join(line for line in script.splitlines() if not line.startswith(";"))
    if key not in replies:
        reply = solve()
        if reply.answer is Answer.UNKNOWN:
            return reply
        replies[key] = reply
    return replies[key]


def _solve_with_z3(script: str, deadline: Deadline) -> Reply:
    started = time.monotonic()
    if deadline.passed():
        return Reply(Answer.UNKNOWN, "z3", 0.0, "time-out")
    solver = z3.Solver()
    solver.set("timeout", max(1, int(deadline.left() * 1000)))
    solver.set("random_seed", 0)
    solver.from_string(script)
    result = solver.check()
    seconds = time.monotonic() - started
    if result == z3.unsat:
        return Reply(Answer.UNSAT, "z3", seconds)
    if result == z3.sat:
        return Reply(Answer.SAT, "z3", seconds, model=_constants(solver.model()))
    return Reply(Answer.UNKNOWN, "z3", seconds, _plain_reason(solver.reason_unknown()))


def _constants(model: Any) -> dict[str, str]:
    return {d.name(): str(model[d]) for d in model.decls() if d.arity() == 0 and "!" not in d.name()}


def _plain_reason(reason: str) -> str:
    return "time-out" if reason in ("timeout", "canceled", "TIMEOUT") else reason


@cache
def cvc5_version() -> str | None:
    """The version of cvc5 here, or None if it is not installed: it is an extra."""
    try:
        return version("cvc5")
    except PackageNotFoundError:
        return None


CVC5_WAYS: tuple[dict[str, str], ...] = ({}, {"mbqi": "true"}, {"finite-model-find": "true"})
"""Options tried in turn, each for its share of the time: as it comes, then by models of what is quantified, then looking for finite models."""


def ask_cvc5(script: str, deadline: Deadline) -> Reply:
    """Solve a script with cvc5, from its text, or remember. Call only where `cvc5_version()` is not None."""
    return _remembered(_cvc5_replies, script, lambda: _solve_with_cvc5(script, deadline))


def _solve_with_cvc5(script: str, deadline: Deadline) -> Reply:
    started = time.monotonic()
    reason = "time-out"
    for number, options in enumerate(CVC5_WAYS):
        if deadline.passed():
            break
        said = _cvc5_says(script, options, Deadline(deadline.left() / (len(CVC5_WAYS) - number)))
        if said in ("sat", "unsat"):
            return Reply(Answer(said), "cvc5", time.monotonic() - started)
        reason = "time-out" if "TIMEOUT" in said else said
    return Reply(Answer.UNKNOWN, "cvc5", time.monotonic() - started, reason)


def _cvc5_says(script: str, options: dict[str, str], deadline: Deadline) -> str:
    import cvc5

    solver = cvc5.Solver(cvc5.TermManager())
    for name, value in options.items():
        solver.setOption(name, value)
    solver.setOption("tlimit-per", str(max(1, int(deadline.left() * 1000))))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, script, "obligation")
    symbols = parser.getSymbolManager()
    said = ""
    while not (command := parser.nextCommand()).isNull():
        said += command.invoke(solver, symbols)
    return said.strip()
