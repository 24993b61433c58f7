"""Obligations as tests: pytest collects files `*.obligations.toml`, and gives tests the fixture `fencepost`.

Nothing of Fencepost is imported before one of the two is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from fencepost.cli.cases import Checker
    from fencepost.properties.expectations import Run

PATTERN = "*.obligations.toml"


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known that `slow = true` puts on an obligation."""
    config.addinivalue_line("markers", "slow: takes long; leave it out with -m 'not slow'")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> CasesFile | None:
    """Every file of obligations, wherever pytest looks for tests."""
    return CasesFile.from_parent(parent, path=file_path) if file_path.match(PATTERN) else None


@pytest.fixture
def fencepost(request: pytest.FixtureRequest) -> Checker:
    """Checks properties of protocols: `fencepost.check(PROTOCOL, "property", entries=2).must_be("proved")`."""
    from fencepost.cli.cases import Checker

    return Checker(request.node.user_properties.append)


class CasesFile(pytest.File):
    """A file of obligations."""

    def collect(self) -> Iterator[CaseItem]:
        """One test for each."""
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
    """An obligation as a test: it passes if the property comes to what is expected, and fails if that is not known."""

    def __init__(self, *, run: Run, **given: object) -> None:
        super().__init__(**given)  # type: ignore[arg-type]
        self._run = run
        if run.known.slow:
            self.add_marker("slow")

    def runtest(self) -> None:
        """Decide it."""
        from fencepost.cli.cases import check_run
        from fencepost.encoding.errors import BadInput

        try:
            checked = check_run(self._run)
        except BadInput as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        self.user_properties += checked.facts().items()
        checked.must_be(self._run.verdict.value, self._run.steps)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> object:  # type: ignore[override]
        """What differs, with the counterexample; no lines of Python."""
        from fencepost.cli.cases import Unmet

        if isinstance(excinfo.value, Unmet):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where it is in the file; by the space pytest knows that dots in the name are no classes."""
        return self.path, self._run.known.line - 1, f"{self.name} "
