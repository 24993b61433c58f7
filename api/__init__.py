"""Fencepost for Python: `check`, `advise`, `count`, `follow`, `load`, `quorum`, and their results.

Each name is imported when it is first used, so `import fencepost` costs nothing that is not needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # "as" says that a name is public
    from fencepost.advised import Advised as Advised
    from fencepost.advised import advise as advise
    from fencepost.checks import check as check
    from fencepost.checks import count as count
    from fencepost.checks import follow as follow
    from fencepost.checks import load as load
    from fencepost.encoding.enumeration.count import StateCount as StateCount
    from fencepost.encoding.errors import BadInput as BadInput
    from fencepost.encoding.language.protocol import Protocol as Protocol
    from fencepost.encoding.logs.following import LogAnswer as LogAnswer
    from fencepost.results import Checked as Checked
    from fencepost.results import CheckedProperty as CheckedProperty
    from fencepost.results import CheckedTrace as CheckedTrace
    from fencepost.sizes import Quorum as Quorum
    from fencepost.sizes import quorum as quorum

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
    __all__ = list(_MODULES)

    def __getattr__(name):
        """Import a public name when it is first used."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(f"fencepost.{_MODULES[name]}"), name)
        return found

    def __dir__():
        """Return the public names with those of the module itself."""
        return sorted({*globals(), *__all__})
