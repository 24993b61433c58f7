"""Each form shows every message and every state of the trace, at its place, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import itf_py
import pytest

from fencepost.cli.main import run
from fencepost.encoding.forms import FORMS, in_form
from fencepost.encoding.forms.counterexample import Counterexample, action_line, identifiers
from fencepost.encoding.forms.labels import Box, Segment
from fencepost.encoding.forms.lifelines import NARROW, WIDE, Drawing, Layout
from fencepost.encoding.forms.mermaid import mermaid
from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.sorts import BOOL, show
from fencepost.encoding.language.state import StateSpace, variable
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import TRUE
from fencepost.encoding.language.traces import Json, Sending, TraceStep
from fencepost.properties.catalogue import FAMILIES, find
from fencepost.protocols.ledger_chain import Chain, ChainMetadata
from support.counterexamples import EXECUTIONS, counterexample_of, replayed

ROOT = Path(__file__).parents[3]
TRACES = ROOT / "docs" / "traces"
SAVED = TRACES / "bookkeeper-4.13.no-divergence.json"


@pytest.fixture(params=EXECUTIONS)
def counterexample(request: pytest.FixtureRequest) -> Counterexample:
    """Return each of the counterexamples."""
    return counterexample_of(request.param)


@pytest.mark.parametrize("form", FORMS)
def test_the_same_counterexample_is_written_in_the_same_words(
    counterexample: Counterexample, form: str
) -> None:
    again = Counterexample(
        counterexample.trace,
        counterexample.system,
        counterexample.prop,
        counterexample.verdict,
        counterexample.changed_switches,
    )
    assert in_form(again, form) == in_form(counterexample, form)


@pytest.mark.parametrize("form", ["text", *FORMS])
def test_the_traces_in_the_docs_are_what_the_command_writes(
    form: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    ending = FORMS.get(form, ".txt")
    kept, written = TRACES / f"{SAVED.stem}{ending}", tmp_path / "written"
    if request.config.getoption("--refresh-goldens"):
        written = kept
    run(["export", str(SAVED), "--format", form, "--output", str(written)])
    assert written.read_text(encoding="utf-8") == kept.read_text(encoding="utf-8")


def test_the_diagram_in_the_docs_is_the_one_that_is_kept(request: pytest.FixtureRequest) -> None:
    page = TRACES.parent / "traces.md"
    kept = (TRACES / f"{SAVED.stem}.mmd").read_text(encoding="utf-8")
    text = page.read_text(encoding="utf-8")
    before, found, rest = text.partition("```mermaid\n")
    expected = before + found + kept + rest[rest.index("```") :]
    if request.config.getoption("--refresh-goldens"):
        page.write_text(expected, encoding="utf-8")
        text = expected
    assert text == expected


# Counterexamples.


def test_participants_stand_in_the_order_of_their_kinds() -> None:
    assert counterexample_of("late").participants == ("w", "r1", "b1", "b2", "zk")
    assert counterexample_of("lost").participants == ("primary", "c1", "c2", "new primary")
    assert counterexample_of("chained").participants == ("c1", "c2", "store")


def test_what_becomes_of_a_message_is_what_the_trace_says(counterexample: Counterexample) -> None:
    trace = counterexample.trace
    assert [t.message for t in counterexample.travels] == [m for step in trace.steps for m in step.sent]
    assert [s.index for s in trace.steps if s.received] == sorted(counterexample.arrivals)
    for index, travel in counterexample.arrivals.items():
        received = trace.steps[index - 1].received
        assert received is not None
        assert travel.message.key == received.key
        assert travel.sent < index
        assert not travel.message.lost
    assert [t.message for t in counterexample.in_flight] == trace.in_flight()


def chain() -> Chain:
    protocol = find("ledger-chain")
    state = protocol.system(protocol.defaults).state
    assert isinstance(state, Chain)
    return state


def test_the_last_change_of_a_variable_is_found_by_its_value_and_by_what_came_after() -> None:
    """Step 8 appends the ledger, and step 10 overwrites the list with the ledger in it."""
    trace, position = counterexample_of("chained").trace, chain().position
    assert trace.last_change(position, 1).index == 10
    assert trace.last_change(position, 1, to=0).index == 10
    assert trace.last_change(position, 1, to=1).index == 8
    assert trace.last_change(position, 1, before=10).index == 8
    with pytest.raises(StopIteration):
        trace.last_change(position, 1, before=8)
    assert (1,) in trace.changed(trace.steps[7], position)


def test_a_trace_tells_what_a_variable_held_as_a_value_of_its_domain() -> None:
    """A variable that never changes is not in the trace: it has its initial value."""
    trace, s = counterexample_of("chained").trace, chain()
    assert [trace.value(s.position, 1, after=step) for step in (0, 7, 8, 10)] == [0, 0, 1, 0]
    assert trace.value(s.metadata, 1) in ChainMetadata
    assert trace.value(s.metadata, 1, after=0) is ChainMetadata.NOT_CREATED
    never = replace(trace, initial={}, steps=())
    assert never.value(s.leader) == s.leader.family.firsts(())[0]


def test_of_two_alike_the_one_is_received_that_says_the_same() -> None:
    counterexample = counterexample_of("lost")

    def step(index: int, says: int, is_receipt: bool) -> TraceStep:
        message = Sending("note", "a", "b", {"says": says}, None if is_receipt else False)
        received, sent = (message, ()) if is_receipt else (None, (message,))
        return TraceStep(index, "go", {}, "b" if is_receipt else "a", received, sent, "", {})

    steps = (step(1, 1, False), step(2, 2, False), step(3, 2, True), step(4, 1, True))
    travels = replace(counterexample, trace=replace(counterexample.trace, steps=steps)).travels
    assert [(t.sent, t.received) for t in travels] == [(1, 4), (2, 3)]


def test_marks_are_shown_only_if_the_property_is_about_them() -> None:
    counterexample = counterexample_of("lost")
    assert counterexample.noted_families >= {"stored", "acknowledged", "taken_over", "kept"}
    assert not counterexample.noted_families & {"sent", "handled", "answered"}


class Lamp(StateSpace):
    """A lamp that is lit once and may be put out."""

    def __init__(self) -> None:
        self.lit = variable(BOOL)
        self.tried = variable(BOOL)


def put_out(s: Lamp) -> Action:
    """Put the lamp out."""
    return Action(when=s.lit, then=[s.lit.set(False)], actor="wind")


def light(s: Lamp) -> Action:
    """Light the lamp."""
    return Action(when=~s.lit & ~s.tried, then=[s.lit.set(True), s.tried.set(True)], actor="hand")


def test_a_variable_that_can_be_reset_is_no_mark() -> None:
    lamp = Lamp()
    prop = Property("dark", "nothing is required", TRUE, TRUE, "nothing is needed")
    system = System(lamp, (each(put_out, lamp), each(light, lamp)), (prop,))
    assert replace(counterexample_of("lost"), system=system, prop=prop).noted_families == {"lit"}


def test_stores_hold_families_that_there_are() -> None:
    for protocol in map(find, FAMILIES):
        state = protocol.system(protocol.defaults).state
        families = {v.family.name for v in state.variables}
        for store, names in state.stores.items():
            missing = set(names) - families
            assert len(missing) < len(names), f"{protocol.name}: {store} holds nothing"
            assert missing <= {"ledger_term"}, f"{protocol.name}: {store} holds {missing}, which there is not"


def test_names_are_spelled_apart() -> None:
    words = identifiers(["new primary", "new-primary", "End", "w"], {"end"})
    assert list(words.values()) == ["new_primary", "new_primary_", "End_", "w"]


# ITF.


def flattened(state: Any, families: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield each variable of a state as itf-py reads it, under its name in traces."""
    for family in families:
        value = state.values[family]
        if not isinstance(value, dict) and not hasattr(value, "items"):
            yield family, value
            continue
        for key, inner in value.items():
            parts = key if isinstance(key, tuple) else (key,)
            yield f"{family}[{', '.join(map(str, parts))}]", inner


def test_itf_py_reads_the_states_of_the_trace(counterexample: Counterexample) -> None:
    document = json.loads(in_form(counterexample, "itf"))
    read = itf_py.trace_from_json(document)
    *families, taken = read.vars
    assert len(read.states) == len(counterexample.trace.steps) + 1
    for index, state in enumerate(read.states):
        shown = dict(flattened(state, families))
        expected = counterexample.trace.states[index]
        assert {name: value for name, value in shown.items() if name in expected} == expected
        assert all(shown[name] is False for name in shown.keys() - expected.keys()), "a choice not taken"
        step = counterexample.trace.steps[index - 1] if index else None
        assert state.values[taken] == (step.action if step else "init")
        assert state.meta["index"] == index


def test_itf_writes_integers_as_its_readers_want_them(counterexample: Counterexample) -> None:
    document = json.loads(in_form(counterexample, "itf"))
    types = document["#meta"]["varTypes"]
    for state in document["states"]:
        assert set(state) == {"#meta", *document["vars"]} == {"#meta", *types}
        for name in document["vars"]:
            for kind, value in kinds(types[name], state[name]):
                assert fits(kind, value), f"{name} is {types[name]}, not {value}"


def kinds(kind: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the simple values in a value, each with its type."""
    if "->" not in kind:
        yield kind, value
        return
    index, domain = kind.split(" -> ")
    for key, inner in value["#map"]:
        yield domain, inner
        if index.startswith("<<"):
            yield from zip(index.strip("<>").split(", "), key["#tup"], strict=True)
        else:
            yield index, key


def fits(kind: str, value: Any) -> bool:
    if kind == "Int":
        return isinstance(value, dict) and re.fullmatch(r"-?\d+", value["#bigint"]) is not None
    return type(value) is {"Bool": bool, "Str": str}[kind]


# Sequence diagrams.

LINES = re.compile(
    r'---|title: ".+"|sequenceDiagram|    participant (?P<name>\w+) as .+|'
    r"    (?P<from>\w+)(?P<arrow>-\)|-x|->>)(?P<to>\w+): (?P<text>.+)|    Note over (?P<over>[\w,]+): .+"
)


def diagram(counterexample: Counterexample) -> Iterator[dict[str, str]]:
    """Yield the lines of a diagram; fail on a line that has not the form of one."""
    declared: set[str] = set()
    for line in mermaid(counterexample).rstrip("\n").split("\n"):
        match = LINES.fullmatch(line)
        assert match, f"not a line of a diagram: {line!r}"
        parts = {name: text for name, text in match.groupdict().items() if text}
        declared |= {parts["name"]} if "name" in parts else set()
        named = {parts[end] for end in ("from", "to") if end in parts} | set(parts.get("over", "").split(","))
        assert named - {""} <= declared
        yield parts


def test_each_message_is_drawn_where_it_is_received_or_lost(counterexample: Counterexample) -> None:
    words = identifiers(counterexample.participants)
    drawn = {"received": [], "lost": []}  # type: dict[str, list[tuple[str, str, int, str]]]
    for parts in diagram(counterexample):
        if "arrow" not in parts:
            continue
        number, _, text = parts["text"].partition(". ")
        arrow = (parts["from"], parts["to"], int(number), re.split(r" \[|<br/>", text)[0])
        step = counterexample.trace.steps[int(number) - 1]
        if parts["arrow"] == "-x":
            drawn["lost"].append(arrow)
        elif step.received is not None and text.startswith(step.received.kind):
            drawn["received"].append(arrow)
        else:
            stores = [words[s] for s in counterexample.touched(step)]
            assert arrow[0] == words[show(step.actor)]
            assert arrow[1] in (arrow[0], *stores), "an arrow of a message that there is not"
    expected = [
        (words[t.sender], words[t.receiver], index, t.message.kind)
        for index, t in counterexample.arrivals.items()
    ]
    lost = [
        (words[t.sender], words[t.receiver], t.sent, t.message.kind)
        for t in counterexample.travels
        if t.message.lost
    ]
    assert drawn == {"received": sorted(expected, key=lambda arrow: arrow[2]), "lost": lost}


def test_notes_say_what_changed_and_where(counterexample: Counterexample) -> None:
    """Each change of a marked variable is noted at the actor of the step, or at the store that holds it."""
    stores = {
        family: store for store, names in counterexample.system.state.stores.items() for family in names
    }
    expected = []
    for before, step in zip(counterexample.trace.states, counterexample.trace.steps, strict=False):
        for name, value in step.changes.items():
            family = name.split("[")[0]
            if family in counterexample.noted_families:
                holder = stores.get(family, show(step.actor))
                expected.append((holder, f"{name}: {show(before[name])} → {show(value)}"))
    text = mermaid(counterexample)
    notes = re.findall(r"^    Note over (\w+): (.*)$", text, flags=re.MULTILINE)
    found = [(over, line) for over, lines in notes for line in lines.split("<br/>")]
    words = identifiers(counterexample.participants)
    assert sorted(found) == sorted((words[holder], line) for holder, line in expected)


def test_a_late_message_says_so() -> None:
    text = mermaid(counterexample_of("late"))
    (line,) = [line for line in text.splitlines() if "LATE" in line]
    assert line.startswith("    w-)b1: 12. add [")
    assert line.endswith("LATE: sent in step 2, overtaken by a message sent after it")


def test_the_published_diagram_is_recognisable_in_ours() -> None:
    """Compare with the same execution in `recovery-reads-without-fencing.txt`."""
    lines = [line.strip() for line in mermaid(counterexample_of("late")).splitlines()]
    for wanted in (
        "participant zk as zk",
        r"r1->>zk: \d+. begin recovery: .*",
        r"r1-\)b2: \d+. fence.*",
        r"r1-xb1: \d+. fence.*",
        r"r1-\)b1: \d+. read \[entry 1\].*",
        r"b1-\)r1: \d+. read answer .*NoSuchEntry.*",
        r"r1->>zk: \d+. finish recovery .*",
        r"w-\)b1: \d+. add .*",
        r"b1-\)w: \d+. add answer .*",
        r"Note over w,zk: Entry 1 is lost: .*",
    ):
        assert any(re.fullmatch(wanted, line) for line in lines), wanted


# The page.


class Page(HTMLParser):
    """The elements of a page; parsing fails if its tags do not match."""

    VOID = frozenset({"meta", "input", "br"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: dict[str, str] = {}
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts[self.open[-1] if self.open else ""] = data

    def classed(self, name: str) -> list[dict[str, str]]:
        """Return the attributes of the elements of a class."""
        return [attributes for _, attributes in self.elements if name in attributes.get("class", "").split()]


def test_the_page_needs_nothing_else(counterexample: Counterexample) -> None:
    text = in_form(counterexample, "html")
    page = Page(text)
    for tag, attributes in page.elements:
        assert tag not in ("link", "img", "iframe", "object")
        assert "src" not in attributes
        assert attributes.get("href", "#step").startswith("#step")
    assert not re.search(r"https?:|@import|url\(|fetch\(|XMLHttp", text)


def test_the_page_draws_each_message_once(counterexample: Counterexample) -> None:
    """Once in the wide layout, and once in the narrow one."""
    for layout in (WIDE, NARROW):
        drawing = Page(f"<div>{Drawing(counterexample, layout).body()}</div>")
        drawn = [
            (a["data-sent"], a.get("data-received", ""), "lost" in a["class"], "late" in a["class"])
            for a in drawing.classed("travel")
            if "touch" not in a["class"]
        ]
        expected = [
            (str(t.sent), str(t.received or ""), bool(t.message.lost), counterexample.is_late(t))
            for t in counterexample.travels
        ]
        assert sorted(drawn) == sorted(expected)
        for part in ("row", "band"):
            steps = [a["data-step"] for a in drawing.classed(part)]
            assert steps == [str(i) for i in range(len(counterexample.trace.steps) + 1)]
        assert Drawing(counterexample, layout).body() in in_form(counterexample, "html")


def test_a_row_after_the_last_step_shows_who_can_act() -> None:
    # Planted: a ring for an actor that has no lifeline.
    offers = [("w", "push (entry 2)"), ("w", "close"), ("b1", "crash"), ("nobody", "acts")]
    drawing = Drawing(counterexample_of("late"), WIDE, offers)
    body = drawing.body()
    assert "possible next: 4 actions" in body and "w push (entry 2); w close" in body
    rings = re.findall(r'<circle class="next" cx="([\d.]+)".*?<title>(.*?)</title>', body)
    expected = [("w", "push (entry 2); close"), ("b1", "crash")]
    assert rings == [(f"{drawing.x(name):g}", words) for name, words in expected]
    assert "nothing is possible here" in Drawing(counterexample_of("late"), WIDE, []).body()
    assert "possible" not in Drawing(counterexample_of("late"), WIDE).body()


def lie_on(drawing: Drawing) -> list[str]:
    """Return the words of a drawing that an arrow or other words cross."""
    labels = list(drawing.labels.values())
    ways = [way for arrow in drawing.arrows for way in arrow.segments]
    return [
        label.words
        for label in labels
        if any(map(label.box.is_crossed_by, ways))
        or any(label.box.overlaps(other.box) for other in labels if other is not label)
    ]


@pytest.mark.parametrize("layout", [WIDE, NARROW], ids=lambda layout: layout.name)
def test_words_are_not_struck_through(counterexample: Counterexample, layout: Layout) -> None:
    """No arrow crosses them, not even their own."""
    drawing = Drawing(counterexample, layout)
    assert drawing.labels
    assert lie_on(drawing) == []


def test_words_that_stand_anywhere_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    # Planted: the last possible place for the words instead of the best.
    monkeypatch.setattr(
        "fencepost.encoding.forms.lifelines.place_labels", lambda wanted, *_: [p[-1] for p in wanted]
    )
    assert lie_on(Drawing(counterexample_of("late"), WIDE))


@pytest.mark.parametrize(
    ("segment", "crossed"),
    [
        (((0, 0), (10, 10)), True),
        (((5, 0), (5, 10)), True),
        (((0, 5), (10, 5)), True),
        (((0, 0), (3, 3)), False),
        (((0, 9), (10, 9)), False),
        (((9, 0), (9, 10)), False),
        (((0, 6), (6, 12)), False),
        (((5, 5), (6, 6)), True),
    ],
)
def test_a_box_knows_what_goes_through_it(segment: Segment, crossed: bool) -> None:
    box, (start, end) = Box(4, 4, 8, 8), segment
    assert box.is_crossed_by(segment) is box.is_crossed_by((end, start)) is crossed


def test_the_page_holds_every_state(counterexample: Counterexample) -> None:
    text = in_form(counterexample, "html")
    found = re.search(r'<script type="application/json" id="counterexample">(.*?)</script>', text, re.DOTALL)
    assert found
    data = json.loads(found[1])
    state = data["initial"]
    for index, step in enumerate([None, *data["steps"]]):
        state = {**state, **(step["changes"] if step else {})}
        expected = {name: show(value) for name, value in counterexample.trace.states[index].items()}
        assert {name: value for name, value in state.items() if name in expected} == expected
    assert {v["name"] for family in data["families"] for v in family["variables"]} == set(data["initial"])


def test_nothing_that_a_protocol_says_becomes_markup() -> None:
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)> & \"quoted\" 'too'; #35; -- ** end"
    counterexample = counterexample_of("lost")
    steps = tuple(replace(step, note=evil) for step in counterexample.trace.steps)
    prop = replace(counterexample.prop, meaning=evil, explain=lambda trace: evil)
    spoiled = replace(
        counterexample, trace=replace(counterexample.trace, steps=steps), prop=prop, verdict=evil
    )
    honest, page = Page(in_form(counterexample, "html")), Page(in_form(spoiled, "html"))
    tags = [[tag for tag, _ in p.elements if tag != "a"] for p in (honest, page)]
    assert tags[0] == tags[1]
    list(diagram(spoiled))
    assert "<script" not in in_form(spoiled, "mermaid")


def test_steps_that_are_no_execution_are_not_written() -> None:
    counterexample = EXECUTIONS["lost"]
    with pytest.raises(Exception, match="step 5, take over"):
        replayed(
            replace(
                counterexample, steps=[*counterexample.steps[:3], "take over: c2", *counterexample.steps[4:]]
            )
        )


@pytest.mark.parametrize(
    ("actor", "arguments", "text"),
    [
        ("b1", {"entry": 1, "bookie": "b1"}, "store (entry 1)"),
        (1, {"node": 1, "entry": 2}, "store (entry 2)"),
        (1, {"node": 1, "entry": 1}, "store (node 1, entry 1)"),
        ("w", {"bookie": "b1"}, "store (bookie b1)"),
    ],
)
def test_an_argument_is_left_out_only_if_it_can_be_the_actor(
    actor: Json, arguments: dict[str, Json], text: str
) -> None:
    """An entry 1 was left out with the node 1 that acts."""
    assert action_line(TraceStep(1, "store", arguments, actor, None, (), "", {})) == text
