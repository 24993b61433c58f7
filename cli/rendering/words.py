"""The words and signs for the verdicts of a sweep."""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.encoding.engine.verdicts import Fewest
from fencepost.encoding.language.state import amount
from fencepost.sweeps.rows import VERDICTS, Row

SIGNS = {"proved": "✓", "holds": "≈", "violated": "✗", "undecided": "?", "vacuous": "∅", "error": "!"}


def brief(row: Row) -> str:
    """Return the short text beside a verdict in a cell: rounds, steps, faults."""
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
