"""Measure the time to the first violation: all engines side by side, and rounds alone, on known bugs.

    python benchmarks/first_violation.py                  the rows whose first violation comes within 20 s
    python benchmarks/first_violation.py 2614 --runs 3    rows whose names contain one of these words

Each run is a process of its own. The runs of the two ways alternate, and share answers about commutation.
The time is that from the start of the check to the first violation that was replayed. It means something on
an idle machine only: on a busy one Linux divides the share of a session among its processes, and rounds alone
has fewer of them until one round is prepared.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

from fencepost.advice.known import KNOWN
from fencepost.encoding.check import check
from fencepost.encoding.engine.events import Event, Replayed
from fencepost.encoding.engine.limits import Limits
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import Run

WAYS: dict[str, tuple[str, ...]] = {"all": (), "rounds": ("rounds",)}
"""The engines that are compared."""


def one(name: str, way: str, jobs: int, timeout: float) -> None:
    """Print the seconds to the first violation of a row, or `inf`."""
    run = next(Run(known) for known in KNOWN if known.name == name)
    instance = find(run.known.protocol).instance(run.settings.items(), run.known.release)
    properties = instance.properties(run.known.property)
    limits = run.limits(Limits(engines=WAYS[way], jobs=jobs, timeout=timeout)).of(instance.system)
    found = [float("inf")]
    begun = time.perf_counter()

    def listen(event: Event) -> None:
        if isinstance(event, Replayed):
            found[0] = time.perf_counter() - begun
            raise KeyboardInterrupt

    check(instance, properties, limits, listen)
    print(found[0])


def timed(name: str, way: str, jobs: int, timeout: float) -> float:
    """Return the seconds to the first violation of a row, in a process of its own."""
    asked = ["--one", name, "--way", way, "--jobs", str(jobs), "--timeout", str(timeout)]
    ran = subprocess.run([sys.executable, __file__, *asked], capture_output=True, text=True, check=True)
    return float(ran.stdout)


def measure(names: Sequence[str], runs: int, jobs: int, timeout: float) -> None:
    """Print a line for each row, and the ratio of the medians over all rows."""
    medians: dict[str, list[float]] = {way: [] for way in WAYS}
    for name in names:
        if timed(name, "rounds", jobs, timeout) == float("inf"):
            print(f"{name:28} no violation within {timeout:g} s", flush=True)
            continue
        seconds = [{way: timed(name, way, jobs, timeout) for way in WAYS} for _ in range(runs)]
        for way, found in medians.items():
            found.append(statistics.median(run[way] for run in seconds))
        ratio = statistics.median(run["all"] / run["rounds"] for run in seconds)
        times = "   ".join(f"{way} {found[-1]:6.2f} s" for way, found in medians.items())
        print(f"{name:28} {times}   ratio {ratio:.2f}", flush=True)
    print({way: round(statistics.median(found), 2) for way, found in medians.items()})
    ratios = [a / b for a, b in zip(medians["all"], medians["rounds"], strict=True)]
    print(f"median of the ratios: {statistics.median(ratios):.2f}, largest {max(ratios):.2f}")


def main() -> None:
    """Measure the rows that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=20.0)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--way", choices=list(WAYS), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        one(given.one, given.way, given.jobs, given.timeout)
        return
    words = given.words or [""]
    names = [known.name for known in KNOWN if any(word in known.name for word in words)]
    measure(names, given.runs, given.jobs, given.timeout)


if __name__ == "__main__":
    main()
