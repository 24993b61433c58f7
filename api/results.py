"""Results of a check, and counterexamples, as Python and notebooks show them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from fencepost.cli.rendering.check_report import CheckReport, ReportedResult
from fencepost.cli.rendering.check_text import counterexample_text
from fencepost.cli.rendering.verdict_text import verdict_sentence
from fencepost.encoding.engine.verdicts import worst
from fencepost.encoding.errors import unknown_name
from fencepost.encoding.forms import in_form
from fencepost.encoding.forms.counterexample import Counterexample, call_line, gathered, message_line
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.traces import TraceStep

COLUMNS = ("step", "actor", "action", "received", "sent", "changes")


@dataclass(frozen=True, repr=False)
class CheckedTrace:
    """An execution that violates a property; it was replayed before anyone sees it."""

    _shown: Counterexample

    @property
    def faults(self) -> Mapping[str, int]:
        """The number of faults of each kind."""
        return self._shown.trace.faults

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self._shown.trace.steps)

    def text(self) -> str:
        """Return the steps, the explanation, and why the property is false, as the command prints them."""
        return counterexample_text(self._shown)

    def html(self) -> str:
        """Return the page with a diagram that `fencepost check --format html` writes."""
        return in_form(self._shown, "html")

    def to_json(self) -> dict[str, object]:
        """Return the document `fencepost.trace/2`, which `fencepost export` reads from a file."""
        return self._shown.trace.to_json()

    def to_dataframe(self) -> Any:
        """Return the steps as a pandas DataFrame, a row for each. Raises ImportError without pandas."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_dataframe needs pandas: pip install pandas") from error
        return pandas.DataFrame(self._rows(), columns=list(COLUMNS)).set_index("step")

    def _rows(self) -> list[tuple[int, str, str, str, str, str]]:
        return [self._row(step) for step in self._shown.trace.steps]

    def _row(self, step: TraceStep) -> tuple[int, str, str, str, str, str]:
        received = step.received
        return (
            step.index,
            show(step.actor),
            call_line(step.action, step.arguments, step.actor),
            "" if received is None else f"{message_line(received)} from {show(received.sender)}",
            "; ".join(f"{text} to {', '.join(to)}" for text, to in gathered(step.sent).items()),
            "; ".join(f"{name}: {show(a)} → {show(b)}" for name, a, b in self._shown.changes(step)),
        )

    def __repr__(self) -> str:
        """Return the text."""
        return self.text()

    def _repr_html_(self) -> str:
        """Return the steps as a table, which notebooks show."""
        return table(COLUMNS, self._rows())


@dataclass(frozen=True, repr=False)
class CheckedProperty:
    """The result for one property, with the fields that a document of `--format json` has too."""

    property: str
    verdict: str
    basis: str | None
    steps: int | None
    rounds: int
    faults: Mapping[str, int] | None
    reason: str | None
    known: tuple[str, ...]
    """The known bugs that explain the counterexample."""
    seconds: float
    trace: CheckedTrace | None
    sentence: str
    """The property, the verdict and its reason."""

    def __repr__(self) -> str:
        """Return the verdict in a sentence."""
        return self.sentence

    def _repr_html_(self) -> str:
        """Return the verdict, and the steps of the counterexample if there is one."""
        steps = self.trace._repr_html_() if self.trace is not None else ""
        return f"<p>{escape(self.sentence)}</p>{steps}"


@dataclass(frozen=True, repr=False)
class Checked(Sequence[CheckedProperty]):
    """The results of a check in the order of the properties. A name or a number selects one."""

    _report: CheckReport
    _results: list[CheckedProperty] = field(init=False)

    def __post_init__(self) -> None:
        """Make a result for each property."""
        found = [_result(one) for one in self._report.results]
        object.__setattr__(self, "_results", found)

    @property
    def verdict(self) -> str:
        """The worst verdict."""
        return worst(one.result.verdict for one in self._report.results).value

    def text(self) -> str:
        """Return what `fencepost check` prints."""
        return self._report.text()

    def to_json(self) -> dict[str, Any]:
        """Return the document that `fencepost check --format json` prints."""
        document: dict[str, Any] = json.loads(json.dumps(self._report.document()))
        return document

    def __getitem__(self, key: Any) -> Any:
        """Return the result of that number, or for the property of that name. Raises BadInput."""
        if not isinstance(key, str):
            return self._results[key]
        known = {result.property: result for result in self._results}
        if key not in known:
            raise unknown_name(key, "property", known)
        return known[key]

    def __iter__(self) -> Iterator[CheckedProperty]:
        """Yield the results."""
        return iter(self._results)

    def __len__(self) -> int:
        """Return the number of results."""
        return len(self._results)

    def __repr__(self) -> str:
        """Return the lines of the verdicts."""
        return "\n".join(self._report.lines)

    def _repr_html_(self) -> str:
        """Return the verdicts as a table, which notebooks show."""
        return table(("property", "verdict"), [(r.property, r.sentence) for r in self._results])


def _result(one: ReportedResult) -> CheckedProperty:
    result = one.result
    return CheckedProperty(
        result.property,
        result.verdict.value,
        result.basis.value if result.basis is not None else None,
        result.steps,
        result.rounds,
        result.faults,
        result.reason,
        tuple(one.known),
        result.seconds,
        CheckedTrace(one.counterexamples[0]) if one.counterexamples else None,
        verdict_sentence(result),
    )


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table in HTML without styles or scripts, which a forge shows too."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
