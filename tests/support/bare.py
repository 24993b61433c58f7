"""A system without a protocol, which `check` takes like an instance."""

from __future__ import annotations

from typing import NamedTuple

from fencepost.encoding.language.system import System
from fencepost.encoding.language.traces import Subject


class Bare(NamedTuple):
    """A system and the names under which it is reported."""

    system: System
    subject: Subject = Subject("", {}, {})
