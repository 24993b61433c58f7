"""Commands on files of a deployment, with the setup that they make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fencepost.advice.advice import Advice
from fencepost.cli.main import run
from fencepost.quorums.deployment import Deployment

QUORUMS = (
    'managedLedgerDefaultEnsembleSize: "2", managedLedgerDefaultWriteQuorum: "2", '
    'managedLedgerDefaultAckQuorum: "2"'
)
CHART = f"""\
bookkeeper: {{replicaCount: 4}}
broker: {{configData: {{{QUORUMS}}}}}
"""
BROKER = """\
managedLedgerDefaultEnsembleSize=2
managedLedgerDefaultWriteQuorum=2
managedLedgerDefaultAckQuorum=2
"""
SIZES = ("-e", "2", "-w", "2", "-a", "2", "-n", "4")


class Asking:
    """Runs a command on files with these texts, by name, and prints nothing."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(folder)
        self.answers: list[Advice] = []
        self.deployments: list[Deployment] = []

        def advised(advice: Advice, *_: Any) -> Any:
            self.answers.append(advice)
            raise SystemExit

        def calculated(deployment: Deployment, *_: Any) -> str:
            self.deployments.append(deployment)
            return ""

        monkeypatch.setattr("fencepost.cli.commands.quorum.as_text", calculated)
        monkeypatch.setattr("fencepost.cli.commands.advise.as_text", advised)

    def advise(self, files: Mapping[str, str], *options: str) -> Advice:
        self._run("advise", files, options)
        return self.answers.pop()

    def quorum(self, files: Mapping[str, str], *options: str) -> Deployment:
        self._run("quorum", files, options)
        return self.deployments.pop()

    def _run(self, command: str, files: Mapping[str, str], options: Sequence[str]) -> None:
        with suppress(SystemExit):
            run([command, *given(files), *options])


def given(files: Mapping[str, str]) -> list[str]:
    """Write the files and return the options that name them."""
    for name, text in files.items():
        Path(name).write_text(text, encoding="utf-8")
    return [word for name in files for word in ("--from", name)]


def notes(advice: Advice) -> list[str]:
    """Return the notes of all files."""
    return [note for source in advice.sources.values() for note in source.notes]
