"""Files with sequences, sets, records and a channel, each with one slip, and what plain Python says of them.

A slip is a line of the language and the same line of Python, on tuples, frozensets and dicts. An exception of
Python in a step makes the step badly defined. In a claim it makes the claim false.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from support.slips.reference import Reading

NODES, VALUES, MOST = ("n1", "n2", "n3"), ("v1", "v2"), 2

FORM = '''"""Logs, votes and a message."""

from dataclasses import dataclass

from fencepost.encoding.language import *


@dataclass(frozen=True)
class Parameters:
    nodes: int = parameter(3, "nodes")


class State(StateSpace):
    def __init__(self, p):
        self.node = labels("node", "n", p.nodes)
        self.value = labels("value", "v", 2)
        self.entry = records(term=integers(1, 2), value=self.value)
        self.log = variable(sequences(self.value, most=2))
        self.other = variable(sequences(self.value, most=2))
        self.entries = variable(sequences(self.entry, most=2))
        self.votes = variable(subsets(self.node))
        self.kept = variable(self.value)
        self.on = variable(BOOL)
        self.tell = channel("tell", "a", "b", says={{"item": self.value}})


def grow(s, v):
    return Action(when=length(s.log) < {most}, then=[s.log.append(v)], actor="a")


def copy(s):
    return Action(when={copies}, then=[s.other.set(s.log), s.on.set(~s.on)], actor="a")


def write(s):
    return Action(
        when=length(s.entries) < 1, then=[s.entries.append(s.entry(term=1, value="v2"))], actor="a"
    )


def act(s):
    return Action(when={guard}, then=[{then}], actor="a", sent=[{sent}])


def build(p):
    s = State(p)
    actions = (each(grow, s, s.value), each(copy, s), each(write, s), each(act, s))
    return System(s, actions, (Property("p", "m", {claim}, s.on, "on"),))


PROTOCOL = Protocol("made", "made by machine", Parameters(), build)
'''

Pair = tuple[str, str]
"""A text of the language, and the same in Python."""

CONDITIONS: list[Pair] = [
    ("s.on", "on"),
    ("~s.on", "not on"),
    ("length(s.log) > 0", "len(log) > 0"),
    ("length(s.log) > 1", "len(log) > 1"),
    ("(s.log == s.other)", "log == other"),
    ("length(s.entries) > 0", "len(entries) > 0"),
]
CLAIMS: list[Pair] = [
    ("(s.log == s.other)", "log == other"),
    ("is_prefix(s.other, s.log)", "log[: len(other)] == other"),
    ('(s.kept == "v1")', 'kept == "v1"'),
    ('~is_in("n2", s.votes)', '"n2" not in votes'),
    ("~s.tell.is_sent()", "sent is None"),
    ("(length(s.log) < 2)", "len(log) < 2"),
]

Maker = Callable[[random.Random], tuple[str, Pair]]
KINDS: dict[str, Maker] = {}
"""The slips by name: the place, and the line there."""


def slip(name: str) -> Callable[[Maker], Maker]:
    """Return a decorator that adds a kind of slip."""

    def add(maker: Maker) -> Maker:
        KINDS[name] = maker
        return maker

    return add


def _updates(name: str, *pairs: Pair) -> None:
    """Add a kind of slip in an update: `{c}` is a condition, `{p}` a position, `{n}` and `{v}` labels."""

    def made(chance: random.Random) -> tuple[str, Pair]:
        condition = chance.choice(CONDITIONS)
        words = {
            "p": str(chance.randint(1, 2)),
            "n": f"n{chance.randint(2, 5)}",
            "v": f"v{chance.randint(1, 3)}",
        }
        text, python = chance.choice(pairs)
        return "then", (_filled(text, words, condition[0]), _filled(python, words, condition[1]))

    slip(name)(made)


def _filled(text: str, words: Mapping[str, str], condition: str) -> str:
    for name, word in words.items():
        text = text.replace(f"{{{name}}}", word)
    return text.replace("{c}", condition)


_updates("an item behind the end", (
    's.log[{p}].set("v2")', 'put_item("log", log, {p}, "v2")'), (
    's.log[{p}].set("v2", when={c})', '{c} and put_item("log", log, {p}, "v2")'))  # fmt: skip
_updates("a field of an item behind the end", (
    "s.entries[{p}].term.set(2, when={c})",
    '{c} and put_item("entries", entries, {p}, (2, entries[{p} - 1][1]))'))  # fmt: skip
_updates("a label of a larger sort in a set", (
    's.votes.set(set_of(s.node, "n1", "{n}"))', 'put("votes", frozenset(["n1", node("{n}")]))'), (
    's.votes.set(s.votes | set_of(s.node, "{n}"))', 'put("votes", votes | {node("{n}")})'))  # fmt: skip
_updates("a label of a larger sort in a condition of a set", (
    's.votes.set(those(s.node, lambda n: is_one_of(n, ("n1", "{n}"))))',
    'put("votes", frozenset(["n1", node("{n}")]))'), (
    's.votes.set(those(s.node, lambda n: n != "{n}"))',
    'put("votes", frozenset(NODES) - {node("{n}")})'))  # fmt: skip
_updates("a label of a larger sort in a sequence", (
    's.log.set(sequence_of(s.value, "v1", "{v}"))', 'put("log", ("v1", value("{v}")))'), (
    's.log.append("{v}")', 'append("log", log, value("{v}"))'))  # fmt: skip
_updates("a label of a larger sort in a record", (
    's.entries.append(s.entry(term=1, value="{v}"), when={c})',
    '{c} and append("entries", entries, (1, value("{v}")))'))  # fmt: skip
_updates("a part read under a condition", (
    "s.kept.set(last(s.log), when={c})", '{c} and put("kept", log[-1])'), (
    "s.kept.set(at(s.log, {p}), when={c})", '{c} and put("kept", log[{p} - 1])'), (
    "s.kept.set(last(s.entries).value, when={c})", '{c} and put("kept", entries[-1][1])'))  # fmt: skip
_updates("more items kept than there are", (
    "s.log.truncate({p}, when={c})", '{c} and put("log", kept_items(log, {p}))'))  # fmt: skip
_updates("two updates of one sequence", (
    's.log.append("v1", when={c}), s.log.truncate(0, when=~({c}))',
    'append("log", log, "v1") if {c} else put("log", ())'), (
    's.log.append("v1"), s.log.truncate(0)', 'twice()'))  # fmt: skip
_updates("a set of what is not defined", (
    "s.votes.set(those(s.node, lambda n: (n == 'n1') | (last(s.log) == 'v1')))",
    'put("votes", frozenset(NODES) if log[-1] == "v1" else frozenset(["n1"]))'), (
    "s.votes.set(s.votes & those(s.node, lambda n: last(s.log) == 'v1'), when={c})",
    '{c} and put("votes", votes if log[-1] == "v1" else frozenset())'))  # fmt: skip


@slip("a message that says what is not defined")
def _sent(chance: random.Random) -> tuple[str, Pair]:
    condition = chance.choice(CONDITIONS)
    item = chance.choice([("last(s.log)", "log[-1]"), ("at(s.log, 2)", "log[1]"), ('"v3"', 'value("v3")')])
    text = f"s.tell.send(item={item[0]}, when={condition[0]})"
    return "sent", (text, f"({condition[1]}) and send({item[1]})")


@slip("an equality with what is not defined")
def _equality(chance: random.Random) -> tuple[str, Pair]:
    pairs = [
        ("(s.log != sequence_of(s.value, at(s.log, 1)))", "log != (log[0],)"),
        ("(s.other == sequence_of(s.value, last(s.log), 'v1'))", "other == (log[-1], 'v1')"),
        ("is_prefix(sequence_of(s.value, 'v2', last(s.log)), s.other)", "other[:2] == ('v2', log[-1])"),
        ("~is_prefix(s.other, sequence_of(s.value, at(s.log, 2)))", "not (log[1],)[: len(other)] == other"),
        ("(length(sequence_of(s.value, last(s.log))) == 1)", "len((log[-1],)) == 1"),
        ("is_one_of(s.kept, ('v1', last(s.log)))", "kept in ('v1', log[-1])"),
        ("~(s.votes == those(s.node, lambda n: last(s.log) == 'v1'))",
         "votes != (frozenset(NODES) if log[-1] == 'v1' else frozenset())"),
        ("(size(s.votes | those(s.node, lambda n: last(s.log) == 'v1')) < 3)",
         "len(votes | (frozenset(NODES) if log[-1] == 'v1' else frozenset())) < 3"),
        ("(s.entry(term=2, value=last(s.log)) != s.entry(term=1, value='v1'))", "(2, log[-1]) != (1, 'v1')"),
        ("((length(s.log) == 0) | (last(s.log) != 'v2'))", "len(log) == 0 or log[-1] != 'v2'"),
    ]  # fmt: skip
    return chance.choice(["claim", "guard"]), chance.choice(pairs)


@slip("a part of a composite that is set alone")
def _alone(chance: random.Random) -> tuple[str, Pair]:
    text = chance.choice(["s.log_length.set(1)", 's.tell_item.set("v2")', "s.tell_sent.set(False)"])
    return "then", (text, "no_meaning()")


@dataclass(frozen=True)
class Made:
    """A file, and the Python code of its action and its claim."""

    kind: str
    text: str
    guard: str
    act: str
    claim: str
    most: int
    copies: str


def files(kind: str) -> Iterator[Made]:
    """Yield the files of a kind."""
    for seed in range(100_000):
        chance = random.Random(f"{kind} {seed}")
        where, line = KINDS[kind](chance)
        slots = {"guard": chance.choice(CONDITIONS), "claim": chance.choice(CLAIMS)}
        slots |= {"then": ("", ""), "sent": ("", "")} | {where: line}
        most, copies = chance.randint(1, 2), chance.choice(CONDITIONS)
        text = FORM.format(most=most, copies=copies[0], **{name: pair[0] for name, pair in slots.items()})
        steps = "; ".join(filter(None, (slots["then"][1], slots["sent"][1]))) or "pass"
        yield Made(kind, text, slots["guard"][1], steps, slots["claim"][1], most, copies[1])


# The reference: plain values, breadth first.

State = tuple[Any, ...]
NAMES = ("log", "other", "entries", "votes", "kept", "on", "sent")
FIRST: State = ((), (), (), frozenset(), "v1", False, None)


class NoMeaning(Exception):
    """A line that nothing in the language says."""


def read(made: Made) -> Reading:
    """Return what plain Python says of a file."""
    reading = Reading()
    guard, act, claim, copies = (compile(text, "made", "exec" if text is made.act else "eval") for text in (
        made.guard, made.act, made.claim, made.copies))  # fmt: skip
    seen, level, steps, witnessed, violated = {FIRST}, [FIRST], 0, False, None
    while level:
        following: list[State] = []
        for state in level:
            names = dict(zip(NAMES, state, strict=True))
            witnessed = witnessed or names["on"]
            if violated is None and not _holds(claim, names):
                violated = steps
            try:
                # extend keeps the states before a step that is badly defined
                following.extend(_after(state, names, guard, act, copies, made.most))
            except NoMeaning as error:
                return Reading(meaningless=str(error) or "no meaning")
            except Exception as error:  # noqa: BLE001 - whatever Python raises in a step
                reading.bad = reading.bad or repr(error)
        level = [state for state in dict.fromkeys(following) if state not in seen]
        seen.update(level)
        steps += 1
    verdict = ("violated", violated) if violated is not None else ("proved" if witnessed else "vacuous", None)
    reading.verdicts["p"] = verdict
    reading.states = len(seen)
    return reading


def _holds(claim: Any, names: Mapping[str, Any]) -> bool:
    try:
        return bool(eval(claim, _functions({}), dict(names)))
    except Exception:  # noqa: BLE001 - a claim that is not defined is false
        return False


def _after(
    state: State, names: dict[str, Any], guard: Any, act: Any, copies: Any, most: int
) -> Iterator[State]:
    """Yield the states after each step from one state. Raises whatever the last step raises."""

    def changed(**new: Any) -> State:
        return tuple({**names, **new}[name] for name in NAMES)

    if len(names["log"]) < most:
        yield from (changed(log=(*names["log"], value)) for value in VALUES)
    if eval(copies, _functions({}), names):
        yield changed(other=names["log"], on=not names["on"])
    if len(names["entries"]) < 1:
        yield changed(entries=((1, "v2"),))
    if eval(guard, _functions({}), names):
        new: dict[str, Any] = {}
        exec(act, _functions(new), names)  # noqa: S102 - our own text
        if "sent" not in new or names["sent"] is None:
            yield changed(**new)


def _functions(new: dict[str, Any]) -> dict[str, Any]:
    """Return the functions that the Python lines call; updates go to `new`."""

    def put(name: str, value: Any) -> None:
        new[name] = value

    def put_item(name: str, items: tuple[Any, ...], position: int, value: Any) -> None:
        _ = items[position - 1]
        put(name, (*items[: position - 1], value, *items[position:]))

    def append(name: str, items: tuple[Any, ...], value: Any) -> None:
        if len(items) == MOST:
            raise IndexError(f"{name} is full")
        put(name, (*items, value))

    def kept_items(items: tuple[Any, ...], number: int) -> tuple[Any, ...]:
        if number > len(items):
            raise IndexError("fewer items")
        return items[:number]

    def one_of(values: tuple[str, ...]) -> Callable[[str], str]:
        def found(value: str) -> str:
            if value not in values:
                raise NoMeaning(f"{value} is no value of a sort")
            return value

        return found

    def twice() -> None:
        raise ValueError("two updates of one variable")

    def no_meaning() -> None:
        raise NoMeaning

    return {
        "put": put,
        "put_item": put_item,
        "append": append,
        "kept_items": kept_items,
        "twice": twice,
        "no_meaning": no_meaning,
        "node": one_of(NODES),
        "value": one_of(VALUES),
        "NODES": NODES,
        "send": lambda item: put("sent", item),
    }
