"""Files that people have: Pulsar's broker.conf and Helm values."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fencepost.encoding.errors import BadInput
from fencepost.quorums.files.joined_files import read_files
from fencepost.quorums.files.settings import Settings
from support.config_files import read_source

BROKER = """\
### --- Managed Ledger --- ###

# Number of bookies to use when creating a ledger
managedLedgerDefaultEnsembleSize=3
managedLedgerDefaultWriteQuorum = 3
managedLedgerDefaultAckQuorum=2
#managedLedgerDefaultAckQuorum=9
bookkeeperClientMinNumRacksPerWriteQuorum=2
bookkeeperClientEnforceMinNumRacksPerWriteQuorum=false
bookkeeper_delayEnsembleChange=true
metadataStoreUrl=zk:a:2181
"""

HELM = """\
bookkeeper:
  replicaCount: 4
broker:
  replicaCount: 3
  configData:
    managedLedgerDefaultEnsembleSize: "2"
    managedLedgerDefaultWriteQuorum: "2"
    managedLedgerDefaultAckQuorum: 2
    bookkeeper_opportunisticStriping: true
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_broker_conf(tmp_path: Path) -> None:
    assert read_source(written(tmp_path, "broker.conf", BROKER)).settings == Settings(
        3, 3, 2, min_racks=2, enforce_min_racks=False, delay_ensemble_change=True
    )


def test_the_last_of_a_repeated_key_counts(tmp_path: Path) -> None:
    path = written(tmp_path, "broker.conf", BROKER + "managedLedgerDefaultAckQuorum=3\n")
    assert read_source(path).settings.ack_quorum == 3


@pytest.mark.parametrize("name", ["values.yaml", "values.yml"])
def test_helm_values(name: str, tmp_path: Path) -> None:
    assert read_source(written(tmp_path, name, HELM)).settings == Settings(
        2, 2, 2, bookies=4, opportunistic_striping=True
    )


def test_a_key_with_the_prefix_of_pulsars_images_wins(tmp_path: Path) -> None:
    """Its value is set after that of the key without the prefix, whichever comes first in the file."""
    text = HELM.replace(
        "  configData:\n", "  configData:\n    PULSAR_PREFIX_managedLedgerDefaultEnsembleSize: 5\n"
    )
    assert read_files([str(written(tmp_path, "values.yaml", text))]).chosen("ensemble")[0] == 5


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "broker.conf",
            BROKER.replace("AckQuorum=2", "AckQuorum=two"),
            "managedLedgerDefaultAckQuorum is 'two'",
        ),
        ("broker.conf", BROKER.replace("Change=true", "Change=yes"), "'yes'; it must be true or false"),
        (
            "broker.conf",
            BROKER.replace("EnsembleSize=3", "EnsembleSize="),
            "is ''; it must be a whole number",
        ),
        ("broker.conf", BROKER + "clusterName=\\u12\n", "is no file of Java properties"),
        ("values.yaml", "- a\n- b\n", "is a list, not an object with sections and keys"),
        ("values.yaml", "broker: {configData: [", "is not YAML"),
        ("values.yaml", HELM.replace("replicaCount: 4", "replicaCount: many"), "replicaCount is 'many'"),
        ("values.yaml", HELM.replace('"2"', "2.5", 1), "is 2.5; it must be a whole number"),
    ],
)
def test_bad_files_say_the_file_the_value_and_the_rule(
    name: str, text: str, message: str, tmp_path: Path
) -> None:
    path = written(tmp_path, name, text)
    with pytest.raises(BadInput, match=re.escape(message)) as error:
        read_source(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_a_missing_or_binary_file_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        read_source(tmp_path / "none.conf")
    binary = tmp_path / "broker.conf"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match="not UTF-8"):
        read_source(binary)
