"""What the releases of BookKeeper do when they are driven, and which known bugs were seen on them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from fencepost.answers.affected import has
from fencepost.encoding.documents import parse_toml
from fencepost.properties.expectations import Expectation
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.releases import RULES, as_in

ONE_AT_A_TIME: Mapping[str, Any] = {"fence_atomic": "yes", "lac_read_in_change": "blocked"}
"""Races inside one method: the harness lets the code do one thing at a time, so they do not happen when it is driven."""


SECOND_COPY = {"sorted": "dropped", "interleaved": "replaces", "db": "replaces"}
"""By storage, what becomes of an add of an entry that the bookie has in memory: in 4.13.0, 4.17.3 and 4.17.4 alike."""


def as_driven(release: str, storage: str, parameters: BookKeeperParameters) -> BookKeeperParameters:
    """The same instance with the switches of that release and storage, without what cannot happen when it is driven."""
    return replace(as_in(release, parameters), second_copy=SECOND_COPY[storage], **ONE_AT_A_TIME)


def mending(release: str, storage: str, parameters: BookKeeperParameters) -> dict[str, str]:
    """The switches in which this release with that storage differs from the instance, with the release's values."""
    own, names = as_driven(release, storage, parameters), (*RULES, "second_copy")
    return {n: str(getattr(own, n)) for n in names if getattr(own, n) != getattr(parameters, n)}


STORAGES = {"too-few-copies": ("interleaved", "db")}
"""Bugs that only some storages have, by the trace of the table: sorted drops the second copy of an entry."""


def is_there(known: Expectation, release: str, storage: str) -> bool:
    """Whether that release has the bug, with that storage; what is durable when is of one storage at a time."""
    own = known.settings.get("storage", storage)
    return has(known, release) and storage == own and storage in STORAGES.get(known.name, tuple(SECOND_COPY))


@cache
def seen() -> Mapping[str, Mapping[str, str]]:
    """By release and bug, what became of its counterexample when it was driven there: `seen.toml`."""
    name = "seen.toml"
    text = files("fencepost.realcode").joinpath(name).read_text(encoding="utf-8")
    return parse_toml(text, name, "it is part of this package")


@dataclass(frozen=True)
class SeenOnRelease:
    """What became of a counterexample on some storages of a release: `has it`, or `refuses it` at a step."""

    mark: str
    storages: tuple[str, ...]
    step: int | None = None

    def __str__(self) -> str:
        return (
            self.mark if self.storages == tuple(SECOND_COPY) else f"{self.mark} ({', '.join(self.storages)})"
        )


_SEEN = re.compile(r"(?:([a-z, ]+): )?(has it|refuses it)(?:, step ([0-9]+))?")


def driven(cell: str) -> list[SeenOnRelease]:
    """What a cell of `seen.toml` says of the storages where the counterexample was driven; nothing of others."""
    found = [match for part in cell.split("; ") if (match := _SEEN.fullmatch(part))]
    return [
        SeenOnRelease(
            m[2], tuple(m[1].split(", ")) if m[1] else tuple(SECOND_COPY), int(m[3]) if m[3] else None
        )
        for m in found
    ]


def refused_at(bug: str, release: str, storage: str) -> int | None:
    """The step at which the real code was seen to refuse a counterexample; None if it was not seen to."""
    cell = seen().get(release, {}).get(bug, "")
    return next((one.step for one in driven(cell) if storage in one.storages), None)
