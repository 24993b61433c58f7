"""Cases on the real code: conformance runs from a seed, on one release of BookKeeper with one storage.

The settings of a row have the release, the storage, the seed and the number of runs besides those that were
set. `holds` says that no run departs from the model, `violated` that one does. The column `reason` has the
numbers.
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
from fencepost.quorums.storages import STORAGES
from fencepost.realcode.conformance import Conformance, conform, driven, grounds
from fencepost.realcode.library import RELEASE, library
from fencepost.realcode.reproduction import Setting
from fencepost.sweeps import ranges
from fencepost.sweeps.ranges import LISTED
from fencepost.sweeps.sweep_cases import CODE, SweepCase

CONFORMS = "conforms"
"""The name in the column `property`."""

KEYS = {
    "protocols": Key(LISTED, "names of protocols, such as 'bookkeeper'", needed=True),
    "releases": Key(LISTED, "releases of BookKeeper, such as ['4.17.4']", needed=True),
    "storages": Key(LISTED, f"some of {', '.join(STORAGES)}"),
    "seeds": Key(LISTED, "numbers, such as '1..10'"),
    "runs": Key(int, "the number of runs from each seed", lambda number: number > 0),
    "set": Key(dict, "a table, such as { bookies = 3 }"),
}
"""The keys of a table `[[grid]]` that asks for conformance runs."""

RUNS = 100
"""The number of runs from each seed, unless the grid gives another."""


def asked(table: Mapping[str, Any]) -> Iterator[SweepCase]:
    """Yield the cases of a table; the larger the instance, the harder the case. Raises BadInput."""
    has_keys(table, KEYS, "[[grid]]")
    releases = tuple(map(str, ranges.listed("releases", table["releases"])))
    for release in releases:
        if RELEASE.fullmatch(release) is None:
            raise BadInput(f"releases = {release!r}: is no release; write one as '4.17.4'")
    storages = ranges.names("storages", table.get("storages", list(STORAGES)), tuple(STORAGES))
    seeds = ranges.numbers("seeds", table.get("seeds", 1))
    given = {name: ranges.values(name, value) for name, value in table.get("set", {}).items()}
    number = table.get("runs", RUNS)
    for name, storage, values in itertools.product(
        ranges.listed("protocols", table["protocols"]), storages, itertools.product(*given.values())
    ):
        chosen = dict(zip(given, values, strict=True))
        for release in releases:
            ground = grounds(str(name), chosen, storage, release)
            weight = max(len(g.instance.system.variables) for g in ground)
            for seed in seeds:
                on = {"release": release, "storage": storage, "seed": str(seed), "runs": str(number)}
                yield SweepCase(str(name), tuple((on | chosen).items()), CONFORMS, CODE, weight=weight)


def releases(cases: Iterable[SweepCase]) -> list[str]:
    """Return the releases of BookKeeper that the cases run on."""
    return sorted({dict(one.settings)["release"] for one in cases if one.solver == CODE})


def libraries(folders: Iterable[Path], releases: Iterable[str]) -> dict[str, Path]:
    """Return the folder of each release; raise BadInput if one is missing or not asked for."""
    wanted, found = sorted(set(releases)), dict[str, Path]()
    for folder in folders:
        given = library(folder)
        if given.release not in wanted:
            on = f"that runs on {', '.join(wanted)}" if wanted else "that does not run on the real code"
            raise BadInput(f"--bookkeeper {folder}: is {given.release}, for a grid {on}; leave it out")
        if given.release in found:
            raise BadInput(f"--bookkeeper {folder}: is {given.release}, as another one is; give one of each")
        found[given.release] = given.folder
    for release in wanted:
        if release not in found:
            raise BadInput(
                f"--bookkeeper: missing for {release}, on which the grid runs; give its lib folder"
            )
    return found


def take(
    protocol: str, settings: Mapping[str, str], folders: Mapping[str, Path], timeout: float
) -> Conformance:
    """Take the runs of a case within the time-out, which includes the start of the bookies.

    Raises BadInput if they cannot be taken.
    """
    begun = time.perf_counter()
    given = dict(settings)
    release, storage, seed, number = (given.pop(name) for name in ("release", "storage", "seed", "runs"))
    ground = grounds(protocol, given, storage, release)
    found = Conformance(Setting(release, storage), protocol, int(seed), int(number))
    with driven(found, ground, library(folders[release])) as session:
        for _ in conform(session, ground, found, lambda _: time.perf_counter() - begun < timeout):
            pass
    found.seconds = time.perf_counter() - begun
    return found


def verdict(found: Conformance) -> Verdict:
    """Return the verdict of the row."""
    if found.found:
        return Verdict.VIOLATED
    return Verdict.HOLDS if found.runs == found.asked else Verdict.UNDECIDED


def shortest(found: Conformance) -> int | None:
    """Return the steps of the shortest run that departs; None if none does."""
    return min((len(one.departure.steps) for one in found.found.values()), default=None)


def in_words(found: Conformance) -> str:
    """Return a phrase with the number of runs and the departures."""
    taken = f"{amount(found.runs, 'run')}, {amount(sum(found.lengths), 'step')}"
    if found.runs < found.asked:
        taken += f", of {found.asked} asked for"
    if not found.found:
        return f"{taken}, none departs"
    least = min(found.found.values(), key=lambda one: len(one.departure.steps)).departure
    return f"{taken}, {found.departed} depart; after {amount(len(least.steps), 'step')}: {least.reason}"
