"""Refusal of the Python operators that have no meaning in the language.

A term has no value while the author's code runs. Some operators would return a plain value: a set compares
hashes, `str` describes the tree, and `is` compares objects. A guard that uses one is always true or always
false. Others, such as `%`, fail on terms by themselves. They are refused with what to write instead.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn

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
            "a term has no truth value: use & | ~, if_, forall or exists instead of and, or, not, if, min "
            "and max; write is_one_of(x, (A, B)) instead of x in (A, B), and (a < b) & (b < c) instead of "
            "a < b < c"
        )

    def __hash__(self) -> int:
        """Return a hash by identity to the engine. Raises TypeError in the author's code."""
        if not _asked_by_engine():
            raise refusal(
                "a term cannot be looked up in a set or a dict, because it has no value yet: "
                "write is_one_of(x, (A, B)) instead of x in {A, B}, if_ instead of a dict, and "
                "set_of(sort, x) instead of {x}"
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


class NeedsIndex(RefusesPython):
    """A base class of families. A family at an index is a term, and the family itself is none."""

    name: str
    over: tuple[Any, ...]

    def __eq__(self, other: object) -> bool:
        """Return whether the two are the same to the engine. Raises TypeError in the author's code."""
        if not _asked_by_engine():
            raise self.needs_index("compared")
        return self is other

    __hash__ = RefusesPython.__hash__

    def needs_index(self, used: str, after: str = "") -> TypeError:
        """Return the error for a family that is used without an index; `after` follows the index."""
        return refusal(f"{self.name} is {used} without its index; write {self._at_index}{after}")

    @property
    def _at_index(self) -> str:
        return f"{self.name}[{', '.join(sort.name for sort in self.over)}]"


_TABLE = (
    "write a table, self.next = family(self.node, self.node, initial=lambda n: …), and read it as s.next[n]"
)
_INSTEAD = {
    "%": ("mod rmod divmod rdivmod", _TABLE),
    "division": ("truediv rtruediv floordiv rfloordiv", _TABLE),
    "**": ("pow rpow", _TABLE),
    "unary -": ("neg", "write 0 - x"),
    "abs()": ("abs", "write if_(x < 0, 0 - x, x)"),
    "^": ("xor rxor", "write a != b, and of sets (a - b) | (b - a)"),
    "int()": ("int float complex index", "a term is no plain number: compare it, or add to it, as it is"),
    "len()": ("len", "write size(s.quorum) for a set, length(s.log) for a sequence"),
    ">>": ("rshift rrshift", "write implies(a, b)"),
}
"""The operators that terms do not have: the names of their methods, and what to write instead."""


def _refusing(operator: str, instead: str) -> Callable[..., NoReturn]:
    def refuse(*_: object) -> NoReturn:
        raise refusal(f"{operator} is not defined on terms: {instead}")

    return refuse


def _used_without_index(family: NeedsIndex, *_: object) -> NoReturn:
    raise family.needs_index("used")


def _updating_without_index(update: str) -> Callable[..., NoReturn]:
    def refuse(family: NeedsIndex, *_: object, **__: object) -> NoReturn:
        raise family.needs_index("updated", f".{update}(…)")

    return refuse


def _assigned(family: NeedsIndex, *_: object) -> NoReturn:
    raise refusal(f"{family.name}[…] = … is no update; write {family._at_index}.set(…) in then=")


_OPERATORS = ["and", "rand", "or", "ror", "invert", "lt", "le", "gt", "ge", "add", "radd", "sub", "rsub"]
_WITHOUT_INDEX = {
    "__setitem__": _assigned,
    **{f"__{name}__": _used_without_index for name in _OPERATORS},
    **{name: _updating_without_index(name) for name in ("set", "add", "remove", "append", "truncate")},
}

# They are no methods in the text of the classes, so type checkers go on reporting these uses.
for _operator, (_names, _instead) in _INSTEAD.items():
    for _name in _names.split():
        setattr(RefusesPython, f"__{_name}__", _refusing(_operator, _instead))
for _name, _refuse in _WITHOUT_INDEX.items():
    setattr(NeedsIndex, _name, _refuse)
