"""Measure random simulation on the known losses: `python benchmarks/simulations.py [BUG …]`.

For each known loss of an acknowledged entry the table has the number of seeds that found it. It also has
the median number of simulations, and of seconds on one core, of those seeds. A seed ends with its first
violation.
"""

from __future__ import annotations

import argparse
import statistics
import time

from fencepost.advice.known import KNOWN
from fencepost.encoding.concrete.simulation import simulate
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import Expectation

LOSSES = ("no-divergence", "acked-entries-readable")
"""The properties whose violation is the loss of an acknowledged entry."""


def found(known: Expectation, seed: int, runs: int) -> tuple[int, float] | None:
    """Return the simulations and seconds until the seed finds the bug; None if it does not."""
    switch = {known.switch: known.broken} if known.switch else {}
    instance = find(known.protocol).instance({**known.settings, **switch}.items())
    properties = instance.properties(known.property)
    begun = time.process_time()
    came = simulate(instance.system, instance.subject, properties, runs, seed, first=True)
    return (came.count, time.process_time() - begun) if came.traces else None


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bugs", nargs="*", metavar="BUG")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--runs", type=int, default=50_000)
    asked = parser.parse_args()
    print(
        f"| known loss | seeds of {asked.seeds} that find it | simulations, median | seconds |\n"
        "|---|---|---|---|"
    )
    for known in KNOWN:
        if known.property in LOSSES and (not asked.bugs or known.name in asked.bugs):
            finds = [found(known, seed, asked.runs) for seed in range(1, asked.seeds + 1)]
            hits = [find for find in finds if find is not None]
            middle = [statistics.median(column) for column in zip(*hits, strict=True)] or [0.0, 0.0]
            print(f"| {known.name} | {len(hits)} | {middle[0]:,.0f} | {middle[1]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
