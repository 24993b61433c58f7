"""The argument PROTOCOL or FILE.py, and the protocol that it names."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.cli.options.completion import protocol_names
from fencepost.cli.options.grouped import Options, argument
from fencepost.cli.options.saved import own_protocol
from fencepost.cli.options.settings import release_option, settings_of, settings_option
from fencepost.encoding.language.protocol import Instance, Protocol


def find_protocol(name: str) -> Protocol:
    """Return the protocol of that name, or the one in a Python file of that path; raises BadInput."""
    from fencepost.cli.requests import find_protocol as find

    return find(name, own_protocol)


class InstanceOptions(Options):
    """The protocol of a command, and the options that choose one of its instances."""

    protocol: str = argument("PROTOCOL|FILE.py", shell_complete=protocol_names)
    settings: tuple[str, ...] = settings_option
    release: str | None = release_option

    def instance(self, drop_declared: bool = False) -> Instance:
        """Return the instance that the options choose; raises BadInput and ModelError."""
        return asked_instance(self.protocol, self.settings, self.release, drop_declared)


def asked_instance(
    protocol: str, settings: Sequence[str], release: str | None, drop_declared: bool = False
) -> Instance:
    """Return the instance that the options of a command choose; raises BadInput and ModelError."""
    return find_protocol(protocol).instance(settings_of(settings), release, drop_declared)
