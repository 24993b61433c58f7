"""Kinds of slips in code that asks Python about the objects that stand for terms, or loses what they say."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from support.slips.files import File
from support.slips.kinds import Edit, slip, spot_of
from support.slips.texts import Spot, Text

_ONE, _TWO = 's.on["n1"]', 's.on["n2"]'


def _guard(file: File, spot: Spot) -> Text:
    """Return the guard of the action that begins at this place."""
    following = file.spots[[other.text for other in file.spots].index(spot.text) :]
    return next(other.text for other in following if other.text.kind == "guard")


def _allowed(file: File, spot: Spot, lines: str, meant: str, module: str = "") -> Edit:
    """Return the action whose guard also asks `allowed`, which these lines compute: it means this term."""
    guard = _guard(file, spot)
    indented = "".join(f"    {line}\n" for line in lines.splitlines())
    imported = {spot_of(file, "module"): "from fencepost.encoding.language import if_\n\n\n"}
    made = {spot_of(file, "module"): f"{module}\n\n\n"} if module else {}
    return Edit(
        {spot.text: indented, guard: f"({guard}) & allowed", **made},
        meant={guard: f"({guard}) & {meant}", **imported},
    )


_PATTERNS = {
    f"({_ONE}, {_TWO})": ("(True, False)", "(bool(), True)", "(False | None, _)", "(bool(True) as kept, _)"),
    f"[{_TWO}, {_ONE}, 1]": ("[*_, True, 1]", "[False, *rest]", "[bool(), _, int()]"),
    f'{{"one": {_ONE}}}': ('{"one": True}', '{"one": bool()}', '{"one": False, **rest}'),
    f"({_ONE}, ({_TWO},))": ("(_, (True,))", "(False, (bool(),))"),
    f"SimpleNamespace(on={_ONE})": ("SimpleNamespace(on=True)", "SimpleNamespace(on=bool())"),
}


@slip("`match` on parts", "start")
def _parts(file: File, spot: Spot) -> Iterator[Edit]:
    """Yield matches on a tuple, a list, a table and an object that have terms among their parts."""
    for subject, patterns in _PATTERNS.items():
        for pattern in patterns:
            lines = (
                f"match {subject}:\n    case {pattern}:\n        allowed = {_TWO}\n"
                f"    case _:\n        allowed = ~{_TWO}"
            )
            yield _undecided(file, spot, lines)


def _undecided(file: File, spot: Spot, lines: str) -> Edit:
    """Return the action whose guard also asks `allowed`. Which case holds depends on the state."""
    guard = _guard(file, spot)
    indented = "".join(f"    {line}\n" for line in lines.splitlines())
    module = {spot_of(file, "module"): "from types import SimpleNamespace\n\n\n"}
    return Edit({spot.text: indented, guard: f"({guard}) & allowed", **module}, must_refuse=True)


@slip("a type under another name", "start")
def _type(file: File, spot: Spot) -> Iterator[Edit]:
    for ask in ("kind = type", "kind = {1: type}[1]", "kind = (lambda: type)()"):
        for test in (f"kind({_ONE}) is bool", f"kind({_ONE}) == bool", f"issubclass(kind({_ONE}), int)"):
            lines = f"{ask}\nallowed = {_TWO} if {test} else ~{_TWO}"
            yield _allowed(file, spot, lines, _TWO)


_TRIES = {
    "a clause": "try:\n    {}\nexcept (TypeError, AttributeError):\n    allowed = {}",
    "a bare clause": "try:\n    {}\nexcept:\n    allowed = {}",
    "suppress": "import contextlib\nallowed = {1}\nwith contextlib.suppress(Exception):\n    {0}",
    "finally": "allowed = {1}\nfor _ in (1,):\n    try:\n        {0}\n    finally:\n        break",
}


@slip("a refusal that the code swallows", "start")
def _swallowed(file: File, spot: Spot) -> Iterator[Edit]:
    for form in _TRIES.values():
        for asked in (f"int({_ONE})", f"float({_ONE})", f"{_ONE}.real", f"[0, 1][{_ONE}]", f"range({_ONE})"):
            lines = form.format(f"{asked}; allowed = {_TWO}", f"~{_TWO}")
            yield _allowed(file, spot, lines, _TWO)


@slip("a part of the protocol that a line drops", "start")
def _dropped(file: File, spot: Spot) -> Iterator[Edit]:
    both = f"{_ONE}.set(False), {_TWO}.set(True)"
    for line in (f"{_ONE}.set(True)", f"[{_ONE}.set(True)]", both, f"~{_ONE}"):
        yield Edit({spot.text: f"    {line}\n"}, must_refuse=True)
        yield Edit({spot.text: f"    if 1:\n        {line}\n"}, must_refuse=True)


@slip("a part of the protocol that nothing takes", "start")
def _unused(file: File, spot: Spot) -> Iterator[Edit]:
    update = f"{_ONE}.set(True)"
    for line in (
        f"unused = {update}",
        f"_ = [{update}]",
        "none = [s.on[x].set(True) for x in s.node][:0]",
        f"kept = (1, {update})[0]",
        f"later = {{'then': {update}}}",
        f"(lambda *_: None)({update})",
        f"for kept in [{update}]: pass",
        f"action = Action(when=~{_ONE}, then=[{update}], actor='n1')",
        "sent = [message('ask', 'n1', 'n2')]",
        "sent = [message('ask', 'n1', x) for x in s.node]",
    ):
        yield Edit({spot.text: f"    {line}\n"}, must_refuse=True)


@slip("a function that is reached in another way", "start")
def _reached(file: File, spot: Spot) -> Iterator[Edit]:
    ways = ("importlib.import_module('{}')", "sys.modules['{}']", "__import__('{}')")
    asks = {
        "operator": (f"{{}}.is_({_ONE}, True)", f"{{}}.attrgetter('type')({_ONE}) == 'int'"),
        "builtins": (f"{{}}.isinstance({_ONE}, int)", f"{{}}.hasattr({_ONE}, 'real')"),
    }
    for way, module in itertools.product(ways, asks):
        for asked in asks[module][: 1 if "sys" in way else 2]:
            lines = (
                f"import importlib, sys\nallowed = {_TWO} if {asked.format(way.format(module))} else ~{_TWO}"
            )
            yield _allowed(file, spot, lines, _TWO)


@slip("an iterator that is read twice", "start")
def _twice(file: File, spot: Spot) -> Iterator[Edit]:
    guard = _guard(file, spot)
    module = {spot_of(file, "module"): "from fencepost.encoding.language import all_of, any_of\n\n\n"}
    terms = "s.on[x] for x in s.node"
    for made in (f"({terms})", "map(lambda x: s.on[x], s.node)", f"iter([{terms}])"):
        for use in ("all_of(*some)", "any_of(some)", "all_of([*some])"):
            asked = f"({guard}) & ({use} | ~{use})"
            yield Edit({spot.text: f"    some = {made}\n", guard: asked, **module}, must_refuse=True)


@slip("a function that dispatches on a class", "start")
def _dispatched(file: File, spot: Spot) -> Iterator[Edit]:
    module = (
        "import functools\n\n\n@functools.singledispatch\ndef ask(x):\n    return False\n\n\n"
        "@ask.register\ndef _(x: bool):\n    return True\n"
    )
    for term in (_ONE, _TWO, f"~{_ONE}"):
        yield _allowed(file, spot, f"allowed = {_TWO} if ask({term}) else ~{_TWO}", _TWO, module)


@slip("a family compared with a family", "truth")
def _families(file: File, spot: Spot) -> Iterator[Edit]:
    me = "self" if "definition" in spot.inside else "s"
    own = [name for name in ("on", "ph", "held") if name == "on" or name in file.variables]
    for first, second, operator in itertools.product(own, own, ("==", "!=")):
        test = f"({me}.{first} {operator} {me}.{second})"
        yield Edit({spot.text: f"({spot.text} & {test})"}, must_refuse=True)
        yield Edit({spot.text: f"({test} | {spot.text})"}, must_refuse=True)
