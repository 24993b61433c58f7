"""Slips of a protocol's author: each file is refused in one line, or it says what plain Python says.

The files are made by machine (`support.slips`): small protocols as people write them, each with one slip. The
reference reads the same text on plain values and shares no module with the language.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fencepost.encoding import language
from fencepost.encoding.formulas import sendings
from fencepost.encoding.language import fold, guarded_builds, guarded_builtins, system, terms
from fencepost.encoding.language.guarded_text import _Guard
from support.slips import plain, plain_values, reference
from support.slips.files import write
from support.slips.plain_values import Plain, Update
from support.slips.reference import TooLarge, read
from support.slips.running import ask, finding
from support.slips.survey import ALL, bases, survey
from support.tiers import each_third

FEW, MANY = 4, 200
"""Files of each kind: in the slow cases, and in the long ones."""


def _passes(*_: object) -> tuple[object, ...]:
    return ()


CASES = [
    pytest.param(kind, number, marks=mark, id=f"{kind}, {number}")
    for number, mark in ((FEW, pytest.mark.slow), (MANY, pytest.mark.long))
    for kind in ALL
]


@pytest.mark.parametrize(("kind", "number"), CASES)
def test_a_file_with_a_slip_is_refused_or_says_what_python_says(
    kind: str, number: int, tmp_path: Path
) -> None:
    row = survey(kind, number, tmp_path, command_each=max(number // 10, FEW))
    assert row.files == number
    told = [f"{wrong}\n{slip.text}\n{said}\n{got}" for wrong, (slip, said, got) in row.first.items()]
    assert not row.found, "\n\n".join([str(row), *told])


@pytest.mark.parametrize(
    ("first", "number", "engines"),
    [
        (0, 20, False),
        pytest.param(0, 150, False, marks=pytest.mark.slow),
        pytest.param(0, 10, True, marks=pytest.mark.slow),
        pytest.param(10_000, 4000, False, marks=pytest.mark.long),
        pytest.param(20_000, 200, True, marks=pytest.mark.long),
    ],
)
def test_without_a_slip_the_library_and_the_reference_agree(
    first: int, number: int, engines: bool, tmp_path: Path
) -> None:
    agreed, refused = _compared(first, number, engines, tmp_path)
    assert agreed + len(refused) > number * 0.9
    assert len(refused) < number * 0.2, refused


def _compared(first: int, number: int, engines: bool, folder: Path) -> tuple[int, list[str]]:
    """Return in how many files without a slip both agree, and the lines that refuse others."""
    agreed, refused = 0, []
    for seed in range(first, first + number):
        text = str(write(seed).text)
        try:
            said = read(text)
        except TooLarge:
            continue
        answer = ask(text, folder, engines)
        wrong = finding(said, answer, False)
        assert not wrong, f"{wrong}: {seed}, {said}, {answer}\n{text}"
        if answer.refused:
            refused.append(answer.refused)
        else:
            agreed += 1
    return agreed, refused


_SET = Plain.set


def _exists_at_first(sort: plain.Sort, body: Callable[[Any], object]) -> Plain:
    return plain.forall(sort, body)


def _late_update(variable: Plain, value: object, when: object = True) -> Update:
    return _SET(variable, value)


@pytest.mark.parametrize(
    ("owner", "name", "mistake"),
    [
        (plain, "exists", _exists_at_first),
        (Plain, "set", _late_update),
        (Plain, "__ne__", Plain.__eq__),
        (language, "exists", language.forall),
        (language, "implies", lambda a, b: language.any_of(a, b)),
        (language, "if_", lambda a, b, c: terms.lift(b)),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_mistake_in_either_is_noticed(
    owner: object, name: str, mistake: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, mistake)
    with pytest.raises(AssertionError, match=r"^(false|wrong steps)"):
        _compared(0, 100, False, tmp_path)


@pytest.mark.slow
def test_definitions_that_share_one_entry_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mistake that the language once had: an entry for the qualified name of a definition."""

    def definition(method: Callable[..., Any]) -> Callable[..., Any]:
        def shared(self: Any, *given: object) -> Any:
            made = method(self, *given)
            return self.__dict__.setdefault(f"made by {method.__qualname__} {[*map(id, given)]}", made)

        return shared

    monkeypatch.setattr(language, "definition", definition)
    assert survey("definitions that are lambdas", 30, tmp_path).found


PLANTED = {
    "a term is hashed by identity": (terms.Term, "__hash__", object.__hash__, "`in` a set"),
    "`is` is not looked for": (_Guard, "visit_Compare", lambda _, node: node, "`is` and `is not`"),
    "a pattern asks about a class": (_Guard, "visit_MatchClass", lambda _, node: node, "`match` on parts"),
    "a pattern compares an object": (
        _Guard,
        "visit_MatchSingleton",
        lambda _, node: node,
        "`match` on parts",
    ),
    "a statement drops what it makes": (
        _Guard,
        "visit_Expr",
        lambda _, node: node,
        "a part of the protocol that a line drops",
    ),
    "a part that nothing takes is dropped": (
        guarded_builds,
        "_nothing_is_dropped",
        lambda *_: None,
        "a part of the protocol that nothing takes",
    ),
    "a function that a module has is Python's": (
        guarded_builtins,
        "_SUBSTITUTES",
        {},
        "a function that is reached in another way",
    ),
    "an exception is caught": (
        _Guard,
        "visit_Try",
        lambda _, node: node,
        "a refusal that the code swallows",
    ),
    "a generator is read twice": (
        _Guard,
        "visit_GeneratorExp",
        lambda _, node: node,
        "an iterator that is read twice",
    ),
    "families are compared by identity": (
        terms.Family,
        "__eq__",
        object.__eq__,
        "a family compared with a family",
    ),
    "a value is not looked up in its sort": (system, "check_comparisons", _passes, "a typo in a label"),
    "a parameter may be used anywhere": (
        system,
        "nothing_leaks",
        _passes,
        "a variable that leaks out of its quantifier",
    ),
    "only guards read a loss": (
        sendings,
        "_choices_read",
        _passes,
        "one loss for several sendings: condition of an update",
    ),
    "folding keeps no bad update": (
        fold.Folding,
        "is_well_defined",
        lambda *_: True,
        "a badly defined update of what nothing else writes",
    ),
}
"""Mistakes that the language once had, each with the kind of slip that notices it."""


@pytest.mark.parametrize("mistake", each_third(PLANTED))
def test_a_mistake_in_the_language_is_noticed(
    mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, instead, kind = PLANTED[mistake]
    assert not survey(kind, FEW, tmp_path).found
    monkeypatch.setattr(owner, name, instead)
    assert survey(kind, 40, tmp_path).found


MEANT: Mapping[str, tuple[str, tuple[str, int | None]]] = {
    "membership": ("~(s.leader in {'n2', 'n3'})", ("meaningless", None)),
    "no membership": ("(s.leader not in {'n2', 'n3'}) | s.closed", ("violated", 1)),
    "a label that no sort has": ("~(s.leader == 'n4')", ("proved", None)),
    "the text of a value": ("~s.closed & (str(s.leader) != 'n2')", ("violated", 1)),
    "a truth and a number": ("(s.closed == 0) | s.closed", ("proved", None)),
    "a quantifier": ("exists(s.node, lambda n: s.leader == n)", ("proved", None)),
    "an index outside": ("~s.on['n4']", ("bad", None)),
}


def claiming(holds: str) -> str:
    """Return a small file whose property is this text."""
    return (
        "from fencepost.encoding.language import *\n"
        "class State(StateSpace):\n"
        "    def __init__(self):\n"
        "        self.node = labels('node', 'n', 3)\n"
        "        self.leader = variable(self.node)\n"
        "        self.on = family(BOOL, self.node)\n"
        "        self.closed = variable(BOOL)\n"
        "def elect(s, n):\n"
        "    return Action(when=~s.closed, then=[s.leader.set(n)], actor=n)\n"
        "def build(p):\n"
        "    s = State()\n"
        f"    claim = Property('p', 'm', {holds}, s.leader == 'n2', 'w')\n"
        "    return System(s, (each(elect, s, s.node),), (claim,))\n"
        "PROTOCOL = Protocol('p', 's', None, build)\n"
    )


@pytest.mark.parametrize("case", MEANT)
def test_the_reference_reads_a_text_as_python_does(case: str) -> None:
    holds, (verdict, steps) = MEANT[case]
    said = read(claiming(holds))
    if verdict == "meaningless":
        assert said.meaningless
    elif verdict == "bad":
        assert said.bad
    else:
        assert said.verdicts == {"p": (verdict, steps)}


@pytest.mark.parametrize(
    ("asked", "refused"),
    [
        ("isinstance(s.leader, str)", "isinstance()"),
        ("hasattr(s.leader, 'upper')", "hasattr()"),
        ("getattr(s.leader, 'upper')", "getattr()"),
        ("type(s.leader) == str", "type()"),
        ("id(s.leader) == 3", "id()"),
        ("callable(s.leader)", "callable()"),
        ("(s.leader.__class__ == str)", ".__class__"),
        ("(s.leader.type == 'node')", ".type"),
        ("(s.leader.index == ())", ".index"),
        ("(s.leader.free == ())", ".free"),
        ("(s.leader.family == s.on)", ".family"),
    ],
)
def test_a_question_about_the_python_object_is_refused(asked: str, refused: str, tmp_path: Path) -> None:
    """Each of them was true or false without a word. On plain values they stay as they are."""
    answer = ask(given(claiming(f"s.closed | ({asked})")), tmp_path, command=True)
    assert f"{refused} asks about Python objects, never values of the state" in answer.refused
    assert "\n" not in answer.refused
    plain_value = asked.replace("s.leader", "'n1'")
    if "s." not in plain_value and not refused.startswith("."):
        assert not ask(given(claiming(f"s.closed | bool({plain_value})")), tmp_path, command=False).refused


def given(text: str) -> str:
    """Return the file with parameters, as `fencepost check` wants them."""
    sizes = "@dataclass(frozen=True)\nclass Sizes:\n    size: int = parameter(1, 'x')\n"
    with_sizes = text.replace("\nPROTOCOL = ", f"\n{sizes}PROTOCOL = ").replace("'s', None", "'s', Sizes()")
    return f"from dataclasses import dataclass\n{with_sizes}"


def test_there_are_enough_kinds_and_files() -> None:
    assert len(ALL) == len(set(ALL)) >= 20
    assert len(list(itertools.islice(bases(), 3))) == 3


@pytest.mark.parametrize("module", [plain, plain_values, reference])
def test_the_reference_shares_no_module_with_the_language(module: Any) -> None:
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    names = [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    names += [alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names]
    assert not [name for name in names if name.startswith("fencepost")]
