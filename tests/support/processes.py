"""Processes that tests start, kill and look for, as the kernel lists them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path


def children(pid: int) -> list[int]:
    """The processes that a process has started, and theirs."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            child = int(stat.parent.name)
            found += [child, *children(child)]
    return found


def printed(code: str, *arguments: str) -> set[str]:
    """What a Python program prints, run thrice, each time with another order of sets."""
    tests = str(Path(__file__).parents[1])
    path = os.pathsep.join(filter(None, [tests, os.environ.get("PYTHONPATH")]))
    return {
        subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }


def gone(pids: list[int]) -> bool:
    """None of the processes is there any more, waiting a moment for the kernel."""
    for _ in range(50):
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return True
        time.sleep(0.1)
    return False
