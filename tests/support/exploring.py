"""The explorer's page, served by a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from support.processes import supervised


@contextmanager
def served(*arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Yield the address of a page that `fencepost explore` serves, with its token, and the process."""
    process = supervised("explore", *arguments, "--no-browser")
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        assert address, process.communicate()
        yield address, process
    finally:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=600)
