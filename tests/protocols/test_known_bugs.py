"""The known bugs: each is found in as many steps as the table says, and is gone with its switch changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.advice.known import KNOWN, chosen
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.engine.verdicts import Basis, Fewest, Result, Verdict
from fencepost.encoding.errors import BadInput
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import Expectation, Run, as_expected, read
from fencepost.realcode.matrix import kept
from support.instances import found
from support.realcode import kept_trace


def title(value: object) -> str:
    return f"{value.known.name}-{value.value}" if isinstance(value, Run) else getattr(value, "name", "")


QUICK = ("BOOKKEEPER-799", "#2614", "log-happy-path", "log-double-answer")
"""The bugs of the quick tests; the slow tests have all."""


def marks(run: Run) -> list[pytest.MarkDecorator]:
    """Return the marks of a run: a row that is marked slow takes over 20 s.

    `make test` finds every other bug, and proves that the quick ones are gone with their switch. Of several
    bugs that one value of a switch mends, it finds the first.
    """
    if run.known.name in QUICK:
        return []
    alike = (known for known in KNOWN if known.switch and mend_of(known) == mend_of(run.known))
    is_first = next(alike, run.known).name == run.known.name
    return [pytest.mark.slow] if run.with_bug and not run.known.slow and is_first else [pytest.mark.long]


def mend_of(known: Expectation) -> tuple[str, str | None, str]:
    return known.protocol, known.switch, known.mended


RUNS = [pytest.param(run, marks=marks(run), id=title(run)) for known in KNOWN for run in known.runs()]


@pytest.mark.each
@pytest.mark.parametrize("run", RUNS)
def test_a_known_bug_comes_out_as_the_table_says(run: Run) -> None:
    result = found(run)
    assert result.verdict is run.verdict
    if run.steps is not None:
        assert (result.steps, result.fewest) == (run.steps, Fewest.OF_ALL)
    assert as_expected(run, result)


def test_names_are_unique() -> None:
    names = [known.name.removeprefix("#") for known in KNOWN]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("known", KNOWN, ids=title)
def test_bug_and_fix_differ_in_one_switch_of_the_protocol(known: Expectation) -> None:
    if known.switch is None:
        assert (known.broken, known.mended, len(known.runs())) == ("", "", 1)
        return
    switches = {option.name: option.values for option in find(known.protocol).options() if option.values}
    assert {known.broken, known.mended} <= set(switches[known.switch])
    assert known.broken != known.mended
    assert known.switch not in known.settings


@pytest.mark.parametrize("known", KNOWN, ids=title)
def test_an_instance_changes_only_what_differs_from_the_protocol(known: Expectation) -> None:
    defaults = {option.name: str(option.default) for option in find(known.protocol).options()}
    assert not [name for name, value in known.settings.items() if defaults[name] == str(value)]


def test_bugs_are_chosen_by_name_with_or_without_the_sign_that_a_shell_takes_for_a_comment() -> None:
    assert chosen(KNOWN, []) == list(KNOWN)
    assert [known.name for known in chosen(KNOWN, ["2615", "#2614", "2614"])] == ["#2614", "#2615"]
    with pytest.raises(BadInput, match=r"^26: no such known bug; fencepost known --list lists them$"):
        chosen(KNOWN, ["26"])


@pytest.mark.parametrize(
    ("number", "names"),
    [
        ("4097", ["#3005", "#3005-3/2/2"]),
        ("#4097", ["#3005", "#3005-3/2/2"]),
        ("544", ["#4812"]),
        ("PR 4557", ["#4651"]),
        ("pr4557", ["#4651"]),
        ("pull/4557", ["#4651"]),
        ("Issue #4701", ["#4701"]),
        ("BARE-Fence", ["bare-fence"]),
        ("PR-3341", ["flushed-fence-db", "returned-copy-checkpoint", "reused-dropped-checkpoint"]),
        ("6505", ["pulsar#6505"]),
        ("581", ["early-commit"]),
        ("2615", ["#2615"]),
    ],
)
def test_a_number_that_the_source_of_a_bug_has_finds_it(number: str, names: list[str]) -> None:
    """Issue 4097 is the production report of #3005, and `known 4097` knew of no such bug."""
    assert [known.name for known in chosen(KNOWN, [number])] == names


@pytest.mark.parametrize("name", ["4", "13", "14.0", "799x", "PR 1", "2099", "097"])
def test_the_number_of_a_release_or_scenario_finds_no_bug(name: str) -> None:
    """Planted: 13 finds each bug that was fixed after 4.13."""
    with pytest.raises(BadInput, match="no such known bug"):
        chosen(KNOWN, [name])


(BUG,) = chosen(KNOWN, ["#2614"])
UNDECIDED = Result(BUG.property, Verdict.UNDECIDED, seconds=0.0, solver="none")
PROVED = replace(UNDECIDED, verdict=Verdict.PROVED, basis=Basis.ROUNDS, covering=1, witness=True)


@pytest.fixture(scope="session")
def violated() -> Result:
    """Return the real result of the first bug: no shorter trace exists."""
    return found(Run(BUG, True))


@pytest.mark.parametrize(
    ("steps", "fewest", "expected"),
    [
        (17, Fewest.OF_ALL, True),
        (16, Fewest.OF_ALL, False),
        (18, Fewest.OF_ALL, False),
        (16, Fewest.WITHIN_ROUNDS, False),
        (17, Fewest.WITHIN_ROUNDS, None),
        (18, Fewest.WITHIN_ROUNDS, None),
    ],
)
def test_a_violation_is_as_expected_only_if_no_shorter_one_exists(
    violated: Result, steps: int, fewest: Fewest, expected: bool | None
) -> None:
    result = replace(violated, steps=steps, fewest=fewest, shortest_at_least=None)
    assert as_expected(Run(BUG, True), result) is expected


def test_another_verdict_is_not_as_expected_unless_the_search_did_not_end(violated: Result) -> None:
    bug, fix = BUG.runs()
    assert as_expected(bug, PROVED) is False
    assert as_expected(fix, violated) is False
    assert as_expected(fix, replace(UNDECIDED, verdict=Verdict.VACUOUS)) is False
    assert as_expected(fix, replace(UNDECIDED, verdict=Verdict.HOLDS)) is False
    assert [as_expected(run, UNDECIDED) for run in (bug, fix)] == [None, None]
    assert as_expected(fix, PROVED) is True


def test_a_bug_that_nothing_mends_is_only_looked_for() -> None:
    unmended = replace(BUG, switch=None, broken="", mended="", settings={"recovery_reads_fence": "no"})
    (run,) = unmended.runs()
    assert (run.settings, run.value) == ({"recovery_reads_fence": "no"}, None)
    assert (run.verdict, run.steps) == (Verdict.VIOLATED, 17)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("#3005-3/2/2", "resends=one-by-one"),
        ("bare-fence", "limbo_on_unclean_shutdown=yes"),
        ("#4812", "cookie_mismatch=refuse"),
        ("phantom-read-2", "recovery_metadata=at-once"),
        ("too-few-copies", "recovery_start=bump"),
        ("too-few-copies-2", "second_copy=replaces"),
    ],
)
def test_a_rule_that_is_not_enough_is_violated_by_the_same_steps(name: str, other: str) -> None:
    """Planted: another rule as the mend. With the mend of the row the steps do not violate the property."""
    (known,) = chosen(KNOWN, [name])
    switch, _, value = other.partition("=")
    settings = Run(known).settings | {switch: value}
    instance = find(known.protocol).instance(settings.items())
    (prop,) = instance.properties(known.property)
    trace = kept(name, Replayer(instance.system, instance.subject), prop)
    assert trace.property == known.property and len(trace.steps) == len(kept_trace(name).steps)
    mended = find(known.protocol).instance(Run(known, False).settings.items())
    (prop,) = mended.properties(known.property)
    with pytest.raises(NotAnExecution):
        kept(name, Replayer(mended.system, mended.subject), prop)


# The file of known bugs.

ROW = """
[[case]]
protocol = "bookkeeper"
property = "no-divergence"
expect = "violated"
"""


def read_rows(folder: Path, more: str) -> list[Expectation]:
    path = folder / "some.toml"
    path.write_text(ROW + more, encoding="utf-8")
    return read(path)


def test_a_row_with_a_switch_is_asked_with_the_bug_and_without_it(tmp_path: Path) -> None:
    switch = 'switch = "fence_atomic"\nbroken = "no"\nmended = "yes"\nsteps = 18\nset = { bookies = 3 }\n'
    (known,) = read_rows(tmp_path, switch + "mended_bound = 11\n")
    bug, fix = known.runs()
    assert (bug.settings, bug.verdict, bug.steps, bug.bound, bug.minimize) == (
        {"bookies": "3", "fence_atomic": "no"},
        Verdict.VIOLATED,
        18,
        None,
        "steps",
    )
    assert (fix.settings["fence_atomic"], fix.verdict, fix.steps, fix.bound) == (
        "yes",
        Verdict.HOLDS,
        None,
        11,
    )
    assert [run.name for run in known.runs()] == [known.name, f"{known.name} fence_atomic=yes"]
    (proved,) = read_rows(tmp_path, switch)
    assert proved.runs()[1].verdict is Verdict.PROVED


def test_a_row_without_a_switch_is_asked_once(tmp_path: Path) -> None:
    (run,) = read_rows(tmp_path, "bound = 9\n")[0].runs()
    assert (run.verdict, run.bound, run.minimize, run.value) == (Verdict.VIOLATED, 9, "none", None)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ('switch = "fence_atomic"\nbroken = "no"', "needs mended too"),
        ('switch = "a"\nbroken = "no"\nmended = "yes"\nset = { a = "no" }', "set: has the switch a"),
        ('broken = "no"', "broken: only with a switch"),
        ("mended_bound = 9", "mended_bound: only with a switch"),
        ('without = "holds"', "without: only with a switch"),
        ("wrong = 3", "wrong"),
        ("bug = 3", "bug: unknown key"),
    ],
)
def test_a_row_that_says_half_of_a_bug_is_refused(tmp_path: Path, more: str, reason: str) -> None:
    with pytest.raises(BadInput, match=f"^some.toml, line 2, case 1: .*{reason}"):
        read_rows(tmp_path, more)
