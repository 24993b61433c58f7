"""What other tests lean on: the answers of a run, and the check of the links."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support import answers
from support.answers import FOLDER, once
from support.links import dead_links, slug
from support.shown import SHOWN, shows
from support.tiers import STALE, cases, name, stale


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file to which every question that is really asked adds a line; the run has no answers yet."""
    monkeypatch.setenv(FOLDER, str(tmp_path / "answers"))
    return tmp_path / "asked"


def ask(question: str, asked: Path) -> str:
    def really() -> str:
        with asked.open("a") as file:
            file.write(f"{question}\n")
        return question.upper()

    return once(question, really)


def test_a_question_is_asked_once_and_another_one_too(asked: Path) -> None:
    assert [ask(question, asked) for question in ("a", "b", "a", "b")] == ["A", "B", "A", "B"]
    assert asked.read_text().split() == ["a", "b"]


def test_those_who_ask_at_the_same_time_ask_once(asked: Path) -> None:
    """Each opens the lock for itself, as processes do."""
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: ask("a", asked), range(4))) == ["A"] * 4
    assert asked.read_text().split() == ["a"]


def test_another_program_has_other_answers(asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask("a", asked)
    monkeypatch.setattr(answers, "engine", lambda: "another")
    ask("a", asked)
    assert asked.read_text().split() == ["a", "a"]


def test_what_raises_is_no_answer(asked: Path) -> None:
    def fail() -> str:
        raise ValueError("not known")

    with pytest.raises(ValueError, match="not known"):
        once("a", fail)
    assert ask("a", asked) == "A"


PAGE = """\
# One `two` (three)
## Same
## Same
[fine](#one-two-three) [fine](#same-1) [fine](other.md#by-hand) [fine](https://nowhere.invalid/#x) [fine](sub)
[wrong](#same-2) [wrong](none.md) [wrong](other.md#none)
![wrong](none.svg) [over two
lines](none.md) [by name][name] `[no](link.md)` [out](../out.md)

    [no](link.md)

[name]: none.md
"""


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "out.md").write_text("")
    (root / "other.md").write_text('# Other\n<a id="by-hand"></a>\n')
    page = root / "page.md"
    page.write_text(PAGE)
    dead = [line.removeprefix(f"{page}:4: ") for line in dead_links(page, root)]
    missing = "no such file in the project"
    assert dead == [
        "#same-2: page.md has no such heading",
        f"none.md: {missing}",
        "other.md#none: other.md has no such heading",
        f"none.svg: {missing}",
        f"none.md: {missing}",
        f"none.md: {missing}",
        f"../out.md: {missing}",
    ]


def test_headings_are_named_as_github_does() -> None:
    assert slug("What a `check` says — and why, in one_line") == "what-a-check-says--and-why-in-one_line"


def test_a_list_of_cases_names_each_that_there_is_once() -> None:
    listed = cases("# a remark\n\na.py::test_a[1]\na.py::test_a[2]\na.py::test_a[1]\n")
    collected = {"a.py::test_a[1]", "a.py::test_a[3]"}
    assert stale(listed, collected) == ["a.py::test_a[2]", "a.py::test_a[1]"]
    assert stale(listed[:1], collected) == []


def test_every_line_of_a_list_names_a_case(request: pytest.FixtureRequest) -> None:
    """Only a run of all tests knows all cases."""
    for file, wrong in request.config.stash.get(STALE, {}).items():
        assert wrong == [], f"tests/{file}: names no case, or one twice"


def test_a_case_has_its_name_without_its_group() -> None:
    assert name("a.py::test_a[x@y]@group") == "a.py::test_a[x@y]"
    assert name("a.py::test_a[x@y]") == "a.py::test_a[x@y]"


GROUPED = """
import os
import pytest

@pytest.mark.xdist_group("one")
@pytest.mark.parametrize("case", range(6))
def test_that_shares(case):
    open(f"worker-{os.environ['PYTEST_XDIST_WORKER']}", "w").close()
"""


@pytest.mark.slow
def test_tests_of_a_group_are_run_by_one_worker(pytester: pytest.Pytester) -> None:
    """As they are not with pytest 9.2 and pytest-xdist 3.8: two browsers, two Sparks, and each fixture made twice."""
    pytester.makepyfile(GROUPED)
    assert pytester.runpytest_subprocess("-n2", "--dist=loadgroup", "-p", "no:fencepost").ret == 0
    assert len(list(pytester.path.glob("worker-*"))) == 1


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ("one …\nthree", True),
        ("one two three [0.5 s]", True),
        ("… two\n…", True),
        ("three\none", False),
        ("one three", False),
        ("one\nfour", False),
        ("one one", False),
    ],
)
def test_what_a_page_shows_is_said_in_its_order(shown: str, said: bool) -> None:
    """Else a page could show anything."""
    assert shows(shown, "  one   two\nthree  [12.3 s]\n") is said


def test_what_stands_below_a_command_ends_where_the_next_one_begins() -> None:
    page = "Text\n\n    $ a b\n    x\n\n    y\n    $ c\n    z\n\nText\n"
    assert SHOWN.findall(page) == [("a b", "    x\n\n    y\n"), ("c", "    z\n")]
