"""The words and signs for the verdicts of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fencepost.encoding.engine.verdicts import Fewest, Verdict
from fencepost.encoding.language.state import amount
from fencepost.sweeps.rows import VERDICTS, Row
from fencepost.sweeps.sweep_cases import CODE

SIGNS = {"proved": "✓", "holds": "≈", "violated": "✗", "undecided": "?", "vacuous": "∅", "error": "!"}

BRIEFLY_OF_RUNS: Mapping[str, Callable[[Row], str]] = {
    Verdict.HOLDS.value: lambda row: f"in {amount(int(row['settings']['runs']), 'run')}",
    Verdict.VIOLATED.value: lambda row: f"after {amount(row['steps'], 'step')}",
    Verdict.UNDECIDED.value: lambda row: "not all runs made",
}
"""The short text beside the verdict of conformance runs in a cell."""


def brief(row: Row) -> str:
    """Return the short text beside a verdict in a cell: rounds, steps, faults."""
    if row["solver"] == CODE and row["verdict"] in BRIEFLY_OF_RUNS:
        return BRIEFLY_OF_RUNS[row["verdict"]](row)
    match row["verdict"]:
        case "proved":
            return "by induction" if row["basis"] == "induction" else amount(row["rounds"], "round")
        case "holds":
            by_steps = row["bound"] is not None
            return f"to {amount(row['bound'], 'step') if by_steps else amount(row['searched'], 'round')}"
        case "violated":
            least = "" if row["fewest"] == Fewest.OF_ALL.value else "≤"
            return f"{least}{amount(row['steps'], 'step')}, {faults(row)}"
        case "undecided":
            return f"none in {amount(row['searched'], 'round')}" if row["searched"] else "no round finished"
        case "vacuous":
            return "nothing tested"
        case _:
            return "see why"


def faults(row: Row) -> str:
    """Return the number of faults of a counterexample in words."""
    number = sum((row["faults"] or {}).values())
    return amount(number, "fault") if number else "no fault"


def in_words(counted: Mapping[str, int]) -> str:
    """Return the numbers by verdict in words, without verdicts that have none."""
    return ", ".join(f"{counted[verdict]} {verdict}" for verdict in VERDICTS if counted.get(verdict))
