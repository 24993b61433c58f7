"""Walks on the real code as obligations: so many from a seed, on one release of BookKeeper with one storage.

On what stands among the settings of a row, beside what was set. `holds` says that no walk departs from the model,
`violated` that one does; what the walks came to is in the column `reason`.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fencepost.encoding.documents import Key, has_keys
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.state import amount
from fencepost.realcode.conformance import Conformance, conform, driven, grounds
from fencepost.realcode.library import RELEASE, library
from fencepost.realcode.reproduction import STORAGES, Setting
from fencepost.sweeps import ranges
from fencepost.sweeps.ranges import LISTED
from fencepost.sweeps.sweep_cases import CODE, SweepCase

CONFORMS = "conforms"
"""What stands in the column `property`."""

KEYS = {
    "protocols": Key(LISTED, "names of protocols, such as 'bookkeeper'", needed=True),
    "releases": Key(LISTED, "releases of BookKeeper, such as ['4.17.4']", needed=True),
    "storages": Key(LISTED, f"some of {', '.join(STORAGES)}"),
    "seeds": Key(LISTED, "numbers, such as '1..10'"),
    "walks": Key(int, "how many walks from each seed", lambda number: number > 0),
    "set": Key(dict, "a table, such as { bookies = 3 }"),
}
"""What a table `[[grid]]` may hold that asks for walks on the real code."""

WALKS = 100
"""From each seed, unless the grid says otherwise."""


def asked(table: Mapping[str, Any]) -> Iterator[SweepCase]:
    """The walks of a table, one after another, the hardest being those on the largest instance; raises BadInput."""
    has_keys(table, KEYS, "[[grid]]")
    releases = tuple(map(str, ranges.listed("releases", table["releases"])))
    for release in releases:
        if RELEASE.fullmatch(release) is None:
            raise BadInput(f"releases = {release!r}: is no release; write one as '4.17.4'")
    storages = ranges.names("storages", table.get("storages", list(STORAGES)), STORAGES)
    seeds = ranges.numbers("seeds", table.get("seeds", 1))
    given = {name: ranges.values(name, value) for name, value in table.get("set", {}).items()}
    number = table.get("walks", WALKS)
    for name, storage, values in itertools.product(
        ranges.listed("protocols", table["protocols"]), storages, itertools.product(*given.values())
    ):
        chosen = dict(zip(given, values, strict=True))
        weight = max(len(g.instance.system.variables) for g in grounds(str(name), chosen, storage))
        for release, seed in itertools.product(releases, seeds):
            on = {"release": release, "storage": storage, "seed": str(seed), "walks": str(number)}
            yield SweepCase(str(name), tuple((on | chosen).items()), CONFORMS, CODE, weight=weight)


def releases(obligations: Iterable[SweepCase]) -> list[str]:
    """The releases of BookKeeper on whose code walks are asked for."""
    return sorted({dict(one.settings)["release"] for one in obligations if one.solver == CODE})


def libraries(folders: Iterable[Path], releases: Iterable[str]) -> dict[str, Path]:
    """The folder of each of those releases; raises BadInput if one is missing, or one is not asked for."""
    wanted, found = sorted(set(releases)), dict[str, Path]()
    for folder in folders:
        given = library(folder)
        if given.release not in wanted:
            on = f"that walks on {', '.join(wanted)}" if wanted else "that does not walk on the real code"
            raise BadInput(f"--bookkeeper {folder}: is {given.release}, for a grid {on}; leave it out")
        if given.release in found:
            raise BadInput(f"--bookkeeper {folder}: is {given.release}, as another one is; give one of each")
        found[given.release] = given.folder
    for release in wanted:
        if release not in found:
            raise BadInput(
                f"--bookkeeper: missing for {release}, on which the grid walks; give its lib folder"
            )
    return found


def walked(
    protocol: str, settings: Mapping[str, str], folders: Mapping[str, Path], timeout: float
) -> Conformance:
    """Take those walks within so many seconds, the start of the bookies too; raises BadInput if they cannot be taken."""
    begun = time.perf_counter()
    given = dict(settings)
    release, storage, seed, number = (given.pop(name) for name in ("release", "storage", "seed", "walks"))
    ground = grounds(protocol, given, storage)
    found = Conformance(Setting(release, storage), protocol, int(seed), int(number))
    with driven(found, ground, folders[release]) as session:
        for _ in conform(session, ground, found, lambda _: time.perf_counter() - begun < timeout):
            pass
    found.seconds = time.perf_counter() - begun
    return found


def verdict(found: Conformance) -> Verdict:
    """What stands in the row of walks."""
    if found.found:
        return Verdict.VIOLATED
    return Verdict.HOLDS if found.walks == found.asked else Verdict.UNDECIDED


def shortest(found: Conformance) -> int | None:
    """The steps of the shortest walk that departs; None if none does."""
    return min((len(one.departure.steps) for one in found.found.values()), default=None)


def in_words(found: Conformance) -> str:
    """How many walks were taken, and where they depart."""
    taken = f"{amount(found.walks, 'walk')}, {amount(sum(found.lengths), 'step')}"
    if found.walks < found.asked:
        taken += f", of {found.asked} asked for"
    if not found.found:
        return f"{taken}, none departs"
    least = min(found.found.values(), key=lambda one: len(one.departure.steps)).departure
    return f"{taken}, {found.departed} depart; after {amount(len(least.steps), 'step')}: {least.reason}"
