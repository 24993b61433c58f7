"""Answers of this run: a question that several tests ask is put to the solver once.

The answers are files in the folder of the run. The workers of pytest-xdist share this folder, and no later
run reads it. The name of a question must say all that its answer depends on; the version of the program is
added to every name.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from fencepost.sweeps.engine_version import engine

Answer = TypeVar("Answer")

FOLDER = "FENCEPOST_TEST_ANSWERS"
"""The environment variable that names the folder of the run; tests/conftest.py sets it."""


def once(question: str, ask: Callable[[], Answer]) -> Answer:
    """Return the kept answer to the question of that name, or ask for it now.

    Other processes that ask the same question wait meanwhile. An exception is not kept: the next process asks
    again.
    """
    folder = Path(os.environ[FOLDER])
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / hashlib.sha256(f"{engine()}\n{question}".encode()).hexdigest()
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            written = kept.with_suffix(".new")
            written.write_bytes(pickle.dumps(ask()))
            written.rename(kept)
    answer: Answer = pickle.loads(kept.read_bytes())
    return answer
