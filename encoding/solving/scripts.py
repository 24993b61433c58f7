"""Questions as SMT-LIB 2 text: a closed script, which z3 or cvc5 reads; a model gives its constants by name."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from fencepost.encoding.solving.answers import TIME_OUT, Answer, Deadline, GaveUp, No, Yes
from fencepost.encoding.solving.terms import Terms

Constants = dict[str, str]
"""The integer and Boolean constants of a model."""


def ask_z3(script: str, by: Deadline) -> Answer[Constants]:
    """Whether what the script asserts can hold, by z3."""
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
    """The version of cvc5 here, or None if it is not installed: it is an extra."""
    try:
        return version("cvc5")
    except PackageNotFoundError:
        return None


CVC5_WAYS: tuple[dict[str, str], ...] = ({}, {"mbqi": "true"}, {"finite-model-find": "true"})
"""Options tried in turn, each for its share of the time: as it comes, then by models of what is quantified, then looking for finite models."""


def ask_cvc5(script: str, by: Deadline) -> Answer[Constants]:
    """The same by cvc5, which gives no constants. Call only where `cvc5_version()` is not None."""
    reason = TIME_OUT
    for number, options in enumerate(CVC5_WAYS):
        if by.passed():
            break
        said = _cvc5_says(script, options, Deadline(by.left() / (len(CVC5_WAYS) - number)))
        if said == "sat":
            return Yes({})
        if said == "unsat":
            return No()
        reason = TIME_OUT if "TIMEOUT" in said else GaveUp(said)
    return reason


def _cvc5_says(script: str, options: dict[str, str], by: Deadline) -> str:
    import cvc5

    solver = cvc5.Solver(cvc5.TermManager())
    for name, value in options.items():
        solver.setOption(name, value)
    solver.setOption("tlimit-per", str(max(1, int(by.left() * 1000))))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, script, "obligation")
    symbols = parser.getSymbolManager()
    said = ""
    while not (command := parser.nextCommand()).isNull():
        said += command.invoke(solver, symbols)
    return said.strip()
