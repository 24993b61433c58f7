"""benchmarks/mutants.py: its changes, that they reach the live function, and that its lists are current."""

from __future__ import annotations

import ast
import signal
import tomllib
from pathlib import Path

import pytest

import mutants
from fencepost.encoding.evidence.queries import Kind, Query

CHANGED = {
    "a == b": {"a != b"},
    "a < b <= c": {"a <= b <= c", "a < b < c"},
    "a not in b": {"a in b"},
    "a is None": {"a is not None"},
    "a and b or c": {"(a or b) or c", "(a and b) and c"},
    "not a": {"a"},
    "-a": {"a"},
    "a + 1 - b": {"a - 1 - b", "a + 1 + b", "a + 2 - b"},
    "a & b": {"a | b"},
    "True": {"False"},
    "12": set(),
    "'text'": set(),
    "[a for a in b if c]": {"[a for a in b if not c]", "[a for a in b if True]"},
    "a if b else c": {"a if not b else c", "a if True else c"},
}


@pytest.mark.parametrize("text", CHANGED)
def test_each_operator_changes_one_place(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The texts show a change that is forgotten, or made twice."""
    assert _after(f"x = {text}", tmp_path, monkeypatch) == {f"x = {after}" for after in CHANGED[text]}


def test_statements_are_dropped_and_what_is_returned_negated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A docstring stays, and a generator that loses its only yield is still a generator."""
    assert _after("'''Doc.'''", tmp_path, monkeypatch) == set()
    assert _after("f(a)", tmp_path, monkeypatch) == {"pass"}
    assert _after("return a", tmp_path, monkeypatch) == {"return not a"}
    assert _after("yield a", tmp_path, monkeypatch) == {"(yield a) if False else None"}
    assert _after("x: A | None = a", tmp_path, monkeypatch) == set()


def _after(statement: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the texts of the mutants of a function of one statement; each text compiles."""
    (folder / "toy.py").write_text(f"def toy(a, b, c) -> bool:\n    {statement}\n", encoding="utf-8")
    monkeypatch.setattr(mutants, "ROOT", folder)
    found = list(mutants.mutants("toy.py"))
    assert [mutants.code_of(mutant).co_name for mutant in found] == ["toy"] * len(found)
    assert len({mutant.name for mutant in found}) == len(found)
    return {mutant.after for mutant in found}


def test_a_mutant_reaches_the_function_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant is a property of a class that other modules have imported already."""
    file, asked = "encoding/evidence/queries.py", Query(Kind.COMPLETENESS, 3)
    name, operator = "Query.unrolled", "+ becomes -"
    found = [m for m in mutants.mutants(file) if (m.function, m.operator) == (name, operator)]
    unrolled = mutants.live(file, name)
    monkeypatch.setattr(unrolled, "__code__", unrolled.__code__)  # put back in the end
    assert asked.unrolled == 4
    mutants.mutate(found[0])
    assert (len(found), asked.unrolled) == (1, 2)


def test_a_change_that_the_tests_do_not_run_to_the_end_with_is_not_taken_for_noticed() -> None:
    """A run in which pytest finds no tests, or in which the change cannot be made, is an error."""
    assert [mutants.outcome(status) for status in (0, 1 << 8, signal.SIGSEGV, None)] == [
        *(mutants.LIVED, mutants.NOTICED, mutants.NOTICED, mutants.BY_TIME),
    ]
    for code in (4, 5, mutants.CRASHED):
        with pytest.raises(RuntimeError, match=f"exit code {code}"):
            mutants.outcome(code << 8)


def test_every_file_has_functions_that_can_be_changed_and_tests_that_are_there() -> None:
    for file, tests in mutants.targets().items():
        for name, _ in mutants.functions(ast.parse((mutants.ROOT / file).read_text(encoding="utf-8")).body):
            assert mutants.live(file, name).__code__.co_qualname == name
        for test in tests:
            path, _, function = test.partition("::")
            assert function.partition("[")[0] in Path(path).read_text(encoding="utf-8")


def test_every_reason_is_about_a_mutant_that_there_is() -> None:
    """A reason whose code has changed is removed, or written anew."""
    reasons = tomllib.loads(mutants.REASONS.read_text(encoding="utf-8"))
    there = {mutant.description for file in mutants.targets() for mutant in mutants.mutants(file)}
    assert reasons.keys() <= there
