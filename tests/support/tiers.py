"""Tiers of cases: from the marks in the code, and from the durations recorded in `tests/durations.json`.

The file holds, by test file and by case, the CPU seconds of the last recording, rounded up to a step. Other
programs on the machine do not change them. A line that names no case is ignored, and the next recording of
the whole suite leaves it out.
"""

from __future__ import annotations

import itertools
import json
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).parents[1] / "durations.json"
LIMITS = {"long": 2, "slow": 0.2}
"""By tier, the seconds over which a recorded case belongs to it."""
SHARE = 0.5
"""Seconds that the cases of one test may take together before its other cases are long."""
LEAST = 0.2
"""Seconds up to which a case needs no record."""
STEPS = (0.3, 0.5, 0.7, 1, 1.5, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600)
"""Seconds as they are recorded. No limit of a tier lies within a step, so rounding up changes no tier."""

Durations = dict[str, float]
"""Seconds by case, as pytest names it."""


def read(file: Path) -> Durations:
    """Return the recorded seconds of each case."""
    by_file: dict[str, dict[str, float]] = json.loads(file.read_text(encoding="utf-8"))
    return {f"{path}::{case}": seconds for path, cases in by_file.items() for case, seconds in cases.items()}


def write(file: Path, durations: Mapping[str, float]) -> None:
    """Write the file: a case in each line, under the file that it is in."""
    by_file: dict[str, dict[str, float]] = defaultdict(dict)
    for nodeid, seconds in sorted(durations.items()):
        path, case = nodeid.split("::", 1)
        by_file[path][case] = seconds
    file.write_text(json.dumps(by_file, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def updated(
    known: Durations, measured: Mapping[str, float], collected: Collection[str] | None = None
) -> Durations:
    """Return the records after a run that measured some cases.

    `collected` has all cases there are, if the run knows them: then records of other names are dropped.
    """
    kept = {
        case: seconds
        for case, seconds in known.items()
        if case not in measured and (collected is None or case in collected)
    }
    return kept | {case: _step(seconds) for case, seconds in measured.items() if seconds > LEAST}


def _step(seconds: float) -> float:
    return next((step for step in STEPS if seconds <= step), STEPS[-1])


def sort_into_tiers(items: list[pytest.Item], durations: Durations) -> None:
    """Mark each case whose record is over the limit of a tier, and put the longest first.

    A mark in the code is the least tier of its case: a record moves a case to a longer tier, never to a
    shorter one. Of a test with many cases the shortest stay, as many as come to `SHARE`.
    """
    for item in items:
        seconds = durations.get(name(item.nodeid), 0)
        tier = next((mark for mark, limit in LIMITS.items() if seconds > limit), None)
        if tier is not None:
            item.add_marker(tier)
    for item in _over_their_share(items, durations):
        item.add_marker("long")
    items.sort(key=lambda item: _expected(item, durations), reverse=True)


def _over_their_share(items: Iterable[pytest.Item], durations: Durations) -> Iterator[pytest.Item]:
    """Yield the cases that are not long and that their test has no seconds left for, never its shortest.

    A test marked `each` keeps all its cases. Each row of a file of expected verdicts is a test of its own.
    """
    by_test: dict[str, list[tuple[float, str, pytest.Item]]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("long") is None and item.get_closest_marker("each") is None:
            case = name(item.nodeid)
            by_test[case.partition("[")[0]].append((durations.get(case, 0), case, item))
    for cases in by_test.values():
        ordered = sorted(cases, key=lambda case: case[:2])
        spent = itertools.accumulate(seconds for seconds, _, _ in ordered)
        _, *others = zip(spent, ordered, strict=True)
        yield from (item for seconds, (_, _, item) in others if seconds > SHARE)


def _expected(item: pytest.Item, durations: Durations) -> float:
    """Return the recorded seconds of a case; of a marked case at least the limit of its tier."""
    least = next((limit for mark, limit in LIMITS.items() if item.get_closest_marker(mark)), 0)
    return max(least, durations.get(name(item.nodeid), 0))


def each_third(cases: Iterable[Any], first: int = 0) -> list[Any]:
    """Return cases of one table as parameters: each third from the first on is slow, the others are long."""
    marks = [pytest.mark.slow if number == first else pytest.mark.long for number in range(3)]
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=mark)
        for case, mark in zip(cases, itertools.cycle(marks), strict=False)
    ]


def name(nodeid: str) -> str:
    """Return the name of a case without the group that pytest-xdist writes behind it."""
    group = nodeid.rfind("@")
    return nodeid[:group] if group > nodeid.rfind("]") else nodeid


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of those of its children that ended."""
    return sum(os.times()[:4])


class Recorder:
    """A plugin of a run in one process: it measures each case that passes, and writes the file at the end.

    The seconds of a case are those of its call and of its setup. A fixture that the cases of a file share
    counts in each of them if it alone takes over the limit of the tier `long`: none can run without it. A
    shared fixture of a `conftest.py`, such as the browser, belongs to the run and counts in no case.
    """

    def __init__(self, file: Path, clock: Callable[[], float] = cpu_seconds) -> None:
        self.file = file
        self.clock = clock
        self.measured: dict[str, float] = {}
        self.shared: dict[tuple[str, str], float] = {}
        """The seconds of each shared fixture that counts, by the place and the name of its definition."""
        self.setup = self.uncounted = 0.0
        """Of this case: the seconds of its setup that count, and those spent on shared fixtures."""
        self.collected: set[str] | None = None
        """All cases of the suite; None if this process has not collected all of them."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Note all cases, before options such as `-m` leave some out."""
        if config.args_source is pytest.Config.ArgsSource.TESTPATHS:
            self.collected = {name(item.nodeid) for item in items}

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
        """Note the seconds of a fixture that cases share."""
        began, uncounted = self.clock(), self.uncounted
        result = yield
        if fixturedef.scope != "function":
            seconds = self.clock() - began
            self.uncounted = uncounted + seconds
            if fixturedef.baseid.endswith(".py") and seconds > LIMITS["long"]:
                place = (fixturedef.baseid, fixturedef.argname)
                self.shared[place] = max(seconds, self.shared.get(place, 0))
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        """Note the seconds of the fixtures of a case, and those of a shared one that takes long."""
        began, self.uncounted = self.clock(), 0.0
        result = yield
        names = getattr(item, "fixturenames", ())
        long = (
            seconds
            for (place, fixture), seconds in self.shared.items()
            if fixture in names and item.nodeid.startswith(place)
        )
        self.setup = self.clock() - began - self.uncounted + sum(long)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Note the seconds of a case that passes."""
        began = self.clock()
        result = yield  # raises what the case raises
        self.measured[name(item.nodeid)] = self.setup + self.clock() - began
        return result

    def pytest_sessionfinish(self) -> None:
        """Write what was measured; what did not run keeps its record."""
        write(self.file, updated(read(self.file), self.measured, self.collected))
