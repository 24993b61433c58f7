"""Answers of this run: a question that several tests ask is put to the solver once, by whoever asks first.

They lie in the folder of the run, which the workers of pytest-xdist share, and no later run looks there. What a question
is called must say all that its answer depends on; the program itself is part of every name.
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
"""The environment's name for the folder of the run; tests/conftest.py sets it."""


def once(question: str, ask: Callable[[], Answer]) -> Answer:
    """The answer to a question of that name: kept, or asked for now, while others who ask the same wait.

    What raises is not kept: the next who asks sees it too.
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
