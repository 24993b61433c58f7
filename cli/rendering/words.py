"""The words and signs for verdicts that every form of a report uses."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from fencepost.cli.rendering.sweep_matrices import USUAL, changed
from fencepost.encoding.engine.verdicts import Fewest, Verdict
from fencepost.encoding.language.state import amount
from fencepost.sweeps.rows import ERROR, VERDICTS, Row
from fencepost.sweeps.sweep_cases import CODE

SIGNS = {"proved": "✓", "holds": "≈", "violated": "✗", "undecided": "?", "vacuous": "∅", "error": "!"}

MEANINGS = {
    Verdict.PROVED.value: "No execution of this instance breaks the property, however long it is, and whatever the order "
    "of messages, losses and crashes that its settings allow. That is said of this instance, with these sizes; "
    "no larger instance was asked.",
    Verdict.HOLDS.value: "Not found in this instance as far as the bound that is named. Longer executions exist, and nobody "
    "has looked at them.",
    Verdict.VIOLATED.value: "An execution of this instance breaks the property, and you can read it step by step; it was "
    "replayed on plain values before anyone saw it.",
    Verdict.UNDECIDED.value: "Time or memory ran out. Nothing was found in the rounds of this instance that were finished; "
    "beyond them, nobody knows.",
    Verdict.VACUOUS.value: "Nothing was tested: what the property is about did not come up in this instance.",
    ERROR: "Fencepost failed. This says nothing about the instance.",
}
"""What a verdict says to someone who has never seen a solver."""

OF_WALKS = {
    Verdict.HOLDS.value: "In none of these random walks did the code do anything else than the model. Other walks were not taken.",
    Verdict.VIOLATED.value: "In a random walk the code did something else than the model. The command below takes it again, and shows "
    "its steps beside those of the code.",
    Verdict.UNDECIDED.value: "Time ran out before all walks were taken. Those that were taken do not depart from the model.",
}
"""What it says of walks on the real code."""

BRIEFLY_OF_WALKS: Mapping[str, Callable[[Row], str]] = {
    Verdict.HOLDS.value: lambda row: f"in {amount(int(row['settings']['runs']), 'walk')}",
    Verdict.VIOLATED.value: lambda row: f"after {amount(row['steps'], 'step')}",
    Verdict.UNDECIDED.value: lambda row: "not all walks taken",
}
"""The same beside the verdict in a cell."""


def meaning(row: Row) -> str:
    """What a row's verdict says to someone who has never seen a solver."""
    return (OF_WALKS if row["solver"] == CODE else {}).get(row["verdict"], MEANINGS[row["verdict"]])


def brief(row: Row) -> str:
    """What stands beside the verdict in a cell: rounds, steps, faults."""
    if row["solver"] == CODE and row["verdict"] in BRIEFLY_OF_WALKS:
        return BRIEFLY_OF_WALKS[row["verdict"]](row)
    match row["verdict"]:
        case "proved":
            return "by induction" if row["basis"] == "induction" else amount(row["rounds"], "round")
        case "holds":
            return f"to {amount(*((row['bound'], 'step') if row['bound'] is not None else (row['searched'], 'round')))}"
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
    """How many faults a counterexample has."""
    number = sum((row["faults"] or {}).values())
    return amount(number, "fault") if number else "no fault"


def in_words(counted: Mapping[str, int]) -> str:
    """How many have which verdict; those that none has are left out."""
    return ", ".join(f"{counted[verdict]} {verdict}" for verdict in VERDICTS if counted.get(verdict))


def check_command(row: Row) -> str:
    """The command that checks a row's obligation by itself."""
    if row["solver"] == CODE:
        return _conform_command(row)
    options = [f"--property={row['property']}", *(f"--set={n}={v}" for n, v in changed(row).items())]
    options += [f"--{n.removeprefix('most_')}={row[n]}" for n, usual in USUAL.items() if row[n] != usual]
    return shlex.join(["fencepost", "check", row["protocol"], *options])


def _conform_command(row: Row) -> str:
    settings = dict(row["settings"])
    options = [f"--{name}={settings.pop(name)}" for name in ("storage", "seed", "runs")]
    library = f"--bookkeeper=LIB-{settings.pop('release')}"
    return shlex.join(
        [
            "fencepost",
            "conform",
            row["protocol"],
            library,
            *options,
            *(f"--set={n}={v}" for n, v in settings.items()),
        ]
    )


def trace_command(folder: Path, row: Row) -> str:
    """The command that replays a row's counterexample."""
    return (
        f"{shlex.join(['fencepost', 'sweep', 'trace', str(folder), row['id']])} | fencepost trace /dev/stdin"
    )


def certify_command(folder: Path, row: Row) -> str:
    """The command that checks a row's certificate."""
    return shlex.join(["fencepost", "certify", str(folder / row["certificate"])])
