"""Processes that tests start, kill and look for, as the kernel lists them."""

from __future__ import annotations

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


def gone(pids: list[int]) -> bool:
    """None of the processes is there any more, waiting a moment for the kernel."""
    for _ in range(50):
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return True
        time.sleep(0.1)
    return False
