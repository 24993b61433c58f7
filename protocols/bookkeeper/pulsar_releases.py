"""The release of BookKeeper in a release of Pulsar. The table is `pulsar_releases.toml` in this folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from fencepost.encoding.documents import parse_toml
from fencepost.encoding.errors import BadInput
from fencepost.protocols.bookkeeper.releases import ordered


@dataclass(frozen=True)
class PulsarRelease:
    """A release of Pulsar with its BookKeeper."""

    name: str
    bookkeeper: str
    source: str
    """The address of the pull request of Pulsar that brought this BookKeeper."""
    newest_read: str
    """The newest release of its line that was read, or of all lines if none of its line was."""

    @property
    def is_read(self) -> bool:
        """Whether the release was read. A later one may have a newer BookKeeper."""
        return ordered(self.name) <= ordered(self.newest_read)

    @property
    def sentence(self) -> str:
        """The origin of the release of BookKeeper, and a warning if the release was not read."""
        if self.is_read:
            return f"Pulsar {self.name} has BookKeeper {self.bookkeeper} ({self.source})."
        return self.warning

    @property
    def warning(self) -> str:
        """One sentence or two that say which release is answered, if this one was not read; else empty."""
        if self.is_read:
            return ""
        line = "" if ordered(self.name)[:2] > ordered(self.newest_read)[:2] else "of its line "
        return (
            f"warning: Pulsar {self.name} is after {self.newest_read}, the newest {line}that was read. "
            f"The answer is for the BookKeeper of {self.newest_read}, {self.bookkeeper} ({self.source}). "
            "If yours has another, give its release with --release."
        )


def _release_lines() -> dict[str, dict[str, Any]]:
    name = "pulsar_releases.toml"
    text = files("fencepost.protocols.bookkeeper").joinpath(name).read_text(encoding="utf-8")
    return parse_toml(text, name, "it is part of this package")


LINES: Mapping[str, Mapping[str, Any]] = _release_lines()
"""The lines of Pulsar that were read, the newest first."""


def pulsars_with(bookkeeper: str) -> list[str]:
    """Return the first release of each line of Pulsar that has this release of BookKeeper."""
    has = [item for line in LINES.values() for item in line["has"].items()]
    return [name for name, (brought, _) in has if brought == bookkeeper]


def pulsar_release(release: str) -> PulsarRelease:
    """Return a release of Pulsar with its BookKeeper, by a name such as 4.0.12. Raises BadInput."""
    found = re.fullmatch(r"v?((\d{1,4}\.\d{1,4})\.\d{1,4})", release)
    if found is None:
        raise BadInput(f"--pulsar {release}: is no release of Pulsar; give one as 4.0.12")
    name, line = found[1], LINES.get(found[2])
    newest = next(iter(LINES))
    if line is None and ordered(newest) < ordered(found[2]) < (ordered(newest)[0] + 2,):
        line = LINES[newest]
    if line is None:
        raise BadInput(
            f"--pulsar {release}: no release of {found[2]} was read, only those of "
            f"{', '.join(reversed(list(LINES)))}; give the release of its BookKeeper with --release"
        )
    earlier = [first for first in line["has"] if ordered(first) <= ordered(name)]
    if not earlier:
        first = next(iter(line["has"]))
        raise BadInput(
            f"--pulsar {release}: the oldest release of its line that was read is {first}; "
            "give the release of its BookKeeper with --release"
        )
    bookkeeper, pull = line["has"][max(earlier, key=ordered)]
    return PulsarRelease(name, bookkeeper, f"https://github.com/apache/pulsar/pull/{pull}", line["read"])
