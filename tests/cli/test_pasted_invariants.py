"""Invariants that are printed to be pasted: the file that has them is proved by induction."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path

import pytest

from fencepost.cli.main import run
from fencepost.encoding import language
from fencepost.encoding.induction.lasting import Lasting
from fencepost.encoding.induction.value_changes import ValueChanges
from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.fold import is_false
from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.sorts import BOOL, Sort, integers, members
from fencepost.encoding.language.source import source
from fencepost.encoding.language.state import StateSpace, variable
from fencepost.encoding.language.system import System

COMMIT = Path(__file__).parents[2] / "examples" / "two_phase_commit.py"


HEAD = """
from dataclasses import dataclass
from enum import Enum
from fencepost.encoding.language import *

class Col(Enum):
    RED = "red"
    GREEN = "green"
    BLUE = "blue"

@dataclass(frozen=True)
class Parameters:
    n: int = parameter(2, "nodes")
    m: int = parameter(2, "numbers")

def invariants(s):
    return ()
"""

COLOURED = (
    HEAD
    + """
class S(StateSpace):
    def __init__(self, p):
        self.node = labels("node", "n", p.n)
        self.lit = family(BOOL, self.node)
        self.done = variable(BOOL)
        self.seen = family(BOOL, members(Col))

def paint(s, c):
    \"""Paint.\"""
    return Action(when=~s.seen[c], then=[s.seen[c].set(True)], actor="p")

def light(s, n):
    \"""Light.\"""
    return Action(when=forall(members(Col), lambda c: s.seen[c]), then=[s.lit[n].set(True)], actor=n)

def end(s, n):
    \"""End.\"""
    return Action(when=s.lit[n], then=[s.done.set(True)], actor=n)

def build(p):
    s = S(p)
    prop = Property("green", "done needs green", implies(s.done, s.seen[Col.GREEN]), s.done, "done")
    actions = each(paint, s, members(Col)), each(light, s, s.node), each(end, s, s.node)
    return System(s, actions, (prop,), invariants=invariants(s))

PROTOCOL = Protocol("coloured", "c", Parameters(), build)
"""
)

NUMBERED = (
    HEAD
    + """
class S(StateSpace):
    def __init__(self, p):
        self.node = labels("node", "n", p.n)
        self.low = integers(0, p.n)
        self.high = integers(1, p.m)
        self.at = family(self.low, self.node)
        self.top = variable(self.high)
        self.col = family(members(Col), self.high)

def turn(s, a):
    \"""Turn.\"""
    red = exists(s.high, lambda n: s.col[n] == Col.RED)
    larger = if_(s.top < s.high.values[-1], s.top + 1, 1)
    return Action(when=red & (s.at[a] < s.top), then=[s.top.set(larger)], actor="p")

def rise(s, a, b):
    \"""Rise.\"""
    larger = if_(s.at[b] < s.low.values[-1], s.at[b] + 1, 0)
    return Action(when=True, then=[s.col[a].set(Col.BLUE), s.at[b].set(larger)], actor="p")

def build(p):
    s = S(p)
    some = exists(s.high, lambda n: s.col[n] != Col.RED)
    other, none = exists(s.node, lambda n: s.at[n] != s.top), forall(s.node, lambda n: s.at[n] != s.top)
    first = Property("first", "m", other | some, s.top == 1, "w")
    second = Property("second", "m", some | none, s.top == 1, "w")
    actions = each(turn, s, s.node), each(rise, s, s.high, s.node)
    return System(s, actions, (first, second), invariants=invariants(s))

PROTOCOL = Protocol("numbered", "n", Parameters(), build)
"""
)


def sources(text: str) -> list[str]:
    """Return each invariant that is printed to be pasted."""
    return [
        found.group()
        for found in re.finditer(
            r"^(?P<indent> *)Invariant\(\n.*?^(?P=indent)\),$", text, flags=re.MULTILINE | re.DOTALL
        )
    ]


def proved_with(text: str, pasted: list[str], path: Path, *settings: str) -> bool:
    """Return whether induction proves the file with the invariants that are pasted into it."""
    path.write_text(with_pasted(text, pasted))
    return run(["check", str(path), "--engine", "induction", *settings]) == 0


def with_pasted(text: str, pasted: list[str]) -> str:
    """Return the file with these invariants in place of none."""
    filled = text.replace("return ()", "return (" + "".join(pasted) + ")", 1)
    assert filled != text
    return filled


def commit() -> str:
    """Return the example of two-phase commit with another function for its invariants."""
    text = COMMIT.read_text().replace("from __future__ import annotations", "")
    text = text.replace("invariants=invariants(s)", "invariants=pasted(s)")
    text = text.replace("def build", "def pasted(s):\n    return ()\n\n\ndef build", 1)
    return "from fencepost.encoding.language import *\n" + text


@pytest.mark.parametrize(
    ("text", "parameter", "printing"),
    [
        pytest.param(COLOURED, "n", ("--find", "--grow", "n=2..3"), id="find"),
        pytest.param(commit(), "participants", ("--find",), id="two-phase-commit"),
    ],
)
def test_what_is_printed_can_be_pasted(
    text: str,
    parameter: str,
    printing: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """Each file with the invariants that are printed for it is proved by induction at each size."""
    path = tmp_path / "protocol.py"
    path.write_text(text)
    assert run(["invariants", str(path), *printing]) == 0
    pasted = sources(capsys.readouterr().out)
    assert pasted
    assert all(proved_with(text, pasted, path, "--set", f"{parameter}={size}") for size in (2, 3))


@pytest.mark.slow
def test_a_template_that_one_size_cannot_have_is_kept_and_not_to_be_pasted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Planted: the smallest size drops it, and the search ends in an assertion after all is proved."""
    path = tmp_path / "numbered.py"
    path.write_text(NUMBERED)
    assert run(["invariants", str(path), "--find"]) == 0
    printed = capsys.readouterr().out
    assert "prove the properties at n=2 m=2; n=3 m=2; " in printed
    assert "It names a value that some of these sizes do not have." in printed
    path.write_text(with_pasted(NUMBERED, sources(printed)))
    assert run(["check", str(path), "--engine", "induction", "--timeout", "600"]) in (0, 3), "no error"


class Letter(Enum):
    """Labels that no variable of the state has."""

    A = "a"
    B = "b"


@pytest.mark.parametrize(
    "sort",
    [
        members(Letter),
        Sort("some", (Letter.B,)),
        Sort("few", ("x", "y"), "all"),
        Sort("one", ("x",)),
        integers(2, 4),
        Sort("odd", (1, 3)),
        BOOL,
    ],
    ids=lambda sort: sort.name,
)
def test_the_source_of_a_sort_is_that_sort(sort: Sort) -> None:
    """Planted: the members of an Enum are printed as `<Letter.A: 'a'>`."""

    class Bare(StateSpace):
        def __init__(self) -> None:
            self.done = variable(BOOL)

    state = Bare()
    text = source(exists(sort, lambda value: state.done), state)
    again = eval(text, vars(language) | {"s": state, "Letter": Letter})
    assert again.bound.sort == sort


def test_a_guard_that_compares_with_a_number_outside_the_domain_ends_no_search() -> None:
    """Nothing follows a value that a variable never has. The language may refuse such a guard later."""

    class Few(StateSpace):
        def __init__(self) -> None:
            self.n = variable(integers(0, 3))
            self.done = variable(BOOL)

    s = Few()

    def go(s: Few) -> Action:
        """Go."""
        return Action(when=s.n == 0, then=[s.n.set(1)], actor="p")

    lasting = Lasting(ValueChanges(System(s, (each(go, s),))))
    assert is_false(lasting.one_of(s.n, {5}))
