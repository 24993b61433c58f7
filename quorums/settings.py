"""E/WQ/AQ and client settings from files that people already have: Pulsar's broker.conf, or a Helm values file.

Keys (ServiceConfiguration): `managedLedgerDefaultEnsembleSize`, `…WriteQuorum`, `…AckQuorum`; client settings behind the
prefix `bookkeeper_`. A Helm values file has them under `broker.configData`, and N under `bookkeeper.replicaCount`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fencepost.encoding.errors import BadInput

ENSEMBLE = "managedLedgerDefaultEnsembleSize"
WRITE_QUORUM = "managedLedgerDefaultWriteQuorum"
ACK_QUORUM = "managedLedgerDefaultAckQuorum"
MIN_RACKS = "bookkeeperClientMinNumRacksPerWriteQuorum"
ENFORCE_RACKS = "bookkeeperClientEnforceMinNumRacksPerWriteQuorum"
DELAY = "bookkeeper_delayEnsembleChange"
STRIPING = "bookkeeper_opportunisticStriping"


@dataclass(frozen=True)
class Settings:
    """What a file says; None where it says nothing."""

    ensemble: int
    write_quorum: int
    ack_quorum: int
    bookies: int | None = None
    min_racks: int | None = None
    enforce_min_racks: bool | None = None
    delay_ensemble_change: bool | None = None
    opportunistic_striping: bool | None = None


def read_settings(path: Path) -> Settings:
    """Settings from a broker.conf, or from Helm values if the name ends in .yaml or .yml. Raises BadInput."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(
            f"{path}: cannot be read ({error.strerror}); give a broker.conf or Helm values"
        ) from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: is not UTF-8 text; give a broker.conf or Helm values") from error
    if path.suffix in (".yaml", ".yml"):
        return _helm(path, text)
    return _settings(path, _properties(text), None)


def _properties(text: str) -> dict[str, Any]:
    """`key=value` lines; the last one counts, as for Java's Properties. A comment yields a key that nobody asks for."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {key.strip(): value.strip() for key, _, value in pairs}


def _helm(path: Path, text: str) -> Settings:
    try:
        values = yaml.safe_load(text)
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f" (line {where.line + 1})" if where is not None else ""
        raise BadInput(f"{path}: is not YAML{line}; give Helm values") from error
    config = _section(_section(values, "broker"), "configData")
    bookies = _section(values, "bookkeeper").get("replicaCount")
    return _settings(path, config, bookies)


def _section(values: object, name: str) -> Mapping[str, Any]:
    section = values.get(name) if isinstance(values, dict) else None
    return section if isinstance(section, dict) else {}


def _settings(path: Path, config: Mapping[str, Any], bookies: object) -> Settings:
    required = [key for key in (ENSEMBLE, WRITE_QUORUM, ACK_QUORUM) if key not in config]
    if required:
        raise BadInput(
            f"{path}: has no {', '.join(required)}; a broker.conf or Helm broker.configData has them"
        )
    return Settings(
        ensemble=_number(path, ENSEMBLE, config[ENSEMBLE]),
        write_quorum=_number(path, WRITE_QUORUM, config[WRITE_QUORUM]),
        ack_quorum=_number(path, ACK_QUORUM, config[ACK_QUORUM]),
        bookies=None if bookies is None else _number(path, "bookkeeper.replicaCount", bookies),
        min_racks=_number(path, MIN_RACKS, config[MIN_RACKS]) if MIN_RACKS in config else None,
        enforce_min_racks=_flag(path, ENFORCE_RACKS, config),
        delay_ensemble_change=_flag(path, DELAY, config),
        opportunistic_striping=_flag(path, STRIPING, config),
    )


def _number(path: Path, key: str, value: object) -> int:
    try:
        return int(str(value).strip())
    except ValueError:
        raise BadInput(f"{path}: {key} is {value!r}; it must be a whole number") from None


def _flag(path: Path, key: str, config: Mapping[str, Any]) -> bool | None:
    if key not in config:
        return None
    said = str(config[key]).strip().lower()
    if said not in ("true", "false"):
        raise BadInput(f"{path}: {key} is {config[key]!r}; it must be true or false")
    return said == "true"
