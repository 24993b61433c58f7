"""The protocol that an argument or a saved file names. The file never has the path of code that is run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fencepost.cli.options import shared
from fencepost.cli.options.completion import protocol_names
from fencepost.cli.options.grouped import Options, argument
from fencepost.cli.process.handover import runs
from fencepost.encoding.errors import BadInput, unknown_name
from fencepost.encoding.language.protocol import Instance, Protocol, load


def own_protocol(path: Path) -> Protocol:
    """Run a Python file of the user and return its protocol; raises BadInput."""
    runs(path)
    return load(path)


def saved_instance(
    source: str | None, name: str, settings: Mapping[str, object], drop_declared: bool = False
) -> Instance:
    """Return the instance of the protocol of that name with these settings; raises BadInput.

    The protocol is a preset, or that of the Python file `source` from the command line.
    """
    return named_protocol(source, name).instance(settings.items(), drop_declared=drop_declared)


def named_protocol(source: str | None, name: str) -> Protocol:
    """Return the protocol of that name: a preset, or the one in `source`; raises BadInput."""
    if source is None:
        from fencepost.properties.catalogue import FAMILIES, find

        if name not in FAMILIES:
            known = unknown_name(name, "protocol", FAMILIES, "fencepost protocols")
            raise BadInput(f"{known}; for one of your own say --protocol FILE.py")
        return find(name)
    protocol = own_protocol(Path(source))
    if protocol.name != name:
        raise BadInput(f"--protocol {source}: holds {protocol.name}, not {name}; give the file that holds it")
    return protocol


def find_protocol(name: str) -> Protocol:
    """Return the protocol of that name, or the one in a Python file of that path; raises BadInput."""
    from fencepost.cli.requests import find_protocol as find

    return find(name, own_protocol)


class InstanceOptions(Options):
    """The protocol of a command, and the options that choose one of its instances."""

    protocol: str = argument("PROTOCOL|FILE.py", shell_complete=protocol_names)
    settings: shared.Settings = shared.settings
    release: str | None = shared.release

    def instance(self, drop_declared: bool = False) -> Instance:
        """Return the instance that the options choose; raises BadInput and ModelError."""
        return asked_instance(self.protocol, self.settings, self.release, drop_declared)


def asked_instance(
    protocol: str, settings: shared.Settings, release: str | None, drop_declared: bool = False
) -> Instance:
    """Return the instance that the options of a command choose; raises BadInput and ModelError."""
    return find_protocol(protocol).instance(settings, release, drop_declared)
