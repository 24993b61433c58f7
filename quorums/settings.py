"""E/WQ/AQ and client settings from Pulsar's broker.conf or from a Helm values file.

Keys (ServiceConfiguration): `managedLedgerDefaultEnsembleSize`, `…WriteQuorum`, `…AckQuorum`, and client
settings with the prefix `bookkeeper_`. A Helm values file has them under `broker.configData`, and N under
`bookkeeper.replicaCount`. There a key may have the prefix `PULSAR_PREFIX_`. Pulsar's images remove the
prefix, and the key with it wins over the key without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.encoding.documents import SETTINGS, is_a, parse_yaml, read_text, shown, whole
from fencepost.encoding.errors import BadInput

HINT = "give a broker.conf or Helm values"

ENSEMBLE = "managedLedgerDefaultEnsembleSize"
WRITE_QUORUM = "managedLedgerDefaultWriteQuorum"
ACK_QUORUM = "managedLedgerDefaultAckQuorum"
MIN_RACKS = "bookkeeperClientMinNumRacksPerWriteQuorum"
ENFORCE_RACKS = "bookkeeperClientEnforceMinNumRacksPerWriteQuorum"
DELAY = "bookkeeper_delayEnsembleChange"
STRIPING = "bookkeeper_opportunisticStriping"
QUORUMS = (ENSEMBLE, WRITE_QUORUM, ACK_QUORUM)
KEYS = (*QUORUMS, MIN_RACKS, ENFORCE_RACKS, DELAY, STRIPING)
REPLICAS = "bookkeeper.replicaCount"
AUTORECOVERY = "components.autorecovery"
"""The key of Pulsar's Helm chart that deploys the daemon of auto-recovery."""
PREFIX = "PULSAR_PREFIX_"
"""Pulsar's images set a key of this prefix without the prefix (bin/apply-config-from-env*.py)."""


@dataclass(frozen=True)
class Settings:
    """The settings of a file; None for a setting that the file does not have."""

    ensemble: int | None = None
    write_quorum: int | None = None
    ack_quorum: int | None = None
    bookies: int | None = None
    min_racks: int | None = None
    enforce_min_racks: bool | None = None
    delay_ensemble_change: bool | None = None
    opportunistic_striping: bool | None = None
    autorecovery: bool | None = None


def read_settings(path: Path) -> Settings:
    """Return the settings of a broker.conf, or of Helm values if the name ends in .yaml or .yml.

    A file may have only some of the settings. Raises BadInput, also if it has none.
    """
    text = read_text(path, HINT, SETTINGS)
    if path.suffix in (".yaml", ".yml"):
        return _helm(path, text)
    return _settings(path, properties(text))


def properties(text: str) -> dict[str, str]:
    """Return keys and values of a text as Java's `Properties` reads it; of a repeated key the last counts.

    A backslash at the end of a line continues the line. A key ends at `=`, `:` or a blank. `#` and `!` begin
    comments.
    """
    found: dict[str, str] = {}
    for line in _logical_lines(text.removeprefix("\ufeff")):
        match = _PAIR.fullmatch(line)
        assert match is not None
        found[_unescaped(match["key"])] = _unescaped(match["value"])
    return found


_BLANKS = " \t\f"
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_PAIR = re.compile(r"(?P<key>(?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(?P<value>.*)", re.DOTALL)


def _logical_lines(text: str) -> Iterator[str]:
    """Yield the lines without blank lines and comments, each joined with its continuation lines."""
    waiting: str | None = None
    for natural in re.split(r"\r\n|\n|\r", text):
        line = natural.lstrip(_BLANKS)
        if waiting is None and (not line or line[0] in "#!"):
            continue
        line = (waiting or "") + line
        backslashes = len(line) - len(line.rstrip("\\"))
        waiting = line[:-1] if backslashes % 2 else None
        if waiting is None:
            yield line
    if waiting is not None:
        yield waiting


def _unescaped(text: str) -> str:
    r"""Return the text with `\t`, `\u0041` and `\:` replaced by the characters that they stand for."""

    def meant(found: re.Match[str]) -> str:
        code, letter = found.groups()
        return chr(int(code, 16)) if code else _LETTERS.get(letter, letter)

    return re.sub(r"\\(?:u([0-9a-fA-F]{4})|(.))", meant, text, flags=re.DOTALL)


def _helm(path: Path, text: str) -> Settings:
    values = parse_yaml(text, str(path), HINT)
    config = without_prefix(_section(_section(values, "broker"), "configData"))
    bookkeeper = _section(values, "bookkeeper")
    if "replicaCount" in bookkeeper:
        config[REPLICAS] = bookkeeper["replicaCount"]
    components = _section(values, "components")
    if "autorecovery" in components:
        config[AUTORECOVERY] = components["autorecovery"]
    return _settings(path, config)


def without_prefix(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys as Pulsar's images set them. The value of a key with the prefix comes last and wins."""
    return {str(key).removeprefix(PREFIX): config[key] for key in sorted(config, key=_has_prefix)}


def _has_prefix(key: object) -> bool:
    return str(key).startswith(PREFIX)


def _section(values: object, name: str) -> Mapping[str, Any]:
    section = values.get(name) if isinstance(values, dict) else None
    return section if isinstance(section, dict) else {}


def _settings(path: Path, config: Mapping[str, Any]) -> Settings:
    if not any(key in config for key in (*KEYS, REPLICAS, AUTORECOVERY)):
        raise BadInput(f"{path}: has no {', '.join(KEYS)}; a broker.conf or Helm broker.configData has them")

    def number(key: str) -> int | None:
        return _number(path, key, config[key]) if key in config else None

    return Settings(
        ensemble=number(ENSEMBLE),
        write_quorum=number(WRITE_QUORUM),
        ack_quorum=number(ACK_QUORUM),
        bookies=number(REPLICAS),
        min_racks=number(MIN_RACKS),
        enforce_min_racks=_flag(path, ENFORCE_RACKS, config),
        delay_ensemble_change=_flag(path, DELAY, config),
        opportunistic_striping=_flag(path, STRIPING, config),
        autorecovery=_flag(path, AUTORECOVERY, config),
    )


def _number(path: Path, key: str, value: object) -> int:
    """Return a number, also from a text. Java trims the text and accepts no other form. Raises BadInput."""
    number = value if is_a(value, int) else whole(value.strip()) if isinstance(value, str) else None
    if not isinstance(number, int) or abs(number) >= 2**31:
        raise BadInput(f"{path}: {key} is {shown(value)}; it must be a whole number")
    return number


def _flag(path: Path, key: str, config: Mapping[str, Any]) -> bool | None:
    if key not in config:
        return None
    value = config[key]
    said = value.strip().lower() if isinstance(value, str) else value
    if said not in (True, False, "true", "false") or is_a(said, int):
        raise BadInput(f"{path}: {key} is {shown(value)}; it must be true or false")
    return said in (True, "true")
