"""The protocols that ship with Fencepost. One is imported, with its properties, when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module

from fencepost.encoding.errors import BadInput, unknown_name
from fencepost.encoding.language.protocol import Protocol

FAMILIES = {
    "bookkeeper": "bookkeeper",
    "bookkeeper-no-journal": "bookkeeper",
    "bookkeeper-4.13": "bookkeeper",
    "bookkeeper-4.13-tla": "bookkeeper",
    "bookkeeper-core": "bookkeeper",
    "bookkeeper-liveness": "bookkeeper",
    "bookkeeper-guaranteed-write-quorum": "bookkeeper_tweaks",
    "bookkeeper-unbounded": "bookkeeper_tweaks",
    "ledger-chain": "ledger_chain",
    "ledger-copies": "ledger_copies",
    "verified-log-01": "verified_log",
    "verified-log-02": "verified_log",
    "verified-log-03": "verified_log",
    "verified-log-04": "verified_log",
}
"""The name of each preset, and the folder whose `presets.py` has it."""

IN_NO_INSTANCE = {
    "BookKeeper's client": "re-replication, two replacements in one change",
    "BookKeeper's re-replication": "open ledgers, late adds",
}
"""The parts of `bookkeeper` and `ledger-copies` that no instance has, by what is modelled."""


def find(name: str) -> Protocol:
    """Return the shipped preset of that name. Raises BadInput if there is none."""
    if name not in FAMILIES:
        raise unknown_name(name, "protocol", FAMILIES, "fencepost protocols")
    presets: Sequence[Protocol] = import_module(f"fencepost.properties.{FAMILIES[name]}.presets").PRESETS
    return next(preset for preset in presets if preset.name == name)


def unmodelled(asked: Iterable[tuple[str, Mapping[str, object]]]) -> list[str]:
    """Return the lines that say what the models leave out, each line once.

    Each item is the name of a preset and settings. The protocol of a user's file has no such line. Settings
    that another version of Fencepost had stand for the defaults.
    """
    shipped = [(find(name), settings) for name, settings in asked if name in FAMILIES]
    return list(dict.fromkeys(line for one in shipped if (line := _left_out(*one))))


def _left_out(protocol: Protocol, settings: Mapping[str, object]) -> str:
    try:
        parameters = protocol.parameters(settings.items())
    except BadInput:
        parameters = protocol.defaults
    return protocol.left_out(parameters)
