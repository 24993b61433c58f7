"""Proof obligations as SMT-LIB 2 text: z3 decides and cvc5 confirms, both from the same text.

A proof obligation is a closed script that is unsatisfiable if and only if the claim holds. It is text, so the
file that `--smt2` writes is the file that was solved.
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
    """One solver's answer to one script, and the seconds that it took."""

    answer: Answer[Constants]
    seconds: float


@dataclass(frozen=True)
class ProofObligation:
    """A claim that a solver must settle for a lemma.

    `script` asserts the premises and then the negation of the claim. `premises` asserts only the premises: if
    they are unsatisfiable, the claim is vacuous.
    """

    name: str
    sentence: str
    script: str
    premises: str


def obligation(name: str, sentence: str, assume: Sequence[Any], claim: Any) -> ProofObligation:
    """Return the proof obligation that `claim` follows from `assume` (z3 terms), as SMT-LIB 2 text."""
    return ProofObligation(
        name,
        sentence,
        script=_script(name, sentence, [*assume, z3.Not(claim)]),
        premises=_script(name, f"premises only: {sentence}", list(assume)),
    )


def _script(name: str, sentence: str, assertions: Sequence[Any]) -> str:
    """Return SMT-LIB 2 text for readers: declarations in order of first use, formulas without `let`."""
    printed = [_printed(assertion) for assertion in assertions]
    sorts = dict.fromkeys(line for one in printed for line in one.sorts)
    functions = dict.fromkeys(line for one in printed for line in one.functions)
    texts = (f"(assert {one.text})" for one in printed)
    lines = [f"; {name}", f"; {sentence}", "(set-logic ALL)", *sorts, *functions, *texts, "(check-sat)"]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _Printed:
    """A formula as text, with the declarations of its sorts and functions."""

    text: str
    sorts: tuple[str, ...]
    functions: tuple[str, ...]


@contextlib.contextmanager
def _without_aliases() -> Iterator[None]:
    """Let z3 print terms without `let` inside this context.

    If the settings stayed, every later text of the process would be a tree instead of a graph, of several
    gigabytes.
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
    """Return z3's answer to a script. An answer is remembered for the script without its comments."""
    return _remembered("z3", script, lambda: scripts.ask_z3(script, deadline))


def ask_cvc5(script: str, deadline: Deadline) -> Reply:
    """Return cvc5's answer to a script, remembered in the same way.

    Call it only if `cvc5_version()` is not None.
    """
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
