"""The instance that a saved file is about: its names are data, and find what ships or what the user named."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fencepost.cli.options.grouped import INSTANCE, option
from fencepost.cli.process.handover import runs
from fencepost.encoding.errors import BadInput, did_you_mean
from fencepost.encoding.language.protocol import Instance, Protocol, load

source_option = option(
    "--protocol",
    "source",
    metavar="FILE.py",
    group=INSTANCE,
    help="The Python file that holds the protocol, if it is one of your own.",
)


def own_protocol(name: str) -> Protocol:
    """The protocol in a file of the user's, whose code is run; raises BadInput."""
    runs(Path(name))
    return load(Path(name))


def saved_instance(source: str | None, name: str, settings: Mapping[str, object]) -> Instance:
    """The instance of the protocol of that name with these settings; raises BadInput.

    It is one that ships, or that of the Python file `source` from the command line. What a saved file says is never
    the path of a file that is run.
    """
    return named_protocol(source, name).instance(settings.items())


def named_protocol(source: str | None, name: str) -> Protocol:
    """The protocol that a file calls by that name: one that ships, or the one in `source`; raises BadInput."""
    if source is None:
        from fencepost.properties.catalogue import PROTOCOLS

        if name not in PROTOCOLS:
            raise BadInput(
                f"{name}: no such protocol{did_you_mean(name, PROTOCOLS)}; valid: {', '.join(PROTOCOLS)}; "
                "for one of your own say --protocol FILE.py"
            )
        return PROTOCOLS[name]
    protocol = own_protocol(source)
    if protocol.name != name:
        raise BadInput(f"--protocol {source}: holds {protocol.name}, not {name}; give the file that holds it")
    return protocol
