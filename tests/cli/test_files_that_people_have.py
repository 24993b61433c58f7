"""Files that people have, read by `quorum` and `advise`: each case is one that was read wrongly once."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fencepost.answers.risks import Setup
from fencepost.cli.main import run
from fencepost.quorums.deployment import Deployment

VALUES = """\
components: {autorecovery: false}
bookkeeper: {replicaCount: 4}
broker:
  configData:
    managedLedgerDefaultEnsembleSize: "2"
    managedLedgerDefaultWriteQuorum: "2"
    managedLedgerDefaultAckQuorum: "2"
"""


@pytest.mark.parametrize("command", ["quorum", "advise"])
@pytest.mark.parametrize(("value", "on"), [("false", False), ("true", True)])
def test_a_chart_can_leave_auto_recovery_out(
    command: str, value: str, on: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: the key is not read; it is read and not handed on."""
    values = tmp_path / "values.yaml"
    values.write_text(VALUES.replace("false", value), encoding="utf-8")
    assert asked(command, [values], monkeypatch).autorecovery is on


def asked(command: str, files: list[Path], monkeypatch: pytest.MonkeyPatch, *options: str) -> Deployment:
    """Return the deployment that the command makes of the files. It asks no question."""
    found: list[Deployment] = []

    def kept(deployment: Deployment, *_: Any) -> str:
        found.append(deployment)
        return ""

    def advised(setup: Setup, deployment: Deployment, *_: Any) -> Any:
        kept(deployment)
        raise SystemExit

    monkeypatch.setattr("fencepost.cli.commands.quorum._text", kept)
    monkeypatch.setattr("fencepost.cli.commands.advise.advice_on", advised)
    arguments = [command, *(word for file in files for word in ("--from", str(file))), *options]
    with suppress(SystemExit):
        run(arguments)
    (deployment,) = found
    return deployment
