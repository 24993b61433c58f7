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
STEPS, WALKS = 40, 3


def walked(explorer: Explorer, seed: int) -> tuple[ExplorerPath, list[float]]:
    """Return a random path that closes the ledger late, and the seconds of each step."""
    chance, walk, seconds = random.Random(seed), ExplorerPath(), list[float]()
    for _ in range(STEPS):
        seconds.append(answered(explorer, walk))
        enabled = explorer.at(walk).enabled
        going_on = [action for action in enabled if "close" not in action.name] or enabled
        if not going_on:
            break
        walk = walk.then(Take(chance.choice(going_on)))
    return walk, seconds


def answered(explorer: Explorer, walk: ExplorerPath) -> float:
    """Return the processor seconds for the page's data at the end of a path."""
    begun = time.process_time()
    here = explorer.at(walk)
    json.dumps({"view": view(here), "diagram": diagram(here.counterexample)}, default=vars)
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
    walks = [walked(explorer, seed) for seed in range(WALKS)]
    print(told("a step at first", [s for _, seconds in walks for s in seconds]))
    again = Explorer(instance)
    again.replayer, again.guards = explorer.replayer, explorer.guards
    steps = [answered(again, walk.to(at)) for walk, _ in walks for at in range(len(walk.moves) + 1)]
    print(told("a step again", steps))


if __name__ == "__main__":
    main()
