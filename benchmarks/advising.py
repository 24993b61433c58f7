"""CPU seconds and first lines of `fencepost advise` on usual configurations.

python benchmarks/advising.py             # all, as a Markdown table
python benchmarks/advising.py 5/3/2       # only setups whose name begins so
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

SIZES = ("2/2/2", "3/2/2", "3/3/2", "5/3/2")
RELEASES = ("4.14.8", "4.16.6", "4.17.2", "4.18.0")
JOURNALS = {"on": [], "unsynced": ["--sync", "off"], "off": ["--journal", "off"]}


def measured(sizes: str, release: str, journal: str) -> tuple[float, float, int, str]:
    """Return CPU seconds, seconds, the exit code and the first line of one answer, with one spare bookie."""
    ensemble, write_quorum, ack_quorum = sizes.split("/")
    given = ["-e", ensemble, "-w", write_quorum, "-a", ack_quorum, "-n", str(int(ensemble) + 1)]
    command = [str(Path(sys.executable).with_name("fencepost")), "advise", *given, "--release", release]
    before, begun = os.times(), time.perf_counter()
    done = subprocess.run([*command, *JOURNALS[journal]], capture_output=True, text=True, check=False)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    headline = done.stdout.partition("\n")[0]
    return cpu, time.perf_counter() - begun, done.returncode, headline


def main() -> None:
    """Print a row for each setup."""
    print("| setup | CPU s | s | exit code | first line |\n|---|---|---|---|---|")
    wanted = sys.argv[1:]
    for sizes, release, journal in product(SIZES, RELEASES, JOURNALS):
        name = f"{sizes} {release} journal {journal}"
        if wanted and not name.startswith(tuple(wanted)):
            continue
        cpu, wall, code, headline = measured(sizes, release, journal)
        print(f"| {name} | {cpu:.2f} | {wall:.2f} | {code} | {headline} |", flush=True)


if __name__ == "__main__":
    main()
