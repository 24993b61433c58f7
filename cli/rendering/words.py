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
    Verdict.PROVED.value: (
        "No execution of this instance breaks the property, whatever its length, the order of its messages, "
        "and the losses and crashes that its settings allow. The proof is about this instance and its sizes, "
        "not about larger ones."
    ),
    Verdict.HOLDS.value: (
        "No violation was found in this instance up to the bound given. Longer executions exist and were not "
        "searched."
    ),
    Verdict.VIOLATED.value: (
        "An execution of this instance breaks the property. You can read it step by step. It was replayed on "
        "plain values before it was shown."
    ),
    Verdict.UNDECIDED.value: (
        "Time or memory ran out. The rounds that were finished have no violation. Nothing is known of longer "
        "executions."
    ),
    Verdict.VACUOUS.value: (
        "Nothing was tested: the situation that the property is about never arises in this instance."
    ),
    ERROR: "Fencepost failed. This says nothing about the instance.",
}
"""The meaning of a verdict for a reader who does not know solvers."""

OF_RUNS = {
    Verdict.HOLDS.value: (
        "In all of these random executions the code did what the model says. Other executions were not run."
    ),
    Verdict.VIOLATED.value: (
        "In a random execution the code did something else than the model. The command below runs it again "
        "and shows the steps of the model beside those of the code."
    ),
    Verdict.UNDECIDED.value: (
        "Time ran out before all runs were made. In those that were made the code did what the model says."
    ),
}
"""The meaning of a verdict of conformance runs."""

BRIEFLY_OF_RUNS: Mapping[str, Callable[[Row], str]] = {
    Verdict.HOLDS.value: lambda row: f"in {amount(int(row['settings']['runs']), 'run')}",
    Verdict.VIOLATED.value: lambda row: f"after {amount(row['steps'], 'step')}",
    Verdict.UNDECIDED.value: lambda row: "not all runs made",
}
"""The short text beside the verdict of conformance runs in a cell."""


def meaning(row: Row) -> str:
    """Return the meaning of a row's verdict for a reader who does not know solvers."""
    return (OF_RUNS if row["solver"] == CODE else {}).get(row["verdict"], MEANINGS[row["verdict"]])


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


def check_command(row: Row) -> str:
    """Return the command that checks the case of a row."""
    if row["solver"] == CODE:
        return _conform_command(row)
    options = [f"--property={row['property']}", *(f"--set={n}={v}" for n, v in changed(row).items())]
    unusual = {name: row[name] for name, usual in USUAL.items() if row[name] != usual}
    options += ["--drop-declared"] if unusual.pop("drop_declared", False) else []
    rounds = unusual.pop("most_rounds", None)
    options += [f"--{name}={value}" for name, value in unusual.items()]
    options += [f"--bound=rounds={rounds}"] if rounds is not None else []
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


def trace_command(folder: Path | str, row: Row) -> str:
    """Return the command that replays the counterexample of a row."""
    saved = shlex.join(["fencepost", "export", str(folder), f"--row={row['id']}"])
    return f"{saved} | fencepost export /dev/stdin"


def certify_command(folder: Path | str, row: Row) -> str:
    """Return the command that checks the certificate of a row."""
    return shlex.join(["fencepost", "certify", str(Path(folder) / row["certificate"])])
