"""The pytest plugin: it collects, decides and reports cases, and no undecided case passes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fencepost.cli import pytest_plugin
from fencepost.properties.expectations import EXPECTED, KEYS

ROOT = Path(__file__).resolve().parents[2]
COPIES = (ROOT / "examples" / "two_copies.py").read_text(encoding="utf-8")
STRICT = ("-W", "error", "--strict-markers")


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Return a project with its own protocol. Plugins that happen to be installed are not loaded."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (pytester.path / "two_copies.py").write_text(COPIES, encoding="utf-8")
    return pytester


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run pytest in the project with the plugin. Warnings are errors."""
    return project.runpytest_inprocess(*STRICT, *arguments, plugins=[pytest_plugin])


def cases(project: pytest.Pytester, *tables: str, name: str = "copies") -> None:
    """Write a file of cases about the protocol of the project."""
    head = '[defaults]\nprotocol = "two_copies.py"\nproperty = "nothing-lost"\n'
    text = "\n".join([head, *(f"[[case]]\n{table}\n" for table in tables)])
    (project.path / f"{name}.cases.toml").write_text(text, encoding="utf-8")


MET = (
    'expect = "proved"\nset = { fence = "yes" }',
    'expect = "violated"\nsteps = 7',
    'expect = "violated"\nname = "in any number of steps"',
    'expect = "holds"\nset = { fence = "yes", entries = 2 }\nbound = 7',
    'expect = "vacuous"\nbound = 3',
    'expect = "proved"\nset = { fence = "yes", acknowledge = "reachable" }\nbudget = { lost = 0 }',
)


def test_each_case_is_a_test_and_passes_if_it_is_met(project: pytest.Pytester) -> None:
    cases(project, *MET)
    result = run(project, "-v")
    result.assert_outcomes(passed=len(MET))
    result.stdout.fnmatch_lines(["copies.cases.toml::two_copies.py nothing-lost fence=yes PASSED*"])


NOT_MET = [
    ('expect = "proved"', "expected proved, found violated", "1 *send (entry 1)*"),
    ('expect = "violated"\nset = { fence = "yes" }', "expected violated, found proved", None),
    ('expect = "violated"\nsteps = 6', "expected 6 steps, found 7", "7 *acknowledge (entry 1)*"),
    ('expect = "holds"\nset = { fence = "yes" }', "expected holds, found proved", None),
    ('expect = "proved"\nbound = 3', "expected proved, found vacuous", None),
]


@pytest.mark.parametrize(("table", "reason", "step"), NOT_MET)
def test_what_is_not_met_fails_with_the_counterexample(
    project: pytest.Pytester, table: str, reason: str, step: str | None
) -> None:
    cases(project, table)
    result = run(project)
    result.assert_outcomes(failed=1)
    report = [reason, "", "two-copies: entries=1", f"*{step}" if step else "*", "nothing-lost: *"]
    result.stdout.fnmatch_lines([*report, "fencepost check *two_copies.py --property=nothing-lost*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*.py:*")


@pytest.mark.parametrize("verdict", EXPECTED)
def test_failing_to_decide_is_a_failure_whatever_was_expected(project: pytest.Pytester, verdict: str) -> None:
    cases(project, f'expect = "{verdict}"\nset = {{ fence = "yes", entries = 6 }}\ntimeout = 0.01')
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["nothing-lost: undecided: time-out after 0.01 s; *"])


def test_steps_that_are_not_shown_to_be_the_fewest_do_not_count(project: pytest.Pytester) -> None:
    spinning = COPIES.replace("~s.handled[entry, copy] & ", "")
    assert spinning != COPIES, "with this a write is delivered again and again, and no rounds are enough"
    (project.path / "two_copies.py").write_text(spinning, encoding="utf-8")
    cases(project, 'expect = "violated"\nsteps = 7\nrounds = 2')
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["expected 7 steps, found 7, not shown to be the fewest"])


def properties(file: Path) -> list[dict[str, str]]:
    """Return the properties of each test in a JUnit report."""
    cases = ElementTree.parse(file).getroot().iter("testcase")
    return [{p.attrib["name"]: p.attrib["value"] for p in case.iter("property")} for case in cases]


def test_a_report_in_junits_form_has_bound_rounds_solver_verdict_and_steps(project: pytest.Pytester) -> None:
    cases(project, MET[0], 'expect = "violated"\nbound = 7\nsolver = "glucose"', 'expect = "proved"')
    file = project.path / "report.xml"
    run(project, f"--junitxml={file}").assert_outcomes(passed=2, failed=1)
    proved, bounded, failed = properties(file)
    assert proved == {"verdict": "proved", "basis": "induction", "rounds": "0", "solver": "cadical"}
    assert (bounded["verdict"], bounded["bound"], bounded["solver"]) == ("violated", "7", "glucose")
    assert (failed["verdict"], failed["steps"], failed["fewest"]) == ("violated", "7", "of-all")


def test_slow_obligations_are_left_out_by_their_mark(project: pytest.Pytester) -> None:
    cases(project, MET[0], 'expect = "violated"\nslow = true')
    result = run(project, "-m", "not slow")
    result.assert_outcomes(passed=1, deselected=1)


def test_several_properties_of_one_instance_are_a_test_each(project: pytest.Pytester) -> None:
    shutil.copy(ROOT / "examples" / "two_phase_commit.py", project.path)
    (project.path / "votes.cases.toml").write_text(
        '[defaults]\nprotocol = "two_phase_commit.py"\nset = { participants = 2 }\n'
        'expect = { consistent = "proved", abort-is-final = "proved" }\n'
        '[[case]]\nset = { votes = "all" }\n'
        '[[case]]\nname = "one is enough"\nset = { votes = "majority", participants = 3 }\n'
        "expect = { consistent = 7 }\n"
        '[[case]]\nname = "mistaken"\nexpect = { consistent = "vacuous" }\n',
        encoding="utf-8",
    )
    result = run(project, "-v")
    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines(["votes.cases.toml::one is enough, consistent PASSED*"])
    result.stdout.fnmatch_lines(["votes.cases.toml::mistaken, consistent FAILED*"])


# Mistakes in a file: the plugin reports each in one line before it checks a case.

MISTAKES = [
    ('expect = "prooved"', "expect = 'prooved': must be one of violated, vacuous, holds, proved"),
    ('expect = "undecided"', "expect = 'undecided': must be one of violated, vacuous, holds, proved"),
    ('expect = "proved"\nstep = 7', "step: unknown key (did you mean steps?); valid: name, protocol, *"),
    ('expect = "proved"\nsteps = 7', 'steps = 7: only with expect = "violated"; leave it out'),
    ("steps = 7", "expect is missing; it must be one of violated,*"),
    ('expect = "violated"\nsteps = "7"', "steps = '7': must be a whole number, 0 or more"),
    ('expect = "violated"\nsteps = true', "steps = True: must be a whole number, 0 or more"),
    ('expect = "proved"\nbudget = { lost = "no" }', "budget = *: must be a table of faults, *"),
    ('expect = "proved"\nset = { fence = true }', "set = *: must be a table of parameters and switches, *"),
    ('expect = "proved"\nsolver = "magic"', "solver = 'magic': must be one of cadical, *"),
    ('expect = "proved"\ntimeout = 0', "timeout = 0: must be seconds, more than 0"),
    ('expect = "proved"\nset = 3', "set = 3: must be a table of parameters and switches, *"),
    ('expect = "proved"\nslow = 1', "slow = 1: must be true or false"),
    (
        "expect = { nothing-lost = 7 }",
        "property: unknown key; valid: name, protocol, expect, release, set, *",
    ),
]


@pytest.mark.parametrize(("table", "message"), MISTAKES)
def test_a_mistake_in_a_file_is_an_error_of_one_line(
    project: pytest.Pytester, table: str, message: str
) -> None:
    cases(project, MET[0], table)
    result = run(project)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([f"copies.cases.toml, line 9, case 2: {message}"])
    result.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[case]", "x.cases.toml: is not TOML (*); give a file in TOML*"),
        ("[[cases]]", "x.cases.toml: cases: unknown key (did you mean case?); valid: defaults, case"),
        (
            "[case]",
            "x.cases.toml: case = {}: must be tables of a list; write [[]*case*",
        ),
        ("defaults = 3", "x.cases.toml: defaults = 3: must be one table; write [[]defaults]"),
        ("", "x.cases.toml: has no case; write one as [[]*"),
        *(
            (
                f'[[case]]\nprotocol = "p"\nexpect = {bad}',
                "x.cases.toml, line 1, case 1: expect = *: must be properties with what each must come to: *",
            )
            for bad in ("{}", "{ q = -1 }", "{ q = true }", '{ q = "undecided" }', '{ q = "holds", r = 1.5 }')
        ),
        (
            '[defaults]\nexpect = "prooved"',
            "x.cases.toml, defaults: expect = 'prooved': must be one of *, or properties with *",
        ),
        ("[defaults]\nbond = 3", "x.cases.toml, defaults: bond: unknown key *; valid: *"),
        (
            '[[case]]\nname="a"\nprotocol="p"\nproperty="q"\nexpect="proved"\n' * 2,
            "x.cases.toml: a: two cases of this name; give one another name",
        ),
    ],
)
def test_a_file_that_says_nothing_is_an_error_of_one_line(
    project: pytest.Pytester, text: str, message: str
) -> None:
    (project.path / "x.cases.toml").write_text(text, encoding="utf-8")
    result = run(project)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([message])


def test_a_case_of_a_release_is_checked_with_its_switches(project: pytest.Pytester) -> None:
    """4.13.0 loses an entry at 2/2/2, and 4.18.0 does not."""
    head = 'protocol = "bookkeeper"\nproperty = "no-divergence"\n'
    head += "set = { bookies = 2, ensemble = 2, write_quorum = 2 }\n"
    text = "".join(
        f'[[case]]\n{head}release = "{release}"\nexpect = "{verdict}"\n'
        for release, verdict in (("4.13.0", "violated"), ("4.18.0", "proved"), ("4.13.0x", "proved"))
    ).replace('"violated"\n', '"violated"\nname = "old"\n')
    (project.path / "releases.cases.toml").write_text(text, encoding="utf-8")
    result = run(project)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["4.13.0x: not one of the *"])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            'set = { fense = "yes" }',
            "fense: no such parameter or switch (did you mean fence?); valid: entries, *",
        ),
        (
            'property = "nothing-lots"',
            "nothing-lots: no such property (did you mean nothing-lost?); valid: nothing-lost",
        ),
        ('protocol = "three_copies.py"', "*three_copies.py: no such file; *"),
        ('protocol = "bookeeper"', "bookeeper: no such protocol (did you mean bookkeeper, *"),
        ("budget = { crashes = 1 }", "crashes: no such fault here; valid: lost"),
    ],
)
def test_what_the_protocol_does_not_have_fails_in_one_line(
    project: pytest.Pytester, table: str, message: str
) -> None:
    cases(project, f'expect = "proved"\n{table}')
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([message])
    result.stdout.no_fnmatch_line("*During handling*")


# The fixture.

TESTS = """
import pytest
from two_copies import PROTOCOL
from fencepost.encoding.engine.limits import Limits

def test_met(fencepost):
    fencepost.check(PROTOCOL, "nothing-lost", fence="yes", entries=2).must_be("proved")
    found = fencepost.check("two_copies.py", "nothing-lost")
    found.must_be("violated", steps=7)
    assert (found.verdict, found.steps) == ("violated", 7)
    assert "was not on" in str(found)

def test_not_met(fencepost):
    fencepost.check(PROTOCOL, "nothing-lost", limits=Limits(timeout=600)).must_be("proved")

def test_undecided(fencepost):
    found = fencepost.check(PROTOCOL, "nothing-lost", limits=Limits(timeout=0.01), entries=6, fence="yes")
    found.must_be("proved")

def test_not_an_expectation(fencepost):
    fencepost.check(PROTOCOL, "nothing-lost").must_be("undecided")
"""


def test_the_fixture_checks_and_its_failures_show_the_trace(project: pytest.Pytester) -> None:
    project.makepyfile(test_copies=TESTS)
    file = project.path / "report.xml"
    result = run(project, f"--junitxml={file}")
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(
        [
            "*expected proved, found violated",
            "*send (entry 1)*",
            "*Entry 1 was acknowledged, but was not on *",
            "*nothing-lost: violated in 7 steps *",
        ]
    )
    result.stdout.fnmatch_lines(["*expected proved, found undecided", "*time-out after 0.01 s*"])
    result.stdout.fnmatch_lines(["*undecided: no verdict to expect; valid: violated, vacuous, holds, proved"])
    met = properties(file)[0]
    assert (met["verdict"], met["steps"], met["solver"]) == ("violated", "7", "cadical")


# Costs for a project that does not use the plugin.


def test_without_the_plugin_nothing_is_collected(project: pytest.Pytester) -> None:
    cases(project, MET[0])
    result = project.runpytest_inprocess(*STRICT)
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED


HEAVY = ("click", "rich", "z3", "pysat", "yaml", "fencepost.encoding", "fencepost.properties")


def test_nothing_is_imported_before_it_is_used() -> None:
    code = "import sys, pytest, fencepost.cli.pytest_plugin; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "fencepost.cli.pytest_plugin" in names
    assert not set(HEAVY) & set(names)


# The page of the docs.

PAGE = (ROOT / "docs" / "pytest.md").read_text(encoding="utf-8")


def test_the_page_has_every_key() -> None:
    assert [line.split("`")[1] for line in PAGE.splitlines() if line.startswith("| `")] == list(KEYS)


def test_the_files_in_the_page_are_tests_that_pass(project: pytest.Pytester) -> None:
    lock = (ROOT / "examples" / "lease_lock.py").read_text(encoding="utf-8")
    blocks = {language: PAGE.split(f"```{language}\n")[1].split("```")[0] for language in ("toml", "python")}
    files = {
        "lease_lock.py": lock,
        "locks.cases.toml": blocks["toml"],
        "test_locks.py": blocks["python"],
    }
    for name, text in files.items():
        (project.path / name).write_text(text, encoding="utf-8")
    result = run(project, "-v")
    shown = PAGE.split("$ pytest -v\n")[1].split("```")[0].splitlines()
    result.assert_outcomes(passed=len(shown) + blocks["python"].count("def test_"))
    result.stdout.fnmatch_lines([f"{line}*" for line in shown])
