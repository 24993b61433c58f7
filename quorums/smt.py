"""Obligations as SMT-LIB 2 text: z3 decides, cvc5 confirms, both from the same text.

An obligation is a closed script that is unsatisfiable exactly if the claim holds. It is text, so the file that `--smt2`
writes is the file that was solved.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import z3

from fencepost.encoding.solving import scripts
from fencepost.encoding.solving.answers import Answer, Deadline, GaveUp
from fencepost.encoding.solving.scripts import Constants


@dataclass(frozen=True)
class Reply:
    """One solver's answer to one script, and how long it took to find."""

    answer: Answer[Constants]
    seconds: float


@dataclass(frozen=True)
class ProofObligation:
    """A claim that a solver must settle for a lemma.

    `script` asserts what may be assumed and then the negation of the claim. `premises` is the same without the
    negation: if that is unsatisfiable, the claim says nothing. It is None where only cvc5 can read the script.
    """

    name: str
    sentence: str
    script: str
    premises: str | None = None


def obligation(name: str, sentence: str, assume: Sequence[Any], claim: Any) -> ProofObligation:
    """The obligation that `claim` follows from `assume` (z3 terms), as SMT-LIB 2 text."""
    return ProofObligation(
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
    """z3's answer to a script, comments aside; one that was found before in this process is not looked for again."""
    return _remembered("z3", script, lambda: scripts.ask_z3(script, deadline))


def ask_cvc5(script: str, deadline: Deadline) -> Reply:
    """The same by cvc5. Call only where `cvc5_version()` is not None."""
    return _remembered("cvc5", script, lambda: scripts.ask_cvc5(script, deadline))


_replies: dict[tuple[str, str], Reply] = {}


def _remembered(solver: str, script: str, ask: Callable[[], Answer[Constants]]) -> Reply:
    key = solver, "\n".join(line for line in script.splitlines() if not line.startswith(";"))
    if key not in _replies:
        started = time.monotonic()
        reply = Reply(ask(), time.monotonic() - started)
        if isinstance(reply.answer, GaveUp):
            return reply
        _replies[key] = reply
    return _replies[key]
