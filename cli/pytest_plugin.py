"""Cases as tests: pytest collects files `*.cases.toml`, and gives tests the fixture `fencepost`.

The rest of Fencepost is imported when one of the two is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from fencepost.cli.cases import Checker
    from fencepost.properties.expectations import Run

PATTERN = "*.cases.toml"


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark that `slow = true` puts on a case."""
    config.addinivalue_line("markers", "slow: takes long; leave it out with -m 'not slow'")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> CasesFile | None:
    """Collect each file of cases."""
    if file_path.match(PATTERN):
        return CasesFile.from_parent(parent, path=file_path)
    return None


@pytest.fixture
def fencepost(request: pytest.FixtureRequest) -> Checker:
    """Return a checker of properties, as in `fencepost.check(PROTOCOL, "property").must_be("proved")`."""
    from fencepost.cli.cases import Checker

    return Checker(request.node.user_properties.append)


class CasesFile(pytest.File):
    """A file of cases."""

    def collect(self) -> Iterator[CaseItem]:
        """Yield a test for each case, or two if the case has a switch."""
        from fencepost.encoding.errors import BadInput
        from fencepost.properties.expectations import read

        try:
            expectations = read(self.path)
        except BadInput as error:
            raise self.CollectError(str(error)) from None
        for expectation in expectations:
            for run in expectation.runs():
                yield CaseItem.from_parent(self, name=run.name, run=run)


class CaseItem(pytest.Item):
    """A case as a test. It passes if the verdict is the one expected; an undecided case fails."""

    def __init__(self, *, run: Run, **given: object) -> None:
        """Make the test of that run."""
        super().__init__(**given)  # type: ignore[arg-type]
        self._run = run
        if run.known.slow:
            self.add_marker("slow")

    def runtest(self) -> None:
        """Check the case; fail if it does not come out as expected."""
        from fencepost.cli.cases import check_run
        from fencepost.encoding.errors import BadInput

        try:
            checked = check_run(self._run)
        except BadInput as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        self.user_properties += checked.report_properties().items()
        checked.must_be(self._run.verdict.value, self._run.steps)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> object:  # type: ignore[override]
        """Return the difference and the counterexample, without lines of Python."""
        from fencepost.cli.cases import Unmet

        if isinstance(excinfo.value, Unmet):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the place in the file. The space keeps pytest from taking dots in the name for classes."""
        return self.path, self._run.known.line - 1, f"{self.name} "
