"""The behaviour of BookKeeper's releases when they are driven, and the known bugs seen on them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from fencepost.advice.affected import OF_COPIES, has, rule
from fencepost.encoding.documents import parse_toml
from fencepost.properties.expectations import Expectation
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.releases import RULES, as_in
from fencepost.protocols.bookkeeper.switches import CACHE_ASIDE, DEFERRED_SYNC, DURABILITY, READERS
from fencepost.quorums.storages import STORAGES

ONE_AT_A_TIME: Mapping[str, Any] = {
    "fence_atomic": "yes",
    "lac_read_in_change": "blocked",
}
"""The switches of rules that do not apply when the code is driven.

The harness lets the code do one thing at a time, so races inside one method do not happen.
"""

UNLESS_ASKED: Mapping[str, Any] = {
    "add_ensemble": "when-queued",
    "refused_change": "gives-up",
    "chained_changes": "each-alone",
    "acks_after_change": "with-change",
}
"""The switches of rules that apply only if the instance asks for them.

An instance with these values has no add that waits, no step of a writer after a refused change, no write that
fails during a change, and no change after which an entry is acknowledged later. So the harness does not cause
them, and the release does what the instance says. Conformance runs follow the release.
"""


DRIVEN_ON = tuple(name for name, storage in STORAGES.items() if storage.driven_at_first)
"""The storages of a cell of `seen.toml` that names none."""


def as_driven(release: str, storage: str, parameters: BookKeeperParameters) -> BookKeeperParameters:
    """Return the same instance as that release and storage behave when driven, without races."""
    unasked = {name: value for name, value in UNLESS_ASKED.items() if getattr(parameters, name) == value}
    return replace(
        as_in(release, parameters), second_copy=STORAGES[storage].second_copy, **ONE_AT_A_TIME, **unasked
    )


def rules_in_runs(release: str, parameters: BookKeeperParameters) -> dict[str, str]:
    """Return the release's values of the switches that conformance runs follow."""
    own = as_in(release, parameters)
    layers = (
        (DURABILITY, parameters.storage != "any"),
        (DEFERRED_SYNC, parameters.forces),
        (READERS, parameters.readers),
        (("batch_read",), parameters.way_to_read == "batch"),
        (("id_check",), parameters.given_ids),
        (("recovered_length",), parameters.lengths),
        (CACHE_ASIDE, parameters.restarts_with_caches),
    )
    names = (*UNLESS_ASKED, *(name for group, is_on in layers if is_on for name in group if name in RULES))
    return {name: str(getattr(own, name)) for name in names}


def mending(release: str, storage: str, parameters: BookKeeperParameters) -> dict[str, str]:
    """Return the switches in which this release and storage differ from the instance.

    Each comes with the release's value.
    """
    own, names = as_driven(release, storage, parameters), (*RULES, "second_copy")
    return {n: str(getattr(own, n)) for n in names if getattr(own, n) != getattr(parameters, n)}


OF_SECOND_COPIES = "too-few-copies"
"""The bug that a storage has if a second add of an entry replaces the first, by the table's trace."""


def is_there(known: Expectation, release: str, storage: str) -> bool:
    """Return whether that release has the bug with that storage.

    A trace about durability belongs to one storage.
    """
    own = known.settings.get("storage", storage)
    replaces = known.name != OF_SECOND_COPIES or STORAGES[storage].second_copy == "replaces"
    return has(known, release) and storage == own and replaces


def is_of_other_rules(known: Expectation, release: str) -> bool:
    """Return whether the release's code has neither the rule with the bug nor the mend."""
    found = rule(known)
    return found is not None and not found.settings(release) & {str(known.broken), str(known.mended)}


@cache
def seen(name: str = "seen.toml") -> Mapping[str, Mapping[str, str]]:
    """Return the result of each counterexample by release and bug, from one of the tables of results."""
    text = files("fencepost.realcode").joinpath(name).read_text(encoding="utf-8")
    return parse_toml(text, name, "it is part of this package")


def seen_of(known: Expectation) -> Mapping[str, Mapping[str, str]]:
    """Return the results by release and bug, from the table that has this bug."""
    return seen("seen_of_copies.toml" if known.protocol == OF_COPIES else "seen.toml")


@dataclass(frozen=True)
class SeenOnRelease:
    """The result of a counterexample on some storages: `has it`, or `refuses it` at a step."""

    mark: str
    storages: tuple[str, ...]
    step: int | None = None

    def __str__(self) -> str:
        """Return the mark, with the storages unless it holds for all."""
        return self.mark if self.storages == DRIVEN_ON else f"{self.mark} ({', '.join(self.storages)})"


_SEEN = re.compile(r"(?:([a-z, ]+): )?(has it|refuses it)(?:, step ([0-9]+))?")


def driven(cell: str) -> list[SeenOnRelease]:
    """Return the results in a cell of `seen.toml`, for the storages where the bug was driven."""
    found = [match for part in cell.split("; ") if (match := _SEEN.fullmatch(part))]
    return [
        SeenOnRelease(m[2], tuple(m[1].split(", ")) if m[1] else DRIVEN_ON, int(m[3]) if m[3] else None)
        for m in found
    ]


def refused_at(bug: str, release: str, storage: str) -> int | None:
    """Return the step at which the code refused a counterexample; None if it did not."""
    cell = seen().get(release, {}).get(bug, "")
    return next((one.step for one in driven(cell) if storage in one.storages), None)
