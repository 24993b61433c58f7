"""`fencepost export --eval` and `--diff`: values along a trace, and the differences of two traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from fencepost.cli.rendering.columns import columns
from fencepost.encoding import keys as k
from fencepost.encoding.forms.counterexample import Counterexample, action_line
from fencepost.encoding.forms.expressions import Reader, along
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.state import amount, show_all
from fencepost.encoding.language.traces import Json, TraceStep

COLUMN = 50
"""The width of a step where two traces stand side by side."""


def values_text(counterexample: Counterexample, expressions: Sequence[str]) -> str:
    """Return a table: each state, the values of the expressions there, and the step that led to it."""
    states = zip(*_values(counterexample, expressions), strict=True)
    steps = ["at first", *map(_step, counterexample.trace.steps)]
    rows = [
        (str(index), *map(show, values), step)
        for index, (values, step) in enumerate(zip(states, steps, strict=True))
    ]
    return "\n".join(columns([("step", *expressions, ""), *rows], right=[0]))


VALUES = k.document(
    "fencepost.values/1",
    property=k.text("the property that the trace is about"),
    expressions=k.texts("the expressions as given"),
    values=k.ruled(
        list, "for each state in order, the values of the expressions", items=k.list_schema(k.PLAIN)
    ),
)


def values_json(counterexample: Counterexample, expressions: Sequence[str]) -> dict[str, Any]:
    """Return the document `fencepost.values/1`."""
    states = [list(values) for values in zip(*_values(counterexample, expressions), strict=True)]
    content = {
        "property": counterexample.trace.property,
        "expressions": list(expressions),
        "values": states,
    }
    return k.headed(VALUES, content)


def _values(counterexample: Counterexample, expressions: Sequence[str]) -> list[list[Json]]:
    reader = Reader(counterexample.system)
    return [along(counterexample, reader.read(text)) for text in expressions]


def difference_text(ours: Counterexample, theirs: Counterexample) -> str:
    """Return the differences in settings, in steps after the common ones, and in the last states."""
    parts = [_titles(ours, theirs), *_section("Set differently:", _settings(ours, theirs))]
    parts += [_steps(ours, theirs)]
    parts += _section("Differs at the end:", _states(ours, theirs))
    if len(parts) == 2 and _same_steps(ours, theirs) == len(ours.trace.steps) == len(theirs.trace.steps):
        parts.append("The two traces are the same.")
    return "\n\n".join(parts)


def _titles(ours: Counterexample, theirs: Counterexample) -> str:
    return "\n".join(
        f"{side}: {trace.property} of {trace.protocol}, {amount(len(trace.steps), 'step')}"
        for side, trace in (("A", ours.trace), ("B", theirs.trace))
    )


def _section(title: str, rows: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Yield a titled table of A and B, unless it is empty."""
    table = [("", "A", "B"), *rows]
    if len(table) > 1:
        yield "\n".join([title, *(f"  {line}" for line in columns(table))])


def _settings(ours: Counterexample, theirs: Counterexample) -> Iterator[tuple[str, str, str]]:
    a, b = ({**s.trace.parameters, **s.trace.switches} for s in (ours, theirs))
    yield from _differing(a, b)
    faults = ({"faults": show_all(s.trace.faults) or "none"} for s in (ours, theirs))
    yield from _differing(*faults)


def _states(ours: Counterexample, theirs: Counterexample) -> Iterator[tuple[str, str, str]]:
    yield from _differing(ours.trace.states[-1], theirs.trace.states[-1])


def _differing(a: Mapping[str, Json], b: Mapping[str, Json]) -> Iterator[tuple[str, str, str]]:
    for name in dict.fromkeys([*a, *b]):
        if a.get(name) != b.get(name):
            yield name, show(a.get(name, "-")), show(b.get(name, "-"))


def _same_steps(ours: Counterexample, theirs: Counterexample) -> int:
    """Return the number of steps that both begin with."""
    same = 0
    for a, b in zip(ours.trace.steps, theirs.trace.steps, strict=False):
        if _step(a) != _step(b):
            break
        same += 1
    return same


def _steps(ours: Counterexample, theirs: Counterexample) -> str:
    """Return the steps after the common ones, equal steps on one line."""
    same = _same_steps(ours, theirs)
    begin = (
        f"Both begin with the same {amount(same, 'step')}." if same else "They differ from the first step on."
    )
    a, b = (
        [_numbered(step) for step in counterexample.trace.steps[same:]] for counterexample in (ours, theirs)
    )
    if not a and not b:
        return begin
    lines = [f"  {'A':{COLUMN}}    B"]
    for is_same, left, right in _aligned(a, b):
        sign = "=" if is_same else " "
        lines.append(f"  {_cut(left):{COLUMN}}  {sign} {_cut(right)}".rstrip())
    return "\n".join([begin, *lines])


def _aligned(
    a: Sequence[tuple[int, str]], b: Sequence[tuple[int, str]]
) -> Iterator[tuple[bool, tuple[int, str] | None, tuple[int, str] | None]]:
    """Yield steps side by side, and whether they are the same."""
    matcher = SequenceMatcher(None, [text for _, text in a], [text for _, text in b], autojunk=False)
    for tag, a_from, a_to, b_from, b_to in matcher.get_opcodes():
        for left, right in zip_longest(a[a_from:a_to], b[b_from:b_to]):
            yield tag == "equal", left, right


def _numbered(step: TraceStep) -> tuple[int, str]:
    return step.index, _step(step)


def _step(step: TraceStep) -> str:
    """Return actor and action, which are equal in two traces if the step is."""
    return f"{show(step.actor)} {action_line(step)}"


def _cut(step: tuple[int, str] | None) -> str:
    if step is None:
        return ""
    text = f"{step[0]:3}  {step[1]}"
    return text if len(text) <= COLUMN else text[: COLUMN - 1] + "…"
