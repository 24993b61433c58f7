"""Fencepost for Python: `check`, `advise`, `count`, `follow`, `load`, `quorum`, and their results.

Each name is imported when it is first used, so `import fencepost` costs nothing that is not needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fencepost.advised import Advised, advise
    from fencepost.checks import check, count, follow, load
    from fencepost.encoding.enumeration.count import StateCount
    from fencepost.encoding.errors import BadInput
    from fencepost.encoding.language.protocol import Protocol
    from fencepost.encoding.logs.following import LogAnswer
    from fencepost.results import Checked, CheckedProperty, CheckedTrace
    from fencepost.sizes import Quorum, quorum

__all__ = [
    "Advised",
    "BadInput",
    "Checked",
    "CheckedProperty",
    "CheckedTrace",
    "LogAnswer",
    "Protocol",
    "Quorum",
    "StateCount",
    "advise",
    "check",
    "count",
    "follow",
    "load",
    "quorum",
]

if not TYPE_CHECKING:  # so that mypy refuses a name that does not exist
    _MODULES = {
        "Advised": "advised",
        "BadInput": "encoding.errors",
        "Checked": "results",
        "CheckedProperty": "results",
        "CheckedTrace": "results",
        "LogAnswer": "encoding.logs.following",
        "Protocol": "encoding.language.protocol",
        "Quorum": "sizes",
        "StateCount": "encoding.enumeration.count",
        "advise": "advised",
        "check": "checks",
        "count": "checks",
        "follow": "checks",
        "load": "checks",
        "quorum": "sizes",
    }

    def __getattr__(name):
        """Import a public name when it is first used."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(f"fencepost.{_MODULES[name]}"), name)
        return found

    def __dir__():
        """Return the public names with those of the module itself."""
        return sorted({*globals(), *__all__})
