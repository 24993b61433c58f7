"""The forms of `check` and `export` that show one counterexample, `export --eval` and `export --diff`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fencepost.cli.main import run
from fencepost.encoding.forms import FORMS
from support.commands import Command
from support.counterexamples import EXAMPLE
from support.instances import TWO_BOOKIES

SAVED = Path(__file__).parents[2] / "docs" / "traces" / "bookkeeper-4.13.no-divergence.json"
OWN = ["--protocol", str(EXAMPLE)]
BEGIN = {
    "itf": '{"#meta": ',
    "mermaid": "---\ntitle: ",
    "sequencediagram": "title ",
    "html": "<!DOCTYPE html>",
}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a result with two counterexamples."""
    file = tmp_path_factory.mktemp("both") / "both.json"
    lossy = ["--set", "fence=yes", "--set", "acknowledge=reachable", "--count", "2"]
    assert run(["check", str(EXAMPLE), *lossy, "--format", "json", "--output", str(file)]) == 1
    return file


@pytest.mark.parametrize("form", FORMS)
def test_a_check_tells_its_counterexample(fencepost: Command, tmp_path: Path, form: str) -> None:
    folder = tmp_path / "found"
    code, out, err = fencepost("check", str(EXAMPLE), "--format", form, "--traces", str(folder))
    assert (code, err.count("\n")) == (1, 1)
    assert err.startswith("nothing-lost: violated in 7 steps (fewest: no shorter trace exists)")
    assert out.startswith(BEGIN[form])
    name = f"two-copies.nothing-lost{FORMS[form]}"
    assert {file.name for file in folder.iterdir()} == {"two-copies.nothing-lost.json", name}
    assert (folder / name).read_text(encoding="utf-8") == out


def test_of_several_the_first_is_told_and_the_others_named(fencepost: Command, tmp_path: Path) -> None:
    lossy = ["check", str(EXAMPLE), "--set", "fence=yes", "--set", "acknowledge=reachable", "--count", "2"]
    code, out, err = fencepost(*lossy, "--format", "sequencediagram", "--traces", str(tmp_path))
    assert code == 1
    assert "one of 2 counterexamples; also: nothing-lost. Choose with --property, or say --traces DIR" in err
    names = [f"two-copies.nothing-lost.{number}" for number in (1, 2)]
    endings = (".json", ".sequencediagram.txt")
    assert {f.name for f in tmp_path.iterdir()} == {f"{name}{ending}" for name in names for ending in endings}
    first, second = ((tmp_path / f"{name}.sequencediagram.txt").read_text() for name in names)
    assert out == first != second


def test_without_a_counterexample_nothing_is_written(fencepost: Command, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    proved = ["check", str(EXAMPLE), "--set", "fence=yes", "--format", "html"]
    code, out, err = fencepost(*proved, "--output", str(file), "--traces", str(tmp_path / "none"))
    assert (code, out) == (0, "")
    assert "nothing-lost: proved" in err
    assert f"nothing to show as html; {file} is not written" in err
    assert not file.exists()
    assert list((tmp_path / "none").iterdir()) == []


def test_a_trace_that_does_not_replay_is_not_told(fencepost: Command, tmp_path: Path) -> None:
    edited, page = tmp_path / "edited.json", tmp_path / "page.html"
    trace = json.loads(SAVED.read_text(encoding="utf-8"))
    del trace["steps"][4]
    edited.write_text(json.dumps(trace))
    code, out, err = fencepost("export", str(edited), "--format", "html", "--output", str(page))
    assert (code, out, page.exists()) == (1, "", False)
    assert "no-divergence: does not replay. step 5" in err
    for more in (["--eval", "status"], ["--diff", str(SAVED)]):
        code, out, err = fencepost("export", str(edited), *more)
        assert (code, out) == (1, "")
        assert "does not replay" in err


def test_of_a_result_with_several_the_first_is_told(fencepost: Command, both: Path) -> None:
    code, out, err = fencepost("export", str(both), *OWN, "--format", "mermaid")
    assert (code, out.startswith("---\n")) == (0, True)
    assert "one of 2 counterexamples" in err


def test_only_the_traces_of_a_property_are_shown(fencepost: Command, both: Path) -> None:
    assert fencepost("export", str(both), *OWN, "--property", "nothing-lost")[1].count("replayed") == 2
    code, _, err = fencepost("export", str(both), *OWN, "--property", "something-lost")
    assert code == 2
    assert "has no trace of it; valid: nothing-lost" in err


# Values along a trace.


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


def test_expressions_have_the_values_that_the_file_has(fencepost: Command) -> None:
    given = [part for text in EXPRESSIONS for part in ("--eval", text)]
    code, out, _ = fencepost("export", str(SAVED), *given, "--format", "json")
    document = json.loads(out)
    assert (code, document["expressions"]) == (0, list(EXPRESSIONS))
    assert document["values"] == [[value(s) for value in EXPRESSIONS.values()] for s in states()]


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
def test_what_is_no_expression_is_one_line(fencepost: Command, text: str, message: str) -> None:
    code, out, err = fencepost("export", str(SAVED), "--eval", text)
    assert (code, err.count("\n")) == (2, 1)
    assert out == "" or json.loads(out)["schema"] == "fencepost.error/1"
    assert message in err


# Differences between two traces.


def test_a_trace_does_not_differ_from_itself(fencepost: Command) -> None:
    code, out, _ = fencepost("export", str(SAVED), "--diff", str(SAVED))
    assert code == 0
    assert out.endswith("Both begin with the same 17 steps.\n\nThe two traces are the same.\n")


def test_a_difference_has_the_settings_the_steps_and_the_ends(fencepost: Command, tmp_path: Path) -> None:
    small = [f"--set={name}={value}" for name, value in TWO_BOOKIES.items()]
    assert fencepost("check", "bookkeeper-4.13", *small, "--traces", str(tmp_path))[0] == 1
    other = tmp_path / "bookkeeper-4.13.no-divergence.json"
    code, out, _ = fencepost("export", str(SAVED), "--diff", str(other))
    sections = out.split("\n\n")
    assert code == 0
    assert sections[0].splitlines() == [
        "A: no-divergence of bookkeeper-4.13, 17 steps",
        "B: no-divergence of bookkeeper-4.13, 13 steps",
    ]
    assert rows(sections[1]) == [["bookies", "3", "2"], ["ensemble", "3", "2"], ["write_quorum", "3", "2"]]
    ours, theirs = (json.loads(file.read_text(encoding="utf-8")) for file in (SAVED, other))
    same = next(
        n
        for n, (a, b) in enumerate(zip(ours["steps"], theirs["steps"], strict=False))
        if (a["action"], a["arguments"]) != (b["action"], b["arguments"])
    )
    assert sections[2].startswith(f"Both begin with the same {same} steps.\n")
    shown = re.findall(r"^ {2,4}(\d+)  ", sections[2], flags=re.MULTILINE)
    assert list(map(int, shown)) == list(range(same + 1, 18))
    ends = {row[0] for row in rows(sections[3])}
    finals = [states()[-1], {}]
    finals[1] = {**theirs["initial"]}
    for step in theirs["steps"]:
        finals[1] |= step["changes"]
    assert ends == {n for n in finals[0] | finals[1] if finals[0].get(n) != finals[1].get(n)}
    swapped = fencepost("export", str(other), "--diff", str(SAVED))[1].split("\n\n")
    assert {(name, b, a) for name, a, b in rows(sections[3])} == {tuple(row) for row in rows(swapped[3])}


def rows(section: str) -> list[list[str]]:
    """Return the rows of a table that compares the traces A and B."""
    table = [line[2:] for line in section.splitlines()[2:]]
    head = section.splitlines()[1][2:]
    a, b = head.index("A"), head.index("B")
    return [[line[:a].strip(), line[a:b].strip(), line[b:].strip()] for line in table]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("known", "--format", "itf"), "'itf' is not one of 'text', 'json'"),
        (("prove", "--format", "html"), "'html' is not one of 'text', 'json'"),
        (("quorum", "-e", "3", "-w", "3", "-a", "2", "--format", "itf"), "'itf' is not one of"),
        (("export", str(SAVED), "--eval", "status", "--format", "html"), "--format html: not with --eval"),
        (("export", str(SAVED), "--diff", str(SAVED), "--format", "json"), "--format json: not with --diff"),
        (("export", str(SAVED), "--diff", str(SAVED), "--eval", "status"), "--eval, --diff: not together"),
        (("export", str(SAVED), "--diff", "nowhere.json"), "nowhere.json: cannot be read"),
        (("export", str(SAVED), "--format", "itf", "--output", "no/where"), "no/where: cannot be written"),
    ],
)
def test_what_does_not_go_together_is_one_line(
    fencepost: Command, arguments: Sequence[str], message: str
) -> None:
    code, out, err = fencepost(*arguments)
    assert (code, err.count("\n")) == (2, 1)
    assert out == "" or json.loads(out)["schema"] == "fencepost.error/1"
    assert message in err
