"""Questions as SMT-LIB 2 scripts, for z3 or cvc5. A model gives the values of constants by name."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from fencepost.encoding.solving.answers import TIME_OUT, Answer, Deadline, GaveUp, No, Yes
from fencepost.encoding.solving.terms import Terms

Constants = dict[str, str]
"""The integer and Boolean constants of a model, with their values."""


def ask_z3(script: str, by: Deadline) -> Answer[Constants]:
    """Return whether the assertions of the script can hold together, by z3."""
    terms = Terms()
    terms.read(script)
    match terms.ask(by=by):
        case Yes(model):
            return Yes(_constants(model))
        case No() | GaveUp() as answer:
            return answer


def _constants(model: Any) -> Constants:
    return {d.name(): str(model[d]) for d in model.decls() if d.arity() == 0 and "!" not in d.name()}


@cache
def cvc5_version() -> str | None:
    """Return the version of cvc5, an optional package, or None if it is not installed."""
    try:
        return version("cvc5")
    except PackageNotFoundError:
        return None


CVC5_WAYS: tuple[dict[str, str], ...] = ({}, {"mbqi": "true"}, {"finite-model-find": "true"})
"""Options of cvc5 that are tried in turn: its defaults, model-based instantiation, finite model finding.

Each has an equal share of the time that is left.
"""


def ask_cvc5(script: str, by: Deadline) -> Answer[Constants]:
    """Return whether the assertions of the script can hold together, by cvc5.

    Its models are empty. Call it only if `cvc5_version()` is not None.
    """
    reason = TIME_OUT
    for number, options in enumerate(CVC5_WAYS):
        if by.passed():
            break
        output = _run_cvc5(script, options, Deadline(by.left() / (len(CVC5_WAYS) - number)))
        if output == "sat":
            return Yes({})
        if output == "unsat":
            return No()
        reason = TIME_OUT if "TIMEOUT" in output else GaveUp(output)
    return reason


def _run_cvc5(script: str, options: dict[str, str], by: Deadline) -> str:
    import cvc5

    solver = cvc5.Solver(cvc5.TermManager())
    for name, value in options.items():
        solver.setOption(name, value)
    solver.setOption("tlimit-per", str(max(1, int(by.left() * 1000))))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, script, "question")
    symbols = parser.getSymbolManager()
    output = ""
    while not (command := parser.nextCommand()).isNull():
        output += command.invoke(solver, symbols)
    return output.strip()
