"""Measure the explorer's time for a step: `python benchmarks/exploring.py`.

Random paths through an instance of many actions are taken twice: the first time includes compilation, the
second does not. The time is processor time for all data of the page, with its diagram.
"""

from __future__ import annotations

import json
import random
import time
from statistics import median

from fencepost.encoding.forms.diagram import diagram
from fencepost.explore.explorer import Explorer
from fencepost.explore.paths import ExplorerPath, Take
from fencepost.explore.views import view
from fencepost.properties.catalogue import find

SETTINGS = {"bookies": 6, "entries": 3, "recoverers": 2}
STEPS, PATHS = 40, 3


def random_path(explorer: Explorer, seed: int) -> tuple[ExplorerPath, list[float]]:
    """Return a random path that closes the ledger late, and the seconds of each step."""
    chance, path, seconds = random.Random(seed), ExplorerPath(), list[float]()
    for _ in range(STEPS):
        seconds.append(answered(explorer, path))
        enabled = explorer.at(path).enabled
        going_on = [action for action in enabled if "close" not in action.name] or enabled
        if not going_on:
            break
        path = path.then(Take(chance.choice(going_on)))
    return path, seconds


def answered(explorer: Explorer, path: ExplorerPath) -> float:
    """Return the processor seconds for the page's data at the end of a path."""
    begun = time.process_time()
    here = explorer.at(path)
    json.dumps({"view": view(here), "diagram": diagram(here.counterexample, [])}, default=vars)
    return time.process_time() - begun


def told(what: str, seconds: list[float]) -> str:
    """Return a line of the result."""
    ordered = sorted(seconds)
    most = ordered[int(len(ordered) * 0.95)]
    return f"{what}: median {median(ordered) * 1000:.0f} ms, 95 of 100 within {most * 1000:.0f} ms"


def main() -> None:
    """Measure and print."""
    instance = find("bookkeeper").instance(SETTINGS.items())
    explorer = Explorer(instance)
    begun = time.process_time()
    explorer.warm_up()
    print(f"{len(instance.system.ground_actions)} actions, {len(instance.system.variables)} variables")
    print(f"before the first: {time.process_time() - begun:.1f} s")
    paths = [random_path(explorer, seed) for seed in range(PATHS)]
    print(told("a step at first", [s for _, seconds in paths for s in seconds]))
    again = Explorer(instance)
    again.replayer, again.guards = explorer.replayer, explorer.guards
    steps = [answered(again, path.to(at)) for path, _ in paths for at in range(len(path.moves) + 1)]
    print(told("a step again", steps))


if __name__ == "__main__":
    main()
