"""Certificates that a test changes, and what `certify` says of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fencepost.cli.main import run
from fencepost.encoding.evidence.manifests import PROVER, clauses_file, proof_file
from fencepost.encoding.evidence.one_action import steps
from fencepost.encoding.evidence.question_files import Asking, remarks
from fencepost.encoding.language.system import System
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.solving.solvers import Refuted, refute

Change = Callable[[dict[str, Any]], object]


def manifest(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return document


def edit(folder: Path, change: Change) -> None:
    document = manifest(folder)
    change(document)
    (folder / "manifest.json").write_text(json.dumps(document), encoding="utf-8")


def rejected(capsys: pytest.CaptureFixture[str], folder: Path, *options: str) -> str:
    """Return the reason for which the certificate is rejected."""
    capsys.readouterr()
    assert run(["certify", str(folder), *options]) == 1
    output = capsys.readouterr()
    assert (output.err, output.out.count("\n")) == ("", 1)
    assert output.out.startswith("rejected: ")
    return output.out.removeprefix("rejected: ").rstrip("\n")


def with_proofs(folder: Path, system: System, subject: Subject, names: Sequence[str]) -> list[str]:
    """Write the questions about these claims with their proofs, as a forger with our code would.

    Return the parts that have no proof.
    """
    asking, without = Asking(system, [], {}), []
    for step in steps(system, names):
        clauses = asking.clauses(step)
        clauses_file(folder, step.name).write_text(clauses.dimacs(remarks(step, subject, {})))
        answer = refute(PROVER, clauses.clauses)
        if isinstance(answer, Refuted):
            proof_file(folder, step.name).write_text("".join(f"{line}\n" for line in answer.proof))
        else:
            proof_file(folder, step.name).write_text("0\n")
            without.append(step.name)
    return without
