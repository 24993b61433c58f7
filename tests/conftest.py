"""Shared by all tests: no test may depend on answers cached by an earlier run."""

from __future__ import annotations

import os

os.environ["FENCEPOST_CACHE"] = ""
