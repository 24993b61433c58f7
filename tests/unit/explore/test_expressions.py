"""Expressions over the state: their values along a saved trace, and the errors of texts that are none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fencepost.cli.commands.export_trace import replays_in
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.traces import plain
from fencepost.explore.expressions import Reader
from fencepost.properties.catalogue import find

SAVED = Path(__file__).parents[3] / "docs" / "traces" / "bookkeeper-4.13.no-divergence.json"


def states() -> list[dict[str, Any]]:
    """Return the states of the saved trace, read from the file without the package."""
    trace = json.loads(SAVED.read_text(encoding="utf-8"))
    found = [trace["initial"]]
    for step in trace["steps"]:
        found.append({**found[-1], **step["changes"]})
    return found


EXPRESSIONS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "stored[b1, 1]": lambda s: s["stored[b1, 1]"],
    "status": lambda s: s["status"],
    "status == 'in-recovery'": lambda s: s["status"] == "in-recovery",
    "open == status": lambda s: s["status"] == "open",
    "phase[w] == active and not fenced[b3]": lambda s: s["phase[w]"] == "active" and not s["fenced[b3]"],
    "fenced[b2] or fenced[b3] == yes": lambda s: s["fenced[b2]"] or s["fenced[b3]"],
    "stored[b1,1] + stored[b3,1] - 1 >= 1": lambda s: s["stored[b1, 1]"] + s["stored[b3, 1]"] - 1 >= 1,
    "0 <= pushed_in[w, 1] < 1 != stored[b3, 1]": lambda s: (
        0 <= s["pushed_in[w, 1]"] < 1 and s["stored[b3, 1]"] != 1
    ),
    "-1 < last_entry": lambda s: s["last_entry"] > -1,
    "add_lost[w, 1, b1]": lambda s: s.get("add_lost[w, 1, b1]", False),
    "ensemble[1, 2]": lambda s: s.get("ensemble[1, 2]", "b2"),
}


def test_expressions_have_the_values_that_the_file_has() -> None:
    """Planted: `+` for `-`."""
    (replay,) = replays_in(SAVED, None, ())
    assert replay.counterexample is not None
    system, value = replay.counterexample.system, replay.counterexample.value
    concrete = Concrete(system)
    reached = [
        concrete.state(list(map(plain, v.domain)).index(value(v, index)) for v in system.variables)
        for index in range(len(replay.counterexample.trace.steps) + 1)
    ]
    for text, expected in EXPRESSIONS.items():
        function = concrete.function(Reader(system).read(text), {})
        found = [plain(function(state)) for state in reached]
        assert found == [expected(state) for state in states()], text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("foo", "foo: no such variable; fencepost explore PROTOCOL lists them"),
        ("foo[1]", "foo: no such variable"),
        ("stored[b9, 1]", "b9: no such bookie; valid: b1, b2, b3"),
        ("stored[b1]", "stored has 2 indices"),
        (
            "status == closd",
            "closd: no such value (did you mean closed?); valid: none, open, in-recovery, closed",
        ),
        ("status < 3", "status < 3: yes or no, numbers and labels cannot be mixed"),
        ("status == phase[w]", "cannot be mixed"),
        ("fenced[b1] + 1", "cannot be mixed"),
        ("not last_entry", "cannot be mixed"),
        ("fenced[b1] and 1", "cannot be mixed"),
        ("status ==", "not an expression"),
        ("status == in-recovery", "not an expression; quote labels"),
        ("status in open", "compare with =="),
        ("__import__('os').getcwd()", "not part of an expression"),
        ("[x for x in status]", "not part of an expression"),
        ("last_entry * 2", "not part of an expression"),
        ("last_entry.real", "not part of an expression"),
        ("", "not an expression"),
        ("(" * 500, "not an expression"),
    ],
)
def test_a_text_that_is_no_expression_is_one_line(text: str, message: str) -> None:
    with pytest.raises(BadInput) as error:
        Reader(find("bookkeeper-4.13").instance().system).read(text)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
