"""The values of a configuration from options and files, with the setter of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fencepost.encoding.errors import BadInput
from fencepost.quorums.files.joined_files import Files
from fencepost.quorums.files.setters import Setter
from fencepost.quorums.files.settings import QUORUMS
from fencepost.quorums.stripes import Configuration


@dataclass
class AskedValues:
    """The files that were read, and the setter of each value that was asked for."""

    said: Files
    set_by: dict[str, Setter] = field(default_factory=dict)

    def value(self, name: str, flag: str, option: object, default: object = None) -> Any:
        """Return the value of an option, else that of the last file that has it, else the default."""
        found, self.set_by[name] = self.said.chosen(name, flag, option, default)
        return found

    def sizes(
        self, ensemble: int | None, write_quorum: int | None, ack_quorum: int | None, needed: str
    ) -> Configuration:
        """Return E, WQ and AQ; raises BadInput for one that is missing, with those `needed`."""
        found = []
        options = zip(QUORUMS.items(), ("-e", "-w", "-a"), (ensemble, write_quorum, ack_quorum), strict=True)
        for (name, key), flag, option in options:
            size = self.value(name, flag, option)
            if size is None:
                missing = f"{self.said.without(key)};" if self.said.sources else f"no {flag}:"
                raise BadInput(f"{missing} give {needed}, or --from FILE that has them")
            found.append(int(size))
        return Configuration(*found)
