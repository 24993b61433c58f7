"""Refusal of the Python operators that would leave the language without a word.

A term has no value while the author's code runs. Most operators of Python can be given a meaning on terms, or
fail on them by themselves. The ones here would return a plain value: a set compares hashes, `str` describes
the tree, and `is` compares objects. A guard that uses one is always true or always false.
"""

from __future__ import annotations

import sys
from typing import NoReturn

from fencepost.encoding.errors import refusal

_ENGINE = {"copy", "copyreg", "pickle", "dataclasses", "typing", "reprlib", "pdb"}
_ENGINE_PACKAGES = {"fencepost", "multiprocessing", "_pytest"}
"""The modules that may keep terms in tables and show them: the engine, and those that copy or debug it.

A module of a package is looked up by its whole name once it has asked.
"""


def _asked_by_engine() -> bool:
    """Return whether the engine calls the method that calls this function."""
    module = str(sys._getframe(2).f_globals.get("__name__"))
    if module not in _ENGINE and module.partition(".")[0] in _ENGINE_PACKAGES:
        _ENGINE.add(module)
    return module in _ENGINE


class RefusesPython:
    """A base class of objects that have no value while the author's code runs."""

    def __bool__(self) -> NoReturn:
        """Raise TypeError: a term has no truth value."""
        raise refusal(
            "a term has no truth value: use & | ~, if_, forall or exists instead of and, or, not, if; "
            "write is_one_of(x, (A, B)) instead of x in (A, B)"
        )

    def __hash__(self) -> int:
        """Return a hash by identity to the engine. Raises TypeError in the author's code."""
        if not _asked_by_engine():
            raise refusal(
                "a term cannot be looked up in a set or a dict, because it has no value yet: "
                "write is_one_of(x, (A, B)) instead of x in {A, B}, and if_ instead of a dict"
            )
        return object.__hash__(self)

    def __repr__(self) -> str:
        """Return the object's type to the engine. Raises TypeError in the author's code."""
        return f"<{type(self).__name__}>" if _asked_by_engine() else str(self)

    def __str__(self) -> NoReturn:
        """Raise TypeError: a term has no text."""
        raise refusal("a term has no text: compare the term itself, and name an argument in a note as {n}")

    def __format__(self, _: str) -> NoReturn:
        """Raise TypeError: a term has no text."""
        str(self)
        raise AssertionError
