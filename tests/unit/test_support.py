"""The support of other tests: the kept answers of a run, and the checks of links, names and records."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support import answers
from support.answers import FOLDER, once
from support.links import dead_links, slug
from support.shown import SHOWN, shows
from support.tiers import FILE, LIMITS, cpu_seconds, name, read, sort_into_tiers, updated, write


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file to which every question that is really asked adds a line; the run has no answers yet."""
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
    """Each thread opens the lock for itself, as processes do."""
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


SUITE = """
import pytest

def test_quick(): pass
def test_recorded_slow(): pass
def test_recorded_long(): pass

@pytest.mark.slow
def test_marked(): pass

@pytest.mark.long
def test_marked_long(): pass
"""

SUITE_CONFTEST = """
from pathlib import Path
import pytest
from support.tiers import Recorder, read, sort_into_tiers

FILE = Path(__file__).with_name("durations.json")
SECONDS = {"test_quick": 31.0}
passed = 0.0

def pytest_addoption(parser):
    parser.addoption("--record-durations", action="store_true")

def pytest_configure(config):
    if config.getoption("--record-durations"):
        config.pluginmanager.register(Recorder(FILE, lambda: passed))

@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    sort_into_tiers(items, read(FILE))

def pytest_runtest_call(item):
    global passed
    passed += SECONDS.get(item.name, 0.0)
"""


RECORDED = {"recorded_slow": 2, "recorded_long": 60, "stale": 60, "marked": 60, "marked_long": 5}
DURATIONS = {f"test_a.py::test_{case}": seconds for case, seconds in RECORDED.items()} | {"gone.py::a": 5}
"""Planted: a case over each limit, marked cases with another record, a missing case, and a missing file."""


def test_the_tier_of_a_case_is_the_longer_of_its_mark_and_its_record(pytester: pytest.Pytester) -> None:
    items = pytester.getitems(SUITE)
    sort_into_tiers(items, {f"{items[0].nodeid.split('::')[0]}::test_{c}": s for c, s in RECORDED.items()})
    tiers = {
        item.name.removeprefix("test_"): [mark for mark in LIMITS if item.get_closest_marker(mark)][:1]
        for item in items
    }
    long, slow = ["long"], ["slow"]
    assert tiers == {
        "recorded_long": long,
        "marked": long,
        "marked_long": long,
        "recorded_slow": slow,
        "quick": [],
    }
    assert list(tiers) == ["recorded_long", "marked", "marked_long", "recorded_slow", "quick"], (
        "longest first"
    )


def test_of_many_cases_the_shortest_stay_until_their_share_is_spent(pytester: pytest.Pytester) -> None:
    """One case stays whatever it takes; a test marked `each` keeps all; another test has its own share."""
    pytester.makeini("[pytest]\nmarkers =\n    slow\n    long\n    each\n")
    items = pytester.getitems(TABLES)
    seconds = {"few": 0.4, "many": 0.15, "one": 2, "kept": 0.4}
    sort_into_tiers(items, {item.nodeid: seconds[item.name[5:].partition("[")[0]] for item in items})
    long = {item.name for item in items if item.get_closest_marker("long")}
    assert long == {"test_few[1]", "test_many[3]"}


TABLES = """
import pytest

def test_one(): pass

@pytest.mark.parametrize("case", range(2))
def test_few(case): pass

@pytest.mark.parametrize("case", range(4))
def test_many(case): pass

@pytest.mark.each
@pytest.mark.parametrize("case", range(3))
def test_kept(case): pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> Path:
    """Return a suite of five cases with a file of durations, and that file."""
    pytester.makeini("[pytest]\ntestpaths = .\nmarkers =\n    slow\n    long\n")
    pytester.makeconftest(SUITE_CONFTEST)
    pytester.makepyfile(test_a=SUITE)
    write(pytester.path / "durations.json", DURATIONS)
    return pytester.path / "durations.json"


def cases_run(pytester: pytest.Pytester, *options: str) -> list[str]:
    """Run the suite; return the cases that ran, in order."""
    result = pytester.runpytest_inprocess("-p", "no:fencepost", "-n0", "-v", *options)
    assert result.ret == 0
    return re.findall(r"^test_a\.py::test_(\w+) PASSED", result.stdout.str(), re.MULTILINE)


def test_a_recording_of_the_suite_drops_stale_lines(suite: Path, pytester: pytest.Pytester) -> None:
    """The stale lines stop no test.

    The quick case takes 31 CPU seconds now. A case that did not run keeps its record.
    """
    assert cases_run(pytester, "--record-durations", "-m", "not long") == ["recorded_slow", "quick"]
    recorded = {"quick": 60, "recorded_long": 60, "marked": 60, "marked_long": 5}
    assert read(suite) == {f"test_a.py::test_{case}": seconds for case, seconds in recorded.items()}


def test_a_recording_of_one_case_changes_no_other_line(suite: Path, pytester: pytest.Pytester) -> None:
    assert cases_run(pytester, "--record-durations", "test_a.py::test_quick") == ["quick"]
    assert read(suite) == DURATIONS | {"test_a.py::test_quick": 60}


MACHINE = """
@pytest.fixture(scope="session")
def machine():
    global passed
    passed += 40
"""

FIXTURES = """
import conftest
import pytest

def spend(seconds):
    conftest.passed += seconds

@pytest.fixture(scope="session")
def answers(machine): spend(7)

@pytest.fixture(scope="module")
def grid(): spend(1.5)

@pytest.fixture
def own(): spend(0.4)

def test_first(answers, grid): pass
def test_second(answers, own): pass
def test_third(grid): pass
def test_fourth(machine, own): pass
def test_quick(): pass
"""


def test_a_record_counts_the_setup_of_its_case(suite: Path, pytester: pytest.Pytester) -> None:
    """Over 2 s, a fixture that cases share counts in each of them. One of a conftest.py counts in none."""
    pytester.makepyfile(test_a=FIXTURES)
    pytester.makeconftest(SUITE_CONFTEST + MACHINE)
    write(suite, {})
    assert len(cases_run(pytester, "--record-durations")) == 5
    recorded = {"first": 10, "second": 10, "fourth": 0.5, "quick": 60}
    assert read(suite) == {f"test_a.py::test_{case}": seconds for case, seconds in recorded.items()}


MOST = 530
"""The most CPU seconds that the records of `make test` may come to. Cases without a record add a third."""


def test_the_cases_that_are_not_long_fit_in_make_test(request: pytest.FixtureRequest) -> None:
    """The cases of this run are counted; in a run of a part they are fewer."""
    durations = read(FILE)
    cases = [item for item in request.session.items if item.get_closest_marker("long") is None]
    assert sum(durations.get(name(item.nodeid), 0) for item in cases) <= MOST


def test_seconds_of_a_child_count_and_those_of_waiting_do_not() -> None:
    began = cpu_seconds()
    time.sleep(0.2)
    assert cpu_seconds() - began < 0.1
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.1: pass"], check=True)
    assert cpu_seconds() - began > 0.08


@pytest.mark.parametrize(
    ("seconds", "record"),
    [
        (0.2, None),
        (0.21, 0.3),
        (0.6, 0.7),
        (1.1, 1.5),
        (2.0, 2),
        (2.1, 5),
        (29.0, 30),
        (30.1, 60),
        (9999.0, 3600),
    ],
)
def test_a_record_is_rounded_up_and_stays_in_its_tier(seconds: float, record: float | None) -> None:
    assert updated({"a.py::a": 10}, {"a.py::a": seconds}).get("a.py::a") == record


def test_records_are_read_as_they_were_written(tmp_path: Path) -> None:
    """The records name a test file once: if it moves, one line of the records changes."""
    durations = {"b.py::test_b[x::y]": 5, "a.toml::≠ 2/2/2, unfenced": 60, "a.toml::a": 2}
    write(tmp_path / "durations.json", durations)
    assert read(tmp_path / "durations.json") == durations
    assert (tmp_path / "durations.json").read_text(encoding="utf-8").count("a.toml") == 1


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
    """With pytest 9.2 and pytest-xdist 3.8 two workers run them, with two browsers and two Sparks."""
    pytester.makepyfile(GROUPED)
    assert pytester.runpytest_subprocess("-n2", "--dist=loadgroup", "-p", "no:fencepost").ret == 0
    assert len(list(pytester.path.glob("worker-*"))) == 1


@pytest.mark.parametrize(
    ("shown", "found_in_order"),
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
def test_the_lines_of_a_page_are_printed_in_its_order(shown: str, found_in_order: bool) -> None:
    """Otherwise a page could show anything."""
    assert shows(shown, "  one   two\nthree  [12.3 s]\n") is found_in_order


def test_what_stands_below_a_command_ends_where_the_next_one_begins() -> None:
    page = "Text\n\n    $ a b\n    x\n\n    y\n    $ c\n    z\n\nText\n"
    assert SHOWN.findall(page) == [("a b", "    x\n\n    y\n"), ("c", "    z\n")]
